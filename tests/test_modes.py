"""What stands in the place of personal information, other than a surrogate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.labels import LABELS
from pii_components.profiles import generic, legacy_sha256, mask, pseudonym, redact, tag


@pytest.mark.parametrize("label", LABELS)
def test_tag_tells_the_label(label):
    assert tag(label) == f"[{label}]"
    assert redact(label) == "[REDACTED]"


@given(st.text())
def test_mask_keeps_length_and_white_space(text):
    masked = mask(text, char="*", first=False)
    assert len(masked) == len(text)
    assert all((new == old) if old.isspace() else new == "*" for old, new in zip(text, masked, strict=True))
    assert all(old in (new, new.lower()) or new == "x" for old, new in zip(text, mask(text), strict=True))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Ana Lopez", "Axx Lxxxx"),
        ("A. Lopez", "Ax Lxxxx"),
        ("Y Lopez", "x Lxxxx"),
        ("ana@x.org", "axxxxxxxx"),
        ("20194455", "xxxxxxxx"),
        ("New\nYork", "Nxx\nYxxx"),
        ("", ""),
    ],
)
def test_mask_leaves_the_first_letter_of_each_word(text, masked):
    assert mask(text) == masked


def test_pseudonym_holds_what_tells_people_apart():
    assert pseudonym("NAME_STUDENT", "5c1f09ab3e") == "[STUDENT_5c1f09ab3e]"
    assert pseudonym("EMAIL", 1) == "[EMAIL_1]"


def test_legacy_sha256_is_open_to_a_dictionary():
    hidden = legacy_sha256("Ana Lopez")
    assert len(hidden) == 64
    assert {legacy_sha256(f"{a} {b}"): a for a in ("Tom", "Ana") for b in ("Baker", "Lopez")}[hidden] == "Ana"


@pytest.mark.parametrize(
    ("before", "original", "expected"),
    [
        ("I study at ", "Ridgeview University", "the university"),
        ("I like my ", "Ridgeview University", "university"),
        ("at the ", "Ridgeview University", "university"),
        ("I like my ", "the University of Ridgeview", "the university"),
        ("It ends. ", "Ridgeview University", "The university"),
        ("", "Ridgeview University", "The university"),
        ("Other ", "x", "the university"),
        ("breathe ", "x", "the university"),
    ],
)
def test_generic_noun_fits_its_sentence(before, original, expected):
    assert generic("the university", before=before, original=original) == expected


@pytest.mark.parametrize(
    ("before", "original", "expected"),
    [
        ("at ", "Ridgeview High School", "the high school"),
        ("I like my ", "Ridgeview School District", "school district"),
        ("I like ", "my School District", "my school district"),
        ("at ", "Ridgeview", "the university"),
        ("at ", "Ridgeview's", "the university's"),
    ],
)
def test_generic_noun_says_what_the_original_said(before, original, expected):
    nouns = ["the university", "the school", "the high school", "the school district"]
    assert generic(nouns, before=before, original=original) == expected
