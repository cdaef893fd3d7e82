"""What the commands share, and `pii-edu evaluate table`."""

import json

import pytest
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.gold import CRAPII_LABELS, Run
from pii_components.evaluate.report import describe_data, score_report
from pii_components.evaluate.systems import split_list
from pii_components.profiles import Profile
from scripts.common import shown_command


@pytest.mark.parametrize(("arguments", "shown"), CASES["commands_shown"])
def test_a_command_is_shown_without_folders(arguments, shown):
    assert shown_command("m", arguments) == f"python -m m {shown}"
    assert split_list(" a, b,,") == ("a", "b")


def test_metrics_files_are_shown_again(gold, tmp_path):
    everything = tuple(entity for doc in gold for entity in doc.entities)
    labels = frozenset(CRAPII_LABELS)
    runs = [
        Run("ours", {"components": ["pii_ner"]}, everything, labels, 1, 1, 9),
        Run("peer", {}, everything[:1], labels, 2, 2, 9),
    ]
    data = describe_data(gold, file="gold.jsonl", sha256="ab" * 32)
    report = {"profile": "kaggle", "data": data} | score_report(
        runs, gold, profile=Profile.load("kaggle"), resamples=20
    )
    path = tmp_path / "m.json"
    path.write_text(json.dumps(report), "utf8")
    shown = CliRunner().invoke(app, ["evaluate", "table", str(path), str(path)]).output
    assert shown.count("Exact match by text, all labels") == 2
    assert "ours" in shown and "1 (1.000 to 1.000)" in shown and "peer" in shown
    assert (
        CliRunner().invoke(app, ["evaluate", "table", str(tmp_path / "none.json")]).exit_code == 2
    )
