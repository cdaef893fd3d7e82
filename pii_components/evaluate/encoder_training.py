"""Train an encoder by epoch and score it after each: before fine-tuning, and while it is fine-tuned.

    result = compare_encoder(encoder, folder, data, Settings(epochs=3), work=Path("training/encoders"))
    result["rows"]                              # one per phase and epoch: loss, recall, precision, F1, F5

Phases: `before`, epoch 0: the encoder as it comes under a head that was taught nothing, as the paper's "Pre" (here every label is equally
likely, so nearly every word is taken for a name); `frozen`: the head is
trained and the encoder stays as it comes, which is what an encoder knows before it is fine-tuned; `tuned`: both are trained from the same
start. Head and encoder have learning rates of their own. Every epoch begins with its own seed, so that a run that was taken up again
gives the numbers of one that was not broken off.
"""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import Config, Optimizer, fix_random_seed

from ..profiles import Profile
from ..spans import SPANS_KEY
from .encoder_checkpoint import fingerprint, read_rows, restore, save, write_rows
from .encoder_config import encoder_config
from .encoder_data import Data, as_gold, read_docs
from .encoder_registry import CNN, Encoder
from .metrics import N_RESAMPLES, SEED, resample, score
from .records import CRAPII_LABELS, GoldDocument
from .report import count_tables, plain
from .scoring import as_hidden, run_as_hidden
from .systems import Run, entity_of

BEFORE, FROZEN, TUNED = "before", "frozen", "tuned"
NER = "pii_ner"
# Examples that a batch of scoring holds.
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """How encoders are trained.

    epochs (int): Of each phase. max_steps (int): Steps of each phase at most; 0 for no limit. seconds (float): Processor time for an
    encoder; 0 for no limit. batch_words (int): Tokens of a batch. head_learn_rate (float): Of the head, in both phases.
    seed (int): Of everything. profile (str): Says which names count as personal information. resamples (int): Of the bootstrap.
    """

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
    """All numbers of one encoder; what a run before this one has done is taken up.

    encoder (Encoder): Of the registry. folder (Path): Its files. data (Data): From `encoder_data.prepare`. settings (Settings): How.
    work (Path): Folder for configs, checkpoints and numbers so far. keep (bool): Whether the best pipeline of each phase stays there.
    progress (Callable[[str], None]): Told what is done.
    RETURNS (dict[str, Any]): `rows` per phase and epoch, `test` per phase at the best epoch, `stopped`, `seconds`.
    """
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
        """RETURNS (Path): Where an epoch's checkpoint lies; it is the one to go on from if the epoch's numbers were noted."""
        return self.place / f"epoch-{epoch}.msgpack"

    def _note(self, phase: str, epoch: int) -> None:
        _store(self.place.parent, self.known, self.clock)
        row = self.known["rows"][-1]
        self.progress(
            f"{self.encoder.name}, {phase}, epoch {epoch}: loss {row['loss']:.4f}, F5 {row['position'].get('f5', 0):.3f}"
        )

    def epoch(self, epoch: int, steps: int) -> tuple[float, int]:
        """One pass over train. RETURNS (tuple[float, int]): Mean loss of its steps, and steps so far."""
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
        """RETURNS (dict[str, Any]): Loss, scores with intervals and words per second on labelled documents."""
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
    """RETURNS (dict[str, Any]): Scores by position and by text over CRAPII's labels: a name counts if the profile hides it."""
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
