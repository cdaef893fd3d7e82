"""Near-duplicates: what counts as a copy, groups, the curve, and that order and blocks make no difference."""

import random
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.corpus.clean import (
    TrigramHasher,
    connected,
    content_words,
    duplicates_of,
)

WORDS = [
    a + b for a, b in product("bra cle dro fni gru hol".split(), "ban cot dim fek gul".split())
]


def find_duplicates(texts, **options):
    hasher = TrigramHasher()
    return duplicates_of((hasher(text) for text in texts), **options)


def essay(seed: int, n: int = 120) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) + rng.choice(WORDS) for _ in range(n))


def brute(texts: list[str]) -> dict[tuple[int, int], float]:
    """Every cosine, the slow way."""
    words = map(content_words, texts)
    sets = [set(zip(some, some[1:], some[2:], strict=False)) for some in words]
    pairs = ((i, j) for i, j in combinations(range(len(texts)), 2) if sets[i] and sets[j])
    return {(i, j): len(sets[i] & sets[j]) / (len(sets[i]) * len(sets[j])) ** 0.5 for i, j in pairs}


def changed(words: list[str], every: int) -> list[str]:
    return ["changed" if i % every == 5 else word for i, word in enumerate(words)]


BASE = essay(1)
CHANGED = [
    ("same", BASE, True),
    ("upper case", BASE.upper(), True),
    ("accents", BASE.replace("a", "á").replace("o", "ö"), True),
    ("white space", BASE.replace(" ", "\n\t "), True),
    ("non-breaking spaces", BASE.replace(" ", "\u00a0"), True),
    ("stop words between", BASE.replace(" ", " the "), True),
    ("typographic stop words", BASE.replace(" ", " don’t "), True),
    ("one word more", BASE + " finis", True),
    ("one word changed", BASE.replace(BASE.split()[50], "changed", 1), True),
    ("every tenth word changed", " ".join(changed(BASE.split(), 10)), False),
    ("half of it", " ".join(BASE.split()[:60]), False),
    ("words in another order", " ".join(sorted(BASE.split())), False),
    ("another essay", essay(2), False),
    ("empty", "", False),
    ("two words", "bramble crumple", False),
    ("stop words only", "the of and to " * 40, False),
    ("no Latin letters", "学生作文" * 40, False),
]


@pytest.mark.parametrize(("name", "other", "copy"), CHANGED, ids=[row[0] for row in CHANGED])
def test_what_counts_as_a_copy(name, other, copy):
    found = find_duplicates([essay(7), BASE, other])
    assert found.groups == (((1, 2),) if copy else ())
    assert found.to_remove() == ({1, 2} if copy else set())
    assert found.to_remove("first") == ({2} if copy else set())


def test_no_text_is_like_an_empty_one():
    assert find_duplicates(["", "", "the", "two words", "two words"]).highest == (0.0,) * 5
    found = find_duplicates([])
    assert found.groups == () and found.to_remove() == set() and found.curve()[-1][1] == 0.0


def test_threshold_is_exclusive():
    # 10 trigrams each, 9 of them shared: the cosine is .9 and not above it.
    texts = [" ".join(WORDS[:12]), " ".join([*WORDS[:11], "otherwise9"])]
    found = find_duplicates(texts)
    assert found.highest == (0.9, 0.9) and found.groups == ()
    assert find_duplicates(texts, threshold=0.899).groups == ((0, 1),)


def test_groups_are_chains():
    words = BASE.split()
    second = [*words[:-4], "a1", "b1", "c1", "d1"]
    third = ["e1", "f1", "g1", "h1", *second[4:]]
    texts = [" ".join(words), essay(3), " ".join(second), " ".join(third)]
    found = find_duplicates(texts, threshold=0.95)
    assert [pair[:2] for pair in found.pairs] == [(0, 2), (2, 3)]
    assert found.groups == ((0, 2, 3),)
    assert found.to_remove() == {0, 2, 3} and found.to_remove("first") == {2, 3}


def test_equals_brute_force():
    rng = random.Random(5)
    texts = [essay(i, n=rng.randrange(20, 90)) for i in range(12)]
    for _ in range(20):
        words = rng.choice(texts).split()
        for _ in range(rng.randrange(6)):
            words[rng.randrange(len(words))] = rng.choice(WORDS)
        texts.append(" ".join(words))
    expected = brute(texts)
    found = find_duplicates(texts)
    joined = connected(len(texts), (pair for pair, value in expected.items() if value > 0.9))
    assert found.groups == joined and joined
    for i, value in enumerate(found.highest):
        assert value == pytest.approx(max(v for pair, v in expected.items() if i in pair), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=14),
    st.randoms(use_true_random=False),
)
def test_order_of_texts_makes_no_difference(plan, rng):
    texts = [essay(seed, n=60)[cut:] for seed, cut in plan]
    order = list(range(len(texts)))
    rng.shuffle(order)
    before, after = find_duplicates(texts), find_duplicates([texts[i] for i in order])
    assert {frozenset(group) for group in before.groups} == {
        frozenset(order[i] for i in group) for group in after.groups
    }
    assert [before.highest[i] for i in order] == list(after.highest)
    assert before.to_remove() == {order[i] for i in after.to_remove()}


def test_curve_ends_at_one_and_never_falls():
    curve = find_duplicates([BASE, BASE, essay(2), essay(3), ""]).curve(10)
    shares = [share for _, share in curve]
    assert shares == sorted(shares) and shares[-1] == 1.0 and shares[-2] == 0.6
