"""User names in lines of contact details, where no word says what they are.

    Ana Reyes | ana@example.org | anar97 | 555-0142        anar97: USERNAME

Such a line is a list: short parts between signs, one of them, or one of the next line, a detail that a rule or the model has found. In
running text nothing is found.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

from .labels import EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME
from .ruler_merge import Page
from .shapes import Intervals
from .spans import Candidate

SOURCE = "username-contact-line"
_DETAILS = (EMAIL, PHONE_NUM, ID_NUM, STREET_ADDRESS, URL_PERSONAL)
_LONGEST, _MOST_WORDS, _MOST_PARTS = 240, 8, 12
_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_SIGNS = re.compile(r"[;|•·]+|,(?=\s)|\s[-–—/]+(?=\s)|\t+|\s{2,}")  # noqa: RUF001
# Lower case before digits, or capitals inside, or joined by "_"; course codes (ENG101, Bio101) are none.
_NAME = re.compile(r"@?(?:[a-z]{2,20}[._]?[a-z]{0,20}\d{1,5}|[A-Z]?[a-z]+[A-Z][a-z]+\d{1,5}|[A-Za-z]{2,20}_[A-Za-z\d]{1,20})")
_COUNTED = frozenset(
    [
        "ap",
        "apt",
        "assignment",
        "autumn",
        "block",
        "box",
        "building",
        "cell",
        "ch",
        "chapter",
        "class",
        "course",
        "covid",
        "day",
        "draft",
        "essay",
        "ext",
        "fall",
        "fax",
        "fl",
        "flat",
        "floor",
        "form",
        "grade",
        "group",
        "home",
        "html",
        "lab",
        "lesson",
        "level",
        "lot",
        "mob",
        "mobile",
        "module",
        "mp",
        "no",
        "number",
        "page",
        "paper",
        "part",
        "period",
        "ph",
        "phone",
        "python",
        "question",
        "quiz",
        "rm",
        "room",
        "route",
        "seat",
        "section",
        "sem",
        "semester",
        "session",
        "spring",
        "st",
        "suite",
        "summer",
        "task",
        "team",
        "tel",
        "term",
        "test",
        "tower",
        "u",
        "unit",
        "ver",
        "version",
        "vol",
        "web",
        "week",
        "winter",
        "work",
        "year",
        "yr",
    ]
)


def in_contact_lines(page: Page, known: Sequence[Candidate]) -> list[Candidate]:
    """User names that only their place shows.

    page (Page): The document. known (Sequence[Candidate]): What rules and the model have found, of every label.
    RETURNS (list[Candidate]): Of what none of these touches.
    """
    text = page.view.text
    spans = [(*page.chars(c.start, c.end), c.label) for c in known]
    details = sorted(start for start, _, label in spans if label in _DETAILS)
    found: list[Candidate] = []
    if not details:
        return found
    taken = Intervals((start, end) for start, end, _ in spans)
    lines = [line.span() for line in _LINE.finditer(text)]
    told = [bisect_left(details, start) < bisect_left(details, end) for start, end in lines]
    lists = [_as_list(text, *line) if any(told[max(0, n - 1) : n + 2]) else [] for n, line in enumerate(lines)]
    for n, parts in enumerate(lists):
        beside = any(told[k] and (lists[k] or k == n) for k in range(max(0, n - 1), min(n + 2, len(lines))))
        for start, end in parts if beside else ():
            value = text[start:end]
            if _is_username(value) and not taken.touch(start, end):
                tokens = page.tokens(start, end)
                if tokens is not None:
                    found.append(Candidate(*tokens, USERNAME, 0.8, SOURCE, "user name: alone among contact details"))
    return found


def _as_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): The parts of a line that is a list of short ones; nothing for any other line."""
    parts = _parts(text, start, end) if end - start <= _LONGEST else []
    short = all(len(text[first:last].split()) <= _MOST_WORDS for first, last in parts)
    return parts if short and 2 <= len(parts) <= _MOST_PARTS else []


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): Characters, end exclusive, of what stands between the signs of a line, without white space."""
    ends = [(m.start(), m.end()) for m in _SIGNS.finditer(text, start, end)]
    firsts, lasts = [start, *(b for _, b in ends)], [*(a for a, _ in ends), end]
    parts = []
    for first, last in zip(firsts, lasts, strict=True):
        value = text[first:last]
        if value.strip():
            low = first + len(value) - len(value.lstrip())
            parts.append((low, low + len(value.strip())))
    return parts


def _is_username(value: str) -> bool:
    """Whether a part of a line has the form of a user name."""
    first = re.match(r"@?([^\W\d_]+)", value)
    return _NAME.fullmatch(value) is not None and first is not None and first[1].lower() not in _COUNTED
