"""Digits of mathematics, references, code and measurements are no ID and no telephone number; those with a word or a form for it are.

Forty invented texts, `data/regression_cases/digits.json`; what fails is listed there, for the rules alone and for the pipeline that ships.
"""

import json
from pathlib import Path

import pytest
import spacy

from pii_components.labels import ID_NUM, PHONE_NUM

from ..tiny import TOKENIZER

DATA = json.loads((Path(__file__).parents[1] / "data/regression_cases/digits.json").read_text("utf8"))


def failures(nlp):
    failed = []
    for case in DATA["cases"]:
        doc = nlp(case["text"])
        spans = [s for s in doc.spans["pii"] if s.label_ in (ID_NUM, PHONE_NUM)]
        found = [{"start": s.start_char, "end": s.end_char, "label": s.label_} for s in spans]
        if found != case["spans"]:
            failed.append(case["id"])
    return failed


def test_there_are_more_texts_without_identifiers():
    assert [sum(bool(case["spans"]) is wanted for case in DATA["cases"]) for wanted in (False, True)] == [25, 15]


def test_rules_alone():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    assert failures(nlp) == DATA["known_failures"]["ruler"]


@pytest.mark.slow
def test_the_shipped_pipeline():
    nlp = spacy.load("en_pii_edu", disable=["hips_surrogate"])
    assert failures(nlp) == DATA["known_failures"]["pipeline"]
