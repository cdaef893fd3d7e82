"""What a reader of the released text would still see, and what was hidden for nothing. Blind to labels.

    table = expose(gold, hidden, documents=["1", "2"], words=[120, 80])
    exposure(table, resample(2)).character_recall

Beside `matching.cover`, which asks of each entity whether it is wholly covered, this counts characters, entities that are touched at
all, and false alarms: what would be hidden and shares no character with any gold entity, nor with a stretch whose gold is not known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy

from .matching import NO_MASKS, Masks, in_clear, touches
from .metrics import Estimate, rate
from .records import Entity

WORDS = 10_000
# Columns of ExposureTable.counts.
ENTITIES, COVERED, TOUCHED, CHARACTERS, HIDDEN, ALARMS, WORDS_OF = range(7)


@dataclass(frozen=True, slots=True, eq=False)
class ExposureTable:
    """Counts per document.

    documents (tuple[str, ...]): Ids of the rows.
    counts (numpy.ndarray): Shape `(n_documents, 7)`: gold entities, those wholly covered, those touched; characters of gold without
    white space, those hidden; false alarms; words.
    """

    documents: tuple[str, ...]
    counts: numpy.ndarray

    def select(self, rows: numpy.ndarray) -> "ExposureTable":
        """RETURNS (ExposureTable): The documents for which `rows`, one boolean per document, is true."""
        return ExposureTable(tuple(d for d, keep in zip(self.documents, rows, strict=True) if keep), self.counts[rows])


@dataclass(frozen=True, slots=True)
class Exposure:
    """Shares with intervals, and the counts behind them.

    characters, characters_in_clear (int): Of gold, white space aside. false_alarms, words (int): In all documents.
    character_recall (Estimate | None): Share of the characters that are hidden.
    label_blind_recall (Estimate | None): Share of the entities that are wholly hidden, under whatever label.
    touched_recall (Estimate | None): Share of the entities of which at least one character is.
    false_alarms_per_10000_words (Estimate | None): In all documents, those with gold too.
    """

    characters: int
    characters_in_clear: int
    false_alarms: int
    words: int
    character_recall: Estimate | None = None
    label_blind_recall: Estimate | None = None
    touched_recall: Estimate | None = None
    false_alarms_per_10000_words: Estimate | None = None


def expose(
    gold: Iterable[Entity],
    hidden: Iterable[Entity],
    *,
    documents: Sequence[str],
    words: Sequence[int],
    known: Iterable[Entity] | None = None,
    masked: Masks = NO_MASKS,
) -> ExposureTable:
    """Count characters, touched entities and false alarms.

    gold (Iterable[Entity]): What must be hidden. hidden (Iterable[Entity]): What the system would hide.
    documents (Sequence[str]): Ids of all documents. words (Sequence[int]): Their lengths in words.
    known (Iterable[Entity] | None): Everything that is no false alarm; `gold` if missing. masked (Masks): Stretches of unknown gold.
    RETURNS (ExposureTable): Counts.
    """
    gold = list(gold)
    row = {document: i for i, document in enumerate(documents)}
    counts = numpy.zeros((len(row), 7), dtype="i8")
    counts[:, WORDS_OF] = words
    covered: dict[str, set[int]] = {}
    told: dict[str, list[tuple[int, int]]] = {document: list(stretches) for document, stretches in masked.items()}
    for entity in gold if known is None else known:
        told.setdefault(entity.document, []).append((entity.start, entity.end))
    for entity in hidden:
        if entity.document in row:
            covered.setdefault(entity.document, set()).update(range(entity.start, entity.end))
            counts[row[entity.document], ALARMS] += not touches(entity, told.get(entity.document, ()))
    for entity in gold:
        if entity.document not in row:
            continue
        clear = in_clear(entity, covered.get(entity.document, set()))
        length = in_clear(entity, set())
        found = counts[row[entity.document]]
        found[[ENTITIES, COVERED, TOUCHED, CHARACTERS, HIDDEN]] += [1, clear == 0, clear < length, length, length - clear]
    return ExposureTable(tuple(documents), counts)


def exposure(table: ExposureTable, weights: numpy.ndarray) -> Exposure:
    """Shares with intervals.

    table (ExposureTable): Counts per document. weights (numpy.ndarray): From `metrics.resample`.
    RETURNS (Exposure): A share is missing where there is nothing to take it of.
    """
    counts = table.counts
    total = counts.sum(axis=0)

    def share(part: int, whole: int, scale: int = 1) -> Estimate | None:
        return rate(counts[:, part] * scale, counts[:, whole], weights)

    return Exposure(
        characters=int(total[CHARACTERS]),
        characters_in_clear=int(total[CHARACTERS] - total[HIDDEN]),
        false_alarms=int(total[ALARMS]),
        words=int(total[WORDS_OF]),
        character_recall=share(HIDDEN, CHARACTERS),
        label_blind_recall=share(COVERED, ENTITIES),
        touched_recall=share(TOUCHED, ENTITIES),
        false_alarms_per_10000_words=share(ALARMS, WORDS_OF, WORDS),
    )
