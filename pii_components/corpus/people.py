"""Invented people to fill slots with: names in every form, and contact details linked to the name.

CRAPII has none of this: its names are Title Case, ASCII and two words long, its e-mails share nothing with the names
(seeds/crapii_paper.txt 2.3; measured). Here one person has one name, in every form that students use, and handles built from it.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..names import resource
from ..names.table import REGIONS, NameTable
from ..surrogates.keys import SurrogateKey
from ..surrogates.numbers import surrogate_id_num, surrogate_phone
from ..surrogates.places import surrogate_address
from ..surrogates.values import Context, Generator
from .noise import fill_pattern
from .templates import DETAILS, Slot

# Cultures of the JEDM paper (seeds/gpt4omini_jedm.txt, section 3.6): region of the UN (ISO 3166,
# lukes/ISO-3166-Countries-with-Regional-Codes) -> its countries that names-dataset has.
CULTURES: dict[str, str] = {
    "Africa": "AO BF BI BW CM DJ DZ EG ET GH LY MA MU NA NG SD TN ZA",
    "Americas": "AR BO BR CA CL CO CR EC GT HN HT JM MX PA PE PR SV US UY",
    "Asia": "AE AF AZ BD BH BN CN CY GE HK ID IL IN IQ IR JO JP KH KR KW KZ LB MO MV MY OM PH PS QA SA SG SY TM TR TW YE",
    "Europe": "AL AT BE BG CH CZ DE DK EE ES FI FR GB GR HR HU IE IS IT LT LU MD MT NL NO PL PT RS RU SE SI",
    "Oceania": "FJ",
}
MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)


# Contact details and other particulars of invented people, linked to the name or not. What they are made of: resources/corpus/details.toml.

Names = tuple[str, str]
_FLAT = str.maketrans("øØđĐłŁßæÆı", "oOdDlLsaAi")


def plain(name: str) -> str:
    """RETURNS (str): The letters of a name, lower case, without accents and marks: what goes into an e-mail address."""
    flat = unicodedata.normalize("NFKD", name.translate(_FLAT))
    return re.sub(r"[^a-z0-9]", "", flat.encode("ascii", "ignore").decode().lower())


def _one_of(rng: random.Random, kind: str, **values: str | int) -> str:
    found = str(rng.choice(resource("corpus/details")[kind]))
    return found.format(**values) if values else found


def _number(rng: random.Random, kind: str) -> str:
    return fill_pattern(
        _one_of(rng, kind),
        {"#": "0123456789", "%": "123456789", "?": "ABCDEFGHJKLMNPQRSTUVWXYZ"},
        rng,
    )


def _handle(names: Names, rng: random.Random) -> str:
    if rng.random() < 0.22:  # one that says nothing about the name
        a, b = _one_of(rng, "aliases"), _one_of(rng, "alias_nouns")
        n = rng.choice(
            (
                "",
                "",
                f"{rng.randint(1, 99)}",
                f"{rng.randint(1985, 2014)}",
                f"{rng.randint(100, 9999)}",
            )
        )
        return _one_of(rng, "alias_forms", a=a, b=b, n=n, some=n or 7, A=a.title(), B=b.title())
    f, m = plain(names[0]) or "user", plain(names[1]) or plain(names[0]) or "student"
    return _one_of(
        rng,
        "handles",
        f=f,
        m=m,
        year=rng.randint(60, 99) if rng.random() < 0.4 else rng.randint(1, 2012),
    )


def _email(names: Names, rng: random.Random) -> str:
    own = rng.random() >= 0.8
    domain = (
        f"{plain(names[1]) or 'home'}.{rng.choice(('com', 'org', 'net', 'info', 'me'))}"
        if own
        else _one_of(rng, "mail")
    )
    local = _handle(names, rng)
    return f"{local.title() if rng.random() < 0.08 else local}@{domain}"


def _url(names: Names, rng: random.Random) -> str:
    handle, f, m = _handle(names, rng), plain(names[0]), plain(names[1])
    values: dict[str, str | int] = {
        "handle": handle,
        "joined": handle.replace("_", ""),
        "letters": handle.replace(".", "").replace("_", ""),
        "slug": f"{f}-{m}",
        "tail": fill_pattern("?" * 8, {"?": "0123456789abcdef"}, rng),
        "code": fill_pattern(
            "?" * 11, {"?": "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789_-"}, rng
        ),
        "year": rng.randint(10, 24),
        "month": rng.randint(1, 9),
        "number": rng.randint(1000, 99999),
        "trade": rng.choice(("design", "consulting", "studio", "law", "photo")),
        "ending": rng.choice(("com", "net", "org", "biz")),
    }
    path = _one_of(rng, "urls", f=f, m=m, my=m or "my", **values)
    return rng.choice(("https://", "https://", "http://", "")) + path


def _address(names: Names, rng: random.Random) -> str:
    long, short, letter = rng.randint(1, 9999), rng.randint(1, 300), rng.choice("ABC")
    number = rng.choice(
        (f"{long}", f"{short}{letter}", f"{rng.randint(1, 99)}/{rng.randint(1, 9)}")
    )
    street = _one_of(rng, "streets")
    line = f"{street} {number}" if rng.random() < 0.2 else f"{number} {street}"
    if rng.random() < 0.25:
        flats = ((", Apt {}", 40), (", Apt. {}B", 40), (" #{}", 90), (", Flat {}", 20))
        line += rng.choice([form.format(rng.randint(1, most)) for form, most in flats])
    return line + (
        rng.choice((", ", ", ", "\n")) + _one_of(rng, "towns") if rng.random() < 0.6 else ""
    )


def _birthday(names: Names, rng: random.Random) -> str:
    year, month, day = rng.randint(1948, 2012), rng.randint(1, 12), rng.randint(1, 28)
    name = MONTHS[month - 1]
    nth = f"the {day}th of {name}" if 3 < day < 21 else f"{day} {name}"
    return _one_of(
        rng,
        "birthdays",
        name=name,
        name3=name[:3],
        day=day,
        month=month,
        year=year,
        short=year % 100,
        nth=nth,
    )


def _home(names: Names) -> dict[str, Any]:
    """Country, adjective and towns; the same three for one name, whichever is asked for first."""
    return dict(random.Random("|".join(names)).choice(resource("corpus/details")["places"]))


_MAKERS: Mapping[str, Callable[[Names, random.Random], str]] = {
    "email": _email,
    "username": _handle,
    "url": _url,
    "id": lambda names, rng: _number(rng, "ids"),
    "phone": lambda names, rng: _number(rng, "phones"),
    "address": _address,
    "age": lambda names, rng: str(
        rng.choice((rng.randint(12, 24), rng.randint(19, 48), rng.randint(30, 79)))
    ),
    "birthday": _birthday,
    "town": lambda names, rng: rng.choice(_home(names)["towns"]),
    "country": lambda names, rng: _home(names)["country"],
    "nationality": lambda names, rng: _home(names)["adjective"],
    "school": lambda names, rng: _one_of(rng, "schools").format(_one_of(rng, "school_words")),
    "employer": lambda names, rng: _one_of(rng, "firms").format(_one_of(rng, "firm_words")),
}
_REMAKERS: Mapping[str, Generator] = {
    "id": surrogate_id_num,
    "phone": surrogate_phone,
    "address": surrogate_address,
}


def invent_detail(
    what: str, first: str, last: str, rng: random.Random, table: NameTable | None = None
) -> str:
    """RETURNS (str): A detail of a person, of a kind of `templates.DETAILS`; `last` may be empty.

    table (NameTable | None): With it, half of the numbers and addresses are made over by the surrogates' generators.
    """
    value = _MAKERS[what]((first, last), rng)
    remake = _REMAKERS.get(what)
    if remake is None or table is None or rng.random() < 0.5:
        return value
    chance = SurrogateKey(rng.getrandbits(128).to_bytes(16, "big"), scope="corpus")
    return remake(value, Context(chance, table, reserved=rng.random() < 0.3), 0) or value


def is_linked(value: str, first: str, last: str) -> bool:
    """RETURNS (bool): Whether a handle, address or page holds a part of the name (three letters or more)."""
    flat = plain(value)
    return any(len(part) > 2 and part in flat for part in (plain(first), plain(last)))


_PARTICLES = ("O'", "Mc", "de la ", "van ", "von ", "D'", "El-", "bin ", "da ", "dos ")
# Regions where the family name comes first, or may.
_FAMILY_FIRST = frozenset(("CN", "JP", "KR", "VN", "HU"))
_FORMS = {
    "full": "{first} {last}",
    "first": "{first}",
    "last": "{last}",
    "middle": "{first} {middle} {last}",
    "reverse": "{last} {first}",
    "initial_last": "{first[0]}. {last}",
    "first_initial": "{first} {last[0]}.",
    "initials": "{first[0]}.{last[0]}.",
    "last_first": "{last}, {first}",
    "last_initial": "{last}, {first[0]}.",
}


@dataclass
class Person:
    """One invented person; `last` is empty for someone with one name.

    region (str): A key of `names.REGIONS`, for the report. family_first (bool): Whether the full name begins with the family name.
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
        """RETURNS (str): The form of the name or the detail that a slot asks for; `rng` is used for details only, the first time."""
        if slot.what not in DETAILS:
            text = self._form(slot.what)
        elif slot.what in self.details:
            text = self.details[slot.what]
        else:
            text = self.details[slot.what] = invent_detail(
                slot.what, self.first, self.last, rng, self.table
            )
        return (
            text.upper() if slot.case == "upper" else text.lower() if slot.case == "lower" else text
        )

    def _form(self, what: str) -> str:
        first, last = self.first, self.last
        if what == "under":
            return "_".join(f"{first} {last}".split())
        if not last:
            return {"initials": f"{first[0]}.", "nick": first[: max(3, len(first) // 2)]}.get(
                what, first
            )
        if what == "nick":
            shortened = first if len(first) < 5 else first[: 3 + len(first) % 2]
            return str(resource("corpus/details")["nicks"].get(plain(first), shortened))
        form = _FORMS["reverse" if what == "full" and self.family_first else what]
        return form.format(first=first, middle=self.middle, last=last)


def invent_person(
    rng: random.Random,
    table: NameTable,
    *,
    gender: str = "x",
    avoid: frozenset[str] = frozenset(),
    surname: str = "",
) -> Person:
    """Invent a person.

    gender (str): "f", "m" or "x". avoid (frozenset[str]): First and last names that others in the text have.
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
    if not surname:
        last = _vary_surname(last, region, home, rng, table)
    middle = _middle_name(sex, region, rng, table)
    family_first = region in _FAMILY_FIRST and rng.random() < 0.3
    return Person(first, middle, last, region, family_first, table)


def _vary_surname(last: str, region: str, home: str, rng: random.Random, table: NameTable) -> str:
    """The surname doubled or with a particle at times, and nothing for people with one name."""
    if rng.random() < 0.07:
        last = f"{last}{rng.choice('-  ')}{table.sample_surname(rng, home)}"
    if rng.random() < 0.02:
        last = rng.choice(_PARTICLES) + last
    one_name = 0.08 if region in ("IN", "MY", "EA", "WA") else 0.006
    return "" if rng.random() < one_name else last


def _middle_name(sex: str, region: str, rng: random.Random, table: NameTable) -> str:
    """A patronymic, an initial, or another given name."""
    if region in ("RU", "SL", "GE") and rng.random() < 0.4:
        father = table.sample_given(rng, "M", region).rstrip("aeiouyj")
        return father + ("ovich" if sex == "M" else "ovna")
    if rng.random() < 0.6:
        return f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}."
    return table.sample_given(rng, sex, region)
