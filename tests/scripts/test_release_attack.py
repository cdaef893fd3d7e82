"""The parrot attack: planted leaks are found, a release without leaks gives nothing away."""

import json
import random

import pytest

from pii_components.errors import PiiError
from pii_components.labels import EMAIL, NAME_STUDENT
from scripts import release_attack as study
from scripts.release_attack import Document, release_report
from tests.tiny import cases

CASES = cases("studies")
NAME = NAME_STUDENT
SYLLABLES = "ba den fi gor hal jo kel lu mir na pol ri sa tun ves wil".split()
USUAL = (
    "My name is {} and I study rivers.\n",
    "Essay by {}\n",
    "Written by {} for the course.\n",
    "My friend {} helped me.\n",
)
ODD = (
    "the boat of {} sank twice.\n",
    "we thanked {} with cake.\n",
    "it was, as {} whispered, cold.\n",
    "under {} lay the map.\n",
)
FILLING = (
    "The river was cold and the bridge was old.\n",
    "Cities grow when people move to them.\n",
    "In Spring the water rose again.\n",
    "Results in Table 2 show that Group A was faster.\n",
    "Most people think about the future of work.\n",
)


def person(rng):
    return " ".join("".join(rng.choices(SYLLABLES, k=2)).title() for _ in range(2))


def synthetic_release(missed, *, n=40, odd=0.0):
    """Short essays with five names each, all hidden but for what is missed by chance, or, if that is None, for those in rare sentences."""
    documents = []
    for number in range(n):
        rng = random.Random(f"3 {number}")
        original, released, gold = "", "", []
        for _ in range(5):
            filling = rng.choice(FILLING)
            frame = rng.choice(ODD if rng.random() < odd else USUAL)
            before, after = frame.split("{}")
            name, surrogate = person(rng), person(rng)
            # No surrogate shares a part with its original.
            while set(name.split()) & set(surrogate.split()):
                surrogate = person(rng)
            original, released = original + filling + before, released + filling + before
            gold.append((len(original), len(original) + len(name), NAME))
            clear = frame in ODD if missed is None else rng.random() < missed
            original += name + after
            released += (name if clear else surrogate) + after
        mail = f"{person(rng).split()[0].lower()}@uni.example"
        gold.append((len(original), len(original) + len(mail), EMAIL))
        texts = original + mail, released + "kai@example.edu"
        documents.append(Document(f"d{number}", *texts, tuple(gold)))
    return documents


@pytest.mark.parametrize(
    ("original", "released", "gold", "expected"), CASES["surrogates and leaks"]
)  # an address may keep a word
def test_items_are_surrogates_and_leaks(original, released, gold, expected):
    document = Document("1", original, released, tuple(map(tuple, gold)))
    found = [[released[item.start : item.end], bool(item.leak)] for item in document.items]
    assert found == [row[:2] for row in expected]


def test_texts_that_do_not_belong_together_are_a_coded_error():
    with pytest.raises(PiiError, match=r"\[E705\]"):
        _ = Document(
            "1", "one two three four five six " * 4, "Others wrote this, too. " * 4, ()
        ).items


def test_what_was_missed_by_chance_looks_like_what_was_not_whatever_the_order():
    documents = synthetic_release(0.1)
    found = release_report(documents, n_resamples=50)["attack"]
    assert found["auc"] < 0.65 and found["p_value"] > 0.01
    again = release_report(documents[::-1], n_resamples=5)["attack"]
    assert [again[name] for name in ("found", "auc")] == [found[name] for name in ("found", "auc")]


def test_a_reader_finds_leaks_in_odd_places():
    found = release_report(synthetic_release(None, odd=0.06), n_resamples=50)["attack"]
    assert found["auc"] > 0.8 and found["p_value"] < 0.01


def test_a_release_without_leaks_gives_nothing_away():
    report = release_report(synthetic_release(0, n=30), n_resamples=50)
    row = report["attack"]
    assert (report["leaks"], row["found"], row["p_value"], row["chance_precision"]) == (0, 0, 1, 0)
    assert "auc" not in row
    with pytest.raises(PiiError, match=r"\[E552\]"):
        release_report(synthetic_release(0, n=3))


# --- files and the command


@pytest.fixture
def files(tmp_path):
    """An original with labels, and its release."""
    documents = synthetic_release(0.1, n=16)

    def write(name, rows):
        lines = [json.dumps({"id": d.id, "text": text, "spans": d.gold}) for d, text in rows]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf8")
        return tmp_path / name

    before = write("essays.jsonl", [(d, d.original) for d in documents])
    return before, write("released.jsonl", [(d, d.released) for d in documents[::-1]])


def test_texts_are_joined_by_id_and_only_what_the_profile_hides_can_leak(files, tmp_path):
    hidden = study.read_release(*files, hides=lambda label: label != NAME)
    assert not any(item.leak for document in hidden for item in document.items)
    everything = study.read_release(*files, hides=lambda label: True)
    assert any(item.leak for document in everything for item in document.items)
    fewer = tmp_path / "fewer.jsonl"
    fewer.write_text("".join(line + "\n" for line in files[1].read_text().splitlines()[:-2]))
    with pytest.raises(PiiError, match=r"\[E705\].*2 documents"):
        study.read_release(files[0], fewer, hides=lambda label: True)


def test_the_command_writes_numbers_and_no_text(command, files, tmp_path):
    out = tmp_path / "release.json"
    result = command(study.main, *files, "--out", out, "--resamples", 20)
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["release"]["attack"]["leaks"] > 0
    assert "Parrot attack" in result.output
    values = {
        r["text"][s:e]
        for r in map(json.loads, files[0].read_text().splitlines())
        for s, e, _ in r["spans"]
    }
    assert not [value for value in values if value in out.read_text() + result.output]
    assert command(study.main, files[0], tmp_path / "none.jsonl").exit_code == 2
