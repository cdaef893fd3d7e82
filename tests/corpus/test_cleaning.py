"""The steps from submissions to a corpus. Texts are made of invented sentences; PDFs are made here."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.corpus.clean import (
    STEPS,
    CleaningOptions,
    character_counts,
    check_corpus,
    check_record,
    choose_submissions,
    find_anomalies,
)
from pii_components.errors import PiiError
from pii_components.files.record import Record
from scripts.common import make_pdf
from tests.cli.conftest import put_texts, rows_of
from tests.tiny import cases

CASES = cases("corpus")
PARTS = CASES["words of essays"]
SPANISH = "Este ensayo describe cómo nuestro equipo preparó la reunión y qué aprendimos. " * 8


def essay(seed: int, n: int = 12) -> str:
    rng = random.Random(seed)
    made = (" ".join(map(rng.choice, PARTS)) + rng.choice("..!") for _ in range(n))
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in made)


def write_pdf(path: Path, text: str, *, pages: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_pdf(*[text] * pages))
    return path


def run(source: Path, out: Path, *settings: str, overwrite: bool = False):
    config = [word for setting in settings for word in ("--config", setting)]
    more = ["--overwrite"] if overwrite else []
    command = ["corpus", "clean", str(source), "--out", str(out), *config, *more]
    return CliRunner().invoke(app, command)


def report_of(path: Path) -> tuple[dict, dict]:
    """The report beside a corpus, and what each step removed and left."""
    report = json.loads(path.with_name(f"{path.stem}.cleaning.json").read_text("utf8"))
    return report, {step["name"]: (step["removed"], step["remaining"]) for step in report["steps"]}


def refuses(code: str, call, *args, **options) -> str:
    with pytest.raises(PiiError) as error:
        call(*args, **options)
    assert error.value.code == code
    return str(error.value)


REMOVALS = [
    ("fine", essay(1), {}, ""),
    ("empty", "", {}, "language"),
    ("Spanish", SPANISH, {}, "language"),
    ("Spanish is wanted", SPANISH, {"language": "es"}, ""),
    ("English is not wanted", essay(1), {"language": "es"}, "language"),
    ("any language", SPANISH, {"language": ""}, ""),
    ("49 words", " ".join(essay(1).split()[:49]), {}, "words"),
    ("50 words", " ".join(essay(1).split()[:50]), {}, ""),
    ("few words are allowed", "This is a short answer about our class.", {"min_words": 0}, ""),
    ("too large", essay(1), {"max_bytes": 100}, "size"),
    ("no limit of size", essay(1), {"max_bytes": 0}, ""),
    ("signs that CLD2 refuses", essay(1) + "\x00\x7f\x85\ufffe", {}, ""),
    ("one letter only", "x " * 80, {}, "language"),
]


@pytest.mark.parametrize(
    ("name", "text", "options", "step"), REMOVALS, ids=[row[0] for row in REMOVALS]
)
def test_what_goes_and_why(name, text, options, step):
    assert check_record(Record(1, "d", text), CleaningOptions(**options)) == step


def test_bad_thresholds():
    bad = {"max_bytes": -1, "max_pages": -1, "min_words": -5, "similarity": 1.0, "pool_below": 2}
    bad |= {"contamination": 0.6, "keep": "last", "per_student": "first", "language": "English"}
    for name, value in (*bad.items(), ("similarity", float("nan")), ("contamination", -0.1)):
        assert name in refuses("E650", CleaningOptions, **{name: value})


def test_table_counts_every_record_once(tmp_path):
    texts = [essay(i) for i in range(30)] + [essay(3), SPANISH, "short", essay(4) + " Twice."]
    path, out = put_texts(tmp_path / "in.jsonl", texts), tmp_path / "o.jsonl"
    path.write_text(path.read_text("utf8") + "{broken\n", "utf8")
    run(path, out, "contamination=0")
    _, table = report_of(out)
    assert list(table) == [name for name, *_ in STEPS]
    assert table["records"] == (0, 35) and table["text"] == (1, 34) and table["language"] == (2, 32)
    assert table["duplicates"] == (4, 28) and table["anomalies"] == (0, 28)
    assert len(rows_of(out)) == 28
    once, first = put_texts(path, [essay(n) for n in (1, 2, 1, 1)]), tmp_path / "first.jsonl"
    run(once, first, "contamination=0", "keep=first")
    assert [row["text"] for row in rows_of(first)] == [essay(1), essay(2)]


@pytest.mark.parametrize(("name", "times", "how", "expected"), CASES["submissions of a student"])
def test_one_submission_per_student(name, times, how, expected):
    items = [Record(i, "", "", body=("s1", time)) for i, time in enumerate(times, 1)]
    items.append(Record(4, "", "", body=(None, "1")))
    chosen = choose_submissions(items, lambda r: r.body[0], lambda r: r.body[1], how=how)
    assert chosen == {*expected}, name


def test_times_that_are_missing_or_cannot_be_read():
    records = [Record(i, "", "") for i in (1, 2, 3)]
    assert choose_submissions(records, lambda r: " s1 " if r.number < 3 else "s1") == {3}
    for time in ("yesterday", "", None, "nan", "inf"):
        assert "yesterday" not in refuses(
            "E624", choose_submissions, records, lambda r: "s1", lambda r, time=time: time
        )


# -- anomalies


def test_anomalies_are_found():
    bad = {17, 100, 333}
    texts = [essay(i, n=20) for i in range(400)]
    for i in bad:
        texts[i] = "".join(chr(32 + (ord(c) - 3) % 95) for c in texts[i])
    counts = np.stack([character_counts(text) for text in texts])
    found = find_anomalies(counts, contamination=0.02)
    assert set(np.flatnonzero(found)) >= bad and found.sum() == 8
    order = np.random.default_rng(1).permutation(len(counts))
    assert (find_anomalies(counts[order], contamination=0.02) == found[order]).all()
    assert set(np.flatnonzero(find_anomalies(counts, contamination=0.02, pool_below=0))) >= bad


def test_too_few_texts_for_anomalies():
    for n in (0, 1, 2, 20):
        texts = [essay(i) for i in range(n)]
        refuses("E664", find_anomalies, np.array([character_counts(text) for text in texts]))
        assert "E664" in check_corpus(texts, CleaningOptions()).note


def test_nothing_is_written_where_nothing_could_be_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text\nIlse \xff\n")
    result = run(tmp_path / "a.csv", tmp_path / "clean.jsonl")
    assert result.exit_code == 2 and "[E552]" in result.output and "wrote" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


# -- the command


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_clean_a_folder_of_pdf(tmp_path, form):
    folder, out = tmp_path / "in", tmp_path / "out" / "clean.jsonl"
    for i in range(6):
        write_pdf(folder / f"{i}.pdf", essay(min(i, 4)))
    write_pdf(folder / "long.pdf", essay(9), pages=6)
    write_pdf(folder / "spanish.pdf", SPANISH)
    write_pdf(folder / "short.pdf", "This is a short answer about the work of our class.")
    (folder / "broken.pdf").write_bytes(b"nothing")
    (folder / "table.csv").write_text("id,text\n")
    path = folder if form == "folder" else Path(shutil.make_archive(str(folder), "zip", folder))
    result = run(path, out)
    assert result.exit_code == 1, result.output
    assert [row["id"] for row in rows_of(out)] == ["0.pdf", "1.pdf", "2.pdf", "3.pdf"]
    assert rows_of(out)[0].keys() == {"id", "text", "pages"}
    report, table = report_of(out)
    counts = [(0, 11)] * 3 + [(1, 10), (2, 8), (1, 7), (1, 6), (2, 4), (0, 4)]
    assert table == dict(zip([name for name, *_ in STEPS], counts, strict=True))
    why = {"4": "duplicates", "5": "duplicates", "broken": "text E657", "long": "pages E655"}
    why |= {"short": "words", "spanish": "language", "table.csv": "text E551"}
    removed = {item["id"].removesuffix(".pdf"): item for item in report["removed"]}
    assert {name: f"{of['step']} {of['code']}".strip() for name, of in removed.items()} == why
    assert "E664" in report["notes"][0] and report["near_duplicates"]["groups"] == [[5, 6]]
    assert not any(f'"{word}' in json.dumps(report) for word in essay(0).split() if len(word) > 5)
    assert sorted(p.name for p in out.parent.iterdir()) == ["clean.cleaning.json", "clean.jsonl"]
    assert "Deduplicated" in result.output


def test_clean_a_table_by_student(tmp_path):
    rows = ["number,student,when,text,note"]
    rows += [f'{i},s{i % 3},2024-01-{10 - i:02},"{essay(i)}",n{i}' for i in range(1, 7)]
    path, out = tmp_path / "in.csv", tmp_path / "o.jsonl"
    path.write_text("\n".join([*rows, '7,s1,2024,"open']), encoding="utf-8")
    result = run(path, out, "student_column=student", "time_column=when", "id_column=number")
    assert result.exit_code == 1, result.output
    found = [(row["number"], row["student"], row["note"]) for row in rows_of(out)]
    assert found == [("1", "s1", "n1"), ("2", "s2", "n2"), ("3", "s0", "n3")]


def test_a_json_object_becomes_a_line(tmp_path):
    raw = f'{{"document": 7,\n   "score": 1.5, "full_text": "{essay(1)} \\u00e9", "x": [1,\n 2]}}'
    half = f'{{"text": "{essay(2)} é", "note": "\\ud83d"}}\n'  # of a character
    (tmp_path / "half.jsonl").write_text(half, encoding="utf-8")
    assert run(tmp_path / "half.jsonl", tmp_path / "h.jsonl").exit_code == 0
    assert json.loads((tmp_path / "h.jsonl").read_text("utf-8")) == json.loads(half)
    path = tmp_path / "in.json"
    path.write_text(f"[{raw}]", encoding="utf-8")
    assert run(path, tmp_path / "o.jsonl").exit_code == 0
    written = (tmp_path / "o.jsonl").read_text(encoding="utf-8")
    assert written.count("\n") == 1 and "\\u00e9" in written
    assert json.loads(written) == json.loads(raw)


@pytest.mark.parametrize(("args", "code"), CASES["cleaning that is refused"])
def test_refused_before_anything_is_written(tmp_path, args, code):
    path = put_texts(tmp_path / "in.jsonl", [essay(1)])
    result = run(path, tmp_path / "o.jsonl", *args[1::2])
    assert result.exit_code == 2 and code in result.output
    assert [p.name for p in tmp_path.iterdir()] == ["in.jsonl"]


def test_an_interrupted_run_leaves_nothing_and_the_next_is_whole(tmp_path, monkeypatch):
    texts = [essay(i % 12) if i != 5 else "short" for i in range(14)]
    path = put_texts(tmp_path / "in.jsonl", texts)
    assert run(path, tmp_path / "whole.jsonl").exit_code == 0
    calls, out = [], tmp_path / "o.jsonl"

    def break_off(*args):
        calls.append(1)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return check_record(*args)

    monkeypatch.setattr("pii_components.cli.corpus.steps.check_record", break_off)
    before = sorted(tmp_path.iterdir())
    assert run(path, out).exit_code == 130 and sorted(tmp_path.iterdir()) == before
    assert run(path, out).exit_code == 0
    for name in ("{}.jsonl", "{}.cleaning.json"):
        made, whole = (tmp_path / name.format(stem) for stem in ("o", "whole"))
        assert made.read_bytes() == whole.read_bytes()


def test_places_that_are_taken(tmp_path):
    path, out = put_texts(tmp_path / "in.jsonl", [essay(1)]), tmp_path / "o.jsonl"
    assert "E472" in run(path, path).output
    out.write_text("mine")
    assert "E510" in run(path, out).output
    assert out.read_text() == "mine"
    assert run(path, out, overwrite=True).exit_code == 0
    write_pdf(tmp_path / "in" / "a.pdf", essay(1))
    folder = tmp_path / "in"
    assert "E472" in run(folder, folder / "o.jsonl").output
    assert "E651" in run(folder, tmp_path / "p.jsonl", "student_column=s").output
