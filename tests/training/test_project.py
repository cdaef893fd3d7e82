"""`weasel run all`: the whole way from essays to a packaged pipeline, with an encoder of width 16 and two training steps."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import yaml
from typer.testing import CliRunner

from pii_components.training.encoder import extract
from scripts.train import app as train_app
from tests.tiny import tiny_pipeline

pytest.importorskip("torch")
pytest.importorskip("weasel")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    if not (ROOT / "project.yml").is_file():
        pytest.skip("project.yml is not in an installed wheel")
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "project.yml", folder)
    (folder / "configs").mkdir()
    shutil.copy(ROOT / "configs/pipeline.json", folder / "configs")
    nlp = tiny_pipeline(folder)
    extract(nlp, folder / "assets/encoder")
    size = len((folder / "assets/encoder/vocab.txt").read_text("utf8").splitlines())
    config = (ROOT / "configs/pii_ner.cfg").read_text("utf8")
    small = {
        "vocab_size": size, "hidden_width": 16, "intermediate_width": 32, "num_attention_heads": 2, "num_hidden_layers": 1,
        "window": 64, "overlap": 8, "limit": 4,
    }  # fmt: skip
    for key, value in small.items():
        config, n = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", config)
        assert n == 1, key
    config = config.replace("layers = 2", "layers = 0").replace(
        "mixed_precision = false", "mixed_precision = false\nmax_position_embeddings = 64\nmodel_max_length = 64"
    )
    (folder / "configs/tiny.cfg").write_text(config, "utf8")
    (folder / "assets/essays").mkdir(parents=True)
    for path in sorted((ROOT / "assets/essays").glob("*.txt"))[::6]:
        shutil.copy(path, folder / "assets/essays")
    shutil.copytree(ROOT / "assets/fragments", folder / "assets/fragments")
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "pii_components", folder / "pii_components", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_run_all_trains_measures_and_packages(project):
    settings = {"config": "tiny", "scale": 0.1, "max_steps": 2, "eval_frequency": 1}
    overrides = [part for key, value in settings.items() for part in (f"--vars.{key}", str(value))]
    out = subprocess.run(
        [sys.executable, "-m", "weasel", "run", "all", ".", *overrides],
        cwd=project,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert out.returncode == 0, (out.stdout + out.stderr)[-3000:]
    stats = json.loads((project / "corpus/stats.json").read_text("utf8"))
    assert stats["train"]["NAME_STUDENT"] > 0 and stats["train"]["documents"] > 50
    scores = json.loads((project / "metrics/test.json").read_text("utf8"))
    assert set(scores) >= {"pii_p", "pii_r", "pii_f5", "pii_per_type"}
    assert not (project / "en_pii_edu").exists()  # what ships is replaced by `ship` alone
    shipped = CliRunner().invoke(train_app, ["ship", "--packaged", str(project / "training/en_pii_edu"), "--out", str(project / "en_pii_edu")])
    assert shipped.exit_code == 0 and (project / "en_pii_edu/meta.json").is_file()
    (target,) = (project / "en_pii_edu").glob("en_pii_edu-*")
    nlp = spacy.load(target)
    assert nlp.pipe_names == ["transformer", "pii_ner", "pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner"]
    nlp.get_pipe("hips_surrogate").set_key(b"a key for tests, of no other use")
    doc = nlp("Write to ana.lopez@gmail.com")
    assert [s.label_ for s in doc.spans["pii"]] == ["EMAIL"]


def test_commands_run_without_a_shell_and_say_how_long_they_take():
    project = yaml.safe_load((ROOT / "project.yml").read_text("utf8"))
    names = {command["name"] for command in project["commands"]}
    assert all(set(steps) <= names for steps in project["workflows"].values())
    assert not any("ship" in steps for steps in project["workflows"].values())
    for command in project["commands"]:
        assert re.search(r"\b(second|minute|hour)s?\b", command["help"]), command["name"]
        for line in command["script"]:
            assert line.startswith(("python -m ", "pii-edu ")) and not set("|&;<>*`") & set(
                re.sub(r"\$\{vars\.\w+\}", "", line)
            ), line
