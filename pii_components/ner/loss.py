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

from ..labels import LABELS, NAME_LABELS, check_label
from ..spans import SPANS_KEY, read_gold
from .decode import NAME, group_of, output_labels

LABELS_OF = {NAME: NAME_LABELS}
UNLABELLED_KEY = "pii_unlabelled"
ANNOTATED = "annotated"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Gold of one document.

    gold (numpy.ndarray): Column per token, shape `(n_tokens,)`. weights (numpy.ndarray): Weight per token, same shape.
    wanted (numpy.ndarray | None): 1 for every column that a token may have, else 0, shape `(n_tokens, n_outputs)`; None where the gold
        knows every label, and so each token has the one of `gold`."""

    gold: numpy.ndarray
    weights: numpy.ndarray
    wanted: numpy.ndarray | None = None


def targets(
    doc: Doc,
    reference: Doc,
    labels: Sequence[str],
    *,
    class_weights: Mapping[str, float],
    spans_key: str = SPANS_KEY,
) -> Target:
    """RETURNS (Target): Of the predicted document; what does not align has weight 0, what has a label that is none of the model's is outside.
    Where entities are the gold, those with labels that are none of ours, and what nobody has annotated, have weight 0.

    labels (Sequence[str]): The model's, in the order of its columns; a name of any role is a `NAME`.
    class_weights (Mapping[str, float]): Factor per label or group, and `O`.
    RAISES (PiiError): E002 for gold annotated for a label that does not exist."""
    column = {label: 1 + 2 * i for i, label in enumerate(labels)}
    gold = numpy.zeros(len(doc), dtype="i8")
    weights = numpy.full(len(doc), class_weights.get("O", 1.0), dtype="f4")
    held: list[tuple[int, int, str]] = []
    known = read_gold(reference, spans_key) or []
    unknown = list(reference.spans.get(UNLABELLED_KEY, ()))
    if spans_key not in reference.spans:
        unknown += [s for s in known if s.label_ not in LABELS and s.label_ not in labels]
        unknown += [reference[t.i : t.i + 1] for t in reference if t.ent_iob_ == ""]
    spans = [(span, True) for span in known if group_of(span.label_) in column]
    for span, labelled in (*spans, *((span, False) for span in unknown)):
        exact = doc.char_span(span.start_char, span.end_char) if labelled else None
        wide = exact or doc.char_span(span.start_char, span.end_char, alignment_mode="expand")
        if exact is not None:
            gold[exact.start : exact.end] = column[group_of(span.label_)] + 1
            gold[exact.start] = column[group_of(span.label_)]
            weights[exact.start : exact.end] = _weight(class_weights, span.label_)
            held.append((exact.start, exact.end, span.label_))
        elif wide is not None:
            weights[wide.start : wide.end] = 0.0
    attrs = reference.spans[spans_key].attrs if spans_key in reference.spans else {}
    annotated = attrs.get(ANNOTATED)
    if not annotated:
        return Target(gold, weights)
    for label in (*annotated, *chain.from_iterable(annotated.values())):
        check_label(label)
    wanted = numpy.ones((len(doc), len(output_labels(labels))), dtype="f4")
    for group, at in column.items():  # of names, only where those of all roles were looked for
        if all(label in annotated for label in LABELS_OF.get(group, (group,))):
            wanted[:, at : at + 2] = 0.0
    for start, end, label in held:
        wanted[start:end] = 0.0
        others = {group_of(other) for other in annotated.get(label, (label,))}
        for at in (column[other] for other in others if other in column):
            wanted[start + 1 : end, at + 1] = 1.0
            wanted[start, at] = 1.0
    return Target(gold, weights, wanted)


def _weight(class_weights: Mapping[str, float], label: str) -> float:
    return class_weights.get(label, class_weights.get(group_of(label), 1.0))


def weighted_loss(
    xp: Any, scores: Sequence[Floats2d], golds: Sequence[Target]
) -> tuple[float, list[Floats2d]]:
    """RETURNS (tuple[float, list[Floats2d]]): Weighted cross entropy, the mean over the batch's weights, and its gradient with respect to
    the softmax's input, shapes as `scores`.

    xp (module): numpy or cupy. scores (Sequence[Floats2d]): Probabilities, one `(n_tokens, n_outputs)` array per document of `golds`."""
    total = max(sum(float(target.weights.sum()) for target in golds), 1e-6)
    loss, gradients = 0.0, []
    for probs, target in zip(scores, golds, strict=True):
        weights = xp.asarray(target.weights) / total
        if target.wanted is None:
            aim = xp.zeros_like(probs)
            aim[xp.arange(len(target.gold)), xp.asarray(target.gold)] = 1.0
            mass = (probs * aim).sum(axis=1)
        else:
            held = probs * xp.asarray(target.wanted)
            mass = held.sum(axis=1)
            aim = (
                held / xp.maximum(mass, 1e-8)[:, None]
            )  # the model's own reading of what it may be
        loss -= float((weights * xp.log(xp.maximum(mass, 1e-8))).sum())
        gradients.append(((probs - aim) * weights[:, None]).astype(probs.dtype))
    return loss, gradients
