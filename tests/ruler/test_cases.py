"""What the ruler makes of invented texts, as data: [text, what a model proposed, what is found], both as [words, label].

`data/regression_cases/ruler_cases.json` holds them by what they show; `ruler.json` has texts with known failures, and so has `digits.json`: digits of
mathematics, references, code and measurements are no ID and no telephone number; those with a word or a form for it are.
"""

import pytest
import spacy

from pii_components.labels import ID_NUM, LABELS, PHONE_NUM
from pii_components.spans import Candidate, read_spans, write_spans

from ..tiny import TOKENIZER, cases

CASES = cases("ruler_cases")
NLP = spacy.blank("en", config=TOKENIZER)
RULER = NLP.add_pipe("pii_ruler")


def proposed(text, proposals):
    """RETURNS (Doc): A text with proposals of a model."""
    doc, cands = NLP.make_doc(text), []
    for words, label in proposals:
        at = text.index(words)
        span = doc.char_span(at, at + len(words), label, alignment_mode="expand")
        cands.append(Candidate(span.start, span.end, label, 0.7, "model"))
    write_spans(doc, cands)
    return doc


@pytest.mark.parametrize("kind", CASES)
def test_cases(kind):
    for text, proposals, expected in CASES[kind]:
        doc = proposed(text, proposals)
        before = read_spans(doc)
        found = RULER.find_spans(doc)
        assert [[doc[c.start : c.end].text, c.label] for c in found] == expected, text
        for c in found:
            assert c.source == "model" or (c.source and c.reason and 0 < c.score <= 1), text
        assert read_spans(doc) == before  # find_spans changes nothing


def failures(nlp, file, labels=LABELS):
    """RETURNS (list[str]): Ids of the cases in which other spans are found."""
    failed = []
    for case in cases(file)["cases"]:
        found = []
        doc = nlp(case["text"])
        for span in doc.spans["pii"]:
            found.append({"start": span.start_char, "end": span.end_char, "label": span.label_})
        found = [span for span in found if span["label"] in labels]
        if found != case["spans"]:
            failed.append(case["id"])
    return failed


def test_known_failures_are_exactly_these():
    assert sorted(failures(NLP, "ruler")) == sorted(cases("ruler")["known_failures"])
    digits, known = cases("digits")["cases"], cases("digits")["known_failures"]
    assert failures(NLP, "digits", (ID_NUM, PHONE_NUM)) == known["ruler"]
    assert sum(bool(case["spans"]) for case in digits) == 15 and len(digits) == 40


@pytest.mark.slow
def test_digits_in_the_shipped_pipeline():
    nlp = spacy.load("en_pii_edu", disable=["hips_surrogate"])
    known = cases("digits")["known_failures"]["pipeline"]
    assert failures(nlp, "digits", (ID_NUM, PHONE_NUM)) == known
