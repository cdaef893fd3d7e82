"""What reads the encoder's vectors: whose a person's name is, and whether a place, a school, a firm, a date or an age is somebody's.

    heads = Heads.from_bytes(data)
    heads.roles(doc.tensor, spans, owners, n_persons)       ->  log-probabilities, (n_persons, 6), columns as in `classifier.CLASSES`
    heads.owned(doc.tensor, [(3, 5, LOCATION)])             ->  log-odds that it is somebody's, (n_things,)

A person is read once, from all mentions: their vectors by attention and by their maximum, and the mean of the document. Trained by
scripts/two_heads.py, whose names of weights these are; computed in numpy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy

from ..errors import Errors, PiiError
from ..labels import AGE, DATE, EDUCATION, EMPLOYER, LOCATION

# Columns of the second head; the first is a person's, whose roles have a head of their own.
OWNED = ("", LOCATION, EDUCATION, EMPLOYER, DATE, AGE)
SHAPES = {
    "attend": (1, 384),
    "whose.0": (256, 1152),
    "whose.3": (6, 256),
    "owned.0": (128, 768),
    "owned.3": (len(OWNED), 128),
}
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """weights (dict[str, numpy.ndarray]): As scripts/two_heads.py names them, `(n_out, n_in)` and `(n_out,)`."""

    weights: dict[str, numpy.ndarray]

    def roles(
        self, vectors: numpy.ndarray, spans: Sequence[Span], owners: Sequence[int], n_persons: int
    ) -> numpy.ndarray:
        """Whose the names are.

        vectors (numpy.ndarray): Of all tokens, `(n_tokens, 384)`.
        spans (Sequence[Span]): Tokens of each mention, the end exclusive.
        owners (Sequence[int]): Person of each mention; everybody has one.
        RETURNS (numpy.ndarray): Log-probabilities, `(n_persons, 6)`.
        """
        if not n_persons:
            return numpy.zeros((0, 6), dtype="f4")
        named = _means(vectors, spans)
        score = self._linear("attend", named)[:, 0]
        owner = numpy.asarray(owners)
        top = numpy.full(n_persons, -numpy.inf, dtype="f4")
        numpy.maximum.at(top, owner, score)
        weight = numpy.exp(score - top[owner])
        total = numpy.zeros(n_persons, dtype="f4")
        numpy.add.at(total, owner, weight)
        mean = numpy.zeros((n_persons, named.shape[1]), dtype="f4")
        numpy.add.at(mean, owner, named * (weight / total[owner])[:, None])
        most = numpy.full_like(mean, -numpy.inf)
        numpy.maximum.at(most, owner, named)
        text = numpy.broadcast_to(vectors.mean(axis=0), mean.shape)
        logits = self._two_layers("whose", numpy.concatenate([mean, most, text], axis=1))
        shifted = logits - logits.max(axis=1, keepdims=True)
        return numpy.asarray(
            shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True)), dtype="f4"
        )

    def owned(
        self, vectors: numpy.ndarray, things: Sequence[tuple[int, int, str]]
    ) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Log-odds that each thing is somebody's, `(n_things,)`. things: Tokens and label of each."""
        if not things:
            return numpy.zeros(0, dtype="f4")
        named = _means(vectors, [(start, end) for start, end, _ in things])
        text = numpy.broadcast_to(vectors.mean(axis=0), named.shape)
        logits = self._two_layers("owned", numpy.concatenate([named, text], axis=1))
        column = [OWNED.index(label) for *_, label in things]
        return numpy.asarray(logits[numpy.arange(len(things)), column])

    def _linear(self, name: str, x: numpy.ndarray) -> numpy.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _two_layers(self, name: str, x: numpy.ndarray) -> numpy.ndarray:
        return self._linear(f"{name}.3", gelu(self._linear(f"{name}.0", x)))

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): numpy's .npz, in half precision."""
        buffer = BytesIO()
        kept: dict[str, Any] = {name: value.astype("f2") for name, value in self.weights.items()}
        numpy.savez_compressed(buffer, **kept)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Heads":
        """RETURNS (Heads): What `to_bytes` wrote. RAISES (PiiError): E304, if it cannot be read, or has other shapes."""
        try:
            with numpy.load(BytesIO(data), allow_pickle=False) as arrays:
                weights = {name: arrays[name].astype("f4") for name in arrays.files}
            fits = all(
                weights[f"{name}.weight"].shape == shape
                and len(weights[f"{name}.bias"]) == shape[0]
                for name, shape in SHAPES.items()
            )
        except Exception as err:  # of broken bytes, zlib, zipfile and numpy raise what they like
            raise PiiError(Errors.E304, what="heads", task="train") from err
        if not fits:
            raise PiiError(Errors.E304, what="heads", task="train")
        return cls(weights)


def _means(vectors: numpy.ndarray, spans: Sequence[Span]) -> numpy.ndarray:
    return numpy.stack([vectors[start:end].mean(axis=0) for start, end in spans])


def gelu(x: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): x times the normal distribution at x; its error function is formula 7.1.26 of Abramowitz and Stegun (1964), which
    is exact to 1.5e-7."""
    z = numpy.abs(x) / numpy.sqrt(2.0)
    t = 1 / (1 + 0.3275911 * z)
    series = 0.254829592 + t * (
        -0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))
    )
    erf = numpy.sign(x) * (1 - t * series * numpy.exp(-z * z))
    return numpy.asarray(0.5 * x * (1 + erf), dtype=x.dtype)
