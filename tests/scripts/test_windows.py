"""Windows around one labelled token: what is hidden of them, what is known of them to train on, and what is not."""

import json

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from pii_components.context.classifier import CLASSES
from pii_components.context.role_encoder import pieces_of
from pii_components.errors import PiiError
from pii_components.labels import CONNECTED, EMAIL, LABELS, NAME_CITED, NAME_STUDENT, STUDENT
from pii_components.ner.decode import output_labels
from pii_components.ner.loss import FOUND_KEY, UNLABELLED_KEY, targets
from pii_components.spans import SPANS_KEY, Candidate, write_spans
from pii_components.training.role_encoder import Settings, read_texts
from scripts.windows import Stretch, main, measure_windows, of_names, read_windows, with_names

TEXT = "Ilse Varga read Porter, says i.varga@school.example in her mail."


@pytest.fixture
def pipeline(tmp_path):
    """Rules alone, in a folder."""
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    nlp.add_pipe("pii_ruler")
    nlp.to_disk(tmp_path / "rules")
    return str(tmp_path / "rules")


def at(part, label):
    return Stretch(TEXT.index(part), TEXT.index(part) + len(part), label)


def measured(system, *stretches):
    return measure_windows(system, {TEXT: list(stretches)}, protects=system.protects, n_resamples=20)["labels"]


@pytest.mark.parametrize(
    ("found", "hidden", "touched", "right"),
    [
        ([(0, 10, NAME_STUDENT)], 1, 1, 1),
        ([(0, 4, NAME_STUDENT)], 1, 1, 1),  # the token is all that is asked for
        ([(0, 3, NAME_STUDENT)], 0, 1, 0),
        ([(0, 10, EMAIL)], 1, 1, 0),
        ([(0, 10, NAME_CITED)], 0, 0, 0),
        ([(0, 2, EMAIL), (2, 10, NAME_STUDENT)], 1, 1, 1),
        ([], 0, 0, 0),
    ],
)
def test_a_token_is_hidden_touched_or_in_clear(finds, found, hidden, touched, right):
    told = measured(finds(found), at("Ilse", NAME_STUDENT))[NAME_STUDENT]
    assert (told["hidden"], told["touched"], told["right"]) == (hidden, touched, right)
    assert (told["support"], told["texts"]) == (1, 1)


def test_shares_have_support_and_intervals_and_hold_no_text(finds):
    texts = {f"{TEXT} {n}": [at("Ilse", NAME_STUDENT), at("Porter", "O")] for n in range(4)}
    texts["Varga Varga"] = [Stretch(0, 5, NAME_STUDENT)]
    system = finds(lambda doc: [(0, 10, NAME_STUDENT), (16, 22, NAME_STUDENT)] if doc.id != "4" else [])
    report = measure_windows(system, texts, protects=system.protects, n_resamples=200)
    student, none = report["labels"][NAME_STUDENT], report["labels"]["O"]
    assert list(report["labels"]) == [NAME_STUDENT, "O"] and report["texts"] == 5
    assert student["hidden"] == 0.8 and student["hidden_95"][0] < 0.8 <= student["hidden_95"][1]
    assert (none["hidden"], none["support"]) == (1.0, 4) and "right" not in none
    assert "Varga" not in json.dumps(report)


def test_nothing_to_measure_is_refused(finds):
    with pytest.raises(PiiError, match=r"\[E762\]"):
        measure_windows(finds([]), {}, protects=bool)


def test_the_command_writes_what_it_prints(command, tmp_path, pipeline):
    path = tmp_path / "w.jsonl"
    rows = [
        {"text": TEXT, "start": s.start, "end": s.end, "label": f"B-{s.label}"} for s in (at("i.varga@school.example", EMAIL),)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf8")
    out = tmp_path / "windows.json"
    done = command(main, path, "--pipeline", pipeline, "--out", out, "--resamples", 20)
    assert done.exit_code == 0, done.output
    report = json.loads(out.read_text("utf8"))
    assert (
        report["labels"][EMAIL]["hidden"] == 1.0
        and "EMAIL" in done.output
        and "varga" not in done.output + out.read_text("utf8")
    )


@pytest.mark.parametrize(("content", "code"), [(None, "E501"), ("{}\n", "E611"), ("", "E762")])
def test_a_file_that_is_none_is_refused(command, tmp_path, pipeline, content, code):
    path = tmp_path / "w.jsonl"
    if content is not None:
        path.write_text(content, "utf8")
    done = command(main, path, "--pipeline", pipeline, "--out", tmp_path / "o.json")
    assert done.exit_code == 2 and code in done.output and not (tmp_path / "o.json").exists()


# --- texts to train on

TRAINING = "We drew it with Ilse Varga and asked Tomas Brandt and Kim what Porter would say of it."


@Language.component("pairs_as_names")
def pairs_as_names(doc):
    """Two capitalised words in a row, as a detector that is sure."""
    found = [i for i in range(1, len(doc) - 1) if doc[i].text.istitle() and doc[i + 1].text.istitle()]
    write_spans(doc, [Candidate(i, i + 2, NAME_CITED, 0.99, "model") for i in found])
    return doc


@pytest.fixture
def nlp():
    made = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "pii_edu.StudentTokenizer.v1"}}})
    made.add_pipe("pairs_as_names")
    made.add_pipe("pii_context", config={"settings": {"find": False}})
    return made


def labelled(word, label=NAME_STUDENT, *, inside=False):
    return Stretch(TRAINING.index(word), TRAINING.index(word) + len(word), label, inside)


def words(doc, key):
    return [span.text for span in doc.spans[key]]


@pytest.mark.parametrize(
    ("stretches", "students", "others"),
    [
        ([labelled("Ilse")], ["Ilse Varga"], ["Tomas Brandt"]),  # the detector says how far it goes
        ([labelled("Varga", inside=True)], ["Ilse Varga"], ["Tomas Brandt"]),
        ([labelled("Ilse"), labelled("Varga", inside=True)], ["Ilse Varga"], ["Tomas Brandt"]),
        ([labelled("Kim")], ["Kim"], ["Ilse Varga", "Tomas Brandt"]),  # it found nothing there
        ([labelled("Tomas", "O")], [], ["Ilse Varga", "Tomas Brandt"]),
        ([labelled("Kim"), labelled("Tomas", "O")], ["Kim"], ["Ilse Varga", "Tomas Brandt"]),
    ],
)
def test_a_labelled_token_stands_for_its_name(nlp, stretches, students, others):
    doc = with_names(nlp, TRAINING, stretches)
    assert words(doc, SPANS_KEY) == students
    assert words(doc, FOUND_KEY) == others


def test_a_surname_that_nobody_found_gets_the_capitalised_words_before_it(nlp):
    nlp.remove_pipe("pairs_as_names")
    assert words(with_names(nlp, TRAINING, [labelled("Varga", inside=True)]), SPANS_KEY) == ["Ilse Varga"]
    assert words(with_names(nlp, TRAINING, [labelled("Varga")]), SPANS_KEY) == ["Varga"]


def test_the_detector_learns_of_what_is_known_and_of_nothing_else(nlp):
    doc = with_names(nlp, TRAINING, [labelled("Ilse"), labelled("Porter", "O")])
    target = targets(nlp.make_doc(TRAINING), doc, LABELS, class_weights={})
    known = [token.text for token, weight in zip(doc, target.weights, strict=True) if weight]
    assert known == ["Ilse", "Varga", "Porter"]
    assert {token.text for span in doc.spans[UNLABELLED_KEY] for token in span}.isdisjoint(known)
    columns = output_labels(LABELS)
    may = {columns[i] for i in numpy.flatnonzero(target.wanted[[t.text for t in doc].index("Porter")])}
    assert {"O", "B-NAME_CITED", "B-NAME_CONNECTED"} <= may
    assert may.isdisjoint({f"B-{NAME_STUDENT}", f"B-{EMAIL}"})


def test_the_reader_learns_who_is_private_and_who_is_not(nlp, tmp_path):
    path = tmp_path / "train.spacy"
    texts = [with_names(nlp, TRAINING, [labelled("Ilse"), labelled("Tomas", "O")]), with_names(nlp, TRAINING, [])]
    DocBin(docs=texts).to_disk(path)
    pieces = pieces_of(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "we", "with", "and"])
    [text] = read_texts(path, nlp, pieces, Settings())  # of the second nothing is known
    private = [CLASSES.index(STUDENT), CLASSES.index(CONNECTED)]
    assert sorted(text.allowed[:, private].sum(axis=1).tolist()) == [0.0, 2.0]
    assert sorted(text.allowed.sum(axis=1).tolist()) == [2.0, len(CLASSES) - 2]


def lines(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf8")
    return path


def row(word, label):
    return {"text": TRAINING, "start": TRAINING.index(word), "end": TRAINING.index(word) + len(word), "label": label}


def test_rows_of_one_text_are_together_and_names_can_be_had_alone(tmp_path):
    path = lines(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), row("Kim", "I-STREET_ADDRESS"), row("Porter", "O"))
    found = read_windows(path)
    assert found == {TRAINING: [labelled("Ilse"), labelled("Kim", "STREET_ADDRESS", inside=True), labelled("Porter", "O")]}
    assert (
        of_names(found) == {TRAINING: [labelled("Ilse"), labelled("Porter", "O")]}
        and of_names({TRAINING: [labelled("Kim", "EMAIL")]}) == {}
    )


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[1]",
        {"text": TRAINING},
        {**row("Kim", "O"), "end": 9999},
        {**row("Kim", "O"), "start": None},
        {**row("Kim", "O"), "label": 3},
    ],
)
def test_a_row_that_is_none_is_told_by_its_line(tmp_path, bad):
    path = lines(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), bad)
    with pytest.raises(PiiError, match="w.jsonl, line 2") as told:
        read_windows(path)
    assert told.value.code == "E611" and "Ilse" not in str(told.value)


def test_texts_to_train_on_are_written(command, nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    path = lines(tmp_path / "w.jsonl", row("Ilse", "B-NAME_STUDENT"), row("Porter", "O"))
    out = tmp_path / "corpus"
    assert command(main, path, "--pipeline", tmp_path / "pipeline", "--to-train", out).exit_code == 0
    [doc] = DocBin().from_disk(out / "train.spacy").get_docs(nlp.vocab)
    assert words(doc, SPANS_KEY) == ["Ilse Varga"] and words(doc, FOUND_KEY) == ["Tomas Brandt"]


def test_a_file_without_names_trains_nothing(command, tmp_path):
    path = lines(tmp_path / "w.jsonl", row("Kim", "B-EMAIL"))
    told = command(main, path, "--to-train", tmp_path / "corpus")
    assert told.exit_code == 2 and "E611" in told.output and not (tmp_path / "corpus").exists()
