"""The trained classifier of `pii_context`: from what is seen of a person to calibrated probabilities of the roles.

    model = PersonModel.from_bytes(data)
    model.predict(rows)                  ->  shape (n_persons, 6): five roles, and "no name"

A linear softmax over standardised features and, if it was trained so, over a few directions of the pooled encoder vectors, added to what
the rules say: their log-odds are the prior, and the penalty on the weights draws towards them, since labelled people are few. `fit` learns
from gold that may be partial: CRAPII says who is a student and of nobody else who they are.
"""

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import numpy

from .context_cues import NOT_NAME
from .context_features import FEATURES
from .errors import Errors, PiiError
from .labels import ROLES

CLASSES: tuple[str, ...] = (*ROLES, NOT_NAME)


@dataclass(frozen=True, slots=True, eq=False)
class PersonModel:
    """Weights.

    mean, scale (numpy.ndarray): Of the features, shape `(n_features,)`. basis (numpy.ndarray): Directions of the vectors, shape
        `(width, n_directions)`; both may be 0. centre (numpy.ndarray): Mean vector, shape `(width,)`.
    weights (numpy.ndarray): Shape `(n_features + n_directions, 6)`. bias (numpy.ndarray): Shape `(6,)`.
    """

    mean: numpy.ndarray
    scale: numpy.ndarray
    basis: numpy.ndarray
    centre: numpy.ndarray
    weights: numpy.ndarray
    bias: numpy.ndarray

    @property
    def width(self) -> int:
        """RETURNS (int): Width of the encoder vectors that it reads; 0 if it reads none."""
        return int(self.basis.shape[0])

    def inputs(self, rows: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Standardised features and projected vectors of `rows`, shape `(n, n_features + n_directions)`."""
        n = len(FEATURES)
        if rows.shape[1] < n + self.width:
            raise PiiError(Errors.E305, got=rows.shape[1], wanted=n + self.width)
        x = numpy.clip((rows[:, :n] - self.mean) / self.scale, -5.0, 5.0)
        return numpy.concatenate([x, (rows[:, n : n + self.width] - self.centre) @ self.basis], axis=1)

    def predict(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Probabilities.

        rows (numpy.ndarray): What `context_features.features` returned, shape `(n_persons, len(FEATURES) + width)`.
        RETURNS (numpy.ndarray): Shape `(n_persons, 6)`, columns as in `CLASSES`. RAISES (PiiError): E305 for rows that are too short.
        """
        return softmax(self.inputs(rows) @ self.weights + self.bias + prior(rows))

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): numpy's .npz, with the names of features and classes."""
        buffer = BytesIO()
        names = numpy.frombuffer(json.dumps({"features": FEATURES, "classes": CLASSES}).encode(), dtype="u1")
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
        if names != {"features": list(FEATURES), "classes": list(CLASSES)}:
            raise PiiError(Errors.E304, reason="it was trained on other features")
        return model


def softmax(z: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Along the last axis, same shape."""
    e = numpy.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


_SHARES = slice(FEATURES.index(f"share of {ROLES[0]} by rules"), FEATURES.index(f"share of {ROLES[-1]} by rules") + 1)
_OWN = FEATURES.index("own best log-odds")


def prior(rows: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): What the rules say, as logits, shape `(n, 6)`: the roles' shares, and the odds that it is no name."""
    return numpy.concatenate([numpy.log(numpy.clip(rows[:, _SHARES], 1e-6, 1.0)), -rows[:, _OWN : _OWN + 1]], axis=1)


def fit(
    rows: numpy.ndarray, allowed: numpy.ndarray, sample_weights: numpy.ndarray, *, l2: float = 100.0, directions: int = 0
) -> PersonModel:
    """Learn the weights: partial-label softmax regression, L-BFGS.

    rows (numpy.ndarray): Shape `(n, len(FEATURES) + width)`. allowed (numpy.ndarray): 1 for each class that a person may be, shape
        `(n, 6)`. sample_weights (numpy.ndarray): Shape `(n,)`.
    l2 (float): Strength of the penalty on the squared weights; a tenth of it on the bias. directions (int): Principal directions of the vectors
        that are read; 0 for none.
    RETURNS (PersonModel): Trained. RAISES (PiiError): E306 without any row.
    """
    from scipy.optimize import minimize

    if not len(rows):
        raise PiiError(Errors.E306)
    n = len(FEATURES)
    mean, scale = rows[:, :n].mean(axis=0), numpy.maximum(rows[:, :n].std(axis=0), 1e-2)
    width = rows.shape[1] - n if directions else 0
    basis, centre = numpy.zeros((width, directions if width else 0)), numpy.zeros(width)
    if width:
        centre = rows[:, n:].mean(axis=0)
        _, values, axes = numpy.linalg.svd(rows[:, n:] - centre, full_matrices=False)
        basis = axes[:directions].T * (len(rows) ** 0.5 / numpy.maximum(values[:directions], 1e-6))
    empty = PersonModel(mean, scale, basis, centre, numpy.zeros((n + basis.shape[1], len(CLASSES))), numpy.zeros(len(CLASSES)))
    x = empty.inputs(rows).astype("f8")
    offset = prior(rows).astype("f8")
    total = sample_weights.sum()

    def loss(flat: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        w, b = flat[: -len(CLASSES)].reshape(x.shape[1], -1), flat[-len(CLASSES) :]
        p = softmax(x @ w + b + offset)
        held = p * allowed
        mass = numpy.maximum(held.sum(axis=1), 1e-12)
        d = (p - held / mass[:, None]) * sample_weights[:, None]
        value = -(sample_weights * numpy.log(mass)).sum() + 0.5 * l2 * ((w**2).sum() + 0.1 * (b**2).sum())
        return value / total, numpy.concatenate([(x.T @ d + l2 * w).ravel(), d.sum(axis=0) + 0.1 * l2 * b]) / total

    start = numpy.zeros(x.shape[1] * len(CLASSES) + len(CLASSES))
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weights = found.x[: -len(CLASSES)].reshape(x.shape[1], -1)
    return PersonModel(mean, scale, basis, centre, weights, found.x[-len(CLASSES) :])
