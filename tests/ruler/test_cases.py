"""What the ruler makes of invented texts, as data: [text, what a model proposed, what is found], both as [words, label].

`data/regression_cases/ruler_cases.json` holds them by what they show; `ruler.json` has texts with known failures.
"""

import json
from pathlib import Path

import pytest
import spacy

from pii_components.spans import Candidate, read_spans, write_spans

from ..tiny import TOKENIZER

FOLDER = Path(__file__).parents[1] / "data/regression_cases"
CASES = json.loads((FOLDER / "ruler_cases.json").read_text("utf8"))
NLP = spacy.blank("en", config=TOKENIZER)
RULER = NLP.add_pipe("pii_ruler")


def proposed(text, proposals):
    """RETURNS (Doc): A text with proposals of a model."""
    doc = NLP.make_doc(text)
    spans = [
        doc.char_span(text.index(words), text.index(words) + len(words), label, alignment_mode="expand")
        for words, label in proposals
    ]
    write_spans(doc, [Candidate(span.start, span.end, span.label_, 0.7, "model") for span in spans])
    return doc


@pytest.mark.parametrize("kind", CASES)
def test_cases(kind):
    for text, proposals, expected in CASES[kind]:
        doc = proposed(text, proposals)
        before = read_spans(doc)
        found = RULER.find_spans(doc)
        assert [[doc[c.start : c.end].text, c.label] for c in found] == expected, text
        assert all(c.source and c.reason and 0 < c.score <= 1 for c in found if c.source != "model"), text
        assert read_spans(doc) == before  # find_spans changes nothing


def test_known_failures_are_exactly_these():
    data = json.loads((FOLDER / "ruler.json").read_text("utf8"))
    failures = []
    for case in data["cases"]:
        doc = NLP(case["text"])
        got = [{"start": s.start_char, "end": s.end_char, "label": s.label_} for s in doc.spans["pii"]]
        if got != case["spans"]:
            failures.append(case["id"])
    assert sorted(failures) == sorted(data["known_failures"])
