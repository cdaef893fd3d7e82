"""The trained classifier of `pii_context`: from what is seen of a person to calibrated probabilities of the roles.

    model = PersonModel.from_bytes(data)
    model.predict(rows)                  ->  shape (n_persons, 6): five roles, and "no name"

A linear softmax over standardised features and, if it was trained so, over a few directions of the pooled encoder vectors, added to a share
of what the rules say. Nobody is a character where the text tells of no story: there the detector's reading is taken as it is among the
other roles, in training and after. `fit` learns from gold that may be partial (CRAPII says who is a student and of nobody else who they are),
and can go on from a model that was fitted to other essays: the penalty draws towards that one, since labelled people of real essays are few.
"""

import json
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import numpy

from ..errors import Errors, PiiError
from ..labels import CHARACTER, ROLES, STUDENT
from ..spans import Candidate
from .cues import NOT_NAME
from .evidence import FEATURES, SIDES, People, Weighed, features
from .view import DocView

# What `pii_context` knows of a document before it decides: names and whose they are, what speaks for each role, and rows


@dataclass(frozen=True, slots=True)
class Examined:
    """What is known of a document before anything is decided.

    view (DocView): The document. others (list[Candidate]): What is no name. people (People): The names, and whose they are.
    weighed (list[Weighed]): Per person. tells (bool): Whether the text tells of a story, a persona or an exercise.
    """

    view: DocView
    others: list[Candidate]
    people: People
    weighed: list[Weighed]
    tells: bool

    def rows(self, vectors: numpy.ndarray | None, read: numpy.ndarray | None = None) -> numpy.ndarray:
        """One row per person for `PersonModel`, see `context_features.features`.

        vectors (numpy.ndarray | None): Of the encoder. read (numpy.ndarray | None): What the reader says, shape `(n_persons, 6)`. Whether
            something is a name it cannot tell, since it does not see it. Where nothing tells of a story, whom it takes for a character is
            somebody of whom it knows nothing: real people are told of like figures, too.
        RETURNS (numpy.ndarray): Shape `(n_persons, len(FEATURES) + width)`.
        """
        anchored = [any(e.anchor and e.role == STUDENT for e in w.evidence) for w in self.weighed]
        if read is not None:
            read = without(read, NOT_NAME, *(() if self.tells else (CHARACTER,)))
        found = [
            features(
                self.view,
                self.people,
                self.weighed,
                n,
                anchored=anchored,
                tells=self.tells,
                vectors=vectors,
                read=None if read is None else read[n],
            )  # fmt: skip
            for n in range(len(self.weighed))
        ]
        return numpy.stack(found) if found else numpy.zeros((0, 0), dtype="f4")


def without(read: numpy.ndarray, *classes: str) -> numpy.ndarray:
    """Leave something out of what the reader says.

    read (numpy.ndarray): Log-probabilities, shape `(n_persons, 6)`. classes (str): Of `context_model.CLASSES`.
    RETURNS (numpy.ndarray): The same shape; the probability of those classes is dealt out evenly among the others.
    """
    chances = numpy.exp(read.astype("f8"))
    out = [SIDES.index(name) for name in classes]
    dealt = chances + chances[:, out].sum(axis=1, keepdims=True) / (chances.shape[1] - len(out))
    dealt[:, out] = 0.0
    return numpy.asarray(numpy.log(numpy.maximum(dealt, 1e-9)), dtype="f4")


CLASSES: tuple[str, ...] = (*ROLES, NOT_NAME)
# Features of the text rather than of the person: essays of ours are shorter and name more people more often than real ones, and weights
# on these say "many mentions, so a character", which is wrong of a student who is told of in the third person.
OF_THE_TEXT: tuple[str, ...] = ("mean score", "mentions", "first at", "last at", "persons in text", "length")
# Names of some parts of the world stand in tables less often: that one does not stand there is no reason to call it no name.
OF_THE_TABLES: tuple[str, ...] = ("given in table", "surname in table", "whole in table", "common word")
TRUST = 0.25  # with many people to learn from, what the rules weigh is learned from their evidence; this is what stays
_USED = [n for n, name in enumerate(FEATURES) if name not in OF_THE_TEXT]
_READ = [FEATURES.index(f"model {role}") for role in ROLES]
_TELLS = FEATURES.index("tells a story")
_CHARACTER = CLASSES.index(CHARACTER)
_OTHERS = [n for n, role in enumerate(ROLES) if role != CHARACTER]
_NEVER = -12.0  # logit of a character where no story is told
_UNREAD = -8.0  # log-odds of the detector for a character there


@dataclass(frozen=True, slots=True, eq=False)
class PersonModel:
    """Weights.

    mean, scale (numpy.ndarray): Of the features but `OF_THE_TEXT`, shape `(n_features,)`. basis (numpy.ndarray): Directions of the vectors, shape
        `(width, n_directions)`; both may be 0. centre (numpy.ndarray): Mean vector, shape `(width,)`.
    weights (numpy.ndarray): Shape `(n_features + n_directions, 6)`. bias (numpy.ndarray): Shape `(6,)`.
    trust (numpy.ndarray): Share of the rules' log-odds that is added, shape `()`.
    """

    mean: numpy.ndarray
    scale: numpy.ndarray
    basis: numpy.ndarray
    centre: numpy.ndarray
    weights: numpy.ndarray
    bias: numpy.ndarray
    trust: numpy.ndarray

    @property
    def width(self) -> int:
        """RETURNS (int): Width of the encoder vectors that it reads; 0 if it reads none."""
        return int(self.basis.shape[0])

    def inputs(self, rows: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Standardised features and projected vectors of `rows`, shape `(n, n_features + n_directions)`."""
        n = len(FEATURES)
        if rows.shape[1] < n + self.width:
            raise PiiError(Errors.E305, got=rows.shape[1], wanted=n + self.width)
        x = numpy.clip((read_anew(rows)[:, _USED] - self.mean) / self.scale, -5.0, 5.0)
        return numpy.concatenate([x, (rows[:, n : n + self.width] - self.centre) @ self.basis], axis=1)

    def predict(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Probabilities.

        rows (numpy.ndarray): What `context_features.features` returned, shape `(n_persons, len(FEATURES) + width)`.
        RETURNS (numpy.ndarray): Shape `(n_persons, 6)`, columns as in `CLASSES`. RAISES (PiiError): E305 for rows that are too short.
        """
        return softmax(without_characters(self.inputs(rows) @ self.weights + self.bias + self.trust * prior(rows), rows))

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): numpy's .npz, with the names of features and classes."""
        buffer = BytesIO()
        names = numpy.frombuffer(json.dumps(_form()).encode(), dtype="u1")
        arrays: dict[str, Any] = {key: numpy.asarray(getattr(self, key), dtype="f4") for key in self.__dataclass_fields__}
        numpy.savez_compressed(buffer, names=names, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "PersonModel":
        """Load.

        data (bytes): What `to_bytes` returned. RETURNS (PersonModel): The model.
        RAISES (PiiError): E304, if it cannot be read, or was trained on other features than this version computes.
        """
        try:
            with numpy.load(BytesIO(data), allow_pickle=False) as arrays:
                names = json.loads(bytes(arrays["names"]))
                model = cls(**{key: arrays[key] for key in cls.__dataclass_fields__})
        except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as err:
            raise PiiError(Errors.E304, reason=type(err).__name__) from err
        if names != _form():
            raise PiiError(Errors.E304, reason="it was trained on other features")
        return model


def _form() -> dict[str, Any]:
    """RETURNS (dict[str, Any]): What weights must have been fitted for."""
    return {
        "features": list(FEATURES), "classes": list(CLASSES), "left out": list(OF_THE_TEXT), "of the tables": list(OF_THE_TABLES),
        "reader": "roles only",
    }  # fmt: skip


def softmax(z: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Along the last axis, same shape."""
    e = numpy.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


_SHARES = slice(FEATURES.index(f"share of {ROLES[0]} by rules"), FEATURES.index(f"share of {ROLES[-1]} by rules") + 1)
_OWN = FEATURES.index("own best log-odds")


def shares(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities of the roles by the rules alone, shape `(n, 5)`."""
    return rows[:, _SHARES]


def prior(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): What the rules say, as logits, shape `(n, 6)`: the roles' shares, and the odds that it is no name."""
    return numpy.concatenate([numpy.log(numpy.clip(rows[:, _SHARES], 1e-6, 1.0)), -rows[:, _OWN : _OWN + 1]], axis=1)


def told(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Whether each person's text tells of a story, shape `(n,)`."""
    return numpy.asarray(rows[:, _TELLS] >= 0.5)


def read_anew(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): The rows; where no story is told, with the detector's log-odds among the roles but CHARACTER."""
    read = rows[:, _READ].astype("f8")
    others = read[:, _OTHERS]
    most = others.max(axis=1, keepdims=True)
    among = numpy.full_like(read, _UNREAD)
    among[:, _OTHERS] = others - most - numpy.log(numpy.exp(others - most).mean(axis=1, keepdims=True))
    changed = rows.copy()
    changed[:, _READ] = numpy.where((told(rows) | ~read.any(axis=1))[:, None], rows[:, _READ], among)
    return changed


def without_characters(logits: numpy.ndarray, rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): The logits, shape `(n, 6)`; that of CHARACTER is -12 where no story is told."""
    logits = logits.copy()
    logits[~told(rows), _CHARACTER] = _NEVER
    return logits


def fit(
    rows: numpy.ndarray,
    allowed: numpy.ndarray,
    *,
    l2: float = 30.0,
    directions: int = 0,
    trust: float = 1.0,
    start: PersonModel | None = None,
) -> PersonModel:
    """Learn the weights: partial-label softmax regression, L-BFGS.

    rows (numpy.ndarray): Shape `(n, len(FEATURES) + width)`. allowed (numpy.ndarray): 1 for each class that a person may be, shape
        `(n, 6)`. Who can only be a character where no story is told is left out.
    l2 (float): Strength of the penalty on the squared weights, or on how far they go from those of `start`; a tenth of it on the bias.
    directions (int): Principal directions of the vectors that are read; 0 for none. With `start`, those are read that it reads.
    trust (float): Share of the rules' log-odds that is added; 1 where few people have to correct them. With `start`, it is that one's.
    start (PersonModel | None): A model to go on from.
    RETURNS (PersonModel): Trained. RAISES (PiiError): E306 without any row.
    """
    from scipy.optimize import minimize

    possible = told(rows) | (numpy.delete(allowed, _CHARACTER, axis=1).any(axis=1)) if len(rows) else numpy.zeros(0, dtype=bool)
    rows, allowed = rows[possible], allowed[possible]
    if not len(rows):
        raise PiiError(Errors.E306)
    model = start or _empty(rows, directions, trust)
    x = model.inputs(rows).astype("f8")
    offset = x @ model.weights + model.bias + model.trust * prior(rows)
    story = told(rows)
    free = numpy.ones(model.weights.shape)
    free[[_USED.index(FEATURES.index(name)) for name in OF_THE_TABLES], CLASSES.index(NOT_NAME)] = 0.0

    def loss(flat: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        w, b = flat[: -len(CLASSES)].reshape(free.shape) * free, flat[-len(CLASSES) :]
        p = softmax(without_characters(x @ w + b + offset, rows))
        held = p * allowed
        mass = numpy.maximum(held.sum(axis=1), 1e-12)
        d = p - held / mass[:, None]
        d[~story, _CHARACTER] = 0.0
        value = -numpy.log(mass).sum() + 0.5 * l2 * ((w**2).sum() + 0.1 * (b**2).sum())
        return value / len(x), numpy.concatenate([((x.T @ d + l2 * w) * free).ravel(), d.sum(axis=0) + 0.1 * l2 * b]) / len(x)

    zeros = numpy.zeros(x.shape[1] * len(CLASSES) + len(CLASSES))
    found: Any = minimize(loss, zeros, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weights = found.x[: -len(CLASSES)].reshape(free.shape) * free
    return replace(model, weights=model.weights + weights, bias=model.bias + found.x[-len(CLASSES) :])


def _empty(rows: numpy.ndarray, directions: int, trust: float) -> PersonModel:
    """RETURNS (PersonModel): Without weights, standardised on `rows`."""
    used = read_anew(rows)[:, _USED]
    mean, scale = used.mean(axis=0), numpy.maximum(used.std(axis=0), 1e-2)
    n = len(FEATURES)
    width = rows.shape[1] - n if directions else 0
    basis, centre = numpy.zeros((width, directions if width else 0)), numpy.zeros(width)
    if width:
        centre = rows[:, n:].mean(axis=0)
        _, values, axes = numpy.linalg.svd(rows[:, n:] - centre, full_matrices=False)
        basis = axes[:directions].T * (len(rows) ** 0.5 / numpy.maximum(values[:directions], 1e-6))
    k = len(CLASSES)
    return PersonModel(
        mean, scale, basis, centre, numpy.zeros((len(_USED) + basis.shape[1], k)), numpy.zeros(k), numpy.asarray(trust)
    )
