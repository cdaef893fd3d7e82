"""What a component found, written with each name whole. Apart from the modules that read names: those need no spaCy."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from spacy.tokens import Doc

from ..config import Configured
from ..labels import INDIRECT_LABELS
from ..spans import GIVEN, SPANS_KEY, Candidate, uncovered, with_given, write_spans
from .table import name_table
from .wordlists import case_style, in_table, words

# Names of which a span has only a part, because the tokens are not those that our components are made for.
_MOST_GROWN, _LONGEST_WORD = 6, 40  # words that a name can grow to, and characters of one
_WORD, _GAP = r"([^\W\d_]+)", r"([ _-]|, ?|['’]?)"
_BEFORE, _AFTER = re.compile(rf"{_WORD}{_GAP}\Z"), re.compile(rf"{_GAP}{_WORD}")
_FIRST, _LAST = re.compile(_WORD), re.compile(rf"{_WORD}(?:['’]s)?['’]?\Z")


def write_found(
    component: Configured, doc: Doc, found: Sequence[Candidate], key: str = SPANS_KEY
) -> None:
    """Write to `doc.spans[key]` what a component found, and what a user gave; each name whole, where the tokens are not ours."""
    write = write_spans if component.has_our_tokens(doc) else write_whole
    write(doc, with_given(doc, found, key), key)


def write_whole(doc: Doc, candidates: Iterable[Candidate], key: str = SPANS_KEY) -> None:
    """As `write_spans`, each name whole, also where a part of it was taken for an indirect detail; what a user gave stays as it is."""
    given = doc.spans[key].attrs.get(GIVEN, ()) if key in doc.spans else ()
    cands = list(candidates)
    fixed = [[c.start, c.end, c.label] in given for c in cands]
    yields = [c.label in INDIRECT_LABELS and not f for c, f in zip(cands, fixed, strict=True)]
    every = {i for c in cands for i in range(c.start, c.end)}
    taken = {i for c, y in zip(cands, yields, strict=True) if not y for i in range(c.start, c.end)}
    for n, c in enumerate(cands):
        others = every if yields[n] else taken
        for _ in range(0 if fixed[n] else _MOST_GROWN):
            start, end = _wider(doc, c)
            more = {*range(start, end)}.difference(range(c.start, c.end))
            if not more or more & others:
                break
            others |= more
            cands[n] = c = replace(c, start=start, end=end)
    found = list[Candidate]()
    for c, y in zip(cands, yields, strict=True):
        torn = y and not taken.isdisjoint(range(c.start, c.end))
        found += uncovered(doc, c, taken) if torn else [c]
    write_spans(doc, found, key)


def _wider(doc: Doc, c: Candidate) -> tuple[int, int]:
    """RETURNS (tuple[int, int]): Tokens of the span and of a word beside it that belongs to the name; of the span, if there is none."""
    span = doc[c.start : c.end]
    low, high, text = span.start_char, span.end_char, doc.text
    first, last = _FIRST.match(span.text), _LAST.search(span.text)
    before, after = _BEFORE.search(text, max(0, low - _LONGEST_WORD), low), _AFTER.match(text, high)
    if first and before and _are_one(before[1], before[2], first[1]):
        low = before.start()
    if last and after and _are_one(last[1], after[1], after[2]):
        high = after.end()
    wider = doc.char_span(low, high, alignment_mode="expand") or span
    return wider.start, wider.end


def _are_one(word: str, gap: str, other: str) -> bool:
    """Whether two words are one name: parts of one word, first and last name, or last and first name with a comma."""
    if gap in ("", "'", "’"):
        return True
    table, lists, style = name_table(), words(), case_style(word)
    ends = lists.is_common(other) if style == "lower" else lists.is_heading(other)
    if style != case_style(other) or lists.is_common(word) or ends:
        return False
    if gap.startswith(","):
        return (
            table.is_surname(word)
            and table.is_given(other)
            and (gap == "," or table.leaning(word) == "surname")
        )
    return len(other) > 1 and in_table(word) and table.is_surname(other)
