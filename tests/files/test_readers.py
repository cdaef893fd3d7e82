"""Readers and writers: every form, what is skipped, what comes out unchanged. All texts are invented."""

import codecs
import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.files.record import Record, Skip, detect_encoding, show_fields
from pii_components.files.sources import open_source
from pii_components.files.tables import parse_object, plain_cell, safe_cell
from pii_components.files.writers import open_writer, partial_path
from tests.cli.conftest import put


def copy(source_path: Path, out: Path, change=lambda text: text, **options) -> list[Skip]:
    """Read a file and write it with `change` on every text."""
    source = open_source(source_path, **options)
    writer = open_writer(source, out)
    writer.start()
    skips = []
    for item in source:
        if isinstance(item, Skip):
            skips.append(item)
        else:
            writer.write(item, change(item.text))
    writer.finish()
    return skips


OPENING_ERRORS = [
    ("missing.txt", None, {}, "E501"),
    ("essay.doc", "x", {}, "E502"),
    ("folder/notes.doc", "x", {}, "E503"),
    ("essay", "x", {}, "E502"),
    ("empty.txt", "", {}, "E503"),
    ("only_bom.txt", codecs.BOM_UTF8, {}, "E503"),
    ("empty.csv", "", {}, "E503"),
    ("blank.csv", "\n\n  \n", {}, "E503"),
    ("empty.jsonl", "", {}, "E503"),
    ("blank.jsonl", " \n\t\n", {}, "E503"),
    ("empty.json", "[ ]", {}, "E503"),
    ("no_column.csv", "id,essay\n1,x\n", {"text_field": "body"}, "E652"),
    ("no_id.csv", "id,essay\n1,x\n", {"id_field": "number"}, "E652"),
    ("no_drop.csv", "id,essay\n1,x\n", {"drop": ["name"]}, "E652"),
    ("which.csv", "id,words\n1,x\n", {}, "E506"),
    ("no_field.jsonl", '{"a": 1, "b": "x"}\n', {"text_field": "c"}, "E652"),
    ("which.jsonl", '{"a": 1, "b": "x"}\n', {}, "E506"),
    ("twice.csv", "text,text\n1,x\n", {}, "E507"),
    ("codec.csv", "id,text\n1,x\n", {"encoding": "utf-9"}, "E508"),
    ("codec.txt", "x", {"encoding": "rot13"}, "E508"),
    ("codec.jsonl", '{"text": "x"}\n', {"encoding": "base64"}, "E508"),
    ("none_good.jsonl", "{a}\nb\n", {}, "E521"),
    ("broken.json", '[{"text": ', {}, "E521"),
    ("cut.json", '[{"text": "fine"}, {"text": "fine"}, {"te', {}, "E521"),
    ("comma.json", '[{"text": "fine"} {"text": "fine"}]', {}, "E521"),
    ("more.json", '[{"text": "fine"}] x', {}, "E521"),
]


@pytest.mark.parametrize(
    ("name", "content", "options", "code"),
    OPENING_ERRORS,
    ids=[case[0] + case[3] for case in OPENING_ERRORS],
)
def test_what_cannot_be_opened_has_a_code(tmp_path, name, content, options, code):
    path = tmp_path / name
    if content is not None:
        put(path, content)
    path = tmp_path / "folder" if name.startswith("folder") else path
    with pytest.raises(PiiError, match=code):
        open_source(path, **options)


SKIPS = [
    ("bad.csv", b"id,text\n1,fine\n2,ze\xffbra\n3,fine\n", [(2, "E520")]),
    ("bad_other.csv", b"id,text\n1,fine\n\xff,fine\n3,fine\n", [(2, "E520")]),
    (
        "quotes.csv",
        b'id,text\n1,fine\n2,fine\n3,"in"side"\n4,fine\n',
        [(2, "E524"), (3, "E524"), (4, "E524")],
    ),
    ("open_quote.csv", b'id,text\n0,fine\n1,fine\n2,"never closed\n', [(2, "E524"), (3, "E524")]),
    (
        "spilt.csv",
        b"id,text\n1,fine\n2,fine\n3,one, two\n4,fine\n",
        [(2, "E524"), (3, "E524"), (4, "E524")],
    ),
    ("short.csv", b"id,text\n1,fine\n2,fine\n3\n4,fine\n", [(2, "E524"), (3, "E524"), (4, "E524")]),
    ("bad.jsonl", b'{"text": "fine"}\n{"text": "ze\xffbra"}\n{"text": "fine"}\n', [(2, "E520")]),
    ("half.jsonl", b'{"text": "fine"}\n{"text": "half \\ud83d"}\n', [(2, "E520")]),
    (
        "malformed.jsonl",
        b'{"text": "fine"}\n{"text": "open\n{"text": "fine"} x\n[1]\n"x"\n',
        [(2, "E521"), (3, "E521"), (4, "E521"), (5, "E521")],
    ),
    (
        "no_field.jsonl",
        b'{"text": "fine"}\n{"words": "x"}\n{"text": "a", "text": "b"}\n',
        [(2, "E522"), (3, "E521")],
    ),
    ("type.jsonl", b'{"text": "fine"}\n{"text": 3}\n{"text": ["a"]}\n', [(2, "E624"), (3, "E624")]),
    (
        "tokens.jsonl",
        b'{"text": "a b", "tokens": ["a", "c"], "trailing_whitespace": [true, false]}\n{"text": "fine"}\n',
        [(1, "E529")],
    ),
    ("array.json", b'[{"text": "fine"}, 3, {"text": "fine"}]', [(2, "E521")]),
    ("deep.jsonl", b'{"text": "fine"}\n' + b'{"a":' * 100_000 + b"\n", [(2, "E521")]),
]


@pytest.mark.parametrize(("name", "content", "expected"), SKIPS, ids=[case[0] for case in SKIPS])
def test_bad_record_is_skipped_and_the_others_are_read(tmp_path, name, content, expected):
    items = list(open_source(put(tmp_path / name, content)))
    assert [(item.number, item.code) for item in items if isinstance(item, Skip)] == expected
    good = [item for item in items if isinstance(item, Record)]
    assert good and {item.text for item in good} == {"fine"}
    for item in items:
        assert not isinstance(item, Skip) or "bra" not in str(item.error)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("wanted", ["", "text"])
def test_delimiter_is_found(tmp_path, delimiter, wanted):
    path = put(
        tmp_path / "a.csv", f'id{delimiter}text{delimiter}"x, y; z"\n1{delimiter}fine{delimiter}w\n'
    )
    source = open_source(path, text_field=wanted)
    assert [item.text for item in source] == ["fine"]
    assert source.others == ["id", "x, y; z"]


@pytest.mark.parametrize(
    ("head", "given_encoding", "expected"),
    [
        (b"id", "utf-8", ("utf-8", b"")),
        (codecs.BOM_UTF8 + b"i", "utf-8", ("utf-8", codecs.BOM_UTF8)),
        (codecs.BOM_UTF8 + b"i", "utf-8-sig", ("utf-8", codecs.BOM_UTF8)),
        (b"id", "utf-8-sig", ("utf-8", b"")),
        (codecs.BOM_UTF16_LE + b"i\0", "utf-8", ("utf-16-le", codecs.BOM_UTF16_LE)),
        (codecs.BOM_UTF16_BE + b"\0i", "utf-16", ("utf-16-be", codecs.BOM_UTF16_BE)),
        (codecs.BOM_UTF32_LE + b"i\0\0\0", "utf-8", ("utf-32-le", codecs.BOM_UTF32_LE)),
        (codecs.BOM_UTF8 + b"i", "cp1252", ("utf-8", codecs.BOM_UTF8)),
        *[
            ("“Ilse Okoro”".encode(codec), given, (codec, b""))
            for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8")
            for given in ("utf-8", "cp1252", "utf-16")
        ],
        (b"Ilse \0 Okoro", "utf-8", ("utf-8", b"")),
        (b"i\0l\0\0\0", "utf-8", ("utf-8", b"")),
        (b"Ilse", "utf-16", ("utf-8", b"")),
        ("奥科罗".encode("utf-16-le"), "utf-16", ("utf-16-le", b"")),
        (b"Jos\xe9", "cp1252", ("cp1252", b"")),
        (b"x" * 5000 + "José".encode(), "cp1252", ("utf-8", b"")),
        (b"id", "LATIN1", ("iso8859-1", b"")),
    ],
)
def test_encoding_and_mark(head, given_encoding, expected):
    assert detect_encoding(io.BytesIO(head), given_encoding) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl", "json"])
def test_copy_of_every_form_in_every_encoding_is_the_same_file(tmp_path, encoding, suffix):
    content = {
        "txt": "Café\r\nnaïve\n\tend  ",
        "csv": 'id,text\r\n1,"Café ""x"", y"\r\n2,naïve\r\n',
        "jsonl": '{"id": 1.5, "text": "Café"}\n{"text": "x", "n": [1, null]}\n',
        "json": '[\n{"id": 1.5, "text": "Café"},\n{"text": "x", "n": {"a": 1e+20}}\n]\n',
    }[suffix]
    path = put(tmp_path / f"in.{suffix}", content.encode(encoding))
    options = {"encoding": encoding} if encoding == "cp1252" else {}
    assert copy(path, tmp_path / f"out.{suffix}", **options) == []
    assert (tmp_path / f"out.{suffix}").read_bytes() == path.read_bytes()


def test_quoted_header_means_quoted_cells(tmp_path):
    path = put(tmp_path / "in.csv", '"id","text"\n"1","fine"\n')
    copy(path, tmp_path / "out.csv", str.upper)
    assert (tmp_path / "out.csv").read_text() == '"id","text"\n"1","FINE"\n'


def test_headers_that_hold_a_text_are_not_shown():
    assert (
        show_fields(["id", "My name is Ana and I wrote this essay about a queue", "a\nb", ""])
        == "id, column 2, column 3, column 4"
    )


def test_huge_cell_is_read(tmp_path):
    text = "word " * 100_000
    path = put(tmp_path / "in.csv", f'id,text\n1,"{text}"\n2,fine\n')
    assert [len(item.text) for item in open_source(path)] == [len(text), 4]


# The rows behind "id,text", and what is read: "id" of a record, code and line of a skip.
BROKEN = {
    "unclosed": ('1,fine\n2,fine\n3,"open\n4,fine\n5,fine\n', "1 E524:3 E524:4 E524:5 5"),
    "unclosed over lines": (
        '1,fine\n2,"open\nmy aunt, Ilse\nand three\n3,"fi\nne"\n4,fine\n',
        "E524:2 E524:3 E524:4 E524:5 E524:6 4",
    ),
    "stray over lines": (
        '1,fine\n2,"say "hi" to\nmy aunt, Ilse\nand go, now"\n3,fine\n4,fine\n',
        "E524:2 E524:3 E524:4 E524:5 E524:6 4",
    ),
    "unopened over lines": (
        '1,fine\n2,"so\nit"\n3,and so\nmy aunt, Ilse\nsaid hi"\n4,fine\n5,fine\n',
        "1 2 3 E524:6 E524:7 E524:8 5",
    ),
    "unopened, two lines": (
        '1,fine\n2,and so\nmy aunt, Ilse"\n3,fine\n4,fine\n',
        "1 E524:3 E524:4 E524:5 4",
    ),
    "unquoted over lines": (
        "1,fine\n2\nmy aunt, Ilse\n3,fine\n",
        "E524:2 E524:3 E524:4 3",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_row_takes_no_other_along_and_puts_no_text_into_other_columns(tmp_path, case):
    rows, expected = BROKEN[case]
    items = list(open_source(put(tmp_path / "in.csv", "id,text\n" + rows)))
    found = [
        f"{i.code}:{i.line}" if isinstance(i, Skip) else i.body[0].replace(" ", "_") for i in items
    ]
    assert " ".join(found) == expected
    assert [item.number for item in items] == list(range(1, len(items) + 1))
    assert all(
        "Ilse" not in str(item.error) and f"line {item.line}" in str(item.error)
        for item in items
        if isinstance(item, Skip)
    )


def test_many_broken_rows_are_read_in_linear_time(tmp_path):
    rows = "".join(f'{i},"open\n' if i % 4 else f'{i},""\n' for i in range(1, 60_001))
    items = list(open_source(put(tmp_path / "in.csv", f"id,text\n{rows}")))
    assert len(items) == 60_000 and all(isinstance(item, Skip) for item in items)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
ROWS = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS, delimiter=st.sampled_from(",;\t|"), line_end=st.sampled_from(["\n", "\r\n"]))
def test_csv_round_trip(tmp_path, rows, delimiter, line_end):
    buffer = io.StringIO()
    # Python's own writer forgets the quotes around a lone carriage return, so ask for all of them.
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    writer.writerows([("id", "text", "note"), *rows])
    path = put(tmp_path / "in.csv", buffer.getvalue())
    assert copy(path, tmp_path / "out.csv") == []
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()
    minimal = put(tmp_path / "minimal.csv", buffer.getvalue().replace('"id"', "id", 1))
    assert copy(minimal, tmp_path / "out2.csv") == []
    with open(tmp_path / "out2.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter=delimiter))[1:] == [list(row) for row in rows]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+2", "'=1+2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("- a point", "'- a point"),
        ("+48 555 0100", "'+48 555 0100"),
        ("\tI am", "'\tI am"),
        ("\rI am", "'\rI am"),
        ("--", "'--"),
        ("-1-2", "'-1-2"),
        ("'=1", "''=1"),
        ("-3.5", "-3.5"),
        ("-1,5e-3", "-1,5e-3"),
        ("-4%", "-4%"),
        ("-", "-"),
        ("", ""),
        ("'tis", "'tis"),
        ("a=b", "a=b"),
        (" =1", " =1"),
    ],
)
def test_what_a_spreadsheet_would_run_has_an_apostrophe_and_is_read_without(cell, written):
    assert (safe_cell(cell), plain_cell(written)) == (written, cell)


@given(cell=CELL | st.tuples(st.sampled_from(["'", "''", "=", "-", "'@", "\t"]), CELL).map("".join))
def test_every_cell_comes_back(cell):
    assert plain_cell(safe_cell(cell)) == cell and safe_cell(
        plain_cell(safe_cell(cell))
    ) == safe_cell(cell)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | CELL,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELL, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(
    record=st.dictionaries(CELL, JSON, max_size=4),
    text=CELL,
    new=CELL,
    ascii_only=st.booleans(),
)
def test_a_new_text_changes_no_other_field(record, text, new, ascii_only):
    raw = json.dumps({**record, "the text": text}, ensure_ascii=ascii_only)
    out = parse_object(raw).to_json({"the text": new})
    assert json.loads(out) == {**record, "the text": new}
    assert out.isascii() or not raw.isascii()


@pytest.mark.parametrize(
    "raw",
    ["", "[]", "{", '{"a":1,}', '{"a":1} x', "null", '{"a":1, "a":2}', '{"b":{"a":1, "a":2}}'],
)
def test_what_is_no_object_is_refused(raw):
    with pytest.raises(ValueError):
        parse_object(raw)


def test_a_broken_array_is_refused_with_its_line(tmp_path):
    rows = [{"id": i, "text": f'fine {{["é ]}}, {i}' * (i % 7)} for i in range(60)]
    content = json.dumps(rows, ensure_ascii=False, indent=2)
    path = put(tmp_path / "in.json", content)
    assert [item.text for item in open_source(path)] == [row["text"] for row in rows]
    lines = content.split("\n")
    at = next(i for i in range(90, 200) if '"text"' in lines[i])
    lines[at] = lines[at].replace('"', "", 1)
    with pytest.raises(PiiError) as err:
        open_source(put(tmp_path / "broken.json", "\n".join(lines)))
    assert err.value.code == "E521" and f"line {at + 1}" in str(err.value)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "txt"])
def test_taking_up_a_partial_file_gives_the_same_file(tmp_path, suffix):
    texts = ["one", "two é", "three", "four"]
    content = {
        "csv": "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)),
        "jsonl": "".join(json.dumps({"text": text}) + "\n" for text in texts),
        "json": json.dumps([{"text": text} for text in texts]),
        "txt": texts[0],
    }[suffix]
    path = put(tmp_path / f"in.{suffix}", content)
    copy(path, tmp_path / f"whole.{suffix}", str.upper)
    for done in range(len(texts) + 1):
        out = tmp_path / f"out{done}.{suffix}"
        first = open_writer(open_source(path), out)
        first.start()
        items = list(open_source(path))
        for item in items[:done]:
            first.write(item, item.text.upper())
        safe = first.sync()
        for item in items[done : done + 1]:
            first.write(item, "NOT COUNTED, LONGER THAN WHAT COMES")
        first.stop()
        if suffix == "json":
            assert isinstance(json.loads(partial_path(out).read_text()), list)
        second = open_writer(open_source(path), out)
        second.start(safe)
        for item in items[done:]:
            second.write(item, item.text.upper())
        second.finish()
        assert out.read_bytes() == (tmp_path / f"whole.{suffix}").read_bytes()
        assert not partial_path(out).exists()


def test_character_that_the_encoding_lacks_is_a_coded_error(tmp_path):
    source = open_source(put(tmp_path / "in.txt", "cafe".encode("cp1252")), encoding="cp1252")
    writer = open_writer(source, tmp_path / "out.txt")
    writer.start()
    with pytest.raises(PiiError) as err:
        writer.write(next(iter(source)), "Łucja")
    writer.stop()
    assert err.value.code == "E538"
