"""Presidio's REST contract without a web server: a request's content in, status and bytes out.

    answer = analyze({"text": "Write to ana@example.edu", "language": "en"}, analyzer)
    answer.status, answer.body

The bytes are those that Presidio's own two services give (presidio-analyzer/app.py and presidio-anonymizer/app.py, 2.2.366): results
as `json.dumps` writes them, lists of names and errors as Flask's `jsonify` does, the same status for the same mistake. Where they
answer by accident (an exception inside the handling of another), the answer here is a coded error; docs/serve.md lists those.
"""

import json
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import inf
from traceback import walk_tb
from typing import Any, NamedTuple

from presidio_analyzer import AnalyzerEngine, AnalyzerRequest, BatchAnalyzerEngine, RecognizerResult
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine
from presidio_anonymizer.entities import EngineResult, InvalidParamError
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor

from ...errors import Errors, PiiError

logger = logging.getLogger("pii_components.presidio")

JSON = "application/json"
INTERNAL = "Internal server error"
NO_JSON = "The browser (or proxy) sent a request that this server could not understand."
NOT_JSON_TYPE = (
    "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."
)


class TimeIsUp(Exception):
    """The request has taken longer than it may."""


def check_time(deadline: float) -> None:
    """RAISES (TimeIsUp): If `time.monotonic()` has passed the deadline."""
    if time.monotonic() > deadline:
        raise TimeIsUp


class Answer(NamedTuple):
    """What goes back: HTTP status, body, and for the counters how many texts were processed and the types of the spans found."""

    status: int
    body: bytes
    texts: int = 0
    entities: tuple[str, ...] = ()
    media_type: str = JSON


def compact(value: Any, status: int = 200) -> Answer:
    """RETURNS (Answer): As Flask's `jsonify` writes it: no spaces, sorted keys, a newline at the end."""
    return Answer(
        status, (json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n").encode()
    )


def refusal(message: object, status: int) -> Answer:
    """RETURNS (Answer): `{"error": message}`."""
    try:
        return compact({"error": message}, status)
    except (TypeError, ValueError):
        return compact({"error": INTERNAL}, status)


def coded(template: str, status: int, **values: object) -> Answer:
    """RETURNS (Answer): One of our own errors, which begins with its code."""
    return refusal(str(PiiError(template, **values)), status)


def where(error: BaseException) -> str:
    """RETURNS (str): Type of an exception and the innermost line it came from; its message may quote a text."""
    frames = list(walk_tb(error.__traceback__))
    if not frames:
        return type(error).__name__
    frame, line = frames[-1]
    return f"{type(error).__name__} at {frame.f_globals.get('__name__', '?')}:{line}"


def is_json(content_type: str) -> bool:
    """RETURNS (bool): Whether a Content-Type says JSON, `application/json` or `application/...+json`."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def analyze(
    content: Any,
    analyzer: AnalyzerEngine,
    *,
    batch_size: int = 16,
    deadline: float = inf,
    zone: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Answer:
    """`POST /analyze`.

    deadline (float): By `time.monotonic()`, looked at between batches. zone (Callable): Opened for each batch; everything that belongs
        to its documents is gone when it closes. RAISES (TimeIsUp): At the deadline.
    """
    if not isinstance(content, dict):
        return coded(Errors.E851, 400)
    texts = content.get("text")
    try:
        for part in texts if isinstance(texts, list) else [texts]:
            if isinstance(part, str):
                part.encode()
    except UnicodeEncodeError as err:  # half of a surrogate pair, which no tokenizer takes
        return coded(Errors.E852, 400, offset=err.start)
    try:
        options = dict(vars(AnalyzerRequest(content)))
        text, language = options.pop("text"), options.pop("language")
        if not text or not language:
            return refusal(f"No {'language' if text else 'text'} provided", 500)
        analyzer.get_supported_entities(language)  # raises, if there is nothing for this language
        many = isinstance(text, list)
        batch: list[Any] = text if many else [text]
        rows: list[str] = []
        entities: list[str] = []
        for start in range(0, len(batch), batch_size):
            check_time(deadline)
            some = batch[start : start + batch_size]
            with zone():
                for found in BatchAnalyzerEngine(analyzer).analyze_iterator(
                    some, language, len(some), **options
                ):
                    rows.append(_row(found))
                    entities.extend(result.entity_type for result in found)
                    del found
        body = f"[{', '.join(rows)}]" if many else rows[0]
        return Answer(200, body.encode(), len(rows), tuple(entities))
    except TimeIsUp:
        raise
    except TypeError as err:
        return refusal(
            f"Failed to parse /analyze request for AnalyzerEngine.analyze(). {_first(err)}", 400
        )
    except Exception as err:
        logger.warning("/analyze refused (%s)", where(err))
        return refusal(_first(err), 500)


def _row(found: list[RecognizerResult]) -> str:
    for result in found:
        if hasattr(result, "recognition_metadata"):  # Presidio's service leaves it out too
            del result.recognition_metadata
    return json.dumps(found, default=lambda result: result.to_dict(), sort_keys=True)


def _first(error: Exception) -> object:
    return error.args[0] if error.args else INTERNAL


def sorted_names(names: Callable[[], list[str]]) -> Answer:
    """`GET /recognizers`, `/supportedentities`. Presidio's order is that of a set; here it is sorted."""
    try:
        return compact(sorted(names()))
    except Exception as err:
        return refusal(_first(err), 500)


def anonymize(content: Any, engine: AnonymizerEngine, *, deadline: float = inf) -> Answer:
    """`POST /anonymize`. engine (AnonymizerEngine): With the operators that may be asked for. For the rest see `analyze`."""

    def each(text: Any, results: Any, operators: dict[str, Any]) -> EngineResult:
        return engine.anonymize(
            text, AppEntitiesConvertor.analyzer_results_from_json(results), operators
        )

    return _operated(content, "anonymizers", "analyzer_results", each, deadline)


def deanonymize(content: Any, engine: DeanonymizeEngine, *, deadline: float = inf) -> Answer:
    """`POST /deanonymize`; as `anonymize`."""

    def each(text: Any, results: Any, operators: dict[str, Any]) -> EngineResult:
        entities = AppEntitiesConvertor.deanonymize_entities_from_json(
            {"anonymizer_results": results}
        )
        return engine.deanonymize(text, entities, operators)

    return _operated(content, "deanonymizers", "anonymizer_results", each, deadline)


def _operated(
    content: Any,
    kind: str,
    field: str,
    each: Callable[[Any, Any, dict[str, Any]], EngineResult],
    deadline: float,
) -> Answer:
    """What the two have in common: one text or a list of them, the operators, the errors. kind, field: Where a request holds its
    operators and its results."""
    if not content:
        return refusal("Invalid request json", 400)
    try:
        operators = AppEntitiesConvertor.operators_config_from_json(content.get(kind))
        if kind == "anonymizers" and AppEntitiesConvertor.check_custom_operator(operators):
            return refusal("Custom type anonymizer is not supported", 400)
        text, results = content.get("text", ""), content.get(field)
        many = isinstance(text, list)
        if many and results is None:
            results = [[] for _ in text]
        elif many and len(results) != len(text):
            raise InvalidParamError(
                f"Invalid input, '{field}' must contain one list of results per item in 'text' when 'text' is a list "
                f"({len(text)} text items, {len(results)} '{field}' items)"
            )
        done = []
        for part, found in zip(text, list(results), strict=True) if many else [(text, results)]:
            check_time(deadline)
            done.append(each(part, found, operators))
        return Answer(200, json.dumps(done if many else done[0], default=vars).encode(), len(done))
    except TimeIsUp:
        raise
    except (PiiError, InvalidParamError) as err:
        return refusal(str(err), 422)
    except Exception as err:
        logger.error("/%s failed (%s)", kind.removesuffix("rs"), where(err))
        return refusal(INTERNAL, 500)
