"""`pii-edu deidentify`: from the options to a finished OUTPUT and its report."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..about import __version__
from ..errors import Errors, PiiError
from ..files.record import Record, Skip, Source, reason_of, safe_name
from ..files.sources import open_source
from ..files.writers import open_writer, partial_path
from ..release.engine import Engine, load_engine
from ..release.run import LabelsOut, Report, Run, RunState, SweepLog, Swept, batches, check_resume, load_state, state_path
from ..vault.keys import VaultKey
from .common import (
    DONE,
    DONE_WITH_SKIPS,
    INTERRUPTED,
    REFUSED,
    STOPPED,
    Key,
    check_apart,
    open_for_run,
    summary_table,
    vault_key,
)

_SKIPS_SHOWN = 10
# What happens to surnames that were hidden somewhere and stand in clear somewhere else.
SWEEPS = REPORT, HIDE, OFF = ("report", "hide", "off")


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for; see `pii-edu deidentify --help`."""

    source: str
    out: str = ""
    text_field: str = ""
    id_field: str = ""
    drop: tuple[str, ...] = ()
    encoding: str = "utf-8"
    profile: str = "crapii"
    scope: str = ""
    model: str = "en_pii_edu"
    batch_size: int = 16
    report: str = ""
    strict: bool = False
    resume: bool = False
    overwrite: bool = False
    quiet: bool = False
    debug: bool = False
    vault: str = ""
    vault_key_file: str = ""
    vault_passphrase: bool = False
    labels_out: str = ""
    labels_to: str = ""
    sweep: str = "report"


def deidentify(options: Options, key: Key, console: Console) -> int:
    """Run the command.

    options (Options): From the command line. key (Key): For surrogates. console (Console): On standard error.
    RETURNS (int): Exit code: 0 all done, 1 done but records were skipped, 3 stopped before the end. What cannot start raises.
    RAISES (PiiError): E5xx, before anything is written; E4xx of profile or key.
    """
    _check_options(options)
    if options.source == "-" and options.out in ("", "-"):
        return _stdin_to_stdout(options, key, console)
    data = sys.stdin.buffer.read() if options.source == "-" else None
    path = Path(options.source)
    source = open_source(
        path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding, drop=options.drop, data=data
    )
    out = (
        Path(options.out)
        if options.out
        else Path(path.resolve().stem + ".deidentified" + ("" if path.is_dir() else path.suffix))
    )
    writer = open_writer(source, out)
    _check_places(source, out, options)
    labels = LabelsOut(Path(options.labels_out), options.labels_to) if options.labels_out else None
    secret = _vault_key(options, key) if options.vault else None
    old = load_state(state_path(out)) if options.resume else None
    report_file = _report_path(out, options, is_folder=source.kind == "folder")
    engine = load_engine(options.model, profile=options.profile, key=key.secret, scope=options.scope, debug=options.debug)
    if options.sweep == HIDE:
        _learn(engine, source, options, data)
    vault = None
    if secret is not None:
        vault = open_for_run(Path(options.vault), secret, resume=options.resume, say=partial(console.print, markup=False))
    settings = _settings(source, engine, options) | {
        "vault": vault.vault_id if vault else "",
        "--labels-out": f"{labels.form} {labels.out}" if labels else "",
        "--sweep": options.sweep,
    }
    state, report = RunState(settings, key.fingerprint, replace=options.overwrite), Report()
    if old is not None:
        check_resume(old, settings, key.fingerprint)
        if out.exists() and not old.replace:
            raise PiiError(Errors.E510, what=f"'{out}'")
        state, report = old, Report.load(old.report)
    if not options.quiet:
        _tell_start(console, source, key, old)
    with _progress(console, source, quiet=options.quiet) as (on_progress, say):
        run = Run(source, writer, engine, report, state, options.batch_size, options.strict, on_progress)
        run.vault, run.labels = vault, labels
        run.sweep = SweepLog(out, key.secret) if options.sweep != OFF and str(source.path) != "-" else None
        shown = [0]

        def on_skip(skip: Skip) -> None:
            shown[0] += 1
            if shown[0] <= _SKIPS_SHOWN:
                say(str(skip.error))
            elif shown[0] == _SKIPS_SHOWN + 1:
                say("further skipped records are listed in the report")

        run.on_skip = on_skip
        with _signals(run):
            try:
                run.go(resume=old is not None)
            except KeyboardInterrupt:
                source.close()
                say(str(PiiError(Errors.E534, partial=f"'{partial_path(out)}'")))
                return INTERRUPTED
            except PiiError as err:
                source.close()
                say(str(err))
                return STOPPED if state.items else REFUSED
    source.close()
    head: dict[str, Any] = {
        "program": "pii-edu",
        "version": __version__,
        "model": engine.name,
        "profile": settings["profile"].split(" ")[0],
    }
    head |= {"scope": settings["scope"], "key": key.origin, "format": source.kind, "encoding": source.encoding}
    if vault is not None:
        head["vault"] = {"id": vault.vault_id, "documents": vault.documents, "head": vault.head}
    if labels is not None:
        head["labels_out"] = labels.as_json()
    swept = None
    if run.sweep is not None:
        swept = run.sweep.sweep(source)
        run.sweep.clear()
        head["sweep"] = swept.as_json(options.sweep)
    _write_report(report_file, report.as_json(head, source.others))
    if not options.quiet:
        _tell_end(console, report, source, out, report_file, swept)
    if report.n_skipped and not report.documents:
        return REFUSED
    return DONE_WITH_SKIPS if report.n_skipped else DONE


def _stdin_to_stdout(options: Options, key: Key, console: Console) -> int:
    data = sys.stdin.buffer.read()
    source = open_source(Path("-"), encoding=options.encoding, data=data)
    item = next(iter(source))
    if isinstance(item, Skip):
        raise item.error
    secret = _vault_key(options, key) if options.vault else None
    engine = load_engine(options.model, profile=options.profile, key=key.secret, scope=options.scope, debug=options.debug)
    result = engine.results([item])[0]
    if isinstance(result, Skip):
        raise result.error
    if secret is not None:
        say = partial(console.print, markup=False)
        with open_for_run(Path(options.vault), secret, resume=False, say=say) as vault:
            vault.append(result.release(item, engine.profile.scope))
    codec, bom = item.body[1]
    sys.stdout.buffer.write(bom + result.text.encode(codec))
    sys.stdout.buffer.flush()
    if not options.quiet and not key.kept:
        console.print(key.note, style="dim")
    return DONE


def _learn(engine: Engine, source: Source, options: Options, data: bytes | None) -> None:
    """First reading of the input: its names. source (Source): For its form. data (bytes | None): From standard input."""
    first = open_source(
        source.path, text_field=options.text_field, id_field=options.id_field, encoding=options.encoding, data=data
    )
    try:
        for batch in batches(iter(first), options.batch_size):
            engine.learn([item for item in batch if isinstance(item, Record)])
    finally:
        first.close()


def _check_options(options: Options) -> None:
    """RAISES (PiiError): E540, E472, E473, for options that do not go together."""
    if options.resume and options.overwrite:
        raise PiiError(Errors.E540)
    if options.labels_out and options.source == "-" and options.out in ("", "-"):
        raise PiiError(Errors.E473, option="--labels-out", needed="--out")
    for given, option, needed in (
        (options.labels_to, "--labels-to", options.labels_out or "--labels-out"),
        (options.vault_key_file, "--vault-key-file", options.vault or "--vault"),
        (options.vault_passphrase, "--vault-passphrase", options.vault or "--vault"),
    ):
        if given and needed.startswith("--"):
            raise PiiError(Errors.E473, option=option, needed=needed)


def _vault_key(options: Options, key: Key) -> VaultKey:
    path = Path(options.vault)
    return vault_key(
        path if path.exists() else None,
        key_file=options.vault_key_file,
        ask=options.vault_passphrase,
        shared=key,
        names=("--vault-key-file", "--vault-passphrase"),
    )


def _check_places(source: Source, out: Path, options: Options) -> None:
    """Refuse to write on, in or around INPUT, and over what exists.

    RAISES (PiiError): E472, E509, E510, E513.
    """
    target = out.resolve()
    if str(source.path) != "-":
        origin = source.path.resolve()
        places = [target, partial_path(target), state_path(target)]
        same = any(place.exists() and place.samefile(origin) for place in places) or origin in places
        inside = source.kind == "folder" and (origin in target.parents or target in origin.parents)
        if same or inside:
            raise PiiError(Errors.E509)
    places_of = {"input": None if str(source.path) == "-" else source.path, "output": out}
    vault, labels = (Path(name) if name else None for name in (options.vault, options.labels_out))
    if vault is not None:
        check_apart("vault", vault, **places_of, labels=labels)
    if labels is not None:
        check_apart("file of labels", labels, **places_of)
        if labels.exists() and not (options.overwrite or options.resume):
            raise PiiError(Errors.E510, what=f"'{labels}'")
    if options.resume:
        return  # what exists was there before, or is what the interrupted run made
    if not options.overwrite:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise PiiError(Errors.E510, what=f"'{out}'")
        if state_path(target).exists():
            raise PiiError(Errors.E510, what="An interrupted run for this OUTPUT")
        if partial_path(target).exists():
            raise PiiError(Errors.E510, what=f"'{partial_path(out)}'")


def _report_path(out: Path, options: Options, *, is_folder: bool) -> Path:
    """RETURNS (Path): `report.json` beside OUTPUT or in it; `<OUTPUT>.report.json` where the report of another run has that
    name."""
    if options.report:
        path = Path(options.report)
        if path.exists() and not (options.overwrite or options.resume):
            raise PiiError(Errors.E510, what=f"'{path}'")
        return path
    if is_folder:
        return out / "report.json"
    plain, named = out.with_name("report.json"), out.with_name(out.name + ".report.json")
    return named if named.exists() or plain.exists() and not options.overwrite else plain


def _settings(source: Source, engine: Engine, options: Options) -> dict[str, str]:
    """RETURNS (dict[str, str]): What must be the same when a run is taken up again."""
    profile = engine.profile
    content = sha256(json.dumps(profile.to_dict(), sort_keys=True).encode()).hexdigest()[:16]
    return {
        "input": source.fingerprint(),
        "text column": source.text_field,
        "list of dropped columns": " ".join(sorted(source.drop)),
        "encoding": source.encoding,
        "model": engine.name,
        "version of pii-edu": __version__,
        "profile": f"{profile.name} {content}",
        "scope": profile.scope,
    }


def _write_report(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as err:
        raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def _tell_start(console: Console, source: Source, key: Key, old: RunState | None) -> None:
    if source.text_field:
        console.print(f"text: '{source.text_field}'; unchanged: {', '.join(source.others) or 'nothing else'}", markup=False)
    if not key.kept:
        console.print(key.note, style="dim", markup=False)
    if old is not None:
        console.print(f"going on after record {old.items}")


def _tell_end(console: Console, report: Report, source: Source, out: Path, report_file: Path, swept: Swept | None) -> None:
    if report.spans:
        console.print(summary_table(report))
    speed = f", {report.words / report.seconds:.0f} words per second" if report.seconds else ""
    console.print(f"{report.documents} documents, {report.n_skipped} skipped, {report.words} words{speed}")
    if report.n_left_over:
        n = report.n_left_over
        console.print(f"to review: in {n} documents a value that was replaced stands once more in clear; the report lists them")
    if swept is not None and swept.n_found:
        console.print(
            f"to review: surnames that were hidden somewhere stand in clear in {swept.n_found} places "
            f"({swept.n_documents} documents); the report lists them. --sweep hide hides them too"
        )
    for i, name in enumerate(source.others, 1):
        n = report.in_fields[name]
        if n:
            place = "the name of the file" if name == "(file name)" else f"'{safe_name(name, i)}', which stays unchanged"
            console.print(f"to review: in {n} records a value that was replaced stands in {place} too", markup=False)
    console.print(f"wrote '{out}' and '{report_file}'", markup=False)


@contextmanager
def _signals(run: Run) -> Iterator[None]:
    """Ctrl-C and a polite kill stop the run after the batch at hand; a second one stops it at once."""

    def handler(number: int, frame: FrameType | None) -> None:
        run.stop()
        signal.signal(number, signal.default_int_handler)

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def _progress(console: Console, source: Source, *, quiet: bool) -> Iterator[tuple[Any, Any]]:
    """YIELDS (tuple): A function that moves the bar, and one that prints a line above it."""
    of_files = source.kind == "folder"
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn() if of_files else TaskProgressColumn()]
    bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet or not console.is_terminal, transient=True)
    task = bar.add_task("files" if of_files else "reading", total=max(source.size, 1))
    with bar:
        yield (
            lambda position: bar.update(task, completed=position),
            lambda line: console.print(line, markup=False),
        )
