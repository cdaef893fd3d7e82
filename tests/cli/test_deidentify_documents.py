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
from tests.cli.conftest import ESSAY, put, wait_for_items
from tests.files.made_docx import full_docx, plain_docx

GONE = ("Ina", "Sorel", "20418837", "ina.sorel")
TEXT = "I am Ina Sorel (20418837). Write to ina.sorel@example.edu"
LMS = {
    "sorelina_48211_99310_Essay.docx": plain_docx(TEXT, "A map helps."),
    "sorelina_48211_99311_draft.pdf": make_pdf(TEXT, "As Buzan says."),
    "Ina Sorel_7_assignsubmission_file_/essay.txt": ESSAY.encode(),
    "hw1_isorel_attempt_2024-05-01-10-00-00.txt": b"Name: Ina Sorel",
    "Ina Sorel_7_assignsubmission_onlinetext_/onlinetext.html": b"<p>Ina Sorel</p>",
}


def zipped(members: dict[str, bytes], **flags: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = (
                flags.get("mode", 0o644) << 16,
                zipfile.ZIP_DEFLATED,
            )
            archive.writestr(info, content)
    return out.getvalue()


def report(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_document_becomes_a_text(folder, pii_edu):
    put(folder / "essay.docx", full_docx())
    run = pii_edu("deidentify essay.docx")
    assert run.exit_code == 0, run.output
    found = report(folder / "report.json")
    assert found["format"] == "docx" and "image (1)" in run.stderr
    assert found["not_read_in_documents"]["parts"] == {"image": 1}
    text = (folder / "essay.deidentified.txt").read_text("utf8")
    assert text.endswith("a comment") and "Ina" not in text and "Sorel" not in text
    assert "[E511]" in pii_edu("deidentify essay.docx --out clean.docx").stderr


def test_a_pdf_becomes_a_text(folder, pii_edu):
    put(folder / "essay.pdf", make_pdf(TEXT, "As Buzan says."))
    assert pii_edu("deidentify essay.pdf").exit_code == 0
    text = (folder / "essay.deidentified.txt").read_text("utf8")
    assert text.endswith("\nAs Buzan says.") and not any(value in text for value in GONE)
    assert "[E511]" in pii_edu("deidentify essay.pdf --out clean.pdf").stderr


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("out", ["clean", "clean.zip"])
def test_an_export_of_a_learning_platform(folder, pii_edu, form, out):
    source = put(folder / "hw.zip", zipped(LMS)) if form == "zip" else folder / "hw"
    for name, content in LMS.items() if form == "folder" else ():
        put(source / name, content)
    run = pii_edu("deidentify", source.name, "--out", out, "--id-map", "map.csv")
    assert run.exit_code == 1, run.output
    assert [line.split()[0] for line in run.stderr.splitlines() if line.startswith("[")] == [
        "[E551]"
    ]
    with open(folder / "map.csv", encoding="utf8", newline="") as file:
        rows = {row["in"]: row["out"] for row in csv.DictReader(file)}
    assert set(rows) == set(LMS) and [name for name, new in rows.items() if not new] == [
        name for name in LMS if name.endswith("html")
    ]
    (folder / "map.csv").unlink()
    names = (
        {str(p.relative_to(folder / out)) for p in (folder / out).rglob("*") if p.is_file()}
        if out == "clean"
        else None
    )
    names = names or {*zipfile.ZipFile(folder / out).namelist(), "report.json", "report.html"}
    assert names == {*filter(None, rows.values()), "report.json", "report.html"}
    assert sorted(name[-4:] for name in names) == [".txt"] * 4 + ["html", "json"]
    page = (folder / out / "report.html" if out == "clean" else folder / "report.html").read_text(
        "utf8"
    )
    assert not re.search(r"(?i)\bina\b|sorel|20418837", page)
    if out == "clean":
        files = {name: (folder / out / name).read_bytes() for name in names - {"report.html"}}
        seen = " ".join([*names, *(data.decode() for data in files.values())])
    else:
        seen = " ".join(names) + (folder / "report.json").read_text("utf8")
    assert not any(value.lower() in seen.lower() for value in (*GONE, "isorel"))


UNSAFE = [
    ({"../a.txt": b"x"}, {}, "E566"),
    ({"/a.txt": b"x"}, {}, "E566"),
    ({"b/../../a.txt": b"x"}, {}, "E566"),
    ({"..\\a.txt": b"x"}, {}, "E566"),
    ({"c:a.txt": b"x"}, {}, "E566"),
    ({"a.txt": b"/etc/passwd"}, {"mode": stat.S_IFLNK | 0o777}, "E566"),
    ({"a.txt": b"0" * 5_000_000}, {}, "E565"),
    ({"a.pdf": make_pdf("x"), "a.pdf.txt": b"x"}, {}, "E566"),
    ({"b.zip": b"x", "a.txt": b"x"}, {}, "E551"),
]


@pytest.mark.parametrize(
    ("members", "flags", "code"), UNSAFE, ids=[f"{next(iter(row[0]))}-{row[2]}" for row in UNSAFE]
)
def test_members_that_are_not_safe_are_set_aside(folder, pii_edu, members, flags, code):
    put(folder / "in.zip", zipped(members | ({} if flags else {"good.txt": b"fine"}), **flags))
    before = {path for path in folder.parent.rglob("*") if path.is_file()}
    run = pii_edu("deidentify in.zip --out out/clean --config ids=keep")
    assert run.exit_code == (2 if flags else 1) and f"[{code}]" in run.stderr, run.output
    new = {path for path in folder.parent.rglob("*") if path.is_file()} - before
    assert all(path.is_relative_to(folder / "out" / "clean") for path in new)


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
    put(folder / "cut.zip", zipped(LMS)[:-40])
    assert "[E567]" in pii_edu("deidentify cut.zip --out clean3").stderr


def test_links_that_lead_out_and_long_files_are_set_aside(folder, pii_edu):
    put(folder / "secret.txt", ESSAY)
    put(folder / "in/a.txt", ESSAY)
    (folder / "in/b.txt").symlink_to(folder / "secret.txt")
    (folder / "in/c.txt").symlink_to("a.txt")
    put(folder / "in/d.txt", "word " * 10_500_000)
    assert pii_edu("deidentify in --out clean").exit_code == 1
    found = report(folder / "clean/report.json")
    assert [(row["file"], row["code"]) for row in found["skipped"]["records"]] == [
        ("b.txt", "E501"),
        ("d.txt", "E528"),
    ]


def test_dry_run_writes_nothing_and_says_what_would_be(folder, pii_edu):
    put(folder / "hw.zip", zipped(LMS))
    run = pii_edu(
        "deidentify hw.zip --out clean --id-map map.csv --dry-run --config model=no_such_model"
    )
    assert (
        run.exit_code == 1
        and "4 documents" in run.stderr
        and "1 set aside; 4 would get another name" in run.stderr
    ), run.output
    assert [path.name for path in folder.iterdir()] == ["hw.zip"] and not any(
        value in run.output for value in GONE
    )
    put(folder / "bad.csv", "id,text,mail\n1,x,ina.sorel@example.edu\n")
    assert "[E543]" in pii_edu("deidentify bad.csv --dry-run").stderr


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--id-map", "out/map.csv"], "E472"),
        (["--id-map", "in/map.csv"], "E472"),
        (["--id-map", "there.csv"], "E510"),
    ],
)
def test_the_map_lies_apart(folder, pii_edu, args, code):
    put(folder / "in/a.txt", ESSAY)
    put(folder / "there.csv", "old")
    assert f"[{code}]" in pii_edu("deidentify in --out out", *args).stderr


def test_map_of_a_table(folder, pii_edu):
    put(folder / "in.csv", "id,text\ns1,x\ns2,y\n")
    assert (
        pii_edu(
            "deidentify in.csv --out o.csv --id-column id --config ids=pseudonym --id-map m.csv"
        ).exit_code
        == 0
    )
    made = [line.split(",")[0] for line in (folder / "o.csv").read_text().splitlines()[1:]]
    assert (folder / "m.csv").read_text() == f"in,out\ns1,{made[0]}\ns2,{made[1]}\n"


def test_a_parquet_file(folder, pii_edu):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra 'documents'")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"id": [7], "text": [TEXT], "mail": ["ina.sorel@example.edu"]})
    parquet.write_table(table, folder / "in.parquet")
    assert "[E543]" in pii_edu("deidentify in.parquet --out o.parquet").stderr
    assert pii_edu("deidentify in.parquet --out o.parquet --drop mail").exit_code == 0
    assert parquet.read_table(folder / "o.parquet").column_names == ["id", "text"]
    assert not any(value.encode() in (folder / "o.parquet").read_bytes() for value in GONE)


@pytest.mark.parametrize("out", ["clean", "clean.zip"])
def test_a_run_that_was_killed_goes_on(folder, pii_edu, fork, out):
    members = {
        f"{i:02}_4711_4712_a.{kind}": content
        for i in range(8)
        for kind, content in (
            ("docx", plain_docx(f"{i} {TEXT}")),
            ("txt", TEXT.encode()),
            ("pdf", make_pdf(TEXT)),
        )
    }
    put(folder / "in.zip", zipped(members))
    args = ("deidentify", "in.zip", "--config", "batch_size=1", "--id-map")
    assert pii_edu(*args, "whole.csv", "--out", f"whole_{out}").exit_code == 0
    child = fork(*args, "map.csv", "--out", out)
    wait_for_items(folder / f"{out}.state.json", 5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not (folder / out).exists() and not (folder / "map.csv").exists()
    assert pii_edu(*args, "map.csv", "--out", out, "--resume").exit_code == 0
    assert (folder / "map.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    if out == "clean":
        for name in (
            "clean/report.json",
            "whole_clean/report.json",
            "clean/report.html",
            "whole_clean/report.html",
        ):
            (folder / name).unlink()
        names = [path.relative_to(folder / out) for path in (folder / out).rglob("*")]
        assert len(names) == 24 and all(
            (folder / out / n).read_bytes() == (folder / "whole_clean" / n).read_bytes()
            for n in names
        )
    else:
        assert (folder / out).read_bytes() == (folder / f"whole_{out}").read_bytes()


def test_a_full_disk_stops_the_run_with_a_code(folder, pii_edu, monkeypatch):
    put(folder / "hw.zip", zipped(LMS))

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writers, "sync_file", full)
    run = pii_edu("deidentify hw.zip --out clean")
    assert run.exit_code in (2, 3) and "[E512]" in run.stderr and "No space left" in run.stderr
    assert not (folder / "clean").exists()


def test_the_vault_leads_back_to_the_text_of_a_document(folder, pii_edu):
    pytest.importorskip("cryptography")
    put(folder / "essay.docx", plain_docx(TEXT, "A map helps.", "Ina"))
    run = pii_edu("deidentify essay.docx --out clean.txt --vault v.vault")
    assert run.exit_code == 0, run.output
    run = pii_edu("reidentify clean.txt --vault v.vault --out again.txt")
    assert run.exit_code == 0, run.output
    assert (folder / "again.txt").read_text("utf8") == f"{TEXT}\nA map helps.\nIna"
    assert "Ina" not in (folder / "clean.txt").read_text("utf8")
