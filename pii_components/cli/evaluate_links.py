"""`pii-edu evaluate links`: are all links between a person's names, addresses and handles kept?"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard

EPILOG = "Exit codes: 0 every link is kept; 1 some are not; 2 refused; 130 interrupted."

EssaysOpt = Annotated[int, typer.Option("--essays", min=1, help="Synthetic essays; nobody in them is meant.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the essays.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="One that makes surrogates of names and details.")]
ScopeOpt = Annotated[str, typer.Option("--scope", help="document or corpus.")]
OutOpt = Annotated[str, typer.Option("--out", "-o", help="Metrics file (JSON).")]


def links(
    *,
    essays: EssaysOpt = 2000,
    seed: SeedOpt = 46,
    profile: ProfileOpt = "crapii",
    scope: ScopeOpt = "document",
    out: OutOpt = "",
    debug: Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback.")] = False,
) -> None:
    """Hide the people of synthetic essays, in which who is who is known, and check every form of every name.

    First, last, full names, initials, nicknames, particles, two surnames, family name first, one name only, capitals, slips of the
    pen, file names, e-mail addresses, handles and web addresses. Spans are given: this is about surrogates, not about finding.
    """
    with guard(debug):
        from ..errors import Errors, PiiError
        from ..evaluate.linked import measure_links
        from ..evaluate.report import FORMAT, versions, write_report
        from .show import console

        if scope not in ("document", "corpus"):
            raise PiiError(Errors.E519, value=scope, what="scope", allowed="document, corpus")
        found = measure_links(essays, seed=seed, profile=profile, scope=scope)
        print_links(found, console())
        if out:
            command = f"pii-edu evaluate links --essays {essays} --seed {seed} --profile {Path(profile).name} --scope {scope}"
            write_report({"format": FORMAT, "command": command, "versions": versions(), "links": found}, Path(out))
            console(stderr=True).print(f"wrote '{out}'", markup=False)
    raise typer.Exit(DONE_WITH_SKIPS if found["essays_with_something_broken"] else DONE)


def print_links(found: dict[str, Any], to: Console) -> None:
    """Print the counts. found (dict[str, Any]): From `measure_links`. to (Console): Where to."""
    table = Table(
        title=f"{found['essays']} essays, {found['people']} people, {found['mentions']} mentions", title_justify="left"
    )
    table.add_column("what")
    for name in ("checked", "kept"):
        table.add_column(name, justify="right")
    for name, row in found["links"].items():
        table.add_row(name, str(row["checked"]), str(row["kept"]))
    table.add_section()
    table.add_row("all links", str(found["links_checked"]), str(found["links_kept"]))
    table.add_section()
    for name, row in found["properties"].items():
        table.add_row(name, str(row["checked"]), str(row["kept"]))
    to.print(table)
