"""Predictions in files against gold: forms, what is refused, roles and profiles. All names are invented."""

import json

import pytest
import spacy
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.errors import PiiError
from pii_components.evaluate.gold import file_sha256, read_gold, read_predictions
from pii_components.evaluate.report import score_report
from pii_components.evaluate.systems import parse_spec, run_spec
from pii_components.files.formats.base import ReadStats
from pii_components.profiles import Profile
from tests.cli.conftest import put_rows
from tests.tiny import TOKENIZER

KAGGLE = Profile.load("kaggle")
TEXTS = {
    "a1": "Dana Vell wrote to dana@uni.example today, says Smith (2019)",
    "a2": "This is by Oskar Tamm",
    "a3": "Nobody is named here",
}
GOLD = {
    "a1": [[0, 9, "NAME_STUDENT"], [19, 35, "EMAIL"], [48, 53, "NAME_CITED"]],
    "a2": [[11, 21, "NAME_STUDENT"]],
}
FOUND = [
    ("a1", 0, 9, "NAME_STUDENT"),
    ("a1", 48, 53, "NAME_STUDENT"),
    ("a2", 11, 16, "NAME_STUDENT"),
]


def corpus(path, spans):
    return put_rows(
        path, [{"id": i, "text": t, "spans": spans.get(i, [])} for i, t in TEXTS.items()]
    )


def detected(path, found):
    names = ("document", "start_char", "end_char", "label")
    return put_rows(path, [dict(zip(names, row, strict=True)) for row in found])


@pytest.fixture
def gold(tmp_path):
    return corpus(tmp_path / "gold.jsonl", GOLD)


def read(gold, path):
    known = {"protects": KAGGLE.protects, "data_sha256": file_sha256(gold)}
    return read_predictions(path, read_gold(gold), name=path.stem, **known)


def score(gold, *files):
    runs = [read(gold, path) for path in files]
    return score_report(runs, read_gold(gold), profile=KAGGLE, resamples=5)


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
    report = score(gold, form(tmp_path / "found"))
    (system,) = report["systems"].values()
    view = system["views"]["all"]
    # The cited author is kept by the profile: no gold; hiding him is a false alarm.
    assert [view["bag"][n] for n in ("tp", "fp", "fn")] == [1, 2, 2]
    assert [view["overlap"][n] for n in ("tp", "fp", "fn")] == [2, 1, 1]
    assert view["coverage"]["incompletely_covered"] == 2
    exposure = view["exposure"]
    assert (exposure["false_alarms"], exposure["words"]) == (1, 18)
    assert (exposure["characters"], exposure["characters_in_clear"]) == (8 + 16 + 9, 16 + 4)
    roles = system["roles"]
    assert roles["found"] == 3 and roles["accuracy"] == pytest.approx(0.6667)
    assert roles["per_role"]["STUDENT"]["f1"] == 0.8 and roles["per_role"]["CITED"]["recall"] == 0
    assert {row["group"] for row in system["names"]["rows"]} >= {"Female"}
    assert not any(word in json.dumps(report) for word in ("Dana", "Vell", "Oskar", "Tamm"))


def test_two_systems_are_compared_in_pairs(gold, tmp_path):
    report = score(gold, gold, as_detected(tmp_path / "found"))
    gain = report["differences"]["gold - found"]["all"]["bag"]
    assert gain["f5"] > 0 and 0 < gain["p_f5"] <= 1


@pytest.mark.parametrize(("what", "rows", "code"), CASES["bad_predictions"])
def test_predictions_that_do_not_fit_are_refused(what, rows, code, gold, tmp_path):
    with pytest.raises(PiiError, match=rf"\[{code}\]"):
        read(gold, detected(tmp_path / "found.jsonl", rows))


BAD_CORPORA = [
    ([{"id": i, "text": t + "!", "spans": []} for i, t in TEXTS.items()], "E705"),
    ([{"id": "a1", "text": TEXTS["a1"], "spans": []}] * 2, "E627"),
]


@pytest.mark.parametrize(("rows", "code"), BAD_CORPORA)
def test_a_corpus_of_predictions_must_be_that_of_the_gold(rows, code, gold, tmp_path):
    with pytest.raises(PiiError, match=rf"\[{code}\]"):
        read(gold, put_rows(tmp_path / "found.jsonl", rows))


def test_gold_that_cannot_be_used_is_passed_over_and_told(tmp_path):
    spans = GOLD | {"a2": [[11, 21, "NAME_STUDENT"], [16, 99, "EMAIL"]]}
    gold, tally = corpus(tmp_path / "gold.jsonl", spans), ReadStats()
    assert [len(doc.masked) for doc in read_gold(gold, tally=tally)] == [0, 1, 0]
    assert tally.masked_in_short()["count"] == 2
    view = score(gold, as_detected(tmp_path / "found"))["systems"]["found"]["views"]["all"]
    # Nothing in the second document counts: neither the miss nor the prediction.
    assert [view["bag"][n] for n in ("tp", "fp", "fn")] == [1, 1, 1]


def test_roles_are_judged_as_the_pipeline_gives_them(tmp_path):
    made = spacy.blank("en", config=TOKENIZER)
    made.add_pipe("pii_ruler")  # what makes it one of ours; its spans give way to those of the next
    ruler = made.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([{"label": "NAME_CONNECTED", "pattern": "Oskar Tamm"}])
    made.to_disk(tmp_path / "model")
    gold = read_gold(corpus(tmp_path / "gold.jsonl", {"a2": [[11, 21, "NAME_CONNECTED"]]}))
    run = run_spec(parse_spec(f"one={tmp_path / 'model'}"), gold, protects=KAGGLE.protects)
    (report,) = score_report([run], gold, profile=KAGGLE, resamples=5)["systems"].values()
    assert report["roles"]["per_role"]["CONNECTED"]["recall"] == 1
    # What is hidden counts as NAME_STUDENT, whatever the role.
    assert report["views"]["all"]["per_label"]["NAME_STUDENT"]["bag"]["tp"] == 1


MANY = {f"d{i}": f"{name} Vell wrote to d{i}@uni.example" for i, name in enumerate("ABCDEF")}
IN_MANY = {
    ident: [[0, 6, "NAME_STUDENT"], [16, len(text), "EMAIL"]] for ident, text in MANY.items()
}


def gate(tmp_path, first, second, *settings):
    """RETURNS (tuple): Exit code, and what was said; predictions are gold's spans with these labels, by document."""
    rows = [{"id": i, "text": text, "spans": IN_MANY[i]} for i, text in MANY.items()]
    gold, paths = put_rows(tmp_path / "many.jsonl", rows), []
    for name, labels in (("first", first), ("second", second)):
        found = [
            (ident, start, end, label)
            for n, (ident, spans) in enumerate(IN_MANY.items())
            for start, end, label in spans
            if n < labels.get(label, 0)
        ]
        found += [
            ("d0", 7, 11, label) for label in labels if label not in ("NAME_STUDENT", "EMAIL")
        ]
        keys = ("document", "start_char", "end_char", "label")
        made = [dict(zip(keys, row, strict=True)) for row in found]
        paths.append(f"{name}=stored:{put_rows(tmp_path / f'{name}.jsonl', made)}")
    words = ["evaluate", "run", str(gold), "--systems", ",".join(paths)]
    words += [word for one in ("gate=true", *settings) for word in ("--config", one)]
    done = CliRunner().invoke(app, words)
    return done.exit_code, done.stderr


BOTH, NONE = {"NAME_STUDENT": 6, "EMAIL": 6}, {"NAME_STUDENT": 6, "EMAIL": 0}


@pytest.mark.parametrize(
    ("first", "second", "code", "said"),
    [
        (BOTH, BOTH, 0, "fewer than 20 spans of NAME_STUDENT, "),
        (BOTH, NONE, 0, ""),
        (NONE, BOTH, 2, "[E706] 'first' is worse than 'second': all labels -"),
        (NONE, BOTH, 2, "EMAIL -1.000 (-1.000 to -1.000)"),
        ({"NAME_STUDENT": 6, "EMAIL": 5}, BOTH, 0, ""),  # one miss is chance
    ],
)
def test_what_is_worse_is_refused_where_the_gate_is_closed(first, second, code, said, tmp_path):
    done, shown = gate(tmp_path, first, second)
    assert done == code and said in shown, shown
    assert "[E706]" not in gate(tmp_path, first, second, "gate=false")[1]


def test_labels_that_nobody_looked_for_are_passed_over(tmp_path):
    gate(tmp_path, BOTH, {**BOTH, "LOCATION": 1, "NAME_INSTRUCTOR": 1})  # writes the files
    documents, strict = read_gold(tmp_path / "many.jsonl"), Profile.load("ferpa_strict")
    found = tmp_path / "second.jsonl"
    run = read_predictions(found, documents, name="one", protects=strict.protects)
    for labels, alarms in (((), 2), (("NAME_STUDENT", "EMAIL"), 0)):
        report = score_report([run], documents, profile=strict, labels=labels, resamples=5)
        assert report["systems"]["one"]["views"]["all"]["exposure"]["false_alarms"] == alarms
    assert report["views"] == {"all": ["NAME_STUDENT", "EMAIL"]}
