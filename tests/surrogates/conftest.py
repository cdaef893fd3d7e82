"""Documents made by hand: a text with its spans marked in place, `{NAME_STUDENT|Ana Lopez}`."""

import re
from dataclasses import replace

import pytest
import spacy
from spacy.tokens import Doc

from pii_components.labels import INDIRECT_LABELS, OTHER
from pii_components.profiles import Profile
from pii_components.spans import Candidate, write_spans
from pii_components.surrogates.component import HipsSurrogate
from pii_components.surrogates.keys import Chance

KEY = b"a key for tests, 32 bytes long.."
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
    text, spans = unmark(marked)
    cuts = sorted({0, len(text), *(x for a, b, _ in spans for x in (a, b))})
    words = [
        w for a, b in zip(cuts, cuts[1:], strict=False) for w in re.findall(r"\s+|\S+", text[a:b])
    ]
    doc = Doc(_NLP.vocab, words=words, spaces=[False] * len(words)) if words else Doc(_NLP.vocab)
    assert doc.text == text
    found = [doc.char_span(a, b, alignment_mode="expand") for a, b, _ in spans]
    write_spans(
        doc,
        [Candidate(s.start, s.end, label) for s, (_, _, label) in zip(found, spans, strict=True)],
    )
    return doc


@pytest.fixture
def chance() -> Chance:
    return Chance(KEY, "corpus")


@pytest.fixture
def hips() -> HipsSurrogate:
    component = HipsSurrogate()
    component.set_key(KEY)
    return component
