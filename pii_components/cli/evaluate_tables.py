"""`pii-edu evaluate tables`: the JEDM paper's tables from its stored predictions, compared with the print."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard

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
        from ..evaluate.fairness import name_source
        from ..evaluate.metrics import SEED
        from ..evaluate.paper_tables import paper_report
        from ..evaluate.peers import read_peers
        from ..evaluate.report import FORMAT, versions, write_report
        from ..evaluate.tables_paper import print_paper
        from .show import console

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
