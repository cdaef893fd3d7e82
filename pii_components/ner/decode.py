"""From probabilities per token to spans: thresholds, edges, roles. Pure functions.

    decode(doc, probs, labels, thresholds) -> list[Candidate]

Roles of a name compete only after the name is found: what counts against the threshold is the summed probability of all NAME
labels, so that a name the model cannot place (student or cited?) is not lost between two roles.
"""

from collections.abc import Mapping, Sequence

import numpy
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc, Token

from ..labels import (
    EDUCATION,
    EMPLOYER,
    INDIRECT_LABELS,
    LABELS,
    LOCATION,
    NAME_STUDENT,
    OTHER,
    PRECISION,
    RECALL,
    STREET_ADDRESS,
    check_label,
    is_name,
)
from ..names.normalize import normalize_token
from ..spans import Candidate

NAME = "NAME"  # the group of all name labels in thresholds
MAX_LINES = {
    STREET_ADDRESS: 2
}  # line breaks that a span of this group may cross; others may cross none
_NAME_JOINERS = {"-", "'", "’", ".", "_", "‐", "`"}
_MAX_NAME_TOKENS = 12
_ONE_THING = (
    LOCATION,
    EDUCATION,
    EMPLOYER,
    OTHER,
)  # neighbours among these are parts of one name: "Lakeford" "High School"
# What an indirect identifier does not begin with (docs/explanation/annotation.md: without article and preposition).
_BEFORE = frozenset(("a", "an", "at", "by", "from", "in", "of", "on", "since", "the", "to"))
_SURER = 4.0  # times that an indirect identifier must be likelier than a name or a direct one that reaches its threshold, too
_SPLIT = 0.6  # share of B among B and I above which a second name starts within a run


# What a model can be taught.
GROUPS: tuple[str, ...] = (NAME, *(label for label in LABELS if not is_name(label)))


def output_labels(labels: Sequence[str]) -> list[str]:
    """RETURNS (list[str]): The model's `1 + 2 * len(labels)` columns: O, then B- and I- of each label, in the order of the model."""
    return ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]


def group_of(label: str) -> str:
    """RETURNS (str): `NAME` for every name label, else the label itself."""
    return NAME if is_name(label) else label


def check_group(group: str) -> str:
    """RETURNS (str): The group. RAISES (PiiError): E002 for what is neither `NAME` nor a label, see `check_label`."""
    return group if group == NAME else check_label(group)


def decode(
    doc: Doc, probs: numpy.ndarray, labels: Sequence[str], thresholds: Mapping[str, float]
) -> list[Candidate]:
    """RETURNS (list[Candidate]): Spans of one document, sorted, without overlaps; `score` is the mean over the span's words.

    probs (numpy.ndarray): Probabilities, shape `(n_tokens, 1 + 2 * n_labels)`, columns as in `output_labels` of the model's labels.
    thresholds (Mapping[str, float]): Least summed probability of a group (`NAME`, `EMAIL`, ...), 0 to 1."""
    if len(doc) == 0:
        return []
    begin, total = probs[:, 1::2], probs[:, 1::2] + probs[:, 2::2]
    # A place or a school that may be somebody's name is a name, which more depends on, unless it is far from one.
    weight = numpy.asarray([1.0 / _SURER if group in INDIRECT_LABELS else 1.0 for group in labels])
    least = numpy.asarray([thresholds.get(g, 0.5) for g in labels])
    reached = total >= least
    best = numpy.where(reached, total * weight, -1.0).argmax(axis=1)
    chosen = numpy.where(reached.any(axis=1), best, -1)
    chosen[doc.to_array(IS_SPACE).astype(bool)] = -1
    if not doc.text.isascii():
        chosen[[i for i, token in enumerate(doc) if _shows_nothing(token)]] = -1
    _unite(chosen, total, [n for n, group in enumerate(labels) if group in _ONE_THING])
    found = []
    for n_group in numpy.unique(chosen[chosen >= 0]).tolist():
        group = labels[n_group]
        starts_new = begin[:, n_group] > _SPLIT * numpy.maximum(total[:, n_group], 1e-9)
        for start, end in _runs(doc, chosen == n_group, starts_new, group):
            found.append(_candidate(doc, total[:, n_group], group, start, end))
    return sorted(found, key=lambda c: c.start)


def _unite(chosen: numpy.ndarray, total: numpy.ndarray, groups: Sequence[int]) -> None:
    """Give neighbouring tokens of these groups the one that is likeliest of all of them. chosen (numpy.ndarray): Changed in place."""
    inside = numpy.flatnonzero(numpy.isin(chosen, groups))
    for run in numpy.split(inside, numpy.flatnonzero(numpy.diff(inside) > 1) + 1):
        if len(run):
            chosen[run] = groups[int(total[run][:, groups].sum(axis=0).argmax())]


def _runs(
    doc: Doc, member: numpy.ndarray, starts_new: numpy.ndarray, group: str
) -> list[tuple[int, int]]:
    """Token ranges of one group: gaps bridged, line breaks respected, edges trimmed."""
    runs: list[list[int]] = []
    for i in numpy.flatnonzero(member):
        i = int(i)
        if runs and _joins(doc, runs[-1], i, bool(starts_new[i]), group):
            runs[-1][1] = i + 1
        else:
            runs.append([i, i + 1])
    trimmed = (_trim(doc, start, end, group) for start, end in runs)
    return [(start, end) for start, end in trimmed if start < end]


def _shows_nothing(token: Token) -> bool:
    return not token.text.isascii() and not normalize_token(token.text)


def _joins(doc: Doc, run: list[int], i: int, starts_new: bool, group: str) -> bool:
    gap = [token for token in doc[run[1] : i] if not _shows_nothing(token)]
    lines = sum(t.text.count("\n") for t in gap if t.is_space)
    if group != NAME:
        return (
            len(gap) <= 2
            and lines <= MAX_LINES.get(group, 0)
            and all(t.is_space or t.is_punct for t in gap)
        )
    if lines or i + 1 - run[0] > _MAX_NAME_TOKENS:
        return False
    if not gap:
        # "Ana Lopez" + "Ben Roth" without a comma: only a second B after a last name may part them.
        several = sum(not _shows_nothing(token) for token in doc[run[0] : i]) >= 2
        joined = doc[run[1] - 1].text in _NAME_JOINERS and not _ends_sentence(doc, i - 1)
        return not (starts_new and several) or joined
    if len(gap) == 1 and gap[0].text in _NAME_JOINERS:
        if gap[0].text == ".":
            return not (starts_new and _ends_sentence(doc, gap[0].i))
        return not gap[0].whitespace_ and not doc[run[1] - 1].whitespace_
    return False


def _ends_sentence(doc: Doc, i: int) -> bool:
    """Whether a full stop stands behind more than an initial."""
    return doc[i].text == "." and i > 0 and len(doc[i - 1]) > 1


def _trim(doc: Doc, start: int, end: int, group: str) -> tuple[int, int]:
    """Drop white space and punctuation at the edges, an article or preposition before an indirect identifier; an initial's full stop stays."""
    while start < end and group in INDIRECT_LABELS and doc[start].lower_ in _BEFORE:
        start += 1
    while start < end and (
        doc[start].is_space or (doc[start].is_punct and not doc[start].like_email)
    ):
        start += 1
    while start < end:
        last = doc[end - 1]
        initial = (
            last.text == "."
            and end - start >= 2
            and len(doc[end - 2].text) == 1
            and doc[end - 2].text.isalpha()
        )
        if not last.is_space and (
            not last.is_punct or initial or (group != NAME and last.text in ")/")
        ):
            break
        end -= 1
    if group == NAME and start < end and not any(c.isalpha() for c in doc[start:end].text):
        return start, start
    return start, end


def _candidate(doc: Doc, total: numpy.ndarray, group: str, start: int, end: int) -> Candidate:
    words = [
        i
        for i in range(start, end)
        if not (doc[i].is_space or doc[i].is_punct or _shows_nothing(doc[i]))
    ]
    words = words or list(range(start, end))
    score = float(min(1.0, max(0.0, total[words].mean())))
    # A name is a student's until somebody says whose it is: unsure means protect.
    return Candidate(start, end, NAME_STUDENT if group == NAME else group, score, "model", "model")


OPERATING_POINT = "operating_point"  # the key in doc.spans["pii"].attrs
# The odds that a threshold asks for, at the points beside `balanced`.
_ODDS = {RECALL: 0.25, PRECISION: 4.0}


def thresholds_at(point: str, thresholds: Mapping[str, float]) -> dict[str, float]:
    """RETURNS (dict[str, float]): Those of `balanced`, 0 to 1, at a point: a quarter of the odds for `recall`, four times for `precision`.

    Names and what somebody's may be keep theirs: that is for `pii_context` to decide, and what it never sees it cannot weigh.

    >>> round(thresholds_at("recall", {"EMAIL": 0.5})["EMAIL"], 3)
    0.2"""
    factor = _ODDS.get(point, 1.0)
    return {
        label: value
        if label == NAME or label in INDIRECT_LABELS or value in (0.0, 1.0)
        else factor * value / (1 - value + factor * value)
        for label, value in thresholds.items()
    }
