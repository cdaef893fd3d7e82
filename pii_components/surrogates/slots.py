"""One name to be replaced, and the name that is drawn for it.

A person's words become slots, each with what its surrogate shall be like: a given name or a surname, of which gender and region, with
or without an accent. Two mentions that share a slot share its surrogate, in every document of the scope.
"""

from collections.abc import Container
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from .keys import Stream
from .mentions import FAMILY, GIVEN
from .names import NameTable, Pool
from .patronymic import patronymic, patronymic_gender
from .persons import Person, nicknames
from .style import has_accent, norm, script_region

MAX_TRIES, WIDEN_AFTER, ACCENT_TRIES = 240, 120, 40
# How many fit names are compared where the length shall be near.
NEAR_TRIES = 24


class Slot(NamedTuple):
    """One name to be replaced, the same for every person who shares it.

    kind (str): `GIVEN` or `FAMILY`. word (str): Folded. family (str): For a given name, the folded surname that goes with it.
    gender (str): "F", "M", or empty if unknown. region (str): A key of `REGIONS`, or empty. accented (bool): Whether it has an accent.
    """

    kind: str
    word: str
    family: str
    gender: str
    region: str
    accented: bool

    @property
    def key(self) -> str:
        return f"{self.word}|{self.family}" if self.kind == GIVEN else self.word


def slots_of(person: Person, table: NameTable) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """RETURNS (tuple[tuple[Slot, ...], tuple[str, ...]]): A slot for each of a person's words; what is unknown, for a data steward."""
    family, given = person.first(FAMILY), person.first(GIVEN)
    surname = person.words[family] if family is not None else ""
    of_family, of_given = (person.texts[i] if i is not None else "" for i in (family, given))
    gender, region = _gender(person, table), _region(of_family, of_given, table)
    slots = []
    for kind, word, text in zip(person.kinds, person.words, person.texts, strict=True):
        if kind == FAMILY:
            own = region if text is of_family else _region(text, of_given, table)
            slots.append(Slot(kind, word, "", "", own, has_accent(text)))
        else:
            slots.append(Slot(kind, word, surname, gender, region, has_accent(text)))
    unknown = ("gender unknown",) if given is not None and not gender else ()
    return tuple(slots), unknown if region else (*unknown, "origin unknown")


def _region(family: str, given: str, table: NameTable) -> str:
    """RETURNS (str): Where the names are from: by the script, the surname, then the given name; empty if unknown."""
    script = script_region(family) or script_region(given)
    if script:
        return script
    return next(iter((table.regions(family) if len(family) > 1 else ()) or table.regions_of_given(given)), "")


def _gender(person: Person, table: NameTable) -> str:
    """RETURNS (str): "F" or "M", by a title or the first given name, or what that is short for; else empty."""
    place = person.first(GIVEN)
    if person.gender or place is None:
        return person.gender
    word = person.words[place]
    gender = table.gender(word)
    if gender:
        return gender
    genders = {table.gender(full) for full in nicknames().get(word, ())}
    return genders.pop() or "" if len(genders) == 1 else ""


@cache
def _neutral() -> dict[str, Pool]:
    """RETURNS (dict[str, Pool]): Region -> given names of women and men alike; "" for all of them."""
    text = (resources.files("pii_components") / "resources" / "names" / "neutral.tsv").read_text(encoding="utf8")
    found = {region: names.split() for region, _, names in (line.partition("\t") for line in text.splitlines())}
    found[""] = sorted({name for names in found.values() for name in names})
    return {region: Pool(names, [float(i + 1) for i in range(len(names))]) for region, names in found.items()}


def _pools(slot: Slot, table: NameTable) -> tuple[Pool, Pool, Pool]:
    """RETURNS (tuple[Pool, Pool, Pool]): What to draw from first, then, and at last."""
    if slot.kind == GIVEN and patronymic_gender(slot.word):
        # After a father's name, whoever's child.
        fathers = table.pool(given=True, gender="M", region="RU")
        return fathers, fathers, fathers
    return _pools_of(table, slot.kind == GIVEN, slot.gender, slot.region, slot.accented)


@lru_cache(maxsize=512)
def _pools_of(table: NameTable, given: bool, gender: str, region: str, accented: bool) -> tuple[Pool, Pool, Pool]:
    then = table.pool(given=given, gender=gender, region=region)
    first = then
    if given and not gender and region in _neutral():
        # Nobody knows whether "she" or "he" stands in the text: a name that goes with both.
        first = _neutral()[region]
    elif accented:
        first = table.pool(given=given, gender=gender, region=region, accented=True)
    return first, then, table.pool(given=given, gender=gender)


def draw(
    slot: Slot, stream: Stream, table: NameTable, *, forbidden: Container[str], taken: Container[str], near: bool = False
) -> tuple[str | None, bool]:
    """Draw a surrogate.

    slot (Slot): What for. stream (Stream): Where chance comes from. table (NameTable): Names.
    forbidden (Container[str]), taken (Container[str]): Folded words that it may not be. near (bool): Whether its length shall be near.
    RETURNS (tuple[str | None, bool]): A name, or None if chance found none; whether it is from elsewhere.
    """
    first, then, last = _pools(slot, table)
    small = bool(slot.region) and then is last
    word, long = slot.word, len(slot.word) > 2
    child = patronymic_gender(word) if slot.kind == GIVEN else ""
    best: tuple[int, str, bool] | None = None
    fit = 0
    for attempt in range(MAX_TRIES):
        pool = first if attempt < ACCENT_TRIES else then if attempt < WIDEN_AFTER else last
        name = pool.draw(stream)
        if child:
            name = patronymic(name, child) or ""
            if not name:
                continue
        new = norm(name)
        # No letter of the original at the front, for its initial may stand alone; nor one name inside the other (Ana, Anabel).
        if new[0] == word[0] or new in taken or (long and (word in new or new in word)) or new in forbidden:
            continue
        if "-" in name and any(norm(half) in forbidden for half in name.split("-")):
            continue  # "Hyun-seo" for the given name of somebody whose surname is Hyun
        elsewhere = bool(slot.region) and (attempt >= WIDEN_AFTER or small)
        distance = abs(len(new) - len(word)) if near and len(word) > 1 else 0
        if best is None or (distance, elsewhere) < (best[0], best[2]):
            best = distance, name, elsewhere
        fit += 1
        if not distance or fit >= NEAR_TRIES:
            break
    return (best[1], best[2]) if best else (None, True)
