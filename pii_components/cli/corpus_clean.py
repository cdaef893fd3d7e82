"""`pii-edu corpus clean`: from submissions to a corpus, with a table of what each step left."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ..corpus.cleaning import CleaningOptions
from ..errors import Errors, PiiError
from .clean_run import CleanRun, Columns
from .exit_codes import DONE, DONE_WITH_SKIPS, INTERRUPTED
from .guard import guard
from .show import console

EPILOG = (
    "Exit codes: 0 all done; 1 done, but records could not be read (the report lists them); 2 refused, nothing was written; "
    "130 interrupted, --resume goes on. A threshold of 0 leaves its step out. Beside clean.jsonl, clean.cleaning.json holds counts, codes, ids, "
    "no text; the id of a file is its path, which may hold a name."
)
_DEFAULTS = CleaningOptions(language="")

SourceArg = Annotated[
    str, typer.Argument(metavar="INPUT", help="A folder of .pdf and .txt, a .pdf, .csv, .tsv, .jsonl or .json.")
]
OutOpt = Annotated[str, typer.Option("--out", "-o", help="What is written: JSON Lines, with the columns of INPUT.")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id, for the report.")]
StudentOpt = Annotated[str, typer.Option("--student-column", help="Column of the student: one submission of each stays.")]
TimeOpt = Annotated[str, typer.Option("--time-column", help="Time of a submission, number or ISO date [the order of INPUT].")]
PerStudentOpt = Annotated[
    str, typer.Option("--per-student", help="Which stays: latest; only (students with one, as in the CRAPII paper); all.")
]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of INPUT; a byte order mark is seen without it.")]
MaxBytesOpt = Annotated[int, typer.Option("--max-bytes", help="Larger files are left out.")]
MaxPagesOpt = Annotated[int, typer.Option("--max-pages", help="Longer PDFs are left out.")]
LanguageOpt = Annotated[str, typer.Option("--language", help='Texts in another one are left out; "" for any.')]
MinWordsOpt = Annotated[int, typer.Option("--min-words", help="Texts with fewer words between white space are left out.")]
SimilarityOpt = Annotated[float, typer.Option("--similarity", help="Cosine above which two texts are near-duplicates.")]
KeepOpt = Annotated[str, typer.Option("--keep", help="Of near-duplicates: none, as in the paper, or first.")]
ContaminationOpt = Annotated[float, typer.Option("--contamination", help="Share of texts with anomalous characters, to .5.")]
PoolOpt = Annotated[float, typer.Option("--pool-below", help="Signs fewer texts have share a column; 0 as in the paper.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of the search for anomalous characters.")]
ResumeOpt = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run; needs the same settings.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUT that exists.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def clean(
    *,
    source: SourceArg,
    out: OutOpt,
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    student: StudentOpt = "",
    time: TimeOpt = "",
    per_student: PerStudentOpt = _DEFAULTS.per_student,
    encoding: EncodingOpt = "utf-8",
    max_bytes: MaxBytesOpt = _DEFAULTS.max_bytes,
    max_pages: MaxPagesOpt = _DEFAULTS.max_pages,
    language: LanguageOpt = "en",
    min_words: MinWordsOpt = _DEFAULTS.min_words,
    similarity: SimilarityOpt = _DEFAULTS.similarity,
    keep: KeepOpt = _DEFAULTS.keep,
    contamination: ContaminationOpt = _DEFAULTS.contamination,
    pool_below: PoolOpt = _DEFAULTS.pool_below,
    seed: SeedOpt = _DEFAULTS.seed,
    resume: ResumeOpt = False,
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Clean a corpus as CRAPII was: size, pages, language, length, near-duplicates, anomalous characters.

    Writes OUT and a report; shows how many records each step left.
    """
    with guard(debug):
        screen = console(stderr=True)
        options = CleaningOptions(
            max_bytes=max_bytes,
            max_pages=max_pages,
            language=language,
            min_words=min_words,
            similarity=similarity,
            keep=keep,
            contamination=contamination,
            pool_below=pool_below,
            per_student=per_student,
            seed=seed,
        )
        columns = Columns(text=text_field, id=id_field, student=student, time=time, encoding=encoding)
        run = CleanRun(Path(source), Path(out), options, columns)
        try:
            with _progress(screen, run, quiet=quiet):
                run.go(resume=resume, overwrite=overwrite)
        except KeyboardInterrupt:
            screen.print(str(PiiError(Errors.E534, partial=f"'{run.partial}'")), markup=False)
            raise typer.Exit(INTERRUPTED) from None
        if not quiet:
            _tell(screen, run)
        unreadable = any(item.step == "text" for item in run.removed)
    raise typer.Exit(DONE_WITH_SKIPS if unreadable else DONE)


def _tell(screen: Console, run: CleanRun) -> None:
    table = Table()
    table.add_column("selection step")
    table.add_column("removed", justify="right")
    table.add_column("remaining", justify="right")
    for step in run.steps():
        table.add_row(step.about, f"{step.removed:,}" if step.removed else "", f"{step.remaining:,}")
    screen.print(table)
    if run.whole.note:
        screen.print(run.whole.note, markup=False)
    others = getattr(run.source, "n_others", 0)
    if others:
        screen.print(f"{others} files that are neither .pdf nor .txt were not read")
    screen.print(f"wrote '{run.out}' and '{run.report_path}'", markup=False)


@contextmanager
def _progress(screen: Console, run: CleanRun, *, quiet: bool) -> Iterator[None]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen, disable=quiet or not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        run.on_progress = lambda stage, done, size: bar.update(task, description=stage, completed=done, total=max(size, 1))
        yield
