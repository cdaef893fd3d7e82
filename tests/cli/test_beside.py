"""What stands beside the texts: other runs, files that cannot be read, file names, IDs, other columns. Everybody is invented."""

import json
import os
import signal

import pytest

from pii_components.cli import common
from tests.cli.conftest import ESSAY, put, table, wait_for_items


@pytest.mark.parametrize(("command", "out"), [
    (["deidentify", "in.csv"], "clean.csv"), (["deidentify", "in.csv", "--overwrite"], "clean.csv"),
    (["deidentify", "in.csv", "--resume"], "clean.csv"), (["deidentify", "in.csv", "--labels-out", "l.jsonl"], "l.jsonl"),
    (["deidentify", "-"], "clean.csv"), (["detect", "in.csv"], "clean.csv"), (["reidentify", "in.csv", "--vault", "v"], "clean.csv"),
])
def test_second_run_into_an_output_is_refused_before_it_reads(folder, pii_edu, monkeypatch, command, out):
    put(folder / "in.csv", table(1))
    before = sorted(folder.iterdir())
    with common.locked(folder / out):
        for module in ("deidentify", "detect", "reidentify"):
            monkeypatch.setattr(f"pii_components.cli.{module}.open_source", pytest.fail)
        run = pii_edu(*command, "--out", "clean.csv", stdin=ESSAY)
    assert run.exit_code == 2 and "[E542]" in run.stderr, run.output
    assert sorted(folder.iterdir()) == before


def test_lock_of_a_killed_run_is_taken_over_and_told(folder, pii_edu, fork):
    put(folder / "in.csv", table(60))
    child = fork("deidentify", "in.csv", "--out", "clean.csv", "--batch-size", "2")
    wait_for_items(folder / "clean.csv.state.json", 4)
    assert "[E542]" in pii_edu("deidentify", "in.csv", "--out", "clean.csv", "--overwrite").stderr
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    run = pii_edu("deidentify", "in.csv", "--out", "clean.csv", "--resume")
    assert run.exit_code == 0 and "taken over: the lock" in run.stderr, run.output
    assert not (folder / "clean.csv.lock").exists() and len((folder / "clean.csv").read_text().splitlines()) == 61


def test_lock_goes_with_a_run_that_fails(folder, pii_edu):
    assert "[E501]" in pii_edu("deidentify", "none.csv", "--out", "new/deep/clean.csv").stderr
    assert list(folder.iterdir()) == []


def test_what_cannot_be_read_is_skipped_and_what_no_user_wrote_is_passed_over(folder, pii_edu):
    put(folder / "in/a.txt", ESSAY)
    (folder / "in/b.txt").symlink_to("nowhere.txt")
    (folder / "in/c.txt").symlink_to("c.txt")
    (folder / "in/d").symlink_to(folder / "in")
    for name in (".hidden.txt", "~$a.txt", ".git/x.txt", ".DS_Store", "e/Thumbs.db"):
        put(folder / "in" / name, ESSAY)
    run = pii_edu("deidentify", "in", "--out", "clean")
    assert run.exit_code == 1 and "passed over: 5 files" in run.stderr, run.output
    found = json.loads((folder / "clean/report.json").read_text())
    assert (found["documents"], found["skipped"]["count"], found["hidden_files_passed_over"]) == (1, 3, 5)
    assert [row["code"] for row in found["skipped"]["records"]] == ["E501"] * 3
    assert sorted(path.name for path in (folder / "clean").iterdir()) == ["a.txt", "report.json"]
