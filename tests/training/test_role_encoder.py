"""The role encoder and its training: roles from the text around names, the same from torch and onnxruntime, saved and taken up again."""

import json
import random

import numpy
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from typer.testing import CliRunner

from pii_components.context.classifier import CLASSES, without
from pii_components.context.component import PiiContext
from pii_components.context.cues import NOT_NAME
from pii_components.context.role_encoder import OVERLAP, PLACEHOLDERS, WINDOW, Blinded, PersonReader, cut
from pii_components.context.view import DocView
from pii_components.errors import PiiError
from pii_components.labels import (
    CHARACTER,
    INSTRUCTOR,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_CONNECTED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
    ROLES,
    STUDENT,
    label_for_role,
    role_of,
)  # fmt: skip
from pii_components.ner.loss import FOUND_KEY, UNLABELLED_KEY
from pii_components.spans import SPANS_KEY, Candidate, read_spans, write_spans
from scripts.train import app
from tests.tiny import TOKENIZER

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from pii_components.training import role_encoder as training  # noqa: E402

WORDS = "my name is teacher wrote marked the essay in story sailed sea says by i am and he she , . dr ( ) 2014 maria john"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-:;!?'\""
TEXTS = {
    "My name is {} .": NAME_STUDENT,
    "I am {} and my essay is the sea .": NAME_STUDENT,
    "My teacher {} marked the essay .": NAME_INSTRUCTOR,
    "{} marked my essay and {} is my teacher .": NAME_INSTRUCTOR,
    "In the story {} sailed the sea .": NAME_CHARACTER,
    "{} sailed and {} says : sea !": NAME_CHARACTER,
    "By {} ( 2014 ) , the essay .": NAME_CITED,
    "{} ( 2014 ) says the sea is the sea .": NAME_CITED,
}
NAMES = ("Ana", "Bert", "Cilla", "Dov", "Emre", "Fay")
NLP = spacy.blank("en", config=TOKENIZER)
NLP.add_pipe("pii_context")


@pytest.fixture
def context():
    """A `pii_context` of its own."""
    nlp = spacy.blank("en", config=TOKENIZER)
    return nlp.add_pipe("pii_context")


def named(text, name, score=0.9):
    """A document in which the model has found this name as a student's."""
    doc = NLP.make_doc(text)
    write_spans(doc, [Candidate(t.i, t.i + 1, NAME_STUDENT, score, "model") for t in doc if t.text == name])
    return doc


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with an encoder of width 24 that knows nothing."""
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer

    folder = tmp_path_factory.mktemp("encoder")
    special = [f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK", "unused1", "unused2", "unused3")]
    pieces = [*special, *PLACEHOLDERS, *WORDS.split()]
    pieces += [c for c in LETTERS if c not in pieces] + [f"##{c}" for c in LETTERS[:36]]
    torch.manual_seed(3)
    config = BertConfig(
        embedding_width=24, hidden_width=24, intermediate_width=32, num_attention_heads=12, num_hidden_layers=2,
        vocab_size=len(pieces), max_position_embeddings=WINDOW,
    )  # fmt: skip
    torch.save(CuratedTransformer(BertEncoder(config)).state_dict(), folder / "encoder.pt")
    (folder / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return folder


@pytest.fixture(scope="module")
def learned(encoder, tmp_path_factory):
    """The model, its vocabulary, the training log, and the texts of train and dev."""
    folder = tmp_path_factory.mktemp("corpus")
    for part, names in (("train", NAMES[:4]), ("dev", NAMES[4:])):
        docs = []
        for name, (pattern, label) in ((name, item) for name in names for item in TEXTS.items()):
            docs.append(NLP.make_doc(pattern.format(name, name)))
            docs[-1].spans[SPANS_KEY] = [Span(docs[-1], t.i, t.i + 1, label) for t in docs[-1] if t.text == name]
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    options = {"epochs": 60, "learn-rate": 3e-3, "head-rate": 1, "batch-pieces": 200}
    options |= dict.fromkeys(("masked", "lost", "strangers", "dropout"), 0)
    options |= {"corpus": folder, "encoder": encoder, "out": folder / "out"}
    result = CliRunner().invoke(app, ["role-encoder", *(f"--{name}={value}" for name, value in options.items())])
    assert result.exit_code == 0, result.output
    model, vocabulary = training.new_model(encoder), training.read_vocabulary(encoder)
    model.load_state_dict(torch.load(folder / "out" / "checkpoint.pt", weights_only=True)["model"])
    pieces = training.pieces_of(vocabulary)
    parts = [training.read_texts(folder / f"{part}.spacy", NLP, pieces, training.Settings()) for part in ("train", "dev")]
    assert PersonReader.from_bytes((folder / "out" / "reader").read_bytes()).vocabulary == vocabulary
    return model.eval(), vocabulary, json.loads((folder / "out" / "told.json").read_text("utf8"))["epochs"], parts


@pytest.fixture(scope="module")
def reader(learned):
    return training.to_reader(*learned[:2], quantized=False)


def read(reader, text, name):
    context, doc = PiiContext(), named(text, name)
    view = DocView(doc, context.settings)
    return reader.read([(doc, view, context.people(view, read_spans(doc)))])[0]


def test_it_learns_roles_from_the_text_and_knows_them_of_names_it_never_saw(learned):
    told = learned[2]
    assert told[-1]["persons"] == 2 * len(TEXTS)
    assert told[-1]["right"] > 0.9 > told[0]["right"]
    assert told[-1]["loss"] < 0.5 * told[0]["loss"]


@pytest.mark.parametrize("quantized", [False, True])
def test_what_ships_says_what_torch_says_and_training_goes_on_from_it(learned, quantized):
    model, vocabulary, _, (_, dev) = learned
    shipped = PersonReader.from_bytes(training.to_reader(model, vocabulary, quantized=quantized).to_bytes())
    again = training.new_model(shipped, dropout=0.0)
    assert training.accuracy(again, dev, training.Settings()) == training.accuracy(model, dev, training.Settings())
    for text in dev:
        batch = next(training.batches([text], None, training.Settings()))
        with torch.no_grad():
            said, said_again = (one.eval()(batch) for one in (model, again))
        assert torch.allclose(*(torch.softmax(logits, dim=1) for logits in (said, said_again)), atol=0.2 if quantized else 0.03)
        windows, inside = cut(text.blinded)
        rows = shipped.shim.run([numpy.where(w < 0, shipped.placeholders[numpy.maximum(-1 - w, 0)], w) for w in windows])
        vectors = numpy.stack([rows[n][start:end].mean(axis=0) for n, start, end, _ in inside])
        ours = shipped.head.logits(vectors, numpy.zeros(len(inside), dtype="i8"), 1)
        assert quantized or numpy.allclose(ours, said.numpy(), atol=0.15)  # torch computes in bfloat16


@pytest.mark.parametrize(
    ("pattern", "role"),
    [
        ("My teacher {} marked the essay .", INSTRUCTOR),
        ("My name is {} .", STUDENT),
        ("In the story {} sailed the sea .", CHARACTER),
    ],
)
def test_it_reads_a_document_and_the_name_itself_changes_nothing(reader, pattern, role):
    found = read(reader, pattern.format("Zoë"), "Zoë")
    assert found.shape == (1, len(CLASSES)) and CLASSES[int(found[0].argmax())] == role
    assert numpy.allclose(numpy.exp(found).sum(axis=1), 1.0, atol=1e-5)
    for name in ("ZOË", "Jiří", "Мария"):
        assert numpy.allclose(found, read(reader, pattern.format(name), name), atol=1e-5)


def test_long_texts_are_read_whole_and_those_that_name_nobody_not_at_all(reader):
    filler = "the sea is the sea . " * (WINDOW // 3)
    late = read(reader, f"{filler} My teacher Zoë marked the essay .", "Zoë")
    assert numpy.isfinite(late).all() and not numpy.allclose(late, late[0, 0])
    assert read(reader, "The sea .", "Zoë").shape == (0, len(CLASSES))


def test_windows_without_a_name_are_not_read_and_every_mention_lies_whole_in_one():
    length = 5 * WINDOW + 17
    for at in range(0, length - OVERLAP, 13):
        windows, inside = cut(Blinded(numpy.arange(length), numpy.asarray([[at, OVERLAP, 0]]), 1))
        assert len(windows) == len({n for n, *_ in inside}) in (1, 2), at
        assert all(windows[n][start] == at and end - start == OVERLAP for n, start, end, _ in inside)


def test_saved_with_its_pipeline_and_loaded(reader, tmp_path):
    nlp = spacy.blank("en", config=TOKENIZER)
    nlp.add_pipe("pii_context").reader = reader
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp").get_pipe("pii_context").reader
    text = "My teacher Zoë marked the essay ."
    assert numpy.allclose(read(again, text, "Zoë"), read(reader, text, "Zoë"), atol=0.02)  # the head is saved in 16 bits


def test_what_cannot_be_used_is_a_coded_error(reader, tmp_path, encoder):
    (tmp_path / "vocab.txt").write_text((encoder / "vocab.txt").read_text("utf8"), "utf8")
    with pytest.raises(PiiError, match="E106"):
        training.new_model(tmp_path)
    with pytest.raises(PiiError, match="E307"):
        PersonReader(reader.shim.graph, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], reader.head)
    for data in (b"", b"no reader", b"\x81\xa5graph\xc0"):
        with pytest.raises(PiiError, match="E307"):
            PersonReader.from_bytes(data)


def test_a_training_that_was_broken_off_goes_on(learned, encoder, tmp_path, monkeypatch):
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
    assert all(torch.equal(mine, other) for mine, other in zip(models[0].parameters(), models[2].parameters(), strict=True))


def test_words_that_are_no_names_and_a_detectors_names_are_learned_from_too():
    gold = NLP.make_doc("Ana Lopez saw Rome and Old Mill Lane .")
    gold.spans[SPANS_KEY], gold.spans[UNLABELLED_KEY] = [Span(gold, 0, 2, NAME_STUDENT)], [Span(gold, 3, 4, "X")]
    rng = random.Random(1)
    drawn = [training.people_of_gold(gold, rng, strangers=0.5) for _ in range(60)]
    words = {gold[c.start : c.end].text for cands in drawn for c in cands if c.label == NAME_CITED}
    assert {"Old", "Old Mill", "Mill"} <= words and not any("Rome" in word or "Ana" in word for word in words)
    assert sum(len(cands) > 1 for cands in drawn) in range(15, 45) and all(cands[0].end == 2 for cands in drawn)
    gold.spans[FOUND_KEY] = [Span(gold, 5, 7, NAME_STUDENT)]
    found = training.people_of_gold(gold, rng, strangers=1.0)
    assert [(c.start, c.label, c.score) for c in found] == [(0, NAME_STUDENT, 0.99), (5, NAME_STUDENT, 0.5)]


def test_gold_that_leaves_roles_open_is_learned_from():
    logits = torch.tensor([[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    either, only = torch.tensor([[[1.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    assert training.loss_of(logits, either) < training.loss_of(logits, only)
    assert training.loss_of(logits, torch.ones(1, 6)) == pytest.approx(0.0, abs=1e-6)


def test_where_no_story_is_told_a_character_is_somebody_of_whom_nothing_is_known():
    """Students who are told of like figures were lost by the reader's word alone."""
    read = numpy.log(numpy.asarray([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.4, 0.0, 0.0, 0.25, 0.25, 0.1]]) + 1e-9)
    found = numpy.exp(without(read, CHARACTER))
    assert numpy.allclose(found, [[0.2, 0.2, 0.2, 0.2, 0.0, 0.2], [0.45, 0.05, 0.05, 0.3, 0.0, 0.15]], atol=1e-6)
    found = numpy.exp(without(read, CHARACTER, NOT_NAME))
    assert numpy.allclose(found[1], [0.4875, 0.0875, 0.0875, 0.3375, 0.0, 0.0], atol=1e-6)


class Says:
    """A classifier that believes the same of everybody."""

    width = 0

    def __init__(self, *chances):
        self.chances = chances

    def predict(self, rows):
        return numpy.tile(numpy.asarray(self.chances, dtype="f8"), (len(rows), 1))


def heard(context, chances, word):
    """A document about one person of whom the classifier and the reader believe this."""
    doc = NLP.make_doc("Yesterday Ana Lopez wrote to us .")
    write_spans(doc, [Candidate(1, 3, NAME_STUDENT, 0.95, "model")])
    context.classifier = Says(*chances)
    context.read = lambda docs, seen: [numpy.log(numpy.asarray([word]) + 1e-9)]
    return doc


@pytest.mark.parametrize(
    ("chances", "word", "label"),
    [
        (
            (0.02, 0.03, 0.05, 0.85, 0.0, 0.05),
            (0.0, 0.0, 0.0, 0.05, 0.95, 0.0),
            NAME_CHARACTER,
        ),  # of those in clear the reader's
        ((0.02, 0.50, 0.05, 0.38, 0.0, 0.05), (0.0, 0.1, 0.0, 0.9, 0.0, 0.0), NAME_CITED),
        ((0.30, 0.05, 0.20, 0.40, 0.0, 0.05), (0.0, 0.0, 0.0, 0.0, 1.0, 0.0), NAME_STUDENT),  # nobody comes out of hiding by it
        ((0.30, 0.05, 0.20, 0.40, 0.0, 0.05), (0.1, 0.0, 0.9, 0.0, 0.0, 0.0), NAME_CONNECTED),
        ((0.02, 0.03, 0.05, 0.85, 0.0, 0.05), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), NAME_CITED),  # nor is anybody hidden by it
    ],
)
def test_who_is_hidden_is_the_classifiers_word_and_the_role_among_the_rest_the_readers_too(context, chances, word, label):
    (found,) = context.find_spans(heard(context, chances, word))
    assert found.label == label and 0.0 < found.score <= 1.0
    likeliest = label if found.likely == "" else label_for_role(found.likely)
    believed = (numpy.asarray(chances[:5]) + numpy.asarray(word[:5]) / sum(word[:5])) / 2
    if label in (NAME_STUDENT, NAME_CONNECTED):
        assert role_of(likeliest) == ROLES[int(believed.argmax())]
    else:
        assert found.likely == ""


def test_who_is_hidden_to_be_safe_keeps_the_likeliest_role_and_says_so(context):
    doc = heard(context, (0.05, 0.50, 0.40, 0.05, 0.0, 0.0), (0.0, 0.9, 0.1, 0.0, 0.0, 0.0))
    context(doc)
    (span,) = doc.spans[SPANS_KEY]
    assert (span.label_, span._.pii_role) == (NAME_CONNECTED, "INSTRUCTOR")
    assert span._.pii_reason.startswith("instructor: ") and span._.pii_reason.endswith("; hidden, to be safe")
    (again,) = context.find_spans(doc)
    assert (again.label, again.role, again.likely) == (NAME_CONNECTED, "INSTRUCTOR", "INSTRUCTOR")
    assert again.with_label(NAME_CITED).role == "CITED"
    saved = Doc(NLP.vocab).from_bytes(doc.to_bytes())
    assert [span._.pii_role for span in saved.spans[SPANS_KEY]] == ["INSTRUCTOR"]


def test_a_reader_without_a_classifier_is_not_asked(reader, context):
    """Rules alone decide without a classifier; the reader's word has no weight of its own."""
    doc = named("My teacher Zoë marked the essay .", "Zoë")
    before = context.find_spans(doc)
    context.reader = reader
    assert context.find_spans(doc) == before


def test_documents_of_a_batch_are_read_as_each_alone(reader, context):
    context.reader = reader
    texts = ("My teacher Zoë marked the essay .", "The sea .", "In the story Zoë sailed the sea .", " ")
    docs = [named(text, "Zoë") for text in texts]
    seen = [context.examine(doc) for doc in docs]
    together = context.read(docs, seen)
    assert together[1] is None and together[3] is None
    for n in (0, 2):
        assert numpy.allclose(together[n], context.read([docs[n]], [seen[n]])[0], atol=1e-5)
