"""The last sweep for surnames over a corpus. Everybody is invented."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.names.people import People, identify
from pii_components.release.sweep import Originals, Surnames, names_of
from tests.surrogates.conftest import unmark


def people_in(marked: str) -> People:
    text, spans = unmark(marked)
    return identify(text, [(start, end, "NAME_STUDENT", None) for start, end, _ in spans])


def protected(*marked: str, token=None) -> Surnames:
    surnames = Surnames(token) if token else Surnames()
    for people in map(people_in, marked):
        surnames.add(people)
    return surnames


def found(surnames: Surnames, text: str, **options) -> list[str]:
    return [text[hit.start : hit.end] for hit in surnames.find(text, **options)]


SOREL = protected("I am {N|Ina Sorel}.", "By {N|Tom King} and {N|Wei Li}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sorel helped.", ["Sorel"]),
        ("SOREL, sorel and Sorel's", ["SOREL", "sorel", "Sorel"]),
        ("sorel_final.docx, ina.sorel@x.edu", ["sorel", "sorel"]),
        ("So\u00adrel; Sörel; Sorel-Quimby", ["So\u00adrel", "Sörel", "Sorel"]),
        ("Sorels, Sorellian, Ina", []),
        # a surname that is a word counts beside its given name only, as ETS searched
        ("The king spoke. King of hearts.", []),
        ("Tom King; King, Tom; tom_king@x.edu", ["King", "King", "king"]),
        ("Ana King", []),
        ("Li is far; Wei Li is here", ["Li"]),
        ("", []),
    ],
)
def test_what_is_found(text, expected):
    assert found(SOREL, text) == expected


def test_surrogates_and_names_that_stay_do_not_count():
    text = "Sorel (1999) says: Sorel."
    assert found(SOREL, text, spans=[(0, 5)]) == ["Sorel"]
    assert found(SOREL, text, exempt={"sorel"}) == []
    assert found(SOREL, text, spans=[(19, 24), (0, 5)]) == []


@pytest.mark.parametrize(
    ("marked", "surnames"),
    [
        ("{N|Ina Sorel}", ["sorel"]),
        ("{N|Sorel, Ina}", ["sorel"]),
        ("Dr. {N|Sorel}", ["sorel"]),
        ("{N|Ana Gil-Soto}", ["gil", "soto"]),
        ("{N|Juan de la Cruz}", ["cruz"]),
        ("{N|Maria}", []),
        ("{N|M. S.}", []),
    ],
)
def test_surnames(marked, surnames):
    people = names_of(people_in(marked))
    assert [surname for _, family in people for surname in family] == surnames


def test_digests_work_as_words_do():
    digests = protected(
        "I am {N|Ina Sorel}.", "By {N|Tom King}", token=lambda word: f"#{hash(word)}"
    )
    assert not [
        token for token in digests.alone | digests.pairs if "sorel" in token or "king" in token
    ]
    assert found(digests, "Sorel, the king. Tom King") == ["Sorel", "King"]


def test_nothing_protected_nothing_found():
    assert found(Surnames(), "Ina Sorel") == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["Sorel", "sorel", "SOREL'S", "and", "Ina", "x.", "Tom", "King", "\n", "’s", "_"]
        ),
        max_size=12,
    )
)
def test_every_surname_that_stands_alone_is_found_once(words):
    text = " ".join(words)
    hits = SOREL.find(text)
    assert sum("sorel" in text[h.start : h.end].lower() for h in hits) == text.lower().count(
        "sorel"
    )
    assert all(a.end <= b.start for a, b in zip(hits, hits[1:], strict=False))


def originals(token=str) -> Originals:
    made = Originals(token)
    made.add_person(("ina", "will"), ("sorel",))
    made.add_person(("hope",), (), risk="medium")
    for value, risk in (
        ("ina.sorel@x.edu", "high"),
        ("20418837", "high"),
        ("12 Mill Lane", "high"),
        ("Ashby Harbour", "low"),
        ("Ashby", "low"),
    ):
        made.add(value, risk)
    return made


@pytest.mark.parametrize("token", [str, lambda word: f"#{hash(word)}"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "INA SOREL, Sorel, Ina; will_sorel inasorel",
            [
                ("INA SOREL", "high"),
                ("Sorel, Ina", "high"),
                ("will_sorel", "high"),
                ("inasorel", "high"),
            ],
        ),
        (
            "To ina.sorel@x.edu: 2041-8837, 12 Mill Lane.",
            [("ina.sorel@x.edu", "high"), ("2041-8837", "high"), ("12 Mill Lane", "high")],
        ),
        ("Ashby, Ashby Harbour, ashby", [("Ashby", "low"), ("Ashby Harbour", "low")]),
        ("Ina and ina", [("Ina", "low")]),
        ("will hope; Will I? Hope so. 120418837, inasorels", []),
        ("", []),
    ],
)
def test_whole_values_are_found_with_their_risk(text, expected, token):
    assert [(text[a:b], risk) for a, b, risk in originals(token).find(text)] == expected


def test_surrogates_and_kept_names_are_no_originals():
    text = "Ina Sorel (1999): Ina Sorel"
    assert [(a, b) for a, b, _ in originals().find(text, spans=[(0, 9)])] == [(18, 27)]
    assert originals().find(text, exempt={"ina", "sorel"}) == []
