"""Edges of names: headings and titles off, the rest of the name on.

    Reflection Ana Lopez    ->  Ana Lopez            Maria [Kowalska]      ->  Maria Kowalska
    Dr. Roe                 ->  Roe                  Ana's                 ->  Ana
    Ana Lopez, DVM          ->  Ana Lopez

Nothing is ever extended across a line break, and nothing but names is touched.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from .context_edges import (
    ends_sentence,
    follows_initial,
    is_and,
    is_foreign,
    is_pronoun,
    is_rest_of_field,
    is_unit,
    past_parent,
)
from .context_view import JOINERS, DocView
from .context_words import case_style, in_table, is_initial, is_word, words
from .context_worn import Worn
from .labels import is_name
from .spans import Candidate
from .surrogates.names import name_table

_SEEN, _WHOLE_SCORE = 0.3, 0.9
_MOST = 6  # words that a name can grow to
_CHILD_OF = re.compile(r" ?(?:[dsw]/o|a/[lp]) ", re.IGNORECASE)
_STOP = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")


def repair(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Mend the edges of names.

    view (DocView): The document. cands (Sequence[Candidate]): All candidates, without overlaps.
    RETURNS (list[Candidate]): Sorted; others than names as they were. Doing it twice changes nothing more.
    """
    names = [part for c in cands if is_name(c.label) for part in _split_lines(view, c)]
    others = [c for c in cands if not is_name(c.label)]
    shrunk = [c for c in (_shrink(view, c) for c in names) if c is not None]
    merged = _merge(view, _whole(view, sorted(shrunk, key=lambda c: c.start)))
    taken = [False] * len(view)
    for c in (*others, *merged):
        taken[c.start : c.end] = [True] * (c.end - c.start)
    grown = []
    for c in merged:
        bigger = _grow(view, c, taken)
        taken[bigger.start : bigger.end] = [True] * (bigger.end - bigger.start)
        grown.append(bigger)
    return sorted([*others, *_merge(view, grown)], key=lambda c: c.start)


def _split_lines(view: DocView, c: Candidate) -> list[Candidate]:
    """A name that runs over a line break, the end of a sentence or the "n" of a chat is two."""
    parts, start, chat = [], c.start, False
    for i in range(c.start, c.end):
        chat |= is_and(view, c, i)
        if (_STOP.search(view.words[i]) and i not in view.torn) or ends_sentence(view, c, i) or is_and(view, c, i):
            if i > start:
                parts.append(replace(c, start=start, end=i))
            start = i + 1
    if start < c.end:
        parts.append(replace(c, start=start, end=c.end))
    # "kim n me r so dead": what stands there in small letters is a name if a table says so.
    return [p for p in parts if any(_is_tabled(word) for word in view.words[p.start : p.end])] if chat else parts


def _is_tabled(word: str) -> bool:
    return in_table(word) and not words().is_common(word)


def _whole(view: DocView, names: list[Candidate]) -> list[Candidate]:
    """What stands letter by letter, torn over two lines or in a script of its own is all of a name or nothing."""
    for worn in (*view.worn, *(Worn(start, end, tuple(view.words[start:end])) for start, end in view.native)):
        touched = [c for c in names if c.start < worn.end and worn.start < c.end]
        if not touched or all(words().is_heading(word) for word in worn.words):
            continue
        strong = max(touched, key=lambda c: c.score)
        start, end = min(worn.start, touched[0].start), max(worn.end, touched[-1].end)
        # The model read letters or halves of words; that it saw a name there at all says more than how sure it was.
        sure = strong.score >= _SEEN and not any(words().is_common(word) for word in worn.words)
        strong = replace(strong, start=start, end=end, score=max(strong.score, _WHOLE_SCORE) if sure else strong.score)
        names = sorted([*(c for c in names if c not in touched), strong], key=lambda c: c.start)
    return names


def _shrink(view: DocView, c: Candidate) -> Candidate | None:
    """Headings, titles, possessives and stray signs off; None if nothing is left that can be a name."""
    lists, table = words(), name_table()
    start, end = c.start, c.end

    def core() -> int:
        return sum(1 for i in range(start, end) if is_word(view.words[i]) and not lists.is_heading(view.words[i]))

    while start < end:
        word = view.words[start]
        titled = start > 0 and lists.is_title(view.words[start - 1])
        if is_unit(view, start, end):
            start += 1 if view.words[start].endswith(".") else 2
            continue
        if end - start > 1 and ((lists.is_greeting(word) and not titled) or is_foreign(view, start, end)):
            start += 1
            continue
        title = lists.is_title(word) and end - start > 1 and (core() >= 2 or word.endswith(".") or not in_table(word))
        heading = lists.is_heading(word) and (core() >= 2 or not table.is_given(word))
        if is_word(word) and not title and not heading:
            break
        start += 1
    while start < end:
        word = view.words[end - 1]
        # "silva n i", of a chat
        if word == "n" and end - start > 1 and len(view.words[end - 2]) > 1 and case_style(view.words[end - 2]) == "lower":
            end -= 1
            continue
        initial = word == "." and end - start >= 2 and is_initial(view.words[end - 2])
        heading = lists.is_heading(word) and (core() >= 2 or not table.is_surname(word))
        credential = end - start >= 3 and view.words[end - 2] == "," and lists.is_credential(word)
        if (is_word(word) or initial) and not heading and not credential and not is_pronoun(view, start, end):
            break
        end -= 1
    if start >= end:
        return None
    return c if (start, end) == (c.start, c.end) else replace(c, start=start, end=end)


def _merge(view: DocView, names: Sequence[Candidate]) -> list[Candidate]:
    """Given name and surname that were found apart become one: neighbours of one word each, or joined by a hyphen or "_"."""
    table = name_table()
    found: list[Candidate] = []
    for c in names:
        if found:
            last = found[-1]
            between = view.words[last.end : c.start]
            gap = view.text[view.ends[last.end - 1] : view.starts[c.start]]
            one, two = view.words[last.end - 1], view.words[c.start]
            neighbours = (
                gap == " "
                and last.end - last.start == 1
                and c.end - c.start == 1
                and table.is_given(one)
                and table.is_surname(two)
            )
            neighbours = (
                neighbours
                and case_style(one) == case_style(two)
                and not (table.is_given(two) and c.score >= 0.5 and last.role != c.role)
            )
            neighbours = neighbours or (gap == " " and _is_hyphened(view, last) and c.end - c.start == 1 and table.is_surname(two))
            glued = len(between) == 1 and between[0] in JOINERS and gap == between[0]
            glued = glued or follows_initial(view, last, c, gap) or _CHILD_OF.fullmatch(one + gap if gap[:1] == "/" else gap) is not None
            if neighbours or glued or (gap == ", " and last.end + 1 == c.start and _is_turned(view, last.start, c.end)):
                found[-1] = _join(last, c)
                continue
        found.append(c)
    return found


def _is_turned(view: DocView, start: int, end: int) -> bool:
    """Whether tokens are "Last, First" and all of their field: "Exam no. 12 / Lopez, Ana / Q5", a line of a list."""
    table = name_table()
    last, first = view.words[start], view.words[end - 1]
    if end - start != 3 or not (table.is_surname(last) and table.is_given(first)) or words().is_common(last):
        return False
    before, after = view.text[: view.starts[start]].rstrip(" \t"), view.text[view.ends[end - 1] :].lstrip(" \t")
    return before[-1:] in tuple("\n/|:;([–—•\t-") + ("",) and after[:1] in tuple("\n/|;)]([–—-") + ("",)


def _is_hyphened(view: DocView, c: Candidate) -> bool:
    """Whether a name is one word of two parts with a hyphen, as given names of East Asia are: "Hyeon-woo" is not all of a name."""
    return re.fullmatch(r"[^\W\d_]+[-‐‑][^\W\d_]+", view.text[view.starts[c.start] : view.ends[c.end - 1]]) is not None


def _join(a: Candidate, b: Candidate) -> Candidate:
    strong = a if a.score >= b.score else b
    return replace(strong, start=a.start, end=b.end)


def _grow(view: DocView, c: Candidate, taken: list[bool]) -> Candidate:
    """Take in the neighbouring words that belong to the name."""
    start, end = c.start, past_parent(view, c, taken)
    while end - start < _MOST:
        step = _right(view, start, end, taken)
        if not step:
            break
        end += step
    while end - start < _MOST:
        step = _left(view, start, end, taken)
        if not step:
            break
        start -= step
    return c if (start, end) == (c.start, c.end) else replace(c, start=start, end=end)


def _right(view: DocView, start: int, end: int, taken: list[bool]) -> int:
    """RETURNS (int): How many tokens to take in on the right; 0 for none."""
    if end >= len(view) or taken[end]:
        return 0
    lists, table = words(), name_table()
    style = case_style(view.words[end - 1] if not is_initial(view.words[end - 1]) else view.words[start])
    gap, word = view.gap(end - 1), view.words[end]
    many = sum(1 for i in range(start, end) if is_word(view.words[i]) and not is_initial(view.words[i]))

    def fits(i: int) -> bool:
        if i >= len(view) or taken[i] or lists.is_heading(view.words[i]) or not is_word(view.words[i]):
            return False
        return (
            case_style(view.words[i]) == style and style != "other" and (style != "lower" or not lists.is_common(view.words[i]))
        )

    if (
        not gap
        and word in JOINERS
        and end + 1 < len(view)
        and not view.gap(end)
        and fits(end + 1)
        and in_table(view.words[end + 1])
    ):
        # "Jean-" + "Luc", "Ana_" + "Lopez"
        return 2
    if gap != " " or many >= 3:
        return 0
    if many == 1 and style in ("title", "upper") and fits(end) and is_rest_of_field(view, start, end):
        return 1
    given = table.is_given(view.words[end - 1]) or is_initial(view.words[end - 1])
    initials_only = many == 0
    if fits(end) and table.is_surname(word) and not is_initial(word):
        if many == 1 and given and not (table.is_surname(view.words[end - 1]) and lists.is_common(word)):
            return 1
        if (initials_only or is_initial(view.words[end - 1])) and end - start <= 3:
            return 1
    if many == 1 and given and style in ("title", "upper"):
        if is_initial(word) and word[0].isupper():
            # "Maria" + "K. Kowalska"; a bare "I" is the pronoun
            far = end + 1 + (end + 1 < len(view) and view.words[end + 1] == ".")
            if fits(far) and table.is_surname(view.words[far]) and view.gap(far - 1) == " ":
                return far + 1 - end
        if lists.is_particle(word):
            far = end + 1 + (end + 1 < len(view) and lists.is_particle(view.words[end + 1]))
            if fits(far) and table.is_surname(view.words[far]) and all(view.gap(i) == " " for i in range(end, far)):
                return far + 1 - end
    return 0


def _left(view: DocView, start: int, end: int, taken: list[bool]) -> int:
    """RETURNS (int): How many tokens to take in on the left; 0 for none."""
    if start == 0 or taken[start - 1]:
        return 0
    lists, table = words(), name_table()
    word, before, gap = view.words[start], view.words[start - 1], view.gap(start - 1)
    if before in JOINERS and not gap and start >= 2 and not taken[start - 2] and not view.gap(start - 2):
        first = view.words[start - 2]
        same = (
            case_style(first) == case_style(word)
            and is_word(first)
            and not lists.is_heading(first)
            and not lists.is_common(first)
        )
        return 2 if same and table.is_given(first) else 0
    single = sum(1 for i in range(start, end) if is_word(view.words[i])) == 1
    if before == "," and gap == " " and single and start >= 2 and not view.gap(start - 2) and not taken[start - 2]:
        turned = case_style(view.words[start - 2]) == case_style(word) and _is_turned(view, start - 2, end)
        return 2 if turned and not lists.is_heading(view.words[start - 2]) else 0
    if gap != " " or not single or not table.is_surname(word) or lists.is_heading(before) or lists.is_title(before):
        return 0
    if (
        before == "."
        and start >= 2
        and is_initial(view.words[start - 2])
        and not taken[start - 2]
        and view.words[start - 2].isupper()
    ):
        return 0 if is_unit(view, start - 2, end) else 2
    if len(before) == 2 and is_initial(before) and before[0].isupper():
        return 0 if is_unit(view, start - 1, end) else 1
    common = lists.is_common(before) and (start < 2 or not view.words[start - 2].isalpha() or lists.is_common(word))
    style = case_style(word)
    if (
        style in ("title", "upper")
        and case_style(before) == style
        and table.is_given(before)
        and not common
        and not lists.is_common(before)
    ):
        return 1
    return 0
