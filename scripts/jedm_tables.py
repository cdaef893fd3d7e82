"""Tables 6 to 11 of the JEDM paper, computed from its stored predictions and compared with the print, cell by cell.

    python -m scripts.jedm_tables --peers assets/peers --out metrics/jedm_tables.json

Source: seeds/gpt4omini_jedm.txt (arXiv 2501.09765); stored predictions and true entities as published (AnonJD/PrivacyAI, MIT). The print
is data, its slips as they were printed: pii_components/resources/papers. Exit code 1: a row of Table 7 is not as printed.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.split import CRAPII_DOCUMENTS, paper_split
from pii_components.errors import Errors, PiiError
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import FOUR_LABELS, Entity
from pii_components.evaluate.match import CountTable, cover, match_bag, match_overlap, match_position
from pii_components.evaluate.report import FORMAT, group_row, plain, versions
from pii_components.evaluate.systems import label_of
from pii_components.files.formats.entities import read_entities
from pii_components.files.record import Skip, open_binary, open_text
from scripts import common

# Names of the systems in the data files -> stored predictions and the name in the print.
SYSTEMS: dict[str, tuple[str, str]] = {
    "presidio_lg": ("1_presidio_lg.csv", "1. Presidio (en_core_web_lg)"),
    "presidio_trf": ("2_presidio_trf.csv", "2. Presidio (en_core_web_trf)"),
    "azure": ("3_azure.csv", "3. Azure AI Language"),
    "prompted": ("4_prompting.csv", "4. Prompting GPT-4o-mini"),
    "finetuned": ("5_finetuned.csv", "5. Fine-tuned GPT-4o-mini"),
    "verifier_1": ("6_verifier_I.csv", "6. Verifier Model I (Without CoT)"),
    "verifier_2": ("7_verifier_II.csv", "7. Verifier Model II (With CoT)"),
}
# Of Table 11, on TSCC; the six share one gold, which is not public.
CHAT_SYSTEMS: dict[str, str] = {
    "tscc_1_presidio": "1. Presidio (en_core_web_trf)",
    "tscc_2_azure": "2. Azure AI Language",
    "tscc_3_gpt+fewshot": "3. GPT-4o-mini + few-shot prompting",
    "tscc_4_ftgpt+zeroshot": "4. Fine-tuned GPT-4o-mini + zero-shot prompting",
    "tscc_5_gpt+ft": "5. GPT-4o-mini + fine-tuning",
    "tscc_6_ftgpt+ft": "6. Fine-tuned GPT-4o-mini + fine-tuning",
}
CHAT_ENTITIES = 1615
FAIRNESS_SYSTEMS = ("presidio_trf", "azure", "finetuned")  # of Tables 9 and 10
GOLD_FILE = "true_entities.csv"
OVERALL = "overall"
COUNTS, MEASURES = ("tp", "fp", "fn"), ("precision", "recall", "f1", "f5")
# Section 4.4: "approximately 6 times higher" than the fine-tuned model.
PRINTED_RATIO = 6
_CENT = 0.005
Value = str | int | float | None
Row = Mapping[str, Any]


def main(
    *,
    peers: Annotated[Path, typer.Option(help="Folder with true_entities.csv and the predictions; see assets/README.md.")],
    names: Annotated[
        str, typer.Option(help="Gender and culture of names by: table (ships), names-dataset (the paper's).")
    ] = "table",
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = 1000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap; 0 is the usual one.")] = 0,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Compute Tables 6 to 11 of the JEDM paper from its stored predictions, and say where they differ from the print."""
    with guard(debug):
        common.early(out)
        found = read_peers(peers)
        bootstrap = {"unit": "document", "resamples": resamples, "seed": seed or metrics.SEED, "level": 0.95}
        report: dict[str, Any] = {"format": FORMAT, "versions": versions(), "bootstrap": bootstrap}
        report |= paper_report(found, names=metrics.name_source(names), resamples=resamples, seed=seed or metrics.SEED)
        common.publish("jedm_tables", report, out, None if quiet else print_paper)
        raise typer.Exit(DONE if report["table7"]["equal"] == report["table7"]["of"] else DONE_WITH_SKIPS)


# --- the print


@cache
def printed(table: int) -> tuple[dict[str, Any], ...]:
    """Rows of a table, 6 to 11, in the order of the print: whole numbers, fractions, texts; None for what is not printed."""
    file = resources.files("pii_components") / "resources" / "papers" / f"jedm_table{table}.tsv"
    rows = csv.DictReader(file.read_text(encoding="utf8").splitlines(), delimiter="\t")
    return tuple({name: _value(cell) for name, cell in row.items()} for row in rows)


def _value(cell: str) -> Value:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None


def as_printed(value: float, like: Value) -> bool:
    """Whether a number was rounded to what stands in the print: fractions up to half a unit of its fourth digit."""
    if like is None or isinstance(like, str):
        return False
    return abs(value - like) <= (0 if isinstance(like, int) else 0.5e-4 + 1e-9)


# --- where the print does not agree with itself; nothing but its own numbers is looked at


def check_counts(table: int) -> list[dict[str, Any]]:
    """Per row of Table 7 or 11 `differs`: measures that do not follow from its TP, FP and FN."""
    out = []
    for row in printed(table):
        values = metrics.measures(numpy.asarray([row[name] or 0.0 for name in COUNTS]))
        differs = [name for name in MEASURES if not as_printed(float(values[name]), row[name])]
        out.append({"system": row["system"], "label": row.get("label", ""), "differs": differs})
    return out


def implied_tokens(total: float, average: float, *, digits: int = 2) -> tuple[float, float]:
    """Least and most millions of tokens for which dollars in all round to this average per million, rounded to so many digits."""
    half = 0.5 * 10**-digits
    return (total - half) / (average + half), (total + half) / (average - half)


def check_table8() -> list[dict[str, Any]]:
    """Per system its total, the sum of its parts, and the tokens that its average stands for."""
    out = []
    for row in printed(8):
        parts = [value or 0.0 for name, value in row.items() if name not in ("system", "total", "per_million")]
        total, average = float(row["total"] or 0), float(row["per_million"] or 0)
        out.append({
            "system": row["system"], "name": SYSTEMS[row["system"]][1], "total": total, "sum": round(sum(parts), 2),
            "equal": abs(total - sum(parts)) < _CENT, "per_million": average,
            "million_tokens": [round(n, 3) for n in implied_tokens(total, average)] if average else None,
        })  # fmt: skip
    return out


def check_table9(recall: Mapping[str, float]) -> list[dict[str, Any]]:
    """Recall over both genders as Table 9 prints it, beside recall of names in Table 7 and by the rule that Table 9 fits."""
    genders = [row for row in printed(9) if row["category"] == "gender"]
    total = sum(row["total"] for row in genders)
    names = {row["system"]: row["recall"] for row in printed(7) if row["label"] == "NAME_STUDENT"}
    means = {system: sum(row["total"] * row[system] for row in genders) / total for system in recall}
    return [
        {"system": system, "table9": round(means[system], 4), "table7": names[system], "anywhere": round(value, 4)}
        for system, value in recall.items()
    ]


def check_table10() -> list[dict[str, Any]]:
    """Table 10 from the totals and recalls of Table 9: `equal` if U (to a whole number), both rates and the stars are as printed."""
    out = []
    for row in printed(10):
        of = [group for group in printed(9) if group["category"] == row["category"]]
        counts = {group["group"]: (round(group["total"] * group[row["system"]]), group["total"]) for group in of}
        hits, total = counts.pop(row["group"])
        rest_hits, rest_total = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
        u, p = metrics.mann_whitney(hits, total, rest_hits, rest_total)
        rates_equal = as_printed(hits / total, row["group_tpr"]) and as_printed(rest_hits / rest_total, row["rest_tpr"])
        found: dict[str, Any] = {
            "category": row["category"], "group": row["group"], "system": row["system"], "u": u, "printed_u": row["u"],
            "p": float(f"{p:.4g}"), "significance": metrics.significance(p), "printed_significance": row["significance"],
            "rates_equal": rates_equal, "u_equal": abs(u - row["u"]) <= 0.5,
        }  # fmt: skip
        out.append(found | {"equal": rates_equal and found["u_equal"] and found["significance"] == row["significance"]})
    return out


def find_slips() -> list[dict[str, str]]:
    """Where the print contradicts itself, and how."""
    return [{"where": where, "what": what} for where, what in _slips()]


def _slips() -> Iterator[tuple[str, str]]:
    table = printed(6)
    for part in (name for name in table[0] if name != "label"):
        total = sum(row[part] for row in table if row["label"] != "total")
        shown = next(row[part] for row in table if row["label"] == "total")
        if total != shown:
            yield "Table 6", f"total of {part}: printed {shown}, its rows sum to {total}"
    for which in (7, 11):
        for row in check_counts(which):
            if row["differs"]:
                what = f"{row['system']} {row['label']}: {', '.join(row['differs'])} do not follow from the counts"
                yield f"Table {which}", what
    yield from _overall_slips()
    rows = check_table8()
    for row in rows:
        if not row["equal"]:
            yield "Table 8", f"{row['system']}: printed total {row['total']}, its parts sum to {row['sum']}"
    known = {row["system"]: row["million_tokens"] for row in rows if row["million_tokens"]}
    least, most = max(known, key=lambda s: known[s][0]), min(known, key=lambda s: known[s][1])
    if known[least][0] > known[most][1]:
        what = f"no number of tokens fits all averages: {least} has {known[least][0]:.2f} million or more, {most} {known[most][1]:.2f}"
        yield "Table 8", what + " or less"
    price = {row["system"]: row["per_million"] for row in rows}
    ratio = price["azure"] / price["finetuned"]
    if round(ratio) != PRINTED_RATIO:
        yield "Section 4.4", f"Azure costs {ratio:.1f} times the fine-tuned model, printed 'approximately {PRINTED_RATIO}'"
    for row in check_table9(dict.fromkeys(FAIRNESS_SYSTEMS, 0.0)):
        what = (
            f"{row['system']}: recall of names {row['table7']:.4f} in Table 7, {row['table9']:.4f} over both genders in Table 9"
        )
        yield "Tables 7, 9", what + ", so not by one rule"
    for row in check_table10():
        if not row["equal"]:
            wrong = [] if row["rates_equal"] else ["rates other than in Table 9"]
            wrong += [] if row["u_equal"] else [f"U printed {row['printed_u']}, from Table 9 {row['u']:.1f}"]
            if row["significance"] != row["printed_significance"]:
                wrong.append(f"printed {row['printed_significance']}, p = {row['p']:.3g} is {row['significance']}")
            yield "Table 10", f"{row['group']}, {row['system']}: {'; '.join(wrong)}"


def _overall_slips() -> Iterator[tuple[str, str]]:
    """Rows "overall" of Table 7 that are not the sum of their system, and other totals than Table 6's."""
    shown = next(row["test"] for row in printed(6) if row["label"] == "total")
    gold = set()
    for system in SYSTEMS:
        own = [row for row in printed(7) if row["system"] == system]
        overall = next(row for row in own if row["label"] == OVERALL)
        gold.add(overall["tp"] + overall["fn"])
        for name in COUNTS:
            total = sum(row[name] for row in own if row["label"] != OVERALL)
            if total != overall[name]:
                yield "Table 7", f"{system} overall: printed {name} {overall[name]}, its rows sum to {total}"
    for n in sorted(gold - {shown}):
        yield "Tables 6, 7", f"{n} entities (TP + FN) in Table 7, {shown} in Table 6"


# --- the stored predictions


@dataclass(frozen=True, slots=True)
class Peers:
    """What the folder holds: ids of the test part and of all parts, true entities, predictions by system, rows of those on TSCC."""

    documents: tuple[str, ...]
    parts: dict[str, frozenset[str]] = field(repr=False)
    all_gold: tuple[Entity, ...] = field(repr=False)
    gold: tuple[Entity, ...] = field(repr=False)
    predictions: dict[str, tuple[Entity, ...]] = field(repr=False)
    chat_rows: dict[str, int]


def read_peers(folder: Path) -> Peers:
    """Read the folder with true_entities.csv and the seven files of predictions; those on TSCC may be missing.

    RAISES (PiiError): E730 for missing files, E731 for a row that cannot be used, E732 for predictions of other documents.
    """
    files = [GOLD_FILE, *(file for file, _ in SYSTEMS.values())]
    if missing := [file for file in files if not (folder / file).is_file()]:
        raise PiiError(Errors.E730, missing=", ".join(missing))
    parts = {name: frozenset(map(str, numbers)) for name, numbers in paper_split(CRAPII_DOCUMENTS).items()}
    test = parts["test"]
    all_gold = tuple(read_rows(folder / GOLD_FILE))
    predictions = {}
    for name, (file, _) in SYSTEMS.items():
        predictions[name] = tuple(read_rows(folder / file))
        if outside := {entity.document for entity in predictions[name]} - test:
            raise PiiError(Errors.E732, file=file, n=len(outside))
    chats = {name: count_rows(folder / f"{name}.csv") for name in CHAT_SYSTEMS if (folder / f"{name}.csv").is_file()}
    gold = tuple(entity for entity in all_gold if entity.document in test)
    return Peers(tuple(sorted(test, key=int)), parts, all_gold, gold, predictions, chats)


def read_rows(path: Path) -> Iterable[Entity]:
    """Each row, with our label for its type. RAISES (PiiError): E731, E750, and what opening may raise."""
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise PiiError(Errors.E731, number=row.number, file=path.name, reason=row.code)
        # Where words and offsets differ in length, the words are what the system gave: only they are compared by text.
        end = row.end if row.end > row.start else row.start + len(row.words)
        yield Entity(row.document, row.start, end, label_of(row, path.name), row.words)


def count_rows(path: Path) -> int:
    """Rows of a file without types (TSCC: names only), the head aside. RAISES (PiiError): E501."""
    with open_binary(path) as raw, open_text(raw, encoding="utf-8", bom=b"") as stream:
        return max(sum(1 for row in csv.reader(stream) if row) - 1, 0)


# --- the tables


def paper_report(peers: Peers, *, names: metrics.NameSource, resamples: int = 1000, seed: int = metrics.SEED) -> dict[str, Any]:
    """All tables, what the paper does not print (`beside`), and where it contradicts itself (`slips`)."""
    tables = {
        name: match_bag(peers.gold, found, documents=peers.documents, labels=FOUR_LABELS)
        for name, found in peers.predictions.items()
    }
    weights = metrics.resample(len(peers.documents), n_resamples=resamples, seed=seed)
    return {
        "table6": table6(peers),
        "table7": table7(tables),
        "beside": {name: beside(tables[name], peers, name, weights) for name in SYSTEMS},
        "table8": {"rows": check_table8()},
        "table9": table9(peers, names, weights),
        "table10": {"rows": check_table10(), "from": "the totals and recalls that Table 9 prints"},
        "table11": table11(peers),
        "slips": find_slips(),
    }


def _counted(rows: Sequence[Row], **more: Any) -> dict[str, Any]:
    return {"rows": rows, "equal": sum(row["equal"] for row in rows), "of": len(rows)} | more


def table6(peers: Peers) -> dict[str, Any]:
    """True entities by label and part, as computed and as printed."""
    counts: Counter[tuple[str, str]] = Counter()
    part_of = {document: name for name, documents in peers.parts.items() for document in documents}
    for entity in peers.all_gold:
        for label in (entity.label, "total"):
            counts.update([(label, "all"), (label, part_of.get(entity.document, "elsewhere"))])
    rows = []
    for row in printed(6):
        for part, shown in list(row.items())[1:]:
            n = counts[row["label"], part]
            rows.append({"label": row["label"], "part": part, "printed": shown, "computed": n, "equal": shown == n})
    return _counted(rows)


def table7(tables: Mapping[str, CountTable]) -> dict[str, Any]:
    """The 35 rows; `equal` counts those of which every cell is as printed."""
    rows = []
    for row in printed(7):
        labels = None if row["label"] == OVERALL else [row["label"]]
        counts = tables[row["system"]].select(labels=labels).per_document.sum(axis=0)
        computed: dict[str, float] = {name: int(n) for name, n in zip(COUNTS, counts, strict=True)}
        computed |= {name: round(float(value), 6) for name, value in metrics.measures(counts).items()}
        wrong = [name for name in (*COUNTS, *MEASURES) if not as_printed(computed[name], row[name])]
        rows.append({"system": row["system"], "label": row["label"], **computed, "equal": not wrong, "differs": wrong})
    return _counted(rows)


def beside(bag: CountTable, peers: Peers, system: str, weights: numpy.ndarray) -> dict[str, Any]:
    """What the paper does not print: intervals, matching by position and overlap, documents left with something in clear."""
    found, ids = peers.predictions[system], peers.documents
    counts = {
        "bag": bag,
        "position": match_position(peers.gold, found, documents=ids, labels=FOUR_LABELS),
        "overlap": match_overlap(peers.gold, found, documents=ids, labels=FOUR_LABELS),
    }
    with_gold = {entity.document for entity in peers.gold}
    clean = numpy.asarray([document not in with_gold for document in ids])
    # No texts, so no words: false alarms are counted, not put in relation.
    shown = plain(metrics.exposure(metrics.expose(peers.gold, found, documents=ids, words=[0] * len(ids)), weights))
    return {name: plain(metrics.score(table.per_document, weights)) for name, table in counts.items()} | {
        "coverage": plain(metrics.coverage(cover(peers.gold, found, documents=ids), clean, weights)),
        "exposure": {name: value for name, value in shown.items() if name != "words"},
    }


def table9(peers: Peers, names: metrics.NameSource, weights: numpy.ndarray) -> dict[str, Any]:
    """Recall by gender and culture, by the paper's rule; `equal` counts cells (totals and recalls) that are as printed."""
    gold = [entity for entity in peers.gold if entity.label == FOUR_LABELS[0]]
    groups = [names.group(entity.text) for entity in gold]
    found = {system: metrics.found_in_document(gold, peers.predictions[system]) for system in FAIRNESS_SYSTEMS}
    tests = metrics.recall_by_group(gold, groups, found, documents=peers.documents, weights=weights)
    wanted = {(row["category"], row["group"]): row for row in printed(9)}
    rows = [_group_row(test, wanted.get((test.category, test.group), {})) for test in tests]
    cells = [row["equal"] for row in rows] + [row["total_equal"] for row in rows[:: len(FAIRNESS_SYSTEMS)]]
    return {
        "source": names.name,
        "rule": "the same string predicted as a name anywhere in the document",
        "names": len(gold),
        "with_group": {category: sum(bool(getattr(group, category)) for group in groups) for category in metrics.CATEGORIES},
        "rows": rows,
        "equal": sum(cells),
        "of": len(cells),
        "check": check_table9({system: sum(hits) / len(gold) for system, hits in found.items()}),
    }


def _group_row(test: metrics.GroupTest, wanted: Row) -> dict[str, Any]:
    """A group of Table 9 with its test of Table 10, beside the printed recall where there is one."""
    row = group_row(test)
    if not wanted:
        return row | {"total_equal": False, "equal": False}
    shown = wanted.get(test.system)
    row |= {"printed_total": wanted["total"], "printed_recall": shown, "total_equal": wanted["total"] == test.total}
    return row | {"equal": as_printed(test.hits / test.total, shown)}


def table11(peers: Peers) -> dict[str, Any]:
    """What can be said of Table 11: rows of each file against TP + FP, measures against counts."""
    rows = []
    for row, checked in zip(printed(11), check_counts(11), strict=True):
        tp, fp, fn = (row[name] or 0 for name in COUNTS)
        n = peers.chat_rows.get(row["system"])
        rows.append({
            "system": row["system"], "name": CHAT_SYSTEMS[row["system"]], "rows": n, "printed_tp_fp": tp + fp,
            "rows_equal": n == tp + fp, "printed_tp_fn": tp + fn, "measures_equal": not checked["differs"],
        })  # fmt: skip
    equal = sum(row["rows_equal"] and row["measures_equal"] and row["printed_tp_fn"] == CHAT_ENTITIES for row in rows)
    missing = "the gold of TSCC (new_labels_test.csv) is not public, so TP, FP and FN cannot be told apart from the files"
    return {"rows": rows, "equal": equal, "of": len(rows), "missing": missing}


# --- the tables in the terminal

_COLUMNS = {
    "table6": "label part computed printed equal",
    "table7": "system label tp fp fn precision recall f1 f5 equal",
    "table8": "name sum total equal per_million million_tokens",
    "table9": "group system total printed_total recall printed_recall gap u p significance equal",
    "table10": "group system u printed_u p significance printed_significance equal",
    "table11": "name rows printed_tp_fp rows_equal printed_tp_fn measures_equal",
}


def print_paper(report: Mapping[str, Any], to: Console) -> None:
    """Print all tables: computed beside printed, slips below."""
    for name, keys in _COLUMNS.items():
        rows = report[name]["rows"]
        common.show(to, name, rows, keys)
        equal = report[name].get("equal", sum(row.get("equal", False) for row in rows))
        to.print(f"{name}: {equal} of {report[name].get('of', len(rows))} equal to the print")
    keys = "bag.f5 bag.recall position.f5 overlap.f5 exposure.character_recall coverage.incompletely_covered coverage.clean_touched"
    common.show(to, "Beside Table 7: other ways of matching, what stays visible", report["beside"], keys)
    to.print(f"table9: names by {report['table9']['source']}; rule: {report['table9']['rule']}")
    to.print(f"table11: not from the files: {report['table11']['missing']}")
    common.show(to, "Where the print contradicts itself", report["slips"], "where what")


if __name__ == "__main__":
    typer.run(main)
