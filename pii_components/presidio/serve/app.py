"""Presidio's REST API over our pipeline, as a FastAPI application.

    app = create_app(Services(analyzer=engine), ServeSettings(service="analyzer"))

    POST /analyze  /anonymize  /deanonymize
    GET  /recognizers  /supportedentities  /anonymizers  /deanonymizers  /health  /metrics  /openapi.json

`contract` gives the answers, this module the web around them: what a body may weigh, how long it may take, who may ask, what is
counted and logged. The application calls nobody: FastAPI's telemetry and its pages with scripts from elsewhere are off.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
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
from starlette.exceptions import HTTPException

from ... import __version__
from ...errors import Errors
from ..engine import memory_zone
from . import contract
from .contract import (
    INTERNAL,
    Answer,
    TimeIsUp,
    check_time,
    coded,
    compact,
    refusal,
    sorted_names,
    where,
)
from .settings import ServeSettings

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine
    from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine

logger = logging.getLogger("pii_components.presidio")

OTHER = "other"
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
# As Flask words them.
_FLASK = {
    404: "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    405: "The method is not allowed for the requested URL.",
}
_TELEMETRY_OFF = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_NO_TEXT = "text/html; charset=utf-8"  # what Flask says of a plain string
Work = Callable[..., Answer]  # (content, deadline=...)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Presidio's engines, ready to work: for /analyze, for /anonymize and for /deanonymize."""

    analyzer: "AnalyzerEngine | None" = None
    anonymizer: "AnonymizerEngine | None" = None
    deanonymizer: "DeanonymizeEngine | None" = None

    @contextmanager
    def zone(self) -> Iterator[None]:
        """What documents add to the vocabularies is freed when it closes."""
        pipelines = getattr(getattr(self.analyzer, "nlp_engine", None), "nlp", None)
        with ExitStack() as stack:
            for nlp in pipelines.values() if isinstance(pipelines, dict) else ():
                stack.enter_context(memory_zone(nlp))
            yield


class Worker:
    """One thread does the work, requests wait in line, and nobody waits for ever. For the event loop's own thread only."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")
        self._line: list[Future[Answer]] = []

    async def run(self, work: Callable[[float], Answer]) -> Answer:
        """Do a piece of work in the thread; 503 if the line is full, 504 if it takes too long. work: Gets its deadline, as
        `time.monotonic()` counts."""
        # Counted until the thread is done with it, not until the request is: what runs over its time is still in the way.
        self._line = [future for future in self._line if not future.done()]
        if len(self._line) > self.settings.max_waiting:
            return coded(Errors.E856, 503, waiting=self.settings.max_waiting)
        seconds = self.settings.time_limit
        deadline = time.monotonic() + seconds

        def in_time() -> Answer:
            check_time(deadline)
            return work(deadline)

        future = self._pool.submit(in_time)
        self._line.append(future)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except (TimeoutError, TimeIsUp):
            return coded(Errors.E855, 504, seconds=seconds)

    def close(self) -> None:
        """Begin nothing more, and wait for what is at work."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Metrics:
    """`GET /metrics`: counters and latencies in Prometheus' text format; routes, methods, codes and entity types, no text.

    routes (Collection[str]): Paths that are counted by name. entities (Collection[str]): Entity types that are counted by name.
    """

    def __init__(self, *, routes: Collection[str], entities: Collection[str]) -> None:
        self.routes, self.entities = frozenset(routes), frozenset(entities)
        disable_created_metrics()  # else each counter has its date of birth beside it
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "pii_edu_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "pii_edu_request_seconds",
            "Time until the answer.",
            ("route",),
            buckets=SECONDS,
            registry=registry,
        )
        self.texts = Counter("pii_edu_texts", "Texts processed.", ("route",), registry=registry)
        self.found = Counter(
            "pii_edu_found", "Spans found, by entity type.", ("entity",), registry=registry
        )

    def count(self, request: Request, status: int, seconds: float) -> None:
        """Count a request, and the texts that were processed for it. seconds (float): Until the answer."""
        route = path if (path := request.scope["path"]) in self.routes else OTHER
        method = request.method if request.method in METHODS else OTHER
        self.requests.labels(route=route, method=method, status=str(status)).inc()
        self.seconds.labels(route=route).observe(seconds)
        answer: Answer | None = getattr(request.state, "answer", None)
        if answer is not None:
            self.texts.labels(route=route).inc(answer.texts)
            for entity in answer.entities:
                self.found.labels(entity=entity if entity in self.entities else OTHER).inc()


def create_app(services: Services, settings: ServeSettings) -> FastAPI:
    """RETURNS (FastAPI): The application. Engines of a service that the settings leave out are not used."""
    worker = Worker(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        docs_url=None,  # both pages load scripts from elsewhere
        redoc_url=None,
        telemetry=_TELEMETRY_OFF,  # type: ignore[arg-type]
        lifespan=lifespan,
    )
    _add_routes(app, services, settings, worker)
    paths = [route.path for route in app.routes if hasattr(route, "path")]
    entities = services.analyzer.get_supported_entities() if services.analyzer is not None else ()
    app.state.metrics = Metrics(routes=paths, entities=entities)
    app.add_exception_handler(HTTPException, _flask_words)
    app.middleware("http")(partial(_observe, app.state.metrics, settings.hosts))
    app.openapi = partial(_openapi, paths)  # type: ignore[method-assign]
    return app


def _add_routes(app: FastAPI, services: Services, settings: ServeSettings, worker: Worker) -> None:
    def post(path: str, work: Work, unread: dict[int, Answer]) -> None:
        async def endpoint(request: Request) -> Response:
            request.state.answer = await _answered(work, worker, unread, request)
            return _sent(request.state.answer)

        app.add_api_route(path, endpoint, methods=["POST"], response_model=None)

    def get(path: str, answer: Callable[[str | None], Answer]) -> None:
        async def endpoint(request: Request) -> Response:
            return _sent(answer(request.query_params.get("language")))

        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], response_model=None)

    analyzer, anonymizer, deanonymizer = (
        services.analyzer,
        services.anonymizer,
        services.deanonymizer,
    )
    if settings.analyzer and analyzer is not None:
        work = partial(
            contract.analyze, analyzer=analyzer, batch_size=settings.batch_size, zone=services.zone
        )
        # Where Presidio stumbles over a body that is no JSON, the answer is ours.
        post("/analyze", work, {status: coded(Errors.E851, status) for status in (400, 415)})
        get(
            "/recognizers",
            lambda language: sorted_names(
                lambda: [r.name for r in analyzer.get_recognizers(language)]
            ),
        )  # type: ignore[has-type]
        get(
            "/supportedentities",
            lambda language: sorted_names(lambda: analyzer.get_supported_entities(language)),
        )
    if settings.anonymizer and anonymizer is not None and deanonymizer is not None:
        unread = {400: refusal(contract.NO_JSON, 400), 415: refusal(contract.NOT_JSON_TYPE, 415)}
        post("/anonymize", partial(contract.anonymize, engine=anonymizer), unread)
        post("/deanonymize", partial(contract.deanonymize, engine=deanonymizer), unread)
        get("/anonymizers", lambda _: compact(anonymizer.get_anonymizers()))
        get("/deanonymizers", lambda _: compact(deanonymizer.get_deanonymizers()))
    up = f"Presidio {'Analyzer' if settings.analyzer else 'Anonymizer'} service is up".encode()
    get("/health", lambda _: Answer(200, up, media_type=_NO_TEXT))
    get(
        "/metrics",
        lambda _: Answer(
            200, generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST
        ),
    )


def _openapi(paths: Collection[str]) -> dict[str, Any]:
    """RETURNS (dict): The description of these routes. It describes; Presidio's own classes decide what is accepted."""
    file = resources.files("pii_components") / "resources" / "presidio" / "openapi.json"
    document: dict[str, Any] = json.loads(file.read_text("utf8"))
    document["info"]["version"] = __version__
    document["paths"] = {path: said for path, said in document["paths"].items() if path in paths}
    return document


async def _answered(
    work: Work, worker: Worker, unread: dict[int, Answer], request: Request
) -> Answer:
    """Read the body within the limits, let the worker do the rest within the time. unread: Answers to what is no JSON."""
    limits = worker.settings
    if not contract.is_json(request.headers.get("content-type", "")):
        return unread[415]
    try:
        body = await asyncio.wait_for(_body(request, limits.max_bytes), limits.time_limit)
    except TimeoutError:
        return coded(Errors.E857, 408, seconds=limits.time_limit)
    if body is None:
        return coded(Errors.E854, 413, limit=limits.max_bytes)
    request.state.bytes_in = len(body)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return unread[400]
    return await worker.run(lambda deadline: work(content, deadline=deadline))


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


def _sent(answer: Answer) -> Response:
    headers = {"content-type": answer.media_type} | (
        {"retry-after": "1"} if answer.status == 503 else {}
    )
    return Response(answer.body, answer.status, headers=headers)


async def _flask_words(_: Request, error: Exception) -> Response:
    """RETURNS (Response): 404 and 405 as Presidio's services answer them."""
    assert isinstance(error, HTTPException)
    response = _sent(refusal(_FLASK.get(error.status_code, INTERNAL), error.status_code))
    response.headers.update(error.headers or {})
    return response


async def _observe(
    metrics: Metrics,
    hosts: Collection[str],
    request: Request,
    call_next: Callable[[Request], Awaitable[Response]],
) -> Response:
    """Around everything: who may ask, what is counted, what is logged; nothing that goes wrong inside reaches the server's log.
    hosts: What a Host header may name; empty for anything."""
    began = time.perf_counter()
    named = _name(request.headers.get("host", ""))
    try:
        if hosts and named and named not in hosts:
            response = _sent(coded(Errors.E858, 400, allowed=", ".join(hosts)))
        else:
            response = await call_next(request)
    except Exception as err:  # a client that has gone, or a mistake of ours
        logger.error("request failed (%s)", where(err))
        response = _sent(refusal(INTERNAL, 500))
    seconds = time.perf_counter() - began
    metrics.count(request, response.status_code, seconds)
    shown = path if (path := request.scope["path"]) in metrics.routes else "(other)"
    method = request.method if request.method.isalpha() and len(request.method) < 8 else "(other)"
    weight = f"{request.state.bytes_in} bytes in, " if hasattr(request.state, "bytes_in") else ""
    logger.info("%s %s %s, %s%.1f ms", method, shown, response.status_code, weight, 1000 * seconds)
    return response


def _name(host: str) -> str:
    """RETURNS (str): Name in a Host header, without port and brackets."""
    host = host.strip().lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
