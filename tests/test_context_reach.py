"""context_reach.py: whom the classifier of `pii_context` was made for, and who decides of the others."""

import numpy
import pytest
import spacy
from pii_components.context.people import parse_form

from pii_components.context.cues import NOT_NAME
from pii_components.context.decide import is_many, is_misspelled, is_rare, is_strange, settle
from pii_components.context.evidence import Evidence, People, Weighed
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.errors import PiiError
from pii_components.labels import NAME_STUDENT
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate

NLP = spacy.blank("en")
NLP.tokenizer = make_student_tokenizer(NLP)
ESSAY = "At last {} came to the station and paid."
CHAT = "Tutor: hello there\nAna: hi, is {} here too?\nTutor: not yet, read on\nAna: fine by me"
# Five roles, and "no name", which is what the classifier thinks.
BY_MODEL = numpy.asarray([0.10, 0.05, 0.05, 0.10, 0.05, 0.65])
BLIND = numpy.asarray([0.60, 0.10, 0.10, 0.10, 0.10])
ROLES_ONLY = numpy.asarray([0.10, 0.05, 0.05, 0.10, 0.05]) / 0.35


def person(name, *, text=ESSAY, source="model", cue=""):
    text = text.format(name)
    doc = NLP(text)
    span = doc.char_span(text.index(name), text.index(name) + len(name))
    view = DocView(doc, ContextSettings())
    cand = Candidate(span.start, span.end, NAME_STUDENT, score=0.8, source=source)
    people = People([cand], [parse_form(view.words[span.start : span.end])], view.places([cand]), [[]], [[0]])
    evidence = [Evidence(cue, "STUDENT", 2.5, "for a test")] if cue else []
    return view, people, Weighed(evidence, {}, 1.0)


def settled(name, settings=ContextSettings(), **how):  # noqa: B008
    view, people, weighed = person(name, **how)
    return settle(BY_MODEL, BLIND, view, people, [0], weighed, settings)


# fmt: off
STRANGE = [
    "Ελένη Κωνσταντίνου", "李伟", "김지민", "Анна Орлова", "प्रिया", "Ana4", "S A L I H - M E H M E T", "s a l i h",
]
PLAIN = [
    "Ana Lopez", "ANA LOPEZ", "ana lopez", "Zoë Müller-Ødegård", "Keʻala", "José", "Nguyễn Thị", "J. R. R. Tolkien", "O'Brien", "A. B.", "Ana-Maria",
]
# fmt: on


@pytest.mark.parametrize("name", STRANGE)
def test_what_does_not_look_at_names_counts_half_for_names_unlike_those_of_essays(name):
    view, people, _ = person(name)
    assert is_strange(view, people, 0)
    assert numpy.allclose(settled(name), [*((ROLES_ONLY + BLIND) / 2), 0.0])


@pytest.mark.parametrize("name", PLAIN)
def test_names_of_latin_letters_are_not_strange(name):
    view, people, _ = person(name)
    assert not is_strange(view, people, 0)


@pytest.mark.parametrize("name", ["Ana Lopez", "José", "A. B.", "Maria", "ANA LOPEZ", "ana lopez", "A. LOPEZ"])
def test_the_classifier_decides_of_names_in_essays(name):
    assert numpy.allclose(settled(name), BY_MODEL)


def test_what_does_not_look_at_names_has_its_share():
    none = BY_MODEL[-1]
    for share in (0.0, 0.15, 0.5):
        expected = (1 - none) * ((1 - share) * ROLES_ONLY + share * BLIND)
        assert numpy.allclose(settled("Ana Lopez", ContextSettings(blind=share)), [*expected, none])
    with pytest.raises(PiiError) as error:
        ContextSettings(blind=0.6)
    assert error.value.code == "E301"


@pytest.mark.parametrize("name", ["Mqkrvzus", "Ana Qtisvi", "Qtisvi"])
def test_whose_name_stands_in_no_table_is_half_for_what_does_not_look_at_names(name):
    _, people, _ = person(name)
    assert is_rare(people, [0])
    found = settled(name)
    assert found[-1] == pytest.approx(BY_MODEL[-1])
    assert numpy.allclose(found[:-1], 0.35 * (ROLES_ONLY + BLIND) / 2)


def test_of_a_name_with_a_slip_in_it_half_of_no_name_is_believed():
    _, people, _ = person("Ana Gonzalze")
    assert is_misspelled(people, [0]) and not is_misspelled(person("Ana Gonzalez")[1], [0])
    none = BY_MODEL[-1]
    assert settled("Ana Gonzalze")[-1] == pytest.approx(none / (2 - none))


def test_three_words_may_be_two_peoples_names():
    assert numpy.allclose(settled("Ana Maria Lopez")[:-1], 0.35 * (ROLES_ONLY + BLIND) / 2)
    _, people, _ = person("Ana Maria Lopez")
    people.forms.append(person("Ana Lopez")[1].forms[0])
    assert is_many(people, [0]) and not is_many(people, [0, 1])


def test_a_fuller_mention_tells_that_the_name_is_rare():
    _, people, _ = person("Ana Lopvez")
    _, other, _ = person("Ana")
    people.forms.append(other.forms[0])
    assert is_rare(people, [0, 1]) and is_rare(people, [1, 0]) and not is_rare(people, [1])


def test_names_found_by_their_form_are_like_strange_ones():
    assert numpy.allclose(settled("Ana Lopez", source="cue:name_torn"), [*((ROLES_ONLY + BLIND) / 2), 0.0])


def test_in_conversations_the_classifier_counts_half():
    assert numpy.allclose(settled("Maria", text=CHAT), [*((ROLES_ONLY + BLIND) / 2), 0.0])


@pytest.mark.parametrize(
    ("source", "cue"), [("propagation", ""), ("model", "forum_poster"), ("model", "my_name_is"), ("model", "group_leader")]
)
def test_who_is_copied_or_speaks_is_somebody(source, cue):
    assert numpy.allclose(settled("Ana Lopez", source=source, cue=cue), [*ROLES_ONLY, 0.0])


def test_who_is_touched_by_a_sign_is_twice_as_likely_somebody():
    found = settled("Ana", text="It was over.{} came to the station.")
    assert found.sum() == pytest.approx(1.0)
    assert found[-1] / found[0] == pytest.approx(BY_MODEL[-1] / BY_MODEL[0] / 2)


@pytest.mark.parametrize(
    ("text", "beset"), [("It was over.{} came.", True), ("It was 🌸{} there.", True), ("It was over. {} came.", False)]
)
def test_a_sign_touches_a_name(text, beset):
    _, people, _ = person("Ana", text=text)
    assert ("beset" in people.places[0].zones) is beset


def test_a_small_word_behind_a_full_stop_lacks_a_space_and_no_more():
    _, people, _ = person("ana", text="It was over.{} came to the station.")
    assert "beset" not in people.places[0].zones


def test_who_is_called_a_friend_by_a_given_name_is_no_thing():
    assert settled("Pamela", cue="my_friend")[-1] == 0.0
    assert settled("Ludgy", cue="my_friend")[-1] == BY_MODEL[-1]  # in no table: a thing, perhaps
    assert settled("Pamela", cue="argues")[-1] == BY_MODEL[-1]


def test_a_strange_name_that_the_text_calls_a_place_may_be_none():
    view, people, weighed = person("李伟")
    assert settle(BY_MODEL, BLIND, view, people, [0], weighed, ContextSettings())[-1] == 0.0
    people.evidence[0].append(Evidence("home_town", NOT_NAME, 2.0, "for a test"))
    assert settle(BY_MODEL, BLIND, view, people, [0], weighed, ContextSettings())[-1] == BY_MODEL[-1]


def test_what_stands_in_small_letters_beside_the_writer_may_be_a_thing():
    text = "They ate late. After dinner {} and I asked them."
    assert settled("pamela", text=text, cue="and_i")[2] < settled("Pamela", text=text, cue="and_i")[2]
    assert settled("pamela", text="after dinner {} and i asked them", cue="and_i")[2] == settled("Pamela", text=text, cue="and_i")[2]
