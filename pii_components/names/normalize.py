"""The text as a reader sees it: what hides or imitates a letter is undone, and every character knows where it came from.

    >>> from pii_components.names.normalize import NormalizedView, normalize_token
    >>> normalize_token("Ma\\u200bri\\u00ada"), normalize_token("\\uff21na"), normalize_token("R\\u0430mos")
    ('Maria', 'Ana', 'Ramos')
    >>> view = NormalizedView("to \\uff41na\\uff20x\\uff0eorg")
    >>> view.text, view.to_original(3, 12)
    ('to ana@x.org', (3, 12))

NFKC; characters that show nothing are dropped; typographic quotes and dashes become ASCII; inside a word that holds Latin letters, Cyrillic
and Greek look-alikes become Latin. Letters keep accents and case: both say something about a name.
"""

import re
import unicodedata
from bisect import bisect_right

from .letters import per_batch

# Quotes and dashes that differ only in looks.
_SIGNS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u02b9\u2032\u00b4\u0060\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
}
# One table of what shows nothing. Part of a set of a pattern: soft hyphen, zero-width spaces and joiners, direction marks, byte order mark.
INVISIBLE = r"\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
INSIDE_WORD = (
    "\u00ad\u200c\u200d"  # soft hyphen and joiners, which a writer may have put into a word
)
# What shows nothing and is not of category Cf: grapheme joiner, Hangul and Khmer fillers, Mongolian selectors.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\u2065")
# Letters of other scripts drawn like a Latin one (Unicode TR39 confusables, the letters among them).
_CYRILLIC = dict(
    zip("АВСЕНІЈКМОРЅТУХасеіјорѕухһԁԛԝӏ", "ABCEHIJKMOPSTYXaceijopsyxhdqwl", strict=True)
)
_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυικ", "ABEZHIKMNOPTYXavopuik", strict=True))
_LOOK_ALIKES = {**_CYRILLIC, **_GREEK}
# Signs of Chinese writing drawn like a letter; in small writing where the letter before is small.
_SIGNS_HAN = dict(zip("口囗丨丅彐亅卄工凵乂", "OOITEJHIUX", strict=True))
_VOWELS = "aeiouyAEIOUYàáâãäåèéêëìíîïòóôõöùúûü口囗彐"
# With the ASCII character before, on which a mark may sit.
_BEYOND_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_WORD = re.compile(r"[^\W\d_]+(?:[\u0300-\u036f][^\W\d_]*)*")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ORNAMENT = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\u200d\ufe0e\ufe0f\u20e3]+")
_MARKS = re.compile(r"@{2,4}|#{2,4}")
_FOREIGN = re.compile(rf"[\u0370-\u03ff\u0400-\u052f{''.join(_SIGNS_HAN)}]")


def is_invisible(char: str) -> bool:
    """RETURNS (bool): Whether the character shows nothing and is no white space."""
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return selector or char in _FILLERS or unicodedata.category(char) == "Cf"


def is_ornament(text: str) -> bool:
    """RETURNS (bool): Whether a token is emoji, stars or dingbats and nothing else: "🌸" beside a name says nothing about it."""
    return _ORNAMENT.fullmatch(text) is not None


def _fold(piece: str) -> str:
    if piece.isascii():
        return "'" if piece == "`" else piece
    return _shown(unicodedata.normalize("NFKC", _shown(piece)))


def _shown(text: str) -> str:
    return "".join(_SIGNS.get(char, char) for char in text if not is_invisible(char))


def _latin_for(word: str) -> str:
    """A word with its look-alikes as Latin letters; an upright stroke is an i among consonants, else an l."""
    out: list[str] = []
    for i, char in enumerate(word):
        if char not in _SIGNS_HAN:
            out.append(_LOOK_ALIKES.get(char, char))
        elif not out or not (out[-1].islower() or (i == 1 and any(c.islower() for c in word))):
            out.append(_SIGNS_HAN[char])
        elif char == "丨":
            out.append("l" if out[-1] in _VOWELS or word[i + 1 : i + 2] in tuple(_VOWELS) else "i")
        else:
            out.append(_SIGNS_HAN[char].lower())
    return "".join(out)


def _latinize(text: str) -> str:
    if not _FOREIGN.search(text):
        return text

    def word(match: re.Match[str]) -> str:
        found = match.group()
        return _latin_for(found) if _LATIN.search(found) and _FOREIGN.search(found) else found

    return _WORD.sub(word, text)


def _joins(char: str) -> bool:
    return (
        not char.isascii()
        and (unicodedata.combining(char) > 0 or "\u1161" <= char <= "\u11ff")
        and not is_invisible(char)
    )


def _pieces(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for i, char in enumerate(text):
        if not _joins(char):
            found.append((i, i + 1))
            continue
        base = len(found) - 1
        while base >= 0 and is_invisible(text[found[base][0]]):
            base -= 1
        if base < 0 or text[found[base][0]].isspace():
            found.append((i, i + 1))
        else:
            found[base:] = [(found[base][0], i + 1)]
    return found


@per_batch(16384)
def normalize_token(text: str) -> str:
    """RETURNS (str): A token normalised, for encoders; empty, where it holds nothing that shows. Signs that mark a name for a program,
    "@@" and "##", are a quote, which an encoder has seen around names of every kind."""
    if _MARKS.fullmatch(text):
        return '"'
    if text.isascii():
        return text.replace("`", "'")
    return _latinize("".join(_fold(text[start:end]) for start, end in _pieces(text)))


class NormalizedView:
    """A text (`source`) with what hides or imitates letters undone (`text`), and the way back."""

    __slots__ = ("_ends", "_starts", "source", "text")

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts: list[int] | None = None
        self._ends: list[int] | None = None
        if source.isascii():
            self.text = source.replace("`", "'")
            return
        chars, starts, ends, done = "", list[int](), list[int](), 0
        for run in (*_BEYOND_ASCII.finditer(source), None):
            at = run.start() if run else len(source)
            chars += source[done:at]
            starts.extend(range(done, at))
            ends.extend(range(done + 1, at + 1))
            for first, last in _pieces(run.group()) if run else ():
                folded = _fold(source[at + first : at + last])
                chars += folded
                starts.extend([at + first] * len(folded))
                ends.extend([at + last] * len(folded))
            done = run.end() if run else at
        # Look-alikes are replaced one for one, so the lists stay in step.
        self.text = _latinize(chars.replace("`", "'"))
        self._starts, self._ends = starts, ends

    def __len__(self) -> int:
        return len(self.text)

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): Characters of `source`, end exclusive, for a piece of `text`. An empty piece gives an empty piece."""
        if self._starts is None or self._ends is None:
            return start, end
        if start >= end:
            at = self._starts[start] if start < len(self._starts) else len(self.source)
            return at, at
        return self._starts[start], self._ends[end - 1]

    def from_original(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): Characters of `text`, end exclusive, that cover a piece of `source`; empty, where nothing shows."""
        if self._starts is None or self._ends is None:
            return start, end
        first = bisect_right(self._ends, start)
        last = max(first, bisect_right(self._starts, end - 1)) if end > start else first
        return first, last
