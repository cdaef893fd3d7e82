"""Labels carried over to the new text: those that a record brought along, and those that were found.

gold = gold_of(record)                          # spans of the old text, or None
moved(gold, doc._.pii_offsets)                  # spans of the new one
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..alignment import OffsetMap
from ..corpus.formats.record import GoldSpan
from ..corpus.formats.tokens import from_tokens
from ..corpus.json_records import TOKEN_FIELDS, join_tokens
from ..corpus.json_text import JsonBody
from ..corpus.records import Record

if TYPE_CHECKING:
    from spacy.tokens import Doc


def gold_of(record: Record) -> list[GoldSpan] | None:
    """The labels that a record brought along, as spans of its text.

    RETURNS (list[tuple[int, int, str]] | None): None if it has none, or if its tokens are not those of its text.
    RAISES (PiiError): E537 or E633, if they are not of the form.
    """
    body = record.body
    if not isinstance(body, JsonBody) or not body.at.keys() >= set(TOKEN_FIELDS):
        return None
    tokens, spaces, labels = (body.value(name) for name in TOKEN_FIELDS)
    lists = all(isinstance(value, list) for value in (tokens, spaces, labels)) and len(tokens) == len(spaces) == len(labels)
    if not lists or not all(isinstance(token, str) for token in tokens) or join_tokens(tokens, spaces) != record.text:
        return None
    return from_tokens(tokens, spaces, labels, number=record.number, names=TOKEN_FIELDS)[1]


def moved(spans: Sequence[GoldSpan], offsets: OffsetMap) -> tuple[GoldSpan, ...]:
    """Carry labels over to the new text.

    spans (Sequence[tuple[int, int, str]]): Start, end, label in the old text. offsets (OffsetMap): From it to the new one.
    RETURNS (tuple[tuple[int, int, str], ...]): Sorted. What was removed is gone; neighbours of one label that have become parts of
    one surrogate are one.
    """
    out: list[GoldSpan] = []
    for start, end, label in sorted((*offsets.span_to_new(start, end), label) for start, end, label in spans):
        if out and start < out[-1][1] and label == out[-1][2]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), label)
        elif start < end:
            out.append((start, end, label))
    return tuple(out)


def bio(spans: Sequence[GoldSpan], doc: "Doc") -> list[str]:
    """RETURNS (list[str]): BIO, one per token: a token has the label of the last span that shares a character with it."""
    out = ["O"] * len(doc)
    for start, end, label in spans:
        inside = [token.i for token in doc if token.idx < end and token.idx + len(token) > start]
        for i in inside:
            out[i] = f"I-{label}" if i > inside[0] else f"B-{label}"
    return out
