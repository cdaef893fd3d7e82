"""What `pii_ner` learns from: gold columns, weights, and gold that knows only some labels. Pure functions.

    target = targets(predicted, reference, labels, class_weights=weights)
    loss, d_scores = weighted_loss(xp, scores, [target])

Real essays are labelled for some kinds only: CRAPII marks students' names, classmates' among them, and says nothing of authors'. Such gold
tells in `doc.spans["pii"].attrs["annotated"]` which labels its annotators looked for, and which of ours each may be:
`{"NAME_STUDENT": ["NAME_STUDENT", "NAME_CONNECTED"], "EMAIL": ["EMAIL"]}`. A token outside its spans may be anything but those labels, and
the loss is that of a partial label: -log of the summed probability of all that it may be (Jin and Ghahramani 2002, Learning with
Multiple Labels).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy
from spacy.tokens import Doc
from thinc.types import Floats2d

from .decoding import group_of, output_labels
from .errors import Errors, PiiError
from .labels import LABELS
from .spans import SPANS_KEY

UNLABELLED_KEY = "pii_unlabelled"
# Names that a detector found and nobody labelled; the reader of `pii_context` learns from what they may be.
FOUND_KEY = "pii_found"
ANNOTATED = "annotated"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Gold of one document.

    gold (numpy.ndarray): Column per token, shape `(n_tokens,)`. weights (numpy.ndarray): Weight per token, same shape.
    wanted (numpy.ndarray | None): 1 for every column that a token may have, 0 for the others, shape `(n_tokens, n_outputs)`; None where
        the gold knows every label, and so each token has the one of `gold`.
    """

    gold: numpy.ndarray
    weights: numpy.ndarray
    wanted: numpy.ndarray | None = None


def targets(
    doc: Doc, reference: Doc, labels: Sequence[str], *, class_weights: Mapping[str, float], spans_key: str = SPANS_KEY
) -> Target:
    """Gold column and weight per token of the predicted document.

    doc (Doc): The predicted document. reference (Doc): The gold one. labels (Sequence[str]): The model's, in the order of its columns.
    class_weights (Mapping[str, float]): Factor per label or group; `O` for what is outside. spans_key (str): The span group.
    RETURNS (Target): What does not align has weight 0; what has a label that is none of the model's is outside for it.
    RAISES (PiiError): E002, if the gold says that it was annotated for a label that does not exist.
    """
    column = {label: 1 + 2 * i for i, label in enumerate(labels)}
    gold = numpy.zeros(len(doc), dtype="i8")
    weights = numpy.full(len(doc), class_weights.get("O", 1.0), dtype="f4")
    held: list[tuple[int, int, str]] = []
    for group in (spans_key, UNLABELLED_KEY):
        for span in reference.spans.get(group, ()):
            if group == spans_key and span.label_ not in column:
                continue
            exact = doc.char_span(span.start_char, span.end_char)
            if group == UNLABELLED_KEY or exact is None:
                wide = doc.char_span(span.start_char, span.end_char, alignment_mode="expand")
                if wide is not None:
                    weights[wide.start : wide.end] = 0.0
                continue
            gold[exact.start : exact.end] = column[span.label_] + 1
            gold[exact.start] = column[span.label_]
            weights[exact.start : exact.end] = class_weights.get(span.label_, class_weights.get(group_of(span.label_), 1.0))
            held.append((exact.start, exact.end, span.label_))
    annotated = reference.spans[spans_key].attrs.get(ANNOTATED) if spans_key in reference.spans else None
    if not annotated:
        return Target(gold, weights)
    if unknown := [label for label in (*annotated, *chain.from_iterable(annotated.values())) if label not in LABELS]:
        raise PiiError(Errors.E002, label=unknown[0], allowed=", ".join(LABELS))
    wanted = numpy.ones((len(doc), len(output_labels(labels))), dtype="f4")
    for label in annotated:
        if label in column:
            wanted[:, column[label] : column[label] + 2] = 0.0
    for start, end, label in held:
        wanted[start:end] = 0.0
        for other in annotated.get(label, (label,)):
            if other in column:
                wanted[start + 1 : end, column[other] + 1] = 1.0
                wanted[start, column[other]] = 1.0
    return Target(gold, weights, wanted)


def weighted_loss(xp: Any, scores: Sequence[Floats2d], golds: Sequence[Target]) -> tuple[float, list[Floats2d]]:
    """Weighted cross entropy, the mean over the batch's weights.

    xp (module): numpy or cupy. scores (Sequence[Floats2d]): Probabilities, one `(n_tokens, n_outputs)` array per document.
    golds (Sequence[Target]): In the same order.
    RETURNS (tuple[float, list[Floats2d]]): The loss, and its gradient with respect to the softmax's input, shapes as `scores`.
    """
    total = max(sum(float(target.weights.sum()) for target in golds), 1e-6)
    loss, gradients = 0.0, []
    for probs, target in zip(scores, golds, strict=True):
        weights = xp.asarray(target.weights)
        if target.wanted is None:
            aim = xp.zeros_like(probs)
            aim[xp.arange(len(target.gold)), xp.asarray(target.gold)] = 1.0
            mass = (probs * aim).sum(axis=1)
        else:
            held = probs * xp.asarray(target.wanted)
            mass = held.sum(axis=1)
            aim = held / xp.maximum(mass, 1e-8)[:, None]  # the model's own reading of what it may be
        loss -= float((weights * xp.log(xp.maximum(mass, 1e-8))).sum()) / total
        gradients.append(((probs - aim) * weights[:, None] / total).astype(probs.dtype))
    return loss, gradients
