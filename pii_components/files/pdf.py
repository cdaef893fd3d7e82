"""Submissions as students hand them in: a folder of .pdf (and .txt), or one .pdf.

    for item in open_submissions(Path("downloads"), max_pages=5, max_bytes=10_000_000):
        ...                                                     # Record | Skip, in the order of their paths

PDF becomes text by PyMuPDF, as for CRAPII: the pages in order, joined by a line break. A file is never opened if it is larger than
allowed, and no page is parsed if there are more than allowed. PyMuPDF is under the AGPL; it is imported here alone, comes with the
extra `corpus` only, and no other input needs it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import Errors, PiiError
from .record import Record, Skip, Source, detect_encoding, has_half_pair, open_binary, reason_of
from .sources import decode_text

SUFFIXES = (".pdf", ".txt")


@dataclass(slots=True)
class SubmissionSource(Source):
    """A folder of submissions. files (list[str]): Their paths in it, sorted. n_others (int): Files of other kinds, not read.
    max_bytes (int), max_pages (int): What is allowed; 0 is no limit. wanted (str): Encoding of .txt files. done (int): Files read;
    those up to it are passed over when a run is taken up again.
    """

    files: list[str] = field(default_factory=list)
    n_others: int = 0
    max_bytes: int = 0
    max_pages: int = 0
    wanted: str = "utf-8"
    done: int = 0

    def __iter__(self) -> Iterator[Record | Skip]:
        for number in range(self.done + 1, len(self.files) + 1):
            self.done = number
            yield self.read(number, self.files[number - 1])

    def read(self, number: int, name: str) -> Record | Skip:
        """RETURNS (Record | Skip): One file; its id is its path in the folder."""
        path = self.path / name
        try:
            size = path.stat().st_size
            if 0 < self.max_bytes < size:
                return Skip.of(Errors.E654, number=number, size=size, limit=self.max_bytes)
            with open_binary(path) as file:
                data = file.read()
        except (OSError, PiiError) as err:
            return Skip.of(Errors.E641, number=number, reason=reason_of(err.__cause__ or err))
        if name.lower().endswith(".pdf"):
            return read_pdf(data, number, name, max_pages=self.max_pages)
        item = decode_text(data, number, name, encoding=self.wanted)
        blank = isinstance(item, Record) and not item.text.strip()
        return Skip.of(Errors.E530, number=number) if blank else item

    def position(self) -> int:
        return self.done

    def fingerprint(self) -> str:
        stats = (os.stat(self.path / name) for name in self.files)
        listing = "\n".join(f"{name}\t{s.st_size}\t{s.st_mtime_ns}" for name, s in zip(self.files, stats, strict=True))
        return f"submissions:{sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}"


def open_submissions(path: Path, *, max_bytes: int = 0, max_pages: int = 0, encoding: str = "utf-8") -> SubmissionSource:
    """Find the .pdf and .txt files of a folder, in those below it too; or take one .pdf.

    path (Path): Folder or file. max_bytes, max_pages (int): What is allowed; 0 is no limit. encoding (str): Of .txt files.
    RETURNS (SubmissionSource): To be iterated over.
    RAISES (PiiError): E501, E508, E665.
    """
    detect_encoding(b"", encoding)
    problems: list[OSError] = []
    if path.is_dir():
        names = [
            os.path.relpath(os.path.join(folder, name), path)
            for folder, _, found in os.walk(path, onerror=problems.append)
            for name in found
        ]
    elif path.exists():
        path, names = path.parent, [path.name]
    else:
        raise PiiError(Errors.E501, what=f"'{path}'", reason="it does not exist")
    if problems:
        raise PiiError(Errors.E501, what="the folder", reason=reason_of(problems[0]))
    files = sorted(name for name in names if name.lower().endswith(SUFFIXES))
    if not files:
        raise PiiError(Errors.E665)
    source = SubmissionSource(path=path, kind="submissions", encoding=encoding, files=files, wanted=encoding)
    source.n_others, source.max_bytes, source.max_pages = len(names) - len(files), max_bytes, max_pages
    source.size = len(files)
    return source


def read_pdf(data: bytes, number: int, name: str, *, max_pages: int = 0) -> Record | Skip:
    """The text of one PDF.

    data (bytes): The file. number (int): Its position. name (str): Its path in the folder. max_pages (int): More are skipped.
    RETURNS (Record | Skip): `body` is the number of pages. E655 to E658, if it is too long, encrypted, broken or without text.
    RAISES (PiiError): E005, if PyMuPDF is not installed.
    """
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
