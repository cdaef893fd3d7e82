"""Put together what the model proposed and what the rules found, label by label, as pure functions.

    page = Page(doc, NormalizedView(doc.text))
    cleaned = clean_candidate(page, candidate, verdicts)    # ends corrected, or None
    merged = merge(page, model, found)                      # without overlaps

The model is good at "there is something here", rules are good at where it begins and ends. So a rule's ends win, the higher
score stays, and a proposal without the shape that its label demands is dropped. Names are left alone, but for the tokens of an
address or a number that stands inside them: those are cut out, and what is left of the name stays protected.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc

from ..labels import (
    DETAIL_LABELS,
    EMAIL,
    ID_NUM,
    PHONE_NUM,
    PRIORITY,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
    is_name,
)
from ..names.letters import has_letter, has_sign
from ..names.normalize import NormalizedView, normalize_token
from ..names.wordlists import words
from ..spans import PROPAGATION, Candidate, merge_found, resolve_overlaps, uncovered
from .patterns import Verdict
from .validators import (
    Hit,
    count_digits,
    is_date,
    is_dated,
    is_nobodys,
    is_publication,
    is_years,
    not_a_phone,
)

_LEAST = 5  # characters of a value that is looked for elsewhere
_EDGE, _LETTER = re.compile(r"(?<![^\W_])(?=\S)"), re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Page:
    """A document with its normalised view."""

    doc: Doc
    view: NormalizedView

    def chars(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): Characters of the normalised text that tokens start to end cover."""
        span = self.doc[start:end]
        return self.view.from_original(span.start_char, span.end_char)

    def hit(self, candidate: Candidate) -> Hit:
        """RETURNS (Hit): A candidate as a piece of the normalised text."""
        return Hit(self.view.text, *self.chars(candidate.start, candidate.end), candidate.score)

    def found(self, hit: Hit, label: str, source: str, reason: str) -> list[Candidate]:
        """RETURNS (list[Candidate]): The tokens that a piece of the normalised text touches, with a label; one, or none without tokens."""
        first, last = self.view.to_original(hit.start, hit.end)
        span = self.doc.char_span(first, last, alignment_mode="expand") if first < last else None
        if span is None or not len(span):
            return []
        return [Candidate(span.start, span.end, label, hit.score, source, reason)]

    def moved(self, candidate: Candidate, hit: Hit) -> Candidate:
        """RETURNS (Candidate): The candidate on the tokens that a piece of the normalised text touches."""
        for found in self.found(hit, candidate.label, "", ""):
            return replace(candidate, start=found.start, end=found.end)
        return candidate


# A number in groups: "880-817-110-Q", "204/4T1/770"; each group short, with a digit or a letter or two. "10-year-old" is none.
_GROUPS = re.compile(
    r"(?<![\w./:@-])(?:[A-Za-z]{0,4}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,3})"
    r"(?:[-/](?:[A-Za-z]{0,3}\d[A-Za-z\d]{0,7}|[A-Za-z]{1,2})){1,6}(?![\w/@-])"
)
_PHONE_RUN = re.compile(r"[+(]{0,2}\d[\d() \t./-]{4,24}\d(?:\s?(?:x|ext\.?)\s?\d{1,6})?")
# What a candidate of a label must hold at least; more is asked of numbers.
_SHAPES = {
    STREET_ADDRESS: re.compile(r"[^\W\d_]|\d{4}"),
    USERNAME: re.compile(r"[^\W_].*[^\W_]", re.DOTALL),
    URL_PERSONAL: re.compile(r"(?i)://\S|\bwww\.\w|\w\.[a-z]{2,}/"),
    EMAIL: re.compile(r"(?i)@|\bat\b"),
}
_PARTING, _JOINED = re.compile(r'["“”„«»|;]|[^\S\n]+'), re.compile(r"[A-Za-z]{0,5}|[-/]")
_VERY_SURE = 0.98  # of a model about an address that by its form is unlikely to be anybody's
# A value that was recognised once is the same thing everywhere in the document, also where no cue word stands.
_REPEATED = (EMAIL, PHONE_NUM, ID_NUM, USERNAME)


def trim(doc: Doc, candidate: Candidate, keep: str = "") -> Candidate | None:
    """RETURNS (Candidate | None): Without white space and punctuation at both ends; None, if nothing is left. keep (str): What may start it."""
    worth = [i for i in range(candidate.start, candidate.end) if has_sign(doc[i].text)]
    if not worth:
        return None
    start = worth[0]
    while start > candidate.start and doc[start - 1].text[0] in keep:
        start -= 1
    return replace(candidate, start=start, end=worth[-1] + 1)


def _around(page: Page, candidate: Candidate, form: re.Pattern[str]) -> Iterator[Hit]:
    """YIELDS (Hit): What has a form and touches a candidate, on its line."""
    hit = page.hit(candidate)
    line = hit.text.rfind("\n", 0, hit.start) + 1
    for match in form.finditer(hit.text, max(line, hit.start - 30), hit.end + 30):
        if match.start() < hit.end and hit.start < match.end():
            yield Hit(hit.text, *match.span())


def _whole_group(page: Page, candidate: Candidate) -> Candidate:
    """RETURNS (Candidate): A number that is part of one in groups, as all of it."""
    hit = page.hit(candidate)
    for found in _around(page, candidate, _GROUPS):
        is_within = found.start <= hit.start and hit.end <= found.end
        if is_within and count_digits(found.value) >= 5 and not is_date(found.value):
            return page.moved(candidate, found)
    return candidate


def _clean_phone(page: Page, candidate: Candidate) -> Candidate | None:
    found = next(_around(page, candidate, _PHONE_RUN), None)
    if found is None or not 7 <= count_digits(found.value) <= 20 or not_a_phone(found):
        return None
    whole = trim(page.doc, page.moved(candidate, found), keep="+(")
    return _whole_group(page, whole) if whole else None


def _clean_id(page: Page, candidate: Candidate) -> Candidate | None:
    doc, group = page.doc, _whole_group(page, candidate)
    # '2 ” 123456789' is no one number, nor are the cells of a row.
    blank = {i for i in range(group.start, group.end) if _PARTING.fullmatch(doc[i].text)}
    parts = uncovered(doc, group, blank)
    group = max(parts, key=lambda c: count_digits(doc[c.start : c.end].text), default=group)
    digits = [i for i in range(group.start, group.end) if count_digits(doc[i].text)]
    if not digits:
        return None
    # Words before the number ("Student ID No") are no part of it, unless they are joined to it ("AB-1234").
    start = digits[0]
    while start > group.start and not doc[start - 1].whitespace_:
        if not _JOINED.fullmatch(normalize_token(doc[start - 1].text)):
            break
        start -= 1
    found = trim(doc, replace(group, start=start))
    if found is None:
        return None
    text = doc[found.start : found.end].text
    if found.start and doc[found.start - 1].text == "(" and ")" in text and "(" not in text:
        found = replace(found, start=found.start - 1)  # "(11) 98765-4321"
    hit = page.hit(found)
    is_other = is_years(hit.value) or is_publication(hit) or is_dated(hit)
    is_day = re.search(r"\d[-/.]\d", hit.value) is not None and is_date(hit.value)
    return None if count_digits(hit.value) < 3 or is_other or is_day else found


_NUMBERS = {PHONE_NUM: _clean_phone, ID_NUM: _clean_id}


def clean_candidate(
    page: Page, candidate: Candidate, verdicts: Sequence[Verdict] = ()
) -> Candidate | None:
    """Correct the ends of one proposal of the model; None, if it lacks the shape that its label demands, or is public or a thing's.

    verdicts (Sequence[Verdict]): All web addresses of the document."""
    label, hit = candidate.label, page.hit(candidate)
    if is_name(label):
        return candidate
    if label in _NUMBERS:
        number = _NUMBERS[label](page, candidate)
        return None if number is None or is_nobodys(page.hit(number)) else number
    for verdict in verdicts if label == URL_PERSONAL else ():
        if verdict.hit.start < hit.end and hit.start < verdict.hit.end:
            is_unlikely = verdict.personal == "unlikely" and candidate.score < _VERY_SURE
            is_public = verdict.personal == "no" or is_unlikely
            return None if is_public else page.moved(candidate, verdict.hit)
    if label in _SHAPES and (not _SHAPES[label].search(hit.value) or is_nobodys(hit)):
        return None
    return trim(page.doc, candidate, keep="@" if label == USERNAME else "")


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
            pieces = uncovered(doc, cand, taken)
            kept += [c for c in pieces if has_letter(doc[c.start : c.end].text)]
    return kept


def merge(
    page: Page,
    model: Iterable[Candidate],
    found: Sequence[Candidate],
    cued: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """RETURNS (list[Candidate]): Names and cleaned proposals of the model with what the rules found, sorted, without overlaps.

    cued (frozenset[str]): Ids of rules that had a word for what the value is: they stand against a mere shape."""
    rules = _resolve_cued(found, cued)
    at = {token: i for i, rule in enumerate(rules) for token in range(rule.start, rule.end)}
    names, details = list[Candidate](), list[Candidate]()
    for cand in model:
        touched = sorted({at[token] for token in range(cand.start, cand.end) if token in at})
        same = [i for i in touched if rules[i].label == cand.label]
        for i in same:
            rules[i] = replace(rules[i], score=max(rules[i].score, cand.score))
        if is_name(cand.label):
            names.append(cand)
        elif not same and not any(_outweighs(rules[i], cand, cued) for i in touched):
            details.append(cand)
    details = merge_found(page.doc, details, rules)
    # Rules say where these begin and end; so do those of a label of the user's own.
    ruled = [c for c in details if c.label in DETAIL_LABELS or c.label not in PRIORITY]
    return resolve_overlaps([*details, *cut_names(page.doc, names, ruled)])


def _outweighs(rule: Candidate, cand: Candidate, cued: frozenset[str]) -> bool:
    """Whether a rule stands against what the model read of the same tokens: one with a word for the value, or an address or a label of the user's
    own around it."""
    around = rule.start <= cand.start and cand.end <= rule.end
    if rule.source in cued:
        return around or cand.label != STREET_ADDRESS
    return around and (rule.label == STREET_ADDRESS or rule.label not in PRIORITY)


def _resolve_cued(found: Sequence[Candidate], cued: frozenset[str]) -> list[Candidate]:
    """A number after "Student ID" is an ID, also where it has the shape of a telephone number."""
    called = [c for c in found if c.source in cued]
    taken = {token for c in called for token in range(c.start, c.end)}
    rest = [
        c
        for c in found
        if c.label in (EMAIL, URL_PERSONAL) or taken.isdisjoint(range(c.start, c.end))
    ]
    return resolve_overlaps([*called, *rest])


def repeated(page: Page, found: Sequence[Candidate], blocked: set[int]) -> list[Candidate]:
    """RETURNS (list[Candidate]): The same values elsewhere in the document. The text is read once for all of them.

    blocked (set[int]): Characters of the normalised text where nothing is looked for."""
    known: dict[str, Candidate] = {}
    for c in reversed(found):
        value = page.hit(c).value
        local = value.partition("@")[0]
        if c.label == EMAIL and not words().is_common(local):
            # The first part of an address is a user name, where it stands alone.
            known.setdefault(local, replace(c, label=USERNAME))
        if c.label in _REPEATED:
            known[value] = c
    known = {value: c for value, c in known.items() if len(value) >= _LEAST}
    lengths, text = sorted({*map(len, known)}, reverse=True), page.view.text
    taken = {token for c in found for token in range(c.start, c.end)}
    more: list[Candidate] = []
    for start in [match.start() for match in _EDGE.finditer(text)] if known else ():
        for end in (start + length for length in lengths if start + length <= len(text)):
            first = known.get(text[start:end])
            if first and not _LETTER.match(text, end) and not blocked.issuperset(range(start, end)):
                hit = Hit(text, start, end, first.score)
                reason = f"same value as elsewhere: {first.reason}"
                more += page.found(hit, first.label, PROPAGATION, reason)
    return [c for c in more if taken.isdisjoint(range(c.start, c.end))]
