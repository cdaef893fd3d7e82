"""Ten groups on the same texts: who is found, and how far below the rest a group is."""

import json
import random
from pathlib import Path

import pytest
import spacy

from pii_components.corpus.people import GROUPS, given_names, surnames
from pii_components.errors import PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.labels import NAME_CITED, NAME_STUDENT
from scripts.fairness import GroupTable, GroupText, found_names, group_texts, main, measure_fairness

ASSETS = Path(__file__).parents[2] / "assets"
needs_assets = pytest.mark.skipif(not (ASSETS / "chats").is_dir(), reason="assets are not in an installed wheel")


def text_of(number, gender, culture, name="Dana Vell"):
    ident = f"{number}.{gender}.{culture}"
    document = GoldDocument(ident, f"I am {name}.", (Entity(ident, 5, 5 + len(name), NAME_STUDENT, name),))
    return GroupText(gender, culture, "chats", str(number), document)


def missing(finds, misses=lambda ident: False):
    """A system that finds what is named, but not in some texts."""
    return finds(lambda doc: [] if misses(doc.id) else [(e.start, e.end, e.label) for e in doc.entities])


def all_groups(n):
    return [text_of(number, *group) for number in range(n) for group in GROUPS]


def test_a_group_that_is_missed_is_below_the_rest(finds):
    report = measure_fairness(missing(finds, lambda ident: "Asia" in ident), all_groups(4), n_resamples=20, least_names=8)
    asia, europe = report["groups"]["culture"]["Asia"], report["groups"]["culture"]["Europe"]
    assert (asia["recall"], asia["gap"], asia["names"]) == (0.0, -1.0, 8)
    assert europe["gap"] == pytest.approx(0.25)
    assert asia["p"] < 0.01
    assert report["groups"]["gender"]["Female"]["gap"] == 0.0
    assert report["groups"]["gender and culture"]["Male, Asia"]["names"] == 4
    assert report["asked"] | {"worst_gap_95": 0} == {
        "most_below": 0.02, "least_names": 8, "worst": "culture Asia", "worst_gap": -1.0, "worst_gap_95": 0, "fewest_names": 8,
        "holds": False,
    }  # fmt: skip


@pytest.mark.parametrize(("least", "holds"), [(8, True), (9, False)])
def test_what_is_asked_holds_with_enough_names_only(finds, least, holds):
    report = measure_fairness(missing(finds), all_groups(4), n_resamples=20, least_names=least)
    assert report["asked"]["holds"] is holds
    assert "Dana" not in json.dumps(report)


def test_a_gap_has_an_interval_over_texts(finds):
    missed = {"0.F.Asia", "1.F.Asia", "2.M.Africa"}
    report = measure_fairness(missing(finds, lambda ident: ident in missed), all_groups(8), n_resamples=200)
    low, high = report["groups"]["culture"]["Asia"]["gap_95"]
    assert low < report["groups"]["culture"]["Asia"]["gap"] < high <= 0.1


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        ([(5, 14, NAME_STUDENT)], (True, True, True)),
        ([(5, 14, "EMAIL")], (True, True, True)),
        ([(0, 20, NAME_STUDENT)], (True, False, False)),
        ([(5, 9, NAME_STUDENT)], (False, False, False)),
        ([(5, 9, NAME_STUDENT), (10, 14, NAME_STUDENT)], (True, False, False)),
        ([(5, 14, NAME_CITED)], (False, False, False)),
        ([], (False, False, False)),
    ],
)
def test_a_name_is_found_in_three_ways(finds, predicted, expected):
    text = text_of(1, "F", "Asia")
    found = [Entity("x", start, end, label, text.document.text[start:end]) for start, end, label in predicted]
    assert found_names(text, found, finds(None).protects) == [expected]


def test_nobody_named_is_an_error(finds):
    text = GroupText("F", "Asia", "chats", "1", GoldDocument("1", "Nobody is named here"))
    with pytest.raises(PiiError, match=r"\[E762\]"):
        measure_fairness(missing(finds), [text], n_resamples=5)


@needs_assets
def test_groups_have_the_same_texts_and_names_of_their_own():
    texts = group_texts(ASSETS, fillings=2, seed=7, limit=2)
    assert len(texts) == (2 + 2) * 2 * 10
    bases = {group: [t.base for t in texts if (t.gender, t.culture) == group] for group in GROUPS}
    assert len({tuple(found) for found in bases.values()}) == 1
    assert len({text.document.id for text in texts}) == len(texts)
    assert texts == group_texts(ASSETS, fillings=2, seed=7, limit=2)
    assert all(entity.text in text.document.text for text in texts for entity in text.document.entities)


def test_a_group_table_draws_from_its_culture():
    table, rng = GroupTable("Africa"), random.Random(1)
    assert all(table.sample_given(rng, "F", "EN") in given_names("F", "Africa") for _ in range(20))
    assert all(table.sample_surname(rng, "ES") in surnames("Africa") for _ in range(20))


def test_an_unknown_kind_is_told():
    with pytest.raises(PiiError, match=r"\[E685\].*chats, essays"):
        group_texts(ASSETS, kinds=("poems",))


@needs_assets
def test_command_writes_numbers_and_no_names(command, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": [{"IS_TITLE": True, "OP": "+"}]}])
    nlp.to_disk(tmp_path / "model")
    result = command(
        main, "--pipeline", tmp_path / "model", "--assets", ASSETS, "--limit", 1, "--fillings", 1, "--resamples", 20,
        "--out", tmp_path / "f.json", "--debug",
    )  # fmt: skip
    report = json.loads((tmp_path / "f.json").read_text())
    assert result.exit_code == 1  # fewer than 200 names
    assert set(report["groups"]["culture"]) == {"Africa", "Americas", "Asia", "Europe", "Oceania"}
    assert 0 < report["all"]["recall"] <= 1
    assert "By culture" in result.output and str(tmp_path) not in json.dumps(report)
