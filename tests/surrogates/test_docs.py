"""What the component reads from a Doc and writes to it, beside what spaCy's own functions give."""

import pytest
import spacy
from spacy.tokens import Span

from pii_components.errors import PiiError
from pii_components.spans import Candidate, write_spans
from pii_components.surrogates.component import BatchText, Found, read_group, write_ents

TEXT = "Ana  met Zoë \U0001f600 at\n\nAshby's; Ana said: 「はい」. "


@pytest.fixture
def nlp():
    return spacy.blank("en")


def found(doc, start, end, label):
    span = Span(doc, start, end, label=label)
    return Found(label, span.start_char, span.end_char, span)


def test_entities_are_as_spacy_sets_them(nlp):
    one, other = nlp.make_doc(TEXT), nlp.make_doc(TEXT)
    spans = [(0, 1, "NAME_STUDENT"), (2, 4, "LOCATION"), (4, 5, "LOCATION")]
    for doc in (one, other):
        doc.ents = [Span(doc, 1, 3, label="ORG", kb_id="Q1")]
    write_ents(one, [found(one, *span).span for span in spans])
    other.set_ents([Span(other, start, end, label=label) for start, end, label in spans])
    assert [(e.start, e.end, e.label_, e.kb_id) for e in one.ents] == [(e.start, e.end, e.label_, e.kb_id) for e in other.ents]
    assert [(t.ent_iob_, t.ent_type_) for t in one] == [(t.ent_iob_, t.ent_type_) for t in other]
    write_ents(one, [])
    assert not one.ents and {t.ent_iob_ for t in one} == {"O"}
    write_ents(nlp.make_doc(""), [])


@pytest.mark.parametrize("text", [TEXT, "", " ", "\n\n Ana", "Ana.Ana"])
def test_the_text_is_that_of_the_document(nlp, text):
    texts = BatchText()
    assert texts.text(nlp.make_doc(text)) == text == texts.text(nlp.make_doc(text))


def test_groups_are_read_sorted_and_without_overlaps(nlp):
    doc = nlp.make_doc("Ana Lopez met Bo")
    assert read_group(doc, "pii") == []
    write_spans(doc, [Candidate(0, 2, "NAME_STUDENT"), Candidate(3, 4, "NAME_CITED")])
    tidy = [found(doc, 0, 2, "NAME_STUDENT"), found(doc, 3, 4, "NAME_CITED")]
    assert [t[:3] for t in tidy] == [("NAME_STUDENT", 0, 9), ("NAME_CITED", 14, 16)]
    assert read_group(doc, "pii") == tidy
    doc.spans["pii"] = [
        Span(doc, 3, 4, label="NAME_CITED"),
        Span(doc, 1, 2, label="NAME_STUDENT"),
        Span(doc, 0, 2, label="NAME_STUDENT"),
    ]
    assert read_group(doc, "pii") == tidy
    doc.spans["pii"] = [Span(doc, 0, 1, label="NOBODY")]
    with pytest.raises(PiiError) as err:
        read_group(doc, "pii")
    assert err.value.code == "E002"
