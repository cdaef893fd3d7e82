"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container. `pii-edu presidio config`: the file for who has one.

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --service analyzer --port 5002
    pii-edu presidio config > analyzer.yaml

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from ipaddress import ip_address
from pathlib import Path

from typer import Option, Typer

from ..errors import Errors, PiiError
from .common import MODEL, ModelOpt, guard, load_key, open_for_run, say, vault_key

EPILOG = "Exit codes: 0 ended by Ctrl+C; 2 refused, nothing was served; 3 stopped by an error."
SERVICES = ("both", "analyzer", "anonymizer")
# Requests that may wait or be at work; uvicorn answers 503 beyond.
MOST_REQUESTS = 34

presidio_app = Typer(help="For a deployment of Presidio.", no_args_is_help=True)


@presidio_app.command()
def config() -> None:
    """Print the one YAML file with which Presidio's AnalyzerEngineProvider, or its container, runs our pipeline."""
    from ..presidio.settings import config_path

    print(config_path().read_text("utf8"), end="")


def serve(
    *,
    host: str = Option(
        "127.0.0.1", help="Where to listen; this machine only, unless you say otherwise."
    ),
    port: int = Option(3000, envvar="PORT", min=0, max=65535, help="0 for any that is free."),
    service: str = Option("both", help="both, or one of Presidio's two: analyzer, anonymizer."),
    model: ModelOpt = MODEL,
    profile: str = Option("", help="For the operator hips: a name, or a TOML file."),
    key_file: str = Option("", help="Secret key of surrogates [environment variable PII_EDU_KEY]."),
    vault: str = Option("", help="Encrypted file that gets the way back, for /deanonymize."),
    vault_key_file: str = Option("", help="Key file of the vault [PII_EDU_VAULT_KEY, --key-file]."),
    return_cited: bool = Option(
        False, "--return-cited", help="Return cited people too, as CITED_PERSON."
    ),
    analyzer_conf_file: str = Option(
        "", envvar="ANALYZER_CONF_FILE", help="Presidio's analyzer YAML, instead of --model."
    ),
    recognizers: str = Option(
        "", envvar="RECOGNIZER_REGISTRY_CONF_FILE", help="Presidio's list of recognizers."
    ),
    max_bytes: int = Option(1_000_000, min=1, help="Longest body of a request; beyond it: 413."),
    time_limit: float = Option(
        60.0, min=0.001, help="Seconds that a request may take; beyond it: 504."
    ),
    allow_host: list[str] | None = Option(
        None, help="Another name that a Host header may have; may be repeated."
    ),
    debug: bool = Option(False, "--debug", help="Raise unexpected errors with their traceback."),
) -> None:
    """Answer Presidio's REST API (/analyze, /anonymize, /deanonymize, ...) on this machine, until Ctrl+C.

    There is no password: whoever reaches the port is answered. No text is logged.
    """
    with guard(debug):
        if service not in SERVICES:
            raise PiiError(Errors.E519, value=service, what="service", allowed=", ".join(SERVICES))
        if vault and service == "analyzer":
            raise PiiError(Errors.E473, option="--vault", needed="--service both or anonymizer")
        if vault_key_file and not vault:
            raise PiiError(Errors.E473, option="--vault-key-file", needed="--vault")
        key = load_key(key_file)
        try:
            import uvicorn

            from ..presidio import serve as rest
        except ImportError as err:
            raise PiiError(
                Errors.E005, package=err.name, what="pii-edu serve", extra="serve"
            ) from err
        names = rest.ServeSettings.model_fields["allowed_hosts"].default
        settings = rest.ServeSettings(
            service=service,  # type: ignore[arg-type]  # checked above
            model=model,
            config=analyzer_conf_file,
            recognizers=recognizers,
            return_cited=return_cited,
            profile=profile,
            max_bytes=max_bytes,
            time_limit=time_limit,
            allowed_hosts=",".join([names, *(allow_host or ())]) if _is_loopback(host) else "*",
        )
        if service != "analyzer" and not key.kept:
            say(key.note)
        if not _is_loopback(host):
            say(
                "listening beyond this machine, without a password or encryption: put both before it"
            )
        book = None
        if vault:
            place, options = Path(vault), ("--vault-key-file", "--vault-passphrase")
            known = place if place.exists() else None
            book = open_for_run(
                place, vault_key(known, key_file=vault_key_file, shared=key, names=options)
            )
        rest.log_without_texts()
        services = rest.build_services(settings, key=key.secret, vault=book)
        # Says where it listens, when it does, and ends with SIGINT or SIGTERM.
        uvicorn.run(
            rest.create_app(settings, services),
            host=host,
            port=port,
            server_header=False,
            proxy_headers=False,
            access_log=False,
            limit_concurrency=MOST_REQUESTS,
            timeout_graceful_shutdown=max(1, round(time_limit)),
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
