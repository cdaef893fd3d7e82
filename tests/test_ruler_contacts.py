"""User names among contact details, and ID numbers that are not plain digits."""

import pytest
import spacy

from pii_components.labels import EMAIL, ID_NUM, NAME_STUDENT, STREET_ADDRESS, USERNAME
from pii_components.spans import Candidate, write_spans

NLP = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
NLP.add_pipe("pii_ruler")


def found(text, label):
    doc = NLP(text)
    return [span.text for span in doc.spans["pii"] if span.label_ == label]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ana Reyes | ana@example.org | anar97 | 555-014-2233", ["anar97"]),
        ("ana@example.org; anar97", ["anar97"]),
        ("ana@example.org - an_reyes", ["an_reyes"]),
        ("ana@example.org, AnaReyes9\t(202) 555-0143", ["AnaReyes9"]),
        ("Contact: +1 202 555 0143 / anar97", ["anar97"]),
        ("Ana Reyes, ana@example.org\nanar97; Lisbon", ["anar97"]),
        ("ana@example.org • @anar97 • section 4", ["@anar97"]),
        # A word for it, and nothing else.
        ("ana@example.org - user anareyes - section 4", ["anareyes"]),
        ("Ana Reyes, ana@example.org\nalias: plover | nick = an.reyes", ["plover", "an.reyes"]),
        # Two names joined, among two details.
        ("ana@example.org; 555-014-2233; anareyes", ["anareyes"]),
    ],
)
def test_user_names_among_contact_details(text, names):
    assert found(text, USERNAME) == names


@pytest.mark.parametrize(
    "text",
    [
        "ana@example.org, grade10, ENG101, Bio101 - room12",
        "ana@example.org | draft_2 | essay_final | week3",
        "I wrote to ana@example.org, and anar97 was what she played as, which nobody in the whole group had known before",
        "Ana Reyes | anar97 | Lisbon",
        "ana@example.org",
        "ana@example.org; anareyes; section 4",
        "ana@example.org; 555-014-2233; engineering",
        "ana@example.org - user research - draft",
        "ana@example.org\n\nThe tools were python3, numpy2 and some others; they ran, as he says, on any old machine in the room - anyway",
        "Results: group1; group2; group3",
        " | ; , - ",
    ],
)
def test_what_is_no_list_of_contact_details_or_no_user_name(text):
    assert found(text, USERNAME) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Ana Reyes - ana@example.org; pin wBn:7Kx31", ["wBn:7Kx31"]),
        ("Pin number tLp:G88vE - ana@example.org", ["tLp:G88vE"]),
        ("ana@example.org | INTERVIEWEE hW2NQ8B7", ["hW2NQ8B7"]),
        ("ana@example.org | Interviewer no.: UwbnkTCo", ["UwbnkTCo"]),
        ("ana@example.org | id : 4d9nB7Lqp | room 4", ["4d9nB7Lqp"]),
        ("ana@example.org | pin board | room 4", []),
        ("ana@example.org | id card | Number one", []),
        ("The pin wBn:7Kx31 was on the door.", []),
    ],
)
def test_numbers_with_a_word_for_it_among_contact_details(text, numbers):
    assert found(text, ID_NUM) == numbers


def test_what_is_known_stays_what_it_is():
    doc = NLP("ana97@example.org | http://ana97.example.net/ana97 | 555-014-2233")
    assert USERNAME not in {span.label_ for span in doc.spans["pii"]}


def test_what_the_model_took_for_something_else_is_found():
    """It saw an e-mail address, which has no such form and is dropped."""
    doc = NLP.make_doc("Ana Reyes | ana@example.org | anar97")
    write_spans(doc, [Candidate(len(doc) - 1, len(doc), EMAIL, 0.8, "model")])
    assert [(s.text, s.label_) for s in NLP.get_pipe("pii_ruler")(doc).spans["pii"]] == [
        ("ana@example.org", EMAIL),
        ("anar97", USERNAME),
    ]


def test_what_an_id_leaves_of_an_address_stays_an_address():
    """The model's address began within the number before it."""
    doc = NLP.make_doc("roll # Xy9aB|42, 7 Juniper Lane, Ashford; Lisbon")
    words = [token.text for token in doc]
    begin, end = words.index("Juniper") - 3, words.index("Ashford") + 1
    write_spans(doc, [Candidate(begin, end, STREET_ADDRESS, 0.6, "model")])
    ruled = NLP.get_pipe("pii_ruler")(doc)
    assert [(s.text, s.label_) for s in ruled.spans["pii"]] == [
        ("Xy9aB|42", ID_NUM),
        ("7 Juniper Lane, Ashford", STREET_ADDRESS),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("roll number: AbQxTr; Lisbon", "AbQxTr"),
        ("Roll no. 12,34,56,7 - Lisbon", "12,34,56,7"),
        ("student number: qR7Zt2", "qR7Zt2"),
        ("id no: 44,1,20,9", "44,1,20,9"),
        ("Roll # Xy9aB|42", "Xy9aB|42"),
        ("registration number 12,345,678.", "12,345,678"),
        ("Candidate number = TW:92841", "TW:92841"),
    ],
)
def test_ids_of_letters_and_groups(text, value):
    assert found(text, ID_NUM) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "I have no id number. Then we went home",
        "see the id no JavaScript can read",
        "Interviewee number: 12 people answered",
        "The student number 2 said so",
        "roll number: 1990-1995",
        "candidate no: McDonald",
        "the student number rose 3,4,5 times",
        "the pin code: abcdef",
        "The registration code of 12,5 percent",
    ],
)
def test_words_years_and_amounts_are_no_ids(text):
    assert found(text, ID_NUM) == []


def test_a_class_list_is_read_in_linear_time():
    import time

    from pii_components.names.normalize import NormalizedView
    from pii_components.ruler.finders import in_contact_lines
    from pii_components.ruler.merge import Page
    from pii_components.spans import read_spans

    def seconds(n):
        doc = NLP("".join(f"Ana Reyes | ana{k}@example.org | anar{k} | 4b\n" for k in range(n)))
        page, known = Page(doc, NormalizedView(doc.text)), [c for c in read_spans(doc) if c.label != USERNAME]
        began = time.process_time()
        assert len(in_contact_lines(page, known)) == n
        return time.process_time() - began

    seconds(50)
    assert seconds(3000) < 40 * max(seconds(300), 0.005)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Ana Reyes / ST10077991 / Business 2B", "ST10077991"),
        ("Ana Reyes/10077991", "10077991"),
        ("x / 10077991", None),
        ("Ana Reyes: 20 / 10077991", None),
        ("Ana Reyes = 10077991", None),
    ],
)
def test_a_stroke_between_a_name_and_its_number_is_no_fraction(text, number):
    doc = NLP.make_doc(text)
    write_spans(doc, [Candidate(0, 2, NAME_STUDENT, 0.99, "model")])
    assert [s.text for s in NLP.get_pipe("pii_ruler")(doc).spans["pii"] if s.label_ == ID_NUM] == ([number] if number else [])
