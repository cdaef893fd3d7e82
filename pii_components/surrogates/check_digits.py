"""Check digits: found in an ID number, and made anew, so that a surrogate is as valid as its original.

    >>> from pii_components.surrogates.check_digits import check, scheme_of
    >>> scheme_of("0306406152"), check("mod11", "030640615"), scheme_of("12345")
    ('mod11', '2', '')

A number that fits a scheme by chance (one in ten does) gets a surrogate that fits it too; nobody is the worse for it.
"""

from collections.abc import Callable

from .keys import Source
from .style import other_chars

_D = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_P = ("0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258")
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
    """RETURNS (str): The check characters of a number. scheme (str): A name. body (str): Its other digits."""
    return _SCHEMES[scheme][2](body)


def scheme_of(code: str) -> str:
    """RETURNS (str): The scheme that a number fits; empty if none. code (str): ASCII digits, the last one may be X."""
    for name, (lengths, size, make) in _SCHEMES.items():
        body = code[:-size]
        if len(code) in lengths and body.isascii() and body.isdecimal() and make(body) == code[-size:].upper():
            return name
    return ""


def other_number(code: str, rng: Source, scheme: str) -> str | None:
    """Another number with a right check.

    code (str): As for `scheme_of`. rng (Source): Chance. scheme (str): From `scheme_of`.
    RETURNS (str | None): Different at every place; None if chance finds none.
    """
    size = _SCHEMES[scheme][1]
    for _ in range(80):
        body = other_chars(code[:-size], rng, first=True)
        end = check(scheme, body)
        if end.isdecimal() and all(a != b for a, b in zip(end, code[-size:], strict=True)):
            return body + end
    return None


def other_iban(code: str, rng: Source) -> str | None:
    """RETURNS (str | None): Another account number of the same country with right check digits; None if it is none.

    code (str): Letters and digits, without spaces.
    """
    upper = code.upper()
    if not (15 <= len(code) <= 34 and upper.isascii() and upper.isalnum() and upper[:2].isalpha() and upper[2:4].isdecimal()):
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
