"""JSON as text: where the fields of an object lie, objects with new values in place, arrays element by element.

body, values, twice = scan_object('{"id": 1, "text": "a b"}')
splice(body, {"text": "a c"})                               # '{"id": 1, "text": "a c"}'
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, TextIO

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_CHUNK = 1 << 20
_MAX_OBJECT = 1 << 26


@dataclass(frozen=True, slots=True)
class JsonBody:
    """An object as it was written. raw (str): Its JSON. at (dict[str, tuple[int, int]]): Where the value of each field lies
    in it."""

    raw: str
    at: dict[str, tuple[int, int]]

    def value(self, name: str) -> Any:
        """RETURNS (Any): The decoded value of a field, or None."""
        return json.loads(self.raw[slice(*self.at[name])]) if name in self.at else None


def scan_object(raw: str) -> tuple[JsonBody, dict[str, Any], set[str]]:
    """Find the fields of one JSON object.

    raw (str): The whole object; white space around it is allowed.
    RETURNS (tuple[JsonBody, dict[str, Any], set[str]]): Places, decoded values, and the names that stand there twice.
    RAISES (ValueError): If it is no object, or something follows it.
    """

    def skip(pos: int) -> int:
        match = _SPACE.match(raw, pos)
        return match.end() if match else pos

    at: dict[str, tuple[int, int]] = {}
    values: dict[str, Any] = {}
    twice: set[str] = set()
    pos = skip(0)
    if raw[pos : pos + 1] != "{":
        raise JSONDecodeError("no object", "", pos)
    pos = skip(pos + 1)
    closed = raw[pos : pos + 1] == "}"
    while not closed:
        if raw[pos : pos + 1] != '"':
            raise JSONDecodeError("no name of a field", "", pos)
        name, pos = _DECODER.raw_decode(raw, pos)
        pos = skip(pos)
        if raw[pos : pos + 1] != ":":
            raise JSONDecodeError("no colon", "", pos)
        start = skip(pos + 1)
        value, end = _DECODER.raw_decode(raw, start)
        if name in at:
            twice.add(name)
        at[name], values[name] = (start, end), value
        pos = skip(end)
        if raw[pos : pos + 1] not in (",", "}"):
            raise JSONDecodeError("no comma", "", pos)
        closed = raw[pos] == "}"
        pos = pos if closed else skip(pos + 1)
    if skip(pos + 1) != len(raw):
        raise JSONDecodeError("extra data", "", pos)
    return JsonBody(raw, at), values, twice


def splice(body: JsonBody, new: dict[str, Any], drop: frozenset[str] = frozenset()) -> str:
    """The object with new values for some fields.

    body (JsonBody): As read. new (dict[str, Any]): Value per field. drop (frozenset[str]): Fields to leave out.
    RETURNS (str): JSON on the lines that it had; all else as it was, non-ASCII escaped only if the object has none in clear.
    """
    ascii_only = body.raw.isascii()
    texts = {name: json.dumps(value, ensure_ascii=ascii_only) for name, value in new.items() if name in body.at}
    if drop & body.at.keys():
        kept = [name for name in body.at if name not in drop]
        pairs = ((json.dumps(name, ensure_ascii=ascii_only), texts.get(name, body.raw[slice(*body.at[name])])) for name in kept)
        return "{" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}"
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
            match = _SPACE.match(buffer, pos)
            end = match.end() if match else pos
            line, pos = line + buffer.count("\n", pos, end), end
            if pos < len(buffer) or not more(pos):
                return buffer[pos : pos + 1]

    next_sign()
    pos += 1  # the bracket, which open_json has seen
    if next_sign() == "]":
        return
    while True:
        sign = next_sign()
        start_line = line
        while True:
            try:
                _, end = _DECODER.raw_decode(buffer, pos)
                if end == len(buffer) and sign not in '{["' and not at_end and more(pos):
                    continue  # a number may go on in the next chunk
                break
            except RecursionError as err:
                raise BrokenArrayError("nested too deeply") from err
            except ValueError as err:
                incomplete = (
                    not isinstance(err, JSONDecodeError) or err.msg.startswith("Unterminated") or err.pos >= len(buffer) - 16
                )
                if at_end or not incomplete or len(buffer) - pos > _MAX_OBJECT or not more(pos):
                    raise BrokenArrayError(f"malformed JSON from line {start_line} on") from err
        yield start_line, buffer[pos:end]
        line, pos = line + buffer.count("\n", pos, end), end
        sign = next_sign()
        if sign == "]":
            return
        if sign != ",":
            raise BrokenArrayError(f"malformed JSON at line {line}")
        pos += 1
