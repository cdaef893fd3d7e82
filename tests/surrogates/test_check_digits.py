"""Numbers and addresses that nobody can own, and digits that tell nothing by elimination."""

import ipaddress
import re
from collections import Counter
from dataclasses import replace

import pytest

from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.numbers import (
    is_card,
    is_iban,
    surrogate_id_num,
    surrogate_machine,
    surrogate_phone,
)

from .conftest import CONTEXT, KEY

SEEDS = [replace(CONTEXT, chance=SurrogateKey(KEY, f"document:{n}")) for n in range(60)]


@pytest.mark.parametrize(
    "value",
    ["4539 1488 0343 6467", "ID: 4539-1488-0343-6467", "378282246310005", "4000000000000001"],
)
def test_no_card_passes_luhn(value):
    assert is_card("4539148803436467")
    for context in SEEDS:
        new = surrogate_id_num(value, context)
        assert not is_card(re.sub(r"\D", "", new)) and new != value
        assert re.sub(r"\d", "9", new) == re.sub(r"\d", "9", value)


@pytest.mark.parametrize("value", ["078-05-1120", "SSN 078-05-1120", "078051120", "533380006"])
def test_nine_digits_are_no_ssn(value):
    for context in SEEDS:
        digits = re.sub(r"\D", "", surrogate_id_num(value, context))
        assert digits[0] == "9" and 10 <= int(digits[3:5]) < 50


def test_iban_is_of_no_account():
    value = "GB82 WEST 1234 5698 7654 32"
    assert is_iban(value.replace(" ", "")) and not is_iban("GB83WEST12345698765432")
    for context in SEEDS:
        new = surrogate_id_num(value, context)
        assert new.startswith("GB00 ") and not is_iban(new.replace(" ", ""))
        assert len(new) == len(value) and new[5:] != value[5:]


@pytest.mark.parametrize(
    "value",
    ["84.12.9.201", "84.12.9.201:8080", "2a02:8109:9c40::17", "2a02:8109:1:2:3:4:5:6", "2A02::1"],
)
def test_ip_is_for_documentation(value):
    for context in SEEDS[:20]:
        new = surrogate_machine(value, context)
        address = ipaddress.ip_address(new.removesuffix(":8080"))
        kept = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
        nets = [ipaddress.ip_network(net) for net in kept]
        assert any(address in net for net in nets if net.version == address.version)
        assert value.endswith(":8080") == new.endswith(":8080")


@pytest.mark.parametrize("value", ["00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5e", "001a.2b3c.4d5e"])
def test_mac_is_locally_administered(value):
    for context in SEEDS[:20]:
        new = surrogate_machine(value, context)
        assert int(new[:2], 16) & 3 == 2
        assert re.sub(r"\w", "x", new) == re.sub(r"\w", "x", value)
        assert new.islower() == value.islower()
    assert surrogate_machine("here", CONTEXT) is None


@pytest.mark.parametrize(
    ("generator", "value", "first"),
    [
        (surrogate_id_num, "20477318", 0),
        (surrogate_id_num, "AB-20477x", 0),
        (surrogate_phone, "+91 98765 43210", 3),
    ],
)
def test_sixty_documents_tell_no_digit(generator, value, first):
    """Who sees one number's surrogates in sixty documents takes for each place what came least often."""
    new = [generator(value, context) for context in SEEDS]
    assert value not in new
    places = [i for i in range(first, len(value)) if value[i].isdecimal()]
    counts = [Counter(text[i] for text in new) for i in places]
    missing = sum(count[value[i]] == 0 for i, count in zip(places, counts, strict=True))
    least = [min("0123456789", key=lambda digit, c=count: c[digit]) for count in counts]
    guessed = sum(value[i] == digit for i, digit in zip(places, least, strict=True))
    # A place for the first digit has nine digits, others ten: one in ten is guessed by chance.
    assert missing == 0 and guessed <= len(places) // 3
