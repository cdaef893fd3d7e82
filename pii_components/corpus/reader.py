"""`pii_edu.EssayCorpus.v1`: examples from DocBins for training.

    [corpora.train]
    @readers = "pii_edu.EssayCorpus.v1"
    path = "corpus/train.spacy"
    shuffle = true

Unlike spaCy's own reader it shuffles anew each epoch and can leave out a share of the documents without names and direct identifiers,
another share each time: real essays are mostly clean, and training on all of them is time that recall does not thank for.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from ..errors import Errors, PiiError
from ..labels import INDIRECT_LABELS
from ..spans import SPANS_KEY


def make_essay_corpus(
    path: str | Path, *, shuffle: bool = False, clean_share: float = 1.0, seed: int = 0, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """RETURNS (Callable[[Language], Iterator[Example]]): The reader of a .spacy file, called once per epoch.

    shuffle (bool): Another order in each epoch. clean_share (float): Share of the documents without spans that an epoch sees, 0 to 1.
    seed (int): Of the order and of that choice. limit (int): Documents at most; 0 for all. RAISES (PiiError): E604, E605.
    """
    path = Path(path)
    if not 0 <= clean_share <= 1:
        raise PiiError(Errors.E605, value=clean_share)
    epoch = 0

    def read(nlp: Language) -> Iterator[Example]:
        nonlocal epoch
        if not path.is_file():
            raise PiiError(Errors.E604, path=str(path))
        rng = random.Random(f"{seed}|{epoch}")
        epoch += 1
        docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
        docs = docs[:limit] if limit else docs
        if shuffle:
            rng.shuffle(docs)
        for doc in docs:
            if len(doc) and (_has_direct(doc) or rng.random() < clean_share):
                yield Example(nlp.make_doc(doc.text), doc)

    return read


def _has_direct(doc: Doc) -> bool:
    return any(span.label_ not in INDIRECT_LABELS for span in doc.spans.get(SPANS_KEY, ()))
