"""From what scripts/two_heads.py saves to a pipeline: weights, the graph of the encoder, heads, and back to where training starts."""

from pathlib import Path

import numpy
import pytest
import spacy
import torch
from typer.testing import CliRunner

from pii_components.context.heads import OWNED
from pii_components.ner.graph import encoder_graph
from pii_components.ner.layers import CASE_STEP
from pii_components.ner.onnx import OnnxShim
from scripts import shipped as training
from scripts import two_heads
from scripts.train import app
from tests.tiny import vocabulary

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs/two_heads.cfg"
TEXT = "My name is Ana Lopez.\n\nBY ANA of McKay, 2014 ( \u200b said ) thank you"


def random_model(seed: int, layers: int = 2) -> two_heads.TwoHeads:
    torch.manual_seed(seed)
    model = two_heads.TwoHeads(layers).eval().requires_grad_(True)
    model.word.weight.requires_grad_(False).mul_(0.05)
    model.place.weight.requires_grad_(False).mul_(0.02)
    with torch.no_grad():
        model.case.weight.normal_(0, 0.02)
        model.segment.normal_(0, 0.02)
        model.what.weight.mul_(5)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Where training started, with a layer more than is trained, and two trainings from there."""
    folder = tmp_path_factory.mktemp("weights")
    models = [random_model(1), random_model(2)]
    models[1].word, models[1].place = models[0].word, models[0].place
    for n, model in enumerate(models):
        two_heads.save(model, folder / f"{n}.npz")
    start = {n: v.detach().numpy() for n, v in random_model(3, layers=3).named_parameters()}
    start["place.weight"] = models[0].place.weight.numpy()
    words = models[0].word.weight.numpy()
    scale = numpy.abs(words).max(axis=1, keepdims=True) / 127
    start |= {"word.weight": numpy.rint(words / scale).astype("i1"), "word.weight.scale": scale}
    numpy.savez(folder / "start.npz", **start)
    return folder, models


def weights_of(saved, *numbers):
    return training.read_weights(saved[0] / "start.npz", *(saved[0] / f"{n}.npz" for n in numbers))


def near(one, other):
    """RETURNS (float): The least cosine of rows."""
    lengths = numpy.linalg.norm(one, axis=1) * numpy.linalg.norm(other, axis=1)
    return float(((one * other).sum(axis=1) / lengths).min())


@pytest.mark.parametrize("numbers", [[0], [1], [0, 1]])
def test_weights_are_the_mean_of_trainings(saved, numbers):
    found = weights_of(saved, *numbers)
    states = [dict(saved[1][n].named_parameters()) for n in numbers]
    again = two_heads.TwoHeads(layers=2)  # as the trainer reads them
    two_heads.load_arrays(again, *(saved[0] / f"{n}.npz" for n in numbers))
    assert numpy.allclose(again.whose[0].weight.detach(), found["whose.0.weight"], atol=1e-6)
    assert found.keys() == states[0].keys()  # the third layer of the start is left out
    for name, value in found.items():
        wanted = sum(state[name].detach().numpy() for state in states) / len(states)
        assert value.dtype == numpy.float32
        assert numpy.abs(value - wanted).max() < 0.01 * max(numpy.abs(wanted).max(), 0.1), name


def test_graph_is_the_trainers_encoder(saved):
    model, rng = saved[1][0], numpy.random.default_rng(7)
    state = training.encoder_state({n: p.detach().numpy() for n, p in model.named_parameters()})
    shim = OnnxShim(encoder_graph(state, heads=two_heads.HEADS))
    for length in (3, 90, 256):
        ids, cases = rng.integers(0, 30522, length), rng.integers(0, 7, length)
        (found,) = shim.run([ids + CASE_STEP * cases])
        (plain,) = shim.run([ids])
        with torch.no_grad():
            batch = (torch.from_numpy(x)[None] for x in (ids, cases))
            wanted = model.encode(*batch, torch.tensor([length]))[0].numpy()
        assert near(found, wanted) > 0.99
        assert near(plain, wanted) < near(found, wanted)  # case is read


@pytest.fixture(scope="module")
def made(saved):
    return training.make_pipeline(weights_of(saved, 0), vocabulary(), CONFIG)


def read(model, nlp, text):
    """RETURNS (tuple): What the trainer's model makes of a text of one window: vectors, and probabilities of head A."""
    doc = nlp.make_doc(text)
    (pieces,) = nlp.get_pipe("transformer").model.get_ref("piece_encoder").predict([doc])
    seen = pieces.dataXd >= 0
    ids = torch.from_numpy(pieces.dataXd[seen].astype("i8"))[None]
    with torch.no_grad():
        rows = model.encode(ids % CASE_STEP, ids // CASE_STEP, torch.tensor([ids.shape[1]]))[0]
        rows = rows[numpy.maximum(numpy.cumsum(seen) - 1, 0)][1:-1]
        tokens = torch.stack([part.mean(0) for part in rows.split(pieces.lengths.tolist()[1:-1])])
        return tokens.numpy(), model.what(tokens).softmax(-1).numpy()


def test_a_pipeline_reads_as_the_trainer_does(saved, made):
    (doc,) = made.get_pipe("transformer").pipe([made.make_doc(TEXT)])
    tokens, chances = read(saved[1][0], made, TEXT)
    assert near(doc.tensor, tokens) > 0.99
    (found,) = made.get_pipe("pii_ner").predict([doc])
    assert found.shape == chances.shape and numpy.abs(found - chances).max() < 0.1
    assert numpy.ptp(chances, axis=0).max() > 0.2  # else anything would do
    roles = made.get_pipe("pii_context").heads.roles(doc.tensor, [(3, 5)], [0], 1)
    assert roles.shape == (1, 6)


def test_labels_stand_in_the_trainers_order(made):
    names = {"PERSON": "NAME", "PLACE": "LOCATION", "SCHOOL": "EDUCATION", "FIRM": "EMPLOYER"}
    assert tuple(names.get(kind, kind) for kind in two_heads.TYPES) == training.LABELS
    assert made.get_pipe("pii_ner").labels == training.LABELS and OWNED[1:] == training.LABELS[1:6]


@pytest.mark.slow
def test_training_starts_from_what_ships(tmp_path):
    """The encoder of the shipped pipeline, through the trainer, unchanged, and back into a pipeline by the commands."""
    numpy.savez(tmp_path / "start.npz", **training.shipped_start())
    model = two_heads.TwoHeads(layers=4)
    two_heads.load_arrays(model, tmp_path / "start.npz")
    model.requires_grad_(True).word.weight.requires_grad_(False)
    two_heads.save(model, tmp_path / "model.npz")
    args = ["package", "--out", str(tmp_path / "made")]
    for name in ("start", "model"):
        args += ["--weights", str(tmp_path / f"{name}.npz")]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    (target,) = (tmp_path / "made").glob("en_pii_edu-*")
    one, two = (
        next(nlp.get_pipe("transformer").pipe([nlp.make_doc(TEXT)])).tensor
        for nlp in (spacy.load(target), spacy.load("en_pii_edu"))
    )
    assert near(one, two) > 0.99
