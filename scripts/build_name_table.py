"""Build the name tables that ship in `pii_components/resources/names/`.

    python -m scripts.build_name_table --out pii_components/resources/names

Needs names-dataset 3.3.1 (the `train` extra) and spacy-lookups-data; takes about a minute and 3 GB.
given.tsv.gz and surnames.tsv.gz: frequent names with the gender (given names), up to three countries,
a frequency class and a mark for those that are good surrogates. No count and no full name of anybody.
cultures.tsv: names by gender and culture, by the steps of the JEDM paper (section 3.6): countries of a
culture by the UN's regions, the most frequent names of each country, all countries of a culture in one
list, names with other than English letters left out. What differs is said in resources/names/README.md.
Deterministic: the same packages give the same bytes.
"""

import calendar
import gzip
import json
import pickle
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pii_components.corpus.people import CULTURES
from pii_components.names.letters import fold
from pii_components.names.table import REGION_OF
from scripts.cultures import GENDERS, SURNAMES

HERE = Path(__file__).parent
DATA = tomllib.loads((HERE / "build_names.toml").read_text("utf8"))
SMALL, PARTICLES, JUNK = (set(DATA[name].split()) for name in ("small", "particles", "junk"))
RUDE = re.compile("".join(DATA["rude"].split()))
MAX_GIVEN, MAX_SURNAMES = 60_000, 70_000
# A name counts as known when it is among the first so many of some country; as a surrogate when among fewer.
KNOWN_RANK, SAMPLE_RANK = 2_500, 900
# Least log probability in English texts for a surrogate, by region; where few names reach print, the most frequent.
ENOUGH = 250
SEEN = {"": -19.5, "EN": -16.5, "ES": -18.5}
LATIN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
# People from elsewhere live in Hong Kong, Taiwan and Singapore; names of Chinese form, in any romanization.
CHINESE_SURNAME = re.compile(r"[^aeiouy]{0,3}[aeiouy]{1,3}(?:n|ng|h|k|p|t|w|m)?")
_FINAL = (
    r"(?:i?ang?|i?ong|i?ao|[ae]i|ian?|ie|ou|en|eng|ing?|iu|u|ua|ua[in]|uang|uo|ui|un|a|o|e|i|ee)"
)
CHINESE_GIVEN = re.compile(rf"(?:(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h|ts){_FINAL}){{1,2}}")


class TableRow(NamedTuple):
    """One name as it is written. gender (str): "F", "M" or empty. countries (tuple[str, ...]): Two-letter codes, the most likely first.
    rarity (int): 0 for the most frequent; one more for every doubling of the rank in its region. good (bool): It may be a surrogate."""

    name: str
    gender: str
    countries: tuple[str, ...]
    rarity: int
    good: bool


def write_table(path: Path, rows: Iterable[TableRow]) -> None:
    """Write rows sorted and front-coded: each line gives how many letters it shares with the line before, then the rest; equal tables are
    equal files."""
    lines, before = [], ""
    for row in sorted(rows, key=lambda r: (fold(r.name), r.name)):
        shared = 0
        while shared < min(len(before), len(row.name), 9) and before[shared] == row.name[shared]:
            shared += 1
        mark = {"": "x", "F": "f", "M": "m"}[row.gender]
        rarity = chr(ord("0") + min(row.rarity, 9))
        lines.append(
            f"{shared}{row.name[shared:]}\t{mark.upper() if row.good else mark}{rarity}{''.join(row.countries)}\n"
        )
        before = row.name
    path.write_bytes(gzip.compress("".join(lines).encode("utf8"), compresslevel=9, mtime=0))


# Names per list: what Fiji, the only country of Oceania in the source, has of both genders; equal for all, so that no group is
# measured on rarer names than another.
PER_LIST = 260
# Share of a given name's bearers that have the gender. The source's own `get_top_names` takes the gender of most.
LEAST_SHARE = 0.6
# The source has few people of some countries, and deep ranks there are what single people called themselves. Of SMALL ones only the
# first names count, of SPARSE ones those of them that English texts hold; other countries of the culture make up for it.
ALONE, FIRST = "FJ", 20
SPARSE = {"SV", "HN", "KH", "BF"}
SEEN_IN_PRINT = -19.5
ENGLISH = re.compile(r"[A-Za-z]{3,14}")


class Source(NamedTuple):
    """names-dataset's entries by name, and the log probability of a million English words, names among them, case kept."""

    given: dict[str, dict[str, Any]]
    last: dict[str, dict[str, Any]]
    probs: dict[str, float]


def read_source() -> Source:
    """Read what is installed."""
    import names_dataset
    import spacy_lookups_data

    names = Path(names_dataset.__file__).parent / "v3"
    words = Path(spacy_lookups_data.__file__).parent / "data" / "en_lexeme_prob.json.gz"
    files = [names / f"{kind}_names.pkl.gz" for kind in ("first", "last")]
    given, last = (pickle.loads(gzip.decompress(file.read_bytes())) for file in files)
    return Source(given, last, json.loads(gzip.decompress(words.read_bytes())))


def common_words(probs: dict[str, float]) -> set[str]:
    """Folded words that English writes in lower case as often as with a capital: "will", "rose"."""
    words = set()
    for word, prob in probs.items():
        least = max(-16.5, probs.get(word.title(), -25.0) - 1.5)
        if word.isalpha() and word.islower() and prob > least:
            words.add(fold(word))
    return words


def place_names() -> set[str]:
    """Folded names of countries, their parts and months: nobody should be called India or April by us."""
    import pycountry

    months = {fold(month) for month in calendar.month_name if month}
    countries = {fold(w) for c in pycountry.countries for w in re.findall(r"\w+", c.name)}
    return months | countries | {fold(s.name) for s in pycountry.subdivisions if s.name.isalpha()}


def display(name: str) -> str | None:
    """The form in which a name is shown: O'Brien, McDonald; the source writes O'brien and Mcdonald."""
    name = unicodedata.normalize("NFC", name).replace("’", "'").replace("`", "'")
    *particles, last = name.split(" ")
    odd = any(fold(word) not in PARTICLES for word in particles) or not LATIN.fullmatch(last)
    odd = odd or any("LATIN" not in unicodedata.name(ch, "") for ch in last if ch.isalpha())
    odd = odd or bool(re.search(r"(.)\1\1", fold(name))) or not re.search(r"[aeiouy]", fold(last))
    if odd or not 2 <= len(last) <= 14 or (name.isupper() and len(name) > 2):
        return None
    last = "-".join(w[:1].upper() + w[1:].lower() for w in last.split("-"))
    last = re.sub(r"^(O|D|L|Dell|Dall)'(\w)", lambda m: m[1] + "'" + m[2].upper(), last)
    last = re.sub(r"^Mc([a-z])(?=[a-z]{2})", lambda m: "Mc" + m[1].upper(), last)
    return " ".join([*(word.capitalize() for word in particles), last])


def best_rank(ranks: dict[str, int | None]) -> int:
    """The best place of a name in any country, with small countries counted as three times deeper."""
    return min((r * (3 if c in SMALL else 1) for c, r in ranks.items() if r), default=10**9)


def origin(entry: dict[str, Any]) -> tuple[str, ...]:
    """Up to three countries that a name comes from: two of its main region, one of the second if that is not far behind."""
    shares: dict[str, float] = {}
    regions = Counter[str]()
    for country, share in entry["country"].items():
        if country not in REGION_OF:
            continue
        near = 1.0 + (entry["rank"].get(country) or 20_000) / 150.0
        share *= DATA["immigration"].get(country, 1.0) * (1.0 + 2.0 / near)
        shares[country] = share
        regions[REGION_OF[country]] += share  # type: ignore[assignment]
    if not regions:
        return ()
    order = sorted(regions, key=lambda r: (-regions[r], r))
    ranked = sorted(shares, key=lambda c: (-shares[c], c))
    first = [c for c in ranked if REGION_OF[c] == order[0]][:2]
    second = regions[order[1]] if len(order) > 1 else 0.0
    if second / regions.total() >= 0.3 and second > 0.5 * regions[order[0]]:
        first = first[:1] + [c for c in ranked if REGION_OF[c] == order[1]][:1]
    return tuple(first)


def best_of(pool: list[TableRow], probs: dict[str, float]) -> list[TableRow]:
    """All rows that are seen in print, and the most frequent others while those are few."""
    seen = [row for row in pool if is_seen(row.name, REGION_OF[row.countries[0]], probs)]
    others = [row for row in pool if row not in seen]
    return seen + others[: max(0, ENOUGH - len(seen))]


def is_seen(name: str, region: str, probs: dict[str, float]) -> bool:
    """Whether English texts hold the name: "Snoritha" is a joke of somebody who had an account."""
    best = max(probs.get(name, -99.0), probs.get(fold(name).title(), -99.0))
    return best > SEEN.get(region, SEEN[""])


def collect(
    entries: dict[str, dict[str, Any]],
    other: dict[str, dict[str, Any]],
    common: set[str],
    probs: dict[str, float],
    limit: int,
    *,
    given: bool,
) -> list[TableRow]:
    """The rows for one kind of name."""
    rows: dict[str, tuple[int, TableRow]] = {}
    for raw, entry in entries.items():
        rank = best_rank(entry["rank"])
        if rank > KNOWN_RANK:
            continue
        name = display(raw)
        countries = origin(entry)
        if name is None or not countries or fold(name) in JUNK or (given and " " in name):
            continue
        region = REGION_OF[countries[0]]
        home = {c: r for c, r in entry["rank"].items() if REGION_OF.get(c) == region}
        in_region = best_rank(home)
        gender = ""
        if given and entry["gender"]:
            share = entry["gender"].get("F", 0.5)
            gender = "F" if share >= 0.8 else "M" if share <= 0.2 else ""
        rival = best_rank(other.get(raw, {"rank": {}})["rank"])
        folded, chinese = fold(name), CHINESE_GIVEN if given else CHINESE_SURNAME
        good = in_region <= SAMPLE_RANK and 3 <= len(name) <= 11 and " " not in name
        good = good and folded not in common and not RUDE.search(folded) and rank < rival
        good = good and (region != "CN" or bool(chinese.fullmatch(folded)))
        good = good and (not given or gender != "")
        row = TableRow(name, gender, countries, min(in_region, rank * 4).bit_length(), good)
        if name not in rows or rank < rows[name][0]:
            rows[name] = (rank, row)
    best_first = sorted(rows.values(), key=lambda item: (item[0], item[1].name))
    ranked = [row for _, row in best_first][:limit]
    pools: dict[tuple[str, str], list[TableRow]] = {}
    for row in ranked:
        if row.good:
            pools.setdefault((REGION_OF[row.countries[0]], row.gender), []).append(row)
    best = {row.name for pool in pools.values() for row in best_of(pool, probs)}
    return [row if row.name in best else row._replace(good=False) for row in ranked]


def extra_rows(
    lists: dict[str, dict[str, str]], common: set[str], *, rarity: int
) -> Iterable[TableRow]:
    """The names of one kind in extra_names.toml; its keys are a country, or a country and a gender."""
    for key, item in lists.items():
        country, _, gender = key.partition("_")
        for name in item["names"].split():
            good = len(name) >= 3 and fold(name) not in common
            yield TableRow(name, gender, (country,), rarity, good)


def add_extra(rows: list[TableRow], extra: Iterable[TableRow]) -> list[TableRow]:
    """The rows, those of `extra` in place of rows with the same name."""
    extra = list(extra)
    names = {r.name for r in extra}
    return [r for r in rows if r.name not in names] + extra


def ranked_names(
    entries: dict[str, dict[str, Any]],
    country: str,
    unfit: set[str],
    probs: dict[str, float],
    *,
    gender: str | None = None,
) -> list[str]:
    """The names of a country, the most frequent first."""
    found: list[tuple[int, str]] = []
    for raw, entry in entries.items():
        rank = entry["rank"].get(country)
        if not rank or (gender and entry["gender"].get(gender, 0.0) < LEAST_SHARE):
            continue
        name = display(raw)
        if not name or not ENGLISH.fullmatch(name) or fold(name) in unfit:
            continue
        if not RUDE.search(fold(name)):
            found.append((rank, name))
    names = [name for _, name in sorted(found)]
    if country in SMALL and country != ALONE:
        names = names[:FIRST]
    if country in SPARSE:
        names = [name for name in names if probs.get(name, -99.0) > SEEN_IN_PRINT]
    return names


def merge(lists: list[list[str]], limit: int) -> list[str]:
    """The first name of each country, then the second of each, and so on, without doubles, sorted at the end."""
    merged: dict[str, None] = {}
    for place in range(max(map(len, lists))):
        for names in lists:
            if place < len(names) and len(merged) < limit:
                merged.setdefault(names[place])
    return sorted(merged)


def culture_lists(source: Source, unfit: set[str]) -> Iterable[tuple[str, str, list[str]]]:
    """YIELDS (tuple[str, str, list[str]]): Culture, gender or "S" for surnames, names."""
    for culture, countries in CULTURES.items():
        for kind in (*GENDERS, SURNAMES):
            entries, gender = (source.last, None) if kind == SURNAMES else (source.given, kind)
            ranked = [
                ranked_names(entries, country, unfit, source.probs, gender=gender)
                for country in countries.split()
            ]
            yield culture, kind, merge(ranked, PER_LIST)


def main(
    out: Annotated[Path, typer.Option(help="Folder.")] = Path("pii_components/resources/names"),
) -> None:
    """Write given.tsv.gz, surnames.tsv.gz and cultures.tsv."""
    source = read_source()
    given, last, probs = source
    common = common_words(probs) | place_names()
    extra = tomllib.loads((HERE / "extra_names.toml").read_text(encoding="utf8"))
    for kind, entries, other, limit, rarity in (
        ("given", given, last, MAX_GIVEN, 5),
        ("surnames", last, given, MAX_SURNAMES, 2),
    ):
        rows = collect(entries, other, common, probs, limit, given=kind == "given")
        added = extra_rows(extra[kind], common, rarity=rarity)
        write_table(out / f"{kind}.tsv.gz", add_extra(rows, added))
    unfit = common | JUNK | set(DATA["playful"].split())
    lists = culture_lists(source, unfit)
    lines = [f"{culture}\t{kind}\t{' '.join(names)}\n" for culture, kind, names in lists]
    (out / "cultures.tsv").write_text("".join(lines), encoding="utf8", newline="\n")


if __name__ == "__main__":
    typer.run(main)
