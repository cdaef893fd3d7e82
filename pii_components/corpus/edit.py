"""Texts with labelled spans, and how they are changed while their spans are carried along.

    lower = on_names(lambda name, rng: name.lower())
    lower("I am Ana Lopez.", ((5, 14, "NAME_STUDENT"),), rng)   ->  ("I am ana lopez.", ((5, 14, "NAME_STUDENT"),))

A change is a pure function `(text, spans, rng) -> (text, spans)`. Spans are characters, end exclusive, sorted and apart.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import Errors, PiiError
from ..labels import DETAIL_LABELS, INDIRECT_LABELS, is_name

Span = tuple[int, int, str]
Spans = tuple[Span, ...]
Perturbed = tuple[str, Spans]
OnValue = Callable[[str, random.Random], str]
OnSpan = Callable[[str, str], str]
OnProse = Callable[[str], str]
Change = Callable[[str, Spans, random.Random], Perturbed]
Edit = tuple[int, int, str]

ALL, NAMES, DETAILS = "all", "names", "details"


@dataclass(frozen=True, slots=True)
class Filled:
    """Text with labelled spans.

    unlabelled (tuple[tuple[int, int], ...]): Stretches that nobody has labelled. annotated (Mapping[str, Sequence[str]]): The labels that
    somebody looked for, and which of ours each may be (ner/loss.py); empty for all.
    """

    text: str
    spans: Spans = ()
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

    def insert(self, addition: "Filled", at: int, *, before: str = "", after: str = "") -> "Filled":
        """RETURNS (Filled): The text with an addition set in at character `at`, between two strings."""
        return (
            self.cut(0, at)
            + Filled(before)
            + addition
            + Filled(after)
            + self.cut(at, len(self.text))
        )

    def map_prose(self, change: OnProse) -> "Filled":
        """RETURNS (Filled): Each piece between spans changed; the same text where there are unlabelled stretches: they cannot be followed."""
        if self.unlabelled:
            return self
        text, spans = rewrite(self.text, self.spans, outside=change)
        return replace(self, text=text, spans=spans)


def is_among(group: str, label: str) -> bool:
    """RETURNS (bool): Whether a label belongs to "all", "names", "details", or is the one that is given."""
    if group in (NAMES, DETAILS):
        return is_name(label) if group == NAMES else label in DETAIL_LABELS
    return group in (ALL, label)


def check_spans(text: str, spans: Spans, name: str) -> None:
    """RAISES (PiiError): E761, if spans overlap, are empty, out of order or outside of the text."""
    pos = 0
    for start, end, _ in spans:
        if not pos <= start < end <= len(text):
            raise PiiError(Errors.E761, name=name, start=start, end=end, length=len(text))
        pos = end


def joined(pieces: Iterable[tuple[str, str]]) -> Perturbed:
    """RETURNS (Perturbed): A text of pieces, each with its label or none."""
    text, spans = "", []
    for piece, label in pieces:
        if label:
            spans.append((len(text), len(text) + len(piece), label))
        text += piece
    return text, tuple(spans)


def rewrite(
    text: str, spans: Spans, *, inside: OnSpan = lambda value, label: value, outside: OnProse = str
) -> Perturbed:
    """Change a text piece by piece: each span on its own, each stretch between spans on its own.

    inside (OnSpan): From a span's text and label to its new text; what would be empty or white space stays. outside (OnProse): From a
    stretch between spans to a new one.
    RETURNS (Perturbed): The new text, the same number of spans.
    """
    pieces, at = [], 0
    for start, end, label in spans:
        pieces.append((outside(text[at:start]), ""))
        value = inside(text[start:end], label)
        pieces.append((value if value.strip() else text[start:end], label))
        at = end
    return joined([*pieces, (outside(text[at:]), "")])


def on_names(change: OnValue) -> Change:
    """RETURNS (Change): Changes every person's name, whoever it is: noise does not tell a student from an author."""
    return lambda text, spans, rng: rewrite(
        text, spans, inside=lambda v, label: change(v, rng) if is_name(label) else v
    )


def on_labels(change: OnValue, *labels: str) -> Change:
    """RETURNS (Change): Changes the text of spans of these labels."""
    return lambda text, spans, rng: rewrite(
        text, spans, inside=lambda v, label: change(v, rng) if label in labels else v
    )


def on_prose(change: OnValue) -> Change:
    """RETURNS (Change): Changes what stands between spans; the spans' own text stays."""
    return lambda text, spans, rng: rewrite(text, spans, outside=lambda v: change(v, rng))


def on_everything(change: OnValue) -> Change:
    """RETURNS (Change): Changes all of the text, span by span and stretch by stretch."""
    return lambda text, spans, rng: rewrite(
        text, spans, inside=lambda v, _: change(v, rng), outside=lambda v: change(v, rng)
    )


def in_turn(*changes: Change) -> Change:
    """RETURNS (Change): One change after the other."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        for one in changes:
            text, spans = one(text, spans, rng)
        return text, spans

    return change


def apply_edits(text: str, spans: Spans, edits: Iterable[Edit]) -> Perturbed:
    """Replace stretches of a text.

    edits (Iterable[Edit]): `(start, end, new)`; none overlaps another. What is set in at the edge of a span (start = end) stands outside
    of it. An edit across the edge of a span is left out: nobody could say what belongs to whom.
    RETURNS (Perturbed): The new text, the same number of spans; a span is never emptied.
    """
    out, at, done = "", 0, []
    for start, end, new in sorted(
        (e for e in edits if not any(_crosses(e, span) for span in spans)), key=lambda e: e[:2]
    ):
        if start >= at:
            out += text[at:start] + new
            done.append((start, end, len(new) - (end - start)))
            at = end
    moved = []
    for start, end, label in spans:
        before_start = sum(shift for _, e, shift in done if e <= start)
        before_end = sum(shift for s, e, shift in done if e <= end and not s == e == end)
        moved.append((start + before_start, end + before_end, label))
    return out + text[at:], tuple(moved)


def _crosses(edit: Edit, span: Span) -> bool:
    """Whether an edit touches both sides of a span's edge, or takes the whole span away."""
    (start, end, new), (first, last, _) = edit, span
    if end <= first or start >= last:
        return False
    return not first <= start <= end <= last or (start == first and end == last and not new.strip())


def substitute(pattern: str, new: str = "") -> Change:
    """RETURNS (Change): Replaces what a regular expression finds outside of spans; it sees the whole text, names at the edges too."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        places = (m.span() for m in re.finditer(pattern, text))
        free = [
            (s, e, new)
            for s, e in places
            if not any(s < end and e > start for start, end, _ in spans)
        ]
        return apply_edits(text, spans, free)

    return change


def around_names(
    before: str = "", after: str = "", *, name: OnValue | None = None, of: str = NAMES
) -> Change:
    """RETURNS (Change): Sets strings, outside of the span, before and after each name, which may change too, or what else `of` says."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        if name is not None:
            text, spans = on_names(name)(text, spans, rng)
        places = [(start, end) for start, end, label in spans if is_among(of, label)]
        edits = [
            edit
            for start, end in places
            for edit in ((start, start, before), (end, end, after))
            if edit[2]
        ]
        return apply_edits(text, spans, edits)

    return change


def insert(
    text: str, spans: Spans, at: int, addition: str, added: Iterable[Span] = ()
) -> Perturbed:
    """RETURNS (Perturbed): A text with a text set in at character `at`, which is in no span; `added` are the spans of the addition."""
    moved = [
        (s, e, label) if e <= at else (s + len(addition), e + len(addition), label)
        for s, e, label in spans
    ]
    moved += [(s + at, e + at, label) for s, e, label in added]
    return text[:at] + addition + text[at:], tuple(sorted(moved))


def stops(text: str, spans: Spans, *, at_end: bool = True) -> list[int]:
    """RETURNS (list[int]): Where a sentence has ended, outside of every span, the text's own end among them if `at_end`."""
    ends = (m.end() for m in re.finditer(r"[.!?](?=\s|$)" if at_end else r"[.!?](?=\s)", text))
    return [at for at in ends if not any(start < at < end for start, end, _ in spans)]
