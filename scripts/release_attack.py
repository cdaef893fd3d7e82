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

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256
from math import comb
from pathlib import Path
from typing import Annotated, Any

import numpy
import typer
from rich.console import Console
from rich.table import Table

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.metrics import LEVEL, N_RESAMPLES, SEED, Estimate, resample, score
from pii_components.evaluate.report import plain
from pii_components.evaluate.tables import console, interval, number, progress_bar
from pii_components.files.formats.base import USUAL_ID_FIELDS
from pii_components.files.labelled import guess_form, read_corpus
from pii_components.files.record import Skip
from pii_components.files.sources import open_source
from pii_components.labels import is_name
from pii_components.offsets import Edit, OffsetMap

# Can a value that was missed be told from the surrogates around it? Formulae for three strategies. Pure functions.

CONSISTENT, RANDOM, MARKOV = "consistent", "random", "markov"
STRATEGIES = (CONSISTENT, RANDOM, MARKOV)
KEEP = 0.5  # BRATsynthetic's default


def binomial(n: int, k: int, e: float) -> float:
    """RETURNS (float): P(k of n), each with probability e."""
    return comb(n, k) * e**k * (1 - e) ** (n - k)


def consistent(n: int, e: float) -> float:
    """One mention or more was missed: `1 - (1 - e)^n` (BRATsynthetic, "consistent").

    n (int): Mentions of the value in the document. e (float): Probability that a mention is missed, 0 to 1.
    RETURNS (float): Probability. A document with one mention counts with e, though nothing stands beside a lone value that it
        could be told from: see `apart`.
    """
    return 1 - (1 - e) ** n


def apart(n: int, e: float) -> float:
    """One mention or more was missed and one or more was replaced: `1 - (1 - e)^n - e^n`; the stricter reading of `consistent`.

    n (int): Mentions. e (float): Probability that a mention is missed.
    RETURNS (float): Probability that value and surrogate stand side by side; 0 for one mention.
    """
    return max(0.0, 1 - (1 - e) ** n - e**n)


def random_new(n: int, e: float) -> float:
    """Two mentions or more were missed: `1 - (1 - e)^n - n e (1 - e)^(n - 1)` (BRATsynthetic, "random").

    n (int): Mentions. e (float): Probability that a mention is missed.
    RETURNS (float): Probability; no two surrogates are taken to be equal by chance.
    """
    return max(0.0, 1 - (1 - e) ** n - n * e * (1 - e) ** (n - 1))


def markov_fixed(n: int, e: float, longest: int) -> float:
    """More mentions were missed than a surrogate ever repeats: `P(Bin(n, e) > longest)`; as BRATsynthetic reports it.

    n (int): Mentions. e (float): Probability that a mention is missed.
    longest (int): Longest run of one surrogate ("maximum surrogate repeat size"), 1 or more.
    RETURNS (float): Probability.
    """
    return sum(binomial(n, k, e) for k in range(longest + 1, n + 1))


def markov(n: int, e: float, keep: float = KEEP) -> float:
    """As `markov_fixed`, over the runs that a chain makes: `sum over m >= 2 of P(m missed) P(longest run of n - m < m)`.

    n (int): Mentions. e (float): Probability that a mention is missed. keep (float): Probability that a surrogate is kept.
    RETURNS (float): Probability; that of `random_new` for keep = 0. One missed mention alone tells nothing: it may be a surrogate.
    """
    return sum(binomial(n, m, e) * shorter_run(n - m, m, keep) for m in range(2, n + 1))


@cache
def shorter_run(n: int, length: int, keep: float) -> float:
    """Probability that no surrogate stands `length` times in a row.

    n (int): Mentions that are replaced. length (int): Of the run, 1 or more. keep (float): Probability that a surrogate is kept.
    RETURNS (float): By the length of the run at hand: it grows with probability `keep`, or begins anew.
    """
    if n < length:
        return 1.0
    if length == 1:
        return 0.0
    runs = [1.0] + [0.0] * (length - 2)  # runs[k]: no run of `length` so far, and the one at hand has k + 1
    for _ in range(n - 1):
        runs = [sum(runs) * (1 - keep), *(p * keep for p in runs[:-1])]
    return sum(runs)


def told(strategy: str, n: int, e: float, *, keep: float = KEEP) -> float:
    """RETURNS (float): Probability that a value is given away. strategy (str): One of `STRATEGIES`; the rest as in `markov`."""
    if strategy == CONSISTENT:
        return consistent(n, e)
    return random_new(n, e) if strategy == RANDOM else markov(n, e, keep)


def simulate(
    strategy: str, n: int, e: float, *, trials: int, seed: int, keep: float = KEEP, side_by_side: bool = False
) -> float:
    """The same by drawing: which mentions are missed, which surrogates the others get, what an attacker then sees.

    strategy (str), n (int), e (float), keep (float): As in `told`. trials (int): Documents. seed (int): Of the draws.
    side_by_side (bool): For "consistent": the stricter reading (`apart`).
    RETURNS (float): Share of the documents in which the value is given away.
    """
    rng = random.Random(seed)
    return sum(_trial(rng, strategy, n, e, keep, side_by_side) for _ in range(trials)) / trials


def _trial(rng: random.Random, strategy: str, n: int, e: float, keep: float, side_by_side: bool) -> bool:
    runs: Counter[int] = Counter()
    missed, current = 0, 0
    for _ in range(n):
        if rng.random() < e:
            missed += 1
            continue
        if strategy == RANDOM or not current or (strategy == MARKOV and rng.random() >= keep):
            current += 1
        runs[current] += 1
    if strategy == CONSISTENT:
        return missed > 0 and (bool(runs) or not side_by_side)
    return missed >= 2 and missed > max(runs.values(), default=0)


def expected(repeats: Sequence[int], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the values of a corpus that are given away.

    repeats (Sequence[int]): How often each value stands in its document. e (float): Probability that a mention is missed.
    keep (float): Of the chain.
    RETURNS (dict[str, float]): By strategy, and "apart" for the stricter reading of consistent; 0 without values.
    """
    counts = Counter(repeats)
    total = max(1, sum(counts.values()))
    found = {name: sum(k * told(name, n, e, keep=keep) for n, k in counts.items()) / total for name in STRATEGIES}
    return found | {"apart": sum(k * apart(n, e) for n, k in counts.items()) / total}


def documents_told(repeats: Mapping[str, Sequence[int]], e: float, *, keep: float = KEEP) -> dict[str, float]:
    """Share of the documents in which one value or more is given away: `1 - product of (1 - p)` over the values of each.

    repeats (Mapping[str, Sequence[int]]): How often each value stands, by document. e (float), keep (float): As in `expected`.
    RETURNS (dict[str, float]): By strategy, and "apart"; 0 without documents.
    """
    out = dict.fromkeys((*STRATEGIES, "apart"), 0.0)
    for counts in repeats.values():
        for name in out:
            safe = 1.0
            for n in counts:
                safe *= 1 - (apart(n, e) if name == "apart" else told(name, n, e, keep=keep))
            out[name] += (1 - safe) / len(repeats)
    return out


# `pii-edu evaluate release`: what an attacker finds in a release, and what repetition gives away.

_TITLES = {
    "reader": "marks all that looks personal, suspects what the tagger passes over",
    "labels": "has the spans of the surrogates, suspects what the tagger tags outside of them",
}

OriginalArg = Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The texts before; labels in it are taken as gold.")]
ReleaseArg = Annotated[Path, typer.Argument(metavar="RELEASED", help="The texts after, as pii-edu deidentify wrote them.")]
GoldOpt = Annotated[Path | None, typer.Option("--gold", help="Labelled corpus of the same texts [labels of ORIGINAL].")]
SpansOpt = Annotated[
    bool,
    typer.Option("--with-spans", help="RELEASED has the spans of its surrogates (id, text, spans), as the library gives them."),
]
ProfileOpt = Annotated[str, typer.Option("--profile", help="Says which labels of the gold had to be hidden.")]
RecallOpt = Annotated[float | None, typer.Option("--recall", help="Of the detector, for the arithmetic [what RELEASED shows].")]
KeepOpt = Annotated[float, typer.Option("--keep", help="Markov strategy: probability that a surrogate is kept.")]
OutOpt = Annotated[Path | None, typer.Option("--out", "-o", help="Metrics file (JSON).")]
TextOpt = Annotated[str, typer.Option("--text-column", "--text-field", help="Column or field of the text [a usual name].")]
IdOpt = Annotated[str, typer.Option("--id-column", "--id-field", help="Column or field of the id [a usual name].")]
EncodingOpt = Annotated[str, typer.Option("--encoding", help="Encoding of the files.")]


def release(
    *,
    original: OriginalArg,
    released: ReleaseArg,
    gold: GoldOpt = None,
    with_spans: SpansOpt = False,
    profile: ProfileOpt = "crapii",
    recall: RecallOpt = None,
    keep: KeepOpt = KEEP,
    out: OutOpt = None,
    text_field: TextOpt = "",
    id_field: IdOpt = "",
    encoding: EncodingOpt = "utf-8",
    resamples: Annotated[int, typer.Option(min=1, help="Bootstrap resamples of the documents.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of halves, tagger and bootstrap; 0 is the usual one.")] = 0,
    debug: Annotated[
        bool, typer.Option("--debug", help="Raise unexpected errors with their traceback, which may show text.")
    ] = False,
) -> None:
    """Parrot attack on RELEASED (Carrell et al. 2019) and leak arithmetic; no text is shown or written.

    A tagger (logistic regression, seeded) is trained on one half of RELEASED and looks for leaks in the other, and the other way
    round. Without gold, a leak is a word that was replaced in one place of a document and stands in clear in another.
    """
    with guard(debug):
        from pii_components.evaluate.metrics import SEED
        from pii_components.evaluate.report import versions, write_report
        from pii_components.profiles import Profile

        documents = read_release(
            original,
            released,
            gold=gold,
            with_spans=with_spans,
            hides=Profile.load(profile).protects,
            encoding=encoding,
            text_field=text_field,
            id_field=id_field,
        )
        with progress_bar("attack", 2 * len(ATTACKERS)) as advance:
            found = release_report(
                documents, recall=recall, keep=keep, seed=seed or SEED, n_resamples=resamples, progress=advance
            )
        print_release(found, console())
        if out is not None:
            files = {"original": original.name, "released": released.name, "gold": gold.name if gold else None}
            # Folders are left out: they tell about a machine and its user.
            shown = [Path(part).name or part for part in sys.argv[1:]]
            head = {"command": " ".join(["pii-edu", *shown]), "files": files, "profile": Path(profile).name}
            write_report({**head, "versions": versions(), "release": found}, out)


def print_release(found: dict[str, Any], to: Console) -> None:
    """Print the tables of a release. found (dict[str, Any]): From `release_report`. to (Console): Where to."""
    to.print(
        f"{found['documents']} documents, {found['words']} words, {found['surrogates']} surrogates (from {found['surrogates_known_from']}), "
        f"{found['leaks']} leaks (from {found['leaks_known_from']}), {found['leaks_in_part']} of them beside a part that was replaced"
    )
    to.print(attack_table(found))
    for name in found["attacks"]:
        to.print(f"{name}: {_TITLES.get(name, '')}")
    to.print(arithmetic_table(found["arithmetic"]))
    seen = found["arithmetic"]["observed"]
    to.print(
        f"observed: {seen['values_in_part_in_clear']} values replaced in one place and in clear in another "
        f"({seen['documents_with_a_value_in_part']} documents), {seen['values_wholly_in_clear']} in clear each time"
    )


def attack_table(found: dict[str, Any]) -> Table:
    """RETURNS (Table): A row per attacker: leaks found, precision and recall beside chance."""
    table = Table(title=f"Parrot attack, both halves in turn (95 % intervals); {found['tagger']}", title_justify="left")
    table.add_column("attacker")
    for name in ("leaks", "suspects", "found", "P", "P by chance", "R", "R by chance", "P over chance", "p", "AUC"):
        table.add_column(name, justify="right")
    for name, row in found["attacks"].items():
        table.add_row(
            name,
            *(str(row[key]) for key in ("leaks", "suspects", "found")),
            interval(row, "precision"),
            number(row["chance_precision"]),
            interval(row, "recall"),
            number(row["chance_recall"]),
            interval(row, "lift"),
            f"{row['p_value']:.2g}",
            interval(row, "auc"),
        )
    return table


def arithmetic_table(found: dict[str, Any]) -> Table:
    """RETURNS (Table): What repetition gives away: a row per count of mentions, then the corpus."""
    title = f"Given away by repetition, if {found['miss_rate']:.4f} of the mentions are missed (from {found['miss_rate_from']})"
    table = Table(title=title, title_justify="left", caption="side by side: value and surrogate stand in one document")
    columns = (*STRATEGIES, "apart")
    for name in ("mentions in a document", "values", *STRATEGIES, "consistent, side by side"):
        table.add_column(name, justify="right")
    for row in found["by_repetition"]:
        table.add_row(str(row["n"]), str(row["values"]), *(number(row[name]) for name in columns))
    table.add_section()
    table.add_row("all values", str(found["values"]), *(number(found["share_of_values"][name]) for name in columns))
    in_documents = (number(found["share_of_documents"][name]) for name in columns)
    table.add_row("documents", str(found["documents_with_values"]), *in_documents)
    return table


# Where the surrogates and the leaks lie in a release, from the original beside it.

SURROGATE, LEAK = "surrogate", "leak"
LabelledSpan = tuple[int, int, str]
_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


@dataclass(frozen=True, slots=True)
class ReleasedText:
    """A document before and after.

    id (str): Its id. original (str), released (str): The texts.
    surrogates (tuple[LabelledSpan, ...] | None): Start, end (exclusive) and label in the released text; None if nobody wrote them.
    """

    id: str
    original: str = field(repr=False)
    released: str = field(repr=False)
    surrogates: tuple[LabelledSpan, ...] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """What a reader of the release would take for personal information.

    document (str): Id. start (int), end (int): Characters in the released text, end exclusive. kind (str): SURROGATE or LEAK.
    label (str): Label; empty where it is not known. partial (bool): For a leak: whether a part of it was replaced.
    """

    document: str
    start: int
    end: int
    kind: str
    label: str = ""
    partial: bool = False


def from_doc(doc: Any, ident: str) -> ReleasedText:
    """RETURNS (ReleasedText): Of a spaCy Doc that `hips_surrogate` has seen. ident (str): Its id."""
    spans = tuple((row["start_char"], row["end_char"], row["label"]) for row in doc._.surrogate_spans)
    return ReleasedText(ident, doc.text, doc._.deidentified, spans)


def align(pair: ReleasedText) -> OffsetMap:
    """What was replaced by what.

    pair (ReleasedText): The texts. RETURNS (OffsetMap): Original to released offsets.
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
    edits: list[tuple[int, int, int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            found = (_start(old, i1), _start(old, i2), _start(new, j1), _start(new, j2))
            holds = any(j in closed for j in range(j1, j2))
            edits.append(_trim(pair, found, any_character=holds))
    if len(old) > 20 and matcher.ratio() < 0.5:
        raise PiiError(Errors.E771, document=pair.id, reason="texts that differ in more than half of their words")
    return OffsetMap(len(pair.original), len(pair.released), tuple(Edit(*edit) for edit in edits))


def _tokens(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(m.start(), m.end()) for m in _WORD.finditer(text, start, end)]


def _start(tokens: Sequence[tuple[int, int]], index: int) -> int:
    if index < len(tokens):
        return tokens[index][0]
    return tokens[-1][1] if tokens else 0


def _trim(pair: ReleasedText, edit: tuple[int, int, int, int], *, any_character: bool) -> tuple[int, int, int, int]:
    """Take what is the same on both sides off an edit: white space, and with known spans any character outside of them."""
    start, end, new_start, new_end = edit
    inside = [(s, e) for s, e, _ in pair.surrogates or () if s < new_end and e > new_start] if any_character else []
    low = inside[0][0] if inside else new_end
    high = inside[-1][1] if inside else new_start

    def same(old: int, new: int) -> bool:
        char = pair.original[old]
        return char == pair.released[new] and (bool(inside) or char.isspace())

    while start < end and new_start < new_end and new_start < low and same(start, new_start):
        start, new_start = start + 1, new_start + 1
    while end > start and new_end > new_start and new_end > high and same(end - 1, new_end - 1):
        end, new_end = end - 1, new_end - 1
    return start, end, new_start, new_end


def find_items(pair: ReleasedText, gold: Sequence[LabelledSpan]) -> list[Item]:
    """Surrogates, and gold entities that stand in clear.

    An entity is a leak with the words of it that no edit touches. Where the spans of the surrogates are known, every such word
    counts; where they were found by comparing, only names are taken apart: a surrogate address may keep the word "Street".

    pair (ReleasedText): The texts. gold (Sequence[LabelledSpan]): Start, end and label in the original.
    RETURNS (list[Item]): Sorted by place in the released text, without overlaps.
    """
    offsets = align(pair)
    if pair.surrogates is not None:
        items = [Item(pair.id, start, end, SURROGATE, label) for start, end, label in pair.surrogates]
    else:
        items = [
            Item(pair.id, s, e, SURROGATE, _label_at(gold, start, end)) for start, end, s, e in _joined(pair, offsets) if s < e
        ]
    for start, end, label in gold:
        words = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", pair.original[start:end])]
        clear = [w for w in words if not _touched(offsets, *w) and any(c.isalnum() for c in pair.original[w[0] : w[1]])]
        partial = len(clear) < len(words)
        if not clear or (partial and pair.surrogates is None and not is_name(label)):
            continue
        for s, e in _runs(clear, words):
            new_start, new_end = offsets.span_to_new(s, e)
            items.append(Item(pair.id, new_start, new_end, LEAK, label, partial))
    return sorted(items, key=lambda item: (item.start, item.end))


def _touched(offsets: OffsetMap, start: int, end: int) -> bool:
    return any(edit.start < end and edit.end > start for edit in offsets.edits)


def _joined(pair: ReleasedText, offsets: OffsetMap) -> list[tuple[int, int, int, int]]:
    """Edits as (start, end, new start, new end); those with only white space or one sign between them are one value."""
    out: list[tuple[int, int, int, int]] = []
    for edit in offsets.edits:
        between = pair.original[out[-1][1] : edit.start] if out else ""
        if out and len(between) <= 2 and not any(c.isalnum() or c in "\n,;" for c in between):
            out[-1] = (out[-1][0], edit.end, out[-1][2], edit.new_end)
        else:
            out.append((edit.start, edit.end, edit.new_start, edit.new_end))
    return out


def _label_at(gold: Sequence[LabelledSpan], start: int, end: int) -> str:
    return next((label for s, e, label in gold if s < end and e > start), "")


def _runs(clear: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Words in clear that follow one another are one leak."""
    out: list[tuple[int, int]] = []
    for word in words:
        if word in clear:
            joins = bool(out) and words[words.index(word) - 1][1] == out[-1][1]
            out = [*out[:-1], (out[-1][0], word[1])] if joins else [*out, word]
    return out


def replaced_values(pair: ReleasedText, *, least: int = 4) -> list[LabelledSpan]:
    """Without gold: places in the original where a word that was replaced elsewhere in the document stands in clear.

    pair (ReleasedText): The texts. least (int): Characters of such a word; only capitalised words with a letter count.
    RETURNS (list[LabelledSpan]): Those places, and what was replaced; the label is empty. A lower bound: what was never found
        cannot be seen like this.
    """
    offsets = align(pair)
    places = [(edit[0], edit[1]) for edit in _joined(pair, offsets) if edit[0] < edit[1]]
    words = {w for start, end in places for w in re.findall(r"\w+", pair.original[start:end])}
    known = {w for w in words if len(w) >= least and w[0].isupper()}
    found = [
        (m.start(), m.end(), "")
        for m in re.finditer(r"\w+", pair.original)
        if m.group() in known and not _touched(offsets, m.start(), m.end())
    ]
    return sorted([*found, *((start, end, "") for start, end in places)])


# The tagger that an attacker trains: logistic regression over a word and its surroundings (scikit-learn).

WORD = re.compile(r"\w+|[^\w\s]")
_FEATURES = 1 << 18
_EDGE_WORDS = 50


def words_of(text: str) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): First character and end (exclusive) of the words and signs of a text."""
    return [match.span() for match in WORD.finditer(text)]


class Parrot:
    """A tagger: is this word part of something that was replaced?

    seed (int): Of the solver. strength (float): Inverse of the regularisation, above 0 (scikit-learn's C).
    share (float): Once trained: share of the words that were tagged in what it was trained on.
    RAISES (PiiError): E005, without scikit-learn.
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

    def fit(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> "Parrot":
        """Train.

        texts (Sequence[str]): Documents. spans (Sequence[Sequence[tuple[int, int]]]): Start and end (exclusive) of what is tagged.
        RETURNS (Parrot): Itself. Where nothing, or everything, is tagged, it says so of every word.
        """
        truth = numpy.asarray([
            any(s < end and e > start for s, e in found)
            for text, found in zip(texts, spans, strict=True)
            for start, end in words_of(text)
        ])  # fmt: skip
        self._constant, self.share = None, float(truth.mean()) if len(truth) else 0.0
        if not len(truth) or truth.all() or not truth.any():
            self._constant = float(len(truth) > 0 and truth.all())
            return self
        self._model.fit(self._hasher.transform(row for text in texts for row in features(text)), truth)
        return self

    def tag(self, text: str) -> tuple[list[tuple[int, int]], numpy.ndarray]:
        """RETURNS (tuple): Places of the words, and for each the probability that it was replaced, shape `(n_words,)`."""
        places = words_of(text)
        if self._constant is not None or not places:
            return places, numpy.full(len(places), self._constant or 0.0)
        return places, self._model.predict_proba(self._hasher.transform(features(text)))[:, 1]


def features(text: str) -> Iterator[list[str]]:
    """YIELDS (list[str]): For each word what the tagger sees of it."""
    places = words_of(text)
    words = [text[start:end] for start, end in places]
    lower, shapes = [word.lower() for word in words], [shape(word) for word in words]
    pad = ["", "", *lower, "", ""]
    pad_shapes = ["", "", *shapes, "", ""]
    for i, (start, end) in enumerate(places):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        line = text[line_start : len(text) if line_end < 0 else line_end]
        j = i + 2
        yield [
            "w=" + lower[i], "s=" + shapes[i], "p=" + lower[i][:3], "x=" + lower[i][-3:],
            "w-1=" + pad[j - 1], "w-2=" + pad[j - 2], "w+1=" + pad[j + 1], "w+2=" + pad[j + 2],
            "s-1=" + pad_shapes[j - 1], "s+1=" + pad_shapes[j + 1], "s+2=" + pad_shapes[j + 2],
            f"s-1:1={pad_shapes[j - 1]} {shapes[i]} {pad_shapes[j + 1]}",
            f"w-1,s={pad[j - 1]} {shapes[i]}", f"w-2,-1,s={pad[j - 2]} {pad[j - 1]} {shapes[i]}",
            f"first={not text[line_start:start].strip()}", f"short={len(line) < 40} {shapes[i]}",
            f"where={_where(i, len(words))} {shapes[i]}",
        ]  # fmt: skip


def shape(word: str) -> str:
    """RETURNS (str): "Xx" for "Ana", "d" for "2019": kinds of characters, each once where it repeats."""
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    out = ""
    for kind in kinds:
        if not out.endswith(kind):
            out += kind
    return out


def _where(index: int, length: int) -> str:
    if index < _EDGE_WORDS:
        return "head"
    return "foot" if index >= length - _EDGE_WORDS else "body"


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


# Read an original, its release and its gold, in any form that the commands read or write.

Text = tuple[str, str, tuple[LabelledSpan, ...] | None]


def read_release(
    original: Path,
    release: Path,
    *,
    gold: Path | None = None,
    with_spans: bool = False,
    hides: Callable[[str], bool] = lambda label: True,
    encoding: str = "utf-8",
    text_field: str = "",
    id_field: str = "",
) -> list[ReleasedDocument]:
    """Lay a release beside its original.

    original (Path), release (Path): Files or folders with the same documents. gold (Path | None): A labelled corpus; without it the
        labels of the original, if it has some. with_spans (bool): Whether the release has the spans of its surrogates.
    hides (Callable[[str], bool]): Labels that had to be hidden; gold of others is no leak.
    encoding (str), text_field (str), id_field (str): As elsewhere.
    RETURNS (list[ReleasedDocument]): In the order of the original. Documents are joined by id; by place, if no id is shared.
    RAISES (PiiError): E703 if there are none, E770, E771, E774; what reading raises.
    """
    before = read_texts(original, labelled=None, encoding=encoding, text_field=text_field, id_field=id_field)
    after = read_texts(release, labelled=with_spans, encoding=encoding, text_field=text_field, id_field=id_field)
    if not before:
        raise PiiError(Errors.E703, file=original.name)
    known = [spans for _, _, spans in before]
    if gold is not None:
        found = read_texts(gold, labelled=True, encoding=encoding, text_field="", id_field="")
        known = []
        for (ident, text, _), (_, gold_text, spans) in zip(before, joined(before, found, original, gold), strict=True):
            if text != gold_text:
                raise PiiError(Errors.E774, document=ident, original=original.name)
            known.append(spans)
    documents = []
    for (ident, text, _), (_, new, surrogates), spans in zip(
        before, joined(before, after, original, release), known, strict=True
    ):
        # A released corpus may hold labels of what was kept as well; they are no surrogates.
        made = tuple(span for span in surrogates or () if hides(span[2])) if with_spans else None
        pair = ReleasedText(ident, text, new, made)
        hidden = None if spans is None else tuple(span for span in spans if hides(span[2]))
        documents.append(ReleasedDocument(pair, hidden))
    return documents


def read_texts(path: Path, *, labelled: bool | None, encoding: str, text_field: str, id_field: str) -> list[Text]:
    """Texts with ids, and labels.

    path (Path): File or folder. labelled (bool | None): Whether the labels are wanted; None for "if there are some".
    RETURNS (list[Text]): Id, text and spans; None instead of spans where they are not wanted, or there are none. Where two ids are
        equal, the place stands for each.
    RAISES (PiiError): What reading raises.
    """
    if labelled is None:
        try:
            guess_form(path, encoding=encoding, text_field=text_field)
            labelled = not path.is_dir() or any(path.glob("*.ann"))
        except PiiError as err:
            if err.code not in ("E621", "E506"):
                raise
            labelled = False
    out: list[Text]
    if labelled:
        essays = read_corpus(path, encoding=encoding, text_field=text_field, id_field=id_field)
        out = [(essay.id, essay.text, essay.spans) for essay in essays]
    else:
        source = open_source(path, text_field=text_field, id_field=id_field, encoding=encoding)
        usual = next((name for name in USUAL_ID_FIELDS if name in source.others), "")
        if not id_field and usual:
            source.close()
            source = open_source(path, text_field=text_field, id_field=usual, encoding=encoding)
        out = []
        for item in source:
            if isinstance(item, Skip):
                raise item.error
            out.append((item.id, item.text, None))
        source.close()
    if len({ident for ident, _, _ in out}) < len(out):
        return [(f"#{number}", text, spans) for number, (_, text, spans) in enumerate(out, 1)]
    return out


def joined(first: Sequence[Text], second: Sequence[Text], first_path: Path, second_path: Path) -> list[Text]:
    """The texts of the second in the order of the first.

    RETURNS (list[Text]): By id; by place if no id is shared and there are as many.
    RAISES (PiiError): E770, if some are in one only.
    """
    by_id = {text[0]: text for text in second}
    shared = [by_id[ident] for ident, _, _ in first if ident in by_id]
    if len(shared) == len(first) == len(second):
        return shared
    if not shared and len(first) == len(second):
        return list(second)
    n = len(first) + len(second) - 2 * len(shared)
    raise PiiError(Errors.E770, n=n, first=first_path.name, second=second_path.name)


# The numbers of a release: what an attack finds beside chance, and what repeated values give away. No text comes out.


def attack_report(attacked: Sequence[Attacked], weights: numpy.ndarray) -> dict[str, Any]:
    """Precision and recall of finding leaks, against chance.

    attacked (Sequence[Attacked]): One per document. weights (numpy.ndarray): From `metrics.resample`.
    RETURNS (dict[str, Any]): Counts; precision and recall with intervals where there are leaks; what chance gives for as many
        suspects; `lift`, precision over that of chance, with its interval; `p_value`, one-sided, hypergeometric: so many leaks or more
        among suspects that were drawn by chance; `auc`: how often the tagger is less sure of a leak than of a surrogate (0.5 is
        chance), with its interval.
    """
    counts = numpy.asarray([(a.found, a.wrong, a.passed) for a in attacked])
    population = numpy.asarray([a.population for a in attacked])
    found, wrong, passed = (int(n) for n in counts.sum(axis=0))
    leaks, suspects, total = found + passed, found + wrong, int(population.sum())
    out: dict[str, Any] = {"leaks": leaks, "suspects": suspects, "found": found, "false_alarms": wrong, "drawn_from": total}
    result = plain(score(counts, weights))
    out |= {name: value for name, value in result.items() if name.startswith(("precision", "recall"))}
    out["chance_precision"] = round(leaks / total, 4) if total else None
    out["chance_recall"] = round(suspects / total, 4) if total else None
    draws = weights @ numpy.column_stack([counts, population])
    with numpy.errstate(divide="ignore", invalid="ignore"):
        lifts = draws[:, 0] * draws[:, 3] / ((draws[:, 0] + draws[:, 1]) * (draws[:, 0] + draws[:, 2]))
    known = lifts[numpy.isfinite(lifts)]
    if leaks and suspects and len(known):
        low, high = numpy.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        out |= plain({"lift": Estimate(found * total / (suspects * leaks), float(low), float(high))})
    out["p_value"] = float(f"{tail(total, leaks, suspects, found):.3g}")
    auc = _auc(attacked, weights)
    return out | (plain({"auc": auc}) if auc is not None else {})


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
    drawn = ((leaks @ less) * surrogates).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
    low, high = numpy.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(drawn) else (less.mean(), less.mean())
    return Estimate(float(less.mean()), float(low), float(high))


def tail(total: int, marked: int, drawn: int, least: int) -> float:
    """RETURNS (float): Probability of `least` or more marked ones among `drawn` of `total`, `marked` of which are marked."""
    most = min(marked, drawn)
    ways = sum(comb(marked, k) * comb(total - marked, drawn - k) for k in range(max(least, 0), most + 1) if drawn - k >= 0)
    return min(1.0, ways / comb(total, drawn)) if least > 0 else 1.0


def value_counts(document: ReleasedDocument) -> list[tuple[int, int]]:
    """RETURNS (list[tuple[int, int]]): For each value that had to be hidden: how often it stands there, how often in clear."""
    offsets_of_leaks = [(item.start, item.end) for item in document.of_kind(LEAK)]
    mentions: Counter[tuple[str, str]] = Counter()
    clear: Counter[tuple[str, str]] = Counter()
    offsets = align(document.pair)
    for start, end, label in document.hidden:
        key = (label, " ".join(document.pair.original[start:end].casefold().split()))
        mentions[key] += 1
        s, e = offsets.span_to_new(start, end)
        clear[key] += any(low < e and high > s for low, high in offsets_of_leaks)
    return [(n, clear[key]) for key, n in mentions.items()]


def release_report(
    documents: Sequence[ReleasedDocument],
    *,
    recall: float | None = None,
    keep: float = KEEP,
    attackers: Sequence[str] = ATTACKERS,
    seed: int = SEED,
    n_resamples: int = N_RESAMPLES,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """All numbers on a release.

    documents (Sequence[ReleasedDocument]): Of the release. recall (float | None): Of the detector, 0 to 1, for the arithmetic; None
        for what the release itself shows. keep (float): Of the Markov chain, 0 to 1. attackers (Sequence[str]): Of `ATTACKERS`.
    seed (int): Of halves, tagger and bootstrap. n_resamples (int): Of the bootstrap.
    progress (Callable[[], None]): Called after each half of each attack.
    RETURNS (dict[str, Any]): Plain data, without a text.
    RAISES (PiiError): E772 and E773.
    """
    for name, value in (("recall", recall), ("keep", keep)):
        if value is not None and not 0 <= value <= 1:
            raise PiiError(Errors.E773, name=name, value=value)
    values = {doc.pair.id: value_counts(doc) for doc in documents}
    mentions = sum(n for found in values.values() for n, _ in found)
    clear = sum(n for found in values.values() for _, n in found)
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed) if documents else numpy.zeros((0, 0))
    items = [item for doc in documents for item in doc.items]
    with_gold = all(doc.gold is not None for doc in documents)
    report: dict[str, Any] = {
        "documents": len(documents),
        "words": sum(len(doc.pair.released.split()) for doc in documents),
        "leaks_known_from": "gold" if with_gold else "values that were replaced elsewhere in their document: a lower bound",
        "surrogates_known_from": "spans"
        if all(d.pair.surrogates is not None for d in documents)
        else "comparison with the original",
        "surrogates": sum(item.kind == SURROGATE for item in items),
        "leaks": sum(item.kind == LEAK for item in items),
        "leaks_in_part": sum(item.partial for item in items),
        "leaks_by_label": dict(sorted(Counter(item.label or "?" for item in items if item.kind == LEAK).items())),
        "mentions": mentions,
        "mentions_with_a_leak": clear,
        "documents_with_a_leak": sum(bool(doc.of_kind(LEAK)) for doc in documents),
        "seed": seed,
        "tagger": "logistic regression over words and their surroundings (scikit-learn)",
        "attacks": {},
    }
    for attacker in attackers:
        done = attack(documents, attacker, seed=seed, progress=progress)
        report["attacks"][attacker] = attack_report(done, weights)
    missed = 1 - recall if recall is not None else (clear / mentions if mentions else 0.0)
    source = "given" if recall is not None else "the release"
    return report | {"arithmetic": arithmetic_report(values, missed, keep=keep, source=source)}


def arithmetic_report(values: dict[str, list[tuple[int, int]]], missed: float, *, keep: float, source: str) -> dict[str, Any]:
    """The leak arithmetic for a corpus.

    values (dict[str, list[tuple[int, int]]]): By document, for each value how often it stands there and how often in clear.
    missed (float): Probability that a mention is missed. keep (float): Of the chain. source (str): Where `missed` comes from.
    RETURNS (dict[str, Any]): Repetition counts; shares of values and of documents that are given away, by strategy; a row per count;
        and what was observed: values replaced in part, and values that were missed each time.
    """
    counts = Counter(n for found in values.values() for n, _ in found)
    flat = [n for n, k in counts.items() for _ in range(k)]
    by_document = {ident: [n for n, _ in found] for ident, found in values.items() if found}
    in_part = sum(0 < clear < n for found in values.values() for n, clear in found)
    wholly = sum(clear == n for found in values.values() for n, clear in found)
    return {
        "miss_rate": round(missed, 4),
        "miss_rate_from": source,
        "keep": keep,
        "values": len(flat),
        "values_that_stand_once": counts[1],
        "documents_with_values": len(by_document),
        "share_of_values": {name: round(value, 4) for name, value in expected(flat, missed, keep=keep).items()},
        "share_of_documents": {name: round(value, 4) for name, value in documents_told(by_document, missed, keep=keep).items()},
        "by_repetition": [
            {"n": n, "values": k}
            | {name: round(told(name, n, missed, keep=keep), 4) for name in STRATEGIES}
            | {"apart": round(apart(n, missed), 4)}
            for n, k in sorted(counts.items())
        ],
        "observed": {
            "values_in_part_in_clear": in_part,
            "values_wholly_in_clear": wholly,
            "documents_with_a_value_in_part": sum(any(0 < c < n for n, c in found) for found in values.values()),
        },
    }
