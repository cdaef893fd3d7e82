"""Predictions of any system in a file, checked against the gold that they are measured on.

    run = read_predictions(Path("found.jsonl"), documents, name="ours", protects=profile.protects)

Read are: what `pii-edu detect --out` writes, what `--save-predictions` wrote, the CSV of the JEDM paper (file_idx, entity_text, type,
positions), and every form of labelled corpora. The first three name only documents in which something was found; a corpus must hold the
same documents as the gold, with the same texts. Everything that does not fit is an error: half of it would be a number for
something else.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from ..corpus.formats.entities import EntityRow, read_entities
from ..corpus.formats.record import OVERLAP, Tally, show_label
from ..corpus.labelled import guess_form
from ..corpus.records import Skip, reason_of
from ..errors import Errors, PiiError
from ..labels import LABELS
from .baselines_stored import TYPES, located
from .gold import file_sha256, read_gold
from .records import Entity, GoldDocument
from .stored import once, read_run
from .systems import Run, entity_of

Labels = Mapping[str, str]


def read_predictions(
    path: Path,
    documents: Sequence[GoldDocument],
    *,
    name: str,
    protects: Callable[[str], bool],
    gold_file: Path | None = None,
    rename: Labels | None = None,
    allow_overlaps: bool = False,
) -> Run:
    """Read and check predictions.

    path (Path): The file. documents (Sequence[GoldDocument]): Gold. name (str): In tables.
    protects (Callable[[str], bool]): Whether a label is hidden. gold_file (Path | None): For the checksum of saved predictions.
    rename (Labels | None): Labels of the file -> ours. allow_overlaps (bool): Whether overlapping predictions count, each by itself.
    RETURNS (Run): With `stored` set. RAISES (PiiError): E501, E705, E720 to E729.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    names = dict(rename or {})
    by_id = {doc.id: doc for doc in documents}
    kind = kind_of(path)
    if kind == "saved":
        found = list(read_run(path, documents, data_sha256=file_sha256(gold_file) if gold_file else "", name=name).entities)
    elif kind == "detect":
        found = list(_detected(path, by_id))
    elif kind == "entities":
        found = list(_entities(path, by_id, names))
    else:
        found = _corpus(path, documents)
    found = [_renamed(entity, names, path.name) for entity in found]
    check_spans(found, by_id, allow_overlaps=allow_overlaps)
    protected = frozenset(entity.label for entity in found if protects(entity.label))
    return Run(name, {"file": path.name}, tuple(found), protected, 0.0, 0.0, words=0, stored=True)


def kind_of(path: Path) -> str:
    """RETURNS (str): "saved", "detect", "entities", or the name of a form of corpora. RAISES (PiiError): E501, E621."""
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        try:
            with path.open(encoding="utf-8-sig") as file:
                first = json.loads(file.readline() or "{}")
        except OSError as err:
            raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
        except ValueError:
            first = None
        if isinstance(first, dict):
            if "data_sha256" in first:
                return "saved"
            # Nothing was found anywhere: an empty file of detect.
            if "start_char" in first or not first:
                return "detect"
    return guess_form(path)


def check_spans(found: Iterable[Entity], documents: Mapping[str, GoldDocument], *, allow_overlaps: bool = False) -> None:
    """Check predictions against the documents.

    found (Iterable[Entity]): Predictions. documents (Mapping[str, GoldDocument]): Gold by id.
    RAISES (PiiError): E720 for other documents, E722 outside of the text, E726 twice the same, E723 overlapping.
    """
    by_document: dict[str, list[Entity]] = defaultdict(list)
    for entity in found:
        by_document[entity.document].append(entity)
    unknown = [ident for ident in by_document if ident not in documents]
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(unknown[0]))
    for ident, entities in by_document.items():
        entities.sort(key=lambda e: (e.start, e.end, e.label))
        length = len(documents[ident].text)
        for entity in entities:
            if entity.end > length:
                raise PiiError(Errors.E722, document=ident, start=entity.start, end=entity.end, length=length)
        widest = None
        for one, two in pairwise(entities):
            if (one.start, one.end, one.label) == (two.start, two.end, two.label):
                raise PiiError(Errors.E726, document=ident, start=one.start, end=one.end)
            widest = one if widest is None or one.end > widest.end else widest
            if two.start < widest.end and not allow_overlaps:
                raise PiiError(Errors.E723, document=ident, start=widest.start, end=widest.end, start2=two.start, end2=two.end)


def show_id(ident: str) -> str:
    """RETURNS (str): An id for a message: as it is if short and plain, since anything may stand in a column of ids."""
    return ident if ident.lstrip("#").isalnum() and len(ident) <= 12 and any(c.isdigit() for c in ident) else "(not shown)"


def parse_renames(texts: Iterable[str]) -> dict[str, str]:
    """RETURNS (dict[str, str]): OLD=NEW as a dictionary. RAISES (PiiError): E737."""
    out = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not (equals and old and new in LABELS):
            raise PiiError(Errors.E737, got=text, allowed=", ".join(LABELS))
        out[old] = new
    return out


def check_labels(labels: Iterable[str], *, what: str) -> None:
    """RAISES (PiiError): E724, for the first label that is not ours. what (str): Where it stands."""
    for label in sorted(set(labels)):
        if label not in LABELS:
            raise PiiError(Errors.E724, label=show_label(label), what=what, allowed=", ".join(LABELS))


def _renamed(entity: Entity, names: Labels, file: str) -> Entity:
    label = names.get(entity.label, entity.label)
    check_labels([label], what=file)
    return entity if label == entity.label else Entity(entity.document, entity.start, entity.end, label, entity.text)


def _detected(path: Path, documents: Mapping[str, GoldDocument]) -> Iterator[Entity]:
    """Rows of `pii-edu detect --out`: document, start_char, end_char, label, one per span."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    unknown: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line, object_pairs_hook=once)
            ident, start, end, label = str(row["document"]), row["start_char"], row["end_char"], row["label"]
        except (ValueError, KeyError, TypeError) as err:
            raise PiiError(Errors.E729, number=number) from err
        if not (type(start) is int and type(end) is int and isinstance(label, str)):
            raise PiiError(Errors.E729, number=number)
        # Documents without an id of their own go by their place in the file, in both.
        doc = documents.get(f"#{row.get('record')}") or documents.get(ident)
        if doc is None:
            unknown[ident] = None
        elif not 0 <= start < end <= len(doc.text):
            raise PiiError(Errors.E722, document=doc.id, start=start, end=end, length=len(doc.text))
        else:
            yield entity_of(doc, start, end, label)
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(next(iter(unknown))))


def _entities(path: Path, documents: Mapping[str, GoldDocument], names: Labels) -> Iterator[Entity]:
    rows: dict[str, list[EntityRow]] = defaultdict(list)
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise row.error
        label = names.get(row.label) or TYPES.get(row.label) or TYPES.get(row.label.upper()) or row.label
        rows[row.document].append(EntityRow(row.number, row.document, row.start, row.end, label, row.words))
    unknown = [ident for ident in rows if ident not in documents]
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(unknown[0]))
    for ident, found in rows.items():
        yield from located(documents[ident], found)


def _corpus(path: Path, documents: Sequence[GoldDocument]) -> list[Entity]:
    tally = Tally()
    given = {doc.id: doc for doc in read_gold(path, tally=tally)}
    known = {doc.id: doc for doc in documents}
    unknown, missing = [i for i in given if i not in known], [i for i in known if i not in given]
    if unknown:
        raise PiiError(Errors.E720, n=len(unknown), document=show_id(unknown[0]))
    if missing:
        raise PiiError(Errors.E721, n=len(missing), document=show_id(missing[0]))
    for ident, doc in given.items():
        text = known[ident].text
        if doc.text != text:
            start = next(
                (i for i, (a, b) in enumerate(zip(doc.text, text, strict=False)) if a != b), min(len(doc.text), len(text))
            )
            raise PiiError(Errors.E728, document=show_id(ident), start=start)
    if tally.masked:
        first = tally.masked[0]
        ident = list(given)[first.number - 1] if first.number <= len(given) else "?"
        if first.reason == OVERLAP:
            other = next((m for m in tally.masked[1:] if m.number == first.number), first)
            raise PiiError(
                Errors.E723, document=show_id(ident), start=first.start, end=first.end, start2=other.start, end2=other.end
            )
        length = len(known[ident].text) if ident in known else 0
        raise PiiError(Errors.E722, document=show_id(ident), start=first.start, end=first.end, length=length)
    return [entity for doc in given.values() for entity in doc.entities]
