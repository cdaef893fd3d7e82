"""How well can what was missed be found in a release? The parrot attack.

    python -m scripts.release_attack original.jsonl released.jsonl --out metrics/release_attack.json

Carrell et al. 2019 (JAMIA 26(12):1536-1544): an attacker trains a tagger on one half of a release, so
that it does as the defender's tagger did (it parrots it), and runs it over the other half; each half
is trained on once and attacked once. A reader marks all that looks personal, surrogates and leaks
alike, since nobody can tell them apart; what the tagger does not tag is suspected to be a leak.
Surrogates are what differs from the original. Needs scikit-learn and scipy. No text leaves this module.
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
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, resample, score
from pii_components.evaluate.report import plain, versions
from pii_components.files.labelled import read_corpus
from pii_components.files.record import Skip
from pii_components.files.sources import open_source
from pii_components.labels import is_name
from pii_components.offsets import Edit, OffsetMap
from pii_components.profiles import Profile
from scripts import common


def main(
    original: Annotated[Path, typer.Argument(help="The texts before, with labels.")],
    released: Annotated[
        Path, typer.Argument(help="The texts after, as pii-edu deidentify wrote them.")
    ],
    *,
    profile: Annotated[str, typer.Option(help="Says which labels had to be hidden.")] = "crapii",
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = N_RESAMPLES,
) -> None:
    """Parrot attack on RELEASED (Carrell et al. 2019); no text is shown or written."""
    with guard():
        common.early(out)
        documents = read_release(original, released, hides=Profile.load(profile).protects)
        found = release_report(documents, n_resamples=resamples)
        report = {"profile": Path(profile).name, "versions": versions(), "release": found}
        common.publish("release_attack", report, out, print_release)


def print_release(report: Mapping[str, Any], to: Console) -> None:
    """Print the tables."""
    found = report["release"]
    common.show(to, "The release", [found], "documents words surrogates leaks mentions")
    keys = "leaks suspects found precision chance_precision recall chance_recall p_value auc"
    common.show(to, "Parrot attack, both halves in turn", [found["attack"]], keys)


class Item(NamedTuple):
    """What a reader would take for personal information: a surrogate, or a leak with its label."""

    start: int
    end: int
    leak: str = ""


@dataclass(frozen=True)
class Document:
    """A text before and after, and what had to be hidden in it: start, end, label in the original."""

    id: str
    original: str
    released: str
    gold: tuple[tuple[int, int, str], ...]

    @cached_property
    def offsets(self) -> OffsetMap:
        """What was replaced by what. RAISES (PiiError): E705, if nothing is left of the original."""
        # White space belongs to the word after it, so that it is no anchor of its own.
        pattern = r"\s*(?:\w+|[^\w\s])|\s+"
        before, after = re.findall(pattern, self.original), re.findall(pattern, self.released)
        old, new = (numpy.cumsum([0, *map(len, tokens)]).tolist() for tokens in (before, after))
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if len(before) > 20 and matcher.ratio() < 0.5:
            reason = "more than half of the words of a text are others"
            raise PiiError(Errors.E705, file=f"The release of document {self.id}", reason=reason)
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

        An entity is a leak with the words of it that no edit touches; only names are taken apart: a
        surrogate address may keep "Street".
        """
        items = [Item(edit.new_start, edit.new_end) for edit in self._replaced()]
        for start, end, label in self.gold:
            found = re.finditer(r"\S*\w\S*", self.original[start:end])
            words = [(start + match.start(), start + match.end()) for match in found]
            clear = [word for word in words if not overlaps(*word, self.offsets.edits)]
            if clear and (len(clear) == len(words) or is_name(label)):
                place = self.offsets.span_to_new(clear[0][0], clear[-1][1])
                items.append(Item(*place, label))
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


def overlaps(start: int, end: int, spans: Sequence[Sequence[int]]) -> bool:
    """Whether a span has a character in common with one of others."""
    return any(span[0] < end and span[1] > start for span in spans)


def read_release(original: Path, released: Path, *, hides: common.Protects) -> list[Document]:
    """Lay a release beside its original, joined by id. RAISES (PiiError): E705; what reading raises."""
    essays = list(read_corpus(original))
    after: dict[str, str] = {}
    for record in open_source(released, id_field="id"):
        if isinstance(record, Skip):
            raise record.error
        after[record.id] = record.text
    if alone := {essay.id for essay in essays} ^ set(after):
        reason = f"{len(alone)} documents are in one of the two only"
        raise PiiError(Errors.E705, file=released.name, reason=reason)
    documents = []
    for essay in essays:
        gold = tuple(span for span in essay.spans if hides(span[2]))
        documents.append(Document(essay.id, essay.text, after[essay.id], gold))
    return documents


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
        near = [f"w{n}={words[i + n]}" for n in range(-2, 3)]
        near += [f"s{n}={shapes[i + n]}" for n in range(-1, 3)]
        near += ["p=" + words[i][:3], "x=" + words[i][-3:]]
        near.append(f"s-1:1={shapes[i - 1]} {shapes[i]} {shapes[i + 1]}")
        near.append(f"w-1,s={words[i - 1]} {shapes[i]}")
        near.append(f"w-2,-1,s={words[i - 2]} {words[i - 1]} {shapes[i]}")
        near.append(f"first={not text[line_start:start].strip()}")
        yield [*near, f"short={len(line) < 40} {shapes[i]}", f"where={where} {shapes[i]}"]


def attack(documents: Sequence[Document]) -> list[list[tuple[bool, bool, float]]]:
    """Train a tagger on each half and attack the other.

    Leaks and surrogates are in both halves, whatever the order of the documents.
    RETURNS (list): For each document its items: whether it is a leak, whether it is suspected, and how
        sure the tagger is of its words.
    """
    hasher = FeatureHasher(1 << 18, input_type="string", alternate_sign=False)

    def order(doc: Document) -> tuple[bool, bool, str]:
        leaks = [item for item in doc.items if item.leak]
        lot = sha256(f"{SEED}|{doc.id}".encode()).hexdigest()
        return not leaks, len(leaks) == len(doc.items), lot

    def rows(docs: Sequence[Document]) -> Any:
        return hasher.transform(row for doc in docs for row in features(doc.released))

    drawn, judged = sorted(documents, key=order), {}
    for train, rest in ((drawn[::2], drawn[1::2]), (drawn[1::2], drawn[::2])):
        truth = [overlaps(*word, doc.items) for doc in train for word in words_of(doc.released)]
        model: Any = DummyClassifier()  # where nothing, or everything, is marked
        if len(set(truth)) == 2:
            model = LogisticRegression(C=5.0, solver="liblinear", max_iter=500, random_state=SEED)
        model.fit(rows(train), truth)
        sure = model.predict_proba(rows(rest)) @ model.classes_
        # As large a share of the words is tagged as in the training: a rare class is seldom surer
        # than one half.
        most = round(numpy.mean(truth) * len(sure))
        least = numpy.sort(sure)[-most] if most else 2.0
        parts = numpy.split(sure, numpy.cumsum([len(words_of(doc.released)) for doc in rest])[:-1])
        for doc, part in zip(rest, parts, strict=True):
            words = list(zip(words_of(doc.released), part, strict=True))
            judged[doc.id] = []
            for item in doc.items:
                inside = [p for (s, e), p in words if s < item.end and e > item.start]
                sureness = float(numpy.mean(inside)) if inside else 0.0
                judged[doc.id].append((bool(item.leak), sureness < least, sureness))
    return [judged[doc.id] for doc in documents]


def attack_report(
    judged: Sequence[Sequence[tuple[bool, bool, float]]], weights: numpy.ndarray
) -> dict[str, Any]:
    """Precision and recall of finding leaks, against chance; `weights` from `metrics.resample`.

    `p_value`: one-sided, hypergeometric: so many leaks or more among suspects that were drawn by
    chance. `auc`: how often the tagger is less sure of a leak than of a surrogate (0.5 is chance).
    """
    kinds = ((True, True), (False, True), (True, False))
    counts = [[sum(one[:2] == kind for one in doc) for kind in kinds] for doc in judged]
    found, wrong, passed = numpy.sum(counts, axis=0).tolist()
    items = [one for doc in judged for one in doc]
    leaks, suspects, total = found + passed, found + wrong, len(items)
    shares = plain(score(numpy.asarray(counts), weights))
    out = {name: shares[name] for name in shares if name.startswith(("precision", "recall"))}
    out |= {"leaks": leaks, "suspects": suspects, "found": found, "drawn_from": total}
    out["chance_precision"] = round(leaks / total, 4)
    out["chance_recall"] = round(suspects / total, 4)
    out["p_value"] = float(f"{hypergeom.sf(found - 1, total, leaks, suspects):.3g}")
    if 0 < leaks < total:
        area = roc_auc_score([leak for leak, *_ in items], [-sure for *_, sure in items])
        out["auc"] = round(float(area), 4)
    return out


def release_report(
    documents: Sequence[Document], *, n_resamples: int = N_RESAMPLES
) -> dict[str, Any]:
    """All numbers on a release. RAISES (PiiError): E552, with too few documents."""
    if sum(bool(doc.items) for doc in documents) < 4:
        reason = "four documents with a surrogate or a leak are needed"
        raise PiiError(Errors.E552, what="The release", reason=reason)
    items = [item for doc in documents for item in doc.items]
    leaks = Counter(item.leak for item in items if item.leak)
    weights = resample(len(documents), n_resamples=n_resamples)
    return {
        "documents": len(documents),
        "words": sum(len(doc.released.split()) for doc in documents),
        "surrogates": len(items) - leaks.total(),
        "leaks": leaks.total(),
        "leaks_by_label": dict(sorted(leaks.items())),
        "mentions": sum(len(doc.gold) for doc in documents),
        "tagger": "logistic regression over words and their surroundings (scikit-learn)",
        "attack": attack_report(attack(documents), weights),
    }


if __name__ == "__main__":
    typer.run(main)
