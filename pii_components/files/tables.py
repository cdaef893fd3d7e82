"""JSON Lines and arrays of objects, CSV, TSV and .xlsx, and Parquet: one record at a time.

    source = open_json(Path("train.json"), text_field="full_text")
    source = open_csv(Path("essays.csv"), text_field="essay")       # .tsv, .xlsx, too
    source = open_parquet(Path("essays.parquet"), text_field="essay")

A line of JSON that cannot be read is skipped and listed with its number. An array is read as a whole, and refused with the line on
which it breaks. Values pass through unchanged; their spelling may change (1.50 becomes 1.5), and each object is written on one line.

The delimiter is found by the first lines, a byte order mark and the line ends are kept, cells may hold
line breaks. Quotes are read strictly. A row that is broken (its quotes do not close, or it has
another number of cells than the header) is skipped and listed with its line. So are the rows beside
it: where a text runs over, its lines may look like rows, with words of it in columns that pass
through in clear.

Qualtrics writes three header lines: the first names the columns; the wording of the questions and
its own numbers are no records, and are left out. Of an .xlsx the first sheet that holds something
is read, and comes out as CSV.

A table in a folder is one record (`Table`): nobody can say there which column is what, so all of
its cells are text, each behind the name of its column.

Columns of a Parquet file keep their types, but for those of texts and IDs, which become strings, and
categories, which become what they stand for. Its metadata, where pandas leaves names of files and
whatever somebody put into `attrs`, are not read and not written.
"""

import csv
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO, StringIO
from itertools import chain, islice, tee, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..errors import Errors, PiiError, imported
from ..offsets import OffsetMap
from .documents import sheet_rows
from .record import (
    FIELD_SEPARATOR,
    Record,
    Skip,
    Source,
    check_once,
    has_half_pair,
    is_no_text,
    is_recognised,
    open_binary,
    open_decoded,
    open_text,
    reason_of,
)

# Fields of CRAPII that repeat the text or depend on its tokens; they are replaced with it, never
# passed through.
TOKEN_FIELDS = ("tokens", "trailing_whitespace", "labels")
# Stands where a message names an encoding.
HALF_ESCAPE = "text, since an escape stands for half a character"
# Objects that are looked at for the names of their fields, and those that are remembered.
_LOOKED_AT, _MOST_FIELDS = 500, 100
_OPEN_QUOTES = "its quotes do not close"
_SPACE = re.compile(r"[ \t\n\r]*")
# Number and line of each row, and its cells.
Rows = Iterator[tuple[int, int, list[str] | Skip]]
QUESTIONS = "lines of questions below the header"
DELIMITERS = (",", ";", "\t", "|")
# Characters of a line, lines of the header, and lines below it, by which a delimiter is found.
_LONGEST_LINE, _MOST_LINES, _LINES = 1_000_000, 1_000, 50


class Dialect(NamedTuple):
    """How a table is written: what parts its cells, ends its lines, and whether all cells have quotes."""

    delimiter: str = ","
    line_end: str = "\n"
    quote_all: bool = False


EXCEL = Dialect(line_end="\r\n")


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The fields of an object.

    values (dict[str, Any]): As decoded, in their order.
    ascii_only (bool): Whether the object had no other character in clear; it is written so too.
    """

    values: dict[str, Any]
    ascii_only: bool = False

    def to_json(self, new: dict[str, Any] | None = None, drop: Set[str] = frozenset()) -> str:
        """Write the object on one line.

        new (dict[str, Any] | None): New values of fields that it has; others are left out.
        drop (Set[str]): Fields that are left out.
        """
        merged = self.values | (new or {})
        values = {name: merged[name] for name in self.values if name not in drop}
        line = json.dumps(values, ensure_ascii=self.ascii_only)
        return json.dumps(values) if has_half_pair(line) else line  # which no file can hold


def _fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """RAISES (ValueError): If a field stands there twice: nobody knows which value is meant."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands there twice")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_fields_once)


def parse_object(raw: str) -> JsonBody:
    """RETURNS (JsonBody): One object. RAISES (ValueError, RecursionError): If it is none, has a field twice or is nested too deeply."""
    values = _DECODER.decode(raw)
    if not isinstance(values, dict):
        raise ValueError("no object")
    return JsonBody(values, raw.isascii())


def split_array(text: str) -> Iterator[tuple[int, str]]:
    """Find the elements of an array.

    YIELDS (tuple[int, str]): The line on which an element begins, and its JSON.
    RAISES (PiiError): E521, with the line from which on it is no JSON.
    """
    number, line, counted = 0, 1, 0
    pos = _after_space(text, text.index("[") + 1)
    more = not text.startswith("]", pos)
    while more:
        line, counted = line + text.count("\n", counted, pos), pos
        number += 1
        try:
            _, end = _DECODER.raw_decode(text, pos)
        except (ValueError, RecursionError) as err:
            at = line + text.count("\n", pos, getattr(err, "pos", pos))
            raise PiiError(Errors.E521, number=number, line=at) from err
        yield line, text[pos:end]
        pos = _after_space(text, end)
        more = text.startswith(",", pos)
        if more:
            pos = _after_space(text, pos + 1)
    if not text.startswith("]", pos) or _after_space(text, pos + 1) < len(text):
        at = line + text.count("\n", counted, pos)
        raise PiiError(Errors.E521, number=number + 1, line=at)


def _after_space(text: str, pos: int) -> int:
    return _SPACE.match(text, pos).end()  # type: ignore[union-attr]


@dataclass(slots=True)
class JsonSource(Source):
    """JSON Lines, or an array of objects."""

    def __iter__(self) -> Iterator[Record | Skip]:
        for item in self.objects():
            yield item if isinstance(item, Skip) else self._record(*item)

    def objects(self) -> Iterator[tuple[int, JsonBody, dict[str, Any]] | Skip]:
        """YIELDS (tuple | Skip): Number, body and decoded values of each object."""
        number = 0
        try:
            for number, (line, raw) in enumerate(self.parts(), 1):
                yield self._object(number, line, raw)
        except (OSError, UnicodeError) as err:
            yield Skip.of(Errors.E531, number=number, reason=reason_of(err), last=True)

    def parts(self) -> Iterator[tuple[int, str]]:
        """YIELDS (tuple[int, str]): Line and JSON of each object."""
        with (
            open_binary(self.path) as self.raw,
            open_text(self.raw, encoding=self.encoding, bom=self.bom, newline="\n") as stream,
        ):
            if self.kind == "json":
                yield from split_array(stream.read())
                return
            for line, raw in enumerate(stream, 1):
                if raw.strip():
                    yield line, raw.strip(" \t\r\n")

    def _object(
        self, number: int, line: int, raw: str
    ) -> tuple[int, JsonBody, dict[str, Any]] | Skip:
        if is_no_text(raw):
            return Skip.of(Errors.E520, number=number, line=line, encoding=self.encoding)
        try:
            body = parse_object(raw)
        except (ValueError, RecursionError):
            return Skip.of(Errors.E521, number=number, line=line)
        for name in self.text_fields:
            if name not in body.values:
                ident = self._id_of(body.values)
                return Skip.of(Errors.E522, number=number, id=ident, line=line, name=name)
        return number, body, body.values

    def _record(self, number: int, body: JsonBody, values: dict[str, Any]) -> Record | Skip:
        ident = self._id_of(values)
        texts = []
        for name in self.text_fields:
            text = "" if values[name] is None else values[name]
            if not isinstance(text, str):
                return Skip.of(Errors.E624, number=number, id=ident, name=name, expected="a string")
            texts.append(text)
        text = FIELD_SEPARATOR.join(texts)
        if has_half_pair(text):
            return Skip.of(Errors.E520, number=number, id=ident, encoding=HALF_ESCAPE)
        has_tokens = "tokens" in values
        if has_tokens and "tokens" not in self.drop and not tokens_fit(values, text):
            return Skip.of(Errors.E529, number=number, id=ident)
        hidden = self.fields_not_passed_on(values)
        if len(self.others) < _MOST_FIELDS:
            self.others += [n for n in values if n not in hidden and n not in self.others]
        others = shown_fields(values, hidden)
        return Record(number, ident or str(number), text, body=body, others=others)

    def fields_not_passed_on(self, names: Iterable[str]) -> set[str]:
        """RETURNS (set[str]): Fields of texts, those that are dropped, and tokens of the text."""
        tokens = TOKEN_FIELDS if "tokens" in names else ()
        return {*self.text_fields, *self.drop, *tokens}

    def _id_of(self, values: dict[str, Any]) -> str:
        ident = values.get(self.id_field) if self.id_field else None
        return "" if ident is None else str(ident)


def shown_fields(values: dict[str, Any], hidden: Set[str]) -> tuple[tuple[str, str], ...]:
    """RETURNS (tuple): Name and content of fields that hold something and are not hidden."""
    shown = []
    for name, value in values.items():
        if name in hidden or value is None or isinstance(value, bool):
            continue
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        shown.append((name, value))
    return tuple(shown)


def join_tokens(tokens: list[str], spaces: list[bool]) -> str:
    """The text that tokens and their marks of trailing white space stand for."""
    return "".join(
        token + (" " if space else "") for token, space in zip(tokens, spaces, strict=True)
    )


def tokens_fit(values: dict[str, Any], text: str) -> bool:
    """Whether the tokens of a record are those of its text, and its labels as many, if it has any."""
    tokens, spaces, labels = (values.get(name) for name in TOKEN_FIELDS)
    if not isinstance(tokens, list) or not isinstance(spaces, list) or len(tokens) != len(spaces):
        return False
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
        return False
    return all(isinstance(token, str) for token in tokens) and join_tokens(tokens, spaces) == text


def open_json(path: Path, *, encoding: str = "utf-8", **fields: Any) -> JsonSource:
    """Look into a file of JSON objects: an array if it starts with a bracket, else one per line.

    encoding (str): A byte order mark overrules utf-8.
    fields: text_field, more, id_field and drop of a `Source`; an empty text_field finds one with a usual name, an empty id_field "document",
        if there is one.
    RAISES (PiiError): E501 to E508; E521 for an array that breaks, or if no line is an object.
    """
    with open_decoded(path, encoding) as (stream, codec, bom):
        head = stream.read(1)
        while head.isspace():
            head = stream.read(1)
    if not head:
        raise PiiError(Errors.E503)
    source = JsonSource(
        path,
        "json" if head == "[" else "jsonl",
        codec,
        bom,
        size=path.stat().st_size,
        written_in="utf-8" if is_recognised(codec, encoding) else "",
        **fields,
    )
    found = _first_fields(source)
    source.choose(found)
    source.id_field = source.id_field or ("document" if "document" in found else "")
    hidden = source.fields_not_passed_on(found)
    source.others = [name for name in found if name not in hidden]
    return source


def _first_fields(source: JsonSource) -> list[str]:
    """RETURNS (list[str]): Names of the fields of the first objects, in their order."""
    names: dict[str, None] = {}
    n = last = 0
    try:
        for n, (last, raw) in enumerate(source.parts(), 1):  # noqa: B007  (used below)
            with suppress(ValueError, RecursionError):
                names.update(dict.fromkeys(parse_object(raw).values))
            # All of an array is read, so that one that breaks is refused before a run begins.
            if n >= _LOOKED_AT and source.kind == "jsonl":
                break
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E521, number=1, line=max(last, 1)) from err
    if not n:
        raise PiiError(Errors.E503)
    if not names:
        raise PiiError(Errors.E521, number=1, line=last)
    return list(names)


# Ten times what spaCy takes as one text; the module's own limit, 131,072, is less than a long thread of a forum.
FIELD_LIMIT = 10_000_000
_NUMBER = re.compile(r"[+-]?[\d.,]*(?:[eE][+-]?\d+)?%?")


@dataclass(slots=True)
class CsvSource(Source):
    """A table.

    dialect (Dialect): As in the file.
    converted (bytes | None): The table as CSV, where the file is another one.
    unread (tuple[str, ...]): "sheets" for each that is not read. questions (int): Lines below the header that belong to it.
    """

    dialect: Dialect = Dialect()
    converted: bytes | None = None
    unread: tuple[str, ...] = ()
    questions: int = 0

    def __iter__(self) -> Iterator[Record | Skip]:
        with (
            BytesIO(self.converted) if self.converted else open_binary(self.path) as self.raw,
            open_text(self.raw, encoding=self.encoding, bom=self.bom) as stream,
        ):
            yield from self._records(stream)

    def _records(self, stream: TextIO) -> Iterator[Record | Skip]:
        """A row beside a broken one does not count."""
        self.questions, rows = without_questions(numbered_rows(stream, self.dialect.delimiter))
        texts = islice(rows, 1, None)  # without the header
        items = ((line, self._item(number - 1, line, row)) for number, line, row in texts)
        before, these, behind = tee(items, 3)
        no: list[tuple[int, Any]] = [(0, None)]
        triples = zip(chain(no, before), these, chain(islice(behind, 1, None), no))  # noqa: B905
        for (_, last), (line, item), (_, following) in triples:
            codes = [other.code for other in (last, following) if isinstance(other, Skip)]
            yield _beside(line, item) if "E524" in codes else item

    def _item(self, number: int, line: int, row: list[str] | Skip) -> Record | Skip:
        if isinstance(row, Skip):
            return row
        if len(row) != len(self.fields):
            reason = f"{len(row)} cells where the header has {len(self.fields)}"
            return Skip.of(Errors.E524, number=number, line=line, reason=reason)
        row = list(map(plain_cell, row)) if self.spreadsheet_safe else row
        ident = row[self.fields.index(self.id_field)] if self.id_field else ""
        if any(map(is_no_text, row)):
            return Skip.of(
                Errors.E520,
                number=number,
                line=line,
                id="" if is_no_text(ident) else ident,
                encoding=self.encoding,
            )
        pairs = zip(self.fields, row, strict=True)
        others = tuple((name, cell) for name, cell in pairs if name in self.others)
        text = FIELD_SEPARATOR.join(row[self.fields.index(name)] for name in self.text_fields)
        unread = (*self.unread, *[QUESTIONS] * self.questions) if number == 1 else ()
        ident = ident if self.id_field else str(number)
        return Record(number, ident, text, row, others, unread=unread)


def without_questions(rows: Rows) -> tuple[int, Rows]:
    """RETURNS (tuple[int, Rows]): How many lines of questions stand below the header, as Qualtrics has them, and the rows without these."""
    first = list(islice(rows, 3))
    third = first[2][2] if len(first) == 3 else None
    n = 2 if isinstance(third, list) and third[0].startswith('{"ImportId"') else 0
    kept = chain(first[:1], first[1 + n :], rows)
    return n, ((max(1, number - n), line, row) for number, line, row in kept)


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table as one text: its header, then each cell behind the name of its column.

    rows (list[list[str]]): The header, and what stands below. dialect (Dialect): As in the file. broken (tuple[int, ...]): Lines of rows that
    are left out. questions (int): Lines below the header that belong to it, which are left out.
    """

    rows: list[list[str]]
    dialect: Dialect = EXCEL
    broken: tuple[int, ...] = ()
    questions: int = 0

    @classmethod
    def read(cls, text: str, number: int, suffix: str) -> "Table":
        """RETURNS (Table): What a .csv or .tsv holds. RAISES (PiiError): E524, if its header is broken, or all below it is."""
        csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
        dialect, *_ = _sniff(StringIO(text, newline=""), "", suffix)
        rows, broken = [], []
        n, found = without_questions(numbered_rows(StringIO(text, newline=""), dialect.delimiter))
        for _, line, row in found:
            if isinstance(row, Skip):
                broken.append(line)
            else:
                rows.append(row)
        if broken and (len(rows) < 2 or broken[0] == 1):
            raise PiiError(Errors.E524, number=number, line=broken[0], reason=_OPEN_QUOTES)
        return cls(rows, dialect, tuple(broken), n)

    def text(self) -> str:
        return "".join(self.pieces()[:-1])

    def pieces(self) -> list[str]:
        """RETURNS (list[str]): The text in pieces: each cell, what stands before it, and a separator behind it."""
        found = []
        for name, cell in self._named():
            found += [*((name, ": ") if name else ()), cell, FIELD_SEPARATOR]
        return found

    def _named(self) -> Iterator[tuple[str, str]]:
        """YIELDS (tuple[str, str]): The name of its column, and a cell; no empty ones. The header has no names."""
        for n, row in enumerate(self.rows):
            for name, cell in zip_longest(self.rows[0] if n else (), row, fillvalue=""):
                if cell.strip():
                    yield name, cell

    def cells(self) -> Iterator[tuple[int, str, str]]:
        """YIELDS (tuple[int, str, str]): Where a cell begins in the text, the name of its column, the cell; no empty ones."""
        at = 0
        for name, cell in self._named():
            at += len(f"{name}: ") if name else 0
            yield at, name, cell
            at += len(cell) + len(FIELD_SEPARATOR)

    def with_text(self, text: str, offsets: OffsetMap) -> "Table":
        """RETURNS (Table): With what became of its text. offsets (OffsetMap): From that to the new one."""
        places = (offsets.part_to_new(at, at + len(cell)) for at, _, cell in self.cells())
        rows = []
        for row in self.rows:
            rows.append([text[slice(*next(places))] if cell.strip() else cell for cell in row])
        return Table(rows, self.dialect)


def table_of(record: Record) -> Table | None:
    """RETURNS (Table | None): Of a file in a folder, if it is one."""
    found = record.body[2] if isinstance(record.body, tuple) and len(record.body) > 2 else None
    return found if isinstance(found, Table) else None


def broken_rows(record: Record) -> list[Skip]:
    """RETURNS (list[Skip]): Rows of a table in a folder that are left out."""
    table = table_of(record)
    about: dict[str, Any] = {"number": record.number, "id": record.id, "reason": _OPEN_QUOTES}
    return [Skip.of(Errors.E524, line=line, **about) for line in table.broken] if table else []


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
    reason = "it stands beside a broken one, and may be a part of a text"
    return Skip.of(Errors.E524, number=item.number, line=line, id=item.id, reason=reason)


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


def to_csv(rows: Iterable[list[str]], dialect: Dialect = EXCEL) -> str:
    """RETURNS (str): The rows as a table in CSV."""
    return "".join(csv_line(row, dialect) for row in rows)


def csv_line(cells: list[str], dialect: Dialect = Dialect()) -> str:  # noqa: B008 (a tuple)
    """One row of it, with its line end."""
    out = StringIO(newline="")
    csv.writer(
        out,
        delimiter=dialect.delimiter,
        lineterminator="\r\n",  # with another one it would not quote a lone carriage return
        quoting=csv.QUOTE_ALL if dialect.quote_all else csv.QUOTE_MINIMAL,
    ).writerow(cells)
    return out.getvalue()[:-2] + dialect.line_end


def open_csv(path: Path, *, encoding: str = "utf-8", **columns: Any) -> CsvSource:
    """Read the header of a table and find its text.

    encoding (str): A byte order mark in the file overrules utf-8.
    columns: text_field, more, id_field, drop and spreadsheet_safe of a `Source`; an empty text_field finds one with a usual name.
    RAISES (PiiError): E501 to E508, E520; those of `sheet_rows`.
    """
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT))
    converted: bytes | None = None
    unread: tuple[str, ...] = ()
    if path.suffix.lower() == ".xlsx":
        with open_binary(path) as file:
            rows, unread = sheet_rows(file.read(), 1)
        converted = to_csv(rows).encode("utf-8", "surrogatepass")
        codec, bom, dialect = "utf-8", b"", EXCEL
        head, header = to_csv(rows[:1]), next(iter(rows), [])
    else:
        with open_decoded(path, encoding) as (stream, codec, bom):
            dialect, head, header = _sniff(
                stream, columns.get("text_field", ""), path.suffix.lower()
            )
    if not head.strip():
        raise PiiError(Errors.E503)
    if is_no_text(head):
        raise PiiError(Errors.E520, number="0 (the header)", encoding=codec)
    source = CsvSource(
        path,
        "csv",
        codec,
        bom,
        size=path.stat().st_size,
        written_in="utf-8" if is_recognised(codec, encoding) else "",
        dialect=dialect,
        converted=converted,
        unread=unread,
        **columns,
    )
    source.choose(list(map(plain_cell, header)) if source.spreadsheet_safe else header)
    return source


def _lines_of_first_record(stream: Iterator[str]) -> list[str]:
    """Lines up to the first with an even number of quotes so far: a name of a column may hold a line break."""
    lines, quotes = list[str](), 0
    for line in islice(stream, _MOST_LINES):
        lines.append(line)
        quotes += line.count('"')
        if quotes % 2 == 0 and line.strip():
            break
    return lines


def _sniff(stream: TextIO, wanted: str, suffix: str) -> tuple[Dialect, str, list[str]]:
    """How a table is written. The delimiter is the one that makes the wanted column appear, else one that more rows agree upon, else one of most
    columns; a comma stands in names of columns, too.

    RETURNS (tuple): That, the lines of the header, and its cells.
    """
    parts = iter(lambda: stream.readline(_LONGEST_LINE), "")
    lines, below = _lines_of_first_record(parts), list(islice(parts, _LINES))
    found: list[tuple[tuple[int, ...], str, list[str]]] = [((-1,), ",", [])]
    for delimiter in DELIMITERS:
        with suppress(csv.Error):
            header = next(filter(None, csv.reader(lines, delimiter=delimiter, strict=True)), [])
            sizes = [len(r) for *_, r in numbered_rows(below, delimiter) if isinstance(r, list)]
            rank = (
                bool(wanted) and wanted in header,
                suffix == ".tsv" and delimiter == "\t",
                len(header) > 1 and sizes.count(len(header)),
                len(header),
                len(header) > 1 and delimiter != ",",
            )
            found.append((rank, delimiter, header))
    _, delimiter, header = max(found, key=itemgetter(0))
    head = "".join(lines)
    end = next((end for end in ("\r\n", "\r") if head.endswith(end)), "\n")
    return Dialect(delimiter, end, head.count('"') == 2 * len(header)), head, header


@dataclass(slots=True)
class ParquetSource(Source):
    """A Parquet file; the body of a record is a batch of one row. schema (Any): Of what is written. done (int): Rows read."""

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

    RAISES (PiiError): E005, if pyarrow is not installed; E501, E503, E652 to E507; E624, if a text is something else.
    """
    pyarrow = imported("pyarrow", "reading Parquet", "documents")
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow.remove_metadata(), file.metadata.num_rows
    except (pyarrow.ArrowException, OSError) as err:
        raise PiiError(Errors.E501, what="the Parquet file", reason=reason_of(err)) from err
    if not rows:
        raise PiiError(Errors.E503)
    source = ParquetSource(path, "parquet", size=rows, **columns)
    source.choose(schema.names)
    for name in source.fields:
        check_once(source.fields, name)
    fields = []
    for column in schema:
        kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
        is_text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        if column.name in source.text_fields and not is_text:
            raise PiiError(Errors.E624, number=1, name="text", expected="a string")
        kind = kind if is_text or column.name != source.id_field else pyarrow.string()
        fields += [pyarrow.field(column.name, kind)] if column.name not in source.drop else []
    source.schema = pyarrow.schema(fields)
    return source
