"""Precision, recall, F1, F5 and their intervals from counts; what stays visible; recall by group of names.

    weights = resample(n_documents, seed=1)                 # (1000, n_documents)
    score(table.per_document, weights).f5                   # Estimate(value=0.9377, low=0.926, high=0.948)

Intervals are percentile bootstraps over documents: entities of one essay stand or fall together. A resample is a vector of how often each
document was drawn, so that all resamples are one matrix product. With the same weights two systems are compared in pairs (`difference`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy

from ..errors import Errors, PiiError
from .gold import Entity
from .match import ALARMS, CHARACTERS, COVERED, ENTITIES, FN, FP, HIDDEN, TOUCHED, TP, WORDS

N_RESAMPLES = 1000
SEED = 20240117  # any fixed number; the same for every system, so that differences are paired
LEVEL = 0.95
Shares = dict[str, "int | Estimate | None"]


class Estimate(NamedTuple):
    """A number as measured, with the bounds of its interval."""

    value: float
    low: float
    high: float


class Score(NamedTuple):
    """Counts over some documents and labels, and scores; None where no gold entity stands behind them."""

    tp: int
    fp: int
    fn: int
    precision: Estimate | None = None
    recall: Estimate | None = None
    f1: Estimate | None = None
    f5: Estimate | None = None

    @property
    def support(self) -> int:
        """Number of gold entities."""
        return self.tp + self.fn


def _divide(upper: numpy.ndarray, lower: numpy.ndarray) -> numpy.ndarray:
    """NaN where there is nothing to divide by."""
    upper, lower = numpy.asarray(upper, dtype="f8"), numpy.asarray(lower, dtype="f8")
    return numpy.divide(upper, lower, out=numpy.full(upper.shape, numpy.nan), where=lower > 0)


def measures(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """Precision, recall, F1 and F5, each of shape `(...)`; NaN where there is nothing to divide by.

    F-beta is `(1 + b2) tp / ((1 + b2) tp + b2 fn + fp)` with `b2 = beta * beta`, so that F5 weighs a
    miss as 25 false alarms. It equals `(1 + b2) P R / (b2 P + R)` (van Rijsbergen 1979), and has a
    value where P has none.

    counts (numpy.ndarray): True positives, false positives, false negatives in the last axis, shape
        `(..., 3)`.
    """
    tp, fp, fn = counts[..., TP], counts[..., FP], counts[..., FN]
    found = {"precision": _divide(tp, tp + fp), "recall": _divide(tp, tp + fn)}
    for beta in (1, 5):
        weighted = (1 + beta**2) * tp
        found[f"f{beta}"] = _divide(weighted, weighted + beta**2 * fn + fp)
    return found


def resample(
    n_documents: int, *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> numpy.ndarray:
    """How often each document is drawn in each resample, shape `(n_resamples, n_documents)`."""
    rng = numpy.random.default_rng(seed)
    return rng.multinomial(n_documents, numpy.full(n_documents, 1 / n_documents), size=n_resamples)


def _estimate(value: numpy.ndarray, draws: numpy.ndarray) -> Estimate | None:
    """A value with its interval; resamples without any gold entity say nothing and are passed over."""
    if numpy.isnan(value):
        return None
    known = draws[~numpy.isnan(draws)]
    levels = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = numpy.quantile(known, levels) if len(known) else (value, value)
    return Estimate(float(value), float(low), float(high))


def score(per_document: numpy.ndarray, weights: numpy.ndarray) -> Score:
    """Scores of summed counts with intervals; only counts, if there is no gold entity.

    per_document (numpy.ndarray): Counts, shape `(n_documents, 3)`.
    weights (numpy.ndarray): From `resample`.
    """
    total = per_document.sum(axis=0)
    tp, fp, fn = (int(n) for n in total)
    if tp + fn == 0:
        return Score(tp, fp, fn)
    draws = weights @ per_document
    with_gold = draws[:, TP] + draws[:, FN] > 0
    drawn, values = measures(draws[with_gold] if with_gold.any() else draws), measures(total)
    return Score(tp, fp, fn, **{name: _estimate(values[name], drawn[name]) for name in values})


def difference(
    first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray
) -> dict[str, Estimate | None]:
    """How much better the first system is, document by document; None where one has no value.

    first, second (numpy.ndarray): Counts of the same documents, shape `(n_documents, 3)`.
    weights (numpy.ndarray): From `resample`.
    """
    ours, theirs = measures(first.sum(axis=0)), measures(second.sum(axis=0))
    our_draws, their_draws = measures(weights @ first), measures(weights @ second)
    return {
        name: _estimate(ours[name] - theirs[name], our_draws[name] - their_draws[name])
        for name in ours
    }


def paired_p(first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray) -> float | None:
    """How likely a difference of F5 as far from nothing is, if there were none: two-sided.

    A paired bootstrap over documents: twice the share of resamples in which the difference has the
    other sign or none (Efron and Tibshirani 1993, chapter 16), and at least one resample's worth.

    first, second (numpy.ndarray): As for `difference`.
    RETURNS (float | None): None where one of the two has no value.
    """
    draws = measures(weights @ first)["f5"] - measures(weights @ second)["f5"]
    draws = draws[~numpy.isnan(draws)]
    if not len(draws):
        return None
    share = min(float((draws <= 0).mean()), float((draws >= 0).mean()))
    return min(1.0, max(2 * share, 1 / len(draws)))


def rate(part: numpy.ndarray, whole: numpy.ndarray, weights: numpy.ndarray) -> Estimate | None:
    """A ratio of sums over counts (or booleans) per document; None if there is nothing in the whole."""
    drawn = _divide(weights @ part.astype("i8"), weights @ whole.astype("i8"))
    return _estimate(_divide(part.sum(), whole.sum()), drawn)


# --- what stays visible, from the counts of `expose`


def coverage(counts: numpy.ndarray, clean: numpy.ndarray, weights: numpy.ndarray) -> Shares:
    """What a data steward needs to know: documents with gold of which a character is left in clear, gold entities not wholly covered, and
    documents without gold in which something would be hidden. Rates are None where there are no such documents.

    clean (numpy.ndarray): Booleans: documents without any gold entity, whatever labels are counted.
    """
    exposed = counts[:, ENTITIES] - counts[:, COVERED]
    with_pii, incomplete = counts[:, ENTITIES] > 0, exposed > 0
    touched = clean & (counts[:, ALARMS] > 0)
    return {
        "documents_with_pii": int(with_pii.sum()),
        "incompletely_covered": int(incomplete.sum()),
        "entities": int(counts[:, ENTITIES].sum()),
        "exposed_entities": int(exposed.sum()),
        "clean_documents": int(clean.sum()),
        "clean_touched": int(touched.sum()),
        "incomplete_rate": rate(incomplete, with_pii, weights),
        "touched_rate": rate(touched, clean, weights),
    }


def exposure(counts: numpy.ndarray, weights: numpy.ndarray) -> Shares:
    """Shares of characters and entities that are hidden, and false alarms in all documents, those with gold too; None where there is nothing
    to take a share of. `label_blind_recall`: of entities that are wholly hidden, under whatever label; `touched_recall`: in part at least."""
    total = counts.sum(axis=0)
    return {
        "characters": int(total[CHARACTERS]),
        "characters_in_clear": int(total[CHARACTERS] - total[HIDDEN]),
        "false_alarms": int(total[ALARMS]),
        "words": int(total[WORDS]),
        "character_recall": rate(counts[:, HIDDEN], counts[:, CHARACTERS], weights),
        "label_blind_recall": rate(counts[:, COVERED], counts[:, ENTITIES], weights),
        "touched_recall": rate(counts[:, TOUCHED], counts[:, ENTITIES], weights),
        "false_alarms_per_10000_words": rate(counts[:, ALARMS] * 10_000, counts[:, WORDS], weights),
    }


# --- recall by gender and culture of a name, and whether a group differs from the rest (two-tailed Mann-Whitney U)

MALE, FEMALE = "Male", "Female"
CATEGORIES: dict[str, tuple[str, ...]] = {
    "gender": (MALE, FEMALE),
    "culture": ("Europe", "Americas", "Asia", "Africa", "Oceania"),
}


class NameGroup(NamedTuple):
    """gender (str): Male, Female or empty. culture (str): A region of the UN, or empty where nobody knows."""

    gender: str = ""
    culture: str = ""


class NameSource(NamedTuple):
    """gender_of says Male, Female or nothing for a first name, country_of a code of two letters or nothing for a last name."""

    name: str
    gender_of: Callable[[str], str]
    country_of: Callable[[str], str]

    def group(self, text: str) -> NameGroup:
        """Of a person's name as it stands in a text."""
        first, last = first_and_last(text)
        country = self.country_of(last) if last else ""
        return NameGroup(self.gender_of(first) if first else "", cultures().get(country, ""))


class GroupTest(NamedTuple):
    """A group against the rest of its category: names and those found (hits) of each, Mann-Whitney's U and p, recall of the group and its gap."""

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


def significance(p: float) -> str:
    """`***` below .01, `**` below .05, `*` below .1, else `n.s.`, as the paper has it."""
    for level, stars in ((0.01, "***"), (0.05, "**"), (0.1, "*")):
        if p < level:
            return stars
    return "n.s."


def first_and_last(text: str) -> tuple[str, str]:
    """First and last name as nameparser sees them in Title Case; a lone name is a first name."""
    from nameparser import HumanName

    parsed = HumanName(text.strip().title())
    return parsed.first, parsed.last


@cache
def cultures() -> dict[str, str]:
    """Code of a country -> region of the UN, for the countries that names-dataset knows."""
    from ..corpus.people import CULTURES

    return {code: culture for culture, codes in CULTURES.items() for code in codes.split()}


def name_source() -> NameSource:
    """The compact table that ships (most frequent names only)."""
    from ..names.table import name_table

    table, genders = name_table(), {"M": MALE, "F": FEMALE, None: ""}
    return NameSource(
        "table",
        lambda first: genders[table.gender(first)],
        lambda last: (table.countries(last) or ("",))[0],
    )


def found_in_document(gold: Sequence[Entity], predicted: Iterable[Entity]) -> list[bool]:
    """For each gold entity, whether its string was predicted with its label, wherever in the document."""
    given = {(entity.document, entity.label, entity.text) for entity in predicted}
    return [(entity.document, entity.label, entity.text) in given for entity in gold]


def mann_whitney(hits: int, total: int, rest_hits: int, rest_total: int) -> tuple[float, float]:
    """U of the group, and p, two-tailed; NaN where a side is empty.

    On hits (1) and misses (0), normal approximation with ties and continuity, as scipy does by default. RAISES (PiiError): E005 without scipy.
    """
    if not (total and rest_total):
        return float("nan"), float("nan")
    try:
        from scipy.stats import mannwhitneyu
    except ImportError as err:
        raise PiiError(
            Errors.E005, package="scipy", what="the Mann-Whitney test", extra="corpus"
        ) from err
    if hits + rest_hits in (0, total + rest_total):
        return total * rest_total / 2, 1.0  # all found or none: nothing to rank
    group = numpy.repeat([1, 0], [hits, total - hits])
    rest = numpy.repeat([1, 0], [rest_hits, rest_total - rest_hits])
    found = mannwhitneyu(group, rest, alternative="two-sided", method="asymptotic")
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
    documents (Sequence[str]), weights (numpy.ndarray | None): From `resample`, for intervals; none if missing.
    RETURNS (list[GroupTest]): By category, group, system; groups without a name are left out.
    """
    row = {document: i for i, document in enumerate(documents)}
    rows = numpy.asarray([row.get(entity.document, 0) for entity in gold], dtype="i8")
    tests = []
    for category, names in CATEGORIES.items():
        of = numpy.asarray([getattr(group, category) for group in groups], dtype=object)
        for name in names:
            inside, rest = of == name, (of != "") & (of != name)
            for system, hits in found.items() if inside.any() else ():
                hit = numpy.asarray(hits, dtype=bool)
                sides = (inside & hit, inside, rest & hit, rest)
                h, n, rh, rn = (int(side.sum()) for side in sides)
                recall = gap = None
                if weights is not None:
                    counts = [numpy.bincount(rows[side], minlength=len(row)) for side in sides]
                    recall, gap = rate(counts[0], counts[1], weights), gap_of(counts, weights)
                u, p = mann_whitney(h, n, rh, rn)
                tests.append(GroupTest(category, name, system, n, h, rn, rh, u, p, recall, gap))
    return tests


def gap_of(counts: Sequence[numpy.ndarray], weights: numpy.ndarray) -> Estimate | None:
    """Recall of a group less that of the rest, on the same resamples; None where one is empty.

    counts (Sequence[numpy.ndarray]): Per document: found and all of the group, found and all of the
        rest.
    """
    hits, total, rest_hits, rest_total = (count.sum() for count in counts)
    value = _divide(hits, total) - _divide(rest_hits, rest_total)
    hits, total, rest_hits, rest_total = (weights @ count for count in counts)
    return _estimate(value, _divide(hits, total) - _divide(rest_hits, rest_total))
