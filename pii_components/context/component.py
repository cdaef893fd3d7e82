"""`pii_context`: whose name is it, and why. One decision per person of a document, not one per mention.

    nlp.add_pipe("pii_context", after="pii_ruler", config={"settings": {"protect": 0.1}})
    [(span.text, span._.pii_role, span._.pii_reason) for span in doc.spans["pii"]]

It mends the edges of names, links the mentions of a person, and one classifier over what the encoder's second head reads says whose name it is. A name
is protected where the probability that it is a private person's, a student's, a teacher's or somebody connected's, reaches that of the operating
point; nothing overrules it. Places, schools, firms, dates and ages stay where they are likely enough somebody's, and not the world's. Verifiers that decide per
mention lose people with one-word names (recall .30 against .95 on CRAPII).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import numpy
import srsly
from spacy.pipeline.pipe import Pipe
from spacy.pipeline.span_ruler import prioritize_new_ents_filter
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Model, Optimizer
from thinc.types import Floats2d
from thinc.util import to_numpy

from ..config import Saved
from ..errors import Errors, PiiError
from ..labels import (
    BALANCED,
    CONNECTED,
    INDIRECT_LABELS,
    INSTRUCTOR,
    NAME_LABELS,
    ROLES,
    STUDENT,
    is_name,
    label_for_role,
)
from ..names.letters import forget
from ..ner.decode import OPERATING_POINT
from ..ner.onnx import build_encoder_vectors
from ..ner.scorer import score_ents
from ..options import checked
from ..spans import (
    PROPAGATION,
    PROTECT_AT,
    ROSTER,
    SPANS_KEY,
    Candidate,
    EntsFilter,
    read_spans,
    uncovered,
    with_given,
    write_ents,
    write_spans,
)
from .classifier import CLASSES, NOT_NAME, PersonModel, unexplained
from .features import begin_rows
from .heads import OWNED, WIDTH, Heads, blas
from .learn import Gold, learn_names, learn_things
from .mentions import People, find_people, propagate
from .view import ContextSettings, DocView

__all__ = ["PiiContext"]

# Students' and instructors' names are direct identifiers (CRAPII, section 2.2); who stands by them is as private.
PRIVATE = (STUDENT, INSTRUCTOR, CONNECTED)
# Who is not protected by the default profile, and so is not in doc.ents until hips_surrogate with another one says so.
KEPT = (*(label_for_role(role) for role in ROLES if role not in PRIVATE), *INDIRECT_LABELS)
_PRIVATE = [ROLES.index(role) for role in PRIVATE]
_NONE = CLASSES.index(NOT_NAME)


def _listed(chances: numpy.ndarray, groups: Sequence[Sequence[Candidate]]) -> numpy.ndarray:
    """RETURNS (numpy.ndarray): Probabilities, one row a group; `pii_roster`'s own, that this is a student, holds where the text says less."""
    chances = chances / chances.sum(axis=1, keepdims=True)
    for row, cands in zip(chances, groups, strict=True):
        least, private = (
            max((c.score for c in cands if c.source == ROSTER), default=0.0),
            row[_PRIVATE].sum(),
        )
        if private < least:
            row *= (1 - least) / (1 - private)
            row[ROLES.index(STUDENT)] += 1 - row.sum()
    return chances


class PiiContext(Saved, Pipe):
    """Decides the role of every name, with a reason, per (document, person).

    model (Model | None): What learns of the encoder's vectors in training, `pii_edu.EncoderVectors.v1`; None for that.
    spans_key (str): The span group that is read and written.
    settings (dict[str, Any] | None): Thresholds, see `ContextSettings`; what is missing has its default.
    ents_filter (Callable): As that of spaCy's SpanRuler: who wins in `doc.ents` where entities of others overlap what is protected; ours.
    RAISES (PiiError): E650, E546 for settings."""

    def __init__(
        self,
        name: str = "pii_context",
        *,
        model: Model[list[Doc], list[Floats2d]] | None = None,
        spans_key: str = SPANS_KEY,
        settings: dict[str, Any] | None = None,
        ents_filter: EntsFilter = prioritize_new_ents_filter,
    ) -> None:
        self.name, self.ents_filter = name, ents_filter
        self.model = model or build_encoder_vectors(width=WIDTH)
        self.configure({"settings": {}}, {"spans_key": spans_key, "settings": settings})
        self.classifier: PersonModel | None = None
        self.heads: Heads | None = None
        self.settings = self.cfg["settings"]

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (tuple[str, ...]): Those that it decides between."""
        return NAME_LABELS

    @property
    def settings(self) -> ContextSettings:
        """RETURNS (ContextSettings): Those in force. Set it to such, or to a dict; what is missing has its default."""
        return self._settings

    @settings.setter
    def settings(self, values: ContextSettings | dict[str, Any]) -> None:
        given = asdict(values) if isinstance(values, ContextSettings) else dict(values)
        self._settings = ContextSettings(**checked(ContextSettings, given, "pii_context"))
        self.cfg["settings"] = given
        self.sync_config("settings")

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream in batches, with the pipeline's error handler per batch."""
        handle = self.get_error_handler()
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self.set_annotations(docs, self.find_all(docs))
            except Exception as e:  # noqa: BLE001
                handle(self.name, self, docs, e)
                continue
            finally:
                forget()
            yield from docs

    def set_annotations(self, docs: Iterable[Doc], found: Iterable[list[Candidate]]) -> None:
        """Write `doc.spans[spans_key]`, the threshold that held, and `doc.ents`."""
        for doc, cands in zip(docs, found, strict=True):
            key = self.cfg["spans_key"]
            self.has_our_tokens(doc)  # warns
            write_spans(doc, with_given(doc, cands, key), key)
            doc.spans[key].attrs[PROTECT_AT] = self._protect_at(doc)
            write_ents(
                doc,
                [span for span in doc.spans[key] if span.label_ not in KEPT],
                self.ents_filter,
                key,
            )

    @property
    def is_trainable(self) -> bool:
        """RETURNS (bool): Whether there are weights to begin with."""
        return self.heads is not None and self.classifier is not None

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn whose the names are that the components before it propose, which `annotating_components` has to name.

        examples (Iterable[Example]): Gold as learn.py says. drop (float): Of no use here.
        sgd (Optimizer | None): Changes the weights. losses (dict[str, float] | None): Gets the loss under the component's name.
        RETURNS (dict[str, float]): losses.
        RAISES (PiiError): E305 where nothing was proposed because nothing was asked to; E108 without vectors.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        heads, classifier = self.heads, self.classifier
        if heads is None or classifier is None:
            return losses
        examples, gradients = list(examples), list[Any]()
        read, backprop = self.model.begin_update([eg.predicted for eg in examples])
        for eg, given in zip(examples, read, strict=True):
            doc, key = eg.predicted, self.cfg["spans_key"]
            if key not in doc.spans:
                raise PiiError(Errors.E305, key=key)
            gold, vectors = Gold(eg.reference, key), self.model.ops.to_numpy(given)
            people, _ = self.people(doc)
            found = [learn_things(doc, gold, heads, classifier, vectors)]
            if people is not None:
                found.append(learn_names(people, gold, heads, classifier, vectors))
            losses[self.name] += sum(loss for loss, _ in found) / len(examples)
            gradients.append(sum(slope for _, slope in found) / len(examples))
        backprop([self.model.ops.asarray2f(slope) for slope in gradients])
        forget()
        if sgd is not None:
            self.finish_update(sgd)
        return losses

    def finish_update(self, sgd: Optimizer) -> None:
        """Change the weights by the gradients that `update` summed up."""
        for part in (self.heads, self.classifier):
            if part is not None:
                part.finish_update(sgd)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """RETURNS (dict[str, Any]): See `score_ents`."""
        return score_ents(examples, KEPT.__contains__, spans_key=self.cfg["spans_key"])

    def find_spans(self, doc: Doc) -> list[Candidate]:
        """RETURNS (list[Candidate]): All candidates of a document, which stays as it is; sorted, without overlaps, names decided."""
        return self.find_all([doc])[0]

    def find_all(self, docs: Sequence[Doc]) -> list[list[Candidate]]:
        """RETURNS (list[list[Candidate]]): As `find_spans`, for several documents."""
        with blas().limit(limits=1):
            return list(map(self._find, docs))

    def _find(self, doc: Doc) -> list[Candidate]:
        people, others = self.people(doc)
        others = self._somebodys(doc, others)
        return self._found(doc, people, others) if people and people.cands else others

    def _somebodys(self, doc: Doc, cands: list[Candidate]) -> list[Candidate]:
        """What a model read as a place, a school, a firm, a date or an age, where it is likely enough somebody's; all else as it is."""
        read = [c for c in cands if c.source == "model" and c.label in OWNED]
        if self.heads is None or self.classifier is None or not read:
            return cands
        log_odds = self.heads.owned(self._vectors(doc), [(c.start, c.end, c.label) for c in read])
        chances = self.classifier.somebodys(log_odds, [c.label for c in read]).tolist()
        least = self.settings.at("somebodys", self._point(doc))
        others = [c for c in cands if c.source != "model" or c.label not in OWNED]
        kept = [replace(c, score=p) for c, p in zip(read, chances, strict=True) if p >= least]
        return sorted([*others, *kept], key=lambda c: c.start)

    def _vectors(self, doc: Doc) -> numpy.ndarray:
        """What the encoder read. RAISES (PiiError): E108 without."""
        if doc.tensor.shape[0] != len(doc) or doc.tensor.ndim != 2:
            raise PiiError(
                Errors.E108,
                name="transformer",
                length=len(doc),
                width=WIDTH,
                got=tuple(doc.tensor.shape),
            )
        return to_numpy(cast(Any, doc.tensor))  # which may lie on a GPU

    def rows(
        self, doc: Doc, people: People, persons: Sequence[Sequence[int]] | None = None
    ) -> numpy.ndarray:
        """RETURNS (numpy.ndarray): What is known of a document's people (`features`), `(n_persons, len(features()))`."""
        vectors = None if self.heads is None else self._vectors(doc)
        return begin_rows(people, self.heads, vectors, persons)[0]

    def _found(self, doc: Doc, people: People, others: Sequence[Candidate]) -> list[Candidate]:
        least = self._protect_at(doc)
        rows = self.rows(doc, people)
        chances = self._chances(people, rows)
        decided = [self._decide(rows[n], p, least) for n, p in enumerate(chances)]
        named = [
            replace(
                c,
                label=label,
                score=score,
                reason=c.reason if c.source == ROSTER else reason,
                likely=likely,
                person=n,
                roles=tuple(chances[n, : len(ROLES)].tolist()),
            )
            for n, (person, found) in enumerate(zip(people.persons, decided, strict=True))
            if found is not None
            for label, score, reason, likely in (found,)
            for c in map(people.cands.__getitem__, person)
        ]
        owners = {
            i: n
            for n, person in enumerate(people.persons)
            for i in person
            if decided[n] is not None
        }
        more = propagate(people, owners, [*others, *named])
        by_person = {c.person: c for c in named}
        named += [replace(by_person[n], start=a, end=b, source=PROPAGATION) for n, a, b in more]
        taken = {i for c in named for i in range(c.start, c.end)}
        free = [
            part
            for c in others
            for part in (
                [c] if taken.isdisjoint(range(c.start, c.end)) else uncovered(doc, c, taken)
            )
        ]
        return sorted([*free, *named], key=lambda c: c.start)

    def people(self, doc: Doc) -> tuple[People | None, list[Candidate]]:
        """RETURNS (tuple): The people of a document, None for one of white space; and candidates that are no names."""
        base = [
            c
            for c in read_spans(doc, self.cfg["spans_key"])
            if not (is_name(c.label) and c.source == PROPAGATION)
        ]
        view = DocView(doc, self.settings)
        if not view.filled:
            return None, base
        if self.classifier is None:
            return find_people(view, base, None)
        return find_people(view, base, partial(self._score_mentions, doc))

    def _score_mentions(self, doc: Doc, people: People, some: Sequence[int]) -> numpy.ndarray:
        """Log-probabilities of mentions, each by itself, shape `(n_mentions, 6)`."""
        assert self.classifier is not None
        alone = self.rows(doc, people, [[i] for i in some])
        chances = _listed(self.classifier.predict(alone), [[people.cands[i]] for i in some])
        return numpy.log(numpy.maximum(chances, 1e-6))

    def _chances(self, people: People, rows: numpy.ndarray) -> numpy.ndarray:
        """Probabilities of each person, shape `(n_persons, 6)`; without a classifier, what the labels of their spans say."""
        if self.classifier is not None:
            chances = self.classifier.predict(rows)
        else:
            chances = numpy.zeros((len(people.persons), len(CLASSES)))
            for n, person in enumerate(people.persons):
                said = [people.cands[i].role for i in person]
                chances[n, : len(ROLES)] = [said.count(r) / len(said) + 1e-6 for r in ROLES]
        return _listed(chances, [[people.cands[i] for i in person] for person in people.persons])

    def _decide(
        self, row: numpy.ndarray, p: numpy.ndarray, least: float
    ) -> tuple[str, float, str, str] | None:
        """RETURNS (tuple | None): Label, probability, reason, and the likeliest role if the label says less; None for no name."""
        private = float(p[_PRIVATE].sum())
        if private < least and p[_NONE] >= p[:_NONE].max():
            return None
        roles = [role for role in ROLES if (role in PRIVATE) == (private >= least)]
        role = max(roles, key=lambda r: float(p[ROLES.index(r)]))
        likely = ROLES[int(p[:_NONE].argmax())] if role in PRIVATE else role
        reason = (
            self.classifier.reason(row, likely)
            if self.classifier is not None
            else unexplained(likely)
        )
        score = min(private if role in PRIVATE else float(p[ROLES.index(role)]), 1.0)
        if likely == role:
            return label_for_role(role), score, reason, ""
        return label_for_role(role), score, f"{reason}; hidden, to be safe", likely

    def _protect_at(self, doc: Doc) -> float:
        return self.settings.at("protect", self._point(doc))

    def _point(self, doc: Doc) -> str:
        """The operating point at which `pii_ner` read."""
        group = doc.spans.get(self.cfg["spans_key"])  # none, if nothing before found anything
        return BALANCED if group is None else group.attrs.get(OPERATING_POINT, BALANCED)

    def parts(self) -> dict[str, Callable[[], bytes]]:
        return {
            "cfg": lambda: srsly.json_dumps(self.cfg, indent=2).encode("utf8"),
            "classifier": lambda: self.classifier.to_bytes() if self.classifier else b"",
            "heads": lambda: self.heads.to_bytes() if self.heads else b"",
        }

    def read_parts(self, found: Mapping[str, bytes]) -> None:
        """RAISES (PiiError): E304 for a classifier of another version, or broken heads."""
        with self.loading() as saved:
            saved.update(srsly.json_loads(found.get("cfg", b"{}")))
        for name, kind in (("classifier", PersonModel), ("heads", Heads)):
            if name in found:
                setattr(self, name, kind.from_bytes(found[name]) if found[name] else None)
        self.settings = self.cfg["settings"]

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """RETURNS (Self): With what `to_disk` saved. RAISES (PiiError): E304 where a file is missing, or of another version."""
        try:
            return super().from_disk(path, exclude=exclude)
        except FileNotFoundError as err:
            raise PiiError(Errors.E304, what="heads", task="train") from err
