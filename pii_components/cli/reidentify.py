"""`pii-edu reidentify`: released texts become the originals again, each proved by its digest, or nothing is written.
`pii-edu vault …`: what is in a vault (counts only), is it whole, another key."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source
from ..files.sources import open_source
from ..files.tables import TOKEN_FIELDS, JsonBody
from ..files.writers import Writer, open_writer, partial_path, renamed, value_of
from ..offsets import OffsetMap
from ..options import need, read_settings
from ..vault import vault as vault_tools
from ..vault.keys import VaultKey
from ..vault.vault import Entry, Order, Vault, offsets_of, unpack_tokens
from . import common
from .settings import RunSettings

EPILOG = "Exit codes: 0 every text restored and proved; 2 refused, nothing was written; 3 unexpected error; 130 interrupted."


def reidentify(
    *,
    source: Annotated[
        str, Argument(metavar="RELEASED", help="What `deidentify` wrote; - for standard input.")
    ],
    vault: Annotated[str, Option(help="The vault that `deidentify --vault` wrote.")],
    out: Annotated[
        str, Option("--out", "-o", help="OUTPUT, in the form of RELEASED [stdout for -].")
    ] = "",
    key_file: common.VaultKeyOpt = "",
    text_column: common.TextsOpt = None,
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Put the originals back into RELEASED. One text that is not the released one, letter by letter, and nothing is written."""
    with common.guard(), ExitStack() as stack:
        settings = read_settings(RunSettings, config, text_column=text_column, overwrite=overwrite)
        data, place, target = common.input_data(source), Path(vault), Path(out)
        to_stdout = out in ("", "-")
        need(to_stdout and data is None, "RELEASED", None, "--out")
        if not to_stdout:
            given = None if data is not None else Path(source)
            common.check_apart("output", target, released=given, vault=place)
            stack.enter_context(common.locked(target))
            if not settings.overwrite:
                common.check_free(target, partial_path(target))
        reading = open_source(Path(source), **settings.reading, data=data)
        opened = stack.enter_context(closing(reading))
        key = common.vault_key(place, key_file=key_file)
        book = stack.enter_context(Vault.open(place, key))
        if to_stdout:
            ((record, old, *_),) = list(originals(opened, book))
            codec, bom = record.body[1]
            common.print_bytes(bom + old.encode(codec))
            return
        if not opened.id_field and book.id_field in opened.fields:
            opened.id_field = book.id_field
        n = _write(opened, open_writer(opened, target), book)
        common.tell(f"{n} documents restored, each proved by its digest; wrote '{target}'")


def originals(
    source: Source, vault: Vault
) -> Iterator[tuple[Record, str, dict[str, Any], OffsetMap]]:
    """YIELDS (tuple): A released record, its original text, its tokens where it has some, and how the released text leads there.

    RAISES (PiiError): The reason why a record cannot be read; E458 to E461; E529 where tokens cannot be restored.
    """
    order = Order()
    for item in source:
        if isinstance(item, Skip):
            raise item.error
        # Without one, it is the number of the record.
        name = source.id_field
        has_id = not source.has_columns or (name and value_of(item, source, name) not in (None, ""))
        ident = item.id if has_id else None
        entry = vault.find(item.text, id=ident, document=item.number, order=order)
        old = vault.restore(item.text, entry, item.number)
        record = renamed(item, source, *entry.given) if entry.given else item
        back = offsets_of(entry.hidden, len(item.text)).inverse()
        yield record, old, _fields(source, item, old, entry), back
    order.check()


def _fields(source: Source, record: Record, old: str, entry: Entry) -> dict[str, Any]:
    has_tokens = (
        isinstance(record.body, JsonBody)
        and not (set(TOKEN_FIELDS) & record.body.values.keys()) <= source.drop
    )
    if not has_tokens or old == record.text:
        return {}
    if entry.tokens is None:
        raise PiiError(Errors.E529, number=record.number)
    return unpack_tokens(old, entry.tokens)


def _write(source: Source, writer: Writer, vault: Vault) -> int:
    """RETURNS (int): Number of documents. Whatever goes wrong, the partial file goes, and OUTPUT stays as it was."""
    n = 0
    writer.mode = 0o600
    try:
        writer.start()
        for original in originals(source, vault):
            n += 1
            writer.write(*original)
        writer.finish()
    finally:
        writer.discard()
    return n


vault_app = typer.Typer(
    help="Care of the encrypted way back: info, verify, rotate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
VaultArg = Annotated[Path, Argument(metavar="VAULT", help="File that `deidentify --vault` wrote.")]


@vault_app.command()
def info(*, vault: VaultArg, key_file: common.VaultKeyOpt = "") -> None:
    """Count documents and spans of VAULT; no text, no ids."""
    with common.guard():
        key = common.vault_key(vault, key_file=key_file)
        for name, value in vault_tools.info(vault, key).items():
            if isinstance(value, dict):
                value = ", ".join(f"{label} {n}" for label, n in value.items())
            common.console().print(f"{name.replace('_', ' ')}: {value}", markup=False)


@vault_app.command()
def verify(
    *,
    vault: VaultArg,
    key_file: common.VaultKeyOpt = "",
    head: str = Option("", help="Head that report.json noted: nothing up to there may be missing."),
    repair: bool = Option(
        False, "--repair", help="Drop a record that a crash has cut off, and close the vault."
    ),
) -> None:
    """Check every record of VAULT, its order, and its end.

    Records that are removed from the end up to where an earlier run had closed the vault are only seen with --head.
    """
    with common.guard():
        key = common.vault_key(vault, key_file=key_file)
        with common.told():
            found = vault_tools.verify(vault, key, head=head, repair=repair)
        common.console().print(
            f"{found['documents']} documents, {found['sessions']} sessions, whole; head {found['head']}"
        )


@vault_app.command()
def rotate(
    *,
    vault: VaultArg,
    key_file: common.VaultKeyOpt = "",
    new_key_file: str = Option(
        "", help="Key file that shall open the vault from now on [a passphrase that is asked for]."
    ),
) -> None:
    """Encrypt VAULT anew with another key. Copies of the old file still open with the old one: delete them."""
    with common.guard():
        old = common.vault_key(vault, key_file=key_file)
        if new_key_file:
            with common.told():
                new = VaultKey.from_file(new_key_file)
        else:
            new = common.ask_passphrase(new=True)
        common.console().print(f"{vault_tools.rotate(vault, old, new)} documents under the new key")
