"""ner_loss.py: what a token may be, its weight, and the gradient."""

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from pii_components.corpus.build import CRAPII_ANNOTATED, Filled, to_doc
from pii_components.errors import PiiError
from pii_components.labels import MODEL_LABELS
from pii_components.ner.decode import output_labels
from pii_components.ner.loss import TAUGHT, Target, Taught, as_taught, targets, weighted_loss

COLUMNS = output_labels(MODEL_LABELS)
nlp = spacy.blank("en")


def may_be(target: Target, token: int) -> set[str]:
    return {COLUMNS[i] for i in numpy.flatnonzero(target.wanted[token])}


def crapii_target(text: str, *spans: tuple[int, int, str]) -> Target:
    reference = to_doc(nlp, Filled(text, spans, (), CRAPII_ANNOTATED))
    reference = next(DocBin().from_bytes(DocBin(docs=[reference]).to_bytes()).get_docs(nlp.vocab))  # as training reads it
    return targets(nlp.make_doc(text), reference, MODEL_LABELS, class_weights={"O": 0.3})


def test_a_name_that_nobody_marked_is_no_students_but_may_be_an_authors():
    target = crapii_target("Ana Lopez read Norman twice", (0, 9, "NAME_STUDENT"))
    assert may_be(target, 0) == {"B-NAME_STUDENT", "B-NAME_CONNECTED"}
    assert may_be(target, 1) == {"I-NAME_STUDENT", "I-NAME_CONNECTED"}
    norman = may_be(target, 3)
    assert {"O", "B-NAME_CITED", "I-NAME_CHARACTER", "B-NAME_INSTRUCTOR"} <= norman
    assert not norman & {"B-NAME_STUDENT", "I-NAME_STUDENT", "B-EMAIL", "I-ID_NUM"}
    assert target.weights.tolist() == pytest.approx([1, 1, 0.3, 0.3, 0.3])


def test_an_unmarked_essay_that_is_fully_annotated_wants_o_everywhere():
    reference = to_doc(nlp, Filled("Norman writes"))
    target = targets(nlp.make_doc("Norman writes"), reference, MODEL_LABELS, class_weights={})
    assert target.wanted is None and not target.gold.any()


def test_annotated_for_a_label_that_does_not_exist_is_a_coded_error():
    reference = to_doc(nlp, Filled("Norman writes", (), (), {"NAME_PET": ["NAME_PET"]}))
    with pytest.raises(PiiError) as error:
        targets(nlp.make_doc("Norman writes"), reference, MODEL_LABELS, class_weights={})
    assert error.value.code == "E002"


def test_what_is_known_about_annotation_survives_a_cut():
    filled = Filled("Ana Lopez read Norman twice", ((0, 9, "NAME_STUDENT"),), (), CRAPII_ANNOTATED)
    assert filled.cut(10, 27).annotated == CRAPII_ANNOTATED
    assert (Filled("Title\n") + filled).annotated == CRAPII_ANNOTATED


def softmax(rows):
    e = numpy.exp(rows - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


logits = st.lists(st.lists(st.floats(-8, 8), min_size=5, max_size=5), min_size=1, max_size=4)


@given(logits, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_the_gradient_is_that_of_the_loss(rows, rng, partial, with_teachers):
    z = numpy.asarray(rows, dtype="f8")
    gold = numpy.asarray([rng.randrange(5) for _ in rows])
    weights = numpy.asarray([rng.choice((0.0, 0.3, 1.0)) for _ in rows])
    wanted = None
    if partial:
        wanted = numpy.asarray([[float(rng.random() < 0.5) for _ in range(5)] for _ in rows])
        wanted[numpy.arange(len(rows)), gold] = 1.0
    taught = None
    if with_teachers:
        said = numpy.asarray([[rng.uniform(-9, 0) for _ in range(5)] for _ in rows])
        each = numpy.asarray([rng.uniform(0.1, 1) for _ in rows])
        taught = Taught(said, each, alpha=rng.choice((0.3, 1.0)), temperature=rng.choice((1.0, 3.0)))
    target = Target(gold, weights, wanted, taught)

    def loss_of(scores):
        return weighted_loss(numpy, [softmax(scores)], [target])

    loss, (gradient,) = loss_of(z)
    assert gradient.shape == z.shape and numpy.abs(gradient.sum(axis=1)).max() < 1e-6
    step = numpy.zeros_like(z)
    i, j = rng.randrange(len(rows)), rng.randrange(5)
    step[i, j] = 1e-5
    assert (loss_of(z + step)[0] - loss_of(z - step)[0]) / 2e-5 == pytest.approx(gradient[i, j], abs=2e-4)
    if partial and (wanted == 1).all() and taught is None:
        assert loss == pytest.approx(0, abs=1e-9)


def test_what_teachers_say_is_a_share_of_the_loss():
    rng = numpy.random.default_rng(3)
    scores, said = (softmax(rng.normal(size=(4, 5)) * 3) for _ in range(2))
    gold, weights, each = numpy.asarray([0, 3, 1, 0]), numpy.asarray([0.1, 1.0, 0.0, 1.0]), numpy.asarray([0.1, 0.5, 1.0, 0.2])
    alone, (gradient,) = weighted_loss(numpy, [scores], [Target(gold, weights)])

    def with_share(alpha):
        taught = Taught(numpy.log(said), each, alpha=alpha, temperature=3.0)
        return weighted_loss(numpy, [scores], [Target(gold, weights, taught=taught)])

    p, q = softmax(numpy.log(said) / 3), softmax(numpy.log(scores) / 3)
    by_hand = 9 * (each * (p * numpy.log(p / q)).sum(axis=1)).sum() / each.sum()
    assert with_share(0.0)[0] == pytest.approx(alone) and numpy.allclose(with_share(0.0)[1][0], gradient)
    assert with_share(0.25)[0] == pytest.approx(0.75 * alone + 0.25 * by_hand)
    assert with_share(1.0)[0] == pytest.approx(by_hand)
    learned = Target(gold, weights, taught=Taught(numpy.log(scores), each, alpha=1.0))
    loss, (gradient,) = weighted_loss(numpy, [scores], [learned])
    assert loss == pytest.approx(0) and numpy.abs(gradient).max() < 1e-9


def test_a_text_without_teachers_beside_one_with_them_is_learned_from_gold():
    scores = softmax(numpy.random.default_rng(5).normal(size=(2, 5)))
    gold, weights = numpy.asarray([1, 0]), numpy.ones(2)
    taught = Target(gold, weights, taught=Taught(numpy.log(scores), numpy.ones(2), alpha=1.0))
    _, (first, second) = weighted_loss(numpy, [scores, scores], [taught, Target(gold, weights)])
    alone, (expected,) = weighted_loss(numpy, [scores], [Target(gold, weights)])
    assert numpy.abs(first).max() < 1e-9 and numpy.allclose(second, expected / 2)


def with_words_of_others(text, probabilities, labels=MODEL_LABELS):
    reference = to_doc(nlp, Filled(text, ((0, 3, "NAME_STUDENT"),), ()))
    reference.spans["pii"].attrs[TAUGHT] = as_taught(probabilities, labels, alpha=0.5, temperature=2.0)
    return next(DocBin().from_bytes(DocBin(docs=[reference]).to_bytes()).get_docs(nlp.vocab))


def test_what_teachers_said_survives_the_file_and_weighs_by_what_they_think():
    said = numpy.full((2, len(COLUMNS)), 1e-9)
    said[0, COLUMNS.index("B-NAME_STUDENT")] = said[1, 0] = 1.0
    weights = {"O": 0.1, "NAME": 0.7}
    target = targets(nlp.make_doc("Ana reads"), with_words_of_others("Ana reads", said), MODEL_LABELS, class_weights=weights)
    assert target.taught.alpha == 0.5 and target.taught.temperature == 2.0
    assert target.taught.weights.tolist() == pytest.approx([0.7, 0.1], abs=1e-3)
    assert target.taught.logits.argmax(axis=1).tolist() == [COLUMNS.index("B-NAME_STUDENT"), 0]
    assert numpy.isfinite(target.taught.logits).all() and target.gold.tolist() == [COLUMNS.index("B-NAME_STUDENT"), 0]


@pytest.mark.parametrize(("rows", "labels"), [(3, MODEL_LABELS), (2, MODEL_LABELS[::-1])])
def test_what_teachers_said_of_other_tokens_or_labels_is_refused(rows, labels):
    reference = with_words_of_others("Ana reads", numpy.full((rows, len(COLUMNS)), 0.1), labels)
    with pytest.raises(PiiError) as error:
        targets(nlp.make_doc("Ana reads"), reference, MODEL_LABELS, class_weights={})
    assert error.value.code == "E310" and "Ana" not in str(error.value)
