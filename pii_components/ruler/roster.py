"""`pii_roster`: the names, addresses and numbers of a class list, found in its students' essays. In memory only: nothing of it is ever saved.

    roster = Roster.from_csv("class.csv")                       # columns by their headers: names, preferred names, e-mails, IDs, user names
    add_roster(nlp, roster)                                     # before pii_context
    [(hit.label, hit.reason) for hit in roster.find("Thanks, Jon! LOPEZ, J. (20418837)")]

A word of a text is looked up by hash: as a word of a name, a nickname, a glued form ("janelopez"), else with letters left out, for a slip of
the pen. Neighbouring words that may be one student's go to the linker (names/link.py), which decides in any order, with initials. So a text
is read once. A name of one word is less sure, and this is the rule for it:

    as a name            capital, no other name beside it ("Grace Hopper"), not a surname that this text cites ("Morrison (1987)")
    that is a word       ("Will", "Grace") also an article or preposition not before it, in mid-sentence; or a context
    in small letters     no word, and of five letters, or its line has no capitals; or a context
    initials ("JB")      a context
    a context            possessive, verb of saying, greeting or thanks before it, alone on its line, who speaks in a thread
"""

import csv
import io
import re
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Self

from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc

from ..errors import Errors, PiiError, reason_of
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, USERNAME, is_name
from ..names import word_list
from ..names.letters import fold, has_letter, has_sign, norm
from ..names.link import Person, is_typo, match_person, nicknames, nicknames_of, one_left
from ..names.normalize import NormalizedView
from ..names.parse import FAMILY, GIVEN, LONE, PARTICLES, Form, read_mention
from ..names.table import name_table
from ..names.wordlists import case_style, in_table, is_word_too, words
from ..spans import ROSTER, SPANS_KEY, Candidate, merge_found, read_spans, write_spans
from .component import OnePerDoc
from .merge import cut_names

__all__ = ["Hit", "PiiRoster", "Roster", "add_roster"]

# --- the list

_NAMES = NAME, FIRST, MIDDLE, LAST, PREFERRED = ("name", "first", "middle", "last", "preferred")
# Words of headers, see resources/ruler/headers.toml. A bare word for "name" means what no other column holds.
_HEADERS = "ruler/headers"
_WHO = word_list(_HEADERS, "who")
# Words of cells that name nobody, as they stand there, in small letters and in capitals.
_NOTHING = frozenset(
    form for word in word_list(_HEADERS, "nothing") for form in (word, word.lower(), word.upper())
)
_PRONOUN = word_list(_HEADERS, "pronouns")
# "She/Her", not "He, Ella", who is Ella He.
_PRONOUNS = re.compile(rf"(?<!\w)(?i:(?:{'|'.join(_PRONOUN)})(?:\s*/\s*|(?!\w))){{2,}}")
_ROUND, _SIGNS = str.maketrans("[]{}（）【】", "()()()()"), "-–—_?.!*#<>()[]'\"/\\…,;:"
# What is put behind a word for both genders or numbers: "Alumno/a", "Schüler:in".
_BOTH = re.compile(r"(?<=\w)[/(:*·]-?[^\W\d_]{1,5}\)?(?!\w)")
# An address, a number: of somebody, where a header should stand.
_VALUE = re.compile(r"\S+@\S+\.\S+|\W*\d{5,}\W*")
_MAIL = re.compile(r".*mail(?:s|id|add?res\w*)?")
_SHOWN = {
    FIRST: "given",
    LAST: "family",
    MIDDLE: "middle name",
    NAME: "name",
    PREFERRED: "preferred name",
    EMAIL: "e-mail",
    ID_NUM: "ID",
    USERNAME: "user name",
}
_DELIMITERS = ("\t", ";", "|")  # else commas, which headers hold too: "Name, Vorname;Klasse"
_LEAST, _LEAST_GLUED = {ID_NUM: 5, USERNAME: 3, EMAIL: 3}, 5  # characters
_PARTS = re.compile(r"[^\W_]+")
_RARE = 9  # of 10, which is unknown as a name


def _in_one_word(words: Iterable[str]) -> str:
    return "".join(word for word in words if not word.isdecimal())


_KINDS = {
    _in_one_word(_PARTS.findall(fold(word))): kind
    for kind in (*_NAMES, EMAIL, USERNAME, ID_NUM)
    for word in word_list(_HEADERS, kind)
}


def kind_of_header(header: str) -> str:
    """RETURNS (str): What a column holds, by its header: a label, or one of `NAME` to `PREFERRED`; empty for what is not known."""
    # A quote is JSON's.
    return "" if '"' in header else _kind_of(header) or _kind_of(_BOTH.sub("", header))


def _kind_of(header: str) -> str:
    parts = _words_of(header)
    whole = _in_one_word(parts)
    bare = _in_one_word(part for part in parts if part not in _WHO)
    # "Last, First", "Nom et prénom": both halves. An English "name" may belong to one of them.
    halves = {_KINDS.get(part) for part in parts if part not in ("name", "names")}
    known = all(part in _KINDS or part in _WHO or len(part) <= 3 for part in parts)
    # "Name of student", "Name (original name)".
    found = list(map(_KINDS.get, parts))
    both = (
        NAME
        if known
        and (
            len(halves & {FIRST, LAST, NAME}) > 1
            or (found.count(NAME) > 1 and {NAME, None}.issuperset(found))
        )
        else ""
    )
    mail = EMAIL if _MAIL.fullmatch(bare) else ""
    return _KINDS.get(whole) or _KINDS.get(bare) or both or mail


def _words_of(header: str) -> list[str]:
    return _PARTS.findall(fold(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", header)))


def _halves(header: Sequence[str], kinds: list[str], rows: list[Sequence[str]]) -> list[str]:
    """A "Name" or "Student", not a "Display name", beside one half of a name is the other half ("Name, Vorname"), unless most of its cells hold
    that half, too."""
    halves = {FIRST, LAST}.intersection(kinds)
    if len(halves) != 1:
        return kinds
    (half,), (other,) = halves, {FIRST, LAST} - halves
    at = kinds.index(half)
    found = list[str]()
    for i, kind in enumerate(kinds):
        is_bare = kind == NAME and len(_words_of(_BOTH.sub("", header[i]))) == 1
        pairs = [(_words_of(row[at]), _words_of(row[i])) for row in rows if len(row) > max(at, i)]
        whole = sum(not set(half).isdisjoint(cell) for half, cell in pairs)
        found.append(other if is_bare and 2 * whole <= len(pairs) else kind)
    return found


class Member(NamedTuple):
    """A student. person (Person): By their names, a hyphen parts words; what else they are called. values: (value, label), folded."""

    person: Person
    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, cells: Iterable[tuple[str, str]]) -> "Member":
        """cells (Iterable[tuple[str, str]]): Kind of a column and what stands there; of two of a kind, both are the same person's."""
        by_kind: dict[str, list[str]] = {}
        for kind, cell in cells:
            by_kind.setdefault(kind, []).append(cell)
        named = list[tuple[str, str]]()
        for column, kind in ((FIRST, GIVEN), (MIDDLE, GIVEN), (LAST, FAMILY)):
            named += [(part, kind) for part, _ in _parts(by_kind.get(column, ()))]
        # "Pryce, Dashiell" tells which is which.
        wholes = sorted(by_kind.get(NAME, ()), key=lambda cell: "," not in cell)
        if not named and wholes:
            named += _parts([wholes.pop(0)])
        more = [*_parts(wholes), *((part, GIVEN) for part, _ in _parts(by_kind.get(PREFERRED, ())))]
        # Who has a given name and a whole one, "Dash Pryce", has a surname; what is left over is another given name.
        own, has_given = {norm(part) for part, _ in named}, GIVEN in dict(named).values()
        more = [(part, kind) for part, kind in more if norm(part) not in own]
        named += [pair for pair in more if pair[1] == FAMILY or not has_given]
        texts, kinds = tuple(part for part, _ in named), tuple(kind for _, kind in named)
        words = tuple(map(norm, texts))
        also = tuple(dict.fromkeys(norm(part) for part, _ in more if norm(part) not in words))
        values = [
            (_key(value, label), label)
            for label in (EMAIL, ID_NUM, USERNAME)
            for value in by_kind.get(label, ())
        ]
        values += [(value.partition("@")[0], USERNAME) for value, label in values if label == EMAIL]
        kept = tuple(
            (value, label)
            for value, label in dict.fromkeys(values)
            if len(value) >= _LEAST[label]
            and value not in words + also
            and not _says_nothing(label, value)
        )
        handles = tuple(value for value, label in kept if label == USERNAME)
        return cls(Person(words, kinds, texts, also=also, handles=handles), kept)

    @property
    def given(self) -> tuple[str, ...]:
        return (
            *(
                word
                for word, kind in zip(self.person.words, self.person.kinds, strict=True)
                if kind != FAMILY
            ),
            *self.person.also,
        )

    def is_nobody(self, *, has_value: bool) -> bool:
        """Whether words that hardly anybody is called stand where a name should: "Points Possible" and "Student, Test" in a gradebook.
        has_value (bool): Whether most of the list have an ID or the like, so that a row without one stands apart."""
        words, apart = self.person.words, has_value and not self.values
        apart = apart or (len(words) > 1 and not _WHO.isdisjoint(words))
        return not (words or self.values) or (apart and all(map(_is_no_name, words)))

    @property
    def family(self) -> tuple[str, ...]:
        return tuple(
            word
            for word, kind in zip(self.person.words, self.person.kinds, strict=True)
            if kind == FAMILY
        )


def _parts(cells: Iterable[str]) -> Iterator[tuple[str, str]]:
    """YIELDS (tuple[str, str]): The words of names, which a hyphen parts, and whether each is a given name."""
    for cell in cells:
        named = _PRONOUNS.sub(" ", cell).translate(_ROUND).rstrip(" (,-–—")
        for word in read_mention(named).words:
            for part in word.text.split("-"):
                if norm(part) and not _is_note(part, named, word.start):
                    yield part, word.kind.replace(LONE, GIVEN)


def _says_nothing(kind: str, cell: str) -> bool:
    """Whether a cell is as good as empty: "N/A", "same as above", a plain word for an ID. "Null" and "BLANK"
    are surnames."""
    parts = [part for word in cell.split() if (part := word.strip(_SIGNS))]
    signs = {
        part
        for part in parts
        if (part if kind in _NAMES[:-1] else part.lower()) in _NOTHING
        and not (kind in _NAMES[:-1] and in_table(part))
        or (kind == PREFERRED and _is_pronoun(part))
    }
    return not parts or (
        (kind == ID_NUM or bool(signs))
        and all(
            part in signs or _is_no_name(fold(part)) or (part.islower() and is_word_too(part))
            for part in parts
        )
    )


def _is_pronoun(word: str) -> bool:
    # "Ella" is a name, "ella" is none.
    return word.lower() in _PRONOUN and (word.islower() or is_word_too(word.lower()))


def _is_note(word: str, cell: str, start: int) -> bool:
    """Whether a word in brackets beside a name is no further name: "audit", "2nd year", "goes by", "she"."""
    before, folded = cell[:start], norm(word)
    return before.rfind("(") > before.rfind(")") and (
        word in _NOTHING
        or words().is_heading(word)
        or (len(folded) == 1 and word.isascii())
        or _is_pronoun(word)
        or (word.islower() and (_is_no_name(folded) if cell.islower() else not _seems_name(word)))
    )


def _seems_name(cell: str) -> bool:
    """Whether a cell holds a known name that is no word, or letters in which the table has no names."""
    return re.search(r"[\u0370-\u1dff\u2e80-\ufdff]", cell) is not None or any(
        in_table(word) and not is_word_too(word) for word in _words_of(cell)
    )


def _is_no_name(word: str) -> bool:
    is_word = is_word_too(word) or is_word_too(word.removesuffix("s"))
    return is_word and min(name_table().rarity(word)) >= _RARE


def _key(value: str, label: str) -> str:
    value = fold(NormalizedView(value.strip()).text).lstrip("@")
    return "".join(_PARTS.findall(value)) if label == ID_NUM else value


class Hit(NamedTuple):
    """What of a class list stands in a text.

    start, end (int): Characters, end exclusive. label (str): One of ours. score (float): Probability, 0 to 1. reason (str): No text."""

    start: int
    end: int
    label: str
    score: float
    reason: str


class _Atom(NamedTuple):
    """A word of a text. means (str): Of a misspelt one, the word that is meant; else itself, folded. who: Members whose it may be."""

    start: int
    end: int
    text: str
    means: str
    who: frozenset[int]
    slip: bool


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_OWN = re.compile(r"'s?$", re.IGNORECASE)
_RUN = re.compile(r"\w[\w.+@-]*\w")
_DIGITS, _NUMBER = re.compile(r"\d{0,6}(?!\w)"), re.compile(r"\d(?:[ ./-]?\d){3,}")
_JOINT, _AFTER_INITIAL = (
    re.compile(r"[ \t]{1,2}|[ \t]?\n|,[ ]?|[._-]"),
    re.compile(r"\.?[ \t]?|\.?,[ ]?|[._-]"),
)
_MOST, _WINDOW = 6, 120  # words of a name; characters of a line that are looked at
_YEAR = r"(?:1[5-9]|20)\d\d"
# A year behind it, in brackets or an entry of a list of sources.
_CITED = re.compile(
    rf"(?:'s)?(?:,? (?:and|&) [^\W\d_]+)?,? ?(?:et al\.?,? ?)?(?:\({_YEAR}|,? {_YEAR}[a-z]?\b[,);:]|et al\b)"
    rf"|,(?: [A-Z]\.){{1,3}}[^\n]{{0,80}}?\(?{_YEAR}|, [A-Z][\w-]+\.? [\"“][^\n]{{3,160}}?{_YEAR}"
)


def is_cited(text: str, end: int) -> bool:
    """RETURNS (bool): Whether a year stands behind a name that ends there, as in a citation."""
    return _CITED.match(text, end) is not None


_SAYS = (
    "said|says|wrote|writes|replied|replies|posted|posts|asked|asks|told|thinks|thought|mentioned|mentions|suggested|suggests"
    "|agreed|agrees|commented|comments|responded|answered|argued|helped|presented|and i|and me"
)
_CONTEXT_AFTER = re.compile(rf"'s\b| (?:also |then )?(?:{_SAYS})\b|,? thanks?\b", re.IGNORECASE)
_GREETED = re.compile(
    r"(?:\b(?:hi|hello|hey|dear|thanks?(?: you)?(?: to)?(?: so much| a lot)?|cheers|regards|sincerely|love|congrats|sorry|ask|asked|told|with my"
    r" (?:friend|partner|classmate|teammate)|(?:my|our) (?:friend|partner|classmate|teammate|groupmate|peer)|name is|i am|i'm"
    r"|(?:^|\n)[ \t]*(?:submitted |written )?by|(?:name|student|author|from|to|cc|by) ?:),?\s*|@)\Z",
    re.IGNORECASE,
)
_SPEAKS = re.compile(rf"(?: (?:{_SAYS}))?(?: (?:on|at) [^\n:]{{1,30}})? ?(?::|>)(?!//)")
_NOT_BEFORE = frozenset(
    "the a an of in my your our his her its their this that these those no any some each every".split()
)


class Roster:
    """A class list, indexed. members (Iterable[Member]): Its students. where (str): How a reason begins. columns (tuple): Headers of the table
    with what is read of each, or nothing. nobody (int): Rows of the table that name nobody. Neither its repr nor an error shows any of it."""

    def __init__(self, members: Iterable[Member], *, where: str = "on the class list") -> None:
        self.where, self.nobody = where, 0
        self.columns: tuple[tuple[str, str], ...] = ()  # headers, and what is read of them
        self.members = tuple(m for m in members if m.person.words or m.values)
        every = {word for member in self.members for word in (*member.given, *member.family)}
        self.words = frozenset(word for word in every if len(word) > 1)  # of all names, folded
        self._families = frozenset(word for member in self.members for word in member.family)
        self._names: dict[str, frozenset[int]] = {}  # nicknames too
        self._glued: dict[str, bool] = {}
        self._initials: set[str] = set()
        self._values: dict[str, str] = {}  # numbers behind "#"
        self._slips: dict[str, list[str]] = {}
        for n, member in enumerate(self.members):
            self._add(n, member)
        for word in self.words:
            for left in one_left(word) if len(word) > 4 else ():
                self._slips.setdefault(left, []).append(word)

    def _add(self, n: int, member: Member) -> None:
        given, family = member.given, member.family
        nicks = {
            nick for word in given for nick in (*nicknames_of(word), *nicknames().get(word, ()))
        }
        for word in (word for word in {*given, *family, *nicks} if len(word) > 1):
            self._names[word] = self._names.get(word, frozenset()) | {n}
        last = "".join(family)
        for word in {*given, *nicks, "".join(given)} if given and family else ():
            for form in (word[:1] + last, last + word[:1], word + last[:1]):
                self._glued.setdefault(form, False)
            self._glued |= {word + last: True, last + word: True}
        for parts in (given, [*given, *family], [*given[:1], *family[-1:]]):
            if len(parts) > 1:
                self._initials.add("".join(word[0] for word in parts))
        self._values |= {"#" * (label == ID_NUM) + value: label for value, label in member.values}

    def __len__(self) -> int:
        return len(self.members)

    def persons(self) -> tuple[Person, ...]:
        """RETURNS (tuple[Person, ...]): Those who have names, sorted; of two with the same one, nobody can tell which is meant."""
        found: dict[tuple[str, ...], Person] = {}
        for person in sorted(member.person for member in self.members if member.person.words):
            same = found.setdefault(person.words, person)
            # A text has "Jean-Luc" as one word.
            given = [w for w, kind in zip(person.words, person.kinds, strict=True) if kind == GIVEN]
            also = {*same.also, *person.also, *(["".join(given)] if len(given) > 1 else ())}
            handles = {*same.handles, *person.handles}
            found[person.words] = same._replace(
                also=tuple(sorted(also)), handles=tuple(sorted(handles))
            )
        return tuple(found.values())

    @property
    def kinds(self) -> list[str]:
        """What its columns hold, for people to read: given, family, e-mail."""
        return list(dict.fromkeys(_SHOWN[kind] for _, kind in self.columns if kind))

    def __repr__(self) -> str:
        return f"Roster({len(self)} students)"

    def __reduce__(self) -> Any:
        raise PiiError(Errors.E211)

    @classmethod
    def from_csv(cls, path: str | Path) -> Self:
        """Read a table in Unicode with a header. path (str | Path): CSV, or with tabs, semicolons or bars; any subset of the columns, in any
        order. RAISES (PiiError): E207 to E210."""
        try:
            data = Path(path).read_bytes()
            is_wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            text = data.decode("utf-16" if is_wide else "utf-8-sig")
            first = text.strip().partition("\n")[0]
            delimiter = next((sign for sign in _DELIMITERS if sign in first), ",")
            rows = [
                row
                for row in csv.reader(
                    io.StringIO(text, newline=""), delimiter=delimiter, strict=True
                )
                if "".join(row).strip()
            ]
        except (OSError, UnicodeError, csv.Error) as err:
            raise PiiError(Errors.E207, path=path, reason=reason_of(err)) from None
        return cls.from_rows(rows[0] if rows else [], rows[1:])

    @classmethod
    def from_rows(cls, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Self:
        """The same, of a table that is in memory. RAISES (PiiError): E208, if no column is known; E209 for a row; E210, if nobody is on it."""
        rows = list(rows)
        kinds = _halves(header, list(map(kind_of_header, header)), rows)
        # Columns that have no header, and hold something.
        titles = [
            title.strip()
            or f"column {n + 1}" * any("".join(row[n : n + 1]).strip() for row in rows)
            for n, title in enumerate(header)
        ]
        filled = [list(filter(str.strip, cells)) for cells in zip_longest(*rows, fillvalue="")]
        lacks = not {NAME, FIRST, LAST}.intersection(kinds) and any(
            not kind and 2 * sum(map(_seems_name, cells)) > len(cells)
            for kind, cells in zip(kinds, filled, strict=False)
        )
        if lacks or not any(kinds) or any(map(_VALUE.fullmatch, titles)):
            raise PiiError(Errors.E208, known=", ".join(_SHOWN.values()), n=len(header))
        members = list[Member]()
        for number, row in enumerate(rows, 1):
            if any(cell.strip() for cell in row[len(kinds) :]):
                raise PiiError(Errors.E209, row=number, got=len(row), expected=len(kinds))
            cells = zip(kinds, row, strict=False)
            members.append(
                Member.of(
                    (kind, cell) for kind, cell in cells if kind and not _says_nothing(kind, cell)
                )
            )
        has_value = 2 * sum(bool(member.values) for member in members) > len(members)
        nobody = [member for member in members if member.is_nobody(has_value=has_value)]
        made = cls(member for member in members if member not in nobody)
        if not len(made):
            raise PiiError(Errors.E210)
        made.nobody = len(nobody)
        made.columns = tuple(zip(titles, kinds, strict=True))
        return made

    def find(self, text: str) -> list[Hit]:
        """RETURNS (list[Hit]): What of the list stands in a text, sorted, without overlaps."""
        view = NormalizedView(text)
        found: list[Hit] = []
        # A value of a column goes before the name in it.
        for hit in sorted(self._find_values(view.text), key=lambda hit: (hit.start, -hit.end)):
            if not found or found[-1].end <= hit.start:
                found.append(hit)
        starts, ends = [hit.start for hit in found], [hit.end for hit in found]
        names = _Reading(self, view.text).names()
        found += [
            hit for hit in names if bisect_left(starts, hit.end) == bisect_right(ends, hit.start)
        ]
        moved = ((view.to_original(hit.start, hit.end), hit) for hit in sorted(found))
        return [hit._replace(start=start, end=end) for (start, end), hit in moved if start < end]

    def is_glued(self, word: str) -> bool:
        """RETURNS (bool): Whether a word is a name of the list in one word: "janelopez", "jlopez"."""
        glued = norm(word) if word.isalpha() else ""
        return len(glued) >= _LEAST_GLUED and glued in self._glued and not is_word_too(glued)

    def _find_values(self, text: str) -> Iterator[Hit]:
        for expression in (_RUN, _NUMBER) if self._values else ():
            for match in expression.finditer(text):
                value = fold(match[0])
                number = "#" + "".join(_PARTS.findall(value))
                label = self._values.get(value) or self._values.get(number, "")
                at = text[match.start() - 1 : match.start()] == "@"
                if label and (at or not (label == USERNAME and is_word_too(value))):
                    yield Hit(*match.span(), label, 1.0, self.where)

    def who(self, word: str) -> tuple[str, frozenset[int], bool]:
        """RETURNS (tuple): What a folded word means, whose it may be, and whether it is misspelt."""
        if self.is_glued(word):
            return word, frozenset(), False
        if word not in self._names and not in_table(word) and not words().is_common(word):
            near = {other for left in one_left(word) for other in self._slips.get(left, ())}
            near = {other for other in near if is_typo(word, other)}
            if len(near) == 1:
                return (other := near.pop()), self._names[other], True
        return word, self._names.get(word, frozenset()), False


class _Reading:
    """One text, read once."""

    def __init__(self, roster: Roster, text: str) -> None:
        self.roster, self.text = roster, text
        self.atoms: list[_Atom] = []
        seen: dict[str, tuple[str, frozenset[int], bool]] = {}
        for match in _WORD.finditer(text):
            written = _OWN.sub("", match[0])
            word = norm(written)
            means = seen.get(word) or seen.setdefault(word, roster.who(word))
            self.atoms.append(_Atom(match.start(), match.start() + len(written), written, *means))

    def gap(self, i: int) -> str:
        """RETURNS (str): What stands between atom i and the next."""
        if not 0 <= i < len(self.atoms) - 1:
            return "\0"
        return self.text[self.atoms[i].end : self.atoms[i + 1].start]

    def names(self) -> Iterator[Hit]:
        i = 0
        while i < len(self.atoms):
            end, hit = self._longest(i)
            if hit is not None:
                yield hit
            i = end

    def _longest(self, i: int) -> tuple[int, Hit | None]:
        """The longest name that begins with atom i, and the atom behind it."""
        last = i
        while last - i < _MOST - 1:
            joint = _AFTER_INITIAL if len(self.atoms[last].text) == 1 else _JOINT
            if not joint.fullmatch(self.gap(last)):
                break
            last += 1
        for end in range(last, i, -1):
            if hit := self._whole(i, end):
                return end + 1, hit
        return i + 1, self._alone(i)

    def _whole(self, i: int, end: int) -> Hit | None:
        """Atoms i to end (inclusive) as one student's name: of its own words, initials, particles, and one more name between."""
        atoms = self.atoms[i : end + 1]
        named = [a for a in atoms if a.who]
        members = frozenset.intersection(*(a.who for a in named)) if named else ()
        norms, n_others = list[str](), 0
        for at, atom in enumerate(atoms) if members else ():
            is_inner, size = 0 < at < end - i, len(atom.text)
            if atom.who or size == 1:
                norms.append(atom.means)
            elif norm(atom.text) in PARTICLES:
                continue
            elif (
                is_inner
                and size > 1
                and atom.text[0].isupper()
                and not words().is_common(atom.text)
            ):
                n_others += 1
            elif 1 < size <= 3 and (
                atom.text.isupper() or self.gap(i + max(0, at - 1)) in tuple("._-")
            ):
                norms += atom.means  # the "jb" of "jb.lopez"
            else:
                return None
        # The list need not know of initials within.
        norms = [word for n, word in enumerate(norms) if len(word) > 1 or n in (0, len(norms) - 1)]
        initials = tuple(len(word) == 1 for word in norms)
        form = Form(tuple(norms), (GIVEN,) * len(norms), initials)
        if n_others > 1 or len(norms) < 2 or all(initials):
            return None
        if not any(match_person(form, self.roster.members[n].person) for n in members):
            return None
        is_full = len(form.words) > 1
        is_spaced = any(map(str.isspace, self.text[atoms[0].start : atoms[-1].end]))
        is_small = is_spaced and any(case_style(a.text) == "lower" for a in named)
        if is_small and (not is_full or all(is_word_too(a.means) for a in named)):
            return None
        if not is_full and any(map(self._is_cited, range(i, end + 1))):
            return None
        score, what = (0.99, "a full name") if is_full else (0.9, "initials and a name")
        return self._hit(atoms[0].start, atoms[-1], score, what, any(a.slip for a in named))

    def _hit(self, start: int, last: _Atom, score: float, what: str, slip: bool) -> Hit:
        return Hit(
            start,
            last.end,
            NAME_STUDENT,
            min(score, 0.9) if slip else score,
            f"{self.roster.where}: {what}{', misspelt' * slip}",
        )

    # --- names of one word

    def _alone(self, i: int) -> Hit | None:
        atom = self.atoms[i]
        before = self.atoms[i - 1].text.lower() if i and self.gap(i - 1) in (" ", ", ") else ""
        if before == "the" and self._is_family(atom):
            return self._hit(atom.start, atom, 0.9, "a family", False)
        if not atom.who:
            return self._glued(atom)
        if self._is_others(i) or (atom.means in self.cited and atom.means in self.roster._families):
            return None
        style, common = case_style(atom.text), is_word_too(atom.means)
        if style == "lower":
            is_listed = len(atom.text) > 4 and atom.means in self.roster.words
            small = is_listed or (len(atom.text) > 3 and "".join(self._beside(atom)).islower())
            fits = not common and ((small and not atom.slip) or self._has_context(atom))
        else:
            is_inner = style == "title" and before not in ("", *_NOT_BEFORE)
            is_inner = is_inner and not words().is_heading(atom.text)
            fits = is_inner or not (common or atom.slip) or self._has_context(atom)
        score = 0.6 if common or atom.slip or style == "lower" else 0.9
        return self._hit(atom.start, atom, score, "one name", atom.slip) if fits else None

    def _is_family(self, atom: _Atom) -> bool:
        """Whether this is the plural of a surname: "the Pryces"."""
        word, families = norm(atom.text), self.roster._families
        stems = {word.removesuffix("s"), word.removesuffix("es")} - {word}
        return atom.text[0].isupper() and not (stems.isdisjoint(families) or is_word_too(word))

    def _glued(self, atom: _Atom) -> Hit | None:
        word, text, roster = atom.means, self.text, self.roster
        digits = _DIGITS.match(text, atom.end)
        behind = digits.end() if digits else atom.end
        if roster.is_glued(word):
            is_handle = behind > atom.end or text[atom.start - 1 : atom.start] == "@"
            if roster._glued[word] or is_handle or self._has_context(atom):
                label = USERNAME if is_handle else NAME_STUDENT
                return Hit(atom.start, behind, label, 0.9, f"{roster.where}: a name in one word")
            return None
        is_initials = atom.text.isupper() and 1 < len(word) < 5 and word in roster._initials
        fits = is_initials and not words().is_common(word) and self._has_context(atom)
        return self._hit(atom.start, atom, 0.7, "initials", False) if fits else None

    def _beside(self, atom: _Atom) -> tuple[str, str]:
        """RETURNS (tuple[str, str]): The line before and behind, as far as it is looked at."""
        before = self.text[max(0, atom.start - _WINDOW) : atom.start]
        after = self.text[atom.end : atom.end + _WINDOW]
        return before.rpartition("\n")[2], after.partition("\n")[0]

    def _has_context(self, atom: _Atom) -> bool:
        before, after = self._beside(atom)
        if (not has_sign(before) and (not has_letter(after) or _SPEAKS.match(after))) or (
            _CONTEXT_AFTER.match(after) and not before.lower().endswith(("the ", "i ", "it "))
        ):
            return True
        return _GREETED.search(self.text, max(0, atom.start - 40), atom.start) is not None

    def _is_others(self, i: int) -> bool:
        """Whether a name that is not on the list stands beside it, so that both are somebody else: "Grace Hopper", "T. Morrison"."""
        before, after = self.gap(i - 1), self.gap(i)
        last = self.atoms[i - 1]
        is_initial = last.text.isupper() and len(last.text) == 1 and last.text != "I"
        is_start = before in (" ", ". ", ".") and (is_initial or last.text in ("St", "Saint"))
        if is_start or (before in (" ", "-") and self._is_name(last)):
            return True
        if after not in (" ", "-") or words().is_heading(self.atoms[i + 1].text):
            return False
        behind = self.atoms[i + 1]
        is_surname = name_table().is_surname(behind.text) and case_style(behind.text) == "title"
        # "Sterling Brown"
        is_full = self._is_name(behind) and (is_surname or not self.atoms[i].text.isupper())
        return is_full or (is_surname and not behind.who)

    def _is_name(self, atom: _Atom) -> bool:
        lists, word = words(), atom.text
        known = lists.is_common(word) or lists.is_greeting(word) or lists.is_title(word)
        return word[0].isupper() and len(word) > 1 and not atom.who and not known

    @cached_property
    def cited(self) -> frozenset[str]:
        """Words of names that this text cites, with a year."""
        return frozenset(a.means for i, a in enumerate(self.atoms) if a.who and self._is_cited(i))

    def _is_cited(self, i: int) -> bool:
        return self.atoms[i].text[0].isupper() and is_cited(self.text, self.atoms[i].end)


# --- the component


class PiiRoster(OnePerDoc, Pipe):
    """Adds to `doc.spans[spans_key]` what stands on a class list, with the source "roster".

    spans_key (str): The span group that is read and written. The list is set with `set_roster`, in each process anew: there is nothing to save.
    """

    def __init__(self, name: str = "pii_roster", *, spans_key: str = SPANS_KEY) -> None:
        self.name, self.spans_key = name, spans_key
        self.roster: Roster | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): What a class list can hold."""
        return NAME_STUDENT, EMAIL, USERNAME, ID_NUM

    def set_roster(self, roster: Roster | str | Path | None) -> None:
        """A class list, or the path of one; None for none. RAISES (PiiError): As `Roster.from_csv`."""
        self.roster = Roster.from_csv(roster) if isinstance(roster, str | Path) else roster

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """RETURNS (list[Candidate]): What `doc.spans[spans_key]` should hold."""
        known = read_spans(doc, self.spans_key)
        if self.roster is None or not len(doc):
            return known
        found: list[Candidate] = []
        for hit in self.roster.find(doc.text):
            span = doc.char_span(hit.start, hit.end, alignment_mode="expand")
            if span is not None and len(span) and (not found or found[-1].end <= span.start):
                found.append(
                    Candidate(span.start, span.end, hit.label, hit.score, ROSTER, hit.reason)
                )
        # What a detector read of a name on the list says whose it is; what it read beyond that stays its own.
        names = [k for k in known if is_name(k.label)]
        inside = {(i, c.label) for c in found for i in range(c.start, c.end)}
        for n, c in enumerate(found):
            read = [k for k in names if k.start < c.end and c.start < k.end and is_name(c.label)]
            found[n] = replace(c, roles=max(read, key=lambda k: k.score).roles) if read else c
        # A user name ends where the list says, not where a model does.
        details = [
            k
            for k in known
            if not is_name(k.label)
            and (
                k.source != "model"
                or inside.isdisjoint((i, k.label) for i in range(k.start, k.end))
            )
        ]
        return merge_found(doc, details, [*cut_names(doc, names, found), *found])

    def set_annotations(self, doc: Doc, found: Iterable[Candidate]) -> None:
        """Write what `find_spans` returned."""
        write_spans(doc, found, self.spans_key)


def add_roster(nlp: Language, roster: Roster | str | Path) -> PiiRoster:
    """RETURNS (PiiRoster): The pipeline's, which knows the list from now on; where there was none, before who decides about names."""
    name = next(
        (name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == "pii_roster"), ""
    )
    if not name:
        deciding = ("pii_context", "hips_surrogate")
        later = next((n for n in nlp.pipe_names if nlp.get_pipe_meta(n).factory in deciding), None)
        nlp.add_pipe(name := "pii_roster", before=later)
    component: Any = nlp.get_pipe(name)
    component.set_roster(roster)
    return component
