"""What the component reads from a Doc and writes to it, in as few steps as spaCy allows: a corpus has many documents.

    found = read_group(doc, "pii")              # list[Found], sorted, without overlaps
    text = texts.read(doc)                      # doc.text; texts is a Texts
    write_ents(doc, found)                      # doc.ents

Offsets and labels of a span are read once; its attributes only where spans overlap.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_KB_ID, ENT_TYPE, ORTH, SPACY
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..labels import LABELS
from ..spans import read_spans, resolve_overlaps

# How many tokens are kept, with and without a space: as many as a corpus has frequent words.
MAX_WORDS = 1 << 15
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


class _Words(dict[int, str]):
    """Hash of a token, its last bit turned if a space follows it -> its text with the space. strings (StringStore): Of the vocabulary."""

    def __init__(self, strings: Any) -> None:
        super().__init__()
        self._strings = strings

    def __missing__(self, key: int) -> str:
        spaced = key ^ 1
        if key in self._strings and spaced in self._strings:
            # Two hashes that differ in one bit: as likely as that two words have one hash, and not to be left to chance.
            raise KeyError(key)
        word = self[key] = self._strings[spaced] + " " if spaced in self._strings else self._strings[key]
        return word


class Texts:
    """Texts of documents. `doc.text` asks the vocabulary for each token anew; here they are kept.

    The vocabulary keeps the same ones, for as long as the pipeline lives. In a memory zone of spaCy it does not: nor is anything kept
    here then. Nothing of it is saved or copied with a component.
    """

    def __init__(self) -> None:
        self._kept: tuple[Vocab, _Words] | None = None

    def read(self, doc: Doc) -> str:
        """RETURNS (str): `doc.text`."""
        vocab: Any = doc.vocab
        if vocab.in_memory_zone:
            return doc.text
        if self._kept is None or self._kept[0] is not vocab or len(self._kept[1]) > MAX_WORDS:
            self._kept = vocab, _Words(vocab.strings)
        words = self._kept[1]
        tokens: Any = doc.to_array([ORTH, SPACY])
        try:
            return "".join([words[key] for key in (tokens[:, 0] ^ tokens[:, 1]).tolist()])
        except KeyError:
            return doc.text
