"""One person linker, for detection (with the roles that cues tell) and for surrogates (by the names, or by what detection found)."""

import pytest

from pii_components.names.link import RoleCues, link, link_with_roles, links_of, spell_initials
from pii_components.names.parse import read_mention, read_tokens
from pii_components.names.spelling import is_near_table, is_slip, respell

STUDENT, CITED = {"STUDENT": 3.0}, {"CITED": 5.0}


def with_roles(names, own=None, **options):
    mentions = spell_initials([read_mention(name) for name in names])
    cues = [RoleCues(10 * i, (own or {}).get(i, {}), **options.get(f"cue{i}", {})) for i in range(len(names))]
    return link_with_roles(mentions, cues, margin=1.5).owners


# Names in the order of a text, and whose each is.
SAME = [
    (("Ana Lopez", "Lopez", "Ana", "A. Lopez", "A.L."), [0, 0, 0, 0, 0]),
    (("Lopez, Ana", "Ana", "A.L."), [0, 0, 0]),
    (("Tobias Reed", "Toby", "REED"), [0, 0, 0]),
    (("Maria Lopez", "ML"), [0, 0]),
    (("Katherine Osei", "Kate"), [0, 0]),
    (("Robert Osei", "Bob"), [0, 0]),
    (("Chidi Okafor", "Chidi Okaofr"), [0, 0]),
    (("Ana Lopez", "Ben Lopez", "Lopez"), [0, 1, 1]),
    (("Lopez", "Ana Lopez", "Ben Lopez"), [0, 0, 1]),
    (("John Smith", "Jane Smith", "J. Smith"), [0, 1, 1]),
    (("A. Lopez", "B. Lopez", "Lopez"), [0, 1, 1]),
    (("Ana Lopez", "Bo Chen", "Ana", "Bo"), [0, 1, 0, 1]),
]


@pytest.mark.parametrize(("names", "owners"), SAME)
def test_detection_and_surrogates_see_the_same_people(names, owners):
    assert with_roles(names) == owners
    assert link(spell_initials([read_mention(name) for name in names])).owners == owners


@pytest.mark.parametrize(
    ("names", "own", "owners"),
    [
        (("Ana Lopez", "Lopez"), {0: STUDENT, 1: CITED}, [0, 1]),  # "Lopez (2014)" in an essay signed Ana Lopez
        (("Ana Lopez", "Lopez"), {0: STUDENT, 1: {"CITED": 1.0}}, [0, 0]),
        (("Ana Lopez", "Lopez", "Lopez"), {0: STUDENT, 1: CITED, 2: CITED}, [0, 1, 1]),
        (("William Turner", "Will Turner"), {0: CITED, 1: {"CONNECTED": 4.0}}, [0, 1]),
        (("William Turner", "Will Turner"), {0: {"CONNECTED": 4.0}}, [0, 0]),
        (("Ana Lopez", "Ben Lopez", "Lopez"), {0: STUDENT, 1: CITED}, [0, 1, 0]),  # in doubt, who is protected
        (("Ana Lopez", "Ben Lopez", "Lopez"), {0: CITED, 1: STUDENT, 2: CITED}, [0, 1, 0]),
    ],
)
def test_cues_part_people_of_one_name(names, own, owners):
    assert with_roles(names, own) == owners


def test_a_teacher_who_is_thanked_is_one_person():
    own = {0: {"INSTRUCTOR": 3.0}, 1: {"CONNECTED": 3.0}}
    assert with_roles(("Joan Hart", "Joan"), own) == [0, 1]
    assert with_roles(("Joan Hart", "Joan"), own, cue1={"addressed": True}) == [0, 0]


def test_every_mention_has_an_owner_even_without_letters():
    assert with_roles(("", "Ana Lopez", "...")) == [0, 1, 2]


@pytest.mark.parametrize(
    ("names", "persons", "owners"),
    [
        (("Ana Lopez", "Lopez"), (0, 1), [0, 1]),  # what detection parted stays apart
        (("Ana Lopez", "Lopez"), (4, 4), [0, 0]),
        (("Ana Lopez", "Lopez", "Ana"), (0, 1, None), [0, 1, 0]),  # a span of a roster goes to who has its name
        (("Ana Lopez", "Bo Chen"), (0, None), [0, 1]),
        (("Ana Lopez", "Lopez"), (None, None), [0, 0]),
        (("...", "Ana"), (0, 1), [-1, 0]),
    ],
)
def test_links_of_detection_are_taken_over(names, persons, owners):
    links = links_of([read_mention(name) for name in names], persons)
    assert links.owners == owners
    assert all(len(p) == len(read_mention(n).words) for n, p, o in zip(names, links.places, owners, strict=True) if o >= 0)


def test_the_person_is_called_by_the_fullest_form():
    links = links_of([read_mention(name) for name in ("Ana", "Lopez, Ana", "A. Lopez")], (7, 7, 7))
    assert [person.words for person in links.people] == [("lopez", "ana")]
    assert links.places == [(1,), (0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("tokens", "words", "letters", "comma"),
    [
        (["Ana", "Lopez"], ("ana", "lopez"), (), False),
        (["Lopez", ",", "A."], ("lopez",), ("a",), True),
        (["J.", "K.", "Rowling"], ("rowling",), ("j", "k"), False),
        (["Ana", "_", "Lopez"], ("ana", "lopez"), (), False),
        (["Ana", "Lopez", "'s"], ("ana", "lopez"), (), False),
        (["de", "la", "Cruz"], ("cruz",), (), False),
        (["M", "A", "R", "I", "A"], ("maria",), (), False),
        (["Mar", "-", "\n", "isol", "Vance"], ("marisol", "vance"), (), False),
        (["..."], (), (), False),
    ],
)
def test_form_of_tokens(tokens, words, letters, comma):
    form = read_tokens(tokens).form
    assert (form.words, form.letters, form.comma) == (words, letters, comma)


def test_parts_of_a_form():
    form = read_tokens(["Lopez", ",", "Ana"]).form
    assert (form.surname, form.given, form.full, form.single) == ("lopez", "ana", True, False)
    form = read_tokens(["Ana"]).form
    assert (form.surname, form.given, form.full, form.single) == ("ana", "", False, True)


def test_a_slip_of_the_pen_is_read_as_what_was_meant():
    forms = [read_mention(name).form for name in ("Chidi Okafor", "Okaofr", "Ana")]
    assert [form.words for form in respell(forms)] == [("chidi", "okafor"), ("okafor",), ("ana",)]
    assert is_slip("okaofr", "okafor") and not is_slip("ana", "ann")
    assert not is_near_table("lopez") and not is_near_table("xqzvw")
