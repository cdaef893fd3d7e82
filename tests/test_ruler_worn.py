"""Details that a line end tore, that were hidden on purpose, or that a detector saw in pieces; and what looks like them left alone."""

import pytest
import spacy

from pii_components.labels import EMAIL, ID_NUM, NAME_STUDENT, PHONE_NUM, STREET_ADDRESS, URL_PERSONAL
from pii_components.spans import Candidate, write_spans

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}


@pytest.fixture(scope="module")
def nlp():
    pipeline = spacy.blank("en", config=CONFIG)
    pipeline.add_pipe("pii_ruler")
    return pipeline


def found(nlp, text, *proposals):
    doc = nlp.make_doc(text)
    cands = []
    for words, label in proposals:
        span = doc.char_span(text.index(words), text.index(words) + len(words), alignment_mode="expand")
        cands.append(Candidate(span.start, span.end, label, score=0.7, source="model"))
    write_spans(doc, cands)
    ruler = nlp.get_pipe("pii_ruler")
    return [(doc[c.start : c.end].text, c.label) for c in ruler.find_spans(doc)]


def between(value: str, mark: str = "\u200b") -> str:
    return mark.join(value)


def wide(value: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else "\u3000" for char in value)


# fmt: off
TORN = [
    ("My student ID is 4048\n1234 and I am in", [("4048\n1234", ID_NUM)]), ("Student No. W813\n24638 by", [("W813\n24638", ID_NUM)]),
    ("my ID AB-20\n-48123 is", [("AB-20\n-48123", ID_NUM)]), ("roll no. 19BC\nE1023", [("19BC\nE1023", ID_NUM)]),
    ("call me on (312) 5\n55-0143 after", [("(312) 5\n55-0143", PHONE_NUM)]), ("Phone: 312-55\n5-0143", [("312-55\n5-0143", PHONE_NUM)]),
    ("whatsapp +44 7700\n 900123.", [("+44 7700\n 900123", PHONE_NUM)]), ("text 312-555-\n0143 now", [("312-555-\n0143", PHONE_NUM)]),
    ("write to ana@uni.\nedu or", [("ana@uni.\nedu", EMAIL)]),
    # halves that are whole: a year, a date, a list, a count, another address
    ("Student ID: 20481234\n2023 was", [("20481234", ID_NUM)]), ("Student ID: 20481234\n12 May 2023", [("20481234", ID_NUM)]),
    ("Student ID: 20481234\n2. My essay", [("20481234", ID_NUM)]), ("Student ID: 20481234\n500 words", [("20481234", ID_NUM)]),
    ("Phone: 312-555-0143\n14 Mill Road", [("312-555-0143", PHONE_NUM), ("14 Mill Road", STREET_ADDRESS)]),
    ("in 2019\n1500 people came", []), ("1 200\n300 400", []),
    ("Student ID: 20481234\nana.lopez@uni.edu\n(202) 555-0143", [("20481234", ID_NUM), ("ana.lopez@uni.edu", EMAIL), ("(202) 555-0143", PHONE_NUM)]),
    ("to ana@uni.edu.\nthe end", [("ana@uni.edu", EMAIL)]), ("it was 312-55\n5-0 in the end", []),
]
HIDDEN = [
    (f"badge ({between('WH-60318')})", [(between("WH-60318"), ID_NUM)]), (f"file {wide('WH-60318')} is", [(wide("WH-60318"), ID_NUM)]),
    (f"ring {wide('(312) 555-0143')}", [(wide("(312) 555-0143"), PHONE_NUM)]),
    (f"at {between('4545 Sunset Maple, Clearwater')}.", [(between("4545 Sunset Maple, Clearwater"), STREET_ADDRESS)]),
    (f"log in as {between('ana_l7')}.", [(between("ana_l7"), "USERNAME")]),
    # a date, a year, an amount, a soft hyphen here and there, a joiner in Hindi, what may be a name
    (f"on {wide('2019-05-12')}", []), (f"in {wide('2019')}", []), (f"${wide('120000')} of it", []), (f"{wide('12,000')} people", []),
    (f"{wide('Hello there')}!", []), ("re\u00adla\u00adtion\u00adship", []), ("क्\u200dया है", []), (f"by {between('Maria')}", []),
]
ADDRESSES = [
    ("at Havregade 31, 2. TV., DK-9999 Nordby now", ("Havregade 31, 2", "9999 Nordby"), ["Havregade 31, 2. TV., DK-9999 Nordby"]),
    ("12 Mill Road and then we went to 9 Elm Street", ("12 Mill Road", "9 Elm Street"), ["12 Mill Road", "9 Elm Street"]),
    ("12 Mill Road. Is it 9 Elm Street", ("12 Mill Road", "9 Elm Street"), ["12 Mill Road", "9 Elm Street"]),
    ("12 Mill Road\n\n\n9 Elm Street", ("12 Mill Road", "9 Elm Street"), ["12 Mill Road", "9 Elm Street"]),
    ("12 Mill Road; 9 Elm Street", ("12 Mill Road", "9 Elm Street"), ["12 Mill Road", "9 Elm Street"]),
]
GROUPS = [
    ("no 361-280-730-N of", ("361-280-730", PHONE_NUM), ["361-280-730-N"]), ("see 807-822-354 / x", ("822-354", ID_NUM), ["807-822-354"]),
    ("the 204-4T1-770-2 one", ("204", ID_NUM), ["204-4T1-770-2"]), ("a 12345-year-old", ("12345", ID_NUM), ["12345"]),
]
EMAILS = [
    ("write to northcat at uol dot com dot br.", ["northcat at uol dot com dot br"]),
    ("<jacek-berisha at qq dot com>", ["jacek-berisha at qq dot com"]),
    ("Contact: awilcox AT outlook or", ["awilcox AT outlook"]), ("by Anna: theanna AT luc", ["theanna AT luc"]),
    # prose
    ("I looked at amazon dot com and", []), ("you can shop at amazon dot com", []), ("LOOK AT this", []), ("they were laughing AT luc", []),
    ("we look AT orange", []), ("he points AT school", []),
]
URLS = [
    ("my profile is github . com / ana . lopez10 if", ["github . com / ana . lopez10"]),
    ("it is at github.com/\nana.lopez10 if", ["github.com/\nana.lopez10"]),
    ("LinkedIn: HTTPS://WWW.LINKEDIN.COM/IN/ANA-LOPEZ-1", ["HTTPS://WWW.LINKEDIN.COM/IN/ANA-LOPEZ-1"]),
    ("see https://github.com/\nand then", []), ("the end . com is", []), ("see CNN.COM/IN/THE", []),
]
# fmt: on


@pytest.mark.parametrize(("text", "expected"), TORN)
def test_values_over_a_line_end(nlp, text, expected):
    assert found(nlp, text) == expected


def test_a_number_beside_a_name_is_put_together(nlp):
    assert ("299\n654", ID_NUM) in found(nlp, "BHATTI LUBNA  299\n654\n\n(a)", ("BHATTI LUBNA", NAME_STUDENT))
    assert found(nlp, "BHATTI LUBNA  2019\n6543 x", ("BHATTI LUBNA", NAME_STUDENT)) == [("BHATTI LUBNA", NAME_STUDENT)]


HALVES = [
    ("file 6084\n4143 here", "6084", ["6084\n4143"]),
    ("no 8078\n22354 / x", "22354", ["8078\n22354"]),
    ("by (78) 53\n021-4708 ok", "021-4708", ["(78) 53\n021-4708"]),
    ("file 6084\n2019 was", "6084", ["6084"]),
    ("file 60841\n400 words", "60841", ["60841"]),
    ("file 60841\nand 22354", "60841", ["60841"]),
]


@pytest.mark.parametrize(("text", "half", "expected"), HALVES)
def test_half_a_number_that_the_model_saw(nlp, text, half, expected):
    assert [words for words, _ in found(nlp, text, (half, ID_NUM))] == expected


@pytest.mark.parametrize(("text", "expected"), HIDDEN)
def test_what_is_hidden_on_purpose(nlp, text, expected):
    assert found(nlp, text) == expected


def test_pieces_of_what_is_hidden_become_one(nlp):
    value = between("Plum Tree Close 28, Osaka")
    text = f"our street, {value}, and"
    pieces = ((between("Close"), STREET_ADDRESS), (between("Osaka"), NAME_STUDENT))
    assert found(nlp, text, *pieces) == [(value, STREET_ADDRESS)]


@pytest.mark.parametrize(("text", "pieces", "expected"), ADDRESSES)
def test_pieces_of_an_address(nlp, text, pieces, expected):
    assert [words for words, _ in found(nlp, text, *((piece, STREET_ADDRESS) for piece in pieces))] == expected


@pytest.mark.parametrize(("text", "piece", "expected"), GROUPS)
def test_a_piece_of_a_number_in_groups(nlp, text, piece, expected):
    assert [words for words, _ in found(nlp, text, piece)] == expected


@pytest.mark.parametrize(("text", "expected"), EMAILS)
def test_addresses_in_words(nlp, text, expected):
    names = [("Anna", NAME_STUDENT)] if "Anna:" in text else []
    assert [words for words, label in found(nlp, text, *names) if label == EMAIL] == expected


@pytest.mark.parametrize(("text", "expected"), URLS)
def test_web_addresses_worn(nlp, text, expected):
    assert [words for words, label in found(nlp, text) if label == URL_PERSONAL] == expected


def test_two_cued_numbers_with_a_slash(nlp):
    assert ("07700 900128", PHONE_NUM) in found(nlp, "Mob. : 07700 900128 / 07700 900830 (father)")
