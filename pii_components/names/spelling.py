"""Names that are written wrong: which word of a text is another one with a slip in it.

respell(forms)                # "Okaofr" as "Okafor", where that stands in the same text
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from rapidfuzz.distance import OSA

from .parse import Form
from .wordlists import in_table
from .wordlists import words as word_lists

_LEAST, _WHOLE, _LONG = 4, 5, 8  # letters of the word, of the longer of both, and of one that may have two slips
_MOST = 30  # letters of a name that is compared with others: each has half the square of that many neighbours
_SHORT = 5  # letters of a word that only a full name or a known one explains: any five letters are near some name


def respell(forms: Sequence[Form]) -> list[Form]:
    """RETURNS (list[Form]): All forms of a text; a word that is no known name and one slip away from one other word of the names (two,
    from eight letters on) as that word. Which of two is right is told by the table, then by how often each stands there."""
    count = Counter(word for form in forms for word in form.words)
    doubtful = [word for word in count if is_doubtful(word)]
    if not doubtful or len(count) < 2:
        return list(forms)
    in_full = {word for form in forms if form.full for word in form.words}
    meant: dict[str, str] = {}
    # Those that are most likely right first; a word follows one that stands, never one that follows another.
    order = sorted(count, key=lambda word: (is_doubtful(word), -count[word], word not in in_full))
    rank = {word: n for n, word in enumerate(order)}
    alike = by_letters_left(word for word in order if _LEAST <= len(word) <= _MOST and _is_name(word))
    for word in sorted(doubtful, key=lambda word: rank[word]):
        near = {
            other
            for letters in letters_left(word)
            for other in alike.get(letters, ())
            if rank[other] < rank[word]
            and other not in meant
            and (other in in_full or in_table(other) or len(word) > _SHORT)
            and is_slip(word, other)
        }
        if len(near) == 1:
            meant[word] = near.pop()
    if not meant:
        return list(forms)
    return [form._replace(norms=tuple(meant.get(word, word) for word in form.norms)) for form in forms]


def is_doubtful(word: str) -> bool:
    """RETURNS (bool): Whether a folded word may be a misspelt name: no known one, and no English word of the list."""
    return _LEAST <= len(word) <= _MOST and word.isalpha() and not in_table(word) and not word_lists().is_common(word)


def _is_name(word: str) -> bool:
    return in_table(word) or not word_lists().is_common(word)


def letters_left(word: str) -> set[str]:
    """RETURNS (set[str]): A word with as many letters out as it may have slips, or fewer: of two that are that near one of these is the same
    (the deletions of SymSpell)."""
    slips = 1 + (len(word) + 2 >= _LONG)
    return {"".join(kept) for out in range(slips + 1) for kept in combinations(word, len(word) - out)}


def by_letters_left(names: Iterable[str]) -> dict[str, list[str]]:
    """RETURNS (dict[str, list[str]]): Each of the `letters_left` of the names -> those names."""
    found: dict[str, list[str]] = {}
    for name in names:
        for letters in letters_left(name):
            found.setdefault(letters, []).append(name)
    return found


def is_slip(word: str, other: str) -> bool:
    """RETURNS (bool): Whether one can be the other with a letter changed, dropped, added or two swapped; with two of these in long ones."""
    longer = max(len(word), len(other))
    if min(len(word), len(other)) < _LEAST or longer < _WHOLE or not {word[0], word[1]} & {other[0], other[1]}:
        return False
    slips = 1 + (longer >= _LONG)
    return OSA.distance(word, other, score_cutoff=slips) <= slips
