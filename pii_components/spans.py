"""The contract on `doc.spans["pii"]`, as pure functions over small records.

    cands = read_spans(doc)                       # list[Candidate], sorted
    cands = resolve_overlaps(cands + more)        # no overlaps, the higher priority stays
    write_spans(doc, cands)                       # doc.spans["pii"], its scores, span._.pii_*

Every component reads with `read_spans`, computes with records, and writes once with `write_spans`. A `Span` cannot carry the record:
`span._.x` is keyed by offsets only and `label_` is fixed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc, Span

from .errors import Errors, PiiError
from .labels import DETAIL_LABELS, OWN_PRIORITY, PRIORITY, ROLES, is_name, role_of
from .offsets import OffsetMap

__all__ = ["Candidate", "merge_found", "read_gold", "read_spans", "resolve_overlaps", "write_spans"]

SPANS_KEY = "pii"
# Source of what was copied from a mention found elsewhere in the document.
PROPAGATION = "propagation"
# And of what stands on a class list.
ROSTER = "roster"
# Keys of the group's attributes: spans of others, [start, end, label] in tokens; and those of ours that are in doc.ents.
GIVEN, ENTS = "given", "ents"
# And the probability of being private, 0 to 1, from which a name is hidden.
PROTECT_AT = "protect_at"
BEGIN, OUTSIDE = 3, 2  # spaCy's numbers of B and O


@dataclass(frozen=True, slots=True)
class Candidate:
    """One piece of personal information that was found: tokens start to end (exclusive) with one of `labels.LABELS`, or a user's own label.

    score (float): Probability, 0 to 1.
    source (str): "model", a rule's id, "roster" or "propagation". reason (str): One short line that a data steward can read.
    roles (tuple[float, ...]): For names, one probability per role in the order of `labels.ROLES`; else empty.
    likely (str): Of a name that is hidden since nobody is sure, the likeliest role; empty if it is the one in the label.
    person (int | None): Of a name, whose it is: equal numbers are one person of the document; None if nobody has linked it.
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    source: str = ""
    reason: str = ""
    roles: tuple[float, ...] = ()
    likely: str = ""
    person: int | None = None

    def __post_init__(self) -> None:
        reason = ""
        if not 0 <= self.start < self.end:
            reason = "it is empty, turned round or before the document"
        elif not self.label:
            reason = "it has no label"
        elif not 0.0 <= self.score <= 1.0:
            reason = f"its score is {self.score}, not a number from 0 to 1"
        if reason:
            raise PiiError(Errors.E001, start=self.start, end=self.end, reason=reason)

    @property
    def role(self) -> str:
        """RETURNS (str): The likeliest role of a name; the empty string for other labels."""
        return self.likely or role_of(self.label)

    def with_label(self, label: str, *, reason: str = "") -> "Candidate":
        """RETURNS (Candidate): The same span with another label, and another reason if one is given."""
        return replace(self, label=label, reason=reason or self.reason, likely="")


# Both are kept as plain data, so that Doc.to_bytes and worker processes can carry them.
def _get_offsets(doc: Doc) -> OffsetMap | None:
    data = doc.user_data.get("pii_offsets")
    return OffsetMap.from_dict(data) if data is not None else None


def _set_offsets(doc: Doc, offsets: Sequence[Any] | None) -> None:
    """offsets (Sequence): An OffsetMap, or what JSON has made of it; spacy-llm copies extensions, set or not."""
    if offsets is not None:
        fields = zip(OffsetMap._fields, offsets, strict=True)
        offsets = OffsetMap.from_dict(dict(fields))
    doc.user_data["pii_offsets"] = offsets and offsets.to_dict()


def _get_surrogate_spans(doc: Doc) -> list[dict[str, Any]] | None:
    data = doc.user_data.get("surrogate_spans")  # a document that was saved brings tuples back
    return [dict(record) for record in data] if data is not None else None


def _set_surrogate_spans(doc: Doc, records: list[dict[str, Any]] | None) -> None:
    doc.user_data["surrogate_spans"] = records


# What stands beside each span, as `span._.x`, and what it is without.
NOTED: dict[str, Any] = {"pii_source": "", "pii_role": "", "pii_reason": "", "pii_score": 1.0}


def _keys(span: Span) -> list[Any]:
    """RETURNS (list): Where spaCy keeps these in `doc.user_data`; `span._.x` is slow."""
    start, end = span.start_char, span.end_char
    return [("._.", name, start, end) for name in NOTED]


# The number of a person moves with the text: beside it stands where the span began when it was given, so that `Doc.from_docs`
# keeps the people of two documents apart.
def _get_person(span: Span) -> int | None:
    data: Any = span.doc.user_data
    start, end = span.start_char, span.end_char
    person = data.get(("._.", "pii_person", start, end))
    moved = start - data.get(("._.", "pii_begin", start, end), start)
    return None if person is None else person + moved


def _set_person(span: Span, person: int | None) -> None:
    start, end = span.start_char, span.end_char
    kept: Any = {("._.", "pii_person", start, end): person, ("._.", "pii_begin", start, end): start}
    span.doc.user_data.update(kept)


def read_spans(doc: Doc, key: str = SPANS_KEY) -> list[Candidate]:
    """RETURNS (list[Candidate]): The records behind `doc.spans[key]`, sorted by position; a missing group reads as empty."""
    if key not in doc.spans:
        return []
    group = doc.spans[key]
    # What a user or `Doc.from_docs` did to the group since it was written, its attributes do not know.
    scores, roles = (
        noted if noted is not None and len(noted) == len(group) else ()
        for noted in map(group.attrs.get, ("scores", "roles"))
    )
    found: list[Candidate] = []
    data: Any = doc.user_data
    for i, span in enumerate(group):
        source, role, reason, score = map(data.get, _keys(span), NOTED.values())
        is_other_role = is_name(span.label_) and role in ROLES and role != role_of(span.label_)
        cand = Candidate(
            span.start,
            span.end,
            span.label_,
            score=float(scores[i] if len(scores) else score),
            source=source,
            reason=reason,
            roles=tuple(roles[i]) if len(roles) else (),
            likely=role if is_other_role else "",
            person=_get_person(span),
        )
        found.append(cand)
    return sorted(found, key=lambda c: (c.start, c.end))


def read_gold(doc: Doc, key: str = SPANS_KEY) -> list[Span] | None:
    """RETURNS (list[Span] | None): What somebody has annotated: `doc.spans[key]`, or else `doc.ents`; None if there is neither."""
    if key in doc.spans:
        return list(doc.spans[key])
    return list(doc.ents) if doc.has_annotation("ENT_IOB") else None


def write_spans(doc: Doc, candidates: Iterable[Candidate], key: str = SPANS_KEY) -> None:
    """Write records to `doc.spans[key]`, sorted, with `attrs["scores"]`, `attrs["roles"]` and `span._.pii_*`.

    candidates (Iterable[Candidate]): Without overlaps: see `resolve_overlaps`. Other attributes of the group stay.
    RAISES (PiiError): E001, if a span ends past the document.
    """
    ordered = sorted(candidates, key=lambda c: (c.start, c.end))
    spans = []
    for cand in ordered:
        if cand.end > len(doc):
            reason = f"the document has {len(doc)} tokens"
            raise PiiError(Errors.E001, start=cand.start, end=cand.end, reason=reason)
        span = Span(doc, cand.start, cand.end, label=cand.label)
        noted = cand.source, cand.role, cand.reason, float(cand.score)
        doc.user_data.update(zip(_keys(span), noted, strict=True))
        _set_person(span, cand.person)
        spans.append(span)
    # What a component noted for those after it.
    attrs = dict(doc.spans[key].attrs) if key in doc.spans else {}
    doc.spans[key] = spans
    attrs["scores"] = [float(c.score) for c in ordered]
    doc.spans[key].attrs.update(attrs, roles=[[float(p) for p in c.roles] for c in ordered])


def resolve_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep one span where several overlap: higher priority of the label, then longer, then higher score, then earlier.

    RETURNS (list[Candidate]): Sorted, without overlaps. The same set in another order gives the same result.
    """

    def rank(c: Candidate) -> tuple:
        return (
            -PRIORITY.get(c.label, OWN_PRIORITY),
            c.start - c.end,
            -c.score,
            c.start,
            c.label,
            c.source,
            c.reason,
        )

    taken: set[int] = set()
    kept = []
    for cand in sorted(candidates, key=rank):
        tokens = range(cand.start, cand.end)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(cand)
    return sorted(kept, key=lambda c: c.start)


def merge_found(
    doc: Doc, known: Sequence[Candidate], found: Sequence[Candidate]
) -> list[Candidate]:
    """Two sources, sorted, without overlaps: a detail within a longer detail goes, else `resolve_overlaps` decides, and what the loser covered
    beyond that stays covered."""
    every = [*known, *found]
    pending, taken = _without_parts(every), set[int]()
    kept: list[Candidate] = []
    while pending:
        best = resolve_overlaps(pending)
        kept += best
        taken.update(i for cand in best for i in range(cand.start, cand.end))
        pending = [piece for cand in every for piece in uncovered(doc, cand, taken)]
    return sorted(kept, key=lambda c: c.start)


def _without_parts(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without details that lie within a longer detail."""
    left = [c for c in candidates if c.label not in DETAIL_LABELS]
    details = [c for c in candidates if c.label in DETAIL_LABELS]
    reach = -1  # how far the details go that were seen
    last = (-1, -1)  # the longest one that begins here
    for cand in sorted(details, key=lambda c: (c.start, -c.end)):
        if cand.end > reach or (cand.start, cand.end) == last:
            left.append(cand)
            reach, last = cand.end, (cand.start, cand.end)
    return left


def uncovered(doc: Doc, cand: Candidate, taken: set[int]) -> list[Candidate]:
    """RETURNS (list[Candidate]): The stretches of a span that no token in `taken` covers, from the first letter or digit to the last."""
    pieces: list[Candidate] = []
    for i in range(cand.start, cand.end):
        if i in taken or not any(ch.isalnum() for ch in doc[i].text):
            continue
        if pieces and taken.isdisjoint(range(pieces[-1].end, i)):
            pieces[-1] = replace(pieces[-1], end=i + 1)
        else:
            pieces.append(replace(cand, start=i, end=i + 1))
    return pieces


def mark_given(doc: Doc, key: str = SPANS_KEY) -> list[Candidate]:
    """Note in the group what stood in it before any of our components wrote to it, a roster's or a user's own spans: they stay.

    RETURNS (list[Candidate]): Those spans. Call it again on a document that was processed before: what we wrote then is not among them.
    """
    found = read_spans(doc, key)
    if key not in doc.spans:
        doc.spans[key] = []
    attrs = doc.spans[key].attrs
    if GIVEN not in attrs:
        attrs[GIVEN] = [[c.start, c.end, c.label] for c in found]
    return [c for c in found if [c.start, c.end, c.label] in attrs[GIVEN]]


def with_given(doc: Doc, found: Sequence[Candidate], key: str = SPANS_KEY) -> list[Candidate]:
    """What was found, merged with what was given before (see `mark_given`).

    RETURNS (list[Candidate]): The given span stays and what lies within it goes; nothing that one of them covers is left uncovered.
    """
    if key not in doc.spans or GIVEN not in doc.spans[key].attrs:
        return list(found)
    given = mark_given(doc, key)
    if not given:
        return list(found)
    outside = []
    for cand in found:
        if not any(g.start <= cand.start and cand.end <= g.end for g in given):
            outside.append(cand)
    return merge_found(doc, given, outside)


EntsFilter = Callable[[Iterable[Span], Iterable[Span]], Iterable[Span]]


def write_ents(
    doc: Doc, own: Sequence[Span], ents_filter: EntsFilter, key: str = SPANS_KEY
) -> None:
    """Set `doc.ents` to what others found and what is protected.

    own (Sequence[Span]): What is protected, without overlaps; it takes the place of what an earlier call set. ents_filter (Callable): As
    that of spaCy's SpanRuler: who wins where the entities of others and ours overlap.
    """
    before = (
        {tuple(ent) for ent in doc.spans[key].attrs.get(ENTS, ())} if key in doc.spans else set()
    )
    iob = doc.to_array(ENT_IOB)
    others = []
    if int((iob == BEGIN).sum()) > len(before):
        others = [ent for ent in doc.ents if (ent.start, ent.end, ent.label_) not in before]
    # What is outside is set as one array: spaCy asks for each token.
    outside: Any = numpy.zeros((len(doc), 2), dtype=numpy.uint64)
    outside[:, 0] = OUTSIDE
    doc.from_array([ENT_IOB, ENT_TYPE], outside)
    written = list(ents_filter(others, own)) if others else list(own)
    doc.set_ents(written, default="unmodified")
    if key in doc.spans:
        doc.spans[key].attrs[ENTS] = [
            [span.start, span.end, span.label_] for span in written if span not in others
        ]


def fail(doc: Doc, code: str) -> None:
    """Say that a component could not do its work on a document: `doc._.pii_failed` is the first such code. Who writes files leaves it out."""
    doc._.pii_failed = doc._.pii_failed or code


def free_of(candidates: Sequence[Candidate], start: int, end: int) -> bool:
    """RETURNS (bool): Whether no candidate overlaps tokens start to end (exclusive)."""
    return all(c.end <= start or c.start >= end for c in candidates)


def install_extensions() -> None:
    """Give Doc and Span the attributes that our components write; what is installed already stays."""
    for name, default in NOTED.items():
        if not Span.has_extension(name):
            Span.set_extension(name, default=default)
    if not Span.has_extension("pii_person"):
        Span.set_extension("pii_person", getter=_get_person, setter=_set_person)
    for name in ("deidentified", "pii_scope", "pii_lines", "pii_failed", "llm_notes"):
        if not Doc.has_extension(name):
            Doc.set_extension(name, default=None)
    if not Doc.has_extension("pii_offsets"):
        Doc.set_extension("pii_offsets", getter=_get_offsets, setter=_set_offsets)
    if not Doc.has_extension("surrogate_spans"):
        Doc.set_extension(
            "surrogate_spans", getter=_get_surrogate_spans, setter=_set_surrogate_spans
        )


# Every component imports this module, and whoever reads a DocBin without a pipeline can.
install_extensions()
