"""The numbers of a release: what an attack finds beside chance, and what repeated values give away. No text comes out.

report = release_report(documents, seed=1)
report["attacks"]["reader"]["precision"], report["attacks"]["reader"]["chance_precision"]
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy

from ..errors import Errors, PiiError
from .metrics import LEVEL, N_RESAMPLES, SEED, Estimate, resample, score
from .release import ATTACKERS, Attacked, ReleasedDocument, attack
from .release_align import LEAK, SURROGATE, align
from .release_arithmetic import KEEP, STRATEGIES, apart, documents_told, expected, told
from .report import plain


def attack_report(attacked: Sequence[Attacked], weights: numpy.ndarray) -> dict[str, Any]:
    """Precision and recall of finding leaks, against chance.

    attacked (Sequence[Attacked]): One per document. weights (numpy.ndarray): From `metrics.resample`.
    RETURNS (dict[str, Any]): Counts; precision and recall with intervals where there are leaks; what chance gives for as many
        suspects; `lift`, precision over that of chance, with its interval; `p_value`, one-sided, hypergeometric: so many leaks or more
        among suspects that were drawn by chance; `auc`: how often the tagger is less sure of a leak than of a surrogate (0.5 is
        chance), with its interval.
    """
    counts = numpy.asarray([(a.found, a.wrong, a.passed) for a in attacked])
    population = numpy.asarray([a.population for a in attacked])
    found, wrong, passed = (int(n) for n in counts.sum(axis=0))
    leaks, suspects, total = found + passed, found + wrong, int(population.sum())
    out: dict[str, Any] = {"leaks": leaks, "suspects": suspects, "found": found, "false_alarms": wrong, "drawn_from": total}
    result = plain(score(counts, weights))
    out |= {name: value for name, value in result.items() if name.startswith(("precision", "recall"))}
    out["chance_precision"] = round(leaks / total, 4) if total else None
    out["chance_recall"] = round(suspects / total, 4) if total else None
    draws = weights @ numpy.column_stack([counts, population])
    with numpy.errstate(divide="ignore", invalid="ignore"):
        lifts = draws[:, 0] * draws[:, 3] / ((draws[:, 0] + draws[:, 1]) * (draws[:, 0] + draws[:, 2]))
    known = lifts[numpy.isfinite(lifts)]
    if leaks and suspects and len(known):
        low, high = numpy.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        out |= plain({"lift": Estimate(found * total / (suspects * leaks), float(low), float(high))})
    out["p_value"] = float(f"{tail(total, leaks, suspects, found):.3g}")
    auc = _auc(attacked, weights)
    return out | (plain({"auc": auc}) if auc is not None else {})


def _auc(attacked: Sequence[Attacked], weights: numpy.ndarray) -> Estimate | None:
    """How often the tagger is less sure of a leak than of a surrogate; a tie is one half."""
    scores = [(i, p, leak) for i, a in enumerate(attacked) for p, leak in a.scores]
    rows = [numpy.asarray([i for i, _, leak in scores if leak is kind], dtype="i8") for kind in (True, False)]
    unsure, sure = (numpy.asarray([p for _, p, leak in scores if leak is kind]) for kind in (True, False))
    if not len(unsure) or not len(sure):
        return None
    less = (unsure[:, None] < sure[None, :]) + (unsure[:, None] == sure[None, :]) / 2
    leaks, surrogates = weights[:, rows[0]].astype("f8"), weights[:, rows[1]].astype("f8")
    pairs = leaks.sum(axis=1) * surrogates.sum(axis=1)
    drawn = ((leaks @ less) * surrogates).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
    low, high = numpy.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(drawn) else (less.mean(), less.mean())
    return Estimate(float(less.mean()), float(low), float(high))


def tail(total: int, marked: int, drawn: int, least: int) -> float:
    """RETURNS (float): Probability of `least` or more marked ones among `drawn` of `total`, `marked` of which are marked."""
    most = min(marked, drawn)
    ways = sum(comb(marked, k) * comb(total - marked, drawn - k) for k in range(max(least, 0), most + 1) if drawn - k >= 0)
    return min(1.0, ways / comb(total, drawn)) if least > 0 else 1.0


def value_counts(document: ReleasedDocument) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): For each value that had to be hidden: how often it stands there, how often in clear."""
    offsets_of_leaks = [(item.start, item.end) for item in document.of_kind(LEAK)]
    mentions: Counter[tuple[str, str]] = Counter()
    clear: Counter[tuple[str, str]] = Counter()
    offsets = align(document.pair)
    for start, end, label in document.hidden:
        key = (label, " ".join(document.pair.original[start:end].casefold().split()))
        mentions[key] += 1
        s, e = offsets.span_to_new(start, end)
        clear[key] += any(low < e and high > s for low, high in offsets_of_leaks)
    return [(n, clear[key]) for key, n in mentions.items()]


def release_report(
    documents: Sequence[ReleasedDocument],
    *,
    recall: float | None = None,
    keep: float = KEEP,
    attackers: Sequence[str] = ATTACKERS,
    seed: int = SEED,
    n_resamples: int = N_RESAMPLES,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """All numbers on a release.

    documents (Sequence[ReleasedDocument]): Of the release. recall (float | None): Of the detector, 0 to 1, for the arithmetic; None
        for what the release itself shows. keep (float): Of the Markov chain, 0 to 1. attackers (Sequence[str]): Of `ATTACKERS`.
    seed (int): Of halves, tagger and bootstrap. n_resamples (int): Of the bootstrap.
    progress (Callable[[], None]): Called after each half of each attack.
    RETURNS (dict[str, Any]): Plain data, without a text.
    RAISES (PiiError): E772 and E773.
    """
    for name, value in (("recall", recall), ("keep", keep)):
        if value is not None and not 0 <= value <= 1:
            raise PiiError(Errors.E773, name=name, value=value)
    values = {doc.pair.id: value_counts(doc) for doc in documents}
    mentions = sum(n for found in values.values() for n, _ in found)
    clear = sum(n for found in values.values() for _, n in found)
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed) if documents else numpy.zeros((0, 0))
    items = [item for doc in documents for item in doc.items]
    with_gold = all(doc.gold is not None for doc in documents)
    report: dict[str, Any] = {
        "documents": len(documents),
        "words": sum(len(doc.pair.released.split()) for doc in documents),
        "leaks_known_from": "gold" if with_gold else "values that were replaced elsewhere in their document: a lower bound",
        "surrogates_known_from": "spans"
        if all(d.pair.surrogates is not None for d in documents)
        else "comparison with the original",
        "surrogates": sum(item.kind == SURROGATE for item in items),
        "leaks": sum(item.kind == LEAK for item in items),
        "leaks_in_part": sum(item.partial for item in items),
        "leaks_by_label": dict(sorted(Counter(item.label or "?" for item in items if item.kind == LEAK).items())),
        "mentions": mentions,
        "mentions_with_a_leak": clear,
        "documents_with_a_leak": sum(bool(doc.of_kind(LEAK)) for doc in documents),
        "seed": seed,
        "tagger": "logistic regression over words and their surroundings (scikit-learn)",
        "attacks": {},
    }
    for attacker in attackers:
        done = attack(documents, attacker, seed=seed, progress=progress)
        report["attacks"][attacker] = attack_report(done, weights)
    missed = 1 - recall if recall is not None else (clear / mentions if mentions else 0.0)
    source = "given" if recall is not None else "the release"
    return report | {"arithmetic": arithmetic_report(values, missed, keep=keep, source=source)}


def arithmetic_report(values: dict[str, list[tuple[int, int]]], missed: float, *, keep: float, source: str) -> dict[str, Any]:
    """The leak arithmetic for a corpus.

    values (dict[str, list[tuple[int, int]]]): By document, for each value how often it stands there and how often in clear.
    missed (float): Probability that a mention is missed. keep (float): Of the chain. source (str): Where `missed` comes from.
    RETURNS (dict[str, Any]): Repetition counts; shares of values and of documents that are given away, by strategy; a row per count;
        and what was observed: values replaced in part, and values that were missed each time.
    """
    counts = Counter(n for found in values.values() for n, _ in found)
    flat = [n for n, k in counts.items() for _ in range(k)]
    by_document = {ident: [n for n, _ in found] for ident, found in values.items() if found}
    in_part = sum(0 < clear < n for found in values.values() for n, clear in found)
    wholly = sum(clear == n for found in values.values() for n, clear in found)
    return {
        "miss_rate": round(missed, 4),
        "miss_rate_from": source,
        "keep": keep,
        "values": len(flat),
        "values_that_stand_once": counts[1],
        "documents_with_values": len(by_document),
        "share_of_values": {name: round(value, 4) for name, value in expected(flat, missed, keep=keep).items()},
        "share_of_documents": {name: round(value, 4) for name, value in documents_told(by_document, missed, keep=keep).items()},
        "by_repetition": [
            {"n": n, "values": k}
            | {name: round(told(name, n, missed, keep=keep), 4) for name in STRATEGIES}
            | {"apart": round(apart(n, missed), 4)}
            for n, k in sorted(counts.items())
        ],
        "observed": {
            "values_in_part_in_clear": in_part,
            "values_wholly_in_clear": wholly,
            "documents_with_a_value_in_part": sum(any(0 < c < n for n, c in found) for found in values.values()),
        },
    }
