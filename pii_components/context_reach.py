"""Whom the trained classifier of `pii_context` was made for, and what its word about the others counts.

It learned from essays, chats and texts with worn names, most of which are words of Latin letters that stand in tables. The rules say as much as it
does in conversations, for a name that stands in no table, since it has a slip in it or few bear it, and for one in capitals, small letters or mixed
case; they say three times as much for names in a script of their own, letter by letter or with digits in them. Strange names and people of
conversations are never "no name".
"""

import re
from collections.abc import Sequence

import numpy

from .context_features import People, Weighed
from .context_find import FORM_SOURCES
from .context_view import DocView
from .context_words import case_style, in_table, words
from .spans import PROPAGATION

# Cues by which a text itself says "I am": who signs, posts or speaks is a person, however odd the word.
SPEAKERS = frozenset((
    "my_name_is", "pledge", "closing_above", "closing_before", "forum_poster", "forum_reply_head", "forum_reply_above", "chat_line", "chat_wrote",
    "turn_speaker", "group_leader", "id_behind",
))  # fmt: skip
_UNSEEN = frozenset((PROPAGATION, *FORM_SOURCES))
_UNLIKE = re.compile(r"\d|[^\W\d_A-Za-zÀ-ÖØ-öø-ɏʰ-˿Ḁ-ỿ]")
_LETTERS_APART = 3


def settle(
    chances: numpy.ndarray, by_rules: numpy.ndarray, view: DocView, people: People, person: Sequence[int], weighed: Weighed, read=None
) -> numpy.ndarray:
    """What is believed of one person.

    chances (numpy.ndarray): By the classifier, shape `(6,)`: five roles, and "no name". by_rules (numpy.ndarray): By the rules, shape `(5,)`.
    view (DocView): The document. people (People): Everybody in it. person (Sequence[int]): This one's mentions.
    weighed (Weighed): What speaks for each role of this one.
    RETURNS (numpy.ndarray): Shape `(6,)`. Without "no name" for whom the classifier was not made, for names copied from others or found by
        their form, of which it has seen too few, and for who signs, posts or speaks; with half of it where a sign touches the name.
    """
    strange = any(is_strange(view, people, i) for i in person)
    sure = strange or bool(view.turns) or any(e.id in SPEAKERS for e in weighed.evidence)
    none = 0.0 if sure or all(people.cands[i].source in _UNSEEN for i in person) else float(chances[-1])
    if all("beset" in people.places[i].zones for i in person):
        none /= 2.0 - none
    if strange:
        trust = 0.25
    else:
        trust = 0.5 if view.turns or is_rare(people, person) or is_in_odd_case(view, people, person) else 1.0
    import os
    g = os.environ.get("GUARD", "rules")
    if read is not None and g != "rules":
        rd = numpy.exp(read[:-1].astype("f8")); rd /= rd.sum()
        if g == "reader": by_rules = rd
        elif g == "both": by_rules = (by_rules + rd) / 2
        elif g == "none": trust = 1.0
        elif g == "half": trust = (1 + trust) / 2
        elif g == "strange": trust = 1.0 if trust > .3 else .5; by_rules = (by_rules + rd) / 2
    roles = chances[:-1] / max(float(chances[:-1].sum()), 1e-9)
    return numpy.append((1.0 - none) * (trust * roles + (1.0 - trust) * by_rules), none)


def is_rare(people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether somebody has a name that stands in no table and is no English word."""
    fullest = max((people.forms[i] for i in person), key=lambda form: len(form.words))
    return any(len(word) > 1 and not in_table(word) and not words().is_common(word) for word in fullest.words)


def is_in_odd_case(view: DocView, people: People, person: Sequence[int]) -> bool:
    """RETURNS (bool): Whether somebody is only named in capitals, in small letters or in mixed case; initials do not count."""
    named = [
        word
        for i in person
        for word in view.words[people.cands[i].start : people.cands[i].end]
        if len(word) > 1 and word.isalpha()
    ]
    return bool(named) and all(case_style(word) in ("upper", "lower", "other") for word in named)


def is_strange(view: DocView, people: People, i: int) -> bool:
    """RETURNS (bool): Whether a mention is written as no name of the essays is that the classifier learned from. i (int): Which one."""
    cand = people.cands[i]
    if cand.source in FORM_SOURCES:
        return True
    letters = [len(word) for word in view.words[cand.start : cand.end] if word.isalpha()]
    if len(letters) >= _LETTERS_APART and max(letters) == 1:
        return True
    return _UNLIKE.search(view.text, view.starts[cand.start], view.ends[cand.end - 1]) is not None
