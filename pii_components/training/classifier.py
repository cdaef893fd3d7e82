"""Train the classifier of `pii_context`: persons of labelled essays, what each may be, and a fit.

    persons = collect(nlp, docs)                 # docs with gold in doc.spans["pii"], as `pii-edu corpus build` writes them
    model = train(persons, l2=3.0)
    nlp.get_pipe("pii_context").classifier = model

Take essays that `pii_ner` was not trained on: on its own essays it is surer than it will ever be again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..context.classifier import CLASSES, TRUST, PersonModel, fit
from ..context.component import PiiContext
from ..context.cues import NOT_NAME
from ..context.evidence import READER, People
from ..errors import Errors, PiiError
from ..labels import CONNECTED, DETAIL_LABELS, STUDENT, is_name, role_of
from ..ner.loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY, Candidate

CONTEXT = "pii_context"
DOUBT = 0.15  # chosen on held-out real essays among 0, .15, .3 and .5: without it people who sign or head a text were lost


@dataclass(frozen=True, slots=True, eq=False)
class PersonExample:
    """One person of one essay: its number, what the classifier sees of the person, 1 for each of `CLASSES` that the gold leaves open, shape
    `(6,)`, and how many mentions there are."""

    document: int
    row: numpy.ndarray
    allowed: numpy.ndarray
    mentions: int


def collect(nlp: Language, docs: Iterable[Doc], *, prepare: Callable[[int], Doc] | None = None) -> list[PersonExample]:
    """RETURNS (list[PersonExample]): Persons of labelled essays, as the pipeline finds them before it decides, of whom the gold says something.

    prepare (Callable[[int], Doc] | None): Gives an essay, by its number, as it is before `pii_context`; None to run the pipeline.
    """
    component = cast(PiiContext, nlp.get_pipe(CONTEXT))
    found = []
    for number, gold in enumerate(docs):
        doc = prepare(number) if prepare else _before_context(nlp, gold.text)
        seen = component.examine(doc)
        if seen is not None and seen.weighed:
            rows = seen.rows(component.read([doc], [seen])[0])
            for row, mentions in zip(rows, mentions_of(seen.people, doc), strict=True):
                allowed = classes_of(gold, mentions)
                if allowed is not None:
                    found.append(PersonExample(number, row, allowed, len(mentions)))
    return found


def _before_context(nlp: Language, text: str) -> Doc:
    return nlp(text, disable=nlp.pipe_names[nlp.pipe_names.index(CONTEXT) :])


def names_before(nlp: Language, text: str) -> list[Candidate]:
    """RETURNS (list[Candidate]): Names of a text as `pii_context` has them before it decides."""
    seen = cast(PiiContext, nlp.get_pipe(CONTEXT)).examine(_before_context(nlp, text))
    return seen.people.cands if seen is not None else []


def mentions_of(people: People, doc: Doc) -> list[list[tuple[int, int]]]:
    """RETURNS (list[list[tuple[int, int]]]): Characters, from and to, of each mention of each person."""
    spans = [doc[cand.start : cand.end] for cand in people.cands]
    return [[(spans[i].start_char, spans[i].end_char) for i in person] for person in people.persons]


def classes_of(gold: Doc, mentions: Sequence[tuple[int, int]]) -> numpy.ndarray | None:
    """RETURNS (numpy.ndarray | None): 1 for each of `CLASSES` that the gold leaves open to a person with mentions there, shape `(6,)`; None if
    it says nothing: nobody has labelled the mentions, or they are of several people."""
    spans, unlabelled = (gold.spans.get(key, ()) for key in (SPANS_KEY, UNLABELLED_KEY))
    labelled = [(a, b) for a, b in mentions if not any(s.start_char < b and a < s.end_char for s in unlabelled)]
    votes = Counter(_label_at(spans, start, end) for start, end in labelled)
    if not votes:
        return None
    # A mention that is labelled says more than one that the annotators passed over.
    named = {label: n for label, n in votes.items() if label}
    label, n = max((named or votes).items(), key=lambda item: item[1])
    if sum(named.values()) > 1.5 * n:
        return None
    if label in DETAIL_LABELS:
        return None  # a user name or a number taken for a name: no name, but nothing to let stand either
    annotated = gold.spans[SPANS_KEY].attrs.get(ANNOTATED) if SPANS_KEY in gold.spans else None
    if not annotated:
        classes = {role_of(label) if is_name(label) else NOT_NAME}
    elif is_name(label):
        classes = {role_of(other) for other in annotated.get(label, [label])}
    else:
        # Nobody marked it, so it is none of those who would have been: classmates neither, whom CRAPII calls students.
        classes = {*CLASSES} - {STUDENT, CONNECTED}
    return numpy.asarray([name in classes for name in CLASSES], dtype="f4")


def _label_at(spans: Iterable[Span], start: int, end: int) -> str:
    """The label of the gold span that shares most characters; empty if none shares half of the mention."""
    best, most = "", 0
    for span in spans:
        shared = min(end, span.end_char) - max(start, span.start_char)
        if shared > most and 2 * shared >= min(end - start, span.end_char - span.start_char):
            best, most = span.label_, shared
    return best


def train(
    persons: Sequence[PersonExample], *, extra: Sequence[PersonExample] = (), l2: float = 30.0, extra_l2: float = 10.0
) -> PersonModel:
    """Fit the classifier: to `extra` first, if there are any, and from there to `persons`.

    persons (Sequence[PersonExample]): From `collect`. extra (Sequence[PersonExample]): Of other essays, such as ours, which are many and
        tell every role. The reader learned from essays by the same hands and is right there more often than elsewhere, so a share `DOUBT`
        of them is seen with what it says of somebody else.
    l2, extra_l2 (float): Penalty of the fit to either, see `context.classifier.fit`.
    RETURNS (PersonModel): Trained. RAISES (PiiError): E306 without anyone.
    """
    start = fit(*_stacked(doubted(extra)), l2=extra_l2, trust=TRUST) if extra else None
    return fit(*_stacked(persons), l2=l2, start=start) if persons or start is None else start


def doubted(persons: Sequence[PersonExample], *, share: float = DOUBT, seed: int = 46) -> list[PersonExample]:
    """RETURNS (list[PersonExample]): The same, a share of them with the reader's word of another one."""
    rng = numpy.random.default_rng(seed)
    draws, others = rng.random(len(persons)), rng.integers(len(persons), size=len(persons))
    found = []
    for person, draw, other in zip(persons, draws, others, strict=True):
        row = person.row.copy()
        if draw < share:
            row[READER] = persons[other].row[READER]
        found.append(replace(person, row=row))
    return found


def _stacked(persons: Sequence[PersonExample]) -> tuple[numpy.ndarray, numpy.ndarray]:
    if not persons:
        raise PiiError(Errors.E306)
    return numpy.stack([p.row for p in persons]), numpy.stack([p.allowed for p in persons])
