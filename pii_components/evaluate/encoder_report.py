"""The comparison of encoders as one metrics file and as Markdown.

report = compare(choose_encoders(()), Path("assets/encoders"), Path("corpus"), Settings(), work=Path("training/encoders"))
encoders_table(report)                      # by encoder: before, and after fine-tuning
epochs_table(report, "all-MiniLM-L6-v2")    # by epoch, as Tables 2 to 7 of seeds/two_layer_framework.txt
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .encoder_registry import CNN, Encoder, find_folder
from .markdown import cell, lines_of

PHASES = {
    "before": 'the encoder as it comes under a head that was taught nothing (the paper\'s "Pre"): all labels are equally likely, so nearly '
    "every word is taken for a name",
    "frozen": "before fine-tuning: the encoder stays as it comes, only the head on it is trained",
    "tuned": "after fine-tuning: head and encoder are trained, from the same start",
}


def compare(
    encoders: Sequence[Encoder],
    root: Path,
    corpus: Path,
    settings: Any,
    *,
    work: Path,
    train_words: int,
    test_words: int,
    keep: bool = False,
    debug: bool = False,
    progress: Callable[[str], None] = lambda told: None,
) -> dict[str, Any]:
    """Train and score encoders one after the other; one that cannot be loaded is named with the reason, the others go on.

    encoders (Sequence[Encoder]): Of the registry. root (Path): Folder with one folder for each. corpus (Path): With train, dev, test.
    settings (Settings): Of `encoder_training`. work (Path): For checkpoints. train_words, test_words (int): Of the sample; 0 for all.
    keep (bool): Keep the best pipelines. debug (bool): Raise what goes wrong. progress (Callable[[str], None]): Told what is done.
    RETURNS (dict[str, Any]): Plain data. RAISES (PiiError): E785 without a corpus, E786 if no encoder could be trained.
    """
    from .encoder_data import prepare
    from .encoder_training import compare_encoder
    from .report import FORMAT, machine, versions

    results: dict[str, Any] = {}
    skipped: dict[str, dict[str, str]] = {}
    ready: list[tuple[Encoder, Path]] = []
    for encoder in encoders:
        try:
            ready.append((encoder, find_folder(encoder, root)))
        except PiiError as err:
            skipped[encoder.name] = {"code": err.code, "reason": str(err).partition("] ")[2]}
            progress(str(err))
    if not ready:
        raise PiiError(Errors.E786)
    data = prepare(corpus, work / "data", train_words=train_words, test_words=test_words, seed=settings.seed)
    for encoder, folder in ready:
        try:
            found = compare_encoder(encoder, folder, data, settings, work=work, keep=keep, progress=progress)
        except Exception as err:
            if debug:
                raise
            # What a package raises may quote a path or a text: its type is told.
            failed = PiiError(Errors.E783, name=encoder.name, done="loaded or trained", type=type(err).__name__)
            skipped[encoder.name] = {"code": failed.code, "reason": str(failed).partition("] ")[2]}
            progress(str(failed))
            continue
        results[encoder.name] = {"about": about(encoder)} | found
    if not results:
        raise PiiError(Errors.E786)
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "settings": asdict(settings) | {"profile": Path(settings.profile).name},
        "data": data.about,
        "phases": PHASES,
        "encoders": results,
        "skipped": skipped,
    }


def about(encoder: Encoder) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What is told of an encoder."""
    return {
        "kind": encoder.kind,
        "cased": encoder.cased,
        "learn_rate": encoder.learn_rate,
        "packages": list(encoder.packages),
        "upstream": encoder.upstream,
        "licence": encoder.licence,
    }


def encoders_table(report: Mapping[str, Any]) -> str:
    """RETURNS (str): Markdown: each encoder before and after fine-tuning, on test, at the epoch that dev chose; and those left out."""
    head = ("encoder", "fine-tuned", "epoch", "loss", "support", "R", "P", "F1", "F5 (95 % interval)", "words per CPU second")
    rows = []
    for name, found in report["encoders"].items():
        for phase, score in found["test"].items():
            told = "from nothing" if found["about"]["kind"] == CNN else {"frozen": "no", "tuned": "yes"}[phase]
            rows.append([name, told, str(score["epoch"]), *_numbers(score), str(score["words_per_cpu_second"])])
    train, test = report["data"]["train"], report["data"]["test"]
    lines = [
        f"Trained on {train['tokens']:,} tokens ({train['documents']} {train['unit']}), scored on {test['tokens']:,} ({test['documents']} "
        f"{test['unit']} that were not trained on, {test['documents_with_pii']} with personal information); by position, labels of CRAPII, names "
        f"that profile {report['settings']['profile']} hides. {report['machine']['cpus']} processors.",
        "",
        *lines_of(head, rows),
    ]
    left_out = [f"- {name} [{why['code']}]: {why['reason']}" for name, why in report["skipped"].items()]
    stopped = [f"- {name}: stopped {found['stopped']}" for name, found in report["encoders"].items() if found["stopped"]]
    return "\n".join([*lines, *(["", "Not compared:", "", *left_out] if left_out else []), *(["", *stopped] if stopped else [])])


def epochs_table(report: Mapping[str, Any], name: str) -> str:
    """RETURNS (str): Markdown: an encoder by phase and epoch, on dev. name (str): Of the encoder."""
    head = ("phase", "epoch", "training loss", "loss", "support", "R", "P", "F1", "F5 (95 % interval)")
    rows = [
        [row["phase"], str(row["epoch"]), f"{row['train_loss']:.4f}" if "train_loss" in row else "-", *_numbers(row)]
        for row in report["encoders"][name]["rows"]
    ]
    return "\n".join(lines_of(head, rows))


def _numbers(row: Mapping[str, Any]) -> list[str]:
    score = row["position"]
    return [
        f"{row['loss']:.4f}",
        str(score["support"]),
        *(cell(score, measure) for measure in ("recall", "precision", "f1")),
        cell(score, "f5", interval=True),
    ]
