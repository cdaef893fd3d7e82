"""Open whatever the user points at.

    source = open_source(Path("essays.csv"), text_field="essay")
    for item in source: ...                                     # Record | Skip
    source = open_submissions(Path("downloads"), max_pages=5)   # .pdf and .txt as students hand them in

The suffix decides: .txt, .csv, .tsv, .jsonl, .json; a folder means its .txt files, those in folders below it too, in the
order of their paths. PDF becomes text by PyMuPDF, as for CRAPII: the pages in order, joined by a line break. PyMuPDF is under
the AGPL; it is imported here alone, comes with the extra `corpus` only, and no other input needs it.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .json_text import open_json
from .record import Record, Skip, Source, cause_of, detect_encoding, has_half_pair, open_binary, read_bytes, reason_of
from .tables import open_csv

TABLE_SUFFIXES = (".csv", ".tsv")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


@dataclass(slots=True)
class TextSource(Source):
    """One plain text. data (bytes | None): Given instead of a file, for standard input."""

    data: bytes | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        data = read_bytes(self.path) if self.data is None else self.data
        yield decode_text(data, 1, str(self.path.stem or "-"), encoding=self.encoding)

    def fingerprint(self) -> str:
        return Source.fingerprint(self) if self.data is None else "txt:-"


@dataclass(slots=True)
class FolderSource(Source):
    """A folder of plain texts; `encoding` is the one that was asked for. files (list[str]): Their paths in it, sorted.
    done (int): Files read; those up to it are passed over. hidden (int): Files that no user wrote, never read."""

    files: list[str] = field(default_factory=list)
    done: int = 0
    hidden: int = 0

    def __iter__(self) -> Iterator[Record | Skip]:
        for number in range(self.done + 1, len(self.files) + 1):
            self.done, name = number, self.files[number - 1]
            item = self.read(number, name)
            yield item if isinstance(item, Record) else replace(item, id=name)

    def read(self, number: int, name: str) -> Record | Skip:
        """One file; its id is its path in the folder."""
        try:
            data = read_bytes(self.path / name)
        except (OSError, PiiError) as err:
            return Skip.of(Errors.E501, number=number, what=f"record {number}", reason=cause_of(err))
        return self.decode(data, number, name)

    def decode(self, data: bytes, number: int, name: str) -> Record | Skip:
        """The text of a file, if it has one."""
        item = decode_text(data, number, name, encoding=self.encoding)
        blank = isinstance(item, Record) and not item.text.strip()
        return Skip.of(Errors.E530, number=number) if blank else item

    def position(self) -> int:
        return self.done

    def fingerprint(self) -> str:
        # A link that leads nowhere will be skipped; of itself it has a size and a time, too.
        stats = (os.stat(path) if path.exists() else os.lstat(path) for path in (self.path / name for name in self.files))
        listing = "\n".join(f"{name}\t{s.st_size}\t{s.st_mtime_ns}" for name, s in zip(self.files, stats, strict=True))
        return f"{self.kind}:{sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}"


@dataclass(slots=True)
class SubmissionSource(FolderSource):
    """A folder of .pdf and .txt. n_others (int): Files of other kinds, not read. max_bytes, max_pages (int): A larger file is
    never opened, no page of a longer one is parsed; 0 is no limit."""

    n_others: int = 0
    max_bytes: int = 0
    max_pages: int = 0

    def read(self, number: int, name: str) -> Record | Skip:
        path = self.path / name
        try:
            size = path.stat().st_size
            if 0 < self.max_bytes < size:
                return Skip.of(Errors.E654, number=number, size=size, limit=self.max_bytes)
            data = read_bytes(path)
        except (OSError, PiiError) as err:
            return Skip.of(Errors.E641, number=number, reason=cause_of(err))
        if name.lower().endswith(".pdf"):
            return read_pdf(data, number, name, max_pages=self.max_pages)
        return self.decode(data, number, name)


def decode_text(data: bytes, number: int, name: str, *, encoding: str = "utf-8") -> Record | Skip:
    """Decode one plain text. Its line ends stay, its byte order mark is kept aside: `body` is name and (encoding, mark)."""
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
    more: Iterable[str] = (),
    id_field: str = "",
    encoding: str = "utf-8",
    drop: Iterable[str] = (),
    data: bytes | None = None,
) -> Source:
    """Open an input.

    path (Path): File or folder. text_field, id_field (str): Column or field; empty to find a usual one. more (Iterable[str]):
    Columns of further texts, which are read as one with the first. encoding (str): Of the file. drop (Iterable[str]): Columns or
    fields that are left out. data (bytes | None): The text, from standard input.
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
    if suffix in (*TABLE_SUFFIXES, *JSON_SUFFIXES):
        opener = open_csv if suffix in TABLE_SUFFIXES else open_json
        columns = {"text_field": text_field, "id_field": id_field, "encoding": encoding}
        return opener(path, **columns, more=tuple(more), drop=frozenset(drop))
    if suffix != ".txt":
        raise PiiError(Errors.E502, suffix=suffix or path.name)
    with open_binary(path) as file:
        return _open_text(path, file.read(4), encoding)


def _open_text(path: Path, head: bytes, encoding: str) -> TextSource:
    codec, bom = detect_encoding(head[:4], encoding)
    stdin = str(path) == "-"
    if len(head) == len(bom) or (stdin and not head.decode(codec, "replace").strip()):
        raise PiiError(Errors.E503)
    return TextSource(path=path, kind="txt", encoding=encoding, bom=bom, size=1, data=head if stdin else None)


def _open_folder(path: Path, encoding: str) -> FolderSource:
    detect_encoding(b"", encoding)
    names, problems = files_below(path)
    shown = [name for name in names if not is_hidden(name)]
    files = sorted(name for name in shown if name.lower().endswith(".txt"))
    if not files:
        raise _unreadable(problems) if problems else PiiError(Errors.E504)
    # A folder that cannot be looked into is skipped as a file that cannot be read is: counted and named.
    files = sorted([*files, *(os.path.relpath(problem.filename, path) for problem in problems)])
    source = FolderSource(path=path, kind="folder", encoding=encoding, files=files, others=["(file name)"], size=len(files))
    source.hidden = len(names) - len(shown)
    return source


def is_hidden(name: str) -> bool:
    """Whether a file is one that programs leave beside those of a user: .DS_Store, ~$essay.docx, Thumbs.db, all in .git."""
    parts = Path(name).parts
    return any(part.startswith((".", "~$")) for part in parts) or parts[-1].lower() in ("thumbs.db", "desktop.ini")


def open_submissions(path: Path, *, max_bytes: int = 0, max_pages: int = 0, encoding: str = "utf-8") -> SubmissionSource:
    """Find the .pdf and .txt files of a folder, in those below it too; or take one .pdf.

    max_bytes, max_pages (int): What is allowed; 0 is no limit. encoding (str): Of .txt files.
    RAISES (PiiError): E501, E508, E665.
    """
    detect_encoding(b"", encoding)
    if path.is_dir():
        names, problems = files_below(path)
        if problems:
            raise _unreadable(problems)
    elif path.exists():
        path, names = path.parent, [path.name]
    else:
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    files = sorted(name for name in names if name.lower().endswith((".pdf", ".txt")))
    if not files:
        raise PiiError(Errors.E665)
    source = SubmissionSource(path=path, kind="submissions", encoding=encoding, files=files, size=len(files))
    source.n_others, source.max_bytes, source.max_pages = len(names) - len(files), max_bytes, max_pages
    return source


def files_below(path: Path) -> tuple[list[str], list[OSError]]:
    """Paths of all files in a folder, relative to it; and which folders below it could not be looked into, links to folders too."""
    problems: list[OSError] = []
    found: list[str] = []
    for folder, below, names in os.walk(path, onerror=problems.append):
        found.extend(os.path.relpath(os.path.join(folder, name), path) for name in names)
        links = filter(os.path.islink, (os.path.join(folder, name) for name in below))
        problems.extend(OSError(errno.ELOOP, "a link to a folder is not followed", link) for link in links)
    return found, problems


def _unreadable(problems: list[OSError]) -> PiiError:
    return PiiError(Errors.E501, what="the folder", reason=reason_of(problems[0]))


def read_pdf(data: bytes, number: int, name: str, *, max_pages: int = 0) -> Record | Skip:
    """The text of one PDF; `body` is the number of pages. RAISES (PiiError): E005, if PyMuPDF is not installed."""
    pymupdf = _pymupdf()
    if b"%PDF" not in data[:1024]:  # MuPDF looks at the content and would read a saved web page as one
        return Skip.of(Errors.E657, number=number, reason="no PDF header")
    try:
        with pymupdf.open(stream=data, filetype="pdf") as document:
            if document.needs_pass:
                return Skip.of(Errors.E656, number=number)
            pages = document.page_count
            if 0 < max_pages < pages:
                return Skip.of(Errors.E655, number=number, pages=pages, limit=max_pages)
            text = "\n".join(page.get_text() for page in document)
    except Exception as err:  # MuPDF's own messages can quote what stands in the file: only the type is told
        return Skip.of(Errors.E657, number=number, reason=type(err).__name__)
    if has_half_pair(text):
        return Skip.of(Errors.E520, number=number, encoding="text")
    if not text.strip():
        return Skip.of(Errors.E658, number=number)
    return Record(number, name, text, body=pages, others=(("(file name)", name),))


def _pymupdf() -> Any:
    try:
        import pymupdf
    except ImportError as err:
        raise PiiError(Errors.E005, package="pymupdf", what="reading PDF", extra="corpus") from err
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf
