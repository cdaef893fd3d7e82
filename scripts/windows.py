"""What is hidden of texts in which one token is labelled and nothing else is known; and such texts as ones to train on.

    python -m scripts.windows windows.jsonl --pipeline en_pii_edu --out metrics/windows.json
    python -m scripts.windows windows.jsonl --to-train corpus/windows      # whose detector must not have seen them

Of tokens with a label it is the share that is hidden: recall, whatever the label under which. Of tokens labelled "O" it is that of false
alarms, if the tokens were drawn evenly; they seldom are, so precision cannot be told from it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from pii_components.cli.common import DONE, guard
from pii_components.corpus.build import CRAPII_ANNOTATED
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, rate, resample
from pii_components.evaluate.report import plain
from pii_components.evaluate.systems import System, make_system
from pii_components.evaluate.tables import progress_bar
from pii_components.files.record import reason_of
from pii_components.labels import NAME_STUDENT
from pii_components.ner.loss import ANNOTATED, FOUND_KEY, UNLABELLED_KEY
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY
from pii_components.training.classifier import names_before
from scripts import common
from scripts.common import Protects

OUTSIDE = "O"
KIND = "windows"


def main(
    path: Annotated[
        Path, typer.Argument(metavar="WINDOWS", help="JSON Lines: text, start, end, label (B-EMAIL, O) of a token.")
    ],
    *,
    pipeline: common.PipelineOpt = "en_pii_edu",
    profile: common.ProfileOpt = "crapii",
    to_train: Annotated[
        Path | None, typer.Option(help="Measure nothing; write train.spacy for training into this folder.")
    ] = None,
    out: common.OutOpt = None,
    resamples: common.ResamplesOpt = N_RESAMPLES,
    quiet: common.QuietOpt = False,
    debug: common.DebugOpt = False,
) -> None:
    """Share of labelled tokens that is hidden, in windows out of labelled essays, of which nothing but one token is known."""
    with guard(debug):
        common.early(out)
        if to_train is not None:
            write_training(path, pipeline, to_train)
            raise typer.Exit(DONE)
        protects = Profile.load(profile).protects
        texts = read_windows(path)
        system = make_system(pipeline, protects=protects)
        with progress_bar("windows", len(texts)) as advance:
            found = measure_windows(system, texts, protects=protects, n_resamples=resamples, progress=advance)
        show = None if quiet else lambda made, to: common.show(to, "", made["labels"], "support texts hidden touched right")
        common.publish("windows", {"profile": Path(profile).name, **found}, out, show)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A labelled stretch: characters, a label of CRAPII or "O", and whether the name or detail began before it."""

    start: int
    end: int
    label: str
    inside: bool = False


def read_windows(path: Path) -> dict[str, list[Stretch]]:
    """The stretches of each text, in the order of the file; a text that stands there twice has those of both.

    path (Path): JSON Lines with `text`, `start`, `end` and `label`, a label of CRAPII with or without "B-" and "I-", or "O".
    RAISES (PiiError): E611, with the number of the line, for what is no such row; E501 for a file that cannot be read.
    """
    found: dict[str, list[Stretch]] = {}
    try:
        with path.open(encoding="utf8") as stream:
            for number, line in enumerate(stream, 1):
                text, stretch = _row(line, path.name, number)
                found.setdefault(text, []).append(stretch)
    except (OSError, UnicodeDecodeError) as err:
        raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    return found


def _row(line: str, file: str, number: int) -> tuple[str, Stretch]:
    try:
        row = json.loads(line)
        text, start, end, label = row["text"], int(row["start"]), int(row["end"]), row["label"]
        right = isinstance(text, str) and isinstance(label, str) and 0 <= start < end <= len(text)
    except (ValueError, TypeError, KeyError):
        right = False
    if not right:
        raise PiiError(Errors.E611, file=file, line=number)
    return text, Stretch(start, end, label.removeprefix("B-").removeprefix("I-"), label.startswith("I-"))


# --- measuring


def measure_windows(
    system: System, windows: Mapping[str, Sequence[Stretch]], *, protects: Protects, n_resamples: int = N_RESAMPLES,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:  # fmt: skip
    """Share of the labelled stretches that is hidden, per label, with intervals over texts.

    RETURNS (dict[str, Any]): Per label `support`, `texts`, `hidden` (no character in clear), `touched` (at least one hidden) and
        `right` (hidden under the label itself). RAISES (PiiError): E762, if there is nothing.
    """
    if not windows:
        raise PiiError(Errors.E762, what="The file", needed="labelled stretch")
    documents = [GoldDocument(str(n), text) for n, text in enumerate(windows)]
    labels = sorted({s.label for found in windows.values() for s in found}, key=lambda label: (label == OUTSIDE, label))
    # Support, hidden, touched, right, per text and label
    counts = numpy.zeros((len(documents), len(labels), 4), dtype="i8")
    found = zip(documents, windows.values(), system.find(documents), strict=True)
    for row, (document, stretches, predicted) in enumerate(found):
        kept = [entity for entity in predicted if protects(entity.label)]
        hidden = {at for entity in kept for at in range(entity.start, entity.end)}
        for s in stretches:
            whole = not in_clear(Entity(document.id, s.start, s.end, s.label, document.text[s.start : s.end]), hidden)
            right = any(e.label == s.label and e.start < s.end and s.start < e.end for e in kept)
            touched = not hidden.isdisjoint(range(s.start, s.end))
            counts[row, labels.index(s.label)] += (1, whole, touched, whole and right)
        progress()
    weights = resample(len(documents), n_resamples=n_resamples, seed=SEED)
    told = {}
    for n, label in enumerate(labels):
        support, *parts = counts[:, n].T
        shares = dict(zip(("hidden", "touched", "right")[: 2 if label == OUTSIDE else 3], parts, strict=False))
        rates = plain({name: rate(part, support, weights) for name, part in shares.items()})
        told[label] = {"support": int(support.sum()), "texts": int((support > 0).sum()), **rates}
    return common.head(system) | {"kind": KIND, "texts": len(documents), "labels": told}


# --- texts to train on


def write_training(path: Path, pipeline: str, out: Path) -> None:
    """Write train.spacy. RAISES (PiiError): E611, if the file holds no name and no token of nothing."""
    texts = of_names(read_windows(path))
    if not texts:
        raise PiiError(Errors.E611, file=path.name, line=1)
    nlp = spacy.load(pipeline, exclude=["hips_surrogate"])
    out.mkdir(parents=True, exist_ok=True)
    DocBin(docs=(with_names(nlp, *item) for item in texts.items())).to_disk(out / "train.spacy")


def of_names(windows: dict[str, list[Stretch]]) -> dict[str, list[Stretch]]:
    """Texts with a stretch of a student's name or of nothing, with these stretches only."""
    kept = {text: [s for s in found if s.label in (NAME_STUDENT, OUTSIDE)] for text, found in windows.items()}
    return {text: found for text, found in kept.items() if found}


def with_names(nlp: Language, text: str, stretches: Iterable[Stretch]) -> Doc:
    """A text with its stretches as far as their names go.

    nlp (Language): With `pii_context`; a detector that was not trained on the text.
    RETURNS (Doc): Students in `doc.spans["pii"]`, all names of the detector that nobody labelled in `doc.spans["pii_found"]`, and all of
        which nothing is known in `doc.spans["pii_unlabelled"]`.
    """
    gold, names = nlp.make_doc(text), names_before(nlp, text)
    students: list[Span] = []
    known: set[int] = set()
    for stretch in stretches:
        inside = gold.char_span(stretch.start, stretch.end, alignment_mode="expand")
        if inside is None:  # white space between tokens
            continue
        start, end = inside.start, inside.end
        touched = [c for c in names if c.start < end and start < c.end]
        if touched:
            start, end = min(start, *(c.start for c in touched)), max(end, *(c.end for c in touched))
        elif stretch.inside:
            while start and gold[start - 1].is_title and gold[start - 1].is_alpha and gold[start - 1].whitespace_:
                start -= 1
        known.update(range(start, end))
        if stretch.label == NAME_STUDENT and not any(s.start < end and start < s.end for s in students):
            students.append(Span(gold, start, end, label=NAME_STUDENT))
    others = [c for c in names if not any(s.start < c.end and c.start < s.end for s in students)]
    gold.spans[SPANS_KEY] = sorted(students, key=lambda span: span.start)
    gold.spans[SPANS_KEY].attrs[ANNOTATED] = CRAPII_ANNOTATED
    gold.spans[FOUND_KEY] = [Span(gold, c.start, c.end, label=c.label) for c in others]
    gold.spans[UNLABELLED_KEY] = [Span(gold, *run, label=UNLABELLED_KEY) for run in _runs(gold, known)]
    return gold


def _runs(doc: Doc, known: set[int]) -> Iterator[tuple[int, int]]:
    """Start and end of every run of tokens of which nothing is known."""
    start = 0
    for i in range(len(doc) + 1):
        if i == len(doc) or i in known:
            if i > start:
                yield start, i
            start = i + 1


if __name__ == "__main__":
    typer.run(main)
