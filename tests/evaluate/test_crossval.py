"""Cross-validation: probabilities are computed once, which classifier and threshold are taken, options that cannot be."""

import json
from types import SimpleNamespace

import numpy
import pytest
import spacy
from invented import NAME, document
from spacy.tokens import DocBin, Span
from thinc.api import NumpyOps
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.context.classifier import CLASSES
from pii_components.errors import PiiError
from pii_components.evaluate import crossval
from pii_components.evaluate.crossval import (  # fmt: skip
    THRESHOLDS,
    Cached,
    Choice,
    CrossValidation,
    Fold,
    cached_or_found,
    choose_careful,
    decide_with,
    find,
    predict_once,
)
from pii_components.evaluate.gold import Entity
from pii_components.labels import NAME_STUDENT
from pii_components.ner.decode import decode, output_labels
from pii_components.spans import SPANS_KEY, read_spans, write_spans
from pii_components.training.classifier import PersonExample


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
    """Stands for pii_context: drops what is less probable than the threshold, which it reads when it is loaded."""

    def __init__(self):
        self.cfg = {"settings": {}}
        self.protect = 0.0

    def to_bytes(self):
        return json.dumps(self.cfg).encode()

    def from_bytes(self, data):
        self.cfg.update(json.loads(data))
        self.protect = self.cfg["settings"].get("protect", 0.0)
        return self

    def __call__(self, doc):
        write_spans(doc, [cand for cand in read_spans(doc) if cand.score >= self.protect])
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


def texts(nlp, cached, threshold=0.0):
    decide_with(nlp, Classifier(), threshold)
    return [entity.text for entity, _ in find(nlp, cached, protects=bool)]


def test_probabilities_are_computed_once_and_what_follows_is_run_again(nlp, documents):
    cached = predict_once(nlp, documents)
    assert texts(nlp, cached, 0.1) == ["DANA"]
    assert texts(nlp, cached, 1.0) == ["DANA"]
    nlp.get_pipe("pii_ner").cfg["thresholds"]["NAME"] = 0.1
    assert texts(nlp, cached, 0.5) == ["DANA"]
    assert texts(nlp, cached, 0.1) == texts(nlp, cached) == ["DANA", "Oskar"]
    assert nlp.get_pipe("pii_ner").calls == 2
    assert [span.text for doc in nlp.pipe([doc.text for doc in documents]) for span in doc.spans["pii"]] == ["DANA", "Oskar"]


def test_probabilities_are_stored_and_belong_to_their_essays(nlp, documents, tmp_path):
    store = tmp_path / "p.npz"
    first = texts(nlp, cached_or_found(nlp, documents, store))
    assert texts(nlp, cached_or_found(nlp, documents, store)) == first and nlp.get_pipe("pii_ner").calls == 2
    with pytest.raises(PiiError, match=r"\[E791\]"):
        cached_or_found(nlp, documents[:1], store)


def test_a_pipeline_without_pii_ner_is_a_coded_error(documents):
    with pytest.raises(PiiError, match=r"\[E706\]"):
        predict_once(spacy.blank("en"), documents)


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
    assert [doc.text for doc in done._ours(blank)] == [ours.text, named.text, named.text, other.text]


def people(*numbers):
    return [PersonExample(n, numpy.zeros(2, dtype="f4"), numpy.ones(len(CLASSES), dtype="f4"), 1) for n in numbers]


class Classifier:
    def predict(self, rows):
        return numpy.full((len(rows), len(CLASSES)), 1 / len(CLASSES))


@pytest.fixture
def two_folds():
    """An essay each, of four names, of which every other one is true; and what is proposed with which probability."""
    nlp, folds, scored = spacy.blank("en"), [], {}
    for number, scores in (("0", [0.9, 0.2, 0.8, 0.35]), ("1", [0.9, 0.2, 0.35, 0.1])):
        gold = document(number, "Tamm Vell Orsk Quil", [("Tamm", NAME), ("Orsk", NAME)])
        scored[number] = [(Entity(number, i * 5, i * 5 + 4, NAME, gold.text[i * 5 : i * 5 + 4]), s) for i, s in enumerate(scores)]
        folds.append(Fold(nlp, [Cached(gold, numpy.zeros((0, 0)))], people(int(number))))
    return folds, scored


def test_what_was_vetoed_is_handed_on(monkeypatch, two_folds):
    """The threshold of each fold is the one that was chosen on the other."""
    folds, scored = two_folds
    monkeypatch.setattr(crossval, "train", lambda *args, **kwargs: Classifier())
    monkeypatch.setattr(crossval, "decide_with", lambda *args: None)
    monkeypatch.setattr(crossval, "find", lambda nlp, cached, protects: scored[cached[0].gold.id])
    choices = [Choice(1.0, 0.1, protect) for protect in (0.3, 0.5)]
    done = crossval.decide(folds, [], protects=lambda label: True, min_precision=0.8, choices=choices)
    # .3 is precise enough on the second essay's names, not on the first one's
    assert [choice.protect for choice in done.by_fold] == [0.3, 0.5]
    assert [one.entity for one in done.proposed] == [entity for found in scored.values() for entity, _ in found]
    assert [one.kept for one in done.proposed] == [True, False, True, True, True, False, False, False]
    assert done.entities == [one.entity for one in done.proposed if one.kept]


def test_persons_of_other_real_texts_stand_beside_those_of_the_folds(monkeypatch, two_folds):
    fitted = []

    def train(persons, *, extra, l2, extra_l2):
        fitted.append(([p.document for p in persons], [p.document for p in extra]))
        return Classifier()

    monkeypatch.setattr(crossval, "train", train)
    monkeypatch.setattr(crossval, "decide_with", lambda *args: None)
    monkeypatch.setattr(crossval, "find", lambda *args, **kwargs: [])
    crossval.decide(two_folds[0], people(7), also=people(8), protects=bool, min_precision=0.0, choices=[Choice(1.0, 0.1, 0.2)])
    assert fitted == [([1, 8], [7]), ([0, 8], [7])]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Essays and a corpus of ours in files; training is passed over, and the detector finds capitals."""

    def assemble(*_args, **_kwargs):
        made = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
        spacy.Language.factory("fake_detector", func=lambda nlp, name: FakeNer())
        made.add_pipe("fake_detector", name="pii_ner")
        made.add_pipe("pii_context")
        made.add_pipe("sentencizer", name="hips_surrogate")
        return made

    monkeypatch.setattr(crossval, "train_fold", lambda folder, **_kwargs: folder / "model-last")
    monkeypatch.setattr(crossval, "assemble", assemble)
    lines = []
    for n, name in enumerate(("DANA", "OSKAR", "ILSE", "MARTA", "JUNO", "TOMAS")):
        tokens, labels = ["By", name, "today", str(n)], ["O", "B-NAME_STUDENT", "O", "O"]
        spaces = [True] * 3 + [False]
        text = " ".join(tokens)
        lines.append({"document": n, "full_text": text, "tokens": tokens, "trailing_whitespace": spaces, "labels": labels})
    for name, part in (("gold.jsonl", lines[:4]), ("apart.jsonl", lines[4:])):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in part), "utf8")
    doc = spacy.blank("en").make_doc("By KIM today")
    doc.spans[SPANS_KEY] = [Span(doc, 1, 2, label=NAME_STUDENT)]
    for name in ("train", "dev"):
        DocBin(docs=[doc] * 3).to_disk(tmp_path / f"{name}.spacy")
    (tmp_path / "pipeline.json").write_text("{}", "utf8")
    (tmp_path / "config.cfg").touch()
    return tmp_path


def test_the_command_from_essays_to_metrics(workplace):
    paths = {"--source": "", "--config": "config.cfg", "--corpus": "", "--settings": "pipeline.json", "--work": "work", "--out": "m.json"}
    options = [part for key, name in paths.items() for part in (key, str(workplace / name))]
    command = ["evaluate", "crossval", str(workplace / "gold.jsonl"), *options, "--folds", "2", "--resamples", "5", "--l2", "30"]
    done = CliRunner().invoke(app, [*command, "--apart", str(workplace / "apart.jsonl"), "--also", str(workplace / "dev.spacy")])
    assert done.exit_code == 0, done.output
    report, apart = (json.loads((workplace / name).read_text()) for name in ("m.json", "m_apart.json"))
    assert report["command"].endswith(
        "--folds 2 --protect 0.2 --l2 30 --also " + f"{workplace.name}/dev.spacy --min-precision 0 --profile crapii"
    )
    assert report["systems"]["held_out"]["views"]["all"]["bag"]["tp"] == 4 and apart["systems"]["apart"]["views"]["all"]["bag"]["tp"] == 2
    assert report["calibration"]["private people, held out"]["n"] == 4 and "control" not in report
    chosen = json.loads((workplace / "work" / "chosen.json").read_text())
    assert chosen["l2"] == 30 and len(chosen["by_fold"]) == 2 and (chosen["extra"], chosen["also"]) == (3, 3)
    stored = json.loads((workplace / "work" / "proposed.json").read_text())
    assert [row[3] for row in stored["proposed"]] == [NAME_STUDENT] * 4 and stored["strict"] > 0.5
    assert {path.name for path in (workplace / "work").glob("*.*")} >= {"classifier.npz", "held_out.jsonl", "ours.npz", "apart.npz"}
    # Again, from what is stored; without a classifier the rules decide.
    assert CliRunner().invoke(app, [*command, "--no-classifier", "--quiet"]).exit_code == 0
    assert list(json.loads((workplace / "m.json").read_text())["systems"]) == ["rules"]
