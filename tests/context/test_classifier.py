"""The classifier of persons: probabilities, reasons, bytes."""

import json
from dataclasses import replace
from io import BytesIO

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.context.classifier import CLASSES, PersonModel
from pii_components.context.features import features
from pii_components.context.heads import OWNED
from pii_components.errors import PiiError

from ..tiny import cases

CASES = cases("context_tables")
N = len(features())
RNG = numpy.random.default_rng(7)
RANDOM = PersonModel(
    RNG.normal(size=N),
    RNG.uniform(0.5, 2, size=N),
    RNG.normal(size=(N, 6)),
    RNG.normal(size=6),
    RNG.normal(size=(6, 2)),
)
YEAR = "a year or 'et al.' follows"


def hand_made(*pulls: tuple[str, str, float]) -> PersonModel:
    """RETURNS (PersonModel): That knows nothing but weights of (feature, class)."""
    weights = numpy.zeros((N, len(CLASSES)))
    for feature, role, weight in pulls:
        weights[features().index(feature), CLASSES.index(role)] = weight
    return PersonModel(numpy.zeros(N), numpy.ones(N), weights, numpy.zeros(len(CLASSES)))


def row(**values: float) -> numpy.ndarray:
    found = numpy.zeros(N, dtype="f4")
    for feature, value in values.items():
        found[features().index(feature)] = value
    return found


def test_what_pulls_makes_likelier():
    model = hand_made((YEAR, "CITED", 2.0), ("header", "STUDENT", 3.0))
    year, header = {YEAR: 1}, {"header": 1}
    p = model.predict(numpy.stack([row(), row(**year), row(**header), row(**year, **header)]))
    assert p.shape == (4, 6) and numpy.allclose(p.sum(axis=1), 1)
    assert p[0] == pytest.approx([1 / 6] * 6)
    assert [CLASSES[n] for n in p[1:].argmax(axis=1)] == ["CITED", "STUDENT", "STUDENT"]
    assert p[1, CLASSES.index("CITED")] == pytest.approx(numpy.exp(2) / (numpy.exp(2) + 5))


def test_far_values_are_capped():
    model = hand_made(("persons", "CITED", 1.0))
    near, far, farther = (model.predict(row(persons=n)[None])[0] for n in (3, 5, 1e6))
    assert numpy.array_equal(far, farther) and near[3] < far[3]


@given(st.integers(0, 2**32 - 1), st.integers(-99, 99))
def test_any_row_gives_probabilities(seed, size):
    row = numpy.random.default_rng(seed).normal(size=(1, N)).astype("f4")
    p = RANDOM.predict(row * numpy.float32(2.0**size))
    assert numpy.isfinite(p).all() and p.sum() == pytest.approx(1)


@pytest.mark.parametrize(("pulls", "values", "role", "said"), CASES["reasons"])
def test_reasons_are_the_strongest_features(pulls, values, role, said):
    assert hand_made(*pulls).reason(row(**values), role) == said


def test_what_nobody_read_is_as_usual():
    unread = RANDOM.mean.copy()
    unread[:6] = numpy.nan
    assert RANDOM.predict(unread[None]) == pytest.approx(RANDOM.predict(RANDOM.mean[None]))


def test_owners_are_calibrated_by_label():
    odds, labels = numpy.asarray([2.0, 2.0, 0.0]), ["DATE", "AGE", "AGE"]
    assert hand_made().somebodys(odds, labels) == pytest.approx([0.8808, 0.8808, 0.5], abs=1e-4)
    owned = numpy.tile([1.0, 0.0], (6, 1))
    owned[OWNED.index("AGE")] = 0.5, -1.0
    found = replace(hand_made(), owned=owned).somebodys(odds, labels)
    assert found == pytest.approx([0.8808, 0.5, 0.2689], abs=1e-4)


def test_bytes_and_back():
    data = RANDOM.to_bytes()
    again = PersonModel.from_bytes(data)
    rows = RNG.normal(size=(50, N))
    assert numpy.allclose(again.predict(rows), RANDOM.predict(rows), atol=1e-4)
    odds, labels = RNG.normal(size=5), OWNED[1:]
    assert again.somebodys(odds, labels) == pytest.approx(RANDOM.somebodys(odds, labels), abs=1e-5)
    twice = PersonModel.from_bytes(again.to_bytes())
    assert twice.predict(rows) == pytest.approx(again.predict(rows))


def saved(**arrays: object) -> bytes:
    """RETURNS (bytes): The model with other arrays, without those that are None."""
    with numpy.load(BytesIO(RANDOM.to_bytes())) as held:
        parts = {key: held[key] for key in held.files} | arrays
    buffer = BytesIO()
    numpy.savez_compressed(buffer, **{k: value for k, value in parts.items() if value is not None})
    return buffer.getvalue()


def as_names(*names) -> numpy.ndarray:
    return numpy.frombuffer(json.dumps(names).encode(), dtype="u1")


BROKEN = {
    "empty": b"",
    "no zip": b"nonsense",
    "cut off": RANDOM.to_bytes()[:-40],
    "no weights": saved(weights=None),
    "objects": saved(weights=numpy.asarray([{}, 1], dtype=object)),
    "other shape": saved(weights=numpy.zeros((N - 1, 6))),
    "other features": saved(names=as_names(["has a year", *features()[1:]], CLASSES)),
    "other classes": saved(names=as_names(features(), CLASSES[::-1])),
    "0.12.0": saved(names=as_names(["mean model STUDENT"], CLASSES), owned=None),
}


@pytest.mark.parametrize("what", BROKEN)
def test_unusable_bytes_are_coded_errors(what):
    with pytest.raises(PiiError, match="E304"):
        PersonModel.from_bytes(BROKEN[what])


def test_flipped_bytes_are_coded_errors():
    data = RANDOM.to_bytes()
    for at in range(0, len(data), len(data) // 60):
        broken = data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :]
        try:
            assert PersonModel.from_bytes(broken).weights.shape == (N, len(CLASSES))
        except PiiError as error:
            assert error.code == "E304"
