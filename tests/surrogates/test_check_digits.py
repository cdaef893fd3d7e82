"""Check digits: what was right is right again, and nothing of the number is left."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.surrogates.numbers import (
    check,
    other_iban,
    other_number,
    scheme_of,
    surrogate_id_num,
)

from .conftest import CONTEXT


@pytest.mark.parametrize(
    ("code", "scheme"),
    [
        ("4539148803436467", "luhn"),
        ("0306406152", "mod11"),
        ("080442957X", "mod11"),
        ("03785955", "mod11"),
        ("9780306406157", "ean"),
        ("0000000218250097", "mod11_2"),
        ("4539148803436468", ""),
        ("12345", ""),
        ("AB2047", ""),
        ("", ""),
    ],
)
def test_schemes(code, scheme):
    assert scheme_of(code) == scheme


def test_published_examples():
    assert check("verhoeff", "236") == "3"
    assert check("luhn", "7992739871") == "3"
    assert check("mod97", "794") == "44"
    assert check("mod11_2", "000000021825009") == "7"


@pytest.mark.parametrize("scheme", ["luhn", "mod11", "ean", "verhoeff", "mod97"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_right_numbers_stay_right(scheme, data):
    length = {"ean": 12, "verhoeff": 11, "mod11": 9}.get(scheme, 10)
    body = data.draw(st.from_regex(rf"[1-9][0-9]{{{length - 1}}}", fullmatch=True))
    code = body + check(scheme, body)
    found = scheme_of(code)
    assert found
    new = other_number(code, random.Random(1), found)
    assert new is not None
    assert scheme_of(new)
    assert len(new) == len(code)
    assert all(a != b for a, b in zip(code, new, strict=True))


@pytest.mark.parametrize(
    "value", ["4539 1488 0343 6467", "ISBN 0-306-40615-2", "ID: 4539-1488-0343-6467"]
)
def test_id_keeps_check_and_form(value):
    new = surrogate_id_num(value, CONTEXT)
    old_digits, digits = ("".join(ch for ch in v if ch.isdecimal()) for v in (value, new))
    if not value.startswith("ISBN"):
        assert scheme_of(digits) == scheme_of(old_digits) != ""
    assert all(a != b for a, b in zip(old_digits, digits, strict=True))
    assert [ch for ch in value if not ch.isalnum()] == [ch for ch in new if not ch.isalnum()]


def test_iban_stays_in_its_country():
    old = "GB82WEST12345698765432"
    new = other_iban(old, random.Random(1))
    assert new is not None
    assert new.startswith("GB")
    assert other_iban(new, random.Random(2)) is not None
    assert all(a != b for a, b in zip(old[2:], new[2:], strict=True))
    assert other_iban("GB83WEST12345698765432", random.Random(1)) is None
    assert other_iban("AB2047", random.Random(1)) is None
