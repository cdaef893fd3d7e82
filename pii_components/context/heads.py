"""What reads the encoder's vectors: whose a person's name is, and whether a place, a school, a firm, a date or an age is somebody's.

    heads = Heads.from_bytes(data)
    heads.roles(doc.tensor, spans, owners, n_persons)       ->  log-probabilities, (n_persons, 6), columns as in `classifier.CLASSES`
    heads.owned(doc.tensor, [(3, 5, LOCATION)])             ->  log-odds that it is somebody's, (n_things,)

A person is read once, from all mentions: their vectors by attention and by their maximum, and the mean of the document. Trained by
scripts/two_heads.py, whose names of weights these are, or by `nlp.update`; computed in numpy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from itertools import accumulate
from typing import Any

import numpy
from thinc.api import NumpyOps, Optimizer
from threadpoolctl import ThreadpoolController

from ..errors import Errors, PiiError
from ..labels import AGE, DATE, EDUCATION, EMPLOYER, LOCATION
from ..ner.torch_encoder import RATE

# Columns of the second head; the first is a person's, whose roles have a head of their own.
OWNED = ("", LOCATION, EDUCATION, EMPLOYER, DATE, AGE)
WIDTH = 384  # of the encoder's vectors
SHAPES = {
    "attend": (1, WIDTH),
    "whose.0": (256, 3 * WIDTH),
    "whose.3": (6, 256),
    "owned.0": (128, 2 * WIDTH),
    "owned.3": (len(OWNED), 128),
}
_OPS = NumpyOps()
Span = tuple[int, int]
Backprop = Callable[[numpy.ndarray], numpy.ndarray]


@cache
def blas() -> ThreadpoolController:
    """RETURNS (ThreadpoolController): numpy's BLAS: of more threads than one the others wait busily, for products as small as these."""
    return ThreadpoolController().select(user_api="blas")


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """weights (dict[str, numpy.ndarray]): As scripts/two_heads.py names them, `(n_out, n_in)` and `(n_out,)`. gradients: Of them, summed up until
    `finish_update`."""

    weights: dict[str, numpy.ndarray]
    gradients: dict[str, numpy.ndarray] = field(default_factory=dict)

    def roles(
        self, vectors: numpy.ndarray, spans: Sequence[Span], owners: Any, n_persons: int
    ) -> numpy.ndarray:
        """Whose the names are.

        vectors (numpy.ndarray): Of all tokens, `(n_tokens, 384)`.
        spans (Sequence[Span]): Tokens of each mention, the end exclusive.
        owners (Sequence[int]): Person of each mention; everybody has one.
        RETURNS (numpy.ndarray): Log-probabilities, `(n_persons, 6)`.
        """
        return self.begin_roles(vectors, spans, owners, n_persons)[0]

    def begin_roles(
        self, vectors: numpy.ndarray, spans: Sequence[Span], owners: Any, n_persons: int
    ) -> tuple[numpy.ndarray, Backprop]:
        """RETURNS (tuple): As `roles`, and what makes of its gradient that of the vectors."""
        if not n_persons:
            return numpy.zeros((0, 6), dtype="f4"), lambda d: numpy.zeros_like(vectors)
        order = numpy.argsort(owners, kind="stable")
        named, to_vectors = _means(vectors, [spans[i] for i in order])
        owner = numpy.asarray(owners)[order]
        starts = first_of_each(owner)
        score, attended = self._linear("attend", named)
        score = score[:, 0]
        share = numpy.exp(score - numpy.maximum.reduceat(score, starts)[owner])
        share = share / numpy.add.reduceat(share, starts)[owner]
        mean = numpy.add.reduceat(named * share[:, None], starts)
        most = numpy.maximum.reduceat(named, starts)
        text = numpy.broadcast_to(vectors.mean(axis=0), mean.shape)
        logits, read = self._two_layers("whose", numpy.concatenate([mean, most, text], axis=1))
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_p = shifted - numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))

        def backprop(d: numpy.ndarray) -> numpy.ndarray:
            d_read = read(d - numpy.exp(log_p) * d.sum(axis=1, keepdims=True))
            d_mean, d_most, d_text = numpy.split(d_read, 3, axis=1)
            d_share = (named * d_mean[owner]).sum(axis=1)
            d_score = share * (d_share - numpy.add.reduceat(share * d_share, starts)[owner])
            largest = named == most[owner]
            ties = numpy.add.reduceat(largest.astype("f4"), starts)
            d_named = share[:, None] * d_mean[owner] + attended(d_score[:, None])
            return to_vectors(d_named + largest * (d_most / ties)[owner]) + _spread(d_text, vectors)

        return numpy.asarray(log_p, dtype="f4"), backprop

    def owned(
        self, vectors: numpy.ndarray, things: Sequence[tuple[int, int, str]]
    ) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Log-odds that each thing is somebody's, `(n_things,)`. things: Tokens and label of each."""
        return self.begin_owned(vectors, things)[0]

    def begin_owned(
        self, vectors: numpy.ndarray, things: Sequence[tuple[int, int, str]]
    ) -> tuple[numpy.ndarray, Backprop]:
        """RETURNS (tuple): As `owned`, and what makes of its gradient that of the vectors."""
        if not things:
            return numpy.zeros(0, dtype="f4"), lambda d: numpy.zeros_like(vectors)
        named, to_vectors = _means(vectors, [(start, end) for start, end, _ in things])
        text = numpy.broadcast_to(vectors.mean(axis=0), named.shape)
        logits, read = self._two_layers("owned", numpy.concatenate([named, text], axis=1))
        at = numpy.arange(len(things)), [OWNED.index(label) for *_, label in things]

        def backprop(d: numpy.ndarray) -> numpy.ndarray:
            d_logits = numpy.zeros_like(logits)
            d_logits[at] = d
            d_named, d_text = numpy.split(read(d_logits), 2, axis=1)
            return to_vectors(d_named) + _spread(d_text, vectors)

        return numpy.asarray(logits[at]), backprop

    def finish_update(self, optimizer: Optimizer) -> None:
        """Change the weights by the gradients, at a tenth of the optimizer's rate, as the encoder's that they were trained with."""
        for name, gradient in self.gradients.items():
            old: Any = self.weights[name]
            slope: Any = numpy.asarray(gradient, dtype="f4")
            self.weights[name] = optimizer((id(self), name), old, slope, lr_scale=RATE)[0]
        self.gradients.clear()

    def _linear(self, name: str, x: numpy.ndarray) -> tuple[numpy.ndarray, Backprop]:
        weight, bias = f"{name}.weight", f"{name}.bias"

        def backprop(d: numpy.ndarray) -> numpy.ndarray:
            for key, gradient in ((weight, d.T @ x), (bias, d.sum(axis=0))):
                self.gradients[key] = self.gradients.get(key, 0.0) + gradient
            return numpy.asarray(d @ self.weights[weight])

        # In this order BLAS is twice as fast for a few rows.
        return (self.weights[weight] @ x.T).T + self.weights[bias], backprop

    def _two_layers(self, name: str, x: numpy.ndarray) -> tuple[numpy.ndarray, Backprop]:
        hidden, first = self._linear(f"{name}.0", x)
        y, second = self._linear(f"{name}.3", _OPS.gelu(hidden))
        return y, lambda d: first(_OPS.backprop_gelu(second(d), hidden))

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


def _means(vectors: numpy.ndarray, spans: Sequence[Span]) -> tuple[numpy.ndarray, Backprop]:
    rows = [i for start, end in spans for i in range(start, end)]
    many = [end - start for start, end in spans]
    lengths = numpy.asarray(many, dtype="f4")[:, None]

    def backprop(d: numpy.ndarray) -> numpy.ndarray:
        found = numpy.zeros_like(vectors)
        numpy.add.at(found, rows, (d / lengths).repeat(many, axis=0))
        return found

    return numpy.add.reduceat(vectors[rows], [0, *accumulate(many[:-1])]) / lengths, backprop


def first_of_each(owner: numpy.ndarray) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Where the rows of each owner begin, `(n_owners,)`. owner (numpy.ndarray): Of each row, sorted; everybody has one."""
    return numpy.flatnonzero(numpy.diff(owner, prepend=-1))


def _spread(d_text: numpy.ndarray, vectors: numpy.ndarray) -> numpy.ndarray:
    """The gradient of each vector from that of their mean, which each row read."""
    return numpy.asarray(d_text.sum(axis=0, keepdims=True) / len(vectors), dtype="f4")
