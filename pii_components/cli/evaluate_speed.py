"""`pii-edu evaluate speed`: words per second, loading and memory, beside a baseline in the same run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import Errors, PiiError
from ..evaluate.command import progress_bar, shown_command, split_list
from ..evaluate.defaults import LENGTHS, REPEATS, SIZES
from ..evaluate.tables import console
from .exit_codes import DONE
from .guard import guard

EPILOG = "Exit codes: 0 done; 2 refused; 130 interrupted."

PipelineOpt = Annotated[str, typer.Option("--pipeline", help="The system of interest: a package, a path, or a known system.")]
BaselineOpt = Annotated[
    str, typer.Option("--baseline", help="Others beside it, with commas between them, such as presidio-md.")
]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels are hidden.")]
AssetsOpt = Annotated[Path, typer.Option("--assets", help="Folder with the authored essays, which are read.")]
LengthsOpt = Annotated[str, typer.Option("--lengths", help="Characters of an essay.")]
SizesOpt = Annotated[str, typer.Option("--sizes", help="Essays of a corpus.")]
RepeatsOpt = Annotated[int, typer.Option("--repeats", min=1, help="Of each measurement; the median counts.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def speed(
    *,
    pipeline: PipelineOpt = "en_pii_edu",
    baseline: BaselineOpt = "",
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    lengths: LengthsOpt = ",".join(map(str, LENGTHS)),
    sizes: SizesOpt = ",".join(map(str, SIZES)),
    repeats: RepeatsOpt = REPEATS,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Words per second (wall clock and processors), seconds to load and peak memory in a fresh process, by length and corpus size.

    Systems take turns on the same essays. Compare ratios, not the numbers of different runs.
    """
    from ..evaluate.report import check_place, write_report
    from ..evaluate.robustness_essays import authored_essays
    from ..evaluate.speed import measure_speed, steps

    with guard(debug):
        if out is not None:
            check_place(out)
        long, many = _numbers("--lengths", lengths), _numbers("--sizes", sizes)
        specs = [pipeline, *split_list(baseline)]
        texts = [essay.text for essay in authored_essays(assets, seed=seed)]
        with progress_bar("speed", steps(len(specs), lengths=long, sizes=many, repeats=repeats)) as advance:
            found = measure_speed(specs, texts, profile=profile, lengths=long, sizes=many, repeats=repeats, progress=advance)
        report = {"command": shown_command("pii_components.cli evaluate speed", sys.argv[3:])} | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_speed(report, console())
    raise typer.Exit(DONE)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    parts = split_list(text)
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise PiiError(Errors.E763, name=name, value=text)
    return tuple(int(part) for part in parts)


def print_speed(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables. report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to."""
    systems, machine = report["systems"], report["machine"]
    to.print(
        f"{machine['cpus']} processors, OMP_NUM_THREADS {machine['omp_num_threads'] or 'not set'}; medians of {report['repeats']} repeats"
    )
    stages = list(dict.fromkeys(stage for found in systems.values() for stage in found["peak_megabytes"]))
    table = Table("system", title="In a fresh process", title_justify="left")
    for column in ("seconds to load", "to the first result", *(f"peak MB: {stage}" for stage in stages)):
        table.add_column(column, justify="right")
    for name, found in systems.items():
        peaks = (f"{found['peak_megabytes'][stage]:.0f}" if stage in found["peak_megabytes"] else "–" for stage in stages)
        table.add_row(name, f"{found['load_seconds']:.2f}", f"{found['first_result_seconds']:.2f}", *peaks)
    for pair, ratio in report["ratios"].items():
        table.add_row(
            pair, f"× {ratio['load_seconds']:.2f}", "", *(_times(ratio["peak_megabytes"].get(stage)) for stage in stages)
        )
    to.print(table)
    for group, what in (("by_length", "characters of an essay"), ("by_corpus_size", "essays of a corpus")):
        to.print(_scaling(report, group, what))


def _times(value: float | None) -> str:
    return "–" if value is None else f"× {value:.2f}"


def _scaling(report: Mapping[str, Any], group: str, what: str) -> Table:
    table = Table(what, title=f"Words per second, by {what}", title_justify="left")
    for name in report["systems"]:
        table.add_column(f"{name}: wall clock", justify="right")
        table.add_column("processors", justify="right")
    for pair in report["ratios"]:
        table.add_column(f"{pair}: wall clock", justify="right")
        table.add_column("processors", justify="right")
    for key in next(iter(report["systems"].values()))[group]:
        cells = []
        for found in report["systems"].values():
            cells += [f"{found[group][key][measure]:,.0f}" for measure in ("words_per_second", "words_per_cpu_second")]
        for ratio in report["ratios"].values():
            cells += [_times(ratio[group][key][measure]) for measure in ("words_per_second", "words_per_cpu_second")]
        table.add_row(f"{int(key):,}", *cells)
    return table
