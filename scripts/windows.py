"""What is hidden of texts in which one token is labelled and nothing else is known (corpus/windows.py). Pure of printing.

    report = measure_windows(system, read_windows(path), protects=profile.protects)
    report["labels"]["NAME_STUDENT"]["hidden"], report["labels"]["O"]["hidden"]

Of tokens with a label it is the share that is hidden: recall, whatever the label under which. Of tokens labelled "O" it is that of false alarms,
if the tokens were drawn evenly; they seldom are, so precision cannot be told from it.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy
import spacy
import typer
from rich.table import Table
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from pii_components.cli.common import DONE, guard
from pii_components.corpus.build import CRAPII_ANNOTATED
from pii_components.errors import Errors, PiiError
from pii_components.evaluate.gold import Entity, GoldDocument
from pii_components.evaluate.match import in_clear
from pii_components.evaluate.metrics import N_RESAMPLES, SEED, rate, resample
from pii_components.evaluate.report import FORMAT, machine, plain, versions
from pii_components.evaluate.systems import System
from pii_components.evaluate.tables import cell, console, progress_bar, shown_command
from pii_components.files.record import reason_of
from pii_components.labels import NAME_STUDENT
from pii_components.ner.loss import ANNOTATED, FOUND_KEY, UNLABELLED_KEY
from pii_components.profiles import Profile
from pii_components.spans import SPANS_KEY
from pii_components.training.classifier import names_before
from scripts.fairness import DebugOpt, OutOpt, PipelineOpt, ProfileOpt, QuietOpt, ResamplesOpt

# `pii-edu evaluate windows`: what is hidden of texts in which one token is labelled.

EPILOG = "Exit codes: 0 done; 2 refused; 3 an unexpected error; 130 interrupted."

WindowsArg = Annotated[
    Path, typer.Argument(metavar="WINDOWS", help="JSON Lines with text, start, end and label (B-NAME_STUDENT, O) of one token.")
]


def windows(
    *,
    path: WindowsArg,
    pipeline: PipelineOpt = "en_pii_edu",
    profile: ProfileOpt = "crapii",
    out: OutOpt = None,
    resamples: ResamplesOpt = N_RESAMPLES,
    quiet: QuietOpt = False,
    debug: DebugOpt = False,
) -> None:
    """Share of labelled tokens that is hidden, in windows out of labelled essays, of which nothing but one token is known.

    Nothing of a text is shown or written.
    """
    from pii_components.evaluate.report import check_place, write_report
    from pii_components.evaluate.systems import make_system

    report: dict[str, Any] = {}
    with guard(debug):
        if out is not None:
            check_place(out)
        protects = Profile.load(profile).protects
        texts = read_windows(path)
        system = make_system(pipeline, protects=protects)
        with progress_bar("windows", len(texts)) as advance:
            found = measure_windows(system, texts, protects=protects, n_resamples=resamples, progress=advance)
        report |= {
            "command": shown_command("pii_components.cli evaluate windows", sys.argv[3:]),
            "profile": Path(profile).name,
        } | found
        if out is not None:
            write_report(report, out)
        if not quiet:
            head, rows = windows_rows(report)
            table = Table(*head)
            for row in rows:
                table.add_row(*row)
            console().print(table)
    raise typer.Exit(DONE)


# Texts in which somebody labelled one stretch and nothing else: `python -m scripts.windows windows.jsonl --

OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A labelled stretch.

    start (int), end (int): Characters. label (str): Of CRAPII, or "O". inside (bool): Whether the name or detail began before it.
    """

    start: int
    end: int
    label: str
    inside: bool = False


def read_windows(path: Path) -> dict[str, list[Stretch]]:
    """Read windows.

    path (Path): JSON Lines with `text`, `start`, `end` and `label`, a label of CRAPII with or without "B-" and "I-", or "O".
    RETURNS (dict[str, list[Stretch]]): The stretches of each text, in the order of the file; a text that stands there twice has those of both.
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


def of_names(windows: dict[str, list[Stretch]]) -> dict[str, list[Stretch]]:
    """RETURNS (dict[str, list[Stretch]]): Texts with a stretch of a student's name or of nothing, with these stretches only."""
    kept = {text: [stretch for stretch in found if stretch.label in (NAME_STUDENT, OUTSIDE)] for text, found in windows.items()}
    return {text: found for text, found in kept.items() if found}


def with_names(nlp: Language, text: str, stretches: Iterable[Stretch]) -> Doc:
    """A text with its stretches as far as their names go.

    nlp (Language): With `pii_context`; a detector that was not trained on the text. text (str): It. stretches (Iterable[Stretch]): What is known.
    RETURNS (Doc): Students in `doc.spans["pii"]`, all names of the detector that nobody labelled in `doc.spans["pii_found"]`, and all of which
        nothing is known in `doc.spans["pii_unlabelled"]`.
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
    gold.spans[SPANS_KEY] = sorted(students, key=lambda span: span.start)
    gold.spans[SPANS_KEY].attrs[ANNOTATED] = CRAPII_ANNOTATED
    gold.spans[FOUND_KEY] = [
        Span(gold, c.start, c.end, label=c.label)
        for c in names
        if not any(s.start < c.end and c.start < s.end for s in students)
    ]
    gold.spans[UNLABELLED_KEY] = [Span(gold, *run, label=UNLABELLED_KEY) for run in _runs(gold, known)]
    return gold


def _runs(doc: Doc, known: set[int]) -> Iterator[tuple[int, int]]:
    """YIELDS (tuple[int, int]): Start and end of every run of tokens of which nothing is known."""
    start = 0
    for i in range(len(doc) + 1):
        if i == len(doc) or i in known:
            if i > start:
                yield start, i
            start = i + 1


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Write windows around one labelled token as texts to train on.")
    parser.add_argument("windows", type=Path, help="JSON Lines with text, start, end and label")
    parser.add_argument(
        "--pipeline", default="en_pii_edu", help="whose detector tells how far a name goes; it must not have seen them"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write train.spacy into")
    args = parser.parse_args()
    texts = of_names(read_windows(args.windows))
    if not texts:
        raise PiiError(Errors.E611, file=args.windows.name, line=1)
    nlp = spacy.load(args.pipeline, exclude=["hips_surrogate"])
    args.out.mkdir(parents=True, exist_ok=True)
    DocBin(docs=(with_names(nlp, *item) for item in texts.items())).to_disk(args.out / "train.spacy")


if __name__ == "__main__":
    main()


KIND = "windows"


def measure_windows(
    system: System,
    windows: Mapping[str, Sequence[Stretch]],
    *,
    protects: Callable[[str], bool],
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Share of the labelled stretches that is hidden, per label.

    system (System): Loaded. windows (Mapping[str, Sequence[Stretch]]): From `read_windows`. protects (Callable[[str], bool]): From a profile.
    n_resamples, seed (int): Of the bootstrap over texts. progress (Callable[[], None]): Called after each text.
    RETURNS (dict[str, Any]): Plain data, without texts: per label `support`, `texts`, `hidden` (no character in clear), `touched` (at least
        one hidden) and `right` (hidden under the label itself), with 95 % intervals. RAISES (PiiError): E762, if there is nothing.
    """
    if not windows:
        raise PiiError(Errors.E762, what="The file", needed="labelled stretch")
    documents = [GoldDocument(str(n), text) for n, text in enumerate(windows)]
    labels = sorted(
        {stretch.label for found in windows.values() for stretch in found}, key=lambda label: (label == OUTSIDE, label)
    )
    # Support, hidden, touched, right, per text and label
    counts = numpy.zeros((len(documents), len(labels), 4), dtype="i8")
    for row, (document, stretches, predicted) in enumerate(
        zip(documents, windows.values(), system.find(documents), strict=True)
    ):
        kept = [entity for entity in predicted if protects(entity.label)]
        hidden = {at for entity in kept for at in range(entity.start, entity.end)}
        for stretch in stretches:
            inside = range(stretch.start, stretch.end)
            named = Entity(document.id, stretch.start, stretch.end, stretch.label, document.text[stretch.start : stretch.end])
            right = any(e.label == stretch.label and e.start < stretch.end and stretch.start < e.end for e in kept)
            whole = not in_clear(named, hidden)
            counts[row, labels.index(stretch.label)] += (1, whole, not hidden.isdisjoint(inside), whole and right)
        progress()
    weights = resample(len(documents), n_resamples=n_resamples, seed=seed)
    return {
        "format": FORMAT,
        "kind": KIND,
        "versions": versions(),
        "machine": machine(),
        "system": {"name": system.name, **system.about},
        "texts": len(documents),
        "labels": {label: _told(counts[:, n], weights, outside=label == OUTSIDE) for n, label in enumerate(labels)},
    }


def _told(counts: numpy.ndarray, weights: numpy.ndarray, *, outside: bool) -> dict[str, Any]:
    support, hidden, touched, right = counts.T
    shares = {"hidden": hidden, "touched": touched} | ({} if outside else {"right": right})
    return {
        "support": int(support.sum()),
        "texts": int((support > 0).sum()),
        **plain({name: rate(part, support, weights) for name, part in shares.items()}),
    }


def windows_rows(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """RETURNS (tuple[list[str], list[list[str]]]): Head and rows of a table. report (Mapping[str, Any]): From the command or its metrics file."""
    head = ["system", "label", "tokens", "texts", "hidden (95 % interval)", "under this label (95 % interval)"]
    rows = []
    for label, found in report["labels"].items():
        shown = "none" if label == OUTSIDE else label
        shares = [cell(found, name, interval=True) for name in ("hidden", "right")]
        rows.append([report["system"]["name"], shown, str(found["support"]), str(found["texts"]), *shares])
    return head, rows
