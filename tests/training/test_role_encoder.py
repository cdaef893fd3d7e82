"""The role encoder and its training: roles from the text around names, the same from torch and onnxruntime, saved and taken up again."""

import json
import random
from itertools import product

import numpy
import pytest
import spacy
from spacy.tokens import DocBin, Span
from typer.testing import CliRunner

from pii_components.context.classifier import CLASSES
from pii_components.context.component import PiiContext
from pii_components.context.features import features
from pii_components.context.mentions import find_people
from pii_components.context.role_encoder import (
    OVERLAP,
    PLACEHOLDERS,
    WINDOW,
    Blinded,
    PersonReader,
    cut,
)
from pii_components.context.view import DocView
from pii_components.errors import PiiError
from pii_components.labels import CHARACTER, INSTRUCTOR, NAME_CITED, NAME_STUDENT, STUDENT, role_of
from pii_components.ner.loss import UNLABELLED_KEY
from pii_components.spans import SPANS_KEY, Candidate, read_spans, write_spans
from pii_components.training.classifier import PersonExample, fit
from scripts.train import app
from tests.tiny import TOKENIZER

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from pii_components.training import role_encoder as training  # noqa: E402

WORDS = "my name is teacher wrote marked the essay in story sailed sea says by i am and he she , . dr ( ) 2014 maria john"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-:;!?'\""
TEXTS = {
    "My name is {} .": "NAME_STUDENT",
    "I am {} and my essay is the sea .": "NAME_STUDENT",
    "My teacher {} marked the essay .": "NAME_INSTRUCTOR",
    "{} marked my essay and {} is my teacher .": "NAME_INSTRUCTOR",
    "In the story {} sailed the sea .": "NAME_CHARACTER",
    "{} sailed and {} says : sea !": "NAME_CHARACTER",
    "By {} ( 2014 ) , the essay .": "NAME_CITED",
    "{} ( 2014 ) says the sea is the sea .": "NAME_CITED",
}
NAMES = ("Ana", "Bert", "Cilla", "Dov", "Emre", "Fay")
SETTINGS = training.Settings()
NLP = spacy.blank("en", config=TOKENIZER)
NLP.add_pipe("pii_context")


@pytest.fixture
def context():
    """A `pii_context` of its own."""
    nlp = spacy.blank("en", config=TOKENIZER)
    return nlp.add_pipe("pii_context")


def named(text, name):
    """A document in which the model has found this name as a student's."""
    doc = NLP.make_doc(text)
    found = [Candidate(t.i, t.i + 1, NAME_STUDENT, 0.9, "model") for t in doc if t.text == name]
    write_spans(doc, found)
    return doc


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with an encoder of width 24 that knows nothing."""
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer

    folder = tmp_path_factory.mktemp("encoder")
    special = [f"[{name}]" for name in "PAD UNK CLS SEP MASK unused1 unused2 unused3".split()]
    pieces = [*special, *PLACEHOLDERS, *WORDS.split()]
    pieces += [c for c in LETTERS if c not in pieces] + [f"##{c}" for c in LETTERS[:36]]
    torch.manual_seed(3)
    config = BertConfig(
        embedding_width=24,
        hidden_width=24,
        intermediate_width=32,
        num_attention_heads=12,
        num_hidden_layers=2,
        vocab_size=len(pieces),
        max_position_embeddings=WINDOW,
    )
    torch.save(CuratedTransformer(BertEncoder(config)).state_dict(), folder / "encoder.pt")
    (folder / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return folder


@pytest.fixture(scope="module")
def learned(encoder, tmp_path_factory):
    """The model, its vocabulary, the training log, and the texts of train and dev."""
    folder = tmp_path_factory.mktemp("corpus")
    for part, names in (("train", NAMES[:4]), ("dev", NAMES[4:])):
        docs = []
        for name, (pattern, label) in product(names, TEXTS.items()):
            doc = NLP.make_doc(pattern.format(name, name))
            doc.spans[SPANS_KEY] = [Span(doc, t.i, t.i + 1, label) for t in doc if t.text == name]
            docs.append(doc)
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    how = dict.fromkeys(("masked", "lost", "strangers", "dropout"), 0.0)
    how |= {"epochs": 40, "learn_rate": 3e-3, "head_rate": 1.0, "batch_pieces": 200}
    settings = training.Settings(**how)
    training.train_reader([folder], folder / "out", settings, encoder=encoder, device="cpu")
    model, vocabulary = training.new_model(encoder), training.read_vocabulary(encoder)
    model.load_state_dict(torch.load(folder / "out" / "checkpoint.pt", weights_only=True)["model"])
    pieces = training.pieces_of(vocabulary)
    parts = [
        training.read_texts(folder / f"{part}.spacy", NLP, pieces, SETTINGS)
        for part in ("train", "dev")
    ]
    made = PersonReader.from_bytes((folder / "out" / "reader").read_bytes())
    assert made.vocabulary == vocabulary
    told = json.loads((folder / "out" / "told.json").read_text("utf8"))["epochs"]
    return model.eval(), vocabulary, told, parts


@pytest.fixture(scope="module")
def reader(learned):
    return training.to_reader(*learned[:2], quantized=False)


READ = {
    "My teacher {} marked the essay .": INSTRUCTOR,
    "My name is {} .": STUDENT,
    "In the story {} sailed the sea .": CHARACTER,
}


def read(reader, text, name):
    context, doc = PiiContext(), named(text, name)
    view = DocView(doc, context.settings)
    return reader.read([(doc, view, find_people(view, read_spans(doc), None)[0])])[0]


def test_roles_are_learned_from_text(learned):
    told = learned[2]
    assert told[-1]["persons"] == 2 * len(TEXTS)
    assert told[-1]["right"] > 0.9 > told[0]["right"]
    assert told[-1]["loss"] < 0.5 * told[0]["loss"]


@pytest.mark.parametrize("quantized", [False, True])
def test_shipped_says_what_torch_says(learned, quantized):
    model, vocabulary, _, (_, dev) = learned
    data = training.to_reader(model, vocabulary, quantized=quantized).to_bytes()
    shipped = PersonReader.from_bytes(data)
    again = training.new_model(shipped, dropout=0.0).eval()
    assert training.accuracy(again, dev, SETTINGS) == training.accuracy(model, dev, SETTINGS)
    for text in dev:
        batch = next(training.batches([text], None, SETTINGS))
        with torch.no_grad():
            said, said_again = model.eval()(batch), again.eval()(batch)
        chances = (torch.softmax(logits, dim=1) for logits in (said, said_again))
        assert torch.allclose(*chances, atol=0.2 if quantized else 0.03)
        if quantized:
            continue
        windows, inside = cut(text.blinded)
        shown = [
            numpy.where(w < 0, shipped.placeholders[numpy.maximum(-1 - w, 0)], w) for w in windows
        ]
        rows = shipped.shim.run(shown)
        vectors = numpy.stack([rows[n][start:end].mean(axis=0) for n, start, end, _ in inside])
        ours = shipped.head.logits(vectors, numpy.zeros(len(inside), dtype="i8"), 1)
        assert numpy.allclose(ours, said.numpy(), atol=0.15)  # torch computes in bfloat16


@pytest.mark.parametrize(("pattern", "role"), list(READ.items()))
def test_the_name_itself_changes_nothing(reader, pattern, role):
    found = read(reader, pattern.format("Zoë"), "Zoë")
    assert found.shape == (1, len(CLASSES)) and CLASSES[int(found[0].argmax())] == role
    assert numpy.allclose(numpy.exp(found).sum(axis=1), 1.0, atol=1e-5)
    for name in ("ZOË", "Jiří", "Мария"):
        assert numpy.allclose(found, read(reader, pattern.format(name), name), atol=1e-5)


def test_long_texts_are_read_whole(reader):
    filler = "the sea is the sea . " * (WINDOW // 3)
    late = read(reader, f"{filler} My teacher Zoë marked the essay .", "Zoë")
    assert numpy.isfinite(late).all() and not numpy.allclose(late, late[0, 0])
    assert read(reader, "The sea .", "Zoë").shape == (0, len(CLASSES))


def test_every_mention_lies_in_a_window():
    length = 5 * WINDOW + 17
    for at in range(0, length - OVERLAP, 13):
        windows, inside = cut(Blinded(numpy.arange(length), numpy.asarray([[at, OVERLAP, 0]]), 1))
        assert len(windows) == len({n for n, *_ in inside}) in (1, 2), at
        for n, start, end, _ in inside:
            assert windows[n][start] == at and end - start == OVERLAP


@pytest.mark.parametrize("quantized", [False, True])
def test_pruned_vocabularies_say_the_same(learned, tmp_path, quantized):
    data = training.to_reader(*learned[:2], quantized=quantized).to_bytes()
    (tmp_path / "reader").write_bytes(data)
    whole = PersonReader.from_bytes(data)
    held = ["My teacher Ana marked the essay .", "My essay and my teacher : the essay marked !"]
    DocBin(docs=[NLP.make_doc(text) for text in held]).to_disk(tmp_path / "held.spacy")
    least = 0
    for piece in whole.vocabulary:
        least += len(piece.removeprefix("##")) == 1 or piece.startswith("[")

    def prune(name, pieces):
        files = [f"--corpus={tmp_path / 'held.spacy'}", f"--reader={tmp_path / 'reader'}"]
        out = [f"--out={tmp_path / name}", f"--pieces={pieces}"]
        return CliRunner().invoke(app, ["prune", *files, *out])

    assert prune("small", least + 6).exit_code == 0
    small = PersonReader.from_bytes((tmp_path / "small").read_bytes())
    assert set(small.vocabulary) <= set(whole.vocabulary) and len(small.vocabulary) == least + 6
    assert {"my", "teacher", "marked", "the", "essay", "and"} <= set(small.vocabulary)
    assert not {"story", "sailed"} & set(small.vocabulary)
    assert numpy.array_equal(read(small, held[0], "Ana"), read(whole, held[0], "Ana"))
    assert numpy.isfinite(read(small, "In the story Ana sailed the sea .", "Ana")).all()
    pieces = training.pieces_of(small.vocabulary).predict([NLP.make_doc("story sailed")])[0]
    words = [small.vocabulary[i] for i in pieces.dataXd.tolist()[1:-1]]
    assert words == "s ##t ##o ##r ##y s ##a ##i ##l ##e ##d".split()
    result = prune("none", least - 1)
    assert result.exit_code and "E114" in result.output + str(result.exception)
    assert not (tmp_path / "none").exists()


def test_saved_with_its_pipeline_and_loaded(reader, tmp_path):
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_context").reader = reader
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp").get_pipe("pii_context").reader
    text = "My teacher Zoë marked the essay ."
    # the head is saved in 16 bits
    assert numpy.allclose(read(again, text, "Zoë"), read(reader, text, "Zoë"), atol=0.02)


def test_unusable_encoders_are_coded_errors(reader, tmp_path, encoder):
    (tmp_path / "vocab.txt").write_text((encoder / "vocab.txt").read_text("utf8"), "utf8")
    with pytest.raises(PiiError, match="E604"):
        training.new_model(tmp_path)
    with pytest.raises(PiiError, match="E304"):
        PersonReader(reader.shim.graph, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], reader.head)
    for data in (b"", b"no reader", b"\x81\xa5graph\xc0"):
        with pytest.raises(PiiError, match="E304"):
            PersonReader.from_bytes(data)


def test_broken_off_training_goes_on(learned, encoder, tmp_path, monkeypatch):
    texts, dev = learned[3]
    settings = training.Settings(learn_rate=1e-3, batch_pieces=200, seed=5, epochs=2)
    models = [training.new_model(encoder, seed=settings.seed) for _ in range(3)]
    told = training.train(models[0], texts, dev, settings)
    assert [row["epoch"] for row in told] == [1, 2]
    scored, calls = training.accuracy, []

    def breaks_off(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return scored(*args)

    monkeypatch.setattr(training, "accuracy", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        training.train(models[1], texts, dev, settings, checkpoint=tmp_path / "at.pt")
    taken_up = training.train(models[2], texts, dev, settings, checkpoint=tmp_path / "at.pt")
    assert [row | {"seconds": 0} for row in told] == [row | {"seconds": 0} for row in taken_up]
    for mine, other in zip(models[0].parameters(), models[2].parameters(), strict=True):
        assert torch.equal(mine, other)


def test_mean_lies_between(learned, tmp_path):
    model, vocabulary, _, (_, dev) = learned
    folders = [tmp_path / str(factor) for factor in (1, 3, 2)]
    for folder in folders:
        state = {name: value * float(folder.name) for name, value in model.state_dict().items()}
        folder.mkdir()
        torch.save({"model": state}, folder / "checkpoint.pt")
        (folder / "reader").write_bytes(training.to_reader(model, vocabulary).to_bytes())
    mean = training.mean_reader(folders[:2])
    assert mean.to_bytes() == training.mean_reader(folders[2:]).to_bytes()
    same = training.new_model(training.mean_reader(folders[:1]), dropout=0.0)
    assert training.accuracy(same, dev, SETTINGS) == training.accuracy(model, dev, SETTINGS)


def test_other_words_teach_too():
    gold = NLP.make_doc("Ana Lopez saw Rome and Old Mill Lane .")
    gold.spans[SPANS_KEY] = [Span(gold, 0, 2, NAME_STUDENT)]
    gold.spans[UNLABELLED_KEY] = [Span(gold, 3, 4, "X")]
    rng, words = random.Random(1), set()
    for _ in range(60):
        cands = training.people_of_gold(gold, rng, strangers=0.5)
        assert cands[0].end == 2
        words |= {gold[c.start : c.end].text for c in cands if c.label == NAME_CITED}
    assert {"Old", "Old Mill", "Mill"} <= words
    assert not any("Rome" in word or "Ana" in word for word in words)


def test_open_roles_teach_too():
    logits = torch.tensor([[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    either = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    only = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    assert training.loss_of(logits, either) < training.loss_of(logits, only)
    assert training.loss_of(logits, torch.ones(1, 6)) == pytest.approx(0.0, abs=1e-6)


def test_batches_are_read_as_alone(reader, context):
    doc = named("My teacher Zoë marked the essay .", "Zoë")
    before = context.find_spans(doc)
    context.reader = reader
    assert context.find_spans(doc) == before
    teacher, _, story = (pattern.format("Zoë") for pattern in READ)
    docs = [named(text, "Zoë") for text in (teacher, "The sea .", story, " ")]
    seen = [context.people(doc)[0] for doc in docs]
    together = context.rows(docs, seen)
    assert [len(rows) for rows in together] == [1, 0, 1, 0]
    around = [n for n, name in enumerate(features()) if name.startswith("around ")]
    for n in (0, 2):
        assert numpy.allclose(together[n], context.rows([docs[n]], [seen[n]])[0], atol=1e-5)
        assert CLASSES[int(together[n][0][around].argmax())] == (INSTRUCTOR, CHARACTER)[n // 2]


def test_classifier_weighs_the_reader(reader, context):
    context.reader = reader
    persons = []
    for name, (pattern, label) in product(NAMES, TEXTS.items()):
        text = pattern.format(name, name)
        doc = named(text, name)
        row = context.rows([doc], [context.people(doc)[0]])[0][0]
        persons.append(PersonExample(text, row, role_of(label), 1))
    context.classifier = fit(persons, l2=1.0)
    story = "In the story Zoë sailed the sea ."
    (found,) = context.find_spans(named(story, "Zoë"))
    assert found.role == CHARACTER
    context.reader = None  # what is not known counts for nothing, and is no error
    assert context.find_spans(named(story, "Zoë"))
