"""The classifier of `pii_context`: calibrated probabilities of five roles, and "no name", for each person of a document.

    model.predict(rows)                  # (n_persons, 6), columns as in CLASSES
    model.reason(row, "CITED")           # "cited: a year follows"

A linear softmax over standardised features (`features`), learned from annotated texts (scripts/classifier.py). Reasons are its own
strongest features.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy
from thinc.api import Optimizer

from ..errors import Errors, PiiError
from ..labels import ROLES
from ..ner.torch_encoder import RATE
from .features import features, reason_of
from .heads import OWNED

NOT_NAME = "NOT_NAME"
CLASSES: tuple[str, ...] = (*ROLES, NOT_NAME)
_SAVED = ("mean", "scale", "weights", "bias", "owned")
_MOST = 4.0  # standard deviations beyond which a feature says nothing new


@dataclass(frozen=True, slots=True, eq=False)
class PersonModel:
    """mean, scale (numpy.ndarray): Of the features, `(n_features,)`. weights: `(n_features, 6)`. bias: `(6,)`. owned: scale and shift of the log-odds
    that a thing is somebody's, `(6, 2)`, rows as in `heads.OWNED`. gradients: Of weights and bias, summed up until `finish_update`."""

    mean: numpy.ndarray
    scale: numpy.ndarray
    weights: numpy.ndarray
    bias: numpy.ndarray
    owned: numpy.ndarray = field(default_factory=lambda: numpy.tile([1.0, 0.0], (len(OWNED), 1)))
    gradients: dict[str, numpy.ndarray] = field(default_factory=dict)

    def somebodys(self, log_odds: numpy.ndarray, labels: Sequence[str]) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Probability that each thing is somebody's, `(n_things,)`. log_odds: Of `Heads.owned`."""
        scale, shift = self.owned[[OWNED.index(label) for label in labels]].T
        return numpy.asarray(1 / (1 + numpy.exp(-(scale * log_odds + shift))))

    def inputs(self, rows: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Standardised and clipped, shape as rows; what is not known (NaN) is as usual."""
        known = numpy.where(numpy.isnan(rows), self.mean, rows)
        return numpy.ascontiguousarray(numpy.clip((known - self.mean) / self.scale, -_MOST, _MOST))

    def predict(self, rows: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Probabilities, shape `(n_persons, 6)`, columns as in `CLASSES`."""
        return self.begin_update(rows)[0]

    def begin_update(
        self, rows: numpy.ndarray
    ) -> tuple[numpy.ndarray, Callable[[numpy.ndarray], numpy.ndarray]]:
        """RETURNS (tuple): As `predict`, and what makes of the gradient of the logits that of the rows; 0 where a row says nothing new."""
        x = self.inputs(rows)

        def backprop(d_logits: numpy.ndarray) -> numpy.ndarray:
            for key, gradient in (("weights", x.T @ d_logits), ("bias", d_logits.sum(axis=0))):
                self.gradients[key] = self.gradients.get(key, 0.0) + gradient
            inside = (numpy.abs(x) < _MOST) & ~numpy.isnan(rows)
            return numpy.asarray(d_logits @ self.weights.T * inside / self.scale)

        return softmax(x @ self.weights + self.bias), backprop

    def finish_update(self, optimizer: Optimizer) -> None:
        """Change weights and bias by the gradients, at the rate of the heads: a few people teach little."""
        for name, gradient in self.gradients.items():
            old: Any = getattr(self, name)
            slope: Any = numpy.asarray(gradient, dtype="f4")
            old[:] = optimizer((id(self), name), old.astype("f4"), slope, lr_scale=RATE)[0]
        self.gradients.clear()

    def reason(self, row: numpy.ndarray, role: str) -> str:
        """RETURNS (str): One line on why somebody has a role: what of them speaks most for it, against the mean of the other classes."""
        column = CLASSES.index(role)
        contrast = self.weights[:, column] - (
            self.weights.sum(axis=1) - self.weights[:, column]
        ) / (len(CLASSES) - 1)
        pull = self.inputs(row[None])[0] * contrast
        for n in numpy.argsort(-pull):
            if pull[n] <= 0:
                break
            if row[n] > 0 and (said := reason_of(features()[n])):
                return f"{role.lower()}: {said}"
        return unexplained(role)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): numpy's .npz, with the names of features and classes."""
        buffer = BytesIO()
        names = numpy.frombuffer(json.dumps([features(), CLASSES]).encode(), dtype="u1")
        arrays: dict[str, Any] = {
            key: numpy.asarray(getattr(self, key), dtype="f4") for key in _SAVED
        }
        numpy.savez_compressed(buffer, names=names, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "PersonModel":
        """RETURNS (PersonModel): What `to_bytes` wrote. RAISES (PiiError): E304, if unreadable, or trained on features of another version."""
        try:
            with numpy.load(BytesIO(data), allow_pickle=False) as arrays:
                names = json.loads(bytes(arrays["names"]))
                model = cls(**{key: arrays[key] for key in _SAVED})
        except Exception as err:  # of broken bytes, zlib, zipfile and numpy raise what they like
            raise PiiError(Errors.E304, what="classifier", task="train") from err
        if names != [list(features()), list(CLASSES)] or model.weights.shape != (
            len(features()),
            len(CLASSES),
        ):
            raise PiiError(Errors.E304, what="classifier", task="train")
        return model


def unexplained(role: str) -> str:
    return f"{role.lower()}: reads like it, to the model"


def softmax(logits: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities, row by row."""
    shifted = numpy.exp(
        logits - logits.max(axis=1, keepdims=True)
    )  # of a row of six there is always a largest
    return numpy.asarray(shifted / shifted.sum(axis=1, keepdims=True))
