"""`pii-edu corpus …`: labelled corpora, read, written, cleaned, split and made."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..corpus import clean as steps
from ..corpus.split import (
    check_ids,
    count_parts,
    group_documents,
    paper_split,
    stratified_folds,
)
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats
from ..files.labelled import FORMS, check_places, form_of, open_corpus_writer, read_corpus
from ..files.labelled import convert as convert_corpus
from ..files.record import Record, Skip, Source, show_fields
from ..files.sources import open_source, open_submissions
from ..files.writers import Output, as_line, check_column, replace_file, value_of
from ..options import ABOVE_0, Limit, Settings, key, read_settings
from . import common

_READING = "text_column, id_column, encoding, text_source (texts of entities with offsets alone; joined by id)"
_BUILD_EPILOG = (
    "Settings for --config: seed, scale (share of fillings and carriers), carriers (times as many to train on), "
    "scenes (whether short texts go in). "
    "Exit codes: 0 done; 2 refused, nothing was written; 130 interrupted."
)
_CONVERT_EPILOG = (
    f"Settings for --config: {_READING}, strict. "
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "130 interrupted, nothing was written."
)
_SPLIT_EPILOG = (
    "Settings for --config: method (folds; or paper: 25, 15, 60 % by the seeds of the JEDM paper, in the order of INPUT), folds, seed, "
    "student_column (all texts of one go to one fold), similarity (cosine above which texts are near-duplicates and go to one fold; "
    f"0 for none), form (of a labelled INPUT), {_READING}. "
    "Exit codes: 0 all done; 1 done, but records were skipped (the report lists them); 2 refused, nothing was written. "
    "Beside folds.jsonl, folds.split.json holds what each part has; no text."
)
_CLEAN_EPILOG = (
    "Settings for --config: text_column, id_column (for the report), student_column (one submission of each stays), time_column "
    "(number or ISO date), per_student (latest, only or all), encoding, max_bytes, max_pages, language (others are left out), min_words, "
    "similarity (cosine above which two texts are near-duplicates), keep (of these: none, as in the paper, or first), contamination "
    "(share of texts with anomalous characters, to .5), pool_below, seed. A threshold of 0 leaves its step out. "
    "Exit codes: 0 all done; 1 done, but records could not be read (the report lists them); 2 refused, nothing was written; "
    "130 interrupted, nothing was written. Beside clean.jsonl, clean.cleaning.json holds counts, codes, ids, no text; the id of a "
    "file is its path, which may hold a name."
)
METHODS = FOLDS, PAPER = ("folds", "paper")
_LIBRARIES = ("pypdfium2", "pycld2", "scikit-learn", "scipy", "numpy")
_SIMILARITY: Limit = (lambda value: 0 <= value < 1, "a number from 0, below 1; 0 for none")
_WRITTEN = ", ".join(form.name for form in FORMS.values() if form.writer)

AssetsArg = Annotated[
    Path,
    Argument(metavar="ASSETS", help="Folder with essays/ and fragments/ (assets/ESSAY_FORMAT.md)."),
]

corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True, kw_only=True)
class ReadingSettings(Settings):
    """How a corpus is read.

    text_column (str): Column or field that holds the text; empty to find the usual one.
    id_column (str): Column or field that names a document; empty to find the usual one.
    encoding (str): Of text files that are not Unicode; often cp1252.
    text_source (str): File or folder with the texts, for gold that has offsets alone.
    strict (bool): Whether the first record that cannot be used ends it all.
    """

    text_column: str = key("")
    id_column: str = key("")
    encoding: str = key("utf-8")
    text_source: str = key("")
    strict: bool = key(False)

    @property
    def columns(self) -> dict[str, Any]:
        """Options of `open_source` and of `read_corpus`."""
        return {
            "text_field": self.text_column,
            "id_field": self.id_column,
            "encoding": self.encoding,
        }

    @property
    def texts(self) -> Path | None:
        """Where the texts of entities with offsets stand."""
        return Path(self.text_source) if self.text_source else None


@corpus_app.command(epilog=_CONVERT_EPILOG)
def convert(
    *,
    source: Annotated[Path, Argument(metavar="IN", help="A labelled corpus.")],
    out: Annotated[Path, Argument(metavar="OUT", help="What is written.")],
    from_form: str = Option("", "--from", help=f"Form of IN: {', '.join(FORMS)} [by its suffix]."),
    to_form: str = Option("", "--to", help=f"Form of OUT: {_WRITTEN} [by its suffix]."),
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Turn a labelled corpus into another form; write OUT and a report.

    Gold that does not fit its text (outside of it, overlapping, other words at its offsets, an edge inside a token) is masked: OUT
    marks the stretch as not labelled, and the report says where and why.
    """
    with common.guard():
        settings = read_settings(ReadingSettings, config)
        report_path = out.with_name(out.name + ".report.json")
        from_form = from_form or form_of(source)
        to_form = open_corpus_writer(out, to_form).form
        check_places(source, report_path, settings.texts, out, overwrite=overwrite)
        skips = common.Skips(common.say, strict=settings.strict)
        tally = convert_corpus(
            source,
            out,
            from_form=from_form,
            to_form=to_form,
            on_skip=skips,
            overwrite=overwrite,
            text_source=settings.texts,
            **settings.columns,
        )
        head = {"program": "pii-edu", "version": __version__, "from": from_form, "to": to_form}
        _write_json(report_path, head | _as_report(tally, skips))
        for name, n in sorted(tally.notes.items()):
            common.tell(f"{name}: {n}")
        common.tell(
            f"{tally.documents} documents, {len(skips)} skipped, {len(tally.masked)} labels masked"
        )
        common.tell(f"wrote '{out}' ({to_form}) and '{report_path}'")
    raise typer.Exit(common.exit_code(skips))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    replace_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _as_report(tally: ReadStats, skips: list[Skip]) -> dict[str, Any]:
    """Counts, and numbers of records with codes, offsets, labels and reasons; no text."""
    return {
        "documents": tally.documents,
        "labels": {label: n for label, n in sorted(tally.labels.items()) if n},
        "skipped": _listed(skips),
        "masked": {
            **tally.masked_in_short(),
            "where": [
                {
                    "record": m.number,
                    "start": m.start,
                    "end": m.end,
                    "label": m.label,
                    "reason": m.reason,
                }
                for m in tally.masked
            ],
        },
        "notes": dict(sorted((name, n) for name, n in tally.notes.items() if n)),
    }


def _listed(skips: list[Skip]) -> dict[str, Any]:
    return {
        "count": len(skips),
        "records": [{"record": skip.number, "code": skip.code} for skip in skips],
    }


@dataclass(frozen=True, kw_only=True)
class CleanSettings(steps.CleaningOptions):
    """The thresholds, and the columns that are read.

    text_column (str): Column or field that holds the text; empty to find the usual one.
    id_column (str): Column or field that names a document; empty to find the usual one.
    student_column (str): Column that tells who wrote; then `per_student` chooses among a student's submissions.
    time_column (str): Column that tells when a text was handed in; without it the last one in the file is the latest.
    encoding (str): Of text files that are not Unicode; often cp1252.
    """

    text_column: str = key("")
    id_column: str = key("")
    student_column: str = key("")
    time_column: str = key("")
    encoding: str = key("utf-8")


class Cleaning:
    """One run: each record is read once. Its text goes through the steps, its line waits in a temporary file until the steps over the
    whole corpus have said which lines stay.

    kept (list[tuple[int, str]]): Number and id of each record that came to the steps over the whole corpus.
    removed (list[steps.Removed]): What the steps took out.
    """

    def __init__(self, path: Path, options: CleanSettings) -> None:
        self.path, self.options = path, options
        self.source = self._open()
        for name in ("student_column", "time_column"):
            if column := getattr(options, name):
                check_column(self.source, column, name)
        self.total = 0
        self.kept: list[tuple[int, str]] = []
        self.removed: list[steps.Removed] = []

    def _open(self) -> Source:
        options = self.options
        if self.path.is_dir() or self.path.suffix.lower() in (".pdf", ".zip"):
            return open_submissions(
                self.path,
                max_bytes=options.max_bytes,
                max_pages=options.max_pages,
                encoding=options.encoding,
            )
        return open_source(
            self.path,
            text_field=options.text_column,
            id_field=options.id_column,
            encoding=options.encoding,
        )

    def go(self, lines: IO[bytes], on_progress: Callable[[int, int], None]) -> steps.WholeCorpus:
        """Do it all.

        lines (IO[bytes]): Gets a line of OUT for each of `kept`.
        on_progress (Callable): Gets how far, and of how many.
        RETURNS (steps.WholeCorpus): What the last steps found.
        RAISES (PiiError): E552, if no record is a text.
        """
        whole = steps.check_corpus(self._texts(lines, on_progress), self.options)
        if self.removed and not self.kept and all(item.step == "text" for item in self.removed):
            reason = f"{len(self.removed)} records, the first: {self.removed[0].code}"
            raise PiiError(Errors.E552, what=f"'{self.path}'", reason=reason)
        for step, places in (("duplicates", whole.copies), ("anomalies", whole.anomalous)):
            self.removed += [steps.Removed(*self.kept[i], step, "") for i in places]
        self.removed.sort(key=lambda item: item.number)
        return whole

    def _texts(self, lines: IO[bytes], on_progress: Callable[[int, int], None]) -> Iterator[str]:
        """YIELDS (str): Each text that went through the steps for a record alone."""
        chosen, source = self._chosen(), self.source
        for self.total, item in enumerate(source, 1):
            on_progress(source.position(), source.size)
            step = steps.check_record(item, self.options, chosen)
            if step or isinstance(item, Skip):
                self.removed.append(
                    steps.Removed(item.number, item.id, step, getattr(item, "code", ""))
                )
                continue
            self.kept.append((item.number, item.id))
            lines.write(as_line(item, source).encode("utf-8") + b"\n")
            yield item.text
        source.close()

    def _chosen(self) -> frozenset[int] | None:
        """The submissions that stay; None without a student column."""
        options = self.options
        if not options.student_column or options.per_student == "all":
            return None

        def column(name: str) -> Callable[[Record], Any]:
            return lambda record: value_of(record, self.source, name)

        # A source is read once: this is another one on the same input.
        return steps.choose_submissions(
            (item for item in self._open() if isinstance(item, Record)),
            column(options.student_column),
            column(options.time_column) if options.time_column else None,
            how=options.per_student,
        )

    def as_json(self, whole: steps.WholeCorpus) -> dict[str, Any]:
        """The report: settings, the table, numbers and ids of records with their step; no text. The same run gives the same bytes."""
        found = whole.duplicates
        groups = [[self.kept[i][0] for i in group] for group in found.groups] if found else []
        group_of = {number: index for index, group in enumerate(groups) for number in group}
        removed = [asdict(item) for item in self.removed]
        for item in removed:
            if item["step"] == "duplicates":
                item["group"] = group_of[item["number"]]
        installed = {dist.name.lower(): dist.version for dist in metadata.distributions()}
        table = steps.count_steps(self.total, self.removed, self.options)
        return {
            "program": "pii-edu corpus clean",
            "versions": {"pii-edu": __version__}
            | {name: installed.get(name) for name in _LIBRARIES},
            "input": {
                "kind": self.source.kind,
                "hidden_files_passed_over": getattr(self.source, "hidden", 0),
            },
            "settings": asdict(self.options),
            "steps": [asdict(step) for step in table],
            "notes": [whole.note] if whole.note else [],
            "near_duplicates": {
                "pairs": len(found.pairs) if found else 0,
                "groups": groups,
                "highest_similarity": found.curve() if found else [],
            },
            "removed": removed,
        }


@corpus_app.command(epilog=_CLEAN_EPILOG)
def clean(
    *,
    source: Annotated[
        Path,
        Argument(
            metavar="INPUT",
            help="A folder or .zip of documents, a document (.pdf, .docx and others) or a table.",
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
        output = Output(out)
        with TemporaryFile() as lines, common.progress(of_files=True) as bar:
            task = bar.add_task("reading", total=None)
            whole = run.go(
                lines, lambda done, size: bar.update(task, completed=done, total=max(size, 1))
            )
            gone = {item.number for item in run.removed}
            lines.seek(0)
            output.start()
            for (number, _), line in zip(run.kept, lines, strict=True):
                if number not in gone:
                    output.append(line)
        _write_json(report_path, run.as_json(whole))
        output.finish()
        if not common.global_option("quiet"):
            _show(run, whole)
        common.tell(f"wrote '{out}' and '{report_path}'")
    raise typer.Exit(common.exit_code(any(item.step == "text" for item in run.removed)))


def _show(run: Cleaning, whole: steps.WholeCorpus) -> None:
    """How many records each step left."""
    rows = []
    for step in steps.count_steps(run.total, run.removed, run.options):
        removed = f"{step.removed:,}" if step.removed else ""
        rows.append((step.about, removed, f"{step.remaining:,}"))
    names = ("selection step", "removed", "remaining")
    common.console(stderr=True).print(common.table_of(rows, *names, right=names[1:]))
    if whole.note:
        common.say(whole.note)


@corpus_app.command(epilog=_BUILD_EPILOG)
def build(
    *,
    assets: AssetsArg = Path("assets"),
    out: Path = Option(
        Path("corpus"), help="Folder for train, dev and test as DocBins, and the two reports."
    ),
    config: common.ConfigOpt = None,
) -> None:
    """Fill the slots of authored essays (and of your own carriers) with invented people; write DocBins.

    `stats.json` counts documents, tokens and labels per split; `distribution.json` how often each label, role, form, region and
    kind of noise was filled in.
    """
    from ..corpus.build import build_corpus

    with common.guard():
        options = asdict(read_settings(BuildSettings, config))
        stats, _ = build_corpus(assets, out, **options)
        for name, counts in stats.items():
            common.tell(f"{name}: {counts['documents']} documents, {counts['tokens']} tokens")


@dataclass(frozen=True, kw_only=True)
class BuildSettings(Settings):
    """What is made of the essays.

    seed (int): Of every choice.
    scale (float): Share of the carriers and of the fillings, above 0.
    carriers (float): Times as many carriers in train: a detector that sees few texts without people sees people everywhere.
    scenes (bool): Whether short texts go in, of which nearly every sentence names somebody.
    """

    seed: int = key(46)
    scale: float = key(1.0, limit=ABOVE_0)
    carriers: float = key(1.0, limit=(lambda value: value >= 0, "a number from 0"))
    scenes: bool = key(True)


@dataclass(frozen=True, kw_only=True)
class GroupSettings(ReadingSettings):
    """How a corpus is read, and what of it belongs together.

    seed (int): Another one gives other folds.
    student_column (str): Column that tells who wrote.
    similarity (float): Cosine from which two texts are one student's, 0 to below 1; 0 for none.
    form (str): Of the corpus, as `pii-edu corpus convert` names them; empty to go by its suffix.
    RAISES (PiiError): E650.
    """

    seed: int = key(0)
    student_column: str = key("")
    similarity: float = key(0.9, limit=_SIMILARITY)
    form: str = key("")


@dataclass(frozen=True, kw_only=True)
class SplitSettings(GroupSettings):
    """How a corpus is split.

    method (str): "folds" keeps a student's texts and near-duplicates together; "paper" is CRAPII's split by number.
    folds (int): Number of folds.
    RAISES (PiiError): E519, E650.
    """

    method: str = key(FOLDS, allowed=METHODS)
    folds: int = key(5)


@dataclass(slots=True)
class Documents:
    """What a split needs to know of the documents of a corpus, in their order; skips: what could not be read."""

    form: str = "unlabelled"
    ids: list[str] = field(default_factory=list)
    labels: list[Counter[str]] = field(default_factory=list)
    students: list[str] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    skips: common.Skips = field(default_factory=lambda: common.Skips(common.say))

    def add(self, essays: Iterable[LabelledText], student_column: str, *, alike: bool) -> None:
        """Take in documents. alike (bool): Whether near-duplicates are to be found.

        RAISES (PiiError): E627; E652, if no document has the column of students.
        """
        hasher, fields = steps.TrigramHasher(), dict[str, None]()
        for essay in essays:
            fields.update(dict.fromkeys(essay.meta))
            student = essay.meta.get(student_column)
            self.ids.append(essay.id)
            self.students.append("" if student is None else str(student).strip())
            self.labels.append(Counter(label for _, _, label in essay.spans))
            if alike:
                self.rows.append(hasher(essay.text))
        if student_column and student_column not in fields:
            shown = show_fields(fields)
            raise PiiError(Errors.E652, option="student_column", name=student_column, fields=shown)
        check_ids(self.ids)

    def groups(self, similarity: float) -> tuple[tuple[int, ...], ...]:
        """RETURNS (tuple[tuple[int, ...], ...]): Numbers of documents that stay together: of one student, and near-duplicates."""
        copies = tuple[tuple[int, ...], ...]()
        if self.rows:
            copies = steps.duplicates_of(self.rows, threshold=similarity, highest=False).groups
        return group_documents(len(self.ids), students=self.students, copies=copies)


def read_documents(path: Path, settings: SplitSettings) -> Documents:
    """Read a corpus, labelled or not. RAISES (PiiError): E627; E652, if no document has the column of students."""
    form = settings.form
    if not form:
        with suppress(PiiError):
            form = form_of(path)
    documents = Documents(form or "unlabelled")
    reading = {"on_skip": documents.skips, "text_source": settings.texts, **settings.columns}
    essays = read_corpus(path, form, **reading) if form else _plain(path, settings, documents)
    alike = bool(settings.similarity) and settings.method == FOLDS
    documents.add(essays, settings.student_column, alike=alike)
    return documents


def _plain(path: Path, settings: SplitSettings, documents: Documents) -> Iterator[LabelledText]:
    """YIELDS (LabelledText): Texts without labels, with the student in `meta`."""
    name, source = settings.student_column, open_source(path, **settings.columns)
    if name:
        check_column(source, name, "student_column")
    for item in source:
        if isinstance(item, Skip):
            documents.skips(item)
        else:
            meta = {name: value_of(item, source, name)} if name else {}
            yield LabelledText(item.id, item.text, meta=meta)


@corpus_app.command(epilog=_SPLIT_EPILOG)
def split(
    *,
    source: Annotated[
        Path,
        Argument(
            metavar="INPUT", help="A corpus, labelled or not: any form that convert or clean reads."
        ),
    ],
    out: Annotated[
        Path,
        Option(
            "--out", "-o", help="What is written: JSON Lines with id and fold, or id and split."
        ),
    ],
    config: common.ConfigOpt = None,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Split a corpus: folds that keep students and near-duplicates together and labels even, or the split of the JEDM paper."""
    with common.guard():
        settings = read_settings(SplitSettings, config)
        report_path = out.with_name(out.stem + ".split.json")
        common.check_outputs(source, out, report_path, overwrite=overwrite)
        documents = read_documents(source, settings)
        groups, parts = make_parts(documents, settings)
        counts = count_parts(parts, documents.labels, groups)
        report = {
            "program": "pii-edu corpus split",
            "version": __version__,
            "settings": asdict(settings),
            "form": documents.form,
            "documents": len(documents.ids),
            "groups": len(groups),
            "parts": {name: asdict(part) for name, part in counts.items()},
            "skipped": _listed(documents.skips),
        }
        _write_json(report_path, report)
        rows: list[dict[str, Any]] = [{"id": name} for name in documents.ids]
        for k, (name, part) in enumerate(parts.items()):
            for i in part:
                rows[i] |= {"fold": k} if settings.method == FOLDS else {"split": name}
        replace_file(out, "".join(json.dumps(row) + "\n" for row in rows))
        sizes = ", ".join(f"{name} {part.documents}" for name, part in counts.items())
        common.tell(f"documents: {sizes}; {len(documents.skips)} records skipped")
        common.tell(f"wrote '{out}' and '{report_path}'")
    raise typer.Exit(common.exit_code(documents.skips))


def make_parts(
    documents: Documents, settings: SplitSettings
) -> tuple[Any, Mapping[str, Sequence[int]]]:
    """RETURNS (tuple): Groups of documents that stay together; numbers of the documents of each part."""
    groups = documents.groups(settings.similarity)
    if settings.method == PAPER:
        return groups, paper_split(len(documents.ids))
    fold_of = stratified_folds(
        groups, documents.labels, ids=documents.ids, folds=settings.folds, seed=settings.seed
    )
    folds: dict[str, list[int]] = {f"fold_{k}": [] for k in range(settings.folds)}
    for i, fold in enumerate(fold_of):
        folds[f"fold_{fold}"].append(i)
    return groups, folds
