"""Threshold curves of the report, from what `evaluate.thresholds` wrote."""

from collections.abc import Mapping, Sequence
from typing import Any

from .html_charts import lines
from .html_parts import Cell, details, estimate, missing, number, paragraph, table

_MEASURES = {"precision": "precision", "recall": "recall", "f5": "F5"}


def sweeps(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """RETURNS (dict[str, Mapping[str, Any]]): The files that hold settings with their scores."""

    def fits(settings: Any) -> bool:
        return (
            isinstance(settings, list)
            and bool(settings)
            and all(isinstance(row, Mapping) and "setting" in row for row in settings)
        )

    return {name: report for name, report in reports.items() if fits(report.get("settings"))}


def thresholds(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """RETURNS (str): A chart per threshold, a table of all settings, and what cross-validation gives."""
    out = []
    for file, report in sweeps(reports).items():
        settings = report["settings"]
        criterion = str(report.get("criterion", "f5"))
        places = list(settings[0]["setting"])
        for place in places:
            out.append(curve(settings, place, criterion, alone=len(places) == 1))
        rows: list[Sequence[Cell]] = [
            [
                ", ".join(f"{name} = {number(value)}" for name, value in row["setting"].items()),
                *(row.get(name) for name in ("precision", "recall", "f1", "f5", "incompletely_covered", "clean_touched")),
            ]
            for row in settings
        ]
        head = ("setting", "precision", "recall", "F1", "F5", "documents with PII left", "clean documents touched")
        out.append(details(f"all {len(rows)} settings", table(f"{file}: settings", head, rows)))
        held_out = (report.get("cross_validation") or {}).get("held_out")
        if held_out:
            cells = [estimate(held_out, name) for name in ("precision", "recall", "f1", "f5")]
            title = f"{file}: chosen on some folds, counted on the others (95 % intervals)"
            out.append(table(title, ("", "precision", "recall", "F1", "F5"), [["held out", *cells]]))
        if report.get("best"):
            best = ", ".join(f"{name} = {number(value)}" for name, value in report["best"].items())
            out.append(paragraph(f"Best on all documents: {best}."))
    return "\n".join(out) or missing("thresholds", "Make them with: python -m pii_components.evaluate.thresholds … --out FILE.")


def curve(settings: Sequence[Mapping[str, Any]], place: str, criterion: str, *, alone: bool) -> str:
    """RETURNS (str): Precision, recall and F5 along one threshold; at each value the best of the others, where there are others."""
    values = sorted({float(row["setting"][place]) for row in settings})
    if len(values) < 2:
        return ""
    best = [
        max((row for row in settings if float(row["setting"][place]) == value), key=lambda row: row.get(criterion) or -1.0)
        for value in values
    ]
    series = {shown: [row.get(name) for row in best] for name, shown in _MEASURES.items()}
    title = f"Scores by {place}" + ("" if alone else " (the other settings at their best)")
    return lines(title, values, series, axis=place)
