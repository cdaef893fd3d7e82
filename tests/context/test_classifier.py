"""What is seen of a person, the fit, and the decision by it."""

import json
import subprocess
import sys
from io import BytesIO

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from pii_components.context.classifier import CLASSES, OF_THE_TEXT, TRUST, PersonModel, fit
from pii_components.context.component import PRIVATE, PiiContext
from pii_components.context.evidence import FEATURES, READER
from pii_components.corpus.build import CRAPII_ANNOTATED, Filled, to_doc
from pii_components.errors import PiiError
from pii_components.labels import ROLES, role_of
from pii_components.ner.decode import OPERATING_POINT
from pii_components.spans import Candidate, read_spans, write_spans
from pii_components.training.classifier import PersonExample, classes_of, collect, doubted, train

from .marking import NLP, marked

N = len(FEATURES)
STORY = FEATURES.index("tells a story")
STUDENT, CHARACTER = CLASSES.index("STUDENT"), CLASSES.index("CHARACTER")
RNG = numpy.random.default_rng(7)


def undecided(n: int) -> numpy.ndarray:
    """Persons of whom the rules say nothing: equal shares, even odds that it is a name."""
    rows = RNG.normal(size=(n, N)).astype("f4") * 0.1
    for role in ROLES:
        rows[:, FEATURES.index(f"share of {role} by rules")] = 0.2
    rows[:, FEATURES.index("own best log-odds")] = 1.6
    rows[:, STORY] = 1.0
    return rows


def toy_rows(n: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Persons whose class shows in one feature."""
    rows, gold = undecided(n), RNG.integers(len(CLASSES), size=n)
    rows[numpy.arange(n), gold] += 4  # the first columns are the detector's log-odds
    return rows, numpy.eye(len(CLASSES), dtype="f4")[gold]


def test_it_learns_what_is_there_to_learn():
    rows, allowed = toy_rows(400)
    model = fit(rows, allowed, l2=1.0)
    fresh, gold = toy_rows(200)
    p = model.predict(fresh)
    assert p.shape == (200, 6) and numpy.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert (p.argmax(axis=1) == gold.argmax(axis=1)).mean() > 0.9


def test_partial_gold_teaches_who_is_no_student():
    rows, exact = toy_rows(600)
    partial = exact.copy()
    others = exact[:, 0] == 0
    partial[others] = [0, 1, 1, 1, 1, 1]  # all that CRAPII says
    p = fit(rows, partial, l2=1.0).predict(rows)
    assert ((p[:, 0] > 0.5) == (exact[:, 0] == 1)).mean() > 0.95


def test_probabilities_are_those_of_the_data():
    rows = numpy.tile(undecided(1), (1000, 1))
    allowed = numpy.eye(6, dtype="f4")[[0] * 300 + [3] * 700]
    p = fit(rows, allowed, l2=1.0).predict(rows[:1])[0]
    assert p[0] == pytest.approx(0.3, abs=0.02) and p[3] == pytest.approx(0.7, abs=0.02)


def test_without_much_to_learn_from_the_rules_stand():
    rows = undecided(40)
    rows[:, [FEATURES.index(f"share of {role} by rules") for role in ROLES]] = [0.9, 0.025, 0.025, 0.025, 0.025]
    rows[:, FEATURES.index("own best log-odds")] = 6.0
    few = fit(rows[:3], numpy.eye(6, dtype="f4")[[3, 3, 3]], l2=200.0)
    assert few.predict(rows)[:, 0].min() > 0.7


def test_nobody_is_a_character_where_no_story_is_told():
    rows, allowed = toy_rows(400)
    model = fit(rows, allowed, l2=1.0)
    of_a_story = rows[allowed[:, CHARACTER] == 1]
    elsewhere = of_a_story.copy()
    elsewhere[:, STORY] = 0.0
    assert model.predict(of_a_story)[:, CHARACTER].mean() > 0.8
    p = model.predict(elsewhere)
    assert p[:, CHARACTER].max() < 1e-3
    # The detector's reading of the rest decides: a character to it, next to that one who is connected.
    elsewhere[:, CLASSES.index("CONNECTED")] += 3.0
    assert (model.predict(elsewhere).argmax(axis=1) == CLASSES.index("CONNECTED")).mean() > 0.9


def test_characters_that_cannot_be_told_teach_nothing():
    rows, allowed = toy_rows(300)
    untold = rows[allowed[:, CHARACTER] == 1].copy()
    untold[:, STORY] = 0.0
    only = numpy.tile(numpy.eye(6, dtype="f4")[CHARACTER], (len(untold), 1))
    first = fit(rows, allowed, l2=1.0)
    again = fit(numpy.concatenate([rows, untold]), numpy.concatenate([allowed, only]), l2=1.0)
    assert numpy.allclose(first.weights, again.weights, atol=1e-3)
    assert code_of(fit, untold, only) == "E306"


def test_what_is_of_the_text_says_nothing_of_the_person():
    rows, allowed = toy_rows(200)
    changed = rows.copy()
    changed[:, [FEATURES.index(name) for name in OF_THE_TEXT]] += 7.0
    model = fit(rows, allowed, l2=1.0)
    assert numpy.allclose(model.predict(rows), model.predict(changed))


def test_a_fit_goes_on_from_another():
    rows, allowed = toy_rows(400)
    start = fit(rows, allowed, l2=1.0)
    students = rows[allowed[:, STUDENT] == 1][:5]
    other = numpy.tile(numpy.eye(6, dtype="f4")[CLASSES.index("CITED")], (5, 1))
    held, moved = (fit(students, other, l2=l2, start=start) for l2 in (1e4, 0.01))
    assert numpy.allclose(held.predict(rows), start.predict(rows), atol=0.01)
    assert moved.predict(students).argmax(axis=1).tolist() == [CLASSES.index("CITED")] * 5


def test_of_some_of_our_people_somebody_elses_reading_is_seen():
    rows, allowed = toy_rows(400)
    people = [PersonExample(n, row, may, 1) for n, (row, may) in enumerate(zip(rows, allowed, strict=True))]
    found = doubted(people, share=0.25)
    changed = [n for n, (a, b) in enumerate(zip(people, found, strict=True)) if not numpy.array_equal(a.row, b.row)]
    assert 70 < len(changed) < 130
    others = {row[READER].tobytes() for row in rows}
    for a, b in zip(people, found, strict=True):
        assert numpy.array_equal(numpy.delete(a.row, numpy.r_[READER]), numpy.delete(b.row, numpy.r_[READER]))
        assert b.row[READER].tobytes() in others and (b.document, b.mentions) == (a.document, a.mentions)
        assert b.allowed is a.allowed
    assert all(numpy.array_equal(a.row, b.row) for a, b in zip(found, doubted(people, share=0.25), strict=True))
    assert all(numpy.array_equal(a.row, b.row) for a, b in zip(people, doubted(people, share=0.0), strict=True))


def test_other_essays_come_first_and_are_enough_alone():
    rows, allowed = toy_rows(300)
    extra = [PersonExample(n, row, may, 1) for n, (row, may) in enumerate(zip(rows, allowed, strict=True))]
    alone = train([], extra=extra, extra_l2=1.0)
    seen = numpy.stack([person.row for person in doubted(extra)])
    assert numpy.allclose(alone.predict(rows), fit(seen, allowed, l2=1.0, trust=TRUST).predict(rows))
    assert numpy.allclose(train(extra[:2], extra=extra, l2=1e5, extra_l2=1.0).predict(rows), alone.predict(rows), atol=0.01)


def test_bytes_and_back():
    rows, allowed = toy_rows(80)
    model = fit(rows, allowed)
    again = PersonModel.from_bytes(model.to_bytes())
    assert numpy.allclose(model.predict(rows), again.predict(rows), atol=1e-4)


def code_of(call, *args, **how):
    with pytest.raises(PiiError) as error:
        call(*args, **how)
    return error.value.code


def test_what_cannot_be_used_is_a_coded_error():
    assert [code_of(PersonModel.from_bytes, data) for data in (b"", b"nonsense", b"PK\x03\x04broken")] == ["E304"] * 3
    assert code_of(train, []) == "E306"
    with numpy.load(BytesIO(fit(*toy_rows(60)).to_bytes())) as arrays:
        held = {key: arrays[key] for key in arrays.files}
    names = json.loads(bytes(held["names"]))
    del names["reader"]  # as 0.6.0 wrote it
    buffer = BytesIO()
    numpy.savez_compressed(buffer, **{**held, "names": numpy.frombuffer(json.dumps(names).encode(), dtype="u1")})
    assert code_of(PersonModel.from_bytes, buffer.getvalue()) == "E304"


def gold_doc(text, *spans, annotated=None, unlabelled=()):
    return to_doc(spacy.blank("en"), Filled(text, spans, unlabelled, annotated or {}))


def names(row):
    return {name for name, on in zip(CLASSES, row, strict=True) if on}


@pytest.mark.parametrize(
    "annotated, spans, mentions, expected",
    [
        ({}, [(0, 9, "NAME_CITED")], [(0, 9)], {"CITED"}),
        ({}, [], [(0, 9)], {"NOT_NAME"}),
        ({}, [(0, 9, "EMPLOYER")], [(0, 9)], {"NOT_NAME"}),
        (CRAPII_ANNOTATED, [(0, 9, "NAME_STUDENT")], [(0, 9)], {"STUDENT", "CONNECTED"}),
        (CRAPII_ANNOTATED, [], [(0, 9)], {"INSTRUCTOR", "CITED", "CHARACTER", "NOT_NAME"}),
        # One mention that the annotators passed over does not undo the one that they marked.
        (CRAPII_ANNOTATED, [(0, 9, "NAME_STUDENT")], [(0, 9), (15, 20), (15, 20)], {"STUDENT", "CONNECTED"}),
    ],
)
def test_what_gold_leaves_open(annotated, spans, mentions, expected):
    assert names(classes_of(gold_doc("Ana Lopez said Lopez", *spans, annotated=annotated), mentions)) == expected


def test_gold_that_says_nothing():
    assert classes_of(gold_doc("Ana Lopez", unlabelled=((0, 9),)), [(0, 9)]) is None
    two = gold_doc("Ana Lopez said Lopez", (0, 9, "NAME_STUDENT"), (15, 20, "NAME_CITED"))
    assert classes_of(two, [(0, 9), (15, 20)]) is None
    # A user name that the detector takes for a name: to teach that it is none would teach to let it stand.
    assert classes_of(gold_doc("anabanana wrote", (0, 9, "USERNAME")), [(0, 9)]) is None


TEXTS = [
    ("Ana Lopez\nMarch 3\n\nI liked Norman (2013) and design.", {"Ana Lopez": "STUDENT", "Norman": "CITED"}),
    ("By Ben Roth\n\nAs Norman (2013) says, design is for people.", {"Ben Roth": "STUDENT", "Norman": "CITED"}),
    ("My name is Ida Berg. According to Norman (2013), design helps.", {"Ida Berg": "STUDENT", "Norman": "CITED"}),
    ("Ola Weiss\n\nMy friend Kim and I met. Smith et al. (2010) write so.", {"Ola Weiss": "STUDENT", "Kim": "CONNECTED", "Smith": "CITED"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    nlp = spacy.blank("en")
    nlp.tokenizer = NLP.tokenizer
    nlp.add_pipe("pii_context")
    golds, docs = [], []
    for text, who in TEXTS * 3:
        spans = sorted((text.index(name), text.index(name) + len(name), f"NAME_{role}") for name, role in who.items())
        golds.append(to_doc(nlp, Filled(text, tuple(spans))))
        shown = text
        for name in who:
            shown = shown.replace(name, f"[[{name}]]")
        docs.append(marked(shown))
    persons = collect(nlp, golds, prepare=lambda n: docs[n])
    assert len(persons) == 27 and {p.document for p in persons} == set(range(12))
    return nlp, train(persons, l2=0.3)


def context_of(model, **settings):
    context = PiiContext(settings=settings)
    context.classifier = model
    return context


def test_the_classifier_decides_and_says_why_and_leaves_all_else_alone(trained):
    doc = marked("[[Eva Stone]]\nApril\n\nI read [[Norman]] (2013). [[Stone]] again.")
    mail = Candidate(3, 4, "EMAIL", 0.9, "rule", "rule")
    write_spans(doc, [*read_spans(doc), mail])
    context_of(trained[1])(doc)
    assert [c for c in read_spans(doc) if c.label == "EMAIL"] == [mail]
    found = {s.text: (s._.pii_role, s._.pii_reason) for s in doc.spans["pii"] if s.label_ != "EMAIL"}
    assert found["Eva Stone"][0] == found["Stone"][0] == "STUDENT" and found["Norman"][0] == "CITED"
    assert all(role.lower() in reason for role, reason in found.values())
    scores = {s.text: c.score for s, c in zip(doc.spans["pii"], read_spans(doc), strict=True)}
    assert scores["Eva Stone"] == scores["Stone"] and all(0 <= score <= 1 for score in scores.values())


def test_operating_points_move_the_threshold(trained):
    context = context_of(trained[1], protect_recall=0.0, protect=0.5, protect_precision=1.0)
    roles = {}
    for point in ("recall", "balanced", "precision"):
        doc = marked("[[Eva Stone]]\nApril\n\nI read [[Norman]] (2013).")
        doc.spans["pii"].attrs[OPERATING_POINT] = point
        context(doc)
        roles[point] = {s.text: role_of(s.label_) in PRIVATE for s in doc.spans["pii"]}
    assert roles["balanced"] == {"Eva Stone": True, "Norman": False}
    assert all(roles["recall"].values()) and not any(roles["precision"].values())


def test_the_classifier_is_saved_and_comes_back_in_a_fresh_process(trained, tmp_path):
    nlp, model = trained
    nlp.get_pipe("pii_context").classifier = model
    nlp.to_disk(tmp_path / "nlp")
    code = (
        "import spacy, sys\n"
        f"nlp = spacy.load({str(tmp_path / 'nlp')!r})\n"
        "model = nlp.get_pipe('pii_context').classifier\n"
        "print(round(float(abs(model.weights).sum()), 3))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert float(out) == pytest.approx(float(abs(model.weights).sum()), rel=1e-3)
    fresh = PiiContext().from_bytes(nlp.get_pipe("pii_context").to_bytes())
    assert numpy.allclose(fresh.classifier.weights, model.weights, atol=1e-5)
    assert PiiContext().from_bytes(PiiContext().to_bytes()).classifier is None
    nlp.get_pipe("pii_context").classifier = None


@given(st.lists(st.floats(-30, 30, width=32), min_size=N, max_size=N))
def test_any_row_gives_probabilities(trained, row):
    p = trained[1].predict(numpy.asarray([row], dtype="f4"))
    assert numpy.isfinite(p).all() and p.sum() == pytest.approx(1, abs=1e-4)
