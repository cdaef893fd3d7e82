"""scripts/veto.py and its tables. All names are invented."""

import json

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import EMAIL, NAME
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.evaluate.crossval import Proposed
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.html import build_page
from pii_components.evaluate.match import match_bag
from pii_components.evaluate.tables import check_lines, markdown_table
from scripts.veto import Bag, control_report, draw, place, veto

choices = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.booleans()), max_size=12)
VIEWS = {"names": (NAME,), "all": (NAME, EMAIL)}
SURE, LIKELY, UNSURE = 0.9, 0.5, 0.1
WORDS = ("Tamm", "Vell", "Orsk", "Quil")


def essay(number: int, truths: list[bool], *, masked: bool = False) -> tuple[GoldDocument, list[Entity]]:
    """An essay with an address and one-word names, of which gold has those that are true. Names differ within an essay."""
    text, found = "at@uni.example", []
    for i, _ in enumerate(truths):
        name = WORDS[i % 4] + "abcdefghijklm"[i // 4]
        found.append(Entity(str(number), len(text) + 1, len(text) + 1 + len(name), NAME, name))
        text += f" {name}"
    address = Entity(str(number), 0, 14, EMAIL, "at@uni.example")
    stretches = tuple((e.start, e.end) for e in found[:1]) if masked else ()
    gold = (address, *(e for e, true in zip(found, truths, strict=True) if true))
    return GoldDocument(str(number), text, gold, masked=stretches), [address, *found]


def corpus(truths, kept, scores=None):
    """Four names an essay. RETURNS: documents and proposals; every name has a score of its own unless some are given."""
    documents, proposed = [], []
    for n in range(0, len(truths), 4):
        doc, (address, *found) = essay(n // 4, truths[n : n + 4])
        documents.append(doc)
        proposed.append(Proposed(address, None, True))
        for i, entity in enumerate(found, n):
            score = scores[i] if scores else (SURE if kept[i] else UNSURE) - i / 10_000
            proposed.append(Proposed(entity, score, kept[i]))
    return documents, proposed


def report(truths, kept, scores=None, **options):
    documents, proposed = corpus(truths, kept, scores)
    options = {"views": VIEWS, "strict": 0.7, "n_draws": 300, "n_resamples": 50} | options
    return control_report(proposed, documents, **options)


TRUE_FALSE = [True, False] * 20
FIRST_HALF = [True, True, False, False] * 10  # of the true ones as many as of the false ones


@pytest.mark.parametrize(
    ("kept", "lowest", "highest", "holds"),
    [
        pytest.param(TRUE_FALSE, 1.0, 1.0, True, id="vetoes only false ones: beats every draw"),
        pytest.param([not true for true in TRUE_FALSE], 0.0, 0.0, False, id="vetoes only true ones: below every draw"),
        pytest.param(FIRST_HALF, 0.4, 0.6, False, id="vetoes as chance does: in the middle"),
        pytest.param([True] * 40, 0.5, 0.5, True, id="vetoes nobody: equals both"),
        pytest.param([True] + [False] * 39, 0.0, 1.0, False, id="vetoes all but one"),
    ],
)
@pytest.mark.parametrize("way", ["names", "people"])
def test_place_of_a_verifier_among_draws(kept, lowest, highest, holds, way):
    found = report(TRUE_FALSE, kept)
    for view in found["views"].values():
        for measure in ("precision", "recall", "f1", "f5"):
            assert lowest <= view["control"][way][measure]["above"] <= highest
        assert view["control"][way]["drawn"] == sum(kept) and view["control"][way]["of"] == 40
        assert view["check"]["holds"] is holds


def test_nobody_vetoed_is_the_same_three_times():
    view = report(TRUE_FALSE, [True] * 40)["views"]["names"]
    assert view["verified"] == view["unverified"] == {
        "names": 40, "tp": 20, "fp": 20, "fn": 0, "precision": 0.5, "recall": 1.0, "f1": 0.6667, "f5": 0.963,
    }  # fmt: skip
    assert view["control"]["names"]["f1"] == {"mean": 0.6667, "range_95": [0.6667, 0.6667], "above": 0.5, "p": 1.0}
    assert view["check"] == {"verified": 1.0, "unverified": 1.0, "difference_95": [0.0, 0.0], "holds": True}


def test_what_is_no_name_is_never_vetoed():
    view = report(TRUE_FALSE, [False] * 40)["views"]
    assert view["all"]["verified"]["tp"] == 10 and view["all"]["control"]["names"]["recall"]["range_95"] == [0.3333, 0.3333]
    assert view["names"]["verified"]["precision"] is None and view["names"]["control"]["names"]["precision"] is None


@pytest.mark.parametrize(
    ("scores", "kept", "drawn", "of"),
    [
        ([SURE] * 20 + [LIKELY] * 10 + [UNSURE] * 10, [True] * 30 + [False] * 10, 10, 20),
        ([SURE] * 40, [True] * 40, 0, 0),
        ([SURE] * 10 + [UNSURE] * 30, [True] * 10 + [False] * 30, 0, 30),
        ([LIKELY] * 40, [True] * 40, 40, 40),
    ],
)
def test_readded_are_drawn_from_what_the_strict_verifier_vetoed(scores, kept, drawn, of):
    view = report(TRUE_FALSE, kept, scores)["views"]["names"]
    assert (view["control"]["readded"]["drawn"], view["control"]["readded"]["of"]) == (drawn, of)
    assert view["strict"]["names"] + drawn == view["verified"]["names"]


def test_mentions_of_a_person_fall_together():
    """Names of an essay with one probability are one person's."""
    scores = [SURE if i // 4 % 2 else UNSURE for i in range(40)]
    view = report([i // 4 % 2 == 1 for i in range(40)], [s > 0.3 for s in scores], scores)["views"]["names"]
    assert (view["control"]["people"]["drawn"], view["control"]["people"]["of"]) == (5, 10)
    wide, narrow = (view["control"][way]["recall"]["range_95"] for way in ("people", "names"))
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_precision_at_a_fixed_recall():
    """Sorted by score, the false ones come last but for two that are as sure as anyone."""
    scores = [0.99, *(SURE - i / 1000 if true else UNSURE - i / 1000 for i, true in enumerate(TRUE_FALSE[1:], 1))]
    scores[1] = scores[3] = 0.995
    at = {round(a["recall"], 2): a for a in report(TRUE_FALSE, [True] * 40, scores)["views"]["names"]["at_recall"]}
    assert at[0.9]["precision"] == round(20 / 22, 4) and at[0.99]["precision"] == round(20 / 22, 4)
    assert at[0.9]["control"]["above"] == 1.0 and 0.5 <= at[0.9]["control"]["mean"] < 0.6


def test_recall_out_of_reach_has_no_precision():
    documents, proposed = corpus(TRUE_FALSE, [True] * 40)
    found = control_report(proposed[:10], documents, views=VIEWS, strict=0.7, n_draws=20, n_resamples=20)
    assert found["views"]["names"]["at_recall"][0]["precision"] is None and found["views"]["names"]["at_recall"][2]["precision"]


@pytest.mark.parametrize(("lost", "holds"), [(0, True), (1, True), (2, False)])
def test_check_line(lost, holds):
    """Of 100 names one may be lost, not two."""
    found = report([True] * 100 + [False] * 4, [i >= lost for i in range(104)])
    line = check_lines(found)[0]
    said = "holds" if holds else "does not hold"
    assert line.startswith(
        f"names: recall of verified not below unverified by more than 0.01: {said} ({1 - lost / 100:.4f} against 1.0000;"
    )


def test_masked_places_are_passed_over():
    doc, (address, *found) = essay(0, [False, True, True, False], masked=True)
    proposed = [Proposed(address, None, True), *(Proposed(e, SURE, True) for e in found)]
    view = control_report(proposed, [doc], views=VIEWS, strict=0.7, n_draws=20, n_resamples=20)["views"]["names"]
    assert (view["unverified"]["names"], view["unverified"]["fp"]) == (3, 1)


@pytest.mark.parametrize("documents", [[], [GoldDocument("1", "Nothing")]])
def test_nothing_is_no_number(documents):
    found = control_report([], documents or [GoldDocument("1", "")], views=VIEWS, strict=0.7, n_draws=20, n_resamples=20)
    assert found["views"]["names"]["check"]["holds"] is None and check_lines(found) == []
    assert "- | -" in markdown_table([{"control": found}], control=True)


@given(choices, choices, choices)
def test_best_precision_is_that_of_the_best_threshold(names, gold, fixed):
    names, gold, fixed = ([Entity(str(doc), 0, 1, NAME, text) for doc, text, _ in rows] for rows in (names, gold, fixed))
    bag = Bag(gold, fixed, names, [NAME])
    scores = numpy.asarray([[0.1, 0.5, 0.9][i % 3] for i in range(len(names))], dtype="f8")
    counts = bag.counts(numpy.stack([scores >= cut for cut in (0.1, 0.5, 0.9, 1.0)]))
    found = [tp / (tp + fp) for tp, fp, fn in counts if tp + fp and tp + fn and tp / (tp + fn) >= 0.4]
    assert bag.best_precision(scores, [0.4])[0] == pytest.approx(max(found, default=numpy.nan), nan_ok=True)


@given(choices, choices, choices)
def test_counts_are_those_of_match_bag(gold, fixed, names):
    def entities(rows):
        return [Entity(str(doc), 0, 1, NAME, text) for doc, text, _ in rows]

    kept = numpy.asarray([[keep for *_, keep in names], [True] * len(names)], dtype=bool)
    counts = Bag(entities(gold), entities(fixed), entities(names), [NAME]).counts(kept)
    for row, found in zip(kept, counts, strict=True):
        chosen = entities(fixed) + [e for e, keep in zip(entities(names), row, strict=True) if keep]
        table = match_bag(entities(gold), chosen, documents=["0", "1", "2"], labels=[NAME])
        assert table.per_document.sum(axis=0).tolist() == found.tolist()


@given(st.lists(st.integers(-1, 3), max_size=12), st.integers(0, 4), st.integers(0, 9))
def test_draws_keep_the_base_and_so_many_units(units, n, seed):
    rows = {unit: i for i, unit in enumerate(sorted({u for u in units if u >= 0}))}
    unit = numpy.asarray([rows.get(u, -1) for u in units], dtype="i8")
    base = unit < 0
    for kept in draw(base, unit, n, n_draws=5, seed=seed):
        assert kept[base].all() and len(set(unit[kept & ~base].tolist())) == min(n, len(rows))
        assert all(len(set(kept[unit == u].tolist())) == 1 for u in rows.values())


def test_ties_count_half():
    assert place(0.5, numpy.asarray([0.5, 0.5, 0.4, 0.6]))["above"] == 0.5
    assert place(numpy.nan, numpy.asarray([0.5])) is None and place(0.5, numpy.asarray([numpy.nan])) is None


def test_tables_and_page_show_it(tmp_path):
    found = json.loads(json.dumps(report(TRUE_FALSE, TRUE_FALSE)))
    (tmp_path / "cv.json").write_text(json.dumps({"control": found}), "utf8")
    table = CliRunner().invoke(app, ["evaluate", "table", str(tmp_path / "cv.json"), "--control"]).output
    assert "| names | verified | 20 | 1.000 | 1.000 | 1.000 | 1.000 |" in table
    assert "| names | as many names at random | 20 of 40 | 0." in table and "- names: recall of verified not below" in table
    page = build_page({"cv.json": {"control": found}})
    assert "cv.json: verifier against vetoes at random" in page and "as many people at random" in page and "0.01: holds" in page
    assert "against chance" not in build_page({"other.json": {}, "odd.json": {"control": "yes"}})
    assert markdown_table([{"systems": {}}], control=True) == ""


def test_the_command_reads_what_crossval_stored(tmp_path, capsys):
    documents, proposed = corpus(TRUE_FALSE[:8], TRUE_FALSE[:8])
    gold = [{"id": d.id, "text": d.text, "spans": [[e.start, e.end, e.label] for e in d.entities]} for d in documents]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold), "utf8")
    rows = [[e.document, e.start, e.end, e.label, score, kept] for e, score, kept in proposed]
    (tmp_path / "proposed.json").write_text(json.dumps({"strict": 0.7, "proposed": rows}), "utf8")
    (tmp_path / "m.json").write_text('{"systems": {}}', "utf8")
    veto(tmp_path / "gold.jsonl", tmp_path / "proposed.json", tmp_path / "m.json", resamples=20, seed=4)
    found = json.loads((tmp_path / "m.json").read_text())
    expected = control_report(proposed, documents, strict=0.7, n_resamples=20, seed=4)
    assert found == {"systems": {}, "control": json.loads(json.dumps(expected))}
    assert "as many names at random" in capsys.readouterr().out
