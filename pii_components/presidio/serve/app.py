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
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...about import __version__
from ...errors import Errors
from ..engine import memory_zone
from . import contract
from .contract import INTERNAL, Answer, TimeIsUp, check_time, coded, compact, refusal, sorted_names, where
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
_TELEMETRY_OFF = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
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


class TooManyWaiting(Exception):
    """The line is full."""


class Worker:
    """One thread does the work, requests wait in line, and nobody waits for ever.

    max_waiting (int): Requests that may wait while one is at work.
    """

    def __init__(self, *, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")
        self._pending = 0

    async def run(self, work: Callable[[float], Answer], *, seconds: float) -> Answer:
        """Do a piece of work in the thread. For the event loop's own thread only: the count is not locked.

        work (Callable): Gets its deadline, as `time.monotonic()` counts. seconds (float): That it may take, waiting included.
        RAISES (TooManyWaiting): If the line is full. (TimeIsUp): If it takes longer. Also what the work raises.
        """
        if self._pending > self.max_waiting:
            raise TooManyWaiting
        deadline = time.monotonic() + seconds
        loop = asyncio.get_running_loop()

        def in_time() -> Answer:
            check_time(deadline)
            return work(deadline)

        def count_down(_: Any) -> None:
            """Runs in whichever thread ends the work; the count belongs to the loop's, as long as there is one."""
            try:
                loop.call_soon_threadsafe(self._done)
            except RuntimeError:
                self._done()

        self._pending += 1
        future = self._pool.submit(in_time)
        # Counted until the thread is done with it, not until the request is: what runs over its time is still in the way.
        future.add_done_callback(count_down)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as err:
            future.cancel()
            raise TimeIsUp from err

    def close(self) -> None:
        """Begin nothing more, and wait for what is at work."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _done(self) -> None:
        self._pending -= 1


class Metrics:
    """`GET /metrics`: counters and latencies in Prometheus' text format; routes, methods, codes and entity types, no text.

    routes (Collection[str]): Paths that are counted by name. entities (Collection[str]): Entity types that are counted by name.
    """

    def __init__(self, *, routes: Collection[str], entities: Collection[str]) -> None:
        self.routes, self.entities = frozenset(routes), frozenset(entities)
        disable_created_metrics()  # else each counter has its date of birth beside it
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("pii_edu_requests", "Requests answered.", ("route", "method", "status"), registry=registry)
        self.seconds = Histogram(
            "pii_edu_request_seconds", "Time until the answer.", ("route",), buckets=SECONDS, registry=registry
        )
        self.texts = Counter("pii_edu_texts", "Texts processed.", ("route",), registry=registry)
        self.found = Counter("pii_edu_found", "Spans found, by entity type.", ("entity",), registry=registry)

    def count(self, path: str, method: str, status: int, seconds: float, answer: Answer | None) -> None:
        """Count a request. seconds (float): Until the answer. answer (Answer | None): If texts were processed."""
        route = path if path in self.routes else OTHER
        method = method if method in METHODS else OTHER
        self.requests.labels(route=route, method=method, status=str(status)).inc()
        self.seconds.labels(route=route).observe(seconds)
        if answer is not None:
            self.texts.labels(route=route).inc(answer.texts)
            for entity in answer.entities:
                self.found.labels(entity=entity if entity in self.entities else OTHER).inc()


def create_app(services: Services, settings: ServeSettings) -> FastAPI:
    """RETURNS (FastAPI): With `app.state.metrics` (Metrics) and `app.state.worker` (Worker). Engines of a service that the settings leave out
    are not used."""
    worker = Worker(max_waiting=settings.max_waiting)

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
    metrics = Metrics(routes=paths, entities=entities)
    app.state.metrics, app.state.worker = metrics, worker
    app.add_exception_handler(HTTPException, _flask_words)
    app.add_middleware(_Observed, metrics=metrics, hosts=settings.hosts)  # type: ignore[arg-type]
    app.openapi = partial(_openapi, paths)  # type: ignore[method-assign]
    return app


def _add_routes(app: FastAPI, services: Services, settings: ServeSettings, worker: Worker) -> None:
    def post(path: str, work: Work, unread: dict[int, Answer]) -> None:
        async def endpoint(request: Request) -> Response:
            return _sent(await _answered(work, worker, settings, unread, request), request)

        app.add_api_route(path, endpoint, methods=["POST"], response_model=None)

    def get(path: str, answer: Callable[[str | None], Answer]) -> None:
        async def endpoint(request: Request) -> Response:
            return _sent(answer(request.query_params.get("language")))

        app.add_api_route(path, endpoint, methods=["GET", "HEAD"], response_model=None)

    analyzer, anonymizer, deanonymizer = services.analyzer, services.anonymizer, services.deanonymizer
    if settings.analyzer and analyzer is not None:
        work = partial(contract.analyze, analyzer=analyzer, batch_size=settings.batch_size, zone=services.zone)
        # Where Presidio stumbles over a body that is no JSON, the answer is ours.
        post("/analyze", work, {status: coded(Errors.E851, status) for status in (400, 415)})
        get("/recognizers", lambda language: sorted_names(lambda: [r.name for r in analyzer.get_recognizers(language)]))  # type: ignore[has-type]
        get("/supportedentities", lambda language: sorted_names(lambda: analyzer.get_supported_entities(language)))
    if settings.anonymizer and anonymizer is not None and deanonymizer is not None:
        unread = {400: refusal(contract.NO_JSON, 400), 415: refusal(contract.NOT_JSON_TYPE, 415)}
        post("/anonymize", partial(contract.anonymize, engine=anonymizer), unread)
        post("/deanonymize", partial(contract.deanonymize, engine=deanonymizer), unread)
        get("/anonymizers", lambda _: compact(anonymizer.get_anonymizers()))
        get("/deanonymizers", lambda _: compact(deanonymizer.get_deanonymizers()))
    up = f"Presidio {'Analyzer' if settings.analyzer else 'Anonymizer'} service is up".encode()
    get("/health", lambda _: Answer(200, up, media_type=_NO_TEXT))
    get("/metrics", lambda _: Answer(200, generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST))


def _openapi(paths: Collection[str]) -> dict[str, Any]:
    """RETURNS (dict): The description of these routes. It describes; Presidio's own classes decide what is accepted."""
    file = resources.files("pii_components") / "resources" / "presidio" / "openapi.json"
    document: dict[str, Any] = json.loads(file.read_text("utf8"))
    document["info"]["version"] = __version__
    document["paths"] = {path: said for path, said in document["paths"].items() if path in paths}
    return document


async def _answered(work: Work, worker: Worker, settings: ServeSettings, unread: dict[int, Answer], request: Request) -> Answer:
    """Read the body within the limits, let the worker do the rest within the time. unread: Answers to what is no JSON."""
    seconds = settings.time_limit
    if not contract.is_json(request.headers.get("content-type", "")):
        return unread[415]
    try:
        body = await asyncio.wait_for(_body(request, settings.max_bytes), seconds)
    except TimeoutError:
        return coded(Errors.E857, 408, seconds=seconds)
    if body is None:
        return coded(Errors.E854, 413, limit=settings.max_bytes)
    request.state.bytes_in = len(body)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return unread[400]
    try:
        return await worker.run(lambda deadline: work(content, deadline=deadline), seconds=seconds)
    except TooManyWaiting:
        return coded(Errors.E856, 503, waiting=settings.max_waiting)
    except TimeIsUp:
        return coded(Errors.E855, 504, seconds=seconds)


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
    headers = {"content-type": answer.media_type} | ({"retry-after": "1"} if answer.status == 503 else {})
    if request is not None:
        request.state.answer = answer
    return Response(answer.body, answer.status, headers=headers)


async def _flask_words(_: Request, error: Exception) -> Response:
    """RETURNS (Response): 404 and 405 as Presidio's services answer them."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    response = _sent(refusal(_FLASK.get(status, INTERNAL), status))
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


class _Observed:
    """Around everything: who may ask, what is counted, what is logged; nothing that goes wrong inside reaches the server's log.

    app (ASGIApp): The rest. hosts (tuple[str, ...]): What a Host header may name; empty for anything.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, hosts: tuple[str, ...]) -> None:
        self.app, self.metrics, self.hosts = app, metrics, hosts

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
                await _sent(coded(Errors.E858, 400, allowed=", ".join(self.hosts)))(scope, receive, noting)
            else:
                await self.app(scope, receive, noting)
        except Exception as err:  # a client that has gone, or a mistake of ours
            logger.error("request failed (%s)", where(err))
            if not status:
                await _sent(refusal(INTERNAL, 500))(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - began
            path, method = scope["path"], scope["method"]
            self.metrics.count(path, method, status, seconds, state.get("answer"))
            shown = path if path in self.metrics.routes else "(other)"
            method = method if method.isalpha() and len(method) < 8 else "(other)"
            weight = f"{state['bytes_in']} bytes in, " if "bytes_in" in state else ""
            logger.info("%s %s %s, %s%.1f ms", method, shown, status or "(gone)", weight, 1000 * seconds)


def _host(scope: Scope) -> str:
    """RETURNS (str): Name in the Host header, without port and brackets; empty where there is none."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
