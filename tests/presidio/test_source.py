"""`presidio_source`: Presidio's recognizers in our pipeline; what they find, how it is merged, what becomes of it."""

import json
import re

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from presidio_anonymizer.entities import RecognizerResult
from spacy.tokens import Doc

from pii_components.errors import PiiError
from pii_components.labels import LABELS
from pii_components.presidio import PiiEduAnonymizer
from pii_components.presidio.settings import label_of
from pii_components.presidio.source import PresidioSource
from pii_components.spans import Candidate, merge_found, resolve_overlaps
from tests.fresh import fresh
from tests.tiny import TOKENIZER

from .common import KEY, small_pipeline

VOCAB = spacy.blank("en").vocab
TEXT = "My social security number is 536-22-8741 and my IBAN is DE89 3704 0044 0532 0130 00. I paid with 4111 1111 1111 1111; my passport is 912803456."


def pipeline(**config) -> spacy.Language:
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("presidio_source", config=config)
    return nlp


@pytest.fixture(scope="module")
def source():
    return pipeline()


def found(doc: Doc) -> list[tuple[str, str, str]]:
    return [(s.text, s.label_, s._.pii_source) for s in doc.spans["pii"]]


def test_the_default_ones(source):
    doc = source(TEXT)
    assert found(doc) == [
        ("536-22-8741", "ID_NUM", "presidio:UsSsnRecognizer"),
        ("DE89 3704 0044 0532 0130 00", "ID_NUM", "presidio:IbanRecognizer"),
        ("4111 1111 1111 1111", "ID_NUM", "presidio:CreditCardRecognizer"),
        ("912803456", "ID_NUM", "presidio:UsPassportRecognizer"),
    ]
    reasons = [s._.pii_reason for s in doc.spans["pii"]]
    assert re.match("Presidio: IBAN_CODE, pattern IBAN.*its check digits are right", reasons[1])
    assert reasons[3].endswith("a word near it says so")
    assert doc.spans["pii"].attrs["scores"][1] == 1.0


@pytest.mark.parametrize(
    ("name", "text", "value", "label"),
    [
        ("Iban", "IBAN GB29NWBK60161331926819 here", "GB29NWBK60161331926819", "ID_NUM"),
        ("Iban", "IBAN GB29NWBK60161331926818 here", None, None),
        ("UsSsn", "the product 536228741 sells", None, None),
        ("Email", "at ana@stateu.edu today", "ana@stateu.edu", "EMAIL"),
        ("MacAddress", "at 00:1A:2B:3C:4D:5E it", "00:1A:2B:3C:4D:5E", label_of("MAC_ADDRESS")),
    ],
)
def test_recognizers_by_name(name, text, value, label):
    doc = pipeline(recognizers=[f"{name}Recognizer"])(text)
    assert found(doc) == ([(value, label, f"presidio:{name}Recognizer")] if value else [])


def test_settings_of_a_recognizer_and_patterns_of_ones_own():
    patterns = [{"name": "card", "regex": r"\bSC\d{4}\b", "score": 0.2}]
    card = {
        "name": "StudentCard",
        "supported_entity": "STUDENT_CARD",
        "patterns": patterns,
        "context": ["card"],
    }
    names = {"name": "HouseNames", "supported_entity": "HOUSE", "deny_list": ["Blue House"]}
    ring = {"name": "PhoneRecognizer", "supported_regions": ["US"], "context": ["ring"]}
    nlp = pipeline(
        recognizers=[card, names, ring], labels={"STUDENT_CARD": "ID_NUM", "HOUSE": "LOCATION"}
    )
    assert found(
        nlp("My card SC1234, in the Blue House. Ring 212-867-5309. And SC9999 sold nine.")
    ) == [
        ("SC1234", "ID_NUM", "presidio:StudentCard"),
        ("Blue House", "LOCATION", "presidio:HouseNames"),
        ("212-867-5309", "PHONE_NUM", "presidio:PhoneRecognizer"),
    ]


def test_threshold_and_context():
    text = "the product 536228741 sells"
    assert found(pipeline(recognizers=["UsSsnRecognizer"], score_threshold=0.05)(text))
    assert found(pipeline(recognizers=["UsSsnRecognizer"], context=["ssn"])(text))
    assert not found(
        pipeline(recognizers=["UsSsnRecognizer"], score_threshold=0.9, context=["ssn"])(text)
    )


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"recognizers": ["IbanRecogniser"]}, "E844"),
        ({"recognizers": ["os.system"]}, "E844"),
        ({"recognizers": ["PREDEFINED_RECOGNIZERS"]}, "E844"),
        ({"recognizers": [{"name": "IbanRecognizer", "colour": "red"}]}, "E844"),
        ({"recognizers": [{"name": "Mine", "patterns": []}]}, "E844"),
        ({"recognizers": ["AzureAILanguageRecognizer"]}, "E844"),
        ({"recognizers": [{"name": "GLiNERRecognizer", "model_name": "urchade/gliner"}]}, "E844"),
        ({"recognizers": []}, "E650"),
        ({"score_threshold": 1.5}, "E650"),
        ({"labels": {"US_SSN": "PHONE"}}, "E002"),
    ],
)
def test_wrong_settings(config, code):
    with pytest.raises(PiiError, match=code):
        pipeline(**config)


def test_a_failure_does_not_quote_the_text(source, monkeypatch):
    component = source.get_pipe("presidio_source")
    monkeypatch.setattr(component.engine, "analyze", lambda *args, **kwargs: int("Lopez"))
    with pytest.raises(PiiError, match="E845") as err:
        component(source.make_doc("Ana Lopez"))
    assert "Lopez" not in str(err.value)
    assert err.value.__cause__ is None
    component.set_error_handler(lambda name, proc, docs, e: None)
    assert list(component.pipe([source.make_doc("Ana Lopez")])) == []
    component.set_error_handler(spacy.util.raise_error)


def test_it_works_behind_the_ruler():
    nlp = small_pipeline()
    nlp.add_pipe("presidio_source")
    doc = nlp("Write to ana@stateu.edu; IBAN DE89 3704 0044 0532 0130 00, phone (212) 867-5309.")
    expected = [
        ("ana@stateu.edu", "EMAIL"),
        ("DE89 3704 0044 0532 0130 00", "ID_NUM"),
        ("(212) 867-5309", "PHONE_NUM"),
    ]
    assert [(text, label) for text, label, _ in found(doc)] == expected


SPANS = st.lists(
    st.tuples(
        st.integers(0, 11), st.integers(1, 5), st.sampled_from(LABELS), st.sampled_from([0.4, 0.9])
    ).map(lambda s: (s[0], min(12, s[0] + s[1]), s[2], s[3])),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(SPANS, SPANS, st.randoms(use_true_random=False))
def test_merging_uncovers_nothing_whatever_the_order(known, new, rng):
    doc = Doc(VOCAB, words=list("abcd.efg,hij"))
    ours = resolve_overlaps(Candidate(*c) for c in known)
    theirs = [Candidate(*c, source="presidio:X") for c in new]
    result = merge_found(doc, ours, theirs)
    covered = {i for c in result for i in range(c.start, c.end)}
    assert sum(c.end - c.start for c in result) == len(covered)
    assert covered >= {
        i for c in (*ours, *theirs) for i in range(c.start, c.end) if doc[i].text.isalnum()
    }
    assert covered <= {i for c in (*ours, *theirs) for i in range(c.start, c.end)}
    assert result == sorted(result, key=lambda c: c.start)
    shuffled = theirs[:]
    rng.shuffle(shuffled)
    assert merge_found(doc, ours, shuffled) == result
    assert merge_found(doc, result, []) == result


def test_saved_and_loaded(tmp_path, source):
    nlp = pipeline(
        recognizers=["IbanRecognizer", {"name": "PhoneRecognizer", "context": ["ring"]}],
        labels={"IBAN_CODE": "OTHER"},
    )
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp")
    assert again.get_pipe("presidio_source").cfg == nlp.get_pipe("presidio_source").cfg
    other = PresidioSource(source).from_bytes(nlp.get_pipe("presidio_source").to_bytes())
    doc = other(source.make_doc("IBAN DE89 3704 0044 0532 0130 00"))
    assert [(s.text, s.label_) for s in doc.spans["pii"]] == [
        ("DE89 3704 0044 0532 0130 00", "OTHER")
    ]
    config = spacy.util.load_config_from_str(nlp.config.to_str())
    from_config = spacy.util.load_model_from_config(config, auto_fill=True)
    assert from_config.get_pipe("presidio_source").cfg == nlp.get_pipe("presidio_source").cfg


FRESH = """
import json, sys
import spacy
from pii_components.errors import PiiError
names = ("presidio_analyzer", "presidio_anonymizer")
sys.modules.update(dict.fromkeys(names))  # as if it were not installed
for module in ("operators", "recognizer"):
    try:
        __import__("pii_components.presidio." + module)
    except PiiError as err:
        assert err.code == "E005" and "en_pii_edu[presidio]" in str(err), err
    else:
        raise AssertionError(module)
for name in names:
    del sys.modules[name]
nlp = spacy.load(sys.argv[1])
texts = ["IBAN DE89 3704 0044 0532 0130 00", "SSN 536-22-8741", "nothing here"]
rows = [[(s.text, s.label_, s._.pii_source) for s in doc.spans["pii"]] for doc in nlp.pipe(texts, n_process=2, batch_size=1)]
from presidio_anonymizer.entities import RecognizerResult
from pii_components.presidio import PiiEduAnonymizer
results = [RecognizerResult(*row, 1.0) for row in json.loads(sys.argv[3])]
print(json.dumps([rows, PiiEduAnonymizer(key="a key for tests, 32 bytes long..").anonymize(sys.argv[2], results).text]))
"""


def test_fresh_process_with_two_workers(tmp_path, source):
    """The component as it was saved, the same surrogates, and E005 where Presidio is not installed."""
    source.to_disk(tmp_path / "nlp")
    text = "I am Ana Lopez, ana.lopez@stateu.edu."
    spans = [("EMAIL_ADDRESS", 16, 36), ("PERSON", 5, 14)]
    made = fresh(FRESH, tmp_path / "nlp", text, json.dumps(spans), PYTHONHASHSEED="7")
    rows, new = json.loads(made.stdout)
    assert rows == [
        [["DE89 3704 0044 0532 0130 00", "ID_NUM", "presidio:IbanRecognizer"]],
        [["536-22-8741", "ID_NUM", "presidio:UsSsnRecognizer"]],
        [],
    ]
    results = [RecognizerResult(*span, 1.0) for span in spans]
    assert new == PiiEduAnonymizer(key=KEY).anonymize(text, results).text
