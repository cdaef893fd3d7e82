"""What an interrupted run leaves behind, so that it can be taken up: `<OUTPUT>.state.json`, gone when the run ends well.

It holds numbers, settings and a fingerprint of the key; never the key, and no text.
"""

import hmac
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..corpus.records import reason_of
from ..errors import Errors, PiiError


@dataclass(slots=True)
class RunState:
    """How far a run has come.

    settings (dict[str, str]): What must be the same when the run goes on: input, profile, model, ...
    key (str): Fingerprint of the key; empty for a key that was made for the run and is lost with it.
    items (int): Records read so far; those skipped count. offset (int): Bytes of the partial file that are safe.
    replace (bool): Whether an existing OUTPUT may be replaced. report (dict[str, Any]): The counts so far.
    labels (int): Bytes of the rows of --labels-out that are safe. sweep (int): Bytes of those of the last sweep.
    """

    settings: dict[str, str]
    key: str = ""
    items: int = 0
    offset: int = 0
    replace: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    labels: int = 0
    sweep: int = 0

    def save(self, path: Path) -> None:
        """Write the state so that a crash in between leaves the old one.

        RAISES (PiiError): E512, if it cannot be written.
        """
        fresh = path.with_name(path.name + ".new")
        try:
            with open(fresh, "w", encoding="utf-8") as file:
                json.dump(asdict(self), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def state_path(out: Path) -> Path:
    """RETURNS (Path): Where the state of a run lies: `<OUTPUT>.state.json`."""
    return out.with_name(out.name + ".state.json")


def load_state(path: Path) -> RunState:
    """Read what an interrupted run left.

    RAISES (PiiError): E513, if there is nothing, or nothing that can be read.
    """
    try:
        return RunState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as err:
        raise PiiError(Errors.E513) from err


def check_resume(old: RunState, settings: dict[str, str], key: str) -> None:
    """Check that a run may go on where another stopped: the outcome must be that of one run.

    old (RunState): What the interrupted run left. settings (dict[str, str]): Of this run. key (str): Fingerprint of its key.
    RAISES (PiiError): E514, if a setting differs; E515, if the key does; E539, if either run has a key of its own making.
    """
    for name, value in settings.items():
        if old.settings.get(name) != value:
            raise PiiError(Errors.E514, what=name)
    if not (old.key and key):
        raise PiiError(Errors.E539)
    if not hmac.compare_digest(old.key, key):
        raise PiiError(Errors.E515)


def key_fingerprint(key: bytes) -> str:
    """RETURNS (str): 64 bits of an HMAC under the key: enough to tell keys apart, and nothing that a surrogate is made from."""
    return hmac.new(key, b"pii-edu|fingerprint of the key", "sha256").hexdigest()[:16]
