"""Does the verifier choose well, or is leaving names out by chance as good? Vetoes at random, as often as the verifier vetoed.

    found = control_report(proposed, documents, views={"names": [NAME_STUDENT]}, strict=0.7)
    found["views"]["names"]["control"]["names"]["f1"]      # mean, range_95, above: share of draws that the verifier is better than

F5 rewards nearly everything that is kept, so that a verifier is judged by F1 and by precision at a fixed recall, and against chance, all on
the same documents, by bag. To veto v of n names at random is to re-add n - v of them at random to a verifier that vetoes every name: one
control. Three ways to draw, each by `draw`:

- `names`: as many names as the verifier kept. `people`: as many people, since it decides per (document, person) and mentions of one fall
  together; its range is the wider one.
- `readded`: the verifier at a strict threshold, to which as many of its vetoed names are re-added at random as the chosen one re-adds.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from .gold import Entity, GoldDocument
from .match import judged, match_bag
from .metrics import N_RESAMPLES, SEED, difference, measures, resample

N_DRAWS = 1000
ALLOWED = 0.01  # how far the verifier's recall may be below that of the detector alone
RECALLS = (0.9, 0.95)
MEASURES = ("precision", "recall", "f1", "f5")


@dataclass(frozen=True, slots=True)
class Proposed:
    """What detector and rules propose, and what the verifier says.

    entity (Entity): With the label that it has if it is kept. score (float | None): Probability, 0 to 1, that a name is a private person's;
    None for what is no name, which nobody vetoes. kept (bool): Whether the verifier keeps it.
    """

    entity: Entity
    score: float | None
    kept: bool


class Bag:
    """Counts by bag (`match_bag`) for many choices among the same names at once.

    gold (Sequence[Entity]), fixed (Sequence[Entity]): Annotated, and predicted in every choice. names (Sequence[Entity]): To choose among.
    labels (Sequence[str]): Labels that count.
    """

    def __init__(self, gold: Sequence[Entity], fixed: Sequence[Entity], names: Sequence[Entity], labels: Sequence[str]) -> None:
        keys = [(e.document, e.label, e.text) for e in names]
        known, there = (Counter((e.document, e.label, e.text) for e in part if e.label in labels) for part in (gold, fixed))
        found, self.key = sorted(set(keys)), numpy.zeros(len(keys), dtype="i8")
        row = {key: i for i, key in enumerate(found)}
        self.key[:] = [row[key] for key in keys]
        # Right ones still to be found.
        self.room = numpy.asarray([max(0, known[key] - there[key]) for key in found], dtype="i8")
        self.support, self.right, self.n_fixed = known.total(), (known & there).total(), there.total()

    def counts(self, kept: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Right, wrong, missed, shape `(n, 3)`. kept (numpy.ndarray): Booleans, shape `(n, n_names)`."""
        right = numpy.full(len(kept), self.right)
        if len(self.key):
            order = numpy.argsort(self.key, kind="stable")
            starts = numpy.flatnonzero(numpy.diff(self.key[order], prepend=-1))
            by_key = numpy.add.reduceat(kept[:, order].astype("i8"), starts, axis=1)
            right = right + numpy.minimum(by_key, self.room).sum(axis=1)
        return numpy.stack([right, self.n_fixed + kept.sum(axis=1) - right, self.support - right], axis=1)

    def best_precision(self, scores: numpy.ndarray, levels: Sequence[float]) -> list[float]:
        """RETURNS (list[float]): Highest precision, 0 to 1, of a threshold on `scores` (one per name) whose recall is at least each level;
        NaN where none reaches it. Names of one score stay or go together."""
        order = numpy.argsort(-scores, kind="stable")
        same = numpy.argsort(self.key[order], kind="stable")  # names of one key together, the surer first
        starts = numpy.flatnonzero(numpy.diff(self.key[order][same], prepend=-1))
        nth = numpy.empty(len(scores), dtype="i8")
        nth[same] = numpy.arange(len(scores)) - numpy.repeat(starts, numpy.diff(starts, append=len(scores)))
        right = self.right + numpy.append(0, numpy.cumsum(nth < self.room[self.key[order]]))
        cut = numpy.append(numpy.diff(scores[order], prepend=numpy.inf) != 0, True)  # so many names kept: 0 to all
        predicted = self.n_fixed + numpy.arange(len(scores) + 1)
        found = measures(numpy.stack([right, predicted - right, self.support - right], axis=1)[cut & (predicted > 0)])
        reached = [found["precision"][found["recall"] >= level - 1e-9] for level in levels]
        return [float(part.max()) if len(part) else numpy.nan for part in reached]


def draw(base: numpy.ndarray, unit: numpy.ndarray, n: int, *, n_draws: int, seed: int) -> numpy.ndarray:
    """Keep some at random.

    base (numpy.ndarray): Booleans: names that every draw keeps, shape `(n_names,)`. unit (numpy.ndarray): Number from 0 of what each name
    falls with, or -1 for those of the base. n (int): How many units are drawn, without replacement. seed (int): The same gives the same.
    RETURNS (numpy.ndarray): Booleans, shape `(n_draws, n_names)`.
    """
    n_units = int(unit.max(initial=-1)) + 1
    ranks = numpy.random.default_rng(seed).random((n_draws, n_units)).argsort(axis=1).argsort(axis=1)
    kept = numpy.concatenate([ranks < n, numpy.zeros((n_draws, 1), dtype=bool)], axis=1)
    return kept[:, unit] | base  # unit -1 is the last column: never drawn


def place(value: float, draws: numpy.ndarray) -> dict[str, Any] | None:
    """Where a value lies among draws.

    value (float): Of the verifier. draws (numpy.ndarray): The same measure by chance, shape `(n_draws,)`.
    RETURNS (dict[str, Any] | None): `mean`, `range_95` of the draws; `above`, the share of draws below the value, ties by half; `p`, one-sided:
        how often chance is as good (1 more in both parts of the ratio). None where there is no value.
    """
    draws = draws[~numpy.isnan(draws)]
    if numpy.isnan(value) or not len(draws):
        return None
    below, ties = int((draws < value - 1e-12).sum()), int((abs(draws - value) <= 1e-12).sum())
    low, high = numpy.quantile(draws, [0.025, 0.975])
    return {
        "mean": round(float(draws.mean()), 4),
        "range_95": [round(float(low), 4), round(float(high), 4)],
        "above": round((below + ties / 2) / len(draws), 4),
        "p": round((1 + len(draws) - below) / (1 + len(draws)), 4),
    }


def control_report(
    proposed: Sequence[Proposed], documents: Sequence[GoldDocument], *, views: Mapping[str, Sequence[str]], strict: float,
    n_draws: int = N_DRAWS, n_resamples: int = N_RESAMPLES, seed: int = SEED,
) -> dict[str, Any]:  # fmt: skip
    """Detector alone, with the verifier, and with vetoes at random.

    proposed (Sequence[Proposed]): Of all documents, in any order. documents (Sequence[GoldDocument]): Gold. views (Mapping[str,
    Sequence[str]]): Sets of labels. strict (float): Threshold, 0 to 1, for `readded`. n_draws (int), n_resamples (int), seed (int): Of
    chance, and of the bootstrap over documents.
    RETURNS (dict[str, Any]): Plain data; scores and shares from 0 to 1.
    """
    masked = {doc.id: doc.masked for doc in documents if doc.masked}
    counted = [p for p in proposed if judged([p.entity], masked)]
    counted.sort(key=lambda p: (p.entity.document, p.entity.start, p.entity.end))
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)
    return {
        "about": {"matching": "bag", "draws": n_draws, "seed": seed, "strict": strict, "allowed": ALLOWED},
        "views": {
            name: _view(counted, documents, labels, strict=strict, n_draws=n_draws, seed=seed, weights=weights)
            for name, labels in views.items()
        },
    }


def _view(
    proposed: Sequence[Proposed], documents: Sequence[GoldDocument], labels: Sequence[str], *, strict: float, n_draws: int, seed: int,
    weights: numpy.ndarray,
) -> dict[str, Any]:  # fmt: skip
    gold = [entity for doc in documents for entity in doc.entities]
    fixed = [p.entity for p in proposed if p.score is None]
    names = [p for p in proposed if p.score is not None and p.entity.label in labels]
    bag = Bag(gold, fixed, [p.entity for p in names], labels)
    kept, scores = numpy.asarray([p.kept for p in names], dtype=bool), numpy.asarray([p.score for p in names], dtype="f8")
    everyone, nobody, mine = numpy.ones(len(names), dtype=bool), numpy.zeros(len(names), dtype=bool), numpy.arange(len(names))
    # Mentions of one person have one probability, to the last digit.
    rows: dict[tuple[str, float | None], int] = {}
    person = numpy.asarray([rows.setdefault((p.entity.document, p.score), len(rows)) for p in names], dtype="i8")
    sure = kept & (scores >= strict)
    pool = numpy.where(sure, -1, numpy.cumsum(~sure) - 1)
    ways = {
        "names": (nobody, mine, int(kept.sum())),
        "people": (nobody, person, len(set(person[kept].tolist()))),
        "readded": (sure, pool, int((kept & ~sure).sum())),
    }
    counts = bag.counts(numpy.stack([everyone, kept, sure]))
    values = measures(counts)
    control: dict[str, Any] = {}
    for way, (base, unit, n) in ways.items():
        chance = measures(bag.counts(draw(base, unit, n, n_draws=n_draws, seed=seed)))
        control[way] = {"of": int(unit.max(initial=-1)) + 1, "drawn": n}
        control[way] |= {m: place(float(values[m][1]), chance[m]) for m in MEASURES}
    recall = float(values["recall"][0])
    levels = [*RECALLS, max(0.0, recall - ALLOWED)]
    shuffled = numpy.random.default_rng(seed).random((n_draws, len(names)))
    chance_at = numpy.asarray([bag.best_precision(row, levels) for row in shuffled])
    at_recall = [
        {"recall": round(level, 4), "precision": _rounded(value), "control": place(value, chance_at[:, i])}
        for i, (level, value) in enumerate(zip(levels, bag.best_precision(scores, levels), strict=True))
    ]
    systems: dict[str, dict[str, Any]] = {}
    for i, (name, chosen) in enumerate({"unverified": everyone, "verified": kept, "strict": sure}.items()):
        systems[name] = {"names": int(chosen.sum())} | dict(zip(("tp", "fp", "fn"), counts[i].tolist(), strict=True))
        systems[name] |= {m: _rounded(values[m][i]) for m in MEASURES}
    ids = [doc.id for doc in documents]
    parts = [fixed + [p.entity for p in names if p.kept], fixed + [p.entity for p in names]]
    tables = [match_bag(gold, part, documents=ids, labels=labels).per_document for part in parts]
    lost = difference(tables[0], tables[1], weights)["recall"]
    check: dict[str, Any] = {name: systems[name]["recall"] for name in ("verified", "unverified")} | {"holds": None}
    if lost is not None:
        check |= {"difference_95": [round(lost.low, 4), round(lost.high, 4)], "holds": bool(lost.value >= -ALLOWED - 1e-9)}
    return {**systems, "control": control, "at_recall": at_recall, "check": check}


def _rounded(value: float) -> float | None:
    return None if numpy.isnan(value) else round(float(value), 4)


# The random-veto control of `veto_control` as rows of a table and as a line, for the report, for Markdown and for the ter

HEAD = ("labels", "system", "names", "P", "R", "F1", "F5")
WAYS = {
    "names": "as many names at random",
    "people": "as many people at random",
    "readded": "strict verifier, names re-added at random",
}
DASH = "-"


def control_rows(control: Mapping[str, Any]) -> list[list[str]]:
    """RETURNS (list[list[str]]): Cells under `HEAD`, per set of labels: without, with the verifier, and by chance: mean, 95 % range, and the
    share of draws that the verifier is above. control (Mapping[str, Any]): From `control_report`."""
    rows = []
    for view, found in control["views"].items():
        for name, shown in (("unverified", "unverified"), ("verified", "verified")):
            rows.append([view, shown, str(found[name]["names"]), *(_number(found[name][m]) for m in MEASURES)])
        for way, shown in WAYS.items():
            drawn = found["control"][way]
            rows.append([view, shown, f"{drawn['drawn']} of {drawn['of']}", *(_place(drawn[m]) for m in MEASURES)])
    return rows


def recall_rows(control: Mapping[str, Any]) -> list[list[str]]:
    """RETURNS (list[list[str]]): Per set of labels: recall, precision of the verifier at it, and of names in a random order."""
    return [
        [view, _number(at["recall"]), _number(at["precision"]), _place(at["control"])]
        for view, found in control["views"].items()
        for at in found["at_recall"]
    ]


RECALL_HEAD = ("labels", "recall, at least", "P of the verifier", "P in a random order")


def check_lines(control: Mapping[str, Any]) -> list[str]:
    """RETURNS (list[str]): Per set of labels, whether the verifier keeps the recall, with the figures."""
    lines = []
    for view, found in control["views"].items():
        check = found["check"]
        if check["holds"] is None:
            continue
        low, high = check["difference_95"]
        lines.append(
            f"{view}: recall of verified not below unverified by more than {control['about']['allowed']:g}: "
            f"{'holds' if check['holds'] else 'does not hold'} ({check['verified']:.4f} against {check['unverified']:.4f}; "
            f"95 % interval of the difference {low:+.4f} to {high:+.4f})"
        )
    return lines


def note(control: Mapping[str, Any]) -> str:
    """RETURNS (str): What the rows by chance show."""
    about = control["about"]
    return (
        f"By chance: mean and 95 % range of {about['draws']} draws, then the share of draws below the verified system, ties by half. "
        f"The strict verifier takes {about['strict']:g} for its threshold."
    )


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def _place(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return DASH
    low, high = found["range_95"]
    return f"{found['mean']:.3f} ({low:.3f} to {high:.3f}); {found['above']:.3f}"
