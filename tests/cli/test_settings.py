"""Run files, KEY=VALUE, and names that work for one version more."""

import tomllib

import pytest
import typer.main

from pii_components.cli.app import app
from pii_components.cli.deprecated import translate
from pii_components.cli.settings import RunSettings, read_settings, run_file
from pii_components.errors import PiiError
from tests.cli.conftest import put, table


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
    found = read_settings(
        RunSettings, ["run.toml", "batch-size=8", "strict=true"], profile="tags_only"
    )
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
        ("labels_format = 'csv'", "E473", "labels_out"),
        ("workers = 2", "E473", "engine"),
        ("profile = ", "E501", "no TOML"),
    ],
)
def test_a_run_file_that_cannot_be_used(folder, pii_edu, content, code, said):
    put(folder / "in.csv", table(1))
    put(folder / "run.toml", content)
    run = pii_edu("deidentify in.csv --config run.toml")
    assert run.exit_code == 2 and f"[{code}]" in run.stderr and said in run.stderr, run.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "run.toml"]


def test_a_run_follows_its_file(folder, pii_edu):
    put(folder / "in.csv", table(2))
    put(folder / "run.toml", 'out = "out.csv"\nreport = "r.json"\nid_map = "map.csv"\n')
    assert pii_edu("deidentify in.csv --config run.toml").exit_code == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {"in.csv", "run.toml", "out.csv", "r.json", "r.html", "map.csv"}


def test_help_is_short():
    command = typer.main.get_command(app).commands["deidentify"]  # type: ignore[attr-defined]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    assert len(options) <= 16


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("deidentify a --map m --quiet", "--quiet deidentify a --id-map m"),
        (
            "deidentify a --sweep=hide --strict",
            "deidentify a --config sweep=hide --config strict=true",
        ),
        ("deidentify a --show-leaks screen", "deidentify a --config show_leaks=true"),
        (
            "deidentify a --no-spreadsheet-safe -o b",
            "deidentify a --config spreadsheet_safe=false -o b",
        ),
        (
            "deidentify a --review-out r --labels-to csv",
            "deidentify a --review-dir r --config labels_format=csv",
        ),
        ("detect a --id-field n", "detect a --config id_column=n"),
        ("compare g --systems x --splits test", "evaluate run g --systems x --config splits=test"),
        (
            "evaluate run g --pipeline p --profile ets",
            "evaluate run g --systems p --config profile=ets",
        ),
        ("vault info v --passphrase", "vault info v"),
        ("corpus convert a b --from csv", "corpus convert a b --from csv"),
        ("corpus build --no-crapii --seed 3", "corpus build --config crapii=false --config seed=3"),
        ("version", "--version"),
        ("deidentify a --no-such-option", "deidentify a --no-such-option"),
    ],
)
def test_old_names_are_translated_and_told(old, new, capsys):
    assert translate(typer.main.get_command(app), old.split()) == new.split()
    assert ("next version" in capsys.readouterr().err) is (old != new)


def test_an_old_command_line_still_works(folder, pii_edu):
    put(folder / "in.csv", table(2))
    args = (
        "--out",
        "a.csv",
        "--map",
        "m.csv",
        "--sweep",
        "off",
        "--ids",
        "keep",
        "--report",
        "r.json",
    )
    run = pii_edu("deidentify in.csv", *args)
    assert run.exit_code == 0 and run.stderr.count("next version") == 4, run.stderr
    assert (folder / "m.csv").exists() and (folder / "r.json").exists()


def test_a_command_that_is_gone_says_where_it_went(pii_edu):
    run = pii_edu("utility a b")
    assert run.exit_code == 2 and "scripts/utility.py" in run.stderr


def test_unknown_settings_have_a_code():
    with pytest.raises(PiiError, match="E546.*'nothing' of --config"):
        read_settings(RunSettings, ["nothing=1"])
