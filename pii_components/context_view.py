"""A document as `pii_context` reads it: words, lines, zones, and what stands beside each name.

    header          the lines before running text          By Ana Lopez
    lead            start of a first line that runs on     Ana Lopez Challenge: Our ...
    bibliography    under "References", or in its form     Popper, K. (1959). The logic ...
    signoff         the short lines at the end             Best, / Ana
    body            all else
    turn            what somebody says in a conversation   Tutor: Well done, Ana!
    tutor_turn      the same, of one who teaches
    speaker         who says it                            Ana: hello all
    beset           an emoji or a full stop touches it     🌸Ana🌸, end.Ana

Patterns see text with every name replaced by one sign, so that "Ann, Ben and Carl (2014)" is "¤, ¤ and ¤ (2014)". Words and text are
normalised (see normalize.py): a zero-width space in a name, or beside one, hides it neither from tables nor from patterns. Offsets are
those of this text; candidates are tokens, so nobody needs the way back.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from spacy.attrs import SPACY
from spacy.tokens import Doc

from .context_lines import (
    MASK,
    first_sentence,
    has_words,
    is_bibliography_entry,
    is_lead,
    is_running,
    is_small,
    last_sentence,
    under_bibliography,
)
from .context_settings import ContextSettings
from .context_turns import find_turns
from .context_worn import Worn, native_runs, read_leet, read_worn
from .normalize import is_invisible, is_ornament, normalize_token
from .spans import Candidate

JOINERS = ("-", "‐", "‑", "'", "’", "_", "´", "`")  # signs that hold the parts of a name together
WINDOW = 130  # characters that a pattern sees on either side
CUT = "ǂ"  # a letter no one writes: says that the line goes on before the window, so that "^" does not match there
_LEAD = 90  # characters of a first line in which a name may still be a header
_GLUE = frozenset(".,;:!?|")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name stands; strings are as written, with other names masked.

    zones (frozenset[str]): Names of zones; several may hold.
    before, after (str): Its line up to and after it, at most `WINDOW` characters.
    line_before (str): The last line above that is not blank.
    sentence_before, sentence_after (str): The same within its sentence.
    """

    zones: frozenset[str]
    before: str
    after: str
    line_before: str
    sentence_before: str
    sentence_after: str


class DocView:
    """Words and lines of a document.

    doc (Doc): The document. settings (ContextSettings): For the lengths of header and sign-off.
    """

    def __init__(self, doc: Doc, settings: ContextSettings) -> None:
        self.text = doc.text
        self.words = [token.text for token in doc]
        spaces = doc.to_array([SPACY]).tolist()
        if not self.text.isascii():
            self.words = [word if word.isascii() else _shown(word) for word in self.words]
            self.text = "".join(word + " " if space else word for word, space in zip(self.words, spaces, strict=True))
        self.starts: list[int] = []
        self.ends: list[int] = []
        char = 0
        for word, space in zip(self.words, spaces, strict=True):
            self.starts.append(char)
            self.ends.append(char + len(word))
            char += len(word) + bool(space)
        self.leet = self._read_leet()
        self.settings = settings
        self.lines: list[tuple[int, int]] = []
        at = 0
        for line in self.text.splitlines(keepends=True):
            self.lines.append((at, at + len(line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))))
            at += len(line)
        self.line_starts = [start for start, _ in self.lines]

    def __len__(self) -> int:
        return len(self.words)

    def _read_leet(self) -> list[int]:
        """RETURNS (list[int]): Tokens that are names with digits for letters; from here on they are what they read."""
        found = []
        for at, word in read_leet(self.text).items():
            i = bisect_right(self.starts, at) - 1
            low = at - self.starts[i]
            if at + len(word) <= self.ends[i]:
                self.words[i] = self.words[i][:low] + word + self.words[i][low + len(word) :]
                self.text = self.text[:at] + word + self.text[at + len(word) :]
                found.append(i)
        return sorted(set(found))

    @cached_property
    def turns(self) -> dict[int, tuple[int, bool]]:
        """RETURNS (dict[int, tuple[int, bool]]): Turns of a conversation, see `find_turns`."""
        return find_turns(self.text, {n: self.lines[n] for n in self.filled})

    def said_from(self, n: int) -> int:
        """RETURNS (int): Where a line begins, or in a conversation what is said in it."""
        return self.turns[n][0] if n in self.turns else self.lines[n][0]

    @cached_property
    def worn(self) -> list[Worn]:
        """RETURNS (list[Worn]): Words that stand letter by letter or torn over two lines."""
        return read_worn(self.text, self.starts, self.ends)

    @cached_property
    def torn(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): Tokens of words that are torn over two lines: the break among them ends no name."""
        return frozenset(i for worn in self.worn for i in range(worn.start, worn.end) if len(worn.words) == 1)

    @cached_property
    def native(self) -> list[tuple[int, int]]:
        """RETURNS (list[tuple[int, int]]): Tokens, end exclusive, of what may be a name in a script of its own."""
        found = []
        for low, high in native_runs(self.text):
            start, end = bisect_right(self.starts, low) - 1, bisect_right(self.starts, high - 1)
            while start > 0 and self.starts[start - 1] == self.starts[start]:
                start -= 1
            while not self.words[start]:
                start += 1
            found.append((start, end))
        return found

    def is_space(self, i: int) -> bool:
        """RETURNS (bool): Whether a token is white space, or shows nothing at all."""
        return not self.words[i] or self.words[i].isspace()

    def line_of(self, char: int) -> int:
        """RETURNS (int): The number of the line that a character lies in."""
        return max(bisect_right(self.line_starts, char) - 1, 0)

    def gap(self, i: int) -> str:
        """RETURNS (str): The white space between token i and the next; a line break shows as one."""
        return self.text[self.ends[i] : self.starts[i + 1]] if i + 1 < len(self.words) else ""

    @cached_property
    def filled(self) -> list[int]:
        """RETURNS (list[int]): Numbers of the lines that are not blank."""
        return [n for n, (start, end) in enumerate(self.lines) if self.text[start:end].strip()]

    @cached_property
    def header(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): Lines before the first running text; of a text without any, the first five."""
        found: list[int] = []
        for n in self.filled[: self.settings.header_lines]:
            if is_running(self.text[slice(*self.lines[n])]):
                return frozenset(found)
            found.append(n)
        return frozenset(found if len(self.filled) <= len(found) and len(found) <= 5 else found[:5])

    @cached_property
    def signoff(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): The short lines at the end."""
        found: list[int] = []
        for n in reversed(self.filled[-self.settings.signoff_lines :]):
            if is_running(self.text[slice(*self.lines[n])]):
                break
            found.append(n)
        return frozenset(found) - (self.header if len(self.filled) > 3 else frozenset())

    @cached_property
    def under_bibliography(self) -> frozenset[int]:
        """RETURNS (frozenset[int]): Lines under a heading such as "References", up to a heading of another kind."""
        return frozenset(under_bibliography((n, self.text[slice(*self.lines[n])]) for n in self.filled))

    def places(self, names: Sequence[Candidate]) -> list[Place]:
        """What stands beside each name.

        names (Sequence[Candidate]): Sorted, without overlaps.
        RETURNS (list[Place]): One per name.
        """
        spans = [(self.starts[c.start], self.ends[c.end - 1]) for c in names]
        masked: dict[int, str] = {}
        for start, _ in spans:
            n = self.line_of(start)
            if n not in masked:
                masked[n] = self._masked(*self.lines[n], spans)
                if n - 1 not in masked and (above := self._above(n)) >= 0:
                    masked.setdefault(above, self._masked(*self.lines[above], spans))
        found = [self._place(start, end, spans, masked) for start, end in spans]
        return [
            replace(place, zones=place.zones | {"beset"}) if self._is_beset(c) else place
            for place, c in zip(found, names, strict=True)
        ]

    def _is_beset(self, name: Candidate) -> bool:
        """Whether something that is no letter touches a name without a space: an emoji, what shows nothing, a full stop before
        it, a digit behind it."""
        first, after = name.start - 1, name.end
        if self.words[name.start][:1] in _GLUE:
            return True
        if first >= 0 and not self.gap(first):
            before = self.words[first][-1:]
            # "end.so": a space is missing there, and nothing more.
            if not before or before == "|" or (before in _GLUE and not self.words[name.start].islower()):
                return True
        return after < len(self.words) and not self.gap(after - 1) and (not self.words[after] or self.words[after][0].isdigit())

    def _above(self, n: int) -> int:
        at = bisect_right(self.filled, n - 1) - 1
        return self.filled[at] if at >= 0 else -1

    def _masked(self, start: int, end: int, spans: list[tuple[int, int]]) -> str:
        """The text from start to end, each name in it replaced."""
        parts, at = [], start
        first = bisect_right(spans, (start, -1))
        if first and spans[first - 1][1] > start:
            first -= 1
        for a, b in spans[first:]:
            if a >= end:
                break
            if b > at:
                parts += [self.text[at : max(a, at)], MASK]
                at = b
        return "".join(parts) + self.text[at:end]

    def _place(self, start: int, end: int, spans: list[tuple[int, int]], masked: dict[int, str]) -> Place:
        n = self.line_of(start)
        low, high = self.lines[n]
        said = self.said_from(n)
        low = said if said <= start else low
        before = self._masked(max(low, start - WINDOW), start, spans)
        if low < start - WINDOW:
            before = CUT + before
        after = self._masked(end, min(high, end + WINDOW), spans) if end < high else ""
        above = self._above(n)
        line_above = masked.get(above, "") if above >= 0 else ""
        if above in self.turns:
            line_above = self._masked(self.said_from(above), self.lines[above][1], spans)
        return Place(
            zones=self._zones(n, start, before, after, masked[n], turn=said <= start and n in self.turns),
            before=before,
            after=after,
            line_before=line_above[-WINDOW:],
            sentence_before=last_sentence(before),
            sentence_after=first_sentence(after),
        )

    def _zones(self, n: int, start: int, before: str, after: str, line: str, *, turn: bool) -> frozenset[str]:
        zones = set()
        if n in self.turns and not turn:
            zones.add("speaker")
        if turn:
            zones.add("turn")
            if self.turns[n][1]:
                zones.add("tutor_turn")
            line = before + MASK + after
        if not any(c.isalnum() or c == MASK for c in before):
            zones.add("opens")
        if not has_words(line.replace(MASK, " ")):
            zones.add("alone")
        if is_small(line):
            zones.add("small")
        if n in self.header:
            zones.add("header")
            if n in self.filled[:3]:
                zones.add("top")
        elif n == self.filled[0] and start < self.lines[n][0] + _LEAD and is_lead(before, after):
            zones.add("lead")
        if n in self.signoff:
            zones.add("signoff")
        if n == self.filled[-1]:
            zones.add("last")
        if is_bibliography_entry(line) or (n in self.under_bibliography and not ("alone" in zones and n in self.filled[-3:])):
            zones.add("bibliography")
        if (before.count('"') + before.count("“") - before.count("”")) % 2 == 1:
            zones.add("quoted")
        if not zones & {"header", "lead", "signoff", "bibliography"}:
            zones.add("body")
        return frozenset(zones)


@lru_cache(maxsize=4096)
def _shown(word: str) -> str:
    """RETURNS (str): A token as a reader sees it. White space stays, and quotes and dashes do, which patterns tell apart; emoji go."""
    if is_ornament(word):
        return ""
    return word if word.isspace() or len(word) == 1 and not word.isalnum() and not is_invisible(word) else normalize_token(word)
