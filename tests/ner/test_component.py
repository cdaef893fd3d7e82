"""pii_ner: shapes, training, thresholds, serialisation, odd documents."""

import json
import subprocess
import sys

import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from pii_components.errors import PiiError
from pii_components.labels import LABELS, ROLES
from pii_components.ner.component import score_pii
from pii_components.ner.loss import targets
from pii_components.spans import Candidate, read_spans, write_spans

from ..context.marking import always
from ..tiny import TRAIN, gold, tiny_pipeline

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    nlp = tiny_pipeline(tmp_path_factory.mktemp("tiny"))
    examples = [gold(nlp, text, spans) for text, spans in TRAIN]
    losses = []
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.01
    for _ in range(100):
        step = {}
        nlp.update(
            [Example(nlp.make_doc(eg.reference.text), eg.reference) for eg in examples],
            sgd=sgd,
            losses=step,
        )
        losses.append(step["pii_ner"])
    return nlp, losses


def test_training_lowers_the_loss_and_finds_the_spans(trained):
    nlp, losses = trained
    assert losses[-1] < losses[0] / 5
    for text, spans in TRAIN:
        doc = nlp(text)
        assert [(s.start_char, s.end_char, s.label_) for s in doc.spans["pii"]] == spans


def test_every_span_has_a_probability_and_every_name_a_role_distribution(trained):
    nlp, _ = trained
    doc = nlp("My name is Ana Lopez. Write to ana@lopez.org")
    group = doc.spans["pii"]
    assert len(group) == len(group.attrs["scores"]) == len(group.attrs["roles"]) >= 2
    assert all(0 <= p <= 1 for p in group.attrs["scores"])
    for span, roles in zip(group, group.attrs["roles"], strict=True):
        assert (
            (len(roles) == len(ROLES) and abs(sum(roles) - 1) < 0.01)
            if span.label_.startswith("NAME")
            else roles == []
        )


def test_predict_gives_one_distribution_per_token(trained):
    nlp, _ = trained
    docs = [nlp.make_doc(text) for text in ("My name is Ana", "", "\n\n", "Thank you")]
    transformer, ner = nlp.get_pipe("transformer"), nlp.get_pipe("pii_ner")
    transformer.set_annotations(docs, transformer.predict(docs))
    for doc, probs in zip(docs, ner.predict(docs), strict=True):
        assert probs.shape == (len(doc), 1 + 2 * len(ner.labels))
        assert numpy.allclose(probs.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize(
    "texts",
    [[""], [" "], ["\n\n"], [" ", "\n"], ["", "Hi Ana", "\t"], ["\u200b"], ["🙂"], ["...!?"]],
)
def test_empty_and_white_space_documents_pass(trained, texts):
    nlp, _ = trained
    docs = list(nlp.pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert all("pii" in doc.spans for doc in docs)


def test_white_space_documents_pass_training(trained):
    nlp, _ = trained
    nlp.update([gold(nlp, " ", []), gold(nlp, "\n\n", [])], sgd=nlp.create_optimizer(), losses={})


def test_a_name_after_many_windows_is_found(trained):
    nlp, _ = trained
    text = "My name is Ana Lopez\n" * 600
    doc = nlp(text)
    found = [span for span in doc.spans["pii"] if span.label_.startswith("NAME")]
    assert found[-1].start_char >= text.rindex("Ana Lopez") and len(found) > 500


def test_batching_does_not_change_the_result(trained):
    nlp, _ = trained
    texts = [text for text, _ in TRAIN] * 3
    one = [[(s.start, s.end, s.label_) for s in doc.spans["pii"]] for doc in map(nlp, texts)]
    many = [
        [(s.start, s.end, s.label_) for s in doc.spans["pii"]]
        for doc in nlp.pipe(texts, batch_size=7)
    ]
    assert one == many


@pytest.mark.parametrize("threshold, least, most", [(0.0, 1, 99), (1.0, 0, 0)])
def test_threshold_of_names_decides(trained, threshold, least, most):
    nlp, _ = trained
    ner = nlp.get_pipe("pii_ner")
    before = dict(ner.cfg["thresholds"])
    ner.cfg["thresholds"] = {"NAME": threshold, "EMAIL": 1.0}
    try:
        doc = nlp("My name is Ana Lopez")
        names = [s for s in doc.spans["pii"] if s.label_.startswith("NAME")]
    finally:
        ner.cfg["thresholds"] = before
    assert least <= len(names) <= most


def test_labels_are_fixed_after_initialize(trained):
    nlp, _ = trained
    ner = nlp.get_pipe("pii_ner")
    assert ner.add_label(ner.labels[0]) == 0
    with pytest.raises(PiiError) as error:
        ner.add_label("PHONE_NUM")
    assert error.value.code == "E103"


def test_initialize_without_labels_is_a_coded_error():
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ner")
    with pytest.raises(PiiError, match="E102"):
        nlp.initialize(lambda: [gold(nlp, "Nobody here.", [])])


def test_misaligned_and_unlabelled_gold_takes_no_part(trained):
    nlp, _ = trained
    ner = nlp.get_pipe("pii_ner")
    reference = Doc(
        nlp.vocab, words=["Ana", "Lo", "pez", "and", "Ben"], spaces=[True, False, True, True, False]
    )
    reference.spans["pii"] = [reference[0:2].char_span(0, 6, label="NAME_STUDENT")]
    reference.spans["pii_unlabelled"] = [reference[4:5]]
    eg = Example(nlp.make_doc("Ana Lopez and Ben"), reference)
    target = targets(eg.predicted, eg.reference, ner.labels, class_weights=ner.cfg["class_weights"])
    assert list(target.weights > 0) == [False, False, True, False]
    assert not target.gold.any() and target.wanted is None


def test_gold_labels_that_are_not_the_models_are_outside_for_it(trained):
    nlp, _ = trained
    ner = nlp.get_pipe("pii_ner")
    eg = gold(nlp, "Ana is 41", [(0, 3, "NAME_STUDENT"), (7, 9, "AGE")])
    target = targets(eg.predicted, eg.reference, ner.labels, class_weights=ner.cfg["class_weights"])
    assert list(target.gold > 0) == [True, False, False] and all(target.weights > 0)
    eg.predicted.spans["pii"] = [eg.predicted.char_span(0, 3, label="NAME_STUDENT")]
    assert score_pii([eg])["pii_r"] == 0.5
    assert ner.score([eg])["pii_r"] == 1.0 and "AGE" not in ner.score([eg])["pii_per_type"]


def test_score_counts_by_position_and_label():
    nlp = spacy.blank("en")
    egs = []
    for predicted in ([(0, 1, "NAME_STUDENT")], [(0, 1, "NAME_CITED"), (1, 2, "EMAIL")]):
        eg = gold(nlp, "Ana writes", [(0, 3, "NAME_STUDENT")])
        write_spans(eg.predicted, [Candidate(s, e, label) for s, e, label in predicted])
        egs.append(eg)
    scores = score_pii(egs)
    assert (scores["pii_p"], scores["pii_r"]) == (pytest.approx(1 / 3), 0.5)
    assert scores["pii_f5"] == pytest.approx(26 * (1 / 3) * 0.5 / (25 / 3 + 0.5))
    assert scores["pii_per_type"]["NAME_STUDENT"]["r"] == 0.5


FRESH = """
import json, sys, spacy
before = set(sys.modules)
import pii_components.context.component, pii_components.ruler.component, pii_components.ruler.tokenizer
early = sorted({"phonenumbers", "tldextract", "faker", "pandas", "presidio_analyzer", "scipy", "torch"} & (set(sys.modules) - before))
nlp = spacy.load(sys.argv[1])
doc = nlp(sys.argv[2])
spans = [[s.text, s.label_, s._.pii_role, round(p, 4)] for s, p in zip(doc.spans["pii"], doc.spans["pii"].attrs["scores"])]
print(json.dumps([spans, [t.text for t in doc], [nlp.get_pipe(name).cfg for name in nlp.pipe_names[2:]], len(nlp.get_pipe("pii_ruler")), early]))
"""


def test_a_saved_pipeline_is_the_same_in_a_fresh_process_and_imports_no_library_early(
    trained, tmp_path
):
    trained[0].to_disk(tmp_path / "model")
    nlp = spacy.load(tmp_path / "model")
    ruler = nlp.add_pipe("pii_ruler", config={"phone_regions": ["US", "GB"]})
    ruler.remove("USERNAME")
    ruler.add_patterns([{"label": "ID_NUM", "id": "ours", "regex": r"U-(?P<pii>\d{4})"}])
    nlp.add_pipe("pii_context", config={"settings": {"protect": 0.05}}).classifier = always(
        0.06, 0, 0, 0.94, 0, 0
    )
    nlp.to_disk(tmp_path / "all")
    text = "My name is Ana Lopez. Ana_Lopez_20481234 ana@x.org 202-555-0143 linkedin.com/in/ana U-4321 menu.Keep \ufeffAna id Ａｎａ：Ｌ Jose\u0301_L"
    out = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path / "all"), text],
        capture_output=True,
        text=True,
        check=True,
    )
    doc = nlp(text)
    scores = doc.spans["pii"].attrs["scores"]
    spans = [
        [s.text, s.label_, s._.pii_role, round(p, 4)]
        for s, p in zip(doc.spans["pii"], scores, strict=True)
    ]
    expected = [
        spans,
        [t.text for t in doc],
        [nlp.get_pipe(name).cfg for name in nlp.pipe_names[2:]],
        len(ruler),
        [],
    ]
    assert json.loads(out.stdout.splitlines()[-1]) == json.loads(json.dumps(expected))
    assert {("4321", "ID_NUM"), ("ana@x.org", "EMAIL"), ("Ana Lopez", "NAME_STUDENT")} <= {
        (s.text, s.label_) for s in doc.spans["pii"]
    }


def test_bytes_round_trip_keeps_settings_but_not_the_operating_point(trained, tmp_path):
    nlp, _ = trained
    ner = nlp.get_pipe("pii_ner")
    other = tiny_pipeline(tmp_path).get_pipe("pii_ner")
    other.operating_point = "recall"  # it is the one who loads that chooses
    other.from_bytes(ner.to_bytes())
    assert other.cfg == ner.cfg and set(other.labels) <= set(LABELS)
    assert (ner.operating_point, other.operating_point) == ("balanced", "recall")


def test_scores_survive_doc_bytes(trained):
    nlp, _ = trained
    doc = nlp("My name is Ana Lopez.")
    doc._.trf_data = None
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [(c.start, c.end, c.label, c.score, c.roles) for c in read_spans(again)] == [
        (c.start, c.end, c.label, c.score, c.roles) for c in read_spans(doc)
    ]
