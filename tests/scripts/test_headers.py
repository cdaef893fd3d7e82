"""Learning which lines are headers, and the score."""

from scripts import headers
from scripts.headers import blocks, compare, crossed, fit, found_by, text_of

TEXTS = [
    text_of(
        str(n),
        f"Ana Lopez\nENGL {n}\n\nHere is what I think of it.\n",
        [(0, 9, "NAME_STUDENT")],
        [(0, 17)],
    )
    for n in range(10, 20)
]


def test_what_is_learned_finds_what_was_labelled(monkeypatch):
    monkeypatch.setattr(headers, "FOLDS", 2)
    none = [text.lines[2].features for text in TEXTS]
    found = crossed(TEXTS, lambda others: fit(others, none), found_by)
    assert found == [[(0, 19)]] * 10
    lines = compare(TEXTS, found, {text.id: [[0, 10]] for text in TEXTS})["lines"]
    assert (
        lines["learned"]["f1"],
        lines["rule"]["recall"],
        lines["learned minus rule"]["precision"],
    ) == (1.0, 0.5, 0.0)


def test_blocks_are_runs_of_lines():
    assert blocks([True, True, False, True]) == [(0, 2), (3, 4)] and blocks([]) == []
