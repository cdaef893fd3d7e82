"""BIO as Hugging Face's token classification takes it: `tokens` and `ner_tags` (strings), with the list of labels.

    {"data": [
    {"id": "7", "tokens": ["I", "am", "Ina"], "ner_tags": ["O", "O", "B-NAME_STUDENT"],
     "trailing_whitespace": [true, true, false], "masked": [[5, 8]]}
    ],
    "label_list": ["O", "B-NAME_STUDENT", "I-NAME_STUDENT", …]}

    load_dataset("json", data_files="train.json", field="data")

`label_list` holds every label that we know, in the same order in every file, so that numbers made of it agree between train and
test. `masked` holds stretches in characters of the text that tokens and marks of white space make; give their tokens -100.
"""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, TextIO, cast

from ...errors import Errors, PiiError
from ...labels import LABELS
from ..json_text import BrokenArrayError, elements, scan_object
from ..record import Skip, detect_encoding, has_half_pair, open_binary, open_text, reason_of
from .base import ArrayWriter, LabelledText, ReadOptions, Tally, as_json, from_tokens, parse_masked, settle, tokenize
from .kaggle import ident_of

_NAMES = ("tokens", "trailing_whitespace", "ner_tags")
_FIELDS = {"id", *_NAMES, "masked"}
_HEAD = re.compile(r'\s*\{\s*"data"\s*:\s*(?=\[)')


class _Rest:
    """A stream that begins with text that was read already; `elements` reads no other way."""

    def __init__(self, head: str, stream: TextIO) -> None:
        self._head, self._stream = StringIO(head), stream

    def read(self, size: int) -> str:
        return self._head.read(size) or self._stream.read(size)


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each record; E5xx and E6xx of those that cannot be used.

    RAISES (PiiError): E501, E503, E634.
    """
    with open_binary(path) as raw:
        codec, bom = detect_encoding(raw.read(4), options.encoding)
        with open_text(raw, encoding=codec, bom=bom, newline="\n") as stream:
            number = 0
            try:
                head = stream.read(4096)
                start = _HEAD.match(head)
                if start is None:
                    raise PiiError(Errors.E634 if head.strip() else Errors.E503, what=path.name)
                rest = cast(TextIO, _Rest(head[start.end() :], stream))
                for number, (line, element) in enumerate(elements(rest), 1):
                    yield _item(number, line, element, codec, options.tally)
            except BrokenArrayError as err:
                yield Skip.of(Errors.E531, number=number, reason=str(err), last=True)
            except (OSError, UnicodeError) as err:
                yield Skip.of(Errors.E531, number=number, reason=reason_of(err), last=True)


def _item(number: int, line: int, element: str, codec: str, tally: Tally) -> tuple[int, LabelledText] | Skip:
    if has_half_pair(element):
        return Skip.of(Errors.E520, number=number, encoding=codec)
    try:
        _, values, twice = scan_object(element)
    except (ValueError, RecursionError):
        return Skip.of(Errors.E521, number=number, line=line)
    try:
        for name in sorted(twice & _FIELDS):
            raise PiiError(Errors.E522, number=number, name=name)
        text, found = from_tokens(*(values.get(name) for name in _NAMES), number=number, names=_NAMES)
        spans, masked = settle(text, found, parse_masked(values.get("masked"), number), number=number, tally=tally)
        meta = {name: value for name, value in values.items() if name not in _FIELDS}
        return number, LabelledText(ident_of(values.get("id"), number), text, spans, masked, meta)
    except PiiError as err:
        return Skip(number=number, error=err)


class BioWriter(ArrayWriter):
    """One JSON object: `data`, an array with an object per line, and `label_list`."""

    form = "bio"

    def __init__(self, out: Path, tally: Tally) -> None:
        super().__init__(out, tally)
        self._others: set[str] = set()

    def head(self) -> bytes:
        return b'{"data": ['

    def tail(self) -> bytes:
        return b'\n],\n"label_list": ' + as_json(self.label_list(), 0, self.form) + b"}\n"

    def label_list(self) -> list[str]:
        """RETURNS (list[str]): O, then B- and I- of all our labels, then of others that occur, sorted."""
        return ["O", *(f"{bio}-{label}" for label in (*LABELS, *sorted(self._others)) for bio in "BI")]

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        tokens = tokenize(essay, number=number, tally=self.tally)
        self._others.update(label for _, _, label in tokens.spans if label not in LABELS)
        row = {"id": essay.id, "tokens": tokens.words, "ner_tags": tokens.labels, "trailing_whitespace": tokens.spaces}
        return row | ({"masked": tokens.masked_characters()} if tokens.masked else {})
