"""Formulas against numbers worked out by hand, and against published ones."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.evaluate.metrics import (
    ALARMS,
    COVERED,
    ENTITIES,
    coverage,
    difference,
    measures,
    resample,
    score,
)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500), st.sampled_from([1, 5]))
def test_f_measures_are_the_textbook_formula(tp, fp, fn, beta):
    p, r, b2 = tp / (tp + fp), tp / (tp + fn), beta**2
    assert measures(numpy.asarray([tp, fp, fn]))[f"f{beta}"] == pytest.approx(
        (1 + b2) * p * r / (b2 * p + r)
    )


def test_what_has_no_value_is_nan():
    values = measures(numpy.asarray([[0, 0, 0], [0, 0, 3], [0, 3, 0]]))
    assert numpy.isnan(values["precision"]).tolist() == [True, True, False]
    assert numpy.isnan(values["recall"]).tolist() == [True, False, True]
    assert numpy.isnan(values["f5"]).tolist() == [True, False, False]


COUNTS = numpy.asarray([[3, 1, 0], [1, 0, 1], [0, 2, 0], [2, 0, 0], [0, 0, 1], [1, 1, 1]] * 5)


def test_a_score_has_its_value_within_its_interval():
    found = score(COUNTS, resample(len(COUNTS)))
    assert [found[name] for name in ("tp", "fp", "fn", "support")] == [35, 20, 15, 50]
    assert found["precision"].value == pytest.approx(35 / 55)
    assert found["recall"].value == pytest.approx(0.7)
    for estimate in (found[name] for name in ("precision", "recall", "f1", "f5")):
        assert 0 < estimate.low < estimate.value < estimate.high < 1


def test_a_bootstrap_by_matrix_is_a_bootstrap_by_drawing():
    weights = resample(len(COUNTS), n_resamples=200, seed=3)
    assert weights.shape == (200, len(COUNTS)) and (weights.sum(axis=1) == len(COUNTS)).all()
    drawn = []
    for row in weights:
        tp, fp, fn = COUNTS[numpy.repeat(numpy.arange(len(COUNTS)), row)].sum(axis=0)
        drawn.append(26 * tp / (26 * tp + 25 * fn + fp))
    found = score(COUNTS, weights)["f5"]
    assert (found.low, found.high) == pytest.approx(tuple(numpy.quantile(drawn, [0.025, 0.975])))


def test_a_score_without_support_or_predictions():
    found = score(numpy.asarray([[0, 4, 0], [0, 1, 0]]), resample(2))
    assert found == {"support": 0, "tp": 0, "fp": 5, "fn": 0}
    found = score(numpy.asarray([[0, 0, 2], [0, 0, 1]]), resample(2))
    assert found["precision"] is None and (found["recall"].value, found["f5"].value) == (0, 0)


def test_a_difference_is_paired():
    weights = resample(len(COUNTS))
    assert difference(COUNTS, COUNTS, weights)["f5"].low == 0
    better = COUNTS.copy()
    better[:, 0], better[:, 2] = COUNTS[:, 0] + COUNTS[:, 2], 0
    gain = difference(better, COUNTS, weights)
    assert gain["recall"].value == pytest.approx(0.3)
    assert 0 < gain["f5"].low < gain["f5"].value < gain["f5"].high


def test_coverage_counts_documents():
    counts = numpy.zeros((4, 7), dtype="i8")
    counts[:, [ENTITIES, COVERED, ALARMS]] = [[2, 1, 3], [1, 1, 1], [0, 0, 2], [0, 0, 0]]
    found = coverage(counts, numpy.asarray([False, False, True, True]), resample(4))
    names = "documents_with_pii incompletely_covered entities exposed_entities clean_documents"
    assert [found[name] for name in names.split()] == [2, 1, 3, 1, 2] and found[
        "clean_touched"
    ] == 1
    assert found["incomplete_rate"].value == found["touched_rate"].value == 0.5
    assert coverage(counts, numpy.zeros(4, dtype=bool), resample(4))["touched_rate"] is None
