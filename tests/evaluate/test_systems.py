"""Systems give records; timing and labels."""

import sys

import pytest
import spacy
from spacy.tokens import Doc

from pii_components.errors import PiiError
from pii_components.evaluate.gold import CRAPII_LABELS
from pii_components.evaluate.systems import (  # fmt: skip
    PRESIDIO_ENTITY_SETS,
    PipelineSystem,
    PresidioSystem,
    SpacyNerSystem,
    load_pipeline,
    run_system,
)
from pii_components.labels import LABELS
from pii_components.spans import Candidate, write_spans


class Names:
    """Stands for our pipeline: the first two words are a student's name, the third is a cited one's."""

    def __call__(self, doc: Doc) -> Doc:
        write_spans(doc, [Candidate(0, 2, "NAME_STUDENT"), Candidate(2, 3, "NAME_CITED")])
        return doc


@pytest.fixture
def ours():
    nlp = spacy.blank("en")
    spacy.Language.component("invented_names", func=Names())
    nlp.add_pipe("invented_names")
    return PipelineSystem(nlp, protects=lambda label: label == "NAME_STUDENT")


def offsets(entities):
    return [(e.document, e.start, e.end, e.label) for e in entities]


def test_our_pipeline_gives_its_own_labels(ours, gold):
    run = run_system(ours, gold[:2])
    assert offsets(run.entities) == [
        ("1", 0, 9, "NAME_STUDENT"),
        ("1", 10, 15, "NAME_CITED"),
        ("2", 0, 7, "NAME_STUDENT"),
        ("2", 8, 10, "NAME_CITED"),
    ]
    assert run.entities[0].text == "Dana Vell"


def test_what_a_profile_keeps_is_not_hidden(ours, gold):
    run = run_system(ours, gold[:2])
    assert run.protected == {"NAME_STUDENT"}
    assert {entity.label for entity in run.hidden} == {"NAME_STUDENT"}


def test_a_run_takes_the_time(ours, gold):
    steps = []
    run = run_system(ours, gold, progress=lambda: steps.append(1))
    assert len(steps) == 4
    assert run.words == sum(len(doc.text.split()) for doc in gold)
    assert run.seconds > 0
    assert not run.stored


def test_a_pipeline_without_spans_finds_nothing(gold):
    assert not run_system(PipelineSystem(spacy.blank("en"), protects=bool), gold).entities


def test_every_person_of_a_spacy_pipeline_is_a_student(nlp, gold):
    run = run_system(SpacyNerSystem(nlp), gold)
    assert offsets(run.entities) == [
        ("1", 0, 9, "NAME_STUDENT"),
        ("2", 11, 21, "NAME_STUDENT"),
        ("4", 0, 5, "NAME_STUDENT"),
    ]


def test_presidio_runs_around_a_pipeline_that_is_there(nlp, gold):
    pytest.importorskip("presidio_analyzer")
    run = run_system(PresidioSystem.from_nlp(nlp), gold)
    assert [found for found in offsets(run.entities) if found[3] != "URL_PERSONAL"] == [
        ("1", 0, 9, "NAME_STUDENT"),
        ("2", 11, 21, "NAME_STUDENT"),
        ("4", 0, 5, "NAME_STUDENT"),
    ]
    assert run.about["entities"] == "four"
    assert run.about["presidio"]


def test_presidio_finds_more_with_the_wide_set_and_the_same_besides(gold):
    pytest.importorskip("presidio_analyzer")
    text = "Write to dana.vell@uni.com or www.example.com, driver license H12234567."
    documents = [type(gold[0])("7", text)]
    four, wide = (
        {
            (e.start, e.end, e.label)
            for e in run_system(PresidioSystem.from_nlp(spacy.blank("en"), entities=name), documents).entities
        }
        for name in ("four", "wide")
    )
    assert {label for _, _, label in four} == {"EMAIL", "URL_PERSONAL"}
    assert {label for _, _, label in wide - four} == {"ID_NUM"}
    assert four <= wide


def test_presidio_needs_no_network(nlp, gold, monkeypatch):
    pytest.importorskip("presidio_analyzer")

    def refuse(*_args, **_kwargs):
        raise AssertionError("the network was looked up")

    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    documents = [type(gold[0])("7", "Write to dana.vell@uni.com.")]
    assert "EMAIL" in {entity.label for entity in run_system(PresidioSystem.from_nlp(nlp), documents).entities}


def test_presidio_that_is_not_installed_is_a_coded_error(nlp, monkeypatch):
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(PiiError, match=r"\[E005\] presidio-analyzer"):
        PresidioSystem.from_nlp(nlp)


@pytest.mark.parametrize("entities", PRESIDIO_ENTITY_SETS.values(), ids=PRESIDIO_ENTITY_SETS)
def test_presidio_labels_are_those_of_crapii(entities):
    assert set(entities.values()) <= set(CRAPII_LABELS) <= set(LABELS)


def test_a_pipeline_that_is_not_there_is_a_coded_error(tmp_path):
    with pytest.raises(PiiError, match=r"\[E516\]"):
        load_pipeline("no_such_pipeline")
    with pytest.raises(PiiError, match=r"\[E517\]"):
        load_pipeline(str(tmp_path))


def test_a_pipeline_loads_from_a_path_without_what_is_excluded(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    assert load_pipeline(str(tmp_path), exclude=["entity_ruler", "hips_surrogate"]).pipe_names == []
