"""What every reader gives and every writer takes: one text with its number, or the reason why there is none.

    for item in open_source(path, text_field="full_text"):
        if isinstance(item, Skip): ...      # item.code, item.number
        else: ...                           # item.text, item.id

A reader never gives half a record and never ends at a bad one: what cannot be read becomes a `Skip`, which has a code and a
number and no text. Sources are read as they are used; none keeps more than one record and a buffer.
"""

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

from ..errors import Errors, PiiError, imported, reason_of
from ..names import word_list
from ..names.letters import norm
from ..names.table import name_table
from ..names.wordlists import words

# Where the user names no column: the first of these that the file has.
USUAL_TEXT_FIELDS = ("full_text", "text", "essay", "essay_text", "content", "body")
# Between the texts of one record: a line of its own, which no name, address or header reaches over.
FIELD_SEPARATOR = "\n\n\u241e\n\n"
WORD, CAMEL = re.compile(r"[^\W\d_]+"), re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
# How rare a name may be (see `names.table.Facts`) to be one though it is a word, too (Jose, Smith); to be one alone, without another beside
# it; and to be one beside another where both have capitals and may be words.
_ALWAYS, _ALONE, _PAIRED = 1, 8, 8
_HALF_PAIR = re.compile("[\ud800-\udfff]")
# Encodings that a file of today may be in, those of more files first; by how much more mess another
# reading must show; bytes of the largest file that is looked at.
_ENCODINGS = (
    *("cp1252", "cp1250", "mac_roman", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp1258", "iso8859_2", "koi8_r", "cp437", "cp850", "cp866", "mac_cyrillic", "mac_greek"),
    *("cp874", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_SURE, _RECOGNISED = 0.05, 1 << 24
# Words that are looked at, and bytes of the longest.
_MOST_WORDS, _LONGEST = 5_000, 5_000
# Letters of two scripts, or a letter and a sign that no word has, in one word.
_MIXED = re.compile("[A-Za-z][\u0370-\u1dff\u2200-\u25ff]|[\u0370-\u1dff\u2200-\u25ff][A-Za-z]")
# Quotes and dashes as Word sets them, in an encoding of Windows: the same bytes are letters elsewhere.
_OF_WORD = re.compile(
    rb"(?<=[A-Za-z])\x92(?=(?:s|t|d|m|ll|re|ve)\b)|(?<=s)\x92(?=\s)|(?<=[\w.,!?])\x94(?!\w)"
    rb"|(?<![\w\x80-\xff])[\x91\x93](?=\w)|(?<=\s)[\x96\x97](?=\s)|(?<=\w)\x85(?=\s)"
)
# UTF-32 first: its mark begins as that of UTF-16 does.
_WIDE = {
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}


@dataclass(frozen=True, slots=True)
class Record:
    """One text of the input.

    number (int): Position in the input, from 1; skipped records count.
    id (str): From the id column where there is one, else the number.
    text (str): As it stands in the input, decoded.
    body (Any): What the writer of the same format needs to put a new text in its place.
    others (tuple[tuple[str, str], ...]): Name and content of the other fields that hold something; they stay as they are.
    given (tuple[str, Any] | None): Where `id` is a pseudonym: the field that it stands in, and what stood there.
    unread (tuple[str, ...]): Kinds of what the document holds and nobody read: "image", which stays; others, which do not.
    thread (str): What it belongs to, where texts of a thread share a scope; empty for nothing.
    encoding (str): Of its file, where nobody named it and it was found by the bytes; else empty.
    stays (tuple[tuple[int, int], ...]): Start and end of cells, comments and the like, which are no headers of the text.
    told (tuple[tuple[int, int, str], ...]): Start, end and label of cells of a table in a folder, where their column says what they are; without a
        label, names of columns.
    """

    number: int
    id: str
    text: str
    body: Any = None
    others: tuple[tuple[str, str], ...] = ()
    given: tuple[str, Any] | None = field(default=None, repr=False)
    unread: tuple[str, ...] = ()
    thread: str = field(default="", repr=False)
    encoding: str = ""
    stays: tuple[tuple[int, int], ...] = ()
    told: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that was left out, and why; no text. `last`: nothing can be read after it. line (int): Where it begins; id (str): As of
    a `Record`; where they are known."""

    number: int
    error: PiiError
    last: bool = False
    line: int = 0
    id: str = ""

    @property
    def code(self) -> str:
        """For example "E520"."""
        return self.error.code

    @classmethod
    def of(
        cls,
        template: str,
        *,
        number: int,
        last: bool = False,
        line: int = 0,
        id: str = "",
        **values: object,
    ) -> "Skip":
        """With the message of one of `Errors`, filled with the number and the values."""
        return cls(number, PiiError(template, number=number, line=line, **values), last, line, id)


@dataclass(slots=True)
class Source:
    """An input that is open for reading: iterate over it once.

    path (Path): File or folder. kind (str): "csv", "jsonl", "json", "parquet", "folder", "submissions"; of a document its suffix, as "docx", of
    one of JSON "object".
    encoding (str): Of the file, without its byte order mark. bom (bytes): That mark, or nothing.
    text_field, id_field (str): Columns or fields of text and id; empty if there are none. more (tuple[str, ...]): Of further texts.
    drop (frozenset[str]): Columns or fields that are left out of the output.
    fields, others (list[str]): All columns or fields; those that pass through unchanged, as far as they are known.
    size (int): Bytes, or files of a folder: the length of a progress bar. raw (BinaryIO | None): The open file.
    spreadsheet_safe (bool): Whether cells of a table are read and written by `tables.safe_cell`.
    written_in (str): The encoding of what is written, where it is not that of what is read.
    """

    path: Path
    kind: str = ""
    encoding: str = "utf-8"
    bom: bytes = b""
    text_field: str = ""
    more: tuple[str, ...] = ()
    id_field: str = ""
    drop: frozenset[str] = frozenset()
    fields: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    size: int = 0
    spreadsheet_safe: bool = False
    written_in: str = ""
    raw: BinaryIO | None = None

    def __iter__(self) -> Iterator[Record | Skip]:
        raise NotImplementedError

    @property
    def has_columns(self) -> bool:
        """Whether it is a table, rather than texts in files."""
        return self.kind in ("csv", "json", "jsonl", "parquet")

    @property
    def text_fields(self) -> tuple[str, ...]:
        """All columns or fields of texts; those of a record are read as one text, joined by `FIELD_SEPARATOR`."""
        return (self.text_field, *self.more)

    def choose(self, fields: list[str]) -> None:
        """Find the columns that the user named, or a usual one for the text; the others pass through.

        RAISES (PiiError): E505 to E507.
        """
        self.fields = list(fields)
        self.text_field, *more = [choose_text_field(fields, name) for name in self.text_fields]
        self.more = tuple(more)
        check_fields(fields, self.id_field, *self.drop)
        check_once(fields, self.id_field)
        hidden = {*self.text_fields, *self.drop}
        self.others = [name for name in fields if name not in hidden]

    def shown(self, name: str) -> str:
        """A column or field as `safe_name` gives it; one that came late counts as the next one."""
        at = self.fields.index(name) if name in self.fields else len(self.fields)
        return safe_name(name, at + 1)

    def name_of(self, item: "Record | Skip") -> str:
        """What a document is called in INPUT."""
        return str(item.given[1]) if isinstance(item, Record) and item.given else item.id

    def position(self) -> int:
        """How much of `size` has been read."""
        return self.raw.tell() if self.raw is not None and not self.raw.closed else 0

    def close(self) -> None:
        if self.raw is not None:
            self.raw.close()


def has_half_pair(text: str) -> bool:
    """Whether the text holds half of a surrogate pair: bytes that could not be decoded, or a broken escape."""
    return _HALF_PAIR.search(text) is not None


def is_no_text(text: str) -> bool:
    """Whether what was decoded is binary, or was in another encoding: bytes that could not be decoded, or NUL."""
    return "\0" in text or has_half_pair(text)


def check_encoding(encoding: str) -> str:
    """Python's name of a text encoding. RAISES (PiiError): E508, if there is none of that name."""
    try:
        "a".encode(encoding)  # which has none of the codecs that are not for text
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except (LookupError, ValueError, TypeError) as err:
        raise PiiError(Errors.E508, encoding=encoding) from err


def detect_encoding(file: BinaryIO, encoding: str = "utf-8") -> tuple[str, bytes]:
    """The encoding of a file, without its byte order mark; and the mark.

    A file that is in Unicode shows it: by its mark, by the zero bytes of UTF-16 and UTF-32, or
    since all of it is UTF-8, which nothing else looks like. Only others are in `encoding`; where
    that is utf-8, `recognise_encoding` says what they are in. A name that is read in a wrong
    encoding is not found: where that is not sure, it stays utf-8, in which they cannot be read.
    RAISES (PiiError): E508, if there is no such text encoding.
    """
    given, head = check_encoding(encoding), file.read(4096)
    for codec, bom in {"utf-8": codecs.BOM_UTF8, **_WIDE}.items():
        if head.startswith(bom):
            return codec, bom
    for codec in _WIDE if b"\0" in head else ():
        text = head.decode(codec, "replace")
        if "\0" not in text and 2 * sum(map(str.isascii, text)) > len(text):
            return codec, b""
    is_wide = given.startswith(("utf-8", "utf-16", "utf-32"))
    if _is_utf8(head, file, ascii_too=is_wide):
        return "utf-8", b""
    if given == "utf-8":
        file.seek(0)
        return recognise_encoding(file.read(_RECOGNISED)) or given, b""
    return given + "-le" if given in ("utf-16", "utf-32") else given, b""


def recognise_encoding(data: bytes) -> str:
    """What bytes that are no Unicode are encoded in, by charset-normalizer.

    It looks at the words beside what is no ASCII: a page of English says nothing of its one "é".
    RETURNS (str): Empty, if another encoding would do as well and give another text.
    """
    normalizer = imported("charset_normalizer", "recognising an encoding", "documents")
    read = data.decode("utf-8", "replace")
    n_signs = len(read) - len(read.encode("ascii", "ignore"))
    is_broken_utf8 = n_signs > 2 * read.count("\ufffd")
    if is_broken_utf8 or "\0" in read or len(data) >= _RECOGNISED:
        return ""
    plain, n = _OF_WORD.subn(b"'", data)
    if n and plain.isascii():
        return "cp1252"
    allowed = [name for name in _ENCODINGS if not n or name.startswith("cp125")]
    sample = _words_of_signs(plain)
    found = sorted(normalizer.from_bytes(sample, cp_isolation=allowed, enable_fallback=False))
    readings = [reading for reading in found if not _MIXED.search(str(reading))]
    if not readings:
        return ""
    best, *others = readings
    for other in others:
        if str(other) != str(best) and other.chaos < best.chaos + _SURE:
            return ""
    names = (best.encoding, *best.could_be_from_charset)
    return next((name for name in _ENCODINGS if name in names), "")


def _words_of_signs(data: bytes) -> bytes:
    """The first words that are no ASCII, and those beside them."""
    words = [word for word in data.split() if len(word) < _LONGEST]
    groups = zip([b"", *words], words, [*words[1:], b""], strict=False)
    near = dict.fromkeys(group[1] for group in groups if not b"".join(group).isascii())
    return b" ".join(islice(near, _MOST_WORDS))


def decode(data: bytes, number: int, encoding: str) -> tuple[str, str, bytes, str]:
    """Decode a file.

    RETURNS (tuple): Text; encoding and byte order mark of what is written in its place; the
        encoding that was recognised, or nothing.
    RAISES (PiiError): E508; E520, if it is no text, or not in this encoding.
    """
    codec, bom = detect_encoding(BytesIO(data), encoding)
    try:
        text = data[len(bom) :].decode(codec)
    except (UnicodeError, ValueError) as err:
        raise PiiError(Errors.E520, number=number, encoding=codec) from err
    if is_no_text(text):
        raise PiiError(Errors.E520, number=number, encoding=codec)
    if is_recognised(codec, encoding):
        return text, "utf-8", bom, codec
    return text, codec, bom, ""


def is_recognised(codec: str, asked: str) -> bool:
    """Whether an encoding was found by the bytes: nobody asked for it, and it is no Unicode."""
    return check_encoding(asked) == "utf-8" and not codec.startswith("utf")


def _is_utf8(head: bytes, file: BinaryIO, *, ascii_too: bool) -> bool:
    chunks = chain([head], iter(lambda: file.read(1 << 20), b""))
    with suppress(UnicodeDecodeError):
        is_ascii = [text.isascii() for text in codecs.iterdecode(chunks, "utf-8")]
        return ascii_too or not all(is_ascii)
    return False


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading. follow (bool): Whether it may be a link. RAISES (OSError): If that fails, or if it is a pipe, a device or
    another thing that may never end."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    if not follow and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, which is not followed")
    number = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no file")
    return os.fdopen(number, "rb")


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading. RAISES (PiiError): E501, if that fails."""
    try:
        return open_regular(path)
    except OSError as err:
        raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err


def open_text(raw: BinaryIO, *, encoding: str, bom: bytes, newline: str = "") -> TextIOWrapper:
    """Decode an open file from after its byte order mark; for a with statement. Bytes that the encoding lacks become half
    pairs, so that the record they stand in can be told from the others."""
    raw.seek(len(bom))
    return TextIOWrapper(raw, encoding=encoding, errors="surrogateescape", newline=newline)


@contextmanager
def open_decoded(
    path: Path, encoding: str, newline: str = ""
) -> Iterator[tuple[TextIOWrapper, str, bytes]]:
    """YIELDS (tuple): A file as text, its encoding and its byte order mark. RAISES (PiiError): E501, E508."""
    with open_binary(path) as raw:
        codec, bom = detect_encoding(raw, encoding)
        try:
            with open_text(raw, encoding=codec, bom=bom, newline=newline) as stream:
                yield stream, codec, bom
        except (OSError, UnicodeError) as err:
            raise PiiError(Errors.E501, what=f"'{path}'", reason=reason_of(err)) from err


def is_common(word: str) -> bool:
    """Whether a folded surname says too little alone: an English word, or one of two letters."""
    is_word = word in word_list("surrogates/words", "word_surnames") or words().is_common(word)
    return len(word) <= 2 or is_word


def holds_name(text: str, listed: Set[str] = frozenset()) -> bool:
    """Whether a file name or an ID holds the name of a person, as far as the name table knows: "Ilse_Okoro_essay2", "okoro3".

    listed (Set[str]): Folded words of names on the class list, which tell, too.
    """
    parts = CAMEL.sub(" ", " ".join(WORD.findall(normalize("NFC", text)))).split()
    if any(len(word) > 2 and norm(word) in listed for word in parts):
        return True
    table = name_table()
    before, was_name = (10, 10), False
    for i, word in enumerate(parts):
        given, surname = now = table.rarity(word)
        is_name = len(word) > 2 and (
            min(now) <= _ALWAYS or (min(now) < 10 and not is_common(norm(word)))
        )
        if (is_name and (was_name or min(now) <= _ALONE)) or (
            len(word) > 1 and _NOT_LATIN.search(word)
        ):
            return True
        capitals = (
            i > 0
            and min(len(word), len(parts[i - 1])) > 1
            and word[0].isupper()
            and parts[i - 1][0].isupper()
        )
        if capitals and min(max(before[0], surname), max(given, before[1])) <= _PAIRED:
            return True
        before, was_name = now, is_name
    return False


def show_fields(fields: Iterable[str]) -> str:
    """Names of columns for a message: "id, essay, column 3"."""
    names = [safe_name(name, i) for i, name in enumerate(fields, 1)]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def safe_name(name: str, number: int) -> str:
    """The name of a column, or "column 3" for one that is long, as a text is, or holds a name."""
    fits = 0 < len(name) <= 40 and name.isprintable() and not header_holds_name(name)
    return name if fits else f"column {number}"


def header_holds_name(header: str, listed: Set[str] = frozenset()) -> bool:
    """Whether a person's name stands in the name of a column or a key; "ell_status", in small letters, is no Ell's."""
    parts = WORD.findall(normalize("NFC", header))
    return holds_name(
        " ".join(word for word in parts if len(word) > 3 or not word.islower()), listed
    )


def choose_text_field(fields: list[str], wanted: str) -> str:
    """The column that holds the text. wanted (str): As the user gave it; empty for "find it".

    RAISES (PiiError): E652, if the wanted one is missing; E506, if none has a usual name; E507, if it is there twice.
    """
    chosen = wanted or next(
        (name for name in USUAL_TEXT_FIELDS if name in fields),
        fields[0] if len(fields) == 1 else "",
    )
    if not chosen:
        raise PiiError(Errors.E506, fields=show_fields(fields))
    check_fields(fields, chosen)
    check_once(fields, chosen)
    return chosen


def check_once(fields: list[str], name: str) -> None:
    """Check that only one column has this name. RAISES (PiiError): E507, if another copy would stay as it is."""
    if fields.count(name) > 1:
        raise PiiError(Errors.E507, name=safe_name(name, fields.index(name) + 1))


def check_fields(fields: list[str], *names: str, option: str = "--text-column") -> None:
    """Check that columns that the user named are there. RAISES (PiiError): E652, if one is not."""
    for name in names:
        if name and name not in fields:
            raise PiiError(Errors.E652, name=name, option=option, fields=show_fields(fields))
