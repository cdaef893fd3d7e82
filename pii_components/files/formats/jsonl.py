"""JSON Lines with spans: the plain form, in which offsets are what they are.

    {"id": "7", "text": "I am Ina", "spans": [[5, 8, "NAME_STUDENT"]]}
    {"id": "8", "text": "I am Ina", "spans": [{"start": 5, "end": 8, "label": "NAME_STUDENT"}]}

Both kinds of spans are read, the first is written. `masked` holds `[start, end]` of stretches whose gold is not known. Other
fields pass through; those of tokens do not, since they say the same once more. An array of such objects is read as well.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import HALF_ESCAPE, TOKEN_FIELDS, open_json
from ..record import Skip, has_half_pair
from .base import LabelledText, LinesWriter, ReadOptions, Tally, parse_masked, parse_spans, settle
from .kaggle import ident_of

USUAL_ID_FIELDS = ("id", "document", "doc_id", "file_idx")


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each record; E5xx and E6xx of those that cannot be used."""
    source = open_json(path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding)
    for item in source.objects():
        if isinstance(item, Skip):
            yield item
            continue
        number, _, values = item
        try:
            yield number, labelled(number, values, source.text_field, options.id_field, options.tally)
        except PiiError as err:
            yield Skip(number=number, error=err)


def labelled(number: int, values: dict[str, Any], text_field: str, id_field: str, tally: Tally) -> LabelledText:
    """One record.

    number (int): Its position. values (dict[str, Any]): As decoded. text_field, id_field (str): Names of fields. tally (Tally): Gets
    what is masked.
    RETURNS (LabelledText): The id is the number where the record has none.
    RAISES (PiiError): E520, E522, E523, E623, E624.
    """
    id_field = id_field or next((name for name in USUAL_ID_FIELDS if name in values), "")
    text = values[text_field]
    if "spans" not in values:
        raise PiiError(Errors.E522, number=number, name="spans")
    if not isinstance(text, str):
        raise PiiError(Errors.E523, number=number, type=type(text).__name__)
    ident = ident_of(values.get(id_field), number)
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    found = parse_spans(values["spans"], number)
    spans, masked = settle(text, found, parse_masked(values.get("masked"), number), number=number, tally=tally)
    own = {text_field, id_field, "spans", "masked", *TOKEN_FIELDS}
    return LabelledText(ident, text, spans, masked, {name: value for name, value in values.items() if name not in own})


class SpansWriter(LinesWriter):
    """One object per line: id, text, spans, and masked where there is something masked."""

    form = "jsonl"

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        row: dict[str, Any] = {"id": essay.id, "text": essay.text, "spans": [list(span) for span in essay.spans]}
        return row | ({"masked": [list(stretch) for stretch in essay.masked]} if essay.masked else {})
