"""Whose detail is it? The role of the person that an e-mail address, a user name, a web address, a phone number belongs to.

    "Ask Professor Hartwell at 555-0142 or t.hartwell@uni.edu; my own number is 555-0117."
                               INSTRUCTOR  INSTRUCTOR                           STUDENT

So a profile can say "EMAIL/INSTRUCTOR". A name inside the detail tells most; else what stands right before or behind it. Unsure
means protect: where nothing tells, or two things contradict each other, there is no role, and the profile's word for the label
holds; and what may be a student's is a student's.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..labels import EMAIL, PHONE_NUM, STREET_ADDRESS, STUDENT, URL_PERSONAL, USERNAME, is_name, role_of
from ..names.link import links_of, spell_initials
from ..names.parse import read_mention
from .handles import People, owner_of
from .person_names import Named
from .values import canonical

if TYPE_CHECKING:
    from spacy.tokens import Doc

# An ID number is not among them: it is a student's, whoever's name stands before it.
OWNED = (EMAIL, USERNAME, URL_PERSONAL, PHONE_NUM, STREET_ADDRESS)
_HANDLES = (EMAIL, USERNAME, URL_PERSONAL)
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
_REACH = 60


def detail_roles(text: str, spans: Sequence[tuple[int, int, str]], persons: Sequence[int | None] = ()) -> list[str]:
    """Find out whose details they are.

    spans (Sequence[tuple[int, int, str]]): Start, end (characters, exclusive) and label; sorted, names and details alike.
    persons (Sequence[int | None]): For each, whose name it is, if that was found out before.
    RETURNS (list[str]): For each span a role from labels.ROLES, or "" if nothing tells; a name's own role.
    """
    people = _people(text, spans, persons or [None] * len(spans))
    roles = [role_of(label) for _, _, label in spans]
    near = list(roles)
    for i, (start, end, label) in enumerate(spans):
        if label in OWNED:
            named = _by_name(text[start:end], label, people)
            near[i] = named or _by_place(text, spans, near, i)
            roles[i] = near[i]
    said: dict[tuple[str, str], set[str]] = {}
    for (start, end, label), role in zip(spans, roles, strict=True):
        if label in OWNED and role:
            said.setdefault((label, canonical(text[start:end])), set()).add(role)
    return [
        _one_of(said.get((label, canonical(text[start:end])), set())) if label in OWNED else role
        for (start, end, label), role in zip(spans, roles, strict=True)
    ]


def set_detail_roles(doc: "Doc", key: str = "pii") -> None:
    """Write `span._.pii_role` of the details in `doc.spans[key]` that have none yet."""
    spans = sorted(doc.spans[key], key=lambda s: (s.start, s.end)) if key in doc.spans else []
    if not any(span.label_ in OWNED and not span._.pii_role for span in spans):
        return
    found = detail_roles(doc.text, [(s.start_char, s.end_char, s.label_) for s in spans], [s._.pii_person for s in spans])
    for span, role in zip(spans, found, strict=True):
        if role and not span._.pii_role and not is_name(span.label_):
            span._.pii_role = role


def _one_of(roles: set[str]) -> str:
    """The role that one value has, whatever its mentions say: a student's if one says so, none if they differ."""
    return STUDENT if STUDENT in roles else next(iter(roles)) if len(roles) == 1 else ""


def _people(text: str, spans: Sequence[tuple[int, int, str]], persons: Sequence[int | None]) -> list[tuple[Named, str]]:
    names = [(*span, person) for span, person in zip(spans, persons, strict=True) if is_name(span[2])]
    mentions = spell_initials([read_mention(text[a:b], before=text[max(0, a - 20) : a]) for a, b, *_ in names])
    people, owners, _ = links_of(mentions, [person for *_, person in names])
    roles: list[set[str]] = [set() for _ in people]
    for (_, _, label, _), owner in zip(names, owners, strict=True):
        if owner >= 0:
            roles[owner].add(role_of(label))
    # A name reads as parts of a handle only where it has a surrogate: here each is its own.
    return [(Named(person, person.words), _one_of(found)) for person, found in zip(people, roles, strict=True)]


def _by_name(value: str, label: str, people: Sequence[tuple[Named, str]]) -> str:
    """The role of the person whose name a detail holds. A student whose name it holds too goes before others."""
    if label not in _HANDLES:
        return ""
    steps = (
        [value.partition("@")[0]] if label == EMAIL else re.split(r"[/?#&=:.]+", value) if label == URL_PERSONAL else [value]
    )
    students, everybody = People(named for named, role in people if role == STUDENT), People(named for named, _ in people)
    if any(owner_of(step, students) >= 0 for step in steps):
        return STUDENT
    return next((people[owner][1] for step in steps if (owner := owner_of(step, everybody)) >= 0), "")


def _by_place(text: str, spans: Sequence[tuple[int, int, str]], roles: Sequence[str], i: int) -> str:
    """The role that the words around a detail tell. roles: Of the spans before it."""
    start, end, _ = spans[i]
    if _MINE.search(text[max(0, start - _REACH) : start]):
        return STUDENT
    if i:
        between = text[spans[i - 1][1] : start]
        if roles[i - 1] and len(between) <= _REACH and "\n" not in between and _BETWEEN.fullmatch(between):
            if not _BARE.fullmatch(between) or not _others_in_line(text, spans, roles, i):
                return roles[i - 1]
            return ""
    if i + 1 < len(spans) and is_name(spans[i + 1][2]) and _BEHIND.fullmatch(text[end : spans[i + 1][0]]):
        return role_of(spans[i + 1][2])
    return ""


def _others_in_line(text: str, spans: Sequence[tuple[int, int, str]], roles: Sequence[str], i: int) -> bool:
    """Whether people with another role than the one right before stand in the line: then a comma tells nothing."""
    line = text.rfind("\n", 0, spans[i][0]), text.find("\n", spans[i][1])
    last = line[1] if line[1] >= 0 else len(text)
    inside = {role_of(label) for a, b, label in spans if is_name(label) and a > line[0] and b <= last}
    return bool(inside - {roles[i - 1]})
