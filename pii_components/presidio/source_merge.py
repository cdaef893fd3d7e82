"""How spans of another source come in between ours: pure functions of records.

    known        DE89 [3704 0044 0532] 0130 00     PHONE_NUM, the higher priority
    found       [DE89 3704 0044 0532 0130 00]      ID_NUM: a detail within a longer detail goes with it
    otherwise   the priorities of labels decide, and of what loses, the part that nothing else covers stays

Unsure means protect: every word that was covered is covered afterwards.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from spacy.tokens import Doc

from ..labels import DETAIL_LABELS
from ..spans import Candidate, resolve_overlaps


def merge_found(doc: Doc, known: Sequence[Candidate], found: Sequence[Candidate]) -> list[Candidate]:
    """Merge two sources.

    doc (Doc): The document. known (Sequence[Candidate]): What is there. found (Sequence[Candidate]): What comes in, in any order.
    RETURNS (list[Candidate]): Sorted, without overlaps.
    """
    every = [*known, *found]
    pending, taken = _without_parts(every), set[int]()
    kept: list[Candidate] = []
    while pending:
        best = resolve_overlaps(pending)
        kept += best
        taken.update(i for cand in best for i in range(cand.start, cand.end))
        pending = [piece for cand in every for piece in _rest(doc, cand, taken)]
    return sorted(kept, key=lambda c: c.start)


def _without_parts(candidates: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): Without details that lie within a longer detail."""
    details = sorted((c for c in candidates if c.label in DETAIL_LABELS), key=lambda c: (c.start, -c.end))
    left = [c for c in candidates if c.label not in DETAIL_LABELS]
    reach = -1  # how far the details go that begin further left
    for _, group in groupby(details, key=lambda c: c.start):
        same = list(group)
        left += [c for c in same if c.end > reach and c.end == same[0].end]
        reach = max(reach, same[0].end)
    return left


def _rest(doc: Doc, cand: Candidate, taken: set[int]) -> list[Candidate]:
    """RETURNS (list[Candidate]): The stretches of a span that nothing covers, from the first letter or digit to the last."""
    pieces: list[Candidate] = []
    worth = [i for i in range(cand.start, cand.end) if i not in taken and any(ch.isalnum() for ch in doc[i].text)]
    for i in worth:
        if pieces and taken.isdisjoint(range(pieces[-1].end, i)):
            pieces[-1] = replace(pieces[-1], end=i + 1)
        else:
            pieces.append(replace(cand, start=i, end=i + 1))
    return pieces
