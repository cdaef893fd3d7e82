"""Surrogates for the names of people.

    table, chance = name_table(), SurrogateKey(key, scope="corpus")
    named = name_people(people, chance, table=table, forbidden=set())
    render(mention, named[0], chance)            # "Dr. M. Lopez's" -> "Dr. C. Vidal's"

A surname becomes the same surrogate for everyone who bears it; a given name depends on its surname too, so that two Marias stay
two. Where two names want one surrogate, a secret order decides who gets it, not who comes first in the text.
"""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple

from ..names import resource_lines, wordlists
from ..names.letters import has_accent, is_letter, like, norm, plain, script_region
from ..names.link import Person, is_typo, nicknames, nicknames_of, places_of
from ..names.parse import FAMILY, GIVEN, PARTICLES, Mention
from ..names.table import NameTable, Pool, Source
from .keys import SurrogateKey
from .style import randomize_same_shape

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_POSSESSIVE, _APOSTROPHE = re.compile("['’]s$"), re.compile("['’]")


class Forbidden:
    """Folded words that no surrogate may be, as `letters.norm` gives them: sets of words, and all words of a text."""

    def __init__(self, *words: Container[str], text: str = "") -> None:
        parts = set(_WORD.findall(text))
        # "O'Brien's" is O'Brien, and Brien too.
        for part in [part for part in parts if not part.isalpha()]:
            own = _POSSESSIVE.sub("", part)
            parts |= {own, *_APOSTROPHE.split(own)}
        self._words = (*words, set(map(norm, parts)))

    def __contains__(self, word: object) -> bool:
        return any(word in words for words in self._words)


MAX_TRIES, WIDEN_AFTER, ACCENT_TRIES = 240, 120, 40
# How many fit names are compared where the length shall be near.
NEAR_TRIES = 24
# Kind of a name, and what makes two slots of that kind one.
Place = tuple[str, str]


class Slot(NamedTuple):
    """One name to be replaced, the same for every person who shares it.

    kind: `GIVEN` or `FAMILY`. word: Folded. family: For a given name, the folded surname that goes with it. gender: "F", "M",
    or empty if unknown. region: A key of `REGIONS`, or empty.
    """

    kind: str
    word: str
    family: str
    gender: str
    region: str
    accented: bool

    @property
    def place(self) -> Place:
        """RETURNS (tuple[str, str]): Slots with an equal one get the same name."""
        return self.kind, f"{self.word}|{self.family}" if self.kind == GIVEN else self.word


def slots_of(person: Person, table: NameTable) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """A slot for each of a person's words; what is unknown, for a data steward."""
    family, given = person.first(FAMILY), person.first(GIVEN)
    surname = person.words[family] if family is not None else ""
    of_family, of_given = (person.texts[i] if i is not None else "" for i in (family, given))
    gender, region = _gender(person, table), _region(of_family, of_given, table)
    slots = []
    for kind, word, text in zip(person.kinds, person.words, person.texts, strict=True):
        about = ("", "") if kind == FAMILY else (surname, gender)
        is_second = kind == FAMILY and text is not of_family
        own = _region(text, of_given, table) if is_second else region
        slots.append(Slot(kind, word, *about, own, has_accent(text)))
    unknown = ("gender unknown",) if given is not None and not gender else ()
    return tuple(slots), unknown if region else (*unknown, "origin unknown")


def _region(family: str, given: str, table: NameTable) -> str:
    """Where the names are from: by the script, the surname, then the given name; empty if unknown."""
    script = script_region(family) or script_region(given)
    regions = (table.regions(family) if len(family) > 1 else ()) or table.regions_of_given(given)
    return script or next(iter(regions), "")


def _gender(person: Person, table: NameTable) -> str:
    """ "F" or "M", by a title or the first given name, or what that is short for; else empty."""
    place = person.first(GIVEN)
    if person.gender or place is None:
        return person.gender
    word = person.words[place]
    full = {table.gender(name) for name in nicknames().get(word, ())}
    return table.gender(word) or (full.pop() or "" if len(full) == 1 else "")


@cache
def _neutral() -> dict[str, Pool]:
    """Region -> given names of women and men alike; "" for all of them."""
    found: dict[str, list[str]] = {"": []}
    for line in resource_lines("names/neutral.tsv"):
        region, _, names = line.partition("\t")
        found[region] = names.split()
    found[""] = sorted({name for names in found.values() for name in names})
    return {
        region: Pool(names, [*map(float, range(1, len(names) + 1))])
        for region, names in found.items()
    }


@lru_cache(maxsize=512)
def _pools_of(
    table: NameTable, given: bool, gender: str, region: str, accented: bool
) -> tuple[Pool, Pool, Pool]:
    then = table.pool(given=given, gender=gender, region=region)
    first = then
    if given and not gender and region in _neutral():
        # Nobody knows whether "she" or "he" stands in the text: a name that goes with both.
        first = _neutral()[region]
    elif accented:
        first = table.pool(given=given, gender=gender, region=region, accented=True)
    return first, then, table.pool(given=given, gender=gender)


class Lots:
    """The names that chance gives for a slot, in order; each is drawn once."""

    def __init__(self, slot: Slot, chance: SurrogateKey, table: NameTable) -> None:
        kind, key = slot.place
        self.slot, self.stream = slot, chance.rng(f"NAME/{kind}", key)
        self.pools = _pools_of(table, kind == GIVEN, slot.gender, slot.region, slot.accented)
        self.names: list[tuple[str, str, set[str]]] = []

    def __getitem__(self, attempt: int) -> tuple[str, str, set[str]]:
        """RETURNS (tuple[str, str, set[str]]): A name, the same folded, and the folded words in it."""
        if attempt == len(self.names):
            first, then, last = self.pools
            pool = first if attempt < ACCENT_TRIES else then if attempt < WIDEN_AFTER else last
            name = pool.draw(self.stream)
            # "Hyun" in "Hyun-seo" may be the surname of somebody.
            self.names.append((name, norm(name), {norm(part) for part in (name, *name.split("-"))}))
        return self.names[attempt]


def draw(
    lots: Lots, *, forbidden: Container[str], taken: Container[str], near: bool = False
) -> tuple[str | None, bool]:
    """Draw a surrogate that is neither forbidden nor taken. near (bool): Whether its length shall be near.

    RETURNS (tuple[str | None, bool]): A name, or None if chance found none; whether it is from elsewhere.
    """
    word, fit = lots.slot.word, list[tuple[int, bool, str]]()
    for attempt in range(MAX_TRIES):
        name, new, parts = lots[attempt]
        if _is_free(new, word, taken) and not any(part in forbidden for part in parts):
            widened = attempt >= WIDEN_AFTER or lots.pools[1] is lots.pools[2]
            distance = abs(len(new) - len(word)) if near and len(word) > 1 else 0
            fit.append((distance, bool(lots.slot.region) and widened, name))
            if not distance or len(fit) >= NEAR_TRIES:
                break
    if not fit:
        return None, True
    _, elsewhere, name = min(fit, key=lambda found: found[:2])
    return name, elsewhere


def _is_free(new: str, word: str, taken: Container[str]) -> bool:
    """Whether a folded name may stand in the place of a word."""
    # No letter of the original at the front, for its initial may stand alone; the table of names has titles, too ("Engr").
    if new[0] == word[0] or new in taken or new in wordlists.words().titles:
        return False
    # Nor one name inside the other (Ana, Anabel).
    return len(word) <= 2 or not (word in new or new in word)


_PARTICLES = re.compile(rf"\b(?:{'|'.join(PARTICLES)})\b[\s-]*|[\"“”()]")
_SPACE, _PLURAL = re.compile(r"[\s_-]+"), re.compile(r"e?s(?![^\W\d_])", re.IGNORECASE)


class Piece(NamedTuple):
    """A stretch of letters in a handle that comes from a name: what it becomes, and how sure that is."""

    start: int
    end: int
    new: str
    weight: int


class Stem(NamedTuple):
    """A word of a person for handles: its letters, what they become, its place, its nicknames."""

    old: str
    new: str
    place: int
    nicks: tuple[str, ...]


def letters(word: str) -> str:
    """A name as it stands in an address: small ASCII letters only."""
    if word.isascii() and word.isalpha():
        return word.lower()
    return "".join([ch for ch in plain(word).lower() if ch.isascii() and ch.isalpha()])


@dataclass(frozen=True)
class Named:
    """A person of the document and who they become.

    surrogates: For each of the person's words; an empty text drops the word (fixed pseudonyms have two words), None means that
    no surrogate was found. note: Where gender or origin could not be matched. fixed: Whether it is a profile's pseudonym.
    read: How runs of letters in handles are read as this name, so far.
    """

    person: Person
    surrogates: tuple[str | None, ...]
    note: str = ""
    fixed: bool = False
    read: dict[str, tuple[Piece, ...]] = field(default_factory=dict)

    @cached_property
    def stems(self) -> list[Stem]:
        found, first = [], self.person.first(GIVEN)
        for i, (word, new) in enumerate(zip(self.person.words, self.surrogates, strict=True)):
            also = filter(None, map(letters, self.person.also if i == first else ()))
            stem = Stem(letters(word), letters(new or ""), i, (*nicknames_of(word), *also))
            if stem.old and stem.new:
                found.append(stem)
        return found


class Namer:
    """What a key makes of people whatever the document, found out once: their slots, the lots of these, who they become."""

    def __init__(self, chance: SurrogateKey, table: NameTable) -> None:
        self.slots_of = cache(partial(slots_of, table=table))
        self.lots_of = cache(partial(Lots, chance=chance, table=table))
        self.named = cache(Named)


def name_people(
    people: Sequence[Person],
    chance: SurrogateKey,
    *,
    table: NameTable,
    forbidden: Container[str],
    fixed: dict[int, str] | None = None,
    near: bool = False,
    first: int = 0,
    namer: Namer | None = None,
) -> list[Named]:
    """Find a surrogate for everyone in a document.

    forbidden (Container[str]): Folded words that no surrogate may be: originals, cited authors.
    fixed (dict[int, str] | None): Person -> pseudonym of two words, for profiles that have them.
    near (bool): Whether names of about the same length are looked for.
    first (int): So many of the people are those of the whole scope: who is named after them changes nothing for them.
    namer (Namer | None): For these, in all documents of the scope.
    RETURNS (list[Named]): One for each person, in order.
    """
    fixed, own = fixed or {}, Namer(chance, table)
    namers = [namer or own] * first + [own] * (len(people) - first)
    known = [by.slots_of(person) for by, person in zip(namers, people, strict=True)]
    places = [[slot.place for slot in slots] for slots, _ in known]
    # Siblings share a surname whose origin may be known from a given name only: the same one of them must decide each time.
    order = [i for i in range(len(people)) if i not in fixed]
    order.sort(key=lambda i: (i >= first, people[i].words))
    lots: dict[Place, Lots] = {}
    for by, slot in ((namers[i], slot) for i in order for slot in known[i][0]):
        lots.setdefault(slot.place, by.lots_of(slot))
    found: dict[Place, str | None] = {}
    taken = {norm(part) for part in " ".join(fixed.values()).split()}
    widened: set[Place] = set()
    blocked = Forbidden({word for person in people for word in person.words}, forbidden)
    # Where two names want one surrogate, a secret order decides: that of the seeds.
    before = set[Place]().union(*places[:first])
    for place in sorted(lots, key=lambda place: (place not in before, lots[place].stream.seed)):
        name, elsewhere = draw(lots[place], forbidden=blocked, taken=taken, near=near)
        found[place] = name
        taken.add(norm(name) if name else "")
        if elsewhere:
            widened.add(place)
    made = []
    for i, person in enumerate(people):
        if i in fixed:
            made.append(namers[i].named(person, _fixed_words(person, fixed[i]), fixed=True))
            continue
        surrogates = tuple([found[place] for place in places[i]])
        note = _note(known[i][1], matched=widened.isdisjoint(places[i]))
        made.append(namers[i].named(person, surrogates, note))
    for named in made[:first]:
        named.read.clear()
    return made


def _note(unknown: tuple[str, ...], *, matched: bool) -> str:
    """What was not known of a person. matched (bool): Whether all surrogates have the origin that was asked for."""
    if not matched and "origin unknown" not in unknown:
        unknown = (*unknown, "origin not matched")
    return ", ".join(unknown)


def _fixed_words(person: Person, pseudonym: str) -> tuple[str, ...]:
    """The words of a fixed pseudonym in the places of a person's first given and last family name; other places stay empty."""
    first, last = pseudonym.split(maxsplit=1)[0], pseudonym.rsplit(maxsplit=1)[-1]
    words = [""] * len(person.words)
    if FAMILY in person.kinds:
        words[-1 - person.kinds[::-1].index(FAMILY)] = last
    given = person.first(GIVEN)
    if given is not None:
        words[given] = first
    return tuple(words)


def render(
    mention: Mention,
    named: Named,
    chance: SurrogateKey,
    places: Sequence[int] = (),
    *,
    avoid: Container[str] = (),
) -> str | None:
    """Write a mention with its owner's surrogate: in place, so that titles, commas, "_" and possessives stay.

    chance (SurrogateKey): For numbers glued to a name. places (Sequence[int]): Which word of the owner each word is, if that is at hand.
    avoid (Container[str]): Folded words that no nickname may be.
    RETURNS (str | None): The new text; None if some word has no surrogate.
    """
    text, person = mention.text, named.person
    places = places or places_of(mention, person)
    if not places:
        # Nobody knows which word is which: they follow each other.
        places = [min(i, len(person.words) - 1) for i in range(len(mention.words))]
    digits = "".join(filter(str.isdecimal, text))
    numbers = chance.rng("NAME/numbers", digits) if digits else None
    out, last = "", 0
    words = list(zip(mention.words, places, strict=True))
    if named.fixed and not any(named.surrogates[place] for place in places):
        # The nickname of somebody whose pseudonym has two words.
        words = [(words[0][0], next(i for i, new in enumerate(named.surrogates) if new))]
    for word, place in words:
        new = named.surrogates[place]
        if new is None:
            return None
        # A second surname goes where the pseudonym has one.
        if not new and named.fixed:
            continue
        # Before the first word stand titles; what was left out before it is none.
        between = text[last : word.start] if out else text[: mention.words[0].start]
        between = _bare(between, lead=not out) if named.fixed else between
        new = _write(word.text, word.norm, new, person.words[place], avoid)
        out += _hide_numbers(between, numbers) + new
        last = word.end
    word = mention.words[-1]
    # The stop of an initial that was left out goes with it.
    is_left_out = word.end > last and word.is_initial and text[word.end : word.end + 1] == "."
    rest = text[word.end + is_left_out :]
    return out + _hide_numbers(_ending(rest, out), numbers)


def _bare(between: str, *, lead: bool) -> str:
    """What stands before a word of a fixed pseudonym: titles before the first one; no particle, nickname or second name."""
    if lead:
        return _PARTICLES.sub("", between)
    mark = "." if between.startswith(".") else ","
    return (mark if mark in between[:2] else "") + (_SPACE.findall(between) or [""])[0]


def _ending(rest: str, new: str) -> str:
    """What follows a name: a plural, "the Parkers", and a possessive after an s, "James'", as the new name has them."""
    if plural := _PLURAL.match(rest):
        ending = "es" if new.lower().endswith(("s", "x", "z", "ch", "sh")) else "s"
        return (ending.upper() if plural.group().isupper() else ending) + rest[plural.end() :]
    if rest in ("'", "’") and not new.lower().endswith(("s", "x", "z")):
        return rest + ("S" if new.isupper() else "s")
    return rest


def _write(text: str, word: str, new: str, full: str, avoid: Container[str]) -> str:
    """A surrogate as an initial, a nickname or a name, in the original's case; letter-spaced if that was."""
    if len(word) == 1 and text.isascii():
        first = plain(new)[0]
        return first.lower() if text.islower() else first.upper()
    if word != full and word in nicknames() and not is_typo(word, full):
        own = [nick for nick in nicknames_of(new) if nick[0] != word[0] and nick not in avoid]
        new = own[0].capitalize() if own else new
    written = like("".join(filter(is_letter, text)), new)
    spaced = " " in text or "." in text
    return text[1].join(filter(str.isalpha, written)) if spaced else written


def _hide_numbers(text: str, rng: Source | None) -> str:
    """Text between the words of a name; many digits glued to it ("Ana_Lopez_102938") are changed."""
    if rng is None or sum(map(str.isdecimal, text)) < 2:
        return text
    return randomize_same_shape(text, rng)
