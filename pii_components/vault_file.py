"""The file behind the vault: records appended to an open, locked file, read again and checked.

What a record says is vault.py's affair; how it is encrypted and chained, that of vault_format.py.
"""

import hashlib
import hmac
import json
import os
import secrets
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from .errors import Errors, PiiError, PiiWarning, Warnings
from .vault_entries import Entry
from .vault_format import Chain, Frame, Header, Torn, fsync_folder, refused


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document's record lies. before (bytes): Tag of the record before it. content (bytes): Digest of its content."""

    frame: Frame
    before: bytes
    content: bytes


class VaultFile:
    """An open file of records. Not for several threads at a time.

    path (Path): The file. writing (bool): Whether documents can be added.
    """

    def __init__(self, path: Path, file: BinaryIO, header: Header, chain: Chain, *, writing: bool) -> None:
        self.path, self.writing = path, writing
        self.key_id = str(header.lock["key_id"])
        self.vault_id = str(header.lock["salt"])[:16]
        self.documents = 0
        self.seals: list[str] = []
        self.sealed = False
        self._file, self._chain, self._end = file, chain, chain.start
        self._digest_key = b""
        self._places: dict[str, list[Place]] = {}
        self._ids: set[str] = set()

    def __reduce__(self) -> Any:
        raise PiiError(Errors.E471)

    @property
    def head(self) -> str:
        """RETURNS (str): Tag of the last record. Whoever notes it can tell later that nothing was removed up to there."""
        return self._chain.tag.hex()

    def digest(self, what: str, text: str) -> str:
        """RETURNS (str): HMAC-SHA256 of a text under a key that only the vault holds. what (str): "released" or "original"."""
        data = what.encode() + b"|" + text.encode("utf8", "surrogatepass")
        return hmac.new(self._digest_key, data, hashlib.sha256).hexdigest()

    def sync(self) -> None:
        """Wait until all that was appended is on the disk. RAISES (PiiError): E450, if the disk refuses."""
        self._check(writing=True)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as err:
            raise refused(self.path, "written", err) from err

    def close(self, *, seal: bool = True) -> None:
        """Close the file.

        seal (bool): Whether the session ends well; if not, the vault must be opened for writing again before it can be read.
        """
        if self._file.closed:
            return
        try:
            if self.writing and seal and not self.sealed:
                self._write(json.dumps({"seal": {"documents": self.documents}}).encode("ascii"))
                self.sealed = True
                self.seals.append(self.head)
            if self.writing:
                self.sync()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.close(seal=kind is None)

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:
            return  # Windows refuses to open a file twice for writing in most cases; there is no more to do
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Rotation puts another file in the place of one that we may have opened before.
            same = os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError:
            same = False
        if not same:
            raise PiiError(Errors.E462, path=self.path)

    def _begin(self, digest_key: bytes = b"") -> None:
        self._digest_key = digest_key or self._digest_key or secrets.token_bytes(32)
        self._write(json.dumps({"vault": {"digest_key": self._digest_key.hex()}}).encode("ascii"))
        self.sync()
        fsync_folder(self.path.parent)

    def _scan(self, *, unfinished: bool) -> None:
        """Read all records; put right what a crash has left, or refuse."""
        torn = False
        before = self._chain.tag
        try:
            for frame in self._chain.read(self._file):
                self._take(frame, before)
                before, self._end = frame.tag, frame.end
        except Torn as err:
            torn = True
            if not self.writing:
                raise PiiError(Errors.E455, path=self.path, record=err.number) from None
        if not (self.writing or self.sealed or unfinished):
            raise PiiError(Errors.E456, path=self.path, record=self._chain.number - 1)
        if not self.writing:
            return
        if torn:
            self._file.truncate(self._end)
        if torn or not self.sealed:
            template = Warnings.W450 if torn else Warnings.W451
            warnings.warn(template.format(path=self.path, documents=self.documents), PiiWarning, stacklevel=3)
        if not self._digest_key:
            self._begin()

    def _take(self, frame: Frame, before: bytes) -> None:
        try:
            kind, value = next(iter(json.loads(frame.data).items()))
            self.sealed = kind == "seal"
            if kind == "vault" and frame.number == 0:
                self._digest_key = bytes.fromhex(value["digest_key"])
            elif kind == "seal" and value["documents"] == self.documents:
                self.seals.append(frame.tag.hex())
            elif kind == "document" and self._digest_key:
                self._note(Entry.from_dict(value), Place(replace(frame, data=b""), before, hashlib.sha256(frame.data).digest()))
            else:
                raise ValueError
        except (ValueError, TypeError, KeyError, StopIteration):
            raise PiiError(Errors.E457, path=self.path, record=frame.number) from None

    def _note(self, entry: Entry, place: Place) -> None:
        self._places.setdefault(entry.released, []).append(place)
        self._ids.add(entry.id)
        self.documents += 1
        self.sealed = False

    def _entry(self, place: Place) -> Entry:
        if self.writing:
            self._file.flush()
        return Entry.from_dict(json.loads(self._chain.again(self._file, place.frame, place.before))["document"])

    def _write(self, data: bytes) -> None:
        try:
            self._file.seek(max(self._end, self._chain.start))
            record = self._chain.seal(data)
            self._file.write(record)
            self._end += len(record)
        except OSError as err:
            self.writing = False  # what is on the disk and what we hold differ: the next one to open it puts it right
            raise refused(self.path, "written", err) from err

    def _check(self, *, writing: bool = False) -> None:
        if self._file.closed or (writing and not self.writing):
            state = "closed" if self._file.closed else "open for reading"
            raise PiiError(Errors.E469, state=state, needed="writing" if writing else "reading")
