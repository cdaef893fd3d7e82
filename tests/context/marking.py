"""Documents for `pii_context` with the candidates that stand in [[...]], or [[.3:...]] with their score; [[Ana Lopez|STUDENT]] has its gold."""

import re
from functools import cache

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from pii_components.context.classifier import PersonModel
from pii_components.context.component import PiiContext
from pii_components.context.features import features
from pii_components.context.heads import OWNED, SHAPES, Heads
from pii_components.context.mentions import MentionScorer, People, find_people
from pii_components.context.view import ContextSettings, DocView
from pii_components.files.formats.base import LabelledText
from pii_components.labels import NAME_STUDENT, ROLES, is_name, label_for_role
from pii_components.ruler.tokenizer import make_student_tokenizer
from pii_components.spans import Candidate, read_spans, write_spans

from ..tiny import TOKENIZER, cases

NLP = spacy.blank("en")
NLP.tokenizer = make_student_tokenizer(NLP)
CONTEXT = PiiContext()
BODY = "The town is old and the river is long, and every spring the water comes up to the doors.\n"
_MARK = re.compile(r"\[\[(?:(\.\d+):)?(.+?)(?:\|(\w+))?\]\]", re.DOTALL)

# One student, friend, author ... after the other, to learn from.
TEXTS = tuple(cases("context_tables")["taught"])


def unmarked(text: str) -> tuple[str, list[tuple[int, int, float, str]]]:
    """RETURNS (tuple): The text, and start, end, score and gold of what is marked."""
    plain, found, at = "", [], 0
    for match in _MARK.finditer(text):
        plain += text[at : match.start()]
        start, plain = len(plain), plain + match[2]
        found.append((start, len(plain), float(match[1] or 0.9), match[3] or ""))
        at = match.end()
    return plain + text[at:], found


def marked(text: str, model: str | None = None) -> Doc:
    """model: the role of all candidates, where others than our detector have found them."""
    plain, spans = unmarked(text)
    doc = NLP(plain)
    label, cands = label_for_role(model or "STUDENT"), []
    for start, end, score, _ in spans:
        span = doc.char_span(start, end, alignment_mode="expand")
        cands.append(Candidate(span.start, span.end, label, score, "model", "model"))
    write_spans(doc, cands)
    return doc


def labelled(text: str, ident: str = "a") -> LabelledText:
    plain, spans = unmarked(text)
    golds = [(a, b, label_for_role(gold)) for a, b, _, gold in spans if gold in ROLES]
    return LabelledText(ident, plain, tuple(golds))


def names_in(doc: Doc) -> list[list[str]]:
    return [[span.text, span._.pii_role] for span in doc.spans["pii"] if is_name(span.label_)]


def view_of(text: str) -> DocView:
    return DocView(NLP(text), ContextSettings())


def name(span: Span | tuple[int, int], source: str = "model") -> Candidate:
    start, end = span if isinstance(span, tuple) else (span.start, span.end)
    return Candidate(start, end, NAME_STUDENT, 0.9, source)


def people_of(text: str, score: MentionScorer | None = None) -> People:
    doc = marked(text)
    return find_people(DocView(doc, ContextSettings()), read_spans(doc), score)[0]


_TAUGHT = {plain[a:b] for plain, found in map(unmarked, TEXTS) for a, b, *_ in found}
KNOWN = re.compile("|".join(sorted(_TAUGHT, key=len, reverse=True)))


@Language.component("context_test_names")
def know_names(doc: Doc) -> Doc:
    """As a detector: marks the names of TEXTS in any text."""
    found = [doc.char_span(*m.span(), alignment_mode="expand") for m in KNOWN.finditer(doc.text)]
    write_spans(doc, [name(span) for span in found])
    return doc


def pipeline() -> Language:
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("context_test_names")
    nlp.add_pipe("pii_context")
    return nlp


@cache
def learned() -> PersonModel:
    """RETURNS (PersonModel): What the people of TEXTS teach."""
    from scripts.classifier import collect, fit

    texts = [labelled(text, str(n)) for n, text in enumerate(TEXTS)]
    return fit(collect(pipeline(), texts), l2=0.3)


def always(*chances: float) -> PersonModel:
    """RETURNS (PersonModel): The same of everybody: probabilities of five roles, and of no name."""
    n = len(features())
    bias = numpy.log(numpy.maximum(numpy.asarray(chances, dtype="f8"), 1e-300))
    return PersonModel(numpy.zeros(n), numpy.ones(n), numpy.zeros((n, 6)), bias)


@cache
def heads() -> Heads:
    """RETURNS (Heads): With random weights."""
    rng, weights = numpy.random.default_rng(5), {}
    for name, (n_out, n_in) in SHAPES.items():
        weights[f"{name}.weight"] = rng.normal(size=(n_out, n_in), scale=n_in**-0.5).astype("f4")
        weights[f"{name}.bias"] = rng.normal(size=n_out).astype("f4")
    return Heads(weights)


def heads_saying(**owned: float) -> Heads:
    """RETURNS (Heads): That read nothing: all roles are equally likely, and a thing has the log-odds of its label."""
    weights = {name: numpy.zeros_like(value) for name, value in heads().weights.items()}
    for label, log_odds in owned.items():
        weights["owned.3.bias"][OWNED.index(label)] = log_odds
    return Heads(weights)


def context_of(model: PersonModel | None, heads: Heads | None = None, **options) -> PiiContext:
    context = PiiContext(**options)
    context.classifier, context.heads = model, heads
    return context
