"""What a value that comes again becomes; headers; modes by label and role."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.keys import Chance
from pii_components.surrogates.plan import variants

from .conftest import KEY, make_doc

CHANCE = Chance(KEY, "corpus")


def chosen(values, strategy, *, repeat=0.5, local=True, document="d"):
    return variants(values, CHANCE, document, strategy=strategy, repeat=repeat, local=local)


def test_variants():
    values = ["a", None, "a", "b", "a"]
    assert chosen(values, "consistent") == [""] * 5
    assert chosen(values, "random") == ["", "", "d:1", "", "d:2"]
    assert chosen(values, "random", local=False) == ["d:0", "", "d:1", "d:0", "d:2"]
    assert chosen(values, "markov", repeat=1.0) == [""] * 5
    assert chosen(values, "markov", repeat=0.0) == chosen(values, "random")


def test_markov_keeps_the_last_one_with_its_probability():
    runs = [chosen(["a", "a"], "markov", repeat=0.7, document=str(i))[1] for i in range(600)]
    assert 0.63 < runs.count("") / 600 < 0.77


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=12), st.floats(0, 1))
def test_other_values_do_not_matter(values, repeat):
    both = chosen(values, "markov", repeat=repeat)
    alone = chosen([v for v in values if v == "a"], "markov", repeat=repeat)
    assert [b for b, v in zip(both, values, strict=True) if v == "a"] == alone


MENTIONS = "{NAME_STUDENT|Ana Lopez}; {NAME_STUDENT|Ana Lopez}; {NAME_STUDENT|Ana Lopez}"


@pytest.mark.parametrize(("strategy", "different"), [("consistent", 1), ("random", 3)])
def test_strategies_of_the_component(hips, strategy, different):
    hips.strategy = strategy
    new = hips(make_doc(MENTIONS))._.deidentified.split("; ")
    assert len(set(new)) == different
    assert not any({"Ana", "Lopez"} & set(n.split()) for n in new)
    assert hips(make_doc(MENTIONS))._.deidentified.split("; ") == new


def test_random_details_differ_and_stay_distinct(hips):
    hips.strategy = "random"
    new = hips(
        make_doc("{ID_NUM|AB-2047} {ID_NUM|AB-2047} {ID_NUM|CD-1133} {ID_NUM|AB2047}")
    )._.deidentified.split()
    assert len({n.replace("-", "") for n in new}) == 4


def test_ages_and_dates_keep_their_shift_under_any_strategy(hips):
    hips.profile = Profile(
        "x", actions={"DATE": "surrogate", "AGE": "surrogate"}, strategy="random"
    )
    new = hips(make_doc("{DATE|2019} {DATE|2019} {AGE|14} {AGE|14}"))._.deidentified.split()
    assert new[0] == new[1]
    assert new[2] == new[3]


def test_strategy_is_checked_and_saved(hips):
    with pytest.raises(PiiError) as err:
        hips.strategy = "sometimes"
    assert err.value.code == "E422"
    hips.strategy = "markov"
    assert HipsSurrogate().from_bytes(hips.to_bytes()).strategy == "markov"
    hips.strategy = None
    assert hips.strategy == "consistent"


def test_a_component_saved_by_an_older_version_loads(tmp_path):
    cfg = {
        "scope": "corpus",
        "reserved": None,
        "key_file": None,
        "key_env": "PII_EDU_KEY",
        "spans_key": "pii",
    }
    profile = {
        "name": "old",
        "description": "",
        "actions": {"NAME_STUDENT": "surrogate"},
        "scope": "document",
        "locale": "en_US",
        "header": "keep",
        "reserved": True,
        "pseudonyms": {},
        "generic": {},
    }
    for part, data in (("cfg", cfg), ("profile", profile)):
        (tmp_path / part).write_text(json.dumps(data), encoding="utf8")
    hips = HipsSurrogate().from_disk(tmp_path)
    hips.set_key(KEY)
    assert (hips.scope, hips.strategy, hips.profile.pool) == ("corpus", "consistent", "invented")
    assert "Lopez" not in hips(make_doc("{NAME_STUDENT|Ana Lopez}"))._.deidentified


# By label and role


def test_action_by_role_of_a_detail(hips):
    hips.profile = Profile("x", actions={"EMAIL": "tag", "EMAIL/INSTRUCTOR": "keep"})
    doc = make_doc("{EMAIL|ana@x.org} {EMAIL|hartwell@x.org}")
    doc.spans["pii"][1]._.pii_role = "INSTRUCTOR"
    doc = hips(doc)
    assert doc._.deidentified == "[EMAIL] hartwell@x.org"
    assert [e.text for e in doc.ents] == ["ana@x.org"]


def test_mask_that_hides_nothing_becomes_a_tag(hips):
    hips.profile = Profile("x", actions={"NAME_STUDENT": "mask"})
    assert (
        hips(make_doc("{NAME_STUDENT|Bx} {NAME_STUDENT|Bo}"))._.deidentified == "[NAME_STUDENT] Bx"
    )


# Headers

HEADER = (
    "{NAME_STUDENT|Ana Lopez}\nProfessor {NAME_INSTRUCTOR|Hartwell}\nENGL 101\n{DATE|12 May 2019}\n\n"
    "The Summer of Ferries\n\nI am {NAME_STUDENT|Ana}, says {NAME_CITED|Kant}.\n{NAME_STUDENT|Lopez} 2\nMore text."
)


def test_header_is_removed_and_told(hips):
    hips.profile = "ets"
    doc = hips(make_doc(HEADER))
    assert doc._.deidentified == "The Summer of Ferries\n\nI am Sam, says Kant.\nMore text."
    gone = [row for row in doc._.surrogate_spans if row["label"] == "HEADER"]
    assert [row["note"] for row in gone] == ["header removed"] * 2
    assert len(doc._.pii_offsets.edits) == len(doc._.surrogate_spans)
    at = doc.text.index("More")
    assert doc._.pii_offsets.span_to_old(*doc._.pii_offsets.span_to_new(at, at + 4)) == (at, at + 4)
    assert doc._.pii_offsets.span_to_new(0, 9) == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "I am {NAME_STUDENT|Ana Lopez}.\nMy town is small.",
        "Dear Professor {NAME_INSTRUCTOR|Hartwell},\nI was ill.",
        "English 101\nMay 2019\n\nNobody is named here.",
        "My name is {NAME_STUDENT|Ana Lopez}\nand I like ferries",
        "The ferry left the harbor early that day and we saw {NAME_CONNECTED|Tom Baker} on it.\n{NAME_STUDENT|Ana Lopez}",
        "",
    ],
)
def test_what_is_no_header_stays(hips, text):
    hips.profile = "ets"
    assert not [row for row in hips(make_doc(text))._.surrogate_spans if row["label"] == "HEADER"]


def test_headers_stay_unless_asked(hips):
    assert hips(make_doc(HEADER))._.deidentified.count("\n") == HEADER.count("\n")


# ETS's tables


@pytest.mark.parametrize(
    ("label", "values", "expected"),
    [
        ("NAME_STUDENT", ["Priya Patel", "Priya", "Patel"], ["Sam Doe", "Sam", "Doe"]),
        ("PHONE_NUM", ["312 867 5309"], ["(555) 555-5555"]),
        ("EMAIL", ["pp@x.org"], ["samdoe@uni.edu"]),
        ("STREET_ADDRESS", ["9 Elm Rd"], ["123 Main Street Anytown, NJ USA 12345"]),
        (
            "URL_PERSONAL",
            ["linkedin.com/in/pp", "http://x.edu/~pp"],
            ["www.linkedin.com/in/sam-doe", "http://removed-this-url.com/"],
        ),
        (
            "NAME_CONNECTED",
            [
                "Wei Chen",
                "Nora Wang",
                "Chidi Okafor",
                "Hana Sato",
                "Ivo Novak",
                "Lena Vogt",
                "Omar Aziz",
                "Tom Baker",
            ],
            [
                "Casey Smith",
                "Riley Johnson",
                "Jaime Miller",
                "Kerry Jones",
                "Skyler Williams",
                "Pat Brown",
                "Harper Miller",
                "Bailey Davis",
            ],
        ),
        (
            "LOCATION",
            ["Lima", "Quito", "Cusco", "Oruro"],
            ["Anytown", "Anyville", "Springfield", "Franklin"],
        ),
        ("LOCATION", ["Essex County", "Kent County"], ["Washington County", "Jefferson County"]),
        ("DATE", ["May 3, 1999", "June 1, 2001"], ["February 29, 2017", "February 29, 2017"]),
        ("EDUCATION", ["Ridgeview University", "Ridgeview"], ["the university", "the university"]),
        ("EDUCATION", ["Ridgeview School District"], ["the school district"]),
        ("NAME_CITED", ["Immanuel Kant"], ["Immanuel Kant"]),
        ("NAME_CHARACTER", ["Okonkwo"], ["Okonkwo"]),
    ],
)
def test_ets_tables(hips, label, values, expected):
    hips.profile = "ets"
    text = "It says " + " ; ".join(f"{{{label}|{v}}}" for v in values)
    assert hips(make_doc(text))._.deidentified == "It says " + " ; ".join(expected)


# Properties of all labels together

VALUES = {
    "NAME_STUDENT": ["Ana Lopez", "Lopez", "Tom Baker"],
    "EMAIL": ["ana.lopez@zanfort.edu", "tbaker7@quimby.org"],
    "DATE": ["May 3, 2019", "2019-05-07", "Monday"],
    "AGE": ["14", "seventeen", "20-year-old"],
    "LOCATION": ["Zanfort", "Quimby, Peru"],
    "EDUCATION": ["Zanfort College", "Harlo High School"],
    "EMPLOYER": ["Mumpert Bank", "Zanfort"],
    "ID_NUM": ["4539148803436467", "AB-2047"],
    "OTHER": ["the twins"],
}
SPANS = st.sampled_from([(label, value) for label, values in VALUES.items() for value in values])
PROFILE = Profile(
    "all", actions=dict.fromkeys(VALUES, "surrogate"), other={"the twins": "my cousins"}
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(SPANS, st.text(alphabet="qxz .,\n'é", max_size=5)), max_size=9),
    st.sampled_from(["consistent", "random", "markov"]),
    st.sampled_from(["document", "corpus"]),
)
def test_text_outside_spans_stays_maps_invert_and_no_original_survives(pieces, strategy, scope):
    hips = HipsSurrogate(profile=PROFILE, strategy=strategy, scope=scope)
    hips.set_key(KEY)
    marked = " ".join(p if isinstance(p, str) else f"{{{p[0]}|{p[1]}}}" for p in pieces)
    doc = hips(make_doc(marked))
    new, offsets = doc._.deidentified, doc._.pii_offsets
    last = last_new = 0
    for edit in offsets.edits:
        assert doc.text[last : edit.start] == new[last_new : edit.new_start]
        assert offsets.span_to_old(*offsets.span_to_new(edit.start, edit.end)) == (
            edit.start,
            edit.end,
        )
        assert doc.text[edit.start : edit.end].lower() != new[edit.new_start : edit.new_end].lower()
        last, last_new = edit.end, edit.new_end
    assert doc.text[last:] == new[last_new:]
    assert offsets.inverse().inverse() == offsets
    for part in (
        "Ana",
        "Lopez",
        "Tom",
        "Baker",
        "Zanfort",
        "Quimby",
        "Peru",
        "Harlo",
        "Mumpert",
        "2047",
        "4539",
        "2019",
        "May",
        "twins",
    ):
        assert not re.search(rf"(?<![a-z]){part}(?![a-z])", new, re.IGNORECASE)
    again = HipsSurrogate(profile=PROFILE, strategy=strategy, scope=scope)
    again.set_key(KEY)
    again(make_doc("{NAME_STUDENT|Nora Wang} {DATE|May 4, 2019}"))
    assert again(make_doc(marked))._.deidentified == new
