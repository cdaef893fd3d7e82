"""A label of the user's own, with code of the user's own, from the command line to the report, the review and the score."""

import json
import re

import pytest
import spacy

from pii_components.release import scale
from pii_components.release.review import Review
from pii_components.release.review_page import _page
from pii_components.surrogates.values import surrogates
from tests.cli.conftest import PATTERNS, put, report, texts_of

CODE = """
from spacy.language import Language

from pii_components.surrogates.values import canonical, surrogates


@surrogates.register("COURSE")
def course(value, context, attempt):
    rng = context.chance.rng("COURSE", canonical(value), attempt=attempt)
    return f"ART {int(rng.random() * 900) + 100}" if value.isupper() else int(value)


@Language.component("other_text")
def other_text(doc):
    from spacy.tokens import Doc

    return Doc(doc.vocab, words=["Ina"]) if doc.text.startswith("Turn") else doc
"""
PROFILE = 'name = "own"\nbase = "crapii"\n[actions]\nCOURSE = "surrogate"\n'
COURSES = [
    {"label": "COURSE", "pattern": "ENG 101"},
    {"label": "COURSE", "pattern": "eng 101"},
    {"label": "CLUB", "pattern": "Chess Club"},
]


@pytest.fixture
def mine(folder, own_code):
    """A saved pipeline that needs the code, the code, and a profile."""
    put(folder / "functions.py", CODE)
    put(folder / "own.toml", PROFILE)
    put(folder / "in.jsonl", json.dumps({"id": "1", "text": TEXT}) + "\n")
    spacy.util.import_file("python_code", folder / "functions.py")
    nlp = spacy.blank("xx")
    nlp.add_pipe("other_text")
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "pii"})
    ruler.add_patterns([*PATTERNS[:1], *COURSES])
    nlp.add_pipe("hips_surrogate").profile = "own.toml"
    nlp.to_disk(folder / "mine")
    own_code()
    return folder


TEXT = "I am Ina Sorel. I took ENG 101 and joined the Chess Club."
USED = ("--config code=functions.py", "--config profile=own.toml")


def test_code_is_asked_for_and_used(mine, pii_edu):
    line = "deidentify in.jsonl --out out.jsonl --overwrite"
    run = pii_edu(line, model="mine")
    assert run.exit_code == 2 and "[E475]" in run.stderr and "surrogates.COURSE" in run.stderr
    run = pii_edu(f"{line} {' '.join(USED)} --review-dir review", model="mine")
    assert run.exit_code == 0, run.output
    (text,) = texts_of(mine / "out.jsonl")
    assert re.search(r"I took ART \d{3} and joined the \[CLUB\]\.", text) and "Ina" not in text
    told = report(mine / "report.json")
    assert told["actions"]["COURSE"] == "surrogate" and "CLUB" not in told["actions"]
    page = (mine / "report.html").read_text("utf8")
    assert "COURSE" in page and "CLUB" in page
    review = Review.open(mine / "review/review.jsonl")
    assert all(
        f"<option>{label}</option>" in _page(review, steps=False) for label in ("COURSE", "CLUB")
    )
    place = TEXT.index("Ina Sorel")
    assert review.decide([(1, place, place + 9)], "relabel", "CLUB")
    review.close()


def test_processes_of_a_long_input_read_the_code_too(mine, pii_edu, monkeypatch):
    monkeypatch.setattr(scale, "LEAST", 0)
    rows = [json.dumps({"id": str(n), "text": f"{n}: {TEXT}"}) + "\n" for n in range(9)]
    put(mine / "in.jsonl", "".join(rows))
    made = []
    for n in (1, 2):
        line = f"deidentify in.jsonl --out {n}.jsonl --config workers={n}"
        run = pii_edu(f"{line} --config batch_size=2 {' '.join(USED)}", model="mine")
        assert run.exit_code == 0, run.output
        made.append((mine / f"{n}.jsonl").read_bytes())
    assert made[0] == made[1] and made[0].count(b"I took ART ") == 9


def test_what_cannot_be_done_is_left_out_and_told(mine, pii_edu):
    texts = ("I took eng 101.", "Turn the page.", "Nothing.")
    rows = [json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)]
    put(mine / "in.jsonl", "".join(rows))
    run = pii_edu(f"deidentify in.jsonl --out out.jsonl {' '.join(USED)}", model="mine")
    assert run.exit_code == 1 and texts_of(mine / "out.jsonl") == ["Nothing."]
    assert "[E426] The generator of surrogates for COURSE failed (ValueError, line" in run.stderr
    assert "record 2 (a component changed the text)" in run.stderr and "eng" not in run.stderr


def test_code_that_does_not_load(mine, pii_edu):
    put(mine / "broken.py", "import nowhere_to_be_found")
    for name in ("broken.py", "missing.py"):
        run = pii_edu(f"detect in.jsonl --config code={name}", model="mine")
        assert run.exit_code == 2 and f"[E743] '{name}'" in run.stderr


def test_gold_with_an_own_label_is_scored(mine, pii_edu):
    at = TEXT.index("ENG 101")
    spans = [{"start": at, "end": at + 7, "label": "COURSE"}]
    put(mine / "gold.jsonl", json.dumps({"id": "1", "text": TEXT, "spans": spans}) + "\n")
    line = "evaluate run gold.jsonl --systems en_pii_edu:mine --out score.json --config"
    run = pii_edu(f"{line} code=functions.py --config profile=own.toml")
    assert run.exit_code == 0, run.output
    (system,) = report(mine / "score.json")["systems"].values()
    assert system["views"]["all"]["per_label"]["COURSE"]["position"]["tp"] == 1
    assert not surrogates.known().keys() - {"COURSE"}
    spans[0]["label"] = "PHONE"
    put(mine / "gold.jsonl", json.dumps({"id": "1", "text": TEXT, "spans": spans}) + "\n")
    assert "[E002] Label 'PHONE of gold.jsonl'" in pii_edu(f"{line} profile=own.toml").stderr
