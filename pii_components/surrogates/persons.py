"""Who is meant: the names of a document linked to its people.

    >>> from pii_components.surrogates.mentions import read_mention
    >>> from pii_components.surrogates.persons import link
    >>> people, owners = link([read_mention(t) for t in ("Maria Lopez", "Lopez, M.", "Maria", "J. Lopez")])
    >>> owners, [p.words for p in people]
    ([0, 0, 0, 1], [('maria', 'lopez'), ('j', 'lopez')])

A mention belongs to a person if each of its words is one of the person's, in any order: as it is, as an initial, as a nickname
or with a slip of the pen. So "Maria", "Lopez", "M. Lopez", "Lopez, Maria", "ML" and "Mraia Lopez" go to Maria Lopez, while John
and Jane Smith stay two people whose surrogates share a surname. Where several people fit, it is the one last mentioned.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources

from .mentions import FAMILY, GIVEN, LONE, Mention, Word
from .names import name_table
from .style import norm

# Where the family name comes first.
FAMILY_FIRST = frozenset({"CN", "KR", "VN"})
# Shorter words with one letter changed are other names: Ana and Ann, Lee and Leo.
TYPO_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, by the fullest form of their name in the document.

    words (tuple[str, ...]): Folded. kinds (tuple[str, ...]): `GIVEN` or `FAMILY`, one for each word.
    texts (tuple[str, ...]): As first written. gender (str): From a title, or "".
    """

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    gender: str = ""

    def first(self, kind: str) -> int | None:
        """RETURNS (int | None): Place of the first word of a kind."""
        return self.kinds.index(kind) if kind in self.kinds else None


@cache
def nicknames() -> dict[str, frozenset[str]]:
    """RETURNS (dict[str, frozenset[str]]): Nickname -> the given names it may stand for, both folded."""
    text = (resources.files("pii_components") / "resources" / "names" / "nicknames.tsv").read_text(encoding="utf8")
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        full, nicks = line.split("\t")
        for nick in nicks.split():
            found.setdefault(norm(nick), set()).add(full)
    return {nick: frozenset(full) for nick, full in found.items()}


@cache
def _nicks_by_name() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for nick, names in nicknames().items():
        for name in names:
            found.setdefault(name, []).append(nick)
    return {name: tuple(sorted(nicks)) for name, nicks in found.items()}


def nicknames_of(name: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Nicknames of a given name, all folded."""
    return _nicks_by_name().get(norm(name), ())


def _match(words: Sequence[Word], person: Person) -> tuple[int, tuple[int, ...]] | None:
    """How a mention's words are those of a person.

    RETURNS (tuple | None): A score, and the place in the person of each word; None if some word is not theirs.
    """
    # Most names are somebody else's: seen at one of their words.
    for word in words:
        if not any(_is_kin(word.norm, full) for full in person.words):
            return None
    places: dict[int, int] = {}
    score = 0
    free = list(range(len(person.words)))
    for exact in (True, False):
        for i, word in enumerate(words):
            if i in places or word.is_initial:
                continue
            options = [
                p
                for p in free
                if (person.words[p] == word.norm if exact else _is_nick(word, person.words[p], lone=len(words) == 1))
            ]
            if options:
                same = [p for p in options if person.kinds[p] == word.kind]
                places[i] = (same or options)[0]
                free.remove(places[i])
                score += (20 if exact else 8) + (2 if same else 0)
    if len(words) > 1 and len(words) == len(person.words) and all(w.is_initial for w in words):
        # Initials alone, in the order of the name, whatever kinds they look like: "H.H." is Hoang Hien.
        in_order = all(full.startswith(w.norm) for w, full in zip(words, person.words, strict=True))
        return (len(words), tuple(range(len(words)))) if in_order else None
    for i, word in enumerate(words):
        if i not in places and word.is_initial:
            options = [p for p in free if person.words[p].startswith(word.norm)]
            same = [p for p in options if person.kinds[p] == word.kind]
            if options:
                places[i] = (same or options)[0]
                free.remove(places[i])
                score += 1
    for i, word in enumerate(words):
        if i not in places and not word.is_initial:
            slips = [p for p in free if is_typo(word.norm, person.words[p], alone=len(words) == 1)]
            if slips:
                places[i] = slips[0]
                free.remove(slips[0])
                score += 4
    if len(places) < len(words):
        return None
    if (
        len(words) > 1
        and all(w.is_initial for w in words)
        and (places[0], places[len(words) - 1]) != (0, len(person.words) - 1)
    ):
        return None
    return score, tuple(places[i] for i in range(len(words)))


@lru_cache(maxsize=8192)
def _is_kin(word: str, full: str) -> bool:
    """RETURNS (bool): Whether a word can be another one at all: its beginning, a nickname either way, or a slip of the pen."""
    return (
        full.startswith(word)
        or full in nicknames().get(word, ())
        or word in nicknames().get(full, ())
        or is_typo(word, full)
        or is_typo(word, full, alone=True)
    )


def _is_nick(word: Word, full: str, *, lone: bool) -> bool:
    """RETURNS (bool): Whether a word is a nickname of a given name; alone, also its beginning ("Nat" for Nathaniel)."""
    if full in nicknames().get(word.norm, ()) or word.norm in nicknames().get(full, ()):
        return True
    return lone and len(word.norm) >= 3 and len(full) > len(word.norm) and full.startswith(word.norm)


@lru_cache(maxsize=4096)
def is_typo(word: str, other: str, *, alone: bool = False) -> bool:
    """RETURNS (bool): Whether two words are one letter apart (changed, left out, put in, swapped with the next) and cannot be two
    names: one of them, if it stands alone exactly one of them, is no name that the table knows."""
    if min(len(word), len(other)) < TYPO_LENGTH or abs(len(word) - len(other)) > 1:
        return False
    known = _is_known(word) + _is_known(other)
    if known == 2 or (alone and known != 1):
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(word, other, score_cutoff=1) == 1


def _is_known(word: str) -> bool:
    return name_table().is_given(word) or name_table().is_surname(word)


def link(mentions: Sequence[Mention]) -> tuple[list[Person], list[int]]:
    """Link the names of one document to people.

    mentions (Sequence[Mention]): In the order of the text.
    RETURNS (tuple[list[Person], list[int]]): The people in order of first mention, and for each mention the place of its owner.
    """
    if len(mentions) == 1:
        (mention,) = mentions
        words = mention.words
        alone = (
            [Person(tuple(w.norm for w in words), _kinds(words), tuple(w.text for w in words), mention.gender)] if words else []
        )
        return alone, [len(alone) - 1]
    order = sorted(
        range(len(mentions)),
        # Of two spellings of one name, the one that the table knows is the name.
        key=lambda i: (
            -sum(not w.is_initial for w in mentions[i].words),
            -len(mentions[i].words),
            sum(not _is_known(w.norm) for w in mentions[i].words),
            i,
        ),
    )
    people: list[Person] = []
    for i in order:
        words = mentions[i].words
        if words and not any(_match(words, p) for p in people):
            people.append(Person(tuple(w.norm for w in words), _kinds(words), tuple(w.text for w in words)))
    people = _agree(people)
    owners = _assign(mentions, people)
    seen = list(dict.fromkeys(o for o in owners if o >= 0))
    ordered = []
    for old in seen:
        titles = [m.gender for m, o in zip(mentions, owners, strict=True) if o == old and m.gender]
        p = people[old]
        ordered.append(Person(p.words, p.kinds, p.texts, titles[0] if titles else ""))
    return ordered, [seen.index(o) if o >= 0 else -1 for o in owners]


def spell_initials(mentions: Sequence[Mention]) -> list[Mention]:
    """RETURNS (list[Mention]): The mentions, "ML" as two initials where a Maria Lopez is mentioned too."""
    initials = {"".join(w.norm[0] for w in m.words) for m in mentions if len(m.words) > 1}
    found = []
    for mention in mentions:
        word = mention.words[0] if len(mention.words) == 1 else None
        if (
            word is not None
            and 2 <= len(word.text) <= 4
            and word.text.isascii()
            and word.text.isupper()
            and word.norm in initials
        ):
            letters = (Word(word.start + i, word.start + i + 1, ch, ch.lower(), LONE) for i, ch in enumerate(word.text))
            mention = Mention(mention.text, tuple(letters), mention.gender)
        found.append(mention)
    return found


def _kinds(words: Sequence[Word]) -> tuple[str, ...]:
    """The kinds of a person's words. A word alone, and two in the order "Garcia Maria", are what the table says."""
    leaning = [name_table().leaning(w.norm) for w in words]
    if len(words) == 1 and words[0].kind == LONE:
        return (FAMILY if leaning[0] == "surname" else GIVEN,)
    kinds = tuple(FAMILY if w.kind == FAMILY else GIVEN for w in words)
    if kinds == (GIVEN, FAMILY) and leaning == ["surname", "given"]:
        return (FAMILY, GIVEN)
    eastern = kinds[0] == GIVEN and FAMILY_FIRST.intersection(name_table().regions(words[0].norm))
    frequency = [name_table().rarity_of_surname(w.norm) for w in words]
    if eastern and len(words) > 1 and leaning[0] == "surname" and frequency[0] < frequency[-1]:
        return (FAMILY, *[GIVEN] * (len(words) - 1))
    return kinds


def _agree(people: Sequence[Person]) -> list[Person]:
    """The people, with a surname that two of them share as a surname in both, where the table alone would tell it from one only:
    "Diep Chien" and "Diep Hoang" are brothers.
    """
    counts = Counter(word for p in people for word, kind in zip(p.words, p.kinds, strict=True) if kind == FAMILY)
    agreed = []
    for p in people:
        if len(p.words) == 2 and set(p.kinds) == {GIVEN, FAMILY}:
            own, other = p.kinds.index(FAMILY), p.kinds.index(GIVEN)
            if counts[p.words[other]] > 0 and counts[p.words[own]] == 1:
                p = replace(p, kinds=p.kinds[::-1])
        agreed.append(p)
    return agreed


def _assign(mentions: Sequence[Mention], people: Sequence[Person]) -> list[int]:
    """The owner of each mention: the best match; among equals the one last mentioned, else the one mentioned next."""
    options: list[list[int]] = []
    for mention in mentions:
        scored = [
            (match[0] - 15 * _wrong_gender(mention, person), p)
            for p, person in enumerate(people)
            if mention.words and (match := _match(mention.words, person))
        ]
        best = max((score for score, _ in scored), default=0)
        options.append([p for score, p in scored if score == best])
    owners = [o[0] if len(o) == 1 else -1 for o in options]
    for i, fits in enumerate(options):
        if len(fits) > 1:
            before = [owners[j] for j in range(i - 1, -1, -1) if owners[j] in fits]
            after = [owners[j] for j in range(i + 1, len(mentions)) if owners[j] in fits]
            owners[i] = (before + after + fits)[0]
    return owners


def _wrong_gender(mention: Mention, person: Person) -> bool:
    """RETURNS (bool): Whether "Mr." cannot be this person, by the usual gender of the given name."""
    place = person.first(GIVEN)
    gender = name_table().gender(person.words[place]) if place is not None else None
    return bool(mention.gender and gender and gender != mention.gender)


def places_of(mention: Mention, person: Person) -> tuple[int, ...]:
    """RETURNS (tuple[int, ...]): For each word of a mention, which word of its owner it is."""
    words = tuple(word.norm for word in mention.words)
    if words == person.words and len(set(words)) == len(words):
        return tuple(range(len(words)))
    match = _match(mention.words, person)
    return match[1] if match else ()
