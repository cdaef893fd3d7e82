"""Counts of right, wrong and missed entities, and what is computed from them. Pure functions.

    table = match_bag(gold, predicted, documents=["1", "2"], labels=["EMAIL"])
    table.counts                                            # (n_documents, n_labels, 3): right, wrong, missed
    weights = resample(n_documents, seed=1)                 # (1000, n_documents)
    score(table.per_document, weights)["f5"]                # Estimate(value=0.9377, low=0.926, high=0.948)

All counts take entities with their texts in any order, the ids of all documents, also of those without entities, and the labels that
count. Gold has masked stretches where nobody knows what stands there (`GoldDocument.masked`): `judged` leaves out predictions that touch one;
functions with `masked` do so themselves.

Intervals are percentile bootstraps over documents: entities of one essay stand or fall together. A resample is a vector of how often each
document was drawn, so that all resamples are one matrix product. With the same weights two systems are compared in pairs (`difference`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import compress
from typing import NamedTuple

import numpy

from ..errors import Errors, PiiError
from ..labels import NAME_STUDENT, ROLES, is_name, role_of
from ..names.table import name_table
from .gold import Entity

N_RESAMPLES = 1000
SEED = 20240117  # any fixed number; the same for every system, so that differences are paired
LEVEL = 0.95
TP, FP, FN = 0, 1, 2
# Columns of `expose`.
ENTITIES, COVERED, TOUCHED, CHARACTERS, HIDDEN, ALARMS, WORDS = range(7)
# Masked stretches, (first character, end), by document.
Masks = Mapping[str, Sequence[tuple[int, int]]]
NO_MASKS: Masks = {}
_Keys = list[tuple[str, str, Hashable]]


class CountTable(NamedTuple):
    """Right, wrong and missed entities: `counts` has the shape (n_documents, n_labels, 3)."""

    documents: tuple[str, ...]
    labels: tuple[str, ...]
    counts: numpy.ndarray

    def select(self, *, labels: Sequence[str]) -> "CountTable":
        """RETURNS (CountTable): The columns of some labels."""
        columns = [label in labels for label in self.labels]
        kept = tuple(compress(self.labels, columns))
        return CountTable(self.documents, kept, self.counts[:, columns])

    @property
    def per_document(self) -> numpy.ndarray:
        """Sums over labels, shape (n_documents, 3)."""
        return self.counts.sum(axis=1)


def _tabulate(
    gold: _Keys, predicted: _Keys, documents: Sequence[str], labels: Sequence[str]
) -> CountTable:
    """Count what two bags of (document, label, key) share; other documents and labels are left out."""
    row = {document: i for i, document in enumerate(documents)}
    column = {label: i for i, label in enumerate(labels)}

    def bag(keys: _Keys) -> Counter[tuple[str, str, Hashable]]:
        return Counter(key for key in keys if key[0] in row and key[1] in column)

    in_gold, in_predicted = bag(gold), bag(predicted)
    shared = in_gold & in_predicted
    counts = numpy.zeros((len(row), len(column), 3), dtype="i8")
    for keys, kind in ((shared, TP), (in_predicted - shared, FP), (in_gold - shared, FN)):
        for (document, label, _), n in keys.items():
            counts[row[document], column[label], kind] += n
    return CountTable(tuple(documents), tuple(labels), counts)


def match_by(
    key: Callable[[Entity], Hashable],
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
) -> CountTable:
    """Exact match of (document, label, key) as bags: what is there twice must be predicted twice."""
    wanted: _Keys = [(e.document, e.label, key(e)) for e in gold]
    found: _Keys = [(e.document, e.label, key(e)) for e in predicted]
    return _tabulate(wanted, found, documents, labels)


# By text, wherever it stands (JEDM paper, section 3.4, and its notebook); and by offsets.
match_bag = partial(match_by, lambda entity: entity.text)
match_position = partial(match_by, lambda entity: (entity.start, entity.end))


def touches(entity: Entity, stretches: Iterable[tuple[int, int]]) -> bool:
    """RETURNS (bool): Whether the entity shares a character with one of the stretches."""
    return any(start < entity.end and end > entity.start for start, end in stretches)


def judged(predicted: Iterable[Entity], masked: Masks) -> list[Entity]:
    """RETURNS (list[Entity]): Predictions that touch no masked stretch: they can be called wrong."""
    return [entity for entity in predicted if not touches(entity, masked.get(entity.document, ()))]


def pair_overlaps(
    gold: Iterable[Entity], predicted: Iterable[Entity]
) -> list[tuple[Entity, Entity]]:
    """Pair gold with predictions that share a character, whatever their labels, each at most once.

    From left to right, each gold entity takes the first prediction that is free; one with its very
    offsets comes first. Where neither side overlaps with itself, no other choice makes more pairs.
    """
    by_document: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(predicted, key=lambda e: (e.end, e.start, e.label)):
        by_document[entity.document].append(entity)
    pairs = []
    for entity in sorted(gold, key=lambda e: (e.end, e.start, e.label)):
        place = (entity.start, entity.end)
        free = by_document[entity.document]
        near = [other for other in free if touches(other, [place])]
        if near:
            best = max(near, key=lambda other: (other.start, other.end) == place)
            free.remove(best)
            pairs.append((entity, best))
    return pairs


def _tabulate_pairs(
    pairs: list[tuple[Entity, Entity]],
    documents: Sequence[str],
    labels: Sequence[str],
    *,
    missed: Iterable[Entity] = (),
    wrong: Iterable[Entity] = (),
    roles: bool = False,
) -> CountTable:
    """Count pairs with one label (or role) as right, others as wrong and missed.

    missed, wrong (Iterable[Entity]): Gold and predictions without a partner.
    """

    def label(entity: Entity) -> str:
        return believed_role(entity) if roles else entity.label

    wanted: _Keys = [(e.document, label(e), i) for i, (e, _) in enumerate(pairs)]
    found: _Keys = [(e.document, label(e), i) for i, (_, e) in enumerate(pairs)]
    wanted += [(e.document, label(e), "missed") for e in missed]
    found += [(e.document, label(e), "wrong") for e in wrong]
    return _tabulate(wanted, found, documents, labels)


def _without_partner(
    entities: Iterable[Entity], pairs: list[tuple[Entity, Entity]], side: int
) -> list[Entity]:
    paired = {id(pair[side]) for pair in pairs}
    return [entity for entity in entities if id(entity) not in paired]


def match_overlap(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """One gold entity with one prediction of the same label that shares a character with it.

    masked (Masks): A prediction without a partner is no error if it touches one of these.
    """
    gold, predicted = list(gold), list(predicted)
    pairs = []
    for label in labels:
        wanted = [entity for entity in gold if entity.label == label]
        pairs += pair_overlaps(wanted, [entity for entity in predicted if entity.label == label])
    missed = _without_partner(gold, pairs, 0)
    wrong = judged(_without_partner(predicted, pairs, 1), masked)
    return _tabulate_pairs(pairs, documents, labels, missed=missed, wrong=wrong)


def match_roles(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    masked: Masks = NO_MASKS,
    missed: bool = True,
) -> CountTable:
    """Names by role: the labels of the table are `labels.ROLES`; other labels than names are left out.

    missed (bool): Whether names count that only one of the two sides has.
    """
    names = [entity for entity in gold if is_name(entity.label)]
    found = [entity for entity in predicted if is_name(entity.label)]
    pairs = pair_overlaps(names, found)
    alone: dict[str, list[Entity]] = {}
    if missed:
        alone["missed"] = _without_partner(names, pairs, 0)
        alone["wrong"] = judged(_without_partner(found, pairs, 1), masked)
    return _tabulate_pairs(pairs, documents, ROLES, roles=True, **alone)


def has_roles(gold: Iterable[Entity]) -> bool:
    """RETURNS (bool): Whether gold tells a student's name from another one."""
    return any(is_name(entity.label) and entity.label != NAME_STUDENT for entity in gold)


def believed_role(entity: Entity) -> str:
    """RETURNS (str): Whose name a name is taken for.

    A name that is hidden only to be safe has a label that says so, and its likeliest role.
    """
    return entity.role or role_of(entity.label)


def match_tokens(
    gold: Iterable[Entity],
    predicted: Iterable[Entity],
    *,
    documents: Sequence[str],
    labels: Sequence[str],
    tokens: Mapping[str, Sequence[tuple[int, int]]],
    masked: Masks = NO_MASKS,
) -> CountTable:
    """Tokens as sets of (document, token, BIO label): the metric of CRAPII's Kaggle task.

    B- against I- is an error. Where two predictions share a token, both count; tokens that touch
    one of `masked` do not.

    tokens (Mapping[str, Sequence[tuple[int, int]]]): First character and end (exclusive) of the
        tokens of each document.
    """

    def keys(entities: Iterable[Entity]) -> _Keys:
        found: set[tuple[str, str, Hashable]] = set()
        for entity in entities:
            inside = [t for t in tokens.get(entity.document, ()) if touches(entity, [t])]
            for n, (start, end) in enumerate(inside):
                token = Entity(entity.document, start, end, entity.label)
                if judged([token], masked):
                    found.add((entity.document, entity.label, (start, "I" if n else "B")))
        return list(found)

    return _tabulate(keys(gold), keys(predicted), documents, labels)


def expose(
    gold: Iterable[Entity],
    hidden: Iterable[Entity],
    *,
    documents: Sequence[str],
    words: Sequence[int] = (),
    known: Iterable[Entity] | None = None,
    masked: Masks = NO_MASKS,
) -> numpy.ndarray:
    """What a reader would still see, and what was hidden for nothing, whatever the labels.

    hidden (Iterable[Entity]): What the system would hide.
    words (Sequence[int]): Lengths of the documents; none where nobody knows them.
    known (Iterable[Entity] | None): Everything that is no false alarm; `gold` if None.
    RETURNS (numpy.ndarray): Shape (n_documents, 7): gold entities, those wholly covered, those
        touched; characters of gold without white space, those hidden; false alarms; words.
    """
    gold = list(gold)
    row = {document: i for i, document in enumerate(documents)}
    counts = numpy.zeros((len(row), WORDS + 1), dtype="i8")
    if words:
        counts[:, WORDS] = words
    no_alarm = defaultdict(list, {document: list(places) for document, places in masked.items()})
    for entity in gold if known is None else known:
        no_alarm[entity.document].append((entity.start, entity.end))
    covered: dict[str, set[int]] = defaultdict(set)
    for entity in hidden:
        if entity.document in row:
            covered[entity.document].update(range(entity.start, entity.end))
            alarm = not touches(entity, no_alarm[entity.document])
            counts[row[entity.document], ALARMS] += alarm
    for entity in gold:
        if entity.document in row:
            clear, length = in_clear(entity, covered[entity.document]), in_clear(entity, set())
            counts[row[entity.document], :ALARMS] += numpy.asarray(
                [1, clear == 0, clear < length, length, length - clear]
            )
    return counts


def in_clear(entity: Entity, hidden: set[int]) -> int:
    """RETURNS (int): Characters of the entity, white space aside, that are not in `hidden`."""
    text = entity.text or "x" * (entity.end - entity.start)
    return sum(entity.start + i not in hidden and not char.isspace() for i, char in enumerate(text))


# --- scores and their intervals

Shares = dict[str, "int | Estimate | None"]


class Estimate(NamedTuple):
    """A number as measured, with the bounds of its interval."""

    value: float
    low: float
    high: float


def _divide(upper: numpy.ndarray, lower: numpy.ndarray) -> numpy.ndarray:
    """NaN where there is nothing to divide by."""
    upper, lower = numpy.asarray(upper, dtype="f8"), numpy.asarray(lower, dtype="f8")
    return numpy.divide(upper, lower, out=numpy.full(upper.shape, numpy.nan), where=lower > 0)


def measures(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """Precision, recall, F1 and F5, each of shape `(...)`; NaN where there is nothing to divide by.

    F-beta is `(1 + b2) tp / ((1 + b2) tp + b2 fn + fp)` with `b2 = beta * beta`, so that F5 weighs a
    miss as 25 false alarms. It equals `(1 + b2) P R / (b2 P + R)` (van Rijsbergen 1979), and has a
    value where P has none.

    counts (numpy.ndarray): True positives, false positives, false negatives in the last axis, shape
        `(..., 3)`.
    """
    tp, fp, fn = counts[..., TP], counts[..., FP], counts[..., FN]
    found = {"precision": _divide(tp, tp + fp), "recall": _divide(tp, tp + fn)}
    for beta in (1, 5):
        weighted = (1 + beta**2) * tp
        found[f"f{beta}"] = _divide(weighted, weighted + beta**2 * fn + fp)
    return found


def resample(
    n_documents: int, *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> numpy.ndarray:
    """How often each document is drawn in each resample, shape `(n_resamples, n_documents)`."""
    rng = numpy.random.default_rng(seed)
    return rng.multinomial(n_documents, numpy.full(n_documents, 1 / n_documents), size=n_resamples)


def _estimate(value: numpy.ndarray, draws: numpy.ndarray) -> Estimate | None:
    """A value with its interval; resamples without any gold entity say nothing and are passed over."""
    if numpy.isnan(value):
        return None
    known = draws[~numpy.isnan(draws)]
    levels = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = numpy.quantile(known, levels) if len(known) else (value, value)
    return Estimate(float(value), float(low), float(high))


def score(per_document: numpy.ndarray, weights: numpy.ndarray) -> Shares:
    """Support, counts and scores with intervals of summed counts; counts alone, if there is no gold entity.

    per_document (numpy.ndarray): Counts, shape `(n_documents, 3)`.
    weights (numpy.ndarray): From `resample`.
    """
    total = per_document.sum(axis=0)
    tp, fp, fn = (int(n) for n in total)
    found: Shares = {"support": tp + fn, "tp": tp, "fp": fp, "fn": fn}
    if tp + fn:
        draws = weights @ per_document
        with_gold = draws[:, TP] + draws[:, FN] > 0
        drawn, values = measures(draws[with_gold] if with_gold.any() else draws), measures(total)
        found |= {name: _estimate(values[name], drawn[name]) for name in values}
    return found


def difference(
    first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray
) -> dict[str, Estimate | None]:
    """How much better the first system is, document by document; None where one has no value.

    first, second (numpy.ndarray): Counts of the same documents, shape `(n_documents, 3)`.
    weights (numpy.ndarray): From `resample`.
    """
    ours, theirs = measures(first.sum(axis=0)), measures(second.sum(axis=0))
    our_draws, their_draws = measures(weights @ first), measures(weights @ second)
    return {
        name: _estimate(ours[name] - theirs[name], our_draws[name] - their_draws[name])
        for name in ours
    }


def paired_p(first: numpy.ndarray, second: numpy.ndarray, weights: numpy.ndarray) -> float | None:
    """How likely a difference of F5 as far from nothing is, if there were none: two-sided.

    A paired bootstrap over documents: twice the share of resamples in which the difference has the
    other sign or none (Efron and Tibshirani 1993, chapter 16), and at least one resample's worth.

    first, second (numpy.ndarray): As for `difference`.
    RETURNS (float | None): None where one of the two has no value.
    """
    draws = measures(weights @ first)["f5"] - measures(weights @ second)["f5"]
    draws = draws[~numpy.isnan(draws)]
    if not len(draws):
        return None
    share = min(float((draws <= 0).mean()), float((draws >= 0).mean()))
    return min(1.0, max(2 * share, 1 / len(draws)))


def rate(part: numpy.ndarray, whole: numpy.ndarray, weights: numpy.ndarray) -> Estimate | None:
    """A ratio of sums over counts (or booleans) per document; None if there is nothing in the whole."""
    drawn = _divide(weights @ part.astype("i8"), weights @ whole.astype("i8"))
    return _estimate(_divide(part.sum(), whole.sum()), drawn)


# --- what stays visible, from the counts of `expose`


def coverage(counts: numpy.ndarray, clean: numpy.ndarray, weights: numpy.ndarray) -> Shares:
    """What a data steward needs to know: documents with gold of which a character is left in clear, gold entities not wholly covered, and
    documents without gold in which something would be hidden. Rates are None where there are no such documents.

    clean (numpy.ndarray): Booleans: documents without any gold entity, whatever labels are counted.
    """
    exposed = counts[:, ENTITIES] - counts[:, COVERED]
    with_pii, incomplete = counts[:, ENTITIES] > 0, exposed > 0
    touched = clean & (counts[:, ALARMS] > 0)
    return {
        "documents_with_pii": int(with_pii.sum()),
        "incompletely_covered": int(incomplete.sum()),
        "entities": int(counts[:, ENTITIES].sum()),
        "exposed_entities": int(exposed.sum()),
        "clean_documents": int(clean.sum()),
        "clean_touched": int(touched.sum()),
        "incomplete_rate": rate(incomplete, with_pii, weights),
        "touched_rate": rate(touched, clean, weights),
    }


def exposure(counts: numpy.ndarray, weights: numpy.ndarray) -> Shares:
    """Shares of characters and entities that are hidden, and false alarms in all documents, those with gold too; None where there is nothing
    to take a share of. `label_blind_recall`: of entities that are wholly hidden, under whatever label; `touched_recall`: in part at least."""
    total = counts.sum(axis=0)
    return {
        "characters": int(total[CHARACTERS]),
        "characters_in_clear": int(total[CHARACTERS] - total[HIDDEN]),
        "false_alarms": int(total[ALARMS]),
        "words": int(total[WORDS]),
        "character_recall": rate(counts[:, HIDDEN], counts[:, CHARACTERS], weights),
        "label_blind_recall": rate(counts[:, COVERED], counts[:, ENTITIES], weights),
        "touched_recall": rate(counts[:, TOUCHED], counts[:, ENTITIES], weights),
        "false_alarms_per_10000_words": rate(counts[:, ALARMS] * 10_000, counts[:, WORDS], weights),
    }


# --- recall by gender and culture of a name, and whether a group differs from the rest (two-tailed Mann-Whitney U)

MALE, FEMALE = "Male", "Female"
STARS = {"***": 0.01, "**": 0.05, "*": 0.1}
CATEGORIES: dict[str, tuple[str, ...]] = {
    "gender": (MALE, FEMALE),
    "culture": ("Europe", "Americas", "Asia", "Africa", "Oceania"),
}


class NameGroup(NamedTuple):
    """gender (str): Male, Female or empty. culture (str): A region of the UN, or empty where nobody knows."""

    gender: str = ""
    culture: str = ""


class GroupTest(NamedTuple):
    """A group against the rest of its category: names and those found (hits) of each, Mann-Whitney's U and p, recall of the group and its gap."""

    category: str
    group: str
    system: str
    total: int
    hits: int
    rest_total: int
    rest_hits: int
    u: float
    p: float
    recall: Estimate | None = None
    gap: Estimate | None = None


def significance(p: float) -> str:
    """`***` below .01, `**` below .05, `*` below .1, else `n.s.`, as the paper has it."""
    return next((stars for stars, level in STARS.items() if p < level), "n.s.")


def name_group(text: str) -> NameGroup:
    """RETURNS (NameGroup): Of a person's name as it stands in a text, by the table of names that ships.

    First and last name are those that nameparser sees in Title Case; a lone name is a first name.
    """
    from nameparser import HumanName

    parsed, table = HumanName(text.strip().title()), name_table()
    gender = table.gender(parsed.first) if parsed.first else None
    countries = table.countries(parsed.last) if parsed.last else ()
    return NameGroup(
        {"M": MALE, "F": FEMALE}.get(gender or "", ""),
        cultures().get(countries[0], "") if countries else "",
    )


@cache
def cultures() -> dict[str, str]:
    """Code of a country -> region of the UN."""
    from ..corpus.people import CULTURES

    return {code: culture for culture, codes in CULTURES.items() for code in codes.split()}


def found_in_document(gold: Sequence[Entity], predicted: Iterable[Entity]) -> list[bool]:
    """For each gold entity, whether its string was predicted with its label, wherever in the document."""
    given = {(entity.document, entity.label, entity.text) for entity in predicted}
    return [(entity.document, entity.label, entity.text) in given for entity in gold]


def mann_whitney(hits: int, total: int, rest_hits: int, rest_total: int) -> tuple[float, float]:
    """U of the group, and p, two-tailed; NaN where a side is empty.

    On hits (1) and misses (0), normal approximation with ties and continuity, as scipy does by default. RAISES (PiiError): E005 without scipy.
    """
    if not (total and rest_total):
        return float("nan"), float("nan")
    try:
        from scipy.stats import mannwhitneyu
    except ImportError as err:
        what = "the Mann-Whitney test"
        raise PiiError(Errors.E005, package="scipy", what=what, extra="corpus") from err
    if hits + rest_hits in (0, total + rest_total):
        return total * rest_total / 2, 1.0  # all found or none: nothing to rank
    group = numpy.repeat([1, 0], [hits, total - hits])
    rest = numpy.repeat([1, 0], [rest_hits, rest_total - rest_hits])
    found = mannwhitneyu(group, rest, alternative="two-sided", method="asymptotic")
    return float(found.statistic), float(found.pvalue)


def recall_by_group(
    gold: Sequence[Entity],
    groups: Sequence[NameGroup],
    found: Mapping[str, Sequence[bool]],
    *,
    documents: Sequence[str] = (),
    weights: numpy.ndarray | None = None,
) -> list[GroupTest]:
    """Recall of every group and its test against the rest of its category; names of no group take no part.

    gold (Sequence[Entity]): Names. groups (Sequence[NameGroup]): Of each. found (Mapping[str, Sequence[bool]]): By system.
    documents (Sequence[str]), weights (numpy.ndarray | None): From `resample`, for intervals; none if missing.
    RETURNS (list[GroupTest]): By category, group, system; groups without a name are left out.
    """
    row = {document: i for i, document in enumerate(documents)}
    rows = numpy.asarray([row.get(entity.document, 0) for entity in gold], dtype="i8")
    tests = []
    for category, names in CATEGORIES.items():
        of = numpy.asarray([getattr(group, category) for group in groups], dtype=object)
        for name in names:
            inside, rest = of == name, (of != "") & (of != name)
            for system, hits in found.items() if inside.any() else ():
                hit = numpy.asarray(hits, dtype=bool)
                sides = (inside & hit, inside, rest & hit, rest)
                h, n, rh, rn = (int(side.sum()) for side in sides)
                recall = gap = None
                if weights is not None:
                    counts = [numpy.bincount(rows[side], minlength=len(row)) for side in sides]
                    recall, gap = rate(counts[0], counts[1], weights), gap_of(counts, weights)
                u, p = mann_whitney(h, n, rh, rn)
                tests.append(GroupTest(category, name, system, n, h, rn, rh, u, p, recall, gap))
    return tests


def gap_of(counts: Sequence[numpy.ndarray], weights: numpy.ndarray) -> Estimate | None:
    """Recall of a group less that of the rest, on the same resamples; None where one is empty.

    counts (Sequence[numpy.ndarray]): Per document: found and all of the group, found and all of the
        rest.
    """
    hits, total, rest_hits, rest_total = (count.sum() for count in counts)
    value = _divide(hits, total) - _divide(rest_hits, rest_total)
    hits, total, rest_hits, rest_total = (weights @ count for count in counts)
    return _estimate(value, _divide(hits, total) - _divide(rest_hits, rest_total))
