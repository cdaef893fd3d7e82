"""The page of a run, and `pii-edu audit`. Everybody is invented."""

import hashlib
import json
import re
import sys
from types import ModuleType

import pytest

from tests.cli.conftest import ESSAY, put, table
from tests.page import Page

PLANTED = re.compile(r"(?i)\bina\b|sorel|\björn|übel|odile|prath|20418837|okoro|a key for tests")
OTHER = "Jörn Übel met Odile Prath at the harbor. As Buzan says, a map helps."


def report(path) -> dict:
    return json.loads(path.read_text("utf8"))


@pytest.fixture
def released(folder, pii_edu):
    """A folder of twelve texts, two of them not read; released as `clean`."""
    for i in range(12):
        put(folder / f"in/Ilse_Okoro_{i:02}.txt", ESSAY if i % 2 else OTHER)
    put(folder / "in/Ilse_Okoro_notes.md", OTHER)
    put(folder / "in/Ilse_Okoro_empty.txt", "")
    run = pii_edu("deidentify in --out clean --profile ferpa_strict --id-map map.csv")
    assert run.exit_code == 1 and "report.html" in run.stderr, run.output
    return folder / "clean"


def test_page_is_whole_and_holds_nothing_of_anybody(released):
    page = (released / "report.html").read_text("utf8")
    found = Page(page)
    assert not PLANTED.search(page) and not PLANTED.search(
        (released / "report.json").read_text("utf8").replace("\\u00dc", "Ü")
    )
    assert "Buzan" not in page and "harbor" not in page
    assert (
        not [tag for tag in ("<script", "<link", "<img", "<iframe") if tag in page]
        and "http" not in found.text
    )
    assert all(
        name != "href" or value[1:] in found.ids for _, name, value in found.attributes
    ) and len(found.ids) == len(set(found.ids))
    assert {"e551", "e530"} <= set(
        found.text.lower().split()
    ) and "Signature and date:" in found.text
    assert "NAME_CITED (12 spans)" in found.text and "random" in found.text


def test_report_says_what_was_done_to_what(released, folder):
    found = report(released / "report.json")
    texts = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in released.glob("*.txt"))
    assert found["output"]["sha256_of_files"] == texts and found["output"]["files"] == 12
    assert (
        found["output"]["sha256_of_list"]
        == hashlib.sha256("".join(f"{one}\n" for one in texts).encode()).hexdigest()
    )
    assert found["input"]["files"] == 14
    assert (
        found["actions"]["NAME_CITED"] == "keep"
        and found["actions"]["DATE"] == "tag"
        and len(found["actions"]) == 17
    )
    assert {"python", "spacy", "onnxruntime"} <= found["versions"].keys()
    assert sum(row["count"] for row in found["sources"]) == sum(
        row["count"] for row in found["spans"]
    )
    assert {row["source"] for row in found["sources"]} == {""}  # a span_ruler gives none
    assert (
        found["risk"]["least"] == [0] * 9 + [12]
        and found["risk"]["in_clear"] == [0] * 9 + [12]
        and found["risk"]["unsure"] == [12] + [0] * 10
    )
    assert found["leak_estimate"] is None and found["review_plan"][0]["documents_if_none"] == 12


def test_page_follows_the_report_and_nothing_is_written_over(folder, pii_edu):
    put(folder / "essays.csv", table(3))
    put(folder / "report.html", "mine")
    assert pii_edu("deidentify essays.csv --out clean.csv").exit_code == 0
    assert (folder / "report.html").read_text() == "mine" and (
        folder / "clean.csv.report.html"
    ).exists()
    refused = pii_edu("deidentify essays.csv --out b.csv --config report=report.json")
    assert refused.exit_code == 2 and "[E510]" in refused.stderr and not (folder / "b.csv").exists()
    assert pii_edu("deidentify essays.csv --out c.csv --config report=mine.txt").exit_code == 0
    assert (folder / "mine.txt.html").read_text("utf8").startswith("<!DOCTYPE html>")
    put(folder / "in.json", '[{"text": "I am Ina Sorel"}]')
    assert pii_edu("deidentify in.json --out sub/report.json").exit_code == 0
    assert (
        report(folder / "sub/report.json")[0]["text"]
        and report(folder / "sub/report.json.report.json")["documents"] == 1
    )


def test_input_that_was_changed_has_no_digest(folder, pii_edu, monkeypatch):
    from pii_components.release.run import Run

    put(folder / "in.csv", table(3))
    go = Run.go
    monkeypatch.setattr(
        Run, "go", lambda self, **how: (go(self, **how), put(folder / "in.csv", table(4)))[0]
    )
    assert pii_edu("deidentify in.csv --out clean.csv").exit_code == 0
    assert report(folder / "report.json")["input"] is None and "has no digest" in (
        folder / "report.html"
    ).read_text("utf8")


def test_audit_writes_the_estimate_and_sees_a_changed_release(released, pii_edu):
    run = pii_edu("audit clean --reviewed 9 --missed-in 1 --spans 1/40 --bound 0.2")
    assert run.exit_code == 0 and "hypergeometric" in (released / "report.html").read_text(
        "utf8"
    ), run.output
    found = report(released / "report.json")
    assert (
        found["leak_estimate"]["documents"]["interval_95"] == [1 / 12, 3 / 12]
        and found["documents"] == 12
    )
    assert [row["bound"] for row in found["review_plan"]] == [0.2] and found["output_now"] is None
    put(next(released.glob("*.txt")), "changed")
    assert "not the one" in pii_edu("audit clean").stderr
    again = report(released / "report.json")
    assert again["output_now"]["files"] == 12 and again["leak_estimate"] == found["leak_estimate"]
    assert "was changed since" in (released / "report.html").read_text("utf8")


def test_audit_draws_a_sample_and_stores_nothing(released, pii_edu):
    before = (released / "report.json").read_bytes()
    run = pii_edu("audit clean --sample 5 --seed 7")
    assert (
        run.exit_code == 0
        and "--seed 7" in run.stderr
        and (released / "report.json").read_bytes() == before
    )
    numbers = [int(line) for line in run.stdout.split()]
    assert len(numbers) == 5 and not set(numbers) & {
        row["record"] for row in report(released / "report.json")["skipped"]["records"]
    }
    named = pii_edu("audit clean --sample 5 --seed 7 --id-map map.csv").stdout.splitlines()
    assert [int(line.split("\t")[0]) for line in named] == numbers and all(
        (released / line.split("\t")[1]).exists() for line in named
    )
    assert pii_edu("audit clean --sample 5").stderr != pii_edu("audit clean --sample 5").stderr


def test_audit_counts_what_a_review_says_of_the_sample(released, pii_edu, monkeypatch):
    # release/review.py says number, spans missed, spans there of each document that is marked.
    marked = [(n, int(n == 3), 4) for n in range(1, 13)]
    module = ModuleType("review")
    module.reviewed = lambda review: marked  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pii_components.release.review", module)
    assert pii_edu("audit clean --review r --sample 6 --seed 1").exit_code == 0
    found = report(released / "report.json")["leak_estimate"]
    assert (
        found["documents"]["reviewed"] == 6
        and found["documents"]["seed"] == 1
        and found["spans"]["there"] == 24
    )
    del marked[2:]
    refused = pii_edu("audit clean --review r --sample 6 --seed 1")
    assert refused.exit_code == 2 and "[E587]" in refused.stderr
    assert pii_edu("audit clean --review r").exit_code == 0
    assert report(released / "report.json")["leak_estimate"]["documents"]["reviewed"] == 2


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("audit", "in"), "E585"),
        (("audit", "clean", "--reviewed", "3", "--missed-in", "4"), "E586"),
        (("audit", "clean", "--bound", "2"), "E519"),
        (("audit", "clean", "--sample", "13"), "E588"),
        (("audit", "clean", "--reviewed", "3", "--spans", "3"), "E519"),
        (("audit", "clean", "--sample", "2", "--id-map", "none.csv"), "E576"),
    ],
)
def test_what_cannot_be_is_a_coded_error(released, pii_edu, args, code):
    run = pii_edu(*args)
    assert run.exit_code == 2 and f"[{code}]" in run.stderr, run.output
