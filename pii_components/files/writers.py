"""Write texts back in the form that they came in, so that a run can be broken off at any moment.

    writer = open_writer(source, Path("clean.csv"))
    writer.start()
    writer.write(record, new_text)
    done = writer.sync()            # bytes that are safe on disk; start(done) goes on from there
    writer.finish()                 # clean.csv.partial becomes clean.csv

Records go to `<OUTPUT>.partial` as they come. It can be read while it grows (an array is closed when the run stops in order),
and takes the name OUTPUT only when all is done.
"""

import hmac
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import Errors, PiiError, writing
from ..offsets import OffsetMap
from .record import FIELD_SEPARATOR, Record, Skip, Source, check_fields
from .sources import files_below, read_file, suffix_of_output
from .tables import (
    CsvSource,
    JsonBody,
    JsonSource,
    ParquetSource,
    csv_line,
    safe_cell,
    table_of,
    to_csv,
)

# Rows of a Parquet file that are written together, and how many times as many make a group of them.
_ROWS, _BATCHES = 500, 40


def partial_path(out: Path) -> Path:
    """Where the output grows: `<OUTPUT>.partial`."""
    return out.with_name(out.name + ".partial")


def new_file(path: Path, mode: int = 0o600) -> BinaryIO:
    """A file that was not there before, which only its owner can read from its first moment; a link that lies at its name is
    removed and not followed. RAISES (OSError): If the system refuses."""
    path.unlink(missing_ok=True)
    return _opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)


def _opened(path: Path, flags: int, mode: int = 0o600) -> BinaryIO:
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "r+b")


def replace_file(path: Path, content: str) -> None:
    """Write a private file whole or not at all. RAISES (PiiError): E512."""
    fresh = path.with_name(path.name + ".new")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(fresh) as file:
            file.write(content.encode("utf-8"))
            sync_file(file)
        os.replace(fresh, path)


def sync_file(file: Any) -> int:
    """See to it that all is on the disk. RETURNS (int): How many bytes."""
    file.flush()
    os.fsync(file.fileno())
    return int(file.tell())


class GrowingFile:
    """A file that can be cut off at a byte that was safe, and go on from there. All methods raise E512.

    mode (int): Who may read it. key (bytes), expected (str): Of the run; the `digest` of what an earlier
    one made safe, if it is to be checked.
    """

    mode = 0o600
    key = b""
    expected = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._hash = hmac.new(b"", digestmod="sha256")

    def head(self) -> bytes:
        """What stands before the first record."""
        return b""

    def tail(self) -> bytes:
        """What stands after the last record."""
        return b""

    def start(self, done: int | None = None) -> None:
        """Open the file.

        done (int | None): Bytes that an earlier run made safe; None starts anew, with `head`.
        RAISES (PiiError): E513, if the file has fewer bytes, or others: it was changed since.
        """
        self._hash = hmac.new(self.key, digestmod="sha256")
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if done is None:
                self._file = new_file(self.path, self.mode)
                self.append(self.head())
                return
            if not self.path.is_file() or self.path.stat().st_size < done:
                raise PiiError(Errors.E513)
            self._file = _opened(self.path, os.O_RDWR)
            while rest := done - self._file.tell():
                self._hash.update(self._file.read(min(rest, 1 << 20)))
            if self.expected not in ("", self.digest):
                self._file.close()
                raise PiiError(Errors.E513)
            self._file.truncate(done)

    @property
    def digest(self) -> str:
        """HMAC-SHA256 of all that was written, under the key."""
        return self._hash.hexdigest()

    @property
    def size(self) -> int:
        """RETURNS (int): Bytes that were written."""
        assert self._file is not None
        return self._file.tell()

    def append(self, data: bytes) -> None:
        assert self._file is not None
        with writing(self.path):
            self._file.write(data)
        self._hash.update(data)

    def sync(self) -> int:
        """RETURNS (int): Bytes that are safe on disk."""
        if self._file is None or self._file.closed:
            return 0
        with writing(self.path):
            return sync_file(self._file)

    def close(self) -> None:
        """Close the file at its end, when it is safe on disk."""
        if self._file is not None and not self._file.closed:
            self.append(self.tail())
            self.sync()
            self._file.close()

    def stop(self) -> None:
        """Close the file before its end, readable; a disk that is full may be why."""
        if self._file is not None and not self._file.closed:
            with suppress(OSError), self._file as file:
                file.write(self.tail())

    def clear(self) -> None:
        """Remove the file."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        self.path.unlink(missing_ok=True)


class NewText(NamedTuple):
    """What a record becomes: its text, new values of other fields, and how the text of the record leads there."""

    text: str
    fields: Mapping[str, Any] | None = None
    offsets: OffsetMap | None = None

    def moved(self, record: Record) -> OffsetMap:
        """RETURNS (OffsetMap): Of the two texts; without one each character stays where it is. RAISES (PiiError): E411."""
        return self.offsets or OffsetMap(len(record.text), len(self.text))


class Output(GrowingFile):
    """What grows beside OUT, and takes its name when all is there.

    partial (Path | None): Where it grows; None for `<OUT>.partial`.
    """

    def __init__(self, out: Path, partial: Path | None = None) -> None:
        self.out, self.partial = out, partial or partial_path(out)
        super().__init__(self.partial)

    def finish(self) -> None:
        """Give what was written the name OUT; if that fails, OUT is as it was."""
        self.close()
        with writing(self.out):
            self.replace()

    def replace(self) -> None:
        """Put the partial file in the place of OUT."""
        os.replace(self.partial, self.out)

    def discard(self) -> None:
        """Give up: the partial file goes, OUT stays as it was."""
        self.clear()
        shutil.rmtree(self.partial, ignore_errors=True)


class Writer(Output):
    """Texts in the encoding and form of their source, for others to read: one plain text. The base of all writers."""

    mode = 0o666

    def __init__(self, source: Source, out: Path) -> None:
        super().__init__(out)
        self.source, self.encoding = source, source.written_in or source.encoding

    def head(self) -> bytes:
        return self.source.bom

    def form(self, record: Record, new: NewText) -> str:
        return new.text

    def texts(self, record: Record, new: NewText) -> list[tuple[str, str]]:
        """RETURNS (list[tuple[str, str]]): The text of each column, old and new. RAISES (PiiError): E545."""
        if not self.source.more:
            return [(record.text, new.text)]
        olds = record.text.split(FIELD_SEPARATOR)
        if len(olds) != len(self.source.text_fields):
            raise PiiError(Errors.E545, number=record.number)
        found, at, offsets = [], 0, new.moved(record)
        for old in olds:
            start, end = offsets.part_to_new(at, at + len(old))
            found.append((old, new.text[start:end]))
            at += len(old) + len(FIELD_SEPARATOR)
        return found

    def changed(self, record: Record, new: NewText) -> dict[str, str]:
        """The new text of each column whose text has changed. RAISES (PiiError): E545."""
        both = zip(self.source.text_fields, self.texts(record, new), strict=True)
        return {name: text for name, (old, text) in both if text != old}

    def write(
        self,
        record: Record,
        text: str,
        fields: Mapping[str, Any] | None = None,
        offsets: OffsetMap | None = None,
    ) -> None:
        """Add a record with its new text, and new values of other fields (tokens, labels).

        offsets (OffsetMap | None): From the text of the record to the new one; not needed where there is one text.
        RAISES (PiiError): E538, if the encoding has no such characters; E545, if texts cannot be
            told apart; nothing is written then. E512, if the disk refuses.
        """
        self.put(record, self.encoded(record, NewText(text, fields, offsets)))

    def encoded(self, record: Record, new: NewText) -> bytes:
        """RETURNS (bytes): What is written of a record. RAISES (PiiError): E538, E545."""
        # That of the file it goes to.
        encoding = self.encoding if self.source.has_columns else str(record.body[1][0])
        try:
            return self.form(record, new).encode(encoding)
        except UnicodeError as err:
            raise PiiError(Errors.E538, number=record.number, encoding=encoding) from err

    def reread(self, record: Record, text: str, offsets: OffsetMap) -> list[tuple[str, str]]:
        """What a reader of OUTPUT will read as the text of a record.

        RETURNS (list[tuple[str, str]]): Its pieces, as they were read and as they will be.
        RAISES (PiiError): E470, if it would not be read; E538, E545.
        """
        new = NewText(text, None, offsets)
        if self.source.has_columns:
            pairs = self.texts(record, new)
            return [both for pair in pairs for both in (pair, (FIELD_SEPARATOR,) * 2)][:-1]
        (name, (_, bom), *_), table = record.body, table_of(record)
        data = bom + self.encoded(record, new)
        item = read_file(data, record.number, name, encoding=self.source.encoding)
        if isinstance(item, Skip) or not item.text.strip():
            raise PiiError(Errors.E470, document=record.number)
        again = table_of(item)
        if not (table and again):
            return [(record.text, item.text)]
        if len(table.pieces()) != len(again.pieces()):
            raise PiiError(Errors.E470, document=record.number)
        return list(zip(table.pieces()[:-1], again.pieces()[:-1], strict=True))

    def put(self, record: Record, data: bytes) -> None:
        self.append(data)


class CsvWriter(Writer):
    """A table with the delimiter, line ends and quoting of its source. safe (bool): Whether `safe_cell` is applied."""

    source: CsvSource

    def __init__(self, source: CsvSource, out: Path, *, safe: bool) -> None:
        super().__init__(source, out)
        self.safe = safe
        self._keep = [i for i, name in enumerate(source.fields) if name not in source.drop]

    def head(self) -> bytes:
        line = self._line(self.source.fields)
        return super().head() + line.encode(self.encoding, "surrogateescape")

    def form(self, record: Record, new: NewText) -> str:
        row = list(record.body)
        for name, text in self.changed(record, new).items():
            row[self.source.fields.index(name)] = text
        return self._line(row)

    def _line(self, cells: list[str]) -> str:
        kept, source = [cells[i] for i in self._keep], self.source
        kept = list(map(safe_cell, kept)) if self.safe else kept
        return csv_line(kept, source.dialect)


class JsonlWriter(Writer):
    """One object per line, with a new text."""

    def form(self, record: Record, new: NewText) -> str:
        values = {**self.changed(record, new), **(new.fields or {})}
        return str(record.body.to_json(values, self.source.drop)) + "\n"


class JsonWriter(JsonlWriter):
    """An array of objects. A comma comes before each but the first, so that the array can be closed anywhere."""

    def head(self) -> bytes:
        return super().head() + "[".encode(self.encoding)

    def tail(self) -> bytes:
        return "\n]\n".encode(self.encoding)

    def form(self, record: Record, new: NewText) -> str:
        comma = "," if self.size > len(self.head()) else ""
        return comma + "\n" + super().form(record, new).removesuffix("\n")


class ParquetWriter(Writer):
    """A Parquet file. It cannot grow, so rows go to a stream of Arrow first, which can be cut off and taken up like a text."""

    source: ParquetSource

    def start(self, done: int | None = None) -> None:
        self._rows: list[Any] = []
        super().start(done)

    def head(self) -> bytes:
        return bytes(self.source.schema.serialize())

    def write(
        self,
        record: Record,
        text: str,
        fields: Mapping[str, Any] | None = None,
        offsets: OffsetMap | None = None,
    ) -> None:
        row = record.body
        for name, new in self.changed(record, NewText(text, fields, offsets)).items():
            row = with_value(row, name, new)
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            for batch in pyarrow.Table.from_batches(self._rows).combine_chunks().to_batches():
                self.append(bytes(batch.serialize()))
            self._rows = []

    def sync(self) -> int:
        self._flush()
        return super().sync()

    def replace(self) -> None:
        import pyarrow
        from pyarrow import parquet

        fresh = self.out.with_name(self.out.name + ".new")
        with open(self.partial, "rb") as file, new_file(fresh, self.mode) as target:
            with parquet.ParquetWriter(target, self.source.schema) as out:
                stream = pyarrow.ipc.open_stream(file)
                while batches := list(islice(stream, _BATCHES)):
                    out.write_table(pyarrow.Table.from_batches(batches))
            sync_file(target)
        os.replace(fresh, self.out)
        self.partial.unlink()


def with_value(row: Any, name: str, value: Any) -> Any:
    """A row of a Parquet file with another value in one column."""
    import pyarrow

    at = row.schema.get_field_index(name)
    return row.set_column(
        at, row.schema.field(at), pyarrow.array([value], type=row.schema.field(at).type)
    )


class FolderWriter(Writer):
    """A folder with the structure of its source. The partial folder becomes OUTPUT, or its files replace those of the same
    name there. Beside it grows a list of its files, with a digest of each."""

    def __init__(self, source: Source, out: Path) -> None:
        super().__init__(source, out)
        self.path = self.partial.with_name(self.partial.name + ".list")

    def start(self, done: int | None = None) -> None:
        with writing(self.partial):
            if done is not None and (self.partial.is_symlink() or not self.partial.is_dir()):
                raise PiiError(Errors.E513)
            if done is None and self.partial.is_dir():
                shutil.rmtree(self.partial)
            self.partial.mkdir(parents=True, exist_ok=True)
        super().start(done)
        if done is not None:
            with writing(self.partial):
                self._check()

    def _check(self) -> None:
        """Only what is listed stays, and it is as it was; some may have got to OUT. RAISES (PiiError): E513."""
        listed = dict(map(json.loads, self.path.read_bytes().splitlines()))
        for name in files_below(self.partial)[0]:
            if name not in listed:
                (self.partial / name).unlink()
        for name, digest in listed.items():
            places = [place / name for place in (self.partial, self.out)]
            path = next((path for path in places if path.is_file()), None)
            if path is None or self._digest(path.read_bytes()) != digest:
                raise PiiError(Errors.E513)

    def _digest(self, data: bytes) -> str:
        return hmac.new(self.key, data, "sha256").hexdigest()

    def form(self, record: Record, new: NewText) -> str:
        table = table_of(record)
        if table is None:
            return new.text
        table = table.with_text(new.text, new.moved(record))
        return to_csv(table.rows, table.dialect)

    def put(self, record: Record, data: bytes) -> None:
        name, (_, bom), *_ = record.body
        path = self.partial / name
        with writing(f"record {record.number}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with new_file(path, self.mode) as file:
                file.write(bom + data)
                sync_file(file)
        row = str(path.relative_to(self.partial)), self._digest(bom + data)
        self.append(json.dumps(row).encode("ascii") + b"\n")

    def replace(self) -> None:
        if not self.out.exists():
            os.replace(self.partial, self.out)
        for folder, _, names in os.walk(self.partial, topdown=False):
            target = self.out / os.path.relpath(folder, self.partial)
            target.mkdir(parents=True, exist_ok=True)
            for name in names:
                os.replace(os.path.join(folder, name), target / name)
            os.rmdir(folder)
        self.clear()


class ZipWriter(FolderWriter):
    """A folder that becomes an archive: sorted, without times, the same bytes at all times."""

    def __init__(self, source: Source, out: Path) -> None:
        super().__init__(source, out)
        self.gone = self.partial.with_name(self.partial.name + ".gone")

    def replace(self) -> None:
        fresh = self.out.with_name(self.out.name + ".new")
        with new_file(fresh, self.mode) as made:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(path for path in self.partial.rglob("*") if path.is_file()):
                    info = zipfile.ZipInfo(path.relative_to(self.partial).as_posix())
                    info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, path.stat().st_size
                    with open(path, "rb") as file, archive.open(info, "w") as target:
                        shutil.copyfileobj(file, target)
            sync_file(made)
        os.replace(fresh, self.out)
        # Half of a partial folder must not be taken up.
        shutil.rmtree(self.gone, ignore_errors=True)
        os.replace(self.partial, self.gone)
        self.clear()

    def clear(self) -> None:
        shutil.rmtree(self.gone, ignore_errors=True)
        super().clear()


def open_writer(source: Source, out: Path, *, safe: bool = False) -> Writer:
    """The writer for the form of a source, not started yet. safe (bool): Whether cells are written by `tables.safe_cell`.

    RAISES (PiiError): E511, if OUTPUT's name is of another form.
    """
    if source.kind == "folder" and out.suffix.lower() == ".zip" and not out.is_dir():
        return ZipWriter(source, out)
    if source.kind == "folder":
        if out.exists() and not out.is_dir():
            raise PiiError(Errors.E511, expected="a folder", got=out)
        return FolderWriter(source, out)
    if out.is_dir():
        raise PiiError(Errors.E511, expected="a file", got=out)
    suffix = suffix_of_output(source.path)
    if out.suffix.lower() != suffix and source.path.name != "-":
        raise PiiError(Errors.E511, expected=f"a {suffix} file", got=out.name)
    if isinstance(source, CsvSource):
        return CsvWriter(source, out, safe=safe)
    if isinstance(source, ParquetSource):
        return ParquetWriter(source, out)
    if isinstance(source, JsonSource):
        return JsonWriter(source, out) if source.kind == "json" else JsonlWriter(source, out)
    return Writer(source, out)


def as_line(record: Record, source: Source) -> str:
    """A record of any source as one line of JSON Lines, as `corpus clean` and `corpus split` write it."""
    if isinstance(record.body, JsonBody):
        return record.body.to_json()
    if isinstance(source, CsvSource):
        row: dict[str, Any] = {}
        for i, (name, cell) in enumerate(zip(source.fields, record.body, strict=True), 1):
            row[name if name not in row else f"{name} ({i})"] = cell
    elif isinstance(source, ParquetSource):
        row = record.body.to_pylist()[0]
    else:
        row = {"id": record.id, "text": record.text}
        if isinstance(record.body, int):
            row["pages"] = record.body
    return json.dumps(row, ensure_ascii=False, default=str)


def check_column(source: Source, name: str, option: str) -> None:
    """Check that a source has a column. RAISES (PiiError): E651, if it has none at all; E652, if it has others."""
    if not source.has_columns:
        raise PiiError(
            Errors.E651,
            option=option,
            kind="a folder of files" if source.kind == "folder" else "a text",
        )
    check_fields(source.fields, name, option=option)


def value_of(record: Record, source: Source, name: str) -> Any:
    """What stands in a column of a record; None if nothing does."""
    if isinstance(record.body, JsonBody):
        return record.body.values.get(name)
    if isinstance(source, ParquetSource):
        return record.body.column(name)[0].as_py()
    return record.body[source.fields.index(name)] if isinstance(source, CsvSource) else None


def renamed(record: Record, source: Source, name: str, value: Any) -> Record:
    """The record with another ID, which is the value of a column, or the name of its file ("(file name)"), in all that is written of
    it; `given` is what it had. As it was, if a table has no such column."""
    body = record.body
    if isinstance(source, CsvSource | ParquetSource) and name not in source.fields:
        return record
    if isinstance(body, JsonBody):
        old, body = body.values.get(name), replace(body, values={**body.values, name: value})
    elif isinstance(source, ParquetSource):
        old, body = value_of(record, source, name), with_value(body, name, value)
    elif isinstance(source, CsvSource):
        at = source.fields.index(name)
        old, body = body[at], [*body[:at], value, *body[at + 1 :]]
    else:
        old, body = body[0], (value, *body[1:])
    others = tuple(
        (other, str(value) if other == name else content) for other, content in record.others
    )
    return replace(record, id=str(value), body=body, others=others, given=(name, old))
