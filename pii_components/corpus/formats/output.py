"""Writers of labelled texts: what grows is `<OUT>.partial`, which takes the name OUT when all is there.

with writer:                    # an error or Ctrl-C removes what has grown; OUT stays as it was
    writer.write(essay, number=1)
    writer.finish()
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from ...errors import Errors, PiiError
from ..records import reason_of
from ..writers import partial_path
from .record import LabelledText, Tally


class CorpusWriter:
    """One file of records. The base of all writers: a form says what a record looks like.

    out (Path): OUT. tally (Tally): Gets what is masked on the way to tokens, and fields that the form cannot hold.
    """

    form = ""

    def __init__(self, out: Path, tally: Tally) -> None:
        self.out, self.tally, self.partial = out, tally, partial_path(out)
        self.n_written = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.start()
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.discard()

    def write(self, essay: LabelledText, *, number: int) -> None:
        """Add a record.

        essay (LabelledText): What to write. number (int): Its position in the input, for messages.
        RAISES (PiiError): E640, if the form cannot hold it, nothing is written then; E512, if the disk refuses.
        """
        data = self.record(essay, number)
        try:
            self.put(data)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        self.n_written += 1

    def finish(self) -> None:
        """Give what was written the name OUT.

        RAISES (PiiError): E512, if that fails; OUT is as it was then.
        """
        try:
            self.end()
            self.replace()
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.out}'", reason=reason_of(err)) from err

    def start(self) -> None:
        """Open the partial file."""
        self._file = open(self.partial, "wb")  # noqa: SIM115  (lives as long as the run)
        self._file.write(self.head())

    def head(self) -> bytes:
        """RETURNS (bytes): What stands before the first record."""
        return b""

    def tail(self) -> bytes:
        """RETURNS (bytes): What stands after the last record."""
        return b""

    def record(self, essay: LabelledText, number: int) -> Any:
        """RETURNS (Any): A record as `put` takes it."""
        raise NotImplementedError

    def put(self, data: Any) -> None:
        """Write a record."""
        assert self._file is not None
        self._file.write(data)

    def end(self) -> None:
        """Write what comes after the last record, and see to it that all is on the disk."""
        assert self._file is not None
        self._file.write(self.tail())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def replace(self) -> None:
        """Put the partial file in the place of OUT."""
        os.replace(self.partial, self.out)

    def discard(self) -> None:
        """Remove the partial file, if it is still there."""
        if self._file is not None:
            self._file.close()
        if self.partial.is_dir():
            shutil.rmtree(self.partial, ignore_errors=True)
        else:
            self.partial.unlink(missing_ok=True)


class LinesWriter(CorpusWriter):
    """One JSON object per line."""

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The object."""
        raise NotImplementedError

    def record(self, essay: LabelledText, number: int) -> bytes:
        row = self.row(essay, number)
        return as_json({**row, **self.other_fields(essay.meta, row)}, number, self.form) + b"\n"

    def other_fields(self, meta: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): Other fields of the record, without those whose names the form needs; they are counted."""
        free = {name: value for name, value in meta.items() if name not in row}
        if len(free) < len(meta):
            self.tally.notes["other fields left out"] += len(meta) - len(free)
        return free


class ArrayWriter(LinesWriter):
    """A JSON array, one object per line."""

    def head(self) -> bytes:
        return b"["

    def tail(self) -> bytes:
        return b"\n]\n"

    def put(self, data: bytes) -> None:
        super().put((b",\n" if self.n_written else b"\n") + data.removesuffix(b"\n"))


def as_json(value: Any, number: int, form: str) -> bytes:
    """RETURNS (bytes): JSON in UTF-8.

    RAISES (PiiError): E640, if a field holds half of a character or nothing that JSON has.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeError, TypeError, ValueError, RecursionError) as err:
        raise PiiError(Errors.E640, number=number, form=form, reason=type(err).__name__) from err
