"""What the placeholders of a redacted chat stand for, as data: resources/chats/placeholders.toml.

    >>> from pii_components.corpus.chat_table import load_table
    >>> load_table().resolve("FRIEND 2 SURNAME")
    Placeholder(who='FRIEND 2', what='last', label='NAME_CONNECTED', number=1)

A placeholder is put together of a person, a number, and a form of the name or a detail. The table says which words these are; a
user's own table adds to the one that ships.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from ..labels import DATE, LABELS, ROLES, label_for_role
from .records import reason_of
from .templates import DETAILS

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


@dataclass(frozen=True, slots=True)
class Detail:
    """A row of the table for what is no name. make (str): A key of `MAKERS`, or empty. values (tuple[str, ...]): To choose from.
    label (str): Of the value."""

    make: str
    values: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class ChatTable:
    """The table.

    brackets (tuple[str, str]): What stands around a placeholder. speakers (dict[str, str]): A word before a turn, in lower case ->
    "teacher" or "student".
    roles, genders (dict[str, str]): Person -> role, rule of gender. ages (dict[str, tuple[int, int]]): Person -> from and to.
    forms (dict[str, str]): Words -> form of a name.
    details (dict[str, Detail]): Words -> what is made of them.
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
        """What a placeholder stands for.

        words (str): What stands between its brackets.
        RETURNS (Placeholder | None): None if the table does not say.
        """
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

    def role_of(self, who: str) -> str:
        """RETURNS (str): The role of a person, with a number or without."""
        return self.roles[_unnumbered(who)]

    def gender_of(self, who: str) -> str:
        """RETURNS (str): The rule of a person's gender, one of `GENDER_RULES`."""
        return self.genders[_unnumbered(who)]

    def age_of(self, who: str) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): The youngest and the oldest that a person may be."""
        return self.ages[_unnumbered(who)]


def _unnumbered(who: str) -> str:
    return who.rstrip("0123456789").rstrip()


def load_table(path: Path | None = None) -> ChatTable:
    """The table that ships, with what a user adds.

    path (Path | None): A TOML file of the same form; what it says comes before what ships.
    RETURNS (ChatTable): To resolve placeholders with.
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
