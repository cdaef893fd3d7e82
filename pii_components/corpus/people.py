"""Invented people to fill slots with: names in every form, and contact details linked to the name.

CRAPII has none of this: its names are Title Case, ASCII and two words long, its e-mails share nothing with the names
(seeds/crapii_paper.txt 2.3; measured). Here one person has one name, in every form that students use, and handles built from it.
"""

import random
import re
import unicodedata
from dataclasses import dataclass, field

from ..surrogates.names import REGIONS, NameTable
from .templates import Slot

_MAIL = (
    "gmail.com", "gmail.com", "gmail.com", "yahoo.com", "hotmail.com", "outlook.com", "icloud.com", "student.example.edu", "mail.ru",
    "yahoo.co.in", "uol.com.br", "web.de", "gmx.net", "live.com", "protonmail.com", "rediffmail.com", "qq.com", "uni.example.ac.uk",
    "my.example.edu", "alumni.example.org", "example.edu.co", "naver.com", "libero.it", "orange.fr", "wp.pl",
)  # fmt: skip
_STREETS = (
    "Maple Street", "Elm Avenue", "High Street", "Station Road", "Church Lane", "MG Road", "Park Road", "Oak Drive", "Main Street",
    "Lincoln Blvd", "Second Ave", "King's Road", "Rua das Flores", "Calle Mayor", "Gandhi Nagar", "Mill Lane", "Sunset Boulevard",
    "Victoria Terrace", "Jalan Merdeka", "Rue de la Gare", "Bahnhofstrasse", "Nehru Place", "Cedar Court", "Riverside Drive",
    "Hillcrest Rd", "Orchard Way", "Av. Reforma", "Plum Tree Close", "Ring Road", "Harbour View", "Birch St.", "West 4th Street",
    "County Road 12", "Ocean Parkway", "Via Garibaldi", "Nguyen Trai Street", "Marina Bay Walk", "Ferry Lane", "Temple Street",
)  # fmt: skip
_TOWNS = (
    "Springfield, IL 62704", "Leeds LS2 9JT", "Pune 411001", "Austin, TX", "Lagos", "Porto", "Bogota", "Manila 1000", "Toronto, ON M5V 2T6",
    "Krakow", "Izmir", "Nairobi", "Dublin 4", "Chennai - 600 017", "Madison, WI 53703", "Monterrey, N.L.", "Lyon", "Osaka", "Perth WA 6000",
)  # fmt: skip
_NICKS = {
    "william": "Bill", "robert": "Bob", "elizabeth": "Liz", "katherine": "Kate", "alexander": "Alex", "alexandra": "Alex", "michael": "Mike",
    "jennifer": "Jen", "christopher": "Chris", "christina": "Tina", "daniel": "Dan", "samuel": "Sam", "samantha": "Sam", "nicholas": "Nick",
    "francisco": "Paco", "jose": "Pepe", "guadalupe": "Lupe", "margaret": "Maggie", "thomas": "Tom", "joseph": "Joe", "benjamin": "Ben",
}  # fmt: skip

# Country, adjective, towns: for details that say where somebody is from.
_PLACES = (
    ("India", "Indian", ("Nagpur", "Kochi", "Indore", "Guwahati", "Mysuru")),
    ("Brazil", "Brazilian", ("Recife", "Curitiba", "Goi\u00e2nia", "Bel\u00e9m")),
    ("Nigeria", "Nigerian", ("Ibadan", "Enugu", "Kaduna", "Abeokuta")),
    ("the Philippines", "Filipino", ("Cebu", "Davao", "Baguio", "Iloilo City")),
    ("Mexico", "Mexican", ("Puebla", "M\u00e9rida", "Saltillo", "Oaxaca")),
    ("Poland", "Polish", ("Gda\u0144sk", "Lublin", "\u0141\u00f3d\u017a", "Torun")),
    ("Germany", "German", ("Bremen", "Kassel", "W\u00fcrzburg", "Chemnitz")),
    ("Turkey", "Turkish", ("Bursa", "Konya", "Eskisehir", "Trabzon")),
    ("Vietnam", "Vietnamese", ("Hue", "Da Nang", "Can Tho")),
    ("China", "Chinese", ("Suzhou", "Xiamen", "Kunming", "Harbin")),
    ("Ukraine", "Ukrainian", ("Lviv", "Poltava", "Odesa", "Chernivtsi")),
    ("Egypt", "Egyptian", ("Mansoura", "Tanta", "Aswan")),
    ("Canada", "Canadian", ("Moncton", "Red Deer", "Kingston, Ontario", "Saskatoon")),
    ("Ireland", "Irish", ("Sligo", "Tralee", "Ennis")),
    ("South Africa", "South African", ("Polokwane", "Bloemfontein", "George")),
    ("the United States", "American", ("Toledo, Ohio", "Boise", "El Paso", "Macon, Georgia", "Fargo", "Tulsa", "Bangor, Maine")),
    ("England", "English", ("Hull", "Swindon", "Kettering", "Preston")),
    ("Indonesia", "Indonesian", ("Malang", "Makassar", "Padang")),
    ("Pakistan", "Pakistani", ("Multan", "Sialkot", "Quetta")),
    ("Colombia", "Colombian", ("Pereira", "Ibagu\u00e9", "Cali")),
)
_SCHOOL_WORDS = (
    "Lakeside", "Northgate", "St. Brendan", "Hillcrest", "Meadow Park", "Jefferson", "Saraswati", "Santa Rita", "Queen Anne", "Westbury",
    "Bluewater", "Al-Noor", "Rosa Parks", "Kingsway", "Sacred Heart", "Copernicus", "Riverbend", "Eastern Cape", "Simon Bolivar", "Oak Valley",
)  # fmt: skip
_SCHOOLS = (
    "{} High School", "{} Middle School", "{} Community College", "{} University", "{} College", "{} Secondary School", "{} Polytechnic",
    "University of {}", "{} Academy", "{} Institute of Technology", "{} Elementary", "{} Girls' School", "{} Business School",
)  # fmt: skip
_FIRM_WORDS = (
    "Harbour", "Delta", "Blue Heron", "Summit", "Falcon", "Crescent", "Pioneer", "Silverline", "Greenfield", "Zenith", "Marigold", "Copperhill",
    "Ashoka", "Pacifico", "Baltic", "Orbit", "Three Rivers", "Kestrel", "Sunrise", "Ironbridge",
)  # fmt: skip
_FIRMS = (
    "{} Logistics", "{} Insurance", "{} General Hospital", "{} Foods", "{} Bank", "{} Consulting", "{} Textiles", "{} Dental Clinic", "{} Motors",
    "{} Pharmacy", "{} Steel", "{} Software Pvt. Ltd.", "{} & Sons", "{} Construction", "{} Airways", "{} Care Home", "{} Energy", "{} Bakery",
)  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def plain(name: str) -> str:
    """RETURNS (str): The letters of a name, lower case, without accents and marks: what goes into an e-mail address."""
    flat = unicodedata.normalize("NFKD", name.translate(str.maketrans("øØđĐłŁßæÆı", "oOdDlLsaAi")))
    return re.sub(r"[^a-z0-9]", "", flat.encode("ascii", "ignore").decode().lower())


@dataclass
class Person:
    """One invented person.

    first, middle, last (str): The parts of the name.
    details (dict[str, str]): E-mail and the like, made once when first asked for, so that they agree within a text.
    """

    first: str
    middle: str
    last: str
    details: dict[str, str] = field(default_factory=dict)

    def render(self, slot: Slot, rng: random.Random) -> str:
        """The text for a slot.

        slot (Slot): What is asked for. rng (random.Random): Used for details only, the first time.
        RETURNS (str): A form of the name or a detail.
        """
        first, last = self.first, self.last
        initial = f"{first[0]}."
        forms = {
            "full": f"{first} {last}",
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
        }
        text = forms.get(slot.what)
        if text is None:
            text = self.details.get(slot.what) or self.details.setdefault(slot.what, _DETAIL_MAKERS[slot.what](self, rng))
        return text.upper() if slot.case == "upper" else text.lower() if slot.case == "lower" else text


def invent_person(rng: random.Random, table: NameTable, *, gender: str = "x", avoid: frozenset[str] = frozenset()) -> Person:
    """Invent a person.

    rng (random.Random): Where chance comes from. table (NameTable): Where names come from.
    gender (str): "f", "m" or "x".
    avoid (frozenset[str]): First and last names that others in the text have.
    RETURNS (Person): Someone whose name parts are none of `avoid`.
    """
    sex = {"f": "F", "m": "M"}.get(gender) or rng.choice("FM")
    for _ in range(20):
        region = rng.choice(("EN", "EN", "ES", "IN", "IN", *REGIONS))
        first = table.sample_given(rng, sex, region)
        home = region if rng.random() < 0.85 else rng.choice(tuple(REGIONS))  # families move
        last = table.sample_surname(rng, home)
        if not {first, last} & avoid and first != last:
            break
    if rng.random() < 0.04:
        first = f"{first}{rng.choice('- ')}{table.sample_given(rng, sex, region)}"
    if rng.random() < 0.07:
        last = f"{last}{rng.choice('-  ')}{table.sample_surname(rng, home)}"
    if rng.random() < 0.02:
        last = rng.choice(("O'", "Mc", "de la ", "van ", "von ", "D'", "El-", "bin ", "da ", "dos ")) + last
    middle = f"{rng.choice('ABCDEFGHJKLMNPRSTVW')}." if rng.random() < 0.6 else table.sample_given(rng, sex, region)
    return Person(first, middle, last)


def _handle(person: Person, rng: random.Random) -> str:
    f, m = plain(person.first) or "user", plain(person.last) or "student"
    year = f"{rng.randint(60, 99)}" if rng.random() < 0.4 else f"{rng.randint(1, 2012)}"
    return rng.choice((
        f"{f}.{m}", f"{f}{m}", f"{f[0]}{m}", f"{f}_{m}", f"{m}.{f}", f"{f}{m[0]}", f"{f}.{m}{year}", f"{f}{year}", f"{f[0]}{m}{year}",
        f"{m}{f[0]}", f"{f}-{m}", f"{m}{year}", f"{f}{m}{year}", f"the{f}", f"{f}writes", f"{f}_{year}",
    ))  # fmt: skip


def _email(person: Person, rng: random.Random) -> str:
    domain = (
        rng.choice(_MAIL)
        if rng.random() < 0.8
        else f"{plain(person.last) or 'home'}.{rng.choice(('com', 'org', 'net', 'info', 'me'))}"
    )
    local = _handle(person, rng)
    return f"{local.title() if rng.random() < 0.08 else local}@{domain}"


def _username(person: Person, rng: random.Random) -> str:
    return _handle(person, rng)


def _url(person: Person, rng: random.Random) -> str:
    handle, slug = _handle(person, rng), f"{plain(person.first)}-{plain(person.last)}"
    tail = "".join(rng.choice("0123456789abcdef") for _ in range(8))
    code = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789_-") for _ in range(11))
    path = rng.choice((
        f"www.linkedin.com/in/{slug}-{tail}", f"linkedin.com/in/{handle}", f"github.com/{handle}", f"www.facebook.com/{handle}",
        f"instagram.com/{handle}/", f"twitter.com/{handle}", f"{handle.replace('.', '').replace('_', '')}.wordpress.com",
        f"{slug}.blogspot.com/20{rng.randint(10, 24)}/0{rng.randint(1, 9)}/my-reflection.html", f"medium.com/@{handle}",
        f"www.youtube.com/watch?v={code}", f"youtu.be/{code}", f"sites.google.com/view/{slug}", f"www.{plain(person.last) or 'my'}.com/about",
        f"www.behance.net/{handle}", f"{slug}.github.io", f"drive.google.com/file/d/{code}{code}/view?usp=sharing",
        f"www.{plain(person.first)}{plain(person.last)}.com/blog", f"prezi.com/{code}/{slug}/", f"{handle.replace('_', '')}.tumblr.com",
        f"www.slideshare.net/{handle}/presentation-{rng.randint(1000, 99999)}", f"docs.google.com/document/d/{code}{tail}/edit",
        f"{plain(person.last) or 'my'}-{rng.choice(('design', 'consulting', 'studio', 'law', 'photo'))}.{rng.choice(('com', 'net', 'org', 'biz'))}/",
    ))  # fmt: skip
    return rng.choice(("https://", "https://", "http://", "")) + path


def _digits(rng: random.Random, pattern: str) -> str:
    kinds = {"#": "0123456789", "%": "123456789", "?": "ABCDEFGHJKLMNPQRSTUVWXYZ"}
    return "".join(rng.choice(kinds[c]) if c in kinds else c for c in pattern)


def _id(person: Person, rng: random.Random) -> str:
    return _digits(rng, rng.choice((
        "%#######", "%########", "%######", "%#####", "%###########", "?%######", "??%#####", "S%#######", "A0%######?", "20##-#####",
        "%##-##-####", "u%######", "%####/20##", "20##?%####", "??/20##/%###", "%### %### %###", "%#########", "id%####", "??-%####-##",
        "%###########", "N%#######", "#%#######-?", "%#.%##.%##-#",
    )))  # fmt: skip


def _phone(person: Person, rng: random.Random) -> str:
    return _digits(rng, rng.choice((
        "(%##) %##-####", "%##-%##-####", "%##.%##.####", "+1 %## %## ####", "1-%##-%##-####", "+91 9#### #####", "+91-98########",
        "9#########", "+44 7### ######", "07### ### ###", "+55 (11) 9####-####", "(21) 9####-####", "+49 17# #######", "+52 55 #### ####",
        "+234 80# ### ####", "080########", "+63 9## ### ####", "+61 4## ### ###", "+33 6 ## ## ## ##", "06 ## ## ## ##", "+20 10 ########",
        "+92 3## #######", "%##%##%###", "(+57) 3## ### ####", "+84 9# ### ## ##", "%##-%###-####", "+7 9## ###-##-##", "+81 90-####-####",
    )))  # fmt: skip


def _address(person: Person, rng: random.Random) -> str:
    number = rng.choice(
        (f"{rng.randint(1, 9999)}", f"{rng.randint(1, 300)}{rng.choice('ABC')}", f"{rng.randint(1, 99)}/{rng.randint(1, 9)}")
    )
    street = rng.choice(_STREETS)
    line = f"{street} {number}" if rng.random() < 0.2 else f"{number} {street}"
    if rng.random() < 0.25:
        line += rng.choice(
            (
                f", Apt {rng.randint(1, 40)}",
                f", Apt. {rng.randint(1, 40)}B",
                f" #{rng.randint(1, 90)}",
                f", Flat {rng.randint(1, 20)}",
            )
        )
    return line + (rng.choice((", ", ", ", "\n")) + rng.choice(_TOWNS) if rng.random() < 0.6 else "")


def _age(person: Person, rng: random.Random) -> str:
    return str(rng.choice((rng.randint(12, 24), rng.randint(19, 48), rng.randint(30, 79))))


def _birthday(person: Person, rng: random.Random) -> str:
    year, month, day = rng.randint(1948, 2012), rng.randint(1, 12), rng.randint(1, 28)
    name = _MONTHS[month - 1]
    return rng.choice((
        f"{name} {day}, {year}", f"{day} {name} {year}", f"{day:02}/{month:02}/{year}", f"{month}/{day}/{year % 100:02}", f"{year}-{month:02}-{day:02}",
        f"{day}.{month}.{year}", f"{name[:3]}. {day}, {year}", f"{name} {day}", f"the {day}th of {name}" if 3 < day < 21 else f"{day} {name}",
    ))  # fmt: skip


def _home(person: Person, rng: random.Random) -> tuple[str, str, tuple[str, ...]]:
    """RETURNS (tuple): Country, adjective and towns; the same three for one person, whichever is asked for first."""
    number = person.details.setdefault("home", str(rng.randrange(len(_PLACES))))
    return _PLACES[int(number)]


def _town(person: Person, rng: random.Random) -> str:
    return rng.choice(_home(person, rng)[2])


def _country(person: Person, rng: random.Random) -> str:
    return _home(person, rng)[0]


def _nationality(person: Person, rng: random.Random) -> str:
    return _home(person, rng)[1]


def _school(person: Person, rng: random.Random) -> str:
    return rng.choice(_SCHOOLS).format(rng.choice(_SCHOOL_WORDS))


def _employer(person: Person, rng: random.Random) -> str:
    return rng.choice(_FIRMS).format(rng.choice(_FIRM_WORDS))


_DETAIL_MAKERS = {
    "email": _email, "username": _username, "url": _url, "id": _id, "phone": _phone, "address": _address, "age": _age, "birthday": _birthday,
    "town": _town, "country": _country, "nationality": _nationality, "school": _school, "employer": _employer,
}  # fmt: skip
