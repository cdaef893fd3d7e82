"""Where chance comes from: a secret key, and a stream of numbers for each value.

    >>> from pii_components.surrogates.keys import Chance
    >>> chance = Chance(b"0123456789abcdef", scope="corpus")
    >>> chance.rng("EMAIL", "ana@example.org").random() == chance.rng("EMAIL", "ana@example.org").random()
    True

`random.Random(HMAC-SHA256(key, scope | label | value | attempt))`: what a value becomes depends on nothing else, neither the
order of documents nor the batch, the process or PYTHONHASHSEED. Without the key nobody can try names out and see what they
become.
"""

import hashlib
import hmac
import os
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..errors import Errors, PiiError

KEY_ENV = "PII_EDU_KEY"
MIN_KEY_BYTES = 16
T = TypeVar("T")


def load_key(*, path: str | Path | None = None, env: str | None = KEY_ENV) -> bytes | None:
    """The secret key, from a file or else from an environment variable.

    path (str | Path | None): A file; white space at its ends does not count.
    env (str | None): Name of the environment variable to look at when there is no file.
    RETURNS (bytes | None): The key; None if neither is given.
    RAISES (PiiError): E401 if the file cannot be read, E402 if the key is too short.
    """
    if path is not None:
        try:
            key, source = Path(path).read_bytes().strip(), "the key file"
        except OSError as err:
            raise PiiError(Errors.E401, path=path, reason=type(err).__name__, least=MIN_KEY_BYTES) from None
    elif env and os.environ.get(env):
        key, source = os.environ[env].strip().encode("utf8"), f"the environment variable {env}"
    else:
        return None
    return check_key(key, source=source)


def check_key(key: bytes, *, source: str) -> bytes:
    """RETURNS (bytes): The key as it is. RAISES (PiiError): E402 if it is too short to be a secret."""
    if len(key) < MIN_KEY_BYTES:
        raise PiiError(Errors.E402, source=source, length=len(key), least=MIN_KEY_BYTES)
    return key


def random_key() -> bytes:
    """RETURNS (bytes): A new key of 32 bytes."""
    return secrets.token_bytes(32)


@dataclass(frozen=True)
class Chance:
    """A key and a scope.

    key (bytes): The secret; never shown and never saved with a pipeline.
    scope (str): Within what equal values get equal surrogates: "corpus", a thread's or author's id, a document's digest.
    """

    key: bytes = field(repr=False)
    scope: str = ""

    def digest(self, *parts: str) -> bytes:
        """RETURNS (bytes): HMAC-SHA256 of the parts, each with its length before it, so that no two lists look alike."""
        message = b"".join(len(raw).to_bytes(4, "big") + raw for raw in (p.encode("utf8", "surrogatepass") for p in parts))
        return hmac.new(self.key, message, hashlib.sha256).digest()

    def rng(self, label: str, value: str, *, attempt: int = 0) -> random.Random:
        """A stream of numbers for one value.

        label (str): A label, or what the numbers are for.
        value (str): The value, normalised: what shall count as equal must be equal here.
        attempt (int): Another stream for the same value, when the first one gave something unfit.
        RETURNS (random.Random): Use `pick` and `random()`, whose results Python keeps between versions.
        """
        return random.Random(int.from_bytes(self.digest(self.scope, label, value, str(attempt)), "big"))

    def order(self, value: str) -> bytes:
        """RETURNS (bytes): A secret place in line: who comes first when two values want the same surrogate."""
        return self.digest(self.scope, "order", value)

    def token(self, label: str, value: str) -> str:
        """RETURNS (str): A pseudonym that only who has the key can compute: 40 bits of the digest, as hexadecimal digits."""
        return self.digest(self.scope, "token", label, value).hex()[:10]

    def variant(self, name: str) -> "Chance":
        """RETURNS (Chance): The same key, with other surrogates; itself for an empty name."""
        return Chance(self.key, f"{self.scope}|variant:{name}") if name else self


def pick(rng: random.Random, options: Sequence[T]) -> T:
    """RETURNS (T): One of the options; unlike `choice`, from one call of `random()`."""
    return options[int(rng.random() * len(options))]
