"""Forms that label tokens: Kaggle's and CRAPII's, and spaCy's DocBin.

Kaggle's PII task and CRAPII: an array of such objects, or one per line. `masked` is ours and stands only where it is needed:
stretches of `full_text` (characters, end exclusive) whose tokens are labelled O because nobody knows what they are. Training and
scoring must pass over them.

    {"document": 7, "full_text": "I am Ina", "tokens": ["I", "am", "Ina"], "trailing_whitespace": [true, true, false],
     "labels": ["O", "O", "B-NAME_STUDENT"], "masked": [[5, 8]]}

DocBin, in which training reads a corpus: gold is in `doc.spans["pii"]`, or in `doc.spans["sc"]`, spaCy's own key, or else in `doc.ents`;
stretches whose gold is not known are in `doc.spans["pii_unlabelled"]`, whose tokens take no part in training. A document with
neither is not labelled, and skipped. Id and other fields are in `doc.user_data["pii_corpus"]`, as JSON.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Errors, PiiError
from ..record import has_half_pair, open_binary
from ..tables import HALF_ESCAPE, TOKEN_FIELDS, join_tokens
from .base import (
    IN_MASK,
    MASKED_LABEL,
    SPAN_FORM,
    TOKEN,
    CharSpan,
    CorpusWriter,
    GoldSpan,
    Items,
    LabelledText,
    LinesWriter,
    ReadOptions,
    ReadStats,
    as_json,
    each,
    id_of,
    is_label,
    merge,
    parse_masked,
    resolve_gold_overlaps,
    touches,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, DocBin

# Whole numbers that every reader of JSON keeps.
_MAX_DIGITS = 15
DATA_KEY = "pii_corpus"

# Between offsets and tokens: BIO labels to spans, and spans to tokens of our own tokenizer.


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in tokens.

    spans (tuple): First token, end (exclusive), label.
    masked (tuple): Stretches of tokens; their BIO label is O too.
    """

    doc: "Doc"
    spans: tuple[GoldSpan, ...]
    masked: tuple[CharSpan, ...]

    def fields(self) -> dict[str, Any]:
        """Fields of Kaggle's form, and masked stretches (characters, end exclusive), if any."""
        labels = ["O"] * len(self.doc)
        for start, end, label in self.spans:
            labels[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        masked = [list(_characters(self.doc, *stretch)) for stretch in self.masked]
        tokens = [token.text for token in self.doc]
        spaces = [bool(token.whitespace_) for token in self.doc]
        fields = dict(zip(TOKEN_FIELDS, (tokens, spaces, labels), strict=True))
        return fields | ({"masked": masked} if masked else {})


@cache
def blank_pipeline() -> "Language":
    """English with our tokenizer and nothing else; takes texts of any length."""
    import spacy

    from ...ruler import tokenizer as tokenization

    assert (
        tokenization.create_student_tokenizer
    )  # registered also where the package runs from its folder, not installed
    nlp = spacy.blank(
        "en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
    )
    nlp.max_length = 1 << 31  # the limit protects parsers, which are not there
    return nlp


def tokenize(essay: LabelledText, *, number: int, tally: ReadStats) -> Tokens:
    """Lay gold on tokens. What begins or ends inside a token is masked (tally gets it); an edge in the space between two tokens
    moves to the token. Spans and masked stretches do not overlap."""
    doc = blank_pipeline().make_doc(essay.text)
    found: list[GoldSpan] = []
    masked = [
        stretch
        for start, end in essay.masked
        if (stretch := touched_tokens(doc, start, end))[0] < stretch[1]
    ]
    rest = list(masked)
    for span in essay.spans:
        first, last = touched_tokens(doc, span[0], span[1])
        if first == last:
            # Only a space between two tokens is labelled: the tokens beside it are masked.
            rest.append((max(first - 1, 0), min(last + 1, len(doc))))
            tally.mask(number, span, TOKEN)
            continue
        start, end = _characters(doc, first, last)
        if start < span[0] or end > span[1]:
            rest.append((first, last))
            tally.mask(number, span, TOKEN)
        else:
            found.append((first, last, span[2]))
            tally.notes["edge moved over a space"] += span[:2] != (start, end)
    # A masked stretch that ends inside a token takes the whole of it, and with it a span that begins or ends there.
    kept: list[GoldSpan] = []
    for first, last, label in found:
        if touches((first, last), rest):
            reason = IN_MASK if touches((first, last), masked) else TOKEN
            tally.mask(number, (*_characters(doc, first, last), label), reason)
            rest.append((first, last))
        else:
            kept.append((first, last, label))
    return Tokens(doc, tuple(kept), merge(rest))


def _characters(doc: "Doc", first: int, last: int) -> CharSpan:
    return doc[first].idx, doc[last - 1].idx + len(doc[last - 1])


def touched_tokens(doc: "Doc", start: int, end: int) -> CharSpan:
    """First and last token (exclusive) that share a character with [start, end); empty if there is none."""
    tokens = range(len(doc))
    first = bisect_right(tokens, start, key=lambda i: doc[i].idx + len(doc[i]))
    return first, bisect_left(tokens, end, lo=first, key=lambda i: doc[i].idx)


def from_tokens(
    tokens: Any, spaces: Any, labels: Any, *, number: int
) -> tuple[str, list[GoldSpan]]:
    """A text and its spans from tokens, marks of trailing white space and BIO labels.

    tokens, spaces, labels (Any): As they stand in the file.
    number (int): Of the record.
    RETURNS (tuple): Text, and spans in characters; an I- without its B- begins a span, as in the
        Kaggle files.
    RAISES (PiiError): E520, E522, E624.
    """
    _check_tokens(tokens, spaces, labels, number)
    spans: list[GoldSpan] = []
    pos, before = 0, "O"
    for token, space, label in zip(tokens, spaces, labels, strict=True):
        end = pos + len(token)
        if label.startswith("I-") and before[2:] == label[2:]:
            spans[-1] = (spans[-1][0], end, label[2:])
        elif label != "O":
            spans.append((pos, end, label[2:]))
        pos, before = end + bool(space), label
    text = join_tokens(tokens, spaces)
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return text, [span for span in spans if span[0] < span[1]]


def _check_tokens(tokens: Any, spaces: Any, labels: Any, number: int) -> None:
    for name, value in zip(TOKEN_FIELDS, (tokens, spaces, labels), strict=True):
        if not isinstance(value, list):
            raise PiiError(Errors.E522, number=number, name=name)
    if not len(tokens) == len(spaces) == len(labels):
        expected = f"of {len(spaces)} items, as marks of white space, and {len(labels)}, as labels"
        raise PiiError(Errors.E624, number=number, name="tokens", expected=expected)
    for index, (token, space, label) in enumerate(zip(tokens, spaces, labels, strict=True)):
        if not isinstance(token, str):
            raise PiiError(Errors.E624, number=number, name=f"tokens[{index}]", expected="a string")
        if space not in (True, False):
            name = f"trailing_whitespace[{index}]"
            raise PiiError(Errors.E624, number=number, name=name, expected="true or false")
        if label != "O" and not _is_bio(label):
            expected = "one of O, B-X and I-X"
            raise PiiError(Errors.E624, number=number, name=f"labels[{index}]", expected=expected)


def _is_bio(label: Any) -> bool:
    return isinstance(label, str) and label[:2] in ("B-", "I-") and is_label(label[2:])


def kaggle_labelled(number: int, values: dict[str, Any], tally: ReadStats) -> LabelledText:
    """One record of Kaggle's form, as decoded; the id is the number where it has none.

    tally (ReadStats): Gets what is masked.
    RAISES (PiiError): E520, E522, E624.
    """
    text, found = from_tokens(*(values.get(name) for name in TOKEN_FIELDS), number=number)
    given = values.get("full_text", text)
    if text != given:
        at = len(commonprefix([text, str(given)]))
        expected = f"that of the text, from character {at} on"
        raise PiiError(Errors.E624, number=number, name="tokens", expected=expected)
    spans, masked = resolve_gold_overlaps(
        text, found, parse_masked(values.get("masked"), number), number=number, tally=tally
    )
    own = {"document", "full_text", *TOKEN_FIELDS, "masked"}
    meta = {name: value for name, value in values.items() if name not in own}
    return LabelledText(id_of(values.get("document"), number), text, spans, masked, meta)


class KaggleWriter(LinesWriter):
    """One object per line. The id is a whole number where it comes back the same, as CRAPII's are."""

    form = "kaggle-jsonl"

    def row(self, essay: LabelledText, number: int) -> dict[str, Any]:
        ident = essay.id
        is_number = (
            ident.isascii()
            and ident.isdigit()
            and len(ident) <= _MAX_DIGITS
            and str(int(ident)) == ident
        )
        fields = tokenize(essay, number=number, tally=self.tally).fields()
        return {"document": int(ident) if is_number else ident, "full_text": essay.text} | fields


class KaggleArrayWriter(KaggleWriter):
    """An array, as Kaggle's own files are."""

    form = "kaggle"

    def head(self) -> bytes:
        return b"["

    def tail(self) -> bytes:
        return b"\n]\n"

    def put(self, data: bytes) -> None:
        super().put((b",\n" if self.n_written else b"\n") + data.removesuffix(b"\n"))


def read_docbin(path: Path, options: ReadOptions) -> Items:
    """YIELDS (tuple[int, LabelledText] | Skip): Each document; E6xx of those that cannot be used.

    RAISES (PiiError): E501, E503, E900.
    """
    from spacy.tokens import DocBin

    with open_binary(path) as file:
        data = file.read()
    if not data:
        raise PiiError(Errors.E503)
    try:
        bin_ = DocBin(store_user_data=True).from_bytes(data)
    except Exception as err:  # zlib, msgpack, numpy and spaCy each have their own
        raise PiiError(
            Errors.E900, file=path.name, kind="DocBin", reason=type(err).__name__
        ) from err
    return each(_docs(bin_, path.name), lambda number, doc: from_doc(doc, number, options.tally))


def _docs(bin_: "DocBin", name: str) -> "Iterator[tuple[int, Doc]]":
    try:
        yield from enumerate(bin_.get_docs(blank_pipeline().vocab), 1)
    except Exception as err:
        raise PiiError(Errors.E900, file=name, kind="DocBin", reason=type(err).__name__) from err


def from_doc(doc: "Doc", number: int, tally: ReadStats) -> LabelledText:
    """A document with gold; the id is the number where it does not know its own. RAISES (PiiError): E520, E522, E624, E657."""
    from ...ner.loss import UNLABELLED_KEY
    from ...spans import SPANS_KEY

    key = SPANS_KEY if SPANS_KEY in doc.spans else "sc"  # that of Prodigy's data-to-spacy, too
    if key not in doc.spans and not doc.has_annotation("ENT_IOB"):
        name = f'doc.spans["{SPANS_KEY}"]'
        raise PiiError(Errors.E522, number=number, name=name)
    found = list(doc.spans.get(key, doc.ents))
    for index, span in enumerate(found):
        if not is_label(span.label_):
            raise PiiError(Errors.E624, number=number, name=f"spans[{index}]", expected=SPAN_FORM)
    if has_half_pair(doc.text):
        raise PiiError(Errors.E520, number=number, encoding="text")
    ident, meta = str(number), {}
    if DATA_KEY in doc.user_data:
        try:
            ident, meta = json.loads(doc.user_data[DATA_KEY])
        except (ValueError, TypeError) as err:
            raise PiiError(
                Errors.E657, number=number, kind="document of a DocBin", reason=type(err).__name__
            ) from err
    spans, masked = resolve_gold_overlaps(
        doc.text,
        ((span.start_char, span.end_char, span.label_) for span in found),
        ((span.start_char, span.end_char) for span in doc.spans.get(UNLABELLED_KEY, ())),
        number=number,
        tally=tally,
    )
    return LabelledText(ident, doc.text, spans, masked, meta)


def to_doc(essay: LabelledText, *, number: int, tally: ReadStats) -> "Doc":
    """A document for training, with `doc.spans["pii"]` and `doc.spans["pii_unlabelled"]`; tally gets what is masked."""
    from spacy.tokens import Span

    from ...ner.loss import UNLABELLED_KEY
    from ...spans import SPANS_KEY

    tokens = tokenize(essay, number=number, tally=tally)
    doc = tokens.doc
    doc.spans[SPANS_KEY] = [
        Span(doc, start, end, label=label) for start, end, label in tokens.spans
    ]
    doc.spans[UNLABELLED_KEY] = [
        Span(doc, start, end, label=MASKED_LABEL) for start, end in tokens.masked
    ]
    doc.user_data[DATA_KEY] = as_json(
        [essay.id, dict(essay.meta)], number, DocBinWriter.form
    ).decode("utf-8")
    return doc


class DocBinWriter(CorpusWriter):
    """A DocBin. It is one compressed block, so its documents are kept until the end: about 9 bytes a token."""

    form = "spacy"

    def __init__(self, out: Path, tally: ReadStats) -> None:
        from spacy.tokens import DocBin

        super().__init__(out, tally)
        self._bin = DocBin(attrs=["ORTH"], store_user_data=True)

    def record(self, essay: LabelledText, number: int) -> "Doc":
        return to_doc(essay, number=number, tally=self.tally)

    def put(self, data: "Doc") -> None:
        self._bin.add(data)

    def tail(self) -> bytes:
        return self._bin.to_bytes()
