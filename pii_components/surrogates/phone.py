"""Surrogates for phone numbers: the same shape, other digits; numbers kept free for films where a country has them.

(312) 867-5309  ->  (646) 555-0143        555-0100 to 555-0199, North American Numbering Plan
+44 7911 123456 ->  +44 7700 900417       Ofcom's numbers for drama
98765 43210     ->  61248 07759
"""

import re
import unicodedata

from .generate import Context
from .keys import Source, pick
from .style import other_char, other_chars
from .words import word_list

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_WORD = re.compile(r"\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE)
_EXTENSION = re.compile(r"(?:ext\.?|extension|x)\s*\d+\s*$", re.IGNORECASE)
_GROUPS = re.compile(r"\(?\d{3}\)?[\s.\-‐‑–—/]*\d{3}[\s.\-‐‑–—]*\d{4}$|\d{3}[\s.\-‐‑–—]\d{4}$")
# Behind 555, in North America.
_LINES = tuple(f"01{n:02d}" for n in range(100))
# Country code -> (digits of the national number, what to begin with): numbers that regulators keep free.
_FREE = {"44": (10, "7700900"), "33": (9, "19900")}


def surrogate_phone(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape.

    value (str): As it stands. context (Context): Chance and settings. attempt (int): Another one for the same value.
    RETURNS (str | None): None if there is no digit, not even as a word.
    """
    rng = context.chance.rng("PHONE_NUM", phone_key(value), attempt=attempt)
    if not any(ch.isdecimal() for ch in value):
        if not _WORD.search(value):
            return None
        return _WORD.sub(lambda m: pick(rng, [w for w in _WORDS if w != m.group().lower()]), value)
    extension = _EXTENSION.search(value)
    main = value[: extension.start()] if extension else value
    digits = _digits(main)
    new = _new_digits(main, digits, context, rng)
    if new == digits:
        new = _others(digits, rng)
    out, i = [], 0
    for ch in main:
        if ch.isdecimal():
            out.append(new[i] if ch.isascii() else chr(ord(ch) - unicodedata.decimal(ch) + int(new[i])))
            i += 1
        else:
            out.append(ch)
    rest = value[len(main) :]
    return "".join(out) + "".join([other_char(ch, rng) if ch.isdecimal() else ch for ch in rest])


def _new_digits(main: str, digits: str, context: Context, rng: Source) -> str:
    country, national = _split(main, digits, context.locale)
    if country == "1" and len(national) in (7, 10):
        area = pick(rng, [a for a in word_list("area_codes") if a != national[:3]]) if len(national) == 10 else ""
        if context.reserved:
            free = _LINES if national[-4:] not in _LINES else tuple(line for line in _LINES if line != national[-4:])
            line = pick(rng, free)
            return digits[: len(digits) - len(national)] + area + "555" + line
        office = _others(national[-7:-4], rng)
        return digits[: len(digits) - len(national)] + area + office.replace("1", "7", 1) + _others(national[-4:], rng)
    if context.reserved and country in _FREE and len(national) == _FREE[country][0]:
        start = _FREE[country][1]
        return digits[: len(digits) - len(national)] + start + _others(national[len(start) :], rng)
    kept = len(digits) - len(national)
    # A leading zero dials within a country; the country's own code says no more than the language of the text.
    if national.startswith("0") and len(national) > 4:
        kept += 1
    return digits[:kept] + _others(digits[kept:], rng)


def _split(main: str, digits: str, locale: str) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): Country code ("" if unknown) and national digits."""
    if main.strip().startswith(("+", "＋")) or digits.startswith("00"):
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

        rest = digits[2:] if digits.startswith("00") else digits
        for length in (1, 2, 3):
            if rest[:length].isdigit() and int(rest[:length]) in COUNTRY_CODE_TO_REGION_CODE:
                return rest[:length], rest[length:].removeprefix("0") if rest[length : length + 1] == "0" else rest[length:]
        return "", rest
    american = locale.endswith(("US", "CA"))
    if american and len(digits) == 11 and digits[0] == "1" and digits[1] in "23456789":
        return "1", digits[1:]
    grouped = _GROUPS.search(unicodedata.normalize("NFKC", main).strip())
    if american and grouped and len(digits) in (7, 10) and (len(digits) == 7 or digits[0] in "23456789"):
        return "1", digits
    return "", digits


def _digits(text: str) -> str:
    """RETURNS (str): The digits of a text, in ASCII."""
    if text.isascii():
        return "".join(filter(str.isdigit, text))
    return "".join([str(unicodedata.decimal(ch)) for ch in text if ch.isdecimal()])


def _others(digits: str, rng: Source) -> str:
    return other_chars(digits, rng, first=True)


def phone_key(value: str) -> str:
    """RETURNS (str): What makes two phone numbers one: the last ten digits, or the words."""
    digits = _digits(value)
    return digits[-10:] if digits else " ".join(_WORD.findall(value.lower()))
