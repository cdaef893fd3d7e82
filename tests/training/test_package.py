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
from pii_components.training.package import (
    HALF,
    INT8,
    TORCH,
    assemble,
    mean_of,
    meta_of,
    package,
    ship,
)
from scripts.train import app
from tests.tiny import TOKENIZER, gold, tiny_pipeline

torch = pytest.importorskip("torch")
SHIPPED = Path(en_pii_edu.__file__).parent / f"en_pii_edu-{__version__}"
needs_weights = pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="no pipeline is packaged in en_pii_edu/"
)
PIPES = ["transformer", "pii_ner", "pii_ruler", "pii_context", "hips_surrogate", "pii_cleaner"]


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    nlp = tiny_pipeline(folder)
    nlp.update(
        [gold(nlp, "Zebulon Quartermain wrote this.", [(0, 19, "NAME_STUDENT")])],
        sgd=nlp.create_optimizer(),
    )
    nlp.to_disk(folder / "trained")
    assert "Zebulon" in (folder / "trained/vocab/strings.json").read_text(
        "utf8"
    )  # what is to be kept out
    out = folder / "en_pii_edu"
    settings = {
        "pii_ner": {"thresholds": {"NAME": 0.25}},
        "hips_surrogate": {"profile": "tags_only"},
    }
    return nlp, package(folder / "trained", out, settings=settings, encoder=TORCH), out


def weights(nlp):
    return nlp.get_pipe("transformer").model.get_ref("transformer").shims[0]._model.state_dict()


def restarted(nlp, folder):
    """The weights of another pipeline that starts from the encoder of this one."""
    extract(nlp, folder / "encoder")
    assert find_weights(folder / "encoder") == folder / "encoder" / "encoder.pt"
    other = tiny_pipeline(folder)
    make_encoder_loader(path=folder / "encoder")(
        other.get_pipe("transformer").model.get_ref("transformer")
    )
    return weights(other)


def test_the_mean_of_two_trainings_is_a_pipeline_with_the_mean_of_all_their_weights(
    packaged, tmp_path
):
    start, folders, made = packaged[2].parent / "trained", [], []
    for text in ("Ana Lopez said it.", "Ana wrote"):
        nlp = spacy.load(start)
        nlp.update([gold(nlp, text, [(0, 3, "NAME_STUDENT")])], sgd=nlp.create_optimizer())
        folders.append(tmp_path / str(len(folders)))
        nlp.to_disk(folders[-1])
        made.append([weights(nlp), *(node.get_param("W") for node in heads(nlp))])
    mean = mean_of(folders)
    for name, value in weights(mean).items():
        assert torch.allclose(value, (made[0][0][name] + made[1][0][name]) / 2, atol=1e-6), name
    for node, one, other in zip(heads(mean), made[0][1:], made[1][1:], strict=True):
        assert node.get_param("W") == pytest.approx((one + other) / 2, abs=1e-6)
    assert (made[0][1] != made[1][1]).any()
    doc = mean("My name is Ana")
    assert "scores" in doc.spans["pii"].attrs


def heads(nlp):
    return [node for node in nlp.get_pipe("pii_ner").model.walk() if node.has_param("W")]


def holds_words(folder):
    data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(b"Zebulon" in content or b"Quartermain" in content for content in data)


def test_rules_stand_behind_the_trained_components_and_no_word_of_a_training_text_is_there(
    packaged,
):
    _, target, out = packaged
    nlp = spacy.load(target)
    assert nlp.pipe_names == PIPES
    assert nlp.get_pipe("pii_ner").cfg["thresholds"] == {"NAME": 0.25}
    assert nlp.config["components"]["pii_ner"]["thresholds"] == {"NAME": 0.25}
    assert nlp.get_pipe("hips_surrogate").profile.name == "tags_only"
    assert json.loads((out / "meta.json").read_text("utf8"))["version"] == __version__
    assert not holds_words(target)


def test_weights_are_halved_and_nearly_the_same_and_start_another_pipeline(packaged, tmp_path):
    nlp, target, _ = packaged
    before = weights(nlp)
    for after in (weights(spacy.load(target)), restarted(nlp, tmp_path)):
        assert before.keys() == after.keys()
        for name, value in after.items():
            assert (
                value.dtype == before[name].dtype
                and float((value - before[name]).abs().max()) < 2e-3
            )


def test_the_encoder_command_replaces_its_own_weights_and_never_upstreams(
    packaged, tmp_path, monkeypatch
):
    monkeypatch.setattr(spacy, "load", lambda name: packaged[0])
    args = ["encoder", "--out", str(tmp_path), "--pipeline", "mine"]
    for name in ("encoder.pt", "vocab.txt"):
        (tmp_path / name).write_text("old", "utf8")
    assert CliRunner().invoke(app, args).exit_code == 0
    assert (tmp_path / "encoder.pt").stat().st_size > 1000 and (tmp_path / "vocab.txt").read_text(
        "utf8"
    ) != "old"
    (tmp_path / "model.safetensors").write_bytes(b"upstream's")
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2 and "E510" in result.output
    assert CliRunner().invoke(app, args[:3]).exit_code == 0  # there already
    assert (tmp_path / "model.safetensors").read_bytes() == b"upstream's"


@pytest.mark.parametrize("encoder", [INT8, HALF])
def test_packaged_without_torch_says_the_same_and_starts_another(packaged, tmp_path, encoder):
    pytest.importorskip("onnx")
    nlp, torch_target, _ = packaged
    target = package(torch_target.parents[1] / "trained", tmp_path / "en_pii_edu", encoder=encoder)
    pipelines = [spacy.load(torch_target), spacy.load(target)]
    assert [pipeline.pipe_names for pipeline in pipelines] == [PIPES, PIPES]
    probabilities = []
    for pipeline in pipelines:
        docs = list(
            pipeline.get_pipe("transformer").pipe(
                [pipeline.make_doc("My name is Zebulon Quartermain.")]
            )
        )
        probabilities.append(pipeline.get_pipe("pii_ner").predict(docs)[0])
    assert float(abs(probabilities[0] - probabilities[1]).max()) < 0.02
    assert not holds_words(target)
    true = weights(nlp)
    for name, value in restarted(pipelines[1], tmp_path).items():
        if "position_embeddings" not in name and "token_type" not in name:  # only their sum is kept
            assert float((value - true[name]).abs().max()) < 0.02, name


def test_an_assembled_pipeline_is_assembled_again_with_other_rules(packaged, tmp_path):
    pytest.importorskip("onnx")
    _, target, _ = packaged
    kinds = [
        spacy.load(package(source, tmp_path / made, encoder=made))
        for source, made in ((target, HALF), (tmp_path / HALF / target.name, TORCH))
    ]
    assert [nlp.get_pipe_meta("transformer").factory for nlp in kinds] == [
        "tok2vec",
        "curated_transformer",
    ]
    again = assemble(target, settings={"hips_surrogate": {"profile": "ets"}}, encoder=TORCH)
    assert again.pipe_names == PIPES and again.get_pipe("hips_surrogate").profile.name == "ets"
    first, second = spacy.load(target).get_pipe("pii_ner").model, again.get_pipe("pii_ner").model
    assert first.get_ref("output_layer").to_bytes() == second.get_ref("output_layer").to_bytes()


@needs_weights
def test_shipped_pipeline_is_at_most_40_mb_and_holds_no_words():
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 40_000_000
    strings = set(json.loads((SHIPPED / "vocab/strings.json").read_text("utf8")))
    extra = (
        strings
        - set(spacy.blank("en").vocab.strings)
        - set(spacy.blank("en", config=TOKENIZER).vocab.strings)
    )
    assert len(extra) < 60, sorted(extra)[:80]


@needs_weights
def test_spacy_info_says_who_made_what_ships_and_how_good_it_is():
    said = srsly.read_json(SHIPPED.parent / "meta.json")
    assert said == srsly.read_json(SHIPPED / "meta.json")
    assert (
        said["author"]
        and said["performance"]["protected"] > 0.8
        and "sealed texts" in info("en_pii_edu")["notes"]
    )


def test_meta_has_the_performance_of_a_metrics_file(tmp_path):
    scores = {"precision": 0.5, "recall": 1.0, "f1": 0.75, "f5": 0.875}
    labels = {"EMAIL": {"position": {"support": 0}}, "NAME_STUDENT": {"position": scores}}
    report = {
        "data": {"documents": 3},
        "systems": {"ours": {"views": {"all": {"position": scores, "per_label": labels}}}},
    }
    (tmp_path / "m.json").write_text(json.dumps(report), "utf8")
    made = meta_of(tmp_path / "m.json")
    each = {"p": 0.5, "r": 1.0, "f": 0.75, "f5": 0.875}
    assert made["performance"] == {f"ents_{kind}": value for kind, value in each.items()} | {
        "ents_per_type": {"NAME_STUDENT": each}
    }
    assert (
        made["notes"].startswith("Precision 0.500, recall 1.000, F5 0.875 on 3 texts")
        and made["version"] == __version__
    )
    assert meta_of()["performance"] == {}


def test_what_ships_is_replaced_by_a_whole_pipeline_only(packaged, tmp_path, monkeypatch):
    _, target, out = packaged
    assert (
        CliRunner()
        .invoke(app, ["ship", "--packaged", str(tmp_path), "--out", str(tmp_path / "none")])
        .exit_code
        == 2
    )
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
def test_shipped_pipeline_loads_by_name_in_a_fresh_process():
    code = "import spacy; nlp = spacy.load('en_pii_edu'); print(nlp.pipe_names); print(nlp.meta['version'])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(PIPES) in out.stdout and __version__ in out.stdout
