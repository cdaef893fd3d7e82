"""Can a value that was missed be told from the surrogates around it? Formulae for three strategies. Pure functions.

    told("consistent", 5, 0.05)                     # 0.2262: the detector missed one of five mentions of a value, at least
    expected([1, 1, 2, 5], 0.05)["random"]          # over the repetition counts of a corpus

A value stands n times in a document; the detector misses each mention with probability e (one minus its recall) and without
regard to the others. What an attacker knows is the strategy:

- consistent: a value has one surrogate. A value with a mention that was missed stands there beside its surrogate: the odd one
  out is the true one.
- random: each mention gets a new surrogate. What stands there twice is true.
- markov: each mention keeps the surrogate of the one before with probability `keep`, or gets a new one. What stands there more
  often than the longest run of one surrogate is true.

Definitions: BRATsynthetic (Osborne et al. 2022, arXiv 2210.16125, and the analysis in its repository). Real misses are not
independent: a detector that misses a form of a name misses it each time. So the counts of values that were replaced in part,
taken from the release itself, belong beside these numbers.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import comb

CONSISTENT, RANDOM, MARKOV = "consistent", "random", "markov"
STRATEGIES = (CONSISTENT, RANDOM, MARKOV)
KEEP = 0.5  # BRATsynthetic's default


def binomial(n: int, k: int, e: float) -> float:
    """RETURNS (float): P(k of n), each with probability e."""
    return comb(n, k) * e**k * (1 - e) ** (n - k)


def consistent(n: int, e: float) -> float:
    """One mention or more was missed: `1 - (1 - e)^n` (BRATsynthetic, "consistent").

    n (int): Mentions of the value in the document. e (float): Probability that a mention is missed, 0 to 1.
    RETURNS (float): Probability. A document with one mention counts with e, though nothing stands beside a lone value that it
        could be told from: see `apart`.
    """
    return 1 - (1 - e) ** n


def apart(n: int, e: float) -> float:
    """One mention or more was missed and one or more was replaced: `1 - (1 - e)^n - e^n`; the stricter reading of `consistent`.

    n (int): Mentions. e (float): Probability that a mention is missed.
    RETURNS (float): Probability that value and surrogate stand side by side; 0 for one mention.
    """
    return max(0.0, 1 - (1 - e) ** n - e**n)


def random_new(n: int, e: float) -> float:
    """Two mentions or more were missed: `1 - (1 - e)^n - n e (1 - e)^(n - 1)` (BRATsynthetic, "random").

    n (int): Mentions. e (float): Probability that a mention is missed.
    RETURNS (float): Probability; no two surrogates are taken to be equal by chance.
    """
    return max(0.0, 1 - (1 - e) ** n - n * e * (1 - e) ** (n - 1))


def markov_fixed(n: int, e: float, longest: int) -> float:
    """More mentions were missed than a surrogate ever repeats: `P(Bin(n, e) > longest)`; as BRATsynthetic reports it.

    n (int): Mentions. e (float): Probability that a mention is missed.
    longest (int): Longest run of one surrogate ("maximum surrogate repeat size"), 1 or more.
    RETURNS (float): Probability.
    """
    return sum(binomial(n, k, e) for k in range(longest + 1, n + 1))


def markov(n: int, e: float, keep: float = KEEP) -> float:
    """As `markov_fixed`, over the runs that a chain makes: `sum over m >= 2 of P(m missed) P(longest run of n - m < m)`.

    n (int): Mentions. e (float): Probability that a mention is missed. keep (float): Probability that a surrogate is kept.
    RETURNS (float): Probability; that of `random_new` for keep = 0. One missed mention alone tells nothing: it may be a surrogate.
    """
    return sum(binomial(n, m, e) * shorter_run(n - m, m, keep) for m in range(2, n + 1))


@cache
def shorter_run(n: int, length: int, keep: float) -> float:
    """Probability that no surrogate stands `length` times in a row.

    n (int): Mentions that are replaced. length (int): Of the run, 1 or more. keep (float): Probability that a surrogate is kept.
    RETURNS (float): By the length of the run at hand: it grows with probability `keep`, or begins anew.
    """
    if n < length:
        return 1.0
    if length == 1:
        return 0.0
    runs = [1.0] + [0.0] * (length - 2)  # runs[k]: no run of `length` so far, and the one at hand has k + 1
    for _ in range(n - 1):
        runs = [sum(runs) * (1 - keep), *(p * keep for p in runs[:-1])]
    return sum(runs)


def told(strategy: str, n: int, e: float, *, keep: float = KEEP) -> float:
    """RETURNS (float): Probability that a value is given away. strategy (str): One of `STRATEGIES`; the rest as in `markov`."""
    if strategy == CONSISTENT:
        return consistent(n, e)
    return random_new(n, e) if strategy == RANDOM else markov(n, e, keep)


def simulate(
    strategy: str, n: int, e: float, *, trials: int, seed: int, keep: float = KEEP, side_by_side: bool = False
) -> float:
    """The same by drawing: which mentions are missed, which surrogates the others get, what an attacker then sees.

    strategy (str), n (int), e (float), keep (float): As in `told`. trials (int): Documents. seed (int): Of the draws.
    side_by_side (bool): For "consistent": the stricter reading (`apart`).
    RETURNS (float): Share of the documents in which the value is given away.
    """
    rng = random.Random(seed)
    return sum(_trial(rng, strategy, n, e, keep, side_by_side) for _ in range(trials)) / trials


def _trial(rng: random.Random, strategy: str, n: int, e: float, keep: float, side_by_side: bool) -> bool:
    runs: Counter[int] = Counter()
    missed, current = 0, 0
    for _ in range(n):
        if rng.random() < e:
            missed += 1
            continue
        if strategy == RANDOM or not current or (strategy == MARKOV and rng.random() >= keep):
            current += 1
        runs[current] += 1
    if strategy == CONSISTENT:
        return missed > 0 and (bool(runs) or not side_by_side)
    return missed >= 2 and missed > max(runs.values(), default=0)


def expected(repeats: Sequence[int], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the values of a corpus that are given away.

    repeats (Sequence[int]): How often each value stands in its document. e (float): Probability that a mention is missed.
    keep (float): Of the chain.
    RETURNS (dict[str, float]): By strategy, and "apart" for the stricter reading of consistent; 0 without values.
    """
    counts = Counter(repeats)
    total = max(1, sum(counts.values()))
    found = {name: sum(k * told(name, n, e, keep=keep) for n, k in counts.items()) / total for name in STRATEGIES}
    return found | {"apart": sum(k * apart(n, e) for n, k in counts.items()) / total}


def documents_told(repeats: Mapping[str, Sequence[int]], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the documents in which one value or more is given away: `1 - product of (1 - p)` over the values of each.

    repeats (Mapping[str, Sequence[int]]): How often each value stands, by document. e (float), keep (float): As in `expected`.
    RETURNS (dict[str, float]): By strategy, and "apart"; 0 without documents.
    """
    out = dict.fromkeys((*STRATEGIES, "apart"), 0.0)
    for counts in repeats.values():
        for name in out:
            safe = 1.0
            for n in counts:
                safe *= 1 - (apart(n, e) if name == "apart" else told(name, n, e, keep=keep))
            out[name] += (1 - safe) / len(repeats)
    return out
