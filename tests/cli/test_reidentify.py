"""`deidentify --vault` and the way back, and `labels_out`: released corpora that can be trained on. All texts are invented."""

import csv
import json
from pathlib import Path

import pytest

from pii_components.cli import common
from pii_components.files.labelled import read_corpus
from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Vault
from tests.cli.conftest import ESSAY, KEY, put, put_texts, report, table, texts_of

VAULT_KEY = VaultKey(KEY.encode())


def kaggle(n=2):
    rows = []
    for i in range(n):
        # not as our own tokenizer would have it
        tokens = ["Ina", "Sorel", " \n", "reads", "Buzan-", "2006", "."]
        labels = ["B-NAME_STUDENT", "I-NAME_STUDENT", "O", "O", "O", "O", "O"]
        spaces = [True, False, False, True, False, False, False]
        text = "".join(t + " " * s for t, s in zip(tokens, spaces, strict=True))
        row = {"document": i, "full_text": text, "tokens": tokens}
        rows.append(row | {"trailing_whitespace": spaces, "labels": labels})
    return json.dumps(rows)


INPUTS = {
    "essay.txt": ESSAY,
    "utf16.txt": b"\xff\xfe" + ESSAY.encode("utf-16-le"),
    "essays.csv": 'id,essay\n1,"I am Ina Sorel.\r\nInk"\n2,\n3,Nobody.\n',
    "essays.jsonl": json.dumps({"id": 1, "text": ESSAY, "grade": 3}) + '\n{"text": "None."}\n',
}


@pytest.mark.parametrize("name", INPUTS)
def test_every_form_comes_back_byte_for_byte(folder, pii_edu, name):
    suffix = Path(name).suffix
    put(folder / f"in{suffix}", INPUTS[name])
    run = pii_edu(f"deidentify in{suffix} --out clean{suffix} --vault v")
    assert run.exit_code == 0, run.output
    clean = (folder / f"clean{suffix}").read_bytes()
    assert b"Ina" not in clean and b"Sorel" not in clean
    run = pii_edu(f"reidentify clean{suffix} --vault v --out back{suffix}")
    assert run.exit_code == 0 and "proved" in run.output, run.output
    assert (folder / f"back{suffix}").read_bytes() == (folder / f"in{suffix}").read_bytes()


FORMULAS = '"=id",essay,note,mark\r\n=1,=SUM(A1) Ina Sorel,@x,-3.5\r\n2,- I am Ina Sorel,\'t,+1\r\n3,\tInk,=1,-\r\n'


def cells_of(path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("mark", ["'", ""])
def test_no_cell_of_a_release_is_a_formula_and_the_original_comes_back(folder, pii_edu, mark):
    put(folder / "in.csv", FORMULAS)
    safe = f"--config spreadsheet_safe={'true' if mark else 'false'}"
    names = "--id-column =id --config ids=keep --keep note --keep mark --vault v"
    run = pii_edu(f"deidentify in.csv --out clean.csv {names} {safe} --config sweep=hide")
    assert run.exit_code == 0, run.output
    head, *rows = cells_of(folder / "clean.csv")
    assert head == [mark + "=id", "essay", "note", "mark"]
    assert [row[3] for row in rows] == ["-3.5", "+1", "-"]
    assert [row[2] for row in rows] == [mark + "@x", "'t", mark + "=1"] and "Sorel" not in str(rows)
    assert rows[0][1].startswith(mark + "=SUM(A1)") and rows[1][1].startswith(mark + "-")
    again = pii_edu(f"reidentify clean.csv --vault v --out back.csv {safe}")
    assert again.exit_code == 0, again.output
    assert cells_of(folder / "back.csv") == cells_of(folder / "in.csv")


def test_tokens_and_labels_of_kaggle_come_back(folder, pii_edu):
    put(folder / "train.json", kaggle())
    run = pii_edu("deidentify train.json --out clean.json --vault v --config labels_out=gold.spacy")
    assert run.exit_code == 0, run.output
    clean = list(read_corpus(folder / "clean.json"))
    for essay in clean:  # labelled as the record said; Buzan is no gold
        assert [label for *_, label in essay.spans] == ["NAME_STUDENT"]
        assert "Ina" not in essay.text and not essay.masked
    gold = list(read_corpus(folder / "gold.spacy"))
    assert [(e.id, e.text, e.spans) for e in gold] == [(e.id, e.text, e.spans) for e in clean]
    run = pii_edu("reidentify clean.json --vault v --out back.json")
    assert run.exit_code == 0, run.output
    assert report(folder / "back.json") == report(folder / "train.json")
    # Labels that are not of the form are a skipped record.
    put(folder / "in.json", kaggle().replace('"I-NAME_STUDENT"', '"NAME_STUDENT"', 1))
    run = pii_edu("deidentify in.json --out o.json")
    assert run.exit_code == 1 and "[E624]" in run.output and len(report(folder / "o.json")) == 1


def test_standard_input(folder, pii_edu):
    run = pii_edu("-q deidentify - --vault v", stdin="I am Ina Sorel.")
    assert run.exit_code == 0 and "Sorel" not in run.stdout
    run = pii_edu("reidentify - --vault v", stdin=run.stdout)
    assert run.stdout == "I am Ina Sorel."


@pytest.fixture
def released(folder, pii_edu):
    """clean.csv with its vault `v`, of four essays."""
    put(folder / "essays.csv", table(4))
    put(folder / "k", KEY)
    run = pii_edu("deidentify essays.csv --out clean.csv --vault v --id-column id --key-file k")
    assert run.exit_code == 0, run.output
    return folder


def change(path, *pairs):
    data = path.read_bytes()
    for old, new in pairs:
        assert old in data
        data = data.replace(old, new)
    path.write_bytes(data)


def flip_last(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


BREAKS = {
    "wrong key": ("E453", lambda f: put(f / "k", "a wrong key for a vault")),
    "no key": ("E401", lambda f: (f / "k").unlink()),
    "changed text": ("E458", lambda f: change(f / "clean.csv", (b"Number 2", b"number 2"))),
    "wrong document": (
        "E458",
        lambda f: change(f / "clean.csv", (b"d3,", b"d9,"), (b"Number 3", b"Number 9")),
    ),
    "flipped bit": ("E457", lambda f: flip_last(f / "v")),
    "truncated": ("E456", lambda f: put(f / "v", (f / "v").read_bytes()[:-1])),
    "no vault": ("E450", lambda f: (f / "v").unlink()),
    "another file": ("E451", lambda f: put(f / "v", "id,essay\n")),
    "output exists": ("E510", lambda f: put(f / "back.csv", "mine")),
    "over the vault": ("E472", lambda f: (f / "back.csv").symlink_to(f / "v")),
}


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_wrong_is_told_and_nothing_is_written(released, pii_edu, what):
    expected, spoil = BREAKS[what]
    spoil(released)
    before = {path.name: path.read_bytes() for path in released.iterdir()}
    line = "reidentify clean.csv --vault v --key-file k --out back.csv --config id_column=id"
    run = pii_edu(line)
    assert run.exit_code == 2 and f"[{expected}]" in run.output, run.output
    assert "Ina" not in run.output
    assert {path.name: path.read_bytes() for path in released.iterdir()} == before


def test_vault_commands(released, pii_edu, monkeypatch):
    head = report(released / "report.json")["vault"]["head"]
    run = pii_edu("vault info v --key-file k")
    assert run.exit_code == 0 and "documents: 4" in run.output and "NAME_STUDENT 4" in run.output
    assert "Ina" not in run.output
    monkeypatch.delenv("PII_EDU_KEY")
    assert "[E464]" in pii_edu("vault info v").output
    assert pii_edu(f"vault verify v --key-file k --head {head}").exit_code == 0
    assert "[E467]" in pii_edu("vault verify v --key-file k --head", "00" * 16).output
    put(released / "k2", "another key of some length")
    assert pii_edu("vault rotate v --key-file k --new-key-file k2").exit_code == 0
    assert "[E453]" in pii_edu("vault verify v --key-file k").output
    put(released / "v", (released / "v").read_bytes()[:-1])
    assert "[E456]" in pii_edu("vault verify v --key-file k2").output
    run = pii_edu("vault verify v --repair --key-file k2")
    assert "[W451]" in run.output and "4 documents, 1 sessions, whole" in run.output
    assert pii_edu("reidentify clean.csv --vault v --key-file k2 --out back.csv").exit_code == 0
    assert (released / "back.csv").read_bytes() == (released / "essays.csv").read_bytes()


def test_a_passphrase_is_asked_for(folder, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.vault.keys.SCRYPT_N", 16)
    monkeypatch.setattr(Vault.create.__func__, "__kwdefaults__", {"scrypt_n": 16, "like": None})
    monkeypatch.setattr(common, "can_ask", lambda: True)
    words = "six words drawn by chance"
    put(folder / "a.txt", ESSAY)
    with monkeypatch.context() as patched:
        patched.setenv("PII_EDU_VAULT_PASSPHRASE", words)
        run = pii_edu("deidentify a.txt --out b.txt --vault v")
    assert run.exit_code == 0 and words not in run.output, run.output
    line = "reidentify b.txt --vault v --out c.txt"
    assert "[E453]" in pii_edu(line, stdin="not these words\n").output
    assert pii_edu(line, stdin=words + "\n").exit_code == 0
    assert (folder / "c.txt").read_bytes() == ESSAY.encode()


def test_a_vault_needs_a_key_that_stays(folder, pii_edu, monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY")
    put(folder / "a.txt", ESSAY)
    run = pii_edu("deidentify a.txt --out b.txt --vault v")
    assert run.exit_code == 2 and "[E464]" in run.output
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_labels_in_every_form(folder, pii_edu):
    put_texts(folder / "in.jsonl", [f"{i}. {ESSAY}" for i in range(2)])
    rows = []
    for name in ("l.jsonl", "l.json", "l.csv", "l.spacy"):
        line = "deidentify in.jsonl --out o.jsonl --id-column id --overwrite --config"
        run = pii_edu(line, f"labels_out={name}")
        assert run.exit_code == 0, run.output
        read = read_corpus(folder / name)
        rows.append([(essay.id, essay.text, essay.spans, essay.masked) for essay in read])
        assert report(folder / "report.json")["labels_out"]["labels"]["EMAIL"] == 2
    assert [text for _, text, *_ in rows[0]] == texts_of(folder / "o.jsonl")
    _, text, spans, masked = rows[0][0]
    labels = ["NAME_STUDENT", "ID_NUM", "NAME_CITED", "EMAIL"]
    assert [label for *_, label in spans] == labels and not masked
    assert [text[a:b] for a, b, label in spans if label == "NAME_CITED"] == ["Buzan"]
    assert all(found == rows[0] for found in rows)


@pytest.mark.parametrize("action", ["tag", "pseudonym"])
def test_other_actions_have_labels_and_lead_back(folder, pii_edu, action):
    student = "remove" if action == "tag" else action
    actions = f'NAME_STUDENT = "{student}", EMAIL = "{action}", ID_NUM = "{action}"'
    put(folder / "p.toml", f'name = "own"\nactions = {{{actions}, NAME_CITED = "keep"}}\n')
    put(folder / "in.txt", ESSAY)
    line = "deidentify in.txt --out o.txt --profile p.toml --config labels_out=l.jsonl --vault v"
    assert pii_edu(line).exit_code == 0
    (essay,) = read_corpus(folder / "l.jsonl")
    found = {label: essay.text[a:b] for a, b, label in essay.spans if label != "NAME_CITED"}
    if action == "tag":
        assert found == {"EMAIL": "[EMAIL]", "ID_NUM": "[ID_NUM]"}
    else:
        with Vault.open(folder / "v", VAULT_KEY) as vault:
            (entry,) = vault.entries()
            assert all(vault.lookup(h.new) == [h.old] for h in entry.hidden)
    assert pii_edu("reidentify o.txt --vault v --out b.txt").exit_code == 0
    assert (folder / "b.txt").read_bytes() == ESSAY.encode()
