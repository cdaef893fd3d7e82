"""Texts in which somebody labelled one stretch and nothing else: `python -m pii_components.corpus.windows windows.jsonl --out corpus/windows`.

    {"text": "... said Ana Lopez of our group ...", "start": 9, "end": 12, "label": "B-NAME_STUDENT"}
    {"text": "... the view of Porter is ...", "start": 16, "end": 22, "label": "O"}

So are windows out of labelled essays published, around one token each. Such a token says who is a student, or that somebody is none, and of the
rest of the text nothing. A detector that has not seen them tells how far the name goes; everything else is `pii_unlabelled`, of which neither
`pii_ner` nor `pii_context` learns. Stretches with labels of details are left out: of one token nobody can tell where a detail ends.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..context_train import names_before
from ..errors import Errors, PiiError
from ..labels import NAME_STUDENT
from ..ner_loss import ANNOTATED, FOUND_KEY, UNLABELLED_KEY
from ..spans import SPANS_KEY
from .build import CRAPII_ANNOTATED
from .records import reason_of

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
        Span(gold, c.start, c.end, label=c.label) for c in names if not any(s.start < c.end and c.start < s.end for s in students)
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
    parser.add_argument("--pipeline", default="en_pii_edu", help="whose detector tells how far a name goes; it must not have seen them")
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
