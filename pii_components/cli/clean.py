"""`pii-edu corpus clean`: from submissions to a corpus, with a table of what each step left.

The run may be broken off: first each record by itself, to a file of rows; then the whole corpus; then OUT and its report.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

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
from ..files.writers import (
    GrowingFile,
    as_line,
    check_column,
    partial_path,
    replace_file,
    sync_file,
    value_of,
    writing,
)
from ..release.run import RunState, load_state, state_path
from . import common
from .settings import read_settings

EPILOG = (
    "Settings for --config: text_column, id_column (for the report), student_column (one submission of each stays), time_column "
    "(number or ISO date), per_student (latest, only or all), encoding, max_bytes, max_pages, language (others are left out), min_words, "
    "similarity (cosine above which two texts are near-duplicates), keep (of these: none, as in the paper, or first), contamination "
    "(share of texts with anomalous characters, to .5), pool_below, seed. "
    "Exit codes: 0 all done; 1 done, but records could not be read (the report lists them); 2 refused, nothing was written; "
    "130 interrupted, --resume goes on. A threshold of 0 leaves its step out. Beside clean.jsonl, clean.cleaning.json holds "
    "counts, codes, ids, no text; the id of a file is its path, which may hold a name."
)
_SAVE_EVERY = 200
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
class CleanRun:
    """One run.

    on_progress (Callable): Gets a stage, how far, and of how many.
    whole, removed, total: What `go` found out.
    """

    path: Path
    out: Path
    options: CleanSettings
    on_progress: Callable[[str, int, int], None] = lambda stage, done, size: None
    source: Source = field(init=False)
    whole: WholeCorpus = field(default_factory=WholeCorpus)
    removed: list[Removed] = field(default_factory=list)
    total: int = 0

    def __post_init__(self) -> None:
        self.source = self._open()
        for name in ("student_column", "time_column"):
            if column := getattr(self.options, name):
                check_column(self.source, column, name)

    @property
    def report_path(self) -> Path:
        """`essays.cleaning.json` beside `essays.jsonl`."""
        return self.out.with_name(self.out.stem + ".cleaning.json")

    @property
    def partial(self) -> Path:
        """The file of rows."""
        return partial_path(self.out)

    def go(self, *, resume: bool = False, overwrite: bool = False) -> None:
        """Do it all. RAISES (PiiError): E465, E472, E510, E512 to E514, E552; E653; E005."""
        self._check_places(resume=resume, overwrite=overwrite)
        self._read(load_state(state_path(self.out)) if resume else None)
        codes = [code for (_, _, code), _ in self._rows()]
        if codes and all(code and step_of(code) == "text" for code in codes):
            self.partial.unlink()
            state_path(self.out).unlink()
            raise PiiError(Errors.E552, n=len(codes), code=codes[0])
        self.whole = check_corpus((text for _, text in self._kept()), self.options)
        kept = [head for head, _ in self._rows() if not head[2]]
        self.removed = [
            Removed(number, name, step_of(code), code)
            for (number, name, code), _ in self._rows()
            if code
        ]
        self.removed += [
            Removed(*kept[i][:2], "duplicates", "E661") for i in sorted(self.whole.copies)
        ]
        self.removed += [
            Removed(*kept[i][:2], "anomalies", "E662") for i in sorted(self.whole.anomalous)
        ]
        self.removed.sort(key=lambda item: item.number)
        self._finish([number for number, _, _ in kept])

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

    def _check_places(self, *, resume: bool, overwrite: bool) -> None:
        for place in (self.out, self.report_path, self.partial, state_path(self.out)):
            common.check_apart("output", place, input=self.path)
        if resume and overwrite:
            raise PiiError(Errors.E465, first="--resume", second="--overwrite")
        if not resume and not overwrite:
            common.check_free(self.out, self.report_path, self.partial)

    def _read(self, old: RunState | None) -> None:
        """First stage: every record by itself."""
        settings = {"input": self.source.fingerprint(), "version of pii-edu": __version__}
        settings |= {name: str(value) for name, value in asdict(self.options).items()}
        for name, value in settings.items():
            if old is not None and old.settings.get(name) != value:
                raise PiiError(Errors.E514, what=f"setting '{name}'" if name != "input" else name)
        state = old or RunState(settings)
        chosen = self._chosen()
        rows = GrowingFile(self.partial)
        rows.start(state.offset if old is not None else None)
        try:
            if isinstance(self.source, SubmissionSource):
                self.source.done = state.items
                items: Iterator[Record | Skip] = iter(self.source)
            else:
                items = islice(iter(self.source), state.items, None)
            state.save(state_path(self.out))
            for item in items:
                rows.write(self._row(item, check_record(item, self.options, chosen)))
                state.items += 1
                if state.items % _SAVE_EVERY == 0:
                    self._save(rows, state)
            self._save(rows, state)
        finally:
            rows.stop()
            self.source.close()
        self.total = state.items

    def _chosen(self) -> frozenset[int] | None:
        """The submissions that stay; None without a student column."""
        how, student, time = self.options.per_student, self.options.student_column, self.options.time_column
        if not student or how == "all":
            return None
        time_of = (lambda record: value_of(record, self.source, time)) if time else None
        # A source is read once: this is another one on the same input.
        records = (item for item in self._open() if isinstance(item, Record))
        return choose_submissions(
            records, lambda record: value_of(record, self.source, student), time_of, how=how
        )

    def _row(self, item: Record | Skip, skip: Skip | None) -> bytes:
        row = [item.number, self._name_of(item), skip.code if skip else ""]
        if isinstance(item, Record) and not skip:
            row += [item.text, as_line(item, self.source)]
        return (json.dumps(row) + "\n").encode("ascii")

    def _name_of(self, item: Record | Skip) -> str:
        if isinstance(item, Record):
            return item.id
        return self.source.files[item.number - 1] if isinstance(self.source, SubmissionSource) else ""

    def _save(self, rows: GrowingFile, state: RunState) -> None:
        state.offset = rows.sync()
        state.save(state_path(self.out))
        self.on_progress("reading", self.source.position(), self.source.size)

    def _rows(self) -> Iterator[tuple[tuple[int, str, str], list[str]]]:
        """YIELDS (tuple): Number, id, code of each record; text and line of OUT, or nothing."""
        with open(self.partial, encoding="ascii") as file:
            for number, name, code, *rest in map(json.loads, file):
                yield (number, name, code), rest

    def _kept(self) -> Iterator[tuple[int, str]]:
        for done, (head, rest) in enumerate(self._rows(), 1):
            if rest:
                yield head[0], rest[0]
            if done % _SAVE_EVERY == 0:
                self.on_progress("comparing", done, self.total)

    def _finish(self, kept: list[int]) -> None:
        """Last stage: the report, then OUT; then what was needed on the way goes."""
        gone = {item.number for item in self.removed}
        fresh = self.out.with_name(self.out.name + ".new")
        with writing(self.out):
            with open(fresh, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(
                    rest[1] + "\n" for head, rest in self._rows() if head[0] not in gone
                )
                sync_file(file)
            replace_file(
                self.report_path,
                json.dumps(self.as_json(kept), indent=1, ensure_ascii=False) + "\n",
            )
            os.replace(fresh, self.out)
            self.partial.unlink()
            state_path(self.out).unlink()

    def as_json(self, kept: list[int]) -> dict[str, Any]:
        """The report: settings, the table, numbers and ids of records with codes; no text. The same run gives the same bytes.

        kept (list[int]): Numbers of the records that came to the steps over the whole corpus.
        """
        found = self.whole.duplicates
        groups = [[kept[i] for i in group] for group in found.groups] if found else []
        group_of = {number: index for index, group in enumerate(groups) for number in group}
        removed = [asdict(item) for item in self.removed]
        for item in removed:
            if item["step"] == "duplicates":
                item["group"] = group_of[item["number"]]
        return {
            "program": "pii-edu corpus clean",
            "versions": {"pii-edu": __version__, **{name: _version(name) for name in _LIBRARIES}},
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
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
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
    resume: common.ResumeOpt = False,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Clean a corpus as CRAPII was: size, pages, language, length, near-duplicates, anomalous characters.

    Writes OUT and a report; shows how many records each step left.
    """
    with common.guard():
        run = CleanRun(source, out, read_settings(CleanSettings, config))
        try:
            with common.progress(of_files=True) as bar:
                task = bar.add_task("reading", total=None)
                run.on_progress = lambda stage, done, size: bar.update(
                    task, description=stage, completed=done, total=max(size, 1)
                )
                run.go(resume=resume, overwrite=overwrite)
        except KeyboardInterrupt:
            common.say(PiiError(Errors.E534, partial=f"'{run.partial}'"))
            raise typer.Exit(common.INTERRUPTED) from None
        if not common.global_option("quiet"):
            _show(run)
        unreadable = any(item.step == "text" for item in run.removed)
    raise typer.Exit(common.exit_code(unreadable))


def _show(run: CleanRun) -> None:
    """How many records each step left, and where it was written."""
    rows = []
    for step in count_steps(run.total, run.removed, run.options):
        removed = f"{step.removed:,}" if step.removed else ""
        rows.append((step.about, removed, f"{step.remaining:,}"))
    names = ("selection step", "removed", "remaining")
    common.console(stderr=True).print(common.table_of(rows, *names, right=names[1:]))
    if run.whole.note:
        common.say(run.whole.note)
    common.tell_hidden(run.source)
    common.say(f"wrote '{run.out}' and '{run.report_path}'")
