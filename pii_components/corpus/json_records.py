"""JSON Lines, and arrays of objects as the Kaggle files are, one object at a time.

    source = open_json(Path("essays.jsonl"), text_field="full_text")

An object is kept as it was written: the writer sets a new text into that string, so that numbers, escapes and the order of the
other fields come out byte for byte.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ..errors import Errors, PiiError
from .json_text import BrokenArrayError, JsonBody, elements, lines, scan_object
from .records import (
    Record,
    Skip,
    Source,
    check_fields,
    choose_text_field,
    detect_encoding,
    has_half_pair,
    open_binary,
    open_text,
    reason_of,
)  # fmt: skip

# Fields of CRAPII that repeat the text or depend on its tokens; they are replaced with it, never passed through.
TOKEN_FIELDS = ("tokens", "trailing_whitespace", "labels")
# Stands where a message names an encoding.
HALF_ESCAPE = "text, since an escape stands for half a character"


@dataclass(slots=True)
class JsonSource(Source):
    """JSON Lines, or an array of objects. raw (BinaryIO): The open file."""

    raw: BinaryIO | None = None
    _seen: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Record | Skip]:
        for item in self.objects():
            yield item if isinstance(item, Skip) else self._record(*item)

    def objects(self) -> Iterator[tuple[int, JsonBody, dict[str, Any]] | Skip]:
        """YIELDS (tuple[int, JsonBody, dict[str, Any]] | Skip): Number, object as written, and decoded values."""
        with open_binary(self.path) as raw, open_text(raw, encoding=self.encoding, bom=self.bom, newline="\n") as stream:
            self.raw = raw
            yield from self._objects(stream)

    def _objects(self, stream: TextIO) -> Iterator[tuple[int, JsonBody, dict[str, Any]] | Skip]:
        number = 0
        try:
            for number, (line, element) in enumerate(lines(stream) if self.kind == "jsonl" else elements(stream), 1):
                if has_half_pair(element):
                    yield Skip.of(Errors.E520, number=number, encoding=self.encoding)
                    continue
                try:
                    body, values, twice = scan_object(element)
                except (ValueError, RecursionError):
                    yield Skip.of(Errors.E521, number=number, line=line)
                    continue
                if self.text_field not in values or self.text_field in twice:
                    yield Skip.of(Errors.E522, number=number, name=self.text_field)
                else:
                    yield number, body, values
        except BrokenArrayError as err:
            yield Skip.of(Errors.E531, number=number, reason=str(err), last=True)
        except (OSError, UnicodeError) as err:
            yield Skip.of(Errors.E531, number=number, reason=reason_of(err), last=True)

    def _record(self, number: int, body: JsonBody, values: dict[str, Any]) -> Record | Skip:
        text = values[self.text_field]
        if text is None:
            text = ""
        if not isinstance(text, str):
            return Skip.of(Errors.E523, number=number, type=type(text).__name__)
        if has_half_pair(text):
            return Skip.of(Errors.E520, number=number, encoding=HALF_ESCAPE)
        ident = values.get(self.id_field) if self.id_field else None
        if "tokens" in values and "tokens" not in self.drop:
            problem = _tokens_problem(values, text)
            if problem:
                return Skip.of(problem, number=number)
        hidden = {self.text_field, *TOKEN_FIELDS, *self.drop} if "tokens" in values else {self.text_field, *self.drop}
        self._seen.update(name for name in values if name not in hidden)
        if len(self._seen) > len(self.others):
            self.others[:] = sorted(self._seen)[:100]
        others = tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in values.items()
            if name not in hidden and isinstance(value, str | list | dict)
        )
        return Record(number, str(number if ident is None else ident), text, body=body, others=others)

    def position(self) -> int:
        return self.raw.tell() if self.raw is not None and not self.raw.closed else 0

    def close(self) -> None:
        if self.raw is not None:
            self.raw.close()


def join_tokens(tokens: list[str], spaces: list[bool]) -> str:
    """RETURNS (str): The text that tokens and their marks of trailing white space stand for."""
    return "".join(token + (" " if space else "") for token, space in zip(tokens, spaces, strict=True))


def _tokens_problem(values: dict[str, Any], text: str) -> str:
    """RETURNS (str): E529 if the tokens beside a text are not those of the text; else the empty string."""
    tokens, spaces, labels = (values.get(name) for name in TOKEN_FIELDS)
    if not isinstance(tokens, list) or not isinstance(spaces, list) or len(tokens) != len(spaces):
        return Errors.E529
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
        return Errors.E529
    if not all(isinstance(token, str) for token in tokens) or join_tokens(tokens, spaces) != text:
        return Errors.E529
    return ""


def open_json(
    path: Path, *, text_field: str = "", id_field: str = "", encoding: str = "utf-8", drop: frozenset[str] = frozenset()
) -> JsonSource:
    """Look into a file of JSON objects: an array if it starts with a bracket, else one object per line.

    path (Path): The file. text_field (str): Field of the text; empty to find one with a usual name. id_field (str): Field of
    the id; empty for "document" where there is one. encoding (str): A byte order mark in the file overrules utf-8.
    drop (frozenset[str]): Fields that do not go to the output.
    RETURNS (JsonSource): To be iterated over.
    RAISES (PiiError): E501 to E508, E521.
    """
    with open_binary(path) as raw:
        codec, bom = detect_encoding(raw.read(4), encoding)
        try:
            with open_text(raw, encoding=codec, bom=bom) as stream:
                head = stream.read(1)
                while head and head.isspace():
                    head = stream.read(1)
        except (OSError, UnicodeError) as err:
            raise PiiError(Errors.E501, what="the input", reason=reason_of(err)) from err
    if not head:
        raise PiiError(Errors.E503)
    source = JsonSource(path=path, kind="json" if head == "[" else "jsonl", encoding=codec, bom=bom, drop=drop)
    source.size = path.stat().st_size
    fields = _first_fields(source)
    source.text_field = choose_text_field(fields, text_field)
    check_fields(fields, id_field, *drop)
    source.id_field = id_field or ("document" if "document" in fields else "")
    source.others = [name for name in fields if name != source.text_field and name not in drop]
    if "tokens" in fields:
        source.others = [name for name in source.others if name not in TOKEN_FIELDS]
    source._seen = set(source.others)
    return source


def _first_fields(source: JsonSource, tries: int = 50) -> list[str]:
    """RETURNS (list[str]): Names of the fields of the first fifty objects, as far as they can be read, in order."""
    names: dict[str, None] = {}
    line = 0
    with open_binary(source.path) as raw, open_text(raw, encoding=source.encoding, bom=source.bom, newline="\n") as stream:
        found = lines(stream) if source.kind == "jsonl" else elements(stream)
        try:
            for start, element in islice(found, tries):
                line = start
                with suppress(ValueError, RecursionError):
                    names.update(dict.fromkeys(scan_object(element)[1]))
        except (BrokenArrayError, OSError, UnicodeError) as err:
            if not names:
                raise PiiError(Errors.E521, number=1, line=max(line, 1)) from err
    if not line:
        raise PiiError(Errors.E503)
    if not names:
        raise PiiError(Errors.E521, number=1, line=line)
    return list(names)
