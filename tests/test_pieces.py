"""What comes before WordPiece is what spacy-curated-transformers has."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pii_components.ner.layers import split_punctuation, strip_marks


@pytest.mark.parametrize(
    "text, parts",
    [
        ("d'accord", ["d", "'", "accord"]),
        ("$5+", ["$", "5", "+"]),
        ("a", ["a"]),
        ("", []),
        ("--", ["-", "-"]),
        ("x—y", ["x", "—", "y"]),
    ],
)
def test_punctuation_stands_alone(text, parts):
    assert split_punctuation(text) == parts


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_same_as_the_library(text):
    pytest.importorskip("torch")
    from spacy_curated_transformers.tokenization.wordpiece_encoder import _bert_preprocess, _strip_accents

    assert split_punctuation(text) == _bert_preprocess(text)
    assert strip_marks(text) == _strip_accents(text)
