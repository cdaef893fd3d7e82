"""Words that are no names, and figures that everyone knows: the word lists behind `pii_context`.

    >>> from pii_components.context_words import words
    >>> words().is_heading("Reflection"), words().is_title("Prof."), words().is_common("will")
    (True, True, True)
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .surrogates.names import fold, name_table

_INITIAL = re.compile(r"[^\W\d_]\.?\Z")


@dataclass(frozen=True, slots=True)
class Words:
    """The lists of resources/cues/words.toml, folded. titles, headings, particles, suffixes, ambiguous, common (frozenset[str]): See there."""

    titles: frozenset[str]
    headings: frozenset[str]
    particles: frozenset[str]
    suffixes: frozenset[str]
    ambiguous: frozenset[str]
    common: frozenset[str]

    def is_title(self, word: str) -> bool:
        """RETURNS (bool): Whether this stands before a name ("Dr.", "Uncle")."""
        return fold(word).rstrip(".") in self.titles

    def is_heading(self, word: str) -> bool:
        """RETURNS (bool): Whether this belongs to a heading or a header ("Reflection", "Name")."""
        return fold(word) in self.headings

    def is_common(self, word: str) -> bool:
        """RETURNS (bool): Whether this is an English word too ("will", "hope"), a heading, a month or a place."""
        folded = fold(word)
        return folded in self.common or folded in self.headings or folded in self.ambiguous

    def is_particle(self, word: str) -> bool:
        """RETURNS (bool): Whether this may stand within a name in lower case ("de", "van")."""
        return fold(word) in self.particles


@cache
def words() -> Words:
    """RETURNS (Words): The lists that ship, read once."""
    text = (resources.files("pii_components") / "resources" / "cues" / "words.toml").read_text("utf8")
    return Words(**{name: frozenset(value.split()) for name, value in tomllib.loads(text).items()})


@dataclass(frozen=True, slots=True)
class Figures:
    """People everyone knows of.

    full (dict[str, str]): Folded full name -> "CITED" or "CHARACTER".
    surname (dict[str, str]): Folded surname or single name -> the same.
    sure (frozenset[str]): Surnames that are enough by themselves ("Vygotsky", "Aristotle").
    """

    full: dict[str, str]
    surname: dict[str, str]
    sure: frozenset[str]


@cache
def figures() -> Figures:
    """RETURNS (Figures): Both lists that ship, read once. A single name is sure; so is a surname marked with `*`."""
    folder = resources.files("pii_components") / "resources" / "cues"
    full: dict[str, str] = {}
    surname: dict[str, str] = {}
    sure: set[str] = set()
    for file, role in (("public_figures.txt", "CITED"), ("story_figures.txt", "CHARACTER")):
        for line in (folder / file).read_text("utf8").splitlines():
            name = line.partition("#")[0].strip()
            if not name:
                continue
            key = fold(name.rstrip("*").strip())
            full.setdefault(key, role)
            last = key.split()[-1] if key.split()[-1] not in words().suffixes else key.split()[-2]
            surname.setdefault(last, role)
            if name.endswith("*") or " " not in key:
                sure.add(last)
    return Figures(full, surname, frozenset(sure))


def is_initial(word: str) -> bool:
    """RETURNS (bool): Whether this is a single letter, with or without a full stop."""
    return _INITIAL.match(word) is not None


def in_table(word: str) -> bool:
    """RETURNS (bool): Whether this is a frequent given name or surname somewhere."""
    table = name_table()
    return table.is_given(word) or table.is_surname(word)


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
