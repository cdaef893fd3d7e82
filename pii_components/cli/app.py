"""The commands of `pii-edu`: options, help, and errors as one coded line each."""

from collections.abc import Iterable
from importlib import metadata, resources
from pathlib import Path
from typing import Annotated

import typer
from rich.panel import Panel
from rich.text import Text
from typer import Argument, Option

from .. import __version__
from ..errors import Errors, PiiError
from ..files.record import Record, Skip
from ..files.writers import replace_file
from ..labels import DETAIL_LABELS, LABELS
from ..profiles import Profile, shipped_profiles
from ..release.engine import KEEP, load_engine
from .audit import audit
from .common import (
    GLOBAL_OPTIONS,
    OTHER_STYLE,
    STYLES,
    ConfigOpt,
    console,
    guard,
    table_of,
    write_key,
)
from .corpus import corpus_app
from .deidentify import EPILOG, PROFILE_HELP, deidentify
from .deprecated import TranslatingGroup
from .detect import EPILOG as DETECT_EPILOG
from .detect import detect, spans_table
from .evaluate import evaluate_app
from .llm import llm_app
from .reidentify import EPILOG as REIDENTIFY_EPILOG
from .reidentify import reidentify, vault_app
from .review import EPILOG as REVIEW_EPILOG
from .review import review
from .serve import EPILOG as SERVE_EPILOG
from .serve import presidio_app, serve
from .settings import MODEL, RunSettings, read_settings, run_file

# Everyone may know what the people in our own essay become.
DEMO_KEY = b"everyone may know this key"

app = typer.Typer(
    name="pii-edu",
    cls=TranslatingGroup,
    help="Find personal information in student writing, and hide it in plain sight. Lowers the risk; does not make anonymous.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(value: bool) -> None:
    """Print the versions of pii-edu, of spaCy and of the installed pipeline, and leave."""
    if not value:
        return
    print(f"pii-edu {__version__}")
    for package in ("spacy", MODEL):
        try:
            print(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"{package} is not installed")
    raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        Option("--version", callback=_version, is_eager=True, help="Show versions, and leave."),
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print errors only.")] = False,
    debug: Annotated[
        bool,
        Option(
            "--debug",
            envvar="PII_EDU_DEBUG",
            help="Raise unexpected errors with their traceback, which may show text.",
        ),
    ] = False,
) -> None:
    """Options of all commands."""
    given = {"quiet": quiet, "debug": debug}
    token = GLOBAL_OPTIONS.set(frozenset(name for name, value in given.items() if value))
    context.call_on_close(lambda: GLOBAL_OPTIONS.reset(token))


app.command("deidentify", epilog=EPILOG)(deidentify)
app.command("detect", epilog=DETECT_EPILOG)(detect)
app.command("review", epilog=REVIEW_EPILOG)(review)
app.command("reidentify", epilog=REIDENTIFY_EPILOG)(reidentify)
app.command("audit")(audit)


@app.command()
def demo(
    *, profile: Annotated[str, Option(help=PROFILE_HELP)] = "", config: ConfigOpt = None
) -> None:
    """Show an essay before and after, in colours. Everyone in it is invented."""
    with guard():
        place = resources.files("pii_components") / "resources" / "demo" / "essay.txt"
        text = place.read_text(encoding="utf-8").rstrip("\n")
        settings = read_settings(RunSettings, config, profile=profile)
        engine = load_engine(settings.model, profile=settings.profile, key=DEMO_KEY)
        result = engine.results([Record(1, "demo", text)])[0]
        if isinstance(result, Skip):
            raise result.error
        screen = console()
        found = ((span.start_char, span.end_char, span.label) for span in result.spans)
        screen.print(Panel(_coloured(text, found), title="before"))
        after = _coloured(result.text, result.surrogates)
        screen.print(Panel(after, title=f"after, profile {engine.profile.name}"))
        shown = (*LABELS[:5], *DETAIL_LABELS[:1])
        legend = Text("  ").join(Text(f" {label} ", STYLES[label]) for label in shown)
        screen.print(legend.append("  and other details"))
        screen.print(spans_table("what was found, and why", result.spans, text))


def _coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(STYLES.get(label, OTHER_STYLE), start, end)
    return shown


@app.command()
def init(
    *, path: Annotated[str, Argument(metavar="FILE", help="The new run file.")] = "run.toml"
) -> None:
    """Write a run file: every setting of deidentify at its default, each with a comment."""
    with guard():
        if Path(path).exists():
            raise PiiError(Errors.E510, what=f"'{path}'")
        replace_file(Path(path), run_file())
        print(f"wrote '{path}'; use it with: pii-edu deidentify INPUT --config {path}")


@app.command()
def keygen(
    *, path: Annotated[str, Argument(metavar="FILE", help="New file, which only you can read.")]
) -> None:
    """Make a secret key for --key-file. Keep it apart from the texts: with it, surrogates can be made again."""
    with guard():
        write_key(Path(path))
        print(f"wrote '{path}'")


app.add_typer(vault_app, name="vault")


@app.command()
def profiles() -> None:
    """List the profiles, and what each does with each label."""
    with guard():
        shipped = [Profile.load(name) for name in shipped_profiles()]
        screen = console()
        for profile in shipped:
            screen.print(f"{profile.name}: {profile.description}", markup=False)
        rows = []
        for label in LABELS:
            actions = [profile.action(label) for profile in shipped]
            cells = (Text(action, "dim" if action == KEEP else "bold") for action in actions)
            rows.append([label, *cells])
        names = (profile.name for profile in shipped)
        title = "What each profile does with each label"
        screen.print(table_of(rows, "label", *names, title=title))


app.add_typer(corpus_app, name="corpus")
app.add_typer(evaluate_app, name="evaluate")
app.add_typer(llm_app, name="llm")
app.add_typer(presidio_app, name="presidio")
app.command("serve", epilog=SERVE_EPILOG)(serve)
