"""`pii-edu corpus …`: labelled corpora. Each command has a module of its own and is named here."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ..about import __version__
from ..corpus.chats import CALLS, CASES, FilledChat, count_placeholders, load_table, make_chats, read_chats
from ..corpus.clean import (
    CleaningOptions,
    Removed,
    Step,
    TrigramHasher,
    WholeCorpus,
    check_corpus,
    check_record,
    choose_submissions,
    count_steps,
    duplicates_of,
    step_of,
)
from ..corpus.people import GROUPS
from ..corpus.split import PartCounts, check_ids, count_parts, group_documents, paper_split, stratified_folds
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, Tally
from ..files.labelled import FORMS, check_places, guess_form, open_corpus_writer, read_corpus
from ..files.labelled import convert as convert_corpus
from ..files.record import Record, Skip, Source, reason_of, show_fields
from ..files.sources import SubmissionSource, open_source, open_submissions
from ..files.writers import as_line, check_column, partial_path, value_of
from ..release.run import RunState, load_state, state_path
from .common import DONE, DONE_WITH_SKIPS, INTERRUPTED, console, guard

# The cleaning of a corpus that may be broken off: first each record, then the whole, then OUT.

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


# `pii-edu corpus build`, `check` and `assets`: from authored essays to DocBins, with the report of what was filled in.

BUILD_EPILOG = "Exit codes: 0 done; 2 refused, nothing was written; 130 interrupted."
CHECK_EPILOG = "Exit codes: 0 every essay can be used; 1 an essay is broken or says what another one says; 2 there are none."
ASSETS_EPILOG = "Exit codes: 0 nothing is wrong (files may be absent); 1 a file is not what it should be; 2 refused."
_ROWS = 14

AssetsArg = Annotated[
    Path, typer.Argument(metavar="ASSETS", help="Folder with essays/ and fragments/ (assets/ESSAY_FORMAT.md).")
]
RecordOpt = Annotated[bool, typer.Option("--record", help="Write down the checksums of files that have no published one.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder for train, dev and test as DocBins, and the two reports.")]
SeedOpt = Annotated[int, typer.Option("--seed", help="Of every choice.")]
ScaleOpt = Annotated[float, typer.Option("--scale", min=0.001, help="Share of the fillings and carriers.")]
UncutOpt = Annotated[
    bool, typer.Option("--uncut", help="Whole texts to train on, not stretches: for a last pass, with --scale 0.5 or less.")
]
CrapiiOpt = Annotated[
    bool,
    typer.Option(
        "--crapii/--no-crapii", help="Whether the essays in ASSETS/crapii go in; not if they are to be held out later."
    ),
]
ScenesOpt = Annotated[
    bool, typer.Option("--scenes/--no-scenes", help="Whether short texts go in, of which nearly every sentence names somebody.")
]
CarriersOpt = Annotated[
    float, typer.Option("--carriers", min=0, help="Times as many carriers to train on; most of them name nobody.")
]
PerturbedOpt = Annotated[
    float,
    typer.Option(
        "--perturbed", min=0, max=1, help="Share of the filled essays to train on that are perturbed (evaluate robustness)."
    ),
]
NamesOpt = Annotated[bool, typer.Option("--names", help="List what looks like a name or a contact detail outside slots.")]
QuietOpt = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
DebugOpt = Annotated[bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")]


def build(
    *,
    assets: AssetsArg = Path("assets"),
    out: OutOpt = Path("corpus"),
    seed: SeedOpt = 46,
    scale: ScaleOpt = 1.0,
    uncut: UncutOpt = False,
    crapii: CrapiiOpt = True,
    scenes: ScenesOpt = True,
    carriers: CarriersOpt = 1.0,
    perturbed: PerturbedOpt = 0.0,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Fill the slots of authored essays (and of your own carriers) with invented people; write DocBins.

    `stats.json` counts documents, tokens and labels per split; `distribution.json` how often each label, role, form, region and
    kind of wear was filled in.
    """
    from ..corpus.build import build_corpus

    with guard(debug):
        change = None
        if perturbed:
            from ..corpus.perturb import training_change

            change = training_change(perturbed)
        stats, distribution = build_corpus(
            assets, out, seed=seed, scale=scale, uncut=uncut, crapii=crapii, scenes=scenes, carriers=carriers, change=change
        )
        if not quiet:
            screen = console()
            screen.print(split_table(stats))
            print_distribution(screen, distribution["train"])
    raise typer.Exit(DONE)


def check(
    *, assets: AssetsArg = Path("assets"), names: NamesOpt = False, quiet: QuietOpt = False, debug: DebugOpt = False
) -> None:
    """Check authored essays: format, slots without a label, near-duplicates; count labels and roles."""
    from ..corpus.templates import check as check_essays

    with guard(debug):
        found = check_essays(assets)
        screen = console()
        for err in found.broken:
            screen.print(str(err), markup=False)
        for a, b, share in found.near:
            screen.print(f"{a} and {b} share {share:.0%} of the shorter one's word trigrams", markup=False)
        if not quiet:
            screen.print(f"{found.essays} essays, {found.clean} of them without private people and details", highlight=False)
            table = Table("label", "essays", "slots")
            for label in sorted(found.slots):
                table.add_row(label, str(found.labels[label]), str(found.slots[label]))
            screen.print(table)
        if names:
            for ident, some in found.names.items():
                screen.print(f"{ident}: {' | '.join(some)}", markup=False)
    raise typer.Exit(DONE_WITH_SKIPS if found.failed else DONE)


def assets(
    *, folder: AssetsArg = Path("assets"), record: RecordOpt = False, quiet: QuietOpt = False, debug: DebugOpt = False
) -> None:
    """Check the user's own files: published checksums, numbers of records, and the checksums that were recorded."""
    from ..corpus.build import WRONG, verify_assets

    with guard(debug):
        checked = verify_assets(folder, record=record)
        table = Table("file", "state", "sha256", "")
        for item in checked:
            table.add_row(item.path, item.state, item.sha256[:16], item.reason)
        if not quiet or any(item.state == WRONG for item in checked):
            console().print(table)
    raise typer.Exit(DONE_WITH_SKIPS if any(item.state == WRONG for item in checked) else DONE)


def split_table(stats: Mapping[str, Mapping[str, int]]) -> Table:
    """RETURNS (Table): One column per split; documents, tokens and labels."""
    table = Table("", *stats, title="What was written")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in sorted({key for some in stats.values() for key in some}, key=lambda key: (key.isupper(), key)):
        table.add_row(row, *(f"{some.get(row, 0):,}" for some in stats.values()))
    return table


def print_distribution(screen: Console, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Print how often each value of each kind was filled in, the most frequent ones.

    screen (Console): Where to. counts (Mapping): Kind -> value -> times.
    """
    table = Table("train: what was filled in", "values", "most frequent")
    for kind, found in counts.items():
        first = ", ".join(f"{value} {n:,}" for value, n in list(found.items())[:_ROWS])
        table.add_row(kind, str(len(found)), first + (f" and {len(found) - _ROWS} more" if len(found) > _ROWS else ""))
    screen.print(table)


# `pii-edu corpus chats`: redacted teacher-student chats, filled with people of ten groups.

EPILOG = (
    "What the placeholders stand for: pii_components/resources/chats/placeholders.toml. Exit codes: 0 all done; 2 refused, nothing "
    "was written; 130 interrupted, nothing was written."
)

InputOpt = Annotated[
    str, typer.Option("--input", help="Redacted chats: a .txt, .csv, .tsv, .jsonl or .json file, or a folder of them.")
]
PARTS = ("test", "rest")
OutOpt_chats = Annotated[str, typer.Option("--out", help="JSON Lines: id, text, spans, gender, culture, and more.")]
PerGroupOpt = Annotated[
    int | None,
    typer.Option("--per-group", min=1, help="Chats of each group [as many as can be had with no chat in two groups]."),
]
SeedOpt_chats = Annotated[int, typer.Option("--seed", help="Same seed, same chats.")]
SameOpt = Annotated[bool, typer.Option("--same-chats", help="The same chats in every group, so that only the names differ.")]
CalledOpt = Annotated[
    str, typer.Option("--called", help="What <STUDENT> alone becomes: first (name), or full (name) as in the JEDM paper.")
]
CaseOpt = Annotated[
    str, typer.Option("--case", help="written: names with capitals; surroundings: in lower case in a turn without capitals.")
]
PartOpt = Annotated[
    str, typer.Option("--part", help="test: only chats that say `part: test`; rest: only the others [all].", show_default=False)
]
TableOpt = Annotated[str, typer.Option("--placeholders", help="TOML file that adds placeholders to those that ship.")]
SpeakerOpt = Annotated[str, typer.Option("--speaker-column", help="Column of a table that says who speaks [a usual name].")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column of the turns [edited, or a usual name].")]
ChatOpt = Annotated[str, typer.Option("--chat-column", help="Column that tells the chats of a table apart [a file is a chat].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of the files; a byte order mark is seen without it.")]
ListOpt = Annotated[bool, typer.Option("--list", help="Show the placeholders and what they stand for; write nothing.")]
OverwriteOpt = Annotated[bool, typer.Option("--overwrite", help="Replace an OUT that exists.")]


def chats(
    *,
    input_path: InputOpt = "assets/chats",
    out: OutOpt_chats = "",
    per_group: PerGroupOpt = None,
    seed: SeedOpt_chats = 46,
    same_chats: SameOpt = False,
    called: CalledOpt = "first",
    case: CaseOpt = "written",
    part: PartOpt = "",
    placeholders: TableOpt = "",
    speaker_field: SpeakerOpt = "",
    text_field: TextOpt = "",
    chat_field: ChatOpt = "",
    encoding: EncodingOpt = "utf-8",
    list_only: ListOpt = False,
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Fill redacted chats with names of each gender (F, M) and culture (the UN's five regions); write texts with labelled spans.

    As in the JEDM paper, the chats are dealt out to ten groups, and the people of a chat have names of its group. Works on the chats
    in assets/chats, on TSCC, and on any corpus with placeholders.
    """
    with guard(debug):
        screen = console(stderr=True)
        for value, what, allowed in (
            (called, "form for --called", CALLS),
            (case, "--case", CASES),
            (part or PARTS[0], "--part", PARTS),
        ):
            if value not in allowed:
                raise PiiError(Errors.E685, value=value, what=what, allowed=", ".join(allowed))
        out_path = Path(out)
        if not list_only and not out:
            raise PiiError(Errors.E512, what="the chats", reason="no --out is given")
        if not list_only and out_path.exists() and not overwrite:
            raise PiiError(Errors.E541, path=out_path)
        table = load_table(Path(placeholders) if placeholders else None)
        found = read_chats(
            Path(input_path),
            table=table,
            speaker_field=speaker_field,
            text_field=text_field,
            chat_field=chat_field,
            encoding=encoding,
        )
        if part:
            found = [chat for chat in found if (chat.part == PARTS[0]) == (part == PARTS[0])]
            if not found:
                raise PiiError(Errors.E691, where=f"'{input_path}'", problem=f"no chat is of --part {part}")
        if list_only:
            shown = Table("placeholder", "count", "person", "stands for", "label", title=f"{len(found)} chats")
            for words, n, meaning in count_placeholders(found, table=table):
                row = (meaning.who, meaning.what, meaning.label) if meaning else ("", "not in the table", "")
                shown.add_row(words, str(n), *row)
            console().print(shown)
            return
        filled = list(
            make_chats(found, per_group=per_group, seed=seed, same_chats=same_chats, table=table, called=called, case=case)
        )
        _write(out_path, filled)
        if not quiet:
            screen.print(_summary(filled))
            screen.print(f"wrote {len(filled)} chats, made of {len({c.chat for c in filled})}, to '{out_path}'", markup=False)


def _write(path: Path, filled: list[FilledChat]) -> None:
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf8", newline="\n") as stream:
            for chat in filled:
                stream.write(json.dumps(chat.as_record(), ensure_ascii=False) + "\n")
        partial.replace(path)
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _summary(filled: list[FilledChat]) -> Table:
    shown = Table("gender", "culture", "chats", "students", "teachers", "other names", "details")
    for gender, culture in GROUPS:
        mine = [chat for chat in filled if (chat.gender, chat.culture) == (gender, culture)]
        labels = Counter(label for chat in mine for _, _, label in chat.spans)
        names = sum(n for label, n in labels.items() if label.startswith("NAME_"))
        students, teachers = labels["NAME_STUDENT"], labels["NAME_INSTRUCTOR"]
        counts = (len(mine), students, teachers, names - students - teachers, sum(labels.values()) - names)
        shown.add_row(gender, culture, *map(str, counts))
    return shown


# `pii-edu corpus clean`: from submissions to a corpus, with a table of what each step left.

EPILOG_CLEAN = (
    "Exit codes: 0 all done; 1 done, but records could not be read (the report lists them); 2 refused, nothing was written; "
    "130 interrupted, --resume goes on. A threshold of 0 leaves its step out. Beside clean.jsonl, clean.cleaning.json holds counts, codes, ids, "
    "no text; the id of a file is its path, which may hold a name."
)
_DEFAULTS = CleaningOptions(language="")

SourceArg = Annotated[
    str, typer.Argument(metavar="INPUT", help="A folder of .pdf and .txt, a .pdf, .csv, .tsv, .jsonl or .json.")
]
OutOpt_clean = Annotated[str, typer.Option("--out", "-o", help="What is written: JSON Lines, with the columns of INPUT.")]
TextOpt_clean = Annotated[
    str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")
]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id, for the report.")]
StudentOpt = Annotated[str, typer.Option("--student-column", help="Column of the student: one submission of each stays.")]
TimeOpt = Annotated[str, typer.Option("--time-column", help="Time of a submission, number or ISO date [the order of INPUT].")]
PerStudentOpt = Annotated[
    str, typer.Option("--per-student", help="Which stays: latest; only (students with one, as in the CRAPII paper); all.")
]
EncodingOpt_clean = Annotated[str, typer.Option("--encoding", help="Encoding of INPUT; a byte order mark is seen without it.")]
MaxBytesOpt = Annotated[int, typer.Option("--max-bytes", help="Larger files are left out.")]
MaxPagesOpt = Annotated[int, typer.Option("--max-pages", help="Longer PDFs are left out.")]
LanguageOpt = Annotated[str, typer.Option("--language", help='Texts in another one are left out; "" for any.')]
MinWordsOpt = Annotated[int, typer.Option("--min-words", help="Texts with fewer words between white space are left out.")]
SimilarityOpt = Annotated[float, typer.Option("--similarity", help="Cosine above which two texts are near-duplicates.")]
KeepOpt = Annotated[str, typer.Option("--keep", help="Of near-duplicates: none, as in the paper, or first.")]
ContaminationOpt = Annotated[float, typer.Option("--contamination", help="Share of texts with anomalous characters, to .5.")]
PoolOpt = Annotated[float, typer.Option("--pool-below", help="Signs fewer texts have share a column; 0 as in the paper.")]
SeedOpt_clean = Annotated[int, typer.Option("--seed", help="Of the search for anomalous characters.")]
ResumeOpt = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run; needs the same settings.")]


def clean(
    *,
    source: SourceArg,
    out: OutOpt_clean,
    text_field: TextOpt_clean = "",
    id_field: IdOpt = "",
    student: StudentOpt = "",
    time: TimeOpt = "",
    per_student: PerStudentOpt = _DEFAULTS.per_student,
    encoding: EncodingOpt_clean = "utf-8",
    max_bytes: MaxBytesOpt = _DEFAULTS.max_bytes,
    max_pages: MaxPagesOpt = _DEFAULTS.max_pages,
    language: LanguageOpt = "en",
    min_words: MinWordsOpt = _DEFAULTS.min_words,
    similarity: SimilarityOpt = _DEFAULTS.similarity,
    keep: KeepOpt = _DEFAULTS.keep,
    contamination: ContaminationOpt = _DEFAULTS.contamination,
    pool_below: PoolOpt = _DEFAULTS.pool_below,
    seed: SeedOpt_clean = _DEFAULTS.seed,
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


# `pii-edu corpus convert`: a labelled corpus in another form, with a report of what was skipped and what was masked.

EPILOG_CONVERT = (
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "130 interrupted, nothing was written."
)
_SKIPS_SHOWN = 10
_READ = ", ".join(FORMS)
_WRITTEN = ", ".join(form.name for form in FORMS.values() if form.writer)

SourceArg_convert = Annotated[str, typer.Argument(metavar="IN", help="A labelled corpus: a file, or a folder in brat's form.")]
OutArg = Annotated[str, typer.Argument(metavar="OUT", help="What is written; a folder for brat.")]
FromOpt = Annotated[str, typer.Option("--from", help=f"Form of IN: {_READ} [by its suffix and first records].")]
ToOpt = Annotated[str, typer.Option("--to", help=f"Form of OUT: {_WRITTEN} [by its suffix].")]
TextSourceOpt = Annotated[str, typer.Option("--text-source", help="File or folder with the texts, for entities; joined by id.")]
TextOpt_convert = Annotated[
    str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")
]
IdOpt_convert = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt_convert = Annotated[str, typer.Option("--encoding", help="Encoding of IN; a byte order mark is seen without it.")]
ReportOpt = Annotated[str, typer.Option("--report", help="Where the report goes [<OUT>.report.json].")]
StrictOpt = Annotated[bool, typer.Option("--strict", help="Stop at the first record that has to be skipped; write nothing.")]


def convert(
    *,
    source: SourceArg_convert,
    out: OutArg,
    from_form: FromOpt = "",
    to_form: ToOpt = "",
    text_source: TextSourceOpt = "",
    text_field: TextOpt_convert = "",
    id_field: IdOpt_convert = "",
    encoding: EncodingOpt_convert = "utf-8",
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
            _tell_convert(screen, tally, skips)
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


def _tell_convert(screen: Console, tally: Tally, skips: list[Skip]) -> None:
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


# `pii-edu corpus split`: which document goes to which part, and what each part holds.

METHODS = ("folds", "paper")
EPILOG_SPLIT = (
    "Exit codes: 0 all done; 1 done, but records were skipped (the report lists them); 2 refused, nothing was written. "
    "Beside folds.jsonl, folds.split.json holds what each part has; no text."
)

SourceArg_split = Annotated[
    str, typer.Argument(metavar="INPUT", help="A corpus, labelled or not: any form that convert or clean reads.")
]
OutOpt_split = Annotated[
    str, typer.Option("--out", "-o", help="What is written: JSON Lines with id and fold, or id and split.")
]
MethodOpt = Annotated[
    str, typer.Option("--method", help="folds; or paper: 25, 15, 60 % by the seeds of the JEDM paper, in the order of INPUT.")
]
FoldsOpt = Annotated[int, typer.Option("--folds", help="How many folds.")]
StudentOpt_split = Annotated[str, typer.Option("--student-column", help="Column of the student: all of one go to one fold.")]
SimilarityOpt_split = Annotated[
    float, typer.Option("--similarity", help="Cosine above which texts are near-duplicates and go to one fold; 0 for none.")
]
SeedOpt_split = Annotated[int, typer.Option("--seed", help="Of the folds.")]
PartsOpt = Annotated[str, typer.Option("--parts", help="Write the parts as files too, to this new folder.")]
FormOpt = Annotated[str, typer.Option("--from", help="Form of a labelled INPUT [by its suffix and first records].")]
TextOpt_split = Annotated[
    str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")
]
IdOpt_split = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt_split = Annotated[str, typer.Option("--encoding", help="Encoding of INPUT; a byte order mark is seen without it.")]


@dataclass(slots=True)
class Input:
    """A corpus that can be read again and again, labelled or not. form (str): Of a labelled one, else nothing. skips (list[Skip]):
    Records of the last reading that could not be used."""

    path: Path
    form: str
    student: str
    options: dict[str, Any]
    skips: list[Skip] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, form: str, student: str, options: dict[str, Any]) -> "Input":
        """RETURNS (Input): Labelled, if a form is given or can be guessed.

        RAISES (PiiError): E501 to E508, E620.
        """
        if not form and path.exists():
            try:
                form = guess_form(path, encoding=options["encoding"], text_field=options["text_field"])
            except PiiError as err:
                if err.code != "E621":
                    raise
        return cls(path, form, student, options)

    def read(self) -> Iterator[tuple[LabelledText, str, str]]:
        """YIELDS (tuple[LabelledText, str, str]): A document; its student; its line, if the corpus is not labelled."""
        self.skips = []
        if self.form:
            fields: dict[str, None] = {}
            known = False
            for essay in read_corpus(self.path, self.form, on_skip=self.skips.append, **self.options):
                known = known or self.student in essay.meta
                fields.update(dict.fromkeys(essay.meta))
                yield essay, _text_of(essay.meta.get(self.student)), ""
            if self.student and not known:
                raise PiiError(Errors.E652, option="--student-column", name=self.student, fields=show_fields(fields))
            return
        source = open_source(self.path, **{name: self.options[name] for name in ("text_field", "id_field", "encoding")})
        if self.student:
            check_column(source, self.student, "--student-column")
        for item in source:
            if isinstance(item, Skip):
                self.skips.append(item)
                continue
            student = _text_of(value_of(item, source, self.student)) if self.student else ""
            yield LabelledText(item.id, item.text), student, as_line(item, source)


def _text_of(value: Any) -> str:
    return "" if value is None else str(value).strip()


def split(
    *,
    source: SourceArg_split,
    out: OutOpt_split,
    method: MethodOpt = "folds",
    folds: FoldsOpt = 5,
    student: StudentOpt_split = "",
    similarity: SimilarityOpt_split = 0.9,
    seed: SeedOpt_split = 0,
    parts_folder: PartsOpt = "",
    form: FormOpt = "",
    text_source: TextSourceOpt = "",
    text_field: TextOpt_split = "",
    id_field: IdOpt_split = "",
    encoding: EncodingOpt_split = "utf-8",
    overwrite: OverwriteOpt = False,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Split a corpus: folds that keep students and near-duplicates together and labels even, or the split of the JEDM paper."""
    with guard(debug):
        if method not in METHODS:
            raise PiiError(Errors.E668, value=method, allowed=", ".join(METHODS))
        if not 0 <= similarity < 1:
            raise PiiError(Errors.E650, name="similarity", value=similarity, allowed="a number from 0, below 1; 0 for none")
        path, out_path, folder = Path(source), Path(out), Path(parts_folder) if parts_folder else None
        report_path = out_path.with_name(out_path.stem + ".split.json")
        _check_places(path, out_path, report_path, folder, overwrite=overwrite)
        options = {"text_field": text_field, "id_field": id_field, "encoding": encoding}
        corpus = Input.open(path, form, student, options | {"text_source": Path(text_source) if text_source else None})
        ids: list[str] = []
        labels: list[Counter[str]] = []
        students: list[str] = []
        rows: list[Any] = []
        hasher = TrigramHasher()
        for essay, name, _ in corpus.read():
            ids.append(essay.id)
            students.append(name)
            labels.append(Counter(label for _, _, label in essay.spans))
            if similarity and method == "folds":
                rows.append(hasher(essay.text))
        check_ids(ids)
        copies = duplicates_of(rows, threshold=similarity, highest=False).groups if rows else ()
        groups = group_documents(len(ids), students=students, copies=copies)
        if method == "paper":
            parts = paper_split(len(ids))
        else:
            fold_of = stratified_folds(groups, labels, ids=ids, folds=folds, seed=seed)
            parts = {f"fold_{k}": tuple(i for i, fold in enumerate(fold_of) if fold == k) for k in range(folds)}
        counts = count_parts(parts, labels, groups)
        part_of = {i: name for name, part in parts.items() for i in part}
        if folder is not None:
            _write_parts(corpus, folder, [part_of[i] for i in range(len(ids))], list(parts))
        report = {
            "program": "pii-edu corpus split",
            "version": __version__,
            "method": method,
            "settings": {"folds": folds, "seed": seed, "similarity": similarity, "student_column": student} if method == "folds" else {},
            "form": corpus.form or "unlabelled",
            "documents": len(ids),
            "groups": len(groups),
            "parts": {name: asdict(part) for name, part in counts.items()},
            "skipped": {
                "count": len(corpus.skips), "records": [{"record": skip.number, "code": skip.code} for skip in corpus.skips],
            },
        }  # fmt: skip
        key = "split" if method == "paper" else "fold"
        value = {name: name if method == "paper" else k for k, name in enumerate(parts)}
        _write_split(report_path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        _write_split(out_path, "".join(json.dumps({"id": name, key: value[part_of[i]]}) + "\n" for i, name in enumerate(ids)))
        if not quiet:
            _tell_split(console(stderr=True), counts, corpus.skips, f"wrote '{out_path}' and '{report_path}'")
        skipped = bool(corpus.skips)
    raise typer.Exit(DONE_WITH_SKIPS if skipped else DONE)


def _check_places(path: Path, out: Path, report: Path, folder: Path | None, *, overwrite: bool) -> None:
    origin = path.resolve()
    places = [place.resolve() for place in (out, report, *([folder] if folder else []))]
    if origin in places or any(origin in place.parents for place in places):
        raise PiiError(Errors.E509)
    for place in () if overwrite else (out, report):
        if place.exists():
            raise PiiError(Errors.E510, what=f"'{place}'")
    if folder is not None and folder.exists() and not overwrite and (not folder.is_dir() or any(folder.iterdir())):
        raise PiiError(Errors.E510, what=f"'{folder}'")


def _write_split(path: Path, content: str) -> None:
    fresh = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(content, encoding="utf-8", newline="\n")
        os.replace(fresh, path)
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _write_parts(corpus: Input, folder: Path, part_of: list[str], names: list[str]) -> None:
    """A file per part, in the form of INPUT where it is one that is written, else JSON Lines."""
    form = FORMS.get(corpus.form)
    if form is None:
        for name in names:
            lines = [line for (_, _, line), part in zip(corpus.read(), part_of, strict=True) if part == name]
            _write_split(folder / f"{name}.jsonl", "".join(line + "\n" for line in lines))
        return
    form = form if form.writer else FORMS["jsonl"]
    suffix = form.suffixes[0] if form.suffixes else {"kaggle-jsonl": ".jsonl"}.get(form.name, ".json")
    with ExitStack() as stack:
        writers = {name: stack.enter_context(open_corpus_writer(folder / f"{name}{suffix}", form.name)) for name in names}
        for number, ((essay, _, _), part) in enumerate(zip(corpus.read(), part_of, strict=True), 1):
            writers[part].write(essay, number=number)
        for writer in writers.values():
            writer.finish()


def _tell_split(screen: Console, counts: dict[str, PartCounts], skips: list[Skip], last: str) -> None:
    table = Table()
    table.add_column("")
    for name in counts:
        table.add_column(name, justify="right")
    for title, values in (
        ("documents", [part.documents for part in counts.values()]),
        ("groups", [part.groups for part in counts.values()]),
        ("documents with labels", [part.with_pii for part in counts.values()]),
    ):
        table.add_row(title, *(f"{value:,}" for value in values))
    for label in sorted({label for part in counts.values() for label in part.spans}):
        table.add_row(label, *(f"{part.spans.get(label, 0):,}" for part in counts.values()))
    screen.print(table)
    for skip in skips[:10]:
        screen.print(str(skip.error), markup=False)
    if skips:
        screen.print(f"{len(skips)} records skipped")
    screen.print(last, markup=False)


corpus_app = typer.Typer(
    help="Read, write and make labelled corpora.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
corpus_app.command("convert", epilog=EPILOG_CONVERT)(convert)
corpus_app.command("clean", epilog=EPILOG_CLEAN)(clean)
corpus_app.command("build", epilog=BUILD_EPILOG)(build)
corpus_app.command("check", epilog=CHECK_EPILOG)(check)
corpus_app.command("assets", epilog=ASSETS_EPILOG)(assets)
corpus_app.command("split", epilog=EPILOG_SPLIT)(split)
corpus_app.command("chats", epilog=EPILOG)(chats)
