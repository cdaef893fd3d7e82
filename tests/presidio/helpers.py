"""A small pipeline for tests of Presidio: rules and cues, no model, so that they run in seconds and in CI."""

import spacy
from spacy.language import Language

TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
ESSAY = "Name: Ana Lopez\n\nAs Buzan (2006) says, a map helps. Write to ana.lopez@gmail.com or call (212) 555-0123."


def small_pipeline(*, surrogates: bool = False) -> Language:
    """RETURNS (Language): pii_ruler and pii_context. surrogates (bool): With hips_surrogate behind them."""
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    nlp.add_pipe("pii_context")
    if surrogates:
        nlp.add_pipe("hips_surrogate")
    return nlp


def found(results, text):
    """RETURNS (list): (entity, text) of Presidio's results, in order of the text."""
    return [(r.entity_type, text[r.start : r.end]) for r in sorted(results, key=lambda r: r.start)]
