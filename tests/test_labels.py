"""Labels: ours, those of a user's own, and slips of the pen."""

import pytest

from pii_components.errors import PiiError
from pii_components.labels import LABELS, check_label


@pytest.mark.parametrize("label", [*LABELS, "COURSE", "STUDENT_ID", "GRADE_2", "HOME_ADDRESS"])
def test_our_labels_and_own_ones_are_accepted(label):
    assert check_label(label) == label


@pytest.mark.parametrize(
    ("label", "near"),
    [
        ("EMIAL", "EMAIL"),
        ("USER_NAME", "USERNAME"),
        ("PHONE_NUMBER", "PHONE_NUM"),
        ("PHONE", "PHONE_NUM"),  # a part of ours
        ("NAMES", "NAME"),
        ("PERSON", "NAME_STUDENT"),  # as Presidio calls it
        ("ORGANISATION", "EMPLOYER"),
        ("NAME_KING", ""),  # no role
        ("Course", ""),
        ("X", ""),
        ("COURSE CODE", ""),
        ("A" * 41, ""),
        ("HEADER", ""),
        ("AGREEMENT", ""),
    ],
)
def test_slips_and_other_names_are_refused(label, near):
    with pytest.raises(PiiError, match="E002") as err:
        check_label(label, what="a.toml")
    assert f"'{label} of a.toml'" in str(err.value)
    assert f"use one of {near or LABELS[0]}{' (the nearest)' if near else ','}" in str(err.value)
