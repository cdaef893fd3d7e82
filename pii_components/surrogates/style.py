"""Other characters of the same class: surrogates are written the way their originals were."""

import string
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from ..names.table import Source
from .keys import pick

# ASCII letter or digit -> those of its class that may stand in its place; leading a number, no zero.
_OTHERS = {
    ch: kind.replace(ch, "")
    for kind in (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    for ch in kind
}
_OTHERS_FIRST = _OTHERS | {ch: _OTHERS[ch].lstrip("0") for ch in string.digits}


def other_char(ch: str, rng: Source, *, first: bool = False) -> str:
    """Another character of the same class, never the original: a digit of the same script, a letter in its case; others stay.

    rng: One number is drawn for each letter or digit. first: Whether it leads a number: no zero then, unless the original is
    one.
    """
    others = (_OTHERS_FIRST if first else _OTHERS).get(ch)
    if others is not None:
        return others[int(rng.random() * len(others))]
    if ch.isdecimal():
        value = unicodedata.decimal(ch)
        digits = [d for d in range(1 if first and value else 0, 10) if d != value]
        return chr(ord(ch) - value + pick(rng, digits))
    if ch.isalpha():
        letters = string.ascii_uppercase if ch.isupper() else string.ascii_lowercase
        return pick(rng, [c for c in letters if c != ch])
    if unicodedata.category(ch) in ("No", "Nl"):
        return pick(rng, string.digits)
    return ch


def other_chars(value: str, rng: Source, *, first: bool = False) -> str:
    """`other_char` of each; first (bool): the first one of them leads a number."""
    out, draw, table = [], rng.random, _OTHERS
    for i, ch in enumerate(value):
        others = (_OTHERS_FIRST if first and not i else table).get(ch)
        out.append(
            others[int(draw() * len(others))]
            if others is not None
            else other_char(ch, rng, first=first and not i)
        )
    return "".join(out)


def other_shape(value: str, rng: Source) -> str:
    """The value with every letter and digit changed to another of its class, everything else kept."""
    out, inside, draw = [], False, rng.random
    for ch in value:
        others = (_OTHERS if inside else _OTHERS_FIRST).get(ch)
        out.append(
            others[int(draw() * len(others))]
            if others is not None
            else other_char(ch, rng, first=not inside)
        )
        inside = ch.isalnum()
    return "".join(out)


def fill(shape: str, chars: Iterable[str]) -> str:
    """Characters in the places of the letters and digits of a text."""
    made = iter(chars)
    return "".join([next(made) if ch.isalnum() else ch for ch in shape])


def ordinal(ending: str, number: int) -> str:
    """ "st", "nd", "rd", "th" for a number, as the old ending is written; other endings as they were."""
    if ending.lower() not in ("st", "nd", "rd", "th"):
        return ending
    right = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return right.upper() if ending.isupper() else right


def in_case(old: str, new: str) -> str:
    """A word in capitals or with one at the front, as the old one is."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def rewrite(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """A text with stretches replaced. edits: Start, end (characters, exclusive) and what comes there; sorted."""
    out, last = "", 0
    for start, end, new in edits:
        out += text[last:start] + new
        last = end
    return out + text[last:]


@cache
def resource(name: str) -> dict[str, Any]:
    """What resources/surrogates/NAME.toml holds."""
    return tomllib.loads(
        (resources.files("pii_components") / f"resources/surrogates/{name}.toml").read_text(
            encoding="utf8"
        )
    )


@cache
def word_list(name: str) -> tuple[str, ...]:
    """A list of words.toml in its own order, to draw from."""
    return tuple(resource("words")[name].split())


@cache
def words(name: str) -> frozenset[str]:
    """A list of words.toml to look things up in."""
    return frozenset(word_list(name))
