"""Names in scripts of their own: people beside words that are none."""

import pytest
import spacy

from pii_components.labels import NAME_CONNECTED, NAME_LABELS, ROLES
from pii_components.names.scripts import name_form, native_names
from pii_components.ruler.merge import SOURCE, with_native
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate

from ..tiny import cases

CASES = cases("names")


@pytest.mark.parametrize(("person", "name", "other"), CASES["native_people"])
def test_people_beside_words(person, name, other):
    times = min(person.count(name), 2) if name else 0
    assert [found.text for found in native_names(person)] == [name] * times
    assert native_names(other) == []


@pytest.mark.parametrize(("text", "expected"), CASES["native_forms"])
def test_name_form(text, expected):
    assert name_form(text) == expected


def test_parts_of_names_elsewhere():
    text = "My friend 김지민 is here. It was 지민 again. And the word 지민 means nothing."
    assert [found.text for found in native_names(text)] == ["김지민", "지민"]


def test_texts_in_that_script():
    text = "우리는 오늘 학교에서 김지민을 만났다. 그리고 우리는 함께 점심을 먹었다. Hello 김지민!"
    assert native_names(text) == native_names("My friend Kim said no.") == []


@pytest.fixture(scope="module")
def tokenizer():
    return make_student_tokenizer(spacy.blank("en"))


def test_the_ruler_mends_the_ends(tokenizer):
    doc = tokenizer("My friend 田中 さくら told me so.")
    roles = (0.1, 0.1, 0.6, 0.1, 0.1)
    (found,) = with_native(doc, [Candidate(2, 3, NAME_CONNECTED, 0.4, "model", "", roles)])
    assert doc[found.start : found.end].text == "田中 さくら"
    assert (found.label, found.source) == (NAME_CONNECTED, SOURCE)
    # The same role, less surely: the model has read few names in other scripts.
    assert found.roles.index(max(found.roles)) == 2 and 0.2 < found.roles[2] < roles[2]
    assert sum(found.roles) == pytest.approx(1.0)


def test_unproposed_names_have_neutral_roles(tokenizer):
    (found,) = with_native(tokenizer("My friend 김지민 told me so."), [])
    assert found.label in NAME_LABELS
    assert len(set(found.roles)) == 1 and len(found.roles) == len(ROLES)


@pytest.mark.parametrize(
    ("label", "source", "kept"),
    [("USERNAME", "model", False), ("USERNAME", "username-cue", True), ("EMAIL", "model", True)],
)
def test_details_of_rules_stay(tokenizer, label, source, kept):
    doc = tokenizer("My friend 김지민 told me so.")
    found = with_native(doc, [Candidate(2, 3, label, 0.8, source)])
    assert (found[0].label == label) is kept and len(found) == 1


def test_the_option_of_the_ruler(tokenizer):
    nlp = spacy.blank("en")
    doc = tokenizer("My friend 김지민 told me so.")
    on = nlp.add_pipe("pii_ruler", config={"native_names": True})
    off = nlp.add_pipe("pii_ruler", name="off")
    assert [c.source for c in on.find_spans(doc)] == [SOURCE] and off.find_spans(doc) == []
