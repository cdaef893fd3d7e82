"""`pii-edu deidentify` on documents, folders and exports of learning platforms, whole and broken. All names are invented."""

import csv
import errno
import io
import json
import os
import re
import signal
import stat
import zipfile

import pytest

from pii_components.files import writers
from scripts.common import make_pdf
from tests.cli.conftest import ESSAY, files_in, put, report, wait_for_items
from tests.files.made_docx import full_docx, plain_docx

GONE = ("Ina", "Sorel", "20418837", "ina.sorel")
TEXT = "I am Ina Sorel (20418837). Write to ina.sorel@example.edu"
LMS = {
    "sorelina_48211_99310_Essay.docx": plain_docx(TEXT, "A map helps."),
    "sorelina_48211_99311_draft.pdf": make_pdf(TEXT, "As Buzan says."),
    "Ina Sorel_7_assignsubmission_file_/essay.txt": ESSAY.encode(),
    "hw1_isorel_attempt_2024-05-01-10-00-00.txt": b"Name: Ina Sorel",
    "Ina Sorel_7_assignsubmission_onlinetext_/onlinetext.html": b"<p>By <b>Ina</b> Sorel</p>",
    "sorelina_48211_99312_notes.pages": b"x",
}


def zipped(members: dict[str, bytes], mode: int = 0o644) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return out.getvalue()


def test_a_document_becomes_a_text(folder, pii_edu):
    put(folder / "essay.docx", full_docx())
    run = pii_edu("deidentify essay.docx --vault v")
    assert run.exit_code == 0 and "image (1)" in run.stderr, run.output
    found = report(folder / "report.json")
    assert found["format"] == "docx" and found["not_read_in_documents"]["parts"] == {"image": 1}
    text = (folder / "essay.deidentified.txt").read_text("utf8")
    assert text.endswith("a comment") and "Ina" not in text and "Sorel" not in text
    put(folder / "plain.docx", plain_docx(TEXT, "A map helps.", "Ina"))
    run = pii_edu("deidentify plain.docx --vault v --config report=r.json")
    assert run.exit_code == 0, run.output
    run = pii_edu("reidentify plain.deidentified.txt --vault v --out again.txt")
    assert run.exit_code == 0, run.output
    assert (folder / "again.txt").read_text("utf8") == f"{TEXT}\nA map helps.\nIna"
    put(folder / "essay.pdf", make_pdf(TEXT, "As Buzan says."))
    assert pii_edu("deidentify essay.pdf --overwrite").exit_code == 0
    text = (folder / "essay.deidentified.txt").read_text("utf8")
    assert text.endswith("\nAs Buzan says.") and not any(value in text for value in GONE)
    for kind in ("docx", "pdf"):
        assert "[E511]" in pii_edu(f"deidentify essay.{kind} --out clean.{kind}").stderr


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("out", ["clean", "clean.zip"])
def test_an_export_of_a_learning_platform(folder, pii_edu, form, out):
    name = "hw.zip" if form == "zip" else "hw"
    if form == "zip":
        put(folder / name, zipped(LMS))
    for member, content in LMS.items() if form == "folder" else ():
        put(folder / name / member, content)
    where = folder / ("clean" if out == "clean" else "told")
    told = "" if out == "clean" else " --config report=told/report.json"
    run = pii_edu(f"deidentify {name} --out {out} --id-map map.csv{told}")
    assert run.exit_code == 1 and run.stderr.count("[E551]") == 1, run.output
    with open(folder / "map.csv", encoding="utf8", newline="") as file:
        rows = {row["in"]: row["out"] for row in csv.DictReader(file)}
    assert set(rows) == set(LMS)
    assert [old for old, new in rows.items() if not new] == ["sorelina_48211_99312_notes.pages"]
    assert "(sorelina_48211_99312_notes.pages)" in run.stderr  # and the map: to be found
    if out == "clean.zip":
        zipfile.ZipFile(folder / out).extractall(where)
    names = files_in(where)
    assert set(names) == {*filter(None, rows.values()), "report.json", "report.html"}
    assert sorted(name[-4:] for name in names) == [".txt"] * 5 + ["html", "json"]
    page = (where / "report.html").read_text("utf8")
    assert not re.search(r"(?i)\bina\b|sorel|20418837", page)
    seen = " ".join([*names, *((where / n).read_text() for n in names if n != "report.html")])
    assert not any(value.lower() in seen.lower() for value in (*GONE, "isorel"))


def test_every_kind_of_file_of_a_course_comes_back(folder, pii_edu):
    table = "name,student_id,post\nIna Sorel,20418837,A map helps.\nIna Sorel,,Write to ina.sorel@example.edu\n"
    put(folder / "in/forum.csv", table)
    put(folder / "in/old.txt", f"{TEXT}. She didn’t say “no”.".encode("cp1252"))
    put(folder / "in/week 1.zip", zipped({"entry.html": f"<p>{TEXT}</p>".encode()}))
    put(folder / "in/chat.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ina Sorel>A map helps.\n")
    run = pii_edu("deidentify in --out clean --vault v --config ids=keep")
    assert run.exit_code == 0, run.output
    assert "'old.txt' is no Unicode; it was read as cp1252" in run.stderr
    assert report(folder / "clean/report.json")["encodings_recognised"] == [
        {"record": 3, "encoding": "cp1252"}
    ]
    texts = ["chat.vtt.txt", "forum.csv", "old.txt", "week 1.zip/entry.html.txt"]
    assert files_in(folder / "clean") == sorted([*texts, "report.html", "report.json"])
    for name in texts:
        text = (folder / "clean" / name).read_text("utf8")
        assert not any(value in text for value in GONE), text
    rows = list(csv.DictReader(io.StringIO((folder / "clean/forum.csv").read_text("utf8"))))
    assert list(rows[0]) == ["name", "student_id", "post"] and rows[0]["post"] == "A map helps."
    run = pii_edu("reidentify clean --vault v --out again")
    assert run.exit_code == 0, run.output
    assert (folder / "again/forum.csv").read_text("utf8") == table
    assert (folder / "again/week 1.zip/entry.html.txt").read_text("utf8") == TEXT


def test_a_broken_row_of_a_table_in_a_folder_is_listed(folder, pii_edu):
    put(
        folder / "in/a.csv",
        'name,post\nIna Sorel,fine\nOdile,"never " closed"\nIna Sorel,fine too\n',
    )
    put(folder / "in/b.csv", 'name,post\nOdile,"never closed\n')
    run = pii_edu("deidentify in --out clean --vault v")
    assert run.exit_code == 1, run.output
    assert "[E524] Record 1, on line 3, is broken" in run.stderr and "(a.csv)" in run.stderr
    found = report(folder / "clean/report.json")
    assert found["rows_left_out"] == [{"record": 1, "line": 3}] and found["documents"] == 1
    assert [row["record"] for row in found["skipped"]["records"]] == [2]
    rows = list(csv.reader(io.StringIO((folder / "clean/a.csv").read_text("utf8"))))
    assert [row[1] for row in rows] == ["post", "fine", "fine too"]
    assert "[E532]" in pii_edu("deidentify in --out strict --config strict=true").stderr
    assert "(a.csv)" in pii_edu("deidentify in --out dry --dry-run").stderr
    assert pii_edu("reidentify clean --vault v --out back").exit_code == 0
    assert (folder / "back/a.csv").read_text().count("Ina Sorel") == 2


def test_one_object_alone_is_a_document(folder, pii_edu):
    thread = {"topic": "Maps", "posts": [{"author": "Ina Sorel", "text": "A map helps."}]}
    put(folder / "in/forum.json", json.dumps(thread, indent=1))
    run = pii_edu("deidentify in/forum.json --vault v")
    assert run.exit_code == 0 and "the form of .json: their text does" in run.stderr, run.output
    text = (folder / "forum.deidentified.txt").read_text()
    assert "text: A map helps." in text and "Sorel" not in text
    run = pii_edu("reidentify forum.deidentified.txt --vault v --out back.txt")
    assert run.exit_code == 0 and "author: Ina Sorel" in (folder / "back.txt").read_text()
    put(folder / "cut.json", '{\n"topic": "Maps",')
    assert "[E521]" in pii_edu("deidentify cut.json --out o.json").stderr


def test_the_run_says_at_its_start_what_comes_back(folder, pii_edu):
    put(folder / "in/a.docx", plain_docx(TEXT))
    run = pii_edu("deidentify in --out clean --vault v")
    told = run.stderr.index("does not come back: the form of .docx: their text does")
    assert run.stderr.index("way back: pii-edu reidentify 'clean' --vault 'v'") < told
    assert told < run.stderr.index("1 documents")
    assert report(folder / "clean/report.json")["vault"]["not_restored"]
    put(folder / "in.csv", "id,note,essay\n1,x,I am Ina Sorel.\n")
    line = "deidentify in.csv --out o.csv --vault v --text-column essay --drop note"
    run = pii_edu(line, "--dry-run")
    assert "--vault 'v' --text-column essay" in run.stderr
    assert "does not come back: 1 columns that are dropped" in run.stderr


UNSAFE = [
    ("E566", {"../a.txt": b"x"}),
    ("E566", {"/a.txt": b"x"}),
    ("E566", {"b/../../a.txt": b"x"}),
    ("E566", {"..\\a.txt": b"x"}),
    ("E566", {"c:a.txt": b"x"}),
    ("E565", {"a.txt": b"0" * 5_000_000}),
    ("E566", {"a.pdf": make_pdf("x"), "a.pdf.txt": b"x"}),
    ("E501", {"b.zip": b"x", "a.txt": b"x"}),
    ("E551", {"b.doc": b"x", "a.txt": b"x"}),
]


@pytest.mark.parametrize(
    ("code", "members"), UNSAFE, ids=[f"{code}-{next(iter(members))}" for code, members in UNSAFE]
)
def test_members_that_are_not_safe_are_set_aside(folder, pii_edu, code, members):
    put(folder / "in.zip", zipped(members | {"good.txt": b"fine"}))
    before = set(folder.parent.rglob("*"))
    run = pii_edu("deidentify in.zip --out out/clean --config ids=keep")
    assert run.exit_code == 1 and f"[{code}]" in run.stderr, run.output
    new = set(folder.parent.rglob("*")) - before - {folder / "out"}
    assert all(path.is_relative_to(folder / "out/clean") for path in new)


def test_broken_and_locked_members_are_set_aside(folder, pii_edu):
    data = bytearray(zipped({"a.txt": b"one two three four", "b.txt": b"one two three"}))
    data[45] ^= 255
    put(folder / "in.zip", bytes(data))
    run = pii_edu("deidentify in.zip --out clean")
    assert run.exit_code == 1 and run.stderr.count("[E501]") == 1, run.output
    data = bytearray(zipped({"a.txt": b"one two three four"}))
    data[data.index(b"PK\1\2") + 8] |= 1
    put(folder / "locked.zip", bytes(data))
    assert "[E656]" in pii_edu("deidentify locked.zip --out clean2").stderr
    link = zipped({"a.txt": b"/etc/passwd"}, mode=stat.S_IFLNK | 0o777)
    for code, content in (("E501", zipped(LMS)[:-40]), ("E566", link)):
        put(folder / "x.zip", content)
        run = pii_edu("deidentify x.zip --out clean3")
        assert run.exit_code == 2 and f"[{code}]" in run.stderr, run.output


def test_dry_run_writes_nothing_and_says_what_would_be(folder, pii_edu):
    put(folder / "hw.zip", zipped(LMS))
    line = "deidentify hw.zip --out clean --id-map map.csv --dry-run"
    run = pii_edu(f"{line} --config model=no_such_model")
    assert run.exit_code == 1 and "5 documents" in run.stderr, run.output
    assert "1 set aside; 5 would get another name" in run.stderr
    assert files_in(folder) == ["hw.zip"] and not any(value in run.output for value in GONE)


def test_map_of_a_table(folder, pii_edu):
    put(folder / "in.csv", "id,text\ns1,x\ns2,y\n")
    line = "deidentify in.csv --out o.csv --id-column id --config ids=pseudonym --id-map m.csv"
    assert pii_edu(line).exit_code == 0
    made = [line.split(",")[0] for line in (folder / "o.csv").read_text().splitlines()[1:]]
    assert (folder / "m.csv").read_text() == f"in,out\ns1,{made[0]}\ns2,{made[1]}\n"


def test_a_parquet_file(folder, pii_edu):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"id": [7], "text": [TEXT], "mail": ["ina.sorel@example.edu"]})
    parquet.write_table(table, folder / "in.parquet")
    assert "[E543]" in pii_edu("deidentify in.parquet --out o.parquet").stderr
    assert pii_edu("deidentify in.parquet --out o.parquet --drop mail").exit_code == 0
    assert parquet.read_table(folder / "o.parquet").column_names == ["id", "text"]
    assert not any(value.encode() in (folder / "o.parquet").read_bytes() for value in GONE)


@pytest.mark.parametrize("out", ["clean", "clean.zip"])
def test_a_run_that_was_killed_goes_on(folder, pii_edu, fork, out):
    members = {}
    for i in range(6):
        members[f"{i:02}_4711_4712_a.docx"] = plain_docx(f"{i} {TEXT}")
        members[f"{i:02}_4711_4712_a.txt"] = TEXT.encode()
        members[f"{i:02}_4711_4712_a.pdf"] = make_pdf(TEXT)
    put(folder / "in.zip", zipped(members))
    line = "deidentify in.zip --config batch_size=1 --config report={0}.json --id-map {0}.csv --out {0}/"
    whole, mine = line.format("whole") + out, line.format("mine") + out
    assert pii_edu(whole).exit_code == 0
    child = fork(mine)
    wait_for_items(folder / f"mine/{out}.state.json", 5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not (folder / "mine" / out).exists() and not (folder / "mine.csv").exists()
    assert pii_edu(f"{mine} --resume").exit_code == 0
    assert (folder / "mine.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    names = files_in(folder / "whole")
    assert len(names) == (18 if out == "clean" else 1) and files_in(folder / "mine") == names
    for name in names:
        assert (folder / "mine" / name).read_bytes() == (folder / "whole" / name).read_bytes()


def test_a_full_disk_stops_the_run_with_a_code(folder, pii_edu, monkeypatch):
    put(folder / "hw.zip", zipped(LMS))

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writers, "sync_file", full)
    run = pii_edu("deidentify hw.zip --out clean")
    assert run.exit_code in (2, 3) and "[E512]" in run.stderr and "No space left" in run.stderr
    assert not (folder / "clean").exists()


def test_columns_of_a_table_in_a_folder_say_what_their_cells_are(folder, pii_edu):
    head = "IPAddress,LocationLatitude,student_id,points,Q1\n"
    rows = "10.44.7.20,42.7654,AB-20418837,9,We met at 12.30 and measured 42.7654 by hand\n" * 3
    put(folder / "course" / "survey.csv", head + rows)
    put(folder / "course" / "a.txt", "I am Ina Sorel and this is fine.")
    line = "deidentify course --out clean --vault way.vault --config report=report.json"
    run = pii_edu(line)
    assert run.exit_code == 0, run.output
    told, *cells = (folder / "clean" / "survey.csv").read_text("utf8").splitlines()
    assert told == head.strip()
    for cell in cells:
        ip, latitude, number, points, text = cell.split(",")
        assert ip != "10.44.7.20" and latitude != "42.7654" and "20418837" not in number
        assert (points, text) == ("9", "We met at 12.30 and measured 42.7654 by hand")
    back = pii_edu("reidentify clean --vault way.vault --out again")
    assert back.exit_code == 0, back.output
    assert (folder / "again" / "survey.csv").read_text("utf8") == head + rows
