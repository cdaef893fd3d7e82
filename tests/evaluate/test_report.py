"""The report: views, parts of the data, differences; plain data without a text."""

import json

import pytest

from pii_components.evaluate.gold import Run
from pii_components.evaluate.report import describe_data, print_score, score_report, write_report
from pii_components.evaluate.systems import run_system, spacy_system
from pii_components.profiles import Profile

KAGGLE = Profile.load("kaggle")


@pytest.fixture
def runs(nlp, gold):
    """A system that finds everything but nothing else, and one that finds persons."""
    perfect = tuple(entity for doc in gold for entity in doc.entities)
    words = sum(doc.n_words for doc in gold)
    return [
        Run("perfect", {}, perfect, frozenset(e.label for e in perfect), 0.5, 1.0, words),
        run_system(spacy_system(nlp, "spacy_ner"), gold),
    ]


@pytest.fixture
def report(runs, gold):
    data = {"data": describe_data(gold, file="gold.jsonl", sha256="ab" * 32)}
    return data | score_report(runs, gold, profile=KAGGLE, resamples=50)


def test_a_report_holds_no_text(report, gold, tmp_path, capsys):
    write_report(report, tmp_path / "metrics" / "m.json")
    print_score(json.loads((tmp_path / "metrics" / "m.json").read_text()))
    shown = (tmp_path / "metrics" / "m.json").read_text() + capsys.readouterr().out
    words = {word for doc in gold for word in doc.text.split() if word[0].isupper()}
    assert words and not [word for word in words if word in shown]


def test_data_are_described_by_counts(gold):
    data = describe_data(gold, file="gold.jsonl", sha256="ab")
    assert (data["documents"], data["documents_with_pii"]) == (4, 2)
    assert data["splits"] == {"base_train": 2, "test": 2}
    assert (data["support"]["NAME_STUDENT"], data["support"]["USERNAME"]) == (2, 0)
