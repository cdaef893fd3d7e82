"""The key of a component: given, or from a file, an environment variable, or made for this run. It is in no pickle.

A process that spaCy forks has its parent's memory, and with it the key. One that is spawned gets a pickle: that says where the
key lies (file, variable) and how to tell that it is the same one, nothing more. A key that was only given (`set_key`) or made for a
run cannot be found there, and the copy says so (E475) instead of taking another one.
"""

import hmac
import warnings
from typing import Any

from ..errors import Errors, PiiError, PiiWarning, Warnings
from .keys import KEY_ENV, Chance, check_key, load_key, random_key


class Secret:
    """A key.

    path (str | None): A file that holds it. env (str | None): An environment variable that does, if there is no file.
    """

    def __init__(self, *, path: str | None = None, env: str | None = KEY_ENV) -> None:
        self.path, self.env = path, env
        self._key: bytes | None = None
        # Made now and not when it is first needed, so that processes that are forked share it.
        self._run_key: bytes | None = random_key()
        self._print = b""
        self._warned = False
        self._chance: Chance | None = None

    def give(self, key: bytes) -> None:
        """Use a key instead of a file or a variable. key (bytes): At least 16 bytes. RAISES (PiiError): E402 if it is shorter."""
        self._key, self._print = check_key(key, source="set_key"), b""

    def look_again(self, *, path: str | None, env: str | None) -> None:
        """Forget the key; look for it in this file or variable. path (str | None), env (str | None): See `Secret`."""
        self.path, self.env, self._key = path, env, None

    def get(self) -> bytes:
        """RETURNS (bytes): The key. RAISES (PiiError): E401, E402; E475, if this is a copy, and the key is not to be found."""
        if self._key is None:
            found = load_key(path=self.path, env=self.env)
            if self._print and (found is None or not hmac.compare_digest(_print(found), self._print)):
                raise PiiError(
                    Errors.E475, lacks="the key", cure=f"put the key into a file (key_file) or into {self.env or KEY_ENV}"
                )
            self._key = found
        if self._key is not None:
            return self._key
        if self._run_key is None:
            self._run_key = random_key()
        if not self._warned:
            self._warned = True
            warnings.warn(Warnings.W401.format(env=self.env or KEY_ENV), PiiWarning, stacklevel=2)
        return self._run_key

    def chance(self) -> Chance:
        """RETURNS (Chance): The key, without a scope yet. RAISES (PiiError): See `get`."""
        key = self.get()
        if self._chance is None or self._chance.key != key:
            self._chance = Chance(key)
        return self._chance

    def __getstate__(self) -> dict[str, Any]:
        key = self._key or load_key(path=self.path, env=self.env) or self._run_key
        return {"path": self.path, "env": self.env, "print": _print(key) if key else self._print}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self.env, self._print = state["path"], state["env"], state["print"]
        self._key = self._run_key = self._chance = None
        self._warned = False


def _print(key: bytes) -> bytes:
    """RETURNS (bytes): What tells a key from others, and tells nothing about it."""
    return Chance(key).digest("which key")[:8]
