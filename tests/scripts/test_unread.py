"""Totals on unread texts: what counts as hidden, touched, exact, left open; the sealed files are whole."""

import json
import tomllib
from pathlib import Path

import pytest
import spacy
from sklearn.metrics import f1_score

from pii_components.errors import PiiError
from pii_components.profiles import Profile
from scripts.unread import Case, agreement, counts_of, everyday, measure, slots, summary, tutoring

SEALED = Path("assets/sealed/tutoring.jsonl")
HIDES = Profile.load("crapii").protects
TEXT = "Ines Toledo, 17 years old, read Jane Austen in Porto."
MARKS = ((0, 11, "NAME_STUDENT"), (13, 25, "AGE"), (32, 43, "NAME_CITED"), (47, 52, "LOCATION"))


@pytest.mark.parametrize(
    "found, expected",
    [
        (MARKS, {"STUDENT hidden": 1, "CITED touched": 0, "AGE exact": 1, "left open": 0}),
        ([(0, 4, "NAME_STUDENT")], {"STUDENT hidden": 0, "STUDENT touched": 1, "left open": 1}),
        ([(0, 11, "NAME_CITED")], {"STUDENT hidden": 0, "names found": 0, "left open": 1}),
        (
            [(0, 4, "NAME_CONNECTED"), (5, 11, "NAME_STUDENT")],
            {"STUDENT hidden": 1, "names found": 2},
        ),
        ([(37, 43, "NAME_STUDENT")], {"CITED touched": 1, "names found": 1, "names right": 0}),
        ([(13, 15, "AGE"), (47, 52, "LOCATION")], {"AGE exact": 0, "LOCATION exact": 1}),
    ],
)
def test_counts_of_a_text(found, expected):
    counts = counts_of(Case(TEXT, MARKS), found, HIDES)
    assert {key: counts[key] for key in expected} == expected


def test_rates_and_mean_f1_of_texts():
    halves = [MARKS, [(13, 15, "AGE"), (47, 52, "LOCATION")]]
    made = summary([counts_of(Case(TEXT, MARKS), found, HIDES) for found in halves])
    assert made["private"] == 2 and made["private_hidden"] == 0.5 and made["texts_left_open"] == 1
    assert made["kept_touched"] == 0 and made["precision"] == 1
    assert made["indirect"]["LOCATION"] == {"support": 2, "found": 2, "f1": 1.0}
    # AGE: one of two is exact, and two are found.
    assert made["indirect"]["AGE"]["f1"] == f1_score([1, 1, 0], [1, 0, 1])
    assert made["indirect_f1"] == 0.75


def test_sealed_texts_are_as_many_as_asked_for():
    cases = list(everyday())
    private = [c for c in cases if any(m[2] in ("NAME_STUDENT", "NAME_CONNECTED") for m in c.marks)]
    assert len(cases) >= 300 and len(private) >= 150
    assert sum(case.group == "dialogue" for case in cases) >= 60
    made = measure(spacy.blank("en"), cases, Profile.load("crapii"))
    assert made["at most three sentences"]["texts"] >= 200
    assert made["all"]["private_hidden"] == 0 and made["all"]["left_open"] == 1
    assert agreement()["marks"] > 400 and agreement()["kappa"] > 0.9


def test_marks_of_another_text_are_refused(tmp_path):
    row = {"id": json.loads(SEALED.read_text("utf8").splitlines()[0])["id"], "text": "Hi"}
    (tmp_path / "mathdial.jsonl").write_text(json.dumps(row), "utf8")
    with pytest.raises(PiiError, match="E501"):
        list(tutoring(tmp_path))


def test_slots_hold_hard_names_of_one_private_person():
    hard = tomllib.loads(Path("assets/hard_names.toml").read_text("utf8"))
    for case in slots(6):
        said = " ".join(case.text[a:b] for a, b, _ in case.marks).lower()
        assert any(word.lower() in said for name in hard[case.group] for word in name.split())
