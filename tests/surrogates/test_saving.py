"""Nothing secret leaves the process: saved, pickled and sent to workers, the component holds no key and no observed word."""

import json
import os
import pickle
import subprocess
import sys

import pytest
import spacy

from pii_components.errors import PiiError, PiiWarning
from pii_components.profiles import Profile
from pii_components.surrogates.component import HipsSurrogate

from .conftest import KEY, make_doc

ESSAY = "{NAME_STUDENT|Ana Lopez} lives in {LOCATION|Zanfort}, near {NAME_CITED|Qzxwa Zzywq}."
SECRETS = (KEY, KEY.hex().encode(), b"zxwa", b"zywq", b"Zanfort", b"lighthouse", b"bakery")


def observed(**settings) -> HipsSurrogate:
    hips = HipsSurrogate(**settings)
    hips.set_key(KEY)
    hips.observe([make_doc(ESSAY + f" {n}") for n in range(3)])
    return hips


@pytest.fixture
def key_in_environment(monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", KEY.decode())


def test_no_form_of_the_component_holds_the_key_or_what_was_observed(tmp_path):
    hips = observed(
        profile=Profile(
            "p",
            actions={"OTHER": "surrogate"},
            other={"the lighthouse twins": "the bakery brothers"},
        )
    )
    hips(make_doc("{EMAIL|ana@x.org}"))
    hips.to_disk(tmp_path)
    copy = pickle.loads(pickle.dumps(hips))
    forms = [
        hips.to_bytes(),
        pickle.dumps(hips),
        pickle.dumps(copy),
        *(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()),
    ]
    forms += [pickle.dumps(part) for part in (hips._secret, hips._observed)]
    forms += [repr(part).encode() for part in (hips._secret, hips._observed, vars(copy))]
    assert not [(secret, form[:20]) for secret in SECRETS for form in forms if secret in form]


def test_a_key_made_for_a_run_is_not_copied_either(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    hips = HipsSurrogate()
    run_key = hips._secret._run_key
    assert run_key
    data = pickle.dumps(hips)
    assert run_key not in data
    with pytest.raises(PiiError, match="E475.*the key"):
        pickle.loads(data)(make_doc(ESSAY))


def test_copy_finds_the_key_where_it_lies(key_in_environment, tmp_path):
    path = tmp_path / "key"
    path.write_bytes(KEY)
    for hips in (HipsSurrogate(), HipsSurrogate(key_file=path, key_env=None), observed()):
        copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(hips))))
        assert copy(make_doc(ESSAY))._.deidentified == hips(make_doc(ESSAY))._.deidentified


@pytest.mark.parametrize("there", [None, "another key, also long enough"])
def test_copy_does_not_take_another_key(monkeypatch, there):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    data = pickle.dumps(observed())
    if there:
        monkeypatch.setenv("PII_EDU_KEY", there)
    copy = pickle.loads(data)
    with pytest.raises(PiiError) as err:
        copy(make_doc(ESSAY))
    assert err.value.code == "E475"
    assert "another" not in str(err.value).replace("another process", "")
    copy.set_key(KEY)
    assert copy(make_doc(ESSAY))._.deidentified


def test_copy_knows_observed_names(key_in_environment):
    hips = HipsSurrogate(scope="corpus")
    before = hips(make_doc("{NAME_STUDENT|Ana Lopez}"))._.deidentified
    hips.observe([make_doc(f"{{NAME_CITED|{before}}}")])
    after = hips(make_doc("{NAME_STUDENT|Ana Lopez}"))._.deidentified
    copy = pickle.loads(pickle.dumps(hips))
    assert copy(make_doc("{NAME_STUDENT|Ana Lopez}"))._.deidentified == after != before
    copy.forget()
    assert copy(make_doc("{NAME_STUDENT|Ana Lopez}"))._.deidentified == before


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"pool": "corpus"}, lambda copy: copy.observe([])),
        (
            {"other": {"the twins": "my cousins"}},
            lambda copy: setattr(copy, "profile", "tags_only"),
        ),
    ],
)
def test_copy_says_what_it_lacks(key_in_environment, settings, cure):
    hips = observed(
        profile=Profile("p", actions={"OTHER": "surrogate", "LOCATION": "surrogate"}, **settings)
    )
    copy = pickle.loads(pickle.dumps(hips))
    with pytest.raises(PiiError) as err:
        copy(make_doc(ESSAY))
    assert err.value.code == "E475"
    copy.forget()
    cure(copy)
    assert copy(make_doc(ESSAY))._.deidentified


def test_settings_are_copied():
    hips = HipsSurrogate("ours", profile="ets", scope="thread", reserved=False, strategy="markov")
    hips.thread = "author 1"
    copy = pickle.loads(pickle.dumps(hips))
    assert (copy.name, copy.profile, copy.cfg, copy.thread) == (
        "ours",
        hips.profile,
        hips.cfg,
        "author 1",
    )


def test_workers_that_are_forked_have_the_key():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    nlp = spacy.blank("en")
    hips = nlp.add_pipe("hips_surrogate")
    hips.set_key(KEY)
    docs = [make_doc(ESSAY + f" {n}") for n in range(4)]
    alone = [hips(make_doc(ESSAY + f" {n}"))._.deidentified for n in range(4)]
    assert [doc._.deidentified for doc in nlp.pipe(docs, n_process=2, batch_size=1)] == alone


SPAWNED = """
import json, multiprocessing, sys

def main():
    multiprocessing.set_start_method("spawn")
    sys.path.insert(0, sys.argv[1])
    import spacy
    from tests.surrogates.conftest import make_doc
    import pii_components.surrogates.component
    nlp = spacy.blank("en")
    hips = nlp.add_pipe("hips_surrogate", config={"scope": "corpus"})
    docs = [make_doc("{NAME_STUDENT|Ana Lopez} " + str(n)) for n in range(4)]
    hips.observe(docs)
    print(json.dumps([doc._.deidentified for doc in nlp.pipe(docs, n_process=2, batch_size=1)]))

if __name__ == "__main__":
    main()
"""


def test_workers_that_are_spawned_find_the_key(tmp_path, pytestconfig, key_in_environment):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED, encoding="utf8")
    env = {**os.environ, "PYTHONPATH": str(pytestconfig.rootpath)}
    command = [sys.executable, str(script), str(pytestconfig.rootpath)]
    out = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=600)
    assert out.returncode == 0, out.stderr[-2000:]
    hips = HipsSurrogate(scope="corpus")
    docs = [make_doc("{NAME_STUDENT|Ana Lopez} " + str(n)) for n in range(4)]
    hips.observe(docs)
    assert json.loads(out.stdout) == [hips(doc)._.deidentified for doc in docs]


def test_no_warning_about_a_key_that_is_there(key_in_environment, recwarn):
    HipsSurrogate()(make_doc(ESSAY))
    assert not [w for w in recwarn if issubclass(w.category, PiiWarning)]
