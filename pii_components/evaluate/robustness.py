"""Robustness: what a detector still finds when the same essays are perturbed, and what it takes for PII that is none.

    report = measure(system, essays, perturbations(), seed=46)
    report["worst"]["perturbation"], report["classes"]["case"]["recall"]

Recall is measured in three ways on the same people before and after: `recall`, the share of the characters that are hidden by any
protected label (white space and signs that show nothing aside); `whole`, spans hidden to the last of these; `strict`, spans with the very
offsets and label. Where a perturbation rewrites spans, only those that it did rewrite count. Clean essays under the same perturbation
give the false alarms. Intervals are bootstraps over essays.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from ..corpus.build import rng_for
from ..corpus.labelled import LabelledText
from ..errors import Errors, PiiError
from ..labels import INDIRECT_LABELS, LABELS
from ..normalize import is_invisible
from .defaults import LONG_ESSAYS
from .matching import in_clear
from .metrics import N_RESAMPLES, SEED, Estimate, difference, resample, score
from .perturb import CLASSES, LENGTH, UNTOLD, Perturbation, Spans
from .perturb_length import LONG
from .records import Entity, GoldDocument
from .report import FORMAT, machine, plain, versions
from .robustness_essays import Protects, must_hide
from .systems import System, crapii_label

LEAST_SUPPORT = 10
_WAYS = ("recall", "whole", "strict")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of some essays.

    found (numpy.ndarray): For characters, whole spans and strict spans, found and missed, shape `(n_essays, 3, 3)`: true positives,
    nothing, false negatives. alarms (numpy.ndarray): On clean essays: false alarms, words, shape `(n_essays, 2)`; zeros on others.
    """

    found: numpy.ndarray
    alarms: numpy.ndarray

    @classmethod
    def empty(cls, number: int) -> "Counts":
        """RETURNS (Counts): Zeros for `number` essays."""
        return cls(numpy.zeros((number, 3, 3), dtype="i8"), numpy.zeros((number, 2), dtype="i8"))

    def rows(self, chosen: Sequence[int]) -> "Counts":
        """RETURNS (Counts): Of the essays in these places."""
        return Counts(self.found[list(chosen)], self.alarms[list(chosen)])


def spans_of(essay: LabelledText) -> Spans:
    """RETURNS (Spans): Gold, and masked stretches as spans that nobody knows."""
    return tuple(sorted((*essay.spans, *((start, end, UNTOLD) for start, end in essay.masked))))


def shown(text: str) -> str:
    """RETURNS (str): The text, of the same length, with a space for what tells nothing: invisible characters, signs like emoji."""
    return "".join(" " if is_invisible(char) or unicodedata.category(char) == "So" else char for char in text)


def count_found(text: str, gold: Spans, predicted: Sequence[Entity], protects: Protects) -> numpy.ndarray:
    """Found and missed in three ways.

    text (str): The essay. gold (Spans): What must be hidden. predicted (Sequence[Entity]): What would be. protects (Callable[[str], bool]):
    From a profile; names that it hides are one label.
    RETURNS (numpy.ndarray): Shape `(3, 3)`: characters, whole spans, strict spans by true positives, nothing, false negatives.
    """
    hidden = {at for entity in predicted for at in range(entity.start, entity.end)}
    exact = {(entity.start, entity.end, entity.label) for entity in predicted}
    counts = numpy.zeros((3, 3), dtype="i8")
    for start, end, label in gold:
        visible = shown(text[start:end])
        total = sum(not char.isspace() for char in visible)
        missed = in_clear(Entity("", start, end, label, visible), hidden)
        counts[0] += (total - missed, 0, missed)
        counts[1, 2 if missed else 0] += 1
        counts[2, 0 if (start, end, crapii_label(label, protects)) in exact else 2] += 1
    return counts


def false_alarms(spans: Spans, predicted: Sequence[Entity]) -> int:
    """RETURNS (int): Predictions that touch no indirect identifier."""
    known = [(start, end) for start, end, label in spans if label in INDIRECT_LABELS]
    return sum(not any(entity.start < end and entity.end > start for start, end in known) for entity in predicted)


def measure(
    system: System,
    essays: Sequence[LabelledText],
    chosen: Mapping[str, Perturbation],
    *,
    protects: Protects | None = None,
    seed: int = 46,
    n_resamples: int = N_RESAMPLES,
    bootstrap_seed: int = SEED,
    long_essays: int = LONG_ESSAYS,
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, Any]:
    """Run a system on essays as they are and under each perturbation.

    system (System): A loaded system. essays (Sequence[LabelledText]): Gold, some of them clean.
    chosen (Mapping[str, Perturbation]): By name. protects (Callable[[str], bool] | None): Whether a gold label must be hidden; the
    system's own view if None. seed (int): Of the perturbations. n_resamples, bootstrap_seed (int): Of the intervals.
    long_essays (int): Essays at most that are lengthened to `LONG` characters, since these take ten times as long.
    progress (Callable[[str], None]): Called with each name when it is done.
    RETURNS (dict[str, Any]): Plain data without `command`, `data` and `profile`, which the caller knows.
    RAISES (PiiError): E762, if no essay holds anything that must be hidden.
    """
    rule = protects or system.protects
    given = [(essay, spans_of(essay)) for essay in essays]

    def is_gold(label: str) -> bool:
        return must_hide(label, rule)

    if not any(is_gold(label) for _, spans in given for *_, label in spans):
        raise PiiError(Errors.E762, what="The gold corpus", needed="label that must be hidden")

    def find(texts: Sequence[tuple[str, str]]) -> list[list[Entity]]:
        documents = [GoldDocument(ident, text) for ident, text in texts]
        return [[e for e in found if system.protects(e.label)] for found in system.find(documents)]

    def count(counts: Counts, row: int, text: str, spans: Spans, places: Sequence[int], predicted: Sequence[Entity]) -> None:
        if any(is_gold(label) for *_, label in spans):
            gold = tuple(spans[i] for i in places if is_gold(spans[i][2]))
            counts.found[row] += count_found(text, gold, predicted, rule)
        elif not any(label not in LABELS for *_, label in spans):
            counts.alarms[row] += (false_alarms(spans, predicted), len(text.split()))

    plain_found = find([(essay.id, essay.text) for essay, _ in given])
    baseline = Counts.empty(len(given))
    for row, (essay, spans) in enumerate(given):
        count(baseline, row, essay.text, spans, range(len(spans)), plain_found[row])

    def summary(after: Counts, before: Counts | None, rows: Sequence[int]) -> dict[str, Any]:
        return summarise(after.rows(rows), before.rows(rows) if before else None, n_resamples=n_resamples, seed=bootstrap_seed)

    report: dict[str, Any] = {}
    sums = {kind: (Counts.empty(len(given)), Counts.empty(len(given))) for kind in CLASSES}
    touched: dict[str, set[int]] = {kind: set() for kind in CLASSES}
    for name, perturbation in chosen.items():
        worn: list[tuple[int, str, Spans]] = []
        for row, (essay, spans) in enumerate(given):
            text, new = perturbation(essay.text, spans, rng_for(seed, name, essay.id))
            too_long = perturbation.kind == LENGTH and len(text) >= LONG // 2 and len(worn) >= long_essays
            if text != essay.text and not too_long:
                worn.append((row, text, new))
        before, after = Counts.empty(len(given)), Counts.empty(len(given))
        found = find([(given[row][0].id, text) for row, text, _ in worn])
        for (row, text, new), predicted in zip(worn, found, strict=True):
            essay, spans = given[row]
            old_places, new_places = perturbation.measured(essay.text, spans, text, new)
            count(before, row, essay.text, spans, old_places, plain_found[row])
            count(after, row, text, new, new_places, predicted)
        before.alarms[after.alarms[:, 1] == 0] = 0  # no longer clean: someone private was added
        rows = [row for row, _, _ in worn]
        report[name] = {"class": perturbation.kind, "about": perturbation.about} | summary(after, before, rows)
        touched[perturbation.kind].update(rows)
        for total, one in zip(sums[perturbation.kind], (before, after), strict=True):
            total.found[:] += one.found
            total.alarms[:] += one.alarms
        progress(name)
    everything = range(len(given))
    classes = {kind: summary(after, before, sorted(touched[kind])) for kind, (before, after) in sums.items() if touched[kind]}
    return {
        "format": FORMAT,
        "versions": versions(),
        "machine": machine(),
        "bootstrap": {"unit": "document", "resamples": n_resamples, "seed": bootstrap_seed, "level": 0.95},
        "system": {"name": system.name, **system.about},
        "seed": seed,
        "long_essays": long_essays,
        "unperturbed": summary(baseline, None, everything),
        "classes": classes,
        "worst_class": worst(classes),
        "worst": worst(report),
        "perturbations": report,
    }


def worst(entries: Mapping[str, Mapping[str, Any]], *, least: int = LEAST_SUPPORT) -> dict[str, Any]:
    """The entry with the lowest recall.

    entries (Mapping[str, Mapping[str, Any]]): From `measure`. least (int): Spans behind it at least.
    RETURNS (dict[str, Any]): Its name, recall, drop and support; empty if none has that many.
    """
    fit = {name: entry for name, entry in entries.items() if entry["support"] >= least and "recall" in entry}
    if not fit:
        return {}
    name = min(fit, key=lambda n: (fit[n]["recall"], n))
    shown_keys = ("recall", "recall_95", "drop", "drop_95", "support")
    return {"name": name, **{key: fit[name][key] for key in shown_keys if key in fit[name]}, "least_support": least}


def summarise(after: Counts, before: Counts | None, *, n_resamples: int, seed: int) -> dict[str, Any]:
    """Numbers with intervals.

    after (Counts): Of the perturbed essays. before (Counts | None): Of the same essays and people as they were.
    n_resamples, seed (int): Of the bootstrap.
    RETURNS (dict[str, Any]): Essays, support, recall in three ways, false alarms; with `before` the same unperturbed, and the drop.
    """
    number = len(after.found)
    out: dict[str, Any] = {"documents": number, "support": int(after.found[:, 1].sum())}
    if not number:
        return out | {"clean_documents": 0}
    weights = resample(number, n_resamples=n_resamples, seed=seed)
    recalls = {way: score(after.found[:, i], weights).recall for i, way in enumerate(_WAYS)}
    out |= plain(recalls)
    if before is not None:
        for i, way in enumerate(_WAYS):
            if recalls[way] is None:
                continue
            unperturbed = score(before.found[:, i], weights).recall
            lost = difference(before.found[:, i], after.found[:, i], weights)["recall"]
            drop = "drop" if way == "recall" else f"drop_{way}"
            out |= plain({f"unperturbed_{way}": unperturbed, drop: lost})
    out["clean_documents"] = int((after.alarms[:, 1] > 0).sum())
    for prefix, counts in (("", after), ("unperturbed_", before)):
        if counts is not None and counts.alarms[:, 1].any():
            out |= _alarm_rates(prefix, counts.alarms, weights)
    return out


def _alarm_rates(prefix: str, alarms: numpy.ndarray, weights: numpy.ndarray) -> dict[str, Any]:
    clean = (alarms[:, 1] > 0).astype("i8")
    hit = (alarms[:, 0] > 0).astype("i8")
    nothing = numpy.zeros_like(clean)
    rate = score(numpy.stack([alarms[:, 0], nothing, alarms[:, 1] - alarms[:, 0]], axis=1), weights).recall
    share = score(numpy.stack([hit, nothing, clean - hit], axis=1), weights).recall
    per_words = Estimate(rate.value * 1e4, rate.low * 1e4, rate.high * 1e4) if rate else None
    named = {f"{prefix}false_alarms": int(alarms[:, 0].sum())}
    return named | plain({f"{prefix}false_alarms_per_10k_words": per_words, f"{prefix}clean_touched": share})
