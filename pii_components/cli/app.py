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
from ..files.record import Record, Skip
from ..labels import DETAIL_LABELS, LABELS
from ..profiles import Profile, shipped_profiles
from ..release.engine import KEEP, load_engine
from .audit import audit
from .common import (
    MODEL,
    OTHER_STYLE,
    STYLES,
    DebugOpt,
    ModelOpt,
    console,
    guard,
    table_of,
    write_key,
)
from .corpus import corpus_app
from .deidentify import EPILOG, PROFILE_HELP, deidentify
from .detect import detect, spans_table
from .evaluate import EPILOG as COMPARE_EPILOG
from .evaluate import compare, evaluate_app
from .llm import llm_app
from .reidentify import EPILOG as REIDENTIFY_EPILOG
from .reidentify import reidentify, vault_app
from .review import EPILOG as REVIEW_EPILOG
from .review import review
from .serve import EPILOG as SERVE_EPILOG
from .serve import presidio_app, serve

# Everyone may know what the people in our own essay become.
DEMO_KEY = b"everyone may know this key"

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
app.add_typer(llm_app, name="llm")
app.add_typer(presidio_app, name="presidio")
app.command("serve", epilog=SERVE_EPILOG)(serve)
app.command("deidentify", epilog=EPILOG)(deidentify)
app.command("review", epilog=REVIEW_EPILOG)(review)
app.command("detect", epilog=EPILOG)(detect)
app.command("audit")(audit)


def _version(value: bool) -> None:
    if value:
        print(f"pii-edu {__version__}")
        raise typer.Exit


@app.callback()
def common(
    *,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of all commands."""


@app.command()
def demo(
    *,
    profile: Annotated[str, Option(help=PROFILE_HELP)] = "crapii",
    model: ModelOpt = MODEL,
    debug: DebugOpt = False,
) -> None:
    """Show an essay before and after, in colours. Everyone in it is invented."""
    with guard(debug):
        text = (
            (resources.files("pii_components") / "resources" / "demo" / "essay.txt")
            .read_text(encoding="utf-8")
            .rstrip("\n")
        )
        engine = load_engine(model, profile=profile, key=DEMO_KEY, debug=debug)
        result = engine.results([Record(1, "demo", text)])[0]
        if isinstance(result, Skip):
            raise result.error
        screen = console()
        before = _coloured(
            text, ((span.start_char, span.end_char, span.label) for span in result.spans)
        )
        screen.print(Panel(before, title="before"))
        screen.print(
            Panel(
                _coloured(result.text, result.surrogates),
                title=f"after, profile {engine.profile.name}",
            )
        )
        legend = Text("  ").join(
            Text(f" {label} ", STYLES[label]) for label in (*LABELS[:5], *DETAIL_LABELS[:1])
        )
        screen.print(legend.append("  and other details"))
        screen.print(spans_table("what was found, and why", result.spans, text))


def _coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(STYLES.get(label, OTHER_STYLE), start, end)
    return shown


@app.command()
def profiles() -> None:
    """List the profiles, and what each does with each label."""
    with guard():
        shipped = [Profile.load(name) for name in shipped_profiles()]
        screen = console()
        for profile in shipped:
            screen.print(f"{profile.name}: {profile.description}", markup=False)
        actions = {label: [profile.action(label) for profile in shipped] for label in LABELS}
        rows = (
            [label, *(Text(act, "dim" if act == KEEP else "bold") for act in some)]
            for label, some in actions.items()
        )
        names = (profile.name for profile in shipped)
        screen.print(
            table_of(rows, "label", *names, title="What each profile does with each label")
        )


@app.command()
def keygen(
    *, path: Annotated[str, Argument(metavar="FILE", help="New file, which only you can read.")]
) -> None:
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
