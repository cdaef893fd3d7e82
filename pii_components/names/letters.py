"""Letters of names: accents off, folded, whose script, written in the case of another.

>>> from pii_components.names.letters import like
>>> like("MARIA", "Zoë"), like("maría", "Zoë"), like("McNeil", "Rossi")
('ZOE', 'zoë', 'Rossi')
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_CACHES: list[Callable[[], None]] = []


def per_batch(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: `functools.lru_cache` for what is computed of words of a text. maxsize (int): Results that are kept at most."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = lru_cache(maxsize)(function)
        _CACHES.append(cached.cache_clear)
        return cached  # type: ignore[return-value]

    return decorate


def forget() -> None:
    """Empty all these caches. To be called at the end of every batch, also when it ended with an error."""
    for clear in _CACHES:
        clear()


# Letters that Unicode does not take apart into a base letter and a mark.
_APART = {
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "ł": "l",
    "ħ": "h",
    "ı": "i",
    "æ": "ae",
    "œ": "oe",
    "ß": "ss",
    "þ": "th",
}
_FOLDED = str.maketrans({**_APART, "’": "'"})
_PLAIN = str.maketrans(
    {
        **_APART,
        "ə": "e",
        **{k.upper(): v.capitalize() for k, v in {**_APART, "ə": "e"}.items() if k not in "ßı"},
    }
)
# Scripts whose names the table has only in Latin letters, with the region to take the surrogate from.
_SCRIPT_REGION = {
    "ARABIC": "AR",
    "CYRILLIC": "RU",
    "CJK": "CN",
    "HANGUL": "KR",
    "HIRAGANA": "JP",
    "KATAKANA": "JP",
    "HEBREW": "HE",
    "DEVANAGARI": "IN",
    "BENGALI": "PK",
    "TAMIL": "IN",
    "TELUGU": "IN",
    "GURMUKHI": "IN",
    "GREEK": "GR",
    "THAI": "TH",
    "GEORGIAN": "GE",
    "ETHIOPIC": "EA",
}


def fold(name: str) -> str:
    """RETURNS (str): The name in lower case and without accents, for looking it up: "José" and "JOSE" are one."""
    return name.lower() if name.isascii() else _without_marks(name.casefold(), _FOLDED)


def _without_marks(name: str, letters: dict[int, str]) -> str:
    apart = unicodedata.normalize("NFKD", name).translate(letters)
    return "".join([ch for ch in apart if not unicodedata.combining(ch)])


@per_batch(4096)
def plain(name: str) -> str:
    """RETURNS (str): The name without accents, case kept: "Zoë" gives "Zoe", "Łukasz" gives "Lukasz"."""
    return _without_marks(name, _PLAIN)


def is_letter(ch: str) -> bool:
    """RETURNS (bool): Whether a character belongs to a word: a letter, a mark on one, or something invisible between two."""
    return ch.isalpha() or (
        not ch.isascii() and ch != "\u200b" and unicodedata.category(ch) in ("Mn", "Mc", "Cf")
    )


@per_batch(16384)
def norm(word: str) -> str:
    """RETURNS (str): The letters of a word, folded: what makes two spellings one name."""
    return "".join(ch for ch in fold(word) if ch.isalpha())


def has_letter(text: str) -> bool:
    return text[:1].isalpha() or any(map(str.isalpha, text))


def has_sign(text: str) -> bool:
    return text[:1].isalnum() or any(map(str.isalnum, text))


def has_accent(word: str) -> bool:
    """RETURNS (bool): Whether a word is in Latin letters, one of them not ASCII."""
    return not word.isascii() and plain(word) != word and script_region(word) is None


def script_region(word: str) -> str | None:
    """RETURNS (str | None): The region of names that a script other than Latin points to."""
    if word.isascii():
        return None
    scripts = (
        unicodedata.name(ch, "").split(" ")[0] for ch in word if ch.isalpha() and not ch.isascii()
    )
    return next((_SCRIPT_REGION[script] for script in scripts if script in _SCRIPT_REGION), None)


def like(original: str, new: str) -> str:
    """RETURNS (str): A name in the case of another one, without accents if that has none: UPPER, lower or as the table writes it (McDonald)."""
    new = new if has_accent(original) else plain(new)
    cased = [ch for ch in original if ch.upper() != ch.lower()]
    if not cased:
        return new
    if all(ch.islower() for ch in cased):
        return new.lower()
    if len(cased) > 1 and all(ch.isupper() for ch in cased):
        return new.upper()
    if cased[0].islower() and all(ch.isupper() for ch in cased[1:]):
        return new[:1].lower() + new[1:].upper()
    return new
