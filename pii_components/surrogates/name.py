"""Surrogates for the names of people.

    table, chance = name_table(), Chance(key, scope="corpus")
    named = name_people(people, chance, table=table, forbidden=set())
    render(mention, named[0], chance)            # "Dr. M. Lopez's" -> "Dr. C. Vidal's"

A surname becomes the same surrogate for everyone who bears it; a given name depends on its surname too, so that two Marias stay
two. Where two names want one surrogate, a secret order decides who gets it, not who comes first in the text.
"""

import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from .forbidden import Forbidden
from .keys import Chance, Source, Stream
from .mentions import FAMILY, GIVEN, Mention
from .names import NameTable
from .persons import Person, is_typo, nicknames_of, places_of
from .slots import Slot, draw, slots_of
from .style import is_letter, like, norm, other_shape, plain

_DIGIT = re.compile(r"\d")
_PURPOSE = {kind: f"NAME/{kind}" for kind in (GIVEN, FAMILY)}


class Named(NamedTuple):
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


def name_people(
    people: Sequence[Person],
    chance: Chance,
    *,
    table: NameTable,
    forbidden: Container[str],
    fixed: dict[int, str] | None = None,
    near: bool = False,
) -> list[Named]:
    """Find a surrogate for everyone in a document.

    people (Sequence[Person]): From `persons.link`.
    chance (Chance): Key and scope.
    table (NameTable): Where the names come from.
    forbidden (Container[str]): Folded words that no surrogate may be: originals, cited authors.
    fixed (dict[int, str] | None): Person -> pseudonym of two words, for profiles that have them.
    near (bool): Whether names of about the same length are looked for.
    RETURNS (list[Named]): One for each person, in order.
    """
    fixed = fixed or {}
    known = [slots_of(person, table) for person in people]
    keys = [[(slot.kind, slot.key) for slot in own] for own, _ in known]
    slots: dict[tuple[str, str], Slot] = {}
    # Siblings share a surname whose origin may be known from a given name only: the same one of them must decide each time.
    for _, i in sorted([(person.words, i) for i, person in enumerate(people) if i not in fixed]):
        for key, slot in zip(keys[i], known[i][0], strict=True):
            slots.setdefault(key, slot)
    found: dict[tuple[str, str], str | None] = {}
    taken = {norm(part) for text in fixed.values() for part in text.split()} if fixed else set()
    widened: set[tuple[str, str]] = set()
    own = {w for person in people for w in person.words}
    blocked = forbidden.and_also(own) if isinstance(forbidden, Forbidden) else Forbidden(own, forbidden)
    streams = [(chance.rng(_PURPOSE[kind], key), (kind, key)) for kind, key in slots]
    # Where two names want one surrogate, a secret order decides: that of the seeds.
    streams.sort(key=_seed)
    for stream, place in streams:
        name, elsewhere = draw(slots[place], stream, table, forbidden=blocked, taken=taken, near=near)
        found[place] = name
        taken.add(norm(name) if name else "")
        if elsewhere:
            widened.add(place)
    named = []
    for i, person in enumerate(people):
        if i in fixed:
            named.append(Named(person, _fixed_words(person, fixed[i])))
            continue
        notes = known[i][1]
        if "origin unknown" not in notes and not widened.isdisjoint(keys[i]):
            notes = (*notes, "origin not matched")
        named.append(Named(person, tuple([found[key] for key in keys[i]]), ", ".join(notes)))
    return named


def _seed(drawn: tuple[Stream, tuple[str, str]]) -> bytes:
    return drawn[0].seed


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


def render(mention: Mention, named: Named, chance: Chance, places: Sequence[int] | None = None) -> str | None:
    """Write a mention with its owner's surrogate: in place, so that titles, commas, "_" and possessives stay.

    mention (Mention): From `mentions.read_mention`. named (Named): Its owner.
    chance (Chance): Key and scope, for numbers glued to a name.
    places (Sequence[int] | None): From `persons.link_words`, if they are at hand: which word of the owner each word is.
    RETURNS (str | None): The new text; None if some word has no surrogate.
    """
    person, surrogates, _ = named
    text, words, full = mention.text, mention.words, person.words
    if places is None:
        places = places_of(mention, person)
    if not places:
        return None
    numbers = None
    if not text.isalpha() and _DIGIT.search(text):
        numbers = chance.rng("NAME/numbers", "".join([ch for ch in text if ch.isdecimal()]))
    out, last = "", 0
    for word, place in zip(words, places, strict=True):
        start, end, written, folded, _ = word
        new = surrogates[place]
        if new is None:
            return None
        between = text[last:start]
        if numbers is not None:
            between = _hide_numbers(between, numbers)
        if new:
            out += (between if out or not last else between.lstrip(" -\t_")) + _write(written, folded, new, full[place])
        elif out:
            # A second surname where the pseudonym has one: the word goes, and the space or hyphen before it.
            out += between.rstrip(" -\t_")
        last = end
        if not new and word.is_initial and text[last : last + 1] == ".":
            last += 1
    rest = text[last:]
    return out + (_hide_numbers(rest, numbers) if numbers is not None else rest)


def _write(text: str, word: str, new: str, full: str) -> str:
    """RETURNS (str): A surrogate as an initial, a nickname or a name, in the original's case; letter-spaced if that was."""
    if word == full and len(word) > 1 and new.isascii() and text.isascii() and text.isalpha() and text.istitle():
        # As most names are written.
        return new
    if len(word) == 1 and text.isascii():
        first = plain(new)[0]
        return first.lower() if text.islower() else first.upper()
    if word != full and len(full) > 1 and not is_typo(word, full):
        own = [nick for nick in nicknames_of(new) if nick[0] != word[0]]
        new = own[0].capitalize() if own else new
    if text.isalpha():
        return like(text, new)
    spaced = any(ch in " ." for ch in text)
    written = like("".join(ch for ch in text if is_letter(ch)), new)
    return text[1].join(ch for ch in written if ch.isalpha()) if spaced else written


def _hide_numbers(text: str, rng: Source | None) -> str:
    """RETURNS (str): Text between the words of a name; many digits glued to it ("Ana_Lopez_102938") are changed."""
    return other_shape(text, rng) if rng is not None and sum(ch.isdecimal() for ch in text) > 1 else text
