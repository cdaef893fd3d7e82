"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container. `pii-edu presidio config`: the file for who has one.

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --service analyzer --port 5002
    pii-edu presidio config > analyzer.yaml

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from pathlib import Path

from typer import Option, Typer

from ..errors import Errors, PiiError
from .common import MODEL, ModelOpt, guard, load_key, open_for_run, say, vault_key

EPILOG = "Exit codes: 0 ended by a signal; 2 refused, nothing was served; 3 stopped by an error."

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
    port: int = Option(3000, envvar="PORT", help="0 for any that is free."),
    service: str = Option("both", help="both, or one of Presidio's two: analyzer, anonymizer."),
    model: ModelOpt = MODEL,
    profile: str = Option("", help="For the operators hips and pseudonym: a name, or a TOML file."),
    key_file: str = Option("", help="Secret key of surrogates [environment variable PII_EDU_KEY]."),
    vault: str = Option("", help="Encrypted file that gets the way back, for /deanonymize."),
    vault_key_file: str = Option("", help="Key file of the vault [PII_EDU_VAULT_KEY, --key-file]."),
    return_cited: bool = Option(
        False, "--return-cited", help="Return cited people too, as CITED_PERSON."
    ),
    analyzer_conf_file: str = Option(
        "", envvar="ANALYZER_CONF_FILE", help="Presidio's analyzer YAML, instead of --model."
    ),
    nlp_conf_file: str = Option(
        "", envvar="NLP_CONF_FILE", help="Its NLP engine YAML, if that is not in it."
    ),
    recognizers: str = Option(
        "",
        envvar="RECOGNIZER_REGISTRY_CONF_FILE",
        help="Presidio's list of recognizers, with or without.",
    ),
    max_bytes: int = Option(1_000_000, help="Longest body of a request; beyond it: 413."),
    time_limit: float = Option(60.0, help="Seconds that a request may take; beyond it: 504."),
    max_waiting: int = Option(32, help="Requests that may wait in line; beyond it: 503."),
    batch_size: int = Option(16, help="Texts of a list that are processed together."),
    allow_host: list[str] | None = Option(
        None, help="Another name that a Host header may have; may be repeated."
    ),
    quiet: bool = Option(False, "--quiet", "-q", help="Log warnings and errors only."),
    debug: bool = Option(False, "--debug", help="Raise unexpected errors with their traceback."),
) -> None:
    """Answer Presidio's REST API (/analyze, /anonymize, /deanonymize, ...) on this machine, until Ctrl+C.

    There is no password: whoever reaches the port is answered. No text is logged.
    """
    with guard(debug):
        from ..presidio.serve.settings import ServeSettings, listen

        settings = ServeSettings(
            host=host,
            port=port,
            service=service,
            max_bytes=max_bytes,
            time_limit=time_limit,
            max_waiting=max_waiting,
            batch_size=batch_size,
            allowed_hosts=tuple(name.lower() for name in allow_host or ()),
        )
        if vault and not settings.anonymizer:
            raise PiiError(Errors.E473, option="--vault", needed="--service both or anonymizer")
        if vault_key_file and not vault:
            raise PiiError(Errors.E473, option="--vault-key-file", needed="--vault")
        key = load_key(key_file)
        with listen(settings) as sock:
            try:
                from ..presidio.serve.app import create_app
                from ..presidio.serve.run import Configuration, build_services
                from ..presidio.serve.run import serve as answer
            except ImportError as err:
                raise PiiError(
                    Errors.E005, package=err.name, what="pii-edu serve", extra="serve"
                ) from err
            if settings.anonymizer and not key.kept:
                say(key.note)
            if not settings.loopback:
                say(
                    "listening beyond this machine, without a password or encryption: put both before it"
                )
            files = Configuration(
                analyzer=analyzer_conf_file, nlp=nlp_conf_file, recognizers=recognizers
            )
            book = None
            if vault:
                place, names = Path(vault), ("--vault-key-file", "--vault-passphrase")
                known = place if place.exists() else None
                book = open_for_run(
                    place, vault_key(known, key_file=vault_key_file, shared=key, names=names)
                )
            services = build_services(
                settings,
                model=model,
                configuration=files,
                return_cited=return_cited,
                key=key.secret,
                profile=profile,
                vault=book,
            )
            with services as engines:
                answer(create_app(engines, settings), settings, sock, say=say, quiet=quiet)
