"""What the component reads from a Doc and writes to it, beside what spaCy's own functions give."""

import pytest
import spacy
from spacy.pipeline.span_ruler import prioritize_existing_ents_filter, prioritize_new_ents_filter
from spacy.tokens import Span

from pii_components.errors import PiiError
from pii_components.spans import write_ents
from pii_components.surrogates.component import read_group

TEXT = "Ana  met Zoë \U0001f600 at\n\nAshby's; Ana said: 「はい」. "
STUDENT, PLACE = (0, 1, "NAME_STUDENT"), (2, 4, "LOCATION")


@pytest.fixture
def nlp():
    return spacy.blank("en")


@pytest.mark.parametrize(
    ("ents_filter", "expected"),
    [
        (prioritize_new_ents_filter, [STUDENT, PLACE, (6, 8, "GPE")]),
        (prioritize_existing_ents_filter, [STUDENT, (1, 3, "ORG"), (6, 8, "GPE")]),
    ],
)
def test_entities_of_others_stay(nlp, ents_filter, expected):
    doc = nlp.make_doc(TEXT)
    doc.spans["pii"] = []
    doc.ents = [Span(doc, 1, 3, label="ORG", kb_id="Q1"), Span(doc, 6, 8, label="GPE")]
    write_ents(doc, [Span(doc, a, b, label=label) for a, b, label in (STUDENT, PLACE)], ents_filter)
    assert [(e.start, e.end, e.label_) for e in doc.ents] == expected
    write_ents(doc, [Span(doc, 0, 1, label=STUDENT[2])], ents_filter)
    ents = [(e.start, e.end, e.label_) for e in doc.ents]
    assert PLACE not in ents and (6, 8, "GPE") in ents
    assert {t.ent_iob_ for t in doc} == {"O", "B", "I"}
    write_ents(nlp.make_doc(""), [], ents_filter)


def test_groups_are_sorted_without_overlaps(nlp):
    doc = nlp.make_doc("Ana Lopez met Bo")
    assert read_group(doc, "pii") == []
    tidy = [Span(doc, 0, 2, label="NAME_STUDENT"), Span(doc, 3, 4, label="NAME_CITED")]
    doc.spans["pii"] = tidy[::-1]
    assert read_group(doc, "pii") == tidy
    doc.spans["pii"] = [tidy[1], Span(doc, 1, 2, label="NAME_STUDENT"), tidy[0]]
    assert read_group(doc, "pii") == tidy
    doc.spans["pii"] = [Span(doc, 0, 1, label="COURSE")]  # a user's own
    assert [span.label_ for span in read_group(doc, "pii")] == ["COURSE"]
    doc.spans["pii"] = [Span(doc, 0, 1)]
    with pytest.raises(PiiError, match="E001"):
        read_group(doc, "pii")
