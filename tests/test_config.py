"""Whose word counts: a user's override, then what is saved, then the default; and the config says what is in force."""

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.profiles import Profile
from tests.fresh import fresh

# component, setting, value that is asked for, what is in force
SETTINGS = [
    ("hips_surrogate", "profile", "ets", lambda pipe: pipe.profile.name),
    ("hips_surrogate", "scope", "corpus", lambda pipe: pipe.scope),
    ("hips_surrogate", "reserved", False, lambda pipe: pipe.cfg["reserved"]),
    ("hips_surrogate", "key_env", "OTHER_KEY", lambda pipe: pipe._secret.env),
    ("pii_ner", "thresholds", {"NAME": 0.5}, lambda pipe: pipe.thresholds),
    ("pii_ner", "class_weights", {"O": 0.7}, lambda pipe: pipe.cfg["class_weights"]),
    ("pii_ner", "operating_point", "recall", lambda pipe: pipe.operating_point),
    ("pii_context", "settings", {"protect": 0.3}, lambda pipe: {"protect": pipe.settings.protect}),
    ("pii_ruler", "phone_regions", ["GB"], lambda pipe: pipe.cfg["phone_regions"]),
    ("pii_ruler", "shipped", False, lambda pipe: bool(pipe.patterns)),
]
# What is saved differs from the default, so that an override that equals a default shows as well.
SAVED = {
    "pii_ner": {"thresholds": {"NAME": 0.15}, "class_weights": {"O": 0.3}},
    "pii_ruler": {"phone_regions": ["US", "CA"]},
    "pii_context": {"settings": {"protect": 0.21, "header_lines": 12}},
    "hips_surrogate": {"profile": "tags_only"},
}


def make(settings=SAVED):
    nlp = spacy.blank("en")
    for name, config in settings.items():
        nlp.add_pipe(name, config=config)
    return nlp


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    from spacy.training import Example

    nlp = make()
    doc = nlp.make_doc("Ana wrote.")
    nlp.get_pipe("pii_ner").initialize(
        lambda: [Example(doc, doc)], nlp=nlp, labels=["NAME_STUDENT", "EMAIL"]
    )
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    nlp.to_disk(path)
    return path


@pytest.mark.parametrize(("name", "setting", "value", "in_force"), SETTINGS)
def test_the_override_wins_and_stays(name, setting, value, in_force, saved, tmp_path):
    plain = spacy.load(saved)
    before = in_force(plain.get_pipe(name))
    nlp = spacy.load(saved, config={"components": {name: {setting: value}}})
    nlp.from_bytes(plain.to_bytes())  # what is read later does not overrule it either
    nlp.to_disk(tmp_path / "again")
    for loaded in (nlp, spacy.load(tmp_path / "again"), nlp.from_disk(saved)):
        said = loaded.config["components"][name][setting]
        assert in_force(loaded.get_pipe(name)) == value != before
        assert {**said, **value} == said if isinstance(value, dict) else said == value
    assert in_force(spacy.load(saved).get_pipe(name)) == before


def test_settings_that_nobody_asked_for_are_those_that_were_saved(saved):
    nlp = make(dict.fromkeys(SAVED, {})).from_disk(saved)
    for name, settings in SAVED.items():
        config = nlp.config["components"][name]
        for key, value in settings.items():
            assert config[key] == ({**config[key], **value} if isinstance(value, dict) else value)
    assert nlp.get_pipe("hips_surrogate").profile.name == "tags_only"


def test_one_entry_of_a_mapping_leaves_the_others(saved):
    pipe = spacy.load(saved, config={"components.pii_context.settings.protect": 0.3}).get_pipe(
        "pii_context"
    )
    assert (pipe.settings.protect, pipe.settings.header_lines) == (0.3, 12)


def test_what_is_set_later_is_in_the_config_and_saved(saved, tmp_path):
    nlp = spacy.load(saved)
    own = Profile("mine", actions={"EMAIL": "redact"}, scope="corpus")
    for name, expected in (("ets", "ets"), (own, own.to_dict(private=False))):
        nlp.get_pipe("hips_surrogate").profile = name
        assert nlp.config["components"]["hips_surrogate"]["profile"] == expected
    nlp.get_pipe("pii_ner").thresholds = {"NAME": 0.4, "EMAIL": 0.9}
    nlp.get_pipe("pii_ner").thresholds["NAME"] = 0.33
    nlp.get_pipe("pii_context").settings = {"protect": 0.4}
    nlp.get_pipe("hips_surrogate").scope = "thread"
    nlp.to_disk(tmp_path / "changed")
    again = spacy.load(tmp_path / "changed")
    hips = again.get_pipe("hips_surrogate")
    assert (hips.profile, hips.scope) == (own, "thread")
    assert again.get_pipe("pii_ner").thresholds == {"NAME": 0.33, "EMAIL": 0.9}
    assert again.get_pipe("pii_context").settings.protect == 0.4
    assert nlp.config["components"]["pii_context"]["settings"]["protect"] == 0.4
    assert nlp.config["components"]["pii_ner"]["thresholds"]["EMAIL"] == 0.9
    assert again.config["components"] == nlp.config["components"]


def test_a_sourced_component_keeps_what_was_set_in_its_new_pipeline(saved, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("hips_surrogate", source=spacy.load(saved)).profile = "ets"
    nlp.to_disk(tmp_path / "new")
    assert spacy.load(tmp_path / "new").get_pipe("hips_surrogate").profile.name == "ets"


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ({"components.hips_surrogate.profile": "nowhere.toml"}, "E425"),
        ({"components.hips_surrogate.scope": "class"}, "E422"),
        ({"components.hips_surrogate.strategy": "luck"}, "E422"),
        ({"components.hips_surrogate.key_file": "nowhere.key"}, "E401"),
        ({"components.pii_context.settings.protekt": 0.3}, "E546"),
        ({"components.pii_context.settings.protect": 3.0}, "E650"),
        ({"components.pii_ner.thresholds": {"NAMES": 0.3}}, "E002"),
        ({"components.pii_ner.thresholds": {"NAME": 1.5}}, "E650"),
        ({"components.pii_ner.class_weights": {"O": 0}}, "E650"),
        ({"components.pii_ner.operating_point": "paranoid"}, "E519"),
        ({"components.pii_ruler.phone_regions": ["UK"]}, "E206"),
    ],
)
def test_what_cannot_be_done_is_refused_at_load(override, code, saved):
    with pytest.raises(PiiError) as err:
        spacy.load(saved, config=override)
    assert err.value.code == code


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("pii_ner", lambda pipe: pipe.thresholds.update(NAME=1.5), "E650"),
        ("pii_ner", lambda pipe: pipe.thresholds.update(NAMES=0.5), "E002"),
        ("pii_ner", lambda pipe: setattr(pipe, "operating_point", "paranoid"), "E519"),
        ("pii_context", lambda pipe: setattr(pipe, "settings", {"protect": 3.0}), "E650"),
        ("hips_surrogate", lambda pipe: setattr(pipe, "scope", "class"), "E422"),
        ("hips_surrogate", lambda pipe: pipe.set_key(b"short"), "E402"),
        ("hips_surrogate", lambda pipe: pipe.set_key(b"short" + b" " * 16), "E402"),
        ("hips_surrogate", lambda pipe: pipe.set_key("a key of sixteen bytes"), "E650"),
    ],
)
def test_setters_check_what_the_config_checks(name, change, code, saved):
    nlp = spacy.load(saved)
    before = nlp.config["components"].copy()
    with pytest.raises(PiiError) as err:
        change(nlp.get_pipe(name))
    assert err.value.code == code and "sixteen" not in str(err.value)
    assert nlp.config["components"] == before


PROCESSES = """
import multiprocessing, sys, warnings, spacy
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[2])
    nlp = spacy.load(sys.argv[1], exclude=sys.argv[3:], config={"components.hips_surrogate.profile": "crapii"})
    texts = ["Write to ana.lopez@uni.edu."] * 3
    assert all("[EMAIL]" not in doc._.deidentified and "ana" not in doc._.deidentified for doc in nlp.pipe(texts, n_process=2))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("shipped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_processes_do_what_was_asked(method, shipped, saved, tmp_path):
    (tmp_path / "run.py").write_text(PROCESSES, encoding="utf8")
    words = ["en_pii_edu", method] if shipped else [saved, method, "pii_ner"]
    fresh("run", *words, how="-m", cwd=tmp_path, PII_EDU_KEY="a key of sixteen bytes")
