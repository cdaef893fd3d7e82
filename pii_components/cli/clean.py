"""`pii-edu corpus clean`: from submissions to a corpus, with a table of what each step left.

Each record is read once: its text goes through the steps, its line waits in a temporary file until the steps over the whole corpus
have said which lines stay. A run that is broken off leaves neither OUT nor its report; run again, it writes the same bytes.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..corpus.clean import (
    CleaningOptions,
    Removed,
    WholeCorpus,
    check_corpus,
    check_record,
    choose_submissions,
    count_steps,
    step_of,
)
from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source
from ..files.sources import SubmissionSource, open_source, open_submissions
from ..files.writers import Output, as_line, check_column, replace_file, value_of
from . import common
from .settings import read_settings

EPILOG = (
    "Settings for --config: text_column, id_column (for the report), student_column (one submission of each stays), time_column "
    "(number or ISO date), per_student (latest, only or all), encoding, max_bytes, max_pages, language (others are left out), min_words, "
    "similarity (cosine above which two texts are near-duplicates), keep (of these: none, as in the paper, or first), contamination "
    "(share of texts with anomalous characters, to .5), pool_below, seed. A threshold of 0 leaves its step out. "
    "Exit codes: 0 all done; 1 done, but records could not be read (the report lists them); 2 refused, nothing was written; "
    "130 interrupted, nothing was written. Beside clean.jsonl, clean.cleaning.json holds counts, codes, ids, no text; the id of a "
    "file is its path, which may hold a name."
)
_LIBRARIES = ("pypdfium2", "pycld2", "scikit-learn", "scipy", "numpy")


@dataclass(frozen=True)
class CleanSettings(CleaningOptions):
    """The thresholds, and the columns that are read."""

    text_column: str = ""
    id_column: str = ""
    student_column: str = ""
    time_column: str = ""
    encoding: str = "utf-8"


@dataclass(slots=True)
class Cleaning:
    """One run.

    on_progress (Callable): Gets how far, and of how many.
    kept (list[tuple[int, str]]): Number and id of each record that came to the steps over the whole corpus.
    removed (list[Removed]): What the steps took out. whole (WholeCorpus): What the last ones found.
    """

    path: Path
    options: CleanSettings
    on_progress: Callable[[int, int], None] = lambda done, size: None
    source: Source = field(init=False)
    total: int = 0
    kept: list[tuple[int, str]] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)
    whole: WholeCorpus = field(default_factory=WholeCorpus)

    def __post_init__(self) -> None:
        self.source = self._open()
        for name in ("student_column", "time_column"):
            if column := getattr(self.options, name):
                check_column(self.source, column, name)

    def _open(self) -> Source:
        options = self.options
        if self.path.is_dir() or self.path.suffix.lower() == ".pdf":
            limits = {"max_bytes": options.max_bytes, "max_pages": options.max_pages}
            return open_submissions(self.path, encoding=options.encoding, **limits)
        return open_source(
            self.path,
            text_field=options.text_column,
            id_field=options.id_column,
            encoding=options.encoding,
        )

    def go(self, lines: IO[bytes]) -> None:
        """Do it all. lines (IO[bytes]): Gets a line of OUT for each of `kept`. RAISES (PiiError): E552, if no record is a text."""
        self.whole = check_corpus(self._texts(lines), self.options)
        if self.removed and not self.kept and all(item.step == "text" for item in self.removed):
            raise PiiError(Errors.E552, n=len(self.removed), code=self.removed[0].code)
        found = {"duplicates": (self.whole.copies, "E661")}
        found["anomalies"] = (self.whole.anomalous, "E662")
        for step, (places, code) in found.items():
            self.removed += [Removed(*self.kept[i], step, code) for i in places]
        self.removed.sort(key=lambda item: item.number)

    def _texts(self, lines: IO[bytes]) -> Iterator[str]:
        """YIELDS (str): Each text that went through the steps for a record alone."""
        chosen = self._chosen()
        for item in self.source:
            self.total += 1
            self.on_progress(self.source.position(), self.source.size)
            skip = check_record(item, self.options, chosen)
            if skip is not None or isinstance(item, Skip):
                code = skip.code if skip is not None else ""
                self.removed.append(Removed(item.number, self._name_of(item), step_of(code), code))
                continue
            self.kept.append((item.number, item.id))
            lines.write(as_line(item, self.source).encode("utf-8") + b"\n")
            yield item.text
        self.source.close()

    def _chosen(self) -> frozenset[int] | None:
        """The submissions that stay; None without a student column."""
        options = self.options
        if not options.student_column or options.per_student == "all":
            return None

        def column(name: str) -> Callable[[Record], Any]:
            return lambda record: value_of(record, self.source, name)

        # A source is read once: this is another one on the same input.
        return choose_submissions(
            (item for item in self._open() if isinstance(item, Record)),
            column(options.student_column),
            column(options.time_column) if options.time_column else None,
            how=options.per_student,
        )

    def _name_of(self, item: Record | Skip) -> str:
        if isinstance(item, Record):
            return item.id
        source = self.source
        return source.files[item.number - 1] if isinstance(source, SubmissionSource) else ""

    def as_json(self) -> dict[str, Any]:
        """The report: settings, the table, numbers and ids of records with codes; no text. The same run gives the same bytes."""
        found = self.whole.duplicates
        groups = [[self.kept[i][0] for i in group] for group in found.groups] if found else []
        group_of = {number: index for index, group in enumerate(groups) for number in group}
        removed = [asdict(item) for item in self.removed]
        for item in removed:
            if item["step"] == "duplicates":
                item["group"] = group_of[item["number"]]
        return {
            "program": "pii-edu corpus clean",
            "versions": {"pii-edu": __version__} | {name: _version(name) for name in _LIBRARIES},
            "input": {
                "kind": self.source.kind,
                "hidden_files_passed_over": getattr(self.source, "hidden", 0),
            },
            "settings": asdict(self.options),
            "steps": [asdict(step) for step in count_steps(self.total, self.removed, self.options)],
            "notes": [self.whole.note] if self.whole.note else [],
            "near_duplicates": {
                "pairs": len(found.pairs) if found else 0,
                "groups": groups,
                "highest_similarity": found.curve() if found else [],
            },
            "removed": removed,
        }


def _version(package: str) -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return None


def clean(
    *,
    source: Annotated[
        Path,
        Argument(
            metavar="INPUT",
            help="A folder of .pdf, .docx and .txt, a .pdf, .docx, .csv, .tsv, .jsonl or .json.",
        ),
    ],
    out: Annotated[
        Path, Option("--out", "-o", help="What is written: JSON Lines, with the columns of INPUT.")
    ],
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Clean a corpus as CRAPII was: size, pages, language, length, near-duplicates, anomalous characters.

    Writes OUT and a report; shows how many records each step left.
    """
    with common.guard():
        run = Cleaning(source, read_settings(CleanSettings, config))
        report_path = out.with_name(out.stem + ".cleaning.json")
        common.check_outputs(source, out, report_path, overwrite=overwrite)
        with TemporaryFile() as lines, common.progress(of_files=True) as bar:
            task = bar.add_task("reading", total=None)
            run.on_progress = lambda done, size: bar.update(
                task, completed=done, total=max(size, 1)
            )
            run.go(lines)
            lines.seek(0)
            _write(run, lines, out, report_path)
        if not common.global_option("quiet"):
            _show(run)
        common.tell(f"wrote '{out}' and '{report_path}'")
        unreadable = any(item.step == "text" for item in run.removed)
    raise typer.Exit(common.exit_code(unreadable))


def _write(run: Cleaning, lines: Iterable[bytes], out: Path, report_path: Path) -> None:
    """The lines that stay, then the report, then the name of OUT."""
    gone = {item.number for item in run.removed}
    output = Output(out)
    output.start()
    for (number, _), line in zip(run.kept, lines, strict=True):
        if number not in gone:
            output.file.write(line)
    report = json.dumps(run.as_json(), indent=1, ensure_ascii=False)
    replace_file(report_path, report + "\n")
    output.finish()


def _show(run: Cleaning) -> None:
    """How many records each step left."""
    rows = []
    for step in count_steps(run.total, run.removed, run.options):
        removed = f"{step.removed:,}" if step.removed else ""
        rows.append((step.about, removed, f"{step.remaining:,}"))
    names = ("selection step", "removed", "remaining")
    common.console(stderr=True).print(common.table_of(rows, *names, right=names[1:]))
    if run.whole.note:
        common.say(run.whole.note)
