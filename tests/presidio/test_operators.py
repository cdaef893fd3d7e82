"""The operators in Presidio's own engines: what they do with a span alone, and what they refuse."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presidio_anonymizer import AnonymizerEngine, DeanonymizeEngine, OperatorConfig
from presidio_anonymizer.entities import InvalidParamError, OperatorResult, RecognizerResult
from presidio_anonymizer.services.app_entities_convertor import AppEntitiesConvertor

from pii_components.errors import PiiError
from pii_components.labels import LABELS, PRESIDIO_ENTITIES
from pii_components.presidio.operators import (
    HipsOperator,
    PseudonymOperator,
    ReidentifyOperator,
    hips_operators,
    register_operators,
)
from pii_components.presidio.settings import label_of
from pii_components.surrogates.numbers import scheme_of
from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Hidden, Release, Vault

from .essays import KEY

PARAMS = {"key": KEY.decode()}


def hips(text: str, entity: str = "PERSON", **params) -> str:
    operator = HipsOperator()
    given_params = {**PARAMS, **params, "entity_type": entity}
    operator.validate(given_params)
    return operator.operate(text, given_params)


@pytest.fixture
def engine():
    made = AnonymizerEngine()
    register_operators(made, key=KEY)
    return made


@pytest.mark.parametrize(
    ("text", "entity", "pattern"),
    [
        ("Ana Lopez", "PERSON", r"[A-Z]\w+ [A-Z]\w+"),
        ("LOPEZ, Ana", "NAME_STUDENT", r"[A-Z]{2,}, [A-Z]\w+"),
        ("Ana Lopez's", "PERSON", r"[A-Z]\w+ [A-Z]\w+'s"),
        ("ana7@stateu.edu", "EMAIL_ADDRESS", r"[\w.]+@example\.edu"),
        ("(312) 867-5309", "PHONE_NUMBER", r"\(\d{3}\) 555-01\d\d"),
        ("AB-2047", "ID", r"[A-Z]{2}-\d{4}"),
        ("536-22-8741", "US_SSN", r"\d{3}-\d\d-\d{4}"),
        ("Dayton", "LOCATION", r"[A-Z][a-z]+"),
        ("May 3, 1999", "DATE_TIME", r"[A-Z][a-z]+ \d+, 19\d\d"),
        ("Hartwell", "NAME_INSTRUCTOR", "Hartwell"),
        ("Garcia", "CITED_PERSON", "Garcia"),
        ("Buddhist", "NRP", r"\[OTHER\]"),
        ("whatever it is", "A_TYPE_OF_OUR_OWN", r"\[OTHER\]"),
        ("", "PERSON", ""),
        ("...", "PERSON", r"\[NAME_STUDENT\]"),
    ],
)
def test_a_span_alone(text, entity, pattern):
    new = hips(text, entity)
    assert re.fullmatch(pattern, new)
    assert new == text or not (set(re.findall(r"\w{3,}", text)) - {"edu"}) & set(re.findall(r"\w{3,}", new))


def test_iban_and_card_keep_their_check():
    iban = hips("DE89 3704 0044 0532 0130 00", "IBAN_CODE")
    assert re.fullmatch(r"DE\d\d( \d{4}){4} \d\d", iban)
    code = iban.replace(" ", "")
    assert int("".join(str(int(ch, 36)) for ch in code[4:] + code[:4])) % 97 == 1
    card = hips("4111-1111-1111-1111", "CREDIT_CARD")
    assert scheme_of(card.replace("-", "")) == "luhn"


@pytest.mark.parametrize(
    ("text", "entity", "label"),
    [("Ana Lopez", "PERSON", "STUDENT"), ("Wei", "NAME_CONNECTED", "CONNECTED"), ("a@b.org", "EMAIL_ADDRESS", "EMAIL")],
)
def test_pseudonym(text, entity, label):
    new = PseudonymOperator().operate(text, {**PARAMS, "entity_type": entity})
    assert re.fullmatch(rf"\[{label}_[0-9a-f]{{10}}\]", new)
    assert new == PseudonymOperator().operate(text, {**PARAMS, "entity_type": entity})
    assert new != PseudonymOperator().operate(text, {**PARAMS, "scope": "thread:1", "entity_type": entity})


@settings(max_examples=80, deadline=None)
@given(st.text(min_size=1, max_size=30), st.sampled_from([*sorted(set(PRESIDIO_ENTITIES.values())), *LABELS, "US_SSN", "NRP"]))
def test_pure_function_of_key_scope_label_and_text(text, entity):
    """A fresh operator each time, in any order: the same. Another key or scope never brings the original back."""
    first = hips(text, entity)
    hips(text[::-1] or "x", entity)
    assert hips(text, entity) == first
    if label_of(entity) not in ("NAME_INSTRUCTOR", "NAME_CITED", "NAME_CHARACTER"):
        assert all(
            new.casefold() != text.casefold()
            for new in (first, hips(text, entity, scope="thread:2"), hips(text, entity, key="another key, 20 bytes"))
        )


def test_the_order_of_spans_does_not_matter(engine):
    text = "Ana Lopez, Tom Baker, Ana Lopez"
    spans = [
        RecognizerResult("PERSON", 0, 9, 1.0),
        RecognizerResult("PERSON", 11, 20, 1.0),
        RecognizerResult("PERSON", 22, 31, 1.0),
    ]
    ops = {"PERSON": OperatorConfig("hips")}
    new = engine.anonymize(text, spans, ops).text
    assert new == engine.anonymize(text, spans[::-1], ops).text
    first, second, third = new.split(", ")
    assert first == third != second
    assert engine.anonymize("Tom Baker", [RecognizerResult("PERSON", 0, 9, 1.0)], ops).text == second


def test_selectable_from_the_body_of_a_request(engine):
    body = json.loads(
        '{"text": "Ana Lopez, 312-867-5309", "anonymizers": {"PERSON": {"type": "pseudonym", "scope": "thread:9"},'
        ' "DEFAULT": {"type": "hips", "profile": "ferpa_strict"}}, "analyzer_results": ['
        '{"start": 0, "end": 9, "score": 0.9, "entity_type": "PERSON"}, {"start": 11, "end": 23, "score": 0.7, "entity_type": "PHONE_NUMBER"}]}'
    )
    operators = AppEntitiesConvertor.operators_config_from_json(body["anonymizers"])
    results = AppEntitiesConvertor.analyzer_results_from_json(body["analyzer_results"])
    new = engine.anonymize(body["text"], results, operators).text
    assert re.fullmatch(r"\[STUDENT_[0-9a-f]{10}\], \d{3}-555-01\d\d", new)
    assert set(engine.get_anonymizers()) >= {"hips", "pseudonym", "mask", "replace"}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"key": "too short"}, "E402"),
        ({"key": 12345678901234567890}, "E832"),
        ({"porfile": "ets"}, "E831"),
        ({"profile": "none such"}, "E425"),
        ({"profile": "/etc/passwd"}, "E425"),
        ({"profile": 7}, "E832"),
        ({"profile": "ets"}, "E834"),
        ({"scope": "document"}, "E833"),
        ({"scope": "thread:"}, "E833"),
        ({"scope": 3}, "E832"),
        ({"reserved": 1}, "E832"),
        ({"labels": {"BADGE": "BADGE_NUMBER"}}, "E002"),
        ({"document": {"rows": []}}, "E832"),
    ],
)
def test_validate_refuses(engine, params, code):
    with pytest.raises(InvalidParamError, match=code) as err:
        engine.anonymize(
            "Ana Lopez", [RecognizerResult("PERSON", 0, 9, 1.0)], {"DEFAULT": OperatorConfig("hips", {**PARAMS, **params})}
        )
    assert isinstance(err.value, PiiError)
    assert "Lopez" not in str(err.value)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"scope": "corpus"},
        {"scope": "thread:7"},
        {"reserved": False},
        {"profile": "ferpa_strict"},
        {"labels": {"PERSON": "ID_NUM"}},
    ],
)
def test_validate_takes(engine, params):
    new = engine.anonymize(
        "Ana Lopez", [RecognizerResult("PERSON", 0, 9, 1.0)], {"DEFAULT": OperatorConfig("hips", params)}
    ).text
    assert new != "Ana Lopez"


def test_no_key_is_an_error_and_the_environment_has_one(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    with pytest.raises(InvalidParamError, match="E830"):
        HipsOperator().validate({"entity_type": "PERSON"})
    monkeypatch.setenv("PII_EDU_KEY", KEY.decode())
    assert HipsOperator().operate("Ana Lopez", {"entity_type": "PERSON"}) == hips("Ana Lopez")


def test_operators_of_one_text_are_not_for_another(engine):
    results = [RecognizerResult("PERSON", 0, 9, 1.0)]
    operators = hips_operators("Ana Lopez", results, key=KEY)
    assert "Ana" not in repr(operators["PERSON"])
    assert KEY.decode() not in repr(operators["PERSON"])
    with pytest.raises(InvalidParamError, match="E835") as err:
        engine.anonymize("Tom Baker", results, operators)
    assert "Baker" not in str(err.value)


@pytest.mark.parametrize(
    ("kwargs", "code"), [({"operator": "mask"}, "E831"), ({"profile": "ets"}, "E834"), ({"key": b"x"}, "E402")]
)
def test_hips_operators_refuses(kwargs, code):
    with pytest.raises(InvalidParamError, match=code):
        hips_operators("Ana Lopez", [RecognizerResult("PERSON", 0, 9, 1.0)], **{"key": KEY, **kwargs})


def test_labels_of_entities():
    assert {label_of(label) for label in LABELS} == set(LABELS)
    assert all(label_of(entity) in LABELS for entity in PRESIDIO_ENTITIES.values())
    assert [label_of(e) for e in ("PERSON", "CITED_PERSON", "URL", "DATE_TIME", "ORGANIZATION", "ZA_MOBILE_NUMBER", "UK_NHS", "US_STUFF")] == [
        "NAME_STUDENT", "NAME_CITED", "URL_PERSONAL", "DATE", "EMPLOYER", "PHONE_NUM", "ID_NUM", "ID_NUM",
    ]  # fmt: skip
    assert label_of("NRP", {"NRP": "LOCATION"}) == "LOCATION"


@pytest.fixture
def vault(tmp_path):
    with Vault.create(tmp_path / "essays.vault", VaultKey(KEY)) as opened:
        opened.append(
            Release("1", "By Ana Lopez.", "By Carla Vidal.", (Hidden(3, 14, "NAME_STUDENT", "Carla Vidal", "Ana Lopez"),))
        )
        opened.append(
            Release("2", "By Tom Baker.", "By Ivo Novak.", (Hidden(3, 12, "NAME_STUDENT", "Ivo Novak", "Tom Baker"),))
        )
        opened.append(
            Release("3", "Of Nora Wang.", "Of Ivo Novak.", (Hidden(3, 12, "NAME_STUDENT", "Ivo Novak", "Nora Wang"),))
        )
        yield opened


def back(opened, text: str, start: int, end: int, **params) -> str:
    engine = DeanonymizeEngine()
    register_operators(None, engine, vault=opened)
    items = [OperatorResult(start, end, "PERSON", operator="hips")]
    return engine.deanonymize(text, items, {"DEFAULT": OperatorConfig("reidentify", params)}).text


def test_reidentify_by_what_stands_there(vault):
    assert back(vault, "Carla Vidal said", 0, 11) == "Ana Lopez said"
    assert back(vault, "Ivo Novak said", 0, 9, id="3") == "Nora Wang said"
    assert back(vault, "Garcia said", 0, 6, missing="keep") == "Garcia said"


@pytest.mark.parametrize(
    ("text", "end", "params", "code"),
    [
        ("Ivo Novak", 9, {}, "E837"),
        ("Garcia", 6, {}, "E837"),
        ("Ivo Novak", 9, {"id": "9"}, "E837"),
        ("Ivo Novak", 9, {"id": 9}, "E832"),
        ("Ivo Novak", 9, {"missing": "maybe"}, "E832"),
        ("Ivo Novak", 9, {"vault": "some.vault"}, "E836"),
        ("Ivo Novak", 9, {"key": "x"}, "E831"),
    ],
)
def test_reidentify_refuses(vault, text, end, params, code):
    with pytest.raises(InvalidParamError, match=code) as err:
        back(vault, text, 0, end, **params)
    assert not any(name in str(err.value) for name in ("Baker", "Wang", "Novak", "Garcia"))


def test_reidentify_needs_a_vault():
    with pytest.raises(InvalidParamError, match="E836"):
        ReidentifyOperator().validate({"entity_type": "PERSON"})
