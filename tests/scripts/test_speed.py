"""Speed on blank pipelines: shapes and arithmetic; how fast they are does not matter."""

import json
import re
import subprocess
from xml.etree import ElementTree

import pytest
import spacy

from pii_components.errors import PiiError
from scripts import speed
from scripts.speed import choose, cut, draw, exponent, fresh_process, mix, numbers, spread, table
from scripts.speed_probe import memory, probe

ESSAYS = [("one two three four five six seven " * 9, False), ("eight  nine\n\nten " * 30, True)]
STAGES = {"essays 1": ["A text."], "essays 2": ["A text.", "Another."], "words 2": ["A text."]}


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    path = tmp_path_factory.mktemp("speed") / "blank"
    spacy.blank("en").to_disk(path)
    return str(path)


@pytest.mark.parametrize(("length", "number"), [(10, 3), (100, 5), (1000, 2)])
def test_texts_of_one_length_keep_white_space(length, number):
    texts = cut([text for text, _ in ESSAYS], length, number)
    assert [len(text.split()) for text in texts] == [length] * number and texts[0] != texts[-1]
    assert "eight  nine\n\nten" in "".join(texts) or length == 10


@pytest.mark.parametrize(
    ("clean", "number", "hidden"),
    [(0.85, 20, 3), (0.85, 400, 60), (0, 7, 7), (1, 7, 0), (0.5, 9, 4)],
)
def test_the_share_of_clean_essays_is_as_asked(clean, number, hidden):
    mixed = mix(ESSAYS, number, clean)
    assert len(mixed) == number and sum(named for _, named in mixed) == hidden
    assert mix(ESSAYS, 2 * number, clean)[:number] == mixed
    assert mix(ESSAYS[:1], 3, 0) == ESSAYS[:1] * 3  # there are no others


@pytest.mark.parametrize(("power", "factor"), [(1, 3.0), (2, 0.1), (0.5, 7.0)])
def test_exponent_is_the_slope_of_logarithms(power, factor):
    assert exponent([(x, factor * x**power) for x in (100, 1000, 10_000)]) == pytest.approx(power)
    assert exponent([(1, 1)]) != exponent([(1, 1)])  # not a number


def test_spread_is_the_median_and_the_ends():
    assert (
        spread([{"a": 1.0, "b": float("nan")}, {"a": 9.0, "b": 1.0}, {"a": 2.00001, "b": 1.0}])["a"]
        == 2
    )
    assert spread([{"a": float("nan")}]) == {} and spread([{"a": 1}, {"a": 4}]) == {
        "a": 2.5,
        "a_range": [1, 4],
    }


def test_numbers_are_those_of_the_largest_corpus_and_of_one_text():
    stage = {"seconds": 2.0, "cpu_seconds": 4.0, "megabytes": 7.0}
    times = {
        "essays 1": stage,
        "essays 2": {**stage, "seconds": 4.0},
        "words 10": stage,
        "words 100": stage,
    }
    answer = {"numbers": {"load_seconds": 3.0, "load_cpu_seconds": 2.5}, "stages": times}
    words = {
        "essays 1": (1, 100),
        "essays 2": (2, 200),
        "words 10": (10, 100),
        "words 100": (1, 100),
    }
    data = {name: {"texts": n, "words": total} for name, (n, total) in words.items()}
    found = numbers(answer, {"load_seconds": 1.0, "load_cpu_seconds": 1.0}, data)
    assert (
        found["load_seconds_beside_spacy"],
        found["words_per_second"],
        found["words_per_cpu_second"],
    ) == (2, 50, 50)
    assert found["exponent_essays_seconds"] == pytest.approx(1) and found[
        "exponent_words_seconds"
    ] == pytest.approx(1)
    assert found["exponent_essays_cpu_seconds"] == pytest.approx(0)


def test_a_fresh_process_is_not_charged_for_its_parent(blank):
    held = bytearray(600_000_000)
    found = fresh_process("x", blank, STAGES)
    assert (
        20 < found["numbers"]["megabytes_loaded"] <= found["stages"]["words 2"]["megabytes"] < 500
        and held
    )
    assert 0 < found["numbers"]["megabytes_on_disk"] < 10 and list(found["stages"]) == list(STAGES)
    assert fresh_process("", "", {}).keys() == {"load_seconds", "load_cpu_seconds"}  # spaCy alone


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("KeyError: 'what somebody wrote'", r"\(KeyError\)"),
        ("pii.PiiError: [E743] No model.", r"\(\[E743\] No model\.\)"),
    ],
)
def test_a_process_that_fails_is_a_coded_error(monkeypatch, blank, last, reason):
    done = subprocess.CompletedProcess([], 1, "", f"Traceback\n{last}")
    monkeypatch.setattr(speed.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(PiiError, match=f"E764.*{reason}"):
        fresh_process("x", blank, {})


def test_a_probe_tells_memory_by_proc(blank):
    answer = probe(blank, STAGES)
    assert answer["numbers"]["first_result_seconds"] > 0 and answer["about"]["components"] == []
    assert 0 < memory("VmRSS") <= memory() and memory("VmNone") != memory("VmNone")


def test_what_is_missing_is_told(monkeypatch, tmp_path, blank):
    monkeypatch.setattr(speed, "find_spec", lambda name: None)
    monkeypatch.setattr(speed, "has_cupy_gpu", False)
    monkeypatch.setattr("pii_components.evaluate.systems.is_pipeline", lambda model: model == blank)
    monkeypatch.setattr(
        speed, "find_model", lambda *args: (_ for _ in ()).throw(PiiError("[E741] Not there."))
    )
    named, missing = choose([f"mine={blank}"], (), tmp_path)
    assert named == {"en_pii_edu": "en_pii_edu", "mine": f"mine={blank}"}
    assert missing["torch"] == "not measured: torch is not installed" and "GPU" in missing["gpu"]
    assert missing.keys() == {"torch", "presidio-md", "cnn", "gpu"} and "E741" in missing["cnn"]
    assert choose([], ["torch"], tmp_path) == ({}, {"torch": missing["torch"]})
    with pytest.raises(PiiError, match="E740"):
        choose([], ["nonsense"], tmp_path)


def test_a_system_of_that_name_takes_the_place_of_the_default(tmp_path, blank):
    named, _ = choose(
        [f"presidio-md={blank}", f"torch={blank}"], ["presidio-md", "torch"], tmp_path
    )
    assert named == {"torch": f"torch={blank}", "presidio-md": f"presidio-md={blank}"}


def test_the_command_measures_in_turns_and_shows_what_it_saved(
    command, blank, monkeypatch, tmp_path
):
    order = []
    answer = {"load_seconds": 1.0, "load_cpu_seconds": 1.0}

    def process(name, spec, stages):
        order.append(name)
        times = {
            stage: {"seconds": 0.5 * len(order), "cpu_seconds": 0.5, "megabytes": 90.0}
            for stage in stages
        }
        sizes = {"megabytes_on_disk": 0.0, "megabytes_loaded": 80.0, "first_result_seconds": 0.1}
        return {"about": {}, "numbers": answer | sizes, "stages": times} if name else answer

    monkeypatch.setattr(speed, "fresh_process", process)
    monkeypatch.setattr(speed, "authored", lambda assets: ESSAYS)
    options = [
        "--system",
        f"a={blank}",
        "--system",
        f"presidio-md={blank}",
        "--only",
        "a,presidio-md",
        "--turns",
        2,
    ]
    options += [
        "--sizes",
        20,
        "--sizes",
        5,
        "--lengths",
        100,
        "--lengths",
        10,
        "--plot",
        tmp_path / "speed.svg",
    ]
    done = command(speed.main, *options, "--out", tmp_path / "speed.json")
    assert done.exit_code == 0, done.output
    assert order == ["", "presidio-md", "a"] * 2
    text = (tmp_path / "speed.json").read_text("utf8")
    report = json.loads(text)
    assert "one two" not in text and str(tmp_path) not in text and len(text) < 40_000
    assert (
        report["beside"],
        report["clean_share"],
        report["essays"],
        report["different_essays"],
    ) == (
        "presidio-md",
        0.85,
        20,
        2,
    )
    assert report["ratios"]["a"]["words_per_second_range"] == [
        0.6667,
        0.8333,
    ]  # by turn: 1 / 1.5 and 2.5 / 3
    assert "megabytes_on_disk" not in report["ratios"]["a"]  # nothing to divide by
    again = command(
        speed.main, "--saved", tmp_path / "speed.json", "--plot", tmp_path / "again.svg"
    )
    assert again.output.strip() == "\n".join(table(report)) and again.output.strip() in done.output
    assert (tmp_path / "again.svg").read_text("utf8") == (tmp_path / "speed.svg").read_text("utf8")
    refused = command(speed.main, *options, "--system", "nonsense")
    assert refused.exit_code == 2 and "E740" in refused.output


def test_table_and_picture_tell_all_systems_of_a_file():
    stage = {"seconds": 1.0, "seconds_range": [1, 2]}
    ours = {
        "about": {},
        "words_per_second": 4692.3,
        "load_seconds": 2.96,
        "stages": {"words 100": stage, "words 1000": stage},
    }
    report = {
        "turns": 5,
        "essays": 400,
        "clean_share": 0.85,
        "beside": "presidio-md",
        "stages": {"words 100": {"texts": 40, "words": 4000}},
        "systems": {"a <b>": ours, "presidio-md": ours},
        "not_measured": {"torch": "not measured: torch is not installed"},
        "ratios": {"a <b>": {"words_per_second": 1.15, "words_per_second_range": [1.1, 1.2]}},
    }
    lines = table(report)
    assert "| 4,692 (1.15, 1.10 to 1.20) |" in lines[2] and "85%" in lines[-1]
    assert lines[4].startswith("| torch | not measured: torch is not installed |")
    assert len({line.count("|") for line in lines[:5]}) == 1
    shown = [
        node.text
        for node in ElementTree.fromstring(draw(report)).iter()
        if node.tag.endswith("text")
    ]
    assert {"a <b>", "presidio-md", "words a second"} <= set(shown)
    assert not re.search("nan|inf", draw(report))
