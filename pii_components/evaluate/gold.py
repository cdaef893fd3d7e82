"""What is compared: an entity, a document with its gold, and what a system found in all documents.

    >>> Entity("7", 0, 9, "NAME_STUDENT", "Ana Lopez")
    Entity(document='7', start=0, end=9, label='NAME_STUDENT', role='')

Texts are needed to compare by text; they stay in memory and out of `repr`, messages and files.

Predictions are saved, so that a slow system runs once and a published one can be compared:

    write_run(run, Path("runs/ours.jsonl"), data_sha256=file_sha256(gold_file))
    run = read_predictions(Path("runs/ours.jsonl"), documents, name="ours", protects=protects)

Three forms are read: what `write_run` and `pii-edu detect --out` write, the CSV in which the JEDM paper's
predictions were published, and any labelled corpus in the order of the gold.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import spacy

from ..corpus.split import check_ids
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats, show_label
from ..files.formats.spans import EntityRow, place, read_entities
from ..files.formats.tokens import kaggle_labelled
from ..files.labelled import form_of, read_corpus
from ..files.record import Skip, open_binary
from ..files.sources import files_below
from ..files.tables import open_json
from ..files.writers import writing
from ..labels import (
    EMAIL,
    ID_NUM,
    LABELS,
    NAME_STUDENT,
    PHONE_NUM,
    STREET_ADDRESS,
    URL_PERSONAL,
    USERNAME,
    check_label,
)

Offsets = tuple[tuple[int, int], ...]  # first character and end (exclusive) of each
Protects = Callable[[str], bool]  # of a profile: whether it hides a label

# What CRAPII's gold holds. A system's NAME_CITED or NAME_INSTRUCTOR is no prediction of NAME_STUDENT.
CRAPII_LABELS: tuple[str, ...] = (
    NAME_STUDENT,
    EMAIL,
    USERNAME,
    ID_NUM,
    PHONE_NUM,
    URL_PERSONAL,
    STREET_ADDRESS,
)
# The four types of the JEDM paper (Table 7); its gold has no others.
FOUR_LABELS: tuple[str, ...] = (NAME_STUDENT, EMAIL, PHONE_NUM, URL_PERSONAL)
UNKNOWN_SPLIT = "unknown"
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


@dataclass(frozen=True, slots=True)
class Entity:
    """A piece of personal information, as annotated or as predicted, in characters, end exclusive.

    label (str): One of `labels.LABELS`, or a system's own.
    text (str): The characters; empty where they are not known.
    role (str): The likeliest role of a name; empty where nothing but its label says one.
    """

    document: str
    start: int
    end: int
    label: str
    text: str = field(default="", repr=False)
    role: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise PiiError(
                Errors.E701,
                start=self.start,
                end=self.end,
                document=self.document,
                reason="it is empty, turned round or before the text",
            )


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """A text with what annotators found in it.

    id (str): Unique in the file.
    entities (tuple[Entity, ...]): Sorted by position.
    tokens (Offsets): Those that the gold file gives.
    split (str): Its part of the data set: `test`, `base_train`, `verifier_train`, `unknown`.
    masked (Offsets): Stretches whose gold is not known: what is found there is neither right nor
        wrong.
    """

    id: str
    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()
    tokens: Offsets = field(default=(), repr=False)
    split: str = UNKNOWN_SPLIT
    masked: Offsets = ()

    @property
    def n_words(self) -> int:
        """Words between white space: the same for every system, whatever its tokenizer."""
        return len(self.text.split())

    def entity(self, start: int, end: int, label: str, role: str = "") -> Entity:
        """A prediction in this document, with its text."""
        return Entity(self.id, start, end, label, self.text[start:end], role)


@dataclass(frozen=True, slots=True)
class Run:
    """What a system found in all documents, and how long it took without loading.

    about (Mapping[str, Any]): Versions and settings, for the report.
    protected (frozenset[str]): Labels among the entities that would be hidden.
    cpu_seconds (float): Time of processors, on which other programs have less influence.
    words (int): In all documents; 0 where no speed can be shown.
    stored (bool): Read from a file, timed elsewhere.
    """

    name: str
    about: Mapping[str, Any]
    entities: tuple[Entity, ...]
    protected: frozenset[str]
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    words: int = 0
    stored: bool = False

    @property
    def hidden(self) -> list[Entity]:
        """Entities that would be hidden."""
        return [entity for entity in self.entities if entity.label in self.protected]


def protected_labels(entities: Iterable[Entity], protects: Protects) -> frozenset[str]:
    """RETURNS (frozenset[str]): The labels of entities that a profile hides."""
    return frozenset(filter(protects, {entity.label for entity in entities}))


def read_gold(
    path: Path, *, form: str = "", text_source: Path | None = None, tally: ReadStats | None = None
) -> list[GoldDocument]:
    """Read a labelled corpus, a file or a folder, in its order.

    A record's `seed_split` becomes its split. CRAPII's form brings its own tokens, and a document
    without a number gets `#` and its place in the file as id. For other forms spaCy's English
    tokenizer makes the tokens: CRAPII's were made with it.

    form (str): Name of a form in `files.labelled.FORMS`; empty to guess.
    text_source (Path | None): As in `read_corpus`.
    tally (ReadStats | None): Gets what is masked, since it cannot be used.
    RAISES (PiiError): E552 for an empty file, E627 for two equal ids, E5xx and E6xx for a corpus
        that cannot be read.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    tally = tally if tally is not None else ReadStats()
    form = form or form_of(path)
    if form.startswith("kaggle"):
        documents = list(_read_kaggle(path, tally))
    else:
        documents = list(_read_other(path, form, text_source, tally))
    if not documents:
        raise PiiError(Errors.E552, what=f"'{path.name}'", reason="no document")
    check_ids([doc.id for doc in documents])
    return documents


def _document(ident: str, essay: LabelledText, tokens: Offsets) -> GoldDocument:
    entities = tuple(
        Entity(ident, start, end, label, essay.text[start:end]) for start, end, label in essay.spans
    )
    split = str(essay.meta.get("seed_split") or UNKNOWN_SPLIT)
    return GoldDocument(ident, essay.text, entities, tokens, split, essay.masked)


def _read_kaggle(path: Path, tally: ReadStats) -> Iterator[GoldDocument]:
    for item in open_json(path, text_field="tokens").objects():
        if isinstance(item, Skip):
            raise item.error
        number, _, values = item
        essay = kaggle_labelled(number, values, tally)
        tokens, at = [], 0
        for token, space in zip(values["tokens"], values["trailing_whitespace"], strict=True):
            tokens.append((at, at + len(token)))
            at += len(token) + bool(space)
        ident = f"#{number}" if values.get("document") is None else essay.id
        yield _document(ident, essay, tuple(tokens))


def _read_other(
    path: Path, form: str, text_source: Path | None, tally: ReadStats
) -> Iterator[GoldDocument]:
    tokenizer = spacy.blank("en").tokenizer
    for essay in read_corpus(path, form, tally=tally, text_source=text_source):
        tokens = tuple((token.idx, token.idx + len(token)) for token in tokenizer(essay.text))
        yield _document(essay.id, essay, tokens)


def choose_splits(documents: Sequence[GoldDocument], splits: Sequence[str]) -> list[GoldDocument]:
    """RETURNS (list[GoldDocument]): Those of some parts of the data set, all if none is named.

    RAISES (PiiError): E519, if a part holds none.
    """
    allowed = sorted({doc.split for doc in documents})
    for split in splits:
        if split not in allowed:
            what = "split of the gold file"
            raise PiiError(Errors.E519, value=split, what=what, allowed=", ".join(allowed))
    return [doc for doc in documents if not splits or doc.split in splits]


def masks(documents: Iterable[GoldDocument]) -> dict[str, Offsets]:
    """RETURNS (dict[str, Offsets]): Masked stretches of the documents that have some."""
    return {doc.id: doc.masked for doc in documents if doc.masked}


def file_sha256(path: Path) -> str:
    """RETURNS (str): SHA-256 of a file, or of a folder's files by name: which data a number is of."""
    digest = sha256()
    if not path.is_dir():
        with open_binary(path) as file:
            return file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # an open file
    for part in sorted(p for p in map(path.joinpath, files_below(path)[0]) if p.is_file()):
        digest.update(part.relative_to(path).as_posix().encode() + b"\0")
        with open_binary(part) as file:
            file_digest(file, lambda: digest)  # type: ignore[arg-type]  # an open file
    return digest.hexdigest()


# --- predictions in files


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
    RAISES (PiiError): E501, E701, E002, E705, E900.
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
            reason = f"line {number} needs {', '.join(FIELDS)}"
            raise PiiError(
                Errors.E900, file=path.name, kind="file of predictions", reason=reason
            ) from err
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
    """RAISES (PiiError): E002, for the first label that is neither ours nor can be a user's own. what (str): Where it stands."""
    for label in sorted(set(labels)):
        check_label(show_label(label), what=what)


def show_id(ident: str) -> str:
    """RETURNS (str): An id for a message, if it is short and plain; anything may stand in its column."""
    plain = ident.lstrip("#").isalnum() and len(ident) <= 12
    return ident if plain and any(char.isdigit() for char in ident) else "(not shown)"
