"""The stored predictions of the JEDM paper, and the true entities, as published (AnonJD/PrivacyAI, MIT): offsets and words, no texts.

    peers = read_peers(Path("peers"))
    peers.gold, peers.predictions["finetuned"], peers.documents     # entities, entities, ids of the 13,613 test documents

The split is the paper's (`corpus.splits.paper_split`). Predictions may lie off by some characters against the text they were made on;
nothing here needs the text.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..corpus.formats.entities import read_entities
from ..corpus.records import Skip, open_binary, open_text
from ..corpus.splits import CRAPII_DOCUMENTS, paper_split
from ..errors import Errors, PiiError
from .baselines_stored import label_of
from .paper import CHAT_SYSTEMS, SYSTEMS
from .records import Entity

GOLD_FILE = "true_entities.csv"


@dataclass(frozen=True, slots=True)
class Peers:
    """What the folder holds.

    documents (tuple[str, ...]): Ids of the test part. parts (dict[str, frozenset[str]]): Ids of every part.
    all_gold (tuple[Entity, ...]): True entities of all documents. gold (tuple[Entity, ...]): Those of the test part.
    predictions (dict[str, tuple[Entity, ...]]): By system, see `paper.SYSTEMS`.
    chat_rows (dict[str, int]): Rows of the predictions on TSCC, by system; empty where the files are not there.
    """

    documents: tuple[str, ...]
    parts: dict[str, frozenset[str]] = field(repr=False)
    all_gold: tuple[Entity, ...] = field(repr=False)
    gold: tuple[Entity, ...] = field(repr=False)
    predictions: dict[str, tuple[Entity, ...]] = field(repr=False)
    chat_rows: dict[str, int]


def read_peers(folder: Path) -> Peers:
    """Read the folder.

    folder (Path): With true_entities.csv and the seven files of predictions; those on TSCC may be missing.
    RETURNS (Peers): Ready to be counted.
    RAISES (PiiError): E730 for missing files, E731 for a row that cannot be used, E732 for predictions of other documents.
    """
    files = [GOLD_FILE, *(file for file, _ in SYSTEMS.values())]
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise PiiError(Errors.E730, missing=", ".join(missing))
    parts = {name: frozenset(map(str, numbers)) for name, numbers in paper_split(CRAPII_DOCUMENTS).items()}
    test = parts["test"]
    all_gold = tuple(read_rows(folder / GOLD_FILE))
    predictions = {}
    for name, (file, _) in SYSTEMS.items():
        found = tuple(read_rows(folder / file))
        outside = {entity.document for entity in found} - test
        if outside:
            raise PiiError(Errors.E732, file=file, n=len(outside))
        predictions[name] = found
    chats = {name: folder / f"{name}.csv" for name in CHAT_SYSTEMS}
    return Peers(
        documents=tuple(sorted(test, key=int)),
        parts=parts,
        all_gold=all_gold,
        gold=tuple(entity for entity in all_gold if entity.document in test),
        predictions=predictions,
        chat_rows={name: count_rows(path) for name, path in chats.items() if path.is_file()},
    )


def read_rows(path: Path) -> Iterable[Entity]:
    """YIELDS (Entity): Each row, with our label for its type. RAISES (PiiError): E731, E750, and what opening may raise."""
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise PiiError(Errors.E731, number=row.number, file=path.name, reason=row.code)
        # Where words and offsets differ in length, the words are what the system gave: only they are compared by text.
        end = row.end if row.end > row.start else row.start + len(row.words)
        yield Entity(row.document, row.start, end, label_of(row, path.name), row.words)


def count_rows(path: Path) -> int:
    """RETURNS (int): Rows of a file without types (TSCC: names only), the head aside. RAISES (PiiError): E501."""
    with open_binary(path) as raw, open_text(raw, encoding="utf-8", bom=b"") as stream:
        return max(sum(1 for row in csv.reader(stream) if row) - 1, 0)


def split_counts(peers: Peers) -> dict[str, dict[str, int]]:
    """RETURNS (dict[str, dict[str, int]]): Table 6: true entities by label and part; "total" sums over labels."""
    counts: Counter[tuple[str, str]] = Counter()
    part_of = {document: name for name, documents in peers.parts.items() for document in documents}
    for entity in peers.all_gold:
        for label in (entity.label, "total"):
            counts[label, "all"] += 1
            counts[label, part_of.get(entity.document, "elsewhere")] += 1
    labels = dict.fromkeys(label for label, _ in counts)
    return {label: {part: counts[label, part] for part in ("all", *peers.parts)} for label in labels}
