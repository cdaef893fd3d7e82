"""CRAPII's form, which is that of Kaggle's PII task: `document`, `full_text`, `tokens`, `trailing_whitespace`, `labels` (BIO).

    {"document": 7, "full_text": "I am Ina", "tokens": ["I", "am", "Ina"], "trailing_whitespace": [true, true, false],
     "labels": ["O", "O", "B-NAME_STUDENT"], "masked": [[5, 8]]}

An array of such objects, or one per line. `masked` is ours and stands only where it is needed: stretches of `full_text`
(characters, end exclusive) whose tokens are labelled O because nobody knows what they are. Training and scoring must pass over them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import Errors, PiiError
from ..json_text import HALF_ESCAPE, TOKEN_FIELDS, open_json
from ..record import Skip, has_half_pair
from .base import ArrayWriter, LabelledText, LinesWriter, ReadOptions, Tally, from_tokens, parse_masked, settle, tokenize

_FIELDS = {"document", "full_text", *TOKEN_FIELDS, "masked"}
# Whole numbers that every reader of JSON keeps.
_MAX_DIGITS = 15


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each record; E5xx and E6xx of those that cannot be used."""
    for item in open_json(path, text_field="tokens", encoding=options.encoding).objects():
        if isinstance(item, Skip):
            yield item
            continue
        try:
            yield item[0], labelled(item[0], item[2], options.tally)
        except PiiError as err:
            yield Skip(number=item[0], error=err)


def labelled(number: int, values: dict[str, Any], tally: Tally) -> LabelledText:
    """One record.

    number (int): Its position. values (dict[str, Any]): As decoded. tally (Tally): Gets what is masked.
    RETURNS (LabelledText): The id is the number where `document` is missing or null.
    RAISES (PiiError): E520 to E523, E535 to E537, E624, E633.
    """
    text, found = from_tokens(*(values.get(name) for name in TOKEN_FIELDS), number=number, names=TOKEN_FIELDS)
    given = values.get("full_text", text)
    if text != given:
        shown = str(given)
        start = next((i for i, (a, b) in enumerate(zip(text, shown, strict=False)) if a != b), min(len(text), len(shown)))
        raise PiiError(Errors.E536, number=number, start=start)
    spans, masked = settle(text, found, parse_masked(values.get("masked"), number), number=number, tally=tally)
    meta = {name: value for name, value in values.items() if name not in _FIELDS}
    return LabelledText(ident_of(values.get("document"), number), text, spans, masked, meta)


def ident_of(value: Any, number: int) -> str:
    """The id of a record.

    RETURNS (str): As given; the number for what is missing, null or empty.
    RAISES (PiiError): E624, if it is neither a string nor a number; E520, if it holds half of a character.
    """
    if value is None or value == "":
        return str(number)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise PiiError(Errors.E624, number=number, name="id", expected="a string or a number")
    if has_half_pair(str(value)):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return str(value)


def as_number(ident: str) -> str | int:
    """RETURNS (str | int): A whole number where the id is one and comes back the same, as CRAPII's are."""
    plain = ident.isascii() and ident.isdigit() and len(ident) <= _MAX_DIGITS
    return int(ident) if plain and str(int(ident)) == ident else ident


class KaggleWriter(LinesWriter):
    """One object per line."""

    form = "kaggle-jsonl"

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        tokens = tokenize(essay, number=number, tally=self.tally)
        row = {
            "document": as_number(essay.id),
            "full_text": essay.text,
            "tokens": tokens.words,
            "trailing_whitespace": tokens.spaces,
            "labels": tokens.labels,
        }
        return row | ({"masked": tokens.masked_characters()} if tokens.masked else {})


class KaggleArrayWriter(ArrayWriter, KaggleWriter):
    """An array, as Kaggle's own files are."""

    form = "kaggle"
