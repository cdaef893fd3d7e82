"""How well can what was missed be found in a release? The parrot attack.

    python -m scripts.release_attack original.jsonl released.jsonl --out metrics/release_attack.json

Carrell et al. 2019 (JAMIA 26(12):1536-1544): an attacker trains a tagger on one half of a release, so that it does as the
defender's tagger did (it parrots it), and runs it over the other half; each half is trained on once and attacked once. Two attackers:

- reader: as in the paper; marks all that looks personal in both halves, surrogates and leaks alike, since a reader cannot tell them
  apart. Suspects: those which the tagger does not tag. Chance: as many, drawn from all of them.
- labels: trains on the surrogates, whose places he knows. Suspects: what the tagger tags and no surrogate covers. Chance: as many,
  drawn from all runs of words there that have a capital or a digit.

Surrogates are what differs from the original. Needs scikit-learn and scipy (the extra corpus). No text leaves this module.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy
import typer
from rich.console import Console
from scipy.stats import hypergeom
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pii_components.cli.common import guard
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.metrics import LEVEL, N_RESAMPLES, SEED, Estimate, resample, score
from pii_components.evaluate.report import plain, versions
from pii_components.files.labelled import read_corpus
from pii_components.files.record import Skip
from pii_components.files.sources import open_source
from pii_components.labels import is_name
from pii_components.offsets import Edit, OffsetMap
from pii_components.profiles import Profile
from scripts import common

READER, LABELS = "reader", "labels"
Places = Sequence[tuple[int, int]]
Judged = tuple[tuple[int, int, int, int], list[tuple[bool, float]]]


def main(
    original: Annotated[Path, typer.Argument(help="The texts before, with labels.")],
    released: Annotated[
        Path, typer.Argument(help="The texts after, as pii-edu deidentify wrote them.")
    ],
    *,
    profile: Annotated[str, typer.Option(help="Says which labels had to be hidden.")] = "crapii",
    id_field: Annotated[
        str, typer.Option("--id-column", "--id-field", help="Of the id, in both files.")
    ] = "id",
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = N_RESAMPLES,
    seed: Annotated[int, typer.Option(help="Of halves, tagger and bootstrap.")] = SEED,
    debug: common.DebugOpt = False,
) -> None:
    """Parrot attack on RELEASED (Carrell et al. 2019); no text is shown or written."""
    with guard(debug):
        common.early(out)
        documents = read_release(
            original, released, hides=Profile.load(profile).protects, id_field=id_field
        )
        found = release_report(documents, seed=seed, n_resamples=resamples)
        files = {"original": original.name, "released": released.name}
        report = {
            "files": files,
            "profile": Path(profile).name,
            "versions": versions(),
            "release": found,
        }
        common.publish("release_attack", report, out, print_release)


def print_release(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables."""
    found = report["release"]
    common.show(
        to, "The release", [found], "documents words surrogates leaks leaks_in_part mentions"
    )
    keys = "leaks suspects found precision chance_precision recall chance_recall lift p_value auc"
    common.show(
        to, f"Parrot attack, both halves in turn; {found['tagger']}", found["attacks"], keys
    )


class Item(NamedTuple):
    """What a reader of the release would take for personal information; of a leak its label, and whether a part of it was replaced."""

    start: int
    end: int
    leak: bool
    label: str = ""
    partial: bool = False


@dataclass(frozen=True)
class Document:
    """A text before and after, and what had to be hidden in it: start, end, label in the original."""

    id: str
    original: str
    released: str
    gold: tuple[tuple[int, int, str], ...]

    @cached_property
    def offsets(self) -> OffsetMap:
        """What was replaced by what. RAISES (PiiError): E771, if nothing is left of the original."""
        # White space belongs to the word after it, so that it is no anchor of its own.
        before, after = (
            re.findall(r"\s*(?:\w+|[^\w\s])|\s+", text) for text in (self.original, self.released)
        )
        old, new = (numpy.cumsum([0, *map(len, tokens)]).tolist() for tokens in (before, after))
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if len(before) > 20 and matcher.ratio() < 0.5:
            raise PiiError(
                Errors.E771,
                document=self.id,
                reason="texts that differ in more than half of their words",
            )
        edits = []
        for tag, i, j, k, m in matcher.get_opcodes():
            same = commonprefix(["".join(before[i:j]), "".join(after[k:m])])
            lead = len(same) - len(same.lstrip())
            if tag != "equal":
                edits.append(Edit(old[i] + lead, old[j], new[k] + lead, new[m]))
        return OffsetMap(len(self.original), len(self.released), tuple(edits))

    @cached_property
    def items(self) -> list[Item]:
        """Surrogates, and gold that stands in clear, sorted.

        An entity is a leak with the words of it that no edit touches; only names are taken apart: a surrogate address may keep "Street".
        """
        items = [Item(edit.new_start, edit.new_end, False) for edit in self._replaced()]
        for start, end, label in self.gold:
            words = [
                (start + m.start(), start + m.end())
                for m in re.finditer(r"\S+", self.original[start:end])
            ]
            clear = [
                any(c.isalnum() for c in self.original[s:e])
                and not overlaps(s, e, self.offsets.edits)
                for s, e in words
            ]
            if all(clear) or is_name(label):
                leaks = runs(words, clear)
                items += [
                    Item(*self.offsets.span_to_new(*leak), True, label, not all(clear))
                    for leak in leaks
                ]
        return sorted(items)

    def _replaced(self) -> list[Edit]:
        """Edits that put something in, those with only white space or one sign between them as one."""
        out: list[Edit] = []
        for edit in self.offsets.edits:
            between = self.original[out[-1].end : edit.start] if out else "\n"
            if len(between) <= 2 and not any(c.isalnum() or c in "\n,;" for c in between):
                out[-1] = Edit(out[-1].start, edit.end, out[-1].new_start, edit.new_end)
            else:
                out.append(edit)
        return [edit for edit in out if edit.new_start < edit.new_end]

    def spans(self, *, leak: bool) -> Places:
        return [(item.start, item.end) for item in self.items if item.leak is leak]


def overlaps(start: int, end: int, spans: Sequence[Sequence[int]]) -> bool:
    """Whether a span has a character in common with one of others."""
    return any(span[0] < end and span[1] > start for span in spans)


def runs(places: Places, chosen: Sequence[bool]) -> list[tuple[int, int]]:
    """Chosen words that follow one another, as (start, end)."""
    groups = [
        list(group)
        for take, group in groupby(zip(chosen, places, strict=True), key=lambda pair: pair[0])
        if take
    ]
    return [(group[0][1][0], group[-1][1][1]) for group in groups]


def read_release(
    original: Path, released: Path, *, hides: common.Protects, id_field: str = "id"
) -> list[Document]:
    """Lay a release beside its original, joined by id. RAISES (PiiError): E770; what reading raises."""
    essays = list(read_corpus(original, id_field=id_field))
    after: dict[str, str] = {}
    for record in open_source(released, id_field=id_field):
        if isinstance(record, Skip):
            raise record.error
        after[record.id] = record.text
    if alone := {essay.id for essay in essays} ^ set(after):
        raise PiiError(Errors.E770, n=len(alone), first=original.name, second=released.name)
    return [
        Document(e.id, e.text, after[e.id], tuple(span for span in e.spans if hides(span[2])))
        for e in essays
    ]


def words_of(text: str) -> list[tuple[int, int]]:
    """First character and end (exclusive) of the words and signs of a text."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def shape(word: str) -> str:
    """ "Xx" for "Ana", "d" for "2019": kinds of characters, each once where it repeats."""
    kinds = (
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )
    return "".join(kind for kind, _ in groupby(kinds))


def features(text: str) -> Iterator[list[str]]:
    """For each word what the tagger that an attacker trains sees of it."""
    places = words_of(text)
    words = ["", "", *(text[start:end].lower() for start, end in places), "", ""]
    shapes = ["", "", *(shape(text[start:end]) for start, end in places), "", ""]
    for i, (start, end) in enumerate(places, 2):
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        line = text[line_start : len(text) if line_end < 0 else line_end]
        where = "head" if i < 52 else "foot" if i >= len(places) - 48 else "body"
        yield [
            "w=" + words[i],
            "s=" + shapes[i],
            "p=" + words[i][:3],
            "x=" + words[i][-3:],
            "w-1=" + words[i - 1],
            "w-2=" + words[i - 2],
            "w+1=" + words[i + 1],
            "w+2=" + words[i + 2],
            "s-1=" + shapes[i - 1],
            "s+1=" + shapes[i + 1],
            "s+2=" + shapes[i + 2],
            f"s-1:1={shapes[i - 1]} {shapes[i]} {shapes[i + 1]}",
            f"w-1,s={words[i - 1]} {shapes[i]}",
            f"w-2,-1,s={words[i - 2]} {words[i - 1]} {shapes[i]}",
            f"first={not text[line_start:start].strip()}",
            f"short={len(line) < 40} {shapes[i]}",
            f"where={where} {shapes[i]}",
        ]


def attack(
    documents: Sequence[Document], attacker: str, *, seed: int = SEED
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Train a tagger on each half and attack the other; leaks and surrogates are in both halves, whatever the order of the documents.

    RETURNS (tuple[numpy.ndarray, numpy.ndarray]): For each document leaks that are suspected, suspects that are none, leaks that are passed
        over, what suspects are drawn from. For each item its document, whether it is a leak, and how sure the tagger is of its words.
    """
    hasher = FeatureHasher(1 << 18, input_type="string", alternate_sign=False)
    lots = {doc.id: sha256(f"{seed}|{doc.id}".encode()).hexdigest() for doc in documents}
    drawn = sorted(
        documents,
        key=lambda doc: (not doc.spans(leak=True), not doc.spans(leak=False), lots[doc.id]),
    )
    judged: dict[str, Judged] = {}
    for train, rest in ((drawn[::2], drawn[1::2]), (drawn[1::2], drawn[::2])):
        marked = {
            doc.id: [item[:2] for item in doc.items if attacker == READER or not item.leak]
            for doc in train
        }
        truth = [
            overlaps(*word, marked[doc.id]) for doc in train for word in words_of(doc.released)
        ]
        model: Any = DummyClassifier()  # where nothing, or everything, is marked
        if len(set(truth)) == 2:
            model = LogisticRegression(C=5.0, solver="liblinear", max_iter=500, random_state=seed)
        model.fit(hasher.transform(row for doc in train for row in features(doc.released)), truth)
        sure = (
            model.predict_proba(
                hasher.transform(row for doc in rest for row in features(doc.released))
            )
            @ model.classes_
        )
        # As large a share of the words is tagged as in the training: a rare class is seldom surer than one half.
        most = round(numpy.mean(truth) * len(sure))
        least = numpy.sort(sure)[-most] if most else 2.0
        judge = _read if attacker == READER else _compare
        parts = numpy.split(sure, numpy.cumsum([len(words_of(doc.released)) for doc in rest])[:-1])
        judged |= {doc.id: judge(doc, part, least) for doc, part in zip(rest, parts, strict=True)}
    counts, scores = zip(*(judged[doc.id] for doc in documents), strict=True)
    rows = [(i, *pair) for i, pairs in enumerate(scores) for pair in pairs]
    return numpy.asarray(counts), numpy.asarray(rows).reshape(-1, 3)


def _read(document: Document, probabilities: numpy.ndarray, least: float) -> Judged:
    """The reader's suspects: what looks personal, and the tagger passes over."""
    words = zip(words_of(document.released), probabilities, strict=True)
    known = [(*word, p) for word, p in words if document.released[word[0]].isalnum()]
    inside = [
        [p for s, e, p in known if s < item.end and e > item.start] for item in document.items
    ]
    scores = [
        (item.leak, float(numpy.mean(ps)) if ps else 0.0)
        for item, ps in zip(document.items, inside, strict=True)
    ]
    counts = Counter((leak, p < least) for leak, p in scores)
    return (counts[True, True], counts[False, True], counts[True, False], len(scores)), scores


def _compare(document: Document, probabilities: numpy.ndarray, least: float) -> Judged:
    """Suspects of the one who knows the surrogates: runs of tagged words outside of them."""
    places = words_of(document.released)
    known, leaks = (document.spans(leak=leak) for leak in (False, True))
    free = [not overlaps(*place, known) for place in places]
    suspects = runs(
        places, [bool(out and p >= least) for out, p in zip(free, probabilities, strict=True)]
    )
    first = [document.released[start] for start, _ in places]
    capital = runs(
        places, [out and (c.isupper() or c.isdigit()) for out, c in zip(free, first, strict=True)]
    )
    found = sum(overlaps(*leak, suspects) for leak in leaks)
    wrong = sum(not overlaps(*run, leaks) for run in suspects)
    others = sum(not overlaps(*run, leaks) for run in {*suspects, *capital})
    return (found, wrong, len(leaks) - found, len(leaks) + others), []


def attack_report(
    counts: numpy.ndarray, scores: numpy.ndarray, weights: numpy.ndarray
) -> dict[str, Any]:
    """Precision and recall of finding leaks, against chance; `weights` from `metrics.resample`.

    `lift`: precision over that of chance. `p_value`: one-sided, hypergeometric: so many leaks or more among suspects that were drawn by
    chance. `auc`: how often the tagger is less sure of a leak than of a surrogate (0.5 is chance; a tie is one half).
    """
    found, wrong, passed, total = (int(n) for n in counts.sum(axis=0))
    leaks, suspects = found + passed, found + wrong
    out: dict[str, Any] = {
        "leaks": leaks,
        "suspects": suspects,
        "found": found,
        "false_alarms": wrong,
        "drawn_from": total,
    }
    shares = plain(score(counts[:, :3], weights))
    out |= {
        name: value for name, value in shares.items() if name.startswith(("precision", "recall"))
    }
    out["chance_precision"] = round(leaks / total, 4) if total else None
    out["chance_recall"] = round(suspects / total, 4) if total else None
    if leaks and suspects:
        hit, false, missed, drawn_from = (weights @ counts).T
        chance = (hit + false) * (hit + missed)
        lifts = (hit * drawn_from)[chance > 0] / chance[chance > 0]
        out |= plain({"lift": _estimate(found * total / (suspects * leaks), lifts)})
    out["p_value"] = float(f"{hypergeom.sf(found - 1, total, leaks, suspects):.3g}")
    leak, sure = scores[:, 1] == 1, scores[:, 2]
    if leak.any() and not leak.all():
        drawn = [
            w for w in weights[:, scores[:, 0].astype("i8")] if w[leak].any() and w[~leak].any()
        ]
        areas = numpy.asarray([roc_auc_score(leak, -sure, sample_weight=w) for w in drawn])
        out |= plain({"auc": _estimate(roc_auc_score(leak, -sure), areas)})
    return out


def _estimate(value: float, draws: numpy.ndarray) -> Estimate:
    low, high = (
        numpy.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(draws) else (value, value)
    )
    return Estimate(float(value), float(low), float(high))


def release_report(
    documents: Sequence[Document], *, seed: int = SEED, n_resamples: int = N_RESAMPLES
) -> dict[str, Any]:
    """All numbers on a release. RAISES (PiiError): E771, with too few documents."""
    if (n := sum(bool(doc.items) for doc in documents)) < 4:
        raise PiiError(
            Errors.E771, document="any", reason=f"{n} hold a surrogate or a leak; 4 are needed"
        )
    mentions = sum(len(doc.gold) for doc in documents)
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)
    items = [item for doc in documents for item in doc.items]
    leaks = [item for item in items if item.leak]
    return {
        "documents": len(documents),
        "words": sum(len(doc.released.split()) for doc in documents),
        "leaks_known_from": "gold",
        "surrogates_known_from": "comparison with the original",
        "surrogates": len(items) - len(leaks),
        "leaks": len(leaks),
        "leaks_in_part": sum(item.partial for item in leaks),
        "leaks_by_label": dict(sorted(Counter(item.label for item in leaks).items())),
        "mentions": mentions,
        "documents_with_a_leak": sum(bool(doc.spans(leak=True)) for doc in documents),
        "seed": seed,
        "tagger": "logistic regression over words and their surroundings (scikit-learn)",
        "attacks": {
            who: attack_report(*attack(documents, who, seed=seed), weights)
            for who in (READER, LABELS)
        },
    }


if __name__ == "__main__":
    typer.run(main)
