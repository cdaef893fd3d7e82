"""Surrogates of names: linked, distinct, in the form of the original, and never the original."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.names.letters import norm
from pii_components.names.link import link, spell_initials
from pii_components.names.parse import read_mention
from pii_components.names.table import name_table
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.person_names import Named, name_people, render

from .conftest import KEY

ANA = Named(link([read_mention("Ana María López")])[0][0], ("Zoë", "Inés", "Rossi"))
NAMES = [
    "Maria",
    "Jose",
    "José",
    "Wei",
    "Chidi",
    "Nora",
    "Min-jun",
    "Priya",
    "Tom",
    "Ángel",
    "Qzxwa",
    "Иван",
    "小明",
    "O'Neil",
    "Al",
]
SURNAMES = [
    "Lopez",
    "García",
    "Wang",
    "Okafor",
    "Smith",
    "McDonald",
    "O'Brien",
    "de la Cruz",
    "Garcia-Lopez",
    "Patel",
    "Zzywq",
    "Петров",
]


def replace_all(
    texts: list[str], *, key: bytes = KEY, forbidden: frozenset[str] = frozenset()
) -> list[str | None]:
    chance = Chance(key, "corpus")
    mentions = spell_initials([read_mention(t) for t in texts])
    people, owners, _ = link(mentions)
    named = name_people(people, chance, table=name_table(), forbidden=forbidden)
    return [render(m, named[o], chance) for m, o in zip(mentions, owners, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ána López", "Zoë Rossi"),
        ("Ana Lopez", "Zoe Rossi"),
        ("ANA LOPEZ", "ZOE ROSSI"),
        ("ana lopez", "zoe rossi"),
        ("ana LOPEZ", "zoe ROSSI"),
        ("aNA López", "zOE Rossi"),
        ("López, Ana", "Rossi, Zoe"),
        ("LOPEZ, Ana", "ROSSI, Zoe"),
        ("A. Lopez", "Z. Rossi"),
        ("a. lopez", "z. rossi"),
        ("Ana L.", "Zoe R."),
        ("Ana M. Lopez", "Zoe I. Rossi"),
        ("A.M.L.", "Z.I.R."),
        ("A. L.", "Z. R."),
        ("Dr. Lopez", "Dr. Rossi"),
        ("Prof. Ana Lopez Jr.", "Prof. Zoe Rossi Jr."),
        ("Ana Lopez's", "Zoe Rossi's"),
        ("Lopez’s", "Rossi’s"),
        ("Ana_Lopez", "Zoe_Rossi"),
        ("Lopez_Ana_", "Rossi_Zoe_"),
        ("Ana\nLopez", "Zoe\nRossi"),
        ("Ana  Lopez", "Zoe  Rossi"),
        ("A N A   L", None),
        ("L O P E Z", "R O S S I"),
        ("Ana\u200bLopez", "Zoe\u200bRossi"),
        ("A\u00adna", "Zoe"),
        ("(Ana)", "(Zoe)"),
    ],
)
def test_keeps_the_form(chance, text, expected):
    if expected is not None:
        assert render(read_mention(text), ANA, chance) == expected


def test_siblings_share_a_surname_and_stay_two():
    john, jane, surname = replace_all(["John Smith", "Jane Smith", "Smith"])
    assert john.split()[1] == jane.split()[1] == surname
    assert john.split()[0] != jane.split()[0]


def test_title_tells_gender():
    people, *_ = link([read_mention("Mrs. Qzxwa Zzywq")])
    named = name_people(people, Chance(KEY), table=name_table(), forbidden=())
    assert "gender" not in named[0].note
    assert name_table().gender(named[0].surrogates[0]) == "F"


def test_name_without_a_pool_is_from_elsewhere_and_says_so():
    people, *_ = link([read_mention("Maria Lopez")])
    spanish = {norm(n) for g in ("F", "M", "") for n in name_table()._given.pools["ES", g][0]}
    named = name_people(people, Chance(KEY), table=name_table(), forbidden=spanish)
    assert named[0].note == "origin not matched"
    assert norm(named[0].surrogates[0]) not in spanish


def test_no_surrogate_at_all_is_none():
    people, owners, _ = link([mention := read_mention("Maria Lopez")])
    everything = {
        norm(n) for kind in (name_table()._given, name_table()._surnames) for n in kind.names
    }
    named = name_people(people, Chance(KEY), table=name_table(), forbidden=everything)
    assert render(mention, named[owners[0]], Chance(KEY)) is None


def test_no_surrogate_is_forbidden():
    first = replace_all(["Maria Lopez"])[0]
    second = replace_all(["Maria Lopez"], forbidden=frozenset(norm(w) for w in first.split()))[0]
    assert not set(first.split()) & set(second.split())


names = st.builds(lambda g, s: f"{g} {s}", st.sampled_from(NAMES), st.sampled_from(SURNAMES))


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=1, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_order_does_not_matter(texts, random):
    shuffled = list(texts)
    random.shuffle(shuffled)
    first, second = (
        dict(zip(texts, replace_all(texts), strict=True)),
        dict(zip(shuffled, replace_all(shuffled), strict=True)),
    )
    assert first == second


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=1, max_size=6, unique=True), st.binary(min_size=16, max_size=20))
def test_nothing_of_an_original_is_left(texts, key):
    new = replace_all(texts, key=key)
    originals = {w.norm for t in texts for w in read_mention(t).words}
    for text, result in zip(texts, new, strict=True):
        assert result is not None
        words = {w.norm for w in read_mention(result).words}
        assert not words & originals
        assert all(a[0] != b[0] for a, b in zip(text.split()[:1], result.split()[:1], strict=True))


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=2, max_size=8, unique=True))
def test_distinct_people_stay_distinct(texts):
    people, owners, _ = link([read_mention(t) for t in texts])
    results = dict(zip(owners, replace_all(texts), strict=True))
    assert len({norm(r) for r in results.values()}) == len(people)
