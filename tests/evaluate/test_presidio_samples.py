"""What Presidio finds alone and with us: counts by entity, people who are no PERSON, files that do not fit."""

import json

import pytest

pytest.importorskip("presidio_analyzer")

from presidio_analyzer import RecognizerResult
from typer.testing import CliRunner

from pii_components.cli.evaluate import evaluate_app
from pii_components.errors import PiiError
from pii_components.evaluate.tables import markdown_table
from scripts.presidio_samples import compare_presidio, count, presidio_rows, read_samples

#       0    5    10   15   20   25   30   35
TEXT = "Ana Lopez, 2048123, read Buzan and Zed."
GOLD = [[0, 9, "NAME_STUDENT"], [11, 18, "ID_NUM"], [25, 30, "NAME_CITED"], [35, 38, "NAME_CHARACTER"]]


@pytest.fixture
def files(tmp_path):
    texts, gold = tmp_path / "essays.csv", tmp_path / "gold.jsonl"
    texts.write_text(f'id,course,text\na,C1,"{TEXT}"\nb,C1,"Nothing\nhere."\n', encoding="utf8")
    gold.write_text("".join(json.dumps({"id": i, "spans": s}) + "\n" for i, s in (("a", GOLD), ("b", []))), encoding="utf8")
    return texts, gold


def result(entity, start, end):
    return RecognizerResult(entity, start, end, 0.5)


def test_counts(files):
    documents = read_samples(*files)
    found = [
        [
            result("PERSON", 0, 3),  # right, but half of the name stays in clear
            result("PERSON", 25, 30),  # a cited author
            result("US_PASSPORT", 11, 18), result("US_DRIVER_LICENSE", 11, 18),  # one number
            result("DATE_TIME", 19, 23),
        ],
        [result("PERSON", 0, 7)],
    ]  # fmt: skip
    assert count(found, documents) == {
        "entities": {
            "DATE_TIME": {"results": 1, "right": 0},
            "ID": {"results": 1, "right": 1},
            "PERSON": {"results": 3, "right": 1},
        },
        "missed": {"PERSON": 1},
        "cited_as_person": 1,
    }


def test_gold_that_another_entity_hides_is_not_in_clear(files):
    found = [[result("PERSON", 0, 3), result("NRP", 4, 9), result("PHONE_NUMBER", 11, 18)], []]
    assert count(found, read_samples(*files))["missed"] == {}


def test_table(files):
    class Analyzer:
        supported_languages = ("en",)

        def analyze(self, text, language):
            return [result("PERSON", 0, 9), result("NRP", 25, 30)] if text.startswith("Ana") else []

    report = {"kind": "presidio", **compare_presidio({"alone": Analyzer()}, read_samples(*files))}
    head, rows = presidio_rows(report)
    assert head == ["Presidio's entity", "in the essays", "alone: results", "alone: right", "alone: left in clear"]
    assert rows == [
        ["ID", "1", "0", "0", "1"],
        ["PERSON", "1", "1", "1", "0"],
        ["NRP", "0", "1", "–", "–"],
        ["authors and characters", "2", "0 called PERSON", "", ""],
    ]
    assert markdown_table([report]).splitlines()[0].startswith("| Presidio's entity | in the essays |")


@pytest.mark.parametrize(
    ("spans", "code"),
    [
        ([[0, 99, "NAME_STUDENT"]], "E813"),
        ([[3, 3, "NAME_STUDENT"]], "E813"),
        ([[0, 3, "PERSON"]], "E002"),
        ([[0, 3]], "E501"),
        ("none", "E501"),
    ],
)
def test_gold_that_does_not_fit(spans, code, files):
    texts, gold = files
    gold.write_text(json.dumps({"id": "a", "spans": spans}), encoding="utf8")
    with pytest.raises(PiiError) as error:
        read_samples(texts, gold)
    assert error.value.code == code


def test_command_refuses_what_is_not_presidio(files):
    done = CliRunner().invoke(evaluate_app, ["presidio", "--texts", str(files[0]), "--gold", str(files[1]), "--alone", "azure"])
    assert done.exit_code == 2


def test_command_writes_what_the_table_shows(files, tmp_path, monkeypatch):
    from tests.presidio.helpers import names_pipeline

    from pii_components.presidio import build_analyzer
    from scripts import presidio_samples as evaluate_presidio

    analyzer = build_analyzer(pipeline=names_pipeline())
    monkeypatch.setattr(evaluate_presidio, "_analyzers", lambda alone, pipeline: ({"with us": analyzer}, {"with us": {}}))
    out = tmp_path / "metrics" / "samples.json"
    done = CliRunner().invoke(evaluate_app, ["presidio", "--texts", str(files[0]), "--gold", str(files[1]), "--out", str(out)])
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text("utf8"))
    assert report["systems"]["with us"]["entities"]["PERSON"] == {"results": 1, "right": 1}
    assert report["systems"]["with us"]["cited_as_person"] == 0
    assert report["command"] == "pii-edu evaluate presidio --texts essays.csv --gold gold.jsonl --alone presidio-md"
    assert str(tmp_path) not in out.read_text("utf8")
    assert "PERSON" in done.output
