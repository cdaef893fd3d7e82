"""`pii-edu init-train`: forms, splits, labels, what is refused and written; with --slow the whole way to a package, and spaCy's tools on it."""

import json
import re
import stat
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from pii_components import __version__
from pii_components.files.formats.tokens import blank_pipeline
from pii_components.labels import NAME_LABELS
from pii_components.release.review import Review
from pii_components.training import project as projects
from pii_components.training.project import annotated_labels, make_plan
from tests.cli.conftest import KEY, files_in, put, put_rows, put_texts
from tests.fresh import ROOT, fresh
from tests.tiny import WITHOUT_TORCH

SHIPPED = ROOT / f"en_pii_edu/en_pii_edu-{__version__}"
WRITTEN = [
    ".gitignore",
    "README.md",
    "config.cfg",
    "corpus/dev.spacy",
    "corpus/train.spacy",
    "project.yml",
]
MARK = re.compile(r"\[(\w+)\|(.*?)\]")


def essays() -> list[dict]:
    """Ten invented essays with names and courses; `[LABEL|value]` in the file."""
    rows = []
    for part in (ROOT / "tests/data/own_essays.txt").read_text("utf8").split("---\n"):
        writer, _, marked = part.partition("\n")
        text, spans, at = "", [], 0
        for found in MARK.finditer(marked):
            text += marked[at : found.start()]
            spans.append([len(text), len(text) + len(found[2]), found[1]])
            text, at = text + found[2], found.end()
        rows.append({"id": writer, "writer": writer, "text": text + marked[at:], "spans": spans})
    return rows


def shifted(row: dict) -> dict:
    return {**row, "spans": [[start + 1, end + 1, label] for start, end, label in row["spans"]]}


@pytest.fixture
def ten(folder, monkeypatch):
    """The essays as JSON Lines; nothing is measured."""
    monkeypatch.setattr(projects, "estimate", lambda *_: "about a minute")
    return put_rows(folder / "essays.jsonl", essays())


def docs(folder: Path, part: str) -> list:
    found = DocBin().from_disk(folder / "corpus" / f"{part}.spacy")
    return list(found.get_docs(blank_pipeline().vocab))


def spans_of(some: list) -> Counter:
    return Counter(span.label_ for doc in some for span in doc.spans["pii"])


# --- what is read and written


def test_each_label_of_an_export_goes_to_one_side(ten, folder, pii_edu):
    """One of Prodigy; forms are told apart in tests/files."""
    rows = []
    for n, row in enumerate(essays()):
        spans = [{"start": a, "end": b, "label": label} for a, b, label in row["spans"]]
        about = {"answer": "accept", "_task_hash": n, "meta": {"writer": row["writer"]}}
        rows.append({"text": row["text"], "spans": spans, **about})
    put_rows(folder / "in.jsonl", rows)
    run = pii_edu("init-train in.jsonl --out made --label COURSE")
    assert run.exit_code == 0, run.output
    found = {part: docs(folder / "made", part) for part in ("train", "dev")}
    assert (len(found["train"]), len(found["dev"])) == (8, 2)
    wanted = Counter(label for row in essays() for *_, label in row["spans"])
    assert spans_of(found["train"]) + spans_of(found["dev"]) == wanted
    assert files_in(folder / "made") == WRITTEN


def test_reviewed_documents_are_read_from_the_folder_of_the_review(ten, folder, pii_edu):
    put_texts(folder / "in.jsonl", [f"I am Ina Sorel, and I read page {n}." for n in range(6)])
    assert pii_edu("deidentify in.jsonl --out out.jsonl --review-dir review").exit_code == 0
    refused = pii_edu("init-train review --out made")
    assert refused.exit_code == 2 and "[E581]" in refused.stderr
    with closing(Review.open(folder / "review/review.jsonl")) as opened:
        for number in range(1, 6):
            opened.mark(number, True)
    run = pii_edu("init-train review --out made --config similarity=0")
    assert run.exit_code == 0, run.output
    made = docs(folder / "made", "train") + docs(folder / "made", "dev")
    assert spans_of(made) == {"NAME_STUDENT": 5}
    assert {"EMAIL", "NAME_CITED"} < set(made[0].spans["pii"].attrs["annotated"])


def test_what_is_written_is_for_its_owner_and_holds_no_text_but_the_corpus(ten, folder, pii_edu):
    run = pii_edu(
        "init-train essays.jsonl --out made --label COURSE --config student_column=writer"
    )
    assert run.exit_code == 0, run.output
    made = folder / "made"
    assert files_in(made) == WRITTEN and stat.S_IMODE(made.stat().st_mode) == 0o700
    for name in WRITTEN:
        assert stat.S_IMODE((made / name).stat().st_mode) == 0o600
    words = {
        word for row in essays() for a, b, _ in row["spans"] for word in row["text"][a:b].split()
    }
    said = run.output + "".join(
        (made / name).read_text("utf8") for name in WRITTEN if "corpus" not in name
    )
    assert not [word for word in words if len(word) > 3 and word in said]
    config = spacy.util.load_config(made / "config.cfg")
    assert config["initialize"]["before_init"]["labels"] == ["COURSE"]
    assert "transformer" in config["training"]["frozen_components"]
    assert {part["source"] for part in config["components"].values()} == {"en_pii_edu"}
    assert len((made / "README.md").read_text("utf8").splitlines()) <= 10
    assert all(doc.user_data["pii_corpus"].endswith("{}]") for doc in docs(made, "dev"))


def test_nothing_is_written_over(ten, folder, pii_edu):
    line = "init-train essays.jsonl --out made --label COURSE"
    assert pii_edu(line).exit_code == 0
    put(folder / "made/config.cfg", "mine")
    again = pii_edu(line)
    assert again.exit_code == 2 and "[E510]" in again.stderr
    assert (folder / "made/config.cfg").read_text() == "mine"
    assert pii_edu(f"{line} --overwrite --depth encoder").exit_code == 0
    config = spacy.util.load_config(folder / "made/config.cfg")
    assert "transformer" not in config["training"]["frozen_components"]


def test_it_says_what_it_will_do(ten, folder, pii_edu):
    run = pii_edu("init-train essays.jsonl --out made --label COURSE")
    assert "8 documents to train on, 2 to score" in run.stdout
    assert re.search(r"COURSE +│ +2\d │ +8 │", run.stdout), run.stdout
    for said in ("fewer than 20 spans of", "about a minute", "30 epochs", "weasel run all"):
        assert said in run.stderr
    quiet = pii_edu("--quiet init-train essays.jsonl --out other --label COURSE")
    assert quiet.exit_code == 0 and not quiet.output


# --- splits


def test_texts_of_one_writer_stay_on_one_side(ten, folder, pii_edu):
    rows = essays()
    for n, row in enumerate(rows):
        row["writer"] = f"w{n // 2}"
    copy = {**rows[0], "id": "copy", "writer": None}
    put_rows(folder / "pairs.jsonl", [*rows, copy])
    line = "init-train pairs.jsonl --out made --label COURSE --config student_column=writer"
    assert pii_edu(line).exit_code == 0
    sides = [{doc.text for doc in docs(folder / "made", part)} for part in ("train", "dev")]
    assert len(sides[1]) == 2 and not sides[0] & sides[1]
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        assert any({a["text"], b["text"]} <= side for side in sides)


@pytest.mark.parametrize(
    ("change", "options", "code", "said"),
    [
        (lambda rows: rows[:3], "--label COURSE", "E650", "documents with spans"),
        (lambda rows: rows, "", "E002", "--label COURSE"),
        (lambda rows: rows, "--label COURSE --label EMIAL", "E002", "EMAIL (the nearest)"),
        (lambda rows: rows, "--label COURSE --config looked_for=CLUB", "E002", "--label CLUB"),
        (lambda rows: rows, "--label COURSE --depth all", "E519", "heads, encoder"),
        (lambda rows: rows, "--label COURSE --config student_column=who", "E652", "student_column"),
        (
            lambda rows: [{**row, "writer": "one"} for row in rows],
            "--label COURSE --config student_column=writer",
            "E650",
            "one writer",
        ),
        (lambda rows: [*rows, rows[0]], "--label COURSE", "E627", "the same id"),
        (lambda rows: [*map(shifted, rows)], "--label COURSE", "E650", "fit their text"),
        (
            lambda rows: [*rows[:9], {**rows[9], "spans": [[0, 4, "PERSON"]]}],
            "--label COURSE",
            "E002",
            "NAME_STUDENT (the nearest)",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused(change, options, code, said, ten, folder, pii_edu):
    put_rows(ten, change(essays()))
    run = pii_edu(f"init-train essays.jsonl --out made {options}")
    assert run.exit_code == 2 and f"[{code}]" in run.stderr and said in run.stderr, run.stderr
    assert not (folder / "made").exists()


def test_labels_that_do_not_fit_are_told(ten, folder, pii_edu):
    first, *rest = essays()
    put_rows(ten, [{**first, "spans": [shifted(first)["spans"][0], *first["spans"][1:]]}, *rest])
    run = pii_edu("init-train essays.jsonl --out made --label COURSE")
    assert run.exit_code == 0 and "1 labels do not fit their text" in run.stderr
    assert "edge inside a token" in run.stderr


def test_near_duplicates_need_scipy(ten, folder, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.cli.train.find_spec", lambda name: None)
    run = pii_edu("init-train essays.jsonl --out made --label COURSE")
    assert run.exit_code == 0 and "needs scipy" in run.stderr


def test_the_whole_encoder_needs_torch(ten, folder, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.cli.train.find_spec", lambda name: None)
    run = pii_edu("init-train essays.jsonl --out made --label COURSE --depth encoder")
    assert run.exit_code == 2 and "[E005]" in run.stderr and "[train]" in run.stderr


def test_a_record_that_cannot_be_read_is_told(ten, folder, pii_edu):
    put_rows(ten, [*essays(), {"id": "bad", "text": "Ina", "spans": "x"}])
    run = pii_edu("init-train essays.jsonl --out made --label COURSE")
    assert run.exit_code == 1 and "[E624]" in run.stderr
    assert len(docs(folder / "made", "train")) == 8
    strict = pii_edu("init-train essays.jsonl --out other --label COURSE --config strict=true")
    assert strict.exit_code == 2 and not (folder / "other").exists()


# --- what was looked for, and for how long


@pytest.mark.parametrize(
    ("found", "more", "known"),
    [
        (["COURSE", "EMAIL"], (), {"EMAIL": ["EMAIL"], "COURSE": ["COURSE"]}),
        (["NAME_STUDENT"], (), {"NAME_STUDENT": ["NAME_STUDENT", "NAME_CONNECTED"]}),
        (
            ["NAME_STUDENT", "NAME_CONNECTED"],
            (),
            {"NAME_STUDENT": ["NAME_STUDENT"], "NAME_CONNECTED": ["NAME_CONNECTED"]},
        ),
        (["NAME_STUDENT", "NAME_CITED"], (), {label: [label] for label in NAME_LABELS}),
        ([], ["AGE"], {"AGE": ["AGE"]}),
    ],
)
def test_labels_that_occur_were_looked_for(found, more, known):
    assert annotated_labels(found, more) == known


def test_the_corpus_says_what_was_looked_for(ten, folder, pii_edu):
    line = "init-train essays.jsonl --out made --label COURSE --config looked_for=EMAIL"
    assert pii_edu(line).exit_code == 0
    for part in ("train", "dev"):
        for doc in docs(folder / "made", part):
            assert set(doc.spans["pii"].attrs["annotated"]) == {*NAME_LABELS, "EMAIL", "COURSE"}


@pytest.mark.parametrize("depth", ["heads", "encoder"])
@pytest.mark.parametrize("n", [8, 80, 800])
def test_training_has_steps_for_few_and_many_essays(n, depth):
    plan = make_plan([500] * n, depth)
    assert 5 <= plan.epochs <= 30 and 100 < plan.epochs * plan.steps < 4000
    assert plan.evaluate >= plan.steps and plan.patience >= 5 * plan.steps


# --- the whole way, and spaCy's tools

NEW = "Essay by Roderick Vantongeren\n\nIn Economics 305 we compared two markets. I took Marine Biology 12 before."
LOAD = f"""{WITHOUT_TORCH}
import spacy
doc = spacy.load(sys.argv[1])(sys.argv[2])
print([(s.text, s.label_) for s in doc.spans["pii"]])
print(doc._.deidentified)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A project on which `weasel run all` was run; what it printed is in printed.txt."""
    folder = tmp_path_factory.mktemp("own")
    put_rows(folder / "essays.jsonl", essays())
    line = "init-train essays.jsonl --out made --label COURSE --config student_column=writer"
    run(folder, "pii_components.cli", *line.split())
    done = run(folder / "made", "weasel", "run", "all")
    put(folder / "made/printed.txt", done.stdout)
    return folder / "made"


def run(folder, *words, **how):
    return fresh(*words, cwd=folder, PII_EDU_KEY=KEY, **{"how": "-m", **how})


@pytest.mark.slow
def test_ten_essays_become_a_package_that_finds_courses_without_torch(trained):
    printed = (trained / "printed.txt").read_text()
    packaged = trained / "packages/en_pii_own-0.1.0/en_pii_own/en_pii_own-0.1.0"
    assert f'spacy.load("{packaged.relative_to(trained)}")' in printed
    metrics = json.loads((trained / "metrics/dev.json").read_text())
    course = metrics["differences"]["new - en_pii_edu"]["all"]["per_label"]["COURSE"]["bag"]
    assert course["f5_95"][0] > 0
    found, text = run(trained, LOAD, packaged, NEW, how="-c").stdout.split("\n", 1)
    assert "('Economics 305', 'COURSE')" in found and "Vantongeren', 'NAME_STUDENT'" in found
    assert "In [COURSE] we compared" in text
    words = {w for row in essays() for w in row["text"].split() if w.isalpha()}
    known = set(json.loads((SHIPPED / "vocab/strings.json").read_text("utf8")))
    kept = set(json.loads((packaged / "vocab/strings.json").read_text("utf8")))
    assert not words & (kept - known) and "COURSE" in kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "debug data config.cfg",
        "debug config config.cfg",
        "assemble config.cfg assembled",
        "evaluate training/model-best corpus/dev.spacy --output scores.json",
        "evaluate en_pii_edu corpus/dev.spacy",
        "find-threshold training/model-best corpus/dev.spacy pii_ner thresholds.COURSE pii_f5 -n 3",
        "find-threshold en_pii_edu corpus/dev.spacy pii_ner thresholds.NAME pii_f5 -n 3",
    ],
)
def test_tools_of_spacy_work_on_a_project(words, trained):
    run(trained, "spacy", *words.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("debug config", "", ""),
        ("train", "--training.max_steps 2", "E109"),
        ("assemble", "out", "E102"),
    ],
)
def test_tools_of_spacy_refuse_the_shipped_config_with_a_code(before, after, code, trained):
    """It has no weights: a config of `init-train` takes them from the package."""
    paths = [f"--paths.{part}=corpus/{part}.spacy" for part in ("train", "dev")]
    words = [*before.split(), SHIPPED / "config.cfg", *after.split(), *paths]
    assert code in run(trained, "spacy", *words, code=int(bool(code))).stderr
