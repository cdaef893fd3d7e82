"""Windows around one labelled token: what is known of them, and what is not."""

import json
import sys

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from pii_components.context.classifier import CLASSES
from pii_components.context.role_encoder import pieces_of
from pii_components.errors import PiiError
from pii_components.labels import CONNECTED, EMAIL, LABELS, NAME_CITED, NAME_STUDENT, STUDENT
from pii_components.ner.decode import output_labels
from pii_components.ner.loss import FOUND_KEY, UNLABELLED_KEY, targets
from pii_components.spans import SPANS_KEY, Candidate, write_spans
from pii_components.training.role_encoder import Settings, read_texts
from scripts import windows
from scripts.windows import Stretch, of_names, read_windows, with_names

TEXT = "We drew it with Ilse Varga and asked Tomas Brandt and Kim what Porter would say of it."


@Language.component("pairs_as_names")
def pairs_as_names(doc):
    """Two capitalised words in a row, as a detector that is sure."""
    found = [i for i in range(1, len(doc) - 1) if doc[i].text.istitle() and doc[i + 1].text.istitle()]
    write_spans(doc, [Candidate(i, i + 2, NAME_CITED, 0.99, "model") for i in found])
    return doc


@pytest.fixture
def nlp():
    made = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    made.add_pipe("pairs_as_names")
    made.add_pipe("pii_context", config={"settings": {"find": False}})
    return made


def at(word, label=NAME_STUDENT, *, inside=False):
    return Stretch(TEXT.index(word), TEXT.index(word) + len(word), label, inside)


def words(doc, key):
    return [span.text for span in doc.spans[key]]


@pytest.mark.parametrize(
    ("stretches", "students", "others"),
    [
        ([at("Ilse")], ["Ilse Varga"], ["Tomas Brandt"]),  # the detector says how far it goes
        ([at("Varga", inside=True)], ["Ilse Varga"], ["Tomas Brandt"]),
        ([at("Ilse"), at("Varga", inside=True)], ["Ilse Varga"], ["Tomas Brandt"]),
        ([at("Kim")], ["Kim"], ["Ilse Varga", "Tomas Brandt"]),  # it found nothing there
        ([at("Tomas", "O")], [], ["Ilse Varga", "Tomas Brandt"]),
        ([at("Kim"), at("Tomas", "O")], ["Kim"], ["Ilse Varga", "Tomas Brandt"]),
    ],
)
def test_a_labelled_token_stands_for_its_name(nlp, stretches, students, others):
    doc = with_names(nlp, TEXT, stretches)
    assert words(doc, SPANS_KEY) == students
    assert words(doc, FOUND_KEY) == others


def test_a_surname_that_nobody_found_gets_the_capitalised_words_before_it(nlp):
    nlp.remove_pipe("pairs_as_names")
    assert words(with_names(nlp, TEXT, [at("Varga", inside=True)]), SPANS_KEY) == ["Ilse Varga"]
    assert words(with_names(nlp, TEXT, [at("Varga")]), SPANS_KEY) == ["Varga"]


def test_the_detector_learns_of_what_is_known_and_of_nothing_else(nlp):
    doc = with_names(nlp, TEXT, [at("Ilse"), at("Porter", "O")])
    target = targets(nlp.make_doc(TEXT), doc, LABELS, class_weights={})
    known = [token.text for token, weight in zip(doc, target.weights, strict=True) if weight]
    assert known == ["Ilse", "Varga", "Porter"]
    assert {token.text for span in doc.spans[UNLABELLED_KEY] for token in span}.isdisjoint(known)
    columns = output_labels(LABELS)
    may = {columns[i] for i in numpy.flatnonzero(target.wanted[[t.text for t in doc].index("Porter")])}
    assert {"O", "B-NAME_CITED", "B-NAME_CONNECTED"} <= may
    assert may.isdisjoint({f"B-{NAME_STUDENT}", f"B-{EMAIL}"})


def test_the_reader_learns_who_is_private_and_who_is_not(nlp, tmp_path):
    path = tmp_path / "train.spacy"
    texts = [with_names(nlp, TEXT, [at("Ilse"), at("Tomas", "O")]), with_names(nlp, TEXT, [])]
    DocBin(docs=texts).to_disk(path)
    pieces = pieces_of(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "we", "with", "and"])
    [text] = read_texts(path, nlp, pieces, Settings())  # of the second nothing is known
    private = [CLASSES.index(STUDENT), CLASSES.index(CONNECTED)]
    assert sorted(text.allowed[:, private].sum(axis=1).tolist()) == [0.0, 2.0]
    assert sorted(text.allowed.sum(axis=1).tolist()) == [2.0, len(CLASSES) - 2]


def write(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf8")
    return path


def row(word, label):
    return {"text": TEXT, "start": TEXT.index(word), "end": TEXT.index(word) + len(word), "label": label}


def test_rows_of_one_text_are_together_and_names_can_be_had_alone(tmp_path):
    path = write(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), row("Kim", "I-STREET_ADDRESS"), row("Porter", "O"))
    found = read_windows(path)
    assert found == {TEXT: [at("Ilse"), at("Kim", "STREET_ADDRESS", inside=True), at("Porter", "O")]}
    assert of_names(found) == {TEXT: [at("Ilse"), at("Porter", "O")]} and of_names({TEXT: [at("Kim", "EMAIL")]}) == {}


@pytest.mark.parametrize(
    "bad", ["{", "[1]", {"text": TEXT}, {**row("Kim", "O"), "end": 9999}, {**row("Kim", "O"), "start": None}, {**row("Kim", "O"), "label": 3}]
)
def test_a_row_that_is_none_is_told_by_its_line(tmp_path, bad):
    path = write(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), bad)
    with pytest.raises(PiiError, match="w.jsonl, line 2") as told:
        read_windows(path)
    assert told.value.code == "E611" and "Ilse" not in str(told.value)


def test_the_command(nlp, tmp_path, monkeypatch):
    nlp.to_disk(tmp_path / "pipeline")
    path = write(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), row("Porter", "O"))
    out = tmp_path / "corpus"
    monkeypatch.setattr(sys, "argv", ["windows", str(path), "--pipeline", str(tmp_path / "pipeline"), "--out", str(out)])
    windows.main()
    [doc] = DocBin().from_disk(out / "train.spacy").get_docs(nlp.vocab)
    assert words(doc, SPANS_KEY) == ["Ilse Varga"] and words(doc, FOUND_KEY) == ["Tomas Brandt"]


def test_the_command_refuses_a_file_without_rows(tmp_path, monkeypatch):
    path = write(tmp_path / "w.jsonl", row("Kim", "B-EMAIL"))
    monkeypatch.setattr(sys, "argv", ["windows", str(path), "--out", str(tmp_path / "corpus")])
    with pytest.raises(PiiError) as told:
        windows.main()
    assert told.value.code == "E611" and not (tmp_path / "corpus").exists()
