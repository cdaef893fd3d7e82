"""Headers of assignments: the lines with name, course, teacher and date at the top, and the writer's name beside page numbers.

    Ana Lopez                          gone without replacement, as ETS did in its first step; every removal is
    Professor Hartwell                 a replacement by nothing that is told with the others (label HEADER,
    ENGL 101                           note "header removed")
    12 May 2019

    The Ferry                          a title stays

A header must hold somebody's name, number or address; prose, a letter's greeting or a title ends it.
"""

import re
from collections.abc import Sequence

from ..labels import DATE, EMAIL, ID_NUM, NAME_INSTRUCTOR, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS
from .values import Item

HEADER = "HEADER"
HEADER_REMOVED = "header removed"
MAX_LINES = 12
_WHO = (NAME_STUDENT, NAME_INSTRUCTOR, EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS)
_CUE = re.compile(
    r"\b(?:prof(?:essor)?|instructor|teacher|tutor|lecturer|course|class|section|period|unit|semester|student|name|id|date|due|"
    r"submitted|word count|essay|assignment|homework|paper|draft|university|college|school|department|english|history|biology|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|spring|fall|winter|summer)\b|"
    r"\b[A-Z]{2,5}[ -]?\d{2,4}\b|\b\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}\b",
    re.IGNORECASE,
)
_GREETING = re.compile(r"\s*(?:dear|hi|hello|hey|to whom)\b", re.IGNORECASE)
_PROSE = re.compile(r"\b(?:i|i['’]m|am|is|are|was|were|my|we|our|you|he|she|they|have|has|had|it)\b", re.IGNORECASE)
_PAGE = re.compile(r"\s*(?:page|pg?\.?)?\s*\d{1,4}\s*(?:(?:of|/)\s*\d{1,4}\s*)?", re.IGNORECASE)


def find_headers(text: str, items: Sequence[Item]) -> list[tuple[int, int]]:
    """Start and end of the header and of each running head, sorted; no item lies across an edge. items: Sorted."""
    found = [(0, end)] if (end := _end_of_header(text, items)) else []
    pos = 0
    for line in text.splitlines(keepends=True):
        start, pos = pos, pos + len(line)
        inside = [i for i in items if i.start >= start and i.end <= pos and i.label in (NAME_STUDENT, ID_NUM)]
        rest = line
        for item in reversed(inside):
            rest = rest[: item.start - start] + rest[item.end - start :]
        if inside and start >= end and _PAGE.fullmatch(rest.replace(",", " ")):
            found.append((start, pos))
    return found


def _end_of_header(text: str, items: Sequence[Item]) -> int:
    """Where the header ends, blank lines after it included; 0 if there is none."""
    pos = end = count = 0
    who = blank = False
    for line in text.splitlines(keepends=True):
        start, pos = pos, pos + len(line)
        inside = [i for i in items if i.start < pos and i.end > start]
        if not line.strip():
            # After a header, blank lines go with it.
            end, blank = pos if end == start and end else end, True
            continue
        count += 1
        # Behind a blank line a title may have such words too.
        if count > MAX_LINES or not _is_heading(line, start, inside) or (blank and end and not inside):
            break
        who = who or any(i.label in _WHO for i in inside)
        end = max([pos, *(i.end for i in inside)])
    return end if who and not any(i.start < end < i.end for i in items) else 0


def _is_heading(line: str, start: int, inside: Sequence[Item]) -> bool:
    """Whether a line looks like one of a header: short, no prose, and with a name, a date or a cue in it."""
    rest = line
    for item in reversed(inside):
        rest = rest[: max(0, item.start - start)] + " " + rest[max(0, item.end - start) :]
    words = len(rest.split())
    if (
        _GREETING.match(line)
        or _PROSE.search(rest)
        or len(line.strip()) > 90
        or words > 7
        or (words > 1 and rest.rstrip().endswith((".", "!", "?")))
    ):
        return False
    return any(i.label in (*_WHO, DATE) for i in inside) or _CUE.search(rest) is not None
