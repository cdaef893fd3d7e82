"""What is compared: an entity, a document with its gold, and what a system found in all documents.

    >>> Entity("7", 0, 9, "NAME_STUDENT", "Ana Lopez")
    Entity(document='7', start=0, end=9, label='NAME_STUDENT', role='')

Texts are needed to compare by text; they stay in memory and out of `repr`, messages and files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import spacy

from ..corpus.split import check_ids
from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats
from ..files.formats.tokens import kaggle_labelled
from ..files.labelled import form_of, read_corpus
from ..files.record import Skip, open_binary
from ..files.sources import files_below
from ..files.tables import open_json
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME

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
    RAISES (PiiError): E762 for an empty file, E627 for two equal ids, E5xx and E6xx for a corpus
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
        raise PiiError(Errors.E762, what=path.name, needed="document")
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
