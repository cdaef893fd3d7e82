"""Fill redacted teacher-student chats with people of a gender and a culture (seeds/gpt4omini_jedm.txt, section 3.6).

    >>> from pii_components.corpus.chats import fill_chat
    >>> from pii_components.corpus.chat_files import parse_chat
    >>> chat = parse_chat("teacher: Hi there <STUDENT>, all OK?", "one")
    >>> filled = fill_chat(chat, gender="F", culture="Africa", seed=46)
    >>> [(filled.text[start:end] in filled.text, label) for start, end, label in filled.spans]
    [(True, 'NAME_STUDENT')]

A person has one name in a chat, in every form that the placeholders ask for; no two people share a part of theirs, and none has a
name that stands in the chat's own words, so that every label is sure. What a chat becomes depends on the seed, its id and its group,
and on nothing else: the paper's own maker draws unseeded, and numbers made with it cannot be had again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Errors, PiiError
from ..labels import DATE, EDUCATION, EMPLOYER, LOCATION, is_name
from ..surrogates.keys import Chance
from ..surrogates.names import fold
from .chat_files import Chat
from .chat_people import Person, form_of, invent, make_detail
from .chat_table import ChatTable, Placeholder, load_table
from .culture_names import GROUPS, check_group

CALLS = ("first", "full")
CASES = ("written", "surroundings")
# Follow the case of their surroundings; an address of a page or a number does not.
_CASED = frozenset((DATE, LOCATION, EDUCATION, EMPLOYER))
_WORD = re.compile(r"[^\W\d_]+")
_I = re.compile(r"\bI(?:'\w+)?\b")
_TRIES = 300


@dataclass(frozen=True, slots=True)
class FilledChat:
    """A chat with people.

    id (str): Of the chat, with the group. chat (str): Id of what was filled. gender, culture (str): The group.
    text (str): One turn per line, `teacher: ...`, as in the paper.
    spans (tuple[tuple[int, int, str], ...]): Characters, end exclusive, and label; sorted, without overlaps.
    placeholders (tuple[str, ...]): What stood there, per span; the person first, as in `people`.
    people (dict[str, dict[str, str]]): Person -> role, gender, culture: results per group count the people whose gender is the group's.
    genre (str): Of the chat.
    """

    id: str
    chat: str
    gender: str
    culture: str
    text: str
    spans: tuple[tuple[int, int, str], ...]
    placeholders: tuple[str, ...]
    people: dict[str, dict[str, str]]
    genre: str = ""

    def as_record(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): A line of JSON Lines, as `corpus.labelled` reads it."""
        return {
            "id": self.id,
            "text": self.text,
            "spans": [list(span) for span in self.spans],
            "gender": self.gender,
            "culture": self.culture,
            "chat": self.chat,
            "genre": self.genre,
            "placeholders": list(self.placeholders),
            "people": self.people,
        }


def fill_chats(
    chats: Iterable[Chat],
    *,
    gender: str,
    culture: str,
    seed: int,
    table: ChatTable | None = None,
    called: str = "first",
    case: str = "written",
) -> list[FilledChat]:
    """Fill every chat for one group.

    chats (Iterable[Chat]): Redacted. gender (str): "F" or "M". culture (str): A key of `culture_names.CULTURES`. seed (int): Any number.
    table, called, case: See `fill_chat`.
    RETURNS (list[FilledChat]): In the same order.
    RAISES (PiiError): See `fill_chat`.
    """
    table = table or load_table()
    return [fill_chat(c, gender=gender, culture=culture, seed=seed, table=table, called=called, case=case) for c in chats]


def make_chats(
    chats: Sequence[Chat],
    *,
    per_group: int | None = None,
    seed: int,
    same_chats: bool = False,
    table: ChatTable | None = None,
    called: str = "first",
    case: str = "written",
) -> Iterator[FilledChat]:
    """The data set of the paper: chats of all ten groups, as many of each.

    chats (Sequence[Chat]): Redacted, in any order. per_group, seed, same_chats: See `deal`. table, called, case: See `fill_chat`.
    YIELDS (FilledChat): Group by group.
    RAISES (PiiError): E687; see `fill_chat`.
    """
    table = table or load_table()
    for chat, (gender, culture), number in deal(chats, per_group=per_group, seed=seed, same_chats=same_chats):
        yield fill_chat(chat, gender=gender, culture=culture, seed=seed, table=table, called=called, case=case, number=number)


def deal(
    chats: Sequence[Chat], *, per_group: int | None = None, seed: int, same_chats: bool = False
) -> list[tuple[Chat, tuple[str, str], int]]:
    """Which chat goes to which group.

    chats (Sequence[Chat]): In any order; what comes out does not depend on it.
    per_group (int | None): Chats of each group. None for as many as can be had with no chat in two groups, as in the paper (260 chats, 26
    in each of 10 groups). With more, chats are in several groups, but twice in one only if there are fewer than `per_group`.
    seed (int): For the order. same_chats (bool): The same chats in every group: then groups differ by names and nothing else.
    RETURNS (list[tuple[Chat, tuple[str, str], int]]): Chat, group, and 1, or 2 for the second time in the group, and so on.
    RAISES (PiiError): E687, if `per_group` is below 1.
    """
    if per_group is not None and per_group < 1:
        raise PiiError(Errors.E687, name="per_group", value=per_group)
    chance = Chance(f"chats|{seed}".encode(), scope="deal")
    deck = sorted(chats, key=lambda chat: chance.order(chat.id))
    size = per_group or (len(deck) if same_chats else max(1, len(deck) // len(GROUPS)))
    dealt = []
    for place, group in enumerate(GROUPS):
        # The same order again and again: a stretch of it no longer than the deck holds no chat twice.
        first = 0 if same_chats else place * size
        dealt += [(deck[(first + i) % len(deck)], group, 1 + i // len(deck)) for i in range(size if deck else 0)]
    return dealt


def fill_chat(
    chat: Chat,
    *,
    gender: str,
    culture: str,
    seed: int,
    table: ChatTable | None = None,
    called: str = "first",
    case: str = "written",
    number: int = 1,
) -> FilledChat:
    """Fill one chat.

    chat (Chat): Redacted. gender (str): "F" or "M", of the student and the teacher. culture (str): A key of `culture_names.CULTURES`.
    seed (int): Any number. table (ChatTable | None): The placeholders; the ones that ship if None.
    called (str): What stands for <STUDENT> and <TEACHER> alone: "first" name, or "full" name as in the paper.
    case (str): "written": names as they are written; "surroundings": in lower case in a turn without capitals, in capitals in a turn
    in capitals. number (int): Another filling for the same group.
    RETURNS (FilledChat): With labelled spans.
    RAISES (PiiError): E680, if the table lacks a placeholder; E685, if an option is unknown; E689, if too many people have a name.
    """
    check_group(gender, culture)
    for value, what, allowed in ((called, "form for called", CALLS), (case, "case", CASES)):
        if value not in allowed:
            raise PiiError(Errors.E685, value=value, what=what, allowed=", ".join(allowed))
    table = table or load_table()
    parsed = [_parse(chat, n, turn.text, table) for n, turn in enumerate(chat.turns, 1)]
    chance = Chance(f"chats|{seed}".encode(), scope=f"{chat.id}|{gender}|{culture}|{number}")
    people = _invent_people(chat, parsed, table, chance, gender, culture)
    details: dict[tuple[str, str, int], str] = {}
    text, spans, names = "", [], []
    for turn, parts in zip(chat.turns, parsed, strict=True):
        text += ("\n" if text else "") + f"{turn.speaker}: "
        recase = _case_of(parts) if case == "surroundings" else str
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            words, found = part
            if found.is_name:
                filler = form_of(people[found.who], called if found.what == "called" else found.what)
            else:
                filler = _detail(found, table, people[found.who], details, chance)
            if is_name(found.label) or found.label in _CASED:
                filler = recase(filler)
            if found.label:
                spans.append((len(text), len(text) + len(filler), found.label))
                names.append(words)
            text += filler
    return FilledChat(
        id=".".join((chat.id, gender, culture, *([str(number)] if number > 1 else []))),
        chat=chat.id,
        gender=gender,
        culture=culture,
        text=text + "\n",
        spans=tuple(spans),
        placeholders=tuple(names),
        people={
            who: {"role": table.role_of(who), "gender": person.gender, "culture": culture}
            for who, person in sorted(people.items())
        },
        genre=chat.genre,
    )


def count_placeholders(chats: Iterable[Chat], *, table: ChatTable | None = None) -> list[tuple[str, int, Placeholder | None]]:
    """What placeholders a corpus has.

    chats (Iterable[Chat]): Redacted. table (ChatTable | None): The placeholders; the ones that ship if None.
    RETURNS (list[tuple[str, int, Placeholder | None]]): Words, how often, and what the table says; the most frequent first.
    """
    table = table or load_table()
    counts = Counter(match[1] for chat in chats for turn in chat.turns for match in table.pattern.finditer(turn.text))
    return [(words, n, table.resolve(words)) for words, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


_Part = str | tuple[str, Placeholder]


def _parse(chat: Chat, turn: int, text: str, table: ChatTable) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    for match in table.pattern.finditer(text):
        found = table.resolve(match[1])
        if found is None:
            raise PiiError(Errors.E680, chat=chat.id, turn=turn, offset=match.start())
        parts += [text[at : match.start()], (match[1], found)]
        at = match.end()
    return [part for part in (*parts, text[at:]) if part]


def _invent_people(
    chat: Chat, turns: list[list[_Part]], table: ChatTable, chance: Chance, gender: str, culture: str
) -> dict[str, Person]:
    """RETURNS (dict[str, Person]): The people whose names or details are asked for, each with a name of their own."""
    wanted = {part[1].who for parts in turns for part in parts if not isinstance(part, str)}
    taken = {fold(word) for parts in turns for part in parts if isinstance(part, str) for word in _WORD.findall(part)}
    people: dict[str, Person] = {}
    # Those who talk choose first: what they are called does not depend on how many others are named.
    for who in sorted(wanted, key=lambda who: (who != "STUDENT", who != "TEACHER", who)):
        rule = table.gender_of(who)
        for attempt in range(_TRIES):
            rng = chance.rng("person", who, attempt=attempt)
            sex = {"group": gender, "F": "F", "M": "M"}.get(rule) or ("F" if rng.random() < 0.5 else "M")
            person = invent(rng, sex, culture)
            if person is not None and not person.folded & taken:
                people[who] = person
                taken |= person.folded
                break
        else:
            raise PiiError(Errors.E689, chat=chat.id, people=len(wanted), gender=gender, culture=culture)
    return people


def _detail(
    found: Placeholder,
    table: ChatTable,
    person: Person,
    known: dict[tuple[str, str, int], str],
    chance: Chance,
) -> str:
    """RETURNS (str): The same for the same placeholder of a chat, another for another of its kind, as far as there are others."""
    key = (found.who, found.what, found.number)
    if key not in known:
        others = {value for (_, what, _), value in known.items() if what == found.what}
        row = table.details.get(found.what)
        value = ""
        for attempt in range(_TRIES):
            rng = chance.rng("detail", "|".join(map(str, key)), attempt=attempt)
            ages, values = table.age_of(found.who), row.values if row else ()
            value = make_detail(rng, found.what, found.number, person, ages=ages, values=values)
            if value not in others:
                break
        known[key] = value
    return known[key]


def _case_of(parts: list[_Part]) -> Any:
    """RETURNS (Callable[[str], str]): What puts a name in the case of a turn's own words."""
    own = _I.sub("", " ".join(part for part in parts if isinstance(part, str)))
    letters = [ch for ch in own if ch.isalpha()]
    if letters and not any(ch.isupper() for ch in letters):
        return str.lower
    if len(letters) > 3 and not any(ch.islower() for ch in letters):
        return str.upper
    return str
