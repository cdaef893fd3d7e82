"""The page of what gained what: only what metrics files say."""

import copy
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pii_components.errors import PiiError
from pii_components.evaluate.experiments import check, from_metrics, page, read_experiments, side_of, write_experiment

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/experiments.md"
COVERAGE = {"documents_with_pii": 4, "incompletely_covered": 1, "clean_documents": 6, "clean_touched": 2}


def scores(f5):
    part = {"support": 9, "tp": 8, "fp": 2, "fn": 1}
    for name, value in {"precision": 0.8, "recall": 0.9, "f1": 0.85, "f5": f5}.items():
        part |= {name: value, f"{name}_95": [value - 0.1, value + 0.05]}
    return part


def metrics_file(path, f5=0.88, sha="a" * 64, names=("ours",), differences=None):
    view = {"bag": scores(f5), "position": scores(f5 - 0.01), "coverage": COVERAGE, "tokens": {}}
    systems = {name: {"about": {"model_version": "1.0"}, "views": {"all": view, "four": view}} for name in names}
    report = {
        "command": "pii-edu evaluate run gold.jsonl", "profile": "crapii", "systems": systems, "differences": differences or {},
        "data": {"file": "gold.jsonl", "sha256": sha, "documents": 10, "documents_with_pii": 4, "words": 100},
    }  # fmt: skip
    path.write_text(json.dumps(report), encoding="utf8")
    return path


def experiment_of(tmp_path, name="more_text", **more):
    before, after = metrics_file(tmp_path / "b.json", 0.7), metrics_file(tmp_path / "a.json", 0.88)
    told = {"change": "more text", "held_out": "nobody saw them", "date": "2026-11-21"} | more
    return from_metrics(name, before=before, after=after, **told)


@pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not in an installed wheel")
def test_the_page_is_what_the_command_writes():
    found = read_experiments(ROOT / "metrics/experiments")
    assert found
    assert page(found, metrics=ROOT / "metrics") == PAGE.read_text(encoding="utf8")


def test_an_experiment_is_copied_out_of_two_metrics_files(tmp_path):
    made = experiment_of(tmp_path)
    assert made["before"]["views"]["all"]["bag"]["f5"] == 0.7
    assert made["after"]["source"] == "a.json"
    assert "tokens" not in made["after"]["views"]["all"]
    path = write_experiment(made, tmp_path / "experiments")
    assert path.name == "more_text.json"
    assert read_experiments(tmp_path / "experiments") == [made]
    text = page([made], metrics=tmp_path)
    assert "| after | 9 | 0.800 | 0.900 | 0.880 (0.780 to 0.930) | 0.870 | +0.180 | 1 of 4 | 2 of 6 |" in text
    assert "### more_text\n\n2026-11-21. more text\n\nNot trained on: nobody saw them" in text


def test_a_paired_difference_has_its_interval(tmp_path):
    pair = {"new - old": {"all": {"bag": {"f5": 0.1, "f5_95": [0.05, 0.2]}}, "four": {"bag": {"f5": 0.2, "f5_95": [0.1, 0.3]}}}}
    file = metrics_file(tmp_path / "both.json", names=("new", "old"), differences=pair)
    made = from_metrics(
        "pair", before=file, after=file, change="x", held_out="y", date="2026-11-21", systems=("old", "new"), sources=("", "")
    )
    assert "+0.200 (+0.100 to +0.300)" in page([made], metrics=tmp_path)


def test_experiments_come_by_date_and_name(tmp_path):
    for name, date in (("b", "2026-11-20"), ("a", "2026-11-21"), ("c", "2026-11-20")):
        write_experiment(experiment_of(tmp_path, name, date=date), tmp_path / "experiments")
    assert [experiment["name"] for experiment in read_experiments(tmp_path / "experiments")] == ["b", "c", "a"]


SPOILT = {
    "no change": lambda e: e.pop("change"),
    "two lines": lambda e: e.update(change="a\nb"),
    "another file": lambda e: e.update(name="other"),
    "no day": lambda e: e.update(date="today"),
    "no reason": lambda e: e.update(held_out=" "),
    "no data": lambda e: e["data"].pop("sha256"),
    "no command": lambda e: e["after"].pop("command"),
    "no support": lambda e: e["after"]["views"]["four"]["bag"].pop("support"),
    "no interval": lambda e: e["before"]["views"]["all"]["position"].pop("recall_95"),
    "no coverage": lambda e: e["before"]["views"]["all"]["coverage"].pop("clean_touched"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_what_lacks_its_data_or_its_interval_is_refused(tmp_path, case):
    made = copy.deepcopy(experiment_of(tmp_path))
    check(made, "more_text.json")
    SPOILT[case](made)
    with pytest.raises(PiiError, match=r"\[E787\]"):
        check(made, "more_text.json")


def test_other_data_another_system_or_no_metrics_file_is_refused(tmp_path):
    before, after = metrics_file(tmp_path / "b.json"), metrics_file(tmp_path / "a.json", sha="b" * 64)
    told = {"change": "x", "held_out": "y", "date": "2026-11-21"}
    with pytest.raises(PiiError, match=r"\[E787\].*not on the same data"):
        from_metrics("n", before=before, after=after, **told)
    with pytest.raises(PiiError, match=r"\[E788\].*ours"):
        from_metrics("n", before=before, after=before, systems=("", "theirs"), **told)
    with pytest.raises(PiiError, match=r"\[E775\]"):
        side_of({}, "", file="x.json")
    (tmp_path / "bad.json").write_text("[")
    with pytest.raises(PiiError, match=r"\[E775\]"):
        from_metrics("n", before=tmp_path / "bad.json", after=before, **told)


def test_command_adds_an_experiment_and_writes_the_page(tmp_path):
    from pii_components.cli.app import app

    before, after = metrics_file(tmp_path / "b.json", 0.7), metrics_file(tmp_path / "a.json")
    place = [
        "evaluate",
        "experiments",
        "--metrics",
        str(tmp_path / "m"),
        "--out",
        str(tmp_path / "docs/experiments.md"),
        "--debug",
    ]
    new = [
        "--add",
        "more",
        "--before",
        str(before),
        "--after",
        str(after),
        "--change",
        "x",
        "--held-out",
        "y",
        "--date",
        "2026-11-21",
    ]
    assert CliRunner().invoke(app, [*place, *new]).exit_code == 0
    assert "### more" in (tmp_path / "docs/experiments.md").read_text(encoding="utf8")
    assert CliRunner().invoke(app, [*place, "--check"]).exit_code == 0
    (tmp_path / "docs/experiments.md").write_text("F5 1.000", encoding="utf8")
    assert CliRunner().invoke(app, [*place, "--check"]).exit_code == 1
    assert CliRunner().invoke(app, [*place, "--add", "more"]).exit_code == 2
