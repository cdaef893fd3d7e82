"""The encoder while it learns, and on a GPU: the weights of an ONNX graph in torch, and back.

    encoder = TorchEncoder(graph)
    vectors, backprop = encoder.begin_update(windows, drop=0.1)
    backprop(d_vectors)
    encoder.finish_update(optimizer)
    encoder.to_graph()

Vectors of words and positions stay as they are. Only this module needs torch, and only training and a GPU need it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy
from thinc.api import Optimizer, get_torch_default_device, torch2xp, xp2torch
from thinc.types import Floats2d

from ..errors import imported
from .graph import (
    CASES,
    PLACES,
    PREFIX,
    SEGMENTS,
    WORDS,
    count_layers,
    encoder_graph,
    encoder_state,
    n_heads,
)
from .layers import CASE_STEP

FROZEN = (WORDS, PLACES, SEGMENTS)
# Of the optimizer's rate. What reads the vectors learns faster than what makes them (Howard and Ruder 2018, section 3.2).
RATE = 0.1
_EPSILON = 1e-12
# Word pieces, those that pad too, that are read at once.
_PIECES = 16_384
_NO_CASE = 5  # a sign's, of the pieces that pad


class TorchEncoder:
    """graph (bytes): Of `graph.encoder_graph`. RAISES (PiiError): E005 without torch, or without onnx."""

    def __init__(self, graph: bytes) -> None:
        self.torch = imported("torch", "training an encoder, or a GPU,", "train")
        self.heads = n_heads(graph)
        device = get_torch_default_device()
        self.weights: dict[str, Any] = {
            name: self.torch.tensor(value, device=device, requires_grad=name not in FROZEN)
            for name, value in encoder_state(graph).items()
        }

    def to_graph(self) -> bytes:
        """RETURNS (bytes): The weights as they are now, as `graph.encoder_graph` writes them."""
        state = {name: value.detach().cpu().numpy() for name, value in self.weights.items()}
        # To the nearest, what moved less than half a step would be back where it was.
        chance = numpy.random.default_rng(0)
        return encoder_graph(state, heads=self.heads, epsilon=_EPSILON, chance=chance)

    def predict(self, windows: Sequence[Any]) -> list[Floats2d]:
        """Read windows of about one length together.

        RETURNS (list[Floats2d]): Per window of piece ids, each of shape `(n_pieces,)`, a `(n_pieces, width)` array.
        """
        found: dict[int, Floats2d] = {}
        with self.torch.no_grad():
            for batch in _batches(list(map(len, windows))):
                read = [windows[n] for n in batch]
                found.update(zip(batch, _parts(self._encode(read, 0.0), read), strict=True))
        return [found[n] for n in range(len(windows))]

    def begin_update(
        self, windows: Sequence[Any], *, drop: float = 0.0
    ) -> tuple[list[Floats2d], Callable[[Sequence[Floats2d]], None]]:
        """RETURNS (tuple): As `predict`, and what takes the gradient of each window. drop (float): Dropout, 0 to 1."""
        vectors = self._encode(windows, drop)

        def backprop(d_windows: Sequence[Floats2d]) -> None:
            gradient = self.torch.zeros_like(vectors)
            for n, d_window in enumerate(d_windows):
                gradient[n, : len(d_window)] = xp2torch(d_window, device=vectors.device)
            vectors.backward(gradient)

        return _parts(vectors.detach(), windows), backprop

    def finish_update(self, optimizer: Optimizer) -> None:
        """Change the weights by the gradients that were summed up, at a tenth of the optimizer's rate (`RATE`)."""
        for name, value in self.weights.items():
            if value.grad is not None:
                old: Any = torch2xp(value.data)
                slope: Any = torch2xp(value.grad)
                changed, _ = optimizer((id(self), name), old, slope, lr_scale=RATE)
                value.data = xp2torch(changed, device=value.device)
                value.grad = None

    def _encode(self, windows: Sequence[Any], drop: float) -> Any:
        """Vectors `(n_windows, n_pieces, width)`; those behind the end of a window mean nothing."""
        torch, functional, w = self.torch, self.torch.nn.functional, self.weights
        device = w[WORDS].device
        sizes = torch.tensor([len(ids) for ids in windows], device=device)
        longest = int(sizes.max())
        ids = torch.full((len(windows), longest), CASE_STEP * _NO_CASE, device=device)
        for n, window in enumerate(windows):
            ids[n, : len(window)] = torch.as_tensor(window, device=device)
        mask = (torch.arange(longest, device=device)[None] < sizes[:, None])[:, None, None]

        def dropped(x: Any) -> Any:
            return functional.dropout(x, drop, training=drop > 0)

        def linear(x: Any, name: str) -> Any:
            return functional.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

        def norm(x: Any, name: str) -> Any:
            return functional.layer_norm(
                x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], _EPSILON
            )

        x = w[WORDS][ids % CASE_STEP] + w[PLACES][:longest] + w[SEGMENTS][0]
        if CASES in w:
            x = x + w[CASES][ids // CASE_STEP]
        x = dropped(norm(x, f"{PREFIX}embeddings.layer_norm"))
        for n in range(count_layers(w)):
            at = f"{PREFIX}layers.{n}."
            parts = linear(x, f"{at}mha.input").view(*x.shape[:2], 3, self.heads, -1)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            mixed = linear(mixed.transpose(1, 2).reshape(x.shape), f"{at}mha.output")
            x = norm(x + dropped(mixed), f"{at}attn_output_layernorm")
            inner = functional.gelu(linear(x, f"{at}ffn.intermediate"))
            x = norm(x + dropped(linear(inner, f"{at}ffn.output")), f"{at}ffn_output_layernorm")
        return x


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """YIELDS (list[int]): Numbers of windows, the longest first, that have up to `_PIECES` pieces when they are padded."""
    order = sorted(range(len(sizes)), key=lambda n: -sizes[n])
    while order:
        n = max(1, _PIECES // max(1, sizes[order[0]]))
        yield order[:n]
        order = order[n:]


def _parts(vectors: Any, windows: Sequence[Any]) -> list[Floats2d]:
    return [cast(Floats2d, torch2xp(vectors[n, : len(ids)])) for n, ids in enumerate(windows)]
