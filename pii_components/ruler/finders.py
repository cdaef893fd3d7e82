"""What the rules of one value alone would not find: by its place, over a line end, behind characters that show nothing.

    Ana Reyes | ana@example.org | anar97 | 555-0142                         anar97: USERNAME (`in_contact_lines`)
    Ana Reyes - ana@example.org - user anareyes - pin QxT:40K - 555-0142    anareyes: USERNAME; QxT:40K: ID_NUM
    call 202-555-\\n0143                                                    202-555- 0143: PHONE_NUM (`find_torn`)

A line of contact details is a list: short parts between signs, one of them, or one of the next line, a detail that a rule or the model has
found. There a word for a user name does, and among two details or more, two names joined in small letters. In running text nothing is found.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ..labels import EMAIL, ID_NUM, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME, is_name
from ..names import word_list
from ..names.normalize import FILLERS, INVISIBLE
from ..names.wordlists import in_table, is_glued
from ..spans import Candidate
from .merge import Intervals, Page, at_tokens, replaced
from .patterns import RegexRule
from .validators import (
    VALIDATORS,
    Context,
    Hit,
    count_digits,
    is_amount,
    is_date,
    is_publication,
    is_years,
)

SOURCE = "username-contact-line"
ID_SOURCE = "id-contact-line"
_DETAILS = (EMAIL, PHONE_NUM, ID_NUM, STREET_ADDRESS, URL_PERSONAL)
_LONGEST, _MOST_WORDS, _MOST_PARTS = 240, 8, 12
_LINE = re.compile(r"[^\r\n\u2028\u2029]+")
_SIGNS = re.compile(r"[;|•·]+|,(?=\s)|\s[-–—/]+(?=\s)|\t+|\s{2,}")  # noqa: RUF001
# Lower case before digits, or capitals inside, or joined by "_"; course codes (ENG101, Bio101) are none.
_NAME = re.compile(
    r"@?(?:[a-z]{2,20}[._]?[a-z]{0,20}\d{1,5}|[A-Z]?[a-z]+[A-Z][a-z]+\d{1,5}|[A-Za-z]{2,20}_[A-Za-z\d]{1,20})"
)
_LABELLED = re.compile(
    r"(?:user(?:\s?-?name)?|handle|alias|nick(?:\s?name)?|login)\s{0,2}(?P<sign>[:=#]?)\s{1,2}(?P<value>@?\w[\w.-]{2,38})",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?i:(?:pin|id|roll|reg|student|learner|candidate|participant|interview(?:er|ee)|member)\s{1,2}(?:num(?:ber)?|no|nr|code|id|pin)|pin|id|interview(?:er|ee)|num(?:ber)?)"
    r"\s?\.?\s{0,2}[:=#]?\s{0,2}(?P<value>(?=\S*\d|\S*[a-z][A-Z]|\S*[A-Z]{2}[a-z])[A-Za-z\d][\w.,:/-]{1,24}\w(?:\s\d{3,10})?)"
)
_DENSE = 2  # details beside each other from which a part needs less of a form
_COUNTED = word_list("ruler/words", "counted")


def in_contact_lines(page: Page, known: Sequence[Candidate]) -> list[Candidate]:
    """RETURNS (list[Candidate]): User names and ID numbers that only their place shows, and that nothing known (of every label) touches."""
    text = page.view.text
    spans = [(*page.chars(c.start, c.end), c.label) for c in known]
    details = sorted(start for start, _, label in spans if label in _DETAILS)
    found: list[Candidate] = []
    if not details:
        return found
    taken = Intervals((start, end) for start, end, _ in spans)
    lines = [line.span() for line in _LINE.finditer(text)]
    detailed = [bisect_left(details, start) < bisect_left(details, end) for start, end in lines]
    lists = [
        _as_list(text, *line) if any(detailed[max(0, n - 1) : n + 2]) else []
        for n, line in enumerate(lines)
    ]
    for n, parts in enumerate(lists):
        first_near, last_near = max(0, n - 1), min(n + 1, len(lines) - 1)
        beside = any(detailed[k] and (lists[k] or k == n) for k in range(first_near, last_near + 1))
        near = bisect_left(details, lines[last_near][1]) - bisect_left(
            details, lines[first_near][0]
        )
        for start, end in parts if beside else ():
            first, last, label = _value_in(text[start:end], dense=near >= _DENSE)
            at = (start + first, start + last)
            if label and not taken.touch(*at):
                source, what = (
                    (SOURCE, "user name") if label == USERNAME else (ID_SOURCE, "ID number")
                )
                found += page.found(*at, label, 0.8, source, f"{what}: alone among contact details")
    return found


def _as_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts (characters, without white space) of a line that is a list of short ones; nothing for any other line."""
    if end - start > _LONGEST:
        return []
    signs = [match.span() for match in _SIGNS.finditer(text, start, end)]
    firsts, lasts = [start, *(after for _, after in signs)], [*(before for before, _ in signs), end]
    parts = []
    for first, last in zip(firsts, lasts, strict=True):
        value = text[first:last]
        if value.strip():
            low = first + len(value) - len(value.lstrip())
            parts.append((low, low + len(value.strip())))
    short = all(len(text[first:last].split()) <= _MOST_WORDS for first, last in parts)
    return parts if short and 2 <= len(parts) <= _MOST_PARTS else []


def _value_in(part: str, *, dense: bool) -> tuple[int, int, str]:
    """Characters of a part that are a user name or an ID number, and which; "" for neither. dense: whether two names joined do."""
    first = re.match(r"@?([^\W\d_]+)", part)
    if _NAME.fullmatch(part) and first and first[1].lower() not in _COUNTED:
        return 0, len(part), USERNAME
    if labelled := _LABELLED.fullmatch(part):
        value = labelled["value"]
        if labelled["sign"] or not value.isalpha() or in_table(value) or is_glued(value):
            return *labelled.span("value"), USERNAME
    if numbered := _NUMBERED.fullmatch(part):
        return *numbered.span("value"), ID_NUM
    if dense and part.islower() and is_glued(part):
        return 0, len(part), USERNAME
    return 0, 0, ""


# Details that were hidden from programs on purpose: nothing that shows between all their letters, or full-width digits.

SOURCE_HIDDEN = "hidden"
_NOTHING = INVISIBLE + FILLERS
# Nothing between all characters, four in a row at least.
_BETWEEN = re.compile(rf"[^\s{_NOTHING}](?:[{_NOTHING}]{{1,3}}[^{_NOTHING}]){{4,}}")
_WIDE = re.compile(r"[\uff01-\uff5e](?:\u3000?[\uff01-\uff5e]){3,40}")
_WIDE_DIGIT = re.compile(r"[\uff10-\uff19]")
_LEAST_DIGITS = 5
_SCORE = 0.8
_KNOWN = (EMAIL, URL_PERSONAL, PHONE_NUM, ID_NUM, STREET_ADDRESS, USERNAME)


def with_hidden(
    page: Page, candidates: Sequence[Candidate], regions: Sequence[str] = ()
) -> list[Candidate]:
    """RETURNS (list[Candidate]): What was found, with one detail for what lay inside of each stretch that was hidden on purpose.

    What reaches beyond a stretch stays. regions (Sequence[str]): Countries whose national numbers count."""
    out = list(candidates)
    if page.doc.text.isascii():
        return out
    for low, high in _stretches(page.doc.text):
        span, touched = at_tokens(page.doc, out, low, high)
        whole = (span.start, span.end) if span is not None else (0, 0)
        if span is None or any(
            c.start < whole[0] or c.end > whole[1] or (c.start, c.end) == whole for c in touched
        ):
            continue
        label = _label(Hit(page.view.text, *page.view.from_original(low, high)), touched, regions)
        if label:
            score = max([_SCORE, *(c.score for c in touched)])
            cand = Candidate(
                *whole, label, score, SOURCE_HIDDEN, "written so that no program shall read it"
            )
            replaced(out, touched, cand)
    return out


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Characters of what was hidden."""
    for match in _BETWEEN.finditer(text):
        if sum(char.isascii() and char.isalnum() for char in match.group()) >= 3:
            yield match.start(), match.start() + len(match.group().rstrip())
    for match in _WIDE.finditer(text):
        if len(_WIDE_DIGIT.findall(match.group())) >= _LEAST_DIGITS:
            yield (
                match.start(),
                match.start()
                + len(match.group().rstrip("\uff0e\uff0c\u3000\uff1a\uff1b\uff01\uff1f")),
            )


def _label(hit: Hit, touched: Sequence[Candidate], regions: Sequence[str]) -> str:
    """What a stretch is; empty for what may be a name, or anything."""
    value, digits = hit.value, count_digits(hit.value)
    best = max(
        (c for c in touched if c.label in _KNOWN),
        key=lambda c: (c.end - c.start, c.score),
        default=None,
    )
    if best is not None:
        return best.label
    if "@" in value:
        return EMAIL
    if "://" in value or "www." in value.lower():
        return URL_PERSONAL
    words = re.findall(r"[^\W\d_]{3,}", value)
    if digits >= _LEAST_DIGITS - 1 and len(words) < 2:
        counted = re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d+[.,]\d+", value)
        if counted or is_date(value) or is_years(value) or is_amount(hit) or is_publication(hit):
            return ""
        context = Context(regions=tuple(regions))
        return (
            PHONE_NUM
            if VALIDATORS["phone"](hit, context) or re.match(r"\+|\(\d{2,3}\)", value)
            else ID_NUM
        )
    if digits and len(words) >= 2:
        return STREET_ADDRESS
    named = any(is_name(c.label) for c in touched)
    return (
        USERNAME
        if " " not in value
        and not named
        and (digits or "_" in value or "." in value or value.islower())
        else ""
    )


# Numbers and addresses that a line end tore: searched as if the line went on.

# Digits on both sides, up to three letters or a sign or two among them; or "@" or a point of an address.
_GAP = r"[ \t]{0,2}\n[ \t]{0,2}"
_BREAK = re.compile(
    rf"\d[A-Za-z]{{0,3}}[-./)]?(?P<gap>{_GAP})(?=[-./(]?[A-Za-z]{{0,3}}\d)"
    rf"|[\w-][@.](?P<point>{_GAP})(?=[a-z][\w-]*(?:\.\w|\W|\Z))"
)
_WINDOW = 120
_MOST_DIGITS = 10  # of a telephone number that needs no other half
_MORE = re.compile(r"(?:[-/][A-Za-z\d]{1,5}){1,3}(?![\w@/])")
_HEAD = re.compile(r"(?<![\w@/:])(?:[+(]{1,2}[\d() ]{1,8})?[A-Za-z\d][\w().-]*\Z")
_REST = re.compile(r"[-./(]?[A-Za-z\d][\w-]*")
# What begins like the other half and is none: a day, an hour, a count, the number of a list.
_NO_REST = re.compile(
    r"\W{0,3}(?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\W{0,2}(?:st|nd|rd|th|am|pm|words?|pages?|points?|marks?|years?)\b|[.):]\s",
    re.IGNORECASE,
)
_CELL = re.compile(r"(?:\t|[ ]{2})\Z")
# Without a word for it, only a number whose form or whose neighbour says what it is.
_FORMS = ("phone-international", "phone-american", "email-plain", "id-beside-name")


def find_torn(
    page: Page,
    rules: Sequence[RegexRule],
    proposals: Sequence[Candidate] = (),
    *,
    regions: Sequence[str] = (),
) -> list[Candidate]:
    """RETURNS (list[Candidate]): EMAIL, PHONE_NUM, ID_NUM on two lines: what a rule finds over a line end, or the model on one side of it.

    rules (Sequence[RegexRule]): Those with a word for what the value is, and a few forms, are used.
    proposals (Sequence[Candidate]): Of the model: names, beside which a number may stand, and halves of numbers."""
    text = page.view.text
    found: list[Candidate] = []
    if not (breaks := list(_breaks(text))):
        return found
    chosen = [
        rule
        for rule in rules
        if rule.label in (EMAIL, PHONE_NUM, ID_NUM) and (rule.cue or rule.id in _FORMS)
    ]
    names = sorted(page.chars(c.start, c.end) for c in proposals if is_name(c.label))
    halves = [(c, *page.chars(c.start, c.end)) for c in proposals if c.label in (PHONE_NUM, ID_NUM)]
    ending = {end: (start, c) for c, start, end in halves}
    beginning = {start: c for c, start, _ in halves}
    for low, at, to, high in breaks:
        # As one line; a blank at the break may be one of the value.
        blank = " " if to - at > 1 else ""
        line, joint = text[low:at] + blank + text[to:high], at - low
        here = names[bisect_left(names, (low,)) : bisect_left(names, (at,))]
        near = tuple((start - low, end - low) for start, end in here if end <= at)
        context = Context(regions=tuple(regions), names=near)
        before = len(found)
        for rule in chosen:
            for hit in rule.hits(line, context):
                more = _MORE.match(line, hit.end) if rule.label == ID_NUM else None
                hit = hit.cut(0, more.end() - hit.start) if more else hit  # "880-817" and "-Q"
                lies_over = hit.start < joint < hit.end - len(blank) and not _is_whole(
                    rule, line[:joint], hit.start, context
                )
                if lies_over and _is_rest(rule, line, joint + len(blank), hit):
                    end, reason = (
                        to + hit.end - joint - len(blank),
                        f"{rule.reason}, torn at the end of a line",
                    )
                    found += page.found(
                        low + hit.start, end, rule.label, hit.score, rule.id, reason
                    )
        start, half = ending.get(at, (-1, None))
        half = half if start >= low else beginning.get(to)
        head, rest = _HEAD.search(text[low:at]), _REST.match(text, to, high)
        if (
            half is not None
            and head
            and rest
            and len(found) == before
            # What stands behind a tab or two blanks is the last cell of a row.
            and not _CELL.search(text[low : low + head.start()])
            and _is_number(text, head.group(), rest)
        ):
            reason = "a number, torn at the end of a line"
            found += page.found(
                low + head.start(), rest.end(), half.label, half.score, half.source, reason
            )
    return found


def _is_number(text: str, head: str, rest: re.Match[str]) -> bool:
    """Whether two pieces with a break between them are one number."""
    tail = rest.group()
    if not re.search(r"\d", head) or is_years(head) or is_years(tail) or is_date(tail):
        return False
    return (
        5 <= count_digits(head + tail) <= 16
        and count_digits(tail) >= 2
        and _NO_REST.match(text, rest.end()) is None
    )


def _breaks(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Start of a line, its end, start and end of the next, for each break worth a look."""
    for match in _BREAK.finditer(text):
        at, to = match.span(match.lastgroup or 0)
        if match.lastgroup == "point" and "@" not in text[max(0, at - 64) : at]:
            continue
        end = text.find("\n", to)
        low = max(text.rfind("\n", 0, at) + 1, at - _WINDOW)
        yield low, at, to, min(end if end >= 0 else len(text), to + _WINDOW // 2)


def _is_whole(rule: RegexRule, head: str, start: int, context: Context) -> bool:
    """Whether the first half is such a value by itself; an ID of a few digits may be half of one."""
    if rule.label == ID_NUM:
        return not rule.cue and is_years(head[start:])
    hits = (hit for hit in rule.hits(head, context) if hit.start == start)
    return any(rule.label == EMAIL or count_digits(hit.value) >= _MOST_DIGITS for hit in hits)


def _is_rest(rule: RegexRule, line: str, joint: int, hit: Hit) -> bool:
    """Whether what stands behind a break can be the rest of the value."""
    if rule.label == EMAIL:
        return True
    rest = _REST.match(line, joint)
    if (
        rest is None
        or is_years(rest.group())
        or is_date(line[joint : joint + 10].partition(" ")[0])
    ):
        return False
    return count_digits(line[joint : hit.end]) >= 2 and _NO_REST.match(line, hit.end) is None
