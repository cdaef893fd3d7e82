"""Entities in a CSV of their own, with character offsets, joined with a source of texts.

    file_idx,entity_text,type,positions
    7,Ina,NAME_STUDENT,"(5, 8)"

This is how the true entities of CRAPII were published with the JEDM paper. Texts come from another file (JSON, JSON Lines, CSV) or a
folder of .txt, joined by id; a text without a row has no personal information of these types. Where an offset does not point at
the words of its row, the same words close by are taken, or far away where each place of them has its row: white space was lost
and made again more than once on the way. Where there are none, the stretch and every other place with these words are masked.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import JsonSource
from ..record import Record, Skip, is_no_text, open_decoded
from ..sources import FolderSource, open_source
from ..tables import Lines, numbered_rows
from .base import (
    TEXT,
    USUAL_ID_FIELDS,
    GoldSpan,
    Items,
    LabelledText,
    ReadOptions,
    Stretch,
    Tally,
    id_of,
    is_label,
    settle,
    whole,
    within,
)
from .spans import open_table

COLUMNS = ("file_idx", "entity_text", "type", "positions")
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
    """The rows of an entity CSV, streamed. encoding (str): A byte order mark overrules utf-8.

    YIELDS (EntityRow | Skip): Each row; E520, E524, E639 of those that cannot be used.
    RAISES (PiiError): E501, E503, E625.
    """
    with open_decoded(path, encoding) as (stream, codec, _):
        lines = Lines(stream)
        try:
            header = next((row for row in csv.reader(lines, strict=True) if row), [])
        except csv.Error as err:
            raise PiiError(Errors.E524, number=0, line=1, reason=str(err)) from err
        if not header:
            raise PiiError(Errors.E503)
        for name in COLUMNS:
            if header.count(name) != 1:
                raise PiiError(Errors.E625, what=path.name, name=name, needed=", ".join(COLUMNS))
        for number, _, row in numbered_rows(lines):
            if isinstance(row, Skip):
                yield row
            else:
                yield _row(
                    number,
                    dict(zip(header, row, strict=False)),
                    codec,
                    whole=len(row) == len(header),
                )


def _row(number: int, cells: Mapping[str, str], codec: str, *, whole: bool) -> EntityRow | Skip:
    if any(map(is_no_text, cells.values())):
        return Skip.of(Errors.E520, number=number, encoding=codec)
    at = _POSITIONS.fullmatch(cells.get("positions", "").strip())
    if (
        not whole
        or at is None
        or not cells["file_idx"].strip()
        or not cells["entity_text"]
        or not is_label(cells["type"])
    ):
        return Skip.of(Errors.E639, number=number)
    return EntityRow(
        number,
        cells["file_idx"].strip(),
        int(at[1]),
        int(at[2]),
        cells["type"],
        cells["entity_text"],
    )


def read_joined(path: Path, options: ReadOptions) -> Items:
    """YIELDS (tuple[int, LabelledText] | Skip): Each text of the source with its entities; then rows whose text is missing.

    The rows are kept in memory (a line each), the texts are not.
    RAISES (PiiError): E622, and what opening both files may raise.
    """
    if options.text_source is None:
        raise PiiError(Errors.E622)
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
            yield (
                number,
                LabelledText(
                    ident,
                    text,
                    *settle(text, found, lost, number=number, tally=options.tally),
                    meta,
                ),
            )
    missing = [row.number for ident, group in rows.items() if ident not in seen for row in group]
    yield from (Skip.of(Errors.E628, number=number) for number in sorted(missing))


def read_texts(
    path: Path, options: ReadOptions
) -> Iterator[tuple[int, str, str, dict[str, Any]] | Skip]:
    """YIELDS (tuple[int, str, str, dict[str, Any]] | Skip): Number, id, text and other fields of each text; E626 where it has no id.

    RAISES (PiiError): E501 to E508, E625.
    """
    if path.is_file() and path.suffix.lower() in (".csv", ".tsv"):
        table = open_table(path, options)
        if not table.id_field:
            raise PiiError(
                Errors.E625, what=path.name, name="id", needed=", ".join(USUAL_ID_FIELDS)
            )
        hidden = {table.text_field, table.id_field, "spans", "masked", "meta"}
        for row in table:
            if isinstance(row, Record):
                others = {name: cell for name, cell in row.others if name not in hidden}
                yield (
                    (row.number, row.id, row.text, others)
                    if row.id
                    else Skip.of(Errors.E626, number=row.number)
                )
            else:
                yield row
        return
    source = open_source(
        path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding
    )
    if isinstance(source, JsonSource):
        for item in source.objects():
            if isinstance(item, Skip):
                yield item
                continue
            try:
                yield _text_of(item[0], item[2], source.text_field, options.id_field)
            except PiiError as err:
                yield Skip(number=item[0], error=err)
        return
    for found in source:
        if isinstance(found, Skip):
            yield found
        else:
            name = found.id[:-4] if isinstance(source, FolderSource) else found.id
            yield found.number, name, found.text, {}


def _text_of(
    number: int, values: dict[str, Any], text_field: str, id_field: str
) -> tuple[int, str, str, dict[str, Any]]:
    id_field = id_field or next((name for name in USUAL_ID_FIELDS if name in values), "")
    if values.get(id_field) in (None, ""):
        raise PiiError(Errors.E626, number=number)
    text = whole(values[text_field], number)
    hidden = {text_field, id_field, "tokens", "trailing_whitespace", "labels", "spans", "masked"}
    return (
        number,
        id_of(values[id_field], number),
        text,
        {k: v for k, v in values.items() if k not in hidden},
    )


def place(
    text: str, rows: list[EntityRow], *, number: int, tally: Tally
) -> tuple[list[GoldSpan], list[Stretch]]:
    """Find the words of each row of a text. RETURNS (tuple[list[GoldSpan], list[Stretch]]): Spans, and stretches to mask."""
    once = {(row.start, row.end, row.label, row.words): row for row in rows}
    if len(once) < len(rows):
        tally.notes["the same gold twice"] += len(rows) - len(once)
        rows = list(once.values())
    found: dict[EntityRow, Stretch] = {}
    rest: dict[str, list[EntityRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.start, row.end, row.number)):
        if row.start >= 0 and text[row.start : row.end] == row.words:
            found[row] = (row.start, row.end)
        else:
            rest[row.words].append(row)
    taken = set(found.values())
    for group in rest.values():
        free = [at for at in occurrences(text, group[0].words) if at not in taken]
        if len(free) == len(group) and all(_is_whole(text, *at) for at in free):
            found.update(zip(group, free, strict=True))  # each place has its row, however far away
            taken.update(free)
    drift = 0
    for row in sorted(rows, key=lambda row: (row.start, row.end, row.number)):
        if row not in found and (at := _nearest(text, row, row.start + drift, taken)):
            found[row] = at
            taken.add(at)
        if row in found:
            drift = found[row][0] - row.start
            tally.notes["offset corrected by the words close by"] += found[row] != (
                row.start,
                row.end,
            )
    lost: list[Stretch] = []
    for row in (row for row in rows if row not in found):
        tally.mask(number, (row.start, row.end, row.label), TEXT)
        others = occurrences(text, row.words)
        lost.extend(others)
        inside = 0 <= row.start < row.end <= len(text)
        if (inside or not others) and (stretch := within(text, row.start, row.end)):
            lost.append(stretch)
    return [(*at, row.label) for row, at in found.items()], lost


def _nearest(text: str, row: EntityRow, start: int, taken: set[Stretch]) -> Stretch | None:
    """The words closest to `start`, not taken yet; None if there are none, or two as close."""
    length = len(row.words)
    low, high = max(min(start, row.start) - NEAR, 0), max(start, row.start) + length + NEAR
    near = [at for at in occurrences(text, row.words, low, high) if at not in taken]
    near.sort(key=lambda at: abs(at[0] - start))
    if len(near) > 1 and abs(near[0][0] - start) == abs(near[1][0] - start):
        return None
    return near[0] if near else None


def occurrences(text: str, words: str, low: int = 0, high: int | None = None) -> list[Stretch]:
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
