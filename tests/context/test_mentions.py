"""Names before anybody is judged: cases of regression_cases/context.json, names by their form, who is whom, and where else they stand."""

import json
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context.mentions import FORM, find_people, propagate
from pii_components.context.repair import repair
from pii_components.labels import ROLES, is_name
from pii_components.spans import read_spans, resolve_overlaps

from .marking import CONTEXT, NLP, marked, people_of, view_of

CASES = json.loads((Path(__file__).parents[1] / "data" / "regression_cases" / "context.json").read_text("utf8"))
BODY = "The town is old and the river is long, and every spring the water comes up to the doors.\n"
STUDENT, CONNECTED, CITED = "STUDENT", "CONNECTED", "CITED"


def test_cases_fail_only_where_known() -> None:
    assert len({case["id"] for case in CASES["cases"]}) == len(CASES["cases"]) >= 140
    failures = {}
    for case in CASES["cases"]:
        doc = CONTEXT(marked(case["text"]))
        found = [span.text for span in doc.spans["pii"]]
        if found != case["expected"]:
            failures[case["id"]] = found
    assert sorted(failures) == sorted(CASES["known_failures"]), failures


# fmt: off
@pytest.mark.parametrize(("text", "found"), [
    (f"Ana Lopez\nReflection\n\n{BODY}", [("Ana Lopez", "alone")]),
    (f"{BODY}\nSincerely,\nANA LOPEZ\n", [("ANA LOPEZ", "alone")]),
    (f"Ana Lopez went home and never came back to the old town.\n{BODY}", []),
    (f"Grand Central\n\n{BODY}", []),
    (f"Ana Lopez 3\n\n{BODY}", []),
    (f"{BODY}by A N A  L O P E Z", [("A N A  L O P E Z", "spaced")]),
    (f"{BODY}the P A R I S of the north", []),
    (f"{BODY}by Budi San-\ntoso and me", [("San-\ntoso", "torn")]),
    (f"{BODY}a commu-\nnication", []),
    (f"{BODY}with 4n4 L0p3z", [("4n4 L0p3z", "leet")]),
    (f"{BODY}on the A4 page of B2", []),
    (f"{BODY}in Essay_MiraKowalska_v2.docx", [("MiraKowalska", "file_name")]),
    (f"{BODY}in Essay_Mira_Kowalska.pdf", [("Mira_Kowalska", "file_name")]),
    (f"{BODY}in notes_week_final.docx", []),
    (f"{BODY}my friend 李伟 came", [("李伟", "native")]),
    (f"{BODY}the word 孝 is old", []),
])
# fmt: on
def test_names_that_their_form_shows(text, found):
    doc = CONTEXT(NLP(text))
    assert [(span.text, span._.pii_source) for span in doc.spans["pii"]] == [(name, FORM + rule) for name, rule in found]


def test_what_is_marked_already_is_not_found_by_its_form():
    people = people_of(f"[[Ana Lopez]]\nReflection\n\n{BODY}by [[A N A  L O P E Z]]")
    assert [cand.source for cand in people.cands] == ["model", "model"]


def says(*roles):
    """Of each mention, a role of which it speaks clearly; of None it says nothing."""
    return lambda people: numpy.log([[0.2] * 6 if role is None else [0.95 if r == role else 0.01 for r in (*ROLES, "")] for role in roles])


# fmt: off
@pytest.mark.parametrize(("text", "judge", "persons"), [
    ("[[Ana Smith]] wrote. Then [[Smith]] and [[Ana]] came.", None, [[0, 1, 2]]),
    ("[[Rosa Medina]] knows [[Carlos Medina]]. What [[Medina]] leaves out is money.", None, [[0], [1, 2]]),
    ("[[Smith]] came. It was [[Ana Smith]] who paid [[Ivo Novak]].", None, [[0, 1], [2]]),
    ("[[Halden, Tomas]] is on the list, and [[T. Halden]] on the door.", None, [[0, 1]]),
    ("[[Maria Ana Kim]] came. [[MAK]] is on the door.", None, [[0, 1]]),
    # Whoever speaks clearly for another role is another person, and a student's text gives nobody away lightly.
    ("I met [[Ana Smith]]. What [[Smith]] (2014) says is true.", says(CONNECTED, CITED), [[0], [1]]),
    ("I met [[Ana Smith]]. What [[Smith]] (2014) says is true.", says(CONNECTED, None), [[0, 1]]),
    ("I met [[Ana Smith]]. What [[Smith]] (2014) says is true.", says(CITED, CITED), [[0, 1]]),
    ("I met [[Ana Smith]]. What [[Smith]] says. As [[Smith]] says.", says(CONNECTED, CITED, CITED), [[0], [1, 2]]),
    ("I met [[Ana Smith]]. Then [[Ana Smith]] left.", says(CONNECTED, CITED), [[0, 1]]),
    ("Nobody was there.", None, []),
])
# fmt: on
def test_who_is_whom(text, judge, persons):
    people = people_of(text, judge)
    assert people.persons == persons
    assert sorted(i for person in people.persons for i in person) == list(range(len(people.cands)))


def test_what_is_no_name_comes_back_as_it_was():
    doc = marked("[[Reflection Ana Lopez]]\n3 May 2014")
    others = [c.with_label("DATE") for c in read_spans(marked("Reflection Ana Lopez\n[[3 May 2014]]"))]
    people, rest = find_people(view_of(doc.text), [*read_spans(doc), *others], None)
    assert [doc[c.start : c.end].text for c in people.cands] == ["Ana Lopez"] and rest == others


# fmt: off
@pytest.mark.parametrize(("text", "accepted", "found"), [
    ("[[Ana Lopez]] and [[Ben Roth]] came. Ben sat, then Lopez; ana lopez and Lopez, Ana left.", (0, 1),
     [(1, "Ben"), (0, "Lopez"), (0, "ana lopez"), (0, "Lopez, Ana")]),
    ("[[Ana Lopez]] and [[Ben Roth]] came. Ben sat, then Lopez.", (1,), [(1, "Ben")]),
    ("[[Ana Lopez]] and [[Ben Roth]] came. Ben sat, then Lopez.", (), []),
    ("[[Ana Lopez]] came. The Anatomy book of ana was hers.", (0,), []),
    ("[[Hope Lopez]] came. I hope that she stays. Hope is all.", (0,), []),
    ("[[Ana Lopez]] came: analopez, aNA.", (0,), [(0, "analopez"), (0, "aNA")]),
])
# fmt: on
def test_accepted_names_are_marked_everywhere(text, accepted, found):
    people = people_of(text)
    more = propagate(people, {i: i for i in accepted}, people.cands)
    text = people.view.text
    assert [(n, text[people.view.starts[a] : people.view.ends[b - 1]]) for n, a, b in more] == found


LINES = [case["text"] for case in CASES["cases"]]
DOCS = st.lists(st.sampled_from(LINES), min_size=1, max_size=3).map("\n".join)
FAST = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS)
def test_edges_are_mended_once_and_names_stay_apart(text):
    doc = marked(text)
    view = view_of(doc.text)
    once = repair(view, read_spans(doc))
    assert repair(view, once) == once == resolve_overlaps(once)
    assert all(is_name(c.label) for c in once)


@FAST
@given(DOCS)
def test_every_mention_has_one_person(text):
    people = people_of(text)
    assert [c.start for c in people.cands] == sorted(c.start for c in people.cands)
    assert sorted(i for person in people.persons for i in person) == list(range(len(people.cands)))
    assert len(people.cands) == len(people.mentions) == len(people.places) == len(people.forms)
