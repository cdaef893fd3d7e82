"""Speed on a blank pipeline: shapes and arithmetic; how fast it is does not matter."""

import json
import subprocess

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.evaluate.systems import Run
from pii_components.files.formats.base import LabelledText
from scripts import speed
from scripts.speed import essays_of, fresh_process, ratios, speed_of
from scripts.speed_probe import probe

TEXTS = ["one two three four five six seven " * 9, "eight nine ten " * 30]


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    path = tmp_path_factory.mktemp("speed") / "blank"
    spacy.blank("en").to_disk(path)
    return str(path)


@pytest.fixture
def once(monkeypatch):
    monkeypatch.setattr(speed, "REPEATS", 1)


@pytest.mark.parametrize(("length", "number"), [(10, 3), (100, 5), (1000, 2), (5000, 1)])
def test_essays_of_one_length(length, number):
    essays = essays_of(TEXTS, length, number)
    assert len(essays) == number and all(length - 8 <= len(doc.text) <= length for doc in essays)
    assert all(set(doc.text.split()) <= set(" ".join(TEXTS).split()) for doc in essays)  # no word is cut
    assert essays[0].text != essays[-1].text or number == 1


def test_speed_is_the_median_and_ratios_are_of_numbers():
    found = speed_of([Run("x", {}, (), frozenset(), seconds, cpu, 100) for seconds, cpu in ((1, 2), (2, 4), (10, 4))])
    assert (found["words_per_second"], found["words_per_cpu_second"], found["seconds"]) == (50, 25, 2)
    assert found["words_per_second_range"] == [10, 100] and found["words"] == 100
    ours, other = (
        {"about": {}, "load_seconds": load, "by_length": {"500": {"words": 9, "speed": n}}}
        for load, n in ((2.0, 9.0), (4.0, 3.0))
    )
    assert ratios(ours, other) == {"load_seconds": 0.5, "by_length": {"500": {"speed": 3}}}


def test_a_fresh_process_is_not_charged_for_its_parent(blank, once):
    held = bytearray(600_000_000)
    found = fresh_process(blank, {"all": TEXTS})
    assert 20 < found["peak_megabytes"]["loaded"] <= found["peak_megabytes"]["all"] < 500
    assert found["load_seconds"] > 0 and found["first_result_seconds"] >= 0 and held


@pytest.mark.parametrize(
    ("last", "reason"),
    [("KeyError: 'what somebody wrote'", r"\(KeyError\)"), ("pii.PiiError: [E743] No model.", r"\(\[E743\] No model\.\)")],
)
def test_a_process_that_fails_is_a_coded_error(monkeypatch, blank, last, reason):
    done = subprocess.CompletedProcess([], 1, "", f"Traceback\n{last}")
    monkeypatch.setattr(speed.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(PiiError, match=f"E764.*{reason}"):
        fresh_process(blank, {})


def test_a_probe_reads_stage_by_stage(blank):
    answer = probe(blank, {"one": ["A text."], "two": ["Another.", "A third."]})
    assert list(answer["peak_bytes"]) == ["loaded", "one", "two"] and answer["load_seconds"] > 0


def test_the_command_lets_two_systems_take_turns(command, blank, once, monkeypatch, tmp_path):
    fresh = {"load_seconds": 1.0, "peak_megabytes": {"loaded": 50.0}}
    monkeypatch.setattr(speed, "fresh_process", lambda *args: dict(fresh))
    monkeypatch.setattr("scripts.robustness.authored_essays", lambda assets: [LabelledText("1", text) for text in TEXTS])
    options = ["--pipeline", f"ours={blank}", "--lengths", 100, "--sizes", 2, "--sizes", 3, "--out", tmp_path / "speed.json"]
    done = command(speed.main, *options, "--baseline", f"other={blank}")
    assert done.exit_code == 0 and "ours / other" in done.output
    report = json.loads((tmp_path / "speed.json").read_text("utf8"))
    ours, ratio = report["systems"]["ours"], report["ratios"]["ours / other"]
    assert list(ours["by_length"]) == ["100"] and ours["by_corpus_size"]["3"]["words"] == 63 + 90 + 63
    assert ratio["load_seconds"] == 1 and ratio["by_length"]["100"]["words_per_second"] > 0
    assert "one two" not in json.dumps(report)
    refused = command(speed.main, *options, "--baseline", "nonsense")
    assert refused.exit_code == 2 and "E740" in refused.output
