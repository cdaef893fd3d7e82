"""Windows and the layout-aware piece encoder."""

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import Model, Ragged

from pii_components.errors import PiiError
from pii_components.ner import layers

from ..tiny import TOKENIZER, TRAIN, cases, gold, tiny_pipeline, vocabulary

torch = pytest.importorskip("torch")
CASES = cases("ner")
NLP = spacy.blank("en", config=TOKENIZER)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 2000), st.integers(8, 300), st.booleans(), st.data())
def test_windows_cover_everything_and_overlap(length, window, even, data):
    overlap = data.draw(st.integers(0, window // 2))
    found = layers.windows_of(length, window=window, overlap=overlap, even=even)
    covered = numpy.zeros(length, dtype=int)
    for start, end in found:
        covered[start:end] += 1
    assert covered.min() >= 1
    assert found == sorted(set(found)) and found[0][0] == 0 and found[-1][1] == length
    assert len({end - start for start, end in found}) == 1 and found[0][1] <= window
    assert all(left[1] - right[0] >= overlap for left, right in zip(found, found[1:], strict=False))
    if even:  # hardly more is read than must be
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


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 20, 101])
def test_windows_average_and_split_gradients(length, even):
    encoder, seen = echo()
    model = layers.build_with_windows(window=8, overlap=3, batch_size=4, even=even)(encoder)
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


# --- an encoder that learns faster says the same, and its weights keep their names and their 32 bits ---


def bert(dropout=0.0):
    from curated_transformers.models.bert import BertConfig, BertEncoder

    torch.manual_seed(1)
    config = BertConfig(
        embedding_width=16,
        hidden_width=16,
        intermediate_width=32,
        num_attention_heads=2,
        num_hidden_layers=2,
        vocab_size=50,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    return BertEncoder(config)


def vectors(encoder, pieces):
    return encoder(torch.tensor(pieces)).last_hidden_layer_states


def test_quickened_encoders_say_the_same():
    plain, quick = bert().eval(), layers.quicken(bert()).eval()
    pieces = [[5, 6, 7, 0, 0], [1, 2, 3, 4, 5]]
    assert list(plain.state_dict()) == list(quick.state_dict())
    assert torch.allclose(vectors(plain, pieces), vectors(quick, pieces), atol=1e-5)


def test_dropout_has_one_mask_a_sequence():
    torch.manual_seed(2)
    quick = layers.quicken(bert(0.1), dropout=0.5)
    modules = [module for module in quick.modules() if isinstance(module, torch.nn.Dropout)]
    assert {module.p for module in modules} == {0.5}
    dropped = modules[0].train()(torch.ones(3, 9, 40))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all() and not (dropped[0] == dropped[1]).all()
    assert torch.equal(modules[0].eval()(torch.ones(1, 2, 3)), torch.ones(1, 2, 3))


def test_bfloat16_stays_near_with_gradients():
    plain, quick = bert(), layers.compute_in_bfloat16(layers.quicken(bert()))
    pieces = [[5, 6, 7, 8, 9]]
    found = vectors(quick, pieces)
    assert found.dtype == torch.float32
    assert torch.allclose(found, vectors(plain, pieces), atol=0.1)
    found.sum().backward()
    assert all(p.dtype == torch.float32 and p.grad is not None for p in quick.layers.parameters())


@pytest.mark.parametrize("has", [True, False])
def test_quick_encoders_learn_and_freeze(tmp_path, monkeypatch, has):
    monkeypatch.setattr(layers, "has_bfloat16", lambda: has)
    nlp = tiny_pipeline(tmp_path)
    layers.make_quick_encoder(layers=0)(nlp)
    module = nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model
    seen = []
    layer = next(m for m in module.modules() if isinstance(m, torch.nn.Linear))
    hook = layer.register_forward_hook(lambda *args: seen.append(args[-1].dtype))
    nlp("My name is Ana")
    hook.remove()
    assert set(seen) == {torch.bfloat16 if has else torch.float32}
    before = {name: value.clone() for name, value in module.state_dict().items()}
    sgd, losses = nlp.create_optimizer(), []
    sgd.learn_rate = 0.01
    for _ in range(40):
        told = {}
        nlp.update([gold(nlp, text, spans) for text, spans in TRAIN], sgd=sgd, losses=told)
        losses.append(told["pii_ner"])
    assert losses[-1] < 0.5 * losses[0]
    changed = {
        name for name, value in module.state_dict().items() if not torch.equal(value, before[name])
    }
    assert any(".layers.0." in name for name in changed)
    assert not any("embeddings" in name for name in changed)
    nlp.to_disk(tmp_path / "model")  # what wraps the encoder is not saved
