"""`pii-edu deidentify`: every form of input, what is written beside, and runs that are broken off. All texts are invented."""

import csv
import json
import os
import signal

import pytest

from pii_components.errors import PiiError
from pii_components.release.run import RunState, load_state
from pii_components.surrogates.keys import key_fingerprint
from tests.cli.conftest import ESSAY, files_in, put, report, rows_of, table, wait_for_items

GONE = ("Ina", "Sorel", "20418837", "ina.sorel")
STAYS = ("I am ", ").\r\n\tBuzan (2006) says: map it.\nWrite to ")


def check(text: str) -> None:
    """No original is left, and everything between the spans is as it was."""
    for value in GONE:
        assert value not in text
    pos = 0
    for part in STAYS:
        pos = text.index(part, pos) + len(part)
    assert text.endswith(" ")


def test_folder(folder, pii_edu):
    texts = ["a.txt", "week 1/b.txt", "week 1/deep/c.TXT"]
    for name in (*texts, "notes.doc"):
        put(folder / "essays" / name, ESSAY)
    put(folder / "essays/week 1/empty.txt", "")
    put(folder / "clean/other.txt", "other")
    put(folder / "clean/a.txt", "old")
    run = pii_edu("deidentify essays --out clean --overwrite")
    assert run.exit_code == 1, run.output
    others = ["other.txt", "report.html", "report.json"]
    assert files_in(folder / "clean") == sorted([*texts, *others])
    for name in texts:
        check((folder / "clean" / name).read_bytes().decode())
    skipped = report(folder / "clean/report.json")["skipped"]["records"]
    assert [(row["record"], row["code"]) for row in skipped] == [(2, "E551"), (5, "E530")]
    assert "notes" not in str(skipped) and "(week 1/empty.txt)" in run.stderr


def test_standard_input(folder, pii_edu):
    run = pii_edu("deidentify -", stdin=ESSAY.encode())
    assert run.exit_code == 0, run.stderr
    check(run.stdout_bytes.decode())
    assert pii_edu("deidentify - --out clean.txt", stdin=ESSAY.encode()).exit_code == 0
    check((folder / "clean.txt").read_bytes().decode())


def test_report_counts_and_tells_no_text(folder, pii_edu):
    rows = [["id", "writer", "essay"], ["1", "Ina Sorel", ESSAY + "INA"]]
    rows += [["2", "x", "Odile Prath, I am Jörn Übel"], ["3", "y", " "]]
    with open(folder / "essays.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    with open(folder / "essays.csv", "ab") as file:
        file.write(b"4,z,Ina \xff\n")
    run = pii_edu("deidentify essays.csv --keep writer")
    assert run.exit_code == 1 and (folder / "essays.deidentified.csv").exists()
    found = report(folder / "report.json")
    spans = {(row["label"], row["role"], row["action"]): row["count"] for row in found["spans"]}
    assert spans == {
        ("NAME_STUDENT", "STUDENT", "surrogate"): 2,
        ("NAME_CITED", "CITED", "keep"): 1,
        ("NAME_INSTRUCTOR", "INSTRUCTOR", "surrogate"): 1,
        ("EMAIL", "STUDENT", "surrogate"): 1,
        ("ID_NUM", "STUDENT", "surrogate"): 1,
    }
    counts = (found["documents"], found["documents_changed"], found["documents_without_text"])
    assert counts == (3, 2, 1)
    assert found["skipped"] == {"count": 1, "records": [{"record": 4, "code": "E520", "line": 7}]}
    assert found["to_review"]["replaced_value_stands_in_unchanged_field"] == {"writer": 1}
    assert found["profile"] == "crapii" and found["key"] == "environment"
    shown = json.dumps(found, ensure_ascii=False) + run.output
    for value in (*GONE, "Prath", "Übel", "Buzan", "a key for tests"):
        assert value not in shown


def test_what_joins_columns_is_no_word(folder, pii_edu):
    put(folder / "in.csv", "who,essay\nIna Sorel,I am Ina.\n,\n")
    assert pii_edu("deidentify in.csv --text-column who --text-column essay").exit_code == 0
    found = report(folder / "report.json")
    assert (found["documents"], found["documents_without_text"], found["words"]) == (2, 1, 5)


def test_second_report_in_a_folder_has_another_name(folder, pii_edu):
    for n, name in enumerate("ab", 1):
        put(folder / f"{name}.csv", table(n))
        assert pii_edu(f"deidentify {name}.csv --out clean_{name}.csv").exit_code == 0
    assert report(folder / "report.json")["documents"] == 1
    assert report(folder / "clean_b.csv.report.json")["documents"] == 2


def test_keys(folder, pii_edu, monkeypatch):
    put(folder / "essay.txt", ESSAY)
    put(folder / "key1", "one key of thirty-two characters")
    put(folder / "key2", "two keys of thirty-two character")
    for out, key in (("a.txt", "key1"), ("b.txt", "key1"), ("c.txt", "key2")):
        assert pii_edu(f"deidentify essay.txt --out {out} --key-file {key}").exit_code == 0
    a, b, c = ((folder / name).read_text() for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c
    monkeypatch.delenv("PII_EDU_KEY")
    run = pii_edu("deidentify essay.txt --out d.txt --config report=d.json")
    assert run.exit_code == 0 and "not kept" in run.stderr
    assert report(folder / "d.json")["key"] == "random"


def test_strict_stops_at_the_first_skip_and_what_was_done_stays(folder, pii_edu):
    put(folder / "essays.jsonl", '{"text": "I am Ina Sorel"}\n{oops\n{"text": "I am Ina Sorel"}\n')
    run = pii_edu("deidentify essays.jsonl --out clean.jsonl --config strict=true")
    assert run.exit_code == 3 and "[E532]" in run.stderr and "[E521]" in run.stderr
    assert not (folder / "clean.jsonl").exists()
    assert len(rows_of(folder / "clean.jsonl.partial")) == 1
    again = pii_edu("deidentify essays.jsonl --out clean.jsonl --resume")
    assert again.exit_code == 1, again.output
    assert len(rows_of(folder / "clean.jsonl")) == report(folder / "report.json")["documents"] == 2
    assert files_in(folder) == ["clean.jsonl", "essays.jsonl", "report.html", "report.json"]


def test_record_on_which_the_pipeline_fails_is_skipped_alone(folder, pii_edu, monkeypatch):
    from spacy.language import Language

    def fail(self, text, **kwargs):
        if "boom" in (text if isinstance(text, str) else text.text):
            raise RuntimeError(f"cannot do {text}")
        return make_doc(self, text)

    make_doc = Language.make_doc
    monkeypatch.setattr(Language, "make_doc", fail)
    put(folder / "essays.csv", "text\nI am Ina Sorel\nboom Ina Sorel\n" + "a " * 500_001 + "\n")
    run = pii_edu("deidentify essays.csv --out clean.csv")
    assert run.exit_code == 1, run.output
    assert "[E526]" in run.stderr and "RuntimeError" in run.stderr and "boom" not in run.output
    assert "[E528]" in run.stderr  # too long to be read at once
    out = (folder / "clean.csv").read_text()
    assert "boom" not in out and "Sorel" not in out and len(out.splitlines()) == 2


def test_unexpected_error_shows_code_and_type_only(folder, pii_edu, monkeypatch):
    from pii_components.release import run as running

    def fail(*args):
        raise ZeroDivisionError("Ina Sorel")

    monkeypatch.setattr(running.Report, "add", fail)
    put(folder / "essays.csv", table(2))
    run = pii_edu("deidentify essays.csv --out clean.csv")
    assert run.exit_code == 3 and "[E533]" in run.stderr and "ZeroDivisionError" in run.stderr
    assert "Ina" not in run.output and "Traceback" not in run.output
    again = pii_edu("--debug deidentify essays.csv --out clean.csv --overwrite")
    assert isinstance(again.exception, ZeroDivisionError)


@pytest.mark.parametrize(("form", "how"), [("csv", "kill"), ("json", "term"), ("names", "kill")])
def test_run_that_was_broken_off_and_taken_up_gives_the_same_output(
    folder, pii_edu, fork, form, how
):
    n, suffix = 60, "" if form == "names" else f".{form}"
    texts = [row.split(",", 1)[1] for row in table(n).splitlines()[1:]]
    if form == "csv":
        put(folder / "in.csv", table(n).encode() + b"x,Ina \ny,\xff\n")
    elif form == "json":
        put(folder / "in.json", json.dumps([{"essay": text} for text in texts]))
    else:
        for i, text in enumerate(texts):
            put(folder / f"in/{i % 3}/Ilse_Okoro_{i:03}.txt", text)
    line, state_path = f"deidentify in{suffix} --out clean{suffix}", f"clean{suffix}.state.json"
    whole = f"deidentify in{suffix} --out whole{suffix} --config report=all.json"
    pii_edu(f"{whole} --config batch_size=7")
    child = fork(f"{line} --config batch_size=2")
    wait_for_items(folder / state_path, 20)
    os.kill(child, signal.SIGKILL if how == "kill" else signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (-signal.SIGKILL if how == "kill" else 130)
    state = report(folder / state_path)
    assert 20 <= state["items"] < n and "Okoro" not in json.dumps(state)
    partial = folder / f"clean{suffix}.partial"
    assert partial.exists() and not (folder / f"clean{suffix}").exists()
    if how == "term":
        assert "interrupted" in (folder / "log").read_text()
        assert len(report(partial)) == state["items"]
    assert pii_edu(line).exit_code == 2
    again = pii_edu(f"{line} --resume")
    assert again.exit_code == (1 if form == "csv" else 0), again.output
    if form == "names":
        names = files_in(folder / "whole")
        assert len(names) == n
        pairs = [(folder / "whole" / name, folder / "clean" / name) for name in names]
    else:
        pairs = [(folder / f"whole{suffix}", folder / f"clean{suffix}")]
    assert all(one.read_bytes() == other.read_bytes() for one, other in pairs)
    mine = report(folder / ("clean/report.json" if form == "names" else "report.json"))
    for name in ("documents", "words", "spans", "skipped", "to_review"):
        assert mine[name] == report(folder / "all.json")[name]
    assert not partial.exists() and not (folder / state_path).exists()


SETTINGS = {"input": "csv:1:2", "profile": "crapii 0"}


def test_state_holds_no_key(tmp_path):
    path = tmp_path / "x.state.json"
    RunState(SETTINGS, key_fingerprint(b"a secret key of some length"), items=3).save(path)
    assert b"secret" not in path.read_bytes()
    assert load_state(path).items == 3
    for damaged in ("{}", '{"settings": {}, "items": -1}', '{"settings": {}, "offset": "x"}', "{"):
        path.write_text(damaged)
        with pytest.raises(PiiError, match="E513"):
            load_state(path)
