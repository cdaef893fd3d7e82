"""Nothing sensitive in the pipeline's own files, in reports, states, vaults, logs or errors: planted names are searched for."""

import logging
import re

import pytest

from pii_components.errors import Errors
from pii_components.release.engine import Engine
from pii_components.release.run import SweepLog
from tests.cli.conftest import KEY, put_texts

# The small pipeline hides "Ina Sorel", "Jörn Übel", e-mails and numbers of eight digits.
ESSAYS = [
    "I am Ina Sorel (20418837), ina.sorel@example.edu; Sorel and Übel.",
    "I am Jörn Übel. I thank Ina Sorel.",
]
PLANTED = re.compile(r"(?i)ina|sorel|j(?:ö|\\u00f6)rn|(?:ü|\\u00fc|Ü|\\u00dc)bel|20418837")
WHOLE = re.compile(rb"\bina\b|sorel|\xc3\x9cbel|20418837", re.IGNORECASE)


@pytest.fixture
def essays(folder):
    put_texts(folder / "essays.jsonl", ESSAYS)
    return folder


def check(folder, *shown: str) -> None:
    for text in shown:
        assert not re.search(r"(?i)\bina\b|sorel|übel|20418837", text)
    for path in folder.rglob("*"):
        if not path.is_file() or path.name in ("essays.jsonl", "back.jsonl"):
            continue
        found = set(WHOLE.findall(path.read_bytes()))
        if path.name.startswith("out.jsonl"):
            # What stands in clear is what the sweep reports: surnames that the pipeline missed.
            found -= {b"Sorel", "Übel".encode()}
        assert not found and KEY.encode() not in path.read_bytes(), path.name


def test_a_run_with_everything(essays, pii_edu, caplog):
    caplog.set_level(logging.DEBUG)
    options = "--vault v.vault --config labels_out=labels.jsonl --config sweep=hide"
    run = pii_edu(f"deidentify essays.jsonl --out out.jsonl {options}")
    back = pii_edu("reidentify out.jsonl --vault v.vault --out back.jsonl")
    info = pii_edu("vault info v.vault")
    assert run.exit_code == back.exit_code == info.exit_code == 0, run.output + back.output
    check(essays, run.output, back.output, info.output, caplog.text)


@pytest.mark.parametrize(("of", "name"), [(Engine, "_result"), (SweepLog, "add")])
def test_a_run_that_fails(essays, pii_edu, caplog, monkeypatch, of, name):
    caplog.set_level(logging.DEBUG)

    def fail(*args, **kwargs):
        raise ValueError(f"cannot read {ESSAYS[0]}")

    monkeypatch.setattr(of, name, fail)
    run = pii_edu("deidentify essays.jsonl --out out.jsonl")
    assert run.exit_code == 3 and "[E533]" in run.output
    for path in essays.glob("*.sweep.jsonl"):
        assert not PLANTED.search(path.read_text("ascii"))
    check(essays, run.output, caplog.text)


def test_no_message_asks_for_a_text():
    for code, template in vars(Errors).items():
        if re.fullmatch(r"E\d+", code):
            assert not re.search(r"\{(text|name_of_person|original|surrogate)\}", template), code
