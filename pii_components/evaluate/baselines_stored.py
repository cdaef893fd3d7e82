"""Stored predictions as a system: what `write_run` wrote, or the CSV form in which the JEDM paper's were published.

    system = StoredSystem(Path("3_azure.csv"), name="azure-2024")
    run = run_system(system, documents)         # run.stored is set: nothing is timed

Predictions of documents that are not compared are left out. The CSV does not say which documents the system saw: compare on those only
(`--splits test` for the paper's), or the others count as missed. Where an offset of the CSV does not point at the words of its row, the
same words close by are taken, as for gold; a row whose words are nowhere stays where it was put, with its own words, and counts as
a false alarm.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..corpus.formats.entities import EntityRow, place, read_entities
from ..corpus.formats.record import Tally
from ..corpus.records import Skip, reason_of
from ..errors import Errors, PiiError
from ..labels import LABELS
from .azure import AZURE_FOUR
from .records import Entity, GoldDocument
from .stored import read_run
from .systems import PRESIDIO_WIDE, Run

SUFFIXES = (".jsonl", ".csv")
# Labels of ours, and the types of the published predictions; Azure's are compared in upper case, as Presidio gives them.
TYPES: dict[str, str] = {label: label for label in LABELS} | PRESIDIO_WIDE | AZURE_FOUR


@dataclass(slots=True)
class StoredSystem:
    """A system that ran elsewhere.

    path (Path): One of `SUFFIXES`. name (str): In tables. data_sha256 (str): Checksum of the gold file; empty if not known.
    RAISES (PiiError): E745, E501.
    """

    path: Path
    name: str
    data_sha256: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in SUFFIXES:
            raise PiiError(Errors.E745, got=self.path.name)
        if not self.path.is_file():
            raise PiiError(Errors.E501, what=self.path.name, reason="no such file")

    def protects(self, label: str) -> bool:
        return True

    def find(self, documents: Sequence[GoldDocument]) -> Iterator[list[Entity]]:
        found: dict[str, list[Entity]] = defaultdict(list)
        for entity in self.run(documents).entities:
            found[entity.document].append(entity)
        yield from (found[doc.id] for doc in documents)

    def run(self, documents: Sequence[GoldDocument]) -> Run:
        """Read the file.

        documents (Sequence[GoldDocument]): Gold, for the texts.
        RETURNS (Run): With `stored` set. RAISES (PiiError): E501, E625, E705, E750, E751.
        """
        if self.path.suffix.lower() == ".csv":
            return self._from_csv(documents)
        return read_run(self.path, documents, data_sha256=self.data_sha256 or stored_sha256(self.path), name=self.name)

    def _from_csv(self, documents: Sequence[GoldDocument]) -> Run:
        rows: dict[str, list[EntityRow]] = defaultdict(list)
        skipped: list[Skip] = []
        for row in read_entities(self.path):
            if isinstance(row, Skip):
                skipped.append(row)
            else:
                rows[row.document].append(replace(row, label=label_of(row, self.path.name)))
        if skipped:
            raise PiiError(Errors.E751, file=self.path.name, n=len(skipped), first=skipped[0].error)
        if rows and not any(doc.id in rows for doc in documents):
            raise PiiError(Errors.E705, file=self.path.name, reason="no document in common")
        entities = [entity for doc in documents for entity in located(doc, rows.get(doc.id, []))]
        labels = frozenset(entity.label for entity in entities)
        # No words: how long it took is not in the file, so that no speed can be shown.
        return Run(self.name, {"file": self.path.name}, tuple(entities), labels, 0.0, 0.0, words=0, stored=True)


def label_of(row: EntityRow, file: str) -> str:
    """RETURNS (str): Our label for the type of a row. RAISES (PiiError): E750, if there is none."""
    label = TYPES.get(row.label) or TYPES.get(row.label.upper())
    if label is None:
        raise PiiError(Errors.E750, number=row.number, file=file, label=row.label, allowed=", ".join(TYPES))
    return label


def located(document: GoldDocument, rows: Sequence[EntityRow]) -> list[Entity]:
    """Predictions at the place where their words stand.

    document (GoldDocument): With its text. rows (Sequence[EntityRow]): Its predictions, with labels of ours.
    RETURNS (list[Entity]): Sorted; as many as different rows, also where the words are not in the text.
    """
    found: list[Entity] = []
    for row in {(row.start, row.end, row.label, row.words): row for row in rows}.values():
        # One at a time: systems may predict the same stretch as two types, which gold may not.
        spans, _ = place(document.text, [row], number=row.number, tally=Tally())
        start, end = spans[0][:2] if spans else (max(row.start, 0), max(row.start, 0) + len(row.words))
        found.append(Entity(document.id, start, end, row.label, row.words))
    return sorted(found, key=lambda entity: (entity.start, entity.end, entity.label))


def stored_sha256(path: Path) -> str:
    """RETURNS (str): The checksum that stored predictions name. RAISES (PiiError): E501, E705."""
    try:
        with path.open(encoding="utf8") as file:
            return str(json.loads(file.readline())["data_sha256"])
    except OSError as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    except (KeyError, TypeError, ValueError) as err:
        raise PiiError(Errors.E705, file=path.name, reason="not of this form") from err
