"""The page of a run, and `pii-edu audit`. Everybody is invented."""

import hashlib
import re

import pytest

from pii_components.cli import review
from pii_components.labels import LABELS
from tests.cli.conftest import ESSAY, put, report, table
from tests.page import Page

PLANTED = re.compile(r"(?i)\bina\b|sorel|\björn|übel|odile|prath|20418837|okoro|a key for tests")
OTHER = "Jörn Übel met Odile Prath at the harbor. As Buzan says, a map helps."


@pytest.fixture
def released(folder, pii_edu):
    """A folder of twelve texts, two of them not read; released as `clean`."""
    for i in range(12):
        put(folder / f"in/Ilse_Okoro_{i:02}.txt", ESSAY if i % 2 else OTHER)
    put(folder / "in/Ilse_Okoro_notes.doc", OTHER)
    put(folder / "in/Ilse_Okoro_empty.txt", "")
    run = pii_edu("deidentify in --out clean --profile ferpa_strict --id-map map.csv")
    assert run.exit_code == 1 and "report.html" in run.stderr, run.output
    return folder / "clean"


def test_page_and_report_say_what_was_done_and_hold_nothing_of_anybody(released):
    page, told = ((released / f"report.{form}").read_text("utf8") for form in ("html", "json"))
    shown = Page(page)
    assert not PLANTED.search(page) and not PLANTED.search(told.replace("\\u00dc", "Ü"))
    for word in ("Buzan", "harbor", "<script", "<link", "<img", "<iframe"):
        assert word not in page
    links = [value for _, name, value in shown.attributes if name == "href"]
    assert all(link[1:] in shown.ids for link in links) and "http" not in shown.text
    assert len(shown.ids) == len(set(shown.ids))
    for words in ("E551", "E530", "Signature and date:", "NAME_CITED (12 spans)", "random"):
        assert words in shown.text
    found = report(released / "report.json")
    texts = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in released.glob("*.txt"))
    whole = hashlib.sha256("".join(f"{one}\n" for one in texts).encode()).hexdigest()
    assert found["output"]["sha256_of_files"] == texts
    assert (found["output"]["files"], found["output"]["sha256_of_list"]) == (12, whole)
    assert found["input"]["files"] == 14 and len(found["actions"]) == len(LABELS)
    assert (found["actions"]["NAME_CITED"], found["actions"]["DATE"]) == ("keep", "tag")
    assert {"python", "spacy", "onnxruntime"} <= found["versions"].keys()
    by_source, by_role = (sum(row["count"] for row in found[name]) for name in ("sources", "spans"))
    assert by_source == by_role
    assert found["risk"]["least"] == found["risk"]["in_clear"] == [0] * 9 + [12]
    assert found["leak_estimate"] is None and found["review_plan"][0]["documents_if_none"] == 12


def test_page_follows_the_report_and_nothing_is_written_over(folder, pii_edu):
    put(folder / "essays.csv", table(3))
    put(folder / "report.html", "mine")
    assert pii_edu("deidentify essays.csv --out clean.csv").exit_code == 0
    assert (folder / "report.html").read_text() == "mine"
    assert (folder / "clean.csv.report.html").exists()
    refused = pii_edu("deidentify essays.csv --out b.csv --config report=report.json")
    assert refused.exit_code == 2 and "[E510]" in refused.stderr and not (folder / "b.csv").exists()
    assert pii_edu("deidentify essays.csv --out c.csv --config report=mine.txt").exit_code == 0
    assert (folder / "mine.txt.html").read_text("utf8").startswith("<!DOCTYPE html>")
    put(folder / "in.json", '[{"text": "I am Ina Sorel"}]')
    assert pii_edu("deidentify in.json --out sub/report.json").exit_code == 0
    assert report(folder / "sub/report.json")[0]["text"]
    assert report(folder / "sub/report.json.report.json")["documents"] == 1


def test_input_that_was_changed_has_no_digest(folder, pii_edu, monkeypatch):
    from pii_components.release.run import Run

    def change(self, **how):
        go(self, **how)
        put(folder / "in.csv", table(4))

    put(folder / "in.csv", table(3))
    go = Run.go
    monkeypatch.setattr(Run, "go", change)
    assert pii_edu("deidentify in.csv --out clean.csv").exit_code == 0
    assert report(folder / "report.json")["input"] is None
    assert "has no digest" in (folder / "report.html").read_text("utf8")


def test_audit_writes_the_estimate_and_sees_a_changed_release(released, pii_edu):
    run = pii_edu("audit clean --reviewed 9 --missed-in 1 --spans 1 40 --bound 0.2")
    assert run.exit_code == 0, run.output
    assert "hypergeometric" in (released / "report.html").read_text("utf8")
    found = report(released / "report.json")
    assert found["leak_estimate"]["documents"]["interval_95"] == [1 / 12, 3 / 12]
    assert found["leak_estimate"]["spans"]["there"] == 40
    assert [row["bound"] for row in found["review_plan"]] == [0.2] and found["output_now"] is None
    put(next(released.glob("*.txt")), "changed")
    assert "not the one" in pii_edu("audit clean").stderr
    again = report(released / "report.json")
    assert again["output_now"]["files"] == 12 and again["leak_estimate"] == found["leak_estimate"]
    assert "was changed since" in (released / "report.html").read_text("utf8")


def test_audit_draws_a_sample_and_takes_what_a_review_says_of_it(released, pii_edu, monkeypatch):
    before = (released / "report.json").read_bytes()
    run = pii_edu("audit clean --sample 5 --seed 7")
    assert run.exit_code == 0 and "--seed 7" in run.stderr
    assert (released / "report.json").read_bytes() == before
    numbers = [int(line) for line in run.stdout.split()]
    skipped = {row["record"] for row in report(released / "report.json")["skipped"]["records"]}
    assert len(numbers) == 5 and not skipped & set(numbers)
    named = pii_edu("audit clean --sample 5 --seed 7 --id-map map.csv").stdout.splitlines()
    rows = [line.split("\t") for line in named]
    assert [int(number) for number, _ in rows] == numbers
    assert all((released / name).exists() for _, name in rows)
    assert pii_edu("audit clean --sample 5").stderr != pii_edu("audit clean --sample 5").stderr
    # Number, spans missed, spans there of each document that is marked.
    marked = [(n, int(n == 3), 4) for n in range(1, 13)]
    monkeypatch.setattr(review, "marked", lambda path: marked)
    assert pii_edu("audit clean --review r --sample 6 --seed 1").exit_code == 0
    found = report(released / "report.json")["leak_estimate"]
    assert (found["documents"]["reviewed"], found["documents"]["seed"]) == (6, 1)
    assert found["spans"]["there"] == 24
    assert pii_edu("audit clean --sample 3 --seed 7 --reviewed 3").exit_code == 0
    assert report(released / "report.json")["leak_estimate"]["documents"]["seed"] == 7
    assert pii_edu("audit clean --review r --sample 6 --seed 1").exit_code == 0
    del marked[2:]
    refused = pii_edu("audit clean --review r --sample 6 --seed 1")
    assert refused.exit_code == 2 and "[E650]" in refused.stderr
    run = pii_edu("audit clean --review r")  # two that were shown by risk
    assert run.exit_code == 0 and "no random sample, and the estimate from one stays" in run.stderr
    assert "in the report: 6 documents, drawn at random" in run.stderr
    assert report(released / "report.json")["leak_estimate"] == found
    marked.clear()
    assert "[E581]" in pii_edu("audit clean --review r").stderr
    for line, code in (
        ("audit in", "E585"),
        ("audit clean --reviewed 3 --missed-in 4", "E586"),
        ("audit clean --missed-in 1", "E473"),
        ("audit clean --spans 1 4", "E473"),
        ("audit clean --seed 1", "E473"),
        ("audit clean --sample 3 --reviewed 3", "E473"),
        ("audit clean --review r --reviewed 3", "E473"),
        ("audit clean --bound 2", "E519"),
        ("audit clean --sample 2 --id-map none.csv", "E576"),
    ):
        assert f"[{code}]" in pii_edu(line).stderr, line


def test_a_sample_is_as_large_as_the_class_allows(released, pii_edu):
    run = pii_edu("audit clean --sample 60 --id-map map.csv")
    assert run.exit_code == 0 and "12 documents, fewer than 60: all are drawn" in run.stderr
    assert "14 by the map: 12 released, 2 left out" in run.stderr
    drawn = [line.partition("\t")[2] for line in run.stdout.splitlines()]
    assert sorted(drawn) == sorted(path.name for path in released.glob("*.txt"))
    put(released.parent / "other.csv", "in,out\na.txt,a.txt\n")
    assert "[E576]" in pii_edu("audit clean --sample 60 --id-map other.csv").stderr


def test_what_was_shown_by_risk_is_no_estimate_of_the_release(released, pii_edu, monkeypatch):
    monkeypatch.setattr(review, "marked", lambda path: [(1, 0, 4), (2, 1, 4)])
    assert "2 documents, shown by risk" in pii_edu("audit clean --review r").stderr
    page = (released / "report.html").read_text("utf8")
    assert "no random sample yet" in page and "tell nothing of the others" in page
    assert pii_edu("audit clean --reviewed 9 --missed-in 1").exit_code == 0
    found = report(released / "report.json")["leak_estimate"]["documents"]
    assert (found["reviewed"], found["drawn"]) == (9, "drawn at random")
    assert "no random sample yet" not in (released / "report.html").read_text("utf8")
