"""The text of documents: every place where one can stand, broken files. All names are invented."""

import pytest

from pii_components.files import sources as documents
from pii_components.files.record import Record, Skip
from pii_components.files.sources import open_source, read_docx, read_pdf
from scripts.common import make_pdf
from tests.files.made_docx import full_docx, part, plain_docx, repack, run

FULL = """a header

By Ina Sorel
Bo Prath
here
write

in a box
one\ttwo
e-mail
chosen

a footer

a note

a comment"""


def test_every_place_of_a_text_is_read():
    record = read_docx(full_docx(), 1, "a.docx")
    assert isinstance(record, Record) and record.text == FULL
    assert record.unread == ("image",)


def test_paragraphs_and_cells_are_lines():
    row = "".join(f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in ("Name", "Ina"))
    table = part("document", run("By")).replace(
        "</w:document>", f"<w:tbl><w:tr>{row}</w:tr></w:tbl></w:document>"
    )
    record = read_docx(repack(plain_docx("x"), document=table), 1, "a.docx")
    assert isinstance(record, Record) and record.text == "By\nName\nIna"


def test_a_document_becomes_a_text(tmp_path):
    (tmp_path / "essay.docx").write_bytes(plain_docx("I am Ina Sorel.", "", "A map helps."))
    (item,) = open_source(tmp_path / "essay.docx")
    assert (item.id, item.text) == ("essay", "I am Ina Sorel.\n\nA map helps.")
    (item,) = open_source(tmp_path)
    assert item.id == "essay.docx.txt"


BILLION = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><x>&b;</x>'
BROKEN = [
    ("no archive", lambda data: b"x", "E657"),
    ("cut off", lambda data: data[: len(data) // 2], "E657"),
    ("nothing", lambda data: b"", "E657"),
    (
        "a flipped byte",
        lambda data: data.replace(b"word/document.xml", b"word/d0cument.xml", 1),
        "E657",
    ),
    ("an encrypted one, or .doc", lambda data: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + data, "E656"),
    ("broken XML", lambda data: repack(data, document="<w:document>"), "E657"),
    ("a document type", lambda data: repack(data, document=BILLION), "E657"),
    ("no text", lambda data: repack(data, document="<document/>"), "E530"),
    ("an empty one", lambda data: plain_docx("", " "), "E530"),
]


@pytest.mark.parametrize(("name", "damage", "code"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_broken_documents_are_set_aside(name, damage, code):
    item = read_docx(damage(plain_docx("Ina Sorel")), 1, "a.docx")
    assert isinstance(item, Skip) and item.code == code and "Ina" not in str(item.error)


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(documents, "MAX_XML", 100_000)
    item = read_docx(repack(plain_docx("x"), document="<x>" + " " * 200_000 + "</x>"), 1, "a.docx")
    assert isinstance(item, Skip) and item.code == "E565"


def test_missing_packages_are_told(monkeypatch, tmp_path):
    (tmp_path / "a.docx").write_bytes(plain_docx("x"))
    (tmp_path / "b.pdf").write_bytes(make_pdf("x"))
    monkeypatch.setitem(__import__("sys").modules, "lxml.etree", None)
    monkeypatch.setitem(__import__("sys").modules, "pypdfium2", None)
    codes = [item.code for item in open_source(tmp_path) if isinstance(item, Skip)]
    assert codes == ["E005", "E005"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (make_pdf("x", locked=True), "E656"),
        (make_pdf(""), "E658"),
        (b"x", "E657"),
        (b"%PDF-1.4", "E657"),
        (make_pdf("x" * 99)[:120], "E657"),
    ],
)
def test_broken_pdfs_are_set_aside(data, code):
    item = read_pdf(data, 1, "a.pdf")
    assert isinstance(item, Skip) and item.code == code
