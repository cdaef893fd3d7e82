"""Surrogates for street addresses: other numbers, another street, another town; kinds of streets and the layout stay.

    1420 Oak Hill Road, Apt 7, Dayton, OH 45402  ->  2867 Cedar Vale Road, Apt 3, Brookhaven, VT 71930

Every word that is no kind of a street, no direction and no word of addresses is replaced, so nothing of the original is left but
the country at its end. Streets stay in their language, states and provinces in their country.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache

from .generate import Context
from .keys import Source, pick
from .mentions import PARTICLES
from .places import codes_beside, invented, is_country
from .style import has_sign, like, norm, other_chars
from .words import word_list, words

MAX_DRAWS = 12
_COUNTRIES = words("country_words")
_DIGITS = re.compile(r"\d+")
# The country that an address ends with.
_LAST = re.compile(r"[,\n]\s*(?P<last>[^,\n]+?)[\s.]*$")
_COMPOUND = re.compile(r"(?P<stem>[^\W\d_]{3,})(?P<kind>stra(?:ß|ss)e|str\.?|weg|platz|allee|gasse|straat|laan)", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z](?:\.[A-Z])+|[A-Z]{2,4}")
_POSTAL_CODE = re.compile(r"[\s,]*[A-Z]?\d")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]+)*|[\d]+(?:st|nd|rd|th)?\b|\d+|[\W_]+", re.IGNORECASE)


def surrogate_address(value: str, context: Context, attempt: int = 0) -> str | None:
    """An address of the same layout somewhere else.

    value (str): As it stands, also over several lines. context (Context): Chance. attempt (int): Another one for the same
        value.
    RETURNS (str | None): None if there is neither a letter nor a digit in it.
    """
    if not has_sign(value):
        return None
    rng = context.chance.rng("STREET_ADDRESS", " ".join(norm(w) or w for w in value.casefold().split()), attempt=attempt)
    last = _LAST.search(value)
    end = last.start("last") if last and (is_country(last["last"]) or last["last"].lower() in _COUNTRIES) else len(value)
    tokens = _TOKEN.findall(value[:end])
    streets = _street_names(tokens)
    originals = {norm(t) for t in tokens}
    numbers = {digits for t in tokens if t[0].isdigit() for digits in _DIGITS.findall(t)}
    out, behind_comma, first_number = [], False, True
    for i, token in enumerate(tokens):
        if token[0].isdigit():
            out.append(_number(token, rng, numbers))
            first_number = False
        elif not token[0].isalpha():
            behind_comma = behind_comma or ("," in token or "\n" in token) and not first_number
            out.append(token)
        elif token.islower() and token in PARTICLES:
            out.append(token)
        elif len(token) <= 3 and _in_code(tokens, i):
            out.append(other_chars(token, rng))
        elif token.lower().replace(".", "") in words("address_words") and not _is_initial_state(token, tokens, i):
            out.append(token)
            # "Elm Street Dayton", but "rue Lepic": there the street's name follows.
            behind_comma = behind_comma or (len(token) > 2 and streets is word_list("street_names"))
        elif group := codes_beside(token):
            out.append(pick(rng, [code for code in group if code != token]))
        elif token.lower() in _COUNTRIES:
            out.append(token)
        elif _LETTERS.fullmatch(token) and not value.isupper():
            # "C.D.M.X", "KCMO": letters that stand for a place; which one, we do not know.
            out.append(other_chars(token, rng))
        elif compound := _COMPOUND.fullmatch(token):
            fit = [n for n in word_list("street_names_de") if norm(n) not in norm(token)]
            out.append(like(compound["stem"], pick(rng, fit)) + compound["kind"])
        elif behind_comma and not context.locale.startswith("en"):
            out.append(like(token, invented("town", token, context, attempt)))
        else:
            names = word_list("town_names") if behind_comma else streets
            out.append(like(token, pick(rng, _other_names(names, originals))))
    return "".join(out) + value[end:]


def _street_names(tokens: list[str]) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Names of streets in the language of the word for "street"."""
    kinds = [token.lower() for token in tokens]
    for names, of_language in _languages():
        if not of_language.isdisjoint(kinds):
            return names
    return word_list("street_names")


@cache
def _languages() -> list[tuple[tuple[str, ...], frozenset[str]]]:
    return [(word_list(f"street_names_{name}"), words(f"street_kinds_{name}")) for name in ("es", "pt", "fr", "it")]


@cache
def _folded(names: tuple[str, ...]) -> dict[str, str]:
    return {name: norm(name) for name in names}


def _other_names(names: tuple[str, ...], originals: Collection[str]) -> Sequence[str]:
    """RETURNS (Sequence[str]): Those that are not in an address. originals (Collection[str]): Its folded words."""
    return [name for name, word in _folded(names).items() if word not in originals]


def _in_code(tokens: list[str], i: int) -> bool:
    """RETURNS (bool): Whether letters are part of a postal code or a house number: "WC1E", "17b"."""
    return (i > 0 and tokens[i - 1][:1].isdigit()) or (i + 1 < len(tokens) and tokens[i + 1][:1].isdigit())


def _is_initial_state(token: str, tokens: list[str], i: int) -> bool:
    """RETURNS (bool): Whether "CT" is Connecticut rather than a court: it follows a comma, and a postal code follows it."""
    if codes_beside(token) is None:
        return False
    before, after = "".join(tokens[:i]).rstrip(), "".join(tokens[i + 1 :])
    return before.endswith(",") and _POSTAL_CODE.match(after) is not None


def _number(token: str, rng: Source, numbers: Collection[str]) -> str:
    """RETURNS (str): Another number with as many digits; "42nd" becomes "57th". numbers (Collection[str]): Those of the address."""
    digits = _DIGITS.match(token)
    assert digits is not None
    new = ""
    for _ in range(MAX_DRAWS):
        new = other_chars(digits.group(), rng, first=True)
        if new not in numbers:
            break
    ending = token[digits.end() :]
    if ending.lower() in ("st", "nd", "rd", "th"):
        right = "th" if new[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(new[-1], "th")
        ending = right.upper() if ending.isupper() else right
    return new + ending
