"""A report as tables in the terminal (rich).

Takes plain data as it is in the metrics file, so that an old file can be shown again.

    print_report(json.loads(Path("metrics/crapii.json").read_text()))
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import Errors, PiiError
from . import veto

# What the commands of this folder share: errors on one line, options that are lists, a progress bar, the command as shown


def run_command(function: Callable[..., Any]) -> None:
    """Run a function as a command of its own; its arguments are options (typer). A coded error is one line, and code 1.

    function (Callable[..., Any]): With annotations that typer reads.
    """
    import typer
    from rich.console import Console

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(function)
    try:
        app()
    except PiiError as err:
        Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(str(err))
        sys.exit(1)


def shown_command(module: str, arguments: Sequence[str]) -> str:
    """The command for a metrics file: folders are left out, since they tell about a machine and its user.

    module (str): Name of the module. arguments (Sequence[str]): As given.
    RETURNS (str): For example `python -m pii_components.evaluate.compare --gold essays.jsonl`.
    """
    shown = []
    for argument in arguments:
        name, equals, value = argument.rpartition("=")
        shown.append(name + equals + (Path(value).name or value))
    return " ".join(["python -m", module, *shown])


def split_list(text: str) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): Parts between commas, without white space around them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def split_name(text: str, default: str = "") -> tuple[str, str]:
    """`NAME=VALUE`, or a value whose name is the default.

    text (str): As given. default (str): Name where there is none; empty if there must be one.
    RETURNS (tuple[str, str]): Name and value. RAISES (PiiError): E708, if one is missing.
    """
    name, equals, value = text.partition("=")
    if not equals:
        name, value = default, text
    if not name or not value:
        raise PiiError(Errors.E708, got=Path(text).name)
    return name, value


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on the terminal; nothing where there is none.

    title (str): What is being done. total (int): Number of steps.
    YIELDS (Callable[[], None]): To be called after each step.
    """
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


# A metrics file as a Markdown table: `python -m pii_components.evaluate.tables metrics/essays_sample.json`.

HEAD = ("system", "labels", "support", "P", "R", "F1", "F5 (95 % interval)", "PII left in", "clean essays touched")


def cell(score: Mapping[str, Any], name: str, *, interval: bool = False) -> str:
    """RETURNS (str): A number with three digits, with its interval if asked; a dash where there is no support."""
    if name not in score:
        return "-"
    low, high = score[f"{name}_95"]
    return f"{score[name]:.3f}" + (f" ({low:.3f} to {high:.3f})" if interval else "")


def table_row(name: str, view: str, scores: Mapping[str, Any]) -> list[str]:
    """RETURNS (list[str]): The cells of a system's row. name (str): Shown. view (str): Shown. scores (Mapping): One view."""
    bag, cover = scores["bag"], scores["coverage"]
    return [
        name,
        view,
        str(bag["support"]),
        cell(bag, "precision"),
        cell(bag, "recall"),
        cell(bag, "f1"),
        cell(bag, "f5", interval=True),
        f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
        f"{cover['clean_touched']} of {cover['clean_documents']}",
    ]


def lines_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """RETURNS (list[str]): A table of Markdown, line by line. head (Sequence[str]): Columns. rows (Sequence[Sequence[str]]): Cells."""
    return [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fairness_table(report: Mapping[str, Any]) -> str:
    """RETURNS (str): What `pii-edu evaluate fairness` wrote, as Markdown: recall per gender and culture, and how far from the rest."""
    rows = []
    for category in ("gender", "culture"):
        for name, found in report["groups"][category].items():
            low, high = found["gap_95"]
            gap = f"{found['gap']:+.3f} ({low:+.3f} to {high:+.3f})"
            rows.append([name, str(found["names"]), str(found["people"]), cell(found, "recall", interval=True), gap])
    asked = report["asked"]
    verdict = "holds" if asked["holds"] else "does not hold"
    head = ("names", "mentions", "people", "recall (95 % interval)", "less the rest (95 % interval)")
    told = (
        f"No group more than {asked['most_below']} below the rest, on {asked['least_names']} names a group: {verdict}; the worst is "
        f"{asked['worst'].split(' ', 1)[1]}."
    )
    return "\n".join([*lines_of(head, rows), "", told])


def control_table(reports: Sequence[Mapping[str, Any]]) -> str:
    """RETURNS (str): The random-veto control of `pii-edu evaluate crossval`, as Markdown; empty without any."""
    parts = []
    for report in reports:
        if control := report.get("control"):
            parts += [*lines_of(veto.HEAD, veto.control_rows(control)), "", veto.note(control), ""]
            parts += [*lines_of(veto.RECALL_HEAD, veto.recall_rows(control)), ""]
            parts += [f"- {line}" for line in veto.check_lines(control)]
    return "\n".join(parts)


def markdown_table(reports: Sequence[Mapping[str, Any]], *, subset: str = "", control: bool = False) -> str:
    """One row per report, system and set of labels.

    reports (Sequence[Mapping[str, Any]]): What `compare` wrote. subset (str): A part of the data (seed_split); all if empty. control (bool):
        Whether to show the random-veto control of `crossval` instead.
    RETURNS (str): Lines of Markdown, without a line break at the end. What `fairness` wrote makes a table of its own form.
    """
    if control:
        return control_table(reports)
    if reports and "groups" in reports[0]:
        return fairness_table(reports[0])
    rows = [list(HEAD), ["---"] * len(HEAD)]
    seen = set()
    for report in reports:
        for name, system in report["systems"].items():
            ours = "pii_ner" in json.dumps(system["about"])
            shown = f"{name}, profile {report['profile']}" if ours else name
            part = system["subsets"][subset] if subset else system["views"]
            for view in report["views"]:
                if (shown, view) not in seen and view in part:
                    seen.add((shown, view))
                    rows.append(table_row(shown, view, part[view]))
    lines = [_line(row) for row in rows]
    ratios = {pair: ratio for report in reports for pair, ratio in report["speed_ratio"].items()} if not subset else {}
    if ratios:
        said = "; ".join(f"{pair} {ratio['words_per_second']:.2f}" for pair, ratio in ratios.items())
        lines += ["", f"Words per second in the same run: {said}."]
    return "\n".join(lines)


def markdown(
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Metrics files that compare wrote.")],
    subset: Annotated[str, typer.Option(help="A part of the data (seed_split).")] = "",
    control: Annotated[bool, typer.Option("--control", help="Show the verifier against vetoes at random (crossval).")] = False,
) -> None:
    """Print metrics files as a Markdown table."""
    typer.echo(markdown_table([json.loads(path.read_text("utf8")) for path in files], subset=subset, control=control))


if __name__ == "__main__":
    run_command(markdown)


VIEW_TITLES = {"all": "all labels", "four": "four types (NAME, URL, EMAIL, PHONE), as in the JEDM paper"}
MEASURES = ("precision", "recall", "f1", "f5")


def console() -> Console:
    """RETURNS (Console): On standard output; wide enough for the tables where that is no terminal."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


def print_report(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print the tables of a comparison.

    report (Mapping[str, Any]): From `compare` or a metrics file. to (Console | None): Where to; standard output if missing.
    """
    to = to or console()
    data = report["data"]
    to.print(
        f"{data['file']}  sha256 {data['sha256'][:12]}…  {data['documents']} documents, {data['documents_with_pii']} "
        f"with PII, {data['words']} words"
    )
    for view in report["views"]:
        to.print(overall_table(report, view))
        to.print(label_table(report, view))
    if any(system["subsets"] for system in report["systems"].values()):
        to.print(subset_table(report, "all"))
    for pair, views in report["differences"].items():
        gain = views["all"]["bag"]
        to.print(
            f"{pair}, all labels: F5 {interval(gain, 'f5', signed=True)}, precision {interval(gain, 'precision', signed=True)}"
        )
    for pair, ratio in report["speed_ratio"].items():
        to.print(
            f"{pair}, words per second: {ratio['words_per_second']}, per processor second: {ratio['words_per_cpu_second']}"
        )


def overall_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per system: scores with intervals, coverage, speed."""
    table = Table(title=f"Exact match by text, {VIEW_TITLES.get(view, view)} (95 % intervals)", title_justify="left")
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
    for name in ("system", *columns):
        table.add_column(name, justify="left" if name == "system" else "right")
    for name, system in report["systems"].items():
        scores = system["views"][view]
        cover, time = scores["coverage"], system["time"]
        table.add_row(
            name,
            *(interval(scores["bag"], measure) for measure in MEASURES),
            *(number(scores[matching].get("f5")) for matching in ("position", "tokens")),
            f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
            f"{cover['clean_touched']} of {cover['clean_documents']}",
            # Predictions from elsewhere bring no times.
            f"{time['words_per_second']:.0f}{' (stored)' if time['stored'] else ''}" if time["seconds"] else "–",
            f"{time['words_per_cpu_second']:.0f}" if time["cpu_seconds"] else "–",
        )
    return table


def label_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per label and system; where there is no support, only counts."""
    table = Table(title=f"By label, {VIEW_TITLES.get(view, view)}", title_justify="left")
    for name in ("label", "support", "system", "TP", "FP", "FN", "P", "R", "F5"):
        table.add_column(name, justify="left" if name in ("label", "system") else "right")
    for label in report["views"][view]:
        for name, system in report["systems"].items():
            found = system["views"][view]["per_label"][label]["bag"]
            values = (
                [interval(found, measure) for measure in ("precision", "recall", "f5")]
                if found["support"]
                else ["no support", "", ""]
            )
            table.add_row(label, str(found["support"]), name, str(found["tp"]), str(found["fp"]), str(found["fn"]), *values)
    return table


def subset_table(report: Mapping[str, Any], view: str) -> Table:
    """RETURNS (Table): One row per part of the data set and system."""
    table = Table(title=f"By part of the data set (seed_split), {VIEW_TITLES.get(view, view)}", title_justify="left")
    for name in ("part", "documents", "support", "system", "P", "R", "F5", "incompletely covered", "clean touched"):
        table.add_column(name, justify="left" if name in ("part", "system") else "right")
    for name, system in report["systems"].items():
        for split, views in system["subsets"].items():
            found, cover = views[view]["bag"], views[view]["coverage"]
            table.add_row(
                split,
                str(report["data"]["splits"][split]),
                str(found["support"]),
                name,
                *(interval(found, measure) for measure in ("precision", "recall", "f5")),
                f"{cover['incompletely_covered']} of {cover['documents_with_pii']}",
                f"{cover['clean_touched']} of {cover['clean_documents']}",
            )
    return table


def number(value: float | None, *, signed: bool = False) -> str:
    """RETURNS (str): Three digits, or a dash where there is no value."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def interval(scores: Mapping[str, Any], name: str, *, signed: bool = False) -> str:
    """RETURNS (str): A value and its interval, or a dash."""
    if scores.get(name) is None:
        return "–"
    low, high = scores[f"{name}_95"]
    return f"{number(scores[name], signed=signed)} [dim]{number(low, signed=signed)}..{number(high, signed=signed)}[/dim]"


def counts_table(title: str, rows: Mapping[str, Mapping[str, int]], *, first: str, columns: Sequence[str]) -> Table:
    """A table of counts.

    title (str): Above it. rows (Mapping[str, Mapping[str, int]]): Counts by column, by row. first (str): Heading of the rows.
    columns (Sequence[str]): Headings; a count that is missing is 0.
    RETURNS (Table): Without columns that are 0 everywhere.
    """
    used = [name for name in columns if any(counts.get(name) for counts in rows.values())]
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in used:
        table.add_column(name, justify="right")
    for row, counts in rows.items():
        table.add_row(row, *(str(counts.get(name, 0)) for name in used))
    return table


# What stands beside the tables of a comparison: characters left in clear, false alarms, roles, groups of names, paired di


def print_score(report: Mapping[str, Any], *, to: Console | None = None) -> None:
    """Print everything that `scoring.score_report` has.

    report (Mapping[str, Any]): With command and data. to (Console | None): Where to; standard output if missing.
    """
    to = to or console()
    print_report(report, to=to)
    to.print(exposure_table(report))
    systems = report["systems"]
    if any("roles" in system for system in systems.values()):
        to.print(roles_table(systems))
    if any(system.get("names", {}).get("rows") for system in systems.values()):
        to.print(names_table(systems))
    for pair, views in report["differences"].items():
        p = views["all"]["bag"].get("p_f5")
        to.print(
            f"{pair}: paired bootstrap over documents, F5 differs with p = {p:.3g}" if p is not None else f"{pair}: no test"
        )


def exposure_table(report: Mapping[str, Any]) -> Table:
    """RETURNS (Table): What a reader would still see, and what is hidden for nothing."""
    columns = ("system", "F5 overlap", "character recall", "recall whatever the label", "false alarms", "per 10,000 words")
    out = grid("What stays visible, and what is hidden for nothing, all labels (95 % intervals)", *columns)
    for name, system in report["systems"].items():
        view = system["views"]["all"]
        found = view["exposure"]
        out.add_row(
            name, number(view["overlap"].get("f5")), interval(found, "character_recall"), interval(found, "label_blind_recall"),
            str(found["false_alarms"]), interval(found, "false_alarms_per_10000_words"),
        )  # fmt: skip
    return out


def roles_table(systems: Mapping[str, Any]) -> Table:
    """RETURNS (Table): F1 per role."""
    out = grid("Roles of names (95 % intervals)", "role", "system", "support", "P", "R", "F1", left=2)
    for name, system in systems.items():
        roles = system.get("roles")
        if roles is None:
            continue
        for role, found in roles["per_role"].items():
            if found["support"] or found["fp"]:
                out.add_row(role, name, str(found["support"]), *(interval(found, m) for m in ("precision", "recall", "f1")))
        out.add_row("right, of those found", name, str(roles["found"]), "", "", interval(roles, "accuracy"), end_section=True)
    return out


def names_table(systems: Mapping[str, Any]) -> Table:
    """RETURNS (Table): Recall by gender and culture of the name."""
    source = next(system["names"]["source"] for system in systems.values() if "names" in system)
    title = f"Recall by gender and culture of the name ({source}); Mann-Whitney against the rest"
    out = grid(title, "group", "system", "names", "recall", "less the rest", "U", "p", "", left=2)
    for name, system in systems.items():
        for row in system.get("names", {}).get("rows", ()):
            shown = (row["group"], name, str(row["total"]), interval(row, "recall"), interval(row, "gap", signed=True))
            out.add_row(*shown, *test_cells(row))
    return out


def grid(title: str, *columns: str, left: int = 1) -> Table:
    """RETURNS (Table): Empty; the first `left` columns are to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right")
    return table


def test_cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """RETURNS (tuple[str, str, str]): U, p and stars; dashes where there is no test."""
    return (f"{row['u']:.0f}", f"{row['p']:.3g}", row["significance"]) if "u" in row else ("–", "–", "–")
