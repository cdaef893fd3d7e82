"""The classifier of persons: probabilities, reasons, bytes."""

import json
from io import BytesIO

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.context.classifier import CLASSES, PersonModel, softmax
from pii_components.context.features import features
from pii_components.errors import PiiError

from ..tiny import cases

CASES = cases("context_tables")
N = len(features())
RNG = numpy.random.default_rng(7)
RANDOM = PersonModel(
    RNG.normal(size=N), RNG.uniform(0.5, 2, size=N), RNG.normal(size=(N, 6)), RNG.normal(size=6)
)


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
    model = hand_made(("most cue year", "CITED", 2.0), ("most zone header", "STUDENT", 3.0))
    rows = numpy.stack(
        [
            row(),
            row(**{"most cue year": 1}),
            row(**{"most zone header": 1}),
            row(**{"most cue year": 1, "most zone header": 1}),
        ]
    )
    p = model.predict(rows)
    assert p.shape == (4, 6) and numpy.allclose(p.sum(axis=1), 1)
    assert p[0] == pytest.approx([1 / 6] * 6)
    assert [CLASSES[n] for n in p[1:].argmax(axis=1)] == ["CITED", "STUDENT", "STUDENT"]
    assert p[1, CLASSES.index("CITED")] == pytest.approx(numpy.exp(2) / (numpy.exp(2) + 5))


def test_what_is_beyond_all_measure_counts_as_much_as_what_is_far():
    model = hand_made(("length", "CITED", 1.0))
    assert numpy.array_equal(
        model.predict(row(length=5)[None]), model.predict(row(length=1e6)[None])
    )
    assert model.predict(row(length=3)[None])[0, 3] < model.predict(row(length=5)[None])[0, 3]


@given(st.integers(0, 2**32 - 1), st.integers(-99, 99))
def test_any_row_gives_probabilities(seed, size):
    p = RANDOM.predict(
        numpy.random.default_rng(seed).normal(size=(1, N)).astype("f4") * numpy.float32(2.0**size)
    )
    assert numpy.isfinite(p).all() and p.sum() == pytest.approx(1)


@given(st.lists(st.floats(-700, 700), min_size=6, max_size=6), st.floats(-1e3, 1e3))
def test_softmax_keeps_the_order_and_forgets_what_all_have(logits, more):
    logits = numpy.asarray([logits])
    p = softmax(logits)
    assert p.sum() == pytest.approx(1) and numpy.allclose(softmax(logits + more), p)
    assert (numpy.diff(p[0][logits[0].argsort()]) >= 0).all()


@pytest.mark.parametrize(("pulls", "values", "role", "said"), CASES["reasons"])
def test_reasons_are_the_strongest_features(pulls, values, role, said):
    assert hand_made(*pulls).reason(row(**values), role) == said


def test_bytes_and_back():
    data = RANDOM.to_bytes()
    again = PersonModel.from_bytes(data)
    rows = RNG.normal(size=(50, N))
    assert numpy.allclose(again.predict(rows), RANDOM.predict(rows), atol=1e-4)
    assert PersonModel.from_bytes(again.to_bytes()).predict(rows) == pytest.approx(
        again.predict(rows)
    )


def changed(**arrays: object) -> bytes:
    with numpy.load(BytesIO(RANDOM.to_bytes())) as held:
        parts = {key: held[key] for key in held.files} | arrays
    buffer = BytesIO()
    numpy.savez_compressed(
        buffer, **{key: value for key, value in parts.items() if value is not None}
    )
    return buffer.getvalue()


def as_names(*names) -> numpy.ndarray:
    return numpy.frombuffer(json.dumps(names).encode(), dtype="u1")


def npy() -> bytes:
    buffer = BytesIO()
    numpy.save(buffer, numpy.zeros(3))
    return buffer.getvalue()


BROKEN = {
    "empty": b"",
    "no zip": b"nonsense",
    "cut off": RANDOM.to_bytes()[:-40],
    "one array": npy(),
    "no weights": changed(weights=None),
    "objects": changed(weights=numpy.asarray([{}, 1], dtype=object)),
    "other shape": changed(weights=numpy.zeros((N - 1, 6))),
    "features of another version": changed(
        names=as_names(["has a year", *features()[1:]], CLASSES)
    ),
    "other classes": changed(names=as_names(features(), CLASSES[::-1])),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_used_is_a_coded_error(what):
    with pytest.raises(PiiError) as error:
        PersonModel.from_bytes(BROKEN[what])
    assert error.value.code == "E304"


def test_any_flipped_byte_is_a_coded_error_or_changes_nothing_of_the_form():
    data = RANDOM.to_bytes()
    for at in range(0, len(data), len(data) // 60):
        broken = data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :]
        try:
            assert PersonModel.from_bytes(broken).weights.shape == (N, len(CLASSES))
        except PiiError as error:
            assert error.code == "E304"
