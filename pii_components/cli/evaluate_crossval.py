"""`pii-edu evaluate crossval`: held-out scores on real essays, and the classifier and threshold that come of it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, PiiError
from .evaluate_score import Job, ProfileOpt, refuse_early
from .evaluate_tables import DebugOpt, NamesOpt, OutOpt, QuietOpt, ResamplesOpt, SeedOpt
from .guard import guard

EPILOG = "Exit codes: 0 all done; 2 refused; 3 an unexpected error; 130 interrupted. Run it again to go on: folds that are trained stay."

GoldArg = Annotated[str, typer.Argument(metavar="GOLD", help="Real essays with labels, CRAPII's form.")]
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
    typer.Option("--extra-l2", min=0, help="Penalty of its fit to our own essays; 0 to choose it likewise.", show_default=False),
]
RulesOpt = Annotated[
    bool, typer.Option("--classifier/--no-classifier", help="Whether a classifier adds to the rules of pii_context.")
]
EncoderOpt = Annotated[
    str, typer.Option("--encoder", help="What runs the encoder when essays are predicted: torch, onnx-int8 (what ships) or onnx-half.")
]
DetectorOpt = Annotated[
    str, typer.Option("--detector", help="Pipeline that ships, to read our own essays for the classifier [the one that the folds go on from].")
]
ReaderOpt = Annotated[str, typer.Option("--reader", help="Reader of pii_context, as `weasel run train-reader` writes it.")]
MoreOpt = Annotated[
    list[str], typer.Option("--more", help="A .spacy file with labelled texts of ours, chats say, whose people the classifier is fitted to first.")
]
AlsoOpt = Annotated[
    list[str], typer.Option("--also", help="A .spacy file of other real texts, as pii_components.corpus.windows writes: all folds learn from it.")
]
ThreadsOpt = Annotated[int, typer.Option("--threads", min=1, help="Threads of torch.")]


def crossval(
    *,
    gold: GoldArg,
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
    out: OutOpt = "",
    resamples: ResamplesOpt = 1000,
    seed: SeedOpt = 0,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Train on all folds but one and predict that one, for the detector and for the classifier behind it; score what was held out.

    Writes WORK/held_out.jsonl (offsets and labels), WORK/classifier.npz for packaging, and WORK/chosen.json with what was chosen.
    """
    with guard(debug):
        from ..evaluate.crossval_run import CrossValidation
        from ..evaluate.metrics import SEED
        from ..evaluate.veto_table import check_lines
        from ..packaging import ENCODERS, TORCH

        refuse_early(out)
        for path in (source, config, corpus / "train.spacy", corpus / "dev.spacy", *(Path(file) for file in (reader, *more, *also) if file)):
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
        shown += "".join(f" --more {Path(file).name}" for file in more) + (f" --detector {Path(detector).name}" if detector else "")
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
