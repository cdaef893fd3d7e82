"""Names letter by letter, with digits for letters, or in part: found, and what looks like them left alone."""

import pytest
import spacy
from spacy.tokens import Doc, Span

from pii_components.names.edges import write_whole
from pii_components.names.obfuscated import find_obfuscated, read_leet
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate, mark_given

from ..tiny import cases

CASES = cases("names")
NLP = spacy.blank("en")
TOKENIZER = make_student_tokenizer(spacy.blank("en"))


@pytest.mark.parametrize(("text", "expected"), CASES["apart"])
def test_words_letter_by_letter(text, expected):
    doc = TOKENIZER(text)
    found = find_obfuscated(text, [t.idx for t in doc], [t.idx + len(t) for t in doc])
    assert [list(piece.words) for piece in found] == expected


@pytest.mark.parametrize(("text", "expected"), CASES["leet"])
def test_digits_for_letters(text, expected):
    assert list(read_leet(text).values()) == expected


@pytest.mark.parametrize(("words", "label", "expected"), CASES["whole"])
def test_spans_take_in_whole_names(words, label, expected):
    tokens = words.split()
    (at,) = [i for i, word in enumerate(tokens) if word.startswith("[")]
    doc = Doc(NLP.vocab, words=[word.strip("[]") for word in tokens])
    write_whole(doc, [Candidate(at, at + 1, label)])
    assert [(span.text, span.label_) for span in doc.spans["pii"]] == [(expected, label)]


def test_others_spans_are_not_touched():
    doc = Doc(NLP.vocab, words=["Chidi", "Okafor", "Chidi", "Okafor"])
    doc.spans["pii"] = [Span(doc, 2, 3, label="NAME_STUDENT")]
    mark_given(doc)
    labels = ("NAME_STUDENT", "NAME_CITED", "NAME_STUDENT")
    write_whole(doc, [Candidate(i, i + 1, label) for i, label in enumerate(labels)])
    assert [(span.start, span.end) for span in doc.spans["pii"]] == [(0, 1), (1, 2), (2, 3)]
