"""Details that were hidden from programs on purpose: nothing that shows between all their letters, full-width digits in an English text.

    W<U+200B>H<U+200B>-<U+200B>6<U+200B>0<U+200B>3<U+200B>1<U+200B>8     ID_NUM        ６０３１８－Ｑ     ID_NUM

Who does so hides one value, from where it begins to where it ends: the whole stretch is one detail, whatever pieces a detector saw in it.
What a rule or the model called a piece says what it is, else its form does; letters alone may be a name and are left to who knows names.
"""

import re
from collections.abc import Iterator, Sequence

from .labels import EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME, is_name
from .ruler_merge import Page
from .shapes import Context, Hit, is_amount, is_date, is_publication, is_years
from .spans import Candidate
from .validators import VALIDATORS

SOURCE = "hidden"
_NOTHING = "\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff"
# Nothing between all characters, four in a row at least.
_BETWEEN = re.compile(rf"[^\s{_NOTHING}](?:[{_NOTHING}]{{1,3}}[^{_NOTHING}]){{4,}}")
_WIDE = re.compile(r"[\uff01-\uff5e](?:\u3000?[\uff01-\uff5e]){3,40}")
_WIDE_DIGIT = re.compile(r"[\uff10-\uff19]")
_LEAST_DIGITS = 5
_SCORE = 0.8
_KNOWN = (EMAIL, URL_PERSONAL, PHONE_NUM, ID_NUM, STREET_ADDRESS, USERNAME)


def with_hidden(page: Page, candidates: Sequence[Candidate], regions: Sequence[str] = ()) -> list[Candidate]:
    """Make one detail of each stretch that was hidden on purpose.

    page (Page): The document. candidates (Sequence[Candidate]): What was found, sorted, without overlaps.
    regions (Sequence[str]): Countries whose national numbers count.
    RETURNS (list[Candidate]): The same, where what lies inside of a stretch gave way to the stretch; what reaches beyond it stays.
    """
    out = list(candidates)
    if page.doc.text.isascii():
        return out
    for low, high in _stretches(page.doc.text):
        span = page.doc.char_span(low, high, alignment_mode="expand")
        if span is None or any(
            char.isalnum() for char in page.doc.text[span.start_char : low] + page.doc.text[high : span.end_char]
        ):
            continue
        touched = [c for c in out if c.start < span.end and span.start < c.end]
        if any(c.start < span.start or c.end > span.end or (c.start, c.end) == (span.start, span.end) for c in touched):
            continue
        start, end = page.view.from_original(low, high)
        label = _label(Hit(page.view.text, start, end), touched, regions)
        if label:
            score = max([_SCORE, *(c.score for c in touched)])
            new = Candidate(span.start, span.end, label, score, SOURCE, "written so that no program shall read it")
            out = [c for c in out if c not in touched] + [new]
    return sorted(out, key=lambda c: c.start)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """YIELDS (tuple[int, int]): Characters, end exclusive, of what was hidden."""
    for match in _BETWEEN.finditer(text):
        if sum(char.isascii() and char.isalnum() for char in match.group()) >= 3:
            yield match.start(), match.start() + len(match.group().rstrip())
    for match in _WIDE.finditer(text):
        if len(_WIDE_DIGIT.findall(match.group())) >= _LEAST_DIGITS:
            yield match.start(), match.start() + len(match.group().rstrip("\uff0e\uff0c\u3000\uff1a\uff1b\uff01\uff1f"))


def _label(hit: Hit, touched: Sequence[Candidate], regions: Sequence[str]) -> str:
    """What a stretch is; empty for what may be a name, or anything."""
    value = hit.value
    digits = sum(char.isdigit() for char in value)
    best = max((c for c in touched if c.label in _KNOWN), key=lambda c: (c.end - c.start, c.score), default=None)
    if best is not None:
        return best.label
    if "@" in value:
        return EMAIL
    if "://" in value or "www." in value.lower():
        return URL_PERSONAL
    words = re.findall(r"[^\W\d_]{3,}", value)
    if digits >= _LEAST_DIGITS - 1 and len(words) < 2:
        if (
            is_date(value)
            or is_years(value)
            or is_amount(hit)
            or is_publication(hit)
            or re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d+[.,]\d+", value)
        ):
            return ""
        context = Context(regions=tuple(regions))
        return PHONE_NUM if VALIDATORS["phone"](hit, context) or re.match(r"\+|\(\d{2,3}\)", value) else ID_NUM
    if digits and len(words) >= 2:
        return STREET_ADDRESS
    named = any(is_name(c.label) for c in touched)
    return USERNAME if " " not in value and not named and (digits or "_" in value or "." in value or value.islower()) else ""
