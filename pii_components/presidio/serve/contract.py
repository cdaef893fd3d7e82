"""Presidio's REST contract without a web server: a request's content in, status and bytes out.

    answer = analyze({"text": "Write to ana@example.edu", "language": "en"}, analyzer)
    answer.status, answer.body

The bytes are those that Presidio's own two services give (presidio-analyzer/app.py and presidio-anonymizer/app.py, 2.2.366): results
as `json.dumps` writes them, lists of names and errors as Flask's `jsonify` does, the same status for the same mistake. Where they
answer by accident (an exception inside the handling of another), the answer here is a coded error; docs/serve.md lists those.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from presidio_analyzer import AnalyzerEngine, AnalyzerRequest, BatchAnalyzerEngine, RecognizerResult
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine
from presidio_anonymizer.entities import EngineResult, InvalidParamError
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor

from ...errors import Errors, PiiError

# Logs without texts. A library's message may quote what it worked on, so of others' records only the place stays.

OURS = "pii_components"
# Presidio's trace of decisions prints tokens; uvicorn's access log prints queries.
SILENT = ("decision_process", "uvicorn.access")


class TextlessFormatter(logging.Formatter):
    """Time, level, logger; the message only of our own records."""

    converter = time.gmtime  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(datefmt="%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """RETURNS (str): One line. record (logging.LogRecord): Of any logger."""
        ours = record.name == OURS or record.name.startswith(f"{OURS}.")
        what = record.getMessage() if ours else f"at {record.module}:{record.lineno}"
        exception = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if exception is not None:
            what += f" ({where(exception)})"
        return f"{self.formatTime(record, self.datefmt)} {record.levelname} {record.name}: {what}"


def where(error: BaseException) -> str:
    """RETURNS (str): Type of an exception and the innermost line it came from."""
    trace: TracebackType | None = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "?")
    return f"{type(error).__name__} at {module}:{trace.tb_lineno}"


def log_without_texts(*, quiet: bool = False) -> None:
    """Send every record of this process through the formatter, to standard error; warnings too.

    quiet (bool): Whether requests are left out, so that only warnings and errors stay.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextlessFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    # Loggers that exist by now have handlers of their own, or none: all go through the one above.
    for logger in list(logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            logger.handlers[:] = []
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
    logging.getLogger(OURS).setLevel(logging.WARNING if quiet else logging.INFO)
    for name in SILENT:
        logging.getLogger(name).disabled = True
    logging.captureWarnings(True)


# One thread does the work, requests wait in line, and nobody waits for ever.

T = TypeVar("T")


class TimeIsUp(Exception):
    """The request has taken longer than it may."""


class TooManyWaiting(Exception):
    """The line is full."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the clock of this process. at (float): As `time.monotonic()` counts."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """RETURNS (Deadline): So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """RAISES (TimeIsUp): If it has passed."""
        if time.monotonic() > self.at:
            raise TimeIsUp


class Worker:
    """The thread and the line before it.

    max_waiting (int): Requests that may wait while one is at work.
    """

    def __init__(self, *, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pii-edu")
        self._pending = 0

    async def run(self, work: Callable[[Deadline], T], *, seconds: float) -> T:
        """Do a piece of work in the thread. For the event loop's own thread only: the count is not locked.

        work (Callable[[Deadline], T]): Gets its deadline. seconds (float): That it may take, waiting included.
        RAISES (TooManyWaiting): If the line is full. (TimeIsUp): If it takes longer. Also what the work raises.
        """
        if self._pending > self.max_waiting:
            raise TooManyWaiting
        deadline = Deadline.after(seconds)
        self._pending += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(_in_time, work, deadline)
        # Counted until the thread is done with it, not until the request is: what runs over its time is still in the way.
        future.add_done_callback(lambda _: _count_down(self, loop))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as err:
            future.cancel()
            raise TimeIsUp from err

    def close(self) -> None:
        """Begin nothing more, and wait for what is at work."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def done(self) -> None:
        """One less in the line."""
        self._pending -= 1


def _in_time(work: Callable[[Deadline], T], deadline: Deadline) -> T:
    deadline.check()
    return work(deadline)


def _count_down(worker: Worker, loop: asyncio.AbstractEventLoop) -> None:
    """Runs in whichever thread ends the work; the count belongs to the loop's, as long as there is one."""
    try:
        loop.call_soon_threadsafe(worker.done)
    except RuntimeError:
        worker.done()


logger = logging.getLogger("pii_components.presidio")

JSON = "application/json"
INTERNAL = "Internal server error"
NO_JSON = "The browser (or proxy) sent a request that this server could not understand."
NOT_JSON_TYPE = "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."
# Presidio's service leaves it out too.
_HIDDEN = "recognition_metadata"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back.

    status (int): HTTP code. body (bytes): As it is sent. texts (int): How many were processed. entities (tuple[str, ...]): Types of
    the spans that were found, for the counters.
    """

    status: int
    body: bytes
    texts: int = 0
    entities: tuple[str, ...] = ()
    media_type: str = JSON


def compact(value: Any, status: int = 200) -> Answer:
    """RETURNS (Answer): As Flask's `jsonify` writes it: no spaces, sorted keys, a newline at the end."""
    return Answer(status, (json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n").encode())


def refusal(message: object, status: int) -> Answer:
    """RETURNS (Answer): `{"error": message}`. message (object): Anything that JSON can hold."""
    try:
        return compact({"error": message}, status)
    except (TypeError, ValueError):
        return compact({"error": INTERNAL}, status)


def coded(error: PiiError, status: int) -> Answer:
    """RETURNS (Answer): One of our own errors, which begins with its code."""
    return refusal(str(error), status)


def is_json(content_type: str) -> bool:
    """RETURNS (bool): Whether a Content-Type says JSON, `application/json` or `application/...+json`."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def analyze(
    content: Any,
    analyzer: AnalyzerEngine,
    *,
    batch_size: int = 16,
    deadline: Deadline | None = None,
    zone: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Answer:
    """`POST /analyze`.

    content (Any): The request's JSON. analyzer (AnalyzerEngine): Finds. batch_size (int): Texts of a list that are processed together.
    deadline (Deadline | None): Looked at between batches. zone (Callable[[], AbstractContextManager[Any]]): Opened for each batch;
    everything that belongs to its documents is gone when it closes.
    RAISES (TimeIsUp): At the deadline.
    """
    if not isinstance(content, dict):
        return coded(PiiError(Errors.E851), 400)
    texts = content.get("text")
    if (offset := _lone_surrogate(texts)) >= 0:
        return coded(PiiError(Errors.E852, offset=offset), 400)
    try:
        asked = AnalyzerRequest(content)
        if not asked.text:
            return refusal("No text provided", 500)
        many = isinstance(asked.text, list)
        batch: list[Any] = asked.text if many else [asked.text]
        if not asked.language:
            return refusal("No language provided", 500)
        analyzer.get_supported_entities(asked.language)  # raises, if there is nothing for this language
        rows: list[str] = []
        entities: list[str] = []
        for some in _batches(batch, batch_size, deadline):
            with zone():
                for found in _analyzed(some, analyzer, asked):
                    rows.append(_row(found))
                    entities.extend(result.entity_type for result in found)
                    del found
        body = f"[{', '.join(rows)}]" if many else rows[0]
        return Answer(200, body.encode(), len(rows), tuple(entities))
    except TimeIsUp:
        raise
    except TypeError as err:
        return refusal(f"Failed to parse /analyze request for AnalyzerEngine.analyze(). {_first(err)}", 400)
    except Exception as err:
        logger.warning("/analyze refused (%s)", where(err))
        return refusal(_first(err), 500)


def _batches(texts: list[Any], size: int, deadline: Deadline | None) -> Iterator[list[Any]]:
    for start in range(0, len(texts), size):
        if deadline is not None:
            deadline.check()
        yield texts[start : start + size]


def _analyzed(texts: list[Any], analyzer: AnalyzerEngine, asked: AnalyzerRequest) -> list[list[RecognizerResult]]:
    return BatchAnalyzerEngine(analyzer).analyze_iterator(
        texts=texts,
        batch_size=len(texts),
        language=asked.language or "",  # checked before
        correlation_id=asked.correlation_id,
        score_threshold=asked.score_threshold,
        entities=asked.entities,
        return_decision_process=asked.return_decision_process,
        ad_hoc_recognizers=asked.ad_hoc_recognizers,
        context=asked.context,
        allow_list=asked.allow_list,
        allow_list_match=asked.allow_list_match,
        regex_flags=asked.regex_flags,
    )


def _row(found: Sequence[RecognizerResult]) -> str:
    for result in found:
        if hasattr(result, _HIDDEN):
            delattr(result, _HIDDEN)
    return json.dumps(found, default=lambda result: result.to_dict(), sort_keys=True)


def _lone_surrogate(texts: Any) -> int:
    """RETURNS (int): Where half of a surrogate pair stands in a text, which no tokenizer takes; -1 for nowhere."""
    for text in texts if isinstance(texts, list) else [texts]:
        if isinstance(text, str):
            try:
                text.encode()
            except UnicodeEncodeError as err:
                return err.start
    return -1


def _first(error: Exception) -> object:
    return error.args[0] if error.args else INTERNAL


def recognizers(analyzer: AnalyzerEngine, language: str | None) -> Answer:
    """`GET /recognizers`. Presidio's order is that of a set; here it is sorted."""
    try:
        names = [recognizer.name for recognizer in analyzer.get_recognizers(language)]  # type: ignore[has-type]
        return compact(sorted(names))
    except Exception as err:
        return refusal(_first(err), 500)


def supported_entities(analyzer: AnalyzerEngine, language: str | None) -> Answer:
    """`GET /supportedentities`, sorted too."""
    try:
        return compact(sorted(analyzer.get_supported_entities(language)))
    except Exception as err:
        return refusal(_first(err), 500)


def anonymize(content: Any, engine: AnonymizerEngine, *, deadline: Deadline | None = None) -> Answer:
    """`POST /anonymize`.

    content (Any): The request's JSON. engine (AnonymizerEngine): With the operators that may be asked for.
    deadline (Deadline | None): Looked at between the texts of a list.
    RAISES (TimeIsUp): At the deadline.
    """

    def each(text: Any, results: Any, operators: dict[str, Any]) -> EngineResult:
        found = AppEntitiesConvertor.analyzer_results_from_json(results)
        return engine.anonymize(text=text, analyzer_results=found, operators=operators)

    return _operated(content, "anonymizers", "analyzer_results", each, deadline)


def deanonymize(content: Any, engine: DeanonymizeEngine, *, deadline: Deadline | None = None) -> Answer:
    """`POST /deanonymize`; parameters as for `anonymize`.

    RAISES (TimeIsUp): At the deadline.
    """

    def each(text: Any, results: Any, operators: dict[str, Any]) -> EngineResult:
        entities = AppEntitiesConvertor.deanonymize_entities_from_json({"anonymizer_results": results})
        return engine.deanonymize(text=text, entities=entities, operators=operators)

    return _operated(content, "deanonymizers", "anonymizer_results", each, deadline)


def _operated(
    content: Any,
    operators_field: str,
    results_field: str,
    each: Callable[[Any, Any, dict[str, Any]], EngineResult],
    deadline: Deadline | None,
) -> Answer:
    """What the two have in common: one text or a list of them, the operators, the errors."""
    if not content:
        return refusal("Invalid request json", 400)
    try:
        operators = AppEntitiesConvertor.operators_config_from_json(content.get(operators_field))
        if operators_field == "anonymizers" and AppEntitiesConvertor.check_custom_operator(operators):
            return refusal("Custom type anonymizer is not supported", 400)
        text = content.get("text", "")
        results = content.get(results_field)
        if not isinstance(text, list):
            return Answer(200, each(text, results, operators).to_json().encode(), 1)
        done = []
        for part, found in zip(text, _for_each(results_field, results, text), strict=False):
            if deadline is not None:
                deadline.check()
            done.append(each(part, found, operators))
        return Answer(200, json.dumps(done, default=vars).encode(), len(done))
    except TimeIsUp:
        raise
    except PiiError as err:
        return coded(err, 422)
    except InvalidParamError as err:
        return refusal(err.err_msg, 422)
    except Exception as err:
        logger.error("/%s failed (%s)", operators_field.removesuffix("rs"), where(err))
        return refusal(INTERNAL, 500)


def _for_each(field: str, results: Any, texts: list[Any]) -> list[Any]:
    """RETURNS (list[Any]): Results per text; none for each, where the field is left out."""
    if results is None:
        return [[] for _ in texts]
    if len(results) != len(texts):
        raise InvalidParamError(
            f"Invalid input, '{field}' must contain one list of results per item in 'text' when 'text' is a list "
            f"({len(texts)} text items, {len(results)} '{field}' items)"
        )
    return list(results)
