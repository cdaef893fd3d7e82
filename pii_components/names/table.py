"""The name table: gender of given names, origin of surnames, and new names to put in their place.

    >>> import random
    >>> from pii_components.names.table import name_table
    >>> table = name_table()
    >>> table.gender("Maria"), table.regions("Rossi")
    ('F', ('IT',))
    >>> given, surname = table.sample_given(random.Random(0), "F", "IT"), table.sample_surname(random.Random(0), "IT")

CRAPII chose its surrogates by the gender of the first and the nationality of the last name (seeds/crapii_paper.txt,
section 2.3.5). A country alone is too narrow (Garcia is as Mexican as it is Spanish) and a diaspora too wide, so names are
grouped into regions where the same names are in use. Where the table comes from: resources/names/README.md.

Names of a user's own come before those of the table; the function returns lines of a country, F, M or S (surname), and names, the most frequent
first:

    @name_tables.register("kenya")
    def kenya() -> str:
        return "KE F Wanjiru Akinyi ..."
"""

import gzip
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from itertools import product
from typing import NamedTuple, Protocol

from ..errors import Errors, PiiError
from . import Extensions
from .letters import fold

__all__ = ["name_table", "name_tables"]

# Region -> countries. A region is a pool: its names can stand for each other without a reader stopping at them.
REGIONS: dict[str, str] = {
    "EN": "US GB IE CA JM AU NZ",
    "ES": "ES MX CO AR PE CL EC GT BO CR UY PA PR HN SV",
    "PT": "BR PT AO",
    "FR": "FR BE LU HT",
    "DE": "DE AT CH",
    "NL": "NL",
    "ND": "SE NO DK IS",
    "FI": "FI EE",
    "IT": "IT MT",
    "SL": "PL CZ SI HR RS BG",
    "RU": "RU MD KZ",
    "LT": "LT",
    "HU": "HU",
    "GR": "GR CY",
    "AL": "AL",
    "GE": "GE",
    "TR": "TR AZ TM",
    "AR": "EG SA MA DZ TN LY IQ SY YE JO PS LB AE OM KW QA BH SD DJ",
    "IR": "IR AF",
    "HE": "IL",
    "IN": "IN MU",
    "PK": "PK BD",
    "CN": "CN TW HK MO SG",
    "JP": "JP",
    "KR": "KR",
    "VN": "VN",
    "TH": "TH KH",
    "MY": "MY ID BN",
    "PH": "PH",
    "WA": "NG GH CM BF",
    "EA": "ET BI",
    "ZA": "ZA BW NA",
}
REGION_OF: dict[str, str] = {
    country: region for region, text in REGIONS.items() for country in text.split()
}


def region_of(country: str) -> str:
    """RETURNS (str): The key of `REGIONS` for a country; the country itself, where a user's own names are all that is known of it."""
    return REGION_OF.get(country, country)


# A pool below this size is no hiding place (CRAPII falls back to all names below fifty full names; this is per part).
MIN_POOL = 30
# Of a line of a user's own names: country and kind; a name.
_HEAD = re.compile(r"[A-Z]{2}[FMS]")
_NAME = re.compile(r"[^\W\d_](?:['’-]?[^\W\d_])+")
name_tables: Extensions = Extensions("names", str)
"""The user's own tables, by a name of their own: a registry as spaCy's are."""
# For names with accents, which are fewer: below this, names without.
MIN_ACCENTED = 10


class Source(Protocol):
    """Where numbers come from: a `KeyedRng`, or a `random.Random` where nothing is secret."""

    def random(self) -> float:
        """RETURNS (float): At least 0, below 1."""


class Pool(NamedTuple):
    """Names that may be surrogates. names (list[str]): The names. weights (list[float]): Summed up, name by name."""

    names: list[str]
    weights: list[float]

    def draw(self, rng: Source) -> str:
        """RETURNS (str): A name."""
        weights = self.weights
        return self.names[min(bisect(weights, rng.random() * weights[-1]), len(weights) - 1)]

    def draw_some(self, rng: Source, n: int) -> list[str]:
        # One call of random() each, whose stream Python promises to keep; choices() makes no such promise.
        names, weights, random = self.names, self.weights, rng.random
        total, last = weights[-1], len(weights) - 1
        return [names[min(bisect(weights, random() * total), last)] for _ in range(n)]


_EMPTY = Pool([], [])


class _Kind:
    """Given names or surnames, as resources/names/README.md has them. A line is taken apart only when asked for: loading must be fast."""

    def __init__(self, data: bytes, own: Iterable[tuple[str, str]] = ()) -> None:
        self.names: list[str] = []
        self.infos: list[str] = []
        self.index: dict[str, str] = {}
        before = ""
        for line in gzip.decompress(data).decode("utf8").splitlines():
            rest, info = line.split("\t")
            before = before[: ord(rest[0]) - 48] + rest[1:]
            self.names.append(before)
            self.infos.append(info)
            # Sorted, so that "Jose" comes before "José" and is what the folded key means. "müller" finds its own line.
            self.index.setdefault(fold(before), info)
            if not before.isascii():
                self.index.setdefault(before.lower(), info)
        for name, info in own:
            self.names.append(name)
            self.infos.append(info)
            self.index |= dict.fromkeys((fold(name), name.lower()), info)

    def look_up(self, name: str) -> "Facts":
        return _read_info(self.index.get(name.lower()) or self.index.get(fold(name), _UNKNOWN))

    @cached_property
    def pools(self) -> dict[tuple[str, str], Pool]:
        """RETURNS (dict[tuple[str, str], Pool]): (region, gender) -> names that may be surrogates. "" stands for all."""
        return self._pools(lambda name: True)

    @cached_property
    def accented(self) -> dict[tuple[str, str], Pool]:
        """RETURNS (dict[tuple[str, str], Pool]): As `pools`, names with accents only."""
        return self._pools(lambda name: any(ch.isalpha() and not ch.isascii() for ch in name))

    def _pools(self, fits: Callable[[str], bool]) -> dict[tuple[str, str], Pool]:
        found: dict[tuple[str, str], Pool] = {}
        known: dict[str, tuple[float, list[Pool]]] = {}
        for name, info in zip(self.names, self.infos, strict=True):
            if not (info[0].isupper() and fits(name)):
                continue
            if info not in known:
                gender, countries, *_ = _read_info(info)
                keys = product(("", region_of(countries[0])), {"", gender})
                # Flatter than life, where doubling the rank halves the number of bearers: a corpus is not full of Marias.
                weight = 2.0 ** (-0.8 * int(info[1]))
                known[info] = weight, [found.setdefault(key, Pool([], [])) for key in keys]
            weight, pools = known[info]
            for names, weights in pools:
                names.append(name)
                weights.append(weight + (weights[-1] if weights else 0.0))
        return found


class Facts(NamedTuple):
    """What the table tells of a name.

    gender (str): "F", "M" or empty.
    countries (tuple[str, ...]): Two letters each, the most likely first.
    regions (tuple[str, ...]): Keys of `REGIONS`, the most likely first.
    rarity (int): 0 for the most frequent, one more for every doubling of the rank in its region; 10 for unknown names.
    """

    gender: str
    countries: tuple[str, ...]
    regions: tuple[str, ...]
    rarity: int


_UNKNOWN = "x"


# Few lines differ in what they tell.
@lru_cache(maxsize=16384)
def _read_info(info: str) -> Facts:
    countries = tuple(info[i : i + 2] for i in range(2, len(info), 2))
    regions = tuple(dict.fromkeys(map(region_of, countries)))
    return Facts(
        {"X": "", "F": "F", "M": "M"}[info[0].upper()],
        countries,
        regions,
        int(info[1]) if len(info) > 1 else 10,
    )


class NameTable:
    """Look-ups and samples; names in any case, with or without accents.

    given, surnames (bytes): As resources/names/README.md has them.
    own (Sequence[tuple[str, str, str]]): Names of the user's own: kind (F, M or S), name, and what stands behind a name there.
    """

    def __init__(
        self, given: bytes, surnames: bytes, own: Sequence[tuple[str, str, str]] = ()
    ) -> None:
        self._given = _Kind(given, [row[1:] for row in own if row[0] != "S"])
        self._surnames = _Kind(surnames, [row[1:] for row in own if row[0] == "S"])

    def _kind(self, given: bool) -> _Kind:
        return self._given if given else self._surnames

    def gender(self, first: str) -> str | None:
        """RETURNS (str | None): "F" or "M"; None if the given name is unknown or borne by both."""
        return self._given.look_up(first).gender or None

    def countries(self, last: str) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Two-letter codes of where a surname is from, the most likely first; empty if unknown."""
        return self._surnames.look_up(last).countries

    def regions(self, last: str) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Keys of `REGIONS` for a surname, the most likely first; empty if unknown."""
        return self._surnames.look_up(last).regions

    def regions_of_given(self, first: str) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Keys of `REGIONS` for a given name, the most likely first; empty if unknown."""
        return self._given.look_up(first).regions

    def is_given(self, name: str) -> bool:
        return fold(name) in self._given.index

    def is_surname(self, name: str) -> bool:
        return fold(name) in self._surnames.index

    def leaning(self, name: str) -> str | None:
        """RETURNS (str | None): "given" or "surname", as which a name is more frequent; None if unknown or equal."""
        given, surname = self.rarity(name)
        return None if given == surname else "given" if given < surname else "surname"

    def rarity(self, name: str) -> tuple[int, int]:
        """RETURNS (tuple[int, int]): As a given name and as a surname, see `rarity_of_surname`."""
        return self._given.look_up(name).rarity, self._surnames.look_up(name).rarity

    def rarity_of_surname(self, name: str) -> int:
        """RETURNS (int): 0 for the most frequent surnames, one more for every doubling of the rank, 10 if unknown."""
        return self._surnames.look_up(name).rarity

    def pool(
        self, *, given: bool, gender: str = "", region: str = "", accented: bool = False
    ) -> Pool:
        """The names to draw from. gender (str): "F", "M" or empty for either. region (str): A key of `REGIONS`, or empty for the whole world.
        accented (bool): With an accent, if enough have one. RETURNS (Pool): Of the whole world where the region has fewer than `MIN_POOL`."""
        kind = self._kind(given)
        if accented and len(kind.accented.get((region, gender), _EMPTY).names) >= MIN_ACCENTED:
            return kind.accented[region, gender]
        found = kind.pools.get((region, gender), _EMPTY)
        return found if len(found.names) >= MIN_POOL else kind.pools["", gender]

    def sample_given(
        self, rng: Source, gender: str | None = None, region: str | None = None
    ) -> str:
        return self.pool(given=True, gender=gender or "", region=region or "").draw(rng)

    def sample_surname(self, rng: Source, region: str | None = None) -> str:
        return self.pool(given=False, region=region or "").draw(rng)


def name_table() -> NameTable:
    """RETURNS (NameTable): The one that ships, with the user's own names. RAISES (PiiError): E900 for a table of these that cannot be read."""
    return _table(tuple(name_tables.known().items()))


@lru_cache(maxsize=4)
def _table(tables: tuple[tuple[str, Callable[[], str]], ...]) -> NameTable:
    own = [row for name, read in tables for row in _own_names(name, read())]
    folder = resources.files("pii_components") / "resources" / "names"
    given, surnames = ((folder / f"{kind}.tsv.gz").read_bytes() for kind in ("given", "surnames"))
    return NameTable(given, surnames, own)


def _own_names(table: str, text: str) -> Iterator[tuple[str, str, str]]:
    """YIELDS (tuple[str, str, str]): Kind, name and what is known of it, of each name of a user's table. RAISES (PiiError): E900."""
    ranks = Counter[tuple[str, str]]()
    for number, line in enumerate(text.strip().splitlines(), 1):
        country, kind, *names = [*line.split(), "", ""]
        names = [name for name in names if name]
        if not (_HEAD.fullmatch(country + kind) and names and all(map(_NAME.fullmatch, names))):
            reason = f"line {number} is no country of two letters, F, M or S, and names"
            raise PiiError(Errors.E900, file=table, kind="table of names", reason=reason)
        for name in names:
            ranks[country, kind] += 1
            rarity = min(ranks[country, kind].bit_length() - 1, 9)
            yield kind, name, f"{'X' if kind == 'S' else kind}{rarity}{country}"
