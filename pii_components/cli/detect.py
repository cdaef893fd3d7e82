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
from .settings import RunSettings, read_settings

EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (each is told); 2 refused, nothing was written; "
    "3 stopped before the end, what was done stays."
)


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
    with common.guard(), ExitStack() as locks:
        settings = read_settings(
            RunSettings, config, text_column=text_column, roster=roster, overwrite=overwrite
        )
        target = Path(out) if out else None
        if target is not None:
            locks.enter_context(common.locked(target))
        data = sys.stdin.buffer.read() if source == "-" else None
        opened = open_source(
            Path(source),
            **common.texts(settings.text_column),
            id_field=settings.id_column,
            encoding=settings.encoding,
            data=data,
        )
        if target is not None:
            common.check_apart("output", target, input=None if data is not None else Path(source))
            if not settings.overwrite:
                common.check_free(target)
        listed = read_roster(settings.roster)
        engine = load_engine(
            settings.model,
            replace=False,
            operating_point=settings.operating_point,
            debug=common.global_option("debug"),
        )
        use_roster(engine.nlp, listed)
        pairs = _pairs(opened, engine, settings.batch_size)
        listing = Listing(strict=settings.strict, show_text=show_text)
        code = listing.show(pairs) if target is None else _write(listing, pairs, target)
    raise typer.Exit(code)


def _write(
    listing: "Listing", pairs: Iterable[tuple[Record | Skip, Result | Skip]], target: Path
) -> int:
    """RETURNS (int): Exit code. What a run that stopped had written stays in the partial file."""
    output = Output(target)
    output.start()
    listing.file = output.file
    try:
        code = listing.show(pairs)
        if code in (common.DONE, common.DONE_WITH_SKIPS):
            output.finish()
            common.tell(f"wrote '{target}'")
    finally:
        output.file.stop()
    if code == common.REFUSED:
        output.discard()
    return code


def _pairs(
    source: Source, engine: Engine, size: int
) -> Iterator[tuple[Record | Skip, Result | Skip]]:
    """YIELDS (tuple): Each item of the input with what became of it."""
    for batch in batches(iter(source), size):
        results = iter(engine.results([item for item in batch if isinstance(item, Record)]))
        for item in batch:
            yield item, item if isinstance(item, Skip) else next(results)
    source.close()


class Listing:
    """Shows what was found, or writes it to `file`."""

    def __init__(self, *, strict: bool, show_text: bool) -> None:
        self.strict, self.show_text = strict, show_text
        self.file: GrowingFile | None = None
        self.screen = common.console()

    def show(self, pairs: Iterable[tuple[Record | Skip, Result | Skip]]) -> int:
        """RETURNS (int): Exit code."""
        n_skips = n_done = 0
        for item, result in pairs:
            if isinstance(result, Skip):
                if self.strict:
                    common.say(PiiError(Errors.E532, skip=result.error))
                    return common.STOPPED
                unnamed = item.id in ("", str(item.number))
                common.say(result.error if unnamed else f"{result.error} ({item.id})")
                n_skips += 1
            elif isinstance(item, Record):
                n_done += 1
                self._one(item, result)
        return common.exit_code(n_skips) if n_done or not n_skips else common.REFUSED

    def _one(self, record: Record, result: Result) -> None:
        if self.file is not None:
            self.file.write("".join(_rows(record, result, self.show_text)).encode("utf-8"))
        elif result.spans:
            text = record.text if self.show_text else None
            self.screen.print(spans_table(record.id, result.spans, text))
        else:
            self.screen.print(f"{record.id}: nothing found", markup=False)


def _rows(record: Record, result: Result, show_text: bool) -> Iterator[str]:
    """YIELDS (str): A line of JSON per span."""
    for span in result.spans:
        row: dict[str, str | int | float] = {
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
        yield json.dumps(row, ensure_ascii=False) + "\n"


def spans_table(title: str, spans: Iterable[Found], text: str | None = None) -> Table:
    """A row per span; with its text, if `text` is given. Offsets are characters, end exclusive."""
    names = ["start", "end", "label", "role", "score", "source", "reason"]
    if text is not None:
        names.append("text")
    rows = []
    for span in spans:
        label = Text(span.label, common.STYLES.get(span.label, common.OTHER_STYLE))
        start, end = span.start_char, span.end_char
        row = [start, end, label, span.role, f"{span.score:.3f}", span.source, span.reason]
        if text is not None:
            row.append(repr(text[start:end])[1:-1])
        rows.append(row)
    table = common.table_of(rows, *names, right=("start", "end", "score"), title=Text(title))
    table.title_justify = "left"
    return table
