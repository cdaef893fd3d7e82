"""`pii-edu reidentify`: released texts become the originals again, each proved by its digest, or nothing is written."""

import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors, PiiError
from ..files.json_text import TOKEN_FIELDS, JsonBody
from ..files.record import Record, Skip, Source
from ..files.sources import open_source
from ..files.writers import Writer, open_writer, partial_path
from ..vault import maintenance as vault_tools
from ..vault.vault import Vault, unpack_tokens
from ..vault.vault import reidentify as restored
from .common import DONE, PassphraseOpt, VaultArg, VaultKeyOpt, check_apart, console, guard, told, vault_key

EPILOG = "Exit codes: 0 every text restored and proved; 2 refused, nothing was written; 3 unexpected error; 130 interrupted."
InArg = Annotated[str, typer.Argument(metavar="RELEASED", help="What `deidentify` wrote; - for standard input.")]
VaultOpt = Annotated[str, typer.Option("--vault", help="The vault that `deidentify --vault` wrote.")]
OutOpt = Annotated[str, typer.Option("--out", "-o", help="OUTPUT, in the form of RELEASED [stdout for -].")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Tells equal texts apart; as it was for deidentify.")]
DropOpt = Annotated[list[str] | None, typer.Option("--drop", help="Leave this column or field out; may be repeated.")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of RELEASED; a byte order mark is seen without it.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUTPUT that exists.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def reidentify(
    *,
    source: InArg,
    vault: VaultOpt,
    out: OutOpt = "",
    key_file: VaultKeyOpt = "",
    passphrase: PassphraseOpt = False,
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    drop: DropOpt = None,
    encoding: EncodingOpt = "utf-8",
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Put the originals back into RELEASED. One text that is not the released one, letter by letter, and nothing is written."""
    with guard(debug):
        place = Path(vault)
        data = sys.stdin.buffer.read() if source == "-" else None
        to_stdout = source == "-" and out in ("", "-")
        if not (out or to_stdout):
            raise PiiError(Errors.E473, option="reidentify", needed="--out")
        opened = open_source(
            Path(source), text_field=text_field, id_field=id_field, encoding=encoding, drop=tuple(drop or ()), data=data
        )
        target = Path(out)
        if not to_stdout:
            _check_places(opened, target, place, overwrite=overwrite)
        key = vault_key(place, key_file=key_file, ask=passphrase)
        try:
            with Vault.open(place, key) as book:
                if to_stdout:
                    _to_stdout(opened, book)
                    raise typer.Exit(DONE)
                n = _write(opened, open_writer(opened, target), book)
        finally:
            opened.close()
        if not quiet:
            console(stderr=True).print(f"{n} documents restored, each proved by its digest; wrote '{target}'", markup=False)
    raise typer.Exit(DONE)


def originals(source: Source, vault: Vault) -> Iterator[tuple[Record, str, dict[str, Any]]]:
    """The originals of a released corpus.

    source (Source): What was released. vault (Vault): Open.
    YIELDS (tuple[Record, str, dict[str, Any]]): A record, its original text, other fields that go with it (tokens, labels).
    RAISES (PiiError): The reason why a record cannot be read; E458 to E461; E529 where tokens cannot be restored.
    """
    for item in source:
        if isinstance(item, Skip):
            raise item.error
        old = restored(item.text, vault, id=item.id, number=item.number)
        yield item, old, _fields(source, item, old, vault)


def _fields(source: Source, record: Record, old: str, vault: Vault) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Tokens as they were, where the record has tokens."""
    has_tokens = isinstance(record.body, JsonBody) and not (set(TOKEN_FIELDS) & record.body.at.keys()) <= source.drop
    if not has_tokens or old == record.text:
        return {}
    packed = vault.find(record.text, id=record.id, document=record.number).tokens
    if packed is None:
        raise PiiError(Errors.E529, number=record.number)
    return unpack_tokens(old, packed)


def _write(source: Source, writer: Writer, vault: Vault) -> int:
    """RETURNS (int): Number of documents. Whatever goes wrong, the partial file goes, and OUTPUT stays as it was."""
    n = 0
    try:
        writer.start()
        for record, old, fields in originals(source, vault):
            writer.write(record, old, fields)
            n += 1
        writer.sync()
        writer.finish()
    except BaseException:
        writer.stop()
        if writer.partial.is_dir():
            shutil.rmtree(writer.partial, ignore_errors=True)
        else:
            writer.partial.unlink(missing_ok=True)
        raise
    return n


def _to_stdout(source: Source, vault: Vault) -> None:
    record, old, _ = next(originals(source, vault))
    codec, bom = record.body[1]
    sys.stdout.buffer.write(bom + old.encode(codec))
    sys.stdout.buffer.flush()


def _check_places(source: Source, out: Path, vault: Path, *, overwrite: bool) -> None:
    """RAISES (PiiError): E472, E510."""
    origin = None if str(source.path) == "-" else source.path
    check_apart("output", out, released=origin, vault=vault)
    for place in (out, partial_path(out)):
        if place.exists() and not overwrite and not (place.is_dir() and not any(place.iterdir())):
            raise PiiError(Errors.E510, what=f"'{place}'")


# `pii-edu vault …`: what is in a vault (counts only), is it whole, another key, what a crash has left.

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
