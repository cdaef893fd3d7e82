"""Nothing sensitive in the pipeline's own files, in reports, states, vaults, logs or errors: planted names are searched for."""

import json
import logging
import pickle
import re

import pytest
import spacy

from pii_components.errors import Errors
from pii_components.release import engine
from pii_components.release import run as sweep_log

# The small pipeline hides "Ina Sorel", "Jörn Übel", e-mails and numbers of eight digits.
ESSAYS = [
    "I am Ina Sorel (20418837), ina.sorel@example.edu; Sorel and Übel.",
    "I am Jörn Übel. I thank Ina Sorel.",
]
PLANTED = re.compile(
    r"ina|sorel|j(?:ö|\\u00f6|\xc3\xb6)rn|(?:ü|\\u00fc|Ü|\\u00dc)bel|20418837", re.IGNORECASE
)
WHOLE = re.compile(rb"\bina\b|sorel|\xc3\x9cbel|20418837", re.IGNORECASE)


@pytest.fixture
def essays(folder):
    rows = "".join(
        json.dumps({"id": i, "text": text}, ensure_ascii=False) + "\n"
        for i, text in enumerate(ESSAYS)
    )
    (folder / "essays.jsonl").write_text(rows, "utf8")
    return folder


def check(folder, *shown: str) -> None:
    for text in shown:
        assert not re.search(r"\bina\b|sorel|übel|20418837", text, re.IGNORECASE)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("essays.jsonl", "back.jsonl"):
            found = WHOLE.findall(path.read_bytes())
            # What stands in clear in the output is what the sweep reports: surnames that the pipeline missed.
            assert not found or (
                path.name in ("out.jsonl", "out.jsonl.partial")
                and set(found) <= {b"Sorel", "Übel".encode()}
            ), path.name


def test_a_run_with_everything(essays, pii_edu, caplog):
    pytest.importorskip("cryptography")
    caplog.set_level(logging.DEBUG)
    options = (
        "--vault",
        "v.vault",
        "--config",
        "labels_out=labels.jsonl",
        "--config",
        "sweep=hide",
    )
    run = pii_edu("deidentify essays.jsonl --out out.jsonl", *options)
    assert run.exit_code == 0, run.output
    back = pii_edu("reidentify out.jsonl --vault v.vault --out back.jsonl")
    assert back.exit_code == 0, back.output
    info = pii_edu("vault info v.vault")
    check(essays, run.output, back.output, info.output, caplog.text)


@pytest.mark.parametrize("where", ["pipeline", "sweep"])
def test_a_run_that_fails(essays, pii_edu, caplog, monkeypatch, where):
    caplog.set_level(logging.DEBUG)

    def fail(*args, **kwargs):
        raise ValueError(f"cannot read {ESSAYS[0]}")

    if where == "pipeline":
        monkeypatch.setattr(engine.Engine, "_result", fail)
    else:
        monkeypatch.setattr(sweep_log.SweepLog, "add", fail)
    run = pii_edu("deidentify essays.jsonl --out out.jsonl")
    assert run.exit_code == 3
    assert "[E533]" in run.output
    for path in essays.glob("*.sweep.jsonl"):
        assert not PLANTED.search(path.read_text("ascii"))
    check(essays, run.output, caplog.text)


def test_a_pipeline_that_has_seen_texts_keeps_nothing_of_them(essays, model, tmp_path):
    nlp = spacy.load(model)
    component = nlp.get_pipe("hips_surrogate")
    component.set_key(b"a key for tests, of no other use")
    patterns = {str(row["pattern"]) for row in nlp.get_pipe("span_ruler").patterns}
    docs = [nlp.make_doc(text) for text in ESSAYS]
    component.observe([nlp(text) for text in ESSAYS])
    assert docs and patterns
    component.to_disk(tmp_path / "component")
    saved = component.to_bytes() + pickle.dumps(component)
    saved += b"".join(
        path.read_bytes() for path in (tmp_path / "component").rglob("*") if path.is_file()
    )
    assert not WHOLE.findall(saved)
    assert b"a key for tests" not in saved


def test_no_message_asks_for_a_text():
    for code, template in vars(Errors).items():
        if re.fullmatch(r"E\d+", code):
            assert not re.search(r"\{(text|name_of_person|original|surrogate)\}", template), code
