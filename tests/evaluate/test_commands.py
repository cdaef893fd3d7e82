"""The commands, from their arguments to table and file."""

import json
import sys

import pytest
import spacy

from pii_components.evaluate import compare as compare_module
from pii_components.evaluate import html as errors_module
from pii_components.evaluate import thresholds as thresholds_module
from pii_components.evaluate.tables import run_command, shown_command, split_list, split_name


@pytest.fixture
def model(nlp, tmp_path):
    nlp.to_disk(tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command as from the shell. RETURNS: exit code, standard output, standard error."""

    def run(function, *arguments):
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            run_command(function)
        return stop.value.code, *capsys.readouterr()

    return run


def test_compare_writes_a_metrics_file(command, gold_file, model, tmp_path):
    out = tmp_path / "metrics" / "m.json"
    code, shown, _ = command(
        compare_module.compare, "--gold", gold_file, "--pipeline", f"ours={model}", "--spacy-ner", model, "--out", out,
        "--save-predictions", tmp_path / "predictions", "--resamples", 20,
    )  # fmt: skip
    assert code == 0
    assert "spacy_ner" in shown
    report = json.loads(out.read_text())
    assert list(report["systems"]) == ["ours", "spacy_ner"]
    assert report["command"].startswith("python -m pii_components.evaluate.compare --gold gold.jsonl --pipeline ours=model")
    assert str(tmp_path) not in out.read_text()
    assert report["data"]["documents"] == 4
    assert report["systems"]["ours"]["views"]["all"]["bag"]["tp"] == 0
    assert report["systems"]["spacy_ner"]["views"]["all"]["bag"]["tp"] == 2
    assert not any(word in out.read_text() + shown for word in ("Dana", "Oskar", "Smith"))


def test_compare_takes_stored_predictions_again(command, gold_file, model, tmp_path):
    folder = tmp_path / "predictions"
    command(compare_module.compare, "--gold", gold_file, "--spacy-ner", model, "--save-predictions", folder)
    code, shown, _ = command(
        compare_module.compare, "--gold", gold_file, "--stored", f"older={folder / 'spacy_ner.jsonl'}",
        "--out", tmp_path / "m.json", "--exclude-labels", "EMAIL",
    )  # fmt: skip
    assert code == 0
    assert "(stored)" in shown
    found = json.loads((tmp_path / "m.json").read_text())["systems"]["older"]["views"]["all"]["bag"]
    assert (found["tp"], found["fp"], found["fn"]) == (2, 1, 0)


def test_compare_runs_presidio_once_for_both_sets(command, gold_file, model, tmp_path):
    pytest.importorskip("presidio_analyzer")
    code, _, _ = command(
        compare_module.compare, "--gold", gold_file, "--presidio-model", model, "--out", tmp_path / "m.json",
        "--splits", "test", "--resamples", 20,
    )  # fmt: skip
    assert code == 0
    systems = json.loads((tmp_path / "m.json").read_text())["systems"]
    assert list(systems) == ["presidio_wide", "presidio_four"]
    assert systems["presidio_four"]["views"]["all"]["per_label"]["NAME_STUDENT"]["bag"]["tp"] == 2


BAD_ARGUMENTS = {
    "no system": ([], 2, "at least one system"),
    "a pipeline that is not there": (["--pipeline", "no_such_pipeline"], 1, "[E516]"),
    "a label that is none": (["--spacy-ner", "x", "--exclude-labels", "NAME"], 1, "[E002]"),
    "a split that is none": (["--spacy-ner", "x", "--splits", "dev"], 1, "[E704]"),
    "a profile that is none": (["--spacy-ner", "x", "--profile", "none"], 1, "[E425]"),
    "stored without a name": (["--stored", "file.jsonl"], 1, "[E708]"),
    "an entity set that is none": (["--presidio-model", "x", "--presidio-entities", "all"], 2, "four, wide, both"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_what_cannot_be_done_is_one_line(command, gold_file, case):
    arguments, expected, message = BAD_ARGUMENTS[case]
    code, _, err = command(compare_module.compare, "--gold", gold_file, *arguments)
    assert code == expected
    assert message in err
    assert "Traceback" not in err


def test_errors_counts_kinds(command, gold_file, model, tmp_path):
    code, shown, _ = command(errors_module.errors, "--gold", gold_file, "--pipeline", model, "--out", tmp_path / "e.json")
    assert code == 0
    report = json.loads((tmp_path / "e.json").read_text())
    assert report["kinds"] == {"EMAIL": {"missed": 1}, "NAME_STUDENT": {"missed": 2}}
    assert "missed" in shown
    assert not any(word in (tmp_path / "e.json").read_text() + shown for word in ("Dana", "Oskar", "Smith"))


def test_errors_reads_stored_predictions(command, gold_file, model, tmp_path):
    command(compare_module.compare, "--gold", gold_file, "--spacy-ner", model, "--save-predictions", tmp_path)
    code, _, _ = command(
        errors_module.errors, "--gold", gold_file, "--stored", tmp_path / "spacy_ner.jsonl", "--out", tmp_path / "e.json"
    )
    assert code == 0
    kinds = json.loads((tmp_path / "e.json").read_text())["kinds"]
    assert kinds["NAME_STUDENT"] == {"right": 2, "spurious": 1}


def test_thresholds_needs_pii_ner(command, gold_file, model):
    code, _, err = command(thresholds_module.thresholds, "--gold", gold_file, "--pipeline", model)
    assert code == 1
    assert "[E706]" in err


def test_thresholds_writes_settings_and_folds(command, gold_file, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ner")
    example = spacy.training.Example.from_dict(nlp.make_doc("Dana wrote"), {"spans": {"pii": [(0, 4, "NAME_STUDENT")]}})
    nlp.initialize(lambda: [example])
    nlp.to_disk(tmp_path / "model")
    code, shown, _ = command(
        thresholds_module.thresholds, "--gold", gold_file, "--pipeline", tmp_path / "model", "--set",
        "pii_ner.thresholds.NAME=0.1,0.9", "--folds", 2, "--out", tmp_path / "t.json",
    )  # fmt: skip
    assert code == 0
    report = json.loads((tmp_path / "t.json").read_text())
    assert [row["setting"] for row in report["settings"]] == [{"pii_ner.thresholds.NAME": n} for n in (0.1, 0.9)]
    assert report["cross_validation"]["held_out"]["support"] == 3
    assert len(report["cross_validation"]["chosen"]) == 2
    assert "held out" in shown
    assert not any(word in (tmp_path / "t.json").read_text() + shown for word in ("Dana", "Oskar", "Smith"))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--gold", "/home/someone/essays.jsonl"], "--gold essays.jsonl"),
        (["--gold=/home/someone/essays.jsonl"], "--gold=essays.jsonl"),
        (["--stored", "a=/home/someone/a.jsonl"], "--stored a=a.jsonl"),
        (["--pipeline", "training/model-best/"], "--pipeline model-best"),
        (["--pipeline", "en_pii_edu"], "--pipeline en_pii_edu"),
        (["--set", "pii_ner.thresholds.NAME=0.1,0.2"], "--set pii_ner.thresholds.NAME=0.1,0.2"),
    ],
)
def test_a_command_is_shown_without_folders(arguments, shown):
    assert shown_command("m", arguments) == f"python -m m {shown}"


def test_lists_and_names():
    assert split_list(" a, b,,") == ("a", "b")
    assert split_name("a=b=c") == ("a", "b=c")
    assert split_name("b", default="a") == ("a", "b")
