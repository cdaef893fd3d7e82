"""Metrics files as tables: in the terminal (rich) and in Markdown. Takes plain data as it is in the file, so that an old one can be shown again.

print_score(json.loads(Path("metrics/crapii.json").read_text()))
print(markdown_table([json.loads(Path("metrics/crapii.json").read_text())]))
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
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


def shown_command(module: str, arguments: Sequence[str]) -> str:
    """The command for a metrics file, without folders, since they tell about a machine and its user."""
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(name + equals + (Path(value).name or value))
    return " ".join(["python -m", module, *shown])


def split_list(text: str) -> tuple[str, ...]:
    """Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """To be called after each of `total` steps; a bar on the terminal, nothing where there is none."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def console() -> Console:
    """On standard output; wide enough for the tables where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


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


def cell(score: Report, name: str, *, interval: bool = False) -> str:
    """A number with three digits, with its interval if asked; a dash where there is no support."""
    if score.get(name) is None:
        return "-"
    return f"{score[name]:.3f}" + (
        " ({:.3f} to {:.3f})".format(*score[f"{name}_95"]) if interval else ""
    )


def lines_of(head: Row, rows: Iterable[Row]) -> list[str]:
    """A table of Markdown, line by line."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def markdown_table(reports: Sequence[Report], *, subset: str = "") -> str:
    """What `pii-edu evaluate table` prints, without a line break at the end.

    reports (Sequence[Report]): One row per system and set of labels, of what `compare`, `run` and `score` wrote; what the scripts
    fairness, windows and presidio_samples wrote makes a table of its own form. subset (str): A part of the data (seed_split); all if empty.
    """
    first = reports[0] if reports else {}
    kind = "groups" if "groups" in first else first.get("kind")
    lines = STUDIES[kind](first) if kind in STUDIES else _score_lines(reports, subset)
    return "\n".join(lines)


def _score_lines(reports: Sequence[Report], subset: str) -> list[str]:
    rows: dict[tuple[str, str], Row] = {}
    for report in reports:
        for name, system in report["systems"].items():
            ours = "pii_ner" in json.dumps(system["about"])
            shown = f"{name}, profile {report['profile']}" if ours else name
            part = system["subsets"][subset] if subset else system["views"]
            for view in (view for view in report["views"] if view in part):
                bag = part[view]["bag"]
                scores = [cell(bag, m, interval=m == "f5") for m in MEASURES]
                rows.setdefault(
                    (shown, view),
                    [shown, view, str(bag["support"]), *scores, *_covered(part[view])],
                )
    lines = lines_of(HEAD, rows.values())
    ratios = {pair: ratio for report in reports for pair, ratio in report["speed_ratio"].items()}
    if ratios and not subset:
        said = "; ".join(
            f"{pair} {ratio['words_per_second']:.2f}" for pair, ratio in ratios.items()
        )
        lines += ["", f"Words per second in the same run: {said}."]
    return lines


def _covered(view: Report) -> list[str]:
    counts = view["coverage"]
    pairs = (("incompletely_covered", "documents_with_pii"), ("clean_touched", "clean_documents"))
    return [f"{counts[part]} of {counts[whole]}" for part, whole in pairs]


def fairness_lines(report: Report) -> list[str]:
    """What scripts/fairness.py wrote: recall per gender and culture, and how far from the rest."""
    rows = []
    for name, found in (
        pair for category in ("gender", "culture") for pair in report["groups"][category].items()
    ):
        gap = "{:+.3f} ({:+.3f} to {:+.3f})".format(found["gap"], *found["gap_95"])
        rows.append(
            [
                name,
                str(found["names"]),
                str(found["people"]),
                cell(found, "recall", interval=True),
                gap,
            ]
        )
    asked = report["asked"]
    told = (
        f"No group more than {asked['most_below']} below the rest, on {asked['least_names']} names a group: "
        f"{'holds' if asked['holds'] else 'does not hold'}; the worst is {asked['worst'].split(' ', 1)[1]}."
    )
    head = (
        "names",
        "mentions",
        "people",
        "recall (95 % interval)",
        "less the rest (95 % interval)",
    )
    return [*lines_of(head, rows), "", told]


def presidio_lines(report: Report) -> list[str]:
    """What scripts/presidio_samples.py wrote: for each analyzer results, how many are right, and gold that is left in clear; a dash for what
    the gold does not label."""
    systems, gold = report["systems"], report["gold"]
    head = ["Presidio's entity", "in the essays"]
    head += [
        f"{name}: {what}" for name in systems for what in ("results", "right", "left in clear")
    ]
    rows = []
    for entity in dict.fromkeys(
        (*gold, *sorted({e for system in systems.values() for e in system["entities"]}))
    ):
        cells = [entity, str(gold.get(entity, 0))]
        for system in systems.values():
            counts = system["entities"].get(entity, {"results": 0, "right": 0})
            judged = (
                [str(counts["right"]), str(system["missed"].get(entity, 0))]
                if entity in gold
                else ["–", "–"]
            )
            cells += [str(counts["results"]), *judged]
        rows.append(cells)
    cited = [
        cell
        for system in systems.values()
        for cell in (f"{system['cited_as_person']} called PERSON", "", "")
    ]
    return lines_of(head, [*rows, ["authors and characters", str(report["gold_cited"]), *cited]])


def windows_lines(report: Report) -> list[str]:
    """What scripts/windows.py wrote: share of the tokens of each label that is hidden."""
    rows = []
    for label, found in report["labels"].items():
        counts = [str(found[name]) for name in ("support", "texts")]
        shares = [cell(found, name, interval=True) for name in ("hidden", "right")]
        rows.append([report["system"]["name"], "none" if label == "O" else label, *counts, *shares])
    return lines_of(
        (
            "system",
            "label",
            "tokens",
            "texts",
            "hidden (95 % interval)",
            "under this label (95 % interval)",
        ),
        rows,
    )


STUDIES = {"groups": fairness_lines, "presidio": presidio_lines, "windows": windows_lines}


# --- the terminal


def _grid(title: str, columns: str, rows: Iterable[Row]) -> Table:
    """columns (str): With | between them. A row without cells is a line."""
    table = Table(title=title, title_justify="left")
    for name in columns.split(" | "):
        table.add_column(
            name,
            justify="left" if name in ("system", "label", "part", "role", "group") else "right",
        )
    for row in rows:
        if row:
            table.add_row(*row)
        else:
            table.add_section()
    return table


def _number(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign}.3f}"


def _interval(scores: Report, name: str, sign: str = "") -> str:
    """A value and its interval, or a dash. sign (str): "+" to show it of positive numbers too."""
    if scores.get(name) is None:
        return "–"
    low, high = (_number(bound, sign) for bound in scores[f"{name}_95"])
    return f"{_number(scores[name], sign)} [dim]{low}..{high}[/dim]"


def _intervals(scores: Report, *names: str) -> list[str]:
    return [_interval(scores, name) for name in names]


def print_score(report: Report, *, to: Console | None = None) -> None:
    """Print everything that `report.score_report` has, with command and data. to (Console | None): Standard output if missing."""
    to = to or console()
    data, systems = report["data"], report["systems"]
    pii = f"{data['documents']} documents, {data['documents_with_pii']} with PII, {data['words']} words"
    to.print(f"{data['file']}  sha256 {data['sha256'][:12]}…  {pii}")
    for view, labels in report["views"].items():
        to.print(_overall_table(systems, view))
        to.print(_label_table(systems, view, labels))
    if any(system["subsets"] for system in systems.values()):
        to.print(_subset_table(systems, data["splits"]))
    gains = {pair: views["all"]["bag"] for pair, views in report["differences"].items()}
    for pair, gain in gains.items():
        to.print(
            f"{pair}, all labels: F5 {_interval(gain, 'f5', '+')}, precision {_interval(gain, 'precision', '+')}"
        )
    for pair, ratio in report["speed_ratio"].items():
        words, cpu = ratio["words_per_second"], ratio["words_per_cpu_second"]
        to.print(f"{pair}, words per second: {words}, per processor second: {cpu}")
    to.print(_exposure_table(systems))
    if any("roles" in system for system in systems.values()):
        to.print(_roles_table(systems))
    named = {name: system["names"] for name, system in systems.items() if "names" in system}
    if any(names.get("rows") for names in named.values()):
        to.print(_names_table(named))
    for pair, gain in gains.items():
        p = gain.get("p_f5")
        to.print(
            f"{pair}: no test"
            if p is None
            else f"{pair}: paired bootstrap over documents, F5 differs with p = {p:.3g}"
        )


def _overall_table(systems: Report, view: str) -> Table:
    rows = []
    for name, system in systems.items():
        scores, time = system["views"][view], system["time"]
        # Predictions from elsewhere bring no times.
        speed = (
            f"{time['words_per_second']:.0f}{' (stored)' if time['stored'] else ''}"
            if time["seconds"]
            else "–"
        )
        cpu_speed = f"{time['words_per_cpu_second']:.0f}" if time["cpu_seconds"] else "–"
        others = [_number(scores[matching].get("f5")) for matching in ("position", "tokens")]
        rows.append(
            [
                name,
                *_intervals(scores["bag"], *MEASURES),
                *others,
                *_covered(scores),
                speed,
                cpu_speed,
            ]
        )
    columns = "system | P | R | F1 | F5 | F5 position | F5 tokens | not wholly covered | clean touched | words/s | words/cpu s"
    return _grid(
        f"Exact match by text, {VIEW_TITLES.get(view, view)} (95 % intervals)", columns, rows
    )


def _label_table(systems: Report, view: str, labels: Row) -> Table:
    rows = []
    for label, name in product(labels, systems):
        found = systems[name]["views"][view]["per_label"][label]["bag"]
        counts = (str(found[kind]) for kind in ("tp", "fp", "fn"))
        scores = (
            _intervals(found, "precision", "recall", "f5")
            if found["support"]
            else ("no support", "", "")
        )
        rows.append([label, str(found["support"]), name, *counts, *scores])
    return _grid(
        f"By label, {VIEW_TITLES.get(view, view)}",
        "label | support | system | TP | FP | FN | P | R | F5",
        rows,
    )


def _subset_table(systems: Report, splits: Mapping[str, int]) -> Table:
    rows = []
    for name, split in (
        (name, split) for name, system in systems.items() for split in system["subsets"]
    ):
        found = systems[name]["subsets"][split]["all"]
        scores = _intervals(found["bag"], "precision", "recall", "f5")
        rows.append(
            [
                split,
                str(splits[split]),
                str(found["bag"]["support"]),
                name,
                *scores,
                *_covered(found),
            ]
        )
    columns = (
        "part | documents | support | system | P | R | F5 | incompletely covered | clean touched"
    )
    return _grid(f"By part of the data set (seed_split), {VIEW_TITLES['all']}", columns, rows)


def _exposure_table(systems: Report) -> Table:
    rows = []
    for name, system in systems.items():
        view = system["views"]["all"]
        found = view["exposure"]
        recalls = _intervals(found, "character_recall", "label_blind_recall")
        alarms = [str(found["false_alarms"]), _interval(found, "false_alarms_per_10000_words")]
        rows.append([name, _number(view["overlap"].get("f5")), *recalls, *alarms])
    columns = "system | F5 overlap | character recall | recall whatever the label | false alarms | per 10,000 words"
    return _grid(
        "What stays visible, and what is hidden for nothing, all labels (95 % intervals)",
        columns,
        rows,
    )


def _roles_table(systems: Report) -> Table:
    rows: list[Row] = []
    for name, system in systems.items():
        roles = system.get("roles", {"per_role": {}})
        for role, found in roles["per_role"].items():
            if found["support"] or found["fp"]:
                rows.append(
                    [
                        role,
                        name,
                        str(found["support"]),
                        *_intervals(found, "precision", "recall", "f1"),
                    ]
                )
        if "found" in roles:
            rows += [
                [
                    "right, of those found",
                    name,
                    str(roles["found"]),
                    "",
                    "",
                    _interval(roles, "accuracy"),
                ],
                [],
            ]
    return _grid("Roles of names (95 % intervals)", "role | system | support | P | R | F1", rows)


def _names_table(named: Report) -> Table:
    rows = []
    for name, row in (
        (name, row) for name, names in named.items() for row in names.get("rows", ())
    ):
        test = (
            (f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"])
            if "u" in row
            else ("–", "–", "–")
        )
        rows.append(
            [
                row["group"],
                name,
                str(row["total"]),
                _interval(row, "recall"),
                _interval(row, "gap", "+"),
                *test,
            ]
        )
    source = next(iter(named.values()))["source"]
    title = f"Recall by gender and culture of the name ({source}); Mann-Whitney against the rest"
    return _grid(title, "group | system | names | recall | less the rest | U | p | ", rows)
