"""One page that people can look at, from metrics files: no script, no other file, no address outside of it.

    page = build_page({"essays.json": json.loads(...), "release.json": json.loads(...)})

Light and dark follow the reader's system. No text of an essay is in it, unless windows around errors are given (`with_text`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..about import __version__
from . import html_runs as runs
from . import html_sections as sections
from .errors import RIGHT, SPURIOUS, kind_of, overlap
from .html_calibration import calibration, control
from .html_parts import Markup, escape, missing, paragraph, table
from .records import CRAPII_LABELS, Entity, GoldDocument

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
        out.append(missing("kinds of errors", "Make counts with: python -m pii_components.evaluate.errors … --out FILE."))
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
        "results": ("Results", sections.results(reports)),
        "labels": ("By label", sections.labels(reports)),
        "groups": ("By culture and gender of the name", sections.groups(reports)),
        "calibration": ("Calibration", calibration(reports) + control(reports)),
        "robustness": ("Robustness", sections.robustness(reports)),
        "speed": ("Speed", runs.speed(reports)),
        "release": ("Release risk", runs.release(reports)),
        "errors": ("Errors", errors_section(reports, windows)),
        "all": ("Every number", sections.everything(reports)),
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
