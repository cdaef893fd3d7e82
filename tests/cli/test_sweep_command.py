"""`pii-edu deidentify --config sweep=...`, and --roster: names that one text hides and another leaves in clear. Everybody is invented."""

import json

import pytest

from tests.cli.conftest import files_in, places_of, put, put_texts, report, rows_of, texts_of

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
CLASS = (
    'Name,Preferred,E-mail,ID,User\n"Lefmo, Jane",,jane.lefmo@stu.example.edu,20418837,beefmo\n'
    "Will Tarrow,,,,\nHope Adeyink,,,,\n"
)
CLASS_ROWS = [
    "LEFMO, JANE\nI am Ina Sorel (20418837). I met Will there, and hope he will stay.",
    "beefmo replied: Hope's map is good, says Buzan.",
    "Adeyink and Adeyink's, like Buzan.",
    "Ina told the class. Will Tarrow?",
    "I will hope for the best.",
]
RUN = "deidentify in.jsonl --out out.jsonl"


@pytest.fixture
def essays(folder):
    put_texts(folder / "in.jsonl", ROWS)
    return folder


@pytest.fixture
def listed(folder):
    put_texts(folder / "in.jsonl", CLASS_ROWS)
    put(folder / "class.csv", CLASS)
    return folder


def shown_by(folder, run) -> str:
    pages = (folder / f"report.{form}" for form in ("json", "html"))
    return run.output + "".join(page.read_text("utf8") for page in pages)


def test_report_names_places_and_no_text(essays, pii_edu):
    run = pii_edu(RUN)
    assert run.exit_code == 0, run.output
    sweep = report(essays / "report.json")["sweep"]
    places = places_of(sweep, texts_of(essays / "out.jsonl"))
    assert [place[1:] for place in places] == [(2, "Sorel"), (2, "SOREL"), (2, "Übel")]
    counts = {name: sweep[name] for name in ("mode", "surnames", "documents", "found")}
    assert counts == {"mode": "report", "surnames": 2, "documents": 7, "found": 3}
    # in small letters in four texts: a word, "that shows up a lot"
    assert sweep["common_words"] == {"surnames": 1, "in_small_letters": 6}
    assert "in 3 places (1 documents)" in " ".join(run.output.split())
    shown = shown_by(essays, run)
    assert not [name for name in ("Sorel", "sorel", "Übel", "\\u00dcbel") if name in shown]
    assert files_in(essays) == ["in.jsonl", "out.jsonl", "report.html", "report.json"]


def test_hide_hides_them_and_the_vault_brings_them_back(essays, pii_edu):
    run = pii_edu(f"{RUN} --config sweep=hide --config labels_out=labels.jsonl --vault v")
    assert run.exit_code == 0, run.output
    texts, found = texts_of(essays / "out.jsonl"), report(essays / "report.json")
    assert not [text for text in texts if "Sorel" in text or "SOREL" in text or "Übel" in text]
    assert texts[2] == ROWS[2]
    name = texts[1].split()[0]
    assert texts[1].startswith(f"{name} helped me, and my friend {name.upper()}'s dog")
    assert found["sweep"]["found"] == 0
    spans = {(row["label"], row["action"]): row["count"] for row in found["spans"]}
    assert spans["NAME_STUDENT", "surrogate"] >= 2
    assert len(rows_of(essays / "labels.jsonl")[1]["spans"]) == 3
    back = pii_edu("reidentify out.jsonl --vault v --out back.jsonl")
    assert back.exit_code == 0, back.output
    assert (essays / "back.jsonl").read_bytes() == (essays / "in.jsonl").read_bytes()


def test_cited_authors_do_not_count_where_they_are_cited(folder, pii_edu):
    cited = "Buzan (2006) says so, says Buzan, not Prath."
    for i, text in enumerate(["I am Ina Sorel.", cited, "Odile Prath teaches."]):
        put(folder / f"in/{i}.txt", text)
    run = pii_edu("deidentify in --out out --profile ferpa_strict")
    assert run.exit_code == 0, run.output
    places = report(folder / "out/report.json")["sweep"]["places"]
    assert [row["record"] for row in places] == [2]
    assert files_in(folder / "out") == ["0.txt", "1.txt", "2.txt", "report.html", "report.json"]


def test_off(essays, pii_edu):
    assert pii_edu(f"{RUN} --config sweep=off").exit_code == 0
    assert "sweep" not in report(essays / "report.json")


def test_every_original_of_the_run_is_looked_for(folder, pii_edu):
    first = "Write to ina.sorel@example.edu or 20418837, says Ina Sorel."
    put_texts(folder / "in.jsonl", [first, "Who has 2041-8837? INA SOREL; inasorel, Ina."])
    assert pii_edu(RUN).exit_code == 0
    sweep = report(folder / "report.json")["sweep"]
    places = places_of(sweep, texts_of(folder / "out.jsonl"))
    found = [("high", 2, "2041-8837"), ("high", 2, "INA SOREL"), ("high", 2, "inasorel")]
    assert [place for place in places if place[1] == 2] == found


# The class list


def test_names_of_a_class_list_are_hidden_in_all_texts(listed, pii_edu):
    run = pii_edu(f"{RUN} --roster class.csv")
    assert run.exit_code == 0, run.output
    texts = "\n".join(texts_of(listed / "out.jsonl"))
    for name in "LEFMO,JANE,met Will,beefmo,Hope,Adeyink,Tarrow,20418837".split(","):
        assert name not in texts
    assert "hope he will stay" in texts and "I will hope" in texts and texts.count("Buzan") == 2
    shown = shown_by(listed, run)
    assert not [name for name in ("efmo", "EFMO", "Adeyink", "Tarrow", "20418837") if name in shown]


def test_what_detection_left_of_a_class_list_is_told(listed, pii_edu, monkeypatch):
    monkeypatch.setattr("pii_components.cli.deidentify.use_roster", lambda nlp, roster: None)
    assert pii_edu(f"{RUN} --roster class.csv").exit_code == 0
    sweep = report(listed / "report.json")["sweep"]
    assert places_of(sweep, texts_of(listed / "out.jsonl")) == [
        ("high", 1, "LEFMO, JANE"),
        ("high", 2, "beefmo"),
        ("high", 4, "Will Tarrow"),
        ("medium", 3, "Adeyink"),
        ("medium", 3, "Adeyink"),
    ]
    assert sweep["by_risk"] == {"high": 3, "medium": 2, "low": 0} and sweep["found"] == 5


def test_what_was_taken_of_a_class_list_is_told(listed, pii_edu):
    put(listed / "class.csv", "given,family,Ilse Okoro,Clan,\nHope,Adeyink,1,x,5\nWill,,2,y,6\n")
    lines = ("2 people: given, family", "not understood, and not used: column 3, Clan, column 5")
    for command in (f"{RUN} --dry-run", RUN, "detect in.jsonl"):
        run = pii_edu(f"{command} --roster class.csv")
        assert run.exit_code == 0 and all(line in run.stderr for line in lines), run.output
        assert "no family name was read: 1" in run.stderr
        assert "a name that is also a word, as Will: 2;" in run.stderr
    taken = {
        "people": 2,
        "read": ["given", "family"],
        "without_family_name": 1,
        "names_that_are_words": 2,
        "rows_of_nobody": 0,
    }
    taken["not_understood"] = ["column 3", "Clan", "column 5"]
    assert report(listed / "report.json")["class_list"] == taken
    assert "2 people: given, family; looked for" in (listed / "report.html").read_text("utf8")


def test_a_class_list_makes_the_corpus_the_scope(listed, pii_edu):
    put_texts(
        listed / "in.jsonl", ["By JANE LEFMO", "I asked Lefmo, J. and beefmo.", "Thanks, Jane!"]
    )
    run = pii_edu(f"{RUN} --roster class.csv")
    assert run.exit_code == 0 and "one surrogate in all files (scope = corpus)" in run.stderr
    assert report(listed / "report.json")["scope"] == "corpus"
    full, turned, given = texts_of(listed / "out.jsonl")
    first, last = full.removeprefix("By ").title().split()
    assert turned.startswith(f"I asked {last}, {first[0]}. and ") and given == f"Thanks, {first}!"
    run = pii_edu(f"{RUN} --roster class.csv --overwrite --config scope=document")
    assert run.exit_code == 0 and "scope = corpus" not in run.stderr
    assert report(listed / "report.json")["scope"] == "document"


def test_names_of_a_class_list_in_names_of_files_and_columns_are_seen(folder, pii_edu):
    put(folder / "class.csv", "given,family\nTovi,Quarrel\n")
    for name in ("Quarrel_1.txt", "notes.txt"):
        put(folder / "in" / name, "I like ferries.\n")
    assert pii_edu("deidentify in --out out --roster class.csv").exit_code == 0
    assert [name for name in files_in(folder / "out") if "Quarrel" in name] == []
    assert any("Quarrel" in name for name in files_in(folder / "in"))
    put(folder / "in.csv", "id,text,Tovi Quarrel\n1,I like ferries.,yes\n")
    refused = pii_edu("deidentify in.csv --text-column text --out out.csv --roster class.csv")
    assert "[E543]" in refused.stderr and "column 3 (" in refused.stderr, refused.output
    assert pii_edu("deidentify in.csv --text-column text --out out.csv").exit_code == 0
    # The header of a text column goes out, too; so does a field that comes late.
    put(folder / "own.csv", "id,Tovi_Quarrel\n1,I like ferries.\n")
    own = "deidentify own.csv --text-column Tovi_Quarrel --out own.out.csv --roster class.csv"
    assert "column 2 (" in pii_edu(own).stderr
    late = [{"text": "I like ferries."}] * 600 + [{"text": "So do I.", "Tovi Quarrel": "yes"}]
    put(folder / "late.jsonl", "".join(json.dumps(row) + "\n" for row in late))
    run = pii_edu(
        "deidentify late.jsonl --text-column text --out late.out.jsonl --roster class.csv"
    )
    assert run.exit_code == 1 and "Quarrel" not in run.output, run.output


def test_detect_finds_them_too(listed, pii_edu):
    run = pii_edu("detect in.jsonl --out spans.jsonl --roster class.csv --show-text")
    assert run.exit_code == 0, run.output
    rows = [row for row in rows_of(listed / "spans.jsonl") if row["source"] == "roster"]
    found = [row["text"] for row in rows if row["label"] == "NAME_STUDENT"]
    assert found == ["LEFMO, JANE", "Will", "Hope", "Adeyink", "Adeyink", "Will Tarrow"]
    assert [row["text"] for row in rows if row["label"] != "NAME_STUDENT"] == ["beefmo"]
