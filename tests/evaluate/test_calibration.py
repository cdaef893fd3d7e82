"""calibration.py and its section in the report."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.evaluate.html import calibration
from pii_components.evaluate.metrics import reliability, wilson


def test_what_is_calibrated_has_no_error():
    rng = numpy.random.default_rng(3)
    p = rng.random(20000)
    curve = reliability(p.tolist(), (rng.random(20000) < p).tolist())
    assert curve["ece"] < 0.02 and len(curve["bins"]) == 10
    assert all(b["share_95"][0] <= b["share"] <= b["share_95"][1] for b in curve["bins"])


def test_what_is_too_sure_has_one():
    curve = reliability([0.95] * 10, [True] * 6 + [False] * 4)
    assert curve["ece"] == pytest.approx(0.35) and curve["brier"] == pytest.approx(0.6 * 0.0025 + 0.4 * 0.9025)
    assert curve["bins"] == [{"low": 0.9, "high": 1.0, "n": 10, "mean_score": 0.95, "share": 0.6, "share_95": [0.3127, 0.8318]}]


def test_nothing_is_no_number():
    assert reliability([], [])["ece"] is None and wilson(0, 0) == (0.0, 1.0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_bins_hold_everything_once(pairs):
    curve = reliability([p for p, _ in pairs], [y for _, y in pairs])
    assert sum(b["n"] for b in curve["bins"]) == curve["n"] == len(pairs)
    assert 0 <= curve["ece"] <= 1 and 0 <= curve["brier"] <= 1


def test_section():
    page = calibration({"cv.json": {"calibration": {"private people": reliability([0.2, 0.9, 0.8], [False, True, True])}}})
    assert "private people" in page and "<svg" in page and "0.8 to 0.9" in page
    assert "evaluate crossval" in calibration({"other.json": {}})
