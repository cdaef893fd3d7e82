"""The names of a document before anybody is judged: those that stand letter by letter made whole, mentions linked into persons.

    people = find_people(view, candidates, score)
    people.persons                      # lists of mentions, as indices into people.cands

`score` says of single mentions whose they may be, so that a student and an author with one surname stay two people. Accepted names are marked
everywhere (`propagate`, skweak's document history).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy

from ..labels import (
    EDUCATION,
    EMPLOYER,
    LOCATION,
    ROLES,
    STREET_ADDRESS,
    is_name,
)
from ..names.letters import fold
from ..names.link import link
from ..names.parse import Form, Mention, read_tokens
from ..names.table import name_table
from ..names.wordlists import case_style, is_initial, is_word_too, words
from ..spans import ROSTER, Candidate
from .view import DocView, Place

_SEEN, _WHOLE_SCORE = 0.3, 0.9
_N_PRIVATE = 3  # columns of private people
_CLEAR = 4.0  # log-odds by which a mention's own role must lead to be another person
_JOINERS = frozenset(("", " ", "-", "_", "‐", ".", ","))  # between two words of a name
_PLACES = (LOCATION, EDUCATION, EMPLOYER)
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
        if [case_style(word) for word in pair] != ["title", "title"]:
            return False
        gap = view.text[view.ends[i] : view.starts[i + 1]]
        return gap == " " and not lists.is_common(view.words[half])

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
    return lone or c.label in _PLACES


# --- accepted names, everywhere


def propagate(
    people: People, owners: Mapping[int, int], taken: Sequence[Candidate]
) -> list[tuple[int, int, int]]:
    """Further mentions of accepted names. owners (Mapping[int, int]): Accepted mention -> its person. taken: What is found already.
    RETURNS (list[tuple[int, int, int]]): Person, and tokens start to end (exclusive), free of `taken`; sorted by position."""
    view = people.view
    names, styles = _index(people, owners)
    # A place or a firm that holds the name of somebody is none.
    used = view.marked(c for c in taken if not is_place(view, c))
    found: list[tuple[int, int, int]] = []

    def add(start: int, end: int, person: int) -> None:
        found.append((person, start, end))
        used[start:end] = [True] * (end - start)

    for piece in view.obfuscated:
        whose = names.get((fold("".join(piece.words)),))
        is_free = not any(used[piece.start : piece.end])
        if whose is not None and is_free and not all(map(words().is_common, piece.words)):
            add(piece.start, piece.end, whose)
    longest = max(map(len, names), default=0)
    folded = [fold(word) if word[:1].isalpha() else "" for word in view.words]
    written = [i for i, word in enumerate(folded) if word and not is_initial(word)]
    at = 0
    while at < len(written):
        for size in range(longest, 0, -1):
            run = written[at : at + size]
            whose = names.get(tuple([folded[i] for i in run]))
            if whose is not None and not any(used[i] for i in run) and _fits(view, run, styles):
                add(run[0], run[-1] + 1, whose)
                at += size - 1
                break
        at += 1
    return sorted(found, key=lambda one: one[1])


def _index(
    people: People, owners: Mapping[int, int]
) -> tuple[dict[tuple[str, ...], int], dict[str, set[str]]]:
    """The words that are somebody's name, folded -> whose; and the cases in which each word was written."""
    names: dict[tuple[str, ...], int] = {}
    styles: dict[str, set[str]] = {}
    for i in sorted(owners, key=lambda i: -people.cands[i].score):
        form, cand = people.forms[i], people.cands[i]
        parts = {form.given, form.surname} if form.full else set(form.words)
        forms: set[tuple[str, ...]] = {(word,) for word in parts if len(word) >= 2}
        if form.full:
            orders = {form.words, (form.given, form.surname), (form.surname, form.given)}
            forms |= orders | {("".join(order),) for order in orders}
        for words_of in forms:
            names.setdefault(words_of, owners[i])
        for word in people.view.words[cand.start : cand.end]:
            styles.setdefault(fold(word).removesuffix("'s"), set()).add(case_style(word))
    return names, styles


def _fits(view: DocView, run: Sequence[int], styles: Mapping[str, Collection[str]]) -> bool:
    """Whether words that are somebody's name are written as one. run (Sequence[int]): Their tokens."""
    written = [view.words[i] for i in run]
    if len(run) > 1:
        between = [i for i in range(run[0], run[-1]) if i not in run]
        joined = all(view.words[i] in _JOINERS or is_initial(view.words[i]) for i in between)
        return joined and not all(word.islower() and words().is_common(word) for word in written)
    (word,), (i,) = written, run
    style, seen = case_style(word), styles.get(fold(word))
    if seen is None:
        return True  # "analopez"
    if style == "lower" and ("title" in seen or style not in seen):
        return False
    if style == "upper" and style not in seen:
        return False
    if not words().is_common(word):
        return True
    # "They said that Hope came", not "Hope is all" and "in April"
    before = view.words[i - 1] if i else ""
    return style == "title" and before.islower() and before not in words().place_before
