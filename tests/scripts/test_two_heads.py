"""The trainer of the two-head detector: windows, other names, and a step of training on a tiny corpus."""

import random
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.fixture
def files(tmp_path):
    """Three documents and a few names to draw from, as `scripts.examples` writes them, and an encoder of random weights."""
    one = corpus()
    names = {"lex_pieces": np.arange(50, 58, dtype=np.uint16), "lex_at": np.arange(9)}
    names |= {name: np.arange(4, dtype=np.int32) for name in ("given", "surname", "word_names")}
    names["famous"] = np.array([[4, 5]], np.int32)
    rows = [(6 * n, 6, 7 * n, 7, 2 * n, 2, n, 1, n, part) for n, part in enumerate((0, 1, 2))]
    arrays = {"ends": np.array([0, 0, 0, 1, 0, 0], np.uint8)}
    arrays |= {name: value for name, value in vars(one).items() if name != "piece_at"}
    whole = {name: np.concatenate([value] * 3) for name, value in arrays.items()}
    np.savez(tmp_path / "data.npz", docs=np.array(rows, np.int32), **whole, **names)
    np.savez(tmp_path / "start.npz", segment=np.zeros(two_heads.WIDTH, np.float16))
    return tmp_path


def options(folder, **more):
    paths = {"data": folder / "data.npz", "start": folder / "start.npz", "out": folder / "out"}
    given = {"init": [], "layers": 1, "minutes": 1.0, "part": 1, "batch": 512, "seed": 1}
    given |= {"rate": 1e-3, "head_rate": 1e-3}
    return SimpleNamespace(**{**paths, **given, **more})


def test_a_checkpoint_goes_on_as_it_was(files):
    import torch

    batch = two_heads.collate([example(), example()])
    torch.manual_seed(1)
    run = two_heads.Run(options(files), "cpu")
    for n in range(12):
        run.update(batch, n / 20)
    two_heads.put(files / "last.pt", lambda file: torch.save(run.to_dict(), file))
    torch.manual_seed(1)  # what stays frozen is in the start of a real run
    other = two_heads.Run(options(files), "cpu")
    other.from_dict(torch.load(files / "last.pt", weights_only=True))
    for one in (run, other):
        torch.manual_seed(5)
        one.update(batch, 0.8)
    assert (other.step, other.seen) == (13, run.seen)
    rates = [group["lr"] for group in other.optimizer.param_groups]
    assert rates == [group["lr"] for group in run.optimizer.param_groups]
    for kind in ("trained", "average"):
        for name, value in getattr(run, kind).items():
            assert torch.equal(value, getattr(other, kind)[name]), name


def test_other_options_are_another_run(files):
    origin = two_heads.origin_of(options(files))
    assert origin == two_heads.origin_of(options(files, out=files / "elsewhere"))
    for more in ({"minutes": 2.0}, {"part": 2}, {"data": files / "start.npz"}):
        assert origin != two_heads.origin_of(options(files, **more))


@pytest.mark.slow
def test_training_goes_on_after_kill(files):
    import torch

    command = [sys.executable, two_heads.__file__, "data.npz", "start.npz", "out"]
    command += "--layers 1 --minutes 0.4 --batch 512 --part 1".split()
    last = files / "out/last.pt"
    begun = time.monotonic()
    with subprocess.Popen(command, cwd=files, stdout=subprocess.DEVNULL) as first:
        while not last.is_file() or time.monotonic() - begun < 10:
            assert first.poll() is None and time.monotonic() - begun < 60
            time.sleep(0.1)
        first.kill()
    assert not (files / "out/model.npz").exists()
    state = torch.load(last, weights_only=True)
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, check=True).stdout
    step, minutes = re.search(r"goes on from step (\d+), ([\d.]+) minutes", done).groups()
    assert (int(step), float(minutes)) == (state["step"], round(state["seconds"] / 60, 1))
    n_steps = int(re.search(r"in (\d+) steps", done)[1])
    assert n_steps > state["step"] > 0 and n_steps > 10
    with np.load(files / "out/model.npz") as made:
        assert "what.weight" in made.files and "layers.0.qkv.weight" in made.files
    again = subprocess.run(command, cwd=files, capture_output=True, text=True, check=True).stdout
    assert "trained already" in again
    other = [*command, "--seed", "2", "--minutes", "0.01"]
    again = subprocess.run(other, cwd=files, capture_output=True, text=True, check=True).stdout
    assert "begins anew" in again and "pieces read" in again
