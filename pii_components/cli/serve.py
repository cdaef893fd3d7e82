"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container. `pii-edu presidio config`: the file for who has one.

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --port 5002 --config service=analyzer
    pii-edu presidio config > analyzer.yaml

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from typer import Option, Typer

from ..errors import Errors, PiiError
from ..presidio.settings import CITED, MAX_BYTES, OMIT, TIME_LIMIT, ServeSettings, config_path
from .common import ConfigOpt, Key, guard, load_key, open_for_run, say, vault_key
from .settings import ABOVE_0, MODEL, Settings, key, need, read_settings

EPILOG = (
    "Settings for --config: service (both, analyzer or anonymizer), model, profile, vault, vault_key_file, cited, "
    "analyzer_conf_file, recognizers, ad_hoc, max_bytes, time_limit, allowed_hosts. "
    "Exit codes: 0 ended by Ctrl+C; 2 refused, nothing was served; 3 stopped by an error."
)

SERVICES = BOTH, ANALYZER, ANONYMIZER = ("both", "analyzer", "anonymizer")
# Requests that may wait or be at work; uvicorn answers 503 beyond.
MOST_REQUESTS = 34
# Seconds for the head of a request to arrive, and for what is at work when the server is asked to end.
HEAD_SECONDS, GRACE_SECONDS = 10, 10

presidio_app = Typer(help="For a deployment of Presidio.", no_args_is_help=True)


@presidio_app.command()
def config() -> None:
    """Print the one YAML file with which Presidio's AnalyzerEngineProvider, or its container, runs our pipeline."""
    print(config_path().read_text("utf8"), end="")


@presidio_app.callback()
def _group() -> None:
    """Keeps `config` a command of its own though it is the only one."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings(Settings):
    """What `pii-edu serve` is asked for; see `presidio.serve.ServeSettings`.

    profile (str): For the operator hips.
    vault, vault_key_file (str): Encrypted file that gets the way back, for /deanonymize, and its key.
    cited (str): Cited people: omit, own (as CITED_PERSON) or person.
    ad_hoc (bool): Whether a request may bring regular expressions.
    analyzer_conf_file (str): Presidio's analyzer YAML, instead of `model`.
    recognizers (str): Presidio's list of recognizers.
    max_bytes, time_limit: Longest body of a request, and seconds that it may take.
    allowed_hosts (tuple[str, ...]): Further names that a Host header may have.
    """

    host: str = key("127.0.0.1")
    port: int = key(3000)
    key_file: str = key("")
    service: str = key(BOTH, allowed=SERVICES)
    model: str = key(MODEL)
    profile: str = key("")
    vault: str = key("")
    vault_key_file: str = key("", needs="vault")
    cited: str = key(OMIT, allowed=CITED)
    ad_hoc: bool = key(True)
    analyzer_conf_file: str = key("")
    recognizers: str = key("")
    max_bytes: int = key(MAX_BYTES, limit=ABOVE_0)
    time_limit: float = key(TIME_LIMIT, limit=ABOVE_0)
    allowed_hosts: tuple[str, ...] = key(())

    def __post_init__(self) -> None:
        super().__post_init__()
        need(self.vault, "vault", self.service != ANALYZER, "service both or anonymizer")


def serve(
    *,
    host: str | None = Option(None, help="Where to listen [127.0.0.1: this machine only]."),
    port: int | None = Option(
        None, envvar="PORT", min=0, max=65535, help="0 for any that is free [3000]."
    ),
    key_file: str = Option("", help="Secret key of surrogates [environment variable PII_EDU_KEY]."),
    config: ConfigOpt = None,
) -> None:
    """Answer Presidio's REST API (/analyze, /anonymize, /deanonymize, ...) on this machine, until Ctrl+C.

    There is no password: whoever reaches the port is answered. No text is logged.
    """
    with guard():
        asked = read_settings(ServerSettings, config, host=host, port=port, key_file=key_file)
        _serve(asked, load_key(asked.key_file))


def _serve(asked: ServerSettings, secret: Key) -> None:
    try:
        import uvicorn

        from ..presidio import serve as rest
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=err.name, what="pii-edu serve", extra="presidio"
        ) from err
    names = (ServeSettings.model_fields["allowed_hosts"].default, *asked.allowed_hosts)
    settings = ServeSettings(
        service=asked.service or BOTH,  # type: ignore[arg-type]  # checked above
        model=asked.model,
        config=asked.analyzer_conf_file,
        recognizers=asked.recognizers,
        cited=asked.cited or OMIT,
        ad_hoc=asked.ad_hoc,
        profile=asked.profile,
        max_bytes=asked.max_bytes,
        time_limit=asked.time_limit,
        allowed_hosts=",".join(names) if _is_loopback(asked.host) else "*",
    )
    if asked.service != ANALYZER and not secret.kept:
        say(secret.note)
    if not _is_loopback(asked.host):
        say("listening beyond this machine, without a password or encryption: put both before it")
    worker = rest.Worker(
        rest.work, settings, secret.secret, _vault(asked, secret), limit=settings.time_limit
    )
    # Says where it listens, when it does, and ends with SIGINT or SIGTERM.
    uvicorn.run(
        rest.create_app(settings, worker),
        host=asked.host,
        port=asked.port,
        http=_impatient(),
        server_header=False,
        proxy_headers=False,
        access_log=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _impatient() -> Any:
    """RETURNS (type): uvicorn's protocol. It closes a connection on which no whole head of a request arrives; uvicorn waits."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(HEAD_SECONDS, self.close_unless_asked, None)

        def on_response_complete(self) -> None:
            self.loop.call_later(HEAD_SECONDS, self.close_unless_asked, self.cycle)
            super().on_response_complete()

        def close_unless_asked(self, last: Any) -> None:
            if self.cycle is last:
                self.transport.close()

    return Impatient


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _vault(asked: ServerSettings, secret: Key) -> tuple[Path, bytes, str] | None:
    """RETURNS (tuple | None): File, secret and kind of the vault, which has been opened once: the process that writes it opens it
    anew."""
    if not asked.vault:
        return None
    place = Path(asked.vault)
    known = place if place.exists() else None
    locked = vault_key(known, key_file=asked.vault_key_file, shared=secret)
    open_for_run(place, locked).close()
    return place.resolve(), locked.secret, locked.kind
