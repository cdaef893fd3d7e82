"""Spans of tokens that are not ours hold whole names."""

import pytest
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from pii_components.names.edges import write_whole
from pii_components.spans import Candidate, mark_given

VOCAB = Vocab()


@pytest.mark.parametrize(
    ("words", "label", "expected"),
    [
        ("my friend [Chidi] Okafor came", "NAME_CONNECTED", "Chidi Okafor"),
        ("my friend Chidi [Okafor] came", "NAME_CONNECTED", "Chidi Okafor"),
        ("Essay-Chidi [Okafor]", "NAME_STUDENT", "Essay-Chidi Okafor"),
        ("[Chidi] Okafor's bike", "NAME_STUDENT", "Chidi Okafor's"),
        ("[Priya] Patel(2nd year)", "NAME_STUDENT", "Priya Patel(2nd"),
        ("[Nguyen] Van An wrote", "NAME_STUDENT", "Nguyen Van An"),
        ("class-Quintero, [Marisol] wrote", "NAME_STUDENT", "class-Quintero, Marisol"),
        ("[chidi] okafor wrote", "NAME_STUDENT", "chidi okafor"),
        ("Chidi [Okafor_2048] wrote", "ID_NUM", "Chidi Okafor_2048"),
        ("Chidi [Okafor] wrote to Ilse", "NAME_CITED", "Chidi Okafor"),
        ("[Chidi] English 101", "NAME_STUDENT", "Chidi"),  # a heading
        ("Dear [Okafor] we came", "NAME_STUDENT", "Okafor"),
        ("then [Chidi] went home", "NAME_STUDENT", "Chidi"),
        ("Chidi [2048] wrote", "ID_NUM", "2048"),
    ],
)
def test_a_span_takes_in_the_rest_of_the_name(words, label, expected):
    tokens = words.split()
    (at,) = [i for i, word in enumerate(tokens) if word.startswith("[")]
    doc = Doc(VOCAB, words=[word.strip("[]") for word in tokens])
    write_whole(doc, [Candidate(at, at + 1, label)])
    assert [(span.text, span.label_) for span in doc.spans["pii"]] == [(expected, label)]


def test_nothing_that_another_span_or_a_user_holds_is_touched():
    doc = Doc(VOCAB, words=["Chidi", "Okafor", "Chidi", "Okafor"])
    doc.spans["pii"] = [Span(doc, 2, 3, label="NAME_STUDENT")]
    mark_given(doc)
    write_whole(doc, [Candidate(0, 1, "NAME_STUDENT"), Candidate(1, 2, "NAME_CITED"), Candidate(2, 3, "NAME_STUDENT")])
    assert [(span.start, span.end) for span in doc.spans["pii"]] == [(0, 1), (1, 2), (2, 3)]
