"""What comes before BERT's WordPiece: `split_punctuation("d'accord") == ["d", "'", "accord"]`, `strip_marks("é") == "e"`.

As spacy-curated-transformers has it, which imports torch; a pipeline that runs without torch reads its pieces through this.
"""

import unicodedata
from functools import cache
from typing import Any

# What ASCII has beside letters, digits and white space is punctuation for BERT, also "$" and "+".
_ASCII = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def split_punctuation(text: str) -> list[str]:
    """RETURNS (list[str]): Words, and each punctuation mark alone."""
    parts: list[str] = []
    in_word = False
    for char in text:
        mark = char in _ASCII or unicodedata.category(char).startswith("P")
        if mark or not in_word:
            parts.append(char)
        else:
            parts[-1] += char
        in_word = not mark
    return parts


def strip_marks(text: str) -> str:
    """RETURNS (str): Decomposed, without accents."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn")


@cache
def register_vocabulary() -> None:
    """Tell thinc how a WordPiece vocabulary is serialised: one piece a line, which is also how the curated transformers do it."""
    from curated_tokenizers import WordPieceProcessor
    from thinc.api import deserialize_attr, serialize_attr

    def serialize(_: Any, value: Any, name: str, model: Any) -> bytes:
        return "\n".join(value.to_list()).encode("utf8")

    def deserialize(_: Any, value: bytes, name: str, model: Any) -> Any:
        return WordPieceProcessor(value.decode("utf8").split("\n"))

    serialize_attr.register(WordPieceProcessor, serialize)
    deserialize_attr.register(WordPieceProcessor, deserialize)
