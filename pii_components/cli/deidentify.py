"""`pii-edu deidentify`: from the options to a finished OUTPUT and its report."""

import hmac
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from typer import Argument, Option

from .. import __version__
from ..errors import Errors, PiiError
from ..files.labelled import FORMS
from ..files.record import Record, Skip, Source, safe_name
from ..files.sources import REPORT_NAME, FolderSource, open_source
from ..files.writers import check_column, open_writer, partial_path, writing
from ..labels import POINTS
from ..llm import CODES
from ..profiles import HEADERS, SCOPES, Profile
from ..release.audit import BOUNDS, digest, page_path, provenance, review_plan, write_report
from ..release.columns import KEEP_IDS, NO_THREAD, PSEUDONYM, THREAD, Columns, Ids, ThreadOf
from ..release.engine import KEEP, Engine, load_engine, read_roster, use_roster
from ..release.review import Decisions
from ..release.run import (
    HeadersOut,
    LabelsOut,
    MapOut,
    Report,
    ReviewOut,
    Run,
    RunState,
    SweepLog,
    Swept,
    batches,
    check_resume,
    load_state,
    state_path,
)
from ..release.scale import ENGINES, LOCAL, spread
from ..release.sweep import RISKS
from ..vault.keys import VaultKey
from . import common

EPILOG = (
    "Exit codes: 0 all done; 1 done, but records were skipped (they are listed in the report); 2 refused, nothing was written; "
    "3 stopped before the end, what was done stays; 130 interrupted, what was done stays."
)
INPUT_HELP = "A .txt, .docx, .pdf, .csv, .tsv, .jsonl, .json or .parquet file, a folder or .zip of .txt, .docx and .pdf, or - for standard input."
PROFILE_HELP = "What happens to each label: crapii, ets, tags_only, ferpa_strict, or a TOML file."
# What happens to surnames that were hidden somewhere and stand in clear somewhere else.
SWEEPS = REPORT, HIDE, OFF = ("report", "hide", "off")
# Where the text of what a sweep found is shown: on a terminal, or wherever standard output goes.
SHOWS = NEVER, SCREEN, ALWAYS = ("no", "screen", "always")
IDS = (KEEP_IDS, PSEUDONYM)
_LABEL_FORMS = ", ".join(form.name for form in FORMS.values() if form.writer)


def deidentify(
    *,
    source: Annotated[str, Argument(metavar="INPUT", help=INPUT_HELP)],
    out: str = Option(
        "",
        "--out",
        "-o",
        help="OUTPUT, in the form of INPUT; .txt for .pdf [./<INPUT>.deidentified; stdout for -].",
    ),
    text_fields: common.TextsOpt = None,
    id_field: common.IdOpt = "",
    ids: str = Option(
        "",
        help="File names and IDs in OUTPUT: keep, or pseudonym [pseudonym where they hold names].",
    ),
    drop: common.DropOpt = None,
    keep: common.KeepOpt = None,
    encoding: common.EncodingOpt = "utf-8",
    spreadsheet_safe: common.SpreadsheetOpt = True,
    profile: str = Option("crapii", help=PROFILE_HELP),
    operating_point: str = Option(
        "", help="How names are weighed: recall hides more, precision keeps more [balanced]."
    ),
    headers: str = Option(
        "", help="Headers of assignments and posts, and running heads: keep, or remove [profile]."
    ),
    headers_out: str = Option(
        "",
        help="Table of the headers that were removed, to check; it holds originals: not to be released.",
    ),
    scope: str = Option(
        "", help="Same value, same surrogate: in a document, a thread, or the corpus [profile]."
    ),
    thread: str = Option(
        "",
        metavar="COLUMN",
        help="Column or field that says the thread, for --scope thread [the first folder on a file's path].",
    ),
    key_file: str = Option(
        "",
        help="Secret key (see keygen): same key, same surrogates [environment variable PII_EDU_KEY].",
    ),
    model: common.ModelOpt = common.MODEL,
    batch_size: common.BatchOpt = 16,
    report: str = Option(
        "", help="Where the report goes [report.json beside OUTPUT, or in its folder]."
    ),
    strict: common.StrictOpt = False,
    resume: common.ResumeOpt = False,
    overwrite: common.OverwriteOpt = False,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
    vault: str = Option(
        "", help="Encrypted file that gets the way back (see reidentify); made, or added to."
    ),
    vault_key_file: str = Option(
        "", help="Key file of the vault [PII_EDU_VAULT_KEY, PII_EDU_VAULT_PASSPHRASE, --key-file]."
    ),
    vault_passphrase: bool = Option(
        False, "--vault-passphrase", help="Ask for a passphrase that locks the vault."
    ),
    labels_out: str = Option(
        "", help="Write the new texts with their labels too, to train on; form by suffix."
    ),
    labels_to: str = Option("", help=f"Form of --labels-out: {_LABEL_FORMS}."),
    map_out: str = Option(
        "",
        "--map",
        help="Table of names of files, or IDs, in INPUT and in OUTPUT (in,out); not to be released.",
    ),
    review_out: str = Option(
        "", metavar="RUN", help="Write what `pii-edu review RUN` needs (no text)."
    ),
    decisions: str = Option(
        "", metavar="FILE", help="Decisions of a review, which overrule what is found."
    ),
    dry_run: bool = Option(
        False,
        "--dry-run",
        help="Read and check all of INPUT, say what would be done, write nothing.",
    ),
    sweep: Annotated[
        str,
        Option(
            help="Surnames hidden in one text and in clear in another: report lists places, hide hides them (reads INPUT twice), "
            "off."
        ),
    ] = "report",
    show_leaks: str = Option(
        NEVER,
        help="Show what the sweep found, with context: no; screen: if standard output is a terminal; always: anywhere.",
    ),
    roster: common.RosterOpt = "",
    llm: str = Option(
        "",
        metavar="CONFIG",
        help="Language models too: a config with components of spacy-llm (docs/llm.md).",
    ),
    allow_remote: bool = Option(
        False,
        "--allow-remote",
        help="Texts may leave this machine for the servers that --llm names.",
    ),
    prices: str = Option(
        "", help="Prices of the models of --llm, a TOML file [the one that ships]."
    ),
    engine: str = Option(
        LOCAL,
        help="Where texts are processed: local, ray or spark (docs/scale.md); the same bytes come out.",
    ),
    workers: int = Option(0, min=0, help="Processes of --engine ray or spark [one a core]."),
) -> None:
    """Replace personal information in INPUT; write OUTPUT and report.json.

    Other columns and fields pass through unchanged; those that hold prose or look like names, e-mail addresses or ID numbers only
    with --keep. A record that is skipped is not in OUTPUT.
    """
    with common.guard(debug), ExitStack() as locks:
        for value, what, allowed in (
            (scope or SCOPES[0], "scope", SCOPES),
            (headers or HEADERS[0], "headers", HEADERS),
            (operating_point or POINTS[0], "operating point", POINTS),
            (sweep, "sweep", SWEEPS),
            (show_leaks, "show-leaks", SHOWS),
            (ids or KEEP_IDS, "ids", IDS),
            (engine, "engine", ENGINES),
        ):
            if value not in allowed:
                raise PiiError(Errors.E519, value=value, what=what, allowed=", ".join(allowed))
        key = common.load_key(key_file)
        if resume and overwrite:
            raise PiiError(Errors.E540)
        to_stdout = source == "-" and out in ("", "-")
        for given, what in (
            (llm, "--llm"),
            (roster, "--roster"),
            (operating_point, "--operating-point"),
            (decisions, "--decisions"),
            (debug, "--debug"),
            (to_stdout, "standard input without --out"),
        ):
            if given and engine != LOCAL:
                raise PiiError(Errors.E560, engine=engine, what=what)
        _check_needed(
            bool(workers), "--workers", engine.removeprefix(LOCAL), "--engine ray or spark"
        )
        files = {
            "--labels-out": labels_out,
            "--map": map_out,
            "--headers-out": headers_out,
            "--review-out": review_out,
        }
        for option, given in {
            **files,
            "--decisions": decisions,
            "--dry-run": "yes" * dry_run,
        }.items():
            _check_needed(given if to_stdout else "", option, "", "--out")
        _check_needed(labels_to, "--labels-to", labels_out, "--labels-out")
        _check_needed(allow_remote, "--allow-remote", llm, "--llm")
        _check_needed(prices, "--prices", llm, "--llm")
        table, models = (
            _language_models(llm, prices, allow_remote=allow_remote) if llm else (None, None)
        )
        listed = read_roster(roster)
        in_threads = (scope or Profile.load(profile).scope) == THREAD
        _check_needed(thread, "--thread", THREAD if in_threads else "", "--scope thread")
        _check_needed(vault_key_file, "--vault-key-file", vault, "--vault")
        _check_needed(vault_passphrase, "--vault-passphrase", vault, "--vault")
        names = (vault, *files.values())
        path, vault_path, labels_path, map_path, headers_path, run_path = (
            Path(source),
            *(Path(name) if name else None for name in names),
        )
        beside = {
            "labels": labels_path,
            "map": map_path,
            "headers": headers_path,
            "review": run_path,
        }
        said = Decisions.load(Path(decisions)) if decisions else None
        target = Path(out or _own_name(path, key, ids))
        if not to_stdout:
            _check_places(path, target, vault_path, beside)
            if roster:
                common.check_apart("class list", Path(roster), output=target, **beside)
            if decisions:
                common.check_apart("file of decisions", Path(decisions), output=target, **beside)
            for place in filter(None, () if dry_run else (target, *beside.values())):
                locks.enter_context(common.locked(place))
        reading: dict[str, Any] = common.texts(text_fields) | {
            "id_field": id_field,
            "encoding": encoding,
            "drop": drop or (),
        }
        reading["spreadsheet_safe"] = spreadsheet_safe
        reading["data"] = sys.stdin.buffer.read() if source == "-" else None

        def secret() -> VaultKey | None:
            if vault_path is None:
                return None
            known, names = (
                vault_path if vault_path.exists() else None,
                ("--vault-key-file", "--vault-passphrase"),
            )
            return common.vault_key(
                known, key_file=vault_key_file, ask=vault_passphrase, shared=key, names=names
            )

        def load() -> Engine:
            loaded = load_engine(
                model,
                profile=profile,
                key=key.secret,
                scope=scope,
                headers=headers,
                operating_point=operating_point,
                debug=debug,
                extend=models,
            )
            _check_needed(
                headers_out,
                "--headers-out",
                loaded.profile.header.removeprefix(HEADERS[0]),
                "--headers remove",
            )
            use_roster(loaded.nlp, listed)
            loaded.decisions = said.by_text() if said else {}
            if engine == LOCAL:
                return loaded
            spreading = spread(
                loaded, engine, model=model, key=key.secret, workers=workers, learns=sweep == HIDE
            )
            locks.callback(spreading.workers.close)
            return spreading

        if to_stdout and in_threads:
            raise PiiError(Errors.E570)
        if to_stdout:
            used = _to_stdout(
                open_source(path, encoding=encoding, data=reading["data"]),
                secret(),
                load,
                vault_path,
            )
            if table is not None:
                _tell_sent(_llm_report(used, table, words=0, notes={}))
            if not (quiet or key.kept):
                common.say(key.note, "dim")
            raise typer.Exit(common.DONE)
        opened = open_source(path, **reading)
        spoken_of = {
            "--text-column": text_fields,
            "--id-column": [id_field] if id_field else None,
            "--keep": keep,
            "--drop": drop,
        }
        for option, name in (
            (option, name) for option, names in spoken_of.items() for name in names or ()
        ):
            if opened.kind not in ("json", "jsonl"):  # there, a field may come later
                check_column(opened, name, option)
        thread_of = ThreadOf(opened, thread) if in_threads else None
        naming = Ids(opened, key.secret, ids)

        def prepare(item: Record | Skip) -> Record | Skip:
            item = said.check(item) if said else item
            return columns.watch(naming(thread_of(item) if thread_of else item))

        _check_needed(
            ids == PSEUDONYM and opened.has_columns,
            "--ids pseudonym",
            opened.id_field,
            "--id-column",
        )
        columns = Columns(opened, {*(keep or ()), *([opened.id_field] if ids else [])})
        columns.check(open_source(path, **reading))

        writer = open_writer(opened, target, safe=spreadsheet_safe)
        if not (
            overwrite or resume
        ):  # what exists was there before, or is what the interrupted run made
            _check_free(target, *beside.values())
        if dry_run:
            raise typer.Exit(_rehearse(opened, prepare, naming, target, thread_of))
        labels = LabelsOut(labels_path, labels_to) if labels_path else None
        vault_secret = secret()
        old = load_state(state_path(target)) if resume else None
        report_path = _report_path(target, report, opened, overwrite=overwrite, resume=resume)
        loaded = load()
        if sweep == HIDE or thread_of:
            again = open_source(path, **reading)
            _learn(
                loaded,
                again,
                batch_size,
                ThreadOf(again, thread) if thread_of else None,
                hide=sweep == HIDE,
            )
            naming.rename = loaded.rename
        book = (
            common.open_for_run(vault_path, vault_secret, resume=resume)
            if vault_path and vault_secret
            else None
        )
        settings = _settings(opened, loaded) | {
            "vault": book.vault_id if book else "",
            "--labels-out": f"{labels.form} {labels.out}" if labels else "",
            "--sweep": sweep,
            "--thread": thread,
            "--ids": naming.how,
            "--map": str(map_path or ""),
            "--headers-out": str(headers_path or ""),
            "--operating-point": operating_point,
            "--review-out": str(run_path or ""),
            "--decisions": sha256(Path(decisions).read_bytes()).hexdigest()[:16]
            if decisions
            else "",
            "--roster": hmac.new(key.secret, Path(roster).read_bytes(), "sha256").hexdigest()[:16]
            if roster
            else "",
            "--llm": sha256(Path(llm).read_bytes()).hexdigest()[:16] if llm else "",
            "list of kept columns": " ".join(sorted(keep or ())),
        }
        state, counts = RunState(settings, key.fingerprint, replace=overwrite), Report()
        if old is not None:
            check_resume(old, settings, key.fingerprint)
            if target.exists() and not (old.replace or old.complete):
                raise PiiError(Errors.E510, what=f"'{target}'")
            state, counts = old, Report.load(old.report)
        if not quiet:
            _tell_start(opened, key, old)
        run = Run(
            opened, writer, loaded, counts, state, batch_size, strict, vault=book, labels=labels
        )
        run.prepare, run.safe_id = prepare, naming.safe
        run.map = MapOut(map_path) if map_path else None
        run.headers = HeadersOut(headers_path) if headers_path else None
        run.review = (
            _review(run_path, opened, loaded, reading, path, target, report_path)
            if run_path
            else None
        )
        show = show_leaks == ALWAYS or (show_leaks == SCREEN and common.console().is_terminal)
        if sweep != OFF and source != "-":
            run.sweep = SweepLog(target, key.secret, roster=listed, show=show)
        _go(run, resume=resume, quiet=quiet)
        lacking = said.not_read(state.items) if said else None
        if counts.refused:
            common.say(f"none of {counts.n_skipped} records could be used; nothing was written")
            raise typer.Exit(common.REFUSED)
        head: dict[str, Any] = {
            "program": "pii-edu",
            "version": __version__,
            "model": loaded.name,
            "profile": settings["profile"].split(" ")[0],
            "headers": settings["--headers"],
        }
        head["class_list"] = bool(roster)
        head |= {
            "scope": settings["scope"],
            "key": key.origin,
            "ids": naming.how or "pseudonym where they hold a name",
        }
        if said is not None:
            head["decisions"] = {
                "documents": len(loaded.decisions),
                "not_read": lacking.code if lacking else "",
            }
        if table is not None:
            head["llm"] = _llm_report(loaded, table, words=counts.words, notes=counts.notes)
        swept = _write_report(report_path, run, head, how=sweep)
        run.end()
        if not quiet:
            _tell_end(run, report_path, swept)
        if swept is not None and swept.n_found and show_leaks != NEVER:
            _show_leaks(swept, show=show)
        if not quiet and table is not None:
            _tell_sent(head["llm"])
        if lacking:
            common.say(lacking)
    raise typer.Exit(common.DONE_WITH_SKIPS if counts.n_skipped or lacking else common.DONE)


def _review(
    out: Path,
    source: Source,
    engine: Engine,
    reading: Mapping[str, Any],
    given: Path,
    target: Path,
    report: Path,
) -> ReviewOut:
    """`--review-out`, which says how INPUT and OUTPUT are read again."""
    options = {name: reading[name] for name in ("id_field", "spreadsheet_safe")} | {
        "drop": sorted(reading["drop"])
    }
    options |= {"text_field": source.text_field, "more": source.more, "encoding": source.encoding}
    about = {"version": __version__, "model": engine.name, "reading": options}
    about |= {"profile": engine.profile.name, "actions": dict(engine.profile.actions)}
    return ReviewOut(out, about, input=given, output=target, report=report)


def _own_name(path: Path, key: common.Key, ids: str) -> str:
    """A name for OUTPUT where the user gives none."""
    stem = path.resolve().stem
    if ids != KEEP_IDS:
        stem = Ids(Source(path), key.secret).safe(stem)
    suffix = {".pdf": ".txt"}.get(path.suffix.lower(), path.suffix)
    return stem + ".deidentified" + ("" if os.path.isdir(path) else suffix)


def _check_needed(given: str | bool, option: str, other: str, needed: str) -> None:
    if given and not other:
        raise PiiError(Errors.E473, option=option, needed=needed)


def _to_stdout(
    source: Source, secret: VaultKey | None, engine: Callable[[], Engine], vault: Path | None
) -> Engine:
    item = next(iter(source))
    if isinstance(item, Skip):
        raise item.error
    loaded = engine()
    result = loaded.results([item])[0]
    if isinstance(result, Skip):
        raise result.error
    if vault is not None and secret is not None:
        with common.open_for_run(vault, secret) as book:
            book.append(result.release(item, loaded.profile.scope))
    write_stdout(item, result.text)
    return loaded


def write_stdout(record: Record, text: str) -> None:
    """Write a text in the encoding, and with the byte order mark, of the one that standard input gave."""
    codec, bom = record.body[1]
    sys.stdout.buffer.write(bom + text.encode(codec))
    sys.stdout.buffer.flush()


def _learn(
    engine: Engine, first: Source, batch_size: int, thread_of: ThreadOf | None, *, hide: bool
) -> None:
    """First reading of the input: its names, those of each thread, and with `hide` what is swept. RAISES (PiiError): E571."""
    try:
        engine.learn_all(batches(map(thread_of, first) if thread_of else iter(first), batch_size))
    finally:
        first.close()
    if thread_of:
        thread_of.check()
    engine.surnames = engine.surnames if hide else None


def _check_places(
    source: Path, out: Path, vault: Path | None, beside: Mapping[str, Path | None]
) -> None:
    """Refuse to write on, in or around INPUT. RAISES (PiiError): E472, E509."""
    target = out.resolve()
    given = None if str(source) == "-" else source
    if given is not None:
        origin = given.resolve()
        places = [target, partial_path(target), state_path(target)]
        same = (
            any(place.exists() and place.samefile(origin) for place in places) or origin in places
        )
        if same or (
            os.path.isdir(source) and (origin in target.parents or target in origin.parents)
        ):
            raise PiiError(Errors.E509)
    if vault is not None:
        common.check_apart("vault", vault, input=given, output=out, **beside)
    for what, place in beside.items():
        if place is not None:
            others = {other: path for other, path in beside.items() if other != what}
            common.check_apart(
                what if what == "map" else f"file of {what}",
                place,
                input=given,
                output=out,
                **others,
            )


def _check_free(out: Path, *beside: Path | None) -> None:
    """Refuse to write over what exists. RAISES (PiiError): E510."""
    for place in beside:
        if place is not None and place.exists():
            raise PiiError(Errors.E510, what=f"'{place}'")
    common.check_free(out)
    if state_path(out).exists():
        raise PiiError(Errors.E510, what="An interrupted run for this OUTPUT")
    common.check_free(partial_path(out))


def _report_path(out: Path, wanted: str, source: Source, *, overwrite: bool, resume: bool) -> Path:
    """`report.json` beside OUTPUT or in it; `<OUTPUT>.report.json` where the report of another run has that name."""
    if wanted:
        path = Path(wanted)
        for place in (path, page_path(path)):
            if place.exists() and not (overwrite or resume):
                raise PiiError(Errors.E510, what=f"'{place}'")
        return path
    if source.kind == "folder" and out.suffix.lower() != ".zip":
        return out / REPORT_NAME
    plain, named = out.with_name(REPORT_NAME), out.with_name(out.name + ".report.json")
    taken = out in (plain, page_path(plain)) or (
        not overwrite and (plain.exists() or page_path(plain).exists())
    )
    return named if named.exists() or taken else plain


def _settings(source: Source, engine: Engine) -> dict[str, str]:
    """What must be the same when a run is taken up again."""
    profile = engine.profile
    content = sha256(json.dumps(profile.to_dict(), sort_keys=True).encode()).hexdigest()[:16]
    return {
        "input": source.fingerprint(),
        "text column": " ".join(source.text_fields),
        "list of dropped columns": " ".join(sorted(source.drop)),
        "encoding": source.encoding,
        "--spreadsheet-safe": str(source.spreadsheet_safe),
        "model": engine.name,
        "version of pii-edu": __version__,
        "--headers": profile.header,
        "profile": f"{profile.name} {content}",
        "scope": profile.scope,
    }


def _go(run: Run, *, resume: bool, quiet: bool) -> None:
    """The run with its progress bar; leaves with an exit code if it ends early."""
    source = run.source
    with (
        _progress(common.console(stderr=True), source, quiet=quiet) as (run.on_progress, tell),
        _signals(run),
    ):
        run.on_skip = common.Skips(tell, named=True)
        try:
            run.go(resume=resume)
        except KeyboardInterrupt:
            tell(str(PiiError(Errors.E534, partial=f"'{run.writer.partial}'")))
            raise typer.Exit(common.INTERRUPTED) from None
        except PiiError as err:
            tell(str(err))
            if run.state.items:
                raise typer.Exit(common.STOPPED) from None
            run.discard()
            raise typer.Exit(common.REFUSED) from None
        finally:
            source.close()


def _rehearse(
    source: Source,
    prepare: Callable[[Record | Skip], Record | Skip],
    naming: Ids,
    target: Path,
    thread_of: ThreadOf | None,
) -> int:
    """`--dry-run`: read and check, say what would be done. RETURNS (int): The exit code that a run would have, as far as it is known."""
    skips = common.Skips(common.say, named=True)
    n = words = renamed = 0
    unread: Counter[str] = Counter()
    for item in map(prepare, source):
        if isinstance(item, Skip):
            skips(replace(item, id=naming.safe(item.id) if item.id else ""))
            continue
        n, words, renamed = (
            n + 1,
            words + len(item.text.split()),
            renamed + (item.given is not None),
        )
        unread.update(item.unread)
    source.close()
    common.say(
        f"{n} documents of {words} words would be de-identified and {len(skips)} set aside; {renamed} would get another name"
    )
    _tell_unread(unread)
    if thread_of:
        thread_of.check()
        _tell_alone(thread_of.without)
    common.say(f"nothing was written; a run would write '{target}'")
    return common.DONE if n and not skips else common.DONE_WITH_SKIPS if n else common.REFUSED


def _tell_alone(n: int) -> None:
    """Say how many documents have no thread."""
    if n:
        common.say(f"to review: {n} documents tell no thread; each is a scope of its own")


def _tell_unread(unread: Mapping[str, int]) -> None:
    """Say what documents hold and nobody reads."""
    if unread:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(unread.items()))
        common.say(
            f"to review: not read in documents: {kinds}; an image stays, all else is left out. The report lists them"
        )


def _write_report(path: Path, run: Run, head: dict[str, Any], *, how: str) -> Swept | None:
    head |= {"format": run.source.kind, "encoding": run.source.encoding}
    engine, read = run.engine, run.state.settings["input"]
    head |= provenance(engine.nlp, engine.profile, run.source, run.writer.out, fingerprint=read)
    if isinstance(run.source, FolderSource):
        head["hidden_files_passed_over"] = run.source.hidden
    if run.vault is not None:
        head["vault"] = {
            "id": run.vault.vault_id,
            "documents": run.vault.documents,
            "head": run.vault.head,
        }
    if run.labels is not None:
        head["labels_out"] = run.labels.as_json() | digest(run.labels.out)
    if run.review is not None:
        head["review"] = digest(run.review.out)
    swept = None
    if run.sweep is not None:
        swept = run.sweep.sweep(run.source)
        head["sweep"] = swept.as_json(how)
    spans = sum(n for key, n in run.report.spans.items() if not key.endswith(f"|{KEEP}"))
    plan = review_plan(BOUNDS, documents=run.report.documents, spans=spans)
    write_report(
        path,
        run.report.as_json(head, run.source.others) | {"review_plan": plan, "leak_estimate": None},
    )
    return swept


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a report. RAISES (PiiError): E512."""
    with writing(path):
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _tell_start(source: Source, key: common.Key, old: RunState | None) -> None:
    if source.text_field:
        common.say(
            f"text: {', '.join(source.text_fields)}; unchanged: {', '.join(source.others) or 'nothing else'}"
        )
    common.tell_hidden(source)
    if not key.kept:
        common.say(key.note, "dim")
    if old is not None:
        common.say(f"going on after record {old.items}")


def _tell_end(run: Run, report_path: Path, swept: Swept | None) -> None:
    report = run.report
    if report.spans:
        rows = ([*key.split("|"), count] for key, count in sorted(report.spans.items()))
        common.console(stderr=True).print(
            common.table_of(rows, "label", "role", "action", "spans", right=["spans"])
        )
    speed = f", {report.words / report.seconds:.0f} words per second" if report.seconds else ""
    common.say(
        f"{report.documents} documents, {report.n_skipped} skipped, {report.words} words{speed}"
    )
    if report.renamed:
        what = "file name" if not run.source.has_columns else "ID"
        common.say(
            f"{report.renamed} documents have a pseudonym for their {what}; --ids keep leaves it as it is"
        )
    if report.headers:
        common.say(f"{report.headers} headers were removed, in {report.with_headers} documents")
    if run.headers is not None:
        common.say(
            f"to review: '{run.headers.out}' holds the headers as they were, with names; it is not to be released"
        )
    _tell_unread(report.unread)
    _tell_alone(report.notes[NO_THREAD])
    if report.n_left_over:
        n = report.n_left_over
        common.say(
            f"to review: in {n} documents a value that was replaced stands once more in clear; the report lists them"
        )
    if swept is not None and swept.n_found:
        common.say(
            f"to review: what was hidden somewhere stands in clear in {swept.n_found} places ({swept.n_documents} documents), risk "
            f"{', '.join(f'{risk}: {swept.by_risk[risk]}' for risk in RISKS)}; the report lists them, --show-leaks shows them. "
            "--sweep hide hides surnames too"
        )
    for i, name in enumerate(run.source.others, 1):
        n = report.in_fields[name]
        if n:
            place = (
                "the name of the file"
                if name == "(file name)"
                else f"'{safe_name(name, i)}', which stays unchanged"
            )
            common.say(f"to review: in {n} records a value that was replaced stands in {place} too")
    common.say(
        f"wrote '{run.writer.out}', '{report_path}' and '{page_path(report_path)}' for your files, not to be released"
    )


def _show_leaks(swept: Swept, *, show: bool) -> None:
    """On the steward's screen and nowhere else."""
    if not show:
        common.say(
            "not shown: standard output is no terminal; --show-leaks always shows it all the same"
        )
        return
    rows = [
        (p.risk, p.record, p.start, p.end, Text.assemble(before, (found, "reverse"), after))
        for p in swept.found
        for before, found, after in (map(_in_a_line, swept.shown[p]),)
    ]
    common.console().print(
        common.table_of(
            rows, "risk", "record", "start", "end", "where", right=("record", "start", "end")
        )
    )


def _in_a_line(text: str) -> str:
    return "".join(ch if ch.isprintable() else " " for ch in text)


def _language_models(
    path: str, prices: str, *, allow_remote: bool
) -> tuple[Any, Callable[[Any], object]]:
    """RETURNS (tuple): Prices, and what adds the components of --llm to a pipeline."""
    from ..llm.cost import Prices
    from ..llm.pipeline import add_components, read_config

    read_config(path)  # before a pipeline is loaded
    return Prices.load(prices or None), partial(
        add_components, path=path, allow_remote=allow_remote
    )


def _llm_report(
    engine: Engine, prices: Any, *, words: int, notes: Mapping[str, int]
) -> dict[str, Any]:
    """What language models were sent, what it costs, and in how many documents answers did not count."""
    from ..llm.pipeline import report

    told = {code: n for code, n in sorted(notes.items()) if code in CODES}
    return report(engine.nlp, prices, words=words) | {"documents_with_notes": told}


def _tell_sent(report: dict[str, Any]) -> None:
    for row in report["models"]:
        where = f"sent to {row['host']}" if row["left_this_machine"] else "on this machine"
        common.say(
            f"{row['model']}: {row['calls']} calls, {row['tokens_in']} tokens in, {row['tokens_out']} out, {where}"
        )
    if report["usd"] is not None:
        common.say(
            f"cost of the models: {report['usd']:.4f} US dollars at the prices of {report['prices']}"
        )
    if notes := report["documents_with_notes"]:
        common.say(
            "to review: answers that did not count: "
            + ", ".join(f"{code} in {n} documents" for code, n in sorted(notes.items()))
        )


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


@contextmanager
def _progress(screen: Console, source: Source, *, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """YIELDS (tuple): A function that moves the bar, and one that prints a line above it."""
    of_files = source.kind == "folder"
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if of_files else TaskProgressColumn(),
    ]
    bar = Progress(
        *columns,
        TimeRemainingColumn(),
        console=screen,
        disable=quiet or not screen.is_terminal,
        transient=True,
    )
    task = bar.add_task("files" if of_files else "reading", total=max(source.size, 1))
    with bar:
        yield (
            (lambda position: bar.update(task, completed=position)),
            (lambda line: screen.print(line, markup=False)),
        )
