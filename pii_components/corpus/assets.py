"""Are the user's own files what they should be? `pii-edu corpus assets`, and the first step of `weasel run corpus`.

weasel ends with 0 at a wrong checksum; here it is an error. `assets/checksums.toml` holds what publishers' files hash to, as far as we know
it; `checksums.lock.json` beside it what the user's own files hashed to when they were recorded, so that a file that changed is seen.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .records import reason_of

TABLE, LOCK = "checksums.toml", "checksums.lock.json"
# Folders for the user's files; the rest of assets/ is in the repository.
FOLDERS = ("encoder", "persuade", "crapii", "peers", "tscc", "user")
OK, WRONG, RECORDED, NEW, ABSENT = "ok", "wrong", "as recorded", "not recorded", "not there"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """One file.

    path (str): In the assets folder. state (str): One of `OK`, `WRONG`, `RECORDED`, `NEW`, `ABSENT`.
    sha256 (str): Of the bytes; empty if the file is not there. reason (str): What is wrong.
    """

    path: str
    state: str
    sha256: str = ""
    reason: str = ""


def verify_assets(assets: Path, *, record: bool = False) -> list[Checked]:
    """Check every file that the table names and every other one in the user's folders.

    assets (Path): The folder. record (bool): Write the checksums of files that have no published one into the lock file.
    RETURNS (list[Checked]): Sorted by path.
    RAISES (PiiError): E610 for a table or lock file that cannot be read; E501 for a file that cannot.
    """
    known = {entry["path"]: entry for entry in _read_toml(assets / TABLE).get("file", [])}
    lock = _read_lock(assets / LOCK)
    present = set(_user_files(assets))
    checked = [
        _check(assets, path, known.get(path, {}), lock) if path in present else Checked(path, ABSENT)
        for path in sorted(present | set(known))
    ]
    if record:
        for item in checked:
            if item.state == NEW:
                lock[item.path] = item.sha256
        part = assets / f"{LOCK}.part"
        part.write_text(json.dumps(lock, indent=1, sort_keys=True) + "\n", "utf8")
        os.replace(part, assets / LOCK)
    return checked


def sha256_of(path: Path) -> str:
    """RETURNS (str): SHA-256 of a file, in hexadecimal digits; it is read in blocks. RAISES (PiiError): E501."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    return digest.hexdigest()


def _user_files(assets: Path) -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((assets / folder).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                yield path.relative_to(assets).as_posix()


def _check(assets: Path, path: str, entry: dict[str, Any], lock: dict[str, str]) -> Checked:
    found = sha256_of(assets / path)
    wanted = entry.get("sha256") or lock.get(path)
    if wanted and wanted != found:
        return Checked(
            path, WRONG, found, "the checksum is another one" if entry.get("sha256") else "it has changed since it was recorded"
        )
    for key in ("records", "lines"):
        if key in entry and (n := _count(assets / path, key)) != entry[key]:
            return Checked(path, WRONG, found, f"{n:,} {key} in place of {entry[key]:,}")
    return Checked(path, (OK if entry else RECORDED) if wanted or entry else NEW, found)


def _count(path: Path, what: str) -> int:
    if what == "lines":
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    from .json_records import open_json

    source = open_json(path, text_field="tokens")
    return sum(1 for _ in source.objects())


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E610, path=path.name, reason=reason_of(err)) from err


def _read_lock(path: Path) -> dict[str, str]:
    try:
        lock = json.loads(path.read_text("utf8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E610, path=path.name, reason=reason_of(err)) from err
    if not isinstance(lock, dict) or not all(isinstance(value, str) for value in lock.values()):
        raise PiiError(Errors.E610, path=path.name, reason="it is no table of checksums")
    return lock
