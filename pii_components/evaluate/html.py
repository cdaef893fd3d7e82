"""One page that people can look at, from metrics files: no script, no other file, no address outside of it.

    page = build_page({"essays.json": json.loads(...), "release.json": json.loads(...)})

Light and dark follow the reader's system. No text of an essay is in it, unless windows around errors are given (`with_text`).
"""

import html
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from ..about import __version__
from ..labels import is_name
from ..profiles import Profile
from . import veto
from .gold import CRAPII_LABELS, Entity, GoldDocument, choose_splits, file_sha256, read_gold
from .report import describe_data, versions, write_report
from .systems import PipelineSystem, Run, read_run, run_system
from .tables import console, counts_table, progress_bar, run_command, shown_command, split_list

# What kind of errors a pipeline makes, as counts: `python -m pii_components.evaluate.html`.

RIGHT = "right"
MISSED = "missed"
TOO_LONG, TOO_SHORT, SHIFTED = "too_long", "too_short", "shifted"
WRONG_ROLE, WRONG_LABEL = "wrong_role", "wrong_label"
SPURIOUS = "spurious"
KINDS = (RIGHT, MISSED, TOO_LONG, TOO_SHORT, SHIFTED, WRONG_ROLE, WRONG_LABEL, SPURIOUS)
FACETS = ("position", "case", "words", "layout")
_EDGE = 200  # characters; 59 % of CRAPII's names start within the first 200 (PEERS.md, section B4)


@dataclass(frozen=True, slots=True)
class Finding:
    """One gold entity, or one spurious prediction, without its text.

    label (str): Of the gold entity; of the prediction if it is spurious. kind (str): One of `KINDS`.
    position (str): header, body, sign-off. case (str): lower, UPPER, Title, mixed, none. words (str): 1, 2, 3+.
    layout (str): own line, glued (to a letter, a digit or "_"), in line.
    """

    label: str
    kind: str
    position: str
    case: str
    words: str
    layout: str


def judge(document: GoldDocument, predicted: Sequence[Entity], labels: Iterable[str] = CRAPII_LABELS) -> list[Finding]:
    """Findings of one document.

    document (GoldDocument): Text and gold. predicted (Sequence[Entity]): All predictions in it, also of other labels (roles).
    labels (Iterable[str]): Labels that count.
    RETURNS (list[Finding]): Gold entities in their order, then spurious predictions in theirs.
    """
    counted = frozenset(labels)
    gold = [entity for entity in document.entities if entity.label in counted]
    findings = [describe(document, entity, kind_of(entity, predicted)) for entity in gold]
    spurious = [p for p in predicted if p.label in counted and not any(overlap(p, entity) for entity in document.entities)]
    return findings + [describe(document, entity, SPURIOUS) for entity in spurious]


def kind_of(gold: Entity, predicted: Sequence[Entity]) -> str:
    """How a gold entity was found: judged by the prediction of its label that shares most characters, else of any label.

    gold (Entity): Annotated. predicted (Sequence[Entity]): In the same document.
    RETURNS (str): One of `KINDS`, without SPURIOUS.
    """
    touching = [entity for entity in predicted if overlap(gold, entity)]
    if not touching:
        return MISSED
    best = max(touching, key=lambda p: (p.label == gold.label, overlap(gold, p), -(p.end - p.start), -p.start))
    if best.label != gold.label:
        return WRONG_ROLE if is_name(best.label) and is_name(gold.label) else WRONG_LABEL
    if (best.start, best.end) == (gold.start, gold.end):
        return RIGHT
    if best.start <= gold.start and best.end >= gold.end:
        return TOO_LONG
    if best.start >= gold.start and best.end <= gold.end:
        return TOO_SHORT
    return SHIFTED


def overlap(first: Entity, second: Entity) -> int:
    """RETURNS (int): Number of characters that two entities of one document share."""
    return max(0, min(first.end, second.end) - max(first.start, second.start))


def describe(document: GoldDocument, entity: Entity, kind: str) -> Finding:
    """RETURNS (Finding): Where and how an entity stands."""
    text = document.text[entity.start : entity.end]
    return Finding(
        label=entity.label,
        kind=kind,
        position=position_of(entity.start, len(document.text)),
        case=case_of(text),
        words={0: "1", 1: "1", 2: "2"}.get(len(text.split()), "3+"),
        layout=layout_of(document.text, entity.start, entity.end),
    )


def position_of(start: int, length: int) -> str:
    """RETURNS (str): header for the first 200 characters, sign-off for the last 200, else body; a short text is all header."""
    if start < _EDGE:
        return "header"
    return "sign-off" if start >= length - _EDGE else "body"


def case_of(text: str) -> str:
    """RETURNS (str): How the letters are written: lower, UPPER, Title, mixed; none without letters."""
    if not any(char.isalpha() for char in text):
        return "none"
    for name, test in (("lower", str.islower), ("UPPER", str.isupper), ("Title", str.istitle)):
        if test(text):
            return name
    return "mixed"


def layout_of(text: str, start: int, end: int) -> str:
    """RETURNS (str): own line if it stands alone on it; glued if a letter, digit or "_" touches it; else in line."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if any(char.isalnum() or char == "_" for char in before + after):
        return "glued"
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    rest = text[line_start:start] + text[end : len(text) if line_end < 0 else line_end]
    return "in line" if rest.strip() else "own line"


def summarize(findings: Iterable[Finding]) -> dict[str, Any]:
    """Counts of kinds per label, and per label and facet.

    findings (Iterable[Finding]): Of all documents.
    RETURNS (dict[str, Any]): `kinds[label][kind]` and `facets[facet][label][value][kind]`.
    """
    findings = list(findings)
    kinds: dict[str, Counter[str]] = {}
    facets: dict[str, dict[str, dict[str, Counter[str]]]] = {facet: {} for facet in FACETS}
    for finding in findings:
        kinds.setdefault(finding.label, Counter())[finding.kind] += 1
        for facet in FACETS:
            values = facets[facet].setdefault(finding.label, {})
            values.setdefault(getattr(finding, facet), Counter())[finding.kind] += 1
    return {
        "kinds": {label: in_order(counts) for label, counts in sorted(kinds.items())},
        "facets": {
            facet: {
                label: {value: in_order(counts) for value, counts in sorted(values.items())}
                for label, values in sorted(labels.items())
            }
            for facet, labels in facets.items()
        },
    }


def in_order(counts: Counter[str]) -> dict[str, int]:
    """RETURNS (dict[str, int]): Counts in the order of `KINDS`, without zeros."""
    return {kind: counts[kind] for kind in KINDS if counts[kind]}


def judge_all(run: Run, documents: Sequence[GoldDocument]) -> list[Finding]:
    """RETURNS (list[Finding]): Findings of all documents."""
    by_document: dict[str, list[Entity]] = {}
    for entity in run.entities:
        by_document.setdefault(entity.document, []).append(entity)
    return [finding for doc in documents for finding in judge(doc, by_document.get(doc.id, []))]


def errors(
    *,
    gold: Annotated[Path, typer.Option(help="Labelled essays: .json or .jsonl with tokens, trailing_whitespace, labels.")],
    pipeline: Annotated[str, typer.Option(help="Pipeline: name of a package or path.")] = "en_pii_edu",
    stored: Annotated[Path | None, typer.Option(help="Stored predictions instead of a pipeline.")] = None,
    splits: Annotated[str, typer.Option(help="Only these parts of the data (seed_split), with commas between them.")] = "",
    out: Annotated[Path | None, typer.Option(help="File for the counts (JSON).")] = None,
) -> None:
    """Count kinds of errors per label: no text is shown or written."""
    sha256 = file_sha256(gold)
    documents = choose_splits(read_gold(gold), split_list(splits))
    if stored is not None:
        run = read_run(stored, documents, data_sha256=sha256)
    else:
        system = PipelineSystem.load(pipeline, protects=Profile.load("crapii").protects)
        with progress_bar(system.name, len(documents)) as advance:
            run = run_system(system, documents, progress=advance)
    counts = summarize(judge_all(run, documents))
    report = {
        "command": shown_command("pii_components.evaluate.html", sys.argv[1:]),
        "data": describe_data(documents, file=gold.name, sha256=sha256),
        "versions": versions(),
        "system": {"name": run.name, "about": dict(run.about)},
    } | counts
    to = console()
    to.print(counts_table("Kinds of findings by label", counts["kinds"], first="label", columns=KINDS))
    for facet in FACETS:
        by_label = counts["facets"][facet]
        rows = {f"{label}: {value}": c for label, values in by_label.items() for value, c in values.items()}
        to.print(counts_table(f"By {facet}", rows, first=f"label: {facet}", columns=KINDS))
    if out is not None:
        write_report(report, out)


if __name__ == "__main__":
    run_command(errors)


# Pieces of the report: escaped text, tables, numbers with intervals. Pure functions from plain data to HTML.

DASH = "–"


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that is safe as it is; every other text is escaped where it is put in. text (str): The HTML."""

    text: str


Cell = str | int | float | Markup | None


def escape(value: object) -> str:
    """RETURNS (str): Text that can stand in HTML, also in an attribute; markup as it is."""
    return value.text if isinstance(value, Markup) else html.escape(str(value), quote=True)


def number(value: Any) -> str:
    """RETURNS (str): Up to four digits after the point, as in the metrics files; a dash where there is none."""
    if value is None:
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    return f"{value:.4g}" if value and abs(value) < 0.001 else f"{value:.4f}".rstrip("0").rstrip(".")


def estimate(scores: Mapping[str, Any], name: str) -> Markup:
    """RETURNS (Markup): A value and its interval under it (`<name>_95`); a dash where there is no value."""
    value, bounds = scores.get(name), scores.get(f"{name}_95")
    shown = escape(number(value))
    if value is None or bounds is None or not is_pair(bounds):
        return Markup(shown)
    return Markup(f'{shown}<span class="ci">{escape(number(bounds[0]))} to {escape(number(bounds[1]))}</span>')


def is_pair(value: Any) -> bool:
    """RETURNS (bool): Whether it is two numbers."""
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, int | float) for v in value)


def of(part: Any, whole: Any) -> str:
    """RETURNS (str): For example "8 of 52"."""
    return f"{number(part)} of {number(whole)}"


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], *, texts: Sequence[int] = (0,), wide: Sequence[int] = ()
) -> str:
    """A table that a screen reader can follow: a caption, headings of columns and of rows.

    caption (str): What it shows. head (Sequence[str]): Headings. rows (Iterable[Sequence[Cell]]): The first cell names the row.
    texts (Sequence[int]): Columns that are set to the left. wide (Sequence[int]): Columns whose text may break.
    RETURNS (str): HTML; on a narrow screen it scrolls by itself.
    """

    def kind(column: int) -> str:
        names = (["t"] if column in texts else []) + (["w"] if column in wide else [])
        return f' class="{" ".join(names)}"' if names else ""

    lines = [
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>',
        f"<caption><span>{escape(caption)}</span></caption>",
        "<thead><tr>"
        + "".join(f'<th scope="col"{kind(i)}>{escape(name)}</th>' for i, name in enumerate(head))
        + "</tr></thead>",
        "<tbody>",
    ]
    for row in rows:
        cells = [c if isinstance(c, str | Markup) else number(c) for c in row]
        first = f'<th scope="row"{kind(0)}>{escape(cells[0])}</th>'
        lines.append("<tr>" + first + "".join(f"<td{kind(i)}>{escape(c)}</td>" for i, c in enumerate(cells[1:], 1)) + "</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def paragraph(text: str, *, kind: str = "") -> str:
    """RETURNS (str): A paragraph. kind (str): Its class."""
    return f'<p class="{escape(kind)}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def missing(what: str, how: str) -> str:
    """RETURNS (str): The line that stands for a part without numbers. what (str): The part. how (str): The command for it."""
    return paragraph(f"Left out: no {what} in the metrics files given. {how}", kind="missing")


def details(title: str, content: str) -> str:
    """RETURNS (str): Content that opens when its title is chosen."""
    return f"<details><summary>{escape(title)}</summary>\n{content}\n</details>"


def flat(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """RETURNS (list[tuple[str, Any]]): Every value of plain data with its path: `systems/ours/time/seconds`."""
    if isinstance(value, Mapping):
        return [pair for name, item in value.items() for pair in flat(item, f"{path}/{name}" if path else str(name))]
    if isinstance(value, list | tuple):
        if not value or all(not isinstance(item, Mapping | list | tuple) for item in value):
            return [(path, ", ".join(map(str, value)))]
        return [pair for i, item in enumerate(value, 1) for pair in flat(item, f"{path}/{i}")]
    return [(path, value)]


# Charts as inline SVG: bars with intervals, and lines. Widths are shares, heights and letters are pixels, so that a chart

_ROW = 38
_HEIGHT = 220


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar. label (str): Above it. value (float): 0 to `most`. bounds (tuple[float, float] | None): Interval. note (str): Beside
    the label. other (bool): Whether it is set back, as that of a peer."""

    label: str
    value: float
    bounds: tuple[float, float] | None = None
    note: str = ""
    other: bool = False


def bars(title: str, rows: Sequence[Bar], *, most: float = 1.0) -> str:
    """RETURNS (str): A figure with one bar per row, from 0 to `most`. title (str): What it shows. rows (Sequence[Bar]): In order."""
    top = max([most, *(row.value for row in rows)]) or 1.0

    def at(value: float) -> str:
        return f"{max(0.0, min(1.0, value / top)) * 100:.2f}%"

    shapes = []
    for i, row in enumerate(rows):
        y = i * _ROW
        kind = "bar other" if row.other else "bar"
        shapes += [
            f'<text x="0" y="{y + 13}">{escape(row.label)} <tspan class="soft">{escape(row.note)}</tspan></text>',
            f'<text x="100%" y="{y + 13}" text-anchor="end">{escape(number(row.value))}</text>',
            f'<rect class="track" x="0" y="{y + 18}" width="100%" height="12"/>',
            f'<rect class="{kind}" x="0" y="{y + 18}" width="{at(row.value)}" height="12"/>',
        ]
        if row.bounds:
            low, high = at(row.bounds[0]), at(row.bounds[1])
            shapes.append(f'<line class="whisker" x1="{low}" x2="{high}" y1="{y + 24}" y2="{y + 24}"/>')
            shapes += [f'<line class="whisker" x1="{x}" x2="{x}" y1="{y + 20}" y2="{y + 28}"/>' for x in (low, high)]
    return _figure(title, shapes, len(rows) * _ROW)


def lines(title: str, places: Sequence[float], series: Mapping[str, Sequence[float | None]], *, axis: str) -> str:
    """RETURNS (str): A figure with one line per series, values from 0 to 1.

    title (str): What it shows. places (Sequence[float]): Along the axis, sorted. series (Mapping[str, Sequence[float | None]]): Up to
    three; a value per place. axis (str): What the places are.
    """
    low, high = places[0], places[-1]

    def x(place: float) -> str:
        return f"{6 + 90 * ((place - low) / (high - low) if high > low else 0.5):.2f}%"

    def y(value: float) -> float:
        return round(10 + (1 - value) * (_HEIGHT - 50), 1)

    shapes = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        shapes.append(f'<line class="axis" x1="6%" x2="96%" y1="{y(tick)}" y2="{y(tick)}"/>')
        shapes.append(f'<text class="soft" x="0" y="{y(tick) + 4}">{number(float(tick))}</text>')
    for place in places if len(places) <= 10 else (places[0], places[len(places) // 2], places[-1]):
        shapes.append(
            f'<text class="soft" x="{x(place)}" y="{_HEIGHT - 22}" text-anchor="middle">{number(float(place))}</text>'
        )
    shapes.append(f'<text class="soft" x="50%" y="{_HEIGHT - 4}" text-anchor="middle">{escape(axis)}</text>')
    for n, values in enumerate(series.values()):
        points = [(x(place), y(value)) for place, value in zip(places, values, strict=True) if value is not None]
        for (x1, y1), (x2, y2) in zip(points, points[1:], strict=False):
            shapes.append(f'<line class="l{n % 3}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')
        shapes += [f'<circle class="m{n % 3}" cx="{px}" cy="{py}" r="3.5"/>' for px, py in points]
    legend = "".join(
        f'<li><svg height="10" aria-hidden="true"><line class="l{n % 3}" x1="0" x2="100%" y1="5" y2="5"/></svg>{escape(name)}</li>'
        for n, name in enumerate(series)
    )
    return _figure(title, shapes, _HEIGHT, after=f'<ul class="legend">{legend}</ul>')


def _figure(title: str, shapes: Sequence[str], height: int, *, after: str = "") -> str:
    drawn = "\n".join(shapes)
    image = f'<svg role="img" aria-label="{escape(title)}" height="{height}">\n{drawn}\n</svg>'
    return f"<figure><figcaption>{escape(title)}</figcaption>{after}\n{image}</figure>"


# The sections of the report, each from the metrics files that hold something for it. Pure functions from plain data to HT

Reports = Mapping[str, Mapping[str, Any]]
VIEW_TITLES = {"all": "all labels", "four": "name, e-mail, phone, URL"}


def comparisons(reports: Reports) -> dict[str, Mapping[str, Any]]:
    """RETURNS (dict[str, Mapping[str, Any]]): The files that `compare` wrote."""
    return {
        name: r for name, r in reports.items() if isinstance(r.get("systems"), Mapping) and isinstance(r.get("views"), Mapping)
    }


def title_of(file: str, report: Mapping[str, Any]) -> str:
    """RETURNS (str): Data, number of documents and profile, as far as the file says."""
    data = report.get("data") or {}
    parts = [str(data.get("file") or file)]
    if "documents" in data:
        parts.append(f"{number(data['documents'])} documents")
    if "profile" in report:
        parts.append(f"profile {report['profile']}")
    return ", ".join(parts)


def is_ours(system: Mapping[str, Any]) -> bool:
    """RETURNS (bool): Whether it is a pipeline of ours."""
    return "pii_ner" in str(system.get("about", ""))


def shown_systems(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """RETURNS (list): Name and numbers of each system; peers are named as such."""
    named = ((name if is_ours(s) else f"{name} (peer)", s) for name, s in report["systems"].items())
    return [(name, system) for name, system in named if isinstance(system.get("views"), Mapping)]


def results(reports: Reports) -> str:
    """RETURNS (str): Scores with intervals of every system, those of the JEDM paper too."""
    out = []
    for file, report in comparisons(reports).items():
        title = title_of(file, report)
        for view in report["views"]:
            rows: list[Sequence[Cell]] = []
            drawn = []
            for name, system in shown_systems(report):
                scores = system["views"].get(view, {})
                bag, cover = scores.get("bag", {}), scores.get("coverage", {})
                rows.append([
                    name, bag.get("support"), *(estimate(bag, m) for m in ("precision", "recall", "f1", "f5")),
                    *(estimate(scores.get(way, {}), "f5") for way in ("position", "tokens")),
                    of(cover.get("incompletely_covered"), cover.get("documents_with_pii")),
                    of(cover.get("clean_touched"), cover.get("clean_documents")),
                ])  # fmt: skip
                if "f5" in bag:
                    drawn.append(Bar(name, bag["f5"], bounds(bag, "f5"), other=not is_ours(system)))
            head = ("system", "support", "precision", "recall", "F1", "F5", "F5 by position", "F5 by token",
                    "documents with PII left", "clean documents touched")  # fmt: skip
            shown = VIEW_TITLES.get(view, view)
            out.append(table(f"{title}: {shown}, exact match by text, 95 % intervals", head, rows))
            if len(drawn) > 1:
                out.append(bars(f"F5, {shown} ({title})", drawn))
        for pair, views in (report.get("differences") or {}).items():
            gain = views.get("all", {}).get("bag", {})
            if "f5" in gain and is_pair(gain.get("f5_95")):
                low, high = gain["f5_95"]
                out.append(
                    paragraph(f"{pair}: F5 {gain['f5']:+.4f} ({low:+.4f} to {high:+.4f}), all labels, documents in pairs.")
                )
    for file, report in reports.items():
        overall = [
            row for row in (report.get("table7") or {}).get("rows", []) if str(row.get("label", "")).lower() == "overall"
        ]
        if overall:
            out.append(paper_table(file, report, overall))
    return "\n".join(out) or missing("results", "Make them with: pii-edu compare … --out FILE.")


def paper_table(file: str, report: Mapping[str, Any], overall: Sequence[Mapping[str, Any]]) -> str:
    """RETURNS (str): The published systems, with the intervals that the paper does not print."""
    rows: list[Sequence[Cell]] = []
    beside = report.get("beside") or {}
    for row in overall:
        bag = (beside.get(row["system"]) or {}).get("bag") or row
        cells = [estimate(bag, m) for m in ("precision", "recall", "f1", "f5")]
        rows.append([f"{row['system']} (published)", *(row.get(n) for n in ("tp", "fp", "fn")), *cells])
    return table(
        f"{title_of(file, report)}: Table 7 of the JEDM paper, overall, from its stored predictions (other documents than above)",
        ("system", "TP", "FP", "FN", "precision", "recall", "F1", "F5"),
        rows,
    )


def bounds(scores: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """RETURNS (tuple[float, float] | None): The interval of a value, if it has one."""
    found = scores.get(f"{name}_95")
    return (float(found[0]), float(found[1])) if found is not None and is_pair(found) else None


def labels(reports: Reports) -> str:
    """RETURNS (str): Per label and system: support, counts, scores."""
    out = []
    for file, report in comparisons(reports).items():
        rows: list[Sequence[Cell]] = []
        view = "all" if "all" in report["views"] else next(iter(report["views"]), "")
        for label in report["views"].get(view, ()):
            for name, system in shown_systems(report):
                bag = system["views"].get(view, {}).get("per_label", {}).get(label, {}).get("bag")
                if bag is not None:
                    counts = [bag.get(n) for n in ("support", "tp", "fp", "fn")]
                    rows.append([label, name, *counts, *(estimate(bag, m) for m in ("precision", "recall", "f5"))])
        if rows:
            head = ("label", "system", "support", "TP", "FP", "FN", "precision", "recall", "F5")
            out.append(table(f"{title_of(file, report)}: by label, exact match by text", head, rows, texts=(0, 1)))
    return "\n".join(out) or missing("labels", "Make them with: pii-edu compare … --out FILE.")


def group_rows(value: Any, system: str = "") -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """YIELDS (tuple[str, list]): Source and rows of every list in which a row has a category, a group and a recall."""
    if not isinstance(value, Mapping):
        return
    for name, item in value.items():
        if isinstance(item, list) and item and all(isinstance(r, Mapping) for r in item):
            if all({"category", "group", "recall"} <= r.keys() for r in item):
                yield str(value.get("source", name)), [{"system": system} | dict(r) for r in item]
        elif name == "systems" and isinstance(item, Mapping):
            for shown, part in item.items():
                yield from group_rows(part, str(shown))
        else:
            yield from group_rows(item, system)


def groups(reports: Reports) -> str:
    """RETURNS (str): Recall by gender and culture of names."""
    out = []
    for file, report in reports.items():
        for source, found in group_rows(report):
            rows: list[Sequence[Cell]] = []
            for row in found:
                p = row.get("p")
                shown = [row["category"], row.get("system", ""), row.get("total"), row.get("hits")]
                rows.append(
                    [row["group"], *shown, estimate(row, "recall"), estimate(row, "gap"), p, row.get("significance", "")]
                )
            head = ("group", "category", "system", "names", "found", "recall", "gap to the rest", "p (Mann-Whitney U)", "")
            out.append(
                table(
                    f"{title_of(file, report)}: recall by group of the name (groups from {source})",
                    head,
                    rows,
                    texts=(0, 1, 2, 8),
                )
            )
            systems = list(dict.fromkeys(row.get("system", "") for row in found))
            for system in systems:
                drawn = [
                    Bar(f"{r['group']} ({r['category']})", r["recall"], bounds(r, "recall"), f"{number(r.get('total'))} names")
                    for r in found
                    if r.get("system", "") == system and isinstance(r["recall"], int | float)
                ]
                out.append(bars(f"Recall by group{f', {system}' if system else ''}", drawn))
    how = "Make it with: pii-edu evaluate tables --peers FOLDER --out FILE."
    return "\n".join(out) or missing("recall by culture and gender", how)


def robustness(reports: Reports) -> str:
    """RETURNS (str): Recall per perturbation, lowest first, and per class."""
    out = []
    for file, report in reports.items():
        for part, heading in (("classes", "class of perturbations"), ("perturbations", "perturbation")):
            found = report.get(part)
            if not isinstance(found, Mapping) or not isinstance(report.get("perturbations"), Mapping):
                continue
            entries = sorted(
                ((n, e) for n, e in found.items() if isinstance(e, Mapping)),
                key=lambda pair: (2.0 if pair[1].get("recall") is None else pair[1]["recall"], pair[0]),
            )
            rows = [
                [name, e.get("class", ""), e.get("support"), estimate(e, "recall"), estimate(e, "unperturbed_recall"), estimate(e, "drop"),
                 estimate(e, "false_alarms_per_10k_words")]
                for name, e in entries
            ]  # fmt: skip
            head = (heading, "class", "support", "recall", "unperturbed", "drop", "false alarms per 10,000 words")
            out.append(table(f"{title_of(file, report)}: recall by {heading}, lowest first", head, rows, texts=(0, 1)))
            drawn = [
                Bar(name, e["recall"], bounds(e, "recall"), f"support {number(e.get('support'))}")
                for name, e in entries
                if isinstance(e.get("recall"), int | float)
            ]
            if drawn:
                out.append(bars(f"Recall by {heading}", drawn))
    return "\n".join(out) or missing("perturbations", "Make them with: pii-edu evaluate robustness … --out FILE.")


def everything(reports: Reports) -> str:
    """RETURNS (str): Every number of every file."""
    out = []
    for file, report in reports.items():
        rows: list[Sequence[Cell]] = [[path, DASH if value is None else str(value)] for path, value in flat(report)]
        body = table(f"{file}: every value", ("name", "value"), rows, texts=(0, 1), wide=(1,))
        out.append(details(f"{file} ({len(rows)} values)", body))
    return "\n".join(out)


# Sections of the report on speed and on a release; see html_sections.py.


def speed(reports: Reports) -> str:
    """RETURNS (str): Words per second and what else was measured of time and memory."""
    out = []
    for file, report in comparisons(reports).items():
        rows: list[Sequence[Cell]] = []
        for name, system in shown_systems(report):
            time = system.get("time") or {}
            # Predictions from elsewhere bring no times: nothing was measured, which is not 0.
            kept = "this run"
            if time.get("stored"):
                kept = f"stored predictions: {'measured in another run' if time.get('seconds') else 'not measured'}"
            keys = ("seconds", "words_per_second", "cpu_seconds", "words_per_cpu_second")
            rows.append([name, *(time.get(k) or None for k in keys), kept])
        head = ("system", "seconds", "words per second", "processor seconds", "words per processor second", "measured in")
        out.append(table(f"{title_of(file, report)}: speed", head, rows, texts=(0, 5)))
        for pair, ratio in (report.get("speed_ratio") or {}).items():
            shown = ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in ratio.items())
            out.append(paragraph(f"{pair}: {shown}."))
    for file, report in reports.items():
        systems = report.get("systems")
        if isinstance(systems, Mapping) and any("by_length" in s for s in systems.values() if isinstance(s, Mapping)):
            out.append(scaling(file, report))
    return "\n".join(out) or missing("speed", "Make it with: pii-edu evaluate speed … --out FILE.")


def scaling(file: str, report: Mapping[str, Any]) -> str:
    """RETURNS (str): What `pii-edu evaluate speed` measured: by length of an essay, by size of a corpus; loading and memory."""
    rows: list[Sequence[Cell]] = []
    others: list[Sequence[Cell]] = []
    for name, system in report["systems"].items():
        for part, unit in (("by_length", "characters an essay"), ("by_corpus_size", "essays")):
            for size, found in (system.get(part) or {}).items():
                spread = found.get("words_per_second_range")
                least_most = " to ".join(number(v) for v in spread) if is_pair(spread) else DASH
                rows.append(
                    [
                        name,
                        f"{size} {unit}",
                        found.get("words_per_second"),
                        least_most,
                        found.get("words_per_cpu_second"),
                        found.get("seconds"),
                    ]
                )
        rest = {key: value for key, value in system.items() if key not in ("about", "by_length", "by_corpus_size")}
        others += [
            [name, path.replace("_", " "), value if isinstance(value, str | int | float) else None]
            for path, value in flat(rest)
        ]
    head = ("system", "of", "words per second", "least to most", "words per processor second", "seconds")
    out = table(f"{file}: speed by length and size, medians of {number(report.get('repeats'))} runs", head, rows, texts=(0, 1))
    out += "\n" + table(f"{file}: loading and memory", ("system", "measure", "value"), others, texts=(0, 1))
    ratios = [[path, value] for path, value in flat(report.get("ratios") or {})]
    return out + ("\n" + table(f"{file}: beside the baseline", ("ratio", "value"), ratios) if ratios else "")


def release(reports: Reports) -> str:
    """RETURNS (str): The attack on a release beside chance, and the leak arithmetic."""
    out = []
    for file, report in reports.items():
        found = report.get("release")
        if not isinstance(found, Mapping):
            continue
        names = (
            "documents",
            "surrogates",
            "leaks",
            "leaks_in_part",
            "mentions",
            "mentions_with_a_leak",
            "documents_with_a_leak",
        )
        out.append(paragraph("; ".join(f"{name.replace('_', ' ')}: {number(found.get(name))}" for name in names) + "."))
        out.append(
            paragraph(
                f"Leaks known from: {found.get('leaks_known_from', '?')}. Surrogates known from: {found.get('surrogates_known_from', '?')}."
            )
        )
        rows: list[Sequence[Cell]] = [
            [name, *(row.get(k) for k in ("leaks", "suspects", "found")), estimate(row, "precision"), row.get("chance_precision"),
             estimate(row, "recall"), row.get("chance_recall"), estimate(row, "lift"), row.get("p_value"), estimate(row, "auc")]
            for name, row in (found.get("attacks") or {}).items()
        ]  # fmt: skip
        head = (
            "attacker",
            "leaks",
            "suspects",
            "found",
            "precision",
            "by chance",
            "recall",
            "by chance",
            "precision over chance",
            "p",
            "AUC",
        )
        out.append(table(f"{file}: parrot attack, both halves in turn", head, rows))
        out.append(arithmetic(found.get("arithmetic") or {}))
    return "\n".join(out) or missing("release risk", "Make it with: pii-edu evaluate release ORIGINAL RELEASED --out FILE.")


def arithmetic(found: Mapping[str, Any]) -> str:
    """RETURNS (str): Probability that repetition gives a value away, by number of mentions."""
    if not found:
        return ""
    names = ("consistent", "apart", "random", "markov")
    rows: list[Sequence[Cell]] = [
        [str(row.get("n")), row.get("values"), *(row.get(name) for name in names)] for row in found.get("by_repetition", [])
    ]
    for title, key, count in (
        ("all values", "share_of_values", "values"),
        ("documents", "share_of_documents", "documents_with_values"),
    ):
        shares = found.get(key) or {}
        rows.append([title, found.get(count), *(shares.get(name) for name in names)])
    seen = ", ".join(f"{name.replace('_', ' ')}: {number(n)}" for name, n in (found.get("observed") or {}).items())
    head = ("mentions in a document", "values", "consistent", "consistent, side by side", "random", "Markov")
    return table(
        f"Probability that repetition gives a value away; {number(found.get('miss_rate'))} of the mentions missed "
        f"(from {found.get('miss_rate_from')}), Markov keeps with {number(found.get('keep'))}",
        head,
        rows,
    ) + paragraph(f"Observed in the release: {seen}.")


# The report's section on calibration, from metrics files that hold `calibration`, and the verifier against chance (`contr


def calibration(reports: Reports) -> str:
    """RETURNS (str): A reliability curve and its bins for each group of probabilities."""
    out = []
    for file, report in reports.items():
        found = report.get("calibration")
        if not isinstance(found, Mapping):
            continue
        for name, curve in found.items():
            bins = curve.get("bins") if isinstance(curve, Mapping) else None
            if not bins:
                continue
            places = [b["mean_score"] for b in bins]
            drawn = {"was so": [b["share"] for b in bins], "as it should be": places}
            out.append(lines(f"{file}: {name}", places, drawn, axis="mean probability"))
            told = f"{curve['n']} probabilities; expected calibration error {number(curve['ece'])}, Brier score {number(curve['brier'])}."
            out.append(paragraph(told))
            rows = []
            for b in bins:
                low, high = b["share_95"]
                rows.append(
                    [
                        f"{b['low']:.1f} to {b['high']:.1f}",
                        b["n"],
                        b["mean_score"],
                        f"{b['share']:.3f} ({low:.3f} to {high:.3f})",
                    ]
                )
            out.append(table(f"{name}: bins", ("probability", "n", "mean", "was so, 95 % interval"), rows))
    if not out:
        out.append(missing("reliability curves", "Make them with: pii-edu evaluate crossval … --out FILE."))
    return "\n".join(out)


def control(reports: Reports) -> str:
    """RETURNS (str): The verifier against vetoes at random (`control`); nothing where no file holds it."""
    out = []
    for file, report in reports.items():
        found = report.get("control")
        if isinstance(found, Mapping) and "views" in found:
            out.append(table(f"{file}: verifier against vetoes at random", veto.HEAD, veto.control_rows(found), texts=(0, 1)))
            out.append(paragraph(veto.note(found)))
            out.append(table(f"{file}: precision at a fixed recall", veto.RECALL_HEAD, veto.recall_rows(found)))
            out += [paragraph(line) for line in veto.check_lines(found)]
    return "\n".join(out)


_WINDOW = 60
_MOST_WINDOWS = 300
BANNER = (
    "This page shows words of the essays, and names that a detector missed. Keep it as safe as the essays; do not publish it."
)


@dataclass(frozen=True, slots=True)
class Window:
    """An error with what stands around it.

    document (str): Id. kind (str): One of `errors.KINDS`. label (str): Label. before, text, after (str): Words of the essay.
    """

    document: str
    kind: str
    label: str
    before: str = field(repr=False)
    text: str = field(repr=False)
    after: str = field(repr=False)


def error_windows(documents: Sequence[GoldDocument], predicted: Sequence[Entity], *, width: int = _WINDOW) -> list[Window]:
    """Windows around what was missed, found with other edges, or found where there is nothing.

    documents (Sequence[GoldDocument]): Gold. predicted (Sequence[Entity]): Of one system. width (int): Characters on each side.
    RETURNS (list[Window]): In the order of the documents.
    """
    by_document: dict[str, list[Entity]] = {}
    for entity in predicted:
        by_document.setdefault(entity.document, []).append(entity)
    out = []
    for doc in documents:
        found = by_document.get(doc.id, [])
        gold = [e for e in doc.entities if e.label in CRAPII_LABELS]
        wrong = [(e, kind_of(e, found)) for e in gold]
        wrong += [
            (e, SPURIOUS) for e in found if e.label in CRAPII_LABELS and not any(overlap(e, other) for other in doc.entities)
        ]
        for entity, kind in sorted(wrong, key=lambda pair: pair[0].start):
            if kind != RIGHT:
                low, high = max(0, entity.start - width), min(len(doc.text), entity.end + width)
                parts = doc.text[low : entity.start], doc.text[entity.start : entity.end], doc.text[entity.end : high]
                out.append(Window(doc.id, kind, entity.label, *parts))
    return out


def errors_section(reports: Mapping[str, Mapping[str, Any]], windows: Sequence[Window] | None) -> str:
    """RETURNS (str): Kinds of errors as counts; windows around them if they are given."""
    out = []
    for file, report in reports.items():
        kinds = report.get("kinds")
        if isinstance(kinds, Mapping) and kinds:
            names = list(dict.fromkeys(kind for counts in kinds.values() for kind in counts))
            rows = [[label, *(counts.get(kind, 0) for kind in names)] for label, counts in kinds.items()]
            out.append(table(f"{file}: kinds of findings by label", ("label", *(n.replace("_", " ") for n in names)), rows))
    if windows is not None:
        shown = windows[:_MOST_WINDOWS]
        out.append(
            paragraph(f"{len(windows)} errors" + (f"; the first {len(shown)} are shown." if len(shown) < len(windows) else "."))
        )
        rows = [
            [
                w.document,
                w.kind.replace("_", " "),
                w.label,
                Markup(f"{escape(w.before)}<mark>{escape(w.text)}</mark>{escape(w.after)}"),
            ]
            for w in shown
        ]
        out.append(
            table(
                "Errors, with the words around them",
                ("document", "error", "label", "words"),
                rows,
                texts=(0, 1, 2, 3),
                wide=(3,),
            )
        )
    if not out:
        out.append(missing("kinds of errors", "Make counts with: python -m pii_components.evaluate.html … --out FILE."))
    return "\n".join(out)


def build_page(
    reports: Mapping[str, Mapping[str, Any]],
    *,
    windows: Sequence[Window] | None = None,
    title: str = "Measured: finding and hiding PII",
) -> str:
    """The whole page.

    reports (Mapping[str, Mapping[str, Any]]): Plain data by name of the file. windows (Sequence[Window] | None): Errors with words of the
        essays, if they were asked for; then the page begins with a warning. title (str): Its heading.
    RETURNS (str): HTML, complete in itself.
    """
    parts = {
        "results": ("Results", results(reports)),
        "labels": ("By label", labels(reports)),
        "groups": ("By culture and gender of the name", groups(reports)),
        "calibration": ("Calibration", calibration(reports) + control(reports)),
        "robustness": ("Robustness", robustness(reports)),
        "speed": ("Speed", speed(reports)),
        "release": ("Release risk", release(reports)),
        "errors": ("Errors", errors_section(reports, windows)),
        "all": ("Every number", everything(reports)),
    }
    style = (resources.files("pii_components") / "resources" / "report" / "style.css").read_text(encoding="utf8")
    banner = f'<div class="warning" role="alert">{paragraph(BANNER)}</div>' if windows is not None else ""
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, (name, _) in parts.items())
    body = "\n".join(
        f'<section id="{key}" aria-labelledby="h-{key}">\n<h2 id="h-{key}">{escape(name)}</h2>\n{content}\n</section>'
        for key, (name, content) in parts.items()
    )
    files = ", ".join(reports)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{banner}
<header>
<h1>{escape(title)}</h1>
{paragraph(f"pii-edu {__version__}; from {files}. Small figures under a value are its 95 % interval, by bootstrap over documents.", kind="soft")}
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""
