"""Surrogates for street addresses: other numbers, another street, another town; kinds of streets and the layout stay.

    1420 Oak Hill Road, Apt 7, Dayton, OH 45402  ->  2867 Cedar Vale Road, Apt 3, Brookhaven, VT 71930

Every word that is no kind of a street, no direction and no word of addresses is replaced, so nothing of the original is left.
"""

import random
import re

from .generate import Context
from .keys import pick
from .mentions import PARTICLES
from .style import like, norm, other_char
from .words import word_list, words

_COUNTRIES = {
    "usa": "USA",
    "u.s.a": "U.S.A",
    "us": "US",
    "uk": "UK",
    "canada": "Canada",
    "united": "United",
    "states": "States",
}
_TOKEN = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*|[\d]+(?:st|nd|rd|th)?\b|\d+|[\W_]+", re.IGNORECASE)


def surrogate_address(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same layout somewhere else.

    value (str): As it stands, also over several lines. context (Context): Chance. attempt (int): Another one for the same
        value.
    RETURNS (str | None): None if there is neither a letter nor a digit in it.
    """
    if not any(ch.isalnum() for ch in value):
        return None
    rng = context.chance.rng("STREET_ADDRESS", " ".join(norm(w) or w for w in value.casefold().split()), attempt=attempt)
    tokens = _TOKEN.findall(value)
    originals = {norm(t) for t in tokens}
    out, behind_comma, first_number = [], False, True
    for i, token in enumerate(tokens):
        if token[0].isdigit():
            out.append(_number(token, rng))
            first_number = False
        elif not token[0].isalpha():
            behind_comma = behind_comma or ("," in token or "\n" in token) and not first_number
            out.append(token)
        elif token.islower() and token in PARTICLES:
            out.append(token)
        elif len(token) <= 3 and _in_code(tokens, i):
            out.append("".join(other_char(ch, rng) for ch in token))
        elif token.lower() in words("address_words") and not _is_initial_state(token, tokens, i):
            out.append(token)
            behind_comma = behind_comma or len(token) > 2
        elif token in word_list("states"):
            out.append(pick(rng, [s for s in word_list("states") if s != token]))
        elif token.lower() in _COUNTRIES:
            out.append(token)
        else:
            names = word_list("town_names") if behind_comma else word_list("street_names")
            out.append(like(token, pick(rng, [n for n in names if norm(n) not in originals])))
    return "".join(out)


def _in_code(tokens: list[str], i: int) -> bool:
    """RETURNS (bool): Whether letters are part of a postal code or a house number: "WC1E", "17b"."""
    return any(0 <= j < len(tokens) and tokens[j][:1].isdigit() for j in (i - 1, i + 1))


def _is_initial_state(token: str, tokens: list[str], i: int) -> bool:
    """RETURNS (bool): Whether "CT" is Connecticut rather than a court: it follows a comma, and a postal code follows it."""
    after = next((t for t in tokens[i + 1 :] if t.strip()), "")
    before = "".join(tokens[:i]).rstrip()
    return token in word_list("states") and before.endswith(",") and after[:1].isdigit()


def _number(token: str, rng: random.Random) -> str:
    """RETURNS (str): Another number with as many digits; "42nd" becomes "57th"."""
    digits = re.match(r"\d+", token)
    assert digits is not None
    new = "".join(other_char(ch, rng, first=i == 0) for i, ch in enumerate(digits.group()))
    ending = token[digits.end() :]
    if ending.lower() in ("st", "nd", "rd", "th"):
        right = "th" if new[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(new[-1], "th")
        ending = right.upper() if ending.isupper() else right
    return new + ending
