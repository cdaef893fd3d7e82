"""Packaging: rules behind the trained components, an encoder without torch, a vocabulary without anybody's words, the shipped pipeline's bounds."""

import json
from pathlib import Path

import numpy
import pytest
import spacy
import srsly
import torch
from spacy.cli.info import info
from typer.testing import CliRunner

import en_pii_edu
from pii_components import __version__
from pii_components.errors import PiiError
from pii_components.training.package import make_without_words
from scripts import shipped as packaging
from scripts.encoders import make_encoder_loader
from scripts.shipped import assemble, package, ship
from scripts.train import app
from tests.tiny import TOKENIZER, gold, tiny_onnx_pipeline, tiny_pipeline, upstream_names

SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"
PIPES = ["transformer", "pii_ner", "pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner"]


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    nlp = tiny_onnx_pipeline(folder)
    example = gold(nlp, "Zebulon Quartermain wrote this.", [(0, 19, "NAME_STUDENT")])
    nlp.update([example], sgd=nlp.create_optimizer(), annotates=["transformer"])
    nlp.to_disk(folder / "trained")
    # what is to be kept out
    assert "Zebulon" in (folder / "trained/vocab/strings.json").read_text("utf8")
    out = folder / "en_pii_edu"
    return nlp, package(assemble(folder / "trained"), out), out


def holds_words(folder):
    data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(b"Zebulon" in content or b"Quartermain" in content for content in data)


def test_packaged_rules_and_no_words(packaged):
    _, target, out = packaged
    assert spacy.load(target).pipe_names == PIPES
    assert json.loads((out / "meta.json").read_text("utf8"))["version"] == __version__
    assert not holds_words(target)


def test_layers_that_are_not_there_are_left_out(tmp_path):
    import safetensors.torch as safetensors

    encoder = tiny_pipeline(tmp_path).get_pipe("transformer").model.get_ref("transformer")
    state = encoder.shims[0]._model.state_dict()
    known = {name: value + 1 for name, value in state.items()}
    more = {
        n.replace(".layers.0.", ".layers.1."): v + 1 for n, v in known.items() if ".layers." in n
    }
    load = make_encoder_loader(path=tmp_path)
    with pytest.raises(PiiError, match=r"\[E604\].*model.safetensors"):
        load(encoder)
    safetensors.save_file(upstream_names(known | more), tmp_path / "model.safetensors")
    load(encoder)
    found = encoder.shims[0]._model.state_dict()
    assert found.keys() == state.keys()
    assert all(torch.allclose(found[n], value, atol=1e-3) for n, value in known.items())


def test_a_pipeline_without_transformer_is_refused(tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(PiiError, match=r"\[E110\].*no component 'transformer'"):
        assemble(tmp_path)


def test_a_transformer_that_needs_torch_is_refused(tmp_path):
    tiny_pipeline(tmp_path).to_disk(tmp_path / "curated")
    with pytest.raises(PiiError, match=r"\[E110\].*another kind"):
        assemble(tmp_path / "curated")


def probabilities(nlp):
    doc = nlp.get_pipe("transformer")(nlp.make_doc("My name is Zebulon Quartermain."))
    return nlp.get_pipe("pii_ner").predict([doc])[0]


def test_packaged_says_what_was_trained(packaged):
    nlp, target, _ = packaged
    again, first = assemble(target), spacy.load(target)
    assert abs(probabilities(first) - probabilities(nlp)).max() < 0.02
    assert numpy.array_equal(probabilities(again), probabilities(first))


def test_shipped_is_small_without_words():
    assert (
        sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file())
        <= packaging.MAX_BYTES
    )
    extra = set(json.loads((SHIPPED / "vocab/strings.json").read_text("utf8")))
    for config in ({}, TOKENIZER):
        extra -= set(spacy.blank("en", config=config).vocab.strings)
    assert len(extra) < 60, sorted(extra)[:80]


def test_spacy_info_tells_what_ships():
    said = srsly.read_json(SHIPPED.parent / "meta.json")
    assert said == srsly.read_json(SHIPPED / "meta.json")
    assert said["author"] and said["performance"]["protected"] > 0.8
    assert "sealed texts" in info("en_pii_edu")["notes"]


def test_meta_has_measured_performance(tmp_path):
    names = {"documents": 3} | dict.fromkeys(("protected", "kept_hidden", "precision"), 0.5)
    names |= {f"{name}_95": [0.25, 0.75] for name in ("protected", "kept_hidden", "precision")}
    report = {"part": "sealed", "sources": {"all": {"names": names}}}
    (tmp_path / "m.json").write_text(json.dumps(report), "utf8")
    made = packaging.meta_of(tmp_path / "m.json")
    assert made["performance"] == names and made["version"] == __version__
    assert "On 3 sealed texts: 0.500" in made["notes"]
    assert packaging.meta_of()["performance"] == {}


def test_whole_pipelines_replace_what_ships(packaged, tmp_path, monkeypatch):
    _, target, out = packaged
    nothing = ["ship", "--packaged", str(tmp_path), "--out", str(tmp_path / "none")]
    assert CliRunner().invoke(app, nothing).exit_code == 2
    old = tmp_path / "shipped/en_pii_edu-0.0.1"
    old.mkdir(parents=True)
    assert ship(out, tmp_path / "shipped").name == target.name and not old.exists()
    assert (tmp_path / "shipped/meta.json").is_file() and out.is_dir()
    monkeypatch.setattr(packaging, "MAX_BYTES", 1000)
    with pytest.raises(PiiError, match="E650"):
        ship(out, tmp_path / "shipped")
    assert (tmp_path / "shipped" / target.name).is_dir()


def test_a_trained_pipeline_keeps_no_words():
    """Nor where it was trained; it finds the same, and the one that goes on learning stays as it is."""
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_ruler")
    nlp.initialize()
    nlp.config["paths"]["train"] = "/home/somebody/essays/train.spacy"
    doc = nlp("Write to wren.abara@mail.example, says Wren Abara.")
    made = make_without_words()(nlp)
    assert "Abara" in nlp.vocab.strings and "Abara" not in made.vocab.strings
    assert made.config["paths"]["train"] == "train.spacy"
    again = made(doc.text)
    assert [(s.text, s.label_) for s in again.spans["pii"]] == [
        (s.text, s.label_) for s in doc.spans["pii"]
    ]
