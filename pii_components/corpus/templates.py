"""Essays with slots: `{{student.full}}`, `{{CITED=Jean Piaget}}` (assets/ESSAY_FORMAT.md).

>>> from pii_components.corpus.templates import parse_parts
>>> parse_parts("Hi, {{friend2.first|upper}}!")
('Hi, ', Slot(who='friend2', what='first', case='upper', text=''), '!')
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from .. import labels
from ..errors import Errors, PiiError
from ..files.record import reason_of
from ..labels import INDIRECT_LABELS, LABELS, ROLES, label_for_role

WHO_ROLES = {
    "student": labels.STUDENT,
    "instructor": labels.INSTRUCTOR,
    "friend": labels.CONNECTED,
    "cited": labels.CITED,
    "character": labels.CHARACTER,
}
NAME_FORMS = (
    "full",
    "first",
    "last",
    "initial_last",
    "first_initial",
    "middle",
    "last_first",
    "last_initial",
    "initials",
    "nick",
    "under",
    "reverse",
)
DETAILS = {
    "email": labels.EMAIL,
    "username": labels.USERNAME,
    "url": labels.URL_PERSONAL,
    "id": labels.ID_NUM,
    "phone": labels.PHONE_NUM,
    "address": labels.STREET_ADDRESS,
    "age": labels.AGE,
    "birthday": labels.DATE,
    "town": labels.LOCATION,
    "country": labels.LOCATION,
    "nationality": labels.LOCATION,
    "school": labels.EDUCATION,
    "employer": labels.EMPLOYER,
}
CASES = ("", "upper", "lower")
_SLOT = re.compile(
    r"\{\{(?:(?P<role>[A-Z_]+)=(?P<text>[^{}|]+)|(?P<who>[a-z]+[0-9]*)\.(?P<what>[a-z_]+)(?:\|(?P<case>[a-z]+))?)\}\}"
)
SEPARATOR = re.compile(r"^%%[ \t]*$", re.MULTILINE)
_AGE_UNIT = re.compile(
    r"[ \xa0-]{0,3}(?:(?:years?|yrs?|months?|weeks?)\b(?:[\s-]{1,3}(?:olds?|of\s{1,3}age)\b)?|y/?o\b)",
    re.I,
)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """YIELDS (dict[str, Any]): Each row of a (gzipped) JSON Lines file. RAISES (PiiError): E501."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf8") as file:
            yield from map(json.loads, file)
    except (OSError, ValueError) as err:
        raise PiiError(Errors.E501, what=f"'{path.name}'", reason=reason_of(err)) from err


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where a person's name or detail goes.

    who (str): Role word and number ("friend2"); for a literal the role itself ("CITED"), or a label ("LOCATION").
    what (str): A form of the name, a kind of detail, or "literal". case (str): "", "upper" or "lower". text (str): Of a literal.
    """

    who: str
    what: str
    case: str = ""
    text: str = ""

    @property
    def role(self) -> str:
        """RETURNS (str): The role of the person; the empty string for a literal that is no name."""
        if self.what == "literal":
            return self.who if self.who in ROLES else ""
        return WHO_ROLES[self.who.rstrip("0123456789")]

    @property
    def label(self) -> str:
        """RETURNS (str): The label of what fills the slot."""
        if self.what == "literal" and self.who not in ROLES:
            return self.who
        return DETAILS.get(self.what) or label_for_role(self.role)


Part = str | Slot


# Texts with labelled spans: what becomes of a template.

Span = tuple[int, int, str]
# A stretch of text and its label, empty for what stands between spans.
Piece = tuple[str, str]
UNLABELLED = "UNLABELLED"


@dataclass(frozen=True, slots=True)
class Filled:
    """Text with labelled spans: characters, end exclusive, sorted and apart.

    unlabelled (tuple[tuple[int, int], ...]): Stretches that nobody has labelled.
    annotated (Mapping[str, Sequence[str]]): The labels that somebody looked for, and which of ours
        each may be (ner/loss.py); empty for all.
    """

    text: str
    spans: tuple[Span, ...] = ()
    unlabelled: tuple[tuple[int, int], ...] = ()
    annotated: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def direct(self) -> bool:
        """Whether there is a name or a direct identifier in it."""
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
        """RETURNS (Filled): Characters start to end; spans that the cut would split are unlabelled."""
        spans, rest = [], [u for u in self.unlabelled if u[1] > start and u[0] < end]
        for s, e, label in self.spans:
            if s >= start and e <= end:
                spans.append((s - start, e - start, label))
            elif e > start and s < end:
                rest.append((s, e))
        clipped = tuple((max(s, start) - start, min(e, end) - start) for s, e in sorted(rest))
        return Filled(self.text[start:end], tuple(spans), clipped, self.annotated)

    def put(self, addition: "Filled", start: int, end: int | None = None) -> "Filled":
        """RETURNS (Filled): With an addition at `start`, in the place of what stands up to `end`."""
        rest = self.cut(start if end is None else end, len(self.text))
        return self.cut(0, start) + addition + rest

    def stops(self, *, at_end: bool = True) -> list[int]:
        """RETURNS (list[int]): Where a sentence has ended, outside of every span and unlabelled
        stretch.

        at_end (bool): Whether the text's own end may be one.
        """
        pattern = r"[.!?](?=\s|$)" if at_end else r"[.!?](?=\s)"
        ends = (match.end() for match in re.finditer(pattern, self.text))
        return [at for at in ends if not self.is_marked(at, at)]

    def is_marked(self, start: int, end: int) -> bool:
        """RETURNS (bool): Whether characters are in a span or an unlabelled stretch, or a place between
        two characters is (start = end)."""
        marked = [*(span[:2] for span in self.spans), *self.unlabelled]
        return any(first < end and last > start for first, last in marked)

    def pieces(self) -> list[Piece]:
        """RETURNS (list[Piece]): Prose, span, prose and so on, to the end of the text."""
        untold = [(start, end, UNLABELLED) for start, end in self.unlabelled]
        pieces, at = [], 0
        for start, end, label in sorted([*self.spans, *untold]):
            pieces += [(self.text[at:start], ""), (self.text[start:end], label)]
            at = end
        return [*pieces, (self.text[at:], "")]

    def with_pieces(self, pieces: Iterable[Piece]) -> "Filled":
        """RETURNS (Filled): A text of pieces, annotated as this one."""
        text, spans = "", []
        for piece, label in pieces:
            if label and piece:
                spans.append((len(text), len(text) + len(piece), label))
            text += piece
        untold = tuple((start, end) for start, end, label in spans if label == UNLABELLED)
        named = tuple(span for span in spans if span[2] != UNLABELLED)
        return Filled(text, named, untold, self.annotated)

    def with_units(self) -> "Filled":
        """RETURNS (Filled): Each age with the unit behind its number ("17 years old"), as one span."""
        spans = (
            (start, end_of_age(self.text, end) if label == labels.AGE else end, label)
            for start, end, label in self.spans
        )
        return replace(self, spans=tuple(spans))

    def map_prose(self, change: Callable[[str], str]) -> "Filled":
        """RETURNS (Filled): Each piece between spans changed.

        Where there are unlabelled stretches the text stays: they cannot be followed.
        """
        if self.unlabelled:
            return self
        return self.with_pieces(
            (value if label else change(value), label) for value, label in self.pieces()
        )


@dataclass(frozen=True, slots=True)
class Template:
    """An essay: text and slots in turn, and of its front matter "m", "f" or "x" per person where the text gives it away."""

    id: str
    parts: tuple[Part, ...]
    genders: dict[str, str]

    @property
    def slots(self) -> list[Slot]:
        """RETURNS (list[Slot]): The slots, in order."""
        return [part for part in self.parts if isinstance(part, Slot)]


def end_of_age(text: str, end: int) -> int:
    """RETURNS (int): Where an age ends whose number ends at `end`: behind its unit ("17 years old", "17-year-old"), if it has one."""
    return unit.end() if (unit := _AGE_UNIT.match(text, end)) else end


def parse_parts(text: str, *, where: str = "") -> tuple[Part, ...]:
    """RETURNS (tuple[Part, ...]): Text and slots in turn. RAISES (PiiError): E601, with the file `where`, for a slot not of the format."""
    parts: list[Part] = []
    at = 0
    for match in (*_SLOT.finditer(text), None):
        said = text[at : match.start() if match else None]
        if "{{" in said or "}}" in said:
            offset = at + max(said.find("{{"), said.find("}}"))
            raise PiiError(Errors.E601, where=where, problem=f"the slot at character {offset}")
        if said:
            parts.append(said)
        if match:
            parts.append(_slot(match, where))
            at = match.end()
    return tuple(parts)


def _slot(match: re.Match[str], where: str) -> Slot:
    role, literal, who, what, case = match.groups(default="")
    known = role in (*ROLES, *LABELS)
    if who:
        known = (
            who.rstrip("0123456789") in WHO_ROLES
            and what in (*NAME_FORMS, *DETAILS)
            and case in CASES
        )
    if not known:
        raise PiiError(Errors.E601, where=where, problem=f"the slot at character {match.start()}")
    return Slot(who, what, case) if who else Slot(role, "literal", "", literal)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")  # editors of Windows put a byte order mark in front
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what=f"'{path.name}'", reason=reason_of(err)) from err


def _template(text: str, where: str) -> Template:
    head, mark, body = text.partition("\n---\n")
    meta = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in head.splitlines())
    }
    if not mark or not meta.get("id"):
        raise PiiError(Errors.E601, where=where, problem="its id")
    genders = dict(
        pair.split("=", 1)
        for pair in meta.get("persons", "").replace(",", " ").split()
        if "=" in pair
    )
    return Template(meta["id"], parse_parts(body.rstrip("\n") + "\n", where=where), genders)


def read_file(path: Path) -> list[Template]:
    """RETURNS (list[Template]): The essay of a file, which has its name, as assets/ESSAY_FORMAT.md says.

    Of a file in scenes/ the short texts, each with its front matter, `%%` on a line of its own between two; every id begins with the file's
    stem and an underscore. RAISES (PiiError): E501, if the file cannot be read as UTF-8; E601 for a slot or a front matter that is
    not of the format, with the id it follows; E601 also for an id of another file or one that stands there twice.
    """
    if path.parent.name != "scenes":
        template = _template(_text_of(path), path.name)
        if template.id != path.stem:
            raise PiiError(Errors.E601, where=path.name, problem="its id")
        return [template]
    found: dict[str, Template] = {}
    for block in filter(str.strip, SEPARATOR.split(_text_of(path))):
        where = f"{path.name} after {next(reversed(found), 'the start')}"
        template = _template(block.lstrip("\n"), where)
        if template.id in found or not template.id.startswith(f"{path.stem}_"):
            raise PiiError(Errors.E601, where=where, problem="its id")
        found[template.id] = template
    return list(found.values())


def essay_files(folder: Path, *, scenes: bool = True) -> list[Path]:
    """RETURNS (list[Path]): The files of `folder/essays` and, if `scenes`, of `folder/scenes`."""
    return [
        *sorted((folder / "essays").glob("*.txt")),
        *(sorted((folder / "scenes").glob("*.txt")) if scenes else ()),
    ]


def read_templates(folder: Path, *, scenes: bool = True) -> list[Template]:
    """RETURNS (list[Template]): Every essay in `folder/essays` and, if `scenes`, every short text in `folder/scenes`, sorted by id."""
    return sorted(
        chain.from_iterable(map(read_file, essay_files(folder, scenes=scenes))),
        key=lambda template: template.id,
    )


def read_fragments(folder: Path) -> dict[str, list[tuple[Part, ...]]]:
    """RETURNS (dict[str, list[tuple[Part, ...]]]): Per file in `folder/fragments` (by stem), its blocks."""
    return {
        path.stem: [
            parse_parts(block.strip("\n"), where=path.name)
            for block in filter(str.strip, SEPARATOR.split(_text_of(path)))
        ]
        for path in sorted((folder / "fragments").glob("*.txt"))
    }
