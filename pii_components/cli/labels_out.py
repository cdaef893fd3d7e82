"""`--labels-out`: the released corpus with its labels, in a form that can be trained on.

Rows grow in `<LABELS>.rows.jsonl` in step with OUTPUT, so that a run can be broken off; they hold released text and nothing else.
At the end they are written in the form that was asked for (`corpus.labelled`), and go.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..corpus.formats.record import GoldSpan, Tally
from ..corpus.labelled import open_corpus_writer, read_corpus, write_corpus
from ..corpus.records import Skip, reason_of
from ..errors import Errors, PiiError


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
