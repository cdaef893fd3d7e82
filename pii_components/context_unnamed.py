"""What looks like a name and by its own form is none.

    3 | P a g e                             "Page", letter by letter
    Customer Success Lead (CSL)             letters of the words before the bracket
    RollNo : 55234                          the label of a field
    Venus is the second planet              a heavenly body, in a text about such
    Hallo!                                  a greeting
    Challange and selection                 a heading, with a slip in it
    my Mzee's house; Mrs. A.                a title, no name behind it
    sent by WhatsApp                        a product or a firm

Decided before edges are mended and cues are asked, whatever found it, since a line of the header or a bracket makes such words look signed.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz.distance import OSA

from .context_view import DocView
from .context_words import in_table, is_word, words
from .labels import is_name
from .spans import Candidate
from .surrogates.names import fold

_LABEL = re.compile(r"[a-z](?:No|Nr|Num|Number|Id|ID|Code|Date|Name)\Z")
_SMALL = frozenset(("of", "and", "the", "for", "in", "to", "a", "an", "on", "&"))
_LAST_WORD = re.compile(r"([^\W\d_]+)\.? ?\Z")
_LONGEST_TITLE = 20
_LONGEST_ACRONYM = 6
_LONG_HEADING = 8  # letters from which a word is hardly a name with a slip in it
# Bodies that people are named after as well: only where the text is about the sky, and without a surname.
_BODIES = frozenset(("mercury", "venus", "mars", "jupiter", "saturn", "uranus", "neptune", "pluto", "ceres", "luna", "titan", "europa", "io"))
_SKY = re.compile(r"\b(?:planets?|solar system|spacecrafts?|nasa|astronomers?|orbit(?:s|ed|ing)?|telescopes?|asteroids?)\b")
_SKY_LEAST = 2  # words about the sky that make a text one about it


def drop_unnamed(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Leave out names that are none.

    view (DocView): The document. cands (Sequence[Candidate]): All candidates, sorted.
    RETURNS (list[Candidate]): The others; those that are no names as they were.
    """
    names = [c for c in cands if is_name(c.label)]
    if not names:
        return list(cands)
    inside = frozenset(i for c in names for i in range(c.start, c.end))
    none = {
        (c.start, c.end)
        for c in names
        if _is_greeting(view, c)
        or _is_title(view, c)
        or _is_letter(view, c)
        or _is_brand(view, c)
        or _is_misspelled_heading(view, c)
        or _is_spelled_heading(view, c)
        or _is_acronym(view, c, inside)
        or _is_label(view, c)
        or _is_body(view, c)
    }
    return [c for c in cands if (c.start, c.end) not in none] if none else list(cands)


def _is_greeting(view: DocView, c: Candidate) -> bool:
    return all(words().is_greeting(word) for word in view.words[c.start : c.end])


def _named(view: DocView, c: Candidate) -> list[str]:
    """RETURNS (list[str]): Its words, folded, without possessives."""
    return [fold(word).replace("’", "'").removesuffix("'s") for word in view.words[c.start : c.end] if is_word(word)]


def _is_title(view: DocView, c: Candidate) -> bool:
    """Whether it is a title and nothing else, and no name: "my Mzee's house"."""
    named = _named(view, c)
    return len(named) == 1 and words().is_title(named[0]) and not in_table(named[0])


def _is_letter(view: DocView, c: Candidate) -> bool:
    """Whether it is one letter behind a title, which stands for a name that is kept back: "Mrs. A."."""
    named = _named(view, c)
    if len(named) != 1 or len(named[0].rstrip(".")) != 1:
        return False
    before = _LAST_WORD.search(view.text, max(0, view.starts[c.start] - _LONGEST_TITLE), view.starts[c.start])
    return before is not None and words().is_title(before[1])


def _is_brand(view: DocView, c: Candidate) -> bool:
    """Whether it is a product or a firm and nothing else."""
    named = _named(view, c)
    return bool(named) and all(map(words().is_brand, named))


def _is_misspelled_heading(view: DocView, c: Candidate) -> bool:
    """Whether it is one word that opens its line and is one slip away from a long word of headings, and in no table."""
    named = [word for word in view.words[c.start : c.end] if is_word(word)]
    low, _ = view.lines[view.line_of(view.starts[c.start])]
    if len(named) != 1 or any(map(str.isalnum, view.text[low : view.starts[c.start]])) or in_table(named[0]):
        return False
    return _is_near_heading(fold(named[0]))


@lru_cache(maxsize=1024)
def _is_near_heading(word: str) -> bool:
    return any(len(other) >= _LONG_HEADING and OSA.distance(word, other, score_cutoff=1) <= 1 for other in words().headings)


def _is_spelled_heading(view: DocView, c: Candidate) -> bool:
    """Whether all of it stands letter by letter and reads as words of headings: what word processors put beside page numbers, "i d :"."""
    letters = [word for word in view.words[c.start : c.end] if not word.isspace()]
    if len(letters) == 2 and all(len(word) == 1 for word in letters) and words().is_heading("".join(letters)):
        return True
    return any(worn.start <= c.start and c.end <= worn.end and all(map(words().is_heading, worn.words)) for worn in view.worn)


def _is_acronym(view: DocView, c: Candidate, inside: frozenset[int]) -> bool:
    """Whether it stands in brackets behind the words whose first letters it is, no name among them: "Customer Success Lead (CSL)", "(C-S-L)"."""
    shown = "".join(view.words[c.start : c.end])
    letters = "".join(char for char in shown if char.isalpha())
    if not 2 <= len(letters) <= _LONGEST_ACRONYM or not letters.isupper() or re.search(r"[^A-Za-z.\-]", shown):
        return False
    if not c.start or view.words[c.start - 1] != "(" or c.end >= len(view) or view.words[c.end] != ")":
        return False
    firsts: list[str] = []
    i = c.start - 2
    while i >= 0 and len(firsts) < len(letters) and "\n" not in view.gap(i) and not view.words[i].count("\n"):
        if i in inside:
            return False
        if is_word(view.words[i]) and fold(view.words[i]) not in _SMALL:
            firsts.append(view.words[i][0].upper())
        elif view.words[i] in (".", ";", ":", "(", ")"):
            break
        i -= 1
    return "".join(reversed(firsts)) == letters


def _is_label(view: DocView, c: Candidate) -> bool:
    """Whether it is the label of a field, written as one word: "RollNo : 55234"."""
    low = view.starts[c.start]
    if _LABEL.search(view.text[low : view.ends[c.end - 1]]) is None:
        return False
    return re.match(r"\s{0,3}[:#=]", view.text[view.ends[c.end - 1] :]) is not None


def _is_body(view: DocView, c: Candidate) -> bool:
    """Whether it is a planet or a moon, in a text that speaks of such."""
    named = _named(view, c)
    if len(named) != 1 or named[0] not in _BODIES:
        return False
    return sum(1 for _ in _SKY.finditer(view.text.lower())) >= _SKY_LEAST
