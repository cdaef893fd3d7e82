"""Real writing for the reader of `pii_context`: `python -m pii_components.context_reader_carriers assets/persuade --out corpus/carriers`.

Our own essays were written by few hands, and a reader that saw no others is surer of them than it is right elsewhere. Carriers (assets/README.md) are
real essays, and essays that models wrote. Where a publisher put a mark, somebody private stood there, and an invented person stands there now;
what else the detector takes for a name is of public people, or no name at all. So nobody needs to label anything: those names are learned from by
what is left open, everything but STUDENT and CONNECTED.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from .context_train import names_before
from .corpus.build import rng_for, split_of, to_doc
from .corpus.carriers import fill_carrier, iter_persuade, slots_in_llm_text
from .corpus.synthesis import Filled
from .errors import Errors, PiiError
from .labels import NAME_CHARACTER, NAME_CITED, NAME_CONNECTED, NAME_INSTRUCTOR, NAME_STUDENT, is_name
from .ner_loss import FOUND_KEY
from .spans import SPANS_KEY
from .surrogates.names import name_table

# What a mark says: "Generic_Name" stands for friends and relatives as well as for figures of a story.
MARKED = {
    **{label: [label] for label in (NAME_STUDENT, NAME_INSTRUCTOR, NAME_CONNECTED, NAME_CITED)},
    NAME_CHARACTER: [NAME_CHARACTER, NAME_CONNECTED],
}


def filled_carriers(path: Path, *, split: str = "train", named: int, others: int, seed: int = 46) -> Iterator[Filled]:
    """Carriers with their marks filled.

    path (Path): JSON Lines with `id` and `text`, maybe gzipped. split (str): Those of this part. seed (int): Of order and fillings.
    named (int): Texts with a mark for a person at most. others (int): Other texts at most. YIELDS (Filled): In an order by the seed.
    """
    left = {True: named, False: others}
    rows = list(enumerate(iter_persuade(path)))
    random.Random(seed).shuffle(rows)
    for n, (key, text) in rows:
        if split_of(f"{path.name}|{key}|{n}") != split:
            continue
        filled = fill_carrier(slots_in_llm_text(text), name_table(), rng_for(seed, path.name, key, n), worn=0.02)
        if filled is None:
            continue
        about = any(is_name(label) for *_, label in filled.spans)
        if left[about] > 0:
            left[about] -= 1
            yield Filled(filled.text, filled.spans, (), MARKED)


def with_found(nlp: Language, gold: Doc) -> Doc:
    """Add what the detector takes for names.

    nlp (Language): With `pii_context`. gold (Doc): A labelled text; changed in place.
    RETURNS (Doc): The same, with names that nobody labelled in `doc.spans["pii_found"]`.
    """
    labelled = gold.spans[SPANS_KEY]
    gold.spans[FOUND_KEY] = [
        Span(gold, c.start, c.end, label=c.label)
        for c in names_before(nlp, gold.text)
        if not any(s.start < c.end and c.start < s.end for s in labelled)
    ]
    return gold


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Write carriers, with the names that a detector finds in them, for the reader."
    )
    parser.add_argument("carriers", type=Path, help="folder with PERSUADE and other carriers")
    parser.add_argument("--pipeline", default="en_pii_edu", help="whose detector finds names")
    parser.add_argument(
        "--named", type=int, default=1500, help="texts of each file in which a mark stands for a person, at most"
    )
    parser.add_argument("--others", type=int, default=1500, help="other texts of each file, at most")
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--out", type=Path, required=True, help="folder to write train.spacy into")
    args = parser.parse_args()
    paths = sorted(args.carriers.glob("*.jsonl*"))
    if not paths:
        raise PiiError(Errors.E603, path=str(args.carriers))
    nlp = spacy.load(args.pipeline, exclude=["hips_surrogate"])
    docs = DocBin()
    for path in paths:
        for filled in filled_carriers(path, named=args.named, others=args.others, seed=args.seed):
            doc = with_found(nlp, to_doc(nlp, filled))
            if doc.spans[FOUND_KEY] or doc.spans[SPANS_KEY]:
                docs.add(doc)
    args.out.mkdir(parents=True, exist_ok=True)
    docs.to_disk(args.out / "train.spacy")


if __name__ == "__main__":
    main()
