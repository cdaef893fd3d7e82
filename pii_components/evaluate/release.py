"""How well can what was missed be found in a release? The parrot attack; for its numbers see release_numbers.py.

    documents = [ReleasedDocument(pair, gold) for pair, gold in ...]
    attacked = attack(documents, "reader", seed=1)
    sum(document.found for document in attacked)

Carrell et al. 2019 (JAMIA 26(12):1536-1544): an attacker trains a tagger on one half of a release, so that it does as the
defender's tagger did (it parrots it), and runs it over the other half. Their attacker reads both halves; in one he marks all that
looks personal, in the other he suspects what his tagger passes over: found 211 of 310 leaks, with 191 false alarms. Two attackers:

- reader: as in the paper. Labels of the first half: surrogates and leaks alike, since a reader cannot tell them apart. Suspects in
  the second half: those of both which the tagger does not tag. Chance: as many, drawn from all of them.
- labels: the spans of the surrogates are published beside the release, to train on. They are the labels of the first half. Suspects
  in the second half: what the tagger tags and no published span covers. Chance: as many, drawn from all runs of words there that
  have a capital or a digit.

Each half is trained on once and attacked once. Numbers only; no text leaves this module.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy

from ..errors import Errors, PiiError
from .metrics import SEED
from .release_align import LEAK, SURROGATE, Item, LabelledSpan, ReleasedText, find_items, replaced_values
from .release_tagger import Parrot

READER, LABELS = "reader", "labels"
ATTACKERS = (READER, LABELS)
_LEAST_DOCUMENTS = 4
Places = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ReleasedDocument:
    """A document before and after, and what had to be hidden in it.

    pair (ReleasedText): The texts. gold (tuple[LabelledSpan, ...] | None): Start, end and label in the original; None if nobody knows:
        then a leak is a word that was replaced in one place and stands in clear in another.
    """

    pair: ReleasedText
    gold: tuple[LabelledSpan, ...] | None = None
    items: tuple[Item, ...] = field(init=False, repr=False)
    hidden: tuple[LabelledSpan, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        spans = self.gold if self.gold is not None else tuple(replaced_values(self.pair))
        object.__setattr__(self, "hidden", spans)
        object.__setattr__(self, "items", tuple(find_items(self.pair, spans)))

    def of_kind(self, kind: str) -> list[Item]:
        """RETURNS (list[Item]): Surrogates or leaks."""
        return [item for item in self.items if item.kind == kind]


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an attacker makes of one document of the other half.

    found (int): Leaks that he suspects. wrong (int): Suspects that are none. passed (int): Leaks that he does not suspect.
    population (int): What suspects are drawn from. scores (tuple[tuple[float, bool], ...]): For each item the tagger's mean
        probability over its words, and whether it is a leak.
    """

    found: int
    wrong: int
    passed: int
    population: int
    scores: tuple[tuple[float, bool], ...] = field(default=(), repr=False)


def halves(documents: Sequence[ReleasedDocument], *, seed: int = SEED) -> numpy.ndarray:
    """Part documents in two, by chance, with leaks and surrogates in both.

    documents (Sequence[ReleasedDocument]): All. seed (int): The same seed, the same halves, whatever the order.
    RETURNS (numpy.ndarray): 0 or 1 per document.
    """

    def key(i: int) -> tuple[bool, bool, str]:
        doc = documents[i]
        return (
            not doc.of_kind(LEAK),
            not doc.of_kind(SURROGATE),
            sha256(f"{seed}|{doc.pair.id}".encode()).hexdigest(),
        )

    half = numpy.zeros(len(documents), dtype="i8")
    half[sorted(range(len(documents)), key=key)[1::2]] = 1
    return half


def attack(
    documents: Sequence[ReleasedDocument],
    attacker: str,
    *,
    seed: int = SEED,
    progress: Callable[[], None] = lambda: None,
) -> list[Attacked]:
    """Train on each half and attack the other. The tagger tags as large a share of the words as was marked in its half.

    documents (Sequence[ReleasedDocument]): Of the release. attacker (str): READER or LABELS. seed (int): Of halves and tagger.
    progress (Callable[[], None]): Called after each half.
    RETURNS (list[Attacked]): One per document, in their order.
    RAISES (PiiError): E772, with too few documents; E005, without scikit-learn.
    """
    if sum(bool(doc.items) for doc in documents) < _LEAST_DOCUMENTS:
        raise PiiError(Errors.E772, n=sum(bool(doc.items) for doc in documents), least=_LEAST_DOCUMENTS)
    half = halves(documents, seed=seed)
    out: dict[int, Attacked] = {}
    for turn in (0, 1):
        train = [documents[i] for i in numpy.flatnonzero(half == turn)]
        marked = [[(m.start, m.end) for m in d.items if attacker == READER or m.kind == SURROGATE] for d in train]
        parrot = Parrot(seed=seed).fit([doc.pair.released for doc in train], marked)
        rest = [int(i) for i in numpy.flatnonzero(half != turn)]
        tagged = [parrot.tag(documents[i].pair.released) for i in rest]
        threshold = _threshold(numpy.concatenate([p for _, p in tagged]), parrot.share)
        judge = _read if attacker == READER else _compare
        for i, (places, probabilities) in zip(rest, tagged, strict=True):
            out[i] = judge(documents[i], places, probabilities, threshold)
        progress()
    return [out[i] for i in range(len(documents))]


def _threshold(probabilities: numpy.ndarray, share: float) -> float:
    """RETURNS (float): Probability from which that share of the words is tagged: a rare class is seldom surer than one half."""
    n = round(share * len(probabilities))
    return float(numpy.sort(probabilities)[-n]) if n else 2.0


def _read(document: ReleasedDocument, places: Places, probabilities: numpy.ndarray, threshold: float) -> Attacked:
    """The reader's suspects: what looks personal, and the tagger passes over."""
    scores = []
    for item in document.items:
        inside = [
            p
            for (s, e), p in zip(places, probabilities, strict=True)
            if s < item.end and e > item.start and document.pair.released[s].isalnum()
        ]
        scores.append((float(numpy.mean(inside)) if inside else 0.0, item.kind == LEAK))
    found = sum(leak and p < threshold for p, leak in scores)
    wrong = sum(not leak and p < threshold for p, leak in scores)
    passed = sum(leak and p >= threshold for p, leak in scores)
    return Attacked(found, wrong, passed, len(scores), tuple(scores))


def _compare(document: ReleasedDocument, places: Places, probabilities: numpy.ndarray, threshold: float) -> Attacked:
    """Suspects of the one with the published spans: runs of tagged words outside of them."""
    text = document.pair.released
    known, leaks = document.of_kind(SURROGATE), document.of_kind(LEAK)
    outside = [not any(k.start < e and k.end > s for k in known) for s, e in places]
    tagged = [bool(free and p >= threshold) for free, p in zip(outside, probabilities, strict=True)]
    capital = [free and (text[s].isupper() or text[s].isdigit()) for free, (s, _) in zip(outside, places, strict=True)]

    def touches(run: tuple[int, int]) -> bool:
        return any(leak.start < run[1] and leak.end > run[0] for leak in leaks)

    suspects = _word_runs(places, tagged)
    found = sum(any(s < leak.end and e > leak.start for s, e in suspects) for leak in leaks)
    wrong = sum(not touches(run) for run in suspects)
    others = sum(not touches(run) for run in {*suspects, *_word_runs(places, capital)})
    return Attacked(found, wrong, len(leaks) - found, len(leaks) + max(others, wrong))


def _word_runs(places: Places, chosen: Sequence[bool]) -> list[tuple[int, int]]:
    """Chosen words that follow one another, as (start, end)."""
    out: list[tuple[int, int]] = []
    before = False
    for (start, end), take in zip(places, chosen, strict=True):
        if take:
            out = [*out[:-1], (out[-1][0], end)] if before else [*out, (start, end)]
        before = take
    return out
