"""Offsets after replacement: they invert, and what was not replaced is the same, character for character."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.offsets import Edit, OffsetMap, Replacement, apply_replacements


@st.composite
def edited_texts(draw):
    """A text and replacements in it, some empty, some touching each other."""
    text = draw(st.text(alphabet="abc dé\n😀", max_size=40))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return text, [Replacement(a, b, draw(st.text(alphabet="XYZ é", max_size=6))) for a, b in pairs]


def test_replaces_and_maps():
    text, offsets = apply_replacements("By Ana Lopez, 2019", [Replacement(3, 12, "Mia Rossetti")])
    assert text == "By Mia Rossetti, 2019"
    assert offsets.span_to_new(14, 18) == (17, 21)
    assert offsets.span_to_old(17, 21) == (14, 18)
    assert offsets.span_to_new(3, 12) == (3, 15)
    assert offsets.span_to_new(5, 8) == (3, 15)  # inside an edit: the whole of it


def test_removal_keeps_its_neighbours_apart():
    text, offsets = apply_replacements("a Ana b", [Replacement(2, 6, "")])
    assert text == "a b"
    assert offsets.span_to_new(0, 2) == (0, 2)
    assert offsets.span_to_new(6, 7) == (2, 3)
    assert offsets.span_to_old(2, 3) == (6, 7)
    assert offsets.span_to_old(2, 2) == (2, 6)  # what vanished there
    text, offsets = apply_replacements(
        "a AnaLopez b", [Replacement(2, 5, ""), Replacement(5, 10, "")]
    )
    assert (text, offsets.span_to_new(5, 10), offsets.span_to_old(2, 2)) == (
        "a  b",
        (2, 2),
        (2, 10),
    )


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: apply_replacements("twelve chars", [Replacement(0, 99, "x")]), "E411"),
        (
            lambda: apply_replacements(
                "twelve chars", [Replacement(0, 3, "x"), Replacement(2, 5, "y")]
            ),
            "E412",
        ),
        (lambda: Replacement(-1, 2, "x"), "E411"),
        (lambda: Replacement(3, 2, "x"), "E411"),
        (lambda: OffsetMap(10, 11, (Edit(2, 4, 3, 5),)), "E412"),
        (lambda: OffsetMap(10, 11, (Edit(2, 4, 2, 5), Edit(3, 5, 4, 6))), "E412"),
        (lambda: OffsetMap(10, 11, (Edit(0, 1, 0, 9),)), "E411"),
        (lambda: OffsetMap(3, 3).to_new(4), "E411"),
    ],
)
def test_what_does_not_fit_is_refused(make, code):
    with pytest.raises(PiiError) as err:
        make()
    assert err.value.code == code


@given(edited_texts())
def test_text_outside_edits_is_unchanged(case):
    text, replacements = case
    new, offsets = apply_replacements(text, replacements)
    last = last_new = 0
    for edit, rep in zip(
        offsets.edits, sorted(replacements, key=lambda r: (r.start, r.end)), strict=True
    ):
        assert text[last : edit.start] == new[last_new : edit.new_start]
        assert new[edit.new_start : edit.new_end] == rep.new
        last, last_new = edit.end, edit.new_end
    assert text[last:] == new[last_new:]


@given(edited_texts(), st.data())
def test_spans_outside_edits_come_back(case, data):
    text, replacements = case
    new, offsets = apply_replacements(text, replacements)
    inside = {i for e in offsets.edits for i in range(e.start, e.end)} | {
        e.start for e in offsets.edits if e.start == e.end
    }
    inserted = {e.start for e in offsets.edits if e.start == e.end}
    free = [i for i in range(len(text)) if i not in inside and i + 1 not in inserted]
    if free:
        i = data.draw(st.sampled_from(free))
        start, end = offsets.span_to_new(i, i + 1)
        assert new[start:end] == text[i]
        assert offsets.span_to_old(start, end) == (i, i + 1)


@given(edited_texts(), st.data())
def test_order_of_offsets_is_kept(case, data):
    text, replacements = case
    _, offsets = apply_replacements(text, replacements)
    a, b = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    assert offsets.to_new(a) <= offsets.to_new(b)
    assert offsets.to_new(a, end=True) <= offsets.to_new(b, end=True)


@given(edited_texts())
def test_inverse_and_round_trip_and_originals_undo_the_replacement(case):
    text, replacements = case
    new, offsets = apply_replacements(text, replacements)
    assert offsets.inverse().inverse() == offsets
    assert OffsetMap.from_dict(json.loads(json.dumps(offsets.to_dict()))) == offsets
    back = [Replacement(e.new_start, e.new_end, text[e.start : e.end]) for e in offsets.edits]
    assert apply_replacements(new, back)[0] == text


@given(edited_texts(), st.data(), st.booleans())
def test_there_and_back_a_span_keeps_what_it_covered(case, data, from_new):
    """Where nothing appeared from nothing nor vanished: what is inserted at an edge belongs to nobody."""
    text, replacements = case
    new, offsets = apply_replacements(text, [r for r in replacements if r.start < r.end and r.new])
    one_way = offsets.inverse() if from_new else offsets
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, one_way.old_length)] * 2)))
    if start < end:
        again = one_way.span_to_old(*one_way.span_to_new(start, end))
        assert again[0] <= start < end <= again[1]
        if not any(e.start < x < e.end for e in one_way.edits for x in (start, end)):
            assert again == (start, end)
    assert len(new) == offsets.new_length


@given(edited_texts(), st.data())
def test_parts_beside_a_separator_are_all_of_the_new_text(case, data):
    """What is inserted at the edge of a part belongs to it."""
    text, replacements = case
    new, offsets = apply_replacements(text, replacements)
    touched = {i for e in offsets.edits for i in range(e.start, e.end)}
    if free := [i for i in range(len(text)) if i not in touched]:
        i = data.draw(st.sampled_from(free))
        before, after = ((0, i), (i + 1, len(text)))
        parts = [new[slice(*offsets.part_to_new(*part))] for part in (before, after)]
        assert text[i].join(parts) == new
