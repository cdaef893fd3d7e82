"""Counts worked out by hand, most of them in tests/data/evaluate_cases.json: what, gold, predictions, (TP, FP, FN) by the way of matching."""

from functools import partial

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import CASES

from pii_components.errors import PiiError
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import Entity, GoldDocument, Run
from pii_components.evaluate.metrics import (
    COVERED,
    ENTITIES,
    FN,
    FP,
    TP,
    exposure,
    paired_p,
    resample,
)
from pii_components.evaluate.report import score_report
from pii_components.profiles import Profile

LABELS = ("NAME_STUDENT", "EMAIL")
DOCS = ("1", "2")
# "Ana Roe wrote this"
TOKENS = {"1": ((0, 3), (4, 7), (8, 13), (14, 18))}
HOW = {
    "bag": metrics.match_bag,
    "position": metrics.match_position,
    "overlap": metrics.match_overlap,
    "tokens": partial(metrics.match_tokens, tokens=TOKENS),
}


def entity(start: int, end: int | str, label: str = "NAME_STUDENT", document: str = "1") -> Entity:
    """end (int | str): Or the text."""
    text = end if isinstance(end, str) else "x" * (end - start)
    return Entity(document, start, start + len(text), label, text)


def made(rows):
    return [entity(*row) for row in rows]


@pytest.mark.parametrize("case", CASES["matching"], ids=str)
def test_counts(case):
    _, gold, predicted, expected, *masked = case
    for how, counts in expected.items():
        options = {"masked": {"1": masked[0]}} if masked else {}
        table = HOW[how](made(gold), made(predicted), documents=DOCS, labels=LABELS, **options)
        assert table.counts.shape == (2, 2, 3)
        assert table.counts.sum(axis=(0, 1)).tolist() == counts


def test_counts_stand_under_their_document_and_label():
    gold = made([(0, "Ana"), (9, "a@b.example", "EMAIL")])
    table = metrics.match_bag(
        gold, made([(0, "Ana"), (4, "Ben", "NAME_STUDENT", "2")]), documents=DOCS, labels=LABELS
    )
    assert table.counts.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]
    assert table.select(labels=["EMAIL"]).per_document.tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(("_", "predicted", "exposed"), CASES["cover"])
def test_cover_asks_for_every_character(_, predicted, exposed):
    table = metrics.expose([entity(0, "Ana Roe")], made(predicted), documents=DOCS)
    assert (table[:, ENTITIES] - table[:, COVERED]).tolist() == [exposed, 0]
    assert table[:, ENTITIES].tolist() == [1, 0]


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (4, 3)])
def test_an_entity_checks_its_offsets(start, end):
    with pytest.raises(PiiError, match=r"\[E701\]"):
        Entity("1", start, end, "EMAIL")


ENTITIES_OF_ANY_KIND = st.lists(
    st.builds(
        lambda document, start, length, label: entity(start, start + length, label, document),
        st.sampled_from(DOCS),
        st.integers(0, 40),
        st.integers(1, 9),
        st.sampled_from((*LABELS, "NAME_CITED")),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(ENTITIES_OF_ANY_KIND)
def test_a_perfect_prediction_has_no_errors(gold):
    for count in (metrics.match_bag, metrics.match_position):
        counts = count(gold, gold, documents=DOCS, labels=LABELS).counts
        assert counts[..., TP].sum() == sum(e.label in LABELS for e in gold)
        assert not counts[..., (FP, FN)].any()
    counts = metrics.expose(gold, gold, documents=DOCS)
    assert (counts[:, ENTITIES] == counts[:, COVERED]).all()


def test_a_document_with_a_mask_is_not_clean_and_its_mask_is_no_alarm():
    tokens = ((0, 3), (4, 6), (7, 10), (11, 12))
    masked = GoldDocument("1", "Ana or Bob x", (), tokens, masked=((7, 10),))
    found = (Entity("1", 7, 10, "NAME_STUDENT", "Bob"),)
    run = Run("a", {}, found, frozenset(["NAME_STUDENT"]), 1, 1, 5)
    documents = [masked, GoldDocument("2", "Nothing here", (), ((0, 7), (8, 12)))]
    report = score_report([run], documents, profile=Profile.load("kaggle"), resamples=5)
    view = report["systems"]["a"]["views"]["all"]
    assert [view[m]["fp"] for m in ("bag", "position", "overlap", "tokens")] == [0, 0, 0, 0]
    assert view["coverage"]["clean_documents"] == 1 and view["coverage"]["clean_touched"] == 0
    assert view["exposure"]["false_alarms"] == 0


def test_characters_touched_entities_and_alarms():
    gold = made([(0, "Ana Roe"), (0, "a@b.", "EMAIL", "2")])
    hidden = made([(0, "Ana", "USERNAME"), (20, 23, "EMAIL"), (0, "a@b. ", "NAME_CITED", "2")])
    counts = metrics.expose(gold, hidden, documents=DOCS, words=[30, 20])
    assert counts.tolist() == [[1, 0, 1, 6, 3, 1, 30], [1, 1, 1, 4, 4, 0, 20]]
    found = exposure(counts, resample(2, n_resamples=10))
    names = "characters characters_in_clear false_alarms words".split()
    assert [found[name] for name in names] == [10, 3, 1, 50]
    rates = "character_recall label_blind_recall touched_recall false_alarms_per_10000_words"
    assert [found[rate].value for rate in rates.split()] == [0.7, 0.5, 1, 200]
    counts = metrics.expose([], [entity(0, 3)], documents=["1"], words=[100])
    found = exposure(counts, resample(1, n_resamples=5))
    assert found["character_recall"] is None and found["label_blind_recall"] is None
    assert found["false_alarms_per_10000_words"].value == 100


@pytest.mark.parametrize(("_", "gold", "predicted", "student", "cited"), CASES["roles"])
def test_roles(_, gold, predicted, student, cited):
    table = metrics.match_roles(made(gold), made(predicted), documents=DOCS)
    for role, counts in (("STUDENT", student), ("CITED", cited)):
        assert table.select(labels=[role]).per_document.sum(axis=0).tolist() == counts


def test_roles_among_names_that_were_found():
    gold = made([(0, 4), (5, 9, "NAME_CITED"), (10, 14, "NAME_CITED"), (20, 24)])
    predicted = made([(0, 4), (5, 9, "NAME_CITED"), (10, 14), (30, 34)])
    table = metrics.match_roles(gold, predicted, documents=DOCS, missed=False)
    assert table.per_document.tolist() == [[2, 1, 1], [0, 0, 0]]
    assert metrics.has_roles(gold) and not metrics.has_roles(made([(0, 4), (5, 9, "EMAIL")]))


def test_paired_p():
    better, worse = numpy.asarray([[1, 0, 0]] * 20), numpy.asarray([[0, 0, 1]] * 20)
    mixed = numpy.asarray([[1, 0, 0], [0, 0, 1]] * 10)
    weights = resample(20, n_resamples=200)
    assert paired_p(better, better, weights) == 1
    assert paired_p(better, worse, weights) == 1 / 200
    assert paired_p(mixed, mixed[::-1], weights) > 0.5
