"""The page: complete in itself, every number in it, no text unless asked for."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pii_components.cli.evaluate import read_metrics, report
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, file_sha256, read_gold
from pii_components.evaluate.html import BANNER, build_page, error_windows, estimate, flat, kind_of_error
from pii_components.evaluate.systems import Run, write_run
from pii_components.release.audit import number, share

VOID = {"meta", "line", "rect", "br", "hr"}


def scored(value: float, **counts: int) -> dict:
    names = ("precision", "recall", "f1", "f5")
    return counts | {n: value for n in names} | {f"{n}_95": [round(value - 0.0311, 4), round(value + 0.0222, 4)] for n in names}


def view(value: float) -> dict:
    bag = scored(value, support=97, tp=83, fp=41, fn=14)
    cover = {"documents_with_pii": 52, "incompletely_covered": 7, "clean_documents": 288, "clean_touched": 33}
    labels = {"EMAIL": {"bag": scored(0.7531, support=5, tp=4, fp=0, fn=1)}, "USERNAME": {"bag": {"support": 0, "tp": 0, "fp": 2, "fn": 0}}}
    return {"bag": bag, "position": bag, "tokens": bag, "coverage": cover, "per_label": labels}


def time(n: float) -> dict:
    return {"seconds": n, "words_per_second": 1838.2, "cpu_seconds": 199.8, "words_per_cpu_second": 1016.7, "stored": False}


COMPARISON = {
    "data": {"file": "essays.jsonl", "documents": 340},
    "profile": "crapii",
    "views": {"all": ["EMAIL", "USERNAME"]},
    "systems": {
        "ours": {"about": {"components": ["pii_ner"]}, "time": time(110.5), "views": {"all": view(0.8849)}},
        "presidio_<wide>": {"about": {"model": "md"}, "time": time(98.2), "views": {"all": view(0.6417)}},
    },
    "differences": {"ours - presidio_<wide>": {"all": {"bag": {"f5": 0.1949, "f5_95": [0.0712, 0.3333]}}}},
    "speed_ratio": {"ours / presidio_<wide>": {"words_per_second": 0.89}},
}
ROBUSTNESS = {
    "perturbations": {
        "lower case": {"class": "case", "support": 210, "recall": 0.9119, "recall_95": [0.8801, 0.9402]},
        "zero width": {"class": "script", "support": 0},
    },
    "classes": {"case": {"support": 210, "recall": 0.9119}},
}
GROUPS = {
    "fairness": {
        "source": "names-dataset",
        "rows": [
            {"category": "gender", "group": "female", "system": "ours", "total": 301, "hits": 290, "recall": 0.9635, "p": 0.043,
             "significance": "*"},
            {"category": "culture", "group": "Asia", "system": "ours", "total": 117, "hits": 101, "recall": 0.8632},
        ],
    }
}  # fmt: skip
RELEASE = {
    "release": {
        "documents": 61, "surrogates": 353, "leaks": 18, "leaks_known_from": "gold",
        "attacks": {"reader": {"leaks": 18, "suspects": 24, "found": 5, "precision": 0.2083, "precision_95": [0.1, 0.3],
                               "recall": 0.2778, "chance_precision": 0.0485, "p_value": 0.0021}},
        "arithmetic": {"miss_rate": 0.0486, "keep": 0.5, "miss_rate_from": "the release", "values": 312,
                       "by_repetition": [{"n": 2, "values": 24, "consistent": 0.0948, "apart": 0.0925, "random": 0.0024, "markov": 0.0024}],
                       "share_of_values": {"consistent": 0.0613}, "observed": {"values_in_part_in_clear": 3}},
    }
}  # fmt: skip
MALE = {"category": "gender", "group": "male", "total": 77, "hits": 70, "recall": 0.9091}
NAMES = {"systems": {"ours": {"names": {"source": "table", "rows": [MALE]}}}}
SCALING = {
    "repeats": 3,
    "systems": {
        "ours": {
            "load_seconds": 4.321,
            "by_length": {"1000": {"words_per_second": 987.6, "words_per_second_range": [950.1, 1001.2], "seconds": 0.55}},
            "by_corpus_size": {"100": {"words_per_second": 1234.5}},
        }
    },
    "ratios": {"ours / md": {"load_seconds": 1.77}},
}
AZURE = {"system": "azure", "label": "Overall", "tp": 1717, "fp": 1201, "fn": 122, "precision": 0.588413, "recall": 0.9337}
PAPER = {"table7": {"rows": [AZURE]}}
ALL = {
    "compare.json": COMPARISON, "robustness.json": ROBUSTNESS, "groups.json": GROUPS, "release.json": RELEASE, "paper.json": PAPER,
    "names.json": NAMES, "speed.json": SCALING,
}  # fmt: skip


class Page(HTMLParser):
    """Checks that elements are closed in order; keeps attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.shown: list[str] = []
        self.cells: dict[str, int] = {}
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())


@pytest.fixture(scope="module")
def page() -> str:
    return build_page(ALL)


def test_the_page_is_whole_and_needs_nothing_else(page):
    found = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    assert not [tag for tag in ("script", "link", "img", "iframe", "object") if f"<{tag}" in page]
    for tag, name, value in found.attributes:
        assert name not in ("src", "srcset", "data", "action") and not name.startswith("on"), (tag, name)
        assert name != "href" or (value[0] == "#" and value[1:] in found.ids)
    assert not re.search(r"(https?:)?//|url\(|@import", page.split("</style>")[0].removeprefix("<!DOCTYPE html>"))
    assert "http" not in found.text
    assert len(found.ids) == len(set(found.ids))


def test_tables_can_be_followed_by_a_screen_reader(page):
    found = Page(page)
    n = page.count("<table>")
    assert n == page.count("<caption>") > 8
    assert {value for tag, name, value in found.attributes if tag == "th" and name == "scope"} == {"col", "row"}
    assert len(re.findall(r'<svg role="img" aria-label="[^"]+"', page)) == page.count("<figure>") > 3
    assert ("html", "lang", "en") in found.attributes


def test_every_number_is_shown(page):
    text = Page(page).text
    missing = [(path, value) for name, part in ALL.items() for path, value in flat(part) if str(value) not in text]
    assert not missing


@pytest.mark.parametrize(
    ("section", "numbers"),
    [
        ("results", ["0.8849", "0.6417", "0.8538 to 0.9071", "7 of 52", "33 of 288", "+0.1949", "1717", "0.5884", "(peer)", "(published)"]),
        ("labels", ["EMAIL", "0.7531", "USERNAME", "–"]),
        ("groups", ["female", "0.9635", "Asia", "0.8632", "0.043", "male", "0.9091"]),
        ("robustness", ["lower case", "0.9119", "0.8801 to 0.9402", "zero width"]),
        ("speed", ["1838.2", "110.5", "0.89", "987.6", "950.1 to 1001.2", "1234.5", "4.321", "1.77"]),
        ("release", ["0.2083", "0.0485", "0.0021", "0.0948", "0.0613", "353"]),
    ],
)
def test_sections_hold_their_numbers(page, section, numbers):
    part = page.split(f'<section id="{section}"')[1].split("</section>")[0]
    text = Page(f"<section{part}</section>").text
    assert not [shown for shown in numbers if shown not in text]


def test_text_is_escaped(page):
    assert "presidio_&lt;wide&gt;" in page
    assert "<wide>" not in page
    hostile = build_page({'<script>"x"': {"systems": {}, "views": {}, "note": "</table><script>alert(1)</script>"}}, title="<b>")
    assert "<script" not in hostile and "<b>" not in hostile
    Page(hostile)


def test_what_is_missing_is_said():
    page = Page(build_page({"x.json": {"a": 1}}))
    for part in ("results", "labels", "recall by culture and gender", "perturbations", "speed", "release risk"):
        assert f"Left out: no {part} in the metrics files given." in page.text


@pytest.mark.parametrize(
    "odd",
    [
        {"systems": {"x": {}}, "views": {"all": []}},
        {"systems": {"x": {"views": {}}}, "views": {"all": ["EMAIL"]}},
        {"perturbations": {"a": {}, "b": {"recall": None}, "c": 3}},
        {"release": {}},
        {"table7": {"rows": []}, "rows": [{"category": "x", "group": "y", "recall": None}]},
        {"release": {"attacks": {"reader": {}}, "arithmetic": {"by_repetition": [{}]}}},
    ],
)
def test_odd_files_do_not_break_the_page(odd):
    Page(build_page({"odd.json": odd}))


def test_numbers():
    values = (None, 0.5, 1.0, 3, 12345, 0.00001234, True, "x")
    assert [number(v) for v in values] == ["–", "0.5", "1", "3", "12\u202f345", "1.234e-05", "True", "x"]
    assert estimate({"a": 0.5, "a_95": [0.25, 1]}, "a") == {"value": 0.5, "low": 0.25, "high": 1}
    assert estimate({}, "a") is None and estimate(None, "a") is None
    assert [share(value) for value in (-1, 0.25, 1.4)] == ["0.00%", "25.00%", "100.00%"]


# --- windows around errors


@pytest.fixture
def stored(tmp_path: Path, gold_file: Path) -> Path:
    """One entity is found, one with a wrong edge, one is missed, and a cited author is taken for a student."""
    documents = read_gold(gold_file)
    first, mail = documents[0].entities
    cited = documents[3]
    found = (first, Entity(first.document, mail.start, mail.end - 3, mail.label), Entity(cited.id, 0, 5, "NAME_STUDENT"))
    path = tmp_path / "stored.jsonl"
    write_run(Run("ours", {}, found, frozenset(), 1.0, 1.0, 10), path, data_sha256=file_sha256(gold_file))
    return path


def test_windows_show_errors_only(gold_file):
    documents = read_gold(gold_file)
    first, mail = documents[0].entities
    windows = error_windows(documents, [first, Entity(documents[3].id, 0, 5, "NAME_STUDENT")], width=9)
    assert [(w.kind, w.before, w.text, w.after) for w in windows] == [
        ("missed", "wrote to ", "dana@uni.example", " today"),
        ("missed", "is is by ", "Oskar Tamm", ""),
        ("spurious", "", "Smith", " argues t"),
    ]
    assert "Oskar" not in repr(windows)


GOLD = Entity("1", 9, 24, "NAME_STUDENT")
KINDS = {
    "": [(9, 24)],
    "missed": [(28, 33)],
    "too long": [(6, 24)],
    "too short": [(9, 19)],
    "shifted": [(6, 13)],
    "wrong role": [(9, 24, "NAME_CITED")],
    "wrong label": [(9, 24, "EMAIL")],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_errors(kind):
    assert kind_of_error(GOLD, [Entity("1", *found, *("NAME_STUDENT",)[len(found) - 2 :]) for found in KINDS[kind]]) == kind


@pytest.mark.parametrize("found", [[(9, 24, "NAME_CITED"), (9, 13, "NAME_STUDENT")], [(9, 13, "NAME_STUDENT"), (14, 24, "NAME_STUDENT")]])
def test_the_longest_prediction_of_the_right_label_decides(found):
    parts = [Entity("1", *part) for part in found]
    assert kind_of_error(GOLD, parts) == kind_of_error(GOLD, parts[::-1]) == "too short"


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(report)
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def metrics(tmp_path: Path) -> list[Path]:
    paths = []
    for name, part in ALL.items():
        paths.append(tmp_path / name)
        paths[-1].write_text(json.dumps(part), encoding="utf8")
    return paths


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


def test_with_text_needs_essays_and_predictions(command, metrics, tmp_path):
    result = command(*metrics, "--with-text", "--out", tmp_path / "o" / "r.html")
    assert result.exit_code == 2 and not (tmp_path / "o").exists()


def test_what_is_read_is_not_written_over(command, metrics, tmp_path):
    merged = tmp_path / "metrics.json"
    merged.write_text(json.dumps(PAPER))
    assert command(merged, "--out", tmp_path / "report.html").exit_code == 2
    assert json.loads(merged.read_text()) == PAPER


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
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.json").write_text('{"a": 1}')
    assert list(read_metrics([tmp_path / "a" / "m.json", tmp_path / "b" / "m.json"])) == ["m.json", "m.json (2)"]
