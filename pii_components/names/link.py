"""Who is meant: the names of a document linked to its people.

    >>> from pii_components.names.parse import read_mention
    >>> from pii_components.names.link import link
    >>> people, owners = link([read_mention(t) for t in ("Maria Lopez", "Lopez, M.", "Maria", "J. Lopez")])
    >>> owners, [p.words for p in people]
    ([0, 0, 0, 1], [('maria', 'lopez'), ('j', 'lopez')])

A mention belongs to a person if each of its words is one of the person's, in any order: as it is, as an initial, as a nickname
or with a slip of the pen. So "Maria", "Lopez", "M. Lopez", "Lopez, Maria", "ML" and "Mraia Lopez" go to Maria Lopez, while John
and Jane Smith stay two people whose surrogates share a surname. Where several people fit, it is the one last mentioned.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from rapidfuzz.distance import OSA

from . import resource_lines
from .letters import norm, per_batch
from .parse import FAMILY, GIVEN, LONE, Form, Mention, Word
from .table import name_table
from .wordlists import in_table

# A score, and the place in a person of each word of a mention.
Match = tuple[int, tuple[int, ...]]
# Shorter words with one letter changed are other names: Ana and Ann, Lee and Leo.
TYPO_LENGTH = 5
_MOST_WORDS = 24
_MOST_LETTERS = 30  # of a word that is looked for with one letter left out


@cache
def nicknames() -> dict[str, frozenset[str]]:
    """RETURNS (dict[str, frozenset[str]]): Nickname -> the given names it may stand for, both folded."""
    found: dict[str, set[str]] = {}
    for line in resource_lines("names/nicknames.tsv"):
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
    return _nicks_by_name().get(norm(name), ())


def match_form(form: Form, full: tuple[str, ...], full_kinds: tuple[str, ...]) -> Match | None:
    """full (tuple[str, ...]), full_kinds (tuple[str, ...]): A person's words and their kinds. RETURNS (tuple | None): A score,
    and the place in the person of each word; None if some word is not theirs."""
    norms, kinds, initials = form
    if (
        len(norms) > _MOST_WORDS
    ):  # a list or noise: nobody's name, and each word would be looked for among all
        return None
    lone = len(norms) == 1
    if not lone and len(norms) == len(full) and all(initials):
        # Initials alone, in the order of the name, whatever kinds they look like: "H.H." is Hoang Hien, and "E.N." "Nikuze, Esther".
        for order in _orders(full_kinds):
            if all(full[p].startswith(letter) for letter, p in zip(norms, order, strict=True)):
                return len(norms), order
        return None
    places: dict[int, int] = {}
    score = 0
    free = list(range(len(full)))
    for of_initials, worth, more, is_one in (
        (False, 20, 2, str.__eq__),
        (False, 8, 2, partial(_is_nick, lone=lone)),
        (True, 1, 0, _begins),
        (False, 4, 0, partial(is_typo, alone=lone)),
    ):
        for i, word in enumerate(norms):
            if i in places or initials[i] != of_initials:
                continue
            if options := [p for p in free if is_one(word, full[p])]:
                same = [p for p in options if full_kinds[p] == kinds[i]]
                places[i] = (same or options)[0]
                free.remove(places[i])
                score += worth + (more if same else 0)
    if len(places) < len(norms):
        return None
    ends = places[0], places[len(norms) - 1]
    if not lone and all(initials) and ends not in [(o[0], o[-1]) for o in _orders(full_kinds)]:
        return None
    return score, tuple([places[i] for i in range(len(norms))])


def _begins(letter: str, word: str) -> bool:
    return word.startswith(letter)


def match_person(form: Form, person: "Person") -> Match | None:
    """RETURNS (tuple | None): As `match_form`; a further given name of the person has the place of the first one."""
    words, also = person.words, person.also
    match = match_form(form, words + also, person.kinds + (GIVEN,) * len(also))
    if match is None or not also:
        return match
    first = person.first(GIVEN) or 0
    return match[0], tuple([place if place < len(words) else first for place in match[1]])


def _orders(kinds: tuple[str, ...]) -> list[tuple[int, ...]]:
    here = tuple(range(len(kinds)))
    return [here, (*here[1:], 0)] if kinds[0] == FAMILY != kinds[-1] else [here]


def _is_nick(word: str, full: str, *, lone: bool) -> bool:
    nicks = nicknames()
    if full in nicks.get(word, ()) or word in nicks.get(full, ()):
        return True
    if lone and word == full + "s" and not in_table(word):
        return True  # "the Kesselrings"
    return lone and len(word) >= 3 and len(full) > len(word) and full.startswith(word)


def is_typo(word: str, other: str, *, alone: bool = False) -> bool:
    """RETURNS (bool): Whether two words are one letter apart (changed, left out, put in, swapped with the next) and cannot be two
    names: one of them, if it stands alone exactly one of them, is no name that the table knows."""
    if abs(len(word) - len(other)) > 1 or min(len(word), len(other)) < TYPO_LENGTH:
        return False
    # One slip leaves two letters at the front or at the back as they were.
    if word[:2] != other[:2] and word[-2:] != other[-2:]:
        return False
    return _is_slip(word, other, alone)


@per_batch(4096)
def _is_slip(word: str, other: str, alone: bool) -> bool:
    if OSA.distance(word, other, score_cutoff=1) != 1:
        return False
    known = in_table(word) + in_table(other)
    return known == 1 if alone else known < 2


FAMILY_FIRST = frozenset({"CN", "KR", "VN"})  # regions


class Person(NamedTuple):
    """Somebody, by the fullest form of their name in the document. words (tuple[str, ...]): Folded. kinds (tuple[str, ...]):
    `GIVEN` or `FAMILY`, one for each word.
    texts (tuple[str, ...]): As first written. gender (str): From a title, or "". also (tuple[str, ...]): Further given names, folded, which no
    document need show: of a class list. handles (tuple[str, ...]): User names, folded, from there too."""

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    gender: str = ""
    also: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()

    def first(self, kind: str) -> int | None:
        return self.kinds.index(kind) if kind in self.kinds else None


class Links(NamedTuple):
    """Whose names the mentions are. people (list[Person]): In order of first mention. owners (list[int]): Place of each one's person; -1: none.
    places (list[tuple[int, ...]]): For each mention, which word of its person each of its words is."""

    people: list[Person]
    owners: list[int]
    places: list[tuple[int, ...]]


def link(mentions: Sequence[Mention]) -> Links:
    """RETURNS (Links): Who is named, by the names alone. mentions (Sequence[Mention]): In the order of the text."""
    people, matches = _people(mentions)
    return _ordered(mentions, people, _assign(mentions, people, matches))


def links_of(mentions: Sequence[Mention], persons: Sequence[int | None]) -> Links:
    """The people of a document whose names were linked before, as `pii_context` did.

    mentions (Sequence[Mention]): In the order of the text. persons (Sequence[int | None]): Equal numbers are one person; None for a mention
        that was not linked: it goes to who has that name.
    RETURNS (Links): The people with the fullest of their forms."""
    if all(person is None for person in persons):
        return link(mentions)
    fullest: dict[int, Mention] = {}
    for mention, number in zip(mentions, persons, strict=True):
        if number is not None and mention.form.norms:
            best = fullest.get(number)
            if best is None or _rank(mention.form) < _rank(best.form):
                fullest[number] = mention
    places_in = {number: n for n, number in enumerate(fullest)}
    among = Among(_agree([_person(mention.words) for mention in fullest.values()]))
    owners: list[int] = []
    for mention, number in zip(mentions, persons, strict=True):
        owner = places_in.get(number, -1) if number is not None and mention.form.norms else -1
        if owner < 0 and mention.form.norms:
            fit = among.matches(mention.form)
            owner = max(fit, key=lambda n: fit[n][0]) if fit else len(among.people)
            if not fit:
                among.add(_person(mention.words))
        owners.append(owner)
    return _ordered(mentions, among.people, owners)


def fits(person: Person, people: "Iterable[Person] | Among") -> list[int]:
    """RETURNS (list[int]): Places of those of other documents who a person may be, the likeliest only; where two are as likely, nobody knows."""
    among = people if isinstance(people, Among) else Among(people)
    for n, other in enumerate(among.people):
        if other.words == person.words:
            return [n]
    kinds = person.kinds if len(person.words) > 1 else (LONE,)
    found = among.matches(Form(person.words, kinds, _initials(person)))
    best = max((score for score, _ in found.values()), default=0)
    return [n for n, (score, _) in found.items() if score == best]


def _initials(person: Person) -> tuple[bool, ...]:
    return tuple(
        [len(w) == 1 and text.isascii() for w, text in zip(person.words, person.texts, strict=True)]
    )


def link_people(people: Iterable[Person]) -> list[Person]:
    """The people of several documents, found in each of them. RETURNS (list[Person]): Sorted, the fullest form of each; the order of those given
    does not matter. Who may be two of the others stays alone."""
    alike: dict[tuple[str, ...], list[Person]] = {}
    for person in people:
        if not all(_initials(person)):
            alike.setdefault(person.words, []).append(person)
    found = Among()
    genders: list[set[str]] = []
    for words in sorted(
        alike, key=lambda words: (-_initials(alike[words][0]).count(False), -len(words), words)
    ):
        # Of "JOSE" and "José" the last one in the order of Unicode: small letters, with accents.
        texts = tuple(
            max(options) for options in zip(*(p.texts for p in alike[words]), strict=True)
        )
        person = Person(words, min(p.kinds for p in alike[words]), texts)
        who = fits(person, found)
        if len(who) != 1:
            who = [len(found.people)]
            found.add(person)
            genders.append(set())
        genders[who[0]].update(p.gender for p in alike[words] if p.gender)
    told = [
        p._replace(gender=next(iter(g)) if len(g) == 1 else "")
        for p, g in zip(found.people, genders, strict=True)
    ]
    return sorted(_agree(told))


def _ordered(mentions: Sequence[Mention], people: Sequence[Person], found: Sequence[int]) -> Links:
    places = [
        places_of(m, people[o]) if o >= 0 else () for m, o in zip(mentions, found, strict=True)
    ]
    seen = {old: new for new, old in enumerate(dict.fromkeys([o for o in found if o >= 0]))}
    owners = [seen[o] if o >= 0 else -1 for o in found]
    ordered = [people[old] for old in seen]
    for mention, owner in zip(mentions, owners, strict=True):
        if mention.gender and owner >= 0 and not ordered[owner].gender:
            ordered[owner] = ordered[owner]._replace(gender=mention.gender)
    return Links(ordered, owners, places)


class Among:
    """People, asked by a word of a name: who may have it, in any form that `match_form` takes. Most names are somebody else's."""

    def __init__(self, people: Iterable[Person] = ()) -> None:
        self.people: list[Person] = []
        self._by_word: dict[str, list[int]] = {}
        for person in people:
            self.add(person)

    def add(self, person: Person) -> None:
        keys = set[str]()
        for word in person.words + person.also:
            starts = [word[:n] for n in range(1, min(len(word), _MOST_LETTERS))]
            keys.update(starts, one_left(word))
        for key in keys:
            self._by_word.setdefault(key, []).append(len(self.people))
        self.people.append(person)

    def near(self, form: Form) -> list[int]:
        """RETURNS (list[int]): Places of those who may have a name, in order: by the word of it that fewest have."""
        found = []
        for word in form.norms:
            others = {*nicknames().get(word, ()), *nicknames_of(word), *one_left(word)}
            found.append([self._by_word.get(key, ()) for key in others])
        fewest = min(found, key=lambda lists: sum(map(len, lists)), default=[])
        return sorted({place for places in fewest for place in places})

    def matches(self, form: Form) -> dict[int, Match]:
        """RETURNS (dict[int, Match]): Place of a person who may have the name -> how it fits them, in order."""
        tried = ((n, match_person(form, self.people[n])) for n in self.near(form))
        return {n: match for n, match in tried if match}


def one_left(word: str) -> set[str]:
    """RETURNS (set[str]): A word, and itself without one letter: of two that are one slip apart, one of these is the same."""
    long = TYPO_LENGTH - 1 <= len(word) <= _MOST_LETTERS
    return {word, *(word[:n] + word[n + 1 :] for n in range(len(word) if long else 0))}


def _people(mentions: Sequence[Mention]) -> tuple[list[Person], list[dict[int, Match]]]:
    # What is written alike belongs to the same people, and is looked at once: forms are asked for by number from here on.
    first: dict[Form, Mention] = {}
    for mention in mentions:
        first.setdefault(mention.form, mention)
    # Of two spellings of one name, the one that the table knows is the name. Numbers follow the text.
    ranked = sorted([(*_rank(form), number) for number, form in enumerate(first)])
    forms, among = list(first), Among()
    for *_, number in ranked:
        if forms[number].norms and not among.matches(forms[number]):
            among.add(_person(first[forms[number]].words))
    among.people = _agree(among.people)  # other kinds, the same words
    matches = {form: among.matches(form) for form in forms}
    return among.people, [matches[mention.form] for mention in mentions]


def _rank(form: Form) -> tuple[int, int, int]:
    norms = form.norms
    size = len(norms)
    return (
        (sum(form.initials) if True in form.initials else 0) - size,
        -size,
        size - sum([in_table(word) for word in norms]),
    )


def _person(words: Sequence[Word]) -> Person:
    kinds = _kinds(words) if words else ()
    return Person(tuple(w.norm for w in words), kinds, tuple(w.text for w in words))


def spell_initials(mentions: Sequence[Mention]) -> list[Mention]:
    """RETURNS (list[Mention]): The mentions, "ML" as two initials where a Maria Lopez is mentioned too."""
    initials = {"".join([n[0] for n in m.form.norms]) for m in mentions if len(m.words) > 1}
    found: list[Mention] = []
    for mention in mentions:
        word = mention.words[0] if len(mention.words) == 1 else None
        if word and word.text.isascii() and word.text.isupper() and word.norm in initials:
            letters = (
                Word(word.start + i, word.start + i + 1, ch, ch.lower(), LONE)
                for i, ch in enumerate(word.text)
            )
            mention = Mention.of(mention.text, letters, mention.gender)
        found.append(mention)
    return found


def _kinds(words: Sequence[Word]) -> tuple[str, ...]:
    table = name_table()
    if len(words) == 1 and words[0].kind == LONE:
        return (FAMILY if table.leaning(words[0].norm) == "surname" else GIVEN,)
    kinds = tuple([FAMILY if w.kind == FAMILY else GIVEN for w in words])
    if len(words) == 1 or kinds[0] != GIVEN or table.leaning(words[0].norm) != "surname":
        return kinds
    if kinds == (GIVEN, FAMILY) and table.leaning(words[1].norm) == "given":
        return (FAMILY, GIVEN)
    if not FAMILY_FIRST.isdisjoint(table.regions(words[0].norm)) and (
        table.rarity_of_surname(words[0].norm) < table.rarity_of_surname(words[-1].norm)
    ):
        return (FAMILY, *[GIVEN] * (len(words) - 1))
    return kinds


def _agree(people: list[Person]) -> list[Person]:
    """The people, with a surname that two of them share as a surname in both, where the table alone would tell it from one only:
    "Diep Chien" and "Diep Hoang" are brothers."""
    if len(people) < 2:
        return people
    counts = Counter(
        word for p in people for word, kind in zip(p.words, p.kinds, strict=True) if kind == FAMILY
    )
    agreed = []
    for p in people:
        if len(p.words) == 2 and p.kinds[0] != p.kinds[1]:
            own, other = p.kinds.index(FAMILY), p.kinds.index(GIVEN)
            if counts[p.words[other]] > 0 and counts[p.words[own]] == 1:
                p = p._replace(kinds=p.kinds[::-1])
        agreed.append(p)
    return agreed


def _assign(
    mentions: Sequence[Mention], people: Sequence[Person], matches: Sequence[Mapping[int, Match]]
) -> list[int]:
    """Of each mention the person whom it fits best; of several, who was mentioned last before it, or next."""
    options: list[list[int]] = []
    for mention, tried in zip(mentions, matches, strict=True):
        best = 0
        fits: list[int] = []
        for p, match in tried.items():
            wrong = mention.gender and _wrong_gender(mention, people[p])
            score = match[0] - 15 if wrong else match[0]
            if not fits or score > best:
                best, fits = score, [p]
            elif score == best:
                fits.append(p)
        options.append(fits)
    owners = [o[0] if len(o) == 1 else -1 for o in options]
    for i, fits in enumerate(options):
        if len(fits) > 1:
            before = [owners[j] for j in range(i - 1, -1, -1) if owners[j] in fits]
            after = [owners[j] for j in range(i + 1, len(mentions)) if owners[j] in fits]
            owners[i] = (before + after + fits)[0]
    return owners


def _wrong_gender(mention: Mention, person: Person) -> bool:
    place = person.first(GIVEN)
    gender = name_table().gender(person.words[place]) if place is not None else None
    return bool(mention.gender and gender and gender != mention.gender)


def places_of(mention: Mention, person: Person) -> tuple[int, ...]:
    """RETURNS (tuple[int, ...]): For each word of a mention, which word of its owner it is."""
    norms = mention.form.norms
    if norms == person.words and len(set(norms)) == len(norms):
        return tuple(range(len(norms)))
    match = match_person(mention.form, person)
    return match[1] if match else ()
