"""What a release costs research: measures of each text before and after, in pairs. Numbers only; no text is kept or shown.

    before = Measured(measures(score))
    before.read(open_source(Path("essays.csv"), id_field="id"))
    report = compare(before, open_source(Path("clean.csv"), id_field="id"))
    report["measures"]["mtld"]          # {"before": 71.2, "after": 70.8, "difference": -0.4, "interval_95": [-0.7, -0.1], ...}

Length, sentences and readability by textstat, words by our own pattern, variety by MTLD (McCarthy and Jarvis 2010), and a score of the user's.
The test flips signs of the differences (two-sided), the interval resamples documents, the effect is Cohen's d of paired values.
"""

import csv
import importlib
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from ..errors import Errors, PiiError, reason_of
from ..files.record import Record, Skip, Source

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_TTR = 0.72  # at which a stretch of MTLD ends, as its authors found
_RESAMPLES = 9999
_MOST_LISTED = 100
Measure = Callable[[str], float]


def words_of(text: str) -> list[str]:
    """RETURNS (list[str]): Words in small letters, without marks."""
    return [word.lower() for word in _WORD.findall(text)]


def mtld(words: Sequence[str]) -> float:
    """RETURNS (float): Mean length of stretches with a ratio of types to words above .72, read from both ends; 0 without words."""

    def one_way(run: Iterable[str]) -> float:
        seen, n, stretches = set[str](), 0, 0.0
        for word in run:
            seen.add(word)
            n += 1
            if len(seen) / n <= _TTR:
                seen, n, stretches = set(), 0, stretches + 1
        stretches += (1 - len(seen) / n) / (1 - _TTR) if n else 0.0
        return len(words) / stretches if stretches else float(len(words))

    return (one_way(words) + one_way(reversed(words))) / 2 if words else 0.0


def measures(score: str = "") -> dict[str, Measure]:
    """RETURNS (dict[str, Callable]): Each takes a text. score (str): "module:function" of one more. RAISES (PiiError): E005, E589."""
    try:
        from textstat.textstat import textstatistics
    except ImportError as err:
        raise PiiError(
            Errors.E005, package="textstat", what="readability", extra="utility"
        ) from err
    stats = textstatistics()
    # For "en_US" it would download a dictionary; under this name it counts syllables by pyphen's patterns for American English, which it brings.
    stats.set_lang("en-US")
    made: dict[str, Measure] = {
        "words": lambda text: len(words_of(text)),
        "characters": len,
        "sentences": stats.sentence_count,
        "flesch_reading_ease": stats.flesch_reading_ease,
        "flesch_kincaid_grade": stats.flesch_kincaid_grade,
        "coleman_liau_index": stats.coleman_liau_index,
        "types": lambda text: len(set(words_of(text))),
        "type_token_ratio": lambda text: len(set(words := words_of(text))) / max(1, len(words)),
        "mtld": lambda text: mtld(words_of(text)),
    }
    return made | ({"score": load_score(score)} if score else {})


def load_score(name: str) -> Measure:
    """RETURNS (Callable): The function behind "module:function", looked for in the working folder, too. RAISES (PiiError): E589."""
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as err:  # whatever the module does when it is imported
        raise PiiError(Errors.E589, name=name, reason=type(err).__name__) from err
    finally:
        sys.path.remove("")
    if not callable(found):
        raise PiiError(Errors.E589, name=name, reason="it is no function")
    return found  # type: ignore[no-any-return]


def read_map(path: Path) -> list[tuple[str, str]]:
    """RETURNS (list[tuple[str, str]]): What each record was called and is called, in order; nothing there if it was left out.
    RAISES (PiiError): E592."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            head, *rows = csv.reader(file)
        if head != ["in", "out"] or any(len(row) != 2 for row in rows):
            raise ValueError
    except (OSError, ValueError, csv.Error) as err:
        raise PiiError(Errors.E592, path=path, reason=reason_of(err)) from err
    return [(before, after) for before, after in rows]


@dataclass
class Measured:
    """Documents of one side, as numbers. measures (Mapping): Name -> what is measured. names (Mapping): What an ID stands for on the other side.

    rows (dict): Key -> number of the record, values, digests of its types. A key is the ID (with its how many-th), or the number of a record
    of a table without IDs. unread (list[int]): Records that could not be read.
    """

    measures: Mapping[str, Measure]
    names: Mapping[str, str] = field(default_factory=dict)
    rows: dict[Any, tuple[int, list[float], numpy.ndarray]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)
    by_id: bool = True

    def read(self, source: Source, *, side: str = "before") -> None:
        """Measure all of a source, which is closed then. RAISES (PiiError): E590; what the source raises."""
        self.by_id = not source.has_columns or bool(source.id_field)
        times: Counter[str] = Counter()
        for item in source:
            if isinstance(item, Skip):
                self.unread.append(item.number)
                continue
            key: Any = item.number
            if self.by_id:
                times[item.id] += 1
                key = (self.names.get(item.id, item.id), times[item.id])
            types = numpy.unique(
                numpy.array([hash(word) for word in words_of(item.text)], dtype=numpy.int64)
            )
            self.rows[key] = (
                item.number,
                [self._value(*pair, item, side) for pair in self.measures.items()],
                types,
            )
        source.close()

    @staticmethod
    def _value(name: str, measure: Measure, item: Record, side: str) -> float:
        try:
            value = float(measure(item.text))
            reason = "" if math.isfinite(value) else str(value)
        except Exception as err:  # of the user's function: it may quote a text
            reason = type(err).__name__
        if reason:
            raise PiiError(Errors.E590, name=name, document=item.number, side=side, reason=reason)
        return value


def compare(
    before: Measured,
    source: Source,
    *,
    names: Mapping[str, str] | None = None,
    about: str = "AFTER",
) -> dict[str, Any]:
    """Lay a release beside what it was made from.

    before (Measured): Read already. source (Source): The release. names (Mapping | None): What an ID in it was before. about (str): For messages.
    RETURNS (dict): Counts and record numbers of documents on one side only; for each measure both means, mean difference with its 95 %
        interval, effect (None if all differences are equal), p, the share of documents that differ, the largest difference.
    RAISES (PiiError): E005, E590; E591, if nothing fits; E770, if numbers of documents without IDs differ.
    """
    after = Measured(before.measures, names or {})
    after.read(source, side="after")
    keys = [key for key in before.rows if key in after.rows]
    if not keys:
        raise PiiError(Errors.E591, before="BEFORE", after=about)
    if not (before.by_id and after.by_id) and (
        len(before.rows) != len(after.rows) or before.unread != after.unread
    ):
        raise PiiError(
            Errors.E770, n=abs(len(before.rows) - len(after.rows)), first="BEFORE", second=about
        )
    one_sided = {
        f"only_{name}": sorted(row[0] for key, row in mine.rows.items() if key not in other.rows)
        for name, mine, other in (("before", before, after), ("after", after, before))
    }
    found = {
        name: {"count": len(numbers), "records": numbers[:_MOST_LISTED]}
        for name, numbers in one_sided.items()
    }
    unread = {"before": len(before.unread), "after": len(after.unread)}
    old, new = (numpy.array([side.rows[key][1] for key in keys]) for side in (before, after))
    report: dict[str, Any] = {"documents": len(keys), **found, "unread": unread, "measures": {}}
    for i, name in enumerate(before.measures):
        report["measures"][name] = paired(old[:, i], new[:, i])
    kept = [
        numpy.isin(before.rows[key][2], after.rows[key][2]).mean()
        for key in keys
        if len(before.rows[key][2])
    ]
    report["types_kept"] = float(numpy.mean(kept)) if kept else None
    return report


def paired(old: numpy.ndarray, new: numpy.ndarray) -> dict[str, Any]:
    """RETURNS (dict): Of two arrays `(n_documents,)`, see `compare`. RAISES (PiiError): E005 without scipy."""
    try:
        from scipy import stats
    except ImportError as err:
        raise PiiError(
            Errors.E005, package="scipy", what="the paired test", extra="utility"
        ) from err
    gain = new - old
    spread = (
        float(gain.std(ddof=1))
        if len(gain) > 1 and not numpy.allclose(gain, gain[0], atol=0)
        else 0.0
    )  # not of rounding
    low = high = float(gain.mean())
    p = None
    if len(gain) > 1:
        p = 1.0
        if gain.any():
            options: dict[str, Any] = {
                "n_resamples": _RESAMPLES,
                "batch": max(1, 10**7 // len(gain)),
                "vectorized": True,
            }
            draw = numpy.random.default_rng  # the same draws for all measures and all releases
            p = float(
                stats.permutation_test(
                    (gain,), numpy.mean, permutation_type="samples", rng=draw(0), **options
                ).pvalue
            )
            low, high = map(
                float,
                stats.bootstrap(
                    (gain,), numpy.mean, method="percentile", rng=draw(0), **options
                ).confidence_interval,
            )
    return {
        "before": float(old.mean()),
        "after": float(new.mean()),
        "difference": float(gain.mean()),
        "interval_95": [low, high],
        "effect": float(gain.mean()) / spread if spread else None,
        "p": p,
        "differ": float((gain != 0).mean()),
        "largest": float(abs(gain).max()),
    }
