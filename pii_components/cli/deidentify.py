"""`pii-edu deidentify`: from settings to a finished OUTPUT and its report.

deidentify          options become `RunSettings`
Job.run             checks what is read and where is written, then the run of release/run.py, then the report
tell_start/tell_end what a run says on standard error: how it begins, what it did, what somebody should look at
"""

import hmac
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, safe_name
from ..files.sources import REPORT_NAME, FolderSource, kind_of, open_source, suffix_of_output
from ..files.tables import broken_rows
from ..files.writers import check_column, open_writer, partial_path
from ..llm import CODES
from ..llm.models import Prices
from ..llm.pipeline import add_components, read_config
from ..llm.pipeline import report as llm_report
from ..names.wordlists import is_word_too
from ..options import need, read_settings
from ..profiles import CORPUS, HEADERS, KEEP, Profile
from ..release import CPU, KEEP_IDS, LOCAL, PSEUDONYM
from ..release.columns import (
    NO_THREAD,
    THREAD,
    Columns,
    Ids,
    ThreadOf,
    told_by_columns,
)
from ..release.engine import Engine, load_engine, read_roster, use_roster
from ..release.report import (
    BOUNDS,
    Report,
    digest,
    input_digest,
    page_path,
    provenance,
    review_plan,
    write_report,
)
from ..release.review import Decisions, decisions_path, review_key
from ..release.run import (
    LabelsOut,
    MapOut,
    ReviewOut,
    Run,
    RunState,
    SweepLog,
    SweepResult,
    batches,
    check_resume,
    load_state,
    state_path,
)
from ..release.scale import spread, workers_at_hand
from ..release.sweep import RISKS
from ..vault.keys import VaultKey
from ..vault.vault import Vault
from . import common
from .common import tell
from .settings import HIDE, OFF, RunSettings

if TYPE_CHECKING:
    from ..ruler.roster import Roster

EPILOG = (
    "Further settings stand in a run file, which `pii-edu init run.toml` writes with a comment on each; --config run.toml uses it. "
    "A long INPUT is done by a process for each processor, of 300 MB or more each; --config workers=1 is one. "
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "3 stopped before the end, what was done stays; 130 interrupted, what was done stays."
)
INPUT_HELP = (
    "A document (.docx, .pdf, .odt, .rtf, .html, .txt and others), a table (.csv, .tsv, .xlsx, .jsonl, .json, .parquet), "
    "a folder or .zip of them, or - for standard input."
)
PROFILE_HELP = "What happens to each label: a name (see pii-edu profiles) or a TOML file [crapii]."
# Settings that may be other ones when a run is taken up again: they change no byte of OUTPUT. Files that are read count by their content.
CHANGEABLE = {
    *("out", "report", "batch_size", "strict", "engine", "workers", "dry_run", "resume"),
    *("overwrite", "key_file", "vault", "vault_key_file", "model", "profile", "scope", "headers"),
    *("roster", "decisions", "code", "llm", "prices", "allow_remote"),
}


def deidentify(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help=INPUT_HELP)],
    out: str = Option(
        "",
        "--out",
        "-o",
        help="OUTPUT, in the form of INPUT; .txt for a document [./<INPUT>.deidentified; stdout for -].",
    ),
    text_column: common.TextsOpt = None,
    id_column: str = Option("", help="Column or field that names a document."),
    keep: list[str] | None = Option(
        None, help="Release this column or field as it is; may be repeated."
    ),
    drop: list[str] | None = Option(
        None, help="Leave this column or field out of OUTPUT; may be repeated."
    ),
    profile: str = Option("", help=PROFILE_HELP),
    roster: common.RosterOpt = "",
    key_file: str = Option(
        "", help="Secret key (see keygen): same key, same surrogates [PII_EDU_KEY]."
    ),
    vault: str = Option(
        "", help="Encrypted file that gets the way back (see reidentify); made, or added to."
    ),
    id_map: str = Option(
        "", help="Table of file names, or IDs, in INPUT and in OUTPUT; not to be released."
    ),
    review_dir: str = Option(
        "", metavar="DIR", help="Folder that gets what `pii-edu review DIR` needs (no text)."
    ),
    decisions: str = Option(
        "", metavar="DIR", help="Folder of a review whose decisions overrule what is found."
    ),
    config: common.ConfigOpt = None,
    dry_run: bool = Option(
        False, "--dry-run", help="Read and check all of INPUT, say what would be done."
    ),
    resume: bool = Option(
        False, "--resume", help="Go on with an interrupted run: same settings, same key."
    ),
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Replace personal information in INPUT; write OUTPUT and report.json.

    Other columns and fields pass through unchanged; those that hold prose or look personal (names, addresses, numbers, birth dates,
    coordinates, ...) only with --keep. A record that is skipped is not in OUTPUT.
    """
    with common.guard(), ExitStack() as stack:
        settings = read_settings(
            RunSettings,
            config,
            out=out,
            text_column=text_column,
            id_column=id_column,
            keep=keep,
            drop=drop,
            profile=profile,
            roster=roster,
            key_file=key_file,
            vault=vault,
            id_map=id_map,
            review_dir=review_dir,
            decisions=decisions,
            dry_run=dry_run,
            resume=resume,
            overwrite=overwrite,
        )
        code = Job(source, settings, stack).run()
    raise typer.Exit(code)


def review_file(folder: str) -> Path:
    """What a run writes for its review: a file in the folder of --review-dir."""
    return Path(folder) / "review.jsonl"


class Job:
    """One call: its settings, and what they name.

    stack (ExitStack): Gets the locks and the workers.
    RAISES (PiiError): What cannot be done, before anything is read or written.
    """

    def __init__(self, source: str, settings: RunSettings, stack: ExitStack) -> None:
        self.settings, self.stack = settings, stack
        self.path = Path(source)
        self.key = common.load_key(settings.key_file)
        settings.refuse_in_workers(common.global_option("debug"), "--debug")
        self.prices: Prices | None = None
        if settings.llm:
            read_config(settings.llm)
            self.prices = Prices.load(settings.prices or None)
        self.roster = read_roster(settings.roster)
        scope = settings.scope or Profile.load(settings.profile).scope
        # Who is on a class list is one person in all files.
        self.scope = CORPUS if self.roster and not settings.scope and scope != THREAD else scope
        self.in_threads = self.scope == THREAD
        need(settings.thread, "thread", self.in_threads, "scope = thread")
        self.vault = Path(settings.vault) if settings.vault else None
        self.decided: Path | None = None
        self.decisions: Decisions | None = None
        if settings.decisions:
            self.decided = decisions_path(review_file(settings.decisions))
            self.decisions = Decisions.load(self.decided)
            self.decisions.key = review_key(self.decisions.path)
        self.data = common.input_data(source)
        self.writes_stdout = source == "-" and settings.out in ("", "-")
        # What goes to standard output is written to a file before: half of a text is never printed.
        folder = stack.enter_context(TemporaryDirectory()) if self.writes_stdout else ""
        self.target = Path(folder, "out.txt") if folder else Path(settings.out or self._own_name())
        given = {
            "labels": settings.labels_out,
            "map": settings.id_map,
            "headers": settings.headers_out,
            "review": settings.review_dir and review_file(settings.review_dir),
        }
        self.beside = {name: Path(place) for name, place in given.items() if place}
        asked = Path(settings.report)
        self.reports = (asked, page_path(asked)) if settings.report else ()

    def _own_name(self) -> str:
        """A name for OUTPUT where the user gives none."""
        stem = self.path.resolve().stem
        if self.settings.ids != KEEP_IDS:
            stem = Ids(Source(self.path), self.key.secret).safe(stem)
        if os.path.isdir(self.path):
            return stem + ".deidentified"
        return f"{stem}.deidentified{suffix_of_output(self.path)}"

    def open(self) -> Source:
        """INPUT, to be read once."""
        return open_source(self.path, **self.settings.reading, data=self.data)

    def load(self) -> Engine:
        """The pipeline, with workers where there are some."""
        settings = self.settings
        extend = partial(add_components, path=settings.llm, allow_remote=settings.allow_remote)
        engine = load_engine(
            settings.model,
            profile=settings.profile,
            key=self.key.secret,
            scope=self.scope,
            headers=settings.headers,
            operating_point=settings.operating_point,
            device=settings.device,
            debug=common.global_option("debug"),
            extend=extend if settings.llm else None,
            code=settings.code,
        )
        removes = engine.profile.header != HEADERS[0]
        need(settings.headers_out, "headers_out", removes, "headers = remove")
        use_roster(engine.nlp, self.roster)
        if self.decisions:
            engine.decisions, engine.decisions_key = self.decisions.by_text(), self.decisions.key
        here, workers = dict[str, Any](), settings.workers
        if settings.engine == LOCAL:
            # One process does what calls servers, shows tracebacks, or lends values of the corpus as surrogates.
            lends = engine.profile.pool == CORPUS and self.reads_twice
            # One that a GPU serves keeps it busy, as long as nobody says more.
            workers = workers or (workers_at_hand() if settings.device == CPU else 1)
            if workers == 1 or settings.llm or engine.debug or lends:
                return engine
            names = ("roster", "operating_point", "device", "code")
            here = {name: getattr(settings, name) for name in names}
        spreading = spread(
            engine,
            settings.engine,
            model=settings.model,
            key=self.key.secret,
            workers=workers,
            learns=settings.sweep == HIDE,
            **here,
        )
        return self.stack.enter_context(spreading)

    @property
    def reads_twice(self) -> bool:
        """Whether something is learnt of all of INPUT before any of it is written."""
        listed = self.roster is not None and self.scope == CORPUS
        return self.settings.sweep == HIDE or self.in_threads or listed

    def run(self) -> int:
        """All of INPUT to OUTPUT and what stands beside it. RETURNS (int): Exit code."""
        settings = self.settings
        self.check_places()
        if not settings.dry_run:
            for place in (self.target, *self.beside.values()):
                self.stack.enter_context(common.locked(place))
        source = self.open_input()
        writer = open_writer(source, self.target, safe=settings.spreadsheet_safe)
        if not (settings.overwrite or settings.resume):
            mine = (self.target, partial_path(self.target), state_path(self.target))
            common.check_free(*mine, *self.beside.values(), *self.reports)
        tell_roster(self.roster, self.scope)
        if settings.dry_run:
            return self.rehearse(source)
        labels = LabelsOut(self.beside["labels"]) if "labels" in self.beside else None
        secret: VaultKey | None = None
        if self.vault:
            known = self.vault if self.vault.exists() else None
            secret = common.vault_key(known, key_file=settings.vault_key_file, shared=self.key)
        old = load_state(state_path(self.target)) if settings.resume else None
        report_path = self.report_path(source)
        try:
            engine = self.load()
            self.learn(engine)
        except KeyboardInterrupt:
            common.say("interrupted before anything was written; start again")
            raise
        vault: Vault | None = None
        if self.vault and secret:
            vault = common.open_for_run(self.vault, secret, resume=settings.resume)
            self.stack.callback(vault.close, seal=False)  # where the run does not begin
        state, counts = self.begin(source, engine, vault, old)
        run = Run(
            source,
            writer,
            engine,
            counts,
            state,
            settings.batch_size,
            settings.strict,
            prepare=self.prepare,
            safe_id=self.naming.safe,
            key=self.key.secret,
            vault=vault,
            labels=labels,
            map=MapOut(self.beside["map"]) if "map" in self.beside else None,
            headers=MapOut(self.beside["headers"], b"document,header\n")
            if "headers" in self.beside
            else None,
            review=self.review_out(source, engine, report_path),
        )
        if settings.sweep != OFF and self.data is None:
            run.sweep = SweepLog(self.target, self.key.secret, roster=self.roster)
        tell_start(source, self.key, old)
        self.tell_way_back(source)
        process(run, resume=settings.resume)
        return self.finish(run, report_path)

    def check_places(self) -> None:
        """Refuse to write on, in or around what is read or written. RAISES (PiiError): E472."""
        settings = self.settings
        read: dict[str, Path | str | None] = {
            "input": None if self.data is not None else self.path,
            "class list": settings.roster,
            "decisions": self.decided,
        }
        written = {**self.beside, "vault": self.vault, "output": self.target}
        for name, place in written.items():
            if place:
                others = {other: path for other, path in written.items() if other != name}
                common.check_apart(name, place, **read, **others)
        for place in (partial_path(self.target), state_path(self.target), *self.reports):
            inside = self.target in place.parents  # a report may lie in a folder of texts
            common.check_apart("report", place, **read, output=None if inside else self.target)

    def open_input(self) -> Source:
        """INPUT, its columns checked; sets what each of its records goes through."""
        settings = self.settings
        source = self.open()
        columns = {
            "--text-column": settings.text_column,
            "--id-column": (settings.id_column,) if settings.id_column else (),
            "--keep": settings.keep,
            "--drop": settings.drop,
        }
        if source.kind not in ("json", "jsonl"):  # there, a field may come later
            for option, names in columns.items():
                for name in names:
                    check_column(source, name, option)
        self.thread_of = ThreadOf(source, settings.thread) if self.in_threads else None
        listed = self.roster.words if self.roster else frozenset[str]()
        self.naming = Ids(source, self.key.secret, settings.ids, listed)
        if settings.ids == PSEUDONYM and source.has_columns:
            need(settings.ids, "ids = pseudonym", source.id_field, "--id-column")
        free = {*settings.keep, source.id_field} if settings.ids else {*settings.keep}
        self.columns = Columns(source, free, listed)
        self.columns.check(self.open())
        return source

    def prepare(self, item: Record | Skip) -> Record | Skip:
        """What is done to an item before all else."""
        if self.decisions:
            item = self.decisions.check(item)
        if self.thread_of:
            item = self.thread_of(item)
        item = self.columns.watch(self.naming(item))
        return told_by_columns(item) if isinstance(item, Record) else item

    def report_path(self, source: Source) -> Path:
        """`report.json` beside OUTPUT or in it; `<OUTPUT>.report.json` where the report of another run has that name."""
        settings, out = self.settings, self.target
        if self.reports:
            return self.reports[0]
        if source.kind == "folder" and out.suffix.lower() != ".zip":
            return out / REPORT_NAME
        plain, named = out.with_name(REPORT_NAME), out.with_name(out.name + ".report.json")
        places = (plain, page_path(plain))
        is_taken = not settings.overwrite and any(place.exists() for place in places)
        return named if is_taken or out in places or named.exists() else plain

    def learn(self, engine: Engine) -> None:
        """First reading of the input: its names, which no surrogate may be, those of each thread, and what is swept. RAISES (PiiError): E570."""
        if not self.reads_twice:
            return
        thread_of = None
        with closing(self.open()) as first:
            items = iter(first)
            if self.thread_of:
                thread_of = ThreadOf(first, self.settings.thread)
                items = map(thread_of, items)
            hide = self.settings.sweep == HIDE
            engine.learn_all(batches(items, self.settings.batch_size), sweep=hide)
        if thread_of:
            thread_of.check()

    def begin(
        self, source: Source, engine: Engine, vault: Vault | None, old: RunState | None
    ) -> tuple[RunState, Report]:
        """How far the run has come: nowhere, or as far as an old one. RAISES (PiiError): E510, E514, E539."""
        same = self.same_settings(source, engine) | {"vault": vault.vault_id if vault else ""}
        if old is None:
            return RunState(same, self.key.fingerprint, replace=self.settings.overwrite), Report()
        check_resume(old, same, self.key.fingerprint)
        if self.target.exists() and not (old.replace or old.complete):
            raise PiiError(Errors.E510, what=f"'{self.target}'")
        return old, Report.load(old.report)

    def same_settings(self, source: Source, engine: Engine) -> dict[str, str]:
        """What must be the same when a run is taken up again."""
        settings, profile = self.settings, engine.profile
        content = json.dumps(profile.to_dict(), sort_keys=True).encode()
        same = {k: str(value) for k, value in vars(settings).items() if k not in CHANGEABLE}
        same |= {
            "input": json.dumps(input_digest(source, self.key.secret)),
            "text column": " ".join(source.text_fields),
            "model": engine.name,
            "version of pii-edu": __version__,
            "headers": profile.header,
            "profile": f"{profile.name} {sha256(content).hexdigest()[:16]}",
            "scope": profile.scope,
        }
        read = {name: getattr(settings, name) for name in ("llm", "roster", "code")}
        read["decisions"] = self.decided
        for name, path in read.items():
            if (
                path
            ):  # a class list is told by its digest under the key: there are few people to guess
                content = Path(path).read_bytes()
                same[name] = hmac.new(self.key.secret, content, "sha256").hexdigest()[:16]
        return same

    def review_out(self, source: Source, engine: Engine, report: Path) -> ReviewOut | None:
        """What `pii-edu review` needs: how INPUT and OUTPUT are read again."""
        if "review" not in self.beside:
            return None
        found = {"text_field": source.text_field, "more": source.more, "encoding": source.encoding}
        drop = sorted(self.settings.drop)
        about = {
            "version": __version__,
            "model": engine.name,
            "reading": self.settings.reading | found | {"drop": drop},
            "profile": engine.profile.name,
            "actions": dict(engine.profile.actions),
        }
        places = {"input": self.path, "output": self.target, "report": report}
        return ReviewOut(self.beside["review"], about, self.key.secret, **places)

    def rehearse(self, source: Source) -> int:
        """`--dry-run`: read and check, say what would be done. RETURNS (int): The exit code of a run, as far as it is known."""
        skips = common.Skips(common.say, named=True)
        n = words = renamed = 0
        unread: Counter[str] = Counter()
        for item in map(self.prepare, source):
            if isinstance(item, Skip):
                is_file = isinstance(source, FolderSource)
                safe = self.naming.safe(item.id) if item.id else ""
                skips(replace(item, id=source.name_of(item) if is_file else safe))
                continue
            if item.encoding:
                common.say(_read_as(source, item.number, item.encoding))
            for row in broken_rows(item):
                skips(replace(row, id=source.name_of(item)))
            n += 1
            words += len(item.text.split())
            renamed += item.given is not None
            unread.update(item.unread)
        source.close()
        common.say(
            f"{n} documents of {words} words would be de-identified and {len(skips)} set aside; {renamed} would get another name"
        )
        without = 0
        if self.thread_of:
            self.thread_of.check()
            without = self.thread_of.without
        for line in _not_read(unread, without):
            common.say(line)
        self.tell_way_back(source)
        common.say(f"nothing was written; a run would write '{self.target}'")
        return common.exit_code(skips) if n else common.REFUSED

    def tell_way_back(self, source: Source) -> None:
        """Before anything is written: how the originals come back, and what of them does not."""
        if not self.vault or self.writes_stdout:
            return
        needed = [f"--text-column {source.shown(name)}" for name in self.settings.text_column]
        if self.settings.encoding != "utf-8":
            needed.append(f"--config encoding={self.settings.encoding}")
        if key_file := self.settings.vault_key_file or self.settings.key_file:
            needed.append(f"--key-file '{key_file}'")
        needed.append("--out ORIGINALS")
        command = " ".join(
            ["pii-edu reidentify", f"'{self.target}' --vault '{self.vault}'", *needed]
        )
        tell(f"way back: {command}; a record that would not come back is left out (E470)")
        for line in not_restored(source):
            tell(f"does not come back: {line}")

    def finish(self, run: Run, report_path: Path) -> int:
        """The report and the summary of a run that came to its end. RETURNS (int): Exit code."""
        counts = run.report
        lacking = self.decisions.not_read(run.state.items) if self.decisions else None
        if counts.refused:
            common.say(f"none of {counts.n_skipped} records could be used; nothing was written")
            return common.REFUSED
        head = self.report_head(run)
        if self.decisions:
            not_read = lacking.code if lacking else ""
            head["decisions"] = {"documents": len(run.engine.decisions), "not_read": not_read}
        if self.prices:
            head["llm"] = llm_report(run.engine.nlp, self.prices, words=counts.words)
            notes = {code: n for code, n in sorted(counts.notes.items()) if code in CODES}
            head["llm"]["documents_with_notes"] = notes
        swept = run.sweep.sweep(run.source) if run.sweep is not None else None
        if swept is not None:
            head["sweep"] = swept.as_json(self.settings.sweep)
        spans = sum(n for key, n in counts.spans.items() if not key.endswith(f"|{KEEP}"))
        plan = review_plan(BOUNDS, documents=counts.documents, spans=spans)
        shown = {name: run.source.shown(name) for name in run.source.others}
        content = counts.as_json(head, shown)
        write_report(report_path, content | {"review_plan": plan, "leak_estimate": None})
        run.end()
        if self.writes_stdout:
            common.print_bytes(self.target.read_bytes())
        elif not common.global_option("quiet"):
            tell_end(run, report_path, swept)
        if self.prices:
            tell_sent(head["llm"])
        if lacking:
            common.say(lacking)
        return common.exit_code(counts.n_skipped or counts.rows_left_out or lacking)

    def report_head(self, run: Run) -> dict[str, Any]:
        """What the report says of the settings, and of the files that were written."""
        engine, source = run.engine, run.source
        head: dict[str, Any] = {
            "program": "pii-edu",
            "version": __version__,
            "model": engine.name,
            "profile": engine.profile.name,
            "headers": engine.profile.header,
            "class_list": taken_of(self.roster),
            "scope": engine.profile.scope,
            "key": self.key.origin,
            "ids": self.naming.how or "pseudonym where they hold a name",
            "format": source.kind,
            "encoding": source.encoding,
        }
        read = input_digest(source, self.key.secret)
        read = read if json.dumps(read) == run.state.settings["input"] else None
        head |= provenance(engine.nlp, engine.profile, run.writer.out, source=read)
        if isinstance(source, FolderSource):
            head["hidden_files_passed_over"] = source.hidden
        if run.vault is not None:
            vault = run.vault
            head["vault"] = {"id": vault.vault_id, "documents": vault.documents, "head": vault.head}
            head["vault"]["not_restored"] = not_restored(source)
        if run.labels is not None:
            head["labels_out"] = run.labels.as_json() | digest(run.labels.out)
        if run.review is not None:
            head["review"] = digest(run.review.out)
        return head


def not_restored(source: Source) -> list[str]:
    """RETURNS (list[str]): What a vault does not lead back to; texts come back as they were read."""
    in_folder = isinstance(source, FolderSource)
    names = source.files if isinstance(source, FolderSource) else [str(source.path)]
    forms = []
    for name in names:
        if suffix_of_output(Path(name), in_folder=in_folder) != kind_of(name):
            forms.append(kind_of(name))
    lines = [f"the form of {', '.join(sorted(set(forms)))}: their text does"] if forms else []
    return lines + [f"{len(source.drop)} columns that are dropped"] * bool(source.drop)


def process(run: Run, *, resume: bool) -> None:
    """The run with its progress bar; leaves with an exit code if it ends early."""
    source = run.source
    of_files = source.kind == "folder"
    with common.progress(of_files=of_files) as bar, _signals(run):
        task = bar.add_task("files" if of_files else "reading", total=max(source.size, 1))
        say = partial(bar.console.print, markup=False)
        run.on_progress = lambda position: bar.update(task, completed=position)
        run.on_skip = common.Skips(say, named=True)
        try:
            run.go(resume=resume)
        except KeyboardInterrupt:
            say(f"interrupted, --resume goes on; what was done stays in '{run.writer.partial}'")
            raise typer.Exit(common.INTERRUPTED) from None
        except PiiError as err:
            say(str(err))
            if run.state.items:
                raise typer.Exit(common.STOPPED) from None
            run.discard()
            raise typer.Exit(common.REFUSED) from None
        finally:
            source.close()


@contextmanager
def _signals(run: Run) -> Iterator[None]:
    """Ctrl-C and a polite kill stop the run when what is read is written; a second one stops it at once."""

    def handler(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        run.stop()

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def tell_start(source: Source, key: common.Key, old: RunState | None) -> None:
    """What is read as text, and which key is used."""
    if source.text_field:
        texts = ", ".join(map(source.shown, source.text_fields))
        others = ", ".join(map(source.shown, source.others))
        tell(f"text: {texts}; unchanged: {others or 'nothing else'}")
    if source.written_in:
        tell(f"no Unicode: read as {source.encoding}; OUTPUT is in {source.written_in}")
    if not key.kept:
        tell(key.note, "dim")
    if old is not None:
        tell(f"going on after record {old.items}")


def taken_of(roster: "Roster | None") -> dict[str, Any] | None:
    """For the report: how many people a class list has and how many have no family name, what was read, and the columns that nobody understood."""
    if roster is None:
        return None
    shown = [
        safe_name(name, i) for i, (name, kind) in enumerate(roster.columns, 1) if name and not kind
    ]
    lacking = sum(not member.family for member in roster.members)
    words = sum(any(map(is_word_too, member.person.words)) for member in roster.members)
    read = {"read": roster.kinds, "not_understood": shown, "without_family_name": lacking}
    more = {"names_that_are_words": words, "rows_of_nobody": roster.nobody}
    return {"people": len(roster)} | read | more


def tell_roster(roster: "Roster | None", scope: str = "") -> None:
    """What was taken of a class list: "24 people: given, family, e-mail". scope (str): Of surrogates, if there are some."""
    if not (taken := taken_of(roster)):
        return
    tell(f"class list: {taken['people']} people: {', '.join(taken['read'])}")
    if scope == CORPUS:
        tell("each of them has one surrogate in all files (scope = corpus); INPUT is read twice")
    if n := taken["without_family_name"]:
        tell(f"people of the class list of whom no family name was read: {n}")
    if n := taken["names_that_are_words"]:
        how = "the word is hidden where the text shows that it is a name"
        tell(f"people of the class list with a name that is also a word, as Will: {n}; {how}")
    if n := taken["rows_of_nobody"]:
        tell(f"rows of the class list that name nobody, and are not used: {n}")
    if taken["not_understood"]:
        names = ", ".join(taken["not_understood"][:20])
        tell(f"columns of the class list that are not understood, and not used: {names}")


def tell_end(run: Run, report_path: Path, swept: SweepResult | None) -> None:
    """Counts, what is to be reviewed, and where it was written."""
    report = run.report
    if report.spans:
        rows = ([*key.split("|"), count] for key, count in sorted(report.spans.items()))
        table = common.table_of(rows, "label", "role", "action", "spans", right=["spans"])
        common.console(stderr=True).print(table)
    tell(f"{report.documents} documents, {report.n_skipped} skipped, {report.words} words")
    for line in _to_review(run, report, swept):
        tell(f"to review: {line}")
    tell(f"wrote '{run.writer.out}'")
    tell(f"for your files, not to be released: '{report_path}', '{page_path(report_path)}'")


def _to_review(run: Run, report: Report, swept: SweepResult | None) -> Iterator[str]:
    """YIELDS (str): What somebody should look at. The report has the places."""
    if report.renamed:
        yield f"{report.renamed} documents have a pseudonym for their name; --config ids=keep leaves it as it is"
    if run.headers is not None:
        yield f"'{run.headers.out}' holds the headers as they were; it is not to be released"
    for number, encoding in report.recognised:
        yield _read_as(run.source, number, encoding)
    yield from _not_read(report.unread, report.notes[NO_THREAD])
    if swept is not None and (n := swept.by_risk.total()):
        risks = ", ".join(f"{risk}: {swept.by_risk[risk]}" for risk in RISKS)
        yield (
            f"what was hidden somewhere stands in clear in {n} places ({len({place.record for place in swept.found})} documents), risk {risks}. "
            "pii-edu review shows them (--review-dir), --config sweep=hide hides surnames too"
        )
    for name in run.source.others:
        if n := report.in_fields[name]:
            yield f"in {n} records a value that was replaced stands in {run.source.shown(name)} too, which stays unchanged"


def _read_as(source: Source, number: int, encoding: str) -> str:
    name = source.files[number - 1] if isinstance(source, FolderSource) else source.path.name
    return f"'{name}' is no Unicode; it was read as {encoding}"


def _not_read(unread: Mapping[str, int], without: int) -> Iterator[str]:
    """YIELDS (str): What documents hold and nobody reads; how many have no thread."""
    if unread:
        listed = ", ".join(f"{kind} ({n})" for kind, n in sorted(unread.items()))
        yield f"not read in documents, and left out: {listed}"
    if without:
        yield f"{without} documents tell no thread; each is a scope of its own"


def tell_sent(report: Mapping[str, Any]) -> None:
    """What language models were sent, and what it costs."""
    for row in report["models"]:
        where = f"sent to {row['host']}" if row["left_this_machine"] else "on this machine"
        tell(f"{row['model']}: {row['calls']} calls, {where}")
    if report["usd"] is not None:
        tell(f"cost of the models: {report['usd']:.4f} US dollars")
