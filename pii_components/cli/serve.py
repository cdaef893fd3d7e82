"""`pii-edu serve`: Presidio's REST API over our pipeline, for who has no container.

    pii-edu serve                                       # http://127.0.0.1:3000, this machine only
    pii-edu serve --service analyzer --port 5002

Nothing is imported before the options are read: FastAPI, uvicorn, Presidio and the pipeline are for this command alone.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, PiiError
from .common import console, guard, load_key, open_for_run, vault_key

if TYPE_CHECKING:
    from ..vault.vault import Vault

EPILOG = "Exit codes: 0 ended by a signal; 2 refused, nothing was served; 3 stopped by an error."
HostOpt = Annotated[str, typer.Option("--host", help="Where to listen; this machine only, unless you say otherwise.")]
PortOpt = Annotated[int, typer.Option("--port", envvar="PORT", help="0 for any that is free.")]
ServiceOpt = Annotated[str, typer.Option("--service", help="both, or one of Presidio's two: analyzer, anonymizer.")]
ModelOpt = Annotated[str, typer.Option("--model", help="Name or path of the pipeline.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help="For the operators hips and pseudonym: a name, or a TOML file.")]
KeyOpt = Annotated[str, typer.Option("--key-file", help="Secret key of surrogates [environment variable PII_EDU_KEY].")]
VaultOpt = Annotated[str, typer.Option("--vault", help="Encrypted file that gets the way back, for /deanonymize.")]
VaultKeyOpt = Annotated[str, typer.Option("--vault-key-file", help="Key file of the vault [PII_EDU_VAULT_KEY, --key-file].")]
CitedOpt = Annotated[bool, typer.Option("--return-cited", help="Return cited people too, as CITED_PERSON.")]
AnalyzerOpt = Annotated[
    str, typer.Option("--analyzer-conf-file", envvar="ANALYZER_CONF_FILE", help="Presidio's analyzer YAML, instead of --model.")
]
NlpOpt = Annotated[str, typer.Option("--nlp-conf-file", envvar="NLP_CONF_FILE", help="Its NLP engine YAML.")]
RecognizersOpt = Annotated[
    str,
    typer.Option(
        "--recognizers", envvar="RECOGNIZER_REGISTRY_CONF_FILE", help="Presidio's list of recognizers, with or without."
    ),
]
BytesOpt = Annotated[int, typer.Option("--max-bytes", help="Longest body of a request; beyond it: 413.")]
SecondsOpt = Annotated[float, typer.Option("--time-limit", help="Seconds that a request may take; beyond it: 504.")]
WaitingOpt = Annotated[int, typer.Option("--max-waiting", help="Requests that may wait in line; beyond it: 503.")]
BatchOpt = Annotated[int, typer.Option("--batch-size", help="Texts of a list that are processed together.")]
AllowOpt = Annotated[
    list[str] | None, typer.Option("--allow-host", help="Another name that a Host header may have; may be repeated.")
]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Log warnings and errors only.")]


def serve(
    *,
    host: HostOpt = "127.0.0.1",
    port: PortOpt = 3000,
    service: ServiceOpt = "both",
    model: ModelOpt = "en_pii_edu",
    profile: ProfileOpt = "",
    key_file: KeyOpt = "",
    vault: VaultOpt = "",
    vault_key_file: VaultKeyOpt = "",
    return_cited: CitedOpt = False,
    analyzer_conf_file: AnalyzerOpt = "",
    nlp_conf_file: NlpOpt = "",
    recognizers: RecognizersOpt = "",
    max_bytes: BytesOpt = 1_000_000,
    time_limit: SecondsOpt = 60.0,
    max_waiting: WaitingOpt = 32,
    batch_size: BatchOpt = 16,
    allow_host: AllowOpt = None,
    quiet: QuietOpt = False,
    debug: Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback.")] = False,
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
        say = partial(console(stderr=True).print, markup=False)
        key = load_key(key_file)
        with listen(settings) as sock:
            try:
                from ..presidio.serve.app import create_app
                from ..presidio.serve.run import Configuration, build_services
                from ..presidio.serve.run import serve as answer
            except ImportError as err:
                raise PiiError(Errors.E005, package=err.name, what="pii-edu serve", extra="serve") from err
            if settings.anonymizer and not key.kept:
                say(key.note)
            if not settings.loopback:
                say("listening beyond this machine, without a password or encryption: put both before it")
            files = Configuration(analyzer=analyzer_conf_file, nlp=nlp_conf_file, recognizers=recognizers)
            services = build_services(
                settings,
                model=model,
                configuration=files,
                return_cited=return_cited,
                key=key.secret,
                profile=profile,
                vault=_vault(vault, vault_key_file, key_file),
            )
            with services as engines:
                answer(create_app(engines, settings), settings, sock, say=say, quiet=quiet)


def _vault(path: str, vault_key_file: str, key_file: str) -> "Vault | None":
    if not path:
        return None
    say = partial(console(stderr=True).print, markup=False)
    secret = vault_key(
        Path(path) if Path(path).exists() else None,
        key_file=vault_key_file,
        shared=load_key(key_file),
        names=("--vault-key-file", "--vault-passphrase"),
    )
    return open_for_run(Path(path), secret, resume=False, say=say)
