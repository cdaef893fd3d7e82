"""The trainer of the two-head detector: windows, other names, and a step of training on a tiny corpus."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
from scripts import examples, two_heads

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=60)


def test_both_scripts_know_the_same_types():
    assert two_heads.TYPES == examples.TYPES
    assert len(two_heads.SOURCE_WEIGHTS) == len(examples.SOURCES)


@given(LENGTHS, st.integers(9, 40))
def test_windows_cover_all_tokens_once(lengths, limit):
    lengths = np.array(lengths)
    windows, window_of = two_heads.cut(lengths, limit, most=100)
    assert [t for a, b in windows for t in range(a, b)] == list(range(len(lengths)))
    assert lengths[slice(*windows[0])].sum() <= limit
    assert all(window_of[t] == n for n, (a, b) in enumerate(windows) for t in range(a, b))


@given(LENGTHS, st.data())
def test_other_pieces_leave_the_rest_as_it_is(lengths, data):
    lengths = np.array(lengths)
    pieces = np.arange(lengths.sum(), dtype=np.int32)
    places = st.integers(0, len(lengths) - 1)
    edits = data.draw(st.dictionaries(places, st.lists(st.just(-1), min_size=1, max_size=4)))
    new, sizes = two_heads.replace_tokens(pieces, lengths, edits)
    before, after = (np.split(x, np.cumsum(n)[:-1]) for x, n in ((pieces, lengths), (new, sizes)))
    for t, (old, now) in enumerate(zip(before, after, strict=True)):
        assert now.tolist() == edits.get(t, old.tolist())


def corpus() -> SimpleNamespace:
    """ "By Ana Lopez . Lopez 12": one person in two mentions, an age of somebody."""
    lengths = np.array([1, 2, 1, 1, 1, 1], np.uint8)
    return SimpleNamespace(
        pieces=np.array([11, 21, 22, 31, 12, 31, 41], np.uint16),
        lengths=lengths,
        piece_at=np.concatenate([[0], np.cumsum(lengths.astype(np.int64))]),
        case=np.array([1, 1, 1, 5, 1, 4], np.uint8),
        bio=np.array([0, 1, 2, 0, 1, 11], np.uint8),
        wid=np.array([0, 1, 2, 0, 2, 0], np.int32),
        wkind=np.array([0, 1, 2, 0, 2, 0], np.uint8),
        mentions=np.array([[1, 3, 0, 0], [4, 5, 0, 0]]),
        items=np.array([[5, 6, 5, 1]]),
    )


def example(**how):
    data = corpus()
    return two_heads.build(data, 0, 0, 6, data.mentions, data.items, **how)


def test_a_hidden_name_is_one_placeholder_a_token():
    made = example(rng=random.Random(1), hide=True)
    hidden = two_heads.HIDDEN
    assert made["ids"][0].tolist() == [11, hidden, hidden, 12, hidden, 41]
    assert set(made["bio"]) == {two_heads.UNKNOWN}


def test_both_mentions_of_a_person_are_one_row():
    batch = two_heads.collate([example(), example()])
    assert batch["role"].tolist() == [0, 0] and batch["mentions"][:, 2].tolist() == [0, 0, 1, 1]
    assert batch["mentions"][2, :2].tolist() == [7, 9]


def test_a_step_of_training_changes_both_heads():
    import torch

    torch.manual_seed(1)
    model = two_heads.TwoHeads(layers=1)
    loss, parts = two_heads.losses(model, two_heads.collate([example(), example()]))
    loss.backward()
    assert parts.isfinite().all() and (parts > 0).all()
    for head in (model.what, model.whose[0], model.owned[0], model.attend):
        assert head.weight.grad.abs().sum() > 0
