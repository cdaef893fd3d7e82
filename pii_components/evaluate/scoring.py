"""The whole report on any corpus: scores, what stays visible, roles, recall by gender and culture of the name.

    report = score_report([run], documents, profile=Profile.load("crapii"))
    report["systems"]["ours"]["roles"]["per_role"]["CITED"]

Gold may tell roles or not. What is scored as personal information is what the profile hides: there every hidden name counts as
NAME_STUDENT, on both sides, as in CRAPII, and a cited author that is hidden is a false alarm. Roles are scored beside it, on labels
as they are, where gold has roles.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..corpus.formats.record import Tally
from ..errors import Errors, PiiError
from ..labels import LABELS, NAME_STUDENT, ROLES
from ..profiles import Profile
from .fairness import NameSource, found_in_document, name_source, recall_by_group
from .metrics import N_RESAMPLES, SEED, resample, score
from .paper_tables import group_row
from .records import CRAPII_LABELS, FOUR_LABELS, Entity, GoldDocument
from .report import build_report, masks, plain
from .roles import has_roles, match_roles, role_accuracy
from .systems import Run, crapii_label

Protects = Callable[[str], bool]


def score_report(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    *,
    profile: Profile,
    names: NameSource | None = None,
    resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """All numbers on some systems.

    runs (Sequence[Run]): Predictions with labels as they are, the system of interest first. documents (Sequence[GoldDocument]): Gold.
    profile (Profile): Says what is hidden. names (NameSource | None): For groups of names; the compact table if None.
    resamples (int), seed (int): Of the bootstrap.
    RETURNS (dict[str, Any]): As `report.build_report`, with `roles` and `names` for each system where gold allows them.
    """
    gold = as_hidden(documents, profile.protects)
    report = build_report(
        [run_as_hidden(run, profile.protects) for run in runs], gold, views=views_of(gold), n_resamples=resamples, seed=seed
    )
    entities = [entity for doc in documents for entity in doc.entities]
    for run in runs:
        part = report["systems"][run.name]
        if has_roles(entities):
            part["roles"] = roles_report(run, documents, resamples=resamples, seed=seed)
    students = [entity for doc in gold for entity in doc.entities if entity.label == NAME_STUDENT]
    if students:
        source = names or name_source("table")
        ids = [doc.id for doc in documents]
        found = {run.name: found_in_document(students, run_as_hidden(run, profile.protects).entities) for run in runs}
        groups = [source.group(entity.text) for entity in students]
        weights = resample(len(ids), n_resamples=resamples, seed=seed)
        tests = recall_by_group(students, groups, found, documents=ids, weights=weights)
        for run in runs:
            rows = [group_row(test, {}) for test in tests if test.system == run.name]
            report["systems"][run.name]["names"] = {
                "source": source.name,
                "rule": "the same string predicted as a name anywhere in the document",
                "rows": [{k: v for k, v in row.items() if k not in ("equal", "total_equal", "system")} for row in rows],
            }
    return report


def as_hidden(documents: Sequence[GoldDocument], protects: Protects) -> list[GoldDocument]:
    """RETURNS (list[GoldDocument]): Gold that a profile hides (and all that CRAPII labels), names as NAME_STUDENT."""
    return [
        replace(
            doc,
            entities=tuple(
                replace(entity, label=crapii_label(entity.label, protects))
                for entity in doc.entities
                if protects(entity.label) or entity.label in CRAPII_LABELS
            ),
        )
        for doc in documents
    ]


def run_as_hidden(run: Run, protects: Protects) -> Run:
    """RETURNS (Run): The same with every hidden name as NAME_STUDENT; names that are kept keep their label and are not hidden."""

    def shown(entity: Entity) -> Entity:
        label = crapii_label(entity.label, protects)
        return entity if label == entity.label else replace(entity, label=label)

    hidden = frozenset(crapii_label(label, protects) for label in run.protected if protects(label) or label in CRAPII_LABELS)
    return replace(run, entities=tuple(map(shown, run.entities)), protected=hidden)


def views_of(documents: Sequence[GoldDocument]) -> dict[str, tuple[str, ...]]:
    """RETURNS (dict[str, tuple[str, ...]]): "all": CRAPII's labels and whatever else this gold has; "four": the JEDM paper's."""
    there = {entity.label for doc in documents for entity in doc.entities}
    return {"all": (*CRAPII_LABELS, *(x for x in LABELS if x in there and x not in CRAPII_LABELS)), "four": FOUR_LABELS}


def roles_report(run: Run, documents: Sequence[GoldDocument], *, resamples: int, seed: int) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): F1 per role with support and interval, over all roles, and the share of found names with the right one."""
    ids = [doc.id for doc in documents]
    gold = [entity for doc in documents for entity in doc.entities]
    weights = resample(len(ids), n_resamples=resamples, seed=seed)
    table = match_roles(gold, run.entities, documents=ids, masked=masks(documents))
    found, accuracy = role_accuracy(gold, run.entities, weights, documents=ids)
    return {
        "found": found,
        **plain({"accuracy": accuracy}),
        "all": plain(score(table.per_document, weights)),
        "per_role": {role: plain(score(table.select(labels=[role]).per_document, weights)) for role in ROLES},
    }


def check_gold(tally: Tally, *, strict: bool) -> dict[str, Any]:
    """What of the gold could not be used.

    tally (Tally): From `read_gold`. strict (bool): Whether that is an error.
    RETURNS (dict[str, Any]): Count, and counts by reason and label. RAISES (PiiError): E727.
    """
    reasons = Counter((masked.reason, masked.label) for masked in tally.masked)
    if strict and reasons:
        shown = "; ".join(f"{label} {reason}: {n}" for (reason, label), n in sorted(reasons.items()))
        raise PiiError(Errors.E727, n=len(tally.masked), reasons=shown)
    return {
        "count": len(tally.masked),
        "by_reason": [{"reason": reason, "label": label, "count": n} for (reason, label), n in sorted(reasons.items())],
    }
