"""The names of a document before anybody is judged: names that are obfuscated added, mentions linked into persons.

    people = find_people(view, candidates, score)
    people.persons                      # lists of mentions, as indices into people.cands

`score` says of single mentions whose they may be, so that a student and an author with one surname stay two people. Accepted names are marked
everywhere (`propagate`, skweak's document history).
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy

from ..labels import (
    EDUCATION,
    EMPLOYER,
    LOCATION,
    NAME_STUDENT,
    ROLES,
    STREET_ADDRESS,
    is_name,
)
from ..names.letters import fold
from ..names.link import link
from ..names.parse import Form, Mention, read_tokens
from ..names.table import name_table
from ..names.wordlists import (
    case_style,
    in_table,
    is_glued,
    is_initial,
    is_word,
    is_word_too,
    words,
)
from ..spans import ROSTER, Candidate
from .view import DocView, Place

FORM = "form:"  # source of names that their form shows
_FORM_SCORE = 0.5
_SEEN, _WHOLE_SCORE = 0.3, 0.9
_N_PRIVATE = 3  # columns of private people
_CLEAR = 4.0  # log-odds by which a mention's own role must lead to be another person
_JOINERS = ("-", "_", "‐")
_AS_NAMES = frozenset(("title", "upper"))
_FILE_NAME = re.compile(
    r"(?<![\w/.@-])[^\W_](?=(?:[^\W_]|-)*+_)[\w-]*+(?:\.[\w-]++){0,2}\.(docx?|pdf|odt|rtf|txt|pages|pptx?|xlsx?|jpe?g|png|zip|mp4)(?!\w)",
    re.IGNORECASE,
)
Span = tuple[int, int]
# Some mentions, by their numbers -> log-probabilities, `(n_mentions, n_classes)`, the first five of the roles.
MentionScorer = Callable[["People", Sequence[int]], numpy.ndarray]


@dataclass(slots=True)
class People:
    """Names in parallel lists. persons (list[list[int]]): Indices of each one's mentions, in order of the first. rows (numpy.ndarray | None): What
    stands beside each mention (`features`), once somebody has asked."""

    view: DocView
    cands: list[Candidate]
    mentions: list[Mention]
    places: list[Place]
    persons: list[list[int]]
    rows: numpy.ndarray | None = None
    forms: list[Form] = field(init=False)

    def __post_init__(self) -> None:
        self.forms = [mention.form for mention in self.mentions]


def find_people(
    view: DocView, base: Sequence[Candidate], score: MentionScorer | None
) -> tuple[People, list[Candidate]]:
    """RETURNS (tuple): The people of a document, and what is no name. base: What others found. score (MentionScorer | None): Of single mentions."""
    base = _full_names(view, _without_words(view, whole(view, base)))
    for finder in (_find_obfuscated, _find_leet, _find_in_file_names):
        base = [*base, *finder(view, base)]
    cands = sorted((c for c in base if is_name(c.label)), key=lambda c: c.start)
    read = [read_tokens(view.words[c.start : c.end]) for c in cands]
    people = People(view, cands, read, view.places(cands), [[i] for i in range(len(cands))])
    groups: dict[int, list[int]] = {}
    for i, owner in enumerate(link(people.mentions).owners):
        groups.setdefault(owner if owner >= 0 else -1 - i, []).append(i)
    people.persons = sorted(groups.values())
    shared = [i for group in people.persons if len(group) > 1 for i in group]
    if score is not None and shared:  # else there are no namesakes
        own = dict(zip(shared, score(people, shared), strict=True))
        parts = (_namesakes(cands, group, own) for group in people.persons)
        people.persons = sorted(chain.from_iterable(parts))
    return people, [c for c in base if not is_name(c.label)]


def _namesakes(
    cands: Sequence[Candidate], group: list[int], own: Mapping[int, numpy.ndarray]
) -> list[list[int]]:
    """Part an author or a character from somebody private who has the same name: "Reed (2019)" in an essay by Tobias Reed.

    own (Mapping[int, numpy.ndarray]): Log-probabilities of each mention, where there are several. Both must be very clear by themselves; who is on
        the class list is clear, and a name of theirs that the list itself left need only be somebody's who stays.
    """
    if len(group) == 1:
        return [group]
    odds = {
        i: float(
            numpy.logaddexp.reduce(own[i][_N_PRIVATE : len(ROLES)])
            - numpy.logaddexp.reduce(own[i][:_N_PRIVATE])
        )
        for i in group
    }
    listed = [i for i in group if cands[i].source == ROSTER]
    apart = [i for i in group if i not in listed and odds[i] > (0 if listed else _CLEAR)]
    if not apart or not (listed or any(odds[i] < -_CLEAR for i in group)):
        return [group]
    return [[i for i in group if i not in apart], apart]


def whole(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """What stands letter by letter is all of a name or nothing."""
    names = sorted((c for c in cands if is_name(c.label)), key=lambda c: c.start)
    for piece in view.obfuscated:
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
    return sorted([*names, *(c for c in cands if not is_name(c.label))], key=lambda c: c.start)


def _without_words(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): Without English words in small letters that the text writes with a capital where they are somebody's name:
    "my friend Jade ... the cup was jade"."""
    named = [c for c in cands if is_name(c.label)]
    titled = {fold(word) for c in named for word in view.words[c.start : c.end] if word.istitle()}
    read = [c for c in named if c.source != ROSTER]
    lone = {c.start: view.words[c.start] for c in read if c.end - c.start == 1}
    words_only = {
        start
        for start, word in lone.items()
        if word.islower() and fold(word) in titled and is_word_too(fold(word))
    }
    return [c for c in cands if c.start not in words_only]


def _full_names(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): Names with the half that another component left, or read as a place or a firm: all of a name goes, or none of it."""
    taken = view.marked(c for c in cands if not is_place(view, c))
    places = {c.start for c in cands if is_place(view, c) and c.end - c.start == 1}
    table, lists, found = name_table(), words(), []

    def is_one(i: int, half: int) -> bool:
        """Whether token i and the next may be one name. half: The one of them that is no name yet."""
        pair = view.words[i : i + 2]
        are_titles = [case_style(word) for word in pair] == ["title", "title"]
        return are_titles and view.gap(i) == " " and not lists.is_common(view.words[half])

    for c in cands:
        behind, before = c.end, c.start - 1
        lone = is_name(c.label) and c.end - c.start == 1
        if lone and is_one(c.start, behind) and not taken[behind]:
            names = table.is_given(view.words[c.start]) and table.is_surname(view.words[behind])
            if names or behind in places:
                c = replace(c, end=behind + 1)
        elif lone and before in places and is_one(before, before):
            # "In Drogheda Ana met us": a place it is.
            where = fold(view.words[before - 1]) if before else ""
            if where not in lists.place_before:
                c = replace(c, start=before)
        found.append(c)
    return found


def is_place(view: DocView, c: Candidate) -> bool:
    """RETURNS (bool): Whether a place, a firm, a school, or one word of an address was read, which half a name may be, too."""
    lone = c.label == STREET_ADDRESS and c.end - c.start == 1 and view.words[c.start].isalpha()
    return lone or c.label in (LOCATION, EDUCATION, EMPLOYER)


# --- accepted names, everywhere


class Known(NamedTuple):
    """One accepted mention: whose it is, and its words as written."""

    cand: Candidate
    form: Form
    person: int
    texts: tuple[str, ...]


# First word of a name -> its second -> the names that begin so.
Forms = dict[str, list[tuple[tuple[str, ...], Known]]]


def propagate(
    people: People, owners: Mapping[int, int], taken: Sequence[Candidate]
) -> list[tuple[int, int, int]]:
    """Further mentions of accepted names. owners (Mapping[int, int]): Accepted mention -> its person. taken: What is found already.
    RETURNS (list[tuple[int, int, int]]): Person, and tokens start to end (exclusive), free of `taken`; sorted by position."""
    view = people.view
    known = [
        Known(
            c, people.forms[i], n, tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha())
        )
        for i, n in owners.items()
        for c in (people.cands[i],)
    ]
    if not known:
        return []
    full, single, styles = _index(known)
    every = [pair for forms in full.values() for pairs in forms.values() for pair in pairs]
    joined = {"".join(order): k for order, k in every}
    # A place or a firm that holds the name of somebody is none.
    used = view.marked(c for c in taken if not is_place(view, c))
    found: list[tuple[int, int, int]] = []

    def add(start: int, end: int, k: Known) -> None:
        found.append((k.person, start, end))
        used[start:end] = [True] * (end - start)

    for piece in view.obfuscated:
        parts = [fold(word) for word in piece.words]
        whose = joined.get("".join(parts)) or (
            single.get(parts[0]) if all(part in single for part in parts) else None
        )
        if (
            whose is not None
            and not any(used[piece.start : piece.end])
            and not all(map(words().is_common, piece.words))
        ):
            add(piece.start, piece.end, whose)
    i = 0
    folded = [fold(word) if word[:1].isalpha() else "" for word in view.words]
    while i < len(view):
        word, end, whose = folded[i], i + 1, None
        if word and not used[i]:
            if word in single or word in full:
                end, whose = _full_at(view, folded, used, i, full.get(word, {}))
                if (
                    whose is None
                    and word in single
                    and _single_fits(view, i, styles.get(word, _AS_NAMES))
                ):
                    whose = single[word]
            else:
                whose = joined.get(word)  # "analopez"
        if whose is not None:
            add(i, end, whose)
        i = end
    return sorted(found, key=lambda one: one[1])


def _index(
    known: Sequence[Known],
) -> tuple[dict[str, Forms], dict[str, Known], dict[str, set[str]]]:
    full: dict[str, Forms] = {}
    single: dict[str, Known] = {}
    styles: dict[str, set[str]] = {}
    for k in sorted(known, key=lambda k: (-k.cand.score, k.cand.start)):
        form = k.form
        if form.full:
            for order in {form.words, (form.given, form.surname), (form.surname, form.given)}:
                full.setdefault(order[0], {}).setdefault(order[1], []).append((order, k))
        for word in form.words if not form.full else {form.given, form.surname}:
            if len(word) >= 2:
                single.setdefault(word, k)
        for text in k.texts:
            styles.setdefault(fold(text).removesuffix("'s"), set()).add(case_style(text))
    for pairs in (pairs for forms in full.values() for pairs in forms.values()):
        pairs.sort(key=lambda pair: (-len(pair[0]), -pair[1].cand.score, pair[1].cand.start))
    return full, single, styles


def _full_at(
    view: DocView,
    folded: list[str],
    used: list[bool],
    i: int,
    forms: Mapping[str, Sequence[tuple[tuple[str, ...], Known]]],
) -> tuple[int, Known | None]:
    second = _next_word(view, i + 1) if forms else len(view)
    for form, k in forms.get(folded[second], ()) if second < len(view) else ():
        at = i + 1
        for word in form[1:]:
            at = _next_word(view, at)
            if at >= len(view) or used[at] or folded[at] != word:
                break
            at += 1
        else:
            plain = [view.words[n] for n in range(i, at) if folded[n] in form]
            if not all(case_style(word) == "lower" and words().is_common(word) for word in plain):
                return at, k
    return i + 1, None


def _next_word(view: DocView, at: int) -> int:
    for _ in range(3):
        if at >= len(view) or "\n" in view.words[at]:
            return len(view)
        word = view.words[at]
        if (
            word
            and word not in (*_JOINERS, ".", ",")
            and not is_initial(word)
            and not (view.is_space(at) and len(word) == 1)
        ):
            break
        at += 1
    return at


def _single_fits(view: DocView, i: int, styles: Collection[str]) -> bool:
    word, lists = view.words[i], words()
    style = case_style(word)
    if style == "other" and word[:1].isascii():
        return not lists.is_common(word)  # "mARIA"
    if style not in styles and not (
        style == "title" and styles
    ):  # "blerta" who is welcomed as "Blerta"
        return False
    if style == "lower" and "title" in styles:
        return False
    after = view.words[i + 1 : i + 3]
    if (
        len(after) == 2
        and after[0] in _JOINERS
        and after[0] != "_"
        and not view.gap(i)
        and after[1][:1].isalpha()
    ):
        return False
    if not lists.is_common(word):
        return True
    if style != "title" or lists.is_heading(word):
        return False
    before = view.words[i - 1] if i else ""
    if i and (view.is_space(i - 1) or not in_table(word)):
        # opens a line, or is no name that anybody else has
        return False
    if before.lower() in ("a", "an", "every", "each"):
        return False  # "on a Sunday", "a Christian home"
    if fold(word) in lists.ambiguous and fold(before) in lists.place_before:
        return False
    neighbours = [view.words[j] for j in (i - 1, i + 1) if 0 <= j < len(view)]
    if any(
        case_style(n) in _AS_NAMES and n[:1].isalpha() and not lists.is_title(n) and n != "I"
        for n in neighbours
    ):
        # among other capitals: a title or the name of a place
        return False
    return before[:1].isalpha() or before in (",", ";", "&", "(", "-")


# --- names that their form shows, whatever stands beside them


def _find_obfuscated(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    lists = words()
    found, held = [], view.marked(cands)
    keys = Counter(piece.key for piece in view.obfuscated)
    for piece in view.obfuscated:
        span = (piece.start, piece.end)
        if any(held[slice(*span)]) or any(map(lists.is_heading, piece.words)):
            continue
        common = [word for word in piece.words if lists.is_common(word)]
        known = any(in_table(word) for word in piece.words if word not in common) or (
            keys[piece.key] > 1 and not common
        )
        if not known:
            zones = view.places([_added(span, "", "")])[0].zones
            if common or "alone" not in zones or not zones & {"header", "signoff"}:
                continue
        found.append(_added(span, "spaced", "a name, letter by letter"))
    return found


def _find_leet(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    spans, held = list[Span](), view.marked(cands)
    for i in view.leet:
        if spans and i == spans[-1][1] and view.gap(i - 1) == " ":
            spans[-1] = (spans[-1][0], i + 1)
        else:
            spans.append((i, i + 1))
    return [
        _added(span, "leet", "a name with digits for letters")
        for span in spans
        if not any(held[slice(*span)])
    ]


def _find_in_file_names(view: DocView, cands: Sequence[Candidate]) -> list[Candidate]:
    found, held = list[Candidate](), view.marked(cands)
    for match in _FILE_NAME.finditer(view.text) if "_" in view.text else ():
        first, last = (
            bisect_left(view.starts, match.start()),
            bisect_left(view.starts, match.start(1) - 1),
        )
        run: list[int] = []
        for i in range(first, last + 1):
            word = view.words[i] if i < last else ""
            if (
                word
                and is_word(word)
                and not words().is_common(word)
                and (in_table(word) or is_glued(word))
            ):
                run.append(i)
            elif run and word not in ("_", "-", "."):
                span = (run[0], run[-1] + 1)
                if not any(held[slice(*span)]):
                    found.append(_added(span, "file_name", "in the name of a file"))
                run = []
    return found


def _added(span: Span, rule: str, reason: str) -> Candidate:
    return Candidate(*span, NAME_STUDENT, _FORM_SCORE, FORM + rule, reason)
