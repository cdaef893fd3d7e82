"""Surrogates for dates: all dates of a scope move by one secret shift, mostly years back; formats stay, results are valid.

    May 3, 1999                ->  March 12, 1996
    Tuesday, 04/05/2021        ->  Friday, 02/14/2020      the weekday is that of the new date
    from 2015 to 2019          ->  from 2012 to 2016

Order and days between full dates are kept exactly; months, years and seasons alone move by whole ones. Where a weekday stands
beside a date and is no part of it, the shift is a number of weeks, so that the weekday stays right.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from .dates import SEASONS, Name, Part, full_year, like_word, like_year, ordinal, read_dates, table
from .generate import Context, canonical
from .keys import Chance, pick
from .style import other_char

OPTIONS = 24
_MONTH_FIRST = ("US", "PH")
_FIELD = re.compile(r"\d+|[^\W\d_]{3,}")
_BETWEEN = re.compile(r"[\s,.(]*(?:the\s+)?")
_BARE = re.compile(r"[\s,(]*")
_BESIDE = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DateShift:
    """How dates move. years (int): Years back. days (int): Days beyond that, either way. day_first (bool): What "3/5" means."""

    years: int
    days: int
    day_first: bool = False

    @property
    def total(self) -> int:
        """RETURNS (int): Days in all."""
        return self.days - round(365.2425 * self.years)

    @property
    def months(self) -> int:
        return (1 if self.days > 0 else -1) * max(1, round(abs(self.days) / 30.44)) - 12 * self.years

    @property
    def step(self) -> int:
        """RETURNS (int): The direction of what has no year."""
        return 1 if self.days > 0 else -1


def choose_date_shift(
    values: Collection[str],
    chance: Chance,
    *,
    weeks: bool = False,
    local: bool = True,
    locale: str = "en_US",
    near: bool = False,
) -> DateShift:
    """Find the shift of a scope.

    values (Collection[str]): All dates of the document, as they stand. chance (Chance): Key and scope.
    weeks (bool): Whether it must be a number of weeks. local (bool): Whether the scope is this document, so that its dates may
        decide; in a wider scope it is always weeks, and the same for all documents.
    locale (str): What "3/5" means where nothing tells. near (bool): Whether names of months shall be about as long.
    RETURNS (DateShift): Of some that the key gives, the one under which fewest parts of a date stay by chance.
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
    """RETURNS (bool): Whether a weekday stands next to a span, outside of it. start (int), end (int): Characters."""
    before, after = text[max(0, start - 18) : start], text[end : end + 18]
    near = [*_BESIDE.finditer(before)][-1:]
    if near and _BETWEEN.fullmatch(before, near[0].end()):
        return True
    behind = _BESIDE.search(after)
    return behind is not None and _BARE.fullmatch(after, 0, behind.start()) is not None


def _fields(value: str) -> set[str]:
    """RETURNS (set[str]): The numbers and names of a date, which no part of its surrogate should be."""
    return set(_FIELD.findall(value.lower())) - table().around


def _order_lost(values: list[str], shift: DateShift) -> bool:
    """RETURNS (bool): Whether days without a year, or months, would pass the turn of the year, some of them and not all."""
    turned = set()
    for value in values:
        for part in _read(value) or ():
            if part.kind in ("month_first", "day_first", "short_numbers") and "y" not in part.groups:
                day = _day_of(part, shift.day_first)
                turned.add(day is not None and (day + timedelta(days=shift.days)).year != day.year)
    return len(turned) > 1


@lru_cache(maxsize=512)
def _read(value: str) -> tuple[Part, ...] | None:
    parts = read_dates(value)
    return tuple(parts) if parts else None


def _day_first(values: Collection[str], locale: str) -> bool:
    """RETURNS (bool): Whether "3/5" is the third of May: by another date of the document, else by the country."""
    found = set()
    for value in values:
        for part in _read(value) or ():
            a, b = part.number("a"), part.number("b")
            if a is not None and b is not None and (a > 12) != (b > 12):
                found.add(a > 12)
    return found.pop() if len(found) == 1 else not locale.endswith(_MONTH_FIRST)


def surrogate_date(value: str, context: Context, attempt: int = 0) -> str | None:
    """A date in the same form.

    value (str): As it stands. context (Context): With `dates`, if the document's other dates shall count.
    attempt (int): Not used: dates of a document move together.
    RETURNS (str | None): None if it cannot be read, or is no day of the calendar.
    """
    shift = context.dates or choose_date_shift([value], context.chance, local=False, locale=context.locale)
    return move_dates(value, shift, context.chance)


def move_dates(value: str, shift: DateShift, chance: Chance) -> str | None:
    """RETURNS (str | None): The text with its dates moved. value (str): As it stands. shift, chance: How far, and the key."""
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
    out, last = "", 0
    for start, end, text in sorted(edits):
        out += value[last:start] + text
        last = end
    return out + value[last:]


def _month(part: Part, *, of: str = "m") -> tuple[int, Name | None] | None:
    text = part.text(of)
    if text.isdecimal():
        return int(text), None
    names = sorted(table().months.get(text.lower(), ()), key=lambda n: (n.language == "de") != text[:1].isupper())
    names = [n for n in names if n.language == "en"] or names
    return (names[0].number + 1, names[0]) if names else None


def _day_of(part: Part, day_first: bool) -> date | None:
    """RETURNS (date | None): The day that is meant, in 2001 (2000 for a leap day) if there is no year; None if there is none."""
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
        out |= {"d2": str(last), "o2": ordinal(part.text("o2"), last)}
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
        out["m"] = like_word(part.text("m"), table().name(month[1], new.month - 1)) if month[1] else _padded(new.month, padded)
        out["d"] = _padded(new.day, padded and "m" in fields or part.text("d").startswith("0"))
        out["o"] = ordinal(part.text("o"), new.day)
    if dated:
        out["y"] = like_year(part.text("y"), new.year)
    return out


def _padded(number: int, padded: bool) -> str:
    return f"{number:02d}" if padded else str(number)


def _weekday(part: Part, day: date | None, shift: DateShift) -> dict[str, str] | None:
    name = table().days[part.text("w").lower()][0]
    # A weekday alone changes even where dates move by weeks.
    alone = shift.total % 7 or abs(shift.days) % 6 + 1
    new = (day + timedelta(days=shift.total)).weekday() if day is not None else (name.number + alone) % 7
    return {"w": like_word(part.text("w"), table().name(name, new))}


def _move_other(part: Part, shift: DateShift, chance: Chance) -> dict[str, str] | None:
    """RETURNS (dict[str, str] | None): New fields of a month, a year, a season, a decade, a day of some month, a time."""
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
        out["season"] = like_word(part.text("season"), SEASONS[index % 4])
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
            like_word(part.text("m"), table().name(month[1], number))
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
        out |= {"d": str(number), "o": ordinal(part.text("o"), number)}
    return out
