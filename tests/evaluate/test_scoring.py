"""`pii-edu evaluate score` and its readers: forms of predictions, what is refused, roles and profiles. All names are invented."""

import json

import pytest
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.gold import read_gold
from tests.tiny import TOKENIZER

TEXTS = {
    "a1": "Dana Vell wrote to dana@uni.example today, says Smith (2019)",
    "a2": "This is by Oskar Tamm",
    "a3": "Nobody is named here",
}
GOLD = {
    "a1": [[0, 9, "NAME_STUDENT"], [19, 35, "EMAIL"], [48, 53, "NAME_CITED"]],
    "a2": [[11, 21, "NAME_STUDENT"]],
    "a3": [],
}
FOUND = [
    ("a1", 0, 9, "NAME_STUDENT"),
    ("a1", 48, 53, "NAME_STUDENT"),
    ("a2", 11, 16, "NAME_STUDENT"),
]
WORDS = ("Dana", "Vell", "Oskar", "Tamm", "Smith")


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    return path


def corpus(path, spans):
    return lines(
        path,
        [
            {"id": ident, "text": text, "spans": spans.get(ident, [])}
            for ident, text in TEXTS.items()
        ],
    )


def detected(path, found):
    names = ("document", "start_char", "end_char", "label")
    return lines(path, [dict(zip(names, row, strict=True)) for row in found])


@pytest.fixture
def gold(tmp_path):
    return corpus(tmp_path / "gold.jsonl", GOLD)


def pii_edu(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def score(*arguments):
    found = pii_edu("evaluate", "score", *arguments, "--config", "resamples=5")
    assert not any(word in found.output for word in WORDS)
    return found


def as_corpus(path):
    spans = {}
    for ident, start, end, label in FOUND:
        spans.setdefault(ident, []).append([start, end, label])
    return corpus(path.with_suffix(".jsonl"), spans)


def as_csv(path):
    rows = "".join(f'{i},{TEXTS[i][s:e]},{label},"({s}, {e})"\n' for i, s, e, label in FOUND)
    path = path.with_suffix(".csv")
    path.write_text("file_idx,entity_text,type,positions\n" + rows, encoding="utf8")
    return path


def as_detected(path):
    return detected(path.with_suffix(".jsonl"), FOUND)


@pytest.mark.parametrize("form", [as_corpus, as_csv, as_detected])
def test_predictions_in_every_form_score_the_same(form, gold, tmp_path):
    out = tmp_path / "m.json"
    found = score(gold, form(tmp_path / "found"), "--out", out)
    assert found.exit_code == 0 and "(stored)" not in found.output, (
        found.output
    )  # no times, no speed
    report = json.loads(out.read_text())
    (system,) = report["systems"].values()
    view = system["views"]["all"]
    # The cited author is kept by the profile: no gold; hiding him is a false alarm.
    assert [view["bag"][n] for n in ("tp", "fp", "fn")] == [1, 2, 2]
    assert [view["overlap"][n] for n in ("tp", "fp", "fn")] == [2, 1, 1]
    assert view["coverage"]["incompletely_covered"] == 2
    assert (view["exposure"]["false_alarms"], view["exposure"]["words"]) == (1, 18)
    assert (view["exposure"]["characters"], view["exposure"]["characters_in_clear"]) == (
        8 + 16 + 9,
        16 + 4,
    )
    roles = system["roles"]
    assert roles["found"] == 3 and roles["accuracy"] == pytest.approx(0.6667)
    assert roles["per_role"]["STUDENT"]["f1"] == 0.8 and roles["per_role"]["CITED"]["recall"] == 0
    assert {row["group"] for row in system["names"]["rows"]} >= {"Female"}
    assert not any(word in out.read_text() for word in WORDS)
    assert (
        report["command"]
        == f"pii-edu evaluate score gold.jsonl {report['command'].split()[4]} --config profile=crapii"
    )


def test_two_systems_are_compared_in_pairs(gold, tmp_path):
    out = tmp_path / "m.json"
    found = score(gold, gold, "--against", as_detected(tmp_path / "found"), "--out", out)
    assert found.exit_code == 0, found.output
    gain = json.loads(out.read_text())["differences"]["gold - found"]["all"]["bag"]
    assert gain["f5"] > 0 and 0 < gain["p_f5"] <= 1


@pytest.mark.parametrize(("what", "rows", "code"), CASES["bad_predictions"])
def test_predictions_that_do_not_fit_are_refused(what, rows, code, gold, tmp_path):
    found = score(gold, detected(tmp_path / "found.jsonl", rows), "--out", tmp_path / "m.json")
    assert found.exit_code == 2 and f"[{code}]" in found.output
    assert not (tmp_path / "m.json").exists()
    if what == "overlapping":
        assert (
            score(gold, tmp_path / "found.jsonl", "--config", "allow_overlaps=true").exit_code == 0
        )


def test_labels_may_be_renamed(gold, tmp_path):
    path = detected(tmp_path / "found.jsonl", [("a1", 0, 9, "PERSON")])
    assert score(gold, path, "--config", "rename=PERSON=NAME_STUDENT").exit_code == 0
    found = score(gold, path, "--config", "rename=PERSON=PLANET")
    assert found.exit_code == 2 and "[E737]" in found.output


BAD_CORPORA = [
    ([{"id": "a1", "text": TEXTS["a1"], "spans": []}], "E705"),
    ([{"id": i, "text": t + "!", "spans": []} for i, t in TEXTS.items()], "E705"),
    ([{"id": "a1", "text": TEXTS["a1"], "spans": []}] * 2, "E702"),
    (
        [
            {"id": i, "text": t, "spans": [[0, 4, "EMAIL"], [2, 6, "EMAIL"]]}
            for i, t in TEXTS.items()
        ],
        "E705",
    ),
    ([{"id": i, "text": t, "spans": [[0, 400, "EMAIL"]]} for i, t in TEXTS.items()], "E705"),
]


@pytest.mark.parametrize(("rows", "code"), BAD_CORPORA)
def test_a_corpus_of_predictions_must_be_that_of_the_gold(rows, code, gold, tmp_path):
    found = score(gold, lines(tmp_path / "found.jsonl", rows))
    assert found.exit_code == 2 and f"[{code}]" in found.output


def test_gold_that_cannot_be_used_is_passed_over_and_told(tmp_path):
    spans = GOLD | {"a2": [[11, 21, "NAME_STUDENT"], [16, 99, "EMAIL"]]}
    gold = corpus(tmp_path / "gold.jsonl", spans)
    assert [len(doc.masked) for doc in read_gold(gold)] == [0, 1, 0]
    out = tmp_path / "m.json"
    found = score(gold, as_detected(tmp_path / "found"), "--out", out)
    assert found.exit_code == 0, found.output
    report = json.loads(out.read_text())
    assert report["masked"]["count"] == 2
    view = report["systems"]["found"]["views"]["all"]
    # Nothing in the second document counts: neither the miss nor the prediction.
    assert [view["bag"][n] for n in ("tp", "fp", "fn")] == [1, 1, 1]
    unknown = corpus(tmp_path / "unknown.jsonl", GOLD | {"a2": [[11, 21, "PERSON"]]})
    assert "[E724]" in score(unknown, unknown).output
    found = score(gold, as_detected(tmp_path / "found"), "--config", "strict=true")
    assert found.exit_code == 2 and "[E727]" in found.output


@pytest.mark.parametrize("suffix", [".json", ".csv", ".spacy"])
def test_gold_is_read_in_other_forms(gold, tmp_path, suffix):
    from pii_components.files.labelled import convert

    other = tmp_path / f"other{suffix}"
    convert(gold, other)
    assert score(other, gold if suffix != ".json" else other).exit_code == 0
    assert [len(doc.entities) for doc in read_gold(other)] == [3, 1, 0]
    assert all(doc.tokens for doc in read_gold(other))


def test_run_takes_systems_from_the_registry(gold, tmp_path):
    found = pii_edu("evaluate", "run", gold, "--systems", "no-such-system")
    assert found.exit_code == 2 and "[E740]" in found.output
    found = pii_edu("evaluate", "systems")
    assert found.exit_code == 0 and "presidio-md" in found.output.splitlines()
    assert pii_edu("evaluate", "run").exit_code == 2


def test_run_and_compare_from_a_pipeline(gold, tmp_path, nlp):
    model, out, saved = tmp_path / "model", tmp_path / "m.json", tmp_path / "saved"
    nlp.to_disk(model)
    common = ["--config", "resamples=5", "--out", out]
    found = pii_edu("--quiet", "evaluate", "run", gold, "--systems", model, *common)
    assert found.exit_code == 0, found.output
    report = json.loads(out.read_text())
    assert (
        report["command"]
        == "pii-edu evaluate run gold.jsonl --systems model --config profile=crapii"
    )
    assert report["systems"]["model"]["views"]["all"]["bag"]["tp"] == 2
    found = pii_edu(
        "evaluate",
        "run",
        gold,
        "--systems",
        f"one={model},two={model}",
        "--save-predictions",
        saved,
        *common,
    )
    assert found.exit_code == 0, found.output
    report = json.loads(out.read_text())
    assert report["differences"]["one - two"]["all"]["bag"]["p_f5"] == 1
    assert str(tmp_path) not in out.read_text()
    assert score(gold, saved / "one.jsonl").exit_code == 0


def test_roles_are_judged_as_the_pipeline_gives_them(tmp_path):
    import spacy

    made = spacy.blank("en", config=TOKENIZER)
    made.add_pipe("pii_ruler")  # what makes it one of ours; its spans give way to those of the next
    ruler = made.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([{"label": "NAME_CONNECTED", "pattern": "Oskar Tamm"}])
    made.to_disk(tmp_path / "model")
    gold = corpus(tmp_path / "gold.jsonl", {"a2": [[11, 21, "NAME_CONNECTED"]]})
    out = tmp_path / "m.json"
    for system in (tmp_path / "model", f"one={tmp_path / 'model'}"):
        found = pii_edu(
            *("--quiet", "evaluate", "run", gold, "--systems", system),
            *("--config", "resamples=5", "--out", out),
        )
        assert found.exit_code == 0, found.output
        (report,) = json.loads(out.read_text())["systems"].values()
        assert report["roles"]["per_role"]["CONNECTED"]["recall"] == 1
        # What is hidden counts as NAME_STUDENT, whatever the role.
        assert report["views"]["all"]["per_label"]["NAME_STUDENT"]["bag"]["tp"] == 1


@pytest.mark.parametrize("place", ["folder", "file/inside.json"])
def test_a_metrics_file_that_cannot_be_written_is_refused_before_any_work(place, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x", "utf8")
    # The gold is not there: had any work begun, that would be the error.
    for command in (
        ["evaluate", "run", "none.jsonl"],
        ["evaluate", "score", "none.jsonl", "none.jsonl"],
    ):
        result = pii_edu(*command, "--out", tmp_path / place)
        assert result.exit_code == 2 and "E512" in result.output, (command, result.output)
