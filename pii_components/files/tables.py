"""CSV and TSV, one row at a time.

    source = open_csv(Path("essays.csv"), text_field="essay")

The delimiter is found in the header, a byte order mark and the line ends are kept, cells may hold line breaks. Quotes are
read strictly: a row whose quotes do not close is skipped and counted; read loosely, it would swallow the records after it, or
let a text run over into columns that pass through in clear.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ..errors import Errors, PiiError
from .record import (
    JOINT,
    Record,
    Skip,
    Source,
    check_fields,
    choose_text_field,
    has_half_pair,
    open_binary,
    open_decoded,
    open_text,
    reason_of,
)

DELIMITERS = (",", ";", "\t", "|")
# Ten times what spaCy takes as one text; the module's own limit, 131,072, is less than a long thread of a forum.
FIELD_LIMIT = 10_000_000


@dataclass(slots=True)
class CsvSource(Source):
    """A table. header (list[str]): All columns. delimiter, line_end (str), quote_all (bool): As in the file."""

    header: list[str] = field(default_factory=list)
    delimiter: str = ","
    line_end: str = "\n"
    quote_all: bool = False

    def __iter__(self) -> Iterator[Record | Skip]:
        with open_binary(self.path) as self.raw, open_text(self.raw, encoding=self.encoding, bom=self.bom) as stream:
            yield from self._records(stream)

    def _records(self, stream: TextIO) -> Iterator[Record | Skip]:
        text_at = [self.header.index(name) for name in self.text_fields]
        id_at = self.header.index(self.id_field) if self.id_field else -1
        watched = [i for i, name in enumerate(self.header) if name in self.others]
        rows = csv.reader(stream, delimiter=self.delimiter, strict=True)
        next(row for row in rows if row)
        for number, row in numbered_rows(rows):
            if isinstance(row, Skip):
                yield row
            elif len(row) != len(self.header):
                yield Skip.of(Errors.E525, number=number, got=len(row), expected=len(self.header))
            elif any(map(has_half_pair, row)):
                ident = row[id_at] if self.id_field and not has_half_pair(row[id_at]) else ""
                yield Skip.of(Errors.E520, number=number, id=ident, encoding=self.encoding)
            else:
                others = tuple((self.header[i], row[i]) for i in watched)
                text = JOINT.join(row[i] for i in text_at)
                yield Record(number, row[id_at] if self.id_field else str(number), text, body=row, others=others)


def numbered_rows(rows: Any) -> Iterator[tuple[int, list[str] | Skip]]:
    """YIELDS (tuple[int, list[str] | Skip]): Each row that is not empty, with its number from 1; E524 or, at the end, E531."""
    number = 1
    while True:
        start = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as err:
            yield number, Skip.of(Errors.E524, number=number, start=start, line=rows.line_num, reason=str(err))
        except (OSError, UnicodeError) as err:
            yield number, Skip.of(Errors.E531, number=number - 1, reason=reason_of(err), last=True)
            return
        else:
            if not row:
                continue
            yield number, row
        number += 1


def open_csv(
    path: Path,
    *,
    text_field: str = "",
    more: tuple[str, ...] = (),
    id_field: str = "",
    encoding: str = "utf-8",
    drop: frozenset[str] = frozenset(),
) -> CsvSource:
    """Read the header of a table and find its text.

    text_field (str): Its text column; empty to find one with a usual name. more (tuple[str, ...]): Further ones.
    id_field (str): Its id column or "".
    encoding (str): A byte order mark in the file overrules utf-8. drop (frozenset[str]): Columns that do not go to the output.
    RAISES (PiiError): E501 to E508.
    """
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
    try:
        with open_decoded(path, encoding) as (stream, codec, bom):
            lines = _lines_of_first_record(stream)
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what="the header", reason=reason_of(err)) from err
    if not "".join(lines).strip():
        raise PiiError(Errors.E503)
    delimiter, header = _sniff(lines, text_field, path.suffix.lower())
    chosen = [choose_text_field(header, name) for name in (text_field, *more)]
    check_fields(header, id_field, *drop)
    last = lines[-1]
    return CsvSource(
        path=path,
        kind="csv",
        encoding=codec,
        bom=bom,
        text_field=chosen[0],
        more=tuple(chosen[1:]),
        id_field=id_field,
        drop=drop,
        others=[name for name in header if name not in drop and name not in chosen],
        size=path.stat().st_size,
        header=header,
        delimiter=delimiter,
        line_end="\r\n" if last.endswith("\r\n") else "\r" if last.endswith("\r") else "\n",
        quote_all="".join(lines).count('"') == 2 * len(header),
    )


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
            header = next((row for row in csv.reader(iter(lines), delimiter=delimiter, strict=True) if row), [])
        except csv.Error:
            continue
        rank = len(header) + 1000 * bool(wanted and wanted in header) + 500 * (suffix == ".tsv" and delimiter == "\t")
        if rank > best[0]:
            best = (rank, delimiter, header)
    return best[1], best[2]
