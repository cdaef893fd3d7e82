"""Held-out predictions on essays that the model learns from: train on all folds but one, predict that one.

    job = CrossValidation(work=Path("training/crossval"), source=Path("training/model-last"), ...)
    run, apart, details = job.run(documents, gold, None, profile.protects, final=True)

Both stages are held out. The detector of a fold has seen none of its essays; the classifier of `pii_context` for a fold is fitted on the
persons of the other folds, each as the detector of its own fold saw them, and its threshold is chosen on those folds too.
"""

import hashlib
import json
import logging
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..context.classifier import CLASSES, PersonModel
from ..context.component import PRIVATE
from ..corpus.build import CRAPII_ANNOTATED, WORN, Filled, to_doc
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText
from ..files.labelled import read_labelled
from ..labels import is_name
from ..spans import SPANS_KEY
from ..training.classifier import PersonExample, collect, train
from ..training.package import TORCH, assemble
from .gold import CRAPII_LABELS, Entity, GoldDocument, read_gold
from .match import match_bag
from .metrics import measures, reliability
from .systems import Protects, Run, crapii_label, entity_of

logger = logging.getLogger(__name__)

NER, CONTEXT = "pii_ner", "pii_context"
PROPOSED = "proposed.json"
_PRIVATE = [CLASSES.index(role) for role in PRIVATE]  # columns of a classifier's probabilities
# What is chosen from: probabilities of a private person, penalties of the classifier and of its fit to other essays' persons.
THRESHOLDS: tuple[float, ...] = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
PENALTIES = tuple(product((30.0, 100.0), (10.0, 30.0)))


class Cached(NamedTuple):
    """A document and the probabilities of `pii_ner`, `(n_tokens, n_outputs)`, before it decides."""

    gold: GoldDocument
    probabilities: numpy.ndarray


def predict_once(nlp: Language, documents: Sequence[GoldDocument]) -> list[Cached]:
    """Everything up to `pii_ner` is run, and its probabilities are kept. RAISES (PiiError): E706 without `pii_ner`."""
    names = nlp.pipe_names
    if NER not in names:
        raise PiiError(Errors.E706, pipeline=nlp.meta["name"], component=NER, pipes=", ".join(names))
    ner, later = cast(Any, nlp.get_pipe(NER)), names[names.index(NER) :]
    return [Cached(gold, ner.model.ops.to_numpy(ner.predict([nlp(gold.text, disable=later)])[0])) for gold in documents]


def cached_or_found(nlp: Language, gold: Sequence[GoldDocument], store: Path) -> list[Cached]:
    """From `store`, a .npz file, if it is there, else by the pipeline, and then stored.
    RAISES (PiiError): E791, if the stored probabilities are of other essays."""
    if not store.is_file():
        cached = predict_once(nlp, gold)
        numpy.savez_compressed(store, *[item.probabilities.astype("f2") for item in cached])
        return cached
    with numpy.load(store) as arrays:
        known = [arrays[f"arr_{n}"].astype("f4") for n in range(len(arrays.files))]
    if [len(nlp.make_doc(item.text)) for item in gold] != [len(probabilities) for probabilities in known]:
        raise PiiError(Errors.E791, file=store.name)
    return [Cached(*pair) for pair in zip(gold, known, strict=True)]


def go_on(nlp: Language, item: Cached, *, until: str = "") -> Doc:
    """The document as `pii_ner` and what follows leave it. until (str): A component that is not run any more."""
    names, ner, doc = nlp.pipe_names, cast(Any, nlp.get_pipe(NER)), nlp.make_doc(item.gold.text)
    ner.set_annotations([doc], [ner.model.ops.asarray(item.probabilities)])
    for _, proc in nlp.pipeline[names.index(NER) + 1 : names.index(until) if until else None]:
        doc = proc(doc)
    return doc


def decide_with(nlp: Language, classifier: PersonModel, threshold: float) -> None:
    """Let `pii_context` hide whom this classifier takes for private with this probability or more; 0 takes every name for a private person's."""
    context: Any = nlp.get_pipe(CONTEXT)
    context.classifier = classifier
    context.cfg["settings"] = {**context.cfg["settings"], "protect": threshold}
    context.from_bytes(context.to_bytes())  # as if it were loaded: its rules are made anew


def find(nlp: Language, cached: Sequence[Cached], *, protects: Protects) -> list[tuple[Entity, float | None]]:
    """What the pipeline finds, with CRAPII's labels, in order; the probability that a name is a private person's, None for what is no name."""
    found: list[tuple[Entity, float | None]] = []
    for item in cached:
        doc = go_on(nlp, item)
        spans = doc.spans[SPANS_KEY]
        for span, score in zip(spans, spans.attrs["scores"], strict=True):
            entity = entity_of(item.gold, span.start_char, span.end_char, crapii_label(span.label_, protects))
            found.append((entity, float(score) if is_name(span.label_) else None))
    return found


def fold_of(text: str, n_folds: int) -> int:
    """The fold of an essay, by SHA-256 of how it begins: copies of one essay are in one fold."""
    begins = " ".join(text.split())[:300].lower()
    return int.from_bytes(hashlib.sha256(begins.encode("utf8")).digest()[:4], "big") % n_folds


def training_doc(nlp: Language, essay: LabelledText) -> Doc:
    """A real essay for training: its gold knows CRAPII's labels only (ner/loss.py)."""
    return to_doc(nlp, Filled(essay.text, tuple(essay.spans), tuple(essay.masked), CRAPII_ANNOTATED))


def train_fold(folder: Path, *, config: Path, source: Path, dev: Path, threads: int = 2) -> Path:
    """Run `spacy train` on `train.spacy` in the folder, unless it ran before; `train.log` is written there.
    RETURNS (Path): `model-last`. RAISES (PiiError): E780, if training fails.

    source (Path): The pipeline to go on from. dev (Path): A .spacy file, looked at and not chosen by. threads (int): Of torch.
    """
    done = folder / "done"
    if not done.is_file():
        command = [sys.executable, "-m", "spacy", "train", str(config), "--output", str(folder)]
        for name, path in {"source": source, "train": folder / "train.spacy", "dev": dev}.items():
            command += [f"--paths.{name}", str(path)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with (folder / "train.log").open("w", encoding="utf8") as log:
            code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False).returncode
        if code:
            raise PiiError(Errors.E780, folder=folder.name, code=code)
        done.touch()  # `model-last` alone is there from the first checkpoint on
    return folder / "model-last"


class Fold(NamedTuple):
    """One fold after its forward pass: its pipeline, its essays, the persons in them."""

    nlp: Language
    cached: list[Cached]
    persons: list[PersonExample]


class Choice(NamedTuple):
    """What is chosen on the other folds: penalty of the classifier, that of its fit to other essays' persons, threshold."""

    l2: float
    extra_l2: float
    protect: float


class Proposed(NamedTuple):
    """What detector and rules propose, the probability that a name is a private person's (None for what is no name), and whether it is kept."""

    entity: Entity
    score: float | None
    kept: bool


class Outcome(NamedTuple):
    """What a choice gives for a fold: counts of right, wrong and missed, and the probabilities that the fold's persons are private."""

    proposed: list[Proposed]
    counts: numpy.ndarray
    chances: list[float]


class Decided(NamedTuple):
    """What cross-validation gives: what is proposed in all essays; what was chosen for each fold on the others; the best over all folds, for
    what ships; held-out probabilities that a person is private, by the choice of the fold, and whether one was."""

    proposed: list[Proposed]
    by_fold: list[Choice]
    best: Choice
    scores: list[float]
    private: list[bool]

    @property
    def entities(self) -> list[Entity]:
        """What is kept."""
        return [one.entity for one in self.proposed if one.kept]


def decide(
    folds: Sequence[Fold], extra: Sequence[PersonExample], *, protects: Protects, min_precision: float, choices: Sequence[Choice],
    also: Sequence[PersonExample] = (),
) -> Decided:  # fmt: skip
    """Fit classifiers for each fold on the others, choose one and its threshold there, and find the entities of the fold.

    extra (Sequence[PersonExample]): Persons of our own essays, for every classifier. also (Sequence[PersonExample]): Persons of other real
    texts, beside those of the folds. min_precision (float), choices (Sequence[Choice]): See `choose_careful`; those of one classifier together.
    """
    outcomes = []
    for fold in folds:
        others = [*(p for other in folds if other is not fold for p in other.persons), *also]
        outcomes.append(_outcomes(fold, others, extra, protects, choices))
    counts = numpy.asarray([[outcome.counts for outcome in of_fold] for of_fold in outcomes])
    whole = counts.sum(axis=0)
    *chosen, best = [choose_careful(said, choices, min_precision=min_precision) for said in (*(whole - counts), whole)]
    held_out = [of_fold[i] for of_fold, i in zip(outcomes, chosen, strict=True)]
    proposed = [one for outcome in held_out for one in outcome.proposed]
    private = [bool(p.allowed[_PRIVATE].any()) for fold in folds for p in fold.persons]
    chances = [chance for outcome in held_out for chance in outcome.chances]
    return Decided(proposed, [choices[i] for i in chosen], choices[best], chances, private)


def _outcomes(
    fold: Fold, others: Sequence[PersonExample], extra: Sequence[PersonExample], protects: Protects, choices: Sequence[Choice]
) -> list[Outcome]:
    gold = [entity for item in fold.cached for entity in item.gold.entities]
    ids = [item.gold.id for item in fold.cached]
    outcomes = []
    for (l2, extra_l2), group in groupby(choices, key=lambda choice: choice[:2]):
        classifier = train(others, extra=extra, l2=l2, extra_l2=extra_l2)
        decide_with(fold.nlp, classifier, 0.0)
        scored = find(fold.nlp, fold.cached, protects=protects)
        chances = [float(classifier.predict(p.row[None])[0, _PRIVATE].sum()) for p in fold.persons]
        for choice in group:
            proposed = [Proposed(e, score, score is None or score >= choice.protect) for e, score in scored]
            kept = [one.entity for one in proposed if one.kept]
            counts = match_bag(gold, kept, documents=ids, labels=CRAPII_LABELS).per_document.sum(axis=0)
            outcomes.append(Outcome(proposed, counts, chances))
    return outcomes


def choose_careful(counts: numpy.ndarray, choices: Sequence[Choice], *, min_precision: float) -> int:
    """The best by F5 of what hides most: of each classifier only the lowest threshold that reaches the precision that is asked for.

    A higher threshold that loses nobody on a few dozen people gains a little F5 there by its precision, and loses somebody elsewhere.

    counts (numpy.ndarray): True positives, false positives and false negatives, shape `(n_choices, 3)`. choices (Sequence[Choice]): The same.
    min_precision (float): If no threshold of a classifier reaches it, its most precise one stands for it.
    RETURNS (int): Index of a choice; of equals, the more precise, then the first.
    """
    values = measures(counts)
    precision, f5 = (numpy.nan_to_num(values[name]) for name in ("precision", "f5"))
    stands: dict[tuple[float, ...], int] = {}
    for i in sorted(range(len(choices)), key=lambda i: choices[i].protect):
        known = stands.setdefault(choices[i][:2], i)
        if precision[known] < min_precision and precision[i] > precision[known]:
            stands[choices[i][:2]] = i
    return max(stands.values(), key=lambda i: (f5[i] if precision[i] >= min_precision else -1.0, precision[i]))


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The steps of `pii-edu evaluate crossval`, each of which is left out if its result is in `work`; see the options of the command."""

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

    def choices(self) -> list[Choice]:
        """What there is to choose from, those of one classifier together. What was given is not chosen."""
        penalties = sorted({(self.l2 or l2, self.extra_l2 or extra_l2) for l2, extra_l2 in PENALTIES})
        thresholds = [self.protect] if self.protect else THRESHOLDS
        return [Choice(*penalty, threshold) for penalty in penalties for threshold in thresholds]

    def run(
        self, documents: Sequence[GoldDocument], gold: Path, apart: Path | None, protects: Protects, *, final: bool, classifier: bool = True
    ) -> tuple[Run, Run | None, dict[str, Any]]:  # fmt: skip
        """Train, predict, decide.

        documents (Sequence[GoldDocument]): What is scored. gold (Path): Their file. apart (Path | None): Other essays. final (bool): Whether
        to train on everything too. classifier (bool): Whether to fit one; without, the rules decide, and the essays apart are not looked at.
        RETURNS (tuple[Run, Run | None, dict[str, Any]]): Held-out entities of `documents`, those of the essays apart, and `calibration` for
        the metrics file, the reliability curve of held-out probabilities that a person is private; empty without a classifier.
        """
        began, cpu = time.perf_counter(), time.process_time()
        others = list(read_labelled(apart)) if apart else []
        folds = self._folds(documents, list(read_labelled(gold)), others, final=final)
        about: dict[str, Any] = {"model": self.source.name, "held_out": True, "encoder": self.encoder, "folds": self.n_folds}
        if not classifier:
            found = [entity for fold in folds for entity, _ in find(fold.nlp, fold.cached, protects=protects)]
            return _as_run("rules", found, documents, about, protects, began, cpu), None, {}
        nlp = self._assemble(self.detector or self.source)
        obfuscated = self.corpus / f"{WORN}.spacy"  # none of these was the detector that it goes on from trained on
        ours = [self.corpus / "dev.spacy", *([obfuscated] if obfuscated.is_file() else []), *self.more]
        extra, also = self._persons_of(nlp, ours), self._persons_of(nlp, self.also)
        done = decide(folds, extra, also=also, protects=protects, min_precision=self.min_precision, choices=self.choices())
        everyone = [*(p for fold in folds for p in fold.persons), *also]
        fitted = train(everyone, extra=extra, l2=done.best.l2, extra_l2=done.best.extra_l2)
        about |= self._write(done, fitted, folds[0].nlp, {"extra": len(extra), "also": len(also)})
        run = _as_run("held_out", done.entities, documents, about, protects, began, cpu)
        details = {"calibration": {"private people, held out": reliability(done.scores, done.private)}}
        if apart is None:
            return run, None, details
        first = self._examine(self.work / "fold0" / "model-last", read_gold(apart), others, "apart")
        decide_with(first.nlp, fitted, done.best.protect)
        found = [entity for entity, _ in find(first.nlp, first.cached, protects=protects)]
        about = {name: value for name, value in about.items() if name != "encoder"}
        return run, _as_run("apart", found, [item.gold for item in first.cached], about, protects), details

    def _folds(
        self, documents: Sequence[GoldDocument], essays: Sequence[LabelledText], others: Sequence[LabelledText], *, final: bool
    ) -> list[Fold]:
        """Train on all folds but one, `final` on everything, and let each detector read the fold that it has not seen."""
        blank = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
        ours, number = self._ours(blank), [fold_of(essay.text, self.n_folds) for essay in essays]
        models = []
        for n in range(self.n_folds):
            rest = [essay for essay, fold in zip(essays, number, strict=True) if fold != n]
            models.append(self._train(f"fold{n}", blank, rest, ours))
        if final:
            self._train("final", blank, [*essays, *others], ours)
        folds = []
        for n, model in enumerate(models):
            rows = [i for i, fold in enumerate(number) if fold == n]
            gold, labelled = [documents[i] for i in rows], [essays[i] for i in rows]
            folds.append(self._examine(model, gold, labelled, f"fold{n}/probabilities"))
            logger.info("fold %d: %d essays, %d persons", n, len(rows), len(folds[-1].persons))
        return folds

    def _train(self, name: str, blank: Language, essays: Sequence[LabelledText], ours: Sequence[Doc]) -> Path:
        """Real essays with labels are there twice; `ours`, so that what real ones do not show (roles, other scripts) is not forgotten."""
        folder = self.work / name
        if not (folder / "train.spacy").is_file():
            docs = [doc for essay in essays for doc in [training_doc(blank, essay)] * (2 if essay.spans else 1)]
            folder.mkdir(parents=True, exist_ok=True)
            DocBin(docs=[*docs, *ours]).to_disk(folder / "train.spacy")
        logger.info("%s: training on %d essays", name, len(essays))
        return train_fold(folder, config=self.config, source=self.source, dev=self.corpus / "dev.spacy", threads=self.threads)

    def _ours(self, blank: Language) -> list[Doc]:
        """What every fold learns from beside essays: some of our own, and other real texts, those with a label twice, as essays are."""
        replayed = _docs_of(self.corpus / "train.spacy", blank)
        random.Random(5).shuffle(replayed)
        also = [doc for path in self.also for doc in _docs_of(path, blank)]
        return replayed[: self.replay] + [doc for doc in also for _ in range(2 if doc.spans[SPANS_KEY] else 1)]

    def _assemble(self, model: Path | str) -> Language:
        """With the rules and the reader, which has seen no real essay, but without surrogates."""
        settings = json.loads(self.settings.read_text("utf8"))
        reader = self.reader.read_bytes() if self.reader else b""
        nlp = assemble(model, settings=settings, encoder=self.encoder, reader=reader)
        nlp.remove_pipe("hips_surrogate")
        return nlp

    def _examine(self, model: Path, gold: Sequence[GoldDocument], essays: Sequence[LabelledText], name: str) -> Fold:
        """Essays as a detector that was not trained on them sees them; gold and essays are the same, in the same order."""
        nlp = self._assemble(model)
        cached = cached_or_found(nlp, gold, self._stored(name))
        return Fold(nlp, cached, _persons(nlp, cached, [training_doc(nlp, essay) for essay in essays]))

    def _persons_of(self, nlp: Language, paths: Iterable[Path]) -> list[PersonExample]:
        persons: list[PersonExample] = []
        for path in paths:
            docs = _docs_of(path, nlp)
            stem = path.parent.name if path.stem == "train" else path.stem
            name = ("ours" if stem == "dev" else f"ours_{stem}") + ("_by_detector" if self.detector else "")
            gold = [GoldDocument(str(n), doc.text) for n, doc in enumerate(docs)]
            persons += _persons(nlp, cached_or_found(nlp, gold, self._stored(name)), docs)
        return persons

    def _stored(self, name: str) -> Path:
        """Where probabilities lie; each form of the encoder has its own."""
        return self.work / (f"{name}.npz" if self.encoder == TORCH else f"{name}-{self.encoder}.npz")

    def _write(self, done: Decided, fitted: PersonModel, nlp: Language, counts: dict[str, int]) -> dict[str, Any]:
        """Write the classifier, what was chosen, and what was proposed, which scripts/veto.py reads. RETURNS (dict): What was chosen."""
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / "classifier.npz").write_bytes(fitted.to_bytes())
        strict = cast(Any, nlp.get_pipe(CONTEXT)).settings.protect_precision
        rows = [[e.document, e.start, e.end, e.label, score, kept] for e, score, kept in done.proposed]
        (self.work / PROPOSED).write_text(json.dumps({"strict": strict, "proposed": rows}) + "\n", "utf8")
        by_fold = [choice._asdict() for choice in done.by_fold]
        chosen = {**done.best._asdict(), "by_fold": by_fold, "persons": len(done.scores), **counts}
        (self.work / "chosen.json").write_text(json.dumps(chosen, indent=1) + "\n", "utf8")
        return chosen


def _docs_of(path: Path, nlp: Language) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def _persons(nlp: Language, cached: Sequence[Cached], golds: Sequence[Doc]) -> list[PersonExample]:
    """As `training.classifier.collect`, on essays whose probabilities are known; without vectors."""
    return collect(nlp, golds, prepare=lambda number: go_on(nlp, cached[number], until=CONTEXT))


def _as_run(
    name: str, found: list[Entity], documents: Sequence[GoldDocument], about: dict[str, Any], protects: Protects, *began: float
) -> Run:
    """began (float): When the clock and that of processors were read; none if nobody wants to know how long it took."""
    order = {doc.id: i for i, doc in enumerate(documents)}
    entities = sorted(found, key=lambda e: (order[e.document], e.start))
    clocks = (("seconds", time.perf_counter), ("cpu_seconds", time.process_time))
    times = {clock: read() - then for (clock, read), then in zip(clocks, began, strict=False)}
    return Run.of(name, about, entities, protects, words=sum(doc.n_words for doc in documents), stored=True, **times)
