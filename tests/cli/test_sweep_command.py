"""`pii-edu deidentify --sweep`: surnames that one text hides and another leaves in clear. Everybody is invented."""

import json

import pytest

# The small pipeline knows "Ina Sorel", "Ina", "Jörn Übel"; "Buzan" is cited, "Odile Prath" teaches.
ROWS = [
    "I am Ina Sorel. Buzan (2006) says: map it.",
    "Sorel helped me, and my friend SOREL's dog. Übel too.",
    "Nobody is here, says Buzan.",
    "I am Jörn Übel, and I cite sorel twice: sorel.",
    "A sorel is no person; a sorel runs.",
    "One more sorel.",
    "And one sorel at last.",
]


@pytest.fixture
def essays(folder):
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(ROWS)]
    (folder / "essays.jsonl").write_text("\n".join(lines) + "\n", "utf8")
    return folder


def released(folder) -> list[str]:
    return [
        json.loads(line)["text"] for line in (folder / "out.jsonl").read_text("utf8").splitlines()
    ]


def report(folder) -> dict:
    return json.loads((folder / "report.json").read_text("utf8"))


def test_report_names_places_and_no_text(essays, pii_edu):
    run = pii_edu("deidentify essays.jsonl --out out.jsonl")
    assert run.exit_code == 0, run.output
    sweep, texts = report(essays)["sweep"], released(essays)
    places = [
        (row["record"], texts[row["record"] - 1][row["start_char"] : row["end_char"]])
        for row in sweep["places"]
    ]
    assert places == [(2, "Sorel"), (2, "SOREL"), (2, "Übel")]
    assert (sweep["mode"], sweep["surnames"], sweep["documents"], sweep["found"]) == (
        "report",
        2,
        7,
        3,
    )
    # in small letters in four texts: a word, "that shows up a lot"
    assert sweep["common_words"] == {"surnames": 1, "in_small_letters": 6}
    assert "in 3 places (1 documents)" in " ".join(run.output.split())
    shown = (
        (essays / "report.json").read_text("utf8")
        + (essays / "report.html").read_text("utf8")
        + run.output
    )
    assert not [name for name in ("Sorel", "sorel", "Übel", "\\u00dcbel") if name in shown]
    assert sorted(path.name for path in essays.iterdir()) == [
        "essays.jsonl",
        "out.jsonl",
        "report.html",
        "report.json",
    ]


def test_hide_hides_them_in_plain_sight(essays, pii_edu):
    run = pii_edu(
        "deidentify essays.jsonl --out out.jsonl --config sweep=hide --config "
        "labels_out=labels.jsonl"
    )
    assert run.exit_code == 0, run.output
    texts, found = released(essays), report(essays)
    assert not [text for text in texts if "Sorel" in text or "SOREL" in text or "Übel" in text]
    assert texts[2] == ROWS[2]
    assert texts[1].startswith(texts[1].split()[0] + " helped me, and my friend ")
    assert texts[1].split()[0].upper() + "'s" in texts[1]
    assert found["sweep"]["found"] == 0
    counts = [
        row["count"]
        for row in found["spans"]
        if (row["label"], row["action"]) == ("NAME_STUDENT", "surrogate")
    ]
    assert sum(counts) == 5
    labelled = [
        json.loads(line) for line in (essays / "labels.jsonl").read_text("utf8").splitlines()
    ]
    assert len(labelled[1]["spans"]) == 3


def test_hidden_ones_come_back_from_the_vault(essays, pii_edu):
    pytest.importorskip("cryptography")
    run = pii_edu("deidentify essays.jsonl --out out.jsonl --config sweep=hide --vault v.vault")
    assert run.exit_code == 0, run.output
    back = pii_edu("reidentify out.jsonl --vault v.vault --out back.jsonl")
    assert back.exit_code == 0, back.output
    assert (essays / "back.jsonl").read_bytes() == (essays / "essays.jsonl").read_bytes()


def test_cited_authors_do_not_count_where_they_are_cited(folder, pii_edu):
    for i, text in enumerate(
        ["I am Ina Sorel.", "Buzan (2006) says so, says Buzan, not Prath.", "Odile Prath teaches."]
    ):
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / f"{i}.txt").write_text(text, "utf8")
    run = pii_edu("deidentify in --out out --profile ferpa_strict")
    assert run.exit_code == 0, run.output
    sweep = json.loads((folder / "out" / "report.json").read_text("utf8"))["sweep"]
    assert [row["record"] for row in sweep["places"]] == [2]
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "0.txt",
        "1.txt",
        "2.txt",
        "report.html",
        "report.json",
    ]


def test_off(essays, pii_edu):
    assert pii_edu("deidentify essays.jsonl --out out.jsonl --config sweep=off").exit_code == 0
    assert "sweep" not in report(essays)


def test_wrong_value(essays, pii_edu):
    run = pii_edu("deidentify essays.jsonl --config sweep=maybe")
    assert run.exit_code == 2
    assert "[E519]" in run.output
