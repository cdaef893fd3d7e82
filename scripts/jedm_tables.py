"""Tables 6 to 11 of the JEDM paper, computed from its stored predictions and compared with the print, cell by cell.

    python -m scripts.jedm_tables --peers assets/peers --out metrics/jedm_tables.json

Source: seeds/gpt4omini_jedm.txt (arXiv 2501.09765); stored predictions and true entities as published (AnonJD/PrivacyAI, MIT). The print
is data, its slips as they were printed: pii_components/resources/papers. Exit code 1: a row of Table 7 is not as printed.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.split import CRAPII_DOCUMENTS, paper_split
from pii_components.errors import Errors, PiiError
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import FOUR_LABELS, TYPES, Entity
from pii_components.evaluate.report import FORMAT, group_row, versions
from pii_components.files.formats.base import show_label
from pii_components.files.formats.spans import read_entities
from pii_components.files.record import Skip
from scripts import common

# Names of the systems in the data files -> stored predictions.
SYSTEMS = {
    "presidio_lg": "1_presidio_lg.csv",
    "presidio_trf": "2_presidio_trf.csv",
    "azure": "3_azure.csv",
    "prompted": "4_prompting.csv",
    "finetuned": "5_finetuned.csv",
    "verifier_1": "6_verifier_I.csv",
    "verifier_2": "7_verifier_II.csv",
}
FAIRNESS_SYSTEMS = ("presidio_trf", "azure", "finetuned")  # of Tables 9 and 10
COUNTS = ("tp", "fp", "fn")
Row = dict[str, Any]


def main(
    *,
    peers: Annotated[
        Path,
        typer.Option(
            help="Folder with true_entities.csv and the predictions; see assets/README.md."
        ),
    ],
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = metrics.N_RESAMPLES,
    debug: common.DebugOpt = False,
) -> None:
    """Compute Tables 6 to 11 of the JEDM paper from its stored predictions, and say where they differ from the print."""
    with guard(debug):
        common.early(out)
        bootstrap = {"unit": "document", "resamples": resamples}
        bootstrap |= {"seed": metrics.SEED, "level": metrics.LEVEL}
        report: dict[str, Any] = {"format": FORMAT, "versions": versions(), "bootstrap": bootstrap}
        report |= paper_report(read_peers(peers), resamples=resamples)
        common.publish("jedm_tables", report, out, print_paper)
        equal = report["table7"]["equal"] == report["table7"]["of"]
        raise typer.Exit(DONE if equal else DONE_WITH_SKIPS)


def print_paper(report: Mapping[str, Any], to: Console) -> None:
    """Print all tables: computed beside printed."""
    for number in range(6, 12):
        table = report[f"table{number}"]
        common.show(to, f"table{number}", table["rows"], " ".join(table["rows"][0]))
        to.print(f"table{number}: {table['equal']} of {table['of']} equal to the print")


@cache
def printed(table: int) -> tuple[Row, ...]:
    """Rows of a table, 6 to 11, in the order of the print: numbers and texts; 0 where nothing is printed."""
    folder = resources.files("pii_components") / "resources" / "papers"
    lines = (folder / f"jedm_table{table}.tsv").read_text("utf8").splitlines()
    how: dict[str, Any] = {"names": True, "dtype": None, "encoding": "utf8", "filling_values": 0}
    found = numpy.genfromtxt(lines, delimiter="\t", **how)
    return tuple(dict(zip(found.dtype.names, row, strict=True)) for row in found.tolist())


def as_printed(value: Any, shown: Any) -> bool:
    """Whether a value is what stands in the print; numbers up to half a unit of their last digit: the fourth of a fraction."""
    if value is None or isinstance(shown, str):
        return bool(value == shown)
    return bool(abs(value - shown) <= (0.5 if isinstance(shown, int) else 0.5e-4 + 1e-9))


def compare(row: Row, computed: Row) -> Row:
    """A row of the print as computed, and what is printed otherwise."""
    both = [name for name in computed if name in row]
    wrong = [name for name in both if not as_printed(computed[name], row[name])]
    differs = [f"{name} printed {row[name]}" for name in wrong]
    return row | computed | {"equal": not wrong, "differs": differs}


def measures(counts: Sequence[int]) -> Row:
    """By true positives, false positives and false negatives."""
    found = metrics.measures(numpy.asarray(counts))
    return {name: round(float(value), 6) for name, value in found.items()}


def table8() -> list[Row]:
    """Per system the sum of its parts, and least and most millions of tokens that its average, as rounded, stands for."""
    rows = []
    for row in printed(8):
        total, average = row["total"], row["per_million"]
        parts = [row[name] for name in row if name not in ("system", "total", "per_million")]
        tokens = None
        if average:
            bounds = [(total + by) / (average - by) for by in (-0.005, 0.005)]
            tokens = [round(bound, 3) for bound in bounds]
        rows.append(compare(row, {"total": round(sum(parts), 2)}) | {"million_tokens": tokens})
    return rows


def table10() -> list[Row]:
    """Table 10 from the totals and recalls of Table 9."""
    rows = []
    for row in printed(10):
        counts = {}
        for group in printed(9):
            if group["category"] == row["category"]:
                found = round(group["total"] * group[row["system"]])
                counts[group["group"]] = numpy.asarray([found, group["total"]])
        own, rest = counts.pop(row["group"]).tolist(), sum(counts.values()).tolist()
        u, p = metrics.mann_whitney(*own, *rest)
        computed = {"group_tpr": own[0] / own[1], "rest_tpr": rest[0] / rest[1], "u": u}
        computed["significance"] = metrics.significance(p)
        rows.append(compare(row, computed) | {"p": float(f"{p:.4g}")})
    return rows


class Peers(NamedTuple):
    """What the folder holds: ids of each part; true entities; ids and true entities of the test part; predictions; rows of those on TSCC."""

    parts: dict[str, frozenset[str]]
    all_gold: list[Entity]
    documents: list[str]
    gold: list[Entity]
    predictions: dict[str, list[Entity]]
    chat_rows: dict[str, int]


def read_peers(folder: Path) -> Peers:
    """Read the folder with true_entities.csv and the seven files of predictions; those on TSCC may be missing.

    RAISES (PiiError): E501 for missing files, E900 for a row that cannot be used, E705 for predictions of other documents.
    """
    files = ("true_entities.csv", *SYSTEMS.values())
    if missing := [file for file in files if not (folder / file).is_file()]:
        reason = f"the folder lacks {', '.join(missing)}; assets/README.md says where they are"
        raise PiiError(Errors.E501, what=folder.name, reason=reason)
    numbers = paper_split(CRAPII_DOCUMENTS)
    parts = {name: frozenset(map(str, numbers[name])) for name in numbers}
    predictions = {name: list(read_rows(folder / file)) for name, file in SYSTEMS.items()}
    for name, found in predictions.items():
        if outside := {entity.document for entity in found} - parts["test"]:
            reason = f"{len(outside)} documents are outside of the paper's test part"
            raise PiiError(Errors.E705, file=SYSTEMS[name], reason=reason)
    chats = {
        p.stem: sum(map(bool, csv.reader(p.read_text("utf8").splitlines()))) - 1
        for p in folder.glob("tscc_*.csv")
    }
    gold = list(read_rows(folder / "true_entities.csv"))
    tested = [entity for entity in gold if entity.document in parts["test"]]
    return Peers(parts, gold, sorted(parts["test"], key=int), tested, predictions, chats)


def read_rows(path: Path) -> Iterator[Entity]:
    """Each row, with our label for its type. RAISES (PiiError): E900, E002, and what opening may raise."""
    for row in read_entities(path):
        if isinstance(row, Skip):
            reason = f"row {row.number}: {row.code}"
            raise PiiError(Errors.E900, file=path.name, kind="file of entities", reason=reason)
        # Where words and offsets differ in length, the words are what the system gave: only they are compared by text.
        end = row.end if row.end > row.start else row.start + len(row.words)
        label = TYPES.get(row.label.upper())
        if label is None:
            shown = f"{show_label(row.label)} of {path.name}"
            raise PiiError(Errors.E002, label=shown, allowed=", ".join(TYPES))
        yield Entity(row.document, row.start, end, label, row.words)


def paper_report(peers: Peers, *, resamples: int = metrics.N_RESAMPLES) -> dict[str, Any]:
    """All tables."""
    weights = metrics.resample(len(peers.documents), n_resamples=resamples)
    tables = (
        table6(peers),
        table7(peers),
        table8(),
        table9(peers, weights),
        table10(),
        table11(peers),
    )
    report: dict[str, Any] = {}
    for number, rows in enumerate(tables, 6):
        equal = sum(row["equal"] for row in rows)
        report[f"table{number}"] = {"rows": rows, "equal": equal, "of": len(rows)}
    return report


def table6(peers: Peers) -> list[Row]:
    """True entities by label and part."""
    counts: Counter[tuple[str, str]] = Counter()
    for entity in peers.all_gold:
        parts = ["all", *(name for name in peers.parts if entity.document in peers.parts[name])]
        counts.update((label, part) for label in (entity.label, "total") for part in parts)
    rows = []
    for row in printed(6):
        computed = {part: counts[row["label"], part] for part in row if part != "label"}
        rows.append(compare(row, computed))
    return rows


def table7(peers: Peers) -> list[Row]:
    """The 35 rows."""
    bags = {
        system: metrics.match_bag(peers.gold, found, documents=peers.documents, labels=FOUR_LABELS)
        for system, found in peers.predictions.items()
    }
    rows = []
    for row in printed(7):
        labels = FOUR_LABELS if row["label"] == "overall" else [row["label"]]
        counts = bags[row["system"]].select(labels=labels).per_document.sum(axis=0).tolist()
        rows.append(compare(row, dict(zip(COUNTS, counts, strict=True)) | measures(counts)))
    return rows


def table9(peers: Peers, weights: numpy.ndarray) -> list[Row]:
    """Recall by gender and culture, by the paper's rule: the same string predicted as a name anywhere in the document."""
    gold = [entity for entity in peers.gold if entity.label == FOUR_LABELS[0]]
    groups = [metrics.name_group(entity.text) for entity in gold]
    found = {}
    for system in FAIRNESS_SYSTEMS:
        found[system] = metrics.found_in_document(gold, peers.predictions[system])
    cells = {}
    for row in printed(9):
        for system in FAIRNESS_SYSTEMS:
            cells[row["group"], system] = {"total": row["total"], "recall": row[system]}
    tests = metrics.recall_by_group(gold, groups, found, documents=peers.documents, weights=weights)
    known = [test for test in tests if (test.group, test.system) in cells]
    return [compare(cells[test.group, test.system], group_row(test)) for test in known]


def table11(peers: Peers) -> list[Row]:
    """What can be said of Table 11 without its gold: rows of each file against TP + FP, measures against counts."""
    rows = []
    for row in printed(11):  # of 1,615 entities, which all six systems share
        tp, fp, fn = (row[name] for name in COUNTS)
        shown = row | {"rows": tp + fp, "entities": 1615}
        there = {"rows": peers.chat_rows.get(row["system"]), "entities": tp + fn}
        rows.append(compare(shown, measures([tp, fp, fn]) | there))
    return rows


if __name__ == "__main__":
    typer.run(main)
