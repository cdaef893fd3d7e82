"""`pii-edu deidentify`: from settings to a finished OUTPUT and its report.

deidentify          options become `RunSettings`
Job.to_files        checks what is read and where is written, then the run of release/run.py, then the report
Job.to_stdout       one text from standard input to standard output, without a report
"""

import hmac
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated, Any

import typer
from typer import Argument, Option

from .. import __version__
from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source
from ..files.sources import REPORT_NAME, FolderSource, open_source
from ..files.writers import Writer, check_column, open_writer, partial_path
from ..llm import CODES
from ..llm.cost import Prices
from ..llm.pipeline import add_components, read_config
from ..llm.pipeline import report as llm_report
from ..profiles import HEADERS, Profile
from ..release.audit import BOUNDS, review_plan
from ..release.columns import KEEP_IDS, PSEUDONYM, THREAD, Columns, Ids, ThreadOf
from ..release.engine import KEEP, Engine, load_engine, read_roster, use_roster
from ..release.report import Report, digest, page_path, provenance, write_report
from ..release.review import Decisions, decisions_path
from ..release.run import (
    HeadersOut,
    LabelsOut,
    MapOut,
    ReviewOut,
    Run,
    RunState,
    SweepLog,
    batches,
    check_resume,
    load_state,
    state_path,
)
from ..release.scale import LOCAL, spread
from ..vault.keys import VaultKey
from . import common, summary
from .settings import HIDE, OFF, RunSettings, need, read_settings

EPILOG = (
    "Further settings stand in a run file, which `pii-edu init run.toml` writes with a comment on each; --config run.toml uses it. "
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "3 stopped before the end, what was done stays; 130 interrupted, what was done stays."
)
INPUT_HELP = "A .txt, .docx, .pdf, .csv, .tsv, .jsonl, .json or .parquet file, a folder or .zip of .txt, .docx and .pdf, or - for standard input."
PROFILE_HELP = "What happens to each label: a name (see pii-edu profiles) or a TOML file [crapii]."
# Settings that may be other ones when a run is taken up again: they change no byte of OUTPUT. Files that are read count by their content.
CHANGEABLE = {
    *("out", "report", "show_leaks", "batch_size", "strict", "engine", "workers"),
    *("dry_run", "resume", "overwrite", "key_file", "vault", "vault_key_file", "vault_passphrase"),
    *("model", "profile", "scope", "headers", "roster", "decisions", "llm", "prices"),
    "allow_remote",
}


def deidentify(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help=INPUT_HELP)],
    out: str = Option(
        "",
        "--out",
        "-o",
        help="OUTPUT, in the form of INPUT; .txt for .pdf [./<INPUT>.deidentified; stdout for -].",
    ),
    text_column: common.TextsOpt = None,
    id_column: common.IdOpt = "",
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
    resume: common.ResumeOpt = False,
    overwrite: common.OverwriteOpt = False,
) -> None:
    """Replace personal information in INPUT; write OUTPUT and report.json.

    Other columns and fields pass through unchanged; those that hold prose or look like names, e-mail addresses or ID numbers only
    with --keep. A record that is skipped is not in OUTPUT.
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


def review_file(place: Path) -> Path:
    """What a run writes for its review: a file in the folder of --review-dir."""
    is_file = place.suffix == ".jsonl" or place.is_file()
    return place if is_file else place / "review.jsonl"


def decisions_file(place: Path) -> Path:
    """The decisions of a review; `place` is the folder of --review-dir, or the file itself."""
    return decisions_path(review_file(place)) if place.is_dir() else place


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
        self.in_threads = (settings.scope or Profile.load(settings.profile).scope) == THREAD
        need(settings.thread, "thread", self.in_threads, "scope = thread")
        self.vault = Path(settings.vault) if settings.vault else None
        self.decided = decisions_file(Path(settings.decisions)) if settings.decisions else None
        if self.decided and not self.decided.exists():
            reason = "no decisions were made; pii-edu review writes them"
            raise PiiError(Errors.E501, what=f"'{self.decided}'", reason=reason)
        self.decisions = Decisions.load(self.decided) if self.decided else None
        self.data = sys.stdin.buffer.read() if source == "-" else None
        self.writes_stdout = source == "-" and settings.out in ("", "-")
        # What goes to standard output is written to a file before: half of a text is never printed.
        folder = Path(stack.enter_context(TemporaryDirectory())) if self.writes_stdout else None
        self.target = folder / "out.txt" if folder else Path(settings.out or self._own_name())
        given = {
            "labels": settings.labels_out,
            "map": settings.id_map,
            "headers": settings.headers_out,
            "review": str(review_file(Path(settings.review_dir))) if settings.review_dir else "",
        }
        self.beside = {name: Path(place) for name, place in given.items() if place}

    def _own_name(self) -> str:
        """A name for OUTPUT where the user gives none."""
        stem = self.path.resolve().stem
        if self.settings.ids != KEEP_IDS:
            stem = Ids(Source(self.path), self.key.secret).safe(stem)
        if os.path.isdir(self.path):
            return stem + ".deidentified"
        suffix = self.path.suffix
        return f"{stem}.deidentified{'.txt' if suffix.lower() in ('.pdf', '.docx') else suffix}"

    @property
    def reading(self) -> dict[str, Any]:
        """How INPUT is read: options of `open_source`."""
        return common.texts(self.settings.text_column) | {
            "id_field": self.settings.id_column,
            "encoding": self.settings.encoding,
            "drop": self.settings.drop,
            "spreadsheet_safe": self.settings.spreadsheet_safe,
            "data": self.data,
        }

    def extend(self, nlp: Any) -> None:
        """Add the language models to a pipeline."""
        add_components(nlp, self.settings.llm, allow_remote=self.settings.allow_remote)

    def load(self) -> Engine:
        """The pipeline, with workers where there are some."""
        settings = self.settings
        engine = load_engine(
            settings.model,
            profile=settings.profile,
            key=self.key.secret,
            scope=settings.scope,
            headers=settings.headers,
            operating_point=settings.operating_point,
            debug=common.global_option("debug"),
            extend=self.extend if settings.llm else None,
        )
        removes = engine.profile.header != HEADERS[0]
        need(settings.headers_out, "headers_out", removes, "headers = remove")
        use_roster(engine.nlp, self.roster)
        if self.decisions:
            engine.decisions = self.decisions.by_text()
        if settings.engine == LOCAL:
            return engine
        spreading = spread(
            engine,
            settings.engine,
            model=settings.model,
            key=self.key.secret,
            workers=settings.workers,
            learns=settings.sweep == HIDE,
        )
        return self.stack.enter_context(spreading)

    def vault_secret(self) -> VaultKey | None:
        """The key of the vault, if there is to be one."""
        if self.vault is None:
            return None
        return common.vault_key(
            self.vault if self.vault.exists() else None,
            key_file=self.settings.vault_key_file,
            ask=self.settings.vault_passphrase,
            shared=self.key,
        )

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
            common.check_free(self.target, partial_path(self.target), *self.beside.values())
            if state_path(self.target).exists():
                raise PiiError(Errors.E510, what="An interrupted run for this OUTPUT")
        if settings.dry_run:
            return self.rehearse(source)
        labels = self.beside.get("labels")
        labels_out = LabelsOut(labels, settings.labels_format) if labels else None
        secret = self.vault_secret()
        old = load_state(state_path(self.target)) if settings.resume else None
        report_path = self.report_path(source)
        engine = self.load()
        self.learn(engine)
        run = self.make_run(source, writer, engine, secret, old)
        run.labels = labels_out
        run.review = self.review_out(source, engine, report_path)
        summary.tell_start(source, self.key, old)
        process(run, resume=settings.resume)
        return self.finish(run, report_path)

    def check_places(self) -> None:
        """Refuse to write on, in or around INPUT. RAISES (PiiError): E472."""
        given = None if self.data is not None else self.path
        for place in (self.target, partial_path(self.target), state_path(self.target)):
            common.check_apart("output", place, input=given)
        if self.vault is not None:
            common.check_apart("vault", self.vault, input=given, output=self.target, **self.beside)
        for name, place in self.beside.items():
            others = {other: path for other, path in self.beside.items() if other != name}
            common.check_apart(f"file of {name}", place, input=given, output=self.target, **others)
        read = {"class list": self.settings.roster, "file of decisions": self.decided}
        for what, path in read.items():
            if path:
                common.check_apart(what, Path(path), output=self.target, **self.beside)

    def open_input(self) -> Source:
        """INPUT, its columns checked; sets what each of its records goes through."""
        settings = self.settings
        source = open_source(self.path, **self.reading)
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
        self.naming = Ids(source, self.key.secret, settings.ids)
        if settings.ids == PSEUDONYM and source.has_columns:
            need(settings.ids, "ids = pseudonym", source.id_field, "--id-column")
        free = {*settings.keep, source.id_field} if settings.ids else {*settings.keep}
        self.columns = Columns(source, free)
        self.columns.check(open_source(self.path, **self.reading))
        return source

    def prepare(self, item: Record | Skip) -> Record | Skip:
        """What is done to an item before all else."""
        if self.decisions:
            item = self.decisions.check(item)
        if self.thread_of:
            item = self.thread_of(item)
        return self.columns.watch(self.naming(item))

    def report_path(self, source: Source) -> Path:
        """`report.json` beside OUTPUT or in it; `<OUTPUT>.report.json` where the report of another run has that name."""
        settings, out = self.settings, self.target
        if settings.report:
            path = Path(settings.report)
            if not (settings.overwrite or settings.resume):
                common.check_free(path, page_path(path))
            return path
        if source.kind == "folder" and out.suffix.lower() != ".zip":
            return out / REPORT_NAME
        plain, named = out.with_name(REPORT_NAME), out.with_name(out.name + ".report.json")
        places = (plain, page_path(plain))
        is_taken = not settings.overwrite and any(place.exists() for place in places)
        return named if is_taken or out in places or named.exists() else plain

    def learn(self, engine: Engine) -> None:
        """First reading of the input: its names, those of each thread, and what is swept. RAISES (PiiError): E571."""
        hide = self.settings.sweep == HIDE
        if not (hide or self.thread_of):
            return
        first = open_source(self.path, **self.reading)
        thread_of = ThreadOf(first, self.settings.thread) if self.thread_of else None
        items: Iterator[Record | Skip] = map(thread_of, first) if thread_of else iter(first)
        try:
            engine.learn_all(batches(items, self.settings.batch_size))
        finally:
            first.close()
        if thread_of:
            thread_of.check()
        if not hide:
            engine.surnames = None

    def make_run(
        self,
        source: Source,
        writer: Writer,
        engine: Engine,
        secret: VaultKey | None,
        old: RunState | None,
    ) -> Run:
        """The run; where an old one is taken up, with its counts. RAISES (PiiError): E510, E514, E515, E539."""
        settings, resume = self.settings, old is not None
        vault = None
        if self.vault is not None and secret is not None:
            vault = common.open_for_run(self.vault, secret, resume=resume)
            self.stack.callback(vault.close, seal=False)  # where the run does not begin
        same = self.same_settings(source, engine) | {"vault": vault.vault_id if vault else ""}
        state = RunState(same, self.key.fingerprint, replace=settings.overwrite)
        counts = Report()
        if old is not None:
            check_resume(old, same, self.key.fingerprint)
            if self.target.exists() and not (old.replace or old.complete):
                raise PiiError(Errors.E510, what=f"'{self.target}'")
            state, counts = old, Report.load(old.report)
        run = Run(
            source, writer, engine, counts, state, settings.batch_size, settings.strict, vault=vault
        )
        run.prepare, run.safe_id = self.prepare, self.naming.safe
        if "map" in self.beside:
            run.map = MapOut(self.beside["map"])
        if "headers" in self.beside:
            run.headers = HeadersOut(self.beside["headers"])
        if settings.sweep != OFF and self.data is None:
            show = settings.show_leaks and common.console().is_terminal
            run.sweep = SweepLog(self.target, self.key.secret, roster=self.roster, show=show)
        return run

    def same_settings(self, source: Source, engine: Engine) -> dict[str, str]:
        """What must be the same when a run is taken up again."""
        settings, profile = self.settings, engine.profile
        content = json.dumps(profile.to_dict(), sort_keys=True).encode()
        same = {k: str(value) for k, value in vars(settings).items() if k not in CHANGEABLE}
        same |= {
            "input": source.fingerprint(),
            "text column": " ".join(source.text_fields),
            "model": engine.name,
            "version of pii-edu": __version__,
            "headers": profile.header,
            "profile": f"{profile.name} {sha256(content).hexdigest()[:16]}",
            "scope": profile.scope,
        }
        if self.decided:
            same["decisions"] = sha256(self.decided.read_bytes()).hexdigest()[:16]
        if settings.llm:
            same["llm"] = sha256(Path(settings.llm).read_bytes()).hexdigest()[:16]
        if settings.roster:
            content = Path(settings.roster).read_bytes()
            same["roster"] = hmac.new(self.key.secret, content, "sha256").hexdigest()[:16]
        return same

    def review_out(self, source: Source, engine: Engine, report: Path) -> ReviewOut | None:
        """What `pii-edu review` needs: how INPUT and OUTPUT are read again."""
        if "review" not in self.beside:
            return None
        reading = {
            "text_field": source.text_field,
            "more": source.more,
            "id_field": self.settings.id_column,
            "drop": sorted(self.settings.drop),
            "encoding": source.encoding,
            "spreadsheet_safe": self.settings.spreadsheet_safe,
        }
        about = {
            "version": __version__,
            "model": engine.name,
            "reading": reading,
            "profile": engine.profile.name,
            "actions": dict(engine.profile.actions),
        }
        places = {"input": self.path, "output": self.target, "report": report}
        return ReviewOut(self.beside["review"], about, **places)

    def rehearse(self, source: Source) -> int:
        """`--dry-run`: read and check, say what would be done. RETURNS (int): The exit code of a run, as far as it is known."""
        skips = common.Skips(common.say, named=True)
        n = words = renamed = 0
        unread: Counter[str] = Counter()
        for item in map(self.prepare, source):
            if isinstance(item, Skip):
                skips(replace(item, id=self.naming.safe(item.id) if item.id else ""))
                continue
            n += 1
            words += len(item.text.split())
            renamed += item.given is not None
            unread.update(item.unread)
        source.close()
        common.say(
            f"{n} documents of {words} words would be de-identified and {len(skips)} set aside; {renamed} would get another name"
        )
        if unread:
            common.say(summary.unread(unread))
        if self.thread_of:
            self.thread_of.check()
            if n_without := self.thread_of.without:
                common.say(summary.without_thread(n_without))
        common.say(f"nothing was written; a run would write '{self.target}'")
        return common.exit_code(skips) if n else common.REFUSED

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
        save_report(report_path, run, head)
        run.end()
        if self.writes_stdout:
            sys.stdout.buffer.write(self.target.read_bytes())
            sys.stdout.buffer.flush()
        else:
            summary.tell_end(run, report_path, swept)
        if swept is not None and swept.n_found and self.settings.show_leaks:
            summary.show_leaks(swept)
        if self.prices:
            summary.tell_sent(head["llm"])
        if lacking:
            common.say(lacking)
        return common.exit_code(counts.n_skipped or lacking)

    def report_head(self, run: Run) -> dict[str, Any]:
        """What the report says of the settings, and of the files that were written."""
        engine, source = run.engine, run.source
        head: dict[str, Any] = {
            "program": "pii-edu",
            "version": __version__,
            "model": engine.name,
            "profile": engine.profile.name,
            "headers": engine.profile.header,
            "class_list": self.roster is not None,
            "scope": engine.profile.scope,
            "key": self.key.origin,
            "ids": self.naming.how or "pseudonym where they hold a name",
            "format": source.kind,
            "encoding": source.encoding,
        }
        fingerprint = run.state.settings["input"]
        head |= provenance(
            engine.nlp, engine.profile, source, run.writer.out, fingerprint=fingerprint
        )
        if isinstance(source, FolderSource):
            head["hidden_files_passed_over"] = source.hidden
        if run.vault is not None:
            vault = run.vault
            head["vault"] = {"id": vault.vault_id, "documents": vault.documents, "head": vault.head}
        if run.labels is not None:
            head["labels_out"] = run.labels.as_json() | digest(run.labels.out)
        if run.review is not None:
            head["review"] = digest(run.review.out)
        return head


def save_report(path: Path, run: Run, head: dict[str, Any]) -> None:
    """Write report.json and its page."""
    spans = sum(n for key, n in run.report.spans.items() if not key.endswith(f"|{KEEP}"))
    plan = review_plan(BOUNDS, documents=run.report.documents, spans=spans)
    content = run.report.as_json(head, run.source.others)
    write_report(path, content | {"review_plan": plan, "leak_estimate": None})


def write_stdout(record: Record, text: str) -> None:
    """Write a text in the encoding, and with the byte order mark, of the one that standard input gave."""
    codec, bom = record.body[1]
    sys.stdout.buffer.write(bom + text.encode(codec))
    sys.stdout.buffer.flush()


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
            say(str(PiiError(Errors.E534, partial=f"'{run.writer.partial}'")))
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
