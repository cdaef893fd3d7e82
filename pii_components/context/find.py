"""Names that nobody marked, but that a strong cue, their form or a line of their own shows: "My name is Xu Tanaka".

Looked for within a line only; what is found must look like a name: capitals, or words of the name table.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from ..labels import NAME_LABELS, ROLES, STUDENT, label_for_role
from ..names.table import name_table
from ..names.wordlists import case_style, in_table, is_glued, is_initial, is_word, words
from ..spans import Candidate, free_of
from .cues import Cue, CueRules, beginnings
from .view import JOINERS, MASK, TURN_ZONES, DocView, Place

_FOUND_MOST = 4  # words of a name
_FOUND_SCORE = 0.9
_ALONE_SCORE = 0.6
_TOP, _END = 5, 3  # lines at the top and at the end that are looked at without a cue
_LONGEST_ALONE = 60  # characters of such a line


# Sources of names that their form shows, whatever stands beside them.
FORM_SOURCES = frozenset(
    ("cue:name_spaced", "cue:name_torn", "cue:name_native", "cue:name_leet", "cue:file_name", "native_name")
)
_NEXT = re.compile(r"\s?(?:,|;|&|/|,? and)\s+(?=[^\W\d_])")
_SMALL_WORD = re.compile(r"(?<![\w@/.-])[a-z]{4,}(?![\w@/])")  # tells that in this line a capital tells a name
_CUE_LENGTH = 500  # characters before a name that a cue may be about
_FILE_NAME = re.compile(
    r"(?<![\w/.@-])[^\W_](?=(?:[^\W_]|-)*+_)[\w-]*+(?:\.[\w-]++){0,2}\.(docx?|pdf|odt|rtf|txt|pages|pptx?|xlsx?|jpe?g|png|zip|mp4)(?!\w)",
    re.IGNORECASE,
)
Span = tuple[int, int]


def find_by_cue(view: DocView, cands: Sequence[Candidate], rules: CueRules) -> list[Candidate]:
    """RETURNS (list[Candidate]): New names, source "cue:<id>", free of the candidates that are there already."""
    finders = [cue for cue in rules.finders if view.turns or not cue.zone or not cue.zone <= TURN_ZONES]
    found: list[Candidate] = []
    above = ""
    for n in view.filled:
        line_above, above = above, view.line(n).lower()
        line = view.text[view.said_from(n) : view.lines[n][1]]
        lower = line.lower()
        if len(lower) != len(line):
            continue
        starts_here, starts_above = beginnings(lower), beginnings(line_above)
        for cue in finders:
            opened = starts_here if cue.line_before is None else starts_above
            if cue.gate and cue.gate.isdisjoint(opened) and not any(sign in lower for sign in cue.signs):
                continue
            if cue.line_before is not None and not (line_above and cue.line_before.search(line_above)):
                continue
            for span in _spans_of(view, n, cue, line):
                if free_of(cands, *span) and free_of(found, *span) and _zone_fits(view, cue, span):
                    found.append(_added(span, cue.id, cue.reason, role=cue.role))
    for finder in (_find_alone, _find_obfuscated, _find_leet, _find_in_file_names, _find_native):
        found += finder(view, [*cands, *found])
    return found


def _spans_of(view: DocView, n: int, cue: Cue, line: str) -> Iterator[Span]:
    low, high = view.said_from(n), view.lines[n][1]
    english = cue.english and _SMALL_WORD.search(line) is not None
    starts = _ends_of(cue, line.lower()) if cue.before is not None else [len(line) - len(line.lstrip(" \t-–—~*>•(\"“'"))]
    for at in starts:
        span = _name_at(view, low + at, high, strict=cue.before is None, english=english)
        if span and "small" in cue.zone:
            # Without capitals to go by, only given names that are no English word count.
            first = view.words[span[0]]
            if case_style(first) != "lower" or len(first) <= 3 or not name_table().is_given(first) or words().is_common(first):
                continue
        while span:
            yield span
            further = _NEXT.match(view.text, view.ends[span[1] - 1], high) if cue.lists else None
            span = _name_at(view, further.end(), high, strict=True, english=english) if further else None


def _find_alone(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    table, lists = name_table(), words()
    found = []
    lines = [n for n in view.filled[:_TOP] if n in view.header] + [n for n in view.filled[-_END:] if n in view.signoff]
    for n in dict.fromkeys(lines):
        low, high = view.lines[n]
        tokens = range(bisect_left(view.starts, low), bisect_left(view.starts, high))
        named = [i for i in tokens if not view.is_space(i) and is_word(view.words[i])]
        whole = [view.words[i] for i in named if not is_initial(view.words[i])]
        if not 2 <= len(whole) <= _FOUND_MOST or named[-1] - named[0] >= len(named) + 2 or high - low > _LONGEST_ALONE:
            continue
        span = (named[0], named[-1] + 1)
        if not free_of(cands, *span) or any(map(str.isdigit, view.line(n))):
            continue
        if any(lists.is_common(word) or not in_table(word) or case_style(word) not in ("title", "upper") for word in whole):
            continue
        if table.is_given(whole[0]) and table.is_surname(whole[-1]):
            found.append(_added(span, "name_alone", "a line with a name and nothing else", role=STUDENT, score=_ALONE_SCORE))
    return found


def _find_obfuscated(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    lists = words()
    found = []
    keys = Counter(piece.key for piece in view.obfuscated)
    for piece in view.obfuscated:
        span = (piece.start, piece.end)
        if not free_of(cands, *span) or any(map(lists.is_heading, piece.words)):
            continue
        common = [word for word in piece.words if lists.is_common(word)]
        known = any(in_table(word) for word in piece.words if word not in common) or (keys[piece.key] > 1 and not common)
        torn = piece.start in view.torn
        if torn and (not known or case_style(piece.words[0]) not in ("title", "upper")):
            continue
        if not known:
            zones = _place(view, span).zones
            if common or "alone" not in zones or not zones & {"header", "signoff"}:
                continue
        found.append(_added(span, "name_torn" if torn else "name_spaced", "a name, letter by letter or torn"))
    return found


def _find_native(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    return [_added(span, "name_native", "a name in a script of its own") for span in view.native if free_of(cands, *span)]


def _find_leet(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    spans: list[Span] = []
    for i in view.leet:
        if spans and i == spans[-1][1] and view.gap(i - 1) == " ":
            spans[-1] = (spans[-1][0], i + 1)
        else:
            spans.append((i, i + 1))
    return [_added(span, "name_leet", "a name with digits for letters") for span in spans if free_of(cands, *span)]


def _find_in_file_names(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    found: list[Candidate] = []
    for match in _FILE_NAME.finditer(view.text) if "_" in view.text else ():
        first, last = bisect_left(view.starts, match.start()), bisect_left(view.starts, match.start(1) - 1)
        run: list[int] = []
        for i in range(first, last + 1):
            word = view.words[i] if i < last else ""
            if word and is_word(word) and not words().is_common(word) and (in_table(word) or is_glued(word)):
                run.append(i)
            elif run and word not in ("_", "-", "."):
                span = (run[0], run[-1] + 1)
                if free_of(cands, *span):
                    found.append(_added(span, "file_name", "in the name of a file"))
                run = []
    return found


def _added(span: Span, rule: str, reason: str, *, role: str = "", score: float = _FOUND_SCORE) -> Candidate:
    roles = tuple(float(r == role) for r in ROLES) if role else (1 / len(ROLES),) * len(ROLES)
    return Candidate(*span, label_for_role(role or STUDENT), score, f"cue:{rule}", reason, roles)


def _place(view: DocView, span: Span) -> Place:
    return view.places([Candidate(*span, NAME_LABELS[0])])[0]


def _ends_of(cue: Cue, lower: str) -> list[int]:
    assert cue.before is not None
    # The pattern is anchored at its end; without the anchor it finds the places, with it they are checked.
    ends = [match.end() for match in _unanchored(cue.before.pattern).finditer(lower)]
    starts = [at for at in ends if at < len(lower) and lower[at].isalpha() and not lower[at - 1 : at].isalpha()]
    return [at for at in starts if cue.before.search(lower, max(0, at - _CUE_LENGTH), at)]


@cache
def _unanchored(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.removesuffix("$"))


def _zone_fits(view: DocView, cue: Cue, span: Span) -> bool:
    place = _place(view, span)
    if (cue.zone and not cue.zone & place.zones) or cue.not_zone & place.zones:
        return False
    if cue.after is not None and not cue.after.match(place.after.lower()):
        return False
    # Below "by" or "Sincerely" a name stands by itself, or with a comma after it.
    return cue.before is not None or "alone" in place.zones or re.match(r"\s*[,(|<]", place.after) is not None


def _name_at(view: DocView, char: int, high: int, *, strict: bool, english: bool = False) -> Span | None:
    lists = words()
    start = bisect_left(view.starts, char)
    while start < len(view) and not view.words[start]:  # what shows nothing begins where the word after it does
        start += 1
    if start >= len(view) or view.starts[start] != char:
        return None
    if lists.is_title(view.words[start]) and start + 1 < len(view):
        start += 1 + (view.words[start + 1] == ".")
    end, count, known, style = _read_name(view, start, high)
    while end > start:
        last = view.words[end - 1]
        if is_word(last) and not (lists.is_particle(last) and count > 1 and end - start > 1):
            break
        if last == "." and end - start >= 2 and is_initial(view.words[end - 2]):
            break
        end -= 1
    if start >= end or not 1 <= count <= _FOUND_MOST or (is_initial(view.words[start]) and end - start == 1):
        return None
    if (count == 1 or strict or style != "title") and not known:
        return None
    if known < 2 and all(map(lists.is_common, filter(is_word, view.words[start:end]))):
        return (start, end) if english and style == "title" and name_table().is_given(view.words[start]) else None
    return start, end


def _read_name(view: DocView, start: int, high: int) -> tuple[int, int, int, str]:
    lists = words()
    end, count, known, style = start, 0, 0, ""
    while end < len(view) and view.starts[end] < high and count < _FOUND_MOST + 1:
        word, gap = view.words[end], view.gap(end - 1) if end > start else None
        following = view.words[end + 1] if end + 1 < len(view) else ""
        joins = gap == "" and word in JOINERS and not view.gap(end) and is_word(following)
        if joins or not word:
            end += 1
            continue
        if gap not in (None, "", " "):
            break
        if word == "." and gap is not None and is_initial(view.words[end - 1]):
            end += 1
            continue
        if not is_word(word) or MASK in word or any(map(str.isdigit, word)) or "@" in word:
            break
        # "Hope Will": a word that is English too must be written like a name, and be one.
        this, common = case_style(word), lists.is_common(word)
        if lists.is_heading(word) or (common and not (in_table(word) and this in ("title", "upper"))):
            break
        known_here = in_table(word) or is_glued(word)
        particle = lists.is_particle(word) and count > 0
        if this == "lower" and not particle and (style == "title" or common or not known_here):
            break
        style = style or this
        count, known = count + (not particle), known + known_here
        end += 1
    return end, count, known, style
