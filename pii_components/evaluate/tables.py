"""Metrics files as tables: in the terminal (rich) and in Markdown. Takes plain data as it is in the file, so that an old one can be shown again.

print_score(json.loads(Path("metrics/crapii.json").read_text()))
print(markdown_table([json.loads(Path("metrics/crapii.json").read_text())]))
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ..errors import PiiError

MEASURES = ("precision", "recall", "f1", "f5")
VIEW_TITLES = {"all": "all labels", "four": "four types (NAME, URL, EMAIL, PHONE), as in the JEDM paper"}
Report = Mapping[str, Any]


# --- what the commands share


def run_command(function: Callable[..., Any]) -> None:
    """Run a function as a command of its own; its arguments are options (typer). A coded error is one line, and code 1."""
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(function)
    try:
        app()
    except PiiError as err:
        Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(str(err))
        sys.exit(1)


def shown_command(module: str, arguments: Sequence[str]) -> str:
    """RETURNS (str): The command for a metrics file, without folders, since they tell about a machine and its user."""
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(name + equals + (Path(value).name or value))
    return " ".join(["python -m", module, *shown])


def split_list(text: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """YIELDS (Callable[[], None]): To be called after each of `total` steps; a bar on the terminal, nothing where there is none."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def console() -> Console:
    """RETURNS (Console): On standard output; wide enough for the tables where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


# --- Markdown

HEAD = ("system", "labels", "support", "P", "R", "F1", "F5 (95 % interval)", "PII left in", "clean essays touched")


def cell(score: Report, name: str, *, interval: bool = False) -> str:
    """RETURNS (str): A number with three digits, with its interval if asked; a dash where there is no support."""
    if name not in score:
        return "-"
    low, high = score[f"{name}_95"]
    return f"{score[name]:.3f}" + (f" ({low:.3f} to {high:.3f})" if interval else "")


def lines_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """RETURNS (list[str]): A table of Markdown, line by line."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def markdown_table(reports: Sequence[Report], *, subset: str = "", control: bool = False) -> str:
    """What `pii-edu evaluate table` prints.

    reports (Sequence[Report]): One row per system and set of labels, of what `compare`, `run`, `score` and `crossval` wrote; what the scripts
    fairness, windows and presidio_samples wrote makes a table of its own form. subset (str): A part of the data (seed_split); all if empty.
    control (bool): Show the random-veto control (scripts/veto.py) instead. RETURNS (str): Lines, without a line break at the end.
    """
    if control:
        return "\n".join(line for report in reports if report.get("control") for line in control_lines(report["control"]))
    first = reports[0] if reports else {}
    if "groups" in first:
        return fairness_table(first)
    if first.get("kind") == "presidio":
        return "\n".join(lines_of(*presidio_rows(first)))
    if first.get("kind") == "windows":
        return "\n".join(lines_of(*windows_rows(first)))
    return _score_table(reports, subset)


def _score_table(reports: Sequence[Report], subset: str) -> str:
    rows: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        for name, system in report["systems"].items():
            ours = "pii_ner" in json.dumps(system["about"])
            shown = f"{name}, profile {report['profile']}" if ours else name
            part = system["subsets"][subset] if subset else system["views"]
            for view in (view for view in report["views"] if view in part):
                bag, cover = part[view]["bag"], part[view]["coverage"]
                scores = [*(cell(bag, m) for m in ("precision", "recall", "f1")), cell(bag, "f5", interval=True)]
                rows.setdefault((shown, view), [shown, view, str(bag["support"]), *scores, *_covered(cover)])
    lines = lines_of(HEAD, list(rows.values()))
    ratios = {pair: ratio for report in reports for pair, ratio in report["speed_ratio"].items()}
    if ratios and not subset:
        said = "; ".join(f"{pair} {ratio['words_per_second']:.2f}" for pair, ratio in ratios.items())
        lines += ["", f"Words per second in the same run: {said}."]
    return "\n".join(lines)


def _covered(cover: Report) -> tuple[str, str]:
    return (
        f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
        f"{cover['clean_touched']} of {cover['clean_documents']}",
    )


def fairness_table(report: Report) -> str:
    """RETURNS (str): What scripts/fairness.py wrote: recall per gender and culture, and how far from the rest."""
    rows = []
    for category in ("gender", "culture"):
        for name, found in report["groups"][category].items():
            low, high = found["gap_95"]
            gap = f"{found['gap']:+.3f} ({low:+.3f} to {high:+.3f})"
            rows.append([name, str(found["names"]), str(found["people"]), cell(found, "recall", interval=True), gap])
    asked = report["asked"]
    told = (
        f"No group more than {asked['most_below']} below the rest, on {asked['least_names']} names a group: "
        f"{'holds' if asked['holds'] else 'does not hold'}; the worst is {asked['worst'].split(' ', 1)[1]}."
    )
    head = ("names", "mentions", "people", "recall (95 % interval)", "less the rest (95 % interval)")
    return "\n".join([*lines_of(head, rows), "", told])


def presidio_rows(report: Report) -> tuple[list[str], list[list[str]]]:
    """RETURNS (tuple): Head and rows of what scripts/presidio_samples.py wrote: for each analyzer results, how many are right, and gold that is
    left in clear; a dash for what the gold does not label."""
    systems, gold = report["systems"], report["gold"]
    head = ["Presidio's entity", "in the essays"]
    head += [f"{name}: {what}" for name in systems for what in ("results", "right", "left in clear")]
    rows = []
    for entity in dict.fromkeys((*gold, *sorted({e for system in systems.values() for e in system["entities"]}))):
        cells = [entity, str(gold.get(entity, 0))]
        for system in systems.values():
            counts = system["entities"].get(entity, {"results": 0, "right": 0})
            judged = [str(counts["right"]), str(system["missed"].get(entity, 0))] if entity in gold else ["–", "–"]
            cells += [str(counts["results"]), *judged]
        rows.append(cells)
    cited = [cell for system in systems.values() for cell in (f"{system['cited_as_person']} called PERSON", "", "")]
    return head, [*rows, ["authors and characters", str(report["gold_cited"]), *cited]]


def windows_rows(report: Report) -> tuple[list[str], list[list[str]]]:
    """RETURNS (tuple): Head and rows of what scripts/windows.py wrote: share of the tokens of each label that is hidden."""
    head = ["system", "label", "tokens", "texts", "hidden (95 % interval)", "under this label (95 % interval)"]
    rows = []
    for label, found in report["labels"].items():
        shares = [cell(found, name, interval=True) for name in ("hidden", "right")]
        shown = "none" if label == "O" else label
        rows.append([report["system"]["name"], shown, str(found["support"]), str(found["texts"]), *shares])
    return head, rows


# --- the verifier against vetoes at random, as scripts/veto.py computes it

CONTROL_HEAD = ("labels", "system", "names", "P", "R", "F1", "F5")
RECALL_HEAD = ("labels", "recall, at least", "P of the verifier", "P in a random order")
WAYS = {
    "names": "as many names at random",
    "people": "as many people at random",
    "readded": "strict verifier, names re-added at random",
}


def control_lines(control: Report) -> list[str]:
    """RETURNS (list[str]): All of it as Markdown."""
    lines = [*lines_of(CONTROL_HEAD, control_rows(control)), "", control_note(control), ""]
    lines += [*lines_of(RECALL_HEAD, recall_rows(control)), ""]
    return lines + [f"- {line}" for line in check_lines(control)]


def control_rows(control: Report) -> list[list[str]]:
    """RETURNS (list[list[str]]): Cells under `CONTROL_HEAD`, per set of labels: without, with the verifier, and by chance: mean, 95 % range,
    and the share of draws that the verifier is above."""
    rows = []
    for view, found in control["views"].items():
        for name in ("unverified", "verified"):
            rows.append([view, name, str(found[name]["names"]), *(_three(found[name][m]) for m in MEASURES)])
        for way, shown in WAYS.items():
            drawn = found["control"][way]
            rows.append([view, shown, f"{drawn['drawn']} of {drawn['of']}", *(_place(drawn[m]) for m in MEASURES)])
    return rows


def recall_rows(control: Report) -> list[list[str]]:
    """RETURNS (list[list[str]]): Per set of labels: recall, precision of the verifier at it, and of names in a random order."""
    views = control["views"].items()
    return [
        [view, _three(at["recall"]), _three(at["precision"]), _place(at["control"])]
        for view, v in views
        for at in v["at_recall"]
    ]


def check_lines(control: Report) -> list[str]:
    """RETURNS (list[str]): Per set of labels, whether the verifier keeps the recall, with the figures."""
    lines = []
    for view, found in control["views"].items():
        check = found["check"]
        if check["holds"] is not None:
            low, high = check["difference_95"]
            lines.append(
                f"{view}: recall of verified not below unverified by more than {control['about']['allowed']:g}: "
                f"{'holds' if check['holds'] else 'does not hold'} ({check['verified']:.4f} against {check['unverified']:.4f}; "
                f"95 % interval of the difference {low:+.4f} to {high:+.4f})"
            )
    return lines


def control_note(control: Report) -> str:
    """RETURNS (str): What the rows by chance show."""
    about = control["about"]
    return (
        f"By chance: mean and 95 % range of {about['draws']} draws, then the share of draws below the verified system, ties by half. "
        f"The strict verifier takes {about['strict']:g} for its threshold."
    )


def _three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _place(found: Report | None) -> str:
    if found is None:
        return "-"
    low, high = found["range_95"]
    return f"{found['mean']:.3f} ({low:.3f} to {high:.3f}); {found['above']:.3f}"


# --- the terminal


def grid(title: str, *columns: str, left: int | Sequence[str] = 1) -> Table:
    """RETURNS (Table): Empty; the first `left` columns, or those of these names, are to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if (i < left if isinstance(left, int) else name in left) else "right")
    return table


def number(value: float | None, *, signed: bool = False) -> str:
    """RETURNS (str): Three digits, or a dash where there is no value."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def interval(scores: Report, name: str, *, signed: bool = False) -> str:
    """RETURNS (str): A value and its interval, or a dash."""
    if scores.get(name) is None:
        return "–"
    low, high = scores[f"{name}_95"]
    return f"{number(scores[name], signed=signed)} [dim]{number(low, signed=signed)}..{number(high, signed=signed)}[/dim]"


def test_cells(row: Report) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): U, p and stars; dashes where there is no test."""
    return (f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"]) if "u" in row else ("–", "–", "–")


def print_score(report: Report, *, to: Console | None = None) -> None:
    """Print everything that `report.score_report` has, with command and data. to (Console | None): Standard output if missing."""
    to = to or console()
    data, systems = report["data"], report["systems"]
    pii = f"{data['documents']} documents, {data['documents_with_pii']} with PII, {data['words']} words"
    to.print(f"{data['file']}  sha256 {data['sha256'][:12]}…  {pii}")
    for view in report["views"]:
        to.print(_overall_table(systems, view))
        to.print(_label_table(systems, view, report["views"][view]))
    if any(system["subsets"] for system in systems.values()):
        to.print(_subset_table(systems, data["splits"]))
    for pair, views in report["differences"].items():
        gains = [
            f"{shown} {interval(views['all']['bag'], m, signed=True)}"
            for shown, m in (("F5", "f5"), ("precision", "precision"))
        ]
        to.print(f"{pair}, all labels: {', '.join(gains)}")
    for pair, ratio in report["speed_ratio"].items():
        to.print(
            f"{pair}, words per second: {ratio['words_per_second']}, per processor second: {ratio['words_per_cpu_second']}"
        )
    to.print(_exposure_table(systems))
    if any("roles" in system for system in systems.values()):
        to.print(_roles_table(systems))
    if any(system.get("names", {}).get("rows") for system in systems.values()):
        to.print(_names_table(systems))
    for pair, views in report["differences"].items():
        p = views["all"]["bag"].get("p_f5")
        to.print(f"{pair}: no test" if p is None else f"{pair}: paired bootstrap over documents, F5 differs with p = {p:.3g}")


def _overall_table(systems: Report, view: str) -> Table:
    columns = (
        "P",
        "R",
        "F1",
        "F5",
        "F5 position",
        "F5 tokens",
        "not wholly covered",
        "clean touched",
        "words/s",
        "words/cpu s",
    )
    table = grid(f"Exact match by text, {VIEW_TITLES.get(view, view)} (95 % intervals)", "system", *columns)
    for name, system in systems.items():
        scores, time = system["views"][view], system["time"]
        # Predictions from elsewhere bring no times.
        speed = f"{time['words_per_second']:.0f}{' (stored)' if time['stored'] else ''}" if time["seconds"] else "–"
        table.add_row(
            name, *(interval(scores["bag"], measure) for measure in MEASURES),
            *(number(scores[matching].get("f5")) for matching in ("position", "tokens")), *_covered(scores["coverage"]),
            speed, f"{time['words_per_cpu_second']:.0f}" if time["cpu_seconds"] else "–",
        )  # fmt: skip
    return table


def _label_table(systems: Report, view: str, labels: Sequence[str]) -> Table:
    columns = ("label", "support", "system", "TP", "FP", "FN", "P", "R", "F5")
    table = grid(f"By label, {VIEW_TITLES.get(view, view)}", *columns, left=("label", "system"))
    for label in labels:
        for name, system in systems.items():
            found = system["views"][view]["per_label"][label]["bag"]
            values = [interval(found, measure) for measure in ("precision", "recall", "f5")]
            counts = (str(found[kind]) for kind in ("tp", "fp", "fn"))
            table.add_row(
                label, str(found["support"]), name, *counts, *(values if found["support"] else ["no support", "", ""])
            )
    return table


def _subset_table(systems: Report, splits: Mapping[str, int]) -> Table:
    title = f"By part of the data set (seed_split), {VIEW_TITLES['all']}"
    columns = ("part", "documents", "support", "system", "P", "R", "F5", "incompletely covered", "clean touched")
    table = grid(title, *columns, left=("part", "system"))
    for name, system in systems.items():
        for split, views in system["subsets"].items():
            found, cover = views["all"]["bag"], views["all"]["coverage"]
            scores = (interval(found, measure) for measure in ("precision", "recall", "f5"))
            table.add_row(split, str(splits[split]), str(found["support"]), name, *scores, *_covered(cover))
    return table


def _exposure_table(systems: Report) -> Table:
    columns = ("system", "F5 overlap", "character recall", "recall whatever the label", "false alarms", "per 10,000 words")
    table = grid("What stays visible, and what is hidden for nothing, all labels (95 % intervals)", *columns)
    for name, system in systems.items():
        view = system["views"]["all"]
        found = view["exposure"]
        recalls = (interval(found, measure) for measure in ("character_recall", "label_blind_recall"))
        alarms = interval(found, "false_alarms_per_10000_words")
        table.add_row(name, number(view["overlap"].get("f5")), *recalls, str(found["false_alarms"]), alarms)
    return table


def _roles_table(systems: Report) -> Table:
    table = grid("Roles of names (95 % intervals)", "role", "system", "support", "P", "R", "F1", left=2)
    for name, system in systems.items():
        roles = system.get("roles")
        if roles is None:
            continue
        for role, found in roles["per_role"].items():
            if found["support"] or found["fp"]:
                table.add_row(role, name, str(found["support"]), *(interval(found, m) for m in ("precision", "recall", "f1")))
        table.add_row("right, of those found", name, str(roles["found"]), "", "", interval(roles, "accuracy"), end_section=True)
    return table


def _names_table(systems: Report) -> Table:
    source = next(system["names"]["source"] for system in systems.values() if "names" in system)
    title = f"Recall by gender and culture of the name ({source}); Mann-Whitney against the rest"
    table = grid(title, "group", "system", "names", "recall", "less the rest", "U", "p", "", left=2)
    for name, system in systems.items():
        for row in system.get("names", {}).get("rows", ()):
            shown = (row["group"], name, str(row["total"]), interval(row, "recall"), interval(row, "gap", signed=True))
            table.add_row(*shown, *test_cells(row))
    return table
