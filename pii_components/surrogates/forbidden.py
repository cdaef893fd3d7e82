"""What no surrogate may be: the names of the document and of the corpus, and, where only this document counts, any word of it.

    >>> from pii_components.surrogates.forbidden import Forbidden
    >>> words = Forbidden({"lopez"}, text="We met at O'Brien's, near the Café.")
    >>> "lopez" in words, "cafe" in words, "obrien" in words, "met" in words, "ear" in words
    (True, True, True, True, False)

A text is not cut into words: few names are asked for, and to look for those is faster. Only words with an accent or an
apostrophe are taken out and folded.
"""

from collections.abc import Container, Iterator

from .style import norm

_ASCII = bytes(range(128))


class Forbidden:
    """Folded words, as `style.norm` gives them.

    words (Container[str]): Sets of them. text (str): A text whose words are forbidden too.
    """

    def __init__(self, *words: Container[str], text: str = "") -> None:
        self._words = words
        self._text = ""
        if text:
            text = text.replace("’", "'")
            special = _elided(text)
            if not text.isascii():
                # Most of what is not ASCII are quotes and dashes.
                rest = text.encode("utf8", "surrogatepass").translate(None, _ASCII).decode("utf8", "surrogatepass")
                special |= {norm(word) for ch in {*rest} if ch.isalpha() for word in _words_with(text, ch)}
                text = text.encode("ascii", "replace").decode("ascii")
            self._text = text.lower()
            if special:
                self._words = (*words, special)

    def __contains__(self, word: object) -> bool:
        for words in self._words:
            if word in words:
                return True
        return bool(word) and isinstance(word, str) and word in self._text and _holds(self._text, word)

    def and_also(self, words: Container[str]) -> "Forbidden":
        """RETURNS (Forbidden): With more words."""
        more = Forbidden(*self._words, words)
        more._text = self._text
        return more


def _words_with(text: str, letter: str) -> Iterator[str]:
    """YIELDS (str): Words that hold a letter. letter (str): Not ASCII; what stands before it and is not ASCII either goes with it."""
    at = text.find(letter)
    while at >= 0:
        start = at
        while start and not text[start - 1].isascii():
            start -= 1
        yield _word_at(text, start)
        at = text.find(letter, at + 1)


def _word_at(text: str, start: int) -> str:
    """RETURNS (str): The letters around a place, with marks and apostrophes between them. start (int): A place in the word."""
    end = start
    while start and (text[start - 1].isalpha() or text[start - 1] == "'"):
        start -= 1
    while end < len(text) and (text[end].isalpha() or not text[end].isascii() or text[end] == "'"):
        end += 1
    return text[start:end].strip("'").removesuffix("'s")


def _elided(text: str) -> set[str]:
    """RETURNS (set[str]): Folded words with one letter before an apostrophe: O'Brien, D'Souza."""
    found = set()
    at = text.find("'", 1)
    while at > 0:
        if not (at > 1 and text[at - 2].isalpha()) and text[at - 1].isalpha() and text[at + 1 : at + 2].isalpha():
            found.add(norm(_word_at(text, at - 1)))
        at = text.find("'", at + 1)
    return found


def _holds(text: str, word: str) -> bool:
    """RETURNS (bool): Whether a word stands in a text between characters that are no letters."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not text[end : end + 1].isalpha() and not (start and text[start - 1].isalpha()):
            return True
        start = text.find(word, start + 1)
    return False
