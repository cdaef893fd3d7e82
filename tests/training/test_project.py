"""`weasel run train`, `weasel run train_ner`: the ways from texts to a packaged pipeline, on few texts and with a step or two of training."""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest
import spacy
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from pii_components.cli.app import app as pii_edu
from scripts.annotated import app as annotated_app
from scripts.examples import app as examples_app
from scripts.train import app as train_app
from tests.fresh import ROOT, fresh
from tests.tiny import tiny_onnx_pipeline

PIPES = "transformer pii_ner pii_ruler pii_context hips_surrogate pii_cleaner"


OWN = '{"id": "a", "text": "By Ana Lopez", "spans": [{"start": 3, "end": 12, "label": "NAME_STUDENT"}]}\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "project.yml", folder)
    tiny_onnx_pipeline(folder).to_disk(folder / "tiny")
    (folder / "configs").mkdir()
    shutil.copy(ROOT / "configs/two_heads.cfg", folder / "configs")
    config = (ROOT / "configs/pii_ner.cfg").read_text("utf8")
    for old, new in {
        'encoder = "en_pii_edu"': 'encoder = "tiny"',
        "width = 384": "width = 16",
        "limit = 60": "limit = 4",
    }.items():
        assert config.count(f"\n{old}\n") == 1, old
        config = config.replace(old, new)
    (folder / "configs/tiny.cfg").write_text(config, "utf8")
    for name in ("scenes", "essays", "crapii", "persuade"):
        (folder / "assets" / name).mkdir(parents=True)
    for path in sorted((ROOT / "assets/essays").glob("*.txt"))[::40]:
        shutil.copy(path, folder / "assets/essays")
    shutil.copytree(ROOT / "assets/fragments", folder / "assets/fragments")
    shutil.copy(ROOT / "assets/famous_names.txt", folder / "assets")
    (folder / "assets/annotations").mkdir()
    rows = (ROOT / "assets/annotations/new.jsonl").read_text("utf8").splitlines(keepends=True)
    (folder / "assets/annotations/new.jsonl").write_text("".join(rows[::6]), "utf8")
    for name in ("scripts", "pii_components"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def weasel(project, workflow, **settings):
    """Run a workflow or a command with these vars."""
    settings = [word for key, value in settings.items() for word in (f"--vars.{key}", value)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    fresh("weasel", "run", workflow, ".", *settings, how="-m", cwd=project, PATH=path)


@pytest.mark.slow
def test_train_ner_measures_and_packages(project):
    small = {"config": "tiny", "scale": 0.1, "max_steps": 4, "eval_frequency": 2}
    for workflow in ("train_ner", "evaluate", "package"):
        weasel(project, workflow, **small)
    stats = json.loads((project / "corpus/stats.json").read_text("utf8"))
    assert stats["train"]["NAME_STUDENT"] > 0 and stats["train"]["documents"] > 10
    scores = json.loads((project / "metrics/test.json").read_text("utf8"))
    assert set(scores) >= {"pii_p", "pii_r", "pii_f5", "pii_per_type"}
    # Essays that were put there since are used, and the report that lies beside them is none.
    (project / "own.jsonl").write_text(OWN, "utf8")
    own = [
        "corpus",
        "convert",
        str(project / "own.jsonl"),
        str(project / "assets/crapii/own.jsonl"),
    ]
    assert CliRunner().invoke(pii_edu, own).exit_code == 0
    weasel(project, "fill-slots", **small)
    more = json.loads((project / "corpus/stats.json").read_text("utf8"))
    assert more["test"]["documents"] == stats["test"]["documents"] + 1
    assert not (project / "en_pii_edu").exists()  # what ships is replaced by `ship` alone
    packaged, out = project / "training/en_pii_edu", project / "shipped"
    ship = ["ship", "--packaged", str(packaged), "--out", str(out)]
    assert CliRunner().invoke(train_app, ship).exit_code == 0 and (out / "meta.json").is_file()
    (target,) = out.glob("en_pii_edu-*")
    nlp = spacy.load(target)
    assert " ".join(nlp.pipe_names) == PIPES
    nlp.get_pipe("hips_surrogate").set_key(b"a key for tests, of no other use")
    doc = nlp("Write to ana.lopez@gmail.com")
    assert "EMAIL" in [s.label_ for s in doc.spans["pii"]]


@pytest.mark.slow
def test_train_packages_and_looks_count(project):
    texts = "assets/annotations/new.jsonl --texts assets/annotations/new.jsonl"  # in one setting
    made = {"real_essays": texts, "package_dir": "training/heads"}
    weasel(project, "train", general="none", minutes=0.02, **made)
    (target,) = (project / "training/heads").glob("en_pii_edu-*")
    nlp = spacy.load(target)
    context = nlp.get_pipe("pii_context")
    assert context.heads is not None and context.classifier is not None
    assert " ".join(nlp.pipe_names) == PIPES
    looks = project / "metrics/looks.jsonl"
    for part, n in (("open", 0), ("sealed", 1)):
        weasel(project, f"score-{part}", scored=target.relative_to(project), **made)
        found = json.loads((project / f"metrics/{part}.json").read_text("utf8"))
        assert found["sources"]["all"]["names"]["documents"] > 0
        assert len(looks.read_text("utf8").splitlines() if looks.exists() else []) == n


def test_the_end_of_training_is_scored():
    settings = yaml.safe_load((ROOT / "project.yml").read_text("utf8"))["vars"]
    assert settings["max_steps"] % settings["eval_frequency"] == 0
    for name in ("pii_ner", "pii_tok2vec"):
        training = spacy.util.load_config(ROOT / f"configs/{name}.cfg")["training"]
        assert (
            training["max_steps"] % training["eval_frequency"] == 0 and not training["max_epochs"]
        )


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


APPS = {"pii-edu": pii_edu, "scripts.train": train_app}
APPS |= {"scripts.annotated": annotated_app, "scripts.examples": examples_app}


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
    assert parsed > 9
