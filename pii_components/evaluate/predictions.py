"""Predictions in files: a slow system runs once, and a published one can be compared.

    write_run(run, Path("runs/ours.jsonl"), data_sha256=file_sha256(gold_file))
    run = read_predictions(Path("runs/ours.jsonl"), documents, name="ours", protects=protects)

Files hold offsets and labels, no texts. Three forms are read: what `write_run` and
`pii-edu detect --out` write, the CSV in which the JEDM paper's predictions were published, and any
labelled corpus in the order of the gold.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from ..files.formats.base import ReadStats, show_label
from ..files.formats.spans import EntityRow, place, read_entities
from ..files.labelled import form_of
from ..files.record import Skip
from ..files.writers import writing
from ..labels import EMAIL, ID_NUM, LABELS, NAME_STUDENT, PHONE_NUM, URL_PERSONAL
from .gold import Entity, GoldDocument, Protects, Run, protected_labels, read_gold

# What the JEDM paper asked Presidio for and how it mapped it (repository AnonJD/PrivacyAI,
# presidio_inference.py and evaluate_crapii.ipynb): these four and no score threshold.
PRESIDIO_FOUR = {
    "PERSON": NAME_STUDENT,
    "EMAIL_ADDRESS": EMAIL,
    "URL": URL_PERSONAL,
    "PHONE_NUMBER": PHONE_NUM,
}
# The same and every recognizer for numbers that a person is known by. CRAPII has no label for
# LOCATION, NRP, DATE_TIME, ORGANIZATION, IP_ADDRESS, MAC_ADDRESS, CRYPTO.
_NUMBERS = "US_SSN US_ITIN US_PASSPORT US_DRIVER_LICENSE US_BANK_NUMBER UK_NHS CREDIT_CARD IBAN_CODE MEDICAL_LICENSE"
PRESIDIO_WIDE = PRESIDIO_FOUR | dict.fromkeys(_NUMBERS.split(), ID_NUM)
# The types that the JEDM paper took from Azure, as Presidio's recognizer writes them.
AZURE_FOUR = {"PERSON": NAME_STUDENT, "EMAIL": EMAIL, "URL": URL_PERSONAL, "PHONENUMBER": PHONE_NUM}
# Labels of ours, and the types of the published predictions, in upper case.
TYPES: dict[str, str] = {label: label for label in LABELS} | PRESIDIO_WIDE | AZURE_FOUR
# What ties a file of `write_run` to the gold that it was made on.
CHECKSUM = "data_sha256"
FIELDS = ("document", "start_char", "end_char", "label")


def write_run(run: Run, path: Path, *, data_sha256: str) -> None:
    """Write a line about the run, and one per entity, as `pii-edu detect --out`; folders are made.

    data_sha256 (str): Checksum of the gold file.
    RAISES (PiiError): E512.
    """
    times = {"seconds": run.seconds, "cpu_seconds": run.cpu_seconds, "words": run.words}
    rows = [{"system": run.name, "about": dict(run.about), CHECKSUM: data_sha256} | times]
    for e in run.entities:
        rows.append(dict(zip(FIELDS, (e.document, e.start, e.end, e.label), strict=True)))
    with writing(path.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")


def read_predictions(
    path: Path,
    documents: Sequence[GoldDocument],
    *,
    name: str,
    protects: Protects,
    data_sha256: str = "",
) -> Run:
    """Read predictions of any system; those of other documents are left out.

    documents (Sequence[GoldDocument]): Gold.
    data_sha256 (str): Checksum of the gold file; predictions that were saved for another one are
        refused. Not checked if empty.
    RETURNS (Run): With `stored` set. Predictions that overlap count each by itself.
    RAISES (PiiError): E501, E701, E002, E705, E729.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    by_id = {doc.id: doc for doc in documents}
    head = _first_line(path)
    if head.get(CHECKSUM, data_sha256) != data_sha256 and data_sha256:
        raise PiiError(Errors.E705, file=path.name, reason="another checksum")
    # An empty file of `detect`: nothing was found anywhere.
    if CHECKSUM in head or "start_char" in head or not path.stat().st_size:
        found = list(_detected(path, by_id))
    elif form_of(path) == "entities":
        found = list(_published(path, by_id))
    else:
        found = list(_corpus(path, by_id))
    check_labels((entity.label for entity in found), what=path.name)
    known = tuple(entity for entity in found if entity.document in by_id)
    if found and not known:
        raise PiiError(Errors.E705, file=path.name, reason="it has no document of the gold")
    for entity in known:
        length = len(by_id[entity.document].text)
        if entity.end > length:
            where = {"document": show_id(entity.document), "start": entity.start}
            reason = f"the text has {length} characters"
            raise PiiError(Errors.E701, **where, end=entity.end, reason=reason)
    times = {key: head.get(key, 0) for key in ("seconds", "cpu_seconds", "words")}
    about = head.get("about", {"file": path.name})
    return Run(name, about, known, protected_labels(known, protects), **times, stored=True)


def _first_line(path: Path) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): The first record of a JSON Lines file; empty for any other file."""
    if path.suffix.lower() not in (".jsonl", ".ndjson") or not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return first if isinstance(first, dict) else {}


def _detected(path: Path, documents: Mapping[str, GoldDocument]) -> Iterator[Entity]:
    """YIELDS (Entity): Each row of `pii-edu detect --out`: document, start_char, end_char, label."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if number == 1 and CHECKSUM in row:
                continue
            ident, start, end, label = (row[name] for name in FIELDS)
            if not (type(start) is type(end) is int and 0 <= start < end and str(label) == label):
                raise TypeError
        except (ValueError, KeyError, TypeError) as err:
            reason = f"it needs {', '.join(FIELDS)}"
            raise PiiError(Errors.E729, number=number, file=path.name, reason=reason) from err
        # Documents without an id of their own go by their place in the file, in both.
        doc = documents.get(f"#{row.get('record')}") or documents.get(str(ident))
        yield doc.entity(start, end, label) if doc else Entity(str(ident), start, end, label)


def _published(path: Path, documents: Mapping[str, GoldDocument]) -> Iterator[Entity]:
    """YIELDS (Entity): Of the CSV in which the JEDM paper's predictions were published."""
    rows: dict[str, list[EntityRow]] = defaultdict(list)
    for row in read_entities(path):
        if isinstance(row, Skip):
            raise row.error
        label = TYPES.get(row.label.upper(), row.label)
        rows[row.document].append(replace(row, label=label))
    for ident, found in rows.items():
        yield from located(documents.get(ident, GoldDocument(ident, "")), found)


def located(document: GoldDocument, rows: Sequence[EntityRow]) -> list[Entity]:
    """RETURNS (list[Entity]): Predictions where their words stand, sorted.

    Words that are nowhere in the text stay where their row has them, since they are false alarms.

    rows (Sequence[EntityRow]): Those of the document; equal ones count once.
    """
    found = []
    for row in {(row.start, row.end, row.label, row.words): row for row in rows}.values():
        # One at a time: systems may predict the same stretch as two types, which gold may not.
        spans, _ = place(document.text, [row], number=row.number, tally=ReadStats())
        start = max(row.start, 0)
        start, end = spans[0][:2] if spans else (start, start + len(row.words))
        found.append(Entity(document.id, start, end, row.label, row.words))
    return sorted(found, key=lambda entity: (entity.start, entity.end, entity.label))


def _corpus(path: Path, documents: Mapping[str, GoldDocument]) -> Iterator[Entity]:
    """YIELDS (Entity): Of a labelled corpus, whose texts must be those of the gold."""
    for doc in read_gold(path):
        if doc.id in documents and doc.text != documents[doc.id].text:
            reason = f"the text of document {show_id(doc.id)} is another one"
            raise PiiError(Errors.E705, file=path.name, reason=reason)
        yield from doc.entities


def check_labels(labels: Iterable[str], *, what: str) -> None:
    """RAISES (PiiError): E002, for the first label that is not ours. what (str): Where it stands."""
    for label in sorted(set(labels) - set(LABELS)):
        shown = f"{show_label(label)} of {what}"
        raise PiiError(Errors.E002, label=shown, allowed=", ".join(LABELS))


def show_id(ident: str) -> str:
    """RETURNS (str): An id for a message, if it is short and plain; anything may stand in its column."""
    plain = ident.lstrip("#").isalnum() and len(ident) <= 12
    return ident if plain and any(char.isdigit() for char in ident) else "(not shown)"
