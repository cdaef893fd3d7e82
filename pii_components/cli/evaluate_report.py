"""`pii-edu evaluate report`: one page to look at, from metrics files."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..corpus.records import reason_of
from ..errors import Errors, PiiError
from .guard import guard

FILES = "files"
MERGED = "metrics.json"
# Fields of essays and of what is found in them; the page would show their values, the text too.
RECORD = frozenset({"text", "full_text", "tokens", "spans", "start_char", "data_sha256"})

MetricsArg = Annotated[
    list[Path], typer.Argument(metavar="METRICS...", help="Files that the commands of evaluate wrote with --out.")
]
OutOpt = Annotated[Path, typer.Option("--out", "-o", help="The page; metrics.json is written beside it.")]
WithTextOpt = Annotated[
    bool, typer.Option("--with-text", help="Show errors with words of the essays; needs --gold and --stored.")
]
GoldOpt = Annotated[Path | None, typer.Option("--gold", help="Labelled essays, for --with-text.")]
StoredOpt = Annotated[Path | None, typer.Option("--stored", help="Predictions that --save-predictions wrote, for --with-text.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def report(
    *,
    metrics: MetricsArg,
    out: OutOpt = Path("report.html"),
    with_text: WithTextOpt = False,
    gold: GoldOpt = None,
    stored: StoredOpt = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Measured: finding and hiding PII",
    debug: DebugOpt = False,
) -> None:
    """Write one self-contained HTML page of tables and charts, and metrics.json beside it with all that is in it.

    What the files do not hold is left out, with a line that says so.
    """
    with guard(debug):
        from ..evaluate.gold import file_sha256, read_gold
        from ..evaluate.html import Window, build_page, error_windows
        from ..evaluate.report import write_report
        from ..evaluate.stored import read_run

        merged = out.with_name(MERGED)
        for path in (*metrics, *(p for p in (gold, stored) if p is not None)):
            for place in (out, merged):
                if path.resolve() == place.resolve():
                    raise PiiError(Errors.E776, file=f"'{place}'")
        if with_text and (gold is None or stored is None):
            raise PiiError(Errors.E777)
        reports = read_metrics(metrics)
        windows: list[Window] | None = None
        if with_text and gold is not None and stored is not None:
            documents = read_gold(gold)
            windows = error_windows(documents, read_run(stored, documents, data_sha256=file_sha256(gold)).entities)
        page = build_page(reports, windows=windows, title=title)
        write_report({"format": 1, FILES: reports}, merged)
        try:
            out.write_text(page, encoding="utf8")
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{out}'", reason=reason_of(err)) from err
        typer.echo(f"wrote '{out}' and '{merged}'")


def read_metrics(paths: list[Path]) -> dict[str, dict[str, Any]]:
    """Read metrics files; those in a merged file come out one by one.

    paths (list[Path]): JSON files. RETURNS (dict[str, dict[str, Any]]): By name; a name that is there twice gets a number.
    RAISES (PiiError): E501, if one cannot be read; E775, if it holds something else.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        try:
            content = json.loads(path.read_text(encoding="utf8"))
        except OSError as err:
            raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
        except ValueError as err:
            raise PiiError(Errors.E775, file=path.name, reason="not JSON") from err
        inner = content.get(FILES) if isinstance(content, dict) and set(content) == {"format", FILES} else {path.name: content}
        if not isinstance(inner, dict) or not inner or not all(isinstance(part, dict) and part for part in inner.values()):
            raise PiiError(Errors.E775, file=path.name, reason="no object with names and values")
        if any(not RECORD.isdisjoint(part) for part in inner.values()):
            raise PiiError(Errors.E775, file=path.name, reason="a record of an essay or of a span")
        for name, part in inner.items():
            n = sum(known == name or known.startswith(f"{name} (") for known in found)
            found[f"{name} ({n + 1})" if n else name] = part
    return found
