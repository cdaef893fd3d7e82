"""JSON Lines, and arrays of objects as the Kaggle files are, one object at a time and byte for byte as written.

body, values, twice = scan_object('{"id": 1, "text": "a b"}')       # where each field lies, decoded values
splice(body, {"text": "a c"})                                       # '{"id": 1, "text": "a c"}'
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TextIO

from ..errors import Errors, PiiError
from .record import (
    JOINT,
    Record,
    Skip,
    Source,
    check_fields,
    choose_text_field,
    has_half_pair,
    is_no_text,
    open_binary,
    open_decoded,
    open_text,
    reason_of,
)

# Fields of CRAPII that repeat the text or depend on its tokens; they are replaced with it, never passed through.
TOKEN_FIELDS = ("tokens", "trailing_whitespace", "labels")
# Stands where a message names an encoding.
HALF_ESCAPE = "text, since an escape stands for half a character"
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_CHUNK = 1 << 20
_MAX_OBJECT = 1 << 26


@dataclass(frozen=True, slots=True)
class JsonBody:
    """An object as it was written. raw (str): Its JSON. at (dict[str, tuple[int, int]]): Where the value of each field lies."""

    raw: str
    at: dict[str, tuple[int, int]]

    def value(self, name: str) -> Any:
        """The decoded value of a field, or None."""
        return json.loads(self.raw[slice(*self.at[name])]) if name in self.at else None


def _skip_space(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    return match.end() if match else pos


def scan_object(raw: str) -> tuple[JsonBody, dict[str, Any], set[str]]:
    """Find the fields of one JSON object; white space around it is allowed.

    RETURNS (tuple[JsonBody, dict[str, Any], set[str]]): Places, decoded values, and the names that stand there twice.
    RAISES (ValueError): If it is no object, or something follows it.
    """
    at: dict[str, tuple[int, int]] = {}
    values: dict[str, Any] = {}
    twice: set[str] = set()

    def expect(signs: str, pos: int) -> int:
        pos = _skip_space(raw, pos)
        if raw[pos : pos + 1] not in tuple(signs):
            raise JSONDecodeError(f"none of {signs}", "", pos)
        return pos

    pos = _skip_space(raw, expect("{", 0) + 1)
    while raw[pos : pos + 1] != "}":
        name, pos = _DECODER.raw_decode(raw, expect('"', pos))
        start = _skip_space(raw, expect(":", pos) + 1)
        value, end = _DECODER.raw_decode(raw, start)
        if name in at:
            twice.add(name)
        at[name], values[name] = (start, end), value
        pos = expect(",}", end)
        if raw[pos] == ",":
            pos = expect('"', pos + 1)
    if _skip_space(raw, pos + 1) != len(raw):
        raise JSONDecodeError("extra data", "", pos)
    return JsonBody(raw, at), values, twice


def splice(body: JsonBody, new: dict[str, Any], drop: frozenset[str] = frozenset()) -> str:
    """The object with new values for some of its fields, and without those in `drop`.

    RETURNS (str): JSON on the lines that it had; all else as it was, non-ASCII escaped only if the object has none in clear.
    """
    ascii_only = body.raw.isascii()
    texts = {
        name: json.dumps(value, ensure_ascii=ascii_only)
        for name, value in new.items()
        if name in body.at
    }
    if drop & body.at.keys():
        pairs = (
            (name, texts.get(name, body.raw[slice(*at)]))
            for name, at in body.at.items()
            if name not in drop
        )
        return (
            "{"
            + ", ".join(
                f"{json.dumps(name, ensure_ascii=ascii_only)}: {value}" for name, value in pairs
            )
            + "}"
        )
    out = body.raw
    for name, text in sorted(texts.items(), key=lambda item: -body.at[item[0]][0]):
        start, end = body.at[name]
        out = out[:start] + text + out[end:]
    return out


class BrokenArrayError(Exception):
    """An array that cannot be read on."""


def lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    """YIELDS (tuple[int, str]): Number of the line and the line, without white space around it; empty lines are passed over."""
    for line, raw in enumerate(stream, 1):
        if raw.strip():
            yield line, raw.strip(" \t\r\n")


def elements(stream: TextIO) -> Iterator[tuple[int, str]]:
    """Elements of a JSON array, read in chunks.

    YIELDS (tuple[int, str]): The line on which an element starts, and its JSON.
    RAISES (BrokenArrayError): Where the array cannot be read on.
    """
    buffer, pos, line, at_end = "", 0, 1, False

    def more(keep_from: int) -> bool:
        nonlocal buffer, pos, at_end
        chunk = stream.read(max(_CHUNK, len(buffer) - keep_from))
        buffer, pos = buffer[keep_from:] + chunk, pos - keep_from
        at_end = not chunk
        return bool(chunk)

    def next_sign() -> str:
        nonlocal pos, line
        while True:
            end = _skip_space(buffer, pos)
            line, pos = line + buffer.count("\n", pos, end), end
            if pos < len(buffer) or not more(pos):
                return buffer[pos : pos + 1]

    def end_of_element(sign: str) -> int:
        while True:
            try:
                _, end = _DECODER.raw_decode(buffer, pos)
            except RecursionError as err:
                raise BrokenArrayError("nested too deeply") from err
            except ValueError as err:
                cut = (
                    not isinstance(err, JSONDecodeError)
                    or err.msg.startswith("Unterminated")
                    or err.pos >= len(buffer) - 16
                )
                if at_end or not cut or len(buffer) - pos > _MAX_OBJECT or not more(pos):
                    raise BrokenArrayError(f"malformed JSON from line {line} on") from err
            else:  # a number may go on in the next chunk
                if end < len(buffer) or sign in '{["' or at_end or not more(pos):
                    return end

    next_sign()
    pos += 1  # the bracket, which open_json has seen
    if next_sign() == "]":
        return
    while True:
        end = end_of_element(next_sign())
        yield line, buffer[pos:end]
        line, pos = line + buffer.count("\n", pos, end), end
        sign = next_sign()
        if sign == "]":
            return
        if sign != ",":
            raise BrokenArrayError(f"malformed JSON at line {line}")
        pos += 1


def scanned(
    found: Iterator[tuple[int, str]], encoding: str
) -> Iterator[tuple[int, JsonBody, dict[str, Any], set[str]] | Skip]:
    """YIELDS (tuple | Skip): Number, and what `scan_object` gives, of each of `lines` or `elements`; E520, E521, E531."""
    number = 0
    try:
        for number, (line, element) in enumerate(found, 1):
            if is_no_text(element):
                yield Skip.of(Errors.E520, number=number, encoding=encoding)
                continue
            try:
                item = scan_object(element)
            except (ValueError, RecursionError):
                yield Skip.of(Errors.E521, number=number, line=line)
            else:
                yield number, *item
    except BrokenArrayError as err:
        yield Skip.of(Errors.E531, number=number, reason=str(err), last=True)
    except (OSError, UnicodeError) as err:
        yield Skip.of(Errors.E531, number=number, reason=reason_of(err), last=True)


@dataclass(slots=True)
class JsonSource(Source):
    """JSON Lines, or an array of objects."""

    _seen: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Record | Skip]:
        for item in self.objects():
            yield item if isinstance(item, Skip) else self._record(*item)

    def objects(self) -> Iterator[tuple[int, JsonBody, dict[str, Any]] | Skip]:
        """YIELDS (tuple[int, JsonBody, dict[str, Any]] | Skip): Number, object as written, and decoded values."""
        for item in scanned(self.parts(), self.encoding):
            if isinstance(item, Skip):
                yield item
            elif wrong := [
                name for name in self.text_fields if name not in item[2] or name in item[3]
            ]:
                yield Skip.of(Errors.E522, number=item[0], id=self._id_of(item[2]), name=wrong[0])
            else:
                yield item[:3]

    def parts(self) -> Iterator[tuple[int, str]]:
        """YIELDS (tuple[int, str]): Line and JSON of each object."""
        with (
            open_binary(self.path) as self.raw,
            open_text(self.raw, encoding=self.encoding, bom=self.bom, newline="\n") as stream,
        ):
            yield from lines(stream) if self.kind == "jsonl" else elements(stream)

    def _record(self, number: int, body: JsonBody, values: dict[str, Any]) -> Record | Skip:
        texts = ["" if values[name] is None else values[name] for name in self.text_fields]
        ident = self._id_of(values)
        if wrong := [type(text).__name__ for text in texts if not isinstance(text, str)]:
            return Skip.of(Errors.E523, number=number, id=ident, type=wrong[0])
        text = JOINT.join(texts)
        if has_half_pair(text):
            return Skip.of(Errors.E520, number=number, id=ident, encoding=HALF_ESCAPE)
        has_tokens = "tokens" in values
        if has_tokens and "tokens" not in self.drop and not _tokens_fit(values, text):
            return Skip.of(Errors.E529, number=number, id=ident)
        hidden = {*self.text_fields, *self.drop, *(TOKEN_FIELDS if has_tokens else ())}
        self._seen.update(name for name in values if name not in hidden)
        if len(self._seen) > len(self.others):
            self.others[:] = sorted(self._seen)[:100]
        others = tuple(
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in values.items()
            if name not in hidden and value is not None and not isinstance(value, bool)
        )
        return Record(number, ident or str(number), text, body=body, others=others)

    def _id_of(self, values: dict[str, Any]) -> str:
        ident = values.get(self.id_field) if self.id_field else None
        return "" if ident is None else str(ident)


def join_tokens(tokens: list[str], spaces: list[bool]) -> str:
    """The text that tokens and their marks of trailing white space stand for."""
    return "".join(
        token + (" " if space else "") for token, space in zip(tokens, spaces, strict=True)
    )


def _tokens_fit(values: dict[str, Any], text: str) -> bool:
    tokens, spaces, labels = (values.get(name) for name in TOKEN_FIELDS)
    if not isinstance(tokens, list) or not isinstance(spaces, list) or len(tokens) != len(spaces):
        return False
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(tokens)):
        return False
    return all(isinstance(token, str) for token in tokens) and join_tokens(tokens, spaces) == text


def open_json(
    path: Path,
    *,
    text_field: str = "",
    more: tuple[str, ...] = (),
    id_field: str = "",
    encoding: str = "utf-8",
    drop: frozenset[str] = frozenset(),
) -> JsonSource:
    """Look into a file of JSON objects: an array if it starts with a bracket, else one object per line.

    text_field, id_field (str): Fields; empty to find a text with a usual name, and "document" for the id. more (tuple[str, ...]):
    Further texts. encoding (str): A byte order mark overrules utf-8. drop (frozenset[str]): Fields that do not go to the output.
    RAISES (PiiError): E501 to E508, E521.
    """
    try:
        with open_decoded(path, encoding) as (stream, codec, bom):
            head = stream.read(1)
            while head and head.isspace():
                head = stream.read(1)
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what="the input", reason=reason_of(err)) from err
    if not head:
        raise PiiError(Errors.E503)
    source = JsonSource(
        path=path, kind="json" if head == "[" else "jsonl", encoding=codec, bom=bom, drop=drop
    )
    source.size = path.stat().st_size
    fields = _first_fields(source)
    source.text_field, *further = [choose_text_field(fields, name) for name in (text_field, *more)]
    source.more = tuple(further)
    check_fields(fields, id_field, *drop)
    source.id_field = id_field or ("document" if "document" in fields else "")
    hidden = {*source.text_fields, *drop, *(TOKEN_FIELDS if "tokens" in fields else ())}
    source.others = [name for name in fields if name not in hidden]
    source._seen = set(source.others)
    return source


def _first_fields(source: JsonSource, tries: int = 500) -> list[str]:
    """Names of the fields of the first objects, as far as they can be read, in order."""
    names: dict[str, None] = {}
    line = 0
    try:
        for start, element in islice(source.parts(), tries):
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
