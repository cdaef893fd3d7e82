"""Presidio's REST API over our pipeline, as an ASGI application.

    uvicorn --factory pii_components.presidio.serve:create_app      # settings from the environment
    pii-edu serve                                                   # settings from options

The work is done in a process of its own (`answers.answer`), so that this one can always answer, and can end what takes
too long. Starlette's middleware limits bodies and hosts, uvicorn's options limit connections.
"""

import asyncio
import atexit
import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, create_model
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from .. import __version__
from ..errors import Errors, PiiError
from .settings import ServeSettings

# As Flask words them, in Presidio's services.
NO_JSON_TYPE = (
    "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."
)
HTTP_ERRORS = {
    404: "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    405: "The method is not allowed for the requested URL.",
}
TELEMETRY = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
# Seconds that a process may take to end by itself.
PATIENCE = 5.0


class Worker:
    """A process that does the work, one request at a time. It is ended where it takes too long, and started anew.

    work (Callable): What the process runs: it gets a pipe and `args`, sends None or an error once it is ready, then an answer
        for each (path, content), and ends with the pipe or None.
    limit (float): Seconds for one request.
    is_ready (bool): Whether it can answer; it cannot while it is started anew.
    RAISES (PiiError): What `work` sends; E517 if it ends without a word.
    """

    def __init__(self, work: Callable[..., None], *args: Any, limit: float) -> None:
        self.work, self.args, self.limit = work, args, limit
        self.is_ready = self.is_over = False
        self.start()
        atexit.register(self.stop)

    def start(self) -> None:
        """Start the process. RAISES (PiiError): As the class."""
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=self.work, args=(theirs, *self.args), daemon=True)
        self.process.start()
        theirs.close()
        failure: Exception | None = PiiError(Errors.E517, model="serve", reason="its process ended")
        with suppress(EOFError):
            failure = self.pipe.recv()
        if failure is not None:
            raise failure
        self.is_ready = True

    def ask(self, path: str, content: Any) -> tuple[int, str]:
        """RETURNS (tuple[int, str]): Status and JSON. RAISES (TimeoutError): If there is none in time."""
        if not self.is_ready:
            self.start()
        is_late = False
        with suppress(EOFError, OSError):  # the system has killed it
            self.pipe.send((path, content))
            is_late = not self.pipe.poll(self.limit)
            if not is_late:
                answer: tuple[int, str] = self.pipe.recv()
                return answer
        self.is_ready = False
        self.process.kill()
        if not self.is_over:
            self.start()
        if is_late:
            raise TimeoutError
        raise PiiError(Errors.E517, model="serve", reason="its process ended")

    def stop(self) -> None:
        """End the process for good, at once if it is at work for longer than `PATIENCE`."""
        self.is_over = True
        with suppress(OSError):
            self.pipe.send(None)
        self.process.join(PATIENCE)
        self.process.kill()


def work(pipe: Connection, settings: ServeSettings, *secrets: Any) -> None:
    """What the process of `Worker` runs; it imports Presidio and loads the pipeline. secrets: See `answers.build_services`."""
    # Ctrl+C and SIGTERM reach the whole group; the server answers what is at work, and then ends this process.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    # Presidio reads it when it is imported: seconds for one pattern.
    seconds = min(float(os.environ.get("REGEX_TIMEOUT_SECONDS", "60")), settings.time_limit / 2)
    os.environ["REGEX_TIMEOUT_SECONDS"] = str(max(1, int(seconds)))
    try:
        from . import answers

        answers.log_without_texts()
        services = answers.build_services(settings, *secrets)
    except PiiError as err:
        pipe.send(err)
        return
    pipe.send(None)
    with suppress(EOFError):
        while request := pipe.recv():
            pipe.send(answers.answer(services, *request))
    vault = getattr(services.anonymizer, "vault", None)
    if vault is not None:
        vault.close()


def _end_with_parent() -> None:
    """A server that was killed leaves no process at work."""
    parent: Any = parent_process()
    parent.join()
    os._exit(1)


def create_app(settings: ServeSettings | None = None, worker: Any = None) -> FastAPI:
    """Make the application; a factory for any ASGI server.

    settings (ServeSettings | None): None for those of the environment.
    worker (Worker | None): None to start one.
    RETURNS (FastAPI): One request is at work at a time, since a memory zone cleans a vocabulary that threads
        share; for more at once start more processes.
    """
    settings = settings or ServeSettings.from_env()
    worker = worker or Worker(work, settings, limit=settings.time_limit)
    logging.getLogger("uvicorn.access").disabled = True  # it prints queries
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=False, cancel_futures=True)
        worker.stop()

    app = FastAPI(
        title="Presidio's REST API over en_pii_edu",
        version=__version__,
        docs_url=None,  # both pages load scripts from elsewhere
        redoc_url=None,
        telemetry=dict.fromkeys(TELEMETRY, False),  # type: ignore[arg-type]
        lifespan=lifespan,
    )
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=settings.max_bytes)
    hosts = settings.allowed_hosts.split(",")
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)

    async def ask(path: str, content: str | None, request: Request | None = None) -> Response:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(settings.time_limit):
                given = content if request is None else await _read(request)
                status, text = await loop.run_in_executor(pool, worker.ask, path, given)
        except TimeoutError:
            error = PiiError(Errors.E855, seconds=settings.time_limit)
            raise HTTPException(504, str(error)) from None
        except PiiError as err:
            raise HTTPException(503, str(err)) from None
        return Response(text, status, media_type="application/json")

    def post(path: str, asked: type[BaseModel], told: Any) -> None:
        async def endpoint(request: Request) -> Response:
            return await ask(path, None, request)

        schema = asked.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)  # they are among the answers
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        answers = _answers(told, 400, 413, 415, 422, 500, 503, 504)
        app.post(path, responses=answers, openapi_extra={"requestBody": body})(endpoint)

    def get(path: str, told: Any) -> None:
        async def endpoint(language: str | None = None) -> Response:
            return await ask(path, language)

        app.get(path, responses=_answers(told, 500, 503, 504))(endpoint)
        app.head(path, include_in_schema=False)(endpoint)

    async def health() -> Response:
        kind = "Anonymizer" if settings.service == "anonymizer" else "Analyzer"
        state, status = ("up", 200) if worker.is_ready else ("down", 503)
        # What Flask says of a plain string.
        return Response(f"Presidio {kind} service is {state}", status, media_type="text/html")

    app.get("/health", responses={503: {"description": "What was overdue is ended."}})(health)
    app.head("/health", include_in_schema=False)(health)
    if settings.service != "anonymizer":
        post("/analyze", AnalyzeBody, Findings)
        get("/recognizers", list[str])
        get("/supportedentities", list[str])
    if settings.service != "analyzer":
        post("/anonymize", AnonymizeBody, Answer | list[Answer])
        post("/deanonymize", DeanonymizeBody, Answer | list[Answer])
        get("/anonymizers", list[str])
        get("/deanonymizers", list[str])
    return app


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = HTTP_ERRORS.get(error.status_code, error.detail)
    # As Flask's `jsonify` writes it.
    text = json.dumps({"error": message}, separators=(",", ":")) + "\n"
    return Response(text, error.status_code, error.headers, media_type="application/json")


async def _read(request: Request) -> bytes:
    """RETURNS (bytes): The body. RAISES (HTTPException): For one that is not said to be JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/(.+\+)?json", kind):
        raise HTTPException(415, NO_JSON_TYPE)
    return await request.body()


# What openapi.json says of bodies and answers.


class Finding(BaseModel):
    """A result of the analyzer."""

    entity_type: str
    start: int
    end: int
    score: float = 0.0
    analysis_explanation: dict[str, Any] | None = None


class Replaced(BaseModel):
    """An item of the anonymizer."""

    start: int
    end: int
    entity_type: str
    text: str = ""
    operator: str = ""


class Answer(BaseModel):
    """A text, and what was replaced in it."""

    text: str
    items: list[Replaced]


class Failure(BaseModel):
    """Why there is no answer, with a code of ours or in Presidio's words."""

    error: str


Findings = list[Finding] | list[list[Finding]]
TEXTS: Any = (str | list[str], ...)
OPERATORS: Any = dict[str, dict[str, Any]]
# See AnalyzerEngine.analyze.
AnalyzeBody = create_model(
    "AnalyzeBody",
    text=TEXTS,
    language=(str, ...),
    entities=(list[str], []),
    correlation_id=(str, ""),
    score_threshold=(float, 0.0),
    return_decision_process=(bool, False),
    ad_hoc_recognizers=(list[dict[str, Any]], []),
    context=(list[str], []),
    allow_list=(list[str], []),
    allow_list_match=(str, "exact"),
    regex_flags=(int, 26),
)
# Results of /analyze, and operators by entity: {"DEFAULT": {"type": "hips"}}.
AnonymizeBody = create_model(
    "AnonymizeBody", text=TEXTS, analyzer_results=(Findings, ...), anonymizers=(OPERATORS, {})
)
# Items of /anonymize, and operators by entity: {"DEFAULT": {"type": "reidentify"}}.
DeanonymizeBody = create_model(
    "DeanonymizeBody",
    text=TEXTS,
    anonymizer_results=(list[Replaced] | list[list[Replaced]], ...),
    deanonymizers=(OPERATORS, ...),
)


def _answers(told: Any, *refused: int) -> dict[int | str, dict[str, Any]]:
    """RETURNS (dict): For FastAPI's `responses`."""
    failures: dict[int | str, dict[str, Any]] = {status: {"model": Failure} for status in refused}
    return {200: {"model": told}, **failures}
