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
    """A record in the file.

    number (int): From 0.
    start (int), end (int): Its bytes, end exclusive.
    before (bytes): Tag of the record before it.
    tag (bytes): Its own tag.
    """

    number: int
    start: int
    end: int
    before: bytes
    tag: bytes


def make_header(keys: Keys, lock: dict[str, Any]) -> Header:
    text = json.dumps({"cipher": CIPHER, **lock}, sort_keys=True).encode("ascii")
    raw = MAGIC + VERSION.to_bytes(2, "big") + len(text).to_bytes(2, "big") + text
    return Header(raw + _sign(keys, b"header", raw), lock)


def read_header(file: BinaryIO, path: Path) -> Header:
    """The header, before anything is known of a key. RAISES (PiiError): E451, if it is none; E468, if it is of another version."""
    fixed = file.read(_FIXED)
    if len(fixed) < _FIXED or not fixed.startswith(MAGIC):
        raise PiiError(Errors.E451, path=path)
    if (version := int.from_bytes(fixed[8:10], "big")) != VERSION:
        raise PiiError(Errors.E468, path=path, what=f"version {version}")
    text = file.read(int.from_bytes(fixed[10:12], "big"))
    mac = file.read(_MAC)
    try:
        lock = json.loads(text.decode("ascii"))
        if (len(mac), lock["cipher"], len(bytes.fromhex(lock["salt"]))) != (_MAC, CIPHER, 32):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PiiError(Errors.E451, path=path) from None
    return Header(fixed + text + mac, lock)


def check_header(header: Header, keys: Keys, path: Path) -> None:
    """RAISES (PiiError): E451, if the header is not the one that was written with these keys."""
    if not hmac.compare_digest(_sign(keys, b"header", header.raw[:-_MAC]), header.raw[-_MAC:]):
        raise PiiError(Errors.E451, path=path)


class Chain:
    """Makes and reads records, each of which belongs behind the one before.

    path (Path): For messages.
    torn (bool): Whether the file that was read ends inside a record.
    """

    torn = False

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
            frame = Frame(self.number, pos, end, self.tag, body[-_TAG:])
            self.tag = frame.tag
            yield frame, data
            self.number += 1
            pos = end

    def again(self, file: BinaryIO, frame: Frame) -> bytes:
        """RETURNS (bytes): The content of a record that was read before."""
        file.seek(frame.start)
        raw = file.read(frame.end - frame.start)
        bound, head = self._bound(len(raw) - _HEAD, frame)
        data = self._open(raw[_HEAD:], bound) if raw[:_HEAD] == head else None
        if data is None:
            raise PiiError(Errors.E457, path=self.path, record=frame.number)
        return data

    def _bound(self, length: int, frame: Frame | None = None) -> tuple[bytes, bytes]:
        """What the tag of a record covers besides its content, and what stands before its content.

        frame (Frame | None): A record that was read before; None for the next one.
        """
        number, before = (frame.number, frame.before) if frame else (self.number, self.tag)
        plain = length.to_bytes(4, "big") + number.to_bytes(8, "big")
        bound = self._base + plain + before
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
