"""`pii-edu detect`, `demo`, `profiles`, `keygen`, `--version`."""

import json
import stat

import pytest
from typer.main import get_command

from pii_components import __version__
from pii_components.cli.app import COMMANDS, app
from pii_components.files.sources import open_source
from pii_components.labels import LABELS
from pii_components.profiles import shipped_profiles
from pii_components.release.engine import KEEP, load_engine
from tests.cli.conftest import files_in, put, rows_of
from tests.fresh import ROOT, fresh

ESSAY = "I am Ina Sorel.\nBuzan (2006) says so. ina.sorel@example.edu"


def test_detect_shows_offsets_and_labels_but_no_text(folder, pii_edu):
    put(folder / "essay.txt", ESSAY)
    run = pii_edu("detect essay.txt")
    assert run.exit_code == 0, run.output
    for shown in ("NAME_STUDENT", "CITED", " 5 ", " 14 "):
        assert shown in run.stdout
    assert "Sorel" not in run.output and "ina.sorel" not in run.output
    assert "Ina Sorel" in pii_edu("detect essay.txt --show-text").stdout
    assert "EMAIL" in pii_edu("detect -", stdin=ESSAY).stdout


def test_detect_writes_json_lines(folder, pii_edu):
    rows = [json.dumps({"document": "d7", "text": ESSAY}), "{oops", '{"text": "None."}']
    put(folder / "essays.jsonl", "\n".join(rows))
    run = pii_edu("detect essays.jsonl --out spans.jsonl")
    assert run.exit_code == 1 and "[E521]" in run.stderr
    rows = rows_of(folder / "spans.jsonl")
    names = "document record start_char end_char label role score source reason"
    assert list(rows[0]) == names.split()
    found = [
        (ESSAY[row["start_char"] : row["end_char"]], row["label"], row["role"]) for row in rows
    ]
    assert found == [
        ("Ina Sorel", "NAME_STUDENT", "STUDENT"),
        ("Buzan", "NAME_CITED", "CITED"),
        ("ina.sorel@example.edu", "EMAIL", "STUDENT"),
    ]
    assert {(row["document"], row["record"]) for row in rows} == {("d7", 1)}
    run = pii_edu("detect essays.jsonl --out strict.jsonl --config strict=true")
    assert run.exit_code == 2 and "[E532]" in run.stderr
    assert files_in(folder) == ["essays.jsonl", "spans.jsonl"]


def test_detect_names_the_files_of_a_folder_that_it_does_not_read(folder, pii_edu):
    for name in ("a.txt", "b.doc", "c.mp4"):
        put(folder / "in" / name, "Nobody.")
    run = pii_edu("detect in")
    skipped = [line[-8:] for line in run.stderr.splitlines() if "[E551]" in line]
    assert run.exit_code == 1 and skipped == [" (b.doc)", " (c.mp4)"]


def test_demo_shows_both_texts(pii_edu):
    run = pii_edu("demo --config profile=tags_only")
    assert run.exit_code == 0, run.output
    assert "before" in run.stdout and "after, profile tags_only" in run.stdout
    assert run.stdout.count("Buzan (2006)") == 2


def test_profiles_lists_every_label_and_profile(pii_edu):
    run = pii_edu("profiles")
    assert run.exit_code == 0
    for word in (*LABELS, *shipped_profiles()):
        assert word in run.stdout


def test_keygen_makes_a_key_for_the_owner_only_and_never_replaces_one(folder, pii_edu):
    assert pii_edu("keygen key").exit_code == 0
    key = (folder / "key").read_text()
    assert len(key.strip()) == 64 and stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    again = pii_edu("keygen key")
    assert again.exit_code == 2 and "[E510]" in again.stderr and (folder / "key").read_text() == key
    assert key.strip() not in again.output


def test_version_and_help(pii_edu):
    assert f"pii-edu {__version__}" in pii_edu("--version").stdout
    for line in ("--help", "detect --help", "corpus --help", "corpus convert --help"):
        assert pii_edu(line).exit_code == 0


def test_wrong_option_is_told_before_spacy_is_imported(folder):
    code = "import sys; sys.modules['spacy'] = None; from pii_components.cli import main; main()"
    assert fresh(code, "deidentify", "missing.csv", code=2).stderr.startswith("[E501]")


HEAVY = ("spacy", "numpy", "jinja2", "onnxruntime", "cryptography", "rapidfuzz")


@pytest.mark.parametrize("line", ["--help", "--version", "profiles", "keygen key", "init run.toml"])
def test_short_commands_import_nothing_heavy(folder, line):
    code = (
        "import sys\nfrom pii_components.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        f"sys.exit(' '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )
    assert fresh(code, *line.split()).stderr == ""


def test_help_says_how_each_command_begins():
    made = get_command(app).commands
    for name, (_, about) in COMMANDS.items():
        assert " ".join(made[name].help.split()).startswith(about.rstrip(".")), name
    assert "nothing" not in made and len({*made}) == len(made)


@pytest.mark.slow
def test_the_shipped_pipeline_hides_more_at_recall_than_at_precision():
    opened = open_source(ROOT / "assets/samples/essays.csv", text_field="text")
    records, hidden = list(opened), []
    for point in ("precision", "recall"):
        engine = load_engine(
            "en_pii_edu", key=b"a key for tests, of no other use", operating_point=point
        )
        spans = (span for result in engine.results(records) for span in result.spans)
        hidden.append(sum(span.action != KEEP for span in spans))
    assert hidden[0] < hidden[1]
