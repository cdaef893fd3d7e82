"""What commands with a vault share: their options, and where the key of a vault comes from.

Order: a key file, a passphrase that is asked for, the environment (PII_EDU_VAULT_KEY or PII_EDU_VAULT_PASSPHRASE), and last the key
that makes surrogates. A secret is never an argument: other users of the machine could read it.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, PiiError, PiiWarning
from ..surrogates.keys import KEY_ENV
from ..vault import Vault, VaultKey, vault_kind
from ..vault_keys import KEY, PASSPHRASE, PASSPHRASE_ENV, VAULT_KEY_ENV
from .keys import Key

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
