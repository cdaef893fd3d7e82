"""The JEDM tables in the terminal: computed beside printed, what differs marked, slips below.

print_paper(report)
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from .paper import MEASURES, SYSTEMS
from .tables import console, interval, number

YES, NO = "equal", "differs"


def grid(title: str, *columns: str, left: int = 1) -> Table:
    """RETURNS (Table): Empty; the first `left` columns are to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right")
    return table


def print_paper(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print all tables.

    report (Mapping[str, Any]): From `paper_tables.paper_report`. to (Console | None): Where to; standard output if missing.
    """
    to = to or console()
    to.print(table6(report["table6"]))
    to.print(table7(report["table7"]))
    to.print(f"Table 7: {report['table7']['equal']} of {report['table7']['of']} rows equal to the print")
    to.print(beside(report["beside"]))
    to.print(table8(report["table8"]))
    to.print(table9(report["table9"]))
    of9 = report["table9"]
    to.print(f"Table 9: {of9['equal']} of {of9['of']} cells equal to the print, names by {of9['source']}; rule: {of9['rule']}")
    to.print(table10(report["table10"]))
    rows = report["table10"]["rows"]
    to.print(f"Table 10: {sum(row['equal'] for row in rows)} of {len(rows)} rows follow from {report['table10']['from']}")
    to.print(table11(report["table11"]))
    to.print(f"Table 11: not from the files: {report['table11']['missing']}")
    to.print("Where the print contradicts itself:")
    for slip in report["slips"]:
        to.print(f"  {slip['where']}: {slip['what']}", markup=False)


def same(equal: bool, printed: object = None) -> str:
    """RETURNS (str): "equal", or the printed value."""
    return YES if equal else f"[bold red]{NO}[/]" + (f" (printed {printed})" if printed is not None else "")


def table6(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): True entities by label and part."""
    out = grid("Table 6: true entities", "label", "part", "computed", "", left=2)
    for row in table["rows"]:
        out.add_row(row["label"], row["part"], str(row["computed"]), same(row["equal"], row["printed"]))
    return out


def table7(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): 35 rows, computed."""
    title = "Table 7: exact match by (document, type, text), computed from the stored predictions"
    out = grid(title, "system", "label", "TP", "FP", "FN", "P", "R", "F1", "F5", "print", left=2)
    for row in table["rows"]:
        out.add_row(
            SYSTEMS[row["system"]][1], row["label"], *(f"{row[name]:,}" for name in ("tp", "fp", "fn")),
            *(f"{row[name]:.4f}" for name in MEASURES), same(row["equal"]), end_section=row["label"] == "overall",
        )  # fmt: skip
    return out


def beside(systems: Mapping[str, Any]) -> Table:
    """RETURNS (Table): What the paper does not print."""
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
            name, interval(row["bag"], "f5"), interval(row["bag"], "recall"), number(row["position"]["f5"]), number(row["overlap"]["f5"]),
            number(row["exposure"].get("character_recall")), f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
            f"{cover['clean_touched']} of {cover['clean_documents']}",
        )  # fmt: skip
    return out


def table8(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): Cost: sums, and the tokens that each average stands for."""
    title = "Table 8: cost in dollars"
    out = grid(title, "system", "sum of parts", "print", "per million tokens (printed)", "million tokens behind it")
    for row in table["rows"]:
        tokens = row["million_tokens"]
        shown = f"{tokens[0]:.2f} to {tokens[1]:.2f}" if tokens else "–"
        out.add_row(row["name"], f"{row['sum']:.2f}", same(row["equal"], row["total"]), f"{row['per_million']:.2f}", shown)
    return out


def table9(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): Recall by group, with the test on these counts."""
    title = "Table 9: recall by gender and culture of the name (printed in brackets), with the test of Table 10 on these counts"
    out = grid(title, "group", "system", "names", "recall", "less the rest (95 %)", "U", "p", "", left=2)
    for row in table["rows"]:
        out.add_row(
            row["group"], row["system"], f"{row['total']} ({row.get('printed_total', '–')})",
            f"{row['recall']:.4f} ({row.get('printed_recall', '–')})", interval(row, "gap", signed=True), *test_cells(row),
        )  # fmt: skip
    return out


def test_cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): U, p and stars; dashes where there is no test."""
    return (f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"]) if "u" in row else ("–", "–", "–")


def table10(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): The printed test from the printed counts."""
    title = "Table 10: Mann-Whitney U, two-tailed, from the totals and recalls that Table 9 prints"
    out = grid(title, "group", "system", "U", "p", "", "print", left=2)
    for row in table["rows"]:
        wrong = f"U {row['printed_u']}, {row['printed_significance']}"
        out.add_row(
            row["group"], row["system"], f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"], same(row["equal"], wrong)
        )
    return out


def table11(table: Mapping[str, Any]) -> Table:
    """RETURNS (Table): What can be checked of TSCC."""
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
