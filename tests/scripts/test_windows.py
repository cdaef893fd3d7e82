"""Windows around one labelled token: what is hidden of them."""

import json
from pathlib import Path

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.labels import EMAIL, NAME_STUDENT
from scripts.windows import main, measure_windows, read_windows

CASES = json.loads(
    (Path(__file__).parents[1] / "data/regression_cases/studies.json").read_text("utf8")
)
TEXT = "Ilse Varga read Porter, says i.varga@school.example in her mail."


def row(part, label, text=TEXT):
    return {
        "text": text,
        "start": text.index(part),
        "end": text.index(part) + len(part),
        "label": label,
    }


@pytest.fixture
def lines(tmp_path):
    """Writes rows. RETURNS: The file."""

    def write(*rows):
        path = tmp_path / "w.jsonl"
        path.write_text(
            "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows),
            "utf8",
        )
        return path

    return write


@pytest.mark.parametrize(("found", "hidden", "touched", "right"), CASES["tokens in windows"])
def test_a_token_is_hidden_touched_or_in_clear(finds, lines, found, hidden, touched, right):
    system = finds(found)
    told = measure_windows(
        system, read_windows(lines(row("Ilse", "B-NAME_STUDENT"))), system.protects
    )["labels"][NAME_STUDENT]
    assert (told["hidden"], told["touched"], told["right"]) == (hidden, touched, right)
    assert (told["support"], told["texts"]) == (1, 1)


def test_shares_have_support_and_intervals_and_hold_no_text(finds, lines):
    texts = [f"{TEXT} {n}" for n in range(4)]
    rows = [
        row(part, label, text)
        for text in texts
        for part, label in (("Ilse", "B-NAME_STUDENT"), ("Porter", "O"))
    ]
    path = lines(*rows, row("Varga", "I-NAME_STUDENT", "Varga Varga"))
    system = finds(
        lambda doc: [(0, 10, NAME_STUDENT), (16, 22, NAME_STUDENT)] if doc.id != "4" else []
    )
    report = measure_windows(system, read_windows(path), system.protects)
    student, none = report["labels"][NAME_STUDENT], report["labels"]["O"]
    assert list(report["labels"]) == [NAME_STUDENT, "O"] and report["texts"] == 5
    assert student["hidden"] == 0.8 and student["hidden_95"][0] < 0.8 <= student["hidden_95"][1]
    assert (none["hidden"], none["support"]) == (1.0, 4) and "right" not in none
    assert "Varga" not in json.dumps(report)


def test_rows_of_one_text_are_together(lines):
    path = lines(
        row("Ilse", "B-NAME_STUDENT"), row("Varga", "O", "Varga"), row("Porter", "I-STREET_ADDRESS")
    )
    first = (
        Entity("0", 0, 4, NAME_STUDENT, "Ilse"),
        Entity("0", 16, 22, "STREET_ADDRESS", "Porter"),
    )
    assert read_windows(path) == [
        GoldDocument("0", TEXT, first),
        GoldDocument("1", "Varga", (Entity("1", 0, 5, "O", "Varga"),)),
    ]


GOOD = row("Ilse", "O")


@pytest.mark.parametrize(
    "bad",
    ["{", "[1]", {"text": TEXT}, GOOD | {"end": 999}, GOOD | {"start": None}, GOOD | {"label": 3}],
)
def test_a_row_that_is_none_is_told_by_its_line(lines, bad):
    with pytest.raises(PiiError, match=r"\[E611\] w.jsonl, line 2") as told:
        read_windows(lines(GOOD, bad))
    assert "Ilse" not in str(told.value)


def test_the_command_writes_what_it_prints(command, lines, tmp_path):
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    nlp.add_pipe("pii_ruler")
    nlp.to_disk(tmp_path / "rules")
    out = tmp_path / "windows.json"
    done = command(
        main,
        lines(row("i.varga@school.example", "B-EMAIL")),
        "--pipeline",
        tmp_path / "rules",
        "--out",
        out,
    )
    assert done.exit_code == 0, done.output
    written = out.read_text("utf8")
    assert json.loads(written)["labels"][EMAIL]["hidden"] == 1.0
    assert "EMAIL" in done.output and "varga" not in done.output + written
    for path, code in ((tmp_path / "none", "E501"), (lines(), "E762")):
        done = command(main, path, "--pipeline", tmp_path / "rules")
        assert done.exit_code == 2 and code in done.output
