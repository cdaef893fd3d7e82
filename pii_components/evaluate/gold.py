"""What is compared: an entity in a document, and the document with its gold.

    >>> Entity("7", 0, 9, "NAME_STUDENT", "Ana Lopez")
    Entity(document='7', start=0, end=9, label='NAME_STUDENT')

Texts are needed to compare by text; they stay in memory and out of `repr`, messages and files.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from itertools import accumulate
from pathlib import Path

import spacy

from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, ReadStats
from ..files.formats.tokens import kaggle_labelled as labelled
from ..files.json_text import open_json
from ..files.labelled import form_of, read_corpus
from ..files.record import Skip, open_binary
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME

Offsets = tuple[tuple[int, int], ...]  # first character and end (exclusive) of each

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

    label (str): One of `labels.LABELS`, or a system's own. text (str): The characters; empty where they are not known.
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
            raise PiiError(Errors.E701, start=self.start, end=self.end, document=self.document)


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """A text with what annotators found in it.

    id (str): Unique in the file. entities (tuple[Entity, ...]): Sorted by position. tokens (Offsets): Those that the gold file gives.
    split (str): The part of the data set that it belongs to: `test`, `base_train`, `verifier_train`, `unknown`.
    masked (Offsets): Stretches whose gold is not known: what is found there is neither right nor wrong.
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


def read_gold(
    path: Path, *, form: str = "", text_source: Path | None = None, tally: ReadStats | None = None
) -> list[GoldDocument]:
    """Read a labelled corpus in any form of `files.labelled.FORMS`, a file or a folder, in its order.

    Where records have `seed_split`, it becomes the split. CRAPII's form brings its own tokens, and a document without a number gets `#` and
    its place in the file as id; for other forms spaCy's English tokenizer makes them, which is the one that CRAPII's were made with.

    form (str): Its name; empty to go by the suffix. text_source (Path | None): As in `read_corpus`. tally (ReadStats | None): Gets what is masked, since it
    cannot be used.
    RAISES (PiiError): E703 for an empty file, E702 for two equal ids, E5xx and E6xx for a corpus that cannot be read.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    tally = tally if tally is not None else ReadStats()
    form = form or form_of(path)
    read = (
        _read_kaggle(path, tally)
        if form.startswith("kaggle")
        else _read_other(path, form, text_source, tally)
    )
    documents = []
    for ident, essay, tokens in read:
        entities = tuple(
            Entity(ident, start, end, label, essay.text[start:end])
            for start, end, label in essay.spans
        )
        split = str(essay.meta.get("seed_split") or UNKNOWN_SPLIT)
        documents.append(GoldDocument(ident, essay.text, entities, tokens, split, essay.masked))
    if not documents:
        raise PiiError(Errors.E703, file=path.name)
    for ident, n in Counter(doc.id for doc in documents).items():
        if n > 1:
            raise PiiError(Errors.E702, document=ident)
    return documents


def _read_kaggle(path: Path, tally: ReadStats) -> Iterator[tuple[str, LabelledText, Offsets]]:
    for item in open_json(path, text_field="tokens").objects():
        if isinstance(item, Skip):
            raise item.error
        number, _, values = item
        essay = labelled(number, values, tally)
        lengths = [len(token) for token in values["tokens"]]
        starts = accumulate(
            (
                n + bool(space)
                for n, space in zip(lengths, values["trailing_whitespace"], strict=True)
            ),
            initial=0,
        )
        tokens = tuple((start, start + n) for start, n in zip(starts, lengths, strict=False))
        yield f"#{number}" if values.get("document") is None else essay.id, essay, tokens


def _read_other(
    path: Path, form: str, text_source: Path | None, tally: ReadStats
) -> Iterator[tuple[str, LabelledText, Offsets]]:
    tokenizer = spacy.blank("en").tokenizer
    for essay in read_corpus(path, form, tally=tally, text_source=text_source):
        yield (
            essay.id,
            essay,
            tuple((token.idx, token.idx + len(token)) for token in tokenizer(essay.text)),
        )


def choose_splits(documents: Sequence[GoldDocument], splits: Sequence[str]) -> list[GoldDocument]:
    """Those of some parts of the data set, all if none is named. RAISES (PiiError): E704, if a part holds none."""
    allowed = sorted({doc.split for doc in documents})
    missing = [split for split in splits if split not in allowed]
    if missing:
        raise PiiError(Errors.E704, got=", ".join(missing), allowed=", ".join(allowed))
    return [doc for doc in documents if not splits or doc.split in splits]


def masks(documents: Iterable[GoldDocument]) -> dict[str, Offsets]:
    """Masked stretches of the documents that have some."""
    return {doc.id: doc.masked for doc in documents if doc.masked}


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, or of the files of a folder by name: says which data a number belongs to."""
    digest = sha256()
    for part in (
        sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    ):
        if part is not path:
            digest.update(part.relative_to(path).as_posix().encode() + b"\0")
        with open_binary(part) as file:
            file_digest(file, lambda: digest)  # type: ignore[arg-type]  # a file that was opened can be read into a buffer
    return digest.hexdigest()
