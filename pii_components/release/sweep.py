"""The last sweep: what was hidden somewhere in a corpus, and stands in clear somewhere else (ETS's fourth step).

    protected = Surnames()
    protected.add(people_of(doc).among(hidden))                      # for every document: the names that are hidden
    protected.find("Lopez helped, says Kant.")                       # [Hit(start=0, end=5, lower=False)]

ETS searched all texts for each surname; where one "shows up a lot", because it is a common word, for the full name instead. So
here: a surname that is an English word, or of two letters, counts only beside a given name of one of its bearers. Words inside
names that stay (cited authors, characters) and inside surrogates do not count, nor does a cited author's surname in the document
that cites them.

`Originals` has all else that was replaced, and the names of a class list, as whole values, ranked by risk.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..files.record import is_common
from ..labels import NAME_STUDENT, is_name
from ..names.letters import fold, norm
from ..names.normalize import INSIDE_WORD
from ..names.parse import FAMILY, GIVEN
from ..names.people import People, people_of
from ..profiles import KEEP, Profile

if TYPE_CHECKING:
    from spacy.tokens import Doc

_WORD = re.compile(rf"[^\W\d_]+(?:['’´`ʼ{INSIDE_WORD}][^\W\d_]+)*")
# What may stand between the parts of a name: "Ana Lopez", "LOPEZ, ANA", "ana_lopez", "ana.lopez".
_JOINT = re.compile(r"\s{1,2}|,\s?|[._-]")
_POSSESSIVE = re.compile(r"['’´`ʼ][sS]$")
HIGH, MEDIUM, LOW = RISKS = ("high", "medium", "low")
_PART = re.compile(r"\d+(?:[./-]\d+)*|[^\W_]+")  # "2041-8837" is 20418837
_SIGNS = str.maketrans("", "", "./-")
_LEAST, _SHORT, _MOST_PARTS = 5, 3, 16  # letters of a value that can be looked for; words of one
_SWEPT = "swept: this surname is hidden in another text of the corpus"


class Hit(NamedTuple):
    """A surname that was found: characters, end exclusive; its token; whether it stands in small letters."""

    start: int
    end: int
    word: str
    lower: bool = False


Words = tuple[str, ...]


def names_of(people: People) -> Iterator[tuple[Words, Words]]:
    """YIELDS (tuple[Words, Words]): The folded given names and surnames of each person."""
    for person in people.persons:
        words = [word for word in zip(person.words, person.kinds, strict=True) if len(word[0]) > 1]
        given = tuple(word for word, kind in words if kind == GIVEN)
        yield given, tuple(word for word, kind in words if kind == FAMILY)


@dataclass(slots=True)
class Surnames:
    """What is protected.

    token (Callable[[str], str]): What is remembered of a folded word: itself, or a keyed digest where it is written to a file.
    alone (set[str]): Tokens of surnames that count wherever they stand. pairs (set[str]): Tokens of "given surname", for those that
    count beside a given name only.
    """

    token: Callable[[str], str] = str
    alone: set[str] = field(default_factory=set, repr=False)
    pairs: set[str] = field(default_factory=set, repr=False)

    def __len__(self) -> int:
        return len(self.alone) + len(self.pairs)

    def add(self, people: People) -> tuple[list[str], list[str]]:
        """Remember the surnames of those whose names are hidden in a document.

        RETURNS (tuple[list[str], list[str]]): What was added to `alone` and to `pairs`.
        """
        alone: set[str] = set()
        pairs: set[str] = set()
        for given, family in names_of(people):
            for surname in family:
                if is_common(surname):
                    pairs.update(self.token(f"{first} {surname}") for first in given)
                else:
                    alone.add(self.token(surname))
        self.alone |= alone
        self.pairs |= pairs
        return sorted(alone), sorted(pairs)

    def find(
        self, text: str, *, spans: Sequence[tuple[int, int]] = (), exempt: Collection[str] = ()
    ) -> list[Hit]:
        """What is protected and stands in a text, sorted.

        spans (Sequence[tuple[int, int]]): Stretches that are known: surrogates, names that stay. exempt (Collection[str]): Tokens
        of words that may stand here.
        """
        if not self:
            return []
        found, known, at = list[Hit](), sorted(spans), 0
        matches = [(m.start(), m.end(), norm(m[0])) for m in _WORD.finditer(text)]
        for i, (start, end, word) in enumerate(matches):
            while at < len(known) and known[at][1] <= start:
                at += 1
            inside = at < len(known) and known[at][0] < end
            # A possessive is no part of a surname, an apostrophe may be.
            own = _POSSESSIVE.search(text, start, end)
            end = own.start() if own else end
            short = norm(text[start:end]) if own else word
            if inside or not (1 < len(short) <= 40):
                continue
            token = self.token(short)
            if token in exempt:
                continue
            is_protected = token in self.alone
            if not is_protected and self.pairs and is_common(short):
                # The words on both sides, and where what stands between begins and ends.
                near = [(other, last, start) for _, last, other in matches[max(0, i - 1) : i]]
                near += [(other, end, first) for first, _, other in matches[i + 1 : i + 2]]
                names = [other for other, *gap in near if _JOINT.fullmatch(text, *gap)]
                is_protected = any(self.token(f"{name} {short}") in self.pairs for name in names)
            if is_protected:
                found.append(Hit(start, end, token, text[start:end].islower()))
        return found


def _parts(text: str) -> list[tuple[int, int, str]]:
    return [(m.start(), m.end(), fold(m[0]).translate(_SIGNS)) for m in _PART.finditer(text)]


@dataclass(slots=True)
class Originals:
    """Values that were replaced, full names, and names of one word.

    token (Callable[[str], str]): As of `Surnames`. whole (dict[str, str]): Token of a value, its words in one -> its risk. first (dict[str, int]):
    Token of a value's first word -> the most words of a value that begins so. One pass over the words of a text finds all.
    """

    token: Callable[[str], str] = str
    whole: dict[str, str] = field(default_factory=dict, repr=False)
    first: dict[str, int] = field(default_factory=dict, repr=False)

    def add(self, value: str, risk: str) -> None:
        """Remember a value, as written or glued."""
        parts = [part for *_, part in _parts(value)][:_MOST_PARTS]
        whole = "".join(parts)
        if len(whole) >= (_LEAST if risk == HIGH else _SHORT) and not (
            len(parts) == 1 and whole.isalpha() and is_common(whole)
        ):
            self.put({self.token(whole): risk}, {self.token(parts[0]): len(parts)})

    def put(self, whole: Mapping[str, str], first: Mapping[str, int]) -> None:
        """Remember what others have: see `whole` and `first`."""
        for token, risk in whole.items():
            self.whole[token] = min(risk, self.whole.get(token, risk), key=RISKS.index)
            self.first.setdefault(token, 1)  # glued
        for token, n in first.items():
            self.first[token] = max(n, self.first.get(token, 0))

    def add_person(self, given: Sequence[str], family: Sequence[str], *, risk: str = LOW) -> None:
        """Remember a name, folded words of it: whole in either order, high; given names alone, at another risk."""
        for first in given if family else ():
            for full in (
                f"{first} {' '.join(family)}",
                f"{' '.join(family)} {first}",
                f"{first} {family[-1]}",
            ):
                self.add(full, HIGH)
        for word in given:
            self.add(word, risk)

    def find(
        self, text: str, *, spans: Sequence[tuple[int, int]] = (), exempt: Collection[str] = ()
    ) -> list[tuple[int, int, str]]:
        """RETURNS (list[tuple[int, int, str]]): Start, end and risk of what stands in a text outside of `spans`, the longest where several
        begin at one word. exempt (Collection[str]): As of `Surnames.find`."""
        parts = _parts(text) if self.whole else []
        known, found, at, done = sorted(spans), list[tuple[int, int, str]](), 0, 0
        for i, (start, end, word) in enumerate(parts):
            while at < len(known) and known[at][1] <= start:
                at += 1
            stop = known[at][0] if at < len(known) else len(text)
            most = self.first.get(self.token(word), 0) if done <= start and end <= stop else 0
            for n in range(most, 0, -1):
                run = parts[i : i + n]
                value = [part for *_, part in run]
                risk = (
                    self.whole.get(self.token("".join(value)))
                    if len(run) == n and run[-1][1] <= stop
                    else None
                )
                # In small letters and all of it words ("I will hope"): nobody's name.
                words_only = text[start:end].islower() and all(map(is_common, value))
                if (
                    risk
                    and not words_only
                    and not all(self.token(part) in exempt for part in value)
                ):
                    if risk == HIGH or text[start].isupper():
                        found.append((start, run[-1][1], risk))
                        done = run[-1][1]
                    break
        return found


def add_swept(doc: "Doc", surnames: Surnames, profile: Profile) -> None:
    """Mark in a doc, as names of students, the surnames that are hidden in other documents of the corpus; the profile says which
    names stay here."""
    from ..spans import Candidate, free_of, read_spans, write_spans

    spans = list(doc.spans["pii"]) if "pii" in doc.spans else []
    kept = [
        (s.start_char, s.end_char)
        for s in spans
        if is_name(s.label_) and profile.action(s.label_, s._.pii_role) == KEEP
    ]
    exempt = set(map(surnames.token, people_of(doc).among(kept).words()))
    candidates = read_spans(doc)
    for hit in surnames.find(
        doc.text, spans=[(s.start_char, s.end_char) for s in spans], exempt=exempt
    ):
        span = doc.char_span(hit.start, hit.end, alignment_mode="expand")
        # In small letters it may be a word; the report lists where it stands so.
        if span is not None and not hit.lower and free_of(candidates, span.start, span.end):
            candidates.append(
                Candidate(span.start, span.end, NAME_STUDENT, source="sweep", reason=_SWEPT)
            )
    if len(candidates) > len(spans):
        write_spans(doc, candidates)
