"""cpu_training.py: what learns faster says the same, and its weights keep their names and their 32 bits."""

import pytest

from ..tiny import TRAIN, gold, tiny_pipeline

torch = pytest.importorskip("torch")

from curated_transformers.models.attention import AttentionMask, ScaledDotProductAttention  # noqa: E402
from curated_transformers.models.bert import BertConfig, BertEncoder  # noqa: E402

from pii_components.ner import cpu_training  # noqa: E402
from pii_components.ner.cpu_training import FusedAttention, SequenceDropout, compute_in_bfloat16, quicken  # noqa: E402
from pii_components.ner.layers import make_quick_encoder  # noqa: E402


def encoder(dropout=0.0):
    torch.manual_seed(1)
    config = BertConfig(
        embedding_width=16, hidden_width=16, intermediate_width=32, num_attention_heads=2, num_hidden_layers=2, vocab_size=50,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
    )  # fmt: skip
    return BertEncoder(config)


def test_fused_attention_is_attention():
    k, q, v = torch.randn(3, 2, 4, 7, 8)
    mask = AttentionMask(torch.tensor([[True] * 7, [True] * 4 + [False] * 3]))
    assert torch.allclose(
        FusedAttention()(k, q, v, mask), ScaledDotProductAttention(dropout_prob=0.0)(k, q, v, mask), atol=1e-5
    )


def test_a_quickened_encoder_says_the_same_and_keeps_its_weights():
    plain, quick = encoder().eval(), quicken(encoder()).eval()
    pieces = torch.tensor([[5, 6, 7, 0, 0], [1, 2, 3, 4, 5]])
    assert list(plain.state_dict()) == list(quick.state_dict())
    assert torch.allclose(plain(pieces).last_hidden_layer_states, quick(pieces).last_hidden_layer_states, atol=1e-5)


def test_dropout_has_one_mask_for_all_places_of_a_sequence():
    torch.manual_seed(2)
    dropped = SequenceDropout(0.5).train()(torch.ones(3, 9, 40))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all() and not (dropped[0] == dropped[1]).all()
    assert torch.equal(SequenceDropout(0.5).eval()(torch.ones(1, 2, 3)), torch.ones(1, 2, 3))
    modules = quicken(encoder(0.1), dropout=0.3).modules()
    assert {module.p for module in modules if isinstance(module, SequenceDropout)} == {0.3}


def test_bfloat16_gives_32_bits_near_the_same_and_gradients():
    plain, quick = encoder(), compute_in_bfloat16(quicken(encoder()))
    pieces = torch.tensor([[5, 6, 7, 8, 9]])
    found = quick(pieces).last_hidden_layer_states
    assert found.dtype == torch.float32
    assert torch.allclose(found, plain(pieces).last_hidden_layer_states, atol=0.1)
    found.sum().backward()
    assert all(p.dtype == torch.float32 and p.grad is not None for p in quick.layers.parameters())


def test_a_pipeline_learns_with_a_quick_encoder_and_keeps_what_is_frozen(tmp_path):
    nlp = tiny_pipeline(tmp_path)
    make_quick_encoder(layers=0)(nlp)
    module = nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model
    before = {name: value.clone() for name, value in module.state_dict().items()}
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.01
    losses = []
    for _ in range(60):
        told = {}
        nlp.update([gold(nlp, text, spans) for text, spans in TRAIN], sgd=sgd, losses=told)
        losses.append(told["pii_ner"])
    assert losses[-1] < 0.5 * losses[0]
    changed = {name for name, value in module.state_dict().items() if not torch.equal(value, before[name])}
    assert any(".layers.0." in name for name in changed) and not any("embeddings" in name for name in changed)
    nlp.to_disk(tmp_path / "model")  # what wraps the encoder is not saved


@pytest.mark.parametrize("has", [True, False])
def test_bfloat16_is_for_processors_that_have_it(tmp_path, monkeypatch, has):
    monkeypatch.setattr(cpu_training, "has_bfloat16", lambda: has)
    nlp = tiny_pipeline(tmp_path)
    make_quick_encoder(layers=0)(nlp)
    module = nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model
    seen = []
    layer = next(m for m in module.modules() if isinstance(m, torch.nn.Linear))
    layer.register_forward_hook(lambda *args: seen.append(args[-1].dtype))
    nlp("My name is Ana")
    assert set(seen) == {torch.bfloat16 if has else torch.float32}
