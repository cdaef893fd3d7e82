"""Names in a script of their own in a text that is in Latin letters, by their form alone.

    >>> from pii_components.names.scripts import native_names
    >>> native_names("My friend 김지민 said that 서울 is cold, and the word 사랑 means love.")
    [(10, 13)]

The form is that of the tables of resources/patterns/native_names.toml: family names, given names, endings of family names, and
words that look like a name and are none. Whose name it is, others must say.
"""

import re
from functools import cache

from . import resource

_RANGES = {
    "Hangul": "\uac00-\ud7a3",
    "Han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\u3041-\u30ff",  # with kana: both make one word
    "Arabic": "\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f",
    "Hebrew": "\u05b0-\u05ea\u05f3\u05f4",
    "Cyrillic": "\u0400-\u052f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Devanagari": "\u0900-\u0963\u0970-\u097f",
    "Bengali": "\u0980-\u09fe",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e01-\u0e4f",
    "Georgian": "\u10d0-\u10ff",
    "Armenian": "\u0531-\u0587",
}
_WORD = "|".join(f"[{letters}][{letters}\u200c\u200d]*" for letters in _RANGES.values())
_RUN = re.compile(rf"(?<![^\W\d_])(?:{_WORD})(?:(?: |[-·・])(?:{_WORD})){{0,3}}(?![^\W\d_])")
_ANY = re.compile(f"[{''.join(_RANGES.values())}]")
_MOST_NATIVE = 0.25  # share of letters from which the text is in that language
_CASED = ("Cyrillic", "Greek", "Armenian")
_MOST_SIGNS = 10  # of a name in Hangul, Han or kana


def native_names(text: str) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): Characters, end exclusive; none in a text that is itself in such a script."""
    if text.isascii():
        return []
    native = len(_ANY.findall(text))
    if len(text) > 40 and native > _MOST_NATIVE * sum(map(str.isalpha, text)):
        return []
    return [run.span() for run in _RUN.finditer(text) if is_native_name(run.group())]


def is_native_name(run: str) -> bool:
    """RETURNS (bool): Whether one to four words in another script have the form of a name."""
    words = [word for word in re.split(r"[ ·・-]", run) if word]
    script = next((name for name, letters in _RANGES.items() if re.match(f"[{letters}]", run)), "")
    if not script or all(word in _words(script, "not_names") for word in words):
        return False
    families, givens = _words(script, "families"), _words(script, "givens")
    if script in ("Hangul", "Han"):
        return len(run) <= _MOST_SIGNS and _has_family(words, families, givens)
    if any(len(word) < 2 or (script in _CASED and not word[0].isupper()) for word in words):
        return False
    endings = tuple(_words(script, "endings"))
    return any(
        word in families | givens or word.endswith(endings) for word in words if len(word) > 2
    )


def _has_family(words: list[str], families: frozenset[str], givens: frozenset[str]) -> bool:
    """Whether the family name stands first, as in 김지민 and 田中 さくら, or a given name alone."""
    if len(words) > 1:
        return words[0] in families or not givens.isdisjoint(words)
    (word,) = words
    parts = ((word[:size], word[size:]) for size in (3, 2, 1))
    return word in givens or any(first in families and 0 < len(rest) <= 3 for first, rest in parts)


@cache
def _words(script: str, key: str) -> frozenset[str]:
    tables = resource("patterns/native_names")
    entries = (
        [tables.get("Japanese", {}), tables.get(script, {})]
        if script == "Han"
        else [tables.get(script, {})]
    )
    return frozenset(word for entry in entries for word in entry.get(key, "").split())
