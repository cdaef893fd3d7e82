"""How well can what was missed be found in a release? The parrot attack, and what repetition gives away.

    python -m scripts.release_attack essays.jsonl released.jsonl --gold gold.jsonl --out metrics/release.json

Carrell et al. 2019 (JAMIA 26(12):1536-1544): an attacker trains a tagger on one half of a release, so that it does as the
defender's tagger did (it parrots it), and runs it over the other half. Their attacker reads both halves; in one he marks all that
looks personal, in the other he suspects what his tagger passes over: found 211 of 310 leaks, with 191 false alarms. Two attackers:

- reader: as in the paper. Labels of the first half: surrogates and leaks alike, since a reader cannot tell them apart. Suspects in
  the second half: those of both which the tagger does not tag. Chance: as many, drawn from all of them.
- labels: the spans of the surrogates are published beside the release, to train on. They are the labels of the first half. Suspects
  in the second half: what the tagger tags and no published span covers. Chance: as many, drawn from all runs of words there that
  have a capital or a digit.

Each half is trained on once and attacked once. Without gold, a leak is a word that was replaced in one place of a document and stands
in clear in another. Numbers only; no text leaves this module.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256
from math import comb, prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy
import typer
from rich.console import Console

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.metrics import LEVEL, N_RESAMPLES, SEED, Estimate, resample, score
from pii_components.evaluate.report import plain, versions
from pii_components.evaluate.tables import progress_bar
from pii_components.files.formats.base import USUAL_ID_FIELDS
from pii_components.files.labelled import guess_form, read_corpus
from pii_components.files.record import Skip
from pii_components.files.sources import open_source
from pii_components.labels import is_name
from pii_components.offsets import Edit, OffsetMap
from pii_components.profiles import Profile
from scripts import common
from scripts.common import Protects

CONSISTENT, RANDOM, MARKOV, APART = "consistent", "random", "markov", "apart"
STRATEGIES = (CONSISTENT, RANDOM, MARKOV)
KEEP = 0.5  # BRATsynthetic's default
SURROGATE, LEAK = "surrogate", "leak"
READER, LABELS = "reader", "labels"
ATTACKERS = {
    READER: "marks all that looks personal, suspects what the tagger passes over",
    LABELS: "has the spans of the surrogates, suspects what the tagger tags outside of them",
}
LabelledSpan = tuple[int, int, str]
Places = Sequence[tuple[int, int]]
_LEAST_DOCUMENTS = 4


def main(
    original: Annotated[Path, typer.Argument(help="The texts before; labels in it are taken as gold.")],
    released: Annotated[Path, typer.Argument(help="The texts after, as pii-edu deidentify wrote them.")],
    *,
    gold: Annotated[Path | None, typer.Option(help="Labelled corpus of the same texts [labels of ORIGINAL].")] = None,
    with_spans: Annotated[
        bool, typer.Option("--with-spans", help="RELEASED has the spans of its surrogates (id, text, spans).")
    ] = False,
    profile: Annotated[str, typer.Option(help="Says which labels of the gold had to be hidden.")] = "crapii",
    recall: Annotated[float | None, typer.Option(help="Of the detector, for the arithmetic [what RELEASED shows].")] = None,
    keep: Annotated[float, typer.Option(help="Markov strategy: probability that a surrogate is kept.")] = KEEP,
    out: common.OutOpt = None,
    text_field: Annotated[str, typer.Option("--text-column", "--text-field", help="Of the text [a usual name].")] = "",
    id_field: Annotated[str, typer.Option("--id-column", "--id-field", help="Of the id [a usual name].")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of the files.")] = "utf-8",
    resamples: common.ResamplesOpt = 1000,
    seed: Annotated[int, typer.Option(help="Of halves, tagger and bootstrap; 0 is the usual one.")] = 0,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Parrot attack on RELEASED (Carrell et al. 2019) and leak arithmetic; no text is shown or written."""
    with guard(debug):
        common.early(out)
        documents = read_release(
            original, released, gold=gold, with_spans=with_spans, hides=Profile.load(profile).protects, encoding=encoding,
            text_field=text_field, id_field=id_field,
        )  # fmt: skip
        with progress_bar("attack", 2 * len(ATTACKERS)) as advance:
            found = release_report(
                documents, recall=recall, keep=keep, seed=seed or SEED, n_resamples=resamples, progress=advance
            )
        files = {"original": original.name, "released": released.name, "gold": gold.name if gold else None}
        report = {"files": files, "profile": Path(profile).name, "versions": versions(), "release": found}
        common.publish("release_attack", report, out, None if quiet else print_release)


def print_release(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables."""
    found, given = report["release"], report["release"]["arithmetic"]
    common.show(
        to, "The release", [found], "documents words surrogates surrogates_known_from leaks leaks_known_from leaks_in_part"
    )
    keys = "leaks suspects found precision chance_precision recall chance_recall lift p_value auc"
    common.show(to, f"Parrot attack, both halves in turn; {found['tagger']}", found["attacks"], keys)
    for name in found["attacks"]:
        to.print(f"{name}: {ATTACKERS[name]}")
    shares = {"values": given["share_of_values"], "documents": given["share_of_documents"]}
    shares |= {f"values that stand {row['n']} times": row for row in given["by_repetition"]}
    title = f"Given away by repetition, if {given['miss_rate']} of the mentions are missed (from {given['miss_rate_from']})"
    common.show(to, title, shares, " ".join(("values", *STRATEGIES, APART)))
    common.show(to, "Observed", [given["observed"]], " ".join(given["observed"]))


# --- can a value that was missed be told from the surrogates around it? Formulae of BRATsynthetic for three strategies


def markov(n: int, e: float, keep: float = KEEP) -> float:
    """More were missed than a surrogate is repeated in a row: `sum over m >= 2 of P(m missed) P(longest run of n - m < m)`.

    keep (float): Probability that a surrogate is kept for the next mention; for 0 it is as with random ones. One missed mention alone tells
    nothing: it may be a surrogate.
    """
    return sum(comb(n, m) * e**m * (1 - e) ** (n - m) * shorter_run(n - m, m, keep) for m in range(2, n + 1))


@cache
def shorter_run(n: int, length: int, keep: float) -> float:
    """Probability that among n mentions no surrogate stands `length` times in a row: a run grows with probability `keep`."""
    if n < length:
        return 1.0
    if length == 1:
        return 0.0
    runs = [1.0] + [0.0] * (length - 2)  # runs[k]: no run of `length` so far, and the one at hand has k + 1
    for _ in range(n - 1):
        runs = [sum(runs) * (1 - keep), *(p * keep for p in runs[:-1])]
    return sum(runs)


def told(n: int, e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Probability that a value with n mentions, each missed with probability e, is given away, by strategy.

    Consistent: one mention or more was missed; a lone one counts, though nothing stands beside it that it could be told from. Apart, the
    stricter reading: one or more was missed and one or more was replaced. Random: two or more were missed; no two surrogates are taken to
    be equal by chance. Markov: see `markov`.
    """
    none, every, one = (1 - e) ** n, e**n, n * e * (1 - e) ** (n - 1)
    return {
        CONSISTENT: 1 - none,
        RANDOM: max(0.0, 1 - none - one),
        MARKOV: markov(n, e, keep),
        APART: max(0.0, 1 - none - every),
    }


def expected(repeats: Sequence[int], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the values of a corpus that are given away; `repeats` says how often each stands in its document. 0 without values."""
    counts = Counter(repeats)
    ways = {n: told(n, e, keep=keep) for n in counts}
    return {way: sum(k * ways[n][way] for n, k in counts.items()) / max(1, len(repeats)) for way in (*STRATEGIES, APART)}


def documents_told(repeats: Mapping[str, Sequence[int]], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the documents in which one value or more is given away: `1 - product of (1 - p)` over the values of each."""
    ways = {n: told(n, e, keep=keep) for counts in repeats.values() for n in counts}
    return {
        way: sum((1 - prod(1 - ways[n][way] for n in counts)) / len(repeats) for counts in repeats.values())
        for way in (*STRATEGIES, APART)
    }


# --- where the surrogates and the leaks lie in a release, from the original beside it

_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


@dataclass(frozen=True, slots=True)
class ReleasedText:
    """A document before and after; start, end and label of the surrogates in the released text, None if nobody wrote them."""

    id: str
    original: str = field(repr=False)
    released: str = field(repr=False)
    surrogates: tuple[LabelledSpan, ...] | None = None


class Item(NamedTuple):
    """What a reader of the release would take for personal information: characters in the released text, end exclusive, SURROGATE or LEAK,
    the label if it is known, and for a leak whether a part of it was replaced."""

    start: int
    end: int
    kind: str
    label: str = ""
    partial: bool = False


def align(pair: ReleasedText) -> OffsetMap:
    """What was replaced by what, original to released offsets.

    RAISES (PiiError): E771, if nothing is left of the original, or the spans do not lie in the release.
    """
    old = _tokens(pair.original, 0, len(pair.original))
    new: list[tuple[int, int]] = []
    closed: set[int] = set()  # tokens of `new` that are surrogates: equal to nothing in the original
    at = 0
    for start, end, _ in pair.surrogates or ():
        if not at <= start < end <= len(pair.released):
            raise PiiError(Errors.E771, document=pair.id, reason="spans that overlap or lie outside of the release")
        new += _tokens(pair.released, at, start)
        closed.add(len(new))
        new.append((start, end))
        at = end
    new += _tokens(pair.released, at, len(pair.released))
    before: list[object] = [pair.original[s:e] for s, e in old]
    after: list[object] = [i if i in closed else pair.released[s:e] for i, (s, e) in enumerate(new)]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    old_starts, new_starts = _starts(old), _starts(new)
    edits = [
        _trim(pair, Edit(old_starts[i1], old_starts[i2], new_starts[j1], new_starts[j2]), not closed.isdisjoint(range(j1, j2)))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]
    if len(old) > 20 and matcher.ratio() < 0.5:
        raise PiiError(Errors.E771, document=pair.id, reason="texts that differ in more than half of their words")
    return OffsetMap(len(pair.original), len(pair.released), tuple(edits))


def _tokens(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [m.span() for m in _WORD.finditer(text, start, end)]


def _starts(tokens: Places) -> list[int]:
    """First characters of the tokens, and the end of the last."""
    return [*(start for start, _ in tokens), tokens[-1][1] if tokens else 0]


def _trim(pair: ReleasedText, edit: Edit, has_surrogate: bool) -> Edit:
    """Take what is the same on both sides off an edit: white space, and with known spans any character outside of them."""
    start, end, new_start, new_end = edit.start, edit.end, edit.new_start, edit.new_end
    inside = [(s, e) for s, e, _ in pair.surrogates or () if s < new_end and e > new_start] if has_surrogate else []
    low, high = (inside[0][0], inside[-1][1]) if inside else (new_end, new_start)

    def same(old: int, new: int) -> bool:
        char = pair.original[old]
        return char == pair.released[new] and (bool(inside) or char.isspace())

    while start < end and new_start < new_end and new_start < low and same(start, new_start):
        start, new_start = start + 1, new_start + 1
    while end > start and new_end > new_start and new_end > high and same(end - 1, new_end - 1):
        end, new_end = end - 1, new_end - 1
    return Edit(start, end, new_start, new_end)


def find_items(pair: ReleasedText, gold: Sequence[LabelledSpan]) -> list[Item]:
    """Surrogates, and gold entities (start, end and label in the original) that stand in clear, sorted, without overlaps.

    An entity is a leak with the words of it that no edit touches. Where the spans of the surrogates are known, every such word
    counts; where they were found by comparing, only names are taken apart: a surrogate address may keep the word "Street".
    """
    offsets = align(pair)
    if pair.surrogates is not None:
        items = [Item(start, end, SURROGATE, label) for start, end, label in pair.surrogates]
    else:
        edits = [edit for edit in _joined(pair, offsets) if edit.new_start < edit.new_end]
        label_at = (next((label for s, e, label in gold if s < edit.end and e > edit.start), "") for edit in edits)
        items = [Item(edit.new_start, edit.new_end, SURROGATE, label) for edit, label in zip(edits, label_at, strict=True)]
    for start, end, label in gold:
        words = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", pair.original[start:end])]
        clear = [not _touched(offsets, s, e) and any(c.isalnum() for c in pair.original[s:e]) for s, e in words]
        partial = not all(clear)
        if any(clear) and (not partial or pair.surrogates is not None or is_name(label)):
            items += [Item(*offsets.span_to_new(*run), LEAK, label, partial) for run in _word_runs(words, clear)]
    return sorted(items, key=lambda item: (item.start, item.end))


def _touched(offsets: OffsetMap, start: int, end: int) -> bool:
    return any(edit.start < end and edit.end > start for edit in offsets.edits)


def _joined(pair: ReleasedText, offsets: OffsetMap) -> list[Edit]:
    """Edits; those with only white space or one sign between them are one value."""
    out: list[Edit] = []
    for edit in offsets.edits:
        between = pair.original[out[-1].end : edit.start] if out else ""
        if out and len(between) <= 2 and not any(c.isalnum() or c in "\n,;" for c in between):
            out[-1] = Edit(out[-1].start, edit.end, out[-1].new_start, edit.new_end)
        else:
            out.append(edit)
    return out


def _word_runs(places: Places, chosen: Sequence[bool]) -> list[tuple[int, int]]:
    """Chosen words that follow one another, as (start, end)."""
    out: list[tuple[int, int]] = []
    before = False
    for (start, end), take in zip(places, chosen, strict=True):
        if take:
            out = [*out[:-1], (out[-1][0], end)] if before else [*out, (start, end)]
        before = take
    return out


def replaced_values(pair: ReleasedText, *, least: int = 4) -> list[LabelledSpan]:
    """Without gold: what was replaced, and where a word of it, capitalised and of `least` characters, stands in clear; without labels.

    A lower bound: what was never found cannot be seen like this.
    """
    offsets = align(pair)
    places = [(edit.start, edit.end) for edit in _joined(pair, offsets) if edit.start < edit.end]
    words = {w for start, end in places for w in re.findall(r"\w+", pair.original[start:end])}
    known = {w for w in words if len(w) >= least and w[0].isupper()}
    found = [m.span() for m in re.finditer(r"\w+", pair.original) if m.group() in known and not _touched(offsets, *m.span())]
    return sorted((start, end, "") for start, end in [*found, *places])


# --- the tagger that an attacker trains: logistic regression over a word and its surroundings (scikit-learn)

WORD = re.compile(r"\w+|[^\w\s]")
_FEATURES = 1 << 18
_EDGE_WORDS = 50


def words_of(text: str) -> list[tuple[int, int]]:
    """First character and end (exclusive) of the words and signs of a text."""
    return [match.span() for match in WORD.finditer(text)]


class Parrot:
    """A tagger: is this word part of something that was replaced? `share`, once trained: of the words that were tagged in the training.

    strength (float): Inverse of the regularisation (scikit-learn's C). RAISES (PiiError): E005, without scikit-learn.
    """

    def __init__(self, *, seed: int = 1, strength: float = 5.0) -> None:
        try:
            from sklearn.feature_extraction import FeatureHasher
            from sklearn.linear_model import LogisticRegression
        except ImportError as err:
            raise PiiError(Errors.E005, package="scikit-learn", what="the attack", extra="corpus") from err
        self._hasher: Any = FeatureHasher(_FEATURES, input_type="string", alternate_sign=False)
        self._model: Any = LogisticRegression(C=strength, solver="liblinear", max_iter=500, random_state=seed)
        self._constant: float | None = None
        self.share = 0.0

    def fit(self, texts: Sequence[str], spans: Sequence[Places]) -> "Parrot":
        """Train on texts and what is tagged in them. Where nothing, or everything, is tagged, it says so of every word."""
        pairs = zip(texts, spans, strict=True)
        truth = numpy.asarray([any(s < e2 and e > s2 for s, e in found) for text, found in pairs for s2, e2 in words_of(text)])
        self.share = float(truth.mean()) if len(truth) else 0.0
        self._constant = self.share if self.share in (0.0, 1.0) else None
        if self._constant is None:
            self._model.fit(self._hasher.transform(row for text in texts for row in features(text)), truth)
        return self

    def tag(self, text: str) -> tuple[list[tuple[int, int]], numpy.ndarray]:
        """Places of the words, and for each the probability that it was replaced, shape `(n_words,)`."""
        places = words_of(text)
        if self._constant is not None or not places:
            return places, numpy.full(len(places), self._constant or 0.0)
        return places, self._model.predict_proba(self._hasher.transform(features(text)))[:, 1]


def features(text: str) -> Iterator[list[str]]:
    """For each word what the tagger sees of it."""
    places = words_of(text)
    words = ["", "", *(text[start:end].lower() for start, end in places), "", ""]
    shapes = ["", "", *(shape(text[start:end]) for start, end in places), "", ""]
    for i, (start, end) in enumerate(places, 2):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        line = text[line_start : len(text) if line_end < 0 else line_end]
        where = "head" if i - 2 < _EDGE_WORDS else "foot" if i - 2 >= len(places) - _EDGE_WORDS else "body"
        yield [
            "w=" + words[i], "s=" + shapes[i], "p=" + words[i][:3], "x=" + words[i][-3:],
            "w-1=" + words[i - 1], "w-2=" + words[i - 2], "w+1=" + words[i + 1], "w+2=" + words[i + 2],
            "s-1=" + shapes[i - 1], "s+1=" + shapes[i + 1], "s+2=" + shapes[i + 2],
            f"s-1:1={shapes[i - 1]} {shapes[i]} {shapes[i + 1]}",
            f"w-1,s={words[i - 1]} {shapes[i]}", f"w-2,-1,s={words[i - 2]} {words[i - 1]} {shapes[i]}",
            f"first={not text[line_start:start].strip()}", f"short={len(line) < 40} {shapes[i]}", f"where={where} {shapes[i]}",
        ]  # fmt: skip


def shape(word: str) -> str:
    """ "Xx" for "Ana", "d" for "2019": kinds of characters, each once where it repeats."""
    out = ""
    for kind in ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word):
        out += "" if out.endswith(kind) else kind
    return out


# --- the attack


@dataclass(frozen=True, slots=True)
class ReleasedDocument:
    """A document before and after, and what had to be hidden in it (start, end, label in the original); None if nobody knows."""

    pair: ReleasedText
    gold: tuple[LabelledSpan, ...] | None = None
    items: tuple[Item, ...] = field(init=False, repr=False)
    hidden: tuple[LabelledSpan, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        spans = self.gold if self.gold is not None else tuple(replaced_values(self.pair))
        object.__setattr__(self, "hidden", spans)
        object.__setattr__(self, "items", tuple(find_items(self.pair, spans)))

    def of_kind(self, kind: str) -> list[Item]:
        """Surrogates or leaks."""
        return [item for item in self.items if item.kind == kind]


class Attacked(NamedTuple):
    """What an attacker makes of one document of the other half: leaks that he suspects, suspects that are none, leaks that he passes over,
    what suspects are drawn from, and for each item the tagger's mean probability over its words and whether it is a leak."""

    found: int
    wrong: int
    passed: int
    population: int
    scores: tuple[tuple[float, bool], ...] = ()


def halves(documents: Sequence[ReleasedDocument], *, seed: int = SEED) -> numpy.ndarray:
    """0 or 1 per document, by chance, with leaks and surrogates in both halves; whatever the order of the documents."""

    def key(i: int) -> tuple[bool, bool, str]:
        doc = documents[i]
        return not doc.of_kind(LEAK), not doc.of_kind(SURROGATE), sha256(f"{seed}|{doc.pair.id}".encode()).hexdigest()

    half = numpy.zeros(len(documents), dtype="i8")
    half[sorted(range(len(documents)), key=key)[1::2]] = 1
    return half


def attack(
    documents: Sequence[ReleasedDocument], attacker: str, *, seed: int = SEED, progress: Callable[[], None] = lambda: None
) -> list[Attacked]:
    """Train on each half and attack the other. The tagger tags as large a share of the words as was marked in its half.

    RAISES (PiiError): E772, with too few documents; E005, without scikit-learn.
    """
    if (n := sum(bool(doc.items) for doc in documents)) < _LEAST_DOCUMENTS:
        raise PiiError(Errors.E772, n=n, least=_LEAST_DOCUMENTS)
    half = halves(documents, seed=seed)
    out: dict[int, Attacked] = {}
    for turn in (0, 1):
        train = [documents[i] for i in numpy.flatnonzero(half == turn)]
        marked = [[(m.start, m.end) for m in d.items if attacker == READER or m.kind == SURROGATE] for d in train]
        parrot = Parrot(seed=seed).fit([doc.pair.released for doc in train], marked)
        rest = [int(i) for i in numpy.flatnonzero(half != turn)]
        tagged = [parrot.tag(documents[i].pair.released) for i in rest]
        probabilities = numpy.sort(numpy.concatenate([p for _, p in tagged]))
        # From where that share of the words is tagged: a rare class is seldom surer than one half.
        most = round(parrot.share * len(probabilities))
        threshold = float(probabilities[-most]) if most else 2.0
        judge = _read if attacker == READER else _compare
        out |= {i: judge(documents[i], *tags, threshold) for i, tags in zip(rest, tagged, strict=True)}
        progress()
    return [out[i] for i in range(len(documents))]


def _read(document: ReleasedDocument, places: Places, probabilities: numpy.ndarray, threshold: float) -> Attacked:
    """The reader's suspects: what looks personal, and the tagger passes over."""
    text, scores = document.pair.released, []
    words = [(s, e, p) for (s, e), p in zip(places, probabilities, strict=True) if text[s].isalnum()]
    for item in document.items:
        inside = [p for s, e, p in words if s < item.end and e > item.start]
        scores.append((float(numpy.mean(inside)) if inside else 0.0, item.kind == LEAK))
    counts = Counter((leak, p < threshold) for p, leak in scores)
    return Attacked(counts[True, True], counts[False, True], counts[True, False], len(scores), tuple(scores))


def _compare(document: ReleasedDocument, places: Places, probabilities: numpy.ndarray, threshold: float) -> Attacked:
    """Suspects of the one with the published spans: runs of tagged words outside of them."""
    text = document.pair.released
    known, leaks = document.of_kind(SURROGATE), document.of_kind(LEAK)
    outside = [not any(k.start < e and k.end > s for k in known) for s, e in places]
    suspects = _word_runs(places, [bool(free and p >= threshold) for free, p in zip(outside, probabilities, strict=True)])
    capital = [free and (text[s].isupper() or text[s].isdigit()) for free, (s, _) in zip(outside, places, strict=True)]

    def touches(run: tuple[int, int]) -> bool:
        return any(leak.start < run[1] and leak.end > run[0] for leak in leaks)

    found = sum(any(s < leak.end and e > leak.start for s, e in suspects) for leak in leaks)
    wrong = sum(not touches(run) for run in suspects)
    others = sum(not touches(run) for run in {*suspects, *_word_runs(places, capital)})
    return Attacked(found, wrong, len(leaks) - found, len(leaks) + max(others, wrong))


# --- files: an original, its release and its gold, in any form that the commands read or write

Text = tuple[str, str, tuple[LabelledSpan, ...] | None]


def read_release(
    original: Path, release: Path, *, gold: Path | None = None, with_spans: bool = False, hides: Protects = lambda label: True,
    encoding: str = "utf-8", text_field: str = "", id_field: str = "",
) -> list[ReleasedDocument]:  # fmt: skip
    """Lay a release beside its original, joined by id; by place, if no id is shared.

    gold (Path | None): A labelled corpus; without it the labels of the original, if it has some. with_spans (bool): Whether the release
    has the spans of its surrogates. hides (Callable[[str], bool]): Labels that had to be hidden; gold of others is no leak.
    RAISES (PiiError): E703 if there are none, E770, E771, E774; what reading raises.
    """
    before = read_texts(original, labelled=None, encoding=encoding, text_field=text_field, id_field=id_field)
    after = read_texts(release, labelled=with_spans, encoding=encoding, text_field=text_field, id_field=id_field)
    if not before:
        raise PiiError(Errors.E703, file=original.name)
    known = [spans for _, _, spans in before]
    if gold is not None:
        found = joined(before, read_texts(gold, labelled=True, encoding=encoding), original, gold)
        known = [spans for _, _, spans in found]
        for (ident, text, _), (_, gold_text, _) in zip(before, found, strict=True):
            if text != gold_text:
                raise PiiError(Errors.E774, document=ident, original=original.name)
    documents = []
    others = joined(before, after, original, release)
    for (ident, text, _), (_, new, surrogates), spans in zip(before, others, known, strict=True):
        # A released corpus may hold labels of what was kept as well; they are no surrogates.
        made = tuple(span for span in surrogates or () if hides(span[2])) if with_spans else None
        hidden = None if spans is None else tuple(span for span in spans if hides(span[2]))
        documents.append(ReleasedDocument(ReleasedText(ident, text, new, made), hidden))
    return documents


def read_texts(path: Path, *, labelled: bool | None, encoding: str, text_field: str = "", id_field: str = "") -> list[Text]:
    """Id, text and spans; None instead of spans where they are not wanted, or there are none. Equal ids are replaced by the place.

    labelled (bool | None): Whether the labels are wanted; None for "if there are some".
    """
    if labelled is None:
        try:
            guess_form(path, encoding=encoding, text_field=text_field)
            labelled = not path.is_dir() or any(path.glob("*.ann"))
        except PiiError as err:
            if err.code not in ("E621", "E506"):
                raise
            labelled = False
    out: list[Text] = []
    if labelled:
        essays = read_corpus(path, encoding=encoding, text_field=text_field, id_field=id_field)
        out = [(essay.id, essay.text, essay.spans) for essay in essays]
    else:
        source = open_source(path, text_field=text_field, id_field=id_field, encoding=encoding)
        usual = next((name for name in USUAL_ID_FIELDS if name in source.others), "")
        if not id_field and usual:
            source.close()
            source = open_source(path, text_field=text_field, id_field=usual, encoding=encoding)
        for item in source:
            if isinstance(item, Skip):
                raise item.error
            out.append((item.id, item.text, None))
        source.close()
    if len({ident for ident, _, _ in out}) < len(out):
        return [(f"#{place}", text, spans) for place, (_, text, spans) in enumerate(out, 1)]
    return out


def joined(first: Sequence[Text], second: Sequence[Text], first_path: Path, second_path: Path) -> list[Text]:
    """The texts of the second in the order of the first. RAISES (PiiError): E770, if some are in one only."""
    by_id = {text[0]: text for text in second}
    shared = [by_id[ident] for ident, _, _ in first if ident in by_id]
    if len(shared) == len(first) == len(second):
        return shared
    if not shared and len(first) == len(second):
        return list(second)
    raise PiiError(Errors.E770, n=len(first) + len(second) - 2 * len(shared), first=first_path.name, second=second_path.name)


# --- the numbers: what an attack finds beside chance, and what repeated values give away


def attack_report(attacked: Sequence[Attacked], weights: numpy.ndarray) -> dict[str, Any]:
    """Precision and recall of finding leaks, against chance; `weights` from `metrics.resample`.

    RETURNS (dict[str, Any]): Counts; precision and recall with intervals where there are leaks; what chance gives for as many
        suspects; `lift`, precision over that of chance; `p_value`, one-sided, hypergeometric: so many leaks or more among suspects that
        were drawn by chance; `auc`: how often the tagger is less sure of a leak than of a surrogate (0.5 is chance).
    """
    counts = numpy.asarray([attack[:3] for attack in attacked])
    population = numpy.asarray([attack.population for attack in attacked])
    found, wrong, passed = (int(n) for n in counts.sum(axis=0))
    leaks, suspects, total = found + passed, found + wrong, int(population.sum())
    out: dict[str, Any] = {"leaks": leaks, "suspects": suspects, "found": found, "false_alarms": wrong, "drawn_from": total}
    shares = plain(score(counts, weights))
    out |= {name: value for name, value in shares.items() if name.startswith(("precision", "recall"))}
    out["chance_precision"] = round(leaks / total, 4) if total else None
    out["chance_recall"] = round(suspects / total, 4) if total else None
    draws = weights @ numpy.column_stack([counts, population])
    with numpy.errstate(divide="ignore", invalid="ignore"):
        lifts = draws[:, 0] * draws[:, 3] / ((draws[:, 0] + draws[:, 1]) * (draws[:, 0] + draws[:, 2]))
    lifts = lifts[numpy.isfinite(lifts)]
    if leaks and suspects and len(lifts):
        out |= plain({"lift": _estimate(found * total / (suspects * leaks), lifts)})
    out["p_value"] = float(f"{tail(total, leaks, suspects, found):.3g}")
    auc = _auc(attacked, weights)
    return out | (plain({"auc": auc}) if auc is not None else {})


def _estimate(value: float, draws: numpy.ndarray) -> Estimate:
    low, high = numpy.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(draws) else (value, value)
    return Estimate(float(value), float(low), float(high))


def _auc(attacked: Sequence[Attacked], weights: numpy.ndarray) -> Estimate | None:
    """How often the tagger is less sure of a leak than of a surrogate; a tie is one half."""
    scores = [(i, p, leak) for i, a in enumerate(attacked) for p, leak in a.scores]
    rows = [numpy.asarray([i for i, _, leak in scores if leak is kind], dtype="i8") for kind in (True, False)]
    unsure, sure = (numpy.asarray([p for _, p, leak in scores if leak is kind]) for kind in (True, False))
    if not len(unsure) or not len(sure):
        return None
    less = (unsure[:, None] < sure[None, :]) + (unsure[:, None] == sure[None, :]) / 2
    leaks, surrogates = weights[:, rows[0]].astype("f8"), weights[:, rows[1]].astype("f8")
    pairs = leaks.sum(axis=1) * surrogates.sum(axis=1)
    return _estimate(less.mean(), ((leaks @ less) * surrogates).sum(axis=1)[pairs > 0] / pairs[pairs > 0])


def tail(total: int, marked: int, drawn: int, least: int) -> float:
    """Probability of `least` or more marked ones among `drawn` of `total`, `marked` of which are marked."""
    most = min(marked, drawn)
    ways = sum(comb(marked, k) * comb(total - marked, drawn - k) for k in range(max(least, 0), most + 1) if drawn - k >= 0)
    return min(1.0, ways / comb(total, drawn)) if least > 0 else 1.0


def value_counts(document: ReleasedDocument) -> list[tuple[int, int]]:
    """For each value that had to be hidden: how often it stands there, how often in clear."""
    leaks, offsets = document.of_kind(LEAK), align(document.pair)
    mentions: dict[tuple[str, str], list[bool]] = {}
    for start, end, label in document.hidden:
        s, e = offsets.span_to_new(start, end)
        clear = any(leak.start < e and leak.end > s for leak in leaks)
        mentions.setdefault((label, " ".join(document.pair.original[start:end].casefold().split())), []).append(clear)
    return [(len(clear), sum(clear)) for clear in mentions.values()]


def release_report(
    documents: Sequence[ReleasedDocument], *, recall: float | None = None, keep: float = KEEP, attackers: Sequence[str] = tuple(ATTACKERS),
    seed: int = SEED, n_resamples: int = N_RESAMPLES, progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """All numbers on a release.

    recall (float | None): Of the detector, 0 to 1, for the arithmetic; None for what the release itself shows. keep (float): Of the
    Markov chain, 0 to 1. RAISES (PiiError): E772 and E773.
    """
    for name, value in (("recall", recall), ("keep", keep)):
        if value is not None and not 0 <= value <= 1:
            raise PiiError(Errors.E773, name=name, value=value)
    values = {doc.pair.id: value_counts(doc) for doc in documents}
    mentions, clear = (sum(pair[i] for found in values.values() for pair in found) for i in (0, 1))
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed) if documents else numpy.zeros((0, 0))
    items = [item for doc in documents for item in doc.items]
    leaks = [item for item in items if item.kind == LEAK]
    with_gold = all(doc.gold is not None for doc in documents)
    with_spans = all(doc.pair.surrogates is not None for doc in documents)
    missed, source = (1 - recall, "given") if recall is not None else (clear / mentions if mentions else 0.0, "the release")
    return {
        "documents": len(documents),
        "words": sum(len(doc.pair.released.split()) for doc in documents),
        "leaks_known_from": "gold" if with_gold else "values that were replaced elsewhere in their document: a lower bound",
        "surrogates_known_from": "spans" if with_spans else "comparison with the original",
        "surrogates": len(items) - len(leaks),
        "leaks": len(leaks),
        "leaks_in_part": sum(item.partial for item in leaks),
        "leaks_by_label": dict(sorted(Counter(item.label or "?" for item in leaks).items())),
        "mentions": mentions,
        "mentions_with_a_leak": clear,
        "documents_with_a_leak": sum(bool(doc.of_kind(LEAK)) for doc in documents),
        "seed": seed,
        "tagger": "logistic regression over words and their surroundings (scikit-learn)",
        "attacks": {who: attack_report(attack(documents, who, seed=seed, progress=progress), weights) for who in attackers},
        "arithmetic": arithmetic_report(values, missed, keep=keep, source=source),
    }


def arithmetic_report(
    values: Mapping[str, list[tuple[int, int]]], missed: float, *, keep: float, source: str
) -> dict[str, Any]:
    """The leak arithmetic: shares that are given away by strategy, a row per count of mentions, and what was observed.

    values (Mapping): By document, for each value how often it stands there and how often in clear. missed (float): Probability that a
    mention is missed; source (str) says where that comes from.
    """

    def rounded(shares: Mapping[str, float]) -> dict[str, float]:
        return {name: round(share, 4) for name, share in shares.items()}

    pairs = [pair for found in values.values() for pair in found]
    counts = Counter(n for n, _ in pairs)
    by_document = {ident: [n for n, _ in found] for ident, found in values.items() if found}
    return {
        "miss_rate": round(missed, 4),
        "miss_rate_from": source,
        "keep": keep,
        "values": len(pairs),
        "values_that_stand_once": counts[1],
        "documents_with_values": len(by_document),
        "share_of_values": rounded(expected([n for n, _ in pairs], missed, keep=keep)),
        "share_of_documents": rounded(documents_told(by_document, missed, keep=keep)),
        "by_repetition": [{"n": n, "values": k} | rounded(told(n, missed, keep=keep)) for n, k in sorted(counts.items())],
        "observed": {
            "values_in_part_in_clear": sum(0 < clear < n for n, clear in pairs),
            "values_wholly_in_clear": sum(clear == n for n, clear in pairs),
            "documents_with_a_value_in_part": sum(any(0 < c < n for n, c in found) for found in values.values()),
        },
    }


if __name__ == "__main__":
    typer.run(main)
