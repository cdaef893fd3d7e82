"""Overlap, masked gold, characters, false alarms, roles, paired differences: counts worked out by hand."""

import numpy
import pytest

from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import (
    FN,
    FP,
    TP,
    judged,
    match_bag,
    match_overlap,
    match_position,
    match_tokens,
    pair_overlaps,
)
from pii_components.evaluate.metrics import expose, exposure, has_roles, match_roles, paired_p, resample, role_accuracy
from pii_components.evaluate.report import build_report
from pii_components.evaluate.systems import Run

LABELS = ("NAME_STUDENT", "EMAIL")
DOCS = ("1", "2")


def name(start: int, end: int, label: str = "NAME_STUDENT", document: str = "1") -> Entity:
    return Entity(document, start, end, label, "x" * (end - start))


# gold, predicted, masked -> (TP, FP, FN) by overlap
OVERLAP = {
    "the same": ([name(0, 7)], [name(0, 7)], (), (1, 0, 0)),
    "a part": ([name(0, 7)], [name(0, 3)], (), (1, 0, 0)),
    "too long": ([name(0, 7)], [name(0, 12)], (), (1, 0, 0)),
    "one character": ([name(0, 7)], [name(6, 20)], (), (1, 0, 0)),
    "beside": ([name(0, 7)], [name(7, 9)], (), (0, 1, 1)),
    "in two parts: one is too many": ([name(0, 7)], [name(0, 3), name(4, 7)], (), (1, 1, 0)),
    "one over two: one is missed": ([name(0, 3), name(4, 7)], [name(0, 7)], (), (1, 0, 1)),
    "shifted pairs": ([name(0, 4), name(5, 9)], [name(3, 6), name(8, 12)], (), (2, 0, 0)),
    "the exact one is taken first": ([name(5, 9)], [name(0, 6), name(5, 9)], (), (1, 1, 0)),
    "another label": ([name(0, 7)], [name(0, 7, "EMAIL")], (), (0, 1, 1)),
    "another document": ([name(0, 7)], [name(0, 7, document="2")], (), (0, 1, 1)),
    "what touches a mask is not wrong": ([], [name(0, 7)], ((5, 9),), (0, 0, 0)),
    "beside a mask it is": ([], [name(0, 5)], ((5, 9),), (0, 1, 0)),
    "gold beside a mask counts": ([name(0, 4)], [name(0, 9)], ((5, 9),), (1, 0, 0)),
    "gold is missed whatever is masked": ([name(0, 4)], [], ((5, 9),), (0, 0, 1)),
}


@pytest.mark.parametrize("case", OVERLAP)
def test_overlap(case):
    gold, predicted, masked, expected = OVERLAP[case]
    table = match_overlap(gold, predicted, documents=DOCS, labels=LABELS, masked={"1": masked})
    assert tuple(table.counts.sum(axis=(0, 1))) == expected


def test_overlap_takes_every_entity_once():
    gold = [name(0, 4), name(5, 9), name(10, 14)]
    predicted = [name(2, 12)]
    assert len(pair_overlaps(gold, predicted)) == 1
    counts = match_overlap(gold, predicted, documents=DOCS, labels=LABELS).counts.sum(axis=(0, 1))
    assert (counts[TP], counts[FP], counts[FN]) == (1, 0, 2)


def test_masked_places_count_neither_for_nor_against():
    gold, masked = [name(0, 4)], {"1": ((10, 20),)}
    predicted = [name(0, 4), name(12, 15), name(30, 34)]
    assert judged(predicted, masked) == [predicted[0], predicted[2]]
    for match in (match_bag, match_position):
        counts = match(gold, judged(predicted, masked), documents=DOCS, labels=LABELS).counts.sum(axis=(0, 1))
        assert tuple(counts) == (1, 1, 0)


def test_masked_tokens_do_not_count():
    tokens = {"1": ((0, 4), (5, 9), (10, 14))}
    # The prediction covers all three; the second is masked; the third is not gold.
    table = match_tokens([name(0, 4)], [name(0, 14)], documents=["1"], labels=LABELS, tokens=tokens, masked={"1": ((6, 8),)})
    assert tuple(table.counts.sum(axis=(0, 1))) == (1, 1, 0)
    # A prediction that begins in the mask goes on with I.
    table = match_tokens([name(10, 14)], [name(5, 14)], documents=["1"], labels=LABELS, tokens=tokens, masked={"1": ((5, 9),)})
    assert tuple(table.counts.sum(axis=(0, 1))) == (0, 1, 1)


def test_a_document_with_a_mask_is_not_clean_and_its_mask_is_no_alarm():
    documents = [
        GoldDocument("1", "Ana or Bob x", (), ((0, 3), (4, 6), (7, 10), (11, 12)), masked=((7, 10),)),
        GoldDocument("2", "Nothing here", (), ((0, 7), (8, 12))),
    ]
    run = Run("a", {}, (Entity("1", 7, 10, "NAME_STUDENT", "Bob"),), frozenset(["NAME_STUDENT"]), 1, 1, 5)
    view = build_report([run], documents, views={"all": LABELS}, n_resamples=5)["systems"]["a"]["views"]["all"]
    assert [view[m]["fp"] for m in ("bag", "position", "overlap", "tokens")] == [0, 0, 0, 0]
    assert view["coverage"]["clean_documents"] == 1 and view["coverage"]["clean_touched"] == 0
    assert view["exposure"]["false_alarms"] == 0


def test_characters_touched_entities_and_alarms():
    gold = [Entity("1", 0, 7, "NAME_STUDENT", "Ana Roe"), Entity("2", 0, 4, "EMAIL", "a@b.")]
    hidden = [
        Entity("1", 0, 3, "USERNAME", "Ana"),
        Entity("1", 20, 23, "EMAIL", "xxx"),
        Entity("2", 0, 5, "NAME_CITED", "a@b. "),
    ]
    table = expose(gold, hidden, documents=DOCS, words=[30, 20])
    assert table.counts.tolist() == [[1, 0, 1, 6, 3, 1, 30], [1, 1, 1, 4, 4, 0, 20]]
    found = exposure(table, resample(2, n_resamples=10))
    assert (found.characters, found.characters_in_clear, found.false_alarms, found.words) == (10, 3, 1, 50)
    assert found.character_recall.value == 0.7
    assert found.label_blind_recall.value == 0.5
    assert found.touched_recall.value == 1
    assert found.false_alarms_per_10000_words.value == 200


def test_without_gold_there_is_no_share():
    found = exposure(expose([], [name(0, 3)], documents=["1"], words=[100]), resample(1, n_resamples=5))
    assert found.character_recall is None and found.label_blind_recall is None
    assert found.false_alarms_per_10000_words.value == 100


ROLES = {
    # gold, predicted -> counts of STUDENT, of CITED
    "right": ([name(0, 4)], [name(0, 4)], (1, 0, 0), (0, 0, 0)),
    "right, other edges": ([name(0, 4)], [name(0, 3)], (1, 0, 0), (0, 0, 0)),
    "taken for an author": ([name(0, 4)], [name(0, 4, "NAME_CITED")], (0, 0, 1), (0, 1, 0)),
    "an author taken for a student": ([name(0, 4, "NAME_CITED")], [name(0, 4)], (0, 1, 0), (0, 0, 1)),
    "not found": ([name(0, 4, "NAME_CITED")], [], (0, 0, 0), (0, 0, 1)),
    "no name there": ([], [name(0, 4, "NAME_CITED")], (0, 0, 0), (0, 1, 0)),
    "no name at all": ([name(0, 4, "EMAIL")], [name(0, 4, "EMAIL")], (0, 0, 0), (0, 0, 0)),
}


@pytest.mark.parametrize("case", ROLES)
def test_roles(case):
    gold, predicted, student, cited = ROLES[case]
    table = match_roles(gold, predicted, documents=DOCS)
    assert tuple(table.select(labels=["STUDENT"]).per_document.sum(axis=0)) == student
    assert tuple(table.select(labels=["CITED"]).per_document.sum(axis=0)) == cited


def test_role_accuracy_is_among_those_found():
    gold = [name(0, 4), name(5, 9, "NAME_CITED"), name(10, 14, "NAME_CITED"), name(20, 24)]
    predicted = [name(0, 4), name(5, 9, "NAME_CITED"), name(10, 14)]
    found, accuracy = role_accuracy(gold, predicted, resample(2, n_resamples=5), documents=DOCS)
    assert found == 3 and accuracy.value == pytest.approx(2 / 3)
    assert role_accuracy([], [], resample(2, n_resamples=5), documents=DOCS) == (0, None)


def test_gold_has_roles_where_a_name_is_not_a_students():
    assert has_roles([name(0, 4), name(5, 9, "NAME_CITED")])
    assert not has_roles([name(0, 4), name(5, 9, "EMAIL")])


def test_paired_p():
    better = numpy.asarray([[1, 0, 0]] * 20)
    worse = numpy.asarray([[0, 0, 1]] * 20)
    mixed = numpy.asarray([[1, 0, 0], [0, 0, 1]] * 10)
    weights = resample(20, n_resamples=200)
    assert paired_p(better, better, weights) == 1
    assert paired_p(better, worse, weights) == 1 / 200
    assert paired_p(mixed, mixed[::-1], weights) > 0.5
