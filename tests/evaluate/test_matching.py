"""Counts worked out by hand."""

from random import Random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity
from pii_components.evaluate.match import FN, FP, TP, cover, in_clear, match_bag, match_position, match_tokens, tokens_of

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
}


@pytest.mark.parametrize("case", TOKEN_CASES)
def test_tokens_are_matched_with_b_and_i(case):
    predicted, expected = TOKEN_CASES[case]
    table = match_tokens([name(0, "Ana Roe")], [predicted], documents=["1"], labels=LABELS, tokens=TOKENS)
    assert tuple(table.counts.sum(axis=(0, 1))) == expected


def test_tokens_are_a_set():
    twice = [name(0, "Ana"), name(0, "Ana")]
    table = match_tokens(twice[:1], twice, documents=["1"], labels=LABELS, tokens=TOKENS)
    assert tuple(table.counts.sum(axis=(0, 1))) == (1, 0, 0)


def test_tokens_of_an_entity_share_a_character_with_it():
    assert tokens_of(name(2, "a R"), TOKENS["1"]) == [0, 1]
    assert tokens_of(name(3, " "), TOKENS["1"]) == []


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
    assert table.exposed.tolist() == [exposed, 0]
    assert table.entities.tolist() == [1, 0]
    assert int(table.predicted.sum()) == len(predicted)


def test_an_entity_without_text_is_in_clear_by_its_length():
    assert in_clear(Entity("1", 5, 8, "EMAIL"), {5, 6}) == 1


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
    assert not cover(gold, gold, documents=DOCS).exposed.any()


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


@settings(max_examples=40, deadline=None)
@given(entities, entities)
def test_every_entity_is_counted_once(gold, predicted):
    counts = match_bag(gold, predicted, documents=DOCS, labels=LABELS).counts.sum(axis=(0, 1))
    assert counts[TP] + counts[FN] == sum(e.label in LABELS for e in gold)
    assert counts[TP] + counts[FP] == sum(e.label in LABELS for e in predicted)


@settings(max_examples=40, deadline=None)
@given(entities, entities)
def test_a_match_by_position_is_a_match_by_text(gold, predicted):
    by_text = match_bag(gold, predicted, documents=DOCS, labels=LABELS).counts
    by_position = match_position(gold, predicted, documents=DOCS, labels=LABELS).counts
    assert (by_text[..., TP] >= by_position[..., TP]).all()
