"""What the component reads from a Doc and writes to it, beside what spaCy's own functions give."""

import pickle

import pytest
import spacy
from spacy.tokens import Doc, Span

from pii_components.errors import PiiError
from pii_components.spans import Candidate, write_spans
from pii_components.surrogates import docs
from pii_components.surrogates.docs import Found, Texts, read_group, write_ents
from pii_components.surrogates.hips import HipsSurrogate

TEXT = "Ana  met Zoë \U0001f600 at\n\nAshby's; Ana said: 「はい」. "


@pytest.fixture
def nlp():
    return spacy.blank("en")


def test_texts_are_those_of_the_documents(nlp):
    texts = Texts()
    for text in (TEXT, "", " ", "Ana", "Ana met Ana.", TEXT[::-1], TEXT):
        assert texts.read(nlp.make_doc(text)) == text
    assert texts.read(Doc(nlp.vocab, words=["Ana", "met"], spaces=[False, True])) == "Anamet "


def test_texts_of_another_vocabulary(nlp):
    texts, other = Texts(), spacy.blank("de")
    assert [texts.read(n.make_doc(t)) for n, t in ((nlp, "Ana met"), (other, "met Bo"), (nlp, "Bo Ana"))] == [
        "Ana met",
        "met Bo",
        "Bo Ana",
    ]


def test_few_tokens_are_kept(nlp, monkeypatch):
    monkeypatch.setattr(docs, "MAX_WORDS", 20)
    texts = Texts()
    for i in range(50):
        text = " ".join(f"w{i}x{n}" for n in range(7))
        assert texts.read(nlp.make_doc(text)) == text
        assert len(texts._kept[1]) <= 27


def test_nothing_is_kept_of_a_memory_zone(nlp):
    texts = Texts()
    with nlp.memory_zone():
        assert texts.read(nlp.make_doc(TEXT)) == TEXT
    assert texts._kept is None


def test_nothing_is_kept_in_a_copy(nlp):
    hips = HipsSurrogate()
    hips.set_key(b"k" * 32)
    hips(nlp.make_doc("Zanfort Quillip"))
    assert b"Quillip" not in pickle.dumps(hips)
    assert b"Quillip" not in hips.to_bytes()


def test_entities_are_as_spacy_sets_them(nlp):
    found = [Found(0, 1, "NAME_STUDENT", 0, 3), Found(2, 4, "LOCATION", 9, 12), Found(4, 5, "LOCATION", 12, 14)]
    one, other = nlp.make_doc(TEXT), nlp.make_doc(TEXT)
    for doc in (one, other):
        doc.ents = [Span(doc, 1, 3, label="ORG", kb_id="Q1")]
    write_ents(one, found)
    other.set_ents([Span(other, f.start, f.end, label=f.label) for f in found])
    assert [(e.start, e.end, e.label_, e.kb_id) for e in one.ents] == [(e.start, e.end, e.label_, e.kb_id) for e in other.ents]
    assert [(t.ent_iob_, t.ent_type_) for t in one] == [(t.ent_iob_, t.ent_type_) for t in other]
    write_ents(one, [])
    assert not one.ents and {t.ent_iob_ for t in one} == {"O"}
    write_ents(nlp.make_doc(""), [])


def test_groups_are_read_sorted_and_without_overlaps(nlp):
    doc = nlp.make_doc("Ana Lopez met Bo")
    assert read_group(doc, "pii") == []
    write_spans(doc, [Candidate(0, 2, "NAME_STUDENT"), Candidate(3, 4, "NAME_CITED")])
    tidy = [Found(0, 2, "NAME_STUDENT", 0, 9), Found(3, 4, "NAME_CITED", 14, 16)]
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
