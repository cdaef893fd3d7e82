"""spaCy's DocBin, in which training reads a corpus.

Gold is in `doc.spans["pii"]`, or in `doc.ents` of documents that have no such group; stretches whose gold is not known are in
`doc.spans["pii_unlabelled"]`, whose tokens take no part in training. A document with neither is not labelled, and skipped. Id
and other fields are in `doc.user_data["pii_corpus"]`, as JSON.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Errors, PiiError
from ..record import Skip, has_half_pair, open_binary, reason_of
from .base import (
    MASKED_LABEL,
    CorpusWriter,
    LabelledText,
    ReadOptions,
    Tally,
    as_json,
    blank_pipeline,
    is_label,
    settle,
    tokenize,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc, DocBin

DATA_KEY = "pii_corpus"


def read(path: Path, options: ReadOptions) -> Iterator[tuple[int, LabelledText] | Skip]:
    """YIELDS (tuple[int, LabelledText] | Skip): Each document; E6xx of those that cannot be used.

    RAISES (PiiError): E501, E503, E631.
    """
    from spacy.tokens import DocBin

    with open_binary(path) as file:
        try:
            data = file.read()
        except OSError as err:
            raise PiiError(Errors.E501, what=path.name, reason=reason_of(err)) from err
    if not data:
        raise PiiError(Errors.E503)
    try:
        bin_ = DocBin(store_user_data=True).from_bytes(data)
    except Exception as err:  # zlib, msgpack, numpy and spaCy each have their own
        raise PiiError(Errors.E631, what=path.name, reason=type(err).__name__) from err
    docs, gone = _after(bin_, 0), 0
    for number in range(1, len(bin_) + 1):
        try:
            doc = next(docs)
        except Exception as err:
            yield Skip.of(Errors.E641, number=number, reason=type(err).__name__)
            docs, gone = _after(bin_, number - gone), number  # the error has ended the generator
            continue
        try:
            yield number, labelled(doc, number, options.tally)
        except PiiError as err:
            yield Skip(number=number, error=err)


def _after(bin_: "DocBin", n: int) -> Iterator["Doc"]:
    """RETURNS (Iterator[Doc]): The documents of a DocBin after the first n, which are let go."""
    for name in ("tokens", "spaces", "cats", "flags", "span_groups", "user_data"):
        setattr(bin_, name, list(getattr(bin_, name))[n:])
    return bin_.get_docs(blank_pipeline().vocab)


def labelled(doc: "Doc", number: int, tally: Tally) -> LabelledText:
    """One document.

    doc (Doc): With gold. number (int): Its position. tally (Tally): Gets what is masked.
    RETURNS (LabelledText): The id is the number where the document does not know its own.
    RAISES (PiiError): E520, E623, E632, E641.
    """
    from ...ner.loss import UNLABELLED_KEY
    from ...spans import SPANS_KEY

    if SPANS_KEY in doc.spans:
        found = list(doc.spans[SPANS_KEY])
    elif doc.has_annotation("ENT_IOB"):
        found = list(doc.ents)
    else:
        raise PiiError(Errors.E632, number=number, key=SPANS_KEY)
    for index, span in enumerate(found):
        if not is_label(span.label_):
            raise PiiError(Errors.E623, number=number, index=index)
    if has_half_pair(doc.text):
        raise PiiError(Errors.E520, number=number, encoding="text")
    ident, meta = str(number), {}
    if DATA_KEY in doc.user_data:
        try:
            ident, meta = json.loads(doc.user_data[DATA_KEY])
        except (ValueError, TypeError) as err:
            raise PiiError(Errors.E641, number=number, reason=type(err).__name__) from err
    spans, masked = settle(
        doc.text,
        ((span.start_char, span.end_char, span.label_) for span in found),
        ((span.start_char, span.end_char) for span in doc.spans.get(UNLABELLED_KEY, ())),
        number=number,
        tally=tally,
    )
    return LabelledText(ident, doc.text, spans, masked, meta)


def to_doc(essay: LabelledText, *, number: int, tally: Tally) -> "Doc":
    """A document for training.

    essay (LabelledText): With gold. number (int): Its position. tally (Tally): Gets what is masked, since it begins or ends inside a
    token.
    RETURNS (Doc): `doc.spans["pii"]` and `doc.spans["pii_unlabelled"]`.
    """
    from spacy.tokens import Span

    from ...ner.loss import UNLABELLED_KEY
    from ...spans import SPANS_KEY

    tokens = tokenize(essay, number=number, tally=tally)
    doc = tokens.doc
    doc.spans[SPANS_KEY] = [Span(doc, start, end, label=label) for start, end, label in tokens.spans]
    doc.spans[UNLABELLED_KEY] = [Span(doc, start, end, label=MASKED_LABEL) for start, end in tokens.masked]
    doc.user_data[DATA_KEY] = as_json([essay.id, dict(essay.meta)], number, DocBinWriter.form).decode("utf-8")
    return doc


class DocBinWriter(CorpusWriter):
    """A DocBin. It is one compressed block, so its documents are kept until the end: about 9 bytes a token."""

    form = "spacy"

    def __init__(self, out: Path, tally: Tally) -> None:
        from spacy.tokens import DocBin

        super().__init__(out, tally)
        self._bin = DocBin(attrs=["ORTH"], store_user_data=True)

    def record(self, essay: LabelledText, number: int) -> "Doc":
        return to_doc(essay, number=number, tally=self.tally)

    def put(self, data: "Doc") -> None:
        self._bin.add(data)

    def tail(self) -> bytes:
        return self._bin.to_bytes()
