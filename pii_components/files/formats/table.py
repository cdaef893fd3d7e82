"""CSV with a text per row and its spans as JSON in a cell.

    id,text,spans,masked,meta
    7,I am Ina,"[[5, 8, ""NAME_STUDENT""]]",,

`spans` as in JSON Lines; an empty cell is refused, since it may mean "nobody looked": write []. `masked` and `meta` (a JSON
object) may be missing or empty. Other columns become fields of `meta`, as strings. TSV is read and written by its suffix.
"""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import HALF_ESCAPE
from ..record import Skip, check_fields, has_half_pair
from ..tables import CsvSource, open_csv
from .base import CorpusWriter, LabelledText, ReadOptions, Tally, as_json, parse_masked, parse_spans, settle
from .jsonl import USUAL_ID_FIELDS

COLUMNS = ("id", "text", "spans", "masked", "meta")


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each row; E5xx and E6xx of those that cannot be used.

    RAISES (PiiError): E501 to E508, E625.
    """
    source = open_table(path, options, "spans")
    for item in source:
        if isinstance(item, Skip):
            yield item
            continue
        try:
            yield item.number, _labelled(source, item.number, item.body, options.tally)
        except PiiError as err:
            yield Skip(number=item.number, error=err)


def open_table(path: Path, options: ReadOptions, *needed: str) -> CsvSource:
    """Open a table and find its id column.

    path (Path): The file. options (ReadOptions): Encoding and columns. needed (str): Columns that must be there beside the text.
    RETURNS (CsvSource): `id_field` is empty where there is none.
    RAISES (PiiError): E501 to E508, E625.
    """
    source = open_csv(path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding)
    for name in needed:
        if name not in source.header:
            raise PiiError(Errors.E625, what=path.name, name=name, needed=", ".join((source.text_field, *needed)))
        if source.header.count(name) > 1:
            raise PiiError(Errors.E507, name=name)
    if not source.id_field:
        source.id_field = next((name for name in USUAL_ID_FIELDS if name in source.header), "")
    check_fields(source.header, source.id_field)
    return source


def _labelled(source: CsvSource, number: int, row: list[str], tally: Tally) -> LabelledText:
    cells = dict(zip(source.header, row, strict=True))
    text = cells[source.text_field]
    found = parse_spans(_decode(cells["spans"], "spans", number), number)
    stretches = parse_masked(_decode(cells.get("masked") or "null", "masked", number), number)
    meta = _decode(cells.get("meta") or "{}", "meta", number)
    if not isinstance(meta, dict):
        raise PiiError(Errors.E624, number=number, name="meta", expected="a JSON object")
    own = {source.text_field, source.id_field, "spans", "masked", "meta"}
    others = {name: value for name, value in cells.items() if name not in own}
    spans, masked = settle(text, found, stretches, number=number, tally=tally)
    return LabelledText(cells.get(source.id_field) or str(number), text, spans, masked, others | meta)


def _decode(cell: str, name: str, number: int) -> Any:
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError) as err:
        raise PiiError(Errors.E624, number=number, name=name, expected="JSON") from err
    if has_half_pair(json.dumps(value, ensure_ascii=False)):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return value


class TableWriter(CorpusWriter):
    """A CSV; cells are quoted where they must be."""

    form = "csv"

    def __init__(self, out: Path, tally: Tally) -> None:
        super().__init__(out, tally)
        self._buffer = io.StringIO()
        # Python's writer only quotes a lone carriage return where it is part of the line end: so write both, cut one.
        delimiter = "\t" if out.suffix.lower() == ".tsv" else ","
        self._rows = csv.writer(self._buffer, delimiter=delimiter, lineterminator="\r\n")

    def head(self) -> bytes:
        return self._row(list(COLUMNS)).encode("utf-8")

    def record(self, essay: LabelledText, number: int) -> bytes:
        values = ([list(span) for span in essay.spans], [list(pair) for pair in essay.masked], dict(essay.meta))
        spans, masked, meta = (as_json(value, number, self.form).decode("utf-8") for value in values)
        row = self._row([essay.id, essay.text, spans, masked if essay.masked else "", meta if essay.meta else ""])
        try:
            return row.encode("utf-8")
        except UnicodeError as err:
            raise PiiError(Errors.E640, number=number, form=self.form, reason=type(err).__name__) from err

    def _row(self, cells: list[str]) -> str:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._rows.writerow(cells)
        return self._buffer.getvalue()[:-2] + "\n"
