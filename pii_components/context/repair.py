"""Edges of names: headings and titles off, the rest of the name on.

    Reflection Ana Lopez    ->  Ana Lopez            Maria [Kowalska]      ->  Maria Kowalska
    Dr. Roe                 ->  Roe                  Ana's                 ->  Ana
    Ana Lopez, DVM          ->  Ana Lopez

Nothing is ever extended across a line break, and nothing but names is touched.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rapidfuzz.distance import OSA

from ..labels import is_name
from ..names.obfuscated import Worn
from ..names.table import fold, name_table
from ..names.wordlists import case_style, in_table, is_initial, is_word, words
from ..spans import Candidate
from .view import JOINERS, DocView

# Where a name begins and ends, asked of the words beside it: what `context_repair` takes off a name, puts to it, and part

_LEAST_WHOLE, _LONGEST_SHORTENED = (
    3,
    5,
)  # letters of a name that is written out, and of one that a full stop may shorten ("Thos.")
# Says that all of the field is a name.
_FIELD = re.compile(
    r"(?:\bnames?|\b(?:submitted|prepared|written|presented|done|made|created|completed|compiled)? ?by|\bauthors?|\b(?:student|learner)s?)"
    r"(?: ?\(s\))?[^\S\n]*[:=][^\S\n]*\Z",
    re.IGNORECASE,
)
# What is told apart by letters.
_LETTERED = frozenset(
    "table group figure fig part section class option grade appendix exhibit vitamin plan team block zone room graph".split()
)  # noqa: SIM905
_PARENT = re.compile(r"(?:[dsw]/o|a/[lp])\Z", re.IGNORECASE)  # "daughter of", "anak lelaki"
_ENDS_FIELD = frozenset(",;|/(–—")


def is_unit(view: DocView, start: int, end: int) -> bool:
    """Whether a name begins with the end of a sentence: the letter of a unit or of a table ("warmed to 40 C. Pradeep", "in Table B. Anton")."""
    word = view.words[start]
    stop = start + (not word.endswith("."))
    if stop >= end - 1 or not is_initial(word.rstrip(".")) or not view.words[stop].endswith(".") or start == 0:
        return False
    before = view.words[start - 1]
    if before == "/" and not view.gap(start - 1) and not view.gap(start - 2):
        return True
    low, _ = view.lines[view.line_of(view.starts[start])]
    counted = not view.text[low : view.starts[start - 1]].strip()  # "2 A. Lopez" in a list of names
    number = before[-1:].isdigit() and not counted and not before.startswith(("(", "["))
    return (number and view.gap(start - 1) in ("", " ")) or before.lower() in _LETTERED


def is_pronoun(view: DocView, start: int, end: int) -> bool:
    """Whether a bare "I" at the end is the writer and no initial: behind first and last name, or with a small word after it."""
    if view.words[end - 1] != "I" or end - start < 2 or (end < len(view) and view.words[end].startswith(".")):
        return False
    full = sum(1 for word in view.words[start : end - 1] if is_word(word) and not is_initial(word))
    after = view.words[end] if end < len(view) and view.gap(end - 1) == " " else ""
    return full >= 2 or (full == 1 and case_style(after) == "lower" and after.isalpha())


def is_foreign(view: DocView, start: int, end: int) -> bool:
    """Whether a small word no table knows stands before a name with a capital: "Name ist Jonas"."""
    word = view.words[start]
    if not word.isalpha() or case_style(word) != "lower" or in_table(word) or words().is_particle(word):
        return False
    return not any(case_style(w) == "lower" for w in view.words[start + 1 : end] if is_word(w))


def follows_initial(view: DocView, last: Candidate, c: Candidate, gap: str) -> bool:
    """Whether a surname stands behind a name that ends in an initial, two spaces between them, as typists put them after a full stop."""
    end = last.end - (view.words[last.end - 1] == ".")
    initial = end - 1 > last.start and is_initial(view.words[end - 1]) and view.text[view.ends[last.end - 1] - 1] == "."
    if not initial or gap not in (" ", "  ") or c.end - c.start != 1:
        return False
    word = view.words[c.start]
    return case_style(word) in ("title", "upper") and (name_table().is_surname(word) or not in_table(word))


def past_parent(view: DocView, c: Candidate, taken: list[bool]) -> int:
    """RETURNS (int): Where a name ends that goes on with whose child somebody is: "Kavita Rani d/o Gopal", "Siva a/l Raman"."""
    for at in (c.end, c.end - 1):  # with its first letter, as the model reads it, or without
        first = at + 3 if view.words[at + 1 : at + 2] == ["/"] else at + 1
        if (
            at <= c.start
            or first >= len(view)
            or not _PARENT.match("".join(view.words[at:first]))
            or view.gap(first - 1) != " "
        ):
            continue
        end = first
        while end < len(view) and end - first < 2 and not taken[end] and case_style(view.words[end]) in ("title", "upper"):
            if not is_word(view.words[end]) or (end > first and view.gap(end - 1) != " "):
                break
            end += 1
        if end > first:
            return end
    return c.end


def is_rest_of_field(view: DocView, start: int, end: int) -> bool:
    """Whether a name opens its field and one word more fills it, a name or an English word: "Submitted by: Nadia Stern  Course: ..."."""
    low, _ = view.lines[view.line_of(view.starts[start])]
    if is_initial(view.words[end]) or not _FIELD.search(view.text[low : view.starts[start]]):
        return False
    gap = view.gap(end)
    after = view.words[end + 1] if end + 1 < len(view) else ""
    return gap not in ("", " ") or not after or after.isspace() or after[0] in _ENDS_FIELD


def is_and(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the "n" of "tash n dev", as chats have it for "and"."""
    if view.words[i] != "n" or not c.start < i < c.end - 1 or not view.gap(i) or not view.gap(i - 1):
        return False
    if len(view.words[i - 1]) == 1 or len(view.words[i + 1]) == 1:  # letter by letter
        return False
    return all(case_style(word) == "lower" for word in view.words[c.start : c.end] if is_word(word))


def ends_sentence(view: DocView, c: Candidate, i: int) -> bool:
    """Whether token i is the full stop in "... said Ilse. Marwan laughed"; not that of an initial or of "Md. Rahman", nor of a line that begins
    with the name ("Ana. Lopez" as a heading): no sentence was there to end."""
    if view.words[i] != "." or not c.start < i < c.end - 1:
        return False
    first = next((n for n in range(i - 1, c.start - 1, -1) if view.words[n]), i)  # what shows nothing may stand between
    behind = next((n for n in range(i + 1, c.end) if view.words[n]), i)
    if i in (first, behind) or view.starts[i] > view.ends[first] or view.starts[behind] == view.ends[i]:
        return False
    line_start, _ = view.lines[view.line_of(view.starts[c.start])]
    if not view.text[line_start : view.starts[c.start]].strip():
        return False
    before = view.words[first]
    if before.isalpha() and before.casefold() == view.words[behind].casefold():  # "my seatmate Bo. Bo crashed"
        return True
    return before.isalpha() and len(before) >= _LEAST_WHOLE and (in_table(before) or len(before) > _LONGEST_SHORTENED)


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
            neighbours = neighbours or (
                gap == " " and _is_hyphened(view, last) and c.end - c.start == 1 and table.is_surname(two)
            )
            glued = len(between) == 1 and between[0] in JOINERS and gap == between[0]
            glued = (
                glued
                or follows_initial(view, last, c, gap)
                or _CHILD_OF.fullmatch(one + gap if gap[:1] == "/" else gap) is not None
            )
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


# What looks like a name and by its own form is none.

_LABEL = re.compile(r"[a-z](?:No|Nr|Num|Number|Id|ID|Code|Date|Name)\Z")
_SMALL = frozenset(("of", "and", "the", "for", "in", "to", "a", "an", "on", "&"))
_LAST_WORD = re.compile(r"([^\W\d_]+)\.? ?\Z")
_LONGEST_TITLE = 20
_LONGEST_ACRONYM = 6
_LONG_HEADING = 8  # letters from which a word is hardly a name with a slip in it
# Bodies that people are named after as well: only where the text is about the sky, and without a surname.
_BODIES = frozenset(
    ("mercury", "venus", "mars", "jupiter", "saturn", "uranus", "neptune", "pluto", "ceres", "luna", "titan", "europa", "io")
)
_SKY = re.compile(r"\b(?:planets?|solar system|spacecrafts?|nasa|astronomers?|orbit(?:s|ed|ing)?|telescopes?|asteroids?)\b")
_SKY_LEAST = 2  # words about the sky that make a text one about it


def drop_unnamed(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """Leave out names that are none.

    view (DocView): The document. cands (Sequence[Candidate]): All candidates, sorted.
    RETURNS (list[Candidate]): The others; those that are no names as they were.
    """
    names = [c for c in cands if is_name(c.label)]
    if not names:
        return list(cands)
    inside = frozenset(i for c in names for i in range(c.start, c.end))
    none = {
        (c.start, c.end)
        for c in names
        if _is_greeting(view, c)
        or _is_title(view, c)
        or _is_letter(view, c)
        or _is_brand(view, c)
        or _is_misspelled_heading(view, c)
        or _is_spelled_heading(view, c)
        or _is_acronym(view, c, inside)
        or _is_label(view, c)
        or _is_body(view, c)
    }
    return [c for c in cands if (c.start, c.end) not in none] if none else list(cands)


def _is_greeting(view: DocView, c: Candidate) -> bool:
    return all(words().is_greeting(word) for word in view.words[c.start : c.end])


def _named(view: DocView, c: Candidate) -> list[str]:
    """RETURNS (list[str]): Its words, folded, without possessives."""
    return [fold(word).replace("’", "'").removesuffix("'s") for word in view.words[c.start : c.end] if is_word(word)]


def _is_title(view: DocView, c: Candidate) -> bool:
    """Whether it is a title and nothing else, and no name: "my Mzee's house"."""
    named = _named(view, c)
    return len(named) == 1 and words().is_title(named[0]) and not in_table(named[0])


def _is_letter(view: DocView, c: Candidate) -> bool:
    """Whether it is one letter behind a title, which stands for a name that is kept back: "Mrs. A."."""
    named = _named(view, c)
    if len(named) != 1 or len(named[0].rstrip(".")) != 1:
        return False
    before = _LAST_WORD.search(view.text, max(0, view.starts[c.start] - _LONGEST_TITLE), view.starts[c.start])
    return before is not None and words().is_title(before[1])


def _is_brand(view: DocView, c: Candidate) -> bool:
    """Whether it is a product or a firm and nothing else."""
    named = _named(view, c)
    return bool(named) and all(map(words().is_brand, named))


def _is_misspelled_heading(view: DocView, c: Candidate) -> bool:
    """Whether it is one word that opens its line and is one slip away from a long word of headings, and in no table."""
    named = [word for word in view.words[c.start : c.end] if is_word(word)]
    low, _ = view.lines[view.line_of(view.starts[c.start])]
    if len(named) != 1 or any(map(str.isalnum, view.text[low : view.starts[c.start]])) or in_table(named[0]):
        return False
    return _is_near_heading(fold(named[0]))


@lru_cache(maxsize=1024)
def _is_near_heading(word: str) -> bool:
    return any(len(other) >= _LONG_HEADING and OSA.distance(word, other, score_cutoff=1) <= 1 for other in words().headings)


def _is_spelled_heading(view: DocView, c: Candidate) -> bool:
    """Whether all of it stands letter by letter and reads as words of headings: what word processors put beside page numbers, "i d :"."""
    letters = [word for word in view.words[c.start : c.end] if not word.isspace()]
    if len(letters) == 2 and all(len(word) == 1 for word in letters) and words().is_heading("".join(letters)):
        return True
    return any(worn.start <= c.start and c.end <= worn.end and all(map(words().is_heading, worn.words)) for worn in view.worn)


def _is_acronym(view: DocView, c: Candidate, inside: frozenset[int]) -> bool:
    """Whether it stands in brackets behind the words whose first letters it is, no name among them: "Customer Success Lead (CSL)", "(C-S-L)"."""
    shown = "".join(view.words[c.start : c.end])
    letters = "".join(char for char in shown if char.isalpha())
    if not 2 <= len(letters) <= _LONGEST_ACRONYM or not letters.isupper() or re.search(r"[^A-Za-z.\-]", shown):
        return False
    if not c.start or view.words[c.start - 1] != "(" or c.end >= len(view) or view.words[c.end] != ")":
        return False
    firsts: list[str] = []
    i = c.start - 2
    while i >= 0 and len(firsts) < len(letters) and "\n" not in view.gap(i) and not view.words[i].count("\n"):
        if i in inside:
            return False
        if is_word(view.words[i]) and fold(view.words[i]) not in _SMALL:
            firsts.append(view.words[i][0].upper())
        elif view.words[i] in (".", ";", ":", "(", ")"):
            break
        i -= 1
    return "".join(reversed(firsts)) == letters


def _is_label(view: DocView, c: Candidate) -> bool:
    """Whether it is the label of a field, written as one word: "RollNo : 55234"."""
    low = view.starts[c.start]
    if _LABEL.search(view.text[low : view.ends[c.end - 1]]) is None:
        return False
    return re.match(r"\s{0,3}[:#=]", view.text[view.ends[c.end - 1] :]) is not None


def _is_body(view: DocView, c: Candidate) -> bool:
    """Whether it is a planet or a moon, in a text that speaks of such."""
    named = _named(view, c)
    if len(named) != 1 or named[0] not in _BODIES:
        return False
    return sum(1 for _ in _SKY.finditer(view.text.lower())) >= _SKY_LEAST
