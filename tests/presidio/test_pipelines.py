"""Pipelines behind Presidio: found without downloading, texts of any length, no surrogates, nothing of the user's changed."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.labels import LABELS, NAME_LABELS
from pii_components.presidio.engine import Pipeline, check_source, cut, found_labels, memory_zone
from pii_components.spans import read_spans

from .helpers import ESSAY, names_pipeline, small_pipeline


@given(st.text(alphabet="ab \n", max_size=60), st.integers(2, 12))
def test_parts_are_the_text(text, most):
    parts = cut(text, most)
    assert "".join(parts) == text
    assert all(1 <= len(part) <= most for part in parts) or parts == [""]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("abcdefgh", ["abcdefgh"]),
        ("abcde fghij", ["abcde ", "fghij"]),
        ("ab cd\n\nef ghij", ["ab cd\n\n", "ef ghij"]),
        ("abcdefghijklmn", ["abcdefghij", "klmn"]),
    ],
)
def test_a_text_is_cut_where_a_reader_would(text, parts):
    assert cut(text, 10) == parts


def test_long_text_is_one_doc_with_everything_in_it():
    nlp = names_pipeline()
    text = "\n\n".join(["Ana Lopez read what Buzan says.", "x" * 300] * 40)
    whole = read_spans(nlp(text))
    doc = Pipeline.open(nlp, max_chars=1000).doc(text)
    assert doc.text == text
    assert [(c.label, c.score, c.reason, c.roles) for c in read_spans(doc)] == [(c.label, c.score, c.reason, c.roles) for c in whole]
    spans = [(s.start_char, s.end_char) for s in doc.spans["pii"]]
    assert [text[start:end] for start, end in spans] == ["Ana Lopez", "Buzan"] * 40


def test_one_megabyte_is_no_error():
    """spaCy itself refuses more than `nlp.max_length`, which is 1,000,000."""
    nlp = names_pipeline()
    text = ("word " * 200 + "\n") * 1049 + "Ana Lopez"
    assert len(text) > 2**20 > nlp.max_length
    doc = Pipeline.open(nlp).doc(text)
    assert len(doc.text) == len(text)
    assert [span.text for span in doc.spans["pii"]] == ["Ana Lopez"]
    assert nlp.max_length == 1_000_000


def test_stream_keeps_order_and_context():
    nlp = names_pipeline()
    texts = ["", "Ana Lopez", "\n\n".join(["Buzan " + "y" * 400] * 5), " ", "Zed"]
    docs = list(Pipeline.open(nlp, max_chars=1000).docs(zip(texts, "abcde", strict=True), batch_size=2))
    assert [(doc.text, context) for doc, context in docs] == list(zip(texts, "abcde", strict=True))
    assert [len(doc.spans["pii"]) for doc, _ in docs] == [0, 1, 5, 0, 1]


def test_surrogates_are_not_made_and_the_pipeline_stays():
    nlp = small_pipeline(surrogates=True)
    pipeline = Pipeline.open(nlp)
    assert pipeline.doc(ESSAY)._.deidentified is None
    assert next(pipeline.docs([(ESSAY, 0)]))[0]._.deidentified is None
    assert nlp.pipe_names == ["pii_ruler", "pii_context", "hips_surrogate"]


@pytest.mark.parametrize(
    ("source", "language", "code"),
    [
        ("en_pii_edu_nowhere", "", "E804"),
        ("no/such/folder", "", "E804"),
        ("en_pii_edu", "de", "E806"),
        ("", "", "E801"),
        (b"en_pii_edu", "", "E801"),
        (None, "", "E801"),
    ],
)
def test_pipeline_that_cannot_be_had(source, language, code):
    with pytest.raises(PiiError) as error:
        check_source(source, language=language)
    assert error.value.code == code


def test_folder_that_is_no_pipeline(tmp_path):
    with pytest.raises(PiiError) as error:
        Pipeline.open(tmp_path)
    assert error.value.code == "E805"
    assert str(tmp_path) not in str(error.value)


def test_pipeline_that_finds_nothing():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(PiiError) as error:
        Pipeline.open(nlp)
    assert error.value.code == "E807"
    assert "sentencizer" in str(error.value)


@pytest.mark.parametrize(("text", "code"), [(b"Ana", "E808"), (None, "E808"), (12, "E808"), ("a\ud800b", "E809")])
def test_what_is_no_text(text, code):
    pipeline = Pipeline.open(names_pipeline())
    with pytest.raises(PiiError) as error:
        pipeline.doc(text)
    assert error.value.code == code
    with pytest.raises(PiiError) as error:
        list(pipeline.docs([(text, None)]))
    assert error.value.code == code


@pytest.mark.parametrize("value", [0, 999, -1, 2.5, True, "1000"])
def test_max_chars_is_checked(value):
    with pytest.raises(PiiError) as error:
        Pipeline.open(names_pipeline(), max_chars=value)
    assert error.value.code == "E801"


def test_labels_that_a_pipeline_says_it_finds():
    assert found_labels(small_pipeline()) == (*NAME_LABELS, "EMAIL", "USERNAME", "ID_NUM", "PHONE_NUM", "URL_PERSONAL")
    assert found_labels(names_pipeline()) == LABELS
    assert found_labels("en_pii_edu")[: len(NAME_LABELS)] == NAME_LABELS
    assert "DATE" not in found_labels("en_pii_edu")


def test_memory_zone_frees_words():
    pipeline = Pipeline.open(names_pipeline())
    with memory_zone(pipeline.nlp):
        pipeline.doc("Quibbleton Zanderfruss")
        assert "Quibbleton" in pipeline.nlp.vocab.strings
    assert "Quibbleton" not in pipeline.nlp.vocab.strings
