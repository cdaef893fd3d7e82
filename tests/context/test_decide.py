"""What is believed of a person: whom the classifier was made for, who is called a friend, and who stands alone."""

import math
from dataclasses import replace

import numpy
import pytest

from pii_components.context.cues import NOT_NAME
from pii_components.context.decide import adjust_posterior, is_strange, isolation_penalty
from pii_components.context.evidence import Evidence, People, Weighed
from pii_components.context.settings import ContextSettings
from pii_components.names.parse import read_tokens

from .marking import NLP, name, view_of

ESSAY = "At last {} came to the station and paid."
CHAT = "Tutor: hello there\nAna: hi, is {} here too?\nTutor: not yet, read on\nAna: fine by me"
# Five roles, and "no name", which is what the classifier thinks.
BY_MODEL = numpy.asarray([0.10, 0.05, 0.05, 0.10, 0.05, 0.65])
MASKED = numpy.asarray([0.60, 0.10, 0.10, 0.10, 0.10])
ROLES_ONLY = BY_MODEL[:-1] / 0.35
NONE = BY_MODEL[-1]
HALF = (ROLES_ONLY + MASKED) / 2


def person(who, *, text=ESSAY, source="model", cue=""):
    text = text.format(who)
    doc, at = NLP(text), text.index(who)
    view = view_of(text)
    cand = name(doc.char_span(at, at + len(who)), source)
    people = People([cand], [read_tokens(view.words[cand.start : cand.end]).form], view.places([cand]), [[]], [[0]])
    evidence = [Evidence(cue, "STUDENT", 2.5, "for a test")] if cue else []
    return view, people, Weighed(evidence, {}, 1.0)


def adjusted(who, settings=ContextSettings(), **how):  # noqa: B008
    view, people, weighed = person(who, **how)
    return adjust_posterior(BY_MODEL, MASKED, view, people, [0], weighed, settings)


# fmt: off
@pytest.mark.parametrize("who", ["Ελένη Κωνσταντίνου", "李伟", "김지민", "Анна Орлова", "प्रिया", "Ana4", "S A L I H - M E H M E T", "s a l i h"])
def test_what_does_not_look_at_names_counts_half_for_names_unlike_those_of_essays(who):
    view, people, _ = person(who)
    assert is_strange(view, people, 0)
    assert numpy.allclose(adjusted(who), [*HALF, 0.0])


@pytest.mark.parametrize("who", [
    "Ana Lopez", "ANA LOPEZ", "ana lopez", "Zoë Müller-Ødegård", "Keʻala", "José", "Nguyễn Thị", "J. R. R. Tolkien", "O'Brien", "A. B.", "Ana-Maria",
])
def test_names_of_latin_letters_are_not_strange(who):
    view, people, _ = person(who)
    assert not is_strange(view, people, 0)


@pytest.mark.parametrize("who, how, expected", [
    # The classifier decides of names in essays, and what does not look at names has its share.
    *((who, {}, [*0.35 * ROLES_ONLY, NONE]) for who in ("Ana Lopez", "José", "A. B.", "Maria", "ANA LOPEZ", "ana lopez", "A. LOPEZ")),
    *(("Ana Lopez", {"settings": ContextSettings(blind=b)}, [*0.35 * ((1 - b) * ROLES_ONLY + b * MASKED), NONE]) for b in (0.15, 0.5)),
    # It has half of it of names in no table, and of three words, which may be two people's names.
    *((who, {}, [*0.35 * HALF, NONE]) for who in ("Mqkrvzus", "Ana Qtisvi", "Qtisvi", "Ana Maria Lopez")),
    ("Ana Lopez", {"source": "cue:name_torn"}, [*HALF, 0.0]),
    ("Maria", {"text": CHAT}, [*HALF, 0.0]),
    # Who is copied, speaks or posts is somebody.
    ("Ana Lopez", {"source": "propagation"}, [*ROLES_ONLY, 0.0]),
    *(("Ana Lopez", {"cue": cue}, [*ROLES_ONLY, 0.0]) for cue in ("forum_poster", "my_name_is", "group_leader")),
    # So is who is called a friend by a given name; in no table, it is a thing, perhaps.
    ("Pamela", {"cue": "my_friend"}, [*ROLES_ONLY, 0.0]),
    ("Ludgy", {"cue": "my_friend"}, [*0.35 * HALF, NONE]),
    ("Pamela", {"cue": "argues"}, [*0.35 * ROLES_ONLY, NONE]),
    # A sign that touches a name, or a slip in it, leaves half of "no name".
    ("Ana", {"text": "It was over.{} came to the station."}, [*(1 - NONE / (2 - NONE)) * ROLES_ONLY, NONE / (2 - NONE)]),
    ("Ana Gonzalze", {}, [*(1 - NONE / (2 - NONE)) * HALF, NONE / (2 - NONE)]),
])
# fmt: on
def test_what_is_believed(who, how, expected):
    assert numpy.allclose(adjusted(who, **how), expected)


@pytest.mark.parametrize(
    "who, other, half", [("Ana Lopvez", "Ana", True), ("Ana Maria Lopez", "Ana Lopez", False), ("Ana", "Ana Lopvez", True)]
)
def test_the_fullest_mention_tells_whether_a_name_is_rare_and_any_whether_it_is_one(who, other, half):
    view, people, weighed = person(who)
    people.forms.append(person(other)[1].forms[0])
    for part in (people.cands, people.places, people.evidence):
        part.append(part[0])
    for both in ([0, 1], [1, 0]):
        found = adjust_posterior(BY_MODEL, MASKED, view, people, both, weighed, ContextSettings())
        assert numpy.allclose(found[:-1] / found[:-1].sum(), HALF if half else ROLES_ONLY)


def test_a_strange_name_that_the_text_calls_a_place_may_be_none():
    view, people, weighed = person("李伟")
    people.evidence[0].append(Evidence("home_town", NOT_NAME, 2.0, "for a test"))
    assert adjust_posterior(BY_MODEL, MASKED, view, people, [0], weighed, ContextSettings())[-1] == NONE


def test_what_stands_in_small_letters_beside_the_writer_may_be_a_thing():
    text, small = "They ate late. After dinner {} and I asked them.", "after dinner {} and i asked them"
    called = adjusted("Pamela", text=text, cue="and_i")[2]
    assert adjusted("pamela", text=text, cue="and_i")[2] < called
    assert adjusted("pamela", text=small, cue="and_i")[2] == called


def somebody(count, *, zones=frozenset(("body",)), anchor=False):
    """So many people of one mention each, the first of whom stands in these zones."""
    view, cands = view_of("a " * count), [name((i, i + 1)) for i in range(count)]
    places = [replace(p, zones=zones if i == 0 else frozenset(("body",))) for i, p in enumerate(view.places(cands))]
    evidence = [[Evidence("by_line", "STUDENT", 4.0, "for a test", anchor=anchor and i == 0)] for i in range(count)]
    return People(cands, [read_tokens(["a"]).form] * count, places, evidence, [[i] for i in range(count)])


@pytest.mark.parametrize(
    ("chances", "changed"),
    [
        ([0.4], [True]),
        ([0.95], [True]),  # nobody is company for themselves
        ([0.4, 0.3], [True, True]),
        ([0.4, 0.95], [False, True]),
        ([0.4, 0.9], [False, True]),
        ([0.95, 0.99], [False, False]),
        ([], []),
    ],
)
def test_who_is_in_doubt_is_likelier_private_beside_who_is_sure(chances, changed):
    people = somebody(len(chances))
    after = isolation_penalty(chances, people, ContextSettings(alone=0.75, company=0.9))
    factors = [new / (1 - new) * (1 - old) / old for old, new in zip(chances, after, strict=True)]
    assert factors == pytest.approx([math.exp(-0.75) if alone else 1.0 for alone in changed])
    assert isolation_penalty(chances, people, ContextSettings()) == pytest.approx(chances)


@pytest.mark.parametrize("how", [{"zones": frozenset(("header", "alone"))}, {"zones": frozenset(("signoff",))}, {"anchor": True}])
def test_who_heads_or_signs_the_text_needs_no_company(how):
    after = isolation_penalty([0.4, 0.4], somebody(2, **how), ContextSettings(alone=0.75))
    assert after[0] == 0.4 and after[1] < 0.4


def test_certainty_stays_certain():
    assert isolation_penalty([0.0, 1.0], somebody(2), ContextSettings(alone=3.0, company=1.0)) == [0.0, 1.0]
