"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container (`pii-edu init analyzer.yaml` is for who has one).

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --port 5002 --config service=analyzer

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from typer import Option

from ..errors import Errors, PiiError
from ..llm.models import is_local
from ..options import key, need, read_settings
from ..presidio.settings import ANALYZER, ServeSettings
from ..vault.vault import Vault
from .common import ConfigOpt, Key, guard, load_key, open_for_run, say, vault_key

EPILOG = (
    "Settings for --config: service (both, analyzer or anonymizer), model, profile, vault, vault_key_file, cited, "
    "analyzer_conf_file, recognizers, ad_hoc, max_bytes, batch_size, allowed_hosts. "
    "Exit codes: 0 ended by Ctrl+C; 2 refused, nothing was served; 3 stopped by an error."
)

# Requests that may wait or be at work; uvicorn answers 503 beyond.
MOST_REQUESTS = 34
# Seconds for what is at work when the server is asked to end.
GRACE_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class ServerSettings(ServeSettings):
    """What `pii-edu serve` is asked for.

    host (str): Where to listen; 127.0.0.1 is this machine only.
    port (int): 0 for any that is free.
    key_file (str): Secret key of surrogates, else PII_EDU_KEY.
    vault (str): Encrypted file that gets the way back, for /deanonymize.
    vault_key_file (str): Its key.
    """

    host: str = key("127.0.0.1")
    port: int = key(3000)
    key_file: str = key("")
    vault: str = key("")
    vault_key_file: str = key("", needs="vault")

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
    if asked.service != ANALYZER and not secret.kept:
        say(secret.note)
    if not is_local(asked.host):
        say("listening beyond this machine, without a password or encryption: put both before it")
        asked = replace(asked, allowed_hosts="*")
    # Says where it listens, when it does, and ends with SIGINT or SIGTERM.
    uvicorn.run(
        rest.create_app(asked, key=secret.secret, vault=_vault(asked, secret)),
        host=asked.host,
        port=asked.port,
        server_header=False,
        proxy_headers=False,
        access_log=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _vault(asked: ServerSettings, secret: Key) -> Vault | None:
    if not asked.vault:
        return None
    place = Path(asked.vault)
    known = place if place.exists() else None
    return open_for_run(place, vault_key(known, key_file=asked.vault_key_file, shared=secret))
