"""Entities in a CSV of their own, with character offsets, joined with a source of texts.

    file_idx,entity_text,type,positions
    7,Ina,NAME_STUDENT,"(5, 8)"

This is how the true entities of CRAPII were published with the JEDM paper. Texts come from another file (JSON, JSON Lines, CSV) or a
folder of .txt, joined by id; a text without a row has no personal information of these types. Where an offset does not point at
the words of its row, the same words close by are taken, or far away where each place of them has its row: white space was lost
and made again more than once on the way. Where there are none, the stretch and every other place with these words are masked.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import TOKEN_FIELDS, JsonBody
from ..record import Skip, is_no_text, open_decoded
from ..sources import open_source
from ..tables import numbered_rows
from ..writers import has_column, value_of
from .base import (
    TEXT,
    USUAL_ID_FIELDS,
    CharSpan,
    GoldSpan,
    Items,
    LabelledText,
    ReadOptions,
    ReadStats,
    is_label,
    resolve_gold_overlaps,
    within,
)

_FORM = "not id, text, type and positions as (start, end)"
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
    """The rows of an entity CSV, streamed.

    encoding (str): A byte order mark overrules utf-8.
    YIELDS (EntityRow | Skip): Each row; E520, E524 of those that cannot be used.
    RAISES (PiiError): E501, E503, E625.
    """
    with open_decoded(path, encoding) as (stream, codec, _):
        rows = numbered_rows(stream)
        header = next(rows, (0, 0, list[str]()))[2]
        if isinstance(header, Skip):
            raise header.error
        if not header:
            raise PiiError(Errors.E503)
        for name in COLUMNS:
            if header.count(name) != 1:
                raise PiiError(Errors.E625, what=path.name, name=name, needed=", ".join(COLUMNS))
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
    document, words, label, positions = (cells[name] for name in COLUMNS)
    document, at = document.strip(), _POSITIONS.fullmatch(positions.strip())
    if at is None or not (document and words and is_label(label)):
        return Skip.of(Errors.E524, number=number, line=line, reason=_FORM)
    return EntityRow(number, document, int(at[1]), int(at[2]), label, words)


def read_joined(path: Path, options: ReadOptions) -> Items:
    """Join entities with their texts. The rows are kept in memory (a line each), the texts are not.

    YIELDS (tuple[int, LabelledText] | Skip): Each text of the source with its entities; then rows
        whose text is missing.
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
    RAISES (PiiError): E501 to E508, E625.
    """
    reading: dict[str, Any] = {"text_field": options.text_field, "encoding": options.encoding}
    source = open_source(path, id_field=options.id_field, **reading)
    if source.has_columns and not options.id_field:
        known = [name for name in USUAL_ID_FIELDS if has_column(source, name)]
        if not known:
            needed = ", ".join(USUAL_ID_FIELDS)
            raise PiiError(Errors.E625, what=path.name, name="id", needed=needed)
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
