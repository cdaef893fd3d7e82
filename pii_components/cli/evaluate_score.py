"""`pii-edu evaluate run`, `pii-edu evaluate score`, `pii-edu compare`: systems on a labelled corpus, live or from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, PiiError
from .evaluate_tables import DebugOpt, NamesOpt, OutOpt, QuietOpt, ResamplesOpt, SeedOpt
from .guard import guard

if TYPE_CHECKING:
    from ..evaluate.records import GoldDocument
    from ..evaluate.systems import Run

EPILOG = "Exit codes: 0 all done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."

GoldArg = Annotated[str, typer.Argument(metavar="GOLD", help="Labelled corpus in any form of: pii-edu corpus convert.")]
PredictionsArg = Annotated[
    str, typer.Argument(metavar="PREDICTIONS", help="What detect --out or --save-predictions wrote, file_idx CSV, or a corpus.")
]
PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Name or path of the pipeline.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says what is hidden: a shipped profile or a TOML file.")]
FormOpt = Annotated[str, typer.Option("--from", help="Form of GOLD [by its suffix and first records].")]
TextSourceOpt = Annotated[
    str, typer.Option("--text-source", help="File or folder with the texts, for gold with offsets alone.")
]
SplitsOpt = Annotated[
    str, typer.Option("--splits", help="Only these parts of the data (seed_split), with commas between them.")
]
StrictOpt = Annotated[bool, typer.Option("--strict", help="Refuse gold that cannot be used, rather than pass over it.")]
SaveOpt = Annotated[str, typer.Option("--save-predictions", help="Folder for offsets and labels of each system.")]
MapOpt = Annotated[list[str] | None, typer.Option("--map", help="OLD=NEW: rename a label of the predictions; may be repeated.")]
AgainstOpt = Annotated[str, typer.Option("--against", help="Other predictions, for a paired comparison.")]
OverlapsOpt = Annotated[bool, typer.Option("--allow-overlaps", help="Count overlapping predictions, each by itself.")]
SystemsOpt = Annotated[str, typer.Option("--systems", help="[NAME=]SYSTEM[:PATH] with commas between them; --list shows them.")]


def list_systems(asked: bool) -> None:
    """Show what --systems takes, and leave. asked (bool): Whether --list is there."""
    if asked:
        from ..evaluate.baselines import known_systems

        typer.echo(known_systems().replace(", ", "\n"))
        raise typer.Exit


# Eager: it comes before GOLD is missed.
ListOpt = Annotated[
    bool, typer.Option("--list", callback=list_systems, is_eager=True, help="List the systems and leave; needs no GOLD.")
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
    out: OutOpt = "",
    save: SaveOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run a pipeline on GOLD and score it: every number of the papers, with 95 % intervals."""
    with guard(debug):
        refuse_early(out)
        job = Job(gold, profile, form, text_source, splits, strict=strict)
        done = job.run_systems(pipeline, keep_roles=True)
        job.save(done, save)
        job.finish(done, f"run {Path(gold).name} --pipeline {Path(pipeline).name}", names, out, resamples, seed, quiet)


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
    out: OutOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    allow_overlaps: OverlapsOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Score PREDICTIONS of any system against GOLD; with --against, two of them in pairs."""
    with guard(debug):
        from ..evaluate.predictions import parse_renames, read_predictions

        renames = parse_renames(rename or ())
        refuse_early(out)
        job = Job(gold, profile, form, text_source, "", strict=strict)
        files = [Path(predictions), *([Path(against)] if against else [])]
        done = [
            read_predictions(
                file, job.documents, name=name, protects=job.profile.protects, gold_file=Path(gold), rename=renames,
                allow_overlaps=allow_overlaps,
            )
            for file, name in zip(files, names_of(files), strict=True)
        ]  # fmt: skip
        done = job.choose(splits, done)
        shown = " --against ".join(file.name for file in files)
        job.finish(done, f"score {Path(gold).name} {shown}", names, out, resamples, seed, quiet)


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
    out: OutOpt = "",
    save: SaveOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    strict: StrictOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run several systems on GOLD, one after the other, and print one table; the first is compared with each other one in pairs."""
    with guard(debug):
        refuse_early(out)
        job = Job(gold, profile, form, text_source, splits, strict=strict)
        done = job.run_systems(systems, keep_roles=True)
        job.save(done, save)
        shown = ",".join(done_run.name for done_run in done)
        job.finish(done, f"compare {Path(gold).name} --systems {shown}", names, out, resamples, seed, quiet)


def refuse_early(out: str) -> None:
    """Refuse a metrics file that cannot be written, before any system runs. RAISES (PiiError): E512."""
    from ..evaluate.report import check_place

    if out:
        check_place(Path(out))


def names_of(files: Sequence[Path]) -> list[str]:
    """RETURNS (list[str]): A name for each file: its stem, or its whole name where two have one stem."""
    stems = [file.stem for file in files]
    return stems if len(set(stems)) == len(stems) else [f"{file.parent.name}/{file.name}" for file in files]


class Job:
    """Gold and profile of one command, read and checked.

    gold, profile, form, text_source, splits (str): From the command line; empty where not given. strict (bool): Refuse masked gold.
    RAISES (PiiError): E501, E7xx, E724 for labels that are not ours.
    """

    def __init__(self, gold: str, profile: str, form: str, text_source: str, splits: str, *, strict: bool) -> None:
        from ..corpus.formats.record import Tally
        from ..evaluate.gold import choose_splits, file_sha256, read_gold
        from ..evaluate.predictions import check_labels
        from ..evaluate.scoring import check_gold
        from ..profiles import Profile

        self.path = Path(gold)
        self.profile = Profile.load(profile)
        tally = Tally()
        documents = read_gold(self.path, form=form, text_source=Path(text_source) if text_source else None, tally=tally)
        self.masked = check_gold(tally, strict=strict)
        check_labels((entity.label for doc in documents for entity in doc.entities), what=self.path.name)
        self.documents: list[GoldDocument] = choose_splits(documents, parts(splits))
        self.sha256 = file_sha256(self.path)

    def choose(self, splits: str, runs: Sequence["Run"]) -> list["Run"]:
        """RETURNS (list[Run]): Predictions of the documents of these parts, which are the documents from now on."""
        from dataclasses import replace

        from ..evaluate.gold import choose_splits

        self.documents = choose_splits(self.documents, parts(splits))
        kept = {doc.id for doc in self.documents}
        return [replace(one, entities=tuple(e for e in one.entities if e.document in kept)) for one in runs]

    def run_systems(self, systems: str, *, keep_roles: bool = False) -> list["Run"]:
        """RETURNS (list[Run]): What each system finds. They are loaded one after the other: memory is what runs out first."""
        from ..evaluate.baselines import make_system, parse_systems
        from ..evaluate.command import progress_bar
        from ..evaluate.systems import PipelineSystem, run_system

        specs = parse_systems(systems)
        if not specs:
            raise PiiError(Errors.E740, got=systems, known="en_pii_edu; --list shows all")
        done = []
        for spec in specs:
            system = make_system(spec, protects=self.profile.protects, data_sha256=self.sha256)
            if keep_roles and isinstance(system, PipelineSystem):
                system.keep_roles = True
            with progress_bar(system.name, len(self.documents)) as advance:
                done.append(run_system(system, self.documents, progress=advance))
            del system
        return done

    def save(self, runs: Sequence["Run"], folder: str) -> None:
        """Write predictions, if asked."""
        from ..evaluate.stored import write_run

        if folder:
            for one in runs:
                write_run(one, Path(folder) / f"{one.name}.jsonl", data_sha256=self.sha256)

    def finish(
        self, runs: Sequence["Run"], command: str, names: str, out: str, resamples: int, seed: int, quiet: bool, **more: Any
    ) -> None:
        """Score, print, write. more (Any): Goes into the metrics file as it is."""
        from ..evaluate.fairness import name_source
        from ..evaluate.metrics import SEED
        from ..evaluate.report import describe_data, write_report
        from ..evaluate.scoring import score_report
        from ..evaluate.tables_score import print_score
        from .show import console

        source = name_source(names)
        report: dict[str, Any] = (
            {
                "command": f"pii-edu {'' if command.startswith('compare') else 'evaluate '}{command} --profile {self.profile.name}",
                "data": describe_data(self.documents, file=self.path.name, sha256=self.sha256),
                "masked": self.masked,
                "profile": self.profile.name,
            }
            | score_report(runs, self.documents, profile=self.profile, names=source, resamples=resamples, seed=seed or SEED)
            | more
        )
        if not quiet:
            print_score(report, to=console())
            if self.masked["count"]:
                told = f"{self.masked['count']} gold labels cannot be used; the places where they stand are passed over"
                console(stderr=True).print(told, markup=False)
        if out:
            write_report(report, Path(out))
            console(stderr=True).print(f"wrote '{out}'", markup=False)


def parts(splits: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Names between commas."""
    return tuple(part.strip() for part in splits.split(",") if part.strip())
