"""Documents for the tests of measuring. All names are invented."""

from pii_components.evaluate.gold import Entity, GoldDocument

NAME, EMAIL = "NAME_STUDENT", "EMAIL"


def document(ident: str, text: str, found: list[tuple[str, str]], split: str = "unknown") -> GoldDocument:
    """A document whose gold entities are the first places of these texts. Tokens are words between white space."""
    tokens, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        tokens.append((start, start + len(word)))
        start += len(word)
    entities = tuple(entity(ident, text, part, label) for part, label in found)
    return GoldDocument(ident, text, entities, tuple(tokens), split)


def entity(ident: str, text: str, part: str, label: str) -> Entity:
    start = text.index(part)
    return Entity(ident, start, start + len(part), label, part)
