"""Several threads share a pipeline, also with memory zones: the same results, or an error with a code; the pipeline stays whole."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy

from pii_components.errors import PiiError
from pii_components.ruler import tokenizer

from .tiny import TOKENIZER

TEXTS = [
    f"Essay {n}\nMr. Fenwick told me (ilse.okoro{n}@uni.edu, 212-555-01{n:02}) to read @kemi_a{n}."
    for n in range(40)
]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("PII_EDU_KEY", "a key of sixteen bytes")


def rules():
    made = spacy.blank("en", config=TOKENIZER)
    for name in ("pii_ruler", "pii_context", "hips_surrogate"):
        made.add_pipe(name)
    return made


def shipped():
    return spacy.load("en_pii_edu")


def read(doc):
    spans = [(s.text, s.label_, s._.pii_reason) for s in doc.spans["pii"]]
    return [token.text for token in doc], spans, doc._.deidentified


def call(nlp, text):
    return read(nlp(text))


def pipe(nlp, text):
    (doc,) = nlp.pipe([text])
    return read(doc)


def zone(nlp, text):
    with nlp.memory_zone():
        return call(nlp, text)


@pytest.mark.parametrize("how", [(call,), (pipe,), (zone,), (call, zone)])
@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("make", [rules, pytest.param(shipped, marks=pytest.mark.slow)])
def test_threads_get_the_same_results(make, n, how):
    cold, other = make(), make()  # words that are new are where threads meet
    wanted = [call(other, text) for text in TEXTS]
    with ThreadPoolExecutor(n) as pool:
        ways = [how[i % len(how)] for i in range(len(TEXTS))]
        found = [pool.submit(way, cold, text) for way, text in zip(ways, TEXTS, strict=True)]
        assert [future.result() for future in found] == wanted
    assert [call(cold, text) for text in TEXTS] == wanted


def test_documents_outlive_zones_of_other_threads():
    nlp = rules()
    with ThreadPoolExecutor(4) as pool:
        zones = [pool.submit(zone, nlp, text) for text in TEXTS]
        docs = [nlp(text) for text in TEXTS]
        assert [future.result() for future in zones] == [read(doc) for doc in docs]


def test_zones_that_cannot_be_had_are_refused(monkeypatch):
    monkeypatch.setattr(tokenizer, "ZONE_WAIT", 0.05)
    nlp = rules()
    opened, done = threading.Event(), threading.Event()

    def hold():
        with nlp.memory_zone():
            opened.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert opened.wait(30)
    for way in (call, zone):
        with pytest.raises(PiiError, match="E012.*another thread"):
            way(nlp, "Hello.")
    done.set()
    thread.join()
    with nlp.memory_zone(), pytest.raises(PiiError, match="E012"):
        zone(nlp, "Hello.")
    assert call(nlp, "Hello.")[0] == ["Hello", "."]


def test_zones_end_with_an_error():
    nlp = rules()
    for _ in range(2):
        with pytest.raises(KeyError), nlp.memory_zone():
            raise KeyError
    assert not nlp.vocab.in_memory_zone
    assert call(pickle.loads(pickle.dumps(nlp)), "Hello.")[0] == ["Hello", "."]
