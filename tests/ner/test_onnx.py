"""The encoder without torch: same results, any text, any process; what another encoder is told."""

import pickle
import subprocess
import sys

import numpy
import pytest
import spacy
from spacy.tokens import Doc

from pii_components.errors import PiiError
from pii_components.ner.onnx import OnnxShim, build_encoder_vectors, threads_at_hand

from ..tiny import TRAIN, WITHOUT_TORCH, as_read, gold, tiny_onnx_pipeline

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

TEXTS = ["My name is Ana Lopez.\n\nThank you", "the name of " * 60 + "Ana-Lopez!"]
TEXTS += ["", " \n ", "Write to ana@lopez.org", "ａｎａ l\u200bopez"]


@pytest.fixture(scope="module")
def learning(tmp_path_factory):
    """A pipeline whose encoder is in torch, since it has learned."""
    nlp = tiny_onnx_pipeline(tmp_path_factory.mktemp("tiny"))
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.01
    for _ in range(60):
        examples = [gold(nlp, text, spans) for text, spans in TRAIN]
        nlp.update(examples, sgd=sgd, annotates=["transformer"])
    return nlp


@pytest.fixture(scope="module")
def converted(learning):
    """The same, saved and loaded: onnxruntime runs its encoder."""
    return spacy.blank("en").from_config(learning.config).from_bytes(learning.to_bytes())


def shim_of(nlp):
    return nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]


def found(doc):
    return [(span.start_char, span.end_char, span.label_) for span in doc.spans["pii"]]


def probabilities(nlp, texts=TEXTS):
    docs = nlp.get_pipe("transformer").pipe(map(nlp.make_doc, texts), batch_size=4)
    return nlp.get_pipe("pii_ner").predict(list(docs))


def differ(nlp, other):
    """RETURNS (float): By how much probabilities differ at most."""
    pairs = list(zip(probabilities(nlp), probabilities(other), strict=True))
    assert all(one.shape == two.shape for one, two in pairs)
    return max(float(numpy.abs(one - two).max(initial=0)) for one, two in pairs)


def test_it_says_what_torch_says(learning, converted):
    assert differ(learning, converted) < 0.03
    for text, spans in TRAIN:
        doc = converted(text)
        assert found(doc) == as_read(spans)


def test_neighbours_and_threads_change_nothing(converted):
    nlp = converted
    together = probabilities(nlp)
    for text, probs in zip(TEXTS, together, strict=True):
        (alone,) = probabilities(nlp, [text])
        assert numpy.array_equal(alone, probs)
    shim = shim_of(nlp)
    windows = [numpy.arange(n, dtype="i4") % 30 for n in (5, 32, 7)]
    one, two = (OnnxShim(shim.graph, threads=threads).run(windows) for threads in (1, 3))
    assert all(numpy.array_equal(a, b) for a, b in zip(one, two, strict=True))


LOADED = f"""{WITHOUT_TORCH}
import spacy
doc = spacy.load(sys.argv[1])("My name is Ana Lopez.")
print([(s.start_char, s.end_char, s.label_) for s in doc.spans["pii"]])
assert sys.modules["torch"] is None
"""


def test_saved_pipelines_need_no_torch(converted, tmp_path):
    converted.to_disk(tmp_path)
    command = [sys.executable, "-c", LOADED, str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr[-2000:]
    assert out.stdout.splitlines() == ["[(11, 20, 'NAME_STUDENT')]"]


def test_bytes_and_pickle_round_trip(converted):
    nlp = converted
    shim = shim_of(nlp)
    shim.session()
    other = pickle.loads(pickle.dumps(shim))
    assert other.to_bytes() == shim.to_bytes()
    assert other._session is None
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert numpy.array_equal(probabilities(again)[0], probabilities(nlp)[0])


def test_several_processes_after_a_session(converted):
    nlp = converted
    nlp("My name is Ana Lopez.")
    docs = list(nlp.pipe([text for text, _ in TRAIN], n_process=2, batch_size=2))
    assert [found(doc) for doc in docs] == [as_read(spans) for _, spans in TRAIN]


def test_head_trains_encoder_stays(converted):
    nlp = spacy.blank("en").from_config(converted.config).from_bytes(converted.to_bytes())
    shim = shim_of(nlp)
    graph, head = shim.graph, nlp.get_pipe("pii_ner").model.get_ref("output_layer")
    before = head.get_param("W").copy()
    example = gold(nlp, "Ana Lopez said so.", [(0, 9, "NAME_CITED")])
    how = {"annotates": ["transformer"], "exclude": ["transformer"]}
    nlp.update([example], sgd=nlp.create_optimizer(), **how)
    assert shim.to_bytes() is graph
    assert not numpy.array_equal(before, head.get_param("W"))


def test_no_encoder_is_a_coded_error(converted):
    nlp = converted
    with nlp.select_pipes(disable="transformer"), pytest.raises(PiiError, match="E108"):
        nlp("My name is Ana Lopez.")
    doc = Doc(nlp.vocab, words=["a", "b"])
    doc.tensor = numpy.zeros((2, 3), dtype="f4")  # vectors of another encoder
    with pytest.raises(PiiError, match="E108"):
        build_encoder_vectors(width=4).predict([doc])
    with pytest.raises(PiiError, match="E109"):
        OnnxShim().run([numpy.zeros(3, dtype="i4")])


def test_threads_are_as_for_torch(monkeypatch):
    for value, threads in {"1": {1}, "7": {7}, "": range(1, 999)}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert threads_at_hand() in threads
    for value in ("0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert threads_at_hand() >= 1
