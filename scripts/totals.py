"""Totals of labelled texts, which scripts/annotated.py and scripts/unread.py print: what is hidden, touched, proposed, found; never a case.

A mention is hidden if all of its letters are, touched if one is. Private: students and connected people; kept: cited ones and characters.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer

from pii_components.evaluate.metrics import rate, resample
from pii_components.labels import is_name, role_of
from pii_components.spans import SPANS_KEY

LOOKS = Path("metrics/looks.jsonl")
PRIVATE, KEPT = ("STUDENT", "CONNECTED"), ("CITED", "CHARACTER")
Mark = tuple[int, int, str]


def kind_of(label: str) -> str:
    """RETURNS (str): The role of a name; another label as it is."""
    return role_of(label) if is_name(label) else label


def marks_of(doc: Any) -> list[Mark]:
    """RETURNS (list[Mark]): What was found in a document: start, end, label."""
    return [(s.start_char, s.end_char, s.label_) for s in doc.spans.get(SPANS_KEY, ())]


def letters_of(spans: Iterable[Mark]) -> set[int]:
    """RETURNS (set[int]): All characters that lie in spans."""
    return {i for start, end, _ in spans for i in range(start, end)}


def count(
    text: str,
    marks: Sequence[Mark],
    found: Iterable[Mark],
    hides: Callable[[str], bool],
    *,
    private: Iterable[Mark],
    left_out: Collection[Mark] = (),
    proposed: Collection[int] = (),
) -> Counter[str]:
    """What became of a text's marks, and which of what was found is right.

    private (Iterable[Mark]): Where a name that is found is right. left_out (Collection[Mark]): Marks that need not be hidden.
    proposed (Collection[int]): Characters that the detector proposed.
    RETURNS (Counter[str]): "STUDENT hidden", "EMAIL found", "names right" and the like.
    """
    found, private = set(found), list(private)
    hidden = letters_of(mark for mark in found if hides(mark[2]))
    counts: Counter[str] = Counter(documents=1)

    def meets(mark: Mark, others: Iterable[Mark]) -> bool:
        return any(mark[0] < end and mark[1] > start for start, end, _ in others)

    def alike(mark: Mark, others: Iterable[Mark]) -> bool:
        return meets(mark, (other for other in others if other[2] == mark[2]))

    for mark in marks:
        start, end, label = mark
        letters, kind = [i for i in range(start, end) if text[i].isalnum()], kind_of(label)
        counts[f"{label} gold"] += 1
        counts[f"{label} met"] += alike(mark, found)
        if mark not in left_out:
            counts[f"{kind} all"] += 1
            counts[f"{kind} hidden"] += all(i in hidden for i in letters)
            counts[f"{kind} touched"] += any(i in hidden for i in letters)
            counts[f"{kind} proposed"] += all(i in proposed for i in letters)
            counts[f"{kind} exact"] += mark in found
    for mark in found:
        if not is_name(mark[2]):
            counts[f"{mark[2]} found"] += 1
            counts[f"{mark[2]} right"] += alike(mark, marks)
        elif hides(mark[2]):
            counts["names found"] += 1
            counts["names right"] += meets(mark, private)
    counts["with private"] = any(counts[f"{role} all"] for role in PRIVATE)
    counts["left open"] = any(counts[f"{role} all"] > counts[f"{role} hidden"] for role in PRIVATE)
    return counts


class Totals:
    """Sums and shares of the counts of several texts."""

    def __init__(self, rows: Sequence[Counter[str]]) -> None:
        self.rows, self.weights = rows, resample(len(rows))

    def column(self, *names: str) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): Counts of each text, `(n_texts,)`."""
        return numpy.asarray([sum(row[name] for name in names) for row in self.rows])

    def sum(self, *names: str) -> int:
        return int(self.column(*names).sum())

    def share(self, upper: str, lower: str) -> Any:
        """RETURNS (Estimate | None): Of two counts, with its interval (bootstrap over texts)."""
        return rate(self.column(upper), self.column(lower), self.weights)

    def of(self, kinds: Iterable[str], what: str) -> Any:
        """RETURNS (Estimate | None): The share of the mentions of some kinds that are "hidden", "touched", "proposed"."""
        upper, lower = zip(*((f"{kind} {what}", f"{kind} all") for kind in kinds), strict=True)
        return rate(self.column(*upper), self.column(*lower), self.weights)


def cell(row: Mapping[str, Any], key: str, support: str = "") -> str:
    """RETURNS (str): A share, its interval, and of how many it is."""
    if row.get(key) is None:
        return "–"
    interval = " ({:.3f} to {:.3f})".format(*row[f"{key}_95"]) if f"{key}_95" in row else ""
    return f"{row[key]:.3f}{interval}" + (f" of {row[support]}" if support in row else "")


def add_table(app: typer.Typer, table: Callable[[Sequence[dict[str, Any]]], list[str]]) -> None:
    """Add the command `table`."""

    @app.command(name="table")
    def _(files: Annotated[list[Path], typer.Argument(help="Metrics files of `score`.")]) -> None:
        """Print metrics files as Markdown, as docs/explanation/evaluation.md and MODEL_CARD.md have them."""
        print("\n".join(table([json.loads(path.read_text("utf8")) for path in files])))


def add_look(pipeline: str, note: str, **about: Any) -> None:
    """Add a line to metrics/looks.jsonl: somebody looked at sealed texts."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    with LOOKS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"time": time, "pipeline": pipeline, "note": note, **about}) + "\n")
