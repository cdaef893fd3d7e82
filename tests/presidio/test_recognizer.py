"""`StudentPiiRecognizer`, in Presidio's own style: tables of text, how many, where; then options, the Doc that is used, bad input."""

import copy
import json

import pytest

pytest.importorskip("presidio_analyzer")

import spacy
from presidio_analyzer import AnalyzerEngine, LocalRecognizer, PatternRecognizer, RecognizerRegistry
from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

from pii_components.about import __version__
from pii_components.errors import PiiError
from pii_components.labels import LABELS, PRESIDIO_ENTITIES
from pii_components.presidio import build_analyzer
from pii_components.presidio.engine import PiiEduNlpEngine
from pii_components.presidio.recognizer import StudentPiiRecognizer
from pii_components.presidio.settings import Naming

from .helpers import ESSAY, KNOWN, found, names_pipeline, small_pipeline

TEXT = "Ana Lopez told Ms. Roe what Buzan wrote of Zed."


@pytest.fixture(scope="module")
def rules():
    return StudentPiiRecognizer(pipeline=small_pipeline())


@pytest.fixture
def nlp():
    return names_pipeline()


def spacy_engine(nlp):
    """RETURNS (SpacyNlpEngine): Presidio's own around a pipeline, as YAML makes it of `model_name`."""
    engine = SpacyNlpEngine(ner_model_configuration=NerModelConfiguration())
    engine.nlp = {"en": nlp}
    return engine


@pytest.mark.parametrize(
    ("text", "expected_len", "expected_positions"),
    [
        # fmt: off
        ("Name: Ana Lopez\n\nI like maps.", 1, (("PERSON", 6, 15),)),
        ("Write to ana.lopez@gmail.com", 1, (("EMAIL_ADDRESS", 9, 28),)),
        ("ana@mail.com or bo@mail.com", 2, (("EMAIL_ADDRESS", 0, 12), ("EMAIL_ADDRESS", 16, 27))),
        ("Call (212) 555-0123 today", 1, (("PHONE_NUMBER", 5, 19),)),
        ("See linkedin.com/in/ana-lopez-42", 1, (("URL", 4, 32),)),
        ("My student ID is 20481234.", 1, (("ID", 17, 25),)),
        ("Read https://en.wikipedia.org/wiki/Mind_map first.", 0, ()),
        ("Nothing of anybody stands here.", 0, ()),
        ("", 0, ()),
        (" \n\t ", 0, ()),
        # fmt: on
    ],
)
def test_what_is_found_where(text, expected_len, expected_positions, rules):
    results = rules.analyze(text, rules.supported_entities)
    assert len(results) == expected_len
    for result, expected in zip(results, expected_positions, strict=True):
        assert (result.entity_type, result.start, result.end) == expected
        assert 0 < result.score <= 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]),
        ({"labels": "ours"}, [("NAME_STUDENT", "Ana Lopez"), ("NAME_INSTRUCTOR", "Ms. Roe")]),
        (
            {"return_cited": True},
            [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe"), ("CITED_PERSON", "Buzan"), ("CHARACTER_PERSON", "Zed")],
        ),
        (
            {"return_cited": True, "labels": "ours", "supported_entities": ["NAME_CITED", "NAME_STUDENT"]},
            [("NAME_STUDENT", "Ana Lopez"), ("NAME_CITED", "Buzan")],
        ),
        ({"supported_entity": "EMAIL_ADDRESS"}, []),
    ],
)
def test_options(options, expected, nlp):
    recognizer = StudentPiiRecognizer(pipeline=nlp, **options)
    assert found(recognizer.analyze(TEXT, recognizer.supported_entities), TEXT) == expected
    assert found(recognizer.analyze(TEXT), TEXT) == expected


def test_cited_people_are_never_called_person():
    for options in ({}, {"return_cited": True}):
        for label in ("NAME_CITED", "NAME_CHARACTER"):
            assert Naming(**options).entity(label) in ("", PRESIDIO_ENTITIES[label])
    assert Naming().entities() == list(dict.fromkeys(e for label, e in PRESIDIO_ENTITIES.items() if label not in ("NAME_CITED", "NAME_CHARACTER")))
    assert Naming("ours", True).entities() == list(LABELS)


def test_scores_roles_and_reasons_are_told(nlp):
    recognizer = StudentPiiRecognizer(pipeline=nlp, name="Ours")
    result, _ = recognizer.analyze(TEXT)
    assert result.score == KNOWN["Ana Lopez"][1]
    explained = result.analysis_explanation
    assert (explained.recognizer, explained.original_score, explained.score) == ("Ours", 0.9375, 0.9375)
    assert explained.textual_explanation == (
        "NAME_STUDENT: student: signs the essay "
        "(source model; roles STUDENT 0.90, CITED 0.05, INSTRUCTOR 0.02, CONNECTED 0.02, CHARACTER 0.01)"
    )
    meta = dict(result.recognition_metadata)
    assert meta.pop("recognizer_identifier") == recognizer.id
    assert meta == {
        "recognizer_name": "Ours",
        "pii_label": "NAME_STUDENT",
        "pii_role": "STUDENT",
        "pii_roles": {"STUDENT": 0.9, "CITED": 0.05, "INSTRUCTOR": 0.02, "CONNECTED": 0.02, "CHARACTER": 0.01},
        "pii_reason": "student: signs the essay",
        "pii_source": "model",
    }
    # Presidio's context enhancer copies results, its REST service writes them.
    assert copy.deepcopy(result).recognition_metadata == result.recognition_metadata
    assert "Lopez" not in json.dumps([explained.to_dict(), meta])


def test_explanation_reaches_the_caller_of_the_engine(nlp):
    analyzer = build_analyzer(pipeline=nlp)
    (first, _) = sorted(analyzer.analyze(TEXT, "en", return_decision_process=True), key=lambda r: r.start)
    assert first.analysis_explanation.textual_explanation.startswith("NAME_STUDENT: student: signs the essay")
    assert first.recognition_metadata["pii_role"] == "STUDENT"
    assert all(r.analysis_explanation is None for r in analyzer.analyze(TEXT, "en"))


@pytest.mark.parametrize("make", [lambda nlp: PiiEduNlpEngine(pipeline=nlp), spacy_engine], ids=["ours", "spacy"])
def test_pipeline_runs_once_for_a_text(make, nlp):
    """The Doc of the NLP engine is used; a pipeline that the recognizer would load is not there to be loaded."""
    recognizer = StudentPiiRecognizer()
    analyzer = AnalyzerEngine(nlp_engine=make(nlp), registry=RecognizerRegistry([recognizer]))
    assert found(analyzer.analyze(TEXT, "en"), TEXT) == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]
    assert nlp.get_pipe("names").texts == [TEXT]
    assert recognizer._opened is None


def test_own_pipeline_is_loaded_at_the_first_text(nlp, tmp_path):
    nlp.to_disk(tmp_path / "names")
    recognizer = StudentPiiRecognizer(pipeline=tmp_path / "names")
    analyzer = AnalyzerEngine(nlp_engine=spacy_engine(spacy.blank("en")), registry=RecognizerRegistry([recognizer]))
    assert recognizer._opened is None
    for _ in range(2):
        assert found(analyzer.analyze(TEXT, "en"), TEXT) == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]
    assert recognizer._opened.nlp.get_pipe("names").texts == [TEXT] * 2


def test_own_pipeline_is_loaded_once_by_many_threads(nlp, monkeypatch):
    """A service answers its first requests at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    from pii_components.presidio import recognizer as module

    loads = []
    monkeypatch.setattr(module.Pipeline, "open", classmethod(lambda cls, *a, **k: loads.append(a) or cls(nlp)))
    recognizer = StudentPiiRecognizer(pipeline=nlp)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(recognizer.analyze, [TEXT] * 16))
    assert len(loads) == 1
    assert all(found(result, TEXT) == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")] for result in results)


def test_artifacts_of_another_text_are_not_used(nlp):
    artifacts = PiiEduNlpEngine(pipeline=nlp).process_text("Zed " + TEXT, "en")
    recognizer = StudentPiiRecognizer(pipeline=nlp)
    assert found(recognizer.analyze(TEXT, None, artifacts), TEXT) == [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]


def test_what_a_pipeline_finds_beyond_what_it_says_is_returned_to_who_asks_for_all(rules):
    """A component of the user's may find dates without a list of labels; unsure means protect."""
    text = "Ana Lopez, May 4, 2021"
    artifacts = PiiEduNlpEngine(pipeline=names_pipeline()).process_text(text, "en")
    assert "DATE_TIME" not in rules.supported_entities
    assert found(rules.analyze(text, [*rules.supported_entities, "US_SSN"], artifacts), text) == [
        ("PERSON", "Ana Lopez"),
        ("DATE_TIME", "May 4, 2021"),
    ]
    assert found(rules.analyze(text, ["PERSON"], artifacts), text) == [("PERSON", "Ana Lopez")]
    strict = StudentPiiRecognizer(pipeline=rules.pipeline, supported_entities=["PERSON"])
    assert found(strict.analyze(text, ["PERSON", "DATE_TIME"], artifacts), text) == [("PERSON", "Ana Lopez")]


def test_unknown_entities_of_a_request_are_others(rules):
    assert rules.analyze(ESSAY, ["US_SSN", "NOTHING"]) == []
    assert rules.analyze(ESSAY, []) == []
    assert found(rules.analyze(ESSAY, ["US_SSN", "PHONE_NUMBER"]), ESSAY) == [("PHONE_NUMBER", "(212) 555-0123")]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ({"labells": "ours"}, "E803", "labells"),
        ({"labels": "theirs"}, "E801", "presidio or ours"),
        ({"labels": None}, "E801", "presidio or ours"),
        ({"return_cited": "yes"}, "E801", "true or false"),
        ({"supported_entities": ["PERSON", "PERSONS"]}, "E802", "PERSONS"),
        ({"supported_entities": ["CITED_PERSON"]}, "E802", "return_cited"),
        ({"supported_entities": ["NAME_STUDENT"]}, "E802", "EMAIL_ADDRESS"),
        ({"supported_entity": "PERSON", "supported_entities": ["PERSON"]}, "E810", "supported_entity"),
        ({"pipeline": "en_pii_edu_nowhere"}, "E804", "nothing is downloaded"),
        ({"pipeline": b"en_pii_edu"}, "E801", "bytes"),
        ({"supported_language": "de"}, "E806", "it is for: en"),
    ],
)
def test_options_that_cannot_be_used(options, code, told):
    with pytest.raises(PiiError) as error:
        StudentPiiRecognizer(**options)
    assert error.value.code == code
    assert told in str(error.value)


@pytest.mark.parametrize(("text", "code"), [(b"Ana", "E808"), (None, "E808"), (3, "E808"), ("\udc80", "E809")])
def test_what_is_no_text(text, code, rules):
    with pytest.raises(PiiError) as error:
        rules.analyze(text, ["PERSON"])
    assert error.value.code == code


def test_text_that_is_longer_than_a_part(nlp):
    text = "Ana Lopez\n" + "word " * 500 + "Ana Lopez"
    recognizer = StudentPiiRecognizer(pipeline=nlp, max_chars=1000)
    assert [(r.start, r.end) for r in recognizer.analyze(text)] == [(0, 9), (len(text) - 9, len(text))]


def test_a_language_that_no_recognizer_speaks_is_presidios_error(nlp):
    with pytest.raises(ValueError, match="No matching recognizers"):
        build_analyzer(pipeline=nlp).analyze(TEXT, "de")


def test_is_a_recognizer_like_others(rules):
    assert isinstance(rules, LocalRecognizer)
    assert (rules.name, rules.version, rules.supported_language) == ("StudentPiiRecognizer", __version__, "en")
    assert rules.get_supported_entities() == rules.supported_entities == ["PERSON", "EMAIL_ADDRESS", "USERNAME", "ID", "PHONE_NUMBER", "URL"]
    assert rules.country_code() is None
    assert rules.context == []


def test_as_a_dict_and_back(nlp, tmp_path):
    nlp.to_disk(tmp_path / "names")
    for options in ({}, {"labels": "ours", "return_cited": True, "name": "Ours", "supported_entities": ["NAME_CITED"]}):
        recognizer = StudentPiiRecognizer(pipeline=tmp_path / "names", **options)
        data = json.loads(json.dumps(recognizer.to_dict()))
        again = StudentPiiRecognizer.from_dict(data)
        assert again.to_dict() == recognizer.to_dict()
        assert found(again.analyze(TEXT), TEXT) == found(recognizer.analyze(TEXT), TEXT)


def test_beside_recognizers_of_ones_own(nlp):
    """As Presidio's documentation adds recognizers."""
    titles = PatternRecognizer(supported_entity="TITLE", deny_list=["Mr.", "Mrs.", "Ms."])
    analyzer = build_analyzer(pipeline=nlp)
    analyzer.registry.add_recognizer(titles)
    results = analyzer.analyze(text=TEXT, language="en")
    assert ("TITLE", "Ms.") in found(results, TEXT)
    assert ("PERSON", "Ms. Roe") in found(results, TEXT)
    analyzer.registry.remove_recognizer("StudentPiiRecognizer")
    assert found(analyzer.analyze(text=TEXT, language="en"), TEXT) == [("TITLE", "Ms.")]


def test_thresholds_and_allow_lists_of_presidio(nlp):
    analyzer = build_analyzer(pipeline=nlp)
    assert found(analyzer.analyze(TEXT, "en", score_threshold=0.7), TEXT) == [("PERSON", "Ana Lopez")]
    assert found(analyzer.analyze(TEXT, "en", allow_list=["Ana Lopez"]), TEXT) == [("PERSON", "Ms. Roe")]
    (ours,) = [r for r in analyzer.registry.recognizers if isinstance(r, StudentPiiRecognizer)]
    ours.score_thresholds = {"PERSON": 0.7}
    assert found(analyzer.analyze(TEXT, "en"), TEXT) == [("PERSON", "Ana Lopez")]


def test_context_words_raise_scores_as_in_presidio(nlp):
    """Ours read the context themselves; whoever gives words all the same gets Presidio's rule."""
    recognizer = StudentPiiRecognizer(pipeline=nlp, context=["dear"])
    analyzer = AnalyzerEngine(nlp_engine=PiiEduNlpEngine(pipeline=nlp), registry=RecognizerRegistry([recognizer]))
    (result,) = analyzer.analyze("Dear Ana Lopez", "en", return_decision_process=True)
    assert result.score == 1.0
    assert result.analysis_explanation.supportive_context_word == "dear"
    assert result.analysis_explanation.original_score == KNOWN["Ana Lopez"][1]
