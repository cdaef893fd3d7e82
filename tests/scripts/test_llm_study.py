"""The study of language models: its counts by hand, its picture, and that the page shows what was measured."""

import json
from pathlib import Path

import pytest

from pii_components.evaluate.gold import Entity, GoldDocument
from scripts.llm_study import BEGIN, END, measure, table

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Ana Lopez cites Buzan on Gatsby; Ana agrees."
SPANS = [("Ana Lopez", "NAME_STUDENT"), ("Buzan", "NAME_CITED"), ("Gatsby", "NAME_CHARACTER")]


def entity(value: str, label: str, ident: str = "1") -> Entity:
    start = TEXT.index(value)
    return Entity(ident, start, start + len(value), label, value)


DOCUMENT = GoldDocument("1", TEXT, tuple(entity(*span) for span in SPANS))
ATTACK = GoldDocument("2", TEXT, (entity("Ana Lopez", "NAME_STUDENT", "2"),))


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        ([], {"recall": 0.0, "attacks_recall": 0.0, "f5": 0.0}),
        (["Ana"], {"recall": 0.0, "precision": 1.0}),  # a half name
        (["Ana Lopez"], {"recall": 1.0, "precision": 1.0, "f5": 1.0, "cited_hidden": 0.0}),
        (
            ["Ana Lopez", "Buzan"],
            {"recall": 1.0, "precision": 0.5, "cited_hidden": 1.0, "characters_hidden": 0.0},
        ),
    ],
)
def test_counts(hidden, expected):
    made = measure([entity(value, "NAME_STUDENT") for value in hidden], [DOCUMENT], [ATTACK])
    assert {key: made.get(key) for key in expected} == expected
    assert (made["support"], made["cited_support"], made["characters_support"]) == (1, 1, 1)


def test_the_page_shows_what_was_measured():
    metrics = ROOT / "metrics" / "llm_study.json"
    page = (ROOT / "docs" / "how-to" / "llm.md").read_text("utf8")
    assert page.split(BEGIN)[1].split(END)[0].strip().splitlines() == table(
        json.loads(metrics.read_text("utf8"))
    )
