"""Presidio's REST API: the bytes of its services, limits and logs, and the server as a whole."""

import json
import logging
import signal
import sys
from pathlib import Path

import httpx
import pytest
import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer,
    EmailRecognizer,
    PhoneRecognizer,
)
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor

from pii_components.cli.common import DONE
from pii_components.errors import PiiError
from pii_components.presidio import build_analyzer
from pii_components.presidio.operators import PiiEduAnonymizer, PiiEduDeanonymizer
from pii_components.presidio.serve import (
    Services,
    build_services,
    create_app,
)
from pii_components.presidio.settings import ServeSettings

from .common import SERVE_KEY, SERVE_TEXT, ask, ruler_pipeline, server

ANSWERS = json.loads(
    (Path(__file__).parents[1] / "data/presidio_rest_answers.json").read_text("utf8")
)["cases"]
NAMES = ("Ina", "Sorel", "Odile", "Prath", "Buzan", "Quillfeather")
OTHER = "Nobody is named here; zip 10023."
FOUND = [
    {"start": 3, "end": 12, "score": 0.9, "entity_type": "PERSON"},
    {"start": 56, "end": 77, "score": 1.0, "entity_type": "EMAIL_ADDRESS"},
]


def app_of(services, **settings):
    asked = ServeSettings(**settings)
    return create_app(asked, (services or Services())._replace(settings=asked))


def body(text=SERVE_TEXT, language="en", **more):
    return {"text": text, "language": language, **more}


@pytest.fixture(scope="module")
def stock():
    """Presidio's recognizers over a blank pipeline, as the answers were recorded; both services."""
    nlp_engine = SpacyNlpEngine()
    nlp_engine.nlp = {"en": spacy.blank("en")}
    registry = RecognizerRegistry(supported_languages=["en"])
    for kind in (EmailRecognizer, PhoneRecognizer, CreditCardRecognizer):
        registry.add_recognizer(kind())
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=["en"])
    services = Services(analyzer, AnonymizerEngine(), DeanonymizeEngine())
    return {name: app_of(services, service=name) for name in ("analyzer", "anonymizer")}


@pytest.fixture(scope="module")
def ours():
    """Our pipeline, in small, and our anonymizer."""
    return Services(
        build_analyzer(pipeline=ruler_pipeline()),
        PiiEduAnonymizer(key=SERVE_KEY),
        PiiEduDeanonymizer(),
    )


def test_answers_are_those_of_presidios_services(stock):
    differ = []
    for row in ANSWERS:
        options = {}
        if "content" in row:
            options = {"content": row["content"], "headers": {"content-type": row["content_type"]}}
        response = ask(stock[row["service"]], row["method"], row["path"], **options)
        expected = {**row, **row.get("ours", {})}
        got = (response.status_code, response.headers["content-type"], response.text)
        if got != (expected["status"], expected["type"], expected["body"]):
            differ.append((row["path"], row.get("content"), got))
    assert not differ
    assert sum("ours" in row for row in ANSWERS) == 3


@pytest.mark.parametrize(
    "operators",
    [
        None,
        {"DEFAULT": {"type": "replace", "new_value": "SOMEBODY"}},
        {"PERSON": {"type": "mask", "masking_char": "*", "chars_to_mask": 4, "from_end": True}},
        {"PERSON": {"type": "hips", "scope": "thread:9"}, "DEFAULT": {"type": "hips"}},
    ],
)
def test_anonymizing_is_presidios_own(ours, operators):
    content = {"text": [SERVE_TEXT, OTHER], "analyzer_results": [FOUND, []]}
    if operators is not None:
        content["anonymizers"] = operators
    expected = []
    for text, rows in ((SERVE_TEXT, FOUND), (OTHER, [])):
        found = AppEntitiesConvertor.analyzer_results_from_json(rows)
        wanted = AppEntitiesConvertor.operators_config_from_json(json.loads(json.dumps(operators)))
        expected.append(ours.anonymizer.anonymize(text, found, wanted).to_json())
    response = ask(app_of(ours), "POST", "/anonymize", json=content)
    assert (response.status_code, response.text) == (200, f"[{', '.join(expected)}]")


@pytest.mark.parametrize(
    ("operator", "code"),
    [
        ({"type": "hips", "key": "short"}, "[E402]"),
        ({"type": "hips", "profile": "/etc/passwd"}, "[E425]"),
        ({"type": "hips", "vault": "/etc/passwd"}, "[E546]"),
        ({"type": "hips", "document": "x"}, "[E650]"),
    ],
)
def test_no_request_opens_a_file(ours, operator, code):
    content = {"text": SERVE_TEXT, "analyzer_results": FOUND, "anonymizers": {"DEFAULT": operator}}
    response = ask(app_of(ours), "POST", "/anonymize", json=content)
    assert response.status_code == 422
    assert response.json()["error"].startswith(code)


@pytest.mark.parametrize("streamed", [False, True])
def test_body_too_long_is_not_read(ours, streamed):
    app = app_of(ours, max_bytes=1000)
    content = json.dumps(body("x" * 2000)).encode()

    async def pieces():
        for start in range(0, len(content), 500):
            assert start <= 1000, "read on after it was too long"
            yield content[start : start + 500]

    headers = {"content-type": "application/json"}
    sent = pieces() if streamed else content
    response = ask(app, "POST", "/analyze", content=sent, headers=headers)
    assert response.status_code == 413 and "Content Too Large" in response.text
    assert ask(app, "POST", "/analyze", json=body("x" * 900)).status_code == 200


def test_patterns_of_requests_can_be_off(ours):
    card = {"name": "card", "supported_language": "en", "supported_entity": "CARD"}
    card["patterns"] = [{"name": "card", "regex": "ask", "score": 0.5}]
    for more in (
        {"ad_hoc_recognizers": [card]},
        {"allow_list": ["Ina.*"], "allow_list_match": "regex"},
    ):
        assert ask(app_of(ours), "POST", "/analyze", json=body(**more)).status_code == 200
        refused = ask(app_of(ours, ad_hoc=False), "POST", "/analyze", json=body(**more))
        assert refused.status_code == 400 and refused.json()["error"].startswith("[E519]")
    plain = body(ad_hoc_recognizers=[], allow_list=["Ina Sorel"], allow_list_match="exact")
    assert ask(app_of(ours, ad_hoc=False), "POST", "/analyze", json=plain).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:3000", 200),
        ("[::1]:3000", 200),
        ("pii.school.example", 200),
        ("rebound.example", 400),
    ],
)
def test_only_allowed_hosts(asked, status):
    app = app_of(None, allowed_hosts="pii.school.example")
    assert ask(app, "GET", "/health", host=asked).status_code == status
    assert ask(app_of(None, allowed_hosts="*"), "GET", "/health", host=asked).status_code == 200


def test_settings_check_themselves(monkeypatch):
    monkeypatch.setenv("PII_EDU_SERVE_SERVICE", "anonymizer")
    monkeypatch.setenv("PII_EDU_SERVE_MAX_BYTES", "2000")
    settings = ServeSettings.from_env()
    assert (settings.max_bytes, build_services(settings).analyzer) == (2000, None)
    for name, value in (("service", "all"), ("max_bytes", 0), ("batch_size", 0), ("maxbytes", 1)):
        with pytest.raises((ValueError, TypeError), match=name):
            ServeSettings(**{name: value})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("supported_languages: [en]\n", "E900"),
        (None, "E900"),
        (
            "nlp_configuration: {nlp_engine_name: spacy, models: [{lang_code: en, model_name: en_pii_edv}]}",
            "E516.*en_pii_edv",
        ),
        (
            "nlp_configuration: {models: [{lang_code: en, model_name: {spacy: en_core_webb}}]}",
            "E516.*en_core_webb",
        ),
    ],
)
def test_presidio_downloads_no_pipeline(text, code, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy.cli.download", lambda name: pytest.fail("it would be downloaded"))
    file = tmp_path / "analyzer.yaml"
    if text:
        file.write_text(text, "utf8")
    with pytest.raises(PiiError, match=code):
        build_services(ServeSettings(service="analyzer", analyzer_conf_file=str(file)))


def test_words_of_a_text_do_not_stay(ours):
    app = app_of(ours, batch_size=2)
    nlp = ours.analyzer.nlp_engine.nlp["en"]
    ask(app, "POST", "/analyze", json=body())
    before = len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)
    for i in range(50):
        texts = [f"Quuz{i}ling wrote to q{i}@x{i}.example", f"and zorb{i}"] * 2
        response = ask(app, "POST", "/analyze", json=body(texts))
        assert response.status_code == 200 and len(response.json()) == 4
    # Not len(nlp.vocab), which counts what was ever added.
    assert (len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)) == before
    assert "Quuz7ling" not in nlp.vocab.strings


def test_mistake_inside_stays_inside(ours, caplog, monkeypatch):
    monkeypatch.setattr(ours.analyzer, "get_supported_entities", lambda language: {}["Sorel"])
    with caplog.at_level(logging.INFO):
        response = ask(app_of(ours), "POST", "/analyze", json=body())
    assert response.status_code == 500
    assert "KeyError in " in caplog.text and "Sorel" not in caplog.text


def test_health_tells_which_service_is_up():
    assert ask(app_of(None), "GET", "/health").text == "Presidio Analyzer service is up"
    other = app_of(None, service="anonymizer")
    assert ask(other, "GET", "/health").text == "Presidio Anonymizer service is up"
    assert ask(other, "HEAD", "/health").status_code == 200


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "small"
    ruler_pipeline().to_disk(folder)
    return str(folder)


def test_there_and_back_without_a_text_in_the_logs(model, tmp_path):
    vault = tmp_path / "essays.vault"
    asked = [f"model={model}", f"vault={vault}", "max_bytes=20000"]
    with server(*(part for one in asked for part in ("--config", one)), cwd=tmp_path) as running:
        with httpx.Client(base_url=running.url, timeout=120) as client:

            def post(path, **content):
                return client.post(f"/{path}", json=content)

            found = post("analyze", **body(correlation_id="Quillfeather")).json()
            kept = [row for row in found if row["entity_type"] in ("PERSON", "EMAIL_ADDRESS")]
            values = ["Ina Sorel", "Odile Prath", "ina.sorel@example.edu"]
            assert sorted(SERVE_TEXT[row["start"] : row["end"]] for row in kept) == values
            hips = {"DEFAULT": {"type": "hips"}}
            hidden = post(
                "anonymize", text=SERVE_TEXT, analyzer_results=kept, anonymizers=hips
            ).json()
            assert "Ina Sorel" not in hidden["text"] and "Buzan (2006)" in hidden["text"]
            given = {"text": hidden["text"], "anonymizer_results": hidden["items"]}
            back = post("deanonymize", **given, deanonymizers={"DEFAULT": {"type": "reidentify"}})
            assert back.json()["text"] == SERVE_TEXT
            # Whatever goes wrong, and wherever a text may stand in a request.
            client.get("/recognizers", params={"language": "Ina Sorel"})
            client.get("/Odile%20Prath")
            headers = {"content-type": "application/json"}
            client.post("/analyze", content=b'{"text": "Ina Sorel', headers=headers)
            post("analyze", **body({"Ina": "Sorel"}))
            post("analyze", **body(language="Quillfeather"))
            post("analyze", **body(entities=["QUILLFEATHER", "PERSON"]))
            post("analyze", **body(allow_list=["Sorel("], allow_list_match="regex"))
            outside = [{"start": 0, "end": 9, "score": 1, "entity_type": "Ina"}]
            post("anonymize", text="Ina", analyzer_results=outside)
            post("anonymize", text=5, analyzer_results=["Ina Sorel"])
            given = {"text": "Ina Sorel", "anonymizer_results": hidden["items"]}
            post("deanonymize", **given, deanonymizers={})
            assert post("analyze", **body("Ina " * 9000)).status_code == 413
        running.stop()
    assert "Application shutdown complete" in running.log
    assert not any(name.lower() in running.log.lower() for name in NAMES)
    assert not any(b"Sorel" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_costly_pattern_is_ended_and_sigterm_obeyed(model, tmp_path):
    """(a|aa)+$ takes years."""
    card = {"name": "x", "supported_language": "en", "supported_entity": "X"}
    card["patterns"] = [{"name": "x", "regex": "(a|aa)+$", "score": 0.5}]
    costly = body("a" * 60 + "!", ad_hoc_recognizers=[card])
    env = {"REGEX_TIMEOUT_SECONDS": "2"}
    with server("--config", f"model={model}", cwd=tmp_path, env=env) as running:
        response = httpx.post(f"{running.url}/analyze", json=costly, timeout=60)
        assert response.status_code == 504 and "more than 2 seconds" in response.text
        asked = httpx.post(f"{running.url}/analyze", json=body("Ina Sorel"), timeout=60)
        assert asked.json()[0]["entity_type"] == "PERSON"
        assert httpx.get(f"{running.url}/health").status_code == 200
        assert running.stop() == -signal.SIGTERM


def test_factory_for_any_server(model, tmp_path):
    """`uvicorn --factory`, with settings from the environment; what is at work at Ctrl+C is answered."""
    factory = "pii_components.presidio.serve:create_app"
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", "0"]
    env = {"PII_EDU_SERVE_MODEL": model, "PII_EDU_SERVE_SERVICE": "analyzer"}
    with server(command=command, cwd=tmp_path, env=env) as running:
        assert httpx.post(f"{running.url}/anonymize", json={}).status_code == 404
        response = httpx.post(f"{running.url}/analyze?Sorel", json=body(), timeout=120)
        assert response.status_code == 200
        assert running.stop(signal.SIGINT) == DONE
    assert not any(name.lower() in running.log.lower() for name in NAMES)
