"""The documentation is true: code and commands run, links and files exist. (What is generated: test_reference.py.)

Fences say what runs: `python` and `bash` do, `py` and `sh` do not (they need a server, a cluster or a browser). A `text`
block right behind a `python` block is what it prints. A `python` or `toml` block with a title is that file.
"""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser

import pytest
import typer.main

from pii_components.cli.app import app
from pii_components.errors import Errors
from tests.fresh import ROOT, fresh

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
COMMANDS = typer.main.get_command(app)
MARK = "--- end of a block"
FENCE = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """RETURNS (list[tuple[str, str, str]]): Language, title and content of each fence."""
    return FENCE.findall(page.read_text("utf8"))


def programs(page):
    """RETURNS (list[tuple[str, str | None]]): Each block of Python that runs, and what it prints, if the page says it."""
    pattern = re.compile(
        r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL
    )
    return [(found[1], found[2]) for found in pattern.finditer(page.read_text("utf8"))]


def with_code():
    """Pages with Python that runs; those that load the pipeline are slow."""
    for page in PAGES[2:]:
        code = "".join(code for code, _ in programs(page))
        if not code or page.stem.startswith("add-"):
            continue
        marks = [pytest.mark.slow] if "spacy.load" in code else []
        yield pytest.param(page, id=name_of(page), marks=marks)


def write_files(page, folder):
    """Write each file that a page shows as a whole."""
    for language, title, body in blocks(page):
        if title and language in ("toml", "python"):
            (folder / title).write_text(body, "utf8")


def run_programs(page, folder):
    """Run the blocks of a page in one process. RETURNS (list[tuple[str, str]]): What each printed, and what it should."""
    code = "".join(f"{code}\nprint({MARK!r})\n" for code, _ in programs(page))
    printed = fresh(code, cwd=folder).stdout.split(f"{MARK}\n")
    return [(out, text) for out, (_, text) in zip(printed, programs(page)) if text is not None]


@pytest.mark.parametrize("page", list(with_code()))
def test_python_prints_what_the_page_says(page, tmp_path):
    write_files(page, tmp_path)
    (tmp_path / "secret.key").touch(mode=0o600)
    (tmp_path / "secret.key").write_bytes(b"0123456789abcdef0123456789abcdef")
    if page.stem == "reidentify":
        make_vault(tmp_path)
    for printed, told in run_programs(page, tmp_path):
        assert printed == told


def make_vault(folder):
    from pii_components.vault.keys import VaultKey
    from pii_components.vault.vault import Vault

    Vault.create(folder / "essays.vault", VaultKey.from_file(folder / "secret.key")).close()


ADDED = sorted((DOCS / "how-to").glob("add-*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", ADDED, ids=name_of)
def test_what_a_page_adds_works_from_outside(page, tmp_path):
    make_files(tmp_path)
    write_files(page, tmp_path)
    for printed, told in run_programs(page, tmp_path):
        assert printed == told
    run_shell(page, tmp_path)


# --- commands


def commands(page):
    """RETURNS (list[list[str]]): The words of each call of pii-edu in the page's shell blocks and in its text."""
    text = page.read_text("utf8")
    shell = "\n".join(body for language, _, body in blocks(page) if language in ("bash", "sh"))
    lines = shell.replace("\\\n", " ").split("\n") + re.findall(r"`(pii-edu [^`]+)`", text)
    calls = []
    for line in lines:
        for part in re.split(r"&&|\|", line):
            words = shlex.split(part, comments=True)
            if words[:1] == ["pii-edu"]:
                calls.append(words[1:])
    return calls


def check_call(words):
    """The command exists, and has each option."""
    command, rest = COMMANDS, list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    assert command is not COMMANDS and not getattr(command, "commands", {}), words
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    options.add("--help")
    assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= options, words


GROUPS = ("pii-edu", "pii-edu vault", "pii-edu corpus", "pii-edu evaluate", "pii-edu llm")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_options_exist(page):
    for words in commands(page):
        if " ".join(["pii-edu", *words]) not in GROUPS:
            check_call(words)


def make_files(folder):
    """What the pages of the command line are about: essays, a course with its class list, a forum, gold."""
    samples = ROOT / "assets/samples"
    shutil.copy(samples / "essays.csv", folder / "essays.csv")
    with open(samples / "essays.csv", encoding="utf8", newline="") as file:
        texts = {row["id"]: row["text"] for row in csv.DictReader(file)}
    gold = [json.loads(line) for line in (samples / "gold.jsonl").read_text("utf8").splitlines()]
    gold = [{**record, "text": texts[record["id"]]} for record in gold]
    (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)), "utf8")
    shutil.copy(ROOT / "tests/data/class/roster.csv", folder / "class.csv")
    posts = (ROOT / "tests/data/forum.jsonl").read_text("utf8")
    (folder / "forum.jsonl").write_text(re.sub(r"\{\w+:\w+ ([^}]*)\}", r"\1", posts), "utf8")
    shutil.copytree(ROOT / "configs", folder / "configs")
    lines = (ROOT / "tests/data/class/documents.jsonl").read_text("utf8").splitlines()
    with zipfile.ZipFile(folder / "course.zip", "w") as course:
        for number, line in enumerate(lines):
            course.writestr(f"essay{number}.txt", json.loads(line)["text"])
    tokens = ["By", "Ana", "Lopez"]
    kaggle = {
        "document": 7,
        "full_text": "By Ana Lopez",
        "tokens": tokens,
        "trailing_whitespace": [True, True, False],
        "labels": ["O", "B-NAME_STUDENT", "I-NAME_STUDENT"],
    }
    (folder / "train.json").write_text(json.dumps([kaggle]))


def shell_of(page):
    """RETURNS (str): The commands of a page that run, but for installing."""
    shell = [body for language, _, body in blocks(page) if language == "bash"]
    return "\n".join(body for body in shell if "pip install" not in body)


def run_shell(page, folder):
    """Run the commands of a page in a folder."""
    ours = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}\npii-edu() {{ python -m pii_components.cli "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", ours + shell_of(page)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


SHELL = [
    page
    for page in [ROOT / "README.md", *PAGES[2:]]
    if "pii-edu" in shell_of(page) and page not in ADDED
]


@pytest.mark.parametrize("page", SHELL, ids=name_of)
def test_what_waits_for_somebody_does_not_run(page):
    waits = r"^pii-edu (?:release|serve|review (?!.*--export))"
    assert not re.search(waits, shell_of(page), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", SHELL, ids=name_of)
def test_commands_run(page, tmp_path):
    make_files(tmp_path)
    write_files(page, tmp_path)
    run_shell(page, tmp_path)


# --- what is named exists


@pytest.mark.parametrize("page", [*PAGES, ROOT / "MODEL_CARD.md"], ids=name_of)
def test_links_lead_somewhere(page):
    generated = {"cli", "config", "labels", "profiles", "errors"}
    text = FENCE.sub("", page.read_text("utf8"))
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text):
        path = page.parent / target
        assert path.exists() or path.stem in generated, target


def test_pages_that_the_code_names_exist():
    for folder in ("pii_components", "scripts", "configs"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix not in (".py", ".md", ".cfg", ".toml"):
                continue
            for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf8")):
                assert (ROOT / page).is_file(), (path.name, page)


@pytest.mark.parametrize("page", [page for page in PAGES[2:] if page.stem != "ledger"], ids=name_of)
def test_a_page_begins_with_what_its_reader_can_do_then(page):
    first = page.read_text("utf8").split("\n\n")[1]
    assert first.startswith(("After this page you ", "Here you can "))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "MODEL_CARD.md"], ids=name_of)
def test_workflows_and_metrics_that_are_named_exist(page):
    text, project = page.read_text("utf8"), (ROOT / "project.yml").read_text("utf8")
    for name in re.findall(r"weasel run ([\w-]+)", text):
        assert re.search(rf'^  (?:{name}: \[|- name: "{name}")', project, re.MULTILINE), name
    for file in re.findall(r"\bmetrics/\w+\.jsonl?\b", text):
        made = page.stem in (
            "ledger",
            "train",
            "train-what-ships",
        )  # what the reader's own run writes
        assert made or (ROOT / file).is_file(), file


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_codes_that_are_named_exist(page):
    for code in re.findall(r"\bE\d{3}\b", page.read_text("utf8")):
        assert getattr(Errors, code)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_that_are_named_exist(page):
    text = page.read_text("utf8")
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf8")
    extras = set(config["options.extras_require"])
    for named in re.findall(r'"\.\[([\w,]+)\]"', text):
        assert set(named.split(",")) <= extras
