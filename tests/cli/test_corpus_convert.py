"""`pii-edu corpus convert`: forms, reports, exit codes, what is refused. All texts are invented."""

import json

import pytest
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.files.formats import spans
from pii_components.files.labelled import read_corpus
from tests.cli.conftest import files_in, report

ROWS = [
    {"id": "7", "text": "I am Ina Sorel.", "spans": [[5, 14, "NAME_STUDENT"]]},
    {"id": "8", "text": "Write: ina@example.edu", "spans": [[7, 22, "EMAIL"], [0, 3, "DATE"]]},
    {"id": "9", "text": "None.", "spans": []},
]
BAD = {"id": "10", "text": "Ina Sorel", "spans": "x"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("in", ROWS), ("bad", [*ROWS, *[BAD] * 12])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def convert(line: str):
    return CliRunner().invoke(app, ["corpus", "convert", *line.split()])


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("a.spacy", "spacy"),
        ("a.json", "kaggle"),
        ("a.jsonl --to kaggle-jsonl", "kaggle-jsonl"),
        ("a.csv --from jsonl", "csv"),
    ],
)
def test_there_and_back(folder, line, form):
    run, out = convert(f"in.jsonl {line}"), line.split()[0]
    assert run.exit_code == 0, run.output
    found = report(folder / f"{out}.report.json")
    assert (found["from"], found["to"], found["documents"]) == ("jsonl", form, 3)
    inside = form != "csv"  # "Wri" is half a token
    assert found["labels"] == {"NAME_STUDENT": 1, "EMAIL": 1} | ({} if inside else {"DATE": 1})
    half = {"record": 2, "start": 0, "end": 3, "label": "DATE", "reason": "edge inside a token"}
    assert found["masked"]["where"] == ([half] if inside else [])
    assert found["skipped"] == {"count": 0, "records": []}
    assert "Sorel" not in run.output + json.dumps(found) and "3 documents, 0 skipped" in run.output
    back = convert(f"{out} back.jsonl --to jsonl")
    assert back.exit_code == 0, back.output
    essays = list(read_corpus(folder / "back.jsonl"))
    assert [(e.id, e.text) for e in essays] == [(row["id"], row["text"]) for row in ROWS]
    assert essays[0].spans == ((5, 14, "NAME_STUDENT"),)
    assert essays[1].masked == (((0, 5),) if inside else ())


def test_skipped_records_are_listed_and_some_of_them_shown(folder):
    run = convert("bad.jsonl a.spacy")
    assert run.exit_code == 1 and run.output.count("E624") == 10 and "Ina" not in run.output
    assert "further skipped records" in run.output
    skipped = report(folder / "a.spacy.report.json")["skipped"]
    assert skipped["count"] == 12 and skipped["records"][0] == {"record": 4, "code": "E624"}
    assert len(list(read_corpus(folder / "a.spacy"))) == 3


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("E501", "none.jsonl a.spacy"),
        ("E501", "none.jsonl a.spacy --from jsonl"),
        ("E621", "in.jsonl a.docx"),
        ("E519", "in.jsonl a.spacy --to entities"),
        ("E519", "in.jsonl a.spacy --from conll"),
        ("E472", "in.jsonl in.jsonl"),
        ("E510", "in.jsonl bad.jsonl"),
        ("E510", "in.jsonl busy.json"),
        ("E546", "in.jsonl a.spacy --config text_columns=words"),
        ("E532", "bad.jsonl a.spacy --config strict=true"),
        ("E473", "in.jsonl a.spacy --from entities"),
        ("E652", "in.jsonl a.spacy --config text_column=words"),
        ("E473", "in.jsonl a.spacy --config text_source=bad.jsonl"),
    ],
)
def test_what_is_refused_writes_nothing(folder, code, line):
    (folder / "busy.json.partial").touch()  # of another run
    before = {path: path.read_bytes() for path in folder.iterdir()}
    run = convert(line)
    assert run.exit_code == 2 and code in run.output, run.output
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("error", "exit_code"), [(KeyboardInterrupt, 130), (ZeroDivisionError, 3)])
def test_a_run_that_is_broken_off_writes_nothing(folder, monkeypatch, error, exit_code):
    def stop(*args, **options):
        raise error("Ina Sorel")

    monkeypatch.setattr(spans, "resolve_gold_overlaps", stop)
    run = convert("in.jsonl a.json --from jsonl")
    assert run.exit_code == exit_code and "Ina" not in run.output
    assert files_in(folder) == ["bad.jsonl", "in.jsonl"]
    monkeypatch.undo()
    for _ in range(2):
        line = f"{folder}/in.jsonl {folder}/a.csv --overwrite"
        assert convert(line).exit_code == 0
    assert files_in(folder) == ["a.csv", "a.csv.report.json", "bad.jsonl", "in.jsonl"]
