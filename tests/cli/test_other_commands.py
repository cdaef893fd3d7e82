"""`pii-edu detect`, `demo`, `profiles`, `keygen`, `version`."""

import json
import os
import stat
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from pii_components.files.sources import open_source
from pii_components.labels import LABELS
from pii_components.release.engine import KEEP, load_engine
from tests.cli.conftest import put, table

ESSAY = "I am Ina Sorel.\nBuzan (2006) says so. ina.sorel@example.edu"


@pytest.fixture
def essays(folder):
    (folder / "essay.txt").write_text(ESSAY)
    (folder / "essays.jsonl").write_text(
        f'{{"document": "d7", "text": {json.dumps(ESSAY)}}}\n{{oops\n{{"document": 8, "text": "None."}}\n'
    )
    return folder


def test_detect_shows_offsets_and_labels_but_no_text(essays, pii_edu):
    run = pii_edu("detect essay.txt")
    assert run.exit_code == 0, run.output
    assert (
        "NAME_STUDENT" in run.stdout
        and "CITED" in run.stdout
        and " 5 " in run.stdout
        and " 14 " in run.stdout
    )
    assert "Sorel" not in run.output and "ina.sorel" not in run.output
    assert "Ina Sorel" in pii_edu("detect essay.txt --show-text").stdout


def test_detect_reads_standard_input(pii_edu):
    run = pii_edu("detect -", stdin=ESSAY)
    assert run.exit_code == 0 and "EMAIL" in run.stdout


def test_detect_writes_json_lines(essays, pii_edu):
    run = pii_edu("detect essays.jsonl --out spans.jsonl")
    assert run.exit_code == 1 and "[E521]" in run.stderr
    rows = [json.loads(line) for line in (essays / "spans.jsonl").read_text().splitlines()]
    assert [
        (
            row["document"],
            row["record"],
            ESSAY[row["start_char"] : row["end_char"]],
            row["label"],
            row["role"],
        )
        for row in rows
    ] == [
        ("d7", 1, "Ina Sorel", "NAME_STUDENT", "STUDENT"),
        ("d7", 1, "Buzan", "NAME_CITED", "CITED"),
        ("d7", 1, "ina.sorel@example.edu", "EMAIL", "STUDENT"),
    ]
    assert list(rows[0]) == [
        "document",
        "record",
        "start_char",
        "end_char",
        "label",
        "role",
        "score",
        "source",
        "reason",
    ]
    assert not (essays / "spans.jsonl.partial").exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["essays.jsonl", "--out", "essays.jsonl", "--overwrite"], "E472"),
        (["essays.jsonl", "--out", "essay.txt"], "E510"),
        (["missing.csv"], "E501"),
        (["essay.txt", "--config", "model=no_such_model"], "E516"),
    ],
)
def test_detect_refuses_with_a_code(essays, pii_edu, args, code):
    run = pii_edu("detect", *args)
    assert run.exit_code == 2 and run.stderr.startswith(f"[{code}]")
    assert (essays / "essay.txt").read_text() == ESSAY


def test_detect_names_the_files_of_a_folder_that_it_does_not_read(essays, pii_edu):
    (essays / "in").mkdir()
    for name in ("a.txt", "b.odt", "c.rtf"):
        (essays / "in" / name).write_text("Nobody.")
    run = pii_edu("detect in")
    assert run.exit_code == 1 and [
        line[-8:] for line in run.stderr.splitlines() if "[E551]" in line
    ] == [" (b.odt)", " (c.rtf)"]


def test_a_refused_run_leaves_nothing(essays, pii_edu):
    (essays / "bad.txt").write_bytes(b"Ina \xff")
    before = sorted(essays.iterdir())
    for args in (
        ["detect"],
        ["deidentify", "--vault", "x.vault", "--config", "labels_out=x.spacy"],
        ["deidentify", "--config", "strict=true"],
    ):
        run = pii_edu(*args, "bad.txt", "--out", "out.txt")
        assert (
            run.exit_code == 2
            and "[E520]" in run.stderr
            and "wrote" not in run.output
            and sorted(essays.iterdir()) == before
        )


def test_detect_strict_stops(essays, pii_edu):
    run = pii_edu("detect essays.jsonl --out spans.jsonl --config strict=true")
    assert run.exit_code == 2 and "[E532]" in run.stderr and not (essays / "spans.jsonl").exists()


def test_demo_shows_both_texts(pii_edu):
    run = pii_edu("demo --profile tags_only")
    assert run.exit_code == 0, run.output
    assert "before" in run.stdout and "after, profile tags_only" in run.stdout
    assert run.stdout.count("Buzan (2006)") == 2


def test_profiles_lists_every_label_and_profile(pii_edu):
    run = pii_edu("profiles")
    assert run.exit_code == 0
    for word in (*LABELS, "crapii", "ets", "tags_only", "ferpa_strict"):
        assert word in run.stdout


def test_keygen_makes_a_key_for_the_owner_only_and_never_replaces_one(folder, pii_edu):
    assert pii_edu("keygen key").exit_code == 0
    key = (folder / "key").read_text()
    assert len(key.strip()) == 64 and stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    again = pii_edu("keygen key")
    assert again.exit_code == 2 and "[E510]" in again.stderr and (folder / "key").read_text() == key
    assert key.strip() not in again.output


@pytest.mark.parametrize("args", [["version"], ["--version"]])
def test_version(pii_edu, args):
    from pii_components import __version__

    run = pii_edu(*args)
    assert run.exit_code == 0 and f"pii-edu {__version__}" in run.stdout


@pytest.mark.parametrize("args", [["--help"], ["deidentify", "--help"], ["detect", "--help"]])
def test_help(pii_edu, args):
    run = pii_edu(*args)
    assert run.exit_code == 0
    if "deidentify" in args:
        assert "Exit codes: 0 all done" in " ".join(run.stdout.split())


def test_wrong_option_is_told_before_spacy_is_imported(folder):
    code = "import sys; sys.modules['spacy'] = None; from pii_components.cli import main; main()"
    root = str(Path(__file__).parents[2])
    args = [sys.executable, "-c", code, "deidentify", "missing.csv"]
    done = subprocess.run(
        args, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert done.returncode == 2 and done.stderr.startswith("[E501]")


def test_an_operating_point_is_used_or_refused(pii_edu, folder):
    """The small pipeline of these tests has none; the shipped one hides more at `recall` than at `precision`."""
    put(folder / "in.csv", table(1))
    assert "[E519]" in pii_edu("deidentify in.csv --config operating_point=most").stderr
    assert "[E518]" in pii_edu("deidentify in.csv --config operating_point=recall").stderr
    assert (
        "[E560]"
        in pii_edu("deidentify in.csv --config operating_point=recall --config engine=ray").stderr
    )
    records = list(
        islice(
            open_source(Path(__file__).parents[2] / "assets/samples/essays.csv", text_field="text"),
            8,
        )
    )
    found = [
        load_engine("en_pii_edu", key=b"a" * 32, operating_point=point)
        for point in ("precision", "recall")
    ]
    few, many = (
        sum(s.action != KEEP for result in one.results(records) for s in result.spans)
        for one in found
    )
    assert few < many
