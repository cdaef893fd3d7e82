"""ID numbers: another letter for each letter, another digit for each digit, the rest kept (CRAPII, section 2.3.3).

AB-2047/x           ->  QK-5813/m
0-306-40615-2       ->  4-817-52906-9      check digits that were right are right again (ISBN, Luhn, mod 97, ...)
"""

import re

from .check_digits import other_iban, other_number, scheme_of
from .generate import Context, canonical
from .style import other_char

# What names the number is no part of it.
_LEAD = re.compile(
    r"^\s*(?:(?:student|matriculation|roll|reg(?:istration)?|id|no|nr|number|num|sid|ssn)\b[\s.:#-]*)+", re.IGNORECASE
)


def surrogate_id_num(value: str, context: Context, attempt: int = 0) -> str | None:
    """A number of the same shape, different at every place: no part of the original survives, but the country of an IBAN.

    value (str): As it stands, also "ID: ...". context (Context): Chance. attempt (int): Another one for the same value.
    RETURNS (str | None): None if there is no letter or digit in it.
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
        chars = iter(new)
        return value[:start] + "".join(next(chars) if ch.isalnum() else ch for ch in value[start:])
    out, first = [], True
    for ch in value[start:]:
        # One number of the stream for each letter or digit: "AB-12" and "AB12" get the same characters.
        out.append(other_char(ch, rng, first=first))
        first = False if ch.isalnum() else first
    return value[:start] + "".join(out)


def id_key(value: str) -> str:
    """RETURNS (str): What makes two ID numbers one: letters and digits, without the word before them."""
    lead = _LEAD.match(value)
    rest = value[lead.end() :] if lead else value
    return canonical(rest) or canonical(value)
