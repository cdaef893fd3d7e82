"""Documents for the tests of measuring. All names are invented."""

import json
from pathlib import Path

from pii_components.evaluate.gold import Entity, GoldDocument

NAME, EMAIL = "NAME_STUDENT", "EMAIL"
CASES = json.loads((Path(__file__).parents[1] / "data/evaluate_cases.json").read_text("utf8"))


def document(
    ident: str, text: str, found: list[tuple[str, str]], split: str = "unknown"
) -> GoldDocument:
    """A document whose gold entities are the first places of these texts. Tokens are words between white space."""
    tokens, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        tokens.append((start, start + len(word)))
        start += len(word)
    entities = tuple(
        Entity(ident, text.index(part), text.index(part) + len(part), label, part)
        for part, label in found
    )
    return GoldDocument(ident, text, entities, tuple(tokens), split)


def offsets(entities):
    return [(e.document, e.start, e.end, e.label) for e in entities]
