"""Parts of a corpus: the split of the JEDM paper, and folds that keep together what belongs together.

    paper_split(22688)["test"]                                      # 13,613 positions
    groups = group_documents(n, students=students, copies=duplicates.groups)
    fold_of = stratified_folds(groups, labels, ids=ids, folds=5, seed=0)

A fold never shares a student, nor a near-duplicate, with another one: else a model is asked about what it has seen. Labels come in
sets, several to a document, so that ways to stratify by one class per row do not fit. Here groups are dealt out one by one, those
that weigh most first, each to the fold that holds least of what it brings; every label weighs the same, and so does the number of
documents. This is iterative stratification (Sechidis et al. 2011) with groups for examples and counts for sets.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from ..errors import Errors, PiiError
from .clean import connected

CRAPII_DOCUMENTS = 22_688
PAPER_PARTS = ("base_train", "verifier_train", "test")
# Of the JEDM paper's repository (mk_train.py): share and seed of base train, then of verifier train among the rest.
_BASE, _BASE_SEED, _VERIFIER, _VERIFIER_SEED = 0.25, 46, 0.2, 5
LEAST_FOR_PAPER = 6


@dataclass(frozen=True, slots=True)
class PartCounts:
    """What a part holds: documents, groups of those that belong together, documents with any label, and per label its spans, and the
    documents that have one."""

    documents: int
    groups: int
    with_pii: int
    spans: Mapping[str, int]
    documents_with: Mapping[str, int]


def paper_split(n: int) -> dict[str, tuple[int, ...]]:
    """RETURNS (dict[str, tuple[int, ...]]): Sorted positions of n documents, in the order of the corpus, for each of `PAPER_PARTS`.

    25 % base train, 15 % verifier train, 60 % test; 5,672, 3,403 and 13,613 of CRAPII's 22,688. RAISES (PiiError): E650, if a part would be empty.
    """
    if n < LEAST_FOR_PAPER:
        raise PiiError(Errors.E650, name="documents", value=n, allowed=f"{LEAST_FOR_PAPER} or more")
    base = set(random.Random(_BASE_SEED).sample(range(n), int(n * _BASE)))
    rest = [i for i in range(n) if i not in base]
    verifier = set(random.Random(_VERIFIER_SEED).sample(rest, int(len(rest) * _VERIFIER)))
    parts = (base, verifier, set(rest) - verifier)
    return {name: tuple(sorted(part)) for name, part in zip(PAPER_PARTS, parts, strict=True)}


def group_documents(
    n: int, *, students: Sequence[str] = (), copies: Iterable[Sequence[int]] = ()
) -> tuple[tuple[int, ...], ...]:
    """RETURNS (tuple[tuple[int, ...], ...]): Each of n documents in one group of what may not be torn apart; sorted.

    students (Sequence[str]): The student of each; empty where nobody knows. copies: Groups of near-duplicates, as positions.
    """
    first: dict[str, int] = {}
    pairs = [(first.setdefault(name, i), i) for i, name in enumerate(students) if name]
    return connected(n, [*pairs, *((group[0], i) for group in copies for i in group)], least=1)


def stratified_folds(
    groups: Sequence[Sequence[int]],
    labels: Sequence[Mapping[str, int]],
    *,
    ids: Sequence[str],
    folds: int = 5,
    seed: int = 0,
) -> list[int]:
    """Deal groups of documents out to folds.

    groups (Sequence[Sequence[int]]): Positions; see `group_documents`. labels (Sequence[Mapping[str, int]]): Per document how many
    spans of each label it has. ids (Sequence[str]): Per document, all different; they break ties, so that the order of the corpus
    makes no difference. folds (int): How many. seed (int): Another one gives other folds.
    RETURNS (list[int]): The fold of each document, from 0.
    RAISES (PiiError): E627, if two ids are equal; E650, if there are fewer groups than folds, or fewer than 2 folds.
    """
    check_ids(ids)
    if not 2 <= folds <= len(groups):
        allowed = f"2 to {len(groups)}, the number of groups of documents"
        raise PiiError(Errors.E650, name="folds", value=folds, allowed=allowed)
    names = sorted({name for document in labels for name, n in document.items() if n})
    counts = [[document.get(name, 0) for name in names] + [1] for document in labels]
    weights = np.array(
        [np.sum([counts[i] for i in group], axis=0) for group in groups], dtype=float
    )
    weights /= weights.sum(axis=0)  # as a share of all there is of a label
    size = (weights**2).sum(axis=1)
    chance = [
        sha256("\n".join([str(seed), *sorted(ids[i] for i in group)]).encode()).digest()
        for group in groups
    ]
    held = np.zeros((folds, weights.shape[1]))
    fold_of = [0] * len(ids)
    for at in sorted(range(len(groups)), key=lambda at: (-round(float(size[at]), 15), chance[at])):
        # The sum of squared shares grows least in the fold with the lowest product: it holds least of what the group brings.
        crowded = np.round(held @ weights[at], 15)
        fold = min(range(folds), key=lambda f: (crowded[f], held[f, -1], f))
        held[fold] += weights[at]
        for i in groups[at]:
            fold_of[i] = fold
    return fold_of


def train_and_dev(
    groups: Sequence[Sequence[int]],
    labels: Sequence[Mapping[str, int]],
    *,
    ids: Sequence[str],
    seed: int = 0,
) -> tuple[list[int], list[int]]:
    """Set documents apart to score on: a fold of five; of fewer, where a fifth would hold fewer than two documents with spans.

    groups, labels, ids, seed: See `stratified_folds`.
    RETURNS (tuple[list[int], list[int]]): Positions of train and of dev. Dev is the fold that takes fewest labels from train, then the
        one that has most labels.
    RAISES (PiiError): E627; E650, if one group holds all spans, so that nothing is left to train on or to score.
    """
    for least in (2, 1):
        for folds in range(min(5, len(groups)), 1, -1):
            fold_of = stratified_folds(groups, labels, ids=ids, folds=folds, seed=seed)
            found = []
            for fold in range(folds):
                dev = [i for i, other in enumerate(fold_of) if other == fold]
                train = [i for i, other in enumerate(fold_of) if other != fold]
                parts = count_parts({"train": train, "dev": dev}, labels)
                if min(part.with_pii for part in parts.values()) >= least:
                    known = [len(parts[name].spans) for name in ("train", "dev")]
                    found.append(
                        (-known[0], -known[1], abs(len(dev) * folds - len(ids)), train, dev)
                    )
            if found:
                return min(found)[3:]
    allowed = "2 or more; texts of one writer and near-duplicates are one"
    raise PiiError(Errors.E650, name="groups of documents with spans", value=1, allowed=allowed)


def count_parts(
    parts: Mapping[str, Iterable[int]],
    labels: Sequence[Mapping[str, int]],
    groups: Sequence[Sequence[int]] = (),
) -> dict[str, PartCounts]:
    """RETURNS (dict[str, PartCounts]): What each part of positions holds.

    labels (Sequence[Mapping[str, int]]): Per document its spans per label. groups: See `group_documents`; without it every document is one.
    """
    group_of = {i: number for number, group in enumerate(groups) for i in group}
    result = {}
    for name, members in parts.items():
        spans, having = Counter[str](), Counter[str]()
        seen, with_pii, documents = set(), 0, 0
        for i in members:
            present = +Counter(labels[i])
            spans.update(present)
            having.update(present.keys())
            with_pii += bool(present)
            documents += 1
            seen.add(group_of.get(i, -1 - i))
        result[name] = PartCounts(
            documents,
            len(seen),
            with_pii,
            dict(sorted(spans.items())),
            dict(sorted(having.items())),
        )
    return result


def check_ids(ids: Sequence[str]) -> None:
    """RAISES (PiiError): E627, with the number of a record whose id another one has."""
    seen: set[str] = set()
    for number, name in enumerate(ids, 1):
        if name in seen:
            raise PiiError(Errors.E627, number=number)
        seen.add(name)
