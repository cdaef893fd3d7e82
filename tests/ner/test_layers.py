"""Windows and the layout-aware piece encoder."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import Model, Ragged

from pii_components.errors import PiiError
from pii_components.ner.layers import (
    UNSEEN,
    WordPieces,
    build_layout_wordpiece_encoder,
    build_with_windows,
    split_punctuation,
    strip_marks,
    windows_of,
)

from ..tiny import TOKENIZER, vocabulary

pytest.importorskip("torch")
NLP = spacy.blank("en", config=TOKENIZER)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 2000), st.integers(8, 300), st.booleans(), st.data())
def test_windows_cover_everything_and_overlap(length, window, even, data):
    overlap = data.draw(st.integers(0, window // 2))
    found = windows_of(length, window=window, overlap=overlap, even=even)
    covered = numpy.zeros(length, dtype=int)
    for start, end in found:
        covered[start:end] += 1
    assert covered.min() >= 1
    assert found == sorted(set(found)) and found[0][0] == 0 and found[-1][1] == length
    assert len({end - start for start, end in found}) == 1 and found[0][1] <= window
    assert all(left[1] - right[0] >= overlap for left, right in zip(found, found[1:], strict=False))
    if even:
        assert covered.sum() <= length + (len(found) - 1) * (overlap + 1) + len(found)  # hardly more is read than must be


def echo(width=3):
    """An encoder that repeats each piece id in a row, and keeps the gradients that it gets."""
    from spacy_curated_transformers.models.output import TransformerModelOutput

    seen = []

    def forward(model, X, is_train):
        out = [[numpy.repeat(x[:, None].astype("f4"), width, axis=1)] for x in X]
        return TransformerModelOutput(outputs=out, last_layer_only=True), lambda dY: seen.extend(dY)

    return Model("echo", forward), seen


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20, 101])
def test_windows_average_to_the_same_values_and_split_the_gradient(length, even):
    encoder, seen = echo()
    model = build_with_windows(window=8, overlap=3, batch_size=4, even=even)(encoder)
    ids = numpy.arange(length, dtype="i")
    out, backprop = model([Ragged(ids, numpy.ones(length, dtype="i"))], True)
    assert numpy.allclose(out.all_outputs[0][0].dataXd[:, 0], ids, atol=1e-4)
    backprop([[Ragged(numpy.ones((length, 3), dtype="f4"), numpy.ones(length, dtype="i"))]])
    assert sum(float(d[0].sum()) for d in seen) == pytest.approx(3 * length, rel=1e-5)


def test_what_shows_nothing_is_not_read_and_has_the_vector_before_it():
    encoder, seen = echo()
    model = build_with_windows(window=8, overlap=3, batch_size=4)(encoder)
    ids = numpy.asarray([7, UNSEEN, *range(10, 22), UNSEEN, UNSEEN, 30], dtype="i")
    read = ids[ids != UNSEEN]
    out, backprop = model([Ragged(ids, numpy.ones(len(ids), dtype="i")), Ragged(read, numpy.ones(len(read), dtype="i"))], True)
    rows, plain = (per[0].dataXd for per in out.all_outputs)
    assert rows[:, 0].tolist() == pytest.approx([7, 7, *range(10, 22), 21, 21, 30], abs=1e-4)
    assert numpy.allclose(rows[ids != UNSEEN], plain, atol=1e-5)
    ones = numpy.ones((len(ids), 3), dtype="f4")
    backprop([[Ragged(ones, out.all_outputs[0][0].lengths)], [Ragged(ones[: len(read)], out.all_outputs[1][0].lengths)]])
    assert sum(float(d[0].sum()) for d in seen) == pytest.approx(2 * 3 * len(read), rel=1e-5)


@pytest.mark.parametrize("window, overlap, batch", [(8, 5, 1), (8, -1, 1), (8, 2, 0)])
def test_windows_that_do_not_fit_are_coded_errors(window, overlap, batch):
    with pytest.raises(PiiError) as error:
        build_with_windows(window=window, overlap=overlap, batch_size=batch)
    assert error.value.code == "E105"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    model = build_layout_wordpiece_encoder()
    model.attrs["wordpiece_processor"] = WordPieces(vocabulary())
    model.attrs["lowercase"] = model.attrs["strip_accents"] = True
    return model


def pieces(encoder, text):
    (out,) = encoder.predict([NLP.make_doc(text)])
    names = vocabulary()
    return [names[i] if i != UNSEEN else "" for i in out.dataXd][1:-1], list(out.lengths)[1:-1]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ana\nlopez", ["ana", "[unused1]", "lopez"]),
        ("ana\n\nlopez", ["ana", "[unused2]", "lopez"]),
        ("ana  lopez", ["ana", "[unused3]", "lopez"]),
        ("Ana", ["ana"]),
        ("ＡＮＡ", ["ana"]),
        ("Aná", ["ana"]),
        ("a\u200bna", ["ana"]),
        ("ana\u200b \u200blopez", ["ana", "", "", "lopez"]),
        ("", []),
    ],
)
def test_pieces_show_layout_and_see_through_disguise(encoder, text, expected):
    assert pieces(encoder, text)[0] == expected


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=60))
def test_every_token_has_a_piece(encoder, text):
    lengths = pieces(encoder, text)[1]
    assert len(lengths) == len(NLP.make_doc(text))
    assert all(n >= 1 for n in lengths)


# --- what comes before WordPiece ---


@pytest.mark.parametrize(
    "text, parts",
    [("d'accord", "d ' accord"), ("$5+", "$ 5 +"), ("a", "a"), ("", ""), ("--", "- -"), ("x—y", "x — y")],
)
def test_punctuation_stands_alone(text, parts):
    assert split_punctuation(text) == parts.split()


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_same_as_the_library(text):
    from spacy_curated_transformers.tokenization.wordpiece_encoder import _bert_preprocess, _strip_accents

    assert split_punctuation(text) == _bert_preprocess(text)
    assert strip_marks(text) == _strip_accents(text)
