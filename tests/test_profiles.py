"""Profiles: what happens to each label, and what stands in its place; what is wrong in one is told with a code."""

import json
import re
from dataclasses import replace

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from pii_components.errors import PiiError
from pii_components.labels import DIRECT_LABELS, LABELS
from pii_components.profiles import (
    Profile,
    generic,
    legacy_sha256,
    make_profile,
    mask,
    pseudonym,
    redact,
    shipped_profiles,
    tag,
)

from .tiny import cases

CASES = cases("profiles")


# Who is hidden, and how: nobody changes this by accident.
ACTIONS_OF = """
label           | crapii    | crapii_strict | ets       | ferpa_strict | kaggle    | tags_only
NAME_STUDENT    | surrogate | surrogate     | pseudonym | surrogate    | surrogate | tag
NAME_INSTRUCTOR | surrogate | keep          | pseudonym | surrogate    | keep      | tag
NAME_CONNECTED  | surrogate | keep          | pseudonym | surrogate    | surrogate | tag
NAME_CITED      | keep      | keep          | keep      | keep         | keep      | keep
NAME_CHARACTER  | keep      | keep          | keep      | keep         | keep      | keep
EMAIL           | surrogate | surrogate     | pseudonym | surrogate    | surrogate | tag
USERNAME        | surrogate | surrogate     | surrogate | surrogate    | surrogate | tag
ID_NUM          | surrogate | surrogate     | surrogate | surrogate    | surrogate | tag
PHONE_NUM       | surrogate | surrogate     | pseudonym | surrogate    | surrogate | tag
URL_PERSONAL    | surrogate | surrogate     | pseudonym | surrogate    | surrogate | tag
STREET_ADDRESS  | surrogate | surrogate     | pseudonym | surrogate    | surrogate | tag
IP_ADDRESS      | surrogate | surrogate     | surrogate | surrogate    | surrogate | tag
AGE             | keep      | keep          | tag       | tag          | keep      | tag
DATE            | keep      | keep          | pseudonym | tag          | keep      | tag
LOCATION        | keep      | keep          | pseudonym | tag          | keep      | tag
EDUCATION       | keep      | keep          | generic   | tag          | keep      | tag
EMPLOYER        | keep      | keep          | generic   | tag          | keep      | tag
OTHER           | keep      | keep          | tag       | tag          | keep      | tag
"""


def test_what_each_profile_does():
    head, *rows = [re.split(r"\s*\|\s*", line) for line in ACTIONS_OF.strip().splitlines()]
    profiles = [Profile.load(name) for name in shipped_profiles()]
    assert head == ["label", *(profile.name for profile in profiles)]
    assert rows == [[label, *(profile.action(label) for profile in profiles)] for label in LABELS]
    assert not any(profile.by_role for profile in profiles)  # a detail's owner changes nothing


@pytest.mark.parametrize("name", shipped_profiles())
def test_shipped_profile_names_every_label(name):
    profile = Profile.load(name)
    assert profile.name == name
    assert profile.description
    assert set(profile.actions) == set(LABELS)
    again = Profile.from_dict(json.loads(json.dumps(profile.to_dict())))
    assert make_profile(name) == profile == again


def test_unsure_means_protect():
    profile = Profile("bare")
    assert profile.action("NAME_STUDENT") == "tag"
    assert profile.action("NEVER_HEARD_OF") == "tag"
    assert profile.protects("NEVER_HEARD_OF")
    assert all(Profile.load("ferpa_strict").protects(label) for label in DIRECT_LABELS)


def test_a_saved_pipeline_keeps_its_profile_until_another_is_set(tmp_path):
    """`crapii` of 0.12.0 let instructors' names stay; so does a pipeline that was saved then."""
    older = replace(Profile.load("kaggle"), name="crapii")
    nlp = spacy.blank("en")
    nlp.add_pipe("hips_surrogate", config={"profile": "crapii"})
    assert nlp.get_pipe("hips_surrogate").profile.protects("NAME_INSTRUCTOR")
    nlp.to_disk(tmp_path / "first")
    saved = json.dumps(older.to_dict(private=False))
    (tmp_path / "first/hips_surrogate/profile").write_text(saved, encoding="utf8")
    again = spacy.load(tmp_path / "first")
    again.to_disk(tmp_path / "second")
    hips = spacy.load(tmp_path / "second").get_pipe("hips_surrogate")
    assert again.get_pipe("hips_surrogate").profile == hips.profile == older
    hips.profile = "crapii"
    assert hips.profile == Profile.load("crapii")


def test_loads_a_users_file(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('name = "ours"\nscope = "corpus"\n[actions]\nEMAIL = "mask"\n', encoding="utf8")
    profile = Profile.load(path)
    assert (profile.name, profile.scope, profile.action("EMAIL")) == ("ours", "corpus", "mask")
    assert Profile.load(str(path)) == profile


def test_a_base_is_completed(tmp_path):
    path, ets = tmp_path / "ours.toml", Profile.load("ets")
    path.write_text('name = "ours"\nbase = "ets"\n[actions]\nCOURSE = "tag"\nAGE = "keep"\n')
    profile = Profile.load(path)
    assert profile.actions == {**ets.actions, "COURSE": "tag", "AGE": "keep"}
    assert (profile.header, profile.pseudonyms) == (ets.header, ets.pseudonyms)
    assert (profile.name, profile.description) == ("ours", "")


@pytest.mark.parametrize(("text", "code"), [*CASES["wrong"], (b"\xff\xfe\x00", "E425")])
def test_what_is_wrong_is_told(tmp_path, text, code):
    path = tmp_path / "wrong.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PiiError) as err:
        Profile.load(path)
    assert err.value.code == code


def test_action_by_role_and_by_another_name():
    profile = Profile(
        "x", actions={"EMAIL": "hips", "EMAIL/INSTRUCTOR": "keep", "PHONE_NUM/ORGANISATION": "keep"}
    )
    assert (
        profile.action("PHONE_NUM", "ORGANISATION"),
        profile.action("EMAIL", "ORGANISATION"),
    ) == ("keep", "surrogate")
    assert (
        profile.action("EMAIL"),
        profile.action("EMAIL", "INSTRUCTOR"),
        profile.action("EMAIL", "STUDENT"),
    ) == (
        "surrogate",
        "keep",
        "surrogate",
    )


def test_a_map_of_originals_is_not_for_saving():
    profile = Profile("x", other={"the twins": "my cousins"})
    assert "the twins" not in json.dumps(profile.to_dict(private=False))
    assert "the twins" not in repr(profile)
    assert Profile.from_dict(profile.to_dict()) == profile


def test_missing_profile_tells_what_there_is(tmp_path):
    with pytest.raises(PiiError, match="ferpa_strict") as err:
        Profile.load(tmp_path / "none.toml")
    assert err.value.code == "E425"


# --- what stands in the place of personal information ---


def test_tags_tell_the_label_and_pseudonyms_who_is_who():
    assert {tag(label) for label in LABELS} == {f"[{label}]" for label in LABELS}
    assert {redact(label) for label in LABELS} == {"[REDACTED]"}
    assert (pseudonym("NAME_STUDENT", "5c1f09ab3e"), pseudonym("EMAIL", 1)) == (
        "[STUDENT_5c1f09ab3e]",
        "[EMAIL_1]",
    )


@given(st.text())
def test_mask_keeps_length_and_white_space(text):
    masked = mask(text, char="*", first=False)
    assert len(masked) == len(text)
    assert all(
        (new == old) if old.isspace() else new == "*" for old, new in zip(text, masked, strict=True)
    )
    assert all(
        old in (new, new.lower()) or new == "x" for old, new in zip(text, mask(text), strict=True)
    )


def test_mask_leaves_the_first_letter_of_each_word():
    text = "Ana Lopez, A. Lopez, Y Lopez, ana@x.org 20194455 New\nYork"
    assert (
        mask(text) == "Axx Lxxxxx Ax Lxxxxx x Lxxxxx axxxxxxxx xxxxxxxx Nxx\nYxxx"
        and mask("") == ""
    )


def test_legacy_sha256_is_open_to_a_dictionary():
    hidden = legacy_sha256("Ana Lopez")
    assert len(hidden) == 64
    assert {legacy_sha256(f"{a} {b}"): a for a in ("Tom", "Ana") for b in ("Baker", "Lopez")}[
        hidden
    ] == "Ana"


@pytest.mark.parametrize(("nouns", "before", "original", "expected"), CASES["generic"])
def test_generic_noun_fits_its_sentence_and_says_what_the_original_said(
    nouns, before, original, expected
):
    assert generic(nouns, before=before, original=original) == expected
