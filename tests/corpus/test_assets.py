"""The user's own files: published checksums, numbers of records, recorded checksums."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.corpus.build import ABSENT, NEW, OK, RECORDED, WRONG, sha256_of, verify_assets
from pii_components.errors import PiiError

KAGGLE = [
    {
        "document": n,
        "full_text": "Hi",
        "tokens": ["Hi"],
        "trailing_whitespace": [False],
        "labels": ["O"],
    }
    for n in range(3)
]


@pytest.fixture
def folder(tmp_path):
    for name, text in (
        ("encoder/vocab.txt", "a\nb\n"),
        ("crapii/train.json", json.dumps(KAGGLE)),
        ("user/mine.csv", "text\nHi\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf8")
    (tmp_path / "checksums.toml").write_text(
        f'[[file]]\npath = "encoder/vocab.txt"\nsha256 = "{sha256_of(tmp_path / "encoder/vocab.txt")}"\nlines = 2\n'
        '[[file]]\npath = "crapii/train.json"\nrecords = 3\n[[file]]\npath = "peers/true.csv"\nsha256 = "00"\n',
        "utf8",
    )
    return tmp_path


def states(folder, **options):
    return {item.path: item.state for item in verify_assets(folder, **options)}


def test_what_is_there_is_checked(folder):
    assert states(folder) == {
        "encoder/vocab.txt": OK,
        "crapii/train.json": OK,
        "user/mine.csv": NEW,
        "peers/true.csv": ABSENT,
    }


@pytest.mark.parametrize(
    "path, text, reason",
    [
        ("encoder/vocab.txt", "a\nc\n", "checksum"),
        ("crapii/train.json", json.dumps(KAGGLE[:2]), "2 records in place of 3"),
        ("peers/true.csv", "x", "checksum"),
    ],
)
def test_another_file_is_wrong(folder, path, text, reason):
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text(text, "utf8")
    (wrong,) = [item for item in verify_assets(folder) if item.state == WRONG]
    assert wrong.path == path and reason in wrong.reason
    assert CliRunner().invoke(app, ["corpus", "assets", str(folder)]).exit_code == 1


def test_a_recorded_file_that_changes_is_seen(folder):
    assert states(folder, record=True)["user/mine.csv"] == NEW
    assert states(folder)["user/mine.csv"] == RECORDED
    (folder / "user/mine.csv").write_text("text\nHo\n", "utf8")
    (wrong,) = [item for item in verify_assets(folder) if item.state == WRONG]
    assert wrong.path == "user/mine.csv" and "changed" in wrong.reason
    states(folder, record=True)
    assert states(folder)["user/mine.csv"] == WRONG  # recording again does not hide it


@pytest.mark.parametrize(
    "name, text",
    [("checksums.toml", "[[file"), ("checksums.lock.json", "[1]"), ("checksums.lock.json", "{")],
)
def test_a_table_that_cannot_be_read_is_a_coded_error(folder, name, text):
    (folder / name).write_text(text, "utf8")
    with pytest.raises(PiiError) as error:
        verify_assets(folder)
    assert error.value.code == "E610" and name in str(error.value)


def test_an_empty_folder_is_fine_and_the_table_that_ships_can_be_read(tmp_path):
    assert verify_assets(tmp_path) == []
    assert CliRunner().invoke(app, ["corpus", "assets", str(tmp_path)]).exit_code == 0
    shipped = Path(__file__).parents[2] / "assets"
    if not (shipped / "checksums.toml").is_file():
        pytest.skip("assets/ is not in an installed wheel")
    checked = verify_assets(shipped)
    assert {"encoder/model.safetensors", "crapii/train.json", "peers/true_entities.csv"} <= {
        item.path for item in checked
    }
