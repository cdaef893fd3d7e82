"""Ensembling of detectors into one: `python -m pii_components.training.distil fold*/model-last --texts train.spacy --out taught.spacy`.

Each text is read by every teacher, and the mean of their probabilities is kept in its gold. Whatever is trained on the file that is written
learns from that, too (ner_loss.py); `spacy train` and its configs stay as they are:

    python -m spacy train configs/pii_ner_real.cfg --paths.train taught.spacy --paths.source v020 --paths.dev dev.spacy --output student

With `--alpha 1` the gold takes no part, so texts that nobody labelled can be learned from.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import minibatch

from ..errors import Errors, PiiError
from ..ner.loss import ALPHA, TAUGHT, TEMPERATURE, as_taught
from ..spans import SPANS_KEY

NER = "pii_ner"


def said_by(nlp: Language, texts: Sequence[str], *, batch_size: int = 16) -> Iterator[numpy.ndarray]:
    """What one detector says.

    nlp (Language): With `pii_ner`. texts (Sequence[str]): Any. batch_size (int): Texts at once.
    YIELDS (numpy.ndarray): Probabilities of each text, shape `(n_tokens, n_outputs)`. RAISES (PiiError): E706 without `pii_ner`.
    """
    ner = _detector(nlp)
    before = [cast(Any, proc) for _, proc in nlp.pipeline[: list(nlp.pipe_names).index(NER)]]
    for some in minibatch(texts, size=batch_size):
        docs = [nlp.make_doc(text) for text in some]
        for proc in before:
            docs = list(proc.pipe(docs, batch_size=batch_size))
        yield from (ner.model.ops.to_numpy(scores) for scores in ner.predict(docs))


def _detector(nlp: Language) -> Any:
    if NER not in nlp.pipe_names:
        raise PiiError(Errors.E706, pipeline=nlp.meta["name"], component=NER, pipes=", ".join(nlp.pipe_names))
    return nlp.get_pipe(NER)


def teach(docs: Sequence[Doc], teachers: Sequence[Language], *, alpha: float = ALPHA, temperature: float = TEMPERATURE) -> None:
    """Keep in gold what detectors say of it.

    docs (Sequence[Doc]): Gold, changed in place; a text that is there several times is read once. teachers (Sequence[Language]): One at least,
    of the same labels. alpha (float): Share of the loss that is the divergence from their mean, 0 to 1. temperature (float): Above 0.
    RAISES (PiiError): E311 for settings out of range or no teacher, E309, if teachers differ in labels, E706.
    """
    if not teachers or not 0 <= alpha <= 1 or temperature <= 0:
        raise PiiError(Errors.E311, n=len(teachers), alpha=alpha, temperature=temperature)
    labels = [_detector(nlp).labels for nlp in teachers]
    if any(found != labels[0] for found in labels):
        raise PiiError(Errors.E309)
    texts = list(dict.fromkeys(doc.text for doc in docs))
    sums: list[numpy.ndarray] = []
    for number, nlp in enumerate(teachers):
        for n, said in enumerate(said_by(nlp, texts)):
            if number == 0:
                sums.append(said.astype("f4"))
            else:
                sums[n] += said
    mean = {text: total / len(teachers) for text, total in zip(texts, sums, strict=True)}
    for doc in docs:
        if SPANS_KEY not in doc.spans:
            doc.spans[SPANS_KEY] = []
        kept = as_taught(mean[doc.text], labels[0], alpha=alpha, temperature=temperature)
        doc.spans[SPANS_KEY].attrs[TAUGHT] = kept


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Keep what several detectors say of texts in the gold that another learns from."
    )
    parser.add_argument("pipelines", nargs="+", help="folders or packages with pii_ner")
    parser.add_argument("--texts", type=Path, required=True, action="append", help=".spacy file; may be given several times")
    parser.add_argument(
        "--alpha", type=float, default=ALPHA, help="share of the loss that is to say what they say; 1 for no gold"
    )
    parser.add_argument("--temperature", type=float, default=TEMPERATURE, help="by which logits are divided")
    parser.add_argument("--out", type=Path, required=True, help=".spacy file to write")
    args = parser.parse_args()
    if missing := [path for path in args.texts if not path.is_file()]:
        raise PiiError(Errors.E604, path=str(missing[0]))
    teachers = [spacy.load(name) for name in args.pipelines]
    docs = [doc for path in args.texts for doc in DocBin().from_disk(path).get_docs(teachers[0].vocab)]
    teach(docs, teachers, alpha=args.alpha, temperature=args.temperature)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(args.out)


if __name__ == "__main__":
    main()
