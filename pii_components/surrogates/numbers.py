"""ID numbers: a letter for each letter, a digit for each digit, the rest kept (CRAPII, section 2.3.3); phones and machines' addresses.

AB-2047/x            ->  QK-5813/m
078-05-1120          ->  931-27-5586      nobody can own it
4539 1488 0343 6467  ->  9840 7131 3815 7718      a card that fails Luhn's check
"""

import re
import unicodedata
from functools import partial

from ..names.letters import has_sign
from ..names.table import Source
from ..ruler.validators import is_card, is_iban
from .dates import is_date, surrogate_date
from .keys import pick
from .style import fill, other_chars, word_list
from .values import Context, canonical


# What nobody can own: area numbers from 900 on were never social security numbers, and groups below 50 are no taxpayer's (ITIN);
# no IBAN has the check digits 00 (ISO 7064 gives 02 to 98). A passport's number may have as many digits as a social security number.
def _nobodys(code: str, rng: Source) -> str:
    """Another code of letters and digits that is no card's, no account's and no person's."""
    is_account, new = is_iban(code), code
    while new == code or is_card(new) or is_iban(new):
        new = other_chars(code, rng, first=True)
        if is_account:
            new = code[:2] + "00" + new[4:]
        elif len(code) == 9 and code.isdecimal():
            new = "9" + new[1:3] + pick(rng, "1234") + new[4:]
    return new


# What names the number is no part of it.
_LEAD = re.compile(
    r"^\s*(?:(?:student|matriculation|roll|reg(?:istration)?|id|no|nr|number|num|sid|ssn)\b[\s.:#-]*)+",
    re.IGNORECASE,
)


def surrogate_id_num(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape, drawn anew at every place but for the country of an IBAN and a word like "ID:" before it.
    RETURNS (str | None): None if there is no letter or digit in it.
    """
    if not attempt and is_date(value):
        # A date that is labelled as a number moves as a date.
        return surrogate_date(value, context)
    lead = _LEAD.match(value)
    start = lead.end() if lead and has_sign(value[lead.end() :]) else 0
    code = "".join(filter(str.isalnum, value[start:]))
    if not code:
        return None
    rng = context.chance.rng("ID_NUM", id_key(value), attempt=attempt)
    new = _nobodys(code, rng) if context.reserved else other_chars(code, rng, first=True)
    return value[:start] + fill(value[start:], new)


def id_key(value: str) -> str:
    """What makes two ID numbers one: letters and digits, without the word before them."""
    return canonical(_LEAD.sub("", value)) or canonical(value)


# Phone numbers: the same shape, other digits; numbers kept free for films where a country has them.
_EXTENSION = re.compile(r"(?:ext\.?|extension|x)\s*\d+\s*$", re.IGNORECASE)
# Digits of an extension, and letters that are dialled: "1-800-FLOWERS".
_DIGITS, _VANITY = re.compile(r"\d+"), re.compile(r"(?<=\d[-. ])[A-Z]{3,}\b")
_GROUPS = re.compile(r"\(?\d{3}\)?[\s.\-‐‑–—/]*\d{3}[\s.\-‐‑–—]*\d{4}$|\d{3}[\s.\-‐‑–—]\d{4}$")
# Behind 555, in North America.
_LINES = tuple(f"01{n:02d}" for n in range(100))
# Country code -> (digits of the national number, what to begin with): numbers that regulators keep free.
_FREE = {"44": (10, "7700900"), "33": (9, "19900")}


_others = partial(other_chars, first=True)


def surrogate_phone(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape; `context.reserved` asks for one that is kept free, where a country has such. RETURNS (str |
    None): None if there is no digit.
    """
    if not attempt and is_date(value):
        return surrogate_date(value, context)
    rng = context.chance.rng("PHONE_NUM", phone_key(value), attempt=attempt)
    extension = _EXTENSION.search(value)
    end = extension.start() if extension else len(value)
    digits = _digits(value[:end])
    if not digits:
        return None
    new = _new_digits(value[:end], digits, context, rng)
    made = iter(_others(digits, rng) if new == digits else new)
    main = "".join([next(made) if ch.isdecimal() else ch for ch in value[:end]])
    main = _VANITY.sub(lambda part: other_chars(part.group(), rng), main)
    return main + _DIGITS.sub(lambda part: other_chars(part.group(), rng), value[end:])


def _new_digits(main: str, digits: str, context: Context, rng: Source) -> str:
    country, national = _split(main, digits, context.locale)
    kept = len(digits) - len(national)
    length, start = _FREE.get(country, (0, ""))
    if country == "1" and len(national) in (7, 10):
        areas = [area for area in word_list("area_codes") if area != national[:3]]
        area = pick(rng, areas) if len(national) == 10 else ""
        if context.reserved:
            line = pick(rng, [line for line in _LINES if line != national[-4:]])
            return digits[:kept] + area + "555" + line
        office = _others(national[-7:-4], rng).replace("1", "7", 1)
        return digits[:kept] + area + office + _others(national[-4:], rng)
    if context.reserved and len(national) == length:
        return digits[:kept] + start + _others(national[len(start) :], rng)
    # A leading zero dials within a country; the country's own code says no more than the language of the text.
    kept += national.startswith("0") and len(national) > 4
    return digits[:kept] + _others(digits[kept:], rng)


def _split(main: str, digits: str, locale: str) -> tuple[str, str]:
    """Country code ("" if unknown) and national digits."""
    if main.strip().startswith(("+", "＋")) or digits.startswith("00"):
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

        rest = digits.removeprefix("00")
        for length in (1, 2, 3):
            if int(rest[:length] or 0) in COUNTRY_CODE_TO_REGION_CODE:
                return rest[:length], rest[length:].removeprefix("0")
        return "", rest
    if not locale.endswith(("US", "CA")):
        return "", digits
    is_grouped = _GROUPS.search(unicodedata.normalize("NFKC", main).strip()) is not None
    if len(digits) == 11 and digits[0] == "1" and digits[1] > "1":
        return "1", digits[1:]
    has_area = len(digits) == 10 and digits[0] > "1"
    return "1" if is_grouped and (has_area or len(digits) == 7) else "", digits


def _digits(text: str) -> str:
    return "".join([str(unicodedata.decimal(ch)) for ch in text if ch.isdecimal()])


def phone_key(value: str) -> str:
    """What makes two phone numbers one: the last ten digits."""
    return _digits(value)[-10:]


# Addresses of machines: from ranges that are kept for documentation (RFC 5737, RFC 3849), or given by no maker (bit 1 of the
# first octet of a MAC address: locally administered).
_MAC = re.compile(
    r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE
)
_IPV4, _IPV6 = (
    re.compile(r"\d{1,3}(?:\.\d{1,3}){3}"),
    re.compile(r"[0-9a-f]*:[0-9a-f:]+", re.IGNORECASE),
)
_NETS = ("192.0.2", "198.51.100", "203.0.113")
_HEX = "0123456789abcdef"


def ipv4(rng: Source) -> str:
    """An address that no machine has."""
    return f"{pick(rng, _NETS)}.{1 + int(rng.random() * 254)}"


def surrogate_machine(value: str, context: Context, attempt: int = 0) -> str | None:
    """An IP or MAC address in the same form that no machine has; port, zone and length of the prefix stay. RETURNS (str | None):
    None if it is neither.
    """
    rng = context.chance.rng("IP_ADDRESS", value.casefold(), attempt=attempt)
    if found := _MAC.search(value):
        digits = [pick(rng, _HEX) for _ in range(12)]
        digits[1] = pick(rng, "26ae")
        new = fill(found.group(), digits)
    elif found := _IPV4.search(value):
        new = ipv4(rng)
    elif found := _IPV6.search(value):
        new = "2001:db8::" + "".join([pick(rng, _HEX[1:]) for _ in range(4)])
    else:
        return None
    new = new.upper() if value.isupper() else new
    return value[: found.start()] + new + value[found.end() :]
