"""The file of a vault: a header, then records that are encrypted and chained.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import Errors, PiiError, reason_of
from .keys import Keys

MAGIC = b"PIIVAULT"
VERSION = 1
CIPHER = "AES-256-GCM"
_MAC, _NONCE, _TAG = 16, 12, 16
_HEAD = 4 + 8 + _MAC
_FIXED = len(MAGIC) + 2 + 2
_MOST = (1 << 32) - 1


class Header(NamedTuple):
    """The header of a vault: all its bytes, and what it says of the keys."""

    raw: bytes
    lock: dict[str, Any]


class Frame(NamedTuple):
    """A record in the file: its number from 0, its bytes (end exclusive), its tag, and its content in clear."""

    number: int
    start: int
    end: int
    tag: bytes
    data: bytes


class Torn(Exception):
    """The file ends in the middle of a record."""

    def __init__(self, number: int, start: int) -> None:
        super().__init__(number, start)
        self.number, self.start = number, start


def make_header(keys: Keys, lock: dict[str, Any]) -> Header:
    text = json.dumps({"cipher": CIPHER, **lock}, sort_keys=True).encode("ascii")
    raw = MAGIC + VERSION.to_bytes(2, "big") + len(text).to_bytes(2, "big") + text
    return Header(raw + _sign(keys, b"header", raw), lock)


def read_header(file: BinaryIO, path: Path) -> Header:
    """The header, before anything is known of a key. RAISES (PiiError): E451, if it is none; E452, if it is of another version."""
    fixed = file.read(_FIXED)
    if len(fixed) < _FIXED or not fixed.startswith(MAGIC):
        raise PiiError(Errors.E451, path=path)
    if (version := int.from_bytes(fixed[8:10], "big")) != VERSION:
        raise PiiError(Errors.E452, path=path, version=version, allowed=VERSION)
    text = file.read(int.from_bytes(fixed[10:12], "big"))
    mac = file.read(_MAC)
    try:
        lock = json.loads(text.decode("ascii"))
        whole = (
            len(mac) == _MAC and lock["cipher"] == CIPHER and len(bytes.fromhex(lock["salt"])) == 32
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        whole = False
    if not whole:
        raise PiiError(Errors.E451, path=path)
    return Header(fixed + text + mac, lock)


def check_header(header: Header, keys: Keys, path: Path) -> None:
    """RAISES (PiiError): E451, if the header is not the one that was written with these keys."""
    if not hmac.compare_digest(_sign(keys, b"header", header.raw[:-_MAC]), header.raw[-_MAC:]):
        raise PiiError(Errors.E451, path=path)


class Chain:
    """Makes and reads records, each of which belongs behind the one before. path (Path): For messages."""

    def __init__(self, header: Header, keys: Keys, path: Path) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._aead, self._keys, self.path = AESGCM(keys.records), keys, path
        self._base = hashlib.sha256(header.raw).digest()
        self.start = len(header.raw)
        self.number, self.tag = 0, header.raw[-_MAC:]

    def seal(self, data: bytes) -> bytes:
        """A record with this content, to stand behind the last one; the chain goes on from it."""
        length = _NONCE + len(data) + _TAG
        if length > _MOST:
            raise PiiError(
                Errors.E450, path=self.path, done="written", reason="a record is too long"
            )
        bound, head = self._bound(length)
        nonce = os.urandom(_NONCE)
        body = nonce + self._aead.encrypt(nonce, data, bound)
        self.number, self.tag = self.number + 1, body[-_TAG:]
        return head + body

    def read(self, file: BinaryIO) -> Iterator[Frame]:
        """Read and check all records from the first on; the chain stands behind the last one then. RAISES (Torn): If the file
        ends inside a record. PiiError: E457, if a record was changed."""
        pos, size = self.start, file.seek(0, os.SEEK_END)
        while pos < size:
            file.seek(pos)
            raw = file.read(_HEAD)
            bound, head = self._bound(int.from_bytes(raw[:4], "big"))
            if len(raw) < _HEAD:
                raise Torn(self.number, pos)
            if not hmac.compare_digest(raw, head):
                if not any(raw) and _zeros(file):
                    raise Torn(self.number, pos)
                raise PiiError(Errors.E457, path=self.path, record=self.number)
            end = pos + _HEAD + int.from_bytes(raw[:4], "big")
            if end > size:
                raise Torn(self.number, pos)
            body = file.read(end - pos - _HEAD)
            data = self._open(body, bound)
            if data is None:
                if end == size and not any(body[-_TAG:]):
                    raise Torn(self.number, pos)
                raise PiiError(Errors.E457, path=self.path, record=self.number)
            self.tag = body[-_TAG:]
            yield Frame(self.number, pos, end, self.tag, data)
            self.number += 1
            pos = end

    def again(self, file: BinaryIO, frame: Frame, before: bytes) -> bytes:
        """The content of a record that was read before. before (bytes): Tag of the record before it."""
        file.seek(frame.start)
        raw = file.read(frame.end - frame.start)
        bound, head = self._bound(len(raw) - _HEAD, frame.number, before)
        data = self._open(raw[_HEAD:], bound) if raw[:_HEAD] == head else None
        if data is None:
            raise PiiError(Errors.E457, path=self.path, record=frame.number)
        return data

    def _bound(
        self, length: int, number: int | None = None, before: bytes = b""
    ) -> tuple[bytes, bytes]:
        """What the tag of a record covers besides its content, and what stands before its content."""
        plain = length.to_bytes(4, "big") + (self.number if number is None else number).to_bytes(
            8, "big"
        )
        bound = self._base + plain + (before or self.tag)
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
    while chunk := file.read(1 << 20):
        if any(chunk):
            return False
    return True
