"""`--llm` and `[components.llm]`: where components go, what may leave, what is reported, what is never logged or written."""

import json
import logging
import warnings
from pathlib import Path

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.llm.models import Prices
from pii_components.llm.pipeline import add_components, llm_parts
from tests.cli.conftest import KEY, put, table
from tests.llm.server import completion, serving

TEXT = "I am Ina Sorel. I read Buzan by day, and others by night, as one does in a class."
VERIFIER = """
[nlp]
lang = "en"
pipeline = ["span_ruler", "llm", "hips_surrogate"]

[components]

[components.llm]
factory = "llm"

[components.llm.task]
@llm_tasks = "pii_edu.Verifier.v1"
control = {control}

[components.llm.model]
@llm_models = "pii_edu.OpenAICompatible.v1"
name = "gpt-4o-mini"
endpoint = "{endpoint}"
key_env = ""
tries = 2
"""
DEIDENTIFY = ("deidentify", "in.csv", "--out", "out.csv", "--text-column", "essay", "--config")
MARKER = VERIFIER.replace("Verifier", "MarkerNER").replace("control = {control}\n", "")


def config(folder: Path, endpoint: str, form: str = VERIFIER, *, control: str = "false") -> str:
    return str(put(folder / "llm.cfg", form.format(endpoint=endpoint, control=control)))


def keep(body, number):
    return completion("T")


def mark(body, number):
    """Copy the text between the fences, and mark a name."""
    text = body["messages"][-1]["content"].rsplit(">\n", 1)[1].rsplit("\n<", 1)[0]
    return completion(text.replace("Joy Adeyemi", "@@@Joy Adeyemi###"))


def test_a_config_as_spacy_llm_has_it_in_plain_spacy(tmp_path):
    from spacy_llm.util import assemble

    with serving(mark) as (endpoint, _):
        text = MARKER.format(endpoint=endpoint).replace(
            '"span_ruler", "llm", "hips_surrogate"', '"llm"'
        )
        nlp = assemble(put(tmp_path / "c.cfg", text))
        docs = list(nlp.pipe(["By Joy Adeyemi, who wrote this alone.", "Nobody is in here."]))
    assert [[(s.text, s.label_) for s in doc.spans["pii"]] for doc in docs] == [
        [("Joy Adeyemi", "NAME_STUDENT")],
        [],
    ]
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    assert (
        again.pipe_names == ["llm"] and KEY not in (tmp_path / "saved" / "config.cfg").read_text()
    )


def test_where_components_go(model, tmp_path):
    listed = 'pipeline = ["span_ruler", "llm", "hips_surrogate"]'
    for form in (VERIFIER, VERIFIER.replace(listed, ""), MARKER.replace(listed, "")):
        nlp = spacy.load(model)
        assert add_components(nlp, config(tmp_path, "http://127.0.0.1:9/v1", form)) == ["llm"]
        assert nlp.pipe_names == ["span_ruler", "llm", "hips_surrogate"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("http://127.0.0.1:9/v1", "https://api.openai.com/v1"), "E911"),
        (('key_env = ""', 'key_env = "NOT_SET_ANYWHERE"'), "E746"),
        (('"pii_edu.OpenAICompatible.v1"', '"spacy.GPT-4.v3"'), "E519"),
        (('"span_ruler", "llm"', '"pii_nerr", "llm"'), "E519"),
        (('factory = "llm"', 'factory = "sentencizer"'), "E900"),
        (("[components.llm.task]", "[components.llm.task"), "E501"),
        (("control = false", 'votes = "chance"'), "E519"),
        (("control = false", "no_such_setting = 1"), "E517"),
    ],
)
def test_what_cannot_be_done_is_refused(model, tmp_path, change, code):
    text = VERIFIER.format(endpoint="http://127.0.0.1:9/v1", control="false")
    assert change[0] in text
    with pytest.raises(PiiError, match=code):
        add_components(spacy.load(model), put(tmp_path / "bad.cfg", text.replace(*change)))


def test_a_config_cannot_allow_what_the_user_did_not(model, tmp_path):
    form = VERIFIER.replace("tries = 2", "tries = 2\nallow_remote = true")
    with pytest.raises(PiiError, match="E911"):
        add_components(spacy.load(model), config(tmp_path, "https://api.openai.com/v1", form))
    add_components(
        spacy.load(model), config(tmp_path, "https://api.openai.com/v1", form), allow_remote=True
    )


def test_deidentify_with_a_verifier_reports_what_it_sent(pii_edu, folder):
    put(folder / "in.csv", table(3))

    def answer(body, number):
        return completion("F" if '"20000001"' in body["messages"][-1]["content"] else "T")

    with serving(answer) as (endpoint, fake):
        done = pii_edu(*DEIDENTIFY, f"llm={config(folder, endpoint)}")
    assert done.exit_code == 0, done.output
    assert len(fake.asked) == 6  # a name and a number in each
    out = (folder / "out.csv").read_text()
    assert "20000001" in out and "20000000" not in out and "Ina Sorel" not in out
    llm = json.loads((folder / "report.json").read_text())["llm"]
    (row,) = llm["models"]
    assert (row["model"], row["host"]) == ("gpt-4o-mini", "127.0.0.1")
    assert (row["calls"], row["tokens_in"], row["errors"], llm["usd"]) == (6, 42, {}, 0)
    assert not row["left_this_machine"] and not row["tokens_estimated"]


def test_a_document_without_an_answer_is_set_aside_and_the_others_are_done(pii_edu, folder):
    def answer(body, number):
        return (500, {}) if "20000001" in body["messages"][-1]["content"] else mark(body, number)

    put(folder / "in.csv", table(3))
    with serving(answer) as (endpoint, _):
        done = pii_edu(*DEIDENTIFY, f"llm={config(folder, endpoint, MARKER)}")
    assert done.exit_code == 1 and "E557" in done.stderr and "E914" in done.stderr
    assert [line.split(",")[0] for line in (folder / "out.csv").read_text().splitlines()] == [
        "id",
        "d0",
        "d2",
    ]
    report = json.loads((folder / "report.json").read_text())
    assert report["skipped"]["records"][0]["code"] == "E557" and report["llm"]["models"][0][
        "errors"
    ] == {"E914": 1}


def test_a_run_that_a_wrong_key_ends_is_taken_up(pii_edu, folder):
    put(folder / "in.csv", table(40))
    good = [False]
    with serving(
        lambda body, number: keep(body, number) if good[0] or number <= 40 else (401, {})
    ) as (endpoint, fake):
        args = (*DEIDENTIFY, f"llm={config(folder, endpoint)}", "--config", "batch_size=8")
        done = pii_edu(*args)
        assert done.exit_code == 3 and "E748" in done.stderr, done.stderr
        good[0], before = True, len(fake.asked)
        done = pii_edu(*args, "--resume")
    assert done.exit_code == 0 and len(fake.asked) - before == 2 * (40 - 16)
    assert len((folder / "out.csv").read_text().splitlines()) == 41


@pytest.mark.parametrize(
    "setting", ["allow_remote=true", "prices=p.toml", "llm=none.cfg", "llm=llm.cfg"]
)
def test_options_that_do_not_fit_are_refused(pii_edu, folder, setting):
    put(folder / "in.txt", TEXT)
    config(folder, "https://api.openai.com/v1")
    done = pii_edu("deidentify", "in.txt", "--config", setting)
    assert done.exit_code == 2 and not (folder / "in.deidentified.txt").exists()
    assert setting != "llm=llm.cfg" or ("E911" in done.stderr and "api.openai.com" in done.stderr)


def test_what_was_sent_is_told_on_standard_error_where_there_is_no_report(pii_edu, folder):
    with serving(keep) as (endpoint, fake):
        done = pii_edu(
            "deidentify", "-", "--config", f"llm={config(folder, endpoint)}", stdin=TEXT.encode()
        )
    assert done.exit_code == 0 and "Sorel" not in done.stdout and len(fake.asked) == 1
    assert "gpt-4o-mini: 1 calls" in done.stderr and "on this machine" in done.stderr


def test_an_estimate_says_which_text_is_too_long(pii_edu, folder, model):
    put(folder / "long.txt", "word " * 250_000)
    asked = config(folder, "http://127.0.0.1:9/v1")
    done = pii_edu(*f"llm estimate long.txt --config model={model} --llm {asked}".split())
    assert done.exit_code == 1 and "E528" in done.stderr
    assert json.loads(done.stdout)["documents"] == 0


def test_an_estimate_sends_nothing(pii_edu, folder, model):
    put(folder / "in.csv", table(3))
    form = VERIFIER.replace('key_env = ""', 'key_env = "NOT_SET"')
    asked = config(folder, "https://api.openai.com/v1", form)
    args = f"llm estimate in.csv --config model={model} --llm {asked} --config text_column=essay"
    done = pii_edu(*args.split())
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    (row,) = told["models"]
    assert (told["documents"], told["dry_run"]) == (3, True)
    assert (row["calls"], row["tokens_estimated"]) == (6, True)
    assert told["usd"] == pytest.approx(
        Prices.load().cost("gpt-4o-mini", row["tokens_in"], row["tokens_out"])
    )


@pytest.mark.parametrize("form", [VERIFIER, MARKER])
def test_no_text_is_logged_or_written(model, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    records = []
    handler, root = logging.Handler(logging.DEBUG), logging.getLogger()
    handler.emit = lambda record: records.append(record.getMessage())
    level, own = root.level, logging.getLogger("spacy_llm").level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logging.getLogger("spacy_llm").setLevel(logging.DEBUG)
    try:
        with serving(mark if "MarkerNER" in form else keep) as (endpoint, fake):
            nlp = spacy.load(model)
            add_components(nlp, config(tmp_path, endpoint, form, control="true"))
            before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (doc,) = nlp.pipe([TEXT])
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        logging.getLogger("spacy_llm").setLevel(own)
    assert fake.asked and doc._.deidentified
    assert not any("Sorel" in line or "Buzan" in line for line in records)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert not any("Sorel" in str(value) for value in doc.user_data.get("llm_io", {}).values())
    ((_, part),) = llm_parts(nlp)
    assert part._cache._path is None and part._save_io is False


def corpus(folder: Path, n: int) -> Path:
    heads = [f"{i}: I am " for i in range(n)]
    essays = [
        {
            "id": head,
            "text": f"{head}Ina Sorel, and I read Buzan.",
            "spans": [[len(head), len(head) + 9, "NAME_STUDENT"]],
        }
        for head in heads
    ]
    return put(folder / "gold.jsonl", "".join(json.dumps(essay) + "\n" for essay in essays))


@pytest.mark.parametrize(("task", "expected"), [("detector", 25), ("verifier", 30)])
def test_export(pii_edu, folder, model, task, expected):
    corpus(folder, 100)
    args = f"llm export gold.jsonl --task {task} --out train.jsonl --config model={model}"
    done = pii_edu(*args.split())
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    assert len(lines) == expected
    answers = {line["messages"][-1]["content"] for line in lines}
    assert (
        answers == {"T", "F"}
        if task == "verifier"
        else all("@@@Ina Sorel###" in answer for answer in answers)
    )
    assert f"{expected} examples" in done.stderr
    for more, code in (("", "E510"), ("--config part=dev --overwrite", "E519")):
        assert f"[{code}]" in pii_edu(f"llm export gold.jsonl --out train.jsonl {more}").stderr


def test_export_with_reasoning(pii_edu, folder, model):
    corpus(folder, 100)
    export = "llm export gold.jsonl --task verifier --config reasoning=true --out t.jsonl".split()
    assert pii_edu(*export).exit_code == 2
    with serving(lambda body, number: completion("It seems so.\nResponse: T")) as (endpoint, fake):
        args = (*export, "--llm", config(folder, endpoint), "--config", f"model={model}")
        done = pii_edu(*args)
    assert done.exit_code == 0 and "15 of them T by default" in done.stderr, done.stderr
    assert len(fake.asked) == 15 + 15 * 6
