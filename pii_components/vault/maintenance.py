"""Care of a vault: what is in it, is it whole, a new key, putting right what a crash has left.

info("essays.vault", key)                       # counts, nothing else
verify("essays.vault", key, head="5f0c…")       # nothing was removed up to that head
rotate("essays.vault", key, new_key)
"""

import contextlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .format import fsync_folder, read_header, refusals
from .keys import SCRYPT_N, VaultKey, kind_of
from .vault import Vault, restore


def info(path: str | Path, key: VaultKey | None = None) -> dict[str, Any]:
    """What a vault says of itself, without text, ids or names. One whose session was not closed is read too.

    key (VaultKey | None): Without it, only what the header says.
    RETURNS (dict[str, Any]): vault, key id, what opens it, bytes; with the key: whether it is closed, sessions, documents,
    spans per label, head.
    """
    path = Path(path)
    with refusals(path, "opened"), open(path, "rb") as file:
        lock, size = read_header(file, path).lock, path.stat().st_size
    said = {"vault": lock["salt"][:16], "key_id": lock.get("key_id"), "opens_with": kind_of(lock, path=path), "bytes": size}
    if key is None:
        return said
    labels: Counter[str] = Counter()
    with Vault.open(path, key, unfinished=True) as vault:
        for entry in vault.entries():
            labels.update(hidden.label or "(no label)" for hidden in entry.hidden)
        said |= {"closed": vault.sealed, "sessions": len(vault.seals), "documents": vault.documents}
        return said | {"spans": dict(sorted(labels.items())), "head": vault.head}


def verify(path: str | Path, key: VaultKey, *, head: str = "") -> dict[str, Any]:
    """Check every record of a vault that was closed: its tag, its place, and that its stretches can be put back.

    head (str): As report.json or `info` gave it; a vault that was cut back to before it is refused.
    RETURNS (dict[str, Any]): documents, sessions, head.
    RAISES (PiiError): E450 to E457, E468; E461, if a record cannot be put back; E467 for the head.
    """
    with Vault.open(path, key) as vault:
        for number, entry in enumerate(vault.entries(), 1):
            # The released text is not here; one of the right length shows whether the stretches fit together.
            length = max((hidden.end for hidden in entry.hidden), default=0)
            try:
                restore(" " * length, entry.hidden)
            except PiiError:
                raise PiiError(Errors.E461, document=number) from None
        if head and head.lower() not in vault.seals:
            raise PiiError(Errors.E467, head=head)
        return {"documents": vault.documents, "sessions": len(vault.seals), "head": vault.head}


def repair(path: str | Path, key: VaultKey) -> int:
    """Put right what a crash has left: drop a record that was cut off, close the session; whole records stay.

    RETURNS (int): Documents in the vault. RAISES (PiiError): As `Vault.open` does for writing; a changed record stays an error.
    """
    with Vault.open(path, key, write=True) as vault:
        return vault.documents


def rotate(path: str | Path, key: VaultKey, new_key: VaultKey, *, scrypt_n: int = SCRYPT_N) -> int:
    """Encrypt a vault anew with another key. The new file is read back as a whole before it takes the place of the old one;
    copies of the old file still open with the old key.

    RETURNS (int): Documents in the vault. RAISES (PiiError): As `Vault.open`; E463, if `<VAULT>.new` is there. The old file
    stays then.
    """
    path = Path(path)
    with Vault.open(path, key):
        pass  # one that was cut off or not closed is refused; below, it would be put right in silence
    fresh = path.with_name(path.name + ".new")
    with Vault.open(path, key, write=True) as old:
        new = Vault.create(fresh, new_key, scrypt_n=scrypt_n, like=old)
        try:
            with refusals(path, "written"):
                with new:
                    for entry in old.entries():
                        new.adopt(entry)
                with Vault.open(fresh, new_key) as check:
                    if list(check.entries()) != list(old.entries()):
                        raise PiiError(Errors.E461, document=1)
                os.replace(fresh, path)
        finally:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
        fsync_folder(path.parent)
        return old.documents
