"""The tokenizer for student files: tokens end where a name may end, addresses stay whole, the text is never changed."""

import subprocess
import sys
import time

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer

from pii_components.ruler.tokenizer import create_student_tokenizer, is_address, visible_shape

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en", config=CONFIG)


# fmt: off
SPLIT = [
    # sentences that run together
    ("menu.Keep it clean", "menu . Keep it clean"), ("word.Next", "word . Next"), ("menu.keep", "menu . keep"),
    ("END.NEXT", "END . NEXT"), ("Smith.The", "Smith . The"), ("over!Ana", "over ! Ana"), ("one;two", "one ; two"),
    ("2019.Smith", "2019 . Smith"), ("1.Ana", "1 . Ana"), ("12,Ana", "12 , Ana"), ("Lopez,Ana", "Lopez , Ana"),
    ("so...Ana", "so ... Ana"),
    # glued by _ and -
    ("Ana_Lopez_Week3", "Ana _ Lopez _ Week3"), ("Ana_Lopez_1234567", "Ana _ Lopez _ 1234567"), ("ana_lopez", "ana _ lopez"),
    ("Reflection-Ana Lopez", "Reflection - Ana Lopez"), ("Thinking-Ana", "Thinking - Ana"), ("Week3-Ana", "Week3 - Ana"),
    ("Jean-Luc", "Jean - Luc"), ("-Ana", "- Ana"), ("Lopez-", "Lopez -"), ("Ana-1234567", "Ana - 1234567"),
    ("Ana--Lopez", "Ana -- Lopez"),
    # glued by other signs
    ("Name:Ana", "Name : Ana"), ("ID:1234567", "ID : 1234567"), ("ID#1234", "ID # 1234"), ("Ana/1234567", "Ana / 1234567"),
    ("Lopez(2019)", "Lopez ( 2019 )"), ("[Ana]", "[ Ana ]"), ("“Ana”said", "“ Ana ” said"), ("Ana&Bob", "Ana & Bob"),
    ("A|B", "A | B"),
    ("Ana•Bob", "Ana • Bob"), ("<b>Ana", "< b > Ana"), ("Ana+Bob", "Ana + Bob"),
    # glued by a capital
    ("AnaLopez", "Ana Lopez"), ("byAna Lopez", "by Ana Lopez"), ("Name:AnaLopez", "Name : Ana Lopez"), ("XuTanaka", "Xu Tanaka"),
    ("AnaLopezBudiSantoso", "Ana Lopez Budi Santoso"), ("AnaLopez3rdYear", "Ana Lopez 3rd Year"), ("Week3Ana", "Week 3 Ana"),
    ("LOPEZ3rd", "LOPEZ 3rd"),
    ("Essay_AnaLopez_final.docx", "Essay _ Ana Lopez _ final . docx"), ("YouTube's", "YouTube 's"),
    ("McDonald", "McDonald"), ("iPhone", "iPhone"), ("eBay", "eBay"), ("PhDs", "PhDs"), ("NaCl", "NaCl"), ("JavaScript", "JavaScript"),
    ("aNa", "aNa"), ("mARIA", "mARIA"), ("김지민민준하은", "김지민민준하은"), ("शर्मा", "शर्मा"),
    # marks of prompts
    ("@@Ana Lopez##", "@@ Ana Lopez ##"), ("@@vidas##,", "@@ vidas ## ,"),
    # digits
    ("Ana123", "Ana123"), ("Lopez1234567", "Lopez 1234567"), ("1234567Lopez", "1234567 Lopez"), ("2018-2019", "2018 - 2019"),
    ("3D", "3D"),
    ("10:30", "10:30"), ("3.14", "3.14"),
    # addresses stay whole
    ("ana.lopez-b@x.org", "ana.lopez-b@x.org"), ("Email:ana@x.org", "Email : ana@x.org"),
    ("to ana_l@x.org.", "to ana_l@x.org ."),
    ("(ana@x.org),", "( ana@x.org ) ,"), ("ana@x.org.Then", "ana@x.org . Then"), ("_a@x.org", "_a@x.org"),
    ("https://www.linkedin.com/in/ana-lopez_9/", "https://www.linkedin.com/in/ana-lopez_9/"),
    ("linkedin.com/in/ana.", "linkedin.com/in/ana ."), ("(www.ana.com)", "( www.ana.com )"),
    ("google.com.Then", "google.com . Then"),
    ("https://x.com/a_b?c=5m", "https://x.com/a_b?c=5m"), ("about.me/ana", "about.me/ana"), ("uni.ac.in", "uni.ac.in"),
    ("@ana_lopez", "@ana_lopez"), ("Twitter:@ana_l.", "Twitter : @ana_l ."),
    # unusual characters
    ("Raﬁ_Lopez", "Raﬁ _ Lopez"), ("Raﬀ.", "Raﬀ ."), ("Ａｎａ：Ｌｏｐｅｚ", "Ａｎａ ： Ｌｏｐｅｚ"),
    ("ana＠x．org", "ana＠x．org"),
    ("José_Lopez", "José _ Lopez"), ("Jose\u0301_Lopez", "Jose\u0301 _ Lopez"), ("Ana👍", "Ana 👍"), ("🦋Ana🦋", "🦋 Ana 🦋"),
    ("\ufeffAna", "\ufeff Ana"),
    ("Ana\u200bLopez", "Ana \u200b Lopez"), ("Lo\u200bpez", "Lo\u200bpez"), ("Lo\u00adpez", "Lo\u00adpez"),
    ("Ana\u200b", "Ana \u200b"), ("KAT\u200bIE", "KAT\u200bIE"), ("AN\u034fA", "AN\u034fA"), ("Lo\u200bpez\u200bWei", "Lo\u200bpez \u200b Wei"),
    ("12\u200b34", "12\u200b34"), ("Ana\u200b1234", "Ana \u200b 1234"), ("प्रि\u200dया", "प्रि\u200dया"),
    # English as spaCy knows it
    ("don't", "do n't"), ("Ana's", "Ana 's"), ("Ana’s", "Ana ’s"), ("Ana´s", "Ana ´s"), ("U.S.A.", "U.S.A."),
    ("e.g.", "e.g."), ("J.K.Rowling", "J.K.Rowling"),
    ("O'Brien", "O'Brien"), ("AT&T", "AT&T"), ("C++", "C++"), (":)", ":)"), ("id", "id"), ("Wed", "Wed"),
    ("COVID-19", "COVID-19"),
]
# fmt: on


@pytest.mark.parametrize(("text", "tokens"), SPLIT)
def test_tokenizer_splits_as_expected(nlp, text, tokens):
    doc = nlp(text)
    assert [t.text for t in doc] == tokens.split(" ")
    assert doc.text == text


def test_tokenizer_keeps_newlines_as_tokens(nlp):
    assert [t.text for t in nlp("Ana\nLopez\n\n  Week\u00a03")] == ["Ana", "\n", "Lopez", "\n\n  ", "Week", "\u00a0", "3"]


def test_tokenizer_is_a_plain_spacy_tokenizer(nlp):
    assert type(nlp.tokenizer) is Tokenizer
    assert type(create_student_tokenizer()(spacy.blank("en"))) is Tokenizer


@pytest.mark.parametrize("text", ["ana@x.org", "https://x.com/a", "www.x.com", "x.com", "linkedin.com/in/a", "@ana_l"])
def test_is_address_accepts(text):
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["menu.Keep", "word.Next", "menu.keep", "whole.it", "Email:ana@x.org", "ana@", "3.14", "e.g.", "x.com."]
)
def test_is_address_rejects(text):
    assert not is_address(text)


# fmt: off
PIECES = st.sampled_from(
    [
        "Ana",
        "_",
        "-",
        ".",
        ":",
        " ",
        "\n",
        "\u200b",
        "\u00ad",
        "\u0301",
        "ﬁ",
        "Ａ",
        "＠",
        "@",
        "x.org",
        "https://",
        "www.",
        "/",
        "(",
        ")",
        "1234567",
        "'s",
        "👍",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=15).map("".join)))
def test_tokenizer_never_changes_the_text(nlp, text):
    doc = nlp(text)
    assert doc.text == text
    assert all(len(token) for token in doc)


@pytest.mark.parametrize("unit", ["a", "_", "@", "a@", "a.", "-", "()", "_(", "´s", "http://", "www.", "\u200b", "a@b."])
def test_tokenizer_is_quick_on_hostile_text(nlp, unit):
    start = time.process_time()
    nlp((unit * 4000)[:4000])
    assert time.process_time() - start < 2


def test_tokenizer_is_the_same_in_a_fresh_process(nlp, tmp_path):
    text = "Ana_Lopez_1234567 menu.Keep Email:ana@x.org. \ufeffAna see linkedin.com/in/ana! id Ａｎａ：Ｌ Jose\u0301_L"
    nlp.to_disk(tmp_path / "pipeline")
    code = "import sys, spacy; nlp = spacy.load(sys.argv[1]); print(ascii([t.text for t in nlp(sys.argv[2])]))"
    code = "import pii_components.ruler.tokenizer\n" + code
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "pipeline"), text], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ascii([t.text for t in nlp(text)])


def test_tokenizer_survives_bytes(nlp):
    text = "Reflection-Ana menu.Keep ana@x.org"
    other = spacy.blank("en")
    other.tokenizer.from_bytes(nlp.tokenizer.to_bytes())
    assert [t.text for t in other(text)] == [t.text for t in nlp(text)]


# fmt: off
SHAPES = [
    # what shows decides
    ("Lo\u200bpez", "Xxxxx"), ("KAT\u034fIE", "XXXX"), ("L\u0336opez", "Xxxxx"), ("Jose\u0301", "Xxxx"), ("\u202bAna\u202c", "Xxx"),
    ("lOPEZ", "Xxxxx"), ("LoPeZ", "Xxxxx"), ("nIlOo", "Xxxxx"),
    # as spaCy has it
    ("LaTeX", "XxXxX"), ("mRNA", "xXXX"), ("NaCl", "XxXx"), ("McDonald", "XxXxxxx"), ("YouTube", "XxxXxxx"),
    ("Lopez", "Xxxxx"), ("iPhone", "xXxxxx"), ("’s", "’x"), ("José", "Xxxx"), ("3rd", "dxx"), ("—", "—"), ("\u200b", "\u200b"),
]
# fmt: on


@pytest.mark.parametrize(("word", "shape"), SHAPES)
def test_shape_is_that_of_what_shows(nlp, word, shape):
    assert visible_shape(word) == nlp.vocab[word].shape_ == shape


def test_shapes_survive_saving(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    assert spacy.load(tmp_path / "pipeline").vocab["Lo\u200bpez"].shape_ == "Xxxxx"
