"""Predictions go to a file without texts, and come back."""

from dataclasses import replace

import pytest

from pii_components.errors import PiiError
from pii_components.evaluate.systems import SpacyNerSystem, read_run, run_system, write_run


@pytest.fixture
def run(nlp, gold):
    return replace(run_system(SpacyNerSystem(nlp), gold), seconds=2.0, cpu_seconds=1.5)


def test_a_run_comes_back(run, gold, tmp_path):
    write_run(run, tmp_path / "new" / "run.jsonl", data_sha256="ab")
    read = read_run(tmp_path / "new" / "run.jsonl", gold, data_sha256="ab", name="older")
    assert read == replace(run, name="older", stored=True)
    assert [entity.text for entity in read.entities] == ["Dana Vell", "Oskar Tamm", "Smith"]


def test_the_file_holds_no_text(run, tmp_path):
    write_run(run, tmp_path / "run.jsonl", data_sha256="ab")
    written = (tmp_path / "run.jsonl").read_text()
    assert not any(word in written for word in ("Dana", "Vell", "Oskar", "Smith", "uni.example"))


def test_documents_that_are_not_asked_for_are_left_out(run, gold, tmp_path):
    write_run(run, tmp_path / "run.jsonl", data_sha256="ab")
    assert {e.document for e in read_run(tmp_path / "run.jsonl", gold[1:], data_sha256="ab").entities} == {"2", "4"}


@pytest.mark.parametrize("content", ["", "{}", '{"data_sha256": "ab"}\n{"document": "1"}', "[1]", "no json"])
def test_another_file_is_a_coded_error(content, gold, tmp_path):
    (tmp_path / "run.jsonl").write_text(content)
    with pytest.raises(PiiError, match=r"\[E705\]"):
        read_run(tmp_path / "run.jsonl", gold, data_sha256="ab")


def test_predictions_of_other_data_are_a_coded_error(run, gold, tmp_path):
    write_run(run, tmp_path / "run.jsonl", data_sha256="cd")
    with pytest.raises(PiiError, match=r"\[E705\].*checksum"):
        read_run(tmp_path / "run.jsonl", gold, data_sha256="ab")


def test_a_file_that_is_not_there_is_a_coded_error(gold, tmp_path):
    with pytest.raises(PiiError, match=r"\[E501\]"):
        read_run(tmp_path / "run.jsonl", gold, data_sha256="ab")
