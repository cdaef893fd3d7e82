"""Documents as students hand them in: the text of .docx and .pdf, and .docx written back with a new text in all of its parts.

    item = read_docx(data, 1, "essay.docx")                 # Record | Skip; record.text holds every word of the file
    data = write_docx(data, old, new, [(3, 12, "Mia Rossetti")])        # edits of that text: start, end, new text

The text of a .docx is that of its parts, line by line: headers, body with tables and text boxes, footers, notes, comments. A paragraph
with tracked changes stands there as it is now and then as it was, so that a deleted name is read among its neighbours. What nobody
sees comes last: field codes, alternative texts, tips, targets of links, title and subject. Each edit goes to the runs that it lies in.

    text     By Ina Sorel.\\nBy Ina Sorel and Tom.            one line now, one as it was: "and Tom" is deleted
    runs     [By ][Ina ][Sorel.] [ and Tom]                   a run that stands in both has one new text

Names of authors are not in the text: each becomes what the text's equal one became, else "Author 1". A name of a style or bookmark is
another one where it holds a word that was replaced. A part that is neither read nor
known to hold no text (a chart, an embedded table, custom XML, a thumbnail) does not go to the output, nor does what shows it; images
stay, and are counted as not read. The file is written from what is known, never copied: what this page does not name is not in it.
"""

import posixpath
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import quote, unquote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..errors import Errors, PiiError, reason_of
from ..offsets import Replacement, apply_replacements
from .record import Record, Skip, has_half_pair

# Bytes of XML that are taken in, and of all else: more is a bomb, or no essay.
MAX_XML, MAX_BYTES = 1 << 26, 1 << 29
# Start and end in the old text, new text.
Edit = tuple[int, int, str]

_W, _R = (
    f"{{http://schemas.openxmlformats.org/{path}}}"
    for path in ("wordprocessingml/2006/main", "officeDocument/2006/relationships")
)


def _in_w(names: str) -> frozenset[str]:
    return frozenset(_W + name for name in names.split())


_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_RELS, _TYPES, _CORE = ".rels", "[Content_Types].xml", "core-properties+xml"
# Parts by the end of their content type: those that are read, in this order; those that hold no words of the writer.
_MAIN = "document.main+xml"
_READ = ("header+xml", _MAIN, "footer+xml", "footnotes+xml", "endnotes+xml", "comments+xml", _CORE)
_KEPT = (
    "styles+xml",
    "numbering+xml",
    "fonttable+xml",
    "theme+xml",
    "settings+xml",
    "commentsextended+xml",
    "commentsids+xml",
)
_FONT = ("obfuscatedfont", "x-fontdata")
# What most files have and nobody misses: counts of words and the name of a company, who has written in the file.
_ALWAYS = ("/app.xml", "/people.xml", "/stylesWithEffects.xml")
# What stands for a sign in a run.
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_CODES = (f"{_W}instrText", f"{_W}delInstrText")
_DELETED = (f"{_W}del", f"{_W}moveFrom")
# Names of attributes that hold words, whatever element they stand at; and elements whose w:val does.
_WORDS = {
    "descr",
    "title",
    "alt",
    "tooltip",
    "instr",
    "string",
    "href",
    "displayText",
    "value",
    "fullDate",
    "docLocation",
}
_VALUES = _in_w("alias tag default statusText helpText listEntry entryMacro exitMacro")
_NAMED = ("docPr", "cNvPr")
_PEOPLE = {"creator", "lastModifiedBy"}
# Numbers and dates of the properties, of which nothing is said.
_PLAIN = {"created", "modified", "revision", "lastPrinted"}
_LABELS = _in_w(
    "name style bookmarkStart hyperlink pStyle rStyle tblStyle basedOn next link lvlText aliases"
)
# Parts of addresses that say nothing.
_COMMON = {"com", "edu", "org", "net", "www", "http", "https"}
_GONE = _in_w("docVars mailMerge attachedTemplate dataBinding fldData permStart permEnd")
# The whole of what shows a part that is gone.
_SHOWS = _in_w("drawing object pict altChunk subDoc")


class _UnreadableError(Exception):
    """Why a document is set aside: a template of `Errors`, and its values."""

    def __init__(self, template: str, **values: Any) -> None:
        super().__init__(template)
        self.template, self.values = template, values


@dataclass(slots=True)
class _Piece:
    """A stretch of text that can be written: of an element, or of an attribute. at (list[int]): Where it stands in the text; first as
    it is now. before (str): What stands before it in the attribute. fixed (bool): Whether it is a sign, which can be removed and not changed."""

    element: Any
    text: str
    attribute: str = ""
    before: str = ""
    fixed: bool = False
    deleted: bool = False
    inserted: bool = False
    at: list[int] = field(default_factory=list)

    def put(self, text: str) -> None:
        """Write a new text."""
        if self.attribute == "Target":
            self.element.set("Target", self.before + quote(text, safe=":/?#@!$&'()*+,;=%~"))
        elif self.attribute:
            self.element.set(self.attribute, text)
        elif not self.fixed:
            self.element.text = text
            if self.element.tag.startswith(_W):
                self.element.set(_XML_SPACE, "preserve")
        elif not text:
            self.element.getparent().remove(self.element)


class Docx:
    """A .docx that is open. text (str): All of its words. unread (Counter): Kinds of parts that are not read: "image", which stays;
    "charts", "customXml", "linked file" and others, which do not.
    RAISES (_UnreadableError): With E657, E656 or E565."""

    def __init__(self, data: bytes) -> None:
        from lxml import etree

        self._etree = etree
        self._parser = etree.XMLParser(
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        if data.startswith(
            b"\xd0\xcf\x11\xe0"
        ):  # a compound file: Word puts an encrypted document into one, and so was .doc
            raise _UnreadableError(Errors.E656)
        try:
            self._members = unzip(data)
        except _UnreadableError:
            raise
        except (
            Exception
        ) as err:  # of zipfile and of what unpacks: their messages can quote names of files
            raise _UnreadableError(Errors.E657, kind=".docx", reason=type(err).__name__) from err
        self.unread: Counter[str] = Counter()
        self._pieces: list[_Piece] = []
        self._lines: list[tuple[int, int, Any]] = []
        self._people: list[tuple[Any, str]] = []
        self._out: list[str] = []
        self._length = 0
        self._trees: dict[str, Any] = {}
        self._sort()
        hidden: list[list[_Piece]] = []
        for name in self._read:
            if _CORE not in self._kinds[name]:
                self._add_part(self._trees[name], hidden)
        for name in self._trees:
            hidden += self._around(self._trees[name], name)
        self._out.append("\n" * bool(hidden))
        self._length += bool(hidden)
        for line in hidden:
            self._add_line(line)
        self.text = "".join(self._out).rstrip("\n")

    # -- which parts

    def _sort(self) -> None:
        """Parse the parts that are read or kept; take out all others, and what shows them."""
        types = self._tree(_TYPES)
        by_suffix = {
            e.get("Extension", "").lower(): e.get("ContentType", "").lower()
            for e in types
            if e.get("Extension")
        }
        by_name = {
            e.get("PartName", "").lstrip("/").lower(): e.get("ContentType", "").lower()
            for e in types
            if e.get("PartName")
        }
        names = [name for name in self._members if name != _TYPES and not name.endswith("/")]
        kinds = {
            name: by_name.get(name.lower()) or by_suffix.get(name.rpartition(".")[2].lower(), "")
            for name in names
        }
        main = [name for name, kind in kinds.items() if kind.endswith(_MAIN)]
        if len(main) != 1:
            raise _UnreadableError(Errors.E657, kind=".docx", reason="no main part")
        self._read = [name for end in _READ for name in sorted(names) if kinds[name].endswith(end)]
        kept = {
            name
            for name in names
            if kinds[name].endswith((*_READ, *_KEPT, *_FONT)) or kinds[name].startswith("image/")
        }
        kept -= {
            name for name in names if "/glossary/" in name
        }  # building blocks of a template, with styles of their own
        self._read = [name for name in self._read if name in kept]
        thumbnails = {
            name
            for name in kept
            if name.startswith("docProps/") and kinds[name].startswith("image/")
        }
        self._kinds = {name: kinds[name] for name in sorted(kept - thumbnails)}
        for name in set(names) - kept | thumbnails:
            folder, _, file = name.rpartition("/")
            if not name.endswith((_RELS, *_ALWAYS)):
                self.unread[
                    "thumbnail" if name in thumbnails else (folder.split("/")[-1] or file)
                ] += 1
        images = [name for name, kind in self._kinds.items() if kind.startswith("image/")]
        self.unread.update("image" for _ in images)
        self._new_names = {
            name: f"word/media/picture{n}{posixpath.splitext(name)[1]}"
            for n, name in enumerate(images)
            if not re.fullmatch(r"word/media/(image|picture)\d+\.\w+", name)
        }
        for name, kind in self._kinds.items():
            if kind.endswith("xml"):
                self._trees[name] = self._tree(name)
        if self._trees[main[0]].tag != f"{_W}document":
            raise _UnreadableError(
                Errors.E657, kind=".docx", reason="not the usual Open XML but the strict one"
            )
        for name in ("", *self._kinds):
            rels = posixpath.join(
                posixpath.dirname(name), "_rels", posixpath.basename(name) + _RELS
            )
            if rels in self._members:
                self._trees[rels] = self._tree(rels)
                self._prune(name, self._trees[rels])
        for tree in list(self._trees.values()):
            for element in list(tree.iter(*_GONE, f"{_MC}Fallback")):
                if element.getparent() is not None:
                    element.getparent().remove(element)

    def _tree(self, name: str) -> Any:
        """RAISES (_UnreadableError): If it is no XML that may stand there."""
        try:
            root = self._etree.fromstring(self._members[name], self._parser)
        except (KeyError, ValueError, self._etree.XMLSyntaxError) as err:
            raise _UnreadableError(Errors.E657, kind=".docx", reason=type(err).__name__) from err
        if root.getroottree().docinfo.doctype:
            raise _UnreadableError(Errors.E657, kind=".docx", reason="a document type definition")
        for element in root.iter():
            element.tail = None  # no text stands there in this format, so nobody would read it
        return root

    def _prune(self, source: str, rels: Any) -> None:
        """Take out the relations to what is gone, or lies outside and is no link, and the elements that show it."""
        gone = set()
        for rel in list(rels):
            target = posixpath.normpath(
                posixpath.join("/", posixpath.dirname(source), rel.get("Target", ""))
            ).lstrip("/")
            if rel.get("TargetMode") == "External":
                if rel.get("Type", "").endswith("/hyperlink"):
                    continue
                self.unread["linked file"] += 1
            elif target in self._kinds:
                if target in self._new_names:
                    rel.set("Target", f"/{self._new_names[target]}")
                continue
            gone.add(rel.get("Id"))
            rels.remove(rel)
        for element in list(self._trees[source].iter()) if gone and source in self._trees else ():
            if any(name.startswith(_R) and value in gone for name, value in element.attrib.items()):
                shown = next(
                    (above for above in element.iterancestors() if above.tag in _SHOWS), element
                )
                if shown.getparent() is not None:
                    shown.getparent().remove(shown)

    # -- the text

    def _add_part(self, root: Any, hidden: list[list[_Piece]]) -> None:
        for paragraph in root.iter(f"{_W}p"):
            line: list[_Piece] = []
            codes: list[_Piece] = []
            for piece in _pieces_of(paragraph):
                (codes if piece.element.tag in _CODES else line).append(piece)
            self._pieces += line
            begin = self._length
            self._add_line([piece for piece in line if not piece.deleted])
            self._lines.append((begin, self._length, paragraph))
            if any(piece.deleted for piece in line):
                self._add_line([piece for piece in line if piece.deleted or not piece.inserted])
            if codes:
                hidden.append(codes)
                self._pieces += codes
        self._out.append("\n")
        self._length += 1

    def _add_line(self, line: list[_Piece]) -> None:
        for piece in line:
            piece.at.append(self._length)
            self._out.append(piece.text)
            self._length += len(piece.text)
        self._out.append("\n")
        self._length += 1

    def _around(self, root: Any, name: str) -> Iterator[list[_Piece]]:
        """What stands beside the paragraphs: people, and lines of words that nobody sees."""
        known = {id(piece.element) for piece in self._pieces if not piece.attribute}
        read = name in self._read
        for n, element in enumerate(root.iter()):
            local = element.tag.rpartition("}")[2]
            for attribute in list(element.attrib):
                short, value = attribute.rpartition("}")[2], element.get(attribute)
                if short in ("author", "initials") and attribute.startswith("{"):
                    self._people.append((element, attribute))
                elif read and short == "name" and local in _NAMED:
                    element.set(attribute, f"Object {n}")
                elif value.strip() and (
                    (
                        name.endswith(_RELS)
                        and attribute == "Target"
                        and element.get("TargetMode") == "External"
                    )
                    or (read and (short in _WORDS or (element.tag in _VALUES and short == "val")))
                ):
                    before = "mailto:" if value.lower().startswith("mailto:") else ""
                    yield [
                        self._new(
                            element,
                            unquote(value[len(before) :]) if attribute == "Target" else value,
                            attribute,
                            before,
                        )
                    ]
            if not read and not name.endswith(_RELS) and self._kinds[name].endswith(_KEPT):
                element.text = None
            if (
                not read
                or id(element) in known
                or not (element.text or "").strip()
                or local in _PLAIN
            ):
                continue
            if local in _PEOPLE:
                self._people.append((element, ""))
            elif "rawing" not in element.tag or not re.fullmatch(
                r"-?\d+|[a-z]+", element.text
            ):  # of drawings, places and sizes
                yield [self._new(element, element.text)]

    def _new(self, element: Any, text: str, attribute: str = "", before: str = "") -> _Piece:
        self._pieces.append(_Piece(element, text, attribute, before))
        return self._pieces[-1]

    # -- a new text

    def replace(self, edits: Sequence[Edit]) -> None:
        """Put new texts into their runs. edits: Sorted, without overlaps; of `text`."""
        fine = [part for edit in edits for part in _word_by_word(self.text, edit)]
        ends = [end for _, end, _ in fine]
        given: set[int] = set()
        for piece in sorted(self._pieces, key=lambda piece: piece.at[0]):
            signs = ["", *piece.text]  # what stands before the first sign, then each
            taken: set[int] = set()
            for at in piece.at:
                for i in range(bisect_left(ends, at), len(fine)):
                    start, end, new = fine[i]
                    if start > at + len(piece.text):
                        break
                    free = [
                        k
                        for k in range(max(start - at, 0), min(end - at, len(piece.text)))
                        if k not in taken
                    ]
                    if start == end and not piece.fixed and i not in given:
                        signs[start - at] += new
                        given.add(i)
                    for n, k in enumerate(free):
                        first = n == 0 and i not in given and not piece.fixed
                        signs[k + 1] = new if first else ""
                        given.update([i] if first else ())
                    taken.update(free)
            if "".join(signs) != piece.text:
                piece.put("".join(signs))
        self._remove_lines(edits)
        words = {
            word.casefold()
            for a, b, _ in edits
            for word in re.findall(r"[^\W\d_]{3,}", self.text[a:b].partition("@")[0])
        }
        self._rename_labels(words - _COMMON)
        became = {self.text[start:end].casefold(): new for start, end, new in edits}
        authors: dict[str, int] = {}
        for element, attribute in self._people:
            name = element.get(attribute) if attribute else element.text
            if attribute.endswith("initials"):
                element.set(attribute, "A")
                continue
            new = (
                became.get(name.casefold())
                or f"Author {authors.setdefault(name.casefold(), len(authors) + 1)}"
            )
            if attribute:
                element.set(attribute, new)
            else:
                element.text = new

    def _rename_labels(self, words: set[str]) -> None:
        """Give styles and bookmarks other names where they hold a word that was replaced, and all that points to them too."""
        new: dict[str, str] = {}

        def tells(label: str) -> bool:
            parts = {
                part.casefold()
                for part in re.findall(r"[^\W\d_A-Z]+|[A-Z][^\W\d_A-Z]*|[A-Z]+", label)
            }
            return bool(parts & words) or any(
                word in label.casefold() for word in words if len(word) > 4
            )

        def other(match: re.Match[str]) -> str:
            return "label" if tells(match[0]) and not match[0].isupper() else match[0]

        for element in (
            element for tree in self._trees.values() for element in tree.iter(*_LABELS)
        ):
            for attribute in (f"{_W}val", f"{_W}name", f"{_W}styleId", f"{_W}anchor"):
                value = element.get(attribute, "")
                if tells(value):
                    element.set(attribute, new.setdefault(value, f"label{len(new) + 1}"))
        for piece in self._pieces:
            if piece.element.tag in _CODES:
                text = piece.text if any(old in piece.text for old in new) else piece.element.text
                for old in sorted(new, key=len, reverse=True):
                    text = text.replace(old, new[old])
                piece.put(re.sub(r"\w+", other, text))

    def _remove_lines(self, edits: Sequence[Edit]) -> None:
        """Take out paragraphs that were removed with their end, and rows and tables of such, where a document can be without them."""
        last = len(self.text)
        removed = [
            (start, end)
            for start, end, new in edits
            if not new and ("\n" in self.text[start:end] or end == last)
        ]
        gone = {
            paragraph: paragraph.getparent()
            for begin, after, paragraph in (self._lines if removed else ())
            if any(start <= begin and min(after, last) <= end for start, end in removed)
            and not any(True for _ in paragraph.iter(f"{_W}sectPr", *_SHOWS))
        }
        tables = (
            [e for tree in self._trees.values() for e in tree.iter(f"{_W}tbl", f"{_W}tr")]
            if gone
            else []
        )
        for element in tables:
            if all(paragraph in gone for paragraph in element.iter(f"{_W}p")):
                element.getparent().remove(element)
        for paragraph, parent in gone.items():
            if sum(sibling.tag == paragraph.tag for sibling in parent) > 1:
                parent.remove(paragraph)

    def save(self) -> bytes:
        """The file, from its parts alone; the same bytes at all times."""
        types = self._tree(_TYPES)
        for element in list(types):
            name = element.get("PartName", "").lstrip("/")
            if name and name not in self._kinds:
                types.remove(element)
            elif name in self._new_names:
                element.set("PartName", f"/{self._new_names[name]}")
        out = BytesIO()
        with ZipFile(out, "w", ZIP_DEFLATED) as archive:
            for name in (
                _TYPES,
                *(name for name in self._members if name in self._trees or name in self._kinds),
            ):
                tree = types if name == _TYPES else self._trees.get(name)
                data = (
                    self._members[name]
                    if tree is None
                    else self._etree.tostring(tree, encoding="UTF-8", standalone=True)
                )
                archive.writestr(ZipInfo(self._new_names.get(name, name)), data, ZIP_DEFLATED)
        return out.getvalue()


def _pieces_of(paragraph: Any) -> Iterator[_Piece]:
    """YIELDS (_Piece): Those of a paragraph, without the paragraphs of a text box in it."""
    inside = [(child, False, False) for child in reversed(paragraph)]
    while inside:
        element, deleted, inserted = inside.pop()
        tag = element.tag
        if tag == f"{_W}p":
            continue
        if tag in _SIGNS and element.getparent().tag == f"{_W}r":
            yield _Piece(element, _SIGNS[tag], fixed=True, deleted=deleted, inserted=inserted)
        elif tag in _CODES or (tag.rpartition("}")[2] in ("t", "delText") and len(element) == 0):
            deleted = deleted or tag == f"{_W}delText"
            if element.text:
                yield _Piece(element, element.text, deleted=deleted, inserted=inserted)
        else:
            deleted, inserted = (
                deleted or tag in _DELETED,
                inserted or tag in (f"{_W}ins", f"{_W}moveTo"),
            )
            inside += [(child, deleted, inserted) for child in reversed(element)]


def _word_by_word(text: str, edit: Edit) -> list[Edit]:
    """An edit as one for each word, where both texts have as many, so that each run keeps its own; else as it is."""
    start, end, new = edit
    old_words, new_words = (re.findall(r"\s+|\S+", part) for part in (text[start:end], new))
    spaces_of = [
        [word if word.isspace() else "" for word in words] for words in (old_words, new_words)
    ]
    if spaces_of[0] != spaces_of[1]:
        return [edit]
    out = []
    for old, word in zip(old_words, new_words, strict=True):
        if not old.isspace():
            out.append((start, start + len(old), word))
        start += len(old)
    return out


def unzip(data: bytes) -> dict[str, bytes]:
    """What is in a small archive. RAISES (_UnreadableError): E656, E565. What zipfile raises."""
    out: dict[str, bytes] = {}
    with ZipFile(BytesIO(data)) as archive:
        infos = archive.infolist()
        if any(info.flag_bits & 1 for info in infos):
            raise _UnreadableError(Errors.E656)
        xml = sum(info.file_size for info in infos if info.filename.endswith((".xml", _RELS)))
        if xml > MAX_XML or sum(info.file_size for info in infos) > MAX_BYTES:
            raise _UnreadableError(Errors.E565, limit=MAX_XML if xml > MAX_XML else MAX_BYTES)
        for info in infos:
            out[info.filename] = archive.read(info)
    return out


def read_docx(data: bytes, number: int, name: str) -> Record | Skip:
    """The text of one .docx; `body` is its name, its kind and where it came from, `unread` what was not read. E005 without lxml."""
    try:
        document = Docx(data)
    except ImportError:
        return Skip.of(
            Errors.E005, number=number, package="lxml", what="reading .docx", extra="documents"
        )
    except _UnreadableError as err:
        return Skip.of(err.template, number=number, **err.values)
    if not document.text.strip():
        return Skip.of(Errors.E530, number=number)
    unread = tuple(document.unread.elements())
    others = (("(file name)", name),)
    return Record(
        number, name, document.text, body=(name, ("docx", b""), name), others=others, unread=unread
    )


def write_docx(data: bytes, old: str, new: str, edits: Sequence[Edit], *, number: int = 1) -> bytes:
    """The document with a new text. data (bytes): As `read_docx` took it, and gave `old`. edits: What makes `new` of it; sorted, without
    overlaps. RAISES (PiiError): E568, if they do not."""
    document = Docx(data)
    if (
        document.text != old
        or apply_replacements(old, [Replacement(*edit) for edit in edits])[0] != new
    ):
        raise PiiError(Errors.E568, number=number)
    document.replace(edits)
    return document.save()


def read_pdf(data: bytes, number: int, name: str, *, max_pages: int = 0) -> Record | Skip:
    """The text of one PDF, by PDFium: its pages in order, joined by a line break; `body` is the number of pages.

    RAISES (PiiError): E005, if pypdfium2 is not installed."""
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
    """PDFium ends lines as Windows does, and has signs of its own for a hyphen at the end of one."""
    textpage = page.get_textpage()
    try:
        text = textpage.get_text_range()
    finally:
        textpage.close()
        page.close()
    return (
        str(text)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\ufffe", "-")
        .replace("\x02", "-")
        .replace("\0", "")
    )
