"""What is compared: an entity in a document, and the document with its gold.

    >>> Entity("7", 0, 9, "NAME_STUDENT", "Ana Lopez")
    Entity(document='7', start=0, end=9, label='NAME_STUDENT')

Texts are needed to compare by text; they stay in memory and out of `repr`, messages and files.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, PiiError
from ..files.formats.base import LabelledText, Tally
from ..files.formats.tokens import kaggle_labelled as labelled
from ..files.json_text import open_json
from ..files.labelled import guess_form, read_corpus
from ..files.record import Skip, open_binary
from ..labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL, USERNAME

if TYPE_CHECKING:
    from spacy.language import Language

# What CRAPII's gold holds. A system's NAME_CITED or NAME_INSTRUCTOR is no prediction of NAME_STUDENT.
CRAPII_LABELS: tuple[str, ...] = (NAME_STUDENT, EMAIL, USERNAME, ID_NUM, PHONE_NUM, URL_PERSONAL, STREET_ADDRESS)
# The four types of the JEDM paper (seeds/gpt4omini_jedm.txt, Table 7); its gold has no others.
FOUR_LABELS: tuple[str, ...] = (NAME_STUDENT, EMAIL, PHONE_NUM, URL_PERSONAL)
UNKNOWN_SPLIT = "unknown"


@dataclass(frozen=True, slots=True)
class Entity:
    """A piece of personal information, as annotated or as predicted.

    document (str): Id of the document.
    start (int): First character. end (int): Character after the last one, exclusive.
    label (str): One of `labels.LABELS`, or a system's own.
    text (str): The characters; empty where they are not known.
    role (str): The likeliest role of a name, where it is another than the one in its label; empty elsewhere.
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

    id (str): Unique in the file.
    text (str): The document.
    entities (tuple[Entity, ...]): Sorted by position.
    tokens (tuple[tuple[int, int], ...]): First character and end (exclusive) of the tokens that the gold file gives.
    split (str): The part of the data set that it belongs to: `test`, `base_train`, `verifier_train`, `unknown`.
    masked (tuple[tuple[int, int], ...]): Stretches whose gold is not known: what is found there is neither right nor wrong.
    """

    id: str
    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()
    tokens: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    split: str = UNKNOWN_SPLIT
    masked: tuple[tuple[int, int], ...] = ()

    @property
    def n_words(self) -> int:
        """RETURNS (int): Words between white space: the same for every system, whatever its tokenizer."""
        return len(self.text.split())


# Gold documents from a labelled corpus in any form: text and entities, with tokens, split and masked stretches beside the


def read_gold(
    path: Path,
    *,
    exclude_labels: Iterable[str] = (),
    form: str = "",
    text_source: Path | None = None,
    encoding: str = "utf-8",
    text_field: str = "",
    id_field: str = "",
    tally: Tally | None = None,
) -> list[GoldDocument]:
    """Read a labelled corpus in any form of `corpus.labelled`.

    Where records have `seed_split`, it becomes the split. CRAPII's form brings its own tokens; for the others spaCy's English
    tokenizer makes them, which is the one that CRAPII's were made with.

    path (Path): File or folder.
    exclude_labels (Iterable[str]): Gold labels that are left out, as if nobody had annotated them.
    form (str): A name in `corpus.labelled.FORMS`; empty to guess. text_source, encoding, text_field, id_field: As in `read_corpus`.
    tally (Tally | None): Gets what is masked, since it cannot be used.
    RETURNS (list[GoldDocument]): In the order of the file. In CRAPII's form a document without a number gets `#` and its place in
    the file as id.
    RAISES (PiiError): E703 for an empty file, E702 for two equal ids, E5xx and E6xx for a corpus that cannot be read.
    """
    if not path.exists():
        raise PiiError(Errors.E501, what=path.name, reason="it does not exist")
    excluded = frozenset(exclude_labels)
    counts = tally if tally is not None else Tally()
    form = form or guess_form(path, encoding=encoding, text_field=text_field)
    documents: list[GoldDocument] = []
    if form.startswith("kaggle"):
        for item in open_json(path, text_field="tokens", encoding=encoding).objects():
            if isinstance(item, Skip):
                raise item.error
            number, _, values = item
            essay = labelled(number, values, counts)
            ident = f"#{number}" if values.get("document") is None else essay.id
            tokens = token_offsets(values["tokens"], values["trailing_whitespace"])
            documents.append(gold_document(essay, tokens, ident=ident, excluded=excluded))
    else:
        options: dict[str, Any] = {
            "text_source": text_source,
            "encoding": encoding,
            "text_field": text_field,
            "id_field": id_field,
        }
        for essay in read_corpus(path, form, tally=counts, **options):
            documents.append(gold_document(essay, spacy_tokens(essay.text), ident=essay.id, excluded=excluded))
    if not documents:
        raise PiiError(Errors.E703, file=path.name)
    check_ids(documents)
    return documents


def gold_document(
    essay: LabelledText, tokens: tuple[tuple[int, int], ...], *, ident: str, excluded: frozenset[str] = frozenset()
) -> GoldDocument:
    """RETURNS (GoldDocument): A labelled text as gold. tokens (tuple): Offsets. ident (str): Id. excluded (frozenset[str]): Labels."""
    return GoldDocument(
        id=ident,
        text=essay.text,
        entities=tuple(
            Entity(ident, start, end, label, essay.text[start:end])
            for start, end, label in essay.spans
            if label not in excluded
        ),
        tokens=tokens,
        split=str(essay.meta.get("seed_split") or UNKNOWN_SPLIT),
        masked=essay.masked,
    )


def spacy_tokens(text: str) -> tuple[tuple[int, int], ...]:
    """RETURNS (tuple[tuple[int, int], ...]): Offsets of the tokens of spaCy's English tokenizer."""
    return tuple((token.idx, token.idx + len(token)) for token in _english().tokenizer(text))


@cache
def _english() -> "Language":
    import spacy

    return spacy.blank("en")


def check_ids(documents: Sequence[GoldDocument]) -> None:
    """Check that ids differ.

    RAISES (PiiError): E702, with the first id that is there twice.
    """
    for ident, n in Counter(doc.id for doc in documents).items():
        if n > 1:
            raise PiiError(Errors.E702, document=ident)


def token_offsets(tokens: Sequence[str], spaces: Sequence[bool]) -> tuple[tuple[int, int], ...]:
    """First character and end (exclusive) of tokens.

    tokens (Sequence[str]): Texts of the tokens. spaces (Sequence[bool]): Whether a space follows.
    RETURNS (tuple[tuple[int, int], ...]): One pair per token.
    """
    offsets, start = [], 0
    for token, space in zip(tokens, spaces, strict=True):
        offsets.append((start, start + len(token)))
        start += len(token) + bool(space)
    return tuple(offsets)


def choose_splits(documents: Sequence[GoldDocument], splits: Sequence[str]) -> list[GoldDocument]:
    """Documents of some parts of the data set.

    documents (Sequence[GoldDocument]): All. splits (Sequence[str]): Names of parts; empty for all.
    RETURNS (list[GoldDocument]): In the same order.
    RAISES (PiiError): E704, if a part holds none.
    """
    allowed = sorted({doc.split for doc in documents})
    missing = [split for split in splits if split not in allowed]
    if missing:
        raise PiiError(Errors.E704, got=", ".join(missing), allowed=", ".join(allowed))
    return [doc for doc in documents if not splits or doc.split in splits]


def file_sha256(path: Path) -> str:
    """RETURNS (str): Hexadecimal SHA-256 of a file, or of the files of a folder by name: says which data a number belongs to."""
    digest = sha256()
    for part in sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]:
        if part is not path:
            digest.update(part.relative_to(path).as_posix().encode() + b"\0")
        with open_binary(part) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
