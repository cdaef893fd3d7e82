"""JSON Lines, and arrays of objects as the Kaggle files are.

    source = open_json(Path("train.json"), text_field="full_text")
    for item in source.objects(): ...               # Skip, or (number, JsonBody, values)

A line that cannot be read is skipped and listed with its number. An array is read as a whole, and
refused with the line on which it breaks. Values pass through unchanged; their spelling may change
(1.50 becomes 1.5), and each object is written on one line.
"""

import json
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .record import (
    FIELD_SEPARATOR,
    Record,
    Skip,
    Source,
    has_half_pair,
    is_no_text,
    open_binary,
    open_decoded,
    open_text,
    reason_of,
)

# Fields of CRAPII that repeat the text or depend on its tokens; they are replaced with it, never
# passed through.
TOKEN_FIELDS = ("tokens", "trailing_whitespace", "labels")
# Stands where a message names an encoding.
HALF_ESCAPE = "text, since an escape stands for half a character"
# Objects that are looked at for the names of their fields.
_LOOKED_AT = 500
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The fields of an object.

    values (dict[str, Any]): As decoded, in their order.
    ascii_only (bool): Whether the object had no other character in clear; it is written so too.
    """

    values: dict[str, Any]
    ascii_only: bool = False

    def value(self, name: str) -> Any:
        """RETURNS (Any): The value of a field, or None."""
        return self.values.get(name)

    def to_json(self, new: dict[str, Any] | None = None, drop: Set[str] = frozenset()) -> str:
        """Write the object on one line.

        new (dict[str, Any] | None): New values of fields that it has; others are left out.
        drop (Set[str]): Fields that are left out.
        """
        values = dict(self.values)
        for name, value in (new or {}).items():
            if name in values:
                values[name] = value
        for name in drop & values.keys():
            del values[name]
        return json.dumps(values, ensure_ascii=self.ascii_only)


def _fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """RAISES (ValueError): If a field stands there twice: nobody knows which value is meant."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands there twice")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_fields_once)


def parse_object(raw: str) -> JsonBody:
    """RETURNS (JsonBody): One object. RAISES (ValueError): If it is none, or has a field twice."""
    try:
        values = _DECODER.decode(raw)
    except RecursionError as err:
        raise ValueError("nested too deeply") from err
    if not isinstance(values, dict):
        raise ValueError("no object")
    return JsonBody(values, raw.isascii())


def split_array(text: str) -> Iterator[tuple[int, str]]:
    """Find the elements of an array.

    YIELDS (tuple[int, str]): The line on which an element begins, and its JSON.
    RAISES (PiiError): E521, with the line from which on it is no JSON.
    """
    number, line, counted = 0, 1, 0
    pos = _after_space(text, text.index("[") + 1)
    more = not text.startswith("]", pos)
    while more:
        line, counted = line + text.count("\n", counted, pos), pos
        number += 1
        try:
            _, end = _DECODER.raw_decode(text, pos)
        except (ValueError, RecursionError) as err:
            at = line + text.count("\n", pos, getattr(err, "pos", pos))
            raise PiiError(Errors.E521, number=number, line=at) from err
        yield line, text[pos:end]
        pos = _after_space(text, end)
        more = text.startswith(",", pos)
        if more:
            pos = _after_space(text, pos + 1)
    if not text.startswith("]", pos) or _after_space(text, pos + 1) < len(text):
        at = line + text.count("\n", counted, pos)
        raise PiiError(Errors.E521, number=number + 1, line=at)


def _after_space(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    return match.end() if match else pos


@dataclass(slots=True)
class JsonSource(Source):
    """JSON Lines, or an array of objects."""

    _seen: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Record | Skip]:
        for item in self.objects():
            yield item if isinstance(item, Skip) else self._record(*item)

    def objects(self) -> Iterator[tuple[int, JsonBody, dict[str, Any]] | Skip]:
        """YIELDS (tuple | Skip): Number, body and decoded values of each object."""
        number = 0
        try:
            for number, (line, raw) in enumerate(self.parts(), 1):
                yield self._object(number, line, raw)
        except PiiError as err:
            yield Skip(number + 1, err, last=True)
        except (OSError, UnicodeError) as err:
            yield Skip.of(Errors.E531, number=number, reason=reason_of(err), last=True)

    def parts(self) -> Iterator[tuple[int, str]]:
        """YIELDS (tuple[int, str]): Line and JSON of each object."""
        with (
            open_binary(self.path) as self.raw,
            open_text(self.raw, encoding=self.encoding, bom=self.bom, newline="\n") as stream,
        ):
            if self.kind == "json":
                yield from split_array(stream.read())
                return
            for line, raw in enumerate(stream, 1):
                if raw.strip():
                    yield line, raw.strip(" \t\r\n")

    def _object(
        self, number: int, line: int, raw: str
    ) -> tuple[int, JsonBody, dict[str, Any]] | Skip:
        if is_no_text(raw):
            return Skip.of(Errors.E520, number=number, line=line, encoding=self.encoding)
        try:
            body = parse_object(raw)
        except ValueError:
            return Skip.of(Errors.E521, number=number, line=line)
        for name in self.text_fields:
            if name not in body.values:
                ident = self._id_of(body.values)
                return Skip.of(Errors.E522, number=number, id=ident, line=line, name=name)
        return number, body, body.values

    def _record(self, number: int, body: JsonBody, values: dict[str, Any]) -> Record | Skip:
        ident = self._id_of(values)
        texts = []
        for name in self.text_fields:
            text = "" if values[name] is None else values[name]
            if not isinstance(text, str):
                kind = type(text).__name__
                return Skip.of(Errors.E523, number=number, id=ident, type=kind)
            texts.append(text)
        text = FIELD_SEPARATOR.join(texts)
        if has_half_pair(text):
            return Skip.of(Errors.E520, number=number, id=ident, encoding=HALF_ESCAPE)
        has_tokens = "tokens" in values
        if has_tokens and "tokens" not in self.drop and not tokens_fit(values, text):
            return Skip.of(Errors.E529, number=number, id=ident)
        hidden = self.fields_not_passed_on(values)
        self._seen.update(name for name in values if name not in hidden)
        if len(self._seen) > len(self.others):
            self.others[:] = sorted(self._seen)[:100]
        others = shown_fields(values, hidden)
        return Record(number, ident or str(number), text, body=body, others=others)

    def fields_not_passed_on(self, names: Iterable[str]) -> set[str]:
        """RETURNS (set[str]): Fields of texts, those that are dropped, and tokens of the text."""
        tokens = TOKEN_FIELDS if "tokens" in names else ()
        return {*self.text_fields, *self.drop, *tokens}

    def _id_of(self, values: dict[str, Any]) -> str:
        ident = values.get(self.id_field) if self.id_field else None
        return "" if ident is None else str(ident)


def shown_fields(values: dict[str, Any], hidden: Set[str]) -> tuple[tuple[str, str], ...]:
    """RETURNS (tuple): Name and content of fields that hold something and are not hidden."""
    shown = []
    for name, value in values.items():
        if name in hidden or value is None or isinstance(value, bool):
            continue
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False, default=str)
        shown.append((name, value))
    return tuple(shown)


def join_tokens(tokens: list[str], spaces: list[bool]) -> str:
    """The text that tokens and their marks of trailing white space stand for."""
    return "".join(
        token + (" " if space else "") for token, space in zip(tokens, spaces, strict=True)
    )


def tokens_fit(values: dict[str, Any], text: str) -> bool:
    """Whether the tokens of a record are those of its text, and its labels as many, if it has any."""
    tokens, spaces, labels = (values.get(name) for name in TOKEN_FIELDS)
    if not isinstance(tokens, list) or not isinstance(spaces, list) or len(tokens) != len(spaces):
        return False
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
        return False
    return all(isinstance(token, str) for token in tokens) and join_tokens(tokens, spaces) == text


def open_json(path: Path, *, encoding: str = "utf-8", **fields: Any) -> JsonSource:
    """Look into a file of JSON objects: an array if it starts with a bracket, else one per line.

    encoding (str): A byte order mark overrules utf-8.
    fields: text_field, more, id_field and drop of a `Source`; an empty text_field finds one with a usual name, an empty id_field "document",
        if there is one.
    RAISES (PiiError): E501 to E508; E521 for an array that breaks, or if no line is an object.
    """
    try:
        with open_decoded(path, encoding) as (stream, codec, bom):
            head = stream.read(1)
            while head.isspace():
                head = stream.read(1)
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what="the input", reason=reason_of(err)) from err
    if not head:
        raise PiiError(Errors.E503)
    kind = "json" if head == "[" else "jsonl"
    source = JsonSource(path, kind, codec, bom, size=path.stat().st_size, **fields)
    found = _first_fields(source)
    source.choose(found)
    source.id_field = source.id_field or ("document" if "document" in found else "")
    hidden = source.fields_not_passed_on(found)
    source.others = [name for name in found if name not in hidden]
    source._seen = set(source.others)
    return source


def _first_fields(source: JsonSource) -> list[str]:
    """RETURNS (list[str]): Names of the fields of the first objects, in their order."""
    names: dict[str, None] = {}
    n = last = 0
    try:
        for n, (last, raw) in enumerate(source.parts(), 1):  # noqa: B007  (used below)
            with suppress(ValueError):
                names.update(dict.fromkeys(parse_object(raw).values))
            # All of an array is read, so that one that breaks is refused before a run begins.
            if n >= _LOOKED_AT and source.kind == "jsonl":
                break
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E521, number=1, line=max(last, 1)) from err
    if not n:
        raise PiiError(Errors.E503)
    if not names:
        raise PiiError(Errors.E521, number=1, line=last)
    return list(names)
