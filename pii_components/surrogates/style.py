"""Other characters of the same class: surrogates are written the way their originals were."""

import string
import unicodedata
from collections.abc import Container, Iterable, Sequence
from functools import cache

from .. import names
from ..names import resource
from ..names.letters import has_sign
from ..names.table import Source

__all__ = ["randomize_same_shape"]

WORDS = "surrogates/words"
# ASCII letter or digit -> those of its class.
_CLASSES = {
    ch: kind
    for kind in (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    for ch in kind
}


def _draw(ch: str, rng: Source, lead: bool) -> str:
    """A character of the same class, maybe the same one: a digit of the same script, a letter in its case; others stay."""
    kind: Sequence[str] = _CLASSES.get(ch, ch)
    if ch.isdecimal():
        zero = ord(ch) - unicodedata.decimal(ch)
        # No zero leads a number, unless the original has one there.
        kind = [chr(zero + i) for i in range(1 if lead and ord(ch) > zero else 0, 10)]
    elif not ch.isascii() and ch.isalpha():
        kind = string.ascii_uppercase if ch.isupper() else string.ascii_lowercase
    elif not ch.isascii() and unicodedata.category(ch) in ("No", "Nl"):
        kind = string.digits
    return kind[int(rng.random() * len(kind))] if ch.isalnum() else ch


def other_chars(value: str, rng: Source, *, first: bool = False, leads: Container[int] = ()) -> str:
    """Characters of the same classes in other order: letters stay letters, in their case, digits digits.

    Each is drawn freely and only the whole original is refused: where no digit could stay, sixty surrogates of one number would
    tell it, since its own digits are those that never come.

    rng: One number is drawn for each letter or digit. first: Whether the first one leads a number: no zero then. leads: Places of more
        that do.
    """
    new = value
    while new == value and has_sign(value):
        drawn = [_draw(ch, rng, (first and not i) or i in leads) for i, ch in enumerate(value)]
        new = "".join(drawn)
    return new


def randomize_same_shape(value: str, rng: Source) -> str:
    """As `other_chars`, for codes of several parts: each run of letters and digits leads a number."""
    leads = [i for i in range(len(value)) if not (i and value[i - 1].isalnum())]
    return other_chars(value, rng, leads=leads)


def fill(shape: str, chars: Iterable[str]) -> str:
    """Characters in the places of the letters and digits of a text."""
    made = iter(chars)
    return "".join([next(made) if ch.isalnum() else ch for ch in shape])


def ordinal(ending: str, number: int) -> str:
    """ "st", "nd", "rd", "th" for a number, as the old ending is written; other endings as they were."""
    if ending.lower() not in ("st", "nd", "rd", "th"):
        return ending
    endings = {} if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}
    return in_case(ending, endings.get(number % 10, "th"))


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
def word_list(name: str) -> tuple[str, ...]:
    """A list of words.toml in its own order, to draw from."""
    return tuple(resource(WORDS)[name].split())


def words(name: str) -> frozenset[str]:
    """A list of words.toml to look things up in."""
    return names.word_list(WORDS, name)
