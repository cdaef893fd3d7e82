"""Headers and running heads: which lines go, and that nothing else does. Everybody is invented."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.surrogates.headers import PART, find_headers, read_lines, stretches
from pii_components.surrogates.values import Item

from .conftest import unmark

BLOCK = "{NAME_STUDENT|Ana Lopez}\nProfessor {NAME_INSTRUCTOR|Hartwell}\nENGL 101\n{DATE|12 May 2019}\n\n"
BODY = (
    "The Summer of Ferries\n\nI am {NAME_STUDENT|Ana}, and I like ferries more than I like bridges, says {NAME_CITED|Kant}.\n"
    "They are slow, and nobody on them can do anything about it, which is a rest for everyone who works.\n"
)


def removed(marked: str) -> list[str]:
    """What goes, without blank lines."""
    text, spans = unmark(marked)
    found = find_headers(text, [Item(*span, "keep") for span in spans])
    return [line for a, b in found for line in text[a:b].splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (BLOCK + BODY, ["Ana Lopez", "Professor Hartwell", "ENGL 101", "12 May 2019"]),
        (
            BODY + "{NAME_STUDENT|Lopez} 2\n" + BODY + "{NAME_STUDENT|Lopez} 3\n" + BODY,
            ["Lopez 2", "Lopez 3"],
        ),
        (BODY, []),
        (
            BLOCK + BODY + f"\n{PART}\n\n" + BLOCK + BODY,
            ["Ana Lopez", "Professor Hartwell", "ENGL 101", "12 May 2019"] * 2,
        ),
    ],
)
def test_what_goes(text, gone):
    assert removed(text) == gone


def test_more_than_a_header_stays():
    assert find_headers("Ana Lopez\nENGL 101\n", [], {"bias": 1.0}) == []


def test_blank_lines_behind_go_too():
    text = "Body.\n\nAna 2\n\nBody.\nAna 3\n\nBody.\n"
    lines = read_lines(text, [])
    found = stretches(text, [], lines, ["Ana" in text[line.start : line.end] for line in lines])
    assert [text[a:b] for a, b in found] == ["Ana 2\n\n", "Ana 3\n"]


@pytest.mark.parametrize(
    ("line", "is_date"),
    [("12 May 2019", True), ("May 12, 2019", True), ("1984", False), ("Room 12", False)],
)
def test_a_date_alone_counts_without_a_span(line, is_date):
    """A day of a hand-in is nobody's date, so no detector marks it."""
    assert (
        "date" in read_lines(f"Ana Lopez\n{line}\n\nI like ferries.", [])[1].features
    ) is is_date


def test_lines_of_a_kept_span_stay():
    text = "Ana\nLopez\nENGL 1\nBody\n"
    lines = read_lines(text, [])

    def found(*spans):
        items = [Item(*span, "NAME_STUDENT", "keep") for span in spans]
        return stretches(text, items, lines, [True, True, True, False])

    assert found((0, 9)) == found((4, 16), (17, 21)) == [(0, 17)]
    assert found((10, 21)) == found((0, 9), (10, 21)) == [(0, 10)]
    assert found((0, 5), (5, 12), (12, 21)) == []


@settings(max_examples=100, deadline=None)
@given(st.text("aB1. \n\r\t\u2028\u241e-", max_size=80), st.sets(st.integers(0, 80)), st.randoms())
def test_no_span_crosses_an_edge(text, cuts, rng):
    places = sorted(cut for cut in cuts if cut <= len(text))
    items = [
        Item(a, b, "NAME_STUDENT", "keep")
        for a, b in zip(places[::2], places[1::2], strict=False)
        if PART not in text[a:b]
    ]
    lines = read_lines(text, items)
    found = stretches(text, items, lines, [rng.random() < 0.5 for _ in lines])
    edges = [edge for pair in found for edge in pair]
    assert edges == sorted(edges) and all(a < b <= len(text) for a, b in found)
    assert not [1 for edge in edges for item in items if item.start < edge < item.end]
    assert all(PART not in text[a:b] for a, b in find_headers(text, items))


@pytest.mark.parametrize(
    "text",
    [
        "Tutor: Hi Ines, what have you got?\nInes: nothing\nTutor: Read me the first line.\nInes: 13.40\n",
        "lane;name;time\n1;Otis Brandvold;34.21\n2;Ines Toledo;33.95\n",
        "Who brings what\n- brownies: Otis\n- samosas: Ines\n- cash box: Bree, Room 9\n",
        "1. Otis Brandvold, charcoal\n2. Ines Toledo, oil\n3. Bree O'Dell, acrylic\nHung by Bree.\n",
        "Rain ........ Otis Brandvold ..... 1\nHaiku ....... Ines Toledo ..... 4\n",
    ],
)
def test_chats_lists_and_tables_lose_no_line(text):
    names = re.finditer("Otis Brandvold|Ines Toledo|Bree O'Dell|Otis|Ines|Bree", text)
    items = [Item(*name.span(), "NAME_STUDENT", "surrogate") for name in names]
    assert find_headers(text, items) == []
