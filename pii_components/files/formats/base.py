"""What every reader of labelled texts gives and every writer takes, and what becomes of gold that does not fit its text.

    spans, masked = settle(text, [(0, 9, "NAME_STUDENT"), (4, 12, "EMAIL")], number=1, tally=tally)
    masked                                          # ((0, 12),): the two overlap, nobody knows which is right

Gold that cannot be trusted is neither used nor dropped: the stretch it may stand in is masked, so that training and measuring
pass over it. Everything that was masked is counted, with offsets, label and reason; never with text.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from ...errors import Errors, PiiError
from ...labels import LABELS
from ..json_text import HALF_ESCAPE, join_tokens
from ..record import has_half_pair, reason_of
from ..writers import partial_path

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

GoldSpan = tuple[int, int, str]
Stretch = tuple[int, int]

# The label under which masked stretches stand in forms that know labels only; `doc.spans["pii_unlabelled"]` has it too.
MASKED_LABEL = "UNLABELLED"
# Why gold is masked.
OVERLAP = "overlaps other gold"
RANGE = "outside of the text"
TEXT = "text does not match"
TOKEN = "edge inside a token"
IN_MASK = "touches a masked stretch"
REASONS = (OVERLAP, RANGE, TEXT, TOKEN, IN_MASK)

_PLAIN_LABEL = re.compile(r"[A-Z][A-Z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with gold labels.

    id (str): Its number or name in the data set.
    text (str): As it stands in the input.
    spans (tuple[tuple[int, int, str], ...]): First character, end (exclusive), label; sorted, without overlaps.
    masked (tuple[tuple[int, int], ...]): Stretches whose gold is not known; sorted, apart from each other and from spans.
    meta (Mapping[str, Any]): Other fields of the record, values as JSON has them.
    RAISES (PiiError): E635, if spans and stretches are not so; see `settle`.
    """

    id: str
    text: str = field(repr=False)
    spans: tuple[GoldSpan, ...] = ()
    masked: tuple[Stretch, ...] = ()
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
    """Gold that was masked. number (int): Of the record, from 1. start, end (int): As given. label (str), reason (str): Which, why."""

    number: int
    start: int
    end: int
    label: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Counts of one pass over a corpus.

    documents (int), labels (Counter[str]): What came through. masked (list[Masked]): Gold that did not.
    notes (Counter[str]): What else was seen: lines that are not read, offsets that were corrected.
    """

    documents: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    masked: list[Masked] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def count(self, essay: LabelledText) -> None:
        """Count a document that came through."""
        self.documents += 1
        self.labels.update(show_label(label) for _, _, label in essay.spans)

    def mask(self, number: int, span: GoldSpan, reason: str) -> None:
        """Count gold that was masked."""
        self.masked.append(Masked(number, span[0], span[1], show_label(span[2]), reason))


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a reader may need to know.

    encoding (str): Of text files; a byte order mark overrules utf-8. text_field, id_field (str): Columns or fields; empty to find
    usual ones. text_source (Path | None): Where the texts of an entity CSV are. tally (Tally): Is filled.
    """

    encoding: str = "utf-8"
    text_field: str = ""
    id_field: str = ""
    text_source: Path | None = None
    tally: Tally = field(default_factory=Tally)


def show_label(label: str) -> str:
    """RETURNS (str): The label for a report; "(another)" for what does not look like one, since it may be a person's text."""
    return label if label in LABELS or _PLAIN_LABEL.fullmatch(label) else "(another)"


def settle(
    text: str,
    found: Iterable[GoldSpan],
    masked: Iterable[Stretch] = (),
    *,
    number: int,
    tally: Tally,
) -> tuple[tuple[GoldSpan, ...], tuple[Stretch, ...]]:
    """Part gold that can be used from gold that is masked: outside of the text, overlapping, or in a stretch that is masked already.

    text (str): The document. found (Iterable[GoldSpan]): As annotated, in any order; the same twice is once. masked
    (Iterable[Stretch]): Stretches to mask. number (int): Of the record. tally (Tally): Gets what is masked.
    RETURNS (tuple): Spans and stretches as `LabelledText` wants them.
    """
    stretches = [where for start, end in masked if (where := within(text, start, end))]
    kept: list[GoldSpan] = []
    listed = list(found)
    for span in sorted(set(listed)):
        if 0 <= span[0] < span[1] <= len(text):
            kept.append(span)
            continue
        tally.mask(number, span, RANGE)
        if where := within(text, span[0], span[1]):
            stretches.append(where)
    if len(set(listed)) < len(listed):
        tally.notes["the same gold twice"] += len(listed) - len(set(listed))
    spans: list[GoldSpan] = []
    for group in _overlapping(kept):
        if len(group) == 1:
            spans.append(group[0])
            continue
        stretches.append((group[0][0], max(end for _, end, _ in group)))
        for span in group:
            tally.mask(number, span, OVERLAP)
    free: list[GoldSpan] = []
    merged = merge(stretches)
    for span in spans:
        if any(start < span[1] and end > span[0] for start, end in merged):
            tally.mask(number, span, IN_MASK)
            stretches.append(span[:2])
        else:
            free.append(span)
    return tuple(free), merge(stretches)


def _overlapping(spans: Sequence[GoldSpan]) -> list[list[GoldSpan]]:
    """RETURNS (list[list[GoldSpan]]): Sorted spans in groups: those of a group hang together by overlaps."""
    groups: list[list[GoldSpan]] = []
    reach = 0
    for span in spans:
        if groups and span[0] < reach:
            groups[-1].append(span)
        else:
            groups.append([span])
        reach = max(reach, span[1])
    return groups


def within(text: str, start: int, end: int) -> Stretch | None:
    """The part of a text that a stretch may mean.

    RETURNS (Stretch | None): Its part in the text; for an empty one the word that it touches; where there is nothing, the whole
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


def merge(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """RETURNS (tuple[Stretch, ...]): Sorted; those that overlap or touch are one."""
    out: list[Stretch] = []
    for start, end in sorted(stretches):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def parse_spans(value: Any, number: int) -> list[GoldSpan]:
    """Spans of a record as JSON has them: `[start, end, label]` or `{"start": …, "end": …, "label": …}`.

    RAISES (PiiError): E623, for anything else.
    """
    if not isinstance(value, list):
        raise PiiError(Errors.E624, number=number, name="spans", expected="a list")
    out: list[GoldSpan] = []
    for index, item in enumerate(value):
        if isinstance(item, dict):
            item = [item.get("start"), item.get("end"), item.get("label")]
        if not (isinstance(item, list) and len(item) == 3 and _is_int(item[0]) and _is_int(item[1]) and is_label(item[2])):
            raise PiiError(Errors.E623, number=number, index=index)
        out.append((item[0], item[1], item[2]))
    return out


def parse_masked(value: Any, number: int) -> list[Stretch]:
    """Masked stretches of a record: a list of `[start, end]`; None where it has none.

    RAISES (PiiError): E624, for anything else.
    """
    if value is None:
        return []
    pairs = isinstance(value, list) and all(
        isinstance(item, list) and len(item) == 2 and _is_int(item[0]) and _is_int(item[1]) for item in value
    )
    if not pairs:
        raise PiiError(Errors.E624, number=number, name="masked", expected="a list of [start, end]")
    return [(start, end) for start, end in value]


def is_label(value: object) -> bool:
    """RETURNS (bool): Whether it can be a label in every form: a string, not empty, without white space, no half characters."""
    return isinstance(value, str) and value != "" and not re.search(r"\s", value) and not has_half_pair(value)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Writers of labelled texts: what grows is `<OUT>.partial`, which takes the name OUT when all is there.


class CorpusWriter:
    """One file of records. The base of all writers: a form says what a record looks like.

    out (Path): OUT. tally (Tally): Gets what is masked on the way to tokens, and fields that the form cannot hold.
    """

    form = ""

    def __init__(self, out: Path, tally: Tally) -> None:
        self.out, self.tally, self.partial = out, tally, partial_path(out)
        self.n_written = 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.start()
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.discard()

    def write(self, essay: LabelledText, *, number: int) -> None:
        """Add a record.

        essay (LabelledText): What to write. number (int): Its position in the input, for messages.
        RAISES (PiiError): E640, if the form cannot hold it, nothing is written then; E512, if the disk refuses.
        """
        data = self.record(essay, number)
        try:
            self.put(data)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        self.n_written += 1

    def finish(self) -> None:
        """Give what was written the name OUT.

        RAISES (PiiError): E512, if that fails; OUT is as it was then.
        """
        try:
            self.end()
            self.replace()
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.out}'", reason=reason_of(err)) from err

    def start(self) -> None:
        """Open the partial file."""
        self._file = open(self.partial, "wb")  # noqa: SIM115  (lives as long as the run)
        self._file.write(self.head())

    def head(self) -> bytes:
        """RETURNS (bytes): What stands before the first record."""
        return b""

    def tail(self) -> bytes:
        """RETURNS (bytes): What stands after the last record."""
        return b""

    def record(self, essay: LabelledText, number: int) -> Any:
        """RETURNS (Any): A record as `put` takes it."""
        raise NotImplementedError

    def put(self, data: Any) -> None:
        """Write a record."""
        assert self._file is not None
        self._file.write(data)

    def end(self) -> None:
        """Write what comes after the last record, and see to it that all is on the disk."""
        assert self._file is not None
        self._file.write(self.tail())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def replace(self) -> None:
        """Put the partial file in the place of OUT."""
        os.replace(self.partial, self.out)

    def discard(self) -> None:
        """Remove the partial file, if it is still there."""
        if self._file is not None:
            self._file.close()
        if self.partial.is_dir():
            shutil.rmtree(self.partial, ignore_errors=True)
        else:
            self.partial.unlink(missing_ok=True)


class LinesWriter(CorpusWriter):
    """One JSON object per line."""

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): The object."""
        raise NotImplementedError

    def record(self, essay: LabelledText, number: int) -> bytes:
        row = self.row(essay, number)
        return as_json({**row, **self.other_fields(essay.meta, row)}, number, self.form) + b"\n"

    def other_fields(self, meta: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): Other fields of the record, without those whose names the form needs; they are counted."""
        free = {name: value for name, value in meta.items() if name not in row}
        if len(free) < len(meta):
            self.tally.notes["other fields left out"] += len(meta) - len(free)
        return free


class ArrayWriter(LinesWriter):
    """A JSON array, one object per line."""

    def head(self) -> bytes:
        return b"["

    def tail(self) -> bytes:
        return b"\n]\n"

    def put(self, data: bytes) -> None:
        super().put((b",\n" if self.n_written else b"\n") + data.removesuffix(b"\n"))


def as_json(value: Any, number: int, form: str) -> bytes:
    """RETURNS (bytes): JSON in UTF-8.

    RAISES (PiiError): E640, if a field holds half of a character or nothing that JSON has.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeError, TypeError, ValueError, RecursionError) as err:
        raise PiiError(Errors.E640, number=number, form=form, reason=type(err).__name__) from err


# Between offsets and tokens: BIO labels to spans, and spans to tokens of our own tokenizer.


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in tokens.

    doc (Doc): The tokens. spans (tuple[tuple[int, int, str], ...]): First token, end (exclusive), label.
    masked (tuple[tuple[int, int], ...]): Stretches of tokens. words, spaces, labels (list): One per token.
    """

    doc: "Doc"
    spans: tuple[GoldSpan, ...]
    masked: tuple[Stretch, ...]

    @property
    def words(self) -> list[str]:
        """RETURNS (list[str]): Texts of the tokens."""
        return [token.text for token in self.doc]

    @property
    def spaces(self) -> list[bool]:
        """RETURNS (list[bool]): Whether a space follows."""
        return [bool(token.whitespace_) for token in self.doc]

    @property
    def labels(self) -> list[str]:
        """RETURNS (list[str]): BIO; O also where the text is masked."""
        out = ["O"] * len(self.doc)
        for start, end, label in self.spans:
            out[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        return out

    def masked_characters(self) -> list[list[int]]:
        """RETURNS (list[list[int]]): The masked stretches in characters, end exclusive."""
        return [[self.doc[start].idx, self.doc[end - 1].idx + len(self.doc[end - 1])] for start, end in self.masked]


@cache
def blank_pipeline() -> "Language":
    """RETURNS (Language): English with our tokenizer and nothing else; takes texts of any length."""
    import spacy

    from ...ruler import tokenizer as tokenization

    assert tokenization.create_student_tokenizer  # registered also where the package runs from its folder, not installed
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.max_length = 1 << 31  # the limit protects parsers, which are not there
    return nlp


def tokenize(essay: LabelledText, *, number: int, tally: Tally) -> Tokens:
    """Lay gold on tokens. What begins or ends inside a token is masked; an edge in the space between two tokens moves to the
    token.

    essay (LabelledText): With offsets in characters. number (int): Of the record. tally (Tally): Gets what is masked.
    RETURNS (Tokens): Spans and masked stretches do not overlap.
    """
    doc = blank_pipeline().make_doc(essay.text)
    found: list[GoldSpan] = []
    rest: list[Stretch] = []
    for start, end in essay.masked:
        first, last = _touched(doc, start, end)
        if first < last:
            rest.append((first, last))
    masked_before = list(rest)
    for span in essay.spans:
        first, last = _touched(doc, span[0], span[1])
        if first == last:
            # Only a space between two tokens is labelled: the tokens beside it are masked.
            rest.append((max(first - 1, 0), min(last + 1, len(doc))))
            tally.mask(number, span, TOKEN)
        elif doc[first].idx < span[0] or doc[last - 1].idx + len(doc[last - 1]) > span[1]:
            rest.append((first, last))
            tally.mask(number, span, TOKEN)
        else:
            found.append((first, last, span[2]))
            if span[:2] != (doc[first].idx, doc[last - 1].idx + len(doc[last - 1])):
                tally.notes["edge moved over a space"] += 1
    # A masked stretch that ends inside a token takes the whole of it, and with it a span that begins or ends there.
    kept: list[GoldSpan] = []
    for first, last, label in found:
        if any(s < last and e > first for s, e in rest):
            before = any(s < last and e > first for s, e in masked_before)
            tally.mask(number, (doc[first].idx, doc[last - 1].idx + len(doc[last - 1]), label), IN_MASK if before else TOKEN)
            rest.append((first, last))
        else:
            kept.append((first, last, label))
    return Tokens(doc, tuple(kept), merge(rest))


def _touched(doc: "Doc", start: int, end: int) -> Stretch:
    """RETURNS (Stretch): First and last token (exclusive) that share a character with [start, end); empty if there is none."""
    low, high = 0, len(doc)
    while low < high:  # the first token that ends after start
        middle = (low + high) // 2
        if doc[middle].idx + len(doc[middle]) > start:
            high = middle
        else:
            low = middle + 1
    first = last = low
    while last < len(doc) and doc[last].idx < end:
        last += 1
    return first, last


def from_tokens(tokens: Any, spaces: Any, labels: Any, *, number: int, names: Sequence[str]) -> tuple[str, list[GoldSpan]]:
    """A text and its spans from tokens, marks of trailing white space and BIO labels.

    tokens, spaces, labels (Any): As they stand in the file. number (int): Of the record.
    names (Sequence[str]): Names of the three fields.
    RETURNS (tuple[str, list[GoldSpan]]): Offsets in characters; an I- without its B- begins a span, as in the Kaggle files.
    RAISES (PiiError): E520, E522, E523, E535, E537, E633.
    """
    for name, value in zip(names, (tokens, spaces, labels), strict=True):
        if not isinstance(value, list):
            raise PiiError(Errors.E522, number=number, name=name)
    if not len(tokens) == len(spaces) == len(labels):
        raise PiiError(Errors.E535, number=number, n_tokens=len(tokens), n_spaces=len(spaces), n_labels=len(labels))
    spans: list[GoldSpan] = []
    pos, before = 0, "O"
    for index, (token, space, label) in enumerate(zip(tokens, spaces, labels, strict=True)):
        if not isinstance(token, str):
            raise PiiError(Errors.E523, number=number, type=type(token).__name__)
        if space not in (True, False):
            raise PiiError(Errors.E633, number=number, index=index)
        if label != "O" and not (isinstance(label, str) and label[:2] in ("B-", "I-") and is_label(label[2:])):
            raise PiiError(Errors.E537, number=number, index=index)
        end = pos + len(token)
        if label.startswith("I-") and before[2:] == label[2:]:
            spans[-1] = (spans[-1][0], end, label[2:])
        elif label != "O":
            spans.append((pos, end, label[2:]))
        pos, before = end + (1 if space else 0), label
    text = join_tokens(tokens, spaces)
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return text, [span for span in spans if span[0] < span[1]]
