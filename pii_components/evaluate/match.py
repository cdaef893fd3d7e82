"""Counts of right, wrong and missed entities per document and label. Pure functions.

    table = match_bag(gold, predicted, documents=["1", "2"], labels=["EMAIL"])
    table.counts                            # (n_documents, n_labels, 3): right, wrong, missed

Everything later is a sum over a slice of this array: a view on some labels, a part of the documents, a bootstrap resample. All take entities
with their texts in any order, the ids of all documents, also of those without entities, and the labels that count.

Gold has masked stretches where nobody knows what stands there (`GoldDocument.masked`). `judged` takes predictions that touch one out of those
that may be wrong; functions with `masked` do so themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy

from ..labels import NAME_STUDENT, ROLES, is_name, role_of
from .gold import Entity

TP, FP, FN = 0, 1, 2
# Columns of `expose`.
ENTITIES, COVERED, TOUCHED, CHARACTERS, HIDDEN, ALARMS, WORDS = range(7)
# Masked stretches, (first character, end), by document.
Masks = Mapping[str, Sequence[tuple[int, int]]]
NO_MASKS: Masks = {}
_Keys = Iterable[tuple[str, str, Hashable]]
_Pairs = list[tuple[Entity, Entity]]


class CountTable(NamedTuple):
    """True positives, false positives, false negatives per document and label: `counts` is `(n_documents, n_labels, 3)`."""

    documents: tuple[str, ...]
    labels: tuple[str, ...]
    counts: numpy.ndarray

    def select(
        self, *, rows: numpy.ndarray | None = None, labels: Sequence[str] | None = None
    ) -> "CountTable":
        """The slice. rows (numpy.ndarray | None): One boolean per document. labels (Sequence[str] | None): To keep."""
        kept = numpy.ones(len(self.documents), dtype=bool) if rows is None else rows
        columns = [i for i, label in enumerate(self.labels) if labels is None or label in labels]
        documents = tuple(compress(self.documents, kept))
        return CountTable(
            documents, tuple(self.labels[i] for i in columns), self.counts[kept][:, columns]
        )

    @property
    def per_document(self) -> numpy.ndarray:
        """Sums over labels, shape `(n_documents, 3)`."""
        return self.counts.sum(axis=1)


def _tabulate(
    gold: _Keys, predicted: _Keys, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """Count what two bags of (document, label, key) share. Other documents and labels are left out."""
    row = {document: i for i, document in enumerate(documents)}
    column = {label: i for i, label in enumerate(labels)}
    in_gold, in_predicted = (
        Counter(key for key in keys if key[0] in row and key[1] in column)
        for keys in (gold, predicted)
    )
    counts = numpy.zeros((len(row), len(column), 3), dtype="i8")
    shared = in_gold & in_predicted
    for keys, kind in ((shared, TP), (in_predicted - shared, FP), (in_gold - shared, FN)):
        for (document, label, _), n in keys.items():
            counts[row[document], column[label], kind] += n
    return CountTable(tuple(documents), tuple(labels), counts)


def match_bag(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
) -> CountTable:
    """Exact match of (document, label, text) as bags: a text that is there twice must be predicted twice, wherever it stands (the JEDM
    paper, section 3.4, and its notebook)."""
    wanted, found = ([(e.document, e.label, e.text) for e in side] for side in (gold, predicted))
    return _tabulate(wanted, found, documents, labels)


def match_position(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
) -> CountTable:
    """Exact match of (document, label, start, end)."""
    wanted, found = (
        [(e.document, e.label, (e.start, e.end)) for e in side] for side in (gold, predicted)
    )
    return _tabulate(wanted, found, documents, labels)


def touches(entity: Entity, stretches: Iterable[tuple[int, int]]) -> bool:
    """Whether the entity shares a character with one of the stretches."""
    return any(start < entity.end and end > entity.start for start, end in stretches)


def judged(predicted: Iterable[Entity], masked: Masks) -> list[Entity]:
    """Predictions that touch no masked stretch, so that they can be called wrong."""
    return [entity for entity in predicted if not touches(entity, masked.get(entity.document, ()))]


def pair_overlaps(gold: Iterable[Entity], predicted: Iterable[Entity]) -> _Pairs:
    """Gold with its prediction: those that share a character, whatever their labels, each at most once.

    From left to right, each gold entity takes the first prediction that is free; one with its very offsets comes first. Where neither side
    overlaps with itself, no other choice makes more pairs.
    """
    by_document: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(predicted, key=lambda e: (e.end, e.start, e.label)):
        by_document[entity.document].append(entity)
    pairs = []
    for entity in sorted(gold, key=lambda e: (e.end, e.start, e.label)):
        free = by_document[entity.document]
        near = [i for i, other in enumerate(free) if touches(entity, [(other.start, other.end)])]
        if near:
            best = max(
                near, key=lambda i: (free[i].start, free[i].end) == (entity.start, entity.end)
            )
            pairs.append((entity, free.pop(best)))
    return pairs


def match_overlap(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """One gold entity with one prediction of the same label that shares a character with it. A prediction without a partner is no error
    if it touches one of `masked`."""
    sides = list(gold), list(predicted)
    pairs = [
        pair
        for label in labels
        for pair in pair_overlaps(*([e for e in side if e.label == label] for side in sides))
    ]
    return _tabulate(*_keys_of(pairs, *sides, masked, lambda e: e.label), documents, labels)


def _keys_of(
    pairs: _Pairs,
    gold: list[Entity],
    predicted: list[Entity],
    masked: Masks,
    label: Callable[[Entity], str],
) -> tuple[_Keys, _Keys]:
    """Keys that are equal for the two of a pair, if their labels are, and for nothing else."""
    met, taken = {id(entity) for entity, _ in pairs}, {id(entity) for _, entity in pairs}
    missed = [(e.document, label(e), "missed") for e in gold if id(e) not in met]
    wrong = [
        (e.document, label(e), "wrong")
        for e in judged((e for e in predicted if id(e) not in taken), masked)
    ]
    wanted = [(e.document, label(e), i) for i, (e, _) in enumerate(pairs)]
    found = [(e.document, label(e), i) for i, (_, e) in enumerate(pairs)]
    return [*wanted, *missed], [*found, *wrong]


def match_roles(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    masked: Masks = NO_MASKS,
    missed: bool = True,
) -> CountTable:
    """Names by role, its labels are `labels.ROLES`; other labels than names are left out. missed (bool): Whether names count that only one
    of the two sides has."""
    names, found = ([e for e in side if is_name(e.label)] for side in (gold, predicted))
    pairs = pair_overlaps(names, found)
    sides = (names, found) if missed else ([], [])
    return _tabulate(*_keys_of(pairs, *sides, masked, believed_role), documents, ROLES)


def has_roles(gold: Iterable[Entity]) -> bool:
    """Whether gold tells a student's name from another one."""
    return any(is_name(entity.label) and entity.label != NAME_STUDENT for entity in gold)


def believed_role(entity: Entity) -> str:
    """Whose name a name is taken for. One that is hidden only to be safe has a label that says so, and its likeliest role."""
    return entity.role or role_of(entity.label)


def match_tokens(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    tokens: Mapping[str, Sequence[tuple[int, int]]],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """Tokens under their entity label: (document, token, BIO label) as sets, the metric of CRAPII's Kaggle task; B- against I- is an error.
    Where two predictions share a token, both count; tokens that touch one of `masked` do not.

    tokens (Mapping[str, Sequence[tuple[int, int]]]): First character and end (exclusive) of the tokens of each document.
    """

    def keys(entity: Entity) -> _Keys:
        """Tokens that share a character with the entity; the first one is its beginning."""
        inside = (token for token in tokens.get(entity.document, ()) if touches(entity, [token]))
        for n, (start, end) in enumerate(inside):
            if not any(
                first < end and last > start for first, last in masked.get(entity.document, ())
            ):
                yield entity.document, entity.label, (start, "I" if n else "B")

    wanted, found = ({key for e in side for key in keys(e)} for side in (gold, predicted))
    return _tabulate(wanted, found, documents, labels)


def expose(
    gold: Iterable[Entity],
    hidden: Iterable[Entity],
    *,
    documents: Sequence[str],
    words: Sequence[int],
    known: Iterable[Entity] | None = None,
    masked: Masks = NO_MASKS,
) -> numpy.ndarray:
    """What a reader of the released text would still see, and what was hidden for nothing, whatever the labels.

    hidden (Iterable[Entity]): What the system would hide. words (Sequence[int]): Lengths of the documents.
    known (Iterable[Entity] | None): Everything that is no false alarm; `gold` if missing.
    RETURNS (numpy.ndarray): Shape `(n_documents, 7)`: gold entities, those wholly covered, those touched; characters of gold without white
    space, those hidden; false alarms; words.
    """
    gold = list(gold)
    counts = {
        document: numpy.asarray([0] * WORDS + [n], dtype="i8")
        for document, n in zip(documents, words, strict=True)
    }
    covered: dict[str, set[int]] = defaultdict(set)
    no_alarm = defaultdict(
        list, {document: list(stretches) for document, stretches in masked.items()}
    )
    for entity in gold if known is None else known:
        no_alarm[entity.document].append((entity.start, entity.end))
    for entity in (entity for entity in hidden if entity.document in counts):
        covered[entity.document].update(range(entity.start, entity.end))
        counts[entity.document][ALARMS] += not touches(entity, no_alarm[entity.document])
    for entity in (entity for entity in gold if entity.document in counts):
        clear, length = in_clear(entity, covered[entity.document]), in_clear(entity, set())
        counts[entity.document][:ALARMS] += numpy.asarray(
            [1, clear == 0, clear < length, length, length - clear]
        )
    return numpy.asarray(list(counts.values()), dtype="i8").reshape(-1, WORDS + 1)


def cover(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str]
) -> numpy.ndarray:
    """As `expose`, where nobody knows how many words there are."""
    return expose(gold, predicted, documents=documents, words=[0] * len(documents))


def in_clear(entity: Entity, hidden: set[int]) -> int:
    """Characters of the entity, white space aside, that are not in `hidden`."""
    text = entity.text or "x" * (entity.end - entity.start)
    return sum(entity.start + i not in hidden and not char.isspace() for i, char in enumerate(text))
