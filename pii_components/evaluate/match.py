"""Counts of right, wrong and missed entities per document and label. Pure functions.

    table = match_bag(gold, predicted, documents=["1", "2"], labels=["EMAIL"])
    table.counts                            # (n_documents, n_labels, 3): right, wrong, missed

Everything later is a sum over a slice of this array: a view on some labels, a part of the
documents, a bootstrap resample. All functions take entities with their texts in any order, the ids
of all documents, also of those without entities, and the labels that count.

Gold has masked stretches where nobody knows what stands there (`GoldDocument.masked`). `judged`
leaves out predictions that touch one; functions with `masked` do so themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
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
_Keys = list[tuple[str, str, Hashable]]


class CountTable(NamedTuple):
    """Right, wrong and missed entities: `counts` has the shape (n_documents, n_labels, 3)."""

    documents: tuple[str, ...]
    labels: tuple[str, ...]
    counts: numpy.ndarray

    def select(self, *, labels: Sequence[str]) -> "CountTable":
        """RETURNS (CountTable): The columns of some labels."""
        columns = [label in labels for label in self.labels]
        kept = tuple(compress(self.labels, columns))
        return CountTable(self.documents, kept, self.counts[:, columns])

    @property
    def per_document(self) -> numpy.ndarray:
        """Sums over labels, shape (n_documents, 3)."""
        return self.counts.sum(axis=1)


def _tabulate(
    gold: _Keys, predicted: _Keys, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """Count what two bags of (document, label, key) share; other documents and labels are left out."""
    row = {document: i for i, document in enumerate(documents)}
    column = {label: i for i, label in enumerate(labels)}

    def bag(keys: _Keys) -> Counter[tuple[str, str, Hashable]]:
        return Counter(key for key in keys if key[0] in row and key[1] in column)

    in_gold, in_predicted = bag(gold), bag(predicted)
    shared = in_gold & in_predicted
    counts = numpy.zeros((len(row), len(column), 3), dtype="i8")
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
    """Exact match of (document, label, text) as bags (JEDM paper, section 3.4, and its notebook).

    A text that is there twice must be predicted twice, wherever it stands.
    """
    wanted: _Keys = [(e.document, e.label, e.text) for e in gold]
    found: _Keys = [(e.document, e.label, e.text) for e in predicted]
    return _tabulate(wanted, found, documents, labels)


def match_position(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
) -> CountTable:
    """Exact match of (document, label, start, end)."""
    wanted: _Keys = [(e.document, e.label, (e.start, e.end)) for e in gold]
    found: _Keys = [(e.document, e.label, (e.start, e.end)) for e in predicted]
    return _tabulate(wanted, found, documents, labels)


def touches(entity: Entity, stretches: Iterable[tuple[int, int]]) -> bool:
    """RETURNS (bool): Whether the entity shares a character with one of the stretches."""
    return any(start < entity.end and end > entity.start for start, end in stretches)


def judged(predicted: Iterable[Entity], masked: Masks) -> list[Entity]:
    """RETURNS (list[Entity]): Predictions that touch no masked stretch: they can be called wrong."""
    return [entity for entity in predicted if not touches(entity, masked.get(entity.document, ()))]


def pair_overlaps(
    gold: Iterable[Entity], predicted: Iterable[Entity]
) -> list[tuple[Entity, Entity]]:
    """Pair gold with predictions that share a character, whatever their labels, each at most once.

    From left to right, each gold entity takes the first prediction that is free; one with its very
    offsets comes first. Where neither side overlaps with itself, no other choice makes more pairs.
    """
    by_document: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(predicted, key=lambda e: (e.end, e.start, e.label)):
        by_document[entity.document].append(entity)
    pairs = []
    for entity in sorted(gold, key=lambda e: (e.end, e.start, e.label)):
        place = (entity.start, entity.end)
        free = by_document[entity.document]
        near = [other for other in free if touches(other, [place])]
        if near:
            best = max(near, key=lambda other: (other.start, other.end) == place)
            free.remove(best)
            pairs.append((entity, best))
    return pairs


def _tabulate_pairs(
    pairs: list[tuple[Entity, Entity]],
    documents: Sequence[str],
    labels: Sequence[str],
    *,
    missed: Iterable[Entity] = (),
    wrong: Iterable[Entity] = (),
    roles: bool = False,
) -> CountTable:
    """Count pairs with one label (or role) as right, others as wrong and missed.

    missed, wrong (Iterable[Entity]): Gold and predictions without a partner.
    """

    def label(entity: Entity) -> str:
        return believed_role(entity) if roles else entity.label

    wanted: _Keys = [(e.document, label(e), i) for i, (e, _) in enumerate(pairs)]
    found: _Keys = [(e.document, label(e), i) for i, (_, e) in enumerate(pairs)]
    wanted += [(e.document, label(e), "missed") for e in missed]
    found += [(e.document, label(e), "wrong") for e in wrong]
    return _tabulate(wanted, found, documents, labels)


def _without_partner(
    entities: Iterable[Entity], pairs: list[tuple[Entity, Entity]], side: int
) -> list[Entity]:
    paired = {id(pair[side]) for pair in pairs}
    return [entity for entity in entities if id(entity) not in paired]


def match_overlap(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """One gold entity with one prediction of the same label that shares a character with it.

    masked (Masks): A prediction without a partner is no error if it touches one of these.
    """
    gold, predicted = list(gold), list(predicted)
    pairs = []
    for label in labels:
        wanted = [entity for entity in gold if entity.label == label]
        pairs += pair_overlaps(wanted, [entity for entity in predicted if entity.label == label])
    missed = _without_partner(gold, pairs, 0)
    wrong = judged(_without_partner(predicted, pairs, 1), masked)
    return _tabulate_pairs(pairs, documents, labels, missed=missed, wrong=wrong)


def match_roles(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    masked: Masks = NO_MASKS,
    missed: bool = True,
) -> CountTable:
    """Names by role: the labels of the table are `labels.ROLES`; other labels than names are left out.

    missed (bool): Whether names count that only one of the two sides has.
    """
    names = [entity for entity in gold if is_name(entity.label)]
    found = [entity for entity in predicted if is_name(entity.label)]
    pairs = pair_overlaps(names, found)
    if not missed:
        return _tabulate_pairs(pairs, documents, ROLES, roles=True)
    return _tabulate_pairs(
        pairs,
        documents,
        ROLES,
        missed=_without_partner(names, pairs, 0),
        wrong=judged(_without_partner(found, pairs, 1), masked),
        roles=True,
    )


def has_roles(gold: Iterable[Entity]) -> bool:
    """RETURNS (bool): Whether gold tells a student's name from another one."""
    return any(is_name(entity.label) and entity.label != NAME_STUDENT for entity in gold)


def believed_role(entity: Entity) -> str:
    """RETURNS (str): Whose name a name is taken for.

    A name that is hidden only to be safe has a label that says so, and its likeliest role.
    """
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
    """Tokens as sets of (document, token, BIO label): the metric of CRAPII's Kaggle task.

    B- against I- is an error. Where two predictions share a token, both count; tokens that touch
    one of `masked` do not.

    tokens (Mapping[str, Sequence[tuple[int, int]]]): First character and end (exclusive) of the
        tokens of each document.
    """

    def keys(entities: Iterable[Entity]) -> _Keys:
        found: set[tuple[str, str, Hashable]] = set()
        for entity in entities:
            inside = [t for t in tokens.get(entity.document, ()) if touches(entity, [t])]
            for n, (start, end) in enumerate(inside):
                token = Entity(entity.document, start, end, entity.label)
                if judged([token], masked):
                    found.add((entity.document, entity.label, (start, "I" if n else "B")))
        return list(found)

    return _tabulate(keys(gold), keys(predicted), documents, labels)


def expose(
    gold: Iterable[Entity],
    hidden: Iterable[Entity],
    *,
    documents: Sequence[str],
    words: Sequence[int] = (),
    known: Iterable[Entity] | None = None,
    masked: Masks = NO_MASKS,
) -> numpy.ndarray:
    """What a reader would still see, and what was hidden for nothing, whatever the labels.

    hidden (Iterable[Entity]): What the system would hide.
    words (Sequence[int]): Lengths of the documents; none where nobody knows them.
    known (Iterable[Entity] | None): Everything that is no false alarm; `gold` if None.
    RETURNS (numpy.ndarray): Shape (n_documents, 7): gold entities, those wholly covered, those
        touched; characters of gold without white space, those hidden; false alarms; words.
    """
    gold = list(gold)
    row = {document: i for i, document in enumerate(documents)}
    counts = numpy.zeros((len(row), WORDS + 1), dtype="i8")
    if words:
        counts[:, WORDS] = words
    no_alarm = defaultdict(list, {document: list(places) for document, places in masked.items()})
    for entity in gold if known is None else known:
        no_alarm[entity.document].append((entity.start, entity.end))
    covered: dict[str, set[int]] = defaultdict(set)
    for entity in hidden:
        if entity.document in row:
            covered[entity.document].update(range(entity.start, entity.end))
            alarm = not touches(entity, no_alarm[entity.document])
            counts[row[entity.document], ALARMS] += alarm
    for entity in gold:
        if entity.document in row:
            clear, length = in_clear(entity, covered[entity.document]), in_clear(entity, set())
            counts[row[entity.document], :ALARMS] += numpy.asarray(
                [1, clear == 0, clear < length, length, length - clear]
            )
    return counts


def in_clear(entity: Entity, hidden: set[int]) -> int:
    """RETURNS (int): Characters of the entity, white space aside, that are not in `hidden`."""
    text = entity.text or "x" * (entity.end - entity.start)
    return sum(entity.start + i not in hidden and not char.isspace() for i, char in enumerate(text))
