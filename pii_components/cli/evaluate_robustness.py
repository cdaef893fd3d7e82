"""`pii-edu evaluate robustness`: what is still found in perturbed essays, the worst case first."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import Errors, PiiError
from ..evaluate.command import progress_bar, shown_command, split_list
from ..evaluate.defaults import LONG_ESSAYS
from ..evaluate.metrics import N_RESAMPLES
from ..evaluate.perturb import LENGTH
from ..evaluate.perturb_length import EDGES, PARAGRAPHS, clean_paragraphs, windows_of
from ..evaluate.perturb_registry import choose, perturbations
from ..evaluate.tables import console, interval, number
from ..profiles import Profile
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard

EPILOG = "Exit codes: 0 done; 1 a class of perturbations is below --floor; 2 refused; 130 interrupted."
WEAKEST = 10

GoldArg = Annotated[
    Path | None, typer.Argument(metavar="[GOLD]", help="Labelled corpus in any form [the authored test essays].")
]
FormOpt = Annotated[str, typer.Option("--form", help="Form of GOLD [guessed]; see pii-edu corpus convert.")]
PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Our pipeline, or another system, such as presidio-md.")]
OnlyOpt = Annotated[str, typer.Option("--only", help="Classes or perturbations, with commas between them [all].")]
ListOpt = Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels must be hidden.")]
AssetsOpt = Annotated[
    Path, typer.Option("--assets", help="Folder with the authored essays: gold by default, and prose to pad with.")
]
LimitOpt = Annotated[int, typer.Option("--limit", min=0, help="Essays, drawn by lot; 0 for all.")]
LongOpt = Annotated[int, typer.Option("--long", min=1, help="Essays that are lengthened to 20,000 characters.")]
FloorOpt = Annotated[float, typer.Option("--floor", min=0, max=1, help="Recall that every class must reach.")]
AllOpt = Annotated[bool, typer.Option("--all", help="Show every perturbation, not the weakest ten only.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings and of the perturbations.")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the essays.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def robustness(
    *,
    gold: GoldArg = None,
    form: FormOpt = "",
    pipeline: PipelineOpt = "en_pii_edu",
    only: OnlyOpt = "",
    show_list: ListOpt = False,
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    limit: LimitOpt = 0,
    long: LongOpt = LONG_ESSAYS,
    floor: FloorOpt = 0.0,
    show_all: AllOpt = False,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Recall on perturbed essays per perturbation and class, beside the same essays as they were; false alarms on clean ones.

    Recall is the share of characters hidden by any protected label. Nothing of a text is shown or written.
    """
    from ..evaluate.baselines import make_system
    from ..evaluate.report import check_place, write_report
    from ..evaluate.robustness import measure
    from ..evaluate.robustness_essays import authored_essays, prose_of, read_essays, take

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
        if show_list:
            console().print(list_table())
            raise typer.Exit(DONE)
        protects = Profile.load(profile).protects
        wanted = split_list(only)
        prose = clean_paragraphs(prose_of(assets)) or list(PARAGRAPHS)
        # A name that nobody knows is told before anything is loaded; edges of windows need the pipeline.
        choose(perturbations(prose), wanted)
        essays = read_essays(gold, form=form) if gold else authored_essays(assets, seed=seed)
        sample = take(essays, limit, seed=seed, protects=protects)
        system = make_system(pipeline, protects=protects)
        windows = windows_of(system.nlp) if hasattr(system, "nlp") else None
        chosen = choose(perturbations(prose, windows), wanted)
        if not chosen:
            raise PiiError(Errors.E762, what="The pipeline", needed="windows over long texts")
        with progress_bar("robustness", len(chosen)) as advance:
            found = measure(
                system, sample, chosen, protects=protects, seed=seed, n_resamples=resamples, long_essays=long,
                progress=lambda name: advance(),
            )  # fmt: skip
        report = {
            "command": shown_command("pii_components.cli evaluate robustness", sys.argv[3:]),
            "data": {
                "file": gold.name if gold else f"authored test essays, seed {seed}",
                "documents": len(sample),
                "of": len(essays),
                "words": sum(len(essay.text.split()) for essay in sample),
            },
            "profile": Path(profile).name,
            "skipped": {} if windows else dict.fromkeys(EDGES, "the system does not read in windows"),
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_robustness(report, console(), everything=show_all)
    below = [kind for kind, entry in report.get("classes", {}).items() if entry.get("recall", 1.0) < floor]
    raise typer.Exit(DONE_WITH_SKIPS if below else DONE)


_COLUMNS = (
    "essays", "spans", "recall", "before", "drop", "whole", "strict", "false alarms / 10,000 words", "before", "clean touched",
)  # fmt: skip


def print_robustness(report: Mapping[str, Any], to: Console, *, everything: bool = False) -> None:
    """Print the tables.

    report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to. everything (bool): All perturbations.
    """
    data, base = report["data"], report["unperturbed"]
    to.print(
        f"{data['file']}: {data['documents']} of {data['of']} essays, {base['support']} spans that must be hidden; as they are: recall "
        f"{interval(base, 'recall')}, whole {interval(base, 'whole')}, strict {interval(base, 'strict')}"
    )
    to.print(
        _table("By class of perturbation (95 % intervals; recall is of characters, by any protected label)", report["classes"])
    )
    entries = report["perturbations"]
    measured = sorted((name for name in entries if "recall" in entries[name]), key=lambda name: entries[name]["recall"])
    rest = [name for name in entries if "recall" not in entries[name]]
    title = "All perturbations, the weakest first" if everything else f"The {WEAKEST} weakest perturbations"
    names = [*measured, *rest] if everything else measured[:WEAKEST]
    to.print(_table(title, {name: entries[name] for name in names}))
    if worst := report["worst"]:
        to.print(
            f"Worst of those with {worst['least_support']} spans or more: {worst['name']}, recall {interval(worst, 'recall')}"
        )
    for name, reason in report.get("skipped", {}).items():
        to.print(f"{name} was left out: {reason}")


def _table(title: str, entries: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    for name, entry in entries.items():
        clean = f"{number(entry.get('clean_touched'))} of {entry['clean_documents']}" if entry["clean_documents"] else ""
        table.add_row(
            name,
            str(entry["documents"]),
            str(entry["support"]),
            interval(entry, "recall"),
            number(entry.get("unperturbed_recall")),
            interval(entry, "drop", signed=True),
            number(entry.get("whole")),
            number(entry.get("strict")),
            *(_rate(entry.get(f"{prefix}false_alarms_per_10k_words")) for prefix in ("", "unperturbed_")),
            clean,
        )
    return table


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def list_table() -> Table:
    """RETURNS (Table): Name, class and example of every perturbation, those at the edges of windows too."""
    table = Table("perturbation", "class", "example")
    for name, perturbation in perturbations().items():
        table.add_row(name, perturbation.kind, perturbation.about)
    for name, about in EDGES.items():
        table.add_row(name, LENGTH, about)
    return table
