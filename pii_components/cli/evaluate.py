"""`pii-edu evaluate …`: every number that anyone sees. Each command has a module of its own and is named here."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, PiiError
from ..files.record import reason_of
from .common import guard

if TYPE_CHECKING:
    from ..evaluate.gold import GoldDocument
    from ..evaluate.systems import Run

# `pii-edu evaluate run`, `pii-edu evaluate score`, `pii-edu compare`: systems on a labelled corpus, live or from files.

EPILOG = "Exit codes: 0 all done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."

NamesOpt = Annotated[
    str,
    typer.Option("--names", help="Gender and culture of names by: table (ships), names-dataset (the paper's; 3 GB, minutes)."),
]
MetricsOutOpt = Annotated[str, typer.Option("--out", help="Metrics file (JSON).")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the documents.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the bootstrap; 0 is the usual one.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]
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
        from ..evaluate.systems import known_systems

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
        from ..evaluate.systems import parse_renames, read_predictions

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
        from ..evaluate.gold import choose_splits, file_sha256, read_gold
        from ..evaluate.report import check_gold
        from ..evaluate.systems import check_labels
        from ..files.formats.base import Tally
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
        from ..evaluate.systems import PipelineSystem, make_system, parse_systems, run_system
        from ..evaluate.tables import progress_bar

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
        from ..evaluate.systems import write_run

        if folder:
            for one in runs:
                write_run(one, Path(folder) / f"{one.name}.jsonl", data_sha256=self.sha256)

    def finish(
        self, runs: Sequence["Run"], command: str, names: str, out: str, resamples: int, seed: int, quiet: bool, **more: Any
    ) -> None:
        """Score, print, write. more (Any): Goes into the metrics file as it is."""
        from ..evaluate.metrics import SEED, name_source
        from ..evaluate.report import describe_data, score_report, write_report
        from ..evaluate.tables import print_score
        from .common import console

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


# `pii-edu evaluate crossval`: held-out scores on real essays, and the classifier and threshold that come of it.

EPILOG_CROSSVAL = "Exit codes: 0 all done; 2 refused; 3 an unexpected error; 130 interrupted. Run it again to go on: folds that are trained stay."

GoldArg_crossval = Annotated[str, typer.Argument(metavar="GOLD", help="Real essays with labels, CRAPII's form.")]
SourceOpt = Annotated[Path, typer.Option("--source", help="Trained pipeline to go on from, which has seen none of the essays.")]
ConfigOpt = Annotated[Path, typer.Option("--config", help="Training config with a source.")]
CorpusOpt = Annotated[
    Path, typer.Option("--corpus", help="Folder of `pii-edu corpus build`: essays of ours to train on beside them.")
]
WorkOpt = Annotated[Path, typer.Option("--work", help="Folder for folds, checkpoints, logs, predictions and the classifier.")]
FoldsOpt = Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")]
ReplayOpt = Annotated[int, typer.Option("--replay", min=0, help="Stretches of our essays in each fold's training.")]
SettingsOpt = Annotated[Path, typer.Option("--settings", help="Config per component, JSON.")]
LeastOpt = Annotated[
    float, typer.Option("--min-precision", min=0, max=1, help="Thresholds below it are not chosen if one reaches it.")
]
ApartOpt = Annotated[
    str, typer.Option("--apart", help="Other real essays: none is trained on, the first fold's detector finds them.")
]
FinalOpt = Annotated[
    bool, typer.Option("--final/--no-final", help="Train on all essays too, those apart among them: what ships.")
]
ProtectOpt = Annotated[
    float, typer.Option("--protect", min=0, max=1, help="Threshold for a private person; 0 to choose it on the other folds.")
]
PenaltyOpt = Annotated[
    float, typer.Option("--l2", min=0, help="Penalty of the classifier; 0 to choose it on the other folds.", show_default=False)
]
ExtraPenaltyOpt = Annotated[
    float,
    typer.Option(
        "--extra-l2", min=0, help="Penalty of its fit to our own essays; 0 to choose it likewise.", show_default=False
    ),
]
RulesOpt = Annotated[
    bool, typer.Option("--classifier/--no-classifier", help="Whether a classifier adds to the rules of pii_context.")
]
EncoderOpt = Annotated[
    str,
    typer.Option(
        "--encoder", help="What runs the encoder when essays are predicted: torch, onnx-int8 (what ships) or onnx-half."
    ),
]
DetectorOpt = Annotated[
    str,
    typer.Option(
        "--detector", help="Pipeline that ships, to read our own essays for the classifier [the one that the folds go on from]."
    ),
]
ReaderOpt = Annotated[str, typer.Option("--reader", help="Reader of pii_context, as `weasel run train-reader` writes it.")]
MoreOpt = Annotated[
    list[str],
    typer.Option(
        "--more", help="A .spacy file with labelled texts of ours, chats say, whose people the classifier is fitted to first."
    ),
]
AlsoOpt = Annotated[
    list[str],
    typer.Option("--also", help="A .spacy file of other real texts, as scripts.windows writes: all folds learn from it."),
]
ThreadsOpt = Annotated[int, typer.Option("--threads", min=1, help="Threads of torch.")]


def crossval(
    *,
    gold: GoldArg_crossval,
    source: SourceOpt = Path("training/model-last"),
    config: ConfigOpt = Path("configs/pii_ner_real.cfg"),
    corpus: CorpusOpt = Path("corpus"),
    work: WorkOpt = Path("training/crossval"),
    settings: SettingsOpt = Path("configs/pipeline.json"),
    n_folds: FoldsOpt = 5,
    replay: ReplayOpt = 350,
    min_precision: LeastOpt = 0.0,
    apart: ApartOpt = "",
    final: FinalOpt = True,
    protect: ProtectOpt = 0.2,
    l2: PenaltyOpt = 0.0,
    extra_l2: ExtraPenaltyOpt = 0.0,
    classifier: RulesOpt = True,
    encoder: EncoderOpt = "torch",
    reader: ReaderOpt = "",
    detector: DetectorOpt = "",
    more: MoreOpt = [],  # noqa: B006  (typer copies it)
    also: AlsoOpt = [],  # noqa: B006
    threads: ThreadsOpt = 2,
    profile: ProfileOpt = "crapii",
    names: NamesOpt = "table",
    out: MetricsOutOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Train on all folds but one and predict that one, for the detector and for the classifier behind it; score what was held out.

    Writes WORK/held_out.jsonl (offsets and labels), WORK/classifier.npz for packaging, and WORK/chosen.json with what was chosen.
    """
    with guard(debug):
        from ..evaluate.crossval import CrossValidation
        from ..evaluate.metrics import SEED
        from ..evaluate.veto import check_lines
        from ..training.package import ENCODERS, TORCH

        refuse_early(out)
        for path in (
            source,
            config,
            corpus / "train.spacy",
            corpus / "dev.spacy",
            *(Path(file) for file in (reader, *more, *also) if file),
        ):
            if not path.exists():
                raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
        if encoder not in ENCODERS:
            raise PiiError(Errors.E519, value=encoder, what="form of the encoder", allowed=", ".join(ENCODERS))
        job = Job(gold, profile, "", "", "", strict=False)
        done = CrossValidation(
            work=work, source=source, config=config, corpus=corpus, settings=settings, n_folds=n_folds, replay=replay, threads=threads,
            min_precision=min_precision, protect=protect, l2=l2, extra_l2=extra_l2, encoder=encoder, reader=Path(reader) if reader else None,
            more=tuple(map(Path, more)), also=tuple(map(Path, also)), detector=detector, n_resamples=resamples,
            seed=seed or SEED,
        )  # fmt: skip
        run, others, details = done.run(
            job.documents, Path(gold), Path(apart) if apart else None, job.profile.protects, final=final, classifier=classifier
        )
        job.save([run], str(work))
        shown = f"crossval {Path(gold).name} --source {source.name} --config {config.name} --folds {n_folds}"
        shown += f" --protect {protect:g}" if classifier else " --no-classifier"
        shown += (f" --l2 {l2:g}" if l2 else "") + (f" --extra-l2 {extra_l2:g}" if extra_l2 else "")
        shown += f" --encoder {encoder}" if encoder != TORCH else ""
        shown += "".join(f" --more {Path(file).name}" for file in more) + (
            f" --detector {Path(detector).name}" if detector else ""
        )
        shown += "".join(f" --also {Path(file).parent.name}/{Path(file).name}" for file in also)
        shown += f" --reader {Path(reader).name}" if reader else ""
        job.finish(
            [run],
            f"{shown} --min-precision {min_precision:g}",
            names,
            out,
            resamples,
            seed,
            quiet,
            **details,
        )
        if "control" in details and not quiet:
            sys.stderr.write("".join(f"{line}\n" for line in check_lines(details["control"])))
        if others is not None:
            second = Job(apart, profile, "", "", "", strict=False)
            second.save([others], str(work / "apart"))
            place = str(Path(out).with_stem(f"{Path(out).stem}_apart")) if out else ""
            second.finish([others], f"{shown} --apart {Path(apart).name}", names, place, resamples, seed, quiet)
        if classifier and not quiet:
            sys.stderr.write(f"wrote {work.name}/classifier.npz and {work.name}/chosen.json\n")


# `pii-edu evaluate report`: one page to look at, from metrics files.

FILES = "files"
MERGED = "metrics.json"
# Fields of essays and of what is found in them; the page would show their values, the text too.
RECORD = frozenset({"text", "full_text", "tokens", "spans", "start_char", "data_sha256"})

MetricsArg = Annotated[
    list[Path], typer.Argument(metavar="METRICS...", help="Files that the commands of evaluate wrote with --out.")
]
OutOpt = Annotated[Path, typer.Option("--out", "-o", help="The page; metrics.json is written beside it.")]
WithTextOpt = Annotated[
    bool, typer.Option("--with-text", help="Show errors with words of the essays; needs --gold and --stored.")
]
GoldOpt = Annotated[Path | None, typer.Option("--gold", help="Labelled essays, for --with-text.")]
StoredOpt = Annotated[Path | None, typer.Option("--stored", help="Predictions that --save-predictions wrote, for --with-text.")]


def report(
    *,
    metrics: MetricsArg,
    out: OutOpt = Path("report.html"),
    with_text: WithTextOpt = False,
    gold: GoldOpt = None,
    stored: StoredOpt = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Measured: finding and hiding PII",
    debug: DebugOpt = False,
) -> None:
    """Write one self-contained HTML page of tables and charts, and metrics.json beside it with all that is in it.

    What the files do not hold is left out, with a line that says so.
    """
    with guard(debug):
        from ..evaluate.gold import file_sha256, read_gold
        from ..evaluate.html import Window, build_page, error_windows
        from ..evaluate.report import write_report
        from ..evaluate.systems import read_run

        merged = out.with_name(MERGED)
        for path in (*metrics, *(p for p in (gold, stored) if p is not None)):
            for place in (out, merged):
                if path.resolve() == place.resolve():
                    raise PiiError(Errors.E776, file=f"'{place}'")
        if with_text and (gold is None or stored is None):
            raise PiiError(Errors.E777)
        reports = read_metrics(metrics)
        windows: list[Window] | None = None
        if with_text and gold is not None and stored is not None:
            documents = read_gold(gold)
            windows = error_windows(documents, read_run(stored, documents, data_sha256=file_sha256(gold)).entities)
        page = build_page(reports, windows=windows, title=title)
        write_report({"format": 1, FILES: reports}, merged)
        try:
            out.write_text(page, encoding="utf8")
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{out}'", reason=reason_of(err)) from err
        typer.echo(f"wrote '{out}' and '{merged}'")


def read_metrics(paths: list[Path]) -> dict[str, dict[str, Any]]:
    """Read metrics files; those in a merged file come out one by one.

    paths (list[Path]): JSON files. RETURNS (dict[str, dict[str, Any]]): By name; a name that is there twice gets a number.
    RAISES (PiiError): E501, if one cannot be read; E775, if it holds something else.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        try:
            content = json.loads(path.read_text(encoding="utf8"))
        except OSError as err:
            raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
        except ValueError as err:
            raise PiiError(Errors.E775, file=path.name, reason="not JSON") from err
        inner = content.get(FILES) if isinstance(content, dict) and set(content) == {"format", FILES} else {path.name: content}
        if not isinstance(inner, dict) or not inner or not all(isinstance(part, dict) and part for part in inner.values()):
            raise PiiError(Errors.E775, file=path.name, reason="no object with names and values")
        if any(not RECORD.isdisjoint(part) for part in inner.values()):
            raise PiiError(Errors.E775, file=path.name, reason="a record of an essay or of a span")
        for name, part in inner.items():
            n = sum(known == name or known.startswith(f"{name} (") for known in found)
            found[f"{name} ({n + 1})" if n else name] = part
    return found


evaluate_app = typer.Typer(
    help="Measure detection, and reproduce the published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
evaluate_app.command("run", epilog=EPILOG)(run)
evaluate_app.command("score", epilog=EPILOG)(score)
evaluate_app.command("crossval", epilog=EPILOG_CROSSVAL)(crossval)
evaluate_app.command("report")(report)
