"""crossval.py: which classifier and threshold are taken, and options that cannot be."""

import json

import numpy
import pytest
import spacy
from spacy.tokens import DocBin, Span
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.crossval import THRESHOLDS, Choice, CrossValidation, choose_careful
from pii_components.labels import NAME_STUDENT
from pii_components.spans import SPANS_KEY

LOW, MID, HIGH = Choice(30.0, 10.0, 0.1), Choice(30.0, 10.0, 0.3), Choice(30.0, 10.0, 0.6)
OTHER = Choice(100.0, 10.0, 0.3)


@pytest.mark.parametrize(
    ("counts", "choices", "least", "expected"),
    [
        # a higher threshold that loses nobody here gains F5 by its precision, and is not taken
        ([[50, 12, 1], [50, 5, 1], [50, 0, 1]], [LOW, MID, HIGH], 0.8, LOW),
        # the lowest that reaches the precision
        ([[50, 50, 1], [50, 10, 1], [50, 0, 1]], [LOW, MID, HIGH], 0.8, MID),
        ([[50, 0, 1], [50, 10, 1], [50, 50, 1]], [HIGH, MID, LOW], 0.8, MID),
        # none does: the most precise
        ([[50, 90, 1], [50, 40, 1], [45, 30, 6]], [LOW, MID, HIGH], 0.8, HIGH),
        # nothing asked: the lowest
        ([[50, 50, 1], [50, 10, 1], [50, 0, 1]], [LOW, MID, HIGH], 0.0, LOW),
        # between classifiers F5 decides, of those that reach it
        ([[50, 10, 1], [51, 12, 0]], [MID, OTHER], 0.8, OTHER),
        ([[50, 10, 1], [51, 60, 0]], [MID, OTHER], 0.8, MID),
    ],
)
def test_the_lowest_threshold_that_is_precise_enough(counts, choices, least, expected):
    assert choices[choose_careful(numpy.asarray(counts), choices, min_precision=least)] == expected


@pytest.mark.parametrize(
    ("given", "penalties", "thresholds"),
    [
        ({}, {(30.0, 10.0), (30.0, 30.0), (100.0, 10.0), (100.0, 30.0)}, set(THRESHOLDS)),
        ({"protect": 0.21}, {(30.0, 10.0), (30.0, 30.0), (100.0, 10.0), (100.0, 30.0)}, {0.21}),
        ({"protect": 0.21, "l2": 30.0, "extra_l2": 10.0}, {(30.0, 10.0)}, {0.21}),
        ({"l2": 5.0}, {(5.0, 10.0), (5.0, 30.0)}, set(THRESHOLDS)),
    ],
)
def test_what_is_given_is_not_chosen(tmp_path, given, penalties, thresholds):
    path = tmp_path / "any"
    job = CrossValidation(
        work=path, source=path, config=path, corpus=path, settings=path, n_folds=2, replay=0, threads=1, min_precision=0.8, **given
    )
    choices = job.choices()
    assert {(c.l2, c.extra_l2) for c in choices} == penalties and {c.protect for c in choices} == thresholds
    assert len(choices) == len(set(choices)) == len(penalties) * len(thresholds)
    # those of one classifier stand together
    assert [(c.l2, c.extra_l2) for c in choices] == sorted((c.l2, c.extra_l2) for c in choices)


def test_an_encoder_that_there_is_not_is_refused(tmp_path):
    essay = {"document": "1", "full_text": "Ana wrote.", "tokens": ["Ana", "wrote", "."], "labels": ["B-NAME_STUDENT", "O", "O"]}
    essay["trailing_whitespace"] = [True, False, False]
    (tmp_path / "gold.json").write_text(json.dumps([essay]), "utf8")
    for name in ("train.spacy", "dev.spacy", "config.cfg", "model"):
        (tmp_path / name).touch()
    paths = {"--source": "model", "--config": "config.cfg", "--corpus": "", "--work": "work"}
    options = [part for key, name in paths.items() for part in (key, str(tmp_path / name))]
    done = CliRunner().invoke(app, ["evaluate", "crossval", str(tmp_path / "gold.json"), *options, "--encoder", "onnx-int4"])
    assert done.exit_code == 2 and "E519" in done.output and "onnx-int8" in done.output
    assert not (tmp_path / "work").exists()


def test_other_real_texts_are_learned_from_by_every_fold(tmp_path):
    """Those with a label twice, as essays are."""
    blank = spacy.blank("en")
    ours, named, other = (blank.make_doc(text) for text in ("one of ours", "Kim drew it", "nobody did"))
    for doc in (ours, named, other):
        doc.spans[SPANS_KEY] = [Span(doc, 0, 1, label=NAME_STUDENT)] if doc is named else []
    for folder, docs in (("corpus", [ours]), ("windows", [named, other])):
        (tmp_path / folder).mkdir()
        DocBin(docs=docs).to_disk(tmp_path / folder / "train.spacy")
    done = CrossValidation(
        work=tmp_path / "work", source=tmp_path, config=tmp_path, corpus=tmp_path / "corpus", settings=tmp_path, n_folds=5, replay=150,
        threads=1, min_precision=0.8, also=(tmp_path / "windows" / "train.spacy",),
    )  # fmt: skip
    assert [doc.text for doc in done._also(blank)] == [named.text, named.text, other.text]
    assert [doc.text for doc in done._replay(blank)] == [ours.text]
