"""Documents made by hand: a text with its spans marked in place, `{NAME_STUDENT|Ana Lopez}`."""

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
import spacy
from hypothesis import strategies as st
from spacy.tokens import Doc

from pii_components.labels import INDIRECT_LABELS, OTHER
from pii_components.names.table import name_table
from pii_components.profiles import Profile
from pii_components.spans import Candidate, write_spans
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.keys import SurrogateKey
from pii_components.surrogates.values import Context

KEY = b"a key for tests, 32 bytes long.."
CONTEXT = Context(SurrogateKey(KEY, "corpus"), name_table())
# Keys that `check_key` takes: of bytes that are not too much alike.
KEYS = st.lists(st.integers(0, 255), min_size=16, max_size=16, unique=True).map(bytes)
CRAPII = Profile.load("crapii")
# As crapii, and indirect identifiers are hidden too; OTHER needs a map, so it gets its tag.
INDIRECT_TOO = replace(
    CRAPII,
    name="indirect_too",
    actions={**CRAPII.actions, **dict.fromkeys(INDIRECT_LABELS, "surrogate"), OTHER: "tag"},
)
_MARK = re.compile(r"\{(\w+)\|(.*?)\}", re.DOTALL)
_NLP = spacy.blank("en")


def unmark(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """RETURNS (tuple): The plain text, and (start, end, label) for each mark."""
    text, spans, last = "", [], 0
    for match in _MARK.finditer(marked):
        text += marked[last : match.start()]
        spans.append((len(text), len(text) + len(match[2]), match[1]))
        text += match[2]
        last = match.end()
    return text + marked[last:], spans


def make_doc(marked: str) -> Doc:
    """RETURNS (Doc): Tokens cut at the marks, and `doc.spans["pii"]`."""
    return doc_of(*unmark(marked))


def doc_of(text: str, spans: Iterable[tuple[int, int, str]]) -> Doc:
    """RETURNS (Doc): Tokens cut at the spans, and `doc.spans["pii"]`."""
    cuts = sorted({0, len(text), *(start for start, _, _ in spans), *(end for _, end, _ in spans)})
    words = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        words += re.findall(r"\s+|\S+", text[start:end])
    doc = Doc(_NLP.vocab, words=words, spaces=[False] * len(words)) if words else Doc(_NLP.vocab)
    assert doc.text == text
    cands = []
    for start, end, label in spans:
        span = doc.char_span(start, end, alignment_mode="expand")
        cands.append(Candidate(span.start, span.end, label))
    write_spans(doc, cands)
    return doc


def hide(hips: HipsSurrogate, marked: str) -> str:
    """RETURNS (str): The new text."""
    return hips(make_doc(marked))._.deidentified


def surrogates_of(*labels: str, **options) -> Profile:
    """RETURNS (Profile): Surrogates for these labels, and nothing else."""
    return Profile("some", actions=dict.fromkeys(labels, "surrogate"), **options)


def rows(table: str) -> list[list[str]]:
    """RETURNS (list[list[str]]): Cells between arrows, of lines of a table."""
    return [line.split(" -> ") for line in table.strip().splitlines()]


@pytest.fixture
def chance() -> SurrogateKey:
    return SurrogateKey(KEY, "corpus")


@pytest.fixture
def hips() -> HipsSurrogate:
    component = HipsSurrogate()
    component.set_key(KEY)
    return component
