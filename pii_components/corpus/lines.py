"""Records of any source as JSON Lines: what `corpus clean` and `corpus split` write.

    as_line(record, source)                     # '{"document": 7, "full_text": "..."}'

An object of a JSON source stays as it was written; a row of a table becomes an object with its columns; a file becomes id, text and, of
a PDF, its number of pages.
"""

import json
import re
from typing import Any

from ..errors import Errors, PiiError
from .json_text import JsonBody
from .records import Record, Source, show_fields
from .tables import CsvSource

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
