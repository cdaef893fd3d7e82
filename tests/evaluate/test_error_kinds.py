"""Kinds of errors, and where they stand."""

import pytest
from invented import EMAIL, NAME, document, entity

from pii_components.evaluate.gold import Entity
from pii_components.evaluate.html import KINDS, case_of, judge, kind_of, layout_of, position_of, summarize

TEXT = "Essay by Dana Maria Vell of Tartu"
GOLD = entity("1", TEXT, "Dana Maria Vell", NAME)  # 9 to 24


def found(start: int, end: int, label: str = NAME) -> Entity:
    return Entity("1", start, end, label, TEXT[start:end])


KIND_CASES = {
    "right": [found(9, 24)],
    "missed": [found(28, 33)],
    "too_long": [found(6, 24)],
    "too_short": [found(9, 19)],
    "shifted": [found(6, 13)],
    "wrong_role": [found(9, 24, "NAME_CITED")],
    "wrong_label": [found(9, 24, EMAIL)],
}


@pytest.mark.parametrize("kind", KIND_CASES)
def test_kinds_of_findings(kind):
    assert kind_of(GOLD, KIND_CASES[kind]) == kind


def test_the_prediction_of_the_right_label_decides():
    assert kind_of(GOLD, [found(9, 24, "NAME_CITED"), found(9, 13)]) == "too_short"


def test_of_two_parts_the_longer_decides_whatever_their_order():
    parts = [found(9, 13), found(14, 24)]
    assert kind_of(GOLD, parts) == kind_of(GOLD, parts[::-1]) == "too_short"


def test_a_prediction_that_touches_no_gold_is_spurious():
    doc = document("1", TEXT, [("Dana Maria Vell", NAME)])
    findings = judge(doc, [found(9, 24), found(28, 33), found(0, 5, "NAME_CITED")])
    assert [(f.label, f.kind) for f in findings] == [(NAME, "right"), (NAME, "spurious")]


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [
        (0, 1000, "header"),
        (199, 1000, "header"),
        (200, 1000, "body"),
        (799, 1000, "body"),
        (800, 1000, "sign-off"),
        (190, 200, "header"),
    ],
)
def test_positions(start, length, expected):
    assert position_of(start, length) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dana vell", "lower"),
        ("DANA VELL", "UPPER"),
        ("Dana Vell", "Title"),
        ("Dana VELL", "mixed"),
        ("12-34", "none"),
        ("dana@x.example", "lower"),
    ],
)
def test_case_styles(text, expected):
    assert case_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dana", "own line"),
        ("Title\n Dana \nText", "own line"),
        ("by Dana", "in line"),
        ("by Dana\nText", "in line"),
        ("Task_Dana", "glued"),
        ("Dana2024", "glued"),
        ("(Dana)", "in line"),
    ],
)
def test_layouts(text, expected):
    start = text.index("Dana")
    assert layout_of(text, start, start + 4) == expected


def test_summary_counts_every_finding_in_each_facet(gold):
    findings = [finding for doc in gold for finding in judge(doc, [])]
    counts = summarize(findings)
    assert counts["kinds"] == {EMAIL: {"missed": 1}, NAME: {"missed": 2}}
    for labels in counts["facets"].values():
        assert sum(n for values in labels.values() for kinds in values.values() for n in kinds.values()) == 3
    assert counts["facets"]["words"][NAME] == {"2": {"missed": 2}}


def test_kinds_come_in_one_order():
    doc = document("1", TEXT, [("Dana Maria Vell", NAME)])
    counts = summarize(judge(doc, [found(28, 33)]))
    assert list(counts["kinds"][NAME]) == [kind for kind in KINDS if kind in ("missed", "spurious")]
