"""context_reader.py and its training: roles from the text around names, the same from torch and onnxruntime, saved and taken up again."""

import json
import subprocess
import sys

import numpy
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from pii_components.context.classifier import CLASSES
from pii_components.context.component import PiiContext
from pii_components.context.role_encoder import OVERLAP, PLACEHOLDERS, WINDOW, Blinded, PersonReader, cut
from pii_components.context.view import DocView
from pii_components.errors import PiiError
from pii_components.labels import (
    CHARACTER,
    INSTRUCTOR,
    NAME_CHARACTER,
    NAME_CITED,
    NAME_INSTRUCTOR,
    NAME_STUDENT,
    ROLES,
    STUDENT,
    label_for_role,
    role_of,
)
from pii_components.spans import SPANS_KEY, Candidate, write_spans

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

WORDS = "my name is teacher wrote marked the essay in story sailed sea says by i am and he she , . dr ( ) 2014 maria john"  # noqa: SIM905
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


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with an encoder of width 16 that knows nothing."""
    from curated_transformers.models.bert import BertConfig, BertEncoder
    from curated_transformers.models.curated_transformer import CuratedTransformer

    folder = tmp_path_factory.mktemp("encoder")
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[unused1]",
        "[unused2]",
        "[unused3]",
        *PLACEHOLDERS,
        *WORDS.split(),
    ]
    pieces += [c for c in LETTERS if c not in pieces] + [f"##{c}" for c in LETTERS[:36]]
    torch.manual_seed(3)
    config = BertConfig(
        embedding_width=16, hidden_width=16, intermediate_width=32, num_attention_heads=2, num_hidden_layers=2,
        vocab_size=len(pieces), max_position_embeddings=WINDOW,
    )  # fmt: skip
    torch.save(CuratedTransformer(BertEncoder(config)).state_dict(), folder / "encoder.pt")
    (folder / "vocab.txt").write_text("\n".join(pieces), "utf8")
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    nlp = pipeline()
    for part, names in (("train", NAMES[:4]), ("dev", NAMES[4:])):
        docs = []
        for name in names:
            for pattern, label in TEXTS.items():
                doc = nlp.make_doc(pattern.format(name, name))
                doc.spans[SPANS_KEY] = [Span(doc, t.i, t.i + 1, label) for t in doc if t.text == name]
                docs.append(doc)
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    return folder


def pipeline():
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.add_pipe("pii_context")
    return nlp


@pytest.fixture(scope="module")
def learned(encoder, corpus):
    from pii_components.training import role_encoder as training

    settings = training.Settings(
        epochs=60, learn_rate=3e-3, head_rate=1.0, batch_pieces=200, masked=0.0, lost=0.0, strangers=0.0, dropout=0.0
    )
    nlp, vocabulary = pipeline(), training.read_vocabulary(encoder)
    parts = [
        training.read_texts(corpus / f"{part}.spacy", nlp, training.pieces_of(vocabulary), settings)
        for part in ("train", "dev")
    ]
    model = training.new_model(encoder, seed=settings.seed, dropout=settings.dropout, heads=2)
    told = training.train(model, *parts, settings)
    return training, model, vocabulary, told, parts


@pytest.fixture(scope="module")
def reader(learned):
    training, model, vocabulary, _, _ = learned
    return training.to_reader(model, vocabulary, quantized=False, heads=2)


def read(reader, text, name):
    context = PiiContext()
    doc = pipeline().make_doc(text)
    cands = [Candidate(t.i, t.i + 1, NAME_STUDENT, 0.9, "model") for t in doc if t.text == name]
    view = DocView(doc, context.settings)
    return reader.read([(doc, view, context.people(view, cands))])[0]


def test_it_learns_roles_from_the_text_and_knows_them_of_names_it_never_saw(learned):
    told = learned[3]
    assert told[-1]["persons"] == 2 * len(TEXTS)
    assert told[-1]["right"] > 0.9 > told[0]["right"]
    assert told[-1]["loss"] < 0.5 * told[0]["loss"]


def test_what_ships_says_what_torch_says(learned, reader):
    training, model, _, _, (_, dev) = learned
    model.eval()
    for text in dev:
        batch = next(training.batches([text], None, training.Settings()))
        with torch.no_grad():
            logits = model(batch.pieces, batch.lengths, batch.spans, batch.owners, 1)
        windows, inside = cut(text.blinded)
        filled = [numpy.where(w < 0, reader.placeholders[numpy.maximum(-1 - w, 0)], w) for w in windows]
        rows = reader.shim.run(filled)
        vectors = numpy.stack([rows[n][start:end].mean(axis=0) for n, start, end, _ in inside])
        ours = reader.head.logits(vectors, numpy.zeros(len(inside), dtype="i8"), 1)
        assert numpy.allclose(ours, logits.numpy(), atol=0.15)  # torch computes in bfloat16


@pytest.mark.parametrize("quantized", [False, True])
def test_training_goes_on_from_what_ships(learned, quantized):
    from pii_components.training.role_encoder import from_reader

    training, model, vocabulary, _, (_, dev) = learned
    shipped = PersonReader.from_bytes(training.to_reader(model, vocabulary, quantized=quantized, heads=2).to_bytes())
    again = from_reader(shipped, dropout=0.0, heads=2)
    assert training.accuracy(again, dev, training.Settings()) == training.accuracy(model, dev, training.Settings())
    batch = next(training.batches(dev, None, training.Settings()))
    inputs = (batch.pieces, batch.lengths, batch.spans, batch.owners, len(batch.allowed))
    with torch.no_grad():
        both = [torch.softmax(one.eval()(*inputs), dim=1) for one in (model, again)]
    assert torch.allclose(*both, atol=0.2 if quantized else 0.03)


def test_it_reads_a_document(reader):
    for pattern, role in (
        ("My teacher {} marked the essay .", INSTRUCTOR),
        ("My name is {} .", STUDENT),
        ("In the story {} sailed the sea .", CHARACTER),
    ):
        found = read(reader, pattern.format("Zoë"), "Zoë")
        assert found.shape == (1, len(CLASSES))
        assert numpy.allclose(numpy.exp(found).sum(axis=1), 1.0, atol=1e-5)
        assert CLASSES[int(found[0].argmax())] == role


def test_the_name_itself_changes_nothing(reader):
    texts = [read(reader, f"My teacher {name} marked the essay .", name) for name in ("Zoë", "ZOË", "Jiří", "Мария")]
    assert all(numpy.allclose(texts[0], other, atol=1e-5) for other in texts[1:])


def test_nobody_named_gives_no_rows(reader):
    assert read(reader, "The sea .", "Zoë").shape == (0, len(CLASSES))


def test_long_texts_are_read_whole(reader):
    """A name far behind the first window is read with what stands beside it."""
    filler = "the sea is the sea . " * (WINDOW // 3)
    late = read(reader, f"{filler} My teacher Zoë marked the essay .", "Zoë")
    assert numpy.isfinite(late).all() and not numpy.allclose(late, late[0, 0])


def test_windows_without_a_name_are_not_read():
    pieces = numpy.zeros(3 * WINDOW, dtype="i8")
    at = 2 * WINDOW + 5
    pieces[at] = -1
    windows, inside = cut(Blinded(pieces, numpy.asarray([[at, 1, 0]]), 1))
    assert len(windows) == len({n for n, *_ in inside}) < 3
    assert all(windows[n][start] == -1 and end - start == 1 for n, start, end, _ in inside)


def test_every_mention_lies_whole_in_a_window():
    length = 5 * WINDOW + 17
    for at in range(0, length - OVERLAP, 13):
        windows, inside = cut(Blinded(numpy.arange(length), numpy.asarray([[at, OVERLAP, 0]]), 1))
        assert inside, at
        for n, start, end, _ in inside:
            assert windows[n][start] == at and end - start == OVERLAP


def test_saved_and_loaded_in_another_process(reader, tmp_path):
    nlp = pipeline()
    nlp.get_pipe("pii_context").reader = reader
    nlp.to_disk(tmp_path / "nlp")
    here = read(reader, "My teacher Zoë marked the essay .", "Zoë")
    code = f"""
import json, spacy
from pii_components.context.view import DocView
from pii_components.spans import Candidate
nlp = spacy.load({str(tmp_path / "nlp")!r})
context = nlp.get_pipe("pii_context")
doc = nlp.make_doc("My teacher Zoë marked the essay .")
view = DocView(doc, context.settings)
print(json.dumps(context.reader.read([(doc, view, context.people(view, [Candidate(2, 3, "NAME_STUDENT", 0.9, "model")]))])[0].tolist()))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert numpy.allclose(json.loads(out), here, atol=0.02)
    again = PersonReader.from_bytes(reader.to_bytes())
    assert numpy.allclose(
        read(again, "My teacher Zoë marked the essay .", "Zoë"), here, atol=0.02
    )  # the head is saved in 16 bits


@pytest.mark.parametrize("data", [b"", b"no reader", b"\x81\xa5graph\xc0"])
def test_a_broken_file_is_told(data):
    with pytest.raises(PiiError) as error:
        PersonReader.from_bytes(data)
    assert error.value.code == "E307"


def test_a_vocabulary_without_placeholders_is_told(reader):
    with pytest.raises(PiiError) as error:
        PersonReader(reader.shim.graph, ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], reader.head)
    assert error.value.code == "E307"


def test_without_weights_training_says_so(tmp_path, encoder):
    from pii_components.training import role_encoder as training

    (tmp_path / "vocab.txt").write_text((encoder / "vocab.txt").read_text("utf8"), "utf8")
    with pytest.raises(PiiError) as error:
        training.new_model(tmp_path, heads=2)
    assert error.value.code == "E106"


def test_a_training_that_was_broken_off_goes_on(learned, encoder, tmp_path, monkeypatch):
    training, _, _, _, (texts, dev) = learned
    settings = training.Settings(learn_rate=1e-3, batch_pieces=200, seed=5, epochs=2)
    whole = training.new_model(encoder, seed=settings.seed, dropout=settings.dropout, heads=2)
    told = training.train(whole, texts, dev, settings)
    assert [row["epoch"] for row in told] == [1, 2]

    scored, calls = training.accuracy, []

    def breaks_off(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return scored(*args)

    monkeypatch.setattr(training, "accuracy", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        training.train(
            training.new_model(encoder, seed=settings.seed, dropout=settings.dropout, heads=2),
            texts,
            dev,
            settings,
            checkpoint=tmp_path / "at.pt",
        )
    monkeypatch.setattr(training, "accuracy", scored)
    again = training.new_model(encoder, seed=settings.seed, dropout=settings.dropout, heads=2)
    taken_up = training.train(again, texts, dev, settings, checkpoint=tmp_path / "at.pt")
    timeless = [[{k: v for k, v in row.items() if k != "seconds"} for row in rows] for rows in (told, taken_up)]
    assert timeless[0] == timeless[1]
    for mine, other in zip(whole.parameters(), again.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_where_no_story_is_told_a_character_is_somebody_of_whom_nothing_is_known():
    """Students who are told of like figures were lost by the reader's word alone."""
    from pii_components.context.classifier import without
    from pii_components.context.cues import NOT_NAME
    from pii_components.labels import CHARACTER

    read = numpy.log(numpy.asarray([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.4, 0.0, 0.0, 0.25, 0.25, 0.1]]) + 1e-9)
    found = numpy.exp(without(read, CHARACTER))
    assert numpy.allclose(found[0], [0.2, 0.2, 0.2, 0.2, 0.0, 0.2], atol=1e-6)
    assert numpy.allclose(found[1], [0.45, 0.05, 0.05, 0.3, 0.0, 0.15], atol=1e-6)
    found = numpy.exp(without(read, CHARACTER, NOT_NAME))
    assert numpy.allclose(found[1], [0.4875, 0.0875, 0.0875, 0.3375, 0.0, 0.0], atol=1e-6)


class Says:
    """A classifier that believes the same of everybody."""

    width = 0

    def __init__(self, *chances):
        self.chances = chances

    def predict(self, rows):
        return numpy.tile(numpy.asarray(self.chances, dtype="f8"), (len(rows), 1))


@pytest.mark.parametrize(
    ("chances", "word", "label"),
    [
        ((0.02, 0.03, 0.05, 0.85, 0.0, 0.05), (0.0, 0.0, 0.0, 0.05, 0.95, 0.0), "NAME_CHARACTER"),  # of those in clear the reader's
        ((0.02, 0.50, 0.05, 0.38, 0.0, 0.05), (0.0, 0.1, 0.0, 0.9, 0.0, 0.0), "NAME_CITED"),
        ((0.30, 0.05, 0.20, 0.40, 0.0, 0.05), (0.0, 0.0, 0.0, 0.0, 1.0, 0.0), "NAME_STUDENT"),  # nobody comes out of hiding by it
        ((0.30, 0.05, 0.20, 0.40, 0.0, 0.05), (0.1, 0.0, 0.9, 0.0, 0.0, 0.0), "NAME_CONNECTED"),
        ((0.02, 0.03, 0.05, 0.85, 0.0, 0.05), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), "NAME_CITED"),  # nor is anybody hidden by it
    ],
)
def test_who_is_hidden_is_the_classifiers_word_and_the_role_among_the_rest_the_readers_too(chances, word, label):
    nlp = pipeline()
    context = nlp.get_pipe("pii_context")
    doc = nlp.make_doc("Yesterday Ana Lopez wrote to us .")
    write_spans(doc, [Candidate(1, 3, NAME_STUDENT, 0.95, "model")])
    context.classifier = Says(*chances)
    context.read = lambda docs, seen: [numpy.log(numpy.asarray([word]) + 1e-9)]
    (found,) = context.find_spans(doc)
    assert found.label == label and 0.0 < found.score <= 1.0
    likeliest = label if found.likely == "" else label_for_role(found.likely)
    believed = (numpy.asarray(chances[:5]) + numpy.asarray(word[:5]) / sum(word[:5])) / 2
    if label in ("NAME_STUDENT", "NAME_CONNECTED"):
        assert role_of(likeliest) == ROLES[int(believed.argmax())]
    else:
        assert found.likely == ""


def test_who_is_hidden_to_be_safe_keeps_the_likeliest_role_and_says_so():
    nlp = pipeline()
    context = nlp.get_pipe("pii_context")
    context.classifier = Says(0.05, 0.50, 0.40, 0.05, 0.0, 0.0)
    context.read = lambda docs, seen: [numpy.log(numpy.asarray([(0.0, 0.9, 0.1, 0.0, 0.0, 0.0)]) + 1e-9)]
    doc = nlp.make_doc("Yesterday Ana Lopez wrote to us .")
    write_spans(doc, [Candidate(1, 3, NAME_STUDENT, 0.95, "model")])
    context(doc)
    (span,) = doc.spans[SPANS_KEY]
    assert (span.label_, span._.pii_role) == ("NAME_CONNECTED", "INSTRUCTOR")
    assert span._.pii_reason.startswith("instructor: ") and span._.pii_reason.endswith("; hidden, to be safe")
    again = context.find_spans(doc)
    assert [(c.label, c.role, c.likely) for c in again] == [("NAME_CONNECTED", "INSTRUCTOR", "INSTRUCTOR")]
    assert again[0].with_label("NAME_CITED").role == "CITED"
    saved = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [span._.pii_role for span in saved.spans[SPANS_KEY]] == ["INSTRUCTOR"]


def test_a_reader_without_a_classifier_is_not_asked(reader):
    """Rules alone decide without a classifier; the reader's word has no weight of its own."""
    nlp = pipeline()
    context = nlp.get_pipe("pii_context")
    doc = nlp.make_doc("My teacher Zoë marked the essay .")
    write_spans(doc, [Candidate(2, 3, NAME_STUDENT, 0.9, "model")])
    before = context.find_spans(doc)
    context.reader = reader
    assert context.find_spans(doc) == before


def test_documents_of_a_batch_are_read_as_each_alone(reader):
    nlp = pipeline()
    context = nlp.get_pipe("pii_context")
    context.reader = reader
    docs = []
    for text in ("My teacher Zoë marked the essay .", "The sea .", "In the story Zoë sailed the sea .", " "):
        doc = nlp.make_doc(text)
        write_spans(doc, [Candidate(t.i, t.i + 1, NAME_STUDENT, 0.9, "model") for t in doc if t.text == "Zoë"])
        docs.append(doc)
    seen = [context.examine(doc) for doc in docs]
    together = context.read(docs, seen)
    assert together[1] is None and together[3] is None
    for n in (0, 2):
        assert numpy.allclose(together[n], context.read([docs[n]], [seen[n]])[0], atol=1e-5)


def test_gold_that_leaves_roles_open_is_learned_from():
    from pii_components.training.role_encoder import loss_of

    logits = torch.tensor([[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    either = torch.tensor([[1.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    only = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    assert loss_of(logits, either) < loss_of(logits, either * only)
    assert loss_of(logits, torch.ones(1, 6)) == pytest.approx(0.0, abs=1e-6)
