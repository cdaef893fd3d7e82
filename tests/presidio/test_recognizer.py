"""`StudentPiiRecognizer` in Python and in YAML: what is found where, options, the Doc that is used, how Presidio learns of it."""

import copy
import importlib
import json
import logging
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import spacy
import srsly
from presidio_analyzer import (
    AnalyzerEngine,
    AnalyzerEngineProvider,
    RecognizerRegistry,
)
from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider
from presidio_anonymizer import AnonymizerEngine, OperatorConfig
from typer.testing import CliRunner

import pii_components.presidio as package
from pii_components.cli.app import app
from pii_components.context.view import ContextSettings
from pii_components.errors import PiiError
from pii_components.labels import PRESIDIO_ENTITIES
from pii_components.presidio import PiiEduAnonymizer, build_analyzer
from pii_components.presidio.recognizer import PiiEduNlpEngine, StudentPiiRecognizer
from pii_components.presidio.settings import config_path, label_of, read_config, score_of
from pii_components.profiles import Profile
from tests.fresh import fresh

from .common import ESSAY, KEY, KNOWN, found, names_pipeline, small_pipeline

TEXT = "Ana Lopez told Ms. Roe what Buzan wrote of Zed."
TWO = [("PERSON", "Ana Lopez"), ("PERSON", "Ms. Roe")]


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
    ("text", "expected"),
    [
        ("Name: Ana Lopez\n\nI like maps.", [("PERSON", 6, 15)]),
        ("ana@mail.com or bo@mail.com", [("EMAIL_ADDRESS", 0, 12), ("EMAIL_ADDRESS", 16, 27)]),
        ("Call (212) 555-0123 today", [("PHONE_NUMBER", 5, 19)]),
        ("See linkedin.com/in/ana-lopez-42", [("URL", 4, 32)]),
        ("My student ID is 20481234.", [("ID", 17, 25)]),
        ("Read https://en.wikipedia.org/wiki/Mind_map first.", []),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_what_is_found_where(text, expected, rules):
    results = rules.analyze(text, rules.supported_entities)
    assert [(result.entity_type, result.start, result.end) for result in results] == expected


CITED = [("CITED_PERSON", "Buzan"), ("CHARACTER_PERSON", "Zed")]
ALL = [("PERSON", name) for name in ("Ana Lopez", "Ms. Roe", "Buzan", "Zed")]
OPTIONS = [
    ({}, TWO),
    ({"labels": "ours"}, [("NAME_STUDENT", "Ana Lopez"), ("NAME_INSTRUCTOR", "Ms. Roe")]),
    ({"cited": "own"}, TWO + CITED),
    ({"cited": "person"}, ALL),
    (
        {"cited": "own", "labels": "ours", "supported_entities": ["NAME_CITED"]},
        [("NAME_CITED", "Buzan")],
    ),
]


def test_all_persons_are_hidden(nlp):
    """Metadata say what operators of ours do: the profile keeps cited people where they are told."""
    analyzer = build_analyzer(pipeline=nlp, cited="person")
    results = analyzer.analyze(TEXT, "en", score_threshold=0.5)
    assert found(results, TEXT) == ALL
    new = PiiEduAnonymizer(key=KEY).anonymize(TEXT, results).text
    assert not any(name in new for name in ("Lopez", "Buzan", "Zed"))
    engine = PiiEduNlpEngine(pipeline=nlp, cited="person")
    assert [span.label_ for span in engine.process_text(TEXT, "en").entities] == ["PERSON"] * 4


def test_scores_roles_and_reasons_are_told(nlp):
    recognizer = StudentPiiRecognizer(pipeline=nlp, name="Ours")
    result, _ = recognizer.analyze(TEXT)
    explained, meta = result.analysis_explanation, dict(result.recognition_metadata)
    assert result.score == explained.original_score == explained.score == KNOWN["Ana Lopez"][1]
    told = ["NAME_STUDENT: student: signs the essay", "probability 0.94", "STUDENT 0.90, CITED"]
    assert explained.recognizer == "Ours"
    assert all(part in explained.textual_explanation for part in told)
    roles = {
        "STUDENT": 0.9,
        "CITED": 0.05,
        "INSTRUCTOR": 0.02,
        "CONNECTED": 0.02,
        "CHARACTER": 0.01,
    }
    assert meta == {
        "recognizer_name": "Ours",
        "recognizer_identifier": recognizer.id,
        "pii_label": "NAME_STUDENT",
        "pii_probability": 0.9375,
        "pii_role": "STUDENT",
        "pii_roles": roles,
        "pii_reason": "student: signs the essay",
        "pii_source": "model",
    }
    # Presidio's context enhancer copies results, its REST service writes them.
    assert copy.deepcopy(result).recognition_metadata == meta
    assert "Lopez" not in json.dumps([explained.to_dict(), meta])


@pytest.mark.parametrize(
    "make", [lambda nlp: PiiEduNlpEngine(pipeline=nlp), spacy_engine], ids=["ours", "spacy"]
)
def test_pipeline_runs_once_for_a_text(make, nlp):
    """The Doc of the NLP engine is used; a pipeline that the recognizer would load is not there to be loaded."""
    recognizer = StudentPiiRecognizer()
    analyzer = AnalyzerEngine(nlp_engine=make(nlp), registry=RecognizerRegistry([recognizer]))
    assert found(analyzer.analyze(TEXT, "en"), TEXT) == TWO
    assert nlp.get_pipe("names").texts == [TEXT]
    assert recognizer._opened is None


def test_own_pipeline_is_loaded_at_the_first_text(nlp, tmp_path):
    nlp.to_disk(tmp_path / "names")
    recognizer = StudentPiiRecognizer(pipeline=tmp_path / "names")
    analyzer = AnalyzerEngine(
        nlp_engine=spacy_engine(spacy.blank("en")), registry=RecognizerRegistry([recognizer])
    )
    assert recognizer._opened is None
    for _ in range(2):
        assert found(analyzer.analyze(TEXT, "en"), TEXT) == TWO
    assert recognizer._opened.get_pipe("names").texts == [TEXT] * 2


INDIRECT = "Ana Lopez, 17, born on May 3, of Ashby, is at Harlo College and works for Mumpert Bank with the twins."
VALUES = {
    "Ana Lopez": "NAME_STUDENT",
    "17": "AGE",
    "May 3": "DATE",
    "Ashby": "LOCATION",
    "Harlo College": "EDUCATION",
    "Mumpert Bank": "EMPLOYER",
    "the twins": "OTHER",
}


@pytest.mark.parametrize(
    ("options", "asked", "returned"),
    [
        ({}, {}, list(VALUES)[:-1]),
        ({"direct_only": True}, {}, ["Ana Lopez"]),
        ({"supported_entities": ["PERSON", "OTHER_PII"]}, {}, ["Ana Lopez", "the twins"]),
        ({"supported_entities": ["PERSON", "DATE_TIME"]}, {}, ["Ana Lopez", "May 3"]),
        ({}, {"entities": ["PERSON", "ORGANIZATION"]}, ["Ana Lopez", "Mumpert Bank"]),
        ({"supported_entities": ["PERSON"]}, {"entities": ["PERSON", "LOCATION"]}, ["Ana Lopez"]),
    ],
)
def test_indirect_identifiers_are_returned_unless_they_are_left_out(options, asked, returned):
    """The analyzer knows no profile: what is not asked for is not returned, and what is returned the profile of `hips` may keep."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([{"label": label, "pattern": value} for value, label in VALUES.items()])
    results = build_analyzer(pipeline=nlp, **options).analyze(INDIRECT, "en", **asked)
    assert found(results, INDIRECT) == [
        (PRESIDIO_ENTITIES[VALUES[value]], value) for value in returned
    ]
    for profile in map(Profile.load, ("crapii", "ferpa_strict")):
        new = PiiEduAnonymizer(key=KEY, profile=profile).anonymize(INDIRECT, results).text
        gone = [value for value in returned if profile.protects(VALUES[value])]
        assert [value for value in VALUES if value not in new] == gone


def test_own_labels_are_entities():
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([{"label": "COURSE", "pattern": "ENG 101"}])
    text, everything = "I took ENG 101.", build_analyzer(pipeline=nlp)
    for entities in (None, ["COURSE", "PERSON"]):
        assert found(everything.analyze(text, "en", entities), text) == [("COURSE", "ENG 101")]
    assert not everything.analyze(text, "en", ["PERSON"])
    named = build_analyzer(pipeline=nlp, supported_entities=["PERSON", "COURSE"])
    assert found(named.analyze(text, "en", ["COURSE"]), text) == [("COURSE", "ENG 101")]


def test_unknown_entities_of_a_request_are_others(rules):
    assert rules.analyze(ESSAY, ["US_SSN", "NOTHING"]) == []
    assert rules.analyze(ESSAY, []) == []
    assert found(rules.analyze(ESSAY, ["US_SSN", "PHONE_NUMBER"]), ESSAY) == [
        ("PHONE_NUMBER", "(212) 555-0123")
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"labells": "ours"}, "E546.*labells"),
        ({"labels": "theirs"}, "E650.*presidio or ours"),
        ({"labels": None}, "E650.*presidio or ours"),
        ({"cited": True}, "E650.*omit or own or person"),
        ({"direct_only": 1}, "E650.*false or true"),
        ({"direct_only": True, "supported_entities": ["LOCATION"]}, "E519"),
        ({"supported_entities": ["PERSON", "PERSONS"]}, "E519.*PERSONS"),
        ({"supported_entities": ["US_SSN"]}, "E519"),
        ({"supported_entities": ["CITED_PERSON"]}, "E519.*cited: own"),
        ({"supported_entities": ["NAME_STUDENT"]}, "E519.*EMAIL_ADDRESS"),
        ({"pipeline": "en_pii_edu_nowhere"}, "E516.*not installed"),
        ({"supported_language": "de"}, "E519.*use en"),
    ],
)
def test_options_that_cannot_be_used(options, told):
    with pytest.raises(PiiError, match=told):
        StudentPiiRecognizer(**options)


def test_as_a_dict_and_back(nlp, tmp_path):
    nlp.to_disk(tmp_path / "names")
    cited = {"labels": "ours", "cited": "own", "supported_entities": ["NAME_CITED"]}
    for options in ({}, cited):
        recognizer = StudentPiiRecognizer(pipeline=tmp_path / "names", **options)
        data = json.loads(json.dumps(recognizer.to_dict()))
        again = StudentPiiRecognizer.from_dict(data)
        assert again.to_dict() == recognizer.to_dict()
        assert found(again.analyze(TEXT), TEXT) == found(recognizer.analyze(TEXT), TEXT)


DOC = Path(__file__).parents[2] / "docs/how-to/presidio.md"


# Presidio warns that it adds SpacyRecognizer, and then takes it away again, since the list says so.
pytestmark = pytest.mark.filterwarnings("ignore:NLP recognizer:UserWarning")


# Nothing of ours is imported, and nothing can be fetched.
FRESH = """
import socket, sys, warnings
def refuse(*args, **kwargs):
    raise OSError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
import spacy.cli
spacy.cli.download = refuse
from presidio_analyzer import AnalyzerEngine, AnalyzerEngineProvider
assert not any(name.startswith("pii_components") for name in sys.modules)
warnings.simplefilter("ignore")
engine = AnalyzerEngineProvider(analyzer_engine_conf_file=sys.argv[1]).create_engine()
names = sorted(recognizer.name for recognizer in engine.registry.recognizers)
assert names == ["CreditCardRecognizer", "CryptoRecognizer", "IbanRecognizer", "IpRecognizer", "StudentPiiRecognizer", "UsSsnRecognizer"], names
text = "By Marisol Quintero\\n\\nAs Buzan (2006) says, a map helps. My friend Tobias drew it. Write to marisol.quintero@gmail.com"
results = sorted(engine.analyze(text, "en", return_decision_process=True), key=lambda r: r.start)
assert [(r.entity_type, text[r.start : r.end]) for r in results] == [
    ("PERSON", "Marisol Quintero"), ("PERSON", "Tobias"), ("EMAIL_ADDRESS", "marisol.quintero@gmail.com")
], results
assert len({r.score for r in results}) > 1 and not any(r.score == 0.85 for r in results), results
assert results[0].analysis_explanation.textual_explanation.startswith("NAME_STUDENT: student: "), results[0]
(ours,) = (r for r in engine.registry.recognizers if r.name == "StudentPiiRecognizer")
assert ours._opened is None, "a second pipeline was loaded"
for short, name in [("John Smith drivers license is AC432223", "John Smith"), ("David Johnson lives in Maine", "David Johnson")]:
    assert any(short[r.start : r.end].startswith(name) for r in engine.analyze(short, "en", ["PERSON"], score_threshold=0.5)), short
assert engine.nlp_engine.process_text(text, "en").tokens.spans["pii"].attrs["protect_at"] == 0.25
# The NLP engine was given nothing but the pipeline's name; with Presidio's own recognizers it finds the same people.
bare = AnalyzerEngine(nlp_engine=engine.nlp_engine)
assert sorted(text[r.start : r.end] for r in bare.analyze(text, "en", ["PERSON"], score_threshold=0.5)) == ["Marisol Quintero", "Tobias"]
print("fine")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pipeline on disk."""
    path = tmp_path_factory.mktemp("pipelines") / "names"
    names_pipeline().to_disk(path)
    return path


def recognizers(**options):
    """RETURNS (dict): A list of recognizers as YAML says it, with SpacyRecognizer off."""
    entry = {"name": "StudentPiiRecognizer", "type": "predefined", **options}
    return {
        "supported_languages": ["en"],
        "global_regex_flags": 26,
        "recognizers": [entry, {"name": "SpacyRecognizer", "enabled": False}],
    }


def test_one_file_is_enough_in_a_process_that_imports_nothing_of_ours(tmp_path):
    made = CliRunner().invoke(app, ["init", str(tmp_path / "analyzer.yaml")])
    assert made.exit_code == 0, made.output
    assert fresh(FRESH, tmp_path / "analyzer.yaml", cwd="/").stdout.strip() == "fine"


def test_score_is_half_where_protection_begins():
    for label, probability, protect_at, score in (
        ("NAME_STUDENT", 0.21, 0.21, 0.5),
        ("NAME_CONNECTED", 0.3, 0.21, 0.617),
        ("NAME_STUDENT", 0.1, 0.21, 0.5),
        ("EMAIL", 0.9, 0.21, 0.9),
        ("NAME_CITED", 0.3, 0.21, 0.3),
        ("NAME_STUDENT", 0.0, 0.0, 0.5),
        ("NAME_STUDENT", 1.0, 1.0, 0.5),
    ):
        assert score_of(label, probability, protect_at) == pytest.approx(score, abs=0.001)


def test_the_page_tells_thresholds_of_names_that_are_hidden():
    settings, page = ContextSettings(), DOC.read_text("utf8")
    points = (settings.protect, settings.protect_recall, settings.protect_precision)
    told = re.search(
        r"names are hidden \((\S+); (\S+) for .+?recall`, (\S+)\nfor `precision`\)", page
    )
    assert tuple(map(float, told.groups())) == points
    head, row = (
        re.findall(r"\.\d+", line)
        for line in page.split("\n")
        if line.startswith(("| `score_th", "| names that"))
    )
    for least, private in zip(map(float, head), map(float, row), strict=True):
        assert score_of("NAME_STUDENT", private, settings.protect) == pytest.approx(least, abs=0.01)


def test_operating_point_of_the_document_reaches_both(nlp):
    nlp.add_pipe("presidio_test_point", last=True)
    text = "Zed said no\nAna Lopez\nMs. Roe"
    artifacts = PiiEduNlpEngine(pipeline=nlp).process_text(text, "en")
    results = StudentPiiRecognizer(pipeline=nlp).analyze(text, None, artifacts)
    assert [round(r.score, 3) for r in results] == [0.983, 0.862]
    assert artifacts.scores == [r.score for r in results]
    assert [r.recognition_metadata["pii_probability"] for r in results] == [0.9375, 0.625]


@pytest.mark.parametrize(
    ("options", "expected"),
    [*OPTIONS, ({"score_thresholds": {"PERSON": 0.7}}, TWO[:1]), ({"direct_only": True}, TWO)],
)
def test_options_from_yaml(options, expected, folder, tmp_path):
    """All three sections in one file; the class is known in this process."""
    nlp = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": str(folder)}]}
    srsly.write_yaml(
        tmp_path / "all.yaml",
        {
            "supported_languages": ["en"],
            "nlp_configuration": nlp,
            "recognizer_registry": recognizers(**options),
        },
    )
    engine = AnalyzerEngineProvider(analyzer_engine_conf_file=tmp_path / "all.yaml").create_engine()
    assert found(engine.analyze(TEXT, "en"), TEXT) == expected


def test_what_nobody_knows_is_an_error():
    """Presidio drops unknown keys of other recognizers."""
    for options, code in (
        ({"lables": "ours"}, "E546"),
        ({"supported_languages": ["en", "es"]}, "E519"),
    ):
        provider = RecognizerRegistryProvider(registry_configuration=recognizers(**options))
        with pytest.raises(PiiError, match=code):
            provider.create_recognizer_registry()


def test_a_list_of_ones_own_for_build_analyzer(tmp_path):
    path = tmp_path / "mine.yaml"
    srsly.write_yaml(path, recognizers(cited="own", supported_entities=["CITED_PERSON"]))
    analyzer = build_analyzer(pipeline=names_pipeline(), recognizers=path)
    assert found(analyzer.analyze(TEXT, "en"), TEXT) == [("CITED_PERSON", "Buzan")]
    srsly.write_yaml(
        path,
        {
            "supported_languages": ["en"],
            "recognizers": [{"name": "IpRecognizer", "type": "predefined"}],
        },
    )
    analyzer = build_analyzer(pipeline=names_pipeline(), recognizers=path)
    assert found(analyzer.analyze(TEXT + " 10.11.12.13", "en"), TEXT + " 10.11.12.13")[-1] == (
        "IP_ADDRESS",
        "10.11.12.13",
    )


def test_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "mine.yaml"
    for text in (None, "a: [", "- a list\n", ""):
        if text is not None:
            path.write_text(text)
        with pytest.raises(PiiError, match="E900") as error:
            read_config(path)
        assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My SSN is 231456789.", [("US_SSN", "231456789")]),
        ("The number is 231456789.", []),
        ("It is 231-45-6789.", [("US_SSN", "231-45-6789")]),
        ("DE89370400440532013000", [("IBAN_CODE", "DE89370400440532013000")]),
        ("4012888888881881", [("CREDIT_CARD", "4012888888881881")]),
        ("4012888888881882", []),
        ("at 10.11.12.13", [("IP_ADDRESS", "10.11.12.13")]),
    ],
)
@pytest.mark.parametrize("way", ["Python", "YAML"])
def test_presidios_recognizers_of_the_list_that_ships(text, expected, way, folder, tmp_path):
    analyzer = build_analyzer(pipeline=names_pipeline())
    if way == "YAML":
        shipped = config_path().read_text("utf8").replace("en_pii_edu", str(folder))
        (tmp_path / "a.yaml").write_text(shipped.replace(f"with {folder}", ""), "utf8")
        analyzer = AnalyzerEngineProvider(tmp_path / "a.yaml").create_engine()
    assert found(analyzer.analyze(text, "en"), text) == expected


NUMBERS = {
    "US_SSN": ["231-45-6789", "SSN 231456789"],
    "CREDIT_CARD": ["4012888888881881"],
    "IBAN_CODE": ["DE89370400440532013000"],
    "IP_ADDRESS": ["10.11.12.13"],
    "ID": ["20481234", "231456789"],  # nine digits alone are anything
}


@pytest.mark.parametrize(("entity", "text"), [(k, text) for k, v in NUMBERS.items() for text in v])
def test_presidios_own_type_wins(entity, text):
    """Our label covers the same: an operator for US_SSN fires, and nobody asks whose score is higher."""
    nlp = spacy.blank("en")
    value = text.split()[-1]
    nlp.add_pipe("span_ruler", config={"spans_key": "pii"}).add_patterns(
        [{"label": label_of(entity), "pattern": value}]
    )
    text = f"Mine: {text}."
    results = build_analyzer(pipeline=nlp).analyze(text, "en")
    ours = [r for r in results if r.recognition_metadata.get("pii_label")]
    assert found(ours, text) == [(entity, value)]
    operators = {entity: OperatorConfig("replace", {"new_value": "GONE"})}
    assert AnonymizerEngine().anonymize(text, results, operators).text.endswith("GONE.")


@pytest.fixture
def imported(monkeypatch):
    """Names of modules that the package imports."""
    names = []
    monkeypatch.setattr(
        package,
        "import_module",
        lambda name, anchor: names.append(name) or importlib.import_module(name, anchor),
    )
    return names


def test_recognizer_is_known_whenever_a_pipeline_is_made(imported, monkeypatch):
    """Each time, so that it does not matter which of the two was imported first; nothing is imported where Presidio is not in use."""
    (entry,) = entry_points(group="spacy_factories", name="pii_edu_presidio")
    assert entry.value == "pii_components.presidio:announce"
    for _ in range(2):
        assert entry.load()() is None
    assert imported == [".recognizer"] * 2
    monkeypatch.delitem(sys.modules, "presidio_analyzer", raising=False)
    assert callable(package.announce)
    assert imported == [".recognizer"] * 2


def test_another_presidio_does_not_harm_spacy(monkeypatch, caplog):
    def fail(name, anchor):
        raise ImportError("no such name")

    monkeypatch.setattr(package, "import_module", fail)
    with caplog.at_level(logging.WARNING, logger="pii_components"):
        assert callable(package.announce)
    assert "StudentPiiRecognizer does not work" in caplog.text
