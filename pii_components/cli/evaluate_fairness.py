"""`pii-edu evaluate fairness`: is a student's name found as often whatever the gender and the culture."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import Errors, PiiError
from ..evaluate.command import progress_bar, shown_command, split_list
from ..evaluate.metrics import N_RESAMPLES
from ..evaluate.tables import console, interval, number
from ..profiles import Profile
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard

EPILOG = (
    "Exit codes: 0 done; 1 a gender or a culture is too far below the rest, or has too few names; 2 refused; 130 interrupted."
)

PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Our pipeline, or another system, such as presidio-md.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels are hidden.")]
AssetsOpt = Annotated[Path, typer.Option("--assets", help="Folder with essays/, fragments/ and chats/.")]
KindsOpt = Annotated[str, typer.Option("--kinds", help="chats, essays, or both with a comma between them.")]
FillingsOpt = Annotated[
    int, typer.Option("--fillings", min=1, help="Times that each text is filled for each of the ten groups.")
]
LimitOpt = Annotated[int, typer.Option("--limit", min=0, help="Chats and essays at most, of each; 0 for all.")]
BelowOpt = Annotated[float, typer.Option("--most-below", min=0, max=1, help="How far a group's recall may be below the rest.")]
LeastOpt = Annotated[int, typer.Option("--least-names", min=0, help="Names that each gender and culture must have.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the fillings.")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the texts.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def fairness(
    *,
    pipeline: PipelineOpt = "en_pii_edu",
    profile: ProfileOpt = "crapii",
    assets: AssetsOpt = Path("assets"),
    kinds: KindsOpt = "chats,essays",
    fillings: FillingsOpt = 2,
    limit: LimitOpt = 0,
    most_below: BelowOpt = 0.02,
    least_names: LeastOpt = 200,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Recall of students' names by gender and culture: the same chats and essays, filled with names of ten groups.

    Texts are made by the command and are not trained on. Nothing of a text is shown or written.
    """
    from ..evaluate.baselines import make_system
    from ..evaluate.fairness_groups import group_texts, measure_fairness
    from ..evaluate.report import check_place, write_report
    from ..evaluate.systems import PipelineSystem

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
        protects = Profile.load(profile).protects
        texts = group_texts(assets, fillings=fillings, seed=seed, kinds=split_list(kinds), limit=limit)
        if not texts:
            raise PiiError(Errors.E762, what="--kinds", needed="texts")
        system = make_system(pipeline, protects=protects)
        if isinstance(system, PipelineSystem):
            system.keep_roles = True
        with progress_bar("fairness", len(texts)) as advance:
            found = measure_fairness(
                system, texts, protects=protects, most_below=most_below, least_names=least_names, n_resamples=resamples,
                progress=advance,
            )  # fmt: skip
        report |= {
            "command": shown_command("pii_components.cli evaluate fairness", sys.argv[3:]),
            "profile": Path(profile).name,
            "fillings": fillings,
            "seed": seed,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            print_fairness(report, console())
    raise typer.Exit(DONE if report["asked"]["holds"] else DONE_WITH_SKIPS)


def print_fairness(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables. report (Mapping[str, Any]): From the command or its metrics file. to (Console): Where to."""
    texts, overall, asked = report["texts"], report["all"], report["asked"]
    to.print(
        f"{texts['documents']} texts ({texts['chats']} chats and {texts['essays']} essays, each in ten versions), {texts['words']} words: "
        f"{overall['names']} students' names, recall {interval(overall, 'recall')}"
    )
    for category, groups in report["groups"].items():
        to.print(_table(f"By {category} (95 % intervals)", groups))
    for kind, part in report["by_kind"].items():
        to.print(_table(f"{kind} only", {**part["gender"], **part["culture"]}))
    verdict = "yes" if asked["holds"] else "no"
    to.print(
        f"No gender and no culture more than {asked['most_below']} below the rest on {asked['least_names']} names or more: {verdict}. "
        f"Worst: {asked['worst']}, {interval({'gap': asked['worst_gap'], 'gap_95': asked['worst_gap_95']}, 'gap', signed=True)}; fewest "
        f"names: {asked['fewest_names']}"
    )


def _table(title: str, groups: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table("", title=title, title_justify="left")
    for column in ("names", "people", "recall", "less the rest", "p", "exact", "anywhere"):
        table.add_column(column, justify="right")
    for name, found in groups.items():
        table.add_row(
            name, str(found["names"]), str(found["people"]), interval(found, "recall"), interval(found, "gap", signed=True),
            number(found.get("p")), number(found.get("exact")), number(found.get("anywhere")),
        )  # fmt: skip
    return table
