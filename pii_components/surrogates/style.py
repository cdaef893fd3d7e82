"""Other characters of the same class: surrogates are written the way their originals were."""

import string
import tomllib
import unicodedata
from functools import cache
from importlib import resources

from ..names.table import Source
from .keys import pick

# ASCII letter or digit -> those of its class that may stand in its place; leading a number, no zero.
_OTHERS = {ch: kind.replace(ch, "") for kind in (string.digits, string.ascii_lowercase, string.ascii_uppercase) for ch in kind}
_OTHERS_FIRST = _OTHERS | {ch: _OTHERS[ch].lstrip("0") for ch in string.digits}


def other_char(ch: str, rng: Source, *, first: bool = False) -> str:
    """Another character of the same class: a digit for a digit of the same script, a letter for a letter in its case.

    ch (str): The original; anything but a letter or a digit comes back as it is.
    rng (Source): Where chance comes from; one number is used for each letter or digit.
    first (bool): Whether it leads a number: no zero then, unless the original is one.
    RETURNS (str): Never the original, so that no part of a value survives.
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
    """RETURNS (str): `other_char` of each; first (bool): the first one of them leads a number."""
    out, draw, table = [], rng.random, _OTHERS
    for i, ch in enumerate(value):
        others = (_OTHERS_FIRST if first and not i else table).get(ch)
        out.append(others[int(draw() * len(others))] if others is not None else other_char(ch, rng, first=first and not i))
    return "".join(out)


def other_shape(value: str, rng: Source) -> str:
    """RETURNS (str): The value with every letter and digit changed to another of its class, everything else kept."""
    out, inside, draw = [], False, rng.random
    for ch in value:
        others = (_OTHERS if inside else _OTHERS_FIRST).get(ch)
        out.append(others[int(draw() * len(others))] if others is not None else other_char(ch, rng, first=not inside))
        inside = ch.isalnum()
    return "".join(out)


# Word lists as data: resources/surrogates/words.toml.


@cache
def _table() -> dict[str, str]:
    file = resources.files("pii_components") / "resources" / "surrogates" / "words.toml"
    return dict(tomllib.loads(file.read_text(encoding="utf8")))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): A list in its own order, to draw from."""
    return tuple(_table()[name].split())


@cache
def words(name: str) -> frozenset[str]:
    """RETURNS (frozenset[str]): A list to look things up in."""
    return frozenset(word_list(name))
