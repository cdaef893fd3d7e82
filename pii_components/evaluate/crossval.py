"""Held-out predictions on essays that the model learns from: train on all folds but one, predict that one.

    folds = deal(essays, 5)
    for n in range(5): train_fold(folder / f"fold{n}", write_fold(...), source=..., config=...)
    held_out = HeldOut.read(folder, essays, settings=..., extra=authored)     # candidates, one forward pass per essay
    run = held_out.run(protects=profile.protects)

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any, cast

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..context.classifier import CLASSES, PersonModel
from ..context.component import PRIVATE, PiiContext
from ..corpus.build import CRAPII_ANNOTATED, WORN, Filled, to_doc
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText
from ..files.labelled import read_labelled
from ..labels import NAME_STUDENT, is_name
from ..spans import SPANS_KEY
from ..training.classifier import PersonExample, collect, train
from ..training.package import TORCH, assemble
from .gold import CRAPII_LABELS, Entity, GoldDocument, read_gold
from .match import match_bag
from .metrics import N_RESAMPLES, SEED, measures, reliability
from .report import label_views
from .systems import Run, crapii_label, entity_of
from .veto import Proposed, control_report

# Trying settings of a loaded pipeline, with the expensive part done once. Pure of printing; see thresholds.py for the com

NER = "pii_ner"
Setting = Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """What a document looks like before `pii_ner` decides.

    gold (GoldDocument): The document. doc (Doc): Its tokens. user_data (dict[Any, Any]): What the tokenizer left there.
    probabilities (numpy.ndarray): Shape `(n_tokens, n_outputs)`.
    """

    gold: GoldDocument
    doc: Doc
    user_data: dict[Any, Any]
    probabilities: numpy.ndarray


def predict_once(
    nlp: Language, documents: Sequence[GoldDocument], *, progress: Callable[[], None] = lambda: None
) -> list[Cached]:
    """Run everything up to `pii_ner`, and keep its probabilities.

    nlp (Language): With a component `pii_ner`. documents (Sequence[GoldDocument]): Texts.
    progress (Callable[[], None]): Called after each document.
    RETURNS (list[Cached]): In the same order. RAISES (PiiError): E706 without `pii_ner`.
    """
    ner = component(nlp, NER)
    names = list(nlp.pipe_names)
    before = [proc for name, proc in nlp.pipeline[: names.index(NER)]]
    cached = []
    for gold in documents:
        doc = nlp.make_doc(gold.text)
        user_data = dict(doc.user_data)
        for proc in before:
            doc = proc(doc)
        probabilities = ner.model.ops.to_numpy(ner.predict([doc])[0])
        reset(doc, user_data)  # the encoder's output is a megabyte per essay
        cached.append(Cached(gold, doc, user_data, probabilities))
        progress()
    return cached


def reset(doc: Doc, user_data: Mapping[Any, Any]) -> None:
    """Take all annotations of the pipeline off a document.

    doc (Doc): Changed in place. user_data (Mapping[Any, Any]): What shall be left.
    """
    doc.spans.clear()
    doc.ents = []
    doc.user_data.clear()
    doc.user_data.update(user_data)
    doc.tensor = numpy.zeros((0,), dtype="f4")


def find_with(
    nlp: Language, cached: Sequence[Cached], setting: Setting, *, protects: Callable[[str], bool] = lambda label: False
) -> list[Entity]:
    """What the pipeline finds with a setting.

    nlp (Language): As given to `predict_once`; its settings are the old ones afterwards. cached (Sequence[Cached]): Documents.
    setting (Setting): Values by place. protects (Callable[[str], bool]): Labels that a profile hides, see `crapii_label`.
    RETURNS (list[Entity]): Of all documents, in order.
    """
    ner = component(nlp, NER)
    after = [proc for name, proc in nlp.pipeline[list(nlp.pipe_names).index(NER) + 1 :]]
    found: list[Entity] = []
    with changed(nlp, setting):
        for item in cached:
            doc = item.doc
            ner.set_annotations([doc], [ner.model.ops.asarray(item.probabilities)])
            for proc in after:
                doc = proc(doc)
            spans = doc.spans.get(SPANS_KEY, ())
            found.extend(entity_of(item.gold, s.start_char, s.end_char, crapii_label(s.label_, protects)) for s in spans)
            reset(doc, item.user_data)
    return found


def component(nlp: Language, name: str) -> Any:
    """RETURNS (Any): A component. RAISES (PiiError): E706, if the pipeline has none of that name."""
    if name not in nlp.pipe_names:
        raise PiiError(Errors.E706, pipeline=nlp.meta["name"], component=name, pipes=", ".join(nlp.pipe_names))
    return nlp.get_pipe(name)


@contextmanager
def changed(nlp: Language, setting: Setting) -> Iterator[None]:
    """Set values in the components' `cfg` for a while.

    nlp (Language): Changed in place, and changed back. setting (Setting): Values by place.
    RAISES (PiiError): E706, if a component or its setting is not there; what a component raises for a value out of range.
    """
    old: list[tuple[str, Any, bool]] = []
    try:
        for place, value in setting.items():
            cfg, key = find_place(nlp, place)
            old.append((place, cfg.get(key), key in cfg))
            cfg[key] = value
            reload_cfg(nlp, place)
        yield
    finally:
        for place, value, was_there in reversed(old):
            cfg, key = find_place(nlp, place)  # anew: a component may have taken another dictionary in
            if was_there:
                cfg[key] = value
            else:
                del cfg[key]
            reload_cfg(nlp, place)


def reload_cfg(nlp: Language, place: str) -> None:
    """Let a component take its `cfg` in, as if it were loaded. One with a model reads its `cfg` as it goes."""
    name, _, _ = place.partition(".")
    proc = component(nlp, name)
    if not hasattr(proc, "model") and hasattr(proc, "from_bytes"):
        proc.from_bytes(proc.to_bytes())


def find_place(nlp: Language, place: str) -> tuple[dict[str, Any], str]:
    """Where a setting lives.

    nlp (Language): The pipeline. place (str): `component.key`, or `component.key.subkey`, whose subkey may be new (a label).
    RETURNS (tuple[dict[str, Any], str]): The dictionary and the key in it. RAISES (PiiError): E706, if it is not there.
    """
    name, *keys = place.split(".")
    cfg = getattr(component(nlp, name), "cfg", None)
    for key in keys[:-1]:
        cfg = cfg.get(key) if isinstance(cfg, dict) else None
    if not keys or not isinstance(cfg, dict) or (len(keys) == 1 and keys[0] not in cfg):
        raise PiiError(Errors.E706, pipeline=nlp.meta["name"], component=f"setting {place}", pipes=", ".join(nlp.pipe_names))
    return cfg, keys[-1]


def grid(values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    """RETURNS (list[dict[str, float]]): Every combination of values by place, in order."""
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def folds(documents: Sequence[GoldDocument], n: int, *, seed: int) -> numpy.ndarray:
    """Deal documents into folds, those with and those without PII each evenly.

    documents (Sequence[GoldDocument]): In any order: ids decide. n (int): Number of folds, 2 or more.
    seed (int): Of the shuffle.
    RETURNS (numpy.ndarray): Number of the fold of each document, shape `(n_documents,)`. RAISES (PiiError): E707.
    """
    if not 2 <= n <= len(documents):
        raise PiiError(Errors.E707, n=n, documents=len(documents))
    fold = numpy.zeros(len(documents), dtype="i8")
    ordered = sorted(range(len(documents)), key=lambda i: documents[i].id)
    dealt = 0
    for with_pii in (True, False):
        rows = [i for i in ordered if bool(documents[i].entities) == with_pii]
        random.Random(seed).shuffle(rows)
        for i in rows:
            fold[i] = dealt % n
            dealt += 1
    return fold


def choose(counts: numpy.ndarray, *, criterion: str = "f5", min_precision: float = 0.0) -> int:
    """The best setting.

    counts (numpy.ndarray): Summed counts per setting, shape `(n_settings, 3)`.
    criterion (str): "f5" or "f1".
    min_precision (float): Settings below it are taken only if none reaches it; then the most precise one is.
    RETURNS (int): Its number; of equals, the more precise, then the first.
    """
    values = {name: numpy.nan_to_num(found) for name, found in measures(counts).items()}
    enough = values["precision"] >= min_precision
    first = numpy.where(enough, values[criterion], -1.0)
    return int(numpy.lexsort((numpy.arange(len(counts), 0, -1), values["precision"], first))[-1])


def cross_validate(
    counts: numpy.ndarray, fold: numpy.ndarray, *, criterion: str = "f5", min_precision: float = 0.0
) -> tuple[numpy.ndarray, list[int]]:
    """Choose on all folds but one, count on that one.

    counts (numpy.ndarray): Shape `(n_settings, n_documents, 3)`. fold (numpy.ndarray): From `folds`.
    RETURNS (tuple[numpy.ndarray, list[int]]): Held-out counts per document, shape `(n_documents, 3)`, and the setting
    chosen per fold.
    """
    held_out = numpy.zeros(counts.shape[1:], dtype=counts.dtype)
    chosen = []
    for n in sorted(set(fold.tolist())):
        best = choose(counts[:, fold != n].sum(axis=1), criterion=criterion, min_precision=min_precision)
        held_out[fold == n] = counts[best, fold == n]
        chosen.append(best)
    return held_out, chosen


CONTEXT = "pii_context"
PROTECT = "pii_context.settings.protect"
# Probabilities of a private person to choose from.
THRESHOLDS: tuple[float, ...] = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)


def fold_of(text: str, n_folds: int) -> int:
    """RETURNS (int): The fold of an essay, by SHA-256 of how it begins: copies of one essay are in one fold."""
    begins = " ".join(text.split())[:300].lower()
    return int.from_bytes(hashlib.sha256(begins.encode("utf8")).digest()[:4], "big") % n_folds


def training_doc(nlp: Language, essay: LabelledText) -> Doc:
    """RETURNS (Doc): A real essay for training: its gold knows CRAPII's labels only (ner_loss.py)."""
    return to_doc(nlp, Filled(essay.text, tuple(essay.spans), tuple(essay.masked), CRAPII_ANNOTATED))


def write_training(nlp: Language, essays: Iterable[LabelledText], replay: Sequence[Doc], path: Path, *, repeat: int = 2) -> int:
    """Write the essays to train on.

    nlp (Language): For its tokenizer. essays (Iterable[LabelledText]): Real ones; those with labels are written `repeat` times.
    replay (Sequence[Doc]): Essays of ours, so that what real ones do not show (roles, other scripts) is not forgotten.
    path (Path): A .spacy file. RETURNS (int): Number of documents.
    """
    docs = []
    for essay in essays:
        docs += [training_doc(nlp, essay)] * (repeat if essay.spans else 1)
    docs += replay
    path.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(path)
    return len(docs)


def train_fold(folder: Path, *, config: Path, source: Path, dev: Path, threads: int = 2) -> Path:
    """Run `spacy train`, unless it ran before.

    folder (Path): Holds `train.spacy`; gets `model-last` and `train.log`. config (Path): A training config with a source.
    source (Path): The pipeline to go on from. dev (Path): A .spacy file, looked at and not chosen by. threads (int): Of torch.
    RETURNS (Path): `model-last`. RAISES (PiiError): E780, if training fails.
    """
    done = folder / "done"
    if done.is_file():
        return folder / "model-last"
    paths = {"source": source, "train": folder / "train.spacy", "dev": dev}
    command = [sys.executable, "-m", "spacy", "train", str(config), "--output", str(folder)]
    command += [part for name, path in paths.items() for part in (f"--paths.{name}", str(path))]
    with (folder / "train.log").open("w", encoding="utf8") as log:
        code = subprocess.run(
            command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, check=False
        ).returncode
    if code:
        raise PiiError(Errors.E780, folder=folder.name, code=code)
    done.touch()  # `model-last` alone is there from the first checkpoint on
    return folder / "model-last"


@dataclass(slots=True)
class Fold:
    """One fold after its forward pass.

    nlp (Language): Its pipeline. cached (list[Cached]): Its essays. persons (list[PersonExample]): Of its essays.
    """

    nlp: Language
    cached: list[Cached]
    persons: list[PersonExample]


def examine_fold(
    model: Path,
    gold: Sequence[GoldDocument],
    essays: Sequence[LabelledText],
    *,
    settings: dict[str, dict[str, Any]],
    encoder: str = TORCH,
    store: Path | None = None,
    reader: bytes = b"",
    progress: Callable[[], None] = lambda: None,
) -> Fold:
    """Run the detector of a fold over its essays, and gather the persons.

    model (Path): A pipeline as `spacy train` saved it, not trained on them. gold (Sequence[GoldDocument]), essays
    (Sequence[LabelledText]): The same essays in the same order. settings (dict): Of the rules, as in configs/pipeline.json.
    store (Path | None): A .npz file for the probabilities, which are taken from it if it is there.
    reader (bytes): Of `pii_context`, or nothing. progress (Callable[[], None]): Called after each essay.
    RETURNS (Fold): Ready to decide. RAISES (PiiError): E791, if the stored probabilities are of other essays.
    """
    nlp = assemble(model, settings=settings, encoder=encoder, reader=reader)
    nlp.remove_pipe("hips_surrogate")
    cached = cached_or_found(nlp, gold, store, progress=progress)
    return Fold(nlp, cached, collect_cached(nlp, cached, [training_doc(nlp, essay) for essay in essays]))


def cached_or_found(
    nlp: Language, gold: Sequence[GoldDocument], store: Path | None, *, progress: Callable[[], None] = lambda: None
) -> list[Cached]:
    """RETURNS (list[Cached]): From `store` if it is there, else by the pipeline, and then stored. RAISES (PiiError): E791."""
    if store is not None and store.is_file():
        return load_cached(nlp, gold, store)
    cached = predict_once(nlp, gold, progress=progress)
    if store is not None:
        numpy.savez_compressed(store, *[item.probabilities.astype("f2") for item in cached])
    return cached


def load_cached(nlp: Language, gold: Sequence[GoldDocument], store: Path) -> list[Cached]:
    """RETURNS (list[Cached]): Essays with the probabilities that an earlier run stored. RAISES (PiiError): E791."""
    with numpy.load(store) as arrays:
        known = [arrays[f"arr_{n}"].astype("f4") for n in range(len(arrays.files))]
    cached = []
    for item, probabilities in zip(gold, known, strict=False):
        doc = nlp.make_doc(item.text)
        cached.append(Cached(item, doc, dict(doc.user_data), probabilities))
    if len(known) != len(gold) or any(len(item.doc) != len(item.probabilities) for item in cached):
        raise PiiError(Errors.E791, file=store.name)
    return cached


def collect_cached(nlp: Language, cached: Sequence[Cached], golds: Sequence[Doc]) -> list[PersonExample]:
    """RETURNS (list[PersonExample]): As `context_train.collect`, on essays whose probabilities are known; without vectors."""
    ner, names = cast(Any, nlp.get_pipe("pii_ner")), list(nlp.pipe_names)
    between = [proc for _, proc in nlp.pipeline[names.index("pii_ner") + 1 : names.index(CONTEXT)]]

    def prepare(number: int) -> Doc:
        doc = cached[number].doc
        ner.set_annotations([doc], [ner.model.ops.asarray(cached[number].probabilities)])
        for proc in between:
            doc = cast(Any, proc)(doc)
        return doc

    return collect(nlp, golds, prepare=prepare, vectors=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen on the other folds.

    l2 (float): Penalty of the classifier. extra_l2 (float): That of its fit to other essays' persons. protect (float): Threshold.
    """

    l2: float
    extra_l2: float
    protect: float


CHOICES: tuple[Choice, ...] = tuple(Choice(*values) for values in product((30.0, 100.0), (10.0, 30.0), THRESHOLDS))


@dataclass(frozen=True, slots=True)
class Decided:
    """What cross-validation gives.

    entities (list[Entity]): Held out, of all essays. by_fold (list[Choice]): Chosen for each fold on the others. best (Choice): Best over
        all folds, for what ships. scores (list[float]), private (list[bool]): Held-out probability that a person is private, by the
        choice of the fold, and whether one was. proposed (list[Proposed]): What there was before the threshold; `entities` are those kept.
    """

    entities: list[Entity]
    by_fold: list[Choice]
    best: Choice
    scores: list[float]
    private: list[bool]
    proposed: list[Proposed] = field(default_factory=list)


def decide(
    folds: Sequence[Fold],
    extra: Sequence[PersonExample],
    *,
    protects: Callable[[str], bool],
    min_precision: float,
    also: Sequence[PersonExample] = (),
    choices: Sequence[Choice] = CHOICES,
) -> Decided:
    """Fit classifiers for each fold on the others, choose one and its threshold there, and find the entities of the fold.

    See `choose_careful` for how it is chosen.

    folds (Sequence[Fold]): From `examine_fold`. extra (Sequence[PersonExample]): Persons of other essays, for every classifier.
    protects (Callable[[str], bool]): Whether a label is hidden. min_precision (float): Choices below it are not made while another reaches
        it. also (Sequence[PersonExample]): Persons of other real texts, for every classifier beside those of the folds.
        choices (Sequence[Choice]): What there is to choose from, those of one classifier together.
    RETURNS (Decided): Held-out results.
    """
    found: list[list[list[Entity]]] = [[] for _ in choices]  # per choice and fold
    chances: list[list[list[float]]] = [[] for _ in choices]
    scored_by: list[list[list[tuple[Entity, float | None]]]] = [[] for _ in choices]
    columns = [CLASSES.index(role) for role in PRIVATE]
    for n, fold in enumerate(folds):
        others = [*(p for k, other in enumerate(folds) if k != n for p in other.persons), *also]
        for (l2, extra_l2), group in groupby(range(len(choices)), key=lambda i: (choices[i].l2, choices[i].extra_l2)):
            classifier = train(others, extra=extra, l2=l2, extra_l2=extra_l2)
            scored = find_scored(fold, classifier, protects)
            chance = [float(classifier.predict(p.row[None])[0, columns].sum()) for p in fold.persons]
            for i in group:
                found[i].append([e for e, score in scored if score is None or score >= choices[i].protect])
                scored_by[i].append(scored)
                chances[i].append(chance)
    # (n_choices, n_folds, 3)
    counts = numpy.asarray([[_counts(fold, part) for fold, part in zip(folds, parts, strict=True)] for parts in found])
    by_fold, entities, scores, proposed = [], [], [], []
    for n in range(len(folds)):
        i = choose_careful(numpy.delete(counts, n, axis=1).sum(axis=1), choices, min_precision=min_precision)
        by_fold.append(choices[i])
        entities += found[i][n]
        scores += chances[i][n]
        least = choices[i].protect
        proposed += [Proposed(e, score, score is None or score >= least) for e, score in scored_by[i][n]]
    best = choices[choose_careful(counts.sum(axis=1), choices, min_precision=min_precision)]
    private = [bool(p.allowed[columns].any()) for fold in folds for p in fold.persons]
    return Decided(entities, by_fold, best, scores, private, proposed)


def choose_careful(counts: numpy.ndarray, choices: Sequence[Choice], *, min_precision: float) -> int:
    """The best by F5 of what hides most: of each classifier only the lowest threshold that reaches the precision that is asked for.

    A higher threshold that loses nobody on a few dozen people gains a little F5 there by its precision, and loses somebody elsewhere.

    counts (numpy.ndarray): True positives, false positives and false negatives, shape `(n_choices, 3)`. choices (Sequence[Choice]): The same.
    min_precision (float): If no threshold of a classifier reaches it, its most precise one stands for it.
    RETURNS (int): Index of a choice.
    """
    stands: dict[tuple[float, float], int] = {}
    precision = counts[:, 0] / numpy.maximum(counts[:, :2].sum(axis=1), 1)
    for i in sorted(range(len(choices)), key=lambda i: choices[i].protect):
        key = (choices[i].l2, choices[i].extra_l2)
        known = stands.get(key)
        if known is None or (precision[known] < min_precision and precision[i] > precision[known]):
            stands[key] = i
    kept = list(stands.values())
    return kept[choose(counts[kept], min_precision=min_precision)]


def find_scored(fold: Fold, classifier: PersonModel, protects: Callable[[str], bool]) -> list[tuple[Entity, float | None]]:
    """What the pipeline of a fold hides with a classifier, whatever the threshold.

    fold (Fold): From `examine_fold`. classifier (PersonModel): Of the other folds. protects (Callable[[str], bool]): Of labels.
    RETURNS (list[tuple[Entity, float | None]]): Every name as a private person's, with the probability of that; None for what is no name.
    """
    context = cast(PiiContext, fold.nlp.get_pipe(CONTEXT))
    context.classifier = classifier
    ner = cast(Any, fold.nlp.get_pipe("pii_ner"))
    after = [proc for _, proc in fold.nlp.pipeline[list(fold.nlp.pipe_names).index("pii_ner") + 1 :]]
    found: list[tuple[Entity, float | None]] = []
    with changed(fold.nlp, {PROTECT: 0.0}):
        for item in fold.cached:
            doc = item.doc
            ner.set_annotations([doc], [ner.model.ops.asarray(item.probabilities)])
            for proc in after:
                doc = cast(Any, proc)(doc)
            for span, score in zip(doc.spans[SPANS_KEY], doc.spans[SPANS_KEY].attrs["scores"], strict=True):
                entity = entity_of(item.gold, span.start_char, span.end_char, crapii_label(span.label_, protects))
                found.append((entity, score if is_name(span.label_) else None))
            reset(doc, item.user_data)
    return found


def _counts(fold: Fold, entities: Sequence[Entity]) -> numpy.ndarray:
    gold = [entity for item in fold.cached for entity in item.gold.entities]
    ids = [item.gold.id for item in fold.cached]
    return match_bag(gold, entities, documents=ids, labels=CRAPII_LABELS).per_document.sum(axis=0)


# The steps of `pii-edu evaluate crossval`, each of which is left out if its result is there.

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
