"""Counts of right, wrong and missed entities per document and label. Pure functions.

    table = match_bag(gold, predicted, documents=["1", "2"], labels=["EMAIL"])
    table.counts                            # (n_documents, n_labels, 3): right, wrong, missed

Everything later is a sum over a slice of this array: a view on some labels, a part of the documents, a bootstrap
resample.

- `match_bag`: the same text with the same label, as often as it occurs (the JEDM paper; seeds/gpt4omini_jedm.txt,
  section 3.4, and its notebook): blind to the position.
- `match_position`: the same offsets with the same label.
- `match_overlap`: a shared character and the same label, one to one.
- `match_tokens`: Kaggle's metric: the set of (document, token, BIO label); B- against I- is an error.
- `cover`: blind to labels: is a character of a gold entity left in clear?

Gold has masked stretches where nobody knows what stands there (`GoldDocument.masked`). `judged` takes predictions that touch one
out of those that may be wrong; `match_overlap` and `match_tokens` are told where they are.
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
    """Counts per document and label.

    documents (tuple[str, ...]): Ids of the rows. labels (tuple[str, ...]): Names of the columns.
    counts (numpy.ndarray): Shape `(n_documents, n_labels, 3)`: true positives, false positives, false negatives.
    """

    documents: tuple[str, ...]
    labels: tuple[str, ...]
    counts: numpy.ndarray

    def select(self, *, rows: numpy.ndarray | None = None, labels: Sequence[str] | None = None) -> "CountTable":
        """A part of the table.

        rows (numpy.ndarray | None): Booleans, one per document. labels (Sequence[str] | None): Columns to keep.
        RETURNS (CountTable): The slice.
        """
        keep_rows = numpy.ones(len(self.documents), dtype=bool) if rows is None else rows
        columns = [i for i, label in enumerate(self.labels) if labels is None or label in labels]
        return CountTable(
            tuple(doc for doc, keep in zip(self.documents, keep_rows, strict=True) if keep),
            tuple(self.labels[i] for i in columns),
            self.counts[keep_rows][:, columns],
        )

    @property
    def per_document(self) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Sums over labels, shape `(n_documents, 3)`."""
        return self.counts.sum(axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class CoverTable:
    """Which documents are wholly covered, per document.

    documents (tuple[str, ...]): Ids of the rows.
    entities (numpy.ndarray): Gold entities, shape `(n_documents,)`. exposed (numpy.ndarray): Those not wholly
    covered.
    predicted (numpy.ndarray): Predicted entities.
    """

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

    def bag(keys: _Keys) -> Counter[tuple[str, str, Hashable]]:
        return Counter(key for key in keys if key[0] in row and key[1] in column)

    counts = numpy.zeros((len(row), len(column), 3), dtype="i8")
    in_gold, in_predicted = bag(gold), bag(predicted)
    shared = in_gold & in_predicted
    for keys, kind in ((shared, TP), (in_predicted - shared, FP), (in_gold - shared, FN)):
        for (document, label, _), n in keys.items():
            counts[row[document], column[label], kind] += n
    return CountTable(tuple(documents), tuple(labels), counts)


def match_bag(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """Exact match of (document, label, text) as bags: a text that is there twice must be predicted twice.

    gold (Iterable[Entity]): Annotated. predicted (Iterable[Entity]): Found; both with their texts.
    documents (Sequence[str]): Ids of all documents, also of those without entities. labels (Sequence[str]): Labels
    that count.
    RETURNS (CountTable): Counts; the order of the entities changes nothing.
    """

    def keys(entities: Iterable[Entity]) -> _Keys:
        return ((e.document, e.label, e.text) for e in entities)

    return _tabulate(keys(gold), keys(predicted), documents, labels)


def match_position(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """Exact match of (document, label, start, end); arguments and result as `match_bag`."""

    def keys(entities: Iterable[Entity]) -> _Keys:
        return ((e.document, e.label, (e.start, e.end)) for e in entities)

    return _tabulate(keys(gold), keys(predicted), documents, labels)


def touches(entity: Entity, stretches: Iterable[tuple[int, int]]) -> bool:
    """RETURNS (bool): Whether the entity shares a character with one of the stretches."""
    return any(start < entity.end and end > entity.start for start, end in stretches)


def judged(predicted: Iterable[Entity], masked: Masks) -> list[Entity]:
    """RETURNS (list[Entity]): Predictions that touch no masked stretch, so that they can be called wrong."""
    return [entity for entity in predicted if not touches(entity, masked.get(entity.document, ()))]


def pair_overlaps(gold: Iterable[Entity], predicted: Iterable[Entity]) -> list[tuple[Entity, Entity]]:
    """Pair entities of the same document that share a character, each at most once.

    From left to right, each gold entity takes the first prediction that is free; one with its very offsets comes first. Where
    neither side overlaps with itself, no other choice makes more pairs.

    gold (Iterable[Entity]), predicted (Iterable[Entity]): Labels are not looked at.
    RETURNS (list[tuple[Entity, Entity]]): Gold with its prediction.
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
    """Match of one gold entity with one prediction of the same label that shares a character with it.

    masked (Masks): A prediction without a partner is no error if it touches one of these.
    The others and the result as `match_bag`.
    """
    gold, predicted = list(gold), list(predicted)
    pairs: list[tuple[Entity, Entity]] = []
    for label in labels:
        pairs += pair_overlaps((e for e in gold if e.label == label), (e for e in predicted if e.label == label))
    # By identity: two systems' equal predictions are two.
    met, taken = {id(entity) for entity, _ in pairs}, {id(entity) for _, entity in pairs}
    hits: _Keys = [(e.document, e.label, "pair") for e, _ in pairs]
    missed: _Keys = [(e.document, e.label, "missed") for e in gold if id(e) not in met]
    wrong: _Keys = [(e.document, e.label, "wrong") for e in judged((e for e in predicted if id(e) not in taken), masked)]
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
    """Match of (document, token, BIO label) as sets: the metric of CRAPII's Kaggle task, on the tokens of the gold file.

    tokens (Mapping[str, Sequence[tuple[int, int]]]): First character and end (exclusive) of the tokens of each
    document. masked (Masks): Tokens that touch one of these do not count.
    RETURNS (CountTable): Counts of tokens under their entity label. Where two predictions share a token, both count.
    """

    def keys(entities: Iterable[Entity]) -> _Keys:
        return {key for e in entities for key in _bio_keys(e, tokens.get(e.document, ()), masked.get(e.document, ()))}

    return _tabulate(keys(gold), keys(predicted), documents, labels)


def _bio_keys(
    entity: Entity, tokens: Sequence[tuple[int, int]], masked: Sequence[tuple[int, int]]
) -> Iterable[tuple[str, str, Hashable]]:
    """Tokens that share a character with the entity; the first one is its beginning."""
    inside = tokens_of(entity, tokens)
    return [
        (entity.document, entity.label, (i, "I" if n else "B"))
        for n, i in enumerate(inside)
        if not any(start < tokens[i][1] and end > tokens[i][0] for start, end in masked)
    ]


def tokens_of(entity: Entity, tokens: Sequence[tuple[int, int]]) -> list[int]:
    """RETURNS (list[int]): Indices of the tokens that share a character with the entity."""
    return [i for i, (start, end) in enumerate(tokens) if start < entity.end and end > entity.start]


def cover(gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str]) -> CoverTable:
    """Whether every character of a gold entity lies in a prediction, whatever the labels. White space in clear tells nothing.

    gold (Iterable[Entity]): Annotated. predicted (Iterable[Entity]): What the system would hide.
    documents (Sequence[str]): Ids of all documents.
    RETURNS (CoverTable): Counts per document.
    """
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
