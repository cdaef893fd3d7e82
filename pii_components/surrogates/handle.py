"""Handles: the part of an e-mail address, a user name or a profile's address that says who it is.

    "mlopez99", Maria Lopez -> Carla Vidal      =>  "cvidal47"
    "Maria.Lopez", the same                     =>  "Carla.Vidal"
    "skater_boy12", nobody's name               =>  "moreau_teller58"

The same handle becomes the same surrogate wherever it stands, so that an address and a profile still belong together. Letters
that are no part of a known name are replaced by a name: they may be one that we do not know.
"""

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from .keys import Chance, Source, pick
from .name import Named
from .names import NameTable, fold
from .persons import nicknames_of
from .style import other_chars, plain
from .words import words

_LETTERS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


class Piece(NamedTuple):
    """A stretch of letters in a handle that comes from a name: `new` is what it becomes; `weight` how sure that is."""

    start: int
    end: int
    new: str
    weight: int


class Stem(NamedTuple):
    """A word of a person for handles: its letters, what they become, its place, its nicknames; `signs` of which one stands in a run
    that holds more of the word than its initial."""

    old: str
    new: str
    place: int
    nicks: tuple[str, ...]
    signs: tuple[str, ...]


def letters(word: str) -> str:
    """RETURNS (str): A name as it stands in an address: small ASCII letters only."""
    if word.isascii() and word.isalpha():
        return word.lower()
    return "".join(ch for ch in plain(word).lower() if ch.isascii() and ch.isalpha())


class People(tuple[Named, ...]):
    """The people of a document, and how their names stand in handles: found out once for all of its addresses."""

    @classmethod
    def of(cls, people: Sequence[Named]) -> "People":
        """RETURNS (People): The same ones; themselves, if they are such people already."""
        return people if isinstance(people, cls) else cls(people)

    @cached_property
    def words(self) -> frozenset[str]:
        """RETURNS (frozenset[str]): Their names, as they stand in an address."""
        return frozenset([letters(word) for named in self for word in named.person.words])

    @cached_property
    def stems(self) -> list[list[Stem]]:
        """RETURNS (list[list[Stem]]): For each, those of their words that have letters."""
        return [_stems(named) for named in self]

    @cached_property
    def _read(self) -> dict[tuple[str, int], tuple[Piece, ...]]:
        return {}

    def pieces(self, run: str, i: int) -> tuple[Piece, ...]:
        """RETURNS (tuple[Piece, ...]): A run of small letters read as the name of one of them; see `_segment`."""
        found = self._read.get((run, i))
        if found is None:
            found = self._read[run, i] = _segment(run, self.stems[i], len(self[i].person.words))
        return found


def surrogate_handle(handle: str, people: Sequence[Named], chance: Chance, table: NameTable, *, attempt: int = 0) -> str:
    """A handle for somebody else, in the same pattern.

    handle (str): Without "@" or address.
    people (Sequence[Named]): The document's people; the one whose name it holds lends the surrogate.
    chance (Chance): Key and scope. table (NameTable): For letters that are nobody's name.
    attempt (int): Another one for the same handle.
    RETURNS (str): As many runs of letters and digits as before, with the same separators and case.
    """
    people = People.of(people)
    runs = _RUNS.findall(handle)
    owner = _owner(handle, people)
    avoid = people.words
    rng = chance.rng("HANDLE", fold(handle), attempt=attempt)
    # A handle of such words only is somebody's all the same.
    harmless = words("handle_words")
    common = any(run[0].isalpha() and run.lower() not in harmless for run in runs)
    out = []
    for i, run in enumerate(runs):
        if run.isdecimal():
            out.append(_number(run, rng))
        elif run[0].isalpha():
            mixed = _is_code(runs, i)
            small = letters(run)
            pieces = people.pieces(small, owner) if owner >= 0 else ()
            if mixed or (not pieces and len(small) != len(run)):
                new = other_chars(run, rng)
            elif pieces:
                out.append(_join(run, pieces, rng, table, avoid))
                continue
            elif common and run.lower() in harmless:
                new = run.lower()
            else:
                new = _unknown(small, rng, table, avoid)
            out.append(_case(run, new))
        else:
            out.append(run)
    if attempt and owner >= 0 and not any(run.isdecimal() for run in runs):
        # Brothers whose surrogates share an initial, two schools that become one: as such sites do, add a number.
        out.append(str(10 + int(rng.random() * 90)))
    return "".join(out)


def owner_of(handle: str, people: Sequence[Named]) -> Named | None:
    """RETURNS (Named | None): The person whose name explains most of a handle; None if it holds nobody's."""
    found = _owner(handle, People.of(people))
    return people[found] if found >= 0 else None


def _owner(handle: str, people: People) -> int:
    """RETURNS (int): The place of a handle's owner; -1 if there is none."""
    best, found = 0, -1
    harmless = words("handle_words")
    runs = [(len(run), letters(run)) for run in _LETTERS.findall(handle) if run.lower() not in harmless]
    total = sum([length for length, _ in runs])
    for i, named in enumerate(people):
        weight = covered = longest = 0
        for _, run in runs:
            for piece in people.pieces(run, i):
                weight += piece.weight
                covered += piece.end - piece.start
                longest = max(longest, piece.weight)
        strong = weight >= 12 or (covered == total and weight >= min(2, len(named.person.words)) >= 2)
        # A whole long name says enough, whatever stands around it ("maria-lopez-my-first-ferry").
        if strong and (2 * covered >= total or longest >= 20) and (found < 0 or weight > best):
            best, found = weight, i
    return found


def _stems(named: Named) -> list[Stem]:
    found = []
    for i, (word, surrogate) in enumerate(zip(named.person.words, named.surrogates, strict=True)):
        old, new = letters(word), letters(surrogate or "")
        if old and new:
            nicks = nicknames_of(word)
            found.append(Stem(old, new, i, nicks, (old[:3], *nicks) if len(old) > 1 else nicks))
    return found


def _forms(run: str, stems: Sequence[Stem]) -> list[tuple[str, str, int, int]]:
    """How a person's words stand in a run of letters, if they do: letters, what they become, which word, how sure."""
    forms = []
    for old, new, i, nicks, _ in stems:
        if old[0] in run:
            # Where not even the first letters are, nothing longer is.
            if old[:3] in run and len(old) > 1:
                if old in run:
                    forms.append((old, new, i, 4 * len(old)))
                forms += [(old[:n], new[:n], i, 3 * n) for n in range(len(old) - 1, 2, -1) if old[:n] in run]
            forms.append((old[0], new[0], i, 1))
        for nick in nicks:
            if nick in run:
                forms.append((nick, new, i, 4 * len(nick)))
    return forms


def _segment(run: str, stems: Sequence[Stem], size: int) -> tuple[Piece, ...]:
    """The best way to read a run of letters as parts of a person's name, each word used once.

    run (str): Small letters. stems (Sequence[Stem]): The person's. size (int): How many words the name has.
    RETURNS (tuple[Piece, ...]): In order; empty if nothing but scattered initials fits.
    """
    if not run or len(run) > 40:
        return ()
    shown = [stem for stem in stems if any([sign in run for sign in stem.signs])]
    if not shown and len(run) > size:
        # Most people have nothing to do with it.
        return ()
    if len(shown) == 1 and shown[0].old == run and len(run) > 1:
        # Initials of other words, or a part of this one, never weigh as much.
        return (Piece(0, len(run), shown[0].new, 4 * len(run)),)
    forms = _forms(run, stems)
    if not forms:
        return ()
    # Where forms begin, and the next such place behind each letter.
    here: dict[int, list[tuple[str, str, int, int]]] = {}
    for form in forms:
        start = run.find(form[0])
        while start >= 0:
            here.setdefault(start, []).append(form)
            start = run.find(form[0], start + 1)
    after = [len(run)] * (len(run) + 1)
    for start in range(len(run) - 1, -1, -1):
        after[start] = start if start in here else after[start + 1]
    seen: dict[tuple[int, int], tuple[int, tuple[Piece, ...]]] = {}

    def best(start: int, used: int) -> tuple[int, tuple[Piece, ...]]:
        # Letters that are no part of a name cost three each.
        lost = 3 * (after[start] - start)
        start = after[start]
        if start == len(run):
            return -lost, ()
        found = seen.get((start, used))
        if found is None:
            score, rest = best(start + 1, used)
            found = (score - 3, rest)
            for old, new, i, weight in here[start]:
                if not used >> i & 1:
                    score, rest = best(start + len(old), used | 1 << i)
                    if score + weight > found[0]:
                        found = (score + weight, (Piece(start, start + len(old), new, weight), *rest))
            seen[start, used] = found
        return found[0] - lost, found[1]

    pieces = best(0, 0)[1]
    whole = sum([p.end - p.start for p in pieces]) == len(run)
    return pieces if whole or any([p.weight > 8 for p in pieces]) else ()


def _join(run: str, pieces: Sequence[Piece], rng: Source, table: NameTable, avoid: Collection[str]) -> str:
    """RETURNS (str): The run with its pieces replaced, each in its own case, and other letters too."""
    out, last = "", 0
    for piece in [*pieces, Piece(len(run), len(run), "", 0)]:
        between = run[last : piece.start]
        kept = between.lower() in words("handle_words")
        out += between if kept else _case(between, _unknown(between.lower(), rng, table, avoid))
        out += _case(run[piece.start : piece.end], piece.new)
        last = piece.end
    # Initials in capitals look like words in capitals, one letter at a time.
    return out.upper() if len(run) > 1 and run.isupper() else out


def _unknown(run: str, rng: Source, table: NameTable, avoid: Collection[str]) -> str:
    """RETURNS (str): Letters for a run that is nobody's name: single ones if short, else a name of about its length."""
    if len(run) < 4:
        return other_chars(run, rng)
    given = table.is_given(run)
    gender = (table.gender(run) or "") if given else ""
    pool = table.pool(given=given, gender=gender)
    options = [letters(name) for name in pool.draw_some(rng, 8)]
    fit = [o for o in options if o and o[0] != run[0] and o not in run and run not in o and o not in avoid]
    if not fit:
        return other_chars(run, rng)
    # The options are drawn already: more words for a long run must not be originals either.
    new = min(fit, key=lambda o: abs(len(o) - len(run)))
    rest = [o for o in fit if o != new]
    return new + rest[0] if len(run) - len(new) > 4 and rest else new


def _number(run: str, rng: Source) -> str:
    """RETURNS (str): Other digits; for what may be a year of birth, another year."""
    if len(run) == 4 and run.isascii() and 1930 <= int(run) <= 2029:
        return str(pick(rng, [y for y in range(1975, 2010) if y != int(run) and str(y)[2:] != run[2:]]))
    return other_chars(run, rng, first=True)


def _is_code(runs: Sequence[str], i: int) -> bool:
    """RETURNS (bool): Whether letters stand in something like "4f2a9c": digits on both sides, several changes in a word."""
    start, end = i, i
    while start > 0 and runs[start - 1].isalnum():
        start -= 1
    while end + 1 < len(runs) and runs[end + 1].isalnum():
        end += 1
    return end - start >= 2 and sum(len(r) for r in runs[start : end + 1] if r.isdecimal()) > 1


def _case(old: str, new: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
