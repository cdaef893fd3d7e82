"""What no surrogate may be: the names of the document and of the corpus, and, where only this document counts, any word of it.

    >>> from pii_components.surrogates.forbidden import Forbidden
    >>> words = Forbidden({"lopez"}, text="We met at O'Brien's, near the Café.")
    >>> "lopez" in words, "cafe" in words, "obrien" in words, "met" in words, "caf" in words
    (True, True, True, True, False)

A text is not cut into words: few names are asked for, and finding those is faster.
"""

import re
from collections.abc import Container

from .names import fold

_POSSESSIVE = re.compile(r"'s\b")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Forbidden:
    """Folded words, as `style.norm` gives them.

    words (Container[str]): Sets of them. text (str): A text whose words are forbidden too.
    """

    def __init__(self, *words: Container[str], text: str = "") -> None:
        self._words = words
        folded = text.lower() if text.isascii() else _NOT_ASCII.sub(lambda match: fold(match.group()), text.lower())
        # Once as it stands, for "Lopez's", and once for "O'Brien's".
        self._texts = [folded, _POSSESSIVE.sub("", folded).replace("'", "")] if "'" in folded else [folded]

    def __contains__(self, word: object) -> bool:
        return any(word in words for words in self._words) or (
            isinstance(word, str) and word != "" and any(_holds(text, word) for text in self._texts)
        )

    def and_also(self, words: Container[str]) -> "Forbidden":
        """RETURNS (Forbidden): With more words."""
        more = Forbidden(*self._words, words)
        more._texts = self._texts
        return more


def _holds(text: str, word: str) -> bool:
    """RETURNS (bool): Whether a word stands in a text between characters that are no letters."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not text[end : end + 1].isalpha() and not (start and text[start - 1].isalpha()):
            return True
        start = text.find(word, start + 1)
    return False
