"""What the rules of one value alone would not find, by its place among contact details.

    Ana Reyes | ana@example.org | anar97 | 555-0142                         anar97: USERNAME
    Ana Reyes - ana@example.org - user anareyes - pin QxT:40K - 555-0142    anareyes: USERNAME; QxT:40K: ID_NUM

A line of contact details is a list: short parts between signs, one of them, or one of the next line, a detail that a rule or the model has
found. There a word for a user name does, and among two details or more, two names joined in small letters. In running text nothing is found.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

from ..labels import EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME
from ..names import word_list
from ..names.wordlists import in_table, is_glued
from ..spans import Candidate
from .merge import Intervals, Page

SOURCE = "username-contact-line"
ID_SOURCE = "id-contact-line"
_DETAILS = (EMAIL, PHONE_NUM, ID_NUM, STREET_ADDRESS, URL_PERSONAL)
_LONGEST, _MOST_WORDS, _MOST_PARTS = 240, 8, 12
_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_SIGNS = re.compile(r"[;|•·]+|,(?=\s)|\s[-–—/]+(?=\s)|\t+|\s{2,}")  # noqa: RUF001
# Lower case before digits, or capitals inside, or joined by "_"; course codes (ENG101, Bio101) are none.
_NAME = re.compile(
    r"@?(?:[a-z]{2,20}[._]?[a-z]{0,20}\d{1,5}|[A-Z]?[a-z]+[A-Z][a-z]+\d{1,5}|[A-Za-z]{2,20}_[A-Za-z\d]{1,20})"
)
_LABELLED = re.compile(
    r"(?:user(?:\s?-?name)?|handle|alias|nick(?:\s?name)?|login)\s{0,2}(?P<sign>[:=#]?)\s{1,2}(?P<value>@?\w[\w.-]{2,38})",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?i:(?:pin|id|roll|reg|student|learner|candidate|participant|interview(?:er|ee)|member)\s{1,2}(?:num(?:ber)?|no|nr|code|id|pin)|pin|id|interview(?:er|ee)|num(?:ber)?)"
    r"\s?\.?\s{0,2}[:=#]?\s{0,2}(?P<value>(?=\S*\d|\S*[a-z][A-Z]|\S*[A-Z]{2}[a-z])[A-Za-z\d][\w.,:/-]{1,24}\w(?:\s\d{3,10})?)"
)
_DENSE = 2  # details beside each other from which a part needs less of a form
_COUNTED = word_list("ruler/words", "counted")


def in_contact_lines(page: Page, known: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): User names and ID numbers that only their place shows, and that nothing known (of every label) touches."""
    text = page.view.text
    spans = [(*page.chars(c.start, c.end), c.label) for c in known]
    details = sorted(start for start, _, label in spans if label in _DETAILS)
    found: list[Candidate] = []
    if not details:
        return found
    taken = Intervals((start, end) for start, end, _ in spans)
    lines = [line.span() for line in _LINE.finditer(text)]
    detailed = [bisect_left(details, start) < bisect_left(details, end) for start, end in lines]
    lists = [
        _as_list(text, *line) if any(detailed[max(0, n - 1) : n + 2]) else []
        for n, line in enumerate(lines)
    ]
    for n, parts in enumerate(lists):
        first_near, last_near = max(0, n - 1), min(n + 1, len(lines) - 1)
        beside = any(detailed[k] and (lists[k] or k == n) for k in range(first_near, last_near + 1))
        near = bisect_left(details, lines[last_near][1]) - bisect_left(
            details, lines[first_near][0]
        )
        for start, end in parts if beside else ():
            first, last, label = _value_in(text[start:end], dense=near >= _DENSE)
            at = (start + first, start + last)
            if label and not taken.touch(*at):
                source, what = (
                    (SOURCE, "user name") if label == USERNAME else (ID_SOURCE, "ID number")
                )
                found += page.found(*at, label, 0.8, source, f"{what}: alone among contact details")
    return found


def _as_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts (characters, without white space) of a line that is a list of short ones; nothing for any other line."""
    if end - start > _LONGEST:
        return []
    signs = [match.span() for match in _SIGNS.finditer(text, start, end)]
    firsts, lasts = [start, *(after for _, after in signs)], [*(before for before, _ in signs), end]
    parts = []
    for first, last in zip(firsts, lasts, strict=True):
        value = text[first:last]
        if value.strip():
            low = first + len(value) - len(value.lstrip())
            parts.append((low, low + len(value.strip())))
    short = all(len(text[first:last].split()) <= _MOST_WORDS for first, last in parts)
    return parts if short and 2 <= len(parts) <= _MOST_PARTS else []


def _value_in(part: str, *, dense: bool) -> tuple[int, int, str]:
    """Characters of a part that are a user name or an ID number, and which; "" for neither. dense: whether two names joined do."""
    first = re.match(r"@?([^\W\d_]+)", part)
    if _NAME.fullmatch(part) and first and first[1].lower() not in _COUNTED:
        return 0, len(part), USERNAME
    if labelled := _LABELLED.fullmatch(part):
        value = labelled["value"]
        if labelled["sign"] or not value.isalpha() or in_table(value) or is_glued(value):
            return *labelled.span("value"), USERNAME
    if numbered := _NUMBERED.fullmatch(part):
        return *numbered.span("value"), ID_NUM
    if dense and part.islower() and is_glued(part):
        return 0, len(part), USERNAME
    return 0, 0, ""
