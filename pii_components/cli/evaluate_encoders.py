"""`pii-edu evaluate encoders`: encoders before and after fine-tuning, by epoch."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ..errors import PiiError
from ..evaluate.command import shown_command, split_list
from ..evaluate.metrics import N_RESAMPLES
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard
from .show import console

EPILOG = (
    "Where encoders come from: pii_components/resources/encoders/encoders.toml. Exit codes: 0 all that are here were compared; 1 one "
    "failed; 2 refused; 130 interrupted: the same command goes on."
)

CorpusOpt = Annotated[
    Path, typer.Option("--corpus", help="Folder with train.spacy, dev.spacy, test.spacy (weasel run fill-slots).")
]
EncodersOpt = Annotated[Path, typer.Option("--encoders", help="Folder with one folder per encoder (weasel run get-encoders).")]
OnlyOpt = Annotated[str, typer.Option("--only", help="Encoders, with commas between them [all of the registry].")]
ListOpt = Annotated[bool, typer.Option("--list", help="Show the registry and what is there, and leave.")]
EpochsOpt = Annotated[int, typer.Option("--epochs", min=1, help="Of each phase.")]
StepsOpt = Annotated[int, typer.Option("--max-steps", min=0, help="Steps of each phase at most; 0 for no limit.")]
TrainOpt = Annotated[int, typer.Option("--train-words", min=0, help="Tokens to train on; 0 for the whole corpus (on a GPU).")]
TestOpt = Annotated[int, typer.Option("--test-words", min=0, help="Tokens of dev and of test; 0 for all, whole essays.")]
BatchOpt = Annotated[int, typer.Option("--batch-words", min=1, help="Tokens of a batch.")]
SecondsOpt = Annotated[float, typer.Option("--seconds", min=0, help="Processor time for each encoder; 0 for no limit.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which names count as personal information.")]
GpuOpt = Annotated[int, typer.Option("--gpu-id", help="Number of the GPU; -1 for the processor.")]
WorkOpt = Annotated[Path, typer.Option("--work", help="Folder for configs, checkpoints and numbers so far.")]
KeepOpt = Annotated[bool, typer.Option("--keep", help="Keep the best pipeline of each phase in --work.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the sample and of training.")]
ResamplesOpt = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the documents.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def encoders(
    *,
    corpus: CorpusOpt = Path("corpus"),
    root: EncodersOpt = Path("assets/encoders"),
    only: OnlyOpt = "",
    show_list: ListOpt = False,
    epochs: EpochsOpt = 3,
    max_steps: StepsOpt = 0,
    train_words: TrainOpt = 6000,
    test_words: TestOpt = 4000,
    batch_words: BatchOpt = 250,
    seconds: SecondsOpt = 600.0,
    profile: ProfileOpt = "crapii",
    gpu_id: GpuOpt = -1,
    work: WorkOpt = Path("training/encoders"),
    keep: KeepOpt = False,
    out: OutOpt = None,
    seed: SeedOpt = 46,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Loss, recall, precision, F1 and F5 of every encoder: as it comes, under a trained head, and fine-tuned, by epoch.

    The same corpus, head and schedule for all. The defaults are a small trial for two processors; --train-words 0 --test-words 0 is the
    whole corpus. Interrupted, the same command goes on at the last epoch.
    """
    from ..evaluate.encoder_registry import choose_encoders

    report: dict[str, Any] = {"skipped": {}}
    with guard(debug):
        chosen = choose_encoders(split_list(only))
        if show_list:
            console().print(_registry(chosen, root))
            raise typer.Exit(DONE)
        from ..evaluate.encoder_report import compare
        from ..evaluate.encoder_training import Settings
        from ..evaluate.report import check_place, write_report
        from ..profiles import Profile

        if out is not None:
            check_place(out)
        Profile.load(profile)
        if gpu_id >= 0:
            import spacy

            spacy.require_gpu(gpu_id)
        screen = console(stderr=True)
        settings = Settings(
            epochs=epochs, max_steps=max_steps, seconds=seconds, batch_words=batch_words, seed=seed, profile=profile,
            resamples=resamples,
        )  # fmt: skip
        report = {"command": shown_command("pii_components.cli evaluate encoders", sys.argv[3:])} | compare(
            chosen, root, corpus, settings, work=work, train_words=train_words, test_words=test_words, keep=keep, debug=debug,
            progress=lambda told: None if quiet else screen.print(told, markup=False),
        )  # fmt: skip
        if out is not None:
            write_report(report, out)
        if not quiet:
            from ..evaluate.encoder_report import encoders_table, epochs_table

            for name in report["encoders"]:
                console().print(f"\n{name}, by epoch, on dev\n\n{epochs_table(report, name)}", markup=False, soft_wrap=True)
            console().print(f"\n{encoders_table(report)}", markup=False, soft_wrap=True)
    failed = any(why["code"] == "E783" for why in report["skipped"].values())
    raise typer.Exit(DONE_WITH_SKIPS if failed else DONE)


def _registry(chosen: Any, root: Path) -> Table:
    from ..evaluate.encoder_registry import find_folder

    shown = Table("encoder", "kind", "cased", "licence", "from", "here")
    for encoder in chosen:
        try:
            find_folder(encoder, root)
            here = "yes"
        except PiiError as err:
            here = err.code
        source = ", ".join(encoder.packages[:1]) + (" ..." if len(encoder.packages) > 1 else "") or encoder.upstream
        shown.add_row(encoder.name, encoder.kind, "yes" if encoder.cased else "no", encoder.licence, source, here)
    return shown
