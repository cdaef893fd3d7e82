"""Learn the classifier of `pii_context` from annotated texts: persons, a fit, and what it is worth on texts that it has not seen.

    persons = collect(nlp, texts)                # texts with gold for every name
    model = fit(persons, l2=100.0)
    chances = cross_validate(persons, l2=100.0)   # out of fold, folds keep a text together

Take texts that `pii_ner` was not trained on: on its own it is surer than it will ever be again.
"""

import hashlib
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy
from spacy.language import Language

from pii_components.context.classifier import CLASSES, PersonModel
from pii_components.context.component import PRIVATE, PiiContext
from pii_components.context.heads import OWNED
from pii_components.context.learn import Gold
from pii_components.errors import Errors, PiiError
from pii_components.files.formats.base import LabelledText, ReadStats
from pii_components.files.formats.tokens import to_doc
from pii_components.labels import CHARACTER, CITED, is_name
from pii_components.spans import SPANS_KEY, read_spans

CONTEXT = "pii_context"
FOLDS = 5
_LEAST_SCALE = 0.3  # so that what hardly anybody has weighs little
_NEVER = -30.0  # log-odds of a class that nobody has
_SENTENCE = re.compile(r"[.!?][\"')\]]*\s+|\n+")


@dataclass(frozen=True, slots=True, eq=False)
class PersonExample:
    """One person, or one mention by itself, of one text: what the classifier sees, its class by gold, and how many mentions there are."""

    text: str
    row: numpy.ndarray
    gold: str
    mentions: int
    weight: float = 1.0


def collect(nlp: Language, texts: Sequence[LabelledText]) -> list[PersonExample]:
    """RETURNS (list[PersonExample]): Everybody whom the components before `pii_context` propose in labelled texts; a person with several roles counts
    by their shares. nlp (Language): With `pii_context`; its classifier, if it has one, parts namesakes."""
    component = cast(PiiContext, nlp.get_pipe(CONTEXT))
    found: list[PersonExample] = []
    with nlp.select_pipes(
        disable=[
            name for name in nlp.pipe_names if name in (CONTEXT, "hips_surrogate", "pii_cleaner")
        ]
    ):
        for text, doc in zip(
            texts, nlp.pipe([one.text for one in texts], batch_size=16), strict=True
        ):
            people, _ = component.people(doc)
            if people is None or not people.cands:
                continue
            gold = Gold(to_doc(replace(text, meta={}), number=1, tally=ReadStats()), SPANS_KEY)
            classes = [gold.classes(doc[c.start : c.end]) for c in people.cands]
            rows = component.rows(doc, people)
            for person, row in zip(people.persons, rows, strict=True):
                counts = Counter(one for i in person for one in classes[i])
                found += [
                    PersonExample(text.id, row, gold_class, n, n / counts.total())
                    for gold_class, n in counts.items()
                ]
    return found


@dataclass(frozen=True, slots=True)
class ThingExample:
    """A place, a school, a firm, a date or an age that is proposed: its label, the head's log-odds, and whether gold has it as somebody's."""

    text: str
    label: str
    log_odds: float
    gold: bool


def collect_things(nlp: Language, texts: Sequence[LabelledText]) -> list[ThingExample]:
    """RETURNS (list[ThingExample]): Everything in texts whose indirect identifiers are all labelled. nlp (Language): As in `collect`."""
    component = cast(PiiContext, nlp.get_pipe(CONTEXT))
    assert component.heads is not None
    found: list[ThingExample] = []
    with nlp.select_pipes(enable=["transformer", "pii_ner", "pii_ruler"]):
        for text, doc in zip(texts, nlp.pipe([one.text for one in texts]), strict=True):
            cands = [c for c in read_spans(doc) if c.source == "model" and c.label in OWNED]
            odds = component.heads.owned(doc.tensor, [(c.start, c.end, c.label) for c in cands])
            for c, value in zip(cands, odds, strict=True):
                span = doc[c.start : c.end]
                gold = (span.start_char, span.end_char, c.label) in text.spans
                found.append(ThingExample(text.id, c.label, float(value), gold))
    return found


def fit_things(things: Sequence[ThingExample]) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Scale and shift of the log-odds by label, `(6, 2)` (Platt 1999), rows as in `OWNED`; 1 and 0 where there is none."""
    from sklearn.linear_model import LogisticRegression

    found = numpy.tile([1.0, 0.0], (len(OWNED), 1))
    for row, label in enumerate(OWNED):
        mine = [one for one in things if one.label == label]
        if len({one.gold for one in mine}) == 2:
            x = numpy.asarray([[one.log_odds] for one in mine])
            made = LogisticRegression(C=10.0).fit(x, [one.gold for one in mine])
            found[row] = made.coef_[0, 0], made.intercept_[0]
    return found


def cut_texts(texts: Sequence[LabelledText], *, most: int, seed: int) -> list[LabelledText]:
    """Cut one to three sentences around names out of texts.

    most (int): Stretches of a text at most. Each keeps the id of its text, so that folds keep them together.
    """
    rng, cut = random.Random(seed), list[LabelledText]()
    for one in texts:
        marked = [*((a, b) for a, b, _ in one.spans), *one.masked]
        inside = {i for a, b in marked for i in range(a + 1, b)}  # "J. Lopez" is not two sentences
        ends = [0, *(m.end() for m in _SENTENCE.finditer(one.text)), len(one.text)]
        ends = [end for end in ends if end not in inside]
        named = [a for a, _, label in one.spans if is_name(label)]
        for at in rng.sample(named, min(most, len(named))):
            n = bisect_right(ends, at) - 1
            start = ends[max(0, n - rng.choice((0, 0, 1)))]
            end = ends[min(len(ends) - 1, n + 1 + rng.choice((0, 0, 1)))]
            spans = tuple(
                (a - start, b - start, label) for a, b, label in one.spans if start <= a < end
            )
            masked = tuple((a - start, b - start) for a, b in one.masked if start <= a < end)
            cut.append(LabelledText(one.id, one.text[start:end], spans, masked))
    return cut


def fit(persons: Sequence[PersonExample], *, l2: float = 100.0) -> PersonModel:
    """Softmax regression over standardised features. l2 (float): Penalty on the squared weights. RAISES (PiiError): E552 without two classes."""
    from sklearn.linear_model import LogisticRegression

    golds = [p.gold for p in persons]
    if len(set(golds)) < 2:
        raise PiiError(Errors.E552, what="The texts", reason="fewer than two kinds of people")
    rows = numpy.stack([p.row for p in persons]).astype("f8")
    weights = numpy.asarray([p.weight for p in persons])
    known = ~numpy.isnan(rows) * weights[:, None]
    every = numpy.maximum(known.sum(axis=0), 1e-9)
    mean = (numpy.nan_to_num(rows) * known).sum(axis=0) / every
    spread = (numpy.nan_to_num(rows - mean) ** 2 * known).sum(axis=0) / every
    scale = numpy.maximum(numpy.sqrt(spread), _LEAST_SCALE)
    shape = (rows.shape[1], len(CLASSES))
    model = PersonModel(mean, scale, numpy.zeros(shape), numpy.full(len(CLASSES), _NEVER))
    made = LogisticRegression(C=1 / l2, max_iter=1000)
    made.fit(model.inputs(rows), golds, sample_weight=weights)
    coef, intercept = made.coef_, made.intercept_
    if len(coef) == 1:  # of two classes the log-odds of the second
        coef, intercept = (numpy.concatenate([-one / 2, one / 2]) for one in (coef, intercept))
    for name, column, bias in zip(made.classes_, coef, intercept, strict=True):
        model.weights[:, CLASSES.index(name)] = column
        model.bias[CLASSES.index(name)] = bias
    return model


def fold_of(text: str, folds: int = FOLDS) -> int:
    """RETURNS (int): The fold of a text by its id, so that persons of one text stay together."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % folds


def cross_validate(
    persons: Sequence[PersonExample], *, l2: float = 100.0, folds: int = FOLDS
) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities of every person by a model that has seen nobody of their text, shape `(n, 6)`."""
    chances = numpy.zeros((len(persons), len(CLASSES)))
    of = [fold_of(p.text, folds) for p in persons]
    for fold in range(folds):
        inside = [i for i, f in enumerate(of) if f == fold]
        if inside:
            model = fit([p for p, f in zip(persons, of, strict=True) if f != fold], l2=l2)
            chances[inside] = model.predict(numpy.stack([persons[i].row for i in inside]))
    return chances


def touched_at(
    persons: Sequence[PersonExample], chances: numpy.ndarray, hidden: float
) -> tuple[float, float]:
    """RETURNS (tuple[float, float]): The share of mentions of cited people and characters that are hidden where a share of private ones is
    (`hidden`), and the threshold that does it."""
    private = chances[:, [CLASSES.index(role) for role in PRIVATE]].sum(axis=1)
    mentions = numpy.asarray([p.mentions for p in persons])
    mine, kept = (
        numpy.asarray([p.gold in roles for p in persons]) for roles in (PRIVATE, (CITED, CHARACTER))
    )
    order = numpy.argsort(-private[mine])
    shares = numpy.cumsum(mentions[mine][order]) / mentions[mine].sum()
    at = float(private[mine][order][numpy.searchsorted(shares, hidden)])
    return float(mentions[kept & (private >= at)].sum() / mentions[kept].sum()), at


def tally(
    persons: Sequence[PersonExample], chances: numpy.ndarray, threshold: float
) -> dict[str, float]:
    """Shares of mentions that are hidden at a threshold, by class of the gold, and how many of those hidden are private (`precision`)."""
    private = chances[:, [CLASSES.index(role) for role in PRIVATE]].sum(axis=1) >= threshold
    hidden: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for p, hide in zip(persons, private, strict=True):
        every[p.gold] += p.mentions
        hidden[p.gold] += p.mentions * bool(hide)
    good = sum(hidden[c] for c in PRIVATE)
    return {c: hidden[c] / every[c] for c in every} | {"precision": good / max(hidden.total(), 1)}
