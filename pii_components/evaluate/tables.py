"""A report as tables in the terminal (rich).

Takes plain data as it is in the metrics file, so that an old file can be shown again.

    print_report(json.loads(Path("metrics/crapii.json").read_text()))
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

VIEW_TITLES = {"all": "all labels", "four": "four types (NAME, URL, EMAIL, PHONE), as in the JEDM paper"}
MEASURES = ("precision", "recall", "f1", "f5")


def console() -> Console:
    """RETURNS (Console): On standard output; wide enough for the tables where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


def print_report(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print the tables of a comparison.

    report (Mapping[str, Any]): From `compare` or a metrics file. to (Console | None): Where to; standard output if missing.
    """
    to = to or console()
    data = report["data"]
    to.print(
        f"{data['file']}  sha256 {data['sha256'][:12]}…  {data['documents']} documents, {data['documents_with_pii']} "
        f"with PII, {data['words']} words"
    )
    for view in report["views"]:
        to.print(overall_table(report, view))
        to.print(label_table(report, view))
    if any(system["subsets"] for system in report["systems"].values()):
        to.print(subset_table(report, "all"))
    for pair, views in report["differences"].items():
        gain = views["all"]["bag"]
        to.print(
            f"{pair}, all labels: F5 {interval(gain, 'f5', signed=True)}, precision {interval(gain, 'precision', signed=True)}"
        )
    for pair, ratio in report["speed_ratio"].items():
        to.print(
            f"{pair}, words per second: {ratio['words_per_second']}, per processor second: {ratio['words_per_cpu_second']}"
        )


def overall_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per system: scores with intervals, coverage, speed."""
    table = Table(title=f"Exact match by text, {VIEW_TITLES.get(view, view)} (95 % intervals)", title_justify="left")
    columns = (
        "P",
        "R",
        "F1",
        "F5",
        "F5 position",
        "F5 tokens",
        "not wholly covered",
        "clean touched",
        "words/s",
        "words/cpu s",
    )
    for name in ("system", *columns):
        table.add_column(name, justify="left" if name == "system" else "right")
    for name, system in report["systems"].items():
        scores = system["views"][view]
        cover, time = scores["coverage"], system["time"]
        table.add_row(
            name,
            *(interval(scores["bag"], measure) for measure in MEASURES),
            *(number(scores[matching].get("f5")) for matching in ("position", "tokens")),
            f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
            f"{cover['clean_touched']} of {cover['clean_documents']}",
            # Predictions from elsewhere bring no times.
            f"{time['words_per_second']:.0f}{' (stored)' if time['stored'] else ''}" if time["seconds"] else "–",
            f"{time['words_per_cpu_second']:.0f}" if time["cpu_seconds"] else "–",
        )
    return table


def label_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per label and system; where there is no support, only counts."""
    table = Table(title=f"By label, {VIEW_TITLES.get(view, view)}", title_justify="left")
    for name in ("label", "support", "system", "TP", "FP", "FN", "P", "R", "F5"):
        table.add_column(name, justify="left" if name in ("label", "system") else "right")
    for label in report["views"][view]:
        for name, system in report["systems"].items():
            found = system["views"][view]["per_label"][label]["bag"]
            values = (
                [interval(found, measure) for measure in ("precision", "recall", "f5")]
                if found["support"]
                else ["no support", "", ""]
            )
            table.add_row(label, str(found["support"]), name, str(found["tp"]), str(found["fp"]), str(found["fn"]), *values)
    return table


def subset_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per part of the data set and system."""
    table = Table(title=f"By part of the data set (seed_split), {VIEW_TITLES.get(view, view)}", title_justify="left")
    for name in ("part", "documents", "support", "system", "P", "R", "F5", "incompletely covered", "clean touched"):
        table.add_column(name, justify="left" if name in ("part", "system") else "right")
    for name, system in report["systems"].items():
        for split, views in system["subsets"].items():
            found, cover = views[view]["bag"], views[view]["coverage"]
            table.add_row(
                split,
                str(report["data"]["splits"][split]),
                str(found["support"]),
                name,
                *(interval(found, measure) for measure in ("precision", "recall", "f5")),
                f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
                f"{cover['clean_touched']} of {cover['clean_documents']}",
            )
    return table


def number(value: float | None, *, signed: bool = False) -> str:
    """RETURNS (str): Three digits, or a dash where there is no value."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def interval(scores: Mapping[str, Any], name: str, *, signed: bool = False) -> str:
    """RETURNS (str): A value and its interval, or a dash."""
    if scores.get(name) is None:
        return "–"
    low, high = scores[f"{name}_95"]
    return f"{number(scores[name], signed=signed)} [dim]{number(low, signed=signed)}..{number(high, signed=signed)}[/dim]"


def counts_table(title: str, rows: Mapping[str, Mapping[str, int]], *, first: str, columns: Sequence[str]) -> Table:
    """A table of counts.

    title (str): Above it. rows (Mapping[str, Mapping[str, int]]): Counts by column, by row. first (str): Heading of the rows.
    columns (Sequence[str]): Headings; a count that is missing is 0.
    RETURNS (Table): Without columns that are 0 everywhere.
    """
    used = [name for name in columns if any(counts.get(name) for counts in rows.values())]
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in used:
        table.add_column(name, justify="right")
    for row, counts in rows.items():
        table.add_row(row, *(str(counts.get(name, 0)) for name in used))
    return table
