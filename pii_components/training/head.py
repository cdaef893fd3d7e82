"""Train the last layer of `pii_ner` alone, on what a trained encoder says of every token: `fit_head(nlp, docs)`.

Fine-tuning an encoder takes small steps, by which rare labels hardly move; the layer behind it is linear, so that many large steps over vectors that
were computed once cost minutes ("linear probing", Kumar et al. 2022, arXiv:2202.10054, after fine-tuning instead of before it).
"""

import random
from collections.abc import Sequence
from typing import Any, cast

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Adam

from ..errors import Errors, PiiError
from ..ner.component import PiiTokenClassifier

_BATCH = 16  # documents of which vectors are kept together


def fit_head(
    nlp: Language,
    docs: Sequence[Doc],
    *,
    epochs: int = 8,
    learn_rate: float = 3e-3,
    l2: float = 1e-4,
    seed: int = 46,
) -> list[float]:
    """Adam over the weights and the bias of the output layer of `pii_ner`, with its own loss; the rate falls to 0.

    docs (Sequence[Doc]): Gold in `doc.spans`. epochs (int): Passes, above 0. learn_rate (float): At the start, above 0. l2 (float): Decay of the
    weights. RETURNS (list[float]): Mean loss of each epoch. RAISES (PiiError): E102 for a pipeline without labels.
    """
    ner = cast(PiiTokenClassifier, nlp.get_pipe("pii_ner"))
    if not ner.labels:
        raise PiiError(Errors.E102, key=ner.cfg["spans_key"])
    output = ner.model.get_ref("output_layer")
    kept = [_inputs(nlp, ner, batch) for batch in minibatch(docs, _BATCH)]
    sgd = Adam(learn_rate, L2=l2, grad_clip=0.0)
    rng, told, step, steps = random.Random(seed), list[float](), 0, epochs * len(kept)
    for _ in range(epochs):
        rng.shuffle(kept)
        losses = []
        for examples, inputs in kept:
            loss, gradients = ner.get_loss(examples, [output.predict(x) for x in inputs])
            losses.append(loss)
            sgd.learn_rate = learn_rate * (1 - step / steps)
            step += 1
            for name, gradient in (
                ("W", sum(g.T @ x for g, x in zip(gradients, inputs, strict=True))),
                ("b", sum(g.sum(axis=0) for g in gradients)),
            ):
                output.set_param(name, sgd((output.id, name), output.get_param(name), gradient)[0])
        told.append(float(numpy.mean(losses)))
    return told


def _inputs(
    nlp: Language, ner: PiiTokenClassifier, golds: Sequence[Doc]
) -> tuple[list[Example], list[numpy.ndarray]]:
    """Gold of some documents, and what reaches the output layer, `(n_tokens, width)` each."""
    docs = [nlp.get_pipe("transformer")(nlp.make_doc(gold.text)) for gold in golds if len(gold)]  # type: ignore[operator]
    examples = [
        Example(doc, gold) for doc, gold in zip(docs, (g for g in golds if len(g)), strict=True)
    ]
    below: Any = ner.model.layers[0]
    return examples, [numpy.asarray(x, dtype="f4") for x in below.predict(docs)]
