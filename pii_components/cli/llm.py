"""`pii-edu llm …`: what language models cost, and files to fine-tune them with."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError
from ..files.labelled import read_corpus
from ..files.record import Skip
from ..files.sources import open_source
from ..files.writers import replace_file
from ..labels import LABELS
from ..llm.cost import Prices
from ..profiles import Profile
from ..release.engine import load_engine, surrogate_pipes
from . import common

EPILOG = "Exit codes: 0 all done; 1 done, but records were skipped; 2 refused, nothing was written or sent; 130 interrupted."
TASKS = DETECTOR, VERIFIER = ("detector", "verifier")
LlmOpt = Annotated[
    str,
    Option(
        "--llm",
        metavar="CONFIG",
        help="Language models: a config with components of spacy-llm (docs/llm.md).",
    ),
]
RemoteOpt = Annotated[
    bool,
    Option("--allow-remote", help="Texts may leave this machine for the servers that --llm names."),
]
PricesOpt = Annotated[
    str, Option("--prices", help="TOML file with prices of models [the one that ships].")
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
    prices: PricesOpt = "",
    text_fields: common.TextsOpt = None,
    encoding: common.EncodingOpt = "utf-8",
    model: common.ModelOpt = common.MODEL,
    batch_size: common.BatchOpt = 16,
    debug: common.DebugOpt = False,
) -> None:
    """Count what would be sent, and print what it would cost, as JSON. Nothing is sent; tokens are estimated from characters."""
    with common.guard(debug):
        from ..llm.pipeline import add_components, report

        table = Prices.load(prices or None)
        engine = load_engine(
            model, debug=debug, extend=lambda nlp: add_components(nlp, llm, dry=True)
        )
        opened = open_source(Path(source), **common.texts(text_fields), encoding=encoding)
        skips, words, documents = common.Skips(common.say), 0, 0

        def texts() -> Iterator[str]:
            nonlocal words, documents
            for item in opened:
                if not isinstance(item, Skip) and len(item.text) > engine.nlp.max_length:
                    item = Skip.of(
                        Errors.E528,
                        number=item.number,
                        length=len(item.text),
                        limit=engine.nlp.max_length,
                    )
                if isinstance(item, Skip):
                    skips(item)
                    continue
                documents, words = documents + 1, words + len(item.text.split())
                yield item.text

        try:
            for _ in engine.nlp.pipe(
                texts(), batch_size=batch_size, disable=surrogate_pipes(engine.nlp)
            ):
                pass
        finally:
            opened.close()
        told = {"documents": documents, "words": words, "dry_run": True} | report(
            engine.nlp, table, words=words
        )
        print(json.dumps(told, indent=2))
    raise typer.Exit(common.DONE_WITH_SKIPS if skips else common.DONE)


@llm_app.command(epilog=EPILOG)
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
    part: Annotated[
        str,
        Option(
            help="Of the paper's split: base_train, verifier_train, test; or all [by the task]."
        ),
    ] = "",
    reasoning: Annotated[
        bool,
        Option(
            "--reasoning",
            help="A verifier that reasons first; a model writes its reasoning, see --llm.",
        ),
    ] = False,
    llm: LlmOpt = "",
    allow_remote: RemoteOpt = False,
    labels: Annotated[
        str, Option(help="Labels to mark, with commas between them [the paper's four].")
    ] = "",
    profile: Annotated[str, Option(help="Says which gold is private, for a verifier.")] = "crapii",
    form: Annotated[
        str, Option("--from", help="Form of CORPUS [by its suffix and first records].")
    ] = "",
    model: common.ModelOpt = common.MODEL,
    overwrite: common.OverwriteOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Write a file to fine-tune a chat model with, and check it."""
    with common.guard(debug):
        from ..files.labelled import check_places
        from ..llm.finetune import check_file, detector_examples, part_of, verifier_examples
        from ..llm.marker import MARKS_LABELS, make_marker_task
        from ..llm.verifier import make_verifier_task

        if task not in TASKS:
            raise PiiError(Errors.E519, value=task, what="task", allowed=", ".join(TASKS))
        if reasoning and task != VERIFIER:
            raise PiiError(Errors.E473, option="--reasoning", needed="--task verifier")
        if reasoning and not llm:
            raise PiiError(Errors.E942)
        target = Path(out)
        check_places(Path(corpus), target, overwrite=overwrite)
        skips = common.Skips(common.say)
        read = list(read_corpus(Path(corpus), form, on_skip=skips))
        documents = part_of(read, part or ("base_train" if task == DETECTOR else "verifier_train"))
        counts: Counter[str] = Counter()
        examples: Iterable[Mapping[str, Any]]
        if task == DETECTOR:
            named = [name.strip() for name in labels.split(",")] if labels else list(MARKS_LABELS)
            examples = detector_examples(documents, make_marker_task(labels=named))
        else:
            engine = load_engine(model, replace=False, debug=debug)
            writer = _reasoning_model(llm, allow_remote) if reasoning else None
            asks = make_verifier_task(reasoning, labels=list(LABELS))
            private = Profile.load(profile).protects
            examples = verifier_examples(
                documents, engine.nlp, asks, counts, private=private, model=writer
            )
        lines = [json.dumps(example, ensure_ascii=False) for example in examples]
        if not lines:
            raise PiiError(Errors.E945, part=part or "the part", corpus=f"'{Path(corpus).name}'")
        replace_file(target, "".join(line + "\n" for line in lines))
        made = check_file(target)
        told = (
            f", {counts['T']} T, {counts['F']} F, {counts['defaulted']} of them T by default"
            if task == VERIFIER
            else ""
        )
        common.say(
            f"wrote '{target}': {made.examples} examples{told}, about {made.tokens} tokens an epoch, {made.answers} of them answers"
        )
    raise typer.Exit(common.DONE_WITH_SKIPS if skips else common.DONE)


def _reasoning_model(config: str, allow_remote: bool) -> Any:
    import spacy

    from ..llm.pipeline import add_components, llm_parts

    nlp = spacy.blank("en")
    add_components(nlp, config, allow_remote=allow_remote, alone=True)
    return next(part for _, part in llm_parts(nlp))._model


@llm_app.command(epilog="Exit codes: 0 it can be used; 2 it cannot, and the first problem is told.")
def validate(
    *,
    path: Annotated[str, Argument(metavar="FILE", help="JSON Lines with messages.")],
    debug: common.DebugOpt = False,
) -> None:
    """Check a file to fine-tune a chat model with."""
    with common.guard(debug):
        from ..llm.finetune import check_file

        made = check_file(Path(path))
        print(
            f"{made.examples} examples, about {made.tokens} tokens an epoch, {made.answers} of them answers"
        )


__all__ = ["LlmOpt", "PricesOpt", "RemoteOpt", "llm_app"]
