"""Open whatever the user points at.

    source = open_source(Path("essays.csv"), text_field="essay")
    for item in source: ...                                     # Record | Skip
    source = open_submissions(Path("downloads"), max_pages=5)   # documents as students hand them in

The suffix decides: a document (`documents.DOCUMENTS` and .txt), a table (.csv, .tsv, .xlsx, .jsonl,
.json, .parquet), a folder or a .zip of documents and tables. Of a folder, or a .zip as Canvas, Moodle
and Blackboard export it, all files are read, those in folders below it and in a .zip in it, too, in
the order of their paths; a file of another kind is a skipped record. A .zip is never unpacked: its
members are read one at a time.
"""

import errno
import json
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from ..errors import Errors, PiiError, reason_of
from .documents import DOCUMENTS, MAX_BYTES, read_document, sheet_rows
from .record import (
    Record,
    Skip,
    Source,
    check_encoding,
    decode,
    detect_encoding,
    open_binary,
    open_decoded,
    open_regular,
)
from .tables import QUESTIONS, Table, open_csv, open_json, open_parquet

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TABLE_SUFFIXES = (".csv", ".tsv", ".xlsx")
# What is read in a folder. What a folder of submissions is: essays, no tables of them.
READ = (".txt", *DOCUMENTS, *TABLE_SUFFIXES)
SUBMISSIONS = tuple(kind for kind in READ if kind not in (*TABLE_SUFFIXES, *JSON_SUFFIXES))
# What to do with a file of another kind.
_WAYS_OUT = {
    **dict.fromkeys((".doc", ".wps", ".wpd", ".gdoc"), "save it as .docx"),
    **dict.fromkeys((".pages", ".key", ".numbers"), "export it as .docx, .pptx, .xlsx or .pdf"),
    **dict.fromkeys((".xls", ".ods", ".gsheet", ".parquet", ".sav"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".ppt", ".odp", ".gslides"), "save it as .pptx"),
    **dict.fromkeys((".msg", ".pst"), "save it as .eml"),
    **dict.fromkeys((".zip", ".rar", ".7z", ".gz", ".tar"), "unpack it"),
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".gif", ".heic"), "it is a picture; type its text"),
    **dict.fromkeys((".mp3", ".m4a", ".wav", ".mp4", ".mov"), "hand in its transcript"),
}
# Folders within folders; a course has four or five.
MAX_DEPTH = 50
# What a run says of itself lies in the folder that it wrote.
REPORT_NAME, PAGE_NAME = "report.json", "report.html"
# Forms that hold no zero bytes, saved or renamed as .txt: PDF and RTF.
_OTHER_FORMS = ("%PDF-", "{\\rtf")


def kind_of(name: str) -> str:
    """RETURNS (str): The suffix in small letters, with its dot."""
    return PurePath(name).suffix.lower()


def suffix_of_output(path: Path, *, in_folder: bool = False) -> str:
    """RETURNS (str): What the text of this file, or its rows, are written as."""
    kind = kind_of(path.name)
    if kind == ".xlsx":
        return ".csv"
    is_table = kind in JSON_SUFFIXES and not (in_folder or is_object(path))
    return ".txt" if kind in DOCUMENTS and not is_table else kind


def is_object(path: Path) -> bool:
    """Whether a .json holds one object over several lines: a document, and no table of records."""
    if kind_of(path.name) != ".json":
        return False
    with suppress(PiiError, ValueError, RecursionError), open_decoded(path, "utf-8") as (file, *_):
        first = file.readline()
        if not first.lstrip().startswith("{"):
            return False
        with suppress(ValueError):
            json.loads(first)
            return False
        return isinstance(json.loads(first + file.read()), dict)
    return False


def name_in_output(name: str) -> str:
    """RETURNS (str): What a file of a folder is called there: "essay.docx.txt"."""
    new = suffix_of_output(Path(name), in_folder=True)
    return name if new == kind_of(name) else name + new


@dataclass(slots=True)
class FileSource(Source):
    """One document. data (bytes | None): Given instead of a file, for standard input."""

    data: bytes | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        with open_binary(self.path) if self.data is None else BytesIO(self.data) as file:
            item = read_file(file.read(), 1, self.path.name, encoding=self.encoding)
        yield replace(item, id=self.path.stem)


class Archive:
    """A .zip; nothing of it is unpacked to the disk.

    members (dict[str, ZipInfo]): Its files, but those that no user wrote.
    unsafe (set[str]): Members that are never read: links, names that lead out of the archive, and
        what has the name of another one.
    hidden (int): Files that no user wrote.
    RAISES (PiiError): E501.
    """

    def __init__(self, file: Path | BinaryIO) -> None:
        self.file = file
        try:
            self.zip = ZipFile(file)
        except (BadZipFile, OSError, ValueError, NotImplementedError) as err:
            self._close_file()
            raise PiiError(Errors.E501, what="the archive", reason=reason_of(err)) from err
        self.members: dict[str, ZipInfo] = {}
        self.unsafe: set[str] = set()
        self.hidden = 0
        for info in self.zip.infolist():
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

    def close(self) -> None:
        self.zip.close()
        self._close_file()

    def _close_file(self) -> None:
        if not isinstance(self.file, Path):
            self.file.close()

    def load(self, name: str, number: int) -> bytes:
        """RETURNS (bytes): A member. RAISES (PiiError): E501, E565, E566, E656."""
        info = self.members[name]
        if name in self.unsafe:
            raise PiiError(Errors.E566, number=number)
        if info.flag_bits & 1:
            raise PiiError(Errors.E656, number=number)
        limit = min(MAX_BYTES, max(1 << 20, 200 * info.compress_size))
        if info.file_size > limit:
            raise PiiError(Errors.E565, number=number, limit=limit)
        try:
            # No more than it says of its size; else its checksum is wrong.
            return self.zip.read(info)
        except Exception as err:  # of zipfile and of what unpacks: their messages quote names
            reason = f"a broken member of the archive, {type(err).__name__}"
            raise PiiError(Errors.E501, what=f"record {number}", reason=reason) from err


@dataclass(slots=True)
class FolderSource(Source):
    """A folder of texts and documents, or a .zip; `encoding` is the one that was asked for.

    archive (Archive | None): The .zip, if it is one.
    files (list[str]): Paths of all files in it, sorted; those of another kind are skipped.
    done (int): Files read; those up to it are passed over.
    hidden (int): Files that no user wrote, never read.
    max_bytes, max_pages (int): A larger file is never opened, no page of a longer one is parsed; 0 is no limit.
    unread (dict[str, str]): Folders and others of `files` that cannot be read, and why.
    inside (dict[str, tuple[str, str]]): Of files in a .zip that lies here: its name, and the name of the member.
    """

    archive: Archive | None = None
    files: list[str] = field(default_factory=list)
    done: int = 0
    hidden: int = 0
    max_bytes: int = 0
    max_pages: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    inside: dict[str, tuple[str, str]] = field(default_factory=dict)
    _inner: tuple[str, Archive] | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        for number in range(self.done + 1, len(self.files) + 1):
            self.done, name = number, self.files[number - 1]
            try:
                item = self.read(number, name)
            except PiiError as err:
                item = Skip(number, err)
            except OSError as err:
                what = f"record {number}"
                item = Skip.of(Errors.E501, number=number, what=what, reason=reason_of(err))
            yield item if isinstance(item, Record) else replace(item, id=name)
        self._close_inner()

    def set_files(self, names: Iterable[str]) -> None:
        """Set `files`: these, and those in each .zip among them. RAISES (PiiError): E501, E503."""
        for name in names:
            if kind_of(name) != ".zip" or self.kind == "submissions":
                self.files.append(name)
                continue
            try:
                archive = self._archive(name)
            except (PiiError, OSError):
                self.unread[name] = "no archive, or a broken one"
                continue
            self.hidden += archive.hidden
            members = {f"{name}/{member}": (name, member) for member in archive.members}
            self.inside.update(members)
            self.files.extend(members)
        self._close_inner()
        if not any(map(self.reads, self.files)):
            if self.unread:
                reason = next(iter(self.unread.values()))
                raise PiiError(Errors.E501, what="the folder", reason=reason)
            raise PiiError(Errors.E503)
        # What cannot be looked into is skipped as a file that cannot be read is: counted and named.
        self.files = sorted([*self.files, *self.unread])
        self.size = len(self.files)

    def _archive(self, name: str) -> Archive:
        """A .zip that lies here; the one that was read last stays open."""
        if self._inner is None or self._inner[0] != name:
            self._close_inner()
            self._inner = name, Archive(self.open_file(name))
        return self._inner[1]

    def _close_inner(self) -> None:
        if self._inner is not None:
            self._inner[1].close()
            self._inner = None

    def close(self) -> None:
        self._close_inner()
        if self.archive is not None:
            self.archive.close()

    def open_file(self, name: str) -> BinaryIO:
        """A file that lies here. RAISES (OSError): If it cannot be read, or is a link, a pipe or a device; E654, and those of an archive."""
        archive, path = self.archive, self.path / name
        size = archive.members[name].file_size if archive else path.lstat().st_size
        if 0 < self.max_bytes < size:
            raise PiiError(Errors.E654, number=self.done, size=size, limit=self.max_bytes)
        if archive is not None:
            return BytesIO(archive.load(name, self.done))
        return open_regular(path, follow=False)

    def reads(self, name: str) -> bool:
        """Whether a file is of a kind that is read."""
        return kind_of(name) in (SUBMISSIONS if self.kind == "submissions" else READ)

    def read(self, number: int, name: str) -> Record | Skip:
        """One file; its id is its path in the folder. RAISES (PiiError, OSError): If it cannot be read."""
        if name in self.unread:
            raise OSError(errno.ELOOP, self.unread[name])
        if not self.reads(name):
            kind = kind_of(name) if len(kind_of(name)) < 9 else ""
            way_out = _WAYS_OUT.get(kind, "save it as .docx, .pdf or .txt")
            return Skip.of(Errors.E551, number=number, kind=kind or "another kind", way_out=way_out)
        new = name_in_output(name)
        at = bisect_left(self.files, new)
        if new != name and at < len(self.files) and self.files[at] == new:
            raise PiiError(Errors.E566, number=number)
        if name in self.inside:
            outer, member = self.inside[name]
            data = self._archive(outer).load(member, number)
        else:
            with self.open_file(name) as file:
                data = file.read()
        item = read_file(data, number, name, encoding=self.encoding, max_pages=self.max_pages)
        if isinstance(item, Record) and not item.text.strip():
            return Skip.of(Errors.E530, number=number)
        if isinstance(item, Record) and self.kind == "submissions":
            return replace(item, id=name, body=item.body[2] if len(item.body) > 2 else item.body)
        return item

    def name_of(self, item: Record | Skip) -> str:
        return self.files[item.number - 1]

    def position(self) -> int:
        return self.done


def read_file(
    data: bytes, number: int, name: str, *, encoding: str = "utf-8", max_pages: int = 0
) -> Record | Skip:
    """Read one file of a folder.

    RETURNS (Record | Skip): `body` is the name in OUTPUT, (encoding, mark) there, and the `Table` if
        it is one; of submissions the number of pages. Line ends of a plain text stay.
    """
    kind, new = kind_of(name), name_in_output(name)
    if kind in DOCUMENTS:
        item = read_document(data, number, name, encoding=encoding, max_pages=max_pages)
        if isinstance(item, Skip):
            return item
        return replace(item, id=new, body=(new, ("utf-8", b""), item.body))
    others = (("(file name)", name),)
    try:
        if kind == ".xlsx":
            rows, unread = sheet_rows(data, number)
            table, codec, bom, found = Table(rows), "utf-8", b"", ""
        else:
            text, codec, bom, found = decode(data, number, encoding)
            if kind not in TABLE_SUFFIXES and not text.startswith(_OTHER_FORMS):
                return Record(number, new, text, (new, (codec, bom)), others, encoding=found)
            if kind not in TABLE_SUFFIXES:
                raise PiiError(Errors.E520, number=number, encoding=codec)
            table = Table.read(text, number, kind)
            unread = (QUESTIONS,) * table.questions
        if not table.rows:
            raise PiiError(Errors.E530, number=number)
    except PiiError as err:
        return Skip(number, err)
    body, text = (new, (codec, bom), table), table.text()
    stays = ((0, len(text)),)  # a cell is no header
    return Record(number, new, text, body, others, unread=unread, encoding=found, stays=stays)


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
    source = FolderSource(path=path, kind="folder", encoding=encoding, others=["(file name)"])
    if os.path.isdir(path):
        return _look_into(source)
    suffix = path.suffix.lower()
    open_binary(path).close()
    if suffix == ".zip":
        return _look_into(source)
    if suffix in DOCUMENTS and (suffix not in JSON_SUFFIXES or is_object(path)):
        check_encoding(encoding)
        kind = "object" if suffix in JSON_SUFFIXES else suffix[1:]
        return FileSource(path=path, kind=kind, encoding=encoding, size=1, others=["(file name)"])
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
    """List the files of a folder or an archive. RAISES (PiiError): E501, E508; E503, if there are none of a kind that is read."""
    check_encoding(source.encoding)
    if os.path.isdir(source.path):
        names, source.unread = files_below(source.path)
        shown = [name for name in names if not is_hidden(name)]
        source.hidden = len(names) - len(shown)
    else:
        open_binary(source.path).close()  # a pipe would be waited for
        source.archive = Archive(source.path)
        shown, source.hidden = [*source.archive.members], source.archive.hidden
    source.set_files(shown)
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
    """Find the documents of a folder, in those below it too, or of a .zip; or take one .pdf.

    max_bytes, max_pages (int): What is allowed; 0 is no limit. encoding (str): Of .txt files.
    RAISES (PiiError): E501, E503, E508.
    """
    source = FolderSource(
        path=path, kind="submissions", encoding=encoding, max_bytes=max_bytes, max_pages=max_pages
    )
    if path.is_dir() or kind_of(path.name) == ".zip":
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
