"""`pii-edu detect`: what is found, as tables or as JSON Lines. Offsets, labels and reasons; text only if it is asked for."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source
from ..files.sources import open_source
from ..files.writers import GrowingFile, Output
from ..release.engine import Engine, Found, Result, load_engine, read_roster, use_roster
from ..release.run import batches
from . import common
from .deidentify import INPUT_HELP


def detect(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help=INPUT_HELP)],
    out: str = Option(
        "", "--out", "-o", help="Write spans as JSON Lines to this file instead of showing tables."
    ),
    text_field: common.TextOpt = "",
    id_field: common.IdOpt = "",
    encoding: common.EncodingOpt = "utf-8",
    show_text: bool = Option(False, "--show-text", help="Show the text of each span too."),
    model: common.ModelOpt = common.MODEL,
    roster: common.RosterOpt = "",
    batch_size: common.BatchOpt = 16,
    strict: common.StrictOpt = False,
    overwrite: common.OverwriteOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Show or write what is found in INPUT: offsets (characters, end exclusive), label, role, score, source, reason."""
    with common.guard(debug), ExitStack() as locks:
        target = Path(out) if out else None
        if target is not None:
            locks.enter_context(common.locked(target))
        data = sys.stdin.buffer.read() if source == "-" else None
        opened = open_source(
            Path(source), text_field=text_field, id_field=id_field, encoding=encoding, data=data
        )
        if target is not None and target.exists():
            if data is None and target.samefile(source):
                raise PiiError(Errors.E509)
            if not overwrite:
                raise PiiError(Errors.E541, path=out)
        listed = read_roster(roster)
        engine = load_engine(model, replace=False, debug=debug)
        use_roster(engine.nlp, listed)
        pairs = _pairs(opened, engine, batch_size)
        if target is None:
            raise typer.Exit(_each(pairs, strict=strict, show_text=show_text))
        output = Output(target)
        output.start()
        try:
            code = _each(pairs, strict=strict, show_text=show_text, file=output.file)
            if code in (common.DONE, common.DONE_WITH_SKIPS):
                output.finish()
                common.say(f"wrote '{target}'")
        finally:
            output.file.stop()
        if code == common.REFUSED:
            output.discard()
    raise typer.Exit(code)


def _pairs(
    source: Source, engine: Engine, size: int
) -> Iterator[tuple[Record | Skip, Result | Skip]]:
    """YIELDS (tuple): Each item of the input with what became of it."""
    for batch in batches(iter(source), size):
        results = iter(engine.results([item for item in batch if isinstance(item, Record)]))
        for item in batch:
            yield item, item if isinstance(item, Skip) else next(results)
    source.close()


def _each(
    pairs: Iterable[tuple[Record | Skip, Result | Skip]],
    *,
    strict: bool,
    show_text: bool,
    file: GrowingFile | None = None,
) -> int:
    """Show each result, or write it. RETURNS (int): Exit code."""
    n_skips = n_done = 0
    screen = common.console()
    for item, result in pairs:
        if isinstance(item, Skip) or isinstance(result, Skip):
            error = next(skip.error for skip in (result, item) if isinstance(skip, Skip))
            if strict:
                common.say(PiiError(Errors.E532, skip=error))
                return common.STOPPED
            common.say(error if item.id in ("", str(item.number)) else f"{error} ({item.id})")
            n_skips += 1
            continue
        n_done += 1
        if file is not None:
            file.write("".join(_rows(item, result, show_text)).encode("utf-8"))
        elif result.spans:
            screen.print(spans_table(item.id, result.spans, item.text if show_text else None))
        else:
            screen.print(f"{item.id}: nothing found", markup=False)
    if n_skips:
        return common.DONE_WITH_SKIPS if n_done else common.REFUSED
    return common.DONE


def _rows(record: Record, result: Result, show_text: bool) -> Iterator[str]:
    """YIELDS (str): A line of JSON per span."""
    for span in result.spans:
        row: dict[str, str | int | float] = {"document": record.id, "record": record.number}
        row |= {
            "start_char": span.start_char,
            "end_char": span.end_char,
            "label": span.label,
            "role": span.role,
        }
        row |= {"score": round(span.score, 4), "source": span.source, "reason": span.reason}
        if show_text:
            row["text"] = record.text[span.start_char : span.end_char]
        yield json.dumps(row, ensure_ascii=False) + "\n"


def spans_table(title: str, spans: Iterable[Found], text: str | None = None) -> Table:
    """A row per span; with its text, if `text` is given. Offsets are characters, end exclusive."""
    rows = [
        (
            span.start_char,
            span.end_char,
            Text(span.label, common.STYLES.get(span.label, common.OTHER_STYLE)),
            span.role,
            f"{span.score:.3f}",
            span.source,
            span.reason,
            *([repr(text[span.start_char : span.end_char])[1:-1]] if text is not None else []),
        )
        for span in spans
    ]
    names = (
        "start",
        "end",
        "label",
        "role",
        "score",
        "source",
        "reason",
        *(["text"] if text is not None else []),
    )
    table = common.table_of(rows, *names, right=("start", "end", "score"), title=Text(title))
    table.title_justify = "left"
    return table
