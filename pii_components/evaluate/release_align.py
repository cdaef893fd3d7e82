"""Where the surrogates and the leaks lie in a release, from the original beside it.

    pair = ReleasedText("7", original, released)                # spans of surrogates are found by comparing the two
    items = find_items(pair, gold=[(11, 20, "NAME_STUDENT")])   # in the original
    items[0].kind, items[0].start, items[0].end                 # in the release

A release holds the words of its original outside of what was replaced, so that a comparison word by word finds what was. Where the
spans of the surrogates are known (`doc._.surrogate_spans`, or a labelled file), they are taken instead.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from ..alignment import Edit, OffsetMap
from ..errors import Errors, PiiError
from ..labels import is_name

SURROGATE, LEAK = "surrogate", "leak"
LabelledSpan = tuple[int, int, str]
_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


@dataclass(frozen=True, slots=True)
class ReleasedText:
    """A document before and after.

    id (str): Its id. original (str), released (str): The texts.
    surrogates (tuple[LabelledSpan, ...] | None): Start, end (exclusive) and label in the released text; None if nobody wrote them.
    """

    id: str
    original: str = field(repr=False)
    released: str = field(repr=False)
    surrogates: tuple[LabelledSpan, ...] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """What a reader of the release would take for personal information.

    document (str): Id. start (int), end (int): Characters in the released text, end exclusive. kind (str): SURROGATE or LEAK.
    label (str): Label; empty where it is not known. partial (bool): For a leak: whether a part of it was replaced.
    """

    document: str
    start: int
    end: int
    kind: str
    label: str = ""
    partial: bool = False


def from_doc(doc: Any, ident: str) -> ReleasedText:
    """RETURNS (ReleasedText): Of a spaCy Doc that `hips_surrogate` has seen. ident (str): Its id."""
    spans = tuple((row["start_char"], row["end_char"], row["label"]) for row in doc._.surrogate_spans)
    return ReleasedText(ident, doc.text, doc._.deidentified, spans)


def align(pair: ReleasedText) -> OffsetMap:
    """What was replaced by what.

    pair (ReleasedText): The texts. RETURNS (OffsetMap): Original to released offsets.
    RAISES (PiiError): E771, if nothing is left of the original, or the spans do not lie in the release.
    """
    old = _tokens(pair.original, 0, len(pair.original))
    new: list[tuple[int, int]] = []
    closed: set[int] = set()  # tokens of `new` that are surrogates: equal to nothing in the original
    at = 0
    for start, end, _ in pair.surrogates or ():
        if not at <= start < end <= len(pair.released):
            raise PiiError(Errors.E771, document=pair.id, reason="spans that overlap or lie outside of the release")
        new += _tokens(pair.released, at, start)
        closed.add(len(new))
        new.append((start, end))
        at = end
    new += _tokens(pair.released, at, len(pair.released))
    before: list[object] = [pair.original[s:e] for s, e in old]
    after: list[object] = [i if i in closed else pair.released[s:e] for i, (s, e) in enumerate(new)]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    edits: list[tuple[int, int, int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            found = (_start(old, i1), _start(old, i2), _start(new, j1), _start(new, j2))
            holds = any(j in closed for j in range(j1, j2))
            edits.append(_trim(pair, found, any_character=holds))
    if len(old) > 20 and matcher.ratio() < 0.5:
        raise PiiError(Errors.E771, document=pair.id, reason="texts that differ in more than half of their words")
    return OffsetMap(len(pair.original), len(pair.released), tuple(Edit(*edit) for edit in edits))


def _tokens(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(m.start(), m.end()) for m in _WORD.finditer(text, start, end)]


def _start(tokens: Sequence[tuple[int, int]], index: int) -> int:
    if index < len(tokens):
        return tokens[index][0]
    return tokens[-1][1] if tokens else 0


def _trim(pair: ReleasedText, edit: tuple[int, int, int, int], *, any_character: bool) -> tuple[int, int, int, int]:
    """Take what is the same on both sides off an edit: white space, and with known spans any character outside of them."""
    start, end, new_start, new_end = edit
    inside = [(s, e) for s, e, _ in pair.surrogates or () if s < new_end and e > new_start] if any_character else []
    low = inside[0][0] if inside else new_end
    high = inside[-1][1] if inside else new_start

    def same(old: int, new: int) -> bool:
        char = pair.original[old]
        return char == pair.released[new] and (bool(inside) or char.isspace())

    while start < end and new_start < new_end and new_start < low and same(start, new_start):
        start, new_start = start + 1, new_start + 1
    while end > start and new_end > new_start and new_end > high and same(end - 1, new_end - 1):
        end, new_end = end - 1, new_end - 1
    return start, end, new_start, new_end


def find_items(pair: ReleasedText, gold: Sequence[LabelledSpan]) -> list[Item]:
    """Surrogates, and gold entities that stand in clear.

    An entity is a leak with the words of it that no edit touches. Where the spans of the surrogates are known, every such word
    counts; where they were found by comparing, only names are taken apart: a surrogate address may keep the word "Street".

    pair (ReleasedText): The texts. gold (Sequence[LabelledSpan]): Start, end and label in the original.
    RETURNS (list[Item]): Sorted by place in the released text, without overlaps.
    """
    offsets = align(pair)
    if pair.surrogates is not None:
        items = [Item(pair.id, start, end, SURROGATE, label) for start, end, label in pair.surrogates]
    else:
        items = [
            Item(pair.id, s, e, SURROGATE, _label_at(gold, start, end)) for start, end, s, e in _joined(pair, offsets) if s < e
        ]
    for start, end, label in gold:
        words = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", pair.original[start:end])]
        clear = [w for w in words if not _touched(offsets, *w) and any(c.isalnum() for c in pair.original[w[0] : w[1]])]
        partial = len(clear) < len(words)
        if not clear or (partial and pair.surrogates is None and not is_name(label)):
            continue
        for s, e in _runs(clear, words):
            new_start, new_end = offsets.span_to_new(s, e)
            items.append(Item(pair.id, new_start, new_end, LEAK, label, partial))
    return sorted(items, key=lambda item: (item.start, item.end))


def _touched(offsets: OffsetMap, start: int, end: int) -> bool:
    return any(edit.start < end and edit.end > start for edit in offsets.edits)


def _joined(pair: ReleasedText, offsets: OffsetMap) -> list[tuple[int, int, int, int]]:
    """Edits as (start, end, new start, new end); those with only white space or one sign between them are one value."""
    out: list[tuple[int, int, int, int]] = []
    for edit in offsets.edits:
        between = pair.original[out[-1][1] : edit.start] if out else ""
        if out and len(between) <= 2 and not any(c.isalnum() or c in "\n,;" for c in between):
            out[-1] = (out[-1][0], edit.end, out[-1][2], edit.new_end)
        else:
            out.append((edit.start, edit.end, edit.new_start, edit.new_end))
    return out


def _label_at(gold: Sequence[LabelledSpan], start: int, end: int) -> str:
    return next((label for s, e, label in gold if s < end and e > start), "")


def _runs(clear: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Words in clear that follow one another are one leak."""
    out: list[tuple[int, int]] = []
    for word in words:
        if word in clear:
            joins = bool(out) and words[words.index(word) - 1][1] == out[-1][1]
            out = [*out[:-1], (out[-1][0], word[1])] if joins else [*out, word]
    return out


def replaced_values(pair: ReleasedText, *, least: int = 4) -> list[LabelledSpan]:
    """Without gold: places in the original where a word that was replaced elsewhere in the document stands in clear.

    pair (ReleasedText): The texts. least (int): Characters of such a word; only capitalised words with a letter count.
    RETURNS (list[LabelledSpan]): Those places, and what was replaced; the label is empty. A lower bound: what was never found
        cannot be seen like this.
    """
    offsets = align(pair)
    places = [(edit[0], edit[1]) for edit in _joined(pair, offsets) if edit[0] < edit[1]]
    words = {w for start, end in places for w in re.findall(r"\w+", pair.original[start:end])}
    known = {w for w in words if len(w) >= least and w[0].isupper()}
    found = [
        (m.start(), m.end(), "")
        for m in re.finditer(r"\w+", pair.original)
        if m.group() in known and not _touched(offsets, m.start(), m.end())
    ]
    return sorted([*found, *((start, end, "") for start, end in places)])
