"""Nothing secret leaves the process: saved, pickled and sent to workers, the component holds no key and no observed word."""

import os
import pickle

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.surrogates.component import HipsSurrogate

from .conftest import KEY, hide, make_doc, surrogates_of

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


def test_no_form_holds_secrets(tmp_path):
    other = {"the lighthouse twins": "the bakery brothers"}
    hips = observed(profile=surrogates_of("OTHER", other=other))
    hips(make_doc("{EMAIL|ana@x.org}"))
    hips.to_disk(tmp_path)
    copy = pickle.loads(pickle.dumps(hips))
    forms = [hips.to_bytes(), pickle.dumps(hips), pickle.dumps(copy), repr(vars(copy)).encode()]
    forms += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for part in (hips._secret, hips.corpus_names):
        forms += [pickle.dumps(part), repr(part).encode()]
    assert not [(secret, form[:20]) for secret in SECRETS for form in forms if secret in form]


def test_keys_of_a_run_stay(monkeypatch):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    hips = HipsSurrogate()
    run_key = hips._secret._run_key
    assert run_key
    data = pickle.dumps(hips)
    assert run_key not in data
    with pytest.raises(PiiError, match="E475.*the key"):
        pickle.loads(data)(make_doc(ESSAY))


def test_copies_find_the_key(key_in_environment, tmp_path):
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(0o600)
    for hips in (HipsSurrogate(), HipsSurrogate(key_file=path, key_env=None), observed()):
        copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(hips))))
        assert hide(copy, ESSAY) == hide(hips, ESSAY)


@pytest.mark.parametrize("there", [None, "another key, also long enough"])
def test_copies_take_no_other_key(monkeypatch, there):
    monkeypatch.delenv("PII_EDU_KEY", raising=False)
    data = pickle.dumps(observed())
    if there:
        monkeypatch.setenv("PII_EDU_KEY", there)
    copy = pickle.loads(data)
    with pytest.raises(PiiError, match="E475") as err:
        copy(make_doc(ESSAY))
    assert "another" not in str(err.value).replace("another process", "")
    copy.set_key(KEY)
    assert hide(copy, ESSAY)


def test_copies_know_observed_names(key_in_environment):
    hips, name = HipsSurrogate(scope="corpus"), "{NAME_STUDENT|Ana Lopez}"
    before = hide(hips, name)
    hips.observe([make_doc(f"{{NAME_CITED|{before}}}")])
    copy = pickle.loads(pickle.dumps(hips))
    assert hide(copy, name) == hide(hips, name) != before
    copy.forget()
    assert hide(copy, name) == before


@pytest.mark.parametrize("lacks", [{"pool": "corpus"}, {"other": {"the twins": "my cousins"}}])
def test_copies_say_what_they_lack(key_in_environment, lacks):
    hips = observed(profile=surrogates_of("OTHER", "LOCATION", **lacks))
    copy = pickle.loads(pickle.dumps(hips))
    with pytest.raises(PiiError, match="E475"):
        copy(make_doc(ESSAY))
    copy.forget()
    if "pool" in lacks:
        copy.observe([])
    else:
        copy.profile = "tags_only"
    assert hide(copy, ESSAY)


def test_settings_are_copied():
    hips = HipsSurrogate("ours", profile="ets", scope="thread", reserved=False)
    hips.thread = "author 1"
    copy = pickle.loads(pickle.dumps(hips))
    assert (copy.name, copy.profile, copy.cfg) == ("ours", hips.profile, hips.cfg)
    assert copy.thread == "author 1"


def test_forked_workers_have_the_key():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    nlp = spacy.blank("en")
    hips = nlp.add_pipe("hips_surrogate")
    hips.set_key(KEY)
    texts = [f"{ESSAY} {n}" for n in range(4)]
    docs = nlp.pipe(map(make_doc, texts), n_process=2, batch_size=1)
    assert [doc._.deidentified for doc in docs] == [hide(hips, text) for text in texts]
