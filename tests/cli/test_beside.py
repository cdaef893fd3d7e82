"""What stands beside the texts: other runs, files that cannot be read, file names, IDs, other columns. Everybody is invented."""

import json
import os
import signal
import subprocess

import pytest
import spacy

from pii_components.cli import common
from pii_components.files.record import FIELD_SEPARATOR, holds_name
from pii_components.files.sources import read_file
from pii_components.release.columns import (
    BIRTHS,
    CODES,
    COMPUTERS,
    HANDLES,
    MAIL,
    NAMES,
    NUMBERS,
    PHONES,
    PLACES,
    PROSE,
    SAMPLE,
    STREETS,
    kind_of_column,
    told_by_columns,
)
from pii_components.release.engine import Engine
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


@pytest.fixture
def odd(folder):
    """A folder: a text, links that lead out, a pipe, a device, and 2,000 folders in folders."""
    place = folder / "in"
    put(place / "a.txt", ESSAY)
    put(folder / "secret.pdf", b"%PDF-1.4 Ilse Okoro")
    put(folder / "secret.txt", "Ilse Okoro")
    for suffix in (".txt", ".pdf"):
        (place / f"link{suffix}").symlink_to(folder / f"secret{suffix}")
    (place / "folder").symlink_to(folder)
    (place / "same.txt").symlink_to("a.txt")
    os.mkfifo(place / "pipe.txt")
    (place / "zero.txt").symlink_to("/dev/zero")
    here = os.open(place, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", dir_fd=here)
        above, here = here, os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(here)
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=True)  # shutil goes no deeper than 1,000


ODD = ["d" + "/d" * 51, "folder", "link.pdf", "link.txt", "pipe.txt", "same.txt", "zero.txt"]


def test_links_pipes_devices_and_deep_folders_are_listed(folder, odd, pii_edu):
    run = pii_edu("deidentify in --out clean --id-map m.csv")
    assert run.exit_code == 1, run.output
    found = json.loads((folder / "clean/report.json").read_text())["skipped"]["records"]
    assert [row["code"] for row in found] == ["E501"] * len(ODD)
    assert all(f"({name})" in run.stderr for name in ODD)
    assert len(list((folder / "clean").iterdir())) == 3
    listed = pii_edu("detect in --out spans.jsonl")
    assert listed.exit_code == 1 and listed.stderr.count("[E501]") == len(ODD)
    assert pii_edu("corpus clean in --out c.jsonl --config min_words=0").exit_code == 1
    report = json.loads((folder / "c.cleaning.json").read_text())
    assert [row["code"] for row in report["removed"]] == ["E501"] * len(ODD)
    assert "Okoro" not in (folder / "c.jsonl").read_text()


@pytest.mark.parametrize("command", ["deidentify", "detect", "corpus clean", "reidentify"])
@pytest.mark.parametrize("name", ["in.txt", "in.csv", "in.jsonl", "in.zip", "in.parquet", "in.pdf"])
def test_a_pipe_is_no_input(folder, pii_edu, command, name):
    os.mkfifo(folder / name)
    vault = ["--vault", "v"] if command == "reidentify" else []
    run = pii_edu(f"{command} {name} --out out.x", *vault)
    assert run.exit_code == 2 and "E501" in run.stderr, run.output


PRIVATE = [
    "m.csv",
    "h.csv",
    "l.jsonl",
    "review/review.jsonl",
    "review/review.jsonl.key",
    "report.json",
    "v",
    "spans.jsonl",
]


def test_private_files_are_closed_and_planted_links_are_not_followed(folder, pii_edu, monkeypatch):
    modes = {}
    real = os.open

    def noted(path, flags, mode=0o777, **more):
        number = real(path, flags, mode, **more)
        if flags & os.O_CREAT:
            modes[os.path.basename(path)] = os.fstat(number).st_mode & 0o777
        return number

    monkeypatch.setattr(os, "open", noted)
    put(folder / "in.csv", table(2))
    put(folder / "victim", "stays")
    names = [
        "m.csv.partial",
        "h.csv.partial",
        "l.jsonl.partial",
        "l.jsonl.rows.jsonl",
        "clean.csv.partial",
    ]
    names += [
        "clean.csv.state.json.new",
        "clean.csv.sweep.jsonl",
        "clean.csv.lock",
        "report.json.new",
        "m.csv.lock",
    ]
    for name in [*names, "review/review.jsonl.partial"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(folder / "victim")
    args = "--id-column id --id-map m.csv --review-dir review --vault v --config headers=remove"
    more = "--config headers_out=h.csv --config labels_out=l.jsonl --overwrite"
    old = os.umask(0)
    try:
        run = pii_edu(f"deidentify in.csv --out clean.csv {args} {more}")
        assert run.exit_code == 0, run.output
        assert pii_edu("detect in.csv --out spans.jsonl --show-text").exit_code == 0
    finally:
        os.umask(old)
    assert (folder / "victim").read_text() == "stays"
    assert [oct((folder / name).stat().st_mode & 0o777) for name in PRIVATE] == ["0o600"] * len(
        PRIVATE
    )
    assert (folder / "clean.csv").stat().st_mode & 0o777 == 0o666
    assert not [
        name for name, mode in modes.items() if mode & 0o077 and name != "clean.csv.partial"
    ]


def test_a_key_that_is_open_or_weak_is_told(folder, pii_edu):
    put(folder / "in.csv", table(1))
    put(folder / "open.key", "a key for tests, of no other use")
    os.chmod(folder / "open.key", 0o644)
    run = pii_edu("deidentify in.csv --out a.csv --key-file open.key")
    assert run.exit_code == 0 and "[W403]" in run.stderr
    os.chmod(folder / "open.key", 0o600)
    run = pii_edu("deidentify in.csv --out b.csv --key-file open.key")
    assert run.exit_code == 0 and "W403" not in run.stderr
    put(folder / "weak.key", "a" * 16)
    assert "[E402]" in pii_edu("deidentify in.csv --out c.csv --key-file weak.key").stderr


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
        ("ResponseId", ["R_3JbX9a1kQ2mN5pT"], NUMBERS),
        ("Respondent ID", ["118239812333"], NUMBERS),
        ("id", ["20418837", "s20418838"], NUMBERS),
        ("id", ["1", "2"], ""),
        ("id", ["ac_film_review", "d2"], ""),
        ("day", ["20240531"], ""),
        ("course", ["C1", "MATH 101"], ""),
        ("Matrikelnummer", ["x"], NUMBERS),
        ("apellidos", ["Quillor"], NAMES),
        ("Ilse Okoro", ["3"], NAMES),
        ("scores", ['{"Ilse Okoro": 3}'], NAMES),
        ("p", ["(212) 555-0123", ""], PHONES),
        ("p", ["+49 30 1234567"], PHONES),
        ("p", ["030 1234567", "040 7654321"], PHONES),
        ("mobile", ["555-0100"], PHONES),
        ("a", ["203.0.113.9", "2001:db8::1"], COMPUTERS),
        ("IPAddress", ["10.0.0.1"], COMPUTERS),
        ("a", ["aa:bb:cc:dd:ee:ff"], COMPUTERS),
        ("LocationLatitude", ["52.52"], PLACES),
        ("at", ["40.7128, -74.0060"], PLACES),
        ("Geburtsdatum", ["01.03.2007"], BIRTHS),
        ("day", ["1999-05-01", "12/31/2001"], BIRTHS),
        ("zip", ["02138"], CODES),
        ("at", ["SW1A 1AA", "M1 1AE"], CODES),
        ("on", ["@kemi_a", "@bree.odell"], HANDLES),
        ("Instagram", ["kemi_a"], HANDLES),
        ("address", ["12 Maple Street"], STREETS),
        ("n", ["123-45-6789"], NUMBERS),
    ],
)
def test_what_a_column_looks_like(name, cells, kind):
    assert kind_of_column(name, cells) == kind


# What stands in exports of Qualtrics, Canvas, Moodle and in corpora of essays, and tells of nobody.
HARMLESS = {
    "StartDate": "2024-05-31 13:00:00",
    "Status": "IP Address",
    "Progress": "100",
    "Duration (in seconds)": "1234",
    "Finished": "True",
    "Response ID": "12",
    "DistributionChannel": "anonymous",
    "UserLanguage": "EN",
    "Q2_1": "Somewhat agree",
    "Q10_Page Submit": "12.443",
    "ID": "4711",
    "Section": "EDUC2001-01",
    "Essay 1 (12345)": "88.5",
    "Unposted Final Score": "91.25",
    "Final Grade": "B+",
    "Points Possible": "100",
    "Course total (Real)": "88.00",
    "Assignment: Essay (Real)": "-",
    "Last downloaded from this course": "1716973200",
    "Last modified (submission)": "Monday, 6 May 2024, 10:12 AM",
    "modified": "1716973200",
    "Groups": "Group A",
    "Attempt Number": "2",
    "essay_id": "E0001",
    "ell_status": "Yes",
    "race_ethnicity": "Two or more races/Other",
    "holistic_score": "4",
    "rubric": "4/6/5",
    "term": "2024 FA",
    "chapter": "2.1.3.1",
    "facebook": "3",
    "posted": "2013-05-01",
    "created_at": "2024-05-31T13:00:00+02:00",
    "pages": "12-15",
    "isbn": "978-3-16-148410-0",
    "ratio": "1:3",
    "scores": "5 4 3 5 4 3 5 2 1 3 5 4",
    "version": "1.2.3",
    "meta": '{"grade": 3, "ell_status": 1}',
    "participants": "12",
}


@pytest.mark.parametrize(("name", "cell"), HARMLESS.items())
def test_a_column_that_tells_of_nobody_is_not_refused(name, cell):
    assert kind_of_column(name, [cell, ""]) == ""


def test_what_a_program_calls_a_column_is_nobody():
    """In a folder: names that a program gave to columns are let go of; capitals, names of people and tables without a header are read."""
    nlp = spacy.blank("en")
    words = ("messageformat", "userfullname", "lupe", "Lefmo", "tove")
    patterns = [{"label": "NAME_STUDENT", "pattern": word} for word in words]
    config = {"spans_key": "pii", "annotate_ents": False, "overwrite": True}
    nlp.add_pipe("span_ruler", config=config).add_patterns(patterns)
    nlp.add_pipe("hips_surrogate").set_key(b"a key for tests, of no other use")
    head = b"userfullname,messageformat,lupe,Lefmo,n\n"
    found = {}
    for rows in (head + b"tove,1,Lefmo,messageformat,3\n", b"tove,3\nLefmo,4\n"):
        record = told_by_columns(read_file(rows, 1, "a.csv"))
        (result,) = Engine(nlp, "test").results([record])
        found[rows[:4]] = [record.text[s.start_char : s.end_char] for s in result.spans]
    assert sorted(found[b"user"]) == "Lefmo Lefmo Lefmo lupe lupe messageformat tove".split()
    assert sorted(found[b"tove"]) == ["Lefmo", "tove", "tove"]


def test_a_name_that_is_a_header_or_a_key_goes_nowhere(folder, pii_edu):
    put(folder / "in.csv", "text,n,Ilse Okoro\nI am Ina.,1,\nI am Ina.,1,Ina\n")
    put(
        folder / "in.jsonl",
        '{"text": "I am Ina.", "n": 1, "Ilse Okoro": "Ina", "m": [{"Ilse Okoro": 2}]}\n',
    )
    runs = []
    for form, told in (("csv", "column 3 (names)"), ("jsonl", "column 3 (names), 'm' (names)")):
        runs.append(pii_edu(f"deidentify in.{form} --out out.{form}"))
        assert runs[-1].exit_code == 2 and f"in clear: {told}. Name" in runs[-1].stderr
        drop = ["--drop", "m"] if form == "jsonl" else []
        runs.append(
            pii_edu(f"deidentify in.{form} --out out.{form}", "--drop", "Ilse Okoro", *drop)
        )
        assert runs[-1].exit_code == 0, runs[-1].output
        runs.append(
            pii_edu(f"deidentify in.{form} --out kept/k.{form}", "--keep", "Ilse Okoro", *drop)
        )
        assert runs[-1].exit_code == 0 and "unchanged: n, column 3" in runs[-1].stderr
        assert (
            json.loads((folder / "kept/report.json").read_text())["unchanged_fields"][-1]
            == "column 3"
        )
        (folder / f"kept/k.{form}").unlink()
        for name in ("kept/report.json", "kept/report.html"):
            runs.append((folder / name).rename(folder / f"{form}.{name[5:]}"))
    shown = everything(folder, "in.csv", "in.jsonl") + "".join(
        getattr(run, "output", "") for run in runs
    )
    assert not any(name in shown for name in NOBODY)


def test_a_text_whose_header_is_a_name_is_refused_too(folder, pii_edu):
    put(folder / "in.csv", "id,Ilse Okoro\n1,I am Ina.\n")
    args = ("deidentify in.csv --out out.csv --text-column", "Ilse Okoro")
    assert "in clear: column 2 (names)." in pii_edu(*args).stderr
    assert pii_edu(*args, "--keep", "Ilse Okoro").exit_code == 0


def test_fields_that_stand_twice_are_refused(folder, pii_edu):
    put(
        folder / "in.jsonl",
        '{"text": "I am Ina.", "text": "x"}\n{"text": "y", "m": {"a": "I am Ina.", "a": 1}}\n{"text": "z"}\n',
    )
    run = pii_edu("deidentify in.jsonl --out out.jsonl")
    assert run.exit_code == 1 and run.stderr.count("[E521]") == 2
    assert (folder / "out.jsonl").read_text() == '{"text": "z"}\n'
    put(folder / "in.csv", "id,id,text\nokoro,okoro,I am Ina.\n")
    assert "[E507]" in pii_edu("deidentify in.csv --out out.csv --id-column id").stderr


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
    assert first.startswith("d") and (second == "notes.docx") == bool(ids)  # it holds no name
    assert found["ids_replaced"] == (0 if ids else 2)
    shown = everything(folder, "in", "v", "clean" if ids else "")
    shown += json.dumps(found) + run.output.replace("(Chidi Okafor.TXT)", "")
    assert not any(name in shown for name in NOBODY)
    assert "(Chidi Okafor.TXT)" in run.stderr  # who reads the screen must find the file
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
    put(
        folder / "in.csv",
        f'title,text\n,I am Ina.\nx,"I am {FIELD_SEPARATOR} Ina"\ny,I am Ina\u241e\n',
    )
    args = "--text-column title --text-column text --profile tags_only"
    run = pii_edu(f"deidentify in.csv --out clean.csv {args}")
    assert run.exit_code == 1 and "[E545] The texts of record 2" in run.stderr, run.output
    clean = "title,text\n,I am [NAME_STUDENT].\ny,I am [NAME_STUDENT]\u241e\n"
    assert (folder / "clean.csv").read_text() == clean
