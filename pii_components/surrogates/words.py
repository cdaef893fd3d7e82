"""Word lists as data: resources/surrogates/words.toml.

>>> from pii_components.surrogates.words import words
>>> "avenue" in words("address_words")
True
"""

import tomllib
from functools import cache
from importlib import resources


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
