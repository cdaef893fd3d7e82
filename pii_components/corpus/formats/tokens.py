"""Between offsets and tokens: BIO labels to spans, and spans to tokens of our own tokenizer.

    tokens = tokenize(essay, number=1, tally=tally)
    tokens.words, tokens.spaces, tokens.labels      # "".join(word + " " * space) is the text, character for character

A mark of trailing white space stands for one space. Any other white space is in tokens of its own, as spaCy makes them, so
nothing of the text is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import Errors, PiiError
from ..json_records import HALF_ESCAPE, join_tokens
from ..records import has_half_pair
from .record import IN_MASK, TOKEN, GoldSpan, LabelledText, Stretch, Tally, is_label, merge

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in tokens.

    doc (Doc): The tokens. spans (tuple[tuple[int, int, str], ...]): First token, end (exclusive), label.
    masked (tuple[tuple[int, int], ...]): Stretches of tokens. words, spaces, labels (list): One per token.
    """

    doc: "Doc"
    spans: tuple[GoldSpan, ...]
    masked: tuple[Stretch, ...]

    @property
    def words(self) -> list[str]:
        """RETURNS (list[str]): Texts of the tokens."""
        return [token.text for token in self.doc]

    @property
    def spaces(self) -> list[bool]:
        """RETURNS (list[bool]): Whether a space follows."""
        return [bool(token.whitespace_) for token in self.doc]

    @property
    def labels(self) -> list[str]:
        """RETURNS (list[str]): BIO; O also where the text is masked."""
        out = ["O"] * len(self.doc)
        for start, end, label in self.spans:
            out[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
        return out

    def masked_characters(self) -> list[list[int]]:
        """RETURNS (list[list[int]]): The masked stretches in characters, end exclusive."""
        return [[self.doc[start].idx, self.doc[end - 1].idx + len(self.doc[end - 1])] for start, end in self.masked]


@cache
def blank_pipeline() -> "Language":
    """RETURNS (Language): English with our tokenizer and nothing else; takes texts of any length."""
    import spacy

    from ... import tokenization

    assert tokenization.create_student_tokenizer  # registered also where the package runs from its folder, not installed
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.max_length = 1 << 31  # the limit protects parsers, which are not there
    return nlp


def tokenize(essay: LabelledText, *, number: int, tally: Tally) -> Tokens:
    """Lay gold on tokens. What begins or ends inside a token is masked; an edge in the space between two tokens moves to the
    token.

    essay (LabelledText): With offsets in characters. number (int): Of the record. tally (Tally): Gets what is masked.
    RETURNS (Tokens): Spans and masked stretches do not overlap.
    """
    doc = blank_pipeline().make_doc(essay.text)
    found: list[GoldSpan] = []
    rest: list[Stretch] = []
    for start, end in essay.masked:
        first, last = _touched(doc, start, end)
        if first < last:
            rest.append((first, last))
    masked_before = list(rest)
    for span in essay.spans:
        first, last = _touched(doc, span[0], span[1])
        if first == last:
            # Only a space between two tokens is labelled: the tokens beside it are masked.
            rest.append((max(first - 1, 0), min(last + 1, len(doc))))
            tally.mask(number, span, TOKEN)
        elif doc[first].idx < span[0] or doc[last - 1].idx + len(doc[last - 1]) > span[1]:
            rest.append((first, last))
            tally.mask(number, span, TOKEN)
        else:
            found.append((first, last, span[2]))
            if span[:2] != (doc[first].idx, doc[last - 1].idx + len(doc[last - 1])):
                tally.notes["edge moved over a space"] += 1
    # A masked stretch that ends inside a token takes the whole of it, and with it a span that begins or ends there.
    kept: list[GoldSpan] = []
    for first, last, label in found:
        if any(s < last and e > first for s, e in rest):
            before = any(s < last and e > first for s, e in masked_before)
            tally.mask(number, (doc[first].idx, doc[last - 1].idx + len(doc[last - 1]), label), IN_MASK if before else TOKEN)
            rest.append((first, last))
        else:
            kept.append((first, last, label))
    return Tokens(doc, tuple(kept), merge(rest))


def _touched(doc: "Doc", start: int, end: int) -> Stretch:
    """RETURNS (Stretch): First and last token (exclusive) that share a character with [start, end); empty if there is none."""
    low, high = 0, len(doc)
    while low < high:  # the first token that ends after start
        middle = (low + high) // 2
        if doc[middle].idx + len(doc[middle]) > start:
            high = middle
        else:
            low = middle + 1
    first = last = low
    while last < len(doc) and doc[last].idx < end:
        last += 1
    return first, last


def from_tokens(tokens: Any, spaces: Any, labels: Any, *, number: int, names: Sequence[str]) -> tuple[str, list[GoldSpan]]:
    """A text and its spans from tokens, marks of trailing white space and BIO labels.

    tokens, spaces, labels (Any): As they stand in the file. number (int): Of the record.
    names (Sequence[str]): Names of the three fields.
    RETURNS (tuple[str, list[GoldSpan]]): Offsets in characters; an I- without its B- begins a span, as in the Kaggle files.
    RAISES (PiiError): E520, E522, E523, E535, E537, E633.
    """
    for name, value in zip(names, (tokens, spaces, labels), strict=True):
        if not isinstance(value, list):
            raise PiiError(Errors.E522, number=number, name=name)
    if not len(tokens) == len(spaces) == len(labels):
        raise PiiError(Errors.E535, number=number, n_tokens=len(tokens), n_spaces=len(spaces), n_labels=len(labels))
    spans: list[GoldSpan] = []
    pos, before = 0, "O"
    for index, (token, space, label) in enumerate(zip(tokens, spaces, labels, strict=True)):
        if not isinstance(token, str):
            raise PiiError(Errors.E523, number=number, type=type(token).__name__)
        if space not in (True, False):
            raise PiiError(Errors.E633, number=number, index=index)
        if label != "O" and not (isinstance(label, str) and label[:2] in ("B-", "I-") and is_label(label[2:])):
            raise PiiError(Errors.E537, number=number, index=index)
        end = pos + len(token)
        if label.startswith("I-") and before[2:] == label[2:]:
            spans[-1] = (spans[-1][0], end, label[2:])
        elif label != "O":
            spans.append((pos, end, label[2:]))
        pos, before = end + (1 if space else 0), label
    text = join_tokens(tokens, spaces)
    if has_half_pair(text):
        raise PiiError(Errors.E520, number=number, encoding=HALF_ESCAPE)
    return text, [span for span in spans if span[0] < span[1]]
