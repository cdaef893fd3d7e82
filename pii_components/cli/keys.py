"""The secret key of a run: from a file, from the environment, or made for the run alone."""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from ..corpus.records import reason_of
from ..errors import Errors, PiiError
from ..surrogates.keys import KEY_ENV, random_key
from ..surrogates.keys import load_key as read_key
from .state import key_fingerprint

# Everyone may know what the people in our own essay become.
DEMO_KEY = b"everyone may know this key"


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it came from.

    secret (bytes): Never shown, never saved. origin (str): "file", "environment" or "random", for the report.
    """

    secret: bytes = field(repr=False)
    origin: str

    @property
    def kept(self) -> bool:
        """RETURNS (bool): Whether the user has the key, so that a run can be taken up or repeated."""
        return self.origin != "random"

    @property
    def fingerprint(self) -> str:
        """RETURNS (str): Tells keys apart; empty for a key that is lost with the run."""
        return key_fingerprint(self.secret) if self.kept else ""

    @property
    def note(self) -> str:
        """RETURNS (str): What to tell the user of a key that was made for the run."""
        return (
            "no key was given, so one was made for this run and is not kept: surrogates cannot be made again, "
            "and the run cannot be taken up if it stops. "
            f"For that, use --key-file (see pii-edu keygen) or the environment variable {KEY_ENV}."
        )


def load_key(key_file: str = "") -> Key:
    """The key of the run.

    key_file (str): Its file; empty to look at the environment, else to make one.
    RAISES (PiiError): E401 or E402, if the key cannot be used.
    """
    secret = read_key(path=key_file or None)
    if secret is None:
        return Key(random_key(), "random")
    return Key(secret, "file" if key_file else "environment")


def write_key(path: Path) -> None:
    """Write a new key that only its owner can read.

    RAISES (PiiError): E541, if the file exists; E512, if it cannot be written.
    """
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError as err:
        raise PiiError(Errors.E541, path=path) from err
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err
