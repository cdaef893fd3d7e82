"""Gold in `doc.ents` alone is read; what nobody has annotated, or with other labels, teaches nothing."""

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin, Span
from spacy.training import Example

from pii_components.errors import PiiError
from pii_components.factories import make_essay_corpus
from pii_components.ner.loss import targets
from pii_components.ner.scorer import score_pii

from ..tiny import TOKENIZER, TRAIN, gold

LABELS = ["NAME_STUDENT", "NAME_CITED", "EMAIL"]


def reference(nlp, text, spans, where):
    doc = nlp.make_doc(text)
    found = [doc.char_span(*span[:2], label=span[2], alignment_mode="expand") for span in spans]
    if where == "ents":
        doc.set_ents(found)
    elif where == "spans":
        doc.spans["pii"] = found
    return doc


def target(doc, nlp):
    return targets(nlp.make_doc(doc.text), doc, LABELS, class_weights={})


def test_only_what_is_annotated_counts():
    nlp = spacy.blank("en", config=TOKENIZER)
    doc = nlp.make_doc("Ana Lopez read Norman twice")
    assert not target(doc, nlp).weights.any()
    doc.spans["pii"] = []
    assert target(doc, nlp).weights.all()
    del doc.spans["pii"]
    doc.set_ents([Span(doc, 0, 2, label="NAME_STUDENT"), Span(doc, 3, 4, label="PERSON")])
    assert target(doc, nlp).weights.tolist() == [1, 1, 1, 0, 1]
    doc.set_ents([Span(doc, 0, 2, label="NAME_STUDENT")], default="missing")
    assert target(doc, nlp).weights.tolist() == [1, 1, 0, 0, 0]


def test_entities_of_others_alone_are_refused():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ner")
    doc = reference(nlp, "Ana Lopez wrote.", [(0, 9, "PERSON")], "ents")
    examples = [Example(nlp.make_doc(doc.text), doc)]
    nlp.initialize(lambda: [gold(nlp, text, spans) for text, spans in TRAIN])
    for teach in (nlp.update, nlp.evaluate, lambda egs: nlp.initialize(lambda: egs)):
        with pytest.raises(PiiError, match="E002.*PERSON"):
            teach(examples)


@pytest.mark.parametrize("where", ["ents", "spans"])
def test_spacy_train_reads_both(where, tmp_path):
    nlp = spacy.blank("en", config=TOKENIZER)
    made = [reference(nlp, text, spans, where) for text, spans in TRAIN]
    DocBin(docs=made, store_user_data=True).to_disk(tmp_path / "gold.spacy")
    assert len(list(make_essay_corpus(tmp_path / "gold.spacy", clean_share=0)(nlp))) == 4
    nlp.add_pipe("pii_ner")
    config = nlp.config.copy()
    config["paths"] |= dict.fromkeys(("train", "dev"), str(tmp_path / "gold.spacy"))
    config["training"] |= {"max_steps": 40, "eval_frequency": 20, "patience": 0}
    config.to_disk(tmp_path / "config.cfg")
    train(tmp_path / "config.cfg", tmp_path / "out")
    doc = spacy.load(tmp_path / "out" / "model-last")("My name is Ana Lopez.")
    assert [(s.text, s.label_) for s in doc.spans["pii"]] == [("Ana Lopez", "NAME_STUDENT")]


STUDENTS_ONLY = {"NAME_STUDENT": ["NAME_STUDENT", "NAME_CONNECTED"]}


@pytest.mark.parametrize(
    ("found", "known", "precision", "recall"),
    [
        ("NAME_STUDENT EMAIL", {}, 0.5, 1.0),
        ("NAME_STUDENT EMAIL", STUDENTS_ONLY, 1.0, 1.0),  # nobody looked for addresses
        ("NAME_CONNECTED EMAIL", STUDENTS_ONLY, 1.0, 1.0),  # may be a classmate
        ("NAME_CITED EMAIL", STUDENTS_ONLY, 0.0, 0.0),  # which gold says it is not
        (" NAME_STUDENT", STUDENTS_ONLY, 0.0, 0.0),
    ],
)
def test_what_nobody_looked_for_is_neither_right_nor_wrong(found, known, precision, recall):
    nlp = spacy.blank("en", config=TOKENIZER)
    doc = reference(nlp, "Ana wrote to a@b.org", [(0, 3, "NAME_STUDENT")], "spans")
    doc.spans["pii"].attrs["annotated"] = known
    places = zip(((0, 3), (13, 20)), found.split(" "), strict=True)
    spans = [(*place, label) for place, label in places if label]
    made = Example(reference(nlp, doc.text, spans, "spans"), doc)
    scores = score_pii([made])
    assert (scores["pii_p"], scores["pii_r"]) == (precision, recall)
