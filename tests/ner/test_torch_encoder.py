"""The shipped encoder while it learns: the same vectors in torch, weights that move, and a graph that has them."""

import csv
import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.training import Example
from thinc.api import Adam, NumpyOps, registry, use_ops

from pii_components.ner.graph import CASES, PREFIX, WORDS, encoder_graph, encoder_state, quantize
from pii_components.ner.layers import CASE_STEP
from pii_components.ner.onnx import OnnxShim
from pii_components.ner.torch_encoder import _PIECES, _batches

from ..tiny import gold
from .test_onnx import LOADED

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
ROOT = Path(__file__).parents[2]
RNG = numpy.random.default_rng(5)
WINDOWS = [RNG.integers(0, 50, n) + CASE_STEP * RNG.integers(0, 7, n) for n in (3, 12, 7)]


@pytest.fixture
def graph():
    """Of two layers, width 32, four heads, fifty pieces."""

    def some(*shape, spread=0.3):
        return RNG.normal(size=shape).astype("f4") * spread

    state = {WORDS: some(50, 32), CASES: some(7, 32)}
    state |= {
        f"{PREFIX}embeddings.{kind}_embeddings.weight": some(16, 32) for kind in ("position",)
    }
    state[f"{PREFIX}embeddings.token_type_embeddings.weight"] = some(2, 32)
    norms = [f"{PREFIX}embeddings.layer_norm"]
    for n in range(2):
        at = f"{PREFIX}layers.{n}."
        shapes = {"mha.input": (96, 32), "mha.output": (32, 32)}
        shapes |= {"ffn.intermediate": (64, 32), "ffn.output": (32, 64)}
        for name, shape in shapes.items():
            state |= {f"{at}{name}.weight": some(*shape), f"{at}{name}.bias": some(shape[0])}
        norms += [f"{at}attn_output_layernorm", f"{at}ffn_output_layernorm"]
    for name in norms:
        state |= {f"{name}.weight": 1 + some(32, spread=0.1), f"{name}.bias": some(32)}
    return encoder_graph(state, heads=4)


def near(one, other):
    """RETURNS (float): The least cosine of rows of all windows."""
    one, other = numpy.concatenate(one), numpy.concatenate(other)
    lengths = numpy.linalg.norm(one, axis=1) * numpy.linalg.norm(other, axis=1)
    return float(((one * other).sum(axis=1) / lengths).min())


def test_torch_reads_as_the_graph(graph):
    from pii_components.ner.torch_encoder import TorchEncoder

    encoder = TorchEncoder(graph)
    found = encoder.predict(WINDOWS)
    assert [x.shape for x in found] == [(len(ids), 32) for ids in WINDOWS]
    assert near(found, OnnxShim(graph).run(WINDOWS)) > 0.99
    assert (
        near(found, encoder.predict([*WINDOWS, WINDOWS[1]])[:3]) > 0.9999
    )  # whatever is beside it
    assert near(found, OnnxShim(encoder.to_graph()).run(WINDOWS)) > 0.99
    state, again = encoder_state(graph), encoder_state(encoder.to_graph())
    kept = [name for name in state if "ffn" not in name]  # its columns are shared out anew
    assert all(numpy.allclose(again[name], state[name], atol=1e-5) for name in kept)


def test_a_gradient_is_followed_and_saved(graph):
    shim, aim = OnnxShim(graph), [RNG.normal(size=(len(ids), 32)) for ids in WINDOWS]
    before, optimizer, losses = shim.run(WINDOWS), Adam(0.02), []
    for _ in range(20):
        found, backprop = shim.learn(WINDOWS, drop=0.0)
        losses.append(sum(((x - y) ** 2).mean() for x, y in zip(found, aim, strict=True)))
        backprop([(x - y).astype("f4") / x.size for x, y in zip(found, aim, strict=True)])
        shim.finish_update(optimizer)
    assert losses[-1] < 0.8 * losses[0]
    after, saved = shim.run(WINDOWS), OnnxShim().from_bytes(shim.to_bytes())
    assert near(after, saved.run(WINDOWS)) > 0.98 > near(after, before) + 0.02
    assert shim.to_bytes() == saved.to_bytes() == shim.to_bytes()
    words = encoder_state(graph)[WORDS]
    assert numpy.allclose(encoder_state(shim.to_bytes())[WORDS], words, atol=1e-5)


def test_small_changes_are_rounded_right_in_the_mean():
    weight = numpy.tile(numpy.linspace(-1, 1, 129, dtype="f4"), (200, 1))
    scale, whole = quantize(weight)
    moved = weight + numpy.where(numpy.abs(weight) < 0.9, 0.1 * scale[:, None], 0).astype("f4")
    assert numpy.array_equal(quantize(moved)[1], whole)  # to the nearest: nothing has happened
    chance = numpy.random.default_rng(0)
    found = quantize(moved, chance=chance)[1] * scale[:, None]
    assert (found - weight).mean() == pytest.approx((moved - weight).mean(), rel=0.1)


@pytest.mark.slow
def test_the_shipped_pipeline_learns_encoder_and_heads(tmp_path):
    """Also where `transformer` is frozen: then it has to annotate."""
    nlp = spacy.load("en_pii_edu", exclude=["hips_surrogate", "pii_cleaner"])
    nlp.get_pipe("pii_ner").add_label("COURSE")
    text = "I took BIO 114, and my friend Wren Abara took HIST 220."
    marks = [(7, 14, "COURSE"), (30, 40, "NAME_CONNECTED"), (46, 54, "COURSE")]
    example = gold(nlp, text, marks)
    (before,) = nlp.get_pipe("transformer").predict([nlp.make_doc(text)])
    for frozen in ([], ["transformer"]):
        optimizer, losses = nlp.resume_training(), {}
        optimizer.learn_rate, optimizer.L2 = 0.003, 0.0
        for _ in range(25):
            losses = {}
            nlp.update(
                [Example(nlp.make_doc(text), example.reference)],
                sgd=optimizer,
                losses=losses,
                exclude=frozen,
                annotates=["transformer", "pii_ner", "pii_ruler"],
            )
        (after,) = nlp.get_pipe("transformer").predict([nlp.make_doc(text)])
        moved, before = near([before], [after]), after
        assert (moved < 0.999) is (not frozen)
        assert losses["pii_ner"] < 0.2 and losses["pii_context"] < 0.5
    nlp.to_disk(tmp_path)
    command = [sys.executable, "-W", "ignore", "-c", LOADED, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "(11, 20, 'NAME_" in said
    doc = spacy.load(tmp_path)(text)
    found = [(s.start_char, s.end_char, s.label_) for s in doc.spans["pii"]]
    assert found[0] == marks[0] and found[2] == marks[2]


@registry.ops("numpy_as_gpu")
class GpuOps(NumpyOps):
    """Numpy, which says of itself what CuPy says: what is read in batches is read here as on a GPU."""

    name = "numpy_as_gpu"

    def __init__(self, **settings):
        super().__init__(device_type="gpu")


def test_a_gpu_reads_as_the_graph_and_saves_it_as_it_was(graph):
    shim = OnnxShim(graph)
    one, two = shim.run(WINDOWS), shim.run(WINDOWS, gpu=True)
    assert [part.shape for part in two] == [(len(ids), 32) for ids in WINDOWS]
    assert near(one, two) > 0.99
    assert shim.to_bytes() == graph and pickle.loads(pickle.dumps(shim)).to_bytes() == graph
    assert near(shim.from_bytes(graph).run(WINDOWS, gpu=True), two) > 0.99999


@given(st.lists(st.integers(1, 512), max_size=300))
def test_batches_hold_each_window_once_and_no_more_pieces_than_are_allowed(sizes):
    made = list(_batches(sizes))
    assert sorted(n for batch in made for n in batch) == list(range(len(sizes)))
    for batch in made:
        assert len(batch) * max(sizes[n] for n in batch) <= _PIECES


@pytest.mark.slow
def test_the_shipped_pipeline_finds_the_same_in_batches():
    with (ROOT / "assets/samples/essays.csv").open(encoding="utf8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    plain = spacy.load("en_pii_edu", exclude=["hips_surrogate"])
    with use_ops(GpuOps.name):
        batched = spacy.load("en_pii_edu", exclude=["hips_surrogate"])
    found = [
        {
            (n, span.start_char, span.end_char, span.label_)
            for n, doc in enumerate(nlp.pipe(texts))
            for span in doc.spans["pii"]
        }
        for nlp in (plain, batched)
    ]
    shim = next(shim for shim in shims_of(batched) if isinstance(shim, OnnxShim))
    assert shim._on_gpu is not None and shim._session is None
    # One person with four mentions stands at the threshold, and weights are of 8 bits in one only.
    assert len(found[0] & found[1]) > 0.94 * len(found[0] | found[1]) > 100


def shims_of(nlp):
    return [shim for node in nlp.get_pipe("transformer").model.walk() for shim in node.shims]
