"""Does the verifier choose well, or is leaving names out by chance as good? Vetoes at random, as often as the verifier vetoed.

    python -m scripts.veto assets/crapii/essays_sample.jsonl training/crossval/proposed.json --into metrics/crossval.json

F5 rewards nearly everything that is kept, so that a verifier is judged by F1 and by precision at a fixed recall, and against chance, all on
the same documents, by bag. To veto v of n names at random is to re-add n - v of them at random to a verifier that vetoes every name: one
control. Three ways to draw, each by `draw`:

- `names`: as many names as the verifier kept. `people`: as many people, since it decides per (document, person) and mentions of one fall
  together; its range is the wider one.
- `readded`: the verifier at a strict threshold, to which as many of its vetoed names are re-added at random as the chosen one re-adds.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from pii_components.cli.common import guard
from pii_components.evaluate.crossval import Proposed
from pii_components.evaluate.gold import CRAPII_LABELS, FOUR_LABELS, Entity, GoldDocument, masks, read_gold
from pii_components.evaluate.match import judged, match_bag
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, difference, measures, resample
from pii_components.evaluate.report import write_report
from pii_components.evaluate.systems import entity_of
from pii_components.evaluate.tables import MEASURES, control_lines
from pii_components.labels import NAME_STUDENT

N_DRAWS = 1000
ALLOWED = 0.01  # how far the verifier's recall may be below that of the detector alone
RECALLS = (0.9, 0.95)
VIEWS = {"names": (NAME_STUDENT,), "all": CRAPII_LABELS, "four": FOUR_LABELS}


def veto(
    gold: Annotated[Path, typer.Argument(help="Labelled essays that were cross-validated.")],
    proposed: Annotated[Path, typer.Argument(help="proposed.json of `pii-edu evaluate crossval`.")],
    into: Annotated[Path | None, typer.Option(help="Metrics file of the same run, which gets the control.")] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")] = N_RESAMPLES,
    seed: Annotated[int, typer.Option(help="Of chance and of the bootstrap.")] = SEED,
) -> None:
    """Compare the verifier with vetoes at random, and print it as Markdown (later again by: pii-edu evaluate table FILE --control)."""
    with guard():
        documents = read_gold(gold)
        by_id = {doc.id: doc for doc in documents}
        stored = json.loads(proposed.read_text("utf8"))
        rows = [Proposed(entity_of(by_id[row[0]], *row[1:4]), *row[4:]) for row in stored["proposed"]]
        control = control_report(rows, documents, strict=stored["strict"], n_resamples=resamples, seed=seed)
        if into is not None:
            write_report(json.loads(into.read_text("utf8")) | {"control": control}, into)
        print("\n".join(control_lines(control)))


class Bag:
    """Counts by bag (`match_bag`) for many choices among the same names at once; `fixed` is predicted in every choice."""

    def __init__(self, gold: Sequence[Entity], fixed: Sequence[Entity], names: Sequence[Entity], labels: Sequence[str]) -> None:
        keys = [(e.document, e.label, e.text) for e in names]
        known, there = (Counter((e.document, e.label, e.text) for e in part if e.label in labels) for part in (gold, fixed))
        row = {key: i for i, key in enumerate(sorted(set(keys)))}
        self.key = numpy.asarray([row[key] for key in keys], dtype="i8")
        self.room = numpy.asarray([max(0, known[key] - there[key]) for key in row], dtype="i8")  # right ones still to be found
        self.support, self.right, self.n_fixed = known.total(), (known & there).total(), there.total()

    def counts(self, kept: numpy.ndarray) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Right, wrong, missed, shape `(n, 3)`. kept (numpy.ndarray): Booleans, shape `(n, n_names)`."""
        right = numpy.full(len(kept), self.right)
        if len(self.key):
            order = numpy.argsort(self.key, kind="stable")
            starts = numpy.flatnonzero(numpy.diff(self.key[order], prepend=-1))
            right = right + numpy.minimum(numpy.add.reduceat(kept[:, order].astype("i8"), starts, axis=1), self.room).sum(
                axis=1
            )
        return numpy.stack([right, self.n_fixed + kept.sum(axis=1) - right, self.support - right], axis=1)

    def best_precision(self, scores: numpy.ndarray, levels: Sequence[float]) -> list[float]:
        """RETURNS (list[float]): Highest precision of a threshold on `scores` (one per name) whose recall is at least each level; NaN where
        none reaches it. Names of one score stay or go together."""
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
    """RETURNS (numpy.ndarray): Booleans `(n_draws, n_names)`: names of the base, and those of n units drawn at random without replacement.

    unit (numpy.ndarray): Number from 0 of what each name falls with, or -1 for those of the base.
    """
    n_units = int(unit.max(initial=-1)) + 1
    ranks = numpy.random.default_rng(seed).random((n_draws, n_units)).argsort(axis=1).argsort(axis=1)
    kept = numpy.concatenate([ranks < n, numpy.zeros((n_draws, 1), dtype=bool)], axis=1)
    return kept[:, unit] | base  # unit -1 is the last column: never drawn


def place(value: float, draws: numpy.ndarray) -> dict[str, Any] | None:
    """RETURNS (dict[str, Any] | None): Mean and `range_95` of the draws; `above`, the share of draws below the verifier's value, ties by half;
    `p`, one-sided: how often chance is as good (1 more in both parts of the ratio). None where there is no value."""
    draws = draws[~numpy.isnan(draws)]
    if numpy.isnan(value) or not len(draws):
        return None
    below, ties = int((draws < value - 1e-12).sum()), int((abs(draws - value) <= 1e-12).sum())
    bounds = [round(float(bound), 4) for bound in numpy.quantile(draws, [0.025, 0.975])]
    above, p = (below + ties / 2) / len(draws), (1 + len(draws) - below) / (1 + len(draws))
    return {"mean": round(float(draws.mean()), 4), "range_95": bounds, "above": round(above, 4), "p": round(p, 4)}


def control_report(
    proposed: Sequence[Proposed], documents: Sequence[GoldDocument], *, views: Mapping[str, Sequence[str]] = VIEWS, strict: float,
    n_draws: int = N_DRAWS, n_resamples: int = N_RESAMPLES, seed: int = SEED,
) -> dict[str, Any]:  # fmt: skip
    """RETURNS (dict[str, Any]): Detector alone, with the verifier, and with vetoes at random, by set of labels; from 0 to 1.

    proposed (Sequence[Proposed]): Of all documents, in any order. strict (float): Threshold, 0 to 1, for `readded`.
    """
    masked = masks(documents)
    counted = [p for p in proposed if judged([p.entity], masked)]
    counted.sort(key=lambda p: (p.entity.document, p.entity.start, p.entity.end))
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)
    about = {"matching": "bag", "draws": n_draws, "seed": seed, "strict": strict, "allowed": ALLOWED}
    found = {name: _view(counted, documents, labels, strict, n_draws, seed, weights) for name, labels in views.items()}
    return {"about": about, "views": found}


def _view(
    proposed: Sequence[Proposed], documents: Sequence[GoldDocument], labels: Sequence[str], strict: float, n_draws: int, seed: int,
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
    ways = {
        "names": (nobody, mine, int(kept.sum())),
        "people": (nobody, person, len(set(person[kept].tolist()))),
        "readded": (sure, numpy.where(sure, -1, numpy.cumsum(~sure) - 1), int((kept & ~sure).sum())),
    }
    counts = bag.counts(numpy.stack([everyone, kept, sure]))
    values = measures(counts)
    control: dict[str, Any] = {}
    for way, (base, unit, n) in ways.items():
        chance = measures(bag.counts(draw(base, unit, n, n_draws=n_draws, seed=seed)))
        control[way] = {"of": int(unit.max(initial=-1)) + 1, "drawn": n} | {
            m: place(float(values[m][1]), chance[m]) for m in MEASURES
        }
    levels = [*RECALLS, max(0.0, float(values["recall"][0]) - ALLOWED)]
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
    lost = difference(*(match_bag(gold, part, documents=ids, labels=labels).per_document for part in parts), weights)["recall"]
    check: dict[str, Any] = {name: systems[name]["recall"] for name in ("verified", "unverified")} | {"holds": None}
    if lost is not None:
        check |= {"difference_95": [round(lost.low, 4), round(lost.high, 4)], "holds": bool(lost.value >= -ALLOWED - 1e-9)}
    return {**systems, "control": control, "at_recall": at_recall, "check": check}


def _rounded(value: float) -> float | None:
    return None if numpy.isnan(value) else round(float(value), 4)


if __name__ == "__main__":
    typer.run(veto)
