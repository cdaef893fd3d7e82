"""What a perturbation is, and the few ways in which a text is changed while its spans are carried along.

    lower = on_names(lambda name, rng: name.lower())
    lower("I am Ana Lopez.", ((5, 14, "NAME_STUDENT"),), rng)   ->  ("I am ana lopez.", ((5, 14, "NAME_STUDENT"),))

Every change is a pure function `(text, spans, rng) -> (text, spans)`. Spans are characters, end exclusive, sorted and apart; those that
come out lie exactly where a perfect detector would put them. Labels that are unknown here (a masked stretch) travel along untouched.
The registry is `perturb_registry.py`; the changes are in `perturb_<class>.py`.
"""

import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from ..errors import Errors, PiiError
from ..labels import CHARACTER, CITED, DETAIL_LABELS, NAME_STUDENT, is_name, role_of

Span = tuple[int, int, str]
Spans = tuple[Span, ...]
Perturbed = tuple[str, Spans]
Change = Callable[[str, Spans, random.Random], Perturbed]
OnValue = Callable[[str, random.Random], str]
Edit = tuple[int, int, str]

CASE, SCRIPT, LAYOUT, NOISE = "case", "script", "layout", "noise"
CONTACT, LENGTH, ATTACK, MEANING = "contact", "length", "attack", "meaning"
CLASSES = (CASE, SCRIPT, LAYOUT, NOISE, CONTACT, LENGTH, ATTACK, MEANING)
ALL, NAMES, DETAILS = "all", "names", "details"
UNTOLD = "UNLABELLED"


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A change with what is measured under it.

    name (str): Unique. kind (str): One of `CLASSES`. about (str): What it does, by example.
    change (Change): The pure function.
    counts (str): Which spans are measured: "all", "names", "details", or those of one label.
    rewrites (bool): The spans' own text is what changes, and their number and order stay: only those that did change are measured.
    only (Callable[[Spans], Collection[int]] | None): Says which spans are measured, where it is but some; number and order stay.
    """

    name: str
    kind: str
    about: str
    change: Change
    counts: str = ALL
    rewrites: bool = False
    only: Callable[[Spans], Collection[int]] | None = None

    def __call__(self, text: str, spans: Iterable[Span], rng: random.Random) -> Perturbed:
        """The changed text with its spans.

        text (str): The text. spans (Iterable[Span]): Its spans. rng (random.Random): Where chance comes from.
        RETURNS (Perturbed): Equal to what came in where there is nothing to change.
        RAISES (PiiError): E761, if the spans are out of order, before or after the change.
        """
        given = tuple(spans)
        check_spans(text, given, self.name)
        new_text, new_spans = self.change(text, given, rng)
        check_spans(new_text, new_spans, self.name)
        return new_text, new_spans

    def measured(self, before: str, old: Spans, after: str, new: Spans) -> tuple[list[int], list[int]]:
        """Which spans are measured, so that the same people are compared before and after.

        before, after (str): The texts. old, new (Spans): Their spans.
        RETURNS (tuple[list[int], list[int]]): Places in `old` and in `new`.
        """

        def wanted(label: str) -> bool:
            if self.counts in (NAMES, DETAILS):
                return is_name(label) if self.counts == NAMES else label in DETAIL_LABELS
            return self.counts in (ALL, label)

        if self.rewrites or self.only is not None:
            chosen = range(len(old)) if self.only is None else sorted(self.only(old))
            kept = [
                i
                for i in chosen
                if wanted(old[i][2]) and (not self.rewrites or before[old[i][0] : old[i][1]] != after[new[i][0] : new[i][1]])
            ]
            return kept, kept
        return [i for i, s in enumerate(old) if wanted(s[2])], [i for i, s in enumerate(new) if wanted(s[2])]


def check_spans(text: str, spans: Spans, name: str) -> None:
    """RAISES (PiiError): E761, if spans overlap, are empty, out of order or outside of the text."""
    pos = 0
    for start, end, _ in spans:
        if not pos <= start < end <= len(text):
            raise PiiError(Errors.E761, name=name, start=start, end=end, length=len(text))
        pos = end


def rewrite(
    text: str, spans: Spans, *, inside: Callable[[str, str], str] | None = None, outside: Callable[[str], str] | None = None
) -> Perturbed:
    """Change a text piece by piece: each span on its own, each stretch between spans on its own.

    text (str), spans (Spans): The text. inside (Callable[[str, str], str] | None): From a span's text and label to its new text; what
    would be empty or white space stays as it is. outside (Callable[[str], str] | None): From a stretch between spans to a new one.
    RETURNS (Perturbed): The new text, the same number of spans.
    """
    out: list[str] = []
    new: list[Span] = []
    at = length = 0
    for start, end, label in spans:
        piece = outside(text[at:start]) if outside else text[at:start]
        value = inside(text[start:end], label) if inside else text[start:end]
        value = value if value.strip() else text[start:end]
        out += (piece, value)
        new.append((length + len(piece), length + len(piece) + len(value), label))
        length += len(piece) + len(value)
        at = end
    out.append(outside(text[at:]) if outside else text[at:])
    return "".join(out), tuple(new)


def on_names(change: OnValue) -> Change:
    """RETURNS (Change): Changes the text of every person's name, whoever it is: wear does not tell a student from an author."""
    return lambda text, spans, rng: rewrite(text, spans, inside=lambda v, label: change(v, rng) if is_name(label) else v)


def on_labels(changes: Mapping[str, OnValue]) -> Change:
    """RETURNS (Change): Changes the text of spans by their label. changes (Mapping[str, OnValue]): Label -> change."""
    return lambda text, spans, rng: rewrite(
        text, spans, inside=lambda v, label: changes[label](v, rng) if label in changes else v
    )


def on_prose(change: OnValue) -> Change:
    """RETURNS (Change): Changes what stands between spans; the spans' own text stays."""
    return lambda text, spans, rng: rewrite(text, spans, outside=lambda piece: change(piece, rng))


def on_everything(change: OnValue) -> Change:
    """RETURNS (Change): Changes all of the text, span by span and stretch by stretch."""
    return lambda text, spans, rng: rewrite(
        text, spans, inside=lambda v, label: change(v, rng), outside=lambda piece: change(piece, rng)
    )


def apply_edits(text: str, spans: Spans, edits: Iterable[Edit]) -> Perturbed:
    """Replace stretches of a text.

    text (str), spans (Spans): The text. edits (Iterable[Edit]): `(start, end, new)`; none overlaps another. What is set in at the edge
    of a span (start = end) stands outside of it. An edit across the edge of a span is left out: nobody could say what belongs to whom.
    RETURNS (Perturbed): The new text, the same number of spans; a span is never emptied.
    """
    fitting = sorted((e for e in edits if not any(_crosses(e, span) for span in spans)), key=lambda e: e[:2])
    out: list[str] = []
    shifts: list[tuple[int, int, int]] = []  # start, end, by how much what follows is moved
    at = total = 0
    for start, end, new in fitting:
        if start < at:
            continue
        out += (text[at:start], new)
        total += len(new) - (end - start)
        shifts.append((start, end, total))
        at = end
    out.append(text[at:])
    moved = []
    i = before = 0
    for start, end, label in spans:
        while i < len(shifts) and shifts[i][1] <= start:
            before = shifts[i][2]
            i += 1
        first = start + before
        while i < len(shifts) and shifts[i][1] <= end and not shifts[i][0] == shifts[i][1] == end:
            before = shifts[i][2]
            i += 1
        moved.append((first, end + before, label))
    return "".join(out), tuple(moved)


def _crosses(edit: Edit, span: Span) -> bool:
    """Whether an edit touches both sides of a span's edge, or takes the whole span away."""
    start, end, new = edit
    if end <= span[0] or start >= span[1]:
        return False
    return not (span[0] <= start and end <= span[1]) or (start == span[0] and end == span[1] and not new.strip())


def substitute(
    pattern: str | re.Pattern[str], new: Callable[[re.Match[str], random.Random], str], *, prose: bool = True
) -> Change:
    """A change by a regular expression that sees the whole text, names at the edge of a match too.

    pattern (str | re.Pattern): What is looked for. new (Callable): From the match to what stands there then.
    prose (bool): Leave alone what lies in a span.
    RETURNS (Change): The change.
    """
    compiled = re.compile(pattern) if isinstance(pattern, str) else pattern

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        edits = []
        for match in compiled.finditer(text):
            if prose and any(match.start() < end and match.end() > start for start, end, _ in spans):
                continue
            edits.append((match.start(), match.end(), new(match, rng)))
        return apply_edits(text, spans, edits)

    return change


def around_names(before: str = "", after: str = "", *, name: OnValue | None = None) -> Change:
    """RETURNS (Change): Sets strings, outside of the span, before and after every person's name, which may change too."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        if name is not None:
            text, spans = on_names(name)(text, spans, rng)
        edits: list[Edit] = []
        for start, end, label in spans:
            if is_name(label):
                edits += [(start, start, before)] * bool(before) + [(end, end, after)] * bool(after)
        return apply_edits(text, spans, edits)

    return change


def insert(text: str, spans: Spans, at: int, addition: str, added: Iterable[Span] = ()) -> Perturbed:
    """Set a text with spans of its own into another.

    text (str), spans (Spans): The text. at (int): Where, in no span. addition (str): What is set in. added (Iterable[Span]): Its spans.
    RETURNS (Perturbed): Both.
    """
    moved = [(s, e, label) if e <= at else (s + len(addition), e + len(addition), label) for s, e, label in spans]
    moved += [(s + at, e + at, label) for s, e, label in added]
    return text[:at] + addition + text[at:], tuple(sorted(moved))


def stops(text: str, spans: Spans) -> list[int]:
    """RETURNS (list[int]): Where a sentence has ended, outside of every span; something can be set in there."""
    ends = (m.end() for m in re.finditer(r"[.!?](?=\s|$)", text))
    return [at for at in ends if not any(start < at < end for start, end, _ in spans)]


def main_span(spans: Spans) -> int | None:
    """RETURNS (int | None): Place of the span that matters most: the first student's name, else another person's or detail."""
    of_persons = [i for i, (*_, label) in enumerate(spans) if is_name(label) and role_of(label) not in (CITED, CHARACTER)]
    student = [i for i in of_persons if spans[i][2] == NAME_STUDENT]
    details = [i for i, (*_, label) in enumerate(spans) if label in DETAIL_LABELS]
    return next(iter((*student, *of_persons, *details)), None)


def in_turn(*changes: Change) -> Change:
    """RETURNS (Change): One change after the other."""

    def change(text: str, spans: Spans, rng: random.Random) -> Perturbed:
        for one in changes:
            text, spans = one(text, spans, rng)
        return text, spans

    return change
