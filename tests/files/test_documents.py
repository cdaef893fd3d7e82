"""The text of documents: every place where one can stand, every form, broken files. All names are invented."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from pii_components.errors import PiiError
from pii_components.files import documents
from pii_components.files.record import Record, Skip
from pii_components.files.sources import open_source, read_file
from pii_components.files.writers import open_writer
from pii_components.offsets import Replacement, apply_replacements
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


def zipped(**members: str | bytes) -> bytes:
    """An archive; "__" in a name stands for a slash, "_xml" at its end for the suffix."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return out.getvalue()


ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODF_NAMES = f'xmlns:o="{ODF}:office:1.0" xmlns:t="{ODF}:text:1.0" xmlns:d="{ODF}:drawing:1.0"'
MANIFEST = "META-INF__manifest_xml"


def odt(body: str, manifest: str = "<m/>") -> bytes:
    styles = f"<o:styles {ODF_NAMES}><o:header><t:p>a header</t:p></o:header></o:styles>"
    content = f"<o:document {ODF_NAMES}>{body}</o:document>"
    return zipped(**{MANIFEST: manifest}, styles_xml=styles, content_xml=content)


ODT = odt(
    "<t:tracked-changes><t:deletion><t:p>gone</t:p></t:deletion></t:tracked-changes>"
    "<t:h>A title</t:h><t:p>By <t:span>Ina</t:span> Sorel<t:s t:c='2'/>and<t:tab/>Bo<t:line-break/>"
    "<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>a note</t:p></t:note-body></t:note>"
    "<o:annotation><o:creator>Odile</o:creator><t:p>a comment</t:p></o:annotation>end</t:p>"
    "<t:p><d:text-box><t:p>in a box</t:p></d:text-box></t:p>"
)
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def slide(*lines: str) -> str:
    shown = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<a:sld {A}>{shown}</a:sld>"


PPTX = zipped(
    ppt__slides__slide2_xml=slide("second"),
    ppt__slides__slide10_xml=slide("third"),
    ppt__slides__slide1_xml=slide("By Ina", "first"),
    ppt__notesSlides__notesSlide1_xml=slide("a note"),
    ppt__comments__comment1_xml="<x>not read</x>",
    ppt__media__image1="PNG",
    docProps__core_xml="<x>Odile</x>",
)


def xlsx(*sheets: list[list[str | int]]) -> bytes:
    """A workbook with these rows on its sheets, and a comment."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
        if rows:
            sheet["A1"].comment = openpyxl.comments.Comment("not read", "Odile")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


NOTEBOOK = {
    "metadata": {"authors": ["Odile"]},
    "cells": [
        {"cell_type": "markdown", "source": ["# By Ina\n", "two"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"text": ["one\n"]},
                {"data": {"text/plain": "a result", "image/png": "AAAA"}},
            ],
        },
    ],
}
RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\info{\author Odile}}{\header a header\par}"
    r"By Ren\'e9e.\par{\field{\*\fldinst{HYPERLINK {mailto:x@example.edu}}}{\fldrslt{write}}}\par"
    r"{\deleted gone}end{\footnote a note}{\*\annotation a comment}"
    r"{\shp{\*\shpinst{\shptxt in a box}}}}"
)
MAIL = (
    b"From: Ina Sorel <ina@example.edu>\nSubject: =?utf-8?q?caf=C3=A9?=\n"
    b'Content-Type: multipart/mixed; boundary="x"\n\n'
    b"--x\nContent-Type: text/html\n\n<p>I am <b>l</b>ate.</p>\n"
    b"--x\nContent-Type: image/png\nContent-Disposition: attachment; filename=a.png\n\nAAAA\n--x--\n"
)
MAIL_TEXT = "From: Ina Sorel <ina@example.edu>\nSubject: café\n\nI am late."
DOCX = plain_docx("Ina Sorel")
ROW = "".join(f"<w:tc><w:p>{run(text)}</w:p></w:tc>" for text in ("Name", "Ina"))
ROW_BELOW = f"<w:tbl><w:tr>{ROW}</w:tr></w:tbl></w:document>"
CELLS = repack(DOCX, document=part("document", run("By")).replace("</w:document>", ROW_BELOW))
FORMS = [
    ("a.docx", full_docx(), FULL, ("image",)),
    ("a.docx", CELLS, "By\nName\nIna", ()),
    ("a.docx", repack(DOCX, **{"chunk.html": "<p>Ina</p>"}), "Ina Sorel", ("embeddings",)),
    ("a.md", "# By **Ina**\n", "# By **Ina**", ()),
    (
        "a.html",
        "<head><title>x</title><style>p{}</style></head><p>By <b>I</b>na</p><script>gone</script>"
        "<a href='mailto:x@example.edu'>write</a><!-- gone --><table><tr><td>one</td><td>two</td></table>",
        "By Ina\n\nwrite\none\ntwo",
        (),
    ),
    (
        "a.html",
        b"<meta charset=iso-8859-1><section>By</section><dl><dt>Ina</dt><dd>O\x92Dea</dd></dl>",
        "By\nIna\nO’Dea",
        (),
    ),
    ("a.htm", b"<meta charset=windows-1251><p>\xc8\xed\xe0</p>", "Ина", ()),
    (
        "a.odt",
        ODT,
        "a header\n\nA title\nBy Ina Sorel  and\tBo\nend\na note\na comment\n\nin a box",
        (),
    ),
    ("a.rtf", RTF, "a header\nBy Renée.\nwrite\nend\na note\na comment\nin a box", ()),
    ("a.rtf", r"{\rtf1 Ina \u-10179?\u-8704?\par}", "Ina 😀", ()),
    ("a.ipynb", json.dumps(NOTEBOOK), "# By Ina\ntwo\n\nprint(1)\n\none\n\n\na result", ()),
    (
        "a.vtt",
        "WEBVTT\n\nNOTE gone\n\n00:01.000 --> 00:02.000\n<v Ina Sorel>Hi <i>Bo</i></v>\n\n"
        "00:03.000 --> 00:04.000\nBo: hello\n",
        "Ina Sorel: Hi Bo\nBo: hello",
        (),
    ),
    (
        "a.vtt",
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ina>Hi</v>\n<v Bo O&#39;Dea>Q &amp; A</v>\n",
        "Ina: Hi\nBo O'Dea: Q & A",
        (),
    ),
    ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nI am <b>Ina</b>\n", "I am Ina", ()),
    (
        "a.json",
        '{"by": {"name": "Ina"}, "posts": [{"n": 1, "up": true, "text": "<p>Hi <b>B</b>o</p>"}, null]}',
        "name: Ina\n\nn: 1\ntext: Hi Bo",
        (),
    ),
    ("a.jsonl", '{"text": "one"}\n\n{"text": "two"}\n', "text: one\n\ntext: two", ()),
    ("a.pptx", PPTX, "By Ina\nfirst\n\nsecond\n\nthird\n\na note", ("comments", "image")),
    ("a.eml", MAIL, MAIL_TEXT, ("attachments",)),
    (
        "a.mbox",
        b"From x\n" + MAIL + b"\nFrom y\nSubject: two\n\nBye\n",
        f"{MAIL_TEXT}\n\n\nSubject: two\n\nBye",
        ("attachments",),
    ),
    (
        "a.csv",
        "name;text\nIna;a b\n;c\n",
        "name\n\n␞\n\ntext\n\n␞\n\nname: Ina\n\n␞\n\ntext: a b\n\n␞\n\ntext: c",
        (),
    ),
    (
        "a.xlsx",
        xlsx([["n", "text"], [], [7, "By Ina_x000D_\n.", None]], [["another"]]),
        "n\n\n␞\n\ntext\n\n␞\n\nn: 7\n\n␞\n\ntext: By Ina\r\n.",
        ("comments", "comments", "sheets"),
    ),
]


def as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8")


@pytest.mark.parametrize(("name", "content", "text", "unread"), FORMS, ids=[f[0] for f in FORMS])
def test_every_form_becomes_its_text(name, content, text, unread):
    record = read_file(as_bytes(content), 1, name)
    assert isinstance(record, Record), record
    assert (record.text, record.unread) == (text, unread)


BILLION = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><x>&b;</x>'
BAD = [
    ("a.docx", "x", "E657"),
    ("a.docx", DOCX[: len(DOCX) // 2], "E657"),
    ("a.docx", "", "E657"),
    ("a.docx", DOCX.replace(b"word/document.xml", b"word/d0cument.xml", 1), "E657"),
    ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + DOCX, "E656"),  # encrypted, or a .doc
    ("a.docx", repack(DOCX, document="<w:document>"), "E657"),
    ("a.docx", repack(DOCX, document=BILLION), "E657"),
    ("a.docx", repack(DOCX, document="<document/>"), "E530"),
    ("a.docx", plain_docx("", " "), "E530"),
    ("a.pdf", make_pdf("x", locked=True), "E656"),
    ("a.pdf", make_pdf(""), "E658"),
    ("a.pdf", "x", "E657"),
    ("a.pdf", "%PDF-1.4", "E657"),
    ("a.pdf", make_pdf("x" * 99)[:120], "E657"),
    ("a.md", b"\xff\xfe\xfd", "E520"),
    ("a.html", "<!-- gone -->", "E657"),
    ("a.html", b"<meta charset=klingon>\xff", "E508"),
    ("a.odt", "x", "E657"),
    ("a.odt", ODT[:-30], "E657"),
    ("a.odt", odt("<t:p>x</t:p>", "<m:encryption-data/>"), "E656"),
    ("a.rtf", RTF[:-9], "E657"),
    ("a.rtf", "x", "E657"),
    ("a.ipynb", "{}", "E657"),
    ("a.vtt", "x", "E657"),
    ("a.srt", "x", "E657"),
    ("a.json", '{"a": ', "E657"),
    ("a.json", "[null]", "E530"),
    ("a.jsonl", '{"a": 1}\nx', "E657"),
    ("a.json", "[" * 100_000, "E657"),
    ("a.pptx", zipped(a_xml="<x/>"), "E657"),
    ("a.xlsx", "x", "E657"),
    ("a.xlsx", b"\xd0\xcf\x11\xe0", "E656"),
    ("a.xlsx", xlsx([]), "E530"),
    ("a.csv", 'id,text\n1,"never closed\n', "E524"),
    ("a.csv", "", "E530"),
    ("a.eml", "no head", "E657"),
    ("a.mbox", "no line", "E657"),
]


@pytest.mark.parametrize(("name", "content", "code"), BAD, ids=[f"{n}-{c}" for n, _, c in BAD])
def test_bad_files_are_set_aside_and_the_others_read(tmp_path, name, content, code):
    (tmp_path / name).write_bytes(as_bytes(content))
    (tmp_path / "good.txt").write_text("fine")
    bad, good = open_source(tmp_path)
    assert isinstance(bad, Skip) and (bad.code, bad.id) == (code, name)
    assert "Ina" not in str(bad.error)
    assert isinstance(good, Record) and good.text == "fine"


def replaced(old: str, new: str) -> Callable[[str], tuple]:
    """What makes another text, and says how the first leads there."""

    def change(text: str) -> tuple:
        found = [Replacement(m.start(), m.end(), new) for m in re.finditer(old, text)]
        made, offsets = apply_replacements(text, found)
        return made, None, offsets

    return change


def copied(source: Path, out: Path, change: Callable[[str], tuple] = lambda text: (text,)):
    """Read a folder, an archive or a file and write it. RETURNS (list[str]): Codes of what was skipped."""
    opened = open_source(source)
    writer = open_writer(opened, out)
    writer.start()
    codes = []
    for item in opened:
        if isinstance(item, Skip):
            codes.append(item.code)
        else:
            writer.write(item, *change(item.text))
    writer.finish()
    return codes


def test_archives_in_folders_and_archives_are_read(tmp_path):
    inner = zipped(**{"a.txt": "one", "b.doc": "x", "c.zip": zipped(**{"d.txt": "deep"})})
    (tmp_path / "in/cut.zip").parent.mkdir()
    (tmp_path / "in/cut.zip").write_bytes(inner[:40])
    (tmp_path / "in/week.zip").write_bytes(inner)
    (tmp_path / "all.zip").write_bytes(zipped(**{"cut.zip": inner[:40], "week.zip": inner}))
    for name in ("in", "all.zip"):
        items = {item.id: item for item in open_source(tmp_path / name)}
        assert items.pop("week.zip/a.txt").text == "one"
        assert {name: item.code for name, item in items.items()} == {
            "cut.zip": "E501",
            "week.zip/b.doc": "E551",
            "week.zip/c.zip": "E551",
        }
        assert "save it as .docx" in str(items["week.zip/b.doc"].error)
        assert "unpack it" in str(items["week.zip/c.zip"].error)
        copied(tmp_path / name, tmp_path / "out")
        assert (tmp_path / "out/week.zip/a.txt").read_text() == "one"


TABLE = 'name,q: why?,n\r\nIna,"a\rb, ""c""\nd ",\r\n ,x,1,more\r\n'


def test_a_table_in_a_folder_stays_a_table(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_bytes(TABLE.encode("utf-16"))
    (tmp_path / "in/b.xlsx").write_bytes(xlsx([["name", "n"], ["Ina", 7]]))
    kept = {"c.csv": '"a";"b"\n"1";"2"\n', "d.csv": "Name, Vorname;a\nSorel, Ina;b, c, d\n"}
    for name, content in kept.items():
        (tmp_path / f"kept/{name}").parent.mkdir(exist_ok=True)
        (tmp_path / f"kept/{name}").write_bytes(content.encode())
    copied(tmp_path / "kept", tmp_path / "out")
    assert {name: (tmp_path / "out" / name).read_bytes().decode() for name in kept} == kept
    assert copied(tmp_path / "in", tmp_path / "same") == []
    assert (tmp_path / "same/a.csv").read_bytes().decode("utf-16") == TABLE
    (first, second) = open_source(tmp_path / "in")
    (again, converted) = open_source(tmp_path / "same")
    assert (again.text, converted.text) == (first.text, second.text)
    copied(tmp_path / "in", tmp_path / "out", replaced("Ina", "Odile: B"))
    assert (tmp_path / "out/b.xlsx.csv").read_bytes() == b"name,n\r\nOdile: B,7\r\n"


def test_a_workbook_is_a_table_of_its_own(tmp_path):
    rows = [["id", "text", "n"], ["s1", "By Ina", 1], ["s2", "fine", 2]]
    (tmp_path / "a.xlsx").write_bytes(xlsx([], rows, [["x"]]))
    source = open_source(tmp_path / "a.xlsx", id_field="id", drop=["n"])
    first, second = list(source)
    assert (first.id, first.text, first.unread) == (
        "s1",
        "By Ina",
        ("comments", "comments", "sheets"),
    )
    assert (second.id, second.text, second.unread) == ("s2", "fine", ())
    with pytest.raises(PiiError, match="E511"):
        open_writer(source, tmp_path / "b.xlsx")
    copied(tmp_path / "a.xlsx", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "id,text,n\ns1,By Ina,1\ns2,fine,2\n"


QUALTRICS = (
    'Q1,text\n"Your name, please","Tell us\nof it"\n"{""ImportId"":""QID1""}",{}\n7,By Ina\n'
)


def test_header_lines_of_qualtrics_are_no_records(tmp_path):
    (tmp_path / "a.csv").write_bytes(QUALTRICS.encode("utf-8-sig"))
    (item,) = open_source(tmp_path / "a.csv")
    assert (item.number, item.text, dict(item.others)) == (1, "By Ina", {"Q1": "7"})
    assert item.unread == ("lines of questions below the header",) * 2
    copied(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text("utf-8-sig") == "Q1,text\n7,By Ina\n"
    record = read_file(QUALTRICS.encode(), 1, "a.csv")
    assert record.text.split() == "Q1 ␞ text ␞ Q1: 7 ␞ text: By Ina".split()
    assert record.unread == item.unread


RECOGNISED = [
    ("cp1252", "She didn’t say “yes”, said Renée."),
    ("cp1251", "Меня зовут Наталья, и я живу в Казани."),
    ("cp1253", "Με λένε Ελένη και ζω στη Θεσσαλονίκη."),
    ("gb18030", "我叫王小明，我住在北京。我的妹妹在上海上學。"),
]


@pytest.mark.parametrize(("encoding", "text"), RECOGNISED)
def test_an_encoding_is_recognised_and_told(tmp_path, encoding, text):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(text.encode(encoding))
    (tmp_path / "b.csv").write_bytes(f'id,text\n1,"{text}"\n'.encode(encoding))
    (item,) = open_source(tmp_path / "in")
    assert (item.text, item.encoding) == (text, encoding)
    copied(tmp_path / "in", tmp_path / "out")
    assert (tmp_path / "out/a.txt").read_text("utf-8") == text
    source = open_source(tmp_path / "b.csv")
    assert (source.encoding, source.written_in) == (encoding, "utf-8")
    copied(tmp_path / "b.csv", tmp_path / "c.csv")
    assert text in (tmp_path / "c.csv").read_text("utf-8")


UNSURE = [
    "Zoë paid £50.".encode("cp1252"),  # cp1250 makes Ł of £
    "Jiří Dvořák přišel pozdě.".encode("cp1250"),
    "Renée was late.\n".encode("cp1252") + "Jörg".encode() + b"\x81\x9d",
]


@pytest.mark.parametrize("data", UNSURE)
def test_an_encoding_that_is_not_sure_is_refused(tmp_path, data):
    item = read_file(data, 1, "a.txt")
    assert isinstance(item, Skip) and item.code == "E520"
    item = read_file(data, 1, "a.txt", encoding="latin-1")
    assert isinstance(item, Record) and item.encoding == ""


BILLION = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><x>&b;</x>'


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(documents, "MAX_XML", 100_000)
    bomb = "<x>" + " " * 200_000 + "</x>"
    for name, data in (
        ("a.docx", repack(plain_docx("x"), document=bomb)),
        ("a.pptx", zipped(ppt__slides__slide1_xml=bomb)),
        ("a.xlsx", zipped(xl__workbook_xml=bomb)),
    ):
        item = read_file(data, 1, name)
        assert isinstance(item, Skip) and item.code == "E565"


MODULES = {
    "a.docx": "lxml.etree",
    "a.html": "inscriptis.html_engine",
    "a.pdf": "pypdfium2",
    "a.rtf": "striprtf.striprtf",
    "a.vtt": "webvtt",
    "a.xlsx": "openpyxl",
}


def test_a_cell_far_out_fills_no_memory():
    book = openpyxl.Workbook()
    book.active["XFD1048576"] = "far"
    out = io.BytesIO()
    book.save(out)
    record = read_file(out.getvalue(), 1, "a.xlsx")
    assert isinstance(record, Record) and record.text == "far"


def test_deep_pages_lose_nothing():
    for depth, shown in ((300, ["deep", "end"]), (5000, "E657")):
        item = read_file(b"<div>" * depth + b"deep" + b"</div>" * depth + b"end", 1, "a.html")
        assert (item.text.split() if isinstance(item, Record) else item.code) == shown


def test_missing_packages_are_told(monkeypatch, tmp_path):
    contents = {"a.docx": plain_docx("x"), "a.pdf": make_pdf("x"), "a.html": "x", "a.rtf": RTF}
    for name, module in MODULES.items():
        (tmp_path / name).write_bytes(as_bytes(contents.get(name, "x")))
        monkeypatch.setitem(__import__("sys").modules, module, None)
    items = [item for item in open_source(tmp_path) if isinstance(item, Skip)]
    assert [item.code for item in items] == ["E005"] * len(MODULES)
    assert all("[documents]" in str(item.error) for item in items)
