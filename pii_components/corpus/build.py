"""From essays with slots to DocBins: `pii-edu corpus build assets --out corpus`.

The essays that ship are always used; PERSUADE and other carriers in assets/persuade/ and real CRAPII in assets/crapii/ where the user
has put them. A template, a carrier or a fragment is in one of train, dev and test only, by a hash of its id: no essay is scored on
another filling of itself.
"""

import argparse
import csv
import gzip
import hashlib
import json
import logging
import os
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..errors import Errors, PiiError
from ..files.record import reason_of
from ..labels import DETAIL_LABELS, EDUCATION, INDIRECT_LABELS, LOCATION, NAME_CONNECTED, NAME_STUDENT, USERNAME, is_name
from ..names.table import NameTable, name_table
from ..ner.loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY
from .noise import Wardrobe, Worn, native_sentence
from .people import Person, invent_person
from .split import CRAPII_DOCUMENTS, paper_split
from .templates import Part, Slot, Template, read_fragments, read_templates

# Are the user's own files what they should be? `pii-edu corpus assets`, and the first step of `weasel run corpus`.

TABLE, LOCK = "checksums.toml", "checksums.lock.json"
# Folders for the user's files; the rest of assets/ is in the repository.
FOLDERS = ("encoder", "persuade", "crapii", "peers", "tscc", "user")
OK, WRONG, RECORDED, NEW, ABSENT = "ok", "wrong", "as recorded", "not recorded", "not there"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """One file.

    path (str): In the assets folder. state (str): One of `OK`, `WRONG`, `RECORDED`, `NEW`, `ABSENT`.
    sha256 (str): Of the bytes; empty if the file is not there. reason (str): What is wrong.
    """

    path: str
    state: str
    sha256: str = ""
    reason: str = ""


def verify_assets(assets: Path, *, record: bool = False) -> list[Checked]:
    """Check every file that the table names and every other one in the user's folders.

    assets (Path): The folder. record (bool): Write the checksums of files that have no published one into the lock file.
    RETURNS (list[Checked]): Sorted by path.
    RAISES (PiiError): E610 for a table or lock file that cannot be read; E501 for a file that cannot.
    """
    known = {entry["path"]: entry for entry in _read_toml(assets / TABLE).get("file", [])}
    lock = _read_lock(assets / LOCK)
    present = set(_user_files(assets))
    checked = [
        _check(assets, path, known.get(path, {}), lock) if path in present else Checked(path, ABSENT)
        for path in sorted(present | set(known))
    ]
    if record:
        for item in checked:
            if item.state == NEW:
                lock[item.path] = item.sha256
        part = assets / f"{LOCK}.part"
        part.write_text(json.dumps(lock, indent=1, sort_keys=True) + "\n", "utf8")
        os.replace(part, assets / LOCK)
    return checked


def sha256_of(path: Path) -> str:
    """RETURNS (str): SHA-256 of a file, in hexadecimal digits; it is read in blocks. RAISES (PiiError): E501."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    return digest.hexdigest()


def _user_files(assets: Path) -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((assets / folder).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                yield path.relative_to(assets).as_posix()


def _check(assets: Path, path: str, entry: dict[str, Any], lock: dict[str, str]) -> Checked:
    found = sha256_of(assets / path)
    wanted = entry.get("sha256") or lock.get(path)
    if wanted and wanted != found:
        return Checked(
            path, WRONG, found, "the checksum is another one" if entry.get("sha256") else "it has changed since it was recorded"
        )
    for key in ("records", "lines"):
        if key in entry and (n := _count(assets / path, key)) != entry[key]:
            return Checked(path, WRONG, found, f"{n:,} {key} in place of {entry[key]:,}")
    return Checked(path, (OK if entry else RECORDED) if wanted or entry else NEW, found)


def _count(path: Path, what: str) -> int:
    if what == "lines":
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    from ..files.json_text import open_json

    source = open_json(path, text_field="tokens")
    return sum(1 for _ in source.objects())


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E610, path=path.name, reason=reason_of(err)) from err


def _read_lock(path: Path) -> dict[str, str]:
    try:
        lock = json.loads(path.read_text("utf8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E610, path=path.name, reason=reason_of(err)) from err
    if not isinstance(lock, dict) or not all(isinstance(value, str) for value in lock.values()):
        raise PiiError(Errors.E610, path=path.name, reason="it is no table of checksums")
    return lock


# Fill the slots of essays with invented people: one essay, many training documents, exact labels.

Offsets = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Filled:
    """Text with labelled spans.

    text (str): The text. spans (tuple[Offsets, ...]): `(start, end, label)` in characters, end exclusive, sorted.
    unlabelled (tuple[tuple[int, int], ...]): Stretches that nobody has labelled.
    annotated (Mapping[str, Sequence[str]]): The labels that somebody looked for, and which of ours each may be (ner_loss.py); empty for
        all.
    """

    text: str
    spans: tuple[Offsets, ...] = ()
    unlabelled: tuple[tuple[int, int], ...] = ()
    annotated: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def direct(self) -> bool:
        """RETURNS (bool): Whether there is a name or a direct identifier in it."""
        return any(label not in INDIRECT_LABELS for _, _, label in self.spans)

    def __add__(self, other: "Filled") -> "Filled":
        shift = len(self.text)
        return Filled(
            self.text + other.text,
            self.spans + tuple((s + shift, e + shift, label) for s, e, label in other.spans),
            self.unlabelled + tuple((s + shift, e + shift) for s, e in other.unlabelled),
            self.annotated or other.annotated,
        )

    def cut(self, start: int, end: int) -> "Filled":
        """RETURNS (Filled): Characters start to end; spans that the cut would split are left unlabelled."""
        spans, rest = [], [u for u in self.unlabelled if u[1] > start and u[0] < end]
        for s, e, label in self.spans:
            if s >= start and e <= end:
                spans.append((s - start, e - start, label))
            elif e > start and s < end:
                rest.append((s, e))
        clipped = tuple((max(s, start) - start, min(e, end) - start) for s, e in sorted(rest))
        return Filled(self.text[start:end], tuple(spans), clipped, self.annotated)


# Share of the cited authors who have the surname of the student: the name alone does not tell the two apart.
_SAME_SURNAME = 0.05


class Tally:
    """How often each label, role, form, region and the like was filled in.

    counts (dict[str, Counter[str]]): Kind ("label", "region") -> value -> times.
    """

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}

    def add(self, kind: str, value: str, times: int = 1) -> None:
        """Count.

        kind (str): What is counted. value (str): Its value. times (int): How often.
        """
        self.counts.setdefault(kind, Counter())[value] += times

    def update(self, other: "Tally") -> None:
        """Add the counts of another one."""
        for kind, found in other.counts.items():
            self.counts.setdefault(kind, Counter()).update(found)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """RETURNS (dict[str, dict[str, int]]): Sorted by kind, most frequent value first."""
        return {
            kind: dict(sorted(found.items(), key=lambda kv: (-kv[1], kv[0]))) for kind, found in sorted(self.counts.items())
        }


class Filler:
    """Fills slots; one person per `who`, as long as the filler lives.

    table (NameTable): Where names come from. rng (random.Random): Where chance comes from.
    genders (Mapping[str, str]): "m", "f" or "x" per person.
    worn (float): Share of the mentions and details that are worn by themselves, 0 to 1 (`wear.wear`).
    habit (float): Probability that all names of the text are worn in one way, 0 to 1 (`habits.Wardrobe`).
    tally (Tally | None): Counts what is filled in, for the report.
    """

    def __init__(
        self,
        table: NameTable,
        rng: random.Random,
        *,
        genders: Mapping[str, str] | None = None,
        worn: float = 0.0,
        habit: float = 0.0,
        tally: Tally | None = None,
    ) -> None:
        self.table = table
        self.rng = rng
        self.genders = dict(genders or {})
        self.tally = tally if tally is not None else Tally()
        self.people: dict[str, Person] = {}
        # A student who writes a name in lower case does so each time; CRAPII's 4,393 of 4,394 Title Case names teach none of this.
        self.style = rng.choices(("", "upper", "lower"), (0.86, 0.08, 0.06))[0]
        # To train on, the case must not tell the student: there it is one of the habits, which everybody in the text shares.
        self.style = "" if worn or habit else self.style
        self.wardrobe = Wardrobe(rng, worn=worn, habit=habit)
        if habit:
            self.tally.add("habit", self.wardrobe.habit or "none")

    def person(self, who: str) -> Person:
        """RETURNS (Person): The person of a slot; two people share no name, but an author at times has the student's surname."""
        if who not in self.people:
            taken = frozenset(part for p in self.people.values() for part in (p.first, p.last))
            student = self.people.get("student")
            shared = ""
            if who.startswith("cited") and student is not None and self.rng.random() < _SAME_SURNAME:
                shared = student.last
                self.tally.add("hard negative", "author with the student's surname")
            person = invent_person(self.rng, self.table, gender=self.genders.get(who, "x"), avoid=taken, surname=shared)
            self.people[who] = person
            self.tally.add("region", person.region)
        return self.people[who]

    def fill(self, parts: Iterable[Part]) -> Filled:
        """Fill parts in order.

        parts (Iterable[Part]): Text and slots.
        RETURNS (Filled): Text with a span for each slot.
        """
        text, spans = "", []
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            worn = self._value(part)
            self.tally.add("label", part.label)
            if part.role and is_name(part.label):
                self.tally.add("role", part.role)
            self.tally.add("form", f"{part.what} {part.case}".strip())
            start = len(text) + len(worn.before)
            spans.append((start, start + len(worn.text), part.label))
            text += worn.before + worn.text + worn.after
        return Filled(text, tuple(spans))

    def wear_prose(self, filled: Filled) -> Filled:
        """RETURNS (Filled): The text, words between spans worn as the names are (`Wardrobe.wear_prose`). filled (Filled): The text."""
        return map_text(filled, self.wardrobe.wear_prose) if self.wardrobe.habit else filled

    def _value(self, slot: Slot) -> Worn:
        value = slot.text if slot.what == "literal" else self._detail(slot)
        worn = self.wardrobe.wear(value, slot)
        if worn.kind:
            self.tally.add("wear", f"{'name' if is_name(slot.label) else slot.label}: {worn.kind}")
            if slot.role:
                self.tally.add("worn role", slot.role)
        return worn

    def _detail(self, slot: Slot) -> str:
        if slot.role == "STUDENT" and not slot.case and is_name(slot.label) and self.style and self.rng.random() < 0.8:
            slot = replace(slot, case=self.style)
        person = self.person(slot.who)
        value = person.render(slot, self.rng)
        if slot.what in ("email", "username", "url"):
            self.tally.add("linked to the name", f"{slot.what}: {'yes' if person.is_linked(slot.what) else 'no'}")
        return value


def map_text(filled: Filled, change: Callable[[str], str]) -> Filled:
    """Change text outside spans, piece by piece, and keep the offsets right.

    filled (Filled): Text with spans. change (Callable[[str], str]): From a piece of text between spans to a new one.
    RETURNS (Filled): The spans' own text stays as it is; without `unlabelled` stretches only, since those cannot be followed.
    """
    if filled.unlabelled:
        return filled
    text, spans, at = "", [], 0
    for start, end, label in filled.spans:
        text += change(filled.text[at:start])
        spans.append((len(text), len(text) + end - start, label))
        text += filled.text[start:end]
        at = end
    return Filled(text + change(filled.text[at:]), tuple(spans))


def _run_together(piece: str) -> str:
    return re.sub(r"(?<=[a-z][.,;])[ ](?=[A-Z])", "", piece)


def _flatten_lines(piece: str) -> str:
    return re.sub(r"[ \t]*\n+[ \t]*", "  ", piece)


def _double_lines(piece: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", "\n\n", piece)


def roughen(filled: Filled, rng: random.Random) -> Filled:
    """What student files look like: one of several kinds of wear, or none.

    filled (Filled): Clean text. rng (random.Random): Where chance comes from.
    RETURNS (Filled): Text with the same spans, which may be in another case.
    """
    kind = rng.choices(
        ("none", "run together", "flat", "double lines", "lower", "upper", "no stops", "wide", "curly"),
        (39, 8, 13, 22, 5, 2, 3, 2, 6),
    )[0]
    if kind == "run together":
        return map_text(filled, _run_together)
    if kind == "flat":
        return map_text(filled, _flatten_lines)
    if kind == "double lines":
        return map_text(filled, _double_lines)
    if kind in ("lower", "upper"):
        text = filled.text.lower() if kind == "lower" else filled.text.upper()
        return replace(filled, text=text) if len(text) == len(filled.text) else filled
    if kind == "no stops":
        return map_text(filled, lambda piece: re.sub(r"[.,](?=\s)", "", piece))
    if kind == "wide":  # what is left of justified text in a word processor's file
        return map_text(filled, lambda piece: piece.replace(" ", "\t\r \u00a0"))
    if kind == "curly":
        return map_text(filled, lambda piece: piece.replace("'", "\u2019").replace(' "', " \u201c").replace('"', "\u201d"))
    return filled


_BREAKS = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z\"'(])")


def crop(filled: Filled, rng: random.Random, *, least: int = 350, most: int = 1050) -> list[Filled]:
    """Cut a text into stretches that end at a line or sentence.

    filled (Filled): The text. rng (random.Random): Where chance comes from.
    least, most (int): Characters in a stretch; the last one may be shorter.
    RETURNS (list[Filled]): The stretches, in order; together the whole text.
    """
    stops = [m.end() for m in _BREAKS.finditer(filled.text)]
    pieces, start = [], 0
    while start < len(filled.text):
        want = start + rng.randint(least, most)
        fitting = [s for s in stops if start + least // 2 < s <= want]
        end = len(filled.text) if len(filled.text) <= want + 150 else fitting[-1] if fitting else min(want, len(filled.text))
        pieces.append(filled.cut(start, end))
        start = end
    return pieces


def insert(filled: Filled, addition: Filled, at: int, *, before: str = "", after: str = "") -> Filled:
    """RETURNS (Filled): The text with an addition set in at character `at`, between two strings."""
    head, tail = filled.cut(0, at), filled.cut(at, len(filled.text))
    return head + Filled(before) + addition + Filled(after) + tail


def paragraph_ends(filled: Filled) -> Sequence[int]:
    """RETURNS (Sequence[int]): Where a sentence ends outside a span, so that something can be set in after it."""
    inside = [(s, e) for s, e, _ in filled.spans]
    return [
        m.start() + 1 for m in re.finditer(r"[.!?](?=\s)", filled.text) if not any(s < m.start() + 1 < e for s, e in inside)
    ]


# PERSUADE and other essays whose publishers put marks where names were: real writing, invented people.

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


# Hard negatives with another value each time: numbers that are no IDs, public addresses, months, towns and firms that are

# "¤" is a digit from 1 to 9, "#" any digit.
_NUMBERS = (
    "The ISBN on the back cover is 978-¤-##-######-#.", "See doi:10.¤###/j.¤##.2019.##.0##.", "The ISSN of the journal is ¤###-####.",
    "That makes ¤#,### out of ¤##,### households.", "In the years 20##-20## it went down by ¤#.# %.", "We paid $¤,###.## for it in the end.",
    "Course code ¤### is full this term.", "The experiment ran for ¤####.## seconds.", "Room ¤## was locked again.",
    "I measured ¤.###, ¤.### and ¤.###.",
    "The part number of the bearing is ¤###-2RS.", "The bus is the ¤##, and it leaves at 07:##.", "It has ¤#,###,### inhabitants.",
    "Our sample was n = ¤##, with p = .0##.", "The result is ¤##########, which is prime.", "Section ¤#.#.# of the standard says so.",
    "The game ended ¤#-## after overtime.", "The recipe wants ¤## g of flour and ## ml of water.", "ISO ¤#### does not help here.",
    "Take highway ¤## to exit ##B.", "The model is the T-¤### from 2014.", "The case is reported at ¤## U.S. ###.",
    "Its catalogue number is NGC ¤###.",
    "arXiv:2¤0#.0#### was the first to say it.", "The comet comes back in 20## or 20##.", "The zip file is ¤##.# MB.", "It was version ¤.#.##.",
    "The invoice for the chairs was number 20##-0###.", "The gene lies at position ¤##,###,### of chromosome 7.", "Line ¤## throws error ¤###.",
)  # fmt: skip
_LINES = (
    "The crisis line, 1-800-###-####, is printed on the poster.", "Call the library desk on 555-01## to renew.",
    "The helpline 0800 ### #### is free.",
    "Write to admissions@college-example.edu for the form.", "The survey was at https://survey.example.org/f/¤###.",
    "The data are at https://data.example.gov/sets/¤####.csv.", "More on www.example-museum.org/visit.", "Questions go to support@example.com.",
    "The clinic's switchboard is (555) 01#-##00.",
)  # fmt: skip
_WORDS = (
    "It rained from {month} to {month2} in {city}.", "In {month} {city} is full of students.", "We took the train from {city} to {city2}.",
    "{brand} and {brand2} sell the same thing in another box.", "I bought it at {brand} in {city}.", "The {brand} logo is red.",
    "The class met on {place}, near {place2}.", "Last {month} the price of a {brand} went up.", "{city} has a museum on {place}.",
    "{virtue} is not a plan, and {virtue2} is not one either.", "A {brand} was parked on {place}.", "They closed the {brand} shop in {month}.",
)  # fmt: skip
_FILL = {
    "month": ("April", "May", "June", "August", "January", "March"),
    "city": (
        "Florence", "Charlotte", "Madison", "Austin", "Sydney", "Victoria", "Jackson", "Lincoln", "Houston", "Santiago", "San Jose", "Orlando",
        "Phoenix", "Paris", "Chelsea", "Adelaide", "Savannah", "Dallas", "Carson City", "Salvador", "Alexandria", "Regina", "Georgetown",
    ),
    "brand": (
        "Wendy's", "Ford", "Mercedes", "Dell", "Ben & Jerry's", "Tim Hortons", "Lidl", "Philips", "Siemens", "Johnson & Johnson", "Kellogg's",
        "Levi's", "Adidas", "Macy's", "Trader Joe's", "Heinz", "Hershey", "Procter & Gamble", "Papa John's", "Dr. Pepper", "Mary Kay",
    ),
    "place": (
        "Franklin Street", "Martin Luther King Boulevard", "Lincoln Avenue", "St. James Park", "Victoria Station", "Washington Square",
        "Jefferson Hall", "Roosevelt Road", "Marie Curie Street", "King Charles Bridge", "Simon Bolivar Square", "Kennedy Airport",
    ),
    "virtue": ("Hope", "Grace", "Faith", "Patience", "Charity", "Joy", "Prudence", "Honor"),
}  # fmt: skip


def _digits(text: str, rng: random.Random) -> str:
    kinds = {"¤": "123456789", "#": "0123456789"}
    return "".join(rng.choice(kinds[ch]) if ch in kinds else ch for ch in text)


def hard_negative(rng: random.Random) -> tuple[str, str]:
    """A sentence that holds nothing to protect and looks as if it did.

    rng (random.Random): Where chance comes from.
    RETURNS (tuple[str, str]): The sentence, and its kind: "number", "public contact" or "word that is a name".
    """
    kind = rng.choices(("number", "public contact", "word that is a name"), (5, 2, 4))[0]
    if kind == "number":
        return _digits(rng.choice(_NUMBERS), rng), kind
    if kind == "public contact":
        return _digits(rng.choice(_LINES), rng), kind
    values = {}
    for key, options in _FILL.items():
        values[key], values[f"{key}2"] = rng.sample(options, 2)
    return rng.choice(_WORDS).format(**values), kind


logger = logging.getLogger(__name__)

Blocks = dict[str, list[tuple[Part, ...]]]
Change = Callable[[Filled, random.Random], Filled]
SPLITS = ("train", "dev", "test")
# What may be set into an essay, and how often (share of the documents). Two thirds of what results holds no student's name: real
# essays hold one in 15 of 100, and a detector that expects one in each sees one in each.
_INSIDE = {"selfintro": 0.12, "connected": 0.18, "cited": 0.15, "characters": 0.08, "negatives": 0.20, "contacts": 0.13}
_HARD_NEGATIVE = 0.2
_NATIVE_WORDS = 0.06
# What CRAPII's annotators marked (seeds/crapii_paper.txt, 2.2): of people's names the students' only, classmates' among them. An author's
# name there is not outside of everything, it is only no student's.
CRAPII_ANNOTATED = {NAME_STUDENT: [NAME_STUDENT, NAME_CONNECTED], **{label: [label] for label in DETAIL_LABELS}}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much of what goes into a split.

    fillings (int): Times that each essay of ours is filled. clean_share (float): Share of the stretches without labels that is kept.
    carriers (int): Carriers with marks at most. clean_carriers (int): Carriers without marks at most.
    whole (bool): Whole texts, neither roughened nor cut: for dev and test.
    cut (bool): Whether texts that are roughened are cut into stretches, too.
    worn (float): Share of the mentions and details that are worn by themselves (`wear.wear`).
    habit (float): Share of the texts in which all names are worn in one way (`habits.Wardrobe`).
    """

    fillings: int
    clean_share: float
    carriers: int
    clean_carriers: int
    whole: bool = False
    cut: bool = True
    worn: float = 0.0
    habit: float = 0.0


RECIPES = {
    "train": Recipe(fillings=6, clean_share=0.45, carriers=1000, clean_carriers=2500, worn=0.05, habit=0.17),
    "dev": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
    "test": Recipe(fillings=2, clean_share=1.0, carriers=40, clean_carriers=40, whole=True),
}
# The dev essays worn: people whom the classifier of `pii_context` shall know in every script, case and layout.
WORN = "dev_worn"
WORN_RECIPE = Recipe(fillings=2, clean_share=1.0, carriers=0, clean_carriers=0, cut=False, worn=0.08, habit=0.75)


def split_of(key: str) -> str:
    """RETURNS (str): "train" (80 %), "dev" (10 %) or "test" (10 %), by SHA-256 of the key."""
    n = int.from_bytes(hashlib.sha256(key.encode("utf8")).digest()[:4], "big") % 10
    return {0: "dev", 1: "test"}.get(n, "train")


def rng_for(seed: int, *parts: object) -> random.Random:
    """RETURNS (random.Random): Determined by the seed and the parts, not by the order of calls or the process."""
    text = "|".join(map(str, (seed, *parts)))
    return random.Random(hashlib.sha256(text.encode("utf8")).digest())


def dress(filled: Filled, filler: Filler, blocks: Blocks, rng: random.Random, *, header: float) -> Filled:
    """Put a head on a text, a sign-off under it, and sentences of other kinds into it.

    filled (Filled): A text. filler (Filler): Fills the fragments, with the people of the text. blocks (Blocks): Fragments by kind.
    rng (random.Random): Where chance comes from. header (float): Probability of a head with the student's name.
    RETURNS (Filled): The text with what was added.
    """
    for kind, share in _INSIDE.items():
        stops = paragraph_ends(filled)
        if stops and blocks.get(kind) and rng.random() < share:
            addition = filler.fill(rng.choice(blocks[kind]))
            gap = "\n\n" if "\n" in addition.text else rng.choice((" ", " ", "\n\n", "\n"))
            filled = insert(filled, addition, rng.choice(stops), before=gap, after="\n" if "\n" in gap else "")
            filler.tally.add("set in", kind)
    if (stops := paragraph_ends(filled)) and rng.random() < _HARD_NEGATIVE:
        sentence, kind = hard_negative(rng)
        filled = insert(filled, Filled(sentence), rng.choice(stops), before=rng.choice((" ", " ", "\n")))
        filler.tally.add("hard negative", kind)
    draw = rng.random()
    if draw < header and blocks.get("headers"):
        joint = rng.choice(("\n", "\n", "\n\n", "\n\n", "\n\n\n", "  ", " \n"))
        filled = filler.fill(rng.choice(blocks["headers"])) + Filled(joint) + filled
        filler.tally.add("set in", "headers")
    elif draw < header + 0.3 and blocks.get("headers_clean"):
        filled = filler.fill(rng.choice(blocks["headers_clean"])) + Filled(rng.choice(("\n", "\n\n", "  "))) + filled
    if rng.random() < header / 4 and blocks.get("signoffs"):
        filled = filled + Filled(rng.choice(("\n\n", "\n"))) + filler.fill(rng.choice(blocks["signoffs"]))
        filler.tally.add("set in", "signoffs")
    return filled


def _native_words(filled: Filled, filler: Filler, recipe: Recipe) -> Filled:
    """A word of another script that is no name, set in here and there to train on; a detector that never saw one takes each for a name."""
    stops = paragraph_ends(filled) if recipe.habit and filler.rng.random() < _NATIVE_WORDS else ()
    if not stops:
        return filled
    filler.tally.add("hard negative", "word of another script")
    return insert(filled, Filled(native_sentence(filler.rng)), filler.rng.choice(stops), before=" ")


def _pieces(filled: Filled, rng: random.Random, recipe: Recipe, change: Change | None = None) -> Iterator[Filled]:
    if recipe.whole:
        yield filled
        return
    rough = roughen(filled, rng)
    if change is not None:
        rough = change(rough, rng)
    for piece in crop(rough, rng) if recipe.cut else (rough,):
        if piece.text.strip() and (piece.direct or rng.random() < recipe.clean_share):
            yield piece


def from_essays(
    templates: Iterable[Template],
    blocks: Blocks,
    recipe: Recipe,
    table: NameTable,
    seed: int,
    tally: Tally | None = None,
    change: Change | None = None,
) -> Iterator[Filled]:
    """YIELDS (Filled): Our own essays, each filled several times; an essay that names its writer gets no other head."""
    for template in templates:
        named = any(slot.who.startswith("student") for slot in template.slots)
        # Each essay is worn as often as every other: by lot, essays with a crowd of one role would teach that wear goes with that role.
        turn = 1.0 / recipe.habit if recipe.habit else 0.0
        first = rng_for(seed, template.id, "habit").random() * turn
        worn_turns = {int(first + turn * i) for i in range(recipe.fillings)} if turn else set()
        for n in range(recipe.fillings):
            rng = rng_for(seed, template.id, n)
            habit = float(n in worn_turns) if recipe.fillings >= turn else recipe.habit
            filler = Filler(table, rng, genders=template.genders, worn=recipe.worn, habit=habit, tally=tally)
            filled = filler.fill(template.parts)
            if n or not recipe.whole:
                filled = dress(filled, filler, blocks, rng, header=0.08 if named else 0.35)
            filled = _native_words(filler.wear_prose(filled), filler, recipe)
            yield from _pieces(filled, rng, recipe, change)


def from_carriers(
    path: Path, split: str, blocks: Blocks, recipe: Recipe, table: NameTable, seed: int, tally: Tally | None = None
) -> Iterator[Filled]:
    """YIELDS (Filled): Essays of a JSONL file, marks filled; those without marks with something set into them."""
    left = {True: recipe.carriers, False: recipe.clean_carriers}
    model_written = "llm" in path.name  # few, but on the very assignment: filled twice
    rows = list(enumerate(iter_persuade(path)))
    for n, (key, text) in rows * (2 if model_written and not recipe.whole else 1):
        if split_of(f"{path.name}|{key}|{n}") != split or not any(left.values()):
            continue
        rng = rng_for(seed, path.name, key, n, *left.values())
        counts = Tally()
        filled = fill_carrier(slots_in_llm_text(text), table, rng, worn=recipe.worn, habit=recipe.habit, tally=counts)
        if filled is None or not left[filled.direct]:
            continue
        left[filled.direct] -= 1
        if tally is not None:
            tally.update(counts)
        if not filled.direct or model_written:
            if not recipe.whole and not model_written:
                # One stretch of each, so that the budget goes to many writers.
                filled = rng.choice(crop(filled, rng, least=500, most=1050)[:4])
            filler = Filler(table, rng, worn=recipe.worn, habit=recipe.habit, tally=tally)
            filled = dress(filled, filler, blocks, rng, header=0.45 if model_written else 0.2)
            filled = _native_words(filler.wear_prose(filled), filler, recipe)
        yield from _pieces(filled, rng, recipe)


def from_crapii(path: Path, split: str) -> Iterator[Filled]:
    """YIELDS (Filled): Real labelled essays in CRAPII's JSON or JSONL form, whole, in the part where the JEDM paper has them."""
    from ..files.labelled import read_labelled

    for text in read_labelled(path):
        if crapii_split(text.id) == split:
            yield Filled(text.text, tuple(text.spans), tuple(text.masked), CRAPII_ANNOTATED)


def crapii_split(document: str) -> str:
    """The part of the corpus in which a CRAPII essay belongs.

    document (str): Its number in CRAPII.
    RETURNS (str): "train" for the paper's base train, "dev" for its verifier train, "test" for its test and for an essay without such a
        number: nobody knows that it is not of the test part.
    """
    parts = {"base_train": "train", "verifier_train": "dev"}
    known = document.isdecimal() and int(document) < CRAPII_DOCUMENTS
    return parts.get(_paper_parts()[int(document)], "test") if known else "test"


@cache
def _paper_parts() -> dict[int, str]:
    return {number: part for part, numbers in paper_split(CRAPII_DOCUMENTS).items() for number in numbers}


def to_doc(nlp: Language, filled: Filled) -> Doc:
    """RETURNS (Doc): Tokens and `doc.spans`; a span that does not lie on token boundaries is masked: it goes to the unlabelled ones."""
    doc = nlp.make_doc(filled.text)
    spans: list[Span] = []
    masked = list(filled.unlabelled)
    for start, end, label in filled.spans:
        span = doc.char_span(start, end, label=label)
        if span is None and label == USERNAME and filled.text[start - 1 : start] == "@":
            span = doc.char_span(start - 1, end, label=label)  # "@ana_l" is one token
        if span is None or (spans and spans[-1].end > span.start):
            masked.append((start, end))
        else:
            spans.append(span)
    doc.spans[SPANS_KEY] = spans
    if filled.annotated:
        doc.spans[SPANS_KEY].attrs[ANNOTATED] = dict(filled.annotated)
    rest = (doc.char_span(s, e, label="UNLABELLED", alignment_mode="expand") for s, e in sorted(masked))
    doc.spans[UNLABELLED_KEY] = [span for span in rest if span is not None]
    return doc


Counts = dict[str, dict[str, int]]


def build_corpus(
    assets: Path,
    out: Path,
    *,
    seed: int = 46,
    scale: float = 1.0,
    uncut: bool = False,
    crapii: bool = True,
    scenes: bool = True,
    carriers: float = 1.0,
    change: Change | None = None,
) -> tuple[Counts, dict[str, Counts]]:
    """Write train, dev and test as DocBins, `stats.json` and `distribution.json`: how often each label, role, form and region was filled in.

    assets (Path): Folder with essays/ and fragments/, and the user's own persuade/ and crapii/.
    out (Path): Folder for the .spacy files.
    seed (int): Of every choice. scale (float): Share of the carriers and of the fillings, above 0.
    uncut (bool): Whole texts to train on, not stretches of them: slower by the token, and what tells a role often stands far from the name.
        With them goes dev_worn.spacy, the dev essays with names that are worn.
    crapii (bool): Whether what lies in crapii/ goes in; False where those essays are to be held out later.
    scenes (bool): Whether short texts go in, of which nearly every sentence names somebody.
    carriers (float): Times as many carriers in train: a detector that sees few texts without people sees people everywhere.
    change (Callable[[Filled, random.Random], Filled] | None): Done to each filled essay of train and dev_worn, never of dev and test.
    RETURNS (tuple[Counts, dict[str, Counts]]): Per split: documents, tokens, documents without spans, spans that were masked since they
        do not lie on token boundaries, spans per label; and per split what was filled in, by kind and value (`synthesis.Tally`).
    RAISES (PiiError): E603, if there are no essays.
    """
    templates, fragments = read_templates(assets, scenes=scenes), read_fragments(assets)
    if not templates:
        raise PiiError(Errors.E603, path=str(assets))
    table = name_table()
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    out.mkdir(parents=True, exist_ok=True)
    stats, distribution = {}, {}
    for split in SPLITS:
        base, tally = RECIPES[split], Tally()
        of_carriers = scale * (carriers if split == "train" else 1.0)
        recipe = replace(
            base,
            fillings=max(1, round(base.fillings * scale)),
            carriers=round(base.carriers * of_carriers),
            clean_carriers=round(base.clean_carriers * of_carriers),
            cut=not uncut,
        )
        blocks = {
            kind: [block for n, block in enumerate(found) if split_of(f"{kind}|{n}") == split]
            for kind, found in fragments.items()
        }
        mine = [t for t in templates if split_of(t.id) == split]
        sources: list[Iterator[Filled]] = [from_essays(mine, blocks, recipe, table, seed, tally, change)]
        for path in sorted((assets / "persuade").glob("*.jsonl*")):
            sources.append(from_carriers(path, split, blocks, recipe, table, seed, tally))
        for path in sorted((assets / "crapii").glob("*.json*")) if crapii else ():
            sources.append(from_crapii(path, split))
        texts = [filled for source in sources for filled in source]
        docs = [to_doc(nlp, filled) for filled in texts]
        rng_for(seed, split).shuffle(docs)
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{split}.spacy")
        labels = Counter(span.label_ for doc in docs for span in doc.spans[SPANS_KEY])
        stats[split] = {
            "documents": len(docs),
            "tokens": sum(map(len, docs)),
            "without_spans": sum(not doc.spans[SPANS_KEY] for doc in docs),
            "masked": sum(len(f.spans) - len(doc.spans[SPANS_KEY]) for f, doc in zip(texts, docs, strict=True)),
            **dict(sorted(labels.items())),
        }
        distribution[split] = tally.to_dict()
        logger.info("%s: %s", split, stats[split])
    if uncut:
        mine = [t for t in templates if split_of(t.id) == "dev"]
        blocks = {
            kind: [b for n, b in enumerate(found) if split_of(f"{kind}|{n}") == "dev"] for kind, found in fragments.items()
        }
        worn = [to_doc(nlp, filled) for filled in from_essays(mine, blocks, WORN_RECIPE, table, seed + 1, change=change)]
        DocBin(docs=worn, store_user_data=False).to_disk(out / f"{WORN}.spacy")
    (out / "stats.json").write_text(json.dumps(stats, indent=1) + "\n", "utf8")
    (out / "distribution.json").write_text(json.dumps(distribution, indent=1) + "\n", "utf8")
    return stats, distribution


# Twenty essays with invented people, to try the command line on: `python -m pii_components.corpus.build --out assets/sam


def choose(templates: list[Template], number: int) -> list[Template]:
    """Essays that together hold as many kinds of slots as possible.

    templates (list[Template]): To choose from. number (int): How many.
    RETURNS (list[Template]): Sorted by id.
    """
    seen: set[str] = set()
    chosen: list[Template] = []
    left = list(templates)
    while left and len(chosen) < number:
        best = max(left, key=lambda t: (len({s.label for s in t.slots} - seen), len({s.label for s in t.slots}), t.id))
        seen |= {s.label for s in best.slots}
        chosen.append(best)
        left.remove(best)
    return sorted(chosen, key=lambda t: t.id)


def fill_sample(assets: Path, *, number: int = 20, seed: int = 46) -> list[tuple[str, Filled]]:
    """RETURNS (list[tuple[str, Filled]]): Id and filled text of `number` essays that are not in the training part."""
    unseen = [t for t in read_templates(assets) if split_of(t.id) != "train"]
    table = name_table()
    filled = []
    for template in choose(unseen, number):
        filler = Filler(table, rng_for(seed, "sample", template.id), genders=template.genders)
        filled.append((template.id, filler.fill(template.parts)))
    return filled


def write_sample(assets: Path, out: Path, *, number: int = 20, seed: int = 46) -> None:
    """Write `essays.csv` and `gold.jsonl`.

    assets (Path): Folder with essays/. out (Path): Folder to write to. number (int), seed (int): See `fill_sample`.
    """
    out.mkdir(parents=True, exist_ok=True)
    sample = fill_sample(assets, number=number, seed=seed)
    with (out / "essays.csv").open("w", encoding="utf8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("id", "course", "text"))
        writer.writerows((key, f"C{n % 3 + 1}", filled.text) for n, (key, filled) in enumerate(sample))
    with (out / "gold.jsonl").open("w", encoding="utf8") as stream:
        for key, filled in sample:
            stream.write(json.dumps({"id": key, "spans": filled.spans}) + "\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Write a CSV of filled essays and what is planted in them.")
    parser.add_argument("--assets", type=Path, default=Path("assets"))
    parser.add_argument("--out", type=Path, default=Path("assets/samples"))
    parser.add_argument("--number", type=int, default=20)
    args = parser.parse_args()
    write_sample(args.assets, args.out, number=args.number)


if __name__ == "__main__":
    main()
