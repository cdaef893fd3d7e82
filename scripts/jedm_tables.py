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
from pii_components.evaluate.gold import FOUR_LABELS, Entity
from pii_components.evaluate.match import (
    CountTable,
    expose,
    match_bag,
    match_overlap,
    match_position,
)
from pii_components.evaluate.predictions import TYPES
from pii_components.evaluate.report import FORMAT, group_row, plain, versions
from pii_components.files.formats.base import show_label
from pii_components.files.formats.entities import read_entities
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
    names: Annotated[
        str, typer.Option(help="Gender and culture by: table (ships), names-dataset (the paper's).")
    ] = "table",
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = metrics.N_RESAMPLES,
    debug: common.DebugOpt = False,
) -> None:
    """Compute Tables 6 to 11 of the JEDM paper from its stored predictions, and say where they differ from the print."""
    with guard(debug):
        common.early(out)
        bootstrap = {
            "unit": "document",
            "resamples": resamples,
            "seed": metrics.SEED,
            "level": metrics.LEVEL,
        }
        report: dict[str, Any] = {"format": FORMAT, "versions": versions(), "bootstrap": bootstrap}
        paper = names == "names-dataset"
        source = names_dataset() if paper else metrics.name_source()
        report |= paper_report(read_peers(peers), names=source, resamples=resamples)
        common.publish("jedm_tables", report, out, print_paper)
        raise typer.Exit(
            DONE if report["table7"]["equal"] == report["table7"]["of"] else DONE_WITH_SKIPS
        )


def print_paper(report: Mapping[str, Any], to: Console) -> None:
    """Print all tables: computed beside printed, slips below."""
    for number in range(6, 12):
        table = report[f"table{number}"]
        common.show(to, f"table{number}", table["rows"], " ".join(table["rows"][0]))
        to.print(f"table{number}: {table['equal']} of {table['of']} equal to the print")
    keys = "bag.f5 bag.recall position.f5 overlap.f5 exposure.character_recall coverage.incompletely_covered coverage.clean_touched"
    common.show(
        to, "Beside Table 7: other ways of matching, what stays visible", report["beside"], keys
    )
    common.show(to, "Where the print contradicts itself", report["slips"], "where what")


def names_dataset() -> metrics.NameSource:
    """The paper's source of names (3 GB, minutes). RAISES (PiiError): E005, if it is not installed."""
    try:
        import pycountry
        from names_dataset import NameDataset
    except ImportError as err:
        raise PiiError(
            Errors.E005,
            package="names-dataset",
            what="groups of names as in the paper",
            extra="train",
        ) from err
    data = NameDataset()

    @cache
    def commonest(name: str, kind: str, of: str) -> str:
        counts = (data.search(name)[kind] or {}).get(of)
        return str(max(counts, key=counts.get)) if counts else ""

    def country_of(last: str) -> str:
        try:
            code = str(pycountry.countries.lookup(commonest(last, "last_name", "country")).alpha_2)
        except LookupError:
            return ""
        # The list of ISO 3166 that the paper used leaves Taiwan without a region.
        return "" if code == "TW" else code

    return metrics.NameSource(
        "names-dataset", lambda first: commonest(first, "first_name", "gender"), country_of
    )


@cache
def printed(table: int) -> tuple[Row, ...]:
    """Rows of a table, 6 to 11, in the order of the print: numbers and texts; 0 where nothing is printed."""
    lines = (
        (resources.files("pii_components") / "resources" / "papers" / f"jedm_table{table}.tsv")
        .read_text("utf8")
        .splitlines()
    )
    found = numpy.genfromtxt(
        lines, delimiter="\t", names=True, dtype=None, encoding="utf8", filling_values=0
    )
    return tuple(dict(zip(found.dtype.names, row, strict=True)) for row in found.tolist())


def as_printed(value: Any, shown: Any) -> bool:
    """Whether a value is what stands in the print; numbers up to half a unit of their last digit: the fourth of a fraction."""
    exact = value is None or isinstance(shown, str)
    return bool(
        value == shown
        if exact
        else abs(value - shown) <= (0.5 if isinstance(shown, int) else 0.5e-4 + 1e-9)
    )


def compare(row: Row, computed: Row) -> Row:
    """A row of the print as computed, and what is printed otherwise."""
    wrong = [
        name for name, value in computed.items() if name in row and not as_printed(value, row[name])
    ]
    return (
        row
        | computed
        | {"equal": not wrong, "differs": [f"{name} printed {row[name]}" for name in wrong]}
    )


def measures(counts: Sequence[int]) -> Row:
    """By true positives, false positives and false negatives."""
    return {
        name: round(float(value), 6)
        for name, value in metrics.measures(numpy.asarray(counts)).items()
    }


def table8() -> list[Row]:
    """Per system the sum of its parts, and least and most millions of tokens that its average, as rounded, stands for."""
    rows = []
    for row in printed(8):
        total, average = row["total"], row["per_million"]
        parts = [
            value for name, value in row.items() if name not in ("system", "total", "per_million")
        ]
        tokens = (
            [round((total + sign * 0.005) / (average - sign * 0.005), 3) for sign in (-1, 1)]
            if average
            else None
        )
        rows.append(compare(row, {"total": round(sum(parts), 2)}) | {"million_tokens": tokens})
    return rows


def table10() -> list[Row]:
    """Table 10 from the totals and recalls of Table 9."""
    rows = []
    for row in printed(10):
        of = [group for group in printed(9) if group["category"] == row["category"]]
        counts = {
            group["group"]: numpy.asarray(
                [round(group["total"] * group[row["system"]]), group["total"]]
            )
            for group in of
        }
        own, rest = counts.pop(row["group"]).tolist(), sum(counts.values()).tolist()
        u, p = metrics.mann_whitney(*own, *rest)
        computed = {
            "group_tpr": own[0] / own[1],
            "rest_tpr": rest[0] / rest[1],
            "u": u,
            "significance": metrics.significance(p),
        }
        rows.append(compare(row, computed) | {"p": float(f"{p:.4g}")})
    return rows


def slips() -> Iterator[tuple[str, str]]:
    """Where the print contradicts itself, and how; nothing but its own numbers is looked at. Tables 7, 8 and 11 do not in themselves."""
    *rows, shown = printed(6)
    for part in list(shown)[1:]:
        if (total := sum(row[part] for row in rows)) != shown[part]:
            yield "Table 6", f"total of {part}: printed {shown[part]}, its rows sum to {total}"
    for n in sorted(
        {row["tp"] + row["fn"] for row in printed(7) if row["label"] == "overall"} - {shown["test"]}
    ):
        yield "Tables 6, 7", f"{n} entities (TP + FN) in Table 7, {shown['test']} in Table 6"
    costs = {row["system"]: row for row in table8() if row["million_tokens"]}
    most, least = (
        pick(costs, key=lambda s: costs[s]["million_tokens"][i]) for pick, i in ((max, 0), (min, 1))
    )
    what = f"{most} has {costs[most]['million_tokens'][0]:.2f} million or more, {least} {costs[least]['million_tokens'][1]:.2f} or less"
    yield "Table 8", f"no number of tokens fits all averages: {what}"
    ratio = costs["azure"]["per_million"] / costs["finetuned"]["per_million"]
    yield (
        "Section 4.4",
        f"Azure costs {ratio:.1f} times the fine-tuned model, printed 'approximately 6'",
    )
    recall = {row["system"]: row["recall"] for row in printed(7) if row["label"] == "NAME_STUDENT"}
    male, female = (row for row in printed(9) if row["category"] == "gender")
    for system in FAIRNESS_SYSTEMS:
        mean = (male["total"] * male[system] + female["total"] * female[system]) / (
            male["total"] + female["total"]
        )
        what = f"{system}: recall of names {recall[system]:.4f} in Table 7, {mean:.4f} over both genders in Table 9, so not by one rule"
        yield "Tables 7, 9", what
    for row in table10():
        if not row["equal"]:
            yield (
                "Table 10",
                f"{row['group']}, {row['system']}: {', '.join(row['differs'])}, from Table 9 {row['u']:.1f}",
            )


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

    RAISES (PiiError): E730 for missing files, E729 for a row that cannot be used, E705 for predictions of other documents.
    """
    if missing := [
        file for file in ("true_entities.csv", *SYSTEMS.values()) if not (folder / file).is_file()
    ]:
        raise PiiError(Errors.E730, missing=", ".join(missing))
    parts = {
        name: frozenset(map(str, numbers))
        for name, numbers in paper_split(CRAPII_DOCUMENTS).items()
    }
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
    """Each row, with our label for its type. RAISES (PiiError): E729, E724, and what opening may raise."""
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise PiiError(Errors.E729, number=row.number, file=path.name, reason=row.code)
        # Where words and offsets differ in length, the words are what the system gave: only they are compared by text.
        end = row.end if row.end > row.start else row.start + len(row.words)
        label = TYPES.get(row.label.upper())
        if label is None:
            raise PiiError(
                Errors.E724, label=show_label(row.label), what=path.name, allowed=", ".join(TYPES)
            )
        yield Entity(row.document, row.start, end, label, row.words)


def paper_report(
    peers: Peers, *, names: metrics.NameSource, resamples: int = metrics.N_RESAMPLES
) -> dict[str, Any]:
    """All tables, what the paper does not print (`beside`), and where it contradicts itself (`slips`)."""
    documents, gold = peers.documents, peers.gold
    bags = {
        name: match_bag(gold, found, documents=documents, labels=FOUR_LABELS)
        for name, found in peers.predictions.items()
    }
    weights = metrics.resample(len(documents), n_resamples=resamples)
    tables = (
        table6(peers),
        table7(bags),
        table8(),
        table9(peers, names, weights),
        table10(),
        table11(peers),
    )
    report: dict[str, Any] = {"names": names.name}
    for number, rows in enumerate(tables, 6):
        report[f"table{number}"] = {
            "rows": rows,
            "equal": sum(row["equal"] for row in rows),
            "of": len(rows),
        }
    report["beside"] = {name: beside(bag, peers, name, weights) for name, bag in bags.items()}
    return report | {"slips": [{"where": where, "what": what} for where, what in slips()]}


def table6(peers: Peers) -> list[Row]:
    """True entities by label and part."""
    counts: Counter[tuple[str, str]] = Counter()
    for entity in peers.all_gold:
        parts = [
            "all",
            *(name for name, documents in peers.parts.items() if entity.document in documents),
        ]
        counts.update((label, part) for label in (entity.label, "total") for part in parts)
    return [
        compare(row, {part: counts[row["label"], part] for part in row if part != "label"})
        for row in printed(6)
    ]


def table7(bags: Mapping[str, CountTable]) -> list[Row]:
    """The 35 rows."""
    rows = []
    for row in printed(7):
        labels = None if row["label"] == "overall" else [row["label"]]
        counts = (
            bags[row["system"]]
            .select(labels=labels or FOUR_LABELS)
            .per_document.sum(axis=0)
            .tolist()
        )
        rows.append(compare(row, dict(zip(COUNTS, counts, strict=True)) | measures(counts)))
    return rows


def beside(bag: CountTable, peers: Peers, system: str, weights: numpy.ndarray) -> dict[str, Any]:
    """What the paper does not print: intervals, matching by position and overlap, documents left with something in clear."""
    gold, found, ids = peers.gold, peers.predictions[system], peers.documents
    position, overlap = (
        match(gold, found, documents=ids, labels=FOUR_LABELS)
        for match in (match_position, match_overlap)
    )
    with_gold = {entity.document for entity in gold}
    clean = numpy.asarray([document not in with_gold for document in ids])
    # No texts, so no words: false alarms are counted, not put in relation.
    shown = plain(metrics.exposure(expose(gold, found, documents=ids), weights))
    counts = {"bag": bag, "position": position, "overlap": overlap}
    return {
        name: plain(metrics.score(table.per_document, weights)) for name, table in counts.items()
    } | {
        "coverage": plain(metrics.coverage(expose(gold, found, documents=ids), clean, weights)),
        "exposure": {name: value for name, value in shown.items() if name != "words"},
    }


def table9(peers: Peers, names: metrics.NameSource, weights: numpy.ndarray) -> list[Row]:
    """Recall by gender and culture, by the paper's rule: the same string predicted as a name anywhere in the document."""
    gold = [entity for entity in peers.gold if entity.label == FOUR_LABELS[0]]
    groups = [names.group(entity.text) for entity in gold]
    found = {
        system: metrics.found_in_document(gold, peers.predictions[system])
        for system in FAIRNESS_SYSTEMS
    }
    cells = {
        (row["group"], s): {"total": row["total"], "recall": row[s]}
        for row in printed(9)
        for s in FAIRNESS_SYSTEMS
    }
    tests = metrics.recall_by_group(gold, groups, found, documents=peers.documents, weights=weights)
    return [
        compare(cells[t.group, t.system], group_row(t))
        for t in tests
        if (t.group, t.system) in cells
    ]


def table11(peers: Peers) -> list[Row]:
    """What can be said of Table 11 without its gold: rows of each file against TP + FP, measures against counts."""
    rows = []
    for row in printed(11):  # of 1,615 entities, which all six systems share
        tp, fp, fn = (row[name] for name in COUNTS)
        shown = row | {"rows": tp + fp, "entities": 1615}
        rows.append(
            compare(
                shown,
                measures([tp, fp, fn])
                | {"rows": peers.chat_rows.get(row["system"]), "entities": tp + fn},
            )
        )
    return rows


if __name__ == "__main__":
    typer.run(main)
