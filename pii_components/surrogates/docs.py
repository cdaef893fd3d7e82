"""What the component reads from a Doc and writes to it, in as few steps as spaCy allows: a corpus has many documents.

    found = read_group(doc, "pii")              # list[Found], sorted, without overlaps
    write_ents(doc, found)                      # doc.ents

Offsets and labels of a span are read once; its attributes only where spans overlap.
"""

from collections.abc import Sequence
from typing import NamedTuple

from spacy.tokens import Doc, Span

from ..labels import LABELS
from ..spans import read_spans, resolve_overlaps

_LABELS = frozenset(LABELS)


class Found(NamedTuple):
    """A span. label (str): Its label. start_char (int), end_char (int): Characters, end exclusive. span (Span): With that label."""

    label: str
    start_char: int
    end_char: int
    span: Span


def read_group(doc: Doc, key: str) -> list[Found]:
    """The spans of a group. What is sorted and without overlaps already, as components leave it, is read once.

    doc (Doc): A document; a missing group reads as empty. key (str): The group.
    RETURNS (list[Found]): Sorted; of several that overlap, the one that `spans.resolve_overlaps` keeps.
    RAISES (PiiError): E002 for a label that there is not.
    """
    group = doc.spans.get(key)
    if group is None:
        return []
    found, last = [], 0
    for span in group:
        label, start, end = span.label_, span.start, span.end
        if not last <= start < end or label not in _LABELS:
            break
        found.append(Found(label, span.start_char, span.end_char, span))
        last = end
    else:
        return found
    spans = [Span(doc, cand.start, cand.end, label=cand.label) for cand in resolve_overlaps(read_spans(doc, key))]
    return [Found(span.label_, span.start_char, span.end_char, span) for span in spans]


def write_ents(doc: Doc, found: Sequence[Found]) -> None:
    """Set `doc.ents`. What is outside is told as one span: by default spaCy asks for each token. found (Sequence[Found]): No overlaps."""
    if len(doc):
        doc.set_ents([], outside=[doc[:]], default="unmodified")
        doc.set_ents([f.span for f in found], default="unmodified")
