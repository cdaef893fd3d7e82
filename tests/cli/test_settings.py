"""Run files and KEY=VALUE."""

import tomllib

import pytest
import typer.main

from pii_components.cli.app import app
from pii_components.cli.settings import RunSettings, run_file
from pii_components.options import read_settings
from tests.cli.conftest import files_in, put, table


def test_init_writes_every_setting_under_a_comment(folder, pii_edu):
    assert pii_edu("init").exit_code == 0
    lines = (folder / "run.toml").read_text().splitlines()
    for i, line in enumerate(lines):
        if " = " in line and not line.startswith("#"):
            assert lines[i - 1].startswith("# "), line
    assert read_settings(RunSettings, ["run.toml"]) == RunSettings()
    missing = set(vars(RunSettings())) - set(tomllib.loads(run_file()))
    assert missing == {"dry_run", "resume", "overwrite"}
    assert "[E510]" in pii_edu("init run.toml").stderr


def test_the_last_word_wins(folder):
    put(folder / "run.toml", 'profile = "ets"\nbatch_size = 4\ndrop = ["grade"]\n')
    configs = ["run.toml", "batch-size=8", "strict=true"]
    found = read_settings(RunSettings, configs, profile="tags_only")
    assert (found.profile, found.batch_size, found.strict) == ("tags_only", 8, True)
    assert found.drop == ("grade",)


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ('profil = "ets"', "E546", "'profil' of 'run.toml'"),
        ("overwrite = 1", "E650", "true or false"),
        ("batch_size = 'many'", "E650", "a whole number"),
        ("batch_size = 0", "E650", "above 0"),
        ("keep = 'grade'", "E650", "a list of texts"),
        ("sweep = 'hid'", "E519", "report, hide, off"),
        ("prices = 'p.toml'", "E473", "llm"),
        ("workers = -1", "E650", "0 or more"),
        ("profile = ", "E501", "no TOML"),
    ],
)
def test_a_run_file_that_cannot_be_used(folder, pii_edu, content, code, said):
    put(folder / "in.csv", table(1))
    put(folder / "run.toml", content)
    run = pii_edu("deidentify in.csv --config run.toml")
    assert run.exit_code == 2 and f"[{code}]" in run.stderr and said in run.stderr, run.stderr
    assert files_in(folder) == ["in.csv", "run.toml"]


def test_a_run_follows_its_file(folder, pii_edu):
    put(folder / "in.csv", table(2))
    put(folder / "run.toml", 'out = "out.csv"\nreport = "r.json"\nid_map = "map.csv"\n')
    assert pii_edu("deidentify in.csv --config run.toml").exit_code == 0
    assert files_in(folder) == ["in.csv", "map.csv", "out.csv", "r.html", "r.json", "run.toml"]


def test_help_is_short(pii_edu):
    command = typer.main.get_command(app).commands["deidentify"]  # type: ignore[attr-defined]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    assert len(options) <= 16
    shown = " ".join(pii_edu("deidentify --help").stdout.split())
    assert "Exit codes: 0 all done" in shown
