"""`pii_ruler`: valid and invalid values side by side, what it does to the model's proposals, and how it is saved."""

import doctest
import importlib
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from pii_components.errors import PiiError
from pii_components.labels import LABELS
from pii_components.ruler.component import PiiRuler
from pii_components.ruler.patterns import compile_patterns, shipped_patterns
from pii_components.ruler.validators import Hit
from pii_components.ruler.tokenizer import create_student_tokenizer
from pii_components.ruler.urls import judge_url
from pii_components.spans import Candidate, read_spans, write_spans

CASES = Path(__file__).parent / "data" / "regression_cases" / "ruler.json"
CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}


@pytest.fixture(scope="module")
def nlp():
    pipeline = spacy.blank("en", config=CONFIG)
    pipeline.add_pipe("pii_ruler")
    return pipeline


@pytest.fixture(scope="module")
def ruler(nlp):
    return nlp.get_pipe("pii_ruler")


def found(nlp, text):
    doc = nlp(text)
    return [(span.text, span.label_) for span in doc.spans["pii"]]


def propose(nlp, text, *proposals):
    """A Doc with proposals of a model, given as (words, label)."""
    doc = nlp.make_doc(text)
    cands = []
    for words, label in proposals:
        start = text.index(words)
        span = doc.char_span(start, start + len(words), alignment_mode="expand")
        cands.append(Candidate(span.start, span.end, label, score=0.7, source="model"))
    write_spans(doc, cands)
    return doc


def after(ruler, doc):
    return [(doc[c.start : c.end].text, c.label) for c in ruler.find_spans(doc)]


# fmt: off
# text, value (empty: the whole text), label
VALID = [
    # e-mail
    ("write to ana.lopez@uni.edu. Thanks", "ana.lopez@uni.edu", "EMAIL"), ("Email:ana@x.org", "ana@x.org", "EMAIL"),
    ("ANA@UNI.EDU.IN", "", "EMAIL"), ("<ana+w3@x.co.uk>", "ana+w3@x.co.uk", "EMAIL"),
    ("ana@x.org.Then", "ana@x.org", "EMAIL"), ("ana@xn--bcher-kva.de", "", "EMAIL"), ("ana@gmail.con", "", "EMAIL"),
    ("ana＠x．org", "", "EMAIL"), ("ana\u200b@x.org", "", "EMAIL"), ("\u0430na@x.org", "", "EMAIL"),
    ("write ana dot lopez at gmail dot com please", "ana dot lopez at gmail dot com", "EMAIL"),
    ("my email is lopez at gmail dot com", "lopez at gmail dot com", "EMAIL"), ("ana [at] uni (dot) edu", "", "EMAIL"),
    ("ana(at)uni.edu", "", "EMAIL"), ("john dot doe at gmail", "", "EMAIL"), ("ana_at_uni_dot_edu", "", "EMAIL"),
    ("ana @ gmail . com", "", "EMAIL"), ("ana@gmail", "", "EMAIL"), ("mailto:ana@x.org", "ana@x.org", "EMAIL"),
    ("ana . lopez7 @ orange . fr", "", "EMAIL"), ("write me on ana.lopez7 AT orange, please", "ana.lopez7 AT orange", "EMAIL"),
    # digit by digit
    ("Exam no. 8.7.2.6.0.2.8 / Q3", "8.7.2.6.0.2.8", "ID_NUM"), ("my ID is 1 1 5 8 8 4.", "1 1 5 8 8 4", "ID_NUM"),
    ("badge B I 8 7 5 0 1 6 here", "B I 8 7 5 0 1 6", "ID_NUM"), ("call me 5 5 5 0 1 2 3 4 5 6", "5 5 5 0 1 2 3 4 5 6", "PHONE_NUM"),
    ("it is 5.5.5.0.1.2.3.4.7.6", "5.5.5.0.1.2.3.4.7.6", "PHONE_NUM"),
    ("BI eight seven five zero one six was it", "BI eight seven five zero one six", "ID_NUM"),
    # telephone
    ("call (555) 123-4567 now", "(555) 123-4567", "PHONE_NUM"), ("202-555-0143", "", "PHONE_NUM"),
    ("202.555.0143", "", "PHONE_NUM"),
    ("001-459-970-5605x7709", "", "PHONE_NUM"), ("+1 (202) 555-0143 ext. 12", "", "PHONE_NUM"),
    ("+91 98765 43210", "", "PHONE_NUM"), ("+55 11 91234-5678", "", "PHONE_NUM"), ("+44 7911 123456", "", "PHONE_NUM"),
    ("+1 555 123 4567", "", "PHONE_NUM"), ("202 555 0143", "", "PHONE_NUM"),
    ("Phone: 9876543210", "9876543210", "PHONE_NUM"), ("my phone number is 98765 43210", "98765 43210", "PHONE_NUM"),
    ("my cell 555-0123", "555-0123", "PHONE_NUM"), ("Call me at 555 0123.", "555 0123", "PHONE_NUM"),
    ("WhatsApp: +20 10 1234 5678", "+20 10 1234 5678", "PHONE_NUM"),
    ("２０２-555-0143", "", "PHONE_NUM"),
    # ID
    ("write to ana[at]lopez(dot)example, please", "ana[at]lopez(dot)example", "EMAIL"),
    ("Student ID: 20481234", "20481234", "ID_NUM"), ("Student id 20481234", "20481234", "ID_NUM"),
    ("student number is 20481234", "20481234", "ID_NUM"),
    ("Matric No. A0123456X", "A0123456X", "ID_NUM"), ("Roll No: 17BCE0123", "17BCE0123", "ID_NUM"),
    ("Roll number 1734", "1734", "ID_NUM"),
    ("Reg. no 2019/1234", "2019/1234", "ID_NUM"), ("Registration Number: AB-12-3456", "AB-12-3456", "ID_NUM"),
    ("ID#4567", "4567", "ID_NUM"),
    ("PinNo: 123456789012", "123456789012", "ID_NUM"), ("Interviewee Pin Jo:123456789012", "123456789012", "ID_NUM"),
    ("SSN 123-45-6789", "123-45-6789", "ID_NUM"), ("123-45-6789", "", "ID_NUM"), ("Ana_Lopez_20481234", "20481234", "ID_NUM"),
    ("20481234_Ana", "20481234", "ID_NUM"), ("Ana Lopez 123456789012", "123456789012", "ID_NUM"),
    ("Student ID: 2025550123", "2025550123", "ID_NUM"),
    ("Student ID： ２０４８１２３４", "２０４８１２３４", "ID_NUM"), ("user id: al2048", "al2048", "ID_NUM"),
    ("student_id=20481234", "20481234", "ID_NUM"),
    # user name
    ("Username: analopez", "analopez", "USERNAME"), ("my username is ana_l99", "ana_l99", "USERNAME"),
    ("my handle @ana.lopez", "@ana.lopez", "USERNAME"), ("twitter: @ana_l", "@ana_l", "USERNAME"),
    ("Follow me on Instagram @ana_l!", "@ana_l", "USERNAME"),
    ("@ana_l on TikTok", "@ana_l", "USERNAME"), ("I am u/ana_l on Reddit", "u/ana_l", "USERNAME"),
    ("discord: Ana#1234", "Ana#1234", "USERNAME"),
    ("@Maria L great point", "@Maria L", "USERNAME"), ("@Maria I agree", "@Maria", "USERNAME"), ("@Maria Great point", "@Maria", "USERNAME"),
    ("thanks @Ana_Lopez!", "@Ana_Lopez", "USERNAME"), ("@Maria Kowalska no", "@Maria Kowalska", "USERNAME"),
    # personal web address
    ("https://www.linkedin.com/in/ana-lopez/", "", "URL_PERSONAL"),
    ("see linkedin.com/in/ana.", "linkedin.com/in/ana", "URL_PERSONAL"),
    ("https://www.linkedin.com/ana_roth83", "", "URL_PERSONAL"), ("linkedin.com/ana-roth?trk=x", "", "URL_PERSONAL"),
    ("in.linkedin.com/in/ana", "", "URL_PERSONAL"), ("l\u0456nkedin.com/in/ana", "", "URL_PERSONAL"),
    ("https: //www.linkedin.com/in/ana", "", "URL_PERSONAL"),
    ("(https://github.com/analopez).", "https://github.com/analopez", "URL_PERSONAL"),
    ("https://analopez.github.io", "", "URL_PERSONAL"), ("https://www.facebook.com/ana.lopez.9", "", "URL_PERSONAL"),
    ("https://m.facebook.com/profile.php?id=1000", "", "URL_PERSONAL"), ("instagram.com/ana_l", "", "URL_PERSONAL"),
    ("https://x.com/ana_l", "", "URL_PERSONAL"), ("https://youtu.be/abc123", "", "URL_PERSONAL"),
    ("https://www.youtube.com/watch?v=abc123", "", "URL_PERSONAL"), ("youtube.com/@analopez", "", "URL_PERSONAL"),
    ("https://medium.com/@ana", "", "URL_PERSONAL"), ("https://www.behance.net/analopez", "", "URL_PERSONAL"),
    ("https://ana.wordpress.com/about", "", "URL_PERSONAL"), ("ana.blogspot.com", "", "URL_PERSONAL"),
    ("https://ana.wixsite.com/home", "", "URL_PERSONAL"), ("https://sites.google.com/view/ana", "", "URL_PERSONAL"),
    ("https://docs.google.com/document/d/1abc/edit", "", "URL_PERSONAL"), ("https://uni.edu/~alopez/", "", "URL_PERSONAL"),
    ("my website www.anadesigns.com", "www.anadesigns.com", "URL_PERSONAL"),
    ("My portfolio: anadesigns.com/work", "anadesigns.com/work", "URL_PERSONAL"),
    ("https://www.coursera.org/account/accomplishments/verify/ABC", "", "URL_PERSONAL"),
    ("hxxps://prezi[.]com/up-4x/ana/", "", "URL_PERSONAL"), ("http://prezi.com/\nup-4x/ana/", "", "URL_PERSONAL"),
    ("at http://prezi . com / up-4x / ana /\nThen", "http://prezi . com / up-4x / ana /", "URL_PERSONAL"),
]
INVALID = [
    # no e-mail
    "meet me at example.com today", "I bought it at amazon dot com", "look at dot com companies", "a@b", "at 5 dot 30",
    "ana@", "x @ y", "see you at the gmail office",
    "https://linkedin.com@example.org/in/x",
    "I was AT home", "READ AT night",
    # nobody's digits
    "data 2 4 5 7 3 1 9 8 were sorted", "1 2 3 4 5 6 7 8 9 10 11", "section 1.2.3.4", "the matrix 1 0 0 1 1 0 1",
    "count one two three four five six seven", "scores 5 4 3 5 2 1 4 5 3 2 4 1 5",
    # no telephone
    "2018-2019", "in 2018 - 2019", "tel 2018-2019", "ISBN 978-0-306-40615-7", "9780306406157", "ISBN: 0-306-40615-2",
    "ISSN 1234-5678", "doi:10.1000/182.123.4567",
    "10.1016/j.compedu.2019.1037921", "3.14159265358979", "192.168.100.1", "192.168.100.1000", "12/05/2019", "2019-05-12",
    "$123-456-7890", "x = 1234567890 + 5",
    "1,234,567,890", "9876543210", "pages 100-1200", "555-0123", "1999 2000 2001", "phone 12", "call me at 10:30",
    "the years 2018, 2019, 2020",
    # no ID
    "the number 20481234 is big", "12345678", "ID 12", "ID: 12", "index 2019", "Report_20190512", "figure 1234567",
    "student 12", "a student in 2019", "roll the dice 12345",
    "https://doi.org/10.1000/ABC_1234567", "vol. 1234567", "idea 123456", "pin it", "reg 2019",
    # no user name
    "username is important", "the user name should be short", "@nasa posted", "handle with care", "Username: the",
    "login is needed", "twitter is fun",
    # no web address, or nobody's
    "a menu.Keep it clean", "word.Next", "menu.keep", "whole.it", "shelter.so", "time.The", "1.Ch", "4.in", "b.tech",
    "d.school", "essay.docx", "google.com", "www.apple.com",
    "https://en.wikipedia.org/wiki/Design", "https://www.coursera.org/learn/abc", "https://www.nasa.gov/x",
    "https://www.bbc.co.uk/news/1", "https://doi.org/10.1000/182",
    "https://github.com/features", "https://www.linkedin.com/company/acme", "https://www.youtube.com",
    "https://www.linkedin.com/jobs/", "https://www.linkedin.com/school/north-hill/", "https://www.linkedin.com/in/", "https://www.linkedin.com",
    "https://www.wordpress.com", "my favourite site is google.com",
    "linkedin.com.example.ru/in/x", "notlinkedin.com/in/x", "https://www.instagram.com/explore/tags/x",
    "https://example.com/page",
    "Lopez (2019). A title [Video]. https://www.youtube.com/watch?v=abc", "Retrieved from https://ana.wordpress.com/post",
    "http://192.168.1.1/x", "see http://example.com/\nThe next line", "hxxp://www[.]bbc[.]co[.]uk/news/1",
]
# fmt: on


@pytest.mark.parametrize(("text", "value", "label"), VALID)
def test_ruler_finds(nlp, text, value, label):
    assert found(nlp, text) == [(value or text, label)]


@pytest.mark.parametrize("text", INVALID)
def test_ruler_leaves(nlp, text):
    assert found(nlp, text) == []


def test_known_failures_are_exactly_these(nlp):
    data = json.loads(CASES.read_text(encoding="utf-8"))
    failures = []
    for case in data["cases"]:
        doc = nlp(case["text"])
        got = [{"start": s.start_char, "end": s.end_char, "label": s.label_} for s in doc.spans["pii"]]
        if got != case["spans"]:
            failures.append(case["id"])
    assert sorted(failures) == sorted(data["known_failures"])


def test_every_finding_has_a_source_and_a_reason(nlp):
    for text, _value, _label in VALID:
        for cand in read_spans(nlp(text)):
            assert cand.source and cand.reason and 0 < cand.score <= 1


def test_a_value_is_found_again_without_its_cue(nlp):
    text = "Student ID: 20481234\n\nI think, therefore I am 20481234."
    assert found(nlp, text) == [("20481234", "ID_NUM")] * 2


def test_works_with_the_tokenizer_of_plain_spacy():
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ruler")
    assert ("ana@x.org", "EMAIL") in found(nlp, "Write to ana@x.org now")
    assert [label for _, label in found(nlp, "Ana_Lopez_20481234")] == ["ID_NUM"]


# --- the model's proposals ---

# fmt: off
PROPOSED = [
    # corrected
    ("Email : ana@x.org .", "Email : ana@x.org .", "EMAIL", [("ana@x.org", "EMAIL")]),
    ("at uni ana@uni .", "ana@uni .", "EMAIL", [("ana@uni", "EMAIL")]),
    ("Student No 20481234 ,", "No 20481234 ,", "ID_NUM", [("20481234", "ID_NUM")]),
    ("code AB-1234 here", "code AB-1234", "ID_NUM", [("AB-1234", "ID_NUM")]),
    ("see ( www.ana.com ) now", "( www.ana.com )", "URL_PERSONAL", [("www.ana.com", "URL_PERSONAL")]),
    ("dial 98765 43210 .", "98765", "PHONE_NUM", [("98765 43210", "PHONE_NUM")]),
    ("as 'ana_l' online", "'ana_l'", "USERNAME", [("ana_l", "USERNAME")]),
    ("at 12 Oak Street , today", "12 Oak Street ,", "STREET_ADDRESS", [("12 Oak Street", "STREET_ADDRESS")]),
    # dropped
    ("Ana said hello", "Ana", "EMAIL", []), ("in 2018-2019 we", "2018-2019", "PHONE_NUM", []),
    ("room 12 today", "12", "ID_NUM", []),
    ("in 2019 we", "2019", "ID_NUM", []), ("ISBN 978-0-306-40615-7", "978-0-306-40615-7", "ID_NUM", []),
    ("my page here", "my page", "URL_PERSONAL", []),
    ("on https://www.coursera.org/learn/x now", "https://www.coursera.org/learn/x", "URL_PERSONAL", []),
    ("a menu.Keep it", "menu.Keep", "URL_PERSONAL", []),
    ("read it at https://www.sunnycrafts.com/ today", "https://www.sunnycrafts.com/", "URL_PERSONAL", []),
    ("so , then", ",", "USERNAME", []), ("about 12 people", "12", "PHONE_NUM", []),
    # kept
    ("look at www.katievaughan.com now", "www.katievaughan.com", "URL_PERSONAL", [("www.katievaughan.com", "URL_PERSONAL")]),
    ("look at http://sunnycrafts.me now", "http://sunnycrafts.me", "URL_PERSONAL", [("http://sunnycrafts.me", "URL_PERSONAL")]),
    ("look at shop.sunnycrafts.com now", "shop.sunnycrafts.com", "URL_PERSONAL", [("shop.sunnycrafts.com", "URL_PERSONAL")]),
    ("see https://example.com/page ok", "https://example.com/page", "URL_PERSONAL",
     [("https://example.com/page", "URL_PERSONAL")]),
    ("number 20481234 is mine", "20481234", "ID_NUM", [("20481234", "ID_NUM")]),
    ("and 2 ” 20481234 is", "2 ” 20481234", "ID_NUM", [("20481234", "ID_NUM")]),
    ("is (11) 98850-8061 now", "11) 98850-8061", "ID_NUM", [("(11) 98850-8061", "ID_NUM")]),
    ("badge AB8-750-16 is", "AB8-750", "ID_NUM", [("AB8-750-16", "ID_NUM")]),
    # another label, by the word before it
    ("Student ID: 2025550123", "2025550123", "PHONE_NUM", [("2025550123", "ID_NUM")]),
    ("Phone: 9876543210", "9876543210", "ID_NUM", [("9876543210", "PHONE_NUM")]),
    # names
    ("Ana Lopez wrote", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT")]),
    ("ana.lopez@x.org", "ana.lopez@x.org", "NAME_STUDENT", [("ana.lopez@x.org", "EMAIL")]),
    ("Ana Lopez ana@x.org", "Ana Lopez ana@x.org", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT"), ("ana@x.org", "EMAIL")]),
    ("Ana_Lopez_20481234", "Ana_Lopez_20481234", "NAME_STUDENT", [("Ana_Lopez", "NAME_STUDENT"), ("20481234", "ID_NUM")]),
    ("Ana Lopez Date: 140319", "140319", "ID_NUM", []), ("By Ana Lopez, date 13052021", "13052021", "ID_NUM", []),
    ("Ana Lopez Date: 991320", "991320", "ID_NUM", [("991320", "ID_NUM")]), ("Ana Lopez 140319", "140319", "ID_NUM", [("140319", "ID_NUM")]),
    ("Ana Lopez data: 140319", "140319", "ID_NUM", [("140319", "ID_NUM")]),
    ("Ana Lopez - 2019-44-1802 text", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT"), ("2019-44-1802", "ID_NUM")]),
    ("Ana Lopez (CS/19/4471/02)", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT"), ("CS/19/4471/02", "ID_NUM")]),
    ("Ana Lopez, 2019-04-18", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT")]),
    ("Ana Lopez 18/04/2019", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT")]),
    ("Ana Lopez had 2019-44-1802", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT")]),
    ("Ana Lopez\n\n2048123456 text", "Ana Lopez", "NAME_STUDENT", [("Ana Lopez", "NAME_STUDENT"), ("2048123456", "ID_NUM")]),
    ("2048123456 - Ana Lopez text", "Ana Lopez", "NAME_STUDENT", [("2048123456", "ID_NUM"), ("Ana Lopez", "NAME_STUDENT")]),
    ("Lopez at https://lopez.org/x", "Lopez", "NAME_STUDENT",
     [("Lopez", "NAME_STUDENT"), ("https://lopez.org/x", "URL_PERSONAL")]),
    ("Lopez at https://lopez.org/x", "Lopez", "NAME_CITED", [("Lopez", "NAME_CITED")]),
]
# fmt: on


@pytest.mark.parametrize(("text", "words", "label", "expected"), PROPOSED)
def test_proposals_of_the_model(nlp, ruler, text, words, label, expected):
    assert after(ruler, propose(nlp, text, (words, label))) == expected


def test_a_home_page_needs_a_model_that_is_very_sure(nlp, ruler):
    doc = nlp.make_doc("look at www.sunnycrafts.com now")
    kept = {}
    for score in (0.6, 0.96, 0.99):
        write_spans(doc, [Candidate(2, 3, "URL_PERSONAL", score=score, source="model")])
        kept[score] = [c.label for c in ruler.find_spans(doc)]
    assert kept == {0.6: [], 0.96: [], 0.99: ["URL_PERSONAL"]}
    assert found(nlp, "my website www.sunnycrafts.com") == [("www.sunnycrafts.com", "URL_PERSONAL")]


# fmt: off
@pytest.mark.parametrize(("url", "personal"), [
    ("https://miro.com", "no"), ("https://www.figma.com/", "no"), ("https://miro.com/blog/maps", "no"), ("https://miro.com/app/board/o9J_x", "yes"),
    ("https://cnbc.com/2020/cars", "no"), ("https://edition.cnbc.com", "no"), ("https://www.healthline.com/sleep", "no"),
    ("https://ana.wordpress.com/about/", "yes"), ("https://medium.com/@ana", "yes"),
    # An organisation's page, of a site that bears nobody's name: what a model says counts where it is very sure.
    ("http://methodslibrary.com/case-studies/maps/", "unlikely"), ("https://bigfoodsurvey.org/en/reports/2020", "unlikely"),
    ("http://kowalski.com/articles/x", "unsure"), ("https://ana.methodslibrary.com/articles/x", "unsure"),
    ("https://methodslibrary.me/articles/x", "unsure"),
    ("https://thequietcook.com/first-soup", "unsure"), ("https://methodslibrary.com/articlesbyana", "unsure"),
    # A space behind each full stop.
    ("https://www. abc. net. au/news/a-12. htm", "no"), ("https://www. methodslibrary. com/news/a-12. html", "unlikely"),
])
# fmt: on
def test_whose_a_page_is(url, personal):
    verdict = judge_url(Hit(url, 0, len(url)), compile_patterns(shipped_patterns()))
    assert verdict is not None and verdict.personal == personal


def test_an_address_with_a_space_behind_each_full_stop_is_one(nlp, ruler):
    text = "See https://www. thequietcook. com/soup/first-12. html and write."
    assert found(nlp, "My blog: " + text[4:]) == [("https://www. thequietcook. com/soup/first-12. html", "URL_PERSONAL")]
    assert after(ruler, propose(nlp, text, ("https://www", "URL_PERSONAL"))) == [
        ("https://www. thequietcook. com/soup/first-12. html", "URL_PERSONAL")
    ]
    assert after(ruler, propose(nlp, "See https://www. cnbc. com/cars-12. html now.", ("https://www", "URL_PERSONAL"))) == []
    assert found(nlp, "My blog is www.thequietcook.com. com is an ending.") == [("www.thequietcook.com", "URL_PERSONAL")]


@pytest.mark.parametrize("host", [[], [""], ["x.org", 3], 3])
def test_hosts_that_are_none_are_coded_errors(host):
    with pytest.raises(PiiError) as error:
        compile_patterns([{"id": "x", "label": "URL_PERSONAL", "host": host, "personal": "no"}])
    assert error.value.code == "E204"


def test_agreement_keeps_the_rule_and_the_higher_score(nlp, ruler):
    doc = nlp.make_doc("Student ID: 20481234")
    write_spans(doc, [Candidate(3, 4, "ID_NUM", score=0.3, source="model")])
    (cand,) = ruler.find_spans(doc)
    assert (cand.source, cand.score, bool(cand.reason)) == ("id-cue", 1.0, True)


def test_names_keep_score_source_and_roles(nlp, ruler):
    doc = nlp.make_doc("Ana Lopez wrote")
    name = Candidate(0, 2, "NAME_STUDENT", score=0.6, source="model", reason="r", roles=(0.6, 0.1, 0.1, 0.1, 0.1))
    write_spans(doc, [name])
    assert ruler.find_spans(doc) == [name]


def test_find_spans_changes_nothing(nlp, ruler):
    doc = propose(nlp, "Ana Lopez ana@x.org", ("Ana Lopez", "NAME_STUDENT"))
    before = read_spans(doc)
    ruler.find_spans(doc)
    assert read_spans(doc) == before


def test_an_empty_document_and_white_space_pass(nlp):
    docs = list(nlp.pipe(["", "   ", "\n\n", "\u200b"]))
    assert [len(doc.spans["pii"]) for doc in docs] == [0, 0, 0, 0]


# --- properties ---

NOISE = st.text(st.sampled_from("aA1 .@_-\n/:()#+\u200b\u00ad\u0301ﬁ＠👍\u0430"), max_size=30)
VALUES = st.sampled_from(
    ["ana@x.org", "Student ID: 20481234", "202-555-0143", "linkedin.com/in/ana", "username: ana_l", "Ana_Lopez_1234567"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(NOISE, VALUES), max_size=6).map("".join))
def test_findings_are_sorted_without_overlaps_and_stable(nlp, ruler, text):
    doc = nlp(text)
    cands = read_spans(doc)
    assert doc.text == text
    assert all(a.end <= b.start for a, b in zip(cands, cands[1:], strict=False))
    assert all(c.label in LABELS for c in cands)
    assert ruler.find_spans(nlp.make_doc(text)) == cands


@settings(max_examples=60, deadline=None)
@given(NOISE, NOISE)
def test_a_plain_address_is_found_in_any_surroundings(nlp, left, right):
    doc = nlp(f"{left}\n ana.lopez@uni.edu \n{right}")
    at = doc.text.index("ana.lopez@uni.edu")
    assert any(s.start_char <= at and at + 17 <= s.end_char for s in doc.spans["pii"] if s.label_ in ("EMAIL", "URL_PERSONAL"))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "@",
        "a@",
        "a.",
        "1 ",
        "-1",
        "id ",
        "id1 ",
        "_1",
        "(",
        "www.",
        "http://",
        "a dot ",
        "dot at ",
        "ana [at] ",
        "+1 ",
        "555-",
        "phone:1 ",
        "tel 1",
    ]
    + [
        "username:",
        "twitter @",
        "A A ",
        "\u200b",
        "a\u0301",
        "10.1234/",
        "https://a.b/(",
        "ana@x.org ",
        "A 12345678\n",
        "student id ",
        "1-",
        "(2019) ",
    ],
)
def test_hostile_text_of_100k_characters_is_quick(nlp, ruler, unit):
    text = (unit * 100_000)[:100_000]
    # One token per word: what is timed is the ruler.
    words = text.split(" ")
    doc = Doc(nlp.vocab, words=[w or "x" for w in words], spaces=[True] * len(words))
    start = time.process_time()
    ruler.find_spans(doc)
    assert time.process_time() - start < 4


# --- patterns ---


def test_shipped_patterns_have_ids_of_their_own_and_reasons():
    patterns = shipped_patterns()
    ids = [p["id"] for p in patterns]
    assert len(ids) == len(set(ids))
    assert all(p["reason"] for p in patterns)
    assert compile_patterns(patterns).sites


def test_users_add_patterns_of_all_kinds(nlp):
    own = spacy.blank("en", config=CONFIG)
    ruler = own.add_pipe("pii_ruler")
    ruler.add_patterns(
        [
            {"label": "ID_NUM", "id": "badge", "pattern": [{"TEXT": {"REGEX": r"^B\d{3}$"}}], "reason": "badge", "score": 0.5},
            {"label": "USERNAME", "id": "known", "pattern": "Night Owl"},
            {"label": "ID_NUM", "id": "ours", "regex": r"U-(?P<pii>\d{4})"},
            {
                "label": "URL_PERSONAL",
                "id": "ours-url",
                "host": "students.example.org",
                "personal": "yes",
                "reason": "our pages",
            },
            {"label": "URL_PERSONAL", "id": "ours-public", "host": "youtu.be", "path": r"^/\w", "personal": "no"},
        ]
    )
    text = "B123 by Night Owl, U-4321, students.example.org/x, youtu.be/abc"
    assert found(own, text) == [
        ("B123", "ID_NUM"), ("Night Owl", "USERNAME"), ("4321", "ID_NUM"), ("students.example.org/x", "URL_PERSONAL"),
    ]  # fmt: skip
    cands = read_spans(own(text))
    assert (cands[0].source, cands[0].reason, cands[0].score) == ("badge", "badge", 0.5)


def test_clear_remove_and_initialize():
    nlp = spacy.blank("en", config=CONFIG)
    ruler = nlp.add_pipe("pii_ruler")
    assert ruler.labels == ("EMAIL", "ID_NUM", "PHONE_NUM", "URL_PERSONAL", "USERNAME")
    ruler.remove("EMAIL")
    assert "EMAIL" not in ruler and found(nlp, "ana@x.org") == []
    ruler.remove_by_id("id-ssn")
    assert found(nlp, "123-45-6789") == []
    with pytest.raises(ValueError):
        ruler.remove_by_id("no such")
    ruler.clear()
    assert ruler.labels == () and found(nlp, "Student ID: 20481234") == []
    ruler.initialize(lambda: [], patterns=[{"label": "ID_NUM", "id": "ours", "regex": r"\bQ\d\b"}])
    assert found(nlp, "ana@x.org Q7") == [("ana@x.org", "EMAIL"), ("Q7", "ID_NUM")]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ({"label": "ID_NUM", "id": "a"}, "E201"),
        ({"label": "ID_NUM", "id": "a", "regex": "x", "host": "y"}, "E201"),
        ({"label": "NO_SUCH", "id": "a", "regex": "x"}, "E002"),
        ({"label": "ID_NUM", "id": "a", "regex": "x", "validate": "no_such"}, "E202"),
        ({"label": "ID_NUM", "id": "a", "regex": "("}, "E203"),
        ({"label": "URL_PERSONAL", "id": "a", "host": "x.org", "personal": "perhaps"}, "E204"),
        ({"label": "URL_PERSONAL", "id": "a", "near": "x", "means": "perhaps"}, "E204"),
        ({"label": "ID_NUM", "id": "a", "regex": "x", "score": 2}, "E205"),
    ],
)
def test_bad_patterns_are_refused_and_nothing_is_added(pattern, code):
    ruler = PiiRuler(spacy.blank("en"))
    before = len(ruler)
    with pytest.raises(PiiError) as err:
        ruler.add_patterns([{"label": "ID_NUM", "id": "good", "regex": "x"}, pattern])
    assert err.value.code == code
    assert len(ruler) == before


def test_pipe_hands_a_failure_to_the_error_handler_and_leaves_the_document_out(nlp, monkeypatch):
    ruler = PiiRuler(spacy.blank("en"))
    failed = []
    ruler.set_error_handler(lambda name, proc, docs, err: failed.append((name, len(docs), str(err))))
    find = ruler.find_spans
    monkeypatch.setattr(ruler, "find_spans", lambda doc: 1 / 0 if doc.text == "bad" else find(doc))
    docs = list(ruler.pipe([nlp.make_doc(t) for t in ("ana@x.org", "bad", "ok")], batch_size=2))
    assert [doc.text for doc in docs] == ["ana@x.org", "ok"]
    assert failed == [("pii_ruler", 1, "division by zero")]


# --- saving, importing ---

TEXT = "Ana_Lopez_20481234 ana@x.org 202-555-0143 linkedin.com/in/ana U-4321"


def test_saved_pipeline_is_the_same_in_a_fresh_process(tmp_path):
    nlp = spacy.blank("en", config=CONFIG)
    ruler = nlp.add_pipe("pii_ruler", config={"phone_regions": ["US", "GB"]})
    ruler.remove("USERNAME")
    ruler.add_patterns([{"label": "ID_NUM", "id": "ours", "regex": r"U-(?P<pii>\d{4})"}])
    nlp.to_disk(tmp_path / "pipeline")
    code = (
        "import sys, json, spacy, pii_components.ruler.component, pii_components.ruler.tokenizer\n"
        "nlp = spacy.load(sys.argv[1]); doc = nlp(sys.argv[2]); r = nlp.get_pipe('pii_ruler')\n"
        "print(json.dumps([[[s.text, s.label_] for s in doc.spans['pii']], r.cfg, list(r.labels), len(r)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "pipeline"), TEXT], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[list(x) for x in found(nlp, TEXT)], ruler.cfg, list(ruler.labels), len(ruler)]
    assert ("4321", "ID_NUM") in found(nlp, TEXT)


def test_bytes_and_exclude():
    nlp = spacy.blank("en")
    ruler = PiiRuler(nlp, shipped=False, phone_regions=["GB"])
    ruler.add_patterns([{"label": "ID_NUM", "id": "ours", "regex": r"U-\d{4}"}])
    other = PiiRuler(nlp).from_bytes(ruler.to_bytes())
    assert (other.patterns, other.cfg) == (ruler.patterns, ruler.cfg)
    partly = PiiRuler(nlp, shipped=False).from_bytes(ruler.to_bytes(exclude=["patterns"]))
    assert (partly.patterns, partly.cfg) == ([], ruler.cfg)


def test_component_imports_neither_phonenumbers_nor_tldextract():
    code = (
        "import sys, pii_components.ruler.component, pii_components.ruler.tokenizer\n"
        "pii_components.ruler.patterns.compile_patterns(pii_components.ruler.patterns.shipped_patterns())\n"
        "print(sorted({'phonenumbers', 'tldextract', 'presidio_analyzer', 'faker'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_network_and_no_cache_folder(monkeypatch, tmp_path):
    import socket

    from pii_components.ruler.component import shapes

    shapes._suffixes.cache_clear()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(socket, "socket", lambda *a, **k: pytest.fail("opened a socket"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shapes.split_host("blog.uni.edu.in") == ("blog", "uni", "edu.in")
    assert not list(tmp_path.iterdir())


def test_tokenizer_factory_is_registered():
    assert spacy.registry.tokenizers.get("pii_edu.StudentTokenizer.v1") is create_student_tokenizer


@pytest.mark.parametrize("name", ["patterns", "shapes", "urls", "validators", "normalize"])
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(f"pii_components.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)
