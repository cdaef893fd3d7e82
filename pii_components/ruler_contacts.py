"""User names and ID numbers in lines of contact details, where their form alone would not show them.

    Ana Reyes | ana@example.org | anar97 | 555-0142                       anar97: USERNAME
    Ana Reyes - ana@example.org - user anareyes - pin QxT:40K - 555-0142    anareyes: USERNAME; QxT:40K: ID_NUM

Such a line is a list: short parts between signs, one of them, or one of the next line, a detail that a rule or the model has found. There a
word for it does, and among two details or more, two names joined in small letters. In running text nothing is found.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

from .context_words import in_table, is_glued
from .labels import EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME
from .ruler_merge import Page
from .shapes import Intervals
from .spans import Candidate

SOURCE = "username-contact-line"
ID_SOURCE = "id-contact-line"
_DETAILS = (EMAIL, PHONE_NUM, ID_NUM, STREET_ADDRESS, URL_PERSONAL)
_LONGEST, _MOST_WORDS, _MOST_PARTS = 240, 8, 12
_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_SIGNS = re.compile(r"[;|•·]+|,(?=\s)|\s[-–—/]+(?=\s)|\t+|\s{2,}")  # noqa: RUF001
# Lower case before digits, or capitals inside, or joined by "_"; course codes (ENG101, Bio101) are none.
_NAME = re.compile(r"@?(?:[a-z]{2,20}[._]?[a-z]{0,20}\d{1,5}|[A-Z]?[a-z]+[A-Z][a-z]+\d{1,5}|[A-Za-z]{2,20}_[A-Za-z\d]{1,20})")
_LABELLED = re.compile(
    r"(?:user(?:\s?-?name)?|handle|alias|nick(?:\s?name)?|login)\s{0,2}(?P<sign>[:=#]?)\s{1,2}(?P<value>@?\w[\w.-]{2,38})", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"(?i:(?:pin|id|roll|reg|student|learner|candidate|participant|interview(?:er|ee)|member)\s{1,2}(?:num(?:ber)?|no|nr|code|id|pin)|pin|id|interview(?:er|ee)|num(?:ber)?)"
    r"\s?\.?\s{0,2}[:=#]?\s{0,2}(?P<value>(?=\S*\d|\S*[a-z][A-Z]|\S*[A-Z]{2}[a-z])[A-Za-z\d][\w.,:/-]{1,24}\w(?:\s\d{3,10})?)"
)
_DENSE = 2  # details beside each other from which a part needs less of a form
_COUNTED = frozenset((
    "ap", "apt", "assignment", "autumn", "block", "box", "building", "cell", "ch", "chapter", "class", "course", "covid", "day",
    "draft", "essay", "ext", "fall", "fax", "fl", "flat", "floor", "form", "grade", "group", "home", "html", "lab", "lesson",
    "level", "lot", "mob", "mobile", "module", "mp", "no", "number", "page", "paper", "part", "period", "ph", "phone", "python",
    "question", "quiz", "rm", "room", "route", "seat", "section", "sem", "semester", "session", "spring", "st", "suite",
    "summer", "task", "team", "tel", "term", "test", "tower", "u", "unit", "ver", "version", "vol", "web", "week", "winter",
    "work", "year", "yr",
))  # fmt: skip


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
        near = bisect_left(details, lines[min(n + 1, len(lines) - 1)][1]) - bisect_left(details, lines[max(n - 1, 0)][0])
        for start, end in parts if beside else ():
            first, last, label = _value_in(text[start:end], dense=near >= _DENSE)
            at = (start + first, start + last)
            tokens = page.tokens(*at) if label and not taken.touch(*at) else None
            if tokens is not None:
                source, what = (SOURCE, "user name") if label == USERNAME else (ID_SOURCE, "ID number")
                found.append(Candidate(*tokens, label, 0.8, source, f"{what}: alone among contact details"))
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


def _value_in(part: str, *, dense: bool) -> tuple[int, int, str]:
    """RETURNS (tuple[int, int, str]): Characters of a part that are a user name or an ID number, and which; "" for neither.

    dense (bool): Whether there are details enough for two names joined to do.
    """
    if _is_username(part):
        return 0, len(part), USERNAME
    labelled = _LABELLED.fullmatch(part)
    if labelled and (labelled["sign"] or not labelled["value"].isalpha() or in_table(labelled["value"]) or is_glued(labelled["value"])):
        return *labelled.span("value"), USERNAME
    if numbered := _NUMBERED.fullmatch(part):
        return *numbered.span("value"), ID_NUM
    if dense and part.islower() and is_glued(part):
        return 0, len(part), USERNAME
    return 0, 0, ""


def _is_username(value: str) -> bool:
    """Whether a part of a line has the form of a user name."""
    first = re.match(r"@?([^\W\d_]+)", value)
    return _NAME.fullmatch(value) is not None and first is not None and first[1].lower() not in _COUNTED
