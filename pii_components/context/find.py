"""Names that nobody marked, but that a strong cue or a line of their own shows.

    My name is Xu Tanaka    ->  Xu Tanaka (source "cue:my_name_is")

Looked for within a line only; what is found must look like a name: capitals, or words of the name table.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache

from ..labels import NAME_LABELS, ROLES, STUDENT, label_for_role
from ..names.table import name_table
from ..names.wordlists import case_style, in_table, is_glued, is_initial, is_word, words
from ..spans import Candidate, free_of
from .cues import Cue, CueRules, beginnings
from .view import JOINERS, MASK, TURN_ZONES, DocView

_FOUND_MOST = 4  # words of a name
_FOUND_SCORE = 0.9
_ALONE_SCORE = 0.6
_TOP, _END = 5, 3  # lines at the top and at the end that are looked at without a cue


# Sources of names that their form shows, whatever stands beside them.
FORM_SOURCES = frozenset(
    ("cue:name_spaced", "cue:name_torn", "cue:name_native", "cue:name_leet", "cue:file_name", "native_name")
)
_NEXT = re.compile(r"\s?(?:,|;|&|/|,? and)\s+(?=[^\W\d_])")
_SMALL_WORD = re.compile(r"(?<![\w@/.-])[a-z]{4,}(?![\w@/])")
_FILE_NAME = re.compile(
    r"(?<![\w/.@-])[^\W_][\w-]*_[\w-]*(?:\.[\w-]+){0,2}\.(docx?|pdf|odt|rtf|txt|pages|pptx?|xlsx?|jpe?g|png|zip|mp4)(?!\w)",
    re.IGNORECASE,
)


def find_by_cue(view: DocView, cands: Sequence[Candidate], rules: CueRules) -> list[Candidate]:
    """Names that no one marked but a strong cue shows.

    view (DocView): The document. cands (Sequence[Candidate]): What is there already.
    rules (CueRules): Those with `find` are used.
    RETURNS (list[Candidate]): New candidates, source "cue:<id>", free of the others.
    """
    finders = [cue for cue in rules.finders if view.turns or not cue.zone or not cue.zone <= TURN_ZONES]
    found: list[Candidate] = []
    above = ""
    for n in view.filled:
        low, high = view.said_from(n), view.lines[n][1]
        line = view.text[low:high]
        lower, line_above = line.lower(), above
        above = view.text[slice(*view.lines[n])].lower()
        if len(lower) != len(line):
            continue
        starts_here, starts_above = beginnings(lower), beginnings(line_above)
        for cue in finders:
            opened = starts_here if cue.line_before is None else starts_above
            if cue.gate and cue.gate.isdisjoint(opened) and not any(sign in lower for sign in cue.signs):
                continue
            if cue.line_before is not None and not (line_above and cue.line_before.search(line_above)):
                continue
            starts = _ends_of(cue, lower) if cue.before is not None else [len(line) - len(line.lstrip(" \t-–—~*>•(\"“'"))]
            for at in starts:
                english = cue.english and _in_sentences(line)
                span = _name_at(view, low + at, high, strict=cue.before is None, english=english)
                if span and "small" in cue.zone and not _small_name(view, span):
                    continue
                while span:
                    if free_of(cands, *span) and free_of(found, *span) and _zone_fits(view, n, cue, span):
                        roles = tuple(1.0 if role == cue.role else 0.0 for role in ROLES)
                        found.append(
                            Candidate(*span, label_for_role(cue.role), _FOUND_SCORE, f"cue:{cue.id}", cue.reason, roles)
                        )
                    further = _NEXT.match(view.text, view.ends[span[1] - 1], high) if cue.lists else None
                    span = _name_at(view, further.end(), high, strict=True, english=english) if further else None
    found += _find_alone(view, [*cands, *found])
    found += _find_worn(view, [*cands, *found])
    found += _find_leet(view, [*cands, *found])
    found += _find_in_file_names(view, [*cands, *found])
    return [*found, *_find_native(view, [*cands, *found])]


def _small_name(view: DocView, span: tuple[int, int]) -> bool:
    """Without capitals to go by, only given names that are no English word count."""
    first, lists = view.words[span[0]], words()
    return case_style(first) == "lower" and len(first) > 3 and name_table().is_given(first) and not lists.is_common(first)


def _in_sentences(line: str) -> bool:
    """Whether words of a line begin with a small letter, so that a capital tells a name."""
    return _SMALL_WORD.search(line) is not None


def _find_alone(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Lines at the top and at the end that hold a given name and a surname of the name table and nothing else."""
    table, lists = name_table(), words()
    found = []
    lines = [n for n in view.filled[:_TOP] if n in view.header] + [n for n in view.filled[-_END:] if n in view.signoff]
    for n in dict.fromkeys(lines):
        low, high = view.lines[n]
        if high - low > 60:
            continue
        first = bisect_left(view.starts, low)
        last = bisect_left(view.starts, high)
        tokens = [i for i in range(first, last) if not view.is_space(i)]
        named = [i for i in tokens if is_word(view.words[i])]
        whole = [view.words[i] for i in named if not is_initial(view.words[i])]
        if not 2 <= len(whole) <= _FOUND_MOST or named[-1] - named[0] >= len(named) + 2:
            continue
        if not free_of(cands, named[0], named[-1] + 1) or any(ch.isdigit() for ch in view.text[low:high]):
            continue
        if any(lists.is_common(word) or not in_table(word) or case_style(word) not in ("title", "upper") for word in whole):
            continue
        if not (table.is_given(whole[0]) and table.is_surname(whole[-1])):
            continue
        roles = tuple(1.0 if role == STUDENT else 0.0 for role in ROLES)
        span = (named[0], named[-1] + 1)
        found.append(
            Candidate(
                *span, label_for_role(STUDENT), _ALONE_SCORE, "cue:name_alone", "a line with a name and nothing else", roles
            )
        )
    return found


def _find_worn(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Words that stand letter by letter or torn over two lines, and are names when read."""
    lists = words()
    found = []
    keys = Counter(worn.key for worn in view.worn)
    for worn in view.worn:
        if not free_of(cands, worn.start, worn.end) or any(lists.is_heading(word) for word in worn.words):
            continue
        common = [word for word in worn.words if lists.is_common(word)]
        known = any(in_table(word) for word in worn.words if word not in common) or (keys[worn.key] > 1 and not common)
        torn = worn.start in view.torn
        if torn and case_style(worn.words[0]) not in ("title", "upper"):
            continue
        if not known and (torn or common or not _stands_alone(view, worn.start, worn.end)):
            continue
        found.append(
            _added(worn.start, worn.end, "name_spaced" if not torn else "name_torn", "a name, letter by letter or torn")
        )
    return found


def _find_native(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Names in a script of their own."""
    return [
        _added(start, end, "name_native", "a name in a script of its own")
        for start, end in view.native
        if free_of(cands, start, end)
    ]


def _find_leet(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Names with digits for letters; neighbours are one name."""
    runs: list[list[int]] = []
    for i in view.leet:
        if runs and i == runs[-1][-1] + 1 and view.gap(i - 1) == " ":
            runs[-1].append(i)
        else:
            runs.append([i])
    spans = [(run[0], run[-1] + 1) for run in runs]
    return [_added(*span, "name_leet", "a name with digits for letters") for span in spans if free_of(cands, *span)]


def _find_in_file_names(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Names in names of files: "Essay_AnaLopez_final.docx"."""
    found: list[Candidate] = []
    if "_" not in view.text:
        return found
    for match in _FILE_NAME.finditer(view.text):
        first, last = bisect_left(view.starts, match.start()), bisect_left(view.starts, match.start(1) - 1)
        run: list[int] = []
        for i in range(first, last + 1):
            word = view.words[i] if i < last else ""
            if word and is_word(word) and not words().is_common(word) and (in_table(word) or is_glued(word)):
                run.append(i)
            elif run and word not in ("_", "-", "."):
                span = (run[0], run[-1] + 1)
                if free_of(cands, *span):
                    found.append(_added(*span, "file_name", "in the name of a file"))
                run = []
    return found


def _added(start: int, end: int, rule: str, reason: str) -> Candidate:
    """A name that its form shows: whose it is, others must say."""
    roles = (1 / len(ROLES),) * len(ROLES)
    return Candidate(start, end, label_for_role(STUDENT), _FOUND_SCORE, f"cue:{rule}", reason, roles)


def _stands_alone(view: DocView, start: int, end: int) -> bool:
    """Whether a piece is all of a line of the header or the sign-off."""
    place = view.places([Candidate(start, end, NAME_LABELS[0])])[0]
    return "alone" in place.zones and bool(place.zones & {"header", "signoff"})


def _ends_of(cue: Cue, lower: str) -> list[int]:
    """Where in a line a pattern for "before a name" ends at the start of a word."""
    assert cue.before is not None
    ends = []
    # The pattern is anchored at its end; without the anchor it finds the places, with it they are checked.
    for match in _unanchored(cue.before.pattern).finditer(lower):
        at = match.end()
        if at < len(lower) and lower[at].isalpha() and not lower[at - 1 : at].isalpha() and cue.before.search(lower[:at]):
            ends.append(at)
    return ends


@cache
def _unanchored(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.removesuffix("$"))


def _zone_fits(view: DocView, n: int, cue: Cue, span: tuple[int, int]) -> bool:
    place = view.places([Candidate(*span, NAME_LABELS[0])])[0]
    if (cue.zone and not cue.zone & place.zones) or cue.not_zone & place.zones:
        return False
    if cue.after is not None and not cue.after.match(place.after.lower()):
        return False
    # Below "by" or "Sincerely" a name stands by itself, or with a comma after it.
    return cue.before is not None or "alone" in place.zones or re.match(r"\s*[,(|<]", place.after) is not None


def _name_at(view: DocView, char: int, high: int, *, strict: bool, english: bool = False) -> tuple[int, int] | None:
    """The tokens of a name that starts at a character; None if what stands there does not look like one."""
    lists = words()
    start = bisect_left(view.starts, char)
    while start < len(view) and not view.words[start]:  # what shows nothing begins where the word after it does
        start += 1
    if start >= len(view) or view.starts[start] != char:
        return None
    if lists.is_title(view.words[start]) and start + 1 < len(view):
        start += 1 + (view.words[start + 1] == ".")
    end, count, known, style = start, 0, 0, ""
    while end < len(view) and view.starts[end] < high and count < _FOUND_MOST + 1:
        word = view.words[end]
        joined = end > start and not view.gap(end - 1)
        if joined and word in JOINERS and end + 1 < len(view) and not view.gap(end) and is_word(view.words[end + 1]):
            end += 1
            continue
        if not word:
            end += 1
            continue
        if end > start and view.gap(end - 1) not in ("", " "):
            break
        if word == "." and is_initial(view.words[end - 1]) and end > start:
            end += 1
            continue
        if not is_word(word) or MASK in word or any(ch.isdigit() for ch in word) or "@" in word:
            break
        # "Hope Will": a word that is English too must be written like a name, and be one.
        common = lists.is_common(word) and not (in_table(word) and case_style(word) in ("title", "upper"))
        if lists.is_heading(word) or common:
            break
        known_here = in_table(word) or is_glued(word)
        particle = lists.is_particle(word) and count > 0
        this = case_style(word)
        if this == "lower" and not particle and not (known_here and not lists.is_common(word)):
            break
        if style == "title" and this == "lower" and not particle:
            break
        style = style or this
        count, known = count + (not particle), known + known_here
        end += 1
    while end > start and (
        not is_word(view.words[end - 1]) or (lists.is_particle(view.words[end - 1]) and count > 1 and end - start > 1)
    ):
        if view.words[end - 1] == "." and end - start >= 2 and is_initial(view.words[end - 2]):
            break
        end -= 1
    if start >= end or not 1 <= count <= _FOUND_MOST or (is_initial(view.words[start]) and end - start == 1):
        return None
    if (count == 1 or strict or style != "title") and not known:
        return None
    if all(lists.is_common(view.words[i]) for i in range(start, end) if is_word(view.words[i])) and known < 2:
        return (start, end) if english and style == "title" and name_table().is_given(view.words[start]) else None
    return start, end
