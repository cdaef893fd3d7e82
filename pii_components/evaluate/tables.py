"""Metrics files as tables: in the terminal (rich) and in Markdown.

print_score(json.loads(Path("metrics/crapii.json").read_text()))
print(markdown_table([json.loads(Path("metrics/crapii.json").read_text())]))

Tables are made of plain data as it is in the file, so that an old one can be shown again.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

MEASURES = ("precision", "recall", "f1", "f5")
VIEW_TITLES = {
    "all": "all labels",
    "four": "four types (NAME, URL, EMAIL, PHONE), as in the JEDM paper",
}
Report = Mapping[str, Any]
Row = Sequence[str]


def split_list(text: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """YIELDS (Callable): To be called after each step; a bar on a terminal, nothing elsewhere."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def console() -> Console:
    """RETURNS (Console): On standard output; wide enough for the tables where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


def cell(scores: Report, name: str, *, interval: bool = False) -> str:
    """RETURNS (str): A number with three digits, with its interval if asked; "-" where there is none."""
    if scores.get(name) is None:
        return "-"
    shown = f"{scores[name]:.3f}"
    return shown + " ({:.3f} to {:.3f})".format(*scores[f"{name}_95"]) if interval else shown


def lines_of(head: Row, rows: Iterable[Row]) -> list[str]:
    """RETURNS (list[str]): A table of Markdown, line by line."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


# --- Markdown

HEAD = (
    "system",
    "labels",
    "support",
    "P",
    "R",
    "F1",
    "F5 (95 % interval)",
    "PII left in",
    "clean essays touched",
)


def markdown_table(reports: Sequence[Report], *, subset: str = "") -> str:
    """RETURNS (str): What `pii-edu evaluate table` prints: one row per system and set of labels.

    subset (str): A part of the data (seed_split); all if empty.
    """
    rows: dict[tuple[str, str], Row] = {}
    for report in reports:
        for name, system in report["systems"].items():
            ours = "pii_ner" in json.dumps(system["about"])
            shown = f"{name}, profile {report['profile']}" if ours else name
            for view, scores in (system["subsets"][subset] if subset else system["views"]).items():
                bag = scores["bag"]
                numbers = [cell(bag, measure, interval=measure == "f5") for measure in MEASURES]
                counts = scores["coverage"]
                left = f"{counts['incompletely_covered']} of {counts['documents_with_pii']}"
                touched = f"{counts['clean_touched']} of {counts['clean_documents']}"
                row = [shown, view, str(bag["support"]), *numbers, left, touched]
                rows.setdefault((shown, view), row)
    return "\n".join(lines_of(HEAD, rows.values()))


# --- the terminal

OVERALL = "bag.precision bag.recall bag.f1 bag.f5 position.f5 tokens.f5 words_per_second stored"
EXPOSED = (
    "overlap.f5 exposure.character_recall exposure.label_blind_recall exposure.false_alarms "
    "exposure.false_alarms_per_10000_words coverage.incompletely_covered coverage.clean_touched"
)


def print_score(report: Report, *, to: Console | None = None) -> None:
    """Print everything that `report.score_report` has, with command and data.

    to (Console | None): Standard output if None.
    """
    to = to or console()
    data, systems = report["data"], report["systems"]
    counts = f"{data['documents']} documents, {data['documents_with_pii']} with PII"
    to.print(f"{data['file']}  sha256 {data['sha256'][:12]}…  {counts}, {data['words']} words")
    for view, labels in report["views"].items():
        title = VIEW_TITLES.get(view, view)
        scores = {name: system["views"][view] | system["time"] for name, system in systems.items()}
        show(to, f"Exact match by text, {title}", scores, OVERALL)
        of_label = {}
        for label in labels:
            for name in systems:
                of_label[f"{label}, {name}"] = scores[name]["per_label"][label]["bag"]
        show(to, f"By label, {title}", of_label, "support tp fp fn precision recall f5")
    all_labels = {name: system["views"]["all"] for name, system in systems.items()}
    show(to, "What stays visible, and what is hidden for nothing", all_labels, EXPOSED)
    roles, groups = {}, {}
    for name, system in systems.items():
        for role, found in system.get("roles", {"per_role": {}})["per_role"].items():
            roles[f"{role}, {name}"] = found
        for row in system.get("names", {"rows": ()})["rows"]:
            groups[f"{row['group']}, {name}"] = row
    show(to, "Roles of names", roles, "support precision recall f1")
    title = "Recall by gender and culture of the name; Mann-Whitney against the rest"
    show(to, title, groups, "total recall gap u p significance")
    gains = {pair: views["all"]["bag"] for pair, views in report["differences"].items()}
    show(to, "Differences, all labels; paired bootstrap", gains, "f5 precision recall p_f5")


def show(to: Console, title: str, entries: Mapping[str, Any] | Iterable[Any], keys: str) -> None:
    """Print a table, nothing if there are no entries: a row per entry, a column per key.

    keys (str): With spaces between them; "a.b" for b inside a. A 95 % interval is shown where there
        is one.
    """
    named = isinstance(entries, Mapping)
    rows = list(entries.items() if isinstance(entries, Mapping) else (("", e) for e in entries))
    if not rows:
        return
    table = Table(title=title or None, title_justify="left")
    for column in [*([""] if named else []), *keys.split()]:
        table.add_column(column.replace("_", " "))
    for name, entry in rows:
        table.add_row(*([name] if named else []), *(_shown(entry, key) for key in keys.split()))
    to.print(table)


def _shown(entry: Any, key: str) -> str:
    *path, last = key.split(".")
    for part in path:
        entry = entry.get(part) or {}
    value = entry.get(last)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(map(str, value))
    if isinstance(value, str):
        return value
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    interval = entry.get(f"{last}_95")
    return shown + " ({:.3f} to {:.3f})".format(*interval) if interval else shown
