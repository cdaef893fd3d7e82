"""The trained classifier of `pii_context`: `PersonModel.predict(rows)` gives calibrated probabilities of five roles, and "no name".

A linear softmax over standardised features, added to a share of what the rules say. Nobody is a character where the text tells of no story.
`fit` learns from gold that may be partial (CRAPII says who is a student and of nobody else who they are), and can go on from a model that was
fitted to other essays.
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


@dataclass(frozen=True, slots=True)
class Examined:
    """What is known of a document before it is decided. others: what is no name; weighed: per person; tells: whether the text tells of a story."""

    view: DocView
    others: list[Candidate]
    people: People
    weighed: list[Weighed]
    tells: bool

    def rows(self, read: numpy.ndarray | None = None) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): One row per person for `PersonModel`, shape `(n_persons, len(FEATURES))`.

        read (numpy.ndarray | None): By the role encoder, shape `(n_persons, 6)`. It cannot tell whether something is a name, nor who is a
        character where nothing tells of a story: real people are told of like figures, too."""
        anchored = [any(e.anchor and e.role == STUDENT for e in w.evidence) for w in self.weighed]
        if read is not None:
            read = without(read, NOT_NAME, *(() if self.tells else (CHARACTER,)))
        reading = [None] * len(self.weighed) if read is None else list(read)
        found = [
            features(self.view, self.people, self.weighed, n, anchored=anchored, tells=self.tells, read=reading[n])
            for n in range(len(self.weighed))
        ]
        return numpy.stack(found) if found else numpy.zeros((0, 0), dtype="f4")


def without(read: numpy.ndarray, *classes: str) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Log-probabilities, shape `(n_persons, 6)`, some classes left out, their probability dealt out evenly."""
    chances = numpy.exp(read.astype("f8"))
    out = [SIDES.index(name) for name in classes]
    dealt = chances + chances[:, out].sum(axis=1, keepdims=True) / (chances.shape[1] - len(out))
    dealt[:, out] = 0.0
    return numpy.asarray(numpy.log(numpy.maximum(dealt, 1e-9)), dtype="f4")


CLASSES: tuple[str, ...] = (*ROLES, NOT_NAME)
# Features of the text rather than of the person: weights on these say "many mentions, so a character", which is wrong of a student who is
# told of in the third person, since our own essays are shorter and name more people more often than real ones.
OF_THE_TEXT: tuple[str, ...] = ("mean score", "mentions", "first at", "last at", "persons in text", "length")
# Names of some parts of the world stand in tables less often: that one does not stand there is no reason to call it no name.
OF_THE_TABLES: tuple[str, ...] = ("given in table", "surname in table", "whole in table", "common word")
TRUST = 0.25  # with many people to learn from, what the rules weigh is learned from their evidence; this is what stays
_USED = [n for n, name in enumerate(FEATURES) if name not in OF_THE_TEXT]
_READ = [FEATURES.index(f"model {role}") for role in ROLES]
_TELLS = FEATURES.index("tells a story")
_SHARES = slice(FEATURES.index(f"share of {ROLES[0]} by rules"), FEATURES.index(f"share of {ROLES[-1]} by rules") + 1)
_OWN = FEATURES.index("own best log-odds")
_CHARACTER = CLASSES.index(CHARACTER)
_OTHERS = [n for n, role in enumerate(ROLES) if role != CHARACTER]
_NEVER = -12.0  # logit of a character where no story is told
_UNREAD = -8.0  # log-odds of the detector for a character there


@dataclass(frozen=True, slots=True, eq=False)
class PersonModel:
    """Weights. mean, scale: of the features but `OF_THE_TEXT`, `(n_features,)`. weights: `(n_features, 6)`. bias: `(6,)`. trust: share of the
    rules' log-odds that is added, `()`."""

    mean: numpy.ndarray
    scale: numpy.ndarray
    weights: numpy.ndarray
    bias: numpy.ndarray
    trust: numpy.ndarray

    def inputs(self, rows: numpy.ndarray) -> numpy.ndarray:
        x = numpy.clip((read_anew(rows)[:, _USED] - self.mean) / self.scale, -5.0, 5.0)
        return numpy.ascontiguousarray(x)  # the order in memory decides the last bits of a product

    def predict(self, rows: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Probabilities, shape `(n_persons, 6)`, columns as in `CLASSES`."""
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
        """RETURNS (PersonModel): What `to_bytes` wrote. RAISES (PiiError): E304, if unreadable, or trained on features of another version."""
        try:
            with numpy.load(BytesIO(data), allow_pickle=False) as arrays:
                names = json.loads(bytes(arrays["names"]))
                model = cls(**{key: arrays[key] for key in cls.__dataclass_fields__})
        except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as err:
            raise PiiError(Errors.E304, reason=type(err).__name__) from err
        if names != _form() or model.weights.shape != (len(_USED), len(CLASSES)):
            raise PiiError(Errors.E304, reason="it was trained on other features")
        return model


def _form() -> dict[str, Any]:
    return {
        "features": list(FEATURES), "classes": list(CLASSES), "left out": list(OF_THE_TEXT), "of the tables": list(OF_THE_TABLES),
        "reader": "roles only",
    }  # fmt: skip


def softmax(z: numpy.ndarray) -> numpy.ndarray:
    e = numpy.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def shares(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities of the roles by the rules alone, shape `(n, 5)`."""
    return rows[:, _SHARES]


def prior(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): What the rules say, as logits, shape `(n, 6)`: the roles' shares, and the odds that it is no name."""
    return numpy.concatenate([numpy.log(numpy.clip(rows[:, _SHARES], 1e-6, 1.0)), -rows[:, _OWN : _OWN + 1]], axis=1)


def told(rows: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(rows[:, _TELLS] >= 0.5)


def read_anew(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): The rows; where no story is told, with the detector's log-odds among the roles but CHARACTER."""
    read = rows[:, _READ].astype("f8")
    others = read[:, _OTHERS]
    others -= others.max(axis=1, keepdims=True)
    among = numpy.full_like(read, _UNREAD)
    among[:, _OTHERS] = others - numpy.log(numpy.exp(others).mean(axis=1, keepdims=True))
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
    trust: float = 1.0,
    start: PersonModel | None = None,
) -> PersonModel:
    """Learn the weights: partial-label softmax regression, L-BFGS.

    rows (numpy.ndarray): Shape `(n, len(FEATURES))`. allowed (numpy.ndarray): 1 for each class that a person may be, shape `(n, 6)`.
        Who can only be a character where no story is told is left out.
    l2 (float): Penalty on the squared weights, or on how far they go from those of `start`; a tenth of it on the bias.
    trust (float): Share of the rules' log-odds that is added; with `start`, it is that one's.
    RETURNS (PersonModel): Trained. RAISES (PiiError): E306 without any row."""
    from scipy.optimize import minimize

    possible = told(rows) | (numpy.delete(allowed, _CHARACTER, axis=1).any(axis=1)) if len(rows) else numpy.zeros(0, dtype=bool)
    rows, allowed = rows[possible], allowed[possible]
    if not len(rows):
        raise PiiError(Errors.E306)
    model = start or _empty(rows, trust)
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


def _empty(rows: numpy.ndarray, trust: float) -> PersonModel:
    used, k = read_anew(rows)[:, _USED], len(CLASSES)
    weights, bias = numpy.zeros((len(_USED), k)), numpy.zeros(k)
    return PersonModel(used.mean(axis=0), numpy.maximum(used.std(axis=0), 1e-2), weights, bias, numpy.asarray(trust))
