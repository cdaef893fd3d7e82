"""A document as `pii_context` reads it: words, lines, zones, and what stands beside each name.

    header          the lines before running text          By Ana Lopez
    bibliography    under "References", or in its form     Popper, K. (1959). The logic ...
    signoff         the short lines at the end             Best, / Ana

Words and text are normalised, and patterns see every name as one sign: "Ann, Ben and Carl (2014)" is "¤, ¤ and ¤ (2014)". Offsets are
those of the normalised text; candidates are tokens, so nobody needs the way back.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile

from spacy.attrs import SPACY
from spacy.tokens import Doc

from ..labels import BALANCED
from ..names import expression
from ..names.letters import per_batch
from ..names.normalize import is_invisible, is_ornament, normalize_token
from ..names.obfuscated import Obfuscated, find_obfuscated
from ..names.wordlists import story_pattern
from ..options import FROM_0, Limit, Settings, key
from ..spans import Candidate

__all__ = ["ContextSettings"]

MASK = "\ue0f0"  # private use: stands for a name in what patterns see
_BIBLIOGRAPHY = expression("cues/headings", "bibliography")
_AFTER_BIBLIOGRAPHY = expression("cues/headings", "after_bibliography")
_NUMBER = r"\W*(?:\[?\d{1,3}[\].)]*\s+)?"
_INITIALS = r"(?:,? (?:[A-Z]\.[ -]?){1,3})?"
_YEAR = r"(?:1[5-9]|20)\d\d"
_BIB_LINE = re.compile(
    # Last, I., & Last, I. (2010). Title    Last, First. "Title."
    rf"{_NUMBER}{MASK}{_INITIALS}(?:(?:, |,? and |,? & |,? &amp; |; |, \.\.\. ){MASK}{_INITIALS}|,? et al\.?)*[.,]?"
    rf" (?:\({_YEAR}[a-z]?[,)]|{_YEAR}[a-z]?[.,]|\(n\.d\.\)|[“\"«].{{3,160}}[.,]?[”\"»])"
    # Last, First. Title. Publisher, 2010
    rf"|{_NUMBER}{MASK}(?:, (?:ed|eds|trans)\.)?[.,] [^.]{{3,120}}\. (?:[^.:]{{2,60}}: )?[^.,]{{2,60}}, {_YEAR}"
)
_WORD = re.compile(r"[^\W\d_]+")
_HEADING = 60  # characters that no heading has


def is_running(line: str) -> bool:
    """RETURNS (bool): Whether a line is running text and not a heading, a label or a name."""
    lower = sum(word[0].islower() for word in _WORD.findall(line[:400]))
    stripped = line.rstrip()
    if lower >= 3 and (len(stripped) > 120 or stripped.endswith((".", "!", "?", ".”", '."'))):
        return True
    return lower >= 7 or (lower >= 4 and stripped.endswith(":"))


WINDOW = 130  # characters that a pattern sees on either side
CUT = "ǂ"  # a letter no one writes: says that the line goes on before the window, so that "^" does not match there


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name stands: its zones, its line and the line above as written, other names masked, at most `WINDOW` characters."""

    zones: frozenset[str]
    before: str
    after: str
    line_before: str


_SHARE: Limit = (lambda value: 0 <= value <= 1, "a number from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class ContextSettings(Settings):
    """Least probabilities, 0 to 1, per operating point of `pii_ner`; and what counts as the head and the end of a text.

    protect_recall (float): From here on a name is protected as a private person's, at the point `recall`.
    protect (float): The same at the point `balanced`.
    protect_precision (float): The same at the point `precision`.
    somebodys_recall (float): From here on a place, a school, a firm, a date or an age counts as somebody's, at the point `recall`.
    somebodys (float): The same at the point `balanced`.
    somebodys_precision (float): The same at the point `precision`.
    header_lines (int): Lines at the start of a text, at most, that may be its head.
    signoff_lines (int): Lines at its end that may be a signature.
    RAISES (PiiError): E650 for a value out of range."""

    protect_recall: float = key(0.15, limit=_SHARE)
    protect: float = key(0.25, limit=_SHARE)
    protect_precision: float = key(0.5, limit=_SHARE)
    somebodys_recall: float = key(0.15, limit=_SHARE)
    somebodys: float = key(0.3, limit=_SHARE)
    somebodys_precision: float = key(0.5, limit=_SHARE)
    header_lines: int = key(16, limit=FROM_0)
    signoff_lines: int = key(6, limit=FROM_0)

    def at(self, what: str, point: str) -> float:
        """RETURNS (float): A probability of these. what (str): `protect` or `somebodys`. point (str): An operating point of `pii_ner`."""
        name = what if point == BALANCED else f"{what}_{point}"
        return float(getattr(self, name))


class DocView:
    def __init__(self, doc: Doc, settings: ContextSettings) -> None:
        self.settings = settings
        self.doc, self.text = doc, doc.text
        self.words = [token.text for token in doc]
        spaces = doc.to_array([SPACY]).tolist()
        if not self.text.isascii():
            self.words = [word if word.isascii() else _shown(word) for word in self.words]
            self.text = "".join(
                word + " " if space else word
                for word, space in zip(self.words, spaces, strict=True)
            )
        ends = accumulate(
            len(word) + bool(space) for word, space in zip(self.words, spaces, strict=True)
        )
        self.starts: list[int] = [0, *ends][: len(self.words)]
        self.ends = [start + len(word) for start, word in zip(self.starts, self.words, strict=True)]
        lines = self.text.splitlines(keepends=True)
        self.line_starts: list[int] = [0, *accumulate(map(len, lines))][: len(lines)]
        shown = (len(line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")) for line in lines)
        self.lines = [
            (start, start + length) for start, length in zip(self.line_starts, shown, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def tells_a_story(self) -> bool:
        return story_pattern().search(self.text.lower()) is not None

    @cached_property
    def obfuscated(self) -> list[Obfuscated]:
        """RETURNS (list[Obfuscated]): Words that stand letter by letter."""
        return find_obfuscated(self.text, self.starts, self.ends)

    def marked(self, cands: Iterable[Candidate]) -> list[bool]:
        inside = [False] * len(self)
        for c in cands:
            inside[c.start : c.end] = [True] * (c.end - c.start)
        return inside

    def line_of(self, char: int) -> int:
        return max(bisect_right(self.line_starts, char) - 1, 0)

    def line(self, n: int) -> str:
        return self.text[slice(*self.lines[n])]

    @cached_property
    def filled(self) -> list[int]:
        return [n for n, (start, end) in enumerate(self.lines) if self.text[start:end].strip()]

    @cached_property
    def header(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): Lines before the first running text; of a text without any, the first five."""
        most = self.filled[: self.settings.header_lines]
        found = list(takewhile(lambda n: not is_running(self.line(n)), most))
        return frozenset(found if len(found) < len(most) else found[:5])

    @cached_property
    def signoff(self) -> frozenset[int]:
        most = list(reversed(self.filled))[: self.settings.signoff_lines]
        found = frozenset(takewhile(lambda n: not is_running(self.line(n)), most))
        return found - (self.header if len(self.filled) > 3 else frozenset())

    @cached_property
    def under_bibliography(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): Lines under a heading such as "References", up to a heading of another kind."""
        found, inside = set[int](), False
        for n in self.filled:
            line = self.line(n)
            is_short = len(line) < _HEADING
            if is_short and _BIBLIOGRAPHY.match(line):
                inside = True
                continue
            inside = inside and not (is_short and _AFTER_BIBLIOGRAPHY.match(line))
            if inside:
                found.add(n)
        return frozenset(found)

    def places(self, names: Sequence[Candidate]) -> list[Place]:
        """RETURNS (list[Place]): What stands beside each name. names (Sequence[Candidate]): Sorted, without overlaps."""
        spans = [(self.starts[c.start], self.ends[c.end - 1]) for c in names]
        lines = {self.line_of(start) for start, _ in spans}
        above = {
            n: self._masked(*self.lines[n], spans)[-WINDOW:]
            for n in map(self._above, lines)
            if n >= 0
        }
        return [self._place(c, spans, above) for c in names]

    def _above(self, n: int) -> int:
        at = bisect_right(self.filled, n - 1) - 1
        return self.filled[at] if at >= 0 else -1

    def _masked(self, start: int, end: int, spans: list[tuple[int, int]]) -> str:
        parts, at = [], start
        first = bisect_right(spans, (start, -1))
        if first and spans[first - 1][1] > start:
            first -= 1
        for a, b in spans[first:]:
            if a >= end:
                break
            if b > at:
                parts += [self.text[at : max(a, at)], MASK]
                at = b
        return "".join(parts) + self.text[at:end]

    def _place(
        self,
        name: Candidate,
        spans: list[tuple[int, int]],
        above: Mapping[int, str],
    ) -> Place:
        start, end = self.starts[name.start], self.ends[name.end - 1]
        n = self.line_of(start)
        low, high = self.lines[n]
        before = self._masked(max(low, start - WINDOW), start, spans)
        if low < start - WINDOW:
            before = CUT + before
        after = self._masked(end, min(high, end + WINDOW), spans) if end < high else ""
        zones = self._zones(n, before, after)
        return Place(zones, before, after, above.get(self._above(n), ""))

    def _zones(self, n: int, before: str, after: str) -> frozenset[str]:
        line = before + MASK + after
        alone = not _WORD.search(line)
        listed = n in self.under_bibliography and not (alone and n in self.filled[-3:])
        zones = {
            "header": n in self.header,
            "signoff": n in self.signoff,
            "bibliography": listed or _BIB_LINE.match(line) is not None,
            "quoted": (before.count('"') + before.count("“") - before.count("”")) % 2 == 1,
        }
        return frozenset(zone for zone, holds in zones.items() if holds)


@per_batch(4096)
def _shown(word: str) -> str:
    if is_ornament(word):
        return ""
    return (
        word
        if word.isspace() or len(word) == 1 and not word.isalnum() and not is_invisible(word)
        else normalize_token(word)
    )
