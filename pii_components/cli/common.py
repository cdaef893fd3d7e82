"""What the commands share: exit codes, options, how errors are shown, tables, keys, places."""

import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from typer import Option

from ..errors import Errors, PiiError, PiiWarning, writing
from ..labels import (
    DETAIL_LABELS,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
)
from ..surrogates.keys import KEY_ENV, key_fingerprint, random_key
from ..surrogates.keys import load_key as read_key
from ..vault.keys import KEY, PASSPHRASE, PASSPHRASE_ENV, VAULT_KEY_ENV, VaultKey

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    from ..files.record import Skip
    from ..vault.vault import Vault

# A script can tell whether the output is whole.
DONE = 0
DONE_WITH_SKIPS = 1
REFUSED = 2
STOPPED = 3
INTERRUPTED = 130

_SKIPS_SHOWN = 10

# Options of more than one command.
ConfigOpt = Annotated[
    list[str] | None,
    Option(
        "--config",
        metavar="FILE|KEY=VALUE",
        help="Run file (see pii-edu init), or one setting; may be repeated.",
    ),
]
TextsOpt = Annotated[
    list[str] | None,
    Option(
        "--text-column", help="Column or field of the text [a usual name is found]; repeatable."
    ),
]
RosterOpt = Annotated[
    str,
    Option(
        "--roster",
        metavar="CSV",
        help="Class list: names, e-mails, IDs by its header. Looked for in all texts; kept in memory only.",
    ),
]
OverwriteOpt = Annotated[bool, Option("--overwrite", help="Replace an output that exists.")]
_KEYS = f"[environment variables {VAULT_KEY_ENV}, {PASSPHRASE_ENV}, {KEY_ENV}]"
VaultKeyOpt = Annotated[str, Option("--key-file", help=f"Key file that opens the vault {_KEYS}.")]

STYLES = {
    NAME_STUDENT: "bold white on red",
    NAME_INSTRUCTOR: "black on yellow",
    NAME_CONNECTED: "black on bright_magenta",
    NAME_CITED: "black on green",
    NAME_CHARACTER: "black on cyan",
    **dict.fromkeys(DETAIL_LABELS, "white on blue"),
}


def style_of(label: str) -> str:
    """How a label looks on the terminal."""
    return STYLES.get(label, "reverse")


def console(*, stderr: bool = False) -> Console:
    """A console on the streams of the moment, 160 columns wide where there is no terminal. Signs that the terminal cannot show
    become escapes."""
    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    made = Console(file=stream, highlight=False, soft_wrap=stderr)
    return made if stderr or made.is_terminal else Console(file=stream, highlight=False, width=160)


def say(line: object, style: str | None = None) -> None:
    """Print a line on standard error as it is."""
    console(stderr=True).print(str(line), style=style, markup=False)


def table_of(
    rows: Iterable[Iterable[object]],
    *names: str,
    right: Iterable[str] = (),
    title: "str | Text | None" = None,
) -> "Table":
    """A table; numbers of the columns in `right` stand at their right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title)
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return table


class Skips(list["Skip"]):
    """Records that were left out; each is told to the user until there are too many. named (bool): With their IDs."""

    def __init__(
        self, tell: Callable[[str], None], *, strict: bool = False, named: bool = False
    ) -> None:
        super().__init__()
        self.tell, self.strict, self.named = tell, strict, named

    def __call__(self, skip: "Skip") -> None:
        if self.strict:
            raise PiiError(Errors.E532, skip=skip.error)
        self.append(skip)
        if len(self) <= _SKIPS_SHOWN:
            self.tell(f"{skip.error} ({skip.id})" if self.named and skip.id else str(skip.error))
        elif len(self) == _SKIPS_SHOWN + 1:
            self.tell("further skipped records are listed in the report")


# Options of `pii-edu` itself that were given: "debug", "quiet". Set for one call by the callback in app.py.
GLOBAL_OPTIONS: ContextVar[frozenset[str]] = ContextVar("global options", default=frozenset())


def global_option(name: str) -> bool:
    """Whether an option of `pii-edu` itself was given: "debug" or "quiet"."""
    return name in GLOBAL_OPTIONS.get()


def tell(line: object, style: str | None = None) -> None:
    """`say`, unless the user wants errors only."""
    if not global_option("quiet"):
        say(line, style)


@contextmanager
def guard(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong into one coded line and an exit code.

    debug (bool): Whether unexpected errors are raised, as after `pii-edu --debug`.
    """
    try:
        yield
    except PiiError as error:
        say(error)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        with suppress(OSError):
            sys.stdout.close()
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        if debug or global_option("debug") or isinstance(error, typer.Exit | typer.Abort):
            raise
        say(PiiError(Errors.E533, type=type(error).__name__))
        raise typer.Exit(STOPPED) from None


@dataclass(frozen=True, slots=True)
class Key:
    """The secret key of a run, never shown and never saved; and where it came from: "file", "environment" or "random"."""

    secret: bytes = field(repr=False)
    origin: str

    @property
    def kept(self) -> bool:
        """Whether the user has the key, so that a run can be taken up or repeated."""
        return self.origin != "random"

    @property
    def fingerprint(self) -> str:
        """Tells keys apart; empty for a key that is lost with the run."""
        return key_fingerprint(self.secret) if self.kept else ""

    @property
    def note(self) -> str:
        """What to tell the user of a key that was made for the run."""
        return (
            "no key was given, so one was made for this run and is not kept: surrogates cannot be made again, "
            "and the run cannot be taken up if it stops. "
            f"For that, use --key-file (see pii-edu keygen) or the environment variable {KEY_ENV}."
        )


def load_key(key_file: str = "") -> Key:
    """The key of the run: from its file, else from the environment, else made for this run alone.

    RAISES (PiiError): E401 or E402, if the key cannot be used.
    """
    with told():
        secret = read_key(path=key_file or None)
    if secret is None:
        return Key(random_key(), "random")
    return Key(secret, "file" if key_file else "environment")


def write_key(path: Path) -> None:
    """Write a new key that only its owner can read. RAISES (PiiError): E510, if the file exists; E512."""
    check_free(path)
    private = partial(os.open, mode=0o600)
    with writing(path), open(path, "x", encoding="ascii", opener=private) as file:
        file.write(secrets.token_hex(32) + "\n")


def vault_key(path: Path | None, *, key_file: str = "", shared: Key | None = None) -> VaultKey:
    """The secret of a vault.

    path (Path | None): The vault; None for one that is to be made.
    key_file (str): Its key file. Without it the environment is asked; then, if the vault has a passphrase, who sits
        at the terminal.
    shared (Key | None): The key of the run, which will do where there is no other.
    RAISES (PiiError): E464, if there is none; what the vault's header or the key raises.
    """
    from ..vault.vault import vault_kind

    if key_file:
        with told():
            return VaultKey.from_file(key_file)
    kind = vault_kind(path) if path is not None else ""
    key = VaultKey.from_env(kind=kind, shared=shared is None)
    if key is not None:
        return key
    if kind == PASSPHRASE and can_ask():
        return ask_passphrase()
    if shared is not None and shared.kept and kind != PASSPHRASE:
        return VaultKey(shared.secret, KEY, shared.origin)
    raise PiiError(
        Errors.E464, what="the vault", env=PASSPHRASE_ENV if kind == PASSPHRASE else VAULT_KEY_ENV
    )


def can_ask() -> bool:
    """Whether somebody sits at the terminal."""
    return sys.stdin.isatty()


def ask_passphrase(*, new: bool = False) -> VaultKey:
    """Ask for a passphrase, twice for a new one."""
    words = typer.prompt(
        "Passphrase of the vault", hide_input=True, confirmation_prompt=new, err=True
    )
    return VaultKey.from_passphrase(words, origin="passphrase")


def open_for_run(path: Path, key: VaultKey, *, resume: bool = False) -> "Vault":
    """The vault, open for writing; a new one where there is none, unless a run is taken up."""
    from ..vault.vault import Vault

    if not path.exists() and not resume:
        return Vault.create(path, key)
    with told():
        return Vault.open(path, key, write=True)


@contextmanager
def told() -> Iterator[None]:
    """Warnings of the vault become lines for the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PiiWarning)
        yield
    for warning in caught:
        say(str(warning.message))


def check_apart(what: str, path: Path, **others: Path | str | None) -> None:
    """Refuse a place that is one of the others, or lies in or around one. RAISES (PiiError): E472."""
    target = path.resolve()
    for name, other in others.items():
        if not other:
            continue
        place = Path(other).resolve()
        same = target.exists() and place.exists() and target.samefile(place)
        if same or target == place or place in target.parents or target in place.parents:
            raise PiiError(Errors.E472, what=what, other=name.upper())


def input_data(source: str) -> bytes | None:
    """What standard input gives, if INPUT is "-"."""
    return sys.stdin.buffer.read() if source == "-" else None


def print_bytes(data: bytes) -> None:
    """Give bytes to standard output as they are."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep every other run off OUT. A lock that a killed run has left is taken over. RAISES (PiiError): E462, E512."""
    from filelock import FileLock, Timeout

    path = out.resolve().with_name(out.resolve().name + ".lock")
    made = [folder for folder in path.parents if not folder.exists()]
    lock = FileLock(path, mode=0o600)
    with writing(path):
        if path.is_symlink():  # what it leads to is not emptied
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout as err:
            raise PiiError(Errors.E462, path=out) from err
    try:
        yield
    finally:
        # While it is held: whoever waits for it sees that the file is gone.
        path.unlink(missing_ok=True)
        lock.release()
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # nothing was written there


def exit_code(skipped: object) -> int:
    """`DONE_WITH_SKIPS`, if records were left out."""
    return DONE_WITH_SKIPS if skipped else DONE


@contextmanager
def progress(*, of_files: bool = False) -> Iterator["Progress"]:
    """A bar on standard error, if somebody looks."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = console(stderr=True)
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if of_files else TaskProgressColumn(),
        TimeRemainingColumn(),
    ]
    hidden = global_option("quiet") or not screen.is_terminal
    with Progress(*columns, console=screen, disable=hidden, transient=True) as bar:
        yield bar


def check_free(*places: Path) -> None:
    """Refuse to write over what exists, but for an empty folder. RAISES (PiiError): E510."""
    for place in places:
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise PiiError(Errors.E510, what=f"'{place}'")


def check_outputs(source: Path | None, *places: Path, overwrite: bool) -> None:
    """Refuse to write on, in or around INPUT, and over what exists. RAISES (PiiError): E472, E510."""
    for place in places:
        check_apart("output", place, input=source)
    if not overwrite:
        check_free(*places)
