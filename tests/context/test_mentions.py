"""Names before anybody is judged: cases of regression_cases/context.json, who is whom, and where else they stand."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.context.mentions import find_people, propagate
from pii_components.labels import ROLES
from pii_components.spans import Candidate, read_spans, write_spans

from ..tiny import cases
from .marking import CONTEXT, NLP, marked, people_of, view_of

CASES, TABLES = cases("context"), cases("context_tables")


def test_cases_fail_only_where_known() -> None:
    assert len({case["id"] for case in CASES["cases"]}) == len(CASES["cases"])
    failures = {}
    for case in CASES["cases"]:
        doc = CONTEXT(marked(case["text"]))
        found = [span.text for span in doc.spans["pii"]]
        if found != case["expected"]:
            failures[case["id"]] = found
    assert sorted(failures) == sorted(CASES["known_failures"]), failures


def says(roles):
    """Of each mention, a role of which it speaks clearly; of None it says nothing."""
    clear = [[0.975 if r == role else 0.005 for r in (*ROLES, "")] for role in roles]
    rows = [row if role else [0.2] * 6 for role, row in zip(roles, clear, strict=True)]
    return lambda people, some: numpy.log(rows)[list(some)]


@pytest.mark.parametrize(("text", "roles", "persons"), TABLES["whom"])
def test_who_is_whom(text, roles, persons):
    people = people_of(text, says(roles) if roles else None)
    assert people.persons == persons
    assert sorted(i for person in people.persons for i in person) == list(range(len(people.cands)))


def test_others_come_back():
    doc = marked("[[Ana Lopez]]\n3 May 2014")
    dates = read_spans(marked("Ana Lopez\n[[3 May 2014]]"))
    others = [c.with_label("DATE") for c in dates]
    people, rest = find_people(view_of(doc.text), [*read_spans(doc), *others], None)
    assert [doc[c.start : c.end].text for c in people.cands] == ["Ana Lopez"] and rest == others


@pytest.mark.parametrize(("text", "accepted", "found"), TABLES["accepted"])
def test_accepted_names_are_marked_everywhere(text, accepted, found):
    people = people_of(text)
    more = propagate(people, {i: i for i in accepted}, people.cands)
    text = people.view.text
    assert [[n, text[people.view.starts[a] : people.view.ends[b - 1]]] for n, a, b in more] == found


LINES = [case["text"] for case in CASES["cases"]]
DOCS = st.lists(st.sampled_from(LINES), min_size=1, max_size=3).map("\n".join)
FAST = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@FAST
@given(DOCS)
def test_every_mention_has_one_person(text):
    people = people_of(text)
    assert [c.start for c in people.cands] == sorted(c.start for c in people.cands)
    assert sorted(i for person in people.persons for i in person) == list(range(len(people.cands)))
    assert len(people.cands) == len(people.mentions) == len(people.places) == len(people.forms)


@pytest.mark.parametrize("label", ["LOCATION", "EDUCATION", "EMPLOYER"])
@pytest.mark.parametrize(
    ("text", "name", "other", "found"),
    [
        ("My partner Orsina Quellvane came.", "Orsina", "Quellvane", ["Orsina Quellvane"]),
        ("My partner Orsina Quellvane came.", "Quellvane", "Orsina", ["Orsina Quellvane"]),
        ("Orsina Quellvane came.", "Orsina Quellvane", "Quellvane", ["Orsina Quellvane"]),
        ("I asked Orsina, Quellvane came.", "Orsina", "Quellvane", ["Orsina", "Quellvane"]),
        ("In Quellvane Orsina met us.", "Orsina", "Quellvane", ["Quellvane", "Orsina"]),
        ("I told Orsina London is wet.", "Orsina", "London", ["Orsina", "London"]),
    ],
)
def test_all_of_a_name_or_none(text, name, other, found, label):
    doc = NLP(text)
    cands = []
    for part, what in ((name, "NAME_STUDENT"), (other, label)):
        span = doc.char_span(text.index(part), text.index(part) + len(part))
        cands.append(Candidate(span.start, span.end, what, 0.9, "model"))
    write_spans(doc, cands)
    assert [span.text for span in CONTEXT(doc).spans["pii"]] == found
