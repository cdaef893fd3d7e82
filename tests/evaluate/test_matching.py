"""Counts worked out by hand."""

from random import Random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import (  # fmt: skip
    COVERED,
    ENTITIES,
    FN,
    FP,
    TP,
    cover,
    expose,
    has_roles,
    match_bag,
    match_overlap,
    match_position,
    match_roles,
    match_tokens,
)
from pii_components.evaluate.metrics import exposure, paired_p, resample
from pii_components.evaluate.report import build_report
from pii_components.evaluate.systems import Run

LABELS = ("NAME_STUDENT", "EMAIL")
DOCS = ("1", "2")


def name(start: int, text: str, document: str = "1", label: str = "NAME_STUDENT") -> Entity:
    return Entity(document, start, start + len(text), label, text)


# gold, predicted -> (TP, FP, FN) by text, by position
CASES = {
    "the same": ([name(0, "Ana Roe")], [name(0, "Ana Roe")], (1, 0, 0), (1, 0, 0)),
    "nothing at all": ([], [], (0, 0, 0), (0, 0, 0)),
    "missed": ([name(0, "Ana Roe")], [], (0, 0, 1), (0, 0, 1)),
    "invented": ([], [name(0, "Ana Roe")], (0, 1, 0), (0, 1, 0)),
    "too long": ([name(0, "Ana Roe")], [name(0, "Ana Roe by")], (0, 1, 1), (0, 1, 1)),
    "other place, same text": ([name(0, "Ana")], [name(30, "Ana")], (1, 0, 0), (0, 1, 1)),
    "twice in gold, once found": ([name(0, "Ana"), name(30, "Ana")], [name(0, "Ana")], (1, 0, 1), (1, 0, 1)),
    "once in gold, twice found": ([name(0, "Ana")], [name(0, "Ana"), name(30, "Ana")], (1, 1, 0), (1, 1, 0)),
    "another label": ([name(0, "Ana")], [name(0, "Ana", label="EMAIL")], (0, 1, 1), (0, 1, 1)),
    "another role is no prediction": ([name(0, "Ana")], [name(0, "Ana", label="NAME_CITED")], (0, 0, 1), (0, 0, 1)),
    "another document": ([name(0, "Ana")], [name(0, "Ana", document="2")], (0, 1, 1), (0, 1, 1)),
    "a document that does not count": ([name(0, "Ana")], [name(0, "Ana", document="9")], (0, 0, 1), (0, 0, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_counts_by_text_and_by_position(case):
    gold, predicted, by_text, by_position = CASES[case]
    for match, expected in ((match_bag, by_text), (match_position, by_position)):
        table = match(gold, predicted, documents=DOCS, labels=LABELS)
        assert table.counts.shape == (2, 2, 3)
        assert tuple(table.counts.sum(axis=(0, 1))) == expected


def test_counts_stand_under_their_document_and_label():
    gold = [name(0, "Ana"), name(9, "a@b.example", label="EMAIL")]
    predicted = [name(0, "Ana"), name(4, "Ben", document="2")]
    table = match_bag(gold, predicted, documents=DOCS, labels=LABELS)
    assert table.counts[0].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert table.counts[1].tolist() == [[0, 1, 0], [0, 0, 0]]
    assert table.select(labels=["EMAIL"]).per_document.tolist() == [[0, 0, 1], [0, 0, 0]]
    assert table.select(rows=numpy.asarray([False, True])).documents == ("2",)


# "Ana Roe wrote this": tokens at 0-3, 4-7, 8-13, 14-18
TOKENS = {"1": ((0, 3), (4, 7), (8, 13), (14, 18))}
TOKEN_CASES = {
    "the same": (name(0, "Ana Roe"), (2, 0, 0)),
    "I for B is wrong twice": (name(4, "Roe"), (0, 1, 2)),
    "first token only": (name(0, "Ana"), (1, 0, 1)),
    "a token too much": (name(0, "Ana Roe wrote"), (2, 1, 0)),
    "part of a token counts as the token": (name(0, "An"), (1, 0, 1)),
    "parts of two": (name(2, "a R"), (2, 0, 0)),
    "what is between tokens is none": (name(3, " "), (0, 0, 2)),
}


@pytest.mark.parametrize("case", TOKEN_CASES)
def test_tokens_are_matched_with_b_and_i(case):
    predicted, expected = TOKEN_CASES[case]
    table = match_tokens([name(0, "Ana Roe")], [predicted], documents=["1"], labels=LABELS, tokens=TOKENS)
    assert tuple(table.counts.sum(axis=(0, 1))) == expected


COVER_CASES = {
    "whole": ([name(0, "Ana Roe")], 0),
    "any label": ([name(0, "Ana Roe", label="EMAIL")], 0),
    "in two parts; the space between tells nothing": ([name(0, "Ana"), name(4, "Roe")], 0),
    "more than whole": ([name(0, "Ana Roe wrote")], 0),
    "one letter in clear": ([name(0, "Ana Ro")], 1),
    "given name only": ([name(0, "Ana")], 1),
    "in another document": ([name(0, "Ana Roe", document="2")], 1),
    "not at all": ([], 1),
}


@pytest.mark.parametrize("case", COVER_CASES)
def test_cover_asks_for_every_character(case):
    predicted, exposed = COVER_CASES[case]
    table = cover([name(0, "Ana Roe")], predicted, documents=DOCS)
    assert (table[:, ENTITIES] - table[:, COVERED]).tolist() == [exposed, 0]
    assert table[:, ENTITIES].tolist() == [1, 0]


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (4, 3)])
def test_an_entity_checks_its_offsets(start, end):
    with pytest.raises(PiiError, match=r"\[E701\]"):
        Entity("1", start, end, "EMAIL")


def test_the_text_of_an_entity_is_not_in_its_repr():
    assert "Ana" not in repr(name(0, "Ana"))


entities = st.lists(
    st.builds(
        lambda document, start, length, label: name(start, "x" * length, document, label),
        st.sampled_from(DOCS),
        st.integers(0, 40),
        st.integers(1, 9),
        st.sampled_from((*LABELS, "NAME_CITED")),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(entities)
def test_a_perfect_prediction_has_no_errors(gold):
    for match in (match_bag, match_position):
        counts = match(gold, gold, documents=DOCS, labels=LABELS).counts
        assert counts[..., TP].sum() == sum(e.label in LABELS for e in gold)
        assert not counts[..., (FP, FN)].any()
    counts = cover(gold, gold, documents=DOCS)
    assert (counts[:, ENTITIES] == counts[:, COVERED]).all()


@settings(max_examples=40, deadline=None)
@given(entities, entities, st.integers())
def test_order_changes_nothing(gold, predicted, seed):
    shuffled = [Random(seed).sample(items, len(items)) for items in (gold, predicted)]
    for match in (match_bag, match_position):
        first = match(gold, predicted, documents=DOCS, labels=LABELS).counts
        assert (first == match(*shuffled, documents=DOCS, labels=LABELS).counts).all()
        # The other order of documents and labels is the same table with its rows and columns turned round.
        turned = match(gold, predicted, documents=DOCS[::-1], labels=LABELS[::-1]).counts
        assert (first == turned[::-1, ::-1]).all()


# --- overlap, masked gold, characters, roles


def at(start: int, end: int, label: str = "NAME_STUDENT", document: str = "1") -> Entity:
    return Entity(document, start, end, label, "x" * (end - start))


# gold, predicted, masked -> (TP, FP, FN) by overlap
OVERLAP = {
    "the same": ([at(0, 7)], [at(0, 7)], (), (1, 0, 0)),
    "a part": ([at(0, 7)], [at(0, 3)], (), (1, 0, 0)),
    "too long": ([at(0, 7)], [at(0, 12)], (), (1, 0, 0)),
    "one character": ([at(0, 7)], [at(6, 20)], (), (1, 0, 0)),
    "beside": ([at(0, 7)], [at(7, 9)], (), (0, 1, 1)),
    "in two parts: one is too many": ([at(0, 7)], [at(0, 3), at(4, 7)], (), (1, 1, 0)),
    "one over two: one is missed": ([at(0, 3), at(4, 7)], [at(0, 7)], (), (1, 0, 1)),
    "shifted pairs": ([at(0, 4), at(5, 9)], [at(3, 6), at(8, 12)], (), (2, 0, 0)),
    "the exact one is taken first": ([at(5, 9)], [at(0, 6), at(5, 9)], (), (1, 1, 0)),
    "another label": ([at(0, 7)], [at(0, 7, "EMAIL")], (), (0, 1, 1)),
    "another document": ([at(0, 7)], [at(0, 7, document="2")], (), (0, 1, 1)),
    "what touches a mask is not wrong": ([], [at(0, 7)], ((5, 9),), (0, 0, 0)),
    "beside a mask it is": ([], [at(0, 5)], ((5, 9),), (0, 1, 0)),
    "gold beside a mask counts": ([at(0, 4)], [at(0, 9)], ((5, 9),), (1, 0, 0)),
    "gold is missed whatever is masked": ([at(0, 4)], [], ((5, 9),), (0, 0, 1)),
}


@pytest.mark.parametrize("case", OVERLAP)
def test_overlap(case):
    gold, predicted, masked, expected = OVERLAP[case]
    table = match_overlap(gold, predicted, documents=DOCS, labels=LABELS, masked={"1": masked})
    assert tuple(table.counts.sum(axis=(0, 1))) == expected


def test_masked_tokens_do_not_count():
    tokens = {"1": ((0, 4), (5, 9), (10, 14))}
    # The prediction covers all three; the second is masked; the third is not gold.
    table = match_tokens([at(0, 4)], [at(0, 14)], documents=["1"], labels=LABELS, tokens=tokens, masked={"1": ((6, 8),)})
    assert tuple(table.counts.sum(axis=(0, 1))) == (1, 1, 0)
    # A prediction that begins in the mask goes on with I.
    table = match_tokens([at(10, 14)], [at(5, 14)], documents=["1"], labels=LABELS, tokens=tokens, masked={"1": ((5, 9),)})
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
    hidden = [Entity("1", 0, 3, "USERNAME", "Ana"), Entity("1", 20, 23, "EMAIL", "xxx"), Entity("2", 0, 5, "NAME_CITED", "a@b. ")]
    counts = expose(gold, hidden, documents=DOCS, words=[30, 20])
    assert counts.tolist() == [[1, 0, 1, 6, 3, 1, 30], [1, 1, 1, 4, 4, 0, 20]]
    found = exposure(counts, resample(2, n_resamples=10))
    assert (found["characters"], found["characters_in_clear"], found["false_alarms"], found["words"]) == (10, 3, 1, 50)
    assert found["character_recall"].value == 0.7
    assert found["label_blind_recall"].value == 0.5
    assert found["touched_recall"].value == 1
    assert found["false_alarms_per_10000_words"].value == 200


def test_without_gold_there_is_no_share():
    found = exposure(expose([], [at(0, 3)], documents=["1"], words=[100]), resample(1, n_resamples=5))
    assert found["character_recall"] is None and found["label_blind_recall"] is None
    assert found["false_alarms_per_10000_words"].value == 100


ROLES = {
    # gold, predicted -> counts of STUDENT, of CITED
    "right": ([at(0, 4)], [at(0, 4)], (1, 0, 0), (0, 0, 0)),
    "right, other edges": ([at(0, 4)], [at(0, 3)], (1, 0, 0), (0, 0, 0)),
    "taken for an author": ([at(0, 4)], [at(0, 4, "NAME_CITED")], (0, 0, 1), (0, 1, 0)),
    "an author taken for a student": ([at(0, 4, "NAME_CITED")], [at(0, 4)], (0, 1, 0), (0, 0, 1)),
    "not found": ([at(0, 4, "NAME_CITED")], [], (0, 0, 0), (0, 0, 1)),
    "no name there": ([], [at(0, 4, "NAME_CITED")], (0, 0, 0), (0, 1, 0)),
    "no name at all": ([at(0, 4, "EMAIL")], [at(0, 4, "EMAIL")], (0, 0, 0), (0, 0, 0)),
}


@pytest.mark.parametrize("case", ROLES)
def test_roles(case):
    gold, predicted, student, cited = ROLES[case]
    table = match_roles(gold, predicted, documents=DOCS)
    assert tuple(table.select(labels=["STUDENT"]).per_document.sum(axis=0)) == student
    assert tuple(table.select(labels=["CITED"]).per_document.sum(axis=0)) == cited


def test_roles_among_names_that_were_found():
    gold = [at(0, 4), at(5, 9, "NAME_CITED"), at(10, 14, "NAME_CITED"), at(20, 24)]
    predicted = [at(0, 4), at(5, 9, "NAME_CITED"), at(10, 14), at(30, 34)]
    assert match_roles(gold, predicted, documents=DOCS, missed=False).per_document.tolist() == [[2, 1, 1], [0, 0, 0]]


def test_gold_has_roles_where_a_name_is_not_a_students():
    assert has_roles([at(0, 4), at(5, 9, "NAME_CITED")])
    assert not has_roles([at(0, 4), at(5, 9, "EMAIL")])


def test_paired_p():
    better = numpy.asarray([[1, 0, 0]] * 20)
    worse = numpy.asarray([[0, 0, 1]] * 20)
    mixed = numpy.asarray([[1, 0, 0], [0, 0, 1]] * 10)
    weights = resample(20, n_resamples=200)
    assert paired_p(better, better, weights) == 1
    assert paired_p(better, worse, weights) == 1 / 200
    assert paired_p(mixed, mixed[::-1], weights) > 0.5
