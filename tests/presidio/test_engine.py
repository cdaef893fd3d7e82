"""`PiiEduNlpEngine` and the pipelines behind it: texts of any length, batches, languages, what is no text, Presidio's own contract."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("presidio_analyzer")

import spacy
from hypothesis import given
from hypothesis import strategies as st
from presidio_analyzer import AnalyzerEngine, BatchAnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import (
    NerModelConfiguration,
    NlpEngine,
    NlpEngineProvider,
    SpacyNlpEngine,
)
from presidio_analyzer.predefined_recognizers import SpacyRecognizer, UsSsnRecognizer
from presidio_anonymizer import BatchAnonymizerEngine, OperatorConfig

from pii_components.errors import PiiError
from pii_components.labels import LABELS, NAME_LABELS
from pii_components.presidio import build_analyzer
from pii_components.presidio.engine import PiiEduNlpEngine, Pipeline, cut, found_labels, memory_zone
from pii_components.presidio.operators import PiiEduAnonymizer
from pii_components.presidio.recognizer import StudentPiiRecognizer
from pii_components.spans import read_spans

from .common import (
    CASES,
    ESSAY,
    KNOWN,
    SERVE_KEY,
    SERVE_TEXT,
    found,
    names_pipeline,
    ruler_pipeline,
    small_pipeline,
)


@given(st.text(alphabet="ab \n", max_size=60), st.integers(2, 12))
def test_parts_are_the_text(text, most):
    parts = cut(text, most)
    assert "".join(parts) == text
    assert all(1 <= len(part) <= most for part in parts) or parts == [""]


@pytest.mark.parametrize(("text", "parts"), CASES["cuts"])
def test_a_text_is_cut_where_a_reader_would(text, parts):
    assert cut(text, 10) == parts


def test_long_text_is_one_doc_with_everything_in_it():
    nlp = names_pipeline()
    text = "\n\n".join(["Ana Lopez read what Buzan says.", "x" * 300] * 40)
    whole = read_spans(nlp(text))
    doc = Pipeline.open(nlp, max_chars=1000).doc(text)
    assert doc.text == text
    assert [replace(c, start=0, end=1) for c in read_spans(doc)] == [
        replace(c, start=0, end=1) for c in whole
    ]
    spans = [(s.start_char, s.end_char) for s in doc.spans["pii"]]
    assert [text[start:end] for start, end in spans] == ["Ana Lopez", "Buzan"] * 40


def test_stream_keeps_order_and_context():
    nlp = names_pipeline()
    texts = ["", "Ana Lopez", "\n\n".join(["Buzan " + "y" * 400] * 5), " ", "Zed"]
    docs = list(
        Pipeline.open(nlp, max_chars=1000).docs(zip(texts, "abcde", strict=True), batch_size=2)
    )
    assert [(doc.text, context) for doc, context in docs] == list(zip(texts, "abcde", strict=True))
    assert [len(doc.spans["pii"]) for doc, _ in docs] == [0, 1, 5, 0, 1]


def nothing():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


@pytest.mark.parametrize(
    ("source", "options", "code"),
    [
        ("en_pii_edu_nowhere", {}, "E804"),
        ("no/such/folder", {}, "E804"),
        ("en_pii_edu", {"language": "de"}, "E806"),
        ("", {}, "E801"),
        (b"en_pii_edu", {}, "E801"),
        (None, {}, "E801"),
        (Path, {}, "E805"),
        (nothing, {}, "E807.*sentencizer"),
        *(
            (names_pipeline, {"max_chars": value}, "E801")
            for value in (0, 999, -1, 2.5, True, "1000")
        ),
    ],
)
def test_pipeline_that_cannot_be_had(source, options, code, tmp_path):
    given = tmp_path if source is Path else source() if callable(source) else source
    with pytest.raises(PiiError, match=code) as error:
        Pipeline.open(given, **options)
    assert str(tmp_path) not in str(error.value)


def test_labels_that_a_pipeline_says_it_finds():
    assert found_labels(small_pipeline()) == (
        *NAME_LABELS,
        "EMAIL",
        "USERNAME",
        "ID_NUM",
        "PHONE_NUM",
        "URL_PERSONAL",
    )
    assert found_labels(names_pipeline()) == LABELS
    assert found_labels("en_pii_edu") == LABELS


def test_memory_zone_frees_words():
    pipeline = Pipeline.open(names_pipeline())
    with memory_zone(pipeline.nlp):
        pipeline.doc("Quibbleton Zanderfruss")
        assert "Quibbleton" in pipeline.nlp.vocab.strings
    assert "Quibbleton" not in pipeline.nlp.vocab.strings


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


@pytest.mark.parametrize(("options", "configuration", "entities"), CASES["names_of_entities"])
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
    engine = PiiEduNlpEngine(pipeline=nlp, max_chars=1000)
    texts = [
        "Ana Lopez",
        "",
        "Buzan",
        12,
        True,
        None,
        1.5,
        "Ms. Roe " + "long " * 400 + "Ana Lopez",
    ]
    out = list(engine.process_batch(texts, "en", batch_size=3))
    assert [text for text, _ in out] == [str(text) for text in texts]
    assert [[e.text for e in artifacts.entities] for _, artifacts in out] == [
        ["Ana Lopez"],
        [],
        [],
        [],
        [],
        [],
        [],
        ["Ms. Roe", "Ana Lopez"],
    ]
    assert [call["batch_size"] for call in calls if call.get("as_tuples")] == [3]


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
    one, two = (
        [recognizer.analyze(t, None, a) for t, a in engine.process_batch(texts, "en", n_process=n)]
        for n in (1, 2)
    )
    assert [found(results, text) for results, text in zip(two, texts, strict=True)][-1] == [
        ("PERSON", "Ms. Roe")
    ]
    assert two[0][0].recognition_metadata == one[0][0].recognition_metadata


def test_loaded_by_name_when_needed_and_once(folder, monkeypatch):
    monkeypatch.setattr(PiiEduNlpEngine, "_enable_gpu", lambda self: None)
    engine = PiiEduNlpEngine(pipeline=str(folder))
    assert not engine.is_loaded()
    assert engine.get_supported_languages() == ["en"]
    assert len(engine.process_text(TEXT, "en").entities) == 2
    nlp = engine.get_nlp("en")
    engine.load()
    assert engine.get_nlp("en") is nlp


def test_provider_makes_it_from_a_configuration(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(PiiEduNlpEngine, "_enable_gpu", lambda self: None)
    path = tmp_path / "nlp.yaml"
    path.write_text(
        f"nlp_engine_name: pii_edu\nmodels:\n- {{lang_code: en, model_name: {folder}, labels: ours, return_cited: true}}\n"
    )
    engine = NlpEngineProvider(nlp_engines=(PiiEduNlpEngine,), conf_file=path).create_engine()
    assert engine.is_loaded()
    assert [e.label_ for e in engine.process_text(TEXT, "en").entities][2:] == [
        "NAME_CITED",
        "NAME_CHARACTER",
    ]


@pytest.mark.parametrize(("options", "code"), CASES["engine_refuses"])
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
    with pytest.raises(PiiError, match="E806.*it is for: en"):
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
    text = ("word " * 200 + "\n") * 1049 + "Ana Lopez"
    assert found(analyzer.analyze(text, "en"), text) == [("PERSON", "Ana Lopez")]


def test_context_words_of_other_recognizers_work(nlp):
    """Without lemmas, Presidio's enhancer would find no word near a number."""
    registry = RecognizerRegistry([StudentPiiRecognizer(pipeline=nlp), UsSsnRecognizer()])
    analyzer = AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp), registry=registry)
    scores = [
        analyzer.analyze(text, "en", entities=["US_SSN"])[0].score
        for text in ("It is 231-45-6789 so.", "My SSN is 231-45-6789.")
    ]
    assert scores[1] > scores[0]


def test_keywords_leave_no_trace_in_the_vocabulary(nlp):
    engine = PiiEduNlpEngine(pipeline=nlp)
    assert engine.is_stopword("The", "en") and not engine.is_stopword("Quizzaciously", "en")
    assert engine.is_punct("!", "en") and not engine.is_punct("Quizzaciously", "en")
    assert "Quizzaciously" not in nlp.vocab.strings
    assert engine.process_text("The Map !", "en").keywords == ["map"]


def test_contract_of_presidios_engines():
    for name in (
        "load",
        "is_loaded",
        "process_text",
        "process_batch",
        "is_stopword",
        "is_punct",
        "get_supported_entities",
    ):
        ours, theirs = (
            list(inspect.signature(getattr(c, name)).parameters)
            for c in (PiiEduNlpEngine, SpacyNlpEngine)
        )
        assert ours[: len(theirs)] == theirs
    assert issubclass(PiiEduNlpEngine, NlpEngine)
    assert PiiEduNlpEngine.engine_name not in NlpEngineProvider().nlp_engines


def test_surrogates_are_not_made():
    nlp = small_pipeline(surrogates=True)
    engine = PiiEduNlpEngine(pipeline=nlp)
    assert engine.process_text(ESSAY, "en").tokens._.deidentified is None
    assert "hips_surrogate" in nlp.pipe_names


OTHER = "Nobody is named here."
ROWS = [
    "name,email,score,essay",
    f'Ina Sorel,ina.sorel@example.edu,17,"{SERVE_TEXT}"',
    f'Odile Prath,odile.prath@example.edu,18,"{OTHER}"',
]


@pytest.fixture(scope="module")
def analyzer():
    return build_analyzer(pipeline=ruler_pipeline())


def test_dict_of_lists_and_dicts_becomes_one_without_the_people(analyzer):
    record = {
        "essay": SERVE_TEXT,
        "replies": [OTHER, "Ask Odile Prath."],
        "student": {"name": "Ina Sorel", "age": 17},
        "id": "Ina Sorel",
    }
    found = BatchAnalyzerEngine(analyzer).analyze_dict(record, "en", keys_to_skip=["id"])
    engine = BatchAnonymizerEngine(PiiEduAnonymizer(key=SERVE_KEY, profile="ferpa_strict"))
    hidden = engine.anonymize_dict(found, operators={"DEFAULT": OperatorConfig("hips")})
    assert (
        hidden["id"] == "Ina Sorel"
        and hidden["student"]["age"] == 17
        and hidden["replies"][0] == OTHER
    )
    rest = json.dumps({key: value for key, value in hidden.items() if key != "id"})
    assert (
        "Sorel" not in rest
        and "sorel" not in rest
        and "Prath" not in rest
        and "Buzan (2006)" in rest
    )


def test_csv_by_presidio_structured(analyzer, tmp_path):
    structured = pytest.importorskip("presidio_structured")
    (tmp_path / "class.csv").write_text("\n".join(ROWS), "utf8")
    table = structured.data.CsvReader().read(tmp_path / "class.csv")
    analysis = structured.PandasAnalysisBuilder(analyzer).generate_analysis(
        table[["name", "email", "score"]]
    )
    assert analysis.entity_mapping == {"name": "PERSON", "email": "EMAIL_ADDRESS"}
    # presidio-structured makes its operators itself and knows Presidio's only: ours come in as `custom`.
    hips = PiiEduAnonymizer(key=SERVE_KEY)

    def hidden(text):
        return hips.anonymize(
            text, analyzer.analyze(text, "en"), {"DEFAULT": OperatorConfig("hips")}
        ).text

    analysis.entity_mapping["essay"] = "ESSAY"  # a column of running text is not one value: say so
    custom = {
        entity: OperatorConfig("custom", {"lambda": hidden})
        for entity in ("PERSON", "EMAIL_ADDRESS", "ESSAY")
    }
    made = structured.StructuredEngine().anonymize(table.copy(), analysis, custom)
    assert (
        list(made["score"]) == [17, 18]
        and made["essay"][1] == OTHER
        and "Buzan (2006)" in made["essay"][0]
    )
    out = made.to_csv(index=False)
    assert not any(name in out for name in ("Ina", "Sorel", "sorel@"))
