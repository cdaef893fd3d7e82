"""Surrogates for dates: all dates of a scope move by one secret shift, mostly years back; formats stay, results are valid.

    May 3, 1999                ->  March 12, 1996
    Tuesday, 04/05/2021        ->  Friday, 02/14/2020      the weekday is that of the new date
    from 2015 to 2019          ->  from 2012 to 2016

Order and days between full dates are kept exactly; months, years and seasons alone move by whole ones. Where a weekday stands
beside a date and is no part of it, the shift is a number of weeks, so that the weekday stays right.
"""

import re
from calendar import monthrange
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from ..names.letters import like, per_batch
from .keys import SurrogateKey, pick
from .style import in_case, ordinal, other_chars, rewrite, word_list, words
from .values import AgeShift, Context, DateShift

# Ages: near the original, in the same form, the same number of years up or down for a whole scope.
_NUMBERS = dict(enumerate(word_list("number_words")))
_FORMS = {
    "word": _NUMBERS,
    "ordinal": dict(enumerate(word_list("ordinal_words"))),
    "decade": {n: _NUMBERS[n][:-1] + "ies" for n in range(20, 100, 10)},
}
_WORDS = {word: (n, form) for form, words_of in _FORMS.items() for n, word in words_of.items()}
_NUMBER = re.compile(
    r"(?<![\d.,])(?P<digits>\d{1,3})(?P<fraction>\.\d+)?(?P<ending>(?:st|nd|rd|th|['’]?s)\b)?(?![\d])|\b(?P<word>"
    + "|".join(sorted((w.replace("-", r"[-‐‑ ]") for w in _WORDS), key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")


def choose_age_shift(
    values: Collection[str],
    chance: SurrogateKey,
    *,
    spread: int = 2,
    border: int = 0,
    local: bool = True,
) -> AgeShift:
    """The shift of a scope, of at most `spread` years. local (bool): Whether the scope is one document: then its ages decide,
    so that they stay apart; else the key alone does.
    """
    rng = chance.rng("AGE", "shift")
    drawn = sorted((rng.random(), sign * n) for n in range(1, spread + 1) for sign in (1, -1))
    options = [AgeShift(delta, border) for _, delta in drawn]
    if not local:
        return options[0]
    ages = {number for value in values for _, number, _ in _numbers(value)}

    def cost(shift: AgeShift) -> int:
        new = [shift(age) for age in ages]
        turned = sum(n != age + shift.delta for n, age in zip(new, ages, strict=True))
        return 9 * (len(new) - len({*new} - {None})) + 3 * turned + len(ages.intersection(new))

    return min(options, key=cost)


@per_batch(256)
def _numbers(value: str) -> tuple[tuple[re.Match[str], int, str], ...]:
    """Of each number its match, its value, and its form: "digits", "word", "ordinal" or "decade"."""
    found = []
    for match in _NUMBER.finditer(value):
        word = re.sub(r"[‐‑ ]", "-", (match["word"] or "").lower())
        form = "decade" if (match["ending"] or "").lower().endswith("s") else "digits"
        number, form = _WORDS[word] if word else (int(match["digits"]), form)
        found.append((match, number, form))
    return tuple(found)


def surrogate_age(value: str, context: Context, attempt: int = 0) -> str | None:
    """An age in the same form, moved as the document's ages do. attempt: Not used. RETURNS (str | None): None if there is no
    number in it, or words that an age does not have.
    """
    numbers = _numbers(value)
    rest = rewrite(value, [(*match.span(), " ") for match, _, _ in numbers])
    if not words("age_around").issuperset(re.findall(r"[^\W\d_]+|\d", rest.lower())):
        return None
    shift = context.ages or choose_age_shift([value], context.chance, local=False)
    if re.search(r"\b(?:months?|mos?|weeks?|days?)\b", value, re.IGNORECASE):
        shift = AgeShift(shift.delta)
    edits = []
    for match, number, form in numbers:
        made = _aged(match, number, form, shift, context.chance)
        if not made or number > 130:
            return None
        edits.append((*match.span(), made))
    return rewrite(value, edits) if edits else None


def _aged(
    match: re.Match[str], number: int, form: str, shift: AgeShift, chance: SurrogateKey
) -> str:
    """A new age as the old one is written; empty if there is none, or no word for it."""
    new = shift(number)
    if form == "decade":
        # The next one in the shift's direction, between twenties and nineties.
        up = number + 10 if number < 90 else 80
        new = up if shift.delta > 0 or number == 20 else number - 10
        new = None if number % 10 or not 20 <= number <= 90 else new
    if new is None:
        return ""
    if old := match["word"]:
        dash = next(filter("‐‑ ".__contains__, old), "-")
        return like(old, _FORMS[form].get(new, "").capitalize()).replace("-", dash)
    fraction = other_chars(match["fraction"] or "", chance.rng("AGE", str(number)))
    return str(new) + fraction + ordinal(match["ending"] or "", new)


# Dates as people write them: where the year, the month, the day stand in a text, and how each is written anew.
SEASONS = ("winter", "spring", "summer", "fall")


def _named(*lists: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Name -> its number, from 0, and all names of its form."""
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    for names in map(word_list, lists):
        for number, name in enumerate(names):
            found.setdefault(name, (number, names))
    return found


_MONTHS = _named("months", "short_months")
_MONTHS["sep"] = _MONTHS["sept"]
_DAYS = _named("weekdays", "short_weekdays")
_DAYS |= {"tues": _DAYS["tue"], "weds": _DAYS["wed"], "thurs": _DAYS["thu"]}


class Part(NamedTuple):
    """A date within a text. kind: Name of the pattern. fields: The groups of the match that are not empty."""

    kind: str
    match: re.Match[str]
    fields: dict[str, str]


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    month = "|".join(sorted(_MONTHS, key=len, reverse=True))
    day = "|".join(sorted(_DAYS, key=len, reverse=True))
    m = rf"(?P<m>{month})\b\.?"
    d = r"(?P<d>\d{1,2})(?P<o>st|nd|rd|th)?"
    d2 = r"(?:\s*(?:[-–—/]|to|and|until)\s*(?P<d2>\d{1,2})(?!\d)(?P<o2>st|nd|rd|th)?)?"
    y = r"(?P<y>[12]\d{3}(?!\d)|['’]\d{2}(?!\d))"
    month_year = r"(?:\s*,\s*|[-/]|\s+(?:(?:of|in)\s+)?)"
    texts = {
        "iso": r"(?P<y>[12]\d{3})(?P<s>\s?[-/.]\s?)(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)",
        "compact": r"(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)(?!\d)",
        "numbers": r"(?P<a>\d{1,2})(?P<s>\s?[-/.]\s?)(?P<b>\d{1,2})(?P=s)(?P<y>[12]\d{3}|['’]?\d{2})(?!\d)",
        "years": r"(?P<y>[12]\d{3})\s?[-–—/]\s?(?P<y2>[12]\d{3}|\d{2})(?!\d)",
        "year_month": r"(?P<y>[12]\d{3})[-/.](?P<m>0?[1-9]|1[0-2])(?!\d)",
        "month_year": r"(?P<m>0?[1-9]|1[0-2])[-/.](?P<y>[12]\d{3})(?!\d)",
        "time": r"(?P<h>[01]?\d|2[0-4])(?:[:.h](?P<n>[0-5]\d)(?::(?P<n2>[0-5]\d))?(?!\d)(?:\s?[ap]\.?m\b\.?)?|\s?[ap]\.?m\b\.?)",
        "short_numbers": rf"(?P<a>\d{{1,2}})(?P<s>[/.])(?P<b>\d{{1,2}})(?!\d|\s*(?:{month})\b)",
        # With the time between day and year, as in a commit's date.
        "month_first": rf"{m}\s*(?:the\s+)?{d}(?![\d:]){d2}(?:\s+(?P<h>\d\d):(?P<n>[0-5]\d)(?::(?P<n2>[0-5]\d))?(?=\s+[12]\d\d\d))?"
        rf"(?:(?:\s*,\s*|\s+(?:of\s+)?){y})?",
        "day_first": rf"{d}\.?{d2}(?:\s*[-/]\s*|\.?\s+(?:of\s+)?|){m}"
        rf"(?:(?:\s*,\s*|\s+(?:of\s+)?|[-/])(?P<y>[12]\d{{3}}(?!\d)|['’]?\d{{2}}(?![\d:]))|)",
        "named_month": rf"{m}{month_year}{y}",
        "season": rf"(?P<season>winter|spring|summer|fall|autumn)(?:{month_year}{y})?",
        "decade": r"['’]?(?P<decade>(?:1[0-9]|20)\d0|\d0)(?P<mark>['’]?s)\b",
        "weekday": rf"(?P<w>{day})(?P<mark>s)?\b\.?",
        "year": rf"{y}",
        "month": rf"{m}",
        "day": r"(?P<d>\d{1,2})(?P<o>st|nd|rd|th)\b",
    }
    # A time may follow the T of "2018-07-04T10:30".
    before = {kind: r"(?<![^\WT])" if kind == "time" else r"(?<!\w)" for kind in texts}
    return tuple(
        (kind, re.compile(before[kind] + text, re.IGNORECASE)) for kind, text in texts.items()
    )


@per_batch(512)
def _read(value: str) -> tuple[Part, ...]:
    """The dates in a value, in order; nothing if anything else stands in it."""
    parts, pos, rest = [], 0, ""
    while pos < len(value):
        if part := _part_at(value, pos):
            parts.append(part)
            pos, rest = part.match.end(), rest + " "
        else:
            pos, rest = pos + 1, rest + value[pos]
    known = words("date_around").issuperset([w.lower() for w in _LETTERS.findall(rest)])
    return tuple(parts) if known and not any(map(str.isnumeric, rest)) else ()


def is_day(value: str) -> bool:
    """RETURNS (bool): Whether a value is a date with a day or a month, and nothing else."""
    return any(len(part.fields) > 1 for part in _read(value))


def _part_at(value: str, pos: int, end: int | None = None) -> Part | None:
    for kind, pattern in _patterns() if value[pos].isalnum() or value[pos] in "'’" else ():
        match = pattern.match(value, pos, len(value) if end is None else end)
        if match and (kind != "years" or _are_years(match)):
            return Part(
                kind, match, {field: text for field, text in match.groupdict().items() if text}
            )
    return None


def _are_years(match: re.Match[str]) -> bool:
    """Whether "2015-16" is two years rather than a month of one."""
    first, second = int(match["y"]), match["y2"]
    end = int(second) if len(second) == 4 else first // 100 * 100 + int(second)
    return end > first and (len(second) == 4 or int(second) > 12 or end == first + 1)


def _full_year(text: str) -> int:
    """The year that is meant: "1999", "99", "'07"."""
    digits = text.lstrip("'’")
    number = int(digits)
    return number if len(digits) == 4 else number + (2000 if number <= 40 else 1900)


def _like_year(old: str, year: int) -> str:
    digits = old.lstrip("'’")
    return old[: len(old) - len(digits)] + (
        f"{year:04d}" if len(digits) == 4 else f"{year % 100:02d}"
    )


def _month(text: str) -> int:
    """The month that is meant, from 0; more than 11 for a number that is none."""
    return int(text) - 1 if text.isdecimal() else _MONTHS[text.lower()][0]


def _like_month(old: str, number: int, *, padded: bool) -> str:
    if old.isdecimal():
        return str(number + 1).zfill(1 + padded)
    return in_case(old, _MONTHS[old.lower()][1][number])


_WEEKDAY = r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun)\b"
_WEEKDAY_BEFORE = re.compile(rf"{_WEEKDAY}[\s,.(]*(?:the\s+)?\Z", re.IGNORECASE)
_WEEKDAY_BEHIND = re.compile(rf"[\s,(]*{_WEEKDAY}", re.IGNORECASE)


def choose_date_shift(
    values: Collection[str],
    chance: SurrogateKey,
    *,
    weeks: bool = False,
    local: bool = True,
    locale: str = "en_US",
) -> DateShift:
    """The shift of a scope.

    values (Collection[str]): Its dates, which may tell what "3/5" means.
    weeks (bool): Whether it must be a number of weeks. local (bool): Whether the scope is one document; in a wider one it is always weeks.
    """
    rng = chance.rng("DATE", "shift", attempt=0)
    years, days = 2 + int(rng.random() * 5), 35 + int(rng.random() * 40)
    days = days if local and rng.random() < 0.3 else -days
    shift = DateShift(years, days, _day_first(values, locale))
    over = shift.total % 7
    if weeks or not local:
        return replace(shift, days=days - over)
    return shift if over else replace(shift, days=days - 1)


def weekday_beside(text: str, start: int, end: int) -> bool:
    """Whether a weekday stands next to a span, outside of it."""
    before, behind = text[max(0, start - 18) : start], text[end : end + 18]
    return bool(_WEEKDAY_BEFORE.search(before) or _WEEKDAY_BEHIND.match(behind))


def _day_first(values: Collection[str], locale: str) -> bool:
    """Whether "3/5" is the third of May: by another date of the document, else by the country."""
    numbers = [
        (int(f["a"]), int(f["b"])) for value in values for _, _, f in _read(value) if "a" in f
    ]
    found = {a > 12 for a, b in numbers if (a > 12) != (b > 12)}
    return found.pop() if len(found) == 1 else not locale.endswith(("US", "PH"))


def surrogate_date(value: str, context: Context, attempt: int = 0) -> str | None:
    """A date in the same form, moved as the document's dates do. attempt: Not used. RETURNS (str | None): None if it cannot be
    read, or is no day of the calendar.
    """
    shift = context.dates or choose_date_shift(
        [value], context.chance, local=False, locale=context.locale
    )
    return move_dates(value, shift, context.chance)


def move_dates(value: str, shift: DateShift, chance: SurrogateKey) -> str | None:
    """The text with its dates moved, or None."""
    parts = _read(value)
    days = [_day_of(part, shift.day_first) for part in parts]
    edits: list[tuple[int, int, str]] = []
    for i, part in enumerate(parts):
        day = days[i]
        if part.kind == "weekday":
            # The weekday of the date behind it, else of the one before it.
            beside = [k for k in (i + 1, i - 1) if 0 <= k < len(parts)]
            near = [there for k in beside if (there := days[k]) and "y" in parts[k].fields]
            number, names = _DAYS[part.fields["w"].lower()]
            # One alone changes even where dates move by weeks.
            number = (number + (shift.total % 7 or abs(shift.days) % 6 + 1)) % 7
            if near:
                number = (near[0] + timedelta(days=shift.total)).weekday()
            new = {"w": in_case(part.fields["w"], names[number])}
        else:
            new = _move_time(part, chance)
            new |= _move_day(part, day, shift) if day else _move_other(part, shift)
        edits += _edits(part, new)
    return rewrite(value, sorted(edits)) if parts else None


def _edits(part: Part, new: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where the fields of a date stand, and what comes there."""
    return [(*part.match.span(field), text) for field, text in new.items() if field in part.fields]


# Kinds of dates that are known for dates when only a piece of one is marked.
_WHOLE = ("iso", "numbers", "year_month", "month_year", "month_first", "day_first", "named_month")
_TORN, _AROUND = 16, 24  # characters of a piece, and on either side of it


def torn_dates(
    text: str, spans: Sequence[tuple[int, int]], context: Context
) -> dict[int, str | None]:
    """Dates of which a span, or each of several, holds a piece only: "November\\n{3, 2025}", "2024-01-{15}". What moves and what
    stays make a possible date again.

    spans (Sequence[tuple[int, int]]): Start and end of what is replaced: dates, and numbers that may be a piece of one.
    RETURNS (dict[int, str]): Start of a span that is a piece -> its new text.
    """
    found: dict[int, str | None] = {}
    shift = context.dates
    assert shift is not None
    for start, end in spans:
        part = _date_around(text, start, end)
        if part is None or any(map(_has_day, _read(text[start:end]))):
            continue
        inside = {f for f in part.fields if any(a <= part.match.start(f) < b for a, b in spans)}
        new = _fit_torn(part, inside, shift) or _move_other(part, shift)
        here = [edit for edit in sorted(_edits(part, new)) if start <= edit[0] < end]
        found[start] = rewrite(text[:end], here)[start:]
    return found


def _date_around(text: str, start: int, end: int) -> Part | None:
    """The date that a span is a piece of; places in its match are those of the text."""
    is_short = end - start <= _TORN and any(map(str.isalnum, text[start:end]))
    for at in range(max(0, start - _AROUND), start + 1) if is_short else ():
        part = _part_at(text, at, end + _AROUND)
        first, last = part.match.span() if part else (0, 0)
        is_whole = first <= start and end <= last and last - first > end - start
        if part and is_whole and part.kind in _WHOLE:
            return part
    return None


def _fit_torn(part: Part, inside: Collection[str], shift: DateShift) -> dict[str, str] | None:
    """New fields of a day, of which only those inside change; None for what holds no day."""
    first = _day_of(part, shift.day_first)
    if first is None:
        return None
    day, month = _day_and_month(part, shift.day_first)
    for more in range(3000):
        new = _move_day(part, first + timedelta(days=more), shift)
        f = part.fields | {field: new[field] for field in inside if new.get(field)}
        number, year = _month(f[month]), _full_year(f.get("y", "2000"))
        is_day = number < 12 and int(f[day]) <= monthrange(year, number + 1)[1]
        if is_day and any(f[field] != part.fields[field] for field in inside):
            return new
    return None


def is_date(value: str) -> bool:
    """Whether a value is the day of a year and nothing else, "2024-01-15": a number may be labelled so."""
    parts = _read(value)
    return [part.kind in ("iso", "numbers") and len(part.fields["y"]) for part in parts] == [4]


def _has_day(part: Part) -> bool:
    """Whether day and month stand in it."""
    return "a" in part.fields or ("d" in part.fields and "m" in part.fields)


def _day_and_month(part: Part, day_first: bool) -> tuple[str, str]:
    """The names of the fields that hold them."""
    f = part.fields
    if "a" not in f:
        return "d", "m"
    return ("a", "b") if int(f["a"]) > 12 or (day_first and int(f["b"]) <= 12) else ("b", "a")


def _day_of(part: Part, day_first: bool) -> date | None:
    """The day that is meant, in 2001 (2000 for a leap day) if there is no year; one near it if there is none in the calendar."""
    if not _has_day(part):
        return None
    day, text = (part.fields[field] for field in _day_and_month(part, day_first))
    month = min(max(_month(text) + 1, 1), 12)
    year = 2000 if (month, int(day)) == (2, 29) else 2001
    year = _full_year(part.fields["y"]) if "y" in part.fields else year
    return date(year, month, min(max(int(day), 1), monthrange(year, month)[1]))


def _move_day(part: Part, day: date, shift: DateShift) -> dict[str, str]:
    f, new = part.fields, day + timedelta(days=shift.total if "y" in part.fields else shift.days)
    last = new
    if "d2" in f:
        length = timedelta(days=min(max(int(f["d2"]) - day.day, 1), 27))
        # There is no place for a second month: the days move back into one.
        if (new + length).month != new.month:
            new = (new + length).replace(day=1) - length - timedelta(days=1)
        last = new + length
    day_field, month_field = _day_and_month(part, shift.day_first)
    old_day, old_month = f[day_field], f[month_field]
    in_digits = old_month.isdecimal() and len(old_day) == len(old_month) == 2
    padded = in_digits or old_day[0] == "0" or old_month[0] == "0"
    return {
        day_field: str(new.day).zfill(1 + padded),
        month_field: _like_month(old_month, new.month - 1, padded=padded),
        "o": ordinal(f.get("o", ""), new.day),
        "d2": str(last.day),
        "o2": ordinal(f.get("o2", ""), last.day),
        "y": _like_year(f.get("y", ""), new.year),
    }


def _move_time(part: Part, chance: SurrogateKey) -> dict[str, str]:
    """New texts of the fields of a time, if there is one."""
    f = part.fields
    if "h" not in f:
        return {}
    rng = chance.rng("DATE", "time:" + f["h"] + f.get("n", ""))
    half = "n" not in f or 1 <= int(f["h"]) <= 12
    hours = [h for h in (range(1, 13) if half else range(24)) if h != int(f["h"])]
    before = part.match.string[: part.match.start()][-1:]
    padded = f["h"].startswith("0") or not half or "n2" in f or before in ("t", "T")
    out = {"h": str(pick(rng, hours)).zfill(1 + padded)}
    minutes = {k: str(int(rng.random() * 60)).zfill(2) for k in ("n", "n2") if k in f}
    return out | minutes


def _move_other(part: Part, shift: DateShift) -> dict[str, str]:
    """New texts of the fields of a season, a decade, a month, years, or a day of no month."""
    f, step, turns = part.fields, 1 if shift.days > 0 else -1, 0
    out: dict[str, str] = {}
    if season := f.get("season"):
        turns, number = divmod(SEASONS.index(season.lower().replace("autumn", "fall")) + step, 4)
        out["season"] = in_case(season, SEASONS[number])
    elif decade := f.get("decade"):
        new = int(decade) - 10
        out["decade"] = str(new) if len(decade) == 4 else f"{new % 100:02d}"
    elif month := f.get("m"):
        months = step * max(1, round(abs(shift.days) / 30.44))
        turns, number = divmod(_month(month) + months, 12)
        out["m"] = _like_month(month, number, padded=month[0] == "0" or len(month) == 2)
    elif "d" in f:
        number = (min(int(f["d"]), 28) - 1 + abs(shift.days) % 27 + 1) % 28 + 1
        out |= {"d": str(number), "o": ordinal(f.get("o", ""), number)}
    for field in f.keys() & {"y", "y2"}:
        out[field] = _like_year(f[field], _full_year(f[field]) - shift.years + turns)
    return out
