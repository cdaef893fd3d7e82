"""Gold documents from a labelled file: what `corpus.readers.read_labelled` gives, with tokens and split beside it.

documents = read_gold(Path("essays.jsonl"))
documents[0].entities, documents[0].split
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from ..corpus.json_records import open_json
from ..corpus.readers import read_labelled
from ..corpus.records import Skip, open_binary
from ..errors import Errors, PiiError
from .records import UNKNOWN_SPLIT, Entity, GoldDocument


def read_gold(path: Path, *, exclude_labels: Iterable[str] = ()) -> list[GoldDocument]:
    """Read a labelled file (CRAPII, Kaggle: `tokens`, `trailing_whitespace`, `labels`).

    Where the file has `document` and `seed_split`, they become id and split.

    path (Path): A .json array or .jsonl.
    exclude_labels (Iterable[str]): Gold labels that are left out, as if nobody had annotated them.
    RETURNS (list[GoldDocument]): In the order of the file. A document without a number gets `#` and its place in the
    file as id.
    RAISES (PiiError): E703 for an empty file, E702 for two equal ids, E5xx for a file that cannot be read.
    """
    excluded = frozenset(exclude_labels)
    source = open_json(path, text_field="tokens")
    documents: list[GoldDocument] = []
    # The labelled reader checks the record and gives text and spans; its number, tokens and split are in the raw one.
    for essay, item in zip(read_labelled(path), source.objects(), strict=True):
        if isinstance(item, Skip):
            raise item.error
        number, _, values = item
        ident = f"#{number}" if values.get("document") is None else str(values["document"])
        documents.append(
            GoldDocument(
                id=ident,
                text=essay.text,
                entities=tuple(
                    Entity(ident, start, end, label, essay.text[start:end])
                    for start, end, label in essay.spans
                    if label not in excluded
                ),
                tokens=token_offsets(values["tokens"], values["trailing_whitespace"]),
                split=str(values.get("seed_split") or UNKNOWN_SPLIT),
            )
        )
    if not documents:
        raise PiiError(Errors.E703, file=path.name)
    check_ids(documents)
    return documents


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
    """RETURNS (str): Hexadecimal SHA-256 of a file: says which data a number belongs to."""
    digest = sha256()
    with open_binary(path) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
