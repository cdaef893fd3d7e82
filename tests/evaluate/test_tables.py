"""What the commands share, and `pii-edu evaluate table`."""

import json

import pytest
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.gold import CRAPII_LABELS
from pii_components.evaluate.report import build_report
from pii_components.evaluate.systems import Run
from pii_components.evaluate.tables import markdown_table, shown_command, split_list


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
    report = {"profile": "crapii"} | build_report(
        runs, gold, views={"all": CRAPII_LABELS}, n_resamples=20
    )
    path = tmp_path / "m.json"
    path.write_text(json.dumps(report), "utf8")
    lines = CliRunner().invoke(app, ["evaluate", "table", str(path), str(path)]).output.splitlines()
    assert (
        lines[2]
        == "| ours, profile crapii | all | 3 | 1.000 | 1.000 | 1.000 | 1.000 (1.000 to 1.000) | 0 of 2 | 0 of 2 |"
    )
    assert [line.split(" | ")[0] for line in lines[3:]] == [
        "| peer",
        "",
        "Words per second in the same run: ours / peer 2.00.",
    ]
    lines = (
        CliRunner()
        .invoke(app, ["evaluate", "table", str(path), "--subset", "test"])
        .output.splitlines()
    )
    assert len(lines) == 4 and lines[3].endswith("| 2 of 2 | 0 of 0 |")
    assert (
        CliRunner().invoke(app, ["evaluate", "table", str(tmp_path / "none.json")]).exit_code == 2
    )


def test_tables_of_the_scripts():
    hidden = {"O": {"support": 4, "texts": 3, "hidden": 0.25, "hidden_95": [0, 1]}}
    windows = {"kind": "windows", "system": {"name": "ours"}, "labels": hidden}
    assert (
        markdown_table([windows]).splitlines()[2]
        == "| ours | none | 4 | 3 | 0.250 (0.000 to 1.000) | - |"
    )
    entities = {"PERSON": {"results": 3, "right": 2}, "NRP": {"results": 1, "right": 0}}
    alone = {"entities": entities, "missed": {"PERSON": 1}, "cited_as_person": 1}
    presidio = {
        "kind": "presidio",
        "gold": {"PERSON": 2},
        "gold_cited": 2,
        "systems": {"alone": alone},
    }
    head, _, *rows = markdown_table([presidio]).splitlines()
    assert head.endswith("| alone: results | alone: right | alone: left in clear |")
    assert rows == [
        "| PERSON | 2 | 3 | 2 | 1 |",
        "| NRP | 0 | 1 | – | – |",
        "| authors and characters | 2 | 1 called PERSON |  |  |",
    ]
