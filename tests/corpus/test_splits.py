"""Splits: the paper's counts, folds that keep students and copies together, and the command. Texts are invented."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pii_components.cli.app import app
from pii_components.corpus.split import (
    CRAPII_DOCUMENTS,
    PAPER_PARTS,
    count_parts,
    group_documents,
    paper_split,
    stratified_folds,
)
from pii_components.errors import PiiError
from tests.cli.conftest import put_rows, rows_of
from tests.tiny import cases

CASES = cases("corpus")


def test_counts_of_the_paper():
    parts = paper_split(CRAPII_DOCUMENTS)
    sizes = {name: len(part) for name, part in parts.items()}
    assert sizes == {"base_train": 5_672, "verifier_train": 3_403, "test": 13_613}
    assert sorted(i for part in parts.values() for i in part) == list(range(22_688))
    assert not {379, 4777} & set(parts["test"])  # the examples in the paper's prompt


@given(st.integers(6, 3000))
def test_the_same_shares_for_any_number(n):
    parts = paper_split(n)
    assert tuple(parts) == PAPER_PARTS and all(parts.values())
    assert sorted(i for part in parts.values() for i in part) == list(range(n))
    assert len(parts["base_train"]) == n // 4
    assert len(parts["verifier_train"]) == int((n - n // 4) * 0.2)


def test_too_few_documents_or_folds():
    for n in (0, 1, 5, -3):
        with pytest.raises(PiiError, match="E650"):
            paper_split(n)
    for folds, n in ((1, 5), (0, 5), (6, 5), (2, 1), (2, 0)):
        with pytest.raises(PiiError, match="E650"):
            ids = [str(i) for i in range(n)]
            stratified_folds(group_documents(n), [Counter()] * n, ids=ids, folds=folds)


@pytest.mark.parametrize(
    ("name", "n", "students", "copies", "expected"), CASES["what stays together"]
)
def test_what_stays_together(name, n, students, copies, expected):
    assert list(map(list, group_documents(n, students=students, copies=copies))) == expected, name


def corpus(rng: random.Random, n: int) -> tuple[list[Counter], list[str], list[str]]:
    """Labels, students and ids: one label common, one rare; one document in three has any; some students wrote several."""
    shares = {"NAME_STUDENT": 0.3, "EMAIL": 0.08, "PHONE_NUM": 0.02}
    labels = [
        Counter({k: rng.choice([1, 1, 1, 2]) for k, p in shares.items() if rng.random() < p})
        for _ in range(n)
    ]
    return labels, [f"s{rng.randrange(n)}" for _ in range(n)], [f"d{i}" for i in range(n)]


def test_labels_are_spread_evenly():
    labels, students, ids = corpus(random.Random(3), 2000)
    groups = group_documents(2000, students=students)
    fold_of = stratified_folds(groups, labels, ids=ids, folds=5)
    parts = {str(f): [i for i, g in enumerate(fold_of) if g == f] for f in range(5)}
    counts = count_parts(parts, labels, groups)
    for label in ("NAME_STUDENT", "EMAIL", "PHONE_NUM"):
        spread = [c.spans[label] for c in counts.values()]
        assert max(spread) - min(spread) <= 1, (label, spread)
    sizes = [c.documents for c in counts.values()]
    assert max(sizes) - min(sizes) <= 1 and sum(c.groups for c in counts.values()) == len(groups)
    assert fold_of == stratified_folds(groups, labels, ids=ids, folds=5)
    assert fold_of != stratified_folds(groups, labels, ids=ids, folds=5, seed=1)


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 60), st.integers(2, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_no_group_is_in_two_folds_and_order_makes_no_difference(n, folds, seed, rng):
    labels, students, ids = corpus(rng, n)
    copies = [tuple(sorted(rng.sample(range(n), 2))) for _ in range(rng.randrange(4))]
    groups = group_documents(n, students=students, copies=copies)
    if len(groups) < folds:
        return
    fold_of = stratified_folds(groups, labels, ids=ids, folds=folds, seed=seed)
    assert set(fold_of) == set(range(folds))
    written = [[i for i in range(n) if students[i] == student] for student in students]
    for things in (*groups, *copies, *written):
        assert len({fold_of[i] for i in things}) == 1
    order = list(range(n))
    rng.shuffle(order)

    def moved(values):
        return [values[i] for i in order]

    places = [[order.index(i) for i in copy] for copy in copies]
    again = group_documents(n, students=moved(students), copies=places)
    how = {"ids": moved(ids), "folds": folds, "seed": seed}
    assert stratified_folds(again, moved(labels), **how) == moved(fold_of)


# -- the command


def run(source: Path, out: Path, *settings: str, more: tuple[str, ...] = ()):
    config = [word for setting in settings for word in ("--config", setting)]
    return CliRunner().invoke(app, ["corpus", "split", str(source), "-o", str(out), *config, *more])


def words(seed: int, n: int = 60) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("bdfgklmnprstaeiou", k=6)) for _ in range(n))


@pytest.fixture
def labelled(tmp_path) -> Path:
    rows = []
    for i in range(40):
        text = f"Ina Vell wrote this. {words(i if i != 30 else 12)}"
        spans = [[0, 8, "NAME_STUDENT"]] if i % 3 == 0 else []
        rows.append({"id": f"e{i}", "text": text, "spans": spans, "student": f"s{i // 2}"})
    return put_rows(tmp_path / "in.jsonl", rows)


def test_folds_of_a_labelled_corpus(labelled, tmp_path):
    out = tmp_path / "folds.jsonl"
    result = run(labelled, out, "folds=4", "student_column=student")
    assert result.exit_code == 0, result.output
    fold = {row["id"]: row["fold"] for row in rows_of(out)}
    assert list(fold) == [f"e{i}" for i in range(40)] and set(fold.values()) == {0, 1, 2, 3}
    assert all(fold[f"e{i}"] == fold[f"e{i + 1}"] for i in range(0, 40, 2))
    assert fold["e12"] == fold["e30"]
    report = json.loads((tmp_path / "folds.split.json").read_text())
    assert report["groups"] == 19 and report["documents"] == 40
    spans = [part["spans"]["NAME_STUDENT"] for part in report["parts"].values()]
    assert sum(spans) == 14 and max(spans) - min(spans) <= 1
    assert "Ina" not in result.output + json.dumps(report)


def test_the_split_of_the_paper_for_a_table(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "split.jsonl"
    rows = "".join(f"n{i},{words(i)}\n" for i in range(40))
    path.write_text(f"number,text\n{rows}", encoding="utf-8")
    result = run(path, out, "method=paper", "id_column=number")
    assert result.exit_code == 0, result.output
    expected = {f"n{i}": name for name, part in paper_split(40).items() for i in part}
    assert {row["id"]: row["split"] for row in rows_of(out)} == expected
    first = (out.read_bytes(), (tmp_path / "split.split.json").read_bytes())
    assert run(path, out, "method=paper", "id_column=number", more=("--overwrite",)).exit_code == 0
    assert (out.read_bytes(), (tmp_path / "split.split.json").read_bytes()) == first


@pytest.mark.parametrize(("args", "code"), CASES["splits that are refused"])
def test_refused_before_anything_is_written(labelled, tmp_path, monkeypatch, args, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.jsonl").write_text("mine")
    before = sorted(p.name for p in tmp_path.rglob("*"))
    out = args[1] if args[0] == "--out" else "o.jsonl"
    result = run("in.jsonl", out, *(args[1:] if args[0] == "--config" else ()))
    assert result.exit_code == 2 and code in result.output, result.output
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


def test_records_that_cannot_be_read_are_counted_and_equal_ids_refused(tmp_path):
    rows = [{"id": i, "text": words(i), "spans": []} for i in range(8)]
    path, out = put_rows(tmp_path / "in.jsonl", rows), tmp_path / "o.jsonl"
    written = path.read_text("utf8").splitlines(keepends=True)
    path.write_text("".join([*written[:4], "{broken\n", *written[4:]]), "utf8")
    assert run(path, out, "folds=2", "similarity=0").exit_code == 1 and len(rows_of(out)) == 8
    skipped = json.loads((tmp_path / "o.split.json").read_text())["skipped"]
    assert skipped == {"count": 1, "records": [{"record": 5, "code": "E521"}]}
    result = run(put_rows(path, [*rows[:7], {**rows[7], "id": 0}]), tmp_path / "p.jsonl")
    assert result.exit_code == 2 and "E627" in result.output and "Record 8" in result.output
