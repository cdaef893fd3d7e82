"""Speed on a blank pipeline: shapes and arithmetic; how fast it is does not matter."""

import io
import json
import subprocess

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity
from pii_components.evaluate.systems import Run
from pii_components.files.formats.base import LabelledText
from scripts import speed, speed_probe
from scripts.speed import corpus_of, essays_of, fresh_process, measure_speed, ratios, speed_of

TEXTS = ["one two three four five six seven " * 9, "eight nine ten " * 30]


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    path = tmp_path_factory.mktemp("speed") / "blank"
    spacy.blank("en").to_disk(path)
    return str(path)


@pytest.mark.parametrize("length, number", [(10, 3), (100, 5), (1000, 2), (5000, 1)])
def test_essays_of_one_length(length, number):
    essays = essays_of(TEXTS, length, number)
    assert len(essays) == number and all(length - 8 <= len(doc.text) <= length for doc in essays)
    known = set(" ".join(TEXTS).split())
    assert all(set(doc.text.split()) <= known for doc in essays)  # no word is cut
    assert essays[0].text != essays[-1].text or number == 1


def test_a_corpus_takes_texts_in_turn():
    assert [doc.text for doc in corpus_of(["a", "b"], 3)] == ["a", "b", "a"]


def run(seconds, cpu):
    return Run("x", {}, (Entity("1", 0, 1, "EMAIL"),), frozenset(), seconds, cpu, 100)


def test_speed_is_the_median():
    found = speed_of([run(1, 2), run(2, 4), run(10, 4)])
    assert (found["words_per_second"], found["words_per_cpu_second"], found["seconds"]) == (50, 25, 2)
    assert found["words_per_second_range"] == [10, 100] and found["words"] == 100


def test_ratios():
    def system(load, peak, words):
        entry = {"words_per_second": words, "words_per_cpu_second": words / 2}
        return {
            "load_seconds": load,
            "peak_megabytes": {"loaded": peak},
            "by_length": {"500": entry},
            "by_corpus_size": {"10": entry, "40": {**entry, "words_per_second": 2 * words}},
        }

    found = ratios(system(2, 300, 1000), system(4, 600, 100))
    assert found["load_seconds"] == 0.5 and found["peak_megabytes"] == {"loaded": 0.5}
    assert found["by_length"]["500"] == {"words_per_second": 10, "words_per_cpu_second": 10}
    assert found["words_per_second"] == 10


def test_a_fresh_process_is_not_charged_for_its_parent(blank):
    held = bytearray(600_000_000)
    found = fresh_process(blank, {"all": TEXTS}, repeats=1)
    assert 20 < found["peak_megabytes"]["loaded"] <= found["peak_megabytes"]["all"] < 500
    assert found["load_seconds"] > 0 and found["first_result_seconds"] >= 0 and held


def test_a_process_that_fails_is_a_coded_error(monkeypatch, blank):
    done = subprocess.CompletedProcess([], 1, "", "Traceback\nKeyError: 'what somebody wrote'")
    monkeypatch.setattr(speed.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(PiiError, match="E764") as caught:
        fresh_process(blank, {}, repeats=1)
    assert "KeyError" in str(caught.value) and "somebody" not in str(caught.value)


def test_a_probe_passes_a_coded_error_on(monkeypatch, capsys):
    request = json.dumps({"system": "presidio", "profile": "crapii", "texts": {}})
    monkeypatch.setattr("sys.stdin", io.StringIO(request))
    with pytest.raises(SystemExit) as ended:
        speed_probe.main()
    assert ended.value.code == 2 and capsys.readouterr().err.startswith("[E743]")


def test_a_probe_answers_in_one_line(monkeypatch, capsys, blank):
    request = json.dumps({"system": blank, "profile": "crapii", "texts": {"one": ["A text."], "two": ["Another.", "A third."]}})
    monkeypatch.setattr("sys.stdin", io.StringIO(request))
    speed_probe.main()
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["peak_bytes"]) == ["loaded", "one", "two"] and answer["load_seconds"] > 0


@pytest.fixture
def quick(monkeypatch):
    """Without processes of their own."""
    answer = {"load_seconds": 1.0, "load_cpu_seconds": 1.0, "first_result_seconds": 0.1, "peak_megabytes": {"loaded": 50.0}}
    monkeypatch.setattr(speed, "fresh_process", lambda *args, **kwargs: answer)


def test_two_systems_take_turns(blank, quick):
    told = []
    report = measure_speed(
        [f"ours={blank}", f"other={blank}"], TEXTS, lengths=(100, 300), sizes=(2, 4), repeats=2, characters=600,
        progress=lambda: told.append(1),
    )  # fmt: skip
    assert len(told) == 2 + 2 * 2 * 4
    ours = report["systems"]["ours"]
    assert list(ours["by_length"]) == ["100", "300"] and list(ours["by_corpus_size"]) == ["2", "4"]
    assert ours["by_corpus_size"]["4"]["words"] == 2 * (63 + 90)
    ratio = report["ratios"]["ours / other"]
    assert ratio["load_seconds"] == 1 and ratio["words_per_second"] > 0
    assert "one two" not in json.dumps(report)


@pytest.fixture
def study(command, monkeypatch):
    monkeypatch.setattr("scripts.robustness.authored_essays", lambda *a, **k: [LabelledText("1", TEXTS[0])])
    return lambda *options: command(speed.main, *options)


def test_the_command(blank, quick, study, tmp_path):
    out = tmp_path / "speed.json"
    done = study(
        "--pipeline",
        f"ours={blank}",
        "--baseline",
        f"other={blank}",
        "--lengths",
        100,
        "--sizes",
        "2,3",
        "--repeats",
        1,
        "--out",
        out,
    )
    assert done.exit_code == 0, done.output
    assert "In a fresh process" in done.output and "ours / other" in done.output
    assert set(json.loads(out.read_text("utf8"))["ratios"]) == {"ours / other"}


@pytest.mark.parametrize(
    "options, code", [(["--lengths", "x"], "E763"), (["--sizes", "0"], "E763"), (["--baseline", "nonsense"], "E740")]
)
def test_the_command_refuses(study, options, code):
    done = study(*options)
    assert done.exit_code == 2 and code in done.output
