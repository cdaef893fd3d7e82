"""Windows and the layout-aware piece encoder."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import Model, Ragged

from pii_components.errors import PiiError
from pii_components.ner import layers

from ..tiny import TOKENIZER, cases, vocabulary

pytest.importorskip("torch")
CASES = cases("ner")
NLP = spacy.blank("en", config=TOKENIZER)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 2000), st.integers(8, 300), st.data())
def test_windows_cover_everything_and_overlap(length, window, data):
    overlap = data.draw(st.integers(0, window // 2))
    found = layers.windows_of(length, window=window, overlap=overlap)
    covered = numpy.zeros(length, dtype=int)
    for start, end in found:
        covered[start:end] += 1
    assert covered.min() >= 1
    assert found == sorted(set(found)) and found[0][0] == 0 and found[-1][1] == length
    assert len({end - start for start, end in found}) == 1 and found[0][1] <= window
    assert all(left[1] - right[0] >= overlap for left, right in zip(found, found[1:], strict=False))
    # hardly more is read than must be
    assert covered.sum() <= length + (len(found) - 1) * (overlap + 1) + len(found)


def echo(width=3):
    """An encoder that repeats each piece id in a row, and keeps the gradients that it gets."""
    from spacy_curated_transformers.models.output import TransformerModelOutput

    seen = []

    def forward(model, X, is_train):
        out = [[numpy.repeat(x[:, None].astype("f4"), width, axis=1)] for x in X]
        return TransformerModelOutput(outputs=out, last_layer_only=True), lambda dY: seen.extend(dY)

    return Model("echo", forward), seen


def ragged(data):
    return Ragged(data, numpy.ones(len(data), dtype="i"))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20, 101])
def test_windows_average_and_split_gradients(length):
    encoder, seen = echo()
    model = layers.build_with_windows(window=8, overlap=3, batch_size=4)(encoder)
    ids = numpy.arange(length, dtype="i")
    out, backprop = model([ragged(ids)], True)
    assert numpy.allclose(out.all_outputs[0][0].dataXd[:, 0], ids, atol=1e-4)
    backprop([[ragged(numpy.ones((length, 3), dtype="f4"))]])
    assert sum(float(d[0].sum()) for d in seen) == pytest.approx(3 * length, rel=1e-5)


def test_invisible_takes_the_vector_before():
    encoder, seen = echo()
    model = layers.build_with_windows(window=8, overlap=3, batch_size=4)(encoder)
    ids = numpy.asarray(
        [7, layers.UNSEEN, *range(10, 22), layers.UNSEEN, layers.UNSEEN, 30], dtype="i"
    )
    read = ids[ids != layers.UNSEEN]
    out, backprop = model([ragged(ids), ragged(read)], True)
    rows, plain = (per[0].dataXd for per in out.all_outputs)
    assert rows[:, 0].tolist() == pytest.approx([7, 7, *range(10, 22), 21, 21, 30], abs=1e-4)
    assert numpy.allclose(rows[ids != layers.UNSEEN], plain, atol=1e-5)
    ones = numpy.ones((len(ids), 3), dtype="f4")
    lengths = [per[0].lengths for per in out.all_outputs]
    backprop([[Ragged(ones, lengths[0])], [Ragged(ones[: len(read)], lengths[1])]])
    assert sum(float(d[0].sum()) for d in seen) == pytest.approx(2 * 3 * len(read), rel=1e-5)


@pytest.mark.parametrize("window, overlap, batch", [(8, 5, 1), (8, -1, 1), (8, 2, 0)])
def test_unfit_windows_are_coded_errors(window, overlap, batch):
    with pytest.raises(PiiError, match="E105"):
        layers.build_with_windows(window=window, overlap=overlap, batch_size=batch)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    model = layers.build_layout_wordpiece_encoder()
    model.attrs["wordpiece_processor"] = layers.WordPieces(vocabulary())
    model.attrs["lowercase"] = model.attrs["strip_accents"] = True
    return model


def pieces(encoder, text):
    (out,) = encoder.predict([NLP.make_doc(text)])
    names = vocabulary()
    return [names[i] if i != layers.UNSEEN else "" for i in out.dataXd][1:-1], list(out.lengths)[
        1:-1
    ]


@pytest.mark.parametrize(("text", "expected"), CASES["pieces"])
def test_pieces_show_layout(encoder, text, expected):
    assert pieces(encoder, text)[0] == expected


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=60))
def test_every_token_has_a_piece(encoder, text):
    lengths = pieces(encoder, text)[1]
    assert len(lengths) == len(NLP.make_doc(text))
    assert all(n >= 1 for n in lengths)


CASED = {"ana": 0, "é": 0, "Ana": 1, "A": 1, "É": 1, "ANA": 2, "ÀB": 2, "aNA": 3, "McKay": 3}
CASED |= {"Ana2": 1, "A4": 2, "2014": 4, "(": 5, ".": 5, "@ana": 5, " ": 6, "\n\n": 6, "李伟": 3}


@pytest.mark.parametrize("word", CASED)
def test_case_of_a_word(word):
    assert layers.case_of(word) == CASED[word]


@settings(max_examples=80, deadline=None)
@given(text=st.text(max_size=60))
def test_case_goes_with_every_piece(encoder, text):
    doc = NLP.make_doc(text)
    cased = layers.build_layout_wordpiece_encoder(case=True)
    cased.attrs.update({**encoder.attrs, "case": True})
    (plain,), (found,) = encoder.predict([doc]), cased.predict([doc])
    assert found.lengths.tolist() == plain.lengths.tolist()
    cases = [5, *(layers.case_of(token.text) for token in doc), 5]
    more = numpy.repeat(cases, found.lengths) * layers.CASE_STEP
    unseen = plain.dataXd == layers.UNSEEN
    assert found.dataXd.tolist() == numpy.where(unseen, layers.UNSEEN, plain.dataXd + more).tolist()


# --- what comes before WordPiece ---


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=30))
def test_same_as_the_library(text):
    from spacy_curated_transformers.tokenization.wordpiece_encoder import (
        _bert_preprocess,
        _strip_accents,
    )

    assert layers.split_punctuation("d'accord--x—y$5+") == [*"d'", "accord", *"--x—y$5+"]
    assert layers.split_punctuation(text) == _bert_preprocess(text)
    assert layers.strip_marks(text) == _strip_accents(text)
