"""What encoders are trained and scored on: the corpus that `corpus build` writes, whole or a sample of it.

    data = prepare(Path("corpus"), Path("training/encoders/data"), train_words=6000, test_words=4000, seed=46)

A sample of whole essays would hold a name or two: essays of dev and test are cut into stretches of some 200 tokens at their line
breaks, of which those with personal information are drawn first and clean ones make a third. Train, dev and test share no essay, no
fragment and no filling (`corpus.build`).
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from ..errors import Errors, PiiError
from ..labels import INDIRECT_LABELS
from ..ner_loss import ANNOTATED, UNLABELLED_KEY
from ..spans import SPANS_KEY
from .gold import file_sha256
from .records import Entity, GoldDocument

PARTS = ("train", "dev", "test")
CLEAN_SHARE = 1 / 3
_STRETCH = 200


@dataclass(frozen=True, slots=True)
class Data:
    """Where the parts lie, and what they are.

    folder (Path): With train.spacy, dev.spacy, test.spacy. about (dict[str, Any]): Per part, for the report.
    """

    folder: Path
    about: dict[str, Any]


def has_direct(spans: Iterable[Span]) -> bool:
    """RETURNS (bool): Whether there is a name or a direct identifier among them."""
    return any(span.label_ not in INDIRECT_LABELS for span in spans)


def read_docs(path: Path, nlp: Language) -> list[Doc]:
    """RETURNS (list[Doc]): Documents of a DocBin. RAISES (PiiError): E785, if it is not there."""
    if not path.is_file():
        raise PiiError(Errors.E785, path=path.name)
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def stretches(doc: Doc, size: int = _STRETCH) -> list[Doc]:
    """A document in pieces.

    doc (Doc): With spans. size (int): Tokens of a piece, about: it ends at the first line break after them that parts no span.
    RETURNS (list[Doc]): That make up the document, with their spans.
    """
    groups = {key: list(doc.spans.get(key, ())) for key in (SPANS_KEY, UNLABELLED_KEY)}
    inside = {i for spans in groups.values() for span in spans for i in range(span.start, span.end - 1)}
    cuts = [0]
    for token in doc:
        if token.i + 1 - cuts[-1] >= size and token.is_space and "\n" in token.text and token.i not in inside:
            cuts.append(token.i + 1)
    pieces = []
    for start, end in zip(cuts, [*cuts[1:], len(doc)], strict=True):
        if start == end:
            continue
        piece = doc[start:end].as_doc()
        for key, spans in groups.items():
            piece.spans[key] = [
                Span(piece, span.start - start, span.end - start, label=span.label)
                for span in spans
                if span.start >= start and span.end <= end
            ]
        # Gold that knows some labels only says so beside its spans.
        if SPANS_KEY in doc.spans and ANNOTATED in doc.spans[SPANS_KEY].attrs:
            piece.spans[SPANS_KEY].attrs[ANNOTATED] = doc.spans[SPANS_KEY].attrs[ANNOTATED]
        pieces.append(piece)
    return pieces


def draw(docs: Sequence[Doc], words: int, *, seed: int) -> list[Doc]:
    """Documents by lot, until they have so many tokens; a third of them clean, as far as there are any.

    docs (Sequence[Doc]): All. words (int): Tokens. seed (int): Of the lot.
    RETURNS (list[Doc]): Less than half a document more or less than asked for, if there are enough.
    """
    rng = random.Random(f"encoders|{seed}")
    full = [doc for doc in docs if has_direct(doc.spans.get(SPANS_KEY, ()))]
    clean = [doc for doc in docs if not has_direct(doc.spans.get(SPANS_KEY, ()))]
    for part in (full, clean):
        rng.shuffle(part)
    chosen: list[Doc] = []
    total = taken_clean = 0
    while total < words and (full or clean):
        want_clean = clean and (taken_clean + 1 <= CLEAN_SHARE * (len(chosen) + 1) or not full)
        doc = (clean if want_clean else full).pop()
        taken_clean += bool(want_clean)
        chosen.append(doc)
        total += len(doc)
    return chosen


def prepare(corpus: Path, out: Path, *, train_words: int, test_words: int, seed: int) -> Data:
    """Write train, dev and test for a comparison.

    corpus (Path): Folder with train.spacy, dev.spacy, test.spacy. out (Path): Folder for what is drawn.
    train_words, test_words (int): Tokens of train, and of dev and test each; 0 for all, whole essays. seed (int): Of the lot.
    RETURNS (Data): Same input, same output. RAISES (PiiError): E785, if a part is not there.
    """
    import spacy

    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    out.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {}
    for part in PARTS:
        docs = [doc for doc in read_docs(corpus / f"{part}.spacy", nlp) if len(doc)]
        words, unit = (train_words, "documents of the corpus") if part == "train" else (test_words, "stretches of essays")
        if words:
            pieces = docs if part == "train" else [piece for doc in docs for piece in stretches(doc)]
            docs = draw(pieces, words, seed=seed)
        else:
            unit = "documents of the corpus" if part == "train" else "whole essays"
        DocBin(docs=docs, store_user_data=False).to_disk(out / f"{part}.spacy")
        about[part] = {
            "file": f"{part}.spacy",
            "sha256": file_sha256(corpus / f"{part}.spacy"),
            "unit": unit,
            "documents": len(docs),
            "documents_with_pii": sum(has_direct(doc.spans.get(SPANS_KEY, ())) for doc in docs),
            "tokens": sum(map(len, docs)),
        }
    return Data(out, about)


def as_gold(number: int, doc: Doc) -> GoldDocument:
    """RETURNS (GoldDocument): A labelled document, by its place in the file."""
    entities = tuple(
        Entity(str(number), span.start_char, span.end_char, span.label_, span.text)
        for span in doc.spans.get(SPANS_KEY, ())
        if span.label_ not in INDIRECT_LABELS
    )
    masked = tuple((span.start_char, span.end_char) for span in doc.spans.get(UNLABELLED_KEY, ()))
    tokens = tuple((token.idx, token.idx + len(token)) for token in doc if not token.is_space)
    return GoldDocument(str(number), doc.text, entities, tokens, masked=masked)
