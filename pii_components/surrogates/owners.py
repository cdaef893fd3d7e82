"""Whose detail is it? The person, and their role, whom an e-mail address, a phone number, a user name belongs to.

    "Ask Professor Hartwell at 555-0142 or t.hartwell@uni.edu; my own number is 555-0117."
                               INSTRUCTOR  INSTRUCTOR                           STUDENT

So a profile can say "EMAIL/INSTRUCTOR". A name inside the detail tells most; else what stands right before or behind it. Unsure means
protect: where nothing tells, or two things contradict each other, there is no owner, and the profile's word for the label holds; what may
be a student's is a student's. That it is an organisation's, only a reader says, in the review.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from spacy.tokens import Doc

from ..labels import (
    CHARACTER,
    CITED,
    CONNECTED,
    DETAIL_LABELS,
    EMAIL,
    ID_NUM,
    PHONE_NUM,
    STREET_ADDRESS,
    STUDENT,
    URL_PERSONAL,
    is_name,
    role_of,
)
from ..names.people import People, identify, people_of
from .handles import owner_of
from .person_names import Named
from .values import canonical

_CONTACT = (
    r"e-?mail|mail|address|phone|telephone|tel|mobile|cell|number|no|contact|office|website|web|site|page|profile|linkedin|handle|"
    r"username|account|blog|channel"
)
# What may stand between a person and their detail: "Mr. Roe (phone: ", "Ms. Roe, whose e-mail is ", "Write to Dr. Roe at ".
_BETWEEN = re.compile(
    rf"(?:[\s,;:()\[\]<>|/–—-]|['’]s\b|\b(?:his|her|their|whose|the|at|on|via|by|under|is|was|or|and|lives|reach|reached|{_CONTACT})\b\.?)*",
    re.IGNORECASE,
)
_BARE = re.compile(r"[\s,;:()\[\]<>|/–—-]*")
_BEHIND = re.compile(r"\s*[(\[]\s*(?:(?:prof|professor|dr|mr|mrs|ms|miss)\.?\s*)?", re.IGNORECASE)
_MINE = re.compile(
    rf"\b(?:my|our)\s+(?:(?:own|new|old|personal|private|school|student|home|work|{_CONTACT})\s+)*(?:{_CONTACT})\b[^.!?\n]{{0,12}}$|"
    r"\b(?:contact|reach|call|text|e-?mail|write|follow|find|add|message)\s+(?:to\s+)?(?:me|us)\b[^.!?\n]{0,12}$",
    re.IGNORECASE,
)
_KEPT = (CITED, CHARACTER)
_REACH, _FAR, _SPANS = 60, 200, 20  # characters to a name, to the ends of a sentence; spans around
_SENTENCE = re.compile(r"[.!?;]\s|\n")


class Owner(NamedTuple):
    """Whose a detail is. role (str): One of labels.ROLES, or "" if nothing tells. person (int | None): `span._.pii_person`."""

    role: str = ""
    person: int | None = None


def detail_owners(
    text: str, spans: Sequence[tuple[int, int, str]], people: People | None = None
) -> list[Owner]:
    """Find out whose details they are.

    spans (Sequence[tuple[int, int, str]]): Start, end (characters, exclusive) and label; sorted, names and details alike.
    people (People | None): Who is named in the spans, if that is at hand.
    RETURNS (list[Owner]): One for each span; of a name, its own role and person.
    """
    people = people or identify(text, [(*span, None) for span in spans])
    numbers = {span[:2]: span[3] for span in people.spans}
    named = _people(people)
    owners = [Owner(role_of(label), numbers.get((a, b))) for a, b, label in spans]
    said: dict[tuple[str, str], set[Owner]] = {}
    details = [
        (i, (label, canonical(text[a:b])))
        for i, (a, b, label) in enumerate(spans)
        if label in DETAIL_LABELS
    ]
    for i, value in details:
        start, end, label = spans[i]
        found = _by_name(text[start:end], label, named) or _by_place(text, spans, owners, i)
        # Things that contradict each other are found, too.
        owner = found or _by_sentence(text, spans, owners, i) or Owner()
        # An ID number is a student's, whoever's name stands before it.
        owners[i] = Owner() if label == ID_NUM and owner.role != STUDENT else owner
        if owner.role:
            said.setdefault(value, set()).add(owners[i])
    for i, value in details:
        owners[i] = _one_of(said.get(value, ()))
    return owners


def set_detail_roles(doc: Doc, key: str = "pii") -> None:
    """Write `span._.pii_role` and `span._.pii_person` of the details in `doc.spans[key]` that have no role yet."""
    spans = sorted(doc.spans.get(key, ()), key=lambda span: (span.start, span.end))
    open_ = [span.label_ in DETAIL_LABELS and not span._.pii_role for span in spans]
    if any(open_):
        places = [(span.start_char, span.end_char, span.label_) for span in spans]
        found = detail_owners(doc.text, places, people_of(doc, key))
        for span, owner, is_open in zip(spans, found, open_, strict=True):
            if owner.role and is_open:
                span._.pii_role, span._.pii_person = owner


def _one_of(owners: Collection[Owner]) -> Owner:
    """The owner that one value or one person has, whatever the mentions say: a student if one says so, none if the roles differ."""
    roles = {owner.role for owner in owners}
    role = STUDENT if STUDENT in roles else next(iter(roles)) if len(roles) == 1 else ""
    persons = {owner.person for owner in owners if owner.role == role and owner.person is not None}
    return Owner(role, next(iter(persons)) if len(persons) == 1 else None)


def _people(people: People) -> list[tuple[Named, Owner]]:
    found: list[set[Owner]] = [set() for _ in people.persons]
    for (_, _, label, number), owner in zip(people.spans, people.owners, strict=True):
        if owner >= 0:
            found[owner].add(Owner(role_of(label), number))
    rows = list(zip(people.persons, map(_one_of, found), strict=True))
    private = {word for p, owner in rows if owner.role not in _KEPT for word in p.words}
    # A name reads as parts of a handle only where it has a surrogate: here each is its own. An author's, with a word of whom the
    # writer knows, may be either's.
    known = [owner.role not in _KEPT or private.isdisjoint(p.words) for p, owner in rows]
    return [
        (Named(p, p.words), owner if is_known else Owner())
        for (p, owner), is_known in zip(rows, known, strict=True)
    ]


def _by_name(value: str, label: str, people: Sequence[tuple[Named, Owner]]) -> Owner | None:
    """The person whose name a detail holds. A student whose name it holds too goes before others."""
    if label in (PHONE_NUM, STREET_ADDRESS):
        return None
    steps = [value.partition("@")[0] if label == EMAIL else value]
    if label == URL_PERSONAL:
        steps = re.split(r"[/?#&=:.]+", value)
    for group in ([pair for pair in people if pair[1].role == STUDENT], people):
        named = [name for name, _ in group]
        for step in steps:
            if (place := owner_of(step, named)) >= 0:
                return group[place][1]
    return None


def _by_place(
    text: str, spans: Sequence[tuple[int, int, str]], owners: Sequence[Owner], i: int
) -> Owner | None:
    """The person that the words around a detail tell. owners: Of the spans before it."""
    start, end, _ = spans[i]
    if _MINE.search(text[max(0, start - _REACH) : start]):
        return Owner(STUDENT)
    before = owners[i - 1] if i else Owner()
    between = text[spans[i - 1][1] : start] if i else ""
    is_near = len(between) <= _REACH and "\n" not in between and _BETWEEN.fullmatch(between)
    if before.role and is_near:
        # Where people of several roles stand in the line, a comma tells nothing.
        first, last = text.rfind("\n", 0, start), text.find("\n", end)
        inside = {
            role_of(label)
            for a, b, label in spans
            if is_name(label) and a > first and (b <= last or last < 0)
        }
        tells = not _BARE.fullmatch(between) or inside <= {before.role}
        return before if tells else Owner()
    behind = spans[i + 1] if i + 1 < len(spans) else (len(text), 0, "")
    if is_name(behind[2]) and _BEHIND.fullmatch(text[end : behind[0]]):
        return owners[i + 1]
    return None


def _by_sentence(
    text: str, spans: Sequence[tuple[int, int, str]], owners: Sequence[Owner], i: int
) -> Owner | None:
    """The student or other private person who alone is named in the sentence or above it; of a teacher, that tells too little."""
    start, end, _ = spans[i]
    # What stands before the detail in a very long sentence tells nothing.
    signs = [sign.end() for sign in _SENTENCE.finditer(text, max(0, start - _FAR), start)]
    first = signs[-1] if signs else start if start > _FAR else 0
    behind = _SENTENCE.search(text, end, end + _FAR)
    last = behind.start() if behind else end + _FAR
    around = slice(max(0, i - _SPANS), i + _SPANS)
    named = [
        owner
        for (_, b, kind), owner in zip(spans[around], owners[around], strict=True)
        if is_name(kind) and first - _REACH < b <= last
    ]
    whose = set(named)
    return _one_of(whose) if {owner.role for owner in whose} in ({STUDENT}, {CONNECTED}) else None
