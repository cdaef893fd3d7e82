"""What the commands share: exit codes, options, how errors are shown, tables, keys, places."""

import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

from ..errors import Errors, PiiError, PiiWarning
from ..files.record import Skip, Source, reason_of
from ..files.writers import writing
from ..labels import (
    DETAIL_LABELS,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
)
from ..release.run import key_fingerprint
from ..surrogates.keys import KEY_ENV, random_key
from ..surrogates.keys import load_key as read_key
from ..vault.keys import KEY, PASSPHRASE, PASSPHRASE_ENV, VAULT_KEY_ENV, VaultKey
from ..vault.vault import Vault, vault_kind

# A script can tell whether the output is whole.
DONE = 0
DONE_WITH_SKIPS = 1
REFUSED = 2
STOPPED = 3
INTERRUPTED = 130

MODEL = "en_pii_edu"
_SKIPS_SHOWN = 10

# Options of more than one command.
ModelOpt = Annotated[str, Option("--model", help="Name or path of the pipeline.")]
TextOpt = Annotated[
    str,
    Option(
        "--text-column",
        "--text-field",
        help="Column or field of the text [found where it has a usual name].",
    ),
]
TextsOpt = Annotated[
    list[str] | None,
    Option(
        "--text-column",
        "--text-field",
        help="Column or field of the text [found where it has a usual name]; may be repeated.",
    ),
]
IdOpt = Annotated[
    str, Option("--id-column", "--id-field", help="Column or field that names a document.")
]
EncodingOpt = Annotated[
    str, Option("--encoding", help="Encoding of what is not in Unicode, which is seen without it.")
]
KeepOpt = Annotated[
    list[str] | None,
    Option("--keep", help="Release this column or field as it is; may be repeated."),
]
SpreadsheetOpt = Annotated[
    bool,
    Option(
        "--spreadsheet-safe/--no-spreadsheet-safe",
        help="In a table, an apostrophe stands before what a spreadsheet would run: = + - @, tab.",
    ),
]
BatchOpt = Annotated[int, Option("--batch-size", min=1, help="Texts that are processed together.")]
StrictOpt = Annotated[
    bool, Option("--strict", help="Stop at the first record that cannot be processed.")
]
RosterOpt = Annotated[
    str,
    Option(
        "--roster",
        metavar="CSV",
        help="Class list: names, preferred names, e-mails, IDs, user names, by its header. Found in all texts; kept in memory only.",
    ),
]
DropOpt = Annotated[
    list[str] | None,
    Option("--drop", help="Leave this column or field out of OUTPUT; may be repeated."),
]
OverwriteOpt = Annotated[bool, Option("--overwrite", help="Replace an output that exists.")]
ResumeOpt = Annotated[
    bool,
    Option(
        "--resume",
        help="Go on with an interrupted run; needs the same settings, and the same key if there is one.",
    ),
]
QuietOpt = Annotated[bool, Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[
    bool,
    Option("--debug", help="Raise unexpected errors with their traceback, which may show text."),
]
_KEYS = f"[environment variables {VAULT_KEY_ENV}, {PASSPHRASE_ENV}, {KEY_ENV}]"
VaultKeyOpt = Annotated[str, Option("--key-file", help=f"Key file that opens the vault {_KEYS}.")]
PassphraseOpt = Annotated[bool, Option("--passphrase", help="Ask for the passphrase of the vault.")]

STYLES = {
    NAME_STUDENT: "bold white on red",
    NAME_INSTRUCTOR: "black on yellow",
    NAME_CONNECTED: "black on bright_magenta",
    NAME_CITED: "black on green",
    NAME_CHARACTER: "black on cyan",
    **dict.fromkeys(DETAIL_LABELS, "white on blue"),
}
OTHER_STYLE = "reverse"


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
    title: str | Text | None = None,
) -> Table:
    """A table; numbers of the columns in `right` stand at their right."""
    table = Table(title=title)
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return table


class Skips(list[Skip]):
    """Records that were left out; each is told to the user until there are too many. named (bool): With their IDs."""

    def __init__(
        self, tell: Callable[[str], None], *, strict: bool = False, named: bool = False
    ) -> None:
        super().__init__()
        self.tell, self.strict, self.named = tell, strict, named

    def __call__(self, skip: Skip) -> None:
        if self.strict:
            raise PiiError(Errors.E532, skip=skip.error)
        self.append(skip)
        if len(self) <= _SKIPS_SHOWN:
            self.tell(f"{skip.error} ({skip.id})" if self.named and skip.id else str(skip.error))
        elif len(self) == _SKIPS_SHOWN + 1:
            self.tell("further skipped records are listed in the report")


@contextmanager
def guard(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong into one coded line and an exit code; with `debug`, unexpected errors are raised."""
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
        if debug or isinstance(error, typer.Exit | typer.Abort):
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


def texts(names: list[str] | None) -> dict[str, Any]:
    """For `open_source`: the columns of text that the user named."""
    return {"text_field": names[0] if names else "", "more": (names or [])[1:]}


def load_key(key_file: str = "") -> Key:
    """The key of the run: from its file, else from the environment, else made for this run alone.

    RAISES (PiiError): E401 or E402, if the key cannot be used.
    """
    secret = read_key(path=key_file or None)
    if secret is None:
        return Key(random_key(), "random")
    return Key(secret, "file" if key_file else "environment")


def write_key(path: Path) -> None:
    """Write a new key that only its owner can read. RAISES (PiiError): E541, if the file exists; E512."""
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError as err:
        raise PiiError(Errors.E541, path=path) from err
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def vault_key(
    path: Path | None,
    *,
    key_file: str = "",
    ask: bool = False,
    shared: Key | None = None,
    names: tuple[str, str] = ("--key-file", "--passphrase"),
) -> VaultKey:
    """The secret of a vault.

    path (Path | None): The vault; None for one that is to be made. key_file (str): Its key file. ask (bool): Whether to ask for a
    passphrase. shared (Key | None): The key of the run, which will do where there is no other. names: Of the two options.
    RAISES (PiiError): E464, if there is none; E465, if there are two; what the vault's header or the key raises.
    """
    if key_file and ask:
        raise PiiError(Errors.E465, first=names[0], second=names[1])
    if key_file:
        return VaultKey.from_file(key_file)
    if ask:
        words = typer.prompt(
            "Passphrase of the vault", hide_input=True, confirmation_prompt=path is None, err=True
        )
        return VaultKey.from_passphrase(words, origin=names[1])
    kind = vault_kind(path) if path is not None else ""
    key = VaultKey.from_env(kind=kind, shared=shared is None)
    if key is None and shared is not None and shared.kept and kind != PASSPHRASE:
        key = VaultKey(shared.secret, KEY, shared.origin)
    if key is None:
        raise PiiError(Errors.E464, env=PASSPHRASE_ENV if kind == PASSPHRASE else VAULT_KEY_ENV)
    return key


def open_for_run(path: Path, key: VaultKey, *, resume: bool = False) -> Vault:
    """The vault, open for writing; a new one where there is none, unless a run is taken up."""
    if not path.exists() and not resume:
        return Vault.create(path, key)
    with told():
        return Vault.open(path, key, write=True)


@contextmanager
def told(tell: Callable[[str], None] = say) -> Iterator[None]:
    """Warnings of the vault become lines for the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PiiWarning)
        yield
    for warning in caught:
        tell(str(warning.message))


def check_apart(what: str, path: Path, **others: Path | None) -> None:
    """Refuse a place ("vault" or other) that is one of the others, or lies in a folder that is. RAISES (PiiError): E472."""
    target = path.resolve()
    for name, other in others.items():
        place = other.resolve() if other is not None else None
        same = place is not None and target.exists() and place.exists() and target.samefile(place)
        if place is not None and (
            same or target == place or place in target.parents or target in place.parents
        ):
            raise PiiError(Errors.E472, what=what, other=name.upper())


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep every other run off OUT. A lock that a killed run has left is taken over, and told. RAISES (PiiError): E512, E542."""
    from filelock import FileLock, Timeout

    path = out.resolve().with_name(out.resolve().name + ".lock")
    left, made = path.exists(), [folder for folder in path.parents if not folder.exists()]
    lock = FileLock(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout as err:
            raise PiiError(Errors.E542, path=out) from err
    if left:
        say(f"taken over: the lock of a run that was killed, '{path.name}'")
    try:
        yield
    finally:
        path.unlink(
            missing_ok=True
        )  # while it is held: whoever waits for it sees that the file is gone
        lock.release()
        for folder in made:
            with suppress(OSError):
                folder.rmdir()  # nothing was written there


def tell_hidden(source: Source) -> None:
    """Say how many files of a folder were passed over."""
    if n := getattr(source, "hidden", 0):
        say(
            f"passed over: {n} files that no user wrote (hidden ones, ~$ locks, Thumbs.db, our report.json)"
        )


def check_free(*places: Path) -> None:
    """Refuse to write over what exists, but for an empty folder. RAISES (PiiError): E510."""
    for place in places:
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise PiiError(Errors.E510, what=f"'{place}'")
