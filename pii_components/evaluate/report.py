"""From runs to one report: plain data with counts, scores, labels, versions and the names of files.

    report = score_report(runs, documents, profile=Profile.load("crapii"))
    write_report(report, Path("metrics/crapii.json"))

Parts of a system's report: `views` (on all documents) and `subsets` (on each part of the data set), both by set of labels; `roles` and
`names` where gold allows them.
"""

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy

from .. import __version__
from ..errors import Errors, PiiError
from ..files.formats.base import ReadStats
from ..files.writers import writing
from ..labels import LABELS, NAME_STUDENT, ROLES
from ..profiles import Profile
from . import match, metrics
from .gold import CRAPII_LABELS, FOUR_LABELS, Entity, GoldDocument, masks
from .match import CountTable
from .metrics import N_RESAMPLES, SEED, Estimate, GroupTest, NameSource, Score
from .systems import Protects, Run, crapii_label, package_version

FORMAT = 1
MATCHINGS = ("bag", "position", "overlap", "tokens")
Views = Mapping[str, Sequence[str]]
Tables = Mapping[str, CountTable]
_PACKAGES = (
    "spacy",
    "numpy",
    "torch",
    "spacy-curated-transformers",
    "presidio-analyzer",
    "phonenumbers",
    "tldextract",
)


def count_tables(
    run: Run, documents: Sequence[GoldDocument], labels: Sequence[str]
) -> dict[str, CountTable]:
    """One table per way of matching, over all documents and these labels."""
    gold, masked = [entity for doc in documents for entity in doc.entities], masks(documents)
    found = match.judged(run.entities, masked)
    common: dict[str, Any] = {"documents": [doc.id for doc in documents], "labels": labels}
    tokens = {doc.id: doc.tokens for doc in documents}
    return {
        "bag": match.match_bag(gold, found, **common),
        "position": match.match_position(gold, found, **common),
        "overlap": match.match_overlap(gold, run.entities, masked=masked, **common),
        "tokens": match.match_tokens(gold, run.entities, tokens=tokens, masked=masked, **common),
    }


def system_report(
    run: Run,
    documents: Sequence[GoldDocument],
    tables: Tables,
    *,
    views: Views,
    n_resamples: int,
    seed: int,
) -> dict[str, Any]:
    """All numbers of one system, plain data. tables (Tables): From `count_tables`."""
    # "Clean" means: nobody annotated anything in it, whatever labels a view counts, and nobody had to leave anything open.
    clean = numpy.asarray([not doc.entities and not doc.masked for doc in documents])
    known, masked = [entity for doc in documents for entity in doc.entities], masks(documents)
    common: dict[str, Any] = {
        "documents": [doc.id for doc in documents],
        "words": [doc.n_words for doc in documents],
    }
    seen = {
        view: match.expose(
            [e for e in known if e.label in labels],
            run.hidden,
            known=known,
            masked=masked,
            **common,
        )
        for view, labels in views.items()
    }

    def part(rows: numpy.ndarray, matchings: Sequence[str]) -> dict[str, Any]:
        weights = metrics.resample(int(rows.sum()), n_resamples=n_resamples, seed=seed)

        def scores(labels: Sequence[str]) -> dict[str, Any]:
            counts = {m: tables[m].select(rows=rows, labels=labels).per_document for m in matchings}
            return {m: plain(metrics.score(counts[m], weights)) for m in matchings}

        out: dict[str, Any] = {}
        for view, labels in views.items():
            found, seen_part = (
                scores(labels),
                {"coverage": plain(metrics.coverage(seen[view][rows], clean[rows], weights))},
            )
            if matchings == MATCHINGS:
                found["per_label"] = {label: scores([label]) for label in labels}
                seen_part["exposure"] = plain(metrics.exposure(seen[view], weights))
            out[view] = found | seen_part
        return out

    splits = sorted({doc.split for doc in documents})
    subsets = {
        split: numpy.asarray([doc.split == split for doc in documents])
        for split in splits
        if len(splits) > 1
    }
    speed, cpu_speed = _speed(run)
    time = {
        "seconds": round(run.seconds, 6),
        "words_per_second": round(speed, 1),
        "cpu_seconds": round(run.cpu_seconds, 6),
    }
    return {
        "about": dict(run.about),
        "protected_labels": sorted(run.protected),
        "predicted": dict(sorted(Counter(entity.label for entity in run.entities).items())),
        "time": {**time, "words_per_cpu_second": round(cpu_speed, 1), "stored": run.stored},
        "views": part(numpy.ones(len(documents), dtype=bool), MATCHINGS),
        "subsets": {split: part(rows, ("bag", "position")) for split, rows in subsets.items()},
    }


def _speed(run: Run) -> tuple[float, float]:
    """Words per second and per second of processors."""
    return run.words / max(run.seconds, 1e-9), run.words / max(run.cpu_seconds, 1e-9)


def build_report(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    *,
    views: Views,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """The report on all systems, without `command` and `data`, which the caller knows.

    runs (Sequence[Run]): Predictions, the system of interest first. views (Views): Sets of labels.
    RAISES (PiiError): E709, if two systems have one name.
    """
    for name, n in Counter(run.name for run in runs).items():
        if n > 1:
            raise PiiError(Errors.E709, name=name)
    labels = tuple(dict.fromkeys(label for view in views.values() for label in view))
    tables = {run.name: count_tables(run, documents, labels) for run in runs}
    weights = metrics.resample(len(documents), n_resamples=n_resamples, seed=seed)
    first = runs[0].name

    def beside(other: str, view: str, matching: str) -> dict[str, Any]:
        ours, theirs = (
            tables[name][matching].select(labels=views[view]).per_document
            for name in (first, other)
        )
        return plain(metrics.difference(ours, theirs, weights)) | {
            "p_f5": metrics.paired_p(ours, theirs, weights)
        }

    timed = [
        run for run in runs if not run.stored
    ]  # only what ran here, now, on this machine can be compared
    measured = ("words_per_second", "words_per_cpu_second")
    ratios = {
        f"{timed[0].name} / {run.name}": {
            name: round(a / b, 2)
            for name, a, b in zip(measured, _speed(timed[0]), _speed(run), strict=True)
        }
        for run in timed[1:]
    }
    each: dict[str, Any] = {"views": views, "n_resamples": n_resamples, "seed": seed}
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "bootstrap": {
            "unit": "document",
            "resamples": n_resamples,
            "seed": seed,
            "level": metrics.LEVEL,
        },
        "views": {view: list(chosen) for view, chosen in views.items()},
        "systems": {
            run.name: system_report(run, documents, tables[run.name], **each) for run in runs
        },
        "differences": {
            f"{first} - {run.name}": {
                view: {m: beside(run.name, view, m) for m in MATCHINGS} for view in views
            }
            for run in runs[1:]
        },
        "speed_ratio": ratios,
    }


def describe_data(documents: Sequence[GoldDocument], *, file: str, sha256: str) -> dict[str, Any]:
    """Which data: name and checksum of the file, counts of documents, words and labels."""
    support = Counter(entity.label for doc in documents for entity in doc.entities)
    return {
        "file": file,
        "sha256": sha256,
        "documents": len(documents),
        "documents_with_pii": sum(bool(doc.entities) for doc in documents),
        "words": sum(doc.n_words for doc in documents),
        "splits": dict(sorted(Counter(doc.split for doc in documents).items())),
        "support": {
            label: support[label] for label in dict.fromkeys((*CRAPII_LABELS, *sorted(support)))
        },
    }


def versions() -> dict[str, str]:
    """Of Python, of this package, and of those of the packages behind it that are installed."""
    behind = {
        package: found
        for package in _PACKAGES
        if (found := package_version(package)) != "not installed"
    }
    return {"python": platform.python_version(), "pii_components": __version__, **behind}


def machine() -> dict[str, Any]:
    """What speed depends on: processors and threads."""
    return {
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
    }


def plain(value: Score | Mapping[str, Any]) -> dict[str, Any]:
    """Plain data from a score or a dictionary of estimates, rounded to four digits: the value under its name, the interval under
    `<name>_95`; what is None is left out."""
    if isinstance(value, Score):
        value = {"support": value.support, **value._asdict()}
    out: dict[str, Any] = {}
    for name, item in value.items():
        if isinstance(item, Estimate):
            out[name] = round(item.value, 4)
            out[f"{name}_95"] = [round(item.low, 4), round(item.high, 4)]
        elif item is not None:
            out[name] = item
    return out


def check_place(path: Path) -> None:
    """Refuse a place for a report before the work is done. RAISES (PiiError): E512: a folder, or a file stands where one must be made."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir():
        raise PiiError(Errors.E512, what=path.name, reason="a folder has this name")
    if not above.is_dir():
        raise PiiError(Errors.E512, what=path.name, reason="no folder can be made there")


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write plain data as JSON; folders are made. RAISES (PiiError): E512, if that fails."""
    with writing(path.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def score_report(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    *,
    profile: Profile,
    names: NameSource | None = None,
    resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """As `build_report`, with `roles` and `names` for each system where gold allows them.

    runs (Sequence[Run]): Predictions with labels as they are, the system of interest first. profile (Profile): Says what is hidden.
    names (NameSource | None): For groups of names; the compact table if None. resamples (int), seed (int): Of the bootstrap.
    """
    gold = as_hidden(documents, profile.protects)
    hidden = [run_as_hidden(run, profile.protects) for run in runs]
    report = build_report(hidden, gold, views=views_of(gold), n_resamples=resamples, seed=seed)
    systems = report["systems"]
    weights = metrics.resample(len(documents), n_resamples=resamples, seed=seed)
    if match.has_roles(entity for doc in documents for entity in doc.entities):
        for run in runs:
            systems[run.name]["roles"] = roles_report(run, documents, weights)
    students = [entity for doc in gold for entity in doc.entities if entity.label == NAME_STUDENT]
    if students:
        source = names or metrics.name_source("table")
        found = {run.name: metrics.found_in_document(students, run.entities) for run in hidden}
        groups = [source.group(entity.text) for entity in students]
        tests = metrics.recall_by_group(
            students, groups, found, documents=[doc.id for doc in documents], weights=weights
        )
        rule = "the same string predicted as a name anywhere in the document"
        for system in systems.values():
            system["names"] = {"source": source.name, "rule": rule, "rows": []}
        for row in map(group_row, tests):
            systems[row.pop("system")]["names"]["rows"].append(row)
    return report


def as_hidden(documents: Sequence[GoldDocument], protects: Protects) -> list[GoldDocument]:
    """Gold that a profile hides (and all that CRAPII labels), names as NAME_STUDENT."""

    def kept(doc: GoldDocument) -> tuple[Entity, ...]:
        hidden = (e for e in doc.entities if protects(e.label) or e.label in CRAPII_LABELS)
        return tuple(replace(e, label=crapii_label(e.label, protects)) for e in hidden)

    return [replace(doc, entities=kept(doc)) for doc in documents]


def run_as_hidden(run: Run, protects: Protects) -> Run:
    """The same with every hidden name as NAME_STUDENT; names that are kept keep their label and are not hidden."""
    entities = tuple(
        replace(entity, label=crapii_label(entity.label, protects)) for entity in run.entities
    )
    hidden = frozenset(
        crapii_label(label, protects)
        for label in run.protected
        if protects(label) or label in CRAPII_LABELS
    )
    return replace(run, entities=entities, protected=hidden)


def views_of(documents: Sequence[GoldDocument]) -> dict[str, tuple[str, ...]]:
    """ "all": CRAPII's labels and whatever else this gold has; "four": the JEDM paper's."""
    there = {entity.label for doc in documents for entity in doc.entities}
    return {
        "all": (*CRAPII_LABELS, *(x for x in LABELS if x in there and x not in CRAPII_LABELS)),
        "four": FOUR_LABELS,
    }


def roles_report(
    run: Run, documents: Sequence[GoldDocument], weights: numpy.ndarray
) -> dict[str, Any]:
    """F1 per role with support and interval, over all roles, and the share of found names with the right one."""
    sides = [entity for doc in documents for entity in doc.entities], run.entities
    ids = [doc.id for doc in documents]
    table = match.match_roles(*sides, documents=ids, masked=masks(documents))
    among_found = match.match_roles(*sides, documents=ids, missed=False).per_document
    found = among_found[:, match.TP] + among_found[:, match.FN]
    return {
        "found": int(found.sum()),
        **plain({"accuracy": metrics.rate(among_found[:, match.TP], found, weights)}),
        "all": plain(metrics.score(table.per_document, weights)),
        "per_role": {
            role: plain(metrics.score(table.select(labels=[role]).per_document, weights))
            for role in ROLES
        },
    }


def check_gold(tally: ReadStats, *, strict: bool) -> dict[str, Any]:
    """What of the gold could not be used: count, and counts by reason and label. tally (ReadStats): From `read_gold`.
    RAISES (PiiError): E727, if there is any and `strict`."""
    reasons = sorted(Counter((masked.reason, masked.label) for masked in tally.masked).items())
    if strict and reasons:
        shown = "; ".join(f"{label} {reason}: {n}" for (reason, label), n in reasons)
        raise PiiError(Errors.E727, n=len(tally.masked), reasons=shown)
    by_reason = [{"reason": reason, "label": label, "count": n} for (reason, label), n in reasons]
    return {"count": len(tally.masked), "by_reason": by_reason}


def group_row(test: GroupTest) -> dict[str, Any]:
    """Counts of a group of names, its recall, and its test against the others if it has somebody to compare with."""
    row: dict[str, Any] = {
        name: getattr(test, name) for name in ("category", "group", "system", "total", "hits")
    }
    row |= plain({"recall": test.recall, "gap": test.gap}) | {
        "recall": round(test.hits / test.total, 6)
    }
    if not numpy.isnan(test.u):
        row |= {
            "u": test.u,
            "p": float(f"{test.p:.4g}"),
            "significance": metrics.significance(test.p),
        }
    return row
