"""Presidio's engines with our operators against the spaCy component: the same text, for the same key and spans."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presidio_anonymizer import AnonymizerEngine, BatchAnonymizerEngine, ConflictResolutionStrategy, OperatorConfig
from presidio_anonymizer.entities import InvalidParamError, RecognizerResult

from pii_components.corpus.build import Filled
from pii_components.errors import PiiError
from pii_components.presidio.operators import PiiEduAnonymizer, PiiEduDeanonymizer
from pii_components.presidio.operators import hips_operators
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate
from pii_components.vault.keys import VaultKey
from pii_components.vault.vault import Vault

from ..surrogates.conftest import unmark
from .essays import KEY, as_doc, as_results, essays

ESSAY = (
    "{NAME_STUDENT|Ana Lopez}\nI am {NAME_STUDENT|Ana}; Dr. {NAME_INSTRUCTOR|Hartwell} and {NAME_CONNECTED|Wei Chen} helped. "
    "{NAME_CITED|Garcia} (2019) says so. {EMAIL|ana.lopez7@stateu.edu}, {PHONE_NUM|(312) 867-5309}, {ID_NUM|AB-2047}, "
    "{NAME_STUDENT|Tom Baker} {NAME_STUDENT|Nora Wang}, {EDUCATION|Ridgeview College}, {DATE|May 3, 1999}, {OTHER|the twins}."
)


def filled(marked: str) -> Filled:
    text, spans = unmark(marked)
    return Filled(text, tuple(spans))


def component(profile: str | Profile = "crapii", scope: str | None = None) -> HipsSurrogate:
    hips = HipsSurrogate(profile=profile, scope=scope)
    hips.set_key(KEY)
    return hips


def differing(
    texts, engine: PiiEduAnonymizer, hips: HipsSurrogate, *, operator: str = "hips", presidio: bool = False
) -> list[int]:
    """RETURNS (list[int]): Numbers of the essays where the two disagree."""
    found = []
    for i, essay in enumerate(texts):
        got = engine.anonymize(essay.text, as_results(essay, presidio=presidio), {"DEFAULT": OperatorConfig(operator)})
        if got.text != hips(as_doc(essay))._.deidentified:
            found.append(i)
    return found


@pytest.mark.filterwarnings("ignore:.*W402")
def test_two_hundred_essays_become_the_same_texts():
    texts = essays(200)
    assert len(texts) == 200
    assert differing(texts, PiiEduAnonymizer(key=KEY), component()) == []


@pytest.mark.filterwarnings("ignore:.*W402")
@pytest.mark.parametrize(
    ("profile", "scope"), [("ets", None), ("ferpa_strict", None), ("tags_only", None), ("crapii", "corpus")]
)
def test_profiles_and_scopes_agree(profile, scope):
    engine = PiiEduAnonymizer(key=KEY, profile=profile, scope=scope)
    assert differing(essays(200)[:40], engine, component(profile, scope)) == []


def test_actions_by_label_and_role_agree():
    crapii = Profile.load("crapii")
    profile = replace(crapii, actions={**crapii.actions, "EMAIL/INSTRUCTOR": "keep", "NAME_CONNECTED/CONNECTED": "tag"})
    essay = filled(ESSAY + " Dr. {NAME_INSTRUCTOR|Hartwell}: {EMAIL|t.hartwell@stateu.edu}.")
    got = PiiEduAnonymizer(key=KEY, profile=profile).anonymize(essay.text, as_results(essay)).text
    assert got == component(profile)(as_doc(essay))._.deidentified
    assert "t.hartwell@stateu.edu" in got
    assert "ana.lopez7@stateu.edu" not in got


@pytest.mark.filterwarnings("ignore:.*W402")
def test_pseudonyms_agree_with_a_profile_of_pseudonyms():
    crapii = Profile.load("crapii")
    actions = {label: "keep" if crapii.action(label) == "keep" else "pseudonym" for label in crapii.actions}
    hips = component(replace(crapii, actions=actions))
    assert differing(essays(200)[:40], PiiEduAnonymizer(key=KEY), hips, operator="pseudonym") == []


@pytest.mark.filterwarnings("ignore:.*W402")
def test_presidios_names_agree_where_the_recognizer_says_our_label():
    assert differing(essays(200)[:40], PiiEduAnonymizer(key=KEY), component(), presidio=True) == []


@pytest.mark.filterwarnings("ignore:.*W402")
def test_operators_made_for_a_text_agree_in_presidios_own_engine():
    from pii_components.presidio.operators import register_operators

    engine = AnonymizerEngine()
    register_operators(engine)
    hips = component()
    for essay in essays(200)[:40]:
        results = as_results(essay)
        got = engine.anonymize(essay.text, results, hips_operators(essay.text, results, key=KEY))
        assert got.text == hips(as_doc(essay))._.deidentified


def test_merged_neighbours_stay_two_people():
    essay = filled(ESSAY)
    with_merging = PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay))
    without = PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay), merge_entities_with_spaces=False)
    assert with_merging.text == without.text == component()(as_doc(essay))._.deidentified
    assert len(with_merging.items) == len(without.items) - 1


def test_one_text_two_people():
    """Two who share a surname: the bare surname belongs to whom was named last, which only the place can tell."""
    marked = (
        "Ms. {NAME_CONNECTED|Priya Nair} came. {NAME_CONNECTED|Priya} sat. Then {NAME_CONNECTED|Priya Shah} came, and "
        "{NAME_CONNECTED|Priya} left."
    )
    essay = filled(marked)
    got = PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay)).text
    assert got == component()(as_doc(essay))._.deidentified
    first, second = got.split(" came.")[0].split()[1], got.split("Then ")[1].split()[0]
    assert first != second
    assert got.endswith(f"{second} left.")
    operators = hips_operators(essay.text, as_results(essay), key=KEY)
    engine = AnonymizerEngine()
    from pii_components.presidio.operators import register_operators

    register_operators(engine)
    assert "Priya" not in engine.anonymize(essay.text, as_results(essay), operators).text


def test_other_operators_beside_ours():
    essay = filled(ESSAY)
    operators = {
        "EMAIL": OperatorConfig("mask", {"masking_char": "*", "chars_to_mask": 5, "from_end": False}),
        "ID_NUM": OperatorConfig("pseudonym"),
        "NAME_STUDENT": OperatorConfig("hips"),
    }
    got = PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay), operators)
    assert "*****opez7@stateu.edu" in got.text
    assert "[ID_NUM_" in got.text
    assert "<PHONE_NUM>" in got.text
    assert {item.operator for item in got.items} == {"mask", "pseudonym", "hips", "replace"}
    assert {item.entity_type for item in got.items} == {label for _, _, label in essay.spans}
    assert all(got.text[item.start : item.end] == item.text for item in got.items)


def test_without_operators_asked_for_it_is_presidio():
    essay = filled(ESSAY)
    theirs = AnonymizerEngine().anonymize(essay.text, as_results(essay), {})
    ours = PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay), {})
    assert theirs.to_json() == ours.to_json()


def test_headers_go_and_come_back(tmp_path):
    key = VaultKey(KEY)
    essay = filled(
        "{NAME_STUDENT|Ana Lopez}\nENGL 101\n{DATE|12 May 2019}\n\nThe Ferry\n\nI am {NAME_STUDENT|Ana}, he is {NAME_CITED|Bo}."
    )
    with Vault.create(tmp_path / "v", key) as vault:
        got = PiiEduAnonymizer(profile="ets", key=KEY, vault=vault).anonymize(essay.text, as_results(essay), document_id="7")
        assert got.text.startswith("The Ferry")
        assert got.text == component("ets")(as_doc(essay))._.deidentified
    with Vault.open(tmp_path / "v", key) as vault:
        back = PiiEduDeanonymizer(vault=vault).deanonymize(got.text, got.items)
        assert back.text == essay.text


@pytest.fixture
def vault(tmp_path):
    with Vault.create(tmp_path / "essays.vault", VaultKey(KEY)) as opened:
        yield opened


def test_the_way_back_is_exact_for_whatever_operator(vault):
    engine, back = PiiEduAnonymizer(key=KEY, vault=vault), PiiEduDeanonymizer(vault=vault)
    for n, operators in enumerate((None, {}, {"DEFAULT": OperatorConfig("pseudonym"), "EMAIL": OperatorConfig("redact")})):
        for i, essay in enumerate([filled(ESSAY), *essays(200)[:10]]):
            got = engine.anonymize(essay.text, as_results(essay), operators, document_id=f"{n}-{i}")
            assert i or got.text != essay.text
            assert back.deanonymize(got.text, got.items).text == essay.text


def test_some_items_come_back_and_others_stay(vault):
    essay = filled(ESSAY)
    got = PiiEduAnonymizer(key=KEY, vault=vault).anonymize(essay.text, as_results(essay))
    mails = [item for item in got.items if item.entity_type == "EMAIL"]
    back = PiiEduDeanonymizer(vault=vault).deanonymize(got.text, mails)
    assert "ana.lopez7@stateu.edu" in back.text
    assert "Ana Lopez" not in back.text


def test_a_changed_text_is_refused(vault):
    essay = filled(ESSAY)
    got = PiiEduAnonymizer(key=KEY, vault=vault).anonymize(essay.text, as_results(essay))
    with pytest.raises(PiiError, match="E458"):
        PiiEduDeanonymizer(vault=vault).deanonymize(got.text + "!", got.items)


def test_spans_that_are_not_the_anonymizers_are_refused(vault):
    essay = filled(ESSAY)
    got = PiiEduAnonymizer(key=KEY, vault=vault).anonymize(essay.text, as_results(essay))
    got.items[0].start += 1
    with pytest.raises(PiiError, match="E839"):
        PiiEduDeanonymizer(vault=vault).deanonymize(got.text, got.items)


def test_the_cli_s_vault_opens_here(vault):
    """What the pipeline released, Presidio can bring back."""
    from presidio_anonymizer.entities import OperatorResult

    essay = filled(ESSAY)
    doc = component()(as_doc(essay))
    vault.append(doc, id="1")
    items = [OperatorResult(row["start_char"], row["end_char"], row["label"], operator="hips") for row in doc._.surrogate_spans]
    assert PiiEduDeanonymizer(vault=vault).deanonymize(doc._.deidentified, items).text == essay.text


def test_lists_and_dicts():
    texts = [filled(ESSAY), *essays(200)[:5]]
    engine = BatchAnonymizerEngine(PiiEduAnonymizer(key=KEY))
    got = engine.anonymize_list([t.text for t in texts], [as_results(t) for t in texts])
    hips = component()
    assert got == [hips(as_doc(t))._.deidentified for t in texts]


@pytest.mark.parametrize(
    ("kwargs", "results", "code"),
    [
        ({"key": "short"}, [("PERSON", 0, 3)], "E402"),
        ({"profile": "nothing"}, [("PERSON", 0, 3)], "E425"),
        ({"profile": "../../etc/passwd"}, [("PERSON", 0, 3)], "E425"),
        ({"profile": {"name": "x", "colour": "red"}}, [("PERSON", 0, 3)], "E423"),
        ({"scope": "thread"}, [("PERSON", 0, 3)], "E833"),
        ({"reserved": "yes"}, [("PERSON", 0, 3)], "E832"),
        ({"labels": {"PERSON": "HERO"}}, [("PERSON", 0, 3)], "E002"),
        ({}, [("PERSON", 0, 300)], "E838"),
    ],
)
def test_bad_settings_are_coded_errors_without_text(kwargs, results, code):
    engine = PiiEduAnonymizer(**{"key": KEY, **kwargs})
    with pytest.raises(InvalidParamError, match=code) as err:
        engine.anonymize("Ana Lopez wrote this.", [RecognizerResult(e, s, t, 1.0) for e, s, t in results])
    assert isinstance(err.value, PiiError)
    assert "Lopez" not in str(err.value)
    assert err.value.err_msg == str(err.value)


def test_bytes_are_no_text():
    with pytest.raises(InvalidParamError, match="E832"):
        PiiEduAnonymizer(key=KEY).anonymize(b"Ana", [RecognizerResult("PERSON", 0, 3, 1.0)])


WORDS = st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(WORDS, st.sampled_from(["NAME_STUDENT", "EMAIL", "ID_NUM", "DATE", "AGE", "OTHER", "IBAN_CODE", ""]), WORDS),
        max_size=8,
    ),
    st.booleans(),
)
def test_any_text_and_spans_outside_stays_and_offsets_hold(parts, trim):
    """What is between the spans stays as it was; items say where the new values are; no span keeps its text."""
    text, results = "", []
    for value, entity, gap in parts:
        if entity:
            results.append(RecognizerResult(entity, len(text), len(text) + len(value), 0.5))
        text += value + " | " + gap + " | "
    how = ConflictResolutionStrategy.REMOVE_INTERSECTIONS if trim else ConflictResolutionStrategy.MERGE_SIMILAR_OR_CONTAINED
    got = PiiEduAnonymizer(key=KEY).anonymize(text, results, conflict_resolution=how)
    rebuilt, last = "", 0
    for item, result in zip(sorted(got.items, key=lambda i: i.start), results, strict=True):
        assert (item.end - item.start, item.entity_type) == (len(item.text), result.entity_type)
        assert item.text.casefold() != text[result.start : result.end].casefold()
        rebuilt += text[last : result.start] + item.text
        last = result.end
    assert rebuilt + text[last:] == got.text


FRESH = """
import json, sys
from presidio_anonymizer.entities import RecognizerResult
from pii_components.presidio.operators import PiiEduAnonymizer
text, spans = json.loads(sys.argv[1])
results = [RecognizerResult(label, start, end, 1.0) for start, end, label in reversed(spans)]
print(ascii(PiiEduAnonymizer(key=sys.argv[2]).anonymize(text, results).text))
"""


def test_another_process_gives_the_same():
    essay = filled(ESSAY)
    arguments = [json.dumps([essay.text, essay.spans]), KEY.decode()]
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    out = subprocess.run([sys.executable, "-c", FRESH, *arguments], capture_output=True, text=True, check=False, env=env)
    assert out.returncode == 0, out.stderr[-1500:]
    assert out.stdout.strip() == ascii(PiiEduAnonymizer(key=KEY).anonymize(essay.text, as_results(essay)).text)
