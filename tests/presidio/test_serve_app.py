"""The web around the contract: what a body may weigh, how long it may take, who may ask, what is counted, logged and kept."""

import asyncio
import json
import logging
import threading
import time

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("presidio_analyzer")

import spacy
from presidio_analyzer import RecognizerResult

from pii_components.errors import PiiError
from pii_components.presidio import build_analyzer
from pii_components.presidio.serve.app import Services, create_app
from pii_components.presidio.serve.run import TextlessFormatter
from pii_components.presidio.serve.run import Configuration, build_services
from pii_components.presidio.serve.settings import ServeSettings

from .serving import PATTERNS, TEXT, ask


class Slowly:
    """An analyzer that takes its time. It counts the texts that it began."""

    supported_languages = ("en",)

    def __init__(self, seconds):
        self.seconds = seconds
        self.begun = 0
        self.nlp_engine = self

    def get_supported_entities(self, language=None):
        return ["PERSON"]

    def process_batch(self, texts, **_):
        for text in texts:
            self.begun += 1
            time.sleep(self.seconds)
            yield text, None

    def analyze(self, text, **_):
        return [RecognizerResult("PERSON", 0, 1, 1.0)]


def app_of(analyzer, **settings):
    return create_app(Services(analyzer=analyzer), ServeSettings(service="analyzer", **settings))


@pytest.fixture(scope="module")
def analyzer():
    nlp = spacy.blank("en")
    nlp.add_pipe("span_ruler", config={"spans_key": "pii"}).add_patterns(PATTERNS)
    return build_analyzer(pipeline=nlp)


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

    options = {"content": pieces() if streamed else content, "headers": {"content-type": "application/json"}}
    response = ask(app, "POST", "/analyze", **options)
    assert response.status_code == 413
    assert response.json()["error"].startswith("[E854] The body has more than 1000 bytes")
    assert analyzer.begun == 0
    assert ask(app, "POST", "/analyze", json=body("x" * 900)).status_code == 200


def test_a_megabyte_of_text_is_refused_by_default():
    assert ask(app_of(Slowly(0)), "POST", "/analyze", json=body("x" * 1_000_000)).status_code == 413


def test_body_that_does_not_come_is_not_waited_for():
    async def dripping():
        yield b'{"text": '
        await asyncio.sleep(5)

    headers = {"content-type": "application/json"}
    response = ask(app_of(Slowly(0), time_limit=0.1), "POST", "/analyze", content=dripping(), headers=headers)
    assert response.status_code == 408
    assert response.json()["error"].startswith("[E857]")


def test_answer_in_time_or_504_and_the_rest_of_a_list_is_not_begun():
    analyzer = Slowly(0.15)
    app = app_of(analyzer, time_limit=0.2, batch_size=1)
    response = ask(app, "POST", "/analyze", json=body(["a"] * 50))
    assert response.status_code == 504
    assert response.json()["error"].startswith("[E855] There was no answer within 0.2 seconds")
    time.sleep(0.5)
    assert analyzer.begun <= 3


def test_full_line_is_503_health_answers_meanwhile():
    go_on = threading.Event()

    class Held(Slowly):
        def analyze(self, text, **_):
            assert go_on.wait(60)
            return []

    analyzer = Held(0)
    app = app_of(analyzer, max_waiting=0)

    async def go():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            first = asyncio.create_task(client.post("/analyze", json=body("a")))
            while not analyzer.begun:
                await asyncio.sleep(0.01)
            second = await client.post("/analyze", json=body("a"))
            health = await client.get("/health")
            busy = not first.done()
            go_on.set()
            answered = await first
            await asyncio.sleep(0.05)  # the line is told a moment after the answer
            return answered, second, health, busy, await client.post("/analyze", json=body("a"))

    first, second, health, busy, third = asyncio.run(go())
    assert [r.status_code for r in (first, second, health, third)] == [200, 503, 200, 200]
    assert busy and health.text == "Presidio Analyzer service is up"
    assert second.headers["retry-after"] == "1" and second.json()["error"].startswith("[E856]")


@pytest.mark.parametrize(
    ("host", "asked", "status"),
    [
        ("127.0.0.1", "localhost", 200),
        ("127.0.0.1", "127.0.0.1:3000", 200),
        ("127.0.0.1", "[::1]:3000", 200),
        ("127.0.0.1", "rebound.example", 400),
        ("127.0.0.1", "pii.school.example", 200),
        ("0.0.0.0", "rebound.example", 200),
    ],
)
def test_on_loopback_only_names_of_this_machine(host, asked, status):
    app = app_of(Slowly(0), host=host, allowed_hosts=("pii.school.example",))
    assert ask(app, "GET", "/health", host=asked).status_code == status


@pytest.mark.parametrize(
    ("setting", "value"),
    [("port", 70_000), ("service", "all"), ("max_bytes", 0), ("time_limit", 0), ("max_waiting", -1), ("batch_size", 0)],
)
def test_settings_check_themselves(setting, value):
    with pytest.raises(PiiError, match=rf"\[E850\] {setting} of the server is {value}"):
        ServeSettings(**{setting: value})


def test_presidio_is_not_left_to_download_a_pipeline(tmp_path):
    (tmp_path / "analyzer.yaml").write_text("supported_languages: [en]\n", "utf8")
    settings = ServeSettings(service="analyzer")
    for configuration, code in (
        (Configuration(analyzer=str(tmp_path / "analyzer.yaml")), "E853"),
        (Configuration(analyzer="analyzer", nlp=str(tmp_path / "none.yaml")), "E811"),
    ):
        with pytest.raises(PiiError, match=code), build_services(settings, model="none", configuration=configuration):
            pass


def test_metrics_count_and_name_only_what_the_server_knows(analyzer):
    app = app_of(analyzer)
    adhoc = {"supported_entity": "INA_SORELS_CODE", "supported_language": "en", "name": "x", "deny_list": ["maps"]}
    assert ask(app, "POST", "/analyze", json={**body([TEXT, TEXT]), "ad_hoc_recognizers": [adhoc]}).status_code == 200
    ask(app, "GET", "/ina.sorel@example.edu?q=Ina")
    ask(app, "INASOREL", "/health")
    ask(app, "POST", "/analyze", content=b"{", headers={"content-type": "application/json"})
    response = ask(app, "GET", "/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    lines = response.text.splitlines()
    for line in (
        'pii_edu_requests_total{method="POST",route="/analyze",status="200"} 1.0',
        'pii_edu_requests_total{method="POST",route="/analyze",status="400"} 1.0',
        'pii_edu_requests_total{method="GET",route="other",status="404"} 1.0',
        'pii_edu_requests_total{method="other",route="/health",status="405"} 1.0',
        'pii_edu_texts_total{route="/analyze"} 2.0',
        'pii_edu_found_total{entity="EMAIL_ADDRESS"} 2.0',
        'pii_edu_found_total{entity="other"} 2.0',
        'pii_edu_request_seconds_count{route="/analyze"} 2.0',
    ):
        assert line in lines
    assert "sorel" not in response.text.lower() and "inas" not in response.text.lower()
    assert {line.split()[3] for line in lines if line.startswith("# TYPE")} == {"counter", "histogram"}


def test_nothing_is_loaded_from_elsewhere_and_routes_are_described(analyzer):
    app = app_of(analyzer)
    assert ask(app, "GET", "/docs").status_code == ask(app, "GET", "/redoc").status_code == 404
    document = ask(app, "GET", "/openapi.json").json()
    assert set(document["paths"]) == {"/analyze", "/recognizers", "/supportedentities", "/health", "/metrics"}
    taken = document["paths"]["/analyze"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert taken.rsplit("/", 1)[1] in document["components"]["schemas"]


def test_words_of_a_text_do_not_stay(analyzer):
    app = app_of(analyzer, batch_size=2)
    nlp = analyzer.nlp_engine.nlp["en"]
    ask(app, "POST", "/analyze", json=body(TEXT))
    before = len(nlp.vocab.strings), sum(1 for _ in nlp.vocab)
    for i in range(50):
        response = ask(app, "POST", "/analyze", json=body([f"Quuz{i}ling wrote to q{i}@x{i}.example", f"and zorb{i}"] * 2))
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
        assert ask(app, "POST", "/analyze", json=body("a", "xx")).text == '{"error":"Internal server error"}\n'
    assert "RuntimeError at " in caplog.text


def test_log_of_others_is_their_place_only():
    try:
        raise ValueError("Ina Sorel")
    except ValueError as err:
        info = (ValueError, err, err.__traceback__)
    theirs = logging.LogRecord("presidio-analyzer", logging.WARNING, "/x/registry.py", 7, "text was %s", ("Ina Sorel",), info)
    line = TextlessFormatter().format(theirs)
    assert "Ina" not in line and "\n" not in line
    assert "WARNING presidio-analyzer: at registry:7 (ValueError at " in line
    ours = logging.LogRecord("pii_components.presidio", logging.INFO, "x.py", 7, "POST %s", ("/analyze",), None)
    assert TextlessFormatter().format(ours).endswith("INFO pii_components.presidio: POST /analyze")
    alike = logging.LogRecord("pii_components_of_others", logging.INFO, "x.py", 7, "Ina Sorel", (), None)
    assert "Ina" not in TextlessFormatter().format(alike)


def test_one_text_at_a_time():
    at_work, most = 0, 0
    lock = threading.Lock()

    class Counting(Slowly):
        def analyze(self, text, **_):
            nonlocal at_work, most
            with lock:
                at_work += 1
                most = max(most, at_work)
            time.sleep(0.02)
            with lock:
                at_work -= 1
            return []

    app = app_of(Counting(0))

    async def go():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await asyncio.gather(*(client.post("/analyze", json=body("a")) for _ in range(8)))

    assert [r.status_code for r in asyncio.run(go())] == [200] * 8
    assert most == 1
