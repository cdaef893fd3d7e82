"""A larger reader to learn from: MPNet's own vectors, and what a student takes over of its teacher."""

import copy
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

from pii_components.context_blind import PLACEHOLDERS  # noqa: E402
from pii_components.context_model import CLASSES  # noqa: E402
from pii_components.context_reader import PersonReader  # noqa: E402
from pii_components.context_reader_data import Settings, batches  # noqa: E402
from pii_components.context_reader_model import to_reader  # noqa: E402
from pii_components.context_reader_teacher import MeanModel  # noqa: E402
from pii_components.context_reader_train import distillation_loss, train  # noqa: E402
from pii_components.errors import PiiError  # noqa: E402
from tests.test_context_reader import corpus, encoder, learned, pipeline  # noqa: E402, F401


def test_the_divergence_is_that_of_the_softened_distributions():
    logits, taught = torch.tensor([[2.0, -1.0, 0.5], [0.0, 1.0, 3.0]]), torch.tensor([[1.0, 1.0, -2.0], [0.3, -1.0, 2.0]])
    for temperature in (1.0, 3.0):
        p, q = torch.softmax(taught / temperature, dim=1), torch.softmax(logits / temperature, dim=1)
        by_hand = (p * (p / q).log()).sum(dim=1).mean() * temperature**2
        assert torch.allclose(distillation_loss(logits, taught, temperature), by_hand, atol=1e-5)
    assert distillation_loss(logits, logits, 3.0).abs() < 1e-6


def test_a_student_learns_what_no_gold_says(learned):  # noqa: F811
    """Gold leaves every class open; all that there is to learn is the teacher's word."""
    training, teacher, _, _, (texts, dev) = learned
    opened = copy.deepcopy(texts)
    for text in opened:
        text.allowed[:] = 1.0
    settings = Settings(epochs=40, learn_rate=3e-3, head_rate=1.0, batch_pieces=200, masked=0.0, lost=0.0, dropout=0.0)
    student = copy.deepcopy(teacher)
    torch.manual_seed(8)
    for layer in (student.hidden, student.output, student.attention):
        layer.reset_parameters()
    weights = [value.clone() for value in teacher.parameters()]
    before = training.accuracy(student, dev, settings)["right"]
    train(student, opened, dev, settings, teacher=teacher)
    assert before < 0.6 < 0.85 < training.accuracy(student, dev, settings)["right"]
    assert all(torch.equal(value, kept) for value, kept in zip(teacher.parameters(), weights, strict=True))


def test_without_a_share_of_the_loss_a_teacher_changes_nothing(learned):  # noqa: F811
    training, teacher, _, _, (texts, dev) = learned
    settings = Settings(epochs=1, learn_rate=1e-3, batch_pieces=200, dropout=0.0, alpha=0.0)
    alone, taught = copy.deepcopy(teacher), copy.deepcopy(teacher)
    train(alone, texts, dev, settings)
    train(taught, texts, dev, settings, teacher=copy.deepcopy(teacher))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(alone.parameters(), taught.parameters(), strict=True))


def test_several_teachers_say_the_mean_of_their_probabilities(learned):  # noqa: F811
    _, reader, _, _, (_, dev) = learned
    other = copy.deepcopy(reader)
    with torch.no_grad():
        other.output.bias += 5 * torch.arange(float(len(CLASSES)))
    batch = next(batches(dev, None, Settings()))
    asked = (batch.pieces, batch.lengths, batch.spans, batch.owners, len(batch.allowed))
    with torch.no_grad():
        said = [torch.softmax(model.eval()(*asked), dim=1) for model in (reader, other)]
        both = MeanModel([reader, other])(*asked)
        alone = MeanModel([other])(*asked)
    assert not torch.allclose(said[0], said[1], atol=0.05)
    assert torch.allclose(both.exp(), (said[0] + said[1]) / 2, atol=1e-5)
    assert torch.allclose(alone.exp(), said[1], atol=1e-5)


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory):
    """A folder with an MPNet of width 24 that knows nothing, and words of its own."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (extra encoders)")
    folder = tmp_path_factory.mktemp("mpnet")
    words = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "the", "sea", "##s", "maria", "john", "<mask>"]
    config = transformers.MPNetConfig(
        vocab_size=len(words), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(4)
    transformers.MPNetModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words), "utf8")
    return folder


def test_a_teacher_gives_the_vectors_of_mpnet(mpnet):
    from pii_components.context_reader_teacher import new_teacher

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sea", "maria", "the", "rare", *PLACEHOLDERS]
    teacher = new_teacher(mpnet, vocabulary, dropout=0.3).eval()
    words = (mpnet / "vocab.txt").read_text("utf8").splitlines()
    found = [words[n] for n in teacher.translation[:9].tolist()]
    assert found == ["<pad>", "[UNK]", "<s>", "</s>", "<mask>", "sea", "maria", "the", "[UNK]"]
    pieces, lengths = torch.tensor([[2, 7, 5, 6, 8, 3], [2, 7, 5, 3, 0, 0]]), torch.tensor([6, 4])
    with torch.no_grad():
        ours = teacher._encoded(pieces, lengths)
        mask = (torch.arange(6)[None] < lengths[:, None]).long()
        theirs = teacher.encoder(teacher.translation[pieces], attention_mask=mask).last_hidden_state
    assert torch.allclose(ours[0], theirs[0], atol=0.05) and torch.allclose(ours[1, :4], theirs[1, :4], atol=0.05)
    assert not torch.allclose(ours[0], theirs[0].roll(1, 0), atol=0.5)


def test_a_teacher_learns_from_the_same_batches(mpnet, learned):  # noqa: F811
    from pii_components.context_reader_teacher import new_teacher

    _, _, vocabulary, _, (texts, dev) = learned
    teacher = new_teacher(mpnet, vocabulary, dropout=0.0)
    fixed = teacher.encoder.embeddings.word_embeddings.weight.clone()
    told = train(teacher, texts, dev, Settings(epochs=2, learn_rate=1e-2, batch_pieces=200, strangers=0.0, masked=0.0))
    assert told[1]["loss"] < told[0]["loss"]
    assert torch.equal(fixed, teacher.encoder.embeddings.word_embeddings.weight)
    batch = next(batches(dev, None, Settings()))
    logits = teacher(batch.pieces, batch.lengths, batch.spans, batch.owners, len(batch.allowed))
    assert logits.shape == (len(batch.allowed), len(CLASSES)) and torch.isfinite(logits).all()


def test_both_steps_by_the_command(mpnet, encoder, corpus, tmp_path, monkeypatch):  # noqa: F811
    from pii_components import context_reader_train as training

    made = training.new_model
    monkeypatch.setattr(training, "new_model", lambda *args, **kwargs: made(*args, **kwargs, heads=2))
    monkeypatch.setattr(training, "to_reader", lambda *args: to_reader(*args, heads=2))
    common = ["train", "--corpus", str(corpus), "--encoder", str(encoder), "--mpnet", str(mpnet), "--epochs", "1"]
    monkeypatch.setattr(sys, "argv", [*common, "--out", str(tmp_path / "teacher")])
    training.main()
    assert sorted(path.name for path in (tmp_path / "teacher").iterdir()) == ["checkpoint.pt", "told.json"]
    taught = ["--taught-by", str(tmp_path / "teacher" / "checkpoint.pt"), "--out", str(tmp_path / "reader")]
    monkeypatch.setattr(sys, "argv", [*common, *taught])
    training.main()
    first = tmp_path / "reader" / "reader"
    assert PersonReader.from_bytes(first.read_bytes()).head.output.shape == (len(CLASSES), 384)

    asked = []
    went_on = training.from_reader
    monkeypatch.setattr(training, "from_reader", lambda *args, **kwargs: went_on(*args, **kwargs, heads=2))
    monkeypatch.setattr(training, "MeanModel", lambda readers: asked.append(readers) or MeanModel(readers))
    both = ["--source", str(first), "--and-source", *taught[:2], "--alpha", "1", "--out", str(tmp_path / "both")]
    monkeypatch.setattr(sys, "argv", [*common, *both])
    training.main()
    (large, source), learner = asked[0], PersonReader.from_bytes((tmp_path / "both" / "reader").read_bytes())
    assert type(large).__name__ == "TeacherModel" and not large.training and not source.training
    before = PersonReader.from_bytes(first.read_bytes()).head.output
    assert numpy.allclose(source.output.weight.detach().numpy(), before, atol=1e-6)  # what it was, while the other one learns
    assert not numpy.allclose(learner.head.output, before, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (["--taught-by", "checkpoint.pt"], "--mpnet"),
        (["--and-source", "--source", "reader"], "--taught-by"),
        (["--and-source", "--mpnet", "mpnet", "--taught-by", "checkpoint.pt"], "--source"),
    ],
)
def test_a_teacher_that_lacks_something_is_refused(given, missing, tmp_path, monkeypatch, capsys):
    from pii_components import context_reader_train as training

    monkeypatch.setattr(sys, "argv", ["train", "--corpus", str(tmp_path), *given, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stop:
        training.main()
    assert stop.value.code == 2 and missing in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_missing_is_told(tmp_path, mpnet, monkeypatch):
    from pii_components.context_reader_teacher import new_teacher

    with pytest.raises(PiiError) as error:
        new_teacher(tmp_path, ["[PAD]"])
    assert error.value.code == "E106"
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PiiError) as error:
        new_teacher(mpnet, ["[PAD]"])
    assert error.value.code == "E005"
