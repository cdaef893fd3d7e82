"""Synthetic essays with their labels: the analyzer's results are the gold, so no model is needed."""

import random
import re
from functools import cache
from pathlib import Path

import spacy
from presidio_anonymizer.entities import RecognizerResult
from spacy.tokens import Doc

from pii_components.corpus.build import Filled, Filler
from pii_components.corpus.templates import read_templates
from pii_components.labels import PRESIDIO_ENTITIES
from pii_components.names.table import name_table
from pii_components.spans import Candidate, write_spans

KEY = b"a key for tests, 32 bytes long.."
ASSETS = Path(__file__).parents[2] / "assets"
_NLP = spacy.blank("en")


@cache
def essays(n: int = 200) -> tuple[Filled, ...]:
    """RETURNS (tuple[Filled, ...]): Essays of ours, filled with invented people; the same ones each time."""
    found = []
    for i, template in enumerate(read_templates(ASSETS)):
        filled = Filler(name_table(), random.Random(i), genders=template.genders).fill(template.parts)
        if len(filled.spans) > 1:
            found.append(filled)
        if len(found) == n:
            break
    return tuple(found)


def as_doc(filled: Filled) -> Doc:
    """RETURNS (Doc): Tokens cut at the spans, and `doc.spans["pii"]`."""
    text = filled.text
    cuts = sorted({0, len(text), *(x for a, b, _ in filled.spans for x in (a, b))})
    words = [w for a, b in zip(cuts, cuts[1:], strict=False) for w in re.findall(r"\s+|\S+", text[a:b])]
    doc = Doc(_NLP.vocab, words=words, spaces=[False] * len(words))
    found = [doc.char_span(a, b) for a, b, _ in filled.spans]
    write_spans(doc, [Candidate(s.start, s.end, label) for s, (_, _, label) in zip(found, filled.spans, strict=True)])
    return doc


def as_results(filled: Filled, *, presidio: bool = False) -> list[RecognizerResult]:
    """RETURNS (list[RecognizerResult]): The spans as an analyzer gives them. presidio (bool): With Presidio's names, and our labels in the
    metadata, as StudentPiiRecognizer does it."""
    results = []
    for start, end, label in filled.spans:
        result = RecognizerResult(PRESIDIO_ENTITIES[label] if presidio else label, start, end, 1.0)
        result.recognition_metadata = {"pii_label": label} if presidio else {}
        results.append(result)
    return results
