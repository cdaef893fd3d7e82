"""Presidio's REST API over our pipeline, as a FastAPI application.

    app = create_app(Services(analyzer=engine), ServeSettings(service="analyzer"))

    POST /analyze  /anonymize  /deanonymize
    GET  /recognizers  /supportedentities  /anonymizers  /deanonymizers  /health  /metrics  /openapi.json

serve_contract.py gives the answers, this module the web around them: what a body may weigh, how long it may take, who may ask, what
is counted and logged. The application calls nobody: FastAPI's telemetry and its pages with scripts from elsewhere are off.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...about import __version__
from ...errors import Errors, PiiError
from . import contract
from .contract import Answer, Deadline, TimeIsUp, TooManyWaiting, Worker, coded, refusal, where
from .settings import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presidio_analyzer import AnalyzerEngine
    from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine

# `GET /metrics`: counters and latencies in Prometheus' text format. Routes, methods, codes and entity types; no text, no

OTHER = "other"
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics:
    """The counters of one server.

    routes (Collection[str]): Paths that are counted by name. entities (Collection[str]): Entity types that are counted by name.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, *, routes: Collection[str], entities: Collection[str]) -> None:
        self.routes = frozenset(routes)
        self.entities = frozenset(entities)
        disable_created_metrics()  # else each counter has its date of birth beside it
        self.registry = CollectorRegistry()
        self.requests = Counter("pii_edu_requests", "Requests answered.", ("route", "method", "status"), registry=self.registry)
        self.seconds = Histogram(
            "pii_edu_request_seconds", "Time until the answer.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.texts = Counter("pii_edu_texts", "Texts processed.", ("route",), registry=self.registry)
        self.found = Counter("pii_edu_found", "Spans found, by entity type.", ("entity",), registry=self.registry)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request. route (str): Path as the server knows it. status (int): HTTP code. seconds (float): Until the answer."""
        route = route if route in self.routes else OTHER
        method = method if method in METHODS else OTHER
        self.requests.labels(route=route, method=method, status=str(status)).inc()
        self.seconds.labels(route=route).observe(seconds)

    def processed(self, route: str, texts: int) -> None:
        """Count texts. route (str): One of the routes. texts (int): How many."""
        self.texts.labels(route=route).inc(texts)

    def spans(self, entities: Iterable[str]) -> None:
        """Count what was found. entities (Iterable[str]): Its types."""
        for entity in entities:
            self.found.labels(entity=entity if entity in self.entities else OTHER).inc()

    def render(self) -> bytes:
        """RETURNS (bytes): Prometheus' text format."""
        return generate_latest(self.registry)


# The shapes of requests and answers, for `/openapi.json`. They describe; Presidio's own classes decide what is accepted.

_TEXT = "A text, or a list of texts."


class AdHocPattern(BaseModel):
    """A pattern of an ad hoc recognizer."""

    name: str
    regex: str
    score: float


class AdHocRecognizer(BaseModel):
    """A recognizer for one request: patterns, or a deny list."""

    name: str | None = None
    supported_entity: str
    supported_language: str = "en"
    patterns: list[AdHocPattern] | None = None
    deny_list: list[str] | None = None
    deny_list_score: float = 1.0
    context: list[str] | None = None


class AnalyzeRequest(BaseModel):
    """What `POST /analyze` takes."""

    text: str | list[str] = Field(description=_TEXT, examples=["Write to nora.quill@example.edu, says Piaget (1952)."])
    language: str = Field(description="Code of the language.", examples=["en"])
    correlation_id: str | None = Field(default=None, description="Taken, as by Presidio's service; never logged.")
    score_threshold: float | None = Field(default=None, description="Least score of a result.")
    entities: list[str] | None = Field(default=None, description="Types to look for; all, if left out.")
    return_decision_process: bool = Field(default=False, description="Whether each result says why it was found.")
    ad_hoc_recognizers: list[AdHocRecognizer] | None = Field(default=None, description="For this request only.")
    context: list[str] | None = Field(default=None, description="Words that make a result near them likelier.")
    allow_list: list[str] | None = Field(default=None, description="Values that are not returned.")
    allow_list_match: str = Field(default="exact", description='"exact" or "regex".')
    regex_flags: int = Field(default=26, description="Of Python's regex, for the allow list.")


class AnalysisExplanation(BaseModel):
    """Why a result was found."""

    recognizer: str
    pattern_name: str | None = None
    pattern: str | None = None
    original_score: float
    score: float
    textual_explanation: str | None = None
    score_context_improvement: float = 0
    supportive_context_word: str = ""
    validation_result: bool | float | None = None
    regex_flags: int | None = None


class Found(BaseModel):
    """A result of `POST /analyze`; offsets are characters, end exclusive."""

    entity_type: str
    start: int
    end: int
    score: float
    analysis_explanation: AnalysisExplanation | None = None


class SpanIn(BaseModel):
    """A result that goes into `POST /anonymize`."""

    entity_type: str
    start: int
    end: int
    score: float


class HiddenIn(BaseModel):
    """An item of an anonymised text that goes into `POST /deanonymize`."""

    entity_type: str
    start: int
    end: int


class AnonymizeRequest(BaseModel):
    """What `POST /anonymize` takes."""

    text: str | list[str] = Field(description=_TEXT)
    analyzer_results: list[SpanIn] | list[list[SpanIn]] = Field(description="Of the text, or one list for each text.")
    anonymizers: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description='Operator by entity type or "DEFAULT": its type and parameters.',
        examples=[{"DEFAULT": {"type": "replace", "new_value": "SOMEBODY"}}],
    )


class DeanonymizeRequest(BaseModel):
    """What `POST /deanonymize` takes."""

    text: str | list[str] = Field(description=_TEXT)
    anonymizer_results: list[HiddenIn] | list[list[HiddenIn]] = Field(description="Items of `POST /anonymize`.")
    deanonymizers: dict[str, dict[str, Any]] = Field(description='Operator by entity type or "DEFAULT".')


class Item(BaseModel):
    """What stands in the new text where something was replaced."""

    start: int
    end: int
    entity_type: str
    text: str
    operator: str
    score: float | None = None


class Operated(BaseModel):
    """A new text."""

    text: str
    items: list[Item]


class Refused(BaseModel):
    """Any answer but 200. Our own errors begin with a code, "[E854] ..."."""

    error: str


MODELS: tuple[type[BaseModel], ...] = (AnalyzeRequest, Found, AnonymizeRequest, DeanonymizeRequest, Operated, Refused)
_REF = "#/components/schemas/{model}"


def schemas() -> dict[str, Any]:
    """RETURNS (dict[str, Any]): All models, for `components.schemas` of an OpenAPI document."""
    _, definitions = models_json_schema([(model, "validation") for model in MODELS], ref_template=_REF)
    return dict(definitions["$defs"])


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `requestBody` of a route. model (type[BaseModel]): Of its content."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(model)}}}}


def gives(model: type[BaseModel], *, many: bool) -> dict[int | str, dict[str, Any]]:
    """RETURNS (dict[int | str, dict[str, Any]]): `responses` of a route. many (bool): Whether even one text has a list of it."""
    one = {"type": "array", "items": _ref(model)} if many else _ref(model)
    both = {"anyOf": [one, {"type": "array", "items": one}]}
    told = {400: "Not readable", 413: "Too large", 500: "Refused by Presidio", 503: "Too many waiting", 504: "Took too long"}
    answers: dict[int | str, dict[str, Any]] = {200: {"description": "Done", "content": {"application/json": {"schema": both}}}}
    for code, description in told.items():
        answers[code] = {"description": description, "content": {"application/json": {"schema": _ref(Refused)}}}
    return answers


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


logger = logging.getLogger("pii_components.presidio")
logger.addHandler(logging.NullHandler())

# As Flask words them.
NOT_FOUND = (
    "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again."
)
NOT_ALLOWED = "The method is not allowed for the requested URL."
_TELEMETRY_OFF = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
_NO_TEXT = "text/html; charset=utf-8"  # what Flask says of a plain string


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Presidio's engines, ready to work.

    analyzer (AnalyzerEngine | None): For /analyze. anonymizer (AnonymizerEngine | None), deanonymizer (DeanonymizeEngine | None): For
    /anonymize and /deanonymize.
    """

    analyzer: "AnalyzerEngine | None" = None
    anonymizer: "AnonymizerEngine | None" = None
    deanonymizer: "DeanonymizeEngine | None" = None

    def zone(self) -> AbstractContextManager[Any]:
        """RETURNS (AbstractContextManager[Any]): What documents add to the vocabularies is freed when it closes."""
        pipelines = getattr(getattr(self.analyzer, "nlp_engine", None), "nlp", None)
        return memory_zones(pipelines.values()) if isinstance(pipelines, dict) else nullcontext()


@contextmanager
def memory_zones(pipelines: Any) -> "Iterator[None]":
    """Open a memory zone in every pipeline where that holds: a tokenizer of another make may keep pointers into what is gone."""
    from spacy.tokenizer import Tokenizer

    with ExitStack() as stack:
        for nlp in pipelines:
            if type(nlp.tokenizer) is Tokenizer or hasattr(nlp.tokenizer, "memory_zone"):
                stack.enter_context(nlp.memory_zone())
        yield


def create_app(services: Services, settings: ServeSettings) -> FastAPI:
    """The application.

    services (Services): Engines; those of a service that the settings leave out are not used. settings (ServeSettings): Limits.
    RETURNS (FastAPI): With `app.state.metrics` (Metrics) and `app.state.worker` (Worker).
    """
    worker = Worker(max_waiting=settings.max_waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        title="pii-edu serve",
        version=__version__,
        summary="Presidio's REST API over en_pii_edu",
        docs_url=None,  # both pages load scripts from elsewhere
        redoc_url=None,
        telemetry=_TELEMETRY_OFF,  # type: ignore[arg-type]
        lifespan=lifespan,
    )
    post = _poster(app, worker, settings)
    get = _getter(app)
    if settings.analyzer and services.analyzer is not None:
        _add_analyzer(post, get, services, services.analyzer, settings)
    if settings.anonymizer and services.anonymizer is not None and services.deanonymizer is not None:
        _add_anonymizer(post, get, services.anonymizer, services.deanonymizer)
    name = "Analyzer" if settings.analyzer else "Anonymizer"
    get("/health", lambda _: Answer(200, f"Presidio {name} service is up".encode(), media_type=_NO_TEXT))
    get("/metrics", lambda _: Answer(200, metrics.render(), media_type=Metrics.content_type))
    entities = services.analyzer.get_supported_entities() if services.analyzer is not None else ()
    metrics = Metrics(routes=[route.path for route in app.routes if hasattr(route, "path")], entities=entities)
    app.state.metrics, app.state.worker = metrics, worker
    app.add_exception_handler(HTTPException, _flask_words)
    app.add_middleware(_Observed, metrics=metrics, hosts=settings.hosts)  # type: ignore[arg-type]
    described = app.openapi

    def openapi() -> dict[str, Any]:
        document = described()
        document.setdefault("components", {}).setdefault("schemas", {}).update(schemas())
        return document

    app.openapi = openapi  # type: ignore[method-assign]
    return app


Poster = Callable[..., None]
Getter = Callable[[str, Callable[[Request], Answer]], None]


def _add_analyzer(post: Poster, get: Getter, services: Services, engine: "AnalyzerEngine", settings: ServeSettings) -> None:
    def analyze(content: Any, deadline: Deadline) -> Answer:
        return contract.analyze(content, engine, batch_size=settings.batch_size, deadline=deadline, zone=services.zone)

    # Where Presidio stumbles over a body that is no JSON, the answer is ours.
    unread = coded(PiiError(Errors.E851), 400)
    post("/analyze", analyze, takes(AnalyzeRequest), gives(Found, many=True), unread, coded(PiiError(Errors.E851), 415))
    get("/recognizers", lambda request: contract.recognizers(engine, request.query_params.get("language")))
    get("/supportedentities", lambda request: contract.supported_entities(engine, request.query_params.get("language")))


def _add_anonymizer(post: Poster, get: Getter, anonymizer: "AnonymizerEngine", deanonymizer: "DeanonymizeEngine") -> None:
    def anonymize(content: Any, deadline: Deadline) -> Answer:
        return contract.anonymize(content, anonymizer, deadline=deadline)

    def deanonymize(content: Any, deadline: Deadline) -> Answer:
        return contract.deanonymize(content, deanonymizer, deadline=deadline)

    answers = (gives(Operated, many=False), refusal(contract.NO_JSON, 400), refusal(contract.NOT_JSON_TYPE, 415))
    post("/anonymize", anonymize, takes(AnonymizeRequest), *answers)
    post("/deanonymize", deanonymize, takes(DeanonymizeRequest), *answers)
    get("/anonymizers", lambda _: contract.compact(anonymizer.get_anonymizers()))
    get("/deanonymizers", lambda _: contract.compact(deanonymizer.get_deanonymizers()))


def _getter(app: FastAPI) -> Getter:
    def get(path: str, answer: Callable[[Request], Answer]) -> None:
        async def endpoint(request: Request) -> Response:
            return _sent(answer(request))

        app.add_api_route(path, endpoint, methods=["GET"], operation_id=path[1:], response_model=None)
        app.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False, response_model=None)

    return get


def _poster(app: FastAPI, worker: Worker, settings: ServeSettings) -> Poster:
    def post(
        path: str,
        work: Callable[[Any, Deadline], Answer],
        asked: dict[str, Any],
        given: dict[int | str, dict[str, Any]],
        unread: Answer,
        other_type: Answer,
    ) -> None:
        async def endpoint(request: Request) -> Response:
            return _sent(await _answered(request, work, worker, settings, unread, other_type), request)

        app.add_api_route(
            path, endpoint, methods=["POST"], openapi_extra=asked, responses=given, operation_id=path[1:], response_model=None
        )

    return post


async def _answered(
    request: Request,
    work: Callable[[Any, Deadline], Answer],
    worker: Worker,
    settings: ServeSettings,
    unread: Answer,
    other_type: Answer,
) -> Answer:
    """Read the body within the limits, let the worker do the rest within the time."""
    seconds = settings.time_limit
    if not contract.is_json(request.headers.get("content-type", "")):
        return other_type
    try:
        body = await asyncio.wait_for(_body(request, settings.max_bytes), seconds)
    except TimeoutError:
        return coded(PiiError(Errors.E857, seconds=seconds), 408)
    if body is None:
        return coded(PiiError(Errors.E854, limit=settings.max_bytes), 413)
    request.state.bytes_in = len(body)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return unread
    try:
        return await worker.run(lambda deadline: work(content, deadline), seconds=seconds)
    except TooManyWaiting:
        return coded(PiiError(Errors.E856, waiting=settings.max_waiting), 503)
    except TimeIsUp:
        return coded(PiiError(Errors.E855, seconds=seconds), 504)


async def _body(request: Request, limit: int) -> bytes | None:
    """RETURNS (bytes | None): The body; None for one that is too long, which is not read to its end."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > limit:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def _sent(answer: Answer, request: Request | None = None) -> Response:
    headers = {"content-type": answer.media_type}
    if answer.status == 503:
        headers["retry-after"] = "1"
    if request is not None:
        request.state.answer = answer
    return Response(answer.body, answer.status, headers=headers)


async def _flask_words(_: Request, error: Exception) -> Response:
    """RETURNS (Response): 404 and 405 as Presidio's services answer them."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: NOT_FOUND, 405: NOT_ALLOWED}.get(status, contract.INTERNAL)
    response = _sent(refusal(words, status))
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


class _Observed:
    """Around everything: who may ask, what is counted, what is logged; nothing that goes wrong inside reaches the server's log.

    app (ASGIApp): The rest. metrics (Metrics): Counters. hosts (tuple[str, ...]): What a Host header may name; empty for anything.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.metrics = metrics
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        state: dict[str, Any] = scope.setdefault("state", {})
        try:
            if self.hosts and (named := _host(scope)) not in self.hosts and named:
                refused = coded(PiiError(Errors.E858, allowed=", ".join(self.hosts)), 400)
                await _sent(refused)(scope, receive, noting)
            else:
                await self.app(scope, receive, noting)
        except Exception as err:  # a client that has gone, or a mistake of ours
            logger.error("request failed (%s)", where(err))
            if not status:
                await _sent(refusal(contract.INTERNAL, 500))(scope, receive, noting)
        finally:
            self._note(scope, state, status, time.perf_counter() - began)

    def _note(self, scope: Scope, state: Mapping[str, Any], status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self.metrics.routes else "(other)"
        self.metrics.answered(path, scope["method"], status, seconds)
        answer = state.get("answer")
        if isinstance(answer, Answer):
            self.metrics.processed(path, answer.texts)
            self.metrics.spans(answer.entities)
        method = scope["method"] if scope["method"].isalpha() and len(scope["method"]) < 8 else "(other)"
        weight = f"{state['bytes_in']} bytes in, " if "bytes_in" in state else ""
        logger.info("%s %s %s, %s%.1f ms", method, path, status or "(gone)", weight, 1000 * seconds)


def _host(scope: Scope) -> str:
    """RETURNS (str): Name in the Host header, without port and brackets; empty where there is none."""
    for name, value in scope["headers"]:
        if name == b"host":
            host = value.decode("latin-1").strip().lower()
            if host.startswith("["):
                return host[1:].partition("]")[0]
            return host.partition(":")[0]
    return ""
