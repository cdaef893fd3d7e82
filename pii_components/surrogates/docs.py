"""What the component reads from a Doc and writes to it, in as few steps as spaCy allows: a corpus has many documents.

    text = Words(strings).text(doc)             # doc.text
    found = read_group(doc, "pii")              # list[Found], sorted, without overlaps
    write_ents(doc, [f.span for f in found])    # doc.ents

Offsets and labels of a span are read once; its attributes only where spans overlap.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH, SPACY
from spacy.strings import StringStore
from spacy.tokens import Doc, Span

from ..labels import LABELS
from ..spans import read_spans, resolve_overlaps

_LABELS = frozenset(LABELS)
# How many words are kept; a power of two.
PLACES = 1 << 17
_ONE, _LAST = numpy.uint64(1), numpy.uint64(PLACES - 1)
# What spaCy calls O.
_OUTSIDE = 2


class Found(NamedTuple):
    """A span. label (str): Its label. start_char (int), end_char (int): Characters, end exclusive. span (Span): With that label."""

    label: str
    start_char: int
    end_char: int
    span: Span


@contextmanager
def collect_later() -> Iterator[None]:
    """Put off the search for garbage in cycles, as srsly does where it reads: what a batch makes is freed without it, and is not to be
    looked at again and again meanwhile.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class Words:
    """The words of a corpus, so that those of a document are looked up in one step and few are decoded anew. A word has the place
    that the end of spaCy's hash says, as long as no other one comes there; how many are kept is bounded.

    strings (StringStore): Where the words are.
    """

    def __init__(self, strings: StringStore) -> None:
        self.strings = strings
        self._keys: Any = numpy.zeros(PLACES, dtype=numpy.uint64)
        self._words: Any = numpy.full(PLACES, "", dtype=object)

    def text(self, doc: Doc) -> str:
        """RETURNS (str): `doc.text`. doc (Doc): With the same strings."""
        values: Any = doc.to_array([ORTH, SPACY])
        # A word with a space behind it is another one; what the highest bit of a hash says is lost.
        keys = (values[:, 0] << _ONE) | values[:, 1]
        places = (keys & _LAST).astype(numpy.intp)
        words = self._words.take(places)
        new = numpy.flatnonzero(self._keys.take(places) != keys)
        if len(new):
            strings = self.strings
            words[new] = [strings[orth] + " " if space else strings[orth] for orth, space in values[new].tolist()]
            self._words[places[new]], self._keys[places[new]] = words[new], keys[new]
        return "".join(words.tolist())


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
