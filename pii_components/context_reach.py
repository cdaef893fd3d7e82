"""Whom the trained classifier of `pii_context` was made for, and what its word about the others counts.

It learned from essays, chats and texts with worn names, most of which are words of Latin letters that stand in tables. In conversations, for a
name that stands in no table, since it has a slip in it or few bear it, for one of three words or more, which may be two people's, and for one in
a script of its own, letter by letter or with digits in it, what does not look at names says as much as it does: the rules, and the reader, where
there is one. Strange names, unless the text calls them a place or a thing, and people of conversations are never "no name". And it judged each
person alone: what the text holds of others counts after it.
"""

import math
import re
from collections.abc import Sequence

import numpy

from .context_cues import NOT_NAME
from .context_evidence import signs
from .context_features import People, Weighed
from .context_find import FORM_SOURCES
from .context_settings import ContextSettings
from .context_spelling import is_near_table
from .context_view import DocView
from .context_words import case_style, in_table, words
from .labels import CONNECTED, ROLES
from .spans import PROPAGATION
from .surrogates.names import name_table

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
_SOURCES = frozenset(("year_follows", "in_brackets_year", "comma_year", "according_to", "bibliography", "figure_full", "figure_surname"))
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
