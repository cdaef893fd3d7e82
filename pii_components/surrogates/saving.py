"""How `hips_surrogate` is saved and copied: settings and profile, never the key, nor anything that a person wrote.

A saved component is a folder or bytes with `cfg` and `profile`. A copy for another process (`nlp.pipe(..., n_process=2)` where processes are
spawned; where they are forked nothing is copied) is the same, with a note of where the key lies (secret.py), keyed digests of the
names that were observed (observed.py), and what it lacks: then it stops at the first document that needs it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import srsly
from spacy import util

from ..profiles import Profile
from .observed import Observed
from .secret import Secret


class Saved:
    """What a component that replaces has: settings, a profile, a key, what it observed."""

    name: str
    cfg: dict[str, Any]
    thread: str | None
    _profile: Profile
    _secret: Secret
    _observed: Observed
    # Whether this is a copy whose profile had a map for OTHER, which holds originals.
    _lacks_map: bool = False

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): Settings and profile; never the key, nor anything learnt from documents."""
        parts: dict[str, Callable[[], bytes]] = {
            "cfg": lambda: srsly.json_dumps(self.cfg).encode("utf8"),
            "profile": lambda: srsly.json_dumps(self._profile.to_dict(private=False)).encode("utf8"),
        }
        data: bytes = util.to_bytes(parts, exclude)
        return data

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """RETURNS (Self): The component with the settings of `to_bytes`."""
        util.from_bytes(bytes_data, {part: self._loader(part, srsly.json_loads) for part in ("cfg", "profile")}, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write settings and profile; never the key, nor anything learnt from documents. path (str | Path): A folder."""
        parts: dict[str, Callable[[Path], None]] = {
            "cfg": lambda p: srsly.write_json(p, self.cfg),
            "profile": lambda p: srsly.write_json(p, self._profile.to_dict(private=False)),
        }
        util.to_disk(util.ensure_path(path), parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """RETURNS (Self): The component with the settings of `to_disk`."""
        util.from_disk(
            util.ensure_path(path), {part: self._loader(part, srsly.read_json) for part in ("cfg", "profile")}, exclude
        )
        return self

    def _loader(self, part: str, read: Callable[[Any], Any]) -> Callable[[Any], None]:
        def load(source: Any) -> None:
            data = read(source)
            if part == "cfg":
                self.cfg.update(data)
                self._secret.look_again(path=self.cfg["key_file"], env=self.cfg["key_env"])
            else:
                self._profile = Profile.from_dict(data)

        return load

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "cfg": self.cfg,
            "profile": self._profile.to_dict(private=False),
            "thread": self.thread,
            "secret": self._secret,
            "observed": self._observed,
            "lacks_map": self._lacks_map or bool(self._profile.other),
            "error_handler": getattr(self, "error_handler", None),
        }
        return _copy, (type(self), self.name, state)


def _copy(kind: Callable[..., Any], name: str, state: dict[str, Any]) -> Any:
    """RETURNS (Any): A component as `Saved.__reduce__` told it."""
    made = kind(name, profile=Profile.from_dict(state["profile"]))
    made.cfg.update(state["cfg"])
    made.thread, made._lacks_map = state["thread"], state["lacks_map"]
    made._observed = state["observed"]
    made._secret = state["secret"]
    if state["error_handler"] is not None:
        made.set_error_handler(state["error_handler"])
    return made
