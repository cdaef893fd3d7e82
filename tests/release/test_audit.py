"""Estimates against brute force and scipy, digests against sha256sum's definition, and the page. No text of anybody."""

import hashlib
import os
from itertools import combinations

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.release.report import (
    bad_documents,
    clopper_pearson,
    digest,
    documents_to_review,
    find_report,
    hypergeometric_cdf,
    leak_estimate,
    review_plan,
    sample_records,
    thresholds,
)
from tests.tiny import TOKENIZER


def test_report_names_the_operating_point():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ner", config={"operating_point": "recall"})
    nlp.add_pipe("pii_context")
    found = thresholds(nlp)
    assert found["pii_ner"]["operating_point"] == "recall"
    assert found["pii_context"]["protect"] == 0.25 and "operating_point" not in found["pii_context"]


def test_hypergeometric_is_what_counting_all_draws_gives():
    draws = list(combinations(range(9), 4))
    for bad in range(10):
        for x in range(5):
            share = sum(sum(i < bad for i in draw) <= x for draw in draws) / len(draws)
            assert hypergeometric_cdf(x, bad, 4, 9) == pytest.approx(share)


def test_bounds_are_those_of_scipy():
    from scipy import stats

    for x, n in [(0, 10), (3, 10), (10, 10), (2, 5000)]:
        exact = stats.binomtest(x, n).proportion_ci(method="exact")
        assert clopper_pearson(x, n, error=0.025) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize(("documents", "drawn"), [(20, 5), (40, 12)])
def test_interval_holds_the_truth_at_least_95_times_in_100(documents, drawn):
    for bad in range(documents + 1):
        for error, side in ((0.025, 2), (0.05, 1)):
            inside = 0.0
            for x in range(min(bad, drawn) + 1):
                if drawn - x <= documents - bad:
                    low, high = bad_documents(x, drawn, documents, error=error)
                    chance = hypergeometric_cdf(x, bad, drawn, documents) - (
                        hypergeometric_cdf(x - 1, bad, drawn, documents) if x else 0
                    )
                    inside += chance * ((low <= bad or side == 1) and bad <= high)
            assert inside >= 0.95 - 1e-9


@pytest.mark.parametrize(
    "numbers",
    [
        {"reviewed": 0, "missed_in": 0},
        {"reviewed": 5, "missed_in": 6},
        {"reviewed": 11, "missed_in": 0},
        {"reviewed": 5, "missed_in": 1, "spans_missed": 1},
        {"reviewed": 5, "missed_in": 2, "spans_missed": 1, "spans_there": 9},
        {"reviewed": 5, "missed_in": 0, "spans_missed": 3, "spans_there": 2},
        {"reviewed": 5, "missed_in": 0, "spans_missed": 2, "spans_there": 9},
    ],
)
def test_numbers_of_a_review_that_cannot_be(numbers):
    with pytest.raises(PiiError, match="E586"):
        leak_estimate(documents=10, **numbers)


def test_how_many_to_review_is_the_least_that_shows_the_bound():
    assert (
        documents_to_review(0.01, documents=10**8) == 299
    )  # ln .05 / ln .99; the rule of three says 300
    for documents, bound, misses in [(500, 0.05, 0), (500, 0.05, 1), (60, 0.1, 0)]:
        n = documents_to_review(bound, documents=documents, misses=misses)
        assert (
            leak_estimate(reviewed=n, missed_in=misses, documents=documents)["documents"][
                "upper_95"
            ]
            <= bound
        )
        assert (
            leak_estimate(reviewed=n - 1, missed_in=misses, documents=documents)["documents"][
                "upper_95"
            ]
            > bound
        )
    assert (
        documents_to_review(0.01, documents=20) == 19
        and documents_to_review(0.01, documents=20, misses=1) is None
    )
    assert review_plan([0.01], documents=1000, spans=2000)[0] == {
        "bound": 0.01,
        "documents_if_none": 238,
        "documents_if_one": 364,
        "spans": 299,
        "documents_for_spans": 150,
    }
    assert review_plan([0.01], documents=0, spans=0) == []
    with pytest.raises(PiiError, match="E519"):
        documents_to_review(1.0, documents=20)


def test_sample_is_of_released_records_and_follows_its_seed():
    drawn = sample_records(8, documents=10, skipped=[2, 5], seed=4)
    assert (
        drawn
        == sample_records(8, documents=10, skipped=[5, 2], seed=4)
        != sample_records(8, documents=10, skipped=[2, 5], seed=5)
    )
    assert len(set(drawn)) == 8 and not {2, 5} & set(drawn) and set(drawn) <= set(range(1, 13))
    everyone = [n for n in range(1, 13) if n not in (2, 5)]
    assert sample_records(60, documents=10, skipped=[2, 5], n_skipped=2) == everyone
    with pytest.raises(PiiError, match="E650"):
        sample_records(3, documents=10, skipped=[2, 5], n_skipped=3)


def test_digests_of_a_file_and_a_folder(tmp_path):
    folder = tmp_path / "out"
    (folder / "week").mkdir(parents=True)
    texts = {
        "b.txt": b"b",
        "week/a.txt": b"a",
        "report.json": b"{}",
        "report.html": b"<p>",
        ".DS_Store": b"x",
    }
    for name, data in texts.items():
        (folder / name).write_bytes(data)
    each = sorted(hashlib.sha256(data).hexdigest() for data in (b"a", b"b"))
    whole = hashlib.sha256("".join(f"{one}\n" for one in each).encode()).hexdigest()
    assert digest(folder) == {
        "files": 2,
        "files_not_hashed": 0,
        "sha256_of_list": whole,
        "sha256_of_files": each,
    }
    os.symlink("/etc/hostname", folder / "link.txt")
    assert (digest(folder)["files_not_hashed"], digest(folder)["sha256_of_list"]) == (1, whole)
    assert digest(tmp_path / "-", b"abc") == {
        "sha256": hashlib.sha256(b"abc").hexdigest(),
        "bytes": 3,
    }


def test_no_report_is_a_coded_error(tmp_path):
    (tmp_path / "essays.json").write_text('[{"text": "I am"}]')
    (tmp_path / "report.json").write_text('{\n  "program": "pii-edu", "output": {"sha256": "0"}}')
    for run in (tmp_path / "essays.json", tmp_path / "none.csv", tmp_path / "essays.json" / "x"):
        with pytest.raises(PiiError, match="E585"):
            find_report(run)
    assert (
        find_report(tmp_path)[0]
        == tmp_path / "report.json"
        == find_report(tmp_path / "report.json")[0]
    )
