"""configs/pii_tok2vec.cfg trains, and what it trains is a system."""

from pathlib import Path

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin

from pii_components.evaluate.systems import make_system, run_system

CONFIG = Path(__file__).parents[2] / "configs/pii_tok2vec.cfg"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    if not CONFIG.is_file():
        pytest.skip("configs/ is not in an installed wheel")
    folder = tmp_path_factory.mktemp("tok2vec")
    nlp = spacy.blank("en")
    docs = []
    for text, start, end, label in [
        ("My name is Oskar Tamm.\n", 11, 21, "NAME_STUDENT"),
        ("Write to dana@uni.example now.", 9, 25, "EMAIL"),
        ("Vell (2014) said so.", 0, 4, "NAME_CITED"),
    ]:
        doc = nlp.make_doc(text)
        doc.spans["pii"] = [doc.char_span(start, end, label=label, alignment_mode="expand")]
        docs.append(doc)
    DocBin(docs=docs * 4).to_disk(folder / "all.spacy")
    # The overrides of project.yml, and the data.
    settings = {"system.seed": 1, "training.max_steps": 2, "training.eval_frequency": 1}
    data = {"paths.train": str(folder / "all.spacy"), "paths.dev": str(folder / "all.spacy")}
    train(CONFIG, folder, overrides=settings | data | {"training.batcher.size": 20})
    return folder / "model-best"


def test_two_steps_of_training_give_a_pipeline_without_torch_layers(trained):
    nlp = spacy.load(trained)
    assert nlp.pipe_names == ["pii_ner"]
    assert not any(node.shims for node in nlp.get_pipe("pii_ner").model.walk())


def test_a_trained_one_is_a_system_with_the_rules_behind_it(trained, gold):
    system = make_system(f"pii-edu-tok2vec:{trained}")
    assert system.about["components"] == ["pii_ner", "pii_ruler", "pii_context"]
    run = run_system(system, gold)
    assert run.name == "pii-edu-tok2vec"
    assert ("1", 19, 35, "EMAIL") in [(e.document, e.start, e.end, e.label) for e in run.entities]
