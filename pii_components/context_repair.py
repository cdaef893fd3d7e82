"""Edges of names: headings and titles off, the rest of the name on; names that only a strong cue shows.

    Reflection Ana Lopez    ->  Ana Lopez            Maria [Kowalska]      ->  Maria Kowalska
    Dr. Roe                 ->  Roe                  Ana's                 ->  Ana
    My name is Xu Tanaka    ->  Xu Tanaka (source "cue:my_name_is")

Nothing is ever extended across a line break, and nothing but names is touched.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from .context_cues import Cue, CueRules
from .context_view import MASK, DocView
from .context_words import case_style, in_table, is_initial, words
from .labels import NAME_LABELS, ROLES, is_name, label_for_role
from .spans import Candidate, free_of
from .surrogates.names import name_table

_POSSESSIVE = ("'s", "’s", "'", "’", "´s", "`s", "'S", "’S")
_JOINERS = ("-", "‐", "‑", "'", "’", "_", "´", "`")
_MOST = 6  # words that a name can grow to
_FOUND_MOST = 4  # words of a name that only a cue shows
_FOUND_SCORE = 0.9
_STOP = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")


def repair(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Mend the edges of names.

    view (DocView): The document. cands (Sequence[Candidate]): All candidates, without overlaps.
    RETURNS (list[Candidate]): Sorted; others than names as they were. Doing it twice changes nothing more.
    """
    names = [part for c in cands if is_name(c.label) for part in _split_lines(view, c)]
    others = [c for c in cands if not is_name(c.label)]
    shrunk = [c for c in (_shrink(view, c) for c in names) if c is not None]
    merged = _merge(view, sorted(shrunk, key=lambda c: c.start))
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
    """A name that runs over a line break is two."""
    parts, start = [], c.start
    for i in range(c.start, c.end):
        if _STOP.search(view.words[i]):
            if i > start:
                parts.append(replace(c, start=start, end=i))
            start = i + 1
    if start < c.end:
        parts.append(replace(c, start=start, end=c.end))
    return parts


def _shrink(view: DocView, c: Candidate) -> Candidate | None:
    """Headings, titles, possessives and stray signs off; None if nothing is left that can be a name."""
    lists, table = words(), name_table()
    start, end = c.start, c.end

    def core() -> int:
        return sum(1 for i in range(start, end) if _is_word(view.words[i]) and not lists.is_heading(view.words[i]))

    while start < end:
        word = view.words[start]
        if not _is_word(word):
            start += 1
        elif lists.is_title(word) and end - start > 1 and (core() >= 2 or word.endswith(".") or not in_table(word)):
            start += 1
        elif lists.is_heading(word) and (not table.is_given(word) or core() >= 2):
            start += 1
        else:
            break
    while start < end:
        word = view.words[end - 1]
        initial = word == "." and end - start >= 2 and is_initial(view.words[end - 2])
        if word in _POSSESSIVE or (not _is_word(word) and not initial):
            end -= 1
        elif lists.is_heading(word) and end - start >= 1 and (not table.is_surname(word) or core() >= 2):
            end -= 1
        else:
            break
    if start >= end:
        return None
    return c if (start, end) == (c.start, c.end) else replace(c, start=start, end=end)


def _is_word(word: str) -> bool:
    return any(ch.isalpha() for ch in word) and word not in _POSSESSIVE


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
            neighbours = gap == " " and last.end - last.start == 1 and c.end - c.start == 1 and table.is_given(one) and table.is_surname(two)
            neighbours = neighbours and case_style(one) == case_style(two) and not (table.is_given(two) and c.score >= 0.5 and last.role != c.role)
            glued = len(between) == 1 and between[0] in _JOINERS and gap == between[0]
            if neighbours or glued:
                found[-1] = _join(last, c)
                continue
        found.append(c)
    return found


def _join(a: Candidate, b: Candidate) -> Candidate:
    strong = a if a.score >= b.score else b
    return replace(strong, start=a.start, end=b.end)


def _grow(view: DocView, c: Candidate, taken: list[bool]) -> Candidate:
    """Take in the neighbouring words that belong to the name."""
    start, end = c.start, c.end
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
    many = sum(1 for i in range(start, end) if _is_word(view.words[i]) and not is_initial(view.words[i]))

    def fits(i: int) -> bool:
        if i >= len(view) or taken[i] or lists.is_heading(view.words[i]) or not _is_word(view.words[i]):
            return False
        return case_style(view.words[i]) == style and style != "other" and (style != "lower" or not lists.is_common(view.words[i]))

    if not gap and word in _JOINERS and end + 1 < len(view) and not view.gap(end) and fits(end + 1) and in_table(view.words[end + 1]):
        # "Jean-" + "Luc", "Ana_" + "Lopez"
        return 2
    if gap != " " or many >= 3:
        return 0
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
    if before in _JOINERS and not gap and start >= 2 and not taken[start - 2] and not view.gap(start - 2):
        first = view.words[start - 2]
        same = case_style(first) == case_style(word) and _is_word(first) and not lists.is_heading(first) and not lists.is_common(first)
        return 2 if same and table.is_given(first) else 0
    single = sum(1 for i in range(start, end) if _is_word(view.words[i])) == 1
    if gap != " " or not single or not table.is_surname(word) or lists.is_heading(before) or lists.is_title(before):
        return 0
    if before == "." and start >= 2 and is_initial(view.words[start - 2]) and not taken[start - 2] and view.words[start - 2].isupper():
        return 2
    if len(before) == 2 and is_initial(before) and before[0].isupper():
        return 1
    common = lists.is_common(before) and (start < 2 or not view.words[start - 2].isalpha() or lists.is_common(word))
    style = case_style(word)
    if style in ("title", "upper") and case_style(before) == style and table.is_given(before) and not common and not lists.is_common(before):
        return 1
    return 0


def find_by_cue(view: DocView, cands: Sequence[Candidate], rules: CueRules) -> list[Candidate]:
    """Names that no one marked but a strong cue shows.

    view (DocView): The document. cands (Sequence[Candidate]): What is there already. rules (CueRules): Those with `find` are used.
    RETURNS (list[Candidate]): New candidates, source "cue:<id>", free of the others.
    """
    finders = [cue for cue in rules.cues if cue.find]
    found: list[Candidate] = []
    for n in view.filled:
        low, high = view.lines[n]
        line = view.text[low:high]
        lower = line.lower()
        if len(lower) != len(line):
            continue
        above = ""
        for cue in finders:
            if cue.when and not any(word in lower for word in cue.when):
                continue
            if cue.before is None:
                above = above or _line_above(view, n)
                if not above or cue.line_before is None or not cue.line_before.search(above):
                    continue
                starts = [len(line) - len(line.lstrip(" \t-–—~*>•(\"“'"))]
            else:
                starts = _ends_of(cue, lower)
            for at in starts:
                span = _name_at(view, low + at, high, strict=cue.before is None)
                if span and free_of(cands, *span) and free_of(found, *span) and _zone_fits(view, n, cue, span):
                    roles = tuple(1.0 if role == cue.role else 0.0 for role in ROLES)
                    found.append(Candidate(*span, label_for_role(cue.role), _FOUND_SCORE, f"cue:{cue.id}", cue.reason, roles))
    return found


def _line_above(view: DocView, n: int) -> str:
    at = view.filled.index(n)
    return view.text[slice(*view.lines[view.filled[at - 1]])].lower() if at else ""


def _ends_of(cue: Cue, lower: str) -> list[int]:
    """Where in a line a pattern for "before a name" ends. It is anchored at its end, so candidate ends are tried: starts of words."""
    assert cue.before is not None
    ends = []
    first = min((at for at in (lower.find(word) for word in cue.when) if at >= 0), default=0)
    for match in re.finditer(r"(?<![^\W\d_])[^\W\d_]", lower[first:]):
        at = first + match.start()
        if cue.before.search(lower[max(0, at - 100) : at] if at > 100 else lower[:at]):
            ends.append(at)
    return ends


def _zone_fits(view: DocView, n: int, cue: Cue, span: tuple[int, int]) -> bool:
    place = view.places([Candidate(*span, NAME_LABELS[0])])[0]
    if (cue.zone and not cue.zone & place.zones) or cue.not_zone & place.zones:
        return False
    if cue.after is not None and not cue.after.match(place.after.lower()):
        return False
    # Below "by" or "Sincerely" a name stands by itself, or with a comma after it.
    return cue.before is not None or "alone" in place.zones or re.match(r"\s*[,(|<]", place.after) is not None


def _name_at(view: DocView, char: int, high: int, *, strict: bool) -> tuple[int, int] | None:
    """The tokens of a name that starts at a character: capitals, or words of the name table; None if it does not look like one."""
    from bisect import bisect_left

    lists = words()
    start = bisect_left(view.starts, char)
    if start >= len(view) or view.starts[start] != char:
        return None
    if lists.is_title(view.words[start]) and start + 1 < len(view):
        start += 1 + (view.words[start + 1] == ".")
    end, count, known, style = start, 0, 0, ""
    while end < len(view) and view.starts[end] < high and count < _FOUND_MOST + 1:
        word = view.words[end]
        joined = end > start and not view.gap(end - 1)
        if joined and word in _JOINERS and end + 1 < len(view) and not view.gap(end) and _is_word(view.words[end + 1]):
            end += 1
            continue
        if end > start and view.gap(end - 1) not in ("", " "):
            break
        if word == "." and is_initial(view.words[end - 1]) and end > start:
            end += 1
            continue
        if not _is_word(word) or MASK in word or any(ch.isdigit() for ch in word) or "@" in word:
            break
        if lists.is_heading(word) or (lists.is_common(word) and not (case_style(word) in ("title", "upper") and in_table(word) and count)):
            if not (count == 0 and case_style(word) == "title" and in_table(word) and not lists.is_heading(word)):
                break
        particle = lists.is_particle(word) and count > 0
        this = case_style(word)
        if this == "lower" and not particle and not (in_table(word) and not lists.is_common(word)):
            break
        if style == "title" and this == "lower" and not particle:
            break
        style = style or this
        count, known = count + (not particle), known + in_table(word)
        end += 1
    while end > start and (not _is_word(view.words[end - 1]) or (lists.is_particle(view.words[end - 1]) and count > 1 and end - start > 1)):
        if view.words[end - 1] == "." and end - start >= 2 and is_initial(view.words[end - 2]):
            break
        end -= 1
    if start >= end or not 1 <= count <= _FOUND_MOST or (is_initial(view.words[start]) and end - start == 1):
        return None
    if (count == 1 or strict or style != "title") and not known:
        return None
    if all(lists.is_common(view.words[i]) for i in range(start, end) if _is_word(view.words[i])) and known < 2:
        return None
    return start, end


__all__ = ["find_by_cue", "repair"]
