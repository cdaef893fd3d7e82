"""The encoder without torch: `pii_edu.OnnxEncoder.v1` stands in for the curated transformer when a trained pipeline is used.

Same pieces, same windows, same pooling, and the same names in the config; only what runs a window is onnxruntime. A vector per token goes
into `doc.tensor`, where `pii_edu.EncoderVectors.v1` and `pii_context` find it. `pii_components.training.package` makes it from a trained
pipeline. Its weights do not change in training: train with a curated transformer.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, cast

import numpy
from spacy.tokens import Doc
from thinc.api import Model, Ragged, Shim
from thinc.types import Floats2d

from .. import keep_offline
from ..errors import Errors, PiiError


class EncoderOutput:
    """What an encoder hands to `pii_edu.WithWindows.v1`: per window and layer an `(n_pieces, width)` array or a Ragged; here the last layer only."""

    def __init__(self, *, outputs: list[list[Any]], last_layer_only: bool = True) -> None:
        self.all_outputs = outputs
        self.last_layer_only = last_layer_only


def threads_at_hand() -> int:
    """RETURNS (int): OMP_NUM_THREADS where it is set, as torch has it; else the processors that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OnnxShim(Shim):
    """An ONNX graph, and the session that runs it: made when it is first needed, and again in a forked process.

    Each window is run alone, so that nothing is padded and no numbers depend on neighbours in a batch. Windows run beside each other in
    threads of ours; onnxruntime itself gets one, which makes it safe to fork."""

    def __init__(self, graph: bytes = b"", *, threads: int = 0) -> None:
        super().__init__(None, {"threads": threads})
        self.graph = graph
        self._session: Any = None
        self._process = 0

    def session(self) -> Any:
        """RETURNS (onnxruntime.InferenceSession): Of this process. RAISES (PiiError): E005 without onnxruntime, E109 without a graph."""
        if self._session is None or self._process != os.getpid():
            if not self.graph:
                raise PiiError(Errors.E109)
            keep_offline()
            try:
                import onnxruntime
            except ImportError as err:
                raise PiiError(
                    Errors.E005,
                    package="onnxruntime",
                    what="this pipeline's encoder",
                    extra="train",
                ) from err
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.enable_mem_pattern = False  # windows differ in length
            options.log_severity_level = 3
            self._session = onnxruntime.InferenceSession(
                self.graph, options, providers=["CPUExecutionProvider"]
            )
            self._process = os.getpid()
        return self._session

    def run(self, windows: Sequence[numpy.ndarray]) -> list[Floats2d]:
        """RETURNS (list[Floats2d]): Per window of piece ids, each of shape `(n_pieces,)`, a `(n_pieces, width)` array."""
        session = self.session()

        def one(ids: numpy.ndarray) -> Any:
            return session.run(None, {"ids": ids.astype("int64")})[0]

        threads = min(self.cfg["threads"] or threads_at_hand(), len(windows))
        if threads < 2:
            return [one(ids) for ids in windows]
        pool = ThreadPoolExecutor(threads)
        try:
            return list(pool.map(one, windows))
        finally:
            pool.shutdown(
                cancel_futures=True
            )  # a signal does not wait for the windows that have not begun

    def to_bytes(self) -> bytes:
        return self.graph

    def from_bytes(self, data: bytes) -> "OnnxShim":
        self.graph, self._session = data, None
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def finish_update(self, optimizer: Any) -> None:
        """The weights are fixed."""

    def to_device(self, device_type: str, device_id: int) -> None:
        """It runs on processors."""


def build_onnx_encoder(
    *,
    piece_encoder: Model[list[Doc], list[Ragged]],
    with_spans: Callable[[Model], Model],
    pooling: Model[Ragged, Floats2d],
    hidden_width: int = 384,
    threads: int = 0,
) -> Model[list[Doc], list[Floats2d]]:
    """An encoder that onnxruntime runs: vectors, one `(n_tokens, hidden_width)` array per document.

    piece_encoder (Model): Documents to piece ids, with one piece before and one after the text. with_spans (Callable): The windows.
    pooling (Model): From a token's pieces to its vector. hidden_width (int): Length of a vector; that of the encoder that was packaged.
    threads (int): Windows that run at the same time; 0 for `OMP_NUM_THREADS`, or as many as there are processors."""
    runner: Model = Model(
        "onnx", _run_forward, shims=[OnnxShim(threads=threads)], dims={"nO": hidden_width}
    )
    return Model(
        "onnx_encoder",
        _encoder_forward,
        init=_keep,
        layers=[piece_encoder, with_spans(runner), pooling],
        refs={"piece_encoder": piece_encoder, "transformer": runner},
        dims={"nO": hidden_width},
    )


def _keep(model: Model, X: Any = None, Y: Any = None) -> None:
    """Initializing a pipeline keeps the encoder as it was packaged."""


def _run_forward(model: Model, X: list[Any], is_train: bool) -> tuple[EncoderOutput, Callable]:
    windows = [model.ops.to_numpy(x) for x in X]
    rows = cast(OnnxShim, model.shims[0]).run(windows)
    return EncoderOutput(outputs=[[model.ops.asarray2f(found)] for found in rows]), lambda dY: []


def _encoder_forward(model: Model, X: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    piece_encoder, windows, pooling = model.layers
    output = windows.predict(piece_encoder.predict(X))
    layers = [
        per_layer[-1][1:-1] for per_layer in output.all_outputs
    ]  # without the pieces around the text
    xp = model.ops.xp
    joined = Ragged(
        xp.concatenate([r.dataXd for r in layers]), xp.concatenate([r.lengths for r in layers])
    )
    ends = list(accumulate(len(r.lengths) for r in layers))
    return xp.split(pooling.predict(joined), ends[:-1]), lambda dY: []


def build_encoder_vectors(
    *, width: int, upstream: str = "transformer"
) -> Model[list[Doc], list[Floats2d]]:
    """What an encoder left in `doc.tensor`: `(n_tokens, width)` per document.

    width (int): Length of a vector; that of the encoder. upstream (str): Name of the encoder's component, for E108 where it has left nothing."""
    return Model(
        "encoder_vectors", _vectors_forward, dims={"nO": width}, attrs={"upstream": upstream}
    )


def _vectors_forward(model: Model, X: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    shape = model.get_dim("nO")
    for doc in X:
        if doc.tensor.shape != (len(doc), shape):
            # Zeros instead, as spaCy's own listener has them, would be a pipeline that silently finds no names.
            raise PiiError(
                Errors.E108,
                name=model.attrs["upstream"],
                length=len(doc),
                width=shape,
                got=tuple(doc.tensor.shape),
            )
    return [model.ops.asarray2f(cast(Any, doc.tensor)) for doc in X], lambda dY: []
