"""The commands of `pii-edu`: options, help, and errors as one coded line each."""

from collections.abc import Iterable
from functools import partial
from importlib import metadata, resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text
from typer import Argument, Option

from .. import __version__
from ..files.record import Record, Skip
from ..files.writers import replace_file
from ..labels import DETAIL_LABELS, LABELS
from ..presidio.settings import config_path
from ..profiles import KEEP, Profile, shipped_profiles
from ..release.engine import load_engine
from . import (
    common,
    corpus,
    deidentify,
    detect,
    evaluate,
    llm,
    reidentify,
    release,
    review,
    serve,
    train,
)
from .settings import MODEL, RunSettings, read_settings, run_file

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
def options(
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
    given = {name for name, value in {"quiet": quiet, "debug": debug}.items() if value}
    reset = partial(common.GLOBAL_OPTIONS.reset, common.GLOBAL_OPTIONS.set(frozenset(given)))
    context.call_on_close(reset)


app.command("release", epilog=release.EPILOG)(release.release)
app.command("deidentify", epilog=deidentify.EPILOG)(deidentify.deidentify)
app.command("detect", epilog=detect.EPILOG)(detect.detect)
app.command("review", epilog=review.EPILOG)(review.review)
app.command("reidentify", epilog=reidentify.EPILOG)(reidentify.reidentify)
app.command("audit")(review.audit)


@app.command()
def demo(*, config: common.ConfigOpt = None) -> None:
    """Show an essay before and after, in colours; --config profile=ets for another profile. Everyone in it is invented."""
    with common.guard():
        place = resources.files("pii_components") / "resources" / "demo" / "essay.txt"
        text = place.read_text(encoding="utf-8").rstrip("\n")
        settings = read_settings(RunSettings, config)
        how: dict[str, Any] = {"profile": settings.profile, "code": settings.code}
        engine = load_engine(settings.model, key=DEMO_KEY, **how)
        result = engine.results([Record(1, "demo", text)])[0]
        if isinstance(result, Skip):
            raise result.error
        screen = common.console()
        found = ((span.start_char, span.end_char, span.label) for span in result.spans)
        screen.print(Panel(_coloured(text, found), title="before"))
        after = _coloured(result.text, result.surrogates)
        screen.print(Panel(after, title=f"after, profile {engine.profile.name}"))
        shown = (*LABELS[:5], *DETAIL_LABELS[:1])
        legend = Text("  ").join(Text(f" {label} ", common.style_of(label)) for label in shown)
        screen.print(legend.append("  and other details"))
        screen.print(detect.spans_table("what was found, and why", result.spans, text))


def _coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(common.style_of(label), start, end)
    return shown


@app.command()
def init(
    *,
    path: Annotated[str, Argument(metavar="FILE", help="The new file; its suffix says which.")] = (
        "run.toml"
    ),
) -> None:
    """Write a file of settings: a run file (.toml), every setting of deidentify with a comment; or Presidio's analyzer file (.yaml)."""
    with common.guard():
        is_yaml = Path(path).suffix.lower() in (".yaml", ".yml")
        common.check_free(Path(path))
        replace_file(Path(path), config_path().read_text("utf8") if is_yaml else run_file())
        use = "the one YAML file that Presidio's AnalyzerEngineProvider, or its container, needs"
        use = use if is_yaml else f"use it with: pii-edu deidentify INPUT --config {path}"
        print(f"wrote '{path}'; {use}")


@app.command()
def keygen(
    *, path: Annotated[str, Argument(metavar="FILE", help="New file, which only you can read.")]
) -> None:
    """Make a secret key for --key-file. Keep it apart from the texts: with it, surrogates can be made again."""
    with common.guard():
        common.write_key(Path(path))
        print(f"wrote '{path}'")


app.add_typer(reidentify.vault_app, name="vault")


@app.command()
def profiles() -> None:
    """List the profiles, and what each does with each label."""
    with common.guard():
        shipped = [Profile.load(name) for name in shipped_profiles()]
        screen = common.console()
        for profile in shipped:
            screen.print(f"{profile.name}: {profile.description}", markup=False)
        rows = []
        for label in LABELS:
            actions = [profile.action(label) for profile in shipped]
            cells = (Text(action, "dim" if action == KEEP else "bold") for action in actions)
            rows.append([label, *cells])
        names = (profile.name for profile in shipped)
        title = "What each profile does with each label"
        screen.print(common.table_of(rows, "label", *names, title=title))


app.command("init-train", epilog=train.EPILOG)(train.init_train)
app.add_typer(corpus.corpus_app, name="corpus")
app.add_typer(evaluate.evaluate_app, name="evaluate")
app.add_typer(llm.llm_app, name="llm")
app.command("serve", epilog=serve.EPILOG)(serve.serve)
