"""From runs to one report: plain data with counts, scores, labels, versions and the names of files.

    report = score_report(runs, documents, profile=Profile.load("kaggle"))
    write_report(report, Path("metrics/crapii.json"))

    print_score(report)

Parts of a system's report: `views` by set of labels; `roles` and `names` where gold allows them. Tables are made of
plain data as it is in the file, so that an old one can be shown again.
"""

import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
from rich.console import Console
from rich.table import Table

from .. import __version__
from ..errors import Errors, PiiError
from ..files.writers import writing
from ..labels import LABELS, NAME_STUDENT, ROLES
from ..profiles import Profile
from . import metrics
from .gold import CRAPII_LABELS, FOUR_LABELS, GoldDocument, Protects, Run, masks
from .metrics import N_RESAMPLES, SEED, CountTable, Estimate, GroupTest
from .systems import crapii_label, package_version

FORMAT = 1
MATCHINGS = ("bag", "position", "overlap", "tokens")
ALL_LABELS = "all labels"
# A label must stand in so many documents for its difference to be judged by itself.
LEAST_DOCUMENTS = 3
Views = Mapping[str, Sequence[str]]
Tables = Mapping[str, CountTable]
VIEW_TITLES = {
    "all": "all labels",
    "four": "four types (NAME, URL, EMAIL, PHONE), as in the JEDM paper",
}
Report = Mapping[str, Any]
_PACKAGES = (
    "spacy",
    "numpy",
    "torch",
    "spacy-curated-transformers",
    "presidio-analyzer",
    "phonenumbers",
    "phonenumberslite",
    "tldextract",
)


def score_report(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    *,
    profile: Profile,
    labels: Sequence[str] = (),
    resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """The report on all systems, without `command` and `data`, which the caller knows.

    runs (Sequence[Run]): Predictions with labels as they are, the system of interest first.
    profile (Profile): Says what is hidden.
    labels (Sequence[str]): Those that annotators looked for: what has another label and lies on no gold is neither right nor
        wrong. All, if empty.
    resamples (int), seed (int): Of the bootstrap.
    """
    runs = [looked_for(run, documents, labels) for run in runs] if labels else runs
    gold = as_hidden(documents, profile.protects)
    hidden = [run_as_hidden(run, profile.protects) for run in runs]
    views = views_of(gold)
    if labels:
        counted = [label for label in labels if is_counted(label, profile.protects)]
        names = dict.fromkeys(crapii_label(label, profile.protects) for label in counted)
        views = {"all": tuple(names)}
    every = tuple(dict.fromkeys(label for view in views.values() for label in view))
    tables = {run.name: count_tables(run, gold, every) for run in hidden}
    bootstrap = {"resamples": resamples, "seed": seed}
    weights = metrics.resample(len(gold), n_resamples=resamples, seed=seed)
    systems = {
        run.name: system_report(run, gold, tables[run.name], views, weights) for run in hidden
    }
    if metrics.has_roles(entity for doc in documents for entity in doc.entities):
        for run in runs:
            systems[run.name]["roles"] = roles_report(run, documents, weights)
    for name, found in names_reports(hidden, gold, weights).items():
        systems[name]["names"] = found
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "bootstrap": {"unit": "document", **bootstrap, "level": metrics.LEVEL},
        "views": {view: list(chosen) for view, chosen in views.items()},
        "systems": systems,
        "differences": differences(tables, views, weights),
    }


def as_hidden(documents: Sequence[GoldDocument], protects: Protects) -> list[GoldDocument]:
    """RETURNS (list[GoldDocument]): Gold that a profile hides or CRAPII labels; names are NAME_STUDENT."""
    gold = []
    for doc in documents:
        hidden = [e for e in doc.entities if is_counted(e.label, protects)]
        entities = tuple(replace(e, label=crapii_label(e.label, protects)) for e in hidden)
        gold.append(replace(doc, entities=entities))
    return gold


def is_counted(label: str, protects: Protects) -> bool:
    """RETURNS (bool): Whether gold with this label counts."""
    return protects(label) or label in CRAPII_LABELS


def looked_for(run: Run, documents: Sequence[GoldDocument], labels: Sequence[str]) -> Run:
    """RETURNS (Run): The same without what has none of these labels and lies on no gold."""
    gold = {doc.id: [(e.start, e.end) for e in doc.entities] for doc in documents}
    kept = (
        entity
        for entity in run.entities
        if entity.label in labels or metrics.touches(entity, gold.get(entity.document, ()))
    )
    return replace(run, entities=tuple(kept))


def run_as_hidden(run: Run, protects: Protects) -> Run:
    """RETURNS (Run): The same with every hidden name as NAME_STUDENT; names that are kept are not hidden."""
    entities = tuple(
        replace(entity, label=crapii_label(entity.label, protects)) for entity in run.entities
    )
    hidden = [label for label in run.protected if is_counted(label, protects)]
    protected = frozenset(crapii_label(label, protects) for label in hidden)
    return replace(run, entities=entities, protected=protected)


def views_of(documents: Sequence[GoldDocument]) -> dict[str, tuple[str, ...]]:
    """RETURNS (dict): "all": CRAPII's labels and what else this gold has, the user's own labels last; "four": the JEDM paper's."""
    there = {entity.label for doc in documents for entity in doc.entities}
    every = dict.fromkeys((*LABELS, *sorted(there)))
    others = [label for label in every if label in there and label not in CRAPII_LABELS]
    return {"all": (*CRAPII_LABELS, *others), "four": FOUR_LABELS}


def count_tables(
    run: Run, documents: Sequence[GoldDocument], labels: Sequence[str]
) -> dict[str, CountTable]:
    """RETURNS (dict[str, CountTable]): By way of matching, over all documents and these labels."""
    gold, masked = [entity for doc in documents for entity in doc.entities], masks(documents)
    found = metrics.judged(run.entities, masked)
    common: dict[str, Any] = {"documents": [doc.id for doc in documents], "labels": labels}
    tokens = {doc.id: doc.tokens for doc in documents}
    return {
        "bag": metrics.match_bag(gold, found, **common),
        "position": metrics.match_position(gold, found, **common),
        "overlap": metrics.match_overlap(gold, run.entities, masked=masked, **common),
        "tokens": metrics.match_tokens(gold, run.entities, tokens=tokens, masked=masked, **common),
    }


def system_report(
    run: Run,
    documents: Sequence[GoldDocument],
    tables: Tables,
    views: Views,
    weights: numpy.ndarray,
) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): All numbers of one system. tables (Tables): From `count_tables`."""
    # "Clean" means: nobody annotated anything in it, whatever labels a view counts, and nobody had
    # to leave anything open.
    clean = numpy.asarray([not doc.entities and not doc.masked for doc in documents])
    known = [entity for doc in documents for entity in doc.entities]

    def scores(labels: Sequence[str]) -> dict[str, Any]:
        found = {}
        for name, table in tables.items():
            counts = table.select(labels=labels).per_document
            found[name] = plain(metrics.score(counts, weights))
        return found

    shown = {}
    for view, labels in views.items():
        seen = metrics.expose(
            [entity for entity in known if entity.label in labels],
            run.hidden,
            documents=[doc.id for doc in documents],
            words=[doc.n_words for doc in documents],
            known=known,
            masked=masks(documents),
        )
        shown[view] = {
            **scores(labels),
            "coverage": plain(metrics.coverage(seen, clean, weights)),
            "per_label": {label: scores([label]) for label in labels},
            "exposure": plain(metrics.exposure(seen, weights)),
        }
    return {
        "about": dict(run.about),
        "protected_labels": sorted(run.protected),
        "predicted": dict(sorted(Counter(entity.label for entity in run.entities).items())),
        "time": {
            "seconds": round(run.seconds, 6),
            "cpu_seconds": round(run.cpu_seconds, 6),
            "stored": run.stored,
            "words_per_second": round(run.words / max(run.seconds, 1e-9), 1),
        },
        "views": shown,
    }


def differences(
    tables: Mapping[str, Tables], views: Views, weights: numpy.ndarray
) -> dict[str, dict[str, Any]]:
    """RETURNS (dict): How much better the first system is than each other one, in pairs.

    tables (Mapping[str, Tables]): From `count_tables`, by system.
    """
    first, *others = tables
    found: dict[str, dict[str, Any]] = {}
    for other in others:
        pair = found.setdefault(f"{first} - {other}", {})
        for view, labels in views.items():
            both = tables[first], tables[other]
            pair[view] = _gains(*both, labels, weights)
            pair[view]["per_label"] = {label: _gains(*both, [label], weights) for label in labels}
    return found


def _gains(
    first: Tables, second: Tables, labels: Sequence[str], weights: numpy.ndarray
) -> dict[str, Any]:
    gains: dict[str, Any] = {}
    for matching in MATCHINGS:
        ours, theirs = (
            tables[matching].select(labels=labels).per_document for tables in (first, second)
        )
        gains[matching] = plain(metrics.difference(ours, theirs, weights))
        gains[matching]["p_f5"] = metrics.paired_p(ours, theirs, weights)
        gains[matching]["documents"] = int((ours + theirs).any(axis=1).sum())
    return gains


def worse(report: Report) -> dict[str, list[str]]:
    """Where the first system is worse than another: the whole 95 % interval of the difference of F5 is below 0.

    RETURNS (dict[str, list[str]]): The other system -> "all labels", and each label that stands in `LEAST_DOCUMENTS`, with the
        difference; systems than which it is nowhere worse are left out.
    """
    first, *others = report["systems"]
    found: dict[str, list[str]] = {}
    for other in others:
        for name, bag in _by_label(report["differences"][f"{first} - {other}"]["all"]):
            judged = name == ALL_LABELS or bag["documents"] >= LEAST_DOCUMENTS
            if judged and bag["f5_95"][1] < 0:
                shown = "{} {:.3f} ({:.3f} to {:.3f})".format(name, bag["f5"], *bag["f5_95"])
                found.setdefault(other, []).append(shown)
    return found


def _by_label(gains: Report) -> list[tuple[str, dict[str, Any]]]:
    """RETURNS (list): Differences by text of all labels and of each, of those that have one."""
    rows = {ALL_LABELS: gains, **gains.get("per_label", {})}
    return [(name, row["bag"]) for name, row in rows.items() if "f5" in row["bag"]]


def roles_report(
    run: Run, documents: Sequence[GoldDocument], weights: numpy.ndarray
) -> dict[str, Any]:
    """F1 per role and over all roles, and the share of found names with the right role."""
    sides = [entity for doc in documents for entity in doc.entities], run.entities
    ids = [doc.id for doc in documents]
    table = metrics.match_roles(*sides, documents=ids, masked=masks(documents))
    among_found = metrics.match_roles(*sides, documents=ids, missed=False).per_document
    found = among_found[:, metrics.TP] + among_found[:, metrics.FN]
    per_role = {}
    for role in ROLES:
        counts = table.select(labels=[role]).per_document
        per_role[role] = plain(metrics.score(counts, weights))
    return {
        "found": int(found.sum()),
        **plain({"accuracy": metrics.rate(among_found[:, metrics.TP], found, weights)}),
        "all": plain(metrics.score(table.per_document, weights)),
        "per_role": per_role,
    }


def names_reports(
    runs: Sequence[Run],
    documents: Sequence[GoldDocument],
    weights: numpy.ndarray,
) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): By system, recall of students' names by gender and culture."""
    students = [e for doc in documents for e in doc.entities if e.label == NAME_STUDENT]
    if not students:
        return {}
    groups = [metrics.name_group(entity.text) for entity in students]
    found = {run.name: metrics.found_in_document(students, run.entities) for run in runs}
    rule = "the same string predicted as a name anywhere in the document"
    reports: dict[str, Any] = {
        run.name: {"source": "table", "rule": rule, "rows": []} for run in runs
    }
    ids = [doc.id for doc in documents]
    for test in metrics.recall_by_group(students, groups, found, documents=ids, weights=weights):
        row = group_row(test)
        reports[row.pop("system")]["rows"].append(row)
    return reports


def group_row(test: GroupTest) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Counts of a group of names, its recall, and its test against the rest."""
    row: dict[str, Any] = {
        name: getattr(test, name) for name in ("category", "group", "system", "total", "hits")
    }
    row |= plain({"recall": test.recall, "gap": test.gap})
    row["recall"] = round(test.hits / test.total, 6)
    if not numpy.isnan(test.u):
        row |= {"u": test.u, "p": float(f"{test.p:.4g}")}
        row["significance"] = metrics.significance(test.p)
    return row


def describe_data(documents: Sequence[GoldDocument], *, file: str, sha256: str) -> dict[str, Any]:
    """Which data: name and checksum of the file, counts of documents, words and labels."""
    support = Counter(entity.label for doc in documents for entity in doc.entities)
    labels = dict.fromkeys((*CRAPII_LABELS, *sorted(support)))
    return {
        "file": file,
        "sha256": sha256,
        "documents": len(documents),
        "documents_with_pii": sum(bool(doc.entities) for doc in documents),
        "words": sum(doc.n_words for doc in documents),
        "splits": dict(sorted(Counter(doc.split for doc in documents).items())),
        "support": {label: support[label] for label in labels},
    }


def versions() -> dict[str, str]:
    """Of Python, of this package, and of those of the packages behind it that are installed."""
    behind = {package: package_version(package) for package in _PACKAGES}
    installed = {package: found for package, found in behind.items() if found != "not installed"}
    return {"python": platform.python_version(), "pii_components": __version__, **installed}


def machine() -> dict[str, Any]:
    """What speed depends on: processors and threads."""
    return {
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
    }


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data from counts and estimates, rounded to four digits.

    A value stands under its name, its interval under `<name>_95`; what is None is left out.
    """
    out: dict[str, Any] = {}
    for name, item in value.items():
        if isinstance(item, Estimate):
            out[name] = round(item.value, 4)
            out[f"{name}_95"] = [round(item.low, 4), round(item.high, 4)]
        elif item is not None:
            out[name] = item
    return out


def check_place(path: Path) -> None:
    """Refuse a place for a report before the work is done.

    RAISES (PiiError): E512: it is a folder, or a file stands where one must be made.
    """
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir() or not above.is_dir():
        raise PiiError(Errors.E512, what=path.name, reason="a folder or a file is in its place")


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write plain data as JSON; folders are made. RAISES (PiiError): E512, if that fails."""
    with writing(path.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


# --- tables on the terminal

OVERALL = "bag.precision bag.recall bag.f1 bag.f5 position.f5 tokens.f5 words_per_second stored"
EXPOSED = (
    "overlap.f5 exposure.character_recall exposure.label_blind_recall exposure.false_alarms "
    "exposure.false_alarms_per_10000_words coverage.incompletely_covered coverage.clean_touched"
)


def print_score(report: Report, *, to: Console | None = None) -> None:
    """Print everything that `report.score_report` has, with command and data.

    to (Console | None): Standard output if None.
    """
    to = to or Console(highlight=False, width=160)
    data, systems = report["data"], report["systems"]
    counts = f"{data['documents']} documents, {data['documents_with_pii']} with PII"
    to.print(f"{data['file']}  sha256 {data['sha256'][:12]}…  {counts}, {data['words']} words")
    for view, labels in report["views"].items():
        title = VIEW_TITLES.get(view, view)
        scores = {name: system["views"][view] | system["time"] for name, system in systems.items()}
        show(to, f"Exact match by text, {title}", scores, OVERALL)
        of_label = {}
        for label in labels:
            for name in systems:
                of_label[f"{label}, {name}"] = scores[name]["per_label"][label]["bag"]
        show(to, f"By label, {title}", of_label, "support tp fp fn precision recall f5")
    all_labels = {name: system["views"]["all"] for name, system in systems.items()}
    show(to, "What stays visible, and what is hidden for nothing", all_labels, EXPOSED)
    roles, groups = {}, {}
    for name, system in systems.items():
        for role, found in system.get("roles", {"per_role": {}})["per_role"].items():
            roles[f"{role}, {name}"] = found
        for row in system.get("names", {"rows": ()})["rows"]:
            groups[f"{row['group']}, {name}"] = row
    show(to, "Roles of names", roles, "support precision recall f1")
    title = "Recall by gender and culture of the name; Mann-Whitney against the rest"
    show(to, title, groups, "total recall gap u p significance")
    gains: dict[str, Any] = {}
    for pair, views in report["differences"].items():
        gains |= {f"{name}, {pair}": bag for name, bag in _by_label(views["all"])}
    show(to, "Differences; paired bootstrap", gains, "f5 precision recall p_f5")


def show(to: Console, title: str, entries: Mapping[str, Any] | Iterable[Any], keys: str) -> None:
    """Print a table, nothing if there are no entries: a row per entry, a column per key.

    keys (str): With spaces between them; "a.b" for b inside a. A 95 % interval is shown where there
        is one.
    """
    named = isinstance(entries, Mapping)
    rows = list(entries.items() if isinstance(entries, Mapping) else (("", e) for e in entries))
    if not rows:
        return
    table = Table(title=title or None, title_justify="left")
    for column in [*([""] if named else []), *keys.split()]:
        table.add_column(column.replace("_", " "))
    for name, entry in rows:
        table.add_row(*([name] if named else []), *(_shown(entry, key) for key in keys.split()))
    to.print(table)


def _shown(entry: Any, key: str) -> str:
    *path, last = key.split(".")
    for part in path:
        entry = entry.get(part) or {}
    value = entry.get(last)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(map(str, value))
    if isinstance(value, str):
        return value
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    interval = entry.get(f"{last}_95")
    return shown + " ({:.3f} to {:.3f})".format(*interval) if interval else shown
