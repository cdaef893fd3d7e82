"""The text of .docx and .pdf, as students hand them in. Nothing is written back into a document.

    item = read_docx(data, 1, "essay.docx")                 # Record | Skip

The text of a .docx is that of its paragraphs, a line each: headers, body with tables and text
boxes, footers, notes, comments; as it is now, without what tracked changes have deleted. What a
reader does not see (properties, authors, targets of links) is no text, so it cannot leak. Images,
charts and embedded files are counted and not read.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from ..errors import Errors, PiiError, reason_of
from .record import Record, Skip, has_half_pair

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
    try:
        import lxml  # noqa: F401
    except ImportError:
        needs: dict[str, Any] = {"package": "lxml", "what": "reading .docx", "extra": "documents"}
        return Skip.of(Errors.E005, number=number, **needs)
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
    from lxml import etree

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
    RAISES (PiiError): E005, if pypdfium2 is not installed.
    """
    try:
        import pypdfium2
    except ImportError as err:
        raise PiiError(
            Errors.E005, package="pypdfium2", what="reading PDF", extra="documents"
        ) from err
    if b"%PDF" not in data[:1024]:
        return Skip.of(Errors.E657, number=number, kind="PDF", reason="no PDF header")
    try:
        with pypdfium2.PdfDocument(data) as document:
            pages = len(document)
            if 0 < max_pages < pages:
                return Skip.of(Errors.E655, number=number, pages=pages, limit=max_pages)
            text = "\n".join(map(_page_text, document))
    except pypdfium2.PdfiumError as err:
        if getattr(err, "err_code", None) == 4:  # FPDF_ERR_PASSWORD
            return Skip.of(Errors.E656, number=number)
        return Skip.of(Errors.E657, number=number, kind="PDF", reason=type(err).__name__)
    except (ValueError, OSError) as err:
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
