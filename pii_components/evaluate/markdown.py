"""A metrics file as a Markdown table: `python -m pii_components.evaluate.markdown metrics/essays_sample.json`.

README.md and MODEL_CARD.md hold its output between two marks; a test writes it again and compares. No number is copied by hand.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import veto_table as veto
from .command import run_command

HEAD = ("system", "labels", "support", "P", "R", "F1", "F5 (95 % interval)", "PII left in", "clean essays touched")


def cell(score: Mapping[str, Any], name: str, *, interval: bool = False) -> str:
    """RETURNS (str): A number with three digits, with its interval if asked; a dash where there is no support."""
    if name not in score:
        return "-"
    low, high = score[f"{name}_95"]
    return f"{score[name]:.3f}" + (f" ({low:.3f} to {high:.3f})" if interval else "")


def table_row(name: str, view: str, scores: Mapping[str, Any]) -> list[str]:
    """RETURNS (list[str]): The cells of a system's row. name (str): Shown. view (str): Shown. scores (Mapping): One view."""
    bag, cover = scores["bag"], scores["coverage"]
    return [
        name,
        view,
        str(bag["support"]),
        cell(bag, "precision"),
        cell(bag, "recall"),
        cell(bag, "f1"),
        cell(bag, "f5", interval=True),
        f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
        f"{cover['clean_touched']} of {cover['clean_documents']}",
    ]


def lines_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """RETURNS (list[str]): A table of Markdown, line by line. head (Sequence[str]): Columns. rows (Sequence[Sequence[str]]): Cells."""
    return [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fairness_table(report: Mapping[str, Any]) -> str:
    """RETURNS (str): What `pii-edu evaluate fairness` wrote, as Markdown: recall per gender and culture, and how far from the rest."""
    rows = []
    for category in ("gender", "culture"):
        for name, found in report["groups"][category].items():
            low, high = found["gap_95"]
            gap = f"{found['gap']:+.3f} ({low:+.3f} to {high:+.3f})"
            rows.append([name, str(found["names"]), str(found["people"]), cell(found, "recall", interval=True), gap])
    asked = report["asked"]
    verdict = "holds" if asked["holds"] else "does not hold"
    head = ("names", "mentions", "people", "recall (95 % interval)", "less the rest (95 % interval)")
    told = (
        f"No group more than {asked['most_below']} below the rest, on {asked['least_names']} names a group: {verdict}; the worst is "
        f"{asked['worst'].split(' ', 1)[1]}."
    )
    return "\n".join([*lines_of(head, rows), "", told])


def control_table(reports: Sequence[Mapping[str, Any]]) -> str:
    """RETURNS (str): The random-veto control of `pii-edu evaluate crossval`, as Markdown; empty without any."""
    parts = []
    for report in reports:
        if control := report.get("control"):
            parts += [*lines_of(veto.HEAD, veto.control_rows(control)), "", veto.note(control), ""]
            parts += [*lines_of(veto.RECALL_HEAD, veto.recall_rows(control)), ""]
            parts += [f"- {line}" for line in veto.check_lines(control)]
    return "\n".join(parts)


def markdown_table(reports: Sequence[Mapping[str, Any]], *, subset: str = "", control: bool = False) -> str:
    """One row per report, system and set of labels.

    reports (Sequence[Mapping[str, Any]]): What `compare` wrote. subset (str): A part of the data (seed_split); all if empty. control (bool):
        Whether to show the random-veto control of `crossval` instead.
    RETURNS (str): Lines of Markdown, without a line break at the end. What `fairness` wrote makes a table of its own form.
    """
    if control:
        return control_table(reports)
    if reports and "groups" in reports[0]:
        return fairness_table(reports[0])
    if reports and reports[0].get("kind") == "windows":
        from .windows import windows_rows

        tables = [windows_rows(report) for report in reports]
        return "\n".join(lines_of(tables[0][0], [row for _, part in tables for row in part]))
    if reports and reports[0].get("kind") == "presidio":
        from .presidio_samples import presidio_rows

        return "\n".join(lines_of(*presidio_rows(reports[0])))
    rows = [list(HEAD), ["---"] * len(HEAD)]
    seen = set()
    for report in reports:
        for name, system in report["systems"].items():
            ours = "pii_ner" in json.dumps(system["about"])
            shown = f"{name}, profile {report['profile']}" if ours else name
            part = system["subsets"][subset] if subset else system["views"]
            for view in report["views"]:
                if (shown, view) not in seen and view in part:
                    seen.add((shown, view))
                    rows.append(table_row(shown, view, part[view]))
    lines = [_line(row) for row in rows]
    ratios = {pair: ratio for report in reports for pair, ratio in report["speed_ratio"].items()} if not subset else {}
    if ratios:
        said = "; ".join(f"{pair} {ratio['words_per_second']:.2f}" for pair, ratio in ratios.items())
        lines += ["", f"Words per second in the same run: {said}."]
    return "\n".join(lines)


def markdown(
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Metrics files that compare wrote.")],
    subset: Annotated[str, typer.Option(help="A part of the data (seed_split).")] = "",
    control: Annotated[bool, typer.Option("--control", help="Show the verifier against vetoes at random (crossval).")] = False,
) -> None:
    """Print metrics files as a Markdown table."""
    typer.echo(markdown_table([json.loads(path.read_text("utf8")) for path in files], subset=subset, control=control))


if __name__ == "__main__":
    run_command(markdown)
