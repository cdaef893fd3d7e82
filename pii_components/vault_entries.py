"""What a vault holds of a document, and how its text comes back.

    hidden = hide(old, new, offsets, labels)            # what stands where in the new text, and what stood there
    restore(new, hidden) == old

Nothing of a text is kept but what was replaced. Tokens of a Kaggle record are kept as lengths, since released tokens are others.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .alignment import OffsetMap, Replacement, apply_replacements
from .errors import Errors, PiiError

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True)
class Hidden:
    """A stretch of a released text.

    start (int), end (int): Characters, end exclusive; equal where something was removed. label (str): Its label.
    new (str): What stands there. old (str): What stood there.
    """

    start: int
    end: int
    label: str
    new: str
    old: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Release:
    """A document and what it became.

    id (str): Its name in the corpus. old (str), new (str): Original and released text. hidden (tuple[Hidden, ...]): Sorted.
    scope (str): Within what equal values have equal surrogates: "document", "corpus", "thread:…".
    tokens (Mapping[str, Any] | None): From `pack_tokens`.
    """

    id: str
    old: str = field(repr=False)
    new: str = field(repr=False)
    hidden: tuple[Hidden, ...] = ()
    scope: str = "document"
    tokens: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, doc: "Doc", *, id: str, scope: str = "document") -> "Release":
        """RETURNS (Release): Of a document that `hips_surrogate` has worked on. RAISES (PiiError): E470, if it has not."""
        offsets, new = doc._.pii_offsets, doc._.deidentified
        if offsets is None or new is None:
            raise PiiError(Errors.E470, document=1)
        labels = {(row["start_char"], row["end_char"]): row["label"] for row in doc._.surrogate_spans or ()}
        return cls(id, doc.text, new, hide(doc.text, new, offsets, labels), scope)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the vault.

    id, scope, hidden, tokens: As in `Release`. released (str), original (str): Digests of the two texts.
    """

    id: str
    scope: str
    released: str
    original: str
    hidden: tuple[Hidden, ...] = ()
    tokens: Mapping[str, Any] | None = field(default=None, repr=False)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): JSON; equal entries give equal bytes."""
        rows = [[h.start, h.end, h.label, h.new, h.old] for h in self.hidden]
        data = {"id": self.id, "scope": self.scope, "released": self.released, "original": self.original, "hidden": rows}
        return json.dumps({"document": data | ({"tokens": self.tokens} if self.tokens else {})}, sort_keys=True).encode("ascii")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Entry":
        """RETURNS (Entry): What `to_bytes` wrote."""
        hidden = tuple(Hidden(*row) for row in data["hidden"])
        return cls(data["id"], data["scope"], data["released"], data["original"], hidden, data.get("tokens"))


def hide(old: str, new: str, offsets: OffsetMap, labels: Mapping[tuple[int, int], str]) -> tuple[Hidden, ...]:
    """What was replaced in a text.

    old (str), new (str): The texts. offsets (OffsetMap): Between them. labels (Mapping[tuple[int, int], str]): Label of a stretch
    of the new text.
    RETURNS (tuple[Hidden, ...]): In order; stretches that stayed the same are left out.
    """
    rows = ((e, new[e.new_start : e.new_end], old[e.start : e.end]) for e in offsets.edits)
    return tuple(
        Hidden(edit.new_start, edit.new_end, labels.get((edit.new_start, edit.new_end), ""), became, was)
        for edit, became, was in rows
        if became != was
    )


def restore(new: str, hidden: Iterable[Hidden]) -> str:
    """RETURNS (str): The old text. RAISES (PiiError): E411 or E412, if the stretches do not fit the new one."""
    return apply_replacements(new, [Replacement(h.start, h.end, h.old) for h in hidden])[0]


def pack_tokens(tokens: Sequence[str], spaces: Sequence[bool], labels: Sequence[str] | None) -> dict[str, Any]:
    """Tokens without their text.

    tokens, spaces, labels: As a record in Kaggle's form has them; they make up its text.
    RETURNS (dict[str, Any]): For `unpack_tokens`.
    """
    packed: dict[str, Any] = {"lengths": [len(t) for t in tokens], "spaces": "".join("01"[bool(s)] for s in spaces)}
    if labels is not None:
        packed["labels"] = [[i, label] for i, label in enumerate(labels) if label != "O"]
    return packed


def unpack_tokens(old: str, packed: Mapping[str, Any]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): tokens, trailing_whitespace and labels of the old text, as the record had them."""
    spaces = [mark == "1" for mark in packed["spaces"]]
    tokens, pos = [], 0
    for length, space in zip(packed["lengths"], spaces, strict=True):
        tokens.append(old[pos : pos + length])
        pos += length + space
    fields: dict[str, Any] = {"tokens": tokens, "trailing_whitespace": spaces}
    if "labels" in packed:
        fields["labels"] = ["O"] * len(tokens)
        for i, label in packed["labels"]:
            fields["labels"][i] = label
    return fields
