"""`pii-edu corpus build`, `check` and `assets`: from authored essays to DocBins, with the report of what was filled in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard
from .show import console

BUILD_EPILOG = "Exit codes: 0 done; 2 refused, nothing was written; 130 interrupted."
CHECK_EPILOG = "Exit codes: 0 every essay can be used; 1 an essay is broken or says what another one says; 2 there are none."
ASSETS_EPILOG = "Exit codes: 0 nothing is wrong (files may be absent); 1 a file is not what it should be; 2 refused."
_ROWS = 14

AssetsArg = Annotated[
    Path, typer.Argument(metavar="ASSETS", help="Folder with essays/ and fragments/ (assets/ESSAY_FORMAT.md).")
]
RecordOpt = Annotated[bool, typer.Option("--record", help="Write down the checksums of files that have no published one.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder for train, dev and test as DocBins, and the two reports.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of every choice.")]
ScaleOpt = Annotated[float, typer.Option("--scale", min=0.001, help="Share of the fillings and carriers.")]
UncutOpt = Annotated[
    bool, typer.Option("--uncut", help="Whole texts to train on, not stretches: for a last pass, with --scale 0.5 or less.")
]
CrapiiOpt = Annotated[
    bool,
    typer.Option(
        "--crapii/--no-crapii", help="Whether the essays in ASSETS/crapii go in; not if they are to be held out later."
    ),
]
ScenesOpt = Annotated[
    bool, typer.Option("--scenes/--no-scenes", help="Whether short texts go in, of which nearly every sentence names somebody.")
]
CarriersOpt = Annotated[
    float, typer.Option("--carriers", min=0, help="Times as many carriers to train on; most of them name nobody.")
]
PerturbedOpt = Annotated[
    float,
    typer.Option(
        "--perturbed", min=0, max=1, help="Share of the filled essays to train on that are perturbed (evaluate robustness)."
    ),
]
NamesOpt = Annotated[bool, typer.Option("--names", help="List what looks like a name or a contact detail outside slots.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def build(
    *,
    assets: AssetsArg = Path("assets"),
    out: OutOpt = Path("corpus"),
    seed: SeedOpt = 46,
    scale: ScaleOpt = 1.0,
    uncut: UncutOpt = False,
    crapii: CrapiiOpt = True,
    scenes: ScenesOpt = True,
    carriers: CarriersOpt = 1.0,
    perturbed: PerturbedOpt = 0.0,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Fill the slots of authored essays (and of your own carriers) with invented people; write DocBins.

    `stats.json` counts documents, tokens and labels per split; `distribution.json` how often each label, role, form, region and
    kind of wear was filled in.
    """
    from ..corpus.build import build_corpus

    with guard(debug):
        change = None
        if perturbed:
            from ..evaluate.perturb_training import training_change

            change = training_change(perturbed)
        stats, distribution = build_corpus(
            assets, out, seed=seed, scale=scale, uncut=uncut, crapii=crapii, scenes=scenes, carriers=carriers, change=change
        )
        if not quiet:
            screen = console()
            screen.print(split_table(stats))
            print_distribution(screen, distribution["train"])
    raise typer.Exit(DONE)


def check(
    *, assets: AssetsArg = Path("assets"), names: NamesOpt = False, quiet: QuietOpt = False, debug: DebugOpt = False
) -> None:
    """Check authored essays: format, slots without a label, near-duplicates; count labels and roles."""
    from ..corpus.check import check as check_essays

    with guard(debug):
        found = check_essays(assets)
        screen = console()
        for err in found.broken:
            screen.print(str(err), markup=False)
        for a, b, share in found.near:
            screen.print(f"{a} and {b} share {share:.0%} of the shorter one's word trigrams", markup=False)
        if not quiet:
            screen.print(f"{found.essays} essays, {found.clean} of them without private people and details", highlight=False)
            table = Table("label", "essays", "slots")
            for label in sorted(found.slots):
                table.add_row(label, str(found.labels[label]), str(found.slots[label]))
            screen.print(table)
        if names:
            for ident, some in found.names.items():
                screen.print(f"{ident}: {' | '.join(some)}", markup=False)
    raise typer.Exit(DONE_WITH_SKIPS if found.failed else DONE)


def assets(
    *, folder: AssetsArg = Path("assets"), record: RecordOpt = False, quiet: QuietOpt = False, debug: DebugOpt = False
) -> None:
    """Check the user's own files: published checksums, numbers of records, and the checksums that were recorded."""
    from ..corpus.assets import WRONG, verify_assets

    with guard(debug):
        checked = verify_assets(folder, record=record)
        table = Table("file", "state", "sha256", "")
        for item in checked:
            table.add_row(item.path, item.state, item.sha256[:16], item.reason)
        if not quiet or any(item.state == WRONG for item in checked):
            console().print(table)
    raise typer.Exit(DONE_WITH_SKIPS if any(item.state == WRONG for item in checked) else DONE)


def split_table(stats: Mapping[str, Mapping[str, int]]) -> Table:
    """RETURNS (Table): One column per split; documents, tokens and labels."""
    table = Table("", *stats, title="What was written")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in sorted({key for some in stats.values() for key in some}, key=lambda key: (key.isupper(), key)):
        table.add_row(row, *(f"{some.get(row, 0):,}" for some in stats.values()))
    return table


def print_distribution(screen: Console, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Print how often each value of each kind was filled in, the most frequent ones.

    screen (Console): Where to. counts (Mapping): Kind -> value -> times.
    """
    table = Table("train: what was filled in", "values", "most frequent")
    for kind, found in counts.items():
        first = ", ".join(f"{value} {n:,}" for value, n in list(found.items())[:_ROWS])
        table.add_row(kind, str(len(found)), first + (f" and {len(found) - _ROWS} more" if len(found) > _ROWS else ""))
    screen.print(table)
