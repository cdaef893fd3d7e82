"""`pii_ruler`: what it keeps of the model's proposals, properties, its patterns, and how it is saved. Texts as data: test_cases.py."""

import doctest
import gc
import importlib
import time

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from pii_components.errors import PiiError, PiiWarning
from pii_components.labels import LABELS, USERNAME
from pii_components.ruler import validators
from pii_components.ruler.addresses import SOURCE
from pii_components.ruler.component import PiiRuler
from pii_components.ruler.patterns import compile_patterns, judge_url, shipped_patterns
from pii_components.spans import Candidate, read_spans, write_spans

from ..tiny import TOKENIZER, cases
from .test_cases import proposed

CASES = cases("ruler_tables")


@pytest.fixture(scope="module")
def nlp():
    pipeline = spacy.blank("en", config=TOKENIZER)
    pipeline.add_pipe("pii_ruler")
    return pipeline


@pytest.fixture(scope="module")
def ruler(nlp):
    return nlp.get_pipe("pii_ruler")


def found(nlp, text):
    doc = nlp(text)
    return [(span.text, span.label_) for span in doc.spans["pii"]]


def test_works_with_plain_spacys_tokenizer():
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ruler")
    with pytest.warns(PiiWarning, match="W001"):
        assert ("ana@x.org", "EMAIL") in found(nlp, "Write to ana@x.org now")
    assert [label for _, label in found(nlp, "Ana_Lopez_20481234")] == ["ID_NUM"]


# --- the model's proposals ---


@pytest.mark.parametrize(
    ("label", "value", "kept"),
    [
        ("EMPLOYER", "ENG", [("ENG 101", "COURSE")]),  # a profile may keep it
        ("NAME_STUDENT", "ENG", [("ENG 101", "COURSE")]),
        ("NAME_STUDENT", "Ana ENG", [("Ana", "NAME_STUDENT"), ("ENG 101", "COURSE")]),
        ("ID_NUM", "101", [("ENG 101", "COURSE")]),
        # more than the pattern knows of
        ("ID_NUM", "101 204", [("ENG", "COURSE"), ("101 204", "ID_NUM")]),
    ],
)
def test_a_pattern_of_a_users_own_label_stands_against_the_model(label, value, kept):
    nlp = spacy.blank("en", config=TOKENIZER)
    ruler = nlp.add_pipe("pii_ruler", config={"shipped": False})
    ruler.add_patterns([{"label": "COURSE", "regex": r"[A-Z]{3} \d{3}"}])
    doc = nlp.make_doc("I and Ana ENG 101 204 now")
    at = doc.text.index(value)
    span = doc.char_span(at, at + len(value))
    write_spans(doc, [Candidate(span.start, span.end, label, 0.9)])
    assert [(c.label, doc[c.start : c.end].text) for c in ruler.find_spans(doc)] == [
        (label, text) for text, label in kept
    ]


def test_labels_of_patterns_are_checked(ruler):
    for label in ("EMIAL", "PERSON", "course"):
        with pytest.raises(PiiError, match="E002.*of pattern 'x'"):
            ruler.add_patterns([{"id": "x", "label": label, "regex": "x"}])


def test_home_pages_need_sure_models(nlp, ruler):
    doc = nlp.make_doc("look at www.sunnycrafts.com now")
    kept = {}
    for score in (0.6, 0.96, 0.99):
        write_spans(doc, [Candidate(2, 3, "URL_PERSONAL", score=score, source="model")])
        kept[score] = [c.label for c in ruler.find_spans(doc)]
    assert kept == {0.6: [], 0.96: [], 0.99: ["URL_PERSONAL"]}


@pytest.mark.parametrize(("url", "personal"), CASES["pages"])
def test_whose_a_page_is(url, personal):
    verdict = judge_url(validators.Hit(url, 0, len(url)), compile_patterns(shipped_patterns()))
    assert verdict is not None and verdict.personal == personal


def test_agreement_keeps_rule_and_score(nlp, ruler):
    doc = nlp.make_doc("Student ID: 20481234 Ana Lopez wrote")
    name = Candidate(4, 6, "NAME_STUDENT", 0.6, "model", "r", (0.6, 0.1, 0.1, 0.1, 0.1))
    write_spans(doc, [Candidate(3, 4, "ID_NUM", score=0.3, source="model"), name])
    number, kept = ruler.find_spans(doc)
    assert (number.source, number.score, bool(number.reason)) == ("id-cue", 1.0, True)
    assert kept == name


def test_addresses_take_in_the_models(ruler):
    names = [("Ana Reyes", "NAME_STUDENT"), ("Flores", "NAME_STUDENT")]
    text = "Ana Reyes | 14 Rua das Flores, Porto | ana@example.org"
    out = ruler.find_spans(proposed(text, [*names, ("14 Rua", "STREET_ADDRESS")]))
    assert [c.source for c in out if c.label == "STREET_ADDRESS"] == [SOURCE]


@pytest.mark.parametrize(("text", "label", "from_end", "expected"), CASES["corrected"])
def test_models_mistakes_are_corrected(nlp, ruler, text, label, from_end, expected):
    doc = nlp.make_doc(text)
    words = [token.text for token in doc]
    start, end = (words.index(word) for word in from_end)
    write_spans(doc, [Candidate(start, end + 1, label, 0.9, "model")])
    assert [[doc[c.start : c.end].text, c.label] for c in ruler.find_spans(doc)] == expected


@pytest.mark.parametrize(("text", "numbers"), CASES["strokes"])
def test_strokes_beside_names_are_no_fractions(nlp, ruler, text, numbers):
    doc = nlp.make_doc(text)
    write_spans(doc, [Candidate(0, 2, "NAME_STUDENT", 0.99, "model")])
    found = ruler.find_spans(doc)
    assert [doc[c.start : c.end].text for c in found if c.label == "ID_NUM"] == numbers


def test_known_stays_and_empty_passes(nlp):
    doc = nlp("ana97@example.org | http://ana97.example.net/ana97 | 555-014-2233")
    assert USERNAME not in {span.label_ for span in doc.spans["pii"]}
    assert not any(doc.spans["pii"] for doc in nlp.pipe(["", "   ", "\n\n", "\u200b"]))


# --- properties ---

NOISE = st.text(st.sampled_from("aA1 .@_-\n/:()#+\u200b\u00ad\u0301ﬁ＠👍\u0430"), max_size=30)
VALUES = st.sampled_from(
    "ana@x.org; Student ID: 20481234; 202-555-0143; linkedin.com/in/ana; username: ana_l; "
    "Ana_Lopez_1234567".split("; ")
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(NOISE, VALUES), max_size=6).map("".join))
def test_findings_are_sorted_and_stable(nlp, ruler, text):
    doc = nlp(text)
    cands = read_spans(doc)
    assert doc.text == text
    assert all(a.end <= b.start for a, b in zip(cands, cands[1:], strict=False))
    assert all(c.label in LABELS for c in cands)
    assert ruler.find_spans(nlp.make_doc(text)) == cands


@settings(max_examples=40, deadline=None)
@given(NOISE, NOISE)
def test_plain_addresses_are_found_anywhere(nlp, left, right):
    doc = nlp(f"{left}\n ana.lopez@uni.edu \n{right}")
    at = doc.text.index("ana.lopez@uni.edu")
    found = [s for s in doc.spans["pii"] if s.label_ in ("EMAIL", "URL_PERSONAL")]
    assert any(span.start_char <= at and at + 17 <= span.end_char for span in found)


@pytest.mark.parametrize("unit", CASES["hostile"])
def test_hostile_text_is_quick(nlp, ruler, unit):
    # One token per word: what is timed is the ruler.
    words = (unit * 40_000)[:40_000].split(" ")
    doc = Doc(nlp.vocab, words=[w or "x" for w in words], spaces=[True] * len(words))
    start = time.process_time()
    ruler.find_spans(doc)
    assert time.process_time() - start < 1.6


def test_class_lists_take_linear_time(nlp):
    def seconds(n):
        text = "".join(f"Ana Reyes | ana{k}@example.org | anar{k} | 4b\n" for k in range(n))
        doc = nlp.make_doc(text)
        gc.collect()
        gc.disable()  # else what other tests left is counted
        began = time.process_time()
        assert len(nlp.get_pipe("pii_ruler").find_spans(doc)) == n
        gc.enable()
        return time.process_time() - began

    seconds(50)
    assert seconds(1000) < 40 * max(seconds(100), 0.002)


# --- patterns ---


def test_shipped_patterns_have_ids_and_reasons():
    patterns = shipped_patterns()
    ids = [p["id"] for p in patterns]
    assert len(ids) == len(set(ids))
    assert all(p["reason"] for p in patterns)
    assert compile_patterns(patterns).sites


def test_users_add_patterns_of_all_kinds():
    nlp = spacy.blank("en", config=TOKENIZER)
    badge = {"pattern": [{"TEXT": {"REGEX": r"^B\d{3}$"}}], "reason": "badge", "score": 0.5}
    page = {"host": "students.example.org", "personal": "yes", "reason": "our pages"}
    public = {"host": "youtu.be", "path": r"^/\w", "personal": "no"}
    patterns = [
        {"label": "ID_NUM", "id": "badge", **badge},
        {"label": "USERNAME", "id": "known", "pattern": "Night Owl"},
        {"label": "ID_NUM", "id": "ours", "regex": r"U-(?P<pii>\d{4})"},
        {"label": "URL_PERSONAL", "id": "ours-url", **page},
        {"label": "URL_PERSONAL", "id": "ours-public", **public},
    ]
    nlp.add_pipe("pii_ruler").add_patterns(patterns)
    text = "B123 by Night Owl, U-4321, students.example.org/x, youtu.be/abc"
    assert found(nlp, text) == [
        ("B123", "ID_NUM"),
        ("Night Owl", "USERNAME"),
        ("4321", "ID_NUM"),
        ("students.example.org/x", "URL_PERSONAL"),
    ]
    badge = read_spans(nlp(text))[0]
    assert (badge.source, badge.reason, badge.score) == ("badge", "badge", 0.5)


def test_clear_remove_and_initialize():
    nlp = spacy.blank("en", config=TOKENIZER)
    ruler = nlp.add_pipe("pii_ruler")
    assert {"EMAIL", "IP_ADDRESS", "STREET_ADDRESS", "USERNAME"} < set(ruler.labels)
    ruler.remove("EMAIL")
    assert "EMAIL" not in ruler and found(nlp, "ana@x.org") == []
    ruler.remove_by_id("id-ssn")
    assert found(nlp, "123-45-6789") == []
    with pytest.raises(ValueError):
        ruler.remove_by_id("no such")
    ruler.clear()
    assert ruler.patterns == [] and found(nlp, "Student ID: 20481234") == []
    ruler.initialize(lambda: [], patterns=[{"label": "ID_NUM", "id": "ours", "regex": r"\bQ\d\b"}])
    assert found(nlp, "ana@x.org Q7") == [("ana@x.org", "EMAIL"), ("Q7", "ID_NUM")]


@pytest.mark.parametrize(("pattern", "code"), CASES["bad_patterns"])
def test_bad_patterns_add_nothing(pattern, code):
    ruler = PiiRuler(spacy.blank("en"), shipped=False)
    with pytest.raises(PiiError) as err:
        ruler.add_patterns([{"label": "ID_NUM", "id": "good", "regex": "x"}, pattern])
    assert err.value.code == code
    assert len(ruler) == 0


# --- errors, saving, importing ---


def test_failures_go_to_the_handler(nlp, monkeypatch):
    ruler = PiiRuler(spacy.blank("en"))
    find, failed = ruler.find_spans, []
    ruler.set_error_handler(lambda name, _, docs, err: failed.append((name, len(docs), str(err))))
    monkeypatch.setattr(ruler, "find_spans", lambda doc: 1 / 0 if doc.text == "bad" else find(doc))
    docs = list(ruler.pipe([nlp.make_doc(t) for t in ("ana@x.org", "bad", "ok")], batch_size=2))
    assert [doc.text for doc in docs] == ["ana@x.org", "ok"]
    assert ruler(nlp.make_doc("bad")) is None
    assert failed == [("pii_ruler", 1, "division by zero")] * 2


def test_bytes_and_exclude():
    nlp = spacy.blank("en")
    ruler = PiiRuler(nlp, shipped=False, phone_regions=["GB"])
    ruler.add_patterns([{"label": "ID_NUM", "id": "ours", "regex": r"U-\d{4}"}])
    other = PiiRuler(nlp).from_bytes(ruler.to_bytes())
    assert (other.patterns, other.cfg["phone_regions"]) == (ruler.patterns, ["GB"])
    partly = PiiRuler(nlp, shipped=False).from_bytes(ruler.to_bytes(exclude=["patterns"]))
    assert (partly.patterns, partly.cfg["phone_regions"]) == ([], ["GB"])


@pytest.mark.parametrize("name", ["patterns", "validators"])
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(f"pii_components.ruler.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I logged in from 84.112.203.17 at home.", [("84.112.203.17", "IP_ADDRESS")]),
        ("See section 4.15.0.112, 127.0.0.1 and 192.168.0.1.", []),
        ("router 2a02:8108:1a40:77::1f3c and ::1", [("2a02:8108:1a40:77::1f3c", "IP_ADDRESS")]),
        ("write to PO Box 2572 there", [("PO Box 2572", "STREET_ADDRESS")]),
        ("at 48.85841, 2.29451 today", [("48.85841, 2.29451", "STREET_ADDRESS")]),
        ("weights 0.12045, 0.97722 of it", []),
        ("to DE89 3704 0044 0532 0130 00", [("DE89 3704 0044 0532 0130 00", "ID_NUM")]),
        ("card 4111 1111 1111 1111 and 4111 1111 1111 1112", [("4111 1111 1111 1111", "ID_NUM")]),
        ("my insta is sam.rivera", [("sam.rivera", "USERNAME")]),
        ("Skype: live:imani.castle", [("live:imani.castle", "USERNAME")]),
        ("Dial 1-800-273-8255 for help.", []),
    ],
)
def test_forms_are_found_whole(text, expected):
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    assert found(nlp, text) == expected
