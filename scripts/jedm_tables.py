"""The printed tables of the JEDM paper as records: what computed numbers are compared with.

    >>> from scripts.jedm_tables import printed
    >>> len(printed(7)), printed(7)[0]["system"], printed(7)[0]["tp"]
    (35, 'presidio_lg', 1805)

Source: seeds/gpt4omini_jedm.txt (arXiv 2501.09765), Tables 6 to 11. Slips of the print stand here as they were printed.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console
from rich.table import Table

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, guard
from pii_components.corpus.split import CRAPII_DOCUMENTS, paper_split
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import FOUR_LABELS, Entity
from pii_components.evaluate.match import CountTable, cover, match_bag, match_overlap, match_position
from pii_components.evaluate.metrics import (
    CATEGORIES,
    SEED,
    GroupTest,
    NameSource,
    coverage,
    expose,
    exposure,
    found_in_document,
    mann_whitney,
    measures,
    recall_by_group,
    resample,
    score,
    significance,
)
from pii_components.evaluate.report import group_row, plain
from pii_components.evaluate.systems import label_of
from pii_components.evaluate.tables import console, grid, interval, test_cells
from pii_components.evaluate.tables import number as number_tables
from pii_components.files.formats.entities import read_entities
from pii_components.files.record import Skip, open_binary, open_text, reason_of

# `pii-edu evaluate tables`: the JEDM paper's tables from its stored predictions, compared with the print.

EPILOG = "Exit codes: 0 all rows of Table 7 are as printed; 1 some are not; 2 refused; 130 interrupted."

PeersOpt = Annotated[
    str, typer.Option("--peers", help="Folder with true_entities.csv and the predictions; see assets/README.md.")
]
NamesOpt = Annotated[
    str,
    typer.Option("--names", help="Gender and culture of names by: table (ships), names-dataset (the paper's; 3 GB, minutes)."),
]
OutOpt = Annotated[str, typer.Option("--out", help="Metrics file (JSON).")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the documents.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the bootstrap; 0 is the usual one.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def tables(
    *,
    peers: PeersOpt,
    names: NamesOpt = "table",
    out: OutOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Compute Tables 6 to 11 of the JEDM paper from its stored predictions, and say where they differ from the print."""
    with guard(debug):
        from pii_components.cli.common import console
        from pii_components.evaluate.metrics import SEED, name_source
        from pii_components.evaluate.report import FORMAT, versions, write_report

        found = read_peers(Path(peers))
        report: dict[str, Any] = {
            "format": FORMAT,
            "command": f"pii-edu evaluate tables --peers {Path(peers).name} --names {names}",
            "versions": versions(),
            "bootstrap": {"unit": "document", "resamples": resamples, "seed": seed or SEED, "level": 0.95},
        } | paper_report(found, names=name_source(names), resamples=resamples, seed=seed or SEED)
        if not quiet:
            print_paper(report, to=console())
        if out:
            write_report(report, Path(out))
            console(stderr=True).print(f"wrote '{out}'", markup=False)
        table7 = report["table7"]
    raise typer.Exit(DONE if table7["equal"] == table7["of"] else DONE_WITH_SKIPS)


# What a run costs: tokens times price, from a price table that is data.

MILLION = 1_000_000
RECORD_CHARACTERS = 1_000
KINDS = ("input", "output", "training", "records")
_COLUMNS = ("service", "kind", "usd", "per")
# Price of one unit by (service, kind).
Prices = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used of a service."""

    service: str
    input: int = 0
    output: int = 0
    training: int = 0
    records: int = 0


def read_prices(path: Path | None = None) -> dict[tuple[str, str], float]:
    """Read a price table."""
    source = resources.files("pii_components") / "resources" / "papers" / "prices.tsv" if path is None else path
    try:
        rows = list(csv.DictReader(source.read_text(encoding="utf8").splitlines(), delimiter="\t"))
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what=source.name, reason=reason_of(err)) from err
    prices: dict[tuple[str, str], float] = {}
    for number, row in enumerate(rows, 1):
        try:
            usd, per = float(row["usd"]), float(row["per"])
        except (KeyError, TypeError, ValueError):
            usd = per = -1.0
        if not (math.isfinite(usd) and usd >= 0 and math.isfinite(per) and per > 0) or row.get("kind") not in KINDS:
            raise PiiError(Errors.E734, number=number, file=source.name, needed=", ".join(_COLUMNS), kinds=", ".join(KINDS))
        prices[row["service"], row["kind"]] = usd / per
    return prices


def cost(usage: Usage, prices: Prices) -> float:
    """Cost of a run in dollars."""
    total = 0.0
    for kind in KINDS:
        amount = getattr(usage, kind)
        if not amount:
            continue
        if (usage.service, kind) not in prices:
            known = ", ".join(f"{service} ({of})" for service, of in sorted(prices))
            raise PiiError(Errors.E735, service=usage.service, kind=kind, known=known)
        total += amount * prices[usage.service, kind]
    return total


def per_million(total: float, tokens: int) -> float:
    """Dollars per million tokens of text, as in Table 8."""
    if tokens <= 0:
        raise PiiError(Errors.E736, tokens=tokens)
    return total / tokens * MILLION


def records_of(lengths: Iterable[int]) -> int:
    """Records that a service charges for documents with these numbers of characters; each begins a new one."""
    return sum(max(math.ceil(length / RECORD_CHARACTERS), 1) for length in lengths)


def implied_tokens(total: float, average: float, *, digits: int = 2) -> tuple[float, float]:
    """What number of tokens a printed average stands for."""
    half = 0.5 * 10**-digits
    return (total - half) / (average + half), (total + half) / (average - half)


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
# Of Table 11, on TSCC.
CHAT_SYSTEMS: dict[str, str] = {
    "tscc_1_presidio": "1. Presidio (en_core_web_trf)",
    "tscc_2_azure": "2. Azure AI Language",
    "tscc_3_gpt+fewshot": "3. GPT-4o-mini + few-shot prompting",
    "tscc_4_ftgpt+zeroshot": "4. Fine-tuned GPT-4o-mini + zero-shot prompting",
    "tscc_5_gpt+ft": "5. GPT-4o-mini + fine-tuning",
    "tscc_6_ftgpt+ft": "6. Fine-tuned GPT-4o-mini + fine-tuning",
}
OVERALL = "overall"
MEASURES = ("precision", "recall", "f1", "f5")
Value = str | int | float | None


@cache
def printed(table: int) -> tuple[dict[str, Value], ...]:
    """Rows of a table."""
    file = resources.files("pii_components") / "resources" / "papers" / f"jedm_table{table}.tsv"
    lines = file.read_text(encoding="utf8").splitlines()
    return tuple({name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(lines, delimiter="\t"))


def _value(cell: str) -> Value:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None


def as_printed(value: float, like: Value) -> bool:
    """Whether a number was rounded to what stands in the print."""
    if like is None or isinstance(like, str):
        return False
    return abs(value - like) <= (0 if isinstance(like, int) else 0.5e-4 + 1e-9)


# Where the printed JEDM paper does not agree with itself: sums, measures, averages, tests. Nothing but its own numbers is

COUNTS = ("tp", "fp", "fn")
# Section 4.4: "approximately 6 times higher" than the fine-tuned model.
PRINTED_RATIO = 6
_CENT = 0.005


def number(value: Value) -> float:
    """A printed number; 0 for a dash."""
    return float(value) if isinstance(value, int | float) else 0.0


def check_counts(table: int) -> list[dict[str, Any]]:
    """Measures of Table 7 or 11 against its own counts."""
    out = []
    for row in printed(table):
        values = measures(numpy.asarray([number(row[name]) for name in COUNTS]))
        differs = [name for name in MEASURES if not as_printed(float(values[name]), row[name])]
        out.append({"system": row["system"], "label": row.get("label", ""), "differs": differs})
    return out


def check_table8() -> list[dict[str, Any]]:
    """Per system its total, the sum of its parts, and the tokens that its average stands for."""
    out = []
    for row in printed(8):
        parts = [number(value) for name, value in row.items() if name not in ("system", "total", "per_million")]
        total, average = number(row["total"]), number(row["per_million"])
        out.append({
            "system": row["system"], "name": SYSTEMS[str(row["system"])][1], "total": total, "sum": round(sum(parts), 2),
            "equal": abs(total - sum(parts)) < _CENT, "per_million": average,
            "million_tokens": [round(n, 3) for n in implied_tokens(total, average)] if average else None,
        })  # fmt: skip
    return out


def check_table9(recall: Mapping[str, float]) -> list[dict[str, Any]]:
    """Recall over both genders as Table 9 prints it, beside recall of names in Table 7 and by the rule that Table 9 fits."""
    genders = [row for row in printed(9) if row["category"] == "gender"]
    total = sum(number(row["total"]) for row in genders)
    names = {row["system"]: number(row["recall"]) for row in printed(7) if row["label"] == "NAME_STUDENT"}
    return [
        {
            "system": system,
            "table9": round(sum(number(row["total"]) * number(row[system]) for row in genders) / total, 4),
            "table7": names[system],
            "anywhere": round(value, 4),
        }
        for system, value in recall.items()
    ]


def hits_of(total: int, recall: float) -> int:
    """The number of hits that rounds to this recall."""
    return round(total * recall)


def check_table10() -> list[dict[str, Any]]:
    """Table 10 from the totals and recalls of Table 9: U, p and stars, each beside what is printed."""
    groups = {(row["category"], row["group"]): row for row in printed(9)}
    out = []
    for row in printed(10):
        category, system = row["category"], str(row["system"])
        of = [(name, values) for (kind, name), values in groups.items() if kind == category]
        counts = {name: (hits_of(int(number(v["total"])), number(v[system])), int(number(v["total"]))) for name, v in of}
        hits, total = counts.pop(row["group"])
        rest_hits, rest_total = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
        u, p = mann_whitney(hits, total, rest_hits, rest_total)
        rates_equal = as_printed(hits / total, row["group_tpr"]) and as_printed(rest_hits / rest_total, row["rest_tpr"])
        found: dict[str, Any] = {
            "category": category, "group": row["group"], "system": system, "u": u, "printed_u": row["u"],
            "p": float(f"{p:.4g}"), "significance": significance(p), "printed_significance": row["significance"],
            "rates_equal": rates_equal,
        }  # fmt: skip
        found["u_equal"] = abs(u - number(row["u"])) <= 0.5
        found["equal"] = rates_equal and found["u_equal"] and found["significance"] == row["significance"]
        out.append(found)
    return out


def find_slips() -> list[dict[str, str]]:
    """Where the print contradicts itself, and how."""
    out: list[tuple[str, str]] = []
    table = printed(6)
    for part in (name for name in table[0] if name != "label"):
        total = sum(int(number(row[part])) for row in table if row["label"] != "total")
        shown = next(row[part] for row in table if row["label"] == "total")
        if total != shown:
            out.append(("Table 6", f"total of {part}: printed {shown}, its rows sum to {total}"))
    for which in (7, 11):
        out += [
            (f"Table {which}", f"{row['system']} {row['label']}: {', '.join(row['differs'])} do not follow from the counts")
            for row in check_counts(which)
            if row["differs"]
        ]
    out += overall_slips()
    rows = check_table8()
    out += [
        ("Table 8", f"{row['system']}: printed total {row['total']}, its parts sum to {row['sum']}")
        for row in rows
        if not row["equal"]
    ]
    known = {row["system"]: row["million_tokens"] for row in rows if row["million_tokens"]}
    least, most = max(known, key=lambda s: known[s][0]), min(known, key=lambda s: known[s][1])
    if known[least][0] > known[most][1]:
        what = f"no number of tokens fits all averages: {least} has {known[least][0]:.2f} million or more, {most} {known[most][1]:.2f}"
        out.append(("Table 8", what + " or less"))
    price = {row["system"]: row["per_million"] for row in rows}
    ratio = price["azure"] / price["finetuned"]
    if round(ratio) != PRINTED_RATIO:
        out.append(
            ("Section 4.4", f"Azure costs {ratio:.1f} times the fine-tuned model, printed 'approximately {PRINTED_RATIO}'")
        )
    out += [
        ("Tables 7, 9", f"{row['system']}: recall of names {row['table7']:.4f} in Table 7, {row['table9']:.4f} over both genders "
         "in Table 9, so not by one rule")
        for row in check_table9(dict.fromkeys(("presidio_trf", "azure", "finetuned"), 0.0))
    ]  # fmt: skip
    out += [("Table 10", slip_of(row)) for row in check_table10() if not row["equal"]]
    return [{"where": where, "what": what} for where, what in out]


def slip_of(row: Mapping[str, Any]) -> str:
    """What does not fit in a row of Table 10."""
    wrong = []
    if not row["rates_equal"]:
        wrong.append("rates other than in Table 9")
    if not row["u_equal"]:
        wrong.append(f"U printed {row['printed_u']}, from Table 9 {row['u']:.1f}")
    if row["significance"] != row["printed_significance"]:
        wrong.append(f"printed {row['printed_significance']}, p = {row['p']:.3g} is {row['significance']}")
    return f"{row['group']}, {row['system']}: {'; '.join(wrong)}"


def overall_slips() -> list[tuple[str, str]]:
    """Rows "Overall" of Table 7 that are not the sum of their system, and other totals than Table 6's."""
    out: list[tuple[str, str]] = []
    rows: Sequence[Mapping[str, Value]] = printed(7)
    shown = next(int(number(row["test"])) for row in printed(6) if row["label"] == "total")
    gold = set()
    for system in SYSTEMS:
        own = [row for row in rows if row["system"] == system]
        overall = next(row for row in own if row["label"] == "overall")
        gold.add(int(number(overall["tp"]) + number(overall["fn"])))
        for name in COUNTS:
            total = sum(int(number(row[name])) for row in own if row["label"] != "overall")
            if total != overall[name]:
                out.append(("Table 7", f"{system} overall: printed {name} {overall[name]}, its rows sum to {total}"))
    out += [("Tables 6, 7", f"{n} entities (TP + FN) in Table 7, {shown} in Table 6") for n in sorted(gold - {shown})]
    return out


# The stored predictions of the JEDM paper, and the true entities, as published (AnonJD/PrivacyAI, MIT): offsets and words

GOLD_FILE = "true_entities.csv"


@dataclass(frozen=True, slots=True)
class Peers:
    """What the folder holds."""

    documents: tuple[str, ...]
    parts: dict[str, frozenset[str]] = field(repr=False)
    all_gold: tuple[Entity, ...] = field(repr=False)
    gold: tuple[Entity, ...] = field(repr=False)
    predictions: dict[str, tuple[Entity, ...]] = field(repr=False)
    chat_rows: dict[str, int]


def read_peers(folder: Path) -> Peers:
    """Read the folder."""
    files = [GOLD_FILE, *(file for file, _ in SYSTEMS.values())]
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise PiiError(Errors.E730, missing=", ".join(missing))
    parts = {name: frozenset(map(str, numbers)) for name, numbers in paper_split(CRAPII_DOCUMENTS).items()}
    test = parts["test"]
    all_gold = tuple(read_rows(folder / GOLD_FILE))
    predictions = {}
    for name, (file, _) in SYSTEMS.items():
        found = tuple(read_rows(folder / file))
        outside = {entity.document for entity in found} - test
        if outside:
            raise PiiError(Errors.E732, file=file, n=len(outside))
        predictions[name] = found
    chats = {name: folder / f"{name}.csv" for name in CHAT_SYSTEMS}
    return Peers(
        documents=tuple(sorted(test, key=int)),
        parts=parts,
        all_gold=all_gold,
        gold=tuple(entity for entity in all_gold if entity.document in test),
        predictions=predictions,
        chat_rows={name: count_rows(path) for name, path in chats.items() if path.is_file()},
    )


def read_rows(path: Path) -> Iterable[Entity]:
    """Each row, with our label for its type."""
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise PiiError(Errors.E731, number=row.number, file=path.name, reason=row.code)
        # Where words and offsets differ in length, the words are what the system gave: only they are compared by text.
        end = row.end if row.end > row.start else row.start + len(row.words)
        yield Entity(row.document, row.start, end, label_of(row, path.name), row.words)


def count_rows(path: Path) -> int:
    """Rows of a file without types (TSCC: names only), the head aside."""
    with open_binary(path) as raw, open_text(raw, encoding="utf-8", bom=b"") as stream:
        return max(sum(1 for row in csv.reader(stream) if row) - 1, 0)


def split_counts(peers: Peers) -> dict[str, dict[str, int]]:
    """Table 6: true entities by label and part; "total" sums over labels."""
    counts: Counter[tuple[str, str]] = Counter()
    part_of = {document: name for name, documents in peers.parts.items() for document in documents}
    for entity in peers.all_gold:
        for label in (entity.label, "total"):
            counts[label, "all"] += 1
            counts[label, part_of.get(entity.document, "elsewhere")] += 1
    labels = dict.fromkeys(label for label, _ in counts)
    return {label: {part: counts[label, part] for part in ("all", *peers.parts)} for label in labels}


# The tables of the JEDM paper, computed from its stored predictions and compared with the print, cell by cell.

# The three systems of Tables 9 and 10.
FAIRNESS_SYSTEMS = ("presidio_trf", "azure", "finetuned")
# Table 11's six systems share one gold, which is not public.
CHAT_ENTITIES = 1615


def paper_report(peers: Peers, *, names: NameSource, resamples: int = 1000, seed: int = SEED) -> dict[str, Any]:
    """All tables."""
    tables = {name: match_bag(peers.gold, found, documents=peers.documents, labels=FOUR_LABELS)
              for name, found in peers.predictions.items()}  # fmt: skip
    weights = resample(len(peers.documents), n_resamples=resamples, seed=seed)
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


def table6(peers: Peers) -> dict[str, Any]:
    """Counts by label and part, as computed and as printed."""
    computed = split_counts(peers)
    rows = []
    for row in printed(6):
        for part in (name for name in row if name != "label"):
            n = computed.get(str(row["label"]), {}).get(part, 0)
            shown = {"printed": row[part], "computed": n, "equal": row[part] == n}
            rows.append({"label": row["label"], "part": part, **shown})
    return {"rows": rows, "equal": sum(row["equal"] for row in rows), "of": len(rows)}


def table7(tables: Mapping[str, CountTable]) -> dict[str, Any]:
    """The 35 rows; `equal` counts those of which every cell is as printed."""
    rows = []
    for row in printed(7):
        label = str(row["label"])
        labels = None if label == OVERALL else [label]
        counts = tables[str(row["system"])].select(labels=labels).per_document.sum(axis=0)
        computed = computed_row(counts)
        wrong = [name for name in (*COUNTS, *MEASURES) if not as_printed(computed[name], row[name])]
        rows.append({"system": row["system"], "label": label, **computed, "equal": not wrong, "differs": wrong})
    return {"rows": rows, "equal": sum(row["equal"] for row in rows), "of": len(rows)}


def computed_row(counts: numpy.ndarray) -> dict[str, float]:
    """Counts and measures of one row."""
    values = {name: float(value) for name, value in measures(counts).items()}
    return {name: int(n) for name, n in zip(COUNTS, counts, strict=True)} | {name: round(v, 6) for name, v in values.items()}


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
    shown = plain(exposure_of(peers.gold, found, ids, weights))
    return {name: plain(score(table.per_document, weights)) for name, table in counts.items()} | {
        "coverage": plain(coverage(cover(peers.gold, found, documents=ids), clean, weights)),
        "exposure": {name: value for name, value in shown.items() if name != "words"},
    }


def exposure_of(gold: Sequence[Entity], found: Sequence[Entity], ids: Sequence[str], weights: numpy.ndarray) -> Any:
    """Without the number of words, which the files do not hold."""
    return exposure(expose(gold, found, documents=ids, words=[0] * len(ids)), weights)


def table9(peers: Peers, names: NameSource, weights: numpy.ndarray) -> dict[str, Any]:
    """Recall by gender and culture, by the paper's rule, beside what it printed."""
    gold = [entity for entity in peers.gold if entity.label == FOUR_LABELS[0]]
    groups = [names.group(entity.text) for entity in gold]
    found = {system: found_in_document(gold, peers.predictions[system]) for system in FAIRNESS_SYSTEMS}
    tests = recall_by_group(gold, groups, found, documents=peers.documents, weights=weights)
    wanted = {(row["category"], row["group"]): row for row in printed(9)}
    rows = [printed_group_row(test, wanted.get((test.category, test.group), {})) for test in tests]
    cells = [row["equal"] for row in rows] + [row["total_equal"] for row in rows[:: len(FAIRNESS_SYSTEMS)]]
    known = {category: sum(bool(getattr(group, category)) for group in groups) for category in CATEGORIES}
    return {
        "source": names.name,
        "rule": "the same string predicted as a name anywhere in the document",
        "names": len(gold),
        "with_group": known,
        "rows": rows,
        "equal": sum(cells),
        "of": len(cells),
        "check": check_table9({system: sum(hits) / len(gold) for system, hits in found.items()}),
    }


def printed_group_row(test: GroupTest, wanted: Mapping[str, Value]) -> dict[str, Any]:
    """A group of Table 9 with its test of Table 10, beside the printed recall where there is one."""
    row = group_row(test)
    if wanted:
        recall = test.hits / test.total
        row |= {"printed_total": wanted["total"], "printed_recall": wanted.get(test.system)}
        row |= {"total_equal": wanted["total"] == test.total, "equal": as_printed(recall, wanted.get(test.system))}
    return row | {"total_equal": row.get("total_equal", False), "equal": row.get("equal", False)}


def table11(peers: Peers) -> dict[str, Any]:
    """What can be said of Table 11: rows of each file against TP + FP, measures against counts."""
    rows = []
    for row, checked in zip(printed(11), check_counts(11), strict=True):
        system = str(row["system"])
        tp, fp, fn = (int(row[name] or 0) for name in COUNTS)
        n_rows = peers.chat_rows.get(system)
        rows.append({
            "system": system, "name": CHAT_SYSTEMS[system], "rows": n_rows, "printed_tp_fp": tp + fp,
            "rows_equal": n_rows == tp + fp, "printed_tp_fn": tp + fn, "measures_equal": not checked["differs"],
        })  # fmt: skip
    return {
        "rows": rows,
        "equal": sum(row["rows_equal"] and row["measures_equal"] and row["printed_tp_fn"] == CHAT_ENTITIES for row in rows),
        "of": len(rows),
        "missing": "the gold of TSCC (new_labels_test.csv) is not public, so TP, FP and FN cannot be told apart from the files",
    }


# The JEDM tables in the terminal: computed beside printed, what differs marked, slips below.

YES, NO = "equal", "differs"


def print_paper(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print all tables."""
    to = to or console()
    to.print(table6_paper(report["table6"]))
    to.print(table7_paper(report["table7"]))
    to.print(f"Table 7: {report['table7']['equal']} of {report['table7']['of']} rows equal to the print")
    to.print(beside_paper(report["beside"]))
    to.print(table8(report["table8"]))
    to.print(table9_paper(report["table9"]))
    of9 = report["table9"]
    to.print(f"Table 9: {of9['equal']} of {of9['of']} cells equal to the print, names by {of9['source']}; rule: {of9['rule']}")
    to.print(table10(report["table10"]))
    rows = report["table10"]["rows"]
    to.print(f"Table 10: {sum(row['equal'] for row in rows)} of {len(rows)} rows follow from {report['table10']['from']}")
    to.print(table11_paper(report["table11"]))
    to.print(f"Table 11: not from the files: {report['table11']['missing']}")
    to.print("Where the print contradicts itself:")
    for slip in report["slips"]:
        to.print(f"  {slip['where']}: {slip['what']}", markup=False)


def same(equal: bool, printed: object = None) -> str:
    """ "equal", or the printed value."""
    return YES if equal else f"[bold red]{NO}[/]" + (f" (printed {printed})" if printed is not None else "")


def table6_paper(table: Mapping[str, Any]) -> Table:
    """True entities by label and part."""
    out = grid("Table 6: true entities", "label", "part", "computed", "", left=2)
    for row in table["rows"]:
        out.add_row(row["label"], row["part"], str(row["computed"]), same(row["equal"], row["printed"]))
    return out


def table7_paper(table: Mapping[str, Any]) -> Table:
    """35 rows, computed."""
    title = "Table 7: exact match by (document, type, text), computed from the stored predictions"
    out = grid(title, "system", "label", "TP", "FP", "FN", "P", "R", "F1", "F5", "print", left=2)
    for row in table["rows"]:
        out.add_row(
            SYSTEMS[row["system"]][1], row["label"], *(f"{row[name]:,}" for name in ("tp", "fp", "fn")),
            *(f"{row[name]:.4f}" for name in MEASURES), same(row["equal"]), end_section=row["label"] == "overall",
        )  # fmt: skip
    return out


def beside_paper(systems: Mapping[str, Any]) -> Table:
    """What the paper does not print."""
    title = "Beside Table 7: intervals (95 %), other ways of matching, what stays visible"
    columns = (
        "system",
        "F5",
        "recall",
        "F5 position",
        "F5 overlap",
        "character recall",
        "documents not wholly covered",
        "clean touched",
    )
    out = grid(title, *columns)
    for name, row in systems.items():
        cover = row["coverage"]
        out.add_row(
            name, interval(row["bag"], "f5"), interval(row["bag"], "recall"), number_tables(row["position"]["f5"]), number_tables(row["overlap"]["f5"]),
            number_tables(row["exposure"].get("character_recall")), f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
            f"{cover['clean_touched']} of {cover['clean_documents']}",
        )  # fmt: skip
    return out


def table8(table: Mapping[str, Any]) -> Table:
    """Cost: sums, and the tokens that each average stands for."""
    title = "Table 8: cost in dollars"
    out = grid(title, "system", "sum of parts", "print", "per million tokens (printed)", "million tokens behind it")
    for row in table["rows"]:
        tokens = row["million_tokens"]
        shown = f"{tokens[0]:.2f} to {tokens[1]:.2f}" if tokens else "–"
        out.add_row(row["name"], f"{row['sum']:.2f}", same(row["equal"], row["total"]), f"{row['per_million']:.2f}", shown)
    return out


def table9_paper(table: Mapping[str, Any]) -> Table:
    """Recall by group, with the test on these counts."""
    title = "Table 9: recall by gender and culture of the name (printed in brackets), with the test of Table 10 on these counts"
    out = grid(title, "group", "system", "names", "recall", "less the rest (95 %)", "U", "p", "", left=2)
    for row in table["rows"]:
        out.add_row(
            row["group"], row["system"], f"{row['total']} ({row.get('printed_total', '–')})",
            f"{row['recall']:.4f} ({row.get('printed_recall', '–')})", interval(row, "gap", signed=True), *test_cells(row),
        )  # fmt: skip
    return out


def table10(table: Mapping[str, Any]) -> Table:
    """The printed test from the printed counts."""
    title = "Table 10: Mann-Whitney U, two-tailed, from the totals and recalls that Table 9 prints"
    out = grid(title, "group", "system", "U", "p", "", "print", left=2)
    for row in table["rows"]:
        wrong = f"U {row['printed_u']}, {row['printed_significance']}"
        out.add_row(
            row["group"], row["system"], f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"], same(row["equal"], wrong)
        )
    return out


def table11_paper(table: Mapping[str, Any]) -> Table:
    """What can be checked of TSCC."""
    out = grid(
        "Table 11 (TSCC): rows of the files against TP + FP",
        "system",
        "rows",
        "TP + FP",
        "",
        "TP + FN",
        "P, R, F1, F5 from counts",
    )
    for row in table["rows"]:
        out.add_row(
            row["name"], str(row["rows"] if row["rows"] is not None else "no file"), str(row["printed_tp_fp"]), same(row["rows_equal"]),
            str(row["printed_tp_fn"]), same(row["measures_equal"]),
        )  # fmt: skip
    return out
