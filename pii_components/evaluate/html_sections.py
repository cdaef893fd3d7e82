"""The sections of the report, each from the metrics files that hold something for it. Pure functions from plain data to HTML.

A file is known by what it holds (`systems`, `settings`, `perturbations`, `release`, rows with `category` and `group`), not by its name.
What is not there is left out, with a line that says so and how to make it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .html_charts import Bar, bars
from .html_parts import DASH, Cell, details, estimate, flat, is_pair, missing, number, of, paragraph, table

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
