"""`pii_context`: whose name it is, who is hidden, and that nothing else is touched."""

from dataclasses import asdict
from pathlib import Path

import numpy
import pytest
import spacy
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from spacy.tokens import Span

from pii_components.context.component import PRIVATE, PiiContext
from pii_components.context.features import features
from pii_components.context.view import ContextSettings, _shown
from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT, POINTS, ROLES, is_name, role_of
from pii_components.names.normalize import normalize_token
from pii_components.ner.decode import OPERATING_POINT
from pii_components.spans import (
    PROTECT_AT,
    Candidate,
    mark_given,
    read_spans,
    resolve_overlaps,
    write_spans,
)

from ..tiny import TOKENIZER, cases
from .marking import (
    BODY,
    CONTEXT,
    NLP,
    always,
    context_of,
    heads,
    heads_saying,
    learned,
    marked,
    names_in,
)
from .test_mentions import DOCS

STUDENT = ROLES.index("STUDENT")
CASES = cases("context_tables")
FAST = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def context():
    """Learned from a few invented people."""
    pytest.importorskip("scipy")
    return context_of(learned())


@pytest.mark.parametrize(("text", "names"), CASES["learned"])
def test_roles_are_as_learned(context, text, names):
    doc = context(marked(text))
    assert names_in(doc) == names
    for span in doc.spans["pii"]:
        assert span._.pii_reason.startswith(f"{span._.pii_role.lower()}: ")


def test_one_person_one_decision(context):
    head = "[[Eva Stone]]\nApril 4\n\nI read [[Norwood]] (2013) for it. "
    doc = context(marked(head + "[[Stone]] again, and Eva. Norwood was long."))
    eva, norwood = ([c for c in read_spans(doc) if c.person == n] for n in (0, 1))
    assert [doc[c.start : c.end].text for c in eva] == ["Eva Stone", "Stone", "Eva"]
    assert len({(c.label, c.score, c.reason) for c in eva}) == 1
    assert [c.source for c in eva] == ["model", "model", "propagation"]
    assert [c.label for c in norwood] == [NAME_CITED] * 2
    assert [c.source for c in norwood] == ["model", "propagation"]


def test_other_roles_are_other_people():
    """A classifier that is sure of years, and of headers, tells two people of one surname apart."""
    model = always(*[1 / 6] * 6)
    model.weights[features().index("a year or 'et al.' follows"), ROLES.index("CITED")] = 9.0
    model.weights[features().index("header"), STUDENT] = 6.0
    said = f"I read it, as [[Smith]] (2014) did, for a day.\n{BODY * 3}"
    doc = marked(f"[[Ana Smith]]\nReflection\n\n{said}")
    assert names_in(context_of(model)(doc)) == [["Ana Smith", "STUDENT"], ["Smith", "CITED"]]


CHANCES = st.lists(st.floats(0, 1), min_size=6, max_size=6)


@settings(FAST, max_examples=100)
@given(CHANCES, st.floats(0, 1), st.sampled_from(POINTS))
@example([0.25, 0, 0.25, 0.5, 0, 0], 0.5, "balanced")
@example([0.25, 0, 0.25, 0.5, 0, 0], 0.5000001, "balanced")
@example([0, 0.5, 0, 0.5, 0, 0], 0.5, "balanced")
@example([0, 0, 0, 0, 0, 1], 0.0, "recall")
@example([1, 0, 0, 0, 0, 0], 1.0, "precision")
def test_hidden_from_the_threshold_on(chances, threshold, point):
    assume(sum(chances) > 0.01)
    model = always(*(numpy.asarray(chances) / sum(chances)))
    p = model.predict(numpy.zeros((1, len(features()))))
    p = (p / p.sum(axis=1, keepdims=True))[0]
    private = float(p[[ROLES.index(role) for role in PRIVATE]].sum())
    names = {"recall": "protect_recall", "balanced": "protect", "precision": "protect_precision"}
    others = {name: 1.0 if private < threshold else 0.0 for name in names.values()}
    doc = marked("We saw [[Ana Lopez]] there, and later Lopez again.")
    doc.spans["pii"].attrs[OPERATING_POINT] = point
    context_of(model, settings={**others, names[point]: threshold})(doc)
    hidden = [role_of(span.label_) in PRIVATE for span in doc.spans["pii"]]
    assert doc.spans["pii"].attrs[PROTECT_AT] == threshold
    if private >= threshold:
        assert hidden == [True, True] and [ent.text for ent in doc.ents] == ["Ana Lopez", "Lopez"]
        assert doc.spans["pii"].attrs["scores"] == pytest.approx([private] * 2)
    else:
        assert not any(hidden) and not doc.ents
        assert hidden == ([] if p[5] >= p[:5].max() else [False, False])


@pytest.mark.parametrize(("chances", "label", "role", "score"), CASES["labels"])
def test_labels_scores_and_likeliest_roles(chances, label, role, score):
    doc = context_of(always(*chances), settings={"protect": 0.2})(marked("We saw [[Ana Lopez]]."))
    if label is None:
        assert not doc.spans["pii"]
        return
    (span,), (cand,) = doc.spans["pii"], read_spans(doc)
    assert (span.label_, span._.pii_role, cand.score) == (label, role, pytest.approx(score))
    assert span._.pii_reason.startswith(f"{role.lower()}: ")
    assert span._.pii_reason.endswith("; hidden, to be safe") is (role != role_of(label))


def test_without_classifier_the_detector_decides():
    for role in ROLES:
        doc = CONTEXT(marked("Nobody but [[Tomas Halden]] stood there.", role))
        assert names_in(doc) == [["Tomas Halden", role]]
    doc = NLP("Nobody but Tomas Halden stood there.")
    write_spans(doc, [Candidate(2, 4, NAME_CITED, 0.9, "llm", "")])
    assert names_in(CONTEXT(doc)) == [["Tomas Halden", "CITED"]]


@pytest.mark.parametrize("text", ["", "   ", "\n\n", ".", "Ana"])
def test_short_documents(context, text):
    for component in (CONTEXT, context):
        doc = component(NLP(text))
        assert list(doc.spans["pii"]) == [] and doc.ents == ()
    doc = NLP(" \n ")
    write_spans(doc, [Candidate(0, 1, "OTHER", 0.5, "rule", "")])
    assert [c.label for c in read_spans(CONTEXT(doc))] == ["OTHER"]


def test_other_spans_stay(context):
    doc = marked("[[Eva Stone]]\nApril 4\n\nI read [[Norwood]] (2013) for it.")
    others = [
        Candidate(3, 4, "DATE", 0.9, "rule", "a"),
        Candidate(12, 13, "ID_NUM", 0.2, "rule", "b"),
    ]
    write_spans(doc, [*read_spans(doc), *others])
    assert [c for c in read_spans(context(doc)) if not is_name(c.label)] == others
    doc = NLP("My friend Maria Kowalska came.")
    name = Candidate(2, 3, NAME_STUDENT, 0.9, "model", "")
    write_spans(doc, [name, Candidate(3, 4, "ID_NUM", 0.9, "rule", "")])
    assert [(c.start, c.end) for c in read_spans(CONTEXT(doc))] == [(2, 3), (3, 4)]


def test_teachers_are_protected():
    doc = context_of(always(0.1, 0.7, 0, 0.2, 0, 0))(marked("We saw [[Ana Lopez]] in Porto."))
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Ana Lopez", "NAME_INSTRUCTOR")]
    assert doc.spans["pii"].attrs["scores"] == pytest.approx([0.8])


def with_things(point="balanced"):
    """Harwick and 2014 are the model's, May a rule's."""
    doc = NLP("In Harwick in May of 2014 we met.")
    things = [(1, "LOCATION", "model"), (3, "DATE", "rule"), (5, "DATE", "model")]
    write_spans(doc, [Candidate(i, i + 1, label, 0.9, source) for i, label, source in things])
    doc.spans["pii"].attrs[OPERATING_POINT] = point
    doc.tensor = numpy.zeros((len(doc), 384), dtype="f4")
    return doc


def texts(doc):
    return [span.text for span in doc.spans["pii"]]


def test_things_stay_where_they_are_somebodys():
    context = context_of(always(1, 0, 0, 0, 0, 0), heads_saying(LOCATION=1.0, DATE=-1.0))
    doc = context(with_things())
    assert texts(doc) == ["Harwick", "May"]
    assert doc.spans["pii"].attrs["scores"] == pytest.approx([0.731, 0.9], abs=1e-3)
    for point, least in (("recall", 0.26), ("precision", 0.74)):
        context.settings = {f"somebodys_{point}": least}
        found = texts(context(with_things(point)))
        assert found == (["Harwick", "May", "2014"] if point == "recall" else ["May"])
    context.classifier.owned[1] = -1.0, 0.0  # calibration has the last word on places
    assert texts(context(with_things())) == ["May"]


def test_things_stay_where_nobody_reads():
    sure = always(1, 0, 0, 0, 0, 0)
    for context in (context_of(None, heads_saying(LOCATION=-9)), context_of(sure)):
        assert texts(context(with_things())) == ["Harwick", "May", "2014"]


def test_a_folder_without_heads_is_refused(tmp_path):
    context_of(always(1, 0, 0, 0, 0, 0), heads()).to_disk(tmp_path)
    (tmp_path / "heads").unlink()
    with pytest.raises(PiiError, match="E304"):
        context_of(None, None).from_disk(tmp_path)


def test_heads_without_vectors_are_coded_errors():
    with pytest.raises(PiiError, match="E108"):
        context_of(always(1, 0, 0, 0, 0, 0), heads())(marked("We saw [[Ana Lopez]]."))


def test_a_persons_mentions_are_read_together():
    """What the head reads decides, and all mentions of a person are one reading."""
    model = always(*[1 / 6] * 6)
    model.scale[:6] = 2.0
    model.weights[range(6), range(6)] = 2.0
    doc = marked("We met [[Ana Lopez]], and [[Lopez]] and [[Ivo]] left.")
    doc.tensor = numpy.random.default_rng(2).normal(size=(len(doc), 384)).astype("f4")
    context = context_of(model, heads(), settings={"protect": 0.0})
    found = context.find_spans(doc)
    spans, owners = [(c.start, c.end) for c in found], [c.person for c in found]
    assert owners == [0, 0, 1]
    read = numpy.exp(heads().roles(doc.tensor, spans, owners, 2))
    assert [c.roles for c in found] == [pytest.approx(read[n, :5], abs=1e-4) for n in owners]


def test_entities_are_hidden_or_others():
    doc = marked("We saw [[Ana Lopez]] in Porto.")
    doc.ents = [Span(doc, 5, 6, label="GPE")]
    context_of(always(0, 0, 0, 1, 0, 0))(doc)
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Porto", "GPE")]
    context_of(always(0.9, 0.1, 0, 0, 0, 0))(doc)
    both = [("Ana Lopez", NAME_STUDENT), ("Porto", "GPE")]
    assert [(ent.text, ent.label_) for ent in doc.ents] == both


def test_what_a_user_gave_stays():
    doc = NLP("We saw Ana Lopez in Porto with Ivo Novak.")
    doc.spans["pii"] = [Span(doc, 2, 4, label=NAME_CITED)]
    mark_given(doc)
    write_spans(doc, [*read_spans(doc), Candidate(7, 9, NAME_STUDENT, 0.9, "model", "")])
    context_of(always(0, 0, 0, 0, 0, 1))(doc)
    assert [(span.text, span.label_) for span in doc.spans["pii"]] == [("Ana Lopez", NAME_CITED)]


@FAST
@given(DOCS, st.sampled_from([None, *ROLES]), st.data())
def test_names_alone_change_once(text, model, data):
    doc = marked(text, model)
    places = data.draw(st.sets(st.integers(0, max(len(doc) - 1, 0)), max_size=4))
    labels = st.sampled_from([EMAIL, "ID_NUM", "DATE"])
    others = [Candidate(i, i + 1, data.draw(labels), 0.4, "rule", "r") for i in places]
    cands = resolve_overlaps([*others, *read_spans(doc)])
    write_spans(doc, cands)
    before = doc.text
    found = read_spans(CONTEXT(doc))
    assert doc.text == before and read_spans(CONTEXT(doc)) == found == resolve_overlaps(found)
    assert [c for c in found if not is_name(c.label)] == [c for c in cands if not is_name(c.label)]
    for span in doc.spans["pii"]:
        if is_name(span.label_):
            assert span._.pii_source and span._.pii_person is not None
            assert span._.pii_reason.startswith(f"{span._.pii_role.lower()}: ")
            assert len(span._.pii_reason) < 100


@FAST
@given(
    st.lists(st.tuples(DOCS, st.sampled_from([None, *ROLES])), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
)
def test_order_and_batches_do_not_matter(context, pairs, rng):
    alone = [read_spans(context(marked(*pair))) for pair in pairs]
    order = list(range(len(pairs)))
    rng.shuffle(order)
    piped = list(context.pipe((marked(*pairs[i]) for i in order), batch_size=2))
    assert [read_spans(doc) for doc in piped] == [alone[i] for i in order]


BAD = {
    "protect": [2, "0.3", True, None],
    "protect_recall": [-0.1],
    "protect_precision": [float("nan")],
    "header_lines": [-1],
    "signoff_lines": [2.5],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_settings_out_of_range(name, value):
    with pytest.raises(PiiError, match="E650"):
        PiiContext(settings={name: value})


@pytest.mark.parametrize("name", ["roster_weight", "protects", "student_bias"])
def test_unknown_settings(name):
    with pytest.raises(PiiError, match="E546"):
        PiiContext(settings={name: 1})


def test_missing_settings_have_defaults():
    least = ContextSettings()
    assert PiiContext().settings == least == PiiContext(settings=asdict(least)).settings
    changed = PiiContext(settings={"protect": 0.4}).settings
    assert asdict(changed) == {**asdict(least), "protect": 0.4}


def test_errors_are_handled_words_forgotten(monkeypatch):
    nlp = spacy.blank("en", config=TOKENIZER)
    pipe = nlp.add_pipe("pii_context")
    seen = []
    nlp.set_error_handler(lambda name, proc, docs, e: seen.append((name, len(docs), type(e))))
    caches = (normalize_token, _shown)
    pipe(nlp.make_doc("Zoë was here"))
    assert [cached.cache_info().currsize for cached in caches] == [0, 0]

    def broken(self, docs):
        normalize_token("Zoë")
        raise ZeroDivisionError

    monkeypatch.setattr(PiiContext, "find_all", broken)
    assert list(nlp.pipe(["Ana", "Ben"])) == []
    pipe(nlp.make_doc("Ana"))
    assert seen == [("pii_context", 2, ZeroDivisionError), ("pii_context", 1, ZeroDivisionError)]
    assert normalize_token.cache_info().currsize == 0


def test_excluded_parts_stay(tmp_path: Path):
    full = context_of(always(1, 0, 0, 0, 0, 0), heads(), settings={"protect": 0.4})
    full.to_disk(tmp_path / "full")
    bare = PiiContext()
    bare.to_disk(tmp_path / "bare")
    for load, data in (("from_bytes", full.to_bytes()), ("from_disk", tmp_path / "full")):
        fresh = getattr(PiiContext(), load)(data)
        assert fresh.settings.protect == 0.4
        assert numpy.allclose(fresh.classifier.bias, full.classifier.bias)
        assert numpy.allclose(
            fresh.heads.weights["attend.weight"], heads().weights["attend.weight"], atol=1e-3
        )
        assert getattr(PiiContext(), load)(data, exclude=["cfg"]).settings == ContextSettings()
        for part in ("classifier", "heads"):
            assert getattr(getattr(PiiContext(), load)(data, exclude=[part]), part) is None
    for load, data in (("from_bytes", bare.to_bytes()), ("from_disk", tmp_path / "bare")):
        again = getattr(context_of(always(1, 0, 0, 0, 0, 0), heads()), load)(data)
        assert again.classifier is None and again.heads is None
    for part in ("classifier", "heads"):
        full.to_disk(tmp_path / "full")
        (tmp_path / "full" / part).write_bytes(b"of another version")
        with pytest.raises(PiiError, match="E304"):
            PiiContext().from_disk(tmp_path / "full")
