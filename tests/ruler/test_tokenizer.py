"""The tokenizer for student files: tokens end where a name may end, addresses stay whole, the text is never changed."""

import time

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer

from pii_components.errors import PiiError
from pii_components.ruler.tokenizer import create_student_tokenizer, visible_shape

from ..tiny import TOKENIZER, cases

CASES = cases("tokenizer")
WORDS = "Ana _ - . : \xad \u0301 ﬁ Ａ ＠ @ x.org https:// www. / ( ) 1234567 's 👍".split(" ")
PIECES = st.sampled_from([*WORDS, " ", "\n", "\u200b"])


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en", config=TOKENIZER)


@pytest.mark.parametrize(("text", "tokens"), CASES["splits"])
def test_tokens_end_where_names_may(nlp, text, tokens):
    doc = nlp(text)
    assert [t.text for t in doc] == tokens.split(" ")
    assert doc.text == text


@pytest.mark.parametrize(("word", "shape"), CASES["shapes"])
def test_shape_is_that_of_what_shows(nlp, word, shape):
    assert visible_shape(word) == nlp.vocab[word].shape_ == shape


def test_line_breaks_are_tokens(nlp):
    tokens = [token.text for token in nlp("Ana\nLopez\n\n  Week\u00a03")]
    assert tokens == ["Ana", "\n", "Lopez", "\n\n  ", "Week", "\u00a0", "3"]


def test_plain_spacy_tokenizer_knows_addresses(nlp):
    assert type(nlp.tokenizer) is type(create_student_tokenizer()(spacy.blank("en"))) is Tokenizer
    assert spacy.registry.tokenizers.get("pii_edu.StudentTokenizer.v1") is create_student_tokenizer
    assert all(nlp.tokenizer.token_match(text) for text in CASES["whole_addresses"])
    assert not any(nlp.tokenizer.token_match(text) for text in CASES["no_addresses"])


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=15).map("".join)))
def test_the_text_never_changes(nlp, text):
    doc = nlp(text)
    assert doc.text == text
    assert all(len(token) for token in doc)


@pytest.mark.parametrize("unit", "a _ @ a@ a. - () _( ´s http:// www. \u200b a@b.".split(" "))
def test_hostile_text_is_quick(nlp, unit):
    start = time.process_time()
    nlp((unit * 4000)[:4000])
    assert time.process_time() - start < 2


NO_TEXT = [b"Ilse Okoro", b"A", "Jos\xe9".encode("latin-1"), None, 7]
REFUSED = {"E808": NO_TEXT, "E809": ["Ilse \ud83d Okoro"], "E011": ["x " * 500_001]}


@pytest.mark.parametrize("code", REFUSED)
def test_no_text_is_refused(nlp, code):
    for text in REFUSED[code]:
        for call in (
            nlp,
            lambda text: list(nlp.pipe(["Ilse", text])),
            lambda text: list(nlp.pipe([(text, 1)], as_tuples=True)),
        ):
            with pytest.raises(PiiError, match=code) as error:
                call(text)
            assert "Ilse" not in str(error.value)


def test_docs_and_bytes_are_taken(nlp):
    doc = nlp("Ilse\0 Okoro")
    assert nlp(doc) is doc and nlp(doc.to_bytes()).text == doc.text


def test_bytes_and_saved_shapes(nlp, tmp_path):
    text = "Reflection-Ana menu.Keep ana@x.org"
    other = spacy.blank("en")
    other.tokenizer.from_bytes(nlp.tokenizer.to_bytes())
    assert [t.text for t in other(text)] == [t.text for t in nlp(text)]
    nlp.to_disk(tmp_path / "pipeline")
    assert spacy.load(tmp_path / "pipeline").vocab["Lo\u200bpez"].shape_ == "Xxxxx"
