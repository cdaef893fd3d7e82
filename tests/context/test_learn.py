"""What `pii_context` learns from labelled texts: what a name may be by gold, people and things that move, and what it needs."""

from copy import deepcopy
from dataclasses import replace

import numpy
import pytest
from spacy.training import Example
from thinc.api import Adam

from pii_components.context.classifier import CLASSES, NOT_NAME
from pii_components.context.learn import Gold
from pii_components.errors import PiiError
from pii_components.spans import Candidate, write_spans

from .marking import NLP, always, context_of, heads, marked

TEXT = "Ana met Bo in Oslo."
CRAPII = {"NAME_STUDENT": ["NAME_STUDENT", "NAME_CONNECTED"]}
ROLES = {f"NAME_{role}": [f"NAME_{role}"] for role in CLASSES if role != NOT_NAME}


def reference(*spans, annotated=None, unlabelled=()):
    doc = NLP(TEXT)
    doc.spans["pii"] = [doc.char_span(a, b, label=label) for a, b, label in spans]
    doc.spans["pii_unlabelled"] = [doc.char_span(a, b) for a, b in unlabelled]
    if annotated is not None:
        doc.spans["pii"].attrs["annotated"] = annotated
    return doc


STUDENT = (0, 3, "NAME_STUDENT")


@pytest.mark.parametrize(
    ("gold", "ana", "bo"),
    [
        (reference(STUDENT), {"STUDENT"}, {NOT_NAME}),
        (reference(STUDENT, annotated=ROLES), {"STUDENT"}, {NOT_NAME}),
        (reference(STUDENT, annotated=CRAPII), {"STUDENT", "CONNECTED"}, {*CLASSES} - {"STUDENT"}),
        (reference(annotated={"COURSE": ["COURSE"]}), {*CLASSES}, {*CLASSES}),
        (reference(STUDENT, unlabelled=[(8, 10)]), {"STUDENT"}, set()),
        (reference(STUDENT, (8, 10, "USERNAME")), {"STUDENT"}, set()),
        (reference((0, 10, "NAME_CITED")), {"CITED"}, {"CITED"}),
    ],
)
def test_what_a_name_may_be(gold, ana, bo):
    known, doc = Gold(gold, "pii"), NLP(TEXT)
    assert set(known.classes(doc[0:1])) == ana and set(known.classes(doc[2:3])) == bo


@pytest.mark.parametrize(
    ("gold", "somebodys"),
    [
        (reference((14, 18, "LOCATION")), True),
        (reference(STUDENT), False),
        (reference(STUDENT, annotated=CRAPII), None),
        (reference(STUDENT, annotated={"LOCATION": ["LOCATION"]}), False),
        (reference(STUDENT, unlabelled=[(14, 18)]), None),
    ],
)
def test_whether_a_thing_is_somebodys(gold, somebodys):
    span = NLP(TEXT).char_span(14, 18, label="LOCATION")
    assert Gold(gold, "pii").is_somebodys(span) is somebodys


def unsure():
    """RETURNS (PiiContext): Heads with random weights, and a decision that does not know yet what to make of them."""
    model = always(0.2, 0.2, 0.2, 0.2, 0.1, 0.1)
    return context_of(replace(model, mean=model.mean - 3, scale=model.scale * 2), deepcopy(heads()))


def example(gold, label="NAME_STUDENT"):
    doc = NLP(TEXT)
    cands = [Candidate(0, 1, label, 0.9, "model"), Candidate(2, 3, label, 0.9, "model")]
    write_spans(doc, [*cands, Candidate(4, 5, "LOCATION", 0.9, "model")])
    doc.tensor = numpy.random.default_rng(3).normal(size=(len(doc), 384)).astype("f4")
    return Example(doc, gold)


def test_people_and_things_are_learned():
    """Both people begin alike, and so does the town; gold says that one is the writer, one an author, the town somebody's."""
    context = unsure()
    gold = reference(STUDENT, (8, 10, "NAME_CITED"), (14, 18, "LOCATION"))
    optimizer, losses = Adam(0.05, L2=0.0), []
    assert context.is_trainable
    for _ in range(60):
        losses.append(context.update([example(gold)], sgd=optimizer)["pii_context"])
    assert losses[-1] < 0.1 < 1 < losses[0]
    doc = context(example(gold).predicted)
    found = {span.text: span.label_ for span in doc.spans["pii"]}
    assert found == {"Ana": "NAME_STUDENT", "Bo": "NAME_CITED", "Oslo": "LOCATION"}
    again = context_of(None).from_bytes(context.to_bytes())
    doc = again(example(gold).predicted)
    assert found == {span.text: span.label_ for span in doc.spans["pii"]}


def test_without_a_step_nothing_moves():
    context = unsure()
    before = context.to_bytes()
    losses = context.update([example(reference(STUDENT))], losses={"pii_ner": 1.0})
    assert losses["pii_ner"] == 1.0 and losses["pii_context"] > 0
    assert context.to_bytes() == before


def test_what_learning_needs():
    context = unsure()
    eg = example(reference(STUDENT))
    del eg.predicted.spans["pii"]
    with pytest.raises(PiiError, match="E305"):
        context.update([eg])
    eg.predicted.tensor = numpy.zeros((0,), dtype="f4")
    with pytest.raises(PiiError, match="E108"):
        context.update([eg])
    untaught = context_of(None)
    assert not untaught.is_trainable
    assert untaught.update([Example(marked(TEXT), reference(STUDENT))]) == {"pii_context": 0.0}
