"""Recall by gender and culture of a name, and whether a group differs from the rest (two-tailed Mann-Whitney U).

    source = name_source("table")                       # or "names-dataset": the paper's own, 3 GB and minutes to load
    groups = [source.group(entity.text) for entity in names]
    recall_by_group(groups, {"ours": found})

As the JEDM paper does it (seeds/gpt4omini_jedm.txt, section 3.5): nameparser takes a name apart; the gender is that of the first
name, the culture the UN region of the most likely country of the last name. The paper counts a name as found where the system gave
the same string anywhere in the document (`found_in_document`): with names-dataset 3.3.1 that gives its Table 9 but for 20 names; its
exact match (Table 7) does not. The test is on names as if each stood alone; names of one essay stand or fall together, so intervals
by bootstrap over documents stand beside it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy

from ..errors import Errors, PiiError
from .metrics import Estimate, rate
from .records import Entity

MALE, FEMALE = "Male", "Female"
CATEGORIES: dict[str, tuple[str, ...]] = {
    "gender": (MALE, FEMALE),
    "culture": ("Europe", "Americas", "Asia", "Africa", "Oceania"),
}
SOURCES = ("table", "names-dataset")
# The paper's, below Table 10.
LEVELS: tuple[tuple[float, str], ...] = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
NOT_SIGNIFICANT = "n.s."


@dataclass(frozen=True, slots=True)
class NameGroup:
    """gender (str): Male, Female or empty. culture (str): A region of the UN, or empty where nobody knows."""

    gender: str = ""
    culture: str = ""


@dataclass(frozen=True, slots=True)
class NameSource:
    """Where gender and country of a name are looked up.

    name (str): One of `SOURCES`. gender_of (Callable[[str], str]): Of a first name: Male, Female or empty.
    country_of (Callable[[str], str]): Of a last name: a code of two letters, or empty.
    """

    name: str
    gender_of: Callable[[str], str]
    country_of: Callable[[str], str]

    def group(self, text: str) -> NameGroup:
        """RETURNS (NameGroup): Of a person's name as it stands in a text."""
        first, last = first_and_last(text)
        country = self.country_of(last) if last else ""
        return NameGroup(self.gender_of(first) if first else "", cultures().get(country, ""))


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A group against the rest of its category.

    category (str), group (str), system (str): Which. total (int), hits (int): Names of the group, and those found.
    rest_total (int), rest_hits (int): The same of the other groups. u (float), p (float): Mann-Whitney, two-tailed.
    recall (Estimate | None), gap (Estimate | None): Of the group, and less that of the rest, with intervals over documents.
    """

    category: str
    group: str
    system: str
    total: int
    hits: int
    rest_total: int
    rest_hits: int
    u: float
    p: float
    recall: Estimate | None = None
    gap: Estimate | None = None

    @property
    def significance(self) -> str:
        """RETURNS (str): Stars as below Table 10."""
        return significance(self.p)


def significance(p: float) -> str:
    """RETURNS (str): `***` below .01, `**` below .05, `*` below .1, else `n.s.`, as the paper has it."""
    return next((stars for level, stars in LEVELS if p < level), NOT_SIGNIFICANT)


def first_and_last(text: str) -> tuple[str, str]:
    """RETURNS (tuple[str, str]): First and last name as nameparser sees them in Title Case; a lone name is a first name."""
    from nameparser import HumanName

    parsed = HumanName(text.strip().title())
    return parsed.first, parsed.last


@cache
def cultures() -> dict[str, str]:
    """RETURNS (dict[str, str]): Code of a country -> region of the UN, for the countries that names-dataset knows."""
    from ..corpus.culture_names import CULTURES

    return {code: culture for culture, codes in CULTURES.items() for code in codes.split()}


def name_source(name: str) -> NameSource:
    """A source of gender and country.

    name (str): "table" for the compact one that ships (most frequent names only), "names-dataset" for the paper's.
    RETURNS (NameSource): Loaded. RAISES (PiiError): E733 for another name, E005 if names-dataset is not installed.
    """
    if name not in SOURCES:
        raise PiiError(Errors.E733, value=name, allowed=", ".join(SOURCES))
    return _table_source() if name == SOURCES[0] else _dataset_source()


def _table_source() -> NameSource:
    from ..surrogates.names import name_table

    table = name_table()
    return NameSource(
        SOURCES[0],
        lambda first: {"M": MALE, "F": FEMALE}.get(table.gender(first) or "", ""),
        lambda last: (table.countries(last) or ("",))[0],
    )


def _dataset_source() -> NameSource:
    try:
        import pycountry
        from names_dataset import NameDataset
    except ImportError as err:
        raise PiiError(Errors.E005, package="names-dataset", what="groups of names as in the paper", extra="train") from err
    data = NameDataset()

    @cache
    def gender_of(first: str) -> str:
        found = data.search(first)["first_name"]
        return max(found["gender"], key=found["gender"].get) if found and found["gender"] else ""

    @cache
    def country_of(last: str) -> str:
        found = data.search(last)["last_name"]
        if not (found and found["country"]):
            return ""
        try:
            code = str(pycountry.countries.lookup(max(found["country"], key=found["country"].get)).alpha_2)
        except LookupError:
            return ""
        # The list of ISO 3166 that the paper used leaves Taiwan without a region.
        return "" if code == "TW" else code

    return NameSource(SOURCES[1], gender_of, country_of)


def found_in_document(gold: Sequence[Entity], predicted: Iterable[Entity]) -> list[bool]:
    """RETURNS (list[bool]): For each gold entity, whether its string was predicted with its label, wherever in the document."""
    given = {(entity.document, entity.label, entity.text) for entity in predicted}
    return [(entity.document, entity.label, entity.text) in given for entity in gold]


def mann_whitney(hits: int, total: int, rest_hits: int, rest_total: int) -> tuple[float, float]:
    """Two-tailed Mann-Whitney U on hits (1) and misses (0), normal approximation with ties and continuity, as scipy does by default.

    hits, total (int): Of the group. rest_hits, rest_total (int): Of the others.
    RETURNS (tuple[float, float]): U of the group, and p; NaN where a side is empty.
    RAISES (PiiError): E005, if scipy is not installed.
    """
    if not (total and rest_total):
        return float("nan"), float("nan")
    try:
        from scipy.stats import mannwhitneyu
    except ImportError as err:
        raise PiiError(Errors.E005, package="scipy", what="the Mann-Whitney test", extra="corpus") from err
    sides = [numpy.repeat([1, 0], [n, of - n]) for n, of in ((hits, total), (rest_hits, rest_total))]
    if len(set(numpy.concatenate(sides).tolist())) == 1:
        return total * rest_total / 2, 1.0  # all found or none: nothing to rank
    found = mannwhitneyu(*sides, alternative="two-sided", method="asymptotic")
    return float(found.statistic), float(found.pvalue)


def recall_by_group(
    gold: Sequence[Entity],
    groups: Sequence[NameGroup],
    found: Mapping[str, Sequence[bool]],
    *,
    documents: Sequence[str] = (),
    weights: numpy.ndarray | None = None,
) -> list[GroupTest]:
    """Recall of every group and its test against the rest of its category; names of no group take no part.

    gold (Sequence[Entity]): Names. groups (Sequence[NameGroup]): Of each. found (Mapping[str, Sequence[bool]]): By system.
    documents (Sequence[str]), weights (numpy.ndarray | None): From `metrics.resample`, for intervals; none if missing.
    RETURNS (list[GroupTest]): By category, group, system; groups without a name are left out.
    """
    row = {document: i for i, document in enumerate(documents)}
    rows = numpy.asarray([row.get(entity.document, 0) for entity in gold], dtype="i8")
    out = []
    for category, names in CATEGORIES.items():
        of = numpy.asarray([getattr(group, category) for group in groups], dtype=object)
        for name in names:
            inside, rest = of == name, (of != "") & (of != name)
            if not inside.any():
                continue
            for system, hits in found.items():
                hit = numpy.asarray(hits, dtype=bool)
                n, h, rn, rh = (int(x.sum()) for x in (inside, inside & hit, rest, rest & hit))
                recall = gap = None
                if weights is not None:
                    counts = [numpy.bincount(rows[x], minlength=len(row)) for x in (inside & hit, inside, rest & hit, rest)]
                    recall, gap = rate(counts[0], counts[1], weights), gap_of(counts, weights)
                out.append(GroupTest(category, name, system, n, h, rn, rh, *mann_whitney(h, n, rh, rn), recall, gap))
    return out


def gap_of(counts: Sequence[numpy.ndarray], weights: numpy.ndarray) -> Estimate | None:
    """Recall of the group less that of the rest, on the same resamples."""
    if not counts[3].sum():
        return None
    draws = [weights @ count for count in counts]
    known = (draws[1] > 0) & (draws[3] > 0)
    values = draws[0][known] / draws[1][known] - draws[2][known] / draws[3][known]
    value = float(counts[0].sum() / counts[1].sum() - counts[2].sum() / counts[3].sum())
    low, high = numpy.quantile(values, [0.025, 0.975]) if len(values) else (value, value)
    return Estimate(value, float(low), float(high))
