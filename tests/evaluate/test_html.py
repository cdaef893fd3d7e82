"""The page: complete in itself, every number in it, no text unless asked for."""

import json
import re
from pathlib import Path

import pytest
import typer
from invented import CASES
from typer.testing import CliRunner

from pii_components.cli.evaluate import read_metrics, report
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, file_sha256, read_gold
from pii_components.evaluate.html import (
    BANNER,
    build_page,
    error_windows,
    estimate,
    flat,
    kind_of_error,
)
from pii_components.evaluate.systems import Run, write_run
from pii_components.release.report import number, share
from tests.page import Page

ALL = CASES["metrics_files"]


@pytest.fixture(scope="module")
def page() -> str:
    return build_page(ALL)


def test_the_page_is_whole_and_needs_nothing_else(page):
    found = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    assert not [tag for tag in ("script", "link", "img", "iframe", "object") if f"<{tag}" in page]
    for tag, name, value in found.attributes:
        assert name not in ("src", "srcset", "data", "action") and not name.startswith("on"), (
            tag,
            name,
        )
        assert name != "href" or (value[0] == "#" and value[1:] in found.ids)
    assert not re.search(
        r"(https?:)?//|url\(|@import", page.split("</style>")[0].removeprefix("<!DOCTYPE html>")
    )
    assert "http" not in found.text
    assert len(found.ids) == len(set(found.ids))


def test_tables_can_be_followed_by_a_screen_reader(page):
    found = Page(page)
    n = page.count("<table>")
    assert n == page.count("<caption>") > 8
    assert {value for tag, name, value in found.attributes if tag == "th" and name == "scope"} == {
        "col",
        "row",
    }
    assert (
        len(re.findall(r'<svg role="img" aria-label="[^"]+"', page)) == page.count("<figure>") > 3
    )
    assert ("html", "lang", "en") in found.attributes


def test_every_number_is_shown(page):
    text = Page(page).text
    missing = [
        (path, value)
        for name, part in ALL.items()
        for path, value in flat(part)
        if str(value) not in text
    ]
    assert not missing


@pytest.mark.parametrize(("section", "numbers"), CASES["sections"])
def test_sections_hold_their_numbers(page, section, numbers):
    part = page.split(f'<section id="{section}"')[1].split("</section>")[0]
    text = Page(f"<section{part}</section>").text
    assert not [shown for shown in numbers if shown not in text]


def test_text_is_escaped(page):
    assert "presidio_&lt;wide&gt;" in page
    assert "<wide>" not in page
    hostile = build_page(
        {'<script>"x"': {"systems": {}, "views": {}, "note": "</table><script>alert(1)</script>"}},
        title="<b>",
    )
    assert "<script" not in hostile and "<b>" not in hostile
    Page(hostile)


def test_what_is_missing_is_said():
    page = Page(build_page({"x.json": {"a": 1}}))
    for part in (
        "results",
        "labels",
        "recall by culture and gender",
        "perturbations",
        "speed",
        "release risk",
    ):
        assert f"Left out: no {part} in the metrics files given." in page.text


@pytest.mark.parametrize("odd", CASES["odd_files"])
def test_odd_files_do_not_break_the_page(odd):
    Page(build_page({"odd.json": odd}))


def test_numbers():
    values = (None, 0.5, 1.0, 3, 12345, 0.00001234, True, "x")
    assert [number(v) for v in values] == [
        "–",
        "0.5",
        "1",
        "3",
        "12\u202f345",
        "1.234e-05",
        "True",
        "x",
    ]
    assert estimate({"a": 0.5, "a_95": [0.25, 1]}, "a") == {"value": 0.5, "low": 0.25, "high": 1}
    assert estimate({}, "a") is None and estimate(None, "a") is None
    assert [share(value) for value in (-1, 0.25, 1.4)] == ["0.00%", "25.00%", "100.00%"]


# --- windows around errors


@pytest.fixture
def stored(tmp_path: Path, gold_file: Path) -> Path:
    """One entity is found, one with a wrong edge, one is missed, and a cited author is taken for a student."""
    documents = read_gold(gold_file)
    (first, mail), cited = documents[0].entities, documents[3]
    found = (
        first,
        Entity(first.document, mail.start, mail.end - 3, mail.label),
        Entity(cited.id, 0, 5, "NAME_STUDENT"),
    )
    path = tmp_path / "stored.jsonl"
    write_run(
        Run("ours", {}, found, frozenset(), 1.0, 1.0, 10), path, data_sha256=file_sha256(gold_file)
    )
    return path


def test_windows_show_errors_only(gold_file):
    documents = read_gold(gold_file)
    first, mail = documents[0].entities
    windows = error_windows(
        documents, [first, Entity(documents[3].id, 0, 5, "NAME_STUDENT")], width=9
    )
    assert [(w.kind, w.before, w.text, w.after) for w in windows] == [
        ("missed", "wrote to ", "dana@uni.example", " today"),
        ("missed", "is is by ", "Oskar Tamm", ""),
        ("spurious", "", "Smith", " argues t"),
    ]
    assert "Oskar" not in repr(windows)


@pytest.mark.parametrize(("kind", "found"), [(kind, found) for kind, *found in CASES["errors"]])
def test_kinds_of_errors(kind, found):
    gold = Entity("1", 9, 24, "NAME_STUDENT")
    parts = [Entity("1", *part, *("NAME_STUDENT",)[len(part) - 2 :]) for part in found]
    assert kind_of_error(gold, parts) == kind_of_error(gold, parts[::-1]) == kind


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(report)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def metrics(tmp_path: Path) -> list[Path]:
    for name, part in ALL.items():
        (tmp_path / name).write_text(json.dumps(part), encoding="utf8")
    return [tmp_path / name for name in ALL]


def test_the_command_writes_a_page_and_metrics(command, metrics, tmp_path):
    out = tmp_path / "out" / "report.html"
    result = command(*metrics, "--out", out)
    assert result.exit_code == 0, result.output
    Page(out.read_text(encoding="utf8"))
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["files"] == ALL
    again = command(tmp_path / "out" / "metrics.json", "--out", tmp_path / "again" / "report.html")
    assert again.exit_code == 0
    assert (tmp_path / "again" / "report.html").read_text() == out.read_text()


def test_no_text_without_asking(command, metrics, gold_file, stored, tmp_path):
    out = tmp_path / "out" / "report.html"
    options = ["--gold", gold_file, "--stored", stored, "--out", out]
    assert command(*metrics, *options).exit_code == 0
    page = out.read_text()
    assert "Oskar" not in page and BANNER not in page
    assert command(*metrics, *options, "--with-text").exit_code == 0
    page = out.read_text()
    assert BANNER in page and "<mark>Oskar Tamm</mark>" in page
    assert page.index(BANNER) < page.index("<h1>")
    assert "Oskar" not in (tmp_path / "out" / "metrics.json").read_text()


def test_what_is_refused_writes_nothing(command, metrics, tmp_path):
    assert (
        command(*metrics, "--with-text", "--out", tmp_path / "o" / "r.html").exit_code == 2
    )  # without essays and predictions
    assert not (tmp_path / "o").exists()
    merged = tmp_path / "metrics.json"
    merged.write_text(json.dumps(ALL["paper.json"]))
    assert (
        command(merged, "--out", tmp_path / "report.html").exit_code == 2
    )  # what is read is not written over
    assert json.loads(merged.read_text()) == ALL["paper.json"]


@pytest.mark.parametrize(
    "content",
    [
        *("", "[1]", "{}", '{"format": 1, "files": {}}', "7"),
        '{"id": "a", "text": "By Oskar Tamm", "spans": []}',
        '{"format": 1, "files": {"x": {"document": "a", "start_char": 3}}}',
    ],
)
def test_other_files_are_a_coded_error(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(PiiError, match=r"\[E775\].*x\.json"):
        read_metrics([path])


def test_files_of_one_name_are_both_read(tmp_path):
    (tmp_path / "m.json").write_text('{"a": 1}')
    assert list(read_metrics([tmp_path / "m.json", tmp_path / "." / "m.json"])) == [
        "m.json",
        "m.json (2)",
    ]
