"""`pii-edu llm …`: what language models cost, and files to fine-tune them with."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError
from ..files.labelled import check_places, read_corpus
from ..files.record import Skip, Source
from ..files.sources import open_source
from ..files.writers import replace_file
from ..labels import LABELS
from ..llm.models import Prices
from ..llm.models import estimate as tokens_of
from ..options import Settings, key, need, read_settings
from ..profiles import Profile
from ..release.engine import load_engine, surrogate_pipes
from . import common
from .settings import MODEL, RunSettings

EPILOG = "Exit codes: 0 all done; 1 done, but records were skipped; 2 refused, nothing was written or sent; 130 interrupted."
EXPORT_EPILOG = (
    "Settings for --config: part (of the paper's split: base_train, verifier_train, test; or all), reasoning (a verifier that reasons first, as "
    "the models of --llm do), labels (to mark; the paper's four), profile (says which gold is private), form (of CORPUS), model. "
    + EPILOG
)
TASKS = DETECTOR, VERIFIER = ("detector", "verifier")
LlmOpt = Annotated[
    str,
    Option(
        "--llm",
        metavar="CONFIG",
        help="A config with components of spacy-llm (docs/how-to/llm.md).",
    ),
]

llm_app = typer.Typer(
    name="llm",
    help="Language models: estimate their cost, write files to fine-tune them.",
    no_args_is_help=True,
)


@llm_app.command(epilog=EPILOG)
def estimate(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help="What deidentify reads.")],
    llm: LlmOpt,
    config: common.ConfigOpt = None,
) -> None:
    """Count what would be sent, and print what it would cost, as JSON. Nothing is sent; tokens are estimated from characters."""
    with common.guard():
        from ..llm.pipeline import add_components, report

        settings = read_settings(RunSettings, config, llm=llm)
        table = Prices.load(settings.prices or None)
        engine = load_engine(
            settings.model,
            debug=common.global_option("debug"),
            extend=partial(add_components, path=llm, dry=True),
        )
        skips, counts = common.Skips(common.say), Counter[str]()
        disable = surrogate_pipes(engine.nlp)
        with closing(open_source(Path(source), **settings.reading)) as opened:
            texts = _texts(opened, engine.nlp.max_length, skips, counts)
            for _ in engine.nlp.pipe(texts, batch_size=settings.batch_size, disable=disable):
                pass
        told = {"documents": counts["documents"], "words": counts["words"], "dry_run": True}
        told |= report(engine.nlp, table, words=counts["words"])
        print(json.dumps(told, indent=2))
    raise typer.Exit(common.exit_code(skips))


def _texts(source: Source, limit: int, skips: common.Skips, counts: Counter[str]) -> Iterator[str]:
    """YIELDS (str): Each text that can be processed; the others are skips."""
    for item in source:
        if isinstance(item, Skip):
            skips(item)
        elif len(item.text) > limit:
            length = len(item.text)
            skips(Skip.of(Errors.E528, number=item.number, length=length, limit=limit))
        else:
            counts["documents"] += 1
            counts["words"] += len(item.text.split())
            yield item.text


@dataclass(frozen=True, kw_only=True)
class ExportSettings(Settings):
    """What `llm export` writes.

    task (str): "detector" copies and marks; "verifier" says T or F of what a pipeline found.
    part (str): Of the paper's split: base_train, verifier_train, test; or all. Empty: by the task.
    reasoning (bool): Whether a verifier reasons first; the models of `llm` write its reasoning.
    llm (str): A config of spacy-llm with these models.
    allow_remote (bool): Whether texts may leave this machine for them.
    labels (tuple[str, ...]): Labels to mark; empty for the paper's four.
    profile (str): Says which gold is private.
    form (str): Of CORPUS, as `pii-edu corpus convert` names them; empty to go by its suffix.
    model (str): Name or path of the pipeline whose finds a verifier judges.
    """

    task: str = key(DETECTOR, allowed=TASKS)
    part: str = key("")
    reasoning: bool = key(False, needs="llm")
    llm: str = key("")
    allow_remote: bool = key(False)
    labels: tuple[str, ...] = key(())
    profile: str = key("crapii")
    form: str = key("")
    model: str = key(MODEL)

    def __post_init__(self) -> None:
        super().__post_init__()
        need(self.reasoning, "reasoning", self.task == VERIFIER, "--task verifier")


@llm_app.command(epilog=EXPORT_EPILOG)
def export(
    *,
    corpus: Annotated[
        str,
        Argument(metavar="CORPUS", help="Labelled corpus in any form of: pii-edu corpus convert."),
    ],
    out: Annotated[str, Option("--out", "-o", help="New .jsonl file.")],
    task: Annotated[
        str, Option(help="detector: copy and mark; verifier: T or F for what a pipeline found.")
    ] = DETECTOR,
    llm: LlmOpt = "",
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Write a file to fine-tune a chat model with."""
    with common.guard():
        from ..llm.finetune import part_of

        settings = read_settings(ExportSettings, config, task=task, llm=llm)
        target = Path(out)
        check_places(Path(corpus), target, overwrite=overwrite)
        skips, counts = common.Skips(common.say), Counter[str]()
        read = list(read_corpus(Path(corpus), settings.form, on_skip=skips))
        usual = "base_train" if settings.task == DETECTOR else "verifier_train"
        part = settings.part or usual
        lines = []
        for example in _examples(part_of(read, part), settings, counts):
            lines.append(json.dumps(example, ensure_ascii=False))
        if not lines:
            what, reason = f"'{Path(corpus).name}'", f"no record of {part}"
            raise PiiError(Errors.E552, what=what, reason=reason)
        replace_file(target, "".join(line + "\n" for line in lines))
        tokens, verdicts = tokens_of(sum(map(len, lines))), ""
        if settings.task == VERIFIER:
            verdicts = (
                f", {counts['T']} T, {counts['F']} F, {counts['defaulted']} of them T by default"
            )
        common.say(
            f"wrote '{target}': {len(lines)} examples{verdicts}, about {tokens} tokens an epoch"
        )
    raise typer.Exit(common.exit_code(skips))


def _examples(
    documents: Any, settings: ExportSettings, counts: Counter[str]
) -> Iterable[Mapping[str, Any]]:
    from ..llm import finetune, marker, verifier

    if settings.task == DETECTOR:
        named = [name.strip() for name in settings.labels] or list(marker.MARKS_LABELS)
        return finetune.detector_examples(documents, marker.make_marker_task(labels=named))
    engine = load_engine(settings.model, replace=False, debug=common.global_option("debug"))
    return finetune.verifier_examples(
        documents,
        engine.nlp,
        verifier.make_verifier_task(settings.reasoning, labels=list(LABELS)),
        counts,
        private=Profile.load(settings.profile).protects,
        model=_reasoning_model(settings) if settings.reasoning else None,
    )


def _reasoning_model(settings: ExportSettings) -> Any:
    import spacy

    from ..llm.pipeline import add_components, llm_parts

    nlp = spacy.blank("en")
    add_components(nlp, settings.llm, allow_remote=settings.allow_remote, alone=True)
    return next(part for _, part in llm_parts(nlp))._model
