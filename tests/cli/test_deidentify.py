"""`pii-edu deidentify`: every form of input, bad input, and runs that are broken off. All texts are invented."""

import csv
import json
import os
import signal

import pytest

from pii_components.errors import PiiError
from pii_components.release.engine import Found, stands_elsewhere
from pii_components.release.run import RunState, check_resume, key_fingerprint, load_state
from tests.cli.conftest import ESSAY, put, table, wait_for_items

GONE = ("Ina", "Sorel", "20418837", "ina.sorel")
STAYS = ("I am ", ").\r\n\tBuzan (2006) says: map it.\nWrite to ")


def check(text: str) -> None:
    """No original is left, and everything between the spans is as it was."""
    for value in GONE:
        assert value not in text
    pos = 0
    for part in STAYS:
        pos = text.index(part, pos) + len(part)
    assert text.endswith(" ")


def report(path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_text_file(folder, pii_edu, bom):
    put(folder / "essay.txt", bom + ESSAY.encode())
    run = pii_edu("deidentify essay.txt --out clean.txt")
    assert run.exit_code == 0, run.output
    data = (folder / "clean.txt").read_bytes()
    assert data.startswith(bom)
    check(data[len(bom) :].decode())
    assert sorted(path.name for path in folder.iterdir()) == [
        "clean.txt",
        "essay.txt",
        "report.html",
        "report.json",
    ]


def test_folder(folder, pii_edu):
    for name in ("a.txt", "week 1/b.txt", "week 1/deep/c.TXT"):
        put(folder / "essays" / name, ESSAY)
    put(folder / "essays/notes.md", ESSAY)
    put(folder / "essays/week 1/empty.txt", "")
    run = pii_edu("deidentify essays --out clean")
    assert run.exit_code == 1, run.output
    found = sorted(
        str(path.relative_to(folder / "clean"))
        for path in (folder / "clean").rglob("*")
        if path.is_file()
    )
    assert found == ["a.txt", "report.html", "report.json", "week 1/b.txt", "week 1/deep/c.TXT"]
    for name in ("a.txt", "week 1/b.txt", "week 1/deep/c.TXT"):
        check((folder / "clean" / name).read_bytes().decode())
    assert report(folder / "clean/report.json")["skipped"] == {
        "count": 2,
        "records": [
            {"record": 2, "code": "E551", "file": "notes.md"},
            {"record": 5, "code": "E530", "file": "week 1/empty.txt"},
        ],
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(folder, pii_edu, delimiter):
    with open(folder / "essays.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(
            [["id", "essay", "grade"], ["1", ESSAY, "a, b; c"], ["2", "", ""], ["3", "None.", "4"]]
        )
    run = pii_edu("deidentify essays.csv --out clean.csv --text-column essay")
    assert run.exit_code == 0, run.output
    assert (folder / "clean.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    with open(folder / "clean.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    check(rows[1][1])
    rows[1][1] = ""
    assert rows == [
        ["id", "essay", "grade"],
        ["1", "", "a, b; c"],
        ["2", "", ""],
        ["3", "None.", "4"],
    ]


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_json(folder, pii_edu, form):
    rows = [
        '{"n": 1.5, "full_text": ' + json.dumps(ESSAY) + ', "é": [1000.0]}',
        '{"full_text": null}',
        '{"full_text": "None \\u00e9."}',
    ]
    put(
        folder / f"essays.{form}",
        "\n".join(rows) + "\n" if form == "jsonl" else "[" + ", ".join(rows) + "]",
    )
    run = pii_edu(
        "deidentify", f"essays.{form}", "--out", f"clean.{form}", "--text-column", "full_text"
    )
    assert run.exit_code == 0, run.output
    out = (folder / f"clean.{form}").read_text(encoding="utf-8")
    lines = (
        out.splitlines()
        if form == "jsonl"
        else out.removeprefix("[\n").removesuffix("\n]\n").split(",\n")
    )
    assert lines[0].startswith('{"n": 1.5, "full_text": "I am ') and lines[0].endswith(
        ', "é": [1000.0]}'
    )
    assert lines[1:] == rows[1:]
    check(json.loads(lines[0])["full_text"])


def test_kaggle_record_keeps_its_form_and_no_token_of_the_original(folder, pii_edu):
    essay = {
        "document": 7,
        "full_text": "I am Ina Sorel, not Odile Prath.\n\nInk",
        "tokens": ["I", "am", "Ina", "Sorel", ",", "not", "Odile", "Prath", ".", "\n\n", "Ink"],
        "trailing_whitespace": [
            True,
            True,
            True,
            False,
            True,
            True,
            True,
            False,
            False,
            False,
            False,
        ],
        "labels": [
            "O",
            "O",
            "B-NAME_STUDENT",
            "I-NAME_STUDENT",
            "O",
            "O",
            "B-NAME_INSTRUCTOR",
            "I-NAME_INSTRUCTOR",
            "O",
            "O",
            "O",
        ],
    }
    put(folder / "train.json", json.dumps([essay]))
    run = pii_edu("deidentify train.json --out clean.json")
    assert run.exit_code == 0, run.output
    assert "Sorel" not in (folder / "clean.json").read_text()
    (new,) = json.loads((folder / "clean.json").read_text())
    assert list(new) == list(essay) and new["document"] == 7
    joined = "".join(
        token + " " * space
        for token, space in zip(new["tokens"], new["trailing_whitespace"], strict=True)
    )
    assert joined == new["full_text"]
    labelled = [
        (token, label)
        for token, label in zip(new["tokens"], new["labels"], strict=True)
        if label != "O"
    ]
    assert labelled[-2:] == [("Odile", "B-NAME_INSTRUCTOR"), ("Prath", "I-NAME_INSTRUCTOR")]
    assert [label for _, label in labelled[:-2]][0] == "B-NAME_STUDENT"


def test_standard_input_to_standard_output(pii_edu):
    run = pii_edu("deidentify -", stdin=ESSAY.encode())
    assert run.exit_code == 0, run.stderr
    check(run.stdout_bytes.decode())


def test_standard_input_to_file(folder, pii_edu):
    assert pii_edu("deidentify - --out clean.txt", stdin=ESSAY.encode()).exit_code == 0
    check((folder / "clean.txt").read_bytes().decode())


def test_output_has_a_name_of_its_own_if_none_is_given(folder, pii_edu):
    put(folder / "in/essays.csv", table(2))
    assert pii_edu("deidentify in/essays.csv").exit_code == 0
    assert (folder / "essays.deidentified.csv").exists()


def test_report_counts_and_tells_no_text(folder, pii_edu):
    rows = [
        ["id", "writer", "essay"],
        ["1", "Ina Sorel", ESSAY + "INA"],
        ["2", "x", "Odile Prath, I am Jörn Übel"],
        ["3", "y", " "],
    ]
    with open(folder / "essays.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    with open(folder / "essays.csv", "ab") as file:
        file.write(b"4,z,Ina \xff\n")
    run = pii_edu("deidentify essays.csv --out clean.csv --keep writer")
    assert run.exit_code == 1
    found = report(folder / "report.json")
    spans = {(row["label"], row["role"], row["action"]): row["count"] for row in found["spans"]}
    assert spans == {
        ("NAME_STUDENT", "STUDENT", "surrogate"): 2,
        ("NAME_CITED", "CITED", "keep"): 1,
        ("NAME_INSTRUCTOR", "INSTRUCTOR", "keep"): 1,
        ("EMAIL", "STUDENT", "surrogate"): 1,
        ("ID_NUM", "STUDENT", "surrogate"): 1,
    }
    assert (found["documents"], found["documents_changed"], found["documents_without_text"]) == (
        3,
        2,
        1,
    )
    assert found["skipped"] == {"count": 1, "records": [{"record": 4, "code": "E520", "line": 7}]}
    assert found["to_review"]["replaced_value_stands_in_unchanged_field"] == {"writer": 1}
    assert found["profile"] == "crapii" and found["key"] == "environment" and found["seconds"] >= 0
    for shown in (json.dumps(found, ensure_ascii=False), run.output):
        for value in (
            "Ina",
            "Sorel",
            "Prath",
            "Übel",
            "Buzan",
            "ina.sorel",
            "20418837",
            "a key for tests",
        ):
            assert value not in shown


FOUND = [Found(5, 14, "NAME_STUDENT", "STUDENT", 1.0, "", "")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am Ina Sorel", False),
        ("I am Ina Sorel, Ina Sorels are few, and xIna Sorel", False),
        ("I am Ina Sorel. Ina Sorel", True),
        ("I am Ina Sorel_1, Ina Sorel's", True),
    ],
)
def test_value_that_was_replaced_and_missed_elsewhere_is_seen(text, expected):
    assert stands_elsewhere(text, {"Ina Sorel"}, FOUND) is expected


def test_second_report_in_a_folder_has_another_name(folder, pii_edu):
    put(folder / "a.csv", table(1))
    put(folder / "b.csv", table(2))
    assert pii_edu("deidentify a.csv --out clean_a.csv").exit_code == 0
    assert pii_edu("deidentify b.csv --out clean_b.csv").exit_code == 0
    assert report(folder / "report.json")["documents"] == 1
    assert report(folder / "clean_b.csv.report.json")["documents"] == 2


@pytest.mark.parametrize("profile", ["crapii", "ets", "tags_only", "ferpa_strict", "mine.toml"])
def test_profiles(folder, pii_edu, profile):
    put(
        folder / "mine.toml",
        'name = "mine"\n[actions]\nNAME_CITED = "redact"\nNAME_STUDENT = "keep"\n',
    )
    put(folder / "essay.txt", ESSAY)
    assert pii_edu("deidentify essay.txt --out clean.txt --profile", profile).exit_code == 0
    text = (folder / "clean.txt").read_text()
    assert ("Ina Sorel" in text) == (profile == "mine.toml")
    assert ("Buzan" in text) == (profile != "mine.toml")
    if profile == "tags_only":
        assert text.startswith("I am [NAME_STUDENT] ([ID_NUM]).")


def test_same_key_same_text_another_key_another_text(folder, pii_edu):
    put(folder / "essay.txt", ESSAY)
    put(folder / "key1", "one key of thirty-two characters")
    put(folder / "key2", "two keys of thirty-two character")
    for out, key in (("a.txt", "key1"), ("b.txt", "key1"), ("c.txt", "key2")):
        assert pii_edu("deidentify essay.txt --out", out, "--key-file", key).exit_code == 0
    a, b, c = ((folder / name).read_text() for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c


def test_a_key_is_made_and_that_is_told(folder, pii_edu, monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY")
    put(folder / "essay.txt", ESSAY)
    run = pii_edu("deidentify essay.txt --out clean.txt")
    assert run.exit_code == 0 and "not kept" in run.stderr
    assert report(folder / "report.json")["key"] == "random"


BAD = [
    (["missing.csv"], "E501"),
    (["essays.odt"], "E502"),
    (["essays.docx"], "E657"),
    (["cut.zip"], "E567"),
    (["none.zip"], "E504"),
    (["cut.pdf"], "E657"),
    (["empty.csv"], "E503"),
    (["empty.txt"], "E503"),
    (["none"], "E504"),
    (["good.csv", "--text-column", "body"], "E652"),
    (["good.csv", "--id-column", "body"], "E652"),
    (["which.csv"], "E506"),
    (["good.csv", "--config", "encoding=klingon"], "E508"),
    (["good.csv", "--out", "good.csv"], "E472"),
    (["good.csv", "--out", "./sub/../good.csv", "--overwrite"], "E472"),
    (["good.csv", "--out", "link.csv", "--overwrite"], "E472"),
    (["texts", "--out", "texts/clean"], "E472"),
    (["texts/sub", "--out", "texts"], "E472"),
    (["texts", "--out", "texts", "--overwrite"], "E472"),
    (["good.csv", "--out", "there.csv"], "E510"),
    (["good.csv", "--out", "fresh.csv", "--config", "report=there.csv"], "E510"),
    (["texts", "--out", "full"], "E510"),
    (["good.csv", "--out", "clean.jsonl"], "E511"),
    (["good.csv", "--out", "full"], "E511"),
    (["texts", "--out", "there.csv"], "E511"),
    (["good.csv", "--out", "there.csv/clean.csv"], "E512"),
    (["good.csv", "--resume"], "E513"),
    (["good.csv", "--config", "model=no_such_model"], "E516"),
    (["good.csv", "--config", "model=texts"], "E517"),
    (["good.csv", "--config", "model=BARE"], "E518"),
    (["good.csv", "--config", "scope=planet"], "E519"),
    (["bad.txt"], "E520"),
    (["bad.txt", "--config", "strict=true"], "E532"),
    (["zip.txt"], "E520"),
    (["zip.csv"], "E550"),
    (["zip.json"], "E521"),
    (["rtf.txt"], "E520"),
    (["none_good.jsonl"], "E521"),
    (["good.csv", "--resume", "--overwrite"], "E465"),
    (["good.csv", "--key-file", "no_such_key"], "E401"),
    (["good.csv", "--key-file", "empty.txt"], "E402"),
    (["good.csv", "--profile", "no_such_profile"], "E425"),
    (["good.csv", "--profile", "good.csv"], "E425"),
]


@pytest.fixture
def many_files(folder):
    put(folder / "good.csv", table(2))
    (folder / "link.csv").symlink_to(folder / "good.csv")
    put(folder / "which.csv", "id,words\n1,x\n")
    for name in ("essays.odt", "essays.docx", "cut.zip", "cut.pdf"):
        put(folder / name, "x")
    put(folder / "none.zip", b"PK\5\6" + bytes(18))
    put(folder / "empty.csv", "")
    put(folder / "empty.txt", "")
    put(folder / "bad.txt", b"Ina \xff")
    put(folder / "none_good.jsonl", "{\n")
    for name in ("zip.txt", "zip.csv", "zip.json"):
        put(folder / name, b"PK\3\4\x14\0\0\0\x08\0Ina Sorel\xff")
    put(folder / "rtf.txt", "{\\rtf1 Ina Sorel}")
    put(folder / "none/x.md", "x")
    put(folder / "texts/sub/a.txt", "x")
    put(folder / "there.csv", "old")
    put(folder / "full/old.txt", "old")
    return folder


@pytest.mark.parametrize(
    ("args", "code"), BAD, ids=[f"{code}-{' '.join(args)}" for args, code in BAD]
)
def test_bad_input_is_one_coded_line(many_files, pii_edu, tmp_path_factory, args, code):
    import spacy

    if "model=BARE" in args:
        bare = tmp_path_factory.mktemp("bare") / "model"
        spacy.blank("en").to_disk(bare)
        args = [arg.replace("BARE", str(bare)) for arg in args]
    before = {path: path.read_bytes() for path in many_files.rglob("*") if path.is_file()}
    run = pii_edu("deidentify", *args)
    assert run.exit_code == 2, run.output
    lines = [line for line in run.stderr.splitlines() if line.startswith("[E")]
    assert len(lines) == 1 and lines[0].startswith(f"[{code}]"), run.output
    assert "Traceback" not in run.output and "Ina" not in run.output
    after = {path: path.read_bytes() for path in many_files.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path in before} == before
    assert "wrote" not in run.output and after.keys() == before.keys()


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["deidentify"],
        ["deidentify", "x.csv", "--config", "batch_size=0"],
        ["deidentify", "x.csv", "--no-such"],
        ["nothing"],
    ],
)
def test_usage_errors_exit_with_2(pii_edu, args):
    assert pii_edu(*args).exit_code == 2


def test_strict_stops_at_the_first_skip_and_what_was_done_stays(folder, pii_edu):
    put(folder / "essays.jsonl", '{"text": "I am Ina Sorel"}\n{oops\n{"text": "I am Ina Sorel"}\n')
    run = pii_edu("deidentify essays.jsonl --out clean.jsonl --config strict=true")
    assert run.exit_code == 3 and "[E532]" in run.stderr and "[E521]" in run.stderr
    assert not (folder / "clean.jsonl").exists()
    assert len((folder / "clean.jsonl.partial").read_text().splitlines()) == 1
    again = pii_edu("deidentify essays.jsonl --out clean.jsonl --resume")
    assert again.exit_code == 1, again.output
    assert len((folder / "clean.jsonl").read_text().splitlines()) == 2
    assert report(folder / "report.json")["documents"] == 2
    assert sorted(path.name for path in folder.iterdir()) == [
        "clean.jsonl",
        "essays.jsonl",
        "report.html",
        "report.json",
    ]


def test_record_on_which_the_pipeline_fails_is_skipped_alone(folder, pii_edu, monkeypatch):
    from spacy.language import Language

    def fail(self, text, **kwargs):
        if "boom" in (text if isinstance(text, str) else text.text):
            raise RuntimeError(f"cannot do {text}")
        return make_doc(self, text)

    make_doc = Language.make_doc
    monkeypatch.setattr(Language, "make_doc", fail)
    put(folder / "essays.csv", "text\nI am Ina Sorel\nboom Ina Sorel\nI am Ina Sorel\n")
    run = pii_edu("deidentify essays.csv --out clean.csv")
    assert run.exit_code == 1, run.output
    assert "[E526]" in run.stderr and "RuntimeError" in run.stderr and "boom" not in run.output
    out = (folder / "clean.csv").read_text()
    assert "boom" not in out and "Sorel" not in out and len(out.splitlines()) == 3


def test_text_over_the_limit_of_the_pipeline_is_skipped(folder, pii_edu):
    put(folder / "essays.csv", "text\nI am Ina Sorel\n" + "a " * 500_001 + "\n")
    run = pii_edu("deidentify essays.csv --out clean.csv")
    assert run.exit_code == 1 and "[E528]" in run.stderr


def test_unexpected_error_shows_code_and_type_only(folder, pii_edu, monkeypatch):
    from pii_components.release import run as running

    def fail(*args):
        raise ZeroDivisionError("Ina Sorel")

    monkeypatch.setattr(running.Report, "add", fail)
    put(folder / "essays.csv", table(2))
    run = pii_edu("deidentify essays.csv --out clean.csv")
    assert run.exit_code == 3 and "[E533]" in run.stderr and "ZeroDivisionError" in run.stderr
    assert "Ina" not in run.output and "Traceback" not in run.output
    again = pii_edu("deidentify essays.csv --out clean.csv --overwrite --debug")
    assert isinstance(again.exception, ZeroDivisionError)


def test_overwrite_replaces_files_of_the_same_name_and_leaves_others(folder, pii_edu):
    put(folder / "texts/a.txt", ESSAY)
    put(folder / "clean/a.txt", "old")
    put(folder / "clean/other.txt", "other")
    assert pii_edu("deidentify texts --out clean --overwrite").exit_code == 0
    check((folder / "clean/a.txt").read_bytes().decode())
    assert (folder / "clean/other.txt").read_text() == "other"


@pytest.mark.parametrize(
    ("form", "how"), [("csv", "kill"), ("json", "term"), ("folder", "kill"), ("names", "kill")]
)
def test_run_that_was_broken_off_and_taken_up_gives_the_same_output(
    folder, pii_edu, fork, form, how
):
    n = 120
    texts = [row.split(",", 1)[1] for row in table(n).splitlines()[1:]]
    if form == "csv":
        name = put(folder / "in.csv", table(n) + "x,Ina \n").name
        with open(folder / name, "ab") as file:
            file.write(b"y,\xff\n")
    elif form == "json":
        name = put(folder / "in.json", json.dumps([{"essay": text} for text in texts])).name
    else:
        for i, text in enumerate(texts):
            put(folder / f"in/{i % 3}/{'Ilse_Okoro_' if form == 'names' else ''}{i:03}.txt", text)
        name, form = "in", "folder"
    suffix = "" if form == "folder" else f".{form}"
    pii_edu(
        "deidentify",
        name,
        "--out",
        f"whole{suffix}",
        "--config",
        "batch_size=7",
        "--config",
        "report=whole_report.json",
    )
    child = fork("deidentify", name, "--out", f"clean{suffix}", "--config", "batch_size=2")
    wait_for_items(folder / f"clean{suffix}.state.json", 30)
    os.kill(child, signal.SIGKILL if how == "kill" else signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (-signal.SIGKILL if how == "kill" else 130)
    state = json.loads((folder / f"clean{suffix}.state.json").read_text())
    assert 30 <= state["items"] < n and "Okoro" not in json.dumps(state)
    partial = folder / f"clean{suffix}.partial"
    assert partial.exists() and not (folder / f"clean{suffix}").exists()
    if how == "term":
        assert (
            "[E534]" in (folder / "log").read_text()
            and len(json.loads(partial.read_text())) == state["items"]
        )
    assert pii_edu("deidentify", name, "--out", f"clean{suffix}").exit_code == 2
    again = pii_edu("deidentify", name, "--out", f"clean{suffix}", "--resume")
    assert again.exit_code == (1 if form == "csv" else 0), again.output
    if form == "folder":
        pairs = [
            (path, folder / "clean" / path.relative_to(folder / "whole"))
            for path in (folder / "whole").rglob("*.txt")
        ]
        assert len(pairs) == n
    else:
        pairs = [(folder / f"whole{suffix}", folder / f"clean{suffix}")]
    for whole, clean in pairs:
        assert whole.read_bytes() == clean.read_bytes()
    mine = report(folder / ("clean/report.json" if form == "folder" else "report.json"))
    whole_report = report(folder / "whole_report.json")
    for name in ("documents", "words", "spans", "skipped", "to_review"):
        assert mine[name] == whole_report[name]
    assert not partial.exists() and not (folder / f"clean{suffix}.state.json").exists()


SETTINGS = {"input": "csv:1:2", "profile": "crapii 0"}


@pytest.mark.parametrize(
    ("settings", "key", "code"),
    [
        (SETTINGS, "1", ""),
        ({**SETTINGS, "input": "csv:1:3"}, "1", "E514"),
        ({**SETTINGS, "profile": "ets 1"}, "1", "E514"),
        (SETTINGS, "2", "E515"),
        (SETTINGS, "", "E515"),
    ],
)
def test_run_is_taken_up_only_with_the_same_settings_and_key(settings, key, code):
    old = RunState(SETTINGS, key_fingerprint(b"1"))
    try:
        check_resume(old, settings, key_fingerprint(key.encode()) if key else "")
        assert code == ""
    except PiiError as err:
        assert err.code == code


def test_state_holds_no_key(tmp_path):
    path = tmp_path / "x.state.json"
    RunState(SETTINGS, key_fingerprint(b"a secret key of some length"), items=3).save(path)
    assert b"secret" not in path.read_bytes()
    assert load_state(path).items == 3
    for damaged in ("{}", '{"settings": {}, "items": -1}', '{"settings": {}, "offset": "x"}', "{"):
        path.write_text(damaged)
        with pytest.raises(PiiError) as err:
            load_state(path)
        assert err.value.code == "E513"
