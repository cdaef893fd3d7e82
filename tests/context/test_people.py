"""Which mentions are one person, and names that are written wrong once."""

import random

import pytest

from pii_components.context import people
from pii_components.context.people import Mention, is_near_table, is_slip, link, parse_form, respell, same_person


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["Ana", "Lopez"], (("ana", "lopez"), (), False)),
        (["Lopez", ",", "A."], (("lopez",), ("a",), True)),
        (["A.L."], ((), ("a", "l"), False)),
        (["Maria", "de", "la", "Cruz"], (("maria", "cruz"), (), False)),
        (["JOSÉ", "'s"], (("jose",), (), False)),
        (["Ana", "_", "Lopez"], (("ana", "lopez"), (), False)),
        (["King", "Jr."], (("king",), (), False)),
    ],
)
def test_parse_form(tokens: list[str], expected: tuple) -> None:
    form = parse_form(tokens)
    assert (form.words, form.initials, form.comma) == expected


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ana Lopez", "ana lopez", True), ("Ana Lopez", "Lopez , Ana", True), ("Ana Lopez", "A. Lopez", True),
        ("Ana Lopez", "Ana M. Lopez", True), ("Ana Lopez", "Ana Lopez Garcia", True), ("Ana Lopez", "Ana L.", True),
        ("Ana Lopez", "Ben Lopez", False), ("Ana Lopez", "B. Lopez", False), ("Ana Lopez", "Ana Garcia", False),
        ("A. Lopez", "B. Lopez", False), ("Ana Lopez", "Ben Roth", False),
    ],
)  # fmt: skip
def test_same_person(a: str, b: str, same: bool) -> None:
    assert same_person(parse_form(a.split()), parse_form(b.split())) is same
    assert same_person(parse_form(b.split()), parse_form(a.split())) is same


STUDENT, CITED, WEAK, FRIEND = {"STUDENT": 3.0}, {"CITED": 5.0}, {"CITED": 2.0}, {"CONNECTED": 4.0}


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
def test_link(names: str, own: list[dict], signed: float | None, persons: list[list[int]]) -> None:
    own = [*own, *[{}] * 9]
    mentions = [Mention(i, 10 * i, parse_form(name.split()), own[i]) for i, name in enumerate(names.split("/"))]
    assert link(mentions, margin=1.5, signed=signed) == persons


@pytest.mark.parametrize(
    "names, read",
    [
        ("Meenakshi Rao/Meenakhsi", "meenakshi"),  # two letters changed places
        ("Evgeny Karimov/Evgny", "evgeny"),  # one is missing
        ("Meenakshi Rao/Menaksshi", "meenakshi"),  # two slips in a long name
        ("Marisol Vega/Marisul/Marisel Roth", "marisul"),  # it may be either
        ("Evgeny Karimov/Vgny", "vgny"),  # too short
        ("Norman Jansen/Janssen", "janssen"),  # a name of its own
        ("Anika Challenger/Challenge", "challenge"),  # an English word
        ("Evgeny/Evgny", "evgeny"),  # a first name alone
        ("Evgeny/Evgny Karimov", "evgeny karimov"),  # in a full name
        ("Meenakshi Rao/Meenakhsi Roa", "meenakshi roa"),  # too short to tell, or a name of its own
    ],
)
def test_a_name_written_wrong_is_the_one_it_is_meant_for(names: str, read: str) -> None:
    forms = [parse_form(name.split()) for name in names.split("/")]
    found = respell(forms)
    assert (found[0], found[1].words) == (forms[0], tuple(read.split()))


def test_the_words_of_a_long_list_are_not_each_compared_with_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(46)
    parts = ["ka", "ri", "mo", "ten", "wu", "sha", "vol", "pe", "ne", "qua", "dri", "zil", "tho", "mar", "bek", "yun"]
    forms = [parse_form(["".join(rng.choices(parts, k=4)), "".join(rng.choices(parts, k=4))]) for _ in range(1000)]
    compared = []
    monkeypatch.setattr(people, "is_slip", lambda *pair: compared.append(pair) or is_slip(*pair))
    assert respell(forms) != forms  # some are alike by chance
    assert len(compared) < 20 * len(forms)  # of four million pairs


def test_one_of_two_misspellings_stands_for_both() -> None:
    forms = respell([parse_form([word]) for word in ("Prszybilla", "Prszybila", "Oyelaran")])
    assert forms[0] == forms[1] != forms[2]


def test_a_slip_away_from_a_frequent_name() -> None:
    near = {"jonathna": True, "gonzalze": True, "maria": False, "window": False, "zzyzx": False, "jhn": False}
    assert {word: is_near_table(word) for word in near} == near
