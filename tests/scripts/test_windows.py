"""What is hidden of texts in which one token is labelled."""

import json

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_CITED, NAME_STUDENT
from scripts.windows import Stretch, main, measure_windows

TEXT = "Ilse Varga read Porter, says i.varga@school.example in her mail."


@pytest.fixture
def pipeline(tmp_path):
    """Rules alone, in a folder."""
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.add_pipe("pii_ruler")
    nlp.to_disk(tmp_path / "rules")
    return str(tmp_path / "rules")


def at(part, label):
    return Stretch(TEXT.index(part), TEXT.index(part) + len(part), label)


def measured(system, *stretches):
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
def test_a_token_is_hidden_touched_or_in_clear(finds, found, hidden, touched, right):
    told = measured(finds(found), at("Ilse", NAME_STUDENT))[NAME_STUDENT]
    assert (told["hidden"], told["touched"], told["right"]) == (hidden, touched, right)
    assert (told["support"], told["texts"]) == (1, 1)


def test_shares_have_support_and_intervals_and_hold_no_text(finds):
    texts = {f"{TEXT} {n}": [at("Ilse", NAME_STUDENT), at("Porter", "O")] for n in range(4)}
    texts["Varga Varga"] = [Stretch(0, 5, NAME_STUDENT)]
    system = finds(lambda doc: [(0, 10, NAME_STUDENT), (16, 22, NAME_STUDENT)] if doc.id != "4" else [])
    report = measure_windows(system, texts, protects=system.protects, n_resamples=200)
    student, none = report["labels"][NAME_STUDENT], report["labels"]["O"]
    assert list(report["labels"]) == [NAME_STUDENT, "O"] and report["texts"] == 5
    assert student["hidden"] == 0.8 and student["hidden_95"][0] < 0.8 <= student["hidden_95"][1]
    assert (none["hidden"], none["support"]) == (1.0, 4) and "right" not in none
    assert "Varga" not in json.dumps(report)


def test_nothing_to_measure_is_refused(finds):
    with pytest.raises(PiiError, match=r"\[E762\]"):
        measure_windows(finds([]), {}, protects=bool)


def test_the_command_writes_what_it_prints(command, tmp_path, pipeline):
    path = tmp_path / "w.jsonl"
    rows = [{"text": TEXT, "start": s.start, "end": s.end, "label": f"B-{s.label}"} for s in (at("i.varga@school.example", EMAIL),)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf8")
    out = tmp_path / "windows.json"
    done = command(main, path, "--pipeline", pipeline, "--out", out, "--resamples", 20)
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text("utf8"))
    assert report["labels"][EMAIL]["hidden"] == 1.0 and "EMAIL" in done.output and "varga" not in done.output + out.read_text("utf8")


@pytest.mark.parametrize(("content", "code"), [(None, "E501"), ("{}\n", "E611"), ("", "E762")])
def test_a_file_that_is_none_is_refused(command, tmp_path, pipeline, content, code):
    path = tmp_path / "w.jsonl"
    if content is not None:
        path.write_text(content, "utf8")
    done = command(main, path, "--pipeline", pipeline, "--out", tmp_path / "o.json")
    assert done.exit_code == 2 and code in done.output and not (tmp_path / "o.json").exists()
