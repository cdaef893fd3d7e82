"""The encoder's second head: what training computes, numpy computes; bytes that are not its own."""

from io import BytesIO

import numpy
import pytest

from pii_components.context.heads import OWNED, Heads
from pii_components.errors import PiiError

from .marking import heads

RNG = numpy.random.default_rng(11)
VECTORS = RNG.normal(size=(40, 384)).astype("f4")
SPANS = [(0, 2), (5, 6), (9, 12), (20, 21), (30, 33)]
OWNERS = [0, 1, 0, 2, 0]
THINGS = [(3, 5, "LOCATION"), (6, 9, "EDUCATION"), (12, 13, "EMPLOYER"), (0, 4, "DATE")]
THINGS += [(38, 40, "AGE"), (1, 2, "LOCATION")]


@pytest.fixture(scope="module")
def model():
    """The trainer's heads, with weights large enough to have an opinion."""
    torch = pytest.importorskip("torch")
    from scripts.two_heads import TwoHeads

    torch.manual_seed(3)
    made = TwoHeads(layers=1).eval().requires_grad_(False)
    for name, parameter in made.named_parameters():
        if name.split(".")[0] in ("attend", "whose", "owned"):
            parameter.mul_(3)
    return made


def read(model):
    """RETURNS (Heads): With the weights of a model."""
    kept = {
        n: p.numpy() for n, p in model.named_parameters() if n.startswith(("att", "who", "own"))
    }
    return Heads(kept)


def test_roles_are_those_of_training(model):
    import torch

    tokens, one = torch.from_numpy(VECTORS), torch.zeros(3, dtype=torch.long)
    mentions = torch.tensor([(*span, owner) for span, owner in zip(SPANS, OWNERS, strict=True)])
    batch = {"mentions": mentions, "role": one, "doc_of_person": one}
    wanted = model.roles(tokens, tokens.mean(0)[None], batch).log_softmax(-1).numpy()
    found = read(model).roles(VECTORS, SPANS, OWNERS, 3)
    assert numpy.ptp(wanted, axis=0).min() > 0.05  # else anything would do
    assert numpy.abs(found - wanted).max() < 1e-3


def test_owners_are_those_of_training(model):
    import torch

    tokens = torch.from_numpy(VECTORS)
    items = torch.tensor([(a, b, OWNED.index(label), 0, 0) for a, b, label in THINGS])
    wanted = model.owners(tokens, tokens.mean(0)[None], items).numpy()
    assert numpy.abs(read(model).owned(VECTORS, THINGS) - wanted).max() < 1e-3


def slope(loss, x, at, step=1e-2):
    """RETURNS (float): Of a loss, by small steps of one number."""
    ends = []
    for sign in (1, -1):
        moved = x.copy()
        moved[at] += sign * step
        ends.append(loss(moved))
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.parametrize("head", ["roles", "owned"])
def test_gradients_are_those_of_small_steps(model, head):
    made, weight = read(model), RNG.normal(size=(3, 6)).astype("f4")

    def begin(vectors):
        if head == "roles":
            return made.begin_roles(vectors, SPANS, OWNERS, 3)
        return made.begin_owned(vectors, THINGS)

    factor = weight if head == "roles" else weight.ravel()[: len(THINGS)]
    _, backprop = begin(VECTORS)
    found = backprop(factor)
    for at in ((0, 3), (5, 100), (11, 7), (39, 200), (12, 50)):
        wanted = slope(lambda x: float((begin(x)[0] * factor).sum()), VECTORS, at)
        assert found[at] == pytest.approx(wanted, abs=2e-3), at
    first = "whose.0.weight" if head == "roles" else "owned.0.weight"
    for name, at in (
        (first, (4, 9)),
        (first.replace("0", "3"), (2, 30)),
        (first[:7] + ".bias", (3,)),
    ):
        old = made.weights[name]

        def loss(x, name=name):
            made.weights[name] = x
            return float((begin(VECTORS)[0] * factor).sum())

        wanted = slope(loss, old, at)
        made.weights[name] = old
        assert made.gradients[name][at] == pytest.approx(wanted, abs=2e-2), name


def test_nobody_and_nothing():
    assert heads().roles(VECTORS, [], [], 0).shape == (0, 6)
    assert heads().owned(VECTORS, []).shape == (0,)


def test_bytes_and_back():
    again = Heads.from_bytes(heads().to_bytes())
    one, two = (each.roles(VECTORS, SPANS, OWNERS, 3) for each in (heads(), again))
    assert numpy.allclose(one, two, atol=0.01) and one.shape == (3, 6)
    assert numpy.allclose(again.owned(VECTORS, THINGS), heads().owned(VECTORS, THINGS), atol=0.01)
    assert Heads.from_bytes(again.to_bytes()).to_bytes() == again.to_bytes()


def saved(**arrays: numpy.ndarray | None) -> bytes:
    """RETURNS (bytes): Heads with other arrays, without those that are None."""
    buffer, parts = BytesIO(), heads().weights | arrays
    numpy.savez(buffer, **{name: value for name, value in parts.items() if value is not None})
    return buffer.getvalue()


BROKEN = {
    "empty": b"",
    "no zip": b"nonsense",
    "cut off": saved()[:-40],
    "no weights": saved(**{"whose.0.weight": None}),
    "no bias": saved(**{"owned.3.bias": None}),
    "other width": saved(**{"attend.weight": numpy.zeros((1, 256))}),
    "other roles": saved(**{"whose.3.bias": numpy.zeros(5)}),
    "objects": saved(**{"attend.weight": numpy.asarray([{}, 1], dtype=object)}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_unusable_bytes_are_coded_errors(what):
    with pytest.raises(PiiError, match="E304"):
        Heads.from_bytes(BROKEN[what])
