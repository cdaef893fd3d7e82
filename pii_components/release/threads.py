"""Threads: names found in one text of a forum topic or a group's files are searched for in all of them.

    threads.learn("7", doc, profile)                # first reading: who is hidden in thread 7
    threads.add_known("7", doc, profile)            # second reading: "Ana", where Ana Lopez signs another

Names, addresses and numbers of each thread are kept in memory, no text. They are found as those of a class list are
(ruler/roster.py). A name that the profile keeps is hidden, too, if it is somebody's of the thread, unless a year stands
behind it in some text, or this text has it from the full name of somebody else.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..labels import EMAIL, ID_NUM, NAME_STUDENT, USERNAME, is_name
from ..names.link import Among, Person, fits, link_people
from ..names.parse import GIVEN, Mention
from ..names.people import People, identify, people_of
from ..profiles import KEEP, Profile
from ..ruler.roster import Member, Roster, is_cited
from ..spans import Candidate, read_spans, write_spans
from ..surrogates.plan import ScopePeople
from .columns import THREAD

if TYPE_CHECKING:
    from spacy.tokens import Doc

_KEPT_OPEN = 16  # threads whose people are linked and indexed at a time
_Place = tuple[Candidate, int, int, bool]  # a span, its characters, whether it is hidden


class Known(NamedTuple):
    """A thread after its first reading. cited (set[str]): Words of names that stand before a year."""

    everyone: ScopePeople
    roster: Roster
    cited: set[str]


@dataclass(slots=True)
class _Learnt:
    people: set[tuple[Person, str]] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    cited: set[str] = field(default_factory=set)


class Threads:
    """What the first reading found, for each thread."""

    def __init__(self, learnt: dict[str, _Learnt] | None = None) -> None:
        self._learnt = learnt or {}
        self.known = lru_cache(_KEPT_OPEN)(self._known)

    def __reduce__(self) -> tuple[Any, ...]:
        return Threads, (self._learnt,)

    def merged(self, other: "Threads | None") -> "Threads":
        """RETURNS (Threads): These, with what others have found in another part of the corpus."""
        for thread, found in other._learnt.items() if other else ():
            mine = self._learnt.setdefault(thread, _Learnt())
            for name in ("people", "values", "words", "cited"):
                getattr(mine, name).update(getattr(found, name))
        return self

    def learn(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Remember who is hidden in a document. doc (Doc): With its spans, nothing replaced."""
        learnt, people = self._learnt.setdefault(thread, _Learnt()), people_of(doc)
        learnt.words |= people.words()
        spans = [span for span in _spans(doc, profile) if span[-1]]
        hidden = {(start, end) for _, start, end, _ in spans}
        learnt.values |= {
            (cand.label, doc.text[start:end])
            for cand, start, end, _ in spans
            if cand.label in (EMAIL, USERNAME, ID_NUM)
        }
        for (start, end, *_), mention in zip(people.spans, people.mentions, strict=True):
            if (start, end) not in hidden and is_cited(doc.text, end):
                learnt.cited |= _surnames(mention)
        those = people.among(hidden)
        learnt.people |= {
            (those.persons[owner], span[2])
            for span, owner in zip(those.spans, those.owners, strict=True)
            if owner >= 0
        }

    def _known(self, thread: str) -> Known:
        learnt = self._learnt.get(thread, _Learnt())
        people = link_people(person for person, _ in learnt.people)
        chosen, among = [""] * len(people), Among(people)
        for person, label in sorted(learnt.people, key=lambda known: known[1]):
            for n in fits(person, among):
                # A student for one text is a student for all.
                chosen[n] = label if label == NAME_STUDENT else chosen[n] or label
        members = [Member(person) for person in people]
        members += [Member.of([value]) for value in sorted(learnt.values)]
        labels = tuple(label or NAME_STUDENT for label in chosen)
        everyone = ScopePeople(tuple(people), labels, frozenset(learnt.words))
        return Known(everyone, Roster(members, where="known from the thread"), learnt.cited)

    def add_known(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Mark in a document who is known from others of its thread."""
        known, spans, text = self.known(thread), _spans(doc, profile), doc.text
        cited = known.cited | _cited_here(known, text, people_of(doc), spans)
        cands = [cand for cand, *_ in spans]
        safe = {i for c, *_, is_hidden in spans if is_hidden for i in range(c.start, c.end)}
        hits = known.roster.find(text)
        read = identify(text, [(hit.start, hit.end, NAME_STUDENT, None) for hit in hits])
        named = zip(read.spans, read.mentions, strict=True)
        surnames = {name[:2]: _surnames(mention) for name, mention in named}
        for hit in hits:
            name = text[hit.start : hit.end]
            span = doc.char_span(hit.start, hit.end, alignment_mode="expand")
            if span is None or cited & surnames[hit.start, hit.end]:
                continue
            over = [c for c in cands if c.start < span.end and span.start < c.end]
            is_safe = safe.issuperset(range(span.start, span.end))
            if is_safe or not all(is_name(c.label) for c in over):
                continue
            start = min([span.start, *(c.start for c in over)])
            end = max([span.end, *(c.end for c in over)])
            label = USERNAME if known.roster.is_glued(name) else hit.label
            cands = [c for c in cands if c not in over]
            cands.append(Candidate(start, end, label, hit.score, THREAD, hit.reason))
            safe.update(range(start, end))
        write_spans(doc, cands)


def _cited_here(known: Known, text: str, people: People, spans: list[_Place]) -> set[str]:
    """RETURNS (set[str]): Words of names that the profile keeps and that stand before a year, or are another full name than the thread's."""
    words, hidden = set[str](), {(a, b) for _, a, b, is_hidden in spans if is_hidden}
    for n, (start, end, *_) in enumerate(people.spans):
        if (start, end) in hidden:
            continue
        mention, owner = people.mentions[n], people.owners[n]
        is_full = owner >= 0 and " " in mention.text
        is_others = is_full and not fits(people.persons[owner], known.everyone.among)
        words |= _surnames(mention) if is_others or is_cited(text, end) else set()
    return words


def _spans(doc: "Doc", profile: Profile) -> list[_Place]:
    found = []
    for cand in read_spans(doc):
        span = doc[cand.start : cand.end]
        is_hidden = profile.action(cand.label, span._.pii_role) != KEEP
        found.append((cand, span.start_char, span.end_char, is_hidden))
    return found


def _surnames(mention: Mention) -> set[str]:
    """RETURNS (set[str]): The folded words of a name that are not surely a given name."""
    return {word.norm for word in mention.words if word.kind != GIVEN}
