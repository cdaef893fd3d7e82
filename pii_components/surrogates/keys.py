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
                key, source = file.read().strip(), "the key file"
                mode = os.fstat(file.fileno()).st_mode
        except OSError as err:
            raise PiiError(
                Errors.E401, path=path, reason=type(err).__name__, least=MIN_KEY_BYTES
            ) from None
        if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
            warn(Warnings.W403, path=path)
    elif env and os.environ.get(env):
        key, source = os.environ[env].strip().encode("utf8"), f"the environment variable {env}"
    else:
        return None
    return check_key(key, source=source)


def check_key(key: bytes, *, source: str) -> bytes:
    """RETURNS (bytes): The key as it is. RAISES (PiiError): E402 if it is too short, or too much alike, to be a secret."""
    different = len(set(key))
    if len(key) < MIN_KEY_BYTES or different < _MIN_DIFFERENT:
        about = {"length": len(key), "different": different, "least": MIN_KEY_BYTES}
        raise PiiError(Errors.E402, source=source, **about)
    return key


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
        return hmac.digest(self.key, _message(parts), "sha256")

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


def _message(parts: Sequence[str]) -> bytes:
    encoded = [part.encode("utf8", "surrogatepass") for part in parts]
    return b"".join([_SIZE(len(part)) + part for part in encoded])


def pick(rng: Source, options: Sequence[T]) -> T:
    """One of the options; unlike `choice`, from one call of `random()`."""
    return options[int(rng.random() * len(options))]


class Secret:
    """The key of a component: given, or from a file, else an environment variable, else made for this run. It is in no pickle."""

    def __init__(self, *, path: str | None = None, env: str | None = KEY_ENV) -> None:
        self.path, self.env = path, env
        self._key: bytes | None = None
        # Made now and not when it is first needed, so that processes that are forked share it.
        self._run_key: bytes | None = random_key()
        self._print = b""
        self._warned = False

    def give(self, key: bytes) -> None:
        """Use a key of at least 16 bytes instead of a file or a variable, with the same checks. RAISES (PiiError): E402 if it is shorter,
        white space at its ends not counted; E650 if it is of another type."""
        if not isinstance(key, bytes | bytearray):
            raise PiiError(
                Errors.E650, name="key", value=f"of type {type(key).__name__}", allowed="bytes"
            )
        check_key(key.strip(), source="set_key")
        self._key, self._print = bytes(key), b""

    def look_again(self, *, path: str | None, env: str | None) -> None:
        """Forget the key; look for it in this file or variable."""
        self.path, self.env, self._key = path, env, None

    def get(self) -> bytes:
        """RETURNS (bytes): The key. RAISES (PiiError): E401, E402; E475, if this is a copy, and the key is not to be found."""
        if self._key is None:
            found = load_key(path=self.path, env=self.env)
            if self._print and (
                found is None or not hmac.compare_digest(_print(found), self._print)
            ):
                raise PiiError(
                    Errors.E475,
                    lacks="the key",
                    cure=f"put the key into a file (key_file) or into {self.env or KEY_ENV}",
                )
            self._key = found
        if self._key is not None:
            return self._key
        if self._run_key is None:
            self._run_key = random_key()
        if not self._warned:
            self._warned = True
            warn(Warnings.W401, env=self.env or KEY_ENV)
        return self._run_key

    def chance(self) -> SurrogateKey:
        return SurrogateKey(self.get())

    def __getstate__(self) -> dict[str, Any]:
        key = self._key or load_key(path=self.path, env=self.env) or self._run_key
        return {"path": self.path, "env": self.env, "print": _print(key) if key else self._print}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self.env, self._print = state["path"], state["env"], state["print"]
        self._key = self._run_key = None
        self._warned = False


def _print(key: bytes) -> bytes:
    """What tells a key from others, and tells nothing about it."""
    return SurrogateKey(key).digest("which key")[:8]
