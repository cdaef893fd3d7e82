"""Threads: names found in one text of a forum topic or a group's files are searched for in all of them.

    threads = Threads()
    threads.learn("7", doc, profile)                # first reading: who is hidden in thread 7
    threads.add_known("7", doc, profile)            # second reading: "Ana", where Ana Lopez signs another
    hips.using(thread="7", everyone=threads.known("7").everyone)

The first reading keeps names, addresses and numbers of each thread, in memory only, and no text. They
are found as those of a class list are (ruler/roster.py). A name that the profile keeps is hidden, too,
if it is somebody's of the thread, unless a year stands behind it here or in another text.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..labels import EMAIL, ID_NUM, NAME_STUDENT, USERNAME, is_name
from ..names.link import Person, fits, link, link_people
from ..names.parse import FAMILY, GIVEN, read_mention
from ..profiles import KEEP, SURROGATE, Profile
from ..ruler.roster import FIRST, LAST, Member, Roster, is_cited
from ..spans import Candidate, read_spans, write_spans
from ..surrogates.plan import Everyone, Item, link_names
from .columns import THREAD

if TYPE_CHECKING:
    from spacy.tokens import Doc

_VALUES = (EMAIL, USERNAME, ID_NUM)
_KEPT_OPEN = 16  # threads whose people are linked and indexed at a time


class Known(NamedTuple):
    """A thread after its first reading. cited (set[str]): Words of names that stand before a year."""

    everyone: Everyone
    roster: Roster
    cited: set[str]

    def who(self, name: str) -> list[int]:
        """RETURNS (list[int]): Numbers of the people whose name it may be."""
        people = link([read_mention(name)]).people
        return fits(people[0], self.everyone.people) if people else []

    def label(self, label: str, name: str) -> str:
        """A name has the label of its person; "analopez" is a user name."""
        if not is_name(label):
            return label
        if self.roster.is_glued(name):
            return USERNAME
        who = self.who(name)
        return self.everyone.labels[who[0]] if len(who) == 1 else label


@dataclass(slots=True)
class _Learnt:
    people: set[tuple[Person, str]] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    cited: set[str] = field(default_factory=set)


class Threads:
    """What the first reading found, for each thread."""

    def __init__(self) -> None:
        self._learnt: dict[str, _Learnt] = {}
        self.known = lru_cache(_KEPT_OPEN)(self._known)

    def learn(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Remember who is hidden in a document. doc (Doc): With its spans, nothing replaced."""
        learnt, items = self._learnt.setdefault(thread, _Learnt()), list[Item]()
        for cand, start, end, is_hidden in _spans(doc, profile):
            text = doc.text[start:end]
            if is_name(cand.label):
                learnt.words.update(word.norm for word in read_mention(text).words)
            if is_name(cand.label) and is_hidden:
                items.append(Item(start, end, cand.label, SURROGATE, cand.person))
            elif is_name(cand.label) and is_cited(doc.text, end):
                learnt.cited |= _surnames(text)
            elif is_hidden and cand.label in _VALUES:
                learnt.values.add((cand.label, text))
        people, linked, _ = link_names(doc.text, items)
        learnt.people |= {(people[n.owner], n.item.label) for n in linked if n.owner >= 0}

    def _known(self, thread: str) -> Known:
        learnt = self._learnt.get(thread, _Learnt())
        people = link_people(person for person, _ in learnt.people)
        labels: list[set[str]] = [set() for _ in people]
        for person, label in learnt.people:
            for n in fits(person, people):
                labels[n].add(label)
        # A student for one text is a student for all.
        chosen = [
            NAME_STUDENT if NAME_STUDENT in found else min(found, default=NAME_STUDENT)
            for found in labels
        ]
        members = [_member(person) for person in people]
        members += [Member.of({label: value}) for label, value in sorted(learnt.values)]
        everyone = Everyone(tuple(people), tuple(chosen), frozenset(learnt.words))
        return Known(everyone, Roster(members, where="known from the thread"), learnt.cited)

    def add_known(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Mark in a document who is known from others of its thread."""
        known, spans, text = self.known(thread), _spans(doc, profile), doc.text
        cited = set(known.cited)
        for cand, start, end, is_hidden in spans:
            if is_hidden or not is_name(cand.label):
                continue
            name = text[start:end]
            if is_cited(text, end) or (" " in name and not known.who(name)):
                cited |= _surnames(name)
        cands = [cand for cand, *_ in spans]
        safe = {i for c, *_, is_hidden in spans if is_hidden for i in range(c.start, c.end)}
        for hit in known.roster.find(text):
            name = text[hit.start : hit.end]
            span = doc.char_span(hit.start, hit.end, alignment_mode="expand")
            if (
                span is None
                or cited & _surnames(name)
                or safe.issuperset(range(span.start, span.end))
            ):
                continue
            over = [c for c in cands if c.start < span.end and span.start < c.end]
            if not all(is_name(c.label) for c in over):
                continue
            start = min([span.start, *(c.start for c in over)])
            end = max([span.end, *(c.end for c in over)])
            label = known.label(hit.label, name)
            cands = [c for c in cands if c not in over]
            cands.append(Candidate(start, end, label, hit.score, THREAD, hit.reason))
            safe.update(range(start, end))
        write_spans(doc, cands)


def _member(person: Person) -> Member:
    words: dict[str, list[str]] = {GIVEN: [], FAMILY: []}
    for text, kind in zip(person.texts, person.kinds, strict=True):
        words[kind].append(text)
    return Member.of({FIRST: " ".join(words[GIVEN]), LAST: " ".join(words[FAMILY])})


def _spans(doc: "Doc", profile: Profile) -> list[tuple[Candidate, int, int, bool]]:
    """RETURNS (list): Each span with its characters, and whether it is hidden."""
    found = [(c, doc[c.start : c.end]) for c in read_spans(doc)]
    return [
        (c, s.start_char, s.end_char, profile.action(c.label, s._.pii_role) != KEEP)
        for c, s in found
    ]


def _surnames(name: str) -> set[str]:
    """RETURNS (set[str]): The folded words of a name that are not surely a given name."""
    return {word.norm for word in read_mention(name).words if word.kind != GIVEN}
