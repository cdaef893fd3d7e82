"""Surrogates for ages: near the original, in the same form, the same number of years up or down for a whole scope.

    14-year-old  ->  16-year-old        twenty-one years old  ->  twenty-three years old
    aged 9 and 12 -> aged 11 and 14     in her mid-thirties   ->  in her mid-forties

One shift keeps who is older and by how much. Where a border is asked for (18), nobody crosses it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from .generate import Context
from .keys import Chance
from .style import like, other_chars
from .words import word_list, words

_UNITS, _TENS = word_list("number_units"), word_list("number_tens")
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
OLDEST = 105


def _word(number: int) -> str:
    if number < 20:
        return _UNITS[number]
    return _TENS[number // 10 - 2] + (f"-{_UNITS[number % 10]}" if number % 10 else "")


def _ordinal(number: int) -> str:
    head, dash, tail = _word(number).rpartition("-")
    return head + dash + (_ORDINALS.get(tail) or (tail[:-1] + "ieth" if tail.endswith("y") else tail + "th"))


_WORDS = {_word(n): (n, "word") for n in range(100)} | {_ordinal(n): (n, "ordinal") for n in range(100)}
_WORDS |= {t[:-1] + "ies": (20 + 10 * i, "decade") for i, t in enumerate(_TENS)}
_NUMBER = re.compile(
    r"(?<![\d.,])(?P<digits>\d{1,3})(?P<fraction>\.\d+)?(?P<ending>(?:st|nd|rd|th|['’]?s)\b)?(?![\d])|\b(?P<word>"
    + "|".join(sorted((w.replace("-", r"[-‐‑ ]") for w in _WORDS), key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)
_JOINTS = re.compile(r"[‐‑ ]")
_LETTERS = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"\b(?:months?|mos?|weeks?|days?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AgeShift:
    """How many years ages move within a scope. delta (int): Years. border (int): An age that nobody crosses; 0 for none."""

    delta: int
    border: int = 0

    def __call__(self, age: int) -> int | None:
        """RETURNS (int | None): The new age; None if there is none near on the same side of the border."""
        for new in (age + self.delta, age - self.delta):
            if 1 <= new <= max(OLDEST, age) and (new < self.border) == (age < self.border):
                return new
        return None


def choose_age_shift(
    values: Collection[str], chance: Chance, *, spread: int = 2, border: int = 0, local: bool = True
) -> AgeShift:
    """Find the shift of a scope.

    values (Collection[str]): All ages of the document, as they stand. chance (Chance): Key and scope.
    spread (int): Years at most. border (int): See `AgeShift`.
    local (bool): Whether the scope is this document, so that its other ages may count.
    RETURNS (AgeShift): In a document, the one that keeps ages apart best; elsewhere what the key says.
    """
    rng = chance.rng("AGE", "shift")
    drawn = sorted((rng.random(), sign * n) for n in range(1, spread + 1) for sign in (1, -1))
    options = [AgeShift(delta, border) for _, delta in drawn]
    if not local:
        return options[0]
    ages = {number for value in values for _, number, _ in _numbers(value)}

    def cost(shift: AgeShift) -> int:
        new = [shift(age) for age in ages]
        turned = sum(n != age + shift.delta for n, age in zip(new, ages, strict=True))
        return 9 * (len(new) - len({*new} - {None})) + 3 * turned + len(ages & {n for n in new if n is not None})

    return min(options, key=cost)


@lru_cache(maxsize=256)
def _numbers(value: str) -> tuple[tuple[re.Match[str], int, str], ...]:
    """RETURNS (tuple): Of each number a match, its value, and its form: "digits", "word", "ordinal" or "decade"."""
    found = []
    for match in _NUMBER.finditer(value):
        if match["word"]:
            number, form = _WORDS[_JOINTS.sub("-", match["word"].lower())]
            found.append((match, number, form))
        else:
            ending = (match["ending"] or "").lower()
            found.append((match, int(match["digits"]), "decade" if ending.endswith("s") else "digits"))
    return tuple(found)


def _around(value: str) -> str:
    """RETURNS (str): What stands around the numbers of an age, with a space for each of them."""
    out, last = "", 0
    for match, _, _ in _numbers(value):
        out += value[last : match.start()] + " "
        last = match.end()
    return out + value[last:]


def surrogate_age(value: str, context: Context, attempt: int = 0) -> str | None:
    """An age in the same form.

    value (str): As it stands. context (Context): With `ages`, if the document's other ages shall count.
    attempt (int): Not used: ages of a document move together.
    RETURNS (str | None): None if there is no number in it, or words that an age does not have.
    """
    rest = _around(value)
    if not words("age_around").issuperset([w.lower() for w in _LETTERS.findall(rest)]) or any(map(str.isdecimal, rest)):
        return None
    shift = context.ages or choose_age_shift([value], context.chance, local=False)
    if _PARTS.search(value):
        shift = AgeShift(shift.delta)
    out, last = "", 0
    for match, number, form in _numbers(value):
        new = _decade(number, shift) if form == "decade" else shift(number)
        if new is None or number > 130:
            return None
        out += value[last : match.start()]
        if match["word"]:
            word = {"word": _word, "ordinal": _ordinal, "decade": lambda n: _word(n)[:-1] + "ies"}[form](new)
            old = match["word"]
            joint = next((ch for ch in old if ch in "‐‑ "), "-")
            out += like(old, word.capitalize()).replace("-", joint)
        else:
            rng = context.chance.rng("AGE", str(number))
            fraction = other_chars(match["fraction"] or "", rng)
            out += str(new) + fraction + _ending(match["ending"] or "", new)
        last = match.end()
    return out + value[last:] if last else None


def _decade(number: int, shift: AgeShift) -> int | None:
    """RETURNS (int | None): The next decade of life in the shift's direction, between twenties and nineties."""
    if number % 10 or not 20 <= number <= 90:
        return None
    up = number + 10 if number < 90 else 80
    return up if shift.delta > 0 or number == 20 else number - 10


def _ending(ending: str, number: int) -> str:
    if ending.lower() not in ("st", "nd", "rd", "th"):
        return ending
    right = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return right.upper() if ending.isupper() else right
