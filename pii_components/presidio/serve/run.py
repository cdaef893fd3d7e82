"""Load, listen, answer, and end when asked: uvicorn around the application, logs without texts.

    with listen(settings) as sock, build_services(settings, model="en_pii_edu") as services:
        serve(create_app(services, settings), settings, sock, say=print)

SIGINT and SIGTERM end it: what has come in is answered, what comes after is refused. A second SIGINT does not wait.
"""

import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from fastapi import FastAPI
from presidio_analyzer import AnalyzerEngine, AnalyzerEngineProvider
from presidio_anonymizer.operators import AHDSSurrogate

from ...errors import Errors, PiiError
from ...vault.vault import Vault
from ..operators import PiiEduAnonymizer, PiiEduDeanonymizer
from ..recognizer import build_analyzer
from ..settings import read_config, resolve_config
from .app import Services
from .contract import where
from .settings import ServeSettings

# Says nothing about anyone. What components build at their first text is built here, outside of a memory zone.
WARM_UP = "Name: A. Sample\nsample@example.edu, 555-0100, example.edu/~sample, 00000000. Sample (2000) says so."
OURS = "pii_components"
# Presidio's trace of decisions prints tokens; uvicorn's access log prints queries.
SILENT = ("decision_process", "uvicorn.access")


class Configuration(NamedTuple):
    """Presidio's files, as its container takes them: paths, or "analyzer" for the one that ships, which has all sections; all empty for
    our own analyzer."""

    analyzer: str = ""
    nlp: str = ""
    recognizers: str = ""


class TextlessFormatter(logging.Formatter):
    """Time, level, logger; the message only of our own records. A library's may quote what it worked on: of those only the place stays."""

    converter = time.gmtime  # type: ignore[assignment]

    def format(self, record: logging.LogRecord) -> str:
        ours = record.name == OURS or record.name.startswith(f"{OURS}.")
        what = record.getMessage() if ours else f"at {record.module}:{record.lineno}"
        if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
            what += f" ({where(record.exc_info[1])})"
        return f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%SZ')} {record.levelname} {record.name}: {what}"


def log_without_texts(*, quiet: bool = False) -> None:
    """Send every record of this process through the formatter, to standard error; warnings too. quiet (bool): But not of requests."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextlessFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
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


@contextmanager
def build_services(
    settings: ServeSettings,
    *,
    model: str,
    configuration: Configuration | None = None,
    return_cited: bool = False,
    key: bytes | None = None,
    profile: str = "",
    vault: Vault | None = None,
) -> Iterator[Services]:
    """Make the engines that the settings ask for, and close the vault at the end.

    configuration (Configuration | None): Presidio's files, instead of our pipeline, `model`.
    key (bytes | None): Of surrogates; None for the environment's. profile (str): For `hips` and `pseudonym`; empty for crapii.
    vault (Vault | None): Open for writing: gets every text that is anonymised.
    YIELDS (Services): Ready. RAISES (PiiError): E853 and E801 to E812 for files, options and the pipeline; those of the profile.
    """
    analyzer = anonymizer = deanonymizer = None
    try:
        if settings.anonymizer:
            # `Path` says that it is a file: a bare name in a request never is.
            chosen = (Path(profile) if profile.endswith(".toml") else profile) or None
            anonymizer, deanonymizer = (
                PiiEduAnonymizer(key=key, profile=chosen, vault=vault),
                PiiEduDeanonymizer(vault=vault),
            )
            if AHDSSurrogate is not None and "surrogate_ahds" in anonymizer.get_anonymizers():
                anonymizer.remove_anonymizer(
                    AHDSSurrogate
                )  # it sends texts to an address which the request names
        if settings.analyzer:
            files = configuration or Configuration()
            if files.analyzer or files.nlp:
                analyzer = _provided(files)
            else:
                analyzer = build_analyzer(
                    pipeline=model, return_cited=return_cited, recognizers=files.recognizers or None
                )
            for language in analyzer.supported_languages:
                analyzer.analyze(WARM_UP, language)
        yield Services(analyzer=analyzer, anonymizer=anonymizer, deanonymizer=deanonymizer)
    finally:
        if vault is not None:
            vault.close()


def _provided(files: Configuration) -> AnalyzerEngine:
    """Presidio's provider goes on with its own files where it cannot read one of ours, and then downloads a model: look first."""
    said = {kind: read_config(given) if given else {} for kind, given in files._asdict().items()}
    if not files.nlp and "nlp_configuration" not in said["analyzer"]:
        raise PiiError(Errors.E853)
    analyzer, nlp, recognizers = (str(resolve_config(given)) if given else None for given in files)
    return AnalyzerEngineProvider(
        analyzer_engine_conf_file=analyzer,
        nlp_engine_conf_file=nlp,
        recognizer_registry_conf_file=recognizers,
    ).create_engine()


def serve(
    app: FastAPI,
    settings: ServeSettings,
    sock: socket.socket,
    *,
    say: Callable[[str], Any],
    quiet: bool = False,
) -> None:
    """Answer until a signal comes. sock (socket.socket): From `listen`. quiet (bool): Whether requests stay out of the log.
    say (Callable[[str], Any]): Gets one line when the server is ready, with the port that it got."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                host = f"[{settings.host}]" if ":" in settings.host else settings.host
                say(f"listening on http://{host}:{sock.getsockname()[1]}")

    config = uvicorn.Config(
        app,
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,  # as log_without_texts has set it
        access_log=False,  # queries may hold anything; the application logs its own line
        timeout_graceful_shutdown=max(1, round(settings.time_limit)),
    )
    log_without_texts(quiet=quiet)
    with ExitStack() as stack:
        # uvicorn raises the signal once more when it has ended; by then there is nothing left to interrupt.
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, lambda *_: None))
        Server(config).run(sockets=[sock])
