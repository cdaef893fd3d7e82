"""`pii-edu evaluate …` and `pii-edu compare`: every number that anyone sees."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, PiiError
from ..files.record import reason_of
from .common import console, guard

if TYPE_CHECKING:
    from ..evaluate.gold import Run

EPILOG = "Exit codes: 0 all done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."


def list_systems(asked: bool) -> None:
    """Show what --systems takes, and leave."""
    if asked:
        from ..evaluate.systems import known_systems

        typer.echo("\n".join(known_systems()))
        raise typer.Exit


# Eager: it comes before GOLD is missed.
ListOpt = Annotated[
    bool,
    typer.Option(
        "--list",
        callback=list_systems,
        is_eager=True,
        help="List the systems and leave; needs no GOLD.",
    ),
]
NamesOpt = Annotated[
    str,
    typer.Option(
        help="Gender and culture of names by: table (ships), names-dataset (the paper's; 3 GB, minutes)."
    ),
]
MetricsOutOpt = Annotated[str, typer.Option(help="Metrics file (JSON).")]
ResamplesOpt = Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")]
SeedOpt = Annotated[int, typer.Option(help="Of the bootstrap; 0 is the usual one.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[
    bool,
    typer.Option(
        "--debug", help="Raise unexpected errors with their traceback, which may show text."
    ),
]
GoldArg = Annotated[
    str,
    typer.Argument(metavar="GOLD", help="Labelled corpus in any form of: pii-edu corpus convert."),
]
PredictionsArg = Annotated[
    str,
    typer.Argument(
        metavar="PREDICTIONS",
        help="What detect --out or --save-predictions wrote, file_idx CSV, or a corpus.",
    ),
]
PipelineOpt = Annotated[str, typer.Option(help="Name or path of the pipeline.")]
ProfileOpt = Annotated[
    str, typer.Option(help="Says what is hidden: a shipped profile or a TOML file.")
]
FormOpt = Annotated[
    str, typer.Option("--from", help="Form of GOLD [by its suffix and first records].")
]
TextSourceOpt = Annotated[
    str, typer.Option(help="File or folder with the texts, for gold with offsets alone.")
]
SplitsOpt = Annotated[
    str, typer.Option(help="Only these parts of the data (seed_split), with commas between them.")
]
StrictOpt = Annotated[
    bool,
    typer.Option("--strict", help="Refuse gold that cannot be used, rather than pass over it."),
]
SaveOpt = Annotated[
    str, typer.Option("--save-predictions", help="Folder for offsets and labels of each system.")
]
MapOpt = Annotated[
    list[str] | None,
    typer.Option("--map", help="OLD=NEW: rename a label of the predictions; may be repeated."),
]
AgainstOpt = Annotated[str, typer.Option(help="Other predictions, for a paired comparison.")]
OverlapsOpt = Annotated[
    bool, typer.Option("--allow-overlaps", help="Count overlapping predictions, each by itself.")
]
SystemsOpt = Annotated[
    str, typer.Option(help="[NAME=]SYSTEM[:PATH] with commas between them; --list shows them.")
]


def run(
    *,
    gold: GoldArg,
    pipeline: PipelineOpt = "en_pii_edu",
    profile: ProfileOpt = "crapii",
    form: FormOpt = "",
    text_source: TextSourceOpt = "",
    splits: SplitsOpt = "",
    names: NamesOpt = "table",
    out: MetricsOutOpt = "",
    save: SaveOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run a pipeline on GOLD and score it: every number of the papers, with 95 % intervals."""
    with guard(debug):
        job = Job(gold, profile, out, form, text_source, splits, strict=strict)
        command = f"evaluate run {Path(gold).name} --pipeline {Path(pipeline).name}"
        job.finish(job.run_systems(pipeline, save), command, names, resamples, seed, quiet=quiet)


def score(
    *,
    gold: GoldArg,
    predictions: PredictionsArg,
    against: AgainstOpt = "",
    profile: ProfileOpt = "crapii",
    form: FormOpt = "",
    text_source: TextSourceOpt = "",
    rename: MapOpt = None,
    splits: SplitsOpt = "",
    names: NamesOpt = "table",
    out: MetricsOutOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    allow_overlaps: OverlapsOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Score PREDICTIONS of any system against GOLD; with --against, two of them in pairs."""
    with guard(debug):
        from ..evaluate.gold import choose_splits
        from ..evaluate.predictions import parse_renames, read_predictions
        from ..evaluate.tables import split_list

        renames = parse_renames(rename or ())
        job = Job(gold, profile, out, form, text_source, "", strict=strict)
        files = [Path(predictions), *([Path(against)] if against else [])]
        stems = [file.stem for file in files]
        if len(set(stems)) < len(stems):
            stems = [f"{file.parent.name}/{file.name}" for file in files]
        how: dict[str, Any] = {
            "protects": job.profile.protects,
            "data_sha256": job.sha256,
            "rename": renames,
        }
        done = [
            read_predictions(file, job.documents, name=name, allow_overlaps=allow_overlaps, **how)
            for file, name in zip(files, stems, strict=True)
        ]
        # Predictions are checked against the whole corpus, and scored on these parts of it.
        job.documents = choose_splits(job.documents, split_list(splits))
        kept = {doc.id for doc in job.documents}
        done = [
            replace(one, entities=tuple(e for e in one.entities if e.document in kept))
            for one in done
        ]
        command = (
            f"evaluate score {Path(gold).name} {' --against '.join(file.name for file in files)}"
        )
        job.finish(done, command, names, resamples, seed, quiet=quiet)


def compare(
    *,
    gold: GoldArg,
    systems: SystemsOpt = "en_pii_edu",
    _: ListOpt = False,
    profile: ProfileOpt = "crapii",
    form: FormOpt = "",
    text_source: TextSourceOpt = "",
    splits: SplitsOpt = "",
    names: NamesOpt = "table",
    out: MetricsOutOpt = "",
    save: SaveOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run several systems on GOLD, one after the other, and print one table; the first is compared with each other one in pairs."""
    with guard(debug):
        job = Job(gold, profile, out, form, text_source, splits, strict=strict)
        done = job.run_systems(systems, save)
        command = f"compare {Path(gold).name} --systems {','.join(one.name for one in done)}"
        job.finish(done, command, names, resamples, seed, quiet=quiet)


class Job:
    """Gold and profile of one command, read and checked, and what becomes of its results; arguments are those of the command line.

    RAISES (PiiError): E501, E512 for an output that cannot be written, E7xx, E724 for labels that are not ours.
    """

    def __init__(
        self,
        gold: str,
        profile: str,
        out: str,
        form: str,
        text_source: str,
        splits: str,
        *,
        strict: bool,
    ) -> None:
        from ..evaluate.gold import choose_splits, file_sha256, read_gold
        from ..evaluate.predictions import check_labels
        from ..evaluate.report import check_gold, check_place
        from ..evaluate.tables import split_list
        from ..files.formats.base import ReadStats
        from ..profiles import Profile

        self.path, self.out = Path(gold), out
        if out:
            check_place(Path(out))
        self.profile = Profile.load(profile)
        tally = ReadStats()
        documents = read_gold(
            self.path,
            form=form,
            text_source=Path(text_source) if text_source else None,
            tally=tally,
        )
        self.masked = check_gold(tally, strict=strict)
        check_labels(
            (entity.label for doc in documents for entity in doc.entities), what=self.path.name
        )
        self.documents = choose_splits(documents, split_list(splits))
        self.sha256 = file_sha256(self.path)

    def run_systems(self, systems: str, save: str) -> list["Run"]:
        """RETURNS (list[Run]): What each system finds. They are loaded one after the other: memory is what runs out first.
        save (str): Folder for their predictions, if any."""
        from ..evaluate.predictions import write_run
        from ..evaluate.systems import parse_systems, run_spec
        from ..evaluate.tables import progress_bar

        specs = parse_systems(systems)
        if not specs:
            raise PiiError(Errors.E740, got=systems, known="en_pii_edu; --list shows all")
        done = []
        how: dict[str, Any] = {"protects": self.profile.protects, "data_sha256": self.sha256}
        for spec in specs:
            with progress_bar(spec.name, len(self.documents)) as advance:
                done.append(run_spec(spec, self.documents, progress=advance, **how))
        for run in done if save else ():
            write_run(run, Path(save) / f"{run.name}.jsonl", data_sha256=self.sha256)
        return done

    def finish(
        self,
        runs: Sequence["Run"],
        command: str,
        names: str,
        resamples: int,
        seed: int,
        *,
        quiet: bool,
    ) -> None:
        """Score, print, write."""
        from ..evaluate.metrics import SEED, name_source
        from ..evaluate.report import describe_data, score_report, write_report
        from ..evaluate.tables import print_score

        source = name_source(names)
        report: dict[str, Any] = {
            "command": f"pii-edu {command} --profile {self.profile.name}",
            "data": describe_data(self.documents, file=self.path.name, sha256=self.sha256),
            "masked": self.masked,
            "profile": self.profile.name,
        }
        options: dict[str, Any] = {"names": source, "resamples": resamples, "seed": seed or SEED}
        report |= score_report(runs, self.documents, profile=self.profile, **options)
        if not quiet:
            print_score(report, to=console())
            if self.masked["count"]:
                shown = f"{self.masked['count']} gold labels cannot be used; the places where they stand are passed over"
                console(stderr=True).print(shown, markup=False)
        if self.out:
            write_report(report, Path(self.out))
            console(stderr=True).print(f"wrote '{self.out}'", markup=False)


def read_metrics(path: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): A metrics file.

    RAISES (PiiError): E501, if it cannot be read; E775, if it holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf8"))
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    except ValueError as err:
        raise PiiError(Errors.E775, file=path.name, reason="not JSON") from err
    if not isinstance(content, dict) or not {"systems", "views"} <= content.keys():
        raise PiiError(Errors.E775, file=path.name, reason="no systems in it")
    return content


def table(
    *,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Metrics files that compare wrote.")
    ],
    subset: Annotated[str, typer.Option(help="A part of the data (seed_split).")] = "",
) -> None:
    """Print metrics files as a Markdown table."""
    with guard():
        from ..evaluate.tables import markdown_table

        typer.echo(markdown_table([read_metrics(path) for path in files], subset=subset))


evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=EPILOG)(run)
evaluate_app.command("score", epilog=EPILOG)(score)
evaluate_app.command("table")(table)
