"""The last layer alone: it learns a label that the rest was not trained for, and nothing else moves."""

import pytest
import spacy

from pii_components.errors import PiiError
from tests.tiny import TOKENIZER, TRAIN, gold, tiny_pipeline

torch = pytest.importorskip("torch")
from pii_components.training.head import fit_head  # noqa: E402


def test_only_the_last_layer_learns(tmp_path):
    nlp = tiny_pipeline(tmp_path)
    encoder = nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    docs = [gold(nlp, text, spans).reference for text, spans in TRAIN]
    losses = fit_head(nlp, docs, epochs=80, learn_rate=0.05)
    assert len(losses) == 80 and losses[-1] < 0.2 * losses[0]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    doc = nlp("Write to ana@lopez.org")
    assert [(span.text, span.label_) for span in doc.spans["pii"]] == [("ana@lopez.org", "EMAIL")]


def test_same_seed_same_weights(tmp_path):
    made = []
    for seed in (1, 1, 2):
        nlp = tiny_pipeline(tmp_path)
        docs = [gold(nlp, text, spans).reference for text, spans in TRAIN * 8]
        made.append(fit_head(nlp, docs, epochs=2, seed=seed))
    assert made[0] == made[1] != made[2]


def test_no_labels_nothing_to_learn():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ner")
    with pytest.raises(PiiError, match="E102"):
        fit_head(nlp, [])
