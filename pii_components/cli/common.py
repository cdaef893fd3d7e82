"""What the commands leave with. A script can tell whether the output is whole."""

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
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..errors import Errors, PiiError, PiiWarning
from ..files.record import reason_of
from ..labels import DETAIL_LABELS, LABELS, NAME_CHARACTER, NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT
from ..profiles import Profile
from ..release.engine import KEEP, Found
from ..release.run import Report, key_fingerprint
from ..surrogates.keys import KEY_ENV, random_key
from ..surrogates.keys import load_key as read_key
from ..vault.keys import KEY, PASSPHRASE, PASSPHRASE_ENV, VAULT_KEY_ENV, VaultKey
from ..vault.vault import Vault, vault_kind

DONE = 0
DONE_WITH_SKIPS = 1
REFUSED = 2
STOPPED = 3
INTERRUPTED = 130


# What the commands show in the terminal, with rich: tables of spans, a text in colours, profiles, the summary of a run.

STYLES = {
    NAME_STUDENT: "bold white on red",
    NAME_INSTRUCTOR: "black on yellow",
    NAME_CONNECTED: "black on bright_magenta",
    NAME_CITED: "black on green",
    NAME_CHARACTER: "black on cyan",
    **dict.fromkeys(DETAIL_LABELS, "white on blue"),
}
_OTHER_STYLE = "reverse"


def console(*, stderr: bool = False) -> Console:
    """A console on the streams of the moment. Signs that the terminal cannot show become escapes.

    RETURNS (Console): 160 columns wide where there is no terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    made = Console(file=stream, highlight=False, soft_wrap=stderr)
    return made if stderr or made.is_terminal else Console(file=stream, highlight=False, width=160)


def spans_table(title: str, spans: Iterable[Found], text: str | None = None) -> Table:
    """A table of spans.

    title (str): Id of the document. spans (Iterable[Found]): What was found. text (str | None): The document, if texts may be
    shown.
    RETURNS (Table): Offsets are characters, end exclusive.
    """
    table = Table(title=Text(title), title_justify="left")
    for name in ("start", "end"):
        table.add_column(name, justify="right")
    for name in ("label", "role"):
        table.add_column(name)
    table.add_column("score", justify="right")
    table.add_column("source")
    table.add_column("reason")
    if text is not None:
        table.add_column("text")
    for span in spans:
        row: list[Text | str] = [
            str(span.start_char),
            str(span.end_char),
            Text(span.label, STYLES.get(span.label, _OTHER_STYLE)),
        ]
        row += [span.role, f"{span.score:.3f}", Text(span.source), Text(span.reason)]
        if text is not None:
            row.append(Text(repr(text[span.start_char : span.end_char])[1:-1]))
        table.add_row(*row)
    return table


def coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    """RETURNS (Text): The text with its spans (start, end, label) in the colours of their labels."""
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(STYLES.get(label, _OTHER_STYLE), start, end)
    return shown


def before_and_after(before: Text, after: Text, profile: str) -> list[Any]:
    """RETURNS (list[Any]): Two panels and a legend, to be printed one after the other."""
    legend = Text("  ").join(Text(f" {label} ", STYLES[label]) for label in (*LABELS[:5], *DETAIL_LABELS[:1]))
    legend.append("  and other details")
    return [Panel(before, title="before"), Panel(after, title=f"after, profile {profile}"), legend]


def profiles_table(profiles: list[Profile]) -> Table:
    """RETURNS (Table): A row per label, a column per profile, what the profile does with the label."""
    table = Table(title="What each profile does with each label")
    table.add_column("label")
    for profile in profiles:
        table.add_column(profile.name)
    for label in LABELS:
        actions = [profile.action(label) for profile in profiles]
        table.add_row(label, *(Text(action, "dim" if action == KEEP else "bold") for action in actions))
    return table


def summary_table(report: Report) -> Table:
    """RETURNS (Table): Counts per label, role and action."""
    table = Table()
    for name in ("label", "role", "action"):
        table.add_column(name)
    table.add_column("spans", justify="right")
    for key, count in sorted(report.spans.items()):
        table.add_row(*key.split("|"), str(count))
    return table


# What goes wrong becomes one coded line and an exit code, in every command.


@contextmanager
def guard(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong into one coded line and an exit code; with `debug`, unexpected errors are raised."""
    err = console(stderr=True)
    try:
        yield
    except PiiError as error:
        err.print(str(error), markup=False)
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
        err.print(str(PiiError(Errors.E533, type=type(error).__name__)), markup=False)
        raise typer.Exit(STOPPED) from None


# The secret key of a run: from a file, from the environment, or made for the run alone.

# Everyone may know what the people in our own essay become.
DEMO_KEY = b"everyone may know this key"


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it came from.

    secret (bytes): Never shown, never saved. origin (str): "file", "environment" or "random", for the report.
    """

    secret: bytes = field(repr=False)
    origin: str

    @property
    def kept(self) -> bool:
        """RETURNS (bool): Whether the user has the key, so that a run can be taken up or repeated."""
        return self.origin != "random"

    @property
    def fingerprint(self) -> str:
        """RETURNS (str): Tells keys apart; empty for a key that is lost with the run."""
        return key_fingerprint(self.secret) if self.kept else ""

    @property
    def note(self) -> str:
        """RETURNS (str): What to tell the user of a key that was made for the run."""
        return (
            "no key was given, so one was made for this run and is not kept: surrogates cannot be made again, "
            "and the run cannot be taken up if it stops. "
            f"For that, use --key-file (see pii-edu keygen) or the environment variable {KEY_ENV}."
        )


def load_key(key_file: str = "") -> Key:
    """The key of the run.

    key_file (str): Its file; empty to look at the environment, else to make one.
    RAISES (PiiError): E401 or E402, if the key cannot be used.
    """
    secret = read_key(path=key_file or None)
    if secret is None:
        return Key(random_key(), "random")
    return Key(secret, "file" if key_file else "environment")


def write_key(path: Path) -> None:
    """Write a new key that only its owner can read.

    RAISES (PiiError): E541, if the file exists; E512, if it cannot be written.
    """
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError as err:
        raise PiiError(Errors.E541, path=path) from err
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


# What commands with a vault share: their options, and where the key of a vault comes from.

_KEYS = f"[environment variables {VAULT_KEY_ENV}, {PASSPHRASE_ENV}, {KEY_ENV}]"
VaultArg = Annotated[str, typer.Argument(metavar="VAULT", help="File that `deidentify --vault` wrote.")]
VaultKeyOpt = Annotated[str, typer.Option("--key-file", help=f"Key file that opens the vault {_KEYS}.")]
PassphraseOpt = Annotated[bool, typer.Option("--passphrase", help="Ask for the passphrase of the vault.")]


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
    passphrase.
    shared (Key | None): The key of the run, which will do where there is no other. names (tuple[str, str]): Of the two options.
    RAISES (PiiError): E464, if there is none; E465, if there are two; what the vault's header or the key raises.
    """
    if key_file and ask:
        raise PiiError(Errors.E465, first=names[0], second=names[1])
    if key_file:
        return VaultKey.from_file(key_file)
    if ask:
        words = typer.prompt("Passphrase of the vault", hide_input=True, confirmation_prompt=path is None, err=True)
        return VaultKey.from_passphrase(words, origin=names[1])
    kind = vault_kind(path) if path is not None else ""
    key = VaultKey.from_env(kind=kind, shared=shared is None)
    if key is None and shared is not None and shared.kept and kind != PASSPHRASE:
        key = VaultKey(shared.secret, KEY, shared.origin)
    if key is None:
        raise PiiError(Errors.E464, env=PASSPHRASE_ENV if kind == PASSPHRASE else VAULT_KEY_ENV)
    return key


def open_for_run(path: Path, key: VaultKey, *, resume: bool, say: Callable[[str], None]) -> Vault:
    """RETURNS (Vault): Open for writing; a new one where there is none, unless a run is taken up. say: Gets what was put right."""
    if not path.exists() and not resume:
        return Vault.create(path, key)
    with told(say):
        return Vault.open(path, key, write=True)


@contextmanager
def told(say: Callable[[str], None]) -> Iterator[None]:
    """Warnings of the vault become lines for the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PiiWarning)
        yield
    for warning in caught:
        say(str(warning.message))


def check_apart(what: str, path: Path, **others: Path | None) -> None:
    """Refuse a place that is one of the others, or lies in a folder that is.

    what (str): "vault" or other, for the message. path (Path): Its place. others (Path | None): Places by name.
    RAISES (PiiError): E472.
    """
    target = path.resolve()
    for name, other in others.items():
        place = other.resolve() if other is not None else None
        same = place is not None and target.exists() and place.exists() and target.samefile(place)
        if place is not None and (same or target == place or place in target.parents or target in place.parents):
            raise PiiError(Errors.E472, what=what, other=name.upper())
