"""Encoders before and after fine-tuning, by epoch: as they come, under a trained head, and fine-tuned.

    python -m scripts.encoders --corpus corpus --encoders assets/encoders --out metrics/compare_encoders.json

The same corpus, head and schedule for all (scripts/encoders.cfg). The defaults are a small trial for two processors; --train-words 0
--test-words 0 is the whole corpus. Exit code 1: an encoder failed.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy
import spacy
import typer
from rich.console import Console
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry
from thinc.api import Config, Optimizer, fix_random_seed

from pii_components.cli.common import DONE, DONE_WITH_SKIPS, console, guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import CRAPII_LABELS, Entity, GoldDocument, Run, file_sha256
from pii_components.evaluate.metrics import resample, score
from pii_components.evaluate.report import as_hidden, count_tables, plain, run_as_hidden
from pii_components.evaluate.systems import split_list
from pii_components.labels import INDIRECT_LABELS, LABELS
from pii_components.ner.loss import UNLABELLED_KEY
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
NER, PROFILE = "pii_ner", "kaggle"
PARTS = ("train", "dev", "test")
BATCH_WORDS, HEAD_LEARN_RATE = 250, 0.003
_BATCH = 16  # examples of scoring
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How encoders are trained: passes over the texts, tokens of train, of dev and of test (0 for all)."""

    epochs: int = 3
    train_words: int = 6000
    test_words: int = 4000
    seed: int = 46


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
    epochs: Annotated[int, typer.Option(min=1, help="Of each phase.")] = 3,
    train_words: Annotated[
        int, typer.Option(min=0, help="Tokens to train on; 0 for the whole corpus (on a GPU).")
    ] = 6000,
    test_words: Annotated[
        int, typer.Option(min=0, help="Tokens of dev and of test; 0 for all.")
    ] = 4000,
    gpu_id: Annotated[int, typer.Option(help="Number of the GPU; -1 for the processor.")] = -1,
    work: Annotated[Path, typer.Option(help="Folder for configs and the best pipelines.")] = Path(
        "training/encoders"
    ),
    out: common.OutOpt = None,
    seed: common.SeedOpt = 46,
    debug: common.DebugOpt = False,
) -> None:
    """Loss, recall, precision, F1 and F5 of every encoder: as it comes, under a trained head, and fine-tuned, by epoch."""
    with guard(debug):
        chosen = choose_encoders(split_list(only))
        common.early(out)
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights are in the user's folders
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        screen = console(stderr=True)
        found = compare(
            chosen,
            root,
            corpus,
            Settings(epochs, train_words, test_words, seed),
            work=work,
            debug=debug,
            progress=lambda said: screen.print(said, markup=False),
        )
        common.publish("encoders", found, out, print_encoders)
        raise typer.Exit(DONE_WITH_SKIPS if found["failed"] else DONE)


def print_encoders(report: Mapping[str, Any], to: Console) -> None:
    """Print each encoder by phase and epoch on dev, and all on test, at the epoch that dev chose; names that the profile hides count."""
    keys = "loss position.support position.recall position.precision position.f1 position.f5"
    test: dict[str, Any] = {}
    for name, found in report["encoders"].items():
        rows = {f"{row['phase']}, epoch {row['epoch']}": row for row in found["rows"]}
        common.show(to, f"{name}, by epoch, on dev", rows, f"train_loss {keys}")
        test |= {f"{name}, {phase}": row for phase, row in found["test"].items()}
    common.show(to, "On test", test, f"epoch {keys} words_per_cpu_second")
    common.show(to, "Texts", report["data"], "documents documents_with_pii tokens")
    for name, why in report["skipped"].items():
        to.print(f"{name} [{why['code']}]: {why['reason']}", markup=False)


# --- the config of an encoder


def encoder_config(
    encoder: Encoder,
    folder: Path,
    *,
    corpus: Path,
    steps: int,
    settings: Settings,
    learn_rate: float | None = None,
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
        register_loaders()
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
    config["system"]["seed"] = config["corpora"]["train"]["seed"] = settings.seed
    config["nlp"]["pipeline"] = [*([name] if name else []), NER]
    training = config["training"]
    training.update(max_epochs=settings.epochs, eval_frequency=max(1, steps // settings.epochs))
    training["batcher"]["size"] = BATCH_WORDS
    training["optimizer"]["learn_rate"].update(
        warmup_steps=max(1, steps // 10),
        total_steps=max(2, steps),
        initial_rate=encoder.learn_rate if learn_rate is None else learn_rate,
    )
    return config


# --- loaders of what the encoders' makers publish, for `[initialize]`


def make_encoder_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.EncoderLoader.v1`: loads an encoder's weights when a pipeline is initialized.

    path (str | Path): A folder with `model.safetensors` (upstream's names of the weights); layers that the pipeline's encoder does not have
        are left out.
    RETURNS (Callable): For `[initialize.components.transformer.encoder_loader]`; RAISES (PiiError): E604, if the folder holds no weights.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder
        from torch import load as read

        encoder = model.shims[0]._model
        weights = read(_file_of(path, "model.safetensors"), map_location="cpu", weights_only=True)
        state = convert_pretrained_model_for_encoder(encoder, weights)
        known = encoder.state_dict()
        encoder.load_state_dict({name: value for name, value in state.items() if name in known})
        return model

    return load


def make_sentencepiece_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.SentencepieceLoader.v1`: loads the pieces (sentencepiece.bpe.model) of an XLM-R-like encoder when a pipeline is initialized.

    spacy-curated-transformers' own loader (0.3.1) hands the pieces to the chain of encoder and adapter, where nobody looks for them.
    path (str | Path): The file with the pieces.
    RETURNS (Callable): For `[initialize.components.transformer.piecer_loader]`; RAISES (PiiError): E604, if there is no such file.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_tokenizers import SentencePieceProcessor

        pieces = _file_of(Path(path).parent, Path(path).name)
        model.get_ref("encoder").attrs["sentencepiece_processor"] = (
            SentencePieceProcessor.from_file(str(pieces))
        )
        return model

    return load


def _file_of(folder: str | Path, name: str) -> Path:
    """RAISES (PiiError): E604, if the folder has no such file."""
    if not Path(folder, name).is_file():
        raise PiiError(Errors.E604, path=str(folder), what=name, task="get-encoders")
    return Path(folder, name)


def register_loaders() -> None:
    """Make both loaders known to `[initialize]`; the registry is that of spacy-curated-transformers."""
    from spacy_curated_transformers import util  # noqa: F401
    from thinc.api import registry as thinc_registry

    thinc_registry.model_loaders("pii_edu.EncoderLoader.v1", func=make_encoder_loader)
    thinc_registry.model_loaders("pii_edu.SentencepieceLoader.v1", func=make_sentencepiece_loader)


# --- what encoders are trained and scored on: the corpus that `corpus build` writes, or the beginning of it (it is shuffled)


def read_docs(path: Path, nlp: Language) -> list[Doc]:
    """Documents of a DocBin. RAISES (PiiError): E604, if it is not there."""
    if not path.is_file():
        raise PiiError(Errors.E604, path=path.name, what="corpus", task="fill-slots")
    return [doc for doc in DocBin().from_disk(path).get_docs(nlp.vocab) if len(doc)]


def prepare(corpus: Path, out: Path, settings: Settings) -> dict[str, Any]:
    """Write train, dev and test for a comparison, and tell what is in each. RAISES (PiiError): E604."""
    tokenizer = {"@tokenizers": "pii_edu.StudentTokenizer.v1"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
    out.mkdir(parents=True, exist_ok=True)
    about = {}
    for part in PARTS:
        docs = read_docs(corpus / f"{part}.spacy", nlp)
        words = settings.train_words if part == "train" else settings.test_words
        before = accumulate((len(doc) for doc in docs), initial=0)
        docs = [doc for doc, n in zip(docs, before, strict=False) if not words or n < words]
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{part}.spacy")
        about[part] = {
            "file": f"{part}.spacy",
            "sha256": file_sha256(corpus / f"{part}.spacy"),
            "documents": len(docs),
            "documents_with_pii": sum(bool(as_gold(0, doc).entities) for doc in docs),
            "tokens": sum(map(len, docs)),
        }
    return about


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
    debug: bool = False,
    progress: Say = lambda said: None,
) -> dict[str, Any]:
    """Train and score encoders one after the other; one that cannot be loaded is named with the reason, the others go on.

    RAISES (PiiError): E604 without a corpus.
    """
    data = prepare(corpus, work / "data", settings)
    results: dict[str, Any] = {}
    skipped: dict[str, dict[str, str]] = {}
    failed = []
    for encoder in encoders:
        try:
            folder = find_folder(encoder, root)
            results[encoder.name] = compare_encoder(
                encoder, folder, data, settings, work=work, progress=progress
            )
        except PiiError as err:
            skipped[encoder.name] = {"code": err.code, "reason": str(err).partition("] ")[2]}
            progress(str(err))
        except Exception as err:
            if debug:
                raise
            # What a package raises may quote a path or a text: its type is told.
            reason = f"{type(err).__name__} while it was loaded or trained; --debug shows where"
            told = PiiError(Errors.E743, name=encoder.name, how=reason)
            skipped[encoder.name] = {"code": told.code, "reason": reason}
            failed.append(encoder.name)
            progress(str(told))
    report = {"settings": asdict(settings), "data": data, "phases": PHASES, "failed": failed}
    return common.head() | report | {"encoders": results, "skipped": skipped}


def compare_encoder(
    encoder: Encoder,
    folder: Path,
    data: Mapping[str, Any],
    settings: Settings,
    *,
    work: Path,
    progress: Say,
) -> dict[str, Any]:
    """What it is, `rows` per phase and epoch, `test` per phase at the best epoch."""
    names = ("kind", "cased", "learn_rate", "packages", "upstream", "licence")
    rows: list[dict[str, Any]] = []
    test: dict[str, Any] = {}
    for name in (TUNED,) if encoder.kind == CNN else (FROZEN, TUNED):
        phase = _Phase(encoder, folder, data, settings, work, name)
        if not rows:
            rows.append({"phase": BEFORE, "epoch": 0, "steps": 0} | phase.scores(phase.dev))
        for row in phase.train():
            rows.append(row)
            f5 = row["position"].get("f5", 0)
            shown = f"{encoder.name}, {name}, epoch {row['epoch']}"
            progress(f"{shown}: loss {row['loss']:.4f}, F5 {f5:.3f}")
        test[name] = phase.best_on_test()
    about = {name: getattr(encoder, name) for name in names}
    return {"about": about, "rows": rows, "test": test}


class _Phase:
    """One phase of one encoder: the pipeline, its data, the loop over epochs."""

    def __init__(
        self,
        encoder: Encoder,
        folder: Path,
        data: Mapping[str, Any],
        settings: Settings,
        work: Path,
        phase: str,
    ) -> None:
        self.name, self.settings, self.phase = encoder.name, settings, phase
        self.place = work / encoder.name / phase
        steps = max(1, data["train"]["tokens"] // BATCH_WORDS) * settings.epochs
        how: dict[str, Any] = {"corpus": work / "data", "steps": steps, "settings": settings}
        config = encoder_config(encoder, folder, **how)
        head = encoder_config(encoder, folder, learn_rate=HEAD_LEARN_RATE, **how)
        self.place.mkdir(parents=True, exist_ok=True)
        config.to_disk(self.place / "config.cfg")
        training = _training(config)
        self.optimizers: dict[str, Optimizer] = {
            NER: _training(head)["optimizer"],
            "": training["optimizer"],
        }
        self.batcher = training["batcher"]
        fix_random_seed(settings.seed)
        self.nlp: Language = init_nlp(config)
        self.dataset, self.dev, self.test = (
            read_docs(work / "data" / f"{part}.spacy", self.nlp) for part in PARTS
        )
        self.upstream = next((name for name in self.nlp.pipe_names if name != NER), "")
        self.frozen = [self.upstream] if phase == FROZEN else []
        if self.frozen and hasattr(self.nlp.get_pipe(self.upstream), "frozen"):
            self.nlp.get_pipe(self.upstream).frozen = True  # type: ignore[attr-defined]  # a curated transformer
            self.frozen = []
        self.best: dict[str, Any] = {}

    def train(self) -> Iterator[dict[str, Any]]:
        """YIELDS (dict[str, Any]): The scores of each epoch on dev; the best pipeline lies in `model-best`."""
        steps = 0
        for epoch in range(1, self.settings.epochs + 1):
            fix_random_seed(self.settings.seed + epoch)
            docs = list(self.dataset)
            random.Random(f"{self.settings.seed}|{epoch}").shuffle(docs)
            batches = self.batcher(Example(self.nlp.make_doc(doc.text), doc) for doc in docs)
            losses = [self.update(batch) for batch in batches]
            steps += len(losses)
            loss = round(float(numpy.mean(losses)), 5)
            row = {"phase": self.phase, "epoch": epoch, "steps": steps, "train_loss": loss}
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
        """The scores on test of the epoch that dev chose."""
        self.nlp.from_disk(self.place / "model-best")
        return {"epoch": self.best["epoch"]} | self.scores(self.test)

    def scores(self, references: Sequence[Doc]) -> dict[str, Any]:
        """Loss, scores with intervals and words per second on labelled documents."""
        ner: Any = self.nlp.get_pipe(NER)
        gold = [as_gold(n, doc) for n, doc in enumerate(references)]
        examples: list[Example] = []
        found: list[Any] = []
        entities = []
        start = process_time()
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
        seconds = process_time() - start
        # By position, text and token over CRAPII's labels: a name counts if the profile hides it.
        profile = Profile.load(PROFILE)
        hidden = as_hidden(gold, profile.protects)
        run = Run(self.name, {}, tuple(entities), frozenset())
        tables = count_tables(run_as_hidden(run, profile.protects), hidden, CRAPII_LABELS)
        weights = resample(len(hidden))
        return {
            "loss": round(ner.get_loss(examples, found)[0], 5),
            **{
                name: plain(score(tables[name].per_document, weights))
                for name in ("position", "bag", "tokens")
            },
            "words_per_cpu_second": round(words / max(seconds, 1e-9)),
        }


def _rank(row: dict[str, Any]) -> tuple[float, float]:
    return row["position"].get("f5") or 0.0, -row["loss"]


def _training(config: Config) -> dict[str, Any]:
    training = config.interpolate()["training"]
    return registry.resolve({name: training[name] for name in ("batcher", "optimizer")})


if __name__ == "__main__":
    typer.run(main)
