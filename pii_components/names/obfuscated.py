"""Obfuscated names: letter by letter, torn at the end of a line, with digits for letters, in a script of their own.

    A N A  L O P E Z      ->  ("ANA", "LOPEZ")         Lo-\\npez  ->  ("Lopez",)
    L-O-P-E-Z, L.O.P.E.Z  ->  ("Lopez",) if a Lopez is named elsewhere
    4n4 L0p3z             ->  Ana Lopez                Ελένη Κωνσταντίνου, 李伟

A reader sees a name there and a tokenizer does not. Each function begins with one search that most texts do not pass. And with tokens that
are not ours a span may hold a part of a name only: "Okafor_2048", an ID number, with the given name before it (`write_found`).
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from .wordlists import case_style, in_table, words

# Letters with one space between them; words are parted by a wider gap. A comma, an apostrophe or a hyphen may stand among them.
_LETTER = r"[^\W\d_]"
_SPACED_WORD = rf"{_LETTER}(?: [-'’.]? ?{_LETTER})+(?![^\W_])"
_SPACED = re.compile(
    rf"(?<![^\W_])(?<![^\W_]['’.-]){_SPACED_WORD}(?:(?: ?,)?[ \t\u00a0]{{2,4}}(?:{_SPACED_WORD}|{_LETTER}(?![^\W_])))*"
)
_BROKEN = re.compile(
    r"(?<![^\W_])([^\W\d_]{2,})[-\u2010\u00ac][ \t]?\n[ \t]{0,4}([^\W\d_]{2,})(?![^\W_])"
)
# "D-A-I-V-A", "N.U.G.E.E", "L, E, A": somebody spells it.
_SPELLED = re.compile(
    rf"(?<![^\W_])(?<![^\W_][-.])({_LETTER})([-.]|, ?){_LETTER}(?:\2{_LETTER})+(?![^\W_])(?!\2[^\W_])"
)
_SPELLS = re.compile(rf"[-.,] ?{_LETTER}[-.,] ?{_LETTER}(?![^\W_])")
_SIGNS = re.compile(r"[-., ]")
_BETWEEN = ("-", "\u2010", "\u2011", ",")
# Begins with a sign that is quickly looked for.
_LETTERS_APART = re.compile(rf" {_LETTER} [-'’.]? ?{_LETTER}(?![^\W_])")
_DASH_AT_END = re.compile(r"[-\u2010\u00ac][ \t]?\n")
# From a digit to the end of its word; what stands before is looked at then, since few words have a digit.
_LEET = re.compile(r"[013457][A-Za-z][A-Za-z013457]*(?![\w@]|[./-]\w)")
_LEET_BEFORE = re.compile(r"(?<![\w@/.#+-])[A-Za-z013457]*\Z")
_DECODED = str.maketrans("013457", "oieast")
_LEET_WORD = re.compile(
    r"(?<![\w@/.#+])(?:(?<=[-_])|(?<!-))[^\W\d_]*[013457](?:[^\W\d_]|[013457])*(?![\w@]|[./]\w)"
)
_LEET_JOINTS = (" ", "-", "\n")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|[a-z]{1,2})", re.IGNORECASE)
_INSIDE = re.compile(r"[A-Za-z]\d+[A-Za-z]|\d[A-Za-z]+\d|^\d[A-Za-z]{3,}$")
_MOST_WORDS = 5


class Obfuscated(NamedTuple):
    """Tokens, end exclusive, that read as one or more words."""

    start: int
    end: int
    words: tuple[str, ...]

    @property
    def key(self) -> str:
        return "".join(self.words).lower()


def read_leet(text: str) -> dict[int, str]:
    """RETURNS (dict[int, str]): First character -> a word with digits for letters as it reads, of the same length, if that is a name; "3rd" and
    "Week1" are none. Where one is a known name, words written so beside it are names too, and so is what reads like a word of the text."""
    found: dict[int, str] = {}
    for match in _LEET.finditer(text):
        before = _LEET_BEFORE.search(text, max(0, match.start() - 24), match.start())
        if before is None or before.start() in found:
            continue
        word = text[before.start() : match.end()]
        if (
            not 3 <= len(word) <= 24
            or word.isdigit()
            or word.isalpha()
            or _ORDINAL.fullmatch(word)
            or not _INSIDE.search(word)
        ):
            continue
        plain = word.translate(_DECODED)
        upper = sum(c.isupper() for c in word) == sum(c.isalpha() for c in word)
        plain = plain.upper() if upper and sum(c.isalpha() for c in word) > 1 else plain
        plain = plain.capitalize() if word[0].isdigit() and not upper and len(word) <= 4 else plain
        if in_table(plain) and not words().is_common(plain):
            found[before.start()] = plain
    return found | _more_leet(text, found) if found else found


def _more_leet(text: str, known: dict[int, str]) -> dict[int, str]:
    """Further words of a text in which names are written with digits: neighbours of those that are known, repeated ones, or all of a kind."""
    read = []
    for match in _LEET_WORD.finditer(text):
        word = match.group()
        if match.start() in known or word.isdigit() or word.isalpha() or _ORDINAL.fullmatch(word):
            continue
        plain = word.translate(_DECODED)
        upper = sum(map(str.isupper, word)) == sum(map(str.isalpha, word)) > 1
        read.append((match.start(), match.end(), plain.upper() if upper else plain))
    found: dict[int, str] = {}
    ends = {at + len(word) for at, word in known.items()}
    starts = set(known)
    names = {word.lower() for word in known.values()}
    habit = len(names) > 1
    for _ in range(2):  # a neighbour of a neighbour
        for at, end, plain in read:
            left, right = text[at - 1 : at], text[end : end + 1]
            beside = (left in _LEET_JOINTS and at - 1 in ends) or (
                right in _LEET_JOINTS and end + 1 in starts
            )
            inside = _INSIDE.search(text[at:end]) is not None and _VOWEL.search(plain) is not None
            # "Week10" ends in digits; a name that does must be known.
            beside = beside and (inside or in_table(plain))
            shaped = inside and end - at > 3 and not words().is_common(plain)
            again = plain.lower() in names
            if at not in found and (again or beside or (habit and shaped)):
                found[at] = plain
                starts.add(at)
                ends.add(end)
                names.add(plain.lower())
    return found


def find_obfuscated(text: str, starts: Sequence[int], ends: Sequence[int]) -> list[Obfuscated]:
    """RETURNS (list[Obfuscated]): Words that stand letter by letter, or torn over two lines, in order. starts, ends: of the tokens."""
    found = []
    for match in _SPACED.finditer(text) if _LETTERS_APART.search(text) else ():
        parts = re.split(r"\s{2,}|,", match.group())
        read = tuple(
            filter(None, ("".join(c for c in part if c.isalpha() or c in "-'’") for part in parts))
        )
        letters = "".join(c for part in read for c in part if c.isalpha())
        if len(letters) >= 3 and len(read) <= _MOST_WORDS and not _is_series(letters):
            found.append(_piece(match.start(), match.end(), read, starts, ends))
    for match in _SPELLED.finditer(text) if _SPELLS.search(text) else ():
        letters = _SIGNS.sub("", match.group())
        # Letters of an abbreviation are none of a name: the word must stand elsewhere too.
        if re.search(rf"(?<![^\W_]){letters.capitalize()}(?![^\W_])", text):
            found.append(_piece(*match.span(), (letters.capitalize(),), starts, ends))
    for match in _BROKEN.finditer(text) if _DASH_AT_END.search(text) else ():
        one, two = match.groups()
        if case_style(two) == "lower" or case_style(one) == case_style(two) == "upper":
            found.append(_piece(match.start(), match.end(), (one + two,), starts, ends))
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


def rejoin(tokens: Sequence[str]) -> Sequence[str]:
    """RETURNS (Sequence[str]): Tokens of a name, what stands letter by letter (three or more) or torn over two lines joined to words."""
    if "\n" in tokens:
        at = tokens.index("\n")
        if 2 <= at < len(tokens) - 1 and tokens[at - 1] in ("-", "\u2010", "\u00ac"):
            return [*tokens[: at - 2], tokens[at - 2] + tokens[at + 1], *tokens[at + 2 :]]
    if (
        len(tokens) == 1 and len(tokens[0]) >= 7 and _SPELLED.fullmatch(tokens[0].rstrip("."))
    ):  # shorter ones are initials
        return [_SIGNS.sub("", tokens[0])]
    if sum(len(token) == 1 and token.isalpha() for token in tokens) < 3:
        return tokens
    found: list[str] = []
    run: list[str] = []
    for n, token in enumerate([*tokens, ""]):
        if len(token) == 1 and token.isalpha():
            run.append(token)
            continue
        if (
            token in _BETWEEN
            and run
            and n + 1 < len(tokens)
            and len(tokens[n + 1]) == 1
            and tokens[n + 1].isalpha()
        ):
            continue
        found += ["".join(run)] if run else []
        run = []
        if token and not token.isspace():
            found.append(token)
    return found
