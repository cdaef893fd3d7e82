"""Documents in and out: every place where a name can stand, broken files. All names are invented."""

import io
import re
import zipfile

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.files import documents
from pii_components.files.documents import read_docx, read_pdf, write_docx
from pii_components.files.record import Record, Skip
from pii_components.files.sources import open_source
from pii_components.offsets import Replacement, apply_replacements
from scripts.common import make_pdf
from tests.files.made_docx import NAMES, change, edits_for, full_docx, plain_docx, xml_of


def rewritten(data: bytes, new: str = "Mia Rossetti") -> tuple[str, bytes]:
    """The new text, and the new file, with every name of `NAMES` replaced."""
    record = read_docx(data, 1, "a.docx")
    assert isinstance(record, Record)
    edits = edits_for(record.text, new)
    text = apply_replacements(record.text, [Replacement(*edit) for edit in edits])[0]
    return text, write_docx(data, record.text, text, edits)


def test_no_name_is_left_in_any_byte():
    data = full_docx()
    before = {
        name: content
        for name, content in xml_of(data).items()
        if any(part in content for part in NAMES)
    }
    places = "document header1 footer1 footnotes comments core app people styles item9 chart1 sheet1 settings.xml.rels"
    assert all(any(place in name for name in before) for place in places.split())
    text, out = rewritten(data)
    for name, content in xml_of(out).items():
        assert [part for part in (*NAMES, "sorel") if part in content + name] == [], name
    again = read_docx(out, 1, "a.docx")
    assert isinstance(again, Record) and re.sub(r"REF \w+", "", again.text) == re.sub(
        r"REF \w+", "", text
    )


def test_the_rest_stays():
    data = full_docx()
    _, out = rewritten(data)
    paragraphs = docx.Document(io.BytesIO(out)).paragraphs
    assert [(run.text, run.bold) for run in paragraphs[0].runs] == [
        ("By ", None),
        ("Mia ", True),
        ("Rossetti.", None),
    ]
    assert [name for name in xml_of(out) if "media" in name] == ["word/media/picture0.png"]
    record = read_docx(data, 1, "a.docx")
    assert isinstance(record, Record) and {
        "image",
        "customXml",
        "thumbnail",
        "linked file",
        "charts",
    } <= set(record.unread)
    assert (
        'r:id="rIdChart"' not in xml_of(out)["word/document.xml"]
        and "rIdChart" in xml_of(data)["word/document.xml"]
    )
    kept = xml_of(out)
    targets = "".join(content for name, content in kept.items() if name.endswith(".rels"))
    assert (
        "customXml" not in targets and "charts" not in targets and "attachedTemplate" not in targets
    )
    assert "charts" not in kept["[Content_Types].xml"]
    assert (
        "REF label" in kept["word/document.xml"] and 'w:anchor="label' in kept["word/document.xml"]
    )
    (style,) = [
        style for style in docx.Document(io.BytesIO(out)).styles if style.name.startswith("label")
    ]
    assert f'<w:pStyle w:val="{style.style_id}"' in kept["word/document.xml"]


def test_authors_become_what_the_text_says_or_numbers():
    _, out = rewritten(full_docx())
    parts = xml_of(out)
    assert (
        'w:author="Mia Rossetti"' in parts["word/document.xml"]
        and "<dc:creator>Mia Rossetti<" in parts["docProps/core.xml"]
    )
    assert (
        'w:author="Author 1"' in parts["word/comments.xml"]
        and 'w:initials="A"' in parts["word/comments.xml"]
    )


CHANGES = [
    (
        "By <d>Ina Sorel</d><i>the writer</i>.",
        "By the writer.\nBy Ina Sorel.",
        "By the writer.\nBy Mia Rossetti.",
    ),
    ("By <d>Ina </d>Sorel.", "By Sorel.\nBy Ina Sorel.", "By Rossetti.\nBy Mia Rossetti."),
    ("<i>Ina </i>Sorel wrote.", "Ina Sorel wrote.", "Mia Rossetti wrote."),
    ("I<d>n</d><i>na</i>a and <d><i>Ina Sorel</i></d>.", "Inaa and .\nIna and Ina Sorel.", None),
]


@pytest.mark.parametrize(("marked", "text", "new"), CHANGES)
def test_a_tracked_change_is_read_as_it_is_and_as_it_was(marked, text, new):
    data = change(plain_docx("x"), marked)
    record = read_docx(data, 1, "a.docx")
    assert isinstance(record, Record) and record.text == text
    got, out = rewritten(data)
    assert not any(part in "".join(xml_of(out).values()) for part in ("Ina", "Sorel"))
    if new:
        again = read_docx(out, 1, "a.docx")
        assert isinstance(again, Record) and again.text == got == new


def test_a_header_that_is_removed_takes_its_paragraphs_along():
    data = plain_docx("Ina Sorel", "Odile Prath", "", "The map", "A map helps.")
    record = read_docx(data, 1, "a.docx")
    assert isinstance(record, Record)
    end = record.text.index("The map")
    out = write_docx(data, record.text, record.text[end:], [(0, end, "")])
    assert [paragraph.text for paragraph in docx.Document(io.BytesIO(out)).paragraphs] == [
        "The map",
        "A map helps.",
    ]


def test_a_header_in_a_table_takes_its_rows_and_the_table_along():
    made = docx.Document()
    for rows in (
        [("Name", "Ina Sorel"), ("Teacher", "Odile Prath")],
        [("Ina Sorel", "page"), ("River", "long")],
    ):
        table = made.add_table(rows=0, cols=2)
        for cells in rows:
            for cell, text in zip(table.add_row().cells, cells, strict=True):
                cell.text = text
        made.add_paragraph("A map helps.")
    made.add_paragraph("Ina Sorel 2")
    file = io.BytesIO()
    made.save(file)
    record = read_docx(file.getvalue(), 1, "a.docx")
    assert isinstance(record, Record)
    text = record.text
    places = [
        (0, text.index("A map")),
        (text.index("Ina Sorel\npage"), text.index("River")),
        (text.index("Ina Sorel 2"), len(text)),
    ]
    edits = [(start, end, "") for start, end in places]
    out = write_docx(
        file.getvalue(),
        text,
        apply_replacements(text, [Replacement(*edit) for edit in edits])[0],
        edits,
    )
    again = docx.Document(io.BytesIO(out))
    assert [
        [[cell.text for cell in row.cells] for row in table.rows] for table in again.tables
    ] == [[["River", "long"]]]
    assert [paragraph.text for paragraph in again.paragraphs] == ["A map helps."] * 2
    assert not any(
        name in part for part in xml_of(out).values() for name in ("Ina", "Sorel", "Odile", "Prath")
    )


def test_edits_must_make_the_new_text():
    data = plain_docx("Ina Sorel")
    for old, new, edits in (("Ina Sorel", "Mia", [(0, 3, "Mia")]), ("Ina", "Mia", [(0, 3, "Mia")])):
        with pytest.raises(PiiError) as err:
            write_docx(data, old, new, edits)
        assert err.value.code == "E568"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text("ab \t\n", max_size=4), max_size=4), min_size=1, max_size=4),
    st.data(),
)
def test_any_edits_give_the_new_text(paragraphs, data):
    made = docx.Document()
    for runs in [["x"], *paragraphs]:
        paragraph = made.add_paragraph()
        for run in runs:
            paragraph.add_run(run)
    file = io.BytesIO()
    made.save(file)
    record = read_docx(file.getvalue(), 1, "a.docx")
    assert isinstance(record, Record)
    # Any stretches inside of lines, each of which begins at a letter: a tab or a line break cannot hold a new text.
    places = sorted(data.draw(st.sets(st.integers(0, len(record.text)), max_size=6)))
    edits = [
        (a, b, data.draw(st.text("XY ", min_size=1, max_size=3)))
        for a, b in zip(places[::2], places[1::2], strict=False)
        if record.text[a] in "ab" and "\n" not in record.text[a:b]
    ]
    new = apply_replacements(record.text, [Replacement(*edit) for edit in edits])[0]
    again = read_docx(write_docx(file.getvalue(), record.text, new, edits), 1, "a.docx")
    assert isinstance(again, Record) and again.text == new.rstrip("\n")


def repack(data: bytes, **changed: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in zipfile.ZipFile(io.BytesIO(data)).infolist() and xml_of(data).items():
            archive.writestr(name, changed.get(name.rpartition("/")[2].partition(".")[0], content))
    return out.getvalue()


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
    ("another dialect", lambda data: repack(data, document="<document/>"), "E657"),
    ("no main part", lambda data: repack(data, **{"[Content_Types]": "<Types/>"}), "E657"),
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
    monkeypatch.setitem(__import__("sys").modules, "lxml", None)
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
