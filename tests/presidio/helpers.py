"""Small pipelines for tests of Presidio: they run in seconds and in CI, without the model that ships."""

import re

import spacy
from spacy.language import Language

from pii_components.spans import Candidate, write_spans

TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}
ESSAY = "Name: Ana Lopez\n\nAs Buzan (2006) says, a map helps. Write to ana.lopez@gmail.com or call (212) 555-0123."
# What `presidio_test_names` finds: label, score, probability of each role, reason.
KNOWN = {
    "Ana Lopez": ("NAME_STUDENT", 0.9375, (0.9, 0.02, 0.02, 0.05, 0.01), "student: signs the essay"),
    "Buzan": ("NAME_CITED", 0.75, (0.1, 0.0, 0.0, 0.9, 0.0), "cited: year in brackets follows"),
    "Zed": ("NAME_CHARACTER", 0.5, (0.1, 0.0, 0.0, 0.1, 0.8), "character: figure in a story"),
    "Ms. Roe": ("NAME_INSTRUCTOR", 0.625, (0.1, 0.8, 0.1, 0.0, 0.0), "instructor: handed in to"),
    "May 4, 2021": ("DATE", 0.5, (), "date"),
}


@Language.factory("presidio_test_names", assigns=["doc.spans"])
class Names:
    """Finds what is in `KNOWN`, and counts the texts that it has seen."""

    def __init__(self, nlp, name):
        self.texts = []

    def __call__(self, doc):
        self.texts.append(doc.text)
        cands = []
        for value, (label, score, roles, reason) in KNOWN.items():
            for match in re.finditer(re.escape(value), doc.text):
                span = doc.char_span(*match.span(), alignment_mode="expand")
                cands.append(Candidate(span.start, span.end, label, score=score, source="model", reason=reason, roles=roles))
        write_spans(doc, cands)
        return doc


def names_pipeline(lang: str = "en") -> Language:
    """RETURNS (Language): With `presidio_test_names` alone; `nlp.get_pipe("names").texts` are the texts that it has seen."""
    nlp = spacy.blank(lang)
    nlp.add_pipe("presidio_test_names", name="names")
    return nlp


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
