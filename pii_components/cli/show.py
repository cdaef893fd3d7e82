"""What the commands show in the terminal, with rich: tables of spans, a text in colours, profiles, the summary of a run."""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..labels import DETAIL_LABELS, LABELS, NAME_CHARACTER, NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT
from ..profiles import Profile
from .engine import KEEP, Found
from .report import Report

STYLES = {
    NAME_STUDENT: "bold white on red",
    NAME_INSTRUCTOR: "black on yellow",
    NAME_CONNECTED: "black on bright_magenta",
    NAME_CITED: "black on green",
    NAME_CHARACTER: "black on cyan",
    **dict.fromkeys(DETAIL_LABELS, "white on blue"),
}
_OTHER_STYLE = "reverse"


def console(*, stderr: bool = False) -> Console:
    """A console on the streams of the moment. Signs that the terminal cannot show become escapes.

    RETURNS (Console): 160 columns wide where there is no terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    made = Console(file=stream, highlight=False, soft_wrap=stderr)
    return made if stderr or made.is_terminal else Console(file=stream, highlight=False, width=160)


def spans_table(title: str, spans: Iterable[Found], text: str | None = None) -> Table:
    """A table of spans.

    title (str): Id of the document. spans (Iterable[Found]): What was found. text (str | None): The document, if texts may be
    shown.
    RETURNS (Table): Offsets are characters, end exclusive.
    """
    table = Table(title=Text(title), title_justify="left")
    for name in ("start", "end"):
        table.add_column(name, justify="right")
    for name in ("label", "role"):
        table.add_column(name)
    table.add_column("score", justify="right")
    table.add_column("source")
    table.add_column("reason")
    if text is not None:
        table.add_column("text")
    for span in spans:
        row: list[Text | str] = [
            str(span.start_char),
            str(span.end_char),
            Text(span.label, STYLES.get(span.label, _OTHER_STYLE)),
        ]
        row += [span.role, f"{span.score:.3f}", Text(span.source), Text(span.reason)]
        if text is not None:
            row.append(Text(repr(text[span.start_char : span.end_char])[1:-1]))
        table.add_row(*row)
    return table


def coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    """RETURNS (Text): The text with its spans (start, end, label) in the colours of their labels."""
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(STYLES.get(label, _OTHER_STYLE), start, end)
    return shown


def before_and_after(before: Text, after: Text, profile: str) -> list[Any]:
    """RETURNS (list[Any]): Two panels and a legend, to be printed one after the other."""
    legend = Text("  ").join(Text(f" {label} ", STYLES[label]) for label in (*LABELS[:5], *DETAIL_LABELS[:1]))
    legend.append("  and other details")
    return [Panel(before, title="before"), Panel(after, title=f"after, profile {profile}"), legend]


def profiles_table(profiles: list[Profile]) -> Table:
    """RETURNS (Table): A row per label, a column per profile, what the profile does with the label."""
    table = Table(title="What each profile does with each label")
    table.add_column("label")
    for profile in profiles:
        table.add_column(profile.name)
    for label in LABELS:
        actions = [profile.action(label) for profile in profiles]
        table.add_row(label, *(Text(action, "dim" if action == KEEP else "bold") for action in actions))
    return table


def summary_table(report: Report) -> Table:
    """RETURNS (Table): Counts per label, role and action."""
    table = Table()
    for name in ("label", "role", "action"):
        table.add_column(name)
    table.add_column("spans", justify="right")
    for key, count in sorted(report.spans.items()):
        table.add_row(*key.split("|"), str(count))
    return table
