"""Filling, cutting, layout noise: offsets always say what they say."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.corpus.build import (
    Filled,
    TemplateFiller,
    add_layout_noise,
    crop,
    fill_carrier,
    iter_persuade,
    to_parts,
)
from pii_components.corpus.people import Person, plain
from pii_components.corpus.templates import NAME_FORMS, Slot, parse_parts
from pii_components.names.table import name_table
from tests.tiny import cases

CASES = cases("corpus")
ANA = Person("Ana María", "B.", "López Núñez")
ESSAY = (
    "Reflection\n{{student.full}}\n\nMy friend {{friend.first}} likes it.We met Dr. {{instructor.last}}. {{cited.last}} (2014) says so. "
    "Write to {{student.email}} or {{student.phone}}.\nThanks, {{student.first}}"
)


@pytest.fixture(scope="module")
def table():
    return name_table()


@pytest.mark.parametrize("what, expected", CASES["forms of a name"])
def test_forms_of_a_name(what, expected):
    assert ANA.render(Slot("student", what), random.Random(0)) == expected
    assert ANA.render(Slot("student", what, "upper"), random.Random(0)) == expected.upper()
    assert all(ANA.render(Slot("student", what), random.Random(0)) for what in NAME_FORMS)


def test_details_are_linked_to_the_name_and_stay(table):
    hits = 0
    for seed in range(40):
        person = TemplateFiller(table, random.Random(seed)).person("student")
        email = person.render(Slot("student", "email"), random.Random(seed + 100))
        assert email == person.render(Slot("student", "email"), random.Random(2))
        local, first, last = map(plain, (email.split("@")[0], person.first, person.last))
        hits += first[:1] in local and (last in local or first in local)
    assert 24 <= hits < 40  # three of four handles are built from the name


def test_an_age_goes_with_its_unit(table):
    text = "I am {{AGE=17}} years old, he a {{AGE=9}}-year-old, she {{AGE=six}}, in {{AGE=76}} y/o, {{AGE=3}} years\nago"
    filled = TemplateFiller(table, random.Random(1)).fill(parse_parts(text))
    found = [filled.text[a:b] for a, b, _ in filled.spans]
    assert found == ["17 years old", "9-year-old", "six", "76 y/o", "3 years"]


def test_people_of_a_text_share_no_name_and_the_same_seed_gives_the_same_text(table):
    for seed in range(20):
        filler = TemplateFiller(table, random.Random(seed))
        people = [filler.person(who) for who in ("student", "friend", "instructor", "friend2")]
        names = [part for p in people for part in (p.first, p.last) if part]
        assert len(set(names)) == len(names)
    filled = [TemplateFiller(table, random.Random(5)).fill(parse_parts(ESSAY)) for _ in range(2)]
    assert filled[0] == filled[1]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_offsets_survive_everything(seed):
    table, rng = name_table(), random.Random(seed)
    filler = TemplateFiller(table, rng)
    filled = filler.fill(parse_parts(ESSAY))
    values = [filled.text[s:e] for s, e, _ in filled.spans]
    rough = add_layout_noise(filled, rng)
    assert [rough.text[s:e].lower() for s, e, _ in rough.spans] == [v.lower() for v in values]
    whole = rough.put(Filled("NEW", ((0, 3, "NAME_CITED"),)), 0)
    assert whole.text[:3] == "NEW" and len(whole.spans) == len(rough.spans) + 1
    pieces = crop(whole, rng, least=30, most=90)
    assert "".join(p.text for p in pieces) == whole.text
    kept = [p.text[s:e] for p in pieces for s, e, _ in p.spans]
    split = sum(len(p.unlabelled) for p in pieces)
    assert len(kept) == len(whole.spans) if not split else len(kept) < len(whole.spans)


def test_map_text_leaves_spans_alone():
    filled = Filled("by ana smith", ((3, 6, "NAME_STUDENT"),))
    assert filled.map_prose(str.upper) == Filled("BY ana SMITH", ((3, 6, "NAME_STUDENT"),))


@pytest.mark.parametrize("text, who", CASES["marks of a carrier"])
def test_marks_of_a_carrier_become_slots(text, who):
    parts = to_parts(text, random.Random(0))
    assert [p.who.rstrip("0123456789") for p in parts if isinstance(p, Slot)] == who


def test_rows_with_labels_are_no_carriers(tmp_path):
    path = tmp_path / "some.jsonl"
    labelled = '{"text": "Ana Roe", "start": 0, "label": "NAME_STUDENT"}'
    path.write_text(f'{{"id": 1, "text": "a"}}\n{labelled}\n{{"text": "c"}}\n', "utf8")
    assert list(iter_persuade(path)) == [("1", "a"), ("", "c")]


def test_a_carrier_has_indirect_labels_or_none_or_is_left_out(table):
    text = "I go to SCHOOL_NAME in Generic_City with OTHER_NAME."
    filled = fill_carrier(text, table, random.Random(0))
    assert [label for *_, label in filled.spans] == ["EDUCATION", "LOCATION"] and not filled.direct
    assert fill_carrier("Dear OTHER_THING_NAME,", table, random.Random(0)) is None
    filled = fill_carrier("We read what Maria Garcia wrote. STUDENT_NAME", table, random.Random(0))
    assert [filled.text[s:e] for s, e in filled.unlabelled] == ["Maria Garcia"]
