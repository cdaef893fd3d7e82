"""Fill the slots of essays with invented people: one essay, many training documents, exact labels.

    filler = Filler(name_table(), random.Random(7))
    filled = filler.fill(template.parts, genders=template.genders)
    filled.text, filled.spans            # [(start, end, label), ...], characters, end exclusive

What students' files look like beside that (names in capitals or lower case, text with no space after a full stop, headers on the same line
as the text) is put on top by `roughen`, which keeps the offsets.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..labels import INDIRECT_LABELS, is_name
from ..surrogates.names import NameTable
from .habits import Wardrobe, Worn
from .people import Person, invent_person
from .templates import Part, Slot

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
