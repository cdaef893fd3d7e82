"""Invented people: names in every form, details that agree with them, and the tally of both."""

import random

import pytest

from pii_components.corpus.build import Tally, TemplateFiller
from pii_components.corpus.people import Person, invent_detail, invent_person, is_linked
from pii_components.corpus.templates import DETAILS, NAME_FORMS, Slot, parse_parts
from pii_components.names import resource
from pii_components.names.table import REGIONS, name_table


@pytest.mark.parametrize("what", sorted(DETAILS))
def test_details_vary_and_do_not_depend_on_the_process(what):
    table = name_table()
    values, again = (
        [invent_detail(what, "Ana", "Lopez", random.Random(n), table) for n in range(60)]
        for _ in range(2)
    )
    assert all(value.strip() for value in values) and values == again
    least = {"country": 1, "nationality": 1, "town": 3}.get(what, 12)
    assert len(set(values)) >= least


def test_handles_are_linked_to_the_name_or_not():
    handles = [invent_detail("username", "Marta", "Kowalska", random.Random(n)) for n in range(300)]
    assert 180 < sum(is_linked(handle, "Marta", "Kowalska") for handle in handles) < 270


def test_a_town_and_a_country_of_one_person_agree():
    for n in range(30):
        person = invent_person(random.Random(n), name_table())
        rng = random.Random(n)
        slots = (Slot("student", what) for what in ("town", "country", "nationality"))
        town, country, adjective = (person.render(slot, rng) for slot in slots)
        known = [p for p in resource("corpus/details")["places"] if p["country"] == country]
        assert any(adjective == p["adjective"] and town in p["towns"] for p in known)


def test_names_of_every_region_order_and_form():
    table, rng = name_table(), random.Random(11)
    people = [invent_person(rng, table) for _ in range(3000)]
    assert {p.region for p in people} == set(REGIONS)
    assert any(not p.last for p in people) and any(p.family_first for p in people)
    assert any(p.middle.endswith("ovich") for p in people)
    assert any(p.first.startswith(("Md", "Mohd")) for p in people)
    assert any(" " in p.last or "-" in p.last for p in people)


def test_people_with_one_name_have_every_form_and_others_may_have_the_family_name_first():
    person = Person("Suharto", "B.", "")
    forms = {what: person.render(Slot("student", what), random.Random(0)) for what in NAME_FORMS}
    assert forms.pop("initials") == "S." and forms.pop("nick") == "Suh"
    assert set(forms.values()) == {"Suharto"}
    person = Person("Ha-eun", "B.", "Kim", family_first=True)
    assert person.render(Slot("student", "full"), random.Random(0)) == "Kim Ha-eun"
    assert person.render(Slot("student", "reverse"), random.Random(0)) == "Kim Ha-eun"
    assert person.render(Slot("student", "last_first"), random.Random(0)) == "Kim, Ha-eun"


def test_authors_at_times_have_the_students_surname():
    parts = parse_parts("{{student.full}} read {{cited.last}} (2014).")
    tally, shared = Tally(), 0
    for n in range(400):
        filler = TemplateFiller(name_table(), random.Random(n), tally=tally)
        filler.fill(parts)
        student, author = filler.people["student"], filler.people["cited"]
        shared += bool(student.last) and student.last == author.last
    assert 5 <= shared <= 45
    counts = tally.to_dict()
    assert counts["hard negative"]["author with the student's surname"] >= shared
    assert counts["label"] == {"NAME_STUDENT": 400, "NAME_CITED": 400}
    assert counts["role"] == {"STUDENT": 400, "CITED": 400}
