"""What was found against gold, by position and label, as `nlp.evaluate` and `spacy evaluate` report it.

    nlp.evaluate(examples)["pii_f5"]          every label, doc.spans["pii"]: pii_ner
    nlp.evaluate(examples)["ents_f"]          what is protected, doc.ents: pii_context, hips_surrogate; `spacy evaluate` prints it

Gold is `doc.spans["pii"]`, or else `doc.ents`. F5 weighs recall 25 times, as CRAPII's task does. Where gold knows some labels only
(see loss.py), what has another label and lies on no gold is neither right nor wrong.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from spacy.scorer import PRFScore
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors, PiiError
from ..labels import LABELS
from ..spans import SPANS_KEY, read_gold
from .decode import group_of
from .loss import ANNOTATED

_Rows = set[tuple[int, int, str]]

__all__ = ["score_ents", "score_pii"]


def _gold(examples: Sequence[Example], key: str) -> list[tuple[Example, Sequence[Span]]]:
    """RETURNS (list): Those that somebody has annotated, with their gold. RAISES (PiiError): As `check_entities`."""
    check_entities(examples, key)
    found: list[tuple[Example, Sequence[Span]]] = []
    for eg in examples:
        gold = read_gold(eg.reference, key)
        if gold is not None:
            is_group = key in eg.reference.spans
            found.append((eg, [s for s in gold if is_group or s.label_ in LABELS]))
    return found


def _judged(
    spans: Iterable[Span], gold: Sequence[Span], known: Mapping[str, Sequence[str]]
) -> _Rows:
    """Spans that gold can judge; one that may be what gold calls it is what gold calls it.

    known (Mapping[str, Sequence[str]]): The labels that annotators looked for, and what each may be; empty for all.
    """
    allowed, rows = {*known, *chain.from_iterable(known.values())}, _Rows()
    for span in spans:
        start, end, label = span.start_char, span.end_char, span.label_
        there = [g for g in gold if g.start_char < end and g.end_char > start]
        same = [g.label_ for g in there if (g.start_char, g.end_char) == (start, end)]
        if not known or there or label in allowed:
            may_be = [name for name in same if label in known.get(name, ())]
            rows.add((start, end, may_be[0] if may_be else label))
    return rows


def check_entities(examples: Iterable[Example], key: str) -> None:
    """RAISES (PiiError): E002, if entities are the gold and none of their labels is ours: then the names in them would be no names."""
    references = [eg.reference for eg in examples if key not in eg.reference.spans]
    labels = {ent.label_ for doc in references for ent in doc.ents}
    if labels and labels.isdisjoint(LABELS):
        raise PiiError(Errors.E002, label=min(labels), allowed=", ".join(LABELS))


def _numbers(score: PRFScore) -> dict[str, float]:
    p, r = score.precision, score.recall
    return {**score.to_dict(), "f5": 26 * p * r / (25 * p + r) if p + r else 0.0}


def _score(
    examples: Iterable[Example],
    name: str,
    found: Callable[[Doc], Iterable[Span]],
    key: str,
    counted: Callable[[str], str],
) -> dict[str, Any]:
    total, each = PRFScore(), defaultdict[str, PRFScore](PRFScore)
    for eg, gold in _gold(list(examples), key):
        group = eg.reference.spans.get(key)
        known = {} if group is None else group.attrs.get(ANNOTATED) or {}
        both = [
            {(a, b, label) for a, b, name in rows if (label := counted(name))}
            for rows in (_judged(found(eg.predicted), gold, known), _judged(gold, gold, known))
        ]
        total.score_set(*both)
        for label in {label for _, _, label in both[0] | both[1]}:
            each[label].score_set(*({row for row in rows if row[2] == label} for rows in both))
    scores: dict[str, Any] = (
        dict(_numbers(total)) if len(total) else dict.fromkeys(("p", "r", "f", "f5"))
    )
    scores["per_type"] = (
        {label: _numbers(each[label]) for label in sorted(each)} if len(total) else None
    )
    return {f"{name}_{kind}": value for kind, value in scores.items()}


def score_pii(
    examples: Iterable[Example],
    *,
    spans_key: str = SPANS_KEY,
    labels: Collection[str] = (),
    **kwargs: Any,
) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): `pii_p`, `pii_r`, `pii_f`, `pii_f5` and `pii_per_type`, the same by label; None where nothing was annotated.

    labels (Collection[str]): The labels that count, for gold that holds more than a model was made for; empty for all. Names of all roles are one
        label where `NAME` is among them."""

    def counted(label: str) -> str:
        if not labels or label in labels:
            return label
        return group_of(label) if group_of(label) in labels else ""

    return _score(
        examples,
        "pii",
        lambda doc: doc.spans.get(spans_key, ()),
        spans_key,
        counted,
    )


def score_ents(
    examples: Iterable[Example], is_kept: Callable[[str], bool], *, spans_key: str = SPANS_KEY
) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): As `score_pii`, `ents_p` and so on, for the labels that are protected.

    is_kept (Callable[[str], bool]): Whether a label stays in clear."""
    examples = list(examples)
    # Entities with other labels are those of other components.
    groups = [eg.reference.spans[spans_key] for eg in examples if spans_key in eg.reference.spans]
    known = {*LABELS, *(span.label_ for group in groups for span in group)}
    return _score(
        examples,
        "ents",
        lambda doc: doc.ents,
        spans_key,
        lambda label: "" if label not in known or is_kept(label) else label,
    )
