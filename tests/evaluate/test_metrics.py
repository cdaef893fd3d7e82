"""Formulas against numbers worked out by hand, and against published ones."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.evaluate.match import ALARMS, COVERED, ENTITIES
from pii_components.evaluate.metrics import coverage, difference, measures, resample, score

# The overall rows of Table 7 of the JEDM paper: counts, then P, R, F1, F5 as printed there.
TABLE_7 = [
    ((2055, 11597, 838), (0.1505, 0.7103, 0.2484, 0.6214)),
    ((2421, 9153, 472), (0.2092, 0.8368, 0.3347, 0.7503)),
    ((2665, 8160, 228), (0.2462, 0.9212, 0.3885, 0.8333)),
    ((2251, 1163, 642), (0.6593, 0.7781, 0.7138, 0.7727)),
    ((2774, 1817, 119), (0.6042, 0.9589, 0.7413, 0.9377)),
    ((2321, 289, 572), (0.8893, 0.8023, 0.8435, 0.8053)),
    ((2502, 790, 391), (0.7600, 0.8648, 0.8091, 0.8603)),
]


@pytest.mark.parametrize(("counts", "printed"), TABLE_7)
def test_measures_give_the_published_numbers(counts, printed):
    values = measures(numpy.asarray(counts))
    assert [round(float(values[name]), 4) for name in ("precision", "recall", "f1", "f5")] == list(printed)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500), st.sampled_from([1, 5]))
def test_f_measures_are_the_textbook_formula(tp, fp, fn, beta):
    p, r, b2 = tp / (tp + fp), tp / (tp + fn), beta**2
    assert measures(numpy.asarray([tp, fp, fn]))[f"f{beta}"] == pytest.approx((1 + b2) * p * r / (b2 * p + r))


def test_what_has_no_value_is_nan():
    values = measures(numpy.asarray([[0, 0, 0], [0, 0, 3], [0, 3, 0]]))
    assert numpy.isnan(values["precision"]).tolist() == [True, True, False]
    assert numpy.isnan(values["recall"]).tolist() == [True, False, True]
    assert numpy.isnan(values["f5"]).tolist() == [True, False, False]


def test_every_resample_has_as_many_documents():
    weights = resample(30, n_resamples=50)
    assert weights.shape == (50, 30)
    assert (weights.sum(axis=1) == 30).all()


COUNTS = numpy.asarray([[3, 1, 0], [1, 0, 1], [0, 2, 0], [2, 0, 0], [0, 0, 1], [1, 1, 1]] * 5)


def test_a_score_has_its_value_within_its_interval():
    found = score(COUNTS, resample(len(COUNTS)))
    assert (found.tp, found.fp, found.fn, found.support) == (35, 20, 15, 50)
    assert found.precision.value == pytest.approx(35 / 55)
    assert found.recall.value == pytest.approx(0.7)
    for estimate in (found.precision, found.recall, found.f1, found.f5):
        assert 0 < estimate.low < estimate.value < estimate.high < 1


def test_a_bootstrap_by_matrix_is_a_bootstrap_by_drawing():
    weights = resample(len(COUNTS), n_resamples=200, seed=3)
    drawn = []
    for row in weights:
        tp, fp, fn = COUNTS[numpy.repeat(numpy.arange(len(COUNTS)), row)].sum(axis=0)
        drawn.append(26 * tp / (26 * tp + 25 * fn + fp))
    found = score(COUNTS, weights).f5
    assert (found.low, found.high) == pytest.approx(tuple(numpy.quantile(drawn, [0.025, 0.975])))


def test_a_label_without_support_has_counts_and_no_score():
    found = score(numpy.asarray([[0, 4, 0], [0, 1, 0]]), resample(2))
    assert (found.tp, found.fp, found.fn, found.support) == (0, 5, 0, 0)
    assert found.precision is found.recall is found.f1 is found.f5 is None


def test_nothing_predicted_has_a_recall_and_no_precision():
    found = score(numpy.asarray([[0, 0, 2], [0, 0, 1]]), resample(2))
    assert found.precision is None
    assert (found.recall.value, found.f5.value) == (0, 0)


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
    names = ("documents_with_pii", "incompletely_covered", "entities", "exposed_entities", "clean_documents", "clean_touched")
    assert [found[name] for name in names] == [2, 1, 3, 1, 2, 1]
    assert found["incomplete_rate"].value == found["touched_rate"].value == 0.5
    assert coverage(counts, numpy.zeros(4, dtype=bool), resample(4))["touched_rate"] is None
