"""Azure AI Language: a small server on this machine that speaks its API, with its limits, refusals and offsets."""

import logging
import re
import sys

import pytest

from pii_components.errors import PiiError
from pii_components.evaluate import systems
from pii_components.evaluate.gold import GoldDocument
from pii_components.evaluate.systems import MARGIN, MAX_CHARACTERS, azure_system, run_system
from tests.llm.server import serving

SECRET = "a-key-of-no-use"
FINDS = [
    ("Person", r"Dana Vell|Oskar Tamm"),
    ("Email", r"\S+@uni\.example"),
    ("PhoneNumber", r"555-01\d\d"),
    ("USSocialSecurityNumber", r"000-12-3456"),
    ("Address", r"7 Elm Road"),
    ("Organization", r"Uni of Nowhere"),
]


class Service:
    """What the service was asked, and how it shall answer next. refusals: (status, headers) for the next requests."""

    def __init__(self):
        self.requests, self.refusals, self.fails = [], [], ""

    @property
    def sizes(self) -> list[int]:
        return [len(request["analysisInput"]["documents"]) for request in self.requests]

    def answer(self, body, _):
        path, headers, *_ = self.asked[-1]
        documents = body["analysisInput"]["documents"]
        if self.refusals:
            status, more = self.refusals.pop(0)
            return status, {"error": {"code": "Refused", "message": str(body)}}, more
        if headers["Ocp-Apim-Subscription-Key"] != SECRET:
            return 401, {"error": {"code": "401", "message": "Access denied."}}
        if not path.startswith("/language/:analyze-text?"):
            return 404, {}
        if len(documents) > 5:
            return 400, {"error": {"code": "InvalidDocumentBatch", "message": "At most 5."}}
        self.requests.append(body)
        good, bad = [], []
        for ident, text in ((document["id"], document["text"]) for document in documents):
            if len(text) > 5120 or not text.strip() or (self.fails and self.fails in text):
                bad.append({"id": ident, "error": {"code": "InvalidArgument", "message": text}})
                continue
            found = [
                {"text": m[0], "category": kind, "offset": m.start(), "length": len(m[0])}
                | {"confidenceScore": 0.9}
                for kind, pattern in FINDS
                for m in re.finditer(pattern, text)
            ]
            good.append({"id": ident, "redactedText": "*", "entities": found, "warnings": []})
        results = {"documents": good, "errors": bad, "modelVersion": "2023-09-01"}
        answer = {"kind": "PiiEntityRecognitionResults", "results": results}
        return 200, answer, {"Content-Type": "application/json"}


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Service()
    with serving(made.answer) as (endpoint, fake):
        made.endpoint, made.asked = endpoint.removesuffix("/v1"), fake.asked
        yield made


@pytest.fixture
def connect(service):
    """Makes the baseline; waits are written down in `connect.slept`, not waited."""
    from azure.core.pipeline.transport import RequestsTransport

    class Patient(RequestsTransport):
        def sleep(self, duration):
            make.slept.append(duration)

    transport = Patient()

    def make(**settings):
        return azure_system(service.endpoint, **{"key": SECRET, "transport": transport} | settings)

    make.slept = []
    yield make
    transport.close()


def test_findings_have_crapiis_labels_and_pythons_offsets(connect, service):
    text = "\U0001f600 Dana Vell of Uni of Nowhere, dana@uni.example, 555-0134, 000-12-3456, 7 Elm Road"
    documents = [GoldDocument("7", text)]
    wide, four = (run_system(connect(wide=wide), documents) for wide in (True, False))
    values = ["Dana Vell", "dana@uni.example", "555-0134", "000-12-3456", "7 Elm Road"]
    labels = ["NAME_STUDENT", "EMAIL", "PHONE_NUM", "ID_NUM", "STREET_ADDRESS"]
    found = [(e.text, e.label) for e in wide.entities]
    assert found == list(zip(values, labels, strict=True))
    assert [e.label for e in four.entities] == ["NAME_STUDENT", "EMAIL", "PHONE_NUM"]
    assert wide.about["remote"] and wide.about["entities"] == "wide"
    asked = service.requests[0]["parameters"]
    assert asked["stringIndexType"] == "UnicodeCodePoint"
    assert asked["loggingOptOut"] is True


def test_texts_go_five_at_a_time_and_come_back_in_order(connect, service):
    documents = [GoldDocument(str(i), f"{'x' * i} Oskar Tamm") for i in range(1, 13)]
    documents.append(GoldDocument("13", " \n"))
    found = list(connect().entities(documents))
    assert service.sizes == [5, 5, 2]
    for i, entities in enumerate(found[:12], 1):
        assert [(e.start, e.document) for e in entities] == [(i + 1, str(i))]
    assert found[12] == []


STEP = MAX_CHARACTERS - 2 * MARGIN


@pytest.mark.parametrize("at", [0, STEP, STEP + MARGIN - 3, MAX_CHARACTERS - 4, MAX_CHARACTERS])
def test_a_long_text_is_covered_and_each_finding_counts_once(connect, service, at):
    words = "word " * 2000
    text = words[:at] + " Dana Vell " + words[:MAX_CHARACTERS] + " Oskar Tamm"
    (found,) = connect().find([text])
    places = [("Dana Vell", at + 1), ("Oskar Tamm", len(text) - 10)]
    assert [(text[e.start : e.end], e.start) for e in found] == places
    assert sum(service.sizes) >= 2


@pytest.mark.parametrize(
    ("refusals", "waits"),
    [
        ([(429, {"Retry-After": "7"})], [7]),
        ([(429, {"Retry-After": "2"})] * 3, [2] * 3),
        ([(503, {}), (429, {})], None),
    ],
)
def test_a_refusal_for_now_is_tried_again_after_the_time_that_it_names(
    connect, service, refusals, waits
):
    service.refusals = list(refusals)
    assert list(connect().find(["By Oskar Tamm"])) == [[(3, 13, "NAME_STUDENT", "")]]
    assert not service.refusals
    assert waits is None or connect.slept == waits


@pytest.mark.parametrize(
    ("refusals", "key", "status"),
    [
        ([], "another", 401),
        ([(429, {"Retry-After": "1"})] * 20, SECRET, 429),
        ([(400, {})], SECRET, 400),
        ([(307, {"Location": "http://127.0.0.1:9/"})], SECRET, 307),
    ],
)
def test_a_refusal_for_good_is_an_error_without_text_or_key(
    connect, service, refusals, key, status
):
    service.refusals = list(refusals)
    with pytest.raises(PiiError, match=rf"\[E748\].*status {status}") as error:
        list(connect(key=key).find(["By Oskar Tamm"]))
    assert error.value.__cause__ is None and error.value.__suppress_context__
    assert "Tamm" not in str(error.value) and key not in str(error.value)


def test_a_document_that_the_service_refuses_is_no_document_without_findings(connect, service):
    service.fails = "poison"
    with pytest.raises(PiiError, match=r"\[E748\].*text 2 .*InvalidArgument"):
        list(connect().find(["By Oskar Tamm", "poison"]))


def test_neither_texts_nor_the_key_reach_a_log(connect, service, caplog):
    caplog.set_level(logging.DEBUG)
    for name in ("azure", "azure.core", "urllib3", "presidio-analyzer"):
        caplog.set_level(logging.DEBUG, logger=name)
    service.refusals = [(429, {"Retry-After": "1"})]
    list(connect().find(["By Oskar Tamm, dana@uni.example"]))
    assert caplog.records
    logged = " ".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert not re.search(rf"Tamm|dana@|{SECRET}", logged)


def test_endpoint_and_key_come_from_the_environment(service, monkeypatch, gold):
    monkeypatch.setenv("AZURE_AI_ENDPOINT", service.endpoint)
    monkeypatch.delenv(systems.KEY, raising=False)
    with pytest.raises(PiiError, match=rf"\[E746\].*: {systems.KEY}\."):
        systems.make_system("azure")
    monkeypatch.setenv(systems.KEY, SECRET)
    system = systems.make_system("azure-four")
    run = run_system(system, gold)
    assert (run.name, run.protected) == ("azure-four", {"NAME_STUDENT", "EMAIL"})
    assert [e.text for e in run.entities] == ["Dana Vell", "dana@uni.example", "Oskar Tamm"]


@pytest.mark.parametrize(
    "endpoint",
    ["http://example.org", "ftp://127.0.0.1", "example.org", "", "http://127.0.0.1.example.org"],
)
def test_texts_do_not_travel_in_clear(endpoint):
    with pytest.raises(PiiError, match=r"\[E747\]"):
        systems.check_endpoint(endpoint)
    systems.check_endpoint("https://name.cognitiveservices.azure.com/")


def test_a_package_that_is_missing_is_a_coded_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.ai.textanalytics", None)
    with pytest.raises(PiiError, match=r"\[E005\] azure-ai-textanalytics.*\[presidio\]"):
        azure_system("https://example.org", SECRET)
