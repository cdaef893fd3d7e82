"""Threads: a forum, peer feedback or a group's files. Who is known from one text is known in all texts of the thread.

    threads = Threads()
    threads.learn("7", doc, profile)                 # first reading: who is hidden in a post of thread 7 (doc has its spans)
    threads.add_known("7", doc, profile)             # second reading: "Ana" in a post, where another one is signed by Ana Lopez
    hips.using(thread="7", everyone=threads.everyone("7"))

The first reading keeps names, e-mail addresses, user names and ID numbers of each thread, in memory only, and no text: threads need not stand
together in the input. The people are linked as those of one document are, in no order, so that the second reading does not depend on one.
Mentions are found as those of a class list (ruler/roster.py), with its rules for names that are words. What stays (cited authors, characters,
instructors where the profile keeps them) is left as it is, and so is a word of such a name in a text where it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..labels import CHARACTER, CITED, EMAIL, ID_NUM, INSTRUCTOR, NAME_STUDENT, USERNAME, is_name
from ..names.letters import norm
from ..names.link import Person, fits, link, link_people, nicknames_of
from ..names.parse import FAMILY, GIVEN, read_mention
from ..names.wordlists import in_table, words
from ..profiles import KEEP, PSEUDONYM, SURROGATE, Profile
from ..ruler.roster import FIRST, LAST, Hit, Member, Roster, is_cited
from ..spans import Candidate, read_spans, write_spans
from ..surrogates.plan import NO_SURROGATE, Everyone, Item, link_names
from .columns import THREAD

if TYPE_CHECKING:
    from spacy.tokens import Doc

_VALUES = (EMAIL, USERNAME, ID_NUM)
_KEPT_OPEN = 16  # threads whose people are linked and indexed at a time
_RUNS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")
_SEPARATORS = re.compile(r"([._ -])[._ -]+")


class Known(NamedTuple):
    """A thread after its first reading. sure (frozenset[int]): Places of people whom some post did not hide to be safe only. cited (frozenset[str]):
    Folded words of names that stand before a year."""

    everyone: Everyone
    roster: Roster
    sure: frozenset[int]
    cited: frozenset[str]


@dataclass(slots=True)
class _Learnt:
    people: set[tuple[Person, str, bool]] = field(default_factory=set)
    cited: set[str] = field(default_factory=set)
    singles: set[str] = field(default_factory=set)  # names of one word
    words: set[str] = field(default_factory=set)
    values: set[tuple[str, str]] = field(default_factory=set)


class Threads:
    """What the first reading found, for each thread."""

    def __init__(self) -> None:
        self._learnt: dict[str, _Learnt] = {}
        self.known = lru_cache(_KEPT_OPEN)(self._known)

    def learn(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Remember who is hidden in a document. doc (Doc): With its spans, nothing replaced."""
        learnt, items, sure = self._learnt.setdefault(thread, _Learnt()), list[Item](), set[int]()
        for cand, start, end, hidden in _spans(doc, profile):
            text = doc.text[start:end]
            if is_name(cand.label):
                learnt.words |= {word.norm for word in read_mention(text).words}
                learnt.cited |= _surnames(text) if not hidden and is_cited(doc.text, end) else set()
            if hidden and is_name(cand.label):
                items.append(Item(start, end, cand.label, SURROGATE, cand.person))
                learnt.singles |= {norm(text)} if text.isalpha() else set()
                sure |= {start} if cand.role not in (CITED, CHARACTER) else set()
            elif hidden and cand.label in _VALUES:
                learnt.values.add((cand.label, text))
        people, linked, _ = link_names(doc.text, items)
        learnt.people |= {
            (people[n.owner], n.item.label, n.item.start in sure) for n in linked if n.owner >= 0
        }

    def _known(self, thread: str) -> Known:
        learnt = self._learnt.get(thread, _Learnt())
        people = link_people(person for person, *_ in learnt.people)
        # "jlopez" is no further person.
        whole = Roster(_member(person) for person in people if len(person.words) > 1)
        handles = set(filter(whole.is_glued, learnt.singles))
        people = [person for person in people if person.words[0] not in handles]
        labels: list[set[str]] = [set() for _ in people]
        sure = set[int]()
        for person, label, is_sure in learnt.people:
            for n in fits(person, people):
                labels[n].add(label)
                sure |= {n} if is_sure else set()
        chosen = (
            NAME_STUDENT if NAME_STUDENT in found else min(found, default=NAME_STUDENT)
            for found in labels
        )
        nicks = (nick for person in people for word in person.words for nick in nicknames_of(word))
        members = [
            *map(_member, people),
            *(
                Member.of({label: value})
                for label, value in sorted(learnt.values | {(USERNAME, h) for h in handles})
            ),
        ]
        everyone = Everyone(tuple(people), tuple(chosen), frozenset(learnt.words).union(nicks))
        return Known(
            everyone,
            Roster(members, where="known from the thread"),
            frozenset(sure),
            frozenset(learnt.cited),
        )

    def add_known(self, thread: str, doc: "Doc", profile: Profile) -> None:
        """Mark in a document who is known from others of its thread, though the profile keeps what it was taken for; but for who stays."""
        known, spans, text = self.known(thread), _spans(doc, profile), doc.text
        kept = [(c, a, b) for c, a, b, hidden in spans if not hidden and is_name(c.label)]
        people, linked, _ = link_names(
            text, [Item(a, b, c.label, SURROGATE, c.person) for c, a, b in kept]
        )
        stays = [
            row
            for row, name in zip(kept, linked, strict=True)
            if name.owner < 0 or self._stays(known, row, people[name.owner], text)
        ]
        cited = {word for _, a, b in stays for word in _surnames(text[a:b])}
        found = [
            self._as_handle(known, c, text[a:b], profile) if hidden else c
            for c, a, b, hidden in spans
        ]
        safe = {i for cand, _, _, hidden in spans if hidden for i in range(cand.start, cand.end)}
        firm = {c for c, *_ in stays} | {c for c in found if not is_name(c.label)}
        for hit in known.roster.find(text):
            span, name = (
                doc.char_span(hit.start, hit.end, alignment_mode="expand"),
                text[hit.start : hit.end],
            )
            if span is None or safe.issuperset(range(span.start, span.end)) or norm(name) in cited:
                continue
            over = [c for c in found if c.start < span.end and span.start < c.end]
            if not firm.isdisjoint(over):
                continue
            label, person = (
                label_of(hit, name, known),
                next((c.person for c in over if c.start in safe), None),
            )
            start, end = (
                min([span.start, *(c.start for c in over)]),
                max([span.end, *(c.end for c in over)]),
            )
            found = [c for c in found if c not in over]
            found.append(
                Candidate(
                    start,
                    end,
                    label,
                    hit.score,
                    THREAD,
                    hit.reason,
                    person=person if is_name(label) else None,
                )
            )
            safe.update(range(start, end))
        write_spans(doc, found)

    @staticmethod
    def _stays(known: Known, kept: tuple[Candidate, int, int], person: Person, text: str) -> bool:
        """Whether a name that the profile keeps is nobody's of the thread: cited with a year here or in another post, or by a name that is none of
        theirs; a teacher's or a character's, if it is no full name; or of somebody whom no post is sure of."""
        cand, start, end = kept
        who = fits(person, known.everyone.people)
        by_year = is_cited(text, end) or not known.cited.isdisjoint(_surnames(text[start:end]))
        other_role = (
            cand.role in (CHARACTER, INSTRUCTOR) and len(read_mention(text[start:end]).words) < 2
        )
        return not who or by_year or other_role or not any(n in known.sure for n in who)

    @staticmethod
    def _as_handle(known: Known, cand: Candidate, name: str, profile: Profile) -> Candidate:
        """The same; a user name, if it was taken for a name and is somebody's in one word."""
        if (
            not is_name(cand.label)
            or not known.roster.is_glued(name)
            or profile.action(USERNAME) == KEEP
        ):
            return cand
        return replace(cand.with_label(USERNAME), person=None, roles=())

    def rename(
        self, thread: str, name: str, hips: Any, profile: Profile
    ) -> tuple[str, bool] | None:
        """A name of a file, or an ID, with the surrogates that the people in it have in the texts of their thread.

        hips: The component that makes them. RETURNS (tuple[str, bool] | None): The new name, of surrogates, words that are no names, and
        numbers of one or two digits; and whether more was left out. None, if it holds nobody who is known.
        """
        from spacy.tokens import Doc
        from spacy.vocab import Vocab

        known = self.known(thread)
        hits = [
            (hit, label_of(hit, name[hit.start : hit.end], known))
            for hit in known.roster.find(name)
        ]
        taken = {i for hit, _ in hits for i in range(hit.start, hit.end)}
        for run in _RUNS.finditer(name):
            if known.roster.is_glued(run[0]) and taken.isdisjoint(range(*run.span())):
                hits.append((Hit(*run.span(), USERNAME, 1.0, ""), USERNAME))
        if not hits or any(
            profile.action(label) not in (SURROGATE, PSEUDONYM) for _, label in hits
        ):
            return None
        cuts = sorted({0, len(name), *(at for hit, _ in hits for at in (hit.start, hit.end))})
        parts = [name[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
        doc = Doc(Vocab(), words=parts, spaces=[False] * len(parts))
        write_spans(
            doc,
            [
                Candidate(cuts.index(hit.start), cuts.index(hit.start) + 1, label)
                for hit, label in hits
            ],
        )
        with hips.using(thread=thread, everyone=known.everyone):
            hips(doc)
        new, at, out = doc._.deidentified, 0, list[str]()
        for row in doc._.surrogate_spans:
            if row["note"] == NO_SURROGATE:
                return None
            out += [
                *_harmless(new[at : row["start_char"]]),
                new[row["start_char"] : row["end_char"]],
            ]
            at = row["end_char"]
        out += _harmless(new[at:])
        left_out = "\0" in out
        return _SEPARATORS.sub(r"\1", "".join(part for part in out if part != "\0")).strip(
            "._- "
        ), left_out


def _member(person: Person) -> Member:
    texts = list(zip(person.texts, person.kinds, strict=True))
    return Member.of(
        {
            column: " ".join(t for t, k in texts if k == kind)
            for column, kind in ((FIRST, GIVEN), (LAST, FAMILY))
        }
    )


def _spans(doc: "Doc", profile: Profile) -> list[tuple[Candidate, int, int, bool]]:
    """Each span with its characters, and whether it is hidden."""
    found = [(c, doc[c.start : c.end]) for c in read_spans(doc)]
    return [
        (c, s.start_char, s.end_char, profile.action(c.label, s._.pii_role) != KEEP)
        for c, s in found
    ]


def _surnames(name: str) -> set[str]:
    """The folded words of a name that are not surely a given name."""
    return {word.norm for word in read_mention(name).words if word.kind != GIVEN}


def label_of(hit: Hit, text: str, known: Known) -> str:
    """A name has the label of its person in the thread, a student's where nobody knows; one in one word is a user name."""
    if is_name(hit.label) and known.roster.is_glued(text):
        return USERNAME
    people = link([read_mention(text)]).people if is_name(hit.label) else []
    who = fits(people[0], known.everyone.people) if people else []
    return known.everyone.labels[who[0]] if len(who) == 1 else hit.label


def _harmless(text: str) -> Iterator[str]:
    """Runs that tell nothing; "\\0" in the place of others."""
    for run in _RUNS.findall(text):
        common = (
            run.isalpha() and len(run) > 2 and words().is_common(norm(run)) and not in_table(run)
        )
        yield run if common or (run.isdecimal() and len(run) < 3) or not run[0].isalnum() else "\0"
