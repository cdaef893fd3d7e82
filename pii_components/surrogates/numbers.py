"""ID numbers: another letter for each letter, another digit for each digit, the rest kept (CRAPII, section 2.3.3).

AB-2047/x           ->  QK-5813/m
0-306-40615-2       ->  4-817-52906-9      check digits that were right are right again (ISBN, Luhn, mod 97, ...)
"""

import re
import unicodedata
from collections.abc import Callable

from ..names.table import Source
from .keys import pick
from .style import fill, other_char, other_chars, word_list
from .values import Context, canonical

# Check digits: found in an ID number, and made anew, so that a surrogate is as valid as its original.
_D = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_P = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)
_INVERSE = "0432156789"


def _luhn(body: str) -> str:
    doubled = (int(ch) * (2 - i % 2) for i, ch in enumerate(reversed(body)))
    return str(-sum(n - 9 if n > 9 else n for n in doubled) % 10)


def _ean(body: str) -> str:
    return str(-sum(int(ch) * (3 - 2 * (i % 2)) for i, ch in enumerate(reversed(body))) % 10)


def _mod11(body: str) -> str:
    rest = -sum(int(ch) * (i + 2) for i, ch in enumerate(reversed(body))) % 11
    return "X" if rest == 10 else str(rest)


def _mod11_2(body: str) -> str:
    total = 0
    for ch in body:
        total = (total + int(ch)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def _verhoeff(body: str) -> str:
    state = 0
    for i, ch in enumerate(reversed(body)):
        state = int(_D[state][int(_P[(i + 1) % 8][int(ch)])])
    return _INVERSE[state]


def _mod97(body: str) -> str:
    return f"{98 - int(body + '00') % 97:02d}"


# Name -> lengths of the whole number, characters of the check, how it is made (ISO 7812, GS1, ISBN-10 and ISSN and NHS, Aadhaar,
# ISO 7064 MOD 97-10 and MOD 11-2). The first one that fits counts.
_SCHEMES: dict[str, tuple[range | tuple[int, ...], int, Callable[[str], str]]] = {
    "ean": ((13,), 1, _ean),
    "verhoeff": ((12,), 1, _verhoeff),
    "mod11": ((8, 10), 1, _mod11),
    "luhn": (range(8, 20), 1, _luhn),
    "mod11_2": ((16,), 1, _mod11_2),
    "mod97": (range(8, 31), 2, _mod97),
}


def check(scheme: str, body: str) -> str:
    """The check characters of a number without them. scheme: A key of `_SCHEMES`."""
    return _SCHEMES[scheme][2](body)


def scheme_of(code: str) -> str:
    """The scheme that a number of ASCII digits fits, the last of which may be X; empty if none."""
    for name, (lengths, size, make) in _SCHEMES.items():
        body = code[:-size]
        if (
            len(code) in lengths
            and body.isascii()
            and body.isdecimal()
            and make(body) == code[-size:].upper()
        ):
            return name
    return ""


def other_number(code: str, rng: Source, scheme: str) -> str | None:
    """Another number with a right check, different at every place; None if chance finds none. code, scheme: See `scheme_of`."""
    size = _SCHEMES[scheme][1]
    for _ in range(80):
        body = other_chars(code[:-size], rng, first=True)
        end = check(scheme, body)
        if end.isdecimal() and all(a != b for a, b in zip(end, code[-size:], strict=True)):
            return body + end
    return None


def other_iban(code: str, rng: Source) -> str | None:
    """Another account number (letters and digits, no spaces) of the same country with right check digits; None if it is none."""
    upper = code.upper()
    if not (
        15 <= len(code) <= 34
        and upper.isascii()
        and upper.isalnum()
        and upper[:2].isalpha()
        and upper[2:4].isdecimal()
    ):
        return None
    if _as_number(upper[4:] + upper[:4]) % 97 != 1:
        return None
    for _ in range(80):
        rest = other_chars(code[4:], rng)
        digits = f"{98 - _as_number(rest.upper() + upper[:2] + '00') % 97:02d}"
        if digits[0] != code[2] and digits[1] != code[3]:
            return code[:2] + digits + rest
    return None


def _as_number(code: str) -> int:
    return int("".join(str(int(ch, 36)) for ch in code))


# What names the number is no part of it.
_LEAD = re.compile(
    r"^\s*(?:(?:student|matriculation|roll|reg(?:istration)?|id|no|nr|number|num|sid|ssn)\b[\s.:#-]*)+",
    re.IGNORECASE,
)


def surrogate_id_num(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape, different at every place: no part of the original survives, but the country of an IBAN and a
    word like "ID:" before it. RETURNS (str | None): None if there is no letter or digit in it.
    """
    lead = _LEAD.match(value)
    start = lead.end() if lead and any(ch.isalnum() for ch in value[lead.end() :]) else 0
    if not any(ch.isalnum() for ch in value[start:]):
        return None
    rng = context.chance.rng("ID_NUM", id_key(value), attempt=attempt)
    code = "".join(ch for ch in value[start:] if ch.isalnum())
    scheme = scheme_of(code)
    new = other_number(code, rng, scheme) if scheme else other_iban(code, rng)
    if new is not None:
        return value[:start] + fill(value[start:], new)
    out, first = [], True
    for ch in value[start:]:
        # One number of the stream for each letter or digit: "AB-12" and "AB12" get the same characters.
        out.append(other_char(ch, rng, first=first))
        first = False if ch.isalnum() else first
    return value[:start] + "".join(out)


def id_key(value: str) -> str:
    """What makes two ID numbers one: letters and digits, without the word before them."""
    lead = _LEAD.match(value)
    rest = value[lead.end() :] if lead else value
    return canonical(rest) or canonical(value)


# Phone numbers: the same shape, other digits; numbers kept free for films where a country has them.
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_WORD = re.compile(r"\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE)
_EXTENSION = re.compile(r"(?:ext\.?|extension|x)\s*\d+\s*$", re.IGNORECASE)
_GROUPS = re.compile(r"\(?\d{3}\)?[\s.\-‐‑–—/]*\d{3}[\s.\-‐‑–—]*\d{4}$|\d{3}[\s.\-‐‑–—]\d{4}$")
# Behind 555, in North America.
_LINES = tuple(f"01{n:02d}" for n in range(100))
# Country code -> (digits of the national number, what to begin with): numbers that regulators keep free.
_FREE = {"44": (10, "7700900"), "33": (9, "19900")}


def surrogate_phone(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape; `context.reserved` asks for one that is kept free, where a country has such. RETURNS (str |
    None): None if there is no digit, not even as a word.
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
    made = iter(new)
    out = [_in_script(ch, next(made)) if ch.isdecimal() else ch for ch in main]
    return "".join(
        out + [other_char(ch, rng) if ch.isdecimal() else ch for ch in value[len(main) :]]
    )


def _in_script(old: str, digit: str) -> str:
    return digit if old.isascii() else chr(ord(old) - unicodedata.decimal(old) + int(digit))


def _new_digits(main: str, digits: str, context: Context, rng: Source) -> str:
    country, national = _split(main, digits, context.locale)
    lead = digits[: len(digits) - len(national)]
    if country == "1" and len(national) in (7, 10):
        area = (
            pick(rng, [a for a in word_list("area_codes") if a != national[:3]])
            if len(national) == 10
            else ""
        )
        if context.reserved:
            free = (
                _LINES
                if national[-4:] not in _LINES
                else tuple(line for line in _LINES if line != national[-4:])
            )
            line = pick(rng, free)
            return lead + area + "555" + line
        office = _others(national[-7:-4], rng)
        return lead + area + office.replace("1", "7", 1) + _others(national[-4:], rng)
    if context.reserved and country in _FREE and len(national) == _FREE[country][0]:
        start = _FREE[country][1]
        return lead + start + _others(national[len(start) :], rng)
    kept = len(digits) - len(national)
    # A leading zero dials within a country; the country's own code says no more than the language of the text.
    if national.startswith("0") and len(national) > 4:
        kept += 1
    return digits[:kept] + _others(digits[kept:], rng)


def _split(main: str, digits: str, locale: str) -> tuple[str, str]:
    """Country code ("" if unknown) and national digits."""
    if main.strip().startswith(("+", "＋")) or digits.startswith("00"):
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

        rest = digits[2:] if digits.startswith("00") else digits
        for length in (1, 2, 3):
            if rest[:length].isdigit() and int(rest[:length]) in COUNTRY_CODE_TO_REGION_CODE:
                return rest[:length], rest[length:].removeprefix("0") if rest[
                    length : length + 1
                ] == "0" else rest[length:]
        return "", rest
    american = locale.endswith(("US", "CA"))
    if american and len(digits) == 11 and digits[0] == "1" and digits[1] in "23456789":
        return "1", digits[1:]
    grouped = _GROUPS.search(unicodedata.normalize("NFKC", main).strip())
    if (
        american
        and grouped
        and len(digits) in (7, 10)
        and (len(digits) == 7 or digits[0] in "23456789")
    ):
        return "1", digits
    return "", digits


def _digits(text: str) -> str:
    if text.isascii():
        return "".join(filter(str.isdigit, text))
    return "".join([str(unicodedata.decimal(ch)) for ch in text if ch.isdecimal()])


def _others(digits: str, rng: Source) -> str:
    return other_chars(digits, rng, first=True)


def phone_key(value: str) -> str:
    """What makes two phone numbers one: the last ten digits, or the words."""
    digits = _digits(value)
    return digits[-10:] if digits else " ".join(_WORD.findall(value.lower()))
