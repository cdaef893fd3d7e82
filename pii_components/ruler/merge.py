"""Put together what the model proposed and what the rules found, label by label, as pure functions.

    page = Page(doc, NormalizedView(doc.text))
    cleaned = clean_candidate(page, candidate, verdicts)    # ends corrected, or None
    merged = merge(page, model, found)                      # without overlaps

The model is good at "there is something here", rules are good at where it begins and ends. So a rule's ends win, the higher
score stays, and a proposal without the shape that its label demands is dropped. Names are left alone, but for the tokens of an
address or a number that stands inside them: those are cut out, and what is left of the name stays protected.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc

from ..labels import (
    EMAIL,
    ID_NUM,
    IP_ADDRESS,
    PHONE_NUM,
    PRIORITY,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
    is_name,
)
from ..names.normalize import NormalizedView, normalize_token
from ..names.wordlists import words
from ..spans import PROPAGATION, Candidate, resolve_overlaps
from .patterns import Verdict
from .validators import (
    VALIDATORS,
    Context,
    Hit,
    count_digits,
    is_date,
    is_dated,
    is_nobodys,
    is_publication,
    is_years,
    not_a_phone,
)

Span = tuple[int, int]
_LEAST = 5  # characters of a value that is looked for elsewhere
_EDGE, _LETTER = re.compile(r"(?<![^\W_])(?=\S)"), re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Page:
    """A document with its normalised view."""

    doc: Doc
    view: NormalizedView

    def tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """RETURNS (tuple[int, int] | None): The tokens that a piece of the normalised text touches."""
        first, last = self.view.to_original(start, end)
        span = self.doc.char_span(first, last, alignment_mode="expand") if first < last else None
        return (span.start, span.end) if span is not None and len(span) else None

    def chars(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): Characters of the normalised text that tokens start to end cover."""
        span = self.doc[start:end]
        return self.view.from_original(span.start_char, span.end_char)

    def hit(self, candidate: Candidate) -> Hit:
        """RETURNS (Hit): A candidate as a piece of the normalised text."""
        return Hit(self.view.text, *self.chars(candidate.start, candidate.end), candidate.score)

    def found(
        self, start: int, end: int, label: str, score: float, source: str, reason: str
    ) -> list[Candidate]:
        """RETURNS (list[Candidate]): The tokens that characters of the normalised text touch, with a label; one, or none without tokens."""
        tokens = self.tokens(start, end)
        return [Candidate(*tokens, label, score, source, reason)] if tokens else []


class Intervals:
    """Stretches of text in any order, asked quickly. Overlapping ones become one."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def cover(self, start: int, end: int) -> bool:
        """RETURNS (bool): Whether one stretch holds all of start to end (exclusive)."""
        i = bisect_right(self._starts, start) - 1
        return i >= 0 and end <= self._ends[i]

    def touch(self, start: int, end: int) -> bool:
        """RETURNS (bool): Whether one stretch holds any of start to end (exclusive)."""
        i = bisect_right(self._ends, start)
        return i < len(self._starts) and self._starts[i] < end


# A number in groups: "880-817-110-Q", "204/4T1/770"; each group short, with a digit or a letter or two. "10-year-old" is none.
_GROUPS = re.compile(
    r"(?<![\w./:@-])(?:[A-Za-z]{0,4}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,3})"
    r"(?:[-/](?:[A-Za-z]{0,3}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,2})){1,6}(?![\w/@-])"
)


def _moved(page: Page, candidate: Candidate, start: int, end: int) -> Candidate | None:
    """RETURNS (Candidate | None): The candidate on the tokens that these characters of the normalised text touch."""
    tokens = page.tokens(start, end)
    return replace(candidate, start=tokens[0], end=tokens[1]) if tokens else None


def whole_group(page: Page, candidate: Candidate) -> Candidate:
    """RETURNS (Candidate): A number that is part of one in groups, as all of it."""
    hit = page.hit(candidate)
    line = hit.text.rfind("\n", 0, hit.start) + 1
    for match in _GROUPS.finditer(hit.text, max(line, hit.start - 24), hit.end + 24):
        low, high = match.span()
        inside = low <= hit.start and hit.end <= high and high - low > hit.end - hit.start
        if (
            inside
            and high - low <= 28
            and count_digits(match.group()) >= 5
            and not is_date(match.group())
        ):
            return _moved(page, candidate, low, high) or candidate
    return candidate


RULED = (EMAIL, PHONE_NUM, URL_PERSONAL, ID_NUM, USERNAME, IP_ADDRESS)
_PHONE_RUN = re.compile(r"[+(]{0,2}\d[\d() \t./-]{4,24}\d(?:\s?(?:x|ext\.?)\s?\d{1,6})?")
_VERY_SURE = 0.98  # of a model about an address that by its form is unlikely to be anybody's
_PARTING = frozenset('"“”„«»|;')
_TORN = re.compile(r"[\w+() ./-]*\d[ \t]*\n[ \t]*\d[\w() ./-]*")
_JOINED = re.compile(r"[A-Za-z]{0,5}|[-/]")
# A value that was recognised once is the same thing everywhere in the document, also where no cue word stands.
_REPEATED = (EMAIL, PHONE_NUM, ID_NUM, USERNAME)


def trim(doc: Doc, candidate: Candidate, keep: str = "") -> Candidate | None:
    """RETURNS (Candidate | None): Without white space and punctuation at both ends; None, if nothing is left. keep (str): What may start it."""
    tokens = range(candidate.start, candidate.end)
    worth = {i for i in tokens if any(char.isalnum() for char in doc[i].text)}
    start = next((i for i in tokens if i in worth or doc[i].text[0] in keep), candidate.end)
    end = next(
        (i + 1 for i in reversed(tokens) if i in worth or (keep and doc[i].text[0] == ")")), 0
    )
    return replace(candidate, start=start, end=end) if start < end else None


def _clean_url(page: Page, candidate: Candidate, verdicts: Sequence[Verdict]) -> Candidate | None:
    """The model's proposal of a web address: whole, if it has the shape; gone, if it has none or is known to be public."""
    hit = page.hit(candidate)
    for verdict in verdicts:
        if verdict.hit.start < hit.end and hit.start < verdict.hit.end:
            if verdict.personal == "no" or (
                verdict.personal == "unlikely" and candidate.score < _VERY_SURE
            ):
                return None
            whole = _moved(page, candidate, verdict.hit.start, verdict.hit.end)
            return replace(whole, reason=whole.reason or verdict.reason) if whole else None
    return (
        trim(page.doc, candidate)
        if re.search(r"(?i)://\S|\bwww\.\w|\w\.[a-z]{2,}/", hit.value)
        else None
    )


def _clean_phone(page: Page, candidate: Candidate) -> Candidate | None:
    hit = page.hit(candidate)
    line = hit.text.rfind("\n", 0, hit.start) + 1
    for match in _PHONE_RUN.finditer(hit.text, max(line, hit.start - 30), hit.end + 30):
        if match.start() < hit.end and hit.start < match.end():
            found = Hit(hit.text, match.start(), match.end())
            if not 7 <= count_digits(match.group()) <= 20 or not_a_phone(found):
                return None
            whole = _moved(page, candidate, *match.span())
            return trim(page.doc, whole, keep="+(") if whole else None
    return None


def _longest_part(doc: Doc, candidate: Candidate) -> Candidate:
    """The part with most digits of what a quote, a bar, a tab or blanks part: '2 ” 123456789' is no one number, nor are the cells of a row."""
    tokens = range(candidate.start, candidate.end)
    parts = _between(candidate, [i for i in tokens if doc[i].is_space or doc[i].text in _PARTING])
    return max(
        parts, key=lambda part: count_digits(doc[part.start : part.end].text), default=candidate
    )


def _between(cand: Candidate, taken: Iterable[int]) -> list[Candidate]:
    """Stretches of a candidate between tokens of it that are taken, sorted."""
    taken = list(taken)
    stretches = zip([cand.start, *(i + 1 for i in taken)], [*taken, cand.end], strict=True)
    return [replace(cand, start=start, end=end) for start, end in stretches if start < end]


def _clean_id(page: Page, candidate: Candidate) -> Candidate | None:
    doc = page.doc
    found = trim(doc, _longest_part(doc, candidate))
    if found is None:
        return None
    # Words before the number ("Student ID No") are no part of it, unless they are joined to it ("AB-1234").
    start = next(
        (i for i in range(found.start, found.end) if any(c.isdigit() for c in doc[i].text)), None
    )
    if start is None:
        return None
    while (
        start > found.start
        and not doc[start - 1].whitespace_
        and _JOINED.fullmatch(normalize_token(doc[start - 1].text))
    ):
        start -= 1
    found = trim(doc, replace(found, start=start))
    if found is None:
        return None
    if (
        start
        and doc[start - 1].text == "("
        and ")" in (text := doc[start : found.end].text)
        and "(" not in text
    ):
        found = replace(found, start=start - 1)  # "(11) 98765-4321"
    hit = page.hit(found)
    wrong = (
        count_digits(hit.value) < 3
        or is_years(hit.value)
        or is_publication(hit)
        or is_dated(hit)
        or (re.search(r"\d[-/.]\d", hit.value) is not None and is_date(hit.value))
    )
    return None if wrong else found


def clean_candidate(
    page: Page, candidate: Candidate, verdicts: Sequence[Verdict] = ()
) -> Candidate | None:
    """Correct the ends of one proposal of the model; None, if it lacks the shape that its label demands.

    verdicts (Sequence[Verdict]): All web addresses of the document."""
    if is_name(candidate.label):
        return candidate
    if candidate.label == URL_PERSONAL:
        return _clean_url(page, candidate, verdicts)
    value = page.hit(candidate).value
    if candidate.label in (PHONE_NUM, USERNAME, STREET_ADDRESS) and is_nobodys(page.hit(candidate)):
        return None
    if candidate.label == STREET_ADDRESS and not re.search(r"[^\W\d_]|\d{4}", value):
        return None  # "91"
    if candidate.label in (PHONE_NUM, ID_NUM) and "\n" in value and _TORN.fullmatch(value):
        return candidate if count_digits(value) >= 5 else None
    if candidate.label == PHONE_NUM:
        phone = _clean_phone(page, candidate)
        return whole_group(page, phone) if phone else None
    if candidate.label == ID_NUM:
        number = _clean_id(page, whole_group(page, candidate))
        whole = whole_group(page, number) if number else None
        return None if whole is None or is_nobodys(page.hit(whole)) else whole
    found = trim(page.doc, candidate, keep="@" if candidate.label == USERNAME else "")
    if found is None:
        return None
    value = page.hit(found).value
    if candidate.label == EMAIL:
        return (
            found
            if "@" in value or VALIDATORS["email_worded"](page.hit(found), Context())
            else None
        )
    if candidate.label == USERNAME:
        return found if sum(c.isalnum() for c in value) >= 2 else None
    return found


def _free(doc: Doc, cand: Candidate, taken: set[int]) -> list[Candidate]:
    """Stretches of a candidate whose tokens are not taken, without white space and punctuation around them."""
    pieces = (
        trim(doc, piece)
        for piece in _between(cand, [i for i in range(cand.start, cand.end) if i in taken])
    )
    return [piece for piece in pieces if piece is not None]


def cut_names(
    doc: Doc, candidates: Iterable[Candidate], details: Sequence[Candidate]
) -> list[Candidate]:
    """RETURNS (list[Candidate]): Names without the tokens of details: one that a detail covers is gone, of a longer one what holds letters stays."""
    taken = {i for detail in details for i in range(detail.start, detail.end)}
    kept: list[Candidate] = []
    for cand in candidates:
        if taken.isdisjoint(range(cand.start, cand.end)):
            kept.append(cand)
        else:
            kept += [
                piece
                for piece in _free(doc, cand, taken)
                if any(c.isalpha() for c in doc[piece.start : piece.end].text)
            ]
    return kept


def merge(
    page: Page,
    model: Iterable[Candidate],
    found: Sequence[Candidate],
    cued: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """RETURNS (list[Candidate]): Names and cleaned proposals of the model with what the rules found, sorted, without overlaps.

    cued (frozenset[str]): Ids of rules that had a word for what the value is: they stand against a mere shape."""
    proposals, rules = list(model), _resolve_cued(found, cued)
    names = [c for c in proposals if is_name(c.label)]
    details = [c for c in proposals if not is_name(c.label)]
    at = {token: i for i, rule in enumerate(rules) for token in range(rule.start, rule.end)}
    kept: list[Candidate] = []
    for cand in details:
        touched = sorted({at[token] for token in range(cand.start, cand.end) if token in at})
        partners = [i for i in touched if rules[i].label == cand.label]
        holders = [rules[i] for i in touched if rules[i].label == STREET_ADDRESS]
        if cand.label in (ID_NUM, PHONE_NUM) and any(
            h.start <= cand.start and cand.end <= h.end for h in holders
        ):
            continue  # its postal code
        for i in partners:
            rules[i] = replace(rules[i], score=max(rules[i].score, cand.score))
        if not partners:
            # A word for what a value is outweighs the model's opinion of the same value; so does a label of the user's own of what is inside.
            called = [rules[i] for i in touched if rules[i].source in cued]
            own = [rules[i] for i in touched if rules[i].label not in PRIORITY]
            covered = any(c.start <= cand.start and cand.end <= c.end for c in (*called, *own))
            if not (covered or (called and cand.label != STREET_ADDRESS)):
                kept.append(cand)
    whole = resolve_overlaps([*kept, *rules])
    # Of each address that lost against others, stretches of two tokens or more that none of these covers.
    taken = {token for c in whole for token in range(c.start, c.end)}
    left = [
        piece
        for c in (*kept, *rules)
        if c.label == STREET_ADDRESS
        for piece in _free(page.doc, c, taken)
    ]
    whole = resolve_overlaps([*whole, *(piece for piece in left if piece.end - piece.start > 1)])
    return resolve_overlaps(
        [
            *whole,
            *cut_names(page.doc, names, [c for c in whole if _is_ruled(c.label)]),
        ]
    )


def _is_ruled(label: str) -> bool:
    """Whether rules say where it begins and ends: also for a label of the user's own."""
    return label in (*RULED, STREET_ADDRESS) or label not in PRIORITY


def _resolve_cued(found: Sequence[Candidate], cued: frozenset[str]) -> list[Candidate]:
    """A number after "Student ID" is an ID, also where it has the shape of a telephone number."""
    called = [c for c in found if c.source in cued]
    called_tokens = {token for c in called for token in range(c.start, c.end)}
    url_at = {token: c for c in found if c.label == URL_PERSONAL for token in range(c.start, c.end)}
    rest: list[Candidate] = []
    for cand in found:
        if cand.label == EMAIL:
            # An e-mail address inside a personal web address goes with it.
            url = url_at.get(cand.start)
            covered = (
                url is not None
                and cand.end <= url.end
                and url.end - url.start > cand.end - cand.start
            )
        else:
            covered = cand.label != URL_PERSONAL and not called_tokens.isdisjoint(
                range(cand.start, cand.end)
            )
        if not covered and cand.source not in cued:
            rest.append(cand)
    return resolve_overlaps([*called, *rest])


def repeated(
    page: Page, found: Sequence[Candidate], *, blocked: Intervals | None = None
) -> list[Candidate]:
    """RETURNS (list[Candidate]): The same values elsewhere in the document.

    blocked (Intervals | None): Characters of the normalised text where nothing is looked for."""
    more: list[Candidate] = []
    taken = {token for c in found for token in range(c.start, c.end)}
    values = {(page.hit(c).value, c.label): c for c in reversed(found) if c.label in _REPEATED}
    mails = [(value.partition("@")[0], c) for (value, label), c in values.items() if label == EMAIL]
    # The first part of an address is a user name, where it stands alone.
    values |= {(local, USERNAME): c for local, c in mails if not words().is_common(local)}
    for (_, label), first, places in _places(page.view.text, values):
        for start, end in places:
            if blocked is not None and blocked.cover(start, end):
                continue
            reason = f"same value as elsewhere: {first.reason}"
            again = page.found(start, end, label, first.score, PROPAGATION, reason)
            more += [c for c in again if taken.isdisjoint(range(c.start, c.end))]
    return more


def _places(
    text: str, values: Mapping[tuple[str, str], Candidate]
) -> Iterator[tuple[tuple[str, str], Candidate, list[Span]]]:
    """YIELDS (tuple): Each value of `_LEAST` characters or more, with where it stands: the text is read once for all of them."""
    known = {value for value, _ in values if len(value) >= _LEAST}
    lengths, found = {*map(len, known)}, defaultdict[str, list[Span]](list)
    for match in _EDGE.finditer(text) if known else ():
        start = match.start()
        for end in (start + length for length in lengths if start + length <= len(text)):
            value = text[start:end]
            if value in known and not _LETTER.match(text, end):
                places = found[value]
                if not places or start >= places[-1][1]:
                    places.append((start, end))
    yield from ((key, c, found[key[0]]) for key, c in values.items() if key[0] in found)
