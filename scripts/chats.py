"""Fill redacted teacher-student chats with people of a gender and a culture (JEDM paper, section 3.6).

    python -m scripts.chats --input assets/chats --out chats.jsonl
    python -m scripts.chats --input assets/tscc --out tscc.jsonl --called full

A person has one name in a chat, in every form that the placeholders ask for; no two people share a
part of theirs, and none has a name that stands in the chat's own words, so that every label is sure.
What a chat becomes depends on its id and its group only: the paper's own maker draws
unseeded, and numbers made with it cannot be had again. What the placeholders stand for: chats.toml.
"""

import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pii_components.cli.common import guard
from pii_components.corpus.people import MONTHS, invent_detail
from pii_components.corpus.templates import DETAILS, Filled
from pii_components.errors import Errors, PiiError
from pii_components.files.record import Skip
from pii_components.files.sources import open_source
from pii_components.files.writers import replace_file
from pii_components.labels import DATE, is_name, label_for_role
from pii_components.names.letters import fold
from pii_components.names.link import nicknames_of
from pii_components.surrogates.keys import SurrogateKey, pick
from scripts import common
from scripts.cultures import GROUPS, given_names, surnames

CALLED = "called"  # a person, without a form
NAME_FORMS = ("full", "first", "last", "nick", "initials", "spelled", "spelled_last", "misheard")
MAKERS = {**DETAILS, "date": DATE}  # of details, and their labels
SPEAKER_FIELDS = ("speaker", "role", "participant", "who", "author")  # TSCC has `role`
_PLACES = frozenset(("town", "country", "nationality"))
_VOWELS = "aeiou"
# Beginnings of names that are no nicknames.
_NO_NICKS = frozenset("ass cum dic fag fuc fuk nig poo shi sex tit twa anal homo slut".split())
_TRIES = 300
SEED = 46


class Placeholder(NamedTuple):
    """What words between brackets stand for.

    who (str): The person, with a number ("FRIEND 2"); unnumbered for the first.
    what (str): A form of the name, a maker, or the name of a detail that has values.
    label (str): Of what fills it; empty for what is no personal information.
    number (int): Tells details of one kind apart.
    """

    who: str
    what: str
    label: str
    number: int = 1


class Chat(NamedTuple):
    """A redacted chat: turns of (speaker, text), and of its front matter genre and part, "test" for
    those that nobody looks at while rules are made."""

    id: str
    turns: tuple[tuple[str, str], ...]
    genre: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class FilledChat:
    """A chat with people: a turn per line, `teacher: ...`, as in the paper.

    placeholders (tuple[str, ...]): What stood there, per span.
    people (dict[str, dict[str, str]]): Person -> role, gender, culture: results per group count the
        people whose gender is the group's.
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


Part = tuple[str, Placeholder | None]  # words of a chat, or those of a placeholder and what it is


class Placeholders:
    """What placeholders stand for: chats.toml."""

    def __init__(self) -> None:
        content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
        left, right = map(re.escape, content["brackets"])
        # Three letters at least: `List<T>` is none.
        self.pattern = re.compile(rf"{left}([A-Z](?:[A-Z0-9 '’/_-]|['’]s){{2,60}}){right}")
        self.forms: dict[str, str] = content["forms"]
        self.details: dict[str, dict[str, Any]] = content["details"]
        self.persons: dict[str, dict[str, Any]] = content["persons"]
        self.speakers = {word: who for who, words in content["speakers"].items() for word in words}

    def person(self, who: str) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The row of a person: of FRIEND for "FRIEND 2"."""
        return self.persons[who.rstrip("0123456789 ")]

    def parse(self, text: str, where: str) -> list[Part]:
        """RETURNS (list[Part]): A turn. RAISES (PiiError): E601 for an unknown placeholder."""
        parts, at = list[Part](), 0
        for match in self.pattern.finditer(text):
            found = self.resolve(match[1])
            if found is None:
                problem = f"at character {match.start()} stands no known placeholder"
                raise PiiError(Errors.E601, where=where, problem=problem)
            parts += [(text[at : match.start()], None), (match[1], found)]
            at = match.end()
        return [*parts, (text[at:], None)]

    def resolve(self, words: str) -> Placeholder | None:
        """RETURNS (Placeholder | None): What the words stand for; None if the table does not say."""
        words = " ".join(words.upper().replace("’", "'").split())
        # A detail first: STUDENT NUMBER is none of a person's forms.
        if found := self._detail(words, "STUDENT"):
            return found
        for person in sorted(self.persons, key=len, reverse=True):
            match = re.fullmatch(rf"{person}(?: ([1-9]\d?))?(?: (.*))?", words)
            if not match:
                continue
            number, rest = int(match[1] or 1), match[2] or ""
            who = f"{person} {number}" if number > 1 else person
            if not rest or rest in self.forms:
                label = label_for_role(self.persons[person]["role"])
                return Placeholder(who, self.forms.get(rest, CALLED), label)
            if found := self._detail(rest, who):
                return found
        return None

    def _detail(self, words: str, who: str) -> Placeholder | None:
        match = re.fullmatch(r"(.*?)(?: ([1-9]\d?))?", words)
        name, number = (match[1], int(match[2] or 1)) if match else (words, 1)
        row = self.details.get(name)
        if row is None:
            return None
        make = row.get("make", "")
        return Placeholder(who, make or name, row.get("label", MAKERS.get(make, "")), number)


def read_chats(path: Path, *, table: Placeholders) -> list[Chat]:
    """Read every chat of a file or folder: .txt with a turn per line, or a table per chat with a turn per row.

    RAISES (PiiError): E601, if something is not of the form; E501 to E508 for a table.
    """
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    chats: list[Chat] = []
    for file in files:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        if file.suffix == ".txt":
            chats.append(parse_chat(file.read_text("utf-8-sig"), name, table))
        elif file.suffix in (".csv", ".tsv", ".jsonl", ".json"):
            chats.append(_from_table(file, name, table))
    if not chats:
        raise PiiError(Errors.E601, where=path.name, problem="it holds no chats")
    return chats


def _from_table(file: Path, name: str, table: Placeholders) -> Chat:
    """TSCC has `role` and `edited`; others have a usual name for the text."""
    try:
        source = open_source(file, text_field="edited")
    except PiiError as err:
        if err.code != "E652":
            raise
        source = open_source(file)
    field = next((field for field in SPEAKER_FIELDS if field in source.others), None)
    turns = []
    for record in source:
        if isinstance(record, Skip):
            raise record.error
        speaker = table.speakers.get(str(dict(record.others).get(field)).strip().lower())
        if speaker is None:
            problem = f"row {record.number} names no speaker ({', '.join(table.speakers)})"
            raise PiiError(Errors.E601, where=file.name, problem=problem)
        turns.append((speaker, record.text.strip()))
    return Chat(name, tuple(turns))


def parse_chat(text: str, name: str, table: Placeholders) -> Chat:
    """RETURNS (Chat): Front matter, if any, and turns; a line without a speaker goes on with the turn
    before it. RAISES (PiiError): E601."""
    head, mark, body = text.partition("\n---\n")
    meta = dict(re.findall(r"^(\w+): *(.*)$", head, re.MULTILINE)) if mark else {}
    if mark and meta.get("id") != name.rpartition("/")[2]:
        raise PiiError(Errors.E601, where=name, problem="the front matter has another id")
    turns: list[tuple[str, str]] = []
    for line in (body if mark else text).splitlines():
        word, colon, said = line.partition(":")
        speaker = table.speakers.get(word.strip().lower()) if colon else None
        if speaker:
            turns.append((speaker, said.strip()))
        elif line.strip() and turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
        elif line.strip():
            break
    if not turns:
        problem = f"the first turn begins with a speaker and a colon ({', '.join(table.speakers)})"
        raise PiiError(Errors.E601, where=name, problem=problem)
    return Chat(name, tuple(turns), meta.get("genre", ""), meta.get("part", ""))


def assign_groups(chats: Sequence[Chat], *, seed: int) -> list[tuple[Chat, tuple[str, str]]]:
    """RETURNS (list): Chat and group, no chat in two groups if there are enough, as in the paper (260 chats, 26 in each of 10 groups)."""
    chance = SurrogateKey(f"chats|{seed}".encode(), scope="deal")
    deck = sorted(chats, key=lambda chat: chance.order(chat.id))
    size = max(1, len(deck) // len(GROUPS))
    return [(deck[i % len(deck)], GROUPS[i // size]) for i in range(size * len(GROUPS))]


def fill_chat(
    chat: Chat,
    *,
    gender: str,
    culture: str,
    seed: int,
    table: Placeholders,
    called: str = "first",
    number: int = 1,
) -> FilledChat:
    """Fill one chat.

    gender (str): "F" or "M", of the student and the teacher.
    culture (str): A key of `people.CULTURES`.
    called (str): What stands for <STUDENT> alone: "first" name, or "full" name as in the paper.
    number (int): Another filling for the same group.
    RAISES (PiiError): E601, if a placeholder is unknown or too many people have a name.
    """
    parsed = [
        table.parse(text, f"{chat.id}, turn {n}") for n, (_, text) in enumerate(chat.turns, 1)
    ]
    chance = SurrogateKey(f"chats|{seed}".encode(), scope=f"{chat.id}|{gender}|{culture}|{number}")
    people = _invent_people(chat, parsed, table, chance, gender, culture)
    details: dict[Placeholder, str] = {}
    pieces, names = [], []
    for (speaker, _), parts in zip(chat.turns, parsed, strict=True):
        pieces.append((f"{speaker}: ", ""))
        for words, found in [*parts, ("\n", None)]:
            if found is None:
                pieces.append((words, ""))
                continue
            value = people[found.who][1].get(called if found.what == CALLED else found.what)
            value = value or _detail(found, table, people[found.who][1], details, chance)
            pieces.append((value, found.label))
            names += [words] if found.label else []
    filled = Filled("").with_pieces(pieces).with_units()
    name = ".".join((chat.id, gender, culture, *([str(number)] if number > 1 else [])))
    who_is = {
        who: {"role": table.person(who)["role"], "gender": sex, "culture": culture}
        for who, (sex, _) in sorted(people.items())
    }
    group = (gender, culture, chat.id, chat.genre)
    return FilledChat(name, filled.text, filled.spans, *group, tuple(names), who_is)


Person = tuple[str, dict[str, str]]  # gender, and each of `NAME_FORMS`


def _invent_people(
    chat: Chat,
    turns: list[list[Part]],
    table: Placeholders,
    chance: SurrogateKey,
    gender: str,
    culture: str,
) -> dict[str, Person]:
    """The people whose names or details are asked for, each with a name of their own."""
    parts = [part for turn in turns for part in turn]
    wanted = {found.who for _, found in parts if found}
    words = " ".join(text for text, found in parts if not found)
    taken = {fold(word) for word in re.findall(r"[^\W\d_]+", words)}
    people: dict[str, Person] = {}
    # Those who talk choose first: what they are called does not depend on how many others are named.
    for who in sorted(wanted, key=lambda who: (who != "STUDENT", who != "TEACHER", who)):
        rule = table.person(who).get("gender", "any")
        for attempt in range(_TRIES):
            rng = chance.rng("person", who, attempt=attempt)
            sex = {"group": gender, "F": "F", "M": "M"}.get(rule)
            sex = sex or ("F" if rng.random() < 0.5 else "M")
            forms = _invent(rng, sex, culture)
            folded = {fold(forms[form]) for form in ("first", "last", "nick", "misheard") if forms}
            if forms and not folded & taken:
                people[who] = sex, forms
                taken |= folded
                break
        else:
            problem = f"too few names for {len(wanted)} people"
            raise PiiError(Errors.E601, where=chat.id, problem=problem)
    return people


def _invent(rng: Any, gender: str, culture: str) -> dict[str, str]:
    """The forms of somebody's name; none if first name, surname and the misheard name are alike."""
    first, last = pick(rng, given_names(gender, culture)), pick(rng, surnames(culture))
    nicks = nicknames_of(first)
    cut = first if len(first) < 5 else first[: 3 + len(first) % 2]
    nick = pick(rng, nicks).title() if nicks else first if fold(cut) in _NO_NICKS else cut
    misheard = _mishear(rng, first)
    if len({fold(first), fold(last), fold(misheard)}) < 3 or fold(nick) == fold(last):
        return {}
    joint = pick(rng, ("-", "-", " ", ".", ", "))
    initials = f"{first[0]}.{last[0]}."
    spelled, spelled_last = joint.join(first.upper()), joint.join(last.upper())
    forms = (f"{first} {last}", first, last, nick, initials, spelled, spelled_last, misheard)
    return dict(zip(NAME_FORMS, forms, strict=True))


def _mishear(rng: Any, name: str) -> str:
    """The name with a vowel changed, a letter inside doubled or left out, or two swapped."""
    at = 1 + int(rng.random() * (len(name) - 2))
    letter, kind = name[at], rng.random()
    if letter in _VOWELS and kind < 0.5:
        other = _VOWELS[(_VOWELS.index(letter) + 1 + int(rng.random() * 4)) % 5]
        return name[:at] + other + name[at + 1 :]
    if kind < 0.65:
        return name[:at] + letter + name[at:]
    if kind < 0.85 and len(name) > 3:
        return name[:at] + name[at + 1 :]
    return name[:at] + name[at + 1] + letter + name[at + 2 :]


def _detail(
    found: Placeholder,
    table: Placeholders,
    forms: dict[str, str],
    known: dict[Placeholder, str],
    chance: SurrogateKey,
) -> str:
    """The same for the same placeholder of a chat, another for another of its kind if there is one."""
    if found not in known:
        others = {value for other, value in known.items() if other.what == found.what}
        for attempt in range(_TRIES):
            rng = chance.rng("detail", f"{found.who}|{found.what}|{found.number}", attempt=attempt)
            known[found] = _make_detail(rng, found, table, forms)
            if known[found] not in others:
                break
    return known[found]


def _make_detail(rng: Any, found: Placeholder, table: Placeholders, forms: dict[str, str]) -> str:
    if found.what in table.details:
        return pick(rng, table.details[found.what]["values"])
    if found.what == "age":
        youngest, oldest = table.person(found.who).get("age", (14, 51))  # ages of those who chat
        return str(pick(rng, range(youngest, oldest + 1)))
    if found.what == "date":
        return _day(rng)
    # Places go by the name, so a person's second place is that of another name.
    last = forms["last"]
    if found.what in _PLACES and found.number > 1:
        last += f" {int(rng.random() * 1000)}"
    # A source of its own: what one detail draws does not move the next.
    own = random.Random(int(rng.random() * 2**53))
    return " ".join(invent_detail(found.what, forms["first"], last, own).split())


def _day(rng: Any) -> str:
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


def main(
    *,
    source: Annotated[Path, typer.Option("--input", help="A file or a folder of chats.")] = Path(
        "assets/chats"
    ),
    out: Annotated[Path, typer.Option(help="JSON Lines: id, text, spans, gender and more.")],
    called: Annotated[
        str, typer.Option(help="What <STUDENT> becomes: first, or full as in the JEDM paper.")
    ] = "first",
    debug: common.DebugOpt = False,
) -> None:
    """Fill redacted chats with names of each gender and culture; write texts with labelled spans."""
    with guard(debug):
        if called not in NAME_FORMS:
            allowed = ", ".join(NAME_FORMS)
            raise PiiError(Errors.E519, value=called, what="form of a name", allowed=allowed)
        table = Placeholders()
        chats = read_chats(source, table=table)
        lines, counts = [], Counter[str]()
        for chat, (gender, culture) in assign_groups(chats, seed=SEED):
            group = {"gender": gender, "culture": culture}
            filled = fill_chat(chat, **group, seed=SEED, table=table, called=called)
            lines.append(json.dumps(asdict(filled), ensure_ascii=False) + "\n")
            counts.update("names" if is_name(label) else "details" for *_, label in filled.spans)
        replace_file(out, "".join(lines))
        typer.echo(f"wrote {len(lines)} chats to '{out}': {dict(counts)}")


if __name__ == "__main__":
    typer.run(main)
