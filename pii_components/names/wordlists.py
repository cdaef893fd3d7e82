"""Words that are no names: the word lists behind `pii_context`.

>>> from pii_components.names.wordlists import words
>>> words().is_heading("Reflection"), words().is_title("Prof."), words().is_common("will")
(True, True, True)
"""

import re
from functools import cache
from typing import NamedTuple

from . import resource, word_list
from .letters import fold
from .table import name_table

# Letters of scripts with case: one letter of another is a syllable or a word.
_INITIAL = re.compile(r"[A-Za-z\u00aa-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff]\.?\Z")


class Words(NamedTuple):
    """The lists of resources/cues/words.toml, folded; see there."""

    titles: frozenset[str]
    headings: frozenset[str]
    greetings: frozenset[str]
    ambiguous: frozenset[str]
    common: frozenset[str]
    place_before: frozenset[str]
    story_signs: frozenset[str]

    def is_title(self, word: str) -> bool:
        return fold(word).rstrip(".") in self.titles

    def is_heading(self, word: str) -> bool:
        return fold(word) in self.headings

    def is_greeting(self, word: str) -> bool:
        return fold(word) in self.greetings

    def is_common(self, word: str) -> bool:
        """RETURNS (bool): Whether this is an English word too ("will", "hope"), a heading, a month or a place."""
        folded = fold(word)
        return folded in self.common or folded in self.headings or folded in self.ambiguous


@cache
def story_pattern() -> re.Pattern[str]:
    """RETURNS (re.Pattern[str]): Finds a word or phrase of `Words.story_signs`, in lower-case text."""
    signs = sorted(sign.replace("_", " ") for sign in words().story_signs)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, signs)) + r")(?!\w)")


@cache
def words() -> Words:
    return Words(
        **{name: frozenset(value.split()) for name, value in resource("cues/words").items()}
    )


def is_initial(word: str) -> bool:
    return _INITIAL.match(word) is not None


def in_table(word: str) -> bool:
    table = name_table()
    return table.is_given(word) or table.is_surname(word)


def is_word_too(word: str) -> bool:
    """RETURNS (bool): Whether a folded name is an English word as well."""
    lists = (word_list("ruler/words", "names_too"), word_list("surrogates/words", "word_surnames"))
    return words().is_common(word) or any(word in names for names in lists)


def is_glued(word: str) -> bool:
    """RETURNS (bool): Whether this is a frequent given name and a surname without a space: "KATIEVAUGHAN"."""
    if not 7 <= len(word) <= 24 or not word.isalpha() or words().is_common(word):
        return False
    table = name_table()
    return any(
        table.is_given(word[:at]) and table.is_surname(word[at:]) for at in range(3, len(word) - 3)
    )


def case_style(word: str) -> str:
    """RETURNS (str): "title", "upper", "lower", or "other" for mixed case and for scripts without case."""
    letters = [c for c in word if c.isalpha()]
    if not letters or not any(c.isupper() or c.islower() for c in letters):
        return "other"
    if letters[0].islower():
        return "lower" if all(c.islower() for c in letters) else "other"
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return "upper"
    return "title"
