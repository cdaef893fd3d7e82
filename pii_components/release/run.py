"""The loop of `pii-edu deidentify`: read, process, write, and remember how far it came.

    run = Run(source, writer, engine, Report(), RunState(settings, key))
    run.go()

Every second or so the partial file is made safe and the state beside it says how much of it counts. A run that is taken up
cuts the partial file off there, passes over the records that are done, and ends with the very file that one run would have
written. A vault gets the documents of a batch, and they are on the disk, before any of them reaches the output; those that are
there already are not added again when a run is taken up.
"""

import csv
import hmac
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..errors import Errors, PiiError
from ..files.formats.base import GoldSpan, ReadStats
from ..files.labelled import open_corpus_writer, read_corpus, write_corpus
from ..files.record import Record, Skip, Source
from ..files.sources import FileSource, FolderSource, open_source
from ..files.tables import broken_rows, csv_line, safe_cell
from ..files.writers import Output, Writer, replace_file
from ..labels import DETAIL_LABELS, is_name
from ..profiles import KEEP
from ..vault.vault import Vault
from .engine import Engine, Result
from .report import MOST_LISTED, Report
from .review import review_key, shown_lines, text_hash
from .sweep import HIGH, LOW, MEDIUM, RISKS, Originals, Surnames, names_of

if TYPE_CHECKING:
    from ..ruler.roster import Roster

CHECKPOINT_SECONDS = 1.0
# A batch ends at this many characters too: a few books in it would fill the memory.
_BATCH_CHARS = 400_000
# A surname that stands in small letters in more documents than this is a word there: ETS's "That shows up a lot!"
_MOST_AS_NAME = 3


class LabelsOut(Output):
    """`--labels-out`: rows that become the released corpus with its labels, in a form that can be trained on.

    out (Path): The file, whose suffix says the form.
    RAISES (PiiError): E519 or E621 for the form.
    """

    def __init__(self, out: Path) -> None:
        super().__init__(out, out.with_name(out.name + ".rows.jsonl"))
        self.form, self.tally = open_corpus_writer(out).form, ReadStats()
        self.skipped: list[Skip] = []

    def add(self, ident: str, text: str, labels: Sequence[GoldSpan]) -> None:
        """Add a document: its id, the new text, and its spans there."""
        row = {"id": ident, "text": text, "spans": labels}
        self.append(json.dumps(row).encode("ascii") + b"\n")

    def replace(self) -> None:
        """Write the corpus in its form. RAISES (PiiError): E512."""
        settled, skip = ReadStats(), self.skipped.append
        essays = read_corpus(
            self.partial, "jsonl", text_field="text", id_field="id", on_skip=skip, tally=settled
        )
        some = essays if self.partial.stat().st_size else ()
        write_corpus(some, self.out, self.form, on_skip=skip, tally=self.tally)
        self.tally.masked += settled.masked

    def as_json(self) -> dict[str, Any]:
        """For the report: counts, no text."""
        return {
            "form": self.form,
            "documents": self.tally.documents,
            "labels": {label: n for label, n in sorted(self.tally.labels.items()) if n},
            "masked": len(self.tally.masked),
            "skipped": [{"record": skip.number, "code": skip.code} for skip in self.skipped],
        }


@dataclass
class RunState:
    """How far a run has come: `<OUTPUT>.state.json`, left by an interrupted run, gone when the run ends well.

    settings (dict[str, str]): What must be the same when the run goes on: input, profile, model, ...
    key (str): Fingerprint of the key; empty for a key that was made for the run and is lost with it.
    items (int): Records read so far; those skipped count.
    replace (bool): Whether an existing OUTPUT may be replaced. report (dict[str, Any]): The counts so far.
    safe (dict[str, int]): Bytes that are safe on disk of each of `Run.outputs`. digests (dict[str, str]): Of these bytes, under the key.
    complete (bool): Whether all is read and written, and only names are to be given, and the report to be made. read (float): Share of INPUT.
    """

    settings: dict[str, str]
    key: str = ""
    items: int = 0
    replace: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    safe: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    read: float = 0.0

    def save(self, path: Path) -> None:
        """Write the state so that a crash in between leaves the old one. RAISES (PiiError): E512."""
        replace_file(path, json.dumps(vars(self)))


def state_path(out: Path) -> Path:
    """Where the state of a run lies: `<OUTPUT>.state.json`."""
    return out.with_name(out.name + ".state.json")


def load_state(path: Path) -> RunState:
    """Read what an interrupted run left. RAISES (PiiError): E513, if there is nothing, or nothing that can be read."""
    try:
        state = RunState(**json.loads(path.read_text(encoding="utf-8")))
        if min([state.items, *state.safe.values()]) < 0:
            raise ValueError
        Report.load(state.report)
        return state
    except (OSError, ValueError, TypeError, AttributeError) as err:
        raise PiiError(Errors.E513) from err


def check_resume(old: RunState, settings: dict[str, str], key: str) -> None:
    """Check that a run may go on where another stopped: the outcome must be that of one run. key (str): Its fingerprint.

    RAISES (PiiError): E514, if a setting differs or the key does, or either run has a key of its own making.
    """
    if not (old.key and key and hmac.compare_digest(old.key, key)):
        raise PiiError(Errors.E514, what="key")  # first: under another one all digests differ
    for name, value in settings.items():
        if old.settings.get(name) != value:
            raise PiiError(Errors.E514, what=name)


class Place(NamedTuple):
    """Something in clear.

    record (int): Its number in the input.
    start_char, end_char (int): Characters of the text of OUTPUT, end exclusive.
    risk (str): "high": an original or a full name; "medium": a surname, or a name of the class list; "low": another name of one word, or a
        detail.
    """

    record: int
    start_char: int
    end_char: int
    risk: str


@dataclass(slots=True)
class SweepResult:
    """What a sweep found.

    surnames (int): That were looked for.
    documents (int): Looked at.
    unread (int): Not looked at, for they could not be read.
    found (list[Place]): Where, sorted by risk.
    by_risk (Counter): How many there are of each risk, listed or not.
    common_words (Counter): Surnames that are words, too, in the corpus; where they stand in small letters.
    """

    surnames: int = 0
    documents: int = 0
    unread: int = 0
    found: list[Place] = field(default_factory=list)
    by_risk: Counter[str] = field(default_factory=Counter)
    common_words: Counter[str] = field(default_factory=Counter)

    def add(self, place: Place) -> None:
        self.by_risk[place.risk] += 1
        if place.risk == HIGH or len(self.found) < MOST_LISTED:
            self.found.append(place)

    def as_json(self, how: str) -> dict[str, Any]:
        """For the report; numbers only. how (str): "report" or "hide"."""
        return {
            "mode": how,
            "surnames": self.surnames,
            "documents": self.documents,
            "unread": self.unread,
            "found": self.by_risk.total(),
            "by_risk": {risk: self.by_risk[risk] for risk in RISKS},
            "places": [place._asdict() for place in self.found],
            "common_words": {n: self.common_words[n] for n in ("surnames", "in_small_letters")},
        }


class SweepLog(Output):
    """`--sweep`: remembers, as digests under the key of the run, what was hidden; then sweeps over OUTPUT.

    roster (Roster | None): Whose names are looked for, too.
    """

    def __init__(self, out: Path, key: bytes, *, roster: "Roster | None" = None) -> None:
        super().__init__(out, out.with_name(out.name + ".sweep.jsonl"))
        self.roster, self.token = roster, token_under(key)

    def add(self, record: Record, result: Result) -> None:
        """Add a document: its original and what became of it."""
        values = _originals_of(record.text, result, self.token)
        alone, pairs = Surnames(self.token).add(result.names(kept=False))
        row = {
            "n": record.number,
            "i": self.token(f"id {record.id}"),
            "a": alone,
            "p": pairs,
            "k": sorted(map(self.token, result.names(kept=True).words())),
            "s": [[start, end] for start, end, _ in result.surrogates],
            "w": values.whole,
            "f": values.first,
        }
        self.append(json.dumps(row).encode("ascii") + b"\n")

    def replace(self) -> None:
        """It stays, until OUTPUT is there and was looked through."""

    def sweep(self, source: Source) -> SweepResult:
        """Look in OUTPUT, which has the form of `source`, for every surname that the run has hidden anywhere: one pass over the
        rows, one over OUTPUT. RAISES (PiiError): E512, E501 to E508, if OUTPUT cannot be read."""
        surnames, originals, swept = Surnames(self.token), Originals(self.token), SweepResult()
        for member in self.roster.members if self.roster is not None else ():
            originals.add_person(member.given, member.family, risk=MEDIUM)
            for value in member.family:
                originals.add(value, MEDIUM)
            for value, _ in member.values:
                originals.add(value, MEDIUM if value in member.family else HIGH)
        for row in self._rows():
            surnames.alone.update(row["a"])
            surnames.pairs.update(row["p"])
            originals.put(row["w"], row["f"])
        swept.surnames = len(surnames)
        if len(surnames) or originals.whole:
            again = open_source(
                self.out,
                text_field=source.text_field,
                more=source.more,
                encoding=source.encoding,
                spreadsheet_safe=source.spreadsheet_safe,
            )
            with closing(again):
                self._look(again, surnames, originals, swept)
            swept.found.sort(key=lambda place: (RISKS.index(place.risk), place))
            del swept.found[MOST_LISTED:]
        return swept

    def _look(
        self, again: Source, surnames: Surnames, originals: Originals, swept: SweepResult
    ) -> None:
        rows: Iterable[dict[str, Any]] = self._rows()
        if isinstance(again, FolderSource):
            # Other files may lie in the folder.
            known = {row["i"]: row for row in rows}
            rows = [known.get(self.token(f"id {name}"), {}) for name in again.files]
        small: dict[str, list[Place]] = defaultdict(list)
        for item, row in zip(again, rows, strict=False):
            if not row or isinstance(item, Skip):
                swept.unread += bool(row)
                continue
            swept.documents += 1
            kept, spans = frozenset(row["k"]), [(start, end) for start, end in row["s"]]
            for start, end, risk in originals.find(item.text, spans=spans, exempt=kept):
                swept.add(Place(row["n"], start, end, risk))
                spans.append((start, end))
            for hit in surnames.find(item.text, spans=spans, exempt=kept):
                place = Place(row["n"], hit.start, hit.end, MEDIUM)
                if hit.lower and hit.word in surnames.alone:
                    small[hit.word].append(place)
                else:
                    swept.add(place)
        for places in small.values():
            if len({place.record for place in places}) > _MOST_AS_NAME:  # it is a word here
                swept.common_words.update(surnames=1, in_small_letters=len(places))
                continue
            for place in places:
                swept.add(place)

    def _rows(self) -> Iterator[dict[str, Any]]:
        with open(self.partial, encoding="ascii") as file:
            yield from map(json.loads, file)


def token_under(key: bytes) -> Callable[[str], str]:
    """RETURNS (Callable): What stands for a folded word outside of this process: 64 bits of an HMAC under the key."""

    def token(word: str) -> str:
        return hmac.new(
            key, b"pii-edu|sweep|" + word.encode("utf-8", "surrogatepass"), "sha256"
        ).hexdigest()[:16]

    return lru_cache(maxsize=100_000)(token)


class ReviewOut(Output):
    """`--review-dir`: what `pii-edu review` shows of each document, in numbers and labels; the text stays where it is.

    head (Mapping[str, Any]): model, version, profile, actions, reading (options of `open_source`). key (bytes): Of the run. places (Path): input, output,
    report;
    kept as told from where the file lies.
    """

    def __init__(self, out: Path, head: Mapping[str, Any], key: bytes, **places: Path) -> None:
        super().__init__(out)
        self.key_of_texts = review_key(out, secret=key)
        told = {name: place_from(out.resolve().parent, place) for name, place in places.items()}
        self.about = {"pii_edu_review": 1, **told, **head}

    def head(self) -> bytes:
        return json.dumps(self.about).encode("ascii") + b"\n"

    def add(self, record: Record, result: Result) -> None:
        """Add a document: hashes of its texts, spans, what was replaced by what (offsets), and where in clear a part of what is hidden stands."""
        text = record.text
        values = _originals_of(text, result, str, surnames=True)
        known = [*((s.start_char, s.end_char) for s in result.spans), *result.headers]
        row = {
            "n": record.number,
            "hash": text_hash(text, self.key_of_texts),
            "release": text_hash(result.text, self.key_of_texts),
            "spans": [astuple(replace(span, score=round(span.score, 4))) for span in result.spans],
            "edits": result.offsets.edits,
            "length": [len(text), len(result.text)],
            "parts": values.find(text, spans=known, exempt=result.names(kept=True).words()),
            "headers": [line for where in result.headers for line in shown_lines(text, *where)],
        }
        self.append(json.dumps(row).encode("ascii") + b"\n")


def place_from(folder: Path, place: Path) -> str:
    """RETURNS (str): A path as seen from a folder; whole, if it lies on another drive."""
    try:
        return Path(os.path.relpath(place.resolve(), folder)).as_posix()
    except ValueError:
        return str(place.resolve())


def _originals_of(
    text: str, result: Result, token: Callable[[str], str], *, surnames: bool = False
) -> Originals:
    """RETURNS (Originals): What is hidden in a document; with `surnames` those alone, too."""
    values = Originals(token)
    for span in result.spans:
        if span.action == KEEP or is_name(span.label):
            continue
        risk = HIGH if span.label in DETAIL_LABELS else LOW
        values.add(text[span.start_char : span.end_char], risk)
    for given, family in names_of(result.names(kept=False)):
        values.add_person(given, family)
        for surname in family if surnames else ():
            values.add(surname, MEDIUM)
    return values


class MapOut(Output):
    """`--map`: a table of what each document was called, and is called in OUTPUT; nothing there, if it was left out. With the other `first`
    line, `--headers-out`: of the headers that were removed, with what each document was called; it holds originals."""

    def __init__(self, out: Path, first: bytes = b"in,out\n") -> None:
        super().__init__(out)
        self.first = first

    def head(self) -> bytes:
        return self.first

    def add(self, *cells: str) -> None:
        """Add a document."""
        self.append(csv_line([*cells]).encode("utf-8", "surrogateescape"))


def read_map(path: Path) -> list[tuple[str, str]]:
    """What each record was called and is called, in order; nothing there if it was left out.

    RAISES (PiiError): E576, if `MapOut` did not write it.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            head, *rows = csv.reader(file)
        if head != ["in", "out"] or any(len(row) != 2 for row in rows):
            raise ValueError
    except (OSError, ValueError, csv.Error) as err:
        raise PiiError(Errors.E576, path=path, option="--id-map") from err
    return [(before, after) for before, after in rows]


@dataclass(slots=True)
class Run:
    """One run over an input.

    batch_size (int): Records that are processed together. strict (bool): Whether the first skip ends the run.
    on_progress, on_skip (Callable): Called with the position in the input, and with each skip. prepare (Callable): What is done to
    an item before all else. safe_id (Callable): What a document is called beside OUTPUT: in the report, the state, the labels.
    key (bytes): Of the run, for digests. vault (Vault | None): Gets what was replaced. labels (LabelsOut | None): Gets the new texts with labels.
    sweep (SweepLog | None): Remembers which surnames were hidden. map (MapOut | None): Gets names of documents, before and after.
    headers (MapOut | None): Gets the headers that were removed.
    review (ReviewOut | None): Gets what was found, for people to look at.
    """

    WRITTEN: ClassVar = ("labels", "sweep", "map", "headers", "review", "writer")
    source: Source
    writer: Writer
    engine: Engine
    report: Report
    state: RunState
    batch_size: int = 16
    strict: bool = False
    on_progress: Callable[[int], None] = lambda position: None
    on_skip: Callable[[Skip], None] = lambda skip: None
    prepare: Callable[[Record | Skip], Record | Skip] = lambda item: item
    safe_id: Callable[..., str] = lambda ident, **how: ident
    key: bytes = field(default=b"", repr=False)
    vault: Vault | None = None
    labels: LabelsOut | None = None
    sweep: SweepLog | None = None
    map: MapOut | None = None
    headers: MapOut | None = None
    review: ReviewOut | None = None
    _since: float = 0.0
    _uncommitted: bool = False
    _asked_to_stop: bool = False
    _reading: bool = False

    def go(self, *, resume: bool = False) -> None:
        """Process the input to its end, and put OUTPUT in its place; there is none if no record could be used.

        resume (bool): Whether `state` and `report` come from an earlier run.
        RAISES (PiiError): E512, if writing fails; E532, if a record was skipped under `strict`. What was done stays, and can
        be resumed.
        """
        try:
            self._start(resume=resume)
        except BaseException:
            for output in self.outputs.values():
                output.stop()
            raise
        self._since = time.monotonic()
        if not resume:
            self._checkpoint()
        try:
            self._reading = True
            if isinstance(self.source, FolderSource):
                self.source.done = self.state.items  # what was read is not opened again
            done = 0 if isinstance(self.source, FolderSource) else self.state.items
            items = map(self.prepare, islice(self.source, done, None))
            for batch, found in self.engine.stream(batches(items, self.batch_size)):
                self._reading = False
                self._process(batch, found)
                self.state.read = self.source.position() / max(self.source.size, 1)
                self.on_progress(self.source.position())
                if self._asked_to_stop:
                    raise KeyboardInterrupt
                if time.monotonic() - self._since >= CHECKPOINT_SECONDS:
                    self._checkpoint()
                self._reading = True
        except BaseException:
            self._reading = False
            self._leave()
            raise
        self._reading = False
        self._checkpoint()
        if self.vault is not None:
            self.vault.close()
        if self.report.refused:
            self.discard()
            return
        self.state.complete = True
        self.state.save(state_path(self.writer.out))
        for output in self.outputs.values():
            if output.partial.exists():
                output.finish()

    def end(self) -> None:
        """When the report is written: nothing is left to be taken up."""
        state_path(self.writer.out).unlink(missing_ok=True)
        for output in self.outputs.values():
            output.clear()

    def _start(self, *, resume: bool) -> None:
        """Open all files, but for those that had got their names when the run was killed.

        RAISES (PiiError): E513, if one is not what the state says.
        """
        for name, output in self.outputs.items():
            output.key = self.key
            output.expected = self.state.digests.get(name, "") if resume else ""
            if output.partial.exists() or not self.state.complete:
                output.start(self.state.safe.get(name, 0) if resume else None)

    @property
    def outputs(self) -> dict[str, Output]:
        """RETURNS (dict[str, Output]): All that is written; OUTPUT gets its name last."""
        places = [(name, getattr(self, name)) for name in self.WRITTEN]
        return {name: output for name, output in places if output is not None}

    def stop(self) -> None:
        """For a signal's handler: stop at once while texts are read, since a batch can take minutes; else when the batch is written."""
        self._asked_to_stop = True
        if self._reading:
            raise KeyboardInterrupt

    def discard(self) -> None:
        """Remove what a run wrote that is refused."""
        with suppress(OSError):
            state_path(self.writer.out).unlink(missing_ok=True)
            for output in self.outputs.values():
                output.discard()
            if self.vault is not None and not self.vault.documents:
                self.vault.path.unlink()

    def _process(self, batch: list[Record | Skip], found: list[Result | Skip]) -> None:
        if self.vault is not None:
            found = list(map(partial(self._into_vault, self.vault), batch, found))
            self.vault.sync()
        for item, result in zip(batch, found, strict=True):
            broken = broken_rows(item) if isinstance(item, Record) else []
            if broken and self.strict:
                result = broken[0]
            if isinstance(item, Record) and isinstance(result, Result):
                self._uncommitted = True  # what is on disk and what is counted differ from here ...
                result = self._write(item, result)
            if isinstance(result, Skip):
                if self.strict:
                    self._uncommitted = False
                    raise PiiError(Errors.E532, skip=result.error)
                ident = item.id if item.id != str(item.number) else ""
                result = replace(result, id=self.safe_id(ident, left_out=True) if ident else "")
                self.report.skip(result)
                if isinstance(self.source, FolderSource):  # who reads the screen must find the file
                    result = replace(result, id=self.source.name_of(item))
                self.on_skip(result)
            elif isinstance(item, Record):
                self.report.add(item, result)
                self.report.rows_left_out += [(row.number, row.line) for row in broken]
                del self.report.rows_left_out[MOST_LISTED:]
                for row in broken:
                    self.on_skip(replace(row, id=self.source.name_of(item)))
            if self.map is not None:
                self.map.add(self.source.name_of(item), "" if isinstance(result, Skip) else item.id)
            self.state.items += 1
            self._uncommitted = False  # ... to here

    def _write(self, record: Record, result: Result) -> Result | Skip:
        try:
            self.writer.write(record, result.text, result.fields, result.offsets)
        except PiiError as err:
            if err.code not in ("E538", "E545"):
                raise
            return Skip(number=record.number, error=err)
        if self.labels is not None:
            # A name that it was given is safe.
            self.labels.add(
                record.id if record.given is not None else self.safe_id(record.id),
                result.text,
                result.labels,
            )
        if self.sweep is not None:
            self.sweep.add(record, result)
        if self.headers is not None:
            for start, end in result.headers:
                self.headers.add(
                    *map(safe_cell, (self.source.name_of(record), record.text[start:end].strip()))
                )
        if self.review is not None:
            self.review.add(record, result)
        return result

    def _into_vault(
        self, vault: Vault, record: Record | Skip, result: Result | Skip
    ) -> Result | Skip:
        """The result; a skip where the vault could not promise that the original comes back."""
        if isinstance(record, Skip) or isinstance(result, Skip):
            return result
        is_file = isinstance(self.source, FileSource)  # which is called as OUTPUT is
        named = replace(record, id=self.writer.out.stem) if is_file else record
        try:
            pieces = self.writer.reread(record, result.text, result.offsets)
            release = result.release(named, self.engine.profile.scope)
            vault.append(release.as_read(pieces), sync=False)
            return result
        except PiiError as err:
            if err.code not in ("E470", "E538", "E545"):
                raise
            told = PiiError(Errors.E470, document=record.number)
            return Skip(record.number, told if err.code == "E470" else err)

    def _checkpoint(self) -> None:
        now = time.monotonic()
        self.report.seconds, self._since = self.report.seconds + now - self._since, now
        self.state.safe = {name: output.sync() for name, output in self.outputs.items()}
        self.state.digests = {name: output.digest for name, output in self.outputs.items()}
        self.state.report = dict(vars(self.report))
        self.state.save(state_path(self.writer.out))

    def _leave(self) -> None:
        """Save what can be saved. Where a record is written and not counted, the state that was saved before holds."""
        if not self._uncommitted:
            with suppress(PiiError):  # the reason for leaving matters more
                self._checkpoint()
        for output in self.outputs.values():
            output.stop()
        if self.vault is not None:
            self.vault.close(seal=False)


def batches(items: Iterator[Record | Skip], size: int) -> Iterator[list[Record | Skip]]:
    """YIELDS (list[Record | Skip]): Up to `size` items, fewer where texts are long."""
    batch: list[Record | Skip] = []
    chars = 0
    for item in items:
        batch.append(item)
        chars += len(item.text) if isinstance(item, Record) else 0
        if len(batch) >= size or chars >= _BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch
