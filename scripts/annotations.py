"""Texts of others that this project annotated (docs/explanation/annotation.md): offsets and a hash are kept in assets/annotations/, the texts are the user's.

    for text in read_annotated(Path("assets/annotations"), [Path("assets/crapii/essays_sample.jsonl")]):
        text.part, text.labelled.spans                  # "sealed", or "first" and "second", the halves of the rest

One fifth of each source, chosen by the hash, is sealed: nobody reads it, training passes over it, and `scripts/annotated.py` alone scores it.
PERSUADE's marks ("STUDENT_NAME") are filled with invented people of the role that a reader gave them.
"""

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pii_components.corpus.build import RECIPES, from_essays
from pii_components.corpus.people import Person, invent_person
from pii_components.corpus.templates import Filled, Piece, Slot, read_rows, read_templates
from pii_components.files.formats.base import LabelledText
from pii_components.labels import (
    CHARACTER,
    CITED,
    CONNECTED,
    INSTRUCTOR,
    STUDENT,
    URL_PERSONAL,
    is_name,
    label_for_role,
    role_of,
)
from pii_components.names.table import NameTable, name_table

PARTS = SEALED, FIRST, SECOND = ("sealed", "first", "second")
ORGANISATION = "org"  # owner of a detail that is nobody's
_TEXTS = ("full_text", "text")
# Ids of short texts in assets/scenes of which each half learns a half, with their number in the file.
_SHORT = re.compile(r"[j-mop]\d_(\d\d)\d_")
_MARK = re.compile(r"(?:STUDENT|TEACHER|PROPER|OTHER|RELATIVE)_NAME|Generic_Names?|<\w*name\w*>")
_TITLE = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Principal|Senator|Coach)\.?\s*)$")
_NEAR = (
    30  # characters between two equal marks that are two people: "Generic_Name and Generic_Name"
)
# Share of full names and of first names alone, by role; else the surname.
_FORMS = {
    STUDENT: (0.7, 0.3),
    CONNECTED: (0.25, 0.75),
    CHARACTER: (0.3, 0.7),
    CITED: (0.6, 0.1),
    INSTRUCTOR: (0.4, 0.0),
}


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with gold for every label. id, source (str): "real", "persuade", "llm" or "new". part (str): One of `PARTS`.
    owners (tuple[str, ...]): Of each span: "author", "other", "org" for direct details, else empty."""

    id: str
    source: str
    part: str
    labelled: LabelledText
    owners: tuple[str, ...]


def part_of(digest: str) -> str:
    """RETURNS (str): The part of a text, by its SHA-256 in hexadecimal: a fifth is sealed."""
    return (SEALED, FIRST, FIRST, SECOND, SECOND)[int(digest[:8], 16) % 5]


def half_of(ident: str) -> str:
    """RETURNS (str): `FIRST` or `SECOND` for a short text of assets/scenes that one half learns and the other is scored on, else empty. Ten by ten
    of a file, since neighbours are often two texts in nearly the same words."""
    match = _SHORT.match(ident)
    return (FIRST, SECOND)[int(match[1]) % 2] if match else ""


def read_short(
    assets: Path, *, parts: Sequence[str] = (FIRST, SECOND), seed: int = 29
) -> list[LabelledText]:
    """RETURNS (list[LabelledText]): The short texts of assets/scenes that have a half, filled with invented people. RAISES (PiiError): E501, E601."""
    texts = [one for one in read_templates(assets, scenes=True) if half_of(one.id) in parts]
    recipe = replace(RECIPES["train"], cut=False, clean_share=1.0, fillings=1)
    return [
        LabelledText(one.id, filled.text, tuple(filled.spans))
        for one in texts
        for filled in from_essays([one], {}, recipe, name_table(), seed)
    ]


def read_annotated(
    folder: Path,
    texts: Iterable[Path] = (),
    *,
    parts: Sequence[str] = (FIRST, SECOND),
    seed: int = 29,
) -> list[AnnotatedText]:
    """Annotations with their texts, those of which are at hand.

    folder (Path): assets/annotations. texts (Iterable[Path]): JSON Lines, also .gz, with "full_text" or "text"; "new" texts lie beside
    their annotations. parts (Sequence[str]): Of `PARTS`. seed (int): Of the names that stand for marks. RAISES (PiiError): E501; E635 for offsets
    that do not fit.
    """
    found: list[AnnotatedText] = []
    known = texts_by_hash(texts)
    for path in sorted(folder.glob("*.jsonl")):
        for row in read_rows(path):
            text = row.get("text", known.get(row["sha256"]))
            if (
                text is None
                or _digest(text) != row["sha256"]
                or part_of(row["sha256"]) not in parts
            ):
                continue
            marks = [m for m in row["spans"] if m[2:] != [URL_PERSONAL, ORGANISATION]]
            owners = ("" if label == "NAME" else more for *_, label, more in marks)
            spans = tuple(
                (start, end, label_for_role(more) if label == "NAME" else label)
                for start, end, label, more in marks
            )
            labelled = LabelledText(row["id"], text, spans)
            if path.stem != "new":
                labelled = fill_marks(labelled, seed)
            found.append(
                AnnotatedText(row["id"], path.stem, part_of(row["sha256"]), labelled, tuple(owners))
            )
    return found


def texts_by_hash(paths: Iterable[Path]) -> dict[str, str]:
    """RETURNS (dict[str, str]): The texts of JSON Lines, by their SHA-256 in hexadecimal. RAISES (PiiError): E501."""
    rows = chain.from_iterable(map(read_rows, paths))
    texts = (next((row[k] for k in _TEXTS if isinstance(row.get(k), str)), "") for row in rows)
    return {_digest(text): text for text in texts}


def fill_marks(text: LabelledText, seed: int) -> LabelledText:
    """Invented names in the place of marks that are annotated as names; equal marks of one role are one person, unless they stand side by side."""
    rng = random.Random(hashlib.sha256(f"{seed}|{text.id}".encode()).digest())
    table, people = name_table(), dict[tuple[str, str, int], Person]()
    pieces: list[Piece] = []
    at = 0
    last: dict[tuple[str, str], tuple[int, int]] = {}
    for start, end, label in text.spans:
        value = text.text[start:end]
        if is_name(label) and _MARK.fullmatch(value):
            role = role_of(label)
            where, number = last.get((value, role), (-_NEAR, 0))
            number = 1 - number if start - where < _NEAR else number
            last[value, role] = (end, number)
            value = _name(people, (value, role, number), text.text[:start], rng, table)
        pieces += [(text.text[at:start], ""), (value, label)]
        at = end
    filled = Filled("").with_pieces([*pieces, (text.text[at:], "")])
    return LabelledText(text.id, filled.text, filled.spans, meta=text.meta)


def _name(
    people: dict[Any, Person],
    key: tuple[str, str, int],
    before: str,
    rng: random.Random,
    table: NameTable,
) -> str:
    called = 0.3 if key in people else 0.0  # later on, people are called by less
    if key not in people:
        people[key] = invent_person(rng, table)
    full, first = _FORMS[key[1]]
    draw = rng.random() + called
    what = "full" if draw < full else "first" if draw < full + first + 0.3 and first else "last"
    return people[key].render(Slot("student", "last" if _TITLE.search(before) else what), rng)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
