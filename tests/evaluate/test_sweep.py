"""Settings are tried with probabilities computed once, and chosen on other documents than they are measured on."""

import json
from types import SimpleNamespace

import numpy
import pytest
import spacy
from invented import NAME, document
from pii_components.evaluate.thresholds import default_places, read_places
from thinc.api import NumpyOps

from pii_components.errors import PiiError
from pii_components.evaluate.crossval import choose, cross_validate, find_with, folds, grid, predict_once
from pii_components.ner.decode import decode, output_labels
from pii_components.spans import read_spans, write_spans


class FakeNer:
    """Stands for pii_ner: the probability of a name is the share of capitals in a word."""

    labels = ("NAME_STUDENT",)

    def __init__(self):
        self.cfg = {"thresholds": {"NAME": 0.5}}
        self.model = SimpleNamespace(ops=NumpyOps())
        self.calls = 0

    def predict(self, docs):
        self.calls += len(docs)
        out = []
        for doc in docs:
            probs = numpy.zeros((len(doc), len(output_labels(self.labels))), dtype="f4")
            for token in doc:
                probs[token.i, 1] = sum(c.isupper() for c in token.text) / len(token)
            out.append(probs)
        return out

    def set_annotations(self, docs, scores):
        for doc, probs in zip(docs, scores, strict=True):
            write_spans(doc, decode(doc, probs, self.labels, self.cfg["thresholds"]))

    def __call__(self, doc):
        self.set_annotations([doc], self.predict([doc]))
        return doc


class FakeContext:
    """Stands for pii_context: drops what is less probable than min_score, which it reads when it is loaded."""

    def __init__(self):
        self.cfg = {"settings": {}}
        self.min_score = 0.0

    def to_bytes(self):
        return json.dumps(self.cfg).encode()

    def from_bytes(self, data):
        self.cfg.update(json.loads(data))
        self.min_score = self.cfg["settings"].get("min_score", 0.0)
        return self

    def __call__(self, doc):
        write_spans(doc, [cand for cand in read_spans(doc) if cand.score >= self.min_score])
        return doc


@pytest.fixture
def nlp():
    made = spacy.blank("en")
    for name, made_by in (("pii_ner", FakeNer), ("pii_context", FakeContext)):
        spacy.Language.factory(f"fake_{name}", func=lambda nlp, name, made_by=made_by: made_by())
        made.add_pipe(f"fake_{name}", name=name)
    return made


@pytest.fixture
def documents():
    return [document("1", "DANA wrote this", [("DANA", NAME)]), document("2", "Oskar wrote that", [("Oskar", NAME)])]


def texts(nlp, cached, **setting):
    return [entity.text for entity in find_with(nlp, cached, {place.replace("__", "."): v for place, v in setting.items()})]


def test_probabilities_are_computed_once(nlp, documents):
    cached = predict_once(nlp, documents)
    for threshold in (0.1, 0.5, 0.9):
        texts(nlp, cached, pii_ner__thresholds__NAME=threshold)
    assert nlp.get_pipe("pii_ner").calls == 2


def test_a_setting_works_as_in_the_pipeline_itself(nlp, documents):
    cached = predict_once(nlp, documents)
    for threshold in (0.1, 0.5, 1.0):
        found = texts(nlp, cached, pii_ner__thresholds__NAME=threshold)
        nlp.get_pipe("pii_ner").cfg["thresholds"]["NAME"] = threshold
        docs = [nlp(doc.text) for doc in documents]
        assert found == [span.text for doc in docs for span in doc.spans["pii"]]


def test_what_follows_is_run_again(nlp, documents):
    cached = predict_once(nlp, documents)
    assert texts(nlp, cached, pii_ner__thresholds__NAME=0.1) == ["DANA", "Oskar"]
    assert texts(nlp, cached, pii_ner__thresholds__NAME=0.1, pii_context__settings__min_score=0.5) == ["DANA"]
    assert texts(nlp, cached, pii_ner__thresholds__NAME=0.1) == ["DANA", "Oskar"]


def test_settings_are_put_back(nlp, documents):
    cached = predict_once(nlp, documents)
    texts(nlp, cached, pii_ner__thresholds__EMAIL=0.1, pii_ner__thresholds__NAME=0.1)
    assert nlp.get_pipe("pii_ner").cfg["thresholds"] == {"NAME": 0.5}
    texts(nlp, cached, pii_context__settings__min_score=0.5)
    assert nlp.get_pipe("pii_context").cfg == {"settings": {}}
    assert nlp.get_pipe("pii_context").min_score == 0


@pytest.mark.parametrize(
    "place", ["pii_ruler.x", "pii_ner", "pii_ner.nothing", "pii_context.min_scores", "pii_ner.nothing.NAME"]
)
def test_a_place_that_is_not_there_is_a_coded_error(nlp, documents, place):
    with pytest.raises(PiiError, match=r"\[E706\]"):
        find_with(nlp, predict_once(nlp, documents), {place: 0.5})


def test_a_pipeline_without_pii_ner_is_a_coded_error(documents):
    with pytest.raises(PiiError, match=r"\[E706\]"):
        predict_once(spacy.blank("en"), documents)


def test_grids_hold_every_combination():
    assert grid({"a": [1, 2], "b": [3]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert read_places(["pii_ner.thresholds.NAME=.1, .2", "pii_context.settings.min_score=1"]) == {
        "pii_ner.thresholds.NAME": [0.1, 0.2],
        "pii_context.settings.min_score": [1.0],
    }


@pytest.mark.parametrize("text", ["pii_ner.thresholds.NAME", "a=x", "=1", "a="])
def test_places_of_another_form_are_a_coded_error(text):
    with pytest.raises(PiiError, match=r"\[E708\]"):
        read_places([text])


def test_default_places_are_those_of_the_components(nlp):
    assert list(default_places(nlp)) == ["pii_ner.thresholds.NAME", "pii_context.settings.min_score"]
    nlp.remove_pipe("pii_context")
    assert list(default_places(nlp)) == ["pii_ner.thresholds.NAME"]


def test_folds_share_out_documents_with_pii_evenly():
    documents = [document(str(i), "Dana x", [("Dana", NAME)] if i < 6 else []) for i in range(20)]
    fold = folds(documents, 3, seed=1)
    assert [int((fold[:6] == n).sum()) for n in range(3)] == [2, 2, 2]
    assert sorted(int((fold == n).sum()) for n in range(3)) == [6, 7, 7]
    assert (fold[::-1] == folds(documents[::-1], 3, seed=1)).all()


@pytest.mark.parametrize("n", [1, 3])
def test_folds_that_cannot_be_are_a_coded_error(documents, n):
    with pytest.raises(PiiError, match=r"\[E707\]"):
        folds(documents, n, seed=1)


# counts of three settings: careful, middling, greedy
THREE = numpy.asarray([[5, 0, 5], [8, 8, 2], [10, 90, 0]])


@pytest.mark.parametrize(
    ("criterion", "least", "expected"), [("f5", 0, 1), ("f1", 0, 0), ("f5", 0.6, 0), ("f5", 1.0, 0), ("f5", 0.5, 1)]
)
def test_the_best_setting(criterion, least, expected):
    assert choose(THREE, criterion=criterion, min_precision=least) == expected


def test_the_first_of_equals_is_taken():
    assert choose(numpy.asarray([[1, 0, 0], [1, 0, 0]])) == 0


def test_a_setting_is_chosen_on_other_documents():
    # Setting 0 is right on the first fold only, setting 1 on the second only: each is chosen where it fails.
    right, wrong = [1, 0, 0], [0, 1, 1]
    counts = numpy.asarray([[right, right, wrong, wrong], [wrong, wrong, right, right]])
    held_out, chosen = cross_validate(counts, numpy.asarray([0, 0, 1, 1]))
    assert chosen == [1, 0]
    assert held_out.tolist() == [wrong] * 4
