"""The text of a document, whatever program wrote it.

    item = read_document(data, 1, "week 3/essay.odt")       # Record | Skip

The suffix decides, and a library reads (docs/explanation/documents.md compares them). .docx, .pptx
and .odt are archives of XML: their paragraphs are read, a line each, those of headers, tables, text
boxes, footers, notes and comments too, as the text is now, without what tracked changes have
deleted. What a reader does not see (properties, authors, targets of links) is no text, so it cannot
leak. Images, charts, attachments and embedded files are counted and not read. Nothing is written
back into a document.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from email import message_from_bytes, policy
from html import unescape
from io import BytesIO, StringIO
from pathlib import PurePath
from typing import Any
from zipfile import ZipFile

from ..errors import Errors, PiiError, imported, reason_of
from .record import Record, Skip, check_encoding, decode, has_half_pair

EXTRA = "documents"
# Bytes of XML that are taken in, and of all else: more is a bomb, or no essay.
MAX_XML, MAX_BYTES = 1 << 26, 1 << 29
# Rows that a sheet of Excel can have.
MAX_ROWS = 1 << 20
# How an encrypted .docx begins (a compound file), and an old .doc.
_COMPOUND = b"\xd0\xcf\x11\xe0"
# Parts of archives that hold text, in the order in which it is read; the main one.
_PARTS = {
    ".docx": (
        re.compile(r"word/(header|document|footer|footnotes|endnotes|comments)(\d*)\.xml"),
        ("header", "document", "footer", "footnotes", "endnotes", "comments"),
        "document",
    ),
    ".pptx": (
        re.compile(r"ppt/\w+/(slide|notesSlide|modernComment_\w*?)(\d*)\.xml"),
        ("slide", "notesSlide"),
        "slide",
    ),
    ".odt": (re.compile(r"(styles|content)(\d*)\.xml"), ("styles", "content"), "content"),
}
# Folders, files or suffixes of what nobody reads, and what the report calls it.
_UNREAD = {
    "media": "image",
    "Pictures": "image",
    "charts": "charts",
    "diagrams": "diagrams",
    "embeddings": "embeddings",
    "comments": "comments",
    "threadedComments": "comments",
    # Files that a document shows as a part of itself.
    **dict.fromkeys((".html", ".htm", ".mht", ".docx", ".rtf", ".txt"), "embeddings"),
}
_PARAGRAPHS = ("p", "h")
# Elements that stand for a sign; that are gone; whose content is a paragraph of its own, or no text.
_SIGNS = {
    "tab": "\t",
    "ptab": "\t",
    "br": "\n",
    "cr": "\n",
    "line-break": "\n",
    "noBreakHyphen": "-",
}
_GONE = ("del", "moveFrom", "Fallback", "tracked-changes")
# What is content, though it may look like a header: cells, comments and notes. Forms of rows or turns.
_CONTENT = ("tbl", "table", "comments", "cm", "annotation", "footnotes", "endnotes", "note")
_ROWS = (".json", ".jsonl", ".ndjson", ".vtt", ".srt")
_PASSED_OVER = (*_PARAGRAPHS, *_GONE, "pPr", "rPr", "note", "annotation", "title", "desc")
# PDFium ends lines as Windows does, and has signs of its own for a hyphen at a line's end.
_PDF_SIGNS = (("\r\n", "\n"), ("\r", "\n"), ("\ufffe", "-"), ("\x02", "-"), ("\0", ""))
# Pictures; what striprtf leaves out though people read it; what is deleted; targets of links.
_RTF = (
    (re.compile(r"^[\da-fA-F]{60,}(?=[}\r\n])", re.MULTILINE), ""),
    (re.compile(r"\\\*(?=\\(?:shpinst|annotation)\b)|\\shp(?:inst)?(?![a-z])"), ""),
    (re.compile(r"\\(?:footnote|annotation|shptxt|(?:head|foot)er[lrf]?)(?![a-z]) ?"), r"\\par "),
    (re.compile(r"\\deleted(?![a-z\d])"), r"\\*"),
    (re.compile(r"\\fldinst(?=\{)"), r"\\fldinst "),
)
# Elements that are paragraphs of their own to a browser, and not to inscriptis; a page without a body has them in its head.
_BLOCKS = (
    *("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "section", "search", "form"),
    *("dl", "dt", "dd", "details", "summary", "fieldset", "legend", "dialog", "center", "menu"),
    *("option", "optgroup", "textarea", "button", "hr", "head"),
)
_TAG = re.compile(r"</?(?:p|div|br|span|a|ul|ol|li|strong|em)\b[^<>]*>")
_CHARSET = re.compile(rb"charset=[\"']?([\w-]+)")
_XML_HEAD = re.compile(r"\A\s*<\?xml[^>]*\?>")
# Who speaks in a caption, maybe the second one there.
_VOICE = re.compile(r"\s*<v(?:\.\w+)*\s+([^>\s][^>]*)>")
_MAIL_HEAD = ("From", "To", "Cc", "Date", "Subject")


def check_archive(data: bytes, number: int) -> list[str]:
    """Look at an archive before anything of it is unpacked.

    RETURNS (list[str]): Names of its members.
    RAISES (PiiError): E565, if they unpack to too much; E656, if one is encrypted.
    """
    if data.startswith(_COMPOUND):
        raise PiiError(Errors.E656, number=number)
    with ZipFile(BytesIO(data)) as archive:
        infos = archive.infolist()
    if any(info.flag_bits & 1 for info in infos):
        raise PiiError(Errors.E656, number=number)
    xml = sum(info.file_size for info in infos if info.filename.endswith(".xml"))
    if xml > MAX_XML or sum(info.file_size for info in infos) > MAX_BYTES:
        limit = MAX_XML if xml > MAX_XML else MAX_BYTES
        raise PiiError(Errors.E565, number=number, limit=limit)
    return [info.filename for info in infos]


def _read_office(data: bytes, number: int, kind: str) -> Record:
    names = check_archive(data, number)
    pattern, order, main = _PARTS[kind]
    found = []
    for name in names:
        if match := pattern.fullmatch(name):
            place = order.index(match[1]) if match[1] in order else len(order)
            found.append((place, int(match[2] or 0), name))
    if order.index(main) not in [place for place, *_ in found]:
        raise PiiError(Errors.E657, number=number, kind=kind, reason="no main part")
    with ZipFile(BytesIO(data)) as archive:
        manifest = archive.read("META-INF/manifest.xml") if kind == ".odt" else b""
        if b"encryption-data" in manifest:
            raise PiiError(Errors.E656, number=number)
        parts = [_text_of_part(archive.read(name), kind) for *_, name in sorted(found)]
    text, stays = "", list[tuple[int, int]]()
    for part, inside in parts:
        if part.strip():
            text += "\n\n" * bool(text)
            stays += [(start + len(text), end + len(text)) for start, end in inside]
            text += part
    unread = _unread(set(names) - {name for *_, name in found})
    return Record(number, "", text, 0, unread=unread, stays=tuple(stays))


def _unread(names: Iterable[str]) -> tuple[str, ...]:
    """RETURNS (tuple[str, ...]): The kind of each part of an archive that holds something and is not read."""
    kinds = (
        _UNREAD.get(path.parent.name)
        or _UNREAD.get(path.stem.rstrip("0123456789"))
        or _UNREAD.get(path.suffix)
        for path in map(PurePath, names)
    )
    return tuple(sorted(filter(None, kinds)))


def _text_of_part(data: bytes, kind: str) -> tuple[str, list[tuple[int, int]]]:
    """RETURNS (tuple): The text of a part, and start and end of the paragraphs that are no header."""
    etree = imported("lxml.etree", f"reading {kind}", EXTRA)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(data, parser)
    if root.getroottree().docinfo.doctype:
        raise ValueError("a document type definition")
    text, stays = "", list[tuple[int, int]]()
    for paragraph in _paragraphs(root):
        line = "".join(_signs(paragraph, mixed=kind == ".odt")) + "\n"
        line = line if text else line.lstrip("\n")
        text += line
        if any(_local(above) in _CONTENT for above in paragraph.iterancestors()):
            stays.append((len(text) - len(line), len(text)))
    text = text.strip("\n")
    return text, [(start, min(end, len(text))) for start, end in stays if start < len(text)]


def _paragraphs(element: Any) -> Iterator[Any]:
    """YIELDS (Any): Paragraphs in their order, those of text boxes after the one they stand in."""
    for child in element:
        kind = _local(child)
        if kind in _GONE:
            continue
        if kind in _PARAGRAPHS:
            yield child
        yield from _paragraphs(child)


def _signs(element: Any, *, mixed: bool) -> Iterator[str]:
    """The text of a paragraph, without the paragraphs that stand in it.

    mixed (bool): Whether text stands between elements, as in .odt, and not only in elements `t`.
    """
    if mixed:
        yield re.sub(r"\s+", " ", element.text or "")
    for child in element:
        kind = _local(child)
        if kind == "t":
            yield child.text or ""
        elif kind == "s":
            yield " " * int(next(iter(child.attrib.values()), 1))
        elif kind in _SIGNS:
            yield _SIGNS[kind]
        elif kind not in _PASSED_OVER:
            yield from _signs(child, mixed=mixed)
        if mixed:
            yield re.sub(r"\s+", " ", child.tail or "")


def _local(element: Any) -> str:
    """RETURNS (str): The name of an element without its namespace, which has two forms."""
    return str(element.tag).rpartition("}")[2]


def _read_pdf(data: bytes, number: int, max_pages: int) -> Record:
    pypdfium2 = imported("pypdfium2", "reading .pdf", EXTRA)
    if b"%PDF" not in data[:1024]:
        raise PiiError(Errors.E657, number=number, kind=".pdf", reason="no PDF header")
    try:
        with pypdfium2.PdfDocument(data) as document:
            pages = len(document)
            if 0 < max_pages < pages:
                raise PiiError(Errors.E655, number=number, pages=pages, limit=max_pages)
            text = "\n".join(map(_page_text, document))
    except pypdfium2.PdfiumError as err:
        if getattr(err, "err_code", None) == 4:  # FPDF_ERR_PASSWORD
            raise PiiError(Errors.E656, number=number) from err
        raise
    if not text.strip():
        raise PiiError(Errors.E658, number=number)
    return Record(number, "", text, pages)


def _page_text(page: Any) -> str:
    with closing(page), closing(page.get_textpage()) as textpage:
        text = str(textpage.get_text_range())
    for old, new in _PDF_SIGNS:
        text = text.replace(old, new)
    return text


def html_text(html: str) -> str:
    """RETURNS (str): What a browser shows: paragraphs and cells are lines, links are their text."""
    engine = imported("inscriptis.html_engine", "reading .html", EXTRA)
    from inscriptis.css_profiles import STRICT_CSS_PROFILE
    from inscriptis.model.config import ParserConfig
    from lxml.html import HTMLParser, fromstring

    html = _XML_HEAD.sub("", html, count=1)
    if not html.strip():
        return ""
    tree = fromstring(html, parser=HTMLParser(huge_tree=True))  # else deep text is lost
    for block in tree.iter(*_BLOCKS):
        block.tag = "div"  # long cells would be set side by side, line for line
    return str(engine.Inscriptis(tree, ParserConfig(css=STRICT_CSS_PROFILE)).get_text())


def _rtf_text(rtf: str) -> str:
    striprtf = imported("striprtf.striprtf", "reading .rtf", EXTRA)
    if not rtf.startswith("{\\rtf") or not rtf.rstrip("\0\r\n ").endswith("}"):
        raise ValueError("no RTF, or cut off")
    for pattern, new in _RTF:
        rtf = pattern.sub(new, rtf)
    # A sign beyond 16 bits, as an emoji, is written in two halves.
    halves: str = striprtf.rtf_to_text(rtf)
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _captions_text(text: str, form: str) -> str:
    """A line for each caption; what it shows when is left out. form (str): "vtt" or "srt"."""
    webvtt = imported("webvtt", f"reading .{form}", EXTRA)
    named = "\n".join(
        _VOICE.sub(r"\n\1: ", caption.raw_text).lstrip("\n")
        for caption in webvtt.from_buffer(StringIO(text), form)
    )
    return unescape(webvtt.Caption(text=named).text)


def _notebook_text(text: str) -> str:
    """Cells and what they printed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        parts.append(cell["source"])
        for out in cell.get("outputs", ()):
            parts.append(out.get("text") or out.get("data", {}).get("text/plain", ""))
    return "\n\n".join("".join(part) for part in parts)


def _json_lines_text(text: str) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    return "\n".join(_leaves([json.loads(line) for line in lines]))


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """YIELDS (str): A line "field: value" for each value, an empty one before each object."""
    if isinstance(value, dict):
        yield ""
        for field, inner in value.items():
            yield from _leaves(inner, field)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and not isinstance(value, bool):
        shown = html_text(value).strip() if _TAG.search(str(value)) else str(value)
        yield f"{name}: {shown}" if name else shown


def _read_mail(data: bytes, number: int) -> Record:
    message: Any = message_from_bytes(data, policy=policy.default)
    body = message.get_body(("plain", "html"))
    if body is None or not message.keys():
        raise PiiError(Errors.E657, number=number, kind=".eml", reason="no head, or no text")
    text = body.get_content()
    if body.get_content_subtype() == "html":
        text = html_text(text)
    head = [f"{name}: {message[name]}" for name in _MAIL_HEAD if message[name]]
    unread = ("attachments",) * sum(1 for _ in message.iter_attachments())
    return Record(number, "", "\n".join([*head, "", text]), 0, unread=unread)


def _read_mailbox(data: bytes, number: int) -> Record:
    first, *mails = re.split(rb"^From .*\r?\n", data, flags=re.MULTILINE)
    if first.strip() or not mails:
        raise PiiError(Errors.E657, number=number, kind=".mbox", reason="no line From")
    read = [_read_mail(mail, number) for mail in mails]
    unread = tuple(kind for mail in read for kind in mail.unread)
    return Record(number, "", "\n\n".join(mail.text for mail in read), 0, unread=unread)


# How the text of a file is made of what its bytes say.
_OF_TEXT: dict[str, Callable[[str], str]] = {
    ".md": str,
    ".tex": str,
    ".html": html_text,
    ".htm": html_text,
    ".rtf": _rtf_text,
    ".ipynb": _notebook_text,
    ".json": lambda text: "\n".join(_leaves(json.loads(text))),
    ".jsonl": _json_lines_text,
    ".ndjson": _json_lines_text,
    ".vtt": lambda text: _captions_text(text, "vtt"),
    ".srt": lambda text: _captions_text(text, "srt"),
}
_OF_MAIL = {".eml": _read_mail, ".mbox": _read_mailbox}
DOCUMENTS = (*_PARTS, ".pdf", *_OF_TEXT, *_OF_MAIL)


def read_document(
    data: bytes, number: int, name: str, *, encoding: str = "utf-8", max_pages: int = 0
) -> Record | Skip:
    """Read one document.

    name (str): Its suffix, one of `DOCUMENTS`, says the form.
    encoding (str): Of a file that is no Unicode.
    max_pages (int): No page of a longer PDF is parsed; 0 is no limit.
    RETURNS (Record | Skip): `body` is the number of pages; E005 without the library.
    """
    kind = PurePath(name).suffix.lower()
    try:
        if kind in _PARTS:
            read = _read_office(data, number, kind)
        elif kind == ".pdf":
            read = _read_pdf(data, number, max_pages)
        elif kind in _OF_MAIL:
            read = _OF_MAIL[kind](data, number)
        else:
            declared = _CHARSET.search(data[:2048]) if kind in (".html", ".htm") else None
            encoding = check_encoding(declared[1].decode() if declared else encoding)
            if declared and encoding in ("iso8859-1", "ascii"):
                encoding = "cp1252"  # as a browser does: quotes of Word are in none of the two
            text, _, _, found = decode(data, number, encoding)
            read = Record(number, "", _OF_TEXT[kind](text), 0, encoding=found)
    except PiiError as err:
        return Skip(number, err)
    except Exception as err:  # of what unpacks and parses: their messages quote names and text
        return Skip.of(Errors.E657, number=number, kind=kind, reason=reason_of(err))
    text, others = read.text.strip("\r\n"), (("(file name)", name),)
    if has_half_pair(text):
        return Skip.of(Errors.E520, number=number, encoding="text")
    if not text.strip():
        return Skip.of(Errors.E530, number=number)
    stays = ((0, len(text)),) if kind in _ROWS else read.stays
    return replace(read, id=name, text=text, others=others, stays=stays)


def sheet_rows(data: bytes, number: int) -> tuple[list[list[str]], tuple[str, ...]]:
    """The first sheet of an .xlsx that holds something.

    RETURNS (tuple): Its rows, all of one length; kinds of what is not read, "sheets" for each
        further one.
    RAISES (PiiError): E005, E565, E656, E657.
    """
    openpyxl = imported("openpyxl", "reading .xlsx", EXTRA)
    try:
        names = check_archive(data, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it does not read
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
            sheets = [_rows_of(sheet, number) for sheet in book.worksheets]
    except PiiError:
        raise
    except Exception as err:  # as above
        reason = reason_of(err)
        raise PiiError(Errors.E657, number=number, kind=".xlsx", reason=reason) from err
    first, *more = list(filter(None, sheets)) or [[]]
    return first, (*_unread(names), *["sheets"] * len(more))


def _rows_of(sheet: Any, number: int) -> list[list[str]]:
    """Rows that hold something."""
    from openpyxl.utils import escape

    sheet.reset_dimensions()  # what the file says of them may be a lie
    rows, width = [], 0
    for n, values in enumerate(sheet.iter_rows(values_only=True)):
        if n >= MAX_ROWS:
            raise ValueError("more rows than a sheet has")
        # Excel writes a carriage return as "_x000D_".
        row = ["" if value is None else escape.unescape(str(value)) for value in values]
        if any(row):
            rows.append(row)
            width = max(width, *(i for i, cell in enumerate(row, 1) if cell))
    return [row[:width] + [""] * (width - len(row)) for row in rows]
