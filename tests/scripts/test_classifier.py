"""Learning the classifier of `pii_context`: who is collected, what a fit finds, and that nobody is judged by their own text."""

from dataclasses import replace

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language

from pii_components.context.classifier import CLASSES
from pii_components.context.component import PRIVATE
from pii_components.context.features import features
from pii_components.context.heads import OWNED
from pii_components.errors import PiiError
from pii_components.files.formats.base import LabelledText
from pii_components.spans import Candidate, write_spans
from scripts import classifier as training
from scripts.classifier import PersonExample, ThingExample, fit
from tests.context.marking import TEXTS, heads_saying, labelled, pipeline
from tests.tiny import TOKENIZER

N = len(features())
RNG = numpy.random.default_rng(7)
STUDENT, CITED = CLASSES.index("STUDENT"), CLASSES.index("CITED")


def person(gold: str, *, text: str = "a", mentions: int = 1) -> PersonExample:
    """One whose class shows in the column of that number."""
    row = RNG.normal(size=N).astype("f4") * 0.1
    row[CLASSES.index(gold)] += 2
    return PersonExample(text, row, gold, mentions, 1.0)


def people(n: int) -> list[PersonExample]:
    golds = RNG.choice(CLASSES, size=n)
    return [person(str(gold), text=f"text {i // 4}") for i, gold in enumerate(golds)]


def right(chances: numpy.ndarray, persons: list[PersonExample]) -> float:
    said = numpy.asarray(CLASSES)[chances.argmax(axis=1)]
    return float(numpy.mean(said == [p.gold for p in persons]))


def rows_of(persons: list[PersonExample]) -> numpy.ndarray:
    return numpy.stack([p.row for p in persons])


def test_probabilities_are_those_of_the_data():
    row = numpy.zeros(N, dtype="f4")
    some = [PersonExample("a", row, gold, 1) for gold in ["STUDENT"] * 30 + ["CITED"] * 70]
    p = fit(some, l2=1.0).predict(row[None])[0]
    assert p[[STUDENT, CITED]] == pytest.approx([0.3, 0.7], abs=0.01)


def test_weights_count_as_people_do():
    some = people(60)
    twice = [*some, *some[:20]]
    heavy = [replace(p, weight=2.0 if i < 20 else 1.0) for i, p in enumerate(some)]
    rows = rows_of(some)
    one, other = (fit(persons, l2=1.0).predict(rows) for persons in (twice, heavy))
    assert numpy.allclose(one, other, atol=0.01)
    without = [replace(p, weight=0.0 if p.gold == "CITED" else 1.0) for p in some]
    assert fit(without, l2=1.0).predict(rows)[:, CITED].max() < 0.01


def test_nobody_teaches_nothing():
    with pytest.raises(PiiError, match="E552"):
        fit([])
    with pytest.raises(PiiError, match="E552"):
        training.cross_validate([person("CITED")])
    assert training.cross_validate([]).shape == (0, 6)


@pytest.mark.parametrize(
    ("text", "golds"),
    [
        ("[[Ana Lopez|STUDENT]]\n\nI read [[Hobart|CITED]].", {"1 STUDENT": 1, "1 CITED": 1}),
        # A detector that is wrong finds what nobody labelled: no name.
        ("[[Likert|NOT_NAME]], [[Kim|CONNECTED]].", {"1 NOT_NAME": 1, "1 CONNECTED": 1}),
        ("We met [[Lorna Pike|CHARACTER]], and [[Lorna Pike|CHARACTER]].", {"2 CHARACTER": 1}),
        # Whose mentions differ counts by their shares.
        (
            "We met [[Kim|CONNECTED]]. [[Kim|CITED]] says so, and [[Kim|CITED]] knows.",
            {"1 CONNECTED": 1 / 3, "2 CITED": 2 / 3},
        ),
        (
            "[[Kim|CONNECTED]] at the [[Kim|NOT_NAME]] shop.",
            {"1 CONNECTED": 0.5, "1 NOT_NAME": 0.5},
        ),
        # Whom the detector does not see is not among those whom it shows to the classifier.
        ("We met [[Zbyszek|CONNECTED]].", {}),
        (" ", {}),
    ],
)
def test_who_is_collected(text, golds):
    found = training.collect(pipeline(), [labelled(text, "one")])
    assert {f"{p.mentions} {p.gold}": p.weight for p in found} == pytest.approx(golds)
    assert len(found) == len(golds)
    for p in found:
        assert p.text == "one" and p.row.shape == (N,) and numpy.isfinite(p.row[6:]).all()


@pytest.mark.parametrize(
    ("text", "spans", "masked", "golds"),
    [
        ("We met Kim and Rosa.", (), ((7, 10),), ["NOT_NAME"]),
        ("We met Kim and Rosa.", (), ((0, 20),), []),
        # Other labels are no names.
        ("We met at Likert Soap.", ((10, 16, "EMPLOYER"),), (), ["NOT_NAME"]),
        ("We met at Likert Soap.", ((10, 16, "USERNAME"),), (), []),
    ],
)
def test_unknown_gold_collects_nobody(text, spans, masked, golds):
    found = training.collect(pipeline(), [LabelledText("a", text, spans, masked=masked)])
    assert [(p.gold, p.weight) for p in found] == [(gold, 1.0) for gold in golds]


def test_the_collected_are_the_judged():
    nlp = pipeline()
    persons = training.collect(nlp, [labelled(text, str(n)) for n, text in enumerate(TEXTS)])
    assert {p.text for p in persons} == {str(n) for n in range(len(TEXTS))}
    assert nlp.pipe_names[-1] == "pii_context"
    model = nlp.get_pipe("pii_context").classifier = fit(persons, l2=0.3)
    doc = nlp(labelled(TEXTS[0]).text)
    p = model.predict(rows_of([person for person in persons if person.text == "0"]))
    roles = [span._.pii_role for span in doc.spans["pii"]]
    assert roles == [CLASSES[n] for n in p.argmax(axis=1)] == ["STUDENT", "CITED"]
    hidden = p[0, [CLASSES.index(role) for role in PRIVATE]].sum()
    assert doc.spans["pii"].attrs["scores"] == pytest.approx([hidden, p[1, CITED]], abs=1e-5)


def test_nobody_is_judged_by_own_text():
    """The people of one text are all cited, and look as students do elsewhere; whoever sees that text believes it, so many they are."""
    row = numpy.zeros(N, dtype="f4")
    row[STUDENT] = 2
    persons = [PersonExample(f"text {n}", row, "STUDENT", 1) for n in range(40)]
    persons += [PersonExample(f"text {n}", -row, "CONNECTED", 1) for n in range(40)]
    persons += [PersonExample("odd", row, "CITED", 1) for _ in range(400)]
    chances = training.cross_validate(persons, l2=1.0)
    assert chances[80:, CITED].max() < 0.01 and chances[80:, STUDENT].min() > 0.9
    seen = [i for i in range(40) if training.fold_of(persons[i].text) != training.fold_of("odd")]
    assert 20 < len(seen) < 40 and chances[seen, CITED].min() > 0.8
    assert fit(persons, l2=1.0).predict(row[None])[0, CITED] > 0.8
    some = people(400)
    chances = training.cross_validate(some, l2=1.0)
    assert chances.shape == (400, 6) and right(chances, some) > 0.95
    assert numpy.allclose(chances.sum(axis=1), 1)


def test_hidden_shares_go_by_mentions():
    golds = ["STUDENT", "STUDENT", "CITED", "CITED", "INSTRUCTOR", "NOT_NAME"]
    persons = [person(gold, mentions=n) for gold, n in zip(golds, (3, 1, 2, 2, 1, 4), strict=True)]
    chances = numpy.zeros((len(golds), 6))
    for role in PRIVATE:
        chances[:, CLASSES.index(role)] = [0.3, 0.03, 0.2, 0.07, 0.17, 0.0]
    shares = {"STUDENT": 0.75, "CITED": 0.5, "INSTRUCTOR": 1.0, "NOT_NAME": 0.0}
    assert training.tally(persons, chances, 0.5) == pytest.approx(shares | {"precision": 4 / 6})
    assert training.tally(persons, chances, 1.1)["precision"] == 0


# --- places, schools, firms, dates and ages


@Language.component("training_test_places")
def know_places(doc):
    """As a detector, with its encoder."""
    read = [Candidate(t.i, t.i + 1, "LOCATION", 0.9, "model") for t in doc if t.text == "Harwick"]
    write_spans(doc, [*read, Candidate(0, 1, "DATE", 0.9, "rule")])
    doc.tensor = numpy.zeros((len(doc), 384), dtype="f4")
    return doc


def test_things_are_collected_with_their_gold():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("training_test_places", name="pii_ner")
    nlp.add_pipe("pii_context").heads = heads_saying(LOCATION=2.0)
    text = "May in Harwick, I live in Harwick."
    found = training.collect_things(nlp, [LabelledText("a", text, ((26, 33, "LOCATION"),))])
    assert found == [ThingExample("a", "LOCATION", 2.0, gold) for gold in (False, True)]


def test_things_are_calibrated_by_label():
    ages = [ThingExample("a", "AGE", odds, n < 3) for odds in (8.0, -8.0) for n in range(4)] * 50
    owned = training.fit_things([*ages, *[ThingExample("a", "DATE", 8.0, True)] * 50])
    made = replace(fit(people(20)), owned=owned)
    found = made.somebodys(numpy.asarray([8.0, -8.0]), ["AGE", "AGE"])
    assert found == pytest.approx([0.75, 0.75], abs=0.02)
    assert (owned[:-1] == [1.0, 0.0]).all() and OWNED[-1] == "AGE"


# --- a few sentences of a text

SAID = ["We met [[J. Lopez|STUDENT]].", "Then [[Ana|CITED]] left!", "It rained.", "“No.” I said?"]
SENTENCES = st.lists(st.sampled_from(SAID), min_size=1, max_size=8)


@given(SENTENCES, st.integers(1, 4), st.integers(0, 99))
def test_cut_texts_keep_whole_names(sentences, most, seed):
    whole = labelled(" ".join(sentences), "one")
    cut = training.cut_texts([whole], most=most, seed=seed)
    assert len(cut) == min(most, len(whole.spans))
    for one in cut:
        assert one.id == "one" and one.text in whole.text and one.text.count(". ") <= 5
        names = [one.text[a:b] for a, b, _ in one.spans]
        assert names and len(names) == one.text.count("Ana") + one.text.count("Lopez")
        assert set(names) <= {"J. Lopez", "Ana"}
    assert cut == training.cut_texts([whole], most=most, seed=seed)


def test_cut_texts_are_short_and_masked():
    text = f"{'It rained. ' * 20}Kim met Ana. {'It rained. ' * 20}"
    at = text.index("Kim")
    whole = LabelledText("a", text, ((at + 8, at + 11, "NAME_STUDENT"),), masked=((at, at + 3),))
    for one in training.cut_texts([whole] * 20, most=3, seed=1):
        assert 1 <= one.text.count(".") <= 3
        assert [one.text[a:b] for a, b in one.masked] == ["Kim"]


def test_touched_where_a_share_of_private_people_is_hidden():
    golds = ["STUDENT", "CONNECTED", "CITED", "CHARACTER", "NOT_NAME"]
    people = [
        PersonExample("a", numpy.zeros(1), gold, n) for gold, n in zip(golds, (3, 1, 2, 2, 9))
    ]
    chances = numpy.zeros((5, len(CLASSES)))
    chances[:, CLASSES.index("STUDENT")] = [0.9, 0.2, 0.5, 0.1, 0.6]
    # Three of four private mentions have .9; the fourth needs .2, and there somebody cited goes, too.
    assert training.touched_at(people, chances, 0.75) == (0, 0.9)
    assert training.touched_at(people, chances, 0.93) == (0.5, 0.2)
