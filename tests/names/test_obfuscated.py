"""Names letter by letter: found, and what looks like them left alone."""

import pytest
import spacy

from pii_components.names.obfuscated import find_obfuscated
from pii_components.ruler.tokenizer import make_student_tokenizer

from ..tiny import cases

CASES = cases("names")
TOKENIZER = make_student_tokenizer(spacy.blank("en"))


@pytest.mark.parametrize(("text", "expected"), CASES["apart"])
def test_words_letter_by_letter(text, expected):
    doc = TOKENIZER(text)
    found = find_obfuscated(text, [t.idx for t in doc], [t.idx + len(t) for t in doc])
    assert [list(piece.words) for piece in found] == expected
