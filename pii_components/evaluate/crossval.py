"""Held-out predictions on essays that the model learns from: train on all folds but one, predict that one.

    folds = deal(essays, 5)
    for n in range(5): train_fold(folder / f"fold{n}", write_fold(...), source=..., config=...)
    held_out = HeldOut.read(folder, essays, settings=..., extra=authored)     # candidates, one forward pass per essay
    run = held_out.run(protects=profile.protects)

Both stages are held out. The detector of a fold has seen none of its essays; the classifier of `pii_context` for a fold is fitted on the
persons of the other folds, each as the detector of its own fold saw them, and its threshold is chosen on those folds too.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any, cast

import numpy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..context import PRIVATE, PiiContext
from ..context_model import CLASSES, PersonModel
from ..context_train import PersonExample, collect, train
from ..corpus.build import CRAPII_ANNOTATED, to_doc
from ..corpus.formats.record import LabelledText
from ..corpus.synthesis import Filled
from ..errors import Errors, PiiError
from ..labels import is_name
from ..packaging import TORCH, assemble
from ..spans import SPANS_KEY
from .matching import match_bag
from .records import CRAPII_LABELS, Entity, GoldDocument
from .sweep import Cached, changed, choose, predict_once, reset
from .systems import crapii_label, entity_of
from .veto_control import Proposed

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
