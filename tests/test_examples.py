"""What stands in examples/ runs, is short, and shows what it says."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"


def cells(path):
    """RETURNS (list[dict]): The code cells of a notebook."""
    made = json.loads(path.read_text("utf8"))["cells"]
    return [cell for cell in made if cell["cell_type"] == "code"]


def test_examples_are_short_and_notebooks_without_outputs():
    scripts, notebooks = sorted(FOLDER.glob("*.py")), sorted(FOLDER.glob("*.ipynb"))
    assert len([*scripts, *notebooks]) == len(list(FOLDER.iterdir()))
    assert all(len(path.read_text("utf8").splitlines()) <= 40 for path in scripts)
    for path in notebooks:
        code = cells(path)
        assert sum(len(cell["source"]) for cell in code) <= 40
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


def test_a_pandas_column_comes_back_with_its_ids(tmp_path):
    pd = pytest.importorskip("pandas")
    example = runpy.run_path(str(FOLDER / "pandas_column.py"))
    (tmp_path / "secret.key").touch(mode=0o600)
    (tmp_path / "secret.key").write_bytes(b"0123456789abcdef0123456789abcdef")
    texts = ["By Marisol Quintero. Write to marisol.quintero@gmail.com", None, "Buzan (2006) maps."]
    frame = pd.DataFrame({"id": ["007", "008", "009"], "text": texts}, index=[5, 5, 1])
    made, again = (
        example["deidentify_column"](frame, "text", tmp_path / "secret.key") for _ in range(2)
    )
    pd.testing.assert_frame_equal(made, again)
    assert list(made["id"]) == ["007", "008", "009"] and list(made.index) == [5, 5, 1]
    assert "uintero" not in made["text"].iloc[0] and "@example" in made["text"].iloc[0]
    assert made["text"].isna().tolist() == [False, True, False]
    assert frame["text"].iloc[0] == texts[0] and made["text"].iloc[2] == texts[2]


def test_the_notebook_shows_spans_and_surrogates(monkeypatch, capsys):
    from spacy import displacy

    shown, render = [], displacy.render
    monkeypatch.setattr(
        displacy, "render", lambda *args, **kwargs: shown.append(render(*args, **kwargs))
    )
    names = {}
    for cell in cells(FOLDER / "displacy.ipynb"):
        exec("".join(cell["source"]), names)
    found, new = shown
    assert "Quintero" in found and "NAME_CITED" in found and "#ffd966" in found
    assert "Quintero" not in new and "NAME_STUDENT" in new and "Buzan" in new
    assert "NAME_CONNECTED" in capsys.readouterr().out
