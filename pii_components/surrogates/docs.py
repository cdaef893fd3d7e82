"""What the component reads from a Doc and writes to it, in as few steps as spaCy allows: a corpus has many documents.

    text = text_of(doc, Words(strings))         # doc.text
    found = read_group(doc, "pii")              # list[Found], sorted, without overlaps
    write_ents(doc, [f.span for f in found])    # doc.ents

Offsets and labels of a span are read once; its attributes only where spans overlap.
"""

from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH, SPACY
from spacy.strings import StringStore
from spacy.tokens import Doc, Span

from ..labels import LABELS
from ..spans import read_spans, resolve_overlaps

_LABELS = frozenset(LABELS)
MAX_WORDS = 50_000
# What spaCy calls O.
_OUTSIDE = 2


class Found(NamedTuple):
    """A span. label (str): Its label. start_char (int), end_char (int): Characters, end exclusive. span (Span): With that label."""

    label: str
    start_char: int
    end_char: int
    span: Span


class Words(dict[int, str]):
    """spaCy's hash of a word -> the word and a space behind it. To keep those of a corpus takes less time than to have each
    decoded anew; how many are kept is bounded.

    strings (StringStore): Where the words are.
    """

    def __init__(self, strings: StringStore) -> None:
        self.strings = strings

    def __missing__(self, orth: int) -> str:
        if len(self) >= MAX_WORDS:
            self.clear()
        word = self[orth] = self.strings[orth] + " "
        return word


def text_of(doc: Doc, words: Words) -> str:
    """RETURNS (str): `doc.text`. words (Words): Of the document's vocabulary."""
    values = doc.to_array([ORTH, SPACY])
    pieces = [*map(words.__getitem__, values[:, 0].tolist())]
    for i in numpy.flatnonzero(values[:, 1] == 0).tolist():
        pieces[i] = pieces[i][:-1]
    return "".join(pieces)


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


def write_ents(doc: Doc, ents: list[Span]) -> None:
    """Set `doc.ents`. What is outside is told as one array: spaCy asks for each token. ents (list[Span]): Without overlaps."""
    outside: Any = numpy.zeros((len(doc), 2), dtype=numpy.uint64)
    outside[:, 0] = _OUTSIDE
    doc.from_array([ENT_IOB, ENT_TYPE], outside)
    doc.set_ents(ents, default="unmodified")
