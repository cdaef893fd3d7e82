"""What a review says of a release, and how many documents a review must draw.

    leak_estimate(reviewed=300, missed_in=0, documents=5000)["documents"]["upper_95"]   # 0.0096
    documents_to_review(0.01, documents=5000)           # 290 drawn at random, none with a miss
    sample_records(60, documents=5000, skipped=[17], seed=1)

An estimate holds for documents that were drawn at random, not for those that looked risky.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ..errors import Errors, PiiError

BOUNDS = (0.05, 0.02, 0.01, 0.005, 0.001)
_ERROR, _ROUND = 0.05, 1e-12


def hypergeometric_cdf(x: int, bad: int, drawn: int, documents: int) -> float:
    """RETURNS (float): Chance of at most `x` bad documents among those drawn, without putting back."""
    if x >= min(bad, drawn):
        return 1.0
    good, total = documents - bad, 0.0
    for i in range(max(0, drawn - good), x + 1):
        ways = _log_choose(bad, i) + _log_choose(good, drawn - i)
        total += math.exp(ways - _log_choose(documents, drawn))
    return min(1.0, total)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def bad_documents(found: int, drawn: int, documents: int, *, error: float) -> tuple[int, int]:
    """How many of all documents are bad, if `found` of those drawn were: exact, by turning the
    hypergeometric test around. error (float): On each side. RETURNS (tuple): Fewest and most."""

    def is_enough(bad: int) -> bool:
        return not found or 1 - hypergeometric_cdf(found - 1, bad, drawn, documents) > error

    def is_too_many(bad: int) -> bool:
        return hypergeometric_cdf(found, bad, drawn, documents) <= error + _ROUND

    possible = range(found, documents - (drawn - found) + 1)
    least = bisect_left(possible, True, key=is_enough)
    over = bisect_left(possible, True, key=is_too_many)
    return possible[least], possible[over - 1]


def clopper_pearson(found: int, n: int, *, error: float) -> tuple[float, float]:
    """RETURNS (tuple): Bounds of a share (Clopper and Pearson 1934); `error` on each side."""
    try:
        from scipy.stats import beta
    except ImportError as err:
        needs = {"package": "scipy", "what": "an estimate per span", "extra": "corpus"}
        raise PiiError(Errors.E005, **needs) from err
    low = beta.ppf(error, found, n - found + 1) if found else 0.0
    return float(low), float(beta.ppf(1 - error, found + 1, n - found) if found < n else 1.0)


def leak_estimate(
    *,
    reviewed: int,
    missed_in: int,
    documents: int,
    spans_missed: int | None = None,
    spans_there: int | None = None,
) -> dict[str, Any]:
    """What a review says of the whole release.

    reviewed (int): Documents that were read, drawn at random.
    missed_in (int): Of them, those with something personal left in clear.
    documents (int): Documents of the release.
    spans_missed, spans_there (int | None): In those read: personal spans left in clear, and all.
    RETURNS (dict): Per document and, if known, per span: `rate`, `interval_95` (2.5 % on each
        side), `upper_95` (5 % above).
    RAISES (PiiError): E586 for numbers that cannot be.
    """
    missed, there = (spans_missed or 0), (spans_there or 0)
    one_lacks = (spans_missed is None) != (spans_there is None)
    fewer = spans_missed is not None and not missed_in <= missed <= there
    if one_lacks or fewer or not (0 <= missed_in <= reviewed <= documents and reviewed):
        numbers = {"reviewed": reviewed, "missed": missed_in, "documents": documents}
        raise PiiError(Errors.E586, **numbers)
    least, most = bad_documents(missed_in, reviewed, documents, error=_ERROR / 2)
    upper = bad_documents(missed_in, reviewed, documents, error=_ERROR)[1]
    found: dict[str, Any] = {
        "documents": {
            "reviewed": reviewed,
            "with_a_miss": missed_in,
            "of": documents,
            "rate": missed_in / reviewed,
            "interval_95": [least / documents, most / documents],
            "upper_95": upper / documents,
            "at_most_in_release": upper,
            "method": "hypergeometric, exact, documents drawn without putting back",
        }
    }
    if there:
        found["spans"] = {
            "there": there,
            "missed": missed,
            "rate": missed / there,
            "interval_95": list(clopper_pearson(missed, there, error=_ERROR / 2)),
            "upper_95": clopper_pearson(missed, there, error=_ERROR)[1],
            "method": "binomial, exact (Clopper-Pearson), as if spans of one document were "
            "independent: truly it is wider",
        }
    return found


def documents_to_review(bound: float, *, documents: int, misses: int = 0) -> int | None:
    """RETURNS (int | None): How many documents to draw, so that with no more than `misses` bad ones
    among them at most the share `bound` of all is bad, at 95 %; None if no review can show that.
    RAISES (PiiError): E519, if the bound is not above 0 and below 1."""
    if not 0 < bound < 1:
        allowed = "a share above 0 and below 1, such as 0.01"
        raise PiiError(Errors.E519, value=bound, what="bound", allowed=allowed)
    bad = int(bound * documents + 1e-9) + 1
    if misses >= bad:
        return None
    return bisect_left(
        range(documents),
        True,
        key=lambda n: hypergeometric_cdf(misses, bad, n, documents) <= _ERROR + _ROUND,
    )


def review_plan(bounds: Sequence[float], *, documents: int, spans: int) -> list[dict[str, Any]]:
    """RETURNS (list[dict]): For each bound how many documents, or spans, must be seen."""
    rows = []
    for bound in bounds if documents else ():
        row: dict[str, Any] = {"bound": bound}
        for misses, name in enumerate(("documents_if_none", "documents_if_one")):
            row[name] = documents_to_review(bound, documents=documents, misses=misses)
        row["spans"] = see = math.ceil(math.log(_ERROR) / math.log1p(-bound))
        row["documents_for_spans"] = math.ceil(see * documents / spans) if see <= spans else None
        rows.append(row)
    return rows


def sample_records(
    n: int, *, documents: int, skipped: Sequence[int], n_skipped: int = 0, seed: int = 0
) -> list[int]:
    """RETURNS (list[int]): Numbers of records drawn among those released; by seed.

    skipped (Sequence[int]): Numbers of records left out.
    n_skipped (int): How many there are, listed or not.
    RAISES (PiiError): E588, if there are fewer documents, or not all left out are known.
    """
    left_out = set(skipped)
    if not 0 < n <= documents or n_skipped > len(left_out):
        numbers = {"documents": documents, "skipped": n_skipped, "listed": len(left_out)}
        raise PiiError(Errors.E588, n=n, **numbers)
    chance, drawn = random.Random(seed), set[int]()
    while len(drawn) < n:
        number = chance.randrange(documents + len(left_out)) + 1
        drawn |= {number} - left_out
    return sorted(drawn)
