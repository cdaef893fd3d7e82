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

Entities in a CSV of their own, with character offsets, are joined with a source of texts:

    file_idx,entity_text,type,positions
    7,Ina,NAME_STUDENT,"(5, 8)"

This is how the true entities of CRAPII were published with the JEDM paper. Texts come from another file (JSON, JSON Lines, CSV) or a
folder of .txt, joined by id; a text without a row has no personal information of these types. Where an offset does not point at
the words of its row, the same words close by are taken, or far away where each place of them has its row: white space was lost
and made again more than once on the way. Where there are none, the stretch and every other place with these words are masked.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ...errors import Errors, PiiError
from ..record import Skip, check_fields, has_half_pair, is_no_text, open_decoded, show_fields
from ..sources import open_source
from ..tables import (
    HALF_ESCAPE,
    TOKEN_FIELDS,
    CsvSource,
    Dialect,
    JsonBody,
    JsonSource,
    csv_line,
    numbered_rows,
    open_csv,
    open_json,
)
from ..writers import value_of
from .base import (
    TEXT,
    USUAL_ID_FIELDS,
    CharSpan,
    CorpusWriter,
    GoldSpan,
    Items,
    LabelledText,
    LinesWriter,
    ReadOptions,
    ReadStats,
    as_json,
    each,
    id_of,
    is_label,
    parse_masked,
    parse_spans,
    resolve_gold_overlaps,
    whole,
    within,
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

    RAISES (PiiError): E501 to E508, E652.
    """
    source = open_table(path, options, "spans")
    own = {source.text_field, source.id_field, "spans", "masked", "meta"}

    def labelled(number: int, row: list[str]) -> LabelledText:
        cells = dict(zip(source.fields, row, strict=True))
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

    needed (str): Columns that must be there beside the text. RAISES (PiiError): E501 to E508, E652.
    """
    source = open_csv(
        path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding
    )
    for name in needed:
        if source.fields.count(name) != 1:
            fields = show_fields(source.fields)
            raise PiiError(Errors.E652, name=name, option="the form csv", fields=fields)
    source.id_field = source.id_field or next(
        (name for name in USUAL_ID_FIELDS if name in source.fields), ""
    )
    check_fields(source.fields, source.id_field)
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
        self._dialect = Dialect("\t" if out.suffix.lower() == ".tsv" else ",")

    def head(self) -> bytes:
        return csv_line(list(COLUMNS), self._dialect).encode("utf-8")

    def record(self, essay: LabelledText, number: int) -> bytes:
        values = (
            [list(span) for span in essay.spans],
            [list(pair) for pair in essay.masked],
            dict(essay.meta),
        )
        spans, masked, meta = (
            as_json(value, number, self.form).decode("utf-8") for value in values
        )
        cells = [
            essay.id,
            essay.text,
            spans,
            masked if essay.masked else "",
            meta if essay.meta else "",
        ]
        try:
            return csv_line(cells, self._dialect).encode("utf-8")
        except UnicodeError as err:
            raise PiiError(
                Errors.E640, number=number, form=self.form, reason=type(err).__name__
            ) from err


_FORM = "not id, text, type and positions as (start, end)"
_ENTITY_COLUMNS = ("file_idx", "entity_text", "type", "positions")
# "A few characters", at least as many as an essay has white space to lose on a page.
NEAR = 40
_POSITIONS = re.compile(r"[(\[]\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*[)\]]")


@dataclass(frozen=True, slots=True)
class EntityRow:
    """A row: its position, from 1; the id of its text; characters, end exclusive; the type; the words that should stand there."""

    number: int
    document: str
    start: int
    end: int
    label: str
    words: str = field(repr=False)


def read_entities(path: Path, *, encoding: str = "utf-8") -> Iterator[EntityRow | Skip]:
    """The rows of an entity CSV, streamed.

    encoding (str): A byte order mark overrules utf-8.
    YIELDS (EntityRow | Skip): Each row; E520, E524 of those that cannot be used.
    RAISES (PiiError): E501, E503, E652.
    """
    with open_decoded(path, encoding) as (stream, codec, _):
        rows = numbered_rows(stream)
        header = next(rows, (0, 0, list[str]()))[2]
        if isinstance(header, Skip):
            raise header.error
        if not header:
            raise PiiError(Errors.E503)
        for name in _ENTITY_COLUMNS:
            if header.count(name) != 1:
                fields = show_fields(header)
                raise PiiError(Errors.E652, name=name, option="the form", fields=fields)
        for number, line, row in rows:
            if isinstance(row, Skip):
                yield row
            elif len(row) != len(header):
                yield Skip.of(Errors.E524, number=number - 1, line=line, reason=_FORM)
            else:
                yield _row(number - 1, line, dict(zip(header, row, strict=True)), codec)


def _row(number: int, line: int, cells: Mapping[str, str], codec: str) -> EntityRow | Skip:
    if any(map(is_no_text, cells.values())):
        return Skip.of(Errors.E520, number=number, encoding=codec)
    document, words, label, positions = (cells[name] for name in _ENTITY_COLUMNS)
    document, at = document.strip(), _POSITIONS.fullmatch(positions.strip())
    if at is None or not (document and words and is_label(label)):
        return Skip.of(Errors.E524, number=number, line=line, reason=_FORM)
    return EntityRow(number, document, int(at[1]), int(at[2]), label, words)


def read_joined(path: Path, options: ReadOptions) -> Items:
    """Join entities with their texts. The rows are kept in memory (a line each), the texts are not.

    YIELDS (tuple[int, LabelledText] | Skip): Each text of the source with its entities; then rows
        whose text is missing.
    RAISES (PiiError): E473, and what opening both files may raise.
    """
    if options.text_source is None:
        needed = "--config text_source=PATH, where the texts are"
        raise PiiError(Errors.E473, option="The form entities", needed=needed)
    rows: dict[str, list[EntityRow]] = defaultdict(list)
    for row in read_entities(path, encoding=options.encoding):
        if isinstance(row, Skip):
            yield row
        else:
            rows[row.document].append(row)
    seen: set[str] = set()
    for item in read_texts(options.text_source, options):
        if isinstance(item, Skip):
            yield item
        elif item[1] in seen:
            yield Skip.of(Errors.E627, number=item[0])
        else:
            number, ident, text, meta = item
            seen.add(ident)
            found, lost = place(text, rows.get(ident, []), tally=options.tally, number=number)
            gold = resolve_gold_overlaps(text, found, lost, number=number, tally=options.tally)
            yield number, LabelledText(ident, text, *gold, meta)
    for ident, group in rows.items():
        if ident not in seen:
            yield from (Skip.of(Errors.E628, number=row.number) for row in group)


def read_texts(
    path: Path, options: ReadOptions
) -> Iterator[tuple[int, str, str, dict[str, Any]] | Skip]:
    """Read texts that have ids: of a table or JSON in their column, of a folder the file's name.

    YIELDS (tuple | Skip): Number, id, text and other fields of each text; E522 where it has no id.
    RAISES (PiiError): E501 to E508, E652.
    """
    reading: dict[str, Any] = {"text_field": options.text_field, "encoding": options.encoding}
    source = open_source(path, id_field=options.id_field, **reading)
    if source.has_columns and not options.id_field:
        known = [name for name in USUAL_ID_FIELDS if name in source.fields]
        if not known:
            shown = show_fields(source.fields)
            raise PiiError(Errors.E652, name="id", option="the texts", fields=shown)
        source = open_source(path, id_field=known[0], **reading)
    for item in source:
        if isinstance(item, Skip):
            yield item
        elif not source.has_columns:
            yield item.number, PurePath(item.id).stem, item.text, {}
        elif value_of(item, source, source.id_field) in (None, ""):
            yield Skip.of(Errors.E522, number=item.number, name=source.id_field)
        else:
            fields = item.body.values if isinstance(item.body, JsonBody) else dict(item.others)
            own = {source.text_field, source.id_field, "spans", "masked", "meta", *TOKEN_FIELDS}
            meta = {name: value for name, value in fields.items() if name not in own}
            yield item.number, item.id, item.text, meta


def place(
    text: str, rows: list[EntityRow], *, number: int, tally: ReadStats
) -> tuple[list[GoldSpan], list[CharSpan]]:
    """Find the words of each row of a text. RETURNS (tuple): Spans, and stretches to mask."""
    once = {(row.start, row.end, row.label, row.words): row for row in rows}
    if len(once) < len(rows):
        tally.notes["the same gold twice"] += len(rows) - len(once)
    rows = sorted(once.values(), key=lambda row: (row.start, row.end, row.number))
    found: dict[EntityRow, CharSpan] = {}
    for row in rows:
        if row.start >= 0 and text[row.start : row.end] == row.words:
            found[row] = (row.start, row.end)
    found |= _where_all_stand(text, [row for row in rows if row not in found], found.values())
    drift, taken = 0, set(found.values())
    for row in rows:
        if row not in found and (at := _nearest(text, row, row.start + drift, taken)):
            found[row] = at
            taken.add(at)
        if row not in found:
            continue
        drift = found[row][0] - row.start
        if found[row] != (row.start, row.end):
            tally.notes["offset corrected by the words close by"] += 1
    lost: list[CharSpan] = []
    for row in rows:
        if row in found:
            continue
        tally.mask(number, (row.start, row.end, row.label), TEXT)
        others = occurrences(text, row.words)
        lost.extend(others)
        inside = 0 <= row.start < row.end <= len(text)
        if (inside or not others) and (stretch := within(text, row.start, row.end)):
            lost.append(stretch)
    return [(*at, row.label) for row, at in found.items()], lost


def _where_all_stand(
    text: str, rows: list[EntityRow], taken: Iterable[CharSpan]
) -> dict[EntityRow, CharSpan]:
    """RETURNS (dict): Rows whose words stand as often as there are rows, each with its place,
    however far away."""
    by_words: dict[str, list[EntityRow]] = defaultdict(list)
    for row in rows:
        by_words[row.words].append(row)
    found, used = dict[EntityRow, CharSpan](), set(taken)
    for words, group in by_words.items():
        free = [at for at in occurrences(text, words) if at not in used]
        if len(free) == len(group) and all(_is_whole(text, *at) for at in free):
            found.update(zip(group, free, strict=True))
            used.update(free)
    return found


def _nearest(text: str, row: EntityRow, start: int, taken: set[CharSpan]) -> CharSpan | None:
    """The words closest to `start`, not taken yet; None if there are none, or two as close."""
    length = len(row.words)
    low, high = max(min(start, row.start) - NEAR, 0), max(start, row.start) + length + NEAR
    near = [at for at in occurrences(text, row.words, low, high) if at not in taken]
    near.sort(key=lambda at: abs(at[0] - start))
    if len(near) > 1 and abs(near[0][0] - start) == abs(near[1][0] - start):
        return None
    return near[0] if near else None


def occurrences(text: str, words: str, low: int = 0, high: int | None = None) -> list[CharSpan]:
    """Where words stand in [low, high) of a text, whatever the white space between them: whole words if there are any, else
    parts of words too."""
    pattern = r"\s+".join(map(re.escape, words.split()))
    if not pattern:
        return []
    found = [
        match.span()
        for match in re.compile(pattern).finditer(text, low, len(text) if high is None else high)
    ]
    return [at for at in found if _is_whole(text, *at)] or found


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word runs over an edge of the stretch."""
    return not (
        (start and text[start - 1].isalnum() and text[start].isalnum())
        or (text[end - 1].isalnum() and text[end : end + 1].isalnum())
    )
