"""Changes carry spans along, exactly; edits at edges; which spans are measured."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.corpus.edit import (
    ALL,
    DETAILS,
    NAMES,
    apply_edits,
    around_names,
    insert,
    on_names,
    rewrite,
    stops,
    substitute,
)
from pii_components.corpus.perturb import CASE, MAIN, Perturbation, main_span
from pii_components.errors import PiiError

CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/corpus.json").read_text("utf8")
)
TEXT = "I am Ana Lopez, ana@uni.edu. See Smith."
SPANS = ((5, 14, "NAME_STUDENT"), (16, 27, "EMAIL"), (33, 38, "NAME_CITED"))
RNG = random.Random(0)


def values(text, spans):
    return [text[start:end] for start, end, _ in spans]


def test_rewrite_changes_each_piece_on_its_own():
    text, spans = rewrite(
        TEXT, SPANS, inside=lambda v, label: v * 2, outside=lambda piece: piece.replace(" ", "")
    )
    assert text == "IamAna LopezAna Lopez,ana@uni.eduana@uni.edu.SeeSmithSmith."
    assert values(text, spans) == ["Ana LopezAna Lopez", "ana@uni.eduana@uni.edu", "SmithSmith"]
    assert rewrite(TEXT, SPANS, inside=lambda v, label: " ") == (TEXT, SPANS)  # none is emptied


def test_names_are_changed_whoever_they_belong_to():
    text, spans = on_names(lambda v, rng: v.lower())(TEXT, SPANS, RNG)
    assert values(text, spans) == ["ana lopez", "ana@uni.edu", "smith"]


@pytest.mark.parametrize(
    "edit, text, first", CASES["edits"]
)  # at the edges: outside; across an edge, or all of a span: left out
def test_an_edit(edit, text, first):
    new, spans = apply_edits(TEXT, SPANS, [edit])
    assert new.startswith(text)
    assert values(new, spans) == [first, "ana@uni.edu", "Smith"]


def test_edits_between_adjacent_spans_keep_their_order():
    spans = ((0, 3, "NAME_STUDENT"), (3, 6, "NAME_STUDENT"))
    assert around_names("<", ">")("AnaEva", spans, RNG) == (
        "<Ana><Eva>",
        ((1, 4, "NAME_STUDENT"), (6, 9, "NAME_STUDENT")),
    )


@st.composite
def texts_with_spans(draw):
    text, spans = draw(st.text(max_size=6)), []
    for _ in range(draw(st.integers(0, 4))):
        value = draw(st.text(alphabet="abÄ @.1\n", min_size=1, max_size=5))
        spans.append(
            (
                len(text),
                len(text) + len(value),
                draw(st.sampled_from(["NAME_STUDENT", "EMAIL", "UNLABELLED"])),
            )
        )
        text += value + draw(st.text(max_size=4))
    return text, tuple(spans)


@given(
    texts_with_spans(),
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 4), st.text(alphabet="xyz", max_size=3)),
        max_size=6,
    ),
)
def test_edits_outside_leave_every_span_its_text(given_text, raw):
    text, spans = given_text
    edits = [(at, min(at + n, len(text)), new) for at, n, new in raw if at <= len(text)]
    edits = [
        e
        for e in edits
        if not any(
            e[0] < end and e[1] > start or start < e[0] == e[1] < end for start, end, _ in spans
        )
    ]
    new, moved = apply_edits(text, spans, edits)
    assert values(new, moved) == values(text, spans)
    assert [label for *_, label in moved] == [label for *_, label in spans]


@given(texts_with_spans())
def test_one_character_edits_inside_stay_inside(given_text):
    text, spans = given_text
    edits = [(start, start + 1, "Q") for start, _, _ in spans]
    new, moved = apply_edits(text, spans, edits)
    assert values(new, moved) == ["Q" + text[start + 1 : end] for start, end, _ in spans]


def test_insert_moves_what_follows_and_stops_are_outside_of_spans():
    text, spans = insert(TEXT, SPANS, 28, " By Eva.", [(4, 7, "NAME_CONNECTED")])
    assert values(text, spans) == ["Ana Lopez", "ana@uni.edu", "Eva", "Smith"]
    assert stops("A. Roe left. Bye.", ((0, 6, "NAME_STUDENT"),)) == [12, 17]


def test_substitute_sees_names_but_leaves_spans_alone():
    text, spans = substitute(r"(?<=[a-z.]) (?=[A-Z])")(TEXT, SPANS, RNG)
    assert text == "I amAna Lopez, ana@uni.edu.SeeSmith."
    assert values(text, spans) == ["Ana Lopez", "ana@uni.edu", "Smith"]


def test_the_main_span():
    places = {
        "NAME_CITED NAME_CONNECTED NAME_STUDENT": 2,
        "EMAIL NAME_INSTRUCTOR": 1,
        "NAME_CITED EMAIL": 1,
        "NAME_CITED AGE": None,
    }
    for labels, place in places.items():
        assert (
            main_span(tuple((i, i + 1, label) for i, label in enumerate(labels.split()))) == place
        )


@pytest.mark.parametrize(
    "settings, places",
    [
        ({"counts": ALL}, [0, 1, 2]),
        ({"counts": NAMES}, [0, 2]),
        ({"counts": "EMAIL"}, [1]),
        ({"counts": DETAILS}, [1]),
        ({"counts": NAMES, "rewrites": True}, [0]),
        ({"counts": MAIN}, [0]),
    ],
)
def test_what_is_measured(settings, places):
    plain = Perturbation("p", CASE, "", lambda text, spans, rng: (text, spans), **settings)
    assert plain.measured(TEXT, SPANS, TEXT.replace("Ana", "ANA"), SPANS) == (places, places)


@pytest.mark.parametrize(
    "spans", [((3, 3, "EMAIL"),), ((0, 4, "EMAIL"), (3, 5, "EMAIL")), ((0, 99, "EMAIL"),)]
)
def test_spans_that_do_not_fit_are_refused(spans):
    broken = Perturbation("broken", CASE, "", lambda text, given, rng: (text, spans))
    for args in ((TEXT, SPANS), (TEXT, spans)):
        with pytest.raises(PiiError, match="E761"):
            broken(*args, RNG)
