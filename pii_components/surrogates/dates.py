"""Surrogates for dates: all dates of a scope move by one secret shift, mostly years back; formats stay, results are valid.

    May 3, 1999                ->  March 12, 1996
    Tuesday, 04/05/2021        ->  Friday, 02/14/2020      the weekday is that of the new date
    from 2015 to 2019          ->  from 2012 to 2016

Order and days between full dates are kept exactly; months, years and seasons alone move by whole ones. Where a weekday stands
beside a date and is no part of it, the shift is a number of weeks, so that the weekday stays right.
"""

import re
import tomllib
from collections.abc import Collection
from datetime import date, timedelta
from functools import cache
from importlib import resources
from typing import NamedTuple

from ..names.letters import like
from ..names.memo import per_batch
from .keys import Chance, pick
from .style import in_case, ordinal, other_char, other_chars, rewrite, word_list, words
from .values import AgeShift, Context, DateShift, canonical

# Ages: near the original, in the same form, the same number of years up or down for a whole scope.
_UNITS, _TENS = word_list("number_units"), word_list("number_tens")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_ORDINALS["twelve"] = "twelfth"


def _word(number: int) -> str:
    if number < 20:
        return _UNITS[number]
    return _TENS[number // 10 - 2] + (f"-{_UNITS[number % 10]}" if number % 10 else "")


def _ordinal(number: int) -> str:
    head, dash, tail = _word(number).rpartition("-")
    return head + dash + (_ORDINALS.get(tail) or (tail[:-1] + "ieth" if tail.endswith("y") else tail + "th"))


_WORDS = {_word(n): (n, "word") for n in range(100)} | {_ordinal(n): (n, "ordinal") for n in range(100)}
_WORDS |= {t[:-1] + "ies": (20 + 10 * i, "decade") for i, t in enumerate(_TENS)}
_NUMBER = re.compile(
    r"(?<![\d.,])(?P<digits>\d{1,3})(?P<fraction>\.\d+)?(?P<ending>(?:st|nd|rd|th|['’]?s)\b)?(?![\d])|\b(?P<word>"
    + "|".join(sorted((w.replace("-", r"[-‐‑ ]") for w in _WORDS), key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)
_JOINTS = re.compile(r"[‐‑ ]")
_LETTERS = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"\b(?:months?|mos?|weeks?|days?)\b", re.IGNORECASE)


def choose_age_shift(
    values: Collection[str], chance: Chance, *, spread: int = 2, border: int = 0, local: bool = True
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
        return 9 * (len(new) - len({*new} - {None})) + 3 * turned + len(ages & {n for n in new if n is not None})

    return min(options, key=cost)


@per_batch(256)
def _numbers(value: str) -> tuple[tuple[re.Match[str], int, str], ...]:
    """Of each number its match, its value, and its form: "digits", "word", "ordinal" or "decade"."""
    found = []
    for match in _NUMBER.finditer(value):
        if match["word"]:
            number, form = _WORDS[_JOINTS.sub("-", match["word"].lower())]
            found.append((match, number, form))
        else:
            ending = (match["ending"] or "").lower()
            found.append((match, int(match["digits"]), "decade" if ending.endswith("s") else "digits"))
    return tuple(found)


def surrogate_age(value: str, context: Context, attempt: int = 0) -> str | None:
    """An age in the same form, moved as the document's ages do. attempt: Not used. RETURNS (str | None): None if there is no
    number in it, or words that an age does not have.
    """
    numbers = _numbers(value)
    rest = rewrite(value, [(*match.span(), " ") for match, _, _ in numbers])
    if not words("age_around").issuperset([w.lower() for w in _LETTERS.findall(rest)]) or any(map(str.isdecimal, rest)):
        return None
    shift = context.ages or choose_age_shift([value], context.chance, local=False)
    if _PARTS.search(value):
        shift = AgeShift(shift.delta)
    edits = []
    for match, number, form in numbers:
        new = _decade(number, shift) if form == "decade" else shift(number)
        if new is None or number > 130:
            return None
        if old := match["word"]:
            word = {"word": _word, "ordinal": _ordinal, "decade": lambda n: _word(n)[:-1] + "ies"}[form](new)
            made = like(old, word.capitalize()).replace("-", next((ch for ch in old if ch in "‐‑ "), "-"))
        else:
            fraction = other_chars(match["fraction"] or "", context.chance.rng("AGE", str(number)))
            made = str(new) + fraction + ordinal(match["ending"] or "", new)
        edits.append((*match.span(), made))
    return rewrite(value, edits) if edits else None


def _decade(number: int, shift: AgeShift) -> int | None:
    """The next decade of life in the shift's direction, between twenties and nineties."""
    if number % 10 or not 20 <= number <= 90:
        return None
    up = number + 10 if number < 90 else 80
    return up if shift.delta > 0 or number == 20 else number - 10


# Dates as people write them: where the year, the month, the day stand in a text, and how each is written anew.
SEASONS = ("winter", "spring", "summer", "fall")


class Name(NamedTuple):
    """A month's or weekday's name. number: From 0. form: A key of dates.toml: "months", "short", "days", ..."""

    language: str
    number: int
    form: str


class Table(NamedTuple):
    """Names of months and days by name in lower case, the words that may stand around a date, and all names by language and
    form.
    """

    months: dict[str, tuple[Name, ...]]
    days: dict[str, tuple[Name, ...]]
    around: frozenset[str]
    forms: dict[tuple[str, str], tuple[str, ...]]

    def name(self, old: Name, number: int) -> str:
        """Another month or day in the same language and form; the full name where there is no short one."""
        main = "short" if old.form == "short" else "short_days" if "short" in old.form or old.form == "also_days" else old.form
        if main == "also":
            main = "months" if old.language != "en" else "short"
        whole = "days" if "days" in main else "months"
        word = self.forms[old.language, main][number]
        return word if word != "-" else self.forms[old.language, whole][number]


@cache
def table() -> Table:
    file = resources.files("pii_components") / "resources" / "surrogates" / "dates.toml"
    data = tomllib.loads(file.read_text(encoding="utf8"))
    months: dict[str, tuple[Name, ...]] = {}
    days: dict[str, tuple[Name, ...]] = {}
    around = frozenset(word for row in data.values() for word in row.pop("around").split())
    forms = {(language, form): tuple(text.split()) for language, row in data.items() for form, text in row.items()}
    for (language, form), names in forms.items():
        target = days if "days" in form else months
        for number, word in enumerate(names):
            if word != "-":
                target[word] = (*target.get(word, ()), Name(language, number, form))
    return Table(months, days, around, forms)


class Part(NamedTuple):
    """A date within a text. kind: Name of the pattern. groups: Field -> start, end, text."""

    kind: str
    groups: dict[str, tuple[int, int, str]]

    def text(self, field: str) -> str:
        return self.groups[field][2] if field in self.groups else ""

    def number(self, field: str) -> int | None:
        text = self.text(field)
        return int(text) if text.isdecimal() else None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    names = table()
    month = "|".join(sorted(map(re.escape, names.months), key=len, reverse=True))
    day = "|".join(sorted(map(re.escape, names.days), key=len, reverse=True))
    m = rf"(?P<m>{month})\b\.?"
    d = r"(?P<d>\d{1,2})(?P<o>st|nd|rd|th|er|º|°)?"
    d2 = r"(?:\s*(?:[-–—]|to|and|until)\s*(?P<d2>\d{1,2})(?P<o2>st|nd|rd|th)?)?"
    y = r"(?P<y>[12]\d{3}(?!\d)|['’]\d{2}(?!\d))"
    month_year = r"(?:\s*,\s*|[-/]|\s+(?:(?:of|de|del|du|in)\s+)?)"
    texts = {
        "iso": r"(?P<y>[12]\d{3})(?P<s>\s?[-/.]\s?)(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)",
        "compact": r"(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)(?!\d)",
        "numbers": r"(?P<a>\d{1,2})(?P<s>\s?[-/.]\s?)(?P<b>\d{1,2})(?P=s)(?P<y>[12]\d{3}|['’]?\d{2})(?!\d)",
        "years": r"(?P<y>[12]\d{3})\s?[-–—/]\s?(?P<y2>[12]\d{3}|\d{2})(?!\d)",
        "year_month": r"(?P<y>[12]\d{3})[-/.](?P<m>0?[1-9]|1[0-2])(?!\d)",
        "month_year": r"(?P<m>0?[1-9]|1[0-2])[-/.](?P<y>[12]\d{3})(?!\d)",
        "time": r"(?P<h>[01]?\d|2[0-4])(?:[:.h](?P<n>[0-5]\d)(?::(?P<n2>[0-5]\d))?(?!\d)(?:\s?[ap]\.?m\b\.?)?|\s?[ap]\.?m\b\.?)",
        "short_numbers": r"(?P<a>\d{1,2})(?P<s>[/.])(?P<b>\d{1,2})(?!\d)",
        "month_first": rf"{m}\s*(?:the\s+)?{d}(?![\d:]){d2}(?:(?:\s*,\s*|\s+(?:of\s+)?){y})?",
        "day_first": rf"{d}\.?{d2}(?:\s*[-/]\s*|\.?\s+(?:of\s+|de\s+|d['’]\s*|d[ei]\s+)?|){m}"
        rf"(?:(?:\s*,\s*|\s+(?:(?:of|de|del)\s+)?|[-/])(?P<y>[12]\d{{3}}(?!\d)|['’]?\d{{2}}(?![\d:]))|)",
        "named_month": rf"{m}{month_year}{y}",
        "season": rf"(?P<season>winter|spring|summer|fall|autumn)(?:{month_year}{y})?",
        "decade": r"['’]?(?P<decade>(?:1[0-9]|20)\d0|\d0)(?P<mark>['’]?s)\b",
        "weekday": rf"(?P<w>{day})(?P<mark>s)?\b\.?",
        "year": rf"{y}",
        "month": rf"{m}",
        "day": r"(?P<d>\d{1,2})(?P<o>st|nd|rd|th)\b",
    }  # fmt: skip
    return tuple((kind, re.compile(rf"(?<![\w]){text}", re.IGNORECASE)) for kind, text in texts.items())


def read_dates(value: str) -> list[Part] | None:
    """The dates in a value, in order; None if anything else stands in it."""
    parts, pos, rest = [], 0, ""
    while pos < len(value):
        if value[pos].isalnum() or value[pos] in "'’":
            for kind, pattern in _patterns():
                match = pattern.match(value, pos)
                if match and (kind != "years" or _are_years(match)):
                    fields = {k: (*match.span(k), v) for k, v in match.groupdict().items() if v}
                    parts.append(Part(kind, fields))
                    pos, rest = match.end(), rest + " "
                    break
            else:
                word = re.compile(r"[^\W_]+|.", re.DOTALL).match(value, pos)
                assert word is not None
                rest, pos = rest + word.group(), word.end()
        else:
            rest, pos = rest + value[pos], pos + 1
    words = {w.lower() for w in re.findall(r"[^\W\d_]+", rest)}
    known = words <= table().around and not any(ch.isnumeric() for ch in rest)
    return parts if parts and known else None


def _are_years(match: re.Match[str]) -> bool:
    """Whether "2015-16" is two years rather than a month of one."""
    first, second = int(match["y"]), match["y2"]
    end = int(second) if len(second) == 4 else first // 100 * 100 + int(second)
    return end > first and (len(second) == 4 or int(second) > 12 or end == first + 1)


def full_year(text: str) -> int:
    """The year that is meant: "1999", "99", "'07"."""
    digits = text.lstrip("'’")
    number = int(digits)
    return number if len(digits) == 4 else number + (2000 if number <= 40 else 1900)


def like_year(old: str, year: int) -> str:
    digits = old.lstrip("'’")
    return old[: len(old) - len(digits)] + (f"{year:04d}" if len(digits) == 4 else f"{year % 100:02d}")


OPTIONS = 24
_MONTH_FIRST = ("US", "PH")
_FIELD = re.compile(r"\d+|[^\W\d_]{3,}")
_BETWEEN = re.compile(r"[\s,.(]*(?:the\s+)?")
_BARE = re.compile(r"[\s,(]*")
_BESIDE = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b", re.IGNORECASE)


def choose_date_shift(
    values: Collection[str],
    chance: Chance,
    *,
    weeks: bool = False,
    local: bool = True,
    locale: str = "en_US",
    near: bool = False,
) -> DateShift:
    """The shift of a scope: of some that the key gives, the one under which fewest parts of a date stay by chance.

    weeks (bool): Whether it must be a number of weeks. local (bool): Whether the scope is one document, so that its dates
    decide; in a wider one it is always weeks, the same for all documents. near (bool): Whether names of months shall be about
    as long.
    """
    day_first = _day_first(values, locale)
    fields = {value: _fields(value) for value in sorted(set(values))}
    known = {canonical(value) for value in fields}

    def cost(shift: DateShift) -> tuple[int, int]:
        moved = [(move_dates(value, shift, chance), old) for value, old in fields.items()]
        lost = sum(new is not None and canonical(new) in known for new, _ in moved)
        same = sum(new is not None and not old.isdisjoint(_fields(new)) for new, old in moved)
        longer = sum(abs(len(new) - len(old)) for (new, _), old in zip(moved, fields, strict=True) if new is not None)
        return 5 * _order_lost(list(fields), shift) + 3 * same + lost, longer if near else 0

    best: tuple[tuple[int, int], DateShift] | None = None
    for attempt in range(OPTIONS):
        rng = chance.rng("DATE", "shift", attempt=attempt)
        years, days = 2 + int(rng.random() * 5), 35 + int(rng.random() * 40)
        shift = DateShift(years, days if local and rng.random() < 0.3 else -days, day_first)
        if weeks or not local:
            shift = DateShift(years, shift.days - shift.total % 7, day_first)
        elif not shift.total % 7:
            shift = DateShift(years, shift.days - 1, day_first)
        price = cost(shift) if local else (0, 0)
        if best is None or price < best[0]:
            best = price, shift
        if price == (0, 0):
            break
    assert best is not None
    return best[1]


def weekday_beside(text: str, start: int, end: int) -> bool:
    """Whether a weekday stands next to a span, outside of it."""
    before, after = text[max(0, start - 18) : start], text[end : end + 18]
    near = [*_BESIDE.finditer(before)][-1:]
    if near and _BETWEEN.fullmatch(before, near[0].end()):
        return True
    behind = _BESIDE.search(after)
    return behind is not None and _BARE.fullmatch(after, 0, behind.start()) is not None


def _fields(value: str) -> set[str]:
    return set(_FIELD.findall(value.lower())) - table().around


def _order_lost(values: list[str], shift: DateShift) -> bool:
    """Whether days without a year, or months, would pass the turn of the year, some of them and not all."""
    turned = set()
    for value in values:
        for part in _read(value) or ():
            if part.kind in ("month_first", "day_first", "short_numbers") and "y" not in part.groups:
                day = _day_of(part, shift.day_first)
                turned.add(day is not None and (day + timedelta(days=shift.days)).year != day.year)
    return len(turned) > 1


@per_batch(512)
def _read(value: str) -> tuple[Part, ...] | None:
    parts = read_dates(value)
    return tuple(parts) if parts else None


def _day_first(values: Collection[str], locale: str) -> bool:
    """Whether "3/5" is the third of May: by another date of the document, else by the country."""
    found = set()
    for value in values:
        for part in _read(value) or ():
            a, b = part.number("a"), part.number("b")
            if a is not None and b is not None and (a > 12) != (b > 12):
                found.add(a > 12)
    return found.pop() if len(found) == 1 else not locale.endswith(_MONTH_FIRST)


def surrogate_date(value: str, context: Context, attempt: int = 0) -> str | None:
    """A date in the same form, moved as the document's dates do. attempt: Not used. RETURNS (str | None): None if it cannot be
    read, or is no day of the calendar.
    """
    shift = context.dates or choose_date_shift([value], context.chance, local=False, locale=context.locale)
    return move_dates(value, shift, context.chance)


def move_dates(value: str, shift: DateShift, chance: Chance) -> str | None:
    """The text with its dates moved, or None."""
    parts = _read(value)
    if parts is None:
        return None
    edits: list[tuple[int, int, str]] = []
    days = [_day_of(part, shift.day_first) for part in parts]
    for i, part in enumerate(parts):
        if part.kind == "weekday":
            # The weekday of the date behind it, else of the one before it.
            near = [k for k in (i + 1, i - 1) if 0 <= k < len(parts) and days[k] is not None and "y" in parts[k].groups]
            day = days[near[0]] if near else None
            new = _weekday(part, day, shift)
        elif days[i] is not None or part.kind in ("iso", "compact", "numbers", "short_numbers", "month_first", "day_first"):
            new = _move_day(part, days[i], shift)
        else:
            new = _move_other(part, shift, chance)
        if new is None:
            return None
        edits += [(*part.groups[field][:2], text) for field, text in new.items() if field in part.groups]
    return rewrite(value, sorted(edits))


def _month(part: Part, *, of: str = "m") -> tuple[int, Name | None] | None:
    text = part.text(of)
    if text.isdecimal():
        return int(text), None
    names = sorted(table().months.get(text.lower(), ()), key=lambda n: (n.language == "de") != text[:1].isupper())
    names = [n for n in names if n.language == "en"] or names
    return (names[0].number + 1, names[0]) if names else None


def _day_of(part: Part, day_first: bool) -> date | None:
    """The day that is meant, in 2001 (2000 for a leap day) if there is no year."""
    year = full_year(part.text("y")) if "y" in part.groups else None
    if "a" in part.groups:
        a, b = int(part.text("a")), int(part.text("b"))
        first = a > 12 or (day_first and b <= 12)
        day, month = (a, b) if first else (b, a)
    elif "d" in part.groups and "m" in part.groups and (found := _month(part)) is not None:
        day, month = int(part.text("d")), found[0]
    else:
        return None
    try:
        return date(year or (2000 if (month, day) == (2, 29) else 2001), month, day)
    except ValueError:
        return None


def _move_day(part: Part, day: date | None, shift: DateShift) -> dict[str, str] | None:
    if day is None:
        return None
    dated = "y" in part.groups
    new = day + timedelta(days=shift.total if dated else shift.days)
    out: dict[str, str] = {}
    if "d2" in part.groups:
        length = int(part.text("d2")) - day.day
        if not 0 < length < 28:
            return None
        # There is no place for a second month: the days move back into one.
        if (new + timedelta(days=length)).month != new.month:
            new = (new + timedelta(days=length)).replace(day=1) - timedelta(days=length + 1)
        last = new.day + length
        out |= {"d2": str(last), "o2": _day_ending(part.text("o2"), last)}
    fields: list[str] = [f for f in ("a", "b") if f in part.groups] or [f for f in ("m", "d") if part.number(f) is not None]
    texts = [part.text(f) for f in fields]
    padded = any(t.startswith("0") for t in texts) or (len(texts) == 2 and all(len(t) == 2 for t in texts))
    if "a" in part.groups:
        first = int(part.text("a")) > 12 or (shift.day_first and int(part.text("b")) <= 12)
        numbers = (new.day, new.month) if first else (new.month, new.day)
        out |= {f: _padded(n, padded) for f, n in zip(fields, numbers, strict=True)}
    else:
        month = _month(part)
        assert month is not None
        out["m"] = in_case(part.text("m"), table().name(month[1], new.month - 1)) if month[1] else _padded(new.month, padded)
        out["d"] = _padded(new.day, padded and "m" in fields or part.text("d").startswith("0"))
        out["o"] = _day_ending(part.text("o"), new.day)
    if dated:
        out["y"] = like_year(part.text("y"), new.year)
    return out


def _day_ending(old: str, day: int) -> str:
    return "" if old.lower() == "er" and day != 1 else ordinal(old, day)


def _padded(number: int, padded: bool) -> str:
    return f"{number:02d}" if padded else str(number)


def _weekday(part: Part, day: date | None, shift: DateShift) -> dict[str, str] | None:
    name = table().days[part.text("w").lower()][0]
    # A weekday alone changes even where dates move by weeks.
    alone = shift.total % 7 or abs(shift.days) % 6 + 1
    new = (day + timedelta(days=shift.total)).weekday() if day is not None else (name.number + alone) % 7
    return {"w": in_case(part.text("w"), table().name(name, new))}


def _move_other(part: Part, shift: DateShift, chance: Chance) -> dict[str, str] | None:
    out: dict[str, str] = {}
    if part.kind == "time":
        rng = chance.rng("DATE", "time:" + part.text("h") + part.text("n"))
        old, clock = int(part.text("h")), 12 if "n" not in part.groups or 1 <= int(part.text("h")) <= 12 else 24
        hours = range(1, 13) if clock == 12 else range(24)
        out["h"] = _padded(pick(rng, [h for h in hours if h != old]), part.text("h").startswith("0") or clock == 24)
        for field in ("n", "n2"):
            if field in part.groups:
                out[field] = str(int(rng.random() * 6)) + other_char(part.text(field)[1], rng)
        return out
    if "season" in part.groups:
        old_season = part.text("season").lower().replace("autumn", "fall")
        index = SEASONS.index(old_season) + shift.step
        out["season"] = in_case(part.text("season"), SEASONS[index % 4])
        if "y" in part.groups:
            out["y"] = like_year(part.text("y"), full_year(part.text("y")) - shift.years + index // 4)
        return out
    if "decade" in part.groups:
        text = part.text("decade")
        new = int(text) - 10
        return {"decade": str(new) if len(text) == 4 else f"{new % 100:02d}"}
    if "m" in part.groups:
        month = _month(part)
        if month is None:
            return None
        year = full_year(part.text("y")) if "y" in part.groups else 2001
        index = year * 12 + month[0] - 1 + (shift.months if "y" in part.groups else shift.months + 12 * shift.years)
        number = index % 12
        out["m"] = (
            in_case(part.text("m"), table().name(month[1], number))
            if month[1]
            else _padded(number + 1, part.text("m").startswith("0") or len(part.text("m")) == 2)
        )
        if "y" in part.groups:
            out["y"] = like_year(part.text("y"), index // 12)
        return out
    for field in ("y", "y2"):
        if field in part.groups:
            out[field] = like_year(part.text(field), full_year(part.text(field)) - shift.years)
    if "d" in part.groups:
        day = int(part.text("d"))
        if not 1 <= day <= 31:
            return None
        number = (min(day, 28) - 1 + abs(shift.days) % 27 + 1) % 28 + 1
        out |= {"d": str(number), "o": _day_ending(part.text("o"), number)}
    return out
