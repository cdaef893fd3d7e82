"""Speed on blank pipelines: shapes and arithmetic; how fast they are does not matter."""

import json
import subprocess

import pytest
import spacy

from pii_components.errors import PiiError
from scripts import speed
from scripts.speed import cut, fresh_process, memory, numbers, spread, table

TEXTS = ["one two three four five six seven " * 9, "eight nine ten " * 30]
STAGES = {"essays": ["A text.", "Another."], "words 2": ["A text."]}


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    path = tmp_path_factory.mktemp("speed") / "blank"
    spacy.blank("en").to_disk(path)
    return str(path)


@pytest.mark.parametrize(("length", "number"), [(10, 400), (3000, 1)])
def test_texts_are_cut_to_one_length(length, number):
    assert [len(text.split()) for text in cut(TEXTS, length)] == [length] * number


def test_spread_is_the_median_and_the_ends():
    assert spread([{"a": 1.0}, {"a": 9.0}, {"a": 2.00001}]) == {"a": 2, "a_range": [1, 9]}
    assert spread([{"a": float("nan")}]) == {}


def test_numbers_are_those_of_the_essays_and_of_one_text():
    stage = {"seconds": 2.0, "cpu_seconds": 4.0, "megabytes": 7.0}
    answer = {
        "numbers": {"load_seconds": 3.0},
        "stages": {
            "essays": stage,
            "essays 1": {**stage, "seconds": 0.5},
            "words 10": stage,
            "words 100": stage,
        },
    }
    words = {"essays": (2, 200), "essays 1": (1, 90), "words 10": (10, 100), "words 100": (1, 100)}
    data = {name: {"texts": n, "words": total} for name, (n, total) in words.items()}
    found = numbers(answer, data)
    assert (found["words_per_second"], found["words_per_cpu_second"]) == (100, 50)
    assert found["exponent_words_seconds"] == pytest.approx(1)  # ten times the words and the time
    assert found["exponent_essays_seconds"] == pytest.approx(
        2
    )  # twice the essays, four times the time


def test_a_fresh_process_is_not_charged_for_its_parent(blank):
    held = bytearray(600_000_000)
    found = fresh_process(blank, STAGES)
    assert 20 < found["stages"]["words 2"]["megabytes"] < 500 and held
    assert 0 < found["numbers"]["megabytes_on_disk"] < 10 and list(found["stages"]) == list(STAGES)
    assert found["about"]["components"] == [] and memory() > 600


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("KeyError: 'what somebody wrote'", r"\(KeyError\)"),
        ("pii.PiiError: [E743] No model.", r"\(\[E743\] No model\.\)"),
    ],
)
def test_a_process_that_fails_is_a_coded_error(monkeypatch, last, reason):
    done = subprocess.CompletedProcess([], 1, "", f"Traceback\n{last}")
    monkeypatch.setattr(speed.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(PiiError, match=f"E743.*{reason}"):
        fresh_process("x", {})


def test_the_command_measures_in_turns_and_shows_what_it_saved(command, monkeypatch, tmp_path):
    order = []

    def process(spec, stages, what="--probe"):
        if what == "--run":
            return {"start": 1.0, "pii_ner": 3.0}
        order.append(spec)
        times = {"seconds": 0.5 * len(order), "cpu_seconds": 0.5, "megabytes": 90.0}
        found = {"load_seconds": 1.0, "megabytes_on_disk": 0.0}
        return {"about": {}, "numbers": found, "stages": dict.fromkeys(stages, times)}

    monkeypatch.setattr(speed, "fresh_process", process)
    monkeypatch.setattr(speed, "authored", lambda assets: TEXTS)
    monkeypatch.setattr(speed, "FEWER", (1,))
    options = ["--systems", "2@a,b", "--turns", 2]
    done = command(speed.main, *options, "--out", tmp_path / "speed.json")
    assert done.exit_code == 0, done.output
    assert order == ["2@a", "b"] * 2
    text = (tmp_path / "speed.json").read_text("utf8")
    report = json.loads(text)
    assert "one two" not in text and report["beside"] == "b" and report["essays"] == 2
    ratio = report["ratios"]["2@a"]
    assert ratio["words_per_second_range"] == [1.333, 2]  # by turn: 2 / 1 and 4 / 3
    assert "megabytes_on_disk" not in ratio  # nothing to divide by
    assert "| pii_ner | 3.00 | 75% |" in table(report)
    again = command(speed.main, "--saved", tmp_path / "speed.json")
    assert again.output.strip() == "\n".join(table(report)) == done.output.strip()


def test_threads_are_those_of_the_process(monkeypatch):
    seen = []

    def run(command, **kwargs):
        seen.append((json.loads(kwargs["input"])[0], kwargs["env"]["OMP_NUM_THREADS"]))
        return subprocess.CompletedProcess([], 0, "{}", "")

    monkeypatch.setattr(speed.subprocess, "run", run)
    for spec in ("2@a:/b", "a:/b"):
        fresh_process(spec, {})
    assert seen == [("a:/b", "2"), ("a:/b", "1")]


def test_a_run_is_taken_apart():
    """In a process of its own: the pipeline is loaded and watched there."""
    found = fresh_process("en_pii_edu", {"essays": ["My name is Ana Lopez."] * 3}, "--run")
    first, *names, last = found
    assert (first, last) == (speed.START, speed.FILES)
    assert {"tokenizer", "transformer", "pii_context", "hips_surrogate"} <= {*names}
    assert all(seconds > 0 for seconds in found.values())
