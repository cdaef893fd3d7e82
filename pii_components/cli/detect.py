"""`pii-edu detect`: what is found, as tables or as JSON Lines. Offsets, labels and reasons; text only if it is asked for."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from ..files.record import Record, Skip, Source
from ..files.sources import open_source
from ..files.writers import Output
from ..labels import DETAIL_LABELS, LABELS
from ..options import read_settings
from ..release.engine import Engine, Found, Result, load_engine, read_roster, use_roster
from ..release.run import batches
from . import common
from .deidentify import INPUT_HELP, tell_roster
from .settings import RunSettings

# Everyone may know what the people in our own essay become.
DEMO_KEY = b"everyone may know this key"

EPILOG = "Exit codes: 0 all done; 1 done, but records were skipped (each is told); 2 refused, nothing was written."


def detect(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help=INPUT_HELP)],
    out: str = Option(
        "", "--out", "-o", help="Write spans as JSON Lines to this file instead of showing tables."
    ),
    text_column: common.TextsOpt = None,
    show_text: bool = Option(False, "--show-text", help="Show the text of each span too."),
    roster: common.RosterOpt = "",
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Show or write what is found in INPUT: offsets (characters, end exclusive), label, role, score, source, reason."""
    with common.guard(), ExitStack() as stack:
        settings = read_settings(
            RunSettings, config, text_column=text_column, roster=roster, overwrite=overwrite
        )
        if out:
            stack.enter_context(common.locked(Path(out)))
        data = common.input_data(source)
        # Offsets count the signs of a table's cells as they stand there.
        reading = settings.reading | {"spreadsheet_safe": False}
        opened = open_source(Path(source), **reading, data=data)
        if out:
            given = None if data is not None else Path(source)
            common.check_outputs(given, Path(out), overwrite=settings.overwrite)
        listed = read_roster(settings.roster)
        tell_roster(listed)
        engine = load_engine(
            settings.model,
            replace=False,
            operating_point=settings.operating_point,
            device=settings.device,
            debug=common.global_option("debug"),
            code=settings.code,
        )
        use_roster(engine.nlp, listed)
        skips = common.Skips(common.say, strict=settings.strict, named=True)
        found = _found(opened, engine, settings.batch_size, skips)
        n = _write(found, Output(Path(out)), show_text) if out else _show(found, show_text)
        if skips and not n:
            raise typer.Exit(common.REFUSED)
    raise typer.Exit(common.exit_code(skips))


def _found(
    source: Source, engine: Engine, size: int, skips: common.Skips
) -> Iterator[tuple[Record, Result]]:
    """YIELDS (tuple): Each record with what was found in it; the others are skips."""
    for batch in batches(iter(source), size):
        for item, result in zip(batch, engine.results(batch), strict=True):
            if isinstance(result, Skip):
                skips(replace(result, id="" if item.id == str(item.number) else item.id))
            elif isinstance(item, Record):
                yield item, result
    source.close()


def _show(found: Iterable[tuple[Record, Result]], show_text: bool) -> int:
    """RETURNS (int): Number of records."""
    n, screen = 0, common.console()
    for record, result in found:
        n += 1
        if result.spans:
            screen.print(spans_table(record.id, result.spans, record.text if show_text else None))
        else:
            screen.print(f"{record.id}: nothing found", markup=False)
    return n


def _write(found: Iterable[tuple[Record, Result]], output: Output, show_text: bool) -> int:
    """RETURNS (int): Number of records; if there are none, nothing is written."""
    n = 0
    output.start()
    try:
        for record, result in found:
            n += 1
            for row in _rows(record, result, show_text):
                output.append(json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n")
        if n:
            output.finish()
            common.tell(f"wrote '{output.out}'")
    finally:
        output.discard()
    return n


def _rows(record: Record, result: Result, show_text: bool) -> Iterator[dict[str, Any]]:
    """YIELDS (dict[str, Any]): What is written of each span."""
    for span in result.spans:
        row = {
            "document": record.id,
            "record": record.number,
            "start_char": span.start_char,
            "end_char": span.end_char,
            "label": span.label,
            "role": span.role,
            "score": round(span.score, 4),
            "source": span.source,
            "reason": span.reason,
        }
        if show_text:
            row["text"] = record.text[span.start_char : span.end_char]
        yield row


def spans_table(title: str, spans: Iterable[Found], text: str | None = None) -> Table:
    """A row per span; with its text, if `text` is given. Offsets are characters, end exclusive."""
    names = ["start", "end", "label", "role", "score", "source", "reason"]
    if text is not None:
        names.append("text")
    rows = []
    for span in spans:
        label = Text(span.label, common.style_of(span.label))
        start, end = span.start_char, span.end_char
        row = [start, end, label, span.role, f"{span.score:.3f}", span.source, span.reason]
        if text is not None:
            row.append(repr(text[start:end])[1:-1])
        rows.append(row)
    table = common.table_of(rows, *names, right=("start", "end", "score"), title=Text(title))
    table.title_justify = "left"
    return table


def demo(*, config: common.ConfigOpt = None) -> None:
    """Show an essay before and after, in colours; --config profile=ets for another profile. Everyone in it is invented."""
    with common.guard():
        place = resources.files("pii_components") / "resources" / "demo" / "essay.txt"
        text = place.read_text(encoding="utf-8").rstrip("\n")
        settings = read_settings(RunSettings, config)
        how: dict[str, Any] = {"profile": settings.profile, "code": settings.code}
        engine = load_engine(settings.model, key=DEMO_KEY, **how)
        result = engine.results([Record(1, "demo", text)])[0]
        if isinstance(result, Skip):
            raise result.error
        screen = common.console()
        found = ((span.start_char, span.end_char, span.label) for span in result.spans)
        screen.print(Panel(_coloured(text, found), title="before"))
        after = _coloured(result.text, result.surrogates)
        screen.print(Panel(after, title=f"after, profile {engine.profile.name}"))
        shown = (*LABELS[:5], *DETAIL_LABELS[:1])
        legend = Text("  ").join(Text(f" {label} ", common.style_of(label)) for label in shown)
        screen.print(legend.append("  and other details"))
        screen.print(spans_table("what was found, and why", result.spans, text))


def _coloured(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    shown = Text(text)
    for start, end, label in spans:
        shown.stylize(common.style_of(label), start, end)
    return shown
