"""Do probabilities mean what they say: reliability by bins, expected calibration error, Brier score. Pure functions.

    curve = reliability([0.9, 0.8, 0.1], [True, True, False])
    curve["bins"][0]["mean_score"], curve["ece"], curve["brier"]

Of ten people who are private with a probability of .7, seven should be. Expected calibration error: Naeini et al. 2015 (AAAI), here over
bins of equal width, weighted by their size; intervals of the shares: Wilson.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy

_Z = 1.96


def wilson(successes: int, n: int) -> tuple[float, float]:
    """RETURNS (tuple[float, float]): The 95 % interval of a share, by Wilson's score; (0, 1) for n = 0."""
    if not n:
        return 0.0, 1.0
    p, square = successes / n, _Z * _Z
    middle = (p + square / (2 * n)) / (1 + square / n)
    half = _Z * math.sqrt(p * (1 - p) / n + square / (4 * n * n)) / (1 + square / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def reliability(scores: Sequence[float], outcomes: Sequence[bool], *, n_bins: int = 10) -> dict[str, Any]:
    """The reliability curve.

    scores (Sequence[float]): Probabilities, 0 to 1. outcomes (Sequence[bool]): What was so. n_bins (int): Of equal width.
    RETURNS (dict[str, Any]): `n`, `share` (of what was so), `mean_score`, `ece`, `brier`, and `bins` with `low`, `high`, `n`, `mean_score`,
        `share`, `share_95`; empty bins are left out. `ece` and `brier` are None without any score.
    """
    p, y = numpy.asarray(scores, dtype="f8"), numpy.asarray(outcomes, dtype="f8")
    at = numpy.minimum((p * n_bins).astype(int), n_bins - 1)
    bins: list[dict[str, Any]] = []
    for n in range(n_bins):
        inside = at == n
        size = int(inside.sum())
        if size:
            low, high = wilson(int(y[inside].sum()), size)
            bins.append(
                {
                    "low": n / n_bins,
                    "high": (n + 1) / n_bins,
                    "n": size,
                    "mean_score": round(float(p[inside].mean()), 4),
                    "share": round(float(y[inside].mean()), 4),
                    "share_95": [round(low, 4), round(high, 4)],
                }
            )
    if not len(p):
        return {"n": 0, "share": None, "mean_score": None, "ece": None, "brier": None, "bins": []}
    ece = sum(b["n"] * abs(b["mean_score"] - b["share"]) for b in bins) / len(p)
    return {
        "n": len(p),
        "share": round(float(y.mean()), 4),
        "mean_score": round(float(p.mean()), 4),
        "ece": round(float(ece), 4),
        "brier": round(float(((p - y) ** 2).mean()), 4),
        "bins": bins,
    }
