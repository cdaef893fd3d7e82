"""Charts as inline SVG: bars with intervals, and lines. Widths are shares, heights and letters are pixels, so that a chart is as
readable on a telephone as on a desk.

    bars("Recall by perturbation", [Bar("lower case", 0.91, (0.88, 0.94), "support 210")])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .html_parts import escape, number

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
