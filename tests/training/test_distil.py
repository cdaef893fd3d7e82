"""Ensembling of detectors into one by distillation."""

import numpy
import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example
from typer.testing import CliRunner

from pii_components.errors import PiiError
from pii_components.ner.loss import TAUGHT, targets
from pii_components.training.distil import average_weights, said_by, teach, teach_files
from scripts.train import app
from tests.tiny import TOKENIZER, TRAIN, gold, tiny_pipeline

pytest.importorskip("torch")
TEXTS = [text for text, _ in TRAIN]


@pytest.fixture(scope="module")
def teachers(tmp_path_factory):
    """Two that learned the same texts from other weights, as folders."""
    folders = []
    for seed, rate in ((1, 0.02), (2, 0.01)):
        nlp = tiny_pipeline(tmp_path_factory.mktemp("vocab"))
        spacy.util.fix_random_seed(seed)
        optimizer = nlp.resume_training()
        optimizer.learn_rate = rate
        for _ in range(15):
            nlp.update([gold(nlp, text, spans) for text, spans in TRAIN], sgd=optimizer)
        folders.append(tmp_path_factory.mktemp("teacher") / "model-last")
        nlp.to_disk(folders[-1])
    return folders


def test_a_text_is_read_as_the_detector_reads_it(teachers):
    nlp = spacy.load(teachers[0])
    said = list(said_by(nlp, [*TEXTS, ""], batch_size=2))
    assert [len(one) for one in said] == [len(nlp.make_doc(text)) for text in [*TEXTS, ""]]
    doc = nlp.get_pipe("transformer")(nlp.make_doc(TEXTS[0]))
    assert numpy.allclose(said[0], nlp.get_pipe("pii_ner").predict([doc])[0], atol=1e-5)


def test_gold_keeps_the_mean_of_all_teachers_and_what_it_was(teachers):
    found = [spacy.load(folder) for folder in teachers]
    blank = spacy.blank("en", config=TOKENIZER)
    docs = [gold(blank, text, spans).reference for text, spans in [*TRAIN, TRAIN[0]]]
    before = [[(s.start, s.end, s.label_) for s in doc.spans["pii"]] for doc in docs]
    teach(docs, found, alpha=0.25, temperature=2.0)
    assert [[(s.start, s.end, s.label_) for s in doc.spans["pii"]] for doc in docs] == before
    labels = found[0].get_pipe("pii_ner").labels
    said = [next(said_by(nlp, TEXTS[:1])) for nlp in found]
    assert not numpy.allclose(*said, atol=0.01)
    for doc in (docs[0], docs[-1]):
        target = targets(blank.make_doc(doc.text), doc, labels, class_weights={})
        assert numpy.allclose(numpy.exp(target.taught.logits), sum(said) / 2, atol=2e-3)
        assert (target.taught.alpha, target.taught.temperature) == (0.25, 2.0)


def test_a_student_says_what_its_teachers_say_without_any_gold(teachers, tmp_path):
    blank = spacy.blank("en", config=TOKENIZER)
    DocBin(docs=[blank.make_doc(text) for text in TEXTS]).to_disk(tmp_path / "texts.spacy")
    out = tmp_path / "made" / "taught.spacy"
    args = ["distil", *map(str, teachers), "--texts", str(tmp_path / "texts.spacy"), "--alpha", "1", "--out", str(out)]
    assert CliRunner().invoke(app, args).exit_code == 0
    nlp = tiny_pipeline(tmp_path)
    wanted = [sum(both) / 2 for both in zip(*(said_by(spacy.load(folder), TEXTS) for folder in teachers), strict=True)]

    def distance():
        return max(float(numpy.abs(a - b).max()) for a, b in zip(said_by(nlp, TEXTS), wanted, strict=True))

    docs = list(DocBin().from_disk(out).get_docs(nlp.vocab))
    assert all(TAUGHT in doc.spans["pii"].attrs and not doc.spans["pii"] for doc in docs)
    before = distance()
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.02
    for _ in range(80):
        losses = nlp.update([Example(nlp.make_doc(doc.text), doc) for doc in docs], sgd=optimizer)
    assert before > 0.5 > 0.3 > distance()
    assert losses["pii_ner"] < 0.2


def test_what_cannot_teach_is_a_coded_error(teachers, tmp_path):
    nlp, other = map(spacy.load, teachers)
    doc = nlp.make_doc(TEXTS[0])
    for settings, found, code in (
        ({}, [], "E311"), ({"alpha": 1.5}, [nlp], "E311"), ({"temperature": 0.0}, [nlp], "E311"), ({}, [nlp, spacy.blank("en")], "E706"),
    ):  # fmt: skip
        with pytest.raises(PiiError, match=code):
            teach([doc], found, **settings)
    other.get_pipe("pii_ner").cfg["labels"] = ["EMAIL"]
    with pytest.raises(PiiError, match="E309"):
        teach([doc], [nlp, other])
    assert "pii" not in doc.spans
    with pytest.raises(PiiError, match="E604"):
        teach_files([str(teachers[0])], [tmp_path / "no.spacy"], tmp_path / "x")


def test_the_mean_of_weights_is_written_into_the_first():
    import torch

    first, second = (torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)) for _ in range(2))
    second[1].num_batches_tracked += 4
    half = (first[0].weight + second[0].weight) / 2
    average_weights([first, second])
    assert torch.allclose(first[0].weight, half) and int(first[1].num_batches_tracked) == 0
    with pytest.raises(PiiError, match="E309"):
        average_weights([first, torch.nn.Linear(2, 2)])
