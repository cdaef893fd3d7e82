"""One page that people can look at, from metrics files: no script, no other file, no address outside of it.

    page = build_page({"essays.json": json.loads(...), "release.json": json.loads(...)})

The sections are templates in resources/report (Jinja, which escapes everything). No text of an essay is in the page, unless windows around
errors are given.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import __version__
from ..labels import is_name
from ..release.report import DASH, number, template
from .gold import CRAPII_LABELS, Entity, GoldDocument

Reports = Mapping[str, Mapping[str, Any]]
BANNER = "This page shows words of the essays, and names that a detector missed. Keep it as safe as the essays; do not publish it."


def interval_of(scores: Mapping[str, Any], name: str) -> Sequence[float] | None:
    """The two bounds under `<name>_95`, if they are there."""
    bounds = scores.get(f"{name}_95")
    is_pair = (
        isinstance(bounds, list | tuple)
        and len(bounds) == 2
        and all(isinstance(v, int | float) for v in bounds)
    )
    return bounds if is_pair else None


def estimate(scores: Any, name: str) -> Any:
    """A value of `scores`, with its interval if it has one; None if there are no scores."""
    if not isinstance(scores, Mapping):
        return None
    bounds = interval_of(scores, name)
    return (
        {"value": scores[name], "low": bounds[0], "high": bounds[1]}
        if name in scores and bounds
        else scores.get(name)
    )


def bar(
    label: str, scores: Mapping[str, Any], name: str, *, note: str = "", other: bool = False
) -> dict[str, Any]:
    """A bar from 0 to 1. note (str): Beside the label. other (bool): Whether it is set back, as that of a peer."""
    return {
        "label": label,
        "value": scores[name],
        "bounds": interval_of(scores, name),
        "note": note,
        "other": other,
    }


def flat(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every value of plain data with its path: `systems/ours/time/seconds`."""
    if isinstance(value, Mapping):
        return [
            pair
            for name, item in value.items()
            for pair in flat(item, f"{path}/{name}" if path else str(name))
        ]
    if isinstance(value, list | tuple):
        if not any(isinstance(item, Mapping | list | tuple) for item in value):
            return [(path, ", ".join(map(str, value)))]
        return [pair for i, item in enumerate(value, 1) for pair in flat(item, f"{path}/{i}")]
    return [(path, value)]


def comparisons(
    reports: Reports,
) -> Iterator[tuple[str, Mapping[str, Any], list[tuple[str, Mapping[str, Any]]]]]:
    """Title, report, and the name and numbers of each system, of the files that score systems; peers are named as such."""
    for file, report in reports.items():
        if isinstance(report.get("systems"), Mapping) and isinstance(report.get("views"), Mapping):
            ours = {
                name: "pii_ner" in str(system.get("about", ""))
                for name, system in report["systems"].items()
            }
            named = [
                (name if ours[name] else f"{name} (peer)", system)
                for name, system in report["systems"].items()
            ]
            yield (
                title_of(file, report),
                report,
                [(name, s) for name, s in named if isinstance(s.get("views"), Mapping)],
            )


def title_of(file: str, report: Mapping[str, Any]) -> str:
    """Data, number of documents and profile, as far as the file says."""
    data = report.get("data") or {}
    documents = [f"{number(data['documents'])} documents"] if "documents" in data else []
    profile = [f"profile {report['profile']}"] if "profile" in report else []
    return ", ".join([str(data.get("file") or file), *documents, *profile])


def group_rows(value: Any, system: str = "") -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Source and rows of every list in which a row has a category, a group and a recall."""
    for name, item in value.items() if isinstance(value, Mapping) else ():
        if isinstance(item, list) and item and all(isinstance(r, Mapping) for r in item):
            if all({"category", "group", "recall"} <= r.keys() for r in item):
                yield str(value.get("source", name)), [{"system": system} | dict(r) for r in item]
        elif name == "systems" and isinstance(item, Mapping):
            for shown, part in item.items():
                yield from group_rows(part, str(shown))
        else:
            yield from group_rows(item, system)


def lowest_first(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Perturbations, or classes of them, by recall; those without one come last."""
    entries = [(name, entry) for name, entry in found.items() if isinstance(entry, Mapping)]
    return sorted(
        entries,
        key=lambda pair: (2.0 if pair[1].get("recall") is None else pair[1]["recall"], pair[0]),
    )


class Window(NamedTuple):
    """An error with what stands around it, words of the essay."""

    document: str
    kind: str
    label: str
    before: str
    text: str
    after: str

    def __repr__(self) -> str:
        return f"Window({self.document!r}, {self.kind!r}, {self.label!r})"


def kind_of_error(gold: Entity, predicted: Sequence[Entity]) -> str:
    """How a gold entity was found, judged by the prediction of its label that shares most characters, else of any label; empty if rightly."""
    touching = [entity for entity in predicted if overlap(gold, entity)]
    if not touching:
        return "missed"
    best = max(
        touching,
        key=lambda p: (p.label == gold.label, overlap(gold, p), -(p.end - p.start), -p.start),
    )
    if best.label != gold.label:
        return "wrong role" if is_name(best.label) and is_name(gold.label) else "wrong label"
    if (best.start, best.end) == (gold.start, gold.end):
        return ""
    if best.start <= gold.start and best.end >= gold.end:
        return "too long"
    return "too short" if best.start >= gold.start and best.end <= gold.end else "shifted"


def overlap(first: Entity, second: Entity) -> int:
    """Number of characters that two entities of one document share."""
    return max(0, min(first.end, second.end) - max(first.start, second.start))


def error_windows(
    documents: Sequence[GoldDocument], predicted: Sequence[Entity], *, width: int = 60
) -> list[Window]:
    """What was missed, found with other edges, or found where there is nothing, with `width` characters on each side."""
    out = []
    for doc in documents:
        found = [entity for entity in predicted if entity.document == doc.id]
        wrong = [(e, kind_of_error(e, found)) for e in doc.entities if e.label in CRAPII_LABELS]
        spurious = [
            e
            for e in found
            if e.label in CRAPII_LABELS and not any(overlap(e, other) for other in doc.entities)
        ]
        for entity, kind in sorted(
            [*wrong, *((e, "spurious") for e in spurious)], key=lambda pair: pair[0].start
        ):
            if kind:
                low, high = max(0, entity.start - width), entity.end + width
                parts = (
                    doc.text[low : entity.start],
                    doc.text[entity.start : entity.end],
                    doc.text[entity.end : high],
                )
                out.append(Window(doc.id, kind, entity.label, *parts))
    return out


def build_page(
    reports: Reports,
    *,
    windows: Sequence[Window] | None = None,
    title: str = "Measured: finding and hiding PII",
) -> str:
    """The whole page, complete in itself.

    reports (Reports): Plain data by name of the file. windows (Sequence[Window] | None): Errors with words of the essays, if they were asked
    for; then the page begins with a warning. title (str): Its heading. RETURNS (str): HTML.
    """
    helpers = {f.__name__: f for f in (bar, estimate, flat, group_rows, lowest_first, title_of)}
    page = template("page.html").render(
        helpers,
        reports=reports,
        comparisons=list(comparisons(reports)),
        windows=windows,
        title=title,
        version=__version__,
        banner=BANNER,
        plainly=lambda rows: [
            [path, DASH if value is None else str(value)] for path, value in rows
        ],
    )
    return page.lstrip()
