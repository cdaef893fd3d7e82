"""PERSUADE and other essays whose publishers put marks where names were: real writing, invented people.

The user puts the files into assets/ (assets/README.md says how to get them); none of them ships. A mark says what kind of person
stood there (STUDENT_NAME, TEACHER_NAME, Generic_Name ...); it becomes a slot, one person per document and mark unless the text has a
number or case of its own.
"""

import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from ..labels import EDUCATION, LOCATION
from ..surrogates.names import NameTable
from .synthesis import Filled, Filler, Tally
from .templates import Part, Slot

# Mark -> who. PROPER_NAME stands at sign-offs and for people in the text; a sign-off is told by its line, see `_who`.
_MARKS = {"STUDENT_NAME": "student", "TEACHER_NAME": "instructor", "PROPER_NAME": "friend", "Generic_Name": "character"}
# Mark -> label, and what may stand there. The writer's own school and town are indirect identifiers.
_PLACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "SCHOOL_NAME": (
        EDUCATION,
        ("Lakeside", "Roosevelt", "Cedar Ridge", "St. Anne", "Northgate", "Jefferson", "Willow Creek", "Eastbrook"),
    ),
    "Generic_School": (EDUCATION, ("Hillview", "Washington", "Riverside", "Oak Park", "Franklin", "Meadowlark")),
    "Generic_City": (LOCATION, ("Riverton", "Fairview", "Milford", "Ashland", "Boston", "Denver", "Salem", "Georgetown")),
    "LOCATION_NAME": (LOCATION, ("Green Valley", "Brookfield", "Franklin County", "Lake Marion", "Elm Park")),
    "OTHER_NAME": ("", ("Bluebird", "Northstar", "Harvest Fair", "Eagle Club")),
}
_DETAILS = {
    "PHONE_NUMBER": "phone",
    "EMAIL_ADDRESS": "email",
    "ADDRESS_NAME": "address",
    "STREET_ADDRESS": "address",
    "PERSONAL_URL_HERE": "url",
}
_MARK = re.compile(r"\b(" + "|".join((*_MARKS, *_PLACES, *_DETAILS)) + r")\b")
_ANY_MARK = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b|\bGeneric_[A-Z][a-z]+\b|[<\[][A-Za-z_ ]*(?:name|url|link|URL)[A-Za-z_ ]*[>\]]")


def iter_persuade(path: Path) -> Iterator[tuple[str, str]]:
    """YIELDS (tuple[str, str]): Id and text of each essay in a (gzipped) JSONL file with fields `id` and `text`.

    A row with a `label` of its own is no carrier and is left out: it holds people whom nobody replaced by marks.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf8") as stream:
        for line in stream:
            row = json.loads(line)
            if "label" in row or "labels" in row:
                continue
            yield str(row.get("id", row.get("essay_id", ""))), row.get("text", row.get("full_text", ""))


def to_parts(text: str, rng: random.Random) -> tuple[Part, ...]:
    """Turn marks into slots.

    text (str): An essay with marks. rng (random.Random): Where chance comes from.
    RETURNS (tuple[Part, ...]): Text and slots; empty if there is a mark that this module does not know.
    """
    parts: list[Part] = []
    at, seen_generic = 0, 0
    signed = re.search(
        r"(?:incerely|egards|ruly|student|hank you|thanks|love)[^\n]{0,15}\n*\s*[-,]*\s*(?:PROPER_NAME|Generic_Name)\W*$",
        text,
        re.I,
    )
    for match in _MARK.finditer(text):
        mark = match[1]
        parts.append(text[at : match.start()])
        at = match.end()
        if mark in _PLACES:
            label, names = _PLACES[mark]
            parts.append(Slot(label, "literal", "", rng.choice(names)) if label else rng.choice(names))
        elif mark in _DETAILS:
            parts.append(Slot("student", _DETAILS[mark]))
        else:
            who = _MARKS[mark]
            if signed and signed.start() < match.start() and signed.end() >= match.end():
                who = "student"
            elif who == "character":
                # Stories name a handful of people with one mark: mostly the same one goes on, at times another comes.
                seen_generic = rng.choices((seen_generic, rng.randint(0, 3)), (0.6, 0.4))[0]
                who = f"character{seen_generic + 1}"
            what = rng.choices(("first", "full", "last"), (0.75, 0.2, 0.05))[0]
            if who == "student":
                what = rng.choices(("full", "first", "initial_last", "middle"), (0.6, 0.3, 0.05, 0.05))[0]
            elif who == "instructor":
                what = (
                    "last"
                    if re.search(r"(?:M[rs]{1,2}s?|Dr|Prof\w*|Principal)\.?\s*$", text[: match.start()])
                    else rng.choice(("full", "last", "first"))
                )
            parts.append(Slot(who, what))
    parts.append(text[at:])
    if any(isinstance(p, str) and _ANY_MARK.search(p) for p in parts):
        return ()
    return tuple(p for p in parts if p != "")


_TITLE_PAIR = re.compile(r"(?<![.!?\n] )(?<!^)\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")


def fill_carrier(
    text: str, table: NameTable, rng: random.Random, *, worn: float = 0.0, habit: float = 0.0, tally: Tally | None = None
) -> Filled | None:
    """Fill an essay's marks, and leave unlabelled what looks like the name of somebody whom nobody labelled.

    text (str): An essay with or without marks. table (NameTable): Names. rng (random.Random): Where chance comes from.
    worn (float), habit (float), tally (Tally | None): As `Filler` takes them.
    RETURNS (Filled | None): None for an essay with marks of another kind.
    """
    parts = to_parts(text, rng)
    if not parts:
        return None
    filler = Filler(table, rng, worn=worn, habit=habit, tally=tally)
    filled = filler.wear_prose(filler.fill(parts))
    unlabelled = tuple(
        match.span()
        for match in _TITLE_PAIR.finditer(filled.text)
        if table.is_given(match[1])
        and table.is_surname(match[2])
        and not any(s < match.end() and e > match.start() for s, e, _ in filled.spans)
    )
    return Filled(filled.text, filled.spans, unlabelled)


def slots_in_llm_text(text: str) -> str:
    """RETURNS (str): Text in which `<personal_name>` and its like have become the marks of this module; others make it unusable."""
    return text.replace("<personal_name>", "STUDENT_NAME").replace("<personal_url>", "PERSONAL_URL_HERE")
