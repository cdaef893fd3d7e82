"""The commands of `pii-edu`: options, help, and errors as one coded line each."""

from importlib import metadata, resources
from pathlib import Path
from typing import Annotated

import typer

from ..about import __version__
from ..errors import Errors, PiiError
from ..files.labelled import FORMS
from ..files.record import Record, Skip
from ..profiles import Profile, shipped_profiles
from ..release.engine import load_engine
from . import deidentify as deidentifying
from . import detect as detecting
from .common import DEMO_KEY, before_and_after, coloured, console, guard, load_key, profiles_table, spans_table, write_key
from .corpus import corpus_app
from .evaluate import EPILOG as COMPARE_EPILOG
from .evaluate import compare, evaluate_app
from .reidentify import EPILOG as REIDENTIFY_EPILOG
from .reidentify import reidentify, vault_app
from .serve import EPILOG as SERVE_EPILOG
from .serve import serve

MODEL = "en_pii_edu"
SCOPES = ("document", "corpus")
EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "3 stopped before the end, what was done stays; 130 interrupted, what was done stays."
)

app = typer.Typer(
    name="pii-edu",
    help="Find personal information in student writing, and hide it in plain sight. Lowers the risk; does not make anonymous.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(corpus_app, name="corpus")
app.add_typer(vault_app, name="vault")
app.command("reidentify", epilog=REIDENTIFY_EPILOG)(reidentify)
app.add_typer(evaluate_app, name="evaluate")
app.command("compare", epilog=COMPARE_EPILOG)(compare)
app.command("serve", epilog=SERVE_EPILOG)(serve)

LABEL_FORMS = ", ".join(form.name for form in FORMS.values() if form.writer)
INPUT_HELP = "A .txt, .csv, .tsv, .jsonl or .json file, a folder of .txt, or - for standard input."
PROFILE_HELP = "What happens to each label: crapii, ets, tags_only, ferpa_strict, or a TOML file."
TEXT_HELP = "Column or field of the text [found where it has a usual name]."
ID_HELP = "Column or field that names a document; detect shows it."
KEY_HELP = "Secret key (see keygen): same key, same surrogates [environment variable PII_EDU_KEY]."
InputArg = Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP)]
ModelOpt = Annotated[str, typer.Option("--model", help="Name or path of the pipeline.")]
ProfileOpt = Annotated[str, typer.Option("--profile", help=PROFILE_HELP)]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help=TEXT_HELP)]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help=ID_HELP)]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of INPUT; a byte order mark is seen without it.")]
BatchOpt = Annotated[int, typer.Option("--batch-size", min=1, help="Texts that are processed together.")]
StrictOpt = Annotated[bool, typer.Option("--strict", help="Stop at the first record that cannot be processed.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUTPUT that exists.")]
ResumeOpt = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run; needs the same key and settings.")]
DropOpt = Annotated[list[str] | None, typer.Option("--drop", help="Leave this column or field out of OUTPUT; may be repeated.")]
ScopeOpt = Annotated[
    str, typer.Option("--scope", help="Same value, same surrogate: in a document, or in the corpus [profile].")
]
ReportOpt = Annotated[
    str, typer.Option("--report", help="Where the report goes [report.json beside OUTPUT, or in its folder].")
]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]
OutOpt = Annotated[
    str, typer.Option("--out", "-o", help="OUTPUT, in the form of INPUT [./<INPUT>.deidentified; stdout for -].")
]
VaultOpt = Annotated[
    str, typer.Option("--vault", help="Encrypted file that gets the way back (see reidentify); made, or added to.")
]
DeidVaultKeyOpt = Annotated[
    str,
    typer.Option("--vault-key-file", help="Key file of the vault [PII_EDU_VAULT_KEY, PII_EDU_VAULT_PASSPHRASE, --key-file]."),
]
DeidPassphraseOpt = Annotated[bool, typer.Option("--vault-passphrase", help="Ask for a passphrase that locks the vault.")]
LabelsOutOpt = Annotated[
    str, typer.Option("--labels-out", help="Write the new texts with their labels too, to train on; form by suffix.")
]
SweepOpt = Annotated[
    str,
    typer.Option(
        "--sweep",
        help="Surnames hidden in one text and in clear in another: report lists places, hide hides them (reads INPUT twice), off.",
    ),
]
LabelsToOpt = Annotated[str, typer.Option("--labels-to", help=f"Form of --labels-out: {LABEL_FORMS}.")]
SpansOpt = Annotated[str, typer.Option("--out", "-o", help="Write spans as JSON Lines to this file instead of showing tables.")]


def _version(value: bool) -> None:
    if value:
        print(f"pii-edu {__version__}")
        raise typer.Exit


@app.callback()
def common(
    *, version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False
) -> None:
    """Options of all commands."""


@app.command(epilog=EPILOG)
def deidentify(
    *,
    source: InputArg,
    out: OutOpt = "",
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    drop: DropOpt = None,
    encoding: EncodingOpt = "utf-8",
    profile: ProfileOpt = "crapii",
    scope: ScopeOpt = "",
    key_file: Annotated[str, typer.Option("--key-file", help=KEY_HELP)] = "",
    model: ModelOpt = MODEL,
    batch_size: BatchOpt = 16,
    report: ReportOpt = "",
    strict: StrictOpt = False,
    resume: ResumeOpt = False,
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
    vault: VaultOpt = "",
    vault_key_file: DeidVaultKeyOpt = "",
    vault_passphrase: DeidPassphraseOpt = False,
    labels_out: LabelsOutOpt = "",
    labels_to: LabelsToOpt = "",
    sweep: SweepOpt = "report",
) -> None:
    """Replace personal information in INPUT; write OUTPUT and report.json.

    Other columns and fields pass through unchanged: leave out with --drop those that name people. A record that is skipped is
    not in OUTPUT.
    """
    with guard(debug):
        if scope not in ("", *SCOPES):
            raise PiiError(Errors.E519, value=scope, what="scope", allowed=", ".join(SCOPES))
        if sweep not in deidentifying.SWEEPS:
            raise PiiError(Errors.E519, value=sweep, what="sweep", allowed=", ".join(deidentifying.SWEEPS))
        options = deidentifying.Options(
            source=source,
            out=out,
            text_field=text_field,
            id_field=id_field,
            drop=tuple(drop or ()),
            encoding=encoding,
            profile=profile,
            scope=scope,
            model=model,
            batch_size=batch_size,
            report=report,
            strict=strict,
            resume=resume,
            overwrite=overwrite,
            quiet=quiet,
            debug=debug,
            vault=vault,
            vault_key_file=vault_key_file,
            vault_passphrase=vault_passphrase,
            labels_out=labels_out,
            labels_to=labels_to,
            sweep=sweep,
        )
        code = deidentifying.deidentify(options, load_key(key_file), console(stderr=True))
    raise typer.Exit(code)


@app.command(epilog=EPILOG)
def detect(
    *,
    source: InputArg,
    out: SpansOpt = "",
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    encoding: EncodingOpt = "utf-8",
    show_text: Annotated[bool, typer.Option("--show-text", help="Show the text of each span too.")] = False,
    model: ModelOpt = MODEL,
    batch_size: BatchOpt = 16,
    strict: StrictOpt = False,
    overwrite: OverwriteOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Show or write what is found in INPUT: offsets (characters, end exclusive), label, role, score, source, reason."""
    with guard(debug):
        options = detecting.Options(
            source=source,
            out=out,
            text_field=text_field,
            id_field=id_field,
            encoding=encoding,
            show_text=show_text,
            model=model,
            batch_size=batch_size,
            strict=strict,
            overwrite=overwrite,
            debug=debug,
        )
        code = detecting.detect(options, console(), console(stderr=True))
    raise typer.Exit(code)


@app.command()
def demo(*, profile: ProfileOpt = "crapii", model: ModelOpt = MODEL, debug: DebugOpt = False) -> None:
    """Show an essay before and after, in colours. Everyone in it is invented."""
    with guard(debug):
        text = (resources.files("pii_components") / "resources" / "demo" / "essay.txt").read_text(encoding="utf-8").rstrip("\n")
        engine = load_engine(model, profile=profile, key=DEMO_KEY, debug=debug)
        result = engine.results([Record(1, "demo", text)])[0]
        if isinstance(result, Skip):
            raise result.error
        screen = console()
        before = coloured(text, ((span.start_char, span.end_char, span.label) for span in result.spans))
        for part in before_and_after(before, coloured(result.text, result.surrogates), engine.profile.name):
            screen.print(part)
        screen.print(spans_table("what was found, and why", result.spans, text))


@app.command()
def profiles() -> None:
    """List the profiles, and what each does with each label."""
    with guard():
        shipped = [Profile.load(name) for name in shipped_profiles()]
        screen = console()
        for profile in shipped:
            screen.print(f"{profile.name}: {profile.description}", markup=False)
        screen.print(profiles_table(shipped))


@app.command()
def keygen(*, path: Annotated[str, typer.Argument(metavar="FILE", help="New file, which only you can read.")]) -> None:
    """Make a secret key for --key-file. Keep it apart from the texts: with it, surrogates can be made again."""
    with guard():
        write_key(Path(path))
        print(f"wrote '{path}'")


@app.command()
def version() -> None:
    """Show the versions of pii-edu, of spaCy and of the installed pipeline."""
    print(f"pii-edu {__version__}")
    for package in ("spacy", MODEL):
        try:
            print(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"{package} is not installed")
