"""What is hidden of texts in which one token is labelled."""

import json

import pytest
import spacy
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity
from pii_components.evaluate.tables import markdown_table
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT
from scripts.windows import Stretch, measure_windows

TEXT = "Ilse Varga read Porter, says i.varga@school.example in her mail."


@pytest.fixture
def pipeline(tmp_path):
    """Rules alone, in a folder."""
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.add_pipe("pii_ruler")
    nlp.to_disk(tmp_path / "rules")
    return str(tmp_path / "rules")


class Finds:
    """Finds the same stretches in every text."""

    name, about = "finds", {}

    def __init__(self, *found):
        self.found = found

    def find(self, documents):
        for doc in documents:
            yield [Entity(doc.id, start, end, label, doc.text[start:end]) for start, end, label in self.found]

    def protects(self, label):
        return label != NAME_CITED


def at(part, label):
    return Stretch(TEXT.index(part), TEXT.index(part) + len(part), label)


def measured(found, *stretches):
    system = Finds(*found)
    return measure_windows(system, {TEXT: list(stretches)}, protects=system.protects, n_resamples=20)["labels"]


@pytest.mark.parametrize(
    ("found", "hidden", "touched", "right"),
    [
        ([(0, 10, NAME_STUDENT)], 1, 1, 1),
        ([(0, 4, NAME_STUDENT)], 1, 1, 1),  # the token is all that is asked for
        ([(0, 3, NAME_STUDENT)], 0, 1, 0),
        ([(0, 10, EMAIL)], 1, 1, 0),
        ([(0, 10, NAME_CITED)], 0, 0, 0),
        ([(0, 2, EMAIL), (2, 10, NAME_STUDENT)], 1, 1, 1),
        ([], 0, 0, 0),
    ],
)
def test_a_token_is_hidden_touched_or_in_clear(found, hidden, touched, right):
    told = measured(found, at("Ilse", NAME_STUDENT))[NAME_STUDENT]
    assert (told["hidden"], told["touched"], told["right"]) == (hidden, touched, right)
    assert (told["support"], told["texts"]) == (1, 1)


def test_shares_have_support_and_intervals_and_hold_no_text():
    texts = {f"{TEXT} {n}": [at("Ilse", NAME_STUDENT), at("Porter", "O")] for n in range(4)}
    texts["Varga Varga"] = [Stretch(0, 5, NAME_STUDENT)]
    system = Finds((0, 10, NAME_STUDENT), (16, 22, NAME_STUDENT))
    system.find = lambda documents: (list(found) if n < 4 else [] for n, found in enumerate(Finds(*system.found).find(documents)))
    report = measure_windows(system, texts, protects=system.protects, n_resamples=200)
    student, none = report["labels"][NAME_STUDENT], report["labels"]["O"]
    assert list(report["labels"]) == [NAME_STUDENT, "O"] and report["texts"] == 5
    assert student["hidden"] == 0.8 and student["hidden_95"][0] < 0.8 <= student["hidden_95"][1]
    assert (none["hidden"], none["support"]) == (1.0, 4) and "right" not in none
    assert "Varga" not in json.dumps(report)
    assert "| finds | none | 4 | 4 | 1.000 (1.000 to 1.000) | - |" in markdown_table([json.loads(json.dumps(report))])


def test_nothing_to_measure_is_refused():
    with pytest.raises(PiiError, match=r"\[E762\]"):
        measure_windows(Finds(), {}, protects=bool)


def test_the_command_writes_what_it_prints(tmp_path, pipeline):
    path = tmp_path / "w.jsonl"
    rows = [{"text": TEXT, "start": s.start, "end": s.end, "label": f"B-{s.label}"} for s in (at("i.varga@school.example", EMAIL),)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf8")
    out = tmp_path / "windows.json"
    done = CliRunner().invoke(app, ["evaluate", "windows", str(path), "--pipeline", pipeline, "--out", str(out), "--resamples", "20"])
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text("utf8"))
    assert report["labels"][EMAIL]["hidden"] == 1.0 and "EMAIL" in done.output and "varga" not in done.output + out.read_text("utf8")


@pytest.mark.parametrize(("content", "code"), [(None, "E501"), ("{}\n", "E611"), ("", "E762")])
def test_a_file_that_is_none_is_refused(tmp_path, pipeline, content, code):
    path = tmp_path / "w.jsonl"
    if content is not None:
        path.write_text(content, "utf8")
    done = CliRunner().invoke(app, ["evaluate", "windows", str(path), "--pipeline", pipeline, "--out", str(tmp_path / "o.json")])
    assert done.exit_code == 2 and code in done.output and not (tmp_path / "o.json").exists()
