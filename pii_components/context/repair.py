"""Edges of names: headings and titles off, the rest of the name on; and what by its own form is no name.

    Reflection Ana Lopez    ->  Ana Lopez            Maria [Kowalska]      ->  Maria Kowalska
    Dr. Roe                 ->  Roe                  Ana's                 ->  Ana

Nothing is ever extended across a line break, and nothing but names is touched.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from dataclasses import replace

from rapidfuzz.distance import OSA

from ..labels import EDUCATION, EMPLOYER, LOCATION, STREET_ADDRESS, is_name
from ..names.letters import fold, per_batch
from ..names.obfuscated import Obfuscated
from ..names.table import name_table
from ..names.wordlists import (
    case_style,
    in_table,
    is_initial,
    is_word,
    is_word_too,
    words,
)
from ..spans import ROSTER, Candidate
from .view import JOINERS, DocView, is_lowercase_line

# Letters of a name that is written out, and of one that a full stop may shorten ("Thos.").
_LEAST_WHOLE, _LONGEST_SHORTENED = 3, 5
_SEEN, _WHOLE_SCORE = 0.3, 0.9
_MOST = 6  # words that a name can grow to
_CAPITALS = ("title", "upper")
# Says that all of the field is a name.
_FIELD = re.compile(
    r"(?:\bnames?|\b(?:submitted|prepared|written|presented|done|made|created|completed|compiled)? ?by|\bauthors?|\b(?:student|learner)s?)"
    r"(?: ?\(s\))?[^\S\n]*[:=][^\S\n]*\Z",
    re.IGNORECASE,
)
_ENDS_FIELD = frozenset(",;|/(–—")
# What is told apart by letters.
_LETTERED = frozenset(
    (
        "table",
        "group",
        "figure",
        "fig",
        "part",
        "section",
        "class",
        "option",
        "grade",
        "appendix",
        "exhibit",
        "vitamin",
        "plan",
        "team",
        "block",
        "zone",
        "room",
        "graph",
    )
)
_PARENT = re.compile(r"(?:[dsw]/o|a/[lp])\Z", re.IGNORECASE)  # "daughter of", "anak lelaki"
_CHILD_OF = re.compile(r" ?(?:[dsw]/o|a/[lp]) ", re.IGNORECASE)
_LONGEST_FIELD = 90  # characters of what says so, with blanks
_FIELD_EDGE = 40  # blanks at most between a field and its edge
_QUOTE_CLOSES = re.compile(r'(?: [A-Z]\.?)?" ?<')
_STOP = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_HYPHENED = re.compile(r"[^\W\d_]+[-‐‑][^\W\d_]+")
_OPENS, _CLOSES = (
    ("\n", *"/|:;([–—•\t-", ""),
    ("\n", *"/|;)]([–—-", ""),
)  # what may stand around "Last, First"


def repair(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): All candidates, sorted, the edges of names mended. Doing it twice changes nothing more."""
    names = [part for c in cands if is_name(c.label) for part in _split_lines(view, c)]
    others = [c for c in cands if not is_name(c.label)]
    shrunk = [c for c in (c if c.source == ROSTER else _shrink(view, c) for c in names) if c]
    merged = _merge(view, _whole(view, sorted(shrunk, key=lambda c: c.start)))
    # A name grows over a place or a firm: half of it may have been read as one.
    taken = view.marked([*(c for c in others if not is_place(view, c)), *merged])
    places = {c.start for c in others if is_place(view, c) and c.end - c.start == 1}
    grown = []
    for c in merged:
        bigger = _grow(view, c, taken, places)
        taken[bigger.start : bigger.end] = [True] * (bigger.end - bigger.start)
        grown.append(bigger)
    return sorted([*others, *_merge(view, grown)], key=lambda c: c.start)


def is_place(view: DocView, c: Candidate) -> bool:
    """RETURNS (bool): Whether a place, a firm, a school, or one word of an address was read, which half a name may be, too."""
    lone = c.label == STREET_ADDRESS and c.end - c.start == 1 and view.words[c.start].isalpha()
    return lone or c.label in (LOCATION, EDUCATION, EMPLOYER)


def _split_lines(view: DocView, c: Candidate) -> list[Candidate]:
    parts, start, chat = [], c.start, False
    for i in range(c.start, c.end):
        parted = _is_and(view, c, i)
        chat |= parted
        if (
            parted
            or (_STOP.search(view.words[i]) and i not in view.torn)
            or _ends_sentence(view, c, i)
        ):
            parts.append((start, i))
            start = i + 1
    found = [
        replace(c, start=low, end=high) for low, high in [*parts, (start, c.end)] if low < high
    ]
    # "kim n me r so dead": what stands there in small letters is a name if a table says so.
    return [
        p
        for p in found
        if not chat
        or any(in_table(w) and not words().is_common(w) for w in view.words[p.start : p.end])
    ]


def _is_and(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the "n" of "tash n dev", as chats have it for "and"."""
    if (
        view.words[i] != "n"
        or not c.start < i < c.end - 1
        or not view.gap(i)
        or not view.gap(i - 1)
    ):
        return False
    if len(view.words[i - 1]) == 1 or len(view.words[i + 1]) == 1:  # letter by letter
        return False
    return all(case_style(word) == "lower" for word in view.words[c.start : c.end] if is_word(word))


def _ends_sentence(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the full stop in "... said Ilse. Marwan laughed"; not that of an initial, of "Md. Rahman", or of a line that begins with
    the name: no sentence was there to end."""
    if view.words[i] != "." or not c.start < i < c.end - 1:
        return False
    first = next(
        (n for n in range(i - 1, c.start - 1, -1) if view.words[n]), i
    )  # what shows nothing may stand between
    behind = next((n for n in range(i + 1, c.end) if view.words[n]), i)
    if (
        i in (first, behind)
        or view.starts[i] > view.ends[first]
        or view.starts[behind] == view.ends[i]
    ):
        return False
    before = view.words[first]
    if not view.line_to(c.start).strip() or not before.isalpha():
        return False
    if before.casefold() == view.words[behind].casefold():  # "my seatmate Bo. Bo crashed"
        return True
    return len(before) >= _LEAST_WHOLE and (in_table(before) or len(before) > _LONGEST_SHORTENED)


def _whole(view: DocView, names: list[Candidate]) -> list[Candidate]:
    """What stands letter by letter, torn over two lines or in a script of its own is all of a name or nothing."""
    pieces = [
        *view.obfuscated,
        *(Obfuscated(start, end, tuple(view.words[start:end])) for start, end in view.native),
    ]
    for piece in pieces:
        low = bisect_right(names, piece.start, key=lambda c: c.end)
        high = bisect_left(names, piece.end, key=lambda c: c.start)
        touched = names[low:high]
        if not touched or all(map(words().is_heading, piece.words)):
            continue
        strong = max(touched, key=lambda c: c.score)
        start, end = min(piece.start, touched[0].start), max(piece.end, touched[-1].end)
        # The model read letters or halves of words; that it saw a name there at all says more than how sure it was.
        sure = strong.score >= _SEEN and not any(map(words().is_common, piece.words))
        score = max(strong.score, _WHOLE_SCORE) if sure else strong.score
        names[low:high] = [replace(strong, start=start, end=end, score=score)]
    return names


def _shrink(view: DocView, c: Candidate) -> Candidate | None:
    start, end = c.start, c.end
    while start < end and (step := _off_left(view, start, end)):
        start += step
    while start < end and _is_off_right(view, start, end):
        end -= 1
    return _spanning(c, start, end) if start < end else None


def _spanning(c: Candidate, start: int, end: int) -> Candidate:
    return c if (start, end) == (c.start, c.end) else replace(c, start=start, end=end)


def _core(view: DocView, start: int, end: int) -> int:
    return sum(is_word(word) and not words().is_heading(word) for word in view.words[start:end])


def _off_left(view: DocView, start: int, end: int) -> int:
    lists, word, several = words(), view.words[start], end - start > 1
    if _is_unit(view, start, end):
        return 1 if word.endswith(".") else 2
    if (
        several
        and lists.is_greeting(word)
        and not (start > 0 and lists.is_title(view.words[start - 1]))
    ):
        return 1
    if not is_word(word) or (several and _is_foreign(view, start, end)):
        return 1
    if (
        several
        and lists.is_title(word)
        and (word.endswith(".") or not in_table(word) or _core(view, start, end) >= 2)
    ):
        return 1
    return int(
        lists.is_heading(word) and (_core(view, start, end) >= 2 or not name_table().is_given(word))
    )


def _is_off_right(view: DocView, start: int, end: int) -> bool:
    lists, word, before = (
        words(),
        view.words[end - 1],
        view.words[end - 2] if end - start > 1 else "",
    )
    if word == "n" and len(before) > 1 and case_style(before) == "lower":  # "silva n i", of a chat
        return True
    if not is_word(word) and not (word == "." and is_initial(before)):
        return True
    if lists.is_heading(word) and (
        _core(view, start, end) >= 2 or not name_table().is_surname(word)
    ):
        return True
    if _is_next_word(view, start, end):
        return True
    if end - start >= 3 and before == "," and fold(word).replace(".", "") in lists.credentials:
        return True
    return _is_pronoun(view, start, end)


def _is_next_word(view: DocView, start: int, end: int) -> bool:
    """Whether an English word in small letters closes a name that stands elsewhere without it: "then Summer burns"."""
    first, word = view.words[start], view.words[end - 1]
    if end - start != 2 or case_style(word) != "lower" or case_style(first) != "title":
        return False
    plain = fold(word)
    english = is_word_too(plain) or (not in_table(word) and is_word_too(plain.removesuffix("s")))
    return english and len(view.followed.get(first, ())) > 1


def _is_unit(view: DocView, start: int, end: int) -> bool:
    """Whether a name begins with the end of a sentence: the letter of a unit or of a table ("warmed to 40 C. Pradeep", "in Table B. Anton")."""
    word = view.words[start]
    stop = start + (not word.endswith("."))
    if (
        stop >= end - 1
        or not is_initial(word.rstrip("."))
        or not view.words[stop].endswith(".")
        or start == 0
    ):
        return False
    before = view.words[start - 1]
    if before == "/" and not view.gap(start - 1) and not view.gap(start - 2):
        return True
    low = view.lines[view.line_of(view.starts[start])][0]
    counted = not view.text[low : view.starts[start - 1]].strip()  # "2 A. Lopez" in a list of names
    number = before[-1:].isdigit() and not counted and not before.startswith(("(", "["))
    return (number and view.gap(start - 1) in ("", " ")) or before.lower() in _LETTERED


def _is_pronoun(view: DocView, start: int, end: int) -> bool:
    """Whether a bare "I" at the end is the writer and no initial: behind first and last name, or with a small word after it."""
    if (
        view.words[end - 1] != "I"
        or end - start < 2
        or (end < len(view) and view.words[end].startswith("."))
    ):
        return False
    full = sum(is_word(word) and not is_initial(word) for word in view.words[start : end - 1])
    after = view.words[end] if end < len(view) and view.gap(end - 1) == " " else ""
    return full >= 2 or (full == 1 and case_style(after) == "lower" and after.isalpha())


def _is_foreign(view: DocView, start: int, end: int) -> bool:
    """Whether a small word no table knows stands before a name with a capital: "Name ist Jonas"."""
    word = view.words[start]
    if (
        not word.isalpha()
        or case_style(word) != "lower"
        or in_table(word)
        or words().is_particle(word)
    ):
        return False
    return not any(case_style(w) == "lower" for w in view.words[start + 1 : end] if is_word(w))


def _merge(view: DocView, names: Sequence[Candidate]) -> list[Candidate]:
    found: list[Candidate] = []
    for c in names:
        if found and _is_one_name(view, found[-1], c):
            last = found[-1]
            found[-1] = replace(last if last.score >= c.score else c, start=last.start, end=c.end)
        else:
            found.append(c)
    return found


def _is_one_name(view: DocView, last: Candidate, c: Candidate) -> bool:
    table = name_table()
    gap = view.text[view.ends[last.end - 1] : view.starts[c.start]]
    one, two = view.words[last.end - 1], view.words[c.start]
    if gap == " " and c.end - c.start == 1 and table.is_surname(two):
        # Given names of East Asia are one word of two parts: "Hyeon-woo" is not all of a name.
        if _HYPHENED.fullmatch(view.text[view.starts[last.start] : view.ends[last.end - 1]]):
            return True
        two_people = table.is_given(two) and c.score >= 0.5 and last.role != c.role
        if (
            last.end - last.start == 1
            and table.is_given(one)
            and case_style(one) == case_style(two)
            and not two_people
        ):
            return True
    if gap in JOINERS and view.words[last.end : c.start] == [gap]:
        return True
    if _follows_initial(view, last, c, gap) or _CHILD_OF.fullmatch(
        one + gap if gap[:1] == "/" else gap
    ):
        return True
    return gap == ", " and last.end + 1 == c.start and _is_turned(view, last.start, c.end)


def _follows_initial(view: DocView, last: Candidate, c: Candidate, gap: str) -> bool:
    end = last.end - (view.words[last.end - 1] == ".")
    initial = (
        end - 1 > last.start
        and is_initial(view.words[end - 1])
        and view.text[view.ends[last.end - 1] - 1] == "."
    )
    if not initial or gap not in (" ", "  ") or c.end - c.start != 1:
        return False
    word = view.words[c.start]
    return case_style(word) in _CAPITALS and (name_table().is_surname(word) or not in_table(word))


def _is_turned(view: DocView, start: int, end: int) -> bool:
    """Whether tokens are "Last, First" and all of their field: "Exam no. 12 / Lopez, Ana / Q5", a line of a list."""
    table = name_table()
    last, first = view.words[start], view.words[end - 1]
    if (
        end - start != 3
        or not (table.is_surname(last) and table.is_given(first))
        or words().is_common(last)
    ):
        return False
    low, high = view.starts[start], view.ends[end - 1]
    before = view.text[max(0, low - _FIELD_EDGE) : low].rstrip(" \t")
    after = view.text[high : high + _FIELD_EDGE].lstrip(" \t")
    return before[-1:] in _OPENS and after[:1] in _CLOSES


def _is_quoted(view: DocView, start: int, end: int) -> bool:
    """Whether tokens, with an initial behind them, are all that stands in quotes before an address, as in the header of a mail."""
    quoted = view.text[max(0, view.starts[start] - 1) : view.starts[start]] == '"'
    return quoted and _QUOTE_CLOSES.match(view.text, view.ends[end - 1]) is not None


def _grow(view: DocView, c: Candidate, taken: list[bool], places: Set[int]) -> Candidate:
    start, end = c.start, _past_parent(view, c, taken)
    while end - start < _MOST and (
        step := _right(view, start, end, taken) or _is_place(view, start, end, places)
    ):
        end += step
    while end - start < _MOST and (step := _left(view, start, end, taken)):
        start -= step
    return _spanning(c, start, end)


def _is_place(view: DocView, start: int, end: int, places: Set[int]) -> bool:
    """Whether the word behind a given name was read as a place, a school or a firm and is the surname: "Otis Boston"."""
    if end not in places or view.gap(end - 1) != " " or end - start > 1:
        return False
    first, word = view.words[start], view.words[end]
    capitals = case_style(first) == case_style(word) in _CAPITALS
    return capitals and name_table().is_given(first) and not words().is_heading(word)


def _past_parent(view: DocView, c: Candidate, taken: list[bool]) -> int:
    """RETURNS (int): Where a name ends that goes on with whose child somebody is: "Kavita Rani d/o Gopal", "Siva a/l Raman"."""
    for at in (c.end, c.end - 1):  # with its first letter, as the model reads it, or without
        first = at + 3 if view.words[at + 1 : at + 2] == ["/"] else at + 1
        parted = at > c.start and first < len(view) and view.gap(first - 1) == " "
        if not parted or not _PARENT.match("".join(view.words[at:first])):
            continue
        end = first
        while (
            end < len(view)
            and end - first < 2
            and not taken[end]
            and case_style(view.words[end]) in _CAPITALS
        ):
            if not is_word(view.words[end]) or (end > first and view.gap(end - 1) != " "):
                break
            end += 1
        if end > first:
            return end
    return c.end


def _right(view: DocView, start: int, end: int, taken: list[bool]) -> int:
    if end >= len(view) or taken[end]:
        return 0
    lists, table = words(), name_table()
    last, word, gap = view.words[end - 1], view.words[end], view.gap(end - 1)
    style = case_style(view.words[start] if is_initial(last) else last)
    many = sum(is_word(w) and not is_initial(w) for w in view.words[start:end])

    def fits(i: int) -> bool:
        if (
            i >= len(view)
            or taken[i]
            or lists.is_heading(view.words[i])
            or not is_word(view.words[i])
        ):
            return False
        return case_style(view.words[i]) == style != "other" and (
            style != "lower" or not lists.is_common(view.words[i])
        )

    if (
        not gap
        and word in JOINERS
        and not view.gap(end)
        and fits(end + 1)
        and in_table(view.words[end + 1])
    ):
        return 2  # "Jean-" + "Luc", "Ana_" + "Lopez"
    if gap != " " or many >= 3:
        return 0
    if many == 1 and style in _CAPITALS and fits(end) and _is_rest_of_field(view, start, end):
        return 1
    given = table.is_given(last) or is_initial(last)
    if fits(end) and table.is_surname(word) and not is_initial(word):
        if many == 1 and given and not (table.is_surname(last) and lists.is_common(word)):
            return 1
        if (many == 0 or is_initial(last)) and end - start <= 3:
            return 1
    if many != 1 or not given or style not in _CAPITALS:
        return 0
    if is_initial(word) and word[0].isupper():
        # "Maria" + "K. Kowalska"; a bare "I" is the pronoun
        far = end + 1 + (view.words[end + 1 : end + 2] == ["."])
        if fits(far) and table.is_surname(view.words[far]) and view.gap(far - 1) == " ":
            return far + 1 - end
    if lists.is_particle(word):
        far = end + 1 + (end + 1 < len(view) and lists.is_particle(view.words[end + 1]))
        if (
            fits(far)
            and table.is_surname(view.words[far])
            and all(view.gap(i) == " " for i in range(end, far))
        ):
            return far + 1 - end
    return 0


def _is_rest_of_field(view: DocView, start: int, end: int) -> bool:
    """Whether a name opens its field and one word more fills it, a name or an English word: "Submitted by: Nadia Stern  Course: ..."."""
    if is_initial(view.words[end]) or not _FIELD.search(view.line_to(start)[-_LONGEST_FIELD:]):
        return False
    after = view.words[end + 1] if end + 1 < len(view) else ""
    return view.gap(end) not in ("", " ") or not after or after.isspace() or after[0] in _ENDS_FIELD


def _left(view: DocView, start: int, end: int, taken: list[bool]) -> int:
    if start == 0 or taken[start - 1]:
        return 0
    lists, table = words(), name_table()
    word, before, gap = view.words[start], view.words[start - 1], view.gap(start - 1)
    first = view.words[start - 2] if start >= 2 and not taken[start - 2] else ""
    style, single = case_style(word), sum(map(is_word, view.words[start:end])) == 1
    if (
        before in JOINERS
        and not gap
        and start >= 2
        and not taken[start - 2]
        and not view.gap(start - 2)
    ):
        fits = (
            case_style(first) == style
            and is_word(first)
            and not lists.is_heading(first)
            and not lists.is_common(first)
        )
        return 2 if fits and table.is_given(first) else 0
    if before == "," and gap == " " and start >= 2 and not view.gap(start - 2):
        quoted = _is_quoted(view, start - 2, end)
        turned = quoted or (single and _is_turned(view, start - 2, end))
        fits = turned and case_style(first) == style and not lists.is_heading(first)
        return 2 if fits else 0
    if (
        gap != " "
        or not single
        or not table.is_surname(word)
        or lists.is_heading(before)
        or lists.is_title(before)
    ):
        return 0
    if before == "." and is_initial(first) and first.isupper():
        return 0 if _is_unit(view, start - 2, end) else 2
    if len(before) == 2 and is_initial(before) and before[0].isupper():
        return 0 if _is_unit(view, start - 1, end) else 1
    return int(
        style in _CAPITALS
        and case_style(before) == style
        and table.is_given(before)
        and not lists.is_common(before)
    )


# What looks like a name and by its own form is none.

_SIGN_OF_FIELD = re.compile(r"\s{0,3}[:#=]")
_LABEL = re.compile(r"[a-z](?:No|Nr|Num|Number|Id|ID|Code|Date|Name)\Z")
_SMALL = frozenset(("of", "and", "the", "for", "in", "to", "a", "an", "on", "&"))
_LAST_WORD = re.compile(r"([^\W\d_]+)\.? ?\Z")
_LONGEST_TITLE = 20
_LONGEST_ACRONYM = 6
_LONG_HEADING = 8  # letters from which a word is hardly a name with a slip in it
# Bodies that people are named after as well: only where the text is about the sky, and without a surname.
_BODIES = frozenset(
    (
        "mercury",
        "venus",
        "mars",
        "jupiter",
        "saturn",
        "uranus",
        "neptune",
        "pluto",
        "ceres",
        "luna",
        "titan",
        "europa",
        "io",
    )
)
_SKY = re.compile(
    r"\b(?:planets?|solar system|spacecrafts?|nasa|astronomers?|orbit(?:s|ed|ing)?|telescopes?|asteroids?)\b"
)
_DETERMINED = re.compile(r"(?i)(?<!\w)(?:an?|the|this|that|every|each|some|any|no)\Z")
_SKY_LEAST = 2  # words about the sky that make a text one about it


def drop_unnamed(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): The candidates without names that are none."""
    # Who is on the class list has a name, whatever it looks like.
    names = [c for c in cands if is_name(c.label) and c.source != ROSTER]
    inside = view.marked(c for c in cands if is_name(c.label))
    titled = {fold(word) for c in names for word in view.words[c.start : c.end] if word.istitle()}
    unnamed = {
        c
        for c in names
        if _is_other_word(view, c)
        or _is_acronym(view, c, inside)
        or _is_plain_word(view, c, titled)
    }
    return [c for c in cands if c not in unnamed]


def _is_plain_word(view: DocView, c: Candidate, titled: Set[str]) -> bool:
    """Whether a word is in small letters, of a text that writes it with a capital where it is a name: "my friend Jade ... the cup was jade"."""
    word = view.words[c.start]
    if c.end - c.start != 1 or case_style(word) != "lower" or fold(word) not in titled:
        return False
    line, before = view.line(view.line_of(view.starts[c.start])), view.line_to(c.start).rstrip()
    if is_lowercase_line(line) or not before or before[-1] in ".!?":
        return False  # who begins sentences with small letters may write names so
    return is_word_too(fold(word)) or _DETERMINED.search(before) is not None


def _is_other_word(view: DocView, c: Candidate) -> bool:
    lists, tokens = words(), view.words[c.start : c.end]
    low, high = view.starts[c.start], view.ends[c.end - 1]
    written = [word for word in tokens if is_word(word)]
    named = [fold(word).replace("’", "'").removesuffix("'s") for word in written]
    if (
        all(map(lists.is_greeting, tokens))
        or (named and lists.brands.issuperset(named))
        or _is_spelled_heading(view, c)
    ):
        return True
    # The label of a field, written as one word: "RollNo : 55234"
    if _LABEL.search(view.text[low:high]) and _SIGN_OF_FIELD.match(view.text, high):
        return True
    if len(named) != 1:
        return False
    name = named[0]
    # A title and no name: "my Mzee's house"; one slip away from a heading, at the start of a line
    if not in_table(name) and lists.is_title(name):
        return True
    opens = not any(map(str.isalnum, view.line_to(c.start)))
    if opens and not in_table(written[0]) and _is_near_heading(fold(written[0])):
        return True
    # A letter behind a title, for a name that is kept back: "Mrs. A."
    before = (
        _LAST_WORD.search(view.text, max(0, low - _LONGEST_TITLE), low)
        if len(name.rstrip(".")) == 1
        else None
    )
    if before is not None and lists.is_title(before[1]):
        return True
    # A planet or a moon, in a text that speaks of such
    return name in _BODIES and _is_of_sky(view.text)


@per_batch(16)
def _is_of_sky(text: str) -> bool:
    return len(_SKY.findall(text.lower())) >= _SKY_LEAST


@per_batch(1024)
def _is_near_heading(word: str) -> bool:
    return any(
        len(other) >= _LONG_HEADING and OSA.distance(word, other, score_cutoff=1) <= 1
        for other in words().headings
    )


def _is_spelled_heading(view: DocView, c: Candidate) -> bool:
    """Whether all of it stands letter by letter and reads as words of headings: what word processors put beside page numbers, "i d :"."""
    letters = [word for word in view.words[c.start : c.end] if not word.isspace()]
    if (
        len(letters) == 2
        and all(len(word) == 1 for word in letters)
        and words().is_heading("".join(letters))
    ):
        return True
    at = bisect_right(view.obfuscated, c.start, key=lambda piece: piece.start) - 1
    held = (piece for piece in view.obfuscated[max(at, 0) : at + 1] if c.end <= piece.end)
    return any(all(map(words().is_heading, piece.words)) for piece in held)


def _is_acronym(view: DocView, c: Candidate, inside: Sequence[bool]) -> bool:
    """Whether it stands in brackets behind the words whose first letters it is, no name among them: "Customer Success Lead (CSL)", "(C-S-L)"."""
    shown = "".join(view.words[c.start : c.end])
    letters = "".join(char for char in shown if char.isalpha())
    if (
        not 2 <= len(letters) <= _LONGEST_ACRONYM
        or not letters.isupper()
        or re.search(r"[^A-Za-z.\-]", shown)
    ):
        return False
    if not c.start or view.words[c.start - 1] != "(" or view.words[c.end : c.end + 1] != [")"]:
        return False
    firsts = ""
    i = c.start - 2
    while (
        i >= 0
        and len(firsts) < len(letters)
        and "\n" not in view.gap(i)
        and "\n" not in view.words[i]
    ):
        if inside[i]:
            return False
        if is_word(view.words[i]) and fold(view.words[i]) not in _SMALL:
            firsts = view.words[i][0].upper() + firsts
        elif view.words[i] in (".", ";", ":", "(", ")"):
            break
        i -= 1
    return firsts == letters
