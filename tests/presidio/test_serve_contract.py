"""The REST contract: the same bytes as Presidio's two services, recorded from them and computed with Presidio's own classes."""

import json
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("presidio_analyzer")

import spacy
from presidio_analyzer import AnalyzerEngine, AnalyzerRequest, BatchAnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import CreditCardRecognizer, EmailRecognizer, PhoneRecognizer
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor

from pii_components.presidio import build_analyzer
from pii_components.presidio.operators import PiiEduAnonymizer, PiiEduDeanonymizer
from pii_components.presidio.serve.app import Services, create_app
from pii_components.presidio.serve.settings import ServeSettings

from .serving import KEY, PATTERNS, TEXT, ask, dumps

ANSWERS = json.loads((Path(__file__).parents[1] / "data/presidio_rest_answers.json").read_text("utf8"))["cases"]
JSON = {"content-type": "application/json"}
ZIP = {
    "name": "Zip",
    "supported_entity": "ZIP",
    "supported_language": "en",
    "patterns": [{"name": "zip", "regex": r"\b\d{5}\b", "score": 0.1}],
    "context": ["zip"],
}
OTHER = "Nobody is named here; zip 10023."
ASKED = [
    {"text": TEXT},
    {"text": [TEXT, OTHER, ""]},
    {"text": TEXT, "correlation_id": "17"},
    {"text": TEXT, "score_threshold": 0.95},
    {"text": TEXT, "return_decision_process": True},
    {"text": TEXT, "entities": ["PERSON"]},
    {"text": TEXT, "entities": ["PERSON", "EMAIL_ADDRESS"], "return_decision_process": True},
    {"text": OTHER, "ad_hoc_recognizers": [ZIP], "entities": ["ZIP"]},
    {"text": [TEXT + " " + OTHER, OTHER], "ad_hoc_recognizers": [ZIP], "return_decision_process": True},
    {"text": OTHER, "ad_hoc_recognizers": [ZIP], "context": ["zip"]},
    {"text": TEXT, "allow_list": ["Ina Sorel"]},
    {"text": TEXT, "allow_list": ["ina.*"], "allow_list_match": "regex"},
    {"text": TEXT, "allow_list": ["ina.*"], "allow_list_match": "regex", "regex_flags": 0},
]


@pytest.fixture(scope="module")
def stock():
    """Presidio's recognizers over a blank pipeline, as the answers were recorded; both services."""
    nlp_engine = SpacyNlpEngine()
    nlp_engine.nlp = {"en": spacy.blank("en")}
    registry = RecognizerRegistry(supported_languages=["en"])
    for kind in (EmailRecognizer, PhoneRecognizer, CreditCardRecognizer):
        registry.add_recognizer(kind())
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=["en"])
    services = Services(analyzer=analyzer, anonymizer=AnonymizerEngine(), deanonymizer=DeanonymizeEngine())
    return {name: create_app(services, ServeSettings(service=name)) for name in ("analyzer", "anonymizer")}


@pytest.fixture(scope="module")
def ours():
    """Our pipeline, in small, with our anonymizer."""
    nlp = spacy.blank("en")
    nlp.add_pipe("span_ruler", config={"spans_key": "pii"}).add_patterns(PATTERNS)
    analyzer = build_analyzer(pipeline=nlp)
    services = Services(analyzer=analyzer, anonymizer=PiiEduAnonymizer(key=KEY), deanonymizer=PiiEduDeanonymizer())
    return analyzer, create_app(services, ServeSettings(batch_size=2))


def test_answers_are_those_of_presidios_services(stock):
    differ = []
    for row in ANSWERS:
        options = {"content": row["content"], "headers": {"content-type": row["content_type"]}} if "content" in row else {}
        response = ask(stock[row["service"]], row["method"], row["path"], **options)
        expected = {**row, **row.get("ours", {})}
        got = (response.status_code, response.headers["content-type"], response.text)
        if got != (expected["status"], expected["type"], expected["body"]):
            differ.append((row["path"], row.get("content"), got))
    assert not differ
    assert sum("ours" in row for row in ANSWERS) == 7


def expected_analysis(analyzer, content):
    """What Presidio's service makes of a request, by its own classes."""
    asked = AnalyzerRequest(json.loads(json.dumps(content)))
    many = isinstance(asked.text, list)
    names = ("correlation_id", "score_threshold", "entities", "return_decision_process", "ad_hoc_recognizers")
    names = (*names, "context", "allow_list", "allow_list_match", "regex_flags")
    options = {name: getattr(asked, name) for name in names}
    found = BatchAnalyzerEngine(analyzer).analyze_iterator(
        asked.text if many else [asked.text], asked.language, batch_size=500, **options
    )
    for results in found:
        for result in results:
            del result.recognition_metadata
    return json.dumps(found if many else found[0], default=lambda result: result.to_dict(), sort_keys=True)


@pytest.mark.parametrize("content", ASKED)
def test_analysis_is_presidios_own_to_the_byte(ours, content):
    analyzer, app = ours
    content = {"language": "en", **content}
    response = ask(app, "POST", "/analyze", content=dumps(content), headers=JSON)
    assert response.status_code == 200
    assert response.text == expected_analysis(analyzer, content)


def test_analysis_finds_with_our_pipeline(ours):
    _, app = ours
    found = ask(app, "POST", "/analyze", json={"text": TEXT, "language": "en", "entities": ["PERSON", "EMAIL_ADDRESS"]}).json()
    assert sorted((row["entity_type"], TEXT[row["start"] : row["end"]]) for row in found) == [
        ("EMAIL_ADDRESS", "ina.sorel@example.edu"),
        ("PERSON", "Ina Sorel"),
        ("PERSON", "Odile Prath"),
    ]


OPERATORS = [
    None,
    {"DEFAULT": {"type": "replace", "new_value": "SOMEBODY"}},
    {
        "PERSON": {"type": "mask", "masking_char": "*", "chars_to_mask": 4, "from_end": True},
        "EMAIL_ADDRESS": {"type": "redact"},
    },
    {"DEFAULT": {"type": "hips"}},
    {"PERSON": {"type": "pseudonym"}, "DEFAULT": {"type": "hips"}},
]


@pytest.mark.parametrize("operators", OPERATORS)
@pytest.mark.parametrize("many", [False, True])
def test_anonymizing_is_presidios_own_to_the_byte(ours, operators, many):
    _, app = ours
    found = [
        {"start": 3, "end": 12, "score": 0.9, "entity_type": "PERSON"},
        {"start": 56, "end": 77, "score": 1.0, "entity_type": "EMAIL_ADDRESS"},
    ]
    content = {"text": [TEXT, OTHER] if many else TEXT, "analyzer_results": [found, []] if many else found}
    if operators is not None:
        content["anonymizers"] = operators
    engine = PiiEduAnonymizer(key=KEY)

    def result(text, rows):
        rows = AppEntitiesConvertor.analyzer_results_from_json(rows)
        return engine.anonymize(text, rows, AppEntitiesConvertor.operators_config_from_json(json.loads(json.dumps(operators))))

    response = ask(app, "POST", "/anonymize", content=dumps(content), headers=JSON)
    one = result(TEXT, found).to_json()
    assert (response.status_code, response.text) == (200, f"[{one}, {result(OTHER, []).to_json()}]" if many else one)


def test_ours_stand_beside_presidios_operators(ours):
    _, app = ours
    assert {"hips", "pseudonym", "replace", "mask", "encrypt"} <= set(ask(app, "GET", "/anonymizers").json())
    assert {"reidentify", "decrypt"} <= set(ask(app, "GET", "/deanonymizers").json())


@pytest.mark.parametrize(
    ("operator", "code"),
    [
        ({"type": "hips", "key": "short"}, "[E402]"),
        ({"type": "hips", "profile": "/etc/passwd"}, "[E425]"),
        ({"type": "hips", "vault": "/etc/passwd"}, "[E831]"),
        ({"type": "hips", "document": "x"}, "[E832]"),
    ],
)
def test_no_request_opens_a_file_of_the_server(ours, operator, code):
    _, app = ours
    found = [{"start": 3, "end": 12, "score": 0.9, "entity_type": "PERSON"}]
    response = ask(
        app, "POST", "/anonymize", json={"text": TEXT, "analyzer_results": found, "anonymizers": {"DEFAULT": operator}}
    )
    assert response.status_code == 422
    assert response.json()["error"].startswith(code)
