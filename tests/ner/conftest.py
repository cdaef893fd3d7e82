"""One pipeline for all tests of this room: a tiny one that has learned its few texts."""

import pytest
import spacy

from ..tiny import TRAIN, gold, tiny_pipeline


@pytest.fixture(scope="session")
def losses():
    """Those of each step of the training."""
    return []


@pytest.fixture(scope="session")
def trained(tmp_path_factory, losses):
    pytest.importorskip("torch")
    spacy.util.fix_random_seed(46)  # else its weights depend on the tests that ran before
    nlp = tiny_pipeline(tmp_path_factory.mktemp("tiny"))
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.01
    for _ in range(100):
        step = {}
        nlp.update([gold(nlp, text, spans) for text, spans in TRAIN], sgd=sgd, losses=step)
        losses.append(step["pii_ner"])
    return nlp
