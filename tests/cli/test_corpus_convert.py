"""`pii-edu corpus convert`: forms, reports, exit codes, what is refused. All texts are invented."""

import json

import pytest
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.files.formats import spans
from pii_components.files.labelled import read_corpus

ROWS = [
    {"id": "7", "text": "I am Ina Sorel.", "spans": [[5, 14, "NAME_STUDENT"]]},
    {"id": "8", "text": "Write: ina@example.edu", "spans": [[7, 22, "EMAIL"], [0, 3, "DATE"]]},
    {"id": "9", "text": "None.", "spans": []},
]
BAD = {"id": "10", "text": "Ina Sorel", "spans": "x"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*ROWS, BAD]))
    return tmp_path


def corpus_convert(*args):
    return CliRunner().invoke(app, ["corpus", "convert", *map(str, args)])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("out", "options", "form"),
    [
        ("a.spacy", (), "spacy"),
        ("a.json", (), "kaggle"),
        ("a.jsonl", ("--to", "kaggle-jsonl"), "kaggle-jsonl"),
        ("a.csv", ("--from", "jsonl"), "csv"),
    ],
)
def test_there_and_back(folder, out, options, form):
    run = corpus_convert("in.jsonl", out, *options)
    assert run.exit_code == 0, run.output
    report = json.loads((folder / f"{out}.report.json").read_text())
    assert (report["from"], report["to"], report["documents"]) == ("jsonl", form, 3)
    inside = form in ("spacy", "kaggle", "kaggle-jsonl")  # "Wri" is half a token
    assert report["labels"] == {"NAME_STUDENT": 1, "EMAIL": 1} | ({} if inside else {"DATE": 1})
    where = (
        [{"record": 2, "start": 0, "end": 3, "label": "DATE", "reason": "edge inside a token"}]
        if inside
        else []
    )
    assert report["masked"]["where"] == where and report["masked"]["count"] == len(where)
    assert report["skipped"] == {"count": 0, "records": []}
    assert "Sorel" not in run.output + json.dumps(report) and "3 documents, 0 skipped" in run.output
    back = corpus_convert(out, "back.jsonl", "--to", "jsonl")
    assert back.exit_code == 0, back.output
    essays = list(read_corpus(folder / "back.jsonl"))
    assert [(e.id, e.text) for e in essays] == [(row["id"], row["text"]) for row in ROWS]
    assert essays[0].spans == ((5, 14, "NAME_STUDENT"),) and essays[1].masked == (
        ((0, 5),) if inside else ()
    )


def test_skipped_records_are_listed(folder):
    run = corpus_convert("bad.jsonl", "a.spacy")
    assert run.exit_code == 1 and "E624" in run.output and "Ina" not in run.output
    assert json.loads((folder / "a.spacy.report.json").read_text())["skipped"] == {
        "count": 1,
        "records": [{"record": 4, "code": "E624"}],
    }
    assert len(list(read_corpus(folder / "a.spacy"))) == 3


def test_only_some_skips_are_shown(folder):
    (folder / "many.jsonl").write_text(json.dumps(ROWS[0]) + "\n" + (json.dumps(BAD) + "\n") * 30)
    run = corpus_convert("many.jsonl", "a.jsonl")
    assert (
        run.exit_code == 1
        and run.output.count("E624") == 10
        and "further skipped records" in run.output
    )
    assert json.loads((folder / "a.jsonl.report.json").read_text())["skipped"]["count"] == 30


def test_entities_with_a_text_source(folder):
    (folder / "e.csv").write_text(
        'file_idx,entity_text,type,positions\n7,Ina Sorel,NAME_STUDENT,"(3, 12)"\n12,Bo,X,"(0, 2)"\n'
    )
    run = corpus_convert("e.csv", "a.json", "--config", "text_source=in.jsonl")
    assert run.exit_code == 1, run.output
    report = json.loads((folder / "a.json.report.json").read_text())
    assert report["from"] == "entities" and report["labels"] == {"NAME_STUDENT": 1}
    assert report["notes"] == {"offset corrected by the words close by": 1}
    assert report["skipped"]["records"] == [{"record": 2, "code": "E628"}]
    assert "Sorel" not in run.output


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("none.jsonl", "a.spacy"), "E501"),
        (("in.jsonl", "a.docx"), "E621"),
        (("in.jsonl", "a.spacy", "--to", "entities"), "E519"),
        (("in.jsonl", "a.spacy", "--from", "conll"), "E519"),
        (("in.jsonl", "in.jsonl"), "E472"),
        (("in.jsonl", "bad.jsonl"), "E510"),
        (("in.jsonl", "a.spacy", "--config", "text_columns=words"), "E546"),
        (("bad.jsonl", "a.spacy", "--config", "strict=true"), "E532"),
        (("in.jsonl", "a.spacy", "--from", "csv"), "E506"),
        (("in.jsonl", "a.spacy", "--from", "entities"), "E622"),
        (("in.jsonl", "a.spacy", "--config", "text_column=words"), "E652"),
        (("in.jsonl", "a.spacy", "--config", "encoding=rot13"), "E508"),
        (("in.jsonl", "a.spacy", "--config", "text_source=bad.jsonl"), "E473"),
    ],
)
def test_what_is_refused_writes_nothing(folder, args, code):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    run = corpus_convert(*args)
    assert run.exit_code == 2 and code in run.output, run.output
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_overwrite(folder):
    for _ in range(2):
        assert corpus_convert("in.jsonl", "a.csv", "--overwrite").exit_code == 0
    assert names(folder) == ["a.csv", "a.csv.report.json", "bad.jsonl", "in.jsonl"]


def test_interrupted_run_writes_nothing(folder, monkeypatch):
    resolve = spans.resolve_gold_overlaps

    def stop(*args, number, tally):
        if number == 2:
            raise KeyboardInterrupt
        return resolve(*args, number=number, tally=tally)

    monkeypatch.setattr(spans, "resolve_gold_overlaps", stop)
    run = corpus_convert("in.jsonl", "a.json", "--from", "jsonl")
    assert run.exit_code == 130 and names(folder) == ["bad.jsonl", "in.jsonl"]


def test_unexpected_error_shows_no_text(folder, monkeypatch):
    monkeypatch.setattr(spans, "resolve_gold_overlaps", lambda *args, **options: 1 / 0)
    run = corpus_convert("in.jsonl", "a.json")
    assert (
        run.exit_code == 3 and "E533" in run.output and names(folder) == ["bad.jsonl", "in.jsonl"]
    )


def test_help_names_the_forms():
    run = CliRunner().invoke(app, ["corpus", "convert", "--help"])
    assert run.exit_code == 0 and "spacy" in run.output and "text_source" in run.output
    assert "convert" in CliRunner().invoke(app, ["corpus", "--help"]).output
