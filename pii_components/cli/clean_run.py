"""The cleaning of a corpus that may be broken off: first each record, then the whole, then OUT.

`<OUT>.partial` grows by a line per record: number, id, code and, of records that stay so far, text and line of OUT. It is what a run
is taken up from, with the settings in `<OUT>.state.json`; texts are not held in memory. OUT and its report appear whole or not at
all.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from ..about import __version__
from ..corpus.cleaning import (
    CleaningOptions,
    Removed,
    Step,
    WholeCorpus,
    check_corpus,
    check_record,
    choose_submissions,
    count_steps,
    step_of,
)  # fmt: skip
from ..corpus.lines import as_line, check_column, value_of
from ..corpus.pdf import SubmissionSource, open_submissions
from ..corpus.readers import open_source
from ..corpus.records import Record, Skip, Source, reason_of
from ..corpus.writers import partial_path
from ..errors import Errors, PiiError
from .state import RunState, load_state, state_path

_SAVE_EVERY = 200
_LIBRARIES = ("pymupdf", "pycld2", "scikit-learn", "scipy", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns hold what; empty where there are none. encoding (str): Of the input."""

    text: str = ""
    id: str = ""
    student: str = ""
    time: str = ""
    encoding: str = "utf-8"


@dataclass(slots=True)
class CleanRun:
    """One run. path, out (Path): Input and OUT. on_progress (Callable[[str, int, int], None]): Gets a stage, how far, and of how many.
    whole (WholeCorpus), removed (list[Removed]), total (int): What `go` found out."""

    path: Path
    out: Path
    options: CleaningOptions
    columns: Columns
    on_progress: Callable[[str, int, int], None] = lambda stage, done, size: None
    source: Source = field(init=False)
    whole: WholeCorpus = field(default_factory=WholeCorpus)
    removed: list[Removed] = field(default_factory=list)
    total: int = 0

    def __post_init__(self) -> None:
        self.source = self._open()
        for name, option in ((self.columns.student, "--student-column"), (self.columns.time, "--time-column")):
            if name:
                check_column(self.source, name, option)

    @property
    def report_path(self) -> Path:
        """RETURNS (Path): `essays.cleaning.json` beside `essays.jsonl`."""
        return self.out.with_name(self.out.stem + ".cleaning.json")

    @property
    def partial(self) -> Path:
        """RETURNS (Path): The file that grows."""
        return partial_path(self.out)

    def steps(self) -> list[Step]:
        """RETURNS (list[Step]): The table."""
        return count_steps(self.total, self.removed, self.options)

    def go(self, *, resume: bool = False, overwrite: bool = False) -> None:
        """Do it all.

        resume (bool): Take up an interrupted run. overwrite (bool): Replace OUT and its report.
        RAISES (PiiError): E509, E510, E512 to E514; E653; E005.
        """
        self._check_places(resume=resume, overwrite=overwrite)
        self._read(load_state(state_path(self.out)) if resume else None)
        self.whole = check_corpus((text for _, text in self._kept()), self.options)
        numbers = [head for head, _ in self._heads() if not head[2]]
        self.removed = [Removed(number, name, step_of(code), code) for (number, name, code), _ in self._heads() if code]
        self.removed += [Removed(*numbers[i][:2], "duplicates", "E661") for i in sorted(self.whole.copies)]
        self.removed += [Removed(*numbers[i][:2], "anomalies", "E662") for i in sorted(self.whole.anomalous)]
        self.removed.sort(key=lambda item: item.number)
        self._finish(numbers)

    def _open(self) -> Source:
        columns, options = self.columns, self.options
        if self.path.is_dir() or self.path.suffix.lower() == ".pdf":
            return open_submissions(
                self.path, max_bytes=options.max_bytes, max_pages=options.max_pages, encoding=columns.encoding
            )
        return open_source(self.path, text_field=columns.text, id_field=columns.id, encoding=columns.encoding)

    def _check_places(self, *, resume: bool, overwrite: bool) -> None:
        out, origin = self.out.resolve(), self.path.resolve()
        places = (out, self.partial.resolve(), state_path(out), self.report_path.resolve())
        if origin in places or (origin.is_dir() and origin in out.parents):
            raise PiiError(Errors.E509)
        if resume and overwrite:
            raise PiiError(Errors.E540)
        if resume or overwrite:
            return
        for place in (self.out, self.report_path, self.partial):
            if place.exists():
                raise PiiError(Errors.E510, what=f"'{place}'")

    def _settings(self) -> dict[str, str]:
        settings = {name: str(value) for name, value in {**asdict(self.options), **asdict(self.columns)}.items()}
        return {"input": self.source.fingerprint(), "version of pii-edu": __version__, **settings}

    def _read(self, old: RunState | None) -> None:
        """First stage: every record by itself, to the partial file."""
        state = RunState(self._settings())
        if old is not None:
            for name, value in state.settings.items():
                if old.settings.get(name) != value:
                    raise PiiError(Errors.E514, what=f"setting '{name}'" if name != "input" else name)
            state = old
        chosen = self._chosen()
        self.out.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(self.partial, "r+b" if old is not None else "wb") as file:
                file.truncate(state.offset)
                file.seek(state.offset)
                if isinstance(self.source, SubmissionSource):
                    self.source.done = state.items
                    items: Iterator[Record | Skip] = iter(self.source)
                else:
                    items = islice(iter(self.source), state.items, None)
                state.save(state_path(self.out))
                for item in items:
                    file.write(self._line(item, check_record(item, self.options, chosen)))
                    state.items += 1
                    if state.items % _SAVE_EVERY == 0:
                        self._save(file, state)
                self._save(file, state)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.partial}'", reason=reason_of(err)) from err
        finally:
            self.source.close()
        self.total = state.items

    def _chosen(self) -> frozenset[int] | None:
        """RETURNS (frozenset[int] | None): The submissions that stay; None without a student column."""
        columns, source = self.columns, self.source
        if not columns.student or self.options.per_student == "all":
            return None
        time = (lambda record: value_of(record, source, columns.time)) if columns.time else None
        # A source is read once: this is another one on the same input.
        records = (item for item in self._open() if isinstance(item, Record))
        return choose_submissions(
            records, lambda record: value_of(record, source, columns.student), time, how=self.options.per_student
        )

    def _line(self, item: Record | Skip, skip: Skip | None) -> bytes:
        if isinstance(item, Record):
            name = item.id
        else:
            name = self.source.files[item.number - 1] if isinstance(self.source, SubmissionSource) else ""
        code = skip.code if skip else ""
        rest = [item.text, as_line(item, self.source)] if isinstance(item, Record) and not skip else []
        return (json.dumps([item.number, name, code, *rest]) + "\n").encode("ascii")

    def _save(self, file: Any, state: RunState) -> None:
        file.flush()
        os.fsync(file.fileno())
        state.offset = file.tell()
        state.save(state_path(self.out))
        self.on_progress("reading", self.source.position(), self.source.size)

    def _heads(self) -> Iterator[tuple[tuple[int, str, str], list[str]]]:
        """YIELDS (tuple): Number, id, code of each record; text and line of OUT, or nothing."""
        with open(self.partial, encoding="ascii") as file:
            for line in file:
                number, name, code, *rest = json.loads(line)
                yield (number, name, code), rest

    def _kept(self) -> Iterator[tuple[int, str]]:
        for done, (head, rest) in enumerate(self._heads(), 1):
            if rest:
                yield head[0], rest[0]
            if done % _SAVE_EVERY == 0:
                self.on_progress("comparing", done, self.total)

    def _finish(self, kept: list[tuple[int, str, str]]) -> None:
        """Last stage: the report, then OUT; then what was needed on the way goes."""
        gone = {item.number for item in self.removed}
        fresh, fresh_report = (path.with_name(path.name + ".new") for path in (self.out, self.report_path))
        try:
            with open(fresh, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(rest[1] + "\n" for head, rest in self._heads() if head[0] not in gone)
                file.flush()
                os.fsync(file.fileno())
            content = json.dumps(self.as_json([head[0] for head in kept]), indent=1, ensure_ascii=False) + "\n"
            fresh_report.write_text(content, encoding="utf-8")
            os.replace(fresh_report, self.report_path)
            os.replace(fresh, self.out)
            self.partial.unlink()
            state_path(self.out).unlink()
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{self.out}'", reason=reason_of(err)) from err

    def as_json(self, kept: list[int]) -> dict[str, Any]:
        """The report: settings, the table, numbers and ids of records with codes; no text. The same run gives the same bytes.

        kept (list[int]): Numbers of the records that came to the steps over the whole corpus.
        RETURNS (dict[str, Any]): Ready for JSON.
        """
        found = self.whole.duplicates
        groups = [[kept[i] for i in group] for group in found.groups] if found else []
        group_of = {number: index for index, group in enumerate(groups) for number in group}
        removed = [asdict(item) for item in self.removed]
        for item in removed:
            if item["step"] == "duplicates":
                item["group"] = group_of[item["number"]]
        settings = {**asdict(self.options), **{f"{name}_column": v for name, v in asdict(self.columns).items() if v}}
        return {
            "program": "pii-edu corpus clean",
            "versions": {"pii-edu": __version__, **{name: _version(name) for name in _LIBRARIES}},
            "input": {"kind": self.source.kind, "other_files": getattr(self.source, "n_others", 0)},
            "settings": settings,
            "steps": [asdict(step) for step in self.steps()],
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
