"""Encoders before and after fine-tuning, by epoch: as they come, under a trained head, and fine-tuned.

    python -m scripts.encoders --corpus corpus --encoders assets/encoders --out metrics/compare_encoders.json

The same corpus, head and schedule for all (scripts/encoders.cfg). The defaults are a small trial for two processors; --train-words 0
--test-words 0 is the whole corpus. Interrupted, the same command goes on at the phase it was in. Exit code 1: an encoder failed.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import inf
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any, NamedTuple

import numpy
import spacy
import typer
from rich.console import Console
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry
from thinc.api import Config, Optimizer, fix_random_seed

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, console, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import CRAPII_LABELS, Entity, GoldDocument, Run, file_sha256
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, resample, score
from pii_components.evaluate.report import as_hidden, count_tables, plain, run_as_hidden
from pii_components.evaluate.tables import split_list
from pii_components.files.writers import replace_file
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.ner.loss import ANNOTATED, UNLABELLED_KEY
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY
from scripts import common
from scripts.encoder_files import (
    CNN,
    SENTENCEPIECE,
    SPACY,
    TRANSFORMERS,
    WORDPIECE,
    Encoder,
    choose_encoders,
    find_folder,
)

BEFORE, FROZEN, TUNED = "before", "frozen", "tuned"
PHASES = {
    BEFORE: 'the encoder as it comes under a head that was taught nothing (the paper\'s "Pre"): all labels are equally likely, so nearly '
    "every word is taken for a name",
    FROZEN: "before fine-tuning: the encoder stays as it comes, only the head on it is trained",
    TUNED: "after fine-tuning: head and encoder are trained, from the same start",
}
NER = "pii_ner"
PARTS = ("train", "dev", "test")
CLEAN_SHARE = 1 / 3
STRETCH = 200  # tokens
_BATCH = 16  # examples of scoring
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How encoders are trained: steps of each phase and seconds of processor time for an encoder are at most, 0 for no limit."""

    epochs: int = 3
    max_steps: int = 0
    seconds: float = 0.0
    batch_words: int = 250
    head_learn_rate: float = 0.003
    seed: int = 46
    profile: str = "crapii"
    resamples: int = N_RESAMPLES


def main(
    *,
    corpus: Annotated[
        Path, typer.Option(help="With train.spacy, dev.spacy, test.spacy (weasel run fill-slots).")
    ] = Path("corpus"),
    root: Annotated[
        Path, typer.Option("--encoders", help="With a folder per encoder (get-encoders).")
    ] = Path("assets/encoders"),
    only: Annotated[
        str, typer.Option(help="Encoders, with commas between them [all of the registry].")
    ] = "",
    show_list: Annotated[
        bool, typer.Option("--list", help="Show the registry and what is there, and leave.")
    ] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Of each phase.")] = 3,
    max_steps: Annotated[
        int, typer.Option(min=0, help="Steps of each phase at most; 0 for no limit.")
    ] = 0,
    train_words: Annotated[
        int, typer.Option(min=0, help="Tokens to train on; 0 for the whole corpus (on a GPU).")
    ] = 6000,
    test_words: Annotated[
        int, typer.Option(min=0, help="Tokens of dev and of test; 0 for all, whole essays.")
    ] = 4000,
    batch_words: Annotated[int, typer.Option(min=1, help="Tokens of a batch.")] = 250,
    seconds: Annotated[
        float, typer.Option(min=0, help="Processor time for each encoder; 0 for no limit.")
    ] = 600.0,
    profile: common.ProfileOpt = "crapii",
    gpu_id: Annotated[int, typer.Option(help="Number of the GPU; -1 for the processor.")] = -1,
    work: Annotated[
        Path, typer.Option(help="Folder for configs, the best pipelines and numbers so far.")
    ] = Path("training/encoders"),
    out: common.OutOpt = None,
    seed: common.SeedOpt = 46,
    resamples: common.ResamplesOpt = N_RESAMPLES,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Loss, recall, precision, F1 and F5 of every encoder: as it comes, under a trained head, and fine-tuned, by epoch."""
    with guard(debug):
        chosen = choose_encoders(split_list(only))
        if show_list:
            rows = {
                encoder.name: about(encoder) | {"here": _here(encoder, root)} for encoder in chosen
            }
            common.show(console(), "", rows, "kind cased licence packages upstream here")
            raise typer.Exit(DONE)
        common.early(out)
        Profile.load(profile)
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        screen = console(stderr=True)
        settings = Settings(
            epochs=epochs,
            max_steps=max_steps,
            seconds=seconds,
            batch_words=batch_words,
            seed=seed,
            profile=profile,
            resamples=resamples,
        )
        found = compare(
            chosen,
            root,
            corpus,
            settings,
            work=work,
            train_words=train_words,
            test_words=test_words,
            debug=debug,
            progress=lambda said: None if quiet else screen.print(said, markup=False),
        )
        common.publish("encoders", found, out, None if quiet else print_encoders)
        failed = any(why["code"] == "E783" for why in found["skipped"].values())
        raise typer.Exit(DONE_WITH_SKIPS if failed else DONE)


def about(encoder: Encoder) -> dict[str, Any]:
    """What is told of an encoder."""
    names = ("kind", "cased", "learn_rate", "packages", "upstream", "licence")
    return {name: getattr(encoder, name) for name in names} | {"packages": list(encoder.packages)}


def _here(encoder: Encoder, root: Path) -> str:
    try:
        find_folder(encoder, root)
    except PiiError as err:
        return err.code
    return "yes"


def print_encoders(report: Mapping[str, Any], to: Console) -> None:
    """Print each encoder by phase and epoch on dev, and all on test, at the epoch that dev chose; names that the profile hides count."""
    keys = "loss position.support position.recall position.precision position.f1 position.f5"
    for name, found in report["encoders"].items():
        rows = {f"{row['phase']}, epoch {row['epoch']}": row for row in found["rows"]}
        common.show(to, f"{name}, by epoch, on dev", rows, f"train_loss {keys}")
        if found["stopped"]:
            to.print(f"{name}: stopped {found['stopped']}")
    rows = {
        f"{name}, {phase}": row
        for name, found in report["encoders"].items()
        for phase, row in found["test"].items()
    }
    common.show(to, "On test", rows, f"epoch {keys} words_per_cpu_second")
    for part, told in report["data"].items():
        to.print(f"{part}: {told['tokens']:,} tokens, {told['documents']} {told['unit']}")
    for name, why in report["skipped"].items():
        to.print(f"{name} [{why['code']}]: {why['reason']}", markup=False)


# --- the config of an encoder


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
    """A config for `spacy train`, with the components `transformer` or `tok2vec` (none for the CNN) and `pii_ner`.

    folder (Path): The encoder's files. corpus (Path): Folder with train.spacy and dev.spacy. steps (int): For the schedule of the
    learning rate, which is the encoder's own if `learn_rate` is None.
    """
    config = Config().from_disk(Path(__file__).with_suffix(".cfg"), interpolate=False)
    parts = config.pop("kinds")[WORDPIECE if encoder.kind == SENTENCEPIECE else encoder.kind]
    name, component, listener = parts["name"], parts["component"], parts["listener"]
    if encoder.kind == SPACY:
        component["source"], listener["width"] = str(folder), encoder.width
        if encoder.vectors:
            config["initialize"]["vectors"] = str(folder)
    elif encoder.kind == TRANSFORMERS:
        component["model"]["name"] = str(folder)
    elif encoder.kind != CNN:
        listener["width"] = encoder.shape["hidden_width"]
        component["model"].update(encoder.shape)
        windows = component["model"]["with_spans"]
        windows["window"] = min(
            windows["window"], encoder.shape.get("model_max_length", windows["window"])
        )
        windows["overlap"] = min(windows["overlap"], windows["window"] // 4)
        pieces: dict[str, Any] = {
            "@model_loaders": "spacy-curated-transformers.WordpieceLoader.v1",
            "path": str(folder / "vocab.txt"),
            "lowercase": not encoder.cased,
            "strip_accents": not encoder.cased,
        }
        if encoder.kind == SENTENCEPIECE:
            component["model"]["piece_encoder"]["@architectures"] = (
                "spacy-curated-transformers.XlmrSentencepieceEncoder.v1"
            )
            pieces = {
                "@model_loaders": "pii_edu.SentencepieceLoader.v1",
                "path": str(folder / "sentencepiece.bpe.model"),
            }
        loader = {"@model_loaders": "pii_edu.EncoderLoader.v1", "path": str(folder)}
        config["initialize"]["components"][name] = {
            "encoder_loader": loader,
            "piecer_loader": pieces,
        }
    if name:
        config["components"] = {name: component, **config["components"]}
    model = config["components"][NER]["model"]
    # An encoder that reads SHAPE itself gets no features beside it.
    model["tok2vec"], model["features"] = (
        listener,
        None if encoder.kind in (CNN, SPACY) else model["features"],
    )
    config["initialize"]["components"][NER]["labels"] = [
        label for label in LABELS if label not in INDIRECT_LABELS
    ]
    config["paths"] = {part: str(corpus / f"{part}.spacy") for part in ("train", "dev")}
    config["system"]["seed"] = config["corpora"]["train"]["seed"] = seed
    config["nlp"]["pipeline"] = [*([name] if name else []), NER]
    training = config["training"]
    training.update(
        max_epochs=epochs, max_steps=max_steps, eval_frequency=max(1, steps // max(1, epochs))
    )
    training["batcher"]["size"] = batch_words
    training["optimizer"]["learn_rate"].update(
        warmup_steps=max(1, steps // 10),
        total_steps=max(2, steps),
        initial_rate=encoder.learn_rate if learn_rate is None else learn_rate,
    )
    return config


# --- what encoders are trained and scored on: the corpus that `corpus build` writes, whole or a sample of it


class Data(NamedTuple):
    """The folder with train.spacy, dev.spacy and test.spacy, and what is told of each part."""

    folder: Path
    about: dict[str, Any]


def has_direct(doc: Doc) -> bool:
    """Whether there is a name or a direct identifier among the spans."""
    return any(span.label_ not in INDIRECT_LABELS for span in doc.spans.get(SPANS_KEY, ()))


def read_docs(path: Path, nlp: Language) -> list[Doc]:
    """Documents of a DocBin. RAISES (PiiError): E604, if it is not there."""
    if not path.is_file():
        raise PiiError(Errors.E604, path=path.name, what="corpus", task="fill-slots")
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def stretches(doc: Doc, size: int = STRETCH) -> list[Doc]:
    """A document in pieces with their spans: each ends at the first line break after `size` tokens that parts no span."""
    groups = {key: list(doc.spans.get(key, ())) for key in (SPANS_KEY, UNLABELLED_KEY)}
    inside = {
        i for spans in groups.values() for span in spans for i in range(span.start, span.end - 1)
    }
    cuts = [0]
    for token in doc:
        if (
            token.i + 1 - cuts[-1] >= size
            and token.is_space
            and "\n" in token.text
            and token.i not in inside
        ):
            cuts.append(token.i + 1)
    pieces = []
    for start, end in zip(cuts, [*cuts[1:], len(doc)], strict=True):
        if start == end:
            continue
        piece = doc[start:end].as_doc()
        for key, spans in groups.items():
            own = [span for span in spans if span.start >= start and span.end <= end]
            piece.spans[key] = [
                Span(piece, span.start - start, span.end - start, label=span.label) for span in own
            ]
        # Gold that knows some labels only says so beside its spans.
        if SPANS_KEY in doc.spans and ANNOTATED in doc.spans[SPANS_KEY].attrs:
            piece.spans[SPANS_KEY].attrs[ANNOTATED] = doc.spans[SPANS_KEY].attrs[ANNOTATED]
        pieces.append(piece)
    return pieces


def draw(docs: Iterable[Doc], words: int, *, seed: int) -> list[Doc]:
    """Documents by lot, until they have so many tokens; a third of them clean, as far as there are any."""
    rng = random.Random(f"encoders|{seed}")
    parts: tuple[list[Doc], list[Doc]] = ([], [])
    for doc in docs:
        parts[has_direct(doc)].append(doc)
    clean, full = parts
    rng.shuffle(full)
    rng.shuffle(clean)
    chosen: list[Doc] = []
    total = taken_clean = 0
    while total < words and (full or clean):
        want_clean = clean and (taken_clean + 1 <= CLEAN_SHARE * (len(chosen) + 1) or not full)
        chosen.append((clean if want_clean else full).pop())
        taken_clean += bool(want_clean)
        total += len(chosen[-1])
    return chosen


def prepare(corpus: Path, out: Path, *, train_words: int, test_words: int, seed: int) -> Data:
    """Write train, dev and test for a comparison; 0 words for all of train, and whole essays of dev and test. E604 without a part."""
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    out.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {}
    for part in PARTS:
        docs = [doc for doc in read_docs(corpus / f"{part}.spacy", nlp) if len(doc)]
        words = train_words if part == "train" else test_words
        unit = (
            "documents of the corpus"
            if part == "train"
            else "stretches of essays"
            if words
            else "whole essays"
        )
        if words:
            docs = draw(
                docs if part == "train" else (piece for doc in docs for piece in stretches(doc)),
                words,
                seed=seed,
            )
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{part}.spacy")
        about[part] = {
            "file": f"{part}.spacy",
            "sha256": file_sha256(corpus / f"{part}.spacy"),
            "unit": unit,
            "documents": len(docs),
            "documents_with_pii": sum(map(has_direct, docs)),
            "tokens": sum(map(len, docs)),
        }
    return Data(out, about)


def as_gold(number: int, doc: Doc) -> GoldDocument:
    """A labelled document, by its place in the file."""
    direct = [span for span in doc.spans.get(SPANS_KEY, ()) if span.label_ not in INDIRECT_LABELS]
    entities = tuple(
        Entity(str(number), span.start_char, span.end_char, span.label_, span.text)
        for span in direct
    )
    masked = tuple((span.start_char, span.end_char) for span in doc.spans.get(UNLABELLED_KEY, ()))
    tokens = tuple((token.idx, token.idx + len(token)) for token in doc if not token.is_space)
    return GoldDocument(str(number), doc.text, entities, tokens, masked=masked)


# --- training by epoch


def compare(
    encoders: Sequence[Encoder],
    root: Path,
    corpus: Path,
    settings: Settings,
    *,
    work: Path,
    train_words: int,
    test_words: int,
    debug: bool = False,
    progress: Say = lambda said: None,
) -> dict[str, Any]:
    """Train and score encoders one after the other; one that cannot be loaded is named with the reason, the others go on.

    RAISES (PiiError): E604 without a corpus.
    """
    results: dict[str, Any] = {}
    skipped: dict[str, dict[str, str]] = {}
    data = prepare(
        corpus, work / "data", train_words=train_words, test_words=test_words, seed=settings.seed
    )
    for encoder in encoders:
        try:
            found = compare_encoder(
                encoder, find_folder(encoder, root), data, settings, work=work, progress=progress
            )
            results[encoder.name] = {"about": about(encoder)} | found
        except Exception as err:
            if debug and not isinstance(err, PiiError):
                raise
            # What a package raises may quote a path or a text: its type is told.
            told = PiiError(Errors.E783, name=encoder.name, type=type(err).__name__)
            told = err if isinstance(err, PiiError) else told
            skipped[encoder.name] = {"code": told.code, "reason": str(told).partition("] ")[2]}
            progress(str(told))
    return common.head() | {
        "settings": asdict(settings) | {"profile": Path(settings.profile).name},
        "data": data.about,
        "phases": PHASES,
        "encoders": results,
        "skipped": skipped,
    }


def compare_encoder(
    encoder: Encoder, folder: Path, data: Data, settings: Settings, *, work: Path, progress: Say
) -> dict[str, Any]:
    """`rows` per phase and epoch, `test` per phase at the best epoch, `stopped`, `seconds`; phases that are done are not done again."""
    place = work / encoder.name
    notes = place / "rows.json"
    made_with = json.dumps([about(encoder), data.about, asdict(settings)], sort_keys=True)
    known: dict[str, Any] = {"rows": [], "test": {}, "stopped": "", "seconds": 0.0}
    if (
        notes.is_file()
        and (before := json.loads(notes.read_text("utf8")))["made_with"] == made_with
    ):
        known = before
    start = process_time() - known["seconds"]
    for name in (TUNED,) if encoder.kind == CNN else (FROZEN, TUNED):
        if known["stopped"] or name in known["test"]:
            continue
        phase = _Phase(encoder, folder, data, settings, place / name, name)
        rows = (
            []
            if known["rows"]
            else [{"phase": BEFORE, "epoch": 0, "steps": 0} | phase.scores(phase.dev)]
        )
        try:
            for row in phase.train(start + settings.seconds if settings.seconds else inf):
                rows.append(row)
                f5 = row["position"].get("f5", 0)
                progress(
                    f"{encoder.name}, {name}, epoch {row['epoch']}: loss {row['loss']:.4f}, F5 {f5:.3f}"
                )
        except TimeIsUp:
            known["stopped"] = f"after {settings.seconds:.0f} seconds of processor time"
        known["rows"] += rows
        known["test"] |= phase.best_on_test()
        known["seconds"] = round(process_time() - start, 1)
        replace_file(notes, json.dumps(known | {"made_with": made_with}, indent=1) + "\n")
    return {name: value for name, value in known.items() if name != "made_with"}


class TimeIsUp(Exception):
    """The encoder's time has been used up."""


class _Phase:
    """One phase of one encoder: the pipeline, its data, the loop over epochs."""

    def __init__(
        self,
        encoder: Encoder,
        folder: Path,
        data: Data,
        settings: Settings,
        place: Path,
        phase: str,
    ) -> None:
        self.name, self.settings, self.place, self.phase = encoder.name, settings, place, phase
        steps = max(1, data.about["train"]["tokens"] // settings.batch_words) * settings.epochs
        steps = min(steps, settings.max_steps) if settings.max_steps else steps
        make: dict[str, Any] = {
            "corpus": data.folder,
            "epochs": settings.epochs,
            "max_steps": settings.max_steps,
            "steps": steps,
            "seed": settings.seed,
            "batch_words": settings.batch_words,
        }
        config = encoder_config(encoder, folder, **make)
        place.mkdir(parents=True, exist_ok=True)
        config.to_disk(place / "config.cfg")
        head = encoder_config(encoder, folder, learn_rate=settings.head_learn_rate, **make)
        training = _training(config)
        self.optimizers: dict[str, Optimizer] = {
            NER: _training(head)["optimizer"],
            "": training["optimizer"],
        }
        self.batcher = training["batcher"]
        fix_random_seed(settings.seed)
        self.nlp: Language = init_nlp(config)
        self.dataset, self.dev, self.test = (
            read_docs(data.folder / f"{part}.spacy", self.nlp) for part in PARTS
        )
        self.upstream = next((name for name in self.nlp.pipe_names if name != NER), "")
        self.frozen = [self.upstream] if phase == FROZEN else []
        if self.frozen and hasattr(self.nlp.get_pipe(self.upstream), "frozen"):
            self.nlp.get_pipe(self.upstream).frozen = True  # type: ignore[attr-defined]  # a curated transformer
            self.frozen = []
        self.best: dict[str, Any] = {}

    def train(self, until: float) -> Iterator[dict[str, Any]]:
        """YIELDS (dict[str, Any]): The scores of each epoch on dev; the best pipeline lies in `model-best`.

        until (float): Processor time at which it ends. RAISES: TimeIsUp.
        """
        steps, most = 0, self.settings.max_steps or inf
        for epoch in range(1, self.settings.epochs + 1):
            if steps >= most:
                break
            fix_random_seed(self.settings.seed + epoch)
            docs = list(self.dataset)
            random.Random(f"{self.settings.seed}|{epoch}").shuffle(docs)
            batches = self.batcher(Example(self.nlp.make_doc(doc.text), doc) for doc in docs)
            losses = []
            for batch in islice(batches, None if most == inf else int(most) - steps):
                if process_time() > until:
                    raise TimeIsUp
                losses.append(self.update(batch))
            steps += len(losses)
            row = {
                "phase": self.phase,
                "epoch": epoch,
                "steps": steps,
                "train_loss": round(float(numpy.mean(losses)), 5),
            }
            row |= self.scores(self.dev)
            if not self.best or _rank(row) > _rank(self.best):
                self.best = row
                self.nlp.to_disk(self.place / "model-best")
            yield row

    def update(self, batch: Iterable[Example]) -> float:
        """One step. RETURNS (float): The loss."""
        lost: dict[str, float] = {}
        self.nlp.update(
            batch, drop=0.1, sgd=False, losses=lost, exclude=self.frozen, annotates=self.frozen
        )  # type: ignore[arg-type]
        for name, pipe in self.nlp.pipeline:
            if name not in self.frozen and hasattr(pipe, "finish_update"):
                pipe.finish_update(self.optimizers[NER if name == NER and self.upstream else ""])
        for optimizer in self.optimizers.values():
            optimizer.step_schedules()
        return lost[NER]

    def best_on_test(self) -> dict[str, Any]:
        """The scores on test of the epoch that dev chose; nothing if the time was up before the first one ended."""
        if not self.best:
            return {}
        self.nlp.from_disk(self.place / "model-best")
        return {self.phase: {"epoch": self.best["epoch"]} | self.scores(self.test)}

    def scores(self, references: Sequence[Doc]) -> dict[str, Any]:
        """Loss, scores with intervals and words per second on labelled documents."""
        ner: Any = self.nlp.get_pipe(NER)
        gold = [as_gold(n, doc) for n, doc in enumerate(references)]
        examples: list[Example] = []
        found: list[Any] = []
        entities = []
        start, cpu_start = perf_counter(), process_time()
        for at in range(0, len(references), _BATCH):
            docs = [self.nlp.make_doc(doc.text) for doc in references[at : at + _BATCH]]
            if self.upstream:
                pipe: Any = self.nlp.get_pipe(self.upstream)
                pipe.set_annotations(docs, pipe.predict(docs))
            probabilities = ner.predict(docs)
            ner.set_annotations(docs, probabilities)
            found += probabilities
            for document, doc, reference in zip(gold[at:], docs, references[at:], strict=False):
                entities += [
                    document.entity(s.start_char, s.end_char, s.label_)
                    for s in doc.spans[SPANS_KEY]
                ]
                doc.user_data.clear()  # the encoder's output is a megabyte per essay
                examples.append(Example(doc, reference))
        words = sum(document.n_words for document in gold)
        times = (perf_counter() - start, process_time() - cpu_start)
        # By position, text and token over CRAPII's labels: a name counts if the profile hides it.
        profile = Profile.load(self.settings.profile)
        hidden = as_hidden(gold, profile.protects)
        run = Run(self.name, {}, tuple(entities), frozenset(), *times, words)
        tables = count_tables(run_as_hidden(run, profile.protects), hidden, CRAPII_LABELS)
        weights = resample(len(hidden), n_resamples=self.settings.resamples, seed=SEED)
        return {
            "loss": round(ner.get_loss(examples, found)[0], 5),
            **{
                name: plain(score(tables[name].per_document, weights))
                for name in ("position", "bag", "tokens")
            },
            "words_per_cpu_second": round(words / max(times[1], 1e-9)),
        }


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    return row["position"].get("f5") or 0.0, -row["loss"]


def _training(config: Config) -> dict[str, Any]:
    training = config.interpolate()["training"]
    return registry.resolve({name: training[name] for name in ("batcher", "optimizer")})


if __name__ == "__main__":
    typer.run(main)
