"""Listen, answer, and end when asked: uvicorn around the application.

    with listen(settings) as sock:
        serve(app, settings, sock, say=print)

SIGINT and SIGTERM end it: what has come in is answered, what comes after is refused. A second SIGINT does not wait.
"""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI
from presidio_analyzer import AnalyzerEngine, AnalyzerEngineProvider

from ...errors import Errors, PiiError
from ..operators import PiiEduAnonymizer, PiiEduDeanonymizer
from ..settings import read_config
from .app import Services
from .contract import log_without_texts
from .settings import ServeSettings

if TYPE_CHECKING:
    from ...vault.vault import Vault

# The engines behind the server, loaded and warm.

# Says nothing about anyone. What components build at their first text is built here, outside of a memory zone.
WARM_UP = "Name: A. Sample\nsample@example.edu, 555-0100, example.edu/~sample, 00000000. Sample (2000) says so."


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Presidio's three files, as its container takes them; all empty for our own analyzer.

    analyzer (str), nlp (str), recognizers (str): Paths, or "analyzer", "nlp", "recognizers" for those that ship.
    """

    analyzer: str = ""
    nlp: str = ""
    recognizers: str = ""

    @property
    def presidio(self) -> bool:
        """RETURNS (bool): Whether Presidio's provider makes the analyzer."""
        return bool(self.analyzer or self.nlp)


@contextmanager
def build_services(
    settings: ServeSettings,
    *,
    model: str,
    configuration: Configuration | None = None,
    return_cited: bool = False,
    key: bytes | None = None,
    profile: str = "",
    vault: "Vault | None" = None,
) -> Iterator[Services]:
    """Make the engines that the settings ask for.

    settings (ServeSettings): Which services. model (str): Name or path of our pipeline.
    configuration (Configuration | None): Presidio's files. return_cited (bool): Whether cited people are returned, as CITED_PERSON.
    key (bytes | None): Of surrogates; None for the environment's. profile (str): For `hips` and `pseudonym`; empty for crapii.
    vault (Vault | None): Open for writing: gets every text that is anonymised; closed at the end.
    YIELDS (Services): Ready. RAISES (PiiError): E853 and E801 to E812 for files, options and the pipeline; those of the profile.
    """
    made: dict[str, Any] = {}
    try:
        if settings.anonymizer:
            # `Path` says that it is a file: a bare name in a request never is.
            chosen: Any = (Path(profile) if profile.endswith(".toml") else profile) or None
            made["anonymizer"] = _local(PiiEduAnonymizer(key=key, profile=chosen, vault=vault))
            made["deanonymizer"] = PiiEduDeanonymizer(vault=vault)
        if settings.analyzer:
            made["analyzer"] = _analyzer(configuration or Configuration(), model=model, return_cited=return_cited)
        yield Services(**made)
    finally:
        if vault is not None:
            vault.close()


def _analyzer(configuration: Configuration, *, model: str, return_cited: bool) -> AnalyzerEngine:
    from ..recognizer import build_analyzer

    if not configuration.presidio:
        analyzer = build_analyzer(pipeline=model, return_cited=return_cited, recognizers=configuration.recognizers or None)
    else:
        analyzer = _provided(configuration)
    for language in analyzer.supported_languages:
        analyzer.analyze(WARM_UP, language)
    return analyzer


def _provided(configuration: Configuration) -> AnalyzerEngine:
    """Presidio's provider goes on with its own files where it cannot read one of ours, and then downloads a model: look first."""
    paths: dict[str, str | None] = {}
    said: dict[str, dict[str, Any]] = {}
    for kind, given in (
        ("analyzer", configuration.analyzer),
        ("nlp", configuration.nlp),
        ("recognizers", configuration.recognizers),
    ):
        said[kind] = read_config(given) if given else {}
        paths[kind] = str(_path(given)) if given else None
    if not configuration.nlp and "nlp_configuration" not in said["analyzer"]:
        raise PiiError(Errors.E853)
    return AnalyzerEngineProvider(
        analyzer_engine_conf_file=paths["analyzer"],
        nlp_engine_conf_file=paths["nlp"],
        recognizer_registry_conf_file=paths["recognizers"],
    ).create_engine()


def _path(given: str) -> Path:
    from ..settings import CONFIGS, config_path

    return config_path(given) if given in CONFIGS else Path(given)


def _local(engine: PiiEduAnonymizer) -> PiiEduAnonymizer:
    """RETURNS (PiiEduAnonymizer): Without Presidio's operator that sends texts to an address which the request names."""
    from presidio_anonymizer.operators import AHDSSurrogate

    if AHDSSurrogate is not None and "surrogate_ahds" in engine.get_anonymizers():
        engine.remove_anonymizer(AHDSSurrogate)
    return engine


def serve(
    app: FastAPI, settings: ServeSettings, sock: socket.socket, *, say: Callable[[str], Any], quiet: bool = False
) -> None:
    """Answer until a signal comes.

    app (FastAPI): From `create_app`. settings (ServeSettings): Its limits. sock (socket.socket): From `listen`.
    say (Callable[[str], Any]): Gets one line when the server is ready, with the port that it got.
    quiet (bool): Whether requests stay out of the log.
    """
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    ready = f"listening on http://{host}:{sock.getsockname()[1]}"
    config = uvicorn.Config(
        app,
        log_config=None,  # as log_without_texts has set it
        access_log=False,  # queries may hold anything; the application logs its own line
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        timeout_graceful_shutdown=max(1, round(settings.time_limit)),
    )
    log_without_texts(quiet=quiet)
    with _signals_end_it():
        _Ready(config, lambda: say(ready)).run(sockets=[sock])


class _Ready(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config, say: Callable[[], Any]) -> None:
        super().__init__(config)
        self.say = say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.say()


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """uvicorn raises the signal once more when it has ended; by then there is nothing left to interrupt."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
