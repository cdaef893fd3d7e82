"""The tables of the JEDM paper, computed from its stored predictions and compared with the print, cell by cell.

    report = paper_report(read_peers(folder), names=name_source("table"), resamples=1000)
    report["table7"]["equal"], report["table7"]["rows"][0]

Plain data: numbers, labels, names of systems and groups; no text of the data. What the files do not hold is said in `missing`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .exposure import expose, exposure
from .fairness import CATEGORIES, GroupTest, NameSource, found_in_document, recall_by_group
from .matching import CountTable, cover, match_bag, match_overlap, match_position
from .metrics import SEED, coverage, measures, resample, score
from .paper import CHAT_SYSTEMS, MEASURES, OVERALL, SYSTEMS, Value, as_printed, printed
from .paper_slips import check_counts, check_table8, check_table9, check_table10, find_slips
from .peers import Peers, split_counts
from .records import FOUR_LABELS, Entity
from .report import plain

# The three systems of Tables 9 and 10.
FAIRNESS_SYSTEMS = ("presidio_trf", "azure", "finetuned")
COUNTS = ("tp", "fp", "fn")
# Table 11's six systems share one gold, which is not public.
CHAT_ENTITIES = 1615


def paper_report(peers: Peers, *, names: NameSource, resamples: int = 1000, seed: int = SEED) -> dict[str, Any]:
    """All tables.

    peers (Peers): Stored predictions. names (NameSource): For Table 9. resamples (int), seed (int): Of the bootstrap.
    RETURNS (dict[str, Any]): `table6` to `table11`, `beside`, `slips`.
    """
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
    """RETURNS (dict[str, Any]): Counts by label and part, as computed and as printed."""
    computed = split_counts(peers)
    rows = []
    for row in printed(6):
        for part in (name for name in row if name != "label"):
            n = computed.get(str(row["label"]), {}).get(part, 0)
            shown = {"printed": row[part], "computed": n, "equal": row[part] == n}
            rows.append({"label": row["label"], "part": part, **shown})
    return {"rows": rows, "equal": sum(row["equal"] for row in rows), "of": len(rows)}


def table7(tables: Mapping[str, CountTable]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The 35 rows; `equal` counts those of which every cell is as printed."""
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
    """RETURNS (dict[str, float]): Counts and measures of one row. counts (numpy.ndarray): TP, FP, FN."""
    values = {name: float(value) for name, value in measures(counts).items()}
    return {name: int(n) for name, n in zip(COUNTS, counts, strict=True)} | {name: round(v, 6) for name, v in values.items()}


def beside(bag: CountTable, peers: Peers, system: str, weights: numpy.ndarray) -> dict[str, Any]:
    """What the paper does not print: intervals, matching by position and overlap, documents left with something in clear.

    RETURNS (dict[str, Any]): Plain data on one system.
    """
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
    """RETURNS (Exposure): Without the number of words, which the files do not hold."""
    return exposure(expose(gold, found, documents=ids, words=[0] * len(ids)), weights)


def table9(peers: Peers, names: NameSource, weights: numpy.ndarray) -> dict[str, Any]:
    """Recall by gender and culture, by the paper's rule, beside what it printed.

    RETURNS (dict[str, Any]): Rows; `equal` counts cells (totals and recalls) that are as printed.
    """
    gold = [entity for entity in peers.gold if entity.label == FOUR_LABELS[0]]
    groups = [names.group(entity.text) for entity in gold]
    found = {system: found_in_document(gold, peers.predictions[system]) for system in FAIRNESS_SYSTEMS}
    tests = recall_by_group(gold, groups, found, documents=peers.documents, weights=weights)
    wanted = {(row["category"], row["group"]): row for row in printed(9)}
    rows = [group_row(test, wanted.get((test.category, test.group), {})) for test in tests]
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


def group_row(test: GroupTest, wanted: Mapping[str, Value]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A group of Table 9 with its test of Table 10, beside the printed recall where there is one."""
    recall = test.hits / test.total
    row: dict[str, Any] = {
        "category": test.category, "group": test.group, "system": test.system, "total": test.total, "hits": test.hits,
    }  # fmt: skip
    row |= plain({"recall": test.recall, "gap": test.gap}) | {"recall": round(recall, 6)}
    row |= test_values(test)
    if wanted:
        row |= {"printed_total": wanted["total"], "printed_recall": wanted.get(test.system)}
        row |= {"total_equal": wanted["total"] == test.total, "equal": as_printed(recall, wanted.get(test.system))}
    return row | {"total_equal": row.get("total_equal", False), "equal": row.get("equal", False)}


def test_values(test: GroupTest) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The Mann-Whitney test of a group; empty where it has nobody to be compared with."""
    return {} if numpy.isnan(test.u) else {"u": test.u, "p": float(f"{test.p:.4g}"), "significance": test.significance}


def table11(peers: Peers) -> dict[str, Any]:
    """What can be said of Table 11: rows of each file against TP + FP, measures against counts.

    RETURNS (dict[str, Any]): Rows and, in `missing`, what the files do not hold.
    """
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
