"""What every reader of labelled texts gives and every writer takes, and what becomes of gold that does not fit its text.

    spans, masked = resolve_gold_overlaps(text, [(0, 9, "NAME_STUDENT"), (4, 12, "EMAIL")], number=1, tally=tally)
    masked                                          # ((0, 12),): the two overlap, nobody knows which is right

Gold that cannot be trusted is neither used nor dropped: the stretch it may stand in is masked, so that training and measuring
pass over it. Everything that was masked is counted, with offsets, label and reason; never with text.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ...errors import Errors, PiiError
from ...labels import LABELS
from ..record import Skip, has_half_pair
from ..tables import HALF_ESCAPE
from ..writers import Output

GoldSpan = tuple[int, int, str]
CharSpan = tuple[int, int]

# The label under which masked stretches stand in forms that know labels only; `doc.spans["pii_unlabelled"]` has it too.
MASKED_LABEL = "UNLABELLED"
# Why gold is masked.
OVERLAP = "overlaps other gold"
RANGE = "outside of the text"
TEXT = "text does not match"
TOKEN = "edge inside a token"
IN_MASK = "touches a masked stretch"
USUAL_ID_FIELDS = ("id", "document", "doc_id", "file_idx")

SPAN_FORM = "[start, end, label], whole numbers and a label without white space"
_PLAIN_LABEL = re.compile(r"[A-Z][A-Z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with gold labels.

    id (str): Its number or name in the data set.
    text (str): As it stands in the input.
    spans (tuple[tuple[int, int, str], ...]): First character, end (exclusive), label; sorted, without overlaps.
    masked (tuple[tuple[int, int], ...]): Stretches whose gold is not known; sorted, apart from each other and from spans.
    meta (Mapping[str, Any]): Other fields of the record, values as JSON has them.
    RAISES (PiiError): E635, if spans and stretches are not so; see `resolve_gold_overlaps`.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[GoldSpan, ...] = ()
    masked: tuple[CharSpan, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        pos = 0
        for start, end in sorted([*((start, end) for start, end, _ in self.spans), *self.masked]):
            if not pos <= start < end <= len(self.text):
                raise PiiError(Errors.E635, start=start, end=end, length=len(self.text))
            pos = end
        if list(self.spans) != sorted(self.spans) or list(self.masked) != sorted(self.masked):
            raise PiiError(Errors.E635, start=0, end=0, length=len(self.text))


@dataclass(frozen=True, slots=True)
class Masked:
    """Gold that was masked: number of the record, from 1; start, end and label as given; why."""

    number: int
    start: int
    end: int
    label: str
    reason: str


@dataclass(slots=True)
class ReadStats:
    """Counts of one pass over a corpus.

    documents (int), labels (Counter[str]): What came through. masked (list[Masked]): Gold that did not.
    notes (Counter[str]): What else was seen: lines that are not read, offsets that were corrected.
    """

    documents: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    masked: list[Masked] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def count(self, essay: LabelledText) -> None:
        self.documents += 1
        self.labels.update(show_label(label) for _, _, label in essay.spans)

    def masked_in_short(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For a report: how much was masked, by reason and label."""
        counts = sorted(Counter((masked.reason, masked.label) for masked in self.masked).items())
        by_reason = [
            {"reason": reason, "label": label, "count": n} for (reason, label), n in counts
        ]
        return {"count": len(self.masked), "by_reason": by_reason}

    def mask(self, number: int, span: GoldSpan, reason: str) -> None:
        self.masked.append(Masked(number, span[0], span[1], show_label(span[2]), reason))


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a reader may need to know.

    encoding (str): Of text files; a byte order mark overrules utf-8. text_field, id_field (str): Columns or fields; empty to find
    usual ones. text_source (Path | None): Where the texts of an entity CSV are. tally (ReadStats): Is filled.
    """

    encoding: str = "utf-8"
    text_field: str = ""
    id_field: str = ""
    text_source: Path | None = None
    tally: ReadStats = field(default_factory=ReadStats)


Items = Iterator[tuple[int, LabelledText] | Skip]


def each(items: Iterable[Any], labelled: Callable[..., LabelledText | None]) -> Items:
    """What `labelled` makes of each numbered item, nothing for None, or a skip with the error that it raises; skips pass through."""
    for item in items:
        if isinstance(item, Skip):
            yield item
            continue
        number = item[0]
        try:
            essay = labelled(*item)
        except PiiError as err:
            yield Skip(number=number, error=err)
            continue
        if essay is not None:
            yield number, essay


def show_label(label: str) -> str:
    """The label for a report; "(another)" for what does not look like one, since it may be a person's text."""
    return label if label in LABELS or _PLAIN_LABEL.fullmatch(label) else "(another)"


def resolve_gold_overlaps(
    text: str,
    found: Iterable[GoldSpan],
    masked: Iterable[CharSpan] = (),
    *,
    number: int,
    tally: ReadStats,
) -> tuple[tuple[GoldSpan, ...], tuple[CharSpan, ...]]:
    """Part gold that can be used from gold that is masked: outside of the text, overlapping, or in a stretch that is masked already.

    found (Iterable[GoldSpan]): As annotated, in any order; the same twice is once. masked (Iterable[CharSpan]): Stretches to mask.
    number (int): Of the record. tally (ReadStats): Gets what is masked.
    RETURNS (tuple): Spans and stretches as `LabelledText` wants them.
    """
    stretches = [where for start, end in masked if (where := within(text, start, end))]
    listed = list(found)
    groups: list[list[GoldSpan]] = []  # spans of a group hang together by overlaps
    reach = 0
    for span in sorted(set(listed)):
        if not 0 <= span[0] < span[1] <= len(text):
            tally.mask(number, span, RANGE)
            if where := within(text, span[0], span[1]):
                stretches.append(where)
            continue
        if groups and span[0] < reach:
            groups[-1].append(span)
        else:
            groups.append([span])
        reach = max(reach, span[1])
    if len(set(listed)) < len(listed):
        tally.notes["the same gold twice"] += len(listed) - len(set(listed))
    for group in groups:
        if len(group) > 1:
            stretches.append((group[0][0], max(end for _, end, _ in group)))
            for span in group:
                tally.mask(number, span, OVERLAP)
    merged = merge(stretches)
    free: list[GoldSpan] = []
    for span in (group[0] for group in groups if len(group) == 1):
        if touches(span[:2], merged):
            tally.mask(number, span, IN_MASK)
            stretches.append(span[:2])
        else:
            free.append(span)
    return tuple(free), merge(stretches)


def touches(stretch: CharSpan, others: Iterable[CharSpan]) -> bool:
    """Whether a stretch overlaps one of the others."""
    return any(start < stretch[1] and end > stretch[0] for start, end in others)


def within(text: str, start: int, end: int) -> CharSpan | None:
    """The part of a text that a stretch may mean.

    RETURNS (CharSpan | None): Its part in the text; for an empty one the word that it touches; where there is nothing, the whole
    text, since the label may stand anywhere. None for an empty text.
    """
    start, end = min(start, end), max(start, end)
    low, high = min(max(start, 0), len(text)), min(max(end, 0), len(text))
    if start == end:
        while low > 0 and not text[low - 1].isspace():
            low -= 1
        while high < len(text) and not text[high].isspace():
            high += 1
    if start > len(text) or end < 0 or low == high:
        low, high = 0, len(text)
    return (low, high) if low < high else None


def merge(stretches: Iterable[CharSpan]) -> tuple[CharSpan, ...]:
    """Sorted; those that overlap or touch are one."""
    out: list[CharSpan] = []
    for start, end in sorted(stretches):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def parse_spans(value: Any, number: int) -> list[GoldSpan]:
    """Spans of a record as JSON has them: `[start, end, label]` or `{"start": …, "end": …, "label": …}`.

    RAISES (PiiError): E624, for anything else.
    """
    if not isinstance(value, list):
        raise PiiError(Errors.E624, number=number, name="spans", expected="a list")
    out: list[GoldSpan] = []
    for index, item in enumerate(value):
        if isinstance(item, dict):
            item = [item.get("start"), item.get("end"), item.get("label")]
        if not (
            isinstance(item, list) and len(item) == 3 and _are_ints(item[:2]) and is_label(item[2])
        ):
            raise PiiError(Errors.E624, number=number, name=f"spans[{index}]", expected=SPAN_FORM)
        out.append((item[0], item[1], item[2]))
    return out


def parse_masked(value: Any, number: int) -> list[CharSpan]:
    """Masked stretches of a record: a list of `[start, end]`; None where it has none. RAISES (PiiError): E624, for another."""
    if value is None:
        return []
    if not (
        isinstance(value, list)
        and all(isinstance(item, list) and len(item) == 2 and _are_ints(item) for item in value)
    ):
        raise PiiError(Errors.E624, number=number, name="masked", expected="a list of [start, end]")
    return [(start, end) for start, end in value]


def is_label(value: object) -> bool:
    """Whether it can be a label in every form: a string, not empty, without white space, no half characters."""
    return (
        isinstance(value, str)
        and value != ""
        and not re.search(r"\s", value)
        and not has_half_pair(value)
    )


def _are_ints(values: list[object]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def id_of(value: Any, number: int) -> str:
    """The id of a record as a string; its number for what is missing, null or empty.

    RAISES (PiiError): E624, if it is neither a string nor a number; E520, if it holds half of a character.
    """
    if value is None or value == "":
        return str(number)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise PiiError(Errors.E624, number=number, name="id", expected="a string or a number")
    return whole(str(value), number)


def whole(text: Any, number: int) -> str:
    """A text of JSON. RAISES (PiiError): E624, if it is no string; E520, if it holds half of a character."""
    if not isinstance(text, str):
        raise PiiError(Errors.E624, number=number, name="text", expected="a string")
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return text


class CorpusWriter(Output):
    """The base of all writers of labelled texts: a form says what a record looks like. For a with statement.

    out (Path): OUT. tally (ReadStats): Gets what is masked on the way to tokens, and fields that the form cannot hold.
    """

    form = ""

    def __init__(self, out: Path, tally: ReadStats) -> None:
        super().__init__(out)
        self.tally = tally
        self.n_written = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.discard()

    def write(self, essay: LabelledText, *, number: int) -> None:
        """Add a record. number (int): Its position in the input, for messages.

        RAISES (PiiError): E640, if the form cannot hold it, nothing is written then; E512, if the disk refuses.
        """
        self.put(self.record(essay, number))
        self.n_written += 1

    def record(self, essay: LabelledText, number: int) -> Any:
        raise NotImplementedError

    def put(self, data: Any) -> None:
        self.append(data)


class LinesWriter(CorpusWriter):
    """One JSON object per line."""

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        raise NotImplementedError

    def record(self, essay: LabelledText, number: int) -> bytes:
        row = self.row(essay, number)
        free = {name: value for name, value in essay.meta.items() if name not in row}
        if len(free) < len(essay.meta):
            self.tally.notes["other fields left out"] += len(essay.meta) - len(free)
        return as_json(row | free, number, self.form) + b"\n"


def as_json(value: Any, number: int, form: str) -> bytes:
    """JSON in UTF-8. RAISES (PiiError): E640, if a field holds half of a character or nothing that JSON has."""
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeError, TypeError, ValueError, RecursionError) as err:
        raise PiiError(Errors.E640, number=number, form=form, reason=type(err).__name__) from err
