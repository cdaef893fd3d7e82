"""From a surrogate back to what it stands for, for Presidio's de-anonymizer. Nothing here imports Presidio.

entry = vault.find(released)                             # the whole text is proved first
original_between(entry, "Carla Vidal", 11, 22)           # then each stretch comes from its place
originals_of(vault, "Carla Vidal")                       # or, without the text: everybody who became that
"""

import hmac
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import Errors, PiiError

if TYPE_CHECKING:
    from ..vault import Vault
    from ..vault_entries import Entry, Release

# A vault is one file with one position, and a service has threads.
_LOCK = threading.Lock()


def find_entry(vault: "Vault", text: str, *, id: str | None = None) -> "Entry":
    """RETURNS (Entry): As `Vault.find`, one thread at a time."""
    with _LOCK:
        return vault.find(text, id=id)


def originals_of(vault: "Vault", new: str, *, id: str | None = None, scope: str | None = None) -> list[str]:
    """RETURNS (list[str]): As `Vault.lookup`, one thread at a time."""
    with _LOCK:
        return vault.lookup(new, id=id, scope=scope)


def remember(vault: "Vault", release: "Release") -> None:
    """Put a document into the vault; it is on the disk when this returns. RAISES (PiiError): E450, E469, E470."""
    with _LOCK:
        vault.append(release)


def original_between(entry: "Entry", text: str, start: int, end: int) -> str:
    """What stood in a stretch of a released text.

    entry (Entry): Its record. text (str): The stretch. start (int), end (int): Where it lies in the released text.
    RETURNS (str): With every hidden value in it put back; as it is where nothing was hidden.
    RAISES (PiiError): E839, if a hidden value lies across its edge.
    """
    out, last = "", start
    for hidden in entry.hidden:
        if hidden.start == hidden.end:
            # What was removed belongs to the stretch around it, or to an empty one at its place; at an edge it is a neighbour's.
            inside = start < hidden.start < end or start == end == hidden.start
        else:
            inside = hidden.start < end and start < hidden.end
        if not inside:
            continue
        if hidden.start < start or hidden.end > end or text[hidden.start - start : hidden.end - start] != hidden.new:
            raise PiiError(Errors.E839, start=start, end=end)
        out += text[last - start : hidden.start - start] + hidden.old
        last = hidden.end
    return out + text[last - start :]


def proved(vault: "Vault", entry: "Entry", old: str, places: Sequence[tuple[int, int]]) -> bool:
    """Whether a text that came out is the original.

    vault (Vault), entry (Entry): Where it comes from. old (str): What came out.
    places (Sequence[tuple[int, int]]): Stretches of the released text that were put back.
    RETURNS (bool): True too where some of what was hidden was not asked for.
    """
    starts = {start for start, _ in places}
    covered = all(any(s <= h.start and h.end <= e for s, e in places) or h.start in starts for h in entry.hidden)
    return not covered or hmac.compare_digest(vault.digest("original", old), entry.original)
