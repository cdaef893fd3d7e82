"""Where the marked words of an answer stand in the text that was sent.

    >>> align("My name is Ana Lopez.", "My name's @@@Ana Lopez###.", {"NAME_STUDENT": ("@@@", "###")}).spans
    [(11, 20, 'NAME_STUDENT')]

A model returns the text with marks in it and changes words that it should not. So the words of both are aligned (edit operations, rapidfuzz),
and a mark counts at the place that its words were aligned with: what was dropped or added before it shifts nothing. Around a mark, most words
must be those of the text; else the passage was rewritten, and only a mark on words that stand in the text to the letter counts.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from rapidfuzz.distance import Levenshtein
from rapidfuzz.fuzz import ratio

_WORD = re.compile(r"\w+|[^\w\s]")
AROUND = 8  # words on either side that tell whether a passage was rewritten
SAME = 0.6  # share of these that must be aligned
ALIKE = 80  # rapidfuzz's ratio of marked words and those they were aligned with, 0 to 100
UNREAD = 12  # words at the end that may be missing before the answer counts as cut off


@dataclass(slots=True)
class Aligned:
    """What an answer says of a text.

    spans (list[tuple[int, int, str]]): Characters start, end (exclusive) of the text, and label; sorted, without overlaps. same (float): Share of the
    words of the text that came back as they were. read (int): Characters of the text up to the last word that came back. lost (int): Marks that
    no place was found for, or that were never closed. rewritten (list[tuple[int, int]]): Passages of the text whose marks are not trusted.
    """

    spans: list[tuple[int, int, str]]
    same: float
    read: int
    lost: int = 0
    rewritten: list[tuple[int, int]] = field(default_factory=list)


def free_marks(text: str, marks: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The marks, or where the text holds one of them ("###" before a heading), others that it does not hold.

    marks: Label -> what stands before and behind an entity.
    """
    if not any(sign in text for pair in marks.values() for sign in pair):
        return dict(marks)
    base = 1
    while any(f"<{n}|" in text or f"|{n}>" in text for n in range(base, base + len(marks))):
        base += len(marks)
    return {label: (f"<{n}|", f"|{n}>") for n, label in enumerate(marks, base)}


def mark(text: str, spans: list[tuple[int, int, str]], marks: Mapping[str, tuple[str, str]]) -> str:
    """The text with its spans marked: what a model should answer. Spans without a mark are passed over."""
    parts, at = [], 0
    for start, end, label in sorted(spans):
        if label in marks and start >= at:
            parts += [text[at:start], marks[label][0], text[start:end], marks[label][1]]
            at = end
    return "".join([*parts, text[at:]])


def unmark(
    answer: str, marks: Mapping[str, tuple[str, str]]
) -> tuple[str, list[tuple[int, int, str]], int]:
    """RETURNS (tuple): The answer without marks, its marked stretches (start, end, label), and how many marks had no partner."""
    opens = {pair[0]: label for label, pair in marks.items()}
    closes = {pair[1]: label for label, pair in marks.items()}
    signs = re.compile(
        "|".join(re.escape(sign) for sign in sorted({*opens, *closes}, key=len, reverse=True))
    )
    parts: list[str] = []
    spans: list[tuple[int, int, str]] = []
    length = at = lost = 0
    begun: tuple[int, str] | None = None
    for found in signs.finditer(answer):
        parts.append(answer[at : found.start()])
        length, at = length + len(parts[-1]), found.end()
        if begun is not None and closes.get(found[0]) == begun[1]:
            spans.append((begun[0], length, begun[1]))
            begun = None
        else:
            lost += begun is not None or found[0] not in opens
            begun = (length, opens[found[0]]) if found[0] in opens else None
    return "".join([*parts, answer[at:]]), spans, lost + (begun is not None)


def align(text: str, answer: str, marks: Mapping[str, tuple[str, str]]) -> Aligned:
    """Find the marked words of an answer in the text. marks: Label -> what stands before and behind; see `free_marks`."""
    plain, marked, lost = unmark(answer, marks)
    ours = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(text)]
    theirs = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(plain)]
    places, same = _align_words([word for *_, word in ours], [word for *_, word in theirs])
    result = Aligned([], sum(same) / len(ours) if ours else 1.0, len(text), lost)
    last = max((i for i, equal in enumerate(same) if equal), default=-1)
    if len(ours) - 1 - last > UNREAD:
        result.read = ours[last][1] if last >= 0 else 0
    starts = [start for start, *_ in theirs]
    for start, end, label in marked:
        value = plain[start:end].strip()
        words = places[bisect_left(starts, start) : bisect_left(starts, end)]
        spot = _spot(text, value, ours, words, same, result) if value else None
        if spot is None:
            result.lost += 1
        elif all(spot[1] <= a or spot[0] >= b for a, b, _ in result.spans):
            result.spans.append((*spot, label))
    result.spans.sort()
    result.rewritten.sort()
    return result


def _align_words(ours: list[str], theirs: list[str]) -> tuple[list[int | None], list[bool]]:
    """RETURNS (tuple): For each word of the answer its word of the text, if it has one; for each word of the text, whether it
    came back as it was."""
    places: list[int | None] = [None] * len(theirs)
    same = [False] * len(ours)
    for block in Levenshtein.opcodes(ours, theirs):
        if block.tag in ("equal", "replace"):  # of both, one word stands against one
            for n in range(block.src_end - block.src_start):
                places[block.dest_start + n] = block.src_start + n
                same[block.src_start + n] = block.tag == "equal"
    return places, same


def _spot(
    text: str,
    value: str,
    ours: list[tuple[int, int, str]],
    places: list[int | None],
    same: list[bool],
    result: Aligned,
) -> tuple[int, int] | None:
    """RETURNS (tuple[int, int] | None): Characters of the text that a marked value stands for; None if nobody can tell."""
    near = 0
    known = [i for i in places if i is not None]
    if known:
        first, last = known[0], known[-1]
        near, end = ours[first][0], ours[last][1]
        left, right = max(first - AROUND, 0), last + 1 + AROUND
        around = same[left:first] + same[last + 1 : right]
        if around and sum(around) / len(around) < SAME:
            result.rewritten.append((ours[left][0], ours[min(right, len(ours)) - 1][1]))
        elif (
            text[near:end] == value
            or last - first < len(places) + 2
            and ratio(text[near:end], value) >= ALIKE
        ):
            return near, end
    exact = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text)]
    return min(exact, key=lambda span: abs(span[0] - near), default=None)
