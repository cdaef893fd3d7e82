"""`pii-edu evaluate presidio`: what Presidio finds alone and with us, on essays with gold."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, PiiError
from .evaluate_tables import DebugOpt, QuietOpt
from .exit_codes import DONE
from .guard import guard

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine

EPILOG = "Exit codes: 0 done; 2 refused, nothing was written; 3 an unexpected error; 130 interrupted."

TextsOpt = Annotated[Path, typer.Option("--texts", help="CSV with the columns id and text.")]
GoldOpt = Annotated[Path, typer.Option("--gold", help="JSONL with id and spans of [start, end, label].")]
PipelineOpt = Annotated[str, typer.Option("--pipeline", help="Ours: a package or a folder.")]
AloneOpt = Annotated[str, typer.Option("--alone", help="Presidio by itself: presidio-sm, -md, -lg, -trf, or presidio:PATH.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]


def presidio(
    *,
    texts: TextsOpt = Path("assets/samples/essays.csv"),
    gold: GoldOpt = Path("assets/samples/gold.jsonl"),
    pipeline: PipelineOpt = "en_pii_edu",
    alone: AloneOpt = "presidio-md",
    out: OutOpt = None,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Run Presidio with its own recognizers, and Presidio with ours, over the same essays; count by Presidio's entities."""
    with guard(debug):
        from ..evaluate.command import progress_bar
        from ..evaluate.gold import file_sha256
        from ..evaluate.presidio_samples import compare_presidio, read_samples
        from ..evaluate.report import check_place, describe_data, versions, write_report
        from .show import console

        if out is not None:
            check_place(out)
        documents = read_samples(texts, gold)
        analyzers, about = _analyzers(alone, pipeline)
        with progress_bar("presidio", len(documents) * len(analyzers)) as advance:
            found = compare_presidio(analyzers, documents, progress=advance)
        report: dict[str, Any] = {
            "command": f"pii-edu evaluate presidio --texts {texts.name} --gold {gold.name} --alone {alone.partition(':')[0]}",
            "kind": "presidio",
            "data": describe_data(documents, file=texts.name, sha256=file_sha256(texts)) | {"gold_sha256": file_sha256(gold)},
            "versions": versions(),
            "about": about,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            console().print(_table(report))
    raise typer.Exit(DONE)


def _analyzers(alone: str, pipeline: str) -> "tuple[dict[str, AnalyzerEngine], dict[str, Any]]":
    """RETURNS (tuple): Analyzers by name, and what they run. Presidio's must be one of the baselines that are Presidio."""
    from ..evaluate.baselines import make_system
    from ..evaluate.systems import PresidioSystem, describe_pipeline
    from ..presidio.analyzer import build_analyzer

    system = make_system(alone)
    if not isinstance(system, PresidioSystem):
        raise PiiError(Errors.E740, got=alone, known="presidio-sm, presidio-md, presidio-lg, presidio-trf, presidio:PATH")
    ours = build_analyzer(pipeline=pipeline)
    name = "with us"
    engine: Any = ours.nlp_engine
    nlp = engine.get_nlp(ours.supported_languages[0])
    # All entities are asked for, whatever the baseline asks for elsewhere.
    about = {key: value for key, value in system.about.items() if key != "entities"}
    return {"alone": system.analyzer, name: ours}, {"alone": about, name: describe_pipeline(nlp)}


def _table(report: dict[str, Any]) -> Any:
    from rich.table import Table

    from ..evaluate.presidio_samples import presidio_rows

    head, rows = presidio_rows(report)
    table = Table()
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    return table
