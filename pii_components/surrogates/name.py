"""Surrogates for the names of people.

    table, chance = name_table(), Chance(key, scope="corpus")
    named = name_people(people, chance, table=table, forbidden=set())
    render(mention, named[0], chance)            # "Dr. M. Lopez's" -> "Dr. C. Vidal's"

A surname becomes the same surrogate for everyone who bears it; a given name depends on its surname too, so that two Marias stay
two. Where two names want one surrogate, a secret order decides who gets it, not who comes first in the text.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .keys import Chance
from .mentions import FAMILY, GIVEN, Mention
from .names import NameTable
from .persons import Person, is_typo, nicknames, nicknames_of, places_of
from .style import has_accent, is_letter, like, norm, other_shape, plain, script_region

MAX_TRIES, WIDEN_AFTER, ACCENT_TRIES = 240, 120, 40


@dataclass(frozen=True, slots=True)
class Named:
    """A person and who they become.

    person (Person): As in the document.
    surrogates (tuple[str | None, ...]): For each of the person's words; an empty text drops the word (fixed pseudonyms have two
        words), None means that no surrogate was found.
    note (str): Where gender or origin could not be matched.
    """

    person: Person
    surrogates: tuple[str | None, ...]
    note: str = ""

    def word(self, kind: str) -> str:
        """RETURNS (str): The surrogate of the first word of a kind, or the empty string."""
        place = self.person.first(kind)
        return (self.surrogates[place] or "") if place is not None else ""


@dataclass(frozen=True, slots=True)
class _Slot:
    """One name to be replaced, the same for every person who shares it."""

    kind: str
    word: str
    family: str
    gender: str
    region: str
    accented: bool

    @property
    def key(self) -> str:
        return f"{self.word}|{self.family}" if self.kind == GIVEN else self.word


def name_people(
    people: Sequence[Person],
    chance: Chance,
    *,
    table: NameTable,
    forbidden: Collection[str],
    fixed: dict[int, str] | None = None,
) -> list[Named]:
    """Find a surrogate for everyone in a document.

    people (Sequence[Person]): From `persons.link`.
    chance (Chance): Key and scope.
    table (NameTable): Where the names come from.
    forbidden (Collection[str]): Folded words that no surrogate may be: originals, cited authors.
    fixed (dict[int, str] | None): Person -> pseudonym of two words, for profiles that have them.
    RETURNS (list[Named]): One for each person, in order.
    """
    fixed = fixed or {}
    slots: dict[tuple[str, str], _Slot] = {}
    notes = [_notes(person, table) for person in people]
    originals = {w for person in people for w in person.words}
    # Siblings share a surname whose origin may be known from a given name only: the same one of them must decide each time.
    for i in sorted(range(len(people)), key=lambda i: people[i].words):
        if i not in fixed:
            for place in range(len(people[i].words)):
                slot = _slot(people[i], place, table)
                slots.setdefault((slot.kind, slot.key), slot)
    found: dict[tuple[str, str], str | None] = {}
    taken = {norm(part) for text in fixed.values() for part in text.split()}
    widened: set[tuple[str, str]] = set()
    for slot in sorted(slots.values(), key=lambda s: chance.order(f"{s.kind}|{s.key}")):
        found[slot.kind, slot.key], wide = _draw(slot, chance, table, {*forbidden, *originals}, taken)
        taken.add(norm(found[slot.kind, slot.key] or ""))
        if wide:
            widened.add((slot.kind, slot.key))
    named = []
    for i, person in enumerate(people):
        if i in fixed:
            named.append(Named(person, _fixed_words(person, fixed[i])))
            continue
        keys = [(s.kind, s.key) for s in (_slot(person, place, table) for place in range(len(person.words)))]
        note = [
            *notes[i],
            *(["origin not matched"] if not widened.isdisjoint(keys) and "origin unknown" not in notes[i] else []),
        ]
        named.append(Named(person, tuple(found[key] for key in keys), ", ".join(note)))
    return named


def _slot(person: Person, place: int, table: NameTable) -> _Slot:
    kind, word = person.kinds[place], person.words[place]
    family, given = person.first(FAMILY), person.first(GIVEN)
    surname = person.words[family] if family is not None else ""
    of_family = person.texts[place] if kind == FAMILY else person.texts[family] if family is not None else ""
    region = _region(of_family, person.texts[given] if given is not None else "", table)
    gender = "" if kind == FAMILY else _gender(person, table)
    return _Slot(kind, word, "" if kind == FAMILY else surname, gender, region, has_accent(person.texts[place]))


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
    genders = {table.gender(full) for full in nicknames().get(word, ())}
    return table.gender(word) or (genders.pop() or "" if len(genders) == 1 else "")


def _notes(person: Person, table: NameTable) -> list[str]:
    family, given = person.first(FAMILY), person.first(GIVEN)
    surname, first = (person.texts[i] if i is not None else "" for i in (family, given))
    notes = ["gender unknown"] if given is not None and not _gender(person, table) else []
    return [*notes, *([] if _region(surname, first, table) else ["origin unknown"])]


def _draw(
    slot: _Slot, chance: Chance, table: NameTable, forbidden: Collection[str], taken: Collection[str]
) -> tuple[str | None, bool]:
    """RETURNS (tuple[str | None, bool]): A surrogate that is nobody's name here, and whether it is from elsewhere."""
    given = slot.kind == GIVEN
    small = bool(slot.region) and table.is_small(given=given, gender=slot.gender or None, region=slot.region)
    for attempt in range(MAX_TRIES):
        rng = chance.rng(f"NAME/{slot.kind}", slot.key, attempt=attempt)
        region = (slot.region or None) if attempt < WIDEN_AFTER else None
        name = table.sample_given(rng, slot.gender or None, region) if given else table.sample_surname(rng, region)
        new = norm(name)
        if new in forbidden or new in taken or "-" in name[:1]:
            continue
        # No letter of the original at the front, for its initial may stand alone; nor one name inside the other (Ana, Anabel).
        if new[0] == slot.word[0] or (len(slot.word) > 2 and (slot.word in new or new in slot.word)):
            continue
        if slot.accented and attempt < ACCENT_TRIES and not has_accent(name):
            continue
        return name, bool(slot.region) and (region is None or small)
    return None, True


def _fixed_words(person: Person, pseudonym: str) -> tuple[str, ...]:
    """The words of a fixed pseudonym in the places of a person's first given and last family name; other places stay empty."""
    first, last = pseudonym.split(maxsplit=1)[0], pseudonym.rsplit(maxsplit=1)[-1]
    words = [""] * len(person.words)
    family = [i for i, k in enumerate(person.kinds) if k == FAMILY]
    if family:
        words[family[-1]] = last
    given = person.first(GIVEN)
    if given is not None:
        words[given] = first
    return tuple(words)


def render(mention: Mention, named: Named, chance: Chance) -> str | None:
    """Write a mention with its owner's surrogate: in place, so that titles, commas, "_" and possessives stay.

    mention (Mention): From `mentions.read_mention`. named (Named): Its owner.
    chance (Chance): Key and scope, for numbers glued to a name.
    RETURNS (str | None): The new text; None if some word has no surrogate.
    """
    places = places_of(mention, named.person)
    if not places or any(named.surrogates[p] is None for p in places):
        return None
    out, last = "", 0
    numbers = chance.rng("NAME/numbers", "".join(ch for ch in mention.text if ch.isdecimal()))
    for word, place in sorted(zip(mention.words, places, strict=True), key=lambda item: item[0].start):
        between = _hide_numbers(mention.text[last : word.start], numbers)
        new = named.surrogates[place] or ""
        if not new:
            # A second surname where the pseudonym has one: the word goes, and the space or hyphen before it.
            out += between.rstrip(" -\t_") if out else ""
        else:
            out += (between if out or not last else between.lstrip(" -\t_")) + _write(
                word.text, word.norm, new, named.person.words[place]
            )
        last = word.end
        if word.is_initial and not new and mention.text[last : last + 1] == ".":
            last += 1
    return out + _hide_numbers(mention.text[last:], numbers)


def _write(text: str, word: str, new: str, full: str) -> str:
    """RETURNS (str): A surrogate as an initial, a nickname or a name, in the original's case; letter-spaced if that was."""
    if len(word) == 1 and text.isascii():
        return plain(new)[0].lower() if text.islower() else plain(new)[0].upper()
    if word != full and len(full) > 1 and not is_typo(word, full):
        own = [nick for nick in nicknames_of(new) if nick[0] != word[0]]
        new = own[0].capitalize() if own else new
    spaced = any(ch in " ." for ch in text)
    written = like("".join(ch for ch in text if is_letter(ch)), new)
    return text[1].join(ch for ch in written if ch.isalpha()) if spaced else written


def _hide_numbers(text: str, rng: random.Random) -> str:
    """RETURNS (str): Text between the words of a name; many digits glued to it ("Ana_Lopez_102938") are changed."""
    return other_shape(text, rng) if sum(ch.isdecimal() for ch in text) > 1 else text
