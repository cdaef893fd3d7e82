"""The vault: one encrypted file that leads from released texts back to the originals. Who has no key learns counts at most.

    key = VaultKey.from_file("secret.key")
    with Vault.create("essays.vault", key) as vault:                # or Vault.open("essays.vault", key, write=True)
        vault.append(nlp(text), id="7")
    with Vault.open("essays.vault", key) as vault:
        reidentify(released, vault)                                 # the original, proved by its digest, or an error

A record is on the disk before `append` returns; a crash loses no document that was appended. Records are encrypted with
authentication and chained (vault_format.py tells what is detected and what is not). A text is found by its keyed digest: of a text
that was changed nothing is restored. Keep the vault apart from what is released: where it lies, its key is all that protects.
"""

import hashlib
import hmac
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from .errors import Errors, PiiError
from .vault_entries import Entry, Hidden, Release, restore
from .vault_file import Place, VaultFile
from .vault_format import Chain, Frame, check_header, make_header, read_header, refused
from .vault_keys import SCRYPT_N, VaultKey, kind_of, new_lock, unlock

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["Entry", "Hidden", "Release", "Vault", "VaultKey", "reidentify", "vault_kind"]


class Vault(VaultFile):
    """An open vault; see `create` and `open`. Not for several threads at a time.

    path (Path): The file. writing (bool): Whether documents can be added.
    """

    @classmethod
    def create(cls, path: str | Path, key: VaultKey, *, scrypt_n: int = SCRYPT_N, like: "Vault | None" = None) -> "Vault":
        """Make a new vault, which only its owner can read, and open it for writing.

        path (str | Path): A file that does not exist. key (VaultKey): Locks it. scrypt_n (int): Cost of a guess at a passphrase.
        like (Vault | None): An open vault whose records `adopt` can take over.
        RAISES (PiiError): E463, if the file exists; E450, if it cannot be written; E005, if the package cryptography is missing.
        """
        path = Path(path)
        keys, lock = new_lock(key, scrypt_n=scrypt_n)
        header = make_header(keys, lock)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "r+b")
        except FileExistsError as err:
            raise PiiError(Errors.E463, path=path) from err
        except OSError as err:
            raise refused(path, "written", err) from err
        vault = cls(path, file, header, Chain(header, keys, path), writing=True)
        try:
            vault._lock()
            file.write(header.raw)
            vault._begin(like._digest_key if like else b"")
        except OSError as err:
            file.close()
            raise refused(path, "written", err) from err
        return vault

    @classmethod
    def open(cls, path: str | Path, key: VaultKey, *, write: bool = False, unfinished: bool = False) -> "Vault":
        """Open a vault, and check all of it.

        path (str | Path): The file. key (VaultKey): What it is locked with.
        write (bool): Whether documents will be added. What a crash has left is put right then, with a warning.
        unfinished (bool): Whether a vault whose last session was not closed may be read.
        RAISES (PiiError): E450 to E452, E468 for the file; E453 or E454 for the key; E457, if a record was changed; for reading,
            E455 if the file ends inside a record and E456 if it was not closed; for writing, E462 if another process does.
        """
        path = Path(path)
        try:
            file: BinaryIO = open(path, "r+b" if write else "rb")  # noqa: SIM115  (the vault closes it)
        except OSError as err:
            raise refused(path, "opened", err) from err
        try:
            header = read_header(file, path)
            keys = unlock(key, header.lock, path=path)
            check_header(header, keys, path)
            vault = cls(path, file, header, Chain(header, keys, path), writing=write)
            if write:
                vault._lock()
            vault._scan(unfinished=unfinished)
        except OSError as err:
            file.close()
            raise refused(path, "read", err) from err
        except BaseException:
            file.close()
            raise
        return vault

    def append(self, document: "Doc | Release", *, id: str = "", scope: str = "document", sync: bool = True) -> bool:
        """Add a document. It is proved first that its text comes back.

        document (Doc | Release): With its new text: a Doc that `hips_surrogate` has worked on. id (str), scope (str): For a Doc;
        see `Release`.
        sync (bool): Whether to wait for the disk; if not, call `sync` before the new text leaves the process.
        RETURNS (bool): Whether it was added; the same once more is not.
        RAISES (PiiError): E470, if its spans do not lead back; E450, if the disk refuses; E469, if the vault is open for reading.
        """
        self._check(writing=True)
        release = document if isinstance(document, Release) else Release.of(document, id=id, scope=scope)
        try:
            proved = restore(release.new, release.hidden) == release.old
        except PiiError:
            proved = False
        if not proved:
            raise PiiError(Errors.E470, document=self.documents + 1)
        digests = self.digest("released", release.new), self.digest("original", release.old)
        added = self.adopt(Entry(release.id, release.scope, *digests, release.hidden, release.tokens))
        if added and sync:
            self.sync()
        return added

    def adopt(self, entry: Entry) -> bool:
        """Add a record whose digests are of this vault's key; see `create`. RETURNS (bool): Whether it was added."""
        self._check(writing=True)
        data = entry.to_bytes()
        content = hashlib.sha256(data).digest()
        if any(place.content == content for place in self._places.get(entry.released, ())):
            return False
        before, number, start = self._chain.tag, self._chain.number, self._end
        self._write(data)
        self._note(entry, Place(Frame(number, start, self._end, self._chain.tag, b""), before, content))
        return True

    def find(self, text: str, *, id: str | None = None, document: int = 1) -> Entry:
        """The record of a released text.

        text (str): As it was released, character for character. id (str | None): Tells equal texts of different originals apart.
        document (int): Its number, for messages.
        RAISES (PiiError): E458, if there is none; E459, if there is one of that id with another text; E460, if there are
            several for different originals.
        """
        self._check()
        found = [self._entry(place) for place in self._places.get(self.digest("released", text), ())]
        if not found:
            raise PiiError(Errors.E459 if id in self._ids else Errors.E458, document=document)
        if len({entry.original for entry in found}) > 1:
            found = [entry for entry in found if entry.id == id] or found
        originals = {entry.original for entry in found}
        if len(originals) > 1:
            raise PiiError(Errors.E460, document=document, n=len(originals))
        return next((entry for entry in found if entry.id == id), found[0])

    def lookup(self, new: str, *, id: str | None = None, scope: str | None = None) -> list[str]:
        """What a surrogate or a pseudonym (`[STUDENT_1]`) stands for.

        new (str): As it stands in a released text. id (str | None): Of the document. scope (str | None): See `Release`.
        RETURNS (list[str]): Originals, each once, in the order of the vault; several where two documents use the same one.
        """
        entries = (e for e in self.entries() if id in (None, e.id) and scope in (None, e.scope))
        return list(dict.fromkeys(hidden.old for entry in entries for hidden in entry.hidden if hidden.new == new))

    def entries(self) -> Iterator[Entry]:
        """YIELDS (Entry): All records of documents, in the order in which they were added."""
        self._check()
        for place in sorted((p for group in self._places.values() for p in group), key=lambda p: p.frame.number):
            yield self._entry(place)


def reidentify(document: "Doc | str", vault: Vault, *, id: str | None = None, number: int = 1) -> str:
    """The original of a released text.

    document (Doc | str): The text as it was released. vault (Vault): Open. id (str | None): Its id, where the vault has equal texts.
    number (int): Of the document, for messages.
    RETURNS (str): The original; its digest is the one that was taken before anything was replaced.
    RAISES (PiiError): E458 to E461.
    """
    text = document if isinstance(document, str) else document.text
    entry = vault.find(text, id=id, document=number)
    try:
        old = restore(text, entry.hidden)
    except PiiError:
        old = None
    if old is None or not hmac.compare_digest(vault.digest("original", old), entry.original):
        raise PiiError(Errors.E461, document=number)
    return old


def vault_kind(path: str | Path) -> str:
    """RETURNS (str): "key" or "passphrase": what opens a vault. RAISES (PiiError): E450 to E452, E468."""
    try:
        with open(path, "rb") as file:
            return kind_of(read_header(file, Path(path)).lock, path=Path(path))
    except OSError as err:
        raise refused(Path(path), "opened", err) from err
