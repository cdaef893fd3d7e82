"""Trying settings of a loaded pipeline, with the expensive part done once. Pure of printing; see thresholds.py for the command.

    cache = predict_once(nlp, documents)                        # token probabilities, one forward pass per document
    runs = [find_with(nlp, cache, setting) for setting in grid({"pii_ner.thresholds.NAME": [0.3, 0.5]})]

A setting names a place in a component's `cfg`: `pii_ner.thresholds.NAME`,
`pii_context.settings.min_score`. What follows `pii_ner` runs anew for each.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, PiiError
from ..spans import SPANS_KEY
from .metrics import measures
from .records import Entity, GoldDocument
from .systems import crapii_label, entity_of

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
