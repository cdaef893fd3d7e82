"""What the commands share, and `pii-edu evaluate table`."""

import json

import pytest
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.gold import CRAPII_LABELS, Run
from pii_components.evaluate.report import score_report
from pii_components.evaluate.systems import split_list
from pii_components.profiles import Profile
from scripts.common import shown_command


@pytest.mark.parametrize(("arguments", "shown"), CASES["commands_shown"])
def test_a_command_is_shown_without_folders(arguments, shown):
    assert shown_command("m", arguments) == f"python -m m {shown}"
    assert split_list(" a, b,,") == ("a", "b")


def test_metrics_files_become_one_table(gold, tmp_path):
    everything = tuple(entity for doc in gold for entity in doc.entities)
    labels = frozenset(CRAPII_LABELS)
    runs = [
        Run("ours", {"components": ["pii_ner"]}, everything, labels, 1, 1, 9),
        Run("peer", {}, everything[:1], labels, 2, 2, 9),
    ]
    report = {"profile": "kaggle"} | score_report(
        runs, gold, profile=Profile.load("kaggle"), resamples=20
    )
    path = tmp_path / "m.json"
    path.write_text(json.dumps(report), "utf8")
    lines = CliRunner().invoke(app, ["evaluate", "table", str(path), str(path)]).output.splitlines()
    cells = ["ours, profile kaggle", "all", "3", "1.000", "1.000", "1.000"]
    cells += ["1.000 (1.000 to 1.000)", "0 of 2", "0 of 2"]
    assert lines[2] == f"| {' | '.join(cells)} |"
    names = [line.split(" | ")[0] for line in lines[3:]]
    assert names == ["| ours, profile kaggle", "| peer", "| peer"]
    assert (
        CliRunner().invoke(app, ["evaluate", "table", str(tmp_path / "none.json")]).exit_code == 2
    )
