"""`deidentify --vault` and the way back, and `--labels-out`: released corpora that can be trained on. All texts are invented."""

import csv
import json
from pathlib import Path

import pytest

from pii_components.cli import common
from pii_components.files.labelled import read_corpus
from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Vault
from tests.cli.conftest import ESSAY, KEY, put, table

pytest.importorskip("cryptography")
PLANTED = (b"Ina", b"Sorel", b"20418837", b"ina.sorel")
VAULT_KEY = VaultKey(KEY.encode())


def rows_of(path):
    return list(csv.reader(path.read_text("utf-8").splitlines()))[1:]


def kaggle(n=2):
    rows = []
    for i in range(n):
        tokens = [
            "Ina",
            "Sorel",
            " \n",
            "reads",
            "Buzan-",
            "2006",
            ".",
        ]  # not as our own tokenizer would have it
        labels = ["B-NAME_STUDENT", "I-NAME_STUDENT", "O", "O", "O", "O", "O"]
        spaces = [True, False, False, True, False, False, False]
        text = "".join(t + " " * s for t, s in zip(tokens, spaces, strict=True))
        rows.append(
            {
                "document": i,
                "full_text": text,
                "tokens": tokens,
                "trailing_whitespace": spaces,
                "labels": labels,
            }
        )
    return json.dumps(rows)


INPUTS = {
    "essay.txt": ESSAY,
    "utf16.txt": b"\xff\xfe" + ESSAY.encode("utf-16-le"),
    "essays.csv": 'id,essay\n1,"I am Ina Sorel.\r\nInk"\n2,\n3,Nobody.\n',
    "essays.jsonl": json.dumps({"id": 1, "text": ESSAY, "grade": 3})
    + "\n"
    + json.dumps({"id": 2, "text": "None."})
    + "\n",
}


@pytest.mark.parametrize("name", INPUTS)
def test_every_form_comes_back_byte_for_byte(folder, pii_edu, name):
    source, clean, back = (
        folder / f"{part}{Path(name).suffix}" for part in ("in", "clean", "back")
    )
    put(source, INPUTS[name])
    run = pii_edu("deidentify", source, "--out", clean, "--vault", "v")
    assert run.exit_code == 0, run.output
    assert not any(word in clean.read_bytes() for word in PLANTED[:2])
    run = pii_edu("reidentify", clean, "--vault", "v", "--out", back)
    assert run.exit_code == 0, run.output
    assert "proved" in run.output
    assert back.read_bytes() == source.read_bytes()


FORMULAS = '"=id",essay,note,mark\r\n=1,=SUM(A1) Ina Sorel,@x,-3.5\r\n2,- I am Ina Sorel,\'t,+1\r\n3,\tInk,=1,-\r\n'


@pytest.mark.parametrize("safe", ["spreadsheet_safe=true", "spreadsheet_safe=false"])
def test_no_cell_of_a_release_is_a_formula_and_the_original_comes_back(folder, pii_edu, safe):
    put(folder / "in.csv", FORMULAS)
    names = [
        "--id-column",
        "=id",
        "--config",
        "ids=keep",
        "--keep",
        "note",
        "--keep",
        "mark",
        "--config",
        safe,
        "--vault",
        "x.vault",
        "--config",
        "sweep=hide",
    ]
    assert pii_edu("deidentify in.csv --out clean.csv", *names).exit_code == 0
    with open(folder / "clean.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    mark = "'" if safe == "spreadsheet_safe=true" else ""
    assert head == [mark + "=id", "essay", "note", "mark"] and [row[3] for row in rows] == [
        "-3.5",
        "+1",
        "-",
    ]
    assert [row[1].split()[0] for row in rows] == [
        mark + "=SUM(A1)",
        mark + "-",
        (mark + "\tInk").split()[0],
    ]
    assert [row[2] for row in rows] == [mark + "@x", "'t", mark + "=1"] and "Sorel" not in str(rows)
    again = pii_edu("reidentify clean.csv --vault x.vault --out back.csv --config", safe)
    assert again.exit_code == 0, again.output
    with (
        open(folder / "back.csv", encoding="utf-8", newline="") as back,
        open(folder / "in.csv", encoding="utf-8", newline="") as old,
    ):
        assert list(csv.reader(back)) == list(csv.reader(old))


def test_a_folder_comes_back(folder, pii_edu):
    for name in ("a.txt", "week 1/b.txt"):
        put(folder / "in" / name, ESSAY + name)
    assert pii_edu("deidentify in --out clean --vault v").exit_code == 0
    (folder / "clean/report.json").unlink()
    assert pii_edu("reidentify clean --vault v --out back").exit_code == 0
    for name in ("a.txt", "week 1/b.txt"):
        assert (folder / "back" / name).read_bytes() == (folder / "in" / name).read_bytes()


def test_tokens_and_labels_of_kaggle_come_back(folder, pii_edu):
    put(folder / "train.json", kaggle())
    run = pii_edu("deidentify train.json --out clean.json --vault v --config labels_out=gold.spacy")
    assert run.exit_code == 0, run.output
    for released in read_corpus(folder / "clean.json"):
        assert [label for *_, label in released.spans] == [
            "NAME_STUDENT"
        ]  # what the record said; Buzan is no gold
        assert "Ina" not in released.text and not released.masked
    (first, second) = read_corpus(folder / "gold.spacy")
    assert (first.id, first.text, first.spans) == next(
        (r.id, r.text, r.spans) for r in read_corpus(folder / "clean.json")
    )
    run = pii_edu("reidentify clean.json --vault v --out back.json")
    assert run.exit_code == 0, run.output
    assert json.loads((folder / "back.json").read_text()) == json.loads(
        (folder / "train.json").read_text()
    )


def test_standard_input(folder, pii_edu):
    run = pii_edu("deidentify - --vault v -q", stdin="I am Ina Sorel.")
    assert run.exit_code == 0 and "Sorel" not in run.stdout
    run = pii_edu("reidentify - --vault v", stdin=run.stdout)
    assert run.stdout == "I am Ina Sorel."


@pytest.fixture
def released(folder, pii_edu):
    """clean.csv with its vault `v`, of four essays."""
    put(folder / "essays.csv", table(4))
    run = pii_edu(
        "deidentify essays.csv --out clean.csv --vault v --id-column id --key-file",
        put(folder / "k", KEY),
    )
    assert run.exit_code == 0, run.output
    return folder


def change(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


BREAKS = {
    "wrong key": ("E453", lambda f: put(f / "k", "a wrong key for a vault")),
    "no key": ("E401", lambda f: (f / "k").unlink()),
    "changed text": ("E459", lambda f: change(f / "clean.csv", b"Number 2", b"number 2")),
    "wrong document": (
        "E458",
        lambda f: (
            change(f / "clean.csv", b"d3,", b"d9,")
            or change(f / "clean.csv", b"Number 3", b"Number 9")
        ),
    ),
    "flipped bit": (
        "E457",
        lambda f: put(
            f / "v", (f / "v").read_bytes()[:-1] + bytes([(f / "v").read_bytes()[-1] ^ 1])
        ),
    ),
    "truncated": ("E455", lambda f: put(f / "v", (f / "v").read_bytes()[:-1])),
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
    run = pii_edu("reidentify clean.csv --vault v --key-file k --out back.csv --id-column id")
    assert run.exit_code == 2 and f"[{expected}]" in run.output, run.output
    assert "Ina" not in run.output
    assert {path.name: path.read_bytes() for path in released.iterdir()} == before


def test_vault_commands(released, pii_edu, monkeypatch):
    head = json.loads((released / "report.json").read_text())["vault"]["head"]
    run = pii_edu("vault info v --key-file k")
    assert (
        run.exit_code == 0
        and "documents: 4" in run.output
        and "NAME_STUDENT 4" in run.output
        and "Ina" not in run.output
    )
    monkeypatch.delenv("PII_EDU_KEY")
    header = pii_edu("vault info v")
    assert header.exit_code == 0 and "documents:" not in header.output, header.output
    assert pii_edu("vault verify v --key-file k --head", head).exit_code == 0
    assert "[E467]" in pii_edu("vault verify v --key-file k --head", "00" * 16).output
    put(released / "k2", "another key of some length")
    assert pii_edu("vault rotate v --key-file k --new-key-file k2").exit_code == 0
    assert "[E453]" in pii_edu("vault verify v --key-file k").output
    whole = (released / "v").read_bytes()
    put(released / "v", whole[:-1])
    assert "[E455]" in pii_edu("vault verify v --key-file k2").output
    run = pii_edu("vault verify v --repair --key-file k2")
    assert "[W450]" in run.output and "4 documents, 1 sessions, whole" in run.output
    assert pii_edu("reidentify clean.csv --vault v --key-file k2 --out back.csv").exit_code == 0
    assert (released / "back.csv").read_bytes() == (released / "essays.csv").read_bytes()


def test_a_passphrase_is_asked_for(folder, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.vault.keys.SCRYPT_N", 16)
    monkeypatch.setattr(Vault.create.__func__, "__kwdefaults__", {"scrypt_n": 16, "like": None})
    monkeypatch.setattr(common, "can_ask", lambda: True)
    put(folder / "a.txt", ESSAY)
    words = "six words drawn by chance"
    run = pii_edu(
        "deidentify a.txt --out b.txt --vault v --config vault_passphrase=true",
        stdin=f"{words}\n{words}\n",
    )
    assert run.exit_code == 0, run.output
    assert words not in run.output
    assert (
        "[E453]"
        in pii_edu(
            "reidentify b.txt --vault v --out c.txt",
            stdin="not these words\n",
        ).output
    )
    assert (
        pii_edu(
            "reidentify b.txt --vault v --out c.txt",
            stdin=words + "\n",
        ).exit_code
        == 0
    )
    assert (folder / "c.txt").read_bytes() == ESSAY.encode()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--out", "o.csv", "--vault", "o.csv"], "E472"),
        (["--out", "o.csv", "--vault", "in.csv"], "E472"),
        (["--out", "o.csv", "--vault", "v", "--config", "labels_out=v"], "E472"),
        (["--out", "o.csv", "--config", "labels_out=in.csv"], "E472"),
        (["--out", "o.csv", "--config", "labels_out=there.jsonl"], "E510"),
        (["--out", "o.csv", "--config", "labels_out=l.xyz"], "E621"),
        (["--out", "o.csv", "--config", "labels_out=l.jsonl", "--labels-to", "entities"], "E519"),
        (["--out", "o.csv", "--labels-to", "bio"], "E473"),
        (["--out", "o.csv", "--config", "vault_key_file=k"], "E473"),
        (
            [
                "--out",
                "o.csv",
                "--vault",
                "v",
                "--config",
                "vault_key_file=k",
                "--config",
                "vault_passphrase=true",
            ],
            "E465",
        ),
    ],
)
def test_refused_before_anything_is_written(folder, pii_edu, args, code):
    put(folder / "in.csv", table(1))
    put(folder / "there.jsonl", "")
    run = pii_edu("deidentify in.csv", *args)
    assert run.exit_code == 2 and f"[{code}]" in run.output, run.output
    assert sorted(p.name for p in folder.iterdir()) == ["in.csv", "there.jsonl"]


def test_a_vault_needs_a_key_that_stays(folder, pii_edu, monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY")
    put(folder / "a.txt", ESSAY)
    run = pii_edu("deidentify a.txt --out b.txt --vault v")
    assert run.exit_code == 2 and "[E464]" in run.output
    assert sorted(p.name for p in folder.iterdir()) == ["a.txt"]


def test_the_same_vault_for_two_corpora(folder, pii_edu):
    for name in ("a", "b"):
        put(folder / f"{name}.csv", table(2).replace("Number", name))
        assert (
            pii_edu(
                "deidentify", f"{name}.csv", "--out", f"{name}2.csv", "--vault", "v", "--overwrite"
            ).exit_code
            == 0
        )
    assert pii_edu("deidentify a.csv --out a2.csv --vault v --overwrite").exit_code == 0
    with Vault.open(folder / "v", VAULT_KEY) as vault:
        assert vault.documents == 4  # the same texts once more are the same records
    for name in ("a", "b"):
        assert (
            pii_edu("reidentify", f"{name}2.csv", "--vault", "v", "--out", f"{name}3.csv").exit_code
            == 0
        )
        assert (folder / f"{name}3.csv").read_bytes() == (folder / f"{name}.csv").read_bytes()


FORMS = {
    "kaggle": "l.json",
    "kaggle-jsonl": "l.k.jsonl",
    "jsonl": "l.jsonl",
    "csv": "l.csv",
    "spacy": "l.spacy",
}


def test_labels_in_every_form(folder, pii_edu):
    put(
        folder / "in.jsonl",
        "".join(json.dumps({"id": f"e{i}", "text": f"{i}. {ESSAY}"}) + "\n" for i in range(2)),
    )
    rows = {}
    for form, name in FORMS.items():
        run = pii_edu(
            "deidentify in.jsonl --out o.jsonl --id-column id --config",
            f"labels_out={name}",
            "--labels-to",
            form,
            "--overwrite",
        )
        assert run.exit_code == 0, run.output
        rows[form] = [
            (essay.id, essay.text, essay.spans, essay.masked)
            for essay in read_corpus(folder / name, form)
        ]
        assert (
            json.loads((folder / "report.json").read_text())["labels_out"]["labels"]["EMAIL"] == 2
        )
    out = [
        json.loads(line)["text"] for line in (folder / "o.jsonl").read_text("utf-8").splitlines()
    ]
    ident, text, spans, masked = rows["jsonl"][0]
    assert [text for _, text, *_ in rows["jsonl"]] == out and ident == "e0"
    assert [label for *_, label in spans] == [
        "NAME_STUDENT",
        "ID_NUM",
        "NAME_CITED",
        "EMAIL",
    ] and not masked
    assert [text[a:b] for a, b, label in spans if label == "NAME_CITED"] == ["Buzan"]
    assert all(found == rows["jsonl"] for found in rows.values())


def test_labels_of_tags_and_of_what_was_removed(folder, pii_edu):
    actions = 'actions = {NAME_STUDENT = "remove", EMAIL = "tag", ID_NUM = "mask"}'
    put(folder / "p.toml", f'name = "own"\n{actions}\n')
    put(folder / "in.txt", ESSAY)
    run = pii_edu(
        "deidentify in.txt --out o.txt --profile p.toml --config labels_out=l.jsonl --vault v"
    )
    assert run.exit_code == 0, run.output
    (essay,) = read_corpus(folder / "l.jsonl")
    assert {label: essay.text[a:b] for a, b, label in essay.spans if label != "NAME_CITED"} == {
        "EMAIL": "[EMAIL]",
        "ID_NUM": "xxxxxxxx",
    }
    assert pii_edu("reidentify o.txt --vault v --out b.txt").exit_code == 0
    assert (folder / "b.txt").read_bytes() == ESSAY.encode()


def test_pseudonyms_map_back(folder, pii_edu):
    put(
        folder / "p.toml",
        'name = "own"\nactions = {NAME_STUDENT = "pseudonym", NAME_CITED = "keep", EMAIL = "pseudonym", ID_NUM = "pseudonym"}\n',
    )
    put(folder / "in.txt", ESSAY)
    assert pii_edu("deidentify in.txt --out o.txt --profile p.toml --vault v").exit_code == 0
    with Vault.open(folder / "v", VAULT_KEY) as vault:
        (entry,) = vault.entries()
        assert {h.old for h in entry.hidden} == {"Ina Sorel", "20418837", "ina.sorel@example.edu"}
        assert all(vault.lookup(h.new) == [h.old] for h in entry.hidden)
    assert pii_edu("reidentify o.txt --vault v --out b.txt").exit_code == 0
    assert (folder / "b.txt").read_bytes() == ESSAY.encode()


def test_broken_labels_are_a_skip(folder, pii_edu):
    put(folder / "in.json", kaggle().replace('"I-NAME_STUDENT"', '"NAME_STUDENT"', 1))
    run = pii_edu("deidentify in.json --out o.json")
    assert run.exit_code == 1 and "[E537]" in run.output
    assert len(json.loads((folder / "o.json").read_text())) == 1


def test_nothing_sensitive_in_any_file_or_message(folder, process):
    """In a process of its own, as a user runs it; the input is the only file with a planted name in it."""
    put(folder / "in/e.csv", table(30) + f'x,"{ESSAY}"\ny,fine\nz,"bad\n')
    run = process(
        "deidentify in/e.csv --out o.csv --vault v --config labels_out=gold.spacy "
        "--config report=r.json"
    )
    assert run.returncode == 1 and run.stdout == "" and "31 documents, 2 skipped" in run.stderr
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "e.csv"]
    assert {path.name for path in files} >= {"o.csv", "v", "gold.spacy", "r.json"}
    for content in [*(path.read_bytes() for path in files), (run.stdout + run.stderr).encode()]:
        assert not any(word in content for word in (*PLANTED, KEY.encode()))
