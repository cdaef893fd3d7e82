"""What `pii_context` learns from one labelled text: whose the names are, and which places, schools, firms, dates and ages are somebody's.

    loss, d_vectors = learn_names(people, Gold(reference, "pii"), heads, classifier, vectors)

Gold is `doc.spans["pii"]` with a label for each role. Where it says in `attrs["annotated"]` which labels somebody looked for (ner/loss.py), a name
without a mark may be whatever nobody looked for: the loss is that of a partial label.
"""

from collections.abc import Sequence

import numpy
from spacy.tokens import Doc, Span

from ..labels import DETAIL_LABELS, is_name, label_for_role, role_of
from ..ner.loss import ANNOTATED, UNLABELLED_KEY
from ..spans import read_gold, read_spans
from .classifier import CLASSES, NOT_NAME, PersonModel
from .features import begin_rows
from .heads import OWNED, Heads
from .mentions import People


class Gold:
    """What is known of a text. reference (Doc): Its gold. key (str): Of the span group."""

    def __init__(self, reference: Doc, key: str) -> None:
        self.key = key
        spans = read_gold(reference, key) or []
        self.spans = [(s.start_char, s.end_char, s.label_) for s in spans]
        unknown = [s for s in spans if s.label_ in DETAIL_LABELS]
        unknown += reference.spans.get(UNLABELLED_KEY, ())
        self.unknown = [(s.start_char, s.end_char) for s in unknown]
        attrs = reference.spans[key].attrs if key in reference.spans else {}
        # Which labels were looked for, and what each may be; None if all were.
        self.annotated: dict[str, Sequence[str]] | None = attrs.get(ANNOTATED)

    def classes(self, name: Span) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): What a name may be, of `CLASSES`; empty within a user name, or where nobody looked."""
        start, end = name.start_char, name.end_char
        for a, b, label in self.spans:
            if a < end and b > start and is_name(label):
                labels = (self.annotated or {}).get(label, (label,))
                return tuple(role_of(one) for one in labels if is_name(one))
        if any(a < end and b > start for a, b in self.unknown):
            return ()
        if self.annotated is None:
            return (NOT_NAME,)
        looked_for = self.annotated
        return tuple(c for c in CLASSES if c == NOT_NAME or label_for_role(c) not in looked_for)

    def is_somebodys(self, thing: Span) -> bool | None:
        """RETURNS (bool | None): Whether a place, a school, a firm, a date or an age is marked; None where nobody looked for such."""
        start, end, label = thing.start_char, thing.end_char, thing.label_
        if any(a < end and b > start and given == label for a, b, given in self.spans):
            return True
        known = self.annotated is None or label in self.annotated
        inside = any(a < end and b > start for a, b in self.unknown)
        return False if known and not inside else None


def learn_names(
    people: People, gold: Gold, heads: Heads, classifier: PersonModel, vectors: numpy.ndarray
) -> tuple[float, numpy.ndarray]:
    """RETURNS (tuple[float, numpy.ndarray]): The loss, a mean over people, and its gradient with respect to the vectors, `(n_tokens, 384)`."""
    doc = people.view.doc
    wanted = [gold.classes(doc[c.start : c.end]) for c in people.cands]
    # A person with several roles counts by their shares; names of which nothing is known do not.
    known = [(n, wanted[i]) for n, person in enumerate(people.persons) for i in person if wanted[i]]
    if not known:
        return 0.0, numpy.zeros_like(vectors)
    rows, to_vectors = begin_rows(people, heads, vectors)
    chances, to_rows = classifier.begin_update(rows)
    of = numpy.asarray([n for n, _ in known])
    weight = 1 / numpy.bincount(of, minlength=len(rows))[of] / len(set(of.tolist()))
    allowed = numpy.asarray([[c in classes for c in CLASSES] for _, classes in known], dtype="f4")
    held = chances[of] * allowed
    mass = numpy.maximum(held.sum(axis=1, keepdims=True), 1e-6)
    d_logits = numpy.zeros_like(chances)
    numpy.add.at(d_logits, of, weight[:, None] * (chances[of] - held / mass))
    loss = float(-(weight * numpy.log(mass[:, 0])).sum())
    return loss, to_vectors(to_rows(d_logits.astype("f4")))


def learn_things(
    doc: Doc, gold: Gold, heads: Heads, classifier: PersonModel, vectors: numpy.ndarray
) -> tuple[float, numpy.ndarray]:
    """RETURNS (tuple[float, numpy.ndarray]): As `learn_names`, of places, schools, firms, dates and ages among what is proposed."""
    proposed = [c for c in read_spans(doc, gold.key) if c.source == "model" and c.label in OWNED]
    owned = [gold.is_somebodys(Span(doc, c.start, c.end, label=c.label)) for c in proposed]
    asked = [(c, bool(y)) for c, y in zip(proposed, owned, strict=True) if y is not None]
    if not asked:
        return 0.0, numpy.zeros_like(vectors)
    labels = [c.label for c, _ in asked]
    things = [(c.start, c.end, c.label) for c, _ in asked]
    log_odds, to_vectors = heads.begin_owned(vectors, things)
    p = classifier.somebodys(log_odds, labels)
    y = numpy.asarray([y for _, y in asked], dtype="f4")
    loss = -numpy.log(numpy.maximum(numpy.where(y > 0, p, 1 - p), 1e-6)).mean()
    scale = classifier.owned[[OWNED.index(label) for label in labels], 0]
    return float(loss), to_vectors((scale * (p - y) / len(y)).astype("f4"))
