"""The mean of several detectors."""

import numpy
import pytest
import spacy
from thinc.api import Linear, Model, PyTorchWrapper, chain

from pii_components.errors import PiiError
from pii_components.ner_mean import _average, average


def tagged(seed: int, pipe: str = "textcat") -> spacy.Language:
    spacy.util.fix_random_seed(seed)
    nlp = spacy.blank("en")
    nlp.add_pipe(pipe).add_label("a")  # type: ignore[attr-defined]
    nlp.get_pipe(pipe).add_label("b")  # type: ignore[attr-defined]
    nlp.initialize()
    return nlp


def weights(model: Model) -> list[numpy.ndarray]:
    return [layer.get_param(name).copy() for layer in model.walk() for name in layer.param_names if layer.has_param(name)]


def test_every_parameter_is_the_mean():
    first, second = tagged(1), tagged(2)
    for nlp in (first, second):
        for layer in nlp.get_pipe("textcat").model.walk():
            for name in layer.param_names:
                if layer.has_param(name):
                    noise = numpy.random.default_rng(len(nlp.meta["name"]) + (nlp is first)).normal(
                        size=layer.get_param(name).shape
                    )
                    layer.set_param(name, noise.astype("f4"))
    before = [weights(nlp.get_pipe("textcat").model) for nlp in (first, second)]
    assert not all(numpy.allclose(a, b) for a, b in zip(*before, strict=True))
    mean = average([first, second])
    assert mean is first
    for a, b, found in zip(*before, weights(mean.get_pipe("textcat").model), strict=True):
        assert numpy.allclose(found, (a + b) / 2, atol=1e-6)
    for a, b in zip(before[1], weights(second.get_pipe("textcat").model), strict=True):
        assert numpy.array_equal(a, b)


def test_weights_of_pytorch_too():
    torch = pytest.importorskip("torch")
    made = []
    for value in (1.0, 3.0):
        module = torch.nn.Linear(3, 2)
        with torch.no_grad():
            module.weight.fill_(value)
        module.register_buffer("position", torch.arange(4))
        made.append(chain(PyTorchWrapper(module), Linear(2, 2)).initialize())
    _average(made)
    module = made[0].layers[0].shims[0]._model
    assert torch.equal(module.weight, torch.full((2, 3), 2.0))
    assert torch.equal(module.position, torch.arange(4))


def test_what_has_no_mean_is_refused():
    with pytest.raises(PiiError, match="E309"):
        average([])
    with pytest.raises(PiiError, match="E309"):
        average([tagged(1), tagged(1, "textcat_multilabel")])
    with pytest.raises(PiiError, match="E309"):
        _average([Linear(2, 2).initialize(), Linear(2, 3).initialize()])
