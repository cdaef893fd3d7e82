"""The vault: one encrypted file that leads from released texts back to the originals. Who has no key learns counts at most.

    key = VaultKey.from_file("secret.key")
    with Vault.create("essays.vault", key) as vault:                # or Vault.open("essays.vault", key, write=True)
        vault.append(nlp(text), id="7")
    with Vault.open("essays.vault", key) as vault:
        reidentify(released, vault)                                 # the original, proved by its digest, or an error

A record is on the disk before `append` returns; a crash loses no document that was appended. Records are encrypted with
authentication and chained. A text is found by its keyed digest: of a text
that was changed nothing is restored. Keep the vault apart from what is released: where it lies, its key is all that protects.

The file:

    header   "PIIVAULT" | version u16 | length u16 | JSON: kdf, salt, key id | HMAC of all this
    record   length u32 | number u64 | HMAC | nonce | ciphertext | tag          big-endian, AES-256-GCM
               the HMAC and the tag cover: header, number, length, tag of the record before
    ...
    seal     a record that says how many documents there are; every session ends with one

What is told apart: a file that ends inside a record (or whose last record never reached the disk and is zeros) is *torn*, which a
crash does; anything else that does not fit is *changed*. A length is signed before it is trusted: a flipped bit in one must not
look like a torn end, since what follows would be thrown away. A record that is altered, removed, repeated, moved or from another
vault does not fit its neighbours. Records removed from the end leave a vault without a seal; if they are removed up to an earlier
seal, only somebody who noted the head (`Vault.head`, in report.json) can tell.
"""

import hashlib
import hmac
import json
import os
import secrets
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..errors import Errors, PiiError, PiiWarning, Warnings, reason_of
from ..offsets import Edit, OffsetMap, Replacement, apply_replacements
from .keys import SCRYPT_N, Keys, VaultKey, kind_of, new_lock, unlock

if TYPE_CHECKING:
    from spacy.tokens import Doc


MAGIC = b"PIIVAULT"
VERSION = 1
CIPHER = "AES-256-GCM"
_MAC, _NONCE, _TAG = 16, 12, 16
_HEAD = 4 + 8 + _MAC
_FIXED = len(MAGIC) + 2 + 2


class Frame(NamedTuple):
    """A record in the file.

    number (int): From 0.
    start (int), end (int): Its bytes, end exclusive.
    bound (bytes): What its tag covers besides its content.
    """

    number: int
    start: int
    end: int
    bound: bytes


def read_header(file: BinaryIO, path: Path) -> tuple[bytes, dict[str, Any]]:
    """RETURNS (tuple): All bytes of the header, and what it says of the keys, before anything is known of a key.

    RAISES (PiiError): E451, if it is none, or of another version.
    """
    fixed = file.read(_FIXED)
    if len(fixed) < _FIXED or not fixed.startswith(MAGIC):
        raise PiiError(Errors.E451, path=path, reason="how it begins")
    if (version := int.from_bytes(fixed[8:10], "big")) != VERSION:
        raise PiiError(Errors.E451, path=path, reason=f"version {version}")
    text = file.read(int.from_bytes(fixed[10:12], "big"))
    mac = file.read(_MAC)
    try:
        lock = json.loads(text.decode("ascii"))
        if (len(mac), lock["cipher"], len(bytes.fromhex(lock["salt"]))) != (_MAC, CIPHER, 32):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PiiError(Errors.E451, path=path, reason="what it says of its keys") from None
    return fixed + text + mac, lock


class Chain:
    """Makes and reads records, each of which belongs behind the one before.

    header (bytes): Of the file.
    path (Path): For messages.
    torn (bool): Whether the file that was read ends inside a record.
    """

    torn = False

    def __init__(self, header: bytes, keys: Keys, path: Path) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._aead, self._keys, self.path = AESGCM(keys.records), keys, path
        self._base = hashlib.sha256(header).digest()
        self.start = len(header)
        self.number, self.tag = 0, header[-_MAC:]

    def seal(self, data: bytes) -> tuple[bytes, bytes]:
        """RETURNS (tuple[bytes, bytes]): A record with this content, to stand behind the last one, and what its tag covers besides; the chain goes
        on from it."""
        bound, head = self._bound(_NONCE + len(data) + _TAG)
        nonce = os.urandom(_NONCE)
        body = nonce + self._aead.encrypt(nonce, data, bound)
        self.number, self.tag = self.number + 1, body[-_TAG:]
        return head + body, bound

    def read(self, file: BinaryIO) -> Iterator[tuple[Frame, bytes]]:
        """Read and check all records from the first on, up to a torn one; the chain stands behind the last one then.

        YIELDS (tuple[Frame, bytes]): Each record and its content.
        RAISES (PiiError): E457, if a record was changed.
        """
        pos, size = self.start, file.seek(0, os.SEEK_END)
        while pos < size:
            file.seek(pos)
            raw = file.read(_HEAD)
            bound, head = self._bound(int.from_bytes(raw[:4], "big"))
            end = pos + _HEAD + int.from_bytes(raw[:4], "big")
            is_signed = hmac.compare_digest(raw, head)
            if len(raw) < _HEAD or (is_signed and end > size):
                self.torn = True
                return
            body = file.read(end - pos - _HEAD) if is_signed else b""
            data = self._open(body, bound) if is_signed else None
            if data is None:
                # Blocks that never reached the disk are zeros: all from here on, or the end of the last record.
                last = is_signed and end == size and not any(body[-_TAG:])
                self.torn = last or (not any(raw) and _zeros(file))
                if self.torn:
                    return
                raise PiiError(Errors.E457, path=self.path, record=self.number)
            self.tag = body[-_TAG:]
            yield Frame(self.number, pos, end, bound), data
            self.number += 1
            pos = end

    def again(self, file: BinaryIO, frame: Frame) -> bytes:
        """RETURNS (bytes): The content of a record that was read before."""
        file.seek(frame.start + _HEAD)
        data = self._open(file.read(frame.end - frame.start - _HEAD), frame.bound)
        if data is None:
            raise PiiError(Errors.E457, path=self.path, record=frame.number)
        return data

    def _bound(self, length: int) -> tuple[bytes, bytes]:
        """What the tag of the next record covers besides its content, and what stands before its content."""
        plain = length.to_bytes(4, "big") + self.number.to_bytes(8, "big")
        bound = self._base + plain + self.tag
        return bound, plain + _sign(self._keys, b"record", bound)

    def _open(self, body: bytes, bound: bytes) -> bytes | None:
        from cryptography.exceptions import InvalidTag

        try:
            data: bytes = self._aead.decrypt(body[:_NONCE], body[_NONCE:], bound)
        except (InvalidTag, ValueError):
            return None
        return data


def fsync_folder(path: Path) -> None:
    """Make sure that a new name in a folder survives a crash, where the system can (Windows opens no folders)."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def refusals(path: Path, done: str) -> Iterator[None]:
    """RAISES (PiiError): E450, for what the system refuses."""
    try:
        yield
    except OSError as err:
        raise PiiError(Errors.E450, path=path, done=done, reason=reason_of(err)) from err


def _sign(keys: Keys, what: bytes, data: bytes) -> bytes:
    return hmac.new(keys.frames, what + b"|" + data, hashlib.sha256).digest()[:_MAC]


def _zeros(file: BinaryIO) -> bool:
    return not any(any(chunk) for chunk in iter(lambda: file.read(1 << 20), b""))


@dataclass(frozen=True, slots=True)
class Hidden:
    """A stretch of a released text, and what stood there.

    start, end (int): Characters, end exclusive; empty where something was removed. label (str): Of what was hidden.
    new, old (str): What stands there, and what stood there."""

    start: int
    end: int
    label: str
    new: str
    old: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Release:
    """A document and what it became.

    id (str): Its name in the corpus as released. old, new (str): The texts. hidden (tuple[Hidden, ...]): Sorted. scope (str): Within what equal values have
    equal surrogates: "document", "corpus", "thread:…". tokens (Mapping[str, Any] | None): From `pack_tokens`. given (tuple[str, Any]
    | None): Where `id` is a pseudonym, the column that it stands in, and what stood there."""

    id: str
    old: str = field(repr=False)
    new: str = field(repr=False)
    hidden: tuple[Hidden, ...] = ()
    scope: str = "document"
    tokens: Mapping[str, Any] | None = field(default=None, repr=False)
    given: tuple[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, doc: "Doc", *, id: str, scope: str = "document") -> "Release":
        """Of a document that `hips_surrogate` has worked on. RAISES (PiiError): E470, if it has not."""
        offsets, new = doc._.pii_offsets, doc._.deidentified
        if offsets is None or new is None:
            raise PiiError(Errors.E470, document=1)
        labels = {
            (row["start_char"], row["end_char"]): row["label"]
            for row in doc._.surrogate_spans or ()
        }
        return cls(id, doc.text, new, record_edits(doc.text, new, offsets, labels), scope)

    def as_read(self, pieces: Sequence[tuple[str, str]]) -> "Release":
        """The same for the text that is read where the new one was written.

        pieces (Sequence[tuple[str, str]]): All of the old text, and what is read in its place. A
            piece in which more differs than what was hidden is hidden as a whole."""
        read = "".join(new for _, new in pieces)
        if read == self.new:
            return self
        offsets, starts = offsets_of(self.hidden, len(self.new)), [h.start for h in self.hidden]
        found, at, to = list[Hidden](), 0, 0
        for old, new in pieces:
            start, end = offsets.part_to_new(at, at + len(old))
            near = self.hidden[bisect_left(starts, start) : bisect_right(starts, end)]
            inside = [
                replace(h, start=h.start - start, end=h.end - start) for h in near if h.end <= end
            ]
            if self.new[start:end] != new or try_restore(new, inside) != old:
                inside = [Hidden(0, len(new), "", new, old)] if old != new else []
            found += [replace(h, start=h.start + to, end=h.end + to) for h in inside]
            at, to = at + len(old), to + len(new)
        return replace(self, new=read, hidden=tuple(found))


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the vault.

    released, original (str): Digests of the two texts. id, scope, hidden, tokens, given: As in `Release`."""

    id: str
    scope: str
    released: str
    original: str
    hidden: tuple[Hidden, ...] = ()
    tokens: Mapping[str, Any] | None = field(default=None, repr=False)
    given: tuple[str, Any] | None = field(default=None, repr=False)

    def to_bytes(self) -> bytes:
        """JSON; equal entries give equal bytes."""
        data: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        data["hidden"] = [astuple(hidden) for hidden in self.hidden]
        for name in ("tokens", "given"):
            if not data[name]:
                del data[name]
        return json.dumps({"document": data}, sort_keys=True).encode("ascii")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Entry":
        """RETURNS (Entry): What `to_bytes` wrote, read as JSON."""
        given = tuple(data["given"]) if "given" in data else None
        hidden = tuple(Hidden(*row) for row in data["hidden"])
        return cls(**{**data, "hidden": hidden, "given": given})


def record_edits(
    old: str, new: str, offsets: OffsetMap, labels: Mapping[tuple[int, int], str]
) -> tuple[Hidden, ...]:
    """What was replaced in a text, in order; stretches that stayed the same are left out. labels: Label of a stretch of the new text."""
    return tuple(
        Hidden(a, b, labels.get((a, b), ""), new[a:b], old[start:end])
        for start, end, a, b in offsets.edits
        if old[start:end] != new[a:b]
    )


def offsets_of(hidden: Sequence[Hidden], length: int) -> OffsetMap:
    """RETURNS (OffsetMap): From the old text to the new one. length (int): Characters of the new one."""
    shift, edits = 0, list[Edit]()
    for h in hidden:
        edits.append(Edit(h.start - shift, h.start - shift + len(h.old), h.start, h.end))
        shift += h.end - h.start - len(h.old)
    return OffsetMap(length - shift, length, tuple(edits))


def try_restore(new: str, hidden: Iterable[Hidden]) -> str | None:
    """RETURNS (str | None): The old text; None if the stretches do not fit the new one."""
    try:
        return apply_replacements(new, [Replacement(h.start, h.end, h.old) for h in hidden])[0]
    except PiiError:
        return None


def pack_tokens(
    tokens: Sequence[str], spaces: Sequence[bool], labels: Sequence[str] | None
) -> dict[str, Any]:
    """Tokens without their text, for `unpack_tokens`. tokens, spaces, labels: As a record in Kaggle's form has them."""
    packed: dict[str, Any] = {
        "lengths": [len(t) for t in tokens],
        "spaces": "".join("01"[bool(s)] for s in spaces),
    }
    if labels is not None:
        packed["labels"] = [[i, label] for i, label in enumerate(labels) if label != "O"]
    return packed


def unpack_tokens(old: str, packed: Mapping[str, Any]) -> dict[str, Any]:
    """tokens, trailing_whitespace and labels of the old text, as the record had them."""
    spaces = [mark == "1" for mark in packed["spaces"]]
    tokens, at = list[str](), 0
    for length, space in zip(packed["lengths"], spaces, strict=True):
        tokens.append(old[at : at + length])
        at += length + space
    fields: dict[str, Any] = {"tokens": tokens, "trailing_whitespace": spaces}
    if "labels" in packed:
        labels = dict(packed["labels"])
        fields["labels"] = [labels.get(i, "O") for i in range(len(tokens))]
    return fields


class Vault(AbstractContextManager["Vault"]):
    """An open vault; see `create` and `open`. Not for several threads at a time.

    path (Path): The file. writing (bool): Whether documents can be added. id_field (str): The column in which IDs became pseudonyms."""

    def __init__(
        self, path: Path, file: BinaryIO, lock: dict[str, Any], chain: Chain, *, writing: bool
    ) -> None:
        self.path, self.writing = path, writing
        self.key_id, self.vault_id = str(lock["key_id"]), str(lock["salt"])[:16]
        self.id_field = ""
        self.seals: list[str] = []
        self.sealed = False
        self._file, self._chain, self._end = file, chain, chain.start
        self._digest_key = b""
        self._frames: list[Frame] = []  # of documents
        self._released: dict[str, list[Frame]] = {}  # by digest of the released text
        self._contents: set[bytes] = set()  # digests

    def __reduce__(self) -> Any:
        raise PiiError(Errors.E471)

    @classmethod
    def create(
        cls,
        path: str | Path,
        key: VaultKey,
        *,
        scrypt_n: int = SCRYPT_N,
        like: "Vault | None" = None,
    ) -> "Vault":
        """Make a new vault, which only its owner can read, and open it for writing.

        scrypt_n (int): Cost of a guess at a passphrase. like (Vault | None): An open vault whose records `adopt` can take over.
        RAISES (PiiError): E510, if the file exists; E450, if it cannot be written; E005, if the package cryptography is missing."""
        path = Path(path)
        keys, lock = new_lock(key, scrypt_n=scrypt_n)
        text = json.dumps({"cipher": CIPHER, **lock}, sort_keys=True).encode("ascii")
        raw = MAGIC + VERSION.to_bytes(2, "big") + len(text).to_bytes(2, "big") + text
        header = raw + _sign(keys, b"header", raw)
        with ExitStack() as stack, refusals(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file: BinaryIO = open(path, "x+b", opener=partial(os.open, mode=0o600))  # noqa: SIM115
            except FileExistsError as err:
                raise PiiError(Errors.E510, what=f"'{path}'") from err
            stack.callback(file.close)
            vault = cls(path, file, lock, Chain(header, keys, path), writing=True)
            vault._lock()
            file.write(header)
            vault._begin(like._digest_key if like else b"")
            stack.pop_all()
        return vault

    @classmethod
    def open(
        cls, path: str | Path, key: VaultKey, *, write: bool = False, unfinished: bool = False
    ) -> "Vault":
        """Open a vault, and check all of it.

        write (bool): Whether documents will be added. What a crash has left is put right then, with a warning.
        unfinished (bool): Whether a vault whose last session was not closed may be read.
        RAISES (PiiError): E450, E451 for the file; E453 for the key; E457, if a record was changed; for
        reading, E456 if the file ends inside a record or was not closed; for writing, E462 if another process does."""
        path = Path(path)
        with refusals(path, "opened"):
            file: BinaryIO = open(path, "r+b" if write else "rb")  # noqa: SIM115  (the vault closes it)
        with ExitStack() as stack, refusals(path, "read"):
            stack.callback(file.close)
            header, lock = read_header(file, path)
            keys = unlock(key, lock, path=path)
            if not hmac.compare_digest(_sign(keys, b"header", header[:-_MAC]), header[-_MAC:]):
                raise PiiError(Errors.E451, path=path, reason="it was changed")
            vault = cls(path, file, lock, Chain(header, keys, path), writing=write)
            if write:
                vault._lock()
            vault._scan(unfinished=unfinished)
            stack.pop_all()
        return vault

    @property
    def documents(self) -> int:
        """RETURNS (int): How many records it holds."""
        return len(self._frames)

    @property
    def head(self) -> str:
        """Tag of the last record. Whoever notes it can tell later that nothing was removed up to there."""
        return self._chain.tag.hex()

    def digest(self, what: str, text: str) -> str:
        """HMAC-SHA256 of a text under a key that only the vault holds. what (str): "released" or "original"."""
        data = what.encode() + b"|" + text.encode("utf8", "surrogatepass")
        return hmac.new(self._digest_key, data, hashlib.sha256).hexdigest()

    def sync(self) -> None:
        """Wait until all that was appended is on the disk. RAISES (PiiError): E450, if the disk refuses."""
        self._check(writing=True)
        with refusals(self.path, "written"):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self, *, seal: bool = True) -> None:
        """Close the file. seal (bool): Whether the session ends well; if not, the vault must be opened for writing before it can be read."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        err: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(seal=kind is None)

    def append(
        self, document: "Doc | Release", *, id: str = "", scope: str = "document", sync: bool = True
    ) -> bool:
        """Add a document. It is proved first that its text comes back.

        document (Doc | Release): A Doc that `hips_surrogate` has worked on needs `id` and `scope`; see `Release`.
        sync (bool): Whether to wait for the disk; if not, call `sync` before the new text leaves the process.
        RETURNS (bool): Whether it was added; the same once more is not.
        RAISES (PiiError): E470, if its spans do not lead back; E450, if the disk refuses; E469, if the vault is open for reading."""
        self._check(writing=True)
        release = (
            document if isinstance(document, Release) else Release.of(document, id=id, scope=scope)
        )
        if try_restore(release.new, release.hidden) != release.old:
            raise PiiError(Errors.E470, document=self.documents + 1)
        added = self.adopt(
            Entry(
                release.id,
                release.scope,
                self.digest("released", release.new),
                self.digest("original", release.old),
                release.hidden,
                release.tokens,
                release.given,
            )
        )
        if added and sync:
            self.sync()
        return added

    def adopt(self, entry: Entry) -> bool:
        """Add a record whose digests are of this vault's key; see `create`. RETURNS (bool): Whether it was added."""
        self._check(writing=True)
        data = entry.to_bytes()
        if hashlib.sha256(data).digest() in self._contents:
            return False
        self._note(entry, data, self._write(data))
        return True

    def find(
        self, text: str, *, id: str | None = None, document: int = 1, order: "Order | None" = None
    ) -> Entry:
        """The record of a text as it was released, character for character.

        id (str | None): Tells equal texts of different originals apart. document (int): Its number, for messages. order (Order | None): Of the
        release; tells apart those that have no ids.
        RAISES (PiiError): E458, if there is none; E460, if there are
        several for different originals."""
        self._check()
        found = [
            self._entry(frame) for frame in self._released.get(self.digest("released", text), ())
        ]
        if not found:
            raise PiiError(Errors.E458, document=document)
        named = [entry for entry in found if entry.id == id]
        found, is_named = named or found, id is None or bool(named)
        if len({entry.original for entry in found}) == 1:
            return found[0]
        if order is None or not is_named:
            raise PiiError(Errors.E460, document=document, n=len(found))
        return order.next_of(found, document)

    def restore(self, text: str, entry: Entry, document: int = 1) -> str:
        """The original of a text by its record, proved by its digest. RAISES (PiiError): E461."""
        old = try_restore(text, entry.hidden)
        if old is None or not hmac.compare_digest(self.digest("original", old), entry.original):
            raise PiiError(Errors.E461, document=document)
        return old

    def lookup(self, new: str, *, id: str | None = None, scope: str | None = None) -> list[str]:
        """What a surrogate or a pseudonym (`[STUDENT_1]`) stands for in the document `id`, or within `scope`.

        RETURNS (list[str]): Originals, each once, in the order of the vault; several where two documents use the same one."""
        found: dict[str, None] = {}
        for entry in self.entries():
            if id in (None, entry.id) and scope in (None, entry.scope):
                found |= dict.fromkeys(h.old for h in entry.hidden if h.new == new)
        return list(found)

    def entries(self) -> Iterator[Entry]:
        """All records of documents, in the order in which they were added."""
        self._check()
        for frame in self._frames:
            yield self._entry(frame)

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
        self._digest_key = digest_key or secrets.token_bytes(32)
        self._write(json.dumps({"vault": {"digest_key": self._digest_key.hex()}}).encode("ascii"))
        self.sync()
        fsync_folder(self.path.parent)

    def _scan(self, *, unfinished: bool) -> None:
        """Read all records; put right what a crash has left, or refuse."""
        for frame, data in self._chain.read(self._file):
            self._take(frame, data)
            self._end = frame.end
        torn, number = self._chain.torn, self._chain.number
        if not self.writing:
            if torn or not (self.sealed or unfinished):
                raise PiiError(Errors.E456, path=self.path, record=number)
            return
        if torn:
            self._file.truncate(self._end)
        if torn or not self.sealed:
            told = Warnings.W451.format(path=self.path, documents=self.documents)
            warnings.warn(told, PiiWarning, stacklevel=3)
        if not self._digest_key:
            self._begin()

    def _take(self, frame: Frame, data: bytes) -> None:
        try:
            ((kind, value),) = json.loads(data).items()
            self.sealed = kind == "seal"
            if kind == "vault" and frame.number == 0:
                self._digest_key = bytes.fromhex(value["digest_key"])
            elif kind == "seal" and value["documents"] == self.documents:
                self.seals.append(self.head)
            elif kind == "document" and self._digest_key:
                self._note(Entry.from_dict(value), data, frame)
            else:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError):
            raise PiiError(Errors.E457, path=self.path, record=frame.number) from None

    def _note(self, entry: Entry, data: bytes, frame: Frame) -> None:
        self._frames.append(frame)
        self._released.setdefault(entry.released, []).append(frame)
        self._contents.add(hashlib.sha256(data).digest())
        self.id_field = entry.given[0] if entry.given else self.id_field
        self.sealed = False

    def _entry(self, frame: Frame) -> Entry:
        if self.writing:
            self._file.flush()
        return Entry.from_dict(json.loads(self._chain.again(self._file, frame))["document"])

    def _write(self, data: bytes) -> Frame:
        number, start = self._chain.number, self._end
        record, bound = self._chain.seal(data)
        # Should this fail, disk and memory differ: the next one to open it puts it right.
        self.writing = False
        with refusals(self.path, "written"):
            self._file.seek(start)
            self._file.write(record)
        self.writing = True
        self._end += len(record)
        return Frame(number, start, self._end, bound)

    def _check(self, *, writing: bool = False) -> None:
        if self._file.closed or (writing and not self.writing):
            state = "closed" if self._file.closed else "open for reading"
            raise PiiError(Errors.E469, state=state, needed="writing" if writing else "reading")


@dataclass(slots=True)
class Order:
    """Tells apart equal texts of different originals, without ids: they stand as in the vault, if none of them is gone.

    groups (dict[tuple[str, ...], tuple[int, int, int]]): By released text and ids in the vault: how
        many were taken, how many there are, the last document.
    """

    groups: dict[tuple[str, ...], tuple[int, int, int]] = field(default_factory=dict)

    def next_of(self, found: Sequence[Entry], document: int) -> Entry:
        """RETURNS (Entry): The first of these records that was not taken."""
        key = found[0].released, *(entry.id for entry in found)
        taken = self.groups.get(key, (0,))[0]
        self.groups[key] = taken + 1, len(found), document
        return found[min(taken, len(found) - 1)]

    def check(self) -> None:
        """When all is read. RAISES (PiiError): E460, if texts are missing, or there are more."""
        for taken, n, document in self.groups.values():
            if taken != n:
                raise PiiError(Errors.E460, document=document, n=n)


def reidentify(
    document: "Doc | str", vault: Vault, *, id: str | None = None, number: int = 1
) -> str:
    """The original of a text as it was released; its digest is the one that was taken before anything was replaced.

    id (str | None): Its id, where the vault has equal texts. number (int): Of the document, for messages.
    RAISES (PiiError): E458 to E461."""
    text = document if isinstance(document, str) else document.text
    return vault.restore(text, vault.find(text, id=id, document=number), number)


def vault_kind(path: str | Path) -> str:
    """ "key" or "passphrase": what opens a vault. RAISES (PiiError): E450, E451."""
    with refusals(Path(path), "opened"), open(path, "rb") as file:
        return kind_of(read_header(file, Path(path))[1], path=Path(path))


# Care of a vault: what is in it, is it whole, a new key.


def info(path: str | Path, key: VaultKey) -> dict[str, Any]:
    """What a vault says of itself, without text, ids or names. One whose session was not closed is read too.

    RETURNS (dict[str, Any]): vault, key id, what opens it, bytes, whether it is closed, sessions, documents, spans per label, head."""
    labels: Counter[str] = Counter()
    with Vault.open(path, key, unfinished=True) as vault:
        for entry in vault.entries():
            labels.update(hidden.label or "(no label)" for hidden in entry.hidden)
    return {
        "vault": vault.vault_id,
        "key_id": vault.key_id,
        "opens_with": key.kind,
        "bytes": vault.path.stat().st_size,
        "closed": vault.sealed,
        "sessions": len(vault.seals),
        "documents": vault.documents,
        "spans": dict(sorted(labels.items())),
        "head": vault.head,
    }


def verify(
    path: str | Path, key: VaultKey, *, head: str = "", repair: bool = False
) -> dict[str, Any]:
    """Check every record of a vault that was closed: its tag, its place, and that its stretches can be put back.

    head (str): As report.json or `info` gave it; a vault that was cut back to before it is refused.
    repair (bool): Whether to put right what a crash has left: drop a record that was cut off, close the session. Whole
        records stay, and a changed one stays an error.
    RETURNS (dict[str, Any]): documents, sessions, head.
    RAISES (PiiError): E450 to E457; E461, if a record cannot be put back; E467 for the head.
    """
    with Vault.open(path, key, write=repair) as vault:
        for number, entry in enumerate(vault.entries(), 1):
            # The released text is not here; one of the right length shows whether the stretches fit together.
            length = max((hidden.end for hidden in entry.hidden), default=0)
            if try_restore(" " * length, entry.hidden) is None:
                raise PiiError(Errors.E461, document=number)
        if head and head.lower() not in vault.seals:
            raise PiiError(Errors.E467, head=head)
    return {"documents": vault.documents, "sessions": len(vault.seals), "head": vault.head}


def rotate(path: str | Path, key: VaultKey, new_key: VaultKey, *, scrypt_n: int = SCRYPT_N) -> int:
    """Encrypt a vault anew with another key. The new file is read back as a whole before it takes the place of the old one;
    copies of the old file still open with the old key.

    RETURNS (int): Documents in the vault. RAISES (PiiError): As `Vault.open`; E510, if `<VAULT>.new` is there. The old file
    stays then."""
    path = Path(path)
    with Vault.open(path, key):
        pass  # one that was cut off or not closed is refused; below, it would be put right in silence
    fresh = path.with_name(path.name + ".new")
    with Vault.open(path, key, write=True) as old:
        new = Vault.create(fresh, new_key, scrypt_n=scrypt_n, like=old)
        try:
            with refusals(path, "written"):
                with new:
                    for entry in old.entries():
                        new.adopt(entry)
                with Vault.open(fresh, new_key) as check:
                    if list(check.entries()) != list(old.entries()):
                        raise PiiError(Errors.E461, document=1)
                os.replace(fresh, path)
        finally:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
        fsync_folder(path.parent)
        return old.documents
