"""The steps of `pii-edu evaluate crossval`, each of which is left out if its result is there."""

import json
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..context_train import PersonExample, train
from ..corpus.build import WORN
from ..corpus.formats.record import LabelledText
from ..corpus.readers import read_labelled
from ..labels import NAME_STUDENT
from ..packaging import TORCH, assemble
from ..spans import SPANS_KEY
from .calibration import reliability
from .crossval import (
    CHOICES,
    CONTEXT,
    THRESHOLDS,
    Choice,
    Fold,
    cached_or_found,
    collect_cached,
    decide,
    examine_fold,
    fold_of,
    train_fold,
    write_training,
)
from .gold import read_gold
from .metrics import N_RESAMPLES, SEED
from .records import Entity, GoldDocument
from .report import label_views
from .sweep import find_with
from .systems import Run
from .veto_control import control_report

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """One cross-validation; see the options of the command."""

    work: Path
    source: Path
    config: Path
    corpus: Path
    settings: Path
    n_folds: int
    replay: int
    threads: int
    min_precision: float
    protect: float = 0.0
    l2: float = 0.0
    extra_l2: float = 0.0
    encoder: str = TORCH
    reader: Path | None = None
    more: tuple[Path, ...] = ()
    also: tuple[Path, ...] = ()
    detector: str = ""
    n_resamples: int = N_RESAMPLES
    seed: int = SEED

    def choices(self) -> list[Choice]:
        """RETURNS (list[Choice]): What there is to choose from on the other folds, those of one classifier together. What was given is not chosen."""
        penalties = sorted({(self.l2 or c.l2, self.extra_l2 or c.extra_l2) for c in CHOICES})
        thresholds = [self.protect] if self.protect else THRESHOLDS
        return [Choice(*penalty, threshold) for penalty in penalties for threshold in thresholds]

    def run(
        self,
        documents: Sequence[GoldDocument],
        gold: Path,
        apart: Path | None,
        protects: Callable[[str], bool],
        *,
        final: bool,
        classifier: bool = True,
    ) -> tuple[Run, Run | None, dict[str, Any]]:
        """Train, predict, decide.

        documents (Sequence[GoldDocument]): What is scored. gold (Path): Their file. apart (Path | None): Other essays.
        protects (Callable[[str], bool]): Whether a label is hidden. final (bool): Whether to train on everything too.
        classifier (bool): Whether to fit one; without, the rules decide, and the essays apart are not looked at.
        RETURNS (tuple[Run, Run | None, dict[str, Any]]): Held-out entities of `documents`, those of the essays apart, and what goes into the
            metrics file beside scores: `calibration`, the reliability curve of held-out probabilities that a person is private, and
            `control`, see veto_control.py. The last is empty without a classifier.
        """
        began, cpu = time.perf_counter(), time.process_time()
        essays = list(read_labelled(gold))
        more = list(read_labelled(apart)) if apart else []
        blank = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
        ours = [*self._replay(blank), *self._also(blank)]
        number = [fold_of(essay.text, self.n_folds) for essay in essays]
        models = []
        for n in range(self.n_folds):
            rest = [essay for essay, fold in zip(essays, number, strict=True) if fold != n]
            models.append(self._train(f"fold{n}", blank, rest, ours))
        if final:
            self._train("final", blank, [*essays, *more], ours)
        settings = json.loads(self.settings.read_text("utf8"))
        folds = []
        for n, model in enumerate(models):
            rows = [i for i, fold in enumerate(number) if fold == n]
            mine, texts = [documents[i] for i in rows], [essays[i] for i in rows]
            folds.append(
                examine_fold(
                    model,
                    mine,
                    texts,
                    settings=settings,
                    encoder=self.encoder,
                    store=self._stored(f"fold{n}/probabilities"),
                    reader=self._reader(),
                )
            )
            logger.info("fold %d: %d essays, %d persons", n, len(rows), len(folds[-1].persons))
        if not classifier:
            found = [entity for fold in folds for entity in find_with(fold.nlp, fold.cached, {}, protects=protects)]
            return self._as_run("rules", found, documents, {"folds": self.n_folds}, protects, (began, cpu)), None, {}
        nlp = self._ours_by(settings)
        extra, also = self._persons_of_ours(nlp), self._persons_of(nlp, self.also)
        done = decide(folds, extra, also=also, protects=protects, min_precision=self.min_precision, choices=self.choices())
        entities, best = done.entities, done.best
        everyone = [*(p for fold in folds for p in fold.persons), *also]
        fitted = train(everyone, extra=extra, l2=best.l2, extra_l2=best.extra_l2)
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / "classifier.npz").write_bytes(fitted.to_bytes())
        told = {
            **asdict(best),
            "by_fold": [asdict(choice) for choice in done.by_fold],
            "persons": len(done.scores),
            "extra": len(extra),
            "also": len(also),
        }
        (self.work / "chosen.json").write_text(json.dumps(told, indent=1) + "\n", "utf8")
        about = {"model": self.source.name, "folds": self.n_folds, "held_out": True, **told}
        run = self._as_run("held_out", entities, documents, about, protects, (began, cpu))
        more_told = {
            "calibration": {"private people, held out": reliability(done.scores, done.private)},
            "control": control_report(
                done.proposed,
                documents,
                views={"names": [NAME_STUDENT], **label_views()},
                strict=folds[0].nlp.get_pipe(CONTEXT).settings.protect_precision,  # type: ignore[attr-defined]
                n_resamples=self.n_resamples,
                seed=self.seed,
            ),
        }
        if apart is None:
            return run, None, more_told
        first = examine_fold(
            models[0],
            read_gold(apart),
            more,
            settings=settings,
            encoder=self.encoder,
            store=self._stored("apart"),
            reader=self._reader(),
        )
        first.nlp.get_pipe(CONTEXT).classifier = fitted  # type: ignore[attr-defined]
        found = find_with(first.nlp, first.cached, {"pii_context.settings.protect": best.protect}, protects=protects)
        return run, _other_run(first, found, about, protects), more_told

    def _as_run(
        self,
        name: str,
        entities: list[Entity],
        documents: Sequence[GoldDocument],
        about: dict[str, Any],
        protects: Callable[[str], bool],
        began: tuple[float, float],
    ) -> Run:
        order = {doc.id: i for i, doc in enumerate(documents)}
        entities.sort(key=lambda e: (order[e.document], e.start))
        seconds, cpu_seconds = time.perf_counter() - began[0], time.process_time() - began[1]
        protected = frozenset(label for label in {e.label for e in entities} if protects(label))
        words = sum(doc.n_words for doc in documents)
        about = {"model": self.source.name, "held_out": True, "encoder": self.encoder, **about}
        return Run(name, about, tuple(entities), protected, seconds, cpu_seconds, words, stored=True)

    def _train(self, name: str, blank: Language, essays: Sequence[LabelledText], ours: Sequence[Doc]) -> Path:
        folder = self.work / name
        if not (folder / "train.spacy").is_file():
            write_training(blank, essays, ours, folder / "train.spacy")
        logger.info("%s: training on %d essays", name, len(essays))
        return train_fold(folder, config=self.config, source=self.source, dev=self.corpus / "dev.spacy", threads=self.threads)

    def _replay(self, blank: Language) -> list[Doc]:
        docs = list(DocBin().from_disk(self.corpus / "train.spacy").get_docs(blank.vocab))
        random.Random(5).shuffle(docs)
        return docs[: self.replay]

    def _also(self, blank: Language) -> list[Doc]:
        """RETURNS (list[Doc]): What every fold learns from besides; texts with a label are there twice, as essays are."""
        docs = [doc for path in self.also for doc in DocBin().from_disk(path).get_docs(blank.vocab)]
        return [doc for doc in docs for _ in range(2 if doc.spans[SPANS_KEY] else 1)]

    def _persons_of_ours(self, nlp: Language) -> list[PersonExample]:
        """Persons of our own dev essays, also of those that are worn, and of `more`: the detector that it goes on from was not trained on them."""
        worn = self.corpus / f"{WORN}.spacy"
        return self._persons_of(nlp, [self.corpus / "dev.spacy", *([worn] if worn.is_file() else []), *self.more])

    def _persons_of(self, nlp: Language, paths: Iterable[Path]) -> list[PersonExample]:
        persons: list[PersonExample] = []
        for path in paths:
            docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
            gold = [GoldDocument(str(n), doc.text) for n, doc in enumerate(docs)]
            stem = path.parent.name if path.stem == "train" else path.stem
            name = ("ours" if stem == "dev" else f"ours_{stem}") + ("_by_detector" if self.detector else "")
            persons += collect_cached(nlp, cached_or_found(nlp, gold, self._stored(name)), docs)
        return persons

    def _ours_by(self, settings: dict[str, Any]) -> Language:
        """RETURNS (Language): What reads our own essays: `detector`, a whole pipeline, or the one that the folds go on from."""
        nlp = assemble(self.detector or self.source, settings=settings, encoder=self.encoder, reader=self._reader())
        nlp.remove_pipe("hips_surrogate")
        return nlp

    def _reader(self) -> bytes:
        """RETURNS (bytes): The reader of `pii_context`, which has seen no real essay; empty without one."""
        return self.reader.read_bytes() if self.reader else b""

    def _stored(self, name: str) -> Path:
        """RETURNS (Path): Where probabilities lie; each form of the encoder has its own."""
        return self.work / (f"{name}.npz" if self.encoder == TORCH else f"{name}-{self.encoder}.npz")


def _other_run(fold: Fold, found: list[Entity], about: dict[str, Any], protects: Callable[[str], bool]) -> Run:
    protected = frozenset(label for label in {e.label for e in found} if protects(label))
    words = sum(item.gold.n_words for item in fold.cached)
    return Run("apart", about, tuple(found), protected, 0.0, 0.0, words, stored=True)
