"""Synthetic essays whose people stand in them in many forms, all linked: who is who is known, so that every link can be checked.

    for essay in linked_essays(2000, seed=46):
        essay.text, essay.people, essay.mentions

CRAPII's own surrogates are not linked: in no essay of it does an e-mail address hold a part of a name. The names come from the
name table; nobody is meant. Siblings share a surname; some have one name only, some a particle, two surnames or the family name
first.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ..labels import NAME_CONNECTED, NAME_STUDENT
from ..surrogates.names import REGIONS, NameTable, name_table
from ..surrogates.persons import FAMILY_FIRST, nicknames, nicknames_of
from ..surrogates.style import norm
from ..surrogates.words import words as word_set
from .linked_forms import CODE, DIGIT, DOMAIN, ENDING, FORMS, MORE, Names

# Nothing in them is a name, and no name that is drawn is among their words.
_SENTENCES = """
The project began with {} and a broken scale.
We measured the water twice because {} did not trust the first number.
According to the plan, {} had to bring the map.
In the second week {} found a mistake in our table.
It was {} who asked the question that changed our design.
The notes of {} were longer than mine.
Later we sent the draft to {} and waited.
I learned most from {} that month.
Our poster shows what {} drew on the board.
When the pump failed, {} stayed calm.
Nobody listened until {} spoke.
The last chart is by {} alone.
""".strip().splitlines()
_ADDRESSES = """
The slides are with {} until June.
Questions go to {} please.
You can see the data at {} now.
""".strip().splitlines()
_FILES = ("The file {}_draft2.docx has the numbers.", "See {}_Essay_final.pdf for all tables.")
_DOMAINS = ("lakeford.edu", "quillmail.com", "northbay.org", "tarnwick.ac.uk")
_STARTS = ("Submitted by {}\n\n", "Name: {}\n\n", "{}\n\n", "By {}\n\n")
_PARTICLES = {
    "ES": ("de la", "del", "de"),
    "PT": ("da", "dos"),
    "NL": ("van", "van der"),
    "DE": ("von",),
    "FR": ("de",),
    "IT": ("di",),
}
_PLAIN_SHARE = 0.55


@dataclass(frozen=True, slots=True)
class LinkedMention:
    """A span. start (int), end (int): Characters, exclusive. label (str): Of it. person (int): Whose it is. form (str): In `FORMS`."""

    start: int
    end: int
    label: str
    person: int
    form: str


@dataclass(frozen=True, slots=True)
class LinkedEssay:
    """An essay. text (str): Its text. people (tuple[Names, ...]): In it. mentions (tuple[LinkedMention, ...]): Sorted."""

    text: str
    people: tuple[Names, ...]
    mentions: tuple[LinkedMention, ...]


def linked_essays(n: int, *, seed: int) -> Iterator[LinkedEssay]:
    """YIELDS (LinkedEssay): n (int) essays; each depends on the seed (int) and its number only."""
    for number in range(n):
        yield linked_essay(random.Random(f"linked essay {number} of seed {seed}"))


def linked_essay(rng: random.Random) -> LinkedEssay:
    """RETURNS (LinkedEssay): One essay of two to four people. rng (random.Random): Where chance comes from."""
    people = _people(rng, rng.choice((2, 2, 3, 4)))
    pieces: list[str] = []
    mentions: list[LinkedMention] = []

    def add(carrier: str, person: int, form: str) -> None:
        value = _fill(FORMS[form].write(people[person]), rng)
        lead, _, rest = carrier.partition("{}")
        start = sum(map(len, pieces)) + len(lead)
        label = FORMS[form].label or (NAME_STUDENT if person == 0 else NAME_CONNECTED)
        mentions.append(LinkedMention(start, start + len(value), label, person, form))
        pieces.extend((lead, value, rest))

    add(rng.choice(_STARTS), 0, "full")
    for person in range(1, len(people)):
        add(rng.choice(_SENTENCES) + " ", person, "full")
    forms = [(person, form) for person in range(len(people)) for form in _forms_of(people[person])]
    # A surname alone, and initials alone, must not be those of two people: who is meant would be known to nobody.
    shared = {p for p in range(len(people)) for q in range(len(people)) if p != q and people[p].f == people[q].f}
    forms = [(p, form) for p, form in forms if not (p in shared and form in ("last", "Last#", "tilde"))]
    for person, form in rng.sample(forms, min(len(forms), rng.randint(8, 16))):
        carriers = _FILES if form.startswith("file name") else _ADDRESSES if FORMS[form].label else _SENTENCES
        add(rng.choice(carriers) + rng.choice((" ", " ", "\n\n")), person, form)
    return LinkedEssay("".join(pieces), tuple(people), tuple(mentions))


def _forms_of(names: Names) -> list[str]:
    lone = len(names.words) == 1
    plain = len(names.words) == 2 and names.layout in ("{0} {1}", "{1} {0}") and names.given.isascii()
    found = []
    for form, rule in FORMS.items():
        if (lone and not rule.lone) or (rule.plain and not plain and not lone) or not rule.write(names):
            continue
        if form == "slip of the pen" and _known(rule.write(names).split()[-1]):
            continue
        found.append(form)
    return found


def _fill(value: str, rng: random.Random) -> str:
    """RETURNS (str): A form with its digits, codes and domain."""
    code = "".join(rng.choice("23456789") + rng.choice("abcdef") for _ in range(3))
    value = (
        value.replace(MORE, "")
        .replace(CODE, code)
        .replace(DOMAIN, rng.choice(_DOMAINS))
        .replace(ENDING, rng.choice((".com", ".org", ".net/", ".com/")))
    )
    return "".join(rng.choice("23456789") if ch == DIGIT else ch for ch in value)


def _people(rng: random.Random, n: int) -> list[Names]:
    """RETURNS (list[Names]): People whose names cannot be taken for each other's; sometimes two of them share a surname."""
    table = name_table()
    found: list[Names] = []
    used: set[str] = set()
    while len(found) < n:
        sibling = found[0] if len(found) == 1 and len(found[0].words) == 2 and rng.random() < 0.4 else None
        names = _sibling(rng, table, sibling) if sibling else _person(rng, table)
        fresh = [word for word in map(norm, names.words) if not sibling or word != norm(sibling.family)]
        # The capital of a Turkish dotless i has lost its accent.
        if any(ch.upper().isascii() for ch in names.full if not ch.isascii()):
            continue
        if len(set(map(norm, names.words))) < len(names.words):
            continue  # "Kieu Kieu": which of the two stands in an address, nobody can tell
        if all(_fit(word, used) for word in fresh) and names.g[:1] not in {other.g[:1] for other in found}:
            found.append(names)
            used.update(fresh)
    return found


def _person(rng: random.Random, table: NameTable) -> Names:
    region = rng.choice(
        [r for r in REGIONS if table.pool_size(given=True, region=r) and table.pool_size(given=False, region=r)]
    )
    gender = rng.choice("FM")
    given, family = table.sample_given(rng, gender, region), table.sample_surname(rng, region)
    if region == "EN" or rng.random() < 0.06:
        given = rng.choice(sorted({name for names in nicknames().values() for name in names})).capitalize()
    kind = rng.random()
    if kind < _PLAIN_SHARE:
        return Names((given, family), "{0} {1}", "gf")
    if kind < _PLAIN_SHARE + 0.1:
        return Names((given,), "{0}", "g")
    if region in FAMILY_FIRST:
        return Names((family, given), "{0} {1}", "fg") if _reads_family_first(family, given, table) else _person(rng, table)
    if region in _PARTICLES and kind < 0.85:
        return Names((given, family), f"{{0}} {rng.choice(_PARTICLES[region])} {{1}}", "gf")
    if region in ("ES", "PT"):
        return Names((given, family, table.sample_surname(rng, region)), rng.choice(("{0} {1} {2}", "{0} {1}-{2}")), "gff")
    second = table.sample_given(rng, gender, region)
    return Names((given, second, family), "{0} {1} {2}", "ggf")


def _sibling(rng: random.Random, table: NameTable, other: Names) -> Names:
    family = other.words[other.kinds.index("f")]
    region = next(iter(table.regions(family)), "EN")
    words = [table.sample_given(rng, rng.choice("FM"), region) if kind == "g" else family for kind in other.kinds]
    return other.with_words(tuple(words))


def _reads_family_first(family: str, given: str, table: NameTable) -> bool:
    return table.leaning(family) == "surname" and table.rarity_of_surname(family) < table.rarity_of_surname(given)


def _known(word: str) -> bool:
    return name_table().is_given(word) or name_table().is_surname(word)


def _fit(word: str, used: set[str]) -> bool:
    """RETURNS (bool): Whether a name is that of nobody else here, no word of the sentences, and no part of another name."""
    if len(word) < 4 or word in _common() or word in used:
        return False
    kin = {*nicknames_of(word), *nicknames().get(word, ())}
    return used.isdisjoint(kin) and not any(word.startswith(u[:4]) or word in u or u in word for u in used)


def _common() -> frozenset[str]:
    text = " ".join(
        (*_SENTENCES, *_ADDRESSES, *_FILES, *_STARTS, *_DOMAINS, "https www linkedin github com docx pdf essay draft final")
    )
    own = {norm(word) for word in text.replace(".", " ").replace("_", " ").split()}
    return frozenset(own | word_set("handle_words") | word_set("path_words"))
