"""Several detectors into one: distillation by soft targets, and the mean of weights.

    teach(docs, [spacy.load(path) for path in folds])

Each text is read by every teacher, and the mean of their probabilities is kept in its gold. Whatever is trained on these docs learns from
that, too (ner/loss.py); `spacy train` and its configs stay as they are. With `alpha=1` the gold takes no part, so texts that nobody labelled
can be learned from.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
    """YIELDS (numpy.ndarray): What a detector says of each text, shape `(n_tokens, n_outputs)`. RAISES (PiiError): E706 without `pii_ner`."""
    ner = _detector(nlp)
    docs = nlp.pipe(texts, disable=nlp.pipe_names[nlp.pipe_names.index(NER) :], batch_size=batch_size)
    for batch in minibatch(docs, size=batch_size):
        yield from map(ner.model.ops.to_numpy, ner.predict(batch))


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
    said = zip(*(said_by(nlp, texts) for nlp in teachers), strict=True)
    mean = {text: sum(each) / len(teachers) for text, each in zip(texts, said, strict=True)}
    for doc in docs:
        if SPANS_KEY not in doc.spans:
            doc.spans[SPANS_KEY] = []
        kept = as_taught(mean[doc.text], labels[0], alpha=alpha, temperature=temperature)
        doc.spans[SPANS_KEY].attrs[TAUGHT] = kept


def teach_files(
    pipelines: Sequence[str], texts: Sequence[Path], out: Path, *, alpha: float = ALPHA, temperature: float = TEMPERATURE
) -> None:
    """`teach` with pipelines by name or path, from .spacy files to one. RAISES (PiiError): E604 for a file that is not there."""
    if missing := [path for path in texts if not path.is_file()]:
        raise PiiError(Errors.E604, path=str(missing[0]))
    teachers = [spacy.load(name) for name in pipelines]
    docs = [doc for path in texts for doc in DocBin().from_disk(path).get_docs(teachers[0].vocab)]
    teach(docs, teachers, alpha=alpha, temperature=temperature)
    out.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(out)


def average_weights(modules: Sequence[Any]) -> None:
    """Write the mean of the weights of PyTorch modules of one form into the first (Wortsman et al. 2022, arXiv:2203.05482).

    modules (Sequence[torch.nn.Module]): At least one. Whole numbers stay as they are in the first. RAISES (PiiError): E309, if they differ.
    """
    import torch

    states = [module.state_dict() for module in modules]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    if any(shape != shapes[0] for shape in shapes):
        raise PiiError(Errors.E309)
    mean = {
        name: torch.stack([state[name].double() for state in states]).mean(dim=0).to(value.dtype)
        for name, value in states[0].items()
        if value.is_floating_point()
    }
    modules[0].load_state_dict({**states[0], **mean})
