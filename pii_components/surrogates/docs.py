"""What the component reads from a Doc and writes to it, in as few steps as spaCy allows: a corpus has many documents.

    found = read_group(doc, "pii")              # list[Found], sorted, without overlaps
    write_ents(doc, found)                      # doc.ents

Offsets and labels of a span are read once; its attributes only where spans overlap.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_KB_ID, ENT_TYPE
from spacy.tokens import Doc

from ..labels import LABELS
from ..spans import read_spans, resolve_overlaps

_LABELS = frozenset(LABELS)
# What spaCy calls O, I and B.
_OUTSIDE, _INSIDE, _BEGIN = 2, 1, 3


class Found(NamedTuple):
    """A span. start (int), end (int): Tokens, end exclusive. label (str): Its label. start_char (int), end_char (int): Characters."""

    start: int
    end: int
    label: str
    start_char: int
    end_char: int


def read_group(doc: Doc, key: str) -> list[Found]:
    """The spans of a group. What is sorted and without overlaps already, as components leave it, is read once.

    doc (Doc): A document; a missing group reads as empty. key (str): The group.
    RETURNS (list[Found]): Sorted; of several that overlap, the one that `spans.resolve_overlaps` keeps.
    RAISES (PiiError): E002 for a label that there is not.
    """
    if key not in doc.spans:
        return []
    found = [Found(span.start, span.end, span.label_, span.start_char, span.end_char) for span in doc.spans[key]]
    last = 0
    for start, end, label, _, _ in found:
        if not last <= start < end or label not in _LABELS:
            break
        last = end
    else:
        return found
    kept = [(cand.label, doc[cand.start : cand.end]) for cand in resolve_overlaps(read_spans(doc, key))]
    return [Found(span.start, span.end, label, span.start_char, span.end_char) for label, span in kept]


def write_ents(doc: Doc, found: Sequence[Found]) -> None:
    """Set `doc.ents`, as `doc.set_ents` does, which looks at each token several times. found (Sequence[Found]): Without overlaps."""
    values: Any = numpy.zeros((3, len(doc)), dtype=numpy.uint64)
    values[0] = _OUTSIDE
    if found:
        add = doc.vocab.strings.add
        labels = {label: add(label) for label in {f.label for f in found}}
        tokens = [(i, _INSIDE, labels[f.label]) for f in found for i in range(f.start, f.end)]
        places, inside, types = zip(*tokens, strict=True)
        values[0, places], values[1, places] = inside, types
        values[0, [f.start for f in found]] = _BEGIN
    doc.from_array([ENT_IOB, ENT_TYPE, ENT_KB_ID], values.T)
