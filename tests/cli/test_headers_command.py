"""`headers=remove`: what is removed, where the steward finds it, and that nothing of it is released. Everybody is invented."""

import csv
import json

import pytest

from pii_components.errors import PiiError
from pii_components.files.record import Record
from pii_components.release.engine import load_engine
from pii_components.release.review import Review
from pii_components.release.scale import WorkerConfig, results
from tests.cli.conftest import KEY, put, report
from tests.files.made_docx import part, plain_docx, repack, run

HEADER = ("Ina Sorel", "Prof. Odile Prath", "Design Studio 210")
BODY = "The map of my week\n\nI drew a map of my week, and Buzan says that a map helps everyone who draws one.\n"
TEXT = "\n".join((*HEADER, "", BODY))
REMOVE = "--config headers=remove --config headers_out=h.csv --config ids=keep"


def header_rows(path) -> list[tuple[str, str]]:
    with open(path, encoding="utf8", newline="") as file:
        return [(row["document"], row["header"]) for row in csv.DictReader(file)]


def test_headers_go_to_the_steward_alone(folder, pii_edu):
    put(folder / "in/a.txt", TEXT)
    put(folder / "in/b.docx", plain_docx(*TEXT.split("\n")))
    put(folder / "in/c.txt", BODY)
    put(folder / "in/d.txt", "=Ina Sorel\n" + TEXT)
    run = pii_edu(f"deidentify in --out out {REMOVE}")
    assert run.exit_code == 0, run.output
    assert (folder / "out/a.txt").read_text("utf8") == BODY
    assert (folder / "out/b.docx.txt").read_text("utf8") == BODY.strip()
    *rows, (name, formula) = header_rows("h.csv")
    assert rows == [(name, "\n".join(HEADER)) for name in ("a.txt", "b.docx")]
    assert name == "d.txt" and formula.startswith("'=Ina Sorel")  # no cell runs in a spreadsheet
    assert "'h.csv' holds the headers as they were" in run.stderr
    found = report(folder / "out/report.json")
    assert found["headers"] == "remove" and found["headers_removed"] == {"count": 3, "documents": 3}
    assert not any(word in json.dumps(found) + run.output for word in ("Sorel", "Prath", "Studio"))


def test_the_option_overrules_the_profile(folder, pii_edu):
    put(folder / "a.txt", TEXT)
    for n, (options, kept) in enumerate(
        [
            ("", True),
            ("--config headers=remove", False),
            ("--profile ets", False),
            ("--profile ets --config headers=keep", True),
        ]
    ):
        assert pii_edu(f"deidentify a.txt --out {n}.txt {options}").exit_code == 0
        assert ("Design Studio" in (folder / f"{n}.txt").read_text("utf8")) == kept
    run = pii_edu("deidentify - --config headers=remove", stdin=TEXT)
    assert b"Design Studio" not in run.stdout_bytes


def test_workers_remove_the_same(model):
    engine = load_engine(model, key=KEY.encode(), headers="remove")
    batch = [Record(1, "1", TEXT)]
    [here] = engine.results(batch)
    [there] = results(WorkerConfig.of(engine, model, KEY.encode()), batch)
    assert there == here and [TEXT[a:b] for a, b in there.headers] == [TEXT[: TEXT.index(BODY)]]


def lines_of(review) -> list[tuple[str, str]]:
    document = review.document(1)
    return [
        (document["text"][item["start"] : item["end"]], item["state"])
        for item in document["items"]
        if item["label"] == "HEADER"
    ]


def test_a_removed_line_is_reviewed_and_may_stay(folder, pii_edu):
    put(folder / "a.txt", TEXT)
    line = "deidentify a.txt --config headers=remove --overwrite"
    assert pii_edu(f"{line} --out b.txt --review-dir review").exit_code == 0
    run = folder / "review/review.jsonl"
    assert not any(word in run.read_text() for word in ("Sorel", "Prath", "Studio"))
    review = Review.open(run)
    assert lines_of(review) == [(text, "found") for text in HEADER]
    assert all(item["action"] == "remove" for item in review.document(1)["items"][:3])
    assert review.document(1)["missed"] == 0

    name, course = (
        (TEXT.index(value), TEXT.index(value) + len(value)) for value in (HEADER[0], HEADER[2])
    )
    review.decide([(1, *name)], "reject")
    review.decide([(1, *course)], "reject")
    found = [(item["label"], item["state"]) for item in review.document(1)["items"][:3]]
    assert found == [("NAME_STUDENT", "found"), ("HEADER", "found"), ("HEADER", "rejected")]
    again = f"{line} --out c.txt --decisions review"
    released = pii_edu(again)
    assert released.exit_code == 0, released.output
    first, *rest = (folder / "c.txt").read_text("utf8").split("\n")
    assert first and first not in HEADER and rest == ["Design Studio 210", "", *BODY.split("\n")]

    review.undo(1)
    assert lines_of(review) == [(HEADER[1], "found"), (HEADER[2], "found")]
    title = TEXT.index("The map")
    review.decide([(1, title + 4, title + 7)], "add", "HEADER")
    assert lines_of(review)[-1] == ("The map of my week", "add")
    with pytest.raises(PiiError, match="reject that first"):
        review.decide([(1, *course)], "relabel", "NAME_STUDENT")
    assert pii_edu(again).exit_code == 0
    assert (folder / "c.txt").read_text("utf8") == first + "\n\n" + BODY.partition("\n\n")[2]
    assert review.mark(1, True) == 0
    assert "HEADER" not in [span[2] for span in next(review.gold()).spans]
    review.close()


def test_cells_and_comments_of_documents_stay(folder, pii_edu):
    table = "".join(f"<w:tr><w:tc><w:p>{run(cell)}</w:p></w:tc></w:tr>" for cell in HEADER)
    body = "".join(f"<w:p>{run(line)}</w:p>" for line in BODY.split("\n"))
    shown = part("document").replace("></w:", f"><w:body><w:tbl>{table}</w:tbl>{body}</w:body></w:")
    comments = part("comments", *map(run, (HEADER[0], HEADER[2])))
    put(folder / "in/a.docx", repack(plain_docx(), document=shown, comments=comments))
    put(folder / "in/b.csv", 'grade,essay\n7,"' + TEXT + '"\n')
    put(folder / "in/c.json", json.dumps({"essay": TEXT}))
    put(folder / "in/d.docx", repack(plain_docx(*TEXT.split("\n")), comments=comments))
    assert pii_edu(f"deidentify in --out out {REMOVE}").exit_code == 0
    assert header_rows("h.csv") == [("d.docx", "\n".join(HEADER))]
    for name, times in (("a.docx.txt", 2), ("b.csv", 1), ("c.json.txt", 1), ("d.docx.txt", 1)):
        text = (folder / "out" / name).read_text("utf8")
        assert text.count("Design Studio 210") == times and "Sorel" not in text
