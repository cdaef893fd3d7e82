"""Profiles: what happens to each label; what is wrong in one is told with a code."""

import json

import pytest

from pii_components.errors import PiiError
from pii_components.labels import DETAIL_LABELS, DIRECT_LABELS, LABELS
from pii_components.profiles import ACTIONS, Profile, make_profile, shipped_profiles


def test_shipped_profiles():
    assert shipped_profiles() == ("crapii", "crapii_strict", "ets", "ferpa_strict", "tags_only")


@pytest.mark.parametrize("name", ["crapii", "crapii_strict", "ets", "ferpa_strict", "tags_only"])
def test_shipped_profile_names_every_label(name):
    profile = Profile.load(name)
    assert profile.name == name
    assert profile.description
    assert set(profile.actions) == set(LABELS)
    assert profile.action("NAME_CITED") == profile.action("NAME_CHARACTER") == "keep"
    assert all(profile.protects(label) for label in ("NAME_STUDENT", *DETAIL_LABELS))
    assert make_profile(name) == profile


@pytest.mark.parametrize(
    ("name", "label", "action"),
    [
        ("crapii", "NAME_STUDENT", "surrogate"),
        ("crapii", "NAME_INSTRUCTOR", "keep"),
        ("crapii", "NAME_CONNECTED", "surrogate"),
        ("ets", "NAME_INSTRUCTOR", "pseudonym"),
        ("ets", "NAME_CONNECTED", "pseudonym"),
        ("ets", "EDUCATION", "generic"),
        ("tags_only", "EMAIL", "tag"),
        ("ferpa_strict", "NAME_INSTRUCTOR", "surrogate"),
        ("ferpa_strict", "LOCATION", "tag"),
    ],
)
def test_actions(name, label, action):
    assert Profile.load(name).action(label) == action


def test_unsure_means_protect():
    profile = Profile("bare")
    assert profile.action("NAME_STUDENT") == "tag"
    assert profile.action("NEVER_HEARD_OF") == "tag"
    assert profile.protects("NEVER_HEARD_OF")


def test_strict_profile_protects_all_direct_labels():
    assert all(Profile.load("ferpa_strict").protects(label) for label in DIRECT_LABELS)


def test_loads_a_users_file(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('name = "ours"\nscope = "corpus"\n[actions]\nEMAIL = "mask"\n', encoding="utf8")
    profile = Profile.load(path)
    assert (profile.name, profile.scope, profile.action("EMAIL")) == ("ours", "corpus", "mask")
    assert Profile.load(str(path)) == profile


@pytest.mark.parametrize("name", ["crapii", "ets"])
def test_round_trip_through_json(name):
    profile = Profile.load(name)
    assert Profile.from_dict(json.loads(json.dumps(profile.to_dict()))) == profile


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('name = "x"\n[actions]\nPERSON = "tag"\n', "E002"),
        ('name = "x"\n[actions]\nEMAIL = "destroy"\n', "E421"),
        ('name = "x"\nscope = "world"\n', "E422"),
        ('name = "x"\nheader = "shrink"\n', "E422"),
        ('name = "x"\nreserved = "yes"\n', "E422"),
        ('name = "x"\ncolour = "red"\n', "E423"),
        ('scope = "corpus"\n', "E423"),
        ('name = "x"\n[pseudonyms]\nEMAIL = []\n', "E424"),
        ('name = "x"\n[pseudonyms]\nPERSON = "Sam"\n', "E424"),
        ("name = \n", "E426"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, text, code):
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf8")
    with pytest.raises(PiiError) as err:
        Profile.load(path)
    assert err.value.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('strategy = "sometimes"', "E422"),
        ('pool = "world"', "E422"),
        ("repeat = 1.5", "E430"),
        ("repeat = true", "E422"),
        ("age_spread = 0", "E430"),
        ('age_border = "18"', "E422"),
        ('[other]\n"the twins" = ""', "E431"),
        ('[other]\n"the twins" = "The Twins"', "E431"),
        ("[generic]\nEDUCATION = []", "E432"),
        ('[actions]\n"EMAIL/BOSS" = "keep"', "E002"),
    ],
)
def test_what_is_wrong_in_newer_settings_is_told(tmp_path, text, code):
    path = tmp_path / "wrong.toml"
    path.write_text(f'name = "x"\n{text}\n', encoding="utf8")
    with pytest.raises(PiiError) as err:
        Profile.load(path)
    assert err.value.code == code


def test_a_profile_of_an_older_version_gets_defaults():
    profile = Profile.from_dict({"name": "old", "actions": {"EMAIL": "tag"}, "scope": "corpus", "reserved": True})
    assert (profile.strategy, profile.repeat, profile.pool, profile.age_border) == ("consistent", 0.5, "invented", 0)


def test_action_by_role_and_by_another_name():
    profile = Profile("x", actions={"EMAIL": "hips", "EMAIL/INSTRUCTOR": "keep"})
    assert (profile.action("EMAIL"), profile.action("EMAIL", "INSTRUCTOR"), profile.action("EMAIL", "STUDENT")) == (
        "surrogate", "keep", "surrogate",
    )  # fmt: skip


def test_a_map_of_originals_is_not_for_saving():
    profile = Profile("x", other={"the twins": "my cousins"})
    assert "the twins" not in json.dumps(profile.to_dict(private=False))
    assert "the twins" not in repr(profile)
    assert Profile.from_dict(profile.to_dict()) == profile


@pytest.mark.parametrize("name", shipped_profiles())
def test_no_shipped_profile_hashes_without_a_key(name):
    assert "legacy_sha256" not in Profile.load(name).actions.values()


def test_missing_profile_tells_what_there_is(tmp_path):
    with pytest.raises(PiiError, match="ferpa_strict") as err:
        Profile.load(tmp_path / "none.toml")
    assert err.value.code == "E425"


def test_file_that_is_no_text(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PiiError) as err:
        Profile.load(path)
    assert err.value.code == "E426"


def test_actions_are_known():
    assert ACTIONS == ("keep", "surrogate", "tag", "redact", "mask", "pseudonym", "generic", "remove", "legacy_sha256")
