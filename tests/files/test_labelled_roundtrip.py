"""Offsets of every label survive every reader and writer: properties. All texts are invented."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pii_components.files.formats.base import LabelledText, ReadStats
from pii_components.files.formats.tokens import blank_pipeline
from pii_components.files.labelled import read_corpus, write_corpus
from pii_components.labels import LABELS

CHARACTER_FORMS = ("jsonl", "csv")
TOKEN_FORMS = ("kaggle", "kaggle-jsonl", "spacy")
FORMS_WRITTEN = CHARACTER_FORMS + TOKEN_FORMS
PIECES = (
    "Ina Sorel",
    "Jörn Übel",
    "李 小龍",
    "ina@example.edu",
    "12 Elm St.\nOsk",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\u00a0",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\u200b",
    "e\u0301",
    "😀",
    "\x1c",
    "\x0b",
    "I am",
    ".",
    ",",
    '"',
    "'",
    "\\",
    "don't",
    "http://x.org/~ina",
)
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TEXTS = st.lists(st.sampled_from(PIECES) | ANY, max_size=14).map("".join)
META = st.dictionaries(
    st.sampled_from(["author", "course", "é"]),
    ANY
    | st.integers()
    | st.floats(allow_nan=False)
    | st.lists(st.none() | st.dictionaries(ANY, ANY)),
    max_size=2,
)
SETTINGS = settings(max_examples=15, deadline=None)


def take(draw, edges):
    """Some pairs of neighbouring edges."""
    chosen = sorted(draw(st.sets(st.sampled_from(edges), max_size=8))) if edges else []
    pairs = [(a, b) for a, b in zip(chosen, chosen[1:], strict=False)]
    return [pair for pair in pairs if draw(st.booleans())]


@st.composite
def essays(draw, *, on_tokens: bool):
    """Documents with gold: at any character, or on tokens."""
    out = []
    for ident in draw(
        st.lists(st.integers(0, 99).map(str) | ANY.filter(bool), max_size=4, unique_by=str.lower)
    ):
        text = draw(TEXTS)
        if on_tokens:
            doc = blank_pipeline().make_doc(text)
            tokens = take(draw, list(range(len(doc) + 1)))
            pairs = [(doc[a].idx, doc[b - 1].idx + len(doc[b - 1])) for a, b in tokens]
        else:
            pairs = take(draw, list(range(len(text) + 1)))
        spans = [(*pair, draw(st.sampled_from(LABELS))) for pair in pairs]
        masked = []
        if spans and draw(st.booleans()):
            masked.append(spans.pop(draw(st.integers(0, len(spans) - 1)))[:2])
        out.append(LabelledText(ident, text, tuple(spans), tuple(masked), draw(META)))
    return out


def through(found, *forms):
    """Write and read in one form after another."""
    folder = Path(tempfile.mkdtemp())
    try:
        tallies = []
        for i, form in enumerate(forms):
            tally = ReadStats()
            write_corpus(found, folder / str(i), form, tally=tally)
            tallies.append(tally)
            if not found:
                return found, tallies
            reading = ReadStats()
            found = list(read_corpus(folder / str(i), form, tally=reading))
            assert not reading.masked
        return found, tallies
    finally:
        shutil.rmtree(folder)


NAMES_OF_ALL = LabelledText(
    "all",
    " ".join(LABELS),
    tuple((" ".join(LABELS).index(x), " ".join(LABELS).index(x) + len(x), x) for x in LABELS),
)
AT_LINE_ENDS = LabelledText(
    "9",
    "\ufeffIna\n\nSorel \r\n Bo\n",
    ((0, 10, "EMAIL"), (10, 11, "DATE"), (11, 14, "X"), (15, 17, "AGE")),
    ((17, 18),),
)


@pytest.mark.parametrize("form", CHARACTER_FORMS)
@SETTINGS
@example(
    found=[
        NAMES_OF_ALL,
        AT_LINE_ENDS,
        LabelledText("empty", ""),
        LabelledText("m", "Ina\nBo", (), ((0, 6),)),
    ]
)
@given(found=essays(on_tokens=False))
def test_offsets_at_any_character_survive(form, found):
    back, (tally,) = through(found, form)
    assert back == found
    assert not tally.masked


@SETTINGS
@example(found=[NAMES_OF_ALL], forms=[*FORMS_WRITTEN, *FORMS_WRITTEN[::-1]])
@given(found=essays(on_tokens=True), forms=st.permutations(FORMS_WRITTEN))
def test_offsets_survive_all_forms_one_after_another(found, forms):
    back, tallies = through(found, *forms)
    assert back == found
    assert not any(tally.masked for tally in tallies)
