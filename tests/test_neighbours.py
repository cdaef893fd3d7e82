"""What our components leave of others' work in a Doc, and what spaCy's users do with a processed Doc."""

import warnings

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin, Span

from pii_components.spans import GIVEN, Candidate, merge_found, read_spans, write_spans

from .fresh import fresh
from .surrogates.conftest import INDIRECT_TOO
from .tiny import TOKENIZER

TEXT = "Ana Lopez of Room 12 in Ashby wrote to ana@uni.edu on Monday."


@pytest.fixture
def nlp():
    from spacy.training import Example

    nlp = spacy.blank("en", config=TOKENIZER)
    for name in ("pii_ner", "pii_ruler", "pii_context", "hips_surrogate"):
        nlp.add_pipe(name)
    nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
    doc = nlp.make_doc("Ana wrote.")
    nlp.get_pipe("pii_ner").initialize(
        lambda: [Example(doc, doc)], labels=["NAME_STUDENT", "EMAIL"]
    )
    return nlp


def spans_of(doc):
    return {span.text: span.label_ for span in doc.spans["pii"]}


def test_spans_that_were_there_are_merged_and_replaced(nlp):
    nlp.get_pipe("hips_surrogate").profile = INDIRECT_TOO
    doc = nlp.make_doc(TEXT)
    given = [
        Span(doc, 0, 2, label="NAME_STUDENT"),
        Span(doc, 3, 5, label="ROOM"),
        Span(doc, 6, 7, label="LOCATION"),
    ]
    given[0]._.pii_source = "roster"
    doc.spans["pii"] = given
    for _ in range(2):  # and when the document comes again
        doc = nlp(doc)
        expected = {
            "Ana Lopez": "NAME_STUDENT",
            "Room 12": "ROOM",
            "Ashby": "LOCATION",
            "ana@uni.edu": "EMAIL",
        }
        assert expected.items() <= spans_of(doc).items() and len(
            doc.spans["pii"].attrs["scores"]
        ) == len(doc.spans["pii"])
        assert (
            not any(text in doc._.deidentified for text in expected)
            and "[ROOM]" in doc._.deidentified
        )
        assert (
            doc.spans["pii"][0]._.pii_source == "roster" and len(doc.spans["pii"].attrs[GIVEN]) == 3
        )


def test_what_is_wider_than_a_given_span_stays_covered(nlp):
    doc = nlp.make_doc("Call me at (212) 555-0187 tonight.")
    given = next(t.i for t in doc if t.text == "212")
    doc.spans["pii"] = [Span(doc, given, given + 1, label="OTHER")]
    doc = nlp(doc)
    assert (
        "PHONE_NUM" in {span.label_ for span in doc.spans["pii"]}
        and "0187" not in doc._.deidentified
        and "212" not in doc._.deidentified
    )


RULES = ("pii_ruler", "pii_context", "hips_surrogate")


def pipeline(lang="en", config=None, source=None):
    made = spacy.blank(lang, config=config or {})
    for name in RULES:
        made.add_pipe(name, source=source) if source else made.add_pipe(name)
    made.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
    return made


def with_other_tokenizer(nlp):
    nlp.tokenizer = spacy.blank("en", vocab=nlp.vocab).tokenizer
    return nlp


@pytest.mark.parametrize(
    ("make", "codes"),
    [
        (lambda: pipeline(config=TOKENIZER), []),
        (pipeline, ["W001"]),
        (lambda: pipeline(source=pipeline(config=TOKENIZER)), ["W001"]),
        (lambda: with_other_tokenizer(pipeline(config=TOKENIZER)), ["W001"]),
        (lambda: pipeline("de"), ["W002"]),
        (lambda: pipeline("de", config=TOKENIZER), ["W002"]),
    ],
)
def test_tokens_that_are_not_ours_are_told_once(make, codes):
    nlp = make()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert len([*nlp.pipe([TEXT, TEXT]), nlp(TEXT)]) == 3
    assert [str(warning.message)[1:5] for warning in seen] == codes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\[W00[12]\\]")
def test_shipped_components_in_another_pipeline_replace_whole_names():
    shipped = spacy.load("en_pii_edu")
    for lang, names in (("en", shipped.pipe_names[:2]), ("de", shipped.pipe_names[:2]), ("en", [])):
        nlp = spacy.blank(lang)
        for name in (*names, *RULES[1:]):
            nlp.add_pipe(name, source=shipped)
        nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
        for text in (
            "By Chidi Okafor",
            "Essay-Chidi Okafor",
            "Essay by Priya Patel(2nd year)",
            "Adaeze Obi3rd year",
        ):
            doc = nlp(text)
            left = [
                name
                for name in ("Chidi", "Okafor", "Priya", "Patel", "Adaeze", "Obi")
                if name in doc._.deidentified
            ]
            assert not doc.ents or not left, (lang, text, left)


@Language.component("neighbours_test_given_names", assigns=["doc.spans"])
def given_names(doc):
    found = [
        Candidate(token.i, token.i + 1, "NAME_STUDENT") for token in doc if token.text == "Chidi"
    ]
    write_spans(doc, merge_found(doc, read_spans(doc), found))
    return doc


@pytest.mark.filterwarnings("ignore:\\[W00[12]\\]")
@pytest.mark.parametrize("lang", ["en", "de"])
def test_half_a_name_is_never_replaced(lang):
    nlp = pipeline(lang)
    nlp.add_pipe("neighbours_test_given_names", after="pii_ruler")
    for text in (
        "Hi, I'm Chidi Okafor and my friend Chidi is here.",
        "file: Chidi Okafor_3348468_HW4.Rmd",
        "Chidi Okafor_20481234",
        "Write to Chidi Okafor@uni.edu",
    ):
        new = nlp(text)._.deidentified
        assert "Chidi" not in new and "Okafor" not in new, new


@pytest.mark.parametrize("without", [[], ["hips_surrogate"]])
def test_entities_hold_what_is_protected_and_those_of_others(nlp, without):
    doc = nlp.make_doc(TEXT)
    doc.ents = [Span(doc, 11, 12, label="DATE"), Span(doc, 9, 10, label="ORG")]
    doc.spans["pii"] = [Span(doc, 0, 2, label="NAME_STUDENT"), Span(doc, 6, 7, label="NAME_CITED")]
    with nlp.select_pipes(disable=without):
        ents = [(ent.text, ent.label_) for ent in nlp(doc).ents]
    assert {("Ana Lopez", "NAME_STUDENT"), ("ana@uni.edu", "EMAIL"), ("Monday", "DATE")} <= set(
        ents
    )
    assert not {"NAME_CITED", "ORG"} & {label for _, label in ents}


def test_who_wins_among_entities_is_an_option():
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    for name in ("pii_context", "hips_surrogate"):
        nlp.add_pipe(
            name, config={"ents_filter": {"@misc": "spacy.prioritize_existing_ents_filter.v1"}}
        )
    nlp.get_pipe("hips_surrogate").set_key(b"a key of sixteen bytes")
    doc = nlp.make_doc(TEXT)
    doc.ents = [Span(doc, 9, 10, label="ORG")]
    assert [ent.label_ for ent in nlp(doc).ents] == [
        "ORG"
    ] and "ana@uni.edu" not in doc._.deidentified


READ = """
import sys, spacy
from spacy.tokens import Doc, DocBin
doc = next(iter(DocBin().from_disk(sys.argv[1]).get_docs(spacy.blank("en").vocab)))
assert doc._.deidentified and doc._.pii_offsets.to_new(0) == 0 and doc._.surrogate_spans[0]["label"]
assert doc.spans["pii"][0]._.pii_reason
"""


def test_a_docbin_is_read_in_a_fresh_process(nlp, tmp_path):
    DocBin(store_user_data=True, docs=[nlp(TEXT)]).to_disk(tmp_path / "docs.spacy")
    fresh(READ, tmp_path / "docs.spacy")


@pytest.mark.parametrize(
    "module", ["pii_components.spans", "pii_components.factories", "pii_components.ruler.component"]
)
def test_attributes_are_there_whatever_is_imported_first(module):
    fresh(
        f"import {module}; from spacy.tokens import Doc, Span; assert Doc.has_extension('deidentified') and Span.has_extension('pii_role')"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\[W00[78]\\]")
def test_the_shipped_pipeline_has_no_vectors_and_says_so():
    shipped = spacy.load("en_pii_edu", exclude=["hips_surrogate"])
    doc, blank = shipped("My name is Ana Lopez."), spacy.blank("en")("Another text.")
    assert doc.vector.shape == blank.vector.shape and doc.has_vector == blank.has_vector
    assert (
        doc[0:3].as_doc().text == "My name is "
        and doc.similarity(blank) == blank.similarity(doc) == 0.0
    )


@pytest.mark.slow
def test_a_users_script_runs():
    ran = fresh("tests.user_script", how="-m")
    assert ran.stdout.startswith("NAME_STUDENT 0.") and not ran.stderr
