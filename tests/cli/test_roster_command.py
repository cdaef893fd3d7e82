"""`pii-edu deidentify --roster`, `detect --roster`, and what the last sweep says of a class list. Everybody is invented."""

import json

import pytest

from pii_components.cli import common

CSV = 'Name,Preferred,E-mail,ID,User\n"Lefmo, Jane",,jane.lefmo@stu.example.edu,20418837,beefmo\nWill Tarrow,,,,\nHope Adeyink,,,,\n'
# The small pipeline knows "Ina Sorel" and numbers of eight digits; "Buzan" is cited.
ROWS = [
    "LEFMO, JANE\nI am Ina Sorel (20418837). I met Will there, and hope he will stay.",
    "beefmo replied: Hope's map is good, says Buzan.",
    "Adeyink and Adeyink's, like Buzan.",
    "Ina told the class. Will Tarrow?",
    "I will hope for the best.",
]


@pytest.fixture
def essays(folder):
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(ROWS)]
    (folder / "essays.jsonl").write_text("\n".join(lines) + "\n", "utf8")
    (folder / "class.csv").write_text(CSV, "utf8")
    return folder


def released(folder) -> list[str]:
    return [
        json.loads(line)["text"] for line in (folder / "out.jsonl").read_text("utf8").splitlines()
    ]


def test_names_of_a_class_list_are_hidden_in_all_texts(essays, pii_edu):
    run = pii_edu("deidentify essays.jsonl --out out.jsonl --roster class.csv")
    assert run.exit_code == 0, run.output
    texts = "\n".join(released(essays))
    assert not [
        name
        for name in ("LEFMO", "JANE", "met Will", "beefmo", "Hope", "Adeyink", "Tarrow", "20418837")
        if name in texts
    ]
    assert "hope he will stay" in texts and "I will hope" in texts and texts.count("Buzan") == 2
    said = (
        (essays / "report.json").read_text("utf8")
        + (essays / "report.html").read_text("utf8")
        + run.output
    )
    assert not [name for name in ("efmo", "EFMO", "Adeyink", "Tarrow", "20418837") if name in said]


def test_without_it_the_sweep_is_told_what_stands_there(essays, pii_edu, monkeypatch):
    # What detection left, the sweep finds.
    monkeypatch.setattr("pii_components.cli.deidentify.use_roster", lambda nlp, roster: None)
    run = pii_edu("deidentify essays.jsonl --out out.jsonl --roster class.csv")
    assert run.exit_code == 0, run.output
    sweep, texts = json.loads((essays / "report.json").read_text("utf8"))["sweep"], released(essays)
    places = [
        (p["risk"], p["record"], texts[p["record"] - 1][p["start_char"] : p["end_char"]])
        for p in sweep["places"]
    ]
    assert places == [
        ("high", 1, "LEFMO, JANE"),
        ("high", 2, "beefmo"),
        ("high", 4, "Will Tarrow"),
        ("medium", 3, "Adeyink"),
        ("medium", 3, "Adeyink"),
    ]
    assert sweep["by_risk"] == {"high": 3, "medium": 2, "low": 0} and sweep["found"] == 5


def test_every_original_of_the_run_is_looked_for(folder, pii_edu):
    texts = [
        "Write to ina.sorel@example.edu or 20418837, says Ina Sorel.",
        "Who has 2041-8837? INA SOREL; inasorel, Ina.",
    ]
    (folder / "essays.jsonl").write_text(
        "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)), "utf8"
    )
    assert pii_edu("deidentify essays.jsonl --out out.jsonl").exit_code == 0
    sweep, texts = json.loads((folder / "report.json").read_text("utf8"))["sweep"], released(folder)
    places = [
        (p["risk"], texts[p["record"] - 1][p["start_char"] : p["end_char"]])
        for p in sweep["places"]
        if p["record"] == 2
    ]
    assert places == [("high", "2041-8837"), ("high", "INA SOREL"), ("high", "inasorel")]


@pytest.mark.parametrize(
    ("value", "terminal", "shown"),
    [
        ("false", True, False),
        ("true", False, False),
        ("true", True, True),
    ],
)
def test_text_is_shown_on_the_screen_only(value, terminal, shown, essays, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.cli.deidentify.use_roster", lambda nlp, roster: None)
    made = common.console

    def console(*, stderr: bool = False):
        screen = made(stderr=stderr)
        screen._force_terminal = terminal
        return screen

    monkeypatch.setattr(common, "console", console)
    run = pii_edu(
        "deidentify essays.jsonl --out out.jsonl --roster class.csv --config",
        f"show_leaks={value}",
    )
    assert run.exit_code == 0, run.output
    assert ("beefmo replied" in run.output) is shown and ("is no terminal" in run.output) is (
        value == "true" and not shown
    )
    assert not any(
        "beefmo" in (essays / f"report.{form}").read_text("utf8") for form in ("json", "html")
    )
    assert sorted(path.name for path in essays.iterdir()) == [
        "class.csv",
        "essays.jsonl",
        "out.jsonl",
        "report.html",
        "report.json",
    ]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--roster", "none.csv"], "E207"),
        (["--roster", "essays.jsonl"], "E208"),
        (["--config", "show_leaks=maybe"], "E650"),
        (["--roster", "class.csv", "--config", "engine=ray"], "E560"),
        (["--roster", "class.csv", "--out", "class.csv", "--overwrite"], "E472"),
    ],
)
def test_refused(options, code, essays, pii_edu):
    run = pii_edu("deidentify essays.jsonl", *options)
    assert run.exit_code == 2 and f"[{code}]" in run.output and "efmo" not in run.output
    assert (essays / "class.csv").read_text("utf8") == CSV


def test_detect_finds_them_too(essays, pii_edu):
    run = pii_edu("detect essays.jsonl --out spans.jsonl --roster class.csv --show-text")
    assert run.exit_code == 0, run.output
    rows = [json.loads(line) for line in (essays / "spans.jsonl").read_text("utf8").splitlines()]
    found = [(row["text"], row["label"]) for row in rows if row["source"] == "roster"]
    assert found == [
        ("LEFMO, JANE", "NAME_STUDENT"),
        ("Will", "NAME_STUDENT"),
        ("beefmo", "USERNAME"),
        ("Hope", "NAME_STUDENT"),
        ("Adeyink", "NAME_STUDENT"),
        ("Adeyink", "NAME_STUDENT"),
        ("Will Tarrow", "NAME_STUDENT"),
    ]
