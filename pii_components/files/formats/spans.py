"""Forms with a text and its spans in a record: JSON Lines and CSV, in which offsets are what they are.

    {"id": "7", "text": "I am Ina", "spans": [[5, 8, "NAME_STUDENT"]]}
    {"id": "8", "text": "I am Ina", "spans": [{"start": 5, "end": 8, "label": "NAME_STUDENT"}]}

Both kinds of spans are read, the first is written. `masked` holds `[start, end]` of stretches whose gold is not known. Other
fields pass through; those of tokens do not, since they say the same once more. An array of such objects is read as well, and so
are records of Kaggle's form (formats/tokens.py).

    id,text,spans,masked,meta
    7,I am Ina,"[[5, 8, ""NAME_STUDENT""]]",,

`spans` as in JSON Lines; an empty cell is refused, since it may mean "nobody looked": write []. `masked` and `meta` (a JSON
object) may be missing or empty. Other columns become fields of `meta`, as strings. TSV is read and written by its suffix.
"""

import json
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import HALF_ESCAPE, TOKEN_FIELDS, JsonSource, open_json
from ..record import Skip, check_fields, has_half_pair
from ..tables import CsvSource, open_csv
from ..writers import CsvRows
from .base import (
    USUAL_ID_FIELDS,
    CorpusWriter,
    Items,
    LabelledText,
    LinesWriter,
    ReadOptions,
    ReadStats,
    as_json,
    each,
    id_of,
    parse_masked,
    parse_spans,
    resolve_gold_overlaps,
    whole,
)
from .tokens import kaggle_labelled

COLUMNS = ("id", "text", "spans", "masked", "meta")


def read_json(path: Path, options: ReadOptions) -> Items:
    """Read JSON Lines or an array of objects. Each record has spans, or tokens in Kaggle's form.

    YIELDS (tuple[int, LabelledText] | Skip): Each record; E5xx and E6xx of those that cannot be used.
    """
    source = _open_labelled(path, options)

    def labelled(number: int, body: object, values: dict[str, Any]) -> LabelledText:
        if "spans" not in values and "labels" in values:
            return kaggle_labelled(number, values, options.tally)
        id_field = options.id_field or next(
            (name for name in USUAL_ID_FIELDS if name in values), ""
        )
        for name in (source.text_field, "spans"):
            if name not in values:
                raise PiiError(Errors.E522, number=number, name=name)
        text = whole(values[source.text_field], number)
        found = parse_spans(values["spans"], number)
        masked = parse_masked(values.get("masked"), number)
        own = {source.text_field, id_field, "spans", "masked", *TOKEN_FIELDS}
        meta = {name: value for name, value in values.items() if name not in own}
        gold = resolve_gold_overlaps(text, found, masked, number=number, tally=options.tally)
        return LabelledText(id_of(values.get(id_field), number), text, *gold, meta)

    return each(source.objects(), labelled)


def _open_labelled(path: Path, options: ReadOptions) -> JsonSource:
    """Records of Kaggle's form need no text beside their tokens."""
    try:
        return open_json(
            path,
            text_field=options.text_field,
            id_field=options.id_field,
            encoding=options.encoding,
        )
    except PiiError as err:
        if err.code != "E506":
            raise
        return open_json(path, text_field="tokens", encoding=options.encoding)


class SpansWriter(LinesWriter):
    """One object per line: id, text, spans, and masked where there is something masked."""

    form = "jsonl"

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        spans = [list(span) for span in essay.spans]
        row: dict[str, Any] = {"id": essay.id, "text": essay.text, "spans": spans}
        if essay.masked:
            row["masked"] = [list(stretch) for stretch in essay.masked]
        return row


def read_csv(path: Path, options: ReadOptions) -> Items:
    """YIELDS (tuple[int, LabelledText] | Skip): Each row; E5xx and E6xx of those that cannot be used.

    RAISES (PiiError): E501 to E508, E625.
    """
    source = open_table(path, options, "spans")
    own = {source.text_field, source.id_field, "spans", "masked", "meta"}

    def labelled(number: int, row: list[str]) -> LabelledText:
        cells = dict(zip(source.header, row, strict=True))
        text = cells[source.text_field]
        found = parse_spans(_decode(cells["spans"], "spans", number), number)
        stretches = parse_masked(_decode(cells.get("masked") or "null", "masked", number), number)
        meta = _decode(cells.get("meta") or "{}", "meta", number)
        if not isinstance(meta, dict):
            raise PiiError(Errors.E624, number=number, name="meta", expected="a JSON object")
        others = {name: value for name, value in cells.items() if name not in own}
        gold = resolve_gold_overlaps(text, found, stretches, number=number, tally=options.tally)
        return LabelledText(cells.get(source.id_field) or str(number), text, *gold, others | meta)

    return each(
        (item if isinstance(item, Skip) else (item.number, item.body) for item in source), labelled
    )


def open_table(path: Path, options: ReadOptions, *needed: str) -> CsvSource:
    """Open a table and find its id column; `id_field` is empty where there is none.

    needed (str): Columns that must be there beside the text. RAISES (PiiError): E501 to E508, E625.
    """
    source = open_csv(
        path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding
    )
    for name in needed:
        if name not in source.header:
            raise PiiError(
                Errors.E625,
                what=path.name,
                name=name,
                needed=", ".join((source.text_field, *needed)),
            )
        if source.header.count(name) > 1:
            raise PiiError(Errors.E507, name=name)
    source.id_field = source.id_field or next(
        (name for name in USUAL_ID_FIELDS if name in source.header), ""
    )
    check_fields(source.header, source.id_field)
    return source


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

    def __init__(self, out: Path, tally: ReadStats) -> None:
        super().__init__(out, tally)
        self._rows = CsvRows("\t" if out.suffix.lower() == ".tsv" else ",", "\n")

    def head(self) -> bytes:
        return self._rows.line(list(COLUMNS)).encode("utf-8")

    def record(self, essay: LabelledText, number: int) -> bytes:
        values = (
            [list(span) for span in essay.spans],
            [list(pair) for pair in essay.masked],
            dict(essay.meta),
        )
        spans, masked, meta = (
            as_json(value, number, self.form).decode("utf-8") for value in values
        )
        row = self._rows.line(
            [
                essay.id,
                essay.text,
                spans,
                masked if essay.masked else "",
                meta if essay.meta else "",
            ]
        )
        try:
            return row.encode("utf-8")
        except UnicodeError as err:
            raise PiiError(
                Errors.E640, number=number, form=self.form, reason=type(err).__name__
            ) from err
