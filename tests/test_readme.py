"""The README is true: its commands are CI's, its snippets print what it says, its numbers are those of the metrics files."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pii_components import __version__
from pii_components.evaluate.tables import markdown_table
from pii_components.profiles import Profile
from scripts.annotated import table as annotated_table
from scripts.before_after import COMMAND, examples, markdown

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(
    not README.is_file(), reason="README.md is not in an installed wheel"
)
SHIPPED = ROOT / "en_pii_edu" / f"en_pii_edu-{__version__}"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", README.read_text("utf8"), re.DOTALL)


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no pipeline is packaged in en_pii_edu/")
def test_python_snippet_prints_what_the_readme_says():
    (code,), (expected,) = blocks("python"), blocks("text")
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert out.stdout == expected


def test_second_command_is_what_ci_runs():
    second = next(
        line
        for block in blocks("bash")
        for line in block.splitlines()
        if line.endswith("&& pytest")
    )
    install = re.search(r"pip install .*?(?= &&)", second)[0]
    ci = (ROOT / ".ci/run").read_text("utf8").splitlines()
    assert install in ci and "pytest" in ci
    assert (ROOT / "constraints.txt").read_text("utf8").startswith("torch==2.13.0\n")


def test_commands_of_the_readme_exist():
    help_text = subprocess.run(
        [sys.executable, "-m", "pii_components.cli", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in {m for block in blocks("bash") for m in re.findall(r"pii-edu (\w+)", block)}:
        assert f"  {name}" in help_text
    modules = {
        m
        for block in blocks("bash")
        for m in re.findall(r"python -m (pii_components[\w.]+)", block)
    }
    assert all((ROOT / Path(*m.split("."))).with_suffix(".py").is_file() for m in modules)


def test_table_of_labels_is_what_the_profiles_do():
    rows = re.findall(
        r"^\| ([A-Z_]+) \| [^|]+ \| (\w+) \| (\w+) \| (\w+) \| (\w+) \| (\w+) \|$",
        README.read_text("utf8"),
        re.MULTILINE,
    )
    assert len(rows) == 17
    profiles = [
        Profile.load(name)
        for name in ("crapii", "crapii_strict", "ets", "ferpa_strict", "tags_only")
    ]
    for label, *actions in rows:
        assert [p.action(label) for p in profiles] == actions


@pytest.mark.parametrize("name", ["README.md", "MODEL_CARD.md"])
def test_numbers_are_those_of_the_metrics_files(name):
    """What stands between the marks is what the command in the first mark prints."""
    marks = r"<!-- ((?:pii-edu evaluate|python -m scripts.annotated) table [^>]+) -->\n(.*?)\n<!-- end -->"
    tables = re.findall(marks, (ROOT / name).read_text("utf8"), re.DOTALL)
    assert tables
    for command, table in tables:
        words = command.split()
        subset = words[words.index("--subset") + 1] if "--subset" in words else ""
        files = [ROOT / word for word in words if word.endswith(".json")]
        reports = [json.loads(file.read_text("utf8")) for file in files]
        printed = (
            "\n".join(annotated_table(reports))
            if "scripts.annotated" in words
            else markdown_table(reports, subset=subset)
        )
        assert printed == table


def test_version_is_one():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf8")
    assert (
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["build-system"]["build-backend"]
        == "setuptools.build_meta"
    )


def test_essays_before_and_after_are_what_the_command_prints():
    text = README.read_text("utf8")
    assert (
        text[text.index(f"<!-- {COMMAND} -->\n") :]
        .removeprefix(f"<!-- {COMMAND} -->\n")
        .split("\n<!-- end -->")[0]
        == markdown()
    )


def test_essays_before_and_after_lose_nobodys_name():
    for example in examples():
        hidden = [
            example.text[a:b]
            for a, b, label in example.spans
            if Profile.load(example.profile).action(label) != "keep"
        ]
        assert hidden
        assert not [
            word
            for value in hidden
            for word in re.findall(r"[A-Z]\w{3,}", value)
            if re.search(rf"\b{word}\b", example.after)
        ]


@pytest.mark.slow
@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no pipeline is packaged in en_pii_edu/")
def test_the_pipeline_that_ships_hides_the_same_names_in_those_essays():
    import spacy

    nlp = spacy.load("en_pii_edu")
    nlp.get_pipe("hips_surrogate").set_key(b"everyone may know this key")
    for example in examples():
        names = [
            example.text[a:b]
            for a, b, label in example.spans
            if label in ("NAME_STUDENT", "NAME_CONNECTED", "EMAIL")
        ]
        made = nlp(example.text)._.deidentified
        left = [
            word
            for name in names
            for word in re.findall(r"[A-Z]\w{3,}", name)
            if re.search(rf"\b{word}\b", made)
        ]
        assert not left
