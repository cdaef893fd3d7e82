"""The walk of a class: what it builds holds all that is planted, and what is left in a release is found, wherever it stands."""

import json
import os
import zipfile

import pytest
import spacy

from scripts import walk
from scripts.walk import GONE, LEFT, PART, build_zip, count, fate, judge, read_class, texts_of

DOCUMENTS = read_class()
# Formats of all kinds: texts, a .docx with comments and a .docx with a table, a PDF.
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
def unpacked(tmp_path_factory):
    """Names and texts of the files in the zip, as if they had been released unchanged; of a PDF, the text that was put in."""
    folder = tmp_path_factory.mktemp("walk")
    build_zip(DOCUMENTS, folder / "class.zip")
    with zipfile.ZipFile(folder / "class.zip") as archive:
        archive.extractall(folder / "out")
    made = {doc["file"]: folder / "out" / doc["file"] for doc in DOCUMENTS}
    assert all(path.is_file() for path in made.values())
    return [
        (doc["file"], doc["text"] if doc["format"] == "pdf" else texts_of(made[doc["file"]]))
        for doc in DOCUMENTS
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A pipeline that hides one student in the text, and nobody else."""
    nlp = spacy.blank("xx")
    ruler = nlp.add_pipe(
        "span_ruler",
        config={
            "spans_key": "pii",
            "spans_filter": {"@misc": "spacy.first_longest_spans_filter.v1"},
        },
    )
    ruler.add_patterns(
        [{"label": "NAME_STUDENT", "pattern": text} for text in ("Will Harrow", "Harrow", "Will")]
    )
    nlp.add_pipe("hips_surrogate")
    path = tmp_path_factory.mktemp("pipeline") / "small"
    nlp.to_disk(path)
    return str(path)


def test_class_is_as_told():
    assert len(DOCUMENTS) == len({doc["file"] for doc in DOCUMENTS}) == 60
    assert (
        len({doc["author"] for doc in DOCUMENTS})
        == 24
        == len((walk.CLASS / "roster.csv").read_text("utf8").splitlines()) - 1
    )


def test_all_that_is_planted_stands_in_the_files(unpacked):
    found, failed = judge(DOCUMENTS, unpacked)
    for title, kinds in found.items():
        assert all(row["intact" if title == "kept" else LEFT] == row["n"] for row in kinds.values())
    assert found["planted"]["all"]["share"] == 0 and found["kept"]["kept"]["share"] == 1
    assert len(failed) == found["planted"]["all"]["n"] + found["names of files"]["all"]["n"]


def test_an_empty_release_has_lost_all_that_must_stay():
    found, failed = judge(DOCUMENTS, [("a.txt", "")] * 60)
    assert (
        found["planted"]["all"]["share"] == found["names of files"]["all"]["share"] == 1
        and found["kept"]["kept"]["share"] == 0
    )
    assert {one["kind"] for one in failed} == {"kept"}


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
    assert (
        fate("author", "Ina Sorel", "Ina", {}) == PART
        and fate("author", "Ina Sorel", "Ina", {}, ["Ina"]) == GONE
    )


@pytest.mark.parametrize(
    "part",
    [
        "docProps/core.xml",
        "word/comments.xml",
        "word/header1.xml",
        "word/document.xml",
        "word/people.xml",
    ],
)
def test_a_name_is_found_in_every_part_of_a_docx(tmp_path, part):
    body = '<w:p><w:r><w:t>So</w:t></w:r><w:r><w:rPr/><w:t>rel</w:t></w:r></w:p><w:p>x</w:p><a w:author="Odile Prath"/>'
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr(part, f"<x>{body}</x>")
    text = walk.tidy(texts_of(tmp_path / "a.docx"))
    assert count("Sorel", text) == count("Odile Prath", text) == 1


def test_walk_on_six_documents(command, model, tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "read_class", lambda: SIX)
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(walk.CLASS.parents[2]), os.environ.get("PYTHONPATH", "")]),
    )
    ran = command(
        walk.main,
        "--model",
        model,
        "--out",
        tmp_path / "walk.json",
        "--failures",
        tmp_path / "failed.json",
    )
    assert ran.exit_code == 0, ran.output
    written = (tmp_path / "walk.json").read_text("utf8")
    report, failed = json.loads(written), json.loads((tmp_path / "failed.json").read_text("utf8"))
    assert (
        report["walk"]["documents"] == report["walk"]["released"] == 6
        and report["walk"]["files_beside"] == 0
    )
    rows, planted = (
        report["found"]["planted"],
        {string for doc in SIX for _, string in doc["planted"]},
    )
    assert (
        rows["all"]["n"] == sum(len(doc["planted"]) for doc in SIX)
        and 0 < rows["all"][GONE] < rows["all"]["n"]
    )
    assert {one["string"] for one in failed if one["table"] == "planted"} >= {
        "Vandermark",
        "Dunmore Falls",
        "Gordon",
    }
    assert not any(string in written for string in planted if len(string) > 4)


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_bytes(command, model, tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "read_class", lambda: SIX)
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(walk.CLASS.parents[2]), os.environ.get("PYTHONPATH", "")]),
    )
    ran = command(walk.main, "--model", model, "--kill", "1", "--out", tmp_path / "kill.json")
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "kill.json").read_text("utf8"))["kill"]
    assert found["killed"] == found["same_bytes"] == 1 and found["files"] == 6
