"""Numbers and addresses that a line end tore: searched as if the line went on.

    Student ID: 2048        Phone: 312-55       ana.lopez@uni.
    1234 and I am           5-0143              edu

Only what stands over the break itself is looked at, line by line: digits that end one line and digits that begin the next, or an address
whose sign or point stands at the end. A half that is a whole value by itself stays as it is, and a year, a date or the number of a list is
no other half.
"""

import re
from collections.abc import Iterator, Sequence

from .labels import EMAIL, ID_NUM, PHONE_NUM, is_name
from .patterns import RegexRule
from .ruler_merge import Page
from .shapes import Context, Hit, is_date, is_years
from .spans import Candidate
from .validators import VALIDATORS

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
# Without a word for it, only a number whose form or whose neighbour says what it is.
_FORMS = ("phone-international", "phone-american", "email-plain", "id-beside-name")


def find_torn(
    page: Page, rules: Sequence[RegexRule], proposals: Sequence[Candidate] = (), *, regions: Sequence[str] = ()
) -> list[Candidate]:
    """Values that lie on two lines.

    page (Page): The document. rules (Sequence[RegexRule]): Those with a word for what the value is, and a few forms, are used.
    proposals (Sequence[Candidate]): Of the model: names, beside which a number may stand, and halves of numbers.
    regions (Sequence[str]): Countries whose national numbers count.
    RETURNS (list[Candidate]): What a rule finds over a line end, or the model on one side of it, of the labels EMAIL, PHONE_NUM and ID_NUM.
    """
    text = page.view.text
    chosen = [rule for rule in rules if rule.label in (EMAIL, PHONE_NUM, ID_NUM) and (rule.cue or rule.id in _FORMS)]
    found: list[Candidate] = []
    breaks = list(_breaks(text))
    names = [page.chars(c.start, c.end) for c in proposals if is_name(c.label)] if breaks else []
    halves = [(c, *page.chars(c.start, c.end)) for c in proposals if c.label in (PHONE_NUM, ID_NUM)] if breaks else []
    for low, at, to, high in breaks:
        # As one line; a blank at the break may be one of the value.
        blank = " " if to - at > 1 else ""
        line, joint = text[low:at] + blank + text[to:high], at - low
        near = tuple((start - low, end - low) for start, end in names if low <= start and end <= at)
        context = Context(regions=tuple(regions), names=near)
        before = len(found)
        for rule in chosen:
            for hit in _hits(rule, line, context):
                if rule.label == ID_NUM:
                    hit = _grouped(hit)
                if not hit.start < joint < hit.end - len(blank):
                    continue
                if _is_whole(rule, line[:joint], hit.start, context) or not _is_rest(rule, line, joint + len(blank), hit):
                    continue
                tokens = page.tokens(low + hit.start, to + hit.end - joint - len(blank))
                if tokens is not None:
                    reason = f"{rule.reason}, torn at the end of a line"
                    found.append(Candidate(*tokens, rule.label, hit.score, rule.id, reason))
        half = next((c for c, start, end in halves if low <= start and (end == at or start == to)), None)
        head, rest = _HEAD.search(text[low:at]), _REST.match(text, to, high)
        if half is not None and head and rest and len(found) == before and _is_number(text, head.group(), rest):
            tokens = page.tokens(low + head.start(), rest.end())
            if tokens is not None:
                reason = "a number, torn at the end of a line"
                found.append(Candidate(*tokens, half.label, half.score, half.source, reason))
    return found


def _grouped(hit: Hit) -> Hit:
    """A number with the groups that a hyphen joins to it: "880-817" and "-Q"."""
    more = _MORE.match(hit.text, hit.end)
    return hit.cut(0, more.end() - hit.start) if more else hit


def _is_number(text: str, head: str, rest: re.Match[str]) -> bool:
    """Whether two pieces with a break between them are one number."""
    if (
        not re.search(r"\d", head)
        or not re.search(r"\d", rest.group())
        or is_years(head)
        or is_years(rest.group())
        or is_date(rest.group())
    ):
        return False
    digits = sum(char.isdigit() for char in head + rest.group())
    return 5 <= digits <= 16 and sum(char.isdigit() for char in rest.group()) >= 2 and _NO_REST.match(text, rest.end()) is None


def _breaks(text: str) -> Iterator[tuple[int, int, int, int]]:
    """YIELDS (tuple[int, int, int, int]): Start of a line, its end, start and end of the next, for each break worth a look."""
    if "\n" not in text:
        return
    for match in _BREAK.finditer(text):
        at, to = match.span(match.lastgroup or 0)
        if match.lastgroup == "point" and "@" not in text[max(0, at - 64) : at]:
            continue
        end = text.find("\n", to)
        low = max(text.rfind("\n", 0, at) + 1, at - _WINDOW)
        yield low, at, to, min(end if end >= 0 else len(text), to + _WINDOW // 2)


def _hits(rule: RegexRule, line: str, context: Context) -> Iterator[Hit]:
    validator = VALIDATORS[rule.validate]
    for match in rule.search(line):
        start, end = rule.span(match)
        valid = validator(Hit(line, start, end, rule.score, line[match.start() : start]), context)
        if valid is not None and valid.start < valid.end:
            yield valid


def _is_whole(rule: RegexRule, head: str, start: int, context: Context) -> bool:
    """Whether the first half is such a value by itself; an ID of a few digits may be half of one."""
    if rule.label == ID_NUM:
        return not rule.cue and is_years(head[start:])
    return any(
        hit.start == start and (rule.label == EMAIL or sum(char.isdigit() for char in hit.value) >= _MOST_DIGITS)
        for hit in _hits(rule, head, context)
    )


def _is_rest(rule: RegexRule, line: str, joint: int, hit: Hit) -> bool:
    """Whether what stands behind a break can be the rest of the value."""
    if rule.label == EMAIL:
        return True
    rest = _REST.match(line, joint)
    if rest is None or is_years(rest.group()) or is_date(line[joint : joint + 10].partition(" ")[0]):
        return False
    return sum(char.isdigit() for char in line[joint : hit.end]) >= 2 and _NO_REST.match(line, hit.end) is None
