"""loss.py: what a token may be, its weight, and the gradient."""

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from pii_components.context.classifier import softmax
from pii_components.corpus.build import CRAPII_ANNOTATED, Filled, to_doc
from pii_components.errors import PiiError
from pii_components.labels import NAME_LABELS
from pii_components.ner.decode import GROUPS, output_labels
from pii_components.ner.loss import Target, targets, weighted_loss

COLUMNS = output_labels(GROUPS)
nlp = spacy.blank("en")


def may_be(target: Target, token: int) -> set[str]:
    return {COLUMNS[i] for i in numpy.flatnonzero(target.wanted[token])}


def partial_target(annotated: dict, text: str, *spans: tuple[int, int, str]) -> Target:
    reference = to_doc(nlp, Filled(text, spans, (), annotated))
    data = DocBin(docs=[reference]).to_bytes()  # as training reads it
    (reference,) = DocBin().from_bytes(data).get_docs(nlp.vocab)
    return targets(nlp.make_doc(text), reference, GROUPS, class_weights={"O": 0.3})


def test_unmarked_names_may_be_authors():
    ana = (0, 9, "NAME_STUDENT")
    target = partial_target(CRAPII_ANNOTATED, "Ana Lopez read Norman twice", ana)
    assert (may_be(target, 0), may_be(target, 1)) == ({"B-NAME"}, {"I-NAME"})
    assert {"O", "B-NAME", "I-NAME", "B-LOCATION"} <= may_be(target, 3)
    assert not may_be(target, 3) & {"B-EMAIL", "I-ID_NUM"}
    assert target.weights.tolist() == pytest.approx([1, 1, 0.3, 0.3, 0.3])


@pytest.mark.parametrize("looked_for", [NAME_LABELS, NAME_LABELS[:-1]])
def test_names_are_complete_with_all_roles(looked_for):
    target = partial_target({label: [label] for label in looked_for}, "Norman writes")
    assert ("B-NAME" in may_be(target, 0)) is (looked_for != NAME_LABELS)
    assert {"O", "B-EMAIL"} <= may_be(target, 0)


def test_unmarked_essays_want_o():
    reference = to_doc(nlp, Filled("Norman writes"))
    target = targets(nlp.make_doc("Norman writes"), reference, GROUPS, class_weights={})
    assert target.wanted is None and not target.gold.any()


def test_unknown_annotation_is_coded_error():
    reference = to_doc(nlp, Filled("Norman writes", (), (), {"NAME_PET": ["NAME_PET"]}))
    with pytest.raises(PiiError, match="E002"):
        targets(nlp.make_doc("Norman writes"), reference, GROUPS, class_weights={})


def test_annotation_survives_cuts():
    filled = Filled("Ana Lopez read Norman twice", ((0, 9, "NAME_STUDENT"),), (), CRAPII_ANNOTATED)
    assert filled.cut(10, 27).annotated == CRAPII_ANNOTATED
    assert (Filled("Title\n") + filled).annotated == CRAPII_ANNOTATED


logits = st.lists(st.lists(st.floats(-8, 8), min_size=5, max_size=5), min_size=1, max_size=4)


@given(logits, st.randoms(use_true_random=False), st.booleans())
def test_gradient_is_that_of_loss(rows, rng, partial):
    z = numpy.asarray(rows, dtype="f8")
    gold = numpy.asarray([rng.randrange(5) for _ in rows])
    weights = numpy.asarray([rng.choice((0.0, 0.3, 1.0)) for _ in rows])
    wanted = None
    if partial:
        wanted = numpy.asarray([[float(rng.random() < 0.5) for _ in range(5)] for _ in rows])
        wanted[numpy.arange(len(rows)), gold] = 1.0
    target = Target(gold, weights, wanted)

    def loss_of(scores):
        return weighted_loss(numpy, [softmax(scores)], [target])

    loss, (gradient,) = loss_of(z)
    assert gradient.shape == z.shape and numpy.abs(gradient.sum(axis=1)).max() < 1e-6
    step = numpy.zeros_like(z)
    i, j = rng.randrange(len(rows)), rng.randrange(5)
    step[i, j] = 1e-5
    slope = (loss_of(z + step)[0] - loss_of(z - step)[0]) / 2e-5
    assert slope == pytest.approx(gradient[i, j], abs=2e-4)
    if partial and (wanted == 1).all():
        assert loss == pytest.approx(0, abs=1e-9)
