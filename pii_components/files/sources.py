"""Open whatever the user points at.

    source = open_source(Path("essays.csv"), text_field="essay")
    for item in source: ...                                     # Record | Skip
    source = open_submissions(Path("downloads"), max_pages=5)   # .pdf, .docx, .txt as students hand them in

The suffix decides: .txt, .docx, .pdf, .csv, .tsv, .jsonl, .json, .parquet. A folder, or a .zip as Canvas, Moodle and Blackboard export it, means
its .txt, .docx and .pdf files, those in folders below it too, in the order of their paths, and a skipped record for each file of
another kind. A .zip is never unpacked: its members are read one at a time.

The text of a .docx is that of its paragraphs, a line each: headers, body with tables and text boxes, footers, notes, comments; as it is
now, without what tracked changes have deleted. What a reader does not see (properties, authors, targets of links) is no text, so it cannot
leak. Images, charts and embedded files are counted and not read. Nothing is written back into a document.
"""

import errno
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from ..errors import Errors, PiiError, imported, reason_of
from .record import (
    Record,
    Skip,
    Source,
    check_encoding,
    detect_encoding,
    has_half_pair,
    is_no_text,
    open_binary,
    open_regular,
)
from .tables import open_csv, open_json, open_parquet

# Bytes of XML that are taken in, and of all else: more is a bomb, or no essay.
MAX_XML, MAX_BYTES = 1 << 26, 1 << 29
# How an encrypted .docx begins (a compound file), and an old .doc.
_COMPOUND = b"\xd0\xcf\x11\xe0"
# Parts that hold text, in the order in which it is read.
_PARTS = ("header", "document", "footer", "footnotes", "endnotes", "comments")
_PART = re.compile(rf"word/({'|'.join(_PARTS)})\d*\.xml")
# Folders of what nobody reads, and what the report calls it.
_UNREAD = {"media": "image", "charts": "charts", "diagrams": "diagrams", "embeddings": "embeddings"}
# Elements that stand for a sign; those whose content is no text of now, or stands there twice.
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PASSED_OVER = ("p", "pPr", "rPr", "del", "moveFrom", "Fallback")


def read_docx(data: bytes, number: int, name: str) -> Record | Skip:
    """Read one .docx.

    RETURNS (Record | Skip): `unread` are kinds of parts that were not read; E005 without lxml.
    """
    if data.startswith(_COMPOUND):
        return Skip.of(Errors.E656, number=number)
    try:
        text, unread = _text_of_docx(data, number)
    except PiiError as err:
        return Skip(number, err)
    except Exception as err:  # of zipfile, of what unpacks, of lxml: they quote names and text
        kind = type(err).__name__
        return Skip.of(Errors.E657, number=number, kind=".docx", reason=kind)
    if not text.strip():
        return Skip.of(Errors.E530, number=number)
    return Record(number, name, text, others=(("(file name)", name),), unread=unread)


def _text_of_docx(data: bytes, number: int) -> tuple[str, tuple[str, ...]]:
    """RETURNS (tuple): The text, and kinds of parts that were not read."""
    with ZipFile(BytesIO(data)) as archive:
        infos = archive.infolist()
        if any(info.flag_bits & 1 for info in infos):
            raise PiiError(Errors.E656, number=number)
        xml = sum(info.file_size for info in infos if info.filename.endswith(".xml"))
        if xml > MAX_XML or sum(info.file_size for info in infos) > MAX_BYTES:
            limit = MAX_XML if xml > MAX_XML else MAX_BYTES
            raise PiiError(Errors.E565, number=number, limit=limit)
        names = [info.filename for info in infos]
        found = [(match[1], name) for name in names if (match := _PART.fullmatch(name))]
        if "document" not in dict(found):
            raise PiiError(Errors.E657, number=number, kind=".docx", reason="no main part")
        found.sort(key=lambda part: (_PARTS.index(part[0]), part[1]))
        parts = [_text_of_part(archive.read(name)) for _, name in found]
    folders = [name.split("/")[1] for name in names if name.startswith("word/")]
    unread = tuple(_UNREAD[folder] for folder in folders if folder in _UNREAD)
    return "\n\n".join(part for part in parts if part.strip()), unread


def _text_of_part(data: bytes) -> str:
    etree = imported("lxml.etree", "reading .docx", "documents")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(data, parser)
    if root.getroottree().docinfo.doctype:
        raise ValueError("a document type definition")
    return "\n".join("".join(_signs(p)) for p in _paragraphs(root)).strip("\n")


def _paragraphs(element: Any) -> Iterator[Any]:
    """YIELDS (Any): Paragraphs in their order, those of text boxes after the one they stand in."""
    for child in element:
        kind = _local(child)
        if kind in ("del", "moveFrom", "Fallback"):
            continue
        if kind == "p":
            yield child
        yield from _paragraphs(child)


def _signs(element: Any) -> Iterator[str]:
    """YIELDS (str): The text of a paragraph, without the paragraphs of a text box in it."""
    for child in element:
        kind = _local(child)
        if kind == "t":
            yield child.text or ""
        elif kind in _SIGNS:
            yield _SIGNS[kind]
        elif kind not in _PASSED_OVER:
            yield from _signs(child)


def _local(element: Any) -> str:
    """RETURNS (str): The name of an element without its namespace, which has two forms."""
    return str(element.tag).rpartition("}")[2]


def read_pdf(data: bytes, number: int, name: str, *, max_pages: int = 0) -> Record | Skip:
    """Read one PDF, by PDFium: its pages in order, joined by a line break.

    max_pages (int): No page of a longer one is parsed; 0 is no limit.
    RETURNS (Record | Skip): `body` is the number of pages.
    RAISES (PiiError): E005 without pypdfium2.
    """
    pypdfium2 = imported("pypdfium2", "reading PDF", "documents")
    if b"%PDF" not in data[:1024]:
        return Skip.of(Errors.E657, number=number, kind="PDF", reason="no PDF header")
    try:
        with pypdfium2.PdfDocument(data) as document:
            pages = len(document)
            if 0 < max_pages < pages:
                return Skip.of(Errors.E655, number=number, pages=pages, limit=max_pages)
            text = "\n".join(map(_page_text, document))
    except (pypdfium2.PdfiumError, ValueError, OSError) as err:
        if getattr(err, "err_code", None) == 4:  # FPDF_ERR_PASSWORD
            return Skip.of(Errors.E656, number=number)
        return Skip.of(Errors.E657, number=number, kind="PDF", reason=reason_of(err))
    if has_half_pair(text):
        return Skip.of(Errors.E520, number=number, encoding="text")
    if not text.strip():
        return Skip.of(Errors.E658, number=number)
    return Record(number, name, text, body=pages, others=(("(file name)", name),))


def _page_text(page: Any) -> str:
    """PDFium ends lines as Windows does, and has signs of its own for a hyphen at a line's end."""
    textpage = page.get_textpage()
    try:
        text = str(textpage.get_text_range())
    finally:
        textpage.close()
        page.close()
    for old, new in (("\r\n", "\n"), ("\r", "\n"), ("\ufffe", "-"), ("\x02", "-"), ("\0", "")):
        text = text.replace(old, new)
    return text


DOCUMENT_SUFFIXES = (".txt", ".docx", ".pdf")
TABLE_SUFFIXES = (".csv", ".tsv")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
# Folders within folders; a course has four or five.
MAX_DEPTH = 50
# What a run says of itself lies in the folder that it wrote.
REPORT_NAME, PAGE_NAME = "report.json", "report.html"
# Forms that hold no zero bytes, saved or renamed as .txt: PDF and RTF.
_OTHER_FORMS = ("%PDF-", "{\\rtf")


@dataclass(slots=True)
class FileSource(Source):
    """One .txt, .docx or .pdf. data (bytes | None): Given instead of a file, for standard input."""

    data: bytes | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        data = self.data
        if data is None:
            with open_binary(self.path) as file:
                data = file.read()
        if self.kind != "txt":
            yield replace(read_document(data, 1, self.path.name), id=self.path.stem)
            return
        yield decode_text(data, 1, str(self.path.stem or "-"), encoding=self.encoding)


@dataclass(slots=True)
class FolderSource(Source):
    """A folder of texts and documents; `encoding` is the one that was asked for.

    files (list[str]): Paths of all files in it, sorted; those of another kind are skipped.
    done (int): Files read; those up to it are passed over.
    hidden (int): Files that no user wrote, never read.
    max_bytes, max_pages (int): A larger file is never opened, no page of a longer one is parsed; 0 is no limit.
    unread (dict[str, str]): Folders and others of `files` that cannot be read, and why.
    """

    files: list[str] = field(default_factory=list)
    done: int = 0
    hidden: int = 0
    max_bytes: int = 0
    max_pages: int = 0
    unread: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Record | Skip]:
        for number in range(self.done + 1, len(self.files) + 1):
            self.done, name = number, self.files[number - 1]
            item: Record | Skip = Skip.of(
                Errors.E551, number=number, allowed=" or ".join(DOCUMENT_SUFFIXES)
            )
            if self.reads(name):
                item = self.read(number, name)
            yield item if isinstance(item, Record) else replace(item, id=name)

    def load(self, name: str) -> bytes:
        """The content of a file of `files`. RAISES (OSError): If it cannot be read, or is a link, a pipe or a device; E654."""
        if name in self.unread:
            raise OSError(errno.ELOOP, self.unread[name])
        size = (self.path / name).lstat().st_size if self.max_bytes else 0
        if size > self.max_bytes:
            raise PiiError(Errors.E654, number=self.done, size=size, limit=self.max_bytes)
        with open_regular(self.path / name, follow=False) as file:
            return file.read()

    def reads(self, name: str) -> bool:
        """Whether a file is of a kind that is read. A folder that could not be looked into is: the reason is told."""
        return name.lower().endswith(DOCUMENT_SUFFIXES) or name in self.unread

    def read(self, number: int, name: str) -> Record | Skip:
        """One file; its id is its path in the folder."""
        try:
            data = self.load(name)
        except PiiError as err:
            return Skip(number, err)
        except OSError as err:
            what = f"record {number}"
            return Skip.of(Errors.E501, number=number, what=what, reason=reason_of(err))
        if name.lower().endswith((".docx", ".pdf")):
            if self.kind == "submissions":
                return _parsed(data, number, name, self.max_pages)
            at = bisect_left(self.files, f"{name}.txt")
            if at < len(self.files) and self.files[at] == f"{name}.txt":
                return Skip.of(Errors.E566, number=number)
            return read_document(data, number, name)
        item = decode_text(data, number, name, encoding=self.encoding)
        blank = isinstance(item, Record) and not item.text.strip()
        return Skip.of(Errors.E530, number=number) if blank else item

    def position(self) -> int:
        return self.done


@dataclass(slots=True)
class ZipSource(FolderSource):
    """The same in an archive; nothing is unpacked to the disk. unsafe (set[str]): Members that are never read: links, names that lead out
    of the archive, and what has the name of another one."""

    members: dict[str, ZipInfo] = field(default_factory=dict)
    unsafe: set[str] = field(default_factory=set)
    archive: Any = None

    def look(self) -> None:
        """List what is in it. RAISES (PiiError): E501, E503."""
        try:
            self.archive = ZipFile(self.path)
        except (BadZipFile, OSError, ValueError, NotImplementedError) as err:
            raise PiiError(Errors.E501, what="the archive", reason=reason_of(err)) from err
        for info in self.archive.infolist():
            name, parts = info.filename, info.filename.split("/")
            leads_out = (
                len(parts) > MAX_DEPTH
                or ".." in parts
                or "" in parts[:-1]
                or any(sign in name for sign in "\\:\0")
            )
            if not leads_out and (info.is_dir() or is_hidden(name) or parts[0] == "__MACOSX"):
                self.hidden += not info.is_dir()
                continue
            if leads_out or name in self.members or stat.S_ISLNK(info.external_attr >> 16):
                self.unsafe.add(name)
            self.members[name] = info
        if not any(map(self.reads, self.members)):
            raise PiiError(Errors.E503)
        self.files, self.size = sorted(self.members), len(self.members)

    def read(self, number: int, name: str) -> Record | Skip:
        info = self.members[name]
        if name in self.unsafe:
            return Skip.of(Errors.E566, number=number)
        if info.flag_bits & 1:
            return Skip.of(Errors.E656, number=number)
        limit = min(MAX_BYTES, max(1 << 20, 200 * info.compress_size))
        if info.file_size > limit:
            return Skip.of(Errors.E565, number=number, limit=limit)
        return FolderSource.read(self, number, name)

    def load(self, name: str) -> bytes:
        try:
            # No more than it says of its size; else its checksum is wrong.
            return bytes(self.archive.read(self.members[name]))
        except Exception as err:  # of zipfile and of what unpacks: their messages quote names
            raise OSError(
                errno.EIO, f"a broken member of the archive, {type(err).__name__}"
            ) from err

    def close(self) -> None:
        self.archive.close()


def read_document(data: bytes, number: int, name: str) -> Record | Skip:
    """The text of a .docx or a .pdf; a .txt is made of it.

    RETURNS (Record | Skip): `body` is the name in OUTPUT, and (encoding, mark).
    """
    item = _parsed(data, number, name)
    if isinstance(item, Skip):
        return item
    return replace(item, id=f"{name}.txt", body=(f"{name}.txt", ("utf-8", b"")))


def _parsed(data: bytes, number: int, name: str, max_pages: int = 0) -> Record | Skip:
    is_docx = name.lower().endswith(".docx")
    try:
        return (read_docx if is_docx else partial(read_pdf, max_pages=max_pages))(
            data, number, name
        )
    except PiiError as err:
        return Skip(number, err)


def decode_text(data: bytes, number: int, name: str, *, encoding: str = "utf-8") -> Record | Skip:
    """Decode one plain text. Its line ends stay, its byte order mark is kept aside: `body` is name and (encoding, mark)."""
    codec, bom = detect_encoding(BytesIO(data), encoding)
    try:
        text: str | None = data[len(bom) :].decode(codec)
    except (UnicodeError, ValueError):
        text = None
    if text is None or is_no_text(text) or text.startswith(_OTHER_FORMS):
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
    spreadsheet_safe: bool = False,
) -> Source:
    """Open an input.

    path (Path): File or folder. text_field, id_field (str): Column or field; empty to find a usual one. more (Iterable[str]):
    Columns of further texts, which are read as one with the first. encoding (str): Of the file. drop (Iterable[str]): Columns or
    fields that are left out. data (bytes | None): The text, from standard input.
    spreadsheet_safe (bool): Whether cells of a table are read and written by `tables.safe_cell`.
    RETURNS (Source): To be iterated over, once.
    RAISES (PiiError): E501 to E508, E521, if there is nothing to read.
    """
    if data is not None:
        return _open_text(path, data, encoding)
    if os.path.isdir(path):
        source = FolderSource(path=path, kind="folder", encoding=encoding, others=["(file name)"])
        return _look_into(source)
    open_binary(path).close()
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = ZipSource(
            path=path, kind="folder", encoding=check_encoding(encoding), others=["(file name)"]
        )
        archive.look()
        return archive
    if suffix in (".docx", ".pdf"):
        return FileSource(path=path, kind=suffix[1:], size=1, others=["(file name)"])
    options: dict[str, Any] = {
        "text_field": text_field,
        "id_field": id_field,
        "more": tuple(more),
        "drop": frozenset(drop),
    }
    if suffix in TABLE_SUFFIXES:
        return open_csv(path, **options, encoding=encoding, spreadsheet_safe=spreadsheet_safe)
    if suffix in JSON_SUFFIXES:
        return open_json(path, **options, encoding=encoding)
    if suffix == ".parquet":
        return open_parquet(path, **options)
    if suffix != ".txt":
        raise PiiError(Errors.E502, suffix=suffix or path.name)
    return _open_text(path, None, encoding)


def _open_text(path: Path, data: bytes | None, encoding: str) -> FileSource:
    with open_binary(path) if data is None else BytesIO(data) as file:
        codec, bom = detect_encoding(file, encoding)
        file.seek(len(bom))
        head = file.read(1 if data is None else -1)
    if not (head if data is None else head.decode(codec, "replace").strip()):
        raise PiiError(Errors.E503)
    return FileSource(path=path, kind="txt", encoding=encoding, bom=bom, size=1, data=data)


def _look_into(source: FolderSource) -> FolderSource:
    """List the files of a folder. RAISES (PiiError): E501, E508; E503, if there are none of a kind that is read."""
    check_encoding(source.encoding)
    names, source.unread = files_below(source.path)
    shown = [name for name in names if not is_hidden(name)]
    if not any(map(source.reads, shown)):
        if source.unread:
            raise PiiError(
                Errors.E501, what="the folder", reason=next(iter(source.unread.values()))
            )
        raise PiiError(Errors.E503)
    # A folder that cannot be looked into is skipped as a file that cannot be read is: counted and named.
    source.files = sorted([*shown, *source.unread])
    source.size, source.hidden = len(source.files), len(names) - len(shown)
    return source


def is_hidden(name: str) -> bool:
    """Whether a file is one that programs leave beside those of a user: .DS_Store, ~$essay.docx, Thumbs.db, all in .git, our report."""
    parts = Path(name).parts
    if name.lower() == PAGE_NAME or parts[-1].lower() in ("thumbs.db", "desktop.ini", REPORT_NAME):
        return True  # a page further down is a student's
    return any(part.startswith((".", "~$")) for part in parts)


def open_submissions(
    path: Path, *, max_bytes: int = 0, max_pages: int = 0, encoding: str = "utf-8"
) -> FolderSource:
    """Find the .pdf, .docx and .txt files of a folder, in those below it too; or take one .pdf.

    max_bytes, max_pages (int): What is allowed; 0 is no limit. encoding (str): Of .txt files.
    RAISES (PiiError): E501, E503, E508.
    """
    source = FolderSource(
        path=path, kind="submissions", encoding=encoding, max_bytes=max_bytes, max_pages=max_pages
    )
    if path.is_dir():
        return _look_into(source)
    open_binary(path).close()
    source.path, source.files, source.size = path.parent, [path.name], 1
    return source


def files_below(path: Path) -> tuple[list[str], dict[str, str]]:
    """Paths of all files in a folder, relative to it; and why folders below it could not be looked into: links to folders, and what lies deeper
    than `MAX_DEPTH`, too."""
    unread: dict[str, str] = {}
    found: list[str] = []

    def told(err: OSError) -> None:
        unread[os.path.relpath(err.filename, path)] = reason_of(err)

    for folder, below, names in os.walk(path, onerror=told):
        inside = os.path.relpath(folder, path)
        found.extend(os.path.normpath(os.path.join(inside, name)) for name in names)
        is_deep = inside.count(os.sep) >= MAX_DEPTH
        for name in list(below):
            if is_deep or os.path.islink(os.path.join(folder, name)):
                below.remove(name)
                why = "it lies too deep" if is_deep else "a link to a folder is not followed"
                unread[os.path.normpath(os.path.join(inside, name))] = why
    return found, unread
