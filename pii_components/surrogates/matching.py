"""Whether a mention's words are those of a person: as they are, as initials, as nicknames or with a slip of the pen.

    >>> from pii_components.surrogates.matching import match_form
    >>> from pii_components.surrogates.mentions import read_mention
    >>> match_form(read_mention("Lopez, M.").form, ("maria", "lopez"), ("given", "family"))
    (23, (1, 0))

A score tells good matches from doubtful ones: 20 for a word as it is, 8 for a nickname, 4 for a slip, 1 for an initial, and 2 more
for one of the right kind.
"""

from functools import cache, lru_cache
from importlib import resources
from operator import eq

from .mentions import Form
from .names import name_table
from .style import norm

# A score, and the place in a person of each word of a mention.
Match = tuple[int, tuple[int, ...]]
# Shorter words with one letter changed are other names: Ana and Ann, Lee and Leo.
TYPO_LENGTH = 5


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


def match_form(form: Form, full: tuple[str, ...], full_kinds: tuple[str, ...]) -> Match | None:
    """How a mention's words are those of a person.

    form (Form): Of the mention. full (tuple[str, ...]), full_kinds (tuple[str, ...]): The person's words and their kinds.
    RETURNS (tuple | None): A score, and the place in the person of each word; None if some word is not theirs.
    """
    norms, kinds, initials = form
    if norms == full and (len(norms) == 1 or len(set(norms)) == len(norms)) and True not in initials:
        return 20 * len(norms) + 2 * sum(map(eq, kinds, full_kinds)), tuple(range(len(norms)))
    # Most names are somebody else's: seen at one of their words.
    for word in norms:
        if word not in full and not _is_like_one_of(word, full):
            return None
    if True not in initials and all([full.count(word) == 1 for word in norms]):
        # Each is one of the person's words as it is, and no two are the same one.
        found = tuple([full.index(word) for word in norms])
        if len(set(found)) == len(found):
            return sum([22 if full_kinds[p] == kind else 20 for p, kind in zip(found, kinds, strict=True)]), found
    lone = len(norms) == 1
    places: dict[int, int] = {}
    score = 0
    free = list(range(len(full)))
    for exact in (True, False):
        for i, word in enumerate(norms):
            if i in places or initials[i]:
                continue
            options = [p for p in free if (full[p] == word if exact else _is_nick(word, full[p], lone=lone))]
            if options:
                same = [p for p in options if full_kinds[p] == kinds[i]]
                places[i] = (same or options)[0]
                free.remove(places[i])
                score += (20 if exact else 8) + (2 if same else 0)
        if len(places) == len(norms):
            return score, tuple([places[i] for i in range(len(norms))])
    if not lone and len(norms) == len(full) and all(initials):
        # Initials alone, in the order of the name, whatever kinds they look like: "H.H." is Hoang Hien.
        in_order = all(whole.startswith(letter) for letter, whole in zip(norms, full, strict=True))
        return (len(norms), tuple(range(len(norms)))) if in_order else None
    for i, word in enumerate(norms):
        if i not in places and initials[i]:
            options = [p for p in free if full[p].startswith(word)]
            same = [p for p in options if full_kinds[p] == kinds[i]]
            if options:
                places[i] = (same or options)[0]
                free.remove(places[i])
                score += 1
    for i, word in enumerate(norms):
        if i not in places and not initials[i]:
            slips = [p for p in free if is_typo(word, full[p], alone=lone)]
            if slips:
                places[i] = slips[0]
                free.remove(slips[0])
                score += 4
    if len(places) < len(norms):
        return None
    if not lone and all(initials) and (places[0], places[len(norms) - 1]) != (0, len(full) - 1):
        return None
    return score, tuple([places[i] for i in range(len(norms))])


def _is_like_one_of(word: str, full: tuple[str, ...]) -> bool:
    """RETURNS (bool): Whether a word may stand for one of a person's: its beginning, a nickname, a slip."""
    nicks, size = nicknames(), len(word)
    stands_for = nicks.get(word, ())
    for other in full:
        if other.startswith(word) or other in stands_for or word in nicks.get(other, ()):
            return True
        if size >= TYPO_LENGTH and -2 < size - len(other) < 2 and is_typo(word, other):
            return True
    return False


def _is_nick(word: str, full: str, *, lone: bool) -> bool:
    """RETURNS (bool): Whether a word is a nickname of a given name; alone, also its beginning ("Nat" for Nathaniel)."""
    nicks = nicknames()
    if full in nicks.get(word, ()) or word in nicks.get(full, ()):
        return True
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


@lru_cache(maxsize=4096)
def _is_slip(word: str, other: str, alone: bool) -> bool:
    from rapidfuzz.distance import OSA

    if OSA.distance(word, other, score_cutoff=1) != 1:
        return False
    known = is_known(word) + is_known(other)
    return known == 1 if alone else known < 2


@lru_cache(maxsize=4096)
def is_known(word: str) -> bool:
    """RETURNS (bool): Whether the table has a word, as a given name or a surname."""
    table = name_table()
    return table.is_given(word) or table.is_surname(word)
