"""Invented people to fill slots with: names in every form, and contact details linked to the name.

CRAPII has none of this: its names are Title Case, ASCII and two words long, its e-mails share nothing with the names
(seeds/crapii_paper.txt 2.3; measured). Here one person has one name, in every form that students use, and handles built from it.
"""

import random
from dataclasses import dataclass, field

from ..surrogates.names import REGIONS, NameTable
from .details import invent_detail, is_linked, plain
from .templates import DETAILS, Slot

_NICKS = {
    "william": "Bill", "robert": "Bob", "elizabeth": "Liz", "katherine": "Kate", "alexander": "Alex", "alexandra": "Alex", "michael": "Mike",
    "jennifer": "Jen", "christopher": "Chris", "christina": "Tina", "daniel": "Dan", "samuel": "Sam", "samantha": "Sam", "nicholas": "Nick",
    "francisco": "Paco", "jose": "Pepe", "guadalupe": "Lupe", "margaret": "Maggie", "thomas": "Tom", "joseph": "Joe", "benjamin": "Ben",
}  # fmt: skip
# Regions where the family name comes first, or may.
_FAMILY_FIRST = frozenset(("CN", "JP", "KR", "VN", "HU"))
_HANDLES = frozenset(("email", "username", "url"))


@dataclass
class Person:
    """One invented person.

    first, middle, last (str): The parts of the name; `last` is empty for someone with one name.
    region (str): A key of `names.REGIONS`, for the report. family_first (bool): Whether the full name begins with the family name.
    table (NameTable | None): For details, see `details.invent_detail`.
    details (dict[str, str]): E-mail and the like, made once when first asked for, so that they agree within a text.
    """

    first: str
    middle: str
    last: str
    region: str = ""
    family_first: bool = False
    table: NameTable | None = None
    details: dict[str, str] = field(default_factory=dict)

    def render(self, slot: Slot, rng: random.Random) -> str:
        """The text for a slot.

        slot (Slot): What is asked for. rng (random.Random): Used for details only, the first time.
        RETURNS (str): A form of the name or a detail.
        """
        if slot.what in DETAILS:
            if slot.what not in self.details:
                self.details[slot.what] = invent_detail(slot.what, self.first, self.last, rng, self.table)
            text = self.details[slot.what]
        else:
            text = self._form(slot.what)
        return text.upper() if slot.case == "upper" else text.lower() if slot.case == "lower" else text

    def _form(self, what: str) -> str:
        first, last = self.first, self.last
        if not last:
            return {
                "initials": f"{first[0]}.", "nick": first[: max(3, len(first) // 2)], "under": "_".join(first.split()),
            }.get(what, first)  # fmt: skip
        initial = f"{first[0]}."
        return {
            "full": f"{last} {first}" if self.family_first else f"{first} {last}",
            "first": first,
            "last": last,
            "initial_last": f"{initial} {last}",
            "first_initial": f"{first} {last[0]}.",
            "middle": f"{first} {self.middle} {last}",
            "last_first": f"{last}, {first}",
            "last_initial": f"{last}, {initial}",
            "initials": f"{first[0]}.{last[0]}.",
            "nick": _NICKS.get(plain(first), first if len(first) < 5 else first[: 3 + len(first) % 2]),
            "under": "_".join(f"{first} {last}".split()),
            "reverse": f"{last} {first}",
        }[what]

    def is_linked(self, what: str) -> bool:
        """RETURNS (bool): Whether a handle that was made holds a part of the name; False for what is no handle."""
        return what in _HANDLES and is_linked(self.details[what], self.first, self.last)


def invent_person(
    rng: random.Random, table: NameTable, *, gender: str = "x", avoid: frozenset[str] = frozenset(), surname: str = ""
) -> Person:
    """Invent a person.

    rng (random.Random): Where chance comes from. table (NameTable): Where names come from.
    gender (str): "f", "m" or "x".
    avoid (frozenset[str]): First and last names that others in the text have.
    surname (str): A family name that must be; empty for any.
    RETURNS (Person): Someone whose name parts are none of `avoid`, but for that surname.
    """
    sex = {"f": "F", "m": "M"}.get(gender) or rng.choice("FM")
    for _ in range(20):
        region = rng.choice(("EN", "EN", "ES", "IN", "IN", *REGIONS))
        first = table.sample_given(rng, sex, region)
        home = region if rng.random() < 0.85 else rng.choice(tuple(REGIONS))  # families move
        last = surname or table.sample_surname(rng, home)
        if not {first, *({last} - {surname})} & avoid and first != last:
            break
    if rng.random() < 0.04:
        first = f"{first}{rng.choice('- ')}{table.sample_given(rng, sex, region)}"
    if region in ("PK", "IN", "MY") and sex == "M" and rng.random() < 0.05:
        first = f"{rng.choice(('Md.', 'Md', 'Mohd', 'Sk.'))} {first}"
    if not surname and rng.random() < 0.07:
        last = f"{last}{rng.choice('-  ')}{table.sample_surname(rng, home)}"
    if not surname and rng.random() < 0.02:
        last = rng.choice(("O'", "Mc", "de la ", "van ", "von ", "D'", "El-", "bin ", "da ", "dos ")) + last
    if not surname and rng.random() < (0.08 if region in ("IN", "MY", "EA", "WA") else 0.006):
        last = ""
    if region in ("RU", "SL", "GE") and rng.random() < 0.4:
        middle = table.sample_given(rng, "M", region).rstrip("aeiouyj") + ("ovich" if sex == "M" else "ovna")
    else:
        middle = f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}." if rng.random() < 0.6 else table.sample_given(rng, sex, region)
    return Person(first, middle, last, region, region in _FAMILY_FIRST and rng.random() < 0.3, table)
