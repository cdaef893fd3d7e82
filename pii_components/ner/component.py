"""`pii_ner`: a trainable pipe that finds personal information, token by token, with a probability.

    nlp.add_pipe("pii_ner", config={"thresholds": {"NAME": 0.4}})

Predictions live in `doc.spans["pii"]`, and so does gold, or else in `doc.ents`. It says what is there, whoever's: a name of any role is a `NAME`
to it, and a student's in `doc.spans["pii"]` until `pii_context` has decided.
Text that nobody has labelled can be marked in
`doc.spans["pii_unlabelled"]` of the gold document: its tokens take no part in training. Gold that knows some labels only says so, see loss.py.
"""

from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d

from ..config import Configured
from ..errors import Errors, PiiError
from ..labels import BALANCED, NAME_LABELS, POINTS
from ..names.letters import forget
from ..spans import SPANS_KEY, mark_given, read_gold, with_given, write_spans
from .decode import (
    GROUPS,
    NAME,
    OPERATING_POINT,
    check_group,
    decode,
    group_of,
    output_labels,
    thresholds_at,
)
from .layers import encoded_data, grow_outputs
from .loss import targets, weighted_loss
from .scorer import check_entities, score_pii

__all__ = ["PiiTokenClassifier"]


def make_pii_scorer() -> Callable:
    """RETURNS (Callable): `score_pii`: precision, recall, F1 and F5 of `doc.spans["pii"]`."""
    return score_pii


# The loss of a token without personal information counts a tenth; .05 to .10 won on CRAPII (Kaggle 2024, first and fifth place).
DEFAULTS: dict[str, Any] = {"labels": [], "thresholds": {NAME: 0.5}, "class_weights": {"O": 0.1}}


class Thresholds(UserDict[str, float]):
    """Least probability of a span per label or `NAME`, 0 to 1; what is set is checked. RAISES (PiiError): E002, E650."""

    def __setitem__(self, label: str, value: float) -> None:
        check_group(label)
        if not (isinstance(value, int | float) and 0 <= value <= 1):
            raise PiiError(Errors.E650, name=f"threshold of {label}", value=value, allowed="0 to 1")
        super().__setitem__(label, value)

    # UserDict's own does not ask __setitem__.
    def __ior__(self, other: Any) -> "Thresholds":  # type: ignore[override,misc]
        self.update(other)
        return self


class PiiTokenClassifier(Configured, TrainablePipe):
    """BIO token classification with a probability for every span."""

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], list[Floats2d]],
        name: str = "pii_ner",
        *,
        spans_key: str = SPANS_KEY,
        thresholds: Mapping[str, float] | None = None,
        operating_point: str | None = None,
        class_weights: Mapping[str, float] | None = None,
        scorer: Callable | None = score_pii,
    ) -> None:
        """model (Model): Documents to probabilities, see `pii_edu.TokenClassifier.v1`.
        spans_key (str): The span group that is written, and read as gold.
        thresholds (dict[str, float]): Least probability of a span per label, 0 to 1; `NAME` stands for all roles together; .5
            where a label is missing.
        operating_point (str | None): `recall`, `balanced` (the default) or `precision`.
        class_weights (dict[str, float]): Factor on the loss of `O` or a label, above 0; .1 for `O`, 1 where a label is missing.
        scorer (Callable | None): See `score_pii`.
        RAISES (PiiError): E650, E519, E002 for settings out of range."""
        Thresholds(thresholds or {})
        for label, value in (class_weights or {}).items():
            if value <= 0:
                raise PiiError(
                    Errors.E650, name=f"weight of {label}", value=value, allowed="above 0"
                )
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        asked = {"thresholds": thresholds, "class_weights": class_weights, "spans_key": spans_key}
        self.configure(DEFAULTS, asked)
        self._operating_point = BALANCED
        self.operating_point = operating_point or BALANCED

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Entity labels, in the order of the model's columns."""
        return tuple(self.cfg["labels"])

    label_data = labels  # what `initialize` takes as labels

    @property
    def thresholds(self) -> Thresholds:
        """RETURNS (Thresholds): Those in force; one, or all of them, may be set on a loaded pipeline."""
        self.sync_config("thresholds")
        view = Thresholds()
        view.data = self.cfg["thresholds"]
        return view

    @thresholds.setter
    def thresholds(self, values: Mapping[str, float]) -> None:
        self.cfg["thresholds"] = Thresholds(values).data
        self.sync_config("thresholds")

    @property
    def operating_point(self) -> str:
        """RETURNS (str): `recall`, `balanced` or `precision`. Saved in the pipeline's config alone: it is the one who loads that chooses."""
        return self._operating_point

    @operating_point.setter
    def operating_point(self, value: str) -> None:
        if value not in POINTS:
            raise PiiError(
                Errors.E519, value=value, what="operating point", allowed=", ".join(POINTS)
            )
        self._operating_point = value
        self.sync_config(operating_point=value)

    def add_label(self, label: str) -> int:
        """Add a label, also to a model that has learned others, which keep what they know.

        RETURNS (int): 1 if the label is new, 0 if not; names of all roles are one, `NAME`. RAISES (PiiError): E002 for what is no label."""
        label = check_group(group_of(label))
        if label in self.cfg["labels"]:
            return 0
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        if self.model.get_ref("output_layer").has_dim("nO"):
            grow_outputs(self.model, len(output_labels(self.labels)))
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Set the model's shapes and labels, in the order of its columns; of the gold examples if None. RAISES (PiiError): E102 without any."""
        validate_get_examples(get_examples, "PiiTokenClassifier.initialize")
        if labels is None:
            key = self.cfg["spans_key"]
            check_entities(get_examples(), key)
            gold = (read_gold(eg.reference, key) or () for eg in get_examples())
            held = {group_of(span.label_) for spans in gold for span in spans}
            labels = [label for label in GROUPS if label in held]
        for label in labels:
            self.add_label(label)
        if not self.labels:
            raise PiiError(Errors.E102, key=self.cfg["spans_key"])
        output = self.model.get_ref("output_layer")
        if not output.has_dim("nO"):
            output.set_dim("nO", len(output_labels(self.labels)))
        reader, sample = self.model.get_ref("tok2vec"), [eg.x for eg in islice(get_examples(), 10)]
        if reader.name == "encoder_vectors":  # which no encoder has given to the examples yet
            sample = [Doc(self.vocab, words=["a"])]
            sample[0].tensor = numpy.zeros((1, reader.get_dim("nO")), dtype="f4")
        self.model.initialize(X=sample)

    def predict(self, docs: Iterable[Doc]) -> list[Floats2d]:
        """RETURNS (list[Floats2d]): Probabilities, one `(n_tokens, 1 + 2 * n_labels)` array per document; empty documents are fine."""
        docs = list(docs)
        width = len(output_labels(self.labels))
        filled = [doc for doc in docs if len(doc)]
        try:
            scores = iter(self.model.predict(filled) if filled else ())
            return [next(scores) if len(doc) else self.model.ops.alloc2f(0, width) for doc in docs]
        finally:
            forget()

    def set_annotations(self, docs: Iterable[Doc], scores: list[Floats2d]) -> None:
        """Write `doc.spans[spans_key]` with scores and role probabilities. scores (list[Floats2d]): What `predict` returned."""
        thresholds, key = (
            thresholds_at(self.operating_point, self.cfg["thresholds"]),
            self.cfg["spans_key"],
        )
        try:
            for doc, probs in zip(docs, scores, strict=True):
                mark_given(doc, key)
                probs = self.model.ops.to_numpy(probs)
                if unread := encoded_data(doc):
                    probs = probs.copy()
                    probs[unread, 1:] = 0
                found = decode(doc, probs, self.labels, thresholds)
                self.has_our_tokens(doc)  # warns
                write_spans(doc, with_given(doc, found, key), key)
                doc.spans[key].attrs[OPERATING_POINT] = self.operating_point
        finally:
            forget()

    def get_loss(
        self, examples: Iterable[Example], scores: list[Floats2d]
    ) -> tuple[float, list[Floats2d]]:
        """RETURNS (tuple[float, list[Floats2d]]): See `loss.weighted_loss`. scores (list[Floats2d]): What `predict` returned.
        RAISES (PiiError): As `check_entities`."""
        weights, key = self.cfg["class_weights"], self.cfg["spans_key"]
        examples = list(examples)
        check_entities(examples, key)
        golds = [
            targets(eg.predicted, eg.reference, self.labels, class_weights=weights, spans_key=key)
            for eg in examples
        ]
        return weighted_loss(self.model.ops.xp, scores, golds)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PiiTokenClassifier":
        with self.loading():
            super().from_bytes(bytes_data, exclude=exclude)
        self._check_labels()
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PiiTokenClassifier":
        with self.loading():
            super().from_disk(path, exclude=exclude)
        self._check_labels()
        return self

    def _check_labels(self) -> None:
        """RAISES (PiiError): E304 for a model of 0.12.0 or before, which has roles among its labels."""
        if not set(NAME_LABELS).isdisjoint(self.labels):
            raise PiiError(Errors.E304, what="detector", task="train")
