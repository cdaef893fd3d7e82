"""Ten groups on the same texts: who is found, and how far below the rest a group is."""

import json
import random
from pathlib import Path

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.metrics import NameGroup
from pii_components.labels import NAME_STUDENT
from scripts.cultures import GROUPS, given_names, surnames
from scripts.fairness import GroupTable, GroupText, found_names, main, measure_fairness
from tests.tiny import cases

CASES = cases("studies")
ASSETS = Path(__file__).parents[2] / "assets"


def text_of(number, gender, culture):
    ident = f"{number}.{gender}.{culture}"
    document = GoldDocument(
        ident, "I am Dana Vell.", (Entity(ident, 5, 14, NAME_STUDENT, "Dana Vell"),)
    )
    return GroupText(
        NameGroup({"F": "Female", "M": "Male"}[gender], culture), "chats", str(number), document
    )


@pytest.fixture
def measured(finds):
    """Measures n texts in ten versions; what is named is found, but for texts that are missed."""

    def measure(n, misses=lambda ident: False):
        system = finds(lambda doc: [] if misses(doc.id) else [(5, 14, NAME_STUDENT)])
        return measure_fairness(
            system, [text_of(number, *group) for number in range(n) for group in GROUPS], bool
        )

    return measure


def test_a_group_that_is_missed_is_below_the_rest(measured):
    report = measured(4, lambda ident: "Asia" in ident)
    culture = report["groups"]["culture"]
    asia = culture["Asia"]
    assert (asia["recall"], asia["gap"], asia["names"], asia["people"]) == (0, -1, 8, 8)
    assert asia["p"] < 0.01 and culture["Europe"]["gap"] == pytest.approx(0.25)
    assert report["groups"]["gender"]["Female"]["gap"] == 0 and report["all"]["recall"] == 0.8
    assert report["by_kind"]["chats"] == {"all": report["all"], **report["groups"]}
    assert report["asked"] | {"worst_gap_95": 0} == {
        "most_below": 0.02,
        "least_names": 200,
        "worst": "culture Asia",
        "worst_gap": -1.0,
        "worst_gap_95": 0,
        "fewest_names": 8,
        "holds": False,
    }
    assert "Dana" not in json.dumps(report)


@pytest.mark.parametrize(("n", "holds"), [(100, True), (99, False)])
def test_what_is_asked_holds_with_enough_names_only(measured, n, holds):
    assert measured(n)["asked"]["holds"] is holds


def test_a_gap_has_an_interval_over_texts(measured):
    asia = measured(8, {"0.F.Asia", "1.F.Asia", "2.M.Africa"}.__contains__)["groups"]["culture"][
        "Asia"
    ]
    assert asia["gap_95"][0] < asia["gap"] < asia["gap_95"][1] <= 0.1


@pytest.mark.parametrize(("predicted", "expected"), CASES["names found in three ways"])
def test_a_name_is_found_in_three_ways(finds, predicted, expected):
    text = text_of(1, "F", "Asia")
    found = [
        Entity("x", start, end, label, text.document.text[start:end])
        for start, end, label in predicted
    ]
    assert found_names(text, found, finds(None).protects) == [tuple(expected)]


def test_nobody_named_is_an_error(finds):
    text = GroupText(
        NameGroup("Female", "Asia"), "chats", "1", GoldDocument("1", "Nobody is named here")
    )
    with pytest.raises(PiiError, match=r"\[E552\]"):
        measure_fairness(finds([]), [text], bool)


def test_a_group_table_draws_from_its_culture():
    table, rng = GroupTable("Africa"), random.Random(1)
    assert all(table.sample_given(rng, "F", "EN") in given_names("F", "Africa") for _ in range(20))
    assert all(table.sample_surname(rng, "ES") in surnames("Africa") for _ in range(20))


def test_command_writes_numbers_and_no_names(command, tmp_path):
    nlp = spacy.blank("en")
    person = {"label": "PERSON", "pattern": [{"IS_TITLE": True, "OP": "+"}]}
    nlp.add_pipe("entity_ruler").add_patterns([person])
    nlp.to_disk(tmp_path / "model")
    out = tmp_path / "f.json"
    options = ["--pipeline", tmp_path / "model", "--assets", ASSETS, "--limit", 1, "--out", out]
    result = command(main, *options, "--debug")
    report = json.loads(out.read_text())
    assert result.exit_code == 1  # fewer than 200 names
    texts = report["texts"]
    assert (texts["documents"], texts["chats"], texts["essays"]) == (40, 2, 2)
    assert set(report["groups"]["culture"]) == {"Africa", "Americas", "Asia", "Europe", "Oceania"}
    # All groups have the same texts.
    assert len({group["names"] for group in report["groups"]["culture"].values()}) == 1
    assert 0 < report["all"]["recall"] <= 1
    assert "| Oceania |" in result.output and str(tmp_path) not in json.dumps(report)
