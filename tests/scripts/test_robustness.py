"""Numbers computed by hand, with a detector that knows two names in one spelling each."""

import json
import random
import re

import pytest

from pii_components.corpus.build import split_of
from pii_components.corpus.templates import Filled
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity
from pii_components.files.formats.base import LabelledText
from pii_components.profiles import Profile
from scripts.perturbations import CASE, CHANGES, LAYOUT, LENGTH, Perturbation, around, on
from scripts.robustness import (
    LONG,
    authored_essays,
    choose,
    count,
    main,
    measure,
    measured,
    perturbations,
    prose_of,
    take,
)
from tests.tiny import cases

CASES = cases("studies")
CRAPII = Profile.load("crapii").protects
# Finds two names and a town where they are written so; "BUDI" in part.
PATTERN = "Ana Roe|Budi|Paris|BUD(?=I)"
ESSAYS = [
    LabelledText(
        "1",
        "By Ana Roe and Budi. See Smith.",
        ((3, 10, "NAME_STUDENT"), (15, 19, "NAME_CONNECTED"), (25, 30, "NAME_CITED")),
    ),
    LabelledText("2", "By Ana Roe, aged 20.", ((3, 10, "NAME_STUDENT"), (17, 19, "AGE"))),
    LabelledText(
        "3", "Paris is a town by Smith and others, as you know.", ((19, 24, "NAME_CITED"),)
    ),
    LabelledText("4", "Paris, nobody knows.", (), ((0, 5),)),
]
UPPER = Perturbation("upper", CASE, "", on("names", CHANGES["upper"]), "names", rewrites=True)
WRAPPED = Perturbation("wrapped", LAYOUT, "", around("names", "<", ">"), "names")
PARIS = Perturbation("paris", LAYOUT, "", lambda filled, rng: filled + Filled(" Paris."))
NOTHING = Perturbation("nothing", CASE, "", lambda filled, rng: filled)
PROSE = ["The town is old, and the river flows on and on. " * n for n in range(4, 9)]
ALL = perturbations(PROSE)


@pytest.fixture(scope="module")
def report(finds):
    return measure(finds(PATTERN), ESSAYS, [UPPER, WRAPPED, PARIS, NOTHING], CRAPII)


def test_unperturbed(report):
    base = report["unperturbed"]
    assert (base["documents"], base["support"], base["clean_documents"]) == (4, 3, 1)
    assert (base["recall"], base["whole"], base["strict"]) == (1, 1, 1)
    # "Paris" in one clean essay of eleven words; the masked one counts for nothing.
    assert (base["false_alarms"], base["false_alarms_per_10k_words"]) == (1, 909.0909)
    assert base["clean_touched"] == 1
    assert not re.search("Ana|Roe|Budi|Smith|Paris", json.dumps(report).replace('"paris"', ""))


def test_perturbed(report):
    # Of 6 + 4 + 6 letters "BUD" is hidden; no span wholly, none strictly. All three were found before.
    upper, paris = report["perturbations"]["upper"], report["perturbations"]["paris"]
    assert (upper["class"], upper["documents"], upper["support"]) == ("case", 3, 3)
    assert (upper["recall"], upper["whole"], upper["strict"]) == (round(3 / 16, 4), 0, 0)
    assert (upper["unperturbed_recall"], upper["drop"]) == (1, round(13 / 16, 4))
    assert 0 <= upper["recall_95"][0] <= upper["recall"] <= upper["recall_95"][1] <= 0.3
    assert upper["false_alarms"] == upper["unperturbed_false_alarms"] == 1
    assert (paris["recall"], paris["drop"], paris["documents"]) == (1, 0, 4)
    assert (paris["false_alarms"], paris["unperturbed_false_alarms"]) == (2, 1)
    assert paris["false_alarms_per_10k_words"] == pytest.approx(2 / 12 * 1e4, abs=0.1)
    nothing = {"class": "case", "about": "", "documents": 0, "support": 0, "clean_documents": 0}
    assert report["perturbations"]["nothing"] == nothing
    classes = report["classes"]
    assert {name: found["recall"] for name, found in classes.items()} == {
        "case": round(3 / 16, 4),
        "layout": 1,
    }


def test_the_profile_decides_what_must_be_hidden(finds):
    strict = measure(finds(PATTERN), ESSAYS, [], lambda label: True)["unperturbed"]
    assert strict["support"] == 5 and strict["clean_documents"] == 0
    with pytest.raises(PiiError, match="E552"):
        measure(finds(PATTERN), ESSAYS[2:], [], CRAPII)


def test_few_essays_are_lengthened(finds):
    system = finds(PATTERN)
    report = measure(system, ESSAYS, choose(ALL, ["long_people_late"]), CRAPII, 2)
    (found,) = report["perturbations"].values()
    assert (found["documents"], found["class"], system.read) == (2, LENGTH, 4 + 2)


@pytest.mark.parametrize("place, share", [("early", 0), ("middle", 0.5), ("late", 1)])
def test_long_essays(place, share):
    (perturbation,) = choose(ALL, [f"long_people_{place}"])
    essay = Filled(ESSAYS[0].text, ESSAYS[0].spans)
    one = perturbation.change(essay, random.Random(1))
    assert LONG * 0.97 <= len(one.text) <= LONG * 1.06
    assert [one.text[a:b] for a, b, _ in one.spans] == ["Ana Roe", "Budi", "Smith"]
    assert one.spans[0][0] / len(one.text) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize(
    ("counts", "rewrites", "places"),
    [
        ("all", False, [0, 1, 2]),
        ("names", False, [0, 2]),
        ("EMAIL", False, [1]),
        ("names", True, [0]),
    ],
)
def test_what_is_measured(counts, rewrites, places):
    spans = ((5, 14, "NAME_STUDENT"), (16, 27, "EMAIL"), (33, 38, "NAME_CITED"))
    before = Filled("I am Ana Lopez, ana@uni.edu. See Smith.", spans)
    after = Filled(before.text.replace("Ana", "ANA"), spans)
    one = Perturbation("p", CASE, "", lambda filled, rng: filled, counts, rewrites)
    assert measured(one, before, after) == (places, places)


def test_perturbations_are_chosen_by_name_or_class():
    assert choose(ALL, ["names_lower", "attack"])[0].name == "names_lower"
    assert len(choose(ALL, ["attack"])) == 10 and choose(ALL, []) == ALL
    with pytest.raises(PiiError, match="E519"):
        choose(ALL, ["names_lwer"])


# Spans, wholly covered, strict, characters, hidden; a space, a flower and what has no width tell nothing.
@pytest.mark.parametrize(("text", "predicted", "expected"), CASES["spans found in three ways"])
def test_found_in_three_ways(text, predicted, expected):
    essay = LabelledText("1", text, ((0, len(text) - 1, "NAME_CONNECTED"),))
    counts = count([essay], [[0]], [[Entity("1", *found) for found in predicted]], CRAPII)
    assert counts[0, :5].tolist() == expected


def test_indirect_identifiers_are_no_false_alarms():
    essay = LabelledText("1", "B, aged 20.", ((0, 1, "NAME_CITED"), (8, 10, "AGE")))
    found = [Entity("1", 0, 1, "NAME_STUDENT"), Entity("1", 9, 10, "NAME_STUDENT")]
    assert count([essay], [[0, 1]], [found], CRAPII)[0, 5:].tolist() == [1, 3]


def test_a_sample_is_nested_fixed_and_has_clean_essays_in_their_share():
    many = [
        LabelledText(str(n), "Ana Roe", ((0, 7, "NAME_STUDENT" if n % 5 else "NAME_CITED"),))
        for n in range(50)
    ]
    assert take(many, 10, CRAPII) == take(many, 0, CRAPII)[:10] == take(list(many), 10, CRAPII)
    assert sum(essay.spans[0][2] == "NAME_CITED" for essay in take(many, 10, CRAPII)) == 2


@pytest.fixture
def assets(tmp_path):
    (tmp_path / "essays").mkdir()
    names = [f"e{n}" for n in range(60)]
    body = (
        "By {{student.full}}\n\nThe town is old. I like {{CITED=Fay Moss}}.\n\n"
        + "It flows on and on. " * 15
    )
    for name in [n for n in names if split_of(n) == "test"][:3] + [
        n for n in names if split_of(n) == "train"
    ][:1]:
        (tmp_path / "essays" / f"{name}.txt").write_text(f"id: {name}\n---\n{body}\n", "utf8")
    return tmp_path


def test_authored_essays_of_the_test_split(assets):
    essays = authored_essays(assets)
    assert len({essay.id for essay in essays}) == 6 and essays == authored_essays(assets)
    assert all(label.startswith("NAME") for essay in essays for *_, label in essay.spans)
    assert prose_of(assets)[0].startswith("It flows")
    with pytest.raises(PiiError, match="E552"):
        authored_essays(assets / "nowhere")


def test_the_command(command, finds, assets, monkeypatch, tmp_path):
    monkeypatch.setattr("scripts.robustness.make_system", lambda spec, protects: finds(PATTERN))
    out = tmp_path / "metrics" / "robustness.json"
    done = command(main, "--assets", assets, "--only", "case", "--out", out)
    assert done.exit_code == 0, done.output
    assert "names_lower" in done.output
    report = json.loads(out.read_text("utf8"))
    assert report["data"]["documents"] == 6 and report["profile"] == "crapii"
    assert report["command"].startswith("python -m scripts.robustness")
    assert len(report["perturbations"]) == 11 and report["unperturbed"]["recall"] == 0
    refused = command(main, "--assets", assets, "--only", "nonsense")
    assert refused.exit_code == 2 and "E519" in refused.output
