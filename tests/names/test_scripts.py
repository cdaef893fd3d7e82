"""Names in scripts of their own: people beside words that are none."""

import pytest
import spacy

from pii_components.labels import NAME_CONNECTED
from pii_components.names.scripts import is_native_name, native_names
from pii_components.ruler.merge import SOURCE, with_native
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate

from ..tiny import cases

CASES = cases("names")


@pytest.mark.parametrize(("person", "name", "other"), CASES["native_people"])
def test_people_beside_words(person, name, other):
    times = min(person.count(name), 2)
    assert [person[a:b] for a, b in native_names(person)] == [name] * times
    assert native_names(other) == []


@pytest.mark.parametrize(("run", "expected"), CASES["native_forms"])
def test_form_of_names(run, expected):
    assert is_native_name(run) is expected


def test_texts_in_that_script():
    text = "우리는 오늘 학교에서 김지민을 만났다. 그리고 우리는 함께 점심을 먹었다. Hello 김지민!"
    assert native_names(text) == native_names("My friend Kim said no.") == []


@pytest.fixture(scope="module")
def tokenizer():
    return make_student_tokenizer(spacy.blank("en"))


def test_the_ruler_mends_the_ends(tokenizer):
    doc = tokenizer("My friend 田中 さくら told me so.")
    (found,) = with_native(doc, [Candidate(2, 3, NAME_CONNECTED, 0.4, "model")])
    assert doc[found.start : found.end].text == "田中 さくら"
    assert (found.label, found.source, found.score) == (NAME_CONNECTED, SOURCE, 0.9)


def test_details_of_rules_stay(tokenizer):
    doc = tokenizer("My friend 김지민 told me so.")
    known = [Candidate(2, 3, "USERNAME", 0.8, "username-cue")]
    assert with_native(doc, known) == known


def test_the_option_of_the_ruler(tokenizer):
    nlp = spacy.blank("en")
    doc = tokenizer("My friend 김지민 told me so.")
    on = nlp.add_pipe("pii_ruler", config={"native_names": True})
    off = nlp.add_pipe("pii_ruler", name="off")
    assert [c.source for c in on.find_spans(doc)] == [SOURCE] and off.find_spans(doc) == []
