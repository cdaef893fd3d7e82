"""`pii-edu evaluate windows`: what is hidden of texts in which one token is labelled."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..evaluate.command import progress_bar, shown_command
from ..evaluate.metrics import N_RESAMPLES
from ..evaluate.tables import console
from ..profiles import Profile
from .evaluate_fairness import DebugOpt, OutOpt, PipelineOpt, ProfileOpt, QuietOpt, ResamplesOpt
from .exit_codes import DONE
from .guard import guard

EPILOG = "Exit codes: 0 done; 2 refused; 3 an unexpected error; 130 interrupted."

WindowsArg = Annotated[
    Path, typer.Argument(metavar="WINDOWS", help="JSON Lines with text, start, end and label (B-NAME_STUDENT, O) of one token.")
]


def windows(
    *,
    path: WindowsArg,
    pipeline: PipelineOpt = "en_pii_edu",
    profile: ProfileOpt = "crapii",
    out: OutOpt = None,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Share of labelled tokens that is hidden, in windows out of labelled essays, of which nothing but one token is known.

    Nothing of a text is shown or written.
    """
    from ..corpus.windows import read_windows
    from ..evaluate.baselines import make_system
    from ..evaluate.report import check_place, write_report
    from ..evaluate.windows import measure_windows, windows_rows

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
        protects = Profile.load(profile).protects
        texts = read_windows(path)
        system = make_system(pipeline, protects=protects)
        with progress_bar("windows", len(texts)) as advance:
            found = measure_windows(system, texts, protects=protects, n_resamples=resamples, progress=advance)
        report |= {
            "command": shown_command("pii_components.cli evaluate windows", sys.argv[3:]),
            "profile": Path(profile).name,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            head, rows = windows_rows(report)
            table = Table(*head)
            for row in rows:
                table.add_row(*row)
            console().print(table)
    raise typer.Exit(DONE)
