"""Write texts back in the form that they came in, so that a run can be broken off at any moment.

    writer = open_writer(source, Path("clean.csv"))
    writer.start()
    writer.write(record, new_text)
    done = writer.sync()            # bytes that are safe on disk; start(done) goes on from there
    writer.finish()                 # clean.csv.partial becomes clean.csv

Records go to `<OUTPUT>.partial` as they come. It can be read while it grows (an array is closed when the run stops in order),
and takes the name OUTPUT only when all is done.
"""

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import Errors, PiiError
from .json_text import JsonBody, JsonSource, splice
from .record import Record, Source, reason_of, show_fields
from .tables import CsvSource

# Records of any source as JSON Lines: what `corpus clean` and `corpus split` write.

# Between the parts of an object that was written over several lines; in its strings a line break is an escape.
_BREAKS = re.compile(r"[\r\n]+[ \t]*")


def as_line(record: Record, source: Source) -> str:
    """RETURNS (str): One JSON object without line breaks, and without one at its end."""
    if isinstance(record.body, JsonBody):
        return _BREAKS.sub(" ", record.body.raw).strip()
    if isinstance(source, CsvSource):
        row: dict[str, Any] = {}
        for i, (name, cell) in enumerate(zip(source.header, record.body, strict=True), 1):
            row[name if name not in row else f"{name} ({i})"] = cell
    else:
        row = {"id": record.id, "text": record.text}
        if isinstance(record.body, int):
            row["pages"] = record.body
    return json.dumps(row, ensure_ascii=False)


def check_column(source: Source, name: str, option: str) -> None:
    """Check that a source has a column.

    RAISES (PiiError): E651, if it has none at all; E652, if it has others.
    """
    fields = source.header if isinstance(source, CsvSource) else [source.text_field, *source.others]
    if source.kind not in ("csv", "json", "jsonl"):
        raise PiiError(Errors.E651, option=option, kind="a folder of files" if source.kind != "txt" else "a text")
    if name not in fields:
        raise PiiError(Errors.E652, option=option, name=name, fields=show_fields(fields))


def value_of(record: Record, source: Source, name: str) -> Any:
    """RETURNS (Any): What stands in a column of a record; None if nothing does."""
    if isinstance(record.body, JsonBody):
        return record.body.value(name)
    if isinstance(source, CsvSource):
        return record.body[source.header.index(name)]
    return None


def partial_path(out: Path) -> Path:
    """RETURNS (Path): Where the output grows: `<OUTPUT>.partial`."""
    return out.with_name(out.name + ".partial")


class Writer:
    """One file that grows. The base of all writers; on its own it writes a plain text.

    source (Source): What is read; tells encoding and form. out (Path): OUTPUT.
    """

    def __init__(self, source: Source, out: Path) -> None:
        self.source, self.out, self.partial = source, out, partial_path(out)
        self._file: BinaryIO | None = None

    def start(self, done: int | None = None) -> None:
        """Open the partial file.

        done (int | None): Bytes that an earlier run made safe: what stands after them is cut off. None starts anew.
        RAISES (PiiError): E512, if it cannot be written.
        """
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.partial, "wb" if done is None else "r+b")  # noqa: SIM115  (lives as long as the run)
            if done is None:
                self._file.write(self.source.bom + self.head())
            else:
                self._file.truncate(done)
                self._file.seek(done)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err

    def head(self) -> bytes:
        """RETURNS (bytes): What stands before the first record."""
        return b""

    def tail(self) -> bytes:
        """RETURNS (bytes): What stands after the last record."""
        return b""

    def form(self, record: Record, text: str, fields: Mapping[str, Any]) -> str:
        """RETURNS (str): The record with its new text."""
        return text

    def write(self, record: Record, text: str, fields: Mapping[str, Any] | None = None) -> None:
        """Add a record.

        record (Record): As read. text (str): Its new text. fields (Mapping[str, Any] | None): New values of other fields
        (tokens, labels).
        RAISES (PiiError): E538, if the file's encoding has no such characters; nothing is written then. E512, if the disk
        refuses.
        """
        try:
            data = self.form(record, text, fields or {}).encode(self.encoding_of(record))
        except UnicodeError as err:
            raise PiiError(Errors.E538, number=record.number, encoding=self.encoding_of(record)) from err
        self.put(record, data)

    def encoding_of(self, record: Record) -> str:
        """RETURNS (str): The encoding of the file that the record goes to."""
        return self.source.encoding

    def put(self, record: Record, data: bytes) -> None:
        """Write the bytes of a record."""
        assert self._file is not None
        try:
            self._file.write(data)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err

    def sync(self) -> int:
        """RETURNS (int): Bytes of the partial file that are safe on disk."""
        if self._file is None:
            return 0
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        return self._file.tell()

    def stop(self) -> None:
        """Close the partial file before the end; it is left readable."""
        if self._file is not None and not self._file.closed:
            try:
                self._file.write(self.tail())
                self._file.close()
            except OSError:
                pass  # the disk that is full is why the run stops

    def finish(self) -> None:
        """Close the file and give it the name OUTPUT.

        RAISES (PiiError): E512, if that fails; the partial file stays.
        """
        self.stop()
        try:
            os.replace(self.partial, self.out)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.out}'", reason=reason_of(err)) from err


class TextWriter(Writer):
    """One plain text, with the byte order mark that it had."""

    def start(self, done: int | None = None) -> None:
        super().start(None)

    def encoding_of(self, record: Record) -> str:
        return str(record.body[1][0])


class CsvWriter(Writer):
    """A table with the delimiter, line ends and quoting of its source."""

    def __init__(self, source: CsvSource, out: Path) -> None:
        super().__init__(source, out)
        self.line_end = source.line_end
        self._keep = [i for i, name in enumerate(source.header) if name not in source.drop]
        self._text_at = source.header.index(source.text_field)
        self._header = source.header
        self._buffer = io.StringIO()
        # Python's writer only quotes a lone carriage return where it is part of the line end: so write both, cut one.
        self._rows = csv.writer(
            self._buffer,
            delimiter=source.delimiter,
            lineterminator="\r\n",
            quoting=csv.QUOTE_ALL if source.quote_all else csv.QUOTE_MINIMAL,
        )

    def head(self) -> bytes:
        return self._row(self._header).encode(self.source.encoding, "surrogateescape")

    def form(self, record: Record, text: str, fields: Mapping[str, Any]) -> str:
        row = list(record.body)
        row[self._text_at] = text
        return self._row(row)

    def _row(self, cells: list[str]) -> str:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._rows.writerow([cells[i] for i in self._keep])
        return self._buffer.getvalue()[:-2] + self.line_end


class JsonlWriter(Writer):
    """One object per line, as it was written, with a new text."""

    def form(self, record: Record, text: str, fields: Mapping[str, Any]) -> str:
        return self.object(record, text, fields) + "\n"

    def object(self, record: Record, text: str, fields: Mapping[str, Any]) -> str:
        """RETURNS (str): JSON of the record."""
        new = {self.source.text_field: text, **fields} if text != record.text else {}
        return splice(record.body, new, self.source.drop)


class JsonWriter(JsonlWriter):
    """An array of objects. A comma comes before each but the first, so that the array can be closed anywhere."""

    def __init__(self, source: JsonSource, out: Path) -> None:
        super().__init__(source, out)
        self._empty = True

    def start(self, done: int | None = None) -> None:
        super().start(done)
        self._empty = done is None or done <= len(self.source.bom) + len(self.head())

    def head(self) -> bytes:
        return "[".encode(self.source.encoding)

    def tail(self) -> bytes:
        return "\n]\n".encode(self.source.encoding)

    def form(self, record: Record, text: str, fields: Mapping[str, Any]) -> str:
        return ("\n" if self._empty else ",\n") + self.object(record, text, fields)

    def put(self, record: Record, data: bytes) -> None:
        super().put(record, data)
        self._empty = False


class FolderWriter(Writer):
    """A folder with the structure of its source. The partial folder becomes OUTPUT, or its files replace those of the same
    name there."""

    def start(self, done: int | None = None) -> None:
        try:
            if done is None and self.partial.is_dir():
                shutil.rmtree(self.partial)
            self.partial.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err

    def encoding_of(self, record: Record) -> str:
        return str(record.body[1][0])

    def put(self, record: Record, data: bytes) -> None:
        name, (_, bom) = record.body
        path = self.partial / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as file:
                file.write(bom + data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as err:
            raise PiiError(Errors.E512, what=f"record {record.number}", reason=reason_of(err)) from err

    def finish(self) -> None:
        try:
            if not self.out.exists():
                os.replace(self.partial, self.out)
                return
            for folder, _, names in os.walk(self.partial, topdown=False):
                target = self.out / os.path.relpath(folder, self.partial)
                target.mkdir(parents=True, exist_ok=True)
                for name in names:
                    os.replace(os.path.join(folder, name), target / name)
                os.rmdir(folder)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.out}'", reason=reason_of(err)) from err


def open_writer(source: Source, out: Path) -> Writer:
    """The writer for the form of a source.

    source (Source): The input. out (Path): OUTPUT.
    RETURNS (Writer): Not started yet.
    RAISES (PiiError): E511, if the name of OUTPUT belongs to another form.
    """
    suffix = out.suffix.lower()
    same = source.path.suffix.lower()
    if source.kind == "folder":
        if out.exists() and not out.is_dir():
            raise PiiError(Errors.E511, expected="a folder", got=out)
        return FolderWriter(source, out)
    if out.is_dir():
        raise PiiError(Errors.E511, expected="a file", got=out)
    if suffix != same and source.path.name != "-":
        raise PiiError(Errors.E511, expected=f"a {same} file", got=out.name)
    if isinstance(source, CsvSource):
        return CsvWriter(source, out)
    if isinstance(source, JsonSource):
        return JsonWriter(source, out) if source.kind == "json" else JsonlWriter(source, out)
    return TextWriter(source, out)
