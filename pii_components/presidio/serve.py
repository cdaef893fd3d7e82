"""Presidio's REST API over our pipeline, as an ASGI application.

    uvicorn --factory pii_components.presidio.serve:create_app      # settings from the environment
    pii-edu serve                                                   # settings from options

The answers have the bytes of Presidio's own two services (presidio-analyzer/app.py and
presidio-anonymizer/app.py, 2.2.366), with the same status for the same mistake; docs/how-to/serve.md lists what
differs. Starlette's middleware limits bodies and hosts, uvicorn's options limit connections.
"""
# ruff: noqa: E402 - what keeps Presidio offline runs before Presidio is imported

import asyncio
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from traceback import extract_tb
from typing import Any, Literal, NamedTuple

from .. import __version__, keep_offline

keep_offline()

from fastapi import FastAPI, Request, Response
from presidio_analyzer import (
    AnalyzerEngine,
    AnalyzerEngineProvider,
    AnalyzerRequest,
    BatchAnalyzerEngine,
)
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine
from presidio_anonymizer.entities import InvalidParamError
from presidio_anonymizer.operators import AHDSSurrogate
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor
from pydantic import BaseModel, PositiveFloat, PositiveInt
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ..errors import Errors, PiiError
from ..vault.vault import Vault
from .engine import memory_zone
from .operators import PiiEduAnonymizer, PiiEduDeanonymizer
from .recognizer import build_analyzer
from .settings import read_config, resolve_config

logger = logging.getLogger("pii_components.presidio")

INTERNAL = "Internal server error"
# As Flask words them, in Presidio's services.
NO_JSON = "The browser (or proxy) sent a request that this server could not understand."
NO_JSON_TYPE = (
    "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."
)
HTTP_ERRORS = {
    404: "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.",
    405: "The method is not allowed for the requested URL.",
}
TELEMETRY = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
# Components build their tables at their first text: outside of a memory zone. It says nothing about anyone.
WARM_UP = "Name: A. Sample\nsample@example.edu, 555-0100, example.edu/~sample, 00000000. Sample (2000) says so."


class ServeSettings(BaseModel, frozen=True, extra="forbid"):
    """What the server is asked for; it checks itself.

    service: Both of Presidio's services, or one.
    model: Pipeline of the analyzer: an installed package or a folder.
    config: Presidio's analyzer YAML instead of the model; "analyzer" for the one that ships.
    recognizers: Presidio's list of recognizers, beside ours.
    return_cited: Whether cited people are returned too.
    profile: For the operator `hips`: a name, or a file that ends in ".toml".
    max_bytes: Longest body of a request; beyond it: 413.
    time_limit: Seconds that a request may take, waiting included; beyond it: 504.
    batch_size: Texts of a list that are processed together.
    allowed_hosts: Names that a Host header may have, with commas between them; "*" for any. A web page that lets its own name point
        to 127.0.0.1 must not reach a server that is there for this machine.
    """

    service: Literal["both", "analyzer", "anonymizer"] = "both"
    model: str = "en_pii_edu"
    config: str = ""
    recognizers: str = ""
    return_cited: bool = False
    profile: str = ""
    max_bytes: PositiveInt = 1_000_000
    time_limit: PositiveFloat = 60.0
    batch_size: PositiveInt = 16
    allowed_hosts: str = "localhost,127.0.0.1,[::1]"

    @classmethod
    def from_env(cls) -> "ServeSettings":
        """RETURNS (ServeSettings): What PII_EDU_SERVE_MODEL and so on say, else the defaults."""
        names = {name: f"PII_EDU_SERVE_{name.upper()}" for name in cls.model_fields}
        return cls.model_validate({n: os.environ[v] for n, v in names.items() if v in os.environ})


class Services(NamedTuple):
    """Presidio's engines, ready to work; None for those of a service that is off."""

    analyzer: AnalyzerEngine | None = None
    anonymizer: AnonymizerEngine | None = None
    deanonymizer: DeanonymizeEngine | None = None


def build_services(
    settings: ServeSettings, *, key: bytes | None = None, vault: Vault | None = None
) -> Services:
    """Make the engines that the settings ask for.

    key (bytes | None): Of surrogates; None for the environment's.
    vault (Vault | None): Open for writing: gets every text that is anonymized. The application closes it.
    RAISES (PiiError): E853 and E650 to E900 for files, options and the pipeline; those of the profile.
    """
    if settings.service == "anonymizer":
        analyzer = None
    elif settings.config:
        # Presidio goes on with its own file where it cannot read one, and downloads a model: look first.
        if "nlp_configuration" not in read_config(settings.config):
            raise PiiError(Errors.E853)
        analyzer = AnalyzerEngineProvider(resolve_config(settings.config)).create_engine()
    else:
        analyzer = build_analyzer(
            pipeline=settings.model,
            return_cited=settings.return_cited,
            recognizers=settings.recognizers or None,
        )
    if analyzer is not None:
        for language in analyzer.supported_languages:
            analyzer.analyze(WARM_UP, language)
    if settings.service == "analyzer":
        return Services(analyzer)
    # `Path` says that it is a file: a bare name in a request never is.
    profile = Path(settings.profile) if ".toml" in settings.profile else settings.profile or None
    anonymizer = PiiEduAnonymizer(key=key, profile=profile, vault=vault)
    if "surrogate_ahds" in anonymizer.get_anonymizers():
        anonymizer.remove_anonymizer(AHDSSurrogate)  # it sends texts to where the request says
    return Services(analyzer, anonymizer, PiiEduDeanonymizer(vault=vault))


def create_app(settings: ServeSettings | None = None, services: Services | None = None) -> FastAPI:
    """Make the application; a factory for any ASGI server.

    settings (ServeSettings | None): None for those of the environment.
    services (Services | None): None to build them, and to call `log_without_texts`.
    RETURNS (FastAPI): One request is at work at a time, since a memory zone cleans a vocabulary that threads
        share; for more at once start more processes.
    """
    settings = settings or ServeSettings.from_env()
    if services is None:
        log_without_texts()
        services = build_services(settings)
    analyzer, anonymizer, deanonymizer = services
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        pool.shutdown(cancel_futures=True)
        vault: Vault | None = getattr(anonymizer, "vault", None)
        if vault is not None:
            vault.close()

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

    def post(path: str, work: Callable[[Any, float], str]) -> None:
        async def endpoint(request: Request) -> Response:
            deadline = time.monotonic() + settings.time_limit
            try:
                async with asyncio.timeout(settings.time_limit):
                    content = await _read(request)
                    loop = asyncio.get_running_loop()
                    body = await loop.run_in_executor(pool, work, content, deadline)
            except TimeoutError:
                error = PiiError(Errors.E855, seconds=settings.time_limit)
                raise HTTPException(504, str(error)) from None
            return Response(body, media_type="application/json")

        app.post(path, response_model=None)(endpoint)

    def get(path: str, answer: Callable[[str | None], Response]) -> None:
        async def endpoint(language: str | None = None) -> Response:
            return answer(language)

        app.get(path, response_model=None)(endpoint)
        app.head(path, response_model=None, include_in_schema=False)(endpoint)

    kind = "Anonymizer" if analyzer is None else "Analyzer"
    # What Flask says of a plain string.
    get("/health", lambda _: Response(f"Presidio {kind} service is up", media_type="text/html"))
    if analyzer is not None:
        recognizers: Any = analyzer.get_recognizers
        work = partial(_analyze, analyzer=analyzer, batch_size=settings.batch_size)
        post("/analyze", work)
        get("/recognizers", partial(_sorted, lambda la: [r.name for r in recognizers(la)]))
        get("/supportedentities", partial(_sorted, analyzer.get_supported_entities))
    if anonymizer is not None and deanonymizer is not None:
        post("/anonymize", partial(_operate, engine=anonymizer))
        post("/deanonymize", partial(_operate, engine=deanonymizer))
        get("/anonymizers", lambda _: _json(anonymizer.get_anonymizers()))
        get("/deanonymizers", lambda _: _json(deanonymizer.get_deanonymizers()))
    return app


def _json(value: Any, status: int = 200) -> Response:
    """RETURNS (Response): As Flask's `jsonify` writes it."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, default=lambda _: INTERNAL)
    return Response(text + "\n", status, media_type="application/json")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = HTTP_ERRORS.get(error.status_code, error.detail)
    response = _json({"error": message}, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _read(request: Request) -> Any:
    """RETURNS (Any): The content of a body. RAISES (HTTPException): For one that is no JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/(.+\+)?json", kind):
        raise HTTPException(415, NO_JSON_TYPE)
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, NO_JSON) from None


def _in_time(items: Iterable[Any], deadline: float) -> Iterator[Any]:
    """YIELDS (Any): The items. RAISES (TimeoutError): As soon as `time.monotonic()` has passed the deadline."""
    for item in items:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield item


def _analyze(content: Any, deadline: float, *, analyzer: AnalyzerEngine, batch_size: int) -> str:
    """`POST /analyze`. What its texts add to the vocabulary is freed in the end."""
    try:
        options = dict(vars(AnalyzerRequest(content)))
        text, language = options.pop("text"), options.pop("language")
        if not text or not language:
            raise ValueError(f"No {'language' if text else 'text'} provided")
        analyzer.get_supported_entities(language)  # raises, if there is nothing for this language
        texts = _in_time(text if isinstance(text, list) else [text], deadline)
        batch = BatchAnalyzerEngine(analyzer)
        with ExitStack() as zones:
            for nlp in (getattr(analyzer.nlp_engine, "nlp", None) or {}).values():
                zones.enter_context(memory_zone(nlp))
            found = batch.analyze_iterator(texts, language, batch_size, **options)
            for result in chain.from_iterable(found):
                vars(result).pop("recognition_metadata", None)  # as in Presidio's service
            given = found if isinstance(text, list) else found[0]
            return json.dumps(given, default=lambda result: result.to_dict(), sort_keys=True)
    except TimeoutError:
        raise
    except TypeError as err:
        reason = f"Failed to parse /analyze request for AnalyzerEngine.analyze(). {_first(err)}"
        raise HTTPException(400, reason) from None
    except Exception as err:
        logger.warning("/analyze refused (%s)", where(err))
        raise HTTPException(500, _first(err)) from None  # type: ignore[arg-type]


def _first(error: Exception) -> object:
    return error.args[0] if error.args else INTERNAL


def _sorted(names: Callable[[str | None], list[str]], language: str | None) -> Response:
    """RETURNS (Response): Names, sorted; Presidio's order is that of a set."""
    try:
        return _json(sorted(names(language)))
    except Exception as err:
        return _json({"error": _first(err)}, 500)


def _operate(content: Any, deadline: float, *, engine: AnonymizerEngine | DeanonymizeEngine) -> str:
    """`POST /anonymize` or `/deanonymize`: one text, or a list of them."""
    if not content:
        raise HTTPException(400, "Invalid request json")
    kind, field = "deanonymizers", "anonymizer_results"
    if isinstance(engine, AnonymizerEngine):
        kind, field = "anonymizers", "analyzer_results"
    try:
        operators = AppEntitiesConvertor.operators_config_from_json(content.get(kind))
        text, results = content.get("text", ""), content.get(field)
        if not isinstance(text, list):
            return json.dumps(_operate_one(engine, text, results, operators), default=vars)
        results = [[] for _ in text] if results is None else list(results)
        if len(results) != len(text):
            raise InvalidParamError(
                f"Invalid input, '{field}' must contain one list of results per item in 'text' when 'text' is a list "
                f"({len(text)} text items, {len(results)} '{field}' items)"
            )
        pairs = _in_time(zip(text, results, strict=True), deadline)
        done = [_operate_one(engine, part, found, operators) for part, found in pairs]
        return json.dumps(done, default=vars)
    except (HTTPException, TimeoutError):
        raise
    except (PiiError, InvalidParamError) as err:
        raise HTTPException(422, str(err)) from None
    except Exception as err:
        logger.error("request failed (%s)", where(err))
        raise HTTPException(500, INTERNAL) from None


def _operate_one(engine: Any, text: Any, results: Any, operators: dict[str, Any]) -> Any:
    if isinstance(engine, AnonymizerEngine):
        if AppEntitiesConvertor.check_custom_operator(operators):
            raise HTTPException(400, "Custom type anonymizer is not supported")
        found = AppEntitiesConvertor.analyzer_results_from_json(results)
        return engine.anonymize(text, found, operators)
    given = {"anonymizer_results": results}
    entities = AppEntitiesConvertor.deanonymize_entities_from_json(given)
    return engine.deanonymize(text, entities, operators)


def where(error: BaseException) -> str:
    """RETURNS (str): Type of an exception and where it was raised; its message may quote a text."""
    last = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {last.name}, line {last.lineno}"


def log_without_texts() -> None:
    """Keep what libraries log or warn of out of the log: Presidio's trace prints tokens, uvicorn's access log prints queries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(logging.Filter("pii_components"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("decision_process", "presidio-analyzer", "presidio-anonymizer", "uvicorn.access"):
        logging.getLogger(name).disabled = True
    warnings.simplefilter("ignore")
