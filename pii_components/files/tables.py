"""CSV and TSV, and Parquet: one row at a time.

    source = open_csv(Path("essays.csv"), text_field="essay")
    source = open_parquet(Path("essays.parquet"), text_field="essay")

The delimiter is found in the header, a byte order mark and the line ends are kept, cells may hold
line breaks. Quotes are read strictly. A row that is broken (its quotes do not close, or it has
another number of cells than the header) is skipped and listed with its line. So are the rows beside
it: where a text runs over, its lines may look like rows, with words of it in columns that pass
through in clear.

Columns of a Parquet file keep their types, but for those of texts and IDs, which become strings, and
categories, which become what they stand for. Its metadata, where pandas leaves names of files and
whatever somebody put into `attrs`, are not read and not written.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ..errors import Errors, PiiError
from .json_text import shown_fields
from .record import (
    FIELD_SEPARATOR,
    Record,
    Skip,
    Source,
    check_once,
    is_no_text,
    open_binary,
    open_decoded,
    open_text,
    reason_of,
)

DELIMITERS = (",", ";", "\t", "|")
# Ten times what spaCy takes as one text; the module's own limit, 131,072, is less than a long thread of a forum.
FIELD_LIMIT = 10_000_000
_NUMBER = re.compile(r"[+-]?[\d.,]*(?:[eE][+-]?\d+)?%?")


@dataclass(slots=True)
class CsvSource(Source):
    """A table. header (list[str]): All columns. delimiter, line_end (str), quote_all (bool): As in the file."""

    header: list[str] = field(default_factory=list)
    delimiter: str = ","
    line_end: str = "\n"
    quote_all: bool = False

    def __iter__(self) -> Iterator[Record | Skip]:
        with (
            open_binary(self.path) as self.raw,
            open_text(self.raw, encoding=self.encoding, bom=self.bom) as stream,
        ):
            yield from self._records(stream)

    def _records(self, stream: TextIO) -> Iterator[Record | Skip]:
        """A row is held back until the next one is known: beside a broken row it does not count."""
        rows = numbered_rows(stream, self.delimiter)
        next(rows, None)  # the header
        held: tuple[int, Record | Skip] | None = None
        was_broken = False
        for number, line, row in rows:
            item = row if isinstance(row, Skip) else self._item(number - 1, line, row)
            is_broken = isinstance(item, Skip) and item.code == "E524"
            if held is not None:
                yield _beside(*held) if is_broken else held[1]
            held = line, (_beside(line, item) if was_broken else item)
            was_broken = is_broken
        if held is not None:
            yield held[1]

    def _item(self, number: int, line: int, row: list[str]) -> Record | Skip:
        if len(row) != len(self.header):
            reason = f"{len(row)} cells where the header has {len(self.header)}"
            return Skip.of(Errors.E524, number=number, line=line, reason=reason)
        row = list(map(plain_cell, row)) if self.spreadsheet_safe else row
        ident = row[self.header.index(self.id_field)] if self.id_field else ""
        if any(map(is_no_text, row)):
            return Skip.of(
                Errors.E520,
                number=number,
                line=line,
                id="" if is_no_text(ident) else ident,
                encoding=self.encoding,
            )
        pairs = zip(self.header, row, strict=True)
        others = tuple((name, cell) for name, cell in pairs if name in self.others)
        text = FIELD_SEPARATOR.join(row[self.header.index(name)] for name in self.text_fields)
        return Record(
            number, ident if self.id_field else str(number), text, body=row, others=others
        )


def _is_formula(cell: str) -> bool:
    bare = cell.lstrip("'")
    return bare.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(bare)


def safe_cell(cell: str) -> str:
    """What is written so that no spreadsheet runs it: an apostrophe before =, +, -, @, tab or carriage return, unless it is a number."""
    return "'" + cell if _is_formula(cell) else cell


def plain_cell(cell: str) -> str:
    """The cell that `safe_cell` was given."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _beside(line: int, item: Record | Skip) -> Record | Skip:
    """RETURNS (Record | Skip): The item beside a broken row: a record becomes a skip."""
    if isinstance(item, Skip):
        return item
    return Skip.of(Errors.E553, number=item.number, line=line, id=item.id)


def numbered_rows(
    stream: Iterable[str], delimiter: str = ","
) -> Iterator[tuple[int, int, list[str] | Skip]]:
    """Read a table, its header too. Behind a row whose quotes are broken, reading goes on at its
    second line.

    YIELDS (tuple): Number from 1 and first line of each row that is not empty, and the row: E524
        with the number of the record, the header being none; at the end E531.
    """
    lines, again = iter(stream), deque[str]()
    taken: list[str] = []

    def lines_of_row() -> Iterator[str]:
        while line := again.popleft() if again else next(lines, ""):
            taken.append(line)
            yield line

    number, line = 1, 1
    while True:
        taken.clear()
        rows = csv.reader(lines_of_row(), delimiter=delimiter, strict=True)
        try:
            row: list[str] | Skip = next(rows)
        except StopIteration:
            return
        except csv.Error as err:
            again.extendleft(reversed(taken[1:]))
            del taken[1:]
            row = Skip.of(Errors.E524, number=number - 1, line=line, reason=str(err))
        except (OSError, UnicodeError) as err:
            reason = reason_of(err)
            yield number, line, Skip.of(Errors.E531, number=number - 2, reason=reason, last=True)
            return
        if row and sum(text.count('"') for text in taken) % 2 and not isinstance(row, Skip):
            reason = "an odd number of quotes"
            row = Skip.of(Errors.E524, number=number - 1, line=line, reason=reason)
        if row:
            yield number, line, row
            number += 1
        line += len(taken)


def open_csv(path: Path, *, encoding: str = "utf-8", **columns: Any) -> CsvSource:
    """Read the header of a table and find its text.

    encoding (str): A byte order mark in the file overrules utf-8.
    columns: text_field, more, id_field, drop and spreadsheet_safe of a `Source`; an empty text_field finds one with a usual name.
    RAISES (PiiError): E501 to E508, E550.
    """
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
    try:
        with open_decoded(path, encoding) as (stream, codec, bom):
            lines = _lines_of_first_record(stream)
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what="the header", reason=reason_of(err)) from err
    if not "".join(lines).strip():
        raise PiiError(Errors.E503)
    if is_no_text("".join(lines)):
        raise PiiError(Errors.E550, encoding=codec)
    source = CsvSource(path, "csv", codec, bom, size=path.stat().st_size, **columns)
    source.delimiter, header = _sniff(lines, source.text_field, path.suffix.lower())
    source.header = list(map(plain_cell, header)) if source.spreadsheet_safe else header
    source.choose(source.header)
    ends = (end for end in ("\r\n", "\r") if lines[-1].endswith(end))
    source.line_end = next(ends, "\n")
    source.quote_all = "".join(lines).count('"') == 2 * len(header)
    return source


def _lines_of_first_record(stream: TextIO, limit: int = 1_000_000) -> list[str]:
    """Lines up to the first with an even number of quotes so far: a name of a column may hold a line break."""
    lines: list[str] = []
    quotes = size = 0
    while size < limit:
        line = stream.readline(limit)
        lines.append(line)
        quotes, size = quotes + line.count('"'), size + len(line)
        if not line or (quotes % 2 == 0 and line.strip()):
            break
    return lines


def _sniff(lines: list[str], wanted: str, suffix: str) -> tuple[str, list[str]]:
    """The delimiter that makes the wanted column appear, else most columns; and the header."""
    best: tuple[int, str, list[str]] = (-1, ",", [])
    for delimiter in ("\t", *DELIMITERS) if suffix == ".tsv" else DELIMITERS:
        try:
            header = next(
                (row for row in csv.reader(iter(lines), delimiter=delimiter, strict=True) if row),
                [],
            )
        except csv.Error:
            continue
        rank = (
            len(header)
            + 1000 * bool(wanted and wanted in header)
            + 500 * (suffix == ".tsv" and delimiter == "\t")
        )
        if rank > best[0]:
            best = (rank, delimiter, header)
    return best[1], best[2]


@dataclass(slots=True)
class ParquetSource(Source):
    """A Parquet file; the body of a record is a batch of one row. header (list[str]): All columns. schema (Any): Of what is written.
    done (int): Rows read."""

    header: list[str] = field(default_factory=list)
    schema: Any = None
    done: int = 0

    def __iter__(self) -> Iterator[Record | Skip]:
        from pyarrow import ArrowException, array, parquet

        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=256, columns=self.schema.names):
                    rows = batch.replace_schema_metadata(None).cast(self.schema)
                    for i in range(len(rows)):
                        self.done += 1
                        yield self._record(rows.take(array([i])))
        except (ArrowException, OSError) as err:  # their messages quote values
            yield Skip.of(Errors.E531, number=self.done, reason=reason_of(err), last=True)

    def _record(self, row: Any) -> Record | Skip:
        values = row.to_pylist()[0]
        ident = str(values.get(self.id_field) or "")
        text = FIELD_SEPARATOR.join(values[name] or "" for name in self.text_fields)
        if is_no_text(text):
            return Skip.of(Errors.E520, number=self.done, id=ident, encoding="utf-8")
        others = shown_fields(values, values.keys() - set(self.others))
        return Record(self.done, ident or str(self.done), text, body=row, others=others)

    def position(self) -> int:
        return self.done


def open_parquet(path: Path, **columns: Any) -> ParquetSource:
    """Read the schema of a Parquet file and find its text; columns as those of `open_csv`.

    RAISES (PiiError): E005, if pyarrow is not installed; E501, E503, E652 to E507; E523, if a text is something else.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as err:
        raise PiiError(
            Errors.E005, package="pyarrow", what="reading Parquet", extra="documents"
        ) from err
    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow.remove_metadata(), file.metadata.num_rows
    except (pyarrow.ArrowException, OSError) as err:
        raise PiiError(Errors.E501, what="the Parquet file", reason=reason_of(err)) from err
    if not rows:
        raise PiiError(Errors.E503)
    source = ParquetSource(path, "parquet", size=rows, header=schema.names, **columns)
    source.choose(source.header)
    for name in source.header:
        check_once(source.header, name)
    fields = []
    for column in schema:
        kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
        is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        if column.name in source.text_fields and not is_text:
            raise PiiError(Errors.E523, number=1, type=kind)
        kind = kind if is_text or column.name != source.id_field else pyarrow.string()
        fields += [pyarrow.field(column.name, kind)] if column.name not in source.drop else []
    source.schema = pyarrow.schema(fields)
    return source
