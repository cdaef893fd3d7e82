"""`pii-edu evaluate experiments`: docs/experiments.md from metrics/experiments/*.json, and new ones out of metrics files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, PiiError
from ..evaluate.command import split_list
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard
from .show import console

EPILOG = "Exit codes: 0 done; 1 with --check: the page is not what the files say; 2 refused; 130 interrupted."

MetricsOpt = Annotated[Path, typer.Option("--metrics", help="Folder with experiments/*.json and compare_encoders.json.")]
OutOpt = Annotated[Path, typer.Option("--out", "-o", help="The page (Markdown).")]
AddOpt = Annotated[str, typer.Option("--add", help="Name of a new experiment.")]
BeforeOpt = Annotated[Path | None, typer.Option("--before", help="Metrics file before the change.")]
AfterOpt = Annotated[Path | None, typer.Option("--after", help="Metrics file after the change.")]
SystemsOpt = Annotated[str, typer.Option("--systems", help="BEFORE,AFTER: names in the two files [the first in each].")]
SourcesOpt = Annotated[
    str, typer.Option("--sources", help="BEFORE,AFTER: where the files are from, such as a commit [their names].")
]
ChangeOpt = Annotated[str, typer.Option("--change", help="What was changed, on one line.")]
HeldOutOpt = Annotated[str, typer.Option("--held-out", help="Why the essays count as not trained on, on one line.")]
DateOpt = Annotated[str, typer.Option("--date", help="YYYY-MM-DD [today].")]
CheckOpt = Annotated[bool, typer.Option("--check", help="Write nothing; say whether the page is what the files say.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback.")]


def experiments(
    *,
    metrics: MetricsOpt = Path("metrics"),
    out: OutOpt = Path("docs/experiments.md"),
    add: AddOpt = "",
    before: BeforeOpt = None,
    after: AfterOpt = None,
    systems: SystemsOpt = "",
    sources: SourcesOpt = "",
    change: ChangeOpt = "",
    held_out: HeldOutOpt = "",
    date: DateOpt = "",
    check: CheckOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Write the page of what gained what, from metrics files only; with --add, put an experiment in first."""
    code = DONE
    with guard(debug):
        from ..evaluate.experiments import from_metrics, page, read_experiments, write_experiment
        from ..evaluate.report import check_place

        if add:
            if before is None or after is None:
                raise PiiError(Errors.E787, file=f"{add}.json", problem="--add needs --before and --after")
            experiment = from_metrics(
                add, before=before, after=after, change=change, held_out=held_out,
                date=date or datetime.now(UTC).date().isoformat(), systems=_pair(systems, add), sources=_pair(sources, add),
            )  # fmt: skip
            told = console(stderr=True)
            told.print(f"wrote '{write_experiment(experiment, metrics / 'experiments')}'", markup=False)
        text = page(read_experiments(metrics / "experiments"), metrics=metrics)
        if check:
            same = out.is_file() and out.read_text(encoding="utf8") == text
            code = DONE if same else DONE_WITH_SKIPS
        else:
            check_place(out)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf8")
            console(stderr=True).print(f"wrote '{out}'", markup=False)
    raise typer.Exit(code)


def _pair(text: str, name: str) -> tuple[str, str]:
    parts = split_list(text)
    if len(parts) not in (0, 2):
        raise PiiError(Errors.E787, file=f"{name}.json", problem="--systems and --sources take two, with a comma between them")
    return (parts[0], parts[1]) if parts else ("", "")
