"""The encoder without torch: `pii_edu.OnnxEncoder.v1` stands in for the curated transformer when a trained pipeline is used.

Same pieces, same windows, same pooling, and the same names in the config; only what runs a window is onnxruntime. A vector per token goes into
`doc.tensor`, where `pii_edu.EncoderVectors.v1` and `pii_context` find it. `ner/graph.py` makes it from weights. Where `nlp.update` does not freeze
it, it learns in torch from then on (torch_encoder.py), and is a graph again when it is saved. After `spacy.require_gpu()` or `prefer_gpu()` torch
reads, too, on the GPU, and numbers of a window depend on its neighbours in the last digits.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import Any, cast

import numpy
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model, Optimizer, Ragged, Shim
from thinc.types import Floats2d

from .. import keep_offline
from ..errors import Errors, PiiError
from .torch_encoder import TorchEncoder


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
        self._learning: TorchEncoder | None = None
        self._on_gpu: TorchEncoder | None = None

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

    def run(self, windows: Sequence[numpy.ndarray], *, gpu: bool = False) -> list[Floats2d]:
        """gpu (bool): Whether torch reads, on the device of thinc.
        RETURNS (list[Floats2d]): Per window of piece ids, each of shape `(n_pieces,)`, a `(n_pieces, width)` array."""
        if gpu and self.graph and self._learning is None and self._on_gpu is None:
            self._on_gpu = TorchEncoder(self.graph)
        reader = self._learning or (self._on_gpu if gpu else None)
        if reader is not None:
            return reader.predict(windows)
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

    def learn(
        self, windows: Sequence[numpy.ndarray], *, drop: float
    ) -> tuple[list[Floats2d], Callable[[Sequence[Floats2d]], None]]:
        """RETURNS (tuple): As `run`, and what takes the gradient of each window. RAISES (PiiError): E005 without torch, E109 without a graph."""
        if self._learning is None:
            if not self.graph:
                raise PiiError(Errors.E109)
            self._learning = TorchEncoder(self.graph)
        return self._learning.begin_update(windows, drop=drop)

    def to_bytes(self) -> bytes:
        return self._learning.to_graph() if self._learning else self.graph

    def from_bytes(self, data: bytes) -> "OnnxShim":
        self.graph, self._session, self._learning, self._on_gpu = data, None, None, None
        return self

    def __getstate__(self) -> dict[str, Any]:
        mine = dict.fromkeys(("_session", "_learning", "_on_gpu"))
        return {**self.__dict__, "graph": self.to_bytes(), **mine}

    def finish_update(self, optimizer: Optimizer) -> None:
        if self._learning is not None:
            self._learning.finish_update(optimizer)

    def to_device(self, device_type: str, device_id: int) -> None:
        """Where it reads, thinc says when it reads."""


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
        "onnx",
        _run_forward,
        shims=[OnnxShim(threads=threads)],
        dims={"nO": hidden_width},
        attrs={"dropout_rate": 0.0},
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
    shim = cast(OnnxShim, model.shims[0])
    if not is_train:
        found = shim.run(windows, gpu=model.ops.device_type == "gpu")
        return EncoderOutput(outputs=[[model.ops.asarray2f(x)] for x in found]), lambda dY: []
    found, learn = shim.learn(windows, drop=model.attrs["dropout_rate"])

    def backprop(d_windows: list[list[Floats2d]]) -> list[Any]:
        learn([layers[-1] for layers in d_windows])
        return []  # piece ids have no gradient

    return EncoderOutput(outputs=[[x] for x in found]), backprop


def _encoder_forward(model: Model, X: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    piece_encoder, windows, pooling = model.layers
    if not cast(
        OnnxShim, model.get_ref("transformer").shims[0]
    ).graph:  # the pieces are missing, too
        raise PiiError(Errors.E109)
    output, learn = windows(piece_encoder.predict(X), is_train)
    # Without the pieces around the text.
    layers = [per_layer[-1][1:-1] for per_layer in output.all_outputs]
    xp = model.ops.xp
    joined = Ragged(
        xp.concatenate([r.dataXd for r in layers]), xp.concatenate([r.lengths for r in layers])
    )
    pooled, spread = pooling(joined, is_train)
    ends = list(accumulate(len(r.lengths) for r in layers))

    def backprop(d_docs: list[Floats2d]) -> list[Doc]:
        rows = iter(xp.split(spread(xp.concatenate(d_docs)).dataXd, _ends(layers)))
        learn([[_between(r, next(rows), xp)] for (*_, r) in output.all_outputs])
        return []

    return xp.split(pooled, ends[:-1]), backprop


def _ends(layers: Sequence[Ragged]) -> list[int]:
    return list(accumulate(len(r.dataXd) for r in layers))[:-1]


def _between(read: Ragged, rows: Any, xp: Any) -> Ragged:
    """Gradients of a document's pieces, with none for the pieces around it."""
    edge = xp.zeros((1, rows.shape[1]), dtype=rows.dtype)
    return Ragged(xp.concatenate([edge, rows, edge]), read.lengths)


class EncoderVectors(Tok2VecListener):
    """What an encoder left in `doc.tensor`; while it learns itself, what it has just read, and the way back to it."""

    name = "encoder_vectors"

    def __init__(self, width: int, upstream: str) -> None:
        super().__init__(upstream, width)
        self._func = _vectors_forward
        self.attrs["upstream"] = upstream


def build_encoder_vectors(
    *, width: int, upstream: str = "transformer"
) -> Model[list[Doc], list[Floats2d]]:
    """What an encoder left in `doc.tensor`: `(n_tokens, width)` per document.

    width (int): Length of a vector; that of the encoder. upstream (str): Name of the encoder's component, for E108 where it has left nothing."""
    return EncoderVectors(width, upstream)


def _vectors_forward(model: Any, X: list[Doc], is_train: bool) -> tuple[list[Floats2d], Callable]:
    if is_train and model._batch_id == model.get_batch_id(X):
        read = model._outputs, model._backprop
        model.receive(
            None, None, None
        )  # one update: the next may be of the same texts, the encoder frozen
        return read
    width = model.get_dim("nO")
    for doc in X:
        if doc.tensor.shape != (len(doc), width):
            # Zeros instead, as spaCy's own listener has them, would be a pipeline that silently finds no names.
            raise PiiError(
                Errors.E108,
                name=model.attrs["upstream"],
                length=len(doc),
                width=width,
                got=tuple(doc.tensor.shape),
            )
    return [model.ops.asarray2f(cast(Any, doc.tensor)) for doc in X], lambda dY: []
