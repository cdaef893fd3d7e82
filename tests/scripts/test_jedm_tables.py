"""The JEDM tables: printed numbers as data, arithmetic on them, and the 35 rows from the stored predictions where those are at hand.

No name of the data is ever in an assertion that pytest would show: what is compared are counts.
"""

import json
from pathlib import Path

import pytest

from pii_components.corpus.split import CRAPII_DOCUMENTS, paper_split
from pii_components.errors import PiiError
from pii_components.evaluate import metrics
from pii_components.evaluate.gold import Entity
from pii_components.evaluate.metrics import NameGroup
from scripts import jedm_tables
from scripts.jedm_tables import SYSTEMS, compare, read_peers

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "peers"
NAME = "NAME_STUDENT"
HEAD = "file_idx,entity_text,type,positions\n"


def test_the_print_is_whole():
    assert [len(jedm_tables.printed(n)) for n in range(6, 12)] == [5, 35, 7, 6, 18, 6]
    assert {row["system"] for row in jedm_tables.printed(7)} == set(SYSTEMS)


@pytest.mark.parametrize("table", [7, 11])
def test_printed_measures_follow_from_printed_counts(table):
    rows = [
        compare(row, jedm_tables.measures([row["tp"], row["fp"], row["fn"]]))
        for row in jedm_tables.printed(table)
    ]
    assert all(row["equal"] for row in rows)


def test_the_print_contradicts_itself():
    costs = jedm_tables.table8()
    assert all(row["equal"] for row in costs)
    tokens = {row["system"]: row["million_tokens"] for row in costs}
    assert tokens["presidio_lg"] is None
    assert tokens["azure"][0] < 12.91 < tokens["azure"][1]
    assert tokens["verifier_1"][1] < 12.9 < tokens["verifier_2"][0]
    rows = jedm_tables.table10()
    assert {(row["group"], len(row["differs"])) for row in rows if not row["equal"]} == {
        ("Female", 1)
    }
    # The two U of two groups that are all there is sum to the product of their sizes.
    u = {(row["group"], row["system"]): row["u"] for row in rows}
    assert u["Male", "azure"] + u["Female", "azure"] == 1582 * 1002


def test_mann_whitney_by_hand_and_the_papers_stars():
    # Two of three hits against one of two: pairs 3 * 2, ties half.
    u, p = metrics.mann_whitney(2, 3, 1, 2)
    assert u == 2 * 1 + (2 * 1 + 1 * 1) / 2 and p > 0.5
    assert metrics.mann_whitney(3, 3, 2, 2) == (3.0, 1.0)
    assert metrics.mann_whitney(90, 100, 50, 100)[1] < 0.01
    stars = [metrics.significance(p) for p in (0.001, 0.02, 0.07, 0.1, 0.9)]
    assert stars == ["***", "**", "*", "n.s.", "n.s."]


@pytest.mark.parametrize("text", ["Maria Rossi", "maria ROSSI", "Rossi, Maria", " Maria M. Rossi "])
def test_groups_come_from_the_table_of_names(text):
    assert metrics.name_group(text) == NameGroup("Female", "Europe")
    assert metrics.name_group("Maria") == NameGroup("Female", "")
    assert metrics.name_group("Zzyx Qqrt") == NameGroup("", "")


def test_recall_by_group_by_hand():
    texts = ["Ana One", "Ana Two", "Ben Six", "Cyd Ten"]
    gold = [Entity(str(i // 2), 10 * i, 10 * i + 7, NAME, text) for i, text in enumerate(texts)]
    places = (("0", 99, "Ana One"), ("1", 20, "Ben Six"), ("0", 0, "Cyd Ten"))
    predicted = [Entity(document, start, start + 7, NAME, text) for document, start, text in places]
    found = metrics.found_in_document(gold, predicted)
    assert found == [True, False, True, False]  # wherever in the document, and not in another one
    kinds = (("Female",), ("Female", "Asia"), ("Male", "Europe"), ())
    groups = [NameGroup(*kind) for kind in kinds]
    how = {"documents": ["0", "1"], "weights": metrics.resample(2, n_resamples=20)}
    tests = metrics.recall_by_group(gold, groups, {"a": found}, **how)
    rows = {t.group: (t.total, t.hits, t.rest_total, t.rest_hits) for t in tests}
    assert rows == {
        "Female": (2, 1, 1, 1),
        "Male": (1, 1, 2, 1),
        "Europe": (1, 1, 1, 0),
        "Asia": (1, 0, 1, 1),
    }
    female = next(t for t in tests if t.group == "Female")
    assert female.recall.value == 0.5 and female.gap.value == -0.5
    # One group alone has no test.
    (alone,) = metrics.recall_by_group(gold[:1], groups[:1], {"a": [True]})
    assert alone.u != alone.u


@pytest.fixture
def folder(tmp_path):
    """Stored predictions of an invented test part."""
    test = paper_split(CRAPII_DOCUMENTS)["test"][0]
    (tmp_path / "true_entities.csv").write_text(
        HEAD + f'{test},Dana Vell,{NAME},"(0, 9)"\n', encoding="utf8"
    )
    for file in SYSTEMS.values():
        (tmp_path / file).write_text(HEAD + f'{test},Dana Vell,PERSON,"(0, 9)"\n', encoding="utf8")
    return tmp_path


def test_rows_that_are_not_as_printed_are_told(command, folder):
    found = command(
        jedm_tables.main, "--peers", folder, "--resamples", 5, "--out", folder / "out.json"
    )
    assert found.exit_code == 1, found.output
    assert "table7: 0 of 35 equal to the print" in found.output
    report = json.loads((folder / "out.json").read_text())
    assert report["table7"]["rows"][0]["tp"] == 1
    assert report["table7"]["rows"][0]["differs"][0].startswith("tp printed")
    assert report["table11"]["rows"][0]["rows"] is None
    assert "Dana" not in found.output + (folder / "out.json").read_text()
    assert str(folder) not in (folder / "out.json").read_text()


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ('22687000,Dana Vell,PERSON,"(0, 9)"', "E705"),
        ('7,Dana Vell,PERSON,"0 to 9"', "E900"),
        ('7,Dana Vell,PLANET,"(0, 9)"', "E002"),
    ],
)
def test_rows_that_do_not_fit_are_refused(folder, row, code):
    with pytest.raises(PiiError, match=r"\[E501\].*true_entities.csv"):
        read_peers(folder / "nowhere")
    (folder / "3_azure.csv").write_text(HEAD + row + "\n", encoding="utf8")
    with pytest.raises(PiiError, match=rf"\[{code}\]") as error:
        read_peers(folder)
    assert "Dana" not in str(error.value)


@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the stored predictions of the JEDM paper are not at hand"
)
def test_table_7_comes_out_as_printed():
    report = jedm_tables.paper_report(read_peers(SHARED), resamples=5)
    equal = [(report[f"table{n}"]["equal"], report[f"table{n}"]["of"]) for n in (6, 7, 11)]
    assert equal == [(4, 5), (35, 35), (6, 6)]
