"""Where characters went: old and new offsets after replacement.

    >>> from pii_components.offsets import Replacement, apply_replacements
    >>> text, offsets = apply_replacements("By Ana Lopez, 2019", [Replacement(3, 12, "Mia Rossetti")])
    >>> text, offsets.span_to_new(14, 18), offsets.span_to_old(3, 15)
    ('By Mia Rossetti, 2019', (17, 21), (3, 12))

Offsets are characters, end exclusive. An offset means two things where text vanished or appeared, so it is asked for as the
start or as the end of a span:

    old   a b [c d] e f        start at 2 -> 2, end at 4 -> 5; inside an edit a start moves to its left side,
    new   a b [X Y Z] e f      an end to its right side: a span never loses what it covered
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from .errors import Errors, PiiError

__all__ = ["Edit", "OffsetMap", "Replacement", "apply_replacements"]


class _Replacement(NamedTuple):
    start: int
    end: int
    new: str
    label: str = ""
    action: str = ""
    note: str = ""


class Replacement(_Replacement):
    """New text for a stretch of the old one; an empty stretch is an insertion, an empty text a removal.

    start, end (int): Characters of the old text. new (str): What stands there now.
    label (str): A label, for who needs it later. action (str): What was done, one of `profiles.ACTIONS`.
    note (str): What a data steward should know ("gender unknown"); no text of a person.
    """

    __slots__ = ()

    def __new__(
        cls, start: int, end: int, new: str, label: str = "", action: str = "", note: str = ""
    ) -> "Replacement":
        if not 0 <= start <= end:
            raise PiiError(Errors.E411, start=start, end=end, length="?")
        return tuple.__new__(cls, (start, end, new, label, action, note))


class Edit(NamedTuple):
    """One replaced stretch: `[start, end)` in the old text became `[new_start, new_end)` in the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


class _OffsetMap(NamedTuple):
    old_length: int
    new_length: int
    edits: tuple[Edit, ...] = ()


class OffsetMap(_OffsetMap):
    """Old offsets to new ones and back.

    old_length, new_length (int): Characters of the texts.
    edits (tuple[Edit, ...]): Sorted, without overlaps; text between them is the same in both.

    A tuple, so that JSON can carry it.
    """

    def __new__(cls, old_length: int, new_length: int, edits: tuple[Edit, ...] = ()) -> "OffsetMap":
        shift, last = 0, 0
        for start, end, new_start, new_end in edits:
            if start < last or end < start or new_start != start + shift or new_end < new_start:
                raise PiiError(Errors.E412, start=start, end=end)
            last, shift = end, new_end - end
        if last > old_length or old_length + shift != new_length:
            raise PiiError(Errors.E411, start=last, end=old_length + shift, length=new_length)
        return tuple.__new__(cls, (old_length, new_length, edits))

    @cached_property
    def _starts(self) -> list[int]:
        return [e.start for e in self.edits]

    def to_new(self, offset: int, *, end: bool = False) -> int:
        """RETURNS (int): Where a place in the old text lies in the new one; the edge of the edit, if it lies inside one.

        end (bool): Whether it is the end of a span (exclusive) rather than its start.
        RAISES (PiiError): E411, if it lies outside the text.
        """
        if not 0 <= offset <= self.old_length:
            raise PiiError(Errors.E411, start=offset, end=offset, length=self.old_length)
        # A start looks at the last edit that begins at or before it, an end at the last one that begins before it.
        i = (bisect_left if end else bisect_right)(self._starts, offset) - 1
        if i < 0:
            return offset
        edit = self.edits[i]
        if offset < edit.end:
            return edit.new_end if end else edit.new_start
        return edit.new_end + offset - edit.end

    def to_old(self, offset: int, *, end: bool = False) -> int:
        """RETURNS (int): Where a place in the new text lies in the old one; see `to_new`."""
        return self.inverse().to_new(offset, end=end)

    def span_to_new(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): The stretch of the new text that holds what `[start, end)` of the old one became."""
        if start == end:
            # What appeared from nothing: the empty stretch has no inside, so look the edits themselves up.
            here = [edit for edit in self.edits if edit.start == edit.end == start]
            at = self.to_new(start, end=True)
            return (here[0].new_start, here[-1].new_end) if here else (at, at)
        return self.to_new(start), self.to_new(end, end=True)

    def part_to_new(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): As `span_to_new`, with what appeared from nothing at the edges: of a text between separators."""
        first, last = self.span_to_new(start, end)
        near = slice(bisect_left(self._starts, start), bisect_right(self._starts, end))
        for edit in self.edits[near]:
            if edit.start == edit.end:
                first, last = min(first, edit.new_start), max(last, edit.new_end)
        return first, last

    def span_to_old(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): The stretch of the old text that `[start, end)` of the new one stands for."""
        return self.inverse().span_to_new(start, end)

    def inverse(self) -> "OffsetMap":
        """RETURNS (OffsetMap): The map the other way round."""
        edits = tuple(Edit(e.new_start, e.new_end, e.start, e.end) for e in self.edits)
        return OffsetMap(self.new_length, self.old_length, edits)

    def to_dict(self) -> dict[str, object]:
        """RETURNS (dict): Plain numbers, for JSON and msgpack."""
        return {
            "old_length": self.old_length,
            "new_length": self.new_length,
            "edits": [list(edit) for edit in self.edits],
        }

    @classmethod
    def from_dict(cls, data: dict) -> "OffsetMap":
        """RETURNS (OffsetMap): What `to_dict` wrote."""
        return cls(
            int(data["old_length"]),
            int(data["new_length"]),
            tuple(Edit(*map(int, e)) for e in data["edits"]),
        )


def apply_replacements(text: str, replacements: Iterable[Replacement]) -> tuple[str, OffsetMap]:
    """Replace stretches of a text; everything else stays, byte for byte.

    replacements (Iterable[Replacement]): In any order, without overlaps.
    RETURNS (tuple[str, OffsetMap]): The new text, and where everything went.
    RAISES (PiiError): E411 for a stretch outside the text, E412 for an overlap.
    """
    pieces, edits = list[str](), list[Edit]()
    last, length, size = 0, 0, len(text)
    for start, end, inserted, _, _, _ in sorted(replacements, key=itemgetter(0, 1)):
        if end > size:
            raise PiiError(Errors.E411, start=start, end=end, length=size)
        if start < last:
            raise PiiError(Errors.E412, start=start, end=end)
        pieces += text[last:start], inserted
        begin = length + start - last
        length = begin + len(inserted)
        edits.append(Edit(start, end, begin, length))
        last = end
    pieces.append(text[last:])
    new = "".join(pieces)
    return new, OffsetMap(size, len(new), tuple(edits))
