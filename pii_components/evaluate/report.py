"""From runs to one report: plain data with counts, scores, labels, versions and the names of files.

    report = build_report(runs, documents, views={"all": CRAPII_LABELS, "four": FOUR_LABELS})
    write_report(report, Path("metrics/crapii.json"))

Parts of a system's report: `views` (on all documents) and `subsets` (on each part of the data set), both by set of
labels. What a later
analysis adds (by group of names, cost, perturbation) goes beside them under its own name.
"""

import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy

from ..about import __version__
from ..errors import Errors, PiiError
from ..files.formats.base import Tally
from ..files.record import reason_of
from ..labels import LABELS, NAME_STUDENT, ROLES
from ..profiles import Profile
from .gold import CRAPII_LABELS, FOUR_LABELS, Entity, GoldDocument
from .match import CountTable, cover, judged, match_bag, match_overlap, match_position, match_tokens
from .metrics import (
    N_RESAMPLES,
    SEED,
    Coverage,
    Estimate,
    Exposure,
    GroupTest,
    NameSource,
    Score,
    coverage,
    difference,
    expose,
    exposure,
    found_in_document,
    has_roles,
    match_roles,
    name_source,
    paired_p,
    recall_by_group,
    resample,
    role_accuracy,
    score,
)
from .systems import Run, crapii_label

FORMAT = 1
MATCHINGS = ("bag", "position", "overlap", "tokens")
Views = Mapping[str, Sequence[str]]
_PACKAGES = ("spacy", "numpy", "torch", "spacy-curated-transformers", "presidio-analyzer", "phonenumbers", "tldextract")


def label_views(exclude: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
    """The two sets of labels that are reported.

    exclude (Sequence[str]): Labels that are left out of both. RETURNS (dict[str, tuple[str, ...]]): "all" and "four".
    RAISES (PiiError): E002 for a label that CRAPII does not have.
    """
    for label in exclude:
        if label not in CRAPII_LABELS:
            raise PiiError(Errors.E002, label=label, allowed=", ".join(CRAPII_LABELS))
    views = {"all": CRAPII_LABELS, "four": FOUR_LABELS}
    return {name: tuple(label for label in labels if label not in exclude) for name, labels in views.items()}


def count_tables(run: Run, documents: Sequence[GoldDocument], labels: Sequence[str]) -> dict[str, CountTable]:
    """RETURNS (dict[str, CountTable]): One table per way of matching, over all documents and these labels."""
    ids = [doc.id for doc in documents]
    gold = [entity for doc in documents for entity in doc.entities]
    tokens = {doc.id: doc.tokens for doc in documents}
    masked = masks(documents)
    found = judged(run.entities, masked)
    return {
        "bag": match_bag(gold, found, documents=ids, labels=labels),
        "position": match_position(gold, found, documents=ids, labels=labels),
        "overlap": match_overlap(gold, run.entities, documents=ids, labels=labels, masked=masked),
        "tokens": match_tokens(gold, run.entities, documents=ids, labels=labels, tokens=tokens, masked=masked),
    }


def masks(documents: Sequence[GoldDocument]) -> dict[str, tuple[tuple[int, int], ...]]:
    """RETURNS (dict[str, tuple[tuple[int, int], ...]]): Masked stretches of the documents that have some."""
    return {doc.id: doc.masked for doc in documents if doc.masked}


def split_rows(documents: Sequence[GoldDocument]) -> dict[str, numpy.ndarray]:
    """RETURNS (dict[str, numpy.ndarray]): For each part of the data set, booleans that choose its documents."""
    splits = sorted({doc.split for doc in documents})
    return {split: numpy.asarray([doc.split == split for doc in documents]) for split in splits}


def system_report(
    run: Run, documents: Sequence[GoldDocument], tables: Mapping[str, CountTable], *, views: Views, n_resamples: int, seed: int
) -> dict[str, Any]:
    """All numbers of one system.

    run (Run): Its predictions. documents (Sequence[GoldDocument]): Gold. tables (Mapping[str, CountTable]): From
    `count_tables`.
    views (Views): Sets of labels. n_resamples (int), seed (int): Of the bootstrap.
    RETURNS (dict[str, Any]): Plain data.
    """
    ids = [doc.id for doc in documents]
    # "Clean" means: nobody annotated anything in it, whatever labels a view counts, and nobody had to leave anything open.
    clean = numpy.asarray([not doc.entities and not doc.masked for doc in documents])
    words, masked, known = [doc.n_words for doc in documents], masks(documents), [e for doc in documents for e in doc.entities]
    covers, exposures = {}, {}
    for view, labels in views.items():
        wanted = [entity for entity in known if entity.label in labels]
        covers[view] = replace(
            cover(wanted, run.hidden, documents=ids),
            predicted=cover((), judged(run.hidden, masked), documents=ids).predicted,
        )
        exposures[view] = expose(wanted, run.hidden, documents=ids, words=words, known=known, masked=masked)

    def part(rows: numpy.ndarray, *, whole: bool) -> dict[str, Any]:
        weights = resample(int(rows.sum()), n_resamples=n_resamples, seed=seed)
        out: dict[str, Any] = {}
        for view, labels in views.items():
            scores = {
                name: score(tables[name].select(rows=rows, labels=labels).per_document, weights)
                for name in (MATCHINGS if whole else ("bag", "position"))
            }
            out[view] = {name: plain(value) for name, value in scores.items()}
            if whole:
                out[view]["per_label"] = {
                    label: {
                        name: plain(score(tables[name].select(rows=rows, labels=[label]).per_document, weights))
                        for name in MATCHINGS
                    }
                    for label in labels
                }
            out[view]["coverage"] = plain(coverage(covers[view].select(rows), clean[rows], weights))
            if whole:
                out[view]["exposure"] = plain(exposure(exposures[view], weights))
        return out

    rows = split_rows(documents)
    return {
        "about": dict(run.about),
        "protected_labels": sorted(run.protected),
        "predicted": dict(sorted(Counter(entity.label for entity in run.entities).items())),
        "time": {
            "seconds": round(run.seconds, 6),
            "words_per_second": round(words_per_second(run), 1),
            "cpu_seconds": round(run.cpu_seconds, 6),
            "words_per_cpu_second": round(words_per_cpu_second(run), 1),
            "stored": run.stored,
        },
        "views": part(numpy.ones(len(ids), dtype=bool), whole=True),
        "subsets": {name: part(chosen, whole=False) for name, chosen in rows.items()} if len(rows) > 1 else {},
    }


def build_report(
    runs: Sequence[Run], documents: Sequence[GoldDocument], *, views: Views, n_resamples: int = 1000, seed: int = 1
) -> dict[str, Any]:
    """The report on all systems.

    runs (Sequence[Run]): Predictions, the system of interest first. documents (Sequence[GoldDocument]): Gold. views
    (Views): Sets of labels.
    n_resamples (int), seed (int): Of the bootstrap, the same for all.
    RETURNS (dict[str, Any]): Plain data without `command` and `data`, which the caller knows.
    RAISES (PiiError): E709, if two systems have one name.
    """
    names = [run.name for run in runs]
    for name, n in Counter(names).items():
        if n > 1:
            raise PiiError(Errors.E709, name=name)
    labels = tuple(dict.fromkeys(label for view in views.values() for label in view))
    tables = {run.name: count_tables(run, documents, labels) for run in runs}
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)

    def counts(name: str, view: str, matching: str) -> numpy.ndarray:
        return tables[name][matching].select(labels=views[view]).per_document

    differences = {
        f"{names[0]} - {name}": {
            view: {
                m: plain(difference(counts(names[0], view, m), counts(name, view, m), weights))
                | {"p_f5": paired_p(counts(names[0], view, m), counts(name, view, m), weights)}
                for m in MATCHINGS
            }
            for view in views
        }
        for name in names[1:]
    }
    timed = [run for run in runs if not run.stored]
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "bootstrap": {"unit": "document", "resamples": n_resamples, "seed": seed, "level": 0.95},
        "views": {view: list(chosen) for view, chosen in views.items()},
        "systems": {
            run.name: system_report(run, documents, tables[run.name], views=views, n_resamples=n_resamples, seed=seed)
            for run in runs
        },
        "differences": differences,
        # Only what ran here, now, on this machine can be compared.
        "speed_ratio": {
            f"{timed[0].name} / {run.name}": {
                "words_per_second": round(words_per_second(timed[0]) / words_per_second(run), 2),
                "words_per_cpu_second": round(words_per_cpu_second(timed[0]) / words_per_cpu_second(run), 2),
            }
            for run in timed[1:]
        },
    }


def words_per_cpu_second(run: Run) -> float:
    """RETURNS (float): Words between white space, by second of processor time, all processors together."""
    return run.words / max(run.cpu_seconds, 1e-9)


def words_per_second(run: Run) -> float:
    """RETURNS (float): Words between white space, by second of wall-clock time."""
    return run.words / max(run.seconds, 1e-9)


def describe_data(documents: Sequence[GoldDocument], *, file: str, sha256: str) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Which data: name and checksum of the file, counts of documents, words and labels."""
    support = Counter(entity.label for doc in documents for entity in doc.entities)
    return {
        "file": file,
        "sha256": sha256,
        "documents": len(documents),
        "documents_with_pii": sum(bool(doc.entities) for doc in documents),
        "words": sum(doc.n_words for doc in documents),
        "splits": dict(sorted(Counter(doc.split for doc in documents).items())),
        "support": {label: support.get(label, 0) for label in dict.fromkeys((*CRAPII_LABELS, *sorted(support)))},
    }


def versions() -> dict[str, str]:
    """RETURNS (dict[str, str]): Of Python, of this package, and of those of the packages behind it that are installed."""
    found = {"python": platform.python_version(), "pii_components": __version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What speed depends on: processors and threads."""
    return {"processor": platform.machine(), "cpus": os.cpu_count(), "omp_num_threads": os.environ.get("OMP_NUM_THREADS")}


def plain(value: Any) -> Any:
    """Plain data from records, rounded to four digits.

    value (Any): Score, Coverage, Exposure, Estimate, a dictionary of them, or None.
    RETURNS (Any): Estimates as the value under their name, and the interval under `<name>_95`; what is None is left
    out.
    """
    if isinstance(value, Score | Coverage | Exposure):
        return plain({"support": value.support} | _fields(value) if isinstance(value, Score) else _fields(value))
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for name, item in value.items():
            if isinstance(item, Estimate):
                out[name] = round(item.value, 4)
                out[f"{name}_95"] = [round(item.low, 4), round(item.high, 4)]
            elif item is not None:
                out[name] = item
        return out
    return asdict(value)


def _fields(value: Score | Coverage | Exposure) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def check_place(path: Path) -> None:
    """Refuse a place for a report before the work is done that it would hold.

    path (Path): The file. RAISES (PiiError): E512, if it is a folder, or a file stands where a folder must be made.
    """
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir() or not above.is_dir():
        raise PiiError(
            Errors.E512, what=path.name, reason="a folder has this name" if path.is_dir() else "no folder can be made there"
        )


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write a report as JSON.

    report (Mapping[str, Any]): Plain data. path (Path): The file; folders are made.
    RAISES (PiiError): E512, if that fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    except OSError as err:
        raise PiiError(Errors.E512, what=path.name, reason=reason_of(err)) from err


# The whole report on any corpus: scores, what stays visible, roles, recall by gender and culture of the name.

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
            rows = [group_row(test) for test in tests if test.system == run.name]
            report["systems"][run.name]["names"] = {
                "source": source.name,
                "rule": "the same string predicted as a name anywhere in the document",
                "rows": [{k: v for k, v in row.items() if k != "system"} for row in rows],
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


def group_row(test: GroupTest) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Counts of a group of names, its recall, and its test against the others."""
    row: dict[str, Any] = {
        "category": test.category, "group": test.group, "system": test.system, "total": test.total, "hits": test.hits,
    }  # fmt: skip
    return row | plain({"gap": test.gap}) | {"recall": round(test.hits / test.total, 6)} | test_values(test)


def test_values(test: GroupTest) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The Mann-Whitney test of a group; empty where it has nobody to be compared with."""
    return {} if numpy.isnan(test.u) else {"u": test.u, "p": float(f"{test.p:.4g}"), "significance": test.significance}
