"""What stands beside the texts: other runs, files that cannot be read, file names, IDs, other columns. Everybody is invented."""

import json
import os
import signal

import pytest

from pii_components.cli import common
from pii_components.release.columns import (
    MAIL,
    NAMES,
    NUMBERS,
    PROSE,
    SAMPLE,
    holds_name,
    kind_of_column,
)
from tests.cli.conftest import ESSAY, files_in, put, report, table, wait_for_items


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("deidentify in.csv", "clean.csv"),
        ("deidentify in.csv --overwrite", "clean.csv"),
        ("deidentify in.csv --resume", "clean.csv"),
        ("deidentify in.csv --config labels_out=l.jsonl", "l.jsonl"),
        ("deidentify -", "clean.csv"),
        ("detect in.csv", "clean.csv"),
        ("reidentify in.csv --vault v", "clean.csv"),
    ],
)
def test_second_run_into_an_output_is_refused_before_it_reads(
    folder, pii_edu, monkeypatch, line, out
):
    put(folder / "in.csv", table(1))
    with common.locked(folder / out):
        for module in ("deidentify", "detect", "reidentify"):
            monkeypatch.setattr(f"pii_components.cli.{module}.open_source", pytest.fail)
        run = pii_edu(f"{line} --out clean.csv", stdin=ESSAY)
    assert run.exit_code == 2 and "[E462]" in run.stderr, run.output
    assert files_in(folder) == ["in.csv"]


def test_lock_of_a_killed_run_is_taken_over(folder, pii_edu, fork):
    put(folder / "in.csv", table(30))
    child = fork("deidentify in.csv --out clean.csv --config batch_size=2")
    wait_for_items(folder / "clean.csv.state.json", 4)
    assert "[E462]" in pii_edu("deidentify in.csv --out clean.csv --overwrite").stderr
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert (folder / "clean.csv.lock").exists()
    run = pii_edu("deidentify in.csv --out clean.csv --resume")
    assert run.exit_code == 0 and not (folder / "clean.csv.lock").exists(), run.output
    assert len((folder / "clean.csv").read_text().splitlines()) == 31
    # It goes with a run that fails, too.
    assert "[E501]" in pii_edu("deidentify none.csv --out new/deep/clean.csv").stderr
    assert not (folder / "new").exists()


def test_what_cannot_be_read_is_skipped_and_what_no_user_wrote_is_passed_over(folder, pii_edu):
    put(folder / "in/a.txt", ESSAY)
    (folder / "in/b.txt").symlink_to("nowhere.txt")
    (folder / "in/c.txt").symlink_to("c.txt")
    (folder / "in/d").symlink_to(folder / "in")
    for name in (".hidden.txt", "~$a.txt", ".git/x.txt", ".DS_Store", "e/Thumbs.db"):
        put(folder / "in" / name, ESSAY)
    run = pii_edu("deidentify in --out clean")
    assert run.exit_code == 1, run.output
    found = report(folder / "clean/report.json")
    assert (found["documents"], found["hidden_files_passed_over"]) == (1, 5)
    assert [row["code"] for row in found["skipped"]["records"]] == ["E501"] * 3
    assert files_in(folder / "clean") == ["a.txt", "report.html", "report.json"]


PROSE_CELL = "My friend Ilse Okoro told me that this course would be good."
NOBODY = ("Ilse", "Okoro", "Chidi", "Okafor")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ilse_Okoro_essay2.txt", True),
        ("okoro3", True),
        ("IlseOkoro", True),
        ("week 1/Rose_Green.txt", True),
        ("JOSE", True),
        ("Jo\u0308rn_Savic", True),
        ("\u674e\u5c0f\u660e", True),
        ("essay3.txt", False),
        ("ac_film_review_byline", False),
        ("20418837", False),
        ("rose_green_paint", False),
        ("d0123456789012345.txt", False),
        ("", False),
    ],
)
def test_names_in_file_names(text, expected):
    assert holds_name(text) is expected


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("note", ["", PROSE_CELL], PROSE),
        ("tags", ["map, ferry, bread, rain"], ""),
        ("vector", [str([0.5] * 30)], ""),
        ("contact", ["at ilse@example.edu"], MAIL),
        ("E-Mail", ["x"], MAIL),
        ("author", ["x"], NAMES),
        ("firstName", [""], NAMES),
        ("who", ["Ilse Okoro", "Okafor, Chidi", "x"], NAMES),
        ("meta", ['{"student": "x", "n": 3}'], NAMES),
        ("gender", ["Male", "Male", "Female"], ""),
        ("student_gender", ["F"], ""),
        ("student_id", ["1"], NUMBERS),
        ("userId", ["x"], NUMBERS),
        ("id", ["20418837", "s20418838"], NUMBERS),
        ("id", ["1", "2"], ""),
        ("id", ["ac_film_review", "d2"], ""),
        ("day", ["20240531"], ""),
        ("course", ["C1", "MATH 101"], ""),
    ],
)
def test_what_a_column_looks_like(name, cells, kind):
    assert kind_of_column(name, cells) == kind


def everything(folder, *without: str) -> str:
    """Names and contents of all files below a folder, but for some."""
    names = [name for name in files_in(folder) if name.split("/")[0] not in without]
    return "\n".join(name + (folder / name).read_text() for name in names)


@pytest.mark.parametrize("ids", ["", "--config ids=keep"])
def test_names_of_files_do_not_go_out(folder, pii_edu, ids):
    put(folder / "in/week 1/Ilse_Okoro_essay2.txt", ESSAY)
    put(folder / "in/essay3.txt", ESSAY)
    put(folder / "in/Chidi Okafor.TXT", "")
    put(folder / "in/notes.docx", "PK")
    run = pii_edu(f"deidentify in --out clean --config labels_out=labels.jsonl --vault v {ids}")
    assert run.exit_code == 1, run.output
    assert ("2 documents have a pseudonym" in run.stderr) == (not ids)
    found = report(folder / "clean/report.json")
    first, second = [row["file"] for row in found["skipped"]["records"]]
    assert first.startswith("d") and second == "notes.docx"  # it holds no name
    assert found["ids_replaced"] == (0 if ids else 2)
    shown = everything(folder, "in", "v", "clean" if ids else "")
    shown += run.output + json.dumps(found)
    assert not any(name in shown for name in NOBODY)
    if ids:
        assert (folder / "clean/week 1/Ilse_Okoro_essay2.txt").exists()
    assert pii_edu("reidentify clean --vault v --out again").exit_code == 0
    assert files_in(folder / "again") == ["essay3.txt", "week 1/Ilse_Okoro_essay2.txt"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("ids", "n"), [("", 1), ("--config ids=pseudonym", 3), ("--config ids=keep", 0)]
)
def test_ids_become_pseudonyms_and_come_back(folder, pii_edu, form, ids, n):
    rows = ["7", "okoro_ilse", "s3"]
    if form == "csv":
        put(folder / "in.csv", "sid_of_ours,text\n" + "".join(f"{row},Ina\n" for row in rows))
    else:
        objects = [{"sid_of_ours": 7 if row == "7" else row, "text": "Ina"} for row in rows]
        put(folder / "in.jsonl", "".join(json.dumps(one) + "\n" for one in objects))
    line = f"deidentify in.{form} --out clean.{form} --id-column sid_of_ours {ids} --vault v"
    assert pii_edu(f"{line} --config labels_out=l.jsonl").exit_code == 0
    out, labels = (folder / f"clean.{form}").read_text(), (folder / "l.jsonl").read_text()
    assert ("okoro_ilse" in out) == (n == 0) and "okoro" not in labels
    assert ("s3" in out) == ("s3" in labels) == (n < 3)
    assert report(folder / "report.json")["ids_replaced"] == n
    assert pii_edu(f"reidentify clean.{form} --vault v --out again.{form}").exit_code == 0
    assert (folder / f"again.{form}").read_text() == (folder / f"in.{form}").read_text()


def test_name_in_the_name_of_the_only_file(folder, pii_edu):
    put(folder / "in/Ilse_Okoro.txt", ESSAY)
    assert pii_edu("deidentify in/Ilse_Okoro.txt --config labels_out=l.jsonl").exit_code == 0
    assert not any(name in everything(folder, "in") for name in NOBODY)


COLUMNS = f"id,author,contact,student_id,essay,remark\n1,Ilse Okoro,ilse@example.edu,20418837,I am Ina.,{PROSE_CELL} I am Ina.\n"
SPOKEN = "--drop author --keep contact --text-column essay --text-column remark"


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (
            "",
            "'author' (names), 'contact' (e-mail addresses), 'student_id' (ID numbers), 'remark' (prose)",
        ),
        (SPOKEN, "'student_id' (ID numbers)"),
        (
            "--drop author --drop contact --drop remark --id-column student_id",
            "'student_id' (ID numbers)",
        ),
    ],
)
def test_columns_that_tell_who_it_is_are_refused(folder, pii_edu, args, left):
    put(folder / "in.csv", COLUMNS)
    run = pii_edu(f"deidentify in.csv --out clean.csv {args}")
    assert run.exit_code == 2 and "[E543]" in run.stderr, run.output
    assert f"in clear: {left}. " in run.stderr and files_in(folder) == ["in.csv"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_columns_that_the_user_has_spoken_about(folder, pii_edu, form):
    header, row = (line.split(",") for line in COLUMNS.splitlines())
    as_json = json.dumps([dict(zip(header, row, strict=True))])
    put(folder / f"in.{form}", COLUMNS if form == "csv" else as_json)
    args = f"{SPOKEN} --vault v --id-column student_id --config ids=pseudonym"
    run = pii_edu(f"deidentify in.{form} --out clean.{form} {args}")
    assert run.exit_code == 0, run.output
    out = (folder / f"clean.{form}").read_text()
    assert "ilse@example.edu" in out
    assert not any(word in out for word in ("20418837", "author", "I am Ina."))
    args = "--text-column essay --text-column remark --vault v"
    assert pii_edu(f"reidentify clean.{form} --out again.{form} {args}").exit_code == 0
    again = (folder / f"again.{form}").read_text()
    assert again.count("I am Ina.") == 2 and "20418837" in again


def test_cell_that_must_not_go_out_and_comes_late_is_a_skipped_record(folder, pii_edu):
    late = [{"note": PROSE_CELL}, {"author": "x"}, {"n": 3}]
    rows = [{"text": "x", **row} for row in [{"note": "fine"}] * SAMPLE + late]
    put(folder / "in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    run = pii_edu("deidentify in.jsonl --out clean.jsonl")
    assert run.exit_code == 1, run.output
    skipped = report(folder / "report.json")["skipped"]["records"]
    assert skipped == [{"record": SAMPLE + n, "code": "E544"} for n in (1, 2)]
    assert not any(name in (folder / "clean.jsonl").read_text() + run.output for name in NOBODY)


def test_texts_of_a_record_are_told_apart_or_skipped(folder, pii_edu):
    put(folder / "in.csv", "title,text\n,I am Ina.\nx,I am Ina\u241e\n")
    args = "--text-column title --text-column text --profile tags_only"
    run = pii_edu(f"deidentify in.csv --out clean.csv {args}")
    assert run.exit_code == 1 and "[E545] The texts of record 2" in run.stderr, run.output
    assert (folder / "clean.csv").read_text() == "title,text\n,I am [NAME_STUDENT].\n"
