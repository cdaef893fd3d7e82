"""Open whatever the user points at, and read labelled essays.

    source = open_source(Path("essays.csv"), text_field="essay")
    for item in source: ...                                     # Record | Skip

    for essay in read_labelled(Path("train.json")):             # CRAPII, Kaggle
        essay.text, essay.spans                                 # [(start_char, end_char, label)]

The suffix decides: .txt, .csv, .tsv, .jsonl, .json; a folder means its .txt files, those in folders below it too, in the
order of their paths. CSV and JSON have modules of their own.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from ..errors import Errors, PiiError
from .formats.base import LabelledText, ReadOptions
from .json_text import open_json
from .record import Record, Skip, Source, detect_encoding, has_half_pair, open_binary, reason_of
from .tables import open_csv

TABLE_SUFFIXES = (".csv", ".tsv")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


@dataclass(slots=True)
class TextSource(Source):
    """One plain text. data (bytes | None): Given instead of a file, for standard input."""

    data: bytes | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        data = self.data
        if data is None:
            with open_binary(self.path) as file:
                data = file.read()
        yield decode_text(data, 1, str(self.path.stem or "-"), encoding=self.encoding)

    def fingerprint(self) -> str:
        return Source.fingerprint(self) if self.data is None else "txt:-"


@dataclass(slots=True)
class FolderSource(Source):
    """A folder of plain texts. files (list[str]): Their paths in it, sorted. wanted (str): The encoding that was asked for."""

    files: list[str] = field(default_factory=list)
    wanted: str = "utf-8"
    done: int = 0

    def __iter__(self) -> Iterator[Record | Skip]:
        for number, name in enumerate(self.files, 1):
            self.done = number
            try:
                with open_binary(self.path / name) as file:
                    data = file.read()
            except PiiError as err:
                yield Skip.of(Errors.E501, number=number, what=f"record {number}", reason=reason_of(err.__cause__ or err))
                continue
            item = decode_text(data, number, name, encoding=self.wanted)
            if isinstance(item, Record) and not item.text.strip():
                item = Skip.of(Errors.E530, number=number)
            yield item

    def position(self) -> int:
        return self.done

    def fingerprint(self) -> str:
        stats = (os.stat(self.path / name) for name in self.files)
        listing = "\n".join(f"{name}\t{s.st_size}\t{s.st_mtime_ns}" for name, s in zip(self.files, stats, strict=True))
        return f"folder:{sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}"


def decode_text(data: bytes, number: int, name: str, *, encoding: str = "utf-8") -> Record | Skip:
    """Decode one plain text. Its line ends stay, its byte order mark is kept aside.

    data (bytes): The file. number (int): Its position. name (str): Its path in the folder. encoding (str): As the user gave it.
    RETURNS (Record | Skip): `body` is the pair of name and (encoding, mark).
    """
    codec, bom = detect_encoding(data[:4], encoding)
    try:
        text = data[len(bom) :].decode(codec)
    except (UnicodeError, ValueError):
        return Skip.of(Errors.E520, number=number, encoding=codec)
    if has_half_pair(text):
        return Skip.of(Errors.E520, number=number, encoding=codec)
    return Record(number, name, text, body=(name, (codec, bom)), others=(("(file name)", name),))


def open_source(
    path: Path,
    *,
    text_field: str = "",
    id_field: str = "",
    encoding: str = "utf-8",
    drop: Iterable[str] = (),
    data: bytes | None = None,
) -> Source:
    """Open an input.

    path (Path): File or folder. text_field, id_field (str): Column or field; empty to find a usual one. encoding (str): Of
    the file.
    drop (Iterable[str]): Columns or fields that are left out. data (bytes | None): The text itself, from standard input.
    RETURNS (Source): To be iterated over, once.
    RAISES (PiiError): E501 to E508, E521, if there is nothing to read.
    """
    if data is not None:
        return _open_text(path, data, encoding)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err
    if not exists:
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    if is_folder:
        return _open_folder(path, encoding)
    suffix = path.suffix.lower()
    if suffix in TABLE_SUFFIXES:
        return open_csv(path, text_field=text_field, id_field=id_field, encoding=encoding, drop=frozenset(drop))
    if suffix in JSON_SUFFIXES:
        return open_json(path, text_field=text_field, id_field=id_field, encoding=encoding, drop=frozenset(drop))
    if suffix != ".txt":
        raise PiiError(Errors.E502, suffix=suffix or path.name)
    with open_binary(path) as file:
        return _open_text(path, file.read(4), encoding)


def _open_text(path: Path, head: bytes, encoding: str) -> TextSource:
    codec, bom = detect_encoding(head[:4], encoding)
    stdin = str(path) == "-"
    source = TextSource(path=path, kind="txt", encoding=encoding, bom=bom, data=head if stdin else None)
    source.size = 1
    if len(head) == len(bom) or (stdin and not head.decode(codec, "replace").strip()):
        raise PiiError(Errors.E503)
    return source


def _open_folder(path: Path, encoding: str) -> FolderSource:
    detect_encoding(b"", encoding)
    problems: list[OSError] = []
    files = [
        os.path.relpath(os.path.join(folder, name), path)
        for folder, _, names in os.walk(path, onerror=problems.append)
        for name in names
        if name.lower().endswith(".txt")
    ]
    if problems and not files:
        raise PiiError(Errors.E501, what="the folder", reason=reason_of(problems[0]))
    if not files:
        raise PiiError(Errors.E504)
    source = FolderSource(
        path=path, kind="folder", encoding=encoding, files=sorted(files), wanted=encoding, others=["(file name)"]
    )
    source.size = len(files)
    return source


def read_labelled(path: Path, *, on_skip: Callable[[Skip], None] | None = None) -> Iterator[LabelledText]:
    """Essays with gold labels, as CRAPII and Kaggle's PII task give them: `tokens`, `trailing_whitespace`, `labels` (BIO),
    `full_text`, `document`; a .json array or .jsonl. `labelled.read_corpus` reads other forms too.

    path (Path): The file; it is streamed.
    on_skip (Callable[[Skip], None] | None): Called with every record that cannot be used; without it the first one raises.
    YIELDS (LabelledText): The text is `full_text` where there is one, and the spans are offsets in it.
    RAISES (PiiError): E501 to E508; E520 to E523, E535 to E537, E624, E633 of a record.
    """
    from .formats import kaggle

    for item in kaggle.read(path, ReadOptions()):
        if not isinstance(item, Skip):
            yield item[1]
        elif on_skip is not None:
            on_skip(item)
        else:
            raise item.error
