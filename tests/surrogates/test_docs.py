"""What the component reads from a Doc and writes to it, beside what spaCy's own functions give."""

import pytest
import spacy
from spacy.pipeline.span_ruler import prioritize_existing_ents_filter, prioritize_new_ents_filter
from spacy.tokens import Span

from pii_components.errors import PiiError
from pii_components.spans import Candidate, write_ents, write_spans
from pii_components.surrogates.component import BatchText, Found, read_group

TEXT = "Ana  met Zoë \U0001f600 at\n\nAshby's; Ana said: 「はい」. "


@pytest.fixture
def nlp():
    return spacy.blank("en")


def found(doc, start, end, label):
    span = Span(doc, start, end, label=label)
    return Found(label, span.start_char, span.end_char, span)


@pytest.mark.parametrize(
    ("ents_filter", "expected"),
    [
        (prioritize_new_ents_filter, [(0, 1, "NAME_STUDENT"), (2, 4, "LOCATION"), (6, 8, "GPE")]),
        (prioritize_existing_ents_filter, [(0, 1, "NAME_STUDENT"), (1, 3, "ORG"), (6, 8, "GPE")]),
    ],
)
def test_entities_of_others_stay_and_ours_are_replaced(nlp, ents_filter, expected):
    doc = nlp.make_doc(TEXT)
    doc.spans["pii"] = []
    doc.ents = [Span(doc, 1, 3, label="ORG", kb_id="Q1"), Span(doc, 6, 8, label="GPE")]
    for spans, seen in (
        ([(0, 1, "NAME_STUDENT"), (2, 4, "LOCATION")], expected),
        ([(0, 1, "NAME_STUDENT")], None),
    ):
        write_ents(doc, [found(doc, *span).span for span in spans], ents_filter)
        ents = [(e.start, e.end, e.label_) for e in doc.ents]
        assert ents == seen or (
            seen is None and (2, 4, "LOCATION") not in ents and (6, 8, "GPE") in ents
        )
    assert {t.ent_iob_ for t in doc} == {"O", "B", "I"}
    write_ents(nlp.make_doc(""), [], ents_filter)


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
    doc.spans["pii"] = [Span(doc, 0, 1, label="COURSE")]  # a user's own
    assert read_group(doc, "pii") == [found(doc, 0, 1, "COURSE")]
    doc.spans["pii"] = [Span(doc, 0, 1)]
    with pytest.raises(PiiError) as err:
        read_group(doc, "pii")
    assert err.value.code == "E001"
