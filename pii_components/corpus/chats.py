"""Fill redacted teacher-student chats with people of a gender and a culture (seeds/gpt4omini_jedm.txt, section 3.6).

    >>> from pii_components.corpus.chats import fill_chat
    >>> from pii_components.corpus.chats import parse_chat
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, open_binary, reason_of, show_fields
from ..files.sources import JSON_SUFFIXES, TABLE_SUFFIXES, decode_text, open_source
from ..labels import DATE, EDUCATION, EMPLOYER, LABELS, LOCATION, ROLES, is_name, label_for_role
from ..names.letters import fold
from ..names.link import nicknames_of
from ..names.table import Source as Source_keys
from ..surrogates.keys import Chance, pick
from .people import GROUPS, MONTHS, check_group, given_names, invent_detail, surnames
from .templates import DETAILS

# What the placeholders of a redacted chat stand for, as data: resources/chats/placeholders.toml.

STUDENT, TEACHER = "student", "teacher"
CALLED = "called"
NAME_FORMS = ("full", "first", "last", "nick", "initials", "spelled", "spelled_last", "misheard")
GENDER_RULES = ("group", "F", "M", "any")
# What a detail can be made of, and its label: those of the essays, and a day of the year.
MAKERS: dict[str, str] = {**DETAILS, "date": DATE}
# Of those who chat, and of whoever the table says nothing else of.
_AGES = (14, 51)
_PARTS = ("brackets", "speakers", "persons", "forms", "details")
_NUMBER = re.compile(r"([0-9]{1,2})(?: |$)")


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

    @property
    def is_name(self) -> bool:
        """RETURNS (bool): Whether a person's name fills it."""
        return self.what == CALLED or self.what in NAME_FORMS


class Detail(NamedTuple):
    """What is no name: made by one of `MAKERS`, or one of the values; `label` is empty for what is no personal information."""

    make: str
    values: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class ChatTable:
    """What placeholders stand for.

    brackets (tuple[str, str]): What stands around a placeholder. speakers (dict[str, str]): A word before a turn, in lower case ->
    "teacher" or "student". roles, genders, ages: Person -> role, one of `GENDER_RULES`, youngest and oldest.
    forms (dict[str, str]): Words -> form of a name. details (dict[str, Detail]): Words -> what is made of them.
    """

    brackets: tuple[str, str]
    speakers: dict[str, str]
    roles: dict[str, str]
    genders: dict[str, str]
    ages: dict[str, tuple[int, int]]
    forms: dict[str, str]
    details: dict[str, Detail]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """RETURNS (re.Pattern[str]): A placeholder in its brackets; group 1 is its words. Three letters at least: `List<T>` is none."""
        left, right = map(re.escape, self.brackets)
        return re.compile(rf"{left}([A-Z](?:[A-Z0-9 '’/_-]|['’]s){{2,60}}){right}")

    @cached_property
    def _people(self) -> list[str]:
        return sorted(self.roles, key=lambda person: (-len(person), person))

    def resolve(self, words: str) -> Placeholder | None:
        """RETURNS (Placeholder | None): What the words between brackets stand for; None if the table does not say."""
        words = " ".join(words.upper().replace("’", "'").split())
        # A detail first: STUDENT NUMBER is none of a person's forms.
        return self._detail(words, "STUDENT") or self._of_person(words)

    def _of_person(self, words: str) -> Placeholder | None:
        for person in self._people:
            if words != person and not words.startswith(f"{person} "):
                continue
            who, rest = person, words[len(person) + 1 :]
            if (match := _NUMBER.match(rest)) and int(match[1]) > 0:
                who, rest = (f"{person} {int(match[1])}" if int(match[1]) > 1 else person), rest[match.end() :]
            if not rest or rest in self.forms:
                return Placeholder(who, self.forms.get(rest, CALLED), label_for_role(self.roles[person]))
            if found := self._detail(rest, who):
                return found
        return None

    def _detail(self, words: str, who: str) -> Placeholder | None:
        head, _, number = words.rpartition(" ")
        name, n = (head, int(number)) if number.isdecimal() and 0 < int(number) < 100 else (words, 1)
        detail = self.details.get(name)
        return Placeholder(who, detail.make or name, detail.label, n) if detail else None


def _unnumbered(who: str) -> str:
    """The person as the table has them: FRIEND for FRIEND 2."""
    return who.rstrip("0123456789").rstrip()


def load_table(path: Path | None = None) -> ChatTable:
    """RETURNS (ChatTable): The table that ships, and what a user's TOML file of the same form says, which goes first.

    RAISES (PiiError): E501, if the file cannot be read; E686, if it is not of the form.
    """
    shipped = resources.files("pii_components") / "resources" / "chats" / "placeholders.toml"
    content = tomllib.loads(shipped.read_text(encoding="utf8"))
    if path is not None:
        try:
            own = tomllib.loads(path.read_text(encoding="utf8"))
        except OSError as err:
            raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
        except (tomllib.TOMLDecodeError, UnicodeError) as err:
            raise PiiError(Errors.E686, path=path.name, problem="it is no TOML file in UTF-8") from err
        for part, value in own.items():
            if part in _PARTS[1:] and isinstance(value, dict):
                content[part] = {**content[part], **value}
            elif part == "brackets":
                content[part] = value
            else:
                raise PiiError(Errors.E686, path=path.name, problem=f"it may hold the tables {', '.join(_PARTS)} only")
    return _as_table(content, path.name if path is not None else "placeholders.toml")


def _as_table(content: dict[str, Any], where: str) -> ChatTable:
    def check(fits: bool, problem: str) -> None:
        if not fits:
            raise PiiError(Errors.E686, path=where, problem=problem)

    brackets = content["brackets"]
    fits = isinstance(brackets, list) and len(brackets) == 2 and all(isinstance(b, str) and b.strip() for b in brackets)
    check(fits, 'brackets are two texts, for example ["<", ">"]')
    speakers: dict[str, str] = {}
    for speaker, words in content["speakers"].items():
        fits = speaker in (STUDENT, TEACHER) and isinstance(words, list) and all(isinstance(w, str) for w in words)
        check(fits, f"[speakers] has lists of words for {TEACHER} and {STUDENT}")
        speakers |= {word.lower(): speaker for word in words}
    roles, genders, ages = {}, {}, {}
    for number, (person, row) in enumerate(content["persons"].items(), 1):
        row_is, key = f"row {number} of [persons]", person.upper()
        check(isinstance(row, dict) and set(row) <= {"role", "gender", "age"}, f"{row_is} has role, gender, age")
        check(row.get("role") in ROLES, f"role of {row_is} is one of {', '.join(ROLES)}")
        check(row.get("gender", "any") in GENDER_RULES, f"gender of {row_is} is one of {', '.join(GENDER_RULES)}")
        age = row.get("age", list(_AGES))
        fits = isinstance(age, list) and len(age) == 2 and all(type(a) is int for a in age) and 0 < age[0] <= age[1] < 120
        check(fits, f"age of {row_is} is two whole numbers, from and to")
        roles[key], genders[key], ages[key] = row["role"], row.get("gender", "any"), (age[0], age[1])
    check({"STUDENT", "TEACHER"} <= roles.keys(), "[persons] has STUDENT and TEACHER")
    for form in content["forms"].values():
        check(form in NAME_FORMS, f"[forms] may be {', '.join(NAME_FORMS)}")
    details = {}
    for number, (name, row) in enumerate(content["details"].items(), 1):
        row_is = f"row {number} of [details]"
        check(isinstance(row, dict) and set(row) <= {"make", "values", "label"}, f"{row_is} has make, values, label")
        check(("make" in row) != ("values" in row), f"{row_is} has either make or values")
        check(row.get("make", "age") in MAKERS, f"make of {row_is} is one of {', '.join(MAKERS)}")
        values = row.get("values", ["-"])
        fits = isinstance(values, list) and bool(values) and all(isinstance(value, str) and value.strip() for value in values)
        check(fits, f"values of {row_is} are texts, one at least")
        label = row.get("label", MAKERS.get(row.get("make", "")))
        check(label == "" or label in LABELS, f'label of {row_is} is "" or one of {", ".join(LABELS)}')
        details[name.upper()] = Detail(row.get("make", ""), tuple(row.get("values", ())), label)
    forms = {words.upper(): form for words, form in content["forms"].items()}
    return ChatTable((brackets[0], brackets[1]), speakers, roles, genders, ages, forms, details)


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

    path (Path): A .txt, .csv, .tsv, .jsonl or .json file, or a folder of such files. table (ChatTable | None): None for the one that ships.
    speaker_field, text_field (str): Columns of a table; empty to find usual ones. chat_field (str): Column that tells the chats of one
    file apart; empty if a file is a chat.
    RETURNS (list[Chat]): By the order of the paths.
    RAISES (PiiError): E501 to E508; E681 to E684, E688, E690 to E692, if something is not of the form.
    """
    table = table or load_table()
    if not path.exists():
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()) if path.is_dir() else [path]
    chats: dict[str, Chat] = {}
    for file in files:
        name = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        if file.suffix.lower() == ".txt":
            found: Iterable[Chat] = [_read_text(file, name, table, encoding)]
        else:
            found = _read_table(file, name, table, (speaker_field, text_field, chat_field), encoding)
        for chat in found:
            if chat.id in chats:
                raise PiiError(Errors.E688, chat=chat.id)
            chats[chat.id] = chat
    if not chats:
        raise PiiError(Errors.E684, path=path.name)
    return list(chats.values())


def parse_chat(text: str, name: str, *, table: ChatTable | None = None) -> Chat:
    """RETURNS (Chat): Read from turns, front matter before them or not; a line without a speaker goes on with the turn before it.

    RAISES (PiiError): E681, E682, E692.
    """
    table = table or load_table()
    head, mark, body = text.partition("\n---\n")
    first_line, meta = 1, {}
    if mark and not _speaker(head.lstrip().split("\n", 1)[0], table)[0]:
        meta = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
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
    return Chat(name, tuple(turns), meta.get("genre", ""), meta.get("voice", ""), meta.get("part", ""))


def _speaker(line: str, table: ChatTable) -> tuple[str, str]:
    """Who speaks, and what is said; two empty strings for a line that begins with no speaker."""
    word, mark, said = line.partition(":")
    speaker = table.speakers.get(word.strip().lower(), "") if mark else ""
    return (speaker, said.strip()) if speaker else ("", "")


def _read_text(file: Path, name: str, table: ChatTable, encoding: str) -> Chat:
    with open_binary(file) as raw:
        item = decode_text(raw.read(), 1, name, encoding=encoding)
    if isinstance(item, Skip):
        raise PiiError(Errors.E691, where=file.name, problem=item.error) from item.error
    return parse_chat(item.text, name, table=table)


def _read_table(file: Path, name: str, table: ChatTable, fields: tuple[str, str, str], encoding: str) -> Iterator[Chat]:
    speaker_field, text_field, chat_field = fields
    source = _open_table(file, text_field, chat_field, encoding)
    names = source.others
    speaker_field = speaker_field or next((field for field in USUAL_SPEAKER_FIELDS if field in names), "")
    if speaker_field not in names:
        raise PiiError(Errors.E690, where=file.name, what="the speaker", fields=show_fields(names), option="--speaker-column")
    turns: dict[str, list[Turn]] = {}
    for item in source:
        if isinstance(item, Skip):
            raise PiiError(Errors.E691, where=file.name, problem=item.error) from item.error
        speaker = table.speakers.get(_other(item, speaker_field).strip().lower())
        if speaker is None:
            raise PiiError(Errors.E683, where=file.name, number=item.number, allowed=", ".join(table.speakers))
        chat = item.id if chat_field else name
        turns.setdefault(chat, []).append(Turn(speaker, item.text.strip()))
    if not turns:
        raise PiiError(Errors.E682, chat=name)
    yield from (Chat(chat, tuple(said)) for chat, said in turns.items())


def _open_table(file: Path, text_field: str, chat_field: str, encoding: str) -> Source:
    """Rows of a table, with the first text column of TSCC's and the like that it has."""
    for wanted in (text_field,) if text_field else (*USUAL_TURN_FIELDS, ""):
        try:
            return open_source(file, text_field=wanted, id_field=chat_field, encoding=encoding)
        except PiiError as err:
            if err.code != "E505" or text_field or not wanted:
                raise PiiError(Errors.E691, where=file.name, problem=err) from err
    raise AssertionError("the last one raises")


def _other(record: Record, field: str) -> str:
    return next((value for name, value in record.others if name == field), "")


# The people of a filled chat: one name in every form that a chat asks for, and what else is said of a person.

_SEPARATORS = ("-", "-", " ", ".", ", ")
_VOWELS = "aeiou"
_PLACES = frozenset(("town", "country", "nationality"))
# Beginnings of names that are no nicknames.
_NO_NICKS = frozenset(
    ("ass", "cum", "dic", "fag", "fuc", "fuk", "nig", "poo", "shi", "sex", "tit", "twa", "anal", "homo", "slut")
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody. `nick` is `first` where there is no shorter one, `misheard` is it with a letter wrong; `separator` stands between the letters
    of a name that is spelled out; `gender` is "F" or "M"."""

    first: str
    last: str
    nick: str
    misheard: str
    separator: str
    gender: str

    @property
    def folded(self) -> frozenset[str]:
        """RETURNS (frozenset[str]): All names, in lower case and without accents: what nobody else may be called."""
        return frozenset(map(fold, (self.first, self.last, self.nick, self.misheard)))


def invent(rng: Source_keys, gender: str, culture: str) -> Person | None:
    """RETURNS (Person | None): Drawn; None if first name and surname are the same, or cannot be told apart from one misheard."""
    first, last = pick(rng, given_names(gender, culture)), pick(rng, surnames(culture))
    nicks = nicknames_of(first)
    cut = first if len(first) < 5 else first[: 3 + len(first) % 2]
    nick = pick(rng, nicks).title() if nicks else first if fold(cut) in _NO_NICKS else cut
    misheard = _mishear(rng, first)
    if len({fold(first), fold(last), fold(misheard)}) < 3 or fold(nick) == fold(last):
        return None
    return Person(first, last, nick, misheard, pick(rng, _SEPARATORS), gender)


def _mishear(rng: Source_keys, name: str) -> str:
    """The name with a vowel changed, a letter inside doubled or left out, or two swapped."""
    at = 1 + int(rng.random() * (len(name) - 2))
    letter, kind = name[at], rng.random()
    if letter in _VOWELS and kind < 0.5:
        return name[:at] + _VOWELS[(_VOWELS.index(letter) + 1 + int(rng.random() * 4)) % 5] + name[at + 1 :]
    if kind < 0.65:
        return name[:at] + letter + name[at:]
    if kind < 0.85 and len(name) > 3:
        return name[:at] + name[at + 1 :]
    return name[:at] + name[at + 1] + letter + name[at + 2 :]


def form_of(person: Person, form: str) -> str:
    """RETURNS (str): A name in one of `NAME_FORMS`."""
    return {
        "full": f"{person.first} {person.last}",
        "first": person.first,
        "last": person.last,
        "nick": person.nick,
        "initials": f"{person.first[0]}.{person.last[0]}.",
        "spelled": person.separator.join(person.first.upper()),
        "spelled_last": person.separator.join(person.last.upper()),
        "misheard": person.misheard,
    }[form]


def make_detail(
    rng: Source_keys, what: str, number: int, person: Person, *, ages: tuple[int, int], values: tuple[str, ...] = ()
) -> str:
    """RETURNS (str): A detail of a person on one line: a key of `MAKERS`, or one of the values.

    number (int): 2 for the second place of a person, which is in another country, and so on. ages (tuple[int, int]): From and to.
    """
    if values:
        return pick(rng, values)
    if what == "age":
        return str(pick(rng, range(ages[0], ages[1] + 1)))
    if what == "date":
        return _day(rng)
    # Places go by the name, so another name has another home.
    last = f"{person.last} {int(rng.random() * 1000)}" if what in _PLACES and number > 1 else person.last
    # A source of its own: what one detail draws does not move the next, and `rng` need do no more than `random()`.
    return " ".join(invent_detail(what, person.first, last, random.Random(int(rng.random() * 2**53))).split())


def _day(rng: Source_keys) -> str:
    """A day that somebody in a lesson would name, as they would write it."""
    month, day = pick(rng, MONTHS), 1 + int(rng.random() * 28)
    number = MONTHS.index(month) + 1
    ending = "th" if 3 < day < 21 or day > 23 else {1: "st", 2: "nd", 3: "rd"}[day % 10]
    forms = (
        f"{day} {month}", f"{month} {day}", f"{day}{ending} {month}", f"the {day}{ending} of {month}", f"{day:02}/{number:02}",
        f"{month[:3]} {day}", f"{day} {month[:3]}", f"{month} {day}{ending}",
    )  # fmt: skip
    return pick(rng, forms)


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

    def as_record(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): A line of JSON Lines, as `files.formats` reads it."""
        return asdict(self)


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
    """YIELDS (FilledChat): The data set of the paper, chats of all ten groups, as many of each; see `deal` and `fill_chat`."""
    table = table or load_table()
    for chat, (gender, culture), number in deal(chats, per_group=per_group, seed=seed, same_chats=same_chats):
        yield fill_chat(chat, gender=gender, culture=culture, seed=seed, table=table, called=called, case=case, number=number)


def deal(
    chats: Sequence[Chat], *, per_group: int | None = None, seed: int, same_chats: bool = False
) -> list[tuple[Chat, tuple[str, str], int]]:
    """Which chat goes to which group.

    per_group (int | None): Chats of each group. None for as many as can be had with no chat in two groups, as in the paper (260 chats, 26
    in each of 10 groups). With more, chats are in several groups, but twice in one only if there are fewer than `per_group`.
    seed (int): For the order. same_chats (bool): The same chats in every group: then groups differ by names and nothing else.
    RETURNS (list[tuple[Chat, tuple[str, str], int]]): Chat, group, and 1, or 2 for the second time in the group, and so on, whatever the
        order of the chats.
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
        text=text + "\n",
        spans=tuple(spans),
        gender=gender,
        culture=culture,
        chat=chat.id,
        genre=chat.genre,
        placeholders=tuple(names),
        people={
            who: {"role": table.roles[_unnumbered(who)], "gender": person.gender, "culture": culture}
            for who, person in sorted(people.items())
        },
    )


def count_placeholders(chats: Iterable[Chat], *, table: ChatTable | None = None) -> list[tuple[str, int, Placeholder | None]]:
    """RETURNS (list[tuple[str, int, Placeholder | None]]): Words of placeholders, how often, what the table says; the most frequent first."""
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
    """The people whose names or details are asked for, each with a name of their own."""
    wanted = {part[1].who for parts in turns for part in parts if not isinstance(part, str)}
    taken = {fold(word) for parts in turns for part in parts if isinstance(part, str) for word in _WORD.findall(part)}
    people: dict[str, Person] = {}
    # Those who talk choose first: what they are called does not depend on how many others are named.
    for who in sorted(wanted, key=lambda who: (who != "STUDENT", who != "TEACHER", who)):
        rule = table.genders[_unnumbered(who)]
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
    found: Placeholder, table: ChatTable, person: Person, known: dict[tuple[str, str, int], str], chance: Chance
) -> str:
    """The same for the same placeholder of a chat, another for another of its kind, as far as there are others."""
    key = (found.who, found.what, found.number)
    if key not in known:
        others = {value for (_, what, _), value in known.items() if what == found.what}
        row = table.details.get(found.what)
        value = ""
        for attempt in range(_TRIES):
            rng = chance.rng("detail", "|".join(map(str, key)), attempt=attempt)
            ages, values = table.ages[_unnumbered(found.who)], row.values if row else ()
            value = make_detail(rng, found.what, found.number, person, ages=ages, values=values)
            if value not in others:
                break
        known[key] = value
    return known[key]


def _case_of(parts: list[_Part]) -> Any:
    """What puts a name in the case of a turn's own words."""
    own = _I.sub("", " ".join(part for part in parts if isinstance(part, str)))
    letters = [ch for ch in own if ch.isalpha()]
    if letters and not any(ch.isupper() for ch in letters):
        return str.lower
    if len(letters) > 3 and not any(ch.islower() for ch in letters):
        return str.upper
    return str
