"""The walk of a class: what it builds holds all that is planted, and what is left in a release is found."""

import json
import os
import zipfile

import pytest
import spacy

from scripts import walk
from scripts.walk import GONE, LEFT, PART, build_zip, fate, judge, read_class

DOCUMENTS = read_class()
# Formats of all kinds: a .docx with comments and one with a table, a PDF, texts.
SIX = [
    next(doc for doc in DOCUMENTS if test(doc))
    for test in (
        lambda doc: "comments" in doc,
        lambda doc: "table" in doc,
        lambda doc: doc["format"] == "pdf",
        lambda doc: "encoding" in doc,
        lambda doc: "footer" in doc,
        lambda doc: doc["format"] == "txt",
    )
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A pipeline that hides one student in the text, and nobody else."""
    nlp = spacy.blank("xx")
    kept = {"@misc": "spacy.first_longest_spans_filter.v1"}
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii", "spans_filter": kept})
    for text in ("Will Harrow", "Harrow", "Will"):
        ruler.add_patterns([{"label": "NAME_STUDENT", "pattern": text}])
    nlp.add_pipe("hips_surrogate")
    path = tmp_path_factory.mktemp("pipeline") / "small"
    nlp.to_disk(path)
    return str(path)


def test_class_is_as_told(tmp_path):
    assert len(DOCUMENTS) == len({doc["file"] for doc in DOCUMENTS}) == 60
    roster = (walk.CLASS / "roster.csv").read_text("utf8").splitlines()
    assert len({doc["author"] for doc in DOCUMENTS}) == 24 == len(roster) - 1
    build_zip(SIX, tmp_path / "class.zip")
    with zipfile.ZipFile(tmp_path / "class.zip") as archive:
        assert sorted(archive.namelist()) == sorted(doc["file"] for doc in SIX)


def test_all_that_is_planted_is_found_in_texts_as_they_were():
    found, failed = judge(DOCUMENTS, [(doc["file"], whole(doc)) for doc in DOCUMENTS])
    for title, kinds in found.items():
        assert all(row["intact" if title == "kept" else LEFT] == row["n"] for row in kinds.values())
    assert found["planted"]["all"]["share"] == 0 and found["kept"]["kept"]["share"] == 1
    assert len(failed) == found["planted"]["all"]["n"] + found["names of files"]["all"]["n"]


def whole(doc):
    """All that can be read in a document, comments and author too."""
    rows = [*doc.get("table", ()), *doc.get("comments", ())]
    beside = [doc.get(part, "") for part in ("header", "footer", "metadata")]
    return "\n".join([doc["text"], *beside, *(value for row in rows for value in row)])


def test_an_empty_release_has_lost_all_that_must_stay():
    found, failed = judge(DOCUMENTS, [("a.txt", "")] * 60)
    assert found["planted"]["all"]["share"] == found["names of files"]["all"]["share"] == 1
    assert found["kept"]["kept"]["share"] == 0 and {one["kind"] for one in failed} == {"kept"}


@pytest.mark.parametrize(
    ("kind", "string", "text", "expected"),
    [
        ("author", "Will", "Will you, Sam?", GONE),
        ("author", "Will", "Will you, Will?", LEFT),
        ("author", "Will", "Willing", GONE),
        ("author", "Will Harrow", "Harrow wrote it.", PART),
        ("author", "Will Harrow", "Sam Doe", GONE),
        ("author", "Will Harrow", "Will\u00a0Harrow", LEFT),
        ("author", "Will Harrow", "Ｗill Har\u200brow", LEFT),
        ("author", "Zoë", "Zoe\u0308", LEFT),
        ("town", "Dunmore Falls", "the Falls", GONE),
        ("phone", "(419) 555-0142", "(419) 555-0142.", LEFT),
    ],
)
def test_fate_of_a_string(kind, string, text, expected):
    assert fate(kind, string, walk.tidy(text), {"Will": 1}) == expected


def test_a_word_that_is_planted_too_is_judged_by_itself():
    assert fate("author", "Ina Sorel", "Ina", {}) == PART
    assert fate("author", "Ina Sorel", "Ina", {}, ["Ina"]) == GONE


def test_walk_on_six_documents(command, model, tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "read_class", lambda: SIX)
    root = str(walk.CLASS.parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    out, failures = tmp_path / "walk.json", tmp_path / "failed.json"
    ran = command(walk.main, "--model", model, "--out", out, "--failures", failures)
    assert ran.exit_code == 0, ran.output
    report, failed = json.loads(out.read_text("utf8")), json.loads(failures.read_text("utf8"))
    assert report["walk"]["documents"] == report["walk"]["released"] == 6
    assert report["walk"]["files_beside"] == 0
    rows = report["found"]["planted"]
    planted = {string for doc in SIX for _, string in doc["planted"]}
    assert rows["all"]["n"] == sum(len(doc["planted"]) for doc in SIX)
    assert 0 < rows["all"][GONE] < rows["all"]["n"]
    strings = {one["string"] for one in failed if one["table"] == "planted"}
    assert strings >= {"Vandermark", "Dunmore Falls", "Gordon"}
    assert not any(string in out.read_text("utf8") for string in planted if len(string) > 4)
