"""Where chance comes from: a secret key, and a stream of numbers for each value.

    >>> from pii_components.surrogates.keys import SurrogateKey
    >>> chance = SurrogateKey(b"0123456789abcdef", scope="corpus")
    >>> chance.rng("EMAIL", "ana@example.org").random() == chance.rng("EMAIL", "ana@example.org").random()
    True

A stream begins with HMAC-SHA256(key, scope | label | value | attempt): what a value becomes depends on nothing else, neither the
order of documents nor the batch, the process or PYTHONHASHSEED. Without the key nobody can try names out and see what they
become.
"""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any, TypeVar

from ..errors import Errors, PiiError, Warnings, warn
from ..names.table import Source

__all__ = ["pick"]

KEY_ENV = "PII_EDU_KEY"
MIN_KEY_BYTES, _MIN_DIFFERENT = 16, 5
T = TypeVar("T")
_WORDS = Struct("<4Q").unpack
_SIZE = Struct(">I").pack


def load_key(*, path: str | Path | None = None, env: str | None = KEY_ENV) -> bytes | None:
    """The secret key, from a file (white space at its ends does not count) or else from an environment variable; None if
    neither is given. RAISES (PiiError): E401 if the file cannot be read, E402 if the key is too short.
    """
    if path is not None:
        try:
            with open(path, "rb") as file:
                key, mode = file.read().strip(), os.fstat(file.fileno()).st_mode
        except OSError as err:
            about = {"path": path, "reason": type(err).__name__, "least": MIN_KEY_BYTES}
            raise PiiError(Errors.E401, **about) from None
        if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
            warn(Warnings.W403, path=path)
        return check_key(key, source="the key file")
    key = os.environ.get(env or "", "").strip().encode("utf8")
    return check_key(key, source=f"the environment variable {env}") if key else None


def check_key(key: bytes, *, source: str) -> bytes:
    """RETURNS (bytes): The key as it is. RAISES (PiiError): E402 if it is too short, or too much alike, to be a secret."""
    different = len(set(key))
    if len(key) < MIN_KEY_BYTES or different < _MIN_DIFFERENT:
        about = {"length": len(key), "different": different, "least": MIN_KEY_BYTES}
        raise PiiError(Errors.E402, source=source, **about)
    return key


def key_fingerprint(key: bytes) -> str:
    """64 bits of an HMAC under the key: enough to tell keys apart, and nothing that a surrogate is made from."""
    return hmac.new(key, b"pii-edu|fingerprint of the key", "sha256").hexdigest()[:16]


def random_key() -> bytes:
    return secrets.token_bytes(32)


class KeyedRng:
    """Numbers from a digest of 32 bytes: its four words, then those of SHA-256 of it and a counter. To seed a `random.Random`
    costs as much as a hundred of them, and a surrogate needs few.
    """

    __slots__ = ("seed", "_numbers", "_block")

    def __init__(self, seed: bytes) -> None:
        self.seed = seed
        self._numbers = [*_WORDS(seed)]
        self._block = 0

    def random(self) -> float:
        """RETURNS (float): At least 0, below 1: 53 bits."""
        if not self._numbers:
            self._block += 1
            self._numbers = [*_WORDS(hashlib.sha256(self.seed + _SIZE(self._block)).digest())]
        return (self._numbers.pop() >> 11) * 2.0**-53


@dataclass(frozen=True)
class SurrogateKey:
    """A key, which is never shown, and a scope, within what equal values get equal surrogates: "corpus", a thread's or author's
    id, a document's digest.
    """

    key: bytes = field(repr=False)
    scope: str = ""

    def digest(self, *parts: str) -> bytes:
        """HMAC-SHA256 of the parts, each with its length before it, so that no two lists look alike."""
        encoded = [part.encode("utf8", "surrogatepass") for part in parts]
        message = b"".join([_SIZE(len(part)) + part for part in encoded])
        return hmac.digest(self.key, message, "sha256")

    def rng(self, label: str, value: str, *, attempt: int = 0) -> KeyedRng:
        """A stream of numbers for one value.

        label (str): A label, or what the numbers are for. value (str): Normalised: what shall count as equal must be equal here.
        attempt (int): Another stream for the same value, when the first one gave something unfit.
        """
        return KeyedRng(self.digest(self.scope, label, value, str(attempt)))

    def order(self, value: str) -> bytes:
        """A secret place in line: who comes first when two values want the same surrogate."""
        return self.digest(self.scope, "order", value)

    def token(self, label: str, value: str) -> str:
        """A pseudonym that only who has the key can compute: 40 bits of the digest, as hexadecimal digits."""
        return self.digest(self.scope, "token", label, value).hex()[:10]

    def within(self, scope: str) -> "SurrogateKey":
        """The same key in another scope."""
        return SurrogateKey(self.key, scope)


def pick(rng: Source, options: Sequence[T]) -> T:
    """One of the options; unlike `choice`, from one call of `random()`."""
    return options[int(rng.random() * len(options))]


class Secret:
    """The key of a component: given, or from a file, else an environment variable, else made for this run. It is in no pickle."""

    _key: bytes | None

    def __init__(self, *, path: str | None = None, env: str | None = KEY_ENV) -> None:
        self.look_again(path=path, env=env)
        # Made now and not when it is first needed, so that processes that are forked share it.
        self._run_key = random_key()
        self._print, self._warned = b"", False

    def give(self, key: bytes) -> None:
        """Use a key of at least 16 bytes instead of a file or a variable, with the same checks. RAISES (PiiError): E402 if it is shorter,
        white space at its ends not counted; E650 if it is of another type."""
        if not isinstance(key, bytes | bytearray):
            value = f"of type {type(key).__name__}"
            raise PiiError(Errors.E650, name="key", value=value, allowed="bytes")
        check_key(key.strip(), source="set_key")
        self._key, self._print = bytes(key), b""

    def look_again(self, *, path: str | None, env: str | None) -> None:
        """Forget the key; look for it in this file or variable."""
        self.path, self.env = path, env
        self._key = None

    def get(self) -> bytes:
        """RETURNS (bytes): The key. RAISES (PiiError): E401, E402; E475, if this is a copy, and the key is not to be found."""
        if self._key is None:
            self._key = load_key(path=self.path, env=self.env)
            if self._print and (self._key is None or _print(self._key) != self._print):
                self._key = None
                cure = f"put the key into a file (key_file) or into {self.env or KEY_ENV}"
                raise PiiError(Errors.E475, lacks="the key", cure=cure)
        if self._key is None and not self._warned:
            self._warned = True
            warn(Warnings.W401, env=self.env or KEY_ENV)
        return self._key or self._run_key

    def chance(self) -> SurrogateKey:
        return SurrogateKey(self.get())

    def __getstate__(self) -> dict[str, Any]:
        key = self._key or load_key(path=self.path, env=self.env) or self._run_key
        return {"path": self.path, "env": self.env, "print": self._print or _print(key)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(path=state["path"], env=state["env"])  # type: ignore[misc]
        self._print = state["print"]


def _print(key: bytes) -> bytes:
    """What tells a key from others, and tells nothing about it."""
    return SurrogateKey(key).digest("which key")[:8]
