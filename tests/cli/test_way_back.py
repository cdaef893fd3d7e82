"""What `deidentify --vault` releases comes back: every kind of file, under every profile. All texts are invented."""

import csv
import io
import json
import zipfile
from contextlib import closing

import pytest

from pii_components.files.record import Record
from pii_components.files.sources import open_source
from scripts.common import make_pdf
from tests.cli.conftest import put, report, texts_of
from tests.files.made_docx import plain_docx
from tests.files.test_documents import odt, xlsx

PROFILES = ("crapii", "crapii_strict", "ferpa_strict", "ets", "tags_only", "kaggle")
LONG = "The ferry of the town is late on most days, and we wrote about what we saw there"
# Running heads, equal surrogates, and words that are surrogates, tags or pseudonyms themselves.
PAPER = f"""Ina Sorel
Professor Odile Prath
English 101
12 May 2019

The Summer: A Story

{LONG}: Ina Sorel, 20418837, says so, and [NAME_STUDENT] and Sam Doe say so too.

Sorel 2

{LONG}. Write to ina.sorel@example.edu and to [EMAIL], says Buzan. Ina's hat is Ina's.

Sorel 3

{LONG}. Jörn Übel and Ina agree: an Ina is an Ina.
"""
LETTER = "Dear Odile Prath,\n\nI am Ina Sorel. Here is a map.\n"
EQUAL = ("I am Ina Sorel.", "I am Jörn Übel.", "I am Ina.")
ROWS = [["nr", "who", "essay"], ["1", "Ina Sorel", PAPER], ["2", "", LETTER]]
ROWS += [[str(n), "Jörn Übel", text] for n, text in enumerate(EQUAL, 3)]


def table(rows, delimiter=","):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def objects(rows):
    return [json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]]


def lines(text, form):
    return "".join(form.format(line) for line in text.splitlines())


DOCUMENTS = {
    "txt": lambda text: text,
    "md": lambda text: text.encode("utf-8-sig"),
    "docx": lambda text: plain_docx(*text.splitlines()),
    "pdf": lambda text: make_pdf(*text.replace("ö", "o").replace("Ü", "U").splitlines()),
    "html": lambda text: lines(text, "<p>{}</p>"),
    "odt": lambda text: odt(lines(text, "<t:p>{}</t:p>")),
    "rtf": lambda text: r"{\rtf1\ansi " + lines(text, "{}\\par ").replace("ö", r"\'f6") + "}",
    "eml": lambda text: f"From: ina.sorel@example.edu\nSubject: Essay\n\n{text}",
    "ipynb": lambda text: json.dumps({"cells": [{"source": text}]}),
    "json": lambda text: json.dumps({"author": "Ina Sorel", "text": text}),
}
TABLES = {
    "csv": table,
    "tsv": lambda rows: table(rows, "\t"),
    "xlsx": lambda rows: xlsx(rows),
    "jsonl": lambda rows: "\n".join(objects(rows)),
}
COLUMNS = "--text-column who --text-column essay"


def texts(path):
    """The texts that are read."""
    how = {} if path.suffix in ("", ".zip", ".txt") else {"text_field": "who", "more": ["essay"]}
    with closing(open_source(path, **how)) as source:
        return [item.text if isinstance(item, Record) else item.code for item in source]


def course():
    """YIELDS (tuple): Names and contents of files of every kind; the head of a table names somebody."""
    for kind, make in DOCUMENTS.items():
        for n, text in enumerate((PAPER, LETTER, *EQUAL)):
            yield f"week {n}/paper.{kind}", make(text)
    for kind, make in TABLES.items():
        yield f"tables/posts.{kind}", make([["nr", "Ina Sorel", "essay"], *ROWS[1:]])


@pytest.mark.parametrize("profile", PROFILES)
def test_all_of_a_folder_comes_back(folder, pii_edu, profile):
    for name, content in course():
        put(folder / "in" / name, content)
    out = "clean.zip" if profile == "ets" else "clean"
    run = pii_edu(f"deidentify in --out {out} --vault v --profile {profile}")
    assert run.exit_code == 0, run.output
    released = texts(folder / out)
    assert not any("Ina Sorel" in text for text in released)
    assert profile != "ets" or any("English" not in text for text in released)
    assert sum(f"{LONG}: " in text for text in released) == len(DOCUMENTS) + len(TABLES)
    run = pii_edu(f"reidentify {out} --vault v --out back")
    assert run.exit_code == 0, run.output
    assert texts(folder / "back") == texts(folder / "in")


@pytest.mark.parametrize("kind", [*DOCUMENTS, *TABLES])
def test_every_kind_alone_comes_back(folder, pii_edu, kind):
    """Under the profile that removes headers; of a table from two columns."""
    is_table, out = kind in TABLES or kind == "json", kind if kind in TABLES else "txt"
    rows = f"[{','.join(objects(ROWS))}]"
    content = rows if kind == "json" else (TABLES.get(kind) or DOCUMENTS[kind])
    put(folder / f"in.{kind}", content if kind == "json" else content(ROWS if is_table else PAPER))
    out = {"xlsx": "csv", "json": "json"}.get(kind, out)
    columns = COLUMNS if is_table else ""
    run = pii_edu(f"deidentify in.{kind} --out o.{out} --vault v --profile ets {columns}")
    assert run.exit_code == 0, run.output
    # Lines that are paragraphs of their own stay, and what is personal in them is replaced.
    assert report(folder / "report.json")["headers_removed"]["documents"] == (kind != "html")
    run = pii_edu(f"reidentify o.{out} --vault v --out back.{out} {columns}")
    assert run.exit_code == 0, run.output
    assert texts(folder / f"back.{out}") == texts(folder / f"in.{kind}")


def test_no_cell_loses_what_stands_before_a_colon(folder, pii_edu):
    put(folder / "in/posts.csv", table(ROWS))
    assert pii_edu("deidentify in --out clean --profile ets").exit_code == 0
    with open(folder / "clean/posts.csv", encoding="utf-8", newline="") as file:
        essay = list(csv.reader(file))[1][2]
    assert "\nThe Summer: A Story\n" in essay and "Ina Sorel" not in essay


def test_equal_texts_without_ids_come_back_in_their_order(folder, pii_edu):
    """Of four equal texts the first was no record; one that is gone afterwards leaves it open whose the others are."""
    essays = ["I am Ina Sorel.", "I am Jörn Übel.", "I am Odile Prath.", "I am Ina Sorel."]
    put(
        folder / "in.jsonl",
        'broken\n{"text": "fine"}\n' + "".join(f'{{"text": "{e}"}}\n' for e in essays),
    )
    put(
        folder / "p.toml",
        'name = "p"\nactions = {NAME_STUDENT = "remove", NAME_INSTRUCTOR = "remove"}',
    )
    run = pii_edu("deidentify in.jsonl --out o.jsonl --vault v --profile p.toml")
    assert run.exit_code == 1, run.output
    rows = (folder / "o.jsonl").read_text().splitlines()
    assert len(set(rows)) == 2
    assert pii_edu("reidentify o.jsonl --vault v --out back.jsonl").exit_code == 0
    assert texts_of(folder / "back.jsonl") == ["fine", *essays]
    put(folder / "o.jsonl", "\n".join(rows[:-1]))
    run = pii_edu("reidentify o.jsonl --vault v --out less.jsonl")
    assert run.exit_code == 2 and "[E460]" in run.output and not (folder / "less.jsonl").exists()


def test_files_with_equal_texts_share_a_vault(folder, pii_edu):
    for n, text in enumerate(EQUAL):
        put(folder / f"in{n}.txt", text)
        run = pii_edu(
            f"deidentify in{n}.txt --out o{n}.txt --vault v --profile tags_only --overwrite"
        )
        assert run.exit_code == 0, run.output
    for n, text in enumerate(EQUAL):
        assert pii_edu(f"reidentify o{n}.txt --vault v --out back{n}.txt").exit_code == 0
        assert (folder / f"back{n}.txt").read_text() == text


def test_files_that_were_renamed_get_no_original_of_another(folder, pii_edu):
    for name, text in zip("abc", EQUAL, strict=True):
        put(folder / f"in/{name}.txt", text)
    assert pii_edu("deidentify in --out clean --vault v --profile tags_only").exit_code == 0
    assert len(set(texts(folder / "clean"))) == 1
    assert pii_edu("reidentify clean --vault v --out back").exit_code == 0
    assert texts(folder / "back") == texts(folder / "in")
    (folder / "clean/a.txt").rename(folder / "clean/d.txt")
    run = pii_edu("reidentify clean --vault v --out again")
    assert run.exit_code == 2 and "[E460]" in run.output and not (folder / "again").exists()


def test_threads_and_ids_come_back(folder, pii_edu):
    rows = [["id", "thread", "essay"], *([f"Ina Sorel {n}", str(n % 2), LETTER] for n in range(4))]
    put(folder / "in.csv", table(rows))
    options = "--id-column id --config ids=pseudonym --config scope=thread --config thread=thread"
    run = pii_edu(f"deidentify in.csv --out o.csv --vault v --text-column essay {options}")
    assert run.exit_code == 0 and "Sorel" not in (folder / "o.csv").read_text(), run.output
    assert pii_edu("reidentify o.csv --vault v --out b.csv --text-column essay").exit_code == 0
    assert (folder / "b.csv").read_bytes() == (folder / "in.csv").read_bytes()


def test_what_would_not_come_back_is_not_released(folder, pii_edu):
    """A text of which nothing is left, and one that looks like a PDF where it is written."""
    put(folder / "in/fine.txt", LETTER)
    put(folder / "in/gone.txt", "Ina Sorel")
    put(folder / "in/form.md", f"%PDF- {LETTER}")
    put(folder / "p.toml", 'name = "p"\nactions = {NAME_STUDENT = "remove"}')
    run = pii_edu("deidentify in --out clean.zip --vault v --profile p.toml")
    assert run.exit_code == 1 and run.output.count("[E470]") == 2, run.output
    assert zipfile.ZipFile(folder / "clean.zip").namelist() == ["fine.txt"]
    skipped = report(folder / "report.json")["skipped"]["records"]
    assert [row["code"] for row in skipped] == ["E470", "E470"]
    assert pii_edu("reidentify clean.zip --vault v --out back").exit_code == 0
    assert (folder / "back/fine.txt").read_text() == LETTER
