"""Everything that `pii_context` does before it decides: names found and mended, weak ones dropped, mentions linked, evidence weighed.

examiner = Examiner(settings, read_cues([]), roster=frozenset())
examiner.examine(doc, candidates)
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy
from spacy.tokens import Doc

from ..labels import CHARACTER, CONNECTED, ROLES, is_name
from ..names.link import RoleCues, link_with_roles, spell_initials
from ..names.parse import Form, read_tokens
from ..names.spelling import is_near_table, respell
from ..names.table import fold, name_table
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
)
from .find import FORM_SOURCES, find_by_cue
from .repair import drop_unnamed, repair
from .settings import ContextSettings
from .view import DocView, Place

# Mark a name everywhere in its document once it was found anywhere (skweak's document history; CTRL-F in ETS's procedure)

_JOINERS = ("-", "_", "‐")
_AS_NAMES = frozenset(("title", "upper"))
_PROPAGATED = 0.95  # factor on the score of the mention it was copied from


@dataclass(frozen=True, slots=True)
class Known:
    """One accepted mention.

    cand (Candidate), form (Form): As found. person (int): Whose it is. texts (tuple[str, ...]): Its words as written.
    """

    cand: Candidate
    form: Form
    person: int
    texts: tuple[str, ...]


def propagate(view: DocView, known: Sequence[Known], taken: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
    """Further mentions of names that were accepted.

    view (DocView): The document. known (Sequence[Known]): Accepted mentions.
    taken (Sequence[Candidate]): Everything marked so far.
    RETURNS (list[tuple[Candidate, int]]): New candidates (source "propagation") and their person.
    """
    if not known:
        return []
    full, single, styles = _index(known)
    joined = {"".join(order): k for forms in full.values() for order, k in forms}
    used = [False] * len(view)
    for c in taken:
        used[c.start : c.end] = [True] * (c.end - c.start)
    found = []

    def add(start: int, end: int, k: Known) -> None:
        score = round(k.cand.score * _PROPAGATED, 6)
        found.append((Candidate(start, end, k.cand.label, score, PROPAGATION, k.cand.reason), k.person))
        used[start:end] = [True] * (end - start)

    for worn in view.worn:
        if any(used[worn.start : worn.end]):
            continue
        parts = [fold(word) for word in worn.words]
        whose = joined.get("".join(parts)) or (single.get(parts[0]) if all(part in single for part in parts) else None)
        if whose is not None and not all(words().is_common(word) for word in worn.words):
            add(worn.start, worn.end, whose)
    i = 0
    folded = [fold(word) if word[:1].isalpha() else "" for word in view.words]
    while i < len(view):
        word = folded[i]
        if not word or used[i] or word not in single and word not in full:
            if word in joined and not used[i]:
                add(i, i + 1, joined[word])  # "analopez"
            i += 1
            continue
        end, source = _full_at(view, folded, used, i, full.get(word, ()))
        if source is None and word in single and _single_fits(view, i, styles.get(word, _AS_NAMES)):
            end, source = i + 1, single[word]
        if source is None:
            i += 1
            continue
        add(i, end, source)
        i = end
    return sorted(found, key=lambda pair: pair[0].start)


def _index(
    known: Sequence[Known],
) -> tuple[dict[str, list[tuple[tuple[str, ...], Known]]], dict[str, Known], dict[str, set[str]]]:
    """First word -> full forms that start with it; word -> who bears it; word -> cases in which it was written."""
    full: dict[str, list[tuple[tuple[str, ...], Known]]] = {}
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
    """The end of a full name that starts at token i, and whose it is."""
    for form, k in forms:
        at, complete = i + 1, True
        for word in form[1:]:
            at = _next_word(view, at)
            if at >= len(view) or used[at] or folded[at] != word:
                complete = False
                break
            at += 1
        if not complete:
            continue
        plain = [w for w in range(i, at) if folded[w] in form]
        if all(case_style(view.words[w]) == "lower" and words().is_common(view.words[w]) for w in plain):
            continue
        return at, k
    return i, None


def _next_word(view: DocView, at: int) -> int:
    """Steps over one joiner, a comma, or initials between the parts of a name; never over a line break."""
    for _ in range(3):
        if at >= len(view) or "\n" in view.words[at]:
            return len(view)
        word = view.words[at]
        if not word or word in _JOINERS or word in (".", ",") or is_initial(word) or (view.is_space(at) and len(word) == 1):
            at += 1
        else:
            break
    return at


def _single_fits(view: DocView, i: int, styles: Collection[str]) -> bool:
    """Whether one word at token i is the name and not something else that is written so."""
    word = view.words[i]
    style = case_style(word)
    lists = words()
    if style == "other" and word[:1].isascii():
        return not lists.is_common(word)  # "mARIA"
    if (
        style not in styles
        and not (style == "title" and styles)  # "blerta" who is welcomed as "Blerta"
        or (style == "lower" and "title" in styles)
    ):
        return False
    if (
        i + 1 < len(view)
        and view.words[i + 1] in _JOINERS
        and not view.gap(i)
        and i + 2 < len(view)
        and view.words[i + 2][:1].isalpha()
        and view.words[i + 1] != "_"
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
    if fold(word) in lists.ambiguous and fold(before) in lists.place_before:
        return False
    neighbours = [view.words[j] for j in (i - 1, i + 1) if 0 <= j < len(view)]
    if any(case_style(n) in ("title", "upper") and n[:1].isalpha() and not lists.is_title(n) and n != "I" for n in neighbours):
        # among other capitals: a title or the name of a place
        return False
    return before[:1].isalpha() or before in (",", ";", "&", "(", "-")


CUE_PREFIX = "cue:"
_ROUNDS = 5  # dropping a name changes what others see beside them; five rounds settle it, and a sixth never came


class Examiner:
    """Reads documents with some settings.

    settings (ContextSettings): Thresholds and weights. rules (CueRules): Cues. roster (frozenset[str]): Folded words of a class list.
    """

    def __init__(self, settings: ContextSettings, rules: CueRules, roster: frozenset[str]) -> None:
        self.settings = settings
        self.rules = rules
        self.roster = roster
        self._limit = logit(settings.min_score)

    def examine(self, doc: Doc, base: list[Candidate]) -> Examined | None:
        """Read a document.

        doc (Doc): Stays as it is. base (list[Candidate]): What others found in it.
        RETURNS (Examined | None): None for a text of white space.
        """
        view = DocView(doc, self.settings)
        if not view.filled:
            return None
        cache: dict[Place, list[Evidence]] = {}
        people = People([], [], [], [], [])
        base = drop_unnamed(view, base)
        for _ in range(_ROUNDS):
            if self.settings.repair:
                base = repair(view, base)
            added = find_by_cue(view, base, self.rules) if self.settings.find else []
            people = self._gathered(view, [*(c for c in base if is_name(c.label)), *added], cache)
            kept = self._accepted(people)
            dropped = {(c.start, c.end) for c, keep in zip(people.cands, kept, strict=True) if not keep}
            if not dropped:
                break
            base = [c for c in base if (c.start, c.end) not in dropped]
            added = [c for c in added if (c.start, c.end) not in dropped]
        else:
            people = self._gathered(view, [*(c for c in base if is_name(c.label)), *added], cache)
        others = [c for c in base if not is_name(c.label)]
        if self.settings.propagate and people.cands:
            more = propagate(view, _known(view, people), [*others, *people.cands])
            if more:
                people = self._gathered(view, [*people.cands, *(cand for cand, _ in more)], cache)
        weighed = [self._weighed(people, person) for person in people.persons]
        return Examined(view, others, people, weighed, self._tells(view, weighed))

    def _gathered(self, view: DocView, cands: Sequence[Candidate], cache: dict[Place, list[Evidence]]) -> People:
        """Gather forms, places, evidence and persons of some names."""
        cands = sorted(cands, key=lambda c: c.start)
        read = [read_tokens(view.words[c.start : c.end]) for c in cands]
        forms = respell([mention.form for mention in read])
        places = view.places(cands)
        evidence = []
        for place in places:
            if place not in cache:
                cache[place] = mention_evidence(place, self.rules, self.settings)
            evidence.append(cache[place])
        evidence = weigh_header(places, evidence, self.settings)
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

    def people(self, view: DocView, cands: Sequence[Candidate]) -> People:
        """RETURNS (People): Some names of a document, and whose they are. view (DocView): It. cands (Sequence[Candidate]): The names."""
        return self._gathered(view, cands, {})

    def _own(self, people: People, i: int) -> float:
        """The log-odds that a mention by itself is a name."""
        parts = people.cands[i], people.forms[i], people.places[i], people.evidence[i]
        return name_logit(*parts, settings=self.settings, roster=self.roster)

    def _accepted(self, people: People) -> list[bool]:
        """Whether each name is kept: strong enough by itself, or by the link to a mention that is."""
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
        cands = [people.cands[i] for i in person]
        evidence = person_evidence(
            cands, [people.forms[i] for i in person], [people.evidence[i] for i in person], self.settings
        )
        return Weighed(evidence, model_scores(cands, self.settings), max(self._own(people, i) for i in person))

    def _tells(self, view: DocView, weighed: Sequence[Weighed]) -> bool:
        told = any(e.role == CHARACTER and e.weight > 0 for w in weighed for e in w.evidence)
        return told or story_pattern().search(view.text.lower()) is not None


def _known(view: DocView, names: People) -> list[Known]:
    person_of = {i: n for n, person in enumerate(names.persons) for i in person}
    return [
        Known(c, form, person_of[i], tuple(w for w in view.words[c.start : c.end] if w[:1].isalpha()))
        for i, (c, form) in enumerate(zip(names.cands, names.forms, strict=True))
    ]


# Whom the trained classifier of `pii_context` was made for, and what its word about the others counts.

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
_SOURCES = frozenset(
    ("year_follows", "in_brackets_year", "comma_year", "according_to", "bibliography", "figure_full", "figure_surname")
)
_UNSEEN = frozenset((PROPAGATION, *FORM_SOURCES))
_UNLIKE = re.compile(r"\d|[^\W\d_A-Za-zÀ-ÖØ-öø-ɏʰ-˿Ḁ-ỿ]")
_LETTERS_APART = 3
_DENIED = 2.0  # evidence that it is no name from which a strange form alone does not make it one
_MANY = 3


def settle(
    chances: numpy.ndarray,
    blind: numpy.ndarray,
    view: DocView,
    people: People,
    person: Sequence[int],
    weighed: Weighed,
    settings: ContextSettings,
) -> numpy.ndarray:
    """What is believed of one person.

    chances (numpy.ndarray): By the classifier, shape `(6,)`: five roles, and "no name". blind (numpy.ndarray): Of the roles, by what does not look
        at names, shape `(5,)`.
    view (DocView): The document. people (People): Everybody in it. person (Sequence[int]): This one's mentions.
    weighed (Weighed): What speaks for each role of this one. settings (ContextSettings): `blind`.
    RETURNS (numpy.ndarray): Shape `(6,)`. Without "no name" for whom the classifier was not made, for names copied from others or found by
        their form, of which it has seen too few, for who signs, posts or speaks, and for whom the text calls a friend or the like by a
        given name; with half of it where a sign touches the name, or a slip is in it. Whom the text calls one of the writer's own people
        is as likely that as all that is else believed.
    """
    strange = any(is_strange(view, people, i) for i in person)
    denied = any(e.role == NOT_NAME and e.weight >= _DENIED for i in person for e in people.evidence[i])
    sure = (strange and not denied) or bool(view.turns) or any(e.id in SPEAKERS for e in weighed.evidence)
    none = 0.0 if sure or all(people.cands[i].source in _UNSEEN for i in person) else float(chances[-1])
    if all("beset" in people.places[i].zones for i in person) or is_misspelled(people, person):
        none /= 2.0 - none
    if is_called(people, person, weighed):
        none = 0.0
    trust = 0.5 if strange or view.turns or is_rare(people, person) or is_many(people, person) else 1.0 - settings.blind
    roles = chances[:-1] / max(float(chances[:-1].sum()), 1e-9)
    believed = trust * roles + (1.0 - trust) * blind
    of_mine = any(e.id in _OWN_PEOPLE for e in weighed.evidence) and not any(e.id in _SOURCES for e in weighed.evidence)
    if of_mine and not is_small(view, people, person):
        believed = (believed + (numpy.arange(len(ROLES)) == ROLES.index(CONNECTED))) / 2.0
    return numpy.append((1.0 - none) * believed, none)


def in_company(chances: Sequence[float], people: People, settings: ContextSettings) -> list[float]:
    """What is believed of everybody in a text, knowing what is believed of the others.

    chances (Sequence[float]): Probability that a person is private, each judged alone, in the order of `people.persons`.
    people (People): Everybody in the text. settings (ContextSettings): `alone`, `company`.
    RETURNS (list[float]): The same, with `alone` taken from the log-odds of whoever neither heads nor signs a text in which nobody else is
        private for sure. Writers stand alone over their text; classmates and friends come in company.
    """
    sure, weight = sum(chance >= settings.company for chance in chances), math.exp(settings.alone)
    signed = [any(signs(people.places[i], people.evidence[i]) for i in person) for person in people.persons]
    return [
        c if known or sure > (c >= settings.company) else c / (c + (1.0 - c) * weight)
        for c, known in zip(chances, signed, strict=True)
    ]


def is_rare(people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether somebody has a name that stands in no table and is no English word."""
    fullest = max((people.forms[i] for i in person), key=lambda form: len(form.words))
    return any(len(word) > 1 and not in_table(word) and not words().is_common(word) for word in fullest.words)


def is_many(people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether somebody is only ever called by three words or more, which may be two people's names side by side."""
    return all(len(people.forms[i].words) >= _MANY for i in person)


def is_called(people: People, person: Sequence[int], weighed: Weighed) -> bool:
    """RETURNS (bool): Whether somebody in the writer's life is called by a given name of the name table: "collaborating with Odile"."""
    named = people.forms[person[0]].words
    return bool(named) and name_table().is_given(named[0]) and any(e.id in _CALLED for e in weighed.evidence)


def is_small(view: DocView, people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether somebody stands in small letters in lines that have capitals: "after dinner with palinca and I asked"."""
    return all(
        "small" not in people.places[i].zones and case_style(view.words[people.cands[i].start]) == "lower" for i in person
    )


def is_misspelled(people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether a word of somebody's name is one slip away from a frequent one."""
    return any(is_near_table(word) for i in person for word in people.forms[i].words)


def is_strange(view: DocView, people: People, i: int) -> bool:
    """RETURNS (bool): Whether a mention is written as no name of the essays is that the classifier learned from. i (int): Which one."""
    cand = people.cands[i]
    if cand.source in FORM_SOURCES:
        return True
    letters = [len(word) for word in view.words[cand.start : cand.end] if word.isalpha()]
    if len(letters) >= _LETTERS_APART and max(letters) == 1:
        return True
    return _UNLIKE.search(view.text, view.starts[cand.start], view.ends[cand.end - 1]) is not None
