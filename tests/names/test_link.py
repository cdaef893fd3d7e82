"""One person linker, for detection (with the roles that cues tell) and for surrogates (by the names, or by what detection found)."""

import pytest

from pii_components.names.link import RoleCues, link, link_with_roles, links_of, spell_initials
from pii_components.names.parse import read_mention, read_tokens

STUDENT, CITED, WEAK, FRIEND = {"STUDENT": 3.0}, {"CITED": 5.0}, {"CITED": 2.0}, {"CONNECTED": 4.0}


def with_roles(names, own=None, signed=None, **options):
    mentions = spell_initials([read_mention(name) for name in names])
    cues = [RoleCues(10 * i, (own or {}).get(i, {}), **options.get(f"cue{i}", {})) for i in range(len(names))]
    return link_with_roles(mentions, cues, margin=1.5, signed=signed).owners


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


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ana Lopez", "ana lopez", True), ("Ana Lopez", "Lopez , Ana", True), ("Ana Lopez", "A. Lopez", True),
        ("Ana Lopez", "Ana M. Lopez", True), ("Ana Lopez", "Ana Lopez Garcia", True), ("Ana Lopez", "Ana L.", True),
        ("Ana Lopez", "Ben Lopez", False), ("Ana Lopez", "B. Lopez", False), ("Ana Lopez", "Ana Garcia", False),
        ("A. Lopez", "B. Lopez", False), ("Ana Lopez", "Ben Roth", False),
    ],
)  # fmt: skip
def test_two_forms_of_one_person(a, b, same):
    assert (with_roles((a, b)) == [0, 0]) is (with_roles((b, a)) == [0, 0]) is same


@pytest.mark.parametrize(
    ("names", "own", "signed", "persons"),
    [
        ("Ana Lopez/Lopez/Ana/A. Lopez/A.L.", [], None, [[0, 1, 2, 3, 4]]),
        ("Ana Lopez/Ben Lopez/Lopez", [], None, [[0], [1, 2]]),
        ("Lopez/Ana Lopez/Ben Lopez", [], None, [[0, 1], [2]]),
        ("A. Lopez/B. Lopez/Lopez", [], None, [[0], [1, 2]]),
        ("Ana Lopez/Lopez", [STUDENT, CITED], None, [[0], [1]]),
        ("Ana Lopez/Lopez", [STUDENT, {"CITED": 1.0}], None, [[0, 1]]),
        # In doubt, a bare name is the protected person's.
        ("Ana Lopez/Ben Lopez/Lopez", [STUDENT, CITED], None, [[0, 2], [1]]),
        # "My colleague Farid ... Farid suggested that": the same word, or the first name, is not cited without more.
        ("Farid/Farid", [FRIEND, WEAK], 3.5, [[0, 1]]),
        ("Farid Rahimi/Farid", [FRIEND, WEAK], 3.5, [[0, 1]]),
        ("Farid/Farid", [{"STUDENT": 4.0}, {"CHARACTER": 2.0}], 3.5, [[0, 1]]),
        # With a year behind it, it is an author.
        ("Smith/Smith", [FRIEND, CITED], 3.5, [[0], [1]]),
        ("Farid Rahimi/Farid", [FRIEND, CITED], 3.5, [[0], [1]]),
        # A surname may be another's; two private roles are told apart as before; who is cited protects nobody.
        ("Ana Smith/Smith", [FRIEND, WEAK], 3.5, [[0], [1]]),
        ("Farid/Farid", [FRIEND, {"INSTRUCTOR": 2.0}], 3.5, [[0], [1]]),
        ("Farid/Farid", [{"CITED": 4.0}, {"CHARACTER": 2.0}], 3.5, [[0], [1]]),
    ],
)
def test_roles_and_people(names, own, signed, persons):
    owners = with_roles(names.split("/"), dict(enumerate(own)), signed)
    assert [[i for i, o in enumerate(owners) if o == n] for n in range(max(owners) + 1)] == persons
