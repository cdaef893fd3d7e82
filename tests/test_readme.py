"""The README is true: its commands are CI's, its code prints what it says, its numbers are those of the metrics files."""

import json
import re
from pathlib import Path

import pytest

from pii_components import __version__
from pii_components.profiles import Profile
from scripts.annotated import table as annotated_table
from scripts.before_after import COMMAND, as_diff, examples, markdown
from scripts.unread import table as unread_table
from tests.fresh import fresh

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", README.read_text("utf8"), re.DOTALL)


def test_python_snippet_prints_what_the_readme_says():
    (code,), (expected,) = blocks("python"), blocks("text")
    assert fresh(code, cwd=ROOT).stdout == expected


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


UNREAD, SEALED = "metrics/unread_0_16_0.json", "metrics/sealed.json"
# A row of the table -> its metrics file, where in it, and the measures there.
RESULTS = {
    "everyday texts of students, all kinds": (UNREAD, ("sets", "everyday", "all")),
    "of these, at most three sentences": (UNREAD, ("sets", "everyday", "at most three sentences")),
    "essays and invented texts (metrics/sealed.json)": (SEALED, ("sources", "all", "names")),
}
MEASURES = {
    UNREAD: ("texts", "private_hidden", "kept_touched", "precision"),
    SEALED: ("documents", "protected", "kept_hidden", "precision"),
}


def test_results_are_those_of_the_metrics_files():
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+) \|$", README.read_text("utf8"), re.MULTILINE)
    assert [name for name, *_ in rows] == list(RESULTS)
    for name, number, cells in rows:
        file, keys = RESULTS[name]
        found = json.loads((ROOT / file).read_text("utf8"))
        for key in keys:
            found = found[key]
        total, *measures = MEASURES[file]
        shares = [
            "{:.3f} ({:.3f} to {:.3f})".format(found[key], *found[f"{key}_95"]) for key in measures
        ]
        assert (int(number), cells.split(" | ")) == (found[total], shares)


@pytest.mark.parametrize("name", ["docs/explanation/evaluation.md", "MODEL_CARD.md"])
def test_numbers_are_those_of_the_metrics_files(name):
    """What stands between the marks is what the command in the first mark prints."""
    marks = r"<!-- (python -m scripts\.\w+ table [^>]+) -->\n(.*?)\n<!-- end -->"
    tables = re.findall(marks, (ROOT / name).read_text("utf8"), re.DOTALL)
    assert tables
    for command, table in tables:
        words = command.split()
        files = [ROOT / word for word in words if word.endswith(".json")]
        reports = [json.loads(file.read_text("utf8")) for file in files]
        made = {"scripts.annotated": annotated_table, "scripts.unread": unread_table}[words[2]]
        assert "\n".join(made(reports)) == table


def test_version_is_one():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf8")


def test_essays_before_and_after_are_what_the_command_prints():
    page = (ROOT / "docs/explanation/surrogates.md").read_text("utf8")
    shown = page.partition(f"<!-- {COMMAND} -->\n")[2].partition("\n<!-- end -->")[0]
    assert shown == markdown()
    first = examples()[0]
    assert blocks("diff") == [as_diff(first.text, first.after) + "\n"]


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
