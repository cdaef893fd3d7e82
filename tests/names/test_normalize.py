"""The normalised view: what hides or imitates letters is undone, and every character knows where it came from."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.names.normalize import NormalizedView, is_invisible, normalize_token

from ..tiny import cases

CASES = cases("names")


@pytest.mark.parametrize(("text", "expected"), CASES["normalized"])
def test_normalize_token(text, expected):
    assert normalize_token(text) == expected
    assert NormalizedView(text).text == expected


def test_is_invisible_knows_what_hides():
    hidden = "\u200b\u00ad\u034f\ufe0f\u3164\u2065\u202e\U000e0101"
    assert all(map(is_invisible, hidden)) and not any(map(is_invisible, " \n\u00a0a\u0301_"))


def test_view_points_back():
    source = "to \uff41n\u200ba＠x．org, Raﬁ"
    view = NormalizedView(source)
    assert view.text == "to ana@x.org, Rafi"
    start, end = view.to_original(3, 12)
    assert source[start:end] == "\uff41n\u200ba＠x．org"
    assert source[slice(*view.to_original(16, 18))] == "ﬁ"
    assert view.from_original(start, end) == (3, 12)


def test_plain_and_empty_pieces():
    view = NormalizedView("Ana Lopez")
    assert view.text == "Ana Lopez"
    assert view.to_original(4, 9) == view.from_original(4, 9) == (4, 9)
    assert NormalizedView("a\u200bé").to_original(1, 1) == (2, 2)
    assert NormalizedView("a\u200bé").from_original(1, 2) == (1, 1)


SIGNS = (
    "aA1 .@_\n'`\u200b\u00ad\u0301\u0327ﬁＡ\u0430а\u03b1é\u1112\u1161\u11ab👍\u200d“\u3164ﷺ½\u034f"
)
HOSTILE = st.text(st.sampled_from(SIGNS), max_size=40)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=60), HOSTILE))
def test_view_maps_both_ways(text):
    view = NormalizedView(text)
    last = 0
    for i in range(len(view)):
        start, end = view.to_original(i, i + 1)
        assert last <= start < end <= len(text)
        last = start
        first, stop = view.from_original(start, end)
        assert first <= i < stop


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=60), HOSTILE))
def test_token_and_view_agree(text):
    view = NormalizedView(text)
    # Marks for a program: the encoder alone reads quotes.
    assert view.text == normalize_token(text) or set(text) in ({"@"}, {"#"})
    assert not any(is_invisible(char) for char in view.text)


@pytest.mark.parametrize(("text", "expected"), CASES["marks"])
def test_program_marks_read_as_quotes(text, expected):
    assert normalize_token(text) == expected
