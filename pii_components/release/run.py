"""The loop of `pii-edu deidentify`: read, process, write, and remember how far it came.

    run = Run(source, writer, engine, Report(), RunState(settings, key))
    run.go()

Every second or so the partial file is made safe and the state beside it says how much of it counts. A run that is taken up
cuts the partial file off there, passes over the records that are done, and ends with the very file that one run would have
written. A vault gets the documents of a batch, and they are on the disk, before any of them reaches the output; those that are
there already are not added again when a run is taken up.
"""

import hmac
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import Errors, PiiError
from ..files.formats.base import GoldSpan, Tally
from ..files.labelled import open_corpus_writer, read_corpus, write_corpus
from ..files.record import Record, Skip, Source, reason_of, safe_name
from ..files.sources import FolderSource, open_source
from ..files.writers import Writer
from ..labels import is_name
from ..vault.vault import Vault
from .engine import KEEP, Engine, Result
from .sweep import Surnames, words_of

# `--labels-out`: the released corpus with its labels, in a form that can be trained on.


class LabelsOut:
    """Writes the labels of a run.

    out (Path): The file, or folder for brat. form (str): A name in `corpus.labelled.FORMS`; empty to go by the suffix.
    RAISES (PiiError): E620 or E621 for the form.
    """

    def __init__(self, out: Path, form: str = "") -> None:
        self.out, self.rows = out, out.with_name(out.name + ".rows.jsonl")
        self.form = str(open_corpus_writer(out, form).form)
        self.tally = Tally()
        self.skipped: list[Skip] = []
        self._file: BinaryIO | None = None

    def start(self, done: int | None = None) -> None:
        """Open the rows. done (int | None): Bytes of them that count, if the run is taken up. RAISES (PiiError): E512."""
        try:
            self.rows.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.rows, "wb" if done is None else "r+b")  # noqa: SIM115  (lives as long as the run)
            self._file.truncate(done or 0)
            self._file.seek(done or 0)
        except OSError as err:
            raise self._refused(self.rows, err) from err

    def write(self, ident: str, text: str, labels: Sequence[GoldSpan]) -> None:
        """Add a document. ident (str): Its id. text (str): The new text. labels (Sequence[tuple[int, int, str]]): Its spans."""
        assert self._file is not None
        try:
            self._file.write(json.dumps({"id": ident, "text": text, "spans": labels}).encode("ascii") + b"\n")
        except OSError as err:
            raise self._refused(self.rows, err) from err

    def sync(self) -> int:
        """RETURNS (int): Bytes of the rows that are safe on disk."""
        if self._file is None or self._file.closed:
            return 0
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as err:
            raise self._refused(self.rows, err) from err
        return self._file.tell()

    def stop(self) -> None:
        """Close the rows; they stay for a run that is taken up."""
        if self._file is not None:
            self._file.close()

    def finish(self) -> None:
        """Write the corpus in its form. RAISES (PiiError): E512, E637."""
        self.sync()
        self.stop()
        self.tally, self.skipped = Tally(), []
        settled = Tally()
        skip = self.skipped.append
        essays = read_corpus(self.rows, "jsonl", text_field="text", id_field="id", on_skip=skip, tally=settled)
        write_corpus(essays if self.rows.stat().st_size else (), self.out, self.form, on_skip=skip, tally=self.tally)
        self.tally.masked += settled.masked

    def clear(self) -> None:
        """Remove the rows."""
        self.rows.unlink(missing_ok=True)

    def as_json(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For the report: counts, no text."""
        return {
            "form": self.form,
            "documents": self.tally.documents,
            "labels": {label: n for label, n in sorted(self.tally.labels.items()) if n},
            "masked": len(self.tally.masked),
            "skipped": [{"record": skip.number, "code": skip.code} for skip in self.skipped],
        }

    def _refused(self, path: Path, err: OSError) -> PiiError:
        return PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err))


# `report.json`: what a run did, in numbers. No text of anybody, no name of a file.

_MOST_LISTED = 10_000


@dataclass(slots=True)
class Report:
    """The counts of a run.

    documents, changed, empty, words (int): Documents written; those that differ from their original; those without text; words.
    spans (Counter): Number per "label|role|action". skipped (list[tuple[int, str]]): Number of the record and code.
    left_over (list[int]): Records in which a value that was replaced stands once more where nothing was found.
    in_fields (Counter): Per field that passes through unchanged: records in which it holds a value that was replaced in the
    text.
    """

    documents: int = 0
    changed: int = 0
    empty: int = 0
    words: int = 0
    seconds: float = 0.0
    n_skipped: int = 0
    n_left_over: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    left_over: list[int] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    in_fields: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record, result: Result) -> None:
        """Count a document that was written."""
        self.documents += 1
        self.changed += result.text != record.text
        self.empty += not record.text.strip()
        self.words += result.words
        self.spans.update(f"{span.label}|{span.role}|{span.action}" for span in result.spans)
        self.notes.update(result.notes)
        self.in_fields.update(result.fields_with_found)
        if result.left_over:
            self.n_left_over += 1
            self.left_over.append(record.number)
            del self.left_over[_MOST_LISTED:]

    def skip(self, skip: Skip) -> None:
        """Count a record that was left out."""
        self.n_skipped += 1
        self.skipped.append((skip.number, skip.code))
        del self.skipped[_MOST_LISTED:]

    def dump(self) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For the state of the run."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> "Report":
        """RETURNS (Report): What `dump` gave."""
        report = cls(**data)
        report.spans, report.notes, report.in_fields = Counter(report.spans), Counter(report.notes), Counter(report.in_fields)
        report.skipped = [(int(number), str(code)) for number, code in report.skipped]
        return report

    def as_json(self, head: Mapping[str, Any], others: list[str]) -> dict[str, Any]:
        """The whole report.

        head (Mapping[str, Any]): Version, profile, model, ... others (list[str]): Fields that passed through unchanged.
        RETURNS (dict[str, Any]): Ready for JSON.
        """
        rows = [(*key.split("|"), count) for key, count in sorted(self.spans.items())]
        shown = {name: safe_name(name, i) for i, name in enumerate(others, 1)}
        return {
            **head,
            "documents": self.documents,
            "documents_changed": self.changed,
            "documents_without_text": self.empty,
            "words": self.words,
            "seconds": round(self.seconds, 2),
            "words_per_second": round(self.words / self.seconds) if self.seconds else None,
            "spans": [{"label": label, "role": role, "action": action, "count": n} for label, role, action, n in rows],
            "notes": dict(sorted(self.notes.items())),
            "skipped": {"count": self.n_skipped, "records": [{"record": n, "code": code} for n, code in self.skipped]},
            "to_review": {
                "replaced_value_stands_elsewhere_in_text": {"count": self.n_left_over, "records": self.left_over},
                "replaced_value_stands_in_unchanged_field": {
                    shown.get(name, "(another)"): n for name, n in sorted(self.in_fields.items())
                },
            },
            "unchanged_fields": list(shown.values()),
        }


# What an interrupted run leaves behind, so that it can be taken up: `<OUTPUT>.state.json`, gone when the run ends well.


@dataclass(slots=True)
class RunState:
    """How far a run has come.

    settings (dict[str, str]): What must be the same when the run goes on: input, profile, model, ...
    key (str): Fingerprint of the key; empty for a key that was made for the run and is lost with it.
    items (int): Records read so far; those skipped count. offset (int): Bytes of the partial file that are safe.
    replace (bool): Whether an existing OUTPUT may be replaced. report (dict[str, Any]): The counts so far.
    labels (int): Bytes of the rows of --labels-out that are safe. sweep (int): Bytes of those of the last sweep.
    """

    settings: dict[str, str]
    key: str = ""
    items: int = 0
    offset: int = 0
    replace: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    labels: int = 0
    sweep: int = 0

    def save(self, path: Path) -> None:
        """Write the state so that a crash in between leaves the old one.

        RAISES (PiiError): E512, if it cannot be written.
        """
        fresh = path.with_name(path.name + ".new")
        try:
            with open(fresh, "w", encoding="utf-8") as file:
                json.dump(asdict(self), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError as err:
            raise PiiError(Errors.E512, what=f"'{path}'", reason=reason_of(err)) from err


def state_path(out: Path) -> Path:
    """RETURNS (Path): Where the state of a run lies: `<OUTPUT>.state.json`."""
    return out.with_name(out.name + ".state.json")


def load_state(path: Path) -> RunState:
    """Read what an interrupted run left.

    RAISES (PiiError): E513, if there is nothing, or nothing that can be read.
    """
    try:
        return RunState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as err:
        raise PiiError(Errors.E513) from err


def check_resume(old: RunState, settings: dict[str, str], key: str) -> None:
    """Check that a run may go on where another stopped: the outcome must be that of one run.

    old (RunState): What the interrupted run left. settings (dict[str, str]): Of this run. key (str): Fingerprint of its key.
    RAISES (PiiError): E514, if a setting differs; E515, if the key does; E539, if either run has a key of its own making.
    """
    for name, value in settings.items():
        if old.settings.get(name) != value:
            raise PiiError(Errors.E514, what=name)
    if not (old.key and key):
        raise PiiError(Errors.E539)
    if not hmac.compare_digest(old.key, key):
        raise PiiError(Errors.E515)


def key_fingerprint(key: bytes) -> str:
    """RETURNS (str): 64 bits of an HMAC under the key: enough to tell keys apart, and nothing that a surrogate is made from."""
    return hmac.new(key, b"pii-edu|fingerprint of the key", "sha256").hexdigest()[:16]


# `--sweep`: what a run has hidden, remembered for the last sweep over OUTPUT; and the sweep.

# A surname that stands in small letters in more documents than this is a word there: ETS's "That shows up a lot!"
_A_LOT = 3


@dataclass(slots=True)
class Swept:
    """What a sweep found.

    surnames (int): That were looked for. documents (int): Looked at. unread (int): Not looked at, for they could not be read.
    found (list[tuple[int, int, int]]): Number of the record in the input; start and end, exclusive, in the text of OUTPUT. n_found
    (int): How many there are, listed or not. a_lot (tuple[int, int]): Surnames that are words, too, in the corpus; where they stand
    in small letters. n_alike (int): Documents in which a surrogate is a surname that was hidden elsewhere.
    """

    surnames: int = 0
    documents: int = 0
    unread: int = 0
    found: list[tuple[int, int, int]] = field(default_factory=list)
    n_found: int = 0
    a_lot: tuple[int, int] = (0, 0)
    n_alike: int = 0

    @property
    def n_documents(self) -> int:
        """RETURNS (int): Documents in which something was found, as far as it is listed."""
        return len({number for number, _, _ in self.found})

    def as_json(self, how: str) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): For the report; numbers only. how (str): "report" or "hide"."""
        return {
            "mode": how,
            "surnames": self.surnames,
            "documents": self.documents,
            "unread": self.unread,
            "found": self.n_found,
            "places": [{"record": number, "start_char": a, "end_char": b} for number, a, b in self.found],
            "common_words": {"surnames": self.a_lot[0], "in_small_letters": self.a_lot[1]},
            "documents_with_a_surrogate_that_is_a_hidden_surname": self.n_alike,
        }


class SweepLog:
    """Remembers, and sweeps.

    out (Path): OUTPUT. key (bytes): Of the run; digests are made with it.
    """

    def __init__(self, out: Path, key: bytes) -> None:
        self.out, self.rows = out, out.with_name(out.name + ".sweep.jsonl")
        self.token = lru_cache(maxsize=100_000)(lambda word: _digest(key, word))
        self._file: BinaryIO | None = None

    def start(self, done: int | None = None) -> None:
        """Open the rows. done (int | None): Bytes of them that count, if the run is taken up. RAISES (PiiError): E512."""
        try:
            self.rows.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.rows, "wb" if done is None else "r+b")  # noqa: SIM115  (lives as long as the run)
            self._file.truncate(done or 0)
            self._file.seek(done or 0)
        except OSError as err:
            raise self._refused(err) from err

    def write(self, record: Record, result: Result) -> None:
        """Add a document. record (Record): Its original. result (Result): What became of it. RAISES (PiiError): E512."""
        assert self._file is not None
        names = [span for span in result.spans if is_name(span.label)]
        hidden = [(s.start_char, s.end_char) for s in names if s.action != KEEP]
        kept = [(s.start_char, s.end_char) for s in names if s.action == KEEP]
        alone, pairs = Surnames(self.token).add(record.text, hidden)
        row: dict[str, Any] = {"n": record.number, "i": self.token(f"id {record.id}")}
        row |= {"a": alone} if alone else {}
        row |= {"p": pairs} if pairs else {}
        row |= {"k": sorted(map(self.token, words_of(record.text, kept)))} if kept else {}
        row |= {"s": [[a, b] for a, b, _ in result.surrogates]} if result.surrogates else {}
        try:
            self._file.write(json.dumps(row).encode("ascii") + b"\n")
        except OSError as err:
            raise self._refused(err) from err

    def sync(self) -> int:
        """RETURNS (int): Bytes of the rows that are safe on disk."""
        if self._file is None or self._file.closed:
            return 0
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as err:
            raise self._refused(err) from err
        return self._file.tell()

    def stop(self) -> None:
        """Close the rows; they stay for a run that is taken up."""
        if self._file is not None:
            self._file.close()

    def clear(self) -> None:
        """Remove the rows."""
        self.stop()
        self.rows.unlink(missing_ok=True)

    def sweep(self, source: Source) -> Swept:
        """Read OUTPUT and look for every surname that the run has hidden anywhere: one pass over the rows, one over OUTPUT.

        source (Source): The input, whose form OUTPUT has.
        RETURNS (Swept): What was found. RAISES (PiiError): E512, E501 to E508, if OUTPUT cannot be read.
        """
        self.sync()
        self.stop()
        surnames, swept = Surnames(self.token), Swept()
        for row in self._rows():
            surnames.alone.update(row.get("a", ()))
            surnames.pairs.update(row.get("p", ()))
        swept.surnames = len(surnames)
        if len(surnames):
            again = open_source(self.out, text_field=source.text_field, encoding=source.encoding)
            try:
                self._look(again, surnames, swept)
            finally:
                again.close()
        return swept

    def _look(self, again: Iterable[Record | Skip], surnames: Surnames, swept: Swept) -> None:
        rows: Iterable[dict[str, Any]] = self._rows()
        if isinstance(again, FolderSource):
            # Other files may lie in the folder.
            known = {row["i"]: row for row in rows}
            ids = [self.token(f"id {name}") for name in again.files]
            rows = [known.get(ident, {}) for ident in ids]
        small: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        small_in: dict[str, set[int]] = defaultdict(set)
        for item, row in zip(again, rows, strict=False):
            if not row or isinstance(item, Skip):
                swept.unread += bool(row)
                continue
            swept.documents += 1
            number, exempt = row["n"], frozenset(row.get("k", ()))
            spans = [(a, b) for a, b in row.get("s", ())]
            # Surrogates of names of this document only: an original of another one makes no leak, but a reader may think so.
            inside = "\n".join(item.text[a:b] for a, b in spans)
            swept.n_alike += bool(Surnames(self.token, surnames.alone).find(inside))
            for hit in surnames.find(item.text, spans=spans, exempt=exempt):
                place = (number, hit.start, hit.end)
                if hit.lower and hit.word in surnames.alone:
                    small_in[hit.word].add(number)
                    if len(small_in[hit.word]) <= _A_LOT:
                        small[hit.word].append(place)
                    else:
                        # It is a word here. Only a count is kept from now on.
                        swept.a_lot = (swept.a_lot[0], swept.a_lot[1] + 1)
                else:
                    swept.n_found += 1
                    if len(swept.found) < _MOST_LISTED:
                        swept.found.append(place)
        for word, places in small.items():
            if len(small_in[word]) > _A_LOT:
                swept.a_lot = (swept.a_lot[0] + 1, swept.a_lot[1] + len(places))
            else:
                swept.n_found += len(places)
                swept.found.extend(places)
        swept.found = sorted(swept.found)[:_MOST_LISTED]

    def _rows(self) -> Iterator[dict[str, Any]]:
        with open(self.rows, encoding="ascii") as file:
            for line in file:
                yield json.loads(line)

    def _refused(self, err: OSError) -> PiiError:
        return PiiError(Errors.E512, what=f"'{self.rows}'", reason=reason_of(err))


def _digest(key: bytes, word: str) -> str:
    return hmac.new(key, b"pii-edu|sweep|" + word.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:16]


CHECKPOINT_SECONDS = 1.0
# A batch ends at this many characters too: a few books in it would fill the memory.
_BATCH_CHARS = 400_000


@dataclass(slots=True)
class Run:
    """One run over an input.

    source (Source), writer (Writer), engine (Engine), report (Report), state (RunState): What it works with.
    batch_size (int): Records that are processed together. strict (bool): Whether the first skip ends the run.
    on_progress (Callable[[int], None]): Called with the position in the input. on_skip (Callable[[Skip], None]): Called with
    each skip. vault (Vault | None): Gets what was replaced. labels (LabelsOut | None): Gets the new texts with labels.
    sweep (SweepLog | None): Remembers which surnames were hidden.
    """

    source: Source
    writer: Writer
    engine: Engine
    report: Report
    state: RunState
    batch_size: int = 16
    strict: bool = False
    on_progress: Callable[[int], None] = lambda position: None
    on_skip: Callable[[Skip], None] = lambda skip: None
    vault: Vault | None = None
    labels: LabelsOut | None = None
    sweep: SweepLog | None = None
    _since: float = 0.0
    _halfway: bool = False
    _asked_to_stop: bool = False

    def go(self, *, resume: bool = False) -> None:
        """Process the input to its end, and put OUTPUT in its place.

        resume (bool): Whether `state` and `report` come from an earlier run.
        RAISES (PiiError): E512, if writing fails; E532, if a record was skipped under `strict`. What was done stays, and can
        be resumed.
        """
        self.writer.start(self.state.offset if resume else None)
        if self.labels is not None:
            self.labels.start(self.state.labels if resume else None)
        if self.sweep is not None:
            self.sweep.start(self.state.sweep if resume else None)
        self._since = time.monotonic()
        if not resume:
            self._checkpoint()
        try:
            last_save = time.monotonic()
            for batch in batches(islice(self.source, self.state.items, None), self.batch_size):
                self._process(batch)
                self.on_progress(self.source.position())
                if self._asked_to_stop:
                    raise KeyboardInterrupt
                if time.monotonic() - last_save >= CHECKPOINT_SECONDS:
                    self._checkpoint()
                    last_save = time.monotonic()
        except BaseException:
            self._leave()
            raise
        self._checkpoint()
        if self.vault is not None:
            self.vault.close()
        if self.labels is not None:
            self.labels.finish()
        self.writer.finish()
        state_path(self.writer.out).unlink(missing_ok=True)
        if self.labels is not None:
            self.labels.clear()

    def stop(self) -> None:
        """Stop after the batch at hand; for a signal's handler."""
        self._asked_to_stop = True

    def _process(self, batch: list[Record | Skip]) -> None:
        records = [item for item in batch if isinstance(item, Record)]
        results = iter(self._into_vault(records, self.engine.results(records)))
        for item in batch:
            result: Result | Skip = item if isinstance(item, Skip) else next(results)
            if isinstance(item, Record) and isinstance(result, Result):
                self._halfway = True  # what is on disk and what is counted differ from here ...
                try:
                    self.writer.write(item, result.text, result.fields)
                    if self.labels is not None:
                        self.labels.write(item.id, result.text, result.labels)
                    if self.sweep is not None:
                        self.sweep.write(item, result)
                except PiiError as err:
                    if not err.code == "E538":
                        raise
                    result = Skip(number=item.number, error=err)
            if isinstance(result, Skip):
                if self.strict:
                    self._halfway = False
                    raise PiiError(Errors.E532, skip=result.error)
                self.report.skip(result)
                self.on_skip(result)
            elif isinstance(item, Record):
                self.report.add(item, result)
            self.state.items += 1
            self._halfway = False  # ... to here

    def _into_vault(self, records: list[Record], results: list[Result | Skip]) -> list[Result | Skip]:
        """RETURNS (list[Result | Skip]): The results; a skip where the vault could not promise that the original comes back."""
        if self.vault is None:
            return results
        out: list[Result | Skip] = []
        for record, result in zip(records, results, strict=True):
            kept = result
            if isinstance(result, Result):
                try:
                    self.vault.append(result.release(record, self.engine.profile.scope), sync=False)
                except PiiError as err:
                    if err.code != "E470":
                        raise
                    kept = Skip(number=record.number, error=PiiError(Errors.E470, document=record.number))
            out.append(kept)
        self.vault.sync()
        return out

    def _checkpoint(self) -> None:
        now = time.monotonic()
        self.report.seconds, self._since = self.report.seconds + now - self._since, now
        self.state.offset = self.writer.sync()
        self.state.labels = self.labels.sync() if self.labels is not None else 0
        self.state.sweep = self.sweep.sync() if self.sweep is not None else 0
        self.state.report = self.report.dump()
        self.state.save(state_path(self.writer.out))

    def _leave(self) -> None:
        """Save what can be saved. Where a record is written and not counted, the state that was saved before holds."""
        if not self._halfway:
            with suppress(PiiError):  # the reason for leaving matters more
                self._checkpoint()
        self.writer.stop()
        if self.labels is not None:
            self.labels.stop()
        if self.sweep is not None:
            self.sweep.stop()
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
