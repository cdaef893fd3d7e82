"""`pii-edu corpus convert`: a labelled corpus in another form, with a report of what was skipped and what was masked."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..about import __version__
from ..corpus.labelled import FORMS, Tally, check_places, guess_form, open_corpus_writer
from ..corpus.labelled import convert as convert_corpus
from ..corpus.records import Skip, reason_of
from ..errors import Errors, PiiError
from .exit_codes import DONE, DONE_WITH_SKIPS
from .guard import guard
from .show import console

EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "130 interrupted, nothing was written."
)
_SKIPS_SHOWN = 10
_READ = ", ".join(FORMS)
_WRITTEN = ", ".join(form.name for form in FORMS.values() if form.writer)

SourceArg = Annotated[str, typer.Argument(metavar="IN", help="A labelled corpus: a file, or a folder in brat's form.")]
OutArg = Annotated[str, typer.Argument(metavar="OUT", help="What is written; a folder for brat.")]
FromOpt = Annotated[str, typer.Option("--from", help=f"Form of IN: {_READ} [by its suffix and first records].")]
ToOpt = Annotated[str, typer.Option("--to", help=f"Form of OUT: {_WRITTEN} [by its suffix].")]
TextSourceOpt = Annotated[str, typer.Option("--text-source", help="File or folder with the texts, for entities; joined by id.")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of IN; a byte order mark is seen without it.")]
ReportOpt = Annotated[str, typer.Option("--report", help="Where the report goes [<OUT>.report.json].")]
StrictOpt = Annotated[bool, typer.Option("--strict", help="Stop at the first record that has to be skipped; write nothing.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUT that exists.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def convert(
    *,
    source: SourceArg,
    out: OutArg,
    from_form: FromOpt = "",
    to_form: ToOpt = "",
    text_source: TextSourceOpt = "",
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    encoding: EncodingOpt = "utf-8",
    report: ReportOpt = "",
    strict: StrictOpt = False,
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Turn a labelled corpus into another form; write OUT and a report.

    Gold that does not fit its text (outside of it, overlapping, other words at its offsets, an edge inside a token) is masked: OUT
    marks the stretch as not labelled, and the report says where and why.
    """
    with guard(debug):
        screen = console(stderr=True)
        source_path, out_path = Path(source), Path(out)
        text_path = Path(text_source) if text_source else None
        report_path = Path(report) if report else out_path.with_name(out_path.name + ".report.json")
        if not source_path.exists():
            raise PiiError(Errors.E501, what=f"'{source_path}'", reason="it does not exist")
        forms = {
            "from": from_form or guess_form(source_path, encoding=encoding, text_field=text_field),
            "to": open_corpus_writer(out_path, to_form).form,
        }
        check_places(source_path, report_path, text_path, out_path, overwrite=overwrite)
        skips: list[Skip] = []

        def on_skip(skip: Skip) -> None:
            if strict:
                raise PiiError(Errors.E532, skip=skip.error)
            skips.append(skip)
            if len(skips) <= _SKIPS_SHOWN:
                screen.print(str(skip.error), markup=False)
            elif len(skips) == _SKIPS_SHOWN + 1:
                screen.print("further skipped records are listed in the report")

        tally = convert_corpus(
            source_path,
            out_path,
            from_form=forms["from"],
            to_form=forms["to"],
            encoding=encoding,
            text_field=text_field,
            id_field=id_field,
            text_source=text_path,
            on_skip=on_skip,
            overwrite=overwrite,
        )
        _write_report(report_path, as_report(tally, skips, forms))
        if not quiet:
            _tell(screen, tally, skips)
            screen.print(f"wrote '{out_path}' ({forms['to']}) and '{report_path}'", markup=False)
    raise typer.Exit(DONE_WITH_SKIPS if skips else DONE)


def as_report(tally: Tally, skips: list[Skip], forms: dict[str, str]) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): Counts, and numbers of records with codes, offsets, labels and reasons; no text."""
    reasons = Counter((masked.reason, masked.label) for masked in tally.masked)
    return {
        "program": "pii-edu",
        "version": __version__,
        **forms,
        "documents": tally.documents,
        "labels": {label: n for label, n in sorted(tally.labels.items()) if n},
        "skipped": {"count": len(skips), "records": [{"record": skip.number, "code": skip.code} for skip in skips]},
        "masked": {
            "count": len(tally.masked),
            "by_reason": [{"reason": reason, "label": label, "count": n} for (reason, label), n in sorted(reasons.items())],
            "where": [
                {"record": m.number, "start": m.start, "end": m.end, "label": m.label, "reason": m.reason} for m in tally.masked
            ],
        },
        "notes": dict(sorted((name, n) for name, n in tally.notes.items() if n)),
    }


def _write_report(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _tell(screen: Console, tally: Tally, skips: list[Skip]) -> None:
    if tally.labels or tally.masked:
        masked = Counter(found.label for found in tally.masked)
        table = Table()
        table.add_column("label")
        for name in ("spans", "masked"):
            table.add_column(name, justify="right")
        for label in sorted(tally.labels.keys() | masked.keys()):
            table.add_row(label, str(tally.labels[label]), str(masked[label]))
        screen.print(table)
    for name, n in sorted(tally.notes.items()):
        if n:
            screen.print(f"{name}: {n}", markup=False)
    screen.print(f"{tally.documents} documents, {len(skips)} skipped, {len(tally.masked)} labels masked")
