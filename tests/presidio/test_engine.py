"""`PiiEduNlpEngine` and the pipelines behind it: texts of any length, batches, languages, what is no text, Presidio's own contract."""

from pathlib import Path

import pytest
import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpEngineProvider
from presidio_analyzer.predefined_recognizers import SpacyRecognizer

from pii_components.errors import PiiError
from pii_components.presidio import build_analyzer
from pii_components.presidio.recognizer import (
    PiiEduNlpEngine,
    check_source,
    open_pipeline,
)

from .common import ESSAY, KNOWN, found, names_pipeline, small_pipeline


def nothing():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


@pytest.mark.parametrize(
    ("source", "options", "code"),
    [
        ("en_pii_edu_nowhere", {}, "E516"),
        ("no/such/folder", {}, "E516"),
        ("en_pii_edu", {"language": "de"}, "E519"),
        (Path, {}, "E517"),
        (nothing, {}, "E518.*sentencizer"),
    ],
)
def test_pipeline_that_cannot_be_had(source, options, code, tmp_path):
    given = tmp_path if source is Path else source() if callable(source) else source
    with pytest.raises(PiiError, match=code) as error:
        check_source(given, options.get("language", "en"))
        open_pipeline(given)
    assert str(tmp_path) not in str(error.value)


TEXT = "Ana Lopez told Ms. Roe what Buzan wrote of Zed."


@pytest.fixture
def nlp():
    return names_pipeline()


@pytest.fixture
def folder(nlp, tmp_path):
    nlp.to_disk(tmp_path / "names")
    return tmp_path / "names"


def test_scores_are_those_of_the_spans(nlp):
    artifacts = PiiEduNlpEngine(pipeline=nlp).process_text(TEXT, "en")
    assert [(e.label_, e.text) for e in artifacts.entities] == [
        ("PERSON", "Ana Lopez"),
        ("PERSON", "Ms. Roe"),
    ]
    assert artifacts.scores == [KNOWN["Ana Lopez"][1], KNOWN["Ms. Roe"][1]]
    assert [span.label_ for span in artifacts.tokens.spans["pii"]] == [
        "NAME_STUDENT",
        "NAME_INSTRUCTOR",
        "NAME_CITED",
        "NAME_CHARACTER",
    ]
    assert artifacts.tokens_indices[:3] == [0, 4, 10]


def test_presidios_own_recognizer_works_with_it(nlp):
    """The bare engine, as in Presidio's README: SpacyRecognizer is what Presidio adds by itself."""
    registry = RecognizerRegistry()
    engine = PiiEduNlpEngine(pipeline=nlp)
    registry.add_nlp_recognizer(engine)
    assert isinstance(registry.recognizers[0], SpacyRecognizer)
    results = AnalyzerEngine(nlp_engine=engine, registry=registry).analyze(TEXT, "en")
    assert {(TEXT[r.start : r.end], r.score) for r in results} == {
        ("Ana Lopez", 0.9375),
        ("Ms. Roe", 0.625),
    }


@pytest.mark.parametrize(
    ("options", "configuration", "entities"),
    [
        ({}, {}, ["PERSON", "PERSON"]),
        ({"labels": "ours"}, {}, ["NAME_STUDENT", "NAME_INSTRUCTOR"]),
        ({"cited": "own"}, {}, ["PERSON", "PERSON", "CITED_PERSON", "CHARACTER_PERSON"]),
        ({}, {"labels_to_ignore": ["NAME_INSTRUCTOR"]}, ["PERSON"]),
        (
            {},
            {"model_to_presidio_entity_mapping": {"NAME_INSTRUCTOR": "TEACHER"}},
            ["PERSON", "TEACHER"],
        ),
    ],
)
def test_names_of_entities(options, configuration, entities, nlp):
    engine = PiiEduNlpEngine(
        pipeline=nlp, ner_model_configuration=NerModelConfiguration(**configuration), **options
    )
    assert [e.label_ for e in engine.process_text(TEXT, "en").entities] == entities
    assert set(entities) <= set(engine.get_supported_entities())


def test_batch_goes_through_pipe_in_order(nlp, monkeypatch):
    calls = []
    pipe = nlp.pipe
    monkeypatch.setattr(nlp, "pipe", lambda *a, **k: calls.append(k) or pipe(*a, **k))
    engine = PiiEduNlpEngine(pipeline=nlp)
    long = "Ms. Roe " + "long " * 400 + "Ana Lopez"
    texts = ["Ana Lopez", "", "Buzan", 12, True, None, 1.5, long]
    out = list(engine.process_batch(texts, "en", batch_size=3))
    assert [text for text, _ in out] == [str(text) for text in texts]
    names = [[e.text for e in artifacts.entities] for _, artifacts in out]
    assert names == [["Ana Lopez"], *[[]] * 6, ["Ms. Roe", "Ana Lopez"]]
    assert [call["batch_size"] for call in calls if call.get("as_tuples")] == [3]


def test_loaded_by_name_when_needed_and_once(folder):
    engine = PiiEduNlpEngine(pipeline=str(folder))
    assert not engine.is_loaded()
    assert len(engine.process_text(TEXT, "en").entities) == 2
    nlp = engine.get_nlp("en")
    engine.load()
    assert engine.get_nlp("en") is nlp


def test_provider_makes_it_from_a_configuration(folder, tmp_path):
    path = tmp_path / "nlp.yaml"
    path.write_text(
        f"nlp_engine_name: pii_edu\nmodels:\n- {{lang_code: en, model_name: {folder}}}\n"
    )
    engine = NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path).create_engine()
    assert engine.is_loaded()
    assert [e.label_ for e in engine.process_text(TEXT, "en").entities] == ["PERSON", "PERSON"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"models": [{"lang_code": "de", "model_name": "en_pii_edu"}]}, "E519"),
        ({"models": [{"lang_code": "en", "model_name": "en_nowhere"}]}, "E516"),
        ({"labels": "hers"}, "E650"),
    ],
)
def test_options_that_cannot_be_used(options, code):
    with pytest.raises(PiiError, match=code):
        PiiEduNlpEngine(**options)


@pytest.mark.parametrize(
    ("text", "code"), [(b"Ana", "E808"), (None, "E808"), (["Ana"], "E808"), ("\ud800", "E809")]
)
def test_what_is_no_text(text, code, nlp):
    with pytest.raises(PiiError, match=code):
        build_analyzer(pipeline=nlp).analyze(text, "en")


def test_a_pipeline_is_for_its_language(nlp):
    with pytest.raises(PiiError, match="E519.*use en"):
        PiiEduNlpEngine(pipeline=nlp).process_text(TEXT, "de")
    analyzer = build_analyzer(pipeline=names_pipeline("de"))
    assert analyzer.supported_languages == ["de"]
    assert found(analyzer.analyze(TEXT, "de"), TEXT) == [
        ("PERSON", "Ana Lopez"),
        ("PERSON", "Ms. Roe"),
    ]


def test_empty_text_and_one_megabyte(nlp):
    analyzer = build_analyzer(pipeline=nlp)
    assert analyzer.analyze("", "en") == analyzer.analyze(" \n ", "en") == []
    text = ("word " * 199 + "\n") * 1000 + "Ana Lopez"
    assert found(analyzer.analyze(text, "en"), text) == [("PERSON", "Ana Lopez")]


def test_surrogates_are_not_made():
    nlp = small_pipeline(surrogates=True)
    engine = PiiEduNlpEngine(pipeline=nlp)
    assert engine.process_text(ESSAY, "en").tokens._.deidentified is None
    assert "hips_surrogate" in nlp.pipe_names
