"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container. `pii-edu presidio config`: the file for who has one.

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --port 5002 --config service=analyzer
    pii-edu presidio config > analyzer.yaml

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer import Option, Typer

from ..errors import Errors, PiiError
from ..vault.vault import Vault
from .common import ConfigOpt, Key, global_option, guard, load_key, open_for_run, say, vault_key
from .settings import MODEL, key, need, read_settings

EPILOG = (
    "Settings for --config: service (both, analyzer or anonymizer), model, profile, vault, vault_key_file, return_cited, "
    "analyzer_conf_file, nlp_conf_file, recognizers, max_bytes, time_limit, max_waiting, batch_size, allowed_hosts. "
    "Exit codes: 0 ended by a signal; 2 refused, nothing was served; 3 stopped by an error."
)

presidio_app = Typer(help="For a deployment of Presidio.", no_args_is_help=True)


@presidio_app.command()
def config() -> None:
    """Print the one YAML file with which Presidio's AnalyzerEngineProvider, or its container, runs our pipeline."""
    from ..presidio.settings import config_path

    print(config_path().read_text("utf8"), end="")


@presidio_app.callback()
def _group() -> None:
    """Keeps `config` a command of its own though it is the only one."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What `pii-edu serve` is asked for; see `presidio.serve.settings.ServeSettings` for limits.

    profile (str): For the operators hips and pseudonym.
    vault, vault_key_file (str): Encrypted file that gets the way back, for /deanonymize, and its key.
    return_cited (bool): Whether cited people are returned too, as CITED_PERSON.
    analyzer_conf_file, nlp_conf_file, recognizers (str): YAML files of Presidio, instead of `model`.
    """

    host: str = key("127.0.0.1")
    port: int = key(3000)
    key_file: str = key("")
    service: str = key("both")
    model: str = key(MODEL)
    profile: str = key("")
    vault: str = key("")
    vault_key_file: str = key("")
    return_cited: bool = key(False)
    analyzer_conf_file: str = key("")
    nlp_conf_file: str = key("")
    recognizers: str = key("")
    max_bytes: int = key(1_000_000)
    time_limit: float = key(60.0)
    max_waiting: int = key(32)
    batch_size: int = key(16)
    allowed_hosts: tuple[str, ...] = key(())

    def __post_init__(self) -> None:
        need(self.vault, "vault", self.service != "analyzer", "service both or anonymizer")
        need(self.vault_key_file, "vault_key_file", self.vault, "vault")


def serve(
    *,
    host: str | None = Option(None, help="Where to listen [127.0.0.1: this machine only]."),
    port: int | None = Option(None, envvar="PORT", help="0 for any that is free [3000]."),
    key_file: str = Option("", help="Secret key of surrogates [environment variable PII_EDU_KEY]."),
    config: ConfigOpt = None,
) -> None:
    """Answer Presidio's REST API (/analyze, /anonymize, /deanonymize, ...) on this machine, until Ctrl+C.

    There is no password: whoever reaches the port is answered. No text is logged.
    """
    with guard():
        from ..presidio.serve.settings import ServeSettings, listen

        asked = read_settings(ServerSettings, config, host=host, port=port, key_file=key_file)
        settings = ServeSettings(
            host=asked.host,
            port=asked.port,
            service=asked.service,
            max_bytes=asked.max_bytes,
            time_limit=asked.time_limit,
            max_waiting=asked.max_waiting,
            batch_size=asked.batch_size,
            allowed_hosts=tuple(name.lower() for name in asked.allowed_hosts),
        )
        secret = load_key(asked.key_file)
        with listen(settings) as sock:
            _answer(asked, settings, secret, sock)


def _answer(asked: ServerSettings, settings: Any, secret: Key, sock: Any) -> None:
    try:
        from ..presidio.serve.app import create_app
        from ..presidio.serve.run import Configuration, build_services
        from ..presidio.serve.run import serve as answer
    except ImportError as err:
        raise PiiError(
            Errors.E005, package=err.name, what="pii-edu serve", extra="presidio"
        ) from err
    if settings.anonymizer and not secret.kept:
        say(secret.note)
    if not settings.loopback:
        say("listening beyond this machine, without a password or encryption: put both before it")
    files = Configuration(
        analyzer=asked.analyzer_conf_file, nlp=asked.nlp_conf_file, recognizers=asked.recognizers
    )
    services = build_services(
        settings,
        model=asked.model,
        configuration=files,
        return_cited=asked.return_cited,
        key=secret.secret,
        profile=asked.profile,
        vault=_vault(asked, secret),
    )
    with services as engines:
        quiet = global_option("quiet")
        answer(create_app(engines, settings), settings, sock, say=say, quiet=quiet)


def _vault(asked: ServerSettings, secret: Key) -> Vault | None:
    if not asked.vault:
        return None
    place = Path(asked.vault)
    known = place if place.exists() else None
    return open_for_run(place, vault_key(known, key_file=asked.vault_key_file, shared=secret))
