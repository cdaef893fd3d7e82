"""What stands beside the tables of a comparison: characters left in clear, false alarms, roles, groups of names, paired differences.

print_score(report)
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from .tables import console, interval, number, print_report
from .tables_paper import grid, test_cells


def print_score(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print everything that `scoring.score_report` has.

    report (Mapping[str, Any]): With command and data. to (Console | None): Where to; standard output if missing.
    """
    to = to or console()
    print_report(report, to=to)
    to.print(exposure_table(report))
    systems = report["systems"]
    if any("roles" in system for system in systems.values()):
        to.print(roles_table(systems))
    if any(system.get("names", {}).get("rows") for system in systems.values()):
        to.print(names_table(systems))
    for pair, views in report["differences"].items():
        p = views["all"]["bag"].get("p_f5")
        to.print(
            f"{pair}: paired bootstrap over documents, F5 differs with p = {p:.3g}" if p is not None else f"{pair}: no test"
        )


def exposure_table(report: Mapping[str, Any]) -> Table:
    """RETURNS (Table): What a reader would still see, and what is hidden for nothing."""
    columns = ("system", "F5 overlap", "character recall", "recall whatever the label", "false alarms", "per 10,000 words")
    out = grid("What stays visible, and what is hidden for nothing, all labels (95 % intervals)", *columns)
    for name, system in report["systems"].items():
        view = system["views"]["all"]
        found = view["exposure"]
        out.add_row(
            name, number(view["overlap"].get("f5")), interval(found, "character_recall"), interval(found, "label_blind_recall"),
            str(found["false_alarms"]), interval(found, "false_alarms_per_10000_words"),
        )  # fmt: skip
    return out


def roles_table(systems: Mapping[str, Any]) -> Table:
    """RETURNS (Table): F1 per role."""
    out = grid("Roles of names (95 % intervals)", "role", "system", "support", "P", "R", "F1", left=2)
    for name, system in systems.items():
        roles = system.get("roles")
        if roles is None:
            continue
        for role, found in roles["per_role"].items():
            if found["support"] or found["fp"]:
                out.add_row(role, name, str(found["support"]), *(interval(found, m) for m in ("precision", "recall", "f1")))
        out.add_row("right, of those found", name, str(roles["found"]), "", "", interval(roles, "accuracy"), end_section=True)
    return out


def names_table(systems: Mapping[str, Any]) -> Table:
    """RETURNS (Table): Recall by gender and culture of the name."""
    source = next(system["names"]["source"] for system in systems.values() if "names" in system)
    title = f"Recall by gender and culture of the name ({source}); Mann-Whitney against the rest"
    out = grid(title, "group", "system", "names", "recall", "less the rest", "U", "p", "", left=2)
    for name, system in systems.items():
        for row in system.get("names", {}).get("rows", ()):
            shown = (row["group"], name, str(row["total"]), interval(row, "recall"), interval(row, "gap", signed=True))
            out.add_row(*shown, *test_cells(row))
    return out
