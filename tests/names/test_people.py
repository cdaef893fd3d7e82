"""The people of a document, on the Doc. Everybody is invented."""

import json
import pickle

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from pii_components.names import people
from pii_components.names.people import identify, people_of
from pii_components.spans import Candidate, read_spans, write_spans
from tests.surrogates.conftest import make_doc, unmark
from tests.tiny import TOKENIZER

ESSAY = "I am {NAME_STUDENT|Ilse Okoro}. My friend {NAME_CONNECTED|Tom} and {NAME_STUDENT|Ilse}, of the {NAME_CONNECTED|Parkers}"


def found(marked, *numbers):
    """RETURNS (tuple): The words of each person, and whose each name is."""
    text, spans = unmark(marked)
    numbers = numbers or [None] * len(spans)
    read = identify(text, [(*span, n) for span, n in zip(spans, numbers, strict=True)])
    return [" ".join(person.words) for person in read.persons], read.owners


@pytest.mark.parametrize(
    ("marked", "persons", "owners"),
    [
        ("{NAME_STUDENT|Ana Lopez} and {NAME_STUDENT|Lopez, A.}", ["ana lopez"], [0, 0]),
        ("{NAME_STUDENT|ML} is {NAME_STUDENT|Maria Lopez}", ["maria lopez"], [0, 0]),
        ("{NAME_CONNECTED|Ann Parker}; the {NAME_CONNECTED|Parkers}", ["ann parker"], [0, 0]),
        # Nobody of the writer's life is an author that the text cites.
        ("{NAME_CITED|Ana Lopez} (2014); {NAME_STUDENT|Lopez}", ["ana lopez", "lopez"], [0, 1]),
        ("{NAME_STUDENT|1234}, {NAME_STUDENT|Ana}", ["ana"], [-1, 0]),
        ("{EMAIL|ana@x.edu}", [], []),
    ],
)
def test_who_is_named(marked, persons, owners):
    assert found(marked) == (persons, owners)


def test_numbers_of_persons_hold():
    marked = "{NAME_STUDENT|Ana Lopez}, {NAME_STUDENT|Ana}, {NAME_CITED|Lopez}"
    assert found(marked, 3, 4, 3) == (["ana lopez", "ana"], [0, 1, 0])


def test_words_have_their_places():
    read = people_of(make_doc("By {NAME_STUDENT|Lopez, Ana}; {NAME_STUDENT|A. Lopez}"))
    assert read.places == [(0, 1), (1, 0)]
    assert [[w.text for w in m.words] for m in read.mentions] == [["Lopez", "Ana"], ["A", "Lopez"]]


def through_bin(docs):
    return list(DocBin(docs=docs, store_user_data=True).get_docs(docs[0].vocab))


def through_bytes(docs):
    return [Doc(docs[0].vocab).from_bytes(doc.to_bytes()) for doc in docs]


def through_pickle(docs):
    return [pickle.loads(pickle.dumps(doc)) for doc in docs]


@pytest.mark.parametrize("way", [through_bin, through_bytes, through_pickle])
def test_people_go_where_the_doc_goes(way, monkeypatch):
    docs = [make_doc(ESSAY), make_doc(""), make_doc("By {NAME_STUDENT|M A R I A}")]
    read, plain = [people_of(doc) for doc in docs], [doc._.pii_people for doc in docs]
    again = way(docs)
    monkeypatch.setattr(people, "identify", None)
    assert [people_of(doc) for doc in again] == read
    assert [doc._.pii_people for doc in again] == plain


def test_docs_that_are_put_together_keep_their_people(monkeypatch):
    docs = [make_doc(ESSAY), make_doc("{NAME_STUDENT|Ilse}, {EMAIL|i@x.edu}"), make_doc(ESSAY)]
    write_spans(
        docs[2], [Candidate(c.start, c.end, c.label, person=1) for c in read_spans(docs[2])]
    )
    apart = [people_of(doc) for doc in docs]
    merged = Doc.from_docs(docs)
    with monkeypatch.context() as patch:
        patch.setattr(people, "identify", None)
        read = people_of(merged)
    assert read.persons == [person for one in apart for person in one.persons]
    assert read.mentions == [mention for one in apart for mention in one.mentions]
    assert [merged.text[a:b] for a, b, *_ in read.spans] == [m.text for m in read.mentions]
    # Who was known apart stays apart.
    assert read.owners[3 + 1] not in read.owners[:4]


def test_other_spans_are_read_anew():
    doc = make_doc(ESSAY)
    before = people_of(doc)
    assert people_of(doc) == before
    doc.spans["pii"] = list(doc.spans["pii"])[1:]
    assert people_of(doc).spans == before.spans[1:]
    doc.spans["pii"] = [Span(doc, 0, 1, label="NAME_STUDENT")]
    assert len(people_of(doc).persons) == 1
    for number in (1, 2):
        doc.spans["pii"][0]._.pii_person = number
        assert people_of(doc).spans[0][3] == number
    doc.spans["pii"] = []
    assert people_of(doc) == people.NO_PEOPLE


def test_no_word_is_stored():
    doc = make_doc(ESSAY)
    kept = json.dumps(doc._.pii_people).lower() + repr(doc.user_data).lower()
    assert not any(name in kept for name in ("ilse", "okoro", "parker"))


def test_people_go_through_processes(monkeypatch):
    nlp = spacy.blank("en", config=TOKENIZER)
    hips = nlp.add_pipe("hips_surrogate")
    hips.set_key(b"a key for tests, 32 bytes long..")
    docs = [make_doc(ESSAY) for _ in range(2)]
    plain = docs[0]._.pii_people
    for doc in nlp.pipe(through_bin(docs), n_process=2):
        assert doc.user_data and doc._.pii_people == plain
        monkeypatch.setattr(people, "identify", None)
        assert people_of(doc).persons
