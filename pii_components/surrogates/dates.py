"""Dates as people write them: where the year, the month, the day stand in a text, and how each is written anew.

    "Tues., Sept. 3rd, 2019"  =>  a weekday; a month, a day with its ending, a year

Formats: ISO and other numbers, with or without a year; names of months in seven languages; ranges; seasons, decades, school
years, weekdays, times of the day. Names are data: resources/surrogates/dates.toml. A text with a word or a number that is no
part of any of these is not read at all.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

SEASONS = ("winter", "spring", "summer", "fall")


@dataclass(frozen=True, slots=True)
class Name:
    """A month's or weekday's name. language (str): "en". number (int): From 0. form (str): "months", "short", "days", ..."""

    language: str
    number: int
    form: str


@dataclass(frozen=True)
class Table:
    """Names of months and days: months, days (dict[str, tuple[Name, ...]]): By name in lower case. around (frozenset[str])."""

    months: dict[str, tuple[Name, ...]]
    days: dict[str, tuple[Name, ...]]
    around: frozenset[str]
    forms: dict[tuple[str, str], tuple[str, ...]]

    def name(self, old: Name, number: int) -> str:
        """RETURNS (str): Another month or day in the same language and form; the full name where there is no short one."""
        main = "short" if old.form == "short" else "short_days" if "short" in old.form or old.form == "also_days" else old.form
        if main == "also":
            main = "months" if old.language != "en" else "short"
        whole = "days" if "days" in main else "months"
        word = self.forms[old.language, main][number]
        return word if word != "-" else self.forms[old.language, whole][number]


@cache
def table() -> Table:
    """RETURNS (Table): The names that come with the package."""
    file = resources.files("pii_components") / "resources" / "surrogates" / "dates.toml"
    data = tomllib.loads(file.read_text(encoding="utf8"))
    months: dict[str, tuple[Name, ...]] = {}
    days: dict[str, tuple[Name, ...]] = {}
    around: set[str] = set()
    forms = {}
    for language, row in data.items():
        around.update(row.pop("around").split())
        for form, text in row.items():
            forms[language, form] = tuple(text.split())
            target = days if "days" in form else months
            for number, word in enumerate(text.split()):
                if word != "-":
                    target[word] = (*target.get(word, ()), Name(language, number, form))
    return Table(months, days, frozenset(around), forms)


@dataclass(frozen=True, slots=True)
class Part:
    """A date within a text.

    kind (str): Name of the pattern. groups (dict[str, tuple[int, int, str]]): Field -> start, end, text.
    """

    kind: str
    groups: dict[str, tuple[int, int, str]]

    def text(self, field: str) -> str:
        return self.groups[field][2] if field in self.groups else ""

    def number(self, field: str) -> int | None:
        """RETURNS (int | None): A field in digits."""
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
    """Take a text apart.

    value (str): A date as found. RETURNS (list[Part] | None): Its dates in order; None if something in it is no part of a date.
    """
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
    """RETURNS (bool): Whether "2015-16" is two years rather than a month of one."""
    first, second = int(match["y"]), match["y2"]
    end = int(second) if len(second) == 4 else first // 100 * 100 + int(second)
    return end > first and (len(second) == 4 or int(second) > 12 or end == first + 1)


def full_year(text: str) -> int:
    """RETURNS (int): The year that is meant: "1999", "99", "'07"."""
    digits = text.lstrip("'’")
    number = int(digits)
    return number if len(digits) == 4 else number + (2000 if number <= 40 else 1900)


def like_year(old: str, year: int) -> str:
    """RETURNS (str): A year as the old one is written."""
    digits = old.lstrip("'’")
    return old[: len(old) - len(digits)] + (f"{year:04d}" if len(digits) == 4 else f"{year % 100:02d}")


def ordinal(old: str, number: int) -> str:
    """RETURNS (str): "st", "nd", "rd", "th" for a day, as the old one is written; other endings as they were."""
    if old.lower() not in ("st", "nd", "rd", "th"):
        return "" if old.lower() == "er" and number != 1 else old
    right = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return right.upper() if old.isupper() else right


def like_word(old: str, new: str) -> str:
    """RETURNS (str): A name in the case of the old one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new.capitalize() if old[:1].isupper() else new
