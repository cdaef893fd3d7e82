"""pii_ner: shapes, training, thresholds, serialisation, odd documents."""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from pii_components.errors import PiiError
from pii_components.labels import NAME_LABELS
from pii_components.ner.component import score_pii
from pii_components.ner.decode import GROUPS
from pii_components.ner.loss import targets
from pii_components.spans import Candidate, read_spans, write_spans

from ..context.marking import always
from ..tiny import TRAIN, as_read, gold, tiny_pipeline

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]


def test_training_finds_the_spans(trained, losses):
    assert losses[-1] < losses[0] / 5
    for text, spans in TRAIN:
        doc = trained(text)
        found = [(s.start_char, s.end_char, s.label_) for s in doc.spans["pii"]]
        assert found == as_read(spans)


def test_spans_have_scores_and_no_roles(trained):
    group = trained("My name is Ana Lopez. Write to ana@lopez.org").spans["pii"]
    assert len(group) == len(group.attrs["scores"]) >= 2
    assert all(0 <= p <= 1 for p in group.attrs["scores"])
    assert not any(group.attrs["roles"])


def test_one_distribution_per_token(trained):
    docs = [trained.make_doc(text) for text in ("My name is Ana", "", "\n\n", "Thank you")]
    transformer, ner = trained.get_pipe("transformer"), trained.get_pipe("pii_ner")
    transformer.set_annotations(docs, transformer.predict(docs))
    for doc, probs in zip(docs, ner.predict(docs), strict=True):
        assert probs.shape == (len(doc), 1 + 2 * len(ner.labels))
        assert numpy.allclose(probs.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize(
    "texts",
    [[""], [" ", "\n\n"], ["", "Hi Ana", "\t"], ["\u200b"], ["🙂"], ["...!?"]],
)
def test_odd_documents_pass(trained, texts):
    docs = list(trained.pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert all("pii" in doc.spans for doc in docs)


def test_empty_documents_pass_training(tmp_path):
    nlp = tiny_pipeline(tmp_path)
    nlp.update([gold(nlp, " ", []), gold(nlp, "\n\n", [])], sgd=nlp.create_optimizer(), losses={})


def test_names_after_many_windows(trained):
    text = "My name is Ana Lopez\n" * 600
    doc = trained(text)
    found = [span for span in doc.spans["pii"] if span.label_.startswith("NAME")]
    assert found[-1].start_char >= text.rindex("Ana Lopez") and len(found) > 500


def test_batching_does_not_change_results(trained):
    texts = [text for text, _ in TRAIN] * 3

    def spans(docs):
        return [[(s.start, s.end, s.label_) for s in doc.spans["pii"]] for doc in docs]

    assert spans(map(trained, texts)) == spans(trained.pipe(texts, batch_size=7))


@pytest.mark.parametrize(("threshold", "found"), [(0.0, True), (1.0, False)])
def test_threshold_of_names_decides(trained, monkeypatch, threshold, found):
    thresholds = {"NAME": threshold, "EMAIL": 1.0}
    monkeypatch.setitem(trained.get_pipe("pii_ner").cfg, "thresholds", thresholds)
    doc = trained("My name is Ana Lopez")
    labels = [span.label_ for span in doc.spans["pii"]]
    assert any(label.startswith("NAME") for label in labels) is found


def test_labels_are_needed(trained):
    assert trained.get_pipe("pii_ner").add_label("EMAIL") == 0
    nlp = spacy.blank("en")
    nlp.add_pipe("pii_ner")
    with pytest.raises(PiiError, match="E102"):
        nlp.initialize(lambda: [gold(nlp, "Nobody here.", [])])


def test_what_learned_can_learn_more_labels(trained, tmp_path):
    nlp = spacy.util.load_model_from_config(trained.config, vocab=True)
    nlp.from_bytes(trained.to_bytes())
    text = "My name is Ana Lopez, ana@lopez.org"
    ner, before = nlp.get_pipe("pii_ner"), nlp(text)
    (old,) = ner.predict([before])
    for label, code in (("EMIAL", "E002"), ("course", "E002")):
        with pytest.raises(PiiError, match=code):
            ner.add_label(label)
    assert [ner.add_label(label) for label in ("COURSE", "PHONE_NUM", "COURSE")] == [1, 1, 0]
    (new,) = ner.predict([before])
    assert new.shape == (len(before), old.shape[1] + 4)
    # A hundredth of nothing at all, and what was known keeps its order.
    assert numpy.allclose(new[:, old.shape[1] :], new[:, :1] / 100, rtol=1e-3)
    kept = new[:, : old.shape[1]] / new[:, : old.shape[1]].sum(axis=1, keepdims=True)
    assert numpy.allclose(kept, old, atol=1e-4)
    golds = [gold(nlp, "I took bio in the name", [(7, 10, "COURSE")]).reference]
    for _ in range(30):
        fresh = [Example(nlp.make_doc(doc.text), doc) for doc in golds]
        nlp.update(fresh, sgd=Adam(0.02))
    doc = nlp("I took bio in the name")
    assert [(s.text, s.label_) for s in doc.spans["pii"]] == [("bio", "COURSE")]
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert again.get_pipe("pii_ner").labels == ner.labels
    assert numpy.allclose(
        again.get_pipe("pii_ner").predict([nlp(text)])[0], ner.predict([nlp(text)])[0]
    )


def target_of(ner, eg):
    return targets(eg.predicted, eg.reference, ner.labels, class_weights=ner.cfg["class_weights"])


def test_unlabelled_gold_takes_no_part(trained):
    words = ["Ana", "Lo", "pez", "and", "Ben"]
    reference = Doc(trained.vocab, words=words, spaces=[True, False, True, True, False])
    reference.spans["pii"] = [reference[0:2].char_span(0, 6, label="NAME_STUDENT")]
    reference.spans["pii_unlabelled"] = [reference[4:5]]
    eg = Example(trained.make_doc("Ana Lopez and Ben"), reference)
    target = target_of(trained.get_pipe("pii_ner"), eg)
    assert list(target.weights > 0) == [False, False, True, False]
    assert not target.gold.any() and target.wanted is None


def test_unknown_gold_labels_are_outside(trained):
    ner = trained.get_pipe("pii_ner")
    eg = gold(trained, "Ana is 41", [(0, 3, "NAME_STUDENT"), (7, 9, "AGE")])
    target = target_of(ner, eg)
    assert list(target.gold > 0) == [True, False, False] and all(target.weights > 0)
    eg.predicted.spans["pii"] = [eg.predicted.char_span(0, 3, label="NAME_STUDENT")]
    assert score_pii([eg])["pii_r"] == 0.5
    assert ner.score([eg])["pii_r"] == 1.0 and "AGE" not in ner.score([eg])["pii_per_type"]


def test_names_of_any_role_are_names(trained):
    ner = trained.get_pipe("pii_ner")
    assert ner.labels == ("NAME", "EMAIL") and ner.add_label("NAME_CITED") == 0
    eg = gold(trained, "Lopez (2014) said so.", [(0, 5, "NAME_CITED")])
    eg.predicted.spans["pii"] = [eg.predicted.char_span(0, 5, label="NAME_STUDENT")]
    assert ner.score([eg])["pii_per_type"]["NAME"]["r"] == 1.0
    assert score_pii([eg])["pii_r"] == 0.0


def test_a_model_with_roles_is_refused(trained, tmp_path):
    """What 0.12.0 and before have saved."""
    ner = trained.get_pipe("pii_ner")
    data = srsly.msgpack_loads(ner.to_bytes())
    data["cfg"] = srsly.json_dumps({**ner.cfg, "labels": [*NAME_LABELS, "EMAIL"]}).encode()
    other = tiny_pipeline(tmp_path).get_pipe("pii_ner")
    with pytest.raises(PiiError, match="E304"):
        other.from_bytes(srsly.msgpack_dumps(data))


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
heavy = {"phonenumbers", "tldextract", "faker", "pandas", "presidio_analyzer", "scipy", "torch"}
early = sorted(heavy & (set(sys.modules) - before))
from tests.ner.test_component import seen
nlp = spacy.load(sys.argv[1])
print(json.dumps([seen(nlp, sys.argv[2]), early]))
"""


def seen(nlp, text):
    doc = nlp(text)
    scores = doc.spans["pii"].attrs["scores"]
    spans = [
        [span.text, span.label_, span._.pii_role, round(score, 4)]
        for span, score in zip(doc.spans["pii"], scores, strict=True)
    ]
    settings = [nlp.get_pipe(name).cfg for name in nlp.pipe_names[2:]]
    return [spans, [token.text for token in doc], settings, len(nlp.get_pipe("pii_ruler"))]


TEXT = (
    "My name is Ana Lopez. Ana_Lopez_20481234 ana@x.org 202-555-0143 linkedin.com/in/ana U-4321 "
    "menu.Keep \ufeffAna id Ａｎａ：Ｌ Jose\u0301_L"
)


def test_saved_pipelines_in_fresh_processes(trained, tmp_path):
    trained.to_disk(tmp_path / "model")
    nlp = spacy.load(tmp_path / "model")
    ruler = nlp.add_pipe("pii_ruler", config={"phone_regions": ["US", "GB"]})
    ruler.remove("USERNAME")
    ruler.add_patterns([{"label": "ID_NUM", "id": "ours", "regex": r"U-(?P<pii>\d{4})"}])
    context = nlp.add_pipe("pii_context", config={"settings": {"protect": 0.05}})
    context.classifier = always(0.06, 0, 0, 0.94, 0, 0)
    nlp.to_disk(tmp_path / "all")
    command = [sys.executable, "-c", FRESH, str(tmp_path / "all"), TEXT]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    here = seen(nlp, TEXT)
    assert json.loads(out.stdout.splitlines()[-1]) == json.loads(json.dumps([here, []]))
    found = {(text, label) for text, label, *_ in here[0]}
    assert {("4321", "ID_NUM"), ("ana@x.org", "EMAIL"), ("Ana Lopez", "NAME_STUDENT")} <= found


def test_bytes_keep_no_operating_point(trained, tmp_path):
    ner = trained.get_pipe("pii_ner")
    other = tiny_pipeline(tmp_path).get_pipe("pii_ner")
    other.operating_point = "recall"  # it is the one who loads that chooses
    other.from_bytes(ner.to_bytes())
    assert other.cfg == ner.cfg and set(other.labels) <= set(GROUPS)
    assert (ner.operating_point, other.operating_point) == ("balanced", "recall")


def test_scores_survive_doc_bytes(trained):
    doc = trained("My name is Ana Lopez.")
    doc._.trf_data = None
    again = Doc(trained.vocab).from_bytes(doc.to_bytes())
    assert read_spans(again) == read_spans(doc)
