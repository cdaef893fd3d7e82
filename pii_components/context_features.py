"""What the trained classifier of `pii_context` sees of a person: evidence, forms, places, the detector's reading, pooled vectors.

    features(people, n, vectors=...)      ->  shape (len(FEATURES) + width,)

One row per (document, person), never per mention: a bare surname shares what its full name shows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy
from spacy.tokens import Doc

from .context_cues import NOT_NAME
from .context_evidence import Evidence, logit
from .context_persons import Form
from .context_view import DocView, Place
from .context_words import case_style, in_table, words
from .labels import CHARACTER, ROLES
from .spans import PROPAGATION, Candidate
from .surrogates.names import name_table

_ZONES = ("header", "top", "lead", "alone", "opens", "signoff", "last", "bibliography", "body", "quoted", "small")
SIDES = (*ROLES, NOT_NAME)
_MOST = 12.0  # log-odds beyond which more evidence says nothing new

FEATURES: tuple[str, ...] = (
    *(f"model {role}" for role in ROLES),
    *(f"evidence {side}" for side in SIDES),
    *(f"strongest {side}" for side in SIDES),
    *(f"share of {role} by rules" for role in ROLES),
    "best score", "mean score", "own best log-odds", "anchored student", "anchored",
    *(f"zone {zone}" for zone in _ZONES),
    "mentions", "first at", "last at",
    "full form", "initials", "comma", "given in table", "surname in table", "whole in table", "common word", "lower case", "upper case",
    "found by model", "found by cue", "propagated", "other students anchored", "persons in text", "length", "tells a story",
    *(f"reader {side}" for side in SIDES),
)  # fmt: skip
READER = slice(len(FEATURES) - len(SIDES), len(FEATURES))
_LEAST_READ = -6.0  # log-probability of the reader below which less says nothing new


@dataclass(frozen=True, slots=True)
class People:
    """The names of one document, in parallel: candidates, their forms, places and evidence; and who they are.

    persons (list[list[int]]): Indices of each person's mentions.
    """

    cands: list[Candidate]
    forms: list[Form]
    places: list[Place]
    evidence: list[list[Evidence]]
    persons: list[list[int]]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What speaks for each role of one person.

    evidence (list[Evidence]): Of all mentions, and of the person. model (Mapping[str, float]): The detector's log-odds per role.
    own (float): The best log-odds of a mention that it is a name at all.
    """

    evidence: list[Evidence]
    model: Mapping[str, float]
    own: float


def features(
    view: DocView,
    people: People,
    weighed: Sequence[Weighed],
    number: int,
    *,
    anchored: Sequence[bool],
    tells: bool,
    vectors: numpy.ndarray | None,
    read: numpy.ndarray | None = None,
) -> numpy.ndarray:
    """One person as numbers.

    view (DocView): The document. people (People): All names. weighed (Sequence[Weighed]): Per person. number (int): Which person.
    anchored (Sequence[bool]): Per person whether a header, a signature or the first person shows a student.
    tells (bool): Whether the text tells of a story. vectors (numpy.ndarray | None): Encoder vectors, shape `(n_tokens, width)`.
    read (numpy.ndarray | None): Log-probabilities by the reader, shape `(6,)`; None without one.
    RETURNS (numpy.ndarray): Shape `(len(FEATURES) + width,)`, float32; the vectors' mean over the mentions behind the features.
    """
    mine = people.persons[number]
    cands = [people.cands[i] for i in mine]
    forms = [people.forms[i] for i in mine]
    places = [people.places[i] for i in mine]
    w = weighed[number]
    sums, tops = dict.fromkeys(SIDES, 0.0), dict.fromkeys(SIDES, 0.0)
    for e in w.evidence:
        sums[e.role] += e.weight
        tops[e.role] = max(tops[e.role], e.weight)
    for i in mine:
        for e in people.evidence[i]:
            if e.role == NOT_NAME:
                sums[NOT_NAME] += e.weight
                tops[NOT_NAME] = max(tops[NOT_NAME], e.weight)
    totals = numpy.asarray([sums[role] + w.model.get(role, 0.0) for role in ROLES])
    if not tells:
        totals[ROLES.index(CHARACTER)] -= _MOST  # as the rules have it: nobody is a character where nothing tells of a story
    shares = numpy.exp(totals - totals.max())
    shares /= shares.sum()
    n, length = len(mine), max(len(view), 1)
    table, lists = name_table(), words()
    longest = max(forms, key=lambda form: (len(form.words), len(form.initials)))
    first_word, last_word = (longest.given or (longest.words[0] if longest.words else "")), longest.surname
    styles = [case_style(view.words[c.start]) for c in cands]
    values = [
        *(w.model.get(role, 0.0) for role in ROLES),
        *(_clip(sums[side]) for side in SIDES),
        *(tops[side] for side in SIDES),
        *shares,
        logit(max(c.score for c in cands)),
        logit(sum(c.score for c in cands) / n),
        _clip(w.own),
        anchored[number],
        any(e.anchor for e in w.evidence),
        *(sum(zone in place.zones for place in places) / n for zone in _ZONES),
        math.log(n),
        cands[0].start / length,
        cands[-1].start / length,
        any(form.full for form in forms),
        any(form.initials for form in forms),
        any(form.comma for form in forms),
        bool(first_word) and table.is_given(first_word),
        bool(last_word) and table.is_surname(last_word),
        bool(longest.words) and all(in_table(word) for word in longest.words),
        bool(longest.words) and all(lists.is_common(word) for word in longest.words),
        all(style == "lower" for style in styles),
        all(style == "upper" for style in styles),
        sum(c.source == "model" for c in cands) / n,
        sum(c.source.startswith("cue:") for c in cands) / n,
        sum(c.source == PROPAGATION for c in cands) / n,
        sum(anchored) - anchored[number] > 0,
        math.log(len(people.persons)),
        math.log(length),
        tells,
        *(numpy.zeros(len(SIDES)) if read is None else numpy.maximum(read, _LEAST_READ)),
    ]
    row = numpy.asarray(values, dtype="f4")
    if vectors is None:
        return row
    tokens = [i for c in cands for i in range(c.start, c.end)]
    return numpy.concatenate([row, vectors[tokens].mean(axis=0)])


def roles_of(read: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities of the roles among themselves, shape `(n, 5)`. read (numpy.ndarray): Log-probabilities, `(n, 6)`."""
    chances = numpy.exp(read[:, : len(ROLES)].astype("f8"))
    return numpy.asarray(chances / chances.sum(axis=1, keepdims=True))


def _clip(value: float) -> float:
    return max(-_MOST, min(_MOST, value))


def token_vectors(doc: Doc) -> numpy.ndarray | None:
    """The encoder's vectors, as a curated transformer or the ONNX encoder left them.

    doc (Doc): After the encoder. RETURNS (numpy.ndarray | None): Mean over each token's pieces, shape `(n_tokens, width)`; None without.
    """
    data = doc._.trf_data if doc.has_extension("trf_data") else None
    if data is None and len(doc) and doc.tensor.ndim == 2 and len(doc.tensor) == len(doc):
        return numpy.asarray(doc.tensor.get() if hasattr(doc.tensor, "get") else doc.tensor, dtype="f4")
    if data is None or not len(doc):
        return None
    ragged = data.last_hidden_layer_state
    lengths = numpy.asarray(ragged.lengths)
    rows = numpy.asarray(ragged.dataXd.get() if hasattr(ragged.dataXd, "get") else ragged.dataXd)
    if len(lengths) != len(doc) or not lengths.all():
        return None
    starts = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]])
    return (numpy.add.reduceat(rows, starts, axis=0) / lengths[:, None]).astype("f4")
