"""Keys of a vault: where the secret comes from, and what is made of it.

    key = VaultKey.from_file("secret.key")              # or from_env(), or from_passphrase("six words drawn by chance ...")
    keys, lock = new_lock(key)                          # `lock` goes into the header of a vault; it holds no secret

A key (16 bytes or more, as `pii-edu keygen` makes them) goes through HKDF, a passphrase through scrypt; either with a salt of the
vault's own, so that the key which makes surrogates can lock a vault too, and no two vaults share a key.
"""

import hmac
import os
import secrets
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError, imported
from ..surrogates.keys import KEY_ENV, check_key, load_key

VAULT_KEY_ENV = "PII_EDU_VAULT_KEY"
PASSPHRASE_ENV = "PII_EDU_VAULT_PASSPHRASE"
MIN_PASSPHRASE = 12
KEY, PASSPHRASE = KINDS = ("key", "passphrase")
# OWASP's first choice for scrypt: 128 MiB and about a third of a second for each guess.
SCRYPT_N, SCRYPT_R, SCRYPT_P = 1 << 17, 8, 1
_MAX_SCRYPT_N = 1 << 20


@dataclass(frozen=True, slots=True)
class VaultKey:
    """A secret that locks vaults; it is never shown and never saved. kind (str): "key" or "passphrase". origin (str): For messages."""

    secret: bytes = field(repr=False)
    kind: str = KEY
    origin: str = ""

    def __post_init__(self) -> None:
        if self.kind == KEY:
            check_key(self.secret, source=self.origin or "the caller")

    def __reduce__(self) -> Any:
        raise PiiError(Errors.E471)

    @classmethod
    def from_file(cls, path: str | Path) -> "VaultKey":
        """From a key file. RAISES (PiiError): E401 or E402, if it cannot be used."""
        return cls(load_key(path=path) or b"", KEY, "the key file")

    @classmethod
    def from_passphrase(cls, passphrase: str, *, origin: str = "") -> "VaultKey":
        """From words that a person remembers. RAISES (PiiError): E650, if they are too short."""
        text = unicodedata.normalize("NFC", passphrase)
        if len(text) < MIN_PASSPHRASE:
            allowed = f"{MIN_PASSPHRASE} or more, for example six words drawn by chance"
            raise PiiError(
                Errors.E650, name="Length of the passphrase", value=len(text), allowed=allowed
            )
        return cls(text.encode("utf8", "surrogatepass"), PASSPHRASE, origin)

    @classmethod
    def from_env(cls, *, kind: str = "", shared: bool = True) -> "VaultKey | None":
        """The secret from the environment: PII_EDU_VAULT_KEY or PII_EDU_VAULT_PASSPHRASE, else PII_EDU_KEY.

        kind (str): "key" or "passphrase", if only that will do; empty for either.
        shared (bool): Whether the key that makes surrogates will do where there is none for the vault alone.
        RAISES (PiiError): E402 or E650, if it is too short; E465, if both are set and either would do."""
        found = {KEY: os.environ.get(VAULT_KEY_ENV), PASSPHRASE: os.environ.get(PASSPHRASE_ENV)}
        if not kind and all(found.values()):
            raise PiiError(Errors.E465, first=VAULT_KEY_ENV, second=PASSPHRASE_ENV)
        if kind != KEY and (words := found[PASSPHRASE]):
            return cls.from_passphrase(words, origin=f"the environment variable {PASSPHRASE_ENV}")
        for name in (VAULT_KEY_ENV, *((KEY_ENV,) if shared else ())):
            if kind != PASSPHRASE and (secret := load_key(env=name)):
                return cls(secret, KEY, f"the environment variable {name}")
        return None


@dataclass(frozen=True, slots=True)
class Keys:
    """What a vault works with: a key that encrypts, one that signs lengths and order, and what tells keys apart."""

    records: bytes = field(repr=False)
    frames: bytes = field(repr=False)
    key_id: str = ""

    def __reduce__(self) -> Any:
        raise PiiError(Errors.E471)


def new_lock(key: VaultKey, *, scrypt_n: int = SCRYPT_N) -> tuple[Keys, dict[str, Any]]:
    """Keys for a new vault, and what its header says of them: kind, salt, cost, id. scrypt_n (int): Cost of a guess, for a passphrase."""
    lock: dict[str, Any] = {"kdf": "hkdf-sha256", "salt": secrets.token_hex(32)}
    if key.kind == PASSPHRASE:
        lock |= {"kdf": "scrypt", "n": scrypt_n, "r": SCRYPT_R, "p": SCRYPT_P}
    keys = _derive(key, lock)
    return keys, lock | {"key_id": keys.key_id}


def unlock(key: VaultKey, lock: dict[str, Any], *, path: Path) -> Keys:
    """The keys of a vault that exists. lock (dict[str, Any]): From the header.

    RAISES (PiiError): E453 for the wrong secret or kind of one, E451 for a header that asks for too much."""
    wanted = kind_of(lock, path=path)
    keys = _derive(key, lock)
    known = str(lock.get("key_id")).encode("utf8", "surrogatepass")
    if key.kind != wanted or not hmac.compare_digest(keys.key_id.encode(), known):
        raise PiiError(Errors.E453, kind=key.kind, path=path, wanted=wanted)
    return keys


def kind_of(lock: dict[str, Any], *, path: Path) -> str:
    """ "key" or "passphrase": what opens the vault. RAISES (PiiError): E451 for a header that asks for too much."""
    n, r, p = (lock.get(name) for name in "nrp")
    if lock.get("kdf") == "hkdf-sha256":
        return KEY
    # Before anything is computed: a hostile header must not fill the memory.
    fits = (
        isinstance(n, int)
        and 2 <= n <= _MAX_SCRYPT_N
        and n & (n - 1) == 0
        and (r, p) == (SCRYPT_R, SCRYPT_P)
    )
    if lock.get("kdf") != "scrypt" or not fits:
        raise PiiError(Errors.E451, path=path, reason="another way from secret to key")
    return PASSPHRASE


def _derive(key: VaultKey, lock: dict[str, Any]) -> Keys:
    SHA256 = imported("cryptography.hazmat.primitives.hashes", "the vault", "all").SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    salt = bytes.fromhex(lock["salt"])
    root = key.secret
    if lock["kdf"] == "scrypt":
        root = Scrypt(salt=salt, length=32, n=lock["n"], r=lock["r"], p=lock["p"]).derive(root)

    def part(purpose: str, length: int = 32) -> bytes:
        info = f"pii-edu vault 1|{purpose}".encode()
        return bytes(HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(root))

    return Keys(part("records"), part("frames"), part("key id", 8).hex())
