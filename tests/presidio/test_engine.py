"""`PiiEduNlpEngine`: real scores, batches, languages, what is no text, and the contract of Presidio's own engines."""

import inspect
import json

import pytest

pytest.importorskip("presidio_analyzer")

from presidio_analyzer import AnalyzerEngine, BatchAnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NerModelConfiguration, NlpEngine, NlpEngineProvider, SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import SpacyRecognizer, UsSsnRecognizer

from pii_components.errors import PiiError
from pii_components.presidio import build_analyzer
from pii_components.presidio.engine import PiiEduNlpEngine
from pii_components.presidio.recognizer import StudentPiiRecognizer

from .helpers import ESSAY, KNOWN, found, names_pipeline, small_pipeline

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
    assert [(e.label_, e.text) for e in artifacts.entities] == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]
    assert artifacts.scores == [KNOWN["Ana Lopez"][1], KNOWN["Ms. Roe"][1]]
    assert [span.label_ for span in artifacts.tokens.spans["pii"]] == ["NAME_STUDENT", "NAME_INSTRUCTOR", "NAME_CITED", "NAME_CHARACTER"]
    assert artifacts.tokens_indices[:3] == [0, 4, 10]


def test_presidios_own_recognizer_works_with_it(nlp):
    """The bare engine, as in Presidio's README: SpacyRecognizer is what Presidio adds by itself."""
    registry = RecognizerRegistry()
    engine = PiiEduNlpEngine(pipeline=nlp)
    registry.add_nlp_recognizer(engine)
    assert isinstance(registry.recognizers[0], SpacyRecognizer)
    results = AnalyzerEngine(nlp_engine=engine, registry=registry).analyze(TEXT, "en")
    assert {(TEXT[r.start : r.end], r.score) for r in results} == {("Ana Lopez", 0.9375), ("Ms. Roe", 0.625)}


@pytest.mark.parametrize(
    ("options", "entities"),
    [
        ({}, ["PERSON", "PERSON"]),
        ({"labels": "ours"}, ["NAME_STUDENT", "NAME_INSTRUCTOR"]),
        ({"return_cited": True}, ["PERSON", "PERSON", "CITED_PERSON", "CHARACTER_PERSON"]),
        ({"ner_model_configuration": NerModelConfiguration(labels_to_ignore=["NAME_INSTRUCTOR"])}, ["PERSON"]),
        (
            {"ner_model_configuration": NerModelConfiguration(model_to_presidio_entity_mapping={"NAME_INSTRUCTOR": "TEACHER"})},
            ["PERSON", "TEACHER"],
        ),
    ],
)
def test_names_of_entities(options, entities, nlp):
    engine = PiiEduNlpEngine(pipeline=nlp, **options)
    artifacts = engine.process_text(TEXT, "en")
    assert [e.label_ for e in artifacts.entities] == entities
    assert set(entities) <= set(engine.get_supported_entities())
    assert engine.get_supported_entities() == engine.get_supported_entities()


def test_entities_that_it_says_it_finds():
    names = ["PERSON", "EMAIL_ADDRESS", "USERNAME", "ID", "PHONE_NUMBER", "URL"]
    assert PiiEduNlpEngine(pipeline=small_pipeline()).get_supported_entities() == names


def test_batch_goes_through_pipe_in_order(nlp, monkeypatch):
    calls = []
    pipe = nlp.pipe
    monkeypatch.setattr(nlp, "pipe", lambda *a, **k: calls.append(k) or pipe(*a, **k))
    engine = PiiEduNlpEngine(pipeline=nlp, max_chars=1000)
    texts = ["Ana Lopez", "", "Buzan", 12, True, None, 1.5, "Ms. Roe " + "long " * 400 + "Ana Lopez"]
    out = list(engine.process_batch(texts, "en", batch_size=3))
    assert [text for text, _ in out] == [str(text) for text in texts]
    assert [[e.text for e in artifacts.entities] for _, artifacts in out] == [["Ana Lopez"], [], [], [], [], [], [], ["Ms. Roe", "Ana Lopez"]]
    assert [call["batch_size"] for call in calls if call.get("as_tuples")] == [3]


def test_batch_with_context(nlp):
    out = list(PiiEduNlpEngine(pipeline=nlp).process_batch([("Ana Lopez", {"id": 1}), ("Zed", {"id": 2})], "en", as_tuples=True))
    assert [(text, len(artifacts.entities), context) for text, artifacts, context in out] == [
        ("Ana Lopez", 1, {"id": 1}),
        ("Zed", 0, {"id": 2}),
    ]


def test_batch_is_a_stream(nlp):
    seen = []

    def texts():
        for i in range(100):
            seen.append(i)
            yield "Ana Lopez"

    stream = PiiEduNlpEngine(pipeline=nlp).process_batch(texts(), "en", batch_size=2)
    next(stream)
    assert len(seen) < 10


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_batch_in_two_processes(nlp):
    """Scores, roles and reasons travel with the Docs."""
    texts = ["Ana Lopez", "", "Buzan", "Dear Ms. Roe"]
    recognizer = StudentPiiRecognizer(pipeline=nlp)
    engine = PiiEduNlpEngine(pipeline=nlp)
    one, two = ([recognizer.analyze(t, None, a) for t, a in engine.process_batch(texts, "en", n_process=n)] for n in (1, 2))
    assert [found(results, text) for results, text in zip(two, texts, strict=True)][-1] == [("PERSON", "Ms. Roe")]
    assert two[0][0].recognition_metadata == one[0][0].recognition_metadata


def test_artifacts_as_json(nlp):
    """What Presidio traces when it is asked to log its decisions."""
    data = json.loads(PiiEduNlpEngine(pipeline=nlp).process_text(TEXT, "en").to_json())
    assert data["scores"] == [0.9375, 0.625]
    assert data["lemmas"][:3] == ["ana", "lopez", "told"]


def test_batch_analyzer_runs_the_pipeline_once_for_each_text(nlp):
    batch = BatchAnalyzerEngine(build_analyzer(pipeline=nlp))
    texts = ["Ana Lopez", "Buzan (2006)", "Dear Ms. Roe"]
    results = batch.analyze_iterator(texts, language="en", batch_size=2)
    assert [found(r, t) for r, t in zip(results, texts, strict=True)] == [[("PERSON", "Ana Lopez")], [], [("PERSON", "Ms. Roe")]]
    assert nlp.get_pipe("names").texts == texts


def test_loaded_by_name_when_needed_and_once(folder, monkeypatch):
    monkeypatch.setattr(PiiEduNlpEngine, "_enable_gpu", lambda self: None)
    engine = PiiEduNlpEngine(pipeline=str(folder))
    assert not engine.is_loaded()
    assert engine.get_supported_languages() == ["en"]
    assert len(engine.process_text(TEXT, "en").entities) == 2
    nlp = engine.get_nlp("en")
    engine.load()
    assert engine.get_nlp("en") is nlp


def test_nothing_is_downloaded(monkeypatch):
    monkeypatch.setattr("spacy.cli.download", lambda *a, **k: pytest.fail("a download was tried"))
    with pytest.raises(PiiError) as error:
        PiiEduNlpEngine(pipeline="en_core_web_nowhere")
    assert error.value.code == "E804"


def test_provider_makes_it_from_a_configuration(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(PiiEduNlpEngine, "_enable_gpu", lambda self: None)
    path = tmp_path / "nlp.yaml"
    path.write_text(f"nlp_engine_name: pii_edu\nmodels:\n- {{lang_code: en, model_name: {folder}, labels: ours, return_cited: true}}\n")
    engine = NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path).create_engine()
    assert engine.is_loaded()
    assert [e.label_ for e in engine.process_text(TEXT, "en").entities][2:] == ["NAME_CITED", "NAME_CHARACTER"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"models": [{"lang_code": "en", "model_name": "en_pii_edu", "modell": 1}]}, "E803"),
        ({"models": [{"lang_code": "de", "model_name": "en_pii_edu"}]}, "E806"),
        ({"models": [{"lang_code": "en", "model_name": "en_nowhere"}]}, "E804"),
        ({"models": [{"lang_code": "en", "model_name": "en_pii_edu", "labels": "hers"}]}, "E801"),
        ({"models": [{"lang_code": "en", "model_name": "en_pii_edu"}], "pipeline": "en_pii_edu"}, "E810"),
        ({"labels": "hers"}, "E801"),
        ({"return_cited": 1}, "E801"),
        ({"pipeline": 3}, "E801"),
    ],
)
def test_options_that_cannot_be_used(options, code):
    with pytest.raises(PiiError) as error:
        PiiEduNlpEngine(**options)
    assert error.value.code == code


def test_models_without_what_presidio_needs():
    with pytest.raises(ValueError, match="lang_code is missing"):
        PiiEduNlpEngine(models=[{"model_name": "en_pii_edu"}])


@pytest.mark.parametrize(("text", "code"), [(b"Ana", "E808"), (None, "E808"), (["Ana"], "E808"), ("\ud800", "E809")])
def test_what_is_no_text(text, code, nlp):
    with pytest.raises(PiiError) as error:
        build_analyzer(pipeline=nlp).analyze(text, "en")
    assert error.value.code == code


def test_bytes_in_a_batch(nlp):
    with pytest.raises(PiiError) as error:
        list(PiiEduNlpEngine(pipeline=nlp).process_batch(["Ana Lopez", b"Ana"], "en"))
    assert error.value.code == "E808"


def test_language_without_a_pipeline(nlp):
    with pytest.raises(PiiError) as error:
        PiiEduNlpEngine(pipeline=nlp).process_text(TEXT, "de")
    assert (error.value.code, "it is for: en" in str(error.value)) == ("E806", True)


def test_pipeline_of_another_language():
    analyzer = build_analyzer(pipeline=names_pipeline("de"))
    assert analyzer.supported_languages == ["de"]
    assert found(analyzer.analyze(TEXT, "de"), TEXT) == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]


def test_empty_text_and_one_megabyte(nlp):
    analyzer = build_analyzer(pipeline=nlp)
    assert analyzer.analyze("", "en") == analyzer.analyze(" \n ", "en") == []
    text = ("word " * 200 + "\n") * 1049 + "Ana Lopez"
    assert found(analyzer.analyze(text, "en"), text) == [("PERSON", "Ana Lopez")]


def test_context_words_of_other_recognizers_work(nlp):
    """Without lemmas, Presidio's enhancer would find no word near a number."""
    registry = RecognizerRegistry([StudentPiiRecognizer(pipeline=nlp), UsSsnRecognizer()])
    analyzer = AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp), registry=registry)
    scores = [analyzer.analyze(text, "en", entities=["US_SSN"])[0].score for text in ("It is 231-45-6789 so.", "My SSN is 231-45-6789.")]
    assert scores[1] > scores[0]


def test_keywords_leave_no_trace_in_the_vocabulary(nlp):
    engine = PiiEduNlpEngine(pipeline=nlp)
    assert engine.is_stopword("The", "en") and not engine.is_stopword("Quizzaciously", "en")
    assert engine.is_punct("!", "en") and not engine.is_punct("Quizzaciously", "en")
    assert "Quizzaciously" not in nlp.vocab.strings
    assert engine.process_text("The Map !", "en").keywords == ["map"]


def test_contract_of_presidios_engines():
    for name in ("load", "is_loaded", "process_text", "process_batch", "is_stopword", "is_punct", "get_supported_entities"):
        ours, theirs = (list(inspect.signature(getattr(c, name)).parameters) for c in (PiiEduNlpEngine, SpacyNlpEngine))
        assert ours[: len(theirs)] == theirs
    assert issubclass(PiiEduNlpEngine, NlpEngine)
    assert PiiEduNlpEngine.engine_name not in NlpEngineProvider().nlp_engines


def test_surrogates_are_not_made():
    nlp = small_pipeline(surrogates=True)
    engine = PiiEduNlpEngine(pipeline=nlp)
    doc = engine.process_text(ESSAY, "en").tokens
    assert doc._.deidentified is None
    assert "hips_surrogate" in nlp.pipe_names
