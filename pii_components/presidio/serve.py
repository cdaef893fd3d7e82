"""Presidio's REST API over our pipeline, as an ASGI application.

    uvicorn --factory pii_components.presidio.serve:create_app      # settings from the environment
    pii-edu serve                                                   # settings from options

The answers have the bytes of Presidio's own two services (presidio-analyzer/app.py and presidio-anonymizer/app.py,
2.2.366), with the same status for the same mistake; docs/how-to/serve.md lists what differs. Starlette's middleware limits
bodies and hosts, uvicorn's options limit connections, and Presidio ends a pattern that takes too long.
"""
# ruff: noqa: E402 - what Presidio reads when it is imported is set before

import json
import logging
import os
import re
import sys
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from itertools import chain
from pathlib import Path
from threading import Lock
from traceback import extract_tb
from typing import Any, NamedTuple

from .. import keep_offline

keep_offline()
# Seconds for one pattern. Nobody else is answered meanwhile.
PATTERN_SECONDS = int(os.environ.setdefault("REGEX_TIMEOUT_SECONDS", "5"))

from presidio_analyzer import (
    AnalyzerEngine,
    AnalyzerEngineProvider,
    AnalyzerRequest,
    BatchAnalyzerEngine,
)
from presidio_anonymizer import AnonymizerEngine
from presidio_anonymizer.entities import InvalidParamError
from presidio_anonymizer.operators import AHDSSurrogate
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import Errors, PiiError
from ..release.engine import WARM_UP, memory_zone
from ..vault.vault import Vault
from .operators import PiiEduAnonymizer, PiiEduDeanonymizer
from .recognizer import build_analyzer, check_source
from .settings import BOTH, ServeSettings, read_config, resolve_config

__all__ = ["create_app"]

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
# Paths of each service, and how they are asked.
PATHS = {
    "analyzer": {"/analyze": "POST", "/recognizers": "GET", "/supportedentities": "GET"},
    "anonymizer": {
        "/anonymize": "POST",
        "/deanonymize": "POST",
        "/anonymizers": "GET",
        "/deanonymizers": "GET",
    },
}
# Names that a Host header may always have: a web page that lets its own name point to 127.0.0.1 must not
# reach a server that is there for this machine.
THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


class Services(NamedTuple):
    """Presidio's engines, ready to work; None for those of a service that is off."""

    analyzer: Any = None
    anonymizer: Any = None
    deanonymizer: Any = None
    settings: ServeSettings = ServeSettings()


def build_services(
    settings: ServeSettings, *, key: bytes | None = None, vault: Vault | None = None
) -> Services:
    """Make the engines that the settings ask for.

    key (bytes | None): Of surrogates; None for the environment's.
    vault (Vault | None): Open for writing; it gets every text that is anonymized.
    RAISES (PiiError): E516 to E900 for files, options and the pipeline; those of the profile.
    """
    analyzer = None if settings.service == "anonymizer" else _make_analyzer(settings)
    if settings.service == "analyzer":
        return Services(analyzer, settings=settings)
    # `Path` says that it is a file: a bare name in a request never is.
    profile = Path(settings.profile) if ".toml" in settings.profile else settings.profile or None
    anonymizer = PiiEduAnonymizer(key=key, profile=profile, vault=vault)
    if "surrogate_ahds" in anonymizer.get_anonymizers():
        anonymizer.remove_anonymizer(AHDSSurrogate)  # it sends texts to where the request says
    return Services(analyzer, anonymizer, PiiEduDeanonymizer(vault=vault), settings)


def _make_analyzer(settings: ServeSettings) -> AnalyzerEngine:
    if settings.analyzer_conf_file:
        # Presidio goes on with its own file where it cannot read one, and downloads a model: look first.
        nlp = read_config(settings.analyzer_conf_file).get("nlp_configuration")
        if not nlp:
            raise PiiError(
                Errors.E900,
                file=settings.analyzer_conf_file,
                kind="analyzer's file",
                reason="it has no section nlp_configuration, and Presidio would download a pipeline",
            )
        for model in nlp.get("models") or ():
            name = model["model_name"]
            check_source(name["spacy"] if isinstance(name, dict) else name, model["lang_code"])
        analyzer = AnalyzerEngineProvider(
            resolve_config(settings.analyzer_conf_file)
        ).create_engine()
    else:
        analyzer = build_analyzer(
            pipeline=settings.model,
            cited=settings.cited,
            recognizers=settings.recognizers or None,
        )
    for language in analyzer.supported_languages:
        analyzer.analyze(WARM_UP, language)
    return analyzer


def answer(services: Services, path: str, content: Any) -> tuple[int, str]:
    """Answer one request.

    content (Any): The body of a POST, as bytes; the language of a GET.
    RETURNS (tuple[int, str]): Status and JSON; no exception leaves it.
    """
    analyzer, anonymizer, deanonymizer, settings = services
    try:
        if path == "/analyze":
            return 200, _analyze(_read(content), analyzer, settings)
        if path in ("/anonymize", "/deanonymize"):
            return 200, _operate(
                _read(content), anonymizer if path == "/anonymize" else deanonymizer
            )
        names: Mapping[str, Any] = {
            "/recognizers": lambda la: sorted(r.name for r in analyzer.get_recognizers(la)),
            # Presidio's order is that of a set.
            "/supportedentities": lambda la: sorted(analyzer.get_supported_entities(la)),
            "/anonymizers": lambda _: anonymizer.get_anonymizers(),
            "/deanonymizers": lambda _: deanonymizer.get_deanonymizers(),
        }
        return 200, as_json(names[path](content))
    except HTTPException as err:
        return err.status_code, as_json({"error": err.detail})
    except TimeoutError:
        return 504, as_json({"error": str(PiiError(Errors.E855, seconds=PATTERN_SECONDS))})
    except Exception as err:
        logger.warning("%s refused (%s)", path, where(err))
        return 500, as_json({"error": _first(err)})


def as_json(value: Any) -> str:
    """RETURNS (str): As Flask's `jsonify` writes it."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, default=lambda _: INTERNAL)
    return text + "\n"


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, NO_JSON) from None


def _analyze(content: Any, analyzer: AnalyzerEngine, settings: ServeSettings) -> str:
    """`POST /analyze`. What its texts add to the vocabulary is freed in the end."""
    if not settings.ad_hoc:
        _refuse_patterns(content)
    try:
        options = dict(vars(AnalyzerRequest(content)))
        text, language = options.pop("text"), options.pop("language")
        if not text or not language:
            raise ValueError(f"No {'language' if text else 'text'} provided")
        analyzer.get_supported_entities(language)  # raises, if there is nothing for this language
        texts = text if isinstance(text, list) else [text]
        batch = BatchAnalyzerEngine(analyzer)
        with ExitStack() as zones:
            for nlp in (getattr(analyzer.nlp_engine, "nlp", None) or {}).values():
                zones.enter_context(memory_zone(nlp))
            found = batch.analyze_iterator(texts, language, settings.batch_size, **options)
            for result in chain.from_iterable(found):
                vars(result).pop("recognition_metadata", None)  # as in Presidio's service
            given = found if isinstance(text, list) else found[0]
            return json.dumps(given, default=lambda result: result.to_dict(), sort_keys=True)
    except TypeError as err:
        reason = f"Failed to parse /analyze request for AnalyzerEngine.analyze(). {_first(err)}"
        raise HTTPException(400, reason) from None


def _refuse_patterns(content: Any) -> None:
    """RAISES (HTTPException): For a request that brings regular expressions."""
    given = content if isinstance(content, dict) else {}
    for key in ("ad_hoc_recognizers", "allow_list_match"):
        if given.get(key) not in (None, [], "exact"):
            what, how = "parameter of this server", "--config ad_hoc=true, to allow patterns"
            told = PiiError(Errors.E519, value=key, what=what, allowed=how)
            raise HTTPException(400, str(told))


def _first(error: Exception) -> object:
    return error.args[0] if error.args else INTERNAL


def _operate(content: Any, engine: Any) -> str:
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
        pairs = zip(text, results, strict=True)
        done = [_operate_one(engine, part, found, operators) for part, found in pairs]
        return json.dumps(done, default=vars)
    except HTTPException:
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
    """Keep what libraries log or warn of out of the log: Presidio's trace prints tokens."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(logging.Filter("pii_components"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("decision_process").disabled = True
    logging.getLogger("presidio-analyzer").addFilter(_no_pattern_is_skipped)
    warnings.simplefilter("ignore")


def _no_pattern_is_skipped(record: logging.LogRecord) -> bool:
    """Presidio logs that a pattern ran out of time and answers without it. RAISES (TimeoutError): Then; the request fails."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, TimeoutError):
        raise error
    return True


# --- the application


def create_app(
    settings: ServeSettings | None = None,
    services: Services | None = None,
    **secrets: Any,
) -> Starlette:
    """Make the application; a factory for any ASGI server.

    settings (ServeSettings | None): None for those of the environment.
    services (Services | None): None to make those that the settings ask for.
    secrets (Any): See `build_services`.
    RETURNS (Starlette): One request is at work at a time, since a memory zone cleans a vocabulary that threads
        share; for more at once start more processes.
    """
    settings = settings or ServeSettings.from_env()
    logging.getLogger("uvicorn.access").disabled = True  # it prints queries
    if services is None:
        log_without_texts()
        services = build_services(settings, **secrets)
    made, at_work = services, Lock()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        vault = getattr(made.anonymizer, "vault", None)
        if vault is not None:
            vault.close()

    def reply(path: str, content: bytes | str | None) -> Response:
        with at_work:
            status, text = answer(made, path, content)
        return Response(text, status, media_type="application/json")

    async def endpoint(request: Request) -> Response:
        content: bytes | str | None = request.query_params.get("language")
        if request.method == "POST":
            content = await _body(request)
        return await run_in_threadpool(reply, request.url.path, content)

    async def health(_: Request) -> Response:
        kind = "Anonymizer" if settings.service == "anonymizer" else "Analyzer"
        # What Flask says of a plain string.
        return Response(f"Presidio {kind} service is up", media_type="text/html")

    routes = [Route("/health", health)]
    for service, paths in PATHS.items():
        if settings.service in (service, BOTH):
            routes += [Route(path, endpoint, methods=[how]) for path, how in paths.items()]
    app = Starlette(
        routes=routes, exception_handlers={HTTPException: _http_error}, lifespan=lifespan
    )
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=settings.max_bytes)
    hosts = [*THIS_MACHINE, *filter(None, settings.allowed_hosts.split(","))]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    return app


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = HTTP_ERRORS.get(error.status_code, error.detail)
    # As Flask's `jsonify` writes it.
    text = json.dumps({"error": message}, separators=(",", ":")) + "\n"
    return Response(text, error.status_code, error.headers, media_type="application/json")


async def _body(request: Request) -> bytes:
    """RETURNS (bytes): The body. RAISES (HTTPException): For one that is not said to be JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/(.+\+)?json", kind):
        raise HTTPException(415, NO_JSON_TYPE)
    return await request.body()
