"""`pii-edu vault …`: what is in a vault (counts only), is it whole, another key, what a crash has left."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .. import vault_tools
from ..errors import Errors, PiiError
from .guard import guard
from .show import console
from .vault_options import PassphraseOpt, VaultArg, VaultKeyOpt, told, vault_key

vault_app = typer.Typer(
    help="Care of the encrypted way back: info, verify, rotate, repair.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
HeaderOpt = Annotated[bool, typer.Option("--header", help="Only what can be read without a key.")]
HeadOpt = Annotated[str, typer.Option("--head", help="Head that report.json noted: nothing up to there may be missing.")]
NewKeyOpt = Annotated[str, typer.Option("--new-key-file", help="Key file that shall open the vault from now on.")]
NewPassphraseOpt = Annotated[bool, typer.Option("--new-passphrase", help="Ask for a passphrase that shall open it.")]


@vault_app.command()
def info(*, vault: VaultArg, key_file: VaultKeyOpt = "", passphrase: PassphraseOpt = False, header: HeaderOpt = False) -> None:
    """Count documents and spans of VAULT; no text, no ids."""
    with guard():
        path = Path(vault)
        key = None if header else vault_key(path, key_file=key_file, ask=passphrase)
        screen = console()
        for name, value in vault_tools.info(path, key).items():
            shown = ", ".join(f"{label} {n}" for label, n in value.items()) if isinstance(value, dict) else value
            screen.print(f"{name.replace('_', ' ')}: {shown}", markup=False)


@vault_app.command()
def verify(*, vault: VaultArg, key_file: VaultKeyOpt = "", passphrase: PassphraseOpt = False, head: HeadOpt = "") -> None:
    """Check every record of VAULT, its order, and its end.

    Records that are removed from the end up to where an earlier run had closed the vault are only seen with --head.
    """
    with guard():
        found = vault_tools.verify(Path(vault), vault_key(Path(vault), key_file=key_file, ask=passphrase), head=head)
        console().print(f"{found['documents']} documents, {found['sessions']} sessions, whole; head {found['head']}")


@vault_app.command()
def repair(*, vault: VaultArg, key_file: VaultKeyOpt = "", passphrase: PassphraseOpt = False) -> None:
    """Drop a record that a crash has cut off at the end of VAULT, and close it. Whole records stay; changed ones stay an error."""
    with guard():
        screen = console()
        key = vault_key(Path(vault), key_file=key_file, ask=passphrase)
        with told(partial(screen.print, markup=False)):
            n = vault_tools.repair(Path(vault), key)
        screen.print(f"{n} documents, closed")


@vault_app.command()
def rotate(
    *,
    vault: VaultArg,
    key_file: VaultKeyOpt = "",
    passphrase: PassphraseOpt = False,
    new_key_file: NewKeyOpt = "",
    new_passphrase: NewPassphraseOpt = False,
) -> None:
    """Encrypt VAULT anew with another key. Copies of the old file still open with the old one: delete them."""
    with guard():
        path = Path(vault)
        old = vault_key(path, key_file=key_file, ask=passphrase)
        names = ("--new-key-file", "--new-passphrase")
        if not (new_key_file or new_passphrase):
            raise PiiError(Errors.E473, option="rotate", needed=" or ".join(names))
        new = vault_key(None, key_file=new_key_file, ask=new_passphrase, names=names)
        console().print(f"{vault_tools.rotate(path, old, new)} documents under the new key")
