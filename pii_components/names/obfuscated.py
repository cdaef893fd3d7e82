"""Words that stand letter by letter.

    A N A  L O P E Z      ->  ("ANA", "LOPEZ")
    L-O-P-E-Z, L.O.P.E.Z  ->  ("Lopez",) if a Lopez is named elsewhere

A reader sees a name there and a tokenizer does not.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

# Letters with one space between them; words are parted by a wider gap. A comma, an apostrophe or a hyphen may stand among them.
_LETTER = r"[^\W\d_]"
_SPACED_WORD = rf"{_LETTER}(?: [-'’.]? ?{_LETTER})+(?![^\W_])"
_SPACED = re.compile(
    rf"(?<![^\W_])(?<![^\W_]['’.-]){_SPACED_WORD}(?:(?: ?,)?[ \t\u00a0]{{2,4}}(?:{_SPACED_WORD}|{_LETTER}(?![^\W_])))*"
)
# "D-A-I-V-A", "N.U.G.E.E", "L, E, A": somebody spells it.
_SPELLED = re.compile(
    rf"(?<![^\W_])(?<![^\W_][-.])({_LETTER})([-.]|, ?){_LETTER}(?:\2{_LETTER})+(?![^\W_])(?!\2[^\W_])"
)
_SIGNS = re.compile(r"[-., ]")
_MOST_WORDS = 5


class Obfuscated(NamedTuple):
    """Tokens, end exclusive, that read as one or more words."""

    start: int
    end: int
    words: tuple[str, ...]


def find_obfuscated(text: str, starts: Sequence[int], ends: Sequence[int]) -> list[Obfuscated]:
    """RETURNS (list[Obfuscated]): Words that stand letter by letter, in order. starts, ends: of the tokens."""
    found = []
    for match in _SPACED.finditer(text):
        parts = re.split(r"\s{2,}|,", match.group())
        read = tuple(
            filter(None, ("".join(c for c in part if c.isalpha() or c in "-'’") for part in parts))
        )
        letters = "".join(c for part in read for c in part if c.isalpha())
        if len(letters) >= 3 and len(read) <= _MOST_WORDS and not _is_series(letters):
            found.append(_piece(match.start(), match.end(), read, starts, ends))
    for match in _SPELLED.finditer(text):
        letters = _SIGNS.sub("", match.group())
        # Letters of an abbreviation are none of a name: the word must stand elsewhere too.
        if re.search(rf"(?<![^\W_]){letters.capitalize()}(?![^\W_])", text):
            found.append(_piece(*match.span(), (letters.capitalize(),), starts, ends))
    return sorted(found, key=lambda piece: piece.start)


def _piece(
    low: int, high: int, read: tuple[str, ...], starts: Sequence[int], ends: Sequence[int]
) -> Obfuscated:
    start, end = bisect_left(starts, low), bisect_left(starts, high)
    # A token that begins before the piece holds it too.
    if start and ends[start - 1] > low:
        start -= 1
    return Obfuscated(start, end, read)


def _is_series(letters: str) -> bool:
    """Whether letters are a list ("A B C D", "x y z", "n n n") and not a word."""
    folded = letters.lower()
    steps = {ord(b) - ord(a) for a, b in zip(folded, folded[1:], strict=False)}
    return (
        len(steps) == 1
        or len(set(folded)) < 2 + (len(folded) > 4)
        or not re.search(r"[aeiouyà-ÿ]|[^\x00-\x7f]", folded)
    )
