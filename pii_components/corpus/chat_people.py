"""The people of a filled chat: one name in every form that a chat asks for, and what else is said of a person.

>>> from pii_components.corpus.chat_people import Person, form_of
>>> form_of(Person("Aigul", "Aziz", "Aig", "Aigol", "-", "F"), "spelled")
'A-I-G-U-L'
"""

import random
from dataclasses import dataclass

from ..surrogates.keys import Source, pick
from ..surrogates.names import fold
from ..surrogates.persons import nicknames_of
from .culture_names import given_names, surnames
from .details import invent_detail

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SEPARATORS = ("-", "-", " ", ".", ", ")
_VOWELS = "aeiou"
_PLACES = frozenset(("town", "country", "nationality"))
# Beginnings of names that are no nicknames.
_NO_NICKS = frozenset(
    ("ass", "cum", "dic", "fag", "fuc", "fuk", "nig", "poo", "shi", "sex", "tit", "twa", "anal", "homo", "slut")
)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody. first, last, nick (str): Names; `nick` is `first` where there is no shorter one. misheard (str): `first` with a letter
    wrong. separator (str): Between the letters of a name that is spelled out. gender (str): "F" or "M"."""

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


def invent(rng: Source, gender: str, culture: str) -> Person | None:
    """Draw a person.

    rng (Source): Where chance comes from. gender (str), culture (str): A group.
    RETURNS (Person | None): None if first name and surname are the same, or cannot be told apart from one misheard.
    """
    first, last = pick(rng, given_names(gender, culture)), pick(rng, surnames(culture))
    nicks = nicknames_of(first)
    cut = first if len(first) < 5 else first[: 3 + len(first) % 2]
    nick = pick(rng, nicks).title() if nicks else first if fold(cut) in _NO_NICKS else cut
    misheard = _mishear(rng, first)
    if len({fold(first), fold(last), fold(misheard)}) < 3 or fold(nick) == fold(last):
        return None
    return Person(first, last, nick, misheard, pick(rng, _SEPARATORS), gender)


def _mishear(rng: Source, name: str) -> str:
    """RETURNS (str): The name with a vowel changed, a letter inside doubled or left out, or two swapped."""
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
    """RETURNS (str): A name in one of `chat_table.NAME_FORMS`."""
    if form == "spelled":
        return person.separator.join(person.first.upper())
    if form == "spelled_last":
        return person.separator.join(person.last.upper())
    return {
        "full": f"{person.first} {person.last}",
        "first": person.first,
        "last": person.last,
        "nick": person.nick,
        "initials": f"{person.first[0]}.{person.last[0]}.",
        "misheard": person.misheard,
    }[form]


def make_detail(
    rng: Source, what: str, number: int, person: Person, *, ages: tuple[int, int], values: tuple[str, ...] = ()
) -> str:
    """A detail of a person.

    rng (Source): Where chance comes from. what (str): A key of `chat_table.MAKERS`, or anything if there are values.
    number (int): 2 for the second place of a person, which is in another country, and so on.
    person (Person): For handles and addresses. ages (tuple[int, int]): From and to. values (tuple[str, ...]): To choose from instead.
    RETURNS (str): On one line.
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


def _day(rng: Source) -> str:
    """RETURNS (str): A day that somebody in a lesson would name, as they would write it."""
    month, day = pick(rng, _MONTHS), 1 + int(rng.random() * 28)
    number = _MONTHS.index(month) + 1
    ending = "th" if 3 < day < 21 or day > 23 else {1: "st", 2: "nd", 3: "rd"}[day % 10]
    forms = (
        f"{day} {month}", f"{month} {day}", f"{day}{ending} {month}", f"the {day}{ending} of {month}", f"{day:02}/{number:02}",
        f"{month[:3]} {day}", f"{day} {month[:3]}", f"{month} {day}{ending}",
    )  # fmt: skip
    return pick(rng, forms)
