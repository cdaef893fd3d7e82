"""What stands in the place of personal information, other than a surrogate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pii_components.labels import LABELS
from pii_components.modes import generic, mask, pseudonym, redact, tag


@pytest.mark.parametrize("label", LABELS)
def test_tag_tells_the_label(label):
    assert tag(label) == f"[{label}]"
    assert redact(label) == "[REDACTED]"


@given(st.text())
def test_mask_keeps_length_and_white_space(text):
    masked = mask(text)
    assert len(masked) == len(text)
    assert all((new == old) if old.isspace() else new == "*" for old, new in zip(text, masked, strict=True))


def test_pseudonym_is_numbered():
    assert pseudonym("NAME_STUDENT", 2) == "[STUDENT_2]"
    assert pseudonym("EMAIL", 1) == "[EMAIL_1]"


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
