"""The loop of `pii-edu deidentify`: read, process, write, and remember how far it came.

    run = Run(source, writer, engine, Report(), RunState(settings, key))
    run.go()

Every second or so the partial file is made safe and the state beside it says how much of it counts. A run that is taken up
cuts the partial file off there, passes over the records that are done, and ends with the very file that one run would have
written. A vault gets the documents of a batch, and they are on the disk, before any of them reaches the output; those that are
there already are not added again when a run is taken up.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from ..corpus.records import Record, Skip, Source
from ..corpus.writers import Writer
from ..errors import Errors, PiiError
from ..vault import Vault
from .engine import Engine, Result
from .labels_out import LabelsOut
from .report import Report
from .state import RunState, state_path
from .sweep_log import SweepLog

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
