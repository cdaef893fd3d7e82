"""Pieces that a detector saw of one number or one address, put together, as pure functions.

[555] \n [0143]           ->  one number that a line end tore
880-[817-110]-Q           ->  all of a number in groups
[Havregade 31, 2]. TV., DK-[9999 Nordby]   ->  one address
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .labels import ID_NUM, PHONE_NUM, STREET_ADDRESS
from .shapes import is_date
from .spans import Candidate

if TYPE_CHECKING:
    from .ruler_merge import Page

# A number in groups: "880-817-110-Q", "204/4T1/770"; each group short, with a digit or a letter or two. "10-year-old" is none.
_GROUPS = re.compile(
    r"(?<![\w./:@-])(?:[A-Za-z]{0,4}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,3})"
    r"(?:[-/](?:[A-Za-z]{0,3}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,2})){1,6}(?![\w/@-])"
)
_ADDRESS_GAP, _ADDRESS_CHARS = 6, 20  # tokens and characters between two pieces of one address
_IN_ADDRESS = frozenset(
    ["apt", "de", "del", "di", "do", "dos", "flat", "la", "no", "of", "room", "st", "the", "unit", "van", "von"]
)
_ENDS = frozenset('!?;|:"“”')


def join_torn(page: "Page", proposals: Sequence[Candidate]) -> list[Candidate]:
    """Numbers of one kind with a line break between them are one number that was torn: neither half has the shape of any.

    page (Page): The document. proposals (Sequence[Candidate]): Of the model, sorted.
    RETURNS (list[Candidate]): The same, halves joined.
    """
    found: list[Candidate] = []
    for cand in proposals:
        last = found[-1] if found else None
        if last is not None and cand.label in (PHONE_NUM, ID_NUM) and last.label == cand.label:
            between = page.doc[last.end : cand.start].text if last.end < cand.start else "?"
            halves = page.hit(last).value[-1:], page.hit(cand).value[:1]
            if between.count("\n") == 1 and between.isspace() and all(half.isdigit() for half in halves):
                found[-1] = replace(last, end=cand.end, score=max(last.score, cand.score))
                continue
        found.append(cand)
    return found


def join_address(page: "Page", proposals: Sequence[Candidate]) -> list[Candidate]:
    """Pieces of an address with a few words between them are one: "[Bramble Cott]., The Street, [Little Wenham] GL99".

    page (Page): The document. proposals (Sequence[Candidate]): Of the model, sorted.
    RETURNS (list[Candidate]): The same, pieces joined where nothing but short gaps without words in small letters lies between, at most one
        line end, and a name that was seen in the gap given up.
    """
    found: list[Candidate] = []
    for cand in proposals:
        at = next((i for i in range(len(found) - 1, -1, -1) if found[i].label == STREET_ADDRESS), None)
        if cand.label == STREET_ADDRESS and at is not None and cand.start - found[at].end <= _ADDRESS_GAP:
            last, between = found[at], [page.doc[i].text for i in range(found[at].end, cand.start)]
            text = "".join(between)
            small = [word for word in between if word.islower() and word not in _IN_ADDRESS]
            if len(text) <= _ADDRESS_CHARS and text.count("\n") <= 1 and not small and not set(text) & _ENDS:
                found[at:] = [replace(last, end=cand.end, score=max(last.score, cand.score))]
                continue
        found.append(cand)
    return found


def whole_group(page: "Page", candidate: Candidate) -> Candidate:
    """A number that is part of one in groups, as all of it.

    page (Page): The document. candidate (Candidate): A number.
    RETURNS (Candidate): The same, or all of the group.
    """
    hit = page.hit(candidate)
    line = hit.text.rfind("\n", 0, hit.start) + 1
    for match in _GROUPS.finditer(hit.text, max(line, hit.start - 24), hit.end + 24):
        low, high = match.span()
        inside = low <= hit.start and hit.end <= high and high - low > hit.end - hit.start
        if inside and high - low <= 28 and sum(c.isdigit() for c in match.group()) >= 5 and not is_date(match.group()):
            tokens = page.tokens(low, high)
            return replace(candidate, start=tokens[0], end=tokens[1]) if tokens else candidate
    return candidate
