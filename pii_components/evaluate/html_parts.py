"""Pieces of the report: escaped text, tables, numbers with intervals. Pure functions from plain data to HTML.

table("By label", ["label", "recall"], [["EMAIL", estimate({"recall": 0.9, "recall_95": [0.8, 1.0]}, "recall")]])
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
