"""Street addresses by form and place."""

import pytest
import spacy

from pii_components.labels import ID_NUM, NAME_CITED, NAME_STUDENT, STREET_ADDRESS
from pii_components.ruler.addresses import SOURCE
from pii_components.spans import Candidate, read_spans, write_spans

NLP = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
NLP.add_pipe("pii_ruler")


def found(text, *known):
    """Addresses, where a model has found `known`: (part of the text, label)."""
    doc = NLP.make_doc(text)
    spans = [(doc.char_span(text.index(part), text.index(part) + len(part)), label) for part, label in known]
    write_spans(doc, [Candidate(span.start, span.end, label, 0.7, "model") for span, label in spans])
    return [span.text for span in NLP.get_pipe("pii_ruler")(doc).spans["pii"] if span.label_ == STREET_ADDRESS]


@pytest.mark.parametrize(
    "address",
    [
        "14 Rua das Flores, Porto",
        "Rua das Flores, 14, 4050-262 Porto",
        "Calle Olmo nº 7, 28004 Madrid",
        "12, rue de la Fontaine, 75011 Paris",
        "Via Tigli 3, Bologna, Italy",
        "Lindenstraße 8, 50674 Köln",
        "Mühlweg 12a, Ulm",
        "Kossuth utca 14, 1055 Budapest",
        "Lale Sokak No: 5, Bursa",
        "Jalan Melati 21, Bandung 40115",
        "Storgatan 5, 111 51 Stockholm",
        "ul. Lipowa 8, 00-316 Warszawa",
        "1420 Oak Hill Road, Apt 7, Dayton, OH 45402",
        "22 St. Mary's Close, Leeds, LS1 4AP",
        "5 Lake Ave",
        "42 Gandhi Nagar, Pune 411001",
    ],
)
def test_forms_of_many_countries_in_a_list_of_contact_details(address):
    assert found(f"Ana Reyes | {address} | ana@example.org") == [address]
    assert found(f"Ana Reyes\n{address}\nana@example.org\n\nEssay 2") == [address]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("We live at Lindenstraße 8, 50674 Köln, above a bakery.", "Lindenstraße 8, 50674 Köln"),
        ("My parents moved to 14 Maple Street, Ana says, and stayed.", "14 Maple Street"),
        ("I live on 14 Maple Street and walk to school.", "14 Maple Street"),
        ("Home address: 14 Maple Street, Springfield", "14 Maple Street, Springfield"),
        ("Dirección: Calle Olmo 7, Madrid", "Calle Olmo 7, Madrid"),
    ],
)
def test_behind_words_for_where_somebody_lives(text, address):
    assert found(text) == [address]


@pytest.mark.parametrize(
    "text",
    [
        "The detective of 221 Baker Street solves it all. Write to ana@example.org",
        "In 1923 Wall Street fell, and 500 people took the road. Mail me: ana@example.org",
        "221 Baker Street\n\nA story of two friends who live in London.",
        "She lives at 221 Baker Street, as he does.",
        "They meet at 14 Maple Street, Springfield, in chapter 3.",
        "ana@example.org\nChapter 3 Way of the World\nWeek 2 Drive",
        "Via email 3 times, ana@example.org",
        "| , 14 | Street | ana@example.org",
    ],
)
def test_a_form_alone_is_no_address_of_anybody(text):
    assert found(text) == []


def test_a_town_or_a_postal_code_beside_a_name_is_enough():
    heading = "Ana Reyes\n14 Maple Street{}\nEssay 2"
    assert found(heading.format(", Dayton"), ("Ana Reyes", NAME_STUDENT)) == ["14 Maple Street, Dayton"]
    assert found(heading.format("\nDayton, OH 45402"), ("Ana Reyes", NAME_STUDENT)) == ["14 Maple Street\nDayton, OH 45402"]
    assert found(heading.format(""), ("Ana Reyes", NAME_STUDENT)) == []
    assert found(heading.format(", Dayton"), ("Ana Reyes", NAME_CITED)) == []


def test_the_line_of_the_town_goes_with_it():
    text = "Ana Reyes\nana@example.org\n14 Rua das Flores\n4050-262 Porto\nEssay 2"
    assert found(text) == ["14 Rua das Flores\n4050-262 Porto"]
    assert found(text.replace("4050-262 Porto", "1055 Budapest")) == ["14 Rua das Flores\n1055 Budapest"]
    for other in (
        "Fall 2023",
        "Group B2",
        "Period 3",
        "English 1012",
        "12 May 2021",
        "History 1002B Final Draft of the Long Paper",
    ):
        assert found(text.replace("4050-262 Porto", other)) == ["14 Rua das Flores"]
    assert found(text.replace("4050-262 Porto", "The year 1984 in Porto was hot")) == ["14 Rua das Flores"]


def test_the_town_may_be_the_next_part_of_a_list():
    assert found("Ana Reyes | Rua do Sol, 77 | 4050-262 Porto | ana@example.org") == ["Rua do Sol, 77 | 4050-262 Porto"]
    assert found("Ana Reyes | Rua do Sol, 77 | Essay 2 | ana@example.org") == ["Rua do Sol, 77"]
    assert found("ana@example.org | Rua do Sol, 77 |") == ["Rua do Sol, 77"]


def test_the_full_stop_of_a_sentence_is_no_part_of_it():
    assert found("Home address: 14 Maple Street. Springfield") == ["14 Maple Street"]
    assert found("I live at 14 Barn Road. Number 41 is a dentist.") == ["14 Barn Road"]
    assert found("Home address: 14 Maple Blvd., Springfield. The end") == ["14 Maple Blvd., Springfield"]
    assert found("Home address: 14 Maple St., Springfield. The end") == ["14 Maple St., Springfield"]
    assert found("He lives at 14 Maple Street.", ("14 Maple Street", STREET_ADDRESS)) == ["14 Maple Street"]


def test_what_the_model_called_a_name_gives_way_and_its_address_is_taken_in():
    text = "Ana Reyes | 14 Rua das Flores, Porto | ana@example.org"
    known = [("Ana Reyes", NAME_STUDENT), ("Flores", NAME_STUDENT), ("14 Rua", STREET_ADDRESS)]
    doc = NLP.make_doc(text)
    spans = [(doc.char_span(text.index(part), text.index(part) + len(part)), label) for part, label in known]
    write_spans(doc, [Candidate(span.start, span.end, label, 0.7, "model") for span, label in spans])
    out = read_spans(NLP.get_pipe("pii_ruler")(doc), "pii")
    assert [(doc[c.start : c.end].text, c.label) for c in out][:2] == [
        ("Ana Reyes", NAME_STUDENT),
        ("14 Rua das Flores, Porto", STREET_ADDRESS),
    ]
    assert out[1].source == SOURCE
    longer = "Ana Reyes | Flat B at 14 Maple Street | ana@example.org"
    assert found(longer, ("Flat B at 14", STREET_ADDRESS)) == ["Flat B at 14 Maple Street"]


def test_what_the_model_found_of_an_address_is_completed():
    text = "Ana Reyes | Lindenpark 8, Köln | ana@example.org"
    assert found(text, ("Lindenpark 8", STREET_ADDRESS)) == ["Lindenpark 8, Köln"]
    text = "The house at Lindenpark 8, Ana wrote to me, was sold."
    assert found(text, ("Lindenpark 8", STREET_ADDRESS)) == ["Lindenpark 8"]


def test_a_number_in_an_address_that_was_taken_for_an_id_costs_no_part_of_it():
    text = "Ana Reyes | Lindenstraße 8, 50674 Köln | ana@example.org"
    doc = NLP.make_doc(text)
    span = doc.char_span(text.index("50674"), text.index(" Köln"))
    write_spans(doc, [Candidate(span.start, span.end, ID_NUM, 0.9, "model")])
    hidden = {token.text for span in NLP.get_pipe("pii_ruler")(doc).spans["pii"] for token in span}
    assert {"Lindenstraße", "8", "50674", "Köln"} <= hidden
