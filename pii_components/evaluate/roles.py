"""Whose name is it? Roles of names, where gold has them.

    table = match_roles(gold, predicted, documents=["1"])
    score(table.select(labels=["CITED"]).per_document, weights).f1

A gold name and a predicted name that share a character are one pair, whatever their roles. A pair with the same role is right. One
with two roles is a miss of the first and a false alarm of the second. A name without a partner counts as in every other score, so
that F1 per role answers both questions at once: was it found, and is it known whose it is. `role_accuracy` asks only the second.
"""

from collections.abc import Iterable, Sequence

import numpy

from ..labels import NAME_STUDENT, ROLES, is_name, role_of
from .matching import FN, FP, NO_MASKS, TP, CountTable, Masks, judged, pair_overlaps
from .metrics import Estimate, rate
from .records import Entity


def has_roles(gold: Iterable[Entity]) -> bool:
    """RETURNS (bool): Whether gold tells a student's name from another one."""
    return any(is_name(entity.label) and entity.label != NAME_STUDENT for entity in gold)


def believed_role(entity: Entity) -> str:
    """RETURNS (str): Whose name a name is taken for. One that is hidden only to be safe has a label that says so, and its likeliest role."""
    return entity.role or role_of(entity.label)


def match_roles(
    gold: Iterable[Entity], predicted: Iterable[Entity], *, documents: Sequence[str], masked: Masks = NO_MASKS
) -> CountTable:
    """Count names by role.

    gold (Iterable[Entity]), predicted (Iterable[Entity]): With the labels that carry roles; other labels are left out.
    documents (Sequence[str]): Ids of all documents. masked (Masks): Stretches whose gold is not known.
    RETURNS (CountTable): Its labels are `labels.ROLES`.
    """
    row = {document: i for i, document in enumerate(documents)}
    names, found = ([e for e in entities if is_name(e.label) and e.document in row] for entities in (gold, predicted))
    pairs = pair_overlaps(names, found)
    met, taken = {id(entity) for entity, _ in pairs}, {id(entity) for _, entity in pairs}
    counts = numpy.zeros((len(row), len(ROLES), 3), dtype="i8")

    def add(entity: Entity, kind: int) -> None:
        counts[row[entity.document], ROLES.index(believed_role(entity)), kind] += 1

    for entity, other in pairs:
        same = believed_role(entity) == believed_role(other)
        add(entity, TP if same else FN)
        if not same:
            add(other, FP)
    for entity in names:
        if id(entity) not in met:
            add(entity, FN)
    for entity in judged((e for e in found if id(e) not in taken), masked):
        add(entity, FP)
    return CountTable(tuple(documents), ROLES, counts)


def role_accuracy(
    gold: Iterable[Entity], predicted: Iterable[Entity], weights: numpy.ndarray, *, documents: Sequence[str]
) -> tuple[int, Estimate | None]:
    """Share of the names that were found whose role is right.

    gold, predicted (Iterable[Entity]): As for `match_roles`. weights (numpy.ndarray): From `metrics.resample`.
    RETURNS (tuple[int, Estimate | None]): Names that were found, and the share; None if there are none.
    """
    row = {document: i for i, document in enumerate(documents)}
    counts = numpy.zeros((len(row), 2), dtype="i8")
    for entity, other in pair_overlaps(*([e for e in side if is_name(e.label)] for side in (gold, predicted))):
        if entity.document in row:
            counts[row[entity.document]] += [believed_role(entity) == believed_role(other), 1]
    return int(counts[:, 1].sum()), rate(counts[:, 0], counts[:, 1], weights)
