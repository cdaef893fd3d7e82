"""An encoder's weights as an ONNX graph, and back.

graph = encoder_graph(state, heads=12)
state = encoder_state(graph)
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from ..errors import imported
from .layers import CASE_STEP

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

State = Mapping[str, numpy.ndarray]


def _onnx() -> Any:
    return imported("onnx", "making an ONNX encoder", "train")


def count_layers(state: Mapping[str, Any]) -> int:
    """RETURNS (int): Layers of an encoder with these weights."""
    return 1 + max(int(name.split(".")[2]) for name in state if name.startswith(PREFIX + "layers."))


class _Graph:
    """Nodes and constants, in the order in which they are added; names of results are counted. state (State): Weights, by their names."""

    def __init__(
        self, state: State, *, epsilon: float, chance: numpy.random.Generator | None
    ) -> None:
        self.onnx, self.chance = _onnx(), chance
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
        scale, whole = quantize(weight, chance=self.chance)
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
    weight: numpy.ndarray, most: int = _MOST_WEIGHT, chance: numpy.random.Generator | None = None
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """RETURNS (tuple): Scale per row of weights, shape `(n_rows, n_columns)`, and they as whole numbers from -most to most.

    chance (numpy.random.Generator | None): Rounds up or down by it, so that changes smaller than a step are right in the mean (Gupta et al. 2015); None
        for the nearest."""
    scale = numpy.maximum(numpy.abs(weight).max(axis=1), 1e-9).astype("f4") / most
    steps = weight / scale[:, None]
    whole = numpy.rint(steps) if chance is None else numpy.floor(steps + chance.random(steps.shape))
    return scale, numpy.clip(whole, -most, most).astype("i1")


def encoder_graph(
    state: State,
    *,
    heads: int,
    epsilon: float = 1e-12,
    chance: numpy.random.Generator | None = None,
) -> bytes:
    """An encoder as an ONNX graph with weights of 8 bits.

    state (Mapping[str, numpy.ndarray]): Weights by their names in the curated transformer's BERT. heads (int): Of attention.
    epsilon (float): Of the layer norms. chance (numpy.random.Generator | None): See `quantize`.
    RETURNS (bytes): What `onnxruntime` reads. RAISES (PiiError): E005 without `onnx`.
    """
    g = _Graph(state, epsilon=epsilon, chance=chance)
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
    scale, whole = quantize(g.state[second], chance=g.chance)
    weight = scale[:, None] * whole.astype("f4")
    bias = g.state[_bias(second)] - _GELU_LEAST * weight.sum(axis=1)
    out = g.product_by_row(g.add("Add", [inner, "gelu_least"]), second, weight, bias)
    return g.add_and_norm(out, x, at + "ffn_output_layernorm", output=output)


def n_heads(graph: bytes) -> int:
    """RETURNS (int): Heads of attention of a graph of `encoder_graph`."""
    nodes = _onnx().load_from_string(graph).graph.node
    return next(part.i for node in nodes for part in node.attribute if part.name == "num_heads")


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
