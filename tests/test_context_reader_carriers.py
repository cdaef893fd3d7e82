"""Real writing for the reader: what a mark says, and what is left open of those whom nobody marked."""

import json
import sys

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from pii_components import context_reader_carriers as carriers
from pii_components.context_model import CLASSES
from pii_components.context_reader import pieces_of
from pii_components.context_reader_data import Settings, people_of_gold, read_texts
from pii_components.corpus.build import split_of
from pii_components.errors import PiiError
from pii_components.labels import CHARACTER, CONNECTED, NAME_CITED, STUDENT
from pii_components.ner_loss import FOUND_KEY
from pii_components.spans import SPANS_KEY, Candidate, write_spans

TEXTS = (
    "Dear principal, I think that phones help. Winston Churchill once said so.\n\nYours truly, STUDENT_NAME",
    "When I was ten Generic_Name and I went to the lake. Neil Armstrong would have liked it there.",
    "Some say that Thomas Edison slept little. I sleep a lot and my grades are fine.",
    "No one is named here at all, and that is all there is to say about school lunch.",
)


@Language.component("capitals_as_names")
def capitals_as_names(doc):
    """Two capitalised words in a row, as a detector that is sure."""
    found = [i for i in range(1, len(doc) - 1) if doc[i].text.istitle() and doc[i + 1].text.istitle() and doc[i + 1].is_alpha]
    write_spans(doc, [Candidate(i, i + 2, NAME_CITED, 0.99, "model") for i in found])
    return doc


@pytest.fixture
def folder(tmp_path):
    """Carriers whose ids lie in the part to train on."""
    path = tmp_path / "persuade" / "persuade.jsonl"
    path.parent.mkdir()
    rows = []
    for n, text in enumerate(TEXTS):
        key = next(f"k{m}" for m in range(500) if split_of(f"{path.name}|k{m}|{n}") == "train")
        rows.append(json.dumps({"id": key, "text": text}))
    path.write_text("\n".join(rows) + "\n", "utf8")
    return path.parent


@pytest.fixture
def nlp():
    made = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    made.add_pipe("capitals_as_names")
    made.add_pipe("pii_context")
    return made


@pytest.fixture
def written(folder, nlp, tmp_path, monkeypatch):
    nlp.to_disk(tmp_path / "pipeline")
    argv = ["carriers", str(folder), "--pipeline", str(tmp_path / "pipeline"), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", argv)
    carriers.main()
    return tmp_path / "out" / "train.spacy"


def test_what_nobody_marked_stands_beside_what_a_mark_says(written, nlp):
    docs = list(DocBin().from_disk(written).get_docs(nlp.vocab))
    assert len(docs) == 3  # the one that names nobody is left out
    found = {span.text for doc in docs for span in doc.spans[FOUND_KEY]}
    assert {"Winston Churchill", "Neil Armstrong", "Thomas Edison"} <= found
    for doc in docs:
        assert "STUDENT_NAME" not in doc.text and "Generic_Name" not in doc.text
        inside = [(s.start, s.end) for s in doc.spans[SPANS_KEY]]
        assert not any(s.start < end and start < s.end for s in doc.spans[FOUND_KEY] for start, end in inside)


def test_public_people_may_be_anything_but_private(written, nlp):
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"[unused{n}]" for n in range(100))]
    texts = read_texts(written, nlp, pieces_of(vocabulary), Settings())
    rows = numpy.concatenate([text.allowed for text in texts]).tolist()
    public = [float(name not in (STUDENT, CONNECTED)) for name in CLASSES]
    figure = [float(name in (CHARACTER, CONNECTED)) for name in CLASSES]
    student = [float(name == STUDENT) for name in CLASSES]
    assert rows.count(public) >= 3
    assert rows.count(student) == 1 and rows.count(figure) == 1


def test_no_more_than_asked_for_and_the_same_again(folder):
    def drawn(**most):
        return [filled.text for filled in carriers.filled_carriers(folder / "persuade.jsonl", seed=3, **most)]

    assert len(drawn(named=5, others=5)) == 4
    assert len(drawn(named=1, others=0)) == 1
    assert drawn(named=1, others=1) == drawn(named=1, others=1)
    assert not list(carriers.filled_carriers(folder / "persuade.jsonl", split="test", named=5, others=5))


def test_with_names_of_a_detector_no_words_are_drawn_by_lot(written, nlp):
    import random

    doc = next(DocBin().from_disk(written).get_docs(nlp.vocab))
    context = nlp.get_pipe("pii_context")
    both = [people_of_gold(context, doc, random.Random(seed), strangers=1.0) for seed in (1, 2)]
    assert both[0] == both[1]


def test_no_carriers_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["carriers", str(tmp_path), "--out", str(tmp_path / "out")])
    with pytest.raises(PiiError, match="E603"):
        carriers.main()
