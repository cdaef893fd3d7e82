"""A small pipeline on disk, without a trained model: spaCy's span_ruler finds people, hips_surrogate hides them."""

import contextlib
import json
import os
import signal
import time
import warnings
from pathlib import Path

import pytest
import spacy
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.release import engine
from pii_components.release import run as running

KEY = "a key for tests, of no other use"
ESSAY = (
    "I am Ina Sorel (20418837).\r\n\tBuzan (2006) says: map it.\nWrite to ina.sorel@example.edu "
)
PATTERNS = [
    {"label": "NAME_STUDENT", "pattern": "Ina Sorel"},
    {"label": "NAME_STUDENT", "pattern": "Ina"},
    {"label": "NAME_STUDENT", "pattern": "Jörn Übel"},
    {"label": "NAME_CITED", "pattern": "Buzan"},
    {"label": "NAME_INSTRUCTOR", "pattern": "Odile Prath"},
    {"label": "EMAIL", "pattern": [{"LIKE_EMAIL": True}]},
    {"label": "ID_NUM", "pattern": [{"TEXT": {"REGEX": r"^\d{8}$"}}]},
]


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def table(n: int) -> str:
    """CSV of n essays."""
    return "id,essay\n" + "".join(
        f'd{i},"Number {i}: I am Ina Sorel, {20000000 + i}, and I read Buzan."\n' for i in range(n)
    )


def report(path: Path) -> dict:
    """A report, or another JSON file."""
    return json.loads(path.read_text("utf8"))


def rows_of(path: Path) -> list[dict]:
    """The rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def texts_of(path: Path) -> list[str]:
    """The texts of a JSON Lines file."""
    return [row["text"] for row in rows_of(path)]


def put_rows(path: Path, rows: list[dict]) -> Path:
    """JSON Lines."""
    return put(path, "".join(json.dumps(row) + "\n" for row in rows))


def put_texts(path: Path, texts: list[str]) -> Path:
    """JSON Lines with numbers and texts."""
    return put_rows(path, [{"id": i, "text": text} for i, text in enumerate(texts)])


def files_in(folder: Path) -> list[str]:
    """All files below a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def places_of(found: dict, texts: list[str]) -> list[tuple[str, int, str]]:
    """What a sweep found: risk, record, text."""
    rows = [(p["risk"], p["record"], p["start_char"], p["end_char"]) for p in found["places"]]
    return [(risk, n, texts[n - 1][start:end]) for risk, n, start, end in rows]


def wait_for_items(state: Path, n: int) -> None:
    """Until the state of a run says that so many records are done."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            if json.loads(state.read_text())["items"] >= n:
                return
        time.sleep(0.005)
    raise AssertionError("the run did not get that far")


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> str:
    nlp = spacy.blank("xx")  # loads faster than "en", which has a thousand exceptions
    spans_filter = {"@misc": "spacy.first_longest_spans_filter.v1"}
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii", "spans_filter": spans_filter})
    ruler.add_patterns(PATTERNS)
    nlp.add_pipe("hips_surrogate")
    path = tmp_path_factory.mktemp("pipeline") / "small"
    nlp.to_disk(path)
    return str(path)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working folder, and a key in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PII_EDU_KEY", KEY)
    return tmp_path


@pytest.fixture
def pii_edu(folder, model):
    """Run a command line in this process, with the small pipeline unless a model is named.

    The first argument is split at its spaces; further ones, which may hold some, are not.
    """

    def run(line: str = "", *more: str, stdin: bytes | str = "", model: str = model):
        args = [*line.split(), *more]
        at = next((i for i, arg in enumerate(args, 1) if not str(arg).startswith("-")), 0)
        takes_model = args[at - 1 : at] in (["deidentify"], ["detect"], ["demo"])
        own = ["--config", f"model={model}"] if takes_model and "--help" not in args else []
        return CliRunner().invoke(app, [*map(str, [*args[:at], *own, *args[at:]])], input=stdin)

    return run


@pytest.fixture
def fork(pii_edu):
    """Start a command in a copy of this process, which has imported everything; slow, and with a state after every batch.

    Gives its process id. Its output goes to the file `log`.
    """
    children: list[int] = []

    def start(*args: str) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of threads; none of them is at work
            child = os.fork()
        if child:
            children.append(child)
            return child
        code = 99
        try:
            results = engine.Engine.results

            def slowly(self, records):
                time.sleep(0.03)
                return results(self, records)

            engine.Engine.results = slowly
            running.CHECKPOINT_SECONDS = 0
            run = pii_edu(*args)
            Path("log").write_text(run.output)
            code = run.exit_code
        finally:
            os._exit(code)

    yield start
    for child in children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
