"""The encoder: where training starts from, and the same without torch.

    ensure_encoder(Path("assets/encoder"))
    with_onnx_encoder(nlp)

Training starts from upstream's MiniLM-L6-v2 (model.safetensors, vocab.txt), whose weights are never removed, or from an encoder that was
taken out of a pipeline (encoder.pt): then it goes on from a model that knows names, and needs no network.

In a trained pipeline the component `transformer` keeps its name, its pieces and its windows; its model becomes `pii_edu.OnnxEncoder.v1`, and
whatever listened to it reads `doc.tensor`. Everything else is copied as it is.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import spacy
from spacy.language import Language
from thinc.api import Config, Model

from ..errors import Errors, PiiError, imported
from ..ner.layers import CASE_STEP
from ..ner.onnx import OnnxShim

logger = logging.getLogger(__name__)

WEIGHTS = ("model.safetensors", "encoder.pt")


def find_weights(folder: Path) -> Path | None:
    """RETURNS (Path | None): The file with weights in a folder, upstream's before ours."""
    return next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)


def need_weights(folder: Path) -> Path:
    """RETURNS (Path): As `find_weights`. RAISES (PiiError): E604, if the folder holds none."""
    if weights := find_weights(folder):
        return weights
    raise PiiError(Errors.E604, path=str(folder), what=" or ".join(WEIGHTS), task="get-encoder")


def read_torch(weights: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Tensor]): What is in a file of weights, 32 bits each."""
    import torch

    state = torch.load(weights, map_location="cpu", weights_only=True)
    return {
        name: value.float() if value.is_floating_point() else value for name, value in state.items()
    }


def make_encoder_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.EncoderLoader.v1`: loads an encoder's weights when a pipeline is initialized.

    path (str | Path): A folder with `model.safetensors` (upstream's names of the weights) or `encoder.pt` (of another pipeline); layers that the
        pipeline's encoder does not have are left out.
    RETURNS (Callable): For `[initialize.components.transformer.encoder_loader]`; RAISES (PiiError): E604, if the folder holds neither.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_transformers.models.hf_util import convert_pretrained_model_for_encoder

        weights, encoder = need_weights(Path(path)), model.shims[0]._model
        state = read_torch(weights)
        if weights.suffix != ".pt":
            state = convert_pretrained_model_for_encoder(encoder, state)
        known = encoder.state_dict()
        encoder.load_state_dict({name: value for name, value in state.items() if name in known})
        return model

    return load


def make_sentencepiece_loader(*, path: str | Path) -> Callable[[Any, Any, Any], Any]:
    """`pii_edu.SentencepieceLoader.v1`: loads the pieces (sentencepiece.bpe.model) of an XLM-R-like encoder when a pipeline is initialized.

    spacy-curated-transformers' own loader (0.3.1) hands the pieces to the chain of encoder and adapter, where nobody looks for them.
    path (str | Path): The file with the pieces.
    RETURNS (Callable): For `[initialize.components.transformer.piecer_loader]`; RAISES (PiiError): E604, if there is no such file.
    """

    def load(model: Any, X: Any = None, Y: Any = None) -> Any:
        from curated_tokenizers import SentencePieceProcessor

        if not Path(path).is_file():
            raise PiiError(
                Errors.E604, path=str(Path(path).parent), what=Path(path).name, task="get-encoder"
            )
        model.get_ref("encoder").attrs["sentencepiece_processor"] = (
            SentencePieceProcessor.from_file(str(path))
        )
        return model

    return load


def extract(nlp: Any, out: Path) -> Path:
    """Write the encoder of a pipeline to a folder, in half precision, and vocab.txt beside it.

    nlp (Language): A pipeline with a curated transformer, or with the ONNX encoder that was made from one.
    RETURNS (Path): The file with the weights.
    """
    import torch

    out.mkdir(parents=True, exist_ok=True)
    model = nlp.get_pipe(ENCODER).model
    shim = encoder_shim(model)
    if isinstance(shim, OnnxShim):
        arrays = encoder_state(shim.graph)
        if CASES in arrays:  # a curated transformer has none: all words are as in small letters
            arrays[PLACES] = arrays[PLACES] + arrays.pop(CASES)[0]
        state = {name: torch.from_numpy(value) for name, value in arrays.items()}
    else:
        state = shim._model.state_dict()
    torch.save(half(state), out / "encoder.pt")
    pieces = model.get_ref("piece_encoder").attrs["wordpiece_processor"].to_list()
    (out / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return out / "encoder.pt"


def half(state: Mapping[str, Any]) -> dict[str, Any]:
    """RETURNS (dict[str, Tensor]): A state dict, its floating point values in half precision."""
    return {
        name: value.half() if value.is_floating_point() else value for name, value in state.items()
    }


def ensure_encoder(out: Path, pipeline: str = "") -> None:
    """See that an encoder lies in a folder: the one that is there, or that of a pipeline, which takes the place of an earlier encoder.pt.

    pipeline (str): Name or path; empty for what lies there already, else en_pii_edu.
    RAISES (PiiError): E510, if upstream's weights are there, which would be read before the pipeline's.
    """
    if not pipeline and find_weights(out) and (out / "vocab.txt").is_file():
        logger.info("%s: there already", find_weights(out))
        return
    if (out / WEIGHTS[0]).is_file():
        raise PiiError(Errors.E510, what=f"'{out / WEIGHTS[0]}'")
    pipeline = pipeline or "en_pii_edu"
    logger.info("%s: from %s", extract(spacy.load(pipeline), out), pipeline)


# An encoder's weights as an ONNX graph, and back.

PREFIX = "curated_encoder."
# `case` is ours: a curated transformer has none.
WORDS, PLACES, SEGMENTS, CASES = (
    f"{PREFIX}embeddings.{kind}_embeddings.weight"
    for kind in ("word", "position", "token_type", "case")
)
_MOST = 127  # largest number in 8 bits with a sign
# Largest weight of a product. Processors without VNNI add two products of 8 bits in 16, with a sign: 2 * 255 * 64 is what fits.
_MOST_WEIGHT = 64
_GELU_LEAST = 0.17
_SMOOTH = 0.6  # share of a column's range that moves from the input into the weights
_NORM_RANGE = 3.0  # standard deviations that a layer norm's output is thought to span
_OURS = "com.microsoft"  # operators of onnxruntime

ENCODER = "transformer"
_BERT = "spacy-curated-transformers.BertTransformer.v1"
_RUNNER, _VECTORS = "pii_edu.OnnxEncoder.v1", "pii_edu.EncoderVectors.v1"
_LISTENER = "spacy-curated-transformers.LastTransformerLayerListener.v1"
_PIECE_SETTINGS = (
    "wordpiece_processor",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "lowercase",
    "strip_accents",
)

State = Mapping[str, numpy.ndarray]


def _onnx() -> Any:
    return imported("onnx", "making an ONNX encoder", "train")


def count_layers(state: Mapping[str, Any]) -> int:
    """RETURNS (int): Layers of an encoder with these weights."""
    return 1 + max(int(name.split(".")[2]) for name in state if name.startswith(PREFIX + "layers."))


class _Graph:
    """Nodes and constants, in the order in which they are added; names of results are counted. state (State): Weights, by their names."""

    def __init__(self, state: State, *, epsilon: float) -> None:
        self.onnx = _onnx()
        self.state = {name: numpy.asarray(value, dtype="f4") for name, value in state.items()}
        self.epsilon = epsilon
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        for name, value in (("first", [0]), ("last", [-1])):
            self.constant(name, numpy.asarray(value, dtype="i8"))
        for name, number in (
            ("one", 1.0),
            ("least", 1e-9),
            ("gelu_least", _GELU_LEAST),
            ("step", 1 / 255),
        ):
            self.constant(name, numpy.asarray(number, dtype="f4"))
        self.constant("no_shift", numpy.asarray(0, dtype="u1"))

    def constant(self, name: str, value: numpy.ndarray) -> str:
        self.constants[name] = self.onnx.numpy_helper.from_array(
            numpy.ascontiguousarray(value), name
        )
        return name

    def add(
        self,
        operator: str,
        inputs: list[str],
        *,
        ours: bool = False,
        output: str = "",
        **attributes: Any,
    ) -> str:
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(
                operator, inputs, [output], domain=_OURS if ours else "", **attributes
            )
        )
        return output

    def narrowed(self, name: str, value: numpy.ndarray, rows: Callable[[str], str]) -> str:
        """Rows of a table that is kept in 8 bits, with a scale for each. rows (Callable): From a table's name to that of the rows."""
        scale, whole = quantize(value, _MOST)
        found = self.add("Cast", [rows(self.constant(name, whole))], to=self.onnx.TensorProto.FLOAT)
        return self.add("Mul", [found, rows(self.constant(f"{name}.scale", scale[:, None]))])

    def add_and_norm(self, x: str, y: str, name: str, *, output: str = "") -> str:
        parts = [
            self.constant(f"{name}.{part}", self.state[f"{name}.{part}"])
            for part in ("weight", "bias")
        ]
        total = self.add("Add", [x, y])
        return self.add(
            "LayerNormalization", [total, *parts], axis=-1, epsilon=self.epsilon, output=output
        )

    def source(self, x: str) -> list[str]:
        """What products take of rows: values in 8 bits, one scale and one zero point."""
        parts = [f"{part}_{len(self.nodes)}" for part in ("bytes", "scale", "zero")]
        self.nodes.append(self.onnx.helper.make_node("DynamicQuantizeLinear", [x], parts))
        return parts

    def product(
        self,
        x: list[str],
        name: str,
        weight: numpy.ndarray,
        bias: numpy.ndarray | None = None,
    ) -> str:
        """x (list[str]): What `source` made of rows. weight (numpy.ndarray): Shape `(n_out, n_in)`."""
        scale, whole = quantize(weight)
        inputs = [
            x[0],
            self.constant(name, whole.T),
            x[1],
            self.constant(f"{name}.scale", scale),
            x[2],
        ]
        inputs += [""] if bias is None else ["", self.constant(_bias(name), bias)]
        return self.add("MatMulIntegerToFloat", inputs, ours=True)

    def layer(self, x: str, name: str) -> str:
        """The product with a layer's weights."""
        return self.product(self.source(x), name, self.state[name], self.state[_bias(name)])

    def product_by_row(self, x: str, name: str, weight: numpy.ndarray, bias: numpy.ndarray) -> str:
        """The same with a scale per row. x (str): Rows without a number below 0."""
        scale = self.add(
            "Max",
            [self.add("Mul", [self.add("ReduceMax", [x, "last"], keepdims=1), "step"]), "least"],
        )
        flat = self.add("Squeeze", [scale, "last"])
        zeros = self.add("Expand", ["no_shift", self.add("Shape", [flat])])
        values = self.add("QuantizeLinear", [x, flat, zeros], axis=0)
        y = self.add("Mul", [self.product([values, "one", "no_shift"], name, weight), scale])
        return self.add("Add", [y, self.constant(_bias(name), bias)])


def _bias(name: str) -> str:
    return name.removesuffix(".weight") + ".bias"


def quantize(
    weight: numpy.ndarray, most: int = _MOST_WEIGHT
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """RETURNS (tuple): Scale per row of weights, shape `(n_rows, n_columns)`, and they as whole numbers from -most to most."""
    scale = numpy.maximum(numpy.abs(weight).max(axis=1), 1e-9).astype("f4") / most
    return scale, numpy.rint(weight / scale[:, None]).astype("i1")


def encoder_graph(state: State, *, heads: int, epsilon: float = 1e-12) -> bytes:
    """An encoder as an ONNX graph with weights of 8 bits.

    state (Mapping[str, numpy.ndarray]): Weights by their names in the curated transformer's BERT. heads (int): Of attention.
    epsilon (float): Of the layer norms.
    RETURNS (bytes): What `onnxruntime` reads. RAISES (PiiError): E005 without `onnx`.
    """
    g = _Graph(state, epsilon=epsilon)
    x = _embed(g)
    n_layers = count_layers(state)
    for n in range(n_layers):
        x = _attention(g, x, f"{PREFIX}layers.{n}.", heads=heads)
        x = _feed_forward(
            g, x, f"{PREFIX}layers.{n}.", output="vectors" if n == n_layers - 1 else ""
        )
    make, types = g.onnx.helper, g.onnx.TensorProto
    width = state[PLACES].shape[1]
    ids = make.make_tensor_value_info("ids", types.INT64, ["n_pieces"])
    vectors = make.make_tensor_value_info("vectors", types.FLOAT, ["n_pieces", width])
    graph = make.make_graph(g.nodes, "encoder", [ids], [vectors], list(g.constants.values()))
    # Versions that onnxruntime 1.16 and later read.
    model = make.make_model(
        graph, opset_imports=[make.make_opsetid("", 18), make.make_opsetid(_OURS, 1)], ir_version=9
    )
    return bytes(model.SerializeToString())


def _embed(g: _Graph) -> str:
    # All pieces are of BERT's first segment, so that its vector can be part of each position's.
    places = g.state[PLACES] + g.state[SEGMENTS][0]
    words, cases = "ids", g.state.get(CASES)
    if cases is not None:
        step = g.constant("case_step", numpy.asarray(CASE_STEP, dtype="i8"))
        words = g.add("Mod", ["ids", step])
    x = g.narrowed(WORDS, g.state[WORDS], lambda table: g.add("Gather", [table, words]))
    y = g.narrowed(PLACES, places, lambda table: _first_rows(g, table))
    if cases is not None:
        table = g.constant(CASES, cases)
        y = g.add("Add", [y, g.add("Gather", [table, g.add("Div", ["ids", step])])])
    return g.add_and_norm(x, y, PREFIX + "embeddings.layer_norm")


def _first_rows(g: _Graph, table: str) -> str:
    return g.add("Slice", [table, "first", g.add("Shape", ["ids"]), "first"])


def _attention(g: _Graph, x: str, at: str, *, heads: int) -> str:
    weights, biases = (
        numpy.split(g.state[f"{at}mha.input.{part}"], 3) for part in ("weight", "bias")
    )
    source = g.source(x)
    parts = [
        g.add(
            "Unsqueeze",
            [g.product(source, f"{at}mha.input.{letter}.weight", weight, bias), "first"],
        )
        for letter, weight, bias in zip("qkv", weights, biases, strict=True)
    ]
    mixed = g.add(
        "Squeeze", [g.add("MultiHeadAttention", parts, ours=True, num_heads=heads), "first"]
    )
    return g.add_and_norm(g.layer(mixed, at + "mha.output.weight"), x, at + "attn_output_layernorm")


def _feed_forward(g: _Graph, x: str, at: str, *, output: str) -> str:
    first, second, norm = (
        at + "ffn.intermediate.weight",
        at + "ffn.output.weight",
        at + "attn_output_layernorm",
    )
    # Columns of the input are divided, and the weights multiplied, by factors with the geometric mean 1.
    reach = numpy.abs(g.state[f"{norm}.bias"]) + _NORM_RANGE * numpy.abs(g.state[f"{norm}.weight"])
    largest = numpy.maximum(numpy.abs(g.state[first]).max(axis=0), 1e-5)
    factors = numpy.maximum(reach, 1e-3) ** _SMOOTH / largest ** (1 - _SMOOTH)
    factors = (factors / numpy.exp(numpy.log(factors).mean())).astype("f4")
    divided = g.source(g.add("Mul", [x, g.constant(at + "ffn.intermediate.divide", 1 / factors)]))
    inner = g.add(
        "Gelu",
        [g.product(divided, first, g.state[first] * factors, g.state[_bias(first)])],
        ours=True,
    )
    scale, whole = quantize(g.state[second])
    bias = (g.state[_bias(second)] - _GELU_LEAST * (scale * whole.astype("f4").sum(axis=1))).astype(
        "f4"
    )
    out = g.product_by_row(g.add("Add", [inner, "gelu_least"]), second, g.state[second], bias)
    return g.add_and_norm(out, x, at + "ffn_output_layernorm", output=output)


def encoder_state(graph: bytes) -> dict[str, numpy.ndarray]:
    """RETURNS (dict[str, numpy.ndarray]): Weights of a graph of `encoder_graph`, by their names in the curated transformer, 32 bits each; what
    was 8 bits is as near as 8 bits are. So training can go on from what ships."""
    onnx = _onnx()
    held = {
        c.name: onnx.numpy_helper.to_array(c)
        for c in onnx.load_from_string(graph).graph.initializer
    }
    state: dict[str, numpy.ndarray] = {}
    for name, value in held.items():
        if not name.startswith(PREFIX) or name.endswith((".scale", ".divide")):
            continue
        wide, turned = value.astype("f4"), ".layers." in name and value.ndim == 2
        if (scale := held.get(f"{name}.scale")) is not None:
            wide = wide * (scale if turned else scale.reshape(-1, 1))
        state[name] = numpy.ascontiguousarray(wide.T if turned else wide)
    for name in [name for name in state if ".mha.input.q." in name]:
        before, after = name.split(".q.")
        state[f"{before}.{after}"] = numpy.concatenate(
            [state.pop(f"{before}.{letter}.{after}") for letter in "qkv"]
        )
    for name, divide in held.items():
        if name.endswith(".divide"):
            at = name.removesuffix("ffn.intermediate.divide")
            state[at + "ffn.intermediate.weight"] *= divide
            state[at + "ffn.output.bias"] += _GELU_LEAST * state[at + "ffn.output.weight"].sum(
                axis=1
            )
    state[SEGMENTS] = numpy.zeros((2, state[PLACES].shape[1]), dtype="f4")  # part of the positions
    return state


def with_onnx_encoder(nlp: Language) -> Language:
    """RETURNS (Language): The same pipeline with an encoder that onnxruntime runs, over a vocabulary of its own.

    nlp (Language): With a curated transformer of BERT's kind; it stays as it is.
    RAISES (PiiError): E110 for another encoder, E005 without `onnx`.
    """
    config = nlp.config.copy()
    settings = config["components"].get(ENCODER, {}).get("model", {})
    check_settings(settings)
    width = settings["hidden_width"]
    vectors = {"@architectures": _VECTORS, "width": width, "upstream": ENCODER}
    poolings = _replace_listeners(config["components"], vectors)
    n_poolings = sum(pooling not in poolings[:n] for n, pooling in enumerate(poolings))
    if n_poolings != 1:
        raise PiiError(Errors.E110, problem=f"{n_poolings} poolings of its pieces")
    model = {"@architectures": _RUNNER, "hidden_width": width, "threads": 0}
    model |= {key: settings[key] for key in ("piece_encoder", "with_spans")} | {
        "pooling": poolings[0]
    }
    config["components"][ENCODER] = {"factory": "tok2vec", "model": model}

    def copy(source: Model, target: Model) -> None:
        weights = {
            name: value.float().cpu().numpy()
            for name, value in encoder_shim(source)._model.state_dict().items()
        }
        heads, epsilon = settings["num_attention_heads"], settings["layer_norm_eps"]
        encoder_shim(target).from_bytes(encoder_graph(weights, heads=heads, epsilon=epsilon))

    return renew(nlp, config, copy)


def renew(
    nlp: Language, config: Config, copy_encoder: Callable[[Model, Model], None] | None = None
) -> Language:
    """RETURNS (Language): A new pipeline of this config with the same weights, over a vocabulary that has seen no text, but labels.

    copy_encoder (Callable | None): Fills the model of another kind of encoder from the one that is there; None if the kind stays.
    """
    fresh = spacy.util.get_lang_class(nlp.lang or "en").from_config(config)
    source: Any
    for name, source in nlp.pipeline:
        target: Any = fresh.get_pipe(name)
        if copy_encoder and name == ENCODER:
            copy_encoder(source.model, target.model)  # type: ignore[attr-defined]
            for key in _PIECE_SETTINGS:
                target.model.get_ref("piece_encoder").attrs[key] = source.model.get_ref(
                    "piece_encoder"
                ).attrs[key]  # type: ignore[attr-defined]
        elif copy_encoder and (_listens(source) or _listens(target)):
            target.cfg = dict(source.cfg)  # type: ignore[attr-defined]
            copy_parameters(source.model, target.model)  # type: ignore[attr-defined]
        elif hasattr(source, "to_bytes"):  # pii_cleaner is a function
            target.from_bytes(source.to_bytes(exclude=["vocab"]), exclude=["vocab"])
        for label in getattr(source, "labels", ()):
            fresh.vocab.strings.add(label)
    return fresh


def check_settings(settings: dict[str, Any]) -> None:
    """RAISES (PiiError): E110, if the encoder of these settings cannot be written as ONNX."""
    kind, activation = settings.get("@architectures"), settings.get("hidden_act")
    windows = settings.get("with_spans", {}).get("@architectures")
    for fits, problem in (
        (kind == _BERT, f"the architecture {kind}"),
        (activation == "gelu", f"the activation {activation}"),
        (windows == "pii_edu.WithWindows.v1", "other windows"),
    ):
        if not fits:
            raise PiiError(Errors.E110, problem=problem)


def _replace_listeners(tree: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Put `new` where a config has a listener. RETURNS (list[dict]): The poolings of those that were there."""
    poolings: list[dict[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, dict) and value.get("@architectures") == _LISTENER:
            poolings.append(value.get("pooling", {}))
            tree[key] = dict(new)
        elif isinstance(value, dict):
            poolings += _replace_listeners(value, new)
    return poolings


def _listens(pipe: Any) -> bool:
    nodes = pipe.model.walk() if isinstance(getattr(pipe, "model", None), Model) else ()
    return any(node.name == "last_transformer_layer_listener" for node in nodes)


def encoder_shim(model: Model) -> Any:
    """RETURNS (Shim): What runs the encoder of a component `transformer`, PyTorch's or ours."""
    return model.get_ref("transformer").shims[0]


def copy_parameters(source: Model, target: Model) -> None:
    """Copy parameters and dimensions, in the order of `walk`, to a model that differs only in layers without parameters. RAISES: E110."""
    pairs = [[node for node in model.walk() if node.param_names] for model in (source, target)]
    if [node.name for node in pairs[0]] != [node.name for node in pairs[1]]:
        raise PiiError(Errors.E110, problem="other layers behind it")
    for old, new in zip(*pairs, strict=True):
        for dim in old.dim_names:
            if old.has_dim(dim):
                new.set_dim(dim, old.get_dim(dim), force=True)
        for param in old.param_names:
            new.set_param(param, old.get_param(param))
    for name in target.dim_names:
        if target.has_dim(name) is None and source.has_dim(name):
            target.set_dim(name, source.get_dim(name))
