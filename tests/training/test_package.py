"""Packaging: rules behind the trained components, half precision, a vocabulary without anybody's words, the shipped pipeline's bounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.info import info
from typer.testing import CliRunner

import en_pii_edu
from pii_components import __version__
from pii_components.errors import PiiError
from pii_components.training import package as packaging
from pii_components.training.encoder import extract, find_weights, make_encoder_loader
from pii_components.training.package import HALF, INT8, TORCH, assemble, package, ship
from scripts.train import app
from tests.tiny import TOKENIZER, gold, tiny_pipeline

torch = pytest.importorskip("torch")
SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"
needs_weights = pytest.mark.skipif(not SHIPPED.is_dir(), reason="no pipeline is packaged")
PIPES = ["transformer", "pii_ner", "pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner"]


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    nlp = tiny_pipeline(folder)
    example = gold(nlp, "Zebulon Quartermain wrote this.", [(0, 19, "NAME_STUDENT")])
    nlp.update([example], sgd=nlp.create_optimizer())
    nlp.to_disk(folder / "trained")
    # what is to be kept out
    assert "Zebulon" in (folder / "trained/vocab/strings.json").read_text("utf8")
    out = folder / "en_pii_edu"
    settings = {"pii_ner": {"thresholds": {"NAME": 0.25}}}
    settings["hips_surrogate"] = {"profile": "tags_only"}
    return nlp, package(folder / "trained", out, settings=settings, encoder=TORCH), out


def weights(nlp):
    return nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model.state_dict()


def restarted(nlp, folder):
    """The weights of another pipeline that starts from the encoder of this one."""
    extract(nlp, folder / "encoder")
    assert find_weights(folder / "encoder") == folder / "encoder" / "encoder.pt"
    other = tiny_pipeline(folder)
    encoder = other.get_pipe("transformer").model.get_ref("transformer")
    make_encoder_loader(path=folder / "encoder")(encoder)
    return weights(other)


def test_mean_of_two_trainings(packaged, tmp_path):
    start, folders, made = packaged[2].parent / "trained", [], []
    for text in ("Ana Lopez said it.", "Ana wrote"):
        nlp = spacy.load(start)
        nlp.update([gold(nlp, text, [(0, 3, "NAME_STUDENT")])], sgd=nlp.create_optimizer())
        folders.append(tmp_path / str(len(folders)))
        nlp.to_disk(folders[-1])
        made.append((weights(nlp), [node.get_param("W") for node in heads(nlp)]))
    mean, ((one, head), (other, other_head)) = packaging.mean_of(folders), made
    for name, value in weights(mean).items():
        assert torch.allclose(value, (one[name] + other[name]) / 2, atol=1e-6), name
    for node, a, b in zip(heads(mean), head, other_head, strict=True):
        assert node.get_param("W") == pytest.approx((a + b) / 2, abs=1e-6)
    assert (head[0] != other_head[0]).any()
    assert "scores" in mean("My name is Ana").spans["pii"].attrs


def heads(nlp):
    return [node for node in nlp.get_pipe("pii_ner").model.walk() if node.has_param("W")]


def holds_words(folder):
    data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(b"Zebulon" in content or b"Quartermain" in content for content in data)


def test_packaged_rules_and_no_words(packaged):
    _, target, out = packaged
    nlp = spacy.load(target)
    assert nlp.pipe_names == PIPES
    assert nlp.get_pipe("pii_ner").cfg["thresholds"] == {"NAME": 0.25}
    assert nlp.config["components"]["pii_ner"]["thresholds"] == {"NAME": 0.25}
    assert nlp.get_pipe("hips_surrogate").profile.name == "tags_only"
    assert json.loads((out / "meta.json").read_text("utf8"))["version"] == __version__
    assert not holds_words(target)


def test_halved_weights_start_another(packaged, tmp_path):
    nlp, target, _ = packaged
    before = weights(nlp)
    for after in (weights(spacy.load(target)), restarted(nlp, tmp_path)):
        assert before.keys() == after.keys()
        for name, value in after.items():
            assert value.dtype == before[name].dtype
            assert float((value - before[name]).abs().max()) < 2e-3


def test_encoder_command_keeps_upstreams_weights(packaged, tmp_path, monkeypatch):
    monkeypatch.setattr(spacy, "load", lambda name: packaged[0])
    args = ["encoder", "--out", str(tmp_path), "--pipeline", "mine"]
    for name in ("encoder.pt", "vocab.txt"):
        (tmp_path / name).write_text("old", "utf8")
    assert CliRunner().invoke(app, args).exit_code == 0
    assert (tmp_path / "encoder.pt").stat().st_size > 1000
    assert (tmp_path / "vocab.txt").read_text("utf8") != "old"
    (tmp_path / "model.safetensors").write_bytes(b"upstream's")
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2 and "E510" in result.output
    assert CliRunner().invoke(app, args[:3]).exit_code == 0  # there already
    assert (tmp_path / "model.safetensors").read_bytes() == b"upstream's"


@pytest.mark.parametrize("encoder", [INT8, HALF])
def test_packaged_without_torch_agrees(packaged, tmp_path, encoder):
    pytest.importorskip("onnx")
    nlp, torch_target, _ = packaged
    target = package(torch_target.parents[1] / "trained", tmp_path / "en_pii_edu", encoder=encoder)
    pipelines = [spacy.load(torch_target), spacy.load(target)]
    assert [pipeline.pipe_names for pipeline in pipelines] == [PIPES, PIPES]
    probabilities = []
    for pipeline in pipelines:
        doc = pipeline.get_pipe("transformer")(pipeline.make_doc("My name is Zebulon Quartermain."))
        probabilities.append(pipeline.get_pipe("pii_ner").predict([doc])[0])
    assert float(abs(probabilities[0] - probabilities[1]).max()) < 0.02
    assert not holds_words(target)
    true = weights(nlp)
    for name, value in restarted(pipelines[1], tmp_path).items():
        if "position_embeddings" not in name and "token_type" not in name:  # only their sum is kept
            assert float((value - true[name]).abs().max()) < 0.02, name


def test_assembled_is_assembled_again(packaged, tmp_path):
    pytest.importorskip("onnx")
    _, target, _ = packaged
    half = package(target, tmp_path / HALF, encoder=HALF)
    back = package(half, tmp_path / TORCH, encoder=TORCH)
    for folder, factory in ((half, "tok2vec"), (back, "curated_transformer")):
        assert spacy.load(folder).get_pipe_meta("transformer").factory == factory
    again = assemble(target, settings={"hips_surrogate": {"profile": "ets"}}, encoder=TORCH)
    assert again.pipe_names == PIPES and again.get_pipe("hips_surrogate").profile.name == "ets"
    first, second = spacy.load(target).get_pipe("pii_ner").model, again.get_pipe("pii_ner").model
    assert first.get_ref("output_layer").to_bytes() == second.get_ref("output_layer").to_bytes()


@needs_weights
def test_shipped_is_small_without_words():
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 40_000_000
    extra = set(json.loads((SHIPPED / "vocab/strings.json").read_text("utf8")))
    for config in ({}, TOKENIZER):
        extra -= set(spacy.blank("en", config=config).vocab.strings)
    assert len(extra) < 60, sorted(extra)[:80]


@needs_weights
def test_spacy_info_tells_what_ships():
    said = srsly.read_json(SHIPPED.parent / "meta.json")
    assert said == srsly.read_json(SHIPPED / "meta.json")
    assert said["author"] and said["performance"]["protected"] > 0.8
    assert "sealed texts" in info("en_pii_edu")["notes"]


def test_meta_has_measured_performance(tmp_path):
    scores = {"precision": 0.5, "recall": 1.0, "f1": 0.75, "f5": 0.875}
    labels = {"EMAIL": {"position": {"support": 0}}, "NAME_STUDENT": {"position": scores}}
    ours = {"views": {"all": {"position": scores, "per_label": labels}}}
    report = {"data": {"documents": 3}, "systems": {"ours": ours}}
    (tmp_path / "m.json").write_text(json.dumps(report), "utf8")
    made = packaging.meta_of(tmp_path / "m.json")
    assert made["performance"] == {
        **{"ents_p": 0.5, "ents_r": 1.0, "ents_f": 0.75, "ents_f5": 0.875},
        "ents_per_type": {"NAME_STUDENT": {"p": 0.5, "r": 1.0, "f": 0.75, "f5": 0.875}},
    }
    assert "recall 1.000" in made["notes"] and made["version"] == __version__
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
    with pytest.raises(PiiError, match="E010"):
        ship(out, tmp_path / "shipped")
    assert (tmp_path / "shipped" / target.name).is_dir()


@needs_weights
@pytest.mark.slow
def test_shipped_loads_in_fresh_process():
    code = (
        "import spacy; nlp = spacy.load('en_pii_edu'); print(nlp.pipe_names, nlp.meta['version'])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(PIPES) in out.stdout and __version__ in out.stdout
