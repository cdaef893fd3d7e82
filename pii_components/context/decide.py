"""All that `pii_context` does before and after the classifier: names found and mended, weak ones dropped, mentions linked, evidence
weighed, accepted names marked everywhere (skweak's document history); then the adjustment of what the classifier believes.
"""

import math
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy
from spacy.tokens import Doc

from ..labels import CHARACTER, CONNECTED, ROLES, is_name
from ..names.letters import fold
from ..names.link import RoleCues, link_with_roles, spell_initials
from ..names.parse import Form, read_tokens
from ..names.spelling import is_near_table, respell
from ..names.table import name_table
from ..names.wordlists import case_style, in_table, is_initial, story_pattern, words
from ..spans import PROPAGATION, Candidate
from .classifier import Examined
from .cues import NOT_NAME, CueRules
from .evidence import (
    Evidence,
    People,
    Weighed,
    is_addressed,
    logit,
    mention_evidence,
    model_scores,
    name_logit,
    own_scores,
    person_evidence,
    signs,
    weigh_header,
)  # fmt: skip
from .find import FORM_SOURCES, find_by_cue
from .repair import drop_unnamed, repair
from .settings import ContextSettings
from .view import DocView, Place

_JOINERS = ("-", "_", "‐")
_AS_NAMES = frozenset(("title", "upper"))
_PROPAGATED = 0.95  # factor on the score of the mention it was copied from


class Known(NamedTuple):
    """One accepted mention: whose it is, and its words as written."""

    cand: Candidate
    form: Form
    person: int
    texts: tuple[str, ...]


Forms = list[tuple[tuple[str, ...], Known]]


def propagate(view: DocView, known: Sequence[Known], taken: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
    """RETURNS (list[tuple[Candidate, int]]): Further mentions of accepted names, free of `taken`, source "propagation", and whose they are."""
    if not known:
        return []
    full, single, styles = _index(known)
    joined = {"".join(order): k for forms in full.values() for order, k in forms}
    used = view.marked(taken)
    found = []

    def add(start: int, end: int, k: Known) -> None:
        score = round(k.cand.score * _PROPAGATED, 6)
        found.append((Candidate(start, end, k.cand.label, score, PROPAGATION, k.cand.reason), k.person))
        used[start:end] = [True] * (end - start)

    for piece in view.obfuscated:
        parts = [fold(word) for word in piece.words]
        whose = joined.get("".join(parts)) or (single.get(parts[0]) if all(part in single for part in parts) else None)
        if whose is not None and not any(used[piece.start : piece.end]) and not all(map(words().is_common, piece.words)):
            add(piece.start, piece.end, whose)
    i = 0
    folded = [fold(word) if word[:1].isalpha() else "" for word in view.words]
    while i < len(view):
        word, end, whose = folded[i], i + 1, None
        if word and not used[i]:
            if word in single or word in full:
                end, whose = _full_at(view, folded, used, i, full.get(word, ()))
                if whose is None and word in single and _single_fits(view, i, styles.get(word, _AS_NAMES)):
                    whose = single[word]
            else:
                whose = joined.get(word)  # "analopez"
        if whose is not None:
            add(i, end, whose)
        i = end
    return sorted(found, key=lambda pair: pair[0].start)


def _index(known: Sequence[Known]) -> tuple[dict[str, Forms], dict[str, Known], dict[str, set[str]]]:
    full: dict[str, Forms] = {}
    single: dict[str, Known] = {}
    styles: dict[str, set[str]] = {}
    for k in sorted(known, key=lambda k: (-k.cand.score, k.cand.start)):
        form = k.form
        if form.full:
            for order in {form.words, (form.given, form.surname), (form.surname, form.given)}:
                full.setdefault(order[0], []).append((order, k))
        for word in form.words if not form.full else {form.given, form.surname}:
            if len(word) >= 2:
                single.setdefault(word, k)
        for text in k.texts:
            styles.setdefault(fold(text).removesuffix("'s"), set()).add(case_style(text))
    for forms in full.values():
        forms.sort(key=lambda pair: (-len(pair[0]), -pair[1].cand.score, pair[1].cand.start))
    return full, single, styles


def _full_at(
    view: DocView, folded: list[str], used: list[bool], i: int, forms: Sequence[tuple[tuple[str, ...], Known]]
) -> tuple[int, Known | None]:
    for form, k in forms:
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
        if word and word not in (*_JOINERS, ".", ",") and not is_initial(word) and not (view.is_space(at) and len(word) == 1):
            break
        at += 1
    return at


def _single_fits(view: DocView, i: int, styles: Collection[str]) -> bool:
    word, lists = view.words[i], words()
    style = case_style(word)
    if style == "other" and word[:1].isascii():
        return not lists.is_common(word)  # "mARIA"
    if style not in styles and not (style == "title" and styles):  # "blerta" who is welcomed as "Blerta"
        return False
    if style == "lower" and "title" in styles:
        return False
    after = view.words[i + 1 : i + 3]
    if len(after) == 2 and after[0] in _JOINERS and after[0] != "_" and not view.gap(i) and after[1][:1].isalpha():
        return False
    if not lists.is_common(word):
        return True
    if style != "title" or lists.is_heading(word):
        return False
    before = view.words[i - 1] if i else ""
    if i and (view.is_space(i - 1) or not in_table(word)):
        # opens a line, or is no name that anybody else has
        return False
    if fold(word) in lists.ambiguous and fold(before) in lists.place_before:
        return False
    neighbours = [view.words[j] for j in (i - 1, i + 1) if 0 <= j < len(view)]
    if any(case_style(n) in _AS_NAMES and n[:1].isalpha() and not lists.is_title(n) and n != "I" for n in neighbours):
        # among other capitals: a title or the name of a place
        return False
    return before[:1].isalpha() or before in (",", ";", "&", "(", "-")


CUE_PREFIX = "cue:"
_ROUNDS = 5  # dropping a name changes what others see beside them; five rounds settle it, and a sixth never came


class Examiner:
    """Reads documents with some settings and cues. roster (frozenset[str]): Folded words of a class list."""

    def __init__(self, settings: ContextSettings, rules: CueRules, roster: frozenset[str]) -> None:
        self.settings = settings
        self.rules = rules
        self.roster = roster
        self._limit = logit(settings.min_score)

    def examine(self, doc: Doc, base: list[Candidate]) -> Examined | None:
        """RETURNS (Examined | None): What is known of a document before it is decided; None for white space. base: What others found."""
        view = DocView(doc, self.settings)
        if not view.filled:
            return None
        cache: dict[Place, list[Evidence]] = {}
        base = drop_unnamed(view, base)
        for left in reversed(range(_ROUNDS)):
            if self.settings.repair:
                base = repair(view, base)
            added = find_by_cue(view, base, self.rules) if self.settings.find else []
            people = self.people(view, [*(c for c in base if is_name(c.label)), *added], cache)
            kept = self._accepted(people)
            dropped = {(c.start, c.end) for c, keep in zip(people.cands, kept, strict=True) if not keep}
            if not dropped:
                break
            base = [c for c in base if (c.start, c.end) not in dropped]
            if not left:
                people = self.people(view, [c for c in people.cands if (c.start, c.end) not in dropped], cache)
        others = [c for c in base if not is_name(c.label)]
        if self.settings.propagate and people.cands:
            more = propagate(view, _known(view, people), [*others, *people.cands])
            if more:
                people = self.people(view, [*people.cands, *(cand for cand, _ in more)], cache)
        weighed = [self._weighed(people, person) for person in people.persons]
        told = any(e.role == CHARACTER and e.weight > 0 for w in weighed for e in w.evidence)
        return Examined(view, others, people, weighed, told or story_pattern().search(view.text.lower()) is not None)

    def people(self, view: DocView, cands: Sequence[Candidate], cache: dict[Place, list[Evidence]]) -> People:
        """RETURNS (People): Some names of a document, and whose they are. cache: What cues say of places, kept over several calls."""
        cands = sorted(cands, key=lambda c: c.start)
        read = [read_tokens(view.words[c.start : c.end]) for c in cands]
        forms = respell([mention.form for mention in read])
        places = view.places(cands)
        for place in places:
            if place not in cache:
                cache[place] = mention_evidence(place, self.rules, self.settings)
        evidence = weigh_header(places, [cache[place] for place in places], self.settings)
        cues = [
            RoleCues(c.start, own_scores(e), signs=signs(place, e), addressed=is_addressed(e))
            for c, place, e in zip(cands, places, evidence, strict=True)
        ]
        named = spell_initials([mention._replace(form=form) for mention, form in zip(read, forms, strict=True)])
        links = link_with_roles(named, cues, margin=self.settings.split_margin, signed=self.settings.split_signed)
        persons: list[list[int]] = [[] for _ in links.people]
        for i, owner in enumerate(links.owners):
            persons[owner].append(i)
        return People(cands, forms, places, evidence, persons)

    def _own(self, people: People, i: int) -> float:
        parts = people.cands[i], people.forms[i], people.places[i], people.evidence[i]
        return name_logit(*parts, settings=self.settings, roster=self.roster)

    def _accepted(self, people: People) -> list[bool]:
        own = [self._own(people, i) >= self._limit for i in range(len(people.cands))]
        kept = list(own)
        for person in people.persons:
            if any(own[i] for i in person):
                anchored = any(e.anchor for i in person for e in people.evidence[i])
                for i in person:
                    denied = any(e.role not in ROLES for e in people.evidence[i])
                    kept[i] = own[i] or not denied or (anchored and people.forms[i].full)
        return kept

    def _weighed(self, people: People, person: Sequence[int]) -> Weighed:
        evidence = person_evidence([people.forms[i] for i in person], [people.evidence[i] for i in person], self.settings)
        read = model_scores([people.cands[i] for i in person], self.settings)
        return Weighed(evidence, read, max(self._own(people, i) for i in person))


def _known(view: DocView, names: People) -> list[Known]:
    person_of = {i: n for n, person in enumerate(names.persons) for i in person}
    return [
        Known(c, form, person_of[i], tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha()))
        for i, (c, form) in enumerate(zip(names.cands, names.forms, strict=True))
    ]


# Cues by which a text itself says "I am": who signs, posts or speaks is a person, however odd the word.
SPEAKERS = frozenset((
    "my_name_is", "pledge", "closing_above", "closing_before", "forum_poster", "forum_reply_head", "forum_reply_above", "chat_line", "chat_wrote",
    "turn_speaker", "group_leader", "id_behind", "submitted_by", "partners_field", "partner_was", "friends_are", "joined_by_n",
    "mates_like", "to_mates_like", "mentee_of", "heads_contacts", "word_and_i",
))  # fmt: skip
# Cues by which a text itself says that somebody is of the writer's own people; the classifier has learned most of them from few texts or none.
_OWN_PEOPLE = frozenset((
    "and_i", "word_and_i", "post_of", "speaks_in_class", "known_here", "partner_was", "friends_are", "mates_like", "to_mates_like", "mentee_of",
    "your_post",
))  # fmt: skip
# Cues by which somebody in the writer's life is called by name: with a given name behind it, no thing.
_CALLED = frozenset((
    "my_friend", "my_kin", "kin_name", "relation_apposition", "together_with", "my_teacher", "known_to_me", "is_my", "my_boss",
    "from_the_office", "along_with", "people_verb", "part_done_by", "counted_people",
))  # fmt: skip
_SOURCES = frozenset(("year_follows", "in_brackets_year", "comma_year", "according_to", "bibliography", "figure_full", "figure_surname"))  # fmt: skip
_UNSEEN = frozenset((PROPAGATION, *FORM_SOURCES))
_UNLIKE = re.compile(r"\d|[^\W\d_A-Za-zÀ-ÖØ-öø-ɏʰ-˿Ḁ-ỿ]")
_LETTERS_APART = 3
_DENIED = 2.0  # evidence that it is no name from which a strange form alone does not make it one
_MANY = 3


def adjust_posterior(
    chances: numpy.ndarray,
    masked: numpy.ndarray,
    view: DocView,
    people: People,
    person: Sequence[int],
    weighed: Weighed,
    settings: ContextSettings,
) -> numpy.ndarray:
    """What is believed of one person, shape `(6,)`: five roles, and "no name".

    chances (numpy.ndarray): By the classifier, shape `(6,)`. masked (numpy.ndarray): Of the roles, by what does not look at names, shape `(5,)`.
    "No name" is not believed where the classifier has seen too little: strange forms, copied names, who signs, posts or speaks, or is called
    a friend by a given name; half of it where a sign touches the name, or a slip is in it. Whom the text calls one of the writer's own
    people is as likely that as all that is else believed."""
    strange = any(is_strange(view, people, i) for i in person)
    denied = any(e.role == NOT_NAME and e.weight >= _DENIED for i in person for e in people.evidence[i])
    cues, names = {e.id for e in weighed.evidence}, [people.forms[i].words for i in person]
    sure = (strange and not denied) or bool(view.turns) or cues & SPEAKERS
    none = 0.0 if sure or all(people.cands[i].source in _UNSEEN for i in person) else float(chances[-1])
    slip = any(is_near_table(word) for name in names for word in name)
    if slip or all("beset" in people.places[i].zones for i in person):
        none /= 2.0 - none
    # "collaborating with Odile": no thing
    if cues & _CALLED and names[0] and name_table().is_given(names[0][0]):
        none = 0.0
    fullest = [word for word in max(names, key=len) if len(word) > 1]
    rare = any(not in_table(word) and not words().is_common(word) for word in fullest)
    several = all(len(name) >= _MANY for name in names)  # maybe two people's names side by side
    trust = 0.5 if strange or view.turns or rare or several else 1.0 - settings.blind
    roles = chances[:-1] / max(float(chances[:-1].sum()), 1e-9)
    believed = trust * roles + (1.0 - trust) * masked
    # In small letters, in lines that have capitals, it may be a thing: "after dinner with palinca and I asked"
    small = all(
        "small" not in people.places[i].zones and case_style(view.words[people.cands[i].start]) == "lower" for i in person
    )
    if cues & _OWN_PEOPLE and not cues & _SOURCES and not small:
        believed = (believed + (numpy.arange(len(ROLES)) == ROLES.index(CONNECTED))) / 2.0
    return numpy.append((1.0 - none) * believed, none)


def isolation_penalty(chances: Sequence[float], people: People, settings: ContextSettings) -> list[float]:
    """What is believed of everybody, knowing what is believed of the others: who neither heads nor signs a text in which nobody else is private
    for sure loses `settings.alone` of their log-odds. Writers stand alone over their text; classmates and friends come in company.

    chances (Sequence[float]): Probability that a person is private, each judged alone. RETURNS (list[float]): The same, adjusted."""
    sure, weight = sum(chance >= settings.company for chance in chances), math.exp(settings.alone)
    signed = [any(signs(people.places[i], people.evidence[i]) for i in person) for person in people.persons]
    return [
        c if known or sure > (c >= settings.company) else c / (c + (1.0 - c) * weight)
        for c, known in zip(chances, signed, strict=True)
    ]


def is_strange(view: DocView, people: People, i: int) -> bool:
    """RETURNS (bool): Whether a mention is written as no name of the essays is that the classifier learned from. i (int): Which one."""
    cand = people.cands[i]
    if cand.source in FORM_SOURCES:
        return True
    letters = [len(word) for word in view.words[cand.start : cand.end] if word.isalpha()]
    if len(letters) >= _LETTERS_APART and max(letters) == 1:
        return True
    return _UNLIKE.search(view.text, view.starts[cand.start], view.ends[cand.end - 1]) is not None
