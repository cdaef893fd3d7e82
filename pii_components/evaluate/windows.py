"""What is hidden of texts in which one token is labelled and nothing else is known (corpus/windows.py). Pure of printing.

    report = measure_windows(system, read_windows(path), protects=profile.protects)
    report["labels"]["NAME_STUDENT"]["hidden"], report["labels"]["O"]["hidden"]

Of tokens with a label it is the share that is hidden: recall, whatever the label under which. Of tokens labelled "O" it is that of false alarms,
if the tokens were drawn evenly; they seldom are, so precision cannot be told from it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from ..corpus.windows import OUTSIDE, Stretch
from ..errors import Errors, PiiError
from .markdown import cell
from .matching import in_clear
from .metrics import N_RESAMPLES, SEED, rate, resample
from .records import Entity, GoldDocument
from .report import FORMAT, machine, plain, versions
from .systems import System

KIND = "windows"


def measure_windows(
    system: System,
    windows: Mapping[str, Sequence[Stretch]],
    *,
    protects: Callable[[str], bool],
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Share of the labelled stretches that is hidden, per label.

    system (System): Loaded. windows (Mapping[str, Sequence[Stretch]]): From `read_windows`. protects (Callable[[str], bool]): From a profile.
    n_resamples, seed (int): Of the bootstrap over texts. progress (Callable[[], None]): Called after each text.
    RETURNS (dict[str, Any]): Plain data, without texts: per label `support`, `texts`, `hidden` (no character in clear), `touched` (at least
        one hidden) and `right` (hidden under the label itself), with 95 % intervals. RAISES (PiiError): E762, if there is nothing.
    """
    if not windows:
        raise PiiError(Errors.E762, what="The file", needed="labelled stretch")
    documents = [GoldDocument(str(n), text) for n, text in enumerate(windows)]
    labels = sorted({stretch.label for found in windows.values() for stretch in found}, key=lambda label: (label == OUTSIDE, label))
    # Support, hidden, touched, right, per text and label
    counts = numpy.zeros((len(documents), len(labels), 4), dtype="i8")
    for row, (document, stretches, predicted) in enumerate(zip(documents, windows.values(), system.find(documents), strict=True)):
        kept = [entity for entity in predicted if protects(entity.label)]
        hidden = {at for entity in kept for at in range(entity.start, entity.end)}
        for stretch in stretches:
            inside = range(stretch.start, stretch.end)
            named = Entity(document.id, stretch.start, stretch.end, stretch.label, document.text[stretch.start : stretch.end])
            right = any(e.label == stretch.label and e.start < stretch.end and stretch.start < e.end for e in kept)
            whole = not in_clear(named, hidden)
            counts[row, labels.index(stretch.label)] += (1, whole, not hidden.isdisjoint(inside), whole and right)
        progress()
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)
    return {
        "format": FORMAT,
        "kind": KIND,
        "versions": versions(),
        "machine": machine(),
        "system": {"name": system.name, **system.about},
        "texts": len(documents),
        "labels": {label: _told(counts[:, n], weights, outside=label == OUTSIDE) for n, label in enumerate(labels)},
    }


def _told(counts: numpy.ndarray, weights: numpy.ndarray, *, outside: bool) -> dict[str, Any]:
    support, hidden, touched, right = counts.T
    shares = {"hidden": hidden, "touched": touched} | ({} if outside else {"right": right})
    return {
        "support": int(support.sum()),
        "texts": int((support > 0).sum()),
        **plain({name: rate(part, support, weights) for name, part in shares.items()}),
    }


def windows_rows(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """RETURNS (tuple[list[str], list[list[str]]]): Head and rows of a table. report (Mapping[str, Any]): From the command or its metrics file."""
    head = ["system", "label", "tokens", "texts", "hidden (95 % interval)", "under this label (95 % interval)"]
    rows = []
    for label, found in report["labels"].items():
        shown = "none" if label == OUTSIDE else label
        shares = [cell(found, name, interval=True) for name in ("hidden", "right")]
        rows.append([report["system"]["name"], shown, str(found["support"]), str(found["texts"]), *shares])
    return head, rows
