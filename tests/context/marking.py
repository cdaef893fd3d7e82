"""Documents for `pii_context` with the candidates that stand in [[...]], or [[.3:...]] with their score."""

import re

import spacy
from spacy.tokens import Doc, Span

from pii_components.context.component import PiiContext
from pii_components.context.settings import ContextSettings
from pii_components.context.view import DocView
from pii_components.labels import NAME_STUDENT, ROLES, is_name, label_for_role
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate, write_spans

NLP = spacy.blank("en")
NLP.tokenizer = make_student_tokenizer(NLP)
CONTEXT = PiiContext()
EVEN = (0.2,) * 5
_MARK = re.compile(r"\[\[(?:(\.\d+):)?(.+?)\]\]", re.DOTALL)


def marked(text: str, model: str | None = None) -> Doc:
    """model: the role as which the detector reads all candidates; it says nothing of their role without one."""
    plain, spans, at = "", [], 0
    for match in _MARK.finditer(text):
        plain += text[at : match.start()]
        spans.append((len(plain), len(plain) + len(match[2]), float(match[1] or 0.9)))
        plain += match[2]
        at = match.end()
    doc = NLP(plain + text[at:])
    roles = tuple(0.6 if role == model else 0.1 for role in ROLES) if model else EVEN
    found = [(doc.char_span(start, end, alignment_mode="expand"), score) for start, end, score in spans]
    write_spans(doc, [Candidate(s.start, s.end, label_for_role(model or "STUDENT"), p, "model", "model", roles) for s, p in found])
    return doc


def names_in(doc: Doc) -> list[list[str]]:
    return [[span.text, span._.pii_role] for span in doc.spans["pii"] if is_name(span.label_)]


def view_of(text: str) -> DocView:
    return DocView(NLP(text), ContextSettings())


def name(span: Span | tuple[int, int], source: str = "model") -> Candidate:
    start, end = span if isinstance(span, tuple) else (span.start, span.end)
    return Candidate(start, end, NAME_STUDENT, 0.9, source)
