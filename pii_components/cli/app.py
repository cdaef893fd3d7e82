"""The commands of `pii-edu`: options, help, and errors as one coded line each.

A command's module is imported when the command is asked for, so that short commands and `pii-edu --help` are fast.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup
from typer.main import get_group

from .. import __version__
from . import common

# Command -> its module, and what `pii-edu --help` says of it.
COMMANDS = {
    "release": (
        "release",
        "Go the whole way to a release: choose, rehearse, de-identify, review, release as decided, estimate.",
    ),
    "deidentify": (
        "deidentify",
        "Replace personal information in INPUT; write OUTPUT and report.json.",
    ),
    "detect": (
        "detect",
        "Show or write what is found in INPUT.",
    ),
    "review": (
        "review",
        "Open a page to review a run.",
    ),
    "reidentify": ("reidentify", "Put the originals back into RELEASED."),
    "audit": ("review", "Estimate what a release leaks from documents that somebody has read."),
    "demo": ("detect", "Show an essay before and after, in colours."),
    "init": (
        "app",
        "Write a run file (.toml), or Presidio's analyzer file (.yaml).",
    ),
    "keygen": ("app", "Make a secret key for --key-file."),
    "profiles": ("app", "List the profiles, and what each does with each label."),
    "serve": ("serve", "Answer Presidio's REST API."),
    "vault": ("reidentify", "Care of the encrypted way back: info, verify, rotate."),
    "init-train": ("train", "Make a project that trains the pipeline on your own labelled essays."),
    "corpus": ("corpus", "Read, write and make labelled corpora."),
    "evaluate": ("evaluate", "Measure detection, and reproduce the published tables."),
    "llm": ("llm", "Language models: estimate their cost, write files to fine-tune them."),
}


class Commands(Mapping[str, Any]):
    """The commands by name, each made when it is asked for, from a function of its name in its module, or from `<name>_app`."""

    def __getitem__(self, name: str) -> Any:
        place, called = COMMANDS[name][0], name.replace("-", "_")
        module, made = import_module(f".{place}", __package__), typer.Typer(rich_markup_mode=None)
        group = getattr(module, f"{called}_app", None)
        if group is not None:
            made.add_typer(group, name=name)
        else:
            is_main = place in (name, name.removeprefix("init-"))
            epilog = getattr(module, "EPILOG", None) if is_main else None
            made.command(name, epilog=epilog)(getattr(module, called))
        return get_group(made).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """`pii-edu`, which lists its commands without making them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


app = typer.Typer(
    name="pii-edu",
    cls=LazyGroup,
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
    from importlib import metadata

    from .settings import MODEL

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


def init(
    *,
    path: Annotated[str, Argument(metavar="FILE", help="The new file; its suffix says which.")] = (
        "run.toml"
    ),
) -> None:
    """Write a run file (.toml), or Presidio's analyzer file (.yaml). The run file has every setting of deidentify, with a comment."""
    from ..files.writers import replace_file

    with common.guard():
        common.check_free(Path(path))
        if Path(path).suffix.lower() in (".yaml", ".yml"):
            from ..presidio.settings import config_path

            content = config_path().read_text("utf8")
            use = (
                "the one YAML file that Presidio's AnalyzerEngineProvider, or its container, needs"
            )
        else:
            from .settings import run_file

            content, use = run_file(), f"use it with: pii-edu deidentify INPUT --config {path}"
        replace_file(Path(path), content)
        print(f"wrote '{path}'; {use}")


def keygen(
    *, path: Annotated[str, Argument(metavar="FILE", help="New file, which only you can read.")]
) -> None:
    """Make a secret key for --key-file. Keep it apart from the texts: with it, surrogates can be made again."""
    with common.guard():
        common.write_key(Path(path))
        print(f"wrote '{path}'")


def profiles() -> None:
    """List the profiles, and what each does with each label."""
    from rich.text import Text

    from ..labels import LABELS
    from ..profiles import KEEP, Profile, shipped_profiles

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
