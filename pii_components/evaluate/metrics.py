"""Precision, recall, F1, F5 and their intervals, from counts. Pure functions; numpy only.

    weights = resample(n_documents, seed=1)                 # (1000, n_documents)
    score(table.per_document, weights).f5                   # Estimate(value=0.9377, low=0.926, high=0.948)

Intervals are percentile bootstraps over documents: entities of one essay stand or fall together. A resample is a
vector of how often each document was drawn, so that all resamples are one matrix product. With the same weights two
systems are compared in pairs (`difference`).
"""

from dataclasses import dataclass

import numpy

from .matching import FN, FP, TP, CoverTable

N_RESAMPLES = 1000
SEED = 20240117  # any fixed number; the same for every system, so that differences are paired
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval.

    value (float): As measured. low (float), high (float): Bounds of the interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """Scores over some documents and labels.

    tp (int), fp (int), fn (int): True positives, false positives, false negatives.
    precision, recall, f1, f5 (Estimate | None): None where no gold entity stands behind them: the counts are what
    can be said.
    """

    tp: int
    fp: int
    fn: int
    precision: Estimate | None = None
    recall: Estimate | None = None
    f1: Estimate | None = None
    f5: Estimate | None = None

    @property
    def support(self) -> int:
        """RETURNS (int): Number of gold entities."""
        return self.tp + self.fn


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a data steward needs to know.

    documents_with_pii (int): Documents with gold entities. incompletely_covered (int): Those with a character of one
    left in clear.
    exposed_entities (int): Gold entities not wholly covered. entities (int): Gold entities.
    clean_documents (int): Documents without gold entities. clean_touched (int): Those in which something would be
    hidden.
    incomplete_rate, touched_rate (Estimate | None): Shares; None where there are no such documents.
    """

    documents_with_pii: int
    incompletely_covered: int
    entities: int
    exposed_entities: int
    clean_documents: int
    clean_touched: int
    incomplete_rate: Estimate | None = None
    touched_rate: Estimate | None = None


def f_beta(tp: numpy.ndarray, fp: numpy.ndarray, fn: numpy.ndarray, beta: float) -> numpy.ndarray:
    """F-beta from counts: `(1 + b2) tp / ((1 + b2) tp + b2 fn + fp)`, with `b2 = beta * beta`.

    It equals `(1 + b2) P R / (b2 P + R)` (van Rijsbergen 1979), and has a value where P has none.

    tp, fp, fn (numpy.ndarray): Counts of any one shape. beta (float): 5 weighs a miss as 25 false alarms.
    RETURNS (numpy.ndarray): Values of the same shape; NaN where there is neither gold nor a prediction.
    """
    b2 = beta * beta
    return _divide((1 + b2) * tp, (1 + b2) * tp + b2 * fn + fp)


def _divide(upper: numpy.ndarray, lower: numpy.ndarray) -> numpy.ndarray:
    upper, lower = numpy.broadcast_arrays(numpy.asarray(upper, dtype="f8"), numpy.asarray(lower, dtype="f8"))
    return numpy.divide(upper, lower, out=numpy.full(upper.shape, numpy.nan), where=lower > 0)


def measures(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """Precision, recall, F1 and F5.

    counts (numpy.ndarray): True positives, false positives, false negatives in the last axis, shape `(..., 3)`.
    RETURNS (dict[str, numpy.ndarray]): Values of shape `(...)`. Precision is NaN where nothing was predicted.
    """
    tp, fp, fn = counts[..., TP], counts[..., FP], counts[..., FN]
    return {
        "precision": _divide(tp, tp + fp),
        "recall": _divide(tp, tp + fn),
        "f1": f_beta(tp, fp, fn, 1),
        "f5": f_beta(tp, fp, fn, 5),
    }


def resample(n_documents: int, *, n_resamples: int = N_RESAMPLES, seed: int = SEED) -> numpy.ndarray:
    """How often each document is drawn in each resample.

    n_documents (int): Number of documents, 1 or more. n_resamples (int): Number of resamples. seed (int): The same
    seed gives the same draws.
    RETURNS (numpy.ndarray): Shape `(n_resamples, n_documents)`; every row sums to `n_documents`.
    """
    rng = numpy.random.default_rng(seed)
    return rng.multinomial(n_documents, numpy.full(n_documents, 1 / n_documents), size=n_resamples)


def _estimate(value: numpy.ndarray, draws: numpy.ndarray) -> Estimate | None:
    """The interval's bounds; resamples without any gold entity say nothing and are passed over."""
    if numpy.isnan(value):
        return None
    known = draws[~numpy.isnan(draws)]
    if not len(known):
        return Estimate(float(value), float(value), float(value))
    low, high = numpy.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(value), float(low), float(high))


def score(per_document: numpy.ndarray, weights: numpy.ndarray) -> Score:
    """Scores of summed counts, with intervals.

    per_document (numpy.ndarray): Counts, shape `(n_documents, 3)`.
    weights (numpy.ndarray): From `resample`, shape `(n_resamples, n_documents)`.
    RETURNS (Score): Without values, only counts, if there is no gold entity.
    """
    total = per_document.sum(axis=0)
    tp, fp, fn = (int(n) for n in total)
    if tp + fn == 0:
        return Score(tp, fp, fn)
    draws = measures(_with_support(weights @ per_document))
    values = measures(total)
    return Score(tp, fp, fn, **{name: _estimate(values[name], draws[name]) for name in values})


def _with_support(draws: numpy.ndarray) -> numpy.ndarray:
    kept = draws[draws[:, TP] + draws[:, FN] > 0]
    return kept if len(kept) else draws


def difference(first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray) -> dict[str, Estimate | None]:
    """How much better the first system is than the second, document by document.

    first, second (numpy.ndarray): Counts of the same documents, shape `(n_documents, 3)`. weights (numpy.ndarray):
    From `resample`.
    RETURNS (dict[str, Estimate | None]): Difference of precision, recall, f1 and f5; None where one of the two has
    no value.
    """
    values = [measures(counts.sum(axis=0)) for counts in (first, second)]
    draws = [measures(weights @ counts) for counts in (first, second)]
    return {name: _estimate(values[0][name] - values[1][name], draws[0][name] - draws[1][name]) for name in values[0]}


def paired_p(first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray, *, measure: str = "f5") -> float | None:
    """How likely a difference as far from nothing is, if there were none: paired bootstrap over documents, two-sided.

    Twice the share of resamples in which the difference has the other sign or none (Efron and Tibshirani 1993, chapter 16), and at
    least one resample's worth.

    first, second (numpy.ndarray): As for `difference`. measure (str): Name of a measure.
    RETURNS (float | None): From 0 to 1; None where one of the two has no value.
    """
    draws = measures(weights @ first)[measure] - measures(weights @ second)[measure]
    draws = draws[~numpy.isnan(draws)]
    if not len(draws):
        return None
    share = min(float((draws <= 0).mean()), float((draws >= 0).mean()))
    return min(1.0, max(2 * share, 1 / len(draws)))


def coverage(table: CoverTable, clean: numpy.ndarray, weights: numpy.ndarray) -> Coverage:
    """Documents left with something in clear, and clean documents touched.

    table (CoverTable): Counts per document.
    clean (numpy.ndarray): Booleans: documents without any gold entity, whatever labels the table counts.
    weights (numpy.ndarray): From `resample`.
    RETURNS (Coverage): Counts and shares.
    """
    with_pii = table.entities > 0
    incomplete, touched = table.exposed > 0, clean & (table.predicted > 0)
    return Coverage(
        documents_with_pii=int(with_pii.sum()),
        incompletely_covered=int(incomplete.sum()),
        entities=int(table.entities.sum()),
        exposed_entities=int(table.exposed.sum()),
        clean_documents=int(clean.sum()),
        clean_touched=int(touched.sum()),
        incomplete_rate=rate(incomplete, with_pii, weights),
        touched_rate=rate(touched, clean, weights),
    )


def rate(part: numpy.ndarray, whole: numpy.ndarray, weights: numpy.ndarray) -> Estimate | None:
    """A ratio of sums over documents, with its interval.

    part, whole (numpy.ndarray): Counts (or booleans) per document. weights (numpy.ndarray): From `resample`.
    RETURNS (Estimate | None): None if there is nothing in the whole.
    """
    return _estimate(_divide(part.sum(), whole.sum()), _divide(weights @ part.astype("i8"), weights @ whole.astype("i8")))
