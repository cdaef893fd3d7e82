"""Fill redacted teacher-student chats with people of a gender and a culture (seeds/gpt4omini_jedm.txt, section 3.6).

    >>> from pii_components.corpus.chats import fill_chat, parse_chat
    >>> chat = parse_chat("teacher: Hi there <STUDENT>, all OK?", "one")
    >>> filled = fill_chat(chat, gender="F", culture="Africa", seed=46)
    >>> [(filled.text[start:end] in filled.text, label) for start, end, label in filled.spans]
    [(True, 'NAME_STUDENT')]

A person has one name in a chat, in every form that the placeholders ask for; no two people share a part of theirs, and none has a
name that stands in the chat's own words, so that every label is sure. What a chat becomes depends on the seed, its id and its group,
and on nothing else: the paper's own maker draws unseeded, and numbers made with it cannot be had again.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, read_bytes, reason_of, show_fields
from ..files.sources import JSON_SUFFIXES, TABLE_SUFFIXES, decode_text, open_source
from ..labels import DATE, EDUCATION, EMPLOYER, LABELS, LOCATION, ROLES, is_name, label_for_role
from ..names.letters import fold
from ..names.link import nicknames_of
from ..names.table import Source as RandomSource
from ..surrogates.keys import Chance, pick
from .people import GROUPS, MONTHS, check_group, given_names, invent_detail, surnames
from .templates import DETAILS

SPEAKERS = ("teacher", "student")
CALLED = "called"
NAME_FORMS = ("full", "first", "last", "nick", "initials", "spelled", "spelled_last", "misheard")
GENDER_RULES = ("group", "F", "M", "any")
CALLS = ("first", "full")
CASES = ("written", "surroundings")
# What a detail can be made of, and its label: those of the essays, and a day of the year.
MAKERS: dict[str, str] = {**DETAILS, "date": DATE}
_PLACES = frozenset(("town", "country", "nationality"))
# Follow the case of their surroundings; an address of a page or a number does not.
_CASED = frozenset((DATE, LOCATION, EDUCATION, EMPLOYER))
_VOWELS = "aeiou"
_SEPARATORS = ("-", "-", " ", ".", ", ")
# Beginnings of names that are no nicknames.
_NO_NICKS = frozenset(
    [
        "ass",
        "cum",
        "dic",
        "fag",
        "fuc",
        "fuk",
        "nig",
        "poo",
        "shi",
        "sex",
        "tit",
        "twa",
        "anal",
        "homo",
        "slut",
    ]
)
_NUMBER = re.compile(r"([0-9]{1,2})(?: |$)")
_WORD = re.compile(r"[^\W\d_]+")
_I = re.compile(r"\bI(?:'\w+)?\b")
_TRIES = 300


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder, taken apart.

    who (str): The person it belongs to, with a number ("FRIEND 2"); unnumbered for the first.
    what (str): A form of the name ("called" if none is said), a maker, or the name of a detail that has values.
    label (str): Of what fills it; empty for what is no personal information. number (int): To tell details of one kind apart.
    """

    who: str
    what: str
    label: str
    number: int = 1


class PersonRow(NamedTuple):
    """A person of the table: role, one of `GENDER_RULES`, youngest and oldest."""

    role: str
    gender: str
    ages: tuple[int, int]


class Detail(NamedTuple):
    """What is no name: made by one of `MAKERS`, or one of the values; `label` is empty for what is no personal information."""

    make: str
    values: tuple[str, ...]
    label: str


class ChatTable(NamedTuple):
    """What placeholders stand for.

    pattern (re.Pattern[str]): A placeholder in its brackets; group 1 is its words. speakers (dict[str, str]): A word before a turn, in
    lower case -> "teacher" or "student". persons (dict[str, PersonRow]): The longest first. forms (dict[str, str]): Words -> form of a
    name. details (dict[str, Detail]): Words -> what is made of them.
    """

    pattern: re.Pattern[str]
    speakers: dict[str, str]
    persons: dict[str, PersonRow]
    forms: dict[str, str]
    details: dict[str, Detail]

    def row(self, who: str) -> PersonRow:
        """RETURNS (PersonRow): That of a person: of FRIEND for "FRIEND 2"."""
        return self.persons[who.rstrip("0123456789").rstrip()]

    def resolve(self, words: str) -> Placeholder | None:
        """RETURNS (Placeholder | None): What the words between brackets stand for; None if the table does not say."""
        words = " ".join(words.upper().replace("’", "'").split())
        if found := self._detail(
            words, "STUDENT"
        ):  # a detail first: STUDENT NUMBER is none of a person's forms
            return found
        for person, row in self.persons.items():
            if words != person and not words.startswith(f"{person} "):
                continue
            who, rest = person, words[len(person) + 1 :]
            if (match := _NUMBER.match(rest)) and int(match[1]) > 0:
                who, rest = (
                    (f"{person} {int(match[1])}" if int(match[1]) > 1 else person),
                    rest[match.end() :],
                )
            if not rest or rest in self.forms:
                return Placeholder(who, self.forms.get(rest, CALLED), label_for_role(row.role))
            if found := self._detail(rest, who):
                return found
        return None

    def _detail(self, words: str, who: str) -> Placeholder | None:
        head, _, number = words.rpartition(" ")
        name, n = (
            (head, int(number)) if number.isdecimal() and 0 < int(number) < 100 else (words, 1)
        )
        detail = self.details.get(name)
        return Placeholder(who, detail.make or name, detail.label, n) if detail else None


def load_table(path: Path | None = None) -> ChatTable:
    """RETURNS (ChatTable): The table that ships, and what a user's TOML file of the same form says, which goes first.

    RAISES (PiiError): E501, if the file cannot be read; E686, if it is not of the form.
    """
    shipped = resources.files("pii_components") / "resources" / "chats" / "placeholders.toml"
    content, own, name = (
        tomllib.loads(shipped.read_text(encoding="utf8")),
        dict[str, Any](),
        (path or shipped).name,
    )
    try:
        if path is not None:
            own = tomllib.loads(path.read_text(encoding="utf8"))
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    except ValueError as err:
        raise PiiError(Errors.E686, path=name, problem="it is no TOML file in UTF-8") from err
    try:
        for part, value in own.items():
            fits = part == "brackets" or (part in content and isinstance(value, dict))
            _check(fits, f"it may hold the tables {', '.join(content)} only")
            content[part] = value if part == "brackets" else content[part] | value
        return _as_table(content)
    except ValueError as err:
        raise PiiError(Errors.E686, path=name, problem=err) from err


def _check(fits: bool, problem: str) -> None:
    if not fits:
        raise ValueError(problem)


def _are_texts(value: object) -> bool:
    """Whether it is a list of texts, one at least, none of them empty."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(text, str) and text.strip() for text in value)
    )


def _as_table(content: dict[str, Any]) -> ChatTable:
    _check(
        _are_texts(content["brackets"]) and len(content["brackets"]) == 2,
        'brackets are two texts, for example ["<", ">"]',
    )
    speakers: dict[str, str] = {}
    for speaker, words in content["speakers"].items():
        fits = (
            speaker in SPEAKERS
            and isinstance(words, list)
            and all(isinstance(word, str) for word in words)
        )
        _check(fits, f"[speakers] has lists of words for {' and '.join(SPEAKERS)}")
        speakers |= {word.lower(): speaker for word in words}
    persons = {
        name.upper(): _person_row(row, n)
        for n, (name, row) in enumerate(content["persons"].items(), 1)
    }
    _check({"STUDENT", "TEACHER"} <= persons.keys(), "[persons] has STUDENT and TEACHER")
    for form in content["forms"].values():
        _check(form in NAME_FORMS, f"[forms] may be {', '.join(NAME_FORMS)}")
    details = {
        name.upper(): _detail_row(row, n)
        for n, (name, row) in enumerate(content["details"].items(), 1)
    }
    forms = {words.upper(): form for words, form in content["forms"].items()}
    left, right = map(re.escape, content["brackets"])
    # Three letters at least: `List<T>` is none.
    pattern = re.compile(rf"{left}([A-Z](?:[A-Z0-9 '’/_-]|['’]s){{2,60}}){right}")
    return ChatTable(
        pattern,
        speakers,
        dict(sorted(persons.items(), key=lambda item: (-len(item[0]), item[0]))),
        forms,
        details,
    )


def _person_row(row: Any, number: int) -> PersonRow:
    this = f"row {number} of [persons]"
    _check(
        isinstance(row, dict) and set(row) <= {"role", "gender", "age"},
        f"{this} has role, gender, age",
    )
    role, gender, age = (
        row.get("role"),
        row.get("gender", "any"),
        row.get("age", [14, 51]),
    )  # ages of those who chat
    _check(role in ROLES, f"role of {this} is one of {', '.join(ROLES)}")
    _check(gender in GENDER_RULES, f"gender of {this} is one of {', '.join(GENDER_RULES)}")
    fits = (
        isinstance(age, list)
        and len(age) == 2
        and all(type(a) is int for a in age)
        and 0 < age[0] <= age[1] < 120
    )
    _check(fits, f"age of {this} is two whole numbers, from and to")
    return PersonRow(role, gender, (age[0], age[1]))


def _detail_row(row: Any, number: int) -> Detail:
    this = f"row {number} of [details]"
    _check(
        isinstance(row, dict) and set(row) <= {"make", "values", "label"},
        f"{this} has make, values, label",
    )
    _check(("make" in row) != ("values" in row), f"{this} has either make or values")
    make, values = row.get("make", ""), row.get("values", [])
    _check("make" not in row or make in MAKERS, f"make of {this} is one of {', '.join(MAKERS)}")
    _check("make" in row or _are_texts(values), f"values of {this} are texts, one at least")
    label = row.get("label", MAKERS.get(make))
    _check(label == "" or label in LABELS, f'label of {this} is "" or one of {", ".join(LABELS)}')
    return Detail(make, tuple(values), label)


# Read redacted teacher-student chats: the authored ones of assets/chats, TSCC, or any other corpus.

SUFFIXES = (".txt", *TABLE_SUFFIXES, *JSON_SUFFIXES)
# TSCC has `role` and `edited`.
USUAL_SPEAKER_FIELDS = ("speaker", "role", "participant", "who", "author")
USUAL_TURN_FIELDS = ("edited", "turn", "utterance", "message")


class Turn(NamedTuple):
    """What "teacher" or "student" says at a time, with placeholders; it may hold line breaks."""

    speaker: str
    text: str


class Chat(NamedTuple):
    """A redacted chat; its id is unique in its corpus. Of the front matter: genre, voice, and the part, "test" for those that nobody
    looks at while rules are made."""

    id: str
    turns: tuple[Turn, ...]
    genre: str = ""
    voice: str = ""
    part: str = ""


def read_chats(
    path: Path,
    *,
    table: ChatTable | None = None,
    speaker_field: str = "",
    text_field: str = "",
    chat_field: str = "",
    encoding: str = "utf-8",
) -> list[Chat]:
    """Read every chat of a file or folder.

    path (Path): A .txt, .csv, .tsv, .jsonl or .json file, or a folder of such files. table (ChatTable | None): None for the one that
    ships. speaker_field, text_field (str): Columns of a table; empty to find usual ones. chat_field (str): Column that tells the chats
    of one file apart; empty if a file is a chat.
    RETURNS (list[Chat]): By the order of the paths.
    RAISES (PiiError): E501 to E508; E681 to E684, E688, E690 to E692, if something is not of the form.
    """
    table = table or load_table()
    if not path.exists():
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    files = (
        sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        if path.is_dir()
        else [path]
    )
    chats: dict[str, Chat] = {}
    for file in files:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        if file.suffix.lower() == ".txt":
            text = _readable(decode_text(read_bytes(file), 1, name, encoding=encoding), file).text
            found = [parse_chat(text, name, table=table)]
        else:
            source = _open_table(file, text_field, chat_field, encoding)
            turns = _turns(source, table, speaker_field, "" if chat_field else name)
            if not turns:
                raise PiiError(Errors.E682, chat=name)
            found = [Chat(chat, tuple(said)) for chat, said in turns.items()]
        for chat in found:
            if chat.id in chats:
                raise PiiError(Errors.E688, chat=chat.id)
            chats[chat.id] = chat
    if not chats:
        raise PiiError(Errors.E684, path=path.name)
    return list(chats.values())


def _readable(item: Record | Skip, file: Path) -> Record:
    if isinstance(item, Skip):
        raise PiiError(Errors.E691, where=file.name, problem=item.error) from item.error
    return item


def _open_table(file: Path, text_field: str, chat_field: str, encoding: str) -> Source:
    """Rows of a table, with the first text column of TSCC's and the like that it has."""
    for wanted in (text_field,) if text_field else (*USUAL_TURN_FIELDS, ""):
        try:
            return open_source(file, text_field=wanted, id_field=chat_field, encoding=encoding)
        except PiiError as err:
            if err.code != "E505" or text_field or not wanted:
                raise PiiError(Errors.E691, where=file.name, problem=err) from err
    raise AssertionError("the last one raises")


def _turns(
    source: Source, table: ChatTable, speaker_field: str, name: str
) -> dict[str, list[Turn]]:
    """Those of each chat of a table; all of one chat if it has a name."""
    fields, file = source.others, source.path
    speaker_field = speaker_field or next(
        (field for field in USUAL_SPEAKER_FIELDS if field in fields), ""
    )
    if speaker_field not in fields:
        raise PiiError(
            Errors.E690,
            where=file.name,
            what="the speaker",
            fields=show_fields(fields),
            option="--speaker-column",
        )
    turns: dict[str, list[Turn]] = {}
    for record in (_readable(item, file) for item in source):
        word = next((value for field, value in record.others if field == speaker_field), "")
        speaker = table.speakers.get(word.strip().lower())
        if speaker is None:
            raise PiiError(
                Errors.E683,
                where=file.name,
                number=record.number,
                allowed=", ".join(table.speakers),
            )
        turns.setdefault(name or record.id, []).append(Turn(speaker, record.text.strip()))
    return turns


def parse_chat(text: str, name: str, *, table: ChatTable | None = None) -> Chat:
    """RETURNS (Chat): Read from turns, front matter before them or not; a line without a speaker goes on with the turn before it.

    RAISES (PiiError): E681, E682, E692.
    """
    table = table or load_table()
    head, mark, body = text.partition("\n---\n")
    first_line, meta = 1, dict[str, str]()
    if mark and not _speaker(head.lstrip().split("\n", 1)[0], table)[0]:
        meta = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in head.splitlines())
        }
        if meta.get("id") != name.rpartition("/")[2]:
            raise PiiError(Errors.E692, chat=name)
        first_line = head.count("\n") + 3
    else:
        body = text
    turns: list[Turn] = []
    for number, line in enumerate(body.split("\n"), first_line):
        line = line.rstrip("\r")
        speaker, said = _speaker(line, table)
        if speaker:
            turns.append(Turn(speaker, said))
        elif turns and line.strip():
            turns[-1] = Turn(turns[-1].speaker, f"{turns[-1].text}\n{line}")
        elif line.strip():
            raise PiiError(Errors.E681, chat=name, line=number, allowed=", ".join(table.speakers))
    if not turns:
        raise PiiError(Errors.E682, chat=name)
    return Chat(name, tuple(turns), *(meta.get(key, "") for key in ("genre", "voice", "part")))


def _speaker(line: str, table: ChatTable) -> tuple[str, str]:
    """Who speaks, or nothing if the line begins with no speaker, and what is said."""
    word, mark, said = line.partition(":")
    return table.speakers.get(word.strip().lower(), "") if mark else "", said.strip()


# Fill them.


class _Person(NamedTuple):
    gender: str
    forms: dict[str, str]

    @property
    def folded(self) -> set[str]:
        """All names, in lower case and without accents: what nobody else may be called."""
        return {fold(self.forms[form]) for form in ("first", "last", "nick", "misheard")}


def name_forms(first: str, last: str, nick: str, misheard: str, separator: str) -> dict[str, str]:
    """RETURNS (dict[str, str]): Each of `NAME_FORMS`; `separator` stands between the letters of a name that is spelled out."""
    values = (
        f"{first} {last}",
        first,
        last,
        nick,
        f"{first[0]}.{last[0]}.",
        separator.join(first.upper()),
        separator.join(last.upper()),
        misheard,
    )
    return dict(zip(NAME_FORMS, values, strict=True))


@dataclass(frozen=True, slots=True)
class FilledChat:
    """A chat with people.

    id (str): Of the chat, with the group. text (str): One turn per line, `teacher: ...`, as in the paper.
    spans (tuple[tuple[int, int, str], ...]): Characters, end exclusive, and label; sorted, without overlaps.
    chat (str): Id of what was filled. placeholders (tuple[str, ...]): What stood there, per span.
    people (dict[str, dict[str, str]]): Person -> role, gender, culture: results per group count the people whose gender is the group's.
    """

    id: str
    text: str
    spans: tuple[tuple[int, int, str], ...]
    gender: str
    culture: str
    chat: str
    genre: str
    placeholders: tuple[str, ...]
    people: dict[str, dict[str, str]]


def make_chats(
    chats: Sequence[Chat],
    *,
    per_group: int | None = None,
    seed: int,
    same_chats: bool = False,
    **options: Any,
) -> Iterator[FilledChat]:
    """YIELDS (FilledChat): The data set of the paper, chats of all ten groups, as many of each; see `deal` and, for options, `fill_chat`."""
    options["table"] = options.get("table") or load_table()
    for chat, (gender, culture), number in deal(
        chats, per_group=per_group, seed=seed, same_chats=same_chats
    ):
        yield fill_chat(chat, gender=gender, culture=culture, seed=seed, number=number, **options)


def deal(
    chats: Sequence[Chat], *, per_group: int | None = None, seed: int, same_chats: bool = False
) -> list[tuple[Chat, tuple[str, str], int]]:
    """Which chat goes to which group.

    per_group (int | None): Chats of each group. None for as many as can be had with no chat in two groups, as in the paper (260 chats, 26
    in each of 10 groups). With more, chats are in several groups, but twice in one only if there are fewer than `per_group`.
    same_chats (bool): The same chats in every group: then groups differ by names and nothing else.
    RETURNS (list[tuple[Chat, tuple[str, str], int]]): Chat, group, and 1, or 2 for the second time in the group, and so on, whatever the
        order of the chats. RAISES (PiiError): E687, if `per_group` is below 1.
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
        dealt += [
            (deck[(first + i) % len(deck)], group, 1 + i // len(deck))
            for i in range(size if deck else 0)
        ]
    return dealt


# Words of a chat, and None; or words of a placeholder, and what it is.
_Part = tuple[str, Placeholder | None]


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

    gender (str): "F" or "M", of the student and the teacher. culture (str): A key of `people.CULTURES`.
    table (ChatTable | None): The placeholders; the ones that ship if None.
    called (str): What stands for <STUDENT> and <TEACHER> alone: "first" name, or "full" name as in the paper.
    case (str): "written": names as they are written; "surroundings": in lower case in a turn without capitals, in capitals in a turn
    in capitals. number (int): Another filling for the same group.
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
    details: dict[Placeholder, str] = {}
    text, spans, names = "", [], []
    for turn, parts in zip(chat.turns, parsed, strict=True):
        text += ("\n" if text else "") + f"{turn.speaker}: "
        recase = _case_of(parts) if case == "surroundings" else str
        for words, found in parts:
            if found is None:
                text += words
                continue
            filler = people[found.who].forms.get(called if found.what == CALLED else found.what)
            filler = filler or _detail(found, table, people[found.who], details, chance)
            if is_name(found.label) or found.label in _CASED:
                filler = recase(filler)
            if found.label:
                spans.append((len(text), len(text) + len(filler), found.label))
                names.append(words)
            text += filler
    name = ".".join((chat.id, gender, culture, *([str(number)] if number > 1 else [])))
    who_is = {
        who: {"role": table.row(who).role, "gender": person.gender, "culture": culture}
        for who, person in sorted(people.items())
    }
    return FilledChat(
        name, text + "\n", tuple(spans), gender, culture, chat.id, chat.genre, tuple(names), who_is
    )


def count_placeholders(
    chats: Iterable[Chat], *, table: ChatTable | None = None
) -> list[tuple[str, int, Placeholder | None]]:
    """RETURNS (list[tuple[str, int, Placeholder | None]]): Words of placeholders, how often, what the table says; the most frequent first."""
    table = table or load_table()
    counts = Counter(
        match[1]
        for chat in chats
        for turn in chat.turns
        for match in table.pattern.finditer(turn.text)
    )
    return [
        (words, n, table.resolve(words))
        for words, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _parse(chat: Chat, turn: int, text: str, table: ChatTable) -> list[_Part]:
    parts, at = list[_Part](), 0
    for match in table.pattern.finditer(text):
        found = table.resolve(match[1])
        if found is None:
            raise PiiError(Errors.E680, chat=chat.id, turn=turn, offset=match.start())
        parts += [(text[at : match.start()], None), (match[1], found)]
        at = match.end()
    return [*parts, (text[at:], None)]


def _invent_people(
    chat: Chat,
    turns: list[list[_Part]],
    table: ChatTable,
    chance: Chance,
    gender: str,
    culture: str,
) -> dict[str, _Person]:
    """The people whose names or details are asked for, each with a name of their own."""
    wanted = {found.who for parts in turns for _, found in parts if found}
    taken = {
        fold(word)
        for parts in turns
        for text, found in parts
        if not found
        for word in _WORD.findall(text)
    }
    people: dict[str, _Person] = {}
    # Those who talk choose first: what they are called does not depend on how many others are named.
    for who in sorted(wanted, key=lambda who: (who != "STUDENT", who != "TEACHER", who)):
        rule = table.row(who).gender
        for attempt in range(_TRIES):
            rng = chance.rng("person", who, attempt=attempt)
            sex = {"group": gender, "F": "F", "M": "M"}.get(rule) or (
                "F" if rng.random() < 0.5 else "M"
            )
            person = _invent(rng, sex, culture)
            if person is not None and not person.folded & taken:
                people[who] = person
                taken |= person.folded
                break
        else:
            raise PiiError(
                Errors.E689, chat=chat.id, people=len(wanted), gender=gender, culture=culture
            )
    return people


def _invent(rng: RandomSource, gender: str, culture: str) -> _Person | None:
    """Somebody; None if first name and surname are the same, or cannot be told apart from one misheard."""
    first, last = pick(rng, given_names(gender, culture)), pick(rng, surnames(culture))
    nicks = nicknames_of(first)
    cut = first if len(first) < 5 else first[: 3 + len(first) % 2]
    nick = pick(rng, nicks).title() if nicks else first if fold(cut) in _NO_NICKS else cut
    misheard = _mishear(rng, first)
    if len({fold(first), fold(last), fold(misheard)}) < 3 or fold(nick) == fold(last):
        return None
    return _Person(gender, name_forms(first, last, nick, misheard, pick(rng, _SEPARATORS)))


def _mishear(rng: RandomSource, name: str) -> str:
    """The name with a vowel changed, a letter inside doubled or left out, or two swapped."""
    at = 1 + int(rng.random() * (len(name) - 2))
    letter, kind = name[at], rng.random()
    if letter in _VOWELS and kind < 0.5:
        return (
            name[:at]
            + _VOWELS[(_VOWELS.index(letter) + 1 + int(rng.random() * 4)) % 5]
            + name[at + 1 :]
        )
    if kind < 0.65:
        return name[:at] + letter + name[at:]
    if kind < 0.85 and len(name) > 3:
        return name[:at] + name[at + 1 :]
    return name[:at] + name[at + 1] + letter + name[at + 2 :]


def _detail(
    found: Placeholder,
    table: ChatTable,
    person: _Person,
    known: dict[Placeholder, str],
    chance: Chance,
) -> str:
    """The same for the same placeholder of a chat, another for another of its kind, as far as there are others."""
    if found not in known:
        others = {value for other, value in known.items() if other.what == found.what}
        value = ""
        for attempt in range(_TRIES):
            rng = chance.rng("detail", f"{found.who}|{found.what}|{found.number}", attempt=attempt)
            value = _make_detail(rng, found, table, person)
            if value not in others:
                break
        known[found] = value
    return known[found]


def _make_detail(rng: RandomSource, found: Placeholder, table: ChatTable, person: _Person) -> str:
    """A detail of a person on one line: a key of `MAKERS`, or one of the values."""
    if found.what in table.details:
        return pick(rng, table.details[found.what].values)
    if found.what == "age":
        youngest, oldest = table.row(found.who).ages
        return str(pick(rng, range(youngest, oldest + 1)))
    if found.what == "date":
        return _day(rng)
    # Places go by the name, so another name has another home: a person's second place is in another country.
    first, last = person.forms["first"], person.forms["last"]
    if found.what in _PLACES and found.number > 1:
        last += f" {int(rng.random() * 1000)}"
    # A source of its own: what one detail draws does not move the next, and `rng` need do no more than `random()`.
    return " ".join(
        invent_detail(found.what, first, last, random.Random(int(rng.random() * 2**53))).split()
    )


def _day(rng: RandomSource) -> str:
    """A day that somebody in a lesson would name, as they would write it."""
    month, day = pick(rng, MONTHS), 1 + int(rng.random() * 28)
    number = MONTHS.index(month) + 1
    ending = "th" if 3 < day < 21 or day > 23 else {1: "st", 2: "nd", 3: "rd"}[day % 10]
    forms = (
        f"{day} {month}",
        f"{month} {day}",
        f"{day}{ending} {month}",
        f"the {day}{ending} of {month}",
        f"{day:02}/{number:02}",
        f"{month[:3]} {day}",
        f"{day} {month[:3]}",
        f"{month} {day}{ending}",
    )
    return pick(rng, forms)


def _case_of(parts: list[_Part]) -> Callable[[str], str]:
    """What puts a name in the case of a turn's own words."""
    own = _I.sub("", " ".join(text for text, found in parts if not found))
    letters = [ch for ch in own if ch.isalpha()]
    if letters and not any(ch.isupper() for ch in letters):
        return str.lower
    if len(letters) > 3 and not any(ch.islower() for ch in letters):
        return str.upper
    return str
