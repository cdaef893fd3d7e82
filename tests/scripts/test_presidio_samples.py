"""What Presidio finds alone and with us: counts by entity, and people who are no PERSON."""

import json

import pytest

pytest.importorskip("presidio_analyzer")

from presidio_analyzer import RecognizerResult

from scripts import presidio_samples
from scripts.presidio_samples import count, read_samples

#       0    5    10   15   20   25   30   35
TEXT = "Ana Lopez, 2048123, read Buzan and Zed."
GOLD = [
    [0, 9, "NAME_STUDENT"],
    [11, 18, "ID_NUM"],
    [25, 30, "NAME_CITED"],
    [35, 38, "NAME_CHARACTER"],
]


@pytest.fixture
def samples(tmp_path):
    (tmp_path / "essays.csv").write_text(
        f'id,course,text\na,C1,"{TEXT}"\nb,C1,"Nothing\nhere."\n', encoding="utf8"
    )
    gold = [{"id": "a", "spans": GOLD}, {"id": "b", "spans": []}]
    (tmp_path / "gold.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in gold), encoding="utf8"
    )
    return tmp_path


def results(*found):
    return [RecognizerResult(*one, 0.5) for one in found]


def test_counts(samples):
    first = results(
        ("PERSON", 0, 3),  # right, but half of the name stays in clear
        ("PERSON", 25, 30),  # a cited author
        ("US_PASSPORT", 11, 18),
        ("US_DRIVER_LICENSE", 11, 18),  # one number
        ("DATE_TIME", 19, 23),
    )
    assert count([first, results(("PERSON", 0, 7))], read_samples(samples)) == {
        "entities": {
            "DATE_TIME": {"results": 1, "right": 0},
            "ID": {"results": 1, "right": 1},
            "PERSON": {"results": 3, "right": 1},
        },
        "missed": {"PERSON": 1},
        "cited_as_person": 1,
    }
    # Gold that another entity hides is not in clear.
    others = results(("PERSON", 0, 3), ("NRP", 4, 9), ("PHONE_NUMBER", 11, 18))
    assert count([others, []], read_samples(samples))["missed"] == {}


def test_command_writes_what_the_table_shows(command, samples, monkeypatch):
    from pii_components.presidio import build_analyzer
    from tests.presidio.common import names_pipeline

    analyzer = build_analyzer(pipeline=names_pipeline())
    analyzers = {"alone": analyzer, "with us": analyzer}
    monkeypatch.setattr(presidio_samples, "_analyzers", lambda alone, pipeline: (analyzers, {}))
    out = samples / "metrics" / "samples.json"
    done = command(presidio_samples.main, "--samples", samples, "--out", out)
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text("utf8"))
    assert report["gold"] == {"ID": 1, "PERSON": 1} and report["gold_cited"] == 2
    assert report["systems"]["with us"]["entities"]["PERSON"] == {"results": 1, "right": 1}
    assert report["systems"]["with us"]["cited_as_person"] == 0
    assert report["command"].startswith("python -m scripts.presidio_samples") and str(
        samples
    ) not in out.read_text("utf8")
    assert "| PERSON | 1 |" in done.output
