"""Counts of right, wrong and missed entities per document and label. Pure functions.

    table = match_bag(gold, predicted, documents=["1", "2"], labels=["EMAIL"])
    table.counts                            # (n_documents, n_labels, 3): right, wrong, missed

Everything later is a sum over a slice of this array: a view on some labels, a part of the documents, a bootstrap resample. All take entities
with their texts in any order, the ids of all documents, also of those without entities, and the labels that count.

Gold has masked stretches where nobody knows what stands there (`GoldDocument.masked`). `judged` takes predictions that touch one out of those
that may be wrong; `match_overlap` and `match_tokens` are given where they are.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy

from .gold import Entity

TP, FP, FN = 0, 1, 2
# Masked stretches, (first character, end), by document.
Masks = Mapping[str, Sequence[tuple[int, int]]]
NO_MASKS: Masks = {}
_Keys = Iterable[tuple[str, str, Hashable]]


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """True positives, false positives, false negatives per document and label: `counts` is `(n_documents, n_labels, 3)`."""

    documents: tuple[str, ...]
    labels: tuple[str, ...]
    counts: numpy.ndarray

    def select(self, *, rows: numpy.ndarray | None = None, labels: Sequence[str] | None = None) -> "CountTable":
        """RETURNS (CountTable): The slice. rows (numpy.ndarray | None): One boolean per document. labels (Sequence[str] | None): To keep."""
        kept = numpy.ones(len(self.documents), dtype=bool) if rows is None else rows
        columns = [i for i, label in enumerate(self.labels) if labels is None or label in labels]
        documents = tuple(doc for doc, keep in zip(self.documents, kept, strict=True) if keep)
        return CountTable(documents, tuple(self.labels[i] for i in columns), self.counts[kept][:, columns])

    @property
    def per_document(self) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Sums over labels, shape `(n_documents, 3)`."""
        return self.counts.sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class CoverTable:
    """Per document: gold entities, those of them not wholly covered, and predicted entities, each of shape `(n_documents,)`."""

    documents: tuple[str, ...]
    entities: numpy.ndarray
    exposed: numpy.ndarray
    predicted: numpy.ndarray

    def select(self, rows: numpy.ndarray) -> "CoverTable":
        """RETURNS (CoverTable): The documents for which `rows`, one boolean per document, is true."""
        kept = tuple(doc for doc, keep in zip(self.documents, rows, strict=True) if keep)
        return CoverTable(kept, self.entities[rows], self.exposed[rows], self.predicted[rows])


def _tabulate(gold: _Keys, predicted: _Keys, documents: Sequence[str], labels: Sequence[str]) -> CountTable:
    """Count what two bags of (document, label, key) share. Other documents and labels are left out."""
    row = {document: i for i, document in enumerate(documents)}
    column = {label: i for i, label in enumerate(labels)}
    in_gold, in_predicted = (Counter(key for key in keys if key[0] in row and key[1] in column) for keys in (gold, predicted))
    counts = numpy.zeros((len(row), len(column), 3), dtype="i8")
    shared = in_gold & in_predicted
    for keys, kind in ((shared, TP), (in_predicted - shared, FP), (in_gold - shared, FN)):
        for (document, label, _), n in keys.items():
            counts[row[document], column[label], kind] += n
    return CountTable(tuple(documents), tuple(labels), counts)


def match_bag(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """RETURNS (CountTable): Exact match of (document, label, text) as bags: a text that is there twice must be predicted twice, wherever it
    stands (the JEDM paper, section 3.4, and its notebook)."""
    wanted, found = ([(e.document, e.label, e.text) for e in entities] for entities in (gold, predicted))
    return _tabulate(wanted, found, documents, labels)


def match_position(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """RETURNS (CountTable): Exact match of (document, label, start, end)."""
    wanted, found = ([(e.document, e.label, (e.start, e.end)) for e in entities] for entities in (gold, predicted))
    return _tabulate(wanted, found, documents, labels)


def touches(entity: Entity, stretches: Iterable[tuple[int, int]]) -> bool:
    """RETURNS (bool): Whether the entity shares a character with one of the stretches."""
    return any(start < entity.end and end > entity.start for start, end in stretches)


def judged(predicted: Iterable[Entity], masked: Masks) -> list[Entity]:
    """RETURNS (list[Entity]): Predictions that touch no masked stretch, so that they can be called wrong."""
    return [entity for entity in predicted if not touches(entity, masked.get(entity.document, ()))]


def pair_overlaps(gold: Iterable[Entity], predicted: Iterable[Entity]) -> list[tuple[Entity, Entity]]:
    """RETURNS (list[tuple[Entity, Entity]]): Gold with its prediction: those that share a character, whatever their labels, each at most once.

    From left to right, each gold entity takes the first prediction that is free; one with its very offsets comes first. Where neither side
    overlaps with itself, no other choice makes more pairs.
    """
    by_document: dict[str, list[Entity]] = {}
    for entity in sorted(predicted, key=lambda e: (e.end, e.start, e.label)):
        by_document.setdefault(entity.document, []).append(entity)
    pairs = []
    for entity in sorted(gold, key=lambda e: (e.end, e.start, e.label)):
        free = by_document.get(entity.document, [])
        near = [i for i, other in enumerate(free) if other.start < entity.end and other.end > entity.start]
        if near:
            exact = [i for i in near if (free[i].start, free[i].end) == (entity.start, entity.end)]
            pairs.append((entity, free.pop((exact or near)[0])))
    return pairs


def match_overlap(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """RETURNS (CountTable): One gold entity with one prediction of the same label that shares a character with it. A prediction without a
    partner is no error if it touches one of `masked`."""
    gold, predicted = list(gold), list(predicted)
    pairs: list[tuple[Entity, Entity]] = []
    for label in labels:
        pairs += pair_overlaps((e for e in gold if e.label == label), (e for e in predicted if e.label == label))
    # By identity: two systems' equal predictions are two.
    met, taken = {id(entity) for entity, _ in pairs}, {id(entity) for _, entity in pairs}
    hits: list[tuple[str, str, Hashable]] = [(e.document, e.label, "pair") for e, _ in pairs]
    missed = [(e.document, e.label, "missed") for e in gold if id(e) not in met]
    wrong = [(e.document, e.label, "wrong") for e in judged((e for e in predicted if id(e) not in taken), masked)]
    return _tabulate([*hits, *missed], [*hits, *wrong], documents, labels)


def match_tokens(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    tokens: Mapping[str, Sequence[tuple[int, int]]],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """RETURNS (CountTable): Tokens under their entity label: (document, token, BIO label) as sets, the metric of CRAPII's Kaggle task; B-
    against I- is an error. Where two predictions share a token, both count; tokens that touch one of `masked` do not.

    tokens (Mapping[str, Sequence[tuple[int, int]]]): First character and end (exclusive) of the tokens of each document.
    """
    wanted, found = (
        {key for e in entities for key in _bio_keys(e, tokens.get(e.document, ()), masked.get(e.document, ()))}
        for entities in (gold, predicted)
    )
    return _tabulate(wanted, found, documents, labels)


def _bio_keys(entity: Entity, tokens: Sequence[tuple[int, int]], masked: Sequence[tuple[int, int]]) -> _Keys:
    """Tokens that share a character with the entity; the first one is its beginning."""
    for n, i in enumerate(tokens_of(entity, tokens)):
        if not any(start < tokens[i][1] and end > tokens[i][0] for start, end in masked):
            yield entity.document, entity.label, (i, "I" if n else "B")


def tokens_of(entity: Entity, tokens: Sequence[tuple[int, int]]) -> list[int]:
    """RETURNS (list[int]): Indices of the tokens that share a character with the entity."""
    return [i for i, (start, end) in enumerate(tokens) if start < entity.end and end > entity.start]


def cover(gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str]) -> CoverTable:
    """RETURNS (CoverTable): Whether every character of a gold entity lies in a prediction, whatever the labels; white space aside."""
    row = {document: i for i, document in enumerate(documents)}
    entities, exposed, n_predicted = (numpy.zeros(len(row), dtype="i8") for _ in range(3))
    hidden: dict[str, set[int]] = {}
    for entity in predicted:
        if entity.document in row:
            hidden.setdefault(entity.document, set()).update(range(entity.start, entity.end))
            n_predicted[row[entity.document]] += 1
    for entity in gold:
        if entity.document in row:
            entities[row[entity.document]] += 1
            exposed[row[entity.document]] += bool(in_clear(entity, hidden.get(entity.document, set())))
    return CoverTable(tuple(documents), entities, exposed, n_predicted)


def in_clear(entity: Entity, hidden: set[int]) -> int:
    """RETURNS (int): Characters of the entity, white space aside, that are not in `hidden`."""
    text = entity.text or "x" * (entity.end - entity.start)
    return sum(entity.start + i not in hidden and not char.isspace() for i, char in enumerate(text))
