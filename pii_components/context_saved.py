"""How `pii_context` is saved: its settings, the trained classifier and the reader, none of which holds a word of a text."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import srsly
from spacy import util

from .context_model import PersonModel
from .context_reader import PersonReader


class Saved:
    """Serialization of a component with `cfg`, `classifier` and `reader`.

    cfg (dict[str, Any]): Settings. classifier (PersonModel | None), reader (PersonReader | None): What was trained, if anything.
    """

    cfg: dict[str, Any]
    classifier: PersonModel | None
    reader: PersonReader | None

    def _load(self) -> None:
        """Make what follows from `cfg`."""
        raise NotImplementedError

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """RETURNS (bytes): The component. exclude (Iterable[str]): Names of fields to leave out: "cfg", "classifier", "reader"."""
        return util.to_bytes(
            {"cfg": lambda: srsly.json_dumps(self.cfg), "classifier": self._classifier_bytes, "reader": self._reader_bytes},
            exclude,
        )

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load from bytes.

        bytes_data (bytes): What `to_bytes` returned. exclude (Iterable[str]): Names of fields to leave out.
        RETURNS (PiiContext): This component. RAISES (PiiError): E304 for a classifier of another version.
        """
        read = {
            "cfg": lambda b: self.cfg.update(srsly.json_loads(b)),
            "classifier": self._read_classifier,
            "reader": self._read_reader,
        }
        util.from_bytes(bytes_data, read, exclude)
        self._load()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save. path (str | Path): A folder. exclude (Iterable[str]): Names of fields to leave out: "cfg", "classifier", "reader"."""
        write = {
            "cfg": lambda p: srsly.write_json(p, self.cfg),
            "classifier": lambda p: p.write_bytes(self._classifier_bytes()),
            "reader": lambda p: p.write_bytes(self._reader_bytes()),
        }
        util.to_disk(path, write, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load from a folder.

        path (str | Path): As saved by `to_disk`. exclude (Iterable[str]): Names of fields to leave out.
        RETURNS (PiiContext): This component. RAISES (PiiError): E304 for a classifier of another version.
        """
        read = {
            "cfg": lambda p: self.cfg.update(srsly.read_json(p)),
            "classifier": lambda p: self._read_classifier(p.read_bytes() if p.is_file() else b""),
            "reader": lambda p: self._read_reader(p.read_bytes() if p.is_file() else b""),
        }
        util.from_disk(path, read, exclude)
        self._load()
        return self

    def _classifier_bytes(self) -> bytes:
        return b"" if self.classifier is None else self.classifier.to_bytes()

    def _read_classifier(self, data: bytes) -> None:
        self.classifier = PersonModel.from_bytes(data) if data else None

    def _reader_bytes(self) -> bytes:
        return b"" if self.reader is None else self.reader.to_bytes()

    def _read_reader(self, data: bytes) -> None:
        self.reader = PersonReader.from_bytes(data) if data else None
