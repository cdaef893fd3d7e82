"""Presidio's REST API: the bytes of its services, limits and logs, and the server as a process."""

import json
import logging
import signal
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("presidio_analyzer")

import httpx
import spacy
from presidio_analyzer import (
    AnalyzerEngine,
    RecognizerRegistry,
    RecognizerResult,
)
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
from pii_components.presidio.serve import ServeSettings, Services, build_services, create_app

from .common import CASES, SERVE_KEY, SERVE_TEXT, ask, dumps, ruler_pipeline, server

ANSWERS = json.loads(
    (Path(__file__).parents[1] / "data/presidio_rest_answers.json").read_text("utf8")
)["cases"]


JSON = {"content-type": "application/json"}


OTHER = "Nobody is named here; zip 10023."


def only(services, name):
    """The engines of one of Presidio's two services."""
    return Services(services.analyzer) if name == "analyzer" else services._replace(analyzer=None)


@pytest.fixture(scope="module")
def stock():
    """Presidio's recognizers over a blank pipeline, as the answers were recorded; both services."""
    nlp_engine = SpacyNlpEngine()
    nlp_engine.nlp = {"en": spacy.blank("en")}
    registry = RecognizerRegistry(supported_languages=["en"])
    for kind in (EmailRecognizer, PhoneRecognizer, CreditCardRecognizer):
        registry.add_recognizer(kind())
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=["en"])
    services = Services(
        analyzer=analyzer, anonymizer=AnonymizerEngine(), deanonymizer=DeanonymizeEngine()
    )
    return {
        name: create_app(ServeSettings(service=name), only(services, name))
        for name in ("analyzer", "anonymizer")
    }


@pytest.fixture(scope="module")
def analyzer():
    """Our pipeline, in small."""
    return build_analyzer(pipeline=ruler_pipeline())


@pytest.fixture(scope="module")
def ours(analyzer):
    """With our anonymizer."""
    services = Services(
        analyzer=analyzer,
        anonymizer=PiiEduAnonymizer(key=SERVE_KEY),
        deanonymizer=PiiEduDeanonymizer(),
    )
    return create_app(ServeSettings(batch_size=2), services)


def test_answers_are_those_of_presidios_services(stock):
    differ = []
    for row in ANSWERS:
        options = (
            {"content": row["content"], "headers": {"content-type": row["content_type"]}}
            if "content" in row
            else {}
        )
        response = ask(stock[row["service"]], row["method"], row["path"], **options)
        expected = {**row, **row.get("ours", {})}
        got = (response.status_code, response.headers["content-type"], response.text)
        if got != (expected["status"], expected["type"], expected["body"]):
            differ.append((row["path"], row.get("content"), got))
    assert not differ
    assert sum("ours" in row for row in ANSWERS) == 3


@pytest.mark.parametrize("operators", CASES["operators"])
@pytest.mark.parametrize("many", [False, True])
def test_anonymizing_is_presidios_own_to_the_byte(ours, operators, many):
    found = [
        {"start": 3, "end": 12, "score": 0.9, "entity_type": "PERSON"},
        {"start": 56, "end": 77, "score": 1.0, "entity_type": "EMAIL_ADDRESS"},
    ]
    content = {
        "text": [SERVE_TEXT, OTHER] if many else SERVE_TEXT,
        "analyzer_results": [found, []] if many else found,
    }
    if operators is not None:
        content["anonymizers"] = operators
    engine = PiiEduAnonymizer(key=SERVE_KEY)

    def result(text, rows):
        rows = AppEntitiesConvertor.analyzer_results_from_json(rows)
        return engine.anonymize(
            text,
            rows,
            AppEntitiesConvertor.operators_config_from_json(json.loads(json.dumps(operators))),
        )

    response = ask(ours, "POST", "/anonymize", content=dumps(content), headers=JSON)
    one = result(SERVE_TEXT, found).to_json()
    assert (response.status_code, response.text) == (
        200,
        f"[{one}, {result(OTHER, []).to_json()}]" if many else one,
    )


@pytest.mark.parametrize(("operator", "code"), CASES["no_request_opens_a_file_of_the_server"])
def test_no_request_opens_a_file_of_the_server(ours, operator, code):
    found = [{"start": 3, "end": 12, "score": 0.9, "entity_type": "PERSON"}]
    response = ask(
        ours,
        "POST",
        "/anonymize",
        json={"text": SERVE_TEXT, "analyzer_results": found, "anonymizers": {"DEFAULT": operator}},
    )
    assert response.status_code == 422
    assert response.json()["error"].startswith(code)


class Slowly:
    """An analyzer that takes its time. It counts the texts that it began."""

    supported_languages = ("en",)

    def __init__(self, seconds):
        self.seconds = seconds
        self.begun = 0
        self.nlp_engine = self

    def get_supported_entities(self, language=None):
        return ["PERSON"]

    def get_recognizers(self, language=None):
        return []

    def process_batch(self, texts, **_):
        for text in texts:
            self.begun += 1
            time.sleep(self.seconds)
            yield text, None

    def analyze(self, text, **_):
        return [RecognizerResult("PERSON", 0, 1, 1.0)]


def app_of(analyzer, **settings):
    return create_app(ServeSettings(service="analyzer", **settings), Services(analyzer))


def body(text, language="en"):
    return {"text": text, "language": language}


@pytest.mark.parametrize("streamed", [False, True])
def test_body_that_is_too_long_is_not_read(streamed):
    analyzer = Slowly(0)
    app = app_of(analyzer, max_bytes=1000)
    content = json.dumps(body("x" * 2000)).encode()

    async def pieces():
        for start in range(0, len(content), 500):
            assert start <= 1000, "read on after it was too long"
            yield content[start : start + 500]

    response = ask(app, "POST", "/analyze", content=pieces() if streamed else content, headers=JSON)
    assert response.status_code == 413 and "Content Too Large" in response.text
    assert analyzer.begun == 0
    assert ask(app, "POST", "/analyze", json=body("x" * 900)).status_code == 200


def test_answer_in_time_or_504_and_the_rest_of_a_list_is_not_begun():
    analyzer = Slowly(0.15)
    app = app_of(analyzer, time_limit=0.2, batch_size=1)
    response = ask(app, "POST", "/analyze", json=body(["a"] * 50))
    assert response.status_code == 504 and response.json()["error"].startswith(
        "[E855] There was no answer within 0.2 seconds"
    )
    time.sleep(0.5)
    assert analyzer.begun <= 3


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
def test_only_hosts_that_are_allowed(asked, status):
    names = ServeSettings().allowed_hosts + ",pii.school.example"
    assert (
        ask(app_of(Slowly(0), allowed_hosts=names), "GET", "/health", host=asked).status_code
        == status
    )
    any_name = app_of(Slowly(0), allowed_hosts="*")
    assert ask(any_name, "GET", "/health", host=asked).status_code == 200


def test_settings_come_from_the_environment_and_check_themselves(monkeypatch):
    monkeypatch.setenv("PII_EDU_SERVE_SERVICE", "anonymizer")
    monkeypatch.setenv("PII_EDU_SERVE_MAX_BYTES", "2000")
    assert ServeSettings.from_env().max_bytes == 2000
    assert ask(create_app(), "GET", "/health").text == "Presidio Anonymizer service is up"
    for name, value in (("service", "all"), ("max_bytes", 0), ("time_limit", 0), ("maxbytes", 1)):
        with pytest.raises(ValueError, match=name):
            ServeSettings(**{name: value})


def test_presidio_is_not_left_to_download_a_pipeline(tmp_path):
    (tmp_path / "analyzer.yaml").write_text("supported_languages: [en]\n", "utf8")
    for name, code in (("analyzer.yaml", "E853"), ("none.yaml", "E900")):
        with pytest.raises(PiiError, match=code):
            build_services(ServeSettings(service="analyzer", config=str(tmp_path / name)))


def test_words_of_a_text_do_not_stay(analyzer):
    app = app_of(analyzer, batch_size=2)
    nlp = analyzer.nlp_engine.nlp["en"]
    ask(app, "POST", "/analyze", json=body(SERVE_TEXT))
    before = len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)
    for i in range(50):
        response = ask(
            app,
            "POST",
            "/analyze",
            json=body([f"Quuz{i}ling wrote to q{i}@x{i}.example", f"and zorb{i}"] * 2),
        )
        assert response.status_code == 200 and len(response.json()) == 4
    # Not len(nlp.vocab), which counts what was ever added.
    assert (len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)) == before
    assert "Quuz7ling" not in nlp.vocab.strings


def test_mistake_inside_is_500_and_its_message_stays_inside(caplog):
    class Broken(Slowly):
        def get_supported_entities(self, language=None):
            if language is None:
                return ["PERSON"]
            raise RuntimeError

    app = app_of(Broken(0))
    with caplog.at_level(logging.INFO):
        assert (
            ask(app, "POST", "/analyze", json=body("a", "xx")).text
            == '{"error":"Internal server error"}\n'
        )
    assert "RuntimeError in " in caplog.text


NAMES = ("Ina", "Sorel", "Odile", "Prath", "Buzan", "Quillfeather")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "small"
    ruler_pipeline().to_disk(folder)
    return str(folder)


def test_there_and_back_without_a_text_in_the_logs(model, tmp_path):
    vault = tmp_path / "essays.vault"
    with server(
        "--model", model, "--vault", str(vault), "--max-bytes", "20000", cwd=tmp_path
    ) as running:
        with httpx.Client(base_url=running.url, timeout=120) as client:
            assert client.get("/health").text == "Presidio Analyzer service is up"
            found = client.post(
                "/analyze",
                json={"text": SERVE_TEXT, "language": "en", "correlation_id": "Quillfeather"},
            ).json()
            kept = [row for row in found if row["entity_type"] in ("PERSON", "EMAIL_ADDRESS")]
            assert sorted(SERVE_TEXT[row["start"] : row["end"]] for row in kept) == [
                "Ina Sorel",
                "Odile Prath",
                "ina.sorel@example.edu",
            ]
            asked = {
                "text": SERVE_TEXT,
                "analyzer_results": kept,
                "anonymizers": {"DEFAULT": {"type": "hips"}},
            }
            hidden = client.post("/anonymize", json=asked).json()
            assert "Ina Sorel" not in hidden["text"] and "Buzan (2006)" in hidden["text"]
            asked = {
                "text": hidden["text"],
                "anonymizer_results": hidden["items"],
                "deanonymizers": {"DEFAULT": {"type": "reidentify"}},
            }
            assert client.post("/deanonymize", json=asked).json()["text"] == SERVE_TEXT
            # Whatever goes wrong, and wherever a text may stand in a request.
            client.get("/recognizers", params={"language": "Ina Sorel"})
            client.get("/Odile%20Prath")
            client.post("/analyze", content=b'{"text": "Ina Sorel', headers=JSON)
            client.post("/analyze", json={"text": {"Ina": "Sorel"}, "language": "en"})
            client.post("/analyze", json={"text": "Ina Sorel", "language": "Quillfeather"})
            client.post(
                "/analyze",
                json={
                    "text": "Ina Sorel",
                    "language": "en",
                    "entities": ["QUILLFEATHER", "PERSON"],
                },
            )
            client.post(
                "/analyze",
                json={
                    "text": "Ina Sorel",
                    "language": "en",
                    "allow_list": ["Sorel("],
                    "allow_list_match": "regex",
                },
            )
            client.post(
                "/anonymize",
                json={
                    "text": "Ina",
                    "analyzer_results": [{"start": 0, "end": 9, "score": 1, "entity_type": "Ina"}],
                },
            )
            client.post("/anonymize", json={"text": 5, "analyzer_results": ["Ina Sorel"]})
            client.post(
                "/deanonymize",
                json={
                    "text": "Ina Sorel",
                    "anonymizer_results": hidden["items"],
                    "deanonymizers": {},
                },
            )
            assert (
                client.post("/analyze", json={"text": "Ina " * 9000, "language": "en"}).status_code
                == 413
            )
        running.stop()
    assert "Application shutdown complete" in running.log
    assert not any(name.lower() in running.log.lower() for name in NAMES)
    assert not any(b"Sorel" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_factory_for_any_server(model, tmp_path):
    """`uvicorn --factory`, with settings from the environment; what is at work at Ctrl+C is answered."""
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "--factory",
        "pii_components.presidio.serve:create_app",
    ]
    env = {"PII_EDU_SERVE_MODEL": model, "PII_EDU_SERVE_SERVICE": "analyzer"}
    with server(command=[*command, "--port", "0"], cwd=tmp_path, env=env) as running:
        asked = {"text": SERVE_TEXT, "language": "en"}
        assert httpx.post(f"{running.url}/anonymize", json={}).status_code == 404
        assert (
            httpx.post(f"{running.url}/analyze?Sorel", json=asked, timeout=120).status_code == 200
        )
        assert running.stop(signal.SIGINT) == DONE
    assert not any(name.lower() in running.log.lower() for name in NAMES)
