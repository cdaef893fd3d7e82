"""A piece of the normalised text, and what its digits or its host may be.

    >>> from pii_components.ruler.shapes import is_date, is_years, split_host
    >>> is_years("2018-2019"), is_date("20190512"), split_host("blog.uni.edu.in")
    (True, True, ('blog', 'uni', 'edu.in'))

The plain questions behind validators.py and urls.py. The list of public suffixes is the one inside tldextract: no network, no
cache folder, imported when first needed. All offsets are end exclusive.
"""

import os
import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from spacy.tokens import Doc, Span

from ..names.normalize import NormalizedView
from ..spans import Candidate

_PUBLICATION = re.compile(
    r"(?i)(?:isbn|issn|doi|arxiv|pmid|pmcid|asin|ean|issue|vol(?:ume)?|pp?\.)[\s:.#(-]*(?:1[03])?[\s:()-]*$"
)
_DATE_WORD = re.compile(r"(?i)(?<![^\W_])(?:date|dated|datum|fecha)\s?[:\-–=.]*\s*$")


@dataclass(frozen=True, slots=True)
class Hit:
    """Characters start to end of the normalised text.

    score (float): 0 to 1. cue (str): What the expression matched before the piece.
    """

    text: str
    start: int
    end: int
    score: float = 1.0
    cue: str = ""

    @property
    def value(self) -> str:
        """RETURNS (str): The piece itself."""
        return self.text[self.start : self.end]

    def before(self, n: int = 40) -> str:
        """RETURNS (str): At most n characters before the piece."""
        return self.text[max(0, self.start - n) : self.start]

    def cut(self, start: int, end: int) -> "Hit":
        """RETURNS (Hit): A part of the piece, by offsets within it."""
        return replace(self, start=self.start + start, end=self.start + end)


@dataclass(frozen=True, slots=True)
class Context:
    """What a validator may know beside the hit.

    regions (tuple[str, ...]): Countries whose national numbers count, as two letters.
    names (tuple[tuple[int, int], ...]): Where names were found in the normalised text.
    """

    regions: tuple[str, ...] = ("US",)
    names: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A document with its normalised view."""

    doc: Doc
    view: NormalizedView

    def tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """RETURNS (tuple[int, int] | None): The tokens that a piece of the normalised text touches."""
        first, last = self.view.to_original(start, end)
        span = self.doc.char_span(first, last, alignment_mode="expand") if first < last else None
        return (span.start, span.end) if span is not None and len(span) else None

    def chars(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): Characters of the normalised text that tokens start to end cover."""
        span = self.doc[start:end]
        return self.view.from_original(span.start_char, span.end_char)

    def hit(self, candidate: Candidate) -> Hit:
        """RETURNS (Hit): A candidate as a piece of the normalised text."""
        return Hit(self.view.text, *self.chars(candidate.start, candidate.end), candidate.score)

    def found(self, start: int, end: int, label: str, score: float, source: str, reason: str) -> list[Candidate]:
        """RETURNS (list[Candidate]): The tokens that characters of the normalised text touch, with a label; one, or none without tokens."""
        tokens = self.tokens(start, end)
        return [Candidate(*tokens, label, score, source, reason)] if tokens else []


def whole_tokens(doc: Doc, start: int, end: int) -> Span | None:
    """RETURNS (Span | None): The tokens of these characters of the document; None, if letters or digits of a token lie outside."""
    span = doc.char_span(start, end, alignment_mode="expand")
    beside = "" if span is None else doc.text[span.start_char : start] + doc.text[end : span.end_char]
    return None if any(char.isalnum() for char in beside) else span


def count_digits(text: str) -> int:
    """RETURNS (int): Number of digits of any script."""
    return sum(char.isdigit() for char in text)


@cache
def _suffixes() -> Callable[[str], Any]:
    """The list of public suffixes as tldextract ships it, and those of RFC 2606 that examples have: no network, no cache folder."""
    os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")
    import tldextract

    return tldextract.TLDExtract(
        cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True, extra_suffixes=("example", "test", "invalid")
    )


def split_host(host: str) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): Subdomain, domain and public suffix; an empty suffix means that there is none such."""
    found = _suffixes()(host)
    return found.subdomain, found.domain, found.suffix


def is_date(value: str) -> bool:
    """RETURNS (bool): Whether the digits can be read as a day between 1900 and 2099, in any order."""
    groups = re.findall(r"\d+", value)
    if len(groups) == 1 and len(groups[0]) == 8:
        d = groups[0]
        orders = [(d[:4], d[4:6], d[6:]), (d[4:], d[2:4], d[:2]), (d[4:], d[:2], d[2:4])]
    elif len(groups) == 3 and {len(g) for g in groups} <= {1, 2, 4}:
        a, b, c = groups
        orders = [(a, b, c), (c, b, a), (c, a, b)]
    else:
        return False
    return any(_is_day(int("20" + year if len(year) == 2 else year), int(month), int(day)) for year, month, day in orders)


def _is_day(year: int, month: int, day: int) -> bool:
    return 1900 <= year <= 2099 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def is_dated(hit: Hit) -> bool:
    """RETURNS (bool): Whether six or eight digits in a row are a day, since a word right before them says so: "Date: 140319"."""
    value = hit.value
    if not re.fullmatch(r"\d{6}(?:\d\d)?", value) or not _DATE_WORD.search(hit.before(16)):
        return False
    return is_date(value) if len(value) == 8 else is_date(" ".join(re.findall("..", value)))


def is_years(value: str) -> bool:
    """RETURNS (bool): Whether the piece is a year or a range of years."""
    return re.fullmatch(r"\(?(?:1[5-9]|20)\d\d\s?(?:[-/,]\s?(?:(?:1[5-9]|20)\d\d|\d\d)\)?)?\s?\.?", value.strip()) is not None


def is_publication(hit: Hit) -> bool:
    """RETURNS (bool): Whether an ISBN, ISSN, DOI or another number of a publication is meant."""
    if _PUBLICATION.search(hit.before()) or re.search(r"10\.\d{4,9}/\S*$", hit.before(80)):
        return True
    digits = re.sub(r"\D", "", hit.value)
    if len(digits) == 13 and digits[:3] in ("978", "979"):
        return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0
    return False


def is_amount(hit: Hit) -> bool:
    """RETURNS (bool): Whether money, a share or a formula is meant."""
    after = hit.text[hit.end : hit.end + 12]
    before = hit.before(6)
    return bool(
        re.search(r"(?:[$€£¥₹=*^<>]|(?:[\d)]|\b[A-Za-z])\s?/|\bUSD|\bEUR|\bRs\.?)\s?$", before)
        or re.match(r"\s?(?:%|[=*^<>]|(?:dollars|euros|people|million|billion|users|USD|EUR)\b)", after)
    )


class Intervals:
    """Stretches of text in any order, asked quickly. Overlapping ones become one."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def cover(self, start: int, end: int) -> bool:
        """RETURNS (bool): Whether one stretch holds all of start to end (exclusive)."""
        i = bisect_right(self._starts, start) - 1
        return i >= 0 and end <= self._ends[i]

    def touch(self, start: int, end: int) -> bool:
        """RETURNS (bool): Whether one stretch holds any of start to end (exclusive)."""
        i = bisect_right(self._ends, start)
        return i < len(self._starts) and self._starts[i] < end
