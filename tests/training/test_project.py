"""`weasel run all`, `weasel run annotated`: the way from texts to a packaged pipeline, with an encoder of width 16 and two training steps."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import spacy
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from pii_components.cli.app import app as pii_edu
from pii_components.context.role_encoder import PLACEHOLDERS, WINDOW
from pii_components.training.encoder import extract
from scripts.annotated import app as annotated_app
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
    # The role encoder reads so many pieces at once, and puts these in the place of names.
    nlp = tiny_pipeline(folder, positions=WINDOW, more=PLACEHOLDERS)
    extract(nlp, folder / "assets/encoder")
    size = len((folder / "assets/encoder/vocab.txt").read_text("utf8").splitlines())
    small = {"vocab_size": size, "hidden_width": 16, "intermediate_width": 32}
    small |= {"num_attention_heads": 2, "num_hidden_layers": 1}
    small |= {"window": 64, "overlap": 8, "limit": 4}
    same = "mixed_precision = false"
    short = f"{same}\nmax_position_embeddings = {WINDOW}\nmodel_max_length = {WINDOW}"
    for name, made in (("pii_ner", "tiny"), ("pii_ner_annotated", "pii_ner_annotated")):
        config = (ROOT / f"configs/{name}.cfg").read_text("utf8")
        for key, value in small.items():
            config, n = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", config)
            assert n == 1, key
        config = config.replace(same, short).replace("layers = 2", "layers = 0")
        (folder / f"configs/{made}.cfg").write_text(config, "utf8")
    (folder / "assets/essays").mkdir(parents=True)
    for path in sorted((ROOT / "assets/essays").glob("*.txt"))[::6]:
        shutil.copy(path, folder / "assets/essays")
    shutil.copytree(ROOT / "assets/fragments", folder / "assets/fragments")
    (folder / "assets/annotations").mkdir()
    rows = (ROOT / "assets/annotations/new.jsonl").read_text("utf8").splitlines(keepends=True)
    (folder / "assets/annotations/new.jsonl").write_text("".join(rows[::4]), "utf8")
    for name in ("scripts", "pii_components"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def weasel(project, workflow, **settings):
    """Run a workflow or a command with these vars."""
    command = [sys.executable, "-m", "weasel", "run", workflow, "."]
    for key, value in settings.items():
        command += [f"--vars.{key}", str(value)]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    out = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert out.returncode == 0, (out.stdout + out.stderr)[-3000:]


@pytest.mark.slow
def test_run_all_trains_measures_and_packages(project):
    weasel(project, "all", config="tiny", scale=0.1, max_steps=2, eval_frequency=1)
    stats = json.loads((project / "corpus/stats.json").read_text("utf8"))
    assert stats["train"]["NAME_STUDENT"] > 0 and stats["train"]["documents"] > 50
    scores = json.loads((project / "metrics/test.json").read_text("utf8"))
    assert set(scores) >= {"pii_p", "pii_r", "pii_f5", "pii_per_type"}
    assert not (project / "en_pii_edu").exists()  # what ships is replaced by `ship` alone
    packaged, out = project / "training/en_pii_edu", project / "en_pii_edu"
    ship = ["ship", "--packaged", str(packaged), "--out", str(out)]
    assert CliRunner().invoke(train_app, ship).exit_code == 0 and (out / "meta.json").is_file()
    (target,) = out.glob("en_pii_edu-*")
    nlp = spacy.load(target)
    assert " ".join(nlp.pipe_names) == (
        "transformer pii_ner pii_ruler pii_context hips_surrogate pii_cleaner"
    )
    nlp.get_pipe("hips_surrogate").set_key(b"a key for tests, of no other use")
    doc = nlp("Write to ana.lopez@gmail.com")
    assert "EMAIL" in [s.label_ for s in doc.spans["pii"]]


@pytest.mark.slow
def test_run_annotated_and_count_looks(project):
    texts = "assets/annotations/new.jsonl --texts assets/annotations/new.jsonl"  # in one setting
    small = {"scale": 0.02, "carriers": 1, "max_steps": 2}
    weasel(project, "annotated", **small, real_essays=texts, package_dir="training/annotated")
    (target,) = (project / "training/annotated").glob("en_pii_edu-*")
    assert spacy.load(target).get_pipe("pii_context").classifier is not None
    looks = project / "metrics/looks.jsonl"
    for part, n in (("open", 0), ("sealed", 1)):
        weasel(project, f"score-{part}", real_essays=texts, scored=target.relative_to(project))
        found = json.loads((project / f"metrics/{part}.json").read_text("utf8"))
        assert found["sources"]["all"]["names"]["documents"] > 0
        assert len(looks.read_text("utf8").splitlines() if looks.exists() else []) == n


def test_commands_need_no_shell():
    project = yaml.safe_load((ROOT / "project.yml").read_text("utf8"))
    names = {command["name"] for command in project["commands"]}
    assert all(set(steps) <= names for steps in project["workflows"].values())
    assert not any("ship" in steps for steps in project["workflows"].values())
    for command in project["commands"]:
        assert re.search(r"\b(second|minute|hour)s?\b", command["help"]), command["name"]
        for line in command["script"]:
            assert line.startswith(("python -m ", "pii-edu ")), line
            assert not set("|&;<>*`") & set(re.sub(r"\$\{vars\.\w+\}", "", line)), line


APPS = {"pii-edu": pii_edu, "scripts.train": train_app, "scripts.annotated": annotated_app}


def test_options_of_commands_exist():
    """Of those with subcommands; each line is parsed, and nothing is run."""
    parsed = 0
    for command in yaml.safe_load((ROOT / "project.yml").read_text("utf8"))["commands"]:
        for line in command["script"]:
            name, *words = shlex.split(line.removeprefix("python -m "))
            if name not in APPS:
                continue
            made, words = (
                get_command(APPS[name]),
                [re.sub(r"\$\{vars\.\w+\}", "1", w) for w in words],
            )
            while isinstance(made, click.Group):
                made, words = made.commands[words[0]], words[1:]
            with made.make_context(name, words):
                parsed += 1
    assert parsed > 10
