"""Names in scripts of their own, put together with what the model proposed.

    merged = with_native(doc, candidates)

The model reads such a name in pieces or as a user name. What `native_names` is sure of becomes one name with both ends right; whose it is,
the model said if it did, and `pii_context` decides.
"""

from collections.abc import Sequence

from spacy.tokens import Doc

from .labels import ROLES, STUDENT, USERNAME, is_name, label_for_role
from .native_names import native_names
from .spans import Candidate

SOURCE = "native_name"
_SCORE = 0.9
# Share of an even guess in the roles: the model read such names in training seldom, and is surer of their role than it should be.
_DOUBT = 0.4


def with_native(doc: Doc, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Add names in scripts of their own.

    doc (Doc): The document. candidates (Sequence[Candidate]): What was found, sorted, without overlaps.
    RETURNS (list[Candidate]): The same, where a run of another script is a name with that name in the place of what lay inside of it; what
        reaches beyond the name, as "Ana 김지민" does, keeps its ends.
    """
    text = doc.text
    if text.isascii():
        return list(candidates)
    seen = [(doc[c.start].idx, doc[c.end - 1].idx + len(doc[c.end - 1])) for c in candidates if is_name(c.label)]
    out = list(candidates)
    for found in native_names(text, seen=seen):
        span = doc.char_span(found.start, found.end, alignment_mode="expand")
        if span is None or any(char.isalnum() for char in text[span.start_char : found.start] + text[found.end : span.end_char]):
            continue  # half of a token
        touched = [c for c in out if c.start < span.end and c.end > span.start]
        names = [c for c in touched if is_name(c.label)]
        others = [c for c in touched if not is_name(c.label)]
        handle = text[span.start_char] == "@"
        # A detail that a rule found, or a handle, is no name.
        if any(c.label != USERNAME or c.source != "model" or handle for c in others):
            continue
        best = max(names, key=lambda c: c.score, default=None)
        flat = (1 / len(ROLES),) * len(ROLES)
        read = best.roles if best is not None and len(best.roles) == len(ROLES) else flat
        roles = tuple((1 - _DOUBT) * role + _DOUBT * even for role, even in zip(read, flat, strict=True))
        label = best.label if best is not None else label_for_role(STUDENT)
        start, end = min([span.start, *(c.start for c in names)]), max([span.end, *(c.end for c in names)])
        score = max(_SCORE, *(c.score for c in names)) if names else _SCORE
        new = Candidate(start, end, label, score, SOURCE, f"a name in a script of its own: {found.reason}", roles)
        out = [c for c in out if c not in touched] + [new]
    return sorted(out, key=lambda c: c.start)
