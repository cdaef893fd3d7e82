"""`pii-edu detect`: what is found, as tables or as JSON Lines. Offsets, labels and reasons; text only if it is asked for."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console

from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, reason_of
from ..files.sources import open_source
from ..files.writers import partial_path
from ..release.engine import Engine, Result, load_engine
from ..release.run import batches
from .common import DONE, DONE_WITH_SKIPS, REFUSED, STOPPED, spans_table


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for; see `pii-edu detect --help`."""

    source: str
    out: str = ""
    text_field: str = ""
    id_field: str = ""
    encoding: str = "utf-8"
    show_text: bool = False
    model: str = "en_pii_edu"
    batch_size: int = 16
    strict: bool = False
    overwrite: bool = False
    debug: bool = False


def detect(options: Options, screen: Console, err: Console) -> int:
    """Run the command.

    options (Options): From the command line. screen (Console): For tables. err (Console): For skipped records.
    RETURNS (int): Exit code.
    RAISES (PiiError): E5xx, before anything is written.
    """
    data = sys.stdin.buffer.read() if options.source == "-" else None
    source = open_source(
        Path(options.source), text_field=options.text_field, id_field=options.id_field, encoding=options.encoding, data=data
    )
    target = Path(options.out) if options.out else None
    if target is not None and target.exists():
        if data is None and target.samefile(options.source):
            raise PiiError(Errors.E509)
        if not options.overwrite:
            raise PiiError(Errors.E541, path=options.out)
    engine = load_engine(options.model, replace=False, debug=options.debug)
    if target is None:
        return _each(options, source, engine, err, screen=screen)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(partial_path(target), "w", encoding="utf-8", newline="\n") as file:
            code = _each(options, source, engine, err, file=file)
        if code in (DONE, DONE_WITH_SKIPS):
            partial_path(target).replace(target)
            err.print(f"wrote '{target}'", markup=False)
    except OSError as error:
        raise PiiError(Errors.E512, what=f"'{target}'", reason=reason_of(error)) from error
    return code


def _each(
    options: Options, source: Source, engine: Engine, err: Console, *, screen: Console | None = None, file: TextIO | None = None
) -> int:
    n_skips = n_done = 0
    for item, result in _pairs(source, engine, options.batch_size):
        if isinstance(item, Skip) or isinstance(result, Skip):
            skip = result if isinstance(result, Skip) else item
            assert isinstance(skip, Skip)
            if options.strict:
                err.print(str(PiiError(Errors.E532, skip=skip.error)), markup=False)
                return STOPPED
            err.print(str(skip.error), markup=False)
            n_skips += 1
            continue
        n_done += 1
        if screen is not None and not result.spans:
            screen.print(f"{item.id}: nothing found", markup=False)
        elif screen is not None:
            screen.print(spans_table(item.id, result.spans, item.text if options.show_text else None))
        if file is not None:
            file.writelines(_rows(item, result, options.show_text))
    source.close()
    if n_skips:
        return DONE_WITH_SKIPS if n_done else REFUSED
    return DONE


def _pairs(source: Source, engine: Engine, size: int) -> Iterator[tuple[Record | Skip, Result | Skip]]:
    """YIELDS (tuple): Each item of the input with what became of it."""
    for batch in batches(iter(source), size):
        results = iter(engine.results([item for item in batch if isinstance(item, Record)]))
        for item in batch:
            yield item, item if isinstance(item, Skip) else next(results)


def _rows(record: Record, result: Result, show_text: bool) -> Iterator[str]:
    """YIELDS (str): A line of JSON per span."""
    for span in result.spans:
        row: dict[str, str | int | float] = {"document": record.id, "record": record.number}
        row |= {"start_char": span.start_char, "end_char": span.end_char, "label": span.label, "role": span.role}
        row |= {"score": round(span.score, 4), "source": span.source, "reason": span.reason}
        if show_text:
            row["text"] = record.text[span.start_char : span.end_char]
        yield json.dumps(row, ensure_ascii=False) + "\n"
